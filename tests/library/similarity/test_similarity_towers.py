"""Towers with each activation: gradient and Gauss-Newton product against differences, kernels as
plain Python, types."""

import numpy as np
import pytest
from scipy import sparse

from extreme_opt.core.checks import check_gradient
from extreme_opt.similarity import MLP, AllPairs
from extreme_opt.similarity.towers import ACTIVATIONS, Tower, forward, jvp, squared_vjp, vjp


def made(activation, **options):
    rng = np.random.default_rng(0)
    shape = MLP(5, 4, activation=activation)
    usual = dict(n_components=3, left=shape, right=shape, n_left=7, n_right=6, ridge=0.1)
    return AllPairs(np.argwhere(rng.random((7, 6)) < 0.4), **(usual | options))


@pytest.mark.parametrize('activation', ACTIVATIONS)
@pytest.mark.parametrize('keep_mb', [0.0, 1024.0])
@pytest.mark.parametrize('cosine', [None, 2.0])
def test_gradient_and_product(activation, keep_mb, cosine):
    shape = MLP(5, 4, activation=activation, cosine=cosine)
    settings = dict(keep_mb=keep_mb, pair_loss='squared', unobserved_weight=1.0)
    problem = made(activation, left=shape, **settings)
    params = problem.init_params(1) + 0.05
    check_gradient(problem, params)

    def scores(params):
        return (problem.embed(0, params) @ problem.embed(1, params).T).ravel()

    # squared loss with weight 1 everywhere: G = J'J + ridge
    eye = 1e-6 * np.eye(len(params))
    J = np.array([(scores(params + e) - scores(params - e)) / 2e-6 for e in eye]).T
    d = np.random.default_rng(2).normal(size=len(params))
    np.testing.assert_allclose(
        problem.ggn_vp(params, d), J.T @ (J @ d) + 0.1 * d, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize('activation', ACTIVATIONS)
def test_chunks_and_kept_activations_change_nothing(activation):
    "Nor does the kind of input: ids, dense or CSR."
    shape, eye = MLP(6, 5, activation=activation, cosine=2.0), np.eye(300)
    whole, acts = Tower(shape, None, 300, 300, 3, chunk=10**6), []
    theta = whole.init_params(np.random.default_rng(2))
    P = forward(whole, theta, keep=acts)
    inputs = None, eye, sparse.csr_array(eye)
    parts = [Tower(shape, features, 300, 300, 3, chunk=64) for features in inputs]
    by_chunks = []
    np.testing.assert_allclose(forward(parts[0], theta, keep=by_chunks), P, atol=1e-12)
    for other, given in ((whole, acts), (whole, by_chunks), *((part, None) for part in parts)):
        for work, along in ((jvp, theta), (vjp, P), (squared_vjp, P)):
            found = work(other, theta, along, acts=given)
            np.testing.assert_allclose(found, work(whole, theta, along), atol=1e-12)
