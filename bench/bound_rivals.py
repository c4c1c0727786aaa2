"""Two statistics packages beside bound majorization and scikit-learn: time to a relative gap of
1e-6 of the best loss, one thread.

statsmodels: `MNLogit` has no ridge (its `fit_regularized` is for l1 alone), so tasks that end in
"no ridge" compare all programs without one, on those sets of bound_race whose optimum then exists:
the gradient vanishes at a point where the curvature is positive in every direction. Sets without
one are named and left out. Its solver is the default, Newton's method, which has no line search;
where that diverges its L-BFGS stands in. Covariances are not asked for (`skip_hessian`).

glum: two outcomes alone, so tasks that end in "two outcomes" have the even classes of a set against
the odd ones, with the ridge of bound_race on one vector of weights; glum's documented objective is
that of scikit-learn, and ours on two vectors has twice the ridge, which at the optimum is the same.
The solver is the one that its "auto" takes without an l1 penalty, iteratively reweighted least
squares.

For each method the smallest number of iterations whose end is within 1e-6 of the best loss known is
searched first (to six per cent); then fits of that many iterations are timed, from arrays at hand,
with the checks that each program makes of them. Ours and those of scikit-learn take turns in a
process, which has made each before; statsmodels and glum are timed in a process of their own,
before and after it. `seconds` are medians of ten fits, of the processor; `gap` is the loss at the
end over the best, less one. What does not get there in 2,000 iterations has no row and is named.
`peak_mb` is that of the process: of all that takes turns in it. statsmodels and glum run in the
interpreter of bench/peers/statistics.txt; without it there are no rows for them.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import bound_race
import machine
import numpy as np
from sklearn.linear_model import LogisticRegression

from extreme_opt.bound import LogLinear
from extreme_opt.core import minimize
from extreme_opt.core.majorize import Newton

LONG = True  # some minutes
RIDGE, GAP, REPEATS = bound_race.RIDGE, bound_race.GAP, 5
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
    for name, (X, y) in bound_race.sets(only).items():
        if only and name not in only:
            continue
        y = np.unique(y, return_inverse=True)[1]
        for kind, labels in (('no ridge', y), ('two outcomes', y % 2)):
            sizes = f'{len(y)} rows, {labels.max() + 1} classes, {X.shape[1]} columns'
            found[f'{name}: {sizes}, {kind}'] = X, labels, kind
    return found


def problem_of(X, y, kind) -> LogLinear:
    ridge = 2 * RIDGE if kind == 'two outcomes' else 0.0
    return LogLinear(np.hstack([X, np.ones((len(X), 1))]), y, ridge=ridge, n_unpenalized=1)


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


def sklearn_fit(X, y, kind, solver, n):
    "Parameters after so many iterations, a row for each class."
    C = 1 / (RIDGE * len(y)) if kind == 'two outcomes' else np.inf
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = LogisticRegression(C=C, solver=solver, max_iter=n, tol=1e-14).fit(X, y)
    return both(np.column_stack([model.coef_, model.intercept_]))


def both(weights) -> np.ndarray:
    "Rows for two classes from the one that a package has for their difference."
    weights = np.atleast_2d(weights)
    return np.vstack([-weights / 2, weights / 2]) if len(weights) == 1 else weights


def ours_fit(problem, method, n):
    run = minimize(problem, bound_race.SOLVERS[method], max_iter=n, loss_subset=0)
    return run.state.params


def fitted(X, y, kind, method, n) -> np.ndarray:
    "Parameters of a fit of ours or of scikit-learn."
    if method in OURS:
        return ours_fit(problem_of(X, y, kind), method, n)
    return sklearn_fit(X, y, kind, method, n)


def here(task, needed) -> dict:
    "Processor seconds of fits of ours and of scikit-learn, turn by turn."
    X, y, kind = tasks([task.split(':')[0]])[task]
    seconds: dict[str, list[float]] = {method: [] for method in needed}
    for turn in range(-1, 2 * REPEATS):
        for method in list(needed)[:: -1 if turn % 2 else 1]:
            mark = time.process_time()
            fitted(X, y, kind, method, needed[method])
            if turn >= 0:
                seconds[method].append(time.process_time() - mark)
    return dict(seconds=seconds)


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
    problem = problem_of(X, y, kind)
    best_run = minimize(problem, Newton(), max_iter=100, tol=1e-12)
    best = min(best_run.column('loss'))
    if kind == 'no ridge' and not has_optimum(problem, best_run.state.params):
        print(f'{task}: left out, as the loss has no minimum', flush=True)
        return []

    def gap(params) -> float:
        value = problem.loss(params.ravel()) / best - 1
        return max(0.0, value) if np.isfinite(value) else np.inf

    needed, gaps = {}, {}
    for method in (*OURS, *bound_race.PEERS):
        n = bound_race.fewest(lambda n, method=method: gap(fitted(X, y, kind, method, n)) <= GAP)
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
    rows = []
    for method, n in needed.items():
        timing = machine.Timing(told['seconds'][method])
        rows.append(
            machine.row(
                method=method,
                task=task,
                peer='ours'
                if method in OURS
                else theirs.split(',')[0]
                if method == theirs
                else 'scikit-learn',
                n_iter=n,
                gap=f'{gaps[method]:.1e}',
                peak_mb=round(peaks[method], 1),
                **timing.columns() | dict(how='processor seconds of a fit, median of ten'),
            )
        )
    return rows


def main() -> Iterator[dict]:
    python = machine.peer_python('statistics')
    for task, given in tasks().items():
        with tempfile.TemporaryDirectory() as folder:
            yield from machine.kept(task.replace(':', ','), raced, task, *given, python, folder)
