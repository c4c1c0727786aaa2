"""A tiny fit or kernel call from every part of the package, for tests that run the package
somewhere else.

    python tiny_fits.py [JOB ...]          prints one JSON object: what each job gave
    python tiny_fits.py block [JOB ...]    the same with numba out of reach

It needs what the package needs and no extras; with numba there, its kernels are compiled.
"""

import json
import sys
from functools import partial

if 'block' in sys.argv[1:]:
    sys.modules['numba'] = None  # type: ignore[assignment]

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from extreme_opt import bound, core, data, ordinal, scale, similarity, softmax  # noqa: E402
from extreme_opt.core import SGD, GradientDescent, linalg, step_sizes  # noqa: E402
from extreme_opt.core.majorize import Majorizer, Newton  # noqa: E402
from extreme_opt.core.svrg import SVRG  # noqa: E402
from extreme_opt.ordinal.plain import proof, which_question  # noqa: E402
from extreme_opt.similarity import MLP, Linear  # noqa: E402
from extreme_opt.softmax.exact import ExactSGD, SquaredHingeByColumn  # noqa: E402
from extreme_opt.softmax.support import PostingWeights, SupportSGD, SupportSoftmax  # noqa: E402

JOBS, RUNS = {}, {}  # RUNS: those that minimize: name -> (what makes the problems, the solvers)


def job(function):
    JOBS[function.__name__.replace('__', '.')] = function
    return function


def runs(*solvers, max_iter=2):
    "The job of a function that makes problems: where each solver ends on each of them."

    def kept(function):
        name = function.__name__.replace('__', '.')
        RUNS[name] = function, solvers
        JOBS[name] = lambda: ends(function(), solvers, max_iter)
        return function

    return kept


def ends(problems, solvers, max_iter=2):
    return [
        core.minimize(problem, solver, max_iter=max_iter).state.params
        for problem in problems
        for solver in solvers
    ]


def rows(n_samples=24, n_features=5, n_classes=4):
    "A small problem: CSR features and labels."
    rng = np.random.default_rng(0)
    X = sparse.random(n_samples, n_features, 0.6, 'csr', random_state=rng, dtype=np.float64)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.arange(n_samples) % n_classes


X, Y = rows()
KINDS = X, X.toarray()


@job
def core__linalg():
    grid, vector = np.array([-700.0, -3, -1, 0, 1, 30, 1e8]), np.arange(5.0)
    first = slice(*X.indptr[:2])
    linalg.csr_axpy(X.indices[first], X.data[first], vector, 2.0)
    matrix = np.eye(4) + np.ones((4, 4))
    goals = -1e4, -3.0, 0.0, 5.0, 1e4
    return [
        linalg.wright_omega(grid),
        *map(linalg.omega, (0.5, -1e9)),
        linalg.omega(1e300) / 1e300,
        [linalg.damped_log(A, y) for A in (1e-6, 1.0, 50.0, 1e8) for y in goals],
        *map(linalg.softplus, (3.0, -800.0)),
        linalg.log_sum_exp(np.outer(grid[:6], grid[1:4]), axis=1),
        linalg.csr_dot(X.indices[first], X.data[first], vector),
        vector,
        linalg.squared_row_norms(X),
        linalg.conjugate_gradients(lambda x: matrix @ x, np.arange(4.0))[0],
    ]


@runs(SGD(0.05), GradientDescent(), GradientDescent('adagrad'), core.LBFGS(), max_iter=3)
def core__descent():
    types = np.float64, np.float32
    return [core.LeastSquares(X.toarray().astype(t), Y.astype(t), ridge=0.1) for t in types]


@job
def data__made_up():
    problem, _ = data.planted_softmax(50, 4, 3)
    triplets, points = data.planted_triplets(12, 2, 40)
    distances, names = data.eurodist()
    made = problem.features, problem.labels, triplets.triplets, points
    return [*made, distances.sum(), len(names)]


def double_sums():
    return [
        softmax.DoubleSum(each, Y, ridge=0.01, dtype=dtype)
        for each in KINDS
        for dtype in (np.float64, np.float32)
    ]


for _name, _solver in dict(
    umax=softmax.UMax(learning_rate=0.5, n_negatives=2),
    implicit=softmax.ImplicitSGD(learning_rate=1.0),
    sgd=SGD(0.01),
).items():
    JOBS[f'softmax.{_name}'] = partial(lambda solver: ends(double_sums(), [solver]), _solver)
    RUNS[f'softmax.{_name}'] = double_sums, (_solver,)


@runs(ExactSGD(0.1))
def softmax__exact():
    kinds = softmax.FullSoftmaxByColumn, SquaredHingeByColumn
    return [kind(values, Y, 4, ridge=0.1) for kind in kinds for values in KINDS]


