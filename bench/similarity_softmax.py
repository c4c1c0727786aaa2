"""A softmax over the catalog beside all pairs, on the same linear towers on ids, tuned alike:
recall@20, NDCG@20 and seconds.

Needs EXTREME_OPT_DATA with ml-100k and wikipedia-links; sets that are not there are left out.
Training pairs are masked. All methods have rank 40, float32 and one thread, and choose among 12
settings by NDCG@20 on a tenth of the training pairs:

- "all pairs": `SimilarityModel(40)` with 12 multiples of its ridge and of its unobserved weight;
- "softmax": the exact loss of `CatalogSoftmax` by L-BFGS, six ridges with and without biases of the
  items, each stopped at the best of 15, 30,
  60 and 100 iterations on the same tenth;
- "all pairs, default" and "softmax, default" have nothing tuned: `SimilarityModel(40)` and
  `SimilarityModel(40, loss="softmax")`.

`difference` is the mean difference to "all pairs" in NDCG@20, user by user, with its 95 % interval
(bootstrap). `seconds` are processor seconds of one fit with the chosen setting. Each fit is kept
under build/bench as soon as it has ended.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import machine
import numpy as np
from similarity_als import difference
from similarity_reproduce import sets
from sklearn.exceptions import ConvergenceWarning

from extreme_opt.core import LBFGS, iterate
from extreme_opt.similarity import CatalogSoftmax, Linear, SimilarityModel
from extreme_opt.similarity.ranking import measures_by_row, pattern

LONG = True
RANK, STOPS = 40, (15, 30, 60, 100)
MEASURES = ('recall@20', 'ndcg@20')
PAIRS = [(ridge, weight) for ridge in (0.25, 0.5, 1.0, 2.0) for weight in (0.25, 1.0, 4.0)]
SOFTMAX = [
    (ridge, biases) for ridge in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0) for biases in (False, True)
]


def judged(P, Q, test, seen) -> dict:
    "Recall and NDCG of every user with held-out pairs."
    rows, _, values = measures_by_row(lambda at: P[at] @ Q.T, test, seen, MEASURES)
    return {name: values[name].tolist() for name in MEASURES}


def all_pairs(train, setting, stop=None):
    "Embeddings after each stop (one), and the processor seconds of the fit."
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)
        rule = SimilarityModel(RANK, max_iter=1).fit(train)
        ridge, weight = setting or (1.0, 1.0)
        given = dict(ridge=ridge * rule.ridge_, unobserved_weight=weight * rule.unobserved_weight_)
        mark = time.process_time()
        model = SimilarityModel(RANK, **(given if setting else {})).fit(train)
    took = time.process_time() - mark
    yield 0, model.left_embeddings_, model.right_embeddings_, took


def softmax(train, setting, stop=STOPS[-1]):
    "Embeddings at each stop, and the processor seconds so far."
    ridge, biases = setting
    m, n = train.shape
    problem = CatalogSoftmax(
        np.column_stack(train.nonzero()),
        n_components=RANK,
        left=Linear(),
        right=Linear(),
        ridge=ridge,
        biases=biases,
        n_left=m,
        n_right=n,
        dtype=np.float32,
    )
    took, mark = 0.0, time.process_time()
    for state in iterate(problem, LBFGS(), problem.init_params(0)):
        done = state.n_iter
        if done in STOPS and done <= stop:
            took += time.process_time() - mark
            yield done, problem.embed(0, state.params), problem.embed(1, state.params), took
            mark = time.process_time()
        if done >= stop:
            return


def softmax_default(train, setting, stop=None):
    "Embeddings of the model with this loss (one), and the processor seconds of the fit."
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)
        mark = time.process_time()
        model = SimilarityModel(RANK, loss='softmax').fit(train)
    took = time.process_time() - mark
    yield 0, model.left_embeddings_, model.right_embeddings_, took


def tuned(title, method, fit, settings, train, test) -> dict:
    """Measures on held-out pairs of the setting and the stop with the best NDCG@20 on validation
    pairs."""
    pairs = np.column_stack(train.nonzero())
    cut = np.random.default_rng(0).random(len(pairs)) < 0.1
    rest, valid = pattern(pairs[~cut], train.shape), pattern(pairs[cut], train.shape)

    def scores(setting):
        return [
            (float(np.mean(judged(P, Q, valid, rest)['ndcg@20'])), done)
            for done, P, Q, _ in fit(rest, setting)
        ]

    best, chosen, stop = -1.0, settings[0], None
    for setting in settings if len(settings) > 1 else []:
        found = machine.kept(f'{title} {method} {setting}', scores, setting)
        print(f'  {title}: {method} {setting}: {found}', flush=True)
        value, done = max(found)
        if value > best:
            best, chosen, stop = value, setting, done
    _, P, Q, seconds = list(fit(train, chosen, stop or STOPS[-1]))[-1]
    names = ('ridge', 'biases') if fit is softmax else ('ridge times', 'weight times')
    told = ', '.join(f'{name} {value}' for name, value in zip(names, chosen or ()))
    told += f', {stop} iterations' if stop else ''
    return judged(P, Q, test, train) | dict(seconds=seconds, told=told)


def main() -> Iterator[dict]:
    methods = {
        'all pairs': (all_pairs, PAIRS),
        'all pairs, default': (all_pairs, [None]),
        'softmax': (softmax, SOFTMAX),
        'softmax, default': (softmax_default, [None]),
    }
    for title, (train, test) in sets(('MovieLens-100K', 'Wikipedia links')).items():
        ended = {
            method: machine.kept(f'{title} {method}', tuned, title, method, *how, train, test)
            for method, how in methods.items()
        }
        for method, told in ended.items():
            row = machine.row(
                method=method,
                task=f'softmax {title}',
                peer=told['told'],
                seconds=f'{told["seconds"]:.3g}',
                how='processor seconds of one fit',
            )
            for name in MEASURES:
                row[name.replace('@', '_')] = f'{np.mean(told[name]):.4f}'
            if method != 'all pairs':
                gap = np.array(told['ndcg@20']) - np.array(ended['all pairs']['ndcg@20'])
                row |= difference('difference', gap)
            yield row
