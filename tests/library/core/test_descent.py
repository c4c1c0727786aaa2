"""The three baselines reach the optimum that scipy reaches, keep their type, and say when they are
stuck."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from extreme_opt.core import LBFGS, SGD, GradientDescent, LeastSquares, iterate, minimize
from extreme_opt.core.descent import lbfgs_direction
from extreme_opt.core.streams import stream


class Logistic(LeastSquares):
    def loss_at(self, params, batch):
        margins = self.targets[batch] * (self.features[batch] @ params)
        return float(
            self.n_samples * np.mean(np.logaddexp(0, -margins))
            + 0.5 * self.ridge * (params @ params)
        )

    def grad_at(self, params, batch):
        margins = self.targets[batch] * (self.features[batch] @ params)
        slopes = -self.targets[batch] / (1 + np.exp(margins))
        share = self.n_samples / len(margins)
        return share * (slopes @ self.features[batch]) + self.ridge * params

    def warmup_problem(self):
        return type(self)(self.features[:2], self.targets[:2], self.ridge)


def logistic(dtype=float, kind=Logistic, spread=2, seed=0, n_samples=200, n_features=10):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * np.logspace(-spread / 2, spread / 2, n_features)
    y = np.where(X @ rng.normal(size=n_features) + rng.normal(size=n_samples) > 0, 1.0, -1.0)
    return kind(X.astype(dtype), y.astype(dtype), 0.5)


def scipy_best(problem):
    return scipy.optimize.minimize(
        problem.loss,
        problem.init_params(),
        jac=problem.grad,
        method='L-BFGS-B',
        options=dict(ftol=1e-17, gtol=1e-10, maxiter=20_000, maxfun=50_000),
    )


class Valley:
    n_terms, dtype = 2, np.dtype(float)

    def __init__(self, size=2):
        self.size = size

    def init_params(self, seed=0):
        return np.tile([-1.2, 1.0], self.size // 2)

    def loss(self, params):
        return float(scipy.optimize.rosen(params))

    def grad(self, params):
        return scipy.optimize.rosen_der(params)


@pytest.mark.parametrize('size', [2, 10, 30])
def test_lbfgs_walks_the_valley(size):
    run = minimize(Valley(size), LBFGS(), tol=1e-10, max_iter=500)
    np.testing.assert_allclose(run.state.params, 1, atol=1e-7)
    assert (np.diff(run.column('loss')) < 0).all()


def test_lbfgs_with_joint_values_counts_half_the_passes():
    class Joint(Logistic):
        def loss_and_grad(self, params):
            return self.loss(params), self.grad(params)

    apart, joint = (
        minimize(logistic(kind=kind), LBFGS(), max_iter=15) for kind in (Logistic, Joint)
    )
    np.testing.assert_array_equal(apart.state.params, joint.state.params)
    assert joint.state.n_epochs < 0.7 * apart.state.n_epochs
    assert joint.state.n_terms == 200 * joint.state.n_epochs


def test_lbfgs_memory_is_bounded_and_in_the_state():
    problem = logistic()
    for memory in (1, 3):
        states = [
            state for _, state in zip(range(12), iterate(problem, LBFGS(memory)), strict=False)
        ]
        assert [0 if state.shifts is None else len(state.shifts) for state in states[:5]] == [
            min(k, memory) for k in range(5)
        ]
        middle = replace(states[5])  # everything it needs stands in the state
        for _ in range(6):
            middle = LBFGS(history_size=memory).step(problem, middle, None)
        assert middle.params.tobytes() == states[11].params.tobytes()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 8))
def test_inverse_is_the_bfgs_matrix(seed, n_kept, size):
    "Against the textbook update of a dense inverse, begun from eq. (5)."
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(size, size))
    A = A @ A.T + np.eye(size)
    shifts = rng.normal(size=(n_kept, size))
    changes = shifts @ A
    H = (shifts[-1] @ changes[-1]) / (changes[-1] @ changes[-1]) * np.eye(size)
    for s, y in zip(shifts, changes, strict=True):
        V = np.eye(size) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    vector = rng.normal(size=size)
    np.testing.assert_allclose(
        lbfgs_direction(shifts, changes, vector), H @ vector, rtol=1e-7, atol=1e-9 * np.abs(H).max()
    )


@pytest.mark.parametrize('solver', [GradientDescent(), GradientDescent('adagrad'), LBFGS()])
def test_at_a_minimum_it_stops_with_a_message(solver):
    problem = logistic(spread=0)
    run = minimize(problem, solver, scipy_best(problem).x, max_iter=5000)
    assert run.status == 'stalled' and 'a minimum to rounding' in run.message
    assert run.state.n_iter < 5000
    flat = minimize(LeastSquares(np.zeros((3, 2)), np.ones(3)), solver, max_iter=10)
    assert 'a minimum to rounding' in flat.message and flat.state.n_iter == 1
    assert (flat.state.params == 0).all()


@pytest.mark.parametrize('solver', [GradientDescent(), GradientDescent('adagrad'), LBFGS()])
def test_a_wrong_gradient_ends_in_a_message_not_a_loop(solver):
    class Uphill(Logistic):
        def grad(self, params):
            return -super().grad(params)

    run = minimize(logistic(kind=Uphill), solver, np.ones(10), max_iter=50)
    assert run.state.n_iter == 1 and 'grad does not belong to loss' in run.message
    assert (run.state.params == 1).all()


@pytest.mark.parametrize('scaling', [None, 'adagrad'])
def test_every_step_of_gradient_descent_keeps_armijo(scaling):
    problem, solver = logistic(), GradientDescent(scaling, step_size=100.0)
    squares = 0.0
    states = [state for _, state in zip(range(40), iterate(problem, solver), strict=False)]
    for before, after in zip(states, states[1:], strict=False):
        grad = problem.grad(before.params)
        squares = squares + grad * grad
        way = -grad if scaling is None else -grad / np.sqrt(squares)
        np.testing.assert_allclose(
            after.params, before.params + after.step_size * way, rtol=1e-6, atol=1e-9
        )
        assert problem.loss(after.params) <= problem.loss(
            before.params
        ) + 1e-4 * after.step_size * (way @ grad)
        assert after.loss == problem.loss(after.params)
        assert after.grad_norm == pytest.approx(np.linalg.norm(grad))
        assert after.n_epochs > before.n_epochs
        assert after.n_terms - before.n_terms == problem.n_terms * (
            after.n_epochs - before.n_epochs
        )


def test_a_loss_that_overflows_on_the_way_is_backed_off_from():
    class Steep:
        n_terms, dtype = 1, np.dtype(float)

        def init_params(self, seed=0):
            return np.array([3.0])

        def loss(self, params):
            return float(np.exp(params[0] ** 2))

        def grad(self, params):
            return 2 * params * np.exp(params**2)

    run = minimize(Steep(), GradientDescent(step_size=1e6), max_iter=200)
    assert abs(run.state.params[0]) < 1e-3 and 'not finite' not in run.message


# ---------------------------------------------------------------------------------------------- SGD
class InPlace(Logistic):
    def sgd_step_(self, params, batch, rate):
        params -= rate * self.grad_at(params, batch)


class Each(Logistic):
    def sgd_steps_(self, params, batch, rate, size):
        assert len(batch) % size == 0
        for k in range(0, len(batch), size):
            params -= rate * self.grad_at(params, batch[k : k + size])


@pytest.mark.parametrize('kind', [Logistic, InPlace])
def test_sgd_is_what_it_says(kind):
    problem, rng, params = logistic(kind=kind), stream(3, 'batches'), np.zeros(10)
    run = minimize(problem, SGD(1e-3, 0.5, batch_size=8, n_updates=10), max_iter=10, seed=3)
    for t in range(100):
        params -= (
            1e-3 * 0.5 ** int(t * 8 / 200 + 1e-9) * problem.grad_at(params, problem.draw(rng, 8))
        )
    np.testing.assert_allclose(run.state.params, params, rtol=1e-12)
    assert run.state.n_terms == 800 and run.state.n_epochs == pytest.approx(4)


def test_sgd_with_many_updates_per_call():
    "One draw per stretch of equal rate, applied in order."
    problem, rng, params = logistic(kind=Each), stream(3, 'batches'), np.zeros(10)
    run = minimize(problem, SGD(1e-3, 0.5, batch_size=8, n_updates=30), max_iter=2, seed=3)
    for power, count in ((0, 25), (1, 5), (1, 20), (2, 10)):
        for batch in problem.draw(rng, count * 8).reshape(count, 8):
            params -= 1e-3 * 0.5**power * problem.grad_at(params, batch)
    np.testing.assert_allclose(run.state.params, params, rtol=1e-12)
    assert run.state.n_terms == 480


def test_sgd_cuts_batches_of_any_shape():
    from typing import NamedTuple

    class Draw(NamedTuple):
        sample: np.ndarray
        others: np.ndarray

    seen = []

    class Pairs:
        n_terms, n_samples, dtype, lr_scale = 600, 200, np.dtype(float), 1 / 200

        def init_params(self, seed=0):
            return np.zeros(1)

        def loss(self, params):
            return 0.0

        def grad_at(self, params, batch):
            raise AssertionError('not needed')

        def draw(self, rng, size):
            return Draw(np.arange(size), np.arange(3 * size).reshape(size, 3))

        def sgd_steps_(self, params, batch, rate, size):
            seen.append((type(batch), len(batch.sample), batch.others.shape, rate, size))

    run = minimize(Pairs(), SGD(2.0, n_updates=500), max_iter=1)
    assert sum(count for _, count, *_ in seen) == 500
    assert all(kind is Draw and shape == (count, 3) for kind, count, shape, *_ in seen)
    assert {(rate, size) for *_, rate, size in seen} == {(0.01, 1)} and run.state.n_terms == 1500


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 500),
    st.integers(1, 50),
    st.integers(1, 2000),
    st.integers(0, 1000),
    st.floats(0.1, 1),
)
def test_rates_change_at_whole_passes_only(
    n_samples, batch_size, n_updates, done, learning_rate_decay
):
    problem = LeastSquares(np.zeros((n_samples, 1)), np.zeros(n_samples))
    solver, each, passes = SGD(1.0, learning_rate_decay, batch_size), [], batch_size / n_samples
    for rate, count in solver.rates(problem, done * passes, n_updates):
        each += [rate] * count
    assert len(each) == n_updates
    wanted = [
        learning_rate_decay ** ((done + t) * batch_size // n_samples) for t in range(n_updates)
    ]
    np.testing.assert_allclose(each, wanted, rtol=1e-12)
