"""One step of a mini-batch solved three ways, one core: updates of rank one (Algorithm 4 mended),
Woodbury, Cholesky.

The bound of the batch is found beforehand and not timed, except by the updates, which are
interleaved with it. Quality is the relative residual.
"""

from __future__ import annotations

from functools import partial

import machine
import numpy as np

from extreme_opt.bound import LogLinear
from extreme_opt.bound.rank_one import sherman_morrison_solve, woodbury_solve
from extreme_opt.core.majorize import solve_dense


def main() -> list[dict]:
    rows = []
    for n_classes, n_features, size in ((4, 100, 15), (4, 250, 6), (10, 40, 40)):
        rng = np.random.default_rng(0)
        problem = LogLinear(
            rng.normal(size=(1000, n_features)),
            rng.integers(n_classes, size=1000),
            n_classes,
            ridge=1e-4,
        )
        params, batch = rng.normal(size=problem.n_params), np.arange(size)
        bound = problem.quadratic_bound(params, batch)
        full, rhs = bound.curvature.matrix(), bound.slope
        ways = {
            'Sherman-Morrison': lambda problem, params, batch, bound: sherman_morrison_solve(
                problem, params, batch
            )[0],
            'Woodbury': lambda problem, params, batch, bound: woodbury_solve(
                bound.curvature, bound.slope
            ),
            'Cholesky': lambda problem, params, batch, bound: solve_dense(
                bound.curvature.matrix(), bound.slope
            ),
        }
        found = machine.race(
            {name: partial(way, problem, params, batch, bound) for name, way in ways.items()}, 5
        )
        task = f'{problem.n_params} parameters, {size * (n_classes - 1)} terms'
        for name, way in ways.items():
            off = np.linalg.norm(full @ way(problem, params, batch, bound) - rhs) / np.linalg.norm(
                rhs
            )
            rows.append(
                machine.row(
                    method=name,
                    task=task,
                    peer='ours',
                    max_difference=f'{off:.1e}',
                    seconds=found[name],
                )
            )
    return rows
