"""Similarity of two kinds of things, learned on all pairs at the cost of the entities: Gramians,
towers, Gauss-Newton."""

from typing import TYPE_CHECKING

from extreme_opt.late import names_of
from extreme_opt.similarity.als import ALS
from extreme_opt.similarity.catalog_softmax import CatalogSoftmax
from extreme_opt.similarity.index import build_index
from extreme_opt.similarity.problem import AllPairs
from extreme_opt.similarity.ranking import (
    item_neighbors,
    popularity,
    rank_measures,
    top_k,
)
from extreme_opt.similarity.sampling import BlockSGD, PairSGD
from extreme_opt.similarity.sogram import SOGram
from extreme_opt.similarity.towers import MLP, Linear

if TYPE_CHECKING:
    from extreme_opt.similarity.model import SimilarityModel
    from extreme_opt.similarity.neighbors import EASE, ItemNeighbors, RP3beta

_LAZY = {  # they import scikit-learn
    'SimilarityModel': 'model',
    'EASE': 'neighbors',
    'ItemNeighbors': 'neighbors',
    'RP3beta': 'neighbors',
}

__getattr__, __dir__ = names_of(__name__, _LAZY)

__all__ = [
    'SimilarityModel',
    'EASE',
    'ItemNeighbors',
    'RP3beta',
    'build_index',
    'AllPairs',
    'ALS',
    'CatalogSoftmax',
    'item_neighbors',
    'popularity',
    'rank_measures',
    'top_k',
    'BlockSGD',
    'PairSGD',
    'SOGram',
    'MLP',
    'Linear',
]
