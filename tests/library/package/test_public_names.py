"""The public names, as a snapshot: a name that appears, moves or vanishes has to be meant.

After a change that is meant, write the snapshot anew:
python tests/library/package/test_public_names.py
"""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SNAPSHOT = Path(__file__).with_name('public_names.txt')
COMMAND = 'python tests/library/package/test_public_names.py'


def public(path: Path) -> list[str]:
    """What a module offers: its `__all__`, or for a package without one the names it imports or
    defines."""
    listed, found = None, set()
    for node in ast.parse(path.read_text(encoding='utf-8')).body:
        if isinstance(node, ast.Assign):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if '__all__' in targets:
                listed = ast.literal_eval(node.value)
            found |= set(targets)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or '').startswith('extreme_opt'):
            found |= {alias.asname or alias.name for alias in node.names}
    return sorted(
        listed if listed is not None else {name for name in found if not name.startswith('_')}
    )


def current() -> str:
    "One line per module: its name, a colon, its public names."
    rows = []
    for path in sorted((ROOT / 'extreme_opt').rglob('*.py')):
        parts = path.relative_to(ROOT).with_suffix('').parts
        if parts[-1] in ('_modidx', '_export', '__main__'):
            continue
        name = '.'.join(part for part in parts if part != '__init__')
        rows.append(f'{name}: {", ".join(public(path))}'.rstrip())
    return '\n'.join(sorted(rows)) + '\n'


def test_names_are_as_listed():
    "The public names are those of the snapshot."
    listed, now = (text.splitlines() for text in (SNAPSHOT.read_text(encoding='utf-8'), current()))
    gone, new = [row for row in listed if row not in now], [row for row in now if row not in listed]
    assert not gone and not new, '\n'.join(
        [
            f'public names changed; if that is meant: {COMMAND}',
            *(f'- {row}' for row in gone),
            *(f'+ {row}' for row in new),
        ]
    )


def test_listed_names_exist():
    "Every public name can be imported from where it is listed."
    from importlib import import_module

    for row in current().splitlines():
        module, names = row.split(':')
        for name in filter(None, names.replace(' ', '').split(',')):
            assert hasattr(import_module(module), name), f'{module}.{name}'


@pytest.mark.parametrize('package', ('softmax', 'similarity', 'ordinal', 'bound'))
def test_dir_shows_the_estimator_and_no_helpers(package):
    module = importlib.import_module(f'extreme_opt.{package}')
    assert dir(module) == sorted(module.__all__)


PACKAGES = ('core', 'data', 'softmax', 'similarity', 'ordinal', 'bound', 'show', 'scale', 'lab')


def untyped(name, function):
    "Parameters of a function without a type, and `return` where its result has none."
    signature = inspect.signature(function)
    missing = [
        one.name
        for place, one in enumerate(signature.parameters.values())
        if one.annotation is one.empty and not (place == 0 and one.name in ('self', 'cls'))
    ]
    if signature.return_annotation is signature.empty and function.__name__ != '__init__':
        missing.append('return')
    return f'{name}: {", ".join(missing)}' if missing else None


@pytest.mark.parametrize('package', PACKAGES)
def test_public_signatures_say_what_they_take(package):
    "Each parameter and result of a public function or method of a package has a type."
    module, found = importlib.import_module(f'extreme_opt.{package}'), []
    for name in module.__all__:
        thing = getattr(module, name)
        if '.plain.' in getattr(thing, '__module__', '') or getattr(thing, '_is_protocol', False):
            continue  # a definition as a lesson writes it; an `__init__` of typing
        if inspect.isfunction(thing):
            found.append(untyped(name, thing))
        elif inspect.isclass(thing):
            for one, method in vars(thing).items():
                method = getattr(method, '__func__', method)
                if inspect.isfunction(method) and (one == '__init__' or one[0] != '_'):
                    found.append(untyped(f'{name}.{one}', method))
    assert list(filter(None, found)) == []


if __name__ == '__main__':
    SNAPSHOT.write_text(current(), encoding='utf-8')
    print(f'wrote {SNAPSHOT.relative_to(ROOT)}: {len(current().splitlines())} modules')
