"Softmax over the catalog: exact gradient, first-order unbiased samples, and solvers that take it."

from itertools import product

import numpy as np
import pytest

from extreme_opt.core import SGD, GradientDescent, minimize
from extreme_opt.core.checks import check_gradient
from extreme_opt.similarity import MLP, CatalogSoftmax, Linear
from extreme_opt.similarity.catalog_softmax import SoftmaxBatch


def made(m=5, n=4, share=0.5, **options):
    rng = np.random.default_rng(0)
    places = np.argwhere(rng.random((m, n)) < share)
    usual = dict(n_components=3, left=MLP(4), right=Linear(), n_left=m, n_right=n, ridge=0.1)
    usual['pair_weights'] = rng.random(len(places))
    return CatalogSoftmax(places, **(usual | options))


@pytest.mark.parametrize(
    'options', [{}, dict(biases=True), dict(share=2.0), dict(right_features=np.eye(4)[:, :3])]
)
def test_exact(options):
    problem = made(**options)
    params = problem.init_params(1) + 0.05
    check_gradient(problem, params)
    scores = problem.embed(0, params) @ problem.embed(1, params).T
    log_proba = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    pairs = problem._towers.terms.pairs
    written = -pairs.weights @ log_proba[pairs.rows, pairs.rights] + 0.05 * params @ params
    np.testing.assert_allclose(problem.loss(params), written, rtol=1e-12)


def test_bias_of_the_sample_falls_like_one_over_its_size():
    q = np.array([0.1, 0.2, 0.3, 0.4])
    problem = made(negatives=q)
    params = problem.init_params(1)
    loss, every, gaps = problem.loss(params), np.arange(problem.n_observed), []
    for s in (2, 4):
        mean = sum(
            q[list(drawn)].prod() * problem.loss_at(params, SoftmaxBatch(every, np.array(drawn)))
            for drawn in product(range(4), repeat=s)
        )
        gaps.append(loss - mean)
    assert 0 < gaps[1] < 0.6 * gaps[0]


def test_large_scores_do_not_overflow():
    problem = made(left=Linear(), pair_weights=None)
    params = 100 * problem.init_params(0)
    loss, grad = problem.loss_and_grad(params)
    assert np.isfinite(loss) and np.isfinite(grad).all()
    batch = problem.draw(np.random.default_rng(0), 8)
    assert np.isfinite(problem.loss_at(params, batch))
    assert np.isfinite(problem.grad_at(params, batch)).all()


@pytest.mark.parametrize('negatives', ['popularity', 'uniform', 'batch'])
@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_solvers(negatives, dtype):
    problem = made(20, 15, 0.2, negatives=negatives, n_negatives=8, dtype=dtype)
    for solver in (SGD(learning_rate=1.0, batch_size=8), GradientDescent(scaling='adagrad')):
        run = minimize(problem, solver, max_epochs=30)
        assert run.state.params.dtype == dtype
        assert run.history[-1]['loss'] < 0.95 * run.history[0]['loss']


def test_refused():
    with pytest.raises(ValueError, match='one probability per right entity'):
        made(negatives='zipf')
    with pytest.raises(ValueError, match=r'\(4,\) numbers'):
        made(negatives=np.ones(3))
    with pytest.raises(ValueError, match='at least 2 pairs'):
        problem = made(negatives='batch')
        problem.grad_at(problem.init_params(), problem.draw(np.random.default_rng(0), 1))
