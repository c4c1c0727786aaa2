"""Lists of twenty from an approximate index, against exact lists: seconds for a thousand lists, and
the share of the exact list that is found.

Embeddings of 40 components: those of a model fitted to the links between functions (small, where
exact lists win), and 20,000 and 200,000 entities in clusters of uneven size and length, as fitted
embeddings are. Needs the extra `ann`. One thread.
"""

from __future__ import annotations

import sys
import time

import machine
import numpy as np

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
    from extreme_opt.data import see_also
    from extreme_opt.similarity.model import SimilarityModel
    from extreme_opt.similarity.ranking import pattern

    graph = see_also(max_features=10)
    model = SimilarityModel(40, solver='newton', max_iter=8).fit(
        pattern(graph.train_observed, (graph.n_left, graph.n_right))
    )
    return model.left_embeddings_[:LISTS], model.right_embeddings_


def rows_of(title, P, Q) -> list[dict]:
    from extreme_opt.similarity.index import build_index
    from extreme_opt.similarity.ranking import top_k

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


def main() -> list[dict]:
    try:
        import faiss
    except ImportError:
        sys.exit("faiss is not there: pip install 'extreme_opt[ann]'")
    faiss.omp_set_num_threads(1)
    found = rows_of('links between functions', *links())
    for n_right in (20_000, 200_000):
        found += rows_of(f'{n_right:,} right entities', *clustered(n_right))
    return found
