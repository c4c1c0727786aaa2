"""Fast sums over all pairs against the slow ones, towers against differences, Gauss-Newton against
matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy import sparse

from extreme_opt.core import GaussNewton, LeastSquares
from extreme_opt.core.checks import check_gradient
from extreme_opt.similarity import MLP, AllPairs, Linear
from extreme_opt.similarity.all_pairs import dense_loss
from extreme_opt.similarity.gramian import left_gramian, right_gramian, unseen_value
from extreme_opt.similarity.problem import Block


def made(m=6, n=5, share=0.3, seed=0, **options):
    "A small problem with every option in use."
    rng = np.random.default_rng(seed)
    places = np.argwhere(rng.random((m, n)) < share)
    usual = dict(n_components=3, left=MLP(4), right=MLP(5, 3), n_left=m, n_right=n)
    usual |= dict(unobserved_weight=0.4, ridge=0.1, labels=rng.choice([-1.0, 1.0], len(places)))
    usual |= dict(pair_weights=rng.random(len(places)))
    usual |= dict(row_weights=rng.random(m), column_weights=rng.random(n))
    usual |= dict(impute=(rng.normal(size=(m, 2)), rng.normal(size=(n, 2))))
    return AllPairs(places, **(usual | options))


def slow_loss(problem, params):
    "The loss as it is written, over all pairs."
    return (
        dense_loss(problem.terms, problem.embed(0, params), problem.embed(1, params))
        + problem.ridge / 2 * params @ params
    )


@settings(max_examples=40, deadline=None)
@given(
    m=st.integers(1, 7),
    n=st.integers(1, 7),
    share=st.sampled_from([0.0, 0.1, 0.5, 2.0]),
    seed=st.integers(0, 99),
    pair_loss=st.sampled_from(['logistic', 'squared']),
    penalty=st.sampled_from(['unobserved', 'all']),
    rank=st.integers(0, 4),
    weight=st.sampled_from([0.0, 0.3, 2.0, 'auto']),
    biases=st.booleans(),
    tower=st.sampled_from([MLP(4), MLP(3, 2, bias=False), Linear(), Linear(bias=True)]),
)
def test_fast_is_naive(m, n, share, seed, pair_loss, penalty, rank, weight, biases, tower):
    """Every option, with empty rows and columns, nothing observed, everything observed, one entity
    a side."""
    rng = np.random.default_rng(seed)
    options = dict(pair_loss=pair_loss, penalty=penalty, biases=biases, left=tower)
    options |= dict(impute=(rng.normal(size=(m, rank)), rng.normal(size=(n, rank))))
    problem = made(m, n, share, seed, unobserved_weight=weight, **options)
    params = problem.init_params(seed) + 0.05
    np.testing.assert_allclose(
        problem.loss(params), slow_loss(problem, params), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize(
    'options',
    [
        dict(),
        dict(pair_loss='squared', penalty='all'),
        dict(left=MLP(4, cosine=2.0)),
        dict(biases=True),
        dict(left=Linear(), right=Linear(bias=True), impute=0.0),
        dict(right=Linear(cosine=1.0), row_weights=None, unobserved_weight='auto'),
        dict(share=0.0, keep_mb=0.0),
        dict(share=2.0, labels=None, pair_weights=None),
        dict(m=1, unobserved_weight=0.0),
        dict(n=1),
        dict(left_features=np.arange(6)[::-1] // 2),
        dict(right_features=sparse.random_array((5, 9), density=0.4, rng=1)),
    ],
)
def test_gradient(options):
    problem = made(**options)
    check_gradient(problem, problem.init_params(1) + 0.05)


def test_single_precision_keeps_the_value():
    """Where the plain formula in float32 is off by hundreds of per cent, float64 Gramians of the
    same rows are not."""
    rng = np.random.default_rng(1)
    m, n, k = 900, 700, 8
    P, Q = (
        np.concatenate([np.full((size, 1), sign), np.zeros((size, k - 1))], 1).astype(np.float32)
        + (3e-5 * rng.normal(size=(size, k))).astype(np.float32)
        for size, sign in ((m, -1.0), (n, 1.0))
    )
    sides = dict(n_left=m, n_right=n, left=Linear(), right=Linear())
    terms = AllPairs([[0, 0]], dtype=np.float32, n_components=k, **sides).terms
    exact = 0.5 * ((P.astype(float) @ Q.T.astype(float) + 1) ** 2).sum()
    sums = P.sum(0, dtype=np.float32) * Q.sum(0, dtype=np.float32)
    plain = 0.5 * m * n + sums.sum() + 0.5 * ((P.T @ P) * (Q.T @ Q)).sum()
    assert abs(plain / exact - 1) > 0.5
    assert abs(unseen_value(left_gramian(terms, P), right_gramian(terms, Q)) / exact - 1) < 1e-5


@pytest.mark.parametrize('precondition', [False, True])
@pytest.mark.parametrize('max_products', [1, 2, 30])
def test_the_predicted_gain_of_a_damped_step_is_exact_on_least_squares(precondition, max_products):
    """The model is the loss there, so that actual over predicted change is 1, solved to the end or
    not."""

    class Probed(LeastSquares):
        "With a diagonal to divide by."

        def hutchinson_diagonal(self, params, rng):
            return 1.0 + rng.random(len(params))

    rng = np.random.default_rng(0)
    kind = Probed if precondition else LeastSquares
    problem = kind(rng.normal(size=(30, 6)), rng.normal(size=30), ridge=0.5)
    for damping in (0, 0.1, 1, 10, 100, 1000):
        solver = GaussNewton(damping=damping, max_products=max_products, forcing=1e-9)
        state = solver.step(problem, solver.init(problem, np.ones(6)), np.random.default_rng(1))
        assert state.gain_ratio == pytest.approx(1, abs=1e-8)
        # the whole step gains too little
        shorter = GaussNewton(damping=damping, max_products=max_products, shrink=0.37, decrease=0.9)
        state = shorter.step(problem, shorter.init(problem, np.ones(6)), np.random.default_rng(1))
        assert state.gain_ratio == pytest.approx(1, abs=1e-8)
        assert state.step_size < 1 or damping >= 100


def test_the_fallback_direction_has_a_gain_of_its_own():
    """Where conjugate gradients give up at once, the step goes down the gradient; its curvature is
    computed."""

    class Odd(LeastSquares):
        "Not positive along the gradient at the first product; right after that."

        n_calls = 0

        def ggn_vp(self, params, vector):
            self.n_calls += 1
            return -vector if self.n_calls == 1 else super().ggn_vp(params, vector)

    rng = np.random.default_rng(0)
    data = rng.normal(size=(30, 6)), rng.normal(size=30)
    for damping in (0.0, 0.1, 0.9):
        problem, solver = Odd(*data, ridge=0.5), GaussNewton(damping=damping)
        state = solver.step(problem, solver.init(problem, np.zeros(6)), rng)
        assert 'negative curvature' in state.solve and state.n_products == problem.n_calls == 2
        assert state.step_size > 0 and state.gain_ratio == pytest.approx(1, abs=1e-8)

    class Broken(LeastSquares):
        "No product is finite: the model is a plane."

        def ggn_vp(self, params, vector):
            return np.full_like(vector, np.nan)

    problem, solver = Broken(*data, ridge=0.5), GaussNewton()
    state = solver.step(problem, solver.init(problem, np.zeros(6)), rng)
    grad = problem.grad(np.zeros(6))
    expected = (problem.loss(state.params) - problem.loss(np.zeros(6))) / (
        -state.step_size * (grad @ grad)
    )
    assert state.step_size > 0 and state.gain_ratio == pytest.approx(expected)


def test_failed_search_raises_damping_and_keeps_the_point():
    """One try at twice the start of a nearly flat problem fails at first; nothing moves, and later
    steps succeed."""
    problem = made(20, 15, 0.2, ridge=1e-3, impute=-1.0)
    solver = GaussNewton(damping=1e-6, max_tries=1, precondition=False)
    rng = np.random.default_rng(0)
    state, failed = solver.init(problem, 4 * problem.init_params(0)), 0
    for _ in range(30):
        before, state = state, solver.step(problem, state, rng)
        if state.step_size == 0:
            failed += 1
            np.testing.assert_array_equal(state.params, before.params)
            assert state.damping > before.damping and not state.message
        assert problem.loss(state.params.copy()) == pytest.approx(state.loss, rel=1e-12)
    assert state.loss < problem.loss(4 * problem.init_params(0))
    assert failed > 0


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
@pytest.mark.parametrize('tower', [MLP(4), Linear()])
@np.errstate(all='ignore')  # flipped exponents overflow
def test_a_changed_vector_is_evaluated_again(dtype, tower):
    "Sign flips, exponent flips and single bits, in place and in a copy."
    problem, fresh = (made(left=tower, right=tower, dtype=dtype) for _ in range(2))
    words = np.dtype(f'u{np.dtype(dtype).itemsize}')
    n_bits = 8 * words.itemsize

    def flipped(places, bit):
        found = problem.init_params(1)
        found.view(words)[places] ^= words.type(1) << words.type(bit)
        return found

    others = [
        -problem.init_params(1),
        flipped([0, 5], n_bits - 1),
        flipped([1, 2, 3, 4], n_bits - 1),
        flipped([0, 1], n_bits - 3),
    ]
    others += [flipped([k], bit) for k in (0, 7) for bit in range(n_bits - 1)] + [
        flipped([2, 3], n_bits - 2)
    ]
    for other in others:
        params = problem.init_params(1)
        problem.loss(params)
        fresh._memo.clear()
        expected = fresh.loss_and_grad(other)
        np.testing.assert_array_equal(problem.loss(other), expected[0])
        problem.loss(params)
        np.testing.assert_array_equal(problem.grad(other), expected[1])
        problem.loss(params)
        params[:] = other
        np.testing.assert_array_equal(problem.loss(params), expected[0])
    base = problem.init_params(1)
    view = base.view()
    view.flags.writeable = False
    before = problem.loss(view)
    base[[0, 5]] *= -1
    assert problem.loss(view) != before


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_threads_change_no_bit(dtype):
    rng, found = np.random.default_rng(0), []
    pairs = np.unique(rng.integers(300, size=(70_000, 2)), axis=0)
    for n_jobs in (1, 2, 3):
        settings = dict(n_components=11, left=MLP(5), right=MLP(5), dtype=dtype, n_jobs=n_jobs)
        problem = AllPairs(pairs, n_left=300, n_right=300, **settings)
        params = problem.init_params(0)
        loss, grad = problem.loss_and_grad(params)
        found.append(np.concatenate([[loss], grad, problem.ggn_vp(params, params)]))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    refuses('n_jobs=0 is not a whole number from 1 up', AllPairs, pairs, n_jobs=0)


@pytest.mark.parametrize('dtype', [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int64])
def test_ids_of_every_integer_type(dtype):
    pairs = np.array([[0, 3], [4, 0], [2, 2]])
    one, two = (
        AllPairs(ids, n_components=2, left=Linear(), right=Linear())
        for ids in (pairs.astype(dtype), pairs)
    )
    assert (one.n_left, one.n_right) == (5, 4)
    np.testing.assert_array_equal(one.grad(one.init_params(0)), two.grad(two.init_params(0)))
    features = np.array([3, 1, 1, 0, 2], dtype)
    assert AllPairs(pairs, features, n_components=2).towers[0].n_inputs == 4
    with pytest.raises(ValueError, match=r'observed\[1, 0\] is 4, but there are 4 left entities'):
        AllPairs(pairs.astype(dtype), n_left=4)


def test_ids_that_kernels_cannot_hold_are_refused():
    refuses('at most 2147483647 are possible', AllPairs, [[0, 2**31]])
    refuses('number each column', AllPairs, np.array([['u12', 'i3']]))


def corrupted(kind, part, place, value):
    "A 4 x 5 matrix whose index arrays were changed after it was made."
    matrix = sparse.coo_array(np.arange(20).reshape(4, 5) % 3).asformat(kind)
    if kind == 'coo':
        matrix.coords[part][place] = value
    else:
        getattr(matrix, part)[place] = value
    return matrix


@pytest.mark.parametrize(
    'kind, part, place, value',
    [
        ('csr', 'indices', 2, 5),
        ('csc', 'indices', 2, 4),
        ('csc', 'indices', 0, -1),
        ('csc', 'indptr', 3, 10**6),
        ('coo', 0, 1, 4),
        ('coo', 1, 1, 5),
        ('coo', 1, 0, -2),
    ],
)
def test_a_broken_sparse_matrix_is_refused_where_it_enters(kind, part, place, value):
    "Before any compiled code sees it: as pairs, and as features of either side."
    broken = corrupted(kind, part, place, value)
    refuses('observed', lambda: AllPairs(broken, n_components=2, left=Linear(), right=Linear()))
    pairs = np.array([[0, 1], [3, 2]])
    for side in ('left', 'right'):
        refuses(f'{side}_features', AllPairs, pairs, **{f'{side}_features': broken, f'n_{side}': 4})


def test_batches_of_ids_are_checked():
    "A block, and rows given to embed and push: in range, whole numbers, one dimension."
    problem = made(6, 5)
    params = problem.init_params(0)

    def block(left, right):
        return Block(np.asarray(left), np.asarray(right))

    for bad, text in (
        (block([0, 6], [1]), r'left rows\[1\] is 6, but there are 6'),
        (block([0], [-1]), r'right rows\[0\] is -1'),
        (block([0], [2**40]), r'right rows\[0\]'),
        (block([0.5], [0]), 'a vector of ids'),
        (block([[0]], [0]), 'a vector of ids'),
        (block(np.empty(0, int), [0]), 'the block is empty'),
    ):
        for method in (problem.loss_at, problem.grad_at):
            refuses(text, method, params, bad)
    for rows in ([6], [-1], [2**40]):
        rows = np.array(rows)
        refuses('left rows', problem.embed, 0, params, rows)
        refuses('left rows', problem.vjp, 0, params, np.ones((1, 3)), np.zeros_like(params), rows)
    with pytest.raises(ValueError, match='cotangents have 2 rows, but 1'):
        problem.vjp(0, params, np.ones((2, 3)), np.zeros_like(params), np.array([1]))
    found = problem.grad_at(params, block(np.arange(6, dtype=np.uint8), np.arange(5)))
    np.testing.assert_allclose(found, problem.grad(params), atol=1e-12)


@pytest.mark.parametrize(
    'labels, text',
    [
        (
            [1, 0, 1],
            r'labels hold 0 \(labels\[1\]\); the logistic loss needs -1 and \+1: use 2\*labels - 1',
        ),
        ([5, 3, 1], r'labels hold 5 \(labels\[0\]\).* use loss "squared"'),
        ([1, -1, 0], r'labels hold 0 \(labels\[2\]\).* use loss "squared"'),
    ],
)
def test_the_logistic_loss_refuses_other_labels(labels, text):
    for pairs in ([[2, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [2, 1]]):  # sorted, or in order
        refuses(text, AllPairs, pairs, labels=labels)
    assert np.isfinite(
        AllPairs(pairs, labels=labels, pair_loss='squared', n_components=2).loss(
            AllPairs(pairs, pair_loss='squared', n_components=2).init_params(0)
        )
    )


@pytest.mark.parametrize('dtype', [np.int32, np.int64, np.uint64])
def test_pairs_in_order_are_not_sorted(dtype):
    rng = np.random.default_rng(0)
    places = np.argwhere(rng.random((7, 5)) < 0.5).astype(dtype)
    mixed = rng.permutation(len(places))
    weights = rng.random(len(places))
    inside, sorted_ = (
        AllPairs(places[at], n_left=8, n_right=6, pair_weights=weights[at]).terms.pairs
        for at in (slice(None), mixed)
    )
    assert inside.order is None and not np.shares_memory(inside.weights, weights)
    np.testing.assert_array_equal(sorted_.given(np.arange(len(mixed))), np.argsort(mixed))
    for name in ('starts', 'rights', 'labels', 'weights', 'turned', 'lefts', 'places', 'rows'):
        one, other = getattr(inside, name), getattr(sorted_, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype, name
    for at in (slice(None), mixed):
        with pytest.raises(ValueError, match=r'pair_weights\[3\] is -1'):
            AllPairs(places[at], pair_weights=np.where(np.arange(len(places)) == 3, -1.0, 1.0))
    twice = np.concatenate([places, places[3:4]])
    refuses(rf'observed\[{len(places)}\] repeats pair', AllPairs, twice)
