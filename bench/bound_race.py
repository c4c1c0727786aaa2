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

`bound_solvers`: the default of BoundClassifier beside every solver of scikit-learn, on twelve real
tables, as they are and standardized: iris, wine, breast cancer and digits; Titanic and kr-vs-kp of
OpenML (scikit-learn's wheel holds both among its tests; categories one column each, missing numbers
by the median); and, where EXTREME_OPT_DATA has them, Letter, Satellite, Shuttle, Vehicle, Vowel and
DNA. Of larger tables the first 500 rows of a permutation. BoundClassifier stops by itself, by its
certificate at tol=1e-6, its default. For the solvers of scikit-learn, which have no such stop, the
iterations are searched, so the search costs them nothing. These fits are then timed, 9 rounds, turn
by turn, in seconds of the processor; the least counts. Who does not get there in 500 iterations has
the gap that 500 leave and no seconds. Fits hold what each class does besides: validation, ours its
certificate.

`bound_rivals`: two statistics packages on the sets of the race. statsmodels: `MNLogit` has no ridge
(its `fit_regularized` is for l1 alone), so tasks that end in "no ridge" compare all programs
without one, where the optimum then exists: the gradient vanishes at a point where the curvature is
positive in every direction. Sets without one are named and left out. Its solver is the default,
Newton's method, which has no line search; where that diverges its L-BFGS stands in. Covariances are
not asked for (`skip_hessian`). glum: two outcomes alone, so tasks that end in "two outcomes" have
the even classes of a set against the odd ones, with the ridge of the race on one vector of weights;
glum's documented objective is that of scikit-learn, and ours on two vectors has twice the ridge,
which at the optimum is the same. The solver is the one that its "auto" takes without an l1 penalty,
iteratively reweighted least squares. Fits are timed from arrays at hand, with the checks that each
program makes of them. Ours and those of scikit-learn take turns in a process, which has made each
before; statsmodels and glum are timed in a process of their own, before and after it. `seconds` are
medians of ten fits, of the processor; `gap` is the loss at the end over the best, less one. What
does not get there in 2,000 iterations has no row and is named. `peak_mb` is that of the process: of
all that takes turns in it. statsmodels and glum run in the interpreter of
bench/peers/statistics.txt; without it there are no rows for them.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import machine
import numpy as np
import sklearn
from sklearn import datasets
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, scale

from extreme_opt import data
from extreme_opt.bound import BoundClassifier, LogLinear, QuasiMajorizer
from extreme_opt.core import LBFGS, iterate, minimize
from extreme_opt.core.majorize import Majorizer, Newton

LONG = 'bound_race', 'bound_rivals'
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
    X, y = datasets.load_digits(return_X_y=True)
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
            if not only or name in only:
                one = data.load('uci-multiclass', table=table, dtype=np.float64)
                found[name] = np.asarray(one.features)[:4000], np.asarray(one.labels)[:4000]
    return {name: found[name] for name in found if not only or name in only}


