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
def touch_cells(weights, indptr, indices, values, sample, classes):
    "Read, add to and write back every cell that (row, class) pairs name, in their order; compute nothing else."
    for t in range(len(sample)):
        for j in range(classes.shape[1]):
            k = classes[t, j]
            for p in range(indptr[sample[t]], indptr[sample[t] + 1]): weights[k, indices[p]] += values[p]


@njit(cache=True)
def _touch_random(table, places):
    for t in range(len(places)): table[places[t]] += 1


def touched_bytes(indptr: np.ndarray, sample: np.ndarray, n_classes_each: int, item: int) -> int:
    "Bytes that `touch_cells` moves: each cell once in and once out, only the cells themselves counted."
    return int((indptr[sample + 1] - indptr[sample]).sum()) * n_classes_each * item * 2


def stream_seconds(n_bytes: int = 2**27) -> tuple[Callable[[], None], int]:
    "A job that streams three arrays (two in, one out), and the bytes it moves."
    a, b, c = (np.ones(n_bytes // 4 // 3, np.float32) for _ in range(3))
    _triad(a[:4], b[:4], c[:4])
    return lambda: _triad(a, b, c), 3 * a.nbytes


def random_cells(n_bytes: int, n_cells: int = 2_000_000, seed: int = 0) -> tuple[Callable[[], None], int]:
    "A job that adds to float32 cells at random places of a table, and the bytes it moves (in and out, cells only)."
    table = np.zeros(n_bytes // 4, np.float32)
    places = np.random.default_rng(seed).integers(len(table), size=n_cells)
    _touch_random(table, places[:4])
    return lambda: _touch_random(table, places), n_cells * 8


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
