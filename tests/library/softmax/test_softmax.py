"""The double sum against enumeration and other people's softmax, and U-max against its reference in
every type."""

import itertools

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy import sparse

from extreme_opt.core.checks import check_descend, check_gradient, check_unbiased
from extreme_opt.core.descent import SGD
from extreme_opt.core.run import minimize
from extreme_opt.softmax.double_sum import (
    DoubleSum,
    Draw,
    SoftmaxData,
    log_one_plus_sum,
    margins,
    mean_log_loss,
    optimum_bounds,
    sample_distinct,
    top_k_accuracy,
)
from extreme_opt.softmax.exact import SquaredHingeByColumn
from extreme_opt.softmax.plain.scoring import hits
from extreme_opt.softmax.rivals import NCE, FullSoftmax, ImportanceSampled, OneVsEach
from extreme_opt.softmax.umax import UMax, umax_updates

KINDS = {
    'dense': np.asarray,
    'csr': sparse.csr_array,
    'csr_matrix': sparse.csr_matrix,
    'csc': sparse.csc_array,
}


def made(
    n_samples=12,
    n_classes=5,
    n_features=4,
    kind='csr',
    dtype=np.float64,
    seed=0,
    spread=0.5,
    **options,
):
    "A problem and a point away from anything special."
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.7)
    labels = rng.integers(n_classes, size=n_samples)
    problem = DoubleSum(KINDS[kind](table.astype(dtype)), labels, n_classes, **options)
    params = problem.init_params()
    problem.unpack(params)[0][:] = spread * rng.normal(size=(n_classes, n_features))
    problem.unpack(params)[1][:] += 0.3 * rng.normal(size=n_samples)
    return problem, params


def all_draws(problem, n_negatives):
    "Every draw of one row and distinct wrong classes."
    found = []
    for i, label in enumerate(problem.labels):
        others = [k for k in range(problem.n_classes) if k != label]
        for C in itertools.combinations(others, n_negatives):
            found.append(Draw(np.array([i]), np.array([C])))
    return found


# ----------------------------------------------------------------------------------- the double sum
@pytest.mark.parametrize(
    'kind, alpha, ridge', list(itertools.product(['dense', 'csr'], [0.0, 0.4, 1.0], [0.0, 0.05]))
)
def test_gradients_and_unbiasedness(kind, alpha, ridge):
    problem, params = made(kind=kind, alpha=alpha, ridge=ridge)
    check_gradient(problem, params, atol=1e-5)
    for n_negatives in (1, 3, 4):
        draws = all_draws(problem, n_negatives)
        check_unbiased(problem, params, draws)
        check_unbiased(problem, params, draws, estimate=problem.loss_at, exact=problem.loss(params))
    batch = problem.draw(np.random.default_rng(1), 9, 2)
    check_descend(problem, params, batch)
    numeric = [
        (problem.loss_at(params + d, batch) - problem.loss_at(params - d, batch)) / 2e-6
        for d in 1e-6 * np.eye(params.size)
    ]
    np.testing.assert_allclose(problem.grad_at(params, batch), numeric, atol=1e-4)


@pytest.mark.parametrize('alpha', [0.0, 0.4, 1.0, 1.5])
def test_best_log_norms_give_the_likelihood(alpha):
    problem, params = made(alpha=alpha, ridge=0.03)
    weights, log_norms = problem.unpack(params)
    log_norms[:] = problem.best_log_norms(params)
    scores = problem.features @ weights.T
    likelihood = (
        scipy.special.log_softmax(scores, axis=1)[np.arange(12), problem.labels].sum()
        - 12 * 0.03 / 2 * (weights**2).sum()
    )
    assert problem.n_samples - problem.loss(params) == pytest.approx(likelihood, rel=1e-12)
    np.testing.assert_allclose(problem.unpack(problem.grad(params))[1], 0, atol=1e-12)


