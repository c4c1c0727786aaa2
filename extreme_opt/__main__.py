"""Print versions and cache folders, and check a tiny fit of each estimator.

`size` forecasts the memory of a fit.

The exit status is 0 if every result is as expected and 1 otherwise.
"""

import argparse
import math
import os
import sys
import time
import traceback
import warnings
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from . import show_versions


def compiled_at() -> Path | None:
    "The folder where numba keeps compiled kernels; None without numba."
    from .core.compiled import HAVE_NUMBA

    if not HAVE_NUMBA:
        return None
    from .softmax import implicit

    kernels = [
        kernel
        for kernel in vars(implicit).values()
        if hasattr(kernel, 'stats') and hasattr(kernel, 'signatures')
    ]
    return Path(kernels[0].stats.cache_path) if kernels else None


def show_places() -> None:
    "Print where data and compiled kernels are kept."
    from .data.store import cache_folder

    named = os.environ.get('EXTREME_OPT_DATA')
    print(
        'data sets       ',
        f'{named} (EXTREME_OPT_DATA)' if named else 'EXTREME_OPT_DATA is not set',
    )
    print('downloads       ', f'{cache_folder()} (EXTREME_OPT_CACHE moves it)')
    place = compiled_at()
    print(
        'compiled kernels',
        f'{place} (NUMBA_CACHE_DIR moves it)' if place else 'none, kernels run as plain Python',
    )


def clusters() -> tuple[np.ndarray, np.ndarray]:
    "Sixty rows around three centers that lie far apart."
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    return 4 * np.eye(3)[labels] + rng.normal(scale=0.3, size=(60, 3)), labels


def softmax() -> tuple[str, float, float]:
    from .softmax import SoftmaxClassifier

    rows, labels = clusters()
    return 'accuracy', float(SoftmaxClassifier().fit(rows, labels).score(rows, labels)), 0.95


def similarity() -> tuple[str, float, float]:
    "Users and items of two groups: what is recommended to a user comes from its own group."
    from .similarity import Linear, SimilarityModel

    rng = np.random.default_rng(0)
    group = np.arange(20) % 2
    seen = (group[:, None] == group) & (rng.random((20, 20)) < 0.6)
    model = SimilarityModel(2, Linear(), Linear(), dtype='float64').fit(
        sparse.csr_array(seen.astype(float))
    )
    items, _ = model.recommend(np.arange(20), 2)
    return 'recommended from the right group', float((group[items] == group[:, None]).mean()), 0.9


def ordinal() -> tuple[str, float, float]:
    "Places on a map of 12 objects agree with comparisons of their distances."
    from .ordinal import OrdinalEmbedding

    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 2))

    def apart(places: np.ndarray, triplets: np.ndarray) -> np.ndarray:
        anchor, near, far = places[triplets].swapaxes(0, 1)
        return ((anchor - far) ** 2).sum(1) - ((anchor - near) ** 2).sum(1)

    triplets = np.array([rng.permutation(12)[:3] for _ in range(600)])
    swap = apart(points, triplets) < 0
    triplets[swap] = triplets[swap][:, [0, 2, 1]]
    places = OrdinalEmbedding(2).fit_transform(triplets)
    return 'comparisons that hold', float((apart(places, triplets) > 0).mean()), 0.95


def bound() -> tuple[str, float, float]:
    from .bound import BoundClassifier

    rows, labels = clusters()
    return 'accuracy', float(BoundClassifier().fit(rows, labels).score(rows, labels)), 0.95


FITS = dict(softmax=softmax, similarity=similarity, ordinal=ordinal, bound=bound)


