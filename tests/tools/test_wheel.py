"""The wheel installs in an empty environment, without extras and without this checkout, and works
there."""

import importlib.util
import json
import math
import os
import re
import shutil
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from told import tell

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
import tasks  # noqa: E402

# without extras
NEEDED = 'numpy scipy numba llvmlite sklearn scikit_learn joblib threadpoolctl narwhals'.split()
UNREACHABLE = (
    r'(?i)failed to fetch|error sending request|dns error|could not connect|network is'
    r' unreachable|connection (refused|reset)|timed out'
    r'|network (is|was) disabled|name resolution|failed to establish'
)
OURS = 'PYTHONPATH', 'PYTHONHOME', 'NUMBA_DISABLE_JIT'
AWAY = {name: value for name, value in os.environ.items() if name not in OURS}
COPIED = 'setup.py', 'pyproject.toml', 'README.md', 'LICENSE'


def run(*command, **options):
    return tell(*command, ends_well=True, **dict(cwd=None) | options).stdout


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    "A wheel built from a copy of what is committed, with the tools of this environment."
    copy, out = tmp_path_factory.mktemp('source'), tmp_path_factory.mktemp('dist')
    for name in COPIED:
        shutil.copy(ROOT / name, copy)
    shutil.copytree(
        ROOT / 'extreme_opt', copy / 'extreme_opt', ignore=shutil.ignore_patterns('__pycache__')
    )
    (copy / 'extreme_opt/_modidx.py').write_text('d = {}\n', encoding='utf-8')
    isolation = ['--no-isolation'] if importlib.util.find_spec('setuptools') else []
    run(sys.executable, '-m', 'build', '--wheel', *isolation, '--outdir', out, copy)
    (path,) = out.glob('*.whl')
    return path


def test_reliability_two_builds_give_the_same_bytes(tmp_path):
    "From copies at other places and times, and with files that nobody else may read."
    pytest.importorskip('setuptools')
    found = []
    for name in ('one', 'two'):
        copy = tmp_path / name
        copy.mkdir()
        for file in COPIED:
            (copy / file).write_bytes((ROOT / file).read_bytes())
        (copy / 'extreme_opt/core').mkdir(parents=True)
        for file in ('__init__.py', 'core/__init__.py', 'core/streams.py'):
            (copy / 'extreme_opt' / file).write_bytes((ROOT / 'extreme_opt' / file).read_bytes())
        (copy / 'extreme_opt/py.typed').touch()
        mask = {}
        if found:
            os.utime(copy / 'extreme_opt/__init__.py', (1e9, 1e9))
            for path in copy.rglob('*'):
                path.chmod(0o600 if path.is_file() else 0o700)
            mask = {} if os.name == 'nt' else dict(umask=0o077)
        env = os.environ | dict(SOURCE_DATE_EPOCH='1700000000')
        command = ['-m', 'build', '--wheel', '--no-isolation', '--outdir', copy / 'dist', copy]
        run(sys.executable, *command, env=env, **mask)
        (path,) = (copy / 'dist').glob('*.whl')
        found.append(path.read_bytes())
    assert found[0] == found[1]


@pytest.fixture(scope='module')
def python(wheel, tmp_path_factory):
    "The interpreter of an empty environment that holds the wheel and its requirements."
    folder = tmp_path_factory.mktemp('empty')
    run(sys.executable, '-m', 'venv', '--without-pip', folder / 'venv')
    found = tasks.python_of(folder / 'venv')
    beside = Path(sys.executable).parent, os.environ.get('PATH', '')
    uv = shutil.which('uv', path=os.pathsep.join(map(str, beside)))
    own = [sys.executable, '-m', 'pip', '--python', found, 'install']
    install = [uv, 'pip', 'install', '--python', found] if uv else own
    pins = '-c', ROOT / 'constraints.txt'
    done = tell(*install, '-q', *pins, wheel, cwd=None, env=AWAY)
    if done.returncode == 0:
        return found
    assert re.search(UNREACHABLE, done.stderr), done.stderr
    run(
        *install, '--no-deps', '--offline' if uv else '--no-index', wheel, env=AWAY
    )  # no index in reach: lend it our copies of the three
    home = Path(run(found, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))').strip())
    here = Path(importlib.util.find_spec('numpy').origin).parent.parent
    for name in NEEDED:
        for path in [here / name, here / f'{name}.libs', *here.glob(f'{name}-*.dist-info')]:
            if path.exists():
                (home / path.name).symlink_to(path)
    return found


def test_wheel_holds_the_package_and_nothing_else(wheel):
    """Every module, the type marker and the license are in it; tests, notebooks, caches and the
    index of nbdev are not, even where the checkout has one."""
    names = zipfile.ZipFile(wheel).namelist()
    have = {name for name in names if '.dist-info/' not in name}
    want = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / 'extreme_opt').rglob('*.py')
        if path.stem not in ('_modidx', '_export')
    }
    want |= {'extreme_opt/py.typed', 'extreme_opt/data/registry.toml'}
    assert have == want
    tasks.check_wheel(wheel)
    assert any(name.endswith('licenses/LICENSE') for name in names)


def test_wheel_says_what_it_needs(wheel):
    "Requirements, extras, version and the least Python are those of pyproject.toml."
    import tomllib

    own = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['project']
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith('METADATA')]
        said = message_from_string(archive.read(name).decode())
    needs = [need for need in said.get_all('Requires-Dist') if 'extra ==' not in need]
    base = [re.match(r'[\w-]+', need)[0] for need in needs]
    assert sorted(base) == ['numba', 'numpy', 'scikit-learn', 'scipy']
    assert set(said.get_all('Provides-Extra')) == set(own['optional-dependencies'])
    assert said['Requires-Python'] == own['requires-python']
    text = (ROOT / 'extreme_opt/__init__.py').read_text(encoding='utf-8')
    assert f'__version__ = "{said["Version"]}"' in text


def test_wheel_works_without_extras(python, tmp_path):
    """Away from the checkout: it imports from the environment, tells its versions, names a missing
    extra, and fits."""
    shutil.copy(ROOT / 'tests/library/package/tiny_fits.py', tmp_path)
    env = {**AWAY, 'EXTREME_OPT_CACHE': str(tmp_path / 'cache')}
    code = """
import importlib.util, pathlib, sys, extreme_opt

assert pathlib.Path(extreme_opt.__file__).is_relative_to(sys.prefix), extreme_opt.__file__
assert not [
    name for name in ('matplotlib', 'pandas', 'nbdev', 'fastcore') if importlib.util.find_spec(name)
]
extreme_opt.show_versions()
try:
    extreme_opt.show.frames
except ImportError as error:
    print(error)
"""
    said = run(python, '-c', code, cwd=tmp_path, env=env)
    assert all(re.search(line, said, re.M) for line in (r'^extreme_opt +\d', '^compiled +yes'))
    assert re.search(r'matplotlib +not installed', said) and said.endswith(
        'not installed; pip install "extreme_opt[show]"\n'
    )
    words = 'tiny_fits.py', 'data.made_up', 'softmax.sgd'
    said = json.loads(run(python, *words, cwd=tmp_path, env=env))
    assert said['have_numba'] and all(
        math.isfinite(value) for values in said['results'].values() for value in values
    )
