"""Reads a submission, repairs what accidents do to notebooks, and lines it up with the release and
the source."""

import ast
import json
import re
import zlib
from pathlib import Path

LARGEST = 50 << 20  # bytes of a notebook
VARIANT = re.compile(r'^VARIANT = (\d+)', re.M)


class Trouble(Exception):
    "Why a submission cannot be graded, and what to do."

    def __init__(self, why, what):
        super().__init__(why)
        self.why, self.what = why, what


def variant_of(student, name, seed=0):
    "The number of a student in a problem set: always the same, and another one in another year."
    return 1 + zlib.crc32(f'{student}/{name}/{seed}'.encode()) % 9999


def cells_of(path):
    "Cells of a notebook as (kind, id, nbgrader's metadata, source)."
    if path.stat().st_size > LARGEST:
        size = path.stat().st_size >> 20
        raise Trouble(
            f'{path.name} has {size} MB', 'ask for it once more with its outputs cleared'
        )
    try:
        book = json.loads(path.read_bytes())
        if 'worksheets' in book:
            import nbformat

            book = nbformat.convert(nbformat.from_dict(book), 4)
        found = []
        for cell in book['cells']:
            source = cell.get('source', '')
            source = ''.join(source) if isinstance(source, list) else source
            meta = cell.get('metadata') or {}
            meta = meta.get('nbgrader') if isinstance(meta, dict) else None
            kind = cell.get('cell_type')
            if kind in ('code', 'markdown', 'raw') and isinstance(source, str):
                meta = meta if isinstance(meta, dict) else {}
                found.append((kind, str(cell.get('id', '')), meta, source))
        return found
    except Trouble:
        raise
    except Exception as error:
        said = str(error).split('\n')[0][:100]
        raise Trouble(
            f'{path.name} is no notebook ({type(error).__name__}: {said})',
            'ask for the file once more: it is damaged, or another file under this name',
        ) from None


def notebook_in(folder, name, notes):
    "The notebook of a submission."
    found = [
        path
        for path in sorted(folder.rglob('*.ipynb'))
        if '.ipynb_checkpoints' not in path.parts and path.is_file() and not path.is_symlink()
    ]
    exact = [path for path in found if path.name == f'{name}.ipynb']
    if len(exact) == 1:
        return exact[0]
    if len(found) == 1:
        notes.append(f'the notebook is called {found[0].name}')
        return found[0]
    if not found:
        files = ', '.join(sorted(path.name for path in folder.iterdir())[:3])
        raise Trouble(f'no notebook ({files or "an empty folder"})', f'ask for {name}.ipynb')
    names = ', '.join(str(path.relative_to(folder)) for path in found[:4])
    raise Trouble(
        f'{len(found)} notebooks: {names}', f'leave the right one, as {folder}/{name}.ipynb'
    )


def names_of(source):
    "Functions and variables that a cell defines at its top level; () where it does not parse."
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r'^def (\w+)', source, re.M))
    found = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def kind_of(cell):
    "given, solution, manual or tests."
    meta = cell[2]
    if meta.get('grade') and meta.get('solution'):
        return 'manual'
    return 'tests' if meta.get('grade') else 'solution' if meta.get('solution') else 'given'


