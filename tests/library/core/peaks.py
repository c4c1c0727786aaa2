"""Memory of fits as the system measures it, beside the forecast.

    python tests/library/core/peaks.py [--all] [ESTIMATOR ...]

Each estimator has a process of its own. A tiny fit compiles; then the peak of the resident memory
is set back, and its rise over the level before the fit is read after it. Linux only.
"""

import ctypes
import gc
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse

from extreme_opt.core.memory import forecast_memory

MB = 1 << 20


def case(estimator, solver, sizes, *, usual=True, **settings):
    return dict(estimator=estimator, solver=solver, sizes=sizes, settings=settings, usual=usual)


def rows(n, d, k, stored=None):
    return dict(n_rows=n, n_columns=d, n_classes=k, n_stored=stored and stored * n)


def pairs(left, right, n, k):
    return dict(n_left=left, n_right=right, n_pairs=n, n_components=k)


def triplets(objects, n, k):
    return dict(n_objects=objects, n_rows=n, n_components=k)


FEW = dict(max_epochs=2, learning_rate=None)
SUPPORT = FEW | dict(weights='support')
MEANS = SUPPORT | dict(average=True)
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
    case('bound', 'sbm', rows(20_000, 120, 12), usual=False, max_iter=1),
    case('similarity', 'als', pairs(60_000, 30_000, 500_000, 64), max_iter=2),
    case('similarity', 'als', pairs(5000, 3000, 1_000_000, 16), usual=False, max_iter=2),
    case('similarity', 'als', pairs(100_000, 8000, 1_500_000, 32), usual=False, max_iter=2),
    case('similarity', 'newton', pairs(60_000, 20_000, 200_000, 32), usual=False, max_iter=2),
    case('similarity', 'adagrad', pairs(60_000, 20_000, 200_000, 32), usual=False, max_iter=2),
    case('similarity', 'lbfgs', pairs(10_000, 3000, 200_000, 32), max_iter=13),
    case('similarity', 'block', pairs(60_000, 20_000, 200_000, 32), usual=False, max_iter=2),
    case('ordinal', 'lbfgs', triplets(30_000, 100_000, 2), max_iter=12),
    case('ordinal', 'lbfgs', triplets(10_000, 30_000, 8), usual=False, max_iter=12),
    case('ordinal', 'svrg', triplets(1000, 600_000, 2), usual=False, max_iter=2),
    case('ordinal', 'svrg', triplets(40_000, 300_000, 4), usual=False, max_iter=1),
    case('ordinal', 'svrg', triplets(60_000, 60_000, 8), usual=False, max_iter=1),
]
TINY = dict(
    softmax=rows(60, 5, 3),
    bound=rows(60, 5, 3),
    similarity=pairs(40, 30, 200, 2),
    ordinal=triplets(12, 200, 2),
)


def data(one, sizes):
    "Made-up data of these sizes."
    rng = np.random.default_rng(0)
    if one['estimator'] in ('softmax', 'bound'):
        n, d, k = (sizes[name] for name in ('n_rows', 'n_columns', 'n_classes'))
        if sizes['n_stored'] is None:
            return rng.random((n, d)), np.arange(n) % k
        each = sizes['n_stored'] // n
        columns = np.sort(rng.integers(0, d, (n, each)), axis=1).astype(np.int32)
        starts = each * np.arange(n + 1, dtype=np.int32)
        X = scipy.sparse.csr_array((np.ones(n * each), columns.ravel(), starts), shape=(n, d))
        X.sum_duplicates()
        return X, np.arange(n) % k
    if one['estimator'] == 'similarity':
        left, right, n = (sizes[name] for name in ('n_left', 'n_right', 'n_pairs'))
        return (np.column_stack([rng.integers(0, left, n), rng.integers(0, right, n)]),)
    found = rng.integers(0, sizes['n_objects'], (sizes['n_rows'], 3))
    apart = (found[:, 0] != found[:, 1]) & (found[:, 1] != found[:, 2])
    return (found[apart & (found[:, 0] != found[:, 2])],)


