"Problems that stand in for the softmax: exact values, draws, kernels, edges."

import itertools

import numpy as np
import pytest
from refusals import refuses
from scipy import sparse, stats

from extreme_opt.core.checks import check_descend, check_gradient, check_unbiased
from extreme_opt.core.run import minimize
from extreme_opt.softmax import NCE, Draw, FullSoftmax, ImportanceSampled, OneVsEach
from extreme_opt.softmax.rivals import noise_proba

NOISES = ('uniform', 'unigram', 'log-uniform', np.array([0.3, 0.1, 0.2, 0.3, 0.1]))
FORMS = ('sampled', 'label_exact', 'self_normalized')


def small(kind, n_samples=6, n_classes=5, n_features=3, as_sparse=False, dtype=float, **settings):
    rng = np.random.default_rng(3)
    features = (
        rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.7)
    ).astype(dtype)
    labels = rng.integers(n_classes, size=n_samples)
    return kind(
        sparse.csr_array(features) if as_sparse else features, labels, n_classes, **settings
    )


def every_kind():
    yield FullSoftmax, {}
    for m in (1, 4):
        yield OneVsEach, dict(n_negatives=m)
    for noise in NOISES:
        yield NCE, dict(n_negatives=3, noise=noise)
        for form in FORMS:
            yield ImportanceSampled, dict(n_negatives=2, noise=noise, form=form)


KINDS = list(every_kind())
NAMES = [
    ' '.join([kind.__name__, *('array' if np.ndim(v) else str(v) for v in settings.values())])
    for kind, settings in KINDS
]


def every_draw(problem):
    if isinstance(problem, FullSoftmax):
        return [np.array([i]) for i in range(problem.n_samples)], None
    batches, probabilities = [], []
    for i, label in enumerate(problem.labels):
        wrong = [k for k in range(problem.n_classes) if k != label]
        if problem.distinct:
            sets = list(itertools.combinations(wrong, problem.n_negatives))
            weight = np.ones(len(sets))
        else:
            others = wrong if problem.skips_label else range(problem.n_classes)
            sets = list(itertools.product(others, repeat=problem.n_negatives))
            weight = problem.noise_proba[np.array(sets)].prod(1)
        batches += [Draw(np.array([i]), np.array([c])) for c in sets]
        probabilities += list(weight / weight.sum() / problem.n_samples)
    return batches, probabilities


@pytest.mark.parametrize('as_sparse, n_unpenalized', [(False, 0), (True, 1)])
@pytest.mark.parametrize('kind, settings', KINDS, ids=NAMES)
def test_exact_values_are_the_mean_over_all_draws(kind, settings, as_sparse, n_unpenalized):
    problem = small(kind, as_sparse=as_sparse, ridge=0.05, n_unpenalized=n_unpenalized, **settings)
    params = 1.5 * np.random.default_rng(1).normal(size=problem.init_params().size)
    batches, probabilities = every_draw(problem)
    check_unbiased(problem, params, batches, probabilities, rtol=1e-9)
    if settings.get('form') != 'self_normalized':
        check_gradient(problem, params)
        options = dict(estimate=problem.loss_at, exact=problem.loss(params), rtol=1e-9)
        check_unbiased(problem, params, batches, probabilities, **options)
    rows = [i for i in range(problem.n_samples)]
    assert problem.loss_on(params, rows) == pytest.approx(problem.loss(params), rel=1e-12)
    loss, grad = problem.loss_and_grad(params)
    assert loss == problem.loss(params)
    np.testing.assert_array_equal(grad, problem.grad(params))


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
@pytest.mark.parametrize('as_sparse', [False, True])
@pytest.mark.parametrize('kind, settings', KINDS, ids=NAMES)
def test_kernels_move_by_the_gradient(kind, settings, as_sparse, dtype):
    for ridge, n_unpenalized in ((0.0, 0), (0.3, 0), (0.3, 1)):
        options = dict(as_sparse=as_sparse, dtype=dtype, ridge=ridge, n_unpenalized=n_unpenalized)
        problem = small(kind, n_samples=40, **options, **settings)
        rng = np.random.default_rng(2)
        params = rng.normal(size=problem.init_params().size).astype(dtype)
        assert problem.init_params().dtype == problem.grad(params).dtype == dtype
        batch = problem.draw(rng, 17)
        assert problem.grad_at(params, batch).dtype == dtype
        check_descend(problem, params, batch, 0.01)
        if kind is FullSoftmax:
            continue
        each, one = params.copy(), params.copy()
        problem.sgd_steps_(each, batch, 0.01)
        for i in range(17):
            problem.sgd_step_(one, Draw(batch.sample[i : i + 1], batch.others[i : i + 1]), 0.01)
        np.testing.assert_array_equal(each, one)


