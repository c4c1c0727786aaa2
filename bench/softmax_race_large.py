"""The race of `softmax_race` on shape L: 90,737 rows, 10,000 columns, 48 non-zeros a row, 18,207
classes, separable labels, one thread, float32.

PyTorch (Adam at rate 1, minibatches of 4,096 rows: few updates of all the weights) is stopped after
LIMIT seconds of updates; a pass has 22 of them, so `seconds` are a lower bound and `log_loss`
tells where it stood. Asked: at least 100 times ours.

    python bench/run.py softmax_race_large
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from softmax_race import GOAL, LARGE, RATES, ask, made, row

LONG, LIMIT, TASK = True, 300.0, 'L separable'


def main() -> list[dict]:
    peers, out = os.environ.get('EXTREME_OPT_PEERS'), []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / 'rows.npz')
        np.savez(path, **made('L', False))
        ours = [
            ask(sys.executable, path=path, kind='implicit', rate=rate, limit=LIMIT)
            for rate in RATES[1:4]
        ]
        out += [
            row(TASK, 'ImplicitSGD', f'rate {rate:g}', found)
            for rate, found in zip(RATES[1:4], ours, strict=True)
        ]
        best = min(found['seconds'] for found in ours if found['loss'] < GOAL)
        for optimizer, rate, size in LARGE if peers else ():
            found = ask(peers, path=path, kind=optimizer, rate=rate, size=size, limit=LIMIT)
            if found is None:
                continue
            out.append(row(TASK, f'PyTorch {optimizer}', f'rate {rate:g}, {size} rows', found))
            print(
                f'{TASK}: PyTorch over ours'
                f' {"" if found["loss"] < GOAL else "at least "}{found["seconds"] / best:.0f}'
                ' (asked: 100)'
            )
    return out
