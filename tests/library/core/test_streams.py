"Planted data, starts and batches must not share random numbers, whatever the seed."

import numpy as np
import pytest

from extreme_opt import bound, data, ordinal, similarity, softmax
from extreme_opt.core import Problem, State, minimize
from extreme_opt.core.streams import stream

SEEDS = range(20)


class Listener:
    "A solver that keeps what the generator of the run would have given it, and stays where it is."

    requires = Problem

    def init(self, problem, params):
        self.heard = []
        return State(params=params.copy())

    def step(self, problem, state, rng):
        self.heard.append(rng.normal(size=5000))
        return State(params=state.params, n_iter=state.n_iter + 1, n_epochs=state.n_epochs + 1)


def planted(seed):
    """name -> (problem, arrays that were drawn for it) of every planted set, one problem of each
    chapter at least."""
    made, weights = data.planted_softmax(200, 10, 20, seed=seed)
    crossed, centers = data.four_gaussians(300, seed=seed)
    pairs, towers = data.planted_towers(60, 50, 12, 4, seed=seed)
    answers, places = data.planted_triplets(60, 3, 800, seed=seed)
    chain = bound.structured.planted_chain(20, seed=seed)
    two_towers = similarity.AllPairs(
        pairs.observed, pairs.left_features, pairs.right_features, n_components=4
    )
    return {
        'softmax': (softmax.DoubleSum(made.features, made.labels), [weights, made.features]),
        'similarity': (two_towers, [pairs.left_features, pairs.right_features, *towers]),
        'ordinal': (ordinal.Comparisons(answers.triplets, 3, n_objects=60), [places]),
        'bound': (bound.LogLinear(crossed.features, crossed.labels, 4), [crossed.features]),
        'bound, chain': (chain, [chain.features]),
    }


def correlation(one, other):
    """Of the entries in the order in which they were drawn, and in the other order of memory; 0 for
    a constant."""
    worst = 0.0
    for a in (np.ravel(one), np.ravel(one, 'F')):
        size = min(a.size, np.size(other))
        first, second = a[:size].astype(float), np.ravel(other)[:size].astype(float)
        if first.std() and second.std():
            worst = max(worst, abs(np.corrcoef(first, second)[0, 1]) * np.sqrt(size))
    return worst  # in standard deviations of independent numbers


@pytest.mark.parametrize('seed', SEEDS)
def test_start_batches_and_planted_data_are_uncorrelated(seed):
    found = planted(seed)
    truths = {
        f'{name} {k}': array
        for name, (_, arrays) in found.items()
        for k, array in enumerate(arrays)
    }
    drawn = {}
    for name, (problem, _) in found.items():
        listener = Listener()
        minimize(problem, listener, seed=seed, max_iter=1, loss_subset=0)
        drawn[f'{name}, batches'] = listener.heard[-1]
        drawn[f'{name}, start'] = problem.init_params(seed)
        drawn[f'{name}, start of an estimator'] = problem.init_params([seed, 0])
    plain = {'the plain generator': np.random.default_rng(seed).normal(size=5000)}
    high = {
        (one, other): round(correlation(a, b), 1)
        for one, a in drawn.items()
        for other, b in (truths | plain).items()
        if correlation(a, b) > 5
    }
    for name in found:
        size = correlation(drawn[f'{name}, batches'], drawn[f'{name}, start'])
        if size > 5:
            high[name, 'batches and start'] = round(size, 1)
    assert not high


def test_the_estimator_does_not_start_at_the_planted_map():
    for seed in range(3):
        found, places = data.planted_triplets(60, 2, 2000, noise=0, seed=seed)
        model = ordinal.OrdinalEmbedding(init='random', random_state=seed, max_iter=0).fit(found)
        assert ordinal.procrustes(model.embedding_, places)[1] > 0.8


def test_a_generator_is_passed_on_and_a_seed_sequence_keeps_its_key():
    mine = np.random.default_rng(0)
    assert stream(mine, 'start') is mine
    problem = ordinal.Comparisons([[0, 1, 2]])
    assert (
        problem.init_params(np.random.SeedSequence(4)).tolist() == problem.init_params(4).tolist()
    )
    one, other = (problem.init_params(child) for child in np.random.SeedSequence(4).spawn(2))
    assert not np.isin(one, other).any()
    first = problem.init_params(mine)
    assert not np.isin(first, problem.init_params(mine)).any()
    assert minimize(problem, Listener(), seed=mine, max_iter=1).state.n_iter == 1
