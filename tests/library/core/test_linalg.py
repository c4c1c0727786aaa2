"Scalar kernels, sparse rows and conjugate gradients against other people's arithmetic."

import math

import mpmath
import numpy as np
import pytest
import scipy.sparse
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from extreme_opt.core.linalg import (
    conjugate_gradients,
    csr_axpy,
    csr_dot,
    damped_log,
    log_sum_exp,
    omega,
    softplus,
    wright_omega,
)


def test_omega_at_the_ends():
    assert omega(-1e9) == 0 and omega(math.inf) == math.inf and omega(-math.inf) == 0
    assert math.isnan(omega(math.nan))
    assert omega(1e300) == pytest.approx(1e300) and 0 < omega(-744.0) < 1e-320


def test_wright_omega_keeps_shapes():
    t = np.linspace(-5, 5, 12).reshape(3, 4)
    np.testing.assert_allclose(
        wright_omega(t[:, ::2]), scipy.special.wrightomega(t[:, ::2]), rtol=1e-14
    )
    assert isinstance(wright_omega(1), float) and wright_omega(np.zeros((0, 3))).shape == (0, 3)
    assert wright_omega(t.astype(np.float32)).dtype == np.float64


@settings(max_examples=300, deadline=None)
@given(st.floats(-6, 8), st.floats(-1e4, 1e4))
def test_damped_log_solves_its_equation(log10_A, y):
    A, d = 10**log10_A, damped_log(10**log10_A, y)
    assert -A <= d and math.isfinite(d)
    with mpmath.workdps(50):
        start = mpmath.mpf(A) + mpmath.log(A) + mpmath.mpf(y)  # omega(start) - A, in fifty digits
        w = mpmath.mpf(omega(float(start))) if start > -600 else mpmath.exp(start)
        for _ in range(6):
            w *= (1 + start - mpmath.log(w)) / (1 + w)
        assert abs(w - mpmath.mpf(A) - mpmath.mpf(d)) <= 1e-14 * max(abs(d), min(A, 1.0)) + 1e-300


def test_damped_log_limits():
    assert damped_log(0.0, 5.0) == 0 and damped_log(math.inf, 5.0) == 5
    assert damped_log(1e-300, 5.0) == pytest.approx(0, abs=1e-290)
    assert damped_log(1e18, -7.0) == pytest.approx(-7)


def test_softplus():
    z = np.concatenate([np.linspace(-745, 745, 301), [-1e300, 1e300]])
    np.testing.assert_allclose([softplus(v) for v in z], np.logaddexp(0, z), rtol=1e-15)
    assert softplus(math.inf) == math.inf and softplus(-math.inf) == 0
    assert math.isnan(softplus(math.nan))


def test_log_sum_exp_against_scipy():
    rng = np.random.default_rng(0)
    for shape, axis in [((7,), None), ((4, 5), 1), ((4, 5), 0), ((2, 3, 4), 2), ((3, 4), None)]:
        a = rng.normal(scale=300, size=shape)
        np.testing.assert_allclose(
            log_sum_exp(a, axis=axis), scipy.special.logsumexp(a, axis=axis), rtol=1e-14
        )
    a[0, 0] = -np.inf
    np.testing.assert_allclose(
        log_sum_exp(a, axis=1), scipy.special.logsumexp(a, axis=1), rtol=1e-14
    )
    assert log_sum_exp(np.array([np.inf, np.inf, 1.0])) == np.inf
    assert log_sum_exp(np.array([-np.inf])) == -np.inf
    assert np.isnan(log_sum_exp(np.array([np.nan, 1.0]))) and log_sum_exp(np.zeros(0)) == -np.inf
    assert log_sum_exp(np.zeros((2, 0)), axis=1).tolist() == [-np.inf] * 2


