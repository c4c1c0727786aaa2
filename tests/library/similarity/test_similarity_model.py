"""The estimator of two towers: what goes in, what comes out, what is refused, and that it is worth
its name."""

import datetime
import functools
import importlib
import itertools
import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from refusals import no_warning, refuses
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from extreme_opt import data, similarity
from extreme_opt.core import FitDiverged
from extreme_opt.core.serialize import load_model, save_model
from extreme_opt.similarity import (
    EASE,
    MLP,
    AllPairs,
    BlockSGD,
    Linear,
    PairSGD,
    SimilarityModel,
    SOGram,
    rank_measures,
)
from extreme_opt.similarity.all_pairs import low_rank_factors
from extreme_opt.similarity.defaults import SOLVERS, auto_ridge, penalty_scale
from extreme_opt.similarity.fold_in import _square_of
from extreme_opt.similarity.interactions import read_interactions
from extreme_opt.similarity.ranking import MEASURES, measures_by_row, pattern
from extreme_opt.similarity.validation import clear_gain, double_or_halve


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
        **dict(n_components=3, left=Linear(), right=Linear(), max_iter=3, tol=None)
        | (dict(loss='squared') if settings.get('solver') == 'als' else {})
        | settings
    )


def inputs(planted, solver):
    "Features of both sides, for solvers that can do with them."
    return () if solver == 'als' else (planted.left_features, planted.right_features)


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
    once, twice = (
        quick(values='weights', loss='squared', dtype='float64').fit(np.repeat(pairs, n, axis=0))
        for n in (1, 2)
    )
    by_weight = quick(loss='squared', dtype='float64').fit(
        pairs, pair_weights=np.full(len(pairs), 2.0)
    )
    np.testing.assert_array_equal(twice.left_embeddings_, by_weight.left_embeddings_)
    assert (once.left_embeddings_ != twice.left_embeddings_).any()
    refuses('values="labels" needs a value column', quick(values='labels').fit, pairs)
    refuses("values='stars' is not one of", quick(values='stars').fit, matrix)
    with pytest.raises(ValueError, match='observed holds nan in row 1, column 2'):
        quick().fit(sparse.csr_array([[1.0, 0, 0], [0, 1, np.nan]]))


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


def test_early_stopping_continues_from_a_checkpoint(planted, tmp_path):
    settings = dict(validation=0.2, metric='ndcg@5', n_iter_no_change=2)
    whole = quick(max_iter=30, **settings).fit(planted.observed)
    for max_iter in (2, 30):
        parts = quick(max_iter=max_iter, checkpoint=tmp_path / 'run', **settings)
        parts.fit(planted.observed)
    assert parts.best_iter_ == whole.best_iter_ and parts.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(parts.left_embeddings_, whole.left_embeddings_)


def test_an_entity_without_features_is_named(planted):
    features = np.where(np.arange(50)[:, None] == 7, 0.0, planted.left_features)
    for rows in (features, sparse.csr_array(features)):
        with pytest.warns(
            UserWarning, match=r'left_features has 1 rows without any feature \(first: row 7\)'
        ):
            quick().fit(planted.observed, rows, planted.right_features)


