"Block steps: each way against the equation that defines an implicit step, against a general minimizer, and where it must refuse."

import itertools
import math

import numpy as np
import pytest
import scipy.sparse
from scipy import optimize

from extreme_opt.softmax.blocks import (
    Block,
    block_grad,
    block_loss,
    draw_block,
    joint_step,
    row_steps,
    split_step,
)
from extreme_opt.softmax.double_sum import DoubleSum
from extreme_opt.softmax.implicit import ImplicitSGD


def problem_of(seed, n=8, d=4, k=6, ridge=0.1, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    problem = DoubleSum(
        scipy.sparse.csr_array(X) if sparse else X, rng.integers(k, size=n), k, ridge=ridge
    )
    return problem, problem.init_params() + rng.normal(size=problem.init_params().size) ** 2, rng


def residual(problem, before, after, block, rate):
    return np.abs(
        after + rate / problem.n_samples * block_grad(problem, after, block) - before
    ).max()


def test_average_over_blocks_is_the_double_sum():
    problem, params, _ = problem_of(0, n=5, k=4)
    for n, m in ((1, 1), (2, 3), (5, 2)):
        every = [
            Block(np.array(I), np.array(C))
            for I in itertools.combinations(range(5), n)
            for C in itertools.combinations(range(4), m)
        ]
        np.testing.assert_allclose(
            np.mean([block_loss(problem, params, b) for b in every]), problem.loss(params)
        )
        np.testing.assert_allclose(
            np.mean([block_grad(problem, params, b) for b in every], 0),
            problem.grad(params),
            atol=1e-9,
        )


def test_gradient_by_differences():
    problem, params, rng = problem_of(1)
    block = draw_block(rng, problem, 4, 3)
    numeric = [
        (block_loss(problem, params + d, block) - block_loss(problem, params - d, block)) / 2e-6
        for d in 1e-6 * np.eye(params.size)
    ]
    np.testing.assert_allclose(block_grad(problem, params, block), numeric, rtol=1e-6, atol=1e-4)


def test_drawn_blocks_are_distinct_and_even():
    problem, _, rng = problem_of(2)
    blocks = [draw_block(rng, problem, 3, 4) for _ in range(4000)]
    assert all(len(set(b.rows)) == 3 and len(set(b.classes)) == 4 for b in blocks)
    rows, classes = (np.bincount(np.concatenate(part)) / 4000 for part in zip(*blocks))
    assert abs(rows - 3 / 8).max() < 0.04 and abs(classes - 4 / 6).max() < 0.04


@pytest.mark.parametrize(
    'sparse, ridge, rate', list(itertools.product((False, True), (0.0, 0.3), (0.01, 1.0, 100.0)))
)
def test_joint_step_solves_the_implicit_equation(sparse, ridge, rate):
    for seed in range(5):
        problem, before, rng = problem_of(seed, ridge=ridge, sparse=sparse)
        block, after = draw_block(rng, problem, 5, 3), before.copy()
        assert joint_step(problem, after, block, rate) <= 40
        assert residual(problem, before, after, block, rate) < 1e-8


def test_joint_step_is_the_minimum_that_a_general_minimizer_finds():
    problem, before, rng = problem_of(3)
    block, after = draw_block(rng, problem, 4, 3), before.copy()
    joint_step(problem, after, block, 3.0)
    def prox(p):
        return 6 / 8 * block_loss(problem, p, block) + ((p - before) ** 2).sum()
    def slope(p):
        return 6 / 8 * block_grad(problem, p, block) + 2 * (p - before)
    found = optimize.minimize(prox, before, jac=slope, method='BFGS', options=dict(gtol=1e-9)).x
    np.testing.assert_allclose(after, found, atol=1e-6)


def test_hard_blocks_stay_finite():
    rng = np.random.default_rng(4)
    for size, rate in itertools.product((1.0, 100.0, 300.0), (1e-3, 1.0, 1e3)):
        rows = rng.normal(size=(12, 3))
        rows[5] = rows[2]
        rows[7] = 0
        problem = DoubleSum(rows, rng.integers(8, size=12), 8)
        before = problem.init_params()
        problem.unpack(before)[0][:] = size * rng.normal(size=(8, 3))
        block, joint, single = (
            Block(np.arange(2, 9), np.arange(0, 8, 2)),
            before.copy(),
            before.copy(),
        )
        joint_step(problem, joint, block, rate)
        row_steps(problem, single, block, rate)
        assert residual(problem, before, joint, block, rate) < 1e-8 * (1 + np.abs(before).max())
        for params in (joint, single):
            assert np.isfinite(params).all() and problem.unpack(params)[1].min() > 0


def test_orthogonal_rows_make_all_ways_one():
    table = np.zeros((4, 8))
    table[0, :3], table[1, 3:5], table[2, 5:] = [1, -2, 0.5], [0.3, 1], [2, 1, -1]
    table[3] = table[0] + table[1]
    problem = DoubleSum(table, [0, 1, 1, 2], 5, ridge=0.2)
    before = problem.init_params() + np.linspace(0.1, 2, problem.init_params().size)
    block = Block(np.array([0, 1, 2]), np.array([1, 3, 4]))
    for rate in (0.1, 10.0):
        split, joint = before.copy(), before.copy()
        split_step(problem, split, block, rate)
        joint_step(problem, joint, block, rate)
        np.testing.assert_allclose(split, joint, atol=1e-9)
    with pytest.raises(ValueError, match='rows 0 and 3 of the block are not orthogonal'):
        split_step(problem, before, Block(np.array([0, 3]), block.classes), 1.0)


def test_one_row_is_the_solver_of_the_chapter():
    problem, before, _ = problem_of(6, ridge=0.2)
    solver = ImplicitSGD(2.0, n_negatives=3, n_updates=1)
    state = solver.step(problem, solver.init(problem, before), np.random.default_rng(7))
    draw, after = problem.draw(np.random.default_rng(7), 1, 3), before.copy()
    row_steps(problem, after, Block(draw.sample, draw.others[0]), 2.0)
    np.testing.assert_allclose(after, state.params, atol=1e-9)


def test_printed_closed_form_is_not_a_solution():
    "Appendix E.4 takes the Lambert-W function component by component; with rows that overlap its point misses its own equation, by 0.72 here."
    from scipy.special import lambertw

    A, h = np.array([[2.0, 1], [1, 2]]), np.array([1.0, 0])
    center = np.linalg.solve(A, h)
    b = center - lambertw(np.linalg.solve(A, np.exp(center))).real
    np.testing.assert_allclose(b, [0.0783, -0.1212], atol=1e-4)
    np.testing.assert_allclose(np.exp(b) + A @ b - h, [0.117, 0.722], atol=1e-3)
    assert abs(lambertw(np.linalg.solve(A, np.exp(np.linalg.solve(A, [1.0, -1]))))[1].imag) > 1


def test_only_labels_or_only_zero_rows():
    problem = DoubleSum(np.zeros((3, 2)), [0, 1, 2], 3)
    for step in (row_steps, split_step, joint_step):
        params = problem.init_params() + 0.5
        step(
            problem, params, Block(np.array([0]), np.array([0])), 2.0
        )  # the only drawn class is the label: nothing to contrast
        assert 0 < problem.unpack(params)[1][0] < math.log(3) + 0.5 and np.isfinite(params).all()
