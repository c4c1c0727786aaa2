"What every solver and every estimator promises, of whatever package it is."

import copy
import pickle

import numpy as np
import pytest
import tiny_fits
from sklearn.base import clone

from extreme_opt.core import Run, minimize

pytest.importorskip('resource', reason='endurance.py asks for limits of the system')
import endurance  # noqa: E402

SOLVERS = [
    (name, at) for name, (_, solvers) in tiny_fits.RUNS.items() for at in range(len(solvers))
]
ESTIMATORS = [(kind, at) for kind, made in endurance.MAKE.items() for at in range(len(made))]


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name, at', SOLVERS)
def test_runs_repeat_and_go_on_from_a_file_and_steps_are_pure(name, at, tmp_path):
    make, solvers = tiny_fits.RUNS[name]
    for k, problem in enumerate(make()):
        solver, path = solvers[at], tmp_path / f'{k}.npz'
        whole, again = (minimize(problem, solver, max_iter=4, seed=3) for _ in range(2))
        minimize(problem, solver, max_iter=2, seed=3, checkpoint=path)
        rest = minimize(problem, solver, max_iter=4, resume=path)
        for other in (again, rest):
            np.testing.assert_array_equal(other.state.params, whole.state.params)
        assert type(Run.load(path).state) is type(whole.state) and whole.state.n_iter == 4
        assert whole.state.params.dtype == problem.dtype
        rng = np.random.default_rng(1)
        state = solver.step(problem, solver.init(problem, problem.init_params(0)), rng)
        before = {key: copy.deepcopy(value) for key, value in vars(state).items()}
        solver.step(problem, state, rng)
        for key, value in before.items():
            np.testing.assert_equal(getattr(state, key), value)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('kind, at', ESTIMATORS)
def test_copies_files_and_refits_answer_the_same(kind, at, tmp_path):
    data, make = endurance.DATA[kind][0], endurance.MAKE[kind][at]
    model, path = make().fit(*data), tmp_path / 'model.npz'
    model.save(path)
    for other in (type(model).load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert endurance.answers(kind, other) == endurance.answers(kind, model)
        assert repr(other.get_params()) == repr(model.get_params())
        if hasattr(model, 'run_'):
            assert other.run_.history == model.run_.history
    again = [clone(model), make()]
    if 'n_jobs' in model.get_params():
        again.append(make().set_params(n_jobs=None))  # one thread
        make().set_params(n_jobs=-1).fit(*data)  # as many as there are
    for other in again:
        assert endurance.answers(kind, other.fit(*data)) == endurance.answers(kind, model)
