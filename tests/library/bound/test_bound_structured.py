"Chains of labels: against brute force, and against a solver that knows nothing of bounds."

import itertools
import os

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.bound.structured import (
    LinearChain,
    best_labels,
    chain_bound,
    forward_backward,
    join_rows,
    loewner_max,
    noun_phrases,
    planted_chain,
)
from extreme_opt.core import LBFGS, Majorizer, check_gradient, minimize
from extreme_opt.core.linalg import log_sum_exp


def labelings(n_words, n_classes):
    paths = np.array(list(itertools.product(range(n_classes), repeat=n_words)))
    counts = np.zeros((len(paths), n_classes**2 + n_words * n_classes))
    for t in range(n_words):
        counts[np.arange(len(paths)), n_classes**2 + t * n_classes + paths[:, t]] += 1
    for t in range(1, n_words):
        counts[np.arange(len(paths)), paths[:, t - 1] * n_classes + paths[:, t]] += 1
    return paths, counts


@pytest.mark.parametrize('n_words, n_classes', [(1, 3), (2, 2), (4, 3), (3, 5)])
@pytest.mark.parametrize('size', [0.1, 3.0, 2000.0])
def test_sums_and_bound_against_brute_force(n_words, n_classes, size):
    rng = np.random.default_rng(n_words + 10 * n_classes)
    paths, counts = labelings(n_words, n_classes)
    for _ in range(3):
        scores, transitions = (
            size * rng.normal(size=(n_words, n_classes)),
            size * rng.normal(size=(n_classes, n_classes)),
        )
        at = np.concatenate([transitions.ravel(), scores.ravel()])
        totals = counts @ at
        exact, mean = log_sum_exp(totals), np.exp(totals - log_sum_exp(totals)) @ counts
        sums = forward_backward(scores, transitions)
        np.testing.assert_allclose(sums.log_norms[0], exact, rtol=1e-12)
        np.testing.assert_allclose(
            np.concatenate([sums.edges.ravel(), sums.nodes.ravel()]), mean, atol=1e-9
        )
        np.testing.assert_array_equal(best_labels(scores, transitions), paths[totals.argmax()])
        for order, join in itertools.product(('smallest', 'largest', 'given'), ('max', 'sum')):
            log_norm, slope, rows = chain_bound(scores, transitions, order, join)
            np.testing.assert_allclose(log_norm, exact, rtol=1e-12)
            np.testing.assert_allclose(slope, mean, atol=1e-9)
            for radius in (0.1, 1.0, 30.0, 3 * size):
                shift = rng.normal(size=at.size)
                shift *= radius / np.linalg.norm(shift)
                high = log_norm + slope @ shift + 0.5 * np.sum((rows @ shift) ** 2)
                low = log_sum_exp(counts @ (at + shift))
                assert high >= low - 1e-9 * (1 + abs(low))


def test_many_chains_are_one_after_the_other():
    rng = np.random.default_rng(0)
    scores, transitions, starts = (
        rng.normal(size=(12, 3)),
        rng.normal(size=(3, 3)),
        np.array([0, 1, 5, 12]),
    )
    scores[6] *= 1e4  # this chain needs the kernel with logarithms
    sums, edges = forward_backward(scores, transitions, starts), 0
    for i, (a, b) in enumerate(zip(starts, starts[1:])):
        one = forward_backward(scores[a:b], transitions)
        assert sums.log_norms[i] == pytest.approx(one.log_norms[0], rel=1e-14)
        np.testing.assert_allclose(sums.nodes[a:b], one.nodes, atol=1e-14)
        np.testing.assert_array_equal(
            best_labels(scores, transitions, starts)[a:b], best_labels(scores[a:b], transitions)
        )
        edges = edges + one.edges
    np.testing.assert_allclose(sums.edges, edges, atol=1e-13)
    np.testing.assert_allclose(sums.nodes.sum(1), 1)


def test_maximum_is_above_both():
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = rng.normal(size=(2, 3, 2, 9)) * 10.0 ** rng.integers(-6, 3)
        rows[0, 0, 1] = rows[0, 0, 0]  # a group of rank one
        joined = join_rows(rows)
        for one, groups in zip(joined, rows):
            full = one.T @ one
            for group in groups:
                assert np.linalg.eigvalsh(full - group.T @ group)[0] > -1e-10 * np.trace(full)
            assert np.trace(full) <= np.sum(groups**2) * (1 + 1e-12)
    a = rng.normal(size=(4, 4))
    a = a @ a.T
    np.testing.assert_allclose(loewner_max(a, 0 * a), a, atol=1e-12)
    np.testing.assert_allclose(loewner_max(a, 2 * a), 2 * a, atol=1e-12)


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize('dtype', [np.float64, np.float32])
def test_problem(kind, dtype):
    plain = planted_chain(12, n_classes=4, n_features=5)
    problem = LinearChain(
        kind(plain.features.astype(dtype)), plain.labels, plain.starts, 4, ridge=0.05
    )
    at = np.random.default_rng(0).normal(size=problem.n_params).astype(dtype)
    check_gradient(problem, at)
    bound = problem.quadratic_bound(at)
    assert problem.dtype == dtype and bound.value == pytest.approx(problem.loss(at), rel=1e-6)
    halves = [
        problem.quadratic_bound(at, np.arange(6) + part).curvature.matrix() for part in (0, 6)
    ]
    np.testing.assert_allclose(
        halves[0] + halves[1], bound.curvature.matrix(), rtol=1e-6, atol=1e-6
    )
    assert np.mean([problem.loss_at(at, np.array([i])) for i in range(12)]) == pytest.approx(
        problem.loss(at), rel=1e-6
    )
    assert problem.warmup_problem().n_samples == 1 and len(problem.predict(at)) == len(
        problem.labels
    )


def test_training_reaches_the_optimum_of_lbfgs():
    problem = planted_chain(10, n_features=4, ridge=0.1)
    best = minimize(problem, LBFGS(), max_iter=200, tol=1e-10)
    for order in ('smallest', 'alternating'):
        run = minimize(problem, Majorizer(relaxation=1.9, order=order), max_iter=300, tol=1e-8)
        assert (np.diff(run.column('loss')) <= 1e-9).all()
        assert run.column('loss')[-1] == pytest.approx(best.column('loss')[-1], rel=1e-8)


def test_wrong_input_is_one_line():
    good = planted_chain(3)
    for arguments, words in (
        ((good.features, good.labels[:-1], good.starts), 'one label per word'),
        ((good.features, good.labels, good.starts[:-1]), 'must rise'),
        ((good.features, good.labels + np.array(-1), good.starts), r'labels\['),
    ):
        with pytest.raises(ValueError, match=words):
            LinearChain(*arguments)
    with pytest.raises(ValueError, match='ridge'):
        LinearChain(good.features, good.labels, good.starts, ridge=-1.0)
    with pytest.raises(ValueError, match='join'):
        chain_bound(np.zeros((2, 2)), np.zeros((2, 2)), join='mean')


def test_noun_phrases():
    if not os.environ.get('EXTREME_OPT_DATA'):
        pytest.skip('needs EXTREME_OPT_DATA')
    from extreme_opt.data import load

    found = load('conll2000', min_count=1)
    train, test = noun_phrases(found), noun_phrases(found, 'test', n_chains=50)
    assert (train.n_samples, len(train.labels), train.features.shape[1]) == (8936, 211727, 44)
    assert test.n_samples == 50 and np.bincount(train.labels).tolist() == [55081, 63307, 93339]
    words = np.asarray(found.texts)[found.train]
    assert words[0] == 'Confidence' and train.starts[1] == list(words).index('.') + 1
