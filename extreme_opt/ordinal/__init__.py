"Maps from comparisons: losses, the sum over comparisons, SVRG with steps that tune themselves."

from typing import TYPE_CHECKING

from extreme_opt.core.step_sizes import BB, SBB, Damped, FixedStep, bb_step
from extreme_opt.core.svrg import SVRG
from extreme_opt.ordinal.ask import information, select_queries
from extreme_opt.ordinal.comparisons import (
    check_answers,
    check_comparisons,
    contradictions,
    drop_degenerate,
    merge_comparisons,
    orient,
    triplet_error,
    flip_labels,
)
from extreme_opt.ordinal.gram import GramComparisons, ProjectedGradient, coordinates, nearest_gram
from extreme_opt.ordinal.losses import (
    CKL,
    LOSSES,
    SOE,
    STE,
    TSTE,
    Hinge,
    PairLoss,
    comparison_derivatives,
)
from extreme_opt.ordinal.problem import Comparisons
from extreme_opt.ordinal.theory import largest_batch, lyapunov
from extreme_opt.ordinal.views import ViewComparisons

if TYPE_CHECKING:
    from extreme_opt.ordinal.embedding import KernelMap, OrdinalEmbedding, choose_components, procrustes

_LAZY = {'KernelMap': 'embedding', 'OrdinalEmbedding': 'embedding', 'choose_components': 'embedding', 'procrustes': 'embedding'}  # they import scikit-learn


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f'{__name__}.{_LAZY[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


__all__ = [
    'BB',
    'SBB',
    'Damped',
    'FixedStep',
    'bb_step',
    'SVRG',
    'check_answers',
    'check_comparisons',
    'contradictions',
    'drop_degenerate',
    'merge_comparisons',
    'orient',
    'triplet_error',
    'flip_labels',
    'CKL',
    'LOSSES',
    'SOE',
    'STE',
    'TSTE',
    'Hinge',
    'PairLoss',
    'comparison_derivatives',
    'Comparisons',
    'GramComparisons',
    'ProjectedGradient',
    'coordinates',
    'nearest_gram',
    'largest_batch',
    'lyapunov',
    'ViewComparisons',
    'information',
    'select_queries',
    'KernelMap',
    'OrdinalEmbedding',
    'choose_components',
    'procrustes',
]
