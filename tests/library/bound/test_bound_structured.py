"Chains of labels: against brute force, and against a solver that knows nothing of bounds."

import itertools
import os
import pickle

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses

from extreme_opt.bound import structured
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
from extreme_opt.core import LBFGS, check_gradient, minimize
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
        scores = size * rng.normal(size=(n_words, n_classes))
        transitions = size * rng.normal(size=(n_classes, n_classes))
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
    scores = rng.normal(size=(12, 3))
    transitions = rng.normal(size=(3, 3))
    starts = np.array([0, 1, 5, 12])
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


def test_a_point_is_evaluated_once(monkeypatch):
    "The record of a run asks for the loss where a step has just been."
    problem, calls = planted_chain(20), []
    sums = structured._sums
    monkeypatch.setattr(structured, '_sums', lambda *given: calls.append(0) or sums(*given))
    run = minimize(problem, LBFGS(), max_iter=5, tol=0.0)
    assert len(calls) < 2 * run.state.n_iter
    params = run.state.params.copy()
    value, slope = problem.loss_and_grad(params)
    slope += 1  # what is handed out is the caller's
    params[0] += 1.0
    assert problem.loss(params) != value
    params[0] -= 1.0
    again = problem.take(slice(None)).loss_and_grad(params)
    assert problem.loss(params) == pytest.approx(value) == again[0]
    np.testing.assert_allclose(problem.grad(params), again[1], atol=1e-12)
    assert '_last' not in vars(pickle.loads(pickle.dumps(problem)))


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
    assert problem.warmup_problem().n_samples == 1
    assert len(problem.predict(at)) == len(problem.labels)


def test_wrong_input_is_one_line():
    good = planted_chain(3)
    for arguments, words in (
        ((good.features, good.labels[:-1], good.starts), 'one label per word'),
        ((good.features, good.labels, good.starts[:-1]), 'must rise'),
        ((good.features, good.labels + np.array(-1), good.starts), r'labels\['),
    ):
        refuses(words, LinearChain, *arguments)
    refuses('ridge', LinearChain, good.features, good.labels, good.starts, ridge=-1.0)
    refuses('join', chain_bound, np.zeros((2, 2)), np.zeros((2, 2)), join='mean')


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


def test_empty_chains_have_no_tags_and_change_nothing():
    rng = np.random.default_rng(0)
    scores, transitions = rng.normal(size=(9, 3)), rng.normal(size=(3, 3))
    for holes, dense in (([0, 4, 4, 9], [0, 4, 9]), ([0, 0, 9, 9, 9], [0, 9]), ([0, 9, 9], None)):
        np.testing.assert_array_equal(
            best_labels(scores, transitions, holes), best_labels(scores, transitions, dense)
        )
        some, all_ = (forward_backward(scores, transitions, s) for s in (holes, dense))
        np.testing.assert_array_equal(some.nodes, all_.nodes)
        np.testing.assert_array_equal(some.edges, all_.edges)
        lengths = np.diff(holes)
        np.testing.assert_array_equal(some.log_norms[lengths > 0], all_.log_norms)
        assert (some.log_norms[lengths == 0] == 0).all()
    for starts, n_chains in ((None, 1), ([0], 0), ([0, 0, 0], 2)):
        assert best_labels(np.zeros((0, 3)), transitions, starts).shape == (0,)
        assert forward_backward(np.zeros((0, 3)), transitions, starts).log_norms.tolist() == (
            [0.0] * n_chains
        )
    log_norm, mean, rows = chain_bound(np.zeros((0, 3)), transitions)
    assert log_norm == 0 and mean.tolist() == [0.0] * 9 and rows.shape == (0, 9)
    # one tag: one labeling
    sums = forward_backward(scores[:, :1], transitions[:1, :1])
    log_norm, mean, rows = chain_bound(scores[:, :1], transitions[:1, :1])
    assert log_norm == pytest.approx(sums.log_norms[0]) and not len(rows)
    np.testing.assert_allclose(mean, np.r_[sums.edges.ravel(), sums.nodes.ravel()])


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
def test_a_problem_with_empty_chains_is_the_one_without(kind):
    plain = planted_chain(8, n_classes=3, n_features=4, ridge=0.05)
    at = np.random.default_rng(0).normal(size=plain.n_params)
    starts = np.sort(np.r_[0, 0, plain.starts, plain.starts[2], len(plain.labels)])
    holes = LinearChain(kind(plain.features), plain.labels, starts, ridge=0.05)
    assert holes.n_samples == 12
    for one, other in zip(plain.loss_and_grad(at), holes.loss_and_grad(at)):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_array_equal(plain.predict(at), holes.predict(at))
    np.testing.assert_allclose(
        plain.quadratic_bound(at).curvature.matrix(), holes.quadratic_bound(at).curvature.matrix()
    )
    every = [holes.loss_at(at, np.array([i])) for i in range(12)]
    assert np.mean(every) == pytest.approx(holes.loss(at))
    nothing = LinearChain(kind(np.zeros((0, 4))), np.zeros(0, int), [0, 0], 3, ridge=0.05)
    assert nothing.predict(at).shape == (0,) and nothing.loss(at) == 0


