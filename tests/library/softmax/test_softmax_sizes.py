"Parameters and draws of the wrong size or with indices outside are refused before a kernel runs."

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses

from extreme_opt.softmax.double_sum import DoubleSum, Draw
from extreme_opt.softmax.implicit import implicit_updates
from extreme_opt.softmax.rivals import OneVsEach
from extreme_opt.softmax.umax import umax_updates


def rows_and_labels(kind=np.asarray):
    rng = np.random.default_rng(0)
    return kind(rng.normal(size=(12, 3))), np.arange(12) % 5


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize(
    'sample, others, word',
    [
        ([0, 12], [[1], [1]], r'sample\[1\] is 12, but there are 12 rows'),
        ([-1], [[1]], r'sample\[0\] is -1'),
        ([0], [[5]], r'others\[0, 0\] is 5, but there are 5 classes'),
        ([0, 1], [[1, 2], [3, -2]], r'others\[1, 1\] is -2'),
        ([0, 1], [[1]], 'one line of classes per row'),
        ([0], [1], 'one line of classes per row'),
        ([0, 1], [[1], [1]], r'others\[1, 0\] is 1, the label of row 1'),
    ],
)
def test_a_draw_of_another_problem_is_refused(kind, sample, others, word):
    problem = DoubleSum(*rows_and_labels(kind), 5, ridge=0.1)
    params = problem.init_params()
    batch = Draw(np.array(sample, np.int32), np.array(others, np.int32))
    for call in (
        lambda: problem.loss_at(params, batch),
        lambda: problem.grad_at(params, batch),
        lambda: problem.sgd_step_(params, batch, 0.1),
        lambda: umax_updates(problem, params, batch, 0.1),
        lambda: implicit_updates(problem, params, batch, 0.1),
    ):
        refuses(word, call)
    np.testing.assert_array_equal(params, problem.init_params())
    if 'label' not in word:
        pairs = OneVsEach(*rows_and_labels(kind), 5)
        refuses(word, lambda: pairs.grad_at(pairs.init_params(), batch))
