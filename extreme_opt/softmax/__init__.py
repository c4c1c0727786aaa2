"Softmax regression with many classes: sampled double sums and the solvers that keep them stable."

from typing import TYPE_CHECKING

from extreme_opt.softmax.averaging import AveragedSolver
from extreme_opt.softmax.double_sum import (
    DoubleSum,
    Draw,
    mean_log_loss,
    top_k_accuracy,
)
from extreme_opt.softmax.exact import ExactSGD, FullSoftmaxByColumn, SquaredHingeByColumn
from extreme_opt.softmax.implicit import ImplicitSGD
from extreme_opt.softmax.rivals import NCE, FullSoftmax, ImportanceSampled, OneVsEach
from extreme_opt.softmax.rotation import Rotation
from extreme_opt.softmax.umax import UMax

if TYPE_CHECKING:
    from extreme_opt.softmax.classifier import SoftmaxClassifier, calibration_error
    from extreme_opt.softmax.multilabel import label_propensities, precision_at

_LAZY = {
    'SoftmaxClassifier': 'classifier',
    'calibration_error': 'classifier',
    'label_propensities': 'multilabel',
    'precision_at': 'multilabel',
}  # they import scikit-learn


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f'{__name__}.{_LAZY[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__():
    return sorted(__all__)


__all__ = [
    'SoftmaxClassifier',
    'DoubleSum',
    'Draw',
    'UMax',
    'ImplicitSGD',
    'ExactSGD',
    'FullSoftmax',
    'FullSoftmaxByColumn',
    'SquaredHingeByColumn',
    'OneVsEach',
    'NCE',
    'Rotation',
    'ImportanceSampled',
    'AveragedSolver',
    'calibration_error',
    'label_propensities',
    'mean_log_loss',
    'precision_at',
    'top_k_accuracy',
]
