"""Sampled gradients: unbiased by enumeration for every option, refused where they cannot be, and
lists that are judged as promised."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.core import minimize
from extreme_opt.similarity import (
    MLP,
    AllPairs,
    BlockSGD,
    Linear,
    PairSGD,
    SOGram,
    item_neighbors,
    popularity,
    rank_measures,
)
from extreme_opt.similarity.ranking import pattern
from extreme_opt.similarity.sampling import (
    block_sample,
    draw_proba,
    drawn_pairs,
    entity_sample,
    has_holes,
    pair_sample,
    sampled_gradient,
    single_sample,
)

PAIRS = np.array([(0, 0), (0, 2), (1, 1), (2, 1), (3, 2)])
OPTIONS = [
    {},
    dict(pair_loss='squared', labels=np.linspace(-1, 2, 5)),
    dict(penalty='all'),
    dict(biases=True),
    dict(impute=0.0),
    dict(row_weights=np.linspace(0.5, 2, 4), pair_weights=np.linspace(0.2, 2, 5)),
    dict(column_weights=np.linspace(2, 0.5, 3), pair_weights=np.linspace(2, 0.2, 5)),
    dict(impute=(np.linspace(-1, 1, 8).reshape(4, 2), np.linspace(1, -1, 6).reshape(3, 2))),
    dict(unobserved_weight=0.0),
]


def problem(observed=PAIRS, **options):
    settings = dict(n_left=4, n_right=3, n_components=2, left=MLP(3), right=Linear(), ridge=0.3)
    return AllPairs(observed, **settings, **dict(unobserved_weight=0.4) | options)


def mean_gradient(made, samples, weights=None):
    params = made.init_params(1)
    return np.average(
        [sampled_gradient(made, params, sample) for sample in samples], axis=0, weights=weights
    ), made.grad(params)


@pytest.mark.parametrize('options', OPTIONS)
def test_every_sampler_is_unbiased(options):
    made = problem(**options)
    twos = [np.array(pair) for pair in combinations(range(5), 2)]
    draws = {
        'block': [
            block_sample(made.terms, np.array(i), np.array(j))
            for i in combinations(range(4), 2)
            for j in product(range(3), repeat=2)
        ],
        'pairs': [pair_sample(made.terms, one, two) for one in twos for two in twos],
        'swapped': [pair_sample(made.terms, one, two, swap=True) for one in twos for two in twos],
        'single': [
            single_sample(made.terms, np.array(three)) for three in combinations(range(5), 3)
        ],
    }
    for samples in draws.values():
        np.testing.assert_allclose(*mean_gradient(made, samples), rtol=1e-9, atol=1e-11)


def test_entities_without_a_pair_are_reached():
    made = problem(PAIRS[[0, 1, 4]])
    pi = draw_proba(np.diff(made.terms.pairs.starts))
    rho = draw_proba(np.diff(made.terms.pairs.turned))
    draws = list(product(range(4), range(3), range(3)))
    samples = [
        entity_sample(made.terms, np.array([i]), np.array([j]), np.array([e])) for i, j, e in draws
    ]
    np.testing.assert_allclose(
        *mean_gradient(made, samples, [pi[i] * rho[j] / 3 for i, j, _ in draws]),
        rtol=1e-9,
        atol=1e-11,
    )
    assert has_holes(made.terms) and not has_holes(problem().terms)
    for sampler in ('pairs', 'swapped', 'single'):
        with pytest.raises(ValueError, match='needs an observed pair for every entity'):
            drawn_pairs(made.terms, np.random.default_rng(0), 0.5, sampler)
    weightless = problem(
        PAIRS[[0, 1, 4]], row_weights=np.array([1.0, 0, 0, 1]), column_weights=np.array([1.0, 0, 1])
    )
    assert not has_holes(weightless.terms)


@pytest.mark.parametrize('sampler', ['pairs', 'swapped', 'single'])
def test_a_warm_up_has_a_pair_for_each_entity(sampler):
    "Where the first four entities of both sides have none with each other, the fit was refused."
    ids = np.arange(30)
    made = AllPairs(np.column_stack([ids, ids * 7 % 20]), n_components=2)
    run = minimize(made, PairSGD(share=0.1, sampler=sampler), max_iter=1)
    assert np.isfinite(run.state.params).all()


def test_no_pairs_at_all():
    made = problem(np.empty((0, 2), int))
    params = made.init_params(0)
    for solver in (PairSGD(1e-3, share=0.5), BlockSGD(1e-3, share=0.5), SOGram(1e-3, share=0.5)):
        assert np.isfinite(minimize(made, solver, params, max_iter=2).state.params).all()


def test_measures_agree_with_scikit_learn():
    from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

    rng = np.random.default_rng(1)
    table = rng.normal(size=(12, 25))
    test = pattern(np.argwhere(rng.random((12, 25)) < 0.2), (12, 25))
    rows = np.flatnonzero(np.diff(test.indptr))
    truth = test.toarray()[rows]
    found = rank_measures(lambda at: table[at], test, measures=('ndcg@10', 'auc', 'map@25'))
    np.testing.assert_allclose(found['ndcg@10'], ndcg_score(truth, table[rows], k=10), rtol=1e-9)
    want = np.mean([roc_auc_score(*each) for each in zip(truth, table[rows], strict=True)])
    np.testing.assert_allclose(found['auc'], want, rtol=1e-9)
    np.testing.assert_allclose(
        found['map@25'],
        np.mean([average_precision_score(*each) for each in zip(truth, table[rows], strict=True)]),
        rtol=1e-9,
    )


def test_baselines_by_hand():
    train = pattern(np.array([[0, 0], [0, 1], [1, 0], [2, 1], [2, 2]]), (3, 3))
    np.testing.assert_array_equal(popularity(train)(np.array([0, 2])), [[2, 2, 1]] * 2)
    dense = train.toarray().astype(float)
    near = dense.T @ dense / np.sqrt(np.outer(dense.sum(0), dense.sum(0)))
    np.fill_diagonal(near, 0)
    np.testing.assert_allclose(item_neighbors(train)(np.arange(3)), dense @ near)


def test_neighbors_are_found_in_blocks():
    "Blocks of similarities give what one dense table of all gives; ties at the last place stay."
    rng = np.random.default_rng(0)
    train = pattern(np.unique(rng.integers(0, (60, 1700), (4000, 2)), axis=0), (60, 1700))
    ratings = scipy.sparse.csr_array(train, dtype=float)
    unit = ratings.multiply(1 / np.sqrt(np.maximum(ratings.sum(0), 1))).tocsr()
    near = (unit.T @ unit).toarray()
    np.fill_diagonal(near, 0)
    least = np.sort(near, axis=1)[:, -5, None]
    near[near < least] = 0
    assert ((near > 0).sum(1) > 5).any()
    np.testing.assert_allclose(
        item_neighbors(train, 5)(np.arange(60)), ratings.toarray() @ near.T, atol=1e-12
    )
