"""Hostile inputs, each in a child process, so that a crash, a hang or a flood of memory is a
result.

    python tests/library/package/fuzz_reliability.py [--rounds 3] [--minutes 120] [WORD ...]

Prints a table: how many inputs, how many died, hung or failed, and how. A word selects the rows
whose name holds it; `--rounds 1` and `--rounds 2` are the samples that the quick and the slow tests
of `test_reliability.py` take. A probe raises where something does not hold; what it returns is a
count of inputs. `pytest -k reliability` runs what needs more than a child process.
"""

import argparse
import contextlib
import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse

from extreme_opt.core.run import FitDiverged

PROBES = {}
OUTCOMES = Counter()  # of the probe that runs
ROUNDS = 1  # 1: a few of the cases; 2: a sample in which each row has one; 3: all of them
MEMORY = 3 << 30  # bytes of address space that a child may add


def probe(function):
    PROBES[function.__name__] = function
    return function


def in_child(cases, seconds=60.0, memory=MEMORY):
    """Yield (name, outcome, text) of each (name, work): 'held', 'failed', 'signal' or 'hung'.

    All cases run in one child, one after the other; where it dies, the next case gets a new one.
    """
    cases = list(cases)
    at = 0
    while at < len(cases):
        for name, outcome, text in _child(cases[at:], seconds, memory):
            at += 1
            yield name, outcome, text


def _child(cases, seconds, memory):
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            _work_through(cases, writer, memory)
        finally:
            os._exit(0)
    os.close(writer)
    done, lines = 0, _lines(reader, seconds, pid)
    for line, (name, _) in zip(lines, cases):
        if line is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            yield name, 'hung', f'{seconds:g} s'
            break
        done += 1
        yield name, *json.loads(line)
    else:
        _, status = os.waitpid(pid, 0)
        if done < len(cases):
            died = os.WIFSIGNALED(status)
            yield (
                cases[done][0],
                'signal',
                signal.Signals(os.WTERMSIG(status)).name if died else status,
            )
    os.close(reader)


def _worked(pid):
    "Processor seconds that a child has taken."
    words = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def _lines(reader, seconds, pid):
    """Lines as they come; None where a child has worked so long for the next, or has slept: on a
    busy machine it may just wait for its turn."""
    rest, mark = b'', _worked(pid)
    while True:
        while b'\n' in rest:
            line, _, rest = rest.partition(b'\n')
            yield line
        for _ in range(10):
            if select.select([reader], [], [], seconds)[0] or _worked(pid) - mark >= seconds:
                break
        if not select.select([reader], [], [], 0)[0]:
            yield None
        mark = _worked(pid)
        part = os.read(reader, 1 << 16)
        if not part:
            return
        rest += part


def _work_through(cases, writer, memory):
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    os.dup2(quiet, 1)
    used = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for _, work in cases:
        try:
            found = 'held', work()
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f'{type(error).__name__}: {error} ({place.name}:{place.lineno})'
            found = 'failed', text[:1500]
        os.write(writer, json.dumps(found, default=str).encode() + b'\n')


REFUSALS = ValueError, TypeError, FileNotFoundError, IndexError, FitDiverged


def check_message(error, raw=False):
    """A refusal is one line. Unless `raw`, a `raise` of this package or of scikit-learn made it:
    what numpy, SciPy or Python say by themselves does not name the argument."""
    text, place = str(error), traceback.extract_tb(error.__traceback__)[-1]
    assert text and '\n' not in text, f'more than a line: {text!r}'
    own = any(name in Path(place.filename).parts for name in ('extreme_opt', 'sklearn'))
    own = own and str(place.line).startswith('raise')
    assert raw or own, f'a raw message: {text!r} at {place.name}:{place.lineno}'


def refused(call, *args, raw=False, **kwargs):
    "The one line that a call is refused with; an AssertionError where it goes through."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            found = call(*args, **kwargs)
    except REFUSALS as error:
        check_message(error, raw)
        return str(error)
    raise AssertionError(f'accepted: {found!r:.100}')


def every(cases, few=40, times=1, turn=1):
    """Run (name, work) in children; raise with a summary where one does not hold.

    In the short round at most `few` of them, spread over all; in the second each `turn`-th. A case
    tries `times` inputs.
    """
    cases = list(cases)
    if ROUNDS == 2:
        cases = cases[::turn]
    if ROUNDS < 2 and len(cases) > few:
        chosen = np.random.default_rng(0).permutation(len(cases))[:few]
        cases = [cases[at] for at in sorted(chosen)]
    found = list(in_child(cases, 120))
    OUTCOMES.update(inputs=times * len(found), **Counter(outcome for _, outcome, _ in found))
    bad = [f'{name}: {outcome} {text}' for name, outcome, text in found if outcome != 'held']
    if bad:
        raise AssertionError(f'{len(bad)} of {len(found)}: ' + ' | '.join(bad))
    return times * len(found)


# --------------------------------------------------------------------------------------------- data


def rows(n=40, d=6, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.6, format='csr', random_state=rng)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.arange(n) % k


def broken():
    "Name -> a CSR matrix that points outside of its arrays."

    def make(change):
        X, _ = rows()
        Y = sparse.csr_array(X.shape)
        Y.data, Y.indices, Y.indptr = X.data.copy(), X.indices.copy(), X.indptr.copy()
        change(Y)
        return Y

    def put(name, at, value):
        def change(Y):
            getattr(Y, name)[at] = value

        return change

    def cut(name, n):
        def change(Y):
            setattr(Y, name, getattr(Y, name)[:n])

        return change

    return {
        'column one too high': make(put('indices', 3, 6)),
        'column far outside': make(put('indices', 3, 2**30)),
        'column negative': make(put('indices', 3, -3)),
        'start far outside': make(put('indptr', 5, 2**30)),
        'start negative': make(put('indptr', 5, -7)),
        'starts shrink': make(put('indptr', 5, 90)),
        'last start too high': make(put('indptr', -1, 10**6)),
        'first start': make(put('indptr', 0, 3)),
        'too few indices': make(cut('indices', 20)),
        'too few values': make(cut('data', 20)),
        'too few starts': make(cut('indptr', 9)),
    }


