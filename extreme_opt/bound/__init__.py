"Quadratic bounds on partition functions, and solvers that need no step size."

from typing import TYPE_CHECKING

from extreme_opt.late import names_of
from extreme_opt.bound.memory import QuasiMajorizer
from extreme_opt.bound.partition import LogLinear
from extreme_opt.bound.quadratic_bound import quadratic_bound
from extreme_opt.bound.stochastic import IncrementalMajorizer, StochasticMajorizer
from extreme_opt.bound.structured import LinearChain

if TYPE_CHECKING:
    from extreme_opt.bound.classifier import BoundClassifier
    from extreme_opt.bound.tagger import LinearChainCRF

_LAZY = {'BoundClassifier': 'classifier', 'LinearChainCRF': 'tagger'}  # they import scikit-learn

__getattr__, __dir__ = names_of(__name__, _LAZY)

__all__ = [
    'BoundClassifier',
    'LogLinear',
    'quadratic_bound',
    'IncrementalMajorizer',
    'StochasticMajorizer',
    'LinearChain',
    'LinearChainCRF',
    'QuasiMajorizer',
]
