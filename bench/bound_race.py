"""Time to a relative gap of 1e-6 for bound majorization beside scikit-learn's lbfgs, newton-cg and
newton-cholesky, single-threaded, on the same objective.

Sets: four Gaussians, the digits, 4,000 rows each of Satellite and Letter (standardized; where
EXTREME_OPT_DATA has them), and rows whose columns have scales from 1 to 30. For each method the
smallest number of iterations whose end is within 1e-6 of the best loss known is searched first (to
six per cent); then fits of that many iterations are timed, five rounds, alternated (one round for
the bound's step with a matrix where that has more than a hundred rows), with one thread and with
two. scikit-learn's times hold its validation, ours do not hold a record: both are what one fit
costs. Peak memory is that of a process that makes one such fit.

`BM` is plain bound majorization, relaxed by 1.8 and with the two orders in turn; `bound and memory`
is its successor, which begins the memory of L-BFGS from the constant bound.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator

import machine
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from extreme_opt import data
from extreme_opt.bound import LogLinear, QuasiMajorizer
from extreme_opt.core import LBFGS, iterate, minimize
from extreme_opt.core.majorize import Majorizer, Newton

LONG = True  # eight minutes
RIDGE, GAP, MOST, MOST_OURS, ROUNDS = 1e-3, 1e-6, 2000, 500, 5
PEERS = 'lbfgs', 'newton-cg', 'newton-cholesky'
SOLVERS: dict = {
    'BM': Majorizer(),
    'BM with a matrix': Majorizer(solve='cholesky'),
    'BM without a matrix': Majorizer(solve='cg'),
    'bound and memory': QuasiMajorizer(),
    'L-BFGS (ours)': LBFGS(),
    'Newton (ours)': Newton(),
}


def sets(only: list[str] | None = None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    "Features and labels by name; of those named."
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    made = data.four_gaussians()[0]
    scaled = rng.normal(size=(2000, 10)) * np.linspace(1, 30, 10)
    weights = rng.normal(size=(4, 10)) / np.linspace(1, 30, 10)
    found = {
        'four Gaussians': (np.asarray(made.features), np.asarray(made.labels)),
        'digits': (X / 16, y),
        'scales 1 to 30': (scaled, np.argmax(scaled @ weights.T + rng.gumbel(size=(2000, 4)), 1)),
    }
    if os.environ.get('EXTREME_OPT_DATA'):
        for name, table in (('Satellite', 'Satellite'), ('Letter', 'LetterRecognition')):
            if only and name not in only:
                continue
            one = data.load('uci-multiclass', table=table, dtype=np.float64)
            found[name] = np.asarray(one.features)[:4000], np.asarray(one.labels)[:4000]
    return found


def fewest(reaches: Callable[[int], bool]) -> int | None:
    "The smallest number of iterations that reaches the gap; None where MOST do not."
    high = 1
    while not reaches(high):
        if high >= MOST:
            return None
        high = min(2 * high, MOST)
    low = high // 2
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def iterations(X: np.ndarray, y: np.ndarray) -> dict[str, int]:
    "What each method needs to get there; who does not is left out."
    problem = LogLinear(np.hstack([X, np.ones((len(X), 1))]), y, ridge=RIDGE, n_unpenalized=1)
    best = min(minimize(problem, Newton(), max_iter=60, tol=1e-10).column('loss'))
    ends = best * (1 + GAP)
    found: dict[str, int] = {}
    for label, solver in SOLVERS.items():
        n = next(
            (
                state.n_iter
                for state in itertools.islice(iterate(problem, solver), MOST_OURS + 1)
                if problem.loss(state.params) <= ends
            ),
            None,
        )
        if n is not None:
            found[label] = n
    for kind in PEERS:

        def reaches(n, kind=kind):
            model = fit(X, y, kind, n)
            return problem.loss(np.column_stack([model.coef_, model.intercept_]).ravel()) <= ends

        n = fewest(reaches)
        if n is not None:
            found[kind] = n
    return found


def fit(X: np.ndarray, y: np.ndarray, kind: str, n: int) -> LogisticRegression:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return LogisticRegression(C=1 / (RIDGE * len(y)), solver=kind, max_iter=n, tol=1e-14).fit(
            X, y
        )


def job(X: np.ndarray, y: np.ndarray, label: str, n: int) -> Callable[[], object]:
    "A fit of n iterations, data at hand."
    if label in PEERS:
        return lambda: fit(X, y, label, n)
    problem = LogLinear(np.hstack([X, np.ones((len(X), 1))]), y, ridge=RIDGE, n_unpenalized=1)
    return lambda: minimize(problem, SOLVERS[label], max_iter=n, loss_subset=0)


def timed(name: str, found: dict[str, int]) -> dict:
    """Seconds and spread of every method, turn by turn, in a process of its own, whose threads were
    set before it began."""
    X, y = sets([name])[name]
    jobs = {label: job(X, y, label, n) for label, n in found.items()}
    slow = {
        label
        for label in jobs
        if label == 'BM with a matrix' and name not in ('four Gaussians', 'scales 1 to 30')
    }
    timings = {
        label: timing
        for rounds, group in ((ROUNDS, set(jobs) - slow), (1, slow))
        for label, timing in machine.race(
            {label: jobs[label] for label in found if label in group}, rounds
        ).items()
    }
    return {label: timings[label].seconds for label in found}


def once(name: str, label: str, n: int) -> dict:
    "One fit, for the peak of the memory of a process that does nothing else."
    job(*sets([name])[name], label, n)()
    return {}


def main() -> Iterator[dict]:
    for name, (X, y) in sets().items():
        found = iterations(X, y)
        peaks = {
            label: machine.fresh(__file__, 'once', name, label, n)['peak_mb']
            for label, n in found.items()
        }
        for threads in (1, 2):
            told = machine.fresh(__file__, 'timed', name, found, threads=threads)
            timings = {label: machine.Timing(told[label]) for label in found}
            fastest = min(timings[label].median for label in PEERS if label in timings)
            for label, n in found.items():
                ratio = timings[label].median / fastest
                task = f'{name}: {len(y)} rows, {len(np.unique(y))} classes, {X.shape[1]} columns'
                yield machine.row(
                    method=label,
                    task=task,
                    peer='scikit-learn' if label in PEERS else 'ours',
                    n_iter=n,
                    times_fastest_peer=f'{ratio:.1f}',
                    peak_mb=peaks[label],
                    **timings[label].columns(threads),
                )
