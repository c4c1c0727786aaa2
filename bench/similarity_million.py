"""A million left and a million right entities on ids, ten million observed pairs, float32, one
core: does it fit, and what does it take?

- value and gradient with MLP(64, 64) towers and 32 components, activations made again chunk by
  chunk instead of kept;
- one Gauss-Newton step with linear towers and 32 components (10 products; 30 with
  EXTREME_OPT_FULL=1).

Each runs in a process of its own, whose peak memory is reported beside the bytes of one parameter
vector. Asked: within 16 GB. A part that was measured is kept under build/bench, so that a run that
was stopped goes on with the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import machine
import numpy as np

SIZE, PAIRS, K, LIMIT_MB = 1_000_000, 10_000_000, 32, 16 * 1024


def pairs():
    "Distinct pairs, with left entities of uneven popularity."
    rng = np.random.default_rng(0)
    left = (SIZE * rng.random(PAIRS + PAIRS // 20) ** 2).astype(np.int64)
    keys = np.unique(left * SIZE + rng.integers(SIZE, size=len(left)))
    keys = np.sort(rng.permutation(keys)[:PAIRS])
    return np.column_stack([keys // SIZE, keys % SIZE])


def part(what):
    "One part, in a process of its own."
    from extreme_opt.core import GaussNewton
    from extreme_opt.similarity import MLP, AllPairs, Linear

    shape = MLP(64, 64) if what == 'gradient' else Linear()
    problem = AllPairs(
        pairs(),
        n_left=SIZE,
        n_right=SIZE,
        n_components=K,
        left=shape,
        right=shape,
        dtype=np.float32,
        keep_mb=0,
    )
    params = problem.init_params(0)
    small = problem.warmup_problem()
    small.ggn_vp(small.init_params(0), small.grad(small.init_params(0)))  # compile
    mark = time.perf_counter()
    if what == 'gradient':
        loss, grad = problem.loss_and_grad(params)
        told = dict(loss=f'{loss:.6g}', grad_norm=f'{np.linalg.norm(grad):.4g}')
        ways = (
            problem.loss(params - np.float32(1e-3 / np.linalg.norm(grad)) * grad) - loss
        )  # falls along the gradient
        assert ways < 0, ways
    else:
        solver = GaussNewton(max_products=30 if os.environ.get('EXTREME_OPT_FULL') else 10)
        before = problem.loss(params)
        state = solver.step(problem, solver.init(problem, params), np.random.default_rng(0))
        told = dict(
            start_loss=f'{before:.6g}', loss=f'{state.loss:.6g}', n_products=state.n_products
        )
        assert state.loss < before
    seconds, vector = time.perf_counter() - mark, problem.memory() / 2**20
    return dict(seconds=f'{seconds:.1f}', vector_mb=f'{vector:.0f}', **told)


def main() -> Iterator[dict]:
    for what, task in (
        ('gradient', 'value and gradient, MLP(64, 64)'),
        ('newton', 'one Gauss-Newton step, linear towers'),
    ):
        key = f'{what} {os.environ.get("EXTREME_OPT_FULL", "")}'
        yield machine.row(
            method='AllPairs' if what == 'gradient' else 'GaussNewton',
            task=f'a million a side, ten million pairs: {task}',
            peer='kernel',
            **machine.kept(key, machine.fresh, __file__, 'part', what),
        )
