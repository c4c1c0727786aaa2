"""Lists from a table of items: cosines, a random walk, a regression in closed form."""

import re

import numpy as np
import pytest
import scipy.sparse
from refusals import no_warning, refuses
from sklearn.base import clone

import extreme_opt.core.memory
from extreme_opt.similarity import EASE, ItemNeighbors, RP3beta, SimilarityModel
from extreme_opt.similarity.ranking import largest_of_rows, pattern


def some_pairs(seed=0, n_left=40, n_right=12, n=150):
    "Pairs, and a matrix of weights at them."
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.choice(n_left * n_right, n, replace=False))
    pairs = np.column_stack(np.divmod(keys, n_right))
    weights = rng.integers(1, 5, size=n).astype(float)
    matrix = scipy.sparse.csr_array((weights, (*pairs.T,)), shape=(n_left, n_right))
    return pairs, matrix


def best_of(rows, k):
    "Each row with all but its k largest entries 0; entries of one size stay together."
    return np.where(rows >= np.sort(rows, axis=1)[:, -k, None], rows, 0)


def by_hand(model, X):
    "The table of a model by its formula, dense."
    own = np.eye(X.shape[1], dtype=bool)
    if isinstance(model, EASE):
        P = np.linalg.inv(X.T @ X + model.ridge_ * np.eye(X.shape[1]))
        return np.where(own, 0, -P / np.diag(P))
    if isinstance(model, ItemNeighbors):
        lengths = np.linalg.norm(X, axis=0)
        table = X.T @ X / (np.outer(lengths, lengths) + model.shrinkage)
        return best_of(np.where(own, 0, table), model.n_neighbors).T
    there, back = X / np.maximum(X.sum(1, keepdims=True), 1), X.T / X.sum(0)[:, None]
    table = back**model.alpha @ there**model.alpha / X.sum(0) ** model.beta
    return best_of(np.where(own, 0, table), model.n_neighbors)


MODELS = [EASE(3.0), EASE(0.1), ItemNeighbors(4), ItemNeighbors(5, shrinkage=7.0), RP3beta(6)]
MODELS.append(RP3beta(4, alpha=0.7, beta=0.2))


@pytest.mark.parametrize('values', ['ignore', 'weights'])
@pytest.mark.parametrize('model', MODELS, ids=repr)
def test_tables_are_the_plain_formulas(model, values):
    pairs, matrix = some_pairs()
    X = (matrix > 0).toarray().astype(float) if values == 'ignore' else matrix.toarray()
    model = clone(model).set_params(values=values).fit(matrix)
    table = model.item_weights_
    dense = table.toarray() if scipy.sparse.issparse(table) else table
    np.testing.assert_allclose(dense, by_hand(model, X), rtol=1e-5, atol=1e-7)
    scores = X @ dense
    np.testing.assert_allclose(model.score_pairs(pairs), scores[(*pairs.T,)], rtol=1e-6, atol=1e-9)
    ids, best = model.recommend([3, 7], k=4)
    free = np.where(X > 0, -np.inf, scores)[[3, 7]]
    np.testing.assert_allclose(best, np.sort(free, axis=1)[:, :-5:-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(free, ids, 1), best, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize('model', MODELS[::2], ids=repr)
def test_a_history_is_a_row(model):
    pairs, _ = some_pairs()
    log = {'user': [f'u{i}' for i in pairs[:, 0]], 'film': [f'f{j:02d}' for j in pairs[:, 1]]}
    model = clone(model).fit(log)
    users = model.left_ids_[:3]
    own = [[f for u, f in zip(log['user'], log['film']) if u == name] for name in users]
    lists, scores = model.recommend(users, k=5)
    again, same = model.recommend(history=own, k=5)
    assert (again == lists).all()
    np.testing.assert_allclose(same, scores)
    kept = model.recommend(users, k=12, candidates=['f00', 'f03'], exclude_seen=False)[0]
    assert {each for each in kept.ravel() if each is not None} <= {'f00', 'f03'}
    refuses("left id 'eve' at place 0 is unknown", model.recommend, ['eve'])
    refuses('knows pairs only; SimilarityModel', model.recommend, features=np.eye(3))
    refuses('index needs embeddings', model.recommend, users, index=True)
    refuses('ids and history are both given', model.recommend, users, history=own)
    with pytest.warns(UserWarning, match='1 histories are empty'):
        popular = model.recommend(history=[[]], k=1, exclude_seen=False)[0]
    names, counts = np.unique(log['film'], return_counts=True)
    assert counts[names == popular[0, 0]] == counts.max()


def test_labels_of_no_are_no_pairs():
    pairs, _ = some_pairs()
    yes = np.random.default_rng(1).random(len(pairs)) < 0.7
    one = ItemNeighbors(5, values='labels').fit(pairs, labels=np.where(yes, 1, -1))
    other = ItemNeighbors(5).fit(pattern(pairs[yes], one.observed_.shape))
    np.testing.assert_allclose(one.item_weights_.toarray(), other.item_weights_.toarray())
    assert one.observed_.nnz == len(pairs)  # a pair that said no is not listed again


@pytest.mark.parametrize('model', [EASE(), ItemNeighbors(), RP3beta()], ids=repr)
def test_lists_of_those_who_have_dislikes_alone_say_nothing(model):
    "All of their scores are 0; they have pairs, but none that counts."
    pairs = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [2, 0], [2, 2]])
    model = clone(model).set_params(values='labels').fit(pairs, labels=[1, 1, 1, 1, -1, -1])
    with pytest.warns(UserWarning, match=r'1 left ids had no pair with a label above 0 in the fit'):
        assert not model.recommend(k=1)[1][2].any()
    with no_warning():
        model.recommend([0, 1])


