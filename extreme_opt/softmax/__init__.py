"Softmax regression with many classes: sampled double sums and the solvers that keep them stable."

from typing import TYPE_CHECKING

from extreme_opt.softmax.blocks import Block, draw_block, joint_step, row_steps, split_step
from extreme_opt.softmax.averaging import ValidationLoss, AveragedSolver
from extreme_opt.softmax.double_sum import (
    DoubleSum,
    Draw,
    SoftmaxData,
    sample_distinct,
    top_k_accuracy,
    mean_log_loss,
)
from extreme_opt.softmax.implicit import ImplicitSGD, implicit_update, pair_step, set_step
from extreme_opt.softmax.multilabel import (
    as_indicator,
    label_propensities,
    pick_labels,
    precision_at,
)
from extreme_opt.softmax.rates import choose_rate
from extreme_opt.softmax.umax import UMax, umax_update, umax_updates
from extreme_opt.softmax.ridge import ScaledWeights, ridge_updates, scale_weights
from extreme_opt.softmax.variance import LearningSampler, averaged, noise_of, weighted_slopes
from extreme_opt.softmax.rivals import FullSoftmax, ImportanceSampled, NCE, OneVsEach, noise_proba
from extreme_opt.softmax.weighted import (
    WeightedFullSoftmax,
    WeightedImportanceSampled,
    WeightedNoiseContrast,
    WeightedOneVsEach,
    WeightedSum,
)

if TYPE_CHECKING:
    from extreme_opt.softmax.classifier import SoftmaxClassifier, calibration_error

_LAZY = {'SoftmaxClassifier': 'classifier', 'calibration_error': 'classifier'}  # they import scikit-learn


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f'{__name__}.{_LAZY[name]}'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


__all__ = [
    'SoftmaxClassifier',
    'calibration_error',
    'ValidationLoss',
    'AveragedSolver',
    'choose_rate',
    'as_indicator',
    'label_propensities',
    'pick_labels',
    'precision_at',
    'WeightedFullSoftmax',
    'WeightedImportanceSampled',
    'WeightedNoiseContrast',
    'WeightedOneVsEach',
    'WeightedSum',
    'DoubleSum',
    'Draw',
    'SoftmaxData',
    'sample_distinct',
    'top_k_accuracy',
    'mean_log_loss',
    'UMax',
    'umax_update',
    'umax_updates',
    'ImplicitSGD',
    'implicit_update',
    'pair_step',
    'set_step',
    'Block',
    'draw_block',
    'joint_step',
    'row_steps',
    'split_step',
    'ScaledWeights',
    'ridge_updates',
    'scale_weights',
    'LearningSampler',
    'averaged',
    'noise_of',
    'weighted_slopes',
    'FullSoftmax',
    'ImportanceSampled',
    'NCE',
    'OneVsEach',
    'noise_proba',
]
