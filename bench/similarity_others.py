"""More ways to lists from ids: RP3beta, BPR and logistic matrix factorization beside the default
model; recall@20 and NDCG@20 on held-out pairs, and seconds.

Needs EXTREME_OPT_DATA with ml-100k and wikipedia-links.
Splits, validation pairs, the choice of settings and the intervals are those of
similarity_neighbors: each method chose by recall@20 on a tenth of the training pairs and was fitted
to all of them again.

- "SimilarityModel, default": alternating least squares of rank 40, one setting.
- "RP3beta": `RP3beta` of this package, 30 pairs of its powers.
- "BPR", "logistic factors": those of the library implicit, 40 factors, 100 and 30 iterations, 30
  and 24 learning rates and regularizations. Without implicit at hand there are no rows for them.

`recall_difference` and `ndcg_difference` are a method's mean minus that of the default, user by
user; `low` and `high` end 95 % intervals over users (bootstrap). `seconds` are processor seconds of
the second of two fits with the chosen setting, on one thread.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import machine
import numpy as np
import scipy.sparse
import similarity_neighbors as beside
from similarity_als import ours

from extreme_opt.similarity.neighbors import RP3beta

LONG = True
SETS = ('MovieLens-100K', 'Wikipedia links')
BASE = 'SimilarityModel, default'
WALKS_GRID = (0.4, 0.7, 1.0, 1.4, 2.0, 2.8), (0.0, 0.2, 0.4, 0.6, 0.8)
BPR_GRID = (0.003, 0.01, 0.03, 0.1, 0.3), (1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1)
LOGISTIC_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), (0.1, 1.0, 3.0, 10.0)


def walks(train, alpha, beta):
    "Scores of RP3beta."
    fitted = RP3beta(alpha=alpha, beta=beta, values='weights').fit(train)
    return lambda rows: (fitted.observed_[rows] @ fitted.item_weights_).toarray()


def drawn(kind, ModelFitError, **settings):
    "Scores and seconds of a model of implicit that draws its pairs."

    def make(train):
        model = kind(num_threads=1, random_state=0, factors=40, **settings)
        matrix, mark = scipy.sparse.csr_matrix(train, dtype=np.float32), time.process_time()
        try:
            model.fit(matrix, show_progress=False)
        except ModelFitError:  # the factors overflowed at this rate
            return lambda rows: np.zeros((len(rows), train.shape[1])), np.nan
        took = time.process_time() - mark
        P, Q = np.asarray(model.user_factors), np.asarray(model.item_factors)
        return lambda rows: P[rows] @ Q.T, took

    return make


def methods() -> dict:
    "The settings of each method, by name, and what they make of a table."
    found = {
        BASE: {name: beside.factors(fit) for name, fit in [ours()]},
        'RP3beta': {
            f'alpha {alpha:g}, beta {beta:g}': beside.clocked(walks, alpha, beta)
            for alpha, beta in itertools.product(*WALKS_GRID)
        },
    }
    at = machine.peer_at('main')
    if at:
        sys.path += [str(each) for each in Path(at).parent.parent.glob('lib/python*/site-packages')]
    try:
        from implicit.bpr import BayesianPersonalizedRanking
        from implicit.lmf import LogisticMatrixFactorization
        from implicit.recommender_base import ModelFitError
    except ImportError:
        return found
    for name, kind, n, grid in (
        ('BPR', BayesianPersonalizedRanking, 100, BPR_GRID),
        ('logistic factors', LogisticMatrixFactorization, 30, LOGISTIC_GRID),
    ):
        found[name] = {
            f'learning rate {rate:g}, regularization {penalty:g}': drawn(
                kind, ModelFitError, learning_rate=rate, regularization=penalty, iterations=n
            )
            for rate, penalty in itertools.product(*grid)
        }
    return found


beside.methods = methods  # its choice of a setting and its last fit, with these methods
final = beside.final


def main() -> list[dict]:
    return beside.race(SETS, BASE, __file__)