@pytest.mark.parametrize('size', [1e-300, 1e-16, 1e16, 1e300])
@pytest.mark.parametrize(
    'model', [EASE(), ItemNeighbors(), RP3beta(), SimilarityModel(2)], ids=repr
)
def test_weights_that_cannot_be_squared_are_refused(model, size):
    pairs, matrix = some_pairs()
    model = clone(model).set_params(values='weights')
    text = re.escape(f'the largest weight of a pair is {4 * size:g}, but from 1e-15 to 1e+15')
    refuses(text, model.fit, matrix * size)
    weights = np.where(np.arange(len(pairs)) % 2, 1.0, 1e-40)  # some may be next to nothing
    assert np.isfinite(model.fit(pairs, pair_weights=weights).recommend([0], 2)[1]).all()


@pytest.mark.parametrize(
    'model', [EASE(), ItemNeighbors(2), RP3beta(2), SimilarityModel(2)], ids=repr
)
def test_what_other_libraries_were_asked_to_mend(model):
    """Public reports of implicit (item 0 missing, liked items listed, lists of another length with
    filters), LensKit (repeated pairs, an ideal list longer than k, users without a test pair) and
    Surprise (ids as text)."""
    pairs, matrix = some_pairs(n=180)
    has = matrix.toarray() > 0
    model = clone(model).fit(pairs)
    ids = model.recommend(k=12)[0]
    for row, own in zip(ids, has):
        # all others, and no liked one
        assert sorted(row[row >= 0]) == np.flatnonzero(~own).tolist()
    assert model.recommend(k=4, filter_items=[1, 2])[0].shape == (40, 4)
    few = model.recommend([0], k=6, candidates=[0, 3, 5])[0][0]
    assert set(few) == {j for j in (0, 3, 5) if not has[0, j]} | {-1}
    everything, scores = model.recommend([3], k=12, exclude_seen=False)
    assert sorted(everything[0]) == list(range(12))
    same = model.score_pairs(np.column_stack([np.full(12, 3), everything[0]]))
    np.testing.assert_allclose(same, scores[0], rtol=1e-4, atol=1e-6)
    again = clone(model).fit(np.vstack([pairs, pairs[:50]]))
    np.testing.assert_allclose(again.score_pairs(pairs), model.score_pairs(pairs), atol=1e-6)
    test = scipy.sparse.csr_array(np.where(np.arange(40)[:, None] == 0, ~has, False).astype(int))
    found = model.evaluate(test, ('ndcg@2', 'recall@2'))
    assert found['n_entities'] == 1 and found['ndcg@2'] == 1
    texts = {'user': pairs[:, 0].astype(str), 'item': pairs[:, 1].astype(str)}
    with pytest.raises(ValueError, match="ids were fitted as text .* and these are whole numbers"):
        clone(model).fit(texts).recommend([3])


