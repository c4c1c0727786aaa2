"""How long scikit-learn's exact softmax (lbfgs) takes to a training log-loss of 3.1 on shape A of
`softmax_race`, beside ours, one thread, float32.

scikit-learn is stopped after the first iteration that ends below 3.1 or after LIMIT seconds; then
its seconds are a lower bound and `log_loss` tells where it stood. Its ridge is so weak (C = 10^4)
that the loss it reports is the log-loss. Ours runs whole passes and is stopped after one. Each runs
in a process of its own, so that the peak of its memory is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from softmax_race import ask, made, read, row

GOAL, LIMIT, ASKED, ASKED_MEMORY = 3.1, 150.0, 500, 10


def exact(path: str) -> dict:
    "Seconds, iterations and loss of `LogisticRegression`, watched from within its minimizer."
    from memory import peak_mb
    from scipy import optimize
    from sklearn.linear_model import LogisticRegression

    rows, labels, _ = read(path)
    plain, found, mark = optimize.minimize, {}, time.perf_counter()

    def watched(*given, **more):
        def callback(intermediate_result):
            seconds = time.perf_counter() - mark
            found.update(
                seconds=seconds,
                loss=float(intermediate_result.fun),
                passes=found.get('epoch', 0) + 1,
            )
            if found['loss'] < GOAL or seconds > LIMIT:
                raise StopIteration

        return plain(*given, **more | dict(callback=callback))

    optimize.minimize = watched
    LogisticRegression(C=1e4, max_iter=1000).fit(rows, labels)
    return found | dict(peak=peak_mb())


def main() -> list[dict]:
    task = f'A separable to {GOAL}'
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / 'rows.npz')
        np.savez(path, **made('A', False))
        mine = [
            ask(sys.executable, path=path, kind='implicit', rate=rate, limit=30.0, goal=GOAL)
            for rate in (100.0, 1000.0)
        ]
        out = [
            row(task, 'ImplicitSGD', f'rate {rate:g}', each)
            for rate, each in zip((100.0, 1000.0), mine, strict=True)
        ]
        done = subprocess.run(
            [sys.executable, __file__, path], capture_output=True, text=True, env=os.environ
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        theirs = json.loads(done.stdout.splitlines()[-1])
    out.append(row(task, 'LogisticRegression', 'lbfgs', theirs))
    best = min(mine, key=lambda each: each['seconds'])
    ratio, memory = theirs['seconds'] / best['seconds'], theirs['peak'] / best['peak']
    least = '' if theirs['loss'] < GOAL else 'at least '
    print(
        f'lbfgs over ours {least}{ratio:.0f} (asked: {ASKED})'
        f' {"met" if ratio >= ASKED else "MISSED"}; its memory over ours {memory:.1f} (asked:'
        f' {ASKED_MEMORY}) {"met" if memory >= ASKED_MEMORY else "MISSED"}'
    )
    return out


if __name__ == '__main__':
    print(json.dumps(exact(sys.argv[1])))
