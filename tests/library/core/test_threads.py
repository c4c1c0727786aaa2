"Updates on several threads without locks, and columns that no ridge touches."

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses

from extreme_opt.core import minimize
from extreme_opt.core.compiled import parallel_for
from extreme_opt.softmax import DoubleSum, Draw, ImplicitSGD, UMax
from extreme_opt.softmax._kernels import draw_visits
from extreme_opt.softmax.classifier import with_intercept
from extreme_opt.softmax.plain.umax import umax_update
from extreme_opt.softmax.umax import umax_updates


def planted(kind=np.asarray, n_samples=2000, n_features=12, n_classes=30, ridge=0.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_samples)
    X = 2 * rng.normal(size=(n_classes, n_features))[labels] + rng.normal(
        size=(n_samples, n_features)
    )
    X = (X / np.linalg.norm(X, axis=1)[:, None]).astype(np.float32)
    return DoubleSum(kind(X), labels, n_classes, ridge=ridge)


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize('ridge', [0.0, 1e-3])
@pytest.mark.parametrize('solver', [ImplicitSGD(10.0, 5), UMax(0.5)])
def test_every_number_of_threads_learns(solver, kind, ridge):
    """Threads race for rows without locks, so no two runs agree; each one learns: its loss is far
    below that of the start, log 30."""
    problem = planted(kind, ridge=ridge)
    for n_jobs in (1, 2, 3):
        params = minimize(
            problem,
            type(solver)(solver.learning_rate, n_negatives=5, n_jobs=n_jobs),
            max_epochs=8,
            loss_subset=0,
        ).state.params
        assert np.isfinite(params).all() and problem.log_loss(params) < 0.75 * np.log(30)


def test_lifts_are_counted_on_every_thread():
    "Samples of disjoint rows and classes do not race: the count of two threads is that of one."
    n = 400
    X = scipy.sparse.csr_array(np.ones((n, 1)))
    problem = DoubleSum(X, np.arange(n), 2 * n)
    start, draw = problem.init_params(), Draw(np.arange(n), np.arange(n, 2 * n)[:, None])
    problem.unpack(start)[0][n:] = 40.0
    one, two = (umax_updates(problem, start.copy(), draw, 0.1, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == two == n


def test_a_fault_on_a_thread_is_heard():
    def work(start, stop):
        if stop > 300:
            raise ValueError('here')

    refuses('here', parallel_for, work, 1000, 2)


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize(
    'rate, ridge', [(0.5, 0.3), (0.9, 1.0)]
)  # the second folds its scale again and again
def test_umax_leaves_free_columns_out_of_the_ridge(kind, rate, ridge):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)
    X[3] = 0
    labels = rng.integers(5, size=30)
    problem = DoubleSum(with_intercept(kind(X), 0.5), labels, 5, ridge=ridge, n_unpenalized=1)
    free = DoubleSum(with_intercept(X, 0.5), labels, 5)
    fast = problem.init_params() + 0.3 * rng.random(problem.init_params().size)
    slow, draw = fast.copy(), problem.draw(rng, 400, 3)
    umax_updates(problem, fast, draw, rate)
    for i, others in zip(*draw, strict=True):
        weights, log_norms = free.unpack(slow)
        before = weights.copy()
        umax_update(weights, log_norms, i, others, free.features, labels, rate)
        weights[:, :4] -= rate * ridge * before[:, :4]
    np.testing.assert_allclose(fast, slow, atol=1e-8)


def test_visits_as_they_stand():
    problem = planted(n_samples=50)
    solver = ImplicitSGD(visits='cyclic', n_updates=30)
    seen = [
        draw_visits(problem, np.random.default_rng(0), size, 1, 'cyclic', first).sample.tolist()
        for size, first in ((30, 0), (20, 30), (10, 0))
    ]
    assert seen == [list(range(30)), list(range(30, 50)), list(range(10))]
    runs = [minimize(problem, solver, max_iter=4, seed=seed).state.params for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


@pytest.mark.parametrize('visits', ['shuffled', 'cyclic'])
@pytest.mark.parametrize('solver', [UMax, ImplicitSGD])
def test_both_solvers_visit_every_row_once_an_epoch(monkeypatch, solver, visits):
    from extreme_opt.softmax import _kernels, implicit, umax

    seen = []

    def spy(*args):
        seen.append(_kernels.draw_visits(*args))
        return seen[-1]

    for module in (umax, implicit):
        monkeypatch.setattr(module, 'draw_visits', spy)
    problem = planted(n_samples=50)
    minimize(problem, solver(visits=visits, n_updates=25), max_epochs=2, seed=0)
    epochs = np.concatenate([draw.sample for draw in seen[-4:]]).reshape(2, 50)
    if visits == 'cyclic':
        assert (np.sort(epochs, 1) == np.arange(50)).all()
    else:
        assert len(set(seen[-1].sample)) == 25
    minimize(problem, solver(visits=visits), max_epochs=2, seed=0)
    assert all(len(set(draw.sample)) == 50 for draw in seen[-2:])
    refuses('visits', solver, visits='sorted')