def classifiers(limits=True):
    "Name -> what makes a classifier, for each solver; of two steps, or with the limits of a user."
    from extreme_opt.bound import BoundClassifier
    from extreme_opt.bound.classifier import SOLVERS
    from extreme_opt.softmax import SoftmaxClassifier

    few = dict(max_epochs=2, learning_rate=None), dict(max_iter=2)
    sampled = 'implicit', 'umax', 'sgd', 'ove', 'nce', 'sampled', 'lbfgs'
    kinds = ('softmax', SoftmaxClassifier, sampled), ('bound', BoundClassifier, SOLVERS)
    for (name, kind, solvers), least in zip(kinds, few):
        for solver in solvers:
            yield f'{name} {solver}', partial(kind, solver, **(least if limits else {}))


def odd_things(good):
    "Name -> what is neither a table nor a column."
    return {
        'None': None,
        'a number': 5,
        'text': 'text',
        'an object': object(),
        'a function': len,
        'an empty list': [],
        'a dict': {'a': [1, 2]},
        'a set': {1, 2},
        'a generator': (one for one in good),
        'no dimension': np.array(5),
    }


def odd_tables(good):
    "Name -> what is no table like this one, or looks like none."
    from decimal import Decimal
    from fractions import Fraction

    def put(value, kind=object):
        changed = good.astype(kind)
        changed[5, 1] = value
        return changed

    sized = sparse.csr_array(good)
    found = odd_things(good) | {
        'bytes': b'x',
        'a class': dict,
        'empty rows in a list': [[]],
        'one dimension': good[:, 0],
        'three dimensions': good[:, :, None],
        'no rows': good[:0],
        'no columns': good[:, :0],
        'numbers as text': good.astype(str),
        'words': np.full(good.shape, 'a'),
        'bytes in an array': np.full(good.shape, b'a'),
        'bool': good > 0,
        'dates': good.astype(int).astype('M8[s]'),
        'spans': good.astype(int).astype('m8[s]'),
        'records': np.zeros(40, [('a', float), ('b', float)]),
        'void': np.zeros(good.shape, 'V4'),
        'masked': np.ma.masked_array(good, good > 0),
        'uint64': good.astype(np.int64).astype(np.uint64) + np.uint64(2**63),
        'read only': np.frombuffer(good.tobytes(), good.dtype).reshape(good.shape),
        'backwards': good[::-1, ::-1],
        'Fortran': np.asfortranarray(good),
        'matrix': np.asmatrix(good),
        'memory view': memoryview(np.ascontiguousarray(good)),
        'ragged': [[1.0, 2.0], [3.0]],
        'lists': good.tolist(),
        'tuples': tuple(map(tuple, good)),
        'one row': good[:1],
        'one column': good[:, :1],
        'too few rows': good[:7],
        'too many rows': np.vstack([good, good]),
        'many columns': np.hstack([good, good]),
        'negative': -1 - good,
        'huge ids': (good + 2**62),
        'sparse nan': sparse.csr_array(put(np.nan, float)),
        'sparse inf': sparse.csr_array(put(-np.inf, float)),
        'sparse complex': sized.astype(complex),
        'sparse bool': sized.astype(bool),
        'sparse no rows': sized[:0],
        'sparse no columns': sparse.csr_array((40, 0)),
        'sparse one dimension': sparse.coo_array(good[:, 0]),
        'sparse too few': sized[:7],
        'sparse wide': sparse.csr_array((40, 2**40)),
        'sparse doubled': sparse.coo_array(
            (np.ones(80), (np.arange(80) // 2, np.zeros(80, int))), shape=(40, good.shape[1])
        ),
    }
    for kind in ('coo', 'csc', 'lil', 'dok', 'dia', 'bsr'):
        found[f'sparse {kind}'] = sized.asformat(kind)
    for kind in (object, complex, np.float16, np.longdouble, np.int8, '>f8'):
        found[f'of {kind}'] = good.astype(kind)
    for value in (None, 'a', {}, [1, 2], Fraction(1, 2), Decimal(1), 10**400):
        found[f'{value!r:.9} in it'] = put(value)
    for value in (np.nan, np.inf, 1e300, 1e39):
        found[f'{value} in it'] = put(value, float)
    try:
        import pandas
    except ImportError:
        return found
    frame = pandas.DataFrame(good)
    return found | {
        'frame': frame,
        'frame with NA': frame.astype('Float64').mask(frame > 0),
        'frame of words': frame.astype(str) + 'a',
        'frame of categories': frame.astype('category'),
        'frame of dates': frame.astype('datetime64[s]'),
        'NA': put(pandas.NA),
        'a series': frame[0],
    }


def odd_columns(good):
    "Name -> what is no column of labels, weights, ids or names like this one, or looks like none."

    def put(value):
        changed = good.astype(object)
        changed[3] = value
        return changed

    at = np.arange(len(good))
    found = odd_things(good) | {
        'minus one': -1,
        'two dimensions': np.stack([good, good], 1),
        'a column': good[:, None],
        'three dimensions': good[:, None, None],
        'too few': good[:-1],
        'too many': np.concatenate([good, good]),
        'halves': at / 2,
        'nan': np.where(at == 3, np.nan, 1.0),
        'inf': np.where(at == 3, np.inf, 1.0),
        'complex': np.ones(len(good), complex),
        'bool': at % 2 > 0,
        'dates': at.astype('M8[s]'),
        'words': np.array(['a', 'b'])[at % 2],
        'bytes': np.array([b'a', b'b'])[at % 2],
        'uint64': np.full(len(good), 2**64 - 1, np.uint64),
        'records': np.zeros(len(good), [('a', float)]),
        'void': np.zeros(len(good), 'V4'),
        'masked': np.ma.masked_array(good, at % 2),
        'matrix': np.asmatrix(np.ones(len(good))),
        'sparse row': sparse.csr_array(np.ones((1, len(good)))),
        'sparse column': sparse.csr_array(np.ones((len(good), 1))),
        'one hot': np.eye(4, dtype=int)[at % 4],
        'lists': good.tolist(),
        'ragged': [[1, 2], [3]] * (len(good) // 2),
    }
    for value in (np.nan, -1.0, 0.0, 1e308, 1e-320, np.datetime64('NaT'), '', -(2**63)):
        found[f'all {value!r}'] = np.full(len(good), value)
    for value in (None, np.nan, 'a', 2, {}, (1, 2), 10**400):
        found[f'{value!r:.9} in it'] = put(value)
    try:
        import pandas
    except ImportError:
        return found
    return found | {
        'a series': pandas.Series(good, index=at[::-1]),
        'categories': pandas.Series(good).astype('category'),
        'a series with NA': pandas.Series(at, dtype='Int64').replace(3, pandas.NA),
        'NA': put(pandas.NA),
    }


# -------------------------------------------------------------------------------- sizes and indices


@probe
def params_in_methods_of_problems():
    "Methods of every problem refuse a vector that is too short or too long."

    def case(problem, name, change):
        def work():
            params = problem.init_params(0)
            params = params[:-1] if change < 0 else np.append(params, params[-1:])
            more = [np.arange(2)] if name == 'loss_on' else [params] if name == 'ggn_vp' else []
            if name.endswith(('_at', '_step_')):
                more = [problem.draw(np.random.default_rng(0), 2)]
            refused(getattr(problem, name), params, *more, *[0.1][: name == 'sgd_step_'], raw=True)

        return work

    return every(
        (
            (f'{kind} {name} {change}', case(problem, name, change))
            for kind, problem in problems()
            for name in ('loss', 'grad', 'loss_at', 'grad_at', 'loss_on', 'sgd_step_', 'ggn_vp')
            if hasattr(problem, name)
            for change in (-1, 1)
        ),
        few=300,
    )


def problems():
    from extreme_opt.bound import LinearChain, LogLinear
    from extreme_opt.ordinal import Comparisons, GramComparisons
    from extreme_opt.similarity import AllPairs, CatalogSoftmax
    from extreme_opt.softmax import NCE, DoubleSum, FullSoftmax, ImportanceSampled, OneVsEach

    X, y = rows()
    triplets = np.array([[i, (i + 1) % 9, (i + 3) % 9] for i in range(9)])
    pairs = np.array([[i, (3 * i) % 7] for i in range(12)])
    for kind in (DoubleSum, OneVsEach, NCE, ImportanceSampled, FullSoftmax):
        for form, features in (('csr', X), ('dense', X.toarray())):
            yield f'{kind.__name__} {form}', kind(features, y, 4, ridge=0.1)
    yield 'LogLinear', LogLinear(X.toarray(), y, ridge=0.1)
    yield 'LinearChain', LinearChain(X.toarray(), y, np.array([0, 10, 40]), 4, ridge=0.1)
    yield 'Comparisons', Comparisons(triplets)
    yield 'Comparisons ridge', Comparisons(triplets, ridge=0.1, weights=np.arange(1.0, 10))
    yield 'GramComparisons', GramComparisons(triplets)
    yield 'AllPairs', AllPairs(pairs, n_components=3, ridge=0.1)
    yield 'AllPairs csr', AllPairs(pairs, rows(12)[0], rows(7)[0], n_components=3, ridge=0.1)
    yield 'CatalogSoftmax', CatalogSoftmax(pairs, n_components=3, ridge=0.1)


def foreign(batch):
    "Copies of a batch with one id outside."
    parts = batch if isinstance(batch, tuple) else (batch,)
    for at, part in enumerate(parts):
        part = np.asarray(part)
        if part.dtype.kind not in 'iu' or not part.size:
            continue
        for value in (-1, -(10**6), 10**6, 2**31 - 1):
            changed = part.copy()
            changed.flat[0] = value
            new = tuple(changed if i == at else each for i, each in enumerate(parts))
            if hasattr(batch, '_fields'):
                new = type(batch)(*new)
            yield f'[{at}]={value}', new if isinstance(batch, tuple) else changed


@probe
def ids_of_batches():
    "Methods that take ids refuse ids of another problem; -1 may mean the last, as in numpy."

    def case(problem, name, batch, last):
        def work():
            params = problem.init_params(0).copy()
            args = dict(sgd_step_=(0.1,), sgd_steps_=(0.1, 1), svrg_steps_=(0.1, 1)).get(name, ())
            if name == 'svrg_steps_':
                args = params.copy(), *problem.svrg_anchor(params), batch, *args
            else:
                args = batch, *args
            if last is None:
                return refused(getattr(problem, name), params, *args, raw=True)
            try:
                other = params.copy()
                got = getattr(problem, name)(params, *args)
                place = [one is batch for one in args].index(True)
                want = getattr(problem, name)(other, *args[:place], last, *args[place + 1 :])
            except REFUSALS:
                return None
            np.testing.assert_array_equal(params, other)
            if name in ('loss_at', 'grad_at', 'loss_on'):
                np.testing.assert_array_equal(got, want)

        return work

    names = {'loss_at', 'grad_at', 'sgd_step_', 'sgd_steps_', 'svrg_steps_', 'quadratic_bound'}

    def cases():
        for kind, problem in problems():
            if not hasattr(problem, 'draw'):
                continue
            batch = problem.draw(np.random.default_rng(0), 4)
            pairs = isinstance(batch, tuple)
            for how, wrong in foreign(batch):
                last = None
                if how.endswith('=-1') and not pairs:
                    last = wrong.copy()
                    n = problem.n_samples if hasattr(problem, 'n_samples') else problem.n_terms
                    last[0] = n - 1
                for name in sorted(names if pairs else names | {'loss_on'}):
                    if hasattr(problem, name):
                        yield f'{kind}.{name} {how}', case(problem, name, wrong, last)

    return every(cases())


@probe
def parts_of_another_problem():
    "svrg_steps_ trusts old, full and kept, and a step its state; they are checked."
    from extreme_opt.ordinal import Comparisons
    from extreme_opt.softmax import DoubleSum, ImplicitSGD, UMax

    problem = Comparisons(np.array([[i, (i + 1) % 9, (i + 3) % 9] for i in range(9)]))
    params = problem.init_params(0)
    full, kept = problem.svrg_anchor(params)
    batch = problem.draw(np.random.default_rng(0), 4)
    wrong = dict(full=(params.copy(), full[:5], kept), old=(params[:4], full, kept))
    wrong['kept'] = params.copy(), full, kept[:3]
    calls = {
        name: partial(refused, problem.svrg_steps_, params.copy(), *args, batch, 0.1, 1, raw=True)
        for name, args in wrong.items()
    }
    X, y = rows()
    whole, small = DoubleSum(X, y, 4), DoubleSum(X[:8], y[:8], 4)
    for solver in (ImplicitSGD(), UMax(), UMax(threshold=np.inf), ImplicitSGD(visits='shuffled')):
        state = solver.init(small, small.init_params())
        calls[str(solver)] = partial(refused, solver.step, whole, state, np.random.default_rng(0))
    return every(calls.items())


@probe
def sparse_that_points_outside():
    "Every estimator and problem, in fit and in predict."
    from extreme_opt.bound import LogLinear
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import (
        AllPairs,
        CatalogSoftmax,
        SimilarityModel,
        item_neighbors,
        popularity,
        rank_measures,
        top_k,
    )
    from extreme_opt.similarity.ranking import svd_factors
    from extreme_opt.softmax import (
        NCE,
        DoubleSum,
        FullSoftmax,
        ImportanceSampled,
        OneVsEach,
        SoftmaxClassifier,
    )

    X, y = rows()
    pairs = np.array([[i, (3 * i) % 7] for i in range(40)])
    triplets = np.array([[i, (i + 1) % 40, (i + 3) % 40] for i in range(40)])
    quick, model = SimilarityModel(2, max_iter=1), SimilarityModel(2, max_iter=1).fit(X)
    placed = SimilarityModel(2, max_iter=1).fit(pairs, X)
    made = SoftmaxClassifier(max_epochs=1, learning_rate=1.0).fit(X, y)

    def score(rows):
        return np.zeros((len(rows), 6))

    calls = {f'{name} fit': lambda Y, make=make: make().fit(Y, y) for name, make in classifiers()}
    for name in ('predict', 'decision_function', 'predict_proba'):
        calls[f'softmax {name}'] = getattr(made, name)
    for kind in (DoubleSum, FullSoftmax, OneVsEach, NCE, ImportanceSampled):
        calls[kind.__name__] = lambda Y, kind=kind: kind(Y, y, 4)
    for kind in (AllPairs, CatalogSoftmax):
        calls[f'{kind.__name__} features'] = partial(kind, pairs, n_components=2)
        calls[f'{kind.__name__} observed'] = partial(kind, n_components=2)
    calls |= {
        'softmax partial_fit': lambda Y: made.partial_fit(Y, y),
        'LogLinear': lambda Y: LogLinear(Y, y),
        'similarity observed': lambda Y: quick.fit(Y),
        'similarity features': lambda Y: quick.fit(pairs, Y),
        'similarity right': lambda Y: quick.fit(pairs[:, ::-1], None, Y),
        'similarity validation': lambda Y: quick.fit(X, validation=Y),
        'similarity embed': lambda Y: placed.embed_left(features=Y),
        'similarity evaluate': model.evaluate,
        'rank_measures': partial(rank_measures, score),
        'rank_measures seen': partial(rank_measures, score, X),
        'top_k': partial(top_k, score, np.arange(4), 6, 2),
        'popularity': popularity,
        'item_neighbors': item_neighbors,
        'svd_factors': lambda Y: svd_factors(Y, 2),
        'ordinal features': lambda Y: OrdinalEmbedding(max_iter=1).fit(triplets, features=Y),
    }
    return every(
        (
            (f'{name}, {how}', partial(refused, call, Y))
            for how, Y in broken().items()
            for name, call in calls.items()
        ),
        few=120,
    )


@probe
def broken_parts():
    "read_npz, read_maps and Recipe name the file."
    from extreme_opt.scale.files import Recipe, read_maps, read_npz

    def flat(Y):
        found = {name: getattr(Y, name) for name in ('data', 'indices', 'indptr', 'shape')}
        return {f'features_{name}': np.array(one) for name, one in found.items()}

    def case(Y, kind):
        def work():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / ('part.npz' if kind == 'npz' else 'part')
                if kind == 'npz':
                    np.savez(path, **flat(Y))
                else:
                    path.mkdir()
                    for name, value in flat(Y).items():
                        np.save(path / f'{name}.npy', value)
                for read in (read_npz if kind == 'npz' else read_maps, lambda p: Recipe(p, dict)()):
                    text = refused(read, path)
                    assert str(path) in text, text

        return work

    return every(
        (f'{kind}, {how}', case(Y, kind)) for kind in ('npz', 'maps') for how, Y in broken().items()
    )


# -------------------------------------------------------------------------------------------- files


def fitted():
    "Name -> a small fitted estimator of every kind."
    from extreme_opt.bound import BoundClassifier
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import SimilarityModel
    from extreme_opt.softmax import SoftmaxClassifier

    X, y = rows()
    names = np.array(['ash', 'birch', 'cedar', 'dogwood'])[y]
    triplets = np.array([[i, (i + 1) % 9, (i + 3) % 9] for i in range(9)])
    pairs = np.array([[i, (3 * i) % 7] for i in range(12)])
    return {
        'SoftmaxClassifier': SoftmaxClassifier(max_epochs=1, learning_rate=1.0).fit(X, names),
        'BoundClassifier': BoundClassifier(max_iter=2).fit(X.toarray(), y),
        'OrdinalEmbedding': OrdinalEmbedding(max_iter=3, n_init=1).fit(triplets, features=X[:9]),
        'SimilarityModel': SimilarityModel(3, max_iter=2, tol=None).fit(pairs),
        'SimilarityModel of ids': SimilarityModel(3, max_iter=2, tol=None).fit(
            [(f'u{a}', f'i{b}') for a, b in pairs]
        ),
    }


def use(name, model):
    "Ask a model for answers; the numbers that come out."
    X = rows()[0]
    if 'Classifier' in name:
        return [model.predict_proba(X.toarray()), model.predict(X.toarray())]
    if name == 'OrdinalEmbedding':
        return [model.predict([[0, 1, 2], [3, 4, 5]]), model.transform(X[:3]), model.embedding_]
    known = model.left_ids_[:2].tolist()
    return [
        *model.recommend(known, k=3, index=None if model.index_ is None else True),
        model.embed_left(known),
        *model.similar(model.right_ids_[:1].tolist(), 2),
    ]


def members_of(path):
    with np.load(path) as content:
        return dict(content)


def mutated_json(value, rng):
    "A copy with one place of it changed."
    places = []

    def walk(at, path):
        places.append(path)
        items = (
            at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
        )
        for key, item in items:
            walk(item, (*path, key))

    walk(value, ())
    copy = json.loads(json.dumps(value))
    path = places[rng.integers(1, len(places))]
    at = copy
    for key in path[:-1]:
        at = at[key]
    strange = [None, True, -1, 0, 1e9, 2**31, float('inf'), 'a0', 'a1', 'x', [], {}, [1, 2]]
    strange += [{'array': 'a0'}, {'list': []}, {'dict': [['a', 1]]}]
    way = rng.integers(4)
    if way == 0 and isinstance(at, dict):
        del at[path[-1]]
    elif way == 1 and isinstance(at, list):
        at.insert(path[-1], strange[rng.integers(len(strange))])
    else:
        at[path[-1]] = strange[rng.integers(len(strange))]
    return copy


def mutated_arrays(arrays, rng):
    "A copy with one array changed: its values, length, type or shape."
    new = {name: value.copy() for name, value in arrays.items()}
    name = sorted(new)[rng.integers(len(new))]
    array, way = new[name], rng.integers(6)
    if way == 0 and array.size and array.dtype.kind in 'iuf':
        array.flat[rng.integers(array.size)] = (
            [-1, 2**30, 7, 0][rng.integers(4)] if array.dtype.itemsize > 2 else 100
        )
    elif way == 1:
        new[name] = array[: len(array) // 2] if array.ndim else np.zeros(3)
    elif way == 2:
        new[name] = np.concatenate([array, array]) if array.ndim else np.zeros((2, 2))
    elif way == 3:
        new[name] = array.astype(np.float32) if array.dtype.kind in 'iuf' else np.arange(3)
    elif way == 4 and array.ndim == 2:
        new[name] = np.ascontiguousarray(array.T)
    elif array.dtype.kind == 'f' and array.size:
        array.flat[rng.integers(array.size)] = np.nan
    return new


def spoiled(raw, rng):
    """The bytes of a file cut short, with a bit flipped, with bytes changed, or changed behind its
    checksums."""
    way = rng.integers(4)
    if way == 0:
        return raw[: rng.integers(len(raw))]
    if way == 3 and zipfile.is_zipfile(io.BytesIO(raw)):
        file = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(file, 'w') as new:
            names = old.namelist()
            chosen = names[rng.integers(len(names))]
            for name in names:
                content = old.read(name)
                new.writestr(name, changed(content, rng) if name == chosen else content)
        return file.getvalue()
    if way == 1:
        at, raw = rng.integers(len(raw)), bytearray(raw)
        raw[at] ^= 1 << rng.integers(8)
        return bytes(raw)
    return changed(raw, rng)


def changed(raw, rng):
    "Bytes with one to three of them replaced, or a stretch left out or doubled."
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        at, way = rng.integers(len(raw) or 1), rng.integers(4)
        if way == 0:
            del raw[at : at + rng.integers(1, 9)]
        elif way == 1:
            raw[at:at] = raw[at : at + rng.integers(1, 9)]
        elif raw:
            raw[at] = rng.integers(256)
    return bytes(raw)


def content_of(thing):
    "Text and bytes of a model, a run or arrays: equal for the same, and only for the same."
    from extreme_opt.core.serialize import pack

    arrays = {}
    if isinstance(thing, dict):
        arrays, spec = thing, None
    else:
        spec = pack(thing, arrays)
    flat = {key: (str(one.dtype), one.shape, one.tobytes()) for key, one in arrays.items()}
    return json.dumps(spec), flat


def formats(folder):
    "Name -> path of a whole file, what reads it, and whether it has a digest of its content."
    from extreme_opt.core import SGD, LeastSquares, Run, minimize
    from extreme_opt.data.store import load_arrays, save_arrays
    from extreme_opt.scale.files import read_maps, read_npz, read_svmlight, save_part

    X, y = rows()
    for at, (name, model) in enumerate(fitted().items()):
        model.save(folder / f'model{at}.npz')
        yield name, folder / f'model{at}.npz', type(model).load, True
    problem = LeastSquares(np.eye(3), np.ones(3))
    minimize(problem, SGD(0.1), max_iter=3, checkpoint=folder / 'run.npz')
    yield 'run', folder / 'run.npz', Run.load, True
    yield 'arrays', save_arrays(folder / 'arrays.npz', a=y, b=X.data), load_arrays, False
    for path, read in ((folder / 'part.npz', read_npz), (folder / 'maps', read_maps)):
        save_part(path, features=X, labels=y)
        yield path.name, path, read, False
    lines = [' '.join(f'{j + 1}:{v}' for j, v in enumerate(row)) for row in X.toarray()]
    (folder / 'a.svm').write_text(''.join(f'{a} {b}\n' for a, b in zip(y, lines)))
    yield 'svmlight', folder / 'a.svm', read_svmlight, False


@probe
def files_altered():
    """Every format cut, flipped and changed behind its checksums: one line with the path; the same
    content where there is a digest."""
    n_cases, n_turns = [(1, 40), (8, 250), (20, 500)][ROUNDS - 1]

    def case(path, read, has_digest, seed):
        def work():
            rng = np.random.default_rng(seed)
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            want = content_of(read(path)) if has_digest else None
            for turn in range(n_turns):
                file = files[rng.integers(len(files))]
                whole = file.read_bytes()
                file.write_bytes(spoiled(whole, rng))
                try:
                    other = read(path)
                except (ValueError, FileNotFoundError) as error:
                    assert str(path) in str(error) and '\n' not in str(error), str(error)
                else:
                    assert want is None or content_of(other) == want, f'other content, turn {turn}'
                finally:
                    file.write_bytes(whole)

        return work

    with tempfile.TemporaryDirectory() as folder:
        return every(
            (
                (f'{name} {seed}', case(path, read, has_digest, seed))
                for name, path, read, has_digest in formats(Path(folder))
                for seed in range(n_cases)
            ),
            times=n_turns,
        )


@probe
def model_files_rewritten():
    """Rewritten by somebody who computes the digest again: never a crash, a flood of memory or a
    raw error when it is read."""
    from extreme_opt.core.serialize import MODEL_FORMAT, MODEL_VERSION, write_atomically

    def case(name, seed):
        def work():
            rng = np.random.default_rng(seed)
            model = MODELS[name]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / 'model.npz'
                model.save(path)
                whole = members_of(path)
                meta = json.loads(whole.pop('meta').tobytes().decode())
                whole.pop('digest', None)
                for turn in range(20):
                    new, text = whole, meta
                    if turn % 2:
                        new = mutated_arrays(whole, rng)
                    else:
                        text = {**meta, 'model': mutated_json(meta['model'], rng)}
                    write_atomically(
                        path, {**text, 'format': MODEL_FORMAT, 'version': MODEL_VERSION}, new
                    )
                    try:
                        other = type(model).load(path)
                    except (ValueError, FileNotFoundError) as error:
                        assert str(path) in str(error) and '\n' not in str(error), str(error)
                        continue
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter('ignore')
                            use(name, other)
                    except Exception:
                        pass  # settings of another kind of fit; no crash

        return work

    MODELS = fitted()
    if find_spec('faiss'):
        MODELS['SimilarityModel with an index'] = fitted()['SimilarityModel']
        MODELS['SimilarityModel with an index'].build_index(n_links=4)
    n_cases = [2, 20, 100][ROUNDS - 1]
    return every(
        ((f'{name} {seed}', case(name, seed)) for name in MODELS for seed in range(n_cases)),
        times=20,
    )


# ----------------------------------------------------------------------------- silent wrong results


@probe
def fits_worse_than_a_constant():
    """Finite numbers and a training loss not above that of a constant prediction, or an error or a
    ConvergenceWarning."""
    from sklearn.exceptions import ConvergenceWarning

    from extreme_opt.ordinal import embedding
    from extreme_opt.similarity import MLP, Linear, model

    rng = np.random.default_rng(0)
    scales = 1e-300, 1e-30, 1e-15, 1e-8, 1.0, 1e3, 1e8, 1e30, 1e300

    def judged(fit, numbers, losses):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter('always')
            try:
                fitted = fit()
            except REFUSALS as error:
                assert '\n' not in str(error)
                return
            finite = all(np.isfinite(one).all() for one in numbers(fitted))
            assert finite or told, 'numbers that are not finite, and no word'
            if any(issubclass(one.category, ConvergenceWarning) for one in told):
                return
            assert finite, 'not finite'
            loss, constant = losses(fitted)
            assert loss <= 1.002 * constant + 1e-12, f'{loss:.4g} above {constant:.4g}, and no word'

    X = rng.normal(size=(120, 5))
    kinds = dict(
        planted=(X[:, :3] + rng.normal(size=(120, 3))).argmax(1),
        noise=rng.integers(3, size=120),
        rare=np.where(np.arange(120) < 3, 1, np.where(np.arange(120) < 6, 2, 0)),
    )

    def classifier(make, kind, form, how, scale):
        def work():
            y, w, factor = kinds[kind], None, np.ones((120, 5))
            at = dict(all=(), column=(slice(None), 0), row=0).get(how)
            if at is not None:
                factor[at] = scale
            else:
                w = np.where(np.arange(120) % 2, scale, 1.0)
            rows = X * factor if form == 'dense' else sparse.csr_array(X * (X > 0) * factor)
            share = np.bincount(y, w) / (120 if w is None else w.sum())
            best = -np.sum(share[share > 0] * np.log(share[share > 0]))
            judged(
                lambda: make().fit(rows, y, w),
                lambda m: (m.coef_, m.intercept_),
                lambda m: (m.log_loss(rows, y, w), best),
            )

        return work

    def caught(module, make, *args, **more):
        "Fit, the problem that was solved, and its loss at the end and at zeros."
        problems, run = [], module.run_estimator

        def listening(estimator, problem, *rest, **settings):
            problems.append(problem)
            return run(estimator, problem, *rest, **settings)

        def fit():
            module.run_estimator = listening
            try:
                return make().fit(*args, **more)
            finally:
                module.run_estimator = run

        def losses(fitted):
            params = fitted.run_.state.params
            return [problems[-1].loss(one) for one in (params, np.zeros_like(params))]

        return fit, losses

    map_ = rng.normal(size=(15, 2))
    triplets = np.array([rng.permutation(15)[:3] for _ in range(150)])
    far = ((map_[triplets[:, :1]] - map_[triplets[:, 1:]]) ** 2).sum(2)
    triplets[far[:, 0] > far[:, 1], 1:] = triplets[far[:, 0] > far[:, 1], :0:-1]

    def ordinal(scale, how, **settings):
        def work():
            weights = dict(
                weights=np.full(150, scale), mixed=np.where(np.arange(150) % 2, scale, 1)
            )
            if how not in weights:
                settings[how] = scale
            make = lambda: embedding.OrdinalEmbedding(n_init=1, **settings)  # noqa: E731
            fit, losses = caught(embedding, make, triplets, sample_weight=weights.get(how))
            judged(fit, lambda m: (m.embedding_,), losses)

        return work

    A, B = rng.normal(size=(20, 3)), rng.normal(size=(18, 3))
    pairs = np.argwhere(A @ B.T > 1.2)

    def similarity(scale, how, tower, **settings):
        def work():
            features = [None, None] if tower == 'ids' else [A.copy(), B.copy()]
            if how == 'features':
                features = [scale * A, scale * B]
            elif how == 'column':
                features[0][:, 0] *= scale
            weights = dict(
                weights=np.full(len(pairs), scale),
                mixed=np.where(np.arange(len(pairs)) % 2, scale, 1),
            )
            if how in ('ridge', 'unobserved_weight', 'impute'):
                settings[how] = scale
            shape = MLP(4) if tower == 'mlp' else Linear()
            make = lambda: model.SimilarityModel(3, shape, shape, **settings)  # noqa: E731
            fit, losses = caught(model, make, pairs, *features, pair_weights=weights.get(how))
            judged(fit, lambda m: (m.left_embeddings_, m.right_embeddings_), losses)

        return work

    def cases():
        hows = 'all', 'column', 'row', 'weights'
        for name, make in classifiers(limits=False):
            for key in product(kinds, ('dense', 'csr'), hows, scales):
                yield f'{name} {key}', classifier(make, *key)
        for loss in ('ste', 'tste', 'ckl', 'gnmds', 'soe'):
            ways = [dict(solver=one) for one in ('lbfgs', 'svrg', 'gd', 'sgd', 'gram')]
            for way, how, scale in product(ways, ('weights', 'mixed', 'ridge'), scales):
                yield f'ordinal {loss} {way} {how} {scale}', ordinal(scale, how, loss=loss, **way)
            rules = dict(bb='learning_rate', fixed='learning_rate')
            rules |= dict(sbb='stabilizer', damped='stabilizer')
            ways = [(dict(solver='svrg', step_rule=rule), how) for rule, how in rules.items()]
            ways.append((dict(solver='sgd'), 'learning_rate'))
            for (way, how), scale in product(ways, scales):
                yield f'ordinal {loss} {way} {how} {scale}', ordinal(scale, how, loss=loss, **way)
        settings = 'weights', 'mixed', 'ridge', 'unobserved_weight', 'impute'
        for solver in ('newton', 'als', 'gd', 'adagrad', 'block', 'pair', 'sogram'):
            for tower in ('ids', 'linear', 'mlp') if solver != 'als' else ('ids',):
                hows = settings + (() if tower == 'ids' else ('features', 'column'))
                for loss, how, scale in product(('logistic', 'squared'), hows, scales):
                    yield (
                        f'similarity {solver} {loss} {tower} {how} {scale}',
                        similarity(scale, how, tower, solver=solver, loss=loss),
                    )

    return every(cases(), few=80, turn=8)  # of nine scales, another one in the next row


IT = object()  # the place of an odd thing


@probe
def odd_inputs():
    """Odd things as features, labels, weights, ids and names, in fits and in what follows: refused
    in one line of our own, or finite numbers, or a warning."""
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import SimilarityModel

    X, y = rows()
    table, groups = X.toarray(), np.array(['ash', 'birch', 'cedar', 'dogwood'])[y]
    triplets = np.array([[i, (i + 1) % 40, (i + 3) % 40] for i in range(40)])
    pairs = np.array([[i, (3 * i) % 7] for i in range(40)])

    def case(make, name, args, more, numbers=()):
        def work():
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter('always')
                try:
                    found = getattr(make(), name)(*args, **more)
                except MemoryError:
                    return  # it names the size
                except REFUSALS as error:
                    check_message(error)
                    return
            parts = [getattr(found, one) for one in numbers] if numbers else [found]
            finite = all(
                np.isfinite(one).all()
                for one in parts
                if isinstance(one, np.ndarray) and one.dtype.kind == 'f'
            )
            assert finite or told, 'numbers that are not finite, and no word'

        return work

    models = fitted()
    odd = dict(table=table, rows=triplets, pairs=pairs, names=groups, ones=np.ones(40))
    odd |= dict(ids=np.arange(4), labels=y, numbers=np.arange(40.0))
    space = partial(OrdinalEmbedding, max_iter=2, n_init=1)
    towers = partial(SimilarityModel, 2, max_iter=2, tol=None)
    soft, bound, map_, model = (
        partial(models.get, kind)
        for kind in ('SoftmaxClassifier', 'BoundClassifier', 'OrdinalEmbedding', 'SimilarityModel')
    )
    weights, place, sides = ('coef_',), ('embedding_',), ('left_embeddings_', 'right_embeddings_')
    calls = [  # what is odd, model, method, arguments with IT for the odd one, what to look at
        *[
            (odd, make, 'fit', args, {}, weights)
            for _, make in classifiers()
            for odd, args in (('table', (IT, y)), ('names', (X, IT)), ('ones', (X, y, IT)))
        ],
        *[
            (odd, made, name, args, {}, ())
            for made in (soft, bound)
            for odd, name, args in (
                ('table', 'predict', (IT,)),
                ('table', 'predict_proba', (IT,)),
                ('table', 'top_k', (IT,)),
                ('table', 'score', (IT, y)),
                ('labels', 'score', (X, IT)),
                ('labels', 'log_loss', (X, IT)),
            )
        ],
        ('rows', space, 'fit', (IT,), {}, place),
        ('rows', map_, 'predict', (IT,), {}, ()),
        ('rows', map_, 'score', (IT,), {}, ()),
        ('table', map_, 'transform', (IT,), {}, ()),
        ('table', space, 'fit', (triplets,), dict(features=IT), place),
        ('numbers', space, 'fit', (triplets,), dict(y=IT), place),
        ('numbers', space, 'fit', (triplets,), dict(names=IT), place),
        ('numbers', space, 'fit', (triplets,), dict(sample_weight=IT), place),
        ('pairs', towers, 'fit', (IT,), {}, sides),
        ('pairs', model, 'score_pairs', (IT,), {}, ()),
        ('pairs', model, 'evaluate', (IT,), {}, ()),
        ('table', towers, 'fit', (pairs, IT), {}, sides),
        ('table', towers, 'fit', (pairs, None, IT), {}, sides),
        ('ones', towers, 'fit', (pairs,), dict(labels=IT), sides),
        ('ones', towers, 'fit', (pairs,), dict(pair_weights=IT), sides),
        ('ones', towers, 'fit', (pairs,), dict(validation=IT), sides),
        ('ids', model, 'embed_left', (IT,), {}, ()),
        ('ids', model, 'recommend', (IT,), {}, ()),
        ('ids', model, 'similar', (IT,), {}, ()),
    ]

    def cases():
        for kind, make, name, args, more, numbers in calls:
            good = odd[kind]
            for what, thing in (odd_tables if good.ndim == 2 else odd_columns)(good).items():
                given = [thing if each is IT else each for each in args]
                named = {key: thing for key in more}
                yield (
                    f'{make()!r:.60}.{name} {kind} {what}',
                    case(make, name, given, named, numbers),
                )

    return every(cases())


class Lines:
    "What prints itself in several lines, as tables do."

    def __repr__(self):
        return 'Lines(\n)'


@probe
def settings_of_any_kind():
    "None, text, NaN, tables and objects as settings: one line of our own."
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import SimilarityModel

    X, y = rows()
    triplets = np.array([[i, (i + 1) % 9, (i + 3) % 9] for i in range(9)])
    pairs = np.array([[i, (3 * i) % 7] for i in range(12)])
    table = np.arange(40.0).reshape(8, 5) / 7
    values = [None, 'x', np.nan, -1, 10**400, [], object(), np.arange(2), table, {'a': table}]
    values.append(Lines())
    skip = {'verbose', 'warm_start', 'average', 'fit_intercept', 'biases', 'id_features'}
    skip |= {'exclude_self', 'early_stopping'}

    def case(make, name, value, data):
        def work():
            model = make()
            model.set_params(**{name: value})
            try:
                with (
                    warnings.catch_warnings(),
                    tempfile.TemporaryDirectory() as folder,
                    contextlib.chdir(folder),  # checkpoint='x' makes a file
                ):
                    warnings.simplefilter('ignore')
                    model.fit(*data)
            except REFUSALS as error:
                check_message(error)

        return work

    def cases():
        kinds = [(name, make, (X.toarray(), y)) for name, make in classifiers()]
        kinds += [
            ('similarity', lambda: SimilarityModel(2, max_iter=1), (pairs,)),
            ('ordinal', lambda: OrdinalEmbedding(max_iter=1, n_init=1), (triplets,)),
        ]
        for kind, make, data in kinds:
            for name in make().get_params():
                if name in skip:
                    continue
                for value in values:
                    shown = f'{value!r:.20}'.replace('\n', ' ')
                    yield f'{kind} {name}={shown}', case(make, name, value, data)

    return every(cases())


# ------------------------------------------------------------------------------ copies, archives


def answers(name, model):
    return [one.tolist() for one in use(name, model)]


@probe
def other_processes():
    "A process with other hashes gives the same bits."
    models = fitted()

    def hashed(seed):
        text = subprocess.run(
            [sys.executable, __file__, '--answers'],
            env={**os.environ, 'PYTHONHASHSEED': seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert json.loads(text) == {name: answers(name, one) for name, one in models.items()}

    return every((f'hashes of {seed}', partial(hashed, seed)) for seed in '12'[:ROUNDS])


@probe
def archives_altered():
    "Zip and tar files with changed bytes: unpacked into the folder, or one line; never outside."
    import tarfile

    from extreme_opt.data.fetching import unpack

    def whole():
        file = io.BytesIO()
        with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as pack:
            for name in ('set/a.csv', 'set/b/c.csv', 'README'):
                pack.writestr(name, b'0,1,2\n' * 20)
        yield file.getvalue()
        for mode in ('w', 'w:gz', 'w:xz', 'w:bz2'):
            file = io.BytesIO()
            with tarfile.open(fileobj=file, mode=mode) as pack:
                for name in ('set/a.csv', 'set/b/c.csv', 'README'):
                    info = tarfile.TarInfo(name)
                    info.size = 120
                    pack.addfile(info, io.BytesIO(b'0,1,2\n' * 20))
            yield file.getvalue()

    def case(raw, seed):
        def work():
            rng = np.random.default_rng(seed)
            for _ in range(100):
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / 'a'
                    path.write_bytes(spoiled(raw, rng))
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter('ignore')
                            unpack(path, Path(folder) / 'out', max_bytes=10**6)
                    except ValueError as error:
                        assert '\n' not in str(error) and str(error), repr(error)
                    assert set(os.listdir(folder)) <= {'a', 'out'}

        return work

    n_cases = 10 if ROUNDS > 1 else 1
    return every(
        (
            (f'{at} {seed}', case(raw, seed))
            for at, raw in enumerate(whole())
            for seed in range(n_cases)
        ),
        times=100,
    )


# ----------------------------------------------------------------------------------------- table


def main():
    global ROUNDS
    parser = argparse.ArgumentParser()
    parser.add_argument('words', nargs='*')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--minutes', type=float, default=120)
    parser.add_argument('--answers', action='store_true', help=argparse.SUPPRESS)
    warnings.simplefilter('ignore')
    given = parser.parse_args()
    if given.answers:
        print(json.dumps({name: answers(name, one) for name, one in fitted().items()}))
        return
    ROUNDS = given.rounds
    end, total = time.monotonic() + 60 * given.minutes, Counter()
    columns = 'inputs', 'signal', 'hung', 'failed'
    print(f'{"":42}', *(f'{name:>8}' for name in columns), f'{"cpu s":>8}')
    for name, work in PROBES.items():
        if given.words and not any(word in name for word in given.words):
            continue
        if time.monotonic() > end:
            print(f'{name:42} left out: the limit of {given.minutes:g} minutes is reached')
            continue
        OUTCOMES.clear()
        mark, text = sum(os.times()[:4]), ''
        try:
            work()
        except Exception as error:
            text = str(error)
            OUTCOMES['failed'] += not OUTCOMES
        total.update(OUTCOMES)
        counts = [f'{OUTCOMES[one]:8,}' for one in columns]
        print(f'{name:42}', *counts, f'{sum(os.times()[:4]) - mark:8.1f}', text, flush=True)
    print(f'{"total":42}', *(f'{total[one]:8,}' for one in columns), f'{sum(os.times()[:4]):8.1f}')
    sys.exit(any(total[one] for one in columns[1:]))


if __name__ == '__main__':
    main()
