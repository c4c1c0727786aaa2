"""SVRG's inner step on comparisons, p = 10, STE, B = 1, one core: the lazy step of the package
beside dense ones.

- *dense, as printed*: forms the direction u = v + g for all objects and steps along it, compiled;
- *dense, lean*: adds the correction to three rows and the rest of g to all, compiled;
- *dense, by the protocol*: what SVRG does with a problem that has only `grad_at`, in NumPy.

Seconds are per inner step, medians over rounds in which all jobs alternate; the lazy loop makes as
many steps as an epoch has, one per triplet, so what it does once per epoch is in it. Quality is the
largest difference from the printed step after a hundred steps.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import machine
import numpy as np
from numba import njit

from extreme_opt.core.svrg import _dense
from extreme_opt.ordinal import STE, Comparisons
from extreme_opt.ordinal.losses import _pair_loss

SIZES = ((100, 10_000), (1000, 200_000), (20_000, 400_000), (100_000, 1_000_000))
ROUNDS = 9
RATE = 1e-3
ASKED = {100: 3.5, 1000: 12, 20_000: 80}


@njit
def dense_steps(points, old, full, table, slopes, batch, rate, printed):
    "Inner steps on triplets that move every row."
    width, direction = points.shape[1], np.zeros(points.shape)
    near_arm, far_arm = np.empty(width), np.empty(width)
    for t in range(len(batch)):
        q, near, far = batch[t], 0.0, 0.0
        i, j, k = table.rows[q, 0], table.rows[q, 1], table.rows[q, 2]
        for c in range(width):
            near_arm[c], far_arm[c] = points[i, c] - points[j, c], points[i, c] - points[k, c]
            near += near_arm[c] ** 2
            far += far_arm[c] ** 2
        _, by_near, by_far = _pair_loss(table.kind, table.constant, near, far, False)
        if printed:
            for r in range(len(points)):
                for c in range(width):
                    direction[r, c] = full[r, c]
        for c in range(width):
            left = 2 * (by_near * near_arm[c] - slopes[q, 0] * (old[i, c] - old[j, c]))
            right = 2 * (by_far * far_arm[c] - slopes[q, 1] * (old[i, c] - old[k, c]))
            if printed:
                direction[i, c] += left + right
                direction[j, c] -= left
                direction[k, c] -= right
            else:
                points[i, c] -= rate * (left + right)
                points[j, c] += rate * left
                points[k, c] += rate * right
        source = direction if printed else full
        for r in range(len(points)):
            for c in range(width):
                points[r, c] -= rate * source[r, c]


def questions(n_objects: int, n_terms: int) -> np.ndarray:
    "Random triplets of different objects."
    rng = np.random.default_rng(0)
    i = rng.integers(n_objects, size=n_terms)
    j, step = rng.integers(1, n_objects, size=n_terms), rng.integers(1, n_objects - 1, size=n_terms)
    k = (j + step - 1) % (n_objects - 1) + 1
    return np.column_stack([i, (i + j) % n_objects, (i + k) % n_objects])


def one_size(n_objects: int, n_terms: int) -> tuple[list[dict], float]:
    "Rows of one number of objects, and the seconds of a lazy step."
    rows = []
    problem = Comparisons(questions(n_objects, n_terms), 10, STE(), n_objects)
    old, rng = problem.init_params(0), np.random.default_rng(1)
    full, kept = problem.svrg_anchor(old)
    points, table = old.copy(), problem._table()
    counts = {
        'lazy': n_terms,
        'dense, as printed': max(20, 4_000_000 // n_objects // 10),
        'dense, lean': max(20, 8_000_000 // n_objects // 10),
        'dense, by the protocol': max(10, 40_000 // n_objects),
    }
    draws = {name: problem.draw(rng, count) for name, count in counts.items()}
    small = RATE / n_terms  # so that thousands of steps stay where they are
    jobs = {
        'lazy': lambda: problem.svrg_steps_(points, old, full, kept, draws['lazy'], small, 1),
        'dense, as printed': lambda: dense_steps(
            *map(problem.unpack, (points, old, full)),
            table,
            kept,
            draws['dense, as printed'],
            small,
            True,
        ),
        'dense, lean': lambda: dense_steps(
            *map(problem.unpack, (points, old, full)),
            table,
            kept,
            draws['dense, lean'],
            small,
            False,
        ),
        'dense, by the protocol': lambda: _dense(
            problem, points, old, full, draws['dense, by the protocol'], small, 1, 1.0
        ),
    }
    ends = {}
    for name in counts:
        there, batch = old.copy(), draws['lazy'][:100]
        if name == 'lazy':
            problem.svrg_steps_(there, old, full, kept, batch, RATE, 1)
        elif name.endswith('protocol'):
            _dense(problem, there, old, full, batch, RATE, 1, 1.0)
        else:
            dense_steps(
                *map(problem.unpack, (there, old, full)),
                table,
                kept,
                batch,
                RATE,
                name.endswith('printed'),
            )
        ends[name] = there
    timings = {
        name: machine.Timing([each / counts[name] for each in timing.seconds])
        for name, timing in machine.race(jobs, ROUNDS).items()
    }
    seconds = {name: timing.seconds for name, timing in timings.items()}
    for name in counts:
        faster = machine.ratio(seconds[name], seconds['lazy'])
        off = np.abs(ends[name] - ends['dense, as printed']).max()
        if name == 'dense, as printed' and n_objects in ASKED:
            machine.asked(f'{n_objects} objects: {name} over lazy', faster, ASKED[n_objects])
        rows.append(
            machine.row(
                method=name,
                task=f'{n_objects} objects, {n_terms} triplets, p=10, STE',
                peer='' if name == 'lazy' else 'dense',
                **timings[name].columns() | dict(seconds=f'{statistics.median(seconds[name]):.3e}'),
                max_difference=f'{off:.1e}',
            )
        )
    return rows, statistics.median(seconds['lazy'])


def main() -> Iterator[dict]:
    flat = {}
    for size in SIZES:
        found, flat[size[0]] = one_size(*size)
        yield from found
    print(
        f'lazy step at {max(flat)} objects: {flat[max(flat)] / flat[min(flat)]:.1f} times that at'
        f' {min(flat)} (flat but for the memory behind the caches)'
    )
