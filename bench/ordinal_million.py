"""A million objects and twenty million noiseless triplets of N(0, I/20), p = 10, five epochs of SVRG on STE, one core.

Triplets are made in chunks of a million, seeded. Without the environment variable FULL=1 everything is twenty times smaller, to fit a minute.
Reported: seconds of one full gradient (loss included), seconds of each epoch, error on a million other triplets after each, most memory of the
process (asked: under 8 GB).

With the environment variable PARTS naming a folder the run keeps its state there after each epoch, and goes on from it when called again.
"""
from __future__ import annotations

import os
from pathlib import Path

import machine
import numpy as np
from ordinal_race import kept

from extreme_opt.core import SVRG, minimize
from extreme_opt.ordinal import STE, Comparisons, triplet_error

SCALE = 1 if os.environ.get('FULL') == '1' else 20
N_OBJECTS, N_TERMS, CHUNK, EPOCHS, ASKED_MB = 1_000_000 // SCALE, 20_000_000 // SCALE, 1_000_000, 5, 8000


def chunk(points: np.ndarray, seed: int, size: int) -> np.ndarray:
    "Answers read off the planted points: (size, 3) int32."
    rng = np.random.default_rng([7, seed])
    i, j, k = (rng.integers(len(points) - less, size=size) for less in range(3))
    j += j >= i
    low, high = np.minimum(i, j), np.maximum(i, j)
    k += k >= low
    k += k >= high
    near, far = (((points[i] - points[other])**2).sum(1) for other in (j, k))
    return np.column_stack([i, np.where(near < far, j, k), np.where(near < far, k, j)]).astype(np.int32)


def main() -> list[dict]:
    points = (np.random.default_rng(0).normal(size=(N_OBJECTS, 10)) / np.sqrt(20)).astype(np.float32)
    rows = np.empty((N_TERMS, 3), np.int32)
    for at in range(0, N_TERMS, CHUNK): rows[at:at + CHUNK] = chunk(points, at, min(CHUNK, N_TERMS - at))
    test = chunk(points, -1 + 2**31, 1_000_000 // SCALE)
    del points
    problem = Comparisons(rows, 10, STE(), N_OBJECTS)
    problem.tiny().loss_and_grad(problem.tiny().start(0))
    begin = problem.start(0)
    begin.flags.writeable = False
    full = kept(f'million {N_OBJECTS} full gradient', lambda: machine.timed(lambda: problem.loss_and_grad(begin)))
    state = Path(os.environ['PARTS'])/f'million {N_OBJECTS}.npz' if os.environ.get('PARTS') else None
    run = minimize(problem, SVRG(), begin, max_steps=EPOCHS, record_on=0, watch={'error': lambda one, x: triplet_error(one.unpack(x), test)},
                   checkpoint=state, resume=state if state and state.exists() else None)
    seconds, errors = np.diff(run.column('seconds'), prepend=0), run.column('error')
    task = f'{N_OBJECTS} objects, {N_TERMS} triplets, p=10, STE'
    print(f'{task}\nfull gradient {full:.1f} s, epochs {" ".join(f"{each:.1f}" for each in seconds)} s, errors {" ".join(f"{each:.3f}" for each in errors)}')
    print(f'most memory {machine.peak_mb():.0f} MB (asked: under {ASKED_MB}) {"met" if machine.peak_mb() < ASKED_MB else "MISSED"}')
    common = dict(task=task, peer='', threads=1, peak_mb=machine.peak_mb(), versions=machine.versions(), date=machine.today())
    return [dict(method='full gradient', seconds=f'{full:.2f}', quality='', **common)] + [
        dict(method=f'epoch {s + 1}', seconds=f'{took:.2f}', quality=f'{error:.4f}', **common) for s, (took, error) in enumerate(zip(seconds, errors, strict=True))]
