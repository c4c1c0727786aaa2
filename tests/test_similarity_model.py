"The estimator of two towers: what goes in, what comes out, what is refused, and that it is worth its name."
import pickle

import numpy as np
import pytest
from scipy import sparse

from extreme_opt import data
from extreme_opt.core.estimator import NotFitted
from extreme_opt.similarity import MLP, Linear, SimilarityModel, auto_ridge, rank_measures, svd_factors
from extreme_opt.similarity.model import SOLVERS
from extreme_opt.similarity.ranking import pattern


@pytest.fixture(scope='module')
def planted():
    return data.planted_towers(50, 30, 8, 3, per_left=4, seed=2)[0]


@pytest.fixture(scope='module')
def fitted(planted):
    return SimilarityModel(3, MLP(6), MLP(6), max_steps=6).fit(planted.train_observed, planted.left_features, planted.right_features)


def quick(**settings):
    return SimilarityModel(**dict(n_components=3, left=Linear(), right=Linear(), max_steps=3) | settings)


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_lowers_the_loss(planted, solver):
    losses = quick(solver=solver, max_steps=4).fit(planted.observed, planted.left_features, planted.right_features).run_.column('loss')
    assert losses[-1] < losses[0] and len(losses) > 1


@pytest.mark.parametrize('settings', [dict(loss='squared', impute=0.), dict(biases=True), dict(penalty='all'), dict(left=MLP(4, cosine=2.)),
                                      dict(unobserved_weight=.5, ridge=0.), dict(row_weights=np.linspace(.5, 1.5, 50)), dict(dtype='float64')])
def test_options_give_finite_lists(planted, settings):
    model = quick(**settings).fit(planted.observed, planted.left_features, planted.right_features)
    ids, scores = model.recommend([0, 49], 4)
    assert ids.shape == (2, 4) and (ids >= 0).all() and np.isfinite(scores).all()
    np.testing.assert_allclose(model.embed_left(features=planted.left_features), model.left_embeddings_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.score_pairs([[0, ids[0, 0]]]), scores[0, 0], rtol=1e-5)


def test_matrix_pairs_and_csr_features_agree(planted):
    pairs = planted.observed
    matrix = sparse.csr_array((np.full(len(pairs), 5.), pairs.T), shape=(50, 30))
    by_pairs = quick(dtype='float64').fit(pairs, planted.left_features, planted.right_features)
    by_matrix = quick(dtype='float64').fit(matrix, sparse.csr_array(planted.left_features), planted.right_features)
    np.testing.assert_allclose(by_pairs.left_embeddings_, by_matrix.left_embeddings_, rtol=1e-6, atol=1e-9)


def test_numbers_of_a_matrix_mean_what_is_said(planted):
    pairs = planted.observed
    matrix = sparse.csr_array((np.linspace(.5, 2, len(pairs)), pairs.T), shape=(50, 30))
    rows, columns = matrix.nonzero()
    for values, name in (('weights', 'pair_weights'), ('labels', 'labels')):
        one = quick(values=values, loss='squared', dtype='float64').fit(matrix)
        two = quick(loss='squared', dtype='float64').fit(np.column_stack([rows, columns]), **{name: matrix.data})
        np.testing.assert_allclose(one.run_.column('loss'), two.run_.column('loss'), rtol=1e-9)
    with pytest.raises(ValueError, match="values='weights' needs a sparse matrix"): quick(values='weights').fit(pairs)
    with pytest.raises(ValueError, match="values='stars' is not one of"): quick(values='stars').fit(matrix)


def test_a_stored_zero_is_no_pair():
    full = sparse.csr_array(np.eye(6))
    padded = sparse.csr_array((np.append(np.ones(6), 0.), (np.append(np.arange(6), 0), np.append(np.arange(6), 3))), shape=(6, 6))
    assert quick().fit(padded).observed_.nnz == quick().fit(full).observed_.nnz == 6


def test_lists_leave_out_what_was_seen(fitted):
    scores = fitted.left_embeddings_ @ fitted.right_embeddings_.T
    masked = np.where(fitted.observed_.toarray() > 0, -np.inf, scores)
    np.testing.assert_array_equal(fitted.recommend(k=30)[0][:, :20], np.argsort(-masked, axis=1, kind='stable')[:, :20])
    ids, best = fitted.recommend([3], 30)
    n_seen = fitted.observed_[[3]].nnz
    assert (ids[0, 30 - n_seen:] == -1).all() and np.isneginf(best[0, 30 - n_seen:]).all()
    assert (fitted.recommend([3], 30, exclude_seen=False)[0] >= 0).all()
    only = sparse.csr_array(1 - np.eye(30, dtype=np.int8)[[4]])
    assert fitted.recommend([3], 2, seen=only)[0].tolist() == [[4, -1]]


