"""What averaging buys on the planted labels of `softmax_rivals` (500 classes, no weights fit them), within its 300 passes, float32, one core.

Few wrong classes an update, so every one stands for a hundred others or more and the last iterate is noisy. Each run gives two lines: its last
iterate, and the mean of its iterates after each pass, pass t counting as t^3 (`Watched`). Rows are shuffled; rates and their fall per pass are the best of
a few tried about those of `softmax_rivals`. Quality is the exact softmax log-loss in nats per row on all rows; `task` ends with the pass. Seconds are those of the updates.
"""
from __future__ import annotations

import time

import machine
from softmax_rivals import MARKS, N_CLASSES, ROWS, planted

from extreme_opt.core import iterate
from extreme_opt.softmax import DoubleSum, ImplicitSGD, UMax, Watched

SOLVERS = {'ImplicitSGD m=5': ImplicitSGD(.15, 5, decay=.99, visits='shuffled'), 'ImplicitSGD': ImplicitSGD(.1, 1, decay=.985, visits='shuffled'),
           'UMax': UMax(.1, n_others=5, decay=.98)}


def main() -> list[dict]:
    problem, out = DoubleSum(*planted(ROWS['planted']), N_CLASSES), []
    for name, solver in SOLVERS.items():
        states, seconds = iterate(problem, Watched(solver, average=True), seed=1), 0.
        next(states)
        for done in range(1, MARKS[-1] + 1):
            mark = time.perf_counter()
            state = next(states)
            seconds += time.perf_counter() - mark
            if done not in MARKS: continue
            for which, params in (('last', state.current), ('mean', state.params)):
                out.append(dict(method=f'{name}, {which}', task=f'planted, pass {done}', peer=f'rate {solver.learning_rate:.3g}, decay {solver.decay:g}', threads=1,
                                seconds=f'{seconds:.3f}', quality=f'{problem.log_loss(params):.4f}', peak_mb=machine.peak_mb(), versions=machine.versions(), date=machine.today()))
        print(*(f'{row["method"]} {row["quality"]}' for row in out[-2:]), f'{seconds:.0f} s', flush=True)
    return out
