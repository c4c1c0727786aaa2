"""Memory of fits as the system measures it, beside the forecast.

A tiny fit compiles; then each fit has a process of its own, so that it does not depend on what was
fitted before. There the peak of the resident memory is set back, and its rise over the level before
the fit is read after it. Pages of files, such as those of libraries, do not count. Linux only.
"""

import ctypes
import gc
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse

from extreme_opt.core import memory


def case(estimator, solver, sizes, *, usual=True, more=None, **settings):
    "A fit; `more` says what it is given besides: features, or a prior."
    one = dict(estimator=estimator, solver=solver, sizes=sizes, settings=settings, usual=usual)
    return one | dict(more=more)


def rows(n, d, k, stored=None):
    return dict(n_rows=n, n_columns=d, n_classes=k, n_stored=stored and stored * n)


def pairs(left, right, n, k):
    return dict(n_left=left, n_right=right, n_pairs=n, n_components=k)


def triplets(objects, n, k):
    return dict(n_objects=objects, n_rows=n, n_components=k)


def lists(left, right, n):
    return dict(n_left=left, n_right=right, n_pairs=n)


FEW = dict(max_epochs=2, learning_rate=None)
SUPPORT = FEW | dict(weights='support')
MEANS = SUPPORT | dict(average=True)
PRIORS = FEW | dict(logit_adjustment=1.0, class_weight='balanced')
TWO = dict(usual=False, max_iter=2)
SEARCHED = dict(weights='support', max_epochs=2)
CASES = [
    case('softmax', 'implicit', rows(3000, 3000, 3000, 20), **FEW),
    case('softmax', 'implicit', rows(200_000, 30, 10), **FEW),
    case('softmax', 'implicit', rows(3000, 2500, 2000, 20), average=True, **FEW),
    case('softmax', 'umax', rows(40_000, 200, 500), usual=False, **FEW),
    case('softmax', 'sampled', rows(3000, 3000, 2000, 20), usual=False, **FEW),
    case('softmax', 'implicit', rows(100_000, 40_000, 20_000, 20), weights='support', **FEW),
    case('softmax', 'implicit', rows(40_000, 2000, 500, 60), weights='support', usual=False, **FEW),
    case('softmax', 'implicit', rows(60_000, 30_000, 10_000, 30), usual=False, **MEANS),
    case('softmax', 'auto', rows(60_000, 20_000, 30_000, 30), usual=False, **SEARCHED),
    case('softmax', 'implicit', rows(50_000, 20_000, 15_000, 25), usual=False, **SUPPORT),
    case('softmax', 'lbfgs', rows(3000, 2000, 200), max_iter=14),
    case('softmax', 'lbfgs', rows(60_000, 60, 10), usual=False, max_iter=14),
    case('bound', 'auto', rows(10_000, 1500, 10, 20), max_iter=2),
    case('bound', 'auto', rows(60_000, 60, 10), usual=False, max_iter=2),
    case('bound', 'lbfgs', rows(2000, 600, 300), usual=False, max_iter=14),
    case('bound', 'lbfgs', rows(15_000, 200, 40), usual=False, max_iter=14),
    case('bound', 'quasi', rows(20_000, 50, 100), usual=False, max_iter=14),
    case('bound', 'auto', rows(1900, 200_000, 5, 60), usual=False, max_iter=2),
    case('bound', 'lbfgs', rows(6000, 200_000, 5, 30), usual=False, max_iter=14),
    case('bound', 'sbm', rows(20_000, 120, 12), usual=False, max_iter=1),
    case('similarity', 'als', pairs(60_000, 30_000, 500_000, 64), max_iter=2),
    case('similarity', 'als', pairs(5000, 3000, 1_000_000, 16), usual=False, max_iter=2),
    case('similarity', 'als', pairs(100_000, 8000, 1_500_000, 32), **TWO),
    case('similarity', 'newton', pairs(60_000, 20_000, 200_000, 32), usual=False, max_iter=2),
    case('similarity', 'adagrad', pairs(60_000, 20_000, 200_000, 32), usual=False, max_iter=2),
    case('similarity', 'lbfgs', pairs(10_000, 3000, 200_000, 32), max_iter=13),
    case('similarity', 'block', pairs(60_000, 20_000, 200_000, 32), usual=False, max_iter=2),
    case('ordinal', 'lbfgs', triplets(30_000, 100_000, 2), max_iter=12),
    case('ordinal', 'lbfgs', triplets(10_000, 30_000, 8), usual=False, max_iter=12),
    case('ordinal', 'svrg', triplets(1000, 600_000, 2), usual=False, max_iter=2),
    case('ordinal', 'svrg', triplets(40_000, 300_000, 4), usual=False, max_iter=1),
    case('ordinal', 'svrg', triplets(60_000, 60_000, 8), usual=False, max_iter=1),
    case('ordinal', 'auto', triplets(20_000, 300_000, 3), usual=False, max_iter=14),
    case('softmax', 'exact', rows(30_000, 300, 200), usual=False, max_epochs=2),
    case('softmax', 'auto', rows(60_000, 200, 20), usual=False, max_epochs=2),
    case('softmax', 'implicit', rows(10_000, 3000, 3000, 20), usual=False, **PRIORS),
    case('softmax', 'auto', rows(20_000, 20_000, 500, 30), usual=False),
    case('softmax', 'auto', rows(5000, 60_000, 400, 30), usual=False),
    case('similarity', 'auto', pairs(20_000, 8000, 200_000, 32), more='prior', **TWO),
    case('similarity', 'auto', pairs(30_000, 10_000, 300_000, 32), more='factors', **TWO),
    case('similarity', 'auto', pairs(4000, 2000, 40_000, 32), more='cold', **TWO),
    case('EASE', None, lists(20_000, 3000, 300_000), usual=False, ridge=100.0),
    case('EASE', None, lists(20_000, 2500, 300_000), usual=False),
    case('ItemNeighbors', None, lists(20_000, 10_000, 100_000), usual=False),
    case('RP3beta', None, lists(20_000, 10_000, 100_000), usual=False),
    case('tagger', 'lbfgs', rows(80_000, 100, 30), usual=False, max_iter=14),
    case('tagger', 'lbfgs', rows(60_000, 20_000, 12, 5), usual=False, max_iter=14),
]
TINY = dict(
    softmax=rows(60, 5, 3),
    bound=rows(60, 5, 3),
    tagger=rows(60, 5, 3),
    similarity=pairs(40, 30, 200, 2),
    ordinal=triplets(12, 200, 2),
    **dict.fromkeys(('EASE', 'ItemNeighbors', 'RP3beta'), lists(40, 30, 200)),
)


