"Maps from comparisons: losses, the sum over comparisons, SVRG with steps that tune themselves."

from typing import TYPE_CHECKING

from extreme_opt.late import names_of
from extreme_opt.ordinal.plain.which_question import select_queries
from extreme_opt.ordinal.comparisons import (
    contradictions,
    drop_degenerate,
    merge_comparisons,
    triplet_error,
    flip_labels,
)
from extreme_opt.ordinal.formats import (
    quadruplets_from_ratings,
    responses_from_triplets,
    triplets_from_2afc,
    triplets_from_choice,
    triplets_from_odd_one_out,
    triplets_from_ranking,
    triplets_from_responses,
)
from extreme_opt.ordinal.gram import GramComparisons, ProjectedGradient
from extreme_opt.ordinal.losses import CKL, SOE, STE, TSTE, Hinge
from extreme_opt.ordinal.problem import Comparisons

if TYPE_CHECKING:
    from extreme_opt.ordinal.embedding import OrdinalEmbedding, choose_components, procrustes

_LAZY = {
    'OrdinalEmbedding': 'embedding',
    'choose_components': 'embedding',
    'procrustes': 'embedding',
}  # they import scikit-learn

__getattr__, __dir__ = names_of(__name__, _LAZY)

__all__ = [
    'contradictions',
    'drop_degenerate',
    'merge_comparisons',
    'triplet_error',
    'flip_labels',
    'quadruplets_from_ratings',
    'responses_from_triplets',
    'triplets_from_2afc',
    'triplets_from_choice',
    'triplets_from_odd_one_out',
    'triplets_from_ranking',
    'triplets_from_responses',
    'CKL',
    'SOE',
    'STE',
    'TSTE',
    'Hinge',
    'Comparisons',
    'GramComparisons',
    'ProjectedGradient',
    'select_queries',
    'OrdinalEmbedding',
    'choose_components',
    'procrustes',
]
