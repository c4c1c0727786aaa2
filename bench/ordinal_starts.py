"""Does the default of OrdinalEmbedding find the minimum? Rank of its loss among 50 random starts.

Planted maps of normal points; questions at random, of which a fraction is answered the wrong way.
Losses, dimensions, fractions and sizes as in GRID, one data set each. Two fits are compared with
50 random starts: the default, of four starts, and the first four of the random starts, which was
the default before.

`n_better` is how many of the 50 random starts end more than a thousandth below the loss of the fit;
`over_best` is that loss over the lowest of all. `told` is whether the fit warned that one start
only reached its loss. `rank_correlation`, in one dimension, is Spearman's with the planted places;
that of the best random start stands beside it. Work is epochs of the kept start. Twenty minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import machine
import numpy as np
from ordinal_race import distinct, squares
from scipy.stats import spearmanr

from extreme_opt.core.streams import stream
from extreme_opt.ordinal import OrdinalEmbedding

LONG = True
LOSSES, FLIPPED, STARTS = ('soe', 'ste', 'tste', 'ckl'), (0.05, 0.2, 0.4), 50
GRID = (  # objects, answers, dimensions, losses, fractions turned
    (12, 600, (1, 2, 3, 5), LOSSES, FLIPPED),
    (100, 4000, (1, 2, 3, 5), LOSSES, FLIPPED),
    (300, 15_000, (1, 2), LOSSES, (0.1,)),
    (3000, 120_000, (1,), ('soe',), (0.1,)),
    (12, 600, (1, 2, 3, 5), ('gnmds',), FLIPPED),
    (100, 4000, (1, 2), ('gnmds',), FLIPPED),
)
CLEAR = 1e-3  # of the loss


def study(n_objects: int, n_terms: int, p: int, flipped: float) -> tuple[np.ndarray, np.ndarray]:
    "Planted places, and rows with the near object first, some of them the wrong way."
    rng = stream(n_objects, f'starts {p} {flipped}')
    places = rng.normal(size=(n_objects, p))
    rows = distinct(rng.integers(n_objects, size=(2 * n_terms, 3)))[:n_terms]
    near, far = squares(places, rows)
    right = (near < far) ^ (rng.random(len(rows)) < flipped)
    return places, np.where(right[:, None], rows, rows[:, [0, 2, 1]])


def fitted(rows: np.ndarray, n_objects: int, p: int, loss: str, **settings) -> tuple:
    "A fit, and whether it warned that one start only reached its loss."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model = OrdinalEmbedding(p, loss, n_objects=n_objects, **settings).fit(rows)
    return model, any('starts only reached' in str(each.message) for each in caught)


def main() -> Iterator[dict]:
    for n_objects, n_terms, dimensions, losses, fractions in GRID:
        for p in dimensions:
            for flipped in fractions:
                places, rows = study(n_objects, n_terms, p, flipped)
                for loss in losses:
                    many, _ = fitted(rows, n_objects, p, loss, init='random', n_init=STARTS)
                    fits = {
                        'default': fitted(rows, n_objects, p, loss),
                        'four random starts': fitted(rows, n_objects, p, loss, init='random'),
                    }
                    lowest = min(many.losses_.min(), *(f.losses_.min() for f, _ in fits.values()))
                    for method, (model, told) in fits.items():
                        ours = model.losses_.min()
                        found = dict(
                            n_better=int((many.losses_ < (1 - CLEAR) * ours).sum()),
                            over_best=f'{ours / lowest:.4f}',
                            told=int(told),
                        )
                        if p == 1:
                            truth = places[:, 0]
                            for name, each in (('', model), ('_of_50', many)):
                                rank = abs(spearmanr(each.embedding_[:, 0], truth)[0])
                                found[f'rank_correlation{name}'] = f'{rank:.4f}'
                        yield machine.row(
                            method=method,
                            task=f'{n_objects} objects, {p} dim., {flipped:.0%} turned, {loss}',
                            seconds='',
                            peak_mb='',
                            **found,
                            work=f'{model.run_.state.n_epochs:.0f}',
                        )
