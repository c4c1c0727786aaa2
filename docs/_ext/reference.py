"""The reference: a page per package with what users type first, then the names of its modules; what
is long stands on pages below it.

Docstrings in the style of numpydoc are read as they are. Where parameters are described by comments
beside them instead (`n:int, # how many`), these become a section `Parameters`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from functools import partial
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.ext import autosummary

LIB = 'extreme_opt'


def modules() -> list[str]:
    "All public modules of the package, packages before what they hold."
    package = importlib.import_module(LIB)
    found = [info.name for info in pkgutil.walk_packages(package.__path__, f'{LIB}.')]
    return [name for name in found if not any(part.startswith('_') for part in name.split('.'))]


def public() -> dict[str, dict[str, list[str]]]:
    """package -> module -> names. A name stands at its package where that offers it, under the
    package that defines it, and once."""
    taken: dict[int, str] = {}
    order = ['core', 'data', 'softmax', 'similarity', 'ordinal', 'bound', 'show', 'scale', 'lab']
    every = sorted(
        modules(),
        key=lambda name: (
            name.count('.'),
            order.index(name.split('.')[1]) if name.split('.')[1] in order else 99,
            name,
        ),
    )
    result: dict[str, dict[str, list[str]]] = {}
    for name in every:
        module = importlib.import_module(name)
        package = '.'.join(name.split('.')[:2])
        for public_name in getattr(module, '__all__', []):
            value = getattr(module, public_name)
            home = getattr(value, '__module__', None) or ''
            owned = (
                not isinstance(home, str) or not home.startswith(LIB) or home.startswith(package)
            )
            if not owned or id(value) in taken and callable(value):
                continue
            result.setdefault(package, {}).setdefault(name, []).append(public_name)
            taken[id(value)] = name
    return result


def write(put) -> dict[str, str]:
    """Write a page per package through `put`, and, where that would be too long, its large classes
    and its modules on pages below it; return where each name has its entry."""
    names: dict[str, str] = {}
    for package, parts in public().items():
        short = package.removeprefix(f'{LIB}.')
        said = ' '.join((inspect.getdoc(sys.modules[package]) or '').split('\n\n')[0].split())
        text = [f'# {package}', f'<div class="goal">\n\n{said}\n\n</div>']
        below: list[str] = []
        weights = {(m, name): weight(m, name) for m, several in parts.items() for name in several}
        split = sum(weights.values()) > LONG
        for module, public_names in parts.items():
            homes = dict.fromkeys(public_names, f'reference/{short}.md')
            if split and module != package:
                part = module.removeprefix(f'{package}.').replace('.', '/')
                homes = dict.fromkeys(public_names, f'reference/{short}/modules/{part}.md')
            for name in public_names:
                if split and weights[module, name] > LARGE:
                    homes[name] = f'reference/{short}/{name}.md'
            here = [name for name in public_names if homes[name] == f'reference/{short}.md']
            text += [heading(package, module), listing(module, public_names), entries(module, here)]
            for page in dict.fromkeys(homes.values()):
                if page == f'reference/{short}.md':
                    continue
                held = [name for name in public_names if homes[name] == page]
                title = held[0] if Path(page).stem == held[0] else module.removeprefix(f'{LIB}.')
                top = f'[{package}]({"../" * (page.count("/") - 1)}{short}.md)'
                own = [f'# {title}', f'<div class="goal">\n\nPart of {top}.\n\n</div>']
                own += [listing(module, held)] * (len(held) > 1) + [entries(module, held)]
                put(page, '\n\n'.join(own) + '\n', title, '', None)
                below.append(page)
            for name in public_names:
                names[f'{module}.{name}'] = f'{homes[name]}#{module}.{name}'
                home = getattr(getattr(sys.modules[module], name), '__module__', None)
                if isinstance(home, str):
                    names.setdefault(f'{home}.{name}', names[f'{module}.{name}'])
        if below:
            listed = '\n'.join('/' + page.removesuffix('.md') for page in below)
            text.append(f'```{{toctree}}\n:hidden:\n\n{listed}\n```')
        page = f'reference/{short}.md'
        put(page, '\n\n'.join(filter(None, text)) + '\n', package, said, 'Packages')
    for module in [LIB, *modules()]:  # the other ways to the same name
        for name in getattr(sys.modules.get(module), '__all__', []):
            home = getattr(getattr(sys.modules[module], name), '__module__', '')
            if target := names.get(f'{home}.{name}'):
                names.setdefault(f'{module}.{name}', target)
    return names


LONG = 20_000  # characters of docstrings on one page
LARGE = 3_000  # of a class that has a page of its own


def weight(module: str, name: str) -> int:
    "Characters of the docstrings of a name and of its methods."
    value = getattr(sys.modules[module], name)
    own = [getattr(value, one, None) for one in dir(value) if one[0] != '_']
    several = [value, *own] if isinstance(value, type) else [value]
    return sum(
        len(inspect.getdoc(one) or '')
        for one in several
        if one is value or str(getattr(one, '__module__', '')).startswith(LIB)
    )


def heading(package: str, module: str) -> str:
    title = 'For users' if module == package else f'In `{module.removeprefix(LIB + ".")}`'
    return f'## {title}'


def listing(module: str, names: list[str]) -> str:
    "Table of names with their first sentences; constants stand in none."
    listed = [name for name in names if callable(getattr(sys.modules[module], name))]
    rows = ''.join(f'\n   {name}' for name in listed)
    table = f'.. currentmodule:: {module}\n\n.. autosummary::\n{rows}'
    return f'```{{eval-rst}}\n{table}\n```' if listed else ''


def entries(module: str, names: list[str]) -> str:
    "Entries of names of one module."
    rst = [f'.. currentmodule:: {module}']
    for name in names:
        value = getattr(sys.modules[module], name)
        kind = 'class' if isinstance(value, type) else 'function' if callable(value) else 'data'
        members = '\n   :members:\n   :inherited-members:' if kind == 'class' else ''
        rst.append(f'.. auto{kind}:: {module}.{name}{members}')
    return '```{eval-rst}\n' + '\n\n'.join(rst) + '\n```' if names else ''


# ---------------------------------------------------------------- docstrings

SECTIONS = re.compile(r'^(Parameters|Returns|Attributes|Raises|Notes|Examples)\n\s*-{3,}$', re.M)


def escaped(text: str) -> str:
    "Plain text as reStructuredText: marks stand for themselves, `code` and $formulas$ stay."
    parts = re.split(r'(`+[^`]*`+|\$[^$\n]+\$)', text)
    for i, part in enumerate(parts):
        if i % 2:
            code = f':math:`{part[1:-1]}`' if part.startswith('$') else f'``{part.strip("`")}``'
            before = '\\ ' if parts[i - 1][-1:].isalnum() else ''
            parts[i] = before + code + ('\\ ' if parts[i + 1][:1].isalnum() else '')
        else:
            parts[i] = re.sub(r'([*|\\])|(?<=\w)(_)(?!\w)', r'\\\1\2', part)
    return ''.join(parts)


def borrowed(name: str) -> str:
    "What a protocol of the package says about a method that has no words of its own."
    last = name.rpartition('.')[2]
    for module in sorted(sys.modules):
        for value in vars(sys.modules[module]).values() if module.startswith(f'{LIB}.') else ():
            if getattr(value, '_is_protocol', False) and getattr(
                vars(value).get(last), '__doc__', None
            ):
                return f'{vars(value)[last].__doc__.strip()} (As every `{value.__name__}`.)'
    return ''


def read_docstring(app, what, name, value, options, lines):
    "Docstrings without sections are plain text; those that have some go to numpydoc as they are."
    text = '\n'.join(lines)
    if what == 'data':
        lines[:] = []  # what a constant's type says of itself helps nobody
        return
    if what == 'module' or SECTIONS.search(text):
        return
    if what == 'method' and not text.strip():
        text = borrowed(name)
    head = [escaped(line) for line in text.split('\n')] if '>>>' not in text else text.split('\n')
    lines[:] = head + ['']


def skip(app, what, name, value, skipped, options):
    "Show what the package defines, not what it inherits from other libraries."
    if name.startswith('_'):
        return True
    inner = value.fget if isinstance(value, property) else getattr(value, '__func__', value)
    home = getattr(inner, '__module__', None)
    if callable(inner) and isinstance(home, str):
        return not home.startswith(LIB)
    return None if isinstance(value, property) else True


class OneTemplate(BytecodeCache):
    "Compiled templates, kept while the site is built."

    def __init__(self):
        self.kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket):
        if bucket.key in self.kept:
            bucket.bytecode_from_string(self.kept[bucket.key])

    def dump_bytecode(self, bucket):
        self.kept[bucket.key] = bucket.bytecode_to_string()


def setup(app):
    app.setup_extension('sphinx.ext.autodoc')
    # numpydoc makes a template environment for each docstring and compiles its one template again
    docscrape_sphinx.SandboxedEnvironment = partial(
        SandboxedEnvironment, bytecode_cache=OneTemplate()
    )
    autosummary.WELL_KNOWN_ABBREVIATIONS += ('eq.', 'eqs.')  # end no first sentence
    app.connect('autodoc-process-docstring', read_docstring, priority=400)
    app.connect('autodoc-skip-member', skip)
    return dict(version='1', parallel_read_safe=True, parallel_write_safe=True)