NUMBERS = np.arange(27.0).reshape(9, 3) % 4
BAD_CHAINS = {
    'lengths': (NUMBERS, np.zeros((3, 3)), [5, 4], 'starts holds lengths, which sum to 9'),
    'three lengths': (NUMBERS, np.zeros((3, 3)), [4, 3, 2], 'starts holds lengths'),
    'without the end': (NUMBERS, np.zeros((3, 3)), [0, 4], 'from 0 to 4'),
    'beyond': (NUMBERS, np.zeros((3, 3)), [0, 200000], 'from 0 to 200000'),
    'late': (NUMBERS, np.zeros((3, 3)), [2, 9], 'from 2 to 9'),
    'below 0': (NUMBERS, np.zeros((3, 3)), [-3, 9], 'from -3 to 9'),
    'falls': (NUMBERS, np.zeros((3, 3)), [0, 7, 5, 9], r'starts\[2\] is 5, below the 7'),
    'fraction': (NUMBERS, np.zeros((3, 3)), [0, 1.7, 9], r'starts\[1\] is 1.7'),
    'nan start': (NUMBERS, np.zeros((3, 3)), [0, np.nan, 9], r'starts\[1\] is nan'),
    'no starts': (NUMBERS, np.zeros((3, 3)), [], 'one whole number per chain'),
    'a number': (NUMBERS, np.zeros((3, 3)), 9, 'one whole number per chain'),
    'text': (NUMBERS, np.zeros((3, 3)), ['0', '9'], 'one whole number per chain'),
    'small transitions': (NUMBERS, np.zeros((2, 2)), None, r'transitions has shape \(2, 2\)'),
    'large transitions': (NUMBERS, np.zeros((4, 4)), None, r'scores has shape \(9, 3\)'),
    'flat transitions': (NUMBERS, np.zeros((3, 2)), None, r'transitions has shape \(3, 2\)'),
    'one row': (NUMBERS[0], np.zeros((3, 3)), None, r'scores is float64 of shape \(3,\)'),
    'no tags': (np.zeros((4, 0)), np.zeros((0, 0)), None, 'one column of scores per tag'),
    'nan score': (np.where(NUMBERS > 2, np.nan, 0), np.zeros((3, 3)), None, 'nan at word 1, tag 0'),
    'inf score': (np.where(NUMBERS > 2, np.inf, 0), np.zeros((3, 3)), None, 'inf at word 1, tag 0'),
    'nan transition': (NUMBERS, np.full((3, 3), np.nan), None, 'nan at tag 0, next tag 0'),
    'minus infinity': (NUMBERS, np.full((3, 3), -np.inf), None, 'such as -1e4'),
    'complex': (NUMBERS * 1j, np.zeros((3, 3)), None, 'a real number'),
    'words': ([['a']], np.zeros((1, 1)), None, 'no numbers'),
}


@pytest.mark.filterwarnings('ignore:Casting complex')
@pytest.mark.parametrize('function', [best_labels, forward_backward])
@pytest.mark.parametrize('case', BAD_CHAINS)
def test_bad_chains_are_one_line(case, function):
    *given, words = BAD_CHAINS[case]
    refuses(words, function, *given)


def test_what_a_problem_refuses_is_one_line():
    good = planted_chain(3, n_classes=3, n_features=4)
    X, y, starts = good.features, good.labels, good.starts
    spoiled, hole = X.copy(), X.copy()
    spoiled[2, 1], hole[3, 0] = np.nan, -np.inf
    text = np.array(['B', 'I', 'O'])[y]
    for features, labels, cuts, settings, words in (
        (spoiled, y, starts, {}, 'features holds NaN at row 2, column 1'),
        (scipy.sparse.csr_array(spoiled), y, starts, {}, 'features holds NaN at row 2, column 1'),
        (hole, y, starts, {}, 'features holds -inf at row 3, column 0'),
        (X, np.where(y == 1, 1.9, 0), starts, dict(n_classes=3), 'is 1.9, but integers from 0'),
        (
            X,
            text,
            starts,
            {},
            f'labels.0. is {str(text[0])!r}, but integers from 0 are needed; relabel',
        ),
        (X, None, starts, {}, 'labels is None, but training needs a tag per word; new words are'),
        (X, y, starts + 0.25, {}, r'starts\[0\] is 0.25'),
        (X, y, np.diff(starts), {}, 'starts holds lengths'),
        (X, y, starts, dict(n_classes=2.5), 'n_classes=2.5 is not a whole number from 1 up'),
        (X, y, starts, dict(n_classes=2), r'allows 0\.\.1'),
    ):
        refuses(words, LinearChain, features, labels, cuts, **settings)


def test_params_of_other_sizes_are_refused():
    problem = planted_chain(3, n_classes=4, n_features=6)
    at = problem.init_params()
    fewer = LinearChain(problem.features, np.minimum(problem.labels, 1), problem.starts)
    refuses('for 6 features and 2 tags', fewer.predict, at)
    refuses('40 are needed in one vector, for 6 features and 4 tags', problem.predict, at[:-4])
