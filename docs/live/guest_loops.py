"""NumPy in place of some compiled loops: the browser has no compiler, and as plain Python they keep
a page waiting. Each does what the function of its name in the package does; `loops` says where that
is. A loop whose steps build on each other, such as a stochastic solver's, has no such form.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.special


def _unknown(name, number, known):
    "A number that a loop has no formula for must not become another one."
    return ValueError(
        f'{name}: kind={number!r} has no formula here, known are {known}; this loop stands in '
        'for a compiled one, and has to learn what that one has learned'
    )


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
    loss,
    labels,
    weights,
    imputed,
    offset,
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
    score = offset + np.einsum('ij,ij->i', left[rows].astype(float), right[columns])
    side = labels * score
    small = np.exp(-np.abs(side))
    if loss == 0:
        slope = -labels * np.where(side > 0, small, 1) / (1 + small)
    elif loss == 1:
        slope = score - labels
    else:
        raise _unknown('_pulls', loss, '0 and 1')
    pulls[:] = pair_weights * weights * slope
    pulls += (extra - spared * pair_weights) * products * (score - imputed)


def _scaled_step(params, squares, grad, rate, stabilizer):
    squares += grad * grad
    on = squares > 0
    params[on] -= rate * grad[on] / np.sqrt(stabilizer + squares[on])


def _keep_best(scores, ids, best):
    k = min(ids.shape[1], scores.shape[1])
    ids[:], best[:] = -1, -np.inf
    worth = np.where(np.isnan(scores), -np.inf, scores)
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


# ---------------------------------------------------------------- ordinal


def _differences(points, rows):
    "Ids of the two pairs of each comparison, and the differences of their points."
    second = 2 * (rows.shape[1] - 3)
    i, j, l, k = rows[:, 0], rows[:, 1], rows[:, second], rows[:, second // 2 + 2]
    return (i, j, l, k), points[i] - points[j], points[l] - points[k]


def _squares(differences):
    return np.einsum('ij,ij->i', differences, differences)


def _softplus(z):
    return np.logaddexp(0, z), scipy.special.expit(z)


def _pair_losses(kind, constant, near, far, out):
    low, high = constant + near, constant + far
    if kind == 0:
        out[0], out[1] = _softplus(near - far + constant)
        out[2] = -out[1]
    elif kind == 1:
        power, gap = 0.5 * (constant + 1), near - far
        small = np.abs(gap) < 0.5 * high
        ratio = np.where(small, np.log1p(np.where(small, gap / high, 0)), np.log(low / high))
        out[0], share = _softplus(power * ratio)
        out[1], out[2] = share * power / low, -share * power / high
    elif kind == 2:
        out[0], out[1] = np.log1p(low / high), 1 / (low + high)
        out[2] = -low / ((low + high) * high)
    elif kind == 3:
        lack = constant + near - far
        out[0], out[1] = np.maximum(lack, 0), lack > 0
        out[2] = -out[1]
    elif kind == 4:
        root, other = np.sqrt(near), np.sqrt(far)
        lack = np.maximum(root + constant - other, 0)
        out[0], out[1] = lack * lack, lack / np.maximum(root, 1e-12)
        out[2] = -lack / np.maximum(other, 1e-12)
    else:
        raise _unknown('_pair_losses', kind, '0 to 4')


def _add_pairs(out, ids, left, right):
    "Add a gradient row to one object of each pair, and take it from the other."
    places, signs = np.concatenate(ids), np.repeat([1.0, -1.0, 1.0, -1.0], len(left))
    parts = signs, places, np.arange(len(places) + 1)
    matrix = scipy.sparse.csc_array(parts, shape=(len(out), len(places)))
    out += matrix @ np.concatenate([left, left, right, right])


def _full_pass(points, table, out, slopes, start, stop):
    ids, left, right = _differences(points, table.rows[start:stop])
    found = np.empty((3, stop - start))
    _pair_losses(table.kind, table.constant, _squares(left), _squares(right), found)
    if len(table.weights):
        found *= table.weights[start:stop]
    if len(slopes):
        slopes[start:stop] = found[1:].T
    if len(out):
        _add_pairs(out, ids, 2 * found[1, :, None] * left, 2 * found[2, :, None] * right)
    return float(found[0].sum())


def _count_met(embedding, rows, start, stop):
    _, left, right = _differences(embedding, rows[start:stop])
    return int((_squares(left) < _squares(right)).sum())


# ---------------------------------------------------------------- bound


def _weight(x):
    "Curvature of the bound on log(1 + exp(x))."
    size = np.abs(x)
    with np.errstate(all='ignore'):
        far = np.where(np.isinf(size), 0.0, 0.5 * np.tanh(0.5 * size) / size)
    return np.where(size < 1e-2, 0.25 - size * size * (1 / 48 - size * size / 480), far)


def _sorted(scores, kind, order):
    "Fill in the order of every row; how many of its classes can happen."
    possible = scores > -np.inf
    if kind == 0:
        order[:] = np.where(possible, scores, np.inf).argsort(axis=1, kind='stable')
    elif kind == 1:
        turned = np.where(possible, -scores, np.inf)[:, ::-1].argsort(axis=1, kind='stable')
        order[:] = scores.shape[1] - 1 - turned
    elif kind == 2:
        order[:] = (~possible).argsort(axis=1, kind='stable')
    else:
        raise _unknown('_sorted', kind, '0 to 2')
    return possible.sum(axis=1)


def _class_logs(scores, kind, order, join, curvature, log_mass):
    used = _sorted(scores, kind, order)
    ranked = np.take_along_axis(scores, order, axis=1)
    log_mass[:] = ranked[:, 0]
    join[:], curvature[:] = 0, 0
    join[:, 0] = 1
    for j in range(1, scores.shape[1]):
        there = used > j
        x = ranked[there, j] - log_mass[there]
        join[there, j], curvature[there, j] = scipy.special.expit(x), _weight(x)
        log_mass[there] = np.logaddexp(ranked[there, j], log_mass[there])


def _class_chain(scores, masses, kind, order, join, curvature, log_mass):
    _sorted(scores, kind, order)
    ranked = np.take_along_axis(masses, order, axis=1)  # 0 where a class cannot happen
    totals = ranked.cumsum(axis=1)
    join[:], curvature[:, 0] = ranked / totals, 0
    join[:, 0] = 1
    curvature[:, 1:] = ranked[:, 1:] / totals[:, :-1]
    log_mass[:] = totals[:, -1]


def _shifted_scores(scores, depths, top):
    top[:] = np.where(np.isnan(scores), -np.inf, scores).max(axis=1)
    with np.errstate(invalid='ignore'):
        depths[:] = scores - top[:, None]
    near = (depths > -600.0) | (scores == -np.inf)
    return bool(near.all() and (np.abs(top) < np.inf).all())


def _curvatures(ratios, logs):
    with np.errstate(all='ignore'):
        far = np.where(ratios > 0, 0.5 * (ratios - 1) / ((ratios + 1) * logs), ratios)
    ratios[:] = np.where(np.abs(logs) < 1e-2, _weight(logs), far)


def _chain_times(order, join, curvature, vectors):
    ranked = np.take_along_axis(vectors, order, axis=1)
    mean, back = ranked[:, 0].copy(), np.zeros(len(vectors))
    for j in range(1, vectors.shape[1]):
        gap = ranked[:, j] - mean
        ranked[:, j] = curvature[:, j] * gap
        mean += join[:, j] * gap
    for j in range(vectors.shape[1] - 1, 0, -1):
        pull, share = ranked[:, j].copy(), join[:, j]
        ranked[:, j] = pull + share * back
        back = (1 - share) * back - pull
    ranked[:, 0] = back
    np.put_along_axis(vectors, order, ranked, axis=1)


def _chain_pairs(order, join, curvature, out):
    from extreme_opt.bound.class_space import ClassChain, chain_matrix

    high, low = np.tril_indices(order.shape[1] - 1)
    out[:, : len(high)] = chain_matrix(ClassChain(order, join, curvature, None))[:, high, low]


def _proba_pairs(proba, weights, out):
    high, low = np.tril_indices(proba.shape[1] - 1)
    out[:, : len(high)] = -weights[:, None] * proba[:, high] * proba[:, low]
    out[:, np.flatnonzero(high == low)] += weights[:, None] * proba[:, :-1]


def _square_rows(features, out):
    high, low = np.tril_indices(features.shape[1])
    out[:, : len(high)] = features[:, high] * features[:, low]


def _unpack_pairs(packed, n_classes, n_features, out):
    last, (high, low) = n_classes - 1, np.tril_indices(n_features)
    square, at = np.empty((n_features, n_features)), 0
    for one in range(last):
        for two in range(one + 1):
            square[high, low] = square[low, high] = packed[at]
            out[one, :, two], out[two, :, one] = square, square
            at += 1
    for one in range(last):
        out[one, :, last] = -out[one, :, :last].sum(axis=1)
        out[last, :, one] = out[one, :, last].T
    out[last, :, last] = -out[last, :, :last].sum(axis=1)


def _bound_rows(features, scores, order, rows, mean):
    log_mass = scores[order[0]]
    mean[:] = features[order[0]]
    for j, k in enumerate(order[1:]):
        x = scores[k] - log_mass
        residual = features[k] - mean
        rows[j] = np.sqrt(_weight(x)) * residual
        mean += scipy.special.expit(x) * residual
        log_mass = np.logaddexp(log_mass, scores[k])
    return log_mass, len(order) - 1


# ---------------------------------------------------------------- softmax


def prefetch_row(log_norms, squares, indptr, indices, values, sample, t):
    "Nothing: it only tells a processor what is needed next."


def prefetch_cells(indices, begin, end, flat, first):
    "Nothing, likewise."


def prefetch_dense(flat, log_norms, table, squares, labels, draw, t, n_features):
    "Nothing, likewise."


def csr_score(indices, values, begin, end, flat, first):
    some = slice(begin, end)
    return float(flat[indices[some] + int(first)] @ values[some].astype(np.float64))


def csr_add(indices, values, begin, end, flat, first, factor):
    some = slice(begin, end)
    flat[indices[some] + int(first)] += flat.dtype.type(factor) * values[some]


def csr_gap(indices, values, begin, end, flat, a, b):
    places = indices[begin:end]
    gap = flat[places + int(a)].astype(np.float64) - flat[places + int(b)]
    return float(gap @ values[begin:end])


def csr_transfer(indices, values, begin, end, flat, a, b, factor):
    places, part = indices[begin:end], flat.dtype.type(factor) * values[begin:end]
    flat[places + int(a)] -= part
    flat[places + int(b)] += part


def dense_transfer(x, a, b, factor):
    part = a.dtype.type(factor) * x
    a -= part
    b += part


def _loss_of_classes(rate, c, label, scores):
    """What each class loses of a row: rate * (p - [k = label]), where p sums to one at
    omega(log(c) + score - top + g); the sum is convex in g, so Newton's method ends."""
    logs = np.log(c) + (scores - scores.max()).astype(np.float64)
    g = np.log(c) - np.logaddexp.reduce(logs)
    for _ in range(100):
        found = scipy.special.wrightomega(logs + g)
        step = (found.sum() - c) / (found / (1 + found)).sum()
        g -= step
        if abs(step) < 1e-12:
            break
    moves = rate / c * scipy.special.wrightomega(logs + g)
    moves[label] -= rate
    return moves


