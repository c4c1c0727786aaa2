"Weights on a support: structure, posting lists, sampled steps by enumeration, and the estimator."

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from extreme_opt.core import minimize
from extreme_opt.softmax import SoftmaxClassifier
from extreme_opt.softmax.double_sum import DoubleSum
from extreme_opt.softmax.support import (
    PostingWeights,
    Support,
    SupportDraw,
    SupportSGD,
    SupportSoftmax,
    _solve_own,
    choose_mean_length,
    choose_support_rate,
    rows_of_some_classes,
    support_of,
)


def made(n=40, n_columns=12, n_classes=6, density=0.3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, n_columns), density=density, rng=rng, format='csr', dtype=dtype)
    return X, rng.integers(n_classes, size=n)


def point(problem, seed=1, size=0.4):
    params = problem.init_params() + size * np.random.default_rng(seed).normal(
        size=problem.n_params
    )
    norms = problem.unpack(params)[2]
    norms[:] = np.abs(norms)
    return params.astype(problem.dtype)


def whole(problem, params):
    "Dense weights (n_classes, n_features), and intercepts."
    cells, heights, _ = problem.unpack(params)
    return problem.support.as_matrix(cells).toarray(), heights * problem.height


# ---------------------------------------------------------------- structure


@pytest.mark.parametrize('n_classes', [2, 6, 50])
def test_support_has_the_pairs_that_occur_together(n_classes):
    X, y = made(n_classes=n_classes)
    found = support_of(X, y, n_classes)
    pairs = {(y[i], j) for i, j in zip(*X.nonzero(), strict=True)}
    owner = np.repeat(np.arange(n_classes), np.diff(found.indptr))
    assert list(zip(owner, found.columns, strict=True)) == sorted(pairs)
    starts, classes, cells = found.postings
    for j in range(X.shape[1]):
        part = slice(starts[j], starts[j + 1])
        assert classes[part].tolist() == sorted(k for k, column in pairs if column == j)
        assert (found.columns[cells[part]] == j).all()
        assert (owner[cells[part]] == classes[part]).all()
    at = found.cells_of(X, y)
    assert (found.columns[at] == X.indices).all()
    assert (owner[at] == np.repeat(y, np.diff(X.indptr))).all()


def test_support_grows_and_says_what_it_lacks():
    X, y = made()
    first, rest = support_of(X[:10], y[:10], 6), support_of(X[10:], y[10:], 6)
    both = support_of(X[10:], y[10:], 6, first)
    assert (both.columns == support_of(X, y, 6).columns).all()
    assert (support_of(X, y, 6, both).indptr == both.indptr).all()
    assert rest.cells_of(X[:10], y[:10]).min() == -1


@pytest.mark.parametrize(
    'indptr, columns',
    [([0, 2], [1, 0]), ([0, 2], [0, 3]), ([0, 2], [-1, 0]), ([0, 1], [0, 1]), ([1, 2], [0, 1])],
)
def test_support_refuses_lists_that_kernels_cannot_walk(indptr, columns):
    with pytest.raises(ValueError, match='support_of'):
        Support(np.array(indptr), np.array(columns), 3)


