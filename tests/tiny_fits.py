"""A tiny fit or kernel call from every part of the package, for tests that run the package somewhere else.

    python tests/tiny_fits.py [JOB ...]          prints one JSON object: what each job gave
    python tests/tiny_fits.py block [JOB ...]    the same with numba out of reach

It needs numpy and scipy alone, so that it runs in an environment without extras; with numba there, its kernels are compiled.
"""
import json
import sys

if 'block' in sys.argv[1:]: sys.modules['numba'] = None   # type: ignore[assignment]

import numpy as np                                            # noqa: E402
from scipy import sparse                                      # noqa: E402

JOBS = {}


def job(function):
    JOBS[function.__name__.replace('__', '.')] = function
    return function


def rows(n_samples=24, n_features=5, n_classes=4):
    "A small problem: CSR features and labels."
    rng = np.random.default_rng(0)
    features = sparse.random(n_samples, n_features, .6, 'csr', rng=rng, dtype=np.float64)
    features.indices, features.indptr = features.indices.astype(np.int32), features.indptr.astype(np.int32)
    return features, np.arange(n_samples) % n_classes


@job
def core__linalg():
    from extreme_opt import core
    features, _ = rows()
    grid, vector = np.array([-700., -3, -1, 0, 1, 30, 1e8]), np.arange(5.)
    first = slice(*features.indptr[:2])
    core.row_add(features.indices[first], features.data[first], vector, 2.)
    matrix = np.eye(4) + np.ones((4, 4))
    solved = core.conjugate_gradients(lambda x: matrix @ x, np.arange(4.))
    return [core.wright_omega(grid), core.omega(.5), core.damped_log(1., .5), core.softplus(3.), core.log_sum_exp(np.outer(grid[:6], grid[1:4]), axis=1),
            core.row_dot(features.indices[first], features.data[first], vector), vector, core.row_squares(features), solved[0]]


@job
def core__descent():
    from extreme_opt.core import SGD, GradientDescent, LeastSquares, minimize
    from extreme_opt.core.descent import LBFGS
    features, labels = rows()
    problem = LeastSquares(features.toarray(), labels.astype(float), ridge=.1)
    solvers = SGD(.05), GradientDescent(), GradientDescent(scaling='adagrad'), LBFGS()
    return [minimize(problem, solver, max_steps=3).state.params for solver in solvers]


@job
def data__made_up():
    from extreme_opt import data
    problem, _ = data.planted_softmax(50, 4, 3)
    triplets, points = data.planted_triplets(12, 2, 40)
    distances, names = data.eurodist()
    return [problem.features, problem.labels, triplets.triplets, points, distances.sum(), len(names)]


def _softmax_fits(solver, steps=2):
    from extreme_opt.core import minimize
    from extreme_opt.softmax import DoubleSum
    features, labels = rows()
    for kind in (features, features.toarray()):
        for dtype in (np.float64, np.float32): yield minimize(DoubleSum(kind, labels, ridge=.01, dtype=dtype), solver, max_steps=steps).state.params


@job
def softmax__umax():
    from extreme_opt.softmax import UMax
    return list(_softmax_fits(UMax(learning_rate=.5, n_others=2)))


@job
def softmax__implicit():
    from extreme_opt.softmax import ImplicitSGD
    return list(_softmax_fits(ImplicitSGD(learning_rate=1.)))


@job
def softmax__sgd():
    from extreme_opt.core import SGD
    return list(_softmax_fits(SGD(.01)))


@job
def softmax__rivals():
    from extreme_opt.core import SGD, minimize
    from extreme_opt.softmax import FullSoftmax, ImportanceSampled, NoiseContrast, OneVsEach
    features, labels = rows()
    problems = [kind(values, labels, n_others=2) for kind in (OneVsEach, NoiseContrast, ImportanceSampled) for values in (features, features.toarray())]
    return [minimize(problem, SGD(.1), max_steps=2).state.params for problem in [*problems, FullSoftmax(features, labels)]]


@job
def softmax__classifier():
    from extreme_opt.softmax import SoftmaxClassifier
    features, labels = rows()
    rates = dict(implicit=3., umax=.3, sgd=.01, ove=.1, nce=1., sampled=1., lbfgs=None)
    fits = [SoftmaxClassifier(solver=solver, max_passes=2, learning_rate=rate).fit(features, labels, sample_weight=labels + 1) for solver, rate in rates.items()]
    fits.append(SoftmaxClassifier(average=True, early_stopping=True, max_passes=3, ridge=.1, class_weight='balanced').fit(features.toarray(), labels))
    return [values for fit in fits for values in (fit.coef_, fit.predict_log_proba(features), fit.top_k(features, 2))]


def _comparisons():
    rng = np.random.default_rng(0)
    three = np.array([(i, j, k) for i, j, k in rng.integers(8, size=(60, 3)) if len({i, j, k}) == 3])
    four = np.array([row for row in rng.integers(8, size=(60, 4)) if len(set(row)) > 2 and row[0] != row[1] and row[2] != row[3]])
    return three, four


@job
def ordinal__svrg():
    from extreme_opt.core import SGD, minimize
    from extreme_opt.ordinal import BB, CKL, SBB, SOE, STE, SVRG, TSTE, Comparisons, Damped, FixedStep, Hinge
    solvers = SVRG(), SVRG(SBB(.1, kind='geometric'), 3), SVRG(Damped()), SVRG(BB()), SVRG(FixedStep(.01)), SGD(.01)
    problems = [Comparisons(rows, 2, loss, 8, ridge=ridge) for rows in _comparisons() for loss in (STE(), TSTE(), CKL(), Hinge(), SOE()) for ridge in (0., .1)]
    return [minimize(problem, solver, max_steps=2).state.params for solver in solvers for problem in problems]


def flat(values):
    "All numbers of a nested result, with their sum weighted by place: short, and any change shows."
    parts = [np.asarray(value.toarray() if sparse.issparse(value) else value, dtype=float).ravel() for value in values]
    return [float(part @ (1 + np.arange(len(part)) % 7)) for part in parts]


def main(names):
    return {name: flat(JOBS[name]()) for name in names or JOBS}


if __name__ == '__main__':
    from extreme_opt.core.compiled import HAVE_NUMBA, njit
    names, compiled = [word for word in sys.argv[1:] if word != 'block'], []
    if HAVE_NUMBA:
        import numba.core.event as event
        with event.install_recorder('numba:compile') as record:
            results = main(names)
            njit(lambda number: number + 1)(1)     # never kept on disk: shows that the recorder sees what is compiled
        compiled = [entry.data['dispatcher'].py_func.__qualname__ for _, entry in record.buffer if entry.is_start]
    else: results = main(names)
    print(json.dumps(dict(results=results, have_numba=HAVE_NUMBA, compiled=compiled)))
