"""Which lists find most for entities that nobody has seen?

A tenth of the left entities of a set is new, in five splits. Where both sides are the same entities
they are new on both. Everything is fitted to the known entities alone, without a row for a new one;
the new ones come by their features, and their pairs with the known right entities are asked, among
which lists are made.

- "auto" is `SimilarityModel(40, cold_start="auto")`, which sees the training part only; `peer` says
  what it chose on the splits.
- "cosine", "neighbors", "regression", "prior" and "popularity" are its parts alone, nothing tuned.
- "prior, width K" is "prior" with K components instead of 40.
- "cosine and neighbors" adds the links of the most similar known entities to the cosine, "towers
  and cosine" the scores of linear towers of width 40 after five Gauss-Newton steps; the settings
  of both (sizes 3 to 20, powers 1, 4, 8 and weights .3, 1, 3; six weights) are those with the best
  NDCG@20 on a split inside the training part. Where both sides differ there is no cosine in them.

Measures are means over the new entities of all splits; `low` and `high` end 95 % intervals of the
difference "auto" less the row, by a bootstrap over these entities. `seconds` are processor seconds
of all fits of the first split, the choice of settings included, kernels compiled; the parts alone
share one fit, and so do the two sums.

Sets: "see also" (words of the docstrings of four packages, tf-idf, 1,500 columns), "Wikipedia
links" (chameleon pages and their words, tf-idf) and "MovieLens-100K" (users and films with the
features of `data.load`; ratings from 4 up), on which the method was made; and "pandas" and
"polars", the links and words of these packages' docstrings, which were looked at when the method
was done, but for the rule that the weight of a prior moves for a clear gain only.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator

import machine
import numpy as np
import scipy.sparse
from similarity_als import difference

from extreme_opt import data
from extreme_opt.similarity.cold import dense_scores, unit_rows
from extreme_opt.similarity.model import SimilarityModel
from extreme_opt.similarity.ranking import measures_by_row, pattern

LONG = True
SETS = ('see also', 'Wikipedia links', 'MovieLens-100K', 'pandas', 'polars')
N_SPLITS = 5
WIDENED, WIDTHS = ('see also', 'Wikipedia links'), (20, 80, 160)
MEASURES = ('recall@20', 'ndcg@20')
WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ALONE = ('cosine', 'prior', 'neighbors', 'regression', 'popularity')


def _tfidf(counts):
    "Rows of length one, rare columns weighted up."
    counts = scipy.sparse.csr_array(counts, dtype=np.float64)
    n, have = counts.shape[0], np.asarray((counts > 0).sum(axis=0)).ravel()
    return unit_rows(counts @ scipy.sparse.diags_array(np.log((1 + n) / (1 + have)) + 1))


def load(name) -> tuple:
    "Pairs and features of both sides."
    if name == 'MovieLens-100K':
        films = data.load('ml-100k')
        return films.observed, films.left_features, films.right_features
    if name == 'Wikipedia links':
        wiki = data.load('wikipedia-links', graph='chameleon')
        place = {name: i for i, name in enumerate(np.asarray(wiki.left_names).tolist())}
        ends = np.array([place[name] for name in np.asarray(wiki.right_names).tolist()])
        links = np.column_stack([wiki.observed[:, 0], ends[wiki.observed[:, 1]]])
        words = _tfidf(wiki.left_features)
    else:
        pages = data.see_also(None if name == 'see also' else [name], max_features=1500)
        links, words = pages.observed, scipy.sparse.csr_array(pages.left_features)
    return links, words, words


def cut(pairs, X, Y, both, seed) -> tuple:
    """The known entities, counted anew: observed pairs and features of both sides; and of the new
    ones features and what is asked."""
    new = np.random.default_rng(seed).random(X.shape[0]) < 0.1
    away = new if both else np.zeros(Y.shape[0], bool)
    left, right = pairs.T
    known, asked = ~new[left] & ~away[right], new[left] & ~away[right]
    i, i_new, j = (np.cumsum(each) - 1 for each in (~new, new, ~away))
    observed = pattern(np.column_stack([i[left[known]], j[right[known]]]), (i[-1] + 1, j[-1] + 1))
    found = np.column_stack([i_new[left[asked]], j[right[asked]]])
    return observed, X[~new], Y[~away], X[new], pattern(found, (i_new[-1] + 1, j[-1] + 1))


def values(scores, asked):
    "Both measures of each new entity; `scores` has a row for each."
    return measures_by_row(lambda part: scores[part], asked, None, MEASURES)[2]


def borrowed(X_new, X, observed, size):
    "Most similar entities with pairs, and their cosines; links weighted by a power of these."
    warm = np.flatnonzero(observed.sum(axis=1))
    near = dense_scores(unit_rows(X_new), unit_rows(X)[warm])
    least = np.partition(near, -size, axis=1)[:, -size, None]
    near = scipy.sparse.csr_array(np.where(near >= least, near, 0))
    return {power: (near.power(power) @ observed[warm]).toarray() for power in (1, 4, 8)}


def sums(observed, X, Y, X_new, both):
    "Scores of the two sums by setting."
    observed = observed.astype(np.float64)
    cosine = dense_scores(unit_rows(X_new), unit_rows(Y)) if both else 0.0
    shares = (0.3, 1.0, 3.0) if both else (1.0,)
    found: dict = {'cosine and neighbors': {}, 'towers and cosine': {}}
    for size in (3, 5, 10, 20):
        votes_of = borrowed(X_new, X, observed, size)
        for (power, votes), weight in itertools.product(votes_of.items(), shares):
            found['cosine and neighbors'][size, power, weight] = cosine + weight * votes
    model = SimilarityModel(40, max_iter=5, tol=None).fit(observed, X, Y)
    towers = model.embed_left(features=X_new) @ model.right_embeddings_.T
    for weight in WEIGHTS[::-1] if both else (1.0,):
        found['towers and cosine'][weight] = weight * cosine + towers
    return found


def split(name, seed) -> dict:
    "Measures of each new entity by each method, what was chosen, and seconds."
    pairs, X, Y = load(name)
    both = X is Y
    observed, X, Y, X_new, asked = cut(pairs, X, Y, both, seed)
    told: dict = {}

    def note(method, scores, mark, peer=''):
        told[method] = dict(
            {key: each.tolist() for key, each in values(scores, asked).items()},
            peer=str(peer),
            seconds=time.process_time() - mark,
        )

    if seed == 0:  # compiles
        SimilarityModel(40, cold_start='auto').fit(observed, X, Y)
    mark = time.process_time()
    model = SimilarityModel(40, cold_start='auto', exclude_self=both).fit(observed, X, Y)
    score = model._query(features=X_new).scorer(slice(None))
    chosen = [row for row in model.cold_start_ if row['chosen'] and row['entities'] == 'cold']
    note('auto', score(np.arange(X_new.shape[0])), mark, chosen[0]['scores'])
    mark = time.process_time()
    alone = ALONE if both else ALONE[2:]
    model = SimilarityModel(40, cold_start=dict.fromkeys(alone, 1.0)).fit(observed, X, Y)
    mixture = model._mixture
    left = mixture.left(features=model._described(0, X_new))[0]
    right = mixture.right(slice(None))
    for method in alone:
        scores = dense_scores(left[method], right[method])
        if method == 'prior':  # its towers, beside the cosine
            scores = scores + dense_scores(left['cosine'], right['cosine'])
        note(method, scores, mark)
    mark = time.process_time()
    *inner, wanted = cut(np.column_stack(observed.nonzero()), X, Y, both, seed + 100)
    trials, final = sums(*inner, both), sums(observed, X, Y, X_new, both)
    for method, found in trials.items():
        by_setting = {
            setting: np.mean(values(scores, wanted)['ndcg@20']) for setting, scores in found.items()
        }
        best = max(by_setting, key=by_setting.get)
        note(method, final[method][best], mark, best)
    return told


def widths(name, seed) -> dict:
    "The prior alone in other widths."
    observed, X, Y, X_new, asked = cut(*load(name), True, seed)
    told = {}
    for k in WIDTHS:
        mark = time.process_time()
        settings = dict(loss='squared', max_iter=5, tol=None)
        model = SimilarityModel(k, prior='cosine', **settings).fit(observed, X, Y)
        seconds = time.process_time() - mark
        scores = model._query(features=X_new).scorer(slice(None))(slice(None))
        found = {key: each.tolist() for key, each in values(scores, asked).items()}
        told[f'prior, width {k}'] = dict(found, peer='', seconds=seconds)
    return told


def main() -> Iterator[dict]:
    warnings.simplefilter('ignore')
    for name in SETS:
        told = [machine.kept(f'{name} {seed}', split, name, seed) for seed in range(N_SPLITS)]
        for seed, one in enumerate(told if name in WIDENED else ()):
            one |= machine.kept(f'{name} {seed} widths', widths, name, seed)
        for method in told[0]:
            row = machine.row(
                method=method,
                task=f'new entities of {name}',
                peer='; '.join(dict.fromkeys(one[method]['peer'] for one in told)),
                peak_mb='',
                seconds=f'{told[0][method]["seconds"]:.3g}',
                n_entities=sum(len(one[method]['ndcg@20']) for one in told),
                how=f'means over the new entities of {N_SPLITS} splits',
            )
            for measure in MEASURES:
                short = measure.split('@')[0]
                mine = np.concatenate([one[method][measure] for one in told])
                auto = np.concatenate([one['auto'][measure] for one in told])
                row[f'{short}_20'] = f'{mine.mean():.4f}'
                if method != 'auto':
                    row |= difference(f'{short}_difference', auto - mine)
            yield row
