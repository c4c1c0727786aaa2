"""Where sampling begins to pay: processor seconds to a held-out log-loss and to a top-1.

Made text of K classes, 12 rows each, from 20,000 words by Zipf's law: 30 words a row, of which a
quarter come from twenty words of the class ("easy"), or 10 words a row and a tenth ("hard").
Sentences of docstrings, the most frequent K functions. A tenth of the rows is held out.

Solvers: exact SGD, implicit SGD and U-max with 5 uniform negatives, implicit SGD on the support of
each class (one uniform negative, four from posting lists), one thread, float32, no ridge. Each has
rates by factors of three, which grow until the best by log-loss is not at an end, and 2 and 8
epochs, whose rate falls to a fiftieth. A run counts with the processor seconds of its epochs.
A solver whose epoch takes more than LONG seconds at K has no larger K.

A row: a solver's seconds, log-loss and top-1 for one rate and number of epochs. The page chooses
the targets: two per cent above the least log-loss that any solver reaches, .005 below the best
top-1.
"""

from __future__ import annotations

import os
import time

import machine
import numpy as np
import scipy.sparse

from extreme_opt import data
from extreme_opt.core import minimize
from extreme_opt.softmax import DoubleSum, ExactSGD, FullSoftmaxByColumn, ImplicitSGD, UMax
from extreme_opt.softmax.rates import falling
from extreme_opt.softmax.support import SupportSGD, SupportSoftmax

LONG = True
SIZES = (100, 1000, 3000, 10_000, 30_000)
MOST = int(os.environ.get('MOST_CLASSES', SIZES[-1]))
EPOCHS = (2, 8)
BUDGET = 6.0  # seconds of one run, beyond which longer ones are left out
N_JUDGED = 1000


def made(n_classes: int, words: int, own_share: float, seed: int = 0):
    "Rows of length one, a tenth held out."
    rng = np.random.default_rng(seed)
    n_words, n_rows = 20_000, 12 * n_classes
    ends = np.cumsum(1 / np.arange(1, n_words + 1))
    ends /= ends[-1]

    def draw(*shape):
        return np.searchsorted(ends, rng.random(shape))

    own, y = draw(n_classes, 20), rng.permutation(np.arange(n_rows) % n_classes)
    mine = own[y[:, None], rng.integers(20, size=(n_rows, words))]
    ids = np.where(rng.random((n_rows, words)) < own_share, mine, draw(n_rows, words))
    starts = np.arange(0, ids.size + 1, words)
    X = scipy.sparse.csr_array((np.ones(ids.size), ids.ravel(), starts), shape=(n_rows, n_words))
    X.sum_duplicates()
    counts = np.bincount(X.indices, minlength=n_words)
    X.data *= np.log(n_rows / np.maximum(counts, 1))[X.indices]
    return X, y


def tasks():
    "Name, rows, labels."
    for size in SIZES:
        if size == 10_000:
            found = data.docstrings()
            yield 'docstrings', found.features, found.labels
        if size <= MOST:
            yield 'easy', *made(size, 30, 0.25)
            yield 'hard', *made(size, 10, 0.1)
        if size < 3000:
            found = data.docstrings(max_classes=size)
            yield 'docstrings', found.features, found.labels


def solvers():
    "Name, problem, solver, first c."
    return {
        'exact SGD': (FullSoftmaxByColumn, ExactSGD, 100.0),
        'implicit, 5 uniform': (
            DoubleSum,
            lambda rate, fall: ImplicitSGD(rate, 5, visits='shuffled', learning_rate_decay=fall),
            100.0,
        ),
        'U-max, 5 uniform': (
            DoubleSum,
            lambda rate, fall: UMax(rate, 1.0, 5, visits='shuffled', learning_rate_decay=fall),
            3.0,
        ),
        'implicit on the support': (
            SupportSoftmax,
            lambda rate, fall: SupportSGD(rate, 5, 1, learning_rate_decay=fall),
            100.0,
        ),
    }


def judge(problem, params, X, y):
    "Log-loss and top-1 of rows that nobody has seen."
    weights = problem.unpack(params)[0]
    if hasattr(problem, 'support'):
        weights = problem.support.as_matrix(weights)
    losses, hits = [], []
    for at in range(0, len(y), 100):
        some = X[at : at + 100]
        used = np.unique(some.indices)
        rows = some[:, used].astype(np.float32)
        part = weights[:, used]
        scores = (rows @ part.T).toarray() if scipy.sparse.issparse(part) else rows @ part.T
        scores = np.asarray(scores, float)
        if hasattr(problem, 'support'):
            scores += problem.height * problem.unpack(params)[1]
        scores -= scores.max(1, keepdims=True)
        own = scores[np.arange(len(scores)), y[at : at + 100]]
        losses.append(np.log(np.exp(scores).sum(1)) - own)
        hits.append(own == 0)
    return float(np.mean(np.concatenate(losses))), float(np.mean(np.concatenate(hits)))


def prepared(X, y):
    "Rows of length one; those to learn from, and some of the tenth that is held out."
    y = np.unique(y, return_inverse=True)[1]
    X = scipy.sparse.csr_array(X).astype(np.float32)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())
    X = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.maximum(norms, 1e-9)) @ X)
    X = X.astype(np.float32)
    test, train = np.split(np.random.default_rng(1).permutation(len(y)), [len(y) // 10])
    test = test[np.isin(y[test], y[train])][:N_JUDGED]
    return X[train], y[train], X[test], y[test], int(y.max()) + 1


def runs(name, task, X, y, new, truth, n_classes) -> list[dict]:
    "All runs of a solver on a task."
    make, solver_at, first = solvers()[name]
    problem, out = make(X, y, n_classes), []
    for epochs in EPOCHS:
        seconds, least, around = 0.0, {}, [first]
        while around:
            for c in around:
                mark = time.process_time()
                state = minimize(
                    problem, solver_at(c, falling(epochs)), max_epochs=epochs, loss_subset=0
                ).state
                seconds = time.process_time() - mark
                loss, top = judge(problem, state.params, new, truth)
                least[c] = loss if np.isfinite(loss) else np.inf
                found = dict(log_loss=f'{loss:.4f}', top_1=f'{top:.4f}')
                out.append(
                    machine.row(name, task, f'{seconds:.3f}', rate=c, epochs=epochs, **found)
                )
            first = min(least, key=lambda c: least[c])
            around = [
                c
                for c in (float(f'{first / 10**0.5:.2g}'), float(f'{first * 10**0.5:.2g}'))
                if not any(abs(np.log(c / seen)) < 0.3 for seen in least) and 1e-3 < c < 1e5
            ]
        if 4 * seconds > BUDGET:
            break
    return out


def main() -> list[dict]:
    y = np.arange(300) // 3
    rows = prepared(scipy.sparse.eye_array(100).tocsr()[y], y)
    for make, solver_at, _ in solvers().values():  # compiled before the clock
        minimize(make(*rows[:2], 100), solver_at(1.0, 1.0), max_iter=1, loss_subset=0)
    out, slow = [], set()
    for kind, X, y in tasks():
        rows = prepared(X, y)
        task = f'{kind}, {rows[-1]} classes'
        for name in solvers():
            if (name, kind) in slow:
                continue
            found = machine.kept(
                f'{name}, {task}', lambda name=name, task=task, rows=rows: runs(name, task, *rows)
            )
            if max(row['epochs'] for row in found) == EPOCHS[0]:
                slow.add((name, kind))
            out += found
    return out