def test_log_sum_exp_keeps_what_is_small():
    for a, wanted in (
        ([0.0, -50.0], 1.928749847963917783e-22),  # 50 digits, rounded
        ([1e-12, -40.0], 1.0000042483542552869e-12),
        ([-50.0, 0.0, -60.0], 1.9288374130715447e-22),
    ):
        assert log_sum_exp(np.array(a)) == pytest.approx(wanted, rel=1e-10, abs=0)
        assert log_sum_exp(np.array([a, a]), axis=-1)[1] == pytest.approx(wanted, rel=1e-10, abs=0)
    refuses('takes real numbers, but a is complex128', log_sum_exp, np.array([1j, 2]))


def test_log_sum_exp_sums_float32_in_float64():
    a = np.random.default_rng(0).normal(size=(2, 200_000)).astype(np.float32)
    got = log_sum_exp(a, axis=1)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, scipy.special.logsumexp(a.astype(float), axis=1), atol=1e-8)


@pytest.mark.parametrize('n', range(9))
def test_sparse_rows_of_any_length_stay_within_the_row(n):
    "Rows stand side by side in one array: entries beside the row take no part."
    rng = np.random.default_rng(n)
    indices, values = rng.permutation(40)[: n + 16].astype(np.int32), rng.normal(size=n + 16)
    vector, row = rng.normal(size=40), slice(8, 8 + n)
    wanted = vector.copy()
    wanted[indices[row]] += 2 * values[row]
    product = csr_dot(indices[row], values[row], vector)
    assert product == pytest.approx(values[row] @ vector[indices[row]], abs=1e-12)
    csr_axpy(indices[row], values[row], vector, 2.0)
    np.testing.assert_allclose(vector, wanted, atol=1e-12)


def test_conjugate_gradients_stops_with_a_reason():
    b = np.array([1.0, 2.0, 3.0])
    zero = conjugate_gradients(lambda v: v, np.zeros(3))
    assert zero.converged and not zero.solution.any() and len(zero.residual_norms) == 1
    climb = conjugate_gradients(lambda v: np.array([1.0, 1.0, -5.0]) * v, b)
    assert not climb.converged and 'negative curvature' in climb.message
    assert np.isfinite(climb.solution).all()
    flat = conjugate_gradients(lambda v: 0 * v, b)
    assert not flat.converged and 'negative curvature' in flat.message
    lost = conjugate_gradients(lambda v: v * np.nan, b)
    assert not lost.converged and 'not finite in step 1' in lost.message
    assert np.isfinite(lost.solution).all()
    bad = conjugate_gradients(lambda v: v, np.array([1.0, np.inf]))
    assert not bad.converged and 'start is not finite' in bad.message
    assert np.isfinite(bad.solution).all()
    short = conjugate_gradients(
        lambda v: np.array([1.0, 10.0, 100.0]) * v, b, tol=1e-12, max_iter=1
    )
    assert not short.converged and 'max_iter=1' in short.message and len(short.residual_norms) == 2


def test_residuals_may_be_measured_by_the_preconditioner():
    b, size = np.array([1.0, 2.0]), np.array([4.0, 0.5])
    for natural, norm in ((True, b @ (size * b)), (False, b @ b)):
        solve = conjugate_gradients(
            lambda v: 3 * v, b, precondition=lambda r: size * r, preconditioned_norm=natural
        )
        assert solve.residual_norms[0] == pytest.approx(math.sqrt(norm))


@pytest.mark.parametrize('scale', [1e-6, 1.0, 1e6])
def test_the_size_of_a_preconditioner_moves_no_limit(scale):
    "From a start of one's own, too, tol is a share of the norm of the right-hand side."
    slopes, b = np.linspace(1.0, 50.0, 20), np.ones(20)
    solve = conjugate_gradients(
        lambda v: slopes * v, b, precondition=lambda r: scale * r, start=np.full(20, 0.3), tol=1e-6
    )
    left = np.linalg.norm(slopes * solve.solution - b) / np.linalg.norm(b)
    assert solve.converged and left < 1.01e-6


def test_conjugate_gradients_keeps_inputs_and_dtype():
    b, start = np.arange(1, 5, dtype=np.float32), np.ones(4, np.float32)
    solve = conjugate_gradients(lambda v: 2 * v, b, start)
    assert solve.solution.dtype == np.float32 and start.tolist() == [1] * 4
    assert b.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(solve.solution, b / 2)
