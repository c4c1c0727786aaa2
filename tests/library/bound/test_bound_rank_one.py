"Steps of a mini-batch by updates of rank one, by Woodbury, by Cholesky; bounds of low rank."

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.bound import LogLinear, StochasticMajorizer
from extreme_opt.bound.rank_one import (
    RankOneMajorizer,
    rank_one_step,
    sherman_morrison_solve,
    woodbury_solve,
)
from extreme_opt.core import minimize


def problem_of(kind=np.asarray, n_classes=4, n_features=9, ridge=1e-2, **more):
    rng = np.random.default_rng(0)
    return LogLinear(
        kind(rng.normal(size=(40, n_features))),
        rng.integers(n_classes, size=40),
        n_classes,
        ridge=ridge,
        **more,
    )


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize('n_classes', [2, 3, 7])
@pytest.mark.parametrize('size', [1, 5, 30])
@pytest.mark.parametrize('order', ['smallest', 'largest'])
def test_every_road_gives_the_same_step(kind, n_classes, size, order):
    rng = np.random.default_rng(size)
    prior = rng.random(n_classes) + 0.1
    problem = problem_of(kind, n_classes, prior=prior, sample_weight=rng.random(40) + 0.1)
    for scale in (0.1, 30.0):
        at, batch = scale * rng.normal(size=problem.n_params), rng.integers(40, size=size)
        bound = problem.quadratic_bound(at, batch, order)
        direct = np.linalg.solve(bound.curvature.matrix(), bound.slope)
        phi, inverse = sherman_morrison_solve(problem, at, batch, order)
        tol = dict(rtol=1e-7, atol=1e-7 * np.abs(direct).max())
        np.testing.assert_allclose(phi, direct, **tol)
        np.testing.assert_allclose(inverse @ bound.slope, direct, **tol)
        np.testing.assert_allclose(woodbury_solve(bound.curvature, bound.slope), direct, **tol)


def test_impossible_outcomes():
    prior = np.ones((40, 4))
    prior[np.arange(40), (problem_of().labels + 1) % 4] = 0
    problem, at = problem_of(prior=prior), np.random.default_rng(1).normal(size=36)
    bound = problem.quadratic_bound(at, np.arange(10))
    direct = np.linalg.solve(bound.curvature.matrix(), bound.slope)
    np.testing.assert_allclose(
        sherman_morrison_solve(problem, at, np.arange(10))[0], direct, atol=1e-8
    )
    np.testing.assert_allclose(woodbury_solve(bound.curvature, bound.slope), direct, atol=1e-8)


def test_reference_on_general_features():
    rng = np.random.default_rng(2)
    for size, n_outcomes in ((1, 1), (3, 6)):
        tables = list(rng.normal(size=(size, n_outcomes, 4)))
        labels = rng.integers(n_outcomes, size=size)
        at = rng.normal(size=4)
        problem = LogLinear(
            np.arange(size), labels, feature_map=lambda i, tables=tables: tables[int(i)], ridge=0.3
        )
        bound = problem.quadratic_bound(at, order='given')
        phi, inverse = rank_one_step(tables, labels, at, 0.3)
        np.testing.assert_allclose(
            phi, np.linalg.solve(bound.curvature.matrix(), bound.slope), atol=1e-10
        )
        np.testing.assert_allclose(inverse, np.linalg.inv(bound.curvature.matrix()), atol=1e-10)


def test_solver_is_algorithm_3_whatever_the_road():
    problem = problem_of()
    runs = [
        minimize(problem, RankOneMajorizer(0.5, solve=solve), max_epochs=4).state.params
        for solve in ('auto', 'woodbury', 'cholesky', 'sherman-morrison')
    ]
    runs.append(
        minimize(problem, StochasticMajorizer(0.5, 0.0, 6, 'batch'), max_epochs=4).state.params
    )
    for params in runs[1:]:
        np.testing.assert_allclose(params, runs[0], atol=1e-8)
    free = problem_of(n_unpenalized=1)  # no ridge on a column: falls back to Cholesky
    assert np.isfinite(minimize(free, RankOneMajorizer(0.5), max_epochs=2).state.params).all()
    single = minimize(
        problem_of(dtype=np.float32), RankOneMajorizer(0.5), max_epochs=2
    ).state.params
    assert single.dtype == np.float32


def test_wrong_settings_are_one_line():
    for make, words in (
        (lambda: RankOneMajorizer(0.0), 'learning_rate'),
        (lambda: RankOneMajorizer(batch_size=0), 'batch_size'),
        (lambda: RankOneMajorizer(solve='qr'), 'solve'),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    free = problem_of(n_unpenalized=1)
    for call in (
        lambda: woodbury_solve(
            free.quadratic_bound(free.init_params(), np.arange(3)).curvature, free.init_params()
        ),
        lambda: sherman_morrison_solve(free, free.init_params(), np.arange(3)),
    ):
        with pytest.raises(ValueError, match='cholesky'):
            call()
