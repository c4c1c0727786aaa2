"Kernels run with numba, and without it as plain Python; long calls are cut into blocks."

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extreme_opt.core import compiled
from extreme_opt.core.compiled import njit, prange, timed_chunks

sys.path.insert(0, str(Path(__file__).parent))
import compiled_doors  # noqa: E402


def test_njit_is_what_have_numba_says():
    if compiled.HAVE_NUMBA:
        import numba

        assert prange is numba.prange
    else:
        assert prange is range
    for kernel in (njit(lambda x: x + 1), njit(error_model='numpy')(lambda x: x + 1)):
        assert kernel(1) == kernel.py_func(1) == 2
        assert hasattr(kernel, 'signatures') == compiled.HAVE_NUMBA


def clocked(clock):
    "A clock that says what the list holds."
    return mock.patch.object(compiled, 'time', SimpleNamespace(perf_counter=lambda: clock[0]))


@settings(max_examples=60, deadline=None)
@given(
    n_items=st.integers(0, 5000),
    first=st.integers(1, 700),
    times=st.lists(st.floats(0, 10), min_size=1, max_size=20),
)
def test_blocks_cover_everything_once_at_any_speed(n_items, first, times):
    clock, seen, sizes = [0.0], np.zeros(n_items, int), []
    with clocked(clock):
        for k, (start, stop) in enumerate(timed_chunks(n_items, first=first)):
            seen[start:stop] += 1
            sizes.append(stop - start)
            clock[0] += times[k % len(times)]
    assert (seen == 1).all()
    assert all(after <= 4 * before + 1 for before, after in zip(sizes, sizes[1:], strict=False))


def test_blocks_settle_near_the_wanted_time():
    clock, sizes = [0.0], []
    with clocked(clock):
        for start, stop in timed_chunks(10**6, seconds=0.25):
            sizes.append(stop - start)
            clock[0] += (stop - start) * 1e-4  # ten thousand items a second
    assert sizes[0] == 256 and max(sizes) <= 2501 and min(sizes[4:-1]) >= 2400


def copied(tmp_path):
    "The package in a folder of its own, with nothing compiled."
    folder = tmp_path / 'package'
    source, ignore = Path(compiled.__file__).parents[1], shutil.ignore_patterns('__pycache__')
    shutil.copytree(source, folder / 'extreme_opt', ignore=ignore)
    return folder


