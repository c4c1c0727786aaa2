"""How much work the hot kernels do, in counts that no clock and no machine can change.

Run with NUMBA_DISABLE_JIT=1 it prints, as JSON, for each case of CASES the work at some sizes:
lines of the package executed, plus elements that whole-array operations on the parameters touch,
and calls between functions of the package. An update's share is the difference between a draw and
the same draw twice as long, so what happens once per call does not count.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse

PACKAGE = str(Path(__file__).resolve().parents[3] / 'extreme_opt')


class Counted(np.ndarray):
    "An array that knows how many elements whole-array operations on it have touched."

    touched = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **words):
        plain = tuple(np.asarray(x) if isinstance(x, Counted) else x for x in inputs)
        room = tuple(np.asarray(x) if isinstance(x, Counted) else x for x in out) if out else None
        Counted.touched += max(np.size(x) for x in (*plain, *(room or ())))
        result = getattr(ufunc, method)(*plain, **(dict(words, out=room) if room else words))
        return out[0] if out else result

    def __array_function__(self, func, types, args, kwargs):
        Counted.touched += max((x.size for x in args if isinstance(x, Counted)), default=0)
        bare = [np.asarray(x) if isinstance(x, Counted) else x for x in args]
        return func(*bare, **kwargs)

    def __setitem__(self, where, value):
        places = where if isinstance(where, tuple) else (where,)
        if any(isinstance(place, slice) for place in places):
            Counted.touched += np.asarray(self)[where].size
        np.asarray(self)[where] = np.asarray(value)


def count(job) -> np.ndarray:
    "(work, calls) of a job."
    lines = calls = 0

    def inside(frame, event, arg):
        nonlocal lines
        lines += event == 'line'
        return inside

    def trace(frame, event, arg):
        nonlocal calls
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if frame.f_code.co_filename.endswith('compiled.py'):
            return None  # stands for one instruction, such as asking for a cell early
        calls += 1
        return inside

    Counted.touched = 0
    sys.settrace(trace)
    try:
        job()
    finally:
        sys.settrace(None)
    return np.array([lines + Counted.touched, calls])


def rows(n: int, width: int, n_features: int, dense: bool = False):
    "Rows whose nonzero columns are the first ones, whatever the number of columns."
    values = np.random.default_rng(0).random((n, width)) / width
    if dense:
        return np.hstack([values, np.zeros((n, n_features - width))])
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    starts = np.arange(n + 1, dtype=np.int32) * width
    return scipy.sparse.csr_array((values.ravel(), columns, starts), shape=(n, n_features))


# ---------------------------- jobs: times -> what makes so many updates, counted or on plain arrays
def softmax(kind, width, n_features, n_classes=12, m=3, dense=False, array=Counted):
    "Six updates a time."
    from extreme_opt.softmax import DoubleSum, Draw
    from extreme_opt.softmax.implicit import implicit_updates
    from extreme_opt.softmax.umax import umax_updates

    n, updates = 6, umax_updates if kind == 'umax' else implicit_updates
    problem = DoubleSum(rows(n, width, n_features, dense), np.arange(n) % 5, n_classes)
    once = Draw(np.arange(n), np.add.outer(np.arange(n) % 5 + 1, np.arange(m)) % 12 % n_classes)

    def job(times):
        params = problem.init_params().view(array)
        draw = Draw(np.tile(once.sample, times), np.tile(once.others, (times, 1)))
        return lambda: updates(problem, params, draw, 0.1)

    return job


def baseline(width, n_features, n_classes=12):
    "Six updates a time."
    from extreme_opt.softmax import OneVsEach

    problem = OneVsEach(rows(6, width, n_features), np.arange(6) % 5, n_classes)

    def job(times):
        params, draw = problem.init_params(), problem.draw(np.random.default_rng(0), 6 * times)
        return lambda: problem.sgd_steps_(params.view(Counted), draw, 0.1)

    return job


TRIPLETS = [(0, 1, 2), (3, 4, 5), (6, 2, 1), (5, 0, 7)]


def comparisons(n_objects, p):
    "Four comparisons a time."
    from extreme_opt.ordinal import STE, Comparisons

    def job(times):
        problem = Comparisons(np.tile(TRIPLETS, (times, 1)), p, STE(), n_objects)
        params = problem.init_params(0)
        return lambda: problem.loss_and_grad(params)

    return job


def triplets(n_objects, p, lazy, array=Counted):
    "Four updates a time."
    from extreme_opt.ordinal import STE, Comparisons

    problem = Comparisons(TRIPLETS, p, STE(), n_objects)
    begin = np.zeros((n_objects, p))
    begin[:8] = np.random.default_rng(0).normal(size=(8, p))
    old = begin.ravel()
    full, kept = problem.svrg_anchor(old)

    def job(times):
        points, batch = old.copy().view(array), np.tile(np.arange(4), times)
        if lazy:
            return lambda: problem.svrg_steps_(points, old, full, kept, batch, 1e-3, 1)
        return lambda: problem.sgd_steps_(points, batch, 1e-3, 1)

    return job


def chains(n_classes, product):
    "A row a time."
    from extreme_opt.bound.class_space import chain_times, class_chain

    def job(times):
        scores = np.random.default_rng(0).normal(size=(times, n_classes))
        chain = class_chain(scores, 'given')
        if product:
            return lambda: chain_times(chain, scores)
        return lambda: class_chain(scores, 'given')

    return job


# ---------------------------------- cases: name -> sizes -> (work, calls) of one update or one call
def each(make, n, times=2):
    "Of one update of a job with n of them a time: of a job and of one twice as long."

    def counted(*args):
        job = make(*args)
        return (count(job(2 * times)) - count(job(times))) / (n * times)

    return counted


def words(n: int, n_tags: int) -> np.ndarray:
    from extreme_opt.bound.structured import forward_backward

    rng = np.random.default_rng(0)
    scores, transitions = rng.normal(size=(n, n_tags)), rng.normal(size=(n_tags, n_tags))
    return count(lambda: forward_backward(scores, transitions))


def rows_of_chains(*args):
    return count(chains(*args)(20))


def towers(n: int, product: bool) -> np.ndarray:
    from extreme_opt.similarity import MLP, AllPairs

    pairs = np.column_stack([np.arange(30) % 20, (7 * np.arange(30) + np.arange(30) // 20) % 20])
    problem = AllPairs(
        pairs, n_left=n, n_right=n, n_components=3, left=MLP(4), right=MLP(4), dtype=np.float64
    )
    params = problem.init_params(0)
    if not product:
        return count(lambda: problem.loss_and_grad(params))
    problem.loss(params)
    return count(lambda: problem.ggn_vp(params, params))


SPARSE = (6, 40), (6, 400), (12, 400), (6, 40, 120)
LONG = (70, 100, 12), (70, 1000, 12), (140, 1000, 12), (70, 100, 120)
DENSE = (20, 20, 12), (20, 20, 120), (40, 40, 12)
CASES = {  # what is counted, and at which sizes
    'umax sparse': (each(softmax, 6), *[('umax', *at) for at in SPARSE]),
    'implicit ahead': (each(softmax, 6), *[('implicit', *at) for at in SPARSE]),
    'implicit long': (each(softmax, 6), *[('implicit', *at, 1) for at in LONG]),
    'umax dense': (each(softmax, 6), *[('umax', *at, 3, True) for at in DENSE]),
    'implicit dense': (each(softmax, 6), *[('implicit', *at, 3, True) for at in DENSE]),
    'baseline sparse': (each(baseline, 6), *SPARSE),
    'ordinal gradient': (each(comparisons, 4, 10), (10, 4), (500, 4), (10, 8)),
    'words': (words, (20, 4), (40, 4), (20, 8)),
    'ordinal lazy': (each(triplets, 4, 8), (10, 4, True), (500, 4, True), (10, 8, True)),
    'ordinal batches': (each(triplets, 4, 8), (10, 4, False), (500, 4, False), (10, 8, False)),
    'similarity gradient': (towers, (100, False), (200, False), (400, False)),
    'similarity product': (towers, (100, True), (200, True), (400, True)),
    'bound recursion': (rows_of_chains, (8, False), (16, False), (32, False)),
    'bound product': (rows_of_chains, (8, True), (16, True), (32, True)),
}


def measure(names) -> dict:
    return {
        name: [what(*args).tolist() for args in sizes]
        for name, (what, *sizes) in CASES.items()
        if name in names
    }


if __name__ == '__main__':
    for chapter in ('softmax', 'similarity', 'ordinal', 'bound'):
        importlib.import_module(f'extreme_opt.{chapter}')
    print(json.dumps(measure(CASES)))