def test_problem_refuses_what_kernels_would_not_notice():
    X, y = made()
    few = support_of(X[:5], y[:5], 6)
    with pytest.raises(ValueError, match='lacks in the support; grow it'):
        SupportSoftmax(X, y, 6, support=few)
    with pytest.raises(ValueError, match='dense, but a support needs CSR'):
        SupportSoftmax(X.toarray(), y, 6)
    problem = SupportSoftmax(X, y, 6)
    params, u = problem.init_params(), np.full((1, 3), 0.5)
    for batch, said in [
        (SupportDraw(np.array([99]), u, 1), 'outside of 0..39'),
        (SupportDraw(np.array([0]), u[:, :2], 1), 'uniforms has shape'),
        (SupportDraw(np.array([0]), u + 0.5, 1), 'outside of'),
        (SupportDraw(np.array([0]), u, 0), 'uniforms has shape'),
    ]:
        with pytest.raises(ValueError, match=said):
            problem.implicit_steps_(params, batch, 1.0)
    with pytest.raises(ValueError, match='at least 1 uniform'):
        SupportSGD(n_uniform=0)


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize('density', [0.02, 0.3, 0.9])
@pytest.mark.parametrize('row_density', [0.0, 0.1, 0.6])
def test_scores_and_best_classes_against_dense_products(density, row_density):
    rng = np.random.default_rng(3)
    coef = sp.random_array((60, 30), density=density, rng=rng, format='csr')
    intercept = rng.normal(size=60).round(1)
    X = sp.random_array((50, 30), density=row_density, rng=rng, format='csr')
    model, exact = PostingWeights(coef, intercept), X.toarray() @ coef.toarray().T + intercept
    assert np.allclose(model.scores(X), exact, atol=1e-13)
    for k in (1, 4, 60):
        ids, best, norms = model.top_k(X, k)
        order = np.lexsort((np.broadcast_to(np.arange(60), exact.shape), -exact.round(10)))[:, :k]
        assert (ids == order).all()
        assert np.allclose(best, np.take_along_axis(exact, order, 1), atol=1e-13)
        assert np.allclose(norms, np.log(np.exp(exact).sum(1)), atol=1e-10)
    labels = rng.integers(60, size=50)
    losses = np.log(np.exp(exact).sum(1)) - exact[np.arange(50), labels]
    assert np.allclose(model.log_losses(X, labels), losses)


@pytest.mark.parametrize('far', [-700.0, 0.0, 700.0])
def test_log_of_the_sum_where_few_classes_hold_all_of_it(far):
    coef = sp.csr_array((np.array([far]), np.array([0]), np.array([0, 1] + [1] * 39)), (40, 2))
    intercept = np.zeros(40)
    intercept[0] = -far
    for row in ([1.0, 0.0], [0.0, 1.0]):
        score = np.array([row[0] * far - far] + [0.0] * 39)
        top = score.max()
        exact = top + np.log(np.exp(score - top).sum())
        norm = PostingWeights(coef, intercept).top_k(sp.csr_array([row]), 3)[2]
        assert np.allclose(norm, exact, rtol=1e-10)


# ---------------------------------------------------------------- the sampled sum and its steps


@pytest.mark.parametrize('height, ridge', [(0.0, 0.0), (0.3, 0.01)])
def test_restricted_loss_and_gradient_are_those_of_the_dense_double_sum(height, ridge):
    X, y = made()
    problem = SupportSoftmax(X, y, 6, height=height, ridge=ridge)
    params = point(problem)
    if not height:
        problem.unpack(params)[1][:] = 0
    weights, intercepts = whole(problem, params)
    column = np.full((40, 1), height or 1.0)
    dense = DoubleSum(np.hstack([X.toarray(), column]), y, 6, ridge=ridge, n_unpenalized=1)
    full = np.hstack([weights, (intercepts / (height or 1.0))[:, None]])
    same = np.concatenate([full.ravel(), problem.unpack(params)[2]])
    assert np.isclose(problem.loss(params), dense.loss(same))
    grad = dense.unpack(dense.grad(same))
    cells, heights, norms = problem.unpack(problem.grad(params))
    kept = problem.support.as_matrix(np.ones(problem.support.n_cells)).nonzero()
    assert np.allclose(cells, grad[0][kept]) and np.allclose(norms, grad[1])
    assert np.allclose(heights, grad[0][:, -1] * bool(height))


def every_draw(problem, i, n_posting):
    "All draws of one uniform negative and one or none from a posting list, with probabilities."
    K, (starts, _, _) = problem.n_classes, problem.support.postings
    rows = problem.features
    columns = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
    sizes = [starts[j + 1] - starts[j] - 1 for j in columns if starts[j + 1] - starts[j] > 1]
    for a in range(K - 1):
        first = (a + 0.5) / (K - 1)
        if not n_posting:
            yield 1 / (K - 1), (first,)
        elif not sizes:
            for b in range(K - 1):
                yield (K - 1) ** -2.0, (first, (b + 0.5) / (K - 1), 0.5)
        for t, size in enumerate(sizes if n_posting else ()):
            for c in range(size):
                word = (t + 0.5) / len(sizes)
                yield 1 / ((K - 1) * len(sizes) * size), (first, word, (c + 0.5) / size)