def printed(folder, program, **environment):
    "What a program prints, and what it logs, with the package of that folder."
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ('NUMBA_CACHE_DIR', 'NUMBA_DISABLE_JIT')
    }
    ran = subprocess.run(
        [sys.executable, '-c', program],
        env={**env, 'PYTHONPATH': str(folder), 'PYTHONDONTWRITEBYTECODE': '1', **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, ran.stderr


KERNEL = """from extreme_opt.core.compiled import njit
from extreme_opt.core.{module} import {name}

@njit(cache=True)
def {kernel}(t): return 2 * {call}
"""


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
def test_kept_kernels_follow_what_their_module_imports_and_nothing_else(tmp_path):
    """A constant two imports away from one caller in the package and one outside; neither file
    changes. One that follows everything is outside."""
    folder = copied(tmp_path)
    core, caller = folder / 'extreme_opt/core', dict(module='near', name='near', call='near(t)')
    (core / 'far.py').write_text('FAR = 1.5\n')
    near = dict(module='far', name='FAR', kernel='near', call='FAR * t')
    (core / 'near.py').write_text(KERNEL.format(**near))
    (core / 'inside.py').write_text(KERNEL.format(**caller, kernel='inside'))
    (folder / 'outside.py').write_text(KERNEL.format(**caller, kernel='outside'))
    program = """from extreme_opt.core.inside import inside
from outside import outside
print(*[f'{one(1.0)} {sum(one.stats.cache_hits.values())}' for one in (inside, outside)])"""
    assert printed(folder, program)[0] == '6.0 0 6.0 0\n'
    assert printed(folder, program)[0] == '6.0 1 6.0 1\n'
    with open(core / 'run.py', 'a') as file:
        file.write('\nUNRELATED = 1\n')
    assert printed(folder, program)[0] == '6.0 1 6.0 0\n'
    (core / 'far.py').write_text('FAR = 2.5\n')
    assert printed(folder, program)[0] == '10.0 0 10.0 0\n'


ALL = 'extreme_opt extreme_opt.a extreme_opt.a.one extreme_opt.b extreme_opt.b.two extreme_opt.c'


@pytest.mark.parametrize(
    ('source', 'found'),
    [
        ('import numpy', ''),
        ('from . import one', 'extreme_opt.a.one'),
        ('from .one import (\n    f,\n    g,\n)', 'extreme_opt.a.one'),
        ('from ..c import f as g', 'extreme_opt.c'),
        ('import numpy, extreme_opt.a.one as one', 'extreme_opt.a.one'),
        ('from .one import *', 'extreme_opt.a.one'),
        ('try:\n    from .one import f\nexcept ImportError:\n    pass', 'extreme_opt.a.one'),
        ('if True:\n    from .one import f', 'extreme_opt.a.one'),
        ('class A:\n    from .one import f', 'extreme_opt.a.one'),
        ('from ..b import lazy', 'extreme_opt.b extreme_opt.b.two'),  # a package: all that is in it
        ('def f():\n    from .one import g', ''),  # no kernel reaches it
        ('def f():\n    from .one import g\n    return g\nF = f()', 'extreme_opt.a.one'),
        ('def f():\n    from .one import g\n    return g\n@f\ndef h(): pass', 'extreme_opt.a.one'),
        ('import extreme_opt', ALL),
        ('from .gone import f', ALL),
        ("F = importlib.import_module('.' + 'one').f", ALL),
        ("exec('from .one import f')", ALL),
        ("F = late.find('f')", ALL),
        ('F = find(1)\n', ALL),
        ('F = (', ALL),
    ],
)  # fmt: skip
def test_imports_are_read_from_the_source_and_are_all_where_it_does_not_tell(
    source, found, monkeypatch
):
    packages = 'extreme_opt', 'extreme_opt.a', 'extreme_opt.b'
    texts = {name: (b'', name in packages) for name in ALL.split()}
    texts['extreme_opt.a.new'] = source.encode(), False
    monkeypatch.setattr(compiled, '_texts', lambda: texts)
    found = {*found.split(), 'extreme_opt.a.new'} if found == ALL else set(found.split())
    assert compiled._imports.__wrapped__('extreme_opt.a.new') == found


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
def test_all_that_kernels_of_the_package_name_is_in_what_their_stamp_covers():
    "Functions, classes and modules that the code of a kernel names, and kernels that those name."
    import importlib
    import types

    seen = 0
    for module in {f'extreme_opt.{one.split()[0]}' for one in compiled_doors.listing()}:
        covered, more = set(), {module}
        while more:
            covered |= more
            more = {two for one in more for two in compiled._imports(one)} - covered
        assert len(covered) < 30
        home = vars(importlib.import_module(module)).values()
        todo = [one.py_func for one in home if hasattr(one, 'signatures')]
        known = set()
        while todo:
            kernel = todo.pop()
            for name in kernel.__code__.co_names:
                value = kernel.__globals__.get(name)
                value = getattr(value, 'py_func', value)
                is_module = isinstance(value, types.ModuleType)
                place = getattr(value, '__name__' if is_module else '__module__', None)
                if str(place).partition('.')[0] == 'extreme_opt' and value not in known:
                    assert place in covered, f'{module}: {kernel.__name__} names {place}.{name}'
                    known.add(value)
                    seen += 1
                    todo += [value] if isinstance(value, types.FunctionType) else []
    assert seen > 50


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
def test_kept_kernels_of_a_version_whose_types_are_gone_are_compiled_again(tmp_path):
    import pickle

    folder, kept = copied(tmp_path), tmp_path / 'kept'
    program = 'from extreme_opt.core import linalg; print(linalg.omega(1.))'
    assert printed(folder, program, NUMBA_CACHE_DIR=str(kept))[0] == '1.0\n'
    for index in kept.rglob('*.nbi'):
        with open(index, 'rb') as file:
            version = pickle.load(file)
        index.write_bytes(pickle.dumps(version) + b'cextreme_opt.core.linalg\nGone\n.')
    assert printed(folder, program, NUMBA_CACHE_DIR=str(kept)) == ('1.0\n', '')


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
@pytest.mark.parametrize('kind', ['nbi', 'nbc'])
def test_reliability_kept_kernels_that_are_cut_short_are_compiled_again(tmp_path, kind):
    "numba #10434: after an interrupted write each later call was an EOFError."
    folder, kept = copied(tmp_path), tmp_path / 'kept'
    program = 'from extreme_opt.core import linalg; print(linalg.omega(1.))'
    assert printed(folder, program, NUMBA_CACHE_DIR=str(kept))[0] == '1.0\n'
    for length in (100, 0):
        for path in kept.rglob(f'*.{kind}'):
            path.write_bytes(path.read_bytes()[:length])
        assert printed(folder, program, NUMBA_CACHE_DIR=str(kept)) == ('1.0\n', '')


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
def test_the_package_works_where_no_kernel_can_be_kept(tmp_path):
    folder = copied(tmp_path)
    (folder / 'extreme_opt/core/__pycache__').write_text('a file where numba wants a folder')
    nowhere = dict(
        HOME='/dev/null', XDG_CACHE_HOME='/dev/null/cache', LOCALAPPDATA='/dev/null/cache'
    )
    out, log = printed(
        folder, 'from extreme_opt.core import linalg; print(linalg.omega(1.))', **nowhere
    )
    assert out == '1.0\n' and log.count('NUMBA_CACHE_DIR') == 1 and len(log.splitlines()) == 1
    out, log = printed(
        folder,
        'from extreme_opt.core import linalg; print(linalg.omega(1.))',
        **nowhere,
        NUMBA_CACHE_DIR=str(tmp_path / 'kept'),
    )
    assert (out, log) == ('1.0\n', '') and list((tmp_path / 'kept').rglob('*.nbi'))


WATCHED = """import io, sys
from extreme_opt.core import linalg
watched = {watched}
sys.stderr = watched
linalg.omega(1.0), linalg.omega(2)
sys.stderr = sys.__stderr__
print(repr(watched.getvalue()))
"""


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
@pytest.mark.parametrize(
    ('watched', 'told'),
    [
        ("type('Terminal', (io.StringIO,), dict(isatty=lambda self: True))()", True),
        ("type('OutStream', (io.StringIO,), dict(__module__='ipykernel.iostream'))()", True),
        ('io.StringIO()', False),
    ],
)
def test_who_watches_is_told_once_that_kernels_are_compiled(tmp_path, watched, told):
    folder, program = copied(tmp_path), WATCHED.format(watched=watched)
    line = 'extreme_opt: compiling, some seconds, once on this machine\n' if told else ''
    kept = dict(NUMBA_CACHE_DIR=str(tmp_path / 'kept'))
    assert printed(folder, program, **kept) == (f'{line!r}\n', '')
    assert printed(folder, program, **kept) == ("''\n", '')  # it is on disk now


LOST = """import os, shutil
from pathlib import Path
import extreme_opt.core.linalg as linalg
folder = Path(os.environ['NUMBA_CACHE_DIR'])
shutil.rmtree(folder, ignore_errors=True)
folder.write_text('a file where the folder was')
print(linalg.omega(1.0))
"""


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
def test_a_folder_of_kernels_that_goes_away_is_no_error(tmp_path):
    folder = copied(tmp_path)
    out, err = printed(folder, LOST, NUMBA_CACHE_DIR=str(tmp_path / 'kernels'))
    assert float(out) == 1.0
    assert err.count('compiled kernels cannot be kept on disk') == 1


# -------------------------------------------------------------------------- what is behind checks


def test_reliability_every_kernel_has_doors_that_check():
    "A new kernel has no row: `python compiled_doors.py` here writes it; its door is fuzzed."
    found, blocks = compiled_doors.listing(), set()
    assert compiled_doors.as_text(found) == compiled_doors.LIST.read_text(encoding='utf-8')
    known = {*compiled_doors.doors(), *compiled_doors.UNTRIED}
    for kernel, doors in found.items():
        if not doors or kernel in compiled_doors.BLOCKS:
            blocks.add(kernel)
        assert set(doors) <= known, f'{kernel} is reached from {doors}: add a call to `doors`'
    assert blocks <= compiled_doors.BLOCKS and len(found) > 100


@pytest.mark.skipif(not compiled.HAVE_NUMBA, reason='numba is not there')
def test_reliability_the_list_of_kernels_is_whole():
    "What is compiled after all modules are imported, however it came about, is on the list."
    program = """import gc, importlib, pkgutil, extreme_opt
from numba.core.dispatcher import Dispatcher
for module in pkgutil.walk_packages(extreme_opt.__path__, 'extreme_opt.'):
    importlib.import_module(module.name)
made = [one.py_func for one in gc.get_objects() if isinstance(one, Dispatcher)]
names = {f'{one.__module__} {one.__qualname__}' for one in made}
print(*sorted(one.partition('.')[2] for one in names if one.startswith('extreme_opt.')), sep='\\n')
"""
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == sorted(compiled_doors.listing())


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='the calls are made in children')
def test_reliability_doors_of_kernels_hold():
    "The kind of `best_labels`, which read past its arrays: wrong sizes, ids and types, 0 signals."
    n, bad = compiled_doors.fuzz(few=1)
    assert n > 80 and not bad, bad


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, 'fork'), reason='the calls are made in children')
def test_reliability_doors_of_kernels_hold_against_all():
    "A third of the calls, with some at each door: `python compiled_doors.py fuzz` makes all."
    n, bad = compiled_doors.fuzz(few=15)
    assert n > 1000 and not bad, bad