def test_similar_is_cosine(fitted):
    for side, rows in (('left', fitted.left_embeddings_), ('right', fitted.right_embeddings_)):
        unit = rows / np.linalg.norm(rows, axis=1)[:, None]
        near = unit @ unit.T
        np.fill_diagonal(near, -np.inf)
        ids, cosines = fitted.similar([2, 5], 4, side)
        np.testing.assert_array_equal(ids, np.argsort(-near[[2, 5]], axis=1, kind='stable')[:, :4])
        np.testing.assert_allclose(cosines, np.take_along_axis(near[[2, 5]], ids, 1), rtol=1e-5)


def test_new_entities_by_features(fitted, planted):
    rng = np.random.default_rng(0)
    new_left, new_right = rng.normal(size=(3, 8)), rng.normal(size=(5, 8))
    P, Q = fitted.embed_left(features=new_left), fitted.embed_right(features=sparse.csr_array(new_right))
    scores = fitted.score_pairs([[2, 4], [0, 0]], left_features=new_left, right_features=new_right)
    np.testing.assert_allclose(scores, [P[2] @ Q[4], P[0] @ Q[0]], rtol=1e-4, atol=1e-5)
    assert fitted.recommend(features=new_left, k=3)[0].shape == (3, 3)


def test_evaluate_masks_and_knows_its_ceiling(fitted, planted):
    measures = ('mean_precision@5', 'recall@20', 'auc')
    found = fitted.evaluate(planted.test_observed, measures)
    matrix = pattern(planted.test_observed, (50, 30))
    by_matrix = fitted.evaluate(matrix, measures)
    by_hand = rank_measures(lambda rows: fitted.left_embeddings_[rows] @ fitted.right_embeddings_.T, matrix, fitted.observed_, measures)
    for name in measures: assert found[name] == by_matrix[name] == by_hand[name] <= found['ceilings'][name] + 1e-12
    assert fitted.evaluate(planted.test_observed, measures, exclude_seen=False)['recall@20'] <= found['recall@20']


def test_saved_pickled_and_cloned_models_are_the_same(fitted, planted, tmp_path):
    from sklearn.base import clone
    fitted.save(tmp_path / 'model.npz')
    again = SimilarityModel.load(tmp_path / 'model.npz')
    for other in (again, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.recommend(k=5)[1], fitted.recommend(k=5)[1])
        np.testing.assert_array_equal(other.embed_left(features=planted.left_features), fitted.embed_left(features=planted.left_features))
        assert repr(other) == repr(fitted) and other.run_.message == fitted.run_.message
    copied = clone(fitted)
    assert repr(copied) == repr(fitted) and not hasattr(copied, 'left_embeddings_')
    assert clone(quick(left=Linear(bias=True))).get_params()['left'] == Linear(bias=True)


def test_warm_start_goes_on(planted):
    model = quick(warm_start=True, max_steps=2).fit(planted.observed)
    first = model.run_.column('loss')[-1]
    np.testing.assert_allclose(model.fit(planted.observed).run_.column('loss')[0], first, rtol=1e-5)
    with pytest.raises(ValueError, match='warm_start=True, but the last fit had'): model.set_params(n_components=4).fit(planted.observed)


def test_a_checkpoint_continues(planted, tmp_path):
    whole = quick(max_steps=4).fit(planted.observed)
    quick(max_steps=2, checkpoint=tmp_path / 'run').fit(planted.observed)
    half = quick(max_steps=4, checkpoint=tmp_path / 'run').fit(planted.observed)
    np.testing.assert_array_equal(half.left_embeddings_, whole.left_embeddings_)
    assert half.n_steps_ == 4


def test_an_entity_without_features_is_named(planted):
    features = np.where(np.arange(50)[:, None] == 7, 0., planted.left_features)
    for rows in (features, sparse.csr_array(features)):
        with pytest.warns(UserWarning, match=r'left_features has 1 rows without any feature \(first: row 7\)'):
            quick().fit(planted.observed, rows, planted.right_features)


