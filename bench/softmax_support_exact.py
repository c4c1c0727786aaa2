"""The exact softmax on a support beside sampled steps and dense weights.

Docstrings, and `made`, text by Zipf's law as in softmax_support.py (5,000 classes x 10,000 words x
15,000 rows of 30): gradient steps row by row over all classes that the posting lists of the row
name (`exact SGD, support`), L-BFGS on the exact log-loss of all rows (SciPy's, no ridge), sampled
implicit steps with 5 negatives, and on docstrings the package's implicit step over all classes on
dense weights (`solver="exact"`), each with the rates and lengths of SETTINGS (a length is epochs,
of L-BFGS iterations); rates fall to a fiftieth by the end, as in `fit`. `start` is zero, or class
means of the length that `fit` chooses. Judged on the test rows; `seconds` are processor seconds of
the steps (of `fit` for the dense solver).

"optimum, support" on bibtex: the optimum with a ridge on the support. `gain` is how
much lower the penalized loss of all weights is, `at_least` and `at_most` the bounds that
`missing_gain` computes from the restricted optimum alone, nats a row; `top1_dense` and
`log_loss_dense` judge the optimum of all weights.

`softmax_support_solvers`: who is first near the optimum of one penalized log-loss on a support?
Docstrings (2,972 classes), weights on the support, no intercepts, mean log-loss plus RIDGE / 2
times the squared norm. `loss` is that objective, nats a row, and `above` how far it is above the
lowest that any solver found; top-1, top-5 and log-loss on the test rows; `length` epochs, of L-BFGS
iterations. Every solver uses the posting-list kernel.

- `L-BFGS`: SciPy's, from zero.
- `exact SGD`: a step after each row, rate falling to a fiftieth.
- `SVRG`: batches of 64 rows, corrected by the full gradient at the begin of the epoch.
- `dual ascent`: a probability for each row and class; each row's move towards the softmax of its
  scores, by the length that halving an interval six times finds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from time import process_time

import machine
import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.special
from numba import njit
from softmax_support import HOW, judged, made, real  # noqa: F401 (run.py reads HOW)

LONG = True
REAL, RIDGES = ('bibtex',), ('0.001',)
SETTINGS = {  # rates and lengths
    'docstrings': {
        'exact SGD, support': [(6.0, 5), (12.0, 5)],
        'exact, dense': [(6.0, 5), (12.0, 5)],
        'L-BFGS, support': [(0.0, 15)],
        'sampled, support': [(10.0, 10), (10.0, 20)],
        'exact SGD, means': [(3.0, 5)],
        'L-BFGS, means': [(0.0, 15)],
        'sampled, means': [(3.0, 10)],
    },
    'made': {
        'exact SGD, support': [(6.0, 5), (20.0, 5)],
        'L-BFGS, support': [(0.0, 10), (0.0, 30)],
        'sampled, support': [(10.0, 10), (100.0, 10)],
        'exact SGD, means': [(6.0, 5)],
        'L-BFGS, means': [(0.0, 10)],
        'sampled, means': [(10.0, 10)],
    },
}


@njit(cache=True)
def exact_rows(
    rows, X, labels, places, lists, weights, intercepts, rate, free, to_weights, to_free
):
    """Sum of the exact log-losses over rows. rate > 0: a step of gradient descent after each row
    (intercepts after 64); rate 0: gradients are added to the last two. Weights are in the order
    of the posting lists, `places` says where an entry has the weight of its label."""
    (indptr, indices, values), (starts, classes), n_classes = X, lists, len(intercepts)
    scores, seen = np.zeros(n_classes), np.zeros(n_classes, np.bool_)
    touched, kind = np.empty(n_classes, np.int64), weights.dtype.type
    base = np.exp(intercepts)
    total_base, pull, loss = base.sum(), 0.0, 0.0
    for t in range(len(rows)):
        begin, end, label, n = indptr[rows[t]], indptr[rows[t] + 1], labels[rows[t]], 0
        for p in range(begin, end):
            x = values[p]
            for q in range(starts[indices[p]], starts[indices[p] + 1]):
                k = classes[q]
                if not seen[k]:
                    seen[k] = True
                    touched[n] = k
                    n += 1
                scores[k] += x * weights[q]
        total = total_base
        for s in range(n):
            k = touched[s]
            e = base[k] * math.exp(min(scores[k], 80.0))
            total += e - base[k]
            scores[k] = e
        loss += math.log(total) - math.log(scores[label] if seen[label] else base[label])
        for p in range(begin, end):
            x = values[p] / total
            if rate > 0:
                for q in range(starts[indices[p]], starts[indices[p] + 1]):
                    weights[q] -= kind(rate * x * scores[classes[q]])
                weights[places[p]] += kind(rate * values[p])
            else:
                for q in range(starts[indices[p]], starts[indices[p] + 1]):
                    to_weights[q] += x * scores[classes[q]]
                to_weights[places[p]] -= values[p]
        pull += 1 / total
        to_free[label] -= 1
        for s in range(n):
            k = touched[s]
            to_free[k] += (scores[k] - base[k]) / total
            scores[k] = 0.0
            seen[k] = False
        if rate > 0 and (t % 64 == 63 or t == len(rows) - 1):
            for k in range(n_classes):
                intercepts[k] -= rate * free * free * (to_free[k] + pull * base[k])
                base[k] = math.exp(intercepts[k])
                to_free[k] = 0.0
            total_base, pull = base.sum(), 0.0
    for k in range(n_classes):
        to_free[k] += pull * base[k]
    return loss


class Exact:
    "The exact softmax on a support, weights in the order of posting lists."

    def __init__(self, X, y, n_classes):
        from extreme_opt.softmax.support import PostingWeights, support_of

        self.X, self.y = scipy.sparse.csr_array(X), y.astype(np.int64)
        self.support = support_of(self.X, self.y, n_classes)
        starts, classes, cells = self.support.postings
        order = np.empty_like(cells)
        order[cells] = np.arange(len(cells))
        self.places, self.cells = order[self.support.cells_of(self.X, self.y)], cells
        self.given = (
            (self.X.indptr, self.X.indices, self.X.data),
            self.y,
            self.places,
            (starts, classes),
        )
        self.free = 0.1 * math.sqrt(self.X.power(2).sum() / len(y))
        self.n_classes, self.kind = n_classes, PostingWeights
        few, free = np.arange(1), np.zeros(n_classes)  # compiled before any clock starts
        for kind, rate in ((np.float32, 1.0), (np.float64, 0.0)):
            given = np.zeros(len(cells), kind), np.zeros(n_classes), rate, 0.1
            exact_rows(few, *self.given, *given, np.zeros(len(cells)), free)

    def judge(self, weights, intercepts, X, y):
        values = np.empty(len(weights), weights.dtype)
        values[self.cells] = weights
        model = self.kind(self.support.as_matrix(values), intercepts, self.support)
        best = model.top_k(X, 5)[0]
        return judged(best, y) | dict(log_loss=f'{model.log_losses(X, y).mean():.4f}')

    def begin(self, means):
        "Weights to begin at, in the order of posting lists."
        from extreme_opt.softmax.support import SupportSoftmax, choose_mean_length

        self.problem = SupportSoftmax(
            self.X, self.y, self.n_classes, height=self.free, support=self.support
        )
        length = choose_mean_length(self.problem) if means else 0.0
        return self.problem.class_means(length)[self.cells]

    def descent(self, weights, rate, fall, n_epochs):
        "Gradient steps row by row; processor seconds of it."
        weights, intercepts = weights.copy(), np.zeros(self.n_classes)
        rng, mark, none = np.random.default_rng(0), process_time(), np.zeros(0)
        for epoch in range(n_epochs):
            more = rate * fall**epoch, self.free, none, np.zeros(self.n_classes)
            exact_rows(rng.permutation(len(self.y)), *self.given, weights, intercepts, *more)
        return weights, intercepts, process_time() - mark

    def quasi(self, weights, n_iter, ridge=0.0):
        "Iterations of L-BFGS; processor seconds of it."
        first, mark = np.append(weights, np.zeros(self.n_classes)), process_time()
        best = scipy.optimize.minimize(
            self.gradient,
            first,
            (np.arange(len(self.y)), ridge),
            jac=True,
            method='L-BFGS-B',
            options=dict(maxiter=n_iter),
        )
        n = len(weights)
        return best.x[:n].astype(np.float32), best.x[n:] * self.free, process_time() - mark

    def sampled(self, weights, rate, fall, n_epochs):
        "The package's sampled steps; processor seconds of it."
        from extreme_opt.core import minimize
        from extreme_opt.softmax.support import SupportSGD

        cells = np.empty(len(weights), np.float32)
        cells[self.cells] = weights
        solver = SupportSGD(rate, learning_rate_decay=fall)
        minimize(self.problem, solver, max_epochs=1, loss_subset=0)  # compiled
        mark = process_time()
        start = self.problem.start_at(cells)
        run = minimize(self.problem, solver, start, max_epochs=n_epochs, loss_subset=0)
        seconds = process_time() - mark
        cells, heights, _ = self.problem.unpack(run.state.params)
        return cells[self.cells], heights * self.free, seconds

    def gradient(self, flat, rows, ridge):
        "Mean log-loss of rows, penalized, and its gradient by weights and intercepts over `free`."
        n = len(self.cells)
        grad = np.zeros(len(flat))
        given = flat[:n], flat[n:] * self.free, 0.0, self.free
        loss = exact_rows(rows, *self.given, *given, grad[:n], grad[n:])
        grad /= len(rows)
        grad[n:] *= self.free
        grad[:n] += ridge * flat[:n]
        return loss / len(rows) + ridge / 2 * (flat[:n] @ flat[:n]), grad


def dense(X, y, new, truth, rate, length) -> dict:
    from extreme_opt.softmax import SoftmaxClassifier

    given = dict(weights='dense', learning_rate=rate, tol=None)
    SoftmaxClassifier('exact', max_epochs=1, **given).fit(X[:400], y[:400])
    mark = process_time()
    model = SoftmaxClassifier('exact', max_epochs=length, **given).fit(X, y)
    seconds = process_time() - mark
    found = judged(model.top_k(new, 5)[0], truth)
    return found | dict(log_loss=f'{model.log_loss(new, truth):.4f}', seconds=seconds)


def solved(task: str, method: str) -> dict:
    "All settings of one solver on one task."
    from extreme_opt.softmax.rates import falling

    warnings.simplefilter('ignore')
    rows = made(5000, 10_000, 15_000, 30, seed=1) if task == 'made' else real(task)
    X, y, _, new, truth = rows
    solver, start = method.split(', ')
    if start == 'dense':
        return dict(found=[dense(X, y, new, truth, *one) for one in SETTINGS[task][method]])
    exact, found = Exact(X, y, int(max(y.max(), truth.max())) + 1), []
    begin = exact.begin(start == 'means')
    for rate, length in SETTINGS[task][method]:
        if solver == 'L-BFGS':
            *at, seconds = exact.quasi(begin, length)
        else:
            call = exact.sampled if solver == 'sampled' else exact.descent
            *at, seconds = call(begin, rate, falling(length), length)
        found.append(exact.judge(*at, new, truth) | dict(seconds=seconds))
    return dict(found=found)


def optima(task: str, ridge: float) -> dict:
    """The penalized optima with all weights and on the support, what the missing weights gain, and
    the bounds of it that the restricted optimum gives; nats a row."""
    from extreme_opt.core import LBFGS, minimize
    from extreme_opt.softmax import FullSoftmax
    from extreme_opt.softmax.support import SupportSoftmax, missing_gain

    warnings.simplefilter('ignore')
    X, y, _, new, truth = real(task)
    n_classes, n = int(max(y.max(), truth.max())) + 1, len(y)
    exact = Exact(X, y, n_classes)
    best = scipy.optimize.minimize(
        exact.gradient,
        np.zeros(len(exact.cells) + n_classes),
        (np.arange(n), ridge),
        jac=True,
        method='L-BFGS-B',
        options=dict(maxiter=500, maxfun=600, ftol=1e-10, gtol=1e-6),
    )
    cells, heights = np.zeros(len(exact.cells)), best.x[len(exact.cells) :]
    cells[exact.cells] = best.x[: len(exact.cells)]
    given = dict(ridge=ridge, height=exact.free, support=exact.support, dtype=np.float64)
    problem = SupportSoftmax(exact.X.astype(np.float64), exact.y, n_classes, **given)
    low, high = missing_gain(problem, np.concatenate([cells, heights, np.zeros(n)]))
    judge = exact.judge(
        best.x[: len(exact.cells)].astype(np.float32), heights * exact.free, new, truth
    )
    columns = scipy.sparse.hstack([exact.X, np.ones((n, 1))]).tocsr().astype(np.float64)
    dense = FullSoftmax(columns, exact.y, n_classes, ridge=ridge, n_unpenalized=1)
    run = minimize(dense, LBFGS(), max_epochs=600, tol=1e-6, record_every=600)
    weights = dense.unpack(run.state.params)[0]
    scores = new @ weights[:, :-1].T + weights[:, -1]
    full = judged(np.argsort(-scores, axis=1)[:, :5], truth)
    each = scipy.special.logsumexp(scores, axis=1) - scores[np.arange(len(truth)), truth]
    found = dict(gain=f'{best.fun - run.column("loss")[-1] / n:.5f}', at_least=f'{low / n:.5f}')
    found |= dict(at_most=f'{high / n:.5f}', loss=f'{best.fun:.5f}', iterations=best.nit)
    return found | judge | dict(top1_dense=full['top1'], log_loss_dense=f'{each.mean():.4f}')


def part(task: str, method: str) -> dict:
    "All settings of one solver, in a process of its own, or what an earlier run kept of it."
    key = f'exact-{task}-{method.replace(", ", "-").replace(" ", "_")}'
    call = ('optima', task, float(method)) if task in REAL else ('solved', task, method)
    return machine.kept(key, machine.fresh, __file__, *call)


def main() -> Iterator[dict]:
    for task, methods in SETTINGS.items():
        for method, settings in methods.items():
            told = part(task, method)
            for (rate, length), found in zip(settings, told['found'], strict=True):
                found.pop('hits')
                more = dict(rate=f'{rate:g}', length=length, peak_mb=told['peak_mb'])
                start = 'means' if method.endswith('means') else 'zero'
                name, seconds = method.replace('means', 'support'), f'{found.pop("seconds"):.4g}'
                yield machine.row(name, task, seconds, start=start, **found, **more)
    for task in REAL:
        for ridge in RIDGES:
            told = {key: value for key, value in part(task, ridge).items() if key != 'hits'}
            yield machine.row('optimum, support', task, ridge=ridge, **told)


# --------------------------------------------------------------------- solvers of a penalized loss
RIDGE, BATCH = 1e-5, 64
LENGTHS: dict = {  # rates and lengths
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


CALLS = {'exact SGD': descent, 'SVRG': svrg, 'dual ascent': dual}


def penalized(method: str) -> dict:
    "All lengths of one solver."
    X, y, _, new, truth = real('docstrings')
    exact, found = Exact(X, y, int(max(y.max(), truth.max())) + 1), []
    exact.free = 0.0
    none = np.zeros(exact.n_classes)
    exact.gradient(np.append(np.zeros(len(exact.cells)), none), np.arange(2), RIDGE)
    few = np.zeros((len(y), 2), np.float32)
    dual_rows(np.arange(0), exact.given[0], exact.y, exact.given[3], np.zeros(2), few, 1.0)
    for rate, length in LENGTHS[method]:
        if method == 'L-BFGS':
            weights, _, seconds = exact.quasi(np.zeros(len(exact.cells)), length, RIDGE)
        else:
            weights, seconds = machine.cpu_of(CALLS[method], exact, rate, length)
        loss = exact.gradient(np.append(weights, none), np.arange(len(y)), RIDGE)[0]
        judged = exact.judge(weights.astype(np.float32), none, new, truth)
        found.append(judged | dict(seconds=seconds, loss=f'{loss:.4f}'))
    return dict(found=found)


def softmax_support_solvers() -> Iterator[dict]:
    told = {
        method: machine.kept(f'solvers-{method}', machine.fresh, __file__, 'penalized', method)
        for method in LENGTHS
    }
    least = min(float(one['loss']) for each in told.values() for one in each['found'])
    for method, settings in LENGTHS.items():
        for (rate, length), found in zip(settings, told[method]['found'], strict=True):
            found.pop('hits')
            seconds, above = f'{found.pop("seconds"):.4g}', float(found['loss']) - least
            more = dict(rate=f'{rate:g}', length=length, above=f'{above:.4f}')
            more |= dict(peak_mb=told[method]['peak_mb'])
            yield machine.row(method, 'docstrings', seconds, **found, **more)
