"The implicit step against Brent, forty digits, extreme instances and its own defining equation."

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from extreme_opt.softmax.double_sum import DoubleSum, Draw
from extreme_opt.softmax.implicit import (
    ImplicitSGD,
    _log_omega,
    _slow_set,
    _slow_step,
    implicit_updates,
    pair_step,
    set_step,
)


def exact_root(rate, stiffness, gap, old, n_classes):
    """u and move in fifty digits: bisection on eq. (17), written with the argument of the
    exponential solved for."""
    with mpmath.workdps(50):
        A, gamma, s, old = map(mpmath.mpf, (float(rate), float(stiffness), float(gap), float(old)))
        c = mpmath.log(A) + mpmath.log(n_classes - 1) - mpmath.log(gamma) + s

        def omega(t):
            w = mpmath.exp(t) if t < 1 else t - mpmath.log(t) + 1
            for _ in range(200):
                step = w * (1 + t - mpmath.log(w)) / (1 + w) - w
                w += step
                if abs(step) <= mpmath.mpf(10) ** -45 * abs(w):
                    return w
            raise AssertionError(t)

        def g(u):
            return A * (1 - mpmath.exp(-u)) + u - old - gamma * omega(c - u)

        u = mpmath.mpf(0)
        for _ in range(400):  # plain Newton from the left of the root, on exact numbers
            a = omega(c - u)
            step = -g(u) / (1 + A * mpmath.exp(-u) + gamma * a / (1 + a))
            u += step
            if abs(step) <= mpmath.mpf(10) ** -40 * (1 + u):
                return float(u), float(gamma * omega(c - u))
        raise AssertionError((rate, stiffness, gap, old))


def test_root_and_move_in_many_digits():
    rng = np.random.default_rng(0)
    for _ in range(300):
        rate = 10 ** rng.uniform(-3, 3)
        stiffness = 0.5 / 10 ** rng.uniform(-2, 2)
        n_classes = int(10 ** rng.uniform(0.31, 5))
        gap = rng.normal() * 10 ** rng.uniform(-1, 2)
        old = abs(rng.normal()) * 10 ** rng.uniform(-1, 1)
        u, move = exact_root(rate, stiffness, gap, old, n_classes)
        case = rate, stiffness, gap, old, n_classes
        for way in (pair_step, _slow_step):
            got = way(rate, math.log(n_classes - 1), stiffness, gap, old)
            assert got[0] == pytest.approx(u, rel=1e-8), case
            assert got[1] == pytest.approx(move, rel=1e-9, abs=1e-300), case


@settings(max_examples=500, deadline=None)
@given(
    st.floats(-6, 8),
    st.floats(-3, 3),
    st.floats(-1e4, 1e4),
    st.floats(0, 1e3),
    st.integers(2, 10**6),
)
def test_extreme_instances_hold(log10_rate, log10_square, gap, old, n_classes):
    rate, stiffness, log_others = 10**log10_rate, 0.5 / 10**log10_square, math.log(n_classes - 1)
    u, move = pair_step(rate, log_others, stiffness, gap, old)
    assert math.isfinite(u) and math.isfinite(move) and u >= 0 and move >= 0
    assert u > 0 or old < 1e-300  # strictly above, unless it is too small to be stored
    # fact 5: two expressions for one step; the rounding of each is known
    noise = 1e-9 * (1 + abs(u) + old + rate * min(u, 1.0) + move)
    assert abs(move - (-rate * math.expm1(-u) + u - old)) <= noise
    # the drop of the gap can be bounded: Prop. 2, corrected
    slope = rate / stiffness
    far = math.log(2) * max(0.0, math.log(slope) + log_others + gap - old)
    assert move / stiffness <= max(slope, far) + abs(gap) + log_others + old + 50


@settings(max_examples=300, deadline=None)
@given(
    st.floats(-6, 8),
    st.floats(-3, 3),
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6),
    st.floats(0, 1e3),
    st.integers(7, 10**6),
)
def test_extreme_sets_hold(log10_rate, log10_square, gaps, old, n_classes):
    rate = 10**log10_rate
    stiffness = 10**-log10_square
    share = math.log((n_classes - 1) / len(gaps))
    moves = np.empty(len(gaps))
    u = set_step(rate, share, stiffness, np.array(gaps), old, moves)
    assert math.isfinite(u) and u >= 0 and np.isfinite(moves).all() and (moves >= 0).all()
    pull = u - old - rate * math.expm1(-u)
    # what the classes give, the label takes
    assert abs(moves.sum() - pull) <= 1e-9 * (1 + abs(u) + old + rate * min(u, 1.0) + moves.sum())
    drops = moves / stiffness  # each class solves its own equation
    for drop, gap in zip(drops, gaps, strict=True):
        if drop > 1e-290:
            assert drop + math.log(drop) == pytest.approx(
                math.log(rate) + share + gap - math.log(stiffness) - pull / stiffness - u,
                abs=1e-9 * (1 + abs(gap) + rate / stiffness + u / stiffness + old / stiffness),
            )


