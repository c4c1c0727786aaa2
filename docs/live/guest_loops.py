"""NumPy in place of some compiled loops: the browser has no compiler, and as plain Python they keep
a page waiting. Each does what the function of its name in the package does; `loops` says where that
is. A loop whose steps build on each other, such as a stochastic solver's, has no such form.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse


def _pairs(starts, start, stop):
    "Places of the pairs of some rows, and the row of each."
    counts = np.diff(starts[start : stop + 1]).astype(np.intp)
    return slice(starts[start], starts[stop]), np.repeat(np.arange(start, stop), counts)


# ---------------------------------------------------------------- similarity


def _scores(starts, rights, a, b, lift, left, right, scores, lifts, start, stop):
    some, rows = _pairs(starts, start, stop)
    scores[: len(rows)] = np.einsum('ij,ij->i', left[rows], right[rights[some]])
    lifts[: len(rows)] = lift * a[rows] * b[rights[some]]


def _visit_directions(
    starts, rights, curvatures, left, right, left_direction, right_direction, moved, start, stop
):
    some, rows = _pairs(starts, start, stop)
    partners = rights[some]
    total = np.einsum('ij,ij->i', left_direction[rows], right[partners])
    total += np.einsum('ij,ij->i', left[rows], right_direction[partners])
    moved[some] = curvatures[some] * total


def spread_pairs(starts, others, values, rows, out, start, stop):
    some, _ = _pairs(starts, start, stop)
    parts = values[some], others[some], starts[start : stop + 1] - starts[start]
    matrix = scipy.sparse.csr_array(parts, shape=(stop - start, len(rows)))
    out[start:stop] += matrix @ rows


def _logistic_derivatives(
    labels, weights, imputed, scores, lifts, exps, values, slopes, curvatures
):
    n = len(scores)
    y, c, lift, e = labels[:n], weights[:n], lifts[:n], exps[:n]
    off, side, one = scores - imputed[:n], y * scores, 1 / (1 + e)
    values[:n] = c * (np.maximum(-side, 0) + np.log1p(e)) - 0.5 * lift * off * off
    slopes[:n] = -c * y * np.where(side > 0, e * one, one) - lift * off
    curvatures[:n] = c * y * y * e * one * one - lift


def _squared_derivatives(labels, weights, imputed, scores, lifts, values, slopes, curvatures):
    n = len(scores)
    c, lift = weights[:n], lifts[:n]
    miss, off = scores - labels[:n], scores - imputed[:n]
    values[:n] = 0.5 * (c * miss * miss - lift * off * off)
    slopes[:n] = c * miss - lift * off
    curvatures[:n] = c - lift


def _pulls(
    kind,
    labels,
    weights,
    imputed,
    products,
    spared,
    extra,
    pair_weights,
    rows,
    columns,
    left,
    right,
    pulls,
):
    score = np.einsum('ij,ij->i', left[rows].astype(float), right[columns])
    side = labels * score
    small = np.exp(-np.abs(side))
    slope = -labels * np.where(side > 0, small, 1) / (1 + small) if kind == 0 else score - labels
    pulls[:] = pair_weights * weights * slope
    pulls += (extra - spared * pair_weights) * products * (score - imputed)


def _scaled_step(params, squares, grad, rate, stabilizer):
    squares += grad * grad
    on = squares > 0
    params[on] -= rate * grad[on] / np.sqrt(stabilizer + squares[on])


def _keep_best(scores, ids, best):
    worth = np.where(np.isnan(scores), -np.inf, scores)
    k = min(ids.shape[1], worth.shape[1])
    ids[:], best[:] = -1, -np.inf
    ids[:, :k] = np.argsort(-worth, axis=1, kind='stable')[:, :k]
    best[:, :k] = np.take_along_axis(worth, ids[:, :k], axis=1)
    ids[best == -np.inf] = -1


def _square_sum(values):
    wide = values.astype(np.float64)
    return wide @ wide


def _scatter(out, ids, rows):
    np.add.at(out, ids, rows)


def add_bias_elu(z, bias, table):
    z += bias
    z[:] = np.where(z > 0, z, np.expm1(np.minimum(z, 0)))


def times_slope(z, acts, sums):
    z *= np.where(acts <= 0, acts + 1, 1).astype(z.dtype)
    sums += z.sum(axis=0)


def _tangent_inputs(z, bias, acts, out):
    h = z.shape[1]
    out[:, :h] = (z + bias) * np.where(acts <= 0, acts + 1, 1)
    out[:, h:] = acts


loops = {
    'extreme_opt.similarity.curvature': [_visit_directions],
    'extreme_opt.similarity.gradient': [
        _logistic_derivatives,
        _scores,
        _squared_derivatives,
        spread_pairs,
    ],
    'extreme_opt.similarity.problem': [_square_sum],
    'extreme_opt.similarity.ranking': [_keep_best],
    'extreme_opt.similarity.sampling': [_pulls, _scaled_step],
    'extreme_opt.similarity.towers': [_scatter, _tangent_inputs, add_bias_elu, times_slope],
}


def put_in(module):
    "Replace the loops of a module."
    for function in loops[module.__name__]:
        setattr(module, function.__name__, function)
