"Softmax regression with many classes: sampled double sums and the solvers that keep them stable."
from extreme_opt.softmax.double_sum import DoubleSum, Draw, SoftmaxData, draw_distinct, hit_rate, mean_log_loss
from extreme_opt.softmax.umax import UMax, umax_update, umax_updates
from extreme_opt.softmax.rivals import FullSoftmax, ImportanceSampled, NoiseContrast, OneVsEach, noise_chances

__all__ = [
    'DoubleSum', 'Draw', 'SoftmaxData', 'draw_distinct', 'hit_rate', 'mean_log_loss',
    'UMax', 'umax_update', 'umax_updates',
    'FullSoftmax', 'ImportanceSampled', 'NoiseContrast', 'OneVsEach', 'noise_chances',
]