def line_up(cells, release, source, number, notes):
    """A submission's cells in the order of the source, one dictionary each.

    Locked cells and tests are those of the release; what a student added stands where it stood.
    `student` is what the student's process runs, `source` what the tests' process runs.
    """
    known = {(cell[2].get('grade_id') or cell[1]): at for at, cell in enumerate(release)}
    named = {cell[2].get('grade_id'): at for at, cell in enumerate(release) if cell[2]}
    taken, extras, last = {}, {}, -1
    for kind, ident, meta, text in cells:
        at = named.get(meta.get('grade_id')) if isinstance(meta.get('grade_id'), str) else None
        if at is None:
            at = known.get(ident)
        if at is None:
            at = next((n for n, cell in enumerate(release) if cell[3] == text), None)
        if at is not None and release[at][0] != kind:
            at = None
        if at is not None and kind_of(release[at]) == 'given' and at in taken:
            at = None
        if at is None:
            extras.setdefault(last, []).append((kind, text))
        else:
            taken.setdefault(at, []).append(text)
            last = max(last, at)
    find_lost(release, taken, extras, notes)
    changed, items = [], [dict(kind='extra', cell=k, text=t) for k, t in extras.get(-1, [])]
    for at, (kind, ident, meta, text) in enumerate(release):
        what, label = kind_of(release[at]), meta.get('grade_id') or ident
        mine = [one for one in taken.get(at, []) if one != text] or taken.get(at, [])[:1]
        if len(mine) > 1:
            how = 'they were joined' if kind == 'markdown' else 'the last one counts'
            notes.append(f'cell {label} stands {len(mine)} times: {how}')
        if not mine and what in ('solution', 'manual'):
            notes.append(f'cell {label} is missing')
        own = '\n\n'.join(mine) if kind == 'markdown' else mine[-1] if mine else ''
        if what == 'tests' or (what == 'given' and meta):
            if mine and own != text:
                changed.append(label)
            own = text
        if what == 'given' and not meta:
            own = own or text
        if VARIANT.search(text):
            own = VARIANT.sub(f'VARIANT = {number}', text)
        items.append(
            dict(
                kind='text' if kind == 'markdown' and what == 'given' else what,
                cell=kind,
                id=label,
                text=own if what in ('solution', 'manual', 'given') else text,
                points=float(meta.get('points', 0)),
                student=own if kind == 'code' else None,
                release=text,
                source=VARIANT.sub(f'VARIANT = {number}', source[at][3]),
            )
        )
        if what == "given" and kind == "markdown":
            items[-1]['text'] = text
        items += [dict(kind='extra', cell=k, text=t) for k, t in extras.get(at, [])]
    if changed:
        notes.append(f'cells that are not to be changed were changed: {", ".join(changed)}')
    for n, item in enumerate(items):
        if item['kind'] == 'extra':
            text = item['text']
            item.update(id=f'extra cell {n}', student=text if item['cell'] == 'code' else None)
    return items


def find_lost(release, taken, extras, notes):
    """Answers whose metadata are gone, found by what they define, or by the question that they
    follow."""
    for at, cell in enumerate(release):
        kind, _, meta, text = cell
        if kind_of(cell) not in ('solution', 'manual') or at in taken:
            continue
        want = names_of(text)
        for before, rows in extras.items():
            for row in rows:
                follows = kind == 'markdown' and row[0] == 'markdown' and before == at - 1
                if row[0] == kind and ((want and want & names_of(row[1])) or follows):
                    taken.setdefault(at, []).append(row[1])
        if at in taken:
            for before in extras:
                extras[before] = [row for row in extras[before] if row[1] not in taken[at]]
            notes.append(f'cell {meta["grade_id"]} had lost its name')


def variant_in(cells):
    "The number that a submission carries, or None."
    for kind, _, _, text in cells:
        if kind == 'code' and (found := VARIANT.search(text)):
            return int(found[1])
    return None


def read(folder, name, room, student, number=None):
    """(items, notes, number, path of the notebook) of a submission; Trouble where there is nothing
    to grade."""
    notes = []
    path = notebook_in(Path(folder), name, notes)
    cells = cells_of(path)
    release = cells_of(room / 'release' / name / f'{name}.ipynb')
    source = cells_of(room / 'source' / name / f'{name}.ipynb')
    if len(release) != len(source):
        raise SystemExit(f'{name}: release and source differ; run make course again')
    graded = {cell[2].get('grade_id') for cell in release if cell[2]}
    code = set().union(*[names_of(cell[3]) for cell in release if kind_of(cell) == 'solution'])
    here = {str(cell[2].get('grade_id')) for cell in cells}
    defined = set().union(*[names_of(cell[3]) for cell in cells if cell[0] == 'code'], set())
    if not (here & graded) and not (defined & code):
        raise Trouble(f'{path.name} is not {name}', f'ask for {name}.ipynb')
    carried = variant_in(cells)
    if number is None:
        number = carried if carried is not None else variant_in(release)
    elif carried != number:
        notes.append(f'VARIANT is {carried}, should be {number}: graded with {number}')
    return line_up(cells, release, source, number, notes), notes, number, path
