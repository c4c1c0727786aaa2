"""Seconds of a value, a gradient and a Gauss-Newton product as entities grow, with five observed
pairs per entity; and the sum over all pairs beside it.

From 30,000 to a million entities in all, half of them on each side, on ids; towers 64-64-32,
float32, one thread. The naive value multiplies all embeddings out, in chunks, until that is
hopeless.

`similarity_million`: a million left and a million right entities on ids, ten million observed
pairs, float32, one core: does it fit, and what does it take?

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

from extreme_opt.core import GaussNewton
from extreme_opt.similarity import MLP, AllPairs, Linear

SIZES = (30_000, 100_000, 300_000, 1_000_000)
NAIVE = (10_000, 30_000, 100_000)
PER_ENTITY = 5
K = 32


def problem_of(size) -> AllPairs:
    half, rng = size // 2, np.random.default_rng(size)
    keys = np.unique(rng.integers(half * half, size=PER_ENTITY * size))
    return AllPairs(
        np.column_stack([keys // half, keys % half]),
        n_left=half,
        n_right=half,
        n_components=K,
        left=MLP(64, 64),
        right=MLP(64, 64),
        dtype=np.float32,
    )


def naive_value(problem, params) -> float:
    "The unseen part of the loss over every pair, and the towers that it needs."
    P, Q, total = problem.embed(0, params), problem.embed(1, params), 0.0
    for at in range(0, len(P), 256):
        total += float(np.square(P[at : at + 256] @ Q.T + 1).sum(dtype=np.float64))
    return problem.terms.omega / 2 * total


def jobs_of(problem, params) -> dict:
    way = problem.init_params(1)

    def afresh(job):
        def run():
            problem._memo.clear()
            return job(params)

        return run

    def product():
        return problem.ggn_vp(params, way)

    return {
        'value': afresh(problem.loss),
        'gradient': afresh(problem.loss_and_grad),
        'product': product,
    }


def main() -> Iterator[dict]:
    for size in sorted({*SIZES, *NAIVE}):
        problem = problem_of(size)
        params = problem.init_params(0)
        if size in NAIVE:
            naive_value(problem, params) if size < 50_000 else None
            mark = time.perf_counter()
            naive_value(problem, params)
            timing = machine.Timing([time.perf_counter() - mark])
            yield machine.row('naive value', f'{size:,} entities', timing, peer='numpy')
        if size not in SIZES:
            continue
        for name, seconds in machine.alternate(
            jobs_of(problem, params), rounds=3 if size > 500_000 else 5
        ).items():
            timing = machine.Timing(seconds)
            yield machine.row(name, f'{size:,} entities', timing, peer='kernel')


# --------------------------------------------------------------------------------- a million a side
SIDE, PAIRS = 1_000_000, 10_000_000


def pairs():
    "Distinct pairs, with left entities of uneven popularity."
    rng = np.random.default_rng(0)
    left = (SIDE * rng.random(PAIRS + PAIRS // 20) ** 2).astype(np.int64)
    keys = np.unique(left * SIDE + rng.integers(SIDE, size=len(left)))
    keys = np.sort(rng.permutation(keys)[:PAIRS])
    return np.column_stack([keys // SIDE, keys % SIDE])


def part(what):
    "One part, in a process of its own."
    shape = MLP(64, 64) if what == 'gradient' else Linear()
    problem = AllPairs(
        pairs(),
        n_left=SIDE,
        n_right=SIDE,
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


def similarity_million() -> Iterator[dict]:
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