@pytest.mark.parametrize(
    'kind, settings',
    [k for k in KINDS if k[0] is not FullSoftmax],
    ids=[n for n in NAMES if n != 'FullSoftmax'],
)
def test_draws_follow_their_chances(kind, settings):
    problem = small(kind, n_samples=3, **settings)
    batch = problem.draw(np.random.default_rng(0), 30000)
    batches, probabilities = every_draw(problem)

    def key(i, others):
        return (i, *sorted(others)) if problem.distinct else (i, *others)

    wanted, seen = {}, {}
    for b, probability in zip(batches, probabilities):
        wanted[key(b.sample[0], b.others[0])] = (
            wanted.get(key(b.sample[0], b.others[0]), 0) + probability
        )
    for i, others in zip(batch.sample, batch.others):
        seen[key(i, others)] = seen.get(key(i, others), 0) + 1
    assert set(seen) <= set(wanted)
    counts = np.array([seen.get(k, 0) for k in wanted])
    assert stats.chisquare(counts, 30000 * np.array(list(wanted.values()))).pvalue > 1e-4
    rng_a, rng_b = np.random.default_rng(5), np.random.default_rng(5)
    for a, b in zip(problem.draw(rng_a, 50), problem.draw(rng_b, 50)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize('n_classes, m', [(5, 1), (5, 2), (5, 3), (5, 4), (9, 4), (9, 8), (12, 6)])
def test_mean_over_distinct_sets_for_every_width(n_classes, m):
    "Both ways to leave one class out of the mean, with gaps from -60 to 60."
    rng = np.random.default_rng(0)
    for spread in (1.0, 30.0):
        problem = ImportanceSampled(np.ones((1, 1)), [2], n_classes, n_negatives=m)
        params = spread * rng.uniform(-1, 1, n_classes)
        batches, probabilities = every_draw(problem)
        check_unbiased(problem, params, batches, probabilities, rtol=1e-9)
        settings = dict(estimate=problem.loss_at, exact=problem.loss(params), rtol=1e-9)
        check_unbiased(problem, params, batches, probabilities, **settings)


def test_losses_as_small_and_scores_as_large_as_they_come():
    problem = FullSoftmax(np.eye(2), [0, 1], 2)
    assert problem.loss(600 * np.eye(2).ravel()) == pytest.approx(2 * np.exp(-600), rel=1e-12)
    for kind, settings in KINDS:
        if (
            settings.get('form') == 'self_normalized'
            or len(settings)
            and isinstance(settings.get('noise'), np.ndarray)
        ):
            continue
        problem = small(kind, **settings)
        params = 1e4 * np.random.default_rng(0).normal(size=problem.init_params().size)
        loss, grad = problem.loss_and_grad(params)
        assert np.isfinite(loss) and np.isfinite(grad).all()
        moved = params.copy()
        with np.errstate(all='raise', under='ignore'):
            problem.sgd_step_(moved, problem.draw(np.random.default_rng(0), 50), 1.0)
        assert np.isfinite(moved).all()


def test_slices_keep_the_noise_of_the_whole():
    problem = small(NCE, n_samples=50, noise='unigram')
    np.testing.assert_array_equal(problem.take(np.arange(3)).noise_proba, problem.noise_proba)
    np.testing.assert_array_equal(problem.warmup_problem().noise_proba, problem.noise_proba)


def test_noise():
    counts = np.array([1, 50, 0, 9])
    np.testing.assert_allclose(noise_proba('unigram', counts, 1.0), np.array([1, 50, 1, 9]) / 61)
    np.testing.assert_allclose(
        noise_proba('log-uniform', counts)[[1, 3, 0, 2]],
        np.log((np.arange(4) + 2) / (np.arange(4) + 1)) / np.log(5),
    )
    cases = [('zipf', '"log-uniform"'), (np.ones(3), 'shape')]
    cases += [(np.array([1, 0, 1, 1]), r'noise\[1\]'), (np.array([1, np.nan, 1, 1]), 'positive')]
    for bad, words in cases:
        refuses(words, noise_proba, bad, counts)


@pytest.mark.parametrize(
    'make',
    [
        lambda: small(OneVsEach, n_negatives=5),
        lambda: small(ImportanceSampled, n_negatives=0),
        lambda: small(NCE, n_negatives=1.5),
        lambda: small(ImportanceSampled, form='exact'),
        lambda: small(OneVsEach).draw(np.random.default_rng(0), 2, 7),
    ],
)
def test_wrong_settings_are_one_line(make):
    refuses('allows|is not one of', make)


@pytest.mark.parametrize('make', [np.asarray, sparse.csr_array])
def test_squared_hinge_is_that_of_linear_svc(make):
    "Its optimum for rows with one label and with several, and how near epochs of SGD come."
    from sklearn.svm import LinearSVC

    from extreme_opt.core.descent import LBFGS
    from extreme_opt.softmax import ExactSGD, SquaredHingeByColumn

    rng = np.random.default_rng(0)
    Y = rng.random((300, 4)) < 0.3
    Y[np.arange(300), np.arange(300) % 4] = True
    X = Y @ rng.normal(size=(4, 6)) + rng.normal(size=(300, 6))
    X /= np.linalg.norm(X, axis=1)[:, None]
    ridge = 0.01
    one = np.eye(4, dtype=bool)[Y.argmax(1)]
    for several, given in ((Y, sparse.csr_array(Y)), (one, None)):
        problem = SquaredHingeByColumn(
            make(X), several.argmax(1), 4, ridge=ridge, several=given, dtype=np.float64
        )
        run = minimize(problem, LBFGS(), max_iter=500, tol=1e-9)
        (weights,) = problem.unpack(run.state.params)
        for k in range(4):
            svc = LinearSVC(C=1 / (300 * ridge), fit_intercept=False, tol=1e-9, max_iter=10_000)
            np.testing.assert_allclose(weights[k], svc.fit(X, several[:, k]).coef_[0], atol=1e-4)
        least = problem.loss(run.state.params)
        solver = ExactSGD(1.0, 0.9)
        found = minimize(problem, solver, max_epochs=60, loss_subset=0).state.params
        assert least < problem.loss(found) < 1.005 * least
        part = problem.take(np.arange(5, 50))
        assert (part.several.toarray() == several[5:50]).all()
    with pytest.raises(ValueError, match='several has shape'):
        SquaredHingeByColumn(make(X), np.zeros(300, int), 4, several=np.ones((2, 4)))


def shares_of(t, c):
    "The probabilities after a step of weight c from scores t, by bisection on their sum."
    from scipy.optimize import brentq
    from scipy.special import wrightomega

    def shares(norm):
        return wrightomega(t - norm + np.log(c)) / c

    low, high = t.max() - c - 60, t.max() + 60
    return shares(brentq(lambda norm: shares(norm).sum() - 1, low, high, xtol=1e-14))


@pytest.mark.parametrize('make', [np.asarray, sparse.csr_array])
@pytest.mark.parametrize('kind', [np.float32, np.float64])
def test_exact_updates_are_the_plain_implicit_steps(make, kind):
    "Epochs of the kernel beside updates that solve eq. (1) by bisection, one after the other."
    from extreme_opt.softmax.exact import FullSoftmaxByColumn, exact_updates

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5)) * (rng.random((12, 5)) < 0.6)
    X[3] = 0  # a row without entries only shrinks
    labels, ridge = rng.integers(7, size=12), 0.02
    for rate in (0.01, 2.0, 300.0):
        problem = FullSoftmaxByColumn(make(X.astype(kind)), labels, 7, ridge=ridge, n_unpenalized=1)
        params = rng.normal(size=35).astype(kind)
        weights = problem.unpack(params)[0].astype(float)
        exact_updates(problem, params, np.arange(12), rate)
        shrink = np.append(np.full(4, 1 / (1 + rate * ridge)), 1)
        for x, y in zip(X.astype(kind).astype(float), labels, strict=True):
            c, t = rate * (x * x * shrink).sum(), (weights * shrink) @ x
            moves = np.zeros(7)
            if c > 0:
                t[y] += c
                moves = rate * shares_of(t, c)
                moves[y] -= rate
            weights = (weights - np.outer(moves, x)) * shrink
        tol = 1e-3 if kind == np.float32 else 1e-8
        np.testing.assert_allclose(problem.unpack(params)[0], weights, rtol=tol, atol=tol * rate)


