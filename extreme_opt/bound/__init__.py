"Quadratic bounds on partition functions, and solvers that need no step size."

from typing import TYPE_CHECKING

from extreme_opt.bound.class_space import (
    ChainCurvature,
    ClassChain,
    ClassCurvature,
    chain_matrix,
    chain_rows,
    chain_times,
    class_chain,
)
from extreme_opt.bound.memory import QuasiMajorizer, quasi_newton_direction
from extreme_opt.bound.other_bounds import (
    PairedBound,
    ball_curvature,
    boehning_curvature,
    merge,
    paired_bound,
    tree_bound,
)
from extreme_opt.bound.partition import LogLinear
from extreme_opt.bound.quadratic_bound import Node, bound_rows, curvature_weight, quadratic_bound
from extreme_opt.bound.rank_one import (
    LowRank,
    RankOneMajorizer,
    low_rank,
    low_rank_solve,
    rank_one_step,
    sherman_morrison_solve,
    woodbury_solve,
)
from extreme_opt.bound.stochastic import IncrementalMajorizer, StochasticMajorizer
from extreme_opt.bound.structured import (
    LinearChain,
    best_labels,
    chain_bound,
    forward_backward,
    loewner_max,
    noun_phrases,
    planted_chain,
)
from extreme_opt.core.majorize import Majorizer, Newton, Surrogate

if TYPE_CHECKING:
    from extreme_opt.bound.classifier import BoundClassifier, optimality_gap

_LAZY = {'BoundClassifier': 'classifier', 'optimality_gap': 'classifier'}  # they import scikit-learn


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f'{__name__}.{_LAZY[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


__all__ = [
    'BoundClassifier',
    'optimality_gap',
    'LogLinear',
    'Node',
    'bound_rows',
    'curvature_weight',
    'quadratic_bound',
    'PairedBound',
    'ball_curvature',
    'boehning_curvature',
    'merge',
    'paired_bound',
    'tree_bound',
    'ChainCurvature',
    'ClassChain',
    'ClassCurvature',
    'chain_matrix',
    'chain_rows',
    'chain_times',
    'class_chain',
    'LowRank',
    'RankOneMajorizer',
    'low_rank',
    'low_rank_solve',
    'rank_one_step',
    'sherman_morrison_solve',
    'woodbury_solve',
    'IncrementalMajorizer',
    'StochasticMajorizer',
    'LinearChain',
    'best_labels',
    'chain_bound',
    'forward_backward',
    'loewner_max',
    'noun_phrases',
    'planted_chain',
    'Majorizer',
    'Newton',
    'QuasiMajorizer',
    'Surrogate',
    'quasi_newton_direction',
]