@pytest.mark.parametrize('n_posting', [0, 1])
@pytest.mark.parametrize('n_classes', [2, 5])
def test_sampled_loss_and_gradient_are_unbiased_by_enumeration(n_posting, n_classes):
    X, y = made(n=14, n_columns=7, n_classes=n_classes)
    X = sp.vstack([X, sp.csr_array((1, 7))]).tocsr()  # and a row without words
    problem = SupportSoftmax(X, np.append(y, 0), n_classes, height=0.2, ridge=0.02)
    params = point(problem)
    loss, grad, n = 0.0, 0.0, problem.n_samples
    for i in range(n):
        total = 0.0
        for chance, numbers in every_draw(problem, i, n_posting):
            batch = SupportDraw(np.array([i]), np.array([numbers]), 1)
            loss += chance / n * problem.loss_at(params, batch)
            grad = grad + chance / n * problem.grad_at(params, batch)
            total += chance
        assert np.isclose(total, 1)
    assert np.isclose(loss, problem.loss(params)) and np.allclose(grad, problem.grad(params))


@pytest.mark.parametrize('height, ridge', [(0.3, 0.0), (0.0, 0.0), (0.3, 0.05)])
def test_a_step_solves_its_own_minimization(height, ridge):
    X, y = made(n=20, n_columns=8, n_classes=5)
    problem = SupportSoftmax(X, y, 5, height=height, ridge=ridge)
    rng = np.random.default_rng(5)
    for i in range(8):
        params, rate = point(problem, i), 10 ** rng.uniform(-1, 1.5)
        if not height:
            problem.unpack(params)[1][:] = 0
        # three of them, two may be the same class
        batch = SupportDraw(np.array([i]), rng.random((1, 5)), 1)
        after = params.copy()
        problem.implicit_steps_(after, batch, rate)
        cells, heights, norms = problem.unpack(problem.grad_at(after, batch) / problem.n_samples)
        moved = problem.unpack((params - after) / rate)
        assert np.allclose(moved[0], cells, atol=1e-8)
        assert np.allclose(moved[2], problem.mean_square * norms, atol=1e-8)
        assert np.allclose(moved[1], heights, atol=1e-8)


@pytest.mark.parametrize('rate', [1e-3, 1.0, 1e3])
@pytest.mark.parametrize('gap', [-600.0, 0.0, 600.0, 1e5])
@pytest.mark.parametrize('squares', [(1.0, 0.01), (0.0, 0.5), (0.0, 0.0)])
@pytest.mark.parametrize('inertia', [1e-3, 1.0])
def test_the_equation_of_a_step_far_away(rate, gap, squares, inertia):
    squares, gaps, factors = np.array(squares), np.array([gap, gap - 1]), np.array([50.0, 3.0])
    moves, old = np.zeros(2), 2.0
    u = _solve_own(rate, inertia, factors, 1.3, squares, gaps, old, moves)
    assert u > 0 and (moves >= 0).all() and np.isfinite(moves).all()
    total = (u - old) * inertia - rate * np.expm1(-u)
    assert np.isclose(moves.sum(), total, rtol=1e-6, atol=1e-9)
    with np.errstate(over='ignore'):
        right = np.log(rate * factors) + gaps - squares * moves - 1.3 * total - u
    assert np.allclose(np.log(np.maximum(moves, 1e-300)), np.maximum(right, -690), atol=1e-5)


def test_a_class_that_is_drawn_twice_is_one_class_of_twice_the_weight():
    X, y = made(n=10, n_columns=5, n_classes=3)
    problem = SupportSoftmax(X, y, 3, height=0.2)
    twice = SupportDraw(np.array([0]), np.array([[0.1, 0.1]]), 2)
    once = SupportDraw(np.array([0]), np.array([[0.1]]), 1)
    a, b = point(problem), point(problem)
    problem.implicit_steps_(a, twice, 2.0)
    problem.implicit_steps_(b, once, 2.0)
    assert np.allclose(a, b)