def table(rng, n, d, each):
    "A sparse matrix of ones."
    columns = np.sort(rng.integers(0, d, (n, each)), axis=1).astype(np.int32)
    starts = each * np.arange(n + 1, dtype=np.int32)
    X = scipy.sparse.csr_array((np.ones(n * each), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    return X


def data(one, sizes):
    "Made-up data of these sizes."
    rng = np.random.default_rng(0)
    if one['estimator'] in ('softmax', 'bound', 'tagger'):
        n, d, k = (sizes[name] for name in ('n_rows', 'n_columns', 'n_classes'))
        stored = sizes['n_stored']
        X = rng.random((n, d)) if stored is None else table(rng, n, d, stored // n)
        y = np.arange(n) % k
        if one['estimator'] != 'tagger':
            return X, y
        starts = range(0, n, 20)
        return [X[at : at + 20] for at in starts], [y[at : at + 20].tolist() for at in starts]
    if one['estimator'] == 'ordinal':
        found = rng.integers(0, sizes['n_objects'], (sizes['n_rows'], 3))
        apart = (found[:, 0] != found[:, 1]) & (found[:, 1] != found[:, 2])
        return (found[apart & (found[:, 0] != found[:, 2])],)
    left, right, n = (sizes[name] for name in ('n_left', 'n_right', 'n_pairs'))
    observed = np.column_stack([rng.integers(0, left, n), rng.integers(0, right, n)])
    if one['more'] == 'prior':
        return observed, table(rng, left, 2000, 20), table(rng, right, 2000, 20)
    return (observed, rng.normal(size=(left, 100))) if one['more'] == 'cold' else (observed,)


def model(one, sizes):
    from extreme_opt import bound, ordinal, similarity, softmax

    kinds = dict(
        softmax=softmax.SoftmaxClassifier,
        bound=bound.BoundClassifier,
        tagger=bound.LinearChainCRF,
        similarity=similarity.SimilarityModel,
        ordinal=ordinal.OrdinalEmbedding,
    )
    kind = kinds.get(one['estimator']) or getattr(similarity, one['estimator'])
    given = {name: sizes[name] for name in ('n_components',) if name in sizes} | one['settings']
    if one['solver'] is not None:
        given['solver'] = one['solver']
    if one['more'] == 'prior':
        given['prior'] = 'cosine'
    if one['more'] == 'factors':
        given['prior'] = tuple(np.ones((sizes[side], 16)) for side in ('n_left', 'n_right'))
    if one['more'] == 'cold':
        given['cold_start'] = 'auto'
    return kind(**given)


def resident(key):
    text = Path('/proc/self/status').read_text()
    return int(re.search(rf'{key}:\s+(\d+)', text)[1]) << 10


def measure(one):
    "Bytes that a fit holds at its peak besides its data, and what it was forecast to hold."
    given, made, told = data(one, one['sizes']), model(one, one['sizes']), []

    def noted(n_bytes, *more, **settings):
        told.append(n_bytes)
        return check(n_bytes, *more, **settings)

    check = memory.check_memory
    for module in [*sys.modules.values()]:
        if vars(module).get('check_memory') is check:
            module.check_memory = noted
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = resident('RssAnon')
    Path('/proc/self/clear_refs').write_text('5')
    made.fit(*given)
    return resident('VmHWM') - resident('RssFile') - before, max(told)


def compile_for(one):
    "A tiny fit of the same kind."
    sizes = TINY[one['estimator']]
    if one['sizes'].get('n_stored'):
        sizes = sizes | dict(n_stored=3 * sizes['n_rows'])
    model(one, sizes).fit(*data(one, sizes))


def measure_apart(one):
    "The same in a process of its own."
    compile_for(one)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(measure(one)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        found = file.read()
    os.waitpid(child, 0)
    return json.loads(found)


def peaks(chosen):
    "Cases with `peak` and `forecast` in bytes; a process for each estimator."
    found = []
    for estimator in dict.fromkeys(one['estimator'] for one in chosen):
        own = [one for one in chosen if one['estimator'] == estimator]
        command = [sys.executable, __file__]
        done = subprocess.run(
            command, input=json.dumps(own), capture_output=True, text=True, timeout=1800
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found += [
            one | dict(peak=peak, forecast=told)
            for one, (peak, told) in zip(own, json.loads(done.stdout.splitlines()[-1]))
        ]
    return found


if __name__ == '__main__':  # in a process of its own
    warnings.simplefilter('ignore')
    print(json.dumps([measure_apart(one) for one in json.loads(sys.stdin.read())]))