def test_kinds_and_types_agree():
    exact, params = made(kind='dense')
    batch = exact.draw(np.random.default_rng(2), 20, 3)
    for kind, dtype in itertools.product(KINDS, (np.float32, np.float64)):
        problem, _ = made(kind=kind, dtype=dtype)
        same, close = params.astype(dtype), 2e-5 if dtype == np.float32 else 1e-10
        assert problem.dtype == dtype and problem.grad(same).dtype == dtype
        assert problem.init_params().dtype == dtype
        np.testing.assert_allclose(problem.loss(same), exact.loss(params), rtol=close)
        np.testing.assert_allclose(problem.grad(same), exact.grad(params), rtol=0, atol=close * 20)
        np.testing.assert_allclose(
            problem.grad_at(same, batch), exact.grad_at(params, batch), rtol=0, atol=close * 200
        )
        assert problem.memory() == same.nbytes and problem.memory(np.float64) == params.nbytes


def test_chunks_and_rows():
    problem, params = made(n_samples=50)
    whole = np.concatenate([gaps for _, gaps, _ in margins(problem, problem.unpack(params)[0])])
    pieces = np.concatenate(
        [gaps for _, gaps, _ in margins(problem, problem.unpack(params)[0], chunk=7)]
    )
    np.testing.assert_array_equal(whole, pieces)
    assert np.isneginf(whole[np.arange(50), problem.labels]).all()
    parts = [problem.loss_on(params, rows) for rows in np.arange(50).reshape(5, 10)]
    assert np.mean(parts) == pytest.approx(problem.loss(params))
    assert problem.log_loss(params, [3]) == pytest.approx(log_one_plus_sum(whole[3:4])[0])
    np.testing.assert_allclose(
        mean_log_loss(problem.take([3, 9]), problem.unpack(params)[0]),
        problem.log_loss(params, [3, 9]),
    )


@pytest.mark.parametrize('lost', ['all', 'label', 'other'])
def test_scores_that_are_no_numbers_are_not_right(lost):
    "In a lesson, in the package and where margins are judged; other rows count as they do."
    labels, scores, rows_of = np.array([0, 1, 1]), 2.0 * np.eye(3), sparse.csr_array(np.eye(3))
    rows = dict(all=slice(None), label=labels[2], other=[0, 2])[lost]
    scores[2, labels[2]] = 3.0  # right
    weights = scores.T.copy()
    np.testing.assert_array_equal(hits(scores, labels), True)
    scores[2, rows] = weights[rows, 2] = np.nan
    np.testing.assert_array_equal(hits(scores, labels), [True, True, False])
    np.testing.assert_array_equal(hits(scores, labels, 3), True)  # any order of three is
    assert top_k_accuracy(SoftmaxData(rows_of, labels), weights) == pytest.approx(2 / 3)
    judged = SquaredHingeByColumn(rows_of, labels, 3)
    assert judged.held_out(weights)[0] == pytest.approx(2 / 9)  # two before the label


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8))
def test_log_one_plus_sum(gaps):
    expected = scipy.special.logsumexp([0, *gaps])
    np.testing.assert_allclose(
        log_one_plus_sum(np.array([gaps]))[0], expected, rtol=1e-12, atol=1e-15
    )


