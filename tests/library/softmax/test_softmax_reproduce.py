"""The update of the published runs against the chapter's own, and the results that the reproduction
pages read."""

import csv
import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from extreme_opt.softmax import DoubleSum, Draw
from extreme_opt.softmax.implicit import implicit_updates
from extreme_opt.softmax.umax import umax_updates

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope='module')
def script():
    sys.path.insert(0, str(ROOT / 'bench'))
    try:
        spec = importlib.util.spec_from_file_location(
            'softmax_reproduce', ROOT / 'bench' / 'softmax_reproduce.py'
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / 'bench'))


def problem_of(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 5)) * (rng.random((20, 5)) < 0.7)
    X[:, 0] += 0.1
    return DoubleSum(sparse.csr_array(X), rng.integers(6, size=20), 6), rng


def published(script, problem, params, *batch):
    rows = problem.features
    parts = (rows.indptr, rows.indices, rows.data), problem.squared_norms, problem.labels
    script._published(*problem.unpack(params), *parts, *batch)


def test_published_update_is_ours_where_no_label_is_drawn(script):
    problem, rng = problem_of()
    draw = problem.draw(rng, 100, 3)
    for delta in (1.0, math.inf):
        theirs, ours = problem.init_params(), problem.init_params()
        published(script, problem, theirs, *draw, 0.02, delta, False)
        umax_updates(problem, ours, draw, 0.02, delta)
        np.testing.assert_allclose(theirs, ours, atol=1e-9)
    theirs, ours = problem.init_params(), problem.init_params()
    published(script, problem, theirs, draw.sample, draw.others[:, :1], 5.0, 1.0, True)
    implicit_updates(problem, ours, Draw(draw.sample, draw.others[:, :1]), 5.0)
    np.testing.assert_allclose(theirs, ours, atol=1e-8)


def test_published_update_drops_the_label(script):
    problem, _ = problem_of(1)
    y, one = int(problem.labels[0]), np.zeros(1, np.int32)
    wrong = [k for k in range(6) if k != y][:2]
    with_label, without, only = problem.init_params(), problem.init_params(), problem.init_params()
    for params, others in ((with_label, [wrong[0], y, wrong[1]]), (without, wrong), (only, [y])):
        published(script, problem, params, one, np.array([others]), 0.3, 1.0, False)
    # scaled by (K - 1) / 2, the classes left
    np.testing.assert_allclose(with_label, without, atol=1e-12)
    np.testing.assert_array_equal(only, problem.init_params())  # nothing left: no update


def test_results_are_complete():
    with (ROOT / 'docs/results/softmax_reproduce.csv').open() as file:
        rows = list(csv.DictReader(file))
    tasks = {(row['task'], row['method']) for row in rows}
    for name in ('mnist', 'bibtex', 'delicious', 'brown', 'docstrings'):
        cases = ['OneVsEach', 'NCE', 'ImportanceSampled', 'SGD', 'UMax', 'ImplicitSGD']
        cases += ['ImplicitSGD m=5']
        for method in cases:
            assert (f'table, {name}, pass 50', method) in tasks
    for name in ('mnist', 'bibtex', 'delicious'):
        for case in ('theirs', 'ours', 'theirs, start log K', 'ours, start zero'):
            for method in ('SGD', 'UMax', 'ImplicitSGD'):
                assert (f'stored, {name}, {case}', method) in tasks


def test_a_softmax_of_a_softmax_stays_in_its_interval():
    rng = np.random.default_rng(0)
    for K in (2, 10, 1000):
        top = math.log(K - 1 + math.e)
        for p in (*rng.dirichlet(np.ones(K), size=50), np.eye(K)[0], np.eye(K)[-1]):
            twice = math.log(np.exp(p).sum()) - p[0]
            assert top - 1 - 1e-9 <= twice <= top + 1e-9
