"""A tiny fit or kernel call from every part of the package, for tests that run the package
somewhere else.

    python tiny_fits.py [JOB ...]          prints one JSON object: what each job gave
    python tiny_fits.py block [JOB ...]    the same with numba out of reach

It needs numpy and scipy alone, so that it runs in an environment without extras; with numba there,
its kernels are compiled.
"""

import json
import sys

if 'block' in sys.argv[1:]:
    sys.modules['numba'] = None  # type: ignore[assignment]

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

JOBS = {}


def job(function):
    JOBS[function.__name__.replace('__', '.')] = function
    return function


def rows(n_samples=24, n_features=5, n_classes=4):
    "A small problem: CSR features and labels."
    rng = np.random.default_rng(0)
    features = sparse.random(n_samples, n_features, 0.6, 'csr', random_state=rng, dtype=np.float64)
    features.indices, features.indptr = (
        features.indices.astype(np.int32),
        features.indptr.astype(np.int32),
    )
    return features, np.arange(n_samples) % n_classes


@job
def core__linalg():
    from extreme_opt import core

    features, _ = rows()
    grid, vector = np.array([-700.0, -3, -1, 0, 1, 30, 1e8]), np.arange(5.0)
    first = slice(*features.indptr[:2])
    core.linalg.csr_axpy(features.indices[first], features.data[first], vector, 2.0)
    matrix = np.eye(4) + np.ones((4, 4))
    solved = core.linalg.conjugate_gradients(lambda x: matrix @ x, np.arange(4.0))
    edges = [
        core.linalg.damped_log(A, y)
        for A in (1e-6, 1.0, 50.0, 1e8)
        for y in (-1e4, -3.0, 0.0, 5.0, 1e4)
    ]
    return [
        core.linalg.wright_omega(grid),
        core.linalg.omega(0.5),
        core.linalg.omega(-1e9),
        core.linalg.omega(1e300) / 1e300,
        edges,
        core.linalg.softplus(3.0),
        core.linalg.softplus(-800.0),
        core.linalg.log_sum_exp(np.outer(grid[:6], grid[1:4]), axis=1),
        core.linalg.csr_dot(features.indices[first], features.data[first], vector),
        vector,
        core.linalg.squared_row_norms(features),
        solved[0],
    ]


@job
def core__descent():
    from extreme_opt.core import SGD, GradientDescent, LeastSquares, minimize
    from extreme_opt.core.descent import LBFGS

    features, labels = rows()
    problem = LeastSquares(features.toarray(), labels.astype(float), ridge=0.1)
    solvers = SGD(0.05), GradientDescent(), GradientDescent(scaling='adagrad'), LBFGS()
    return [minimize(problem, solver, max_iter=3).state.params for solver in solvers]


@job
def data__made_up():
    from extreme_opt import data

    problem, _ = data.planted_softmax(50, 4, 3)
    triplets, points = data.planted_triplets(12, 2, 40)
    distances, names = data.eurodist()
    return [
        problem.features,
        problem.labels,
        triplets.triplets,
        points,
        distances.sum(),
        len(names),
    ]


def _softmax_fits(solver, steps=2):
    from extreme_opt.core import minimize
    from extreme_opt.softmax import DoubleSum

    features, labels = rows()
    for kind in (features, features.toarray()):
        for dtype in (np.float64, np.float32):
            yield minimize(
                DoubleSum(kind, labels, ridge=0.01, dtype=dtype), solver, max_iter=steps
            ).state.params


@job
def softmax__umax():
    from extreme_opt.softmax import UMax

    return list(_softmax_fits(UMax(learning_rate=0.5, n_negatives=2)))


@job
def softmax__implicit():
    from extreme_opt.softmax import ImplicitSGD

    return list(_softmax_fits(ImplicitSGD(learning_rate=1.0)))


@job
def softmax__sgd():
    from extreme_opt.core import SGD

    return list(_softmax_fits(SGD(0.01)))


