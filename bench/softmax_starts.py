"""Figure 2 from both starts: the ends of all rates on Bibtex (EXTREME_OPT_DATA) from u = 0, as
published, and from u = log K.

Preparation, passes and fall of the rate as in `softmax_reproduce`; rows at random, one seed.
Quality is the exact training log-loss. Two minutes.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace

import machine
import numpy as np
from softmax_reproduce import DECAY, PASSES, RATES, SOLVERS, sets

from extreme_opt.core import minimize
from extreme_opt.softmax import DoubleSum, mean_log_loss

LONG = True  # needs data that are not in the package


def main() -> list[dict]:
    found, out = sets(), []
    if 'bibtex' not in found:
        sys.exit('EXTREME_OPT_DATA names no folder with bibtex; set it to one that has it')
    np.seterr(all='ignore')
    problem = DoubleSum(*found['bibtex'])
    for start in ('u = 0', 'u = log K'):
        for method, solver in SOLVERS.items():
            for rate in RATES:
                params, mark = problem.init_params(), time.perf_counter()
                if start == 'u = 0':
                    problem.unpack(params)[1][:] = 0.0
                tuned = replace(solver, learning_rate=rate, learning_rate_decay=DECAY)
                run = minimize(problem, tuned, params, max_epochs=PASSES, loss_subset=0, seed=1)
                weights = problem.unpack(run.state.params)[0]
                sound = np.isfinite(weights.sum(dtype=float))
                loss = mean_log_loss(problem, weights) if sound else math.inf
                out.append(
                    dict(
                        method=method,
                        task=f'bibtex, {start}',
                        peer=f'rate {rate:g}',
                        threads=1,
                        seconds=f'{time.perf_counter() - mark:.2f}',
                        log_loss=f'{loss:.4f}',
                        peak_mb=machine.peak_mb(),
                        versions=machine.versions(),
                        date=machine.today(),
                    )
                )
                print(start, method, f'{rate:g}', out[-1]['log_loss'], flush=True)
    return out
