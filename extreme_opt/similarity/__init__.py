"Similarity of two kinds of things, learned on all pairs at the cost of the entities: Gramians, towers, Gauss-Newton."

from typing import TYPE_CHECKING

from extreme_opt.core.gauss_newton import GaussNewton
from extreme_opt.similarity.all_pairs import (
    LOSSES,
    ObservedPairs,
    PairSum,
    dense_loss,
    observed_pairs,
    pair_loss,
    pair_sum,
    tally,
)
from extreme_opt.similarity.curvature import curvature_pulls, sign_probe
from extreme_opt.similarity.diagonal import adagrad_direction
from extreme_opt.similarity.gradient import embedding_gradients
from extreme_opt.similarity.gramian import (
    left_gramian,
    right_gramian,
    unseen_value,
    unseen_value_qr,
)
from extreme_opt.similarity.index import ANNIndex, build_index, ann_top_k
from extreme_opt.similarity.problem import AllPairs, Block, block_terms
from extreme_opt.similarity.ranking import (
    max_score,
    item_neighbors,
    popularity,
    rank_measures,
    svd_factors,
    top_k,
)
from extreme_opt.similarity.sampling import (
    BlockSGD,
    PairSGD,
    Sample,
    block_sample,
    entity_sample,
    pair_sample,
    sampled_cotangents,
    single_sample,
)
from extreme_opt.similarity.sogram import Averages, SOGram
from extreme_opt.similarity.towers import MLP, Linear, Tower, forward, jvp, squared_vjp, vjp

if TYPE_CHECKING:
    from extreme_opt.similarity.model import SimilarityModel, auto_ridge

_LAZY = {'SimilarityModel': 'model', 'auto_ridge': 'model'}  # they import scikit-learn


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f'{__name__}.{_LAZY[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


__all__ = [
    'SimilarityModel',
    'auto_ridge',
    'LOSSES',
    'ObservedPairs',
    'PairSum',
    'dense_loss',
    'observed_pairs',
    'pair_loss',
    'pair_sum',
    'tally',
    'GaussNewton',
    'curvature_pulls',
    'sign_probe',
    'adagrad_direction',
    'embedding_gradients',
    'left_gramian',
    'right_gramian',
    'unseen_value',
    'unseen_value_qr',
    'ANNIndex',
    'build_index',
    'ann_top_k',
    'AllPairs',
    'Block',
    'block_terms',
    'max_score',
    'item_neighbors',
    'popularity',
    'rank_measures',
    'svd_factors',
    'top_k',
    'BlockSGD',
    'PairSGD',
    'Sample',
    'block_sample',
    'entity_sample',
    'pair_sample',
    'sampled_cotangents',
    'single_sample',
    'Averages',
    'SOGram',
    'MLP',
    'Linear',
    'Tower',
    'forward',
    'jvp',
    'squared_vjp',
    'vjp',
]
