"""One step of a mini-batch solved three ways, one core: updates of rank one (Algorithm 4 mended),
Woodbury, Cholesky.

The bound of the batch is found beforehand and not timed, except by the updates, which are
interleaved with it. Quality is the relative residual.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import machine
import numpy as np
import scipy.linalg

from extreme_opt.bound import LogLinear
from extreme_opt.bound.class_space import chain_rows
from extreme_opt.core.compiled import njit
from extreme_opt.core.majorize import solve_dense


@njit(cache=True)
def _rank_one(features, order, join, curvature, weights, inverse, phi):
    "Eqs. (10) and (P) for the outcomes of multinomial samples, in place."
    n, d = features.shape
    n_classes = order.shape[1]
    mean, row = np.empty(n_classes), np.empty(n_classes * d)
    for i in range(n):
        mean[:] = 0.0
        for j in range(n_classes):
            own = order[i, j]
            if j and join[i, j] == 0.0 and curvature[i, j] == 0.0:
                continue
            for k in range(n_classes):
                gap = (1.0 if k == own else 0.0) - mean[k]
                mean[k] += join[i, j] * gap
                row[k * d : (k + 1) * d] = gap * features[i]
            side = inverse @ row
            scale = 1.0 + curvature[i, j] * (row @ side)
            move = (weights[i] * join[i, j] - curvature[i, j] * (row @ phi)) / scale
            for p in range(len(row)):
                phi[p] += move * side[p]
                if curvature[i, j] > 0.0:
                    inverse[p] -= (curvature[i, j] / scale * side[p]) * side


def by_updates(problem, params, batch):
    "The step of Algorithm 4 mended."
    curvature = problem.quadratic_bound(params, batch).curvature
    rows, chain = curvature.features, curvature.chain
    base = np.tile(curvature.ridge, curvature.n_classes)
    seen = np.zeros((curvature.n_classes, rows.shape[1]))
    np.add.at(seen, problem.labels[batch], rows)
    inverse, phi = np.diag(1 / base), params - seen.ravel() / base
    weights = np.ones(len(batch))
    _rank_one(rows, chain.order, chain.join, chain.curvature, weights, inverse, phi)
    return phi


def woodbury(curvature, rhs):
    "Eq. (W), the residual solved for once more."
    rows, sides = curvature.features, chain_rows(curvature.chain)
    flat, scaled_rows = sides.reshape(-1, sides.shape[2]), rows / curvature.ridge
    gram = (flat @ flat.T) * np.kron(scaled_rows @ rows.T, np.ones((sides.shape[1],) * 2))
    gram[np.diag_indices_from(gram)] += 1
    factor = scipy.linalg.cho_factor(gram, check_finite=False)

    def once(rhs):
        weights = rhs.reshape(curvature.n_classes, -1) / curvature.ridge
        seen = np.einsum('ijk,ik->ij', sides, rows @ weights.T)  # L R^-1 g
        back = scipy.linalg.cho_solve(factor, seen.ravel(), check_finite=False).reshape(seen.shape)
        return (weights - np.einsum('ijk,ij->ik', sides, back).T @ scaled_rows).ravel()

    found = once(rhs)
    return found + once(rhs - curvature.times(found))


def main() -> Iterator[dict]:
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
            'Sherman-Morrison': lambda problem, params, batch, bound: by_updates(
                problem, params, batch
            ),
            'Woodbury': lambda problem, params, batch, bound: woodbury(
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
            yield machine.row(
                method=name,
                task=task,
                peer='ours',
                max_difference=f'{off:.1e}',
                seconds=found[name],
            )