@job
def softmax__rivals():
    from extreme_opt.core import SGD, minimize
    from extreme_opt.softmax import NCE, FullSoftmax, ImportanceSampled, OneVsEach

    features, labels = rows()
    problems = [
        kind(values, labels, n_negatives=2)
        for kind in (OneVsEach, NCE, ImportanceSampled)
        for values in (features, features.toarray())
    ]
    return [
        minimize(problem, SGD(0.1), max_iter=2).state.params
        for problem in [*problems, FullSoftmax(features, labels)]
    ]


@job
def softmax__classifier():
    from extreme_opt.softmax import SoftmaxClassifier

    features, labels = rows()
    rates = dict(
        exact=1.0, implicit=3.0, umax=0.3, sgd=0.01, ove=0.1, nce=1.0, sampled=1.0, lbfgs=None
    )
    fits = [
        SoftmaxClassifier(solver=solver, max_epochs=2, learning_rate=rate).fit(
            features, labels, sample_weight=labels + 1
        )
        for solver, rate in rates.items()
    ]
    fits.append(
        SoftmaxClassifier(
            average=True, early_stopping=True, max_epochs=3, ridge=0.1, class_weight='balanced'
        ).fit(features.toarray(), labels)
    )
    return [
        values
        for fit in fits
        for values in (fit.coef_, fit.predict_log_proba(features), fit.top_k(features, 2))
    ]


@job
def bound__recursion():
    from extreme_opt import bound

    features, scores = np.arange(12.0).reshape(4, 3) % 5, np.array([0.0, 3, -1e6, 2])
    nodes = [bound.quadratic_bound(features, scores, order) for order in ('smallest', 'largest')]
    chain = bound.class_space.class_chain(np.array([[0.0, 1, 2, -np.inf], [5, 5, 5, 5]]))
    return [value for node in nodes for value in node] + [
        *chain,
        bound.class_space.chain_times(chain, np.arange(8.0).reshape(2, 4)),
        bound.class_space.chain_matrix(chain),
    ]


@job
def bound__classifier():
    from extreme_opt.bound import BoundClassifier

    features, labels = rows()
    fits = [
        BoundClassifier(solver, max_iter=3).fit(features, labels)
        for solver in ('bm', 'sbm', 'incremental', 'newton', 'lbfgs')
    ]
    return [
        values
        for fit in fits
        for values in (fit.coef_, fit.predict_log_proba(features), [fit.bound_gap_])
    ]


@job
def bound__majorizer():
    from extreme_opt.bound import LogLinear, QuasiMajorizer
    from extreme_opt.core import minimize
    from extreme_opt.core.majorize import Majorizer, Newton

    features, labels = rows()
    problems = [LogLinear(values, labels, ridge=0.1) for values in (features, features.toarray())]
    solvers = Majorizer(), Majorizer(solve='cg'), Newton(), QuasiMajorizer()
    return [
        minimize(problem, solver, max_iter=2).state.params
        for problem in problems
        for solver in solvers
    ]


@job
def bound__stochastic():
    from extreme_opt.bound import IncrementalMajorizer, LogLinear, StochasticMajorizer
    from extreme_opt.core import minimize

    features, labels = rows()
    problems = [LogLinear(values, labels, ridge=0.1) for values in (features, features.toarray())]
    solvers = (
        StochasticMajorizer(batch_size=6),
        StochasticMajorizer(batch_size=6, curvature='batch'),
        IncrementalMajorizer(batch_size=6, relaxation=1.5),
    )
    return [
        minimize(problem, solver, max_iter=3).state.params
        for problem in problems
        for solver in solvers
    ]


@job
def bound__structured():
    from extreme_opt.bound import LinearChain
    from extreme_opt.bound.structured import best_labels, chain_bound, forward_backward
    from extreme_opt.core import minimize
    from extreme_opt.core.majorize import Majorizer

    features, labels = rows()
    problem = LinearChain(features, labels, np.array([0, 5, 6, 24]), ridge=0.1)
    scores, transitions = 3 * features.toarray()[:6, :4], np.arange(16.0).reshape(4, 4) % 5
    bound = chain_bound(scores, transitions)
    sums = [value for size in (1.0, 1e3) for value in forward_backward(size * scores, transitions)]
    return [
        *sums,
        best_labels(scores, transitions),
        *bound[:2],
        bound[2].T @ bound[2],
        minimize(problem, Majorizer(), max_iter=3).state.params,
    ]


