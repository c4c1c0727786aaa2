"Variance of sampled gradients against enumeration, averages of iterates, and a sampler that stays unbiased while it learns."

import itertools

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.core import SGD, iterate, minimize
from extreme_opt.softmax.double_sum import DoubleSum, Draw
from extreme_opt.softmax.implicit import ImplicitSGD
from extreme_opt.softmax.variance import LearningSampler, averaged, noise_of, weighted_slopes


def small(seed=0, sparse=False, K=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 3)) * (rng.random((6, 3)) < 0.8)
    problem = DoubleSum(scipy.sparse.csr_array(X) if sparse else X, np.arange(6) % K, K)
    return problem, problem.init_params() + 0.7 * rng.normal(size=problem.init_params().size)


@pytest.mark.parametrize('sparse', [False, True])
def test_variance_equals_enumeration(sparse):
    for K in (2, 3, 5):
        problem, params = small(K, sparse, K)
        noise, exact = noise_of(problem, params), problem.grad(params)[: problem.n_weights]
        for m in range(1, K):
            every = [
                Draw(np.array([i]), np.array([C]))
                for i in range(6)
                for C in itertools.combinations(sorted(set(range(K)) - {problem.labels[i]}), m)
            ]
            spread = np.mean(
                [
                    ((problem.grad_at(params, draw)[: problem.n_weights] - exact) ** 2).sum()
                    for draw in every
                ]
            )
            assert noise.at(m) == pytest.approx(spread, rel=1e-9)


def test_best_number_of_classes_is_the_minimum_of_work_times_variance():
    problem, params = small(3)
    noise = noise_of(problem, params)
    work = [(m + 1) * noise.at(m) for m in range(1, 5)]
    assert abs(1 + int(np.argmin(work)) - noise.best_n_negatives()) <= 1


def test_weighted_slopes_are_unbiased_for_any_table():
    problem, params = small(1)
    rng = np.random.default_rng(2)
    sampler = LearningSampler(5, floor=0.1)
    for _ in range(20):
        sampler.learn(rng.integers(5, size=(1, 3)), rng.random((1, 3)))
    q, total = sampler.chances(), 0.0
    assert q.min() >= 0.1 / 5 and q.sum() == pytest.approx(1)
    for i in range(6):
        p = q / (1 - q[problem.labels[i]])
        for k in set(range(5)) - {problem.labels[i]}:
            total = total + p[k] / 6 * weighted_slopes(problem, params, i, np.array([k]), p[[k]])[0]
    np.testing.assert_allclose(total, problem.grad(params), atol=1e-9)


def test_sampler_never_draws_the_label_and_learns_what_is_likely():
    sampler, rng = LearningSampler(6), np.random.default_rng(3)
    labels = np.tile(np.arange(6), 500)
    others, chances = sampler.draw(rng, labels, 4)
    assert not (others == labels[:, None]).any() and (chances > 0).all()
    for _ in range(300):
        sampler.learn(np.arange(6)[None], np.array([[0.9, 0.1, 0.01, 0.01, 0.01, 0.01]]))
    assert sampler.chances().argmax() == 0 and sampler.chances()[0] > 0.5
    with pytest.raises(ValueError, match='may never be drawn again'):
        LearningSampler(5, floor=0.0)


def test_average_is_the_mean_of_the_later_points():
    problem, _ = small(4)
    solver = SGD(0.05, n_updates=3)
    last, mean = averaged(problem, solver, 6, 0.5, seed=1)
    points = [
        minimize(problem, solver, max_iter=n, loss_subset=0, seed=1).state.params for n in (4, 5, 6)
    ]
    np.testing.assert_array_equal(last, points[-1])
    np.testing.assert_allclose(mean, np.mean(points, 0), rtol=1e-12)
    with pytest.raises(ValueError, match='averages the second half'):
        averaged(problem, solver, 6, 1.0)


def test_without_a_ridge_separable_data_have_no_minimum_and_the_loss_falls():
    problem, lengths, losses = DoubleSum(np.eye(4).repeat(5, 0), np.arange(4).repeat(5), 4), [], []
    for state in itertools.islice(
        iterate(problem, ImplicitSGD(3.0, 3, learning_rate_decay=1.0)), 201
    ):
        if state.n_iter not in (10, 50, 200):
            continue
        lengths.append(np.linalg.norm(problem.unpack(state.params)[0]))
        losses.append(problem.log_loss(state.params))
    assert (
        lengths[0] < lengths[1] < lengths[2] < 3 * lengths[0] and losses[2] < losses[1] < losses[0]
    )