def test_extreme_scores():
    problem = SoftmaxData(np.eye(2), [0, 1], 2)
    assert mean_log_loss(problem, 1e4 * np.eye(2)) == 0
    assert mean_log_loss(problem, -1e4 * np.eye(2)) == pytest.approx(1e4)
    assert 0 < mean_log_loss(problem, 700 * np.eye(2)) < 1e-300
    # scores, not probabilities
    assert mean_log_loss(SoftmaxData(np.eye(2), [0, 1], 3), 9 * np.eye(3, 2)) < np.log(2 + np.e) - 1


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 9), st.data())
def test_draws_are_distinct_and_never_the_label(n_classes, data):
    n_negatives = data.draw(st.integers(1, n_classes - 1))
    label = data.draw(st.integers(0, n_classes - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    drawn = sample_distinct(rng, np.full(60, label), n_classes, n_negatives)
    assert drawn.shape == (60, n_negatives) and drawn.min() >= 0 and drawn.max() < n_classes
    assert all(len(set(row)) == n_negatives and label not in row for row in drawn.tolist())


def test_data_cannot_be_written_through():
    problem = made(kind='dense')[0]
    with pytest.raises(ValueError, match='read-only'):
        problem.features[0, 0] = 1.0
    with pytest.raises(ValueError, match='read-only'):
        problem.labels[0] = 1
    mine = np.ones((3, 2))
    DoubleSum(mine, [0, 1, 2])
    mine[0, 0] = 2.0  # the caller's own array stays as it was


def test_duplicates_and_int64_are_made_canonical():
    twice = sparse.csr_array(
        (np.ones(3), np.array([1, 1, 0], np.int64), np.array([0, 2, 3], np.int64)), shape=(2, 2)
    )
    problem = DoubleSum(twice, [0, 1])
    assert problem.features.nnz == 2 and problem.features.indices.dtype == np.int32
    assert twice.nnz == 3
    np.testing.assert_array_equal(problem.squared_norms, [4, 1])


GOOD = dict(features=np.ones((3, 2)), labels=[0, 1, 2])


@pytest.mark.parametrize(
    'change, words',
    [
        (dict(labels=[0, 1, 6], n_classes=6), 'labels[2] is 6, but n_classes=6 allows 0..5'),
        (dict(labels=[0, 1, 6], n_classes=6), 'relabel with np.unique(labels'),
        (dict(labels=[0, -1, 1]), 'labels[1] is -1'),
        (dict(labels=[0, 0.5, 1]), 'labels[1] is 0.5, but integers'),
        (dict(labels=[0, np.nan, 1]), 'labels[1] is nan, but integers'),
        (dict(labels=['a', 'b', 'c']), "labels[0] is 'a', but integers"),
        (dict(labels=[0, 1]), 'labels has shape (2,), but there are 3 rows'),
        (dict(labels=[[0], [1], [2]]), 'labels has shape (3, 1)'),
        (dict(features=np.ones(3)), 'features has shape (3,), but (n_samples, n_features)'),
        (dict(features=np.ones((0, 2)), labels=[]), 'features has 0 rows'),
        (dict(features=[[1, 2], [np.nan, 1], [0, 0]]), 'features holds NaN at row 1, column 0'),
        (dict(features=sparse.csr_array([[0, 2], [0, np.inf]])), 'inf at row 1, column 1'),
        (dict(n_classes=1), 'n_classes=1 is not a whole number from 2 up'),
        (dict(n_classes=3.5), 'n_classes=3.5 is not a whole number from 2 up'),
        (dict(dtype=np.int32), "dtype=<class 'numpy.int32'> is not float32 or float64"),
        (dict(dtype=np.float16), 'is not float32 or float64'),
        (dict(ridge=-1.0), 'ridge=-1.0 is not a number from 0 up'),
        (dict(ridge=np.nan), 'ridge=nan is not a finite number from 0 up'),
        (dict(alpha=np.inf), 'alpha=inf is not a finite number'),
    ],
)
def test_what_is_wrong_is_said_in_one_line(change, words):
    refuses(words, DoubleSum, **{**GOOD, **change})


def test_too_many_others():
    problem = made()[0]
    for wrong in (0, 5, -1):
        refuses(f'n_negatives is {wrong}, but', problem.draw, np.random.default_rng(0), 3, wrong)


# -------------------------------------------------------------------------------------------- U-max


def test_projection_onto_the_ball():
    problem, params = made(n_samples=25, n_classes=6, ridge=20.0, spread=2.0)
    max_norm, max_log_norm = optimum_bounds(problem)
    assert np.linalg.norm(problem.unpack(params)[0]) > 3 * max_norm
    umax_updates(problem, params, problem.draw(np.random.default_rng(3), 60, 3), 0.01, 1.0)
    assert np.linalg.norm(problem.unpack(params)[0]) <= max_norm * (1 + 1e-9)
    assert problem.unpack(params)[1].max() <= max_log_norm


@pytest.mark.parametrize('alpha, kind', list(itertools.product([0.0, 0.4, 1.0], ['dense', 'csr'])))
def test_other_members_step_like_sgd(alpha, kind):
    problem, params = made(alpha=alpha, kind=kind)
    draw, slow, fast = problem.draw(np.random.default_rng(4), 80, 2), params.copy(), params.copy()
    for t in range(80):
        problem.sgd_step_(
            slow, Draw(draw.sample[t : t + 1], draw.others[t : t + 1]), 0.01 * problem.lr_scale
        )
    assert umax_updates(problem, fast, draw, 0.01, np.inf) == 0
    assert np.isfinite(slow).all()
    np.testing.assert_allclose(fast, slow, atol=1e-11)


def test_a_lift_of_another_member_reaches_the_same_place():
    for alpha in (0.0, 0.4, 1.0):
        problem, params = made(alpha=alpha, n_samples=3)
        problem.unpack(params)[1][:] = problem.best_log_norms(params) - 5.0
        everything = Draw(
            np.array([1]), np.array([[k for k in range(5) if k != problem.labels[1]]], np.int32)
        )
        assert umax_updates(problem, params, everything, 0.0, 1.0) == 1  # rate 0: only the lift
        assert problem.unpack(params)[1][1] == pytest.approx(problem.best_log_norms(params)[1])


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_never_overflows(dtype):
    problem, params = made(n_samples=40, n_classes=30, dtype=dtype)
    problem.unpack(params)[0][:] *= 1e3  # gaps in the thousands, log-normalizers near 3
    limits, steps = dict(max_epochs=20, loss_subset=0), dict(learning_rate_decay=1.0)
    run = minimize(problem, UMax(1e3, **steps), params, **limits)
    assert np.isfinite(run.state.params).all() and run.state.n_resets > 0
    lost = minimize(problem, UMax(1e3, threshold=np.inf, **steps), params, **limits)
    assert 'not finite' in lost.message and 'lower it, or take ImplicitSGD' in lost.message


def test_a_step_counts_its_terms_and_rates_fall_at_whole_passes():
    problem = made(n_samples=20)[0]
    solver = UMax(learning_rate=0.4, n_negatives=2, n_updates=50, learning_rate_decay=0.5)
    state = solver.init(problem, problem.init_params())
    state = solver.step(problem, state, np.random.default_rng(0))
    assert (state.n_iter, state.n_terms, state.n_epochs) == (1, 100, 2.5)
    rates = [solver.rate(passes) for passes in (0, 0.9, 1, 2.5, 3 - 1e-12)]
    assert rates == pytest.approx([0.4, 0.4, 0.2, 0.1, 0.05])


def test_blocks_do_not_change_a_run():
    problem, params = made(n_samples=30, ridge=0.05)
    draw, whole, cut = problem.draw(np.random.default_rng(0), 3000, 2), params.copy(), params.copy()
    umax_updates(problem, whole, draw, 0.1)  # the first block has 256 updates
    from extreme_opt.core import compiled

    original = compiled.timed_chunks
    try:
        compiled.timed_chunks = lambda n_items, **_: (
            (start, min(start + 37, n_items)) for start in range(0, n_items, 37)
        )
        umax_updates(problem, cut, draw, 0.1)
    finally:
        compiled.timed_chunks = original
    np.testing.assert_array_equal(whole, cut)


def test_rate_times_ridge_has_a_limit():
    with pytest.raises(ValueError, match='turn the weights around'):
        minimize(made(ridge=1.0)[0], UMax(learning_rate=1.0), max_iter=1)
    with pytest.raises(TypeError, match='UMax solves a DoubleSum, not a object'):
        minimize(object(), UMax(), max_iter=1)


def test_sgd_in_the_same_units():
    problem = made(n_samples=30)[0]
    run = minimize(problem, SGD(learning_rate=0.03), max_epochs=20, loss_subset=0)
    assert problem.log_loss(run.state.params) < np.log(5)
    lost = minimize(problem, SGD(learning_rate=500.0), max_epochs=20, loss_subset=0)
    assert 'not finite' in lost.message and 'lower it, or take ImplicitSGD' in lost.message


WEIGHTED = (DoubleSum, FullSoftmax, OneVsEach, NCE, ImportanceSampled)


@pytest.mark.parametrize('n_unpenalized', [0, 1])
@pytest.mark.parametrize('kind', WEIGHTED)
def test_a_weight_of_two_is_a_row_that_stands_twice(kind, n_unpenalized):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(12, 3)), rng.integers(4, size=12)
    counts = rng.integers(0, 4, size=12)
    twice = np.repeat(np.arange(12), counts)
    extra = dict(ridge=0.1, n_unpenalized=n_unpenalized)
    one = kind(X, labels, 4, sample_weight=counts, **extra)
    two = kind(X[twice], labels[twice], 4, **extra)
    params = one.init_params() + 0.3 * rng.random(one.init_params().size)
    weights, *log_norms = one.unpack(params)
    again = np.concatenate([weights.ravel(), *(u[twice] for u in log_norms)])
    np.testing.assert_allclose(one.loss(params) / 12, two.loss(again) / len(twice))
    check_gradient(one, params)


@pytest.mark.parametrize('kind', [DoubleSum, OneVsEach])
def test_draws_by_weight_are_unbiased(kind):
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(6, 3)), rng.integers(4, size=6)
    problem = kind(
        X, labels, 4, sample_weight=rng.integers(0, 4, size=6), ridge=0.2, n_unpenalized=1
    )
    params = problem.init_params() + 0.3 * rng.random(problem.init_params().size)
    grad, loss = np.zeros(params.size), 0.0
    for i in range(6):
        for k in set(range(4)) - {labels[i]}:
            draw = Draw(np.array([i]), np.array([[k]]))
            share = problem.sample_weight[i] / 6 / 3
            grad += share * problem.grad_at(params, draw)
            loss += share * problem.loss_at(params, draw)
    np.testing.assert_allclose(grad, problem.grad(params), atol=1e-9)
    assert loss == pytest.approx(problem.loss(params))


