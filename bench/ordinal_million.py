"""A million objects and twenty million noiseless triplets of N(0, I/20), p = 10, five epochs of
SVRG on STE, one core, five seeds.

Points, triplets and starts come from streams of their own; the row "start" holds the error before
the first step, which is that of guessing. Triplets are made in chunks of a million. Without the
environment variable FULL=1 everything is twenty times smaller, to fit a minute. Reported: seconds
of one full gradient (loss included), seconds of each epoch (medians over seeds), error on a million
other triplets after each (mean and half the width of its 95 % interval over the seeds), most memory
of the process.

With the environment variable PARTS naming a folder each seed's numbers are kept there when it is
done, and not made again.
"""

from __future__ import annotations

import os

import machine
import numpy as np
from ordinal_race import T95

from extreme_opt.core import SVRG, minimize
from extreme_opt.core.streams import stream
from extreme_opt.ordinal import STE, Comparisons, triplet_error

SCALE = 1 if os.environ.get('FULL') == '1' else 20
N_OBJECTS = 1_000_000 // SCALE
N_TERMS = 20_000_000 // SCALE
CHUNK = 1_000_000
EPOCHS = 5
SEEDS = 5


def chunk(points: np.ndarray, rng: np.random.Generator, size: int) -> np.ndarray:
    "Answers read off the planted points: (size, 3) int32."
    i, j, k = (rng.integers(len(points) - less, size=size) for less in range(3))
    j += j >= i
    low, high = np.minimum(i, j), np.maximum(i, j)
    k += k >= low
    k += k >= high
    near, far = (((points[i] - points[other]) ** 2).sum(1) for other in (j, k))
    return np.column_stack([i, np.where(near < far, j, k), np.where(near < far, k, j)]).astype(
        np.int32
    )


def one(seed: int) -> dict:
    """Seconds of a full gradient, seconds of each epoch, errors at the start and after each epoch,
    most memory."""
    points = (stream(seed, 'data').normal(size=(N_OBJECTS, 10)) / np.sqrt(20)).astype(np.float32)
    rows, rng = np.empty((N_TERMS, 3), np.int32), stream(seed, 'questions')
    for at in range(0, N_TERMS, CHUNK):
        rows[at : at + CHUNK] = chunk(points, rng, min(CHUNK, N_TERMS - at))
    test = chunk(points, rng, 1_000_000 // SCALE)
    del points
    problem = Comparisons(rows, 10, STE(), N_OBJECTS)
    problem.warmup_problem().loss_and_grad(problem.warmup_problem().init_params(0))
    begin = problem.init_params(seed)
    begin.flags.writeable = False
    full = machine.timed(lambda: problem.loss_and_grad(begin))
    look = {'error': lambda one, x: triplet_error(one.unpack(x), test)}
    run = minimize(problem, SVRG(), begin, seed=seed, max_iter=EPOCHS, loss_subset=0, metrics=look)
    return dict(
        full=full,
        seconds=np.diff(run.column('seconds'), prepend=0).tolist(),
        errors=[look['error'](problem, begin), *run.column('error').tolist()],
        peak_mb=machine.peak_mb(),
    )


def main() -> list[dict]:
    found = [machine.kept(f'million {N_OBJECTS} {seed}', one, seed) for seed in range(SEEDS)]
    seconds = np.median([each['seconds'] for each in found], axis=0)
    errors = np.array([each['errors'] for each in found])
    full = float(np.median([each['full'] for each in found]))
    half = T95 * errors.std(0, ddof=1) / np.sqrt(SEEDS)
    peak = max(each['peak_mb'] for each in found)
    task = f'{N_OBJECTS} objects, {N_TERMS} triplets, p=10, STE'
    errors_of = [
        dict(test_error=f'{mean:.4f}', half_width=f'{wide:.4f}')
        for mean, wide in zip(errors.mean(0), half, strict=True)
    ]
    common = dict(peak_mb=peak, how=f'median of {SEEDS} seeds, 1 thread')
    rows = [
        machine.row('full gradient', task, f'{full:.2f}', **common),
        machine.row('start', task, **errors_of[0], **common),
    ]
    for s, (took, error) in enumerate(zip(seconds, errors_of[1:], strict=True), 1):
        rows.append(machine.row(f'epoch {s}', task, f'{took:.2f}', **error, **common))
    return rows