@pytest.mark.parametrize('spread', [0.1, 1.0, 6.0, 15.0])
@pytest.mark.parametrize('c', [0.1, 10.0, 30.0, 100.0, 3000.0])
def test_exact_steps_of_many_classes_solve_their_equation(c, spread):
    "Moves of one row of length one: nonnegative but for the label, and those of SciPy's omega."
    from extreme_opt.softmax.exact import FullSoftmaxByColumn, exact_updates

    rng = np.random.default_rng(0)
    for dtype, close in ((np.float64, 1e-8), (np.float32, 2e-4)):
        for label in (0, 399):  # the best class, and the worst
            scores = np.sort(rng.normal(size=400) * spread)[::-1].astype(dtype)
            problem = FullSoftmaxByColumn(np.ones((1, 1), dtype), np.array([label]), 400)
            params = scores.copy()
            exact_updates(problem, params, np.zeros(1, int), c)
            t = scores.astype(float)
            t[label] += c

            proba = shares_of(t, c)
            proba[label] -= 1
            np.testing.assert_allclose((scores - params).astype(float) / c, proba, atol=close)


def test_full_softmax_of_dense_rows_is_that_of_sparse_rows():
    "Class by class or row by row: the same loss and gradient, of all rows and of some."
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.integers(6, size=40)
    settings = dict(ridge=0.1, n_unpenalized=1, sample_weight=rng.random(40))
    dense = FullSoftmax(X, y, 6, **settings)
    rows = FullSoftmax(sparse.csr_array(X), y, 6, **settings)
    for size in (0.0, 1.0, 300.0):
        params = size * rng.normal(size=30)
        np.testing.assert_allclose(dense.loss(params), rows.loss(params), rtol=1e-12)
        np.testing.assert_allclose(dense.grad(params), rows.grad(params), rtol=1e-9, atol=1e-9)
        some = np.array([3, 3, 17, 30])
        np.testing.assert_allclose(dense.loss_on(params, some), rows.loss_on(params, some))


def test_exact_refuses_rows_outside():
    from extreme_opt.softmax.exact import ExactSGD, FullSoftmaxByColumn, exact_updates

    problem = FullSoftmaxByColumn(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match=r'outside 0\.\.2'):
        exact_updates(problem, problem.init_params(), np.array([3]), 1.0)
    for wrong in (dict(learning_rate=0.0), dict(learning_rate_decay=1.5)):
        refuses(next(iter(wrong)), ExactSGD, **wrong)
