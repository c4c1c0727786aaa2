"The estimator of two towers: what goes in, what comes out, what is refused, and that it is worth its name."

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from extreme_opt import data
from extreme_opt.similarity import (
    MLP,
    AllPairs,
    BlockSGD,
    Linear,
    PairSGD,
    SimilarityModel,
    SOGram,
    rank_measures,
    svd_factors,
)
from extreme_opt.similarity.model import SOLVERS, auto_ridge
from extreme_opt.similarity.ranking import pattern


@pytest.fixture(scope='module')
def planted():
    return data.planted_towers(50, 30, 8, 3, per_left=4, seed=2)[0]


@pytest.fixture(scope='module')
def fitted(planted):
    return SimilarityModel(3, MLP(6), MLP(6), max_iter=6, tol=None).fit(
        planted.train_observed, planted.left_features, planted.right_features
    )


def quick(**settings):
    "A model of a few steps and no more, so that it does not warn."
    return SimilarityModel(
        **dict(n_components=3, left=Linear(), right=Linear(), max_iter=3, tol=None) | settings
    )


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_lowers_the_loss(planted, solver):
    losses = (
        quick(solver=solver, max_iter=4)
        .fit(planted.observed, planted.left_features, planted.right_features)
        .run_.column('loss')
    )
    assert losses[-1] < losses[0] and len(losses) > 1


@pytest.mark.parametrize(
    'settings',
    [
        dict(loss='squared', impute=0.0),
        dict(biases=True),
        dict(penalty='all'),
        dict(left=MLP(4, cosine=2.0)),
        dict(unobserved_weight=0.5, ridge=0.0),
        dict(row_weights=np.linspace(0.5, 1.5, 50)),
        dict(dtype='float64'),
    ],
)
def test_options_give_finite_lists(planted, settings):
    model = quick(**settings).fit(planted.observed, planted.left_features, planted.right_features)
    ids, scores = model.recommend([0, 49], 4)
    assert ids.shape == (2, 4) and (ids >= 0).all() and np.isfinite(scores).all()
    np.testing.assert_allclose(
        model.embed_left(features=planted.left_features),
        model.left_embeddings_,
        rtol=1e-4,
        atol=1e-5,
    )
    np.testing.assert_allclose(model.score_pairs([[0, ids[0, 0]]]), scores[0, 0], rtol=1e-5)


def test_matrix_pairs_and_csr_features_agree(planted):
    pairs = planted.observed
    matrix = sparse.csr_array((np.full(len(pairs), 5.0), pairs.T), shape=(50, 30))
    by_pairs = quick(dtype='float64').fit(pairs, planted.left_features, planted.right_features)
    by_matrix = quick(dtype='float64').fit(
        matrix, sparse.csr_array(planted.left_features), planted.right_features
    )
    np.testing.assert_allclose(
        by_pairs.left_embeddings_, by_matrix.left_embeddings_, rtol=1e-6, atol=1e-9
    )


def test_numbers_of_a_matrix_mean_what_is_said(planted):
    pairs = planted.observed
    matrix = sparse.csr_array((np.linspace(0.5, 2, len(pairs)), pairs.T), shape=(50, 30))
    rows, columns = matrix.nonzero()
    for values, name in (('weights', 'pair_weights'), ('labels', 'labels')):
        one = quick(values=values, loss='squared', dtype='float64').fit(matrix)
        two = quick(loss='squared', dtype='float64').fit(
            np.column_stack([rows, columns]), **{name: matrix.data}
        )
        np.testing.assert_allclose(one.run_.column('loss'), two.run_.column('loss'), rtol=1e-9)
    with pytest.raises(ValueError, match="values='weights' needs a sparse matrix"):
        quick(values='weights').fit(pairs)
    with pytest.raises(ValueError, match="values='stars' is not one of"):
        quick(values='stars').fit(matrix)