@pytest.mark.parametrize(
    'call, text',
    [
        (lambda p, m: m.recommend([50]), 'left id 50 at place 0 is unknown; .* from 0 to 49'),
        (lambda p, m: m.similar([-1]), 'right id -1 at place 0 is unknown'),
        (lambda p, m: m.similar([1], side='up'), "side='up' is neither"),
        (lambda p, m: m.recommend([0.5]), 'a list of integers is needed'),
        (lambda p, m: m.recommend([0], k=0), 'k=0 is not a whole number from 1 up'),
        (lambda p, m: m.score_pairs([1, 2]), r'pairs has shape \(2,\)'),
        (lambda p, m: m.embed_left([0], features=p.left_features), 'ids and features are both'),
        (lambda p, m: m.embed_left(features=np.ones((2, 7))), '7 columns, but 8 were fitted'),
        (lambda p, m: m.embed_left(features=np.full((2, 8), np.nan)), 'holds NaN at row 0'),
        (lambda p, m: m.recommend([0], history=[1]), 'ids and history are both given'),
        (lambda p, m: m.recommend(history=[30]), 'right id 30 at place 0 is unknown'),
        (lambda p, m: m.recommend(history='i1'), "history='i1' is no list"),
        (lambda p, m: m.recommend([0], candidates=[99]), 'right id 99 at place 0'),
        (lambda p, m: m.recommend([0], filter_items=[-1]), 'right id -1 at place 0'),
        (lambda p, m: m.recommend(np.arange(50) < 3), r'a mask .* such as model.left_ids_\[mask\]'),
        (lambda p, m: m.recommend([0], candidates=np.arange(30) < 20), 'right ids are a mask'),
        (lambda p, m: m.recommend(history=np.arange(30) < 3), 'right ids are a mask|row of 30'),
        (lambda p, m: m.recommend(history=np.eye(30)[:1]), 'a row of 30 entries, one for each'),
        (lambda p, m: m.recommend(history=np.eye(30, dtype=int)), 'a row of 30 entries'),
        (lambda p, m: quick().fit(p.observed).recommend([0], index=True), 'call build_index'),
        (lambda p, m: m.evaluate(p.test_observed, unknown='no'), "unknown='no'"),
        (lambda p, m: m.evaluate(p.test_observed, interval=2), 'interval=2 is not'),
        (lambda p, m: m.evaluate([('a', 'b')]), 'test has ids, but the fit had row'),
        (lambda p, m: m.evaluate([[0, 99]]), 'right id 99 at place 0'),
        (lambda p, m: m.evaluate(sparse.csr_array((3, 3), dtype=float)), 'test has shape'),
        (lambda p, m: m.evaluate(p.test_observed, ['recall']), "measure 'recall' is not known"),
        (lambda p, m: quick().recommend([0]), 'is not fitted yet'),
        (
            lambda p, m: quick().fit(p.observed).embed_left(features=np.ones((2, 3))),
            'were fitted by id alone',
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(planted, fitted, call, text):
    refuses(text, call, planted, fitted, raises=(ValueError, TypeError))


def test_lists_from_an_index(fitted, biased, planted):
    pytest.importorskip('faiss', reason="needs the extra `ann`: pip install 'extreme_opt[ann]'")
    cases = [dict(), dict(ids=[7, 2], k=3), dict(exclude_seen=False, k=40)]
    cases += [dict(features=planted.left_features[:4], k=5)]
    for model, settings in itertools.product((biased, fitted), cases):
        index = model.build_index(n_links=8)
        ids, scores = model.recommend(**settings, index=index)
        exact, best = model.recommend(**settings)
        # thirty entities, a graph of eight links each
        assert ids.shape == exact.shape and np.mean(ids == exact) > 0.97
        np.testing.assert_allclose(scores[ids == exact], best[ids == exact], rtol=1e-5, atol=1e-6)
    popular = np.argsort(-np.bincount(planted.observed[:, 1]))[:12]
    for hidden in (popular, popular[:6]):  # more than k: exact
        found = fitted.recommend(k=5, filter_items=hidden, index=index)
        for one, other in zip(found, fitted.recommend(k=5, filter_items=hidden)):
            np.testing.assert_array_equal(one, other)
    other = quick().fit(planted.observed)
    for settings in (dict(), dict(filter_items=popular)):
        refuses('built for another fit', other.recommend, [0], index=index, **settings)


def test_a_missing_index_library_is_named(fitted, monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'faiss', None)
    refuses(r"pip install 'extreme_opt\[ann\]'", fitted.build_index, raises=ImportError)


@pytest.mark.parametrize('kind', ['bool', 'int8', 'uint8', 'int64', 'float64'])
def test_labels_of_zero_and_one_mean_minus_and_plus_one(planted, kind):
    pairs = planted.observed
    likes = np.random.default_rng(0).random(len(pairs)) < 0.6
    by_bits, by_signs = (
        quick(dtype='float64').fit(pairs, labels=labels)
        for labels in (likes.astype(kind), 2.0 * likes - 1)
    )
    np.testing.assert_array_equal(by_bits.left_embeddings_, by_signs.left_embeddings_)
    as_is, weighted = (
        quick(loss='squared', dtype='float64').fit(pairs, labels=labels)
        for labels in (likes.astype(kind), likes.astype(float))
    )
    np.testing.assert_array_equal(as_is.left_embeddings_, weighted.left_embeddings_)


@pytest.mark.parametrize('loss', ['auto', 'squared', 'logistic'])
@pytest.mark.parametrize('dislike', [0, -1, False])
def test_dislikes_alone_are_refused(planted, loss, dislike):
    pairs = planted.observed
    with pytest.raises(ValueError, match='no pair has a label above 0.*likes are 1 and dislikes 0'):
        quick(loss=loss).fit(pairs, labels=np.full(len(pairs), dislike))
    quick(loss=loss).fit(pairs, labels=np.append(np.full(len(pairs) - 1, dislike), 1))


def test_features_as_lists_and_in_every_sparse_format(planted):
    pairs, features, right = planted.observed, planted.left_features, planted.right_features
    matrix = sparse.csr_array((np.full(len(pairs), 5.0), pairs.T), shape=(50, 30))
    expected = quick(dtype='float64').fit(pairs, features, right).left_embeddings_
    cases = [(pairs, features.tolist()), (pairs, sparse.coo_array(features))]
    cases += [(pairs, sparse.csc_matrix(features)), (matrix, sparse.csr_array(features))]
    for observed, left in cases:
        found = quick(dtype='float64').fit(observed, left, right.tolist())
        np.testing.assert_allclose(found.left_embeddings_, expected, rtol=1e-6, atol=1e-9)
        got = found.embed_left(features=features[:2].tolist())
        np.testing.assert_allclose(got, expected[:2], rtol=1e-6, atol=1e-9)
    for bad, text in (
        ([[1.0, 2.0], [1.0]], 'rows of different lengths'),
        ([['a', 'b']] * 50, 'but numbers are needed'),
        (3.0, 'rows of numbers'),
    ):
        refuses(f'left_features .*{text}', quick().fit, pairs, bad, right)


@pytest.fixture(scope='module')
def biased(planted):
    return quick(biases=True, n_components=4, max_iter=5, dtype='float64').fit(
        planted.observed, planted.left_features, planted.right_features
    )


def test_biases_stay_apart(biased, planted):
    """Embeddings have the asked-for width; scores are inner products and both biases; neighbors do
    not look at biases."""
    P = biased.left_embeddings_
    Q = biased.right_embeddings_
    p = biased.left_biases_
    q = biased.right_biases_
    assert P.shape == (50, 4) and Q.shape == (30, 4) and p.shape == (50,) and q.shape == (30,)
    scores = P @ Q.T + p[:, None] + q
    settings = dict(n_components=4, left=Linear(), right=Linear(), biases=True)
    problem = AllPairs(planted.observed, planted.left_features, planted.right_features, **settings)
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
    for side, rows in (('left', P), ('right', Q)):
        unit = rows / np.linalg.norm(rows, axis=1)[:, None]
        near = unit @ unit.T
        np.fill_diagonal(near, -np.inf)
        ids, cosines = biased.similar([2, 5], 4, side)
        np.testing.assert_array_equal(ids, np.argsort(-near[[2, 5]], axis=1, kind='stable')[:, :4])
        np.testing.assert_allclose(cosines, np.take_along_axis(near[[2, 5]], ids, 1), rtol=1e-10)


def test_new_entities_have_biases_too(biased, planted):
    left, right = planted.left_features, planted.right_features
    close = functools.partial(np.testing.assert_allclose, rtol=1e-8)
    close(biased.embed_left(features=left[:6]), biased.left_embeddings_[:6])
    close(biased.embed_right(features=right), biased.embed_right())
    new = biased.score_pairs([[2, 3]], left_features=left, right_features=right)
    close(new, biased.score_pairs([[2, 3]]))
    found = biased.recommend(features=left[:6], k=4)[1]
    close(found, biased.recommend(np.arange(6), 4, exclude_seen=False)[1])


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
    with pytest.raises(ValueError, match='had 50 left entities and this one has 40; keep'):
        model.fit(sparse.csr_array(np.eye(40, 30)))


def test_warm_start_names_what_does_not_fit(planted):
    model = quick(warm_start=True).fit(planted.observed, planted.left_features)
    with pytest.raises(ValueError, match='had 8 columns in left_features and this one has 7'):
        model.fit(planted.observed, planted.left_features[:, :7])
    refuses('over columns and this one has .* over ids in order', model.fit, planted.observed)
    rows = planted.left_features[np.r_[0:50, 0:5]]
    # a new row of features needs no new parameters
    model.fit(np.vstack([planted.observed, [[54, 3]]]), rows)
    assert len(model.left_embeddings_) == 55


def test_settings_changed_without_a_fit_do_not_touch_the_fitted_towers(planted):
    model = quick(left=MLP(4)).fit(planted.observed, planted.left_features)
    expected = model.embed_left(features=planted.left_features)
    model.set_params(left=MLP(9, 9), n_components=7, biases=True)
    np.testing.assert_array_equal(model.embed_left(features=planted.left_features), expected)


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_fit_that_stops_at_a_limit_says_so(planted, solver):
    """With the limit that was reached and settings that exist; not where no tolerance was asked
    for, or where it was reached."""
    arguments = planted.observed, *inputs(planted, solver)
    with pytest.warns(
        ConvergenceWarning, match='reached max_iter=2; raise max_iter, loosen tol=1e-09'
    ):
        quick(solver=solver, max_iter=2, tol=1e-9).fit(*arguments)
    with pytest.warns(ConvergenceWarning, match='reached max_epochs=.*; raise max_epochs'):
        quick(solver=solver, max_iter=None, max_epochs=1.0, tol=1e-9).fit(*arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        quick(solver=solver, max_iter=2, tol=None).fit(*arguments)
        assert 'tol' in quick(solver=solver, max_iter=200, tol=0.5).fit(*arguments).run_.message
    # so few steps of some solvers end above scores that are all zero, which is always told
    assert all('of scores that are all zero' in str(each.message) for each in caught)


@pytest.mark.parametrize('solver', [solver for solver in SOLVERS if solver != 'als'])
def test_a_fit_that_diverges_says_so(planted, solver):
    """The loss overflows at the start, or after a step of a sampled solver; the remedy names
    settings that the model has."""
    model = quick(solver=solver, loss='squared', dtype='float64')
    labels = None
    ways = 'use solver="adagrad"'
    steps = dict(block=BlockSGD, pair=PairSGD, sogram=SOGram)
    if solver in steps:
        model._make_solver = lambda problem: steps[solver](1e200, scaling=None)
    else:
        labels, ways = np.full(len(planted.observed), 1e200), 'scale the features'
    with pytest.raises(FitDiverged, match='SimilarityModel: the fit diverged a') as error:
        model.fit(planted.observed, *inputs(planted, solver), labels=labels)
    message = str(error.value)
    assert not hasattr(model, 'run_') and ways in message and 'learning_rate' not in message, (
        message
    )


def test_a_search_that_ends_early_says_so(planted):
    "A start so large that float32 tells no step from the point it sets out from."
    with pytest.warns(
        ConvergenceWarning, match='did not converge: no step lowers the loss; dtype="float64"'
    ):
        quick(solver='gd', loss='squared', left=MLP(3), right=MLP(3), tol=1e-9).fit(
            planted.observed, 1e12 * planted.left_features
        )


NAMES = [f'u{i:02d}' for i in range(50)], [f'i{j:02d}' for j in range(30)]


def table_of(pairs, **more):
    "The pairs as a table of names, with columns in another order than the rows are sorted."
    left, right = NAMES
    return {'user': [left[i] for i in pairs[:, 0]], 'item': [right[j] for j in pairs[:, 1]]} | more


def test_the_usual_number_of_alternating_steps_is_no_limit_to_warn_of(planted):
    with no_warning():
        assert SimilarityModel(3, tol=1e-12).fit(planted.observed).run_.status == 'max_iter'


def test_towers_are_linear_unless_told_otherwise(planted):
    model = SimilarityModel(3, max_iter=2, tol=None).fit(planted.observed)
    assert SimilarityModel().left == SimilarityModel().right == 'auto'
    assert model._towers[0]['shape']['linear'] and model.run_.state.params.size == 3 * 80
    explicit = quick(max_iter=2).fit(planted.observed)
    np.testing.assert_array_equal(model.left_embeddings_, explicit.left_embeddings_)


def forms(table):
    "A table in every form at hand."
    yield table
    yield pd.DataFrame(table)
    for name, make in (('polars', 'DataFrame'), ('pyarrow', 'table')):
        try:
            yield getattr(importlib.import_module(name), make)(table)
        except ImportError:
            pass


def tables(log):
    "The same log in every form, also without names of columns."
    pairs = list(zip(log['user'], log['item']))
    yield from forms(log)
    yield pd.DataFrame(log).astype({'user': 'category', 'item': 'string'})
    yield from (pairs, np.array(pairs), np.array(pairs, object))


def test_tables_of_every_kind_give_the_same_model(planted):
    log = table_of(np.vstack([planted.observed, planted.observed[:3]]))
    known = [np.unique(planted.observed[:, side]) for side in (0, 1)]
    dense = np.column_stack([np.searchsorted(known[s], planted.observed[:, s]) for s in (0, 1)])
    expected = quick(dtype='float64').fit(dense)
    for table in tables(log):
        model = quick(dtype='float64').fit(table)
        np.testing.assert_array_equal(model.left_ids_, np.array(NAMES[0])[known[0]])
        np.testing.assert_allclose(model.left_embeddings_, expected.left_embeddings_, rtol=1e-9)
        ids, scores = model.recommend(['u07', 'u02'], 4)
        rows = np.searchsorted(known[0], [7, 2])
        places, best = expected.recommend(rows, 4)
        np.testing.assert_array_equal(ids, np.array(NAMES[1])[known[1]][places])
        np.testing.assert_allclose(scores, best, rtol=1e-9)
        near = model.similar('i03', 3)[0]
        assert near.shape == (1, 3) and set(near[0]) <= set(NAMES[1]) - {'i03'}
        np.testing.assert_allclose(
            model.score_pairs([('u07', ids[0, 0])]), scores[0, :1], rtol=1e-9
        )
        np.testing.assert_allclose(
            model.score_pairs({'user': ['u07'], 'item': [ids[0, 0]]}), scores[0, :1], rtol=1e-9
        )


def test_ids_of_any_kind_come_back():
    "Integers with gaps, tuples, mixed types, floats that are whole, dates."
    for left in (
        [10**9, 5, 10**9, 7],
        [('a', 1), ('b', 2), ('a', 1), ('c', 3)],
        ['x', 4, 'x', None.__class__],
        [2.0, 1.0, 2.0, 3.0],
        list(pd.to_datetime(['2020-01-02', '2020-01-01', '2020-01-02', '2020-01-03'])),
    ):
        column = np.empty(4, object)
        column[:] = left
        for observed in (
            {'who': column, 'what': [3, 8, 8, 3]},
            {'who': left, 'what': [3, 8, 8, 3]},
            list(zip(left, ['p', 'q', 'q', 'p'])),
        ):
            model = quick(n_components=1).fit(observed)
            assert set(model.left_ids_.tolist()) == set(left) and len(model.left_embeddings_) == 3
            for ids in ([left[0]], column[:1]):
                assert model.recommend(ids, 1)[0].item() in (-1, 3, 8, None, '', 'p', 'q')


def test_gaps_in_row_numbers_are_named():
    with pytest.warns(UserWarning, match='left ids run to 100000, but only 2 of them occur'):
        quick().fit(np.array([[100000, 0], [5, 1]]))


def test_columns_of_a_table(planted):
    log = table_of(planted.observed)
    n = len(planted.observed)
    stars = np.linspace(1, 5, n)
    log = {'stars': stars, 'time': np.arange(n)} | log
    columns = dict(left='user', right='item', value='stars')
    by_column = quick(columns=columns, values='weights', dtype='float64').fit(log)
    by_hand = quick(dtype='float64').fit(table_of(planted.observed), pair_weights=stars)
    np.testing.assert_array_equal(by_column.left_embeddings_, by_hand.left_embeddings_)


def test_repeats_of_a_matrix_are_summed(planted):
    i, j = planted.observed.T
    once = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(50, 30))
    twice = sparse.coo_array((np.ones(2 * len(i)), (np.r_[i, i], np.r_[j, j])), shape=(50, 30))
    one = quick(values='weights', dtype='float64').fit(once * 2)
    for matrix in (twice, twice.tocsr(), twice.tocsc()):
        two = quick(values='weights', dtype='float64').fit(matrix)
        np.testing.assert_array_equal(one.left_embeddings_, two.left_embeddings_)


def test_features_by_id(planted):
    """In any order, as a tuple, with the ids in the index or in a column; entities without pairs
    have a place."""
    order = np.random.default_rng(0).permutation(50)
    names, rows = np.array(NAMES[0])[order], planted.left_features[order]
    log = table_of(planted.observed)
    right = NAMES[1], planted.right_features
    models = [
        quick(dtype='float64', solver='gd').fit(log, left, right)
        for left in (
            (names, rows),
            (names, sparse.csr_array(rows)),
            pd.DataFrame(rows, index=names),
            pd.DataFrame(rows, columns=[f'c{i}' for i in range(8)]).assign(user=names),
        )
    ]
    expected = quick(dtype='float64', solver='gd').fit(
        planted.observed, planted.left_features, planted.right_features
    )
    for model in models:
        place = {name: at for at, name in enumerate(model.left_ids_)}
        rows_of = [place[name] for name in NAMES[0]]
        np.testing.assert_allclose(
            model.left_embeddings_[rows_of], expected.left_embeddings_, rtol=1e-6, atol=1e-9
        )
        assert len(place) == 50
    refuses('twice', quick().fit, log, (np.append(names, 'u03'), np.vstack([rows, rows[:1]])))


def test_pairs_with_features_and_names_can_be_fitted_whole(planted):
    model = quick(dtype='float64').fit(planted)
    by_hand = quick(dtype='float64').fit(
        planted.train_observed, planted.left_features, planted.right_features
    )
    np.testing.assert_array_equal(model.left_embeddings_, by_hand.left_embeddings_)
    assert model.evaluate(planted)['auc'] == by_hand.evaluate(planted.test_observed)['auc']
    graph = data.see_also(max_features=50)
    named = quick(n_components=8, exclude_self=True).fit(graph)
    assert named.left_ids_.tolist() == graph.left_names.tolist()
    assert named.recommend(['numpy.argsort'], 5)[0].dtype == object
    assert named.evaluate(graph)['n_entities'] > 100


def test_candidates_filters_and_self(planted):
    square = planted.observed[planted.observed[:, 0] < 30]
    model = quick(exclude_self=True).fit(
        sparse.csr_array((np.ones(len(square)), square.T), (30, 30))
    )
    scores = model.left_embeddings_ @ model.right_embeddings_.T
    masked = np.where(model.observed_.toarray() > 0, -np.inf, scores)
    np.fill_diagonal(masked, -np.inf)
    keep, drop = np.array([2, 3, 5, 8, 13, 21]), np.array([5, 29])
    allowed = np.setdiff1d(keep, drop)
    ids, _ = model.recommend(None, 4, candidates=keep[::-1], filter_items=drop)
    by_hand = allowed[np.argsort(-masked[:, allowed], axis=1, kind='stable')[:, :4]]
    values = np.take_along_axis(masked, by_hand, 1)
    np.testing.assert_array_equal(ids, np.where(values > -np.inf, by_hand, -1))
    assert not (model.recommend(k=29, filter_items=drop)[0][..., None] == drop).any()
    assert not (model.recommend(k=29)[0] == np.arange(30)[:, None]).any()
    own = model.recommend(k=30, exclude_self=False, exclude_seen=False)[0]
    assert (own == np.arange(30)[:, None]).any(axis=1).all()
    test = planted.observed[planted.observed[:, 0] < 30][:0:-7]
    assert model.evaluate(test, ('auc',), exclude_seen=False) != model.evaluate(
        test, ('auc',), exclude_seen=False, exclude_self=False
    )
    assert (model.recommend([1], 2, candidates=[])[0] == -1).all()


@pytest.mark.parametrize(
    'settings',
    [
        dict(),
        dict(loss='squared', impute=0.0),
        dict(biases=True),
        dict(penalty='all'),
        dict(popularity_power=0.5),
        dict(ridge_power=1.0),
        dict(ridge_power=0.5, biases=True, popularity_power=0.3, loss='squared'),
        dict(values='weights'),
        dict(loss='softmax', max_iter=2000),
        dict(loss='softmax', max_iter=2000, biases=True, ridge_power=0.5),
        dict(loss='softmax', max_iter=2000, values='weights'),
    ],
    ids=str,
)
def test_the_history_of_a_user_gives_the_users_embedding(planted, settings):
    "For linear towers on ids the fold-in solves the equation of the fit."
    settings = dict(max_iter=300, tol=1e-9, dtype='float64') | settings
    pairs = np.vstack([planted.observed, planted.observed[::3]])
    model = quick(**settings).fit(pairs)
    rows = sparse.csr_array((np.ones(len(pairs)), pairs.T), shape=(50, 30))
    rows.sum_duplicates()
    np.testing.assert_allclose(
        model.embed_left(history=rows), model.left_embeddings_, rtol=1e-3, atol=1e-3
    )
    one = model.recommend(history=rows[[4]].indices.tolist(), k=5)
    if settings.get('values') != 'weights':
        np.testing.assert_array_equal(one[0], model.recommend([4], 5)[0])
    several = model.recommend(history=[[1, 2], [3], []], k=3)[0]
    assert several.shape == (3, 3) and not set(several[0]) & {1, 2}


def test_histories_of_deep_towers_and_what_has_none(planted, fitted):
    rows = [fitted.observed_[[i]].indices.tolist() for i in range(50)]
    found = fitted.recommend(history=rows, k=5)[0]
    same = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, fitted.recommend(k=5)[0])])
    assert same > 0.4
    with pytest.raises(ValueError, match='history needs a constant impute'):
        quick(impute=(np.ones((50, 1)), np.ones((30, 1)))).fit(planted.observed).recommend(
            history=[1]
        )
    with pytest.raises(ValueError, match='fixed length'):
        quick(left=MLP(4, cosine=2.0)).fit(planted.observed).recommend(history=[1])