@runs(SGD(0.1))
def softmax__rivals():
    rivals = softmax.OneVsEach, softmax.NCE, softmax.ImportanceSampled
    problems = [kind(values, Y, n_negatives=2) for kind in rivals for values in KINDS]
    return [*problems, softmax.FullSoftmax(X, Y)]


@runs(SupportSGD(3.0))
def softmax__support():
    return [SupportSoftmax(X, Y, 4, height=height, ridge=0.01) for height in (0.0, 0.2)]


@job
def softmax__postings():
    coef = sparse.csr_array(np.where(np.arange(20).reshape(4, 5) % 3, 1.5, 0.0))
    model = PostingWeights(coef, np.arange(4.0))
    return [model.scores(X), *model.top_k(X, 2), model.log_losses(X, Y)]


def classified(fit):
    "What a fitted classifier answers."
    return [fit.coef_, fit.predict_log_proba(X), fit.top_k(X, 2)]


@job
def softmax__classifier():
    rates = dict(exact=1.0, implicit=3.0, umax=0.3, sgd=0.01, ove=0.1, nce=1.0, sampled=1.0)
    best = dict(average=True, early_stopping=True, ridge=0.1, class_weight='balanced')
    fits = [
        softmax.SoftmaxClassifier(solver, max_epochs=2, learning_rate=rate).fit(X, Y, Y + 1)
        for solver, rate in {**rates, 'lbfgs': None}.items()
    ]
    fits.append(softmax.SoftmaxClassifier(max_epochs=3, **best).fit(X.toarray(), Y))
    return [values for fit in fits for values in classified(fit)]


@job
def bound__recursion():
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
    solvers = 'bm', 'sbm', 'incremental', 'newton', 'lbfgs'
    fits = [bound.BoundClassifier(solver, max_iter=3).fit(X, Y) for solver in solvers]
    return [[*classified(fit)[:2], [fit.bound_gap_]] for fit in fits]


@runs(Majorizer(), Majorizer(solve='cg'), Newton(), bound.QuasiMajorizer())
def bound__majorizer():
    kinds = *KINDS, X.toarray().astype(np.float32)
    return [bound.LogLinear(values, Y, ridge=0.1) for values in kinds]


@runs(
    bound.StochasticMajorizer(batch_size=6),
    bound.StochasticMajorizer(batch_size=6, curvature='batch'),
    bound.IncrementalMajorizer(batch_size=6, relaxation=1.5),
    max_iter=3,
)
def bound__stochastic():
    return bound__majorizer()


@job
def bound__structured():
    problem = bound.LinearChain(X, Y, np.array([0, 5, 6, 24]), ridge=0.1)
    scores, transitions = 3 * X.toarray()[:6, :4], np.arange(16.0).reshape(4, 4) % 5
    *near, root = bound.structured.chain_bound(scores, transitions)[:3]
    sums = [bound.structured.forward_backward(size * scores, transitions) for size in (1.0, 1e3)]
    path = bound.structured.best_labels(scores, transitions)
    return [*sums[0], *sums[1], path, *near, root.T @ root, *ends([problem], [Majorizer()], 3)]


def comparisons():
    "Triplets and quadruplets."
    rng = np.random.default_rng(0)

    def whole(row):
        return len({*row.tolist()}) > 2 and row[0] != row[1] and row[-2] != row[-1]

    return [np.array([*filter(whole, rng.integers(8, size=(60, n)))]) for n in (3, 4)]


@runs(
    SVRG(),
    SVRG(step_sizes.SBB(0.1, kind='geometric'), 3),
    *map(SVRG, (step_sizes.Damped(), step_sizes.BB(), step_sizes.FixedStep(0.01))),
    SGD(0.01),
)
def ordinal__svrg():
    kinds = ordinal.STE(), ordinal.TSTE(), ordinal.CKL(), ordinal.Hinge(), ordinal.SOE()
    return [
        ordinal.Comparisons(rows, 2, loss, 8, ridge=ridge)
        for rows in comparisons()
        for loss in kinds
        for ridge in (0.0, 0.1)
    ]


@runs(ordinal.ProjectedGradient(), max_iter=4)
def ordinal__gram():
    rows = np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1], [1, 2, 0]])
    one = ordinal.GramComparisons(rows, ordinal.STE(), trace=0.1)
    return [one, ordinal.GramComparisons(rows, ordinal.TSTE(1.0), rank=2)]


@job
def ordinal__proof():
    four = ordinal.GramComparisons([[0, 1, 2, 3], [1, 3, 0, 2]])
    grad = four.grad(np.outer([0.0, 1, 3, 7], [0, 1, 3, 7]).ravel() / 9)
    return [grad**2, *proof.lyapunov(5, 2, 0.02), proof.largest_batch(1000, 1.0)]


