"""Where sampling begins to pay: processor seconds to a held-out log-loss and to a top-1.

Made text of K classes, 12 rows each, from 20,000 words by Zipf's law: 30 words a row, of which a
quarter come from twenty words of the class ("easy"), or 10 words a row and a tenth ("hard").
Sentences of docstrings: the 100 and 1,000 most documented functions, and all of them. Rows
have length one; a tenth of them is held out, and at most 1,000 of those judge.

Solvers: exact SGD; implicit SGD and U-max with 5 uniform negatives; implicit SGD on the support of
each class with one uniform negative and four from posting lists. One thread, float32, no ridge, no
intercept but on the support. Rates go by factors of ten and then by half decades until a further
one lowers the log-loss by less than a half per cent on either side; 2 and 8 epochs (2 beyond 10,000
classes), whose rate falls to a fiftieth. With 10,000 classes exact SGD is not searched: 1 and 2
epochs at the best rate of 3,000 classes, and on easy rows one epoch at 100; beyond, neither it nor
U-max is run. 100,000 classes fit in memory on a support only. The rates are chosen on the rows that
judge, for all solvers alike. Seconds are those of the epochs alone.
"""

from __future__ import annotations

import os
import time
import warnings

import machine
import numpy as np
import scipy.sparse

from extreme_opt import data
from extreme_opt.core import minimize
from extreme_opt.softmax import DoubleSum, ExactSGD, FullSoftmaxByColumn, ImplicitSGD, UMax
from extreme_opt.softmax.rates import falling
from extreme_opt.softmax.support import SupportSGD, SupportSoftmax

LONG = True
SIZES = (100, 1000, 3000, 10_000, 30_000, 100_000)
MOST = int(os.environ.get('MOST_CLASSES', SIZES[-1]))
SEARCH_TO, EXACT_TO, DENSE_TO = 3000, 10_000, 30_000  # classes: exact SGD; dense weights
ENOUGH, N_JUDGED = 0.995, 1000


def made(n_classes: int, words: int, own_share: float):
    "Rows of words, each a class's own with a probability."
    rng = np.random.default_rng(0)
    n_words, n_rows = 20_000, 12 * n_classes
    ends = np.cumsum(1 / np.arange(1, n_words + 1))
    ends /= ends[-1]

    def draw(*shape):
        return np.searchsorted(ends, rng.random(shape)).astype(np.int32)

    own, y = draw(n_classes, 20), rng.permutation(np.arange(n_rows) % n_classes)
    mine = own[y[:, None], rng.integers(20, size=(n_rows, words))]
    ids = np.where(rng.random((n_rows, words)) < own_share, mine, draw(n_rows, words))
    starts = np.arange(0, ids.size + 1, words)
    X = scipy.sparse.csr_array(
        (np.ones(ids.size, np.float32), ids.ravel(), starts), shape=(n_rows, n_words)
    )
    X.sum_duplicates()
    counts = np.bincount(X.indices, minlength=n_words)
    X.data *= np.log(n_rows / np.maximum(counts, 1))[X.indices]
    return X, y


def tasks(most: int):
    "Kind, rows, labels."
    for size in SIZES:
        if size <= min(most, MOST):
            yield 'easy', *made(size, 30, 0.25)
            yield 'hard', *made(size, 10, 0.1)
        if size == SIZES[0]:
            for part in (100, 1000, None):
                found = data.docstrings(max_classes=part)
                yield 'docstrings', found.features, found.labels


