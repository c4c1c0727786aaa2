"""Gram matrices against coordinates, the projection against rivals, and the constants of the
convergence proof."""

import itertools
import math

import numpy as np
import pytest
from refusals import refuses

from extreme_opt.core.checks import check_gradient, check_unbiased
from extreme_opt.core.descent import SGD
from extreme_opt.core.run import minimize
from extreme_opt.data import planted_triplets
from extreme_opt.ordinal.gram import GramComparisons, ProjectedGradient, coordinates
from extreme_opt.ordinal.losses import CKL, SOE, STE, TSTE, Hinge
from extreme_opt.ordinal.problem import Comparisons

LOSSES = STE(), STE(margin=1.0), TSTE(1.0), TSTE(9.0), CKL(0.1), Hinge(), SOE()


def made(loss=None, n=10, n_columns=3, n_terms=60, weighted=False, seed=0, **options):
    "Comparisons of both kinds, with a map to look at them from."
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n)[:n_columns] for _ in range(n_terms)])
    weights = rng.uniform(0.2, 3, n_terms) if weighted else None
    points = rng.normal(size=(n, 3))
    return (
        GramComparisons(rows, loss or STE(), n, weights=weights, **options),
        points - points.mean(0),
        rows,
        weights,
    )


@pytest.mark.parametrize(
    'loss, n_columns, weighted', list(itertools.product(LOSSES, (3, 4), (False, True)))
)
def test_same_as_over_coordinates(loss, n_columns, weighted):
    problem, points, rows, weights = made(loss, n_columns=n_columns, weighted=weighted, trace=0.3)
    flat = Comparisons(rows, 3, loss, 10, weights=weights, ridge=0.6)
    params = (points @ points.T).ravel()
    assert problem.loss(params) == pytest.approx(flat.loss(points.ravel()), rel=1e-12)
    slope = problem.unpack(problem.grad(params))
    np.testing.assert_allclose(
        2 * slope @ points, flat.unpack(flat.grad(points.ravel())), atol=1e-12
    )
    np.testing.assert_allclose(slope.sum(0), 0, atol=1e-14)
    np.testing.assert_array_equal(slope, slope.T)
    if loss.kind not in (3, 4):
        check_gradient(problem, params, atol=1e-6)
    batches = [np.array([q]) for q in range(len(rows))]
    check_unbiased(problem, params, batches)
    check_unbiased(problem, params, batches, estimate=problem.loss_at, exact=problem.loss(params))


def test_coordinates_keep_the_widest_directions():
    points = np.random.default_rng(2).normal(size=(8, 3)) * [1, 5, 2]
    points -= points.mean(0)
    full = coordinates(points @ points.T, 3)
    np.testing.assert_allclose(full @ full.T, points @ points.T, atol=1e-10)
    assert (np.diff((full**2).sum(0)) <= 0).all()
    np.testing.assert_allclose(coordinates(points @ points.T, 2), full[:, :2])


@pytest.mark.parametrize('loss', LOSSES)
def test_every_loss_descends_and_stays_in_the_cone(loss):
    data, _ = planted_triplets(15, 2, 400, seed=3)
    for rank in (None, 2):
        problem = GramComparisons(data.triplets, loss, 15, trace=0.1, rank=rank)
        run = minimize(problem, ProjectedGradient(), max_iter=25)
        losses = run.column('loss')
        assert losses[-1] < losses[0] and (np.diff(losses) <= 1e-12).all()
        values = np.linalg.eigvalsh(problem.unpack(run.state.params))
        assert values[0] > -1e-9 and (rank is None or (values > 1e-9).sum() <= rank)


def test_a_run_is_counted():
    problem, *_ = made(trace=0.1)
    whole = minimize(problem, ProjectedGradient(), max_iter=12)
    assert whole.state.n_terms == whole.state.n_epochs * problem.n_terms
    assert whole.state.n_epochs >= 24
    assert np.isfinite(minimize(problem, SGD(0.05), max_iter=2).state.params).all()


def test_a_minimum_ends_the_run():
    problem, *_ = made(trace=50.0)  # so dear that one point is best
    run = minimize(problem, ProjectedGradient(), max_iter=50)
    assert 'no projected step' in run.message and not run.state.params.any()
    assert run.state.loss == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    'wrong, words',
    [
        (dict(rank=0), 'rank=0'),
        (dict(trace=-1), 'trace=-1'),
        (dict(trace=np.nan), 'trace=nan'),
        (dict(weights=[1.0]), 'weights has shape'),
        (dict(n_objects=2), 'triplets[0]'),
    ],
)
def test_wrong_settings_are_named(wrong, words):
    refuses(words, GramComparisons, [[0, 1, 2], [1, 0, 2]], **wrong)
