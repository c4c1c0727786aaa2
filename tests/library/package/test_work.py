"""The hot kernels do the work that their formulas promise: counted in operations and allocations,
not in seconds."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import work

HERE = Path(__file__).resolve().parent
# Of each case of work.py: the exact or largest ratios of the work at its later sizes to that at the
# first.
EQUAL = 1.0
PROMISED = {
    # 10 times the columns; twice the nonzeros; 10 times the classes
    'umax sparse': (EQUAL, 2, EQUAL),
    'implicit ahead': (EQUAL, 2, EQUAL),
    'implicit long': (EQUAL, 2, EQUAL),
    'baseline sparse': (EQUAL, 2, EQUAL),
    # 50 times the objects; twice the dimensions
    'ordinal gradient': (EQUAL, 2),
    # twice the words; twice the tags
    'words': (2.1, 4),
    # 10 times the classes; twice the columns
    'umax dense': (EQUAL, 2),
    'implicit dense': (EQUAL, 2),
    # 50 times the objects; twice the dimensions
    'ordinal lazy': (EQUAL, 2),
    'ordinal batches': (EQUAL, 2),
    # twice and four times the entities on both sides, the same observed pairs
    'similarity gradient': (2, 4),
    'similarity product': (2, 4),
    # twice and four times the classes
    'bound recursion': (2, 4),
    'bound product': (2.1, 4.2),
}


@cache
def counts():
    env = {**os.environ, 'NUMBA_DISABLE_JIT': '1', 'PYTHONPATH': str(HERE.parent)}
    options = dict(capture_output=True, text=True, env=env, timeout=300)
    done = subprocess.run([sys.executable, str(HERE / 'work.py')], **options)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def keeps(case, found):
    """Whether counts are those that a case promises; the number of calls may not grow with the
    length of a row."""
    (base, base_calls), *later = found
    for (one, calls), promised in zip(later, PROMISED[case], strict=True):
        if promised == EQUAL and abs(one - base) > 0.01 * base:
            return False
        if one > promised * base * 1.01:
            return False
        if calls > base_calls * 1.01 + 0.5:
            return False
    return True


@pytest.mark.parametrize('case', PROMISED)
def test_work_grows_as_promised(case):
    assert keeps(case, counts()[case]), counts()[case]


def test_every_case_is_promised_something():
    assert set(PROMISED) == set(counts())


# ----------------------------------------------------- compiled: nothing is allocated inside a loop
def allocations(job):
    "Arrays that compiled code makes during a job."
    from numba.core.runtime import _nrt_python, rtsys

    job()  # compiled before the count
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats().alloc
        job()
        return rtsys.get_allocation_stats().alloc - before
    finally:
        _nrt_python.memsys_disable_stats()


JOBS = {  # a job, and how many updates it makes a time
    'umax sparse': (lambda: work.softmax('umax', 6, 100, array=np.ndarray), 6),
    'umax dense': (lambda: work.softmax('umax', 20, 100, dense=True, array=np.ndarray), 6),
    'implicit ahead': (lambda: work.softmax('implicit', 6, 100, array=np.ndarray), 6),
    'implicit long': (lambda: work.softmax('implicit', 70, 100, m=1, array=np.ndarray), 6),
    'implicit dense': (lambda: work.softmax('implicit', 20, 100, dense=True, array=np.ndarray), 6),
    'ordinal lazy': (lambda: work.triplets(8, 3, True, np.ndarray), 4),
    'bound recursion': (lambda: work.chains(10, False), 1),
    'bound product': (lambda: work.chains(10, True), 1),
}


@pytest.mark.parametrize('case', JOBS)
def test_compiled_loops_allocate_nothing(case):
    make, n = JOBS[case]
    job = make()
    few, many = allocations(job(40 // n)), allocations(job(400 // n))
    # some for each block of updates, but none for an update
    assert many <= few + 36, f'{few} arrays for 40 updates, {many} for 400'


def test_allocations_are_seen():
    import numba

    @numba.njit
    def wasteful(n):
        total = 0.0
        for t in range(n):
            total += np.ones(3 + t % 2).sum()
        return total

    assert allocations(lambda: wasteful(40)) == 40


def test_a_gradient_over_all_pairs_keeps_no_table_of_pairs():
    "Peak memory of a gradient and of a curvature product follows the entities, not their pairs."
    import tracemalloc

    from extreme_opt.similarity import AllPairs, Linear

    pairs = np.column_stack([np.arange(500), np.arange(500)])

    def peak(n):
        settings = dict(n_right=n, n_components=2, left=Linear(), right=Linear(), dtype=np.float64)
        problem = AllPairs(pairs, n_left=n, **settings)
        params, found = problem.init_params(0), []
        problem.loss(params)
        for job in (lambda: problem.loss_and_grad(params), lambda: problem.ggn_vp(params, params)):
            job()
            problem._memo.clear()
            tracemalloc.start()
            job()
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return np.array(found)

    small, large = peak(1000), peak(2000)
    assert (large < 2.2 * small).all() and (large < 8 * 2000 * 2000 / 4).all(), (small, large)