def test_a_stored_zero_is_no_pair():
    full = sparse.csr_array(np.eye(6))
    padded = sparse.csr_array(
        (np.append(np.ones(6), 0.0), (np.append(np.arange(6), 0), np.append(np.arange(6), 3))),
        shape=(6, 6),
    )
    assert quick().fit(padded).observed_.nnz == quick().fit(full).observed_.nnz == 6


def test_lists_leave_out_what_was_seen(fitted):
    scores = fitted.left_embeddings_ @ fitted.right_embeddings_.T
    masked = np.where(fitted.observed_.toarray() > 0, -np.inf, scores)
    np.testing.assert_array_equal(
        fitted.recommend(k=30)[0][:, :20], np.argsort(-masked, axis=1, kind='stable')[:, :20]
    )
    ids, best = fitted.recommend([3], 30)
    n_seen = fitted.observed_[[3]].nnz
    assert (ids[0, 30 - n_seen :] == -1).all() and np.isneginf(best[0, 30 - n_seen :]).all()
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
    P, Q = (
        fitted.embed_left(features=new_left),
        fitted.embed_right(features=sparse.csr_array(new_right)),
    )
    scores = fitted.score_pairs([[2, 4], [0, 0]], left_features=new_left, right_features=new_right)
    np.testing.assert_allclose(scores, [P[2] @ Q[4], P[0] @ Q[0]], rtol=1e-4, atol=1e-5)
    assert fitted.recommend(features=new_left, k=3)[0].shape == (3, 3)


def test_evaluate_masks_and_knows_its_ceiling(fitted, planted):
    measures = ('mean_precision@5', 'recall@20', 'auc')
    found = fitted.evaluate(planted.test_observed, measures)
    matrix = pattern(planted.test_observed, (50, 30))
    by_matrix = fitted.evaluate(matrix, measures)
    by_hand = rank_measures(
        lambda rows: fitted.left_embeddings_[rows] @ fitted.right_embeddings_.T,
        matrix,
        fitted.observed_,
        measures,
    )
    for name in measures:
        assert found[name] == by_matrix[name] == by_hand[name] <= found['max_scores'][name] + 1e-12
    assert (
        fitted.evaluate(planted.test_observed, measures, exclude_seen=False)['recall@20']
        <= found['recall@20']
    )


def test_saved_pickled_and_cloned_models_are_the_same(fitted, planted, tmp_path):
    from sklearn.base import clone

    fitted.save(tmp_path / 'model.npz')
    again = SimilarityModel.load(tmp_path / 'model.npz')
    for other in (again, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.recommend(k=5)[1], fitted.recommend(k=5)[1])
        np.testing.assert_array_equal(
            other.embed_left(features=planted.left_features),
            fitted.embed_left(features=planted.left_features),
        )
        assert repr(other) == repr(fitted) and other.run_.message == fitted.run_.message
    copied = clone(fitted)
    assert repr(copied) == repr(fitted) and not hasattr(copied, 'left_embeddings_')
    assert clone(quick(left=Linear(bias=True))).get_params()['left'] == Linear(bias=True)


def test_warm_start_goes_on(planted):
    model = quick(warm_start=True, max_iter=2).fit(planted.observed)
    first = model.run_.column('loss')[-1]
    np.testing.assert_allclose(model.fit(planted.observed).run_.column('loss')[0], first, rtol=1e-5)
    with pytest.raises(
        ValueError,
        match='the last fit had the left tower .* of width 3 .* and this one has .* of width 4',
    ):
        model.set_params(n_components=4).fit(planted.observed)


def test_a_checkpoint_continues(planted, tmp_path):
    whole = quick(max_iter=4).fit(planted.observed)
    quick(max_iter=2, checkpoint=tmp_path / 'run').fit(planted.observed)
    half = quick(max_iter=4, checkpoint=tmp_path / 'run').fit(planted.observed)
    np.testing.assert_array_equal(half.left_embeddings_, whole.left_embeddings_)
    assert half.n_iter_ == 4


