"""New entities: ways to score them, and the choice among them."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from refusals import refuses

from extreme_opt.similarity.cold import (
    HeldOut,
    Source,
    choose,
    choose_prior,
    cosine_source,
    hold_out,
    neighbors_source,
    regression,
    ridge_coef,
    same_columns,
    same_entities,
    spreads,
    unit_rows,
)
from extreme_opt.similarity.model import SimilarityModel
from extreme_opt.similarity.ranking import measures_of_lists, pattern
from extreme_opt.similarity.retriever import ListEstimator, Query, Retriever, read_pairs


def topics(seed=0, n=120, n_topics=6, n_new=12):
    "Pages of a few topics that link within their topic; the last are new."
    rng = np.random.default_rng(seed)
    topic = rng.integers(n_topics, size=n)
    words = rng.poisson(0.15, size=(n, 40)) + 2 * np.eye(n_topics, 40, dtype=int)[topic]
    links = np.array(
        [(i, j) for i in range(n) for j in rng.permutation(n)[:40] if topic[i] == topic[j] != i]
    )
    new = np.arange(n) >= n - n_new
    kept = ~new[links].any(axis=1)
    return words.astype(float), links[kept], links[new[links[:, 0]]], new


@pytest.fixture(scope='module')
def fitted():
    words, train, test, new = topics()
    matrix = pattern(train, (len(words), len(words)))
    model = SimilarityModel(4, cold_start='auto', exclude_self=True).fit(matrix, words, words)
    return model, words, test, new


def test_known_and_new_entities_have_one_score(fitted):
    model, words, _, new = fitted
    rows = np.flatnonzero(new)
    pairs = np.array([(i, j) for i in rows for j in range(0, len(words), 7)])
    scores = model.score_pairs(pairs)
    described = np.column_stack([pairs[:, 0] - rows[0], pairs[:, 1]])
    np.testing.assert_allclose(
        model.score_pairs(described, left_features=words[new]), scores, rtol=1e-6, atol=1e-8
    )
    ids, best = model.recommend(rows, k=5)
    at = np.column_stack([np.repeat(rows, 5), ids.ravel()])
    np.testing.assert_allclose(model.score_pairs(at), best.ravel(), rtol=1e-6, atol=1e-8)
    again, _ = model.recommend(features=words[new], k=6)
    for row, mine, theirs in zip(rows, ids, again):  # `features` cannot know the page itself
        assert [each for each in theirs if each != row][:5] == list(mine)


def test_new_entities_stand_among_the_candidates_of_old_ones(fitted):
    model, _, _, new = fitted
    ids, _ = model.recommend(np.flatnonzero(~new), k=20)
    assert new[ids].any()


def test_the_choice_is_at_least_the_best_single_source(fitted):
    model, words, test, new = fitted
    value = model.evaluate(pattern(test, (len(words),) * 2))['ndcg@20']
    kept = [row for row in model.cold_start_ if row['chosen']]
    assert {row['entities'] for row in kept} == {'warm', 'cold'}
    popular = SimilarityModel(4, cold_start='popularity', exclude_self=True)
    popular.fit(model.observed_, words, words)
    assert value > popular.evaluate(pattern(test, (len(words),) * 2))['ndcg@20'] + 0.2


def test_embeddings_of_ids_are_explained_by_features_of_one_side():
    words, train, _, new = topics()
    matrix = pattern(train, (len(words), len(words)))
    model = SimilarityModel(4, cold_start='regression', biases=True).fit(matrix, words)
    np.testing.assert_allclose(
        model.embed_left(features=words[new]), model.left_embeddings_[new], rtol=1e-4, atol=1e-5
    )
    one = SimilarityModel(4, biases=True).fit(matrix)
    warm = matrix.sum(axis=1) > 0
    np.testing.assert_allclose(model.left_embeddings_[warm], one.left_embeddings_[warm], rtol=1e-5)
    ids, scores = one.recommend(np.flatnonzero(warm), k=3)
    again, same = model.recommend(np.flatnonzero(warm), k=3)
    assert (again == ids).all() and np.argsort(same).tolist() == np.argsort(scores).tolist()
    refuses('fitted by id alone', model.embed_right, features=words)
    refuses('40 columns were fitted', model.embed_left, features=words[:, :9])


def test_names_reorder_and_a_file_keeps_the_lists(tmp_path):
    words, train, _, new = topics()
    names = np.array([f'p{i}' for i in range(len(words))])
    table = pd.DataFrame({'page': names[train[:, 0]], 'link': names[train[:, 1]]})
    described = pd.DataFrame(words, index=names, columns=[f'w{i}' for i in range(40)])
    model = SimilarityModel(4, cold_start='auto', exclude_self=True)
    model.fit(table, described, described.iloc[::-1])
    lists, scores = model.recommend(names[new], k=4)
    model.save(tmp_path / 'm.npz')
    back = SimilarityModel.load(tmp_path / 'm.npz')
    again, same = back.recommend(names[new], k=4)
    assert (again == lists).all() and (same == scores).all()
    turned = described.loc[names[new], described.columns[::-1]]
    np.testing.assert_allclose(
        back.embed_left(features=turned), model.embed_left(features=described.loc[names[new]])
    )


def test_held_out_entities_keep_no_pair():
    words, train, _, _ = topics()
    n = len(words)
    hits = np.ones(len(train), bool)
    held = hold_out(train, hits, (n, n), [words, words], True, 0)
    assert isinstance(held, HeldOut)
    out = np.flatnonzero(np.diff(held.cold.indptr))
    assert len(out) and not np.isin(train[held.train], out).any()
    both = pattern(train[held.train], (n, n)).multiply(held.warm + held.cold)
    assert both.nnz == 0


def test_neighbors_are_the_plain_sum():
    words, train, _, new = topics(n=40, n_new=5)
    observed = pattern(train, (40, 40))
    source = neighbors_source(observed, [words, words])
    unit = words / np.linalg.norm(words, axis=1, keepdims=True)
    dense, warm = observed.toarray().astype(float), np.flatnonzero(observed.sum(axis=1))
    for i in range(40):
        cosines = np.array([0.0 if j == i else unit[i] @ unit[j] for j in warm])
        least = np.sort(cosines)[-20]
        votes = np.where(cosines >= least, cosines, 0) ** 4
        np.testing.assert_allclose(
            source.sides[0][[i]].toarray()[0], dense[i] + votes @ dense[warm]
        )


def test_a_sum_has_to_gain_more_than_its_standard_error():
    words, train, test, new = topics()
    n = len(words)
    good = cosine_source([scipy.sparse.csr_array(words)] * 2)
    asked = pattern(test, (n, n))
    none = scipy.sparse.csr_array((n, n), dtype=np.int8)
    weights, table = choose(
        {'cosine': good, 'same': good}, dict(cosine=1.0, same=1.0), asked, none, 'ndcg@20'
    )
    assert len(weights) == 1 and sum(row['chosen'] for row in table) == 1


def test_warm_and_cold_add_up_and_lists_are_measured(fitted):
    model, words, test, new = fitted
    rng = np.random.default_rng(0)
    old = np.column_stack([rng.integers(100, size=60), rng.integers(100, size=60)])
    names = ('recall@5', 'coverage@5', 'novelty@5', 'diversity@5')
    asked = pattern(np.concatenate([test, old]), (len(words),) * 2)
    found = model.evaluate(asked, names, per_entity=True, interval=0.9)
    warm, cold = found['warm'], found['cold']
    n = warm['n_entities'], cold['n_entities']
    assert sum(n) == found['n_entities'] and cold['n_entities'] == found['n_unseen'] > 0
    for name in ('recall@5', 'novelty@5', 'diversity@5'):
        mean = (n[0] * warm[name] + n[1] * cold[name]) / sum(n)
        np.testing.assert_allclose(found[name], mean)
    ids = model.recommend(found['per_entity']['ids'], k=5)[0]
    assert found['coverage@5'] == len(np.unique(ids)) / len(words)
    assert 0 < found['diversity@5'] <= 1 and 'coverage@5' not in found['intervals']
    only = model.evaluate(pattern(test, (len(words),) * 2), 'recall@5')
    assert only['warm'] is None and only['cold']['recall@5'] == only['recall@5']
    assert model.evaluate(asked, 'coverage@5')['coverage@5'] == found['coverage@5']


def test_lists_as_a_data_frame():
    log = {'user': ['a', 'a', 'b', 'c', 'c'], 'film': ['x', 'y', 'x', 'z', 'x']}
    model = SimilarityModel(2).fit(pd.DataFrame(log))
    frame = model.recommend(['b', 'a'], k=2, as_frame=True)
    ids, scores = model.recommend(['b', 'a'], k=2)
    assert list(frame.columns) == ['user', 'film', 'rank', 'score']
    assert frame['user'].tolist() == ['b', 'b', 'a'] and frame['rank'].tolist() == [1, 2, 1]
    assert frame['film'].tolist() == [each for each in ids.ravel() if each is not None]
    assert frame['score'].tolist() == scores[np.isfinite(scores)].tolist()
    new = model.recommend(history=[['z'], ['y']], k=1, as_frame=True)
    assert new['user'].tolist() == [0, 1]
    plain = SimilarityModel(2).fit(np.array([[0, 0], [0, 1], [1, 0], [2, 1]]))
    assert list(plain.recommend(k=1, as_frame=True).columns) == ['left', 'right', 'rank', 'score']


def test_a_regression_does_not_mind_the_unit_of_its_features():
    words, train, _, _ = topics()
    goal = np.random.default_rng(0).normal(size=(len(words), 2)) + words[:, :2]
    one, other = (regression(unit * words, goal)(unit * words) for unit in (1e-3, 1e3))
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_rounding_is_no_spread():
    "Equal scores that differ in the last digit are not blown up to the size of the others."
    rows = np.full((5, 1), 0.1) + 1e-17 * np.arange(5)[:, None] * np.array([[1.0]])
    source = Source((np.hstack([rows, rows]), np.full((4, 2), 0.3 + 1e-16)), (None, None))
    observed = scipy.sparse.csr_array(np.ones((5, 4)))
    source.sides[1][::2] *= 1 + 1e-15
    assert 0 < source.scores(np.arange(5)).std() < 1e-12
    assert spreads({'a': source}, observed, (None, None))['warm'] == {'a': 1.0}


def test_a_search_goes_with_cold_start():
    "The fits that read features have no search; embeddings of ids have."
    words, train, _, _ = topics(n=60)
    model = SimilarityModel(
        'search',
        tol=None,
        ridge='search',
        unobserved_weight='search',
        cold_start=['towers', 'prior', 'regression'],
    ).fit(pattern(train, (60, 60)), words, words)
    assert model.search_ and model.cold_start_
    assert model.left_embeddings_.shape == (60, model.n_components_)


def test_new_entities_without_any_feature_are_named(fitted):
    model, words, _, _ = fitted
    with pytest.warns(UserWarning, match=r'left_features has 1 rows without any feature .*row 1'):
        model.recommend(features=words[:2] * [[1], [0]], k=2)


def test_weights_count_spreads_of_scores():
    words, train, _, _ = topics()
    observed, given = pattern(train, (len(words),) * 2), dict(cosine=1.0, popularity=3.0)
    mixture = SimilarityModel(4, cold_start=given).fit(observed, words, words)._mixture
    features = [scipy.sparse.csr_array(words)] * 2
    spread = spreads(mixture.sources, observed, features)['cold']
    kept = {name: weight * spread[name] for name, weight in mixture.weights['cold'].items()}
    assert kept == pytest.approx(given)


def test_ridge_from_zero_columns_and_one_row():
    coef, intercept = ridge_coef(scipy.sparse.csr_array((1, 3)), np.array([[2.0]]), 1.0)
    assert (coef == 0).all() and intercept == 2.0
    assert unit_rows(np.zeros((2, 3))).nnz == 0


@pytest.mark.parametrize(
    'setting, wrong, said',
    [
        ('regression', np.nan, 'NaN'),
        ('regression', np.inf, 'inf'),
        ('regression', 1e160, r'1e\+160'),
        ('auto', 1e160, r'1e\+160'),
    ],
)
def test_features_without_a_number_are_refused_by_their_place(setting, wrong, said):
    """At fit and later: a gap gave a list of nothing, an embedding of nan, or another list, and so
    did numbers whose squares overflow."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    pairs, bad = np.argwhere(left @ right.T > 2), left.copy()
    bad[3, 2] = wrong
    model = SimilarityModel(3, cold_start=setting, max_iter=2, tol=None)
    said = f'left_features holds {said} at row 3, column 2'
    said += r', but at most 1e\+150' if np.isfinite(wrong) else ''
    refuses(said, model.fit, pairs, left_features=bad, right_features=right)
    model.fit(pairs, left_features=left, right_features=right)
    for call in (model.recommend, model.embed_left):
        refuses(said, call, features=bad)


