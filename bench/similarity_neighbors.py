"""Item neighbors and EASE beside the default model on ids: recall@20 and NDCG@20 on held-out pairs,
seconds and memory.

Needs EXTREME_OPT_DATA with ml-100k, ml-1m and wikipedia-links; sets that are not there are left
out. Splits and validation pairs are those of similarity_als: each tuned method chose among 25
settings by recall@20 on a tenth of the training pairs and was fitted to all of them again.

- "SimilarityModel": alternating least squares of rank 40 on ids. "default" has one setting, "tuned"
  the best of 25 multiples of ridge and unobserved weight, "rank" the best of the ranks 20, 40, 80
  and 160, all else default: four settings, as the other methods have no rank to be held to.
- "item neighbors": `item_neighbors`, cosines between the columns of the table without shrinkage; 25
  numbers of neighbors from 2 to 2,000.
- "EASE": each item's column regressed on those of all others, in closed form (H. Steck,
  "Embarrassingly shallow autoencoders for sparse data", WWW 2019, Algorithm 1); 25 ridges from 0.1
  to 10,000, which is the only setting that it has. Its inverse is LAPACK's for positive definite
  matrices.
- "popularity": the number of training pairs; one setting.

Training pairs are masked. `recall_difference` and `ndcg_difference` are a method's mean minus that
of "SimilarityModel, tuned", user by user; `low` and `high` end 95 % intervals over users
(bootstrap). `seconds` are processor seconds of the second of two fits with the chosen setting, on
one thread; `list_seconds` those of the lists of 20 for all users with held-out pairs. `peak_mb` is
that of the process that makes these fits and lists, data and libraries included. The model and EASE
have float32 matrices, `item_neighbors` float64. A trial and a final fit are each kept under
build/bench as soon as they have ended.

`similarity_others`: more ways to lists from ids: RP3beta, BPR and logistic matrix factorization
beside the default model.

Needs EXTREME_OPT_DATA with ml-100k and wikipedia-links.
Splits, validation pairs, the choice of settings and the intervals are those above.

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
import time
import warnings
from collections.abc import Iterator

import machine
import numpy as np
import scipy.linalg
import scipy.sparse
from similarity_als import TIMES, difference, ends, ours
from similarity_reproduce import SETS, sets
from sklearn.exceptions import ConvergenceWarning

from extreme_opt.similarity.model import SimilarityModel
from extreme_opt.similarity.neighbors import RP3beta
from extreme_opt.similarity.ranking import (
    item_neighbors,
    measures_by_row,
    pattern,
    popularity,
    top_k,
)

LONG = True
NEIGHBORS = np.geomspace(2, 2000, 25).round().astype(int).tolist()
RANKS = (20, 40, 80, 160)
RIDGES = np.geomspace(0.1, 10_000, 25).tolist()
DEFAULT, BASE = 'SimilarityModel, default', 'SimilarityModel, tuned'
WALKS_GRID = (0.4, 0.7, 1.0, 1.4, 2.0, 2.8), (0.0, 0.2, 0.4, 0.6, 0.8)
BPR_GRID = (0.003, 0.01, 0.03, 0.1, 0.3), (1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1)
LOGISTIC_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), (0.1, 1.0, 3.0, 10.0)
MEASURES = ('recall@20', 'ndcg@20')


def ease(train, ridge):
    "Scores of EASE."
    X = scipy.sparse.csr_array(train, dtype=np.float32)
    gram = (X.T @ X).toarray()
    np.fill_diagonal(gram, gram.diagonal() + np.float32(ridge))
    P = scipy.linalg.inv(gram, overwrite_a=True, check_finite=False, assume_a='pos')
    P /= -P.diagonal()
    np.fill_diagonal(P, 0)
    return lambda rows: X[rows] @ P


def of_rank(rank):
    "Two factors of a rank, and the processor seconds of the fit."

    def fit(train):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', ConvergenceWarning)
            mark = time.process_time()
            model = SimilarityModel(rank).fit(train)
        took = time.process_time() - mark
        return model.left_embeddings_, model.right_embeddings_, took

    return fit


def factors(fit):
    "Scores and seconds of a fit that makes two factors."

    def make(train):
        P, Q, seconds = fit(train)
        return lambda rows: P[rows] @ Q.T, seconds

    return make


def clocked(build, *settings):
    "Scores and seconds of a function of the table."

    def make(train):
        mark = time.process_time()
        score = build(train, *settings)
        return score, time.process_time() - mark

    return make


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


def methods(others: bool) -> dict:
    "The settings of each method, by name, and what they make of a table."
    if others:
        return more_methods()
    tuned = [ours(unobserved_weight=weight, ridge=ridge) for weight in TIMES for ridge in TIMES]
    return {
        DEFAULT: {name: factors(fit) for name, fit in [ours()]},
        BASE: {name: factors(fit) for name, fit in tuned},
        'SimilarityModel, rank': {f'rank {rank}': factors(of_rank(rank)) for rank in RANKS},
        'item neighbors': {f'{n} neighbors': clocked(item_neighbors, n) for n in NEIGHBORS},
        'EASE': {f'ridge {ridge:.3g}': clocked(ease, ridge) for ridge in RIDGES},
        'popularity': {'': clocked(popularity)},
    }


def more_methods() -> dict:
    "The same of methods that draw or walk."
    found = {
        DEFAULT: {name: factors(fit) for name, fit in [ours()]},
        'RP3beta': {
            f'alpha {alpha:g}, beta {beta:g}': clocked(walks, alpha, beta)
            for alpha, beta in itertools.product(*WALKS_GRID)
        },
    }
    machine.lend_peers()
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


def chosen(title, method, train, others) -> str:
    "The setting with the best recall@20 on a tenth of the training pairs."
    trials = methods(others)[method]
    if len(trials) == 1:
        return next(iter(trials))
    pairs = np.column_stack(train.nonzero())
    cut = np.random.default_rng(0).random(len(pairs)) < 0.1
    rest, valid = pattern(pairs[~cut], train.shape), pattern(pairs[cut], train.shape)

    def recall(make):
        score, _ = make(rest)
        return float(measures_by_row(score, valid, rest, MEASURES[:1])[2]['recall@20'].mean())

    scores = {
        name: machine.kept(f'{title} {method} {name}', recall, make)
        for name, make in trials.items()
    }
    best = max(scores, key=scores.get)
    print(
        f'  {title}: {method}: {best}: validation {scores[best]:.4f}'
        + ', at the end of the grid' * (best in (list(trials)[0], list(trials)[-1])),
        flush=True,
    )
    return best


def final(title, method, name, others) -> dict:
    "Both measures of each user, and seconds, after a fit to all training pairs."
    train, test = sets((title,))[title]
    make = methods(others)[method][name]
    make(train)
    score, seconds = make(train)
    rows, _, found = measures_by_row(score, test, train, MEASURES)
    mark = time.process_time()
    top_k(score, rows, test.shape[1], 20, train)
    return dict(
        seconds=seconds,
        list_seconds=time.process_time() - mark,
        **{name: values.tolist() for name, values in found.items()},
    )


def race(titles, base, others=False) -> Iterator[dict]:
    "Rows of all methods on the sets; differences are to the method `base`."
    for title, (train, _) in sets(titles).items():
        ended = {}
        for method, trials in methods(others).items():
            name = chosen(title, method, train, others)
            args = machine.fresh, __file__, 'final', title, method, name, others
            ended[method] = machine.kept(f'{title} {method}', *args)
            ended[method]['peer'] = name + f', best of {len(trials)}' * (len(trials) > 1)
        for method, told in ended.items():
            row = machine.row(
                method=method,
                task=f'{title}: {train.shape[0]} x {train.shape[1]}',
                peer=told['peer'],
                seconds=f'{told["seconds"]:.3g}',
                list_seconds=f'{told["list_seconds"]:.3g}',
                how='processor seconds of one fit, the second of two',
                peak_mb=round(told['peak_mb'], 1),
            )
            for measure in MEASURES:
                short, values = measure.split('@')[0], np.array(told[measure])
                row[f'{short}_20'] = f'{values.mean():.4f}'
                row |= ends(short, values)
                if method != base:
                    more = values - np.array(ended[base][measure])
                    row |= difference(f'{short}_difference', more)
            yield row


def main() -> Iterator[dict]:
    return race(tuple(SETS), BASE)


def similarity_others() -> Iterator[dict]:
    return race(('MovieLens-100K', 'Wikipedia links'), DEFAULT, others=True)