def _exact_rows(columns, row_of, squares, labels, sample, rate, ridge, n_unpenalized, carry):
    first_free = len(columns) - n_unpenalized
    for i in sample:
        places, values = row_of(i)
        penalized = places < first_free
        before, c = carry[0], rate * squares[i]
        carry[0] = before / (1 + rate * ridge)
        if c > 0:
            scores = np.where(penalized, carry[0], 1.0) * values @ columns[places]
            scores[labels[i]] += c
            moves = _loss_of_classes(rate, c, labels[i], scores)
            steps = values / np.where(penalized, before, 1.0)
            columns[places] -= (steps[:, None] * moves).astype(columns.dtype)
        if carry[0] < 1e-9:
            columns[:first_free] *= carry[0]
            carry[0] = 1.0


def _exact_sparse(columns, rows, squares, labels, sample, rate, ridge, n_unpenalized, carry):
    def row_of(i):
        some = slice(rows.indptr[i], rows.indptr[i + 1])
        return rows.indices[some], rows.values[some]

    _exact_rows(columns, row_of, squares, labels, sample, rate, ridge, n_unpenalized, carry)


def _exact_dense(columns, features, squares, labels, sample, rate, ridge, n_unpenalized, carry):
    def row_of(i):
        places = np.flatnonzero(features[i])
        return places, features[i][places]

    _exact_rows(columns, row_of, squares, labels, sample, rate, ridge, n_unpenalized, carry)


loops = {
    f'extreme_opt.{module}': [globals()[name] for name in names.split()]
    for module, names in {
        'bound.class_space': '_chain_pairs _chain_times _class_chain _class_logs _curvatures'
        ' _proba_pairs _shifted_scores _square_rows _unpack_pairs',
        'bound.quadratic_bound': '_bound_rows',
        'ordinal.comparisons': '_count_met',
        'ordinal.losses': '_pair_losses',
        'ordinal.problem': '_full_pass',
        'similarity.curvature': '_visit_directions',
        'similarity.gradient': '_logistic_derivatives _scores _squared_derivatives spread_pairs',
        'similarity.problem': '_square_sum',
        'similarity.ranking': '_keep_best',
        'similarity.sampling': '_pulls _scaled_step',
        'similarity.towers': '_scatter _tangent_inputs add_bias_elu times_slope',
        'softmax.exact': '_exact_dense _exact_sparse',
        'softmax._kernels': 'csr_add csr_gap csr_score csr_transfer dense_transfer prefetch_cells'
        ' prefetch_dense prefetch_row',
    }.items()
}


def put_in(module):
    "Replace the loops of a module."
    for function in loops[module.__name__]:
        setattr(module, function.__name__, function)