def test_sampled_log_normalizers_are_unbiased_before_the_logarithm():
    X, y = made(n=30, n_classes=4)
    problem = SupportSoftmax(X, y, 4, height=0.2)
    params = point(problem)
    rng = np.random.default_rng(0)
    found = np.mean([np.exp(problem.sampled_log_norms(params, rng, 4)) for _ in range(300)], axis=0)
    assert np.allclose(found, np.exp(problem.best_log_norms(params)), rtol=0.2)


# ---------------------------------------------------------------- where to begin, and the rate


def of_words(n_classes=300, n_words=600, each=3, n_new=200):
    "Rows of twelve words, half of them from the ten of their class; new rows."
    rng = np.random.default_rng(0)
    own = rng.integers(n_words, size=(n_classes, 10))
    y = np.append(np.repeat(np.arange(n_classes), each), rng.integers(n_classes, size=n_new))
    words = rng.integers(n_words, size=(len(y), 12))
    words[:, :6] = own[y[:, None], rng.integers(10, size=(len(y), 6))]
    X = sp.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 12)))
    X.sum_duplicates()
    X = X / np.sqrt(X.power(2).sum(1))[:, None]
    return *(part.tocsr() for part in (X[:-n_new], X[-n_new:])), y[:-n_new], y[-n_new:]


@pytest.mark.parametrize('weighted', [False, True])
def test_class_means_have_one_length(weighted):
    X, y = made()
    weights = np.random.default_rng(2).random(len(y)) + 0.1 if weighted else None
    problem = SupportSoftmax(X, y, 7, sample_weight=weights)  # class 6 has no row
    rows = np.flatnonzero(np.arange(len(y)) % 5)
    found = problem.support.as_matrix(problem.class_means(3.0, rows)).toarray()
    w = np.ones(len(y)) if weights is None else weights
    sums = np.array([(w * (y == k))[rows] @ X.toarray()[rows] for k in range(7)])
    assert np.allclose(found[:6], 3 * sums[:6] / np.linalg.norm(sums[:6], axis=1)[:, None])
    assert not found[6].any()
    params = problem.start_at(problem.class_means(3.0))
    assert np.allclose(problem.unpack(params)[2], problem.best_log_norms(params))


def test_a_fit_begins_at_class_means_where_they_are_better():
    X, new, y, truth = of_words()
    problem, losses = SupportSoftmax(X, y, 300), []
    length = choose_mean_length(problem)
    assert 5 <= length <= 100
    assert np.isclose(choose_mean_length(SupportSoftmax(100 * X, y, 300)) * 100, length)
    for of in (0.0, length):
        rate, best, tried = choose_support_rate(
            problem, lambda rate: SupportSGD(rate, learning_rate_decay=0.6), 5.0, length=of
        )
        assert best == of and {row['mean_length'] for row in tried} == {0.0, of}
        start = problem.start_at(problem.class_means(of))
        run = minimize(problem, SupportSGD(rate, learning_rate_decay=0.6), start, max_epochs=5)
        losses.append(problem.model(run.state.params).log_losses(new, truth).mean())
    assert losses[1] < losses[0] - 0.3
    model = SoftmaxClassifier(weights='support', dtype='float64').fit(X, y)
    assert model.settings_['mean_length'] > 0
    assert model.log_loss(new, truth) < losses[0] - 0.3