def _comparisons():
    rng = np.random.default_rng(0)
    three = np.array(
        [(i, j, k) for i, j, k in rng.integers(8, size=(60, 3)) if len({i, j, k}) == 3]
    )
    four = np.array(
        [
            row
            for row in rng.integers(8, size=(60, 4))
            if len(set(row)) > 2 and row[0] != row[1] and row[2] != row[3]
        ]
    )
    return three, four


@job
def ordinal__svrg():
    from extreme_opt.core import SGD, minimize
    from extreme_opt.core.step_sizes import BB, SBB, Damped, FixedStep
    from extreme_opt.core.svrg import SVRG
    from extreme_opt.ordinal import CKL, SOE, STE, TSTE, Comparisons, Hinge

    solvers = (
        SVRG(),
        SVRG(SBB(0.1, kind='geometric'), 3),
        SVRG(Damped()),
        SVRG(BB()),
        SVRG(FixedStep(0.01)),
        SGD(0.01),
    )
    problems = [
        Comparisons(rows, 2, loss, 8, ridge=ridge)
        for rows in _comparisons()
        for loss in (STE(), TSTE(), CKL(), Hinge(), SOE())
        for ridge in (0.0, 0.1)
    ]
    return [
        minimize(problem, solver, max_iter=2).state.params
        for solver in solvers
        for problem in problems
    ]


def _pairs(**options):
    from extreme_opt.similarity import AllPairs

    features, _ = rows(9, 4)
    observed = np.column_stack([np.arange(20) % 9, np.arange(20) * 3 % 7])
    return AllPairs(
        np.unique(observed, axis=0), features, n_right=7, n_components=3, ridge=0.1, **options
    )


@job
def similarity__problem():
    from extreme_opt.core import GradientDescent, minimize
    from extreme_opt.similarity import MLP, Linear

    towers = dict(left=MLP(4), right=Linear())
    problems = [
        _pairs(**towers),
        _pairs(pair_loss='squared', penalty='all', biases=True, **towers),
        _pairs(impute=0.0, **towers),
    ]
    return [minimize(problem, GradientDescent(), max_iter=3).state.params for problem in problems]


@job
def ordinal__gram():
    from extreme_opt.core import minimize
    from extreme_opt.ordinal import STE, TSTE, GramComparisons, ProjectedGradient
    from extreme_opt.ordinal.plain.proof import largest_batch, lyapunov

    rows = np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1], [1, 2, 0]])
    problems = (
        GramComparisons(rows, STE(), trace=0.1),
        GramComparisons(rows, TSTE(1.0), rank=2),
        GramComparisons([[0, 1, 2, 3], [1, 3, 0, 2]]),
    )
    fits = [
        minimize(problem, ProjectedGradient(), max_iter=4).state.params for problem in problems[:2]
    ]
    return [
        *fits,
        problems[2].grad(np.outer([0.0, 1, 3, 7], [0, 1, 3, 7]).ravel() / 9) ** 2,
        *lyapunov(5, 2, 0.02),
        largest_batch(1000, 1.0),
    ]


@job
def similarity__sampled():
    from extreme_opt.core import minimize
    from extreme_opt.similarity import MLP, BlockSGD, Linear, PairSGD, SOGram

    problem = _pairs(left=MLP(4), right=Linear())
    solvers = (
        BlockSGD(share=0.5),
        BlockSGD(1e-3, share=0.5, scaling=None),
        PairSGD(share=0.5),
        PairSGD(share=0.3, sampler='entities'),
        SOGram(share=0.3),
    )
    return [minimize(problem, solver, max_iter=2).state.params for solver in solvers]


