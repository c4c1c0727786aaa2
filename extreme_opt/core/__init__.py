"""What every chapter stands on: problems, solvers, runs, checks, linear algebra, descent."""

from extreme_opt.core.problem import LeastSquares, Problem
from extreme_opt.core.solver import Solver, State, Status
from extreme_opt.core.run import FitDiverged, Run, iterate, minimize
from extreme_opt.core.streams import stream
from extreme_opt.core.checks import (
    check_adjoint,
    check_descend,
    check_gradient,
    check_unbiased,
)
from extreme_opt.core.descent import LBFGS, SGD, GradientDescent
from extreme_opt.core.gauss_newton import GaussNewton
from extreme_opt.core.majorize import Majorizer, Newton
from extreme_opt.core.step_sizes import BB, SBB, Damped, FixedStep
from extreme_opt.core.svrg import SVRG

__all__ = [
    'LeastSquares',
    'Problem',
    'Solver',
    'State',
    'Status',
    'FitDiverged',
    'Run',
    'iterate',
    'minimize',
    'stream',
    'check_adjoint',
    'check_descend',
    'check_gradient',
    'check_unbiased',
    'LBFGS',
    'SGD',
    'GradientDescent',
    'GaussNewton',
    'Majorizer',
    'Newton',
    'BB',
    'SBB',
    'Damped',
    'FixedStep',
    'SVRG',
]
