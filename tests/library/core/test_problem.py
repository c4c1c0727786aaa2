"Problems and solvers meet through protocols, and errors say who is missing what."

from typing import Protocol

import numpy as np
import pytest

from extreme_opt.core import (
    LBFGS,
    SGD,
    GradientDescent,
    LeastSquares,
    Problem,
    Solver,
    check_adjoint,
    check_gradient,
    check_unbiased,
    minimize,
)
from extreme_opt.core.problem import (
    Majorizable,
    SecondOrder,
    check_compatible,
    missing_methods,
    required_methods,
)
from extreme_opt.core.solver import num_samples, updates_per_step


def small(dtype=np.float64, ridge=0.2):
    rng = np.random.default_rng(0)
    return LeastSquares(
        rng.normal(size=(25, 4)).astype(dtype), rng.normal(size=25).astype(dtype), ridge
    )


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_least_squares_is_a_problem(dtype):
    problem, params = small(dtype), np.random.default_rng(1).normal(size=4).astype(dtype)
    assert isinstance(problem, Problem)
    assert problem.grad(params).dtype == problem.init_params().dtype == dtype
    check_gradient(problem, params)
    check_unbiased(problem, params, [np.array([i]) for i in range(25)])
    check_unbiased(
        problem,
        params,
        [np.array([i]) for i in range(25)],
        estimate=problem.loss_at,
        exact=problem.loss(params),
    )
    if dtype == np.float64:
        check_adjoint(lambda vector: problem.ggn_vp(params, vector), n_in=4)
    assert problem.warmup_problem().dtype == dtype and problem.warmup_problem().n_terms == 2


def test_solvers_are_solvers():
    for solver in (SGD(), GradientDescent(), LBFGS()):
        assert isinstance(solver, Solver)
        assert (
            hash(solver) == hash(type(solver)()) and solver == type(solver)()
        )  # settings, nothing else
        with pytest.raises(AttributeError):
            solver.requires = Problem


class CurvedAndBounded(SecondOrder, Majorizable, Protocol):
    pass


class Needy:
    requires = CurvedAndBounded


def test_error_names_what_is_missing_and_who_fits():
    with pytest.raises(TypeError) as error:
        check_compatible(small(), Needy())
    text = str(error.value)
    assert text.startswith('Needy needs `quadratic_bound`, which LeastSquares does not have; ')
    assert 'SGD' in text and 'LBFGS' in text and text.endswith(' fit it') and '\n' not in text


def test_a_method_that_is_none_is_missing():
    class Without(LeastSquares):
        grad_at = None

    problem = Without(small().features, small().targets)
    assert missing_methods(problem, SGD) == ('grad_at',)
    with pytest.raises(
        TypeError, match='SGD needs `grad_at`, which Without does not have; .*LBFGS'
    ):
        minimize(problem, SGD(), max_iter=1)


def test_nobody_fits():
    class Nothing:
        pass

    with pytest.raises(TypeError) as error:
        check_compatible(Nothing(), SGD())
    assert str(error.value) == 'SGD needs `draw` and `grad_at`, which Nothing does not have'


def test_a_solver_of_one_class_says_so():
    class ForSquares:
        requires = LeastSquares

    assert missing_methods(small(), ForSquares) == ()
    assert (
        required_methods(ForSquares) == missing_methods(object(), ForSquares) == ('LeastSquares',)
    )
    with pytest.raises(TypeError, match='ForSquares solves a LeastSquares, not a object'):
        check_compatible(object(), ForSquares())


def test_required_methods_are_those_of_the_protocols():
    assert required_methods(Needy) == ('ggn_vp', 'grad', 'loss', 'quadratic_bound')
    assert required_methods(SGD) == ('draw', 'grad_at')
    for kind in (SGD, GradientDescent, LBFGS):
        assert callable(kind.step) and callable(kind.init)
        assert isinstance(small(), kind.requires)


def test_units_of_work():
    problem = small()
    assert num_samples(problem) == 25

    class Pairs:
        n_terms = 100

    assert num_samples(Pairs()) == 100
    assert updates_per_step('epoch', problem, 10) == 2 and updates_per_step(3, problem) == 3
    for wrong in ('pass', 0, -1):
        with pytest.raises(ValueError, match='n_updates='):
            updates_per_step(wrong, problem)


def test_targets_must_match():
    with pytest.raises(ValueError, match=r'targets has shape \(3,\), but features has 25 rows'):
        LeastSquares(small().features, np.ones(3))
