"The race: what can meet what, and a fair start."

from types import SimpleNamespace

import numpy as np
import pytest

from extreme_opt import core
from extreme_opt.core import SGD, SVRG, FixedStep, GradientDescent, LeastSquares, Majorizer, State
from extreme_opt.core.problem import missing_methods
from extreme_opt.lab.race import race, trial


@pytest.fixture
def problem():
    features = np.random.default_rng(0).normal(size=(12, 3))
    return LeastSquares(features, features.sum(1), 0.1)


def test_a_trial_says_what_is_missing_and_what_broke(problem):
    """Empty where a step is made; else the methods that are missing, the error, or that the step is
    not finite."""
    assert trial(problem, GradientDescent()) == ''
    assert trial(problem, Majorizer()) == 'needs quadratic_bound'

    def broken(problem, params):
        raise IndexError('no such row')

    assert (
        trial(problem, SimpleNamespace(requires=LeastSquares, init=broken, step=None))
        == 'IndexError: no such row'
    )

    def wild(problem, state, rng):
        return state.advance(state.params * np.inf)

    assert 'not finite' in trial(
        problem,
        SimpleNamespace(
            requires=LeastSquares, init=lambda problem, params: State(params=params + 1), step=wild
        ),
    )


def test_the_table_agrees_with_the_protocols(problem):
    """A pair that runs has its methods, and a pair that lacks one says so: for every solver that
    there is."""
    solvers = {
        name: kind()
        for name in core.__all__
        if isinstance(getattr(kind := getattr(core, name), 'requires', None), type)
    } | {'SVRG': SVRG(FixedStep(0.01))}
    said = {name: trial(problem, solver) for name, solver in solvers.items()}
    for name, words in said.items():
        assert words.startswith('needs') == bool(missing_methods(problem, solvers[name])), name
    for name in ('GradientDescent', 'LBFGS', 'SGD', 'SVRG', 'GaussNewton', 'Newton'):
        assert said[name] == ''


def test_a_race_has_one_start_and_keeps_the_best_setting(problem):
    """Everybody starts at the same point; of several settings the lowest last loss counts, a
    diverged one never; the same seed, the same runs."""
    entrants = {
        'one': GradientDescent(),
        'many': [SGD(rate) for rate in (1e-6, 0.02, 1e3)],
        'lost': [SGD(1e3)],
    }
    with np.errstate(all='ignore'):
        runs, again = (race(problem, entrants, max_epochs=10, seed=3) for _ in range(2))
    first = {name: run.column('loss')[0] for name, run in runs.items()}
    assert len(set(first.values())) == 1
    assert runs['many'].column('loss')[-1] < 0.9 * first['many']
    assert not np.isfinite(runs['lost'].column('loss')[-1]) and 'not finite' in runs['lost'].message
    np.testing.assert_array_equal(runs['many'].state.params, again['many'].state.params)
