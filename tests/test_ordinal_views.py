"Several maps at once: the objective against brute force, and whether planted maps come back."

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from extreme_opt.core.checks import check_gradient, check_unbiased
from extreme_opt.core.descent import LBFGS, SGD
from extreme_opt.core.run import minimize
from extreme_opt.core.step_sizes import FixedStep
from extreme_opt.core.svrg import SVRG
from extreme_opt.ordinal.losses import CKL, STE, TSTE
from extreme_opt.ordinal.problem import Comparisons
from extreme_opt.ordinal.views import ViewComparisons


def rows_of(n, n_columns, n_terms, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n)[:n_columns] for _ in range(n_terms)])


@pytest.mark.parametrize(
    'n_columns, n_views, loss, temperature',
    list(itertools.product((3, 4), (1, 2, 3), (STE(), TSTE(2.0), CKL(0.3)), (0.1, 1.0))),
)
def test_against_brute_force(n_columns, n_views, loss, temperature):
    rows = rows_of(7, n_columns, 25)
    problem = ViewComparisons(rows, n_views, 2, loss, 8, temperature=temperature, ridge=0.2)
    params = problem.init_params(3)
    singles = [
        [Comparisons(row[None], 2, loss, 8).loss(points.ravel()) for row in rows]
        for points in problem.unpack(params)
    ]
    wanted = (
        -temperature
        * (logsumexp(-np.array(singles) / temperature, axis=0) - np.log(n_views)).mean()
        + 0.1 / 8 * (params**2).sum()
    )
    assert problem.loss(params) == pytest.approx(wanted, rel=1e-12)
    check_gradient(problem, params)
    batches = [np.array([q]) for q in range(len(rows))]
    check_unbiased(problem, params, batches)
    check_unbiased(problem, params, batches, estimate=problem.loss_at, exact=problem.loss(params))
    shares = problem.responsibilities(params)
    assert shares.shape == (25, n_views)
    np.testing.assert_allclose(shares.sum(1), 1)
    np.testing.assert_allclose(
        shares,
        np.exp(-np.array(singles).T / temperature)
        / np.exp(-np.array(singles).T / temperature).sum(1, keepdims=True),
    )


def test_no_overflow_far_out():
    problem = ViewComparisons(rows_of(6, 3, 20), 2, 2, STE(), temperature=1e-3)
    value, slope = problem.loss_and_grad(1e4 * problem.init_params())
    assert np.isfinite(value) and np.isfinite(slope).all()


def test_planted_maps_come_back():
    rng = np.random.default_rng(4)
    planted, rows, view = (
        rng.normal(size=(2, 25, 1)),
        rows_of(25, 3, 3000, 5),
        rng.integers(2, size=3000),
    )
    near, far = (
        ((planted[view, rows[:, 0]] - planted[view, rows[:, k]]) ** 2).sum(1) for k in (1, 2)
    )
    rows = np.where((near < far)[:, None], rows, rows[:, [0, 2, 1]])
    problem = ViewComparisons(rows, 2, 1, STE(), 25, ridge=0.02)
    runs = [minimize(problem, LBFGS(), max_iter=80, tol=1e-4, seed=seed) for seed in range(8)]
    best = problem.unpack(min(runs, key=lambda run: run.column('loss')[-1]).state.params)
    alike = np.abs(np.corrcoef(best[:, :, 0], planted[:, :, 0])[:2, 2:])
    assert alike.max(1).min() > 0.97 and set(alike.argmax(1)) == {0, 1}


@pytest.mark.parametrize('solver', [SGD(0.1, batch_size=5), SVRG(FixedStep(0.1), 5), LBFGS()])
def test_every_solver_descends(solver):
    problem = ViewComparisons(rows_of(12, 3, 200), 2, 2, STE(), ridge=0.02)
    losses = minimize(problem, solver, max_iter=10).column('loss')
    assert losses[-1] < losses[0] - 0.02


@pytest.mark.parametrize(
    'wrong',
    [
        dict(n_views=0),
        dict(n_components=1.5),
        dict(temperature=0),
        dict(ridge=-1),
        dict(temperature=np.nan),
    ],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ViewComparisons([[0, 1, 2]], **wrong)
