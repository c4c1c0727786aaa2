"""Do lists of known entities gain where held-out pairs choose the ridge and the weight of
unobserved pairs? The default model on ids, the same with both searched, `implicit` and EASE.

Needs EXTREME_OPT_DATA; sets that are not there are left out. The five sets of similarity_als, and
"tags": the labels of the documents of bibtex, one side far larger than the other, a fifth of the
pairs held out. Training pairs are masked. Factors have rank 40, unless a row says otherwise, and
float32.

- "SimilarityModel, default": nothing set. On "tags" that is a search, and "SimilarityModel, rule"
  is what it starts from.
- "SimilarityModel, width K": nothing set but the number of components; 64 is what the class has.
- "SimilarityModel, search": ridge="search", unobserved_weight="search", metric="recall@20".
- "implicit, tuned": the setting that similarity_als.csv names, the best of 30 by recall@20 on a
  tenth of the training pairs; on "tags" chosen here in the same way.
- "LensKit, rank 40": `ImplicitMFScorer(embedding_size=40, epochs=15)` of LensKit, alternating least
  squares with its other settings; it runs in the interpreter of bench/peers/lists.txt and is left
  out where that is not there.
- "EASE": `EASE()`, its ridge chosen on a tenth of the training pairs.

`recall_difference` and `ndcg_difference` are a row less "implicit, tuned", `recall_less_ease` and
`ndcg_less_ease` less "EASE", user by user, with 95 % intervals over users (bootstrap). `seconds`
are processor seconds of the second of two fits, on one thread; of ours and of EASE with the search,
of `implicit` with the setting chosen.

`similarity_index`: lists of twenty from an approximate index, against exact lists: seconds for a
thousand lists, and the share of the exact list that is found.

Embeddings of 40 components: those of a model fitted to the links between functions (small, where
exact lists win), and 20,000 and 200,000 entities in clusters of uneven size and length, as fitted
embeddings are. Needs the extra `ann`. One thread.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import machine
import numpy as np
from similarity_als import (
    ALPHA,
    ITERATIONS,
    PEER,
    RANK,
    REGULARIZATION,
    difference,
    implicit_trials,
    recalls,
)
from similarity_als import sets as five_sets

from extreme_opt import data
from extreme_opt.similarity.model import SimilarityModel
from extreme_opt.similarity.neighbors import EASE
from extreme_opt.similarity.ranking import measures_by_row, pattern, top_k

LONG = ('similarity_search',)
LENSKIT = """
import sys, time
import numpy as np, pandas as pd
from lenskit.als import ImplicitMFScorer
from lenskit.data import from_interactions_df

given = np.load(sys.argv[1])
table = pd.DataFrame({'user_id': given['pairs'][:, 0], 'item_id': given['pairs'][:, 1]})
table = from_interactions_df(table)
for _ in range(2):
    mark = time.process_time()
    model = ImplicitMFScorer(embedding_size=int(given['rank']), epochs=int(given['epochs']))
    model.train(table)
    seconds = time.process_time() - mark
sides = (model.users, model.user_embeddings), (model.items, model.item_embeddings)
rows = [np.zeros((n, int(given['rank']))) for n in given['shape']]
for out, (ids, found) in zip(rows, sides):
    out[np.asarray(ids.ids())] = np.asarray(found)