def test_validation_keeps_the_best_parameters():
    pairs = data.planted_towers(50, 30, 8, 3, per_left=4, seed=2)[0].observed
    settings = dict(
        n_components=8, solver='newton', max_iter=15, ridge=0.01, dtype='float64', tol=None
    )
    model = quick(**settings, validation=0.2, n_iter_no_change=3, metric='ndcg@20').fit(pairs)
    scores = model.validation_scores_
    assert len(scores) == model.n_iter_ + 1 and scores.argmax() == model.best_iter_
    assert model.n_iter_ == model.best_iter_ + 3 < 15 and 'no gain in ndcg@20' in model.run_.message
    np.testing.assert_array_equal(scores, model.run_.column('ndcg@20'))
    assert model.observed_.nnz == len(pairs)
    rng = np.random.default_rng(0)
    out = rng.random(len(pairs)) < 0.2
    by_table = quick(**settings, n_iter_no_change=3, metric='ndcg@20').fit(
        pairs[~out], validation=pairs[out]
    )
    best = by_table.best_iter_
    again = quick(**settings | dict(max_iter=best)).fit(pairs[~out])
    np.testing.assert_array_equal(by_table.left_embeddings_, again.left_embeddings_)
    at_best = by_table.evaluate(pairs[out], ('ndcg@20',), unknown='ignore')['ndcg@20']
    np.testing.assert_allclose(at_best, by_table.validation_scores_.max())


def test_validation_by_time_takes_the_latest(planted):
    n = len(planted.observed)
    time = np.random.default_rng(0).permutation(n)
    log = table_of(planted.observed, time=time)
    from extreme_opt.similarity.validation import held_out_pairs

    found = read_interactions(log, timed=True)
    out = held_out_pairs(found, 0.2, (50, 30), 0)
    assert 0 < out.sum() <= round(0.2 * n) and time[out].min() >= n - round(0.2 * n)
    for column in (0, 1):
        assert set(found.pairs[out, column]) <= set(found.pairs[~out, column])
    model = quick(validation=0.2, max_iter=5).fit(log)
    assert len(model.validation_scores_) == model.n_iter_ + 1
    for solver in SOLVERS:
        model = quick(validation=0.2, solver=solver, max_iter=40, n_iter_no_change=2).fit(log)
        assert model.best_iter_ <= model.n_iter_
        assert np.isfinite(model.left_embeddings_).all()


def test_evaluate_by_entity_with_intervals(fitted, planted):
    measures = ('recall@5', 'auc')
    found = fitted.evaluate(planted.test_observed, measures, interval=0.9, per_entity=True)
    each = found['per_entity']
    for name in measures:
        low, high = found['intervals'][name]
        np.testing.assert_allclose(np.nanmean(each[name]), found[name])
        assert low <= found[name] <= high and len(each[name]) == len(each['ids'])
        spread = np.nanstd(each[name]) / np.sqrt(len(each['ids']))
        assert 2 < (high - low) / spread < 4.6  # 3.3 for a normal mean
    with pytest.raises(ValueError, match="left id 'new' at place 0 is unknown"):
        named = quick().fit(table_of(planted.train_observed))
        named.evaluate([('new', 'i00')])
    log = table_of(planted.test_observed)
    log['user'][0] = 'new'
    refuses("left id 'new' at place 0 is unknown", named.evaluate, log)
    assert named.evaluate(log, unknown='ignore')['n_entities'] > 10


def test_grid_search_over_a_table(planted):
    from sklearn.model_selection import GridSearchCV, KFold

    folds = KFold(2, shuffle=True, random_state=0)
    for X in (pd.DataFrame(table_of(planted.observed)), planted.observed):
        search = GridSearchCV(quick(metric='auc'), {'ridge': [0.1, 100.0]}, cv=folds).fit(X)
        assert np.isfinite(search.cv_results_['mean_test_score']).all()
        assert 0 < search.best_score_ < 1 and search.best_estimator_.recommend(k=2)[0].shape[1] == 2


