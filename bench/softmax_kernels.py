"""The kernels of softmax against what the machine can do and against NumPy, one core, float32, one
update per row and pass.

Shape A: 15,000 rows, 5,000 columns, 230 of them non-zero in a row, 4,000 classes. The machine's
limit for the same bytes: a loop over a ready list of addresses that reads, adds to and writes back
exactly the cells that the updates touch, in the same order, and does nothing else (counted are 4
bytes in and 4 out per cell, although the machine moves a line of 64 for most of them). Seconds are
per pass, medians over rounds in which all jobs alternate.

- `softmax_implicit`: one implicit step (one wrong class) on shape A and on docstring sentences,
  against a vanilla SGD step on the same draws (`UMax` with its threshold out of reach) and the
  limit.
- `softmax_scale`: a dense row through the contiguous kernel against the CSR kernel (60,000 rows of
  780 columns, ten classes, 30,000 updates); two threads without locks against one on shape A, and
  what two threads gain that only touch the same cells; a million classes (N = K = 1,000,000, 64
  dense columns, one pass at a fixed rate, in a process of its own): loss on 2,000 fixed samples and
  peak memory. On a machine with other work on it the ratio of threads says little.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

import machine
import numpy as np
import scipy.sparse
from numba import njit

from extreme_opt import data
from extreme_opt.core import minimize
from extreme_opt.core.compiled import parallel_for
from extreme_opt.softmax import DoubleSum, Draw, ImplicitSGD
from extreme_opt.softmax.implicit import implicit_updates
from extreme_opt.softmax.umax import umax_updates

RATE, ROUNDS = 100.0, 9


@njit(nogil=True)
def touch_places(table, places):
    "Read, add to and write back the cell of a flat table at each place, in order; nothing else."
    for t in range(len(places)):
        table[places[t]] += 1


def shape_a(
    n_samples: int = 15_000, n_features: int = 5_000, n_nonzero: int = 230, n_classes: int = 4_000
) -> DoubleSum:
    rng = np.random.default_rng(0)
    indices = np.sort(
        np.argpartition(rng.random((n_samples, n_features), np.float32), n_nonzero, axis=1)[
            :, :n_nonzero
        ],
        axis=1,
    )
    values = rng.random((n_samples, n_nonzero), np.float32)
    values /= np.linalg.norm(values, axis=1)[:, None]
    rows = scipy.sparse.csr_array(
        (
            values.ravel(),
            indices.ravel().astype(np.int32),
            np.arange(n_samples + 1, dtype=np.int32) * n_nonzero,
        ),
        shape=(n_samples, n_features),
    )
    return DoubleSum(rows, rng.integers(n_classes, size=n_samples), n_classes)


def docstrings() -> DoubleSum:
    docs = data.docstrings()
    return DoubleSum(docs.train_features, docs.train_labels, docs.n_classes)


def places_of(problem: DoubleSum, draw: Draw) -> np.ndarray:
    """Flat places of the weights that updates touch, update by update: one row of them for each of
    its classes."""
    rows, width = problem.features, np.uint64(problem.n_features)
    classes = np.column_stack([draw.others, problem.labels[draw.sample]]).astype(np.uint64)
    every = [
        (own[:, None] * width + rows.indices[slice(*rows.indptr[i : i + 2])].astype(np.uint64))
        for i, own in zip(draw.sample, classes, strict=True)
    ]
    return np.concatenate([each.ravel() for each in every])


def medians(seconds: dict[str, list[float]], problem: DoubleSum) -> dict[str, float]:
    "Median seconds of a pass of each job."
    middle = {name: statistics.median(each) for name, each in seconds.items()}
    for name, each in middle.items():
        print(f'{name:<9}{each / problem.n_samples * 1e9:9.0f} ns per update')
    return middle


def softmax_implicit() -> Iterator[dict]:
    for task, problem in {'shape A': shape_a(), 'docstrings': docstrings()}.items():
        draw = problem.draw(np.random.default_rng(0), problem.n_samples, 1)
        ours, plain = (problem.init_params() for _ in range(2))
        table, places = np.zeros(problem.n_weights, np.float32), places_of(problem, draw)
        jobs = {
            'implicit': lambda: implicit_updates(problem, ours, draw, RATE),
            'vanilla': lambda: umax_updates(problem, plain, draw, 1e-6, math.inf),
            'limit': lambda: touch_places(table, places),
        }
        seconds = machine.alternate(jobs, ROUNDS)
        middle = medians(seconds, problem)
        yield from [
            machine.row(method, task, f'{middle[name]:.4f}', peer=peer)
            for method, name, peer in (
                ('implicit updates', 'implicit', 'kernel'),
                ('vanilla updates, one wrong class', 'vanilla', 'kernel'),
                ('touch the same cells', 'limit', 'machine limit'),
            )
        ]


# ------------------------------------------------------------------------- width, threads, classes
def dense_rows(rounds: int = 5) -> list[dict]:
    rng, n_updates = np.random.default_rng(0), 30_000
    X, labels = rng.random((60_000, 780), np.float32), rng.integers(10, size=60_000)
    X /= np.linalg.norm(X, axis=1)[:, None]
    dense, csr = DoubleSum(X, labels, 10), DoubleSum(scipy.sparse.csr_array(X), labels, 10)
    draw, one, two = dense.draw(rng, n_updates, 1), dense.init_params(), dense.init_params()
    jobs = {
        'contiguous kernel': lambda: implicit_updates(dense, one, draw, 1.0),
        'CSR kernel': lambda: implicit_updates(csr, two, draw, 1.0),
    }
    seconds, task = machine.alternate(jobs, rounds), '60,000 x 780 dense, 10 classes'
    return [
        machine.row('implicit updates', task, f'{np.median(took):.4f}', peer=peer)
        for peer, took in seconds.items()
    ]


def two_threads(rounds: int = 5) -> list[dict]:
    problem = shape_a()
    draw = problem.draw(np.random.default_rng(0), problem.n_samples, 1)
    found = {n: problem.init_params() for n in (1, 2)}
    table, places = np.zeros(problem.n_weights, np.float32), places_of(problem, draw)

    def touch(start, stop):
        touch_places(table, places[start:stop])

    jobs = {('touch', n): lambda n=n: parallel_for(touch, len(places), n) for n in (1, 2)}
    jobs |= {
        ('update', n): lambda n=n: implicit_updates(problem, found[n], draw, RATE, n)
        for n in (1, 2)
    }
    seconds, out = machine.alternate(jobs, rounds), []
    every_50 = np.arange(0, problem.n_samples, 50)
    losses = {n: problem.log_loss(found[n], every_50) for n in (1, 2)}
    for (what, n), took in seconds.items():
        told = dict(log_loss=f'{losses[n]:.3f}', passes=rounds + 1) if what == 'update' else {}
        method = 'implicit updates' if what == 'update' else 'touch the same cells'
        told |= dict(peer='kernel' if what == 'update' else 'machine limit', threads=n)
        out.append(machine.row(method, 'shape A', f'{np.median(took):.4f}', **told))
    return out


def million(n: int = 1_000_000, width: int = 64) -> dict:
    "Rows near a direction of their own class: one pass."
    X = np.random.default_rng(0).standard_normal((n, width), np.float32)
    for part in np.array_split(X, 20):
        part /= np.linalg.norm(part, axis=1)[:, None]
    problem = DoubleSum(X, np.arange(n), n)
    solver = ImplicitSGD(RATE, 5, learning_rate_decay=1.0, visits='shuffled')
    run = minimize(problem, solver, max_epochs=1, loss_subset=0)
    some = np.random.default_rng(1).choice(n, 2000, replace=False)
    loss = problem.log_loss(run.state.params, np.sort(some))
    return dict(seconds=run.history[-1]['seconds'], loss=loss)


def softmax_scale() -> list[dict]:
    rows, big = dense_rows() + two_threads(), machine.fresh(__file__, 'million')
    method, task = 'ImplicitSGD, 5 others, one pass', '1,000,000 classes, 64 columns'
    told = dict(peer='kernel', log_loss=f'{big["loss"]:.2f}', n_scored=2000)
    seconds, peak = f'{big["seconds"]:.4f}', big['peak_mb']
    return [*rows, machine.row(method, task, seconds, **told, peak_mb=peak)]
