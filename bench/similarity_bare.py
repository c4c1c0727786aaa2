"""Recall of `SimilarityModel(n_components=40)` with deep towers, all else left alone, against a
truncated SVD of the same rank, on films and links.

Needs EXTREME_OPT_DATA with ml-100k, ml-1m and wikipedia-links; sets that are not there are left
out. Training pairs are masked. The model has deep towers and rules for everything; the one with
linear towers has the same rules, and so has the one without damping, whose Gauss-Newton steps are
full ones from the start. Seconds are those of the fit, on one thread. Each fit is kept under
build/bench as soon as it has ended; a run that was stopped goes on behind the last of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import machine
from similarity_reproduce import MEASURES, RANK, cells, sets

from extreme_opt.core import GaussNewton
from extreme_opt.similarity import MLP, Linear, popularity, rank_measures
from extreme_opt.similarity.model import SimilarityModel
from extreme_opt.similarity.ranking import svd_factors

LONG = True


def factors(model):
    "Scores of a fitted model, with the loss that it ended at."

    def score(rows):
        return model.left_embeddings_[rows] @ model.right_embeddings_.T

    score.loss = float(model.run_.state.loss)  # type: ignore[attr-defined]
    return score


def undamped(model):
    "The same model, whose Gauss-Newton steps are not damped at first."
    model._make_solver = lambda problem: GaussNewton()
    return model


def deep():
    "A model with the towers of the paper, all else left alone."
    return SimilarityModel(RANK, MLP(256, 256), MLP(256, 256))


def svd(train):
    P, Q = svd_factors(train, RANK)
    return lambda rows: P[rows] @ Q.T


METHODS = {
    'popularity': popularity,
    f'truncated SVD, rank {RANK}': svd,
    'SimilarityModel, linear towers': lambda train: factors(
        SimilarityModel(RANK, Linear(), Linear(), 'newton').fit(train)
    ),
    'SimilarityModel, deep': lambda train: factors(deep().fit(train)),
    'SimilarityModel, deep, no damping': lambda train: factors(undamped(deep()).fit(train)),
}


def judged(train, test, make) -> dict:
    "Measures of one method, seconds of its fit, peak memory so far."
    mark = time.perf_counter()
    score = make(train)
    took = time.perf_counter() - mark
    found = rank_measures(score, test, train, MEASURES)
    end = dict(loss=f'{score.loss:.5g}') if hasattr(score, 'loss') else {}
    return dict(seconds=f'{took:.1f}', peak_mb=round(machine.peak_mb(), 1), **cells(found), **end)


def main() -> Iterator[dict]:
    for title, (train, test) in sets().items():
        for name, make in METHODS.items():
            told = machine.kept(f'{title} {name}', judged, train, test, make)
            yield machine.row(method=name, task=f'bare {title}') | told