def test_ids_and_features_together(planted):
    """An identity block by hand gives the same; a new entity has its features only; growth keeps
    both."""
    settings = dict(dtype='float64', max_iter=4)
    features = planted.left_features
    model = quick(**settings, id_features=True).fit(planted.observed, features)
    by_hand = quick(**settings).fit(planted.observed, np.hstack([features, np.eye(50)]))
    np.testing.assert_allclose(
        model.left_embeddings_, by_hand.left_embeddings_, rtol=1e-6, atol=1e-9
    )
    own = model.run_.state.params[: 58 * 3].reshape(58, 3)
    np.testing.assert_allclose(
        model.embed_left(features=features) + own[8:], model.left_embeddings_, rtol=1e-9, atol=1e-12
    )
    assert model.n_features_in_ == 8
    with pytest.raises(ValueError, match='left_features has 7 columns, but 8 were fitted'):
        model.embed_left(features=features[:, :7])
    grown = model.set_params(warm_start=True, max_iter=0)
    before = grown.left_embeddings_
    more = np.vstack([features, features[:2]])
    grown.fit(np.vstack([planted.observed, [[51, 3]]]), more)
    np.testing.assert_allclose(grown.left_embeddings_[:50], before, rtol=1e-9)
    assert grown.left_embeddings_.shape == (52, 3)
    with pytest.raises(ValueError, match='over columns and ids and this one has .* over columns'):
        grown.set_params(id_features=False).fit(planted.observed, features)


@pytest.mark.parametrize('solver', ['newton', 'als'])
def test_the_ridge_of_an_entity_grows_with_its_pairs(planted, solver):
    """Scaled parameters are a ridge per entity: the gradient of the loss in an embedding is -lambda
    f p."""
    settings = dict(ridge_power=1.0, ridge=0.3, tol=1e-13, dtype='float64')
    model = quick(solver=solver, max_iter=2000, **settings).fit(planted.observed)
    counts = [np.bincount(planted.observed[:, s], minlength=n) for s, n in ((0, 50), (1, 30))]
    f = [each + each.mean() for each in counts]
    norm = np.concatenate(f).mean()
    P, Q = model.left_embeddings_, model.right_embeddings_
    seen, omega = model.observed_.toarray() > 0, model.unobserved_weight_
    S = P @ Q.T
    slope = np.where(seen, -1 / (1 + np.exp(S)), omega * (S + 1))
    if solver == 'als':
        slope = np.where(seen, S - 1, omega * S)
    np.testing.assert_allclose(slope @ Q, -0.3 * (f[0] / norm)[:, None] * P, atol=2e-5)
    np.testing.assert_allclose(slope.T @ P, -0.3 * (f[1] / norm)[:, None] * Q, atol=2e-5)


def test_popularity_weights_the_unobserved(planted):
    counts = np.bincount(planted.observed[:, 1], minlength=30) + 1.0
    weights = counts**0.5 / (counts**0.5).mean()
    one = quick(popularity_power=0.5, dtype='float64').fit(planted.observed)
    two = quick(column_weights=weights, dtype='float64').fit(planted.observed)
    np.testing.assert_allclose(one.left_embeddings_, two.left_embeddings_, rtol=1e-9)


@pytest.mark.parametrize('settings', [dict(), dict(ridge_power=1.0), dict(left=MLP(4))], ids=str)
def test_a_table_grows_through_warm_start(planted, settings):
    "Old ids keep their rows and embeddings, whatever the order of the new table."
    old = planted.observed[(planted.observed[:, 0] % 5 > 0) & (planted.observed[:, 1] % 4 > 0)]
    model = quick(warm_start=True, max_iter=5, dtype='float64', **settings).fit(table_of(old))
    ids, P = model.left_ids_.copy(), model.left_embeddings_.copy()
    rng = np.random.default_rng(0)
    model.set_params(max_iter=0).fit(
        table_of(planted.observed[rng.permutation(len(planted.observed))])
    )
    np.testing.assert_array_equal(model.left_ids_[: len(ids)], ids)
    np.testing.assert_allclose(model.left_embeddings_[: len(ids)], P, rtol=1e-9)
    assert len(model.left_ids_) == len(np.unique(planted.observed[:, 0])) > len(ids)
    assert model.set_params(max_iter=3).fit(table_of(old)).left_ids_.size > len(ids)
    assert 'u05' in model.left_ids_ and np.isfinite(model.recommend(['u05'], 3)[1]).all()
    with pytest.raises(ValueError, match='the last fit had ids and this one has row numbers'):
        model.fit(sparse.csr_array(np.eye(50, 30)))
    with pytest.raises(ValueError, match='the last fit had row numbers and this one has ids'):
        quick(warm_start=True).fit(planted.observed).fit(table_of(old))


def test_an_index_is_saved_with_the_model(planted, tmp_path, monkeypatch):
    faiss = pytest.importorskip(
        'faiss', reason="needs the extra `ann`: pip install 'extreme_opt[ann]'"
    )
    model = quick(biases=True).fit(table_of(planted.observed))
    model.build_index(n_links=8, effort=77)
    model.save(tmp_path / 'model.npz')
    for again in (SimilarityModel.load(tmp_path / 'model.npz'), pickle.loads(pickle.dumps(model))):
        assert again.index_.graph.hnsw.efSearch == 77
        for settings in (dict(), dict(filter_items=['i03', 'i04'])):
            one, two = (
                each.recommend(['u02', 'u07'], 4, index=True, **settings) for each in (again, model)
            )
            np.testing.assert_array_equal(one[0], two[0])
            np.testing.assert_array_equal(one[1], two[1])
        assert not {'i03', 'i04'} & set(one[0].ravel())
    with pytest.raises(ValueError, match='index and candidates are both given'):
        model.recommend(['u02'], index=True, candidates=['i01'])
    for index, words in (
        ('text', 'its index is not a row of bytes'),
        (np.zeros(9), 'its index is not a row of bytes'),
        (np.arange(99, dtype=np.uint8), ''),
        (faiss.serialize_index(faiss.IndexFlatIP(3)), 'its index is not one of 29 embeddings'),
    ):
        altered = model._for_file()
        altered._retriever.index = index
        with monkeypatch.context() as patch:
            patch.setattr(SimilarityModel, '_for_file', lambda self: self)
            save_model(tmp_path / 'altered.npz', altered)
        refuses('altered.npz cannot be read: ' + words, load_model, tmp_path / 'altered.npz')
    with monkeypatch.context() as patch:
        patch.delattr(faiss, 'get_deserialization_vector_byte_limit')  # an old one
        with pytest.warns(UserWarning, match='so lists are exact'):
            assert SimilarityModel.load(tmp_path / 'model.npz').index_ is None
    assert model.fit(table_of(planted.observed)).index_ is None


def test_what_auto_becomes(planted):
    "Alternating least squares for linear towers on ids without labels, Newton for all else."
    pairs, n = planted.observed, len(planted.observed)
    scale = penalty_scale(pairs, (50, 30))
    squared = dict(loss='squared', impute=0.0, ridge_power=0.5 * scale, penalty_scale=scale)
    logistic = dict(loss='logistic', impute=-1.0, ridge_power=0.0, penalty_scale=1.0)
    softmax = dict(loss='softmax', impute=0.0, ridge_power=0.0, penalty_scale=1.0)
    features = planted.left_features, planted.right_features
    for settings, given, options, solver, others in (
        ({}, (), {}, 'als', squared),
        (dict(solver='als'), (), {}, 'als', squared),
        (dict(solver='newton'), (), {}, 'newton', logistic),
        (dict(loss='squared', solver='newton'), (), {}, 'newton', squared),
        (dict(loss='logistic'), (), {}, 'newton', logistic),
        ({}, features, {}, 'newton', logistic),
        ({}, (), dict(labels=np.ones(n)), 'newton', logistic),
        (dict(left=MLP(3)), (), {}, 'newton', logistic),
        (dict(impute=-0.5, ridge_power=0.0), (), {}, 'als', squared),
        (dict(loss='softmax'), (), {}, 'lbfgs', softmax),
        (dict(loss='softmax', solver='gd'), features, {}, 'gd', softmax),
    ):
        model = quick(**settings).fit(pairs, *given, **options)
        weight = 5.0 if others is logistic else 1.0
        expected = dict(solver=solver, prior_weight=weight) | others
        expected |= {name: value for name, value in settings.items() if name in expected}
        assert model.settings_ == expected, settings
    default = quick().fit(pairs)
    usual = dict(ridge=0.15 * scale * n / 80, ridge_power=0.5 * scale)
    by_hand = quick(solver='als', impute=0.0, unobserved_weight=4 * scale * n / 1500, **usual)
    np.testing.assert_allclose(
        default.left_embeddings_, by_hand.fit(pairs).left_embeddings_, rtol=1e-4, atol=1e-5
    )
    assert default.run_.column('loss')[-1] < default.run_.column('loss')[0]
    for name in ('impute', 'ridge_power'):
        refuses(f"{name}='none' is neither a number", quick(**{name: 'none'}).fit, pairs)


def test_penalties_are_smaller_where_pairs_can_be_predicted():
    "In blocks of users and items each cell is observed with a probability, which is the signal."
    rng = np.random.default_rng(0)
    m, n = 300, 200
    alike = rng.integers(6, size=m)[:, None] == rng.integers(6, size=n)
    for part, scale in ((0.95, 0.125), (0.65, (0.35 / 0.65) ** 2), (0.4, 1.0)):
        pairs = np.argwhere(alike & (rng.random((m, n)) < part))
        model = quick().fit(sparse.csr_array(pattern(pairs, (m, n))))
        found = model.settings_['penalty_scale']
        assert found == pytest.approx(scale, abs=0.08) and (part == 0.65 or found == scale)
        assert model.settings_['ridge_power'] == 0.5 * found
        assert model.ridge_ == pytest.approx(1.5 * found * auto_ridge(len(pairs), m, n))
        assert model.unobserved_weight_ == pytest.approx(4 * found * len(pairs) / (m * n))
    given = dict(ridge=1.0, unobserved_weight=0.1, ridge_power=0.2)
    model = quick(**given).fit(pattern(np.argwhere(alike), (m, n)))
    told = model.ridge_, model.unobserved_weight_, model.settings_['ridge_power']
    assert told == (1.0, 0.1, 0.2)
    model = quick(solver='newton').fit(pattern(np.argwhere(alike), (m, n)))
    assert model.settings_['penalty_scale'] == 1.0


def test_the_share_of_a_pair_in_its_own_prediction_is_that_of_its_projection():
    "Eq. (I2): the unit matrix of a pair, projected on what ten components can change."
    rng = np.random.default_rng(0)
    seen = np.arange(100)[:, None] % 10 == np.arange(90) % 10
    seen &= rng.random(seen.shape) < 0.6
    U, values, V = np.linalg.svd(seen.astype(float), full_matrices=False)
    P, Q, fitted = U[:, :10] @ U[:, :10].T, V[:10].T @ V[:10], (U[:, :10] * values[:10]) @ V[:10]
    signal = []
    for i, j in np.argwhere(seen):
        unit = np.zeros(seen.shape)
        unit[i, j] = 1
        own = (P @ unit + unit @ Q - P @ unit @ Q)[i, j]
        signal.append((fitted[i, j] - own) / (1 - own))
    s = np.median(signal)
    assert 0.5 < s < 0.6  # between the limits of the scale
    assert penalty_scale(np.argwhere(seen), seen.shape) == pytest.approx((1 / s - 1) ** 2, 1e-3)


