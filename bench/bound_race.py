"""Time to a relative gap of 1e-6 for bound majorization beside scikit-learn's lbfgs, newton-cg and newton-cholesky, single-threaded, on the same objective.

Sets: four Gaussians, the digits, 4,000 rows each of Satellite and Letter (standardised; where EXTREME_OPT_DATA has them), and rows whose
columns have scales from 1 to 30. For each method the smallest number of iterations whose end is within 1e-6 of the best loss
known is searched first (to six per cent); then fits of that many iterations are timed, three rounds, alternated (one round for the bound's
step with a matrix where that has more than a hundred rows). scikit-learn's times hold its validation, ours do not hold a record: both are what one fit costs.
"""
from __future__ import annotations

import itertools
import os
import statistics
import warnings
from collections.abc import Callable

import machine
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from extreme_opt import data
from extreme_opt.bound import LogLinear, Majorizer, Newton, QuasiMajorizer
from extreme_opt.core import LBFGS, iterate, minimize

RIDGE, GAP, MOST, ROUNDS = 1e-3, 1e-6, 2000, 3


def sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    "Features and labels by name."
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    made = data.four_gaussians()[0]
    scaled = rng.normal(size=(2000, 10)) * np.linspace(1, 30, 10)
    weights = rng.normal(size=(4, 10)) / np.linspace(1, 30, 10)
    found = {'four Gaussians': (np.asarray(made.features), np.asarray(made.labels)), 'digits': (X / 16, y),
             'scales 1 to 30': (scaled, np.argmax(scaled @ weights.T + rng.gumbel(size=(2000, 4)), 1))}
    if os.environ.get('EXTREME_OPT_DATA'):
        for name, table in (('Satellite', 'Satellite'), ('Letter', 'LetterRecognition')):
            one = data.load('uci-multiclass', table=table, dtype=np.float64)
            found[name] = np.asarray(one.features)[:4000], np.asarray(one.labels)[:4000]
    return found


def fewest(reaches: Callable[[int], bool]) -> int | None:
    "The smallest number of iterations that reaches the gap; None where MOST do not."
    high = 1
    while not reaches(high):
        if high >= MOST: return None
        high = min(2 * high, MOST)
    low = high // 2
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def race(name: str, X: np.ndarray, y: np.ndarray) -> list[dict]:
    problem = LogLinear(np.hstack([X, np.ones((len(X), 1))]), y, ridge=RIDGE, n_free=1)
    best = min(minimize(problem, Newton(), max_steps=60, tolerance=1e-10).column('loss'))
    ends = best * (1 + GAP)
    fits: dict[str, tuple[Callable[[], object], int]] = {}
    for label, solver in (('BM', Majorizer()), ('BM with a matrix', Majorizer(solve='cholesky')), ('BM without a matrix', Majorizer(solve='cg')),
                          ('bound and memory', QuasiMajorizer()), ('L-BFGS (ours)', LBFGS()), ('Newton (ours)', Newton())):
        n = next((state.n_steps for state in itertools.islice(iterate(problem, solver), 401) if problem.loss(state.params) <= ends), None)
        if n is not None: fits[label] = (lambda solver=solver, n=n: minimize(problem, solver, max_steps=n, record_on=0)), n
    for kind in ('lbfgs', 'newton-cg', 'newton-cholesky'):
        def fit(n, kind=kind):
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                return LogisticRegression(C=1 / (RIDGE * len(y)), solver=kind, max_iter=n, tol=1e-14).fit(X, y)
        def reaches(n, fit=fit):
            model = fit(n)
            coef, intercept = model.coef_, model.intercept_
            return problem.loss(np.column_stack([coef, intercept]).ravel()) <= ends
        n = fewest(reaches)
        if n is not None: fits[kind] = (lambda fit=fit, n=n: fit(n)), n
    slow = {label for label in fits if label == 'BM with a matrix' and problem.n_params > 100}
    seconds = {}
    for rounds, group in ((ROUNDS, set(fits) - slow), (1, slow)):
        taken = machine.alternate({label: job for label, (job, _) in fits.items() if label in group}, rounds, warm=0)
        seconds |= {label: statistics.median(each) for label, each in taken.items()}
    fastest = min(value for label, value in seconds.items() if label in ('lbfgs', 'newton-cg', 'newton-cholesky'))
    for label, (_, n) in fits.items(): print(f'{name:15s} {label:20s} {n:5d} iterations {seconds[label]:8.3f} s  {seconds[label] / fastest:6.1f} times the fastest peer')
    task, peers = f'{name}: {len(y)} rows, {problem.n_classes} classes, {X.shape[1]} columns', ('lbfgs', 'newton-cg', 'newton-cholesky')
    return [dict(method=label, task=task, peer='scikit-learn' if label in peers else 'ours', seconds=f'{seconds[label]:.4f}',
                 quality=f'{n} iterations, {seconds[label] / fastest:.1f} x fastest peer') for label, (_, n) in fits.items()]


def main() -> list[dict]:
    common = dict(threads=1, versions=machine.versions('scikit-learn'), date=machine.today())
    return [{**row, 'peak_mb': machine.peak_mb(), **common} for name, (X, y) in sets().items() for row in race(name, X, y)]
