"The stochastic and incremental forms of the bound: where they go, and that they do so again."

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses

from extreme_opt.bound import IncrementalMajorizer, LinearChain, LogLinear, StochasticMajorizer
from extreme_opt.bound.structured import planted_chain
from extreme_opt.core import iterate, minimize
from extreme_opt.core.majorize import Majorizer


def problem_of(kind=np.asarray, dtype=np.float64, ridge=1e-2, n=150, **more):
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(n, 4)).astype(dtype), rng.normal(size=(3, 4))
    return LogLinear(
        kind(points),
        np.argmax(points @ weights.T + rng.gumbel(size=(n, 3)), axis=1),
        3,
        ridge=ridge,
        **more,
    )


def optimum(problem):
    return minimize(problem, Majorizer(), tol=1e-12, max_iter=500).state.params


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize('relaxation', [1.0, 1.8])
@pytest.mark.parametrize('order', ['smallest', 'largest', 'alternating'])
def test_incremental_reaches_the_optimum(kind, relaxation, order):
    problem = problem_of(kind, sample_weight=np.random.default_rng(3).random(150) + 0.1)
    run = minimize(problem, IncrementalMajorizer(20, order, relaxation), max_epochs=60)
    np.testing.assert_allclose(run.state.params, optimum(problem), atol=1e-8)


def test_incremental_keeps_its_sums():
    "After many replacements the sums are those of the kept points."
    problem, solver = problem_of(), IncrementalMajorizer(40, 'smallest')
    state = minimize(problem, solver, max_epochs=30).state
    parts = [
        problem.quadratic_bound(point, block)
        for point, block in zip(state.points, solver.blocks(problem))
    ]
    np.testing.assert_allclose(
        state.curvature, sum(part.curvature.matrix() for part in parts), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(
        state.linear,
        sum(
            part.curvature.matrix() @ point - part.slope for part, point in zip(parts, state.points)
        ),
        atol=1e-9,
    )


def test_the_sum_of_the_kept_parabolas_is_above_the_loss_and_never_rises():
    problem, solver, heights = problem_of(), IncrementalMajorizer(40), []
    for state in iterate(problem, solver, seed=2):
        if state.n_iter > 12:
            break
        if state.points is None:
            continue
        order = solver._order(state.n_rounds - 1)
        parts = zip(solver.blocks(problem), state.points)
        bounds = [(point, problem.quadratic_bound(point, block, order)) for block, point in parts]
        heights.append(sum(bound.at(state.params - point) for point, bound in bounds))
        assert heights[-1] >= problem.loss(state.params) - 1e-9
    assert len(heights) > 5 and (np.diff(heights) < 1e-9).all()


def test_one_block_is_the_batch_method():
    problem = problem_of()
    ours = minimize(problem, IncrementalMajorizer(1000, 'alternating', 1.8), max_iter=5)
    theirs = minimize(problem, Majorizer('alternating', 1.8), max_iter=5)
    np.testing.assert_allclose(ours.column('loss'), theirs.column('loss'), rtol=1e-10)


def test_incremental_fits_chains_too():
    problem = planted_chain(6, n_features=3, ridge=0.2)
    assert isinstance(problem, LinearChain)
    run = minimize(problem, IncrementalMajorizer(4, relaxation=1.8), max_epochs=60)
    np.testing.assert_allclose(run.state.params, optimum(problem), atol=1e-4)


def test_batch_of_all_is_the_batch_step():
    problem = problem_of()

    class Everything(LogLinear):
        def draw(self, rng, size=1):
            return np.arange(self.n_samples)

    whole = Everything(problem.features, problem.labels, 3, ridge=problem.ridge)
    for curvature in ('batch', 'average'):
        settings = dict(curvature=curvature, learning_rate_decay=0.0, batch_size=150)
        ours = minimize(whole, StochasticMajorizer(**settings), max_iter=1)
        want = minimize(problem, Majorizer('smallest', 1.0), max_iter=1).state.params
        np.testing.assert_allclose(ours.state.params, want, atol=1e-10)


@pytest.mark.parametrize('kind', [StochasticMajorizer, IncrementalMajorizer])
def test_too_many_weights_for_a_matrix_are_refused(kind):
    refuses('at most', lambda: kind().init(None, np.zeros(5000)))


def test_ridge_free_and_degenerate_rows():
    "No ridge, a free constant column, a column of zeros: everything stays finite and goes down."
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.normal(size=(60, 2)), np.zeros(60), np.ones(60)])
    problem = LogLinear(rows, rng.integers(3, size=60), 3, n_unpenalized=1)
    best = problem.loss(optimum(problem))
    for solver in (StochasticMajorizer(batch_size=10), IncrementalMajorizer(10)):
        run = minimize(problem, solver, max_epochs=30)
        assert np.isfinite(run.state.params).all() and run.column('loss')[-1] < best * 1.03
    assert next(iterate(problem, IncrementalMajorizer(10))).points is None
