"Softmax regression with many classes: sampled double sums and the solvers that keep them stable."

from typing import TYPE_CHECKING

from extreme_opt.late import names_of
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

_LAZY = {
    'SoftmaxClassifier': 'classifier',
    'calibration_error': 'classifier',
}  # they import scikit-learn

__getattr__, __dir__ = names_of(__name__, _LAZY)

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
    'mean_log_loss',
    'top_k_accuracy',
]
