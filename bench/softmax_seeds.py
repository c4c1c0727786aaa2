"""How much the seed matters: the ends of `softmax_reproduce` on Bibtex and Delicious
(EXTREME_OPT_DATA) from three seeds, one core.

Same preparation, rates, fall of the rate and passes as its `table`; only the seed differs. Quality
is the exact training log-loss of each seed. About a minute.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace

import machine
import numpy as np
from run import RESULTS
from softmax_reproduce import DECAY, KINDS, PASSES, SOLVERS, sets

from extreme_opt.core import SGD, minimize
from extreme_opt.softmax import DoubleSum, mean_log_loss

SEEDS, NAMES = range(1, 4), ('bibtex', 'delicious')
LONG = True  # needs data that are not in the package


def tuned() -> dict:
    "The rate of each method on each set, from the stored table."
    with (RESULTS / 'softmax_reproduce.csv').open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    return {
        (row['task'].split(', ')[1], row['method']): float(row['peer'].removeprefix('rate '))
        for row in rows
        if row['task'].endswith(', pass 50')
        and row['task'].startswith('table')
        and row['peer'].startswith('rate ')
    }


def main() -> list[dict]:
    out, rates, found = [], tuned(), sets()
    if not set(NAMES) <= set(found):
        sys.exit(
            f'EXTREME_OPT_DATA names no folder with {" and ".join(NAMES)}; set it to one that has'
            ' them'
        )
    for name in NAMES:
        for method in (*SOLVERS, *KINDS):
            problem = KINDS[method](*found[name]) if method in KINDS else DoubleSum(*found[name])
            rate, ends, seconds = rates[name, method], [], []
            solver = (
                SGD(rate, learning_rate_decay=DECAY)
                if method in KINDS
                else replace(SOLVERS[method], learning_rate=rate, learning_rate_decay=DECAY)
            )
            for seed in SEEDS:
                run = minimize(problem, solver, max_epochs=PASSES, loss_subset=0, seed=seed)
                ends.append(mean_log_loss(problem, problem.unpack(run.state.params)[0]))
                seconds.append(run.history[-1]['seconds'])
            print(
                f'{name:10} {method:18} rate {rate:g}: {np.mean(ends):.4f} +-'
                f' {np.std(ends, ddof=1):.4f}',
                flush=True,
            )
            out.append(
                dict(
                    method=method,
                    task=f'{name}, pass {PASSES}',
                    peer=f'rate {rate:g}, seeds {SEEDS[0]} to {SEEDS[-1]}',
                    threads=1,
                    seconds=f'{np.median(seconds):.2f}',
                    **{f'log_loss_{seed}': f'{end:.4f}' for seed, end in enumerate(ends)},
                    peak_mb=machine.peak_mb(),
                    versions=machine.versions(),
                    date=machine.today(),
                )
            )
    return out
