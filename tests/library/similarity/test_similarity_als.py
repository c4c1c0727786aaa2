"""Alternating least squares: exact half steps, conjugate gradients that end where they do, the same
minimum as a general minimizer, and what is refused."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from extreme_opt.core import FitDiverged, minimize
from extreme_opt.similarity import ALS, MLP, AllPairs, Linear, SimilarityModel
from extreme_opt.similarity.all_pairs import tally
from extreme_opt.similarity.als import solve_side_


def made(m=9, n=7, share=0.4, seed=0, **options):
    "A small problem with every option in use."
    rng = np.random.default_rng(seed)
    places = np.argwhere(rng.random((m, n)) < share)
    usual = dict(n_components=3, left=Linear(), right=Linear(), n_left=m, n_right=n)
    usual |= dict(pair_loss='squared', unobserved_weight=0.4, ridge=0.1)
    usual |= dict(labels=rng.normal(size=len(places)), pair_weights=3 * rng.random(len(places)))
    usual |= dict(row_weights=rng.random(m), column_weights=rng.random(n))
    usual |= dict(impute=(rng.normal(size=(m, 2)), rng.normal(size=(n, 2))))
    return AllPairs(places, **(usual | options))


@settings(max_examples=40, deadline=None)
@given(
    m=st.integers(1, 9),
    n=st.integers(1, 9),
    k=st.integers(1, 9),
    share=st.sampled_from([0.0, 0.1, 0.5, 2.0]),
    seed=st.integers(0, 99),
    penalty=st.sampled_from(['unobserved', 'all']),
    weight=st.sampled_from([0.0, 0.3, 2.0, 'auto']),
    ridge=st.sampled_from([0.0, 0.1, 3.0]),
    biases=st.booleans(),
    inputs=st.sampled_from(['rows', 'ids', 'scales', 'scaled ids']),
)
def test_half_steps_are_exact(m, n, k, share, seed, penalty, weight, ridge, biases, inputs):
    "The gradient along the side that was solved for vanishes, and the loss has not risen."
    options = dict(penalty=penalty, unobserved_weight=weight, ridge=ridge, biases=biases)
    rng = np.random.default_rng(seed)
    ids, scales = rng.integers(0, 4, m), 0.5 + rng.random(4)
    if inputs == 'ids':
        options['left_features'] = ids
    elif inputs == 'scales':
        options['left_features'] = scipy.sparse.diags_array(0.5 + rng.random(m), format='csr')
    elif inputs == 'scaled ids':
        each = scales[ids], (np.arange(m), ids)
        options['left_features'] = scipy.sparse.csr_array(each, shape=(m, 4))
    problem = made(m, n, share, seed, n_components=k, **options)
    params = problem.init_params(seed)
    for side in (0, 1, 0):
        before = problem.loss(params)
        solve_side_(problem, params, side)
        if ridge:  # without one the system may be singular to rounding
            assert np.abs(problem.split(problem.grad(params))[side]).max() < 1e-8
        assert problem.loss(params) <= before + 1e-9 * (1 + abs(before))


@pytest.mark.parametrize('options', [{}, dict(biases=True), dict(impute=0.0, penalty='all')])
def test_same_minimum_as_scipy(options):
    problem = made(5, 4, n_components=2, ridge=0.5, **options)
    run = minimize(problem, ALS(), max_iter=3000, tol=1e-14, record_every=50)
    found, options = [], dict(jac=problem.grad, method='BFGS', tol=1e-9)
    for seed in range(5):
        start = problem.init_params(seed)
        found.append(scipy.optimize.minimize(problem.loss, start, **options).fun)
    found = min(found)
    ours = min(
        minimize(problem, ALS(), problem.init_params(seed), max_iter=500).history[-1]['loss']
        for seed in range(5)
    )
    assert abs(ours - found) < 1e-6 * found
    assert np.abs(problem.grad(run.state.params)).max() < 1e-5


def test_threads_and_types():
    "Bit by bit the same for any number of threads; float32 is close to float64."
    rng = np.random.default_rng(0)
    places = np.argwhere(rng.random((3000, 60)) < 0.3)
    places = places[places[:, 0] > 100]  # rows without pairs too
    usual = dict(
        n_components=20, left=Linear(), right=Linear(), pair_loss='squared', impute=0.0, ridge=5.0,
        n_left=3000, n_right=60,
    )  # fmt: skip
    one = AllPairs(places, **usual)
    start = one.init_params(0)
    ends = [
        minimize(AllPairs(places, n_jobs=n, **usual), ALS(), start, max_iter=2) for n in (1, 2, 3)
    ]
    assert np.array_equal(ends[0].state.params, ends[1].state.params)
    assert np.array_equal(ends[0].state.params, ends[2].state.params)
    single = minimize(AllPairs(places, dtype=np.float32, **usual), ALS(), start, max_iter=2)
    assert single.state.params.dtype == np.float32
    np.testing.assert_allclose(single.state.params, ends[0].state.params, rtol=1e-3, atol=1e-4)


SCALES = np.linspace(0.5, 2, 40)
EVERY_OPTION = [
    {},
    dict(impute=0.0, row_weights=None, column_weights=None, labels=None, pair_weights=None),
    dict(biases=True),
    dict(biases=True, penalty='all', impute=-1.0),
    dict(left_features=np.arange(40) // 3),
    dict(left_features=scipy.sparse.diags_array(SCALES, format='csr'), biases=True),
    dict(share=0.02),
    dict(unobserved_weight=0.0, ridge=1.0),
]


@pytest.mark.parametrize('options', EVERY_OPTION)
def test_conjugate_gradients_end_where_the_exact_solver_does(options):
    "Every option; the loss never rises, and is what the problem says, in each iteration."
    settings_of = dict(n_components=12, ridge=0.5) | options
    problem, fresh = made(40, 30, **settings_of), made(40, 30, **settings_of)
    start, ends = problem.init_params(0), []
    for solver in (ALS(0), ALS(), ALS(2, cg_tol=9.0)):
        state, losses = solver.init(problem, start), [fresh.loss(start)]
        for _ in range(40):
            state = solver.step(problem, state, None)
            losses.append(problem.loss(state.params))
            np.testing.assert_allclose(losses[-1], fresh.loss(state.params), rtol=1e-9)
        assert (np.diff(losses) <= 1e-9 * np.abs(losses[:-1])).all()
        ends.append(losses[-1])
    assert ends[1] <= ends[0] * 1.005 and ends[2] <= ends[0] * 1.02  # other ways, near minima


def test_many_steps_of_conjugate_gradients_solve_a_side():
    problem = made(6, 7, 2.0, n_components=5, ridge=0.5)
    exact = problem.init_params(0)
    steps = exact.copy()
    solve_side_(problem, exact, 0)
    solve_side_(problem, steps, 0, 12)
    np.testing.assert_allclose(steps, exact, atol=1e-5)


def test_the_residual_says_where_more_is_needed():
    "With weak regularization four steps are far from a solution: more are made, or all of it."
    problem = made(200, 150, 0.1, n_components=20, ridge=1e-3, unobserved_weight=1e-3)
    start = problem.init_params(0)
    loss = {
        name: minimize(problem, solver, start, max_iter=1).column('loss')[-1]
        for name, solver in dict(exact=ALS(0), auto=ALS(), four=ALS(4, cg_tol=9.0)).items()
    }
    assert loss['auto'] < 1.1 * loss['exact'] and loss['four'] > 3 * loss['exact']


def test_a_remembered_loss_is_of_its_parameters():
    problem = made()
    state = ALS().step(problem, ALS().init(problem, problem.init_params(0)), None)
    params = state.params.copy()
    before = problem.loss(params)
    params *= 2
    after = problem.loss(params)
    assert after == pytest.approx(made().loss(params), rel=1e-12) and after != before
    params = ALS().step(problem, state, None).params
    with tally() as count:
        before = problem.loss(params)
    assert not count[0]  # known from the step
    params.flags.writeable = True
    params *= 2
    after = problem.loss(params)
    assert after == pytest.approx(made().loss(params), rel=1e-12) and after != before


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_the_loss_of_a_start_keeps_nothing_of_a_pair(dtype):
    problem = made(dtype=dtype)
    params = ALS().init(problem, problem.init_params(0)).params
    assert problem.loss(params) == pytest.approx(made(dtype=dtype).loss(params), rel=1e-6)
    assert 'point' not in problem._memo
    assert problem.grad(params).any() and 'point' in problem._memo


@pytest.mark.parametrize(
    'options, words',
    [
        (dict(pair_loss='logistic', labels=None), 'squared loss only'),
        (dict(left=MLP(4)), 'left=MLP(4)'),
        (dict(right=Linear(bias=True)), 'biases=True'),
        (dict(right=Linear(cosine=1.0)), 'linear towers'),
        (dict(right_features=np.ones((7, 3))), 'right_features has 3 columns'),
        (dict(right_features=scipy.sparse.csr_array(np.tri(7))), 'right_features has 7 columns'),
        (dict(right_features=-scipy.sparse.eye_array(7, format='csr')), 'has 7 columns'),
        (  # one id, two scales
            dict(right_features=scipy.sparse.csr_array(np.arange(1.0, 8)[:, None])),
            'has 1 columns',
        ),
    ],
)
def test_refused(options, words):
    refuses(words, lambda: minimize(made(**options), ALS(), max_iter=1))


@pytest.mark.parametrize('k', [2, 16, 40])
@pytest.mark.parametrize('size, dtype', [(1e200, 'float64'), (1e30, 'float32')])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_overflow_is_returned(k, size, dtype):
    "Labels whose squares or sums overflow end a run with a status, and a fit with an error."
    pairs = np.argwhere(np.random.default_rng(0).random((40, 30)) < 0.2)
    labels = np.full(len(pairs), size)
    towers = dict(left=Linear(), right=Linear(), pair_loss='squared', impute=0.0)
    problem = AllPairs(pairs, n_components=k, labels=labels, dtype=np.dtype(dtype), **towers)
    run = minimize(problem, ALS(), max_iter=5)
    assert run.status == 'diverged'
    model = SimilarityModel(k, solver='als', loss='squared', dtype=dtype)
    with pytest.raises(FitDiverged):
        model.fit(pairs, labels=labels)
