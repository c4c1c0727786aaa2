"Softmax over the catalog: exact gradient, first-order unbiased samples, and solvers that take it."

import numpy as np
import pytest
from refusals import refuses
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from extreme_opt.core import SGD, GradientDescent, minimize
from extreme_opt.core.checks import check_gradient
from extreme_opt.data import planted_towers
from extreme_opt.similarity import MLP, CatalogSoftmax, Linear, SimilarityModel
from extreme_opt.similarity.defaults import AUTO_TIMES, auto_ridge


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
    refuses('one probability per right entity', made, negatives='zipf')
    refuses(r'\(4,\) numbers', made, negatives=np.ones(3))
    with pytest.raises(ValueError, match='at least 2 pairs'):
        problem = made(negatives='batch')
        problem.grad_at(problem.init_params(), problem.draw(np.random.default_rng(0), 1))


def test_the_model_minimizes_this_loss():
    "Same loss, same ridge, same towers; the solver is L-BFGS, with more steps than others."
    planted = planted_towers(50, 30, 8, 3, per_left=4, seed=2)[0]
    model = SimilarityModel(3, loss='softmax', dtype='float64', tol=1e-6).fit(planted.observed)
    settings = dict(right=Linear(), ridge=model.ridge_, n_left=50, n_right=30, dtype=np.float64)
    problem = CatalogSoftmax(planted.observed, n_components=3, left=Linear(), **settings)
    params, start = model.run_.state.params, problem.init_params(0)
    assert model.run_.history[0]['loss'] == pytest.approx(problem.loss(start))
    slopes = [np.linalg.norm(problem.grad(one)) for one in (start, params)]
    assert slopes[1] <= 1.01e-6 * slopes[0] and 30 < model.n_iter_ < 200
    assert model.ridge_ == pytest.approx(AUTO_TIMES['softmax'][1] * auto_ridge(200, 50, 30))
    assert model.unobserved_weight_ == 0.0
    scores = model.left_embeddings_ @ model.right_embeddings_.T
    some = planted.observed[:9]
    np.testing.assert_allclose(model.score_pairs(some), scores[some[:, 0], some[:, 1]])
    with pytest.warns(ConvergenceWarning, match='max_iter=3'):
        assert SimilarityModel(3, loss='softmax', max_iter=3).fit(planted.observed).n_iter_ == 3


def test_the_model_with_a_softmax_grows_and_stops():
    planted = planted_towers(50, 30, 8, 3, per_left=4, seed=2)[0]
    names = [(f'u{i}', f'i{j}') for i, j in planted.observed]
    model = SimilarityModel(3, loss='softmax', warm_start=True, biases=True).fit(names[:150])
    known, before = model.left_ids_.tolist(), model.run_.history[-1]['loss']
    model.max_iter, model.tol = 0, None
    model.fit(names)
    assert model.left_ids_.tolist()[: len(known)] == known and len(model.left_ids_) > len(known)
    model.fit(names[:150])
    model.max_iter, model.tol = 'auto', 1e-3
    model.fit(names)
    assert model.run_.history[0]['loss'] > model.run_.history[-1]['loss'] > before
    features = planted.left_features, planted.right_features
    stopped = SimilarityModel(
        3, MLP(6), MLP(6), loss='softmax', validation=0.2, id_features=True, metric='recall@5'
    ).fit(planted.observed, *features)
    scores = stopped.validation_scores_
    assert scores[stopped.best_iter_] == scores.max() and stopped.n_iter_ >= stopped.best_iter_


@pytest.mark.parametrize(
    'settings, message',
    [
        (dict(solver='newton'), "solver='newton' does not minimize loss=.softmax.; use one of"),
        (dict(solver='als'), "use one of 'lbfgs', 'gd', 'adagrad'"),
        (dict(popularity_power=0.5), 'popularity_power belongs to the square'),
        (dict(unobserved_weight=0.1), "leave it at 'auto'"),
        (dict(impute=0.0), 'impute belongs to the square'),
        (dict(row_weights=np.ones(4)), 'row_weights belongs to the square'),
        (dict(column_weights=[1.0, 2.0, 1.0, 1.0]), 'column_weights belongs to the square'),
        (dict(penalty='all'), 'penalty belongs to the square'),
        (dict(max_iter='many'), "max_iter='many' is neither a whole number"),
        (dict(values='labels'), 'takes pairs without labels'),
        (dict(loss='hinge'), "loss='hinge' is not one of"),
    ],
    ids=str,
)
def test_the_model_refuses_what_a_softmax_does_not_have(settings, message):
    matrix = sparse.csr_array(np.eye(4) + np.eye(4, k=1))
    refuses(message, SimilarityModel(2, **dict(loss='softmax') | settings).fit, matrix)
