"""Optimization methods whose naive cost is out of reach: a textbook in notebooks that is also a
fast library.

The parts are loaded when they are first used: `extreme_opt.softmax` needs no import of its own.
"""

from typing import Any as _Any

from extreme_opt.late import register as _register

__version__ = "0.2.0"
__all__ = ['__version__', 'show_versions']

_register('on_client', 'extreme_opt.scale.estimators:on_client')  # client= of an estimator
_register('labeled_rows', 'extreme_opt.scale.collections:labeled_rows')  # dask collections

_PARTS = ('core', 'data', 'softmax', 'similarity', 'ordinal', 'bound', 'show', 'scale', 'lab')


def __getattr__(name: str) -> _Any:
    if name in _PARTS:
        from importlib import import_module

        try:
            return import_module(f'{__name__}.{name}')
        except ModuleNotFoundError as error:
            if error.name != f'{__name__}.{name}':
                raise
    raise AttributeError(
        f'module {__name__!r} has no attribute {name!r}; it has'
        f' {", ".join(part for part in __dir__() if not part.startswith("_"))}'
    )


def __dir__() -> list[str]:
    from pathlib import Path

    there = [
        part
        for part in _PARTS
        if any((Path(place) / part / '__init__.py').exists() for place in __path__)
    ]
    return sorted({*globals(), *there})


def show_versions() -> None:  # prints; paste it into a report
    "Print what a report of a problem should say: versions, threads, and which extras are there."
    import os
    import platform
    import sys
    from importlib import metadata

    def version(name: str) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return 'not installed'

    from extreme_opt.core.compiled import HAVE_NUMBA

    threads = {
        name: os.environ[name]
        for name in (
            'NUMBA_NUM_THREADS',
            'OMP_NUM_THREADS',
            'OPENBLAS_NUM_THREADS',
            'MKL_NUM_THREADS',
        )
        if name in os.environ
    }
    rows = [
        ('extreme_opt', __version__),
        ('python', sys.version.split()[0]),
        ('platform', platform.platform()),
        ('processor', f'{platform.machine()}, {os.cpu_count()} logical cores'),
    ]
    rows += [
        (name, version(name)) for name in ('numpy', 'scipy', 'numba', 'llvmlite', 'scikit-learn')
    ]
    rows.append(('compiled', 'yes' if HAVE_NUMBA else 'no, kernels run as plain Python'))
    if HAVE_NUMBA:
        numba = sys.modules['numba']
        rows.append(('threads', f'{numba.get_num_threads()} of {numba.config.NUMBA_NUM_THREADS}'))
    rows += [
        (
            'set in shell',
            ', '.join(f'{name}={value}' for name, value in threads.items())
            or 'no limit on threads',
        )
    ]
    optional = dict(
        data='pooch',
        learn='pandas',
        show='matplotlib ipywidgets tqdm',
        lab='jupyterlab',
        ann='faiss-cpu',
        scale='dask distributed',
    )
    rows += [
        (f'[{extra}] {name}', version(name))
        for extra, names in optional.items()
        for name in names.split()
    ]
    wide = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f'{name:<{wide}}  {value}')