def model(one, sizes):
    from extreme_opt.bound import BoundClassifier
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import SimilarityModel
    from extreme_opt.softmax import SoftmaxClassifier

    kinds = dict(
        softmax=SoftmaxClassifier,
        bound=BoundClassifier,
        similarity=SimilarityModel,
        ordinal=OrdinalEmbedding,
    )
    width = {name: sizes[name] for name in ('n_components',) if name in sizes}
    return kinds[one['estimator']](solver=one['solver'], **width, **one['settings'])


def resident(key):
    text = Path('/proc/self/status').read_text()
    return int(re.search(rf'{key}:\s+(\d+)', text)[1]) << 10


def measure(one):
    "Bytes that a fit holds at its peak besides its data."
    model(one, TINY[one['estimator']]).fit(*data(one, TINY[one['estimator']]))
    given = data(one, one['sizes'])
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = resident('VmRSS')
    Path('/proc/self/clear_refs').write_text('5')
    model(one, one['sizes']).fit(*given)
    return resident('VmHWM') - before


def forecast(one):
    "What the estimator forecasts for the same fit."
    sizes, solver = dict(one['sizes']), one['solver']
    exact = one['estimator'] == 'bound' or solver == 'lbfgs'
    if one['estimator'] in ('softmax', 'bound'):
        sizes['n_columns'] += 1
        if one['settings'].get('weights') == 'support':
            solver, cells = 'support', sizes['n_classes'] * sizes['n_columns']
            cells *= 1 - np.exp(-sizes['n_stored'] / cells)  # of pairs drawn uniformly
            sizes['n_weights'] = cells + sizes['n_classes'] + sizes['n_rows']
        elif sizes['n_stored'] is not None:
            sizes['n_stored'] += sizes['n_rows']
    half = one['estimator'] == 'similarity' or one['estimator'] == 'softmax' and not exact
    sizes['n_more'] = 2.2 * bool(one['settings'].get('average'))
    return forecast_memory(one['estimator'], solver, itemsize=4 if half else 8, **sizes)


def peaks(chosen):
    "Cases with `peak` and `forecast` in bytes; a process for each estimator."
    found = []
    for estimator in dict.fromkeys(one['estimator'] for one in chosen):
        own = [one for one in chosen if one['estimator'] == estimator]
        command = [sys.executable, __file__, 'measure']
        done = subprocess.run(
            command, input=json.dumps(own), capture_output=True, text=True, timeout=1800
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found += [
            one | dict(peak=peak, forecast=forecast(one))
            for one, peak in zip(own, json.loads(done.stdout.splitlines()[-1]))
        ]
    return found


def _told(one):
    more = [name for name in ('weights', 'average') if one['settings'].get(name)]
    return ', '.join([one['solver'], *more]).replace('weights', 'weights="support"')


def main(words):
    if words == ['measure']:
        warnings.simplefilter('ignore')
        print(json.dumps([measure(one) for one in json.loads(sys.stdin.read())]))
        return
    chosen = [one for one in CASES if one['usual'] or '--all' in words]
    names = [word for word in words if word != '--all']
    print('| estimator | solver | sizes | peak, MB | forecast, MB | ratio |')
    print('|---|---|---|--:|--:|--:|')
    for one in peaks([one for one in chosen if not names or one['estimator'] in names]):
        sizes = ', '.join(f'{k[2:]} {v:,}' for k, v in one['sizes'].items() if v is not None)
        print(
            f'| {one["estimator"]} | {_told(one)} | {sizes} | {one["peak"] / MB:.0f} | '
            f'{one["forecast"] / MB:.0f} | {one["forecast"] / one["peak"]:.2f} |'
        )


if __name__ == '__main__':
    main(sys.argv[1:])