@pytest.mark.parametrize('call, error, text', [
    (lambda p, m: m.recommend([50]), ValueError, 'left id 50 at place 0 is unknown; there are 50, from 0 to 49'),
    (lambda p, m: m.similar([-1]), ValueError, 'right id -1 at place 0 is unknown'),
    (lambda p, m: m.similar([1], side='up'), ValueError, "side='up' is neither"),
    (lambda p, m: m.recommend([0.5]), ValueError, 'a list of integers is needed'),
    (lambda p, m: m.recommend([0], k=0), ValueError, 'k=0 is not a number from 1 up'),
    (lambda p, m: m.score_pairs([1, 2]), ValueError, r'pairs has shape \(2,\)'),
    (lambda p, m: m.embed_left([0], features=p.left_features), ValueError, 'ids and features are both given'),
    (lambda p, m: m.embed_left(features=np.ones((2, 7))), ValueError, 'left_features has 7 columns, but 8 were fitted'),
    (lambda p, m: m.embed_left(features=np.full((2, 8), np.nan)), ValueError, 'nan'),
    (lambda p, m: m.evaluate([[0, 99]]), ValueError, 'right id 99 at place 0'),
    (lambda p, m: m.evaluate(sparse.csr_array((3, 3), dtype=float)), ValueError, 'test has shape'),
    (lambda p, m: m.evaluate(p.test_observed, ['recall']), ValueError, "measure 'recall' is not known"),
    (lambda p, m: quick().fit(np.vstack([p.observed, p.observed[:1]])), ValueError, 'repeats pair .* with the same label'),
    (lambda p, m: quick().fit(np.vstack([p.observed, p.observed[:1]]), labels=np.append(np.ones(len(p.observed)), -1.)), ValueError, 'with another label'),
    (lambda p, m: quick().fit(p.observed, np.full((50, 2), np.inf)), ValueError, 'left_features holds nan or inf in row 0'),
    (lambda p, m: quick().fit(p.observed, p.left_features[:9]), ValueError, 'observed'),
    (lambda p, m: quick(solver='newtn').fit(p.observed), ValueError, "solver='newtn' is not one of"),
    (lambda p, m: quick(ridge='most').fit(p.observed), ValueError, "ridge='most' is neither a number"),
    (lambda p, m: quick(ridge=-1.).fit(p.observed), ValueError, 'ridge is -1.0'),
    (lambda p, m: quick(left=3).fit(p.observed), TypeError, 'left=3 is no tower'),
    (lambda p, m: quick(n_threads=4).fit(p.observed), ValueError, 'n_threads=4'),
    (lambda p, m: quick(client='them').fit(p.observed), ValueError, "client='them'"),
    (lambda p, m: quick().recommend([0]), NotFitted, 'is not fitted yet'),
    (lambda p, m: quick().fit(p.observed).embed_left(features=np.ones((2, 3))), ValueError, 'were fitted by id alone')])
def test_what_is_wrong_is_said_in_one_line(planted, fitted, call, error, text):
    with pytest.raises(Exception, match=text) as caught: call(planted, fitted)
    assert '\n' not in str(caught.value)
    assert isinstance(caught.value, (error, ValueError))


def test_settings_are_stored_and_nothing_else():
    model = SimilarityModel(7, ridge=.5)
    assert model.get_params()['n_components'] == 7 and set(vars(model)) == set(model.get_params())
    assert model.set_params(solver='gd').solver == 'gd'


def test_ridge_grows_with_pairs():
    assert auto_ridge(1000, 50, 50) == 10 * auto_ridge(100, 50, 50) and auto_ridge(0, 5, 5) > 0


def test_weighted_factorisation_beats_a_truncated_svd():
    graph = data.see_also(max_features=10)
    shape = graph.n_left, graph.n_right
    train, test = pattern(graph.train_observed, shape), pattern(graph.test_observed, shape)
    P, Q = svd_factors(train, 40)
    plain = rank_measures(lambda rows: P[rows] @ Q.T, test, train, ('recall@20',))['recall@20']
    assert SimilarityModel(40, Linear(), Linear(), max_steps=6).fit(train).evaluate(test, ('recall@20',))['recall@20'] > 1.3 * plain


def test_lists_from_an_index(fitted, planted):
    pytest.importorskip('faiss', reason="needs the extra `ann`: pip install 'extreme_opt[ann]'")
    index = fitted.build_index(n_links=8)
    for settings in (dict(), dict(ids=[7, 2], k=3), dict(exclude_seen=False, k=40), dict(features=planted.left_features[:4], k=5)):
        ids, scores = fitted.recommend(**settings, index=index)
        exact, best = fitted.recommend(**settings)
        assert ids.shape == exact.shape and np.mean(ids == exact) > .97                 # thirty entities, a graph of eight links each
        np.testing.assert_allclose(scores[ids == exact], best[ids == exact], rtol=1e-5)
    other = quick().fit(planted.observed)
    with pytest.raises(ValueError, match='built for another fit'): other.recommend([0], index=index)


def test_recall_of_an_index():
    pytest.importorskip('faiss', reason="needs the extra `ann`: pip install 'extreme_opt[ann]'")
    from extreme_opt.similarity import build_index, near_lists, top_k
    rng = np.random.default_rng(0)
    P, Q = rng.normal(size=(100, 16)), rng.normal(size=(5000, 16)) * np.exp(.4 * rng.normal(size=(5000, 1)))
    seen = pattern(np.column_stack([rng.integers(100, size=2000), rng.integers(5000, size=2000)]), (100, 5000))
    exact = top_k(lambda rows: P[rows] @ Q.T, np.arange(100), 5000, 20, seen)[0]
    recalls = []
    for effort in (20, 400):
        ids, _ = near_lists(build_index(Q, effort=effort), P, 20, seen)
        assert not np.asarray(seen[np.repeat(np.arange(100), 20), ids.ravel()]).any()
        recalls.append(np.mean([len(set(a) & set(b)) / 20 for a, b in zip(ids, exact)]))
    assert recalls[1] > .95 and recalls[1] >= recalls[0] - .01, recalls


def test_a_missing_index_library_is_named(fitted, monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'faiss', None)
    with pytest.raises(ImportError, match=r"pip install 'extreme_opt\[ann\]'"): fitted.build_index()
