"""What every chapter stands on: problems, solvers, runs, checks, linear algebra, descent, the
estimator base."""

from typing import TYPE_CHECKING

from extreme_opt.core.problem import (
    Constrained,
    Differentiable,
    FiniteSum,
    LeastSquares,
    Majorizable,
    Problem,
    SecondOrder,
    Stochastic,
)
from extreme_opt.core.shards import Shard, Shardable
from extreme_opt.core.solver import Solver, State
from extreme_opt.core.run import Run, iterate, minimize
from extreme_opt.core.streams import stream
from extreme_opt.core.checks import (
    check_adjoint,
    check_bound,
    check_descend,
    check_gradient,
    check_unbiased,
)
from extreme_opt.core.descent import LBFGS, SGD, GradientDescent
from extreme_opt.core.gauss_newton import GaussNewton
from extreme_opt.core.majorize import Majorizer, Newton, Surrogate
from extreme_opt.core.serialize import load_model, save_model
from extreme_opt.core.step_sizes import BB, SBB, Damped, FixedStep
from extreme_opt.core.svrg import SVRG

if TYPE_CHECKING:
    from extreme_opt.core.estimator import Classifier, Estimator

_LAZY = {'Classifier': 'estimator', 'Estimator': 'estimator'}  # they import scikit-learn


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f'{__name__}.{_LAZY[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


__all__ = [
    'Constrained',
    'Differentiable',
    'FiniteSum',
    'LeastSquares',
    'Majorizable',
    'Problem',
    'SecondOrder',
    'Stochastic',
    'Shard',
    'Shardable',
    'Solver',
    'State',
    'Run',
    'iterate',
    'minimize',
    'stream',
    'check_adjoint',
    'check_bound',
    'check_descend',
    'check_gradient',
    'check_unbiased',
    'LBFGS',
    'SGD',
    'GradientDescent',
    'GaussNewton',
    'Majorizer',
    'Newton',
    'Surrogate',
    'load_model',
    'save_model',
    'Classifier',
    'Estimator',
    'BB',
    'SBB',
    'Damped',
    'FixedStep',
    'SVRG',
]