def test_a_set_step_sets_out_near_its_root():
    t = np.linspace(-30, 60, 400)
    found, exact = [_log_omega(one) for one in t], np.log(scipy.special.wrightomega(t))
    np.testing.assert_allclose(found, exact, atol=0.13)


def test_a_mending_that_vanishes_far_from_the_root_ends_nothing():
    gaps, moves, slow = np.array([2.26024799, -7.04555645, 5.18227245]), np.empty(3), np.empty(3)
    rate, share, old = 41.280391491956955, math.log(550 / 3), 0.3691729810062035
    u = set_step(rate, share, 1.0, gaps, old, moves)
    other = _slow_set(rate, share, 1.0, gaps, old, slow)
    np.testing.assert_allclose([u, *moves], [other, *slow], rtol=1e-10)


def test_rate_falls_at_whole_passes():
    problem = _problem()
    slow = ImplicitSGD(learning_rate=8.0, learning_rate_decay=0.5, n_updates=10)
    state, rng = slow.init(problem, problem.init_params()), np.random.default_rng(0)
    for _ in range(8):
        state = slow.step(problem, state, rng)
    other = ImplicitSGD(learning_rate=8.0, n_updates=10, learning_rate_decay=1.0)
    twin = np.random.default_rng(0)
    again = other.init(problem, problem.init_params())
    for k in range(8):
        again = replace(other, learning_rate=8.0 if k < 4 else 4.0).step(problem, again, twin)
    np.testing.assert_array_equal(state.params, again.params)
    assert state.n_epochs == 2 and state.n_terms == 80


def test_the_far_ends():
    rates, stiffnesses = (1e-6, 1e6, 1e8), (1e-6, 1e6, 1e100)
    for case in itertools.product((-1e6, 1e6, 0.0), rates, stiffnesses):
        gap, rate, stiffness = case
        assert np.isfinite(pair_step(rate, 10.0, stiffness, gap, 3.0)).all(), case
    # nan comes back, and comes back at once
    assert not np.isfinite(pair_step(1.0, 1.0, 0.5, math.nan, 1.0)).all()


def _problem(kind=np.asarray, dtype=np.float64, n_classes=7, ridge=0.0, seed=0, n_samples=40):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n_samples, 12)) < 0.4, rng.normal(size=(n_samples, 12)), 0.0)
    X[3] = 0
    return DoubleSum(
        kind(X.astype(dtype)),
        rng.integers(n_classes, size=n_samples),
        n_classes=n_classes,
        ridge=ridge,
        dtype=dtype,
    )


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize('n_classes', [2, 7])
@pytest.mark.parametrize('ridge', [0.0, 0.2])
@pytest.mark.parametrize('rate', [1e-4, 3.0, 1e5])
@pytest.mark.parametrize('n_negatives', [1, 3])
def test_every_step_solves_equation_9(kind, n_classes, ridge, rate, n_negatives):
    n_negatives = min(n_negatives, n_classes - 1)
    problem = _problem(kind, n_classes=n_classes, ridge=ridge)
    free = _problem(kind, n_classes=n_classes)
    solver = ImplicitSGD(
        learning_rate=rate, n_updates=1, n_negatives=n_negatives, learning_rate_decay=1.0
    )
    N = problem.n_samples
    state = solver.init(problem, problem.init_params())
    rng, twin = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(60):
        before, state = state.params, solver.step(problem, state, rng)
        after, batch = state.params, problem.draw(twin, 1, n_negatives)
        pull = free.grad_at(after, batch) / N
        problem.unpack(pull)[0][:] += ridge * problem.unpack(after)[0]
        residual = after + rate * pull - before
        assert np.abs(residual).max() <= 1e-10 * (1 + np.abs(before).max() + rate)
        assert (problem.unpack(after)[1] > 0).all()


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize('rate', [0.1, 1e4])
def test_ridge_through_the_scale_is_the_ridge_of_each_step(kind, rate):
    problem = _problem(kind, ridge=0.5)
    draw, whole = problem.draw(np.random.default_rng(4), 300, 1), problem.init_params()
    each, again = whole.copy(), whole.copy()
    implicit_updates(problem, whole, draw, rate)
    implicit_updates(problem, again, draw, rate)
    for sample, others in zip(*draw):
        implicit_updates(problem, each, Draw(sample[None], others[None]), rate)
    np.testing.assert_array_equal(again, whole)
    np.testing.assert_allclose(each, whole, atol=1e-9)


def test_wrong_use_is_one_line():
    problem = _problem()
    with pytest.raises(ValueError, match='alpha'):
        ImplicitSGD().init(DoubleSum(np.eye(3), np.arange(3), alpha=1.0), np.ones(12))
    low = problem.init_params()
    low[-1] = -1
    refuses('log_norms', lambda: ImplicitSGD().init(problem, low))
