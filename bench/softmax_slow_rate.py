"""What mends a rate that is too low: passes to a training log-loss of 0.1 on shape A of
`softmax_race` at rates of 10, 30, 100 and 1,000, one thread, float32.

`plain` is the solver of the race: one wrong class an update, rows shuffled, log-normalizers that
start at log K, a rate that falls by 0.9 a pass. Each variant changes one thing: `start 0`
(log-normalizers), `no fall`, 2, 3 or 5 wrong classes. The log-loss is taken on 300 fixed rows four
times a pass. Seconds are those of the updates; what counts is the number of `passes`, which no
other work on the machine changes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import machine
import numpy as np
from softmax_race import GOAL, ROWS, made, read

from extreme_opt.softmax import DoubleSum, Draw
from extreme_opt.softmax.double_sum import sample_distinct
from extreme_opt.softmax.implicit import implicit_updates

VARIANTS = {
    'plain': {},
    'start 0': dict(start=0.0),
    'no fall': dict(learning_rate_decay=1.0),
    '2 others': dict(n_negatives=2),
    '3 others': dict(n_negatives=3),
    '5 others': dict(n_negatives=5),
}
RATES, MOST, TURNS = (10.0, 30.0, 100.0, 1000.0), 8, 4


def passes(
    problem: DoubleSum,
    some: np.ndarray,
    rate: float,
    n_negatives: int = 1,
    learning_rate_decay: float = 0.9,
    start: float | None = None,
) -> tuple[float, float, float]:
    "Passes, seconds of the updates and log-loss at the end."
    params, rng, seconds, loss = problem.init_params(), np.random.default_rng(0), 0.0, np.inf
    views = problem.unpack(params)
    if start is not None:
        views[1][:] = start
    for done in range(MOST):
        order = rng.permutation(problem.n_samples).astype(np.int32)
        others = sample_distinct(rng, problem.labels[order], problem.n_classes, n_negatives)
        for turn, part in enumerate(np.array_split(np.arange(len(order)), TURNS)):
            mark = time.perf_counter()
            implicit_updates(
                problem, params, Draw(order[part], others[part]), rate * learning_rate_decay**done
            )
            seconds += time.perf_counter() - mark
            loss = problem.log_loss(params, some)
            if loss < GOAL:
                return done + (turn + 1) / TURNS, seconds, loss
    return MOST, seconds, loss


def main() -> list[dict]:
    out = []
    for kind in ('separable', 'replaced'):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / 'rows.npz')
            np.savez(path, **made('A', kind == 'replaced'))
            problem = DoubleSum(*read(path))
        some = np.sort(np.random.default_rng(1).choice(problem.n_samples, ROWS, replace=False))
        passes(problem, some, 1000.0), passes(problem, some, 1000.0, 2)  # compiled off the clock
        for name, settings in VARIANTS.items():
            found = [passes(problem, some, rate, **settings) for rate in RATES]
            print(
                f'A {kind}, {name}: passes',
                *(f'{each[0]:g}' for each in found),
                f'lowest rate over best {found[0][0] / min(each[0] for each in found):.1f}',
                flush=True,
            )
            out += [
                dict(
                    method=f'ImplicitSGD, {name}',
                    task=f'A {kind}',
                    peer=f'rate {rate:g}',
                    threads=1,
                    seconds=f'{each[1]:.3f}',
                    log_loss=f'{each[2]:.3f}',
                    passes=f'{each[0]:g}',
                    peak_mb=machine.peak_mb(),
                    versions=machine.versions(),
                    date=machine.today(),
                )
                for rate, each in zip(RATES, found, strict=True)
            ]
    return out
