"""Exact solvers of one penalized log-loss on a support: who is first near the optimum?

Docstrings (2,972 classes), weights on the support, no intercepts, mean log-loss plus RIDGE / 2
times the squared norm. `loss` is that objective, nats a row, and `above` how far it is above the
lowest that any solver found; top-1, top-5 and log-loss on the test rows; `length` epochs, of L-BFGS
iterations. Every solver uses the posting-list kernel of softmax_support_exact.py.

- `L-BFGS`: SciPy's, from zero.
- `exact SGD`: a step after each row, rate falling to a fiftieth.
- `SVRG`: batches of 64 rows, corrected by the full gradient at the begin of the epoch.
- `dual ascent`: a probability for each row and class; each row's move towards the softmax of its
  scores, by the length that halving an interval six times finds.
"""

from __future__ import annotations

import math
import sys
from time import process_time

import machine
import numpy as np
from numba import njit
from softmax_support import real
from softmax_support_exact import Exact, exact_rows

LONG = True
HOW = 'Each solver in a process of its own, once, compiled before the clock starts.'
RIDGE, BATCH = 1e-5, 64
SETTINGS: dict = {  # rates and lengths
    'L-BFGS': [(0.0, 10), (0.0, 25)],
    'exact SGD': [(6.0, 3), (6.0, 8)],
    'SVRG': [(6.0, 2), (20.0, 2)],
    'dual ascent': [(0.0, 1), (0.0, 3)],
}


@njit(cache=True)
def dual_rows(rows, X, labels, lists, weights, alpha, scale):
    "One move of each row's dual variables; the weights follow."
    (indptr, indices, values), (starts, classes), n_classes = X, lists, alpha.shape[1]
    for i in rows:
        scores, squares, a = np.zeros(n_classes), np.zeros(n_classes), alpha[i]
        for p in range(indptr[i], indptr[i + 1]):
            x = np.float64(values[p])
            for q in range(starts[indices[p]], starts[indices[p] + 1]):
                scores[classes[q]] += x * weights[q]
                squares[classes[q]] += x * x
        top = scores.max()
        d = np.exp(scores - top)
        d /= d.sum()
        d -= a
        gain, bend = 0.0, 0.0
        for k in range(n_classes):
            gain += d[k] * scores[k]
            bend += scale * d[k] * d[k] * squares[k]
        low, high = 0.0, 2.0
        for _ in range(7):  # the first asks for the whole move
            s = (low + high) / 2
            slope = gain - s * bend
            for k in range(n_classes):
                slope -= d[k] * math.log(max(a[k] + s * d[k], 1e-12))
            if slope > 0:
                low = s
                if s == 1.0:
                    break
            else:
                high = s
        for k in range(n_classes):
            d[k] *= low
            a[k] += d[k]
        for p in range(indptr[i], indptr[i + 1]):
            for q in range(starts[indices[p]], starts[indices[p] + 1]):
                weights[q] -= scale * d[classes[q]] * values[p]


def descent(exact, rate, n_epochs):
    n = len(exact.y)
    weights, intercepts = np.zeros(len(exact.cells)), np.zeros(exact.n_classes)
    rng, none = np.random.default_rng(0), np.zeros(0)
    for epoch in range(n_epochs):
        now, order = rate * 0.02 ** (epoch / max(n_epochs - 1, 1)), rng.permutation(n)
        for at in range(0, n, 500):
            rows, to = order[at : at + 500], np.zeros(exact.n_classes)
            exact_rows(rows, *exact.given, weights, intercepts, now, 0.0, none, to)
            weights *= math.exp(-now * RIDGE * len(rows))
    return weights


def svrg(exact, rate, n_epochs):
    n, rng = len(exact.y), np.random.default_rng(0)
    at = np.zeros(len(exact.cells) + exact.n_classes)
    for _ in range(n_epochs):
        old, full = at.copy(), exact.gradient(at, np.arange(n), RIDGE)[1]
        for _ in range(n // BATCH):
            rows = rng.integers(n, size=BATCH)
            here, there = (exact.gradient(point, rows, RIDGE)[1] for point in (at, old))
            at -= rate * (here - there + full)
    return at[: len(exact.cells)]


def dual(exact, rate, n_epochs):
    n, rng = len(exact.y), np.random.default_rng(0)
    alpha = np.zeros((n, exact.n_classes), np.float32)
    alpha[np.arange(n), exact.y] = 1
    weights, (X, y, _, lists) = np.zeros(len(exact.cells)), exact.given
    for _ in range(n_epochs):
        dual_rows(rng.permutation(n), X, y, lists, weights, alpha, 1 / (RIDGE * n))
    return weights


def solved(method: str) -> dict:
    X, y, _, new, truth = real('docstrings')
    exact, found = Exact(X, y, int(max(y.max(), truth.max())) + 1), []
    exact.free = 0.0
    exact.gradient(np.zeros(len(exact.cells) + exact.n_classes), np.arange(2), RIDGE)
    few = np.zeros((len(y), 2), np.float32)
    dual_rows(np.arange(0), exact.given[0], exact.y, exact.given[3], np.zeros(2), few, 1.0)
    calls = {'exact SGD': descent, 'SVRG': svrg, 'dual ascent': dual}
    for rate, length in SETTINGS[method]:
        mark = process_time()
        if method == 'L-BFGS':
            weights = exact.quasi(np.zeros(len(exact.cells)), length, RIDGE)[0]
        else:
            weights = calls[method](exact, rate, length)
        seconds = process_time() - mark
        flat = np.append(weights, np.zeros(exact.n_classes))
        loss = exact.gradient(flat, np.arange(len(y)), RIDGE)[0]
        judged = exact.judge(weights.astype(np.float32), np.zeros(exact.n_classes), new, truth)
        found.append(judged | dict(seconds=seconds, loss=f'{loss:.4f}'))
        print(method, rate, length, found[-1]['seconds'], loss, flush=True)
    return dict(found=found)


def part(method: str) -> dict:
    key = f'solvers-{method.replace(" ", "_")}'
    return machine.kept(key, lambda: machine.fresh(__file__, 'solved', method))


def main() -> list[dict]:
    out = []
    told = {method: part(method) for method in SETTINGS}
    least = min(float(one['loss']) for each in told.values() for one in each['found'])
    for method, settings in SETTINGS.items():
        for (rate, length), one in zip(settings, told[method]['found'], strict=True):
            found = {key: value for key, value in one.items() if key != 'hits'}
            seconds, above = f'{found.pop("seconds"):.4g}', float(found['loss']) - least
            more = dict(rate=f'{rate:g}', length=length, above=f'{above:.4f}')
            peak = told[method]['peak_mb']
            out.append(machine.row(method, 'docstrings', seconds, **found, **more, peak_mb=peak))
    return out


if __name__ == '__main__':
    print(str(part(*sys.argv[1:]))[-600:], flush=True)
