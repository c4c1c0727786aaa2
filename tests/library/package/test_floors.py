"Who may import whom, and what a plain import must never bring along."

import ast
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIB = ROOT / 'extreme_opt'
CHAPTERS = {'softmax', 'similarity', 'ordinal', 'bound'}
# beside itself
MAY = {
    'core': set(),
    'data': {'core'},
    **{name: {'core', 'data'} for name in CHAPTERS},
    'show': {'core'},
    'scale': {'core', 'data'},
    'lab': {'core'},
}
LOW = {'core', 'data', *CHAPTERS}  # floors 0 to 2
TOP = {'numpy', 'scipy'} | sys.stdlib_module_names  # what floors 0 to 2 may import at the top
LATE = {'scipy.optimize', 'scipy.stats'}  # slow to import: inside functions only
ESTIMATORS = {  # the modules that define estimators, and they alone, import scikit-learn at the top
    *('core/estimator.py', 'softmax/classifier.py', 'softmax/support.py', 'bound/classifier.py'),
    *('bound/tagger.py', 'similarity/model.py', 'ordinal/embedding.py'),
}
HEAVY = (
    'matplotlib ipywidgets sklearn dask distributed nbdev fastcore pandas tqdm pooch IPython'
    ' scipy.optimize scipy.stats'.split()
)
MODULES = sorted(
    path for path in LIB.rglob('*.py') if path.name not in ('_modidx.py', '_export.py')
)
PACKAGES = sorted(path.parent.name for path in LIB.glob('*/__init__.py'))


def imports(path):
    "(module, at the top) for each import of a file; `from a import b` gives a and a.b."
    tree = ast.parse(path.read_text(encoding='utf-8'))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(function)
    }
    for branch in ast.walk(tree):  # `if TYPE_CHECKING:` is never executed
        if isinstance(branch, ast.If) and 'TYPE_CHECKING' in ast.unparse(branch.test):
            inside |= {id(node) for node in ast.walk(branch)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ''
            if node.level:
                here = ('extreme_opt', *path.relative_to(LIB).with_suffix('').parts)
                base = '.'.join([*here[: len(here) - node.level], *filter(None, [base])])
            names = [base, *(f'{base}.{alias.name}' for alias in node.names)]
        else:
            continue
        for name in names:
            yield name, id(node) not in inside


def package(path):
    parts = path.relative_to(LIB).parts
    return parts[0] if len(parts) > 1 else ''


def offences(path):
    "Imports of one file that its floor does not allow."
    home, label = package(path), path.relative_to(LIB).as_posix()
    for name, at_top in imports(path):
        first, second, *_ = (*name.split('.'), '')
        if first == 'extreme_opt' and second in MAY and home:
            if second not in MAY[home] | {home}:
                yield (
                    f'extreme_opt/{label} imports {name}: {home} may import'
                    f' {", ".join(sorted(MAY[home])) or "no package of ours"}'
                )
        elif first == 'extreme_opt':
            continue
        elif first == 'numba' and label != 'core/compiled.py':
            yield f'extreme_opt/{label} imports numba; take njit from extreme_opt.core.compiled'
        elif at_top and home in LOW | {''}:
            allowed = TOP | {'sklearn'} if label in ESTIMATORS else TOP
            if first != 'numba' and first not in allowed:
                yield f'extreme_opt/{label} imports {name} at the top; import it where it is needed'
            if any(name == late or name.startswith(late + '.') for late in LATE):
                yield (
                    f'extreme_opt/{label} imports {name} at the top, which is slow; import it where'
                    ' it is needed'
                )
        if first in ('matplotlib', 'ipywidgets') and home not in ('show', 'lab', 'data'):
            yield (
                f'extreme_opt/{label} imports {name}: figures and sliders live in extreme_opt.show'
            )


@pytest.mark.parametrize(
    'path', MODULES, ids=[path.relative_to(LIB).as_posix() for path in MODULES]
)
def test_imports_point_down(path):
    "No module imports from a floor above its own, and nothing optional at the top below floor 3."
    found = sorted(set(offences(path)))
    assert not found, '\n'.join(found)


def circles(graph):
    "Modules that reach themselves by imports, at the top or in functions."

    def reached(start):
        seen, left = set(), [start]
        while left:
            new = graph[left.pop()] - seen
            seen |= new
            left += new
        return seen

    return sorted(name for name in graph if name in reached(name))


def test_no_module_imports_itself_by_a_detour():
    "Not within a package either, and not in a function: the import graph has no circle."
    files = {'.'.join(path.relative_to(LIB).with_suffix('').parts): path for path in MODULES}
    graph = {}
    for name, path in files.items():
        found = {module.removeprefix('extreme_opt.') for module, _ in imports(path)}
        graph[name] = found & files.keys() - {name}
    assert sum(map(len, graph.values())) > 300 and circles(graph) == []
    lower = next(name for name in graph['core.run'])
    graph[lower] = graph[lower] | {'core.run'}
    assert {lower, 'core.run'} <= set(circles(graph))


def test_the_rules_bite(tmp_path, monkeypatch):
    "Each rule of the floors catches the import that it is there for."
    monkeypatch.setattr(sys.modules[__name__], 'LIB', tmp_path)

    def said(label, text):
        path = tmp_path / label
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return ' '.join(offences(path))

    assert 'may import core, data' in said(
        'softmax/a.py', 'def f(): from extreme_opt.bound import b'
    )
    assert 'no package of ours' in said('core/a.py', 'from ..data import b')
    assert 'no package of ours' in said('core/a.py', 'from extreme_opt import data')
    assert 'take njit' in said('softmax/a.py', 'from numba import njit')
    assert 'at the top' in said('data/a.py', 'import pandas')
    assert not said('data/a.py', 'def f(): import pandas')
    assert 'at the top' in said('softmax/a.py', 'from sklearn.base import clone')
    assert not said('softmax/classifier.py', 'from sklearn.base import clone')
    assert 'slow' in said('core/a.py', 'from scipy import optimize')
    assert not said('core/a.py', 'def f(): from scipy import optimize')
    assert 'extreme_opt.show' in said('softmax/a.py', 'def f(): import matplotlib.pyplot as plt')
    assert 'may import core' in said('show/a.py', 'from extreme_opt.softmax import UMax')
    assert said('core/estimator.py', 'def f(): from extreme_opt.scale import b')
    assert not said(
        'bound/a.py',
        'import numpy as np, json\nfrom extreme_opt.core.run import Run\nfrom .b import c\nfrom'
        ' scipy import sparse',
    )


def test_every_package_has_a_floor():
    "A new package has to be given its floor."
    assert set(PACKAGES) <= set(MAY)


def test_imports_are_light(fresh_python):
    "Importing the package, or any part of it, loads none of the optional or slow libraries."
    code = f'''
import json, sys
from importlib import import_module
found = {{}}
for name in {['extreme_opt'] + ['extreme_opt.' + name for name in PACKAGES]!r}:
    import_module(name)
    found[name] = [heavy for heavy in {HEAVY!r} if heavy in sys.modules]
print(json.dumps(found))'''
    found = json.loads(fresh_python(code))
    assert {name: heavy for name, heavy in found.items() if heavy} == {}


def test_bare_import_is_lighter_still(fresh_python):
    "`import extreme_opt` alone does not even load numba; its parts come when they are asked for."
    fresh_python(
        'import sys, extreme_opt; assert not {"numpy", "numba", "scipy"} & set(sys.modules);'
        ' extreme_opt.core.minimize; assert "numpy" in sys.modules'
    )