def test_a_fit_begins_at_zero_where_means_say_nothing():
    rows, y = sp.csr_array(np.ones((60, 3))), np.arange(60) % 4
    assert choose_mean_length(SupportSoftmax(rows, y, 4)) == 0.0
    alone = SupportSoftmax(sp.csr_array(np.eye(30)), np.arange(30))  # a row a class
    assert choose_mean_length(alone) == 0.0
    pairs = SupportSoftmax(sp.csr_array(np.eye(30)), np.arange(30) // 2)
    assert choose_mean_length(pairs, np.arange(30) // 2) == 0.0  # held out together: no row is left


def test_rows_of_some_classes_are_all_rows_of_them():
    labels = np.random.default_rng(0).integers(50, size=1000)
    rows, again, n_classes = rows_of_some_classes(labels, 50, 200)
    taken = np.unique(labels[rows])
    assert len(rows) >= 200 and len(taken) == n_classes < 20
    assert np.isin(labels, taken).sum() == len(rows)
    assert len(np.unique(again)) == n_classes and again.max() == n_classes - 1
    assert rows_of_some_classes(labels, 50, 1000)[2] == 50


def test_the_rate_does_not_depend_on_the_scale_of_the_rows():
    X, y = made(n=400, n_columns=40, n_classes=8, density=0.2)
    y = np.asarray(X @ np.random.default_rng(1).normal(size=(40, 8))).argmax(1)
    rates = []
    for scale in (1.0, 100.0):
        problem = SupportSoftmax(scale * X, y, 8)
        rate, _, tried = choose_support_rate(
            problem, lambda rate: SupportSGD(rate, learning_rate_decay=0.6), 5.0
        )
        assert rate == min(tried, key=lambda row: row['log_loss'])['rate']
        rates.append(rate * scale**2)
    assert np.isclose(*rates)


# ---------------------------------------------------------------- the estimator


def fitted(**settings):
    X, y = made(n=300, n_columns=60, n_classes=20, density=0.1)
    names = np.array([f'class {k:02}' for k in range(20)])
    return (
        SoftmaxClassifier(weights='support', learning_rate=5.0, **settings).fit(X, names[y]),
        X,
        y,
    )


def test_the_estimator_agrees_with_its_own_weights(tmp_path):
    model, X, y = fitted()
    scores = X.toarray() @ model.coef_.toarray().T + model.intercept_
    assert model.coef_.format == 'csr' and model.coef_.shape == (20, 60)
    assert np.allclose(model.decision_function(X), scores, atol=1e-5)
    proba = model.predict_proba(X)
    labels, best = model.top_k(X, 3)
    assert np.allclose(-np.sort(-proba, 1)[:, :3], best)
    assert (labels[:, 0] == model.predict(X)).all()
    assert (model.predict(X) == model.classes_[scores.argmax(1)]).all()
    assert (model.predict(X.toarray()) == model.predict(X)).all()
    with pytest.raises(ValueError, match='k=21'):
        model.top_k(X, 21)
    assert model.settings_['weights'] == 'support'
    assert model.settings_['n_cells'] == model.coef_.nnz == support_of(X, y, 20).n_cells
    model.save(tmp_path / 'model.npz')
    size = (tmp_path / 'model.npz').stat().st_size
    assert size < 8 * model.coef_.nnz + 20_000  # weights and columns once


def test_weights_that_were_changed_after_the_fit_count(tmp_path):
    model, X, _ = fitted()
    model.predict(X)
    model.coef_ = model.coef_ * 0
    assert np.allclose(model.decision_function(X), model.intercept_)
    assert (model.top_k(X, 1)[0] == model.classes_[model.intercept_.argmax()]).all()
    model.coef_.data[:] = 1.0  # in place, too
    assert np.allclose(
        model.decision_function(X), X.toarray() @ model.coef_.toarray().T + model.intercept_
    )
    model.save(tmp_path / 'model.npz')
    assert (SoftmaxClassifier.load(tmp_path / 'model.npz').coef_.data == 1).all()


def test_row_weights_are_repeated_rows():
    X, y = made(n=200, n_columns=30, n_classes=5, density=0.2)
    times = np.random.default_rng(0).integers(0, 4, size=200)
    settings = dict(weights='support', learning_rate=1.0, ridge=0.01, max_epochs=60)
    one = SoftmaxClassifier(**settings).fit(X, y, sample_weight=times)
    ids = np.repeat(np.arange(200), times)
    two = SoftmaxClassifier(**settings).fit(X[ids], y[ids])
    assert one.coef_.nnz == two.coef_.nnz  # a row that does not count brings no cell
    assert abs(one.log_loss(X, y) - two.log_loss(X, y)) < 0.05


def test_settings_that_a_support_takes():
    X, y = made(n=300, n_columns=60, n_classes=20, density=0.1)
    for settings in (
        dict(early_stopping=True),
        dict(average=True),
        dict(class_weight='balanced'),
        dict(fit_intercept=False, ridge=1e-3),
        dict(dtype='float64', n_negatives=1),
        dict(solver='auto', tol=1e-1, max_epochs=30),
        dict(learning_rate='auto', max_epochs=2),
    ):
        model = SoftmaxClassifier(**{'weights': 'support', 'learning_rate': 5.0} | settings)
        assert model.fit(X, y).score(X, y) > 0.25, settings
        assert model.coef_.dtype == settings.get('dtype', 'float32')


@pytest.mark.parametrize(
    'setting',
    [
        dict(solver='lbfgs'),
        dict(solver='exact'),
        dict(solver='umax'),
        dict(sampler='near', solver='implicit'),
        dict(n_jobs=2),
        dict(client='local'),
    ],
)
def test_what_a_support_does_not_offer_is_refused(setting):
    X, y = made()
    name = next(iter(setting))
    with pytest.raises(ValueError, match=f'weights="support", but {name}=.*weights="dense"'):
        SoftmaxClassifier(weights='support', **setting).fit(X, y)


def test_dask_collections_are_refused():
    array = pytest.importorskip('dask.array')
    X, y = made()
    with pytest.raises(TypeError, match='weights="support".*compute'):
        SoftmaxClassifier('rotation', weights='dense', client=None).set_params(
            weights='support', solver='implicit'
        ).fit(array.from_array(X.toarray()), array.from_array(y))


def test_auto_takes_a_support_where_dense_weights_are_large(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((4000, 60_000), density=3e-4, rng=rng, format='csr', dtype=np.float32)
    y = np.arange(4000)
    for K, expected in ((4000, 'dense'), (4000, 'support')):
        if expected == 'support':
            monkeypatch.setattr('extreme_opt.softmax.support.free_memory', lambda: 2e9)
        model = SoftmaxClassifier(max_epochs=1, learning_rate=1.0, n_negatives=1)
        model.classes_ = y[:K]
        assert model._choose_weights(X) == (expected == 'support')
    model.fit(X, y)
    assert sp.issparse(model.coef_) and model.settings_['weights'] == 'support'
    assert '0.96 GB, more than 0.5 GB' in model.settings_['reason']
    monkeypatch.setattr('extreme_opt.core.memory._ALWAYS_FREE', 0)
    for free, why in (
        (5e6, '4,000 classes have 72,000 weights on a support'),
        (1e6, 'a support has arrays as long as the 60,000 columns: take fewer columns'),
    ):
        monkeypatch.setattr('extreme_opt.core.memory.free_memory', lambda free=free: free)
        with pytest.raises(
            MemoryError, match=f'needs about .* but {free / 1e9:g} GB are free; {why}'
        ):
            model.fit(X, y)


@pytest.mark.parametrize('weights', ['auto', 'support'])
def test_few_columns_with_entries_are_named_where_dense_weights_would_be_large(weights):
    X = sp.csr_array((np.ones(400), (np.arange(400), np.arange(400) % 2 * 99)), (400, 2**20))
    model = SoftmaxClassifier(weights=weights, max_epochs=1, learning_rate=1.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter('always')
        model.fit(X, np.arange(400))
    assert model.settings_['weights'] == 'support'
    few = ['2 of 1,048,576 columns of X have entries' in str(w.message) for w in told]
    assert any(few) == (weights == 'auto')


@pytest.mark.parametrize('settings', [{}, dict(weights='dense'), dict(solver='exact'), 'stream'])
def test_columns_without_end_are_refused_before_arrays_as_long(settings, monkeypatch):
    columns, many = np.sort(np.random.default_rng(0).integers(2**31 - 2, size=50)), 2**31 - 1
    X = sp.csr_array(
        (np.ones(50), columns.astype(np.int32), np.arange(51, dtype=np.int32)), (50, many)
    )
    monkeypatch.setattr('extreme_opt.core.memory.free_memory', lambda: 1e10)
    tracemalloc.start()
    with pytest.raises(MemoryError, match='as long as the 2,147,483,647 columns: take fewer'):
        if settings == 'stream':
            SoftmaxClassifier().partial_fit(X, np.arange(50) % 5, classes=range(5))
        SoftmaxClassifier(**settings).fit(X, np.arange(50) % 5)
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()


def test_a_dense_fit_without_memory_names_the_support(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((4000, 60_000), density=3e-4, rng=rng, format='csr', dtype=np.float32)
    monkeypatch.setattr('extreme_opt.core.memory.free_memory', lambda: 1e8)
    for settings in (dict(weights='dense'), dict(solver='umax')):
        with pytest.raises(MemoryError, match='weights="support"'):
            SoftmaxClassifier(**settings).fit(X, np.arange(4000))


def test_partial_fit_grows_the_support():
    X, y = made(n=300, n_columns=60, n_classes=20, density=0.1)
    model = SoftmaxClassifier(weights='support', learning_rate=5.0)
    sizes, losses = [], []
    for _turn in range(3):
        for at in range(0, 300, 100):
            rows = slice(at, at + 100)
            model.partial_fit(X[rows], y[rows], classes=np.arange(20) if not sizes else None)
            sizes.append(model.coef_.nnz)
        losses.append(model.log_loss(X, y))
    assert sizes[0] < sizes[1] < sizes[2] == sizes[-1] == support_of(X, y, 20).n_cells
    assert losses[0] > losses[2]
    known = model.coef_[:, :].toarray()
    model.partial_fit(X[:1], y[:1])  # other classes than the label and five negatives stay
    assert (model.coef_.toarray() == known).all(1).sum() >= 14


def test_warm_start_goes_on_and_takes_dense_weights():
    X, y = made(n=300, n_columns=60, n_classes=20, density=0.1)
    model = SoftmaxClassifier(weights='support', learning_rate=5.0, warm_start=True, max_epochs=5)
    first = model.fit(X[:200], y[:200]).log_loss(X, y)
    assert model.fit(X, y).log_loss(X, y) < first
    dense = model.set_params(weights='dense').fit(X, y)
    assert isinstance(dense.coef_, np.ndarray) and dense.settings_.get('weights') != 'support'
    back = dense.set_params(weights='support').fit(X, y)
    assert sp.issparse(back.coef_) and back.coef_.nnz >= support_of(X, y, 20).n_cells


def test_several_labels_a_row(monkeypatch):
    X, _ = made(n=300, n_columns=60, n_classes=20, density=0.1)
    Y = np.asarray(X @ np.random.default_rng(1).normal(size=(60, 20))) > 0.5
    Y = sp.csr_array(Y.astype(int))
    model = SoftmaxClassifier(weights='support', learning_rate=5.0).fit(X, Y)
    assert model.precision_at_k(X, Y, 3) > 1.5 * Y.mean()
    best = np.argsort(-model.decision_function(X), axis=1, kind='stable')[:, :3]
    found = np.take_along_axis(Y.toarray(), best, 1).mean()
    monkeypatch.setattr(model, '_chunks', None)  # nothing as wide as the classes is formed
    assert model.precision_at_k(X, Y, 3) == pytest.approx(found)
    assert 0 < model.propensity_precision_at_k(X, Y, 3) <= 1


def test_reliability_wild_and_repeated_cells():
    "Columns beyond the end crashed the process; a repeated cell of a frequent column counted once."
    from extreme_opt.softmax.support import PostingWeights

    X, y = made(n=60, n_columns=12, n_classes=5)
    wild = sp.csr_array(X)
    wild.indices = wild.indices + 10**9
    said = 'holds column 10000.*, but there are 12, counted from 0'
    weights = sp.csr_array(np.ones((5, 12)))
    calls = (
        lambda: support_of(wild, y, 5),
        lambda: support_of(X, y, 5).cells_of(wild, y),
        lambda: PostingWeights(wild, np.zeros(60)),
        lambda: PostingWeights(weights, np.zeros(5)).top_k(wild, 1),
    )
    for call in calls:
        with pytest.raises(ValueError, match=said):
            call()
    twice = sp.csr_array(([1.0, 1.0, 1.0], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    assert PostingWeights(twice, np.zeros(2)).scores(np.eye(1)).tolist() == [[2.0, 1.0]]
