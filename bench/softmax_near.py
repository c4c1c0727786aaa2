"""Do negative classes drawn near the label pay? Implicit steps on real rows, one thread.

Rows and parts as in `softmax_real`: docstrings, Delicious and Bibtex (the last two from
EXTREME_OPT_DATA, left out without it), no intercept. Three ways to draw m negative classes: all
alike; half of them from the label's list of nearest classes, as SoftmaxClassifier(sampler='near')
does (`near_classes`); and the same with lists drawn at random, which shows what the lists are
worth. For each, every rate of RATES is tried with each number of epochs of EPOCHS, seed 0; rate and
epochs with the best accuracy on the validation rows, and those with the best log-loss, are run
again with SEEDS and judged on the test rows: means, and standard deviations over seeds. Seconds are
processor seconds of a run, lists included.

    python bench/run.py softmax_near           about ten minutes
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import machine
import numpy as np
from softmax_real import read, sets, split

from extreme_opt.core import minimize
from extreme_opt.softmax import DoubleSum, ImplicitSGD, mean_log_loss, top_k_accuracy
from extreme_opt.softmax.near_classes import NearClasses, list_sizes, near_classes

LONG = True  # needs data that are not in the package
RATES, EPOCHS, NEGATIVES, SEEDS = (0.3, 1.0, 3.0, 10.0, 30.0), (5, 10, 20), (5, 20), range(1, 6)
WAYS = ('uniform', 'near the label', 'lists at random')


def lists_of(way: str, problem: DoubleSum, n_negatives: int) -> NearClasses | None:
    "Whom to draw more often."
    if way == 'uniform':
        return None
    if way == 'near the label':
        return near_classes(problem, n_negatives)
    n_classes = problem.n_classes
    n_listed, n_drawn = list_sizes(n_classes, n_negatives)
    rng = np.random.default_rng(0)
    rows = [rng.choice(n_classes - 1, n_listed, replace=False) for _ in range(n_classes)]
    return NearClasses(np.stack([row + (row >= k) for k, row in enumerate(rows)]), n_drawn)


def fit(way: str, problem: DoubleSum, m: int, rate: float, n_epochs: int, seed: int):
    "The weights, and the processor seconds of the run."
    mark = time.process_time()
    solver = ImplicitSGD(rate, m, visits='shuffled', near=lists_of(way, problem, m))
    run = minimize(problem, solver, max_epochs=n_epochs, loss_subset=0, seed=seed)
    took = time.process_time() - mark
    return problem.unpack(run.state.params)[0], took


def judge(problem: DoubleSum, weights) -> tuple[float, float]:
    "Accuracy and log-loss on the rows of a problem."
    return top_k_accuracy(problem, weights, 1), mean_log_loss(problem, weights)


def main() -> list[dict]:
    out = []
    for name, rows in sets().items():
        with tempfile.TemporaryDirectory() as room:
            np.savez(Path(room) / 'rows.npz', **split(rows.features, rows.labels))
            parts, n_classes = read(str(Path(room) / 'rows.npz'))
        train, valid, test = (
            DoubleSum(*parts[part], n_classes, dtype=np.float32)
            for part in ('train', 'valid', 'test')
        )
        for m in NEGATIVES:
            fit('near the label', train, m, 1.0, 1, 0)  # compiled before the clock
            for way in WAYS:
                tried = {
                    (rate, n): judge(valid, fit(way, train, m, rate, n, 0)[0])
                    for rate in RATES
                    for n in EPOCHS
                }
                picks = {
                    'accuracy': max(tried, key=lambda key: tried[key][0]),
                    'log-loss': min(tried, key=lambda key: tried[key][1]),
                }
                for by, (rate, n_epochs) in picks.items():
                    fits = [fit(way, train, m, rate, n_epochs, seed) for seed in SEEDS]
                    ends = np.array([judge(test, weights) for weights, _ in fits])
                    mean, spread = ends.mean(0), ends.std(0, ddof=1)
                    row = dict(
                        method=way,
                        task=f'{name}: {m} negatives, best by {by}',
                        peer=f'rate {rate:g}, {n_epochs} epochs',
                        threads=1,
                        seconds=f'{statistics.median(took for _, took in fits):.3g}',
                        n_classes=n_classes,
                        top_1=f'{mean[0]:.4f}',
                        top_1_sd=f'{spread[0]:.4f}',
                        log_loss=f'{mean[1]:.4f}',
                        log_loss_sd=f'{spread[1]:.4f}',
                        peak_mb=machine.peak_mb(),
                        versions=machine.versions(),
                        date=machine.today(),
                    )
                    print(
                        row['task'],
                        way,
                        row['peer'],
                        row['seconds'],
                        row['top_1'],
                        row['log_loss'],
                        flush=True,
                    )
                    out.append(row)
    return out
