"""Quasi-Newton steps begun from a bound: downhill from everywhere, to the optimum of the others,
for every kind of problem."""

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.bound import LogLinear, QuasiMajorizer, class_space
from extreme_opt.core import LBFGS, Newton, minimize


def problem_of(kind, seed=0, **options):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)) * [1, 30, 0.1, 3, 1], rng.integers(4, size=60)
    if kind == 'map':
        offers = [rng.normal(size=(int(rng.integers(2, 5)), 3)) for _ in range(60)]
        return LogLinear(
            offers,
            [int(rng.integers(len(offer))) for offer in offers],
            feature_map=lambda offer: offer,
            **options,
        )
    if kind == 'wide':
        X = rng.normal(size=(12, 40))
    if kind.startswith('alike'):
        X = 1 + 0.01 * X
    return LogLinear(scipy.sparse.csr_array(X) if 'csr' in kind else X, y[: len(X)], 4, **options)


@pytest.mark.parametrize('kind', ['dense', 'csr', 'wide', 'map'])
def test_it_ends_where_newton_ends_and_never_rises(kind):
    problem = problem_of(kind, ridge=1e-2)
    best = minimize(problem, Newton(), max_iter=100, tol=1e-11).column('loss').min()
    for start in (None, 3 * np.random.default_rng(1).normal(size=problem.n_params)):
        run = minimize(problem, QuasiMajorizer(), start, max_iter=2000, tol=1e-9)
        assert (np.diff(run.column('loss')) <= 0).all()
        assert run.column('loss')[-1] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize('kind', ['dense', 'csr', 'wide', 'map', 'alike', 'alike csr'])
def test_the_rough_inverse_belongs_to_a_bound(kind, monkeypatch):
    "Its inverse is symmetric and above the Hessian, at many points, also where it is a diagonal."
    if kind.startswith('alike'):
        monkeypatch.setattr(class_space, '_MOST_COLUMNS', 4)
    problem, rng = problem_of(kind, ridge=1e-2), np.random.default_rng(2)
    rough = np.stack([problem.preconditioner(unit) for unit in np.eye(problem.n_params)])
    np.testing.assert_allclose(rough, rough.T, rtol=1e-6, atol=1e-9 * np.abs(rough).max())
    upper = np.linalg.inv(rough)
    for scale in (0.0, 0.1, 1.0):
        params = scale * rng.normal(size=problem.n_params)
        hessian = np.stack([problem.ggn_vp(params, unit) for unit in np.eye(problem.n_params)])
        assert np.linalg.eigvalsh(0.5 * (upper + upper.T) - hessian)[0] > -1e-6 * np.trace(upper)


def test_scales_do_not_matter():
    "Without a ridge the run is the same in any units of the columns."
    problem = problem_of('dense')
    twin = LogLinear(problem.features * np.array([1e3, 1, 0.01, 7, 1]), problem.labels, 4)
    one, two = (
        minimize(each, QuasiMajorizer(), max_iter=8).column('loss') for each in (problem, twin)
    )
    np.testing.assert_allclose(one, two, rtol=1e-5)
    theirs = minimize(problem_of('dense', ridge=1e-3), LBFGS(), max_iter=500, tol=1e-7)
    ours = minimize(problem_of('dense', ridge=1e-3), QuasiMajorizer(), max_iter=500, tol=1e-7)
    assert ours.column('epoch')[-1] < 0.6 * theirs.column('epoch')[-1]


def test_free_columns_weights_and_float32():
    problem = problem_of(
        'dense', ridge=1e-2, n_unpenalized=1, sample_weight=1.0 + np.arange(60) % 3
    )
    best = minimize(problem, Newton(), max_iter=100, tol=1e-11).column('loss').min()
    assert minimize(problem, QuasiMajorizer(3), max_iter=2000, tol=1e-8).column('loss')[
        -1
    ] == pytest.approx(best, rel=1e-8)
    single = LogLinear(problem.features.astype(np.float32), problem.labels, 4, ridge=1e-2)
    run = minimize(single, QuasiMajorizer(), max_iter=100)
    assert run.state.params.dtype == np.float32 and run.column('loss')[-1] < run.column('loss')[0]