def tell_compilations() -> AbstractContextManager:
    "Print a word when a fit compiles kernels, once per fit, within a `with` block."
    from .core.compiled import HAVE_NUMBA

    if not HAVE_NUMBA:
        return nullcontext()
    event = import_module('numba.core.event')

    class Teller(event.Listener):  # type: ignore[name-defined]
        def on_start(self, happened: Any) -> None:
            global _told
            if not _told:
                print('compiling ... ', end='', flush=True)
                _told = True

        def on_end(self, happened: Any) -> None:
            pass

    return event.install_listener('numba:compile', Teller())


_told = False


def self_test(chosen: list[str]) -> bool:
    "Fit each estimator on a tiny problem and tell whether all is as expected."
    with tell_compilations():
        return all([fits_well(name) for name in chosen])


def fits_well(name: str) -> bool:
    "Fit one estimator and tell."
    global _told
    print(f'{name:<10} ', end='', flush=True)
    _told = False
    mark = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # a tiny problem may end by a limit
            what, value, least = FITS[name]()
    except Exception:
        print('FAILED')
        traceback.print_exc()
        return False
    fine = value >= least
    print(
        f'{"ok" if fine else "FAILED"}  {what} {value:.2f}, at least {least:g} expected; '
        f'{time.perf_counter() - mark:.1f} s',
        flush=True,
    )
    return fine


SIZES = dict(
    softmax=('rows', 'columns', 'classes', 'stored'),
    bound=('rows', 'columns', 'classes', 'stored'),
    similarity=('left', 'right', 'pairs', 'components'),
    ordinal=('objects', 'rows', 'components'),
)
USUAL = dict(softmax='implicit', bound='auto', similarity='als', ordinal='lbfgs')


USUAL_WIDTHS = dict(similarity=64, ordinal=2)
LESS = dict(
    softmax='fewer columns (selected, or hashed), fewer classes, or dtype float32',
    bound='fewer columns, another solver, or client= (rows at workers)',
    similarity='fewer components, or rare users and items left out',
    ordinal='fewer components, or solver svrg',
)


def count(word: str) -> float:
    "A whole number from 1 up, as 300000, 300_000 or 3e5."
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not (value >= 1 and value.is_integer()):
        raise argparse.ArgumentTypeError(
            f'{word!r} is no whole number from 1 up, such as 300000 or 3e5'
        )
    return value


def weights_or_count(word: str) -> Any:
    return word if word in ('dense', 'support') else count(word)