def test_an_entity_without_features_is_named(planted):
    features = np.where(np.arange(50)[:, None] == 7, 0.0, planted.left_features)
    for rows in (features, sparse.csr_array(features)):
        with pytest.warns(
            UserWarning, match=r'left_features has 1 rows without any feature \(first: row 7\)'
        ):
            quick().fit(planted.observed, rows, planted.right_features)


@pytest.mark.parametrize(
    'call, error, text',
    [
        (
            lambda p, m: m.recommend([50]),
            ValueError,
            'left id 50 at place 0 is unknown; there are 50, from 0 to 49',
        ),
        (lambda p, m: m.similar([-1]), ValueError, 'right id -1 at place 0 is unknown'),
        (lambda p, m: m.similar([1], side='up'), ValueError, "side='up' is neither"),
        (lambda p, m: m.recommend([0.5]), ValueError, 'a list of integers is needed'),
        (lambda p, m: m.recommend([0], k=0), ValueError, 'k=0 is not a number from 1 up'),
        (lambda p, m: m.score_pairs([1, 2]), ValueError, r'pairs has shape \(2,\)'),
        (
            lambda p, m: m.embed_left([0], features=p.left_features),
            ValueError,
            'ids and features are both given',
        ),
        (
            lambda p, m: m.embed_left(features=np.ones((2, 7))),
            ValueError,
            'left_features has 7 columns, but 8 were fitted',
        ),
        (lambda p, m: m.embed_left(features=np.full((2, 8), np.nan)), ValueError, 'nan'),
        (lambda p, m: m.evaluate([[0, 99]]), ValueError, 'right id 99 at place 0'),
        (
            lambda p, m: m.evaluate(sparse.csr_array((3, 3), dtype=float)),
            ValueError,
            'test has shape',
        ),
        (
            lambda p, m: m.evaluate(p.test_observed, ['recall']),
            ValueError,
            "measure 'recall' is not known",
        ),
        (
            lambda p, m: quick().fit(np.vstack([p.observed, p.observed[:1]])),
            ValueError,
            'repeats pair .* with the same label',
        ),
        (
            lambda p, m: quick().fit(
                np.vstack([p.observed, p.observed[:1]]),
                labels=np.append(np.ones(len(p.observed)), -1.0),
            ),
            ValueError,
            'with another label',
        ),
        (
            lambda p, m: quick().fit(p.observed, np.full((50, 2), np.inf)),
            ValueError,
            'left_features holds nan or inf in row 0',
        ),
        (lambda p, m: quick().fit(p.observed, p.left_features[:9]), ValueError, 'observed'),
        (
            lambda p, m: quick(solver='newtn').fit(p.observed),
            ValueError,
            "solver='newtn' is not one of",
        ),
        (
            lambda p, m: quick(ridge='most').fit(p.observed),
            ValueError,
            "ridge='most' is neither a number",
        ),
        (lambda p, m: quick(ridge=-1.0).fit(p.observed), ValueError, 'ridge is -1.0'),
        (lambda p, m: quick(left=3).fit(p.observed), TypeError, 'left=3 is no tower'),
        (lambda p, m: quick(n_jobs=0).fit(p.observed), ValueError, 'at least 1 thread'),
        (lambda p, m: quick(client='them').fit(p.observed), ValueError, "client='them'"),
        (lambda p, m: quick().recommend([0]), NotFittedError, 'is not fitted yet'),
        (
            lambda p, m: quick().fit(p.observed).embed_left(features=np.ones((2, 3))),
            ValueError,
            'were fitted by id alone',
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(planted, fitted, call, error, text):
    with pytest.raises(Exception, match=text) as caught:
        call(planted, fitted)
    assert '\n' not in str(caught.value)
    assert isinstance(caught.value, (error, ValueError))


def test_settings_are_stored_and_nothing_else():
    model = SimilarityModel(7, ridge=0.5)
    assert model.get_params()['n_components'] == 7 and set(vars(model)) == set(model.get_params())
    assert model.set_params(solver='gd').solver == 'gd'


def test_ridge_grows_with_pairs():
    assert auto_ridge(1000, 50, 50) == 10 * auto_ridge(100, 50, 50) and auto_ridge(0, 5, 5) > 0


def test_weighted_factorization_beats_a_truncated_svd():
    graph = data.see_also(max_features=10)
    shape = graph.n_left, graph.n_right
    train, test = pattern(graph.train_observed, shape), pattern(graph.test_observed, shape)
    P, Q = svd_factors(train, 40)
    plain = rank_measures(lambda rows: P[rows] @ Q.T, test, train, ('recall@20',))['recall@20']
    assert (
        SimilarityModel(40, Linear(), Linear(), max_iter=6, tol=None)
        .fit(train)
        .evaluate(test, ('recall@20',))['recall@20']
        > 1.3 * plain
    )


def test_lists_from_an_index(fitted, planted):
    pytest.importorskip('faiss', reason="needs the extra `ann`: pip install 'extreme_opt[ann]'")
    index = fitted.build_index(n_links=8)
    for settings in (
        dict(),
        dict(ids=[7, 2], k=3),
        dict(exclude_seen=False, k=40),
        dict(features=planted.left_features[:4], k=5),
    ):
        ids, scores = fitted.recommend(**settings, index=index)
        exact, best = fitted.recommend(**settings)
        assert (
            ids.shape == exact.shape and np.mean(ids == exact) > 0.97
        )  # thirty entities, a graph of eight links each
        np.testing.assert_allclose(scores[ids == exact], best[ids == exact], rtol=1e-5)
    other = quick().fit(planted.observed)
    with pytest.raises(ValueError, match='built for another fit'):
        other.recommend([0], index=index)


def test_recall_of_an_index():
    pytest.importorskip('faiss', reason="needs the extra `ann`: pip install 'extreme_opt[ann]'")
    from extreme_opt.similarity import ann_top_k, build_index, top_k

    rng = np.random.default_rng(0)
    P, Q = (
        rng.normal(size=(100, 16)),
        rng.normal(size=(5000, 16)) * np.exp(0.4 * rng.normal(size=(5000, 1))),
    )
    seen = pattern(
        np.column_stack([rng.integers(100, size=2000), rng.integers(5000, size=2000)]), (100, 5000)
    )
    exact = top_k(lambda rows: P[rows] @ Q.T, np.arange(100), 5000, 20, seen)[0]
    recalls = []
    for effort in (20, 400):
        ids, _ = ann_top_k(build_index(Q, effort=effort), P, 20, seen)
        assert not np.asarray(seen[np.repeat(np.arange(100), 20), ids.ravel()]).any()
        recalls.append(np.mean([len(set(a) & set(b)) / 20 for a, b in zip(ids, exact)]))
    assert recalls[1] > 0.95 and recalls[1] >= recalls[0] - 0.01, recalls


def test_a_missing_index_library_is_named(fitted, monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'faiss', None)
    with pytest.raises(ImportError, match=r"pip install 'extreme_opt\[ann\]'"):
        fitted.build_index()


@pytest.mark.parametrize('kind', ['bool', 'int8', 'uint8', 'int64', 'float64'])
def test_labels_of_zero_and_one_mean_minus_and_plus_one(planted, kind):
    pairs = planted.observed
    likes = np.random.default_rng(0).random(len(pairs)) < 0.6
    by_bits, by_signs = (
        quick(dtype='float64').fit(pairs, labels=labels)
        for labels in (likes.astype(kind), 2.0 * likes - 1)
    )
    np.testing.assert_array_equal(by_bits.left_embeddings_, by_signs.left_embeddings_)
    none = quick(dtype='float64').fit(pairs, labels=np.zeros(len(pairs), kind))
    np.testing.assert_array_equal(
        none.left_embeddings_,
        quick(dtype='float64').fit(pairs, labels=np.full(len(pairs), -1.0)).left_embeddings_,
    )
    as_is, weighted = (
        quick(loss='squared', dtype='float64').fit(pairs, labels=labels)
        for labels in (likes.astype(kind), likes.astype(float))
    )
    np.testing.assert_array_equal(as_is.left_embeddings_, weighted.left_embeddings_)


def test_labels_of_zero_and_one_rank_liked_pairs_first():
    "Explicit likes and dislikes of a planted problem, held out pairs: with 0/1 as good as with -1/+1, and far from chance."
    rng = np.random.default_rng(0)
    P, Q = rng.normal(size=(60, 3)), rng.normal(size=(50, 3))
    pairs = np.argwhere(rng.random((60, 50)) < 0.5)
    likes = np.einsum('ij,ij->i', P[pairs[:, 0]], Q[pairs[:, 1]]) > 0
    train = rng.random(len(pairs)) < 0.8
    model = quick(n_components=5, max_iter=15).fit(pairs[train], labels=likes[train].astype(int))
    scores, liked = model.score_pairs(pairs[~train]), likes[~train]
    assert np.mean(scores[liked][:, None] > scores[~liked]) > 0.7


@pytest.mark.parametrize('labels', [[1, 2, 3, 4, 5], [-1, 0, 1, 1, -1], [0, 0, 1, 2, 1]])
def test_other_labels_of_the_logistic_loss_are_refused(labels):
    pairs = np.column_stack([np.arange(5), np.arange(5) % 3])
    with pytest.raises(ValueError, match=r'labels hold .* needs -1 and \+1'):
        quick().fit(pairs, labels=labels)
    matrix = sparse.coo_array((np.array([4.0, 5.0, 1.0, 3.0, 2.0]), pairs.T), shape=(5, 3))
    with pytest.raises(ValueError, match=r'labels hold 4 .* needs -1 and \+1'):
        quick(values='labels').fit(matrix)


def test_a_stored_zero_as_label_is_refused():
    "A sparse matrix may drop it at any time, so that it could mean both."
    matrix = sparse.csr_array(
        (np.array([1.0, 0.0, 1.0]), (np.array([0, 1, 2]), np.array([0, 1, 2]))), shape=(3, 3)
    )
    for loss in ('logistic', 'squared'):
        with pytest.raises(ValueError, match='observed stores a 0 in row 1, column 1'):
            quick(values='labels', loss=loss).fit(matrix)


def test_features_as_lists_and_in_every_sparse_format(planted):
    expected = (
        quick(dtype='float64')
        .fit(planted.observed, planted.left_features, planted.right_features)
        .left_embeddings_
    )
    for left in (
        planted.left_features.tolist(),
        sparse.coo_array(planted.left_features),
        sparse.csc_matrix(planted.left_features),
    ):
        found = quick(dtype='float64').fit(planted.observed, left, planted.right_features.tolist())
        np.testing.assert_allclose(found.left_embeddings_, expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            found.embed_left(features=planted.left_features[:2].tolist()),
            expected[:2],
            rtol=1e-6,
            atol=1e-9,
        )
    for bad, text in (
        ([[1.0, 2.0], [1.0]], 'rows of different lengths'),
        ([['a', 'b']] * 50, 'but numbers are needed'),
        (3.0, 'rows of numbers'),
    ):
        with pytest.raises(ValueError, match=f'left_features .*{text}'):
            quick().fit(planted.observed, bad, planted.right_features)


@pytest.mark.parametrize('dtype', [np.uint8, np.uint64])
def test_unsigned_ids(planted, dtype):
    pairs = planted.observed.astype(dtype)
    model = quick(dtype='float64').fit(pairs)
    np.testing.assert_array_equal(
        model.left_embeddings_, quick(dtype='float64').fit(planted.observed).left_embeddings_
    )
    assert (
        model.recommend(np.array([3], dtype), 2)[0].shape == (1, 2)
        and len(model.score_pairs(pairs[:3])) == 3
    )


@pytest.fixture(scope='module')
def biased(planted):
    return quick(biases=True, n_components=4, max_iter=5, dtype='float64').fit(
        planted.observed, planted.left_features, planted.right_features
    )


def test_biases_stay_apart(biased, planted):
    "Embeddings have the asked-for width; scores are inner products and both biases; neighbors do not look at biases."
    P, Q, p, q = (
        biased.left_embeddings_,
        biased.right_embeddings_,
        biased.left_biases_,
        biased.right_biases_,
    )
    assert P.shape == (50, 4) and Q.shape == (30, 4) and p.shape == (50,) and q.shape == (30,)
    scores = P @ Q.T + p[:, None] + q
    problem = AllPairs(
        planted.observed,
        planted.left_features,
        planted.right_features,
        n_components=4,
        left=Linear(),
        right=Linear(),
        biases=True,
    )
    whole = (
        problem.embed(0, biased.run_.state.params) @ problem.embed(1, biased.run_.state.params).T
    )
    np.testing.assert_allclose(scores, whole, rtol=1e-10)
    ids, best = biased.recommend(k=5, exclude_seen=False)
    np.testing.assert_array_equal(ids, np.argsort(-scores, axis=1, kind='stable')[:, :5])
    np.testing.assert_allclose(best, np.take_along_axis(scores, ids, 1), rtol=1e-10)
    np.testing.assert_allclose(
        biased.score_pairs([[3, 4], [0, 29]]), scores[[3, 0], [4, 29]], rtol=1e-10
    )
    test = pattern(planted.test_observed, (50, 30))
    assert (
        biased.evaluate(test, ('auc',), exclude_seen=False)['auc']
        == rank_measures(lambda rows: scores[rows], test, None, ('auc',))['auc']
    )
    for side, rows in (('left', P), ('right', Q)):
        unit = rows / np.linalg.norm(rows, axis=1)[:, None]
        near = unit @ unit.T
        np.fill_diagonal(near, -np.inf)
        ids, cosines = biased.similar([2, 5], 4, side)
        np.testing.assert_array_equal(ids, np.argsort(-near[[2, 5]], axis=1, kind='stable')[:, :4])
        np.testing.assert_allclose(cosines, np.take_along_axis(near[[2, 5]], ids, 1), rtol=1e-10)


def test_new_entities_have_biases_too(biased, planted, tmp_path):
    P, Q = (
        biased.embed_left(features=planted.left_features[:6]),
        biased.embed_right(features=planted.right_features),
    )
    np.testing.assert_allclose(P, biased.left_embeddings_[:6], rtol=1e-8)
    np.testing.assert_allclose(Q, biased.embed_right(), rtol=1e-8)
    np.testing.assert_allclose(
        biased.score_pairs(
            [[2, 3]], left_features=planted.left_features, right_features=planted.right_features
        ),
        biased.score_pairs([[2, 3]]),
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        biased.recommend(features=planted.left_features[:6], k=4)[1],
        biased.recommend(np.arange(6), 4, exclude_seen=False)[1],
        rtol=1e-8,
    )
    biased.save(tmp_path / 'model.npz')
    np.testing.assert_array_equal(
        SimilarityModel.load(tmp_path / 'model.npz').recommend(k=4)[1], biased.recommend(k=4)[1]
    )


def test_an_index_knows_the_biases(biased):
    pytest.importorskip('faiss', reason="needs the extra `ann`: pip install 'extreme_opt[ann]'")
    ids, scores = biased.recommend(k=5, index=biased.build_index(n_links=8))
    exact, best = biased.recommend(k=5)
    assert np.mean(ids == exact) > 0.97
    np.testing.assert_allclose(scores[ids == exact], best[ids == exact], rtol=1e-5)


@pytest.mark.parametrize('solver', SOLVERS)
def test_threads_change_no_number_of_a_fit(planted, solver):
    one, two = (
        quick(solver=solver, n_jobs=n).fit(planted.observed, planted.left_features) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.left_embeddings_, two.left_embeddings_)
    np.testing.assert_array_equal(one.run_.column('loss'), two.run_.column('loss'))


@pytest.mark.parametrize('tower', [Linear(), Linear(bias=True), MLP(5, 4)])
@pytest.mark.parametrize('biases', [False, True])
def test_warm_start_takes_a_catalogue_that_has_grown(planted, tower, biases):
    "The old entities keep their parameters; the new ones are learned."
    settings = dict(left=tower, right=tower, biases=biases, dtype='float64', warm_start=True)
    old = planted.observed[(planted.observed[:, 0] < 40) & (planted.observed[:, 1] < 25)]
    old = np.vstack([old, [[39, 24]]]) if not (old == [39, 24]).all(1).any() else old
    model = quick(**settings, max_iter=6).fit(old)
    P, Q = model.left_embeddings_, model.right_embeddings_
    assert P.shape == (40, 3) and Q.shape == (25, 3)
    model.set_params(max_iter=0).fit(planted.observed)
    np.testing.assert_allclose(model.left_embeddings_[:40], P, rtol=1e-10)
    np.testing.assert_allclose(model.right_embeddings_[:25], Q, rtol=1e-10)
    assert model.left_embeddings_.shape == (50, 3) and model.right_embeddings_.shape == (30, 3)
    warm = model.set_params(max_iter=3).fit(planted.observed).run_.column('loss')
    assert warm[-1] < warm[0] and np.isfinite(model.recommend(k=3)[1]).all()


def test_warm_start_keeps_entities_that_the_new_pairs_do_not_name(planted):
    model = quick(warm_start=True).fit(planted.observed)
    shape = model.left_embeddings_.shape, model.right_embeddings_.shape
    model.fit(planted.observed[planted.observed[:, 0] < 5])
    assert (model.left_embeddings_.shape, model.right_embeddings_.shape) == shape
    with pytest.raises(
        ValueError, match='the last fit had 50 left entities and this one has 40; keep all of them'
    ):
        model.fit(sparse.csr_array(np.eye(40, 30)))


def test_warm_start_names_what_does_not_fit(planted):
    model = quick(warm_start=True).fit(planted.observed, planted.left_features)
    with pytest.raises(ValueError, match='had 8 columns in left_features and this one has 7'):
        model.fit(planted.observed, planted.left_features[:, :7])
    with pytest.raises(
        ValueError, match='the left tower .* over columns and this one has .* over ids in order'
    ):
        model.fit(planted.observed)
    rows = planted.left_features[np.r_[0:50, 0:5]]
    model.fit(
        np.vstack([planted.observed, [[54, 3]]]), rows
    )  # a new row of features needs no new parameters
    assert len(model.left_embeddings_) == 55


FAILING = [
    dict(pair_weights=-1.0),
    dict(labels=[3.0] * 3),
    dict(left_features='x'),
    dict(left_features=[[np.nan] * 8] * 50),
    dict(observed=[[0, -1]]),
    dict(observed=[['a', 'b']]),
    dict(observed=[[0, 1, 2]]),
    dict(settings=dict(solver='newtn')),
    dict(settings=dict(ridge=-1.0)),
    dict(settings=dict(ridge='most')),
    dict(settings=dict(n_components=0)),
    dict(settings=dict(left=3)),
    dict(settings=dict(loss='other')),
    dict(settings=dict(impute=np.nan)),
    dict(settings=dict(row_weights=[1.0])),
    dict(settings=dict(values='stars')),
    dict(settings=dict(tol=-1.0)),
    dict(settings=dict(checkpoint='no/such/folder/run')),
    dict(settings=dict(random_state=-1)),
    dict(settings=dict(warm_start=True, n_components=5)),
    dict(settings=dict(max_iter=None, tol=None)),
    dict(settings=dict(client=3)),
]


@pytest.mark.parametrize('case', FAILING, ids=lambda case: str(case)[:60])
def test_a_failed_refit_leaves_the_model_as_it_was(planted, case):
    model = quick(biases=True, dtype='float64').fit(
        planted.observed, planted.left_features, planted.right_features
    )

    def answers():
        return (
            *model.recommend(k=4),
            *model.similar([3], 3),
            model.score_pairs([[1, 2]]),
            model.embed_left(features=planted.left_features[:3]),
            model.recommend(features=planted.left_features[:3], k=2)[1],
        )

    before, fitted = (
        answers(),
        {name: value for name, value in vars(model).items() if name.endswith('_')},
    )
    n = len(planted.observed)
    data_of = (
        dict(
            observed=planted.observed,
            left_features=planted.left_features,
            right_features=planted.right_features,
        )
        | case
    )
    settings = data_of.pop('settings', {})
    if 'pair_weights' in data_of:
        data_of['pair_weights'] = np.full(n, data_of['pair_weights'])
    with pytest.raises((ValueError, TypeError, OSError)):
        model.set_params(**settings).fit(**data_of)
    assert fitted == {
        name: value for name, value in vars(model).items() if name.endswith('_') and name in fitted
    }
    for one, two in zip(before, answers(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_settings_changed_without_a_fit_do_not_touch_the_fitted_towers(planted):
    model = quick(left=MLP(4)).fit(planted.observed, planted.left_features)
    expected = model.embed_left(features=planted.left_features)
    model.set_params(left=MLP(9, 9), n_components=7, biases=True)
    np.testing.assert_array_equal(model.embed_left(features=planted.left_features), expected)


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_fit_that_stops_at_a_limit_says_so(planted, solver):
    "With the limit that was reached and settings that exist; not where no tolerance was asked for, or where it was reached."
    from sklearn.exceptions import ConvergenceWarning

    arguments = planted.observed, planted.left_features, planted.right_features
    with pytest.warns(
        ConvergenceWarning,
        match=r'SimilarityModel.fit did not converge: reached max_iter=2; raise max_iter, loosen tol=1e-09',
    ):
        quick(solver=solver, max_iter=2, tol=1e-9).fit(*arguments)
    with pytest.warns(ConvergenceWarning, match='reached max_epochs=.*; raise max_epochs'):
        quick(solver=solver, max_iter=None, max_epochs=1.0, tol=1e-9).fit(*arguments)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        quick(solver=solver, max_iter=2, tol=None).fit(*arguments)
        assert 'tol' in quick(solver=solver, max_iter=200, tol=0.5).fit(*arguments).run_.message


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_fit_that_diverges_says_so(planted, solver):
    "The loss overflows at the start, or after a step of a sampled solver; the remedy names settings that the model has."
    from sklearn.exceptions import ConvergenceWarning

    model, labels, ways = (
        quick(solver=solver, loss='squared', dtype='float64'),
        None,
        'use solver="adagrad"',
    )
    steps = dict(block=BlockSGD, pair=PairSGD, sogram=SOGram)
    if solver in steps:
        model._make_solver = lambda problem: steps[solver](1e200, scaling=None)
    else:
        labels, ways = np.full(len(planted.observed), 1e200), 'scale the features'
    with pytest.warns(
        ConvergenceWarning,
        match='SimilarityModel.fit did not converge: (loss is|params are) not finite (at|after)',
    ) as caught:
        model.fit(planted.observed, planted.left_features, planted.right_features, labels=labels)
    message = next(str(one.message) for one in caught if 'did not converge' in str(one.message))
    assert ways in message and 'learning_rate' not in message, message


def test_a_search_that_ends_early_says_so(planted):
    "A start so large that float32 tells no step from the point it sets out from."
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(
        ConvergenceWarning, match='did not converge: no step lowers the loss; dtype="float64"'
    ):
        quick(solver='gd', loss='squared', left=MLP(3), right=MLP(3), tol=1e-9).fit(
            planted.observed, 1e12 * planted.left_features
        )
