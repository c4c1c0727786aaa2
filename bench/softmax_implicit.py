"""One implicit step (one wrong class, float32, CSR) against three things, on shape A and on
docstring sentences, one core:

- a vanilla SGD step on the same draws: `UMax` with its threshold out of reach, one wrong class;
- the NumPy step of the page with Brent's method (`implicit_update`);
- the machine's limit for the same bytes: a loop that reads, adds to and writes back exactly the
  cells of the two classes that an update touches.

Shape A: 15,000 rows, 5,000 columns, 230 of them non-zero in a row, 4,000 classes. Seconds are per
15,000 updates (shape A) or per pass. The NumPy step gets its row dense and ready, and its two
classes in one piece of memory each; on shape A it takes some 15 times the machine's limit, so a
kernel 12 times faster than it would have to run at 80 % of that limit.
"""

from __future__ import annotations

import math
import statistics

import machine
import numpy as np
import scipy.sparse

from extreme_opt import data
from extreme_opt.softmax import DoubleSum, Draw
from extreme_opt.softmax.implicit import implicit_update, implicit_updates
from extreme_opt.softmax.umax import umax_updates

RATE, ROUNDS = 100.0, 9
ASKED_VANILLA, ASKED_NUMPY, ASKED_LIMIT = 1.0, 12, 0.4


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


def measure(task: str, problem: DoubleSum) -> list[dict]:
    rng, rows, n_slow = np.random.default_rng(0), problem.features, 300
    draw = problem.draw(rng, problem.n_samples, 1)
    classes = np.column_stack([draw.others, problem.labels[draw.sample]])
    ours, plain, slow = (problem.init_params() for _ in range(3))
    limit, _ = machine.touch_job(
        machine.places_of(rows.indptr, rows.indices, draw.sample, classes, problem.n_features),
        problem.n_weights,
    )
    few = Draw(draw.sample[:n_slow], draw.others[:n_slow])
    dense = rows[few.sample].toarray()
    jobs = {
        'implicit': lambda: implicit_updates(problem, ours, draw, RATE),
        'vanilla': lambda: umax_updates(problem, plain, draw, 1e-6, math.inf),
        'limit': limit,
        'numpy': lambda: [
            implicit_update(*problem.unpack(slow), x, i, problem.labels[i], k, RATE)
            for x, i, k in zip(dense, few.sample, few.others[:, 0], strict=True)
        ],
    }
    seconds = machine.alternate(jobs, ROUNDS)
    seconds['numpy'] = [each * problem.n_samples / n_slow for each in seconds['numpy']]
    middle = {name: statistics.median(each) for name, each in seconds.items()}
    for name in middle:
        print(f'{task:>12} {name:<9}{middle[name] / problem.n_samples * 1e9:9.0f} ns per update')
    for name, value, asked in (
        (
            'vanilla steps per implicit step',
            machine.ratio(seconds['vanilla'], seconds['implicit']),
            ASKED_VANILLA,
        ),
        (
            'NumPy with Brent over implicit',
            machine.ratio(seconds['numpy'], seconds['implicit']),
            ASKED_NUMPY,
        ),
        ('share of the limit', machine.ratio(seconds['limit'], seconds['implicit']), ASKED_LIMIT),
    ):
        verdict = (
            f'(asked: {asked:g}) {"met" if value >= asked else "MISSED"}'
            if task == 'shape A'
            else '(nothing asked)'
        )
        print(f'{task:>12} {name}: {value:.2f} {verdict}')
    common = dict(
        task=task,
        threads=1,
        peak_mb=machine.peak_mb(),
        versions=machine.versions(),
        date=machine.today(),
    )
    return [
        dict(method=method, peer=peer, seconds=f'{middle[name]:.4f}', **common)
        for method, name, peer in (
            ('implicit updates', 'implicit', 'kernel'),
            ('vanilla updates, one wrong class', 'vanilla', 'kernel'),
            ('implicit_update with Brent, in a loop', 'numpy', 'NumPy loop'),
            ('touch the same cells', 'limit', 'machine limit'),
        )
    ]


def main() -> list[dict]:
    docs = data.docstrings()
    return measure('shape A', shape_a()) + measure(
        'docstrings', DoubleSum(docs.train_features, docs.train_labels, docs.n_classes)
    )
