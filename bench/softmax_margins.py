"""Why one-vs-rest margins are ahead of the softmax on docstrings: one optimizer, several losses.

The 300 most documented functions of `data.docstrings()`; a fifth of the rows is held out. Each loss
is minimized over linear scores with a ridge by L-BFGS, at most EVALUATIONS of the loss, float64;
the ridge goes by half decades from one that is usual while top-1 on a fifth of the training rows
gains, each fit from the weights of the one before, then all rows are fitted. Intercepts are free of
the ridge.

- softmax; with a margin of 1 or 3 taken off the score of the label in training;
- one-vs-rest logistic; one-vs-rest squared hinge, with and without an intercept;
- the mean of the scores of three softmax fits on bootstrap samples.

`tau` is logit adjustment of the scores: 0, and the best of TAUS on the rows that chose the ridge.
Standard errors of a difference are of paired rows, against the softmax with tau 0.
"""

from __future__ import annotations

import time

import machine
import numpy as np
import scipy.sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from extreme_opt import data
from extreme_opt.softmax import SoftmaxClassifier

LONG = True
N_CLASSES, TAUS = 300, (0.0, 0.25, 0.5, 0.75, 1.0)
EVALUATIONS = 60


def softmax(margin):
    "Mean loss and its slopes by the scores, which are overwritten."

    def loss(scores, y):
        each = np.arange(len(y))
        scores[each, y] -= margin
        norms = logsumexp(scores, axis=1)
        value = (norms - scores[each, y]).sum()
        scores -= norms[:, None]
        np.exp(scores, out=scores)
        scores[each, y] -= 1
        return value, scores

    return loss


def signs_of(scores, y):
    signs = np.full_like(scores, -1.0)
    signs[np.arange(len(y)), y] = 1
    return signs


def logistic(scores, y):
    signs = signs_of(scores, y)
    scores *= signs
    return np.logaddexp(0, -scores).sum(), -signs * expit(-scores)


def squared_hinge(scores, y):
    signs = signs_of(scores, y)
    gaps = np.maximum(1 - signs * scores, 0)
    return (gaps**2).sum(), -2 * signs * gaps


LOSSES = {  # with where intercepts start, None where there are none; log10 of the first ridge
    'softmax': (softmax(0.0), 0.0, -5.0),
    'softmax, margin 1': (softmax(1.0), 0.0, -5.0),
    'softmax, margin 3': (softmax(3.0), 0.0, -5.0),
    'one-vs-rest logistic': (logistic, -np.log(N_CLASSES - 1), -5.0),
    'one-vs-rest squared hinge': (squared_hinge, -1.0, -4.0),
    'one-vs-rest squared hinge, no intercept': (squared_hinge, None, -4.0),
}


def fit(loss, begin, X, y, ridge, start=None):
    "Scores as a function of rows, and the weights, which the next fit may start from."
    n, width = X.shape
    intercept = begin is not None

    def value(flat):
        weights = flat.reshape(width + 1, N_CLASSES)
        scores = X @ weights[:-1] + intercept * weights[-1]
        total, slopes = loss(scores, y)
        grad = np.empty_like(weights)
        grad[:-1] = X.T @ slopes / n + ridge * weights[:-1]
        grad[-1] = intercept * slopes.sum(0) / n
        return total / n + ridge / 2 * (weights[:-1] ** 2).sum(), grad.ravel()

    if start is None:
        start = np.zeros((width + 1) * N_CLASSES)
        start[-N_CLASSES:] = begin or 0.0
    limits = dict(maxfun=EVALUATIONS, maxiter=EVALUATIONS, maxcor=8)
    flat = minimize(value, start, jac=True, method='L-BFGS-B', options=limits).x
    weights = flat.reshape(width + 1, N_CLASSES)
    return lambda rows: rows @ weights[:-1] + intercept * weights[-1], flat


def main() -> list[dict]:
    found = data.docstrings(max_classes=N_CLASSES)
    X, y = scipy.sparse.csr_array(found.features.astype(float)), found.labels
    test, train = np.split(np.random.default_rng([0, 5]).permutation(len(y)), [len(y) // 5])
    aside, rest = np.split(np.random.default_rng(3).permutation(train), [len(train) // 5])
    log_shares = np.log(np.maximum(np.bincount(y[train], minlength=N_CLASSES), 1) / len(train))
    task = f'docstrings, {N_CLASSES} classes: {len(train)} rows'

    def told(name, seconds, scores, valid, base=None, **more):
        rows, taus = [], {tau: (valid - tau * log_shares).argmax(1) == y[aside] for tau in TAUS}
        for tau in (0.0, max(taus, key=lambda tau: taus[tau].mean())):
            hits = (scores - tau * log_shares).argmax(1) == y[test]
            apart = hits - (hits if base is None else base).astype(float)
            rows.append(
                machine.row(
                    name,
                    task,
                    f'{seconds:.1f}',
                    tau=tau,
                    top_1=f'{hits.mean():.4f}',
                    ahead=f'{apart.mean():.4f}',
                    error=f'{apart.std() / len(hits) ** 0.5:.4f}',
                    **more,
                )
            )
        return rows, (scores.argmax(1) == y[test]).tolist()

    def searched(name, base):
        loss, begin, power = LOSSES[name]
        mark, tried = time.process_time(), {}

        def top(power, near=None):
            if power not in tried:
                start = tried[near][2] if near in tried else None
                scores_of, flat = fit(loss, begin, X[rest], y[rest], 10.0**power, start)
                valid = scores_of(X[aside])
                tried[power] = (valid.argmax(1) == y[aside]).mean(), valid, flat
            return tried[power][0]

        for side in (-0.5, 0.5):
            while top(power + side, power) > top(power):
                power += side
        scores = fit(loss, begin, X[train], y[train], 10.0**power, tried[power][2])[0](X[test])
        seconds, ridge = time.process_time() - mark, f'{10.0**power:.2g}'
        return told(name, seconds, scores, tried[power][1], base, ridge=ridge)

    def bagged(base, ridge):
        mark, sums = time.process_time(), []
        for rows, new in ((rest, aside), (train, test)):
            scores = 0.0
            for seed in range(3):
                some = np.random.default_rng(seed).choice(rows, len(rows))
                scores = scores + fit(softmax(0.0), 0.0, X[some], y[some], ridge)[0](X[new])
            sums.append(scores / 3)
        seconds = time.process_time() - mark
        return told('softmax, three bootstraps', seconds, sums[1], sums[0], base, ridge=ridge)

    def default(base):
        mark, made = time.process_time(), []
        for rows in (rest, train):
            made.append(SoftmaxClassifier().fit(X[rows], y[rows]))
        seconds = time.process_time() - mark
        valid, scores = made[0].decision_function(X[aside]), made[1].decision_function(X[test])
        chosen = made[1].settings_
        return told('SoftmaxClassifier()', seconds, scores, valid, base, ridge=chosen['ridge'])

    out, base, ridge = [], None, 1e-5
    for name in LOSSES:
        rows, hits = machine.kept(name, lambda name=name, base=base: searched(name, base))
        if base is None:
            base, ridge = np.array(hits), float(rows[0]['ridge'])
        out += rows
    out += machine.kept('bootstraps', lambda: bagged(base, ridge))[0]
    return out + machine.kept('default', lambda: default(base))[0]