@job
def ordinal__embedding():
    three, _ = comparisons()
    features = np.random.default_rng(1).normal(size=(8, 3))
    fits = [
        ordinal.OrdinalEmbedding(2, solver=solver, max_iter=2).fit(three, features=features)
        for solver in ('svrg', 'sgd', 'gd', 'lbfgs', 'gram')
    ]
    maps, one = fits[0].bootstrap(three, n_draws=2), ordinal.OrdinalEmbedding(max_iter=1)
    chosen = ordinal.choose_components(one, three, candidates=(1, 2), n_folds=2)
    found = [[fit.embedding_, fit.error_, fit.transform(features[:2])] for fit in fits]
    return [*found, maps, which_question.information(maps, three), *chosen.values()]


OBSERVED = np.unique(np.column_stack([np.arange(20) % 9, np.arange(20) * 3 % 7]), axis=0)
TOWERS = dict(left=MLP(4), right=Linear())
SQUARED = dict(pair_loss='squared', biases=True)


def pairs(**options):
    features, sizes = rows(9, 4)[0], dict(n_right=7, n_components=3)
    return similarity.AllPairs(OBSERVED, features, ridge=0.1, **sizes, **TOWERS, **options)


@runs(GradientDescent(), max_iter=3)
def similarity__problem():
    return [pairs(), pairs(penalty='all', **SQUARED), pairs(impute=0.0)]


@runs(
    similarity.BlockSGD(share=0.5),
    similarity.BlockSGD(1e-3, share=0.5, scaling=None),
    similarity.PairSGD(share=0.5),
    similarity.PairSGD(share=0.3, sampler='entities'),
    similarity.SOGram(share=0.3),
)
def similarity__sampled():
    return [pairs(), pairs(dtype=np.float32)]


@job
def similarity__ranking():
    at = np.arange(20)
    both = [np.column_stack([at % 9, at * k % 7]) for k in (3, 5)]
    train, test = (similarity.ranking.pattern(each, (9, 7)) for each in both)
    scored = [make(train) for make in (similarity.popularity, similarity.item_neighbors)]
    found = [list(similarity.rank_measures(each, test, train).values()) for each in scored]
    return [*found, *similarity.top_k(scored[0], np.arange(9), 7, 3, train)]


@runs(core.GaussNewton(max_products=4))
def similarity__gauss_newton():
    return [pairs(), pairs(**SQUARED)]


@job
def similarity__als():
    model = similarity.SimilarityModel(2, solver='als', loss='squared', max_iter=3, tol=None)
    return [model.fit(OBSERVED).run_.column('loss')]


@job
def similarity__model():
    features, found = rows(9, 4)[0].toarray(), []
    for solver in ('newton', 'adagrad', 'sogram'):
        model = similarity.SimilarityModel(2, solver=solver, max_iter=2, dtype='float64', **TOWERS)
        model.fit(OBSERVED, features)
        found += [model.left_embeddings_, model.right_embeddings_, *model.recommend(k=3)]
        found.append(model.similar([1, 2], 2)[1])
    return found


@job
def scale__rotation():
    whole = scale.Sharded(softmax.DoubleSum(X, Y, 4, ridge=0.1, alpha=1.0), None, 3)
    fits = [
        core.minimize(whole, softmax.Rotation(0.5, 2, method), max_epochs=2).state.params
        for method in ('implicit', 'umax')
    ]
    return [*fits, *map(np.atleast_1d, whole.loss_and_grad(fits[0]))]


def flat(values):
    "All numbers of a nested result, with their sum weighted by place: short, and any change shows."
    if isinstance(values, (list, tuple)):
        return [number for value in values for number in flat(value)]
    part = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=float).ravel()
    return [float(part @ (1 + np.arange(len(part)) % 7))]


def main(names):
    return {name: flat(JOBS[name]()) for name in names or JOBS}


if __name__ == '__main__':
    from extreme_opt.core.compiled import HAVE_NUMBA, njit

    names, compiled = [word for word in sys.argv[1:] if word != 'block'], []
    if HAVE_NUMBA:
        import numba.core.event as event

        with event.install_recorder('numba:compile') as record:
            results = main(names)
            njit(lambda number: number + 1)(1)  # never kept on disk: the recorder sees it
        begun = [entry for _, entry in record.buffer if entry.is_start]
        compiled = [entry.data['dispatcher'].py_func.__qualname__ for entry in begun]
    else:
        results = main(names)
    print(json.dumps(dict(results=results, have_numba=HAVE_NUMBA, compiled=compiled)))