def test_what_the_fits_of_the_choice_say_is_said_once():
    words, train, _, _ = topics()
    matrix = pattern(train, (len(words),) * 2)
    words[0] = 0  # of which the fit itself speaks
    model = SimilarityModel(4, cold_start=['towers', 'cosine'], solver='newton', max_iter=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model.fit(matrix, words, words)
    said = [str(each.message) for each in caught]
    assert sum('in a fit that cold_start judges by' in each for each in said) == 1
    assert sum('rows without any feature' in each for each in said) == 2  # of two sides
    assert all(each.filename == __file__ for each in caught if 'cold_start' in str(each.message))


def test_a_prior_is_its_towers_and_the_cosine(tmp_path):
    words, train, test, new = topics()
    n, unit = len(words), words / np.linalg.norm(words, axis=1, keepdims=True)
    observed = pattern(train, (n, n))
    settings = dict(loss='squared', solver='newton', max_iter=5, tol=None)
    plain = SimilarityModel(4, prior='cosine', prior_weight=1.0, **settings)
    plain.fit(observed, *[scipy.sparse.csr_array(words)] * 2)  # as the twin, to the last digit
    model = SimilarityModel(4, cold_start='prior', exclude_self=True).fit(observed, words, words)
    assert set(model._mixture.weights['cold']) == {'prior', 'cosine'}
    rows = np.flatnonzero(new)
    pairs = np.column_stack([np.repeat(rows, n), np.tile(np.arange(n), len(rows))])
    wanted = plain.score_pairs(pairs)
    found = model.score_pairs(pairs)
    np.testing.assert_allclose(found / found.std(), wanted / wanted.std(), rtol=1e-3, atol=1e-4)
    residual = plain.left_embeddings_[rows] @ plain.right_embeddings_.T
    by_hand = (residual + unit[rows] @ unit.T).ravel()
    np.testing.assert_allclose(found / found.std(), by_hand / by_hand.std(), rtol=1e-3, atol=1e-4)
    described = np.column_stack([pairs[:, 0] - rows[0], pairs[:, 1]])
    again = model.score_pairs(described, left_features=words[new])
    np.testing.assert_allclose(again, found, rtol=1e-6, atol=1e-8)
    model.save(tmp_path / 'm.npz')
    back = SimilarityModel.load(tmp_path / 'm.npz')
    np.testing.assert_array_equal(back.recommend(rows, k=5)[1], model.recommend(rows, k=5)[1])
    with pytest.raises(ValueError, match='features of both sides with the same columns'):
        SimilarityModel(4, cold_start='prior').fit(observed, words, words[:, :-1])


def test_the_weight_of_a_prior_is_chosen_by_entities_that_are_held_out():
    words, train, _, _ = topics()
    observed = pattern(train, (len(words),) * 2)
    model = SimilarityModel(4, cold_start=['prior', 'popularity'], exclude_self=True)
    table = model.fit(observed, words, words).cold_start_
    tried = [row for row in table if row['scores'].startswith('prior of weight')]
    assert [row['scores'] for row in tried] == ['prior of weight 1', 'prior of weight 0.3']
    assert all(row['entities'] == 'cold' and not row['chosen'] for row in tried)
    alone = [row for row in table if (row['entities'], row['scores']) == ('cold', 'prior')]
    assert alone[0]['ndcg@20'] in [pytest.approx(row['ndcg@20']) for row in tried]


@pytest.mark.parametrize('better, weight', [(False, 1.0), (True, 0.3)])
def test_the_weight_of_a_prior_moves_for_a_clear_gain_only(better, weight):
    words, _, test, _ = topics()
    n = len(words)
    good = cosine_source([scipy.sparse.csr_array(words)] * 2)
    bad = cosine_source([scipy.sparse.csr_array(np.roll(words, 1, axis=0)), good.sides[1]])
    none = scipy.sparse.csr_array((n, n), dtype=np.int8)
    made = {1.0: bad if better else good, 0.3: good}
    chosen, table = choose_prior(made, pattern(test, (n, n)), none, 'ndcg@20')
    assert chosen == weight and len(table) == 2


def test_warm_and_cold_have_sources_of_their_own_in_one_call():
    words, train, _, new = topics()
    n, unit = len(words), words / np.linalg.norm(words, axis=1, keepdims=True)
    observed = pattern(train, (n, n))
    model = SimilarityModel(4, cold_start='cosine', exclude_self=True)
    model.fit(observed, words, words)
    assert set(model._mixture.weights['warm']) == {'regression'}
    old, cold = np.flatnonzero(~new)[[3, 50]], np.flatnonzero(new)[[0, 5]]
    asked = np.array([cold[0], old[0], cold[1], old[1]])
    lists, scores = model.recommend(asked, k=8)
    for row, mine, best in zip(asked, lists, scores):
        found = (
            unit[row] @ unit.T
            if new[row]
            else (model.left_embeddings_[row] @ model.right_embeddings_.T.astype(float))
        )
        found = np.where((observed[[row]].toarray()[0] > 0) | (np.arange(n) == row), -9, found)
        assert set(mine) == set(np.argsort(-found, kind='stable')[:8])
        alone = model.recommend([row], k=8)
        assert (alone[0][0] == mine).all() and np.allclose(alone[1][0], best)
    assert new[lists[[0, 2]]].any()  # new entities are candidates
    several = model.evaluate(np.array([[cold[0], 0], [old[0], 1]]), 'auc')
    assert several['warm']['n_entities'] == several['cold']['n_entities'] == 1


class Fixed(ListEstimator):
    "Scores that are given."

    metric, relevant, exclude_self = 'recall@2', 'auto', False

    def __init__(self, scores):
        self.scores = scores

    def fit(self, observed):
        found, reader = read_pairs(observed, 'ignore', None, None, None)
        popular = np.zeros(reader.shape[1])
        self._retriever = Retriever(reader, pattern(found.pairs, reader.shape), popular)
        return self

    def _query(self, ids=None, features=None, history=None):
        rows = ... if ids is None else self._retriever.reader.rows_of(ids, 0)
        held = self.scores if rows is ... else self.scores[rows]
        return Query(rows, len(held), lambda places: lambda at: held[at][:, places])


def test_measures_of_five_rows_by_hand():
    "Five users, five items; every number was worked out on paper."
    # pairs of the items: v 3, w 2, x 1, y 1, z 1
    log = dict(
        user=['a', 'a', 'b', 'c', 'c', 'd', 'e', 'e'], item=['v', 'w', 'v', 'v', 'x', 'w', 'y', 'z']
    )
    scores = np.array(
        [
            [9.0, 8, 1, 3, 2],  # a: y z x
            [9.0, 1, 5, 4, 0],  # b: x y w z
            [9.0, 2, 9, 2, 2],  # c: w, y and z are level
            [1.0, 9, 2, 3, 4],  # d: z y x v
            [1.0, 2, 3, 9, 9],  # e: x w v
        ]
    )
    # (d, w) was seen, zoe is unknown
    test = dict(
        user=['a', 'a', 'b', 'c', 'd', 'e', 'e', 'd', 'zoe'],
        item=['y', 'x', 'w', 'z', 'x', 'w', 'v', 'w', 'v'],
    )
    names = [f'{name}@2' for name in ('recall', 'ndcg', 'map', 'mrr', 'hit_rate', 'precision')]
    names += ['mean_precision@2', 'auc', 'coverage@2', 'novelty@2', 'diversity@2']
    model = Fixed(scores).fit(log)
    found = model.evaluate(test, names, unknown='ignore', per_entity=True)
    each, second = found['per_entity'], 1 / np.log2(3)
    assert each['ids'].tolist() == ['a', 'b', 'c', 'd', 'e']
    sure = [0, 1, 3, 4]  # c is drawn: the three are level
    hand = {
        'recall@2': [1 / 2, 0, 0, 1 / 2],
        'ndcg@2': [1 / (1 + second), 0, 0, second / (1 + second)],
        'map@2': [1 / 2, 0, 0, 1 / 4],
        'mrr@2': [1, 0, 0, 1 / 2],
        'hit_rate@2': [1, 0, 0, 1],
        'precision@2': [1 / 2, 0, 0, 1 / 2],
        'mean_precision@2': [3 / 4, 0, 0, 1 / 4],
        'auc': [1 / 2, 1 / 3, 1 / 3, 0],
    }
    for name, values in hand.items():
        np.testing.assert_allclose(each[name][sure], values, err_msg=name)
    assert each['auc'][2] == 1 / 2  # level with both others
    bits = dict(v=-np.log2(4 / 6), w=-np.log2(3 / 6), x=1.585, y=1.585, z=1.585)
    lists = dict(a='yz', b='xy', d='zy', e='xw')
    novelty = [np.mean([bits[item] for item in lists[user]]) for user in 'abde']
    np.testing.assert_allclose(each['novelty@2'][sure], novelty, atol=1e-3)
    # y and z have the one user e; x has c; w has a and d
    np.testing.assert_allclose(each['diversity@2'][sure], [0, 1, 0, 1], atol=1e-12)
    assert found['coverage@2'] == 4 / 5  # v stands in none
    assert found['left_out'] == dict(unknown=1, not_relevant=0, seen=1)
    assert (found['n_entities'], found['n_pairs'], found['n_unseen']) == (5, 7, 0)
    frame = model.recommend(['d', 'b'], k=2, as_frame=True)
    assert frame.to_numpy().tolist() == [
        ['d', 'z', 1, 4.0],
        ['d', 'y', 2, 3.0],
        ['b', 'x', 1, 5.0],
        ['b', 'y', 2, 4.0],
    ]


def test_columns_of_both_sides_go_by_their_names():
    "A cosine of columns by their place gave other lists when one table had another order."
    words, train, _, _ = topics(n=40, n_new=5)
    names = [f'w{i}' for i in range(words.shape[1])]
    left = pd.DataFrame(words, columns=names)
    turned, other = left.iloc[:, ::-1], left.rename(columns={'w3': 'x3'})
    observed = pattern(train, (40, 40))
    pairs = np.array([[36, 1], [38, 30]])  # of new pages
    for settings in (dict(prior='cosine'), dict(cold_start='prior'), dict(cold_start='cosine')):
        model = SimilarityModel(4, max_iter=2, tol=None, **settings)
        same = model.fit(observed, left, left).score_pairs(pairs)
        np.testing.assert_array_equal(model.fit(observed, left, turned).score_pairs(pairs), same)
        by_features = model.score_pairs(pairs, right_features=left.iloc[:, ::-1])
        np.testing.assert_allclose(by_features, same, rtol=1e-4, atol=1e-5)
        refuses('the same columns', model.fit, observed, left, other)
    chosen = SimilarityModel(4, cold_start='auto').fit(observed, left, other).cold_start_
    assert not any('cosine' in row['scores'] or 'prior' in row['scores'] for row in chosen)


def test_gaps_are_named_by_the_row_of_the_table_that_was_given():
    "Rows were counted in the order of the pairs."
    log = dict(user=['d', 'a', 'c', 'b'], film=['x', 'y', 'x', 'z'])
    table = pd.DataFrame(dict(user=['a', 'b', 'c', 'd'], age=[1.0, np.nan, 3, 4]))
    for settings in (dict(), dict(cold_start='regression')):
        with pytest.raises(ValueError, match='left_features holds NaN at row 1, column 0'):
            SimilarityModel(2, **settings).fit(log, table)
    with pytest.warns(UserWarning, match=r'left_features has 1 rows .* \(first: row 2\)'):
        SimilarityModel(2, max_iter=1, tol=None).fit(log, table.assign(age=[1, 2, 0, 4]))


def test_measures_of_lists_by_hand():
    "Item 0 is an item, -1 is none."
    observed = scipy.sparse.csr_array([[1, 1, 0], [1, 0, 0]])
    lists = np.array([[0, 1], [2, -1], [0, -1], [-1, -1]])
    found = measures_of_lists(lists, observed, ('coverage@2', 'novelty@2', 'diversity@2'))
    bits = -np.log2(np.array([3, 2, 1]) / 3)
    assert found['coverage@2'] == 1
    np.testing.assert_allclose(found['novelty@2'], [bits[:2].mean(), bits[2], bits[0], np.nan])
    np.testing.assert_allclose(found['diversity@2'], [1 - 0.5**0.5] + 3 * [np.nan])


def test_whether_two_sides_are_the_same():
    rows, words = np.eye(2), ['a', 'b']
    for ids, same in ((None, None), True), ((words, words), True), ((words, words[::-1]), False):
        assert same_entities(ids, (rows, rows), (2, 2)) is same
    for names, same in ((None, words), True), ((words, words), True), ((words, ['c', 'd']), False):
        assert same_columns((rows, rows), names) is same