@job
def similarity__ranking():
    from extreme_opt.similarity import item_neighbors, popularity, rank_measures, top_k
    from extreme_opt.similarity.ranking import pattern

    train, test = (
        pattern(np.column_stack([np.arange(20) % 9, np.arange(20) * step % 7]), (9, 7))
        for step in (3, 5)
    )
    found = [rank_measures(make(train), test, train) for make in (popularity, item_neighbors)]
    return [list(measures.values()) for measures in found] + list(
        top_k(popularity(train), np.arange(9), 7, 3, train)
    )


@job
def similarity__gauss_newton():
    from extreme_opt.core import GaussNewton, minimize
    from extreme_opt.similarity import MLP, Linear

    towers = dict(left=MLP(4), right=Linear())
    problems = [_pairs(**towers), _pairs(pair_loss='squared', biases=True, **towers)]
    return [
        minimize(problem, GaussNewton(max_products=4), max_iter=2).state.params
        for problem in problems
    ]


@job
def similarity__als():
    from extreme_opt.similarity import SimilarityModel

    pairs = np.unique(np.column_stack([np.arange(20) % 9, np.arange(20) * 3 % 7]), axis=0)
    model = SimilarityModel(2, solver='als', loss='squared', max_iter=3, tol=None).fit(pairs)
    return [model.run_.column('loss')]


@job
def similarity__model():
    from extreme_opt.similarity import MLP, Linear, SimilarityModel

    features, _ = rows(9, 4)
    pairs = np.unique(np.column_stack([np.arange(20) % 9, np.arange(20) * 3 % 7]), axis=0)
    fits = [
        SimilarityModel(2, MLP(4), Linear(), solver, max_iter=2, dtype='float64').fit(
            pairs, features.toarray()
        )
        for solver in ('newton', 'adagrad', 'sogram')
    ]
    return [
        values
        for fit in fits
        for values in (
            fit.left_embeddings_,
            fit.right_embeddings_,
            *fit.recommend(k=3),
            fit.similar([1, 2], 2)[1],
        )
    ]


@job
def ordinal__embedding():
    from extreme_opt.ordinal import OrdinalEmbedding, choose_components
    from extreme_opt.ordinal.plain.which_question import information

    three, _ = _comparisons()
    features = np.random.default_rng(1).normal(size=(8, 3))
    fits = [
        OrdinalEmbedding(2, solver=solver, max_iter=2).fit(three, features=features)
        for solver in ('svrg', 'sgd', 'gd', 'lbfgs', 'gram')
    ]
    maps = fits[0].bootstrap(three, n_draws=2)
    return [
        values
        for fit in fits
        for values in (fit.embedding_, fit.error_, fit.transform(features[:2]))
    ] + [
        maps,
        information(maps, three),
        *choose_components(
            OrdinalEmbedding(max_iter=1), three, candidates=(1, 2), n_folds=2
        ).values(),
    ]


@job
def scale__rotation():
    from extreme_opt.core import minimize
    from extreme_opt.scale import Sharded
    from extreme_opt.softmax import DoubleSum, Rotation

    features, labels = rows()
    whole = Sharded(DoubleSum(features, labels, 4, ridge=0.1, alpha=1.0), None, 3)
    fits = [
        minimize(whole, Rotation(0.5, 2, method), max_epochs=2).state.params
        for method in ('implicit', 'umax')
    ]
    return [*fits, *(np.atleast_1d(found) for found in whole.loss_and_grad(fits[0]))]


def flat(values):
    "All numbers of a nested result, with their sum weighted by place: short, and any change shows."
    parts = [
        np.asarray(value.toarray() if sparse.issparse(value) else value, dtype=float).ravel()
        for value in values
    ]
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
            njit(lambda number: number + 1)(
                1
            )  # never kept on disk: shows that the recorder sees what is compiled
        compiled = [
            entry.data['dispatcher'].py_func.__qualname__
            for _, entry in record.buffer
            if entry.is_start
        ]
    else:
        results = main(names)
    print(json.dumps(dict(results=results, have_numba=HAVE_NUMBA, compiled=compiled)))
