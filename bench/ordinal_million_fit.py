"""A million objects and twenty million noiseless triplets through `OrdinalEmbedding.fit`: three
epochs of the default solver of that size, SVRG, with STE, p = 10, one start, one core, one seed.

The answers are those of seed 0 of `ordinal_million`, which has the solver alone. Without the
environment variable FULL=1 everything is twenty times smaller. Reported: processor seconds of `fit`
with all that it checks, error on a million other triplets, most memory of the process.
"""

from __future__ import annotations

import time
import warnings

import machine
import numpy as np
import ordinal_million as million

from extreme_opt.core.streams import stream
from extreme_opt.ordinal import OrdinalEmbedding, triplet_error

LONG = True


def main() -> list[dict]:
    n, terms = million.N_OBJECTS, million.N_TERMS
    points = (stream(0, 'data').normal(size=(n, 10)) / np.sqrt(20)).astype(np.float32)
    rows, rng = np.empty((terms, 3), np.int32), stream(0, 'questions')
    for at in range(0, terms, million.CHUNK):
        size = min(million.CHUNK, terms - at)
        rows[at : at + size] = million.chunk(points, rng, size)
    test = million.chunk(points, rng, 1_000_000 // million.SCALE)
    model = OrdinalEmbedding(10, 'ste', solver='svrg', n_init=1, max_iter=3)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # three epochs are a limit
        model.fit(rows)
    took, error = time.process_time() - began, triplet_error(model.embedding_, test)
    task = f'{n} objects, {terms} triplets, p=10, STE, three epochs'
    print(f'{task}: {took:.0f} processor seconds, error {error:.4f}, {machine.peak_mb():.0f} MB')
    return [
        dict(
            method='OrdinalEmbedding.fit',
            task=task,
            peer='',
            threads=1,
            seconds=f'{took:.1f}',
            test_error=f'{error:.4f}',
            peak_mb=machine.peak_mb(),
            versions=machine.versions(),
            date=machine.today(),
            how='processor seconds of one run',
        )
    ]