def prepared(X, y):
    "Rows of length one to learn from, and those that judge; classes without a row left are gone."
    X = scipy.sparse.csr_array(X).astype(np.float32)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())
    X = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.maximum(norms, 1e-9)) @ X)
    X = X.astype(np.float32)
    test, train = np.split(np.random.default_rng(1).permutation(len(y)), [len(y) // 10])
    classes, labels = np.unique(y[train], return_inverse=True)
    test = test[np.isin(y[test], classes)][:N_JUDGED]
    return X[train], labels, X[test], np.searchsorted(classes, y[test]), len(classes)


def solvers():
    "Name: problem, solver of a rate and a fall, the rate to begin with."
    few = dict(visits='shuffled')
    return {
        'exact SGD': (FullSoftmaxByColumn, ExactSGD, 10.0),
        'implicit SGD, uniform': (
            DoubleSum,
            lambda rate, fall: ImplicitSGD(rate, 5, learning_rate_decay=fall, **few),
            100.0,
        ),
        'U-max, uniform': (
            DoubleSum,
            lambda rate, fall: UMax(rate, 1.0, 5, learning_rate_decay=fall, **few),
            1.0,
        ),
        'implicit SGD, posting lists': (
            SupportSoftmax,
            lambda rate, fall: SupportSGD(rate, 5, 1, learning_rate_decay=fall),
            100.0,
        ),
    }


def judge(problem, params, X, y):
    "Log-loss and top-1 of rows that nobody has seen."
    if isinstance(problem, SupportSoftmax):
        model = problem.model(params)
        return float(model.log_losses(X, y).mean()), float((model.top_k(X, 1)[0][:, 0] == y).mean())
    weights, losses, hits = problem.unpack(params)[0], [], []
    for at in range(0, len(y), 100):
        some = X[at : at + 100]
        used, place = np.unique(some.indices, return_inverse=True)
        rows = scipy.sparse.csr_array((some.data, place.ravel(), some.indptr))
        scores = (rows @ np.ascontiguousarray(weights[:, used].T)).astype(float)
        scores -= scores.max(1, keepdims=True)
        own = scores[np.arange(len(scores)), y[at : at + 100]]
        losses.append(np.log(np.exp(scores).sum(1)) - own)
        hits.append(scores.argmax(1) == y[at : at + 100])
    return float(np.mean(np.concatenate(losses))), float(np.mean(np.concatenate(hits)))


def one_run(name, task, rows, c, epochs) -> dict:
    "A row: what a rate and a number of epochs reach."
    X, y, new, truth, n_classes = rows
    make, solver_at, _ = solvers()[name]
    problem = make(X, y, n_classes)
    mark = time.process_time()
    try:
        run = minimize(problem, solver_at(c, falling(epochs)), max_epochs=epochs, loss_subset=0)
        seconds = time.process_time() - mark
        with np.errstate(all='ignore'):
            loss, top = judge(problem, run.state.params, new, truth)
    except ValueError:  # a rate that the solver does not take
        seconds, loss, top = time.process_time() - mark, np.inf, 0.0
    found = dict(log_loss=f'{loss if np.isfinite(loss) else 1e9:.4f}', top_1=f'{top:.4f}')
    return machine.row(name, task, f'{seconds:.3f}', rate=f'{c:.3g}', epochs=epochs, **found)


def runs(name, task, rows, first, lengths) -> list[dict]:
    "Rates around the best by log-loss, for each number of epochs."
    out: list[dict] = []
    for epochs in lengths:
        least: dict[float, float] = {}

        def tried(power, epochs=epochs, least=least):
            if power not in least:
                out.append(one_run(name, task, rows, 10.0**power, epochs))
                least[power] = float(out[-1]['log_loss'])
            return least[power]

        tried(first)
        for step in (1.0, 0.5) if epochs == lengths[0] else (0.5,):
            best = min(least, key=lambda power: least[power])
            for side in (-step, step):
                while -4 < best < 20 and tried(best + side) < ENOUGH * least[best]:
                    best += side
        first = min(least, key=lambda power: least[power])
    return out


def main() -> list[dict]:
    warnings.simplefilter('ignore')
    y = np.arange(300) // 3
    rows = prepared(scipy.sparse.eye_array(100).tocsr()[y], y)
    for name in solvers():  # compiled before the clock
        one_run(name, 'warm up', rows, 1.0, 1)
    out, begin = [], {}
    for kind, X, y in tasks(SIZES[-1]):
        rows = prepared(X, y)
        n_classes = len(np.unique(y))
        task = f'{kind}, {n_classes} classes'
        for name, (_, _, first) in solvers().items():
            exact, dense = name == 'exact SGD', name != 'implicit SGD, posting lists'
            if n_classes > (DENSE_TO if dense else SIZES[-1]):
                continue
            first = float(np.log10(first))
            if exact and n_classes > EXACT_TO or name == 'U-max, uniform' and n_classes > EXACT_TO:
                continue
            if exact and n_classes > SEARCH_TO:
                grid = [(begin[kind], 1), (begin[kind], 2)] + [(2.0, 1)] * (kind == 'easy')

                def job(task=task, rows=rows, grid=grid):
                    return [one_run('exact SGD', task, rows, 10.0**c, n) for c, n in grid]
            else:

                def job(name=name, task=task, rows=rows, first=first, n_classes=n_classes):
                    return runs(name, task, rows, first, (2, 8) if n_classes <= EXACT_TO else (2,))

            found = machine.kept(f'{task}, {name}', job)
            if exact:
                least = min(float(row['log_loss']) for row in found)
                good = [float(r['rate']) for r in found if float(r['log_loss']) <= least / ENOUGH]
                begin[kind] = round(2 * float(np.log10(min(good)))) / 2
            out += found
    return out