@pytest.mark.parametrize('pairs', [np.array([[0, 0]]), np.eye(3)])
def test_penalties_of_next_to_nothing(pairs):
    pairs = sparse.csr_array(pairs) if pairs.shape == (3, 3) else pattern(pairs, (2, 2))
    model = quick(n_components=1).fit(pairs)
    assert model.settings_['penalty_scale'] == 1.0 and np.isfinite(model.left_embeddings_).all()


def test_a_fit_without_pairs_is_refused():
    assert penalty_scale(np.empty((0, 2), int), (2, 2)) == 1.0
    for nothing in (sparse.csr_array((2, 2)), np.empty((0, 2), int), dict(a=[], b=[])):
        refuses('has 0 pairs of', quick(n_components=1).fit, nothing)


def test_lists_of_entities_without_pairs_are_named():
    model = quick().fit(np.array([[0, 0], [2, 1], [4, 2]]))
    with pytest.warns(UserWarning, match=r'^1 left ids had no pair in the fit \(first: 3\)'):
        model.recommend([2, 3], 2)
    with pytest.warns(UserWarning, match=r'^2 left ids had no pair in the fit \(first: 1\)'):
        model.recommend(k=2)
    with pytest.warns(UserWarning, match=r'1 left ids had no pair in the fit \(first: 1\)'):
        model.similar([1], 1, 'left')
    with no_warning():
        model.recommend([0, 2], 2)
        model.recommend(history=[1], k=2)