def test_rows_are_visited_as_often_as_they_weigh():
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 4, size=12)
    problem = DoubleSum(
        rng.normal(size=(12, 3)), rng.integers(4, size=12), 4, sample_weight=weights
    )
    share = np.bincount(problem.draw_rows(rng, 30_000), minlength=12) / 30_000
    assert np.abs(share - problem.sample_weight / 12).max() < 0.02 and not share[weights == 0].any()
    order = np.array([np.bincount(problem.visit_order(rng), minlength=12) for _ in range(500)])
    assert (order >= np.floor(problem.sample_weight - 1e-9)).all()
    assert (order <= np.ceil(problem.sample_weight + 1e-9)).all()
    assert np.abs(order.mean(0) - problem.sample_weight).max() < 0.15
    assert problem.take(np.flatnonzero(weights == 0)).sample_weight is None


@pytest.mark.parametrize(
    'wrong, words',
    [
        (dict(sample_weight=[1.0]), 'one weight per row'),
        (dict(sample_weight=[1.0, -1.0]), r'sample_weight\[1\] is -1.0'),
        (dict(sample_weight=[0.0, 0.0]), 'zero for every row'),
        (dict(n_unpenalized=4), r'outside \[0, 3\]'),
    ],
)
def test_weights_and_columns_are_checked(wrong, words):
    refuses(words, DoubleSum, np.ones((2, 3)), [0, 1], **wrong)
