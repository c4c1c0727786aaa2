"""Seconds of a value, a gradient and a Gauss-Newton product as entities grow, with five observed
pairs per entity; and the sum over all pairs beside it.

From 30,000 to a million entities in all, half of them on each side, on ids; towers 64-64-32,
float32, one thread. The naive value multiplies all embeddings out, in chunks, until that is
hopeless.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import machine
import numpy as np

from extreme_opt.similarity import MLP, AllPairs

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
