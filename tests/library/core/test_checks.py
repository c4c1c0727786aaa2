"The checks pass what is right and catch what is wrong, with a line that says where."

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from extreme_opt.core import (
    LeastSquares,
    check_adjoint,
    check_descend,
    check_gradient,
    check_unbiased,
)
from extreme_opt.core.checks import check_bound, expect_fail

rng = np.random.default_rng(0)
PROBLEM = LeastSquares(rng.normal(size=(12, 4)), rng.normal(size=12), 0.3)
PARAMS = rng.normal(size=4)
EACH = [np.array([i]) for i in range(12)]


fails = partial(refuses, raises=AssertionError)


def test_expect_fail():
    with expect_fail(ValueError, contains='abc'):
        raise ValueError('xabcx')
    with expect_fail():
        raise RuntimeError
    with pytest.raises(AssertionError, match='nothing was raised'):
        with expect_fail(ValueError):
            pass
    with pytest.raises(AssertionError, match="does not contain 'abc'"):
        with expect_fail(ValueError, contains='abc'):
            raise ValueError('xyz')
    with pytest.raises(KeyError):
        with expect_fail(ValueError):
            raise KeyError('other')


def with_gradient(grad, loss=PROBLEM.loss):
    return SimpleNamespace(loss=loss, grad=grad)


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
@pytest.mark.parametrize('size', [1, 4, 300])
def test_gradient(size, dtype):
    draw = np.random.default_rng(size)
    problem = LeastSquares(
        draw.normal(size=(10, size)).astype(dtype), draw.normal(size=10).astype(dtype), 1.0
    )
    params = draw.normal(size=size).astype(dtype)
    check_gradient(problem, params)
    cases = [lambda grad: 1.1 * grad, lambda grad: -grad, lambda grad: grad + 0.5]
    cases += [lambda grad: np.roll(grad, 1) if size > 1 else 0 * grad]
    for spoil in cases:
        wrong = with_gradient(lambda p, spoil=spoil: spoil(problem.grad(p)), problem.loss)
        fails('gradient is off by', check_gradient, wrong, params)


def test_gradient_of_one_wrong_entry_is_named():
    def grad(params):
        return problem_grad + np.eye(4)[2] * 1e-3

    problem_grad = PROBLEM.grad(PARAMS)
    fails(r'params\[2\]', check_gradient, with_gradient(grad), PARAMS)


def test_gradient_that_is_nan_or_misshapen():
    broken, short = with_gradient(lambda p: p * np.nan), with_gradient(lambda p: p[:3])
    fails('gradient is off by nan', check_gradient, broken, PARAMS)
    fails(r'grad has shape \(3,\), but params has \(4,\)', check_gradient, short, PARAMS)


def test_unbiased_by_enumeration():
    check_unbiased(PROBLEM, PARAMS, EACH)
    fails('the estimate averages to', check_unbiased, PROBLEM, PARAMS, EACH[:-1])
    fails('the estimate averages to', check_unbiased, PROBLEM, PARAMS, EACH, np.arange(1, 13) / 78)
    fails('probabilities sum to 0.5', check_unbiased, PROBLEM, PARAMS, EACH, np.full(12, 1 / 24))
    with pytest.raises(ValueError):
        check_unbiased(PROBLEM, PARAMS, EACH, [1.0])
    of_losses = dict(estimate=PROBLEM.loss_at, exact=PROBLEM.loss(PARAMS))
    check_unbiased(PROBLEM, PARAMS, EACH, **of_losses)
    of_losses['exact'] += 1e-4
    fails('entry 0, but', check_unbiased, PROBLEM, PARAMS, EACH, **of_losses)


def test_unbiased_by_sampling():
    check_unbiased(PROBLEM, PARAMS)
    check_unbiased(PROBLEM, PARAMS, draw=lambda rng: rng.permutation(12)[:3])
    for wrong in (
        dict(draw=lambda rng: rng.integers(11, size=1)),
        dict(estimate=lambda p, batch: 1.2 * PROBLEM.grad_at(p, batch), n_draws=20000),
    ):
        fails('the estimate averages to', check_unbiased, PROBLEM, PARAMS, **wrong)
    noiseless = SimpleNamespace(
        draw=lambda rng, size: None, grad_at=lambda p, b: PARAMS + 1e-6, grad=lambda p: PARAMS
    )
    fails('the estimate averages to', check_unbiased, noiseless, PARAMS)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_sampling_gives_no_false_alarm(seed):
    check_unbiased(PROBLEM, PARAMS, n_draws=300, n_errors=6, seed=seed)


class Stepper(LeastSquares):
    def sgd_step_(self, params, batch, rate):
        params -= rate * self.grad_at(params, batch)


def test_descend():
    good = Stepper(PROBLEM.features, PROBLEM.targets, 0.3)
    check_descend(good, PARAMS, np.array([1, 5, 5]))
    before = PARAMS.copy()
    for factor in (-1, 2, 0, 1 + 1e-6):

        def step(params, batch, rate, factor=factor):
            good.sgd_step_(params, batch, factor * rate)

        bad = SimpleNamespace(grad_at=good.grad_at, sgd_step_=step)
        fails(r'sgd_step_ moves params\[', check_descend, bad, PARAMS, np.array([1, 5]))
    assert (before == PARAMS).all()


def test_bound():
    def loss(p):
        return float(np.cos(p).sum())

    def bound(at, curvature):
        return lambda p: loss(at) - np.sin(at) @ (p - at) + curvature / 2 * (p - at) @ (p - at)

    at = np.array([0.3, 2.0, -1.0])
    check_bound(loss, bound(at, 1.0), at)
    fails('the bound is broken at distance', check_bound, loss, bound(at, 0.2), at)
    fails('do not touch', check_bound, loss, bound(at + 0.1, 1.0), at)
    far = lambda p: float(p @ p > 30)  # noqa: E731
    fails('broken at distance 10', check_bound, far, lambda p: 0.0, np.zeros(3))
    tilted = lambda p: bound(at, 1.0)(p) + 0.01 * (p - at).sum()  # noqa: E731
    fails('slope|broken', check_bound, loss, tilted, at)
    check_bound(loss, lambda p: 3.0, at, touches=False)
    fails('the bound is broken', check_bound, loss, lambda p: 1.5, np.zeros(3) + 0.1, touches=False)
    fails('the bound is|do not touch', check_bound, loss, lambda p: np.nan, at)


def test_adjoint():
    A = rng.normal(size=(5, 3))
    check_adjoint(lambda x: A @ x, lambda y: A.T @ y, 3, 5)
    check_adjoint(lambda x: A.T @ (A @ x), n_in=3)
    fails('not adjoint', check_adjoint, lambda x: A @ x, lambda y: A.T @ np.roll(y, 1), 3, 5)
    fails('not adjoint', check_adjoint, lambda x: A[:3] @ x, n_in=3)
    fails('not adjoint', check_adjoint, lambda x: np.nan * x, n_in=3)
    fails('not adjoint', check_adjoint, lambda x: 1e-6 * A @ x, lambda y: 2e-6 * y @ A, 3, 5)
