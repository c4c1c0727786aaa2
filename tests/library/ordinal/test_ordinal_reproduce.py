"""The yardsticks of the long ordinal runs, by hand and by enumeration: a wrong one would make every
table wrong."""

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from extreme_opt.ordinal import procrustes, triplet_error

BENCH = Path(__file__).resolve().parents[3] / 'bench'


@pytest.fixture(scope='module')
def runs():
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location(
            'bench_ordinal_reproduce', BENCH / 'ordinal_reproduce.py'
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCH))
    return module


def test_synthetic_answers_are_those_of_a_map(runs):
    train, test = runs.synthetic(20, 3, 500)
    points = np.random.default_rng(0).normal(size=(20, 3)) / 20**0.5
    assert len(train) == len(test) == 500
    assert triplet_error(points, np.concatenate([train, test])) == 0


def test_scores_by_hand(runs):
    relevant = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 1, 1]], bool)
    np.testing.assert_allclose(runs.scores(relevant, 2), (1 / 4, (1 / 2 + 0) / 2, (1 / 2 + 0) / 2))
    np.testing.assert_allclose(
        runs.scores(relevant, 5), (2 / 5, 1, ((1 + 2 / 3) / 2 + (1 / 4 + 2 / 5) / 2) / 2)
    )
    for order in itertools.permutations(
        [True, True, False, False]
    ):  # a later hit never scores more
        for k in range(3):
            if order[k] and not order[k + 1]:
                worse = list(order)
                worse[k : k + 2] = worse[k : k + 2][::-1]
                assert runs.scores(np.array([order]), 4)[2] > runs.scores(np.array([worse]), 4)[2]


def test_ranking_puts_the_nearest_first(runs):
    found, labels = np.array([[0.0], [1], [5]]), np.array([0, 1, 0])
    np.testing.assert_array_equal(
        runs.ranking(found, labels, np.array([[0.9], [4]]), np.array([1, 0])),
        [[True, False, False], [True, False, True]],
    )


def test_class_triplets_are_sound(runs):
    labels = np.repeat(np.arange(4), 5)
    rows = runs.class_triplets(labels, 300)
    assert rows.shape == (300, 3) and (rows[:, 0] != rows[:, 1]).all()
    assert (labels[rows[:, 0]] == labels[rows[:, 1]]).all()
    assert (labels[rows[:, 0]] != labels[rows[:, 2]]).all()


def test_kernel_map_and_disparity(runs):
    rng = np.random.default_rng(3)
    features, points = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    np.testing.assert_allclose(
        runs.kernel_map(features, points, features, ridge=1e-10), points, atol=1e-4
    )
    assert runs.disparity(points, features[:, :2]) == pytest.approx(
        procrustes(points, features[:, :2])[1]
    )


def test_target_is_met_at_the_first_pass_below(runs):
    assert runs.reached(
        (np.array([0.0, 3, 6]), np.array([0.0, 0.1, 0.2]), np.array([0.5, 0.15, 0.2]))
    ) == (3, 0.1)
    assert runs.reached((np.array([0.0, 3]), np.array([0.0, 0.1]), np.array([0.5, 0.16]))) == (
        np.inf,
        np.inf,
    )