def fewest(reaches: Callable[[int], bool], most: int = MOST) -> int | None:
    "The smallest number of iterations that reaches the gap; None where `most` do not."
    high = 1
    while not reaches(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > max(1, high // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def problem_of(X: np.ndarray, y: np.ndarray, ridge: float = RIDGE) -> LogLinear:
    return LogLinear(np.hstack([X, np.ones((len(X), 1))]), y, ridge=ridge, n_unpenalized=1)


def fit(X: np.ndarray, y: np.ndarray, kind: str, n: int, **more) -> LogisticRegression:
    "A fit of scikit-learn of n iterations."
    settings = dict(C=1 / (RIDGE * len(y)), solver=kind, max_iter=n, tol=1e-14) | more
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return LogisticRegression(**settings).fit(X, y)


def iterations(X: np.ndarray, y: np.ndarray) -> dict[str, int]:
    "What each method needs to get there; who does not is left out."
    problem = problem_of(X, y)
    best = min(minimize(problem, Newton(), max_iter=60, tol=1e-10).column('loss'))
    ends = best * (1 + GAP)
    found: dict[str, int | None] = {}
    for label, solver in SOLVERS.items():
        states = itertools.islice(iterate(problem, solver), MOST_OURS + 1)
        there = (state.n_iter for state in states if problem.loss(state.params) <= ends)
        found[label] = next(there, None)
    for kind in PEERS:

        def reaches(n, kind=kind):
            model = fit(X, y, kind, n)
            return problem.loss(np.column_stack([model.coef_, model.intercept_]).ravel()) <= ends

        found[kind] = fewest(reaches)
    return {label: n for label, n in found.items() if n is not None}


def job(X: np.ndarray, y: np.ndarray, label: str, n: int) -> Callable[[], object]:
    "A fit of n iterations, data at hand."
    if label in PEERS:
        return lambda: fit(X, y, label, n)
    problem = problem_of(X, y)
    return lambda: minimize(problem, SOLVERS[label], max_iter=n, loss_subset=0)


def timed(name: str, found: dict[str, int]) -> dict:
    """Seconds and spread of every method, turn by turn, in a process of its own, whose threads were
    set before it began."""
    X, y = sets([name])[name]
    jobs = {label: job(X, y, label, n) for label, n in found.items()}
    small = name in ('four Gaussians', 'scales 1 to 30')
    slow = set() if small else {'BM with a matrix'}
    quick = {label: each for label, each in jobs.items() if label not in slow}
    late = {label: each for label, each in jobs.items() if label in slow}
    timings = machine.race(quick, ROUNDS) | machine.race(late, 1)
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
        task = f'{name}: {len(y)} rows, {len(np.unique(y))} classes, {X.shape[1]} columns'
        for threads in (1, 2):
            told = machine.fresh(__file__, 'timed', name, found, threads=threads)
            timings = {label: machine.Timing(told[label]) for label in found}
            fastest = min(timings[label].median for label in PEERS if label in timings)
            for label, n in found.items():
                more = dict(peer='scikit-learn' if label in PEERS else 'ours', n_iter=n)
                more |= dict(times_fastest_peer=f'{timings[label].median / fastest:.1f}')
                columns = timings[label].columns(threads)
                yield machine.row(label, task, peak_mb=peaks[label], **more, **columns)


# ------------------------------------------------------------------------ every solver, real tables
DEFAULTS = {'BoundClassifier': 'auto', 'BoundClassifier, quasi': 'quasi'}
EVERY = 'lbfgs', 'newton-cg', 'newton-cholesky', 'sag', 'saga'
FIT_MOST, ROWS, TURNS = 500, 500, 9


def openml(number):
    "Names and rows of a table among the tests of scikit-learn, or nothing."
    folder = Path(sklearn.__file__).parent / f'datasets/tests/data/openml/id_{number}'
    found = next(folder.glob('data*.arff.gz'), None)
    if found is None:
        return None
    with gzip.open(found, 'rt', encoding='utf-8') as file:
        lines = [line for line in file if line.strip() and not line.startswith('%')]
    names = [line.split()[1].strip("'") for line in lines if line.lower().startswith('@attribute')]
    start = next(k for k, line in enumerate(lines) if line.lower().startswith('@data'))
    return names, list(csv.reader(lines[start + 1 :], quotechar='"', escapechar='\\'))


def mixed(number, label, numbers, kinds=None):
    "Features and labels: numbers as they are, a column per category."
    told = openml(number)
    if told is None:
        return None
    names, rows = told
    column = {name: np.array([row[k] for row in rows]) for k, name in enumerate(names)}
    kinds = kinds or [name for name in names if name not in (label, *numbers)]
    parts = [OneHotEncoder().fit_transform(np.column_stack([column[k] for k in kinds])).toarray()]
    if numbers:
        values = [[float(v) if v != '?' else np.nan for v in column[name]] for name in numbers]
        parts.insert(0, SimpleImputer(strategy='median').fit_transform(np.transpose(values)))
    return np.hstack(parts), np.unique(column[label], return_inverse=True)[1]


def tables():
    "Features and labels by name."
    known = 'iris', 'wine', 'breast_cancer', 'digits'
    found = {name: getattr(datasets, f'load_{name}')(return_X_y=True) for name in known}
    numbers, kinds = ['age', 'fare', 'sibsp', 'parch'], ['pclass', 'sex', 'embarked']
    found['Titanic'] = mixed(40945, 'survived', numbers, kinds)
    found['kr-vs-kp'] = mixed(3, 'class', [])
    if os.environ.get('EXTREME_OPT_DATA'):
        for table in ('LetterRecognition', 'Satellite', 'Shuttle', 'Vehicle', 'Vowel', 'DNA'):
            one = data.load('uci-multiclass', table=table, standardize=False, dtype=np.float64)
            found[table] = one.features, one.labels
    for name, pair in found.items():
        if pair is not None:
            kept = np.random.default_rng(0).permutation(len(pair[1]))[:ROWS]
            X = np.asarray(pair[0], float)[kept]
            y = np.unique(pair[1][kept], return_inverse=True)[1]
            X = X[:, X.std(axis=0) > 0]
            yield f'{name}, as it is', X, y
            yield f'{name}, standardized', scale(X), y


def objective(model, X, y):
    "Mean loss and penalty, from the weights."
    scores = X @ model.coef_.T + model.intercept_
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    top = scores.max(axis=1)
    log_z = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return np.mean(log_z - scores[np.arange(len(y)), y]) + RIDGE / 2 * np.sum(model.coef_**2)


def fit_any(X, y, method, n):
    "A fit of n iterations."
    if method not in DEFAULTS:
        return fit(X, y, method, n, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return BoundClassifier(DEFAULTS[method], ridge=RIDGE, max_iter=n, tol=GAP).fit(X, y)


def bound_solvers() -> Iterator[dict]:
    for name, X, y in tables():
        best = objective(BoundClassifier(ridge=RIDGE, tol=1e-13).fit(X, y), X, y)
        found, gaps = {}, {}
        for method in (*DEFAULTS, *EVERY):

            def gap(n, X=X, y=y, method=method, best=best):
                return objective(fit_any(X, y, method, n), X, y) / best - 1

            gaps[method] = gap(FIT_MOST)
            if gaps[method] > GAP:
                continue
            if method in DEFAULTS:
                found[method] = fit_any(X, y, method, FIT_MOST).n_iter_
            else:
                found[method] = fewest(lambda n, gap=gap: gap(n) <= GAP, FIT_MOST)
                gaps[method] = gap(found[method])
                if gaps[method] > GAP:
                    del found[method]
        lengths = {method: FIT_MOST if method in DEFAULTS else n for method, n in found.items()}
        jobs = {method: partial(fit_any, X, y, method, n) for method, n in lengths.items()}
        seconds = machine.alternate(jobs, TURNS, warm=0, clock=time.process_time)
        least = {method: min(each) for method, each in seconds.items()}
        fastest = min((least[peer] for peer in EVERY if peer in least), default=np.nan)
        task = f'{name}: {len(y)} rows, {len(np.unique(y))} classes, {X.shape[1]} columns'
        for method, left in gaps.items():
            columns, n = dict(seconds='', threads=1), found.get(method)
            if n is not None:
                columns = machine.Timing(seconds[method]).columns() | dict(
                    seconds=f'{least[method]:.4g}',
                    how=f'processor seconds, least of {TURNS}, turn by turn',
                    ratio=f'{least[method] / fastest:.2f}',
                )
            measured = dict(n_iter=n or FIT_MOST, gap=f'{max(left, 0):.1e}', certificate='')
            if method in DEFAULTS and left > 1e-11:  # below, a difference of losses is rounding
                says = fit_any(X, y, method, n or FIT_MOST).bound_gap_
                measured['certificate'] = f'{says / (left * best):.3g}'
            told = dict(peak_mb='', versions=machine.versions('scikit-learn'))
            told |= dict(peer='ours' if method in DEFAULTS else 'scikit-learn')
            yield machine.row(method, task, **measured, **columns, **told)


# --------------------------------------------------------------------------- statistics packages
REPEATS = 5
OURS = 'Newton (ours)', 'bound and memory', 'BM without a matrix'
STATISTICS = {
    'no ridge': ('statsmodels, newton', 'statsmodels, lbfgs'),
    'two outcomes': ('glum, irls-ls',),
}
FEW = list(range(1, 31))  # iterations to try of Newton's method
MANY = np.unique(np.geomspace(10, 2000, 92).astype(int)).tolist()  # and of L-BFGS
PEER = """
import json, sys, time, warnings
import numpy as np

warnings.simplefilter('ignore')
bench, folder, method, counts, repeats, ridge = sys.argv[1:]
sys.path.append(bench)
import memory

with np.load(folder + '/data.npz') as found:
    X, y = found['X'], found['y']
if method.startswith('glum'):
    from glum import GeneralizedLinearRegressor

    X = np.asfortranarray(X)
    settings = dict(family='binomial', alpha=float(ridge), l1_ratio=0, solver=method.split(', ')[1])

    def fit(n):
        model = GeneralizedLinearRegressor(max_iter=n, gradient_tol=1e-14, **settings)
        model.fit(X, y)
        return np.append(model.coef_, model.intercept_)
else:
    from statsmodels.discrete.discrete_model import MNLogit

    X = np.column_stack([X, np.ones(len(X))])
    kind = method.split(', ')[1]
    far = dict(tol=0.0) if kind == 'newton' else dict(pgtol=1e-14, factr=0.0, maxfun=10**6)
    quiet = dict(disp=0, skip_hessian=True, warn_convergence=False)

    def fit(n):
        model = MNLogit(y, X).fit(method=kind, maxiter=n, **far, **quiet)
        return np.asarray(model.params)

counts = json.loads(counts)
np.save(folder + '/params.npy', [fit(n) for n in counts])
seconds = []
for _ in range(int(repeats)):
    mark = time.process_time()
    fit(counts[-1])
    seconds.append(time.process_time() - mark)
print(json.dumps(dict(seconds=seconds, peak_mb=memory.peak_mb())))
"""


def tasks(only: list[str] | None = None) -> dict[str, tuple[np.ndarray, np.ndarray, str]]:
    "Features, labels and what kind of task it is; of the sets named."
    found = {}
    for name, (X, y) in sets(only).items():
        y = np.unique(y, return_inverse=True)[1]
        for kind, labels in (('no ridge', y), ('two outcomes', y % 2)):
            sizes = f'{len(y)} rows, {labels.max() + 1} classes, {X.shape[1]} columns'
            found[f'{name}: {sizes}, {kind}'] = X, labels, kind
    return found


def problem_for(X, y, kind) -> LogLinear:
    return problem_of(X, y, 2 * RIDGE if kind == 'two outcomes' else 0.0)


def has_optimum(problem, params) -> bool:
    """Whether the gradient vanishes and the curvature is positive in every direction but a shift of
    all classes."""
    X, n_classes = np.asarray(problem.features), problem.n_classes
    scores = X @ params.reshape(n_classes, -1).T
    P = np.exp(scores - scores.max(1, keepdims=True))
    P /= P.sum(1, keepdims=True)
    blocks = [
        [X.T @ (P[:, [a]] * ((a == b) - P[:, [b]]) * X) for b in range(1, n_classes)]
        for a in range(1, n_classes)
    ]
    values = np.linalg.eigvalsh(np.block(blocks))
    start = np.linalg.norm(problem.loss_and_grad(problem.init_params())[1])
    end = np.linalg.norm(problem.loss_and_grad(params)[1])
    return bool(values[0] > 1e-9 * values[-1] and end < 1e-7 * start)


def both(weights) -> np.ndarray:
    "Rows for two classes from the one that a package has for their difference."
    weights = np.atleast_2d(weights)
    return np.vstack([-weights / 2, weights / 2]) if len(weights) == 1 else weights


def fitted(X, y, kind, method, n) -> np.ndarray:
    "Parameters of a fit of ours or of scikit-learn, there a row for each class."
    if method in OURS:
        return minimize(
            problem_for(X, y, kind), SOLVERS[method], max_iter=n, loss_subset=0
        ).state.params
    model = fit(X, y, method, n, **({} if kind == 'two outcomes' else dict(C=np.inf)))
    return both(np.column_stack([model.coef_, model.intercept_]))


def here(task, needed) -> dict:
    "Processor seconds of fits of ours and of scikit-learn, turn by turn."
    X, y, kind = tasks([task.split(':')[0]])[task]
    jobs = {method: partial(fitted, X, y, kind, method, n) for method, n in needed.items()}
    return dict(seconds=machine.alternate(jobs, 2 * REPEATS, clock=time.process_time))


def there(python, folder, method, counts, repeats=0) -> tuple[list[np.ndarray], dict]:
    "Parameters of fits of statsmodels or glum, and the seconds of more of the last."
    words = Path(__file__).parent, folder, method, json.dumps(counts), repeats, RIDGE
    done = subprocess.run(
        [python, '-c', PEER, *map(str, words)],
        capture_output=True,
        text=True,
        env=machine.pinned(1),
    )
    if done.returncode:
        raise RuntimeError(f'{method}: {done.stderr[-800:]}')
    ends = np.load(f'{folder}/params.npy')
    if ends.ndim == 3:  # of all classes but the first, a column each
        ends = np.stack([np.vstack([np.zeros(len(end)), end.T]) for end in ends])
    return [both(end) for end in ends], json.loads(done.stdout.splitlines()[-1])


def raced(task, X, y, kind, python, folder) -> list[dict]:
    "The rows of a task."
    problem = problem_for(X, y, kind)
    best_run = minimize(problem, Newton(), max_iter=100, tol=1e-12)
    best = min(best_run.column('loss'))
    if kind == 'no ridge' and not has_optimum(problem, best_run.state.params):
        print(f'{task}: left out, as the loss has no minimum', flush=True)
        return []

    def gap(params) -> float:
        value = problem.loss(params.ravel()) / best - 1
        return max(0.0, value) if np.isfinite(value) else np.inf

    needed, gaps = {}, {}
    for method in (*OURS, *PEERS):
        n = fewest(lambda n, method=method: gap(fitted(X, y, kind, method, n)) <= GAP)
        if n is None:
            print(f'{task}: {method} does not get there', flush=True)
        else:
            needed[method], gaps[method] = n, gap(fitted(X, y, kind, method, n))
    theirs, times, counts = '', [], {}
    np.savez(f'{folder}/data.npz', X=X, y=y)
    for theirs in STATISTICS[kind] if python else ():
        tried = MANY if theirs.endswith('lbfgs') else FEW
        ends = [gap(params) for params in there(python, folder, theirs, tried)[0]]
        counts = {n: end for n, end in zip(tried, ends) if end <= GAP}
        if counts:
            break
        print(f'{task}: {theirs} does not get there: {min(ends):.1e} at best', flush=True)
    if counts:
        n = min(counts)
        times.append(there(python, folder, theirs, [n], REPEATS)[1])
    told = machine.fresh(__file__, 'here', task, needed)
    peaks = {method: told['peak_mb'] for method in needed}
    if counts:
        times.append(there(python, folder, theirs, [n], REPEATS)[1])
        told['seconds'][theirs] = [each for one in times for each in one['seconds']]
        needed[theirs], gaps[theirs] = n, counts[n]
        peaks[theirs] = max(one['peak_mb'] for one in times)
    whose = dict.fromkeys(OURS, 'ours') | {theirs: theirs.split(',')[0]}
    rows = []
    for method, n in needed.items():
        columns = machine.Timing(told['seconds'][method]).columns()
        columns |= dict(how='processor seconds of a fit, median of ten')
        more = dict(peer=whose.get(method, 'scikit-learn'), n_iter=n, gap=f'{gaps[method]:.1e}')
        rows.append(machine.row(method, task, **more, peak_mb=round(peaks[method], 1), **columns))
    return rows


def bound_rivals() -> Iterator[dict]:
    python = machine.peer_python('statistics')
    for task, given in tasks().items():
        with tempfile.TemporaryDirectory() as folder:
            yield from machine.kept(task.replace(':', ','), raced, task, *given, python, folder)
