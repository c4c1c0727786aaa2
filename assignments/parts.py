"""Part of a problem set, or another version of it: functions on notebooks as dicts.

    from parts import cut, exchanged, parts_of
    notebook = cut(json.loads(path.read_text(encoding='utf-8')), {1, 2, 5})

`cut` drops the other parts with their points; the table at the head follows. A part that calls
functions of a part that was dropped is refused, with the names. `exchanged` puts cells of another
version in the place of those with the same id.
"""

import ast
import copy
import json
import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = re.compile(r'^## (\d+)\. ', re.M)
ROW = re.compile(r'^\| (\d+) [^|\n]*\| ([\d +]+) \|\n?', re.M)


def parts_of(notebook):
    "The cells by part: {0: cells before the first, 1: ...}."
    at, found = 0, {0: []}
    for cell in notebook['cells']:
        source = ''.join(cell['source'])
        heading = HEAD.search(source) if cell['cell_type'] == 'markdown' else None
        if heading:
            at = int(heading[1])
        found.setdefault(at, []).append(cell)
    return found


def points_of(cells):
    "Points that the cells give."
    return sum(cell['metadata'].get('nbgrader', {}).get('points', 0) for cell in cells)


def names_in(cell):
    "Names that a code cell reads, and names that it defines for the cells below."
    if cell['cell_type'] != 'code':
        return set(), set()
    tree = ast.parse(''.join(cell['source']))
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    made = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    made |= {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {(alias.asname or alias.name).split('.')[0] for alias in node.names}
        if isinstance(node, ast.arg):
            made.add(node.arg)
    return read, made


def is_given(cell):
    "Whether a code cell is there to be used: neither an answer nor a test."
    meta = cell['metadata'].get('nbgrader', {})
    return cell['cell_type'] == 'code' and not meta.get('grade') and not meta.get('solution')


def needs(notebook, part):
    """What a part reads from other parts: ({number: names of answers and tests}, ids of given
    cells)."""
    found = parts_of(notebook)
    own = found[0] + found[part]
    read = set().union(*(names_in(cell)[0] for cell in own))
    missing = read - set().union(*(names_in(cell)[1] for cell in own))
    answers, given = {}, []
    for other in [number for number in found if 0 < number < part]:
        for cell in found[other]:
            used = names_in(cell)[1] & missing
            if used and is_given(cell):
                given.append(cell['id'])
                missing -= used
    for other in [number for number in found if 0 < number < part]:
        made = set().union(*(names_in(cell)[1] for cell in found[other] if not is_given(cell)))
        if made & missing:
            answers[other] = sorted(made & missing)
    return answers, given


def cut(notebook, parts):
    "A copy with the parts named and nothing of the others but given cells that they call."
    found, parts = parts_of(notebook), set(parts)
    if strange := parts - set(found) - {0}:
        raise ValueError(f'there is no part {min(strange)}; the parts are 1 to {max(found)}')
    kept = set()
    for part in sorted(parts):
        answers, given = needs(notebook, part)
        kept.update(given)
        for other, names in answers.items():
            if other not in parts:
                raise ValueError(
                    f'part {part} uses {", ".join(names)} of part {other}: take both, or leave out'
                    f' part {part}'
                )
    cells = list(found[0])
    for number in sorted(set(found) - {0}):
        cells += found[number] if number in parts else [c for c in found[number] if c['id'] in kept]
    new = copy.deepcopy({**notebook, 'cells': cells})
    head = ''.join(new['cells'][0]['source'])
    head = ROW.sub(lambda row: row[0] if int(row[1]) in parts else '', head)
    new['cells'][0]['source'] = head.rstrip('\n').splitlines(keepends=True)
    return new


def exchanged(notebook, other):
    "A copy in which the cells of another version stand in the place of those with the same id."
    theirs = {cell['id']: cell for cell in other['cells']}
    if strange := set(theirs) - {cell['id'] for cell in notebook['cells']}:
        raise ValueError(f'no cell is called {min(strange)}')
    cells = [theirs.get(cell['id'], cell) for cell in notebook['cells']]
    return copy.deepcopy({**notebook, 'cells': cells})


def read(name, version='a'):
    "A problem set, in one of its versions."
    notebook = json.loads((HERE / f'source/{name}/{name}.ipynb').read_text(encoding='utf-8'))
    if version == 'a':
        return notebook
    path = HERE / f'versions/{version}/{name}.ipynb'
    if not path.exists():
        known = sorted(one.stem for one in path.parent.glob('*.ipynb'))
        raise ValueError(f'no version {version!r} of it; there is one of: {known}')
    return exchanged(notebook, json.loads(path.read_text(encoding='utf-8')))


def known(name):
    "What questions.toml says of a set: {question: (minutes, lesson, what it tests)}."
    return tomllib.loads((HERE / 'questions.toml').read_text(encoding='utf-8')).get(name, {})


def hours(name, asked):
    "Hours for some questions of a set."
    return sum(known(name)[one][0] for one in asked if one in known(name)) / 60
