"""Three questions of size, float32:

- a dense row through the contiguous kernel against the same row through the CSR kernel: 60,000 rows
  of 780 columns, ten classes;
- two threads without locks against one, on shape A of `softmax_implicit`: updates and the loss
  after a pass; beside it what two threads gain
  that do nothing but touch the same cells, the most that memory shared by two cores lets through;
- a million classes: N = K = 1,000,000, 64 dense columns, one pass at a fixed rate; loss on 2,000
  fixed samples and the peak of the whole
  process (this runs in a process of its own).

Seconds are per pass (30,000 updates for the dense rows). On a machine with other work on it the
ratio of threads says little.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import machine
import numpy as np
import scipy.sparse
from numba import njit
from softmax_implicit import shape_a

from extreme_opt.core import minimize
from extreme_opt.core.compiled import parallel_for
from extreme_opt.softmax import DoubleSum, ImplicitSGD
from extreme_opt.softmax.implicit import implicit_updates

touch_places = njit(nogil=True)(machine.touch_places.py_func)
ROUNDS, ASKED_DENSE, ASKED_THREADS, ASKED_GB = 5, 3.5, 1.6, 2.0


def say(what: str, value: float, asked: float, more: bool = True) -> None:
    print(
        f'{what}: {value:.2f} (asked: {asked:g}) {"met" if (value >= asked) == more else "MISSED"}',
        flush=True,
    )


def row(method, task, peer, seconds, threads=1, peak=None, **measured) -> dict:
    return dict(
        method=method,
        task=task,
        peer=peer,
        threads=threads,
        seconds=f'{seconds:.4f}',
        **measured,
        peak_mb=machine.peak_mb() if peak is None else peak,
        versions=machine.versions(),
        date=machine.today(),
    )


def dense_rows() -> list[dict]:
    rng, n_updates = np.random.default_rng(0), 30_000
    X, labels = rng.random((60_000, 780), np.float32), rng.integers(10, size=60_000)
    X /= np.linalg.norm(X, axis=1)[:, None]
    dense, csr = DoubleSum(X, labels, 10), DoubleSum(scipy.sparse.csr_array(X), labels, 10)
    draw, one, two = dense.draw(rng, n_updates, 1), dense.init_params(), dense.init_params()
    seconds = machine.alternate(
        {
            'dense': lambda: implicit_updates(dense, one, draw, 1.0),
            'csr': lambda: implicit_updates(csr, two, draw, 1.0),
        },
        ROUNDS,
    )
    say('dense over CSR kernel', machine.ratio(seconds['csr'], seconds['dense']), ASKED_DENSE)
    peers = {'dense': 'contiguous kernel', 'csr': 'CSR kernel'}
    return [
        row(
            'implicit updates',
            '60,000 x 780 dense, 10 classes',
            peer,
            float(np.median(seconds[name])),
        )
        for name, peer in peers.items()
    ]


def threads() -> list[dict]:
    problem = shape_a()
    draw, losses, found = (
        problem.draw(np.random.default_rng(0), problem.n_samples, 1),
        {},
        {n: problem.init_params() for n in (1, 2)},
    )
    rows, classes, table = (
        problem.features,
        np.column_stack([draw.others, problem.labels[draw.sample]]),
        np.zeros(problem.n_weights, np.float32),
    )
    places = machine.places_of(rows.indptr, rows.indices, draw.sample, classes, problem.n_features)
    jobs = {str(n): lambda n=n: implicit_updates(problem, found[n], draw, 100.0, n) for n in (1, 2)}
    jobs |= {
        f'touch {n}': lambda n=n: parallel_for(
            lambda start, stop: touch_places(table, places[start:stop]), len(places), n
        )
        for n in (1, 2)
    }
    seconds = machine.alternate(jobs, ROUNDS)
    for n in (1, 2):
        losses[n] = problem.log_loss(found[n], np.arange(0, problem.n_samples, 50))
    say('two threads over one', machine.ratio(seconds['1'], seconds['2']), ASKED_THREADS)
    print(
        'two threads that only touch the cells over one:'
        f' {machine.ratio(seconds["touch 1"], seconds["touch 2"]):.2f}'
    )
    say('loss with two threads over one', losses[2] / losses[1], 1.05, more=False)
    touched = [
        row(
            'touch the same cells',
            'shape A',
            'machine limit',
            float(np.median(seconds[f'touch {n}'])),
            n,
        )
        for n in (1, 2)
    ]
    made = [
        row(
            'implicit updates',
            'shape A',
            'kernel',
            float(np.median(seconds[str(n)])),
            n,
            log_loss=f'{losses[n]:.3f}',
            passes=ROUNDS + 1,
        )
        for n in (1, 2)
    ]
    return touched + made


def million(n: int = 1_000_000, width: int = 64) -> dict:
    "Rows near a direction of their own class: one pass, in this process."
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, width), np.float32)
    for part in np.array_split(X, 20):
        part /= np.linalg.norm(part, axis=1)[:, None]
    problem = DoubleSum(X, np.arange(n), n)
    run = minimize(
        problem,
        ImplicitSGD(100.0, 5, learning_rate_decay=1.0, visits='shuffled'),
        max_epochs=1,
        loss_subset=0,
    )
    some = np.random.default_rng(1).choice(n, 2000, replace=False)
    loss = problem.log_loss(run.state.params, np.sort(some))
    return dict(
        seconds=run.history[-1]['seconds'],
        loss=loss,
        peak_mb=machine.peak_mb(),
        knows_nothing=math.log(n),
    )


def main() -> list[dict]:
    rows = dense_rows() + threads()
    done = subprocess.run(
        [sys.executable, __file__],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {'PYTHONPATH': os.pathsep.join(sys.path)},
    )
    big = json.loads(done.stdout)
    print(
        f'a million classes: {big["seconds"]:.0f} s for a pass, log-loss {big["loss"]:.2f} (knowing'
        f' nothing: {big["knows_nothing"]:.2f})'
    )
    say('peak of the process, GB', big['peak_mb'] / 1000, ASKED_GB, more=False)
    return [
        *rows,
        row(
            'ImplicitSGD, 5 others, one pass',
            '1,000,000 classes, 64 columns',
            'kernel',
            big['seconds'],
            1,
            big['peak_mb'],
            log_loss=f'{big["loss"]:.2f}',
            n_scored=2000,
        ),
    ]


if __name__ == '__main__':
    print(json.dumps(million()))