def answers_table():
    "60 users, 40 items, likes where parities agree, half of the rows dislikes; 30 % held out."
    rows = [
        (user, item, int(user % 2 == item % 2))
        for user in range(60)
        for item in np.random.default_rng(user).choice(40, 14, replace=False)
    ]
    table = np.array(rows)[np.random.default_rng(0).permutation(len(rows))]
    parts = table[: len(table) * 3 // 10], table[len(table) * 3 // 10 :]
    return [dict(zip(('user', 'item', 'like'), part.T)) for part in parts]


def signed_matrix(log):
    signs = 2.0 * log['like'] - 1
    return sparse.csr_array((signs, (log['user'], log['item'])), shape=(60, 40))


def test_dislikes_are_no_hits():
    "In evaluate, score and both kinds of validation, as a table and as a matrix."
    test, train = answers_table()
    likes = {name: column[test['like'] == 1] for name, column in test.items()}
    bare = {name: likes[name] for name in ('user', 'item')}
    settings = dict(n_components=8, solver='newton', values='labels', max_iter=8)
    model = quick(**settings, metric='recall@5').fit(train)
    right = model.evaluate(likes, 'recall@5')
    n = len(test['like']) - right['n_pairs']
    for given in (test, {name: test[name] for name in ('like', 'item', 'user')}):
        found = model.evaluate(given, 'recall@5')
        assert found['left_out'] == dict(unknown=0, not_relevant=n, seen=0)
        assert found['recall@5'] == right['recall@5'] == model.score(given)
    assert model.evaluate(bare, 'recall@5')['recall@5'] == right['recall@5']
    every = quick(**settings, relevant=0).fit(train).evaluate(test, 'recall@5')
    assert every['recall@5'] < right['recall@5'] - 0.05  # what a dislike as a hit would say
    as_matrix = quick(**settings).fit(signed_matrix(train))
    for name in ('recall@5', 'auc'):
        one, two = (as_matrix.evaluate(signed_matrix(part), name)[name] for part in (test, likes))
        assert one == two
    for one, two in ((test, likes), (signed_matrix(test), signed_matrix(likes))):
        fit_on = train if one is test else signed_matrix(train)
        stops = [
            quick(**settings, metric='auc').fit(fit_on, validation=part).validation_scores_
            for part in (one, two)
        ]
        np.testing.assert_array_equal(*stops)
    shared = quick(**settings, validation=0.2, metric='auc', n_iter_no_change=8).fit(train)
    by_likes = quick(**settings, validation=0.2, metric='auc', n_iter_no_change=8, relevant=1)
    np.testing.assert_array_equal(shared.validation_scores_, by_likes.fit(train).validation_scores_)
    assert shared.validation_scores_.max() > 0.6


def test_ratings_need_a_threshold():
    log = dict(user=[0, 0, 1, 1, 2, 2], item=[0, 1, 1, 2, 2, 0], stars=[5, 1, 4, 2, 5, 3])
    settings = dict(n_components=1, loss='squared', values='labels')
    with pytest.raises(ValueError, match='ratings of several positive values.* relevant=4'):
        quick(**settings).fit(log).evaluate(log, exclude_seen=False)
    found = quick(**settings, relevant=4).fit(log).evaluate(log, 'mrr@3', exclude_seen=False)
    assert found['n_pairs'] == 3 and found['left_out']['not_relevant'] == 3
    centered = log | dict(stars=[2, -2, 1, -1, 2, 0])
    assert quick(**settings).fit(centered).evaluate(centered, exclude_seen=False)['n_pairs'] == 3
    for values in ('ignore', 'weights'):
        fits = (
            quick(loss='squared', values=values, relevant=4).fit,
            EASE(values=values, relevant=4).fit,
        )
        for fit in fits:
            refuses(
                'relevant=4 is the smallest label of a hit, but this fit has no labels', fit, log
            )


LOG = dict(
    user=['ann', 'ann', 'bob', 'cid', 'cid', 'dee', 'dee', 'eve'],
    film=['Alien', 'Brazil', 'Alien', 'Clue', 'Diva', 'Clue', 'Diva', 'Alien'],
)
PEOPLE = dict(user=['ann', 'bob', 'cid', 'dee', 'eve'], a=[1, 1, 0, 0, 1], b=[0, 0, 1, 1, 0])


def test_names_of_columns_stay_what_they_were():
    "Columns of ids and of features, turned or renamed, in each later call."
    turned = dict(film=LOG['film'], user=LOG['user'])
    model = quick(n_components=2, dtype='float64').fit(LOG, PEOPLE)
    scores, lists = model.score_pairs(LOG), model.recommend(features=dict(a=[1], b=[0]))
    for log, table in zip(forms(turned), forms(dict(b=[0], user=['new'], a=[1]))):
        np.testing.assert_array_equal(model.score_pairs(log), scores)
        full = model.evaluate(log, 'recall@2', exclude_seen=False)
        assert full == model.evaluate(LOG, 'recall@2', exclude_seen=False)
        np.testing.assert_array_equal(model.recommend(features=table)[0], lists[0])
        np.testing.assert_array_equal(
            model.embed_left(features=table), model.embed_left(features=[[1, 0]])
        )
        np.testing.assert_array_equal(
            model.score_pairs([(0, 'Clue')], left_features=table),
            model.score_pairs([(0, 'Clue')], left_features=[[1, 0]]),
        )
    again = quick(n_components=2, dtype='float64').fit(LOG, PEOPLE)
    mixed = {name: PEOPLE[name] for name in ("b", "user", "a")}
    again.set_params(warm_start=True, max_iter=0).fit(turned, mixed)
    np.testing.assert_allclose(again.left_embeddings_, model.left_embeddings_, rtol=1e-12)
    validated = [
        quick(n_components=2, metric='auc').fit(part, validation=rest).validation_scores_
        for part, rest in (
            ({k: v[:7] for k, v in LOG.items()}, dict(user=['bob'], film=['Diva'])),
            ({k: v[:7] for k, v in LOG.items()}, dict(film=['Diva'], user=['bob'])),
        )
    ]
    np.testing.assert_array_equal(*validated)
    other = dict(who=LOG['user'], what=LOG['film'])
    for call, text in (
        (lambda: model.evaluate(other), "columns 'who', 'what', but 'user' and 'film' were fit"),
        (lambda: model.score_pairs(other), "columns 'who', 'what', but 'user' and 'film' were fit"),
        (lambda: quick().fit(LOG, validation=other), 'rename them'),
        (lambda: model.embed_left(features=dict(a=[1], c=[0])), r"\['a', 'b'\] were fitted"),
        (lambda: model.recommend(features=dict(a=[1])), r"\['a', 'b'\] were fitted"),
        (lambda: again.fit(LOG, dict(x=PEOPLE['a'], **PEOPLE)), r"\['a', 'b'\] were fitted"),
        (lambda: again.fit(other, PEOPLE), 'rename them'),
        (lambda: model.embed_left(features=dict(a=['x'], b=[0])), "column 'a' of left_features"),
    ):
        refuses(text, call)
    by_place = list(zip(LOG['user'], LOG['film']))  # no names
    np.testing.assert_array_equal(model.score_pairs(by_place), scores)


def test_a_table_whose_first_columns_are_no_ids_is_refused():
    log = pd.DataFrame(LOG)
    counts = pd.crosstab(log.user, log.film)
    bare = pd.DataFrame(counts.to_numpy(), [*counts.index], [*counts.columns])
    for table, text in (
        (counts, 'looks like a matrix'),
        (counts.reset_index(), 'looks like a matrix'),
        (bare, 'has an index'),
        (pd.DataFrame(np.eye(6)), 'looks like a matrix'),
        (log.set_index('user').assign(n=1), "has an index .'user'"),
        ({'Unnamed: 0': range(8), **LOG}, "'Unnamed: 0' is no name of ids.*'user', 'film'"),
        (log.reset_index(), "'index' is no name of ids"),
        ({'time': range(8), **LOG}, "'time' is no name of ids"),
        ({'rated_at': range(8), **LOG}, "'rated_at' is no name of ids"),
        ({'stars': range(8), **LOG}, "'stars' is no name of ids"),
        ({'row_id': range(8), **LOG}, "'row_id' is no name of ids"),
    ):
        refuses(text, quick(n_components=1).fit, table)
    refuses("columns='user' is one name", quick(columns='user').fit, log)
    for unit, when in (('seconds', 1_600_000_000), ('milliseconds', 1_600_000_000_000)):
        table = log.assign(when=when + np.arange(8))
        for values in ('weights', 'labels'):
            with pytest.raises(ValueError, match=f"'when' holds numbers as {unit}"):
                quick(n_components=1, values=values).fit(table)
        quick(n_components=1).fit(table)  # where nothing reads it
        roles = dict(left='user', right='film', time='when')
        quick(n_components=1, values='weights', columns=roles).fit(table)
    quick(n_components=1, columns=['user', 'film']).fit({'time': range(8), **LOG})


def test_times_of_every_kind_are_compared_exactly():
    far = np.array(['3024-01-01', '2024-01-01'] * 4, 'datetime64[s]')
    days = pd.date_range('2020', periods=8)
    near = np.int64(2) ** 60 + np.arange(8)  # equal as float64
    zones = days.tz_localize('Europe/Paris')
    for times, ranks in (
        (far, [1, 0] * 4),
        (near, range(8)),
        (zones, range(8)),
        (zones[::-1].astype(object), range(8)[::-1]),
        (days.date, range(8)),
        (pd.period_range('2020', periods=8), range(8)),
        (np.array([0.5, 1, 1, 1, 1, 1, 1, 2]), [0, 1, 1, 1, 1, 1, 1, 2]),
    ):
        log = pd.DataFrame(LOG).assign(time=times)
        assert read_interactions(log, timed=True).times.tolist() == list(ranks)
        quick(n_components=1).fit(log).evaluate(log, 'auc', exclude_seen=False)
    later = dict(user=['ann', 'ann'], film=['Alien'] * 2, like=[0, 1], time=far[:2])
    assert read_interactions(later, values='labels').labels.tolist() == [0]
    unread = pd.DataFrame(LOG).assign(time=[pd.NaT] * 8)
    model = quick(n_components=1).fit(unread)  # nothing asks for times
    model.evaluate(unread, exclude_seen=False)
    for times, text in (([pd.NaT] * 8, 'no time in row 0'), ([*'abcdefgh'], 'to_datetime makes')):
        refuses(text, lambda: quick(validation=0.3).fit(pd.DataFrame(LOG).assign(time=times)))


def test_a_weight_of_zero_is_no_pair(planted):
    log = table_of(planted.observed)
    weights = np.arange(len(planted.observed)) % 4
    kept = {name: np.asarray(column)[weights > 0] for name, column in log.items()}
    settings = dict(values='weights', dtype='float64')
    right = quick(**settings).fit(kept | dict(n=weights[weights > 0]))
    i, j = planted.observed.T
    matrix = sparse.csr_array((weights.astype(float), (i, j)), shape=(50, 30))
    assert quick(**settings).fit(matrix).observed_.nnz == right.observed_.nnz
    for model in (
        quick(**settings).fit(log | dict(n=weights)),
        quick(dtype='float64').fit(log, pair_weights=weights),
    ):
        np.testing.assert_array_equal(model.left_embeddings_, right.left_embeddings_)
        assert model.observed_.nnz == right.observed_.nnz
        assert model.left_ids_.tolist() == right.left_ids_.tolist()
    assert right.evaluate(log | dict(n=weights), 'auc', exclude_seen=False)['n_pairs'] == (
        right.observed_.nnz
    )
    for call, text in (
        (lambda: quick(**settings).fit(log | dict(n=-weights)), "'n' holds -1.0 in row 1"),
        (lambda: quick(**settings).fit(-matrix), 'holds -1.0 in row .* weights must not be neg'),
        (lambda: quick(**settings).fit(matrix * 0), 'has 0 pairs'),
        (lambda: quick().fit(matrix.astype(complex)), 'real numbers'),
        (lambda: quick(values='labels').fit(log | dict(n=[None, *weights[1:]])), 'None in row 0'),
        (lambda: quick(values='labels').fit(log | dict(n=weights % 3)), 'labels hold 2 '),
    ):
        refuses(text, call)
    with pytest.warns(UserWarning, match='values="labels" takes -1 as no'):
        quick().fit(-matrix)


def test_histories_of_every_form_and_what_they_may_not_hold():
    model = quick(n_components=2).fit(LOG)
    log = pd.DataFrame(LOG)
    lists = log.groupby('user').film.apply(list)
    right = model.recommend(history=[*lists], k=2)[0]
    given = [lists, log.groupby('user').film.unique(), [pd.Series(one) for one in lists]]
    ragged = np.empty(5, object)
    ragged[:] = [np.array(one) for one in lists]
    given.append(ragged)
    try:
        import pyarrow

        given += [pyarrow.array([*lists]), [pyarrow.array(one) for one in lists]]
        one = model.recommend(history=pyarrow.array(['Clue', 'Diva']), k=2)[0]
        np.testing.assert_array_equal(one, model.recommend(history=['Clue', 'Diva'], k=2)[0])
    except ImportError:
        pass
    for history in given:
        np.testing.assert_array_equal(model.recommend(history=history, k=2)[0], right)
    popular = np.array(['Alien', 'Clue'], object)
    nothing = sparse.csr_array((1, 4))
    for history in ([], [[]], [['Clue'], []], nothing):
        with pytest.warns(UserWarning, match='histories are empty .* most popular'):
            ids, scores = model.recommend(history=history, k=2)
        assert (ids[-1] == popular).all() and scores[-1].tolist() == [3, 2]
        with pytest.warns(UserWarning, match='histories are empty'):
            model.embed_left(history=history)
    with pytest.warns(UserWarning, match='histories are empty'):
        assert model.recommend(history=[], k=1, filter_items=['Alien'])[0].item() == 'Clue'
    labelled = quick(n_components=2, values='labels').fit(LOG | dict(y=[1, 0, 1, 1, 0, 1, 1, 1]))
    weighed = quick(n_components=2, values='weights').fit(LOG | dict(y=[1, 1, 2, 1, 1, 1, 1, 1]))
    entry = sparse.csr_array(np.array([[1.0, 0, 0, 0]]))
    for one, history, text in (
        (labelled, entry * 5, 'labels hold 5'),
        (labelled, entry * np.nan, 'holds nan in row 0, column 0'),
        (weighed, -entry, 'weights must not be negative'),
        (model, entry * np.nan, 'holds nan in row 0, column 0'),
        (model, ['Alien', ['Clue']], 'mixes lists and ids'),
        (model, 'Alien', 'is no list'),
    ):
        refuses(text, one.recommend, history=history)


def test_ids_of_another_kind_are_named_as_the_cause():
    model = quick(n_components=1).fit(dict(u=[1, 2, 3], i=[5, 6, 5]))
    text = dict(u=['1', '2'], i=['5', '6'])
    for call in (
        lambda: model.evaluate(text, unknown='ignore'),
        lambda: model.evaluate(text),
        lambda: model.score(text),
        lambda: model.recommend(['1']),
        lambda: quick().fit(dict(u=[1, 2], i=[5, 6]), validation=text),
    ):
        refuses('fitted as whole numbers .*, and these are text', call)


def test_counts_say_what_was_measured():
    matrix = sparse.csr_array(np.array([[1.0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0]]))
    test = sparse.csr_array(np.array([[0, 1.0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]]))
    found = quick(n_components=1).fit(matrix).evaluate(test, 'hit_rate@4')
    assert (found['n_entities'], found['n_unseen'], found['n_pairs']) == (3, 1, 3)
    assert found['left_out'] == dict(unknown=0, not_relevant=0, seen=1)
    assert found['hit_rate@4'] == 1.0


@pytest.mark.parametrize(
    'ids',
    [
        [('a', datetime.date(2020, 1, 2)), ('b', 2)],
        list(pd.date_range('2024', periods=2, tz='Europe/Berlin')),
    ],
)
def test_ids_of_usual_kinds_are_saved(ids, tmp_path):
    model = quick(n_components=1).fit(dict(u=[0] * len(ids), i=ids))
    model.save(tmp_path / 'model')
    loaded = SimilarityModel.load(tmp_path / 'model')
    assert loaded.right_ids_.tolist() == model.right_ids_.tolist()
    assert [*map(type, loaded.right_ids_)] == [*map(type, model.right_ids_)]
    shown = [one.similar([model.right_ids_[0]], 1)[0].tolist() for one in (model, loaded)]
    assert shown[0] == shown[1]


def test_histories_may_be_dictionaries_from_id_to_value():
    "They mean what the entries of a sparse matrix do: dislikes are no likes, weights count."
    rows = [(u, 'abcdef'[i], int(u % 2 == i % 2)) for u in range(12) for i in range(6) if u != i]
    table = pd.DataFrame(rows, columns=['user', 'item', 'like'])
    liked = table[table.like == 1]
    labels, weights = (
        quick(n_components=2, values=values).fit(one)
        for values, one in (('labels', table), ('weights', liked.assign(like=2.0)))
    )
    for model, numbers in ((labels, (1, -1)), (labels, (True, False)), (weights, (3, 0.5))):
        entries = np.array(numbers, float), ([0, 0], [0, 3])
        if numbers[1] is False:
            entries = np.array([1.0, -1.0]), entries[1]
        wanted = model.recommend(history=sparse.csr_array(entries, shape=(1, 6)), k=3)
        one = dict(zip(['a', 'd'], numbers))
        for given in (one, [one], np.array([one])):
            found = model.recommend(history=given, k=3)
            assert found[0].tolist() == wanted[0].tolist()
            np.testing.assert_array_equal(found[1], wanted[1])
    mixed = labels.recommend(history=[{'a': 1, 'd': -1}, ['a', 'c']], k=3, exclude_seen=False)[1]
    one, other = ({'a': 1, 'd': -1}, {'a': 1, 'c': 1})
    for row, given in zip(mixed, (one, other)):
        wanted = labels.recommend(history=given, k=3, exclude_seen=False)[1][0]
        np.testing.assert_allclose(row, wanted, rtol=1e-5)
    for given, words in (
        ({'a': None}, r'history 0 has values \[None\], but a number'),
        ([['a'], {'a': 'yes'}], r"history 1 has values \['yes'\], but a number"),
        ({'a': np.nan}, 'history holds nan in row 0, column 0'),
        ({'z': 1}, "right id 'z' at place 0 is unknown"),
        ({'a': 5}, 'labels hold 5'),
    ):
        refuses(words, labels.recommend, history=given)
    refuses('weights must not be negative', weights.recommend, history={'a': -1})


def test_measures_are_means_over_all_orders_of_equal_scores():
    scores = np.array([[3.0, 2, 2, 2, 1], [2, 2, 2, 2, 2], [1, np.nan, 1, -np.inf, 0]])
    test = sparse.csr_array(np.array([[0, 1, 0, 1, 0], [1, 0, 0, 0, 0], [1, 1, 0, 1, 0]]))
    cases = {
        'recall@2': (1 / 3, 2 / 5, 1 / 3),
        'hit_rate@2': (2 / 3, 2 / 5, 1),
        'mrr@3': ((2 / 3) / 2 + (1 / 3) / 3, (1 + 1 / 2 + 1 / 3) / 5, (1 + 1 / 2) / 2),
        'map@3': (1 / 3, (1 + 1 / 2 + 1 / 3) / 5, (1 / 2 + 1 / 4) / 3),
        'ndcg@1': (0, 1 / 5, 1 / 2),
    }
    for name, wanted in cases.items():
        found = measures_by_row(lambda rows: scores[rows], test, None, [name])[2][name]
        np.testing.assert_allclose(found, wanted, err_msg=name)


@pytest.mark.parametrize('n_hits', [1, 2, 3])
@pytest.mark.parametrize('n_listed', [1, 2, 4])
def test_measures_of_ties_against_all_orders(n_hits, n_listed):
    "The mean over the 120 orders of five candidates, each made by a small addition to the scores."
    orders = np.array(list(itertools.permutations(range(5)))) / 10
    names = [f'{kind}@{n_listed}' for kind in MEASURES] + ['auc']
    for scores in itertools.product([0.0, 1.0, 2.0], repeat=5):
        if scores[:n_hits] != tuple(sorted(scores[:n_hits])):
            continue  # the same hits in another order
        test = sparse.csr_array((np.arange(5) < n_hits)[None].astype(np.int8))
        exact = measures_by_row(lambda rows: np.array([scores]), test, None, names)[2]
        table, tests = np.array(scores) + orders, sparse.vstack([test] * 120, format='csr')
        by_order = measures_by_row(lambda rows: table[rows], tests, None, names)[2]
        for name in names:
            np.testing.assert_allclose(exact[name][0], by_order[name].mean(), err_msg=name)


@pytest.mark.parametrize('loss', ['squared', 'logistic'])
@pytest.mark.parametrize('kind', ['cosine', 'factors', 'sparse'])
def test_a_prior_is_a_part_of_loss_and_score(kind, loss):
    rng = np.random.default_rng(3)
    m, n = 30, 20
    X, Y = rng.random((m, 5)), rng.random((n, 5))
    pairs = np.argwhere(rng.random((m, n)) < 0.15)
    if kind == 'cosine':
        prior, A, B = 'cosine', *(each / np.linalg.norm(each, axis=1)[:, None] for each in (X, Y))
        similar = A @ B.T
    elif kind == 'factors':
        prior = rng.normal(size=(m, 2)), sparse.csr_array(rng.normal(size=(n, 2)))
        similar = prior[0] @ prior[1].toarray().T
    else:
        prior = sparse.csr_array((rng.random((m, n)) < 0.2) * rng.random((m, n)))
        similar = prior.toarray()
    settings = dict(prior=prior, prior_weight=1.5, loss=loss, ridge=0.3, dtype='float64')
    model = SimilarityModel(3, unobserved_weight=0.2, max_iter=200, tol=1e-8, **settings)
    model.fit(pairs, X, Y)
    whole = 1.5 * similar + model.left_embeddings_ @ model.right_embeddings_.T
    every = np.argwhere(np.ones((m, n)))
    np.testing.assert_allclose(model.score_pairs(every), whole.ravel(), rtol=1e-10)
    ids, scores = model.recommend([4, 2], k=3, exclude_seen=False)
    np.testing.assert_allclose(scores, -np.sort(-whole[[4, 2]], axis=1)[:, :3])
    seen = np.zeros((m, n), bool)
    seen[tuple(pairs.T)] = True
    target = -1.0 if loss == 'logistic' else 0.0
    loss_of = np.log1p(np.exp(-whole)) if loss == 'logistic' else 0.5 * (whole - 1) ** 2
    params = model.run_.state.params
    dense = loss_of[seen].sum() + 0.1 * ((target - whole) ** 2)[~seen].sum()
    np.testing.assert_allclose(
        model.run_.column('loss')[-1], dense + 0.15 * params @ params, rtol=1e-9
    )
    refuses('history does not go with prior', model.recommend, history=[[0, 1]])
    refuses('scores have a prior; leave index out', model.build_index)
    if kind == 'cosine':
        found = model.recommend(features=X[[4, 2]], k=3, exclude_seen=False)
        np.testing.assert_array_equal(found[0], ids)
        np.testing.assert_allclose(found[1], scores)
        np.testing.assert_allclose(
            model.score_pairs([[0, 7]], left_features=X[[4]], right_features=Y), whole[[4], 7]
        )
    else:
        refuses('a left entity with new features has no prior', model.recommend, features=X[[4]])


@pytest.mark.parametrize('solver', ['als', 'newton', 'sogram', 'block', 'lbfgs'])
def test_a_prior_goes_with_each_solver_and_with_validation(planted, solver):
    observed = planted.train_observed
    shape = int(observed[:, 0].max()) + 1, int(observed[:, 1].max()) + 1
    rng = np.random.default_rng(0)
    prior = rng.normal(size=(shape[0], 2)), rng.normal(size=(shape[1], 2))
    model = SimilarityModel(
        3, solver=solver, loss='squared', prior=prior, validation=0.2, max_iter=3, tol=None
    ).fit(observed)
    assert np.isfinite(model.validation_scores_).all()
    alone = SimilarityModel(
        3, solver=solver, loss='squared', prior=prior, prior_weight=0, max_iter=3, tol=None
    ).fit(observed)
    plain = SimilarityModel(3, solver=solver, loss='squared', max_iter=3, tol=None).fit(observed)
    np.testing.assert_allclose(
        alone.score_pairs(observed), plain.score_pairs(observed), rtol=1e-3, atol=1e-4
    )


def test_a_prior_of_many_columns_enters_the_square_by_its_leading_directions():
    rng = np.random.default_rng(0)
    A, B = (sparse.random_array((150, 140), density=0.1, rng=rng) for _ in range(2))
    A, B = sparse.csr_array(A), sparse.csr_array(B)
    left, right = low_rank_factors(A, B, 30)
    U, values, V = np.linalg.svd((A @ B.T).toarray())
    np.testing.assert_allclose(left @ right.T, U[:, :30] * values[:30] @ V[:30], atol=1e-8)
    for one, other in ((A[:7], B), (A, B[:7]), (A[:, :9], B[:, :9])):
        left, right = low_rank_factors(one, other, 30)
        np.testing.assert_allclose(left @ right.T, (one @ other.T).toarray(), atol=1e-12)
        assert left.shape[1] <= 30


def lopsided(n_left=900, n_right=40):
    "Tags: a few of many users' choices follow five kinds, the others are noise."
    rng = np.random.default_rng(0)
    kind = rng.integers(5, size=n_left)
    own = (kind[:, None] == rng.integers(5, size=n_right)) & (rng.random((n_left, n_right)) < 0.3)
    return np.argwhere(own | (rng.random((n_left, n_right)) < 0.02))


def test_a_setting_moves_by_factors_of_two_while_that_is_a_clear_gain():
    noise = np.random.default_rng(0).normal(size=40)

    def values_of(setting):
        return noise - np.log2(setting['a'] / 8) ** 2 - np.log2(setting['b'] * 4) ** 2

    now, table = double_or_halve(values_of, dict(a=1.0, b=1.0))
    assert now == dict(a=8.0, b=0.25)
    assert [row['a'] for row in table] == [1, 2, 4, 8, 16, 8, 8, 8, 8]
    assert len(double_or_halve(lambda setting: noise * 0, dict(a=1.0))[1]) == 3
    now, table = double_or_halve(lambda at: noise - at['k'], dict(k=20), dict(k=(4, 30)))
    assert now == dict(k=5) and isinstance(now['k'], int)
    assert [row['k'] for row in table] == [20, 10, 5]
    assert not clear_gain(np.array([1.0])) and not clear_gain(np.array([3.0, -1.0, np.nan]))


def test_a_search_keeps_a_multiple_of_the_rule():
    pairs = lopsided()
    model = SimilarityModel(8).fit(pairs)  # 900 and 40: "auto" is a search
    first, chosen = model.search_[0], [row for row in model.search_ if row['chosen']]
    assert len(chosen) == 1 and set(first) == {'ridge', 'unobserved_weight', 'chosen', 'ndcg@20'}
    assert chosen[0]['ndcg@20'] >= first['ndcg@20']
    again = SimilarityModel(8, ridge='search', unobserved_weight='search').fit(pairs)
    assert again.ridge_ == model.ridge_ and again.search_ == model.search_
    settings = dict(ridge=model.ridge_, unobserved_weight=model.unobserved_weight_)
    settings['ridge_power'] = model.settings_['ridge_power']
    fixed = SimilarityModel(8, **settings).fit(pairs)
    assert fixed.search_ is None
    np.testing.assert_allclose(fixed.left_embeddings_, model.left_embeddings_, atol=1e-5)
    one = SimilarityModel(8, ridge='search', unobserved_weight=0.1).fit(pairs)
    assert set(one.search_[0]) == {'ridge', 'chosen', 'ndcg@20'}
    assert one.unobserved_weight_ == pytest.approx(0.1)
    assert SimilarityModel(4).fit(pairs[pairs[:, 0] < 200]).search_ is None  # too little to choose


def test_a_search_takes_some_of_very_many_pairs(monkeypatch):
    pairs, seen = lopsided(), []
    part = SimilarityModel._part_to_search

    def noted(self, found):
        seen.append(part(self, found))
        return seen[-1]

    monkeypatch.setattr(SimilarityModel, '_part_to_search', noted)
    monkeypatch.setattr(similarity.model, '_MOST_SEARCHED', len(pairs) // 3)
    model = SimilarityModel(8).fit(pairs)
    n_left = int(pairs[:, 0].max()) + 1
    assert 0.32 * n_left < seen[0].shape[0] < 0.34 * n_left and seen[0].shape[1] == 40
    assert 0.2 * len(pairs) < len(seen[0].pairs) < 0.5 * len(pairs)
    assert seen[0].pairs[:, 0].max() < seen[0].shape[0]
    assert model.left_embeddings_.shape == (n_left, 8) and len(model.search_) > 2
    assert SimilarityModel(8).fit(pairs).search_ == model.search_
    SimilarityModel(8, row_weights=np.ones(n_left)).fit(pairs)
    assert seen[-1].shape == (n_left, 40)  # weights of rows: all of them


@pytest.mark.parametrize(
    'settings', [dict(solver='newton'), dict(values='labels'), dict(loss='softmax')]
)
@pytest.mark.parametrize('name', ['ridge', 'n_components'])
def test_a_search_that_has_no_short_fits_is_refused(settings, name):
    log = dict(user=[0, 0, 1, 1], item=[0, 1, 1, 2], like=[1, 0, 1, 1])
    with pytest.raises(ValueError, match=f'{name}="search" needs solver="als"') as caught:
        SimilarityModel(**{name: 'search'}, **settings).fit(log)
    assert '\n' not in str(caught.value)


def cliques(n_kinds, n_left=600, n_right=600):
    "Each entity has a kind, and most pairs of the same kind are observed."
    rng = np.random.default_rng(0)
    left, right = np.arange(n_left) % n_kinds, np.arange(n_right) % n_kinds
    own = (left[:, None] == right) & (rng.random((n_left, n_right)) < 0.8)
    return np.argwhere(own | (rng.random((n_left, n_right)) < 0.002))


WIDTH = dict(n_components='search', metric='recall@5')


@pytest.fixture(scope='module')
def widened():
    return SimilarityModel(**WIDTH).fit(cliques(120))


def test_a_search_doubles_the_width_where_64_are_too_few(widened):
    assert [row['n_components'] for row in widened.search_][:2] == [64, 128]
    assert widened.n_components_ == 128 == widened.left_embeddings_.shape[1]
    assert [row['n_components'] for row in widened.search_ if row['chosen']] == [128]
    assert widened.n_components == 'search' == clone(widened).n_components
    fixed = SimilarityModel(128).fit(cliques(120))
    np.testing.assert_array_equal(fixed.left_embeddings_, widened.left_embeddings_)
    assert fixed.n_components_ == 128 and fixed.ridge_ == widened.ridge_


def test_a_search_keeps_the_width_where_64_are_enough():
    model = SimilarityModel(**WIDTH).fit(cliques(10))
    assert model.n_components_ == 64
    assert [row['n_components'] for row in model.search_] == [64, 128, 32]


def test_a_search_of_the_width_comes_first_and_stays_within_the_sides():
    pairs = lopsided()  # 900 and 40: "auto" is a search of the ridge and the weight
    model = SimilarityModel(**WIDTH).fit(pairs)
    tried = [row['n_components'] for row in model.search_]
    assert tried[:2] == [40, 20] and set(tried) <= {40, 20, 10}
    assert len({(row['ridge'], row['unobserved_weight']) for row in model.search_[:2]}) == 1
    later = model.search_[len(set(tried)) :]
    assert later and {row['n_components'] for row in later} == {model.n_components_}
    again = SimilarityModel(**WIDTH, ridge='search', unobserved_weight='search').fit(pairs)
    assert again.search_ == model.search_
    few = SimilarityModel(n_components='search').fit(cliques(2, 30, 3))
    assert few.n_components_ == 3


def test_a_width_that_was_searched_is_kept_by_files_and_warm_starts(widened, tmp_path):
    widened.save(tmp_path / 'model')
    back = SimilarityModel.load(tmp_path / 'model')
    assert (back.n_components, back.n_components_) == ('search', 128)
    assert back.search_ == widened.search_
    np.testing.assert_array_equal(back.recommend([3])[0], widened.recommend([3])[0])
    narrow = cliques(10)
    back.set_params(warm_start=True, max_iter=2, tol=None).fit(narrow)
    assert back.n_components_ == 128 and back.search_ is None
    assert back.set_params(warm_start=False).fit(narrow).n_components_ == 64
    refuses("n_components='find' is neither a whole", SimilarityModel('find').fit, narrow)


def test_a_search_of_the_width_needs_the_memory_of_the_widest(monkeypatch):
    asked = []

    def noted(n_bytes, what, *advice):
        asked.append((what, n_bytes))

    def forecast(k):
        asked.clear()
        SimilarityModel(k, max_iter=1, tol=None).fit(cliques(10))
        return next(n_bytes for what, n_bytes in asked if what == 'SimilarityModel.fit')

    monkeypatch.setattr(similarity.model, 'check_memory', noted)
    assert forecast(64) < forecast(512) == forecast('search') / 2  # the copy that is searched


def test_values_come_from_the_column_that_is_named_so_or_are_asked_for():
    table = pd.DataFrame({'user': [0, 0, 1, 1], 'film': [0, 1, 1, 2], 'year': 2000})

    def fit(given):
        return SimilarityModel(2, values='weights', max_iter=2, tol=None).fit(given)

    scores = fit(table.assign(plays=[3, 1, 1, 4])).score_pairs(table)
    alone = fit(table.drop(columns='year').assign(plays=[3, 1, 1, 4])).score_pairs(table)
    np.testing.assert_array_equal(scores, alone)
    with pytest.raises(ValueError, match="'year', 'n' stand beside the ids; say which"):
        fit(table.assign(n=[3, 1, 1, 4]))
    with pytest.raises(ValueError, match="like holds 'yes' in row 0, but numbers are needed; make"):
        SimilarityModel(2, values='labels').fit(
            table[['user', 'film']].assign(like=['yes', 'no', 'yes', 'no'])
        )


def test_features_go_by_their_index_where_it_holds_row_numbers():
    rng = np.random.default_rng(0)
    pairs = np.c_[np.arange(40) % 10, np.arange(40) % 7]
    left, right = pd.DataFrame(rng.normal(size=(10, 3))), pd.DataFrame(rng.normal(size=(7, 3)))

    def fit(given):
        return SimilarityModel(2, max_iter=3, tol=None).fit(pairs, given, right)

    mixed = left.sample(frac=1, random_state=1)
    expected = fit(left).score_pairs(pairs)
    np.testing.assert_array_equal(fit(mixed).score_pairs(pairs), expected)
    np.testing.assert_array_equal(fit(left.set_axis(np.arange(1, 11))).score_pairs(pairs), expected)
    with pytest.raises(ValueError, match='index of left_features holds numbers in no order'):
        fit(mixed.set_axis(mixed.index + 1))


@pytest.mark.parametrize('later', [{'n_components': 16}, {'biases': True}])
def test_a_setting_for_the_next_fit_does_not_spoil_the_file(tmp_path, later):
    pairs = np.c_[np.arange(60) % 12, np.arange(60) % 11]
    model = SimilarityModel(4, max_iter=3, tol=None).fit(pairs)
    scores = model.score_pairs(pairs)
    model.set_params(**later).save(tmp_path / 'model.npz')
    read = SimilarityModel.load(tmp_path / 'model.npz')
    np.testing.assert_array_equal(read.score_pairs(pairs), scores)
    assert read.get_params().items() >= later.items()


def test_rows_that_the_rule_of_the_defaults_cannot_hold_are_refused(monkeypatch):
    "Its leading directions are longer than anything read before."
    monkeypatch.setattr('extreme_opt.core.memory.free_memory', lambda: 1e10)
    with pytest.raises(MemoryError, match='each of 200,000,000 ids: give a table of pairs'):
        penalty_scale(np.zeros((1, 2), np.int64), (10**8, 10**8))
    pair = sparse.coo_array(([1.0], ([5], [7])), shape=(10**12, 10**12))
    with pytest.raises(MemoryError, match='2,000,000,000,000 ids: give a table of pairs'):
        SimilarityModel().fit(pair)


def test_items_without_end_are_refused_before_arrays_as_long(monkeypatch):
    columns, many = np.sort(np.random.default_rng(0).integers(2**31 - 2, size=50)), 2**31 - 2
    X = sparse.csr_array(
        (np.ones(50), columns.astype(np.int32), np.arange(51, dtype=np.int32)), (50, many)
    )
    monkeypatch.setattr('extreme_opt.core.memory.free_memory', lambda: 1e10)
    tracemalloc.start()
    with pytest.raises(MemoryError, match='each of 2,147,483,696 ids: give a table of pairs'):
        SimilarityModel(2).fit(X)
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()
    table = dict(user=list(range(50)), item=columns.tolist())
    assert len(SimilarityModel(2, max_iter=1, tol=None).fit(table).right_embeddings_) <= 50


def test_a_history_of_dislikes_alone_is_told_where_missing_pairs_are_stronger():
    "In a full table a missing pair pulls a score down more than a dislike does."
    table = [(user, film, int(user % 2 == film % 2)) for user in range(12) for film in range(8)]
    log = dict(zip(('user', 'film', 'like'), map(list, zip(*table))))
    model = SimilarityModel(2, values='labels').fit(log)
    with pytest.warns(UserWarning, match='history 0 holds dislikes alone.* 2 times as hard'):
        assert (model.recommend(history={1: -1}, k=3)[0] % 2).any()
    part, (Q, _) = model._fold, model._retriever.embeddings.of(1)
    some, none = np.array([1]), np.array([], int)
    # a dislike in place of a missing pair: 1/2 for 1
    slopes = [
        _square_of(part, Q, None, items, np.ones(len(items)), -np.ones(len(items)), 0.0)[1](
            np.zeros(2)
        )[0]
        for items in (some, none)
    ]
    np.testing.assert_allclose(slopes[0] - slopes[1], (0.5 - 1.0) * Q[1], rtol=1e-6)
    with no_warning():
        assert not (model.recommend(history={0: 1, 1: -1}, k=3)[0] % 2).any()
    weak = SimilarityModel(2, values='labels', unobserved_weight=0.1).fit(log)
    assert not (weak.recommend(history={1: -1}, k=3)[0] % 2).any()


@pytest.mark.parametrize('share, weight, told', [(0.1, 50.0, '10 times'), (5.0, 0.02, '')])
def test_weights_of_columns_count_in_the_pull_of_missing_pairs(share, weight, told):
    "One warning for all histories of dislikes alone."
    table = [(user, film, int(user % 2 == film % 2)) for user in range(12) for film in range(8)]
    model = SimilarityModel(
        2, values='labels', unobserved_weight=share, column_weights=np.full(8, weight)
    ).fit(dict(zip(('user', 'film', 'like'), map(list, zip(*table)))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model.recommend(history=[{1: -1}, {0: 1}, {2: -1}], k=3)
    words = [str(one.message) for one in caught if 'dislikes' in str(one.message)]
    assert len(words) == bool(told)
    assert all('2 histories hold dislikes alone (first: 0)' in one and told in one for one in words)