def size(words: list[str]) -> int:
    "Print what a fit would hold, from sizes alone, beside what is free."
    from .core.memory import _gigabytes, forecast_memory, free_memory

    parser = argparse.ArgumentParser(
        prog='python -m extreme_opt size',
        usage='%(prog)s {' + ','.join(SIZES) + '} --SIZE NUMBER ...; -h lists the sizes',
        description=(size.__doc__ or ''),
    )
    parser.add_argument('estimator', choices=SIZES)
    parser.add_argument('--solver', help='default: ' + ', '.join(map(' '.join, USUAL.items())))
    parser.add_argument('--dtype', choices=('float32', 'float64'), help='default: as the estimator')
    options = dict(
        rows=('--samples', '--answers', 'rows of a classifier, comparisons of "ordinal"'),
        columns=('--features', 'columns of the data of a classifier'),
        classes=('classes',),
        stored=('entries of sparse data; left out: dense',),
        left=('--users', 'users, or whatever stands on the left'),
        right=('--items', 'items, or whatever stands on the right'),
        pairs=('observed pairs',),
        objects=('objects',),
        components=('width of embeddings; default: similarity 64, ordinal 2',),
    )
    for name, (*more, said) in options.items():
        parser.add_argument(f'--{name}', *more, type=count, help=said)
    parser.add_argument(
        '--weights',
        type=weights_or_count,
        help='"dense", "support" (softmax), or a number of parameters',
    )
    given = parser.parse_args(words)
    name, solver = given.estimator, given.solver or USUAL[given.estimator]
    odd = [key for key in options if key not in SIZES[name] and getattr(given, key) is not None]
    if odd:
        parser.error(f'{name} has no --{odd[0]}, but --{" --".join(SIZES[name])}')
    if given.components is None:
        given.components = USUAL_WIDTHS.get(name)
    sizes = {f'n_{key}': getattr(given, key) for key in SIZES[name]}
    lost = [key for key, value in sizes.items() if value is None and key != 'n_stored']
    if lost:
        parser.error(f'{name} needs --{" --".join(key[2:] for key in lost)}')
    half = name in ('softmax', 'similarity') and solver != 'lbfgs'
    if given.stored is not None and given.stored > given.rows * given.columns:
        n_rows, n_columns = int(given.rows), int(given.columns)
        parser.error(
            f'--stored {given.stored:.0f} is more than {n_rows} rows and {n_columns} columns have'
        )
    if given.classes == 1:
        parser.error('--classes 1: a classifier needs 2 at least')
    itemsize = int((given.dtype or ('float32' if half else 'float64'))[-2:]) // 8
    if name == 'softmax' and given.stored and not (given.solver or given.weights):
        from .softmax.classifier import _MOST_PRODUCTS
        from .softmax.support import why_support

        many = given.stored * given.classes > _MOST_PRODUCTS
        if why_support(given.stored, given.classes, given.columns, itemsize, many):
            given.weights = 'support'
    most = ''
    if given.weights == 'support' or (solver == 'support' and given.weights is None):
        if name != 'softmax' or given.stored is None or given.solver not in (None, 'support'):
            parser.error('weights on a support are for softmax with --stored, and have one solver')
        solver, most, given.weights = 'support', 'at most ', most_cells(given)
        sizes['n_stored'] *= 2  # as if float64 were given
    weights = None if given.weights == 'dense' else given.weights
    if 'n_columns' in sizes:
        sizes['n_columns'] += 1  # of the intercept
    try:
        n_bytes = forecast_memory(name, solver, n_weights=weights, itemsize=itemsize, **sizes)
    except ValueError as error:
        parser.error(str(error))
    free = free_memory()
    print(
        f'{name}, solver {solver}, float{8 * itemsize}: {most or "about "}{_gigabytes(n_bytes)} '
        'besides the data' + ('' if free is None else f'; {_gigabytes(free)} are free')
    )
    if free is None or n_bytes <= free:
        return 0
    print(f'less: {LESS[name]}')
    if name == 'softmax' and given.stored is not None and not most:
        sizes |= dict(n_weights=most_cells(given), n_stored=2 * given.stored)
        n_bytes = forecast_memory(name, 'support', itemsize=4, **sizes)
        print(f'--weights support: at most {_gigabytes(n_bytes)}')
    return 1


def most_cells(given: argparse.Namespace) -> float:
    "No more weights on a support than entries, where a row has one label; with the intercepts."
    return min(given.stored, given.classes * given.columns) + given.classes + given.rows


def main(words: list[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    if words[:1] == ['size']:
        return size(words[1:])
    parser = argparse.ArgumentParser(
        prog='python -m extreme_opt',
        description=(__doc__ or '').split('\n')[0],
        epilog='python -m extreme_opt size ESTIMATOR ... forecasts the memory of a fit from sizes.',
    )
    parser.add_argument(
        'estimators',
        nargs='*',
        metavar='ESTIMATOR',
        help=f'which to try: {", ".join(FITS)}; default: all',
    )
    parser.add_argument('--no-test', action='store_true', help='print versions and places only')
    given = parser.parse_args(words)
    if wrong := [name for name in given.estimators if name not in FITS]:
        parser.error(f'{wrong[0]!r} is no estimator to try; choose from {", ".join(FITS)}')
    show_versions()
    show_places()
    if given.no_test:
        return 0
    print('\nSelf-test: four tiny fits. The first run compiles their kernels for later ones.')
    good = self_test(given.estimators or list(FITS))
    print('all as expected' if good else 'something is wrong: please report the text above')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
