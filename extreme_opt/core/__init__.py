"What every chapter stands on: problems, solvers, runs, checks, linear algebra, descent, the estimator base."

from typing import TYPE_CHECKING

from extreme_opt.core.compiled import HAVE_NUMBA, timed_chunks, njit, parallel_for, prange
from extreme_opt.core.problem import (
    Constrained,
    Differentiable,
    FiniteSum,
    LeastSquares,
    Majorizable,
    Problem,
    SecondOrder,
    Stochastic,
    check_compatible,
    missing_methods,
    required_methods,
)
from extreme_opt.core.solver import Solver, State, num_samples, updates_per_step
from extreme_opt.core.checkpoint import fingerprint
from extreme_opt.core.run import Run, iterate, minimize
from extreme_opt.core.streams import stream
from extreme_opt.core.checks import (
    check_adjoint,
    check_bound,
    check_descend,
    check_gradient,
    check_unbiased,
    expect_fail,
)
from extreme_opt.core.linalg import (
    Solve,
    check_sparse,
    conjugate_gradients,
    damped_log,
    log_sum_exp,
    omega,
    csr_axpy,
    csr_dot,
    row_norms,
    squared_row_norms,
    softplus,
    wright_omega,
)
from extreme_opt.core.descent import LBFGS, SGD, GradientDescent, loss_and_grad
from extreme_opt.core.gauss_newton import GaussNewton, GaussNewtonState
from extreme_opt.core.majorize import Majorizer, Newton, Surrogate, solve_curvature, solve_dense
from extreme_opt.core.model_file import load_model, save_model
from extreme_opt.core.validation import check_features, check_labels, check_weights, row_weights
from extreme_opt.core.step_sizes import BB, SBB, Damped, FixedStep, bb_step
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
    'HAVE_NUMBA',
    'timed_chunks',
    'njit',
    'parallel_for',
    'prange',
    'Constrained',
    'Differentiable',
    'FiniteSum',
    'LeastSquares',
    'Majorizable',
    'Problem',
    'SecondOrder',
    'Stochastic',
    'check_compatible',
    'missing_methods',
    'required_methods',
    'Solver',
    'State',
    'num_samples',
    'updates_per_step',
    'fingerprint',
    'Run',
    'iterate',
    'minimize',
    'stream',
    'check_adjoint',
    'check_bound',
    'check_descend',
    'check_gradient',
    'check_unbiased',
    'expect_fail',
    'Solve',
    'check_sparse',
    'conjugate_gradients',
    'damped_log',
    'log_sum_exp',
    'omega',
    'csr_axpy',
    'csr_dot',
    'row_norms',
    'squared_row_norms',
    'softplus',
    'wright_omega',
    'LBFGS',
    'SGD',
    'GradientDescent',
    'loss_and_grad',
    'GaussNewton',
    'GaussNewtonState',
    'Majorizer',
    'Newton',
    'Surrogate',
    'solve_curvature',
    'solve_dense',
    'load_model',
    'save_model',
    'Classifier',
    'Estimator',
    'check_features',
    'check_labels',
    'check_weights',
    'row_weights',
    'BB',
    'SBB',
    'Damped',
    'FixedStep',
    'bb_step',
    'SVRG',
]