np.savez(sys.argv[1], P=rows[0], Q=rows[1], seconds=seconds)
"""
MEASURES = ('recall@20', 'ndcg@20')
WIDTHS = (64, 128)
SEARCH = dict(ridge='search', unobserved_weight='search', metric='recall@20')


def cut(pairs, part, shape):
    "Training and held-out pairs."
    out = np.random.default_rng(0).random(len(pairs)) < part
    return pattern(pairs[~out], shape), pattern(pairs[out], shape)


def sets() -> dict:
    "Training and held-out pairs."
    found = five_sets()
    if len(found) > 1:
        rows = data.load('bibtex', first_label=False)  # one for each label of a document
        ends = zip(rows.features.indptr[:-1], rows.features.indptr[1:])
        words = [rows.features.indices[start:end].tobytes() for start, end in ends]
        document = np.cumsum([True] + [one != last for last, one in zip(words, words[1:])]) - 1
        shape = document[-1] + 1, len(rows.class_names)
        found['tags'] = cut(np.column_stack([document, rows.labels]), 0.2, shape)
    return found


def rule_of(searched):
    "The settings that a search started from, for all pairs."
    first, chosen = searched.search_[0], next(row for row in searched.search_ if row['chosen'])
    return {
        name: getattr(searched, f'{name}_') * first[name] / chosen[name]
        for name in ('ridge', 'unobserved_weight')
    }


def rival(train, title):
    "The fit of implicit with its best setting, or None."
    trials = dict(zip([(r, a) for r in REGULARIZATION for a in ALPHA], implicit_trials()))
    if not trials:
        return None, ''
    with open(Path(__file__).parents[1] / 'docs/results/similarity_als.csv', newline='') as file:
        for row in csv.DictReader(file):
            if (row['task'], row['method']) == (f'als {title}', PEER):
                best = tuple(float(each) for each in re.findall(r' ([\d.e+]+)', row['peer'])[:2])
                return trials[best][1], row['peer']
    rest, valid = cut(np.column_stack(train.nonzero()), 0.1, train.shape)
    best = max(trials, key=lambda one: recalls(*trials[one][1](rest)[:2], valid, rest).mean())
    return trials[best][1], trials[best][0] + f', best of {len(trials)}'


def lenskit(python, train):
    "Factors of LensKit's alternating least squares, and its seconds."
    with tempfile.TemporaryDirectory() as folder:
        at, pairs = Path(folder) / 'given.npz', np.column_stack(train.nonzero())
        np.savez(at, pairs=pairs, shape=train.shape, rank=RANK, epochs=ITERATIONS)
        subprocess.run([python, '-c', LENSKIT, str(at)], check=True, env=machine.pinned())
        found = np.load(at)
        return found['P'], found['Q'], float(found['seconds'])


def beside(train, test) -> dict:
    "Measures of each user of LensKit, or nothing."
    python = machine.peer_python('lists')
    if not python:
        return {}
    P, Q, seconds = lenskit(python, train)
    values = measures_by_row(lambda rows: P[rows] @ Q.T, test, train, MEASURES)[2]
    found = {name: each.tolist() for name, each in values.items()}
    return {'LensKit, rank 40': found | dict(seconds=seconds, peer='rank 40 and 15 epochs')}


def wider(train, test) -> dict:
    "Measures of each user of the default model in other widths."
    told = {}
    for k in WIDTHS:
        for _ in range(2):
            mark = time.process_time()
            model = SimilarityModel(k).fit(train)
            seconds = time.process_time() - mark
        values = measures_by_row(model._query().scorer(slice(None)), test, train, MEASURES)[2]
        found = {name: each.tolist() for name, each in values.items()}
        told[f'SimilarityModel, width {k}'] = found | dict(seconds=seconds, peer='')
    return told


def measured(title, train, test) -> dict:
    "Measures of each user, seconds and setting of each method."
    told: dict = {}

    def note(method, fit, peer=''):
        for _ in range(2):
            mark = time.process_time()
            found = fit(train)
            took = time.process_time() - mark
        if isinstance(found, tuple):
            P, Q, took = found
            score = lambda rows: P[rows] @ Q.T  # noqa: E731
        else:
            score = found._query().scorer(slice(None))
        values = measures_by_row(score, test, train, MEASURES)[2]
        told[method] = {name: each.tolist() for name, each in values.items()}
        told[method] |= dict(seconds=took, peer=peer)
        return found

    fit, peer = rival(train, title)
    if fit is not None:
        note(PEER, fit, peer)
    model = note('SimilarityModel, default', SimilarityModel(RANK).fit)
    searched = note('SimilarityModel, search', SimilarityModel(RANK, **SEARCH).fit)
    rule = rule_of(searched)
    told['SimilarityModel, search']['peer'] = ', '.join(
        f'{name} {getattr(searched, f"{name}_") / rule[name]:g}' for name in rule
    )
    if model.search_:
        note('SimilarityModel, rule', SimilarityModel(RANK, **rule_of(model)).fit)
    note('EASE', EASE().fit)
    return told


def main() -> Iterator[dict]:
    warnings.simplefilter('ignore')
    for title, (train, test) in sets().items():
        told = machine.kept(f'{title} search', measured, title, train, test)
        told |= machine.kept(f'{title} widths', wider, train, test)
        told |= machine.kept(f'{title} lenskit', beside, train, test)
        for method, one in told.items():
            row = machine.row(
                method=method,
                task=f'{title}: {train.shape[0]:,} x {train.shape[1]:,}',
                peer=one['peer'],
                seconds=f'{one["seconds"]:.3g}',
                how='processor seconds of one fit, the search included',
            )
            for measure in MEASURES:
                short, values = measure.split('@')[0], np.array(one[measure])
                row[f'{short}_20'] = f'{values.mean():.4f}'
                for other, column in (
                    (PEER, f'{short}_difference'),
                    ('EASE', f'{short}_less_ease'),
                ):
                    if other in told and method != other:
                        row |= difference(column, values - np.array(told[other][measure]))
            yield row


# ------------------------------------------------------------------------------ approximate lists
LISTS, K, EFFORTS = 1000, 20, (32, 128, 512)


def clustered(n_right, n_left=LISTS, k=40, n_clusters=200):
    "Left and right embeddings around common centers, right ones of uneven length."
    rng = np.random.default_rng(0)
    centers, sizes = rng.normal(size=(n_clusters, k)), rng.random(n_clusters) ** 3
    P, Q = (
        centers[rng.choice(n_clusters, n, p=sizes / sizes.sum())] + 0.7 * rng.normal(size=(n, k))
        for n in (n_left, n_right)
    )
    return P.astype(np.float32), (Q * np.exp(0.4 * rng.normal(size=(n_right, 1)))).astype(
        np.float32
    )


def links():
    "Embeddings of a fitted model."

    graph = data.see_also(max_features=10)
    model = SimilarityModel(40, solver='newton', max_iter=8).fit(
        pattern(graph.train_observed, (graph.n_left, graph.n_right))
    )
    return model.left_embeddings_[:LISTS], model.right_embeddings_


def rows_of(title, P, Q) -> list[dict]:
    from extreme_opt.similarity.index import build_index

    def exact():
        return top_k(lambda rows: P[rows] @ Q.T, np.arange(len(P)), len(Q), K)[0]

    mark = time.perf_counter()
    index = build_index(Q)
    built, best = time.perf_counter() - mark, exact()

    def search(effort):
        index.graph.hnsw.efSearch = effort
        return index.search(P, K)[0]

    jobs = {'exact': exact} | {
        f'index, effort {effort}': lambda effort=effort: search(effort) for effort in EFFORTS
    }
    seconds, out = machine.race(jobs, 5), []
    for name, took in seconds.items():
        found = (
            1.0
            if name == 'exact'
            else np.mean(
                [len(set(a) & set(b)) / K for a, b in zip(jobs[name](), best, strict=True)]
            )
        )
        told = dict(recall=f'{found:.3f}')
        if name != 'exact':
            told['build_seconds'] = f'{built:.2g}'
        out.append(
            machine.row(
                method=name,
                task=title,
                peer='kernel' if name == 'exact' else 'faiss',
                seconds=took,
                **told,
            )
        )
    return out


def similarity_index() -> list[dict]:
    try:
        import faiss
    except ImportError:
        sys.exit("faiss is not there: pip install 'extreme_opt[ann]'")
    faiss.omp_set_num_threads(1)
    found = rows_of('links between functions', *links())
    for n_right in (20_000, 200_000):
        found += rows_of(f'{n_right:,} right entities', *clustered(n_right))
    return found
