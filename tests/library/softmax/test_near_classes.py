"Classes near the label: what may be listed, unbiased draws, and the classifier that uses them."

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses

from extreme_opt.core import minimize
from extreme_opt.softmax import DoubleSum, ImplicitSGD, SoftmaxClassifier
from extreme_opt.softmax.double_sum import Draw
from extreme_opt.softmax.implicit import implicit_updates
from extreme_opt.softmax.near_classes import NearClasses, check_near, nearest_classes


def grouped(n=600, n_classes=24, seed=0, **settings):
    "Rows whose classes come in groups of four, none without a row."
    rng = np.random.default_rng(seed)
    centers = np.repeat(rng.normal(size=(n_classes // 4, 8)), 4, 0)
    centers = centers + 0.4 * rng.normal(size=centers.shape)
    labels = np.append(np.arange(n_classes), rng.integers(n_classes, size=n - n_classes))
    return DoubleSum(centers[labels] + 0.3 * rng.normal(size=(n, 8)), labels, n_classes, **settings)


def test_lists_hold_the_classes_of_the_group():
    problem = grouped()
    lists = nearest_classes(problem, 3)
    assert (lists // 4 == np.arange(24)[:, None] // 4).mean() > 0.8  # by chance 0.13


def test_sparse_rows_a_constant_column_and_empty_classes_change_nothing():
    problem = grouped()
    X, y = problem.features, problem.labels
    lists = nearest_classes(problem, 3)
    with_one = np.column_stack([X, np.ones(len(X))])
    for rows, free in ((scipy.sparse.csr_array(X), 0), (with_one, 1)):
        same = DoubleSum(rows, y, 24, n_unpenalized=free)
        np.testing.assert_array_equal(nearest_classes(same, 3), lists)
    more = nearest_classes(DoubleSum(X, y, 30), 3)  # six classes without a row
    check_near(NearClasses(more, 1), 30, 3)
    np.testing.assert_array_equal(more[:24], lists)


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
def test_equal_weights_change_no_bit(kind):
    problem = grouped()
    problem = DoubleSum(kind(problem.features), problem.labels, 24, ridge=1e-3)
    draw = problem.draw(np.random.default_rng(1), 500, 4)
    one, two = problem.init_params(), problem.init_params()
    implicit_updates(problem, one, draw, 3.0)
    implicit_updates(problem, two, draw, 3.0, log_weights=np.full(4, np.log(23 / 4)))
    np.testing.assert_array_equal(one, two)
    implicit_updates(problem, two, draw, 3.0, log_weights=np.log([1.0, 2, 10, 10]))
    assert not np.array_equal(one, two)


def test_weights_of_another_length_are_refused():
    problem = grouped()
    draw = Draw(np.zeros(1, np.int32), np.array([[5, 6]], np.int32))
    for bad in (np.zeros(3), np.array([0, np.nan])):
        with pytest.raises(ValueError, match='2 finite numbers'):
            implicit_updates(problem, problem.init_params(), draw, 1.0, log_weights=bad)


@pytest.mark.parametrize('visits', ['random', 'shuffled', 'cyclic'])
def test_a_run_is_repeatable_and_lists_help(visits):
    problem = grouped()
    near = NearClasses(nearest_classes(problem, 6), 2)

    def end(lists):
        solver = ImplicitSGD(3.0, 3, visits=visits, near=lists)
        return minimize(problem, solver, max_epochs=6, loss_subset=0, seed=3).state.params

    np.testing.assert_array_equal(end(near), end(near))
    assert problem.log_loss(end(near)) < problem.log_loss(end(None)) - 0.02


def test_solver_refuses_lists_of_another_problem():
    problem = grouped()
    lists = nearest_classes(problem, 6)
    for near, m, words in (
        (NearClasses(lists[:5], 2), 3, 'each of 24 classes'),
        (NearClasses(lists.astype(float), 2), 3, 'type float64'),
        (NearClasses(lists, 3), 3, 'from 1 to 17 from the others'),
        (NearClasses(lists, 2), 20, 'from 1 to 17 from the others'),
        (NearClasses(lists, 7), 9, 'from 1 to 6'),
        (NearClasses(np.roll(lists, 1, 0), 2), 3, 'near.classes'),
    ):
        refuses(words, lambda: minimize(problem, ImplicitSGD(1.0, m, near=near), max_epochs=1))


def test_classifier_draws_near_classes():
    problem = grouped()
    settings = dict(n_negatives=3, learning_rate=3.0, max_epochs=6)
    near, uniform = (
        SoftmaxClassifier('implicit', sampler=sampler, **settings)
        .fit(problem.features, problem.labels)
        .log_loss(problem.features, problem.labels)
        for sampler in ('near', 'uniform')
    )
    assert near < uniform - 0.02


def test_classifier_with_few_classes():
    for n_classes in (2, 3):
        X, y = np.eye(3)[:n_classes].repeat(20, axis=0), np.arange(n_classes).repeat(20)
        model = SoftmaxClassifier('implicit', sampler='near', max_epochs=5).fit(X, y)
        assert model.score(X, y) == 1


def test_classifier_says_what_near_needs():
    model, X = SoftmaxClassifier('implicit', sampler='near'), np.eye(4)
    refuses('use fit', model.partial_fit, X, np.arange(4), classes=np.arange(4))
