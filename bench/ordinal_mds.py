"""Non-metric MDS of scikit-learn beside the ordinal embedding where a full table of distances is at
hand: the roads between 21 cities, a map in the plane.

Both programs get the order of the distances and no kilometer, but not the same part of it:

- "triplets": the answers to all questions with an anchor, which of two cities is nearer to a third.
- "pairs of pairs": which of two distances is the shorter, of all 210 with each other. Non-metric
  MDS sees as much, by the ranks of the distances.
- "kilometers": the distances themselves, as metric MDS and classical scaling get them.

Every method keeps the best of as many random starts as `n_starts` says by its own criterion (loss
or stress) and does so for ten seeds; numbers are medians over the seeds with the lowest and the
highest. "classical start" is what the next release of scikit-learn makes the default: one fit, from
classical scaling of the kilometers, of which the steps after it see the ranks alone. Iterations and
tolerance of MDS are 3,000 and 1e-9; its defaults, 300 and 1e-6, are in a row of their own.

`error` is the share of all triplets that a map gets wrong, which "triplets" was fitted to and
non-metric MDS was not; `pair_error` that of all pairs of pairs, where it is the other way round;
`disparity` what a Procrustes transform onto geography (longitude and latitude, laid out flat)
leaves of the variance. `triplets_met` and `pairs_met` are one less the errors. `seconds` are
processor seconds of one fit with all its starts.
"""

from __future__ import annotations

import time
import warnings

import machine
import numpy as np
from sklearn.manifold import MDS, ClassicalMDS

from extreme_opt import data
from extreme_opt.ordinal import OrdinalEmbedding, triplet_error
from extreme_opt.ordinal.embedding import procrustes

N_STARTS, SEEDS = 10, range(10)
LONGITUDE = (23.7, 2.2, 4.4, 1.9, -1.6, 7.0, 12.6, 6.1, -5.4, 10.0, 4.1)
LONGITUDE += (-9.1, 4.8, -3.7, 5.4, 9.2, 11.6, 2.4, 12.5, 18.1, 16.4)
LATITUDE = (38.0, 41.4, 50.9, 51.0, 49.6, 50.9, 55.7, 46.2, 36.1, 53.6, 52.0)
LATITUDE += (38.7, 45.8, 40.4, 43.3, 45.5, 48.1, 48.9, 41.9, 59.3, 48.2)


def pairs_of_pairs(distances) -> np.ndarray:
    "Rows (i, j, k, l) for all two distances d_ij < d_kl, ties left out."
    one, other = np.triu_indices(len(distances), 1)
    by_length = np.argsort(distances[one, other], kind='stable')
    one, other = one[by_length], other[by_length]
    near, far = np.triu_indices(len(one), 1)
    rows = np.column_stack([one[near], other[near], one[far], other[far]])
    return rows[distances[rows[:, 0], rows[:, 1]] < distances[rows[:, 2], rows[:, 3]]]


def mds(metric_mds, **settings):
    def fit(distances, seed):
        model = MDS(2, metric_mds=metric_mds, metric='precomputed', random_state=seed, **settings)
        return model.fit_transform(distances)

    return fit


def embedding(rows, loss):
    def fit(distances, seed):
        return OrdinalEmbedding(2, loss, n_init=N_STARTS, random_state=seed).fit(rows).embedding_

    return fit


def main() -> list[dict]:
    distances, _ = data.eurodist()
    triplets, quadruples = data.triplets_from_distances(distances), pairs_of_pairs(distances)
    geography = np.column_stack([np.multiply(LONGITUDE, np.cos(np.radians(47))), LATITUDE])
    far, many = dict(max_iter=3000, eps=1e-9), dict(n_init=N_STARTS, init='random')
    once = dict(n_init=1, init='classical_mds')
    fits = {
        **{
            (f'OrdinalEmbedding, {loss}', what): (embedding(rows, loss), N_STARTS)
            for loss in ('soe', 'ste')
            for what, rows in (('triplets', triplets), ('pairs of pairs', quadruples))
        },
        ('non-metric MDS', 'pairs of pairs'): (mds(False, **many, **far), N_STARTS),
        ('non-metric MDS, default tolerance', 'pairs of pairs'): (mds(False, **many), N_STARTS),
        ('non-metric MDS, classical start', 'pairs of pairs'): (mds(False, **once, **far), 1),
        ('metric MDS', 'kilometers'): (mds(True, **many, **far), N_STARTS),
        ('classical scaling', 'kilometers'): (
            lambda distances, seed: ClassicalMDS(2, metric='precomputed').fit_transform(distances),
            1,
        ),
    }
    rows = []
    for (method, what), (fit, n_starts) in fits.items():
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            fit(distances, 0)
            found = dict(error=[], pair_error=[], disparity=[], seconds=[])
            for seed in SEEDS if n_starts > 1 else (0,):
                mark = time.process_time()
                points = fit(distances, seed)
                found['seconds'].append(time.process_time() - mark)
                found['error'].append(triplet_error(points, triplets))
                found['pair_error'].append(triplet_error(points, quadruples))
                found['disparity'].append(procrustes(points, geography)[1])
        row = machine.row(
            method=method,
            task='21 cities, roads',
            peer=what,
            seconds=f'{np.median(found.pop("seconds")):.4g}',
            how='processor seconds of one fit with all starts, median over seeds',
            n_starts=n_starts,
        )
        for name, values in found.items():
            row[name] = f'{np.median(values):.4f}'
            row |= {f'{name}_low': f'{min(values):.4f}', f'{name}_high': f'{max(values):.4f}'}
        for name, error in (('triplets_met', 'error'), ('pairs_met', 'pair_error')):
            row[name] = f'{1 - np.median(found[error]):.4f}'
        rows.append(row)
    return rows