def test_the_ridge_of_ease_is_the_best_that_was_tried():
    pairs, matrix = some_pairs(n_left=300, n=1200)
    model = EASE(metric='ndcg@3').fit(matrix)
    tried = model.validation_scores_
    assert len(tried) >= 3 and model.ridge_ == max(tried, key=tried.get)
    again = EASE(model.ridge_).fit(matrix)
    assert (again.item_weights_ == model.item_weights_).all() and not again.validation_scores_
    assert EASE().fit(np.array([[0, 0], [1, 1]])).ridge_ > 0  # nothing can be held out


def test_a_table_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(extreme_opt.core.memory, 'free_memory', lambda: 10**8)
    pairs = np.array([[0, 0], [1, 4_999], [1, 0]])
    with pytest.raises(MemoryError, match='EASE.fit of 5000 right entities needs about 0.617 GB'):
        EASE().fit(pairs)
    assert ItemNeighbors().fit(pairs).recommend([0], k=1)[0].tolist() == [[4_999]]
    monkeypatch.setattr(extreme_opt.core.memory, '_ALWAYS_FREE', 0)
    monkeypatch.setattr(extreme_opt.core.memory, 'free_memory', lambda: 10)
    with pytest.raises(MemoryError, match='a table of the 2 nearest of 3'):
        ones = scipy.sparse.csr_array(np.ones((3, 3)))
        largest_of_rows(ones, ones, lambda near, rows, columns: near, 2)


@pytest.mark.parametrize(
    ('model', 'words'),
    [
        (EASE(0), r'ridge=0 is neither a number in \(0, 1e\+30\]'),
        (EASE(1e308), r'ridge=1e\+308 is neither a number in'),
        (EASE('best'), "ridge='best'"),
        (ItemNeighbors(0), 'n_neighbors=0'),
        (ItemNeighbors(shrinkage=-1), 'shrinkage=-1'),
        (RP3beta(alpha=0), 'alpha=0'),
        (RP3beta(alpha=300.0), r'alpha=300.0 is outside \(0, 10\]'),
        (RP3beta(beta=10**30), r'beta=10+ is outside \[0, 10\]'),
        (RP3beta(beta=np.nan), 'beta=nan'),
    ],
    ids=repr,
)
def test_settings_that_mean_nothing(model, words):
    refuses(words, model.fit, np.array([[0, 0], [1, 1]]))
    refuses('not fitted yet; call fit first', model.recommend)
    with pytest.raises(AttributeError, match='not fitted yet and has no left_ids_'):
        _ = model.left_ids_


def test_a_fit_of_nothing_is_refused():
    refuses('observed has 0 pairs', lambda: EASE().fit(np.empty((0, 2), int)))
    for model in (EASE(), ItemNeighbors(), RP3beta()):
        refuses('no pair has a label above 0', model.fit, [[0, 0], [1, 1]], labels=[0, -1])


@pytest.mark.parametrize('kind', [ItemNeighbors, RP3beta])
def test_a_million_items_with_few_pairs(kind):
    "A row of all items for each item would be 10**12 numbers."
    cells = np.ones(4), ([0, 0, 1, 1], [0, 999_999, 999_999, 5])
    model = kind().fit(scipy.sparse.csr_array(cells, shape=(2, 10**6)))
    assert model.recommend([0], k=1)[0].tolist() == [[5]]
