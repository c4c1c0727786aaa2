"""What the machine itself can do, and how we time: shared by the measuring scripts.

Limits are measured in the same run as the kernels they are held against, turn by turn, because other work on the machine slows both.
"""
from __future__ import annotations

import datetime
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from importlib import metadata

import numpy as np
from numba import njit


@njit(cache=True)
def _triad(a, b, c):
    for i in range(len(a)): a[i] = b[i] + 3 * c[i]


@njit(cache=True)
def touch_places(table, places):
    "Read, add to and write back the cell of a flat table at each place, in order; nothing else."
    for t in range(len(places)): table[places[t]] += 1


def places_of(indptr: np.ndarray, indices: np.ndarray, sample: np.ndarray, classes: np.ndarray, n_features: int) -> np.ndarray:
    "Flat places of the cells that updates on rows `sample` and classes `classes` (one row of them each) touch, update by update."
    every = [(row_classes[:, None] * np.uint64(n_features) + indices[indptr[i]:indptr[i + 1]].astype(np.uint64)).ravel()
             for i, row_classes in zip(sample, classes.astype(np.uint64), strict=True)]
    return np.concatenate(every)


def stream_seconds(n_bytes: int = 2**27) -> tuple[Callable[[], None], int]:
    "A job that streams three arrays (two in, one out), and the bytes it moves."
    a, b, c = (np.ones(n_bytes // 4 // 3, np.float32) for _ in range(3))
    _triad(a[:4], b[:4], c[:4])
    return lambda: _triad(a, b, c), 3 * a.nbytes


def touch_job(places: np.ndarray, n_cells: int) -> tuple[Callable[[], None], int]:
    "A job that touches these places of a float32 table of n_cells, and the bytes it moves: 4 in and 4 out per place, the cells alone counted."
    table = np.zeros(n_cells, np.float32)
    touch_places(table, places[:4])
    return lambda: touch_places(table, places), len(places) * 8


def random_job(n_places: int, n_cells: int, seed: int = 0) -> tuple[Callable[[], None], int]:
    "The same for places spread evenly over the table."
    return touch_job(np.random.default_rng(seed).integers(n_cells, size=n_places, dtype=np.uint64), n_cells)


def timed(job: Callable[[], object]) -> float:
    mark = time.perf_counter()
    job()
    return time.perf_counter() - mark


def alternate(jobs: dict[str, Callable[[], object]], rounds: int = 9, warm: int = 1) -> dict[str, list[float]]:
    "Seconds of each job, round by round, one after the other, so that all see the same machine."
    for _ in range(warm):
        for job in jobs.values(): job()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items(): seconds[name].append(timed(job))
    return seconds


def ratio(over: list[float], under: list[float]) -> float:
    "Median over rounds of one job's seconds by another's."
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def peak_mb() -> float:
    "Most memory that this process has held, MB."
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == 'darwin' else 2**10), 1)


def versions(*names: str) -> str:
    "Python and package versions in one field."
    found = [f'{name} {metadata.version(name)}' for name in ('numpy', 'scipy', 'numba', *names)]
    return '; '.join([f'python {platform.python_version()}', *found])


def today() -> str: return datetime.date.today().isoformat()
