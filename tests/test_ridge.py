"Scaled columns against plain ones; ridge and projection of both algorithms; what is refused."

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from extreme_opt.core import LBFGS, minimize
from extreme_opt.softmax import DoubleSum, FullSoftmax, ImplicitSGD, UMax
from extreme_opt.softmax.ridge import (
    fold_scales,
    ridge_updates,
    scale_weights,
    scaled_move,
    scaled_project,
    scaled_score,
    scaled_shrink,
)


def problem_of(as_sparse=False, dtype=float, n_classes=6, ridge=0.02, n_rows=30, empty_row=False):
    rng = np.random.default_rng(0)
    table = (rng.normal(size=(n_rows, 8)) * (rng.random((n_rows, 8)) < 0.5)).astype(dtype)
    if empty_row:
        table[3] = 0
    return DoubleSum(
        sparse.csr_array(table) if as_sparse else table,
        rng.integers(n_classes, size=n_rows),
        n_classes,
        ridge=ridge,
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-6, 1.0), st.floats(0.5, 20.0))
def test_any_sequence_of_moves_equals_plain_weights(seed, least, max_norm):
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(4, 6))
    scaled, columns = scale_weights(plain.copy()), np.array([0, 2, 5], np.int32)
    for _ in range(200):
        x, k, shrink, step = (
            rng.normal(size=3),
            rng.integers(4),
            rng.uniform(least, 1),
            rng.normal(),
        )
        score = scaled_score(scaled, k, columns, x)
        np.testing.assert_allclose(score, x @ plain[k, columns], rtol=1e-7, atol=1e-9)
        scaled_move(scaled, k, shrink, step, columns, x, score, x @ x)
        plain[k] *= shrink
        plain[k, columns] += step * x
        scaled_shrink(scaled, 0.8)
        plain *= 0.8
        scaled_project(scaled, max_norm)
        plain *= min(1, max_norm / np.linalg.norm(plain))
        assert scaled.totals[0] >= 1e-9 and (np.abs(scaled.class_scales) >= 1e-9).all()
    np.testing.assert_allclose(
        scaled.totals[0] * np.sqrt(scaled.totals[1]), np.linalg.norm(plain), rtol=1e-7
    )
    fold_scales(scaled)
    np.testing.assert_allclose(scaled.raw, plain, atol=1e-9)


def test_a_shrink_to_nothing_empties_the_class():
    scaled = scale_weights(np.ones((2, 3)))
    columns, x = np.array([0, 1, 2], np.int32), np.array([1.0, 0.0, 2.0])
    scaled_move(scaled, 0, 0.0, 2.0, columns, x, 3.0, 5.0)
    fold_scales(scaled)
    np.testing.assert_allclose(scaled.raw, [[2, 0, 4], [1, 1, 1]])
    np.testing.assert_allclose(scaled.totals, [1.0, 23.0])


@pytest.mark.parametrize('as_sparse', [False, True])
@pytest.mark.parametrize('sampled', [False, True])
@pytest.mark.parametrize('implicit, m', [(True, 1), (False, 1), (False, 4)])
def test_float32_stays_near_float64(as_sparse, sampled, implicit, m):
    ends = []
    for dtype in (np.float64, np.float32):
        problem = problem_of(as_sparse, dtype)
        params = problem.init_params()
        ridge_updates(
            problem,
            params,
            problem.draw(np.random.default_rng(1), 400, m),
            0.3 if implicit else 0.005,
            sampled=sampled,
            implicit=implicit,
        )
        assert params.dtype == dtype and np.isfinite(params).all()
        ends.append(params)
    np.testing.assert_allclose(*ends, atol=2e-3)


@pytest.mark.parametrize('as_sparse', [False, True])
def test_whole_ridge_is_what_the_solvers_do(as_sparse):
    problem = problem_of(as_sparse)
    for implicit, solver in (
        (True, ImplicitSGD(0.5, n_updates=30)),
        (False, UMax(0.5, n_negatives=2, n_updates=30, learning_rate_decay=1.0)),
    ):
        params = problem.init_params()
        ridge_updates(
            problem,
            params,
            problem.draw(np.random.default_rng(4), 30, solver.n_negatives),
            0.5,
            sampled=False,
            implicit=implicit,
        )
        state = solver.step(
            problem, solver.init(problem, problem.init_params()), np.random.default_rng(4)
        )
        np.testing.assert_allclose(params, state.params, atol=1e-9)


@pytest.mark.parametrize('sampled', [False, True])
@pytest.mark.parametrize('implicit, m', [(True, 1), (False, 3)])
def test_small_steps_reach_the_regularized_optimum(sampled, implicit, m):
    problem = problem_of(ridge=0.2)
    exact = FullSoftmax(problem.features, problem.labels, 6, ridge=0.2)
    best = minimize(exact, LBFGS(), max_iter=200, tol=1e-8, record_every=1000).history[-1]['loss']
    rng, params = np.random.default_rng(0), problem.init_params()
    for t in range(400):
        ridge_updates(
            problem,
            params,
            problem.draw(rng, 30, m),
            0.3 / (1 + t / 10),
            sampled=sampled,
            implicit=implicit,
        )
    assert 0 <= exact.loss(params[: problem.n_weights]) - best < 0.01 * best


def test_edges():
    problem = problem_of(True, empty_row=True, n_classes=2)
    for implicit in (True, False):
        for rate in (1e-6, 30.0):
            params = problem.init_params()
            ridge_updates(
                problem,
                params,
                problem.draw(np.random.default_rng(0), 500),
                rate,
                sampled=False,
                implicit=implicit,
            )
            assert np.isfinite(params).all() and (problem.unpack(params)[1] >= 0).all()
    free = problem_of(ridge=0.0)
    params, same = free.init_params(), free.init_params()
    draw = free.draw(np.random.default_rng(0), 200)
    ridge_updates(free, params, draw, 0.5, sampled=True)
    ridge_updates(free, same, draw, 0.5, sampled=False)
    np.testing.assert_allclose(params, same)
    tight = problem_of()
    params, draw = tight.init_params(), tight.draw(np.random.default_rng(0), 300)
    ridge_updates(tight, params, draw, 1.0, max_norm=0.5, max_log_norm=1.5)
    visited = (
        np.bincount(draw.sample, minlength=30) > 0
    )  # a row nobody visits keeps its first log-normalizer
    assert (
        np.linalg.norm(tight.unpack(params)[0]) <= 0.5 + 1e-9
        and tight.unpack(params)[1][visited].max() <= 1.5
    )


def test_what_is_refused():
    problem = problem_of(n_classes=6, ridge=0.5)
    with pytest.raises(ValueError, match='takes 1; draw with n_negatives=1'):
        ridge_updates(
            problem,
            problem.init_params(),
            problem.draw(np.random.default_rng(0), 4, 2),
            0.1,
            implicit=True,
        )
    with pytest.raises(ValueError, match='use sampled=False'):
        ridge_updates(
            problem, problem.init_params(), problem.draw(np.random.default_rng(0), 4), 1.0
        )
    with pytest.raises(ValueError, match='lower the rate'):
        ridge_updates(
            problem,
            problem.init_params(),
            problem.draw(np.random.default_rng(0), 4),
            2.0,
            sampled=False,
        )
