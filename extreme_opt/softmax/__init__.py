"Softmax regression with many classes: sampled double sums and the solvers that keep them stable."
from extreme_opt.softmax.double_sum import DoubleSum, Draw, SoftmaxData, draw_distinct
from extreme_opt.softmax.implicit import ImplicitSGD, implicit_update, pair_step, set_step
from extreme_opt.softmax.rivals import FullSoftmax, ImportanceSampled, NoiseContrast, OneVsEach, noise_chances

__all__ = ['DoubleSum', 'Draw', 'SoftmaxData', 'draw_distinct',
           'ImplicitSGD', 'implicit_update', 'pair_step', 'set_step',
           'FullSoftmax', 'ImportanceSampled', 'NoiseContrast', 'OneVsEach', 'noise_chances']
