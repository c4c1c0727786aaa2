"Softmax regression with many classes: sampled double sums and the solvers that keep them stable."
from extreme_opt.softmax.double_sum import DoubleSum, Draw, SoftmaxData, draw_distinct

__all__ = ['DoubleSum', 'Draw', 'SoftmaxData', 'draw_distinct']
