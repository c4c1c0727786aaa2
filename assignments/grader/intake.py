"""Reads a submission, repairs what accidents do to notebooks, and lines it up with the release and
the source."""

import ast
import json
import os
import re
import unicodedata
import zlib
from pathlib import Path

LARGEST = 50 << 20  # bytes of a notebook
VARIANT = re.compile(r'^VARIANT = (\d+)', re.M)


class Trouble(Exception):
    "Why a submission cannot be graded, and what to do."

    def __init__(self, why, what):
        super().__init__(why)
        self.why, self.what = why, what


class OtherSet(Trouble):
    "A notebook of another set, or of none."


def variant_of(student, name, seed=0):
    "The number of a student in a problem set: always the same, and another one in another year."
    student = unicodedata.normalize('NFC', student)  # one name, however its accents are written
    return 1 + zlib.crc32(f'{student}/{name}/{seed}'.encode()) % 9999


def shown(text):
    "A name as it can be printed: what is no letter, digit or sign stands as its code."
    text = str(text).encode('utf-8', 'backslashreplace').decode()
    return ''.join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def files_in(folder):
    "Files below a folder, in order; links and what Jupyter keeps aside are left out."
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one != '.ipynb_checkpoints']
        found += [Path(place, one) for one in files]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def tidy(source):
    "A cell's text with the line ends of this system, and without what UTF-8 cannot write."
    source = ''.join(source) if isinstance(source, list) else source
    source = source.replace('\r\n', '\n').replace('\r', '\n')
    return source.encode('utf-8', 'replace').decode()


def cells_of(path):
    "Cells of a notebook as (kind, id, nbgrader's metadata, source)."
    if path.stat().st_size > LARGEST:
        size = path.stat().st_size >> 20
        raise Trouble(
            f'{shown(path.name)} has {size} MB', 'ask for it once more with its outputs cleared'
        )
    try:
        book = json.loads(path.read_bytes())
        if 'worksheets' in book:
            import nbformat

            book = nbformat.convert(nbformat.from_dict(book), 4)
        found = []
        for cell in book['cells']:
            source = cell.get('source', '')
            meta = cell.get('metadata') or {}
            meta = meta.get('nbgrader') if isinstance(meta, dict) else None
            kind = cell.get('cell_type')
            if kind in ('code', 'markdown', 'raw') and isinstance(source, str | list):
                meta = meta if isinstance(meta, dict) else {}
                found.append((kind, str(cell.get('id', '')), meta, tidy(source)))
        return found
    except Trouble:
        raise
    except Exception as error:
        said = str(error).split('\n')[0][:100]
        raise Trouble(
            f'{shown(path.name)} is no notebook ({type(error).__name__}: {said})',
            'ask for the file once more: it is damaged, or another file under this name',
        ) from None


def notebook_in(folder, name, release, notes):
    """The notebook of a submission and its cells: the only one, or of several the only one that is of
    this set and not as it was released."""
    found = [path for path in files_in(folder) if path.suffix == '.ipynb']
    if not found:
        files = ', '.join(sorted(shown(path.name) for path in folder.iterdir())[:3])
        raise Trouble(f'no notebook ({files or "an empty folder"})', f'ask for {name}.ipynb')
    exact = [path for path in found if path.name == f'{name}.ipynb'] or found
    if len(found) == 1:
        cells = cells_of(found[0])
        check_set(cells, name, release, found[0])
        if found[0].name != f'{name}.ipynb':
            notes.append(f'the notebook is called {shown(found[0].name)}')
        return found[0], cells
    mine = {}
    for path in found:
        try:
            cells = cells_of(path)
            check_set(cells, name, release, path)
            mine[path] = cells
        except OtherSet:
            continue
        except Trouble:
            mine[path] = None  # it cannot be read: ask
    texts = {path: worked(cells, release) for path, cells in mine.items()}
    changed = [path for path in mine if texts[path]]
    if not mine:
        check_set(cells_of(found[0]), name, release, found[0])
    if not changed:
        changed = [path for path in exact if path in mine][:1] or [*mine][:1]
    if len({str(texts[path]) for path in changed}) > 1 or None in [mine[path] for path in changed]:
        names = ', '.join(shown(path.relative_to(folder)) for path in found[:4])
        raise Trouble(
            f'{len(found)} notebooks: {names}', f'leave the right one, as {folder}/{name}.ipynb'
        )
    best = next((path for path in changed if path in exact), changed[0])
    if len(mine) > 1 or best not in exact:
        said = 'the others hold the same or no work' if len(mine) > 1 else 'the others are not this set'
        notes.append(f'{len(found)} notebooks: {shown(best.name)} was graded, {said}')
    return best, mine[best]


def worked(cells, release):
    "What a student wrote into a notebook, in order: cells that the release does not hold."
    if cells is None:
        return ['?']
    given = {VARIANT.sub('VARIANT = 0', cell[3]).strip() for cell in release}
    texts = [VARIANT.sub('VARIANT = 0', cell[3]).strip() for cell in cells]
    return [text for text in texts if text and text not in given]


def check_set(cells, name, release, path):
    "Trouble where fewer than half of the answers that this set asks for have a place in a notebook."
    asked = [(c[2].get('grade_id'), names_of(c[3])) for c in release if kind_of(c) == 'solution']
    here = {str(cell[2].get('grade_id')) for cell in cells if kind_of(cell) == 'solution'}
    defined = set().union(*[names_of(cell[3]) for cell in cells if cell[0] == 'code'], set())
    there = sum(bool(names & defined) or label in here for label, names in asked)
    if asked and 2 * there < len(asked):
        title = next((c[3].strip().split('\n')[0].lstrip('# ') for c in cells if c[0] == 'markdown'), '')
        what = f', it begins with {shown(title[:60])!r}' if title else ''
        raise OtherSet(f'{shown(path.name)} is not {name}{what}', f'ask for {name}.ipynb')


def names_of(source):
    "Functions and variables that a cell defines at its top level; () where it does not parse."
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r'^def (\w+)', source, re.M))
    found = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in body:
        for target in getattr(node, 'targets', [getattr(node, 'target', None)]):
            if isinstance(node, ast.Assign | ast.AnnAssign):
                found |= {
                    one.id
                    for one in ast.walk(target)
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                }
    return found


def kind_of(cell):
    "given, solution, manual or tests."
    meta = cell[2]
    if meta.get('grade') and meta.get('solution'):
        return 'manual'
    return 'tests' if meta.get('grade') else 'solution' if meta.get('solution') else 'given'


def places(cells, release, notes):
    """Where the cells of a submission belong: ({number in the release: [(cell type, text)]}, {number
    before it: [(cell type, text)]} of those that a student added)."""
    known = {(cell[2].get('grade_id') or cell[1]): at for at, cell in enumerate(release)}
    named = {cell[2].get('grade_id'): at for at, cell in enumerate(release) if cell[2]}
    taken, extras, last = {}, {}, -1
    for kind, ident, meta, text in cells:
        at = named.get(meta.get('grade_id')) if isinstance(meta.get('grade_id'), str) else None
        if at is None:
            at = known.get(ident)
        if at is None:
            same = [n for n, cell in enumerate(release) if cell[3] == text]
            later = [n for n in same if n > last]
            at = later[0] if later else same[0] if len(same) == 1 else None
        if at is not None:
            answer = kind_of(release[at]) in ('solution', 'manual')
            if (release[at][0] != kind and not answer) or (
                kind_of(release[at]) == 'given' and at in taken
            ):
                at = None
        if at is None:
            extras.setdefault(last, []).append((kind, text))
        else:
            taken.setdefault(at, []).append((kind, text))
            last = max(last, at)
    for at, rows in taken.items():
        kind, label, stub = release[at][0], release[at][2].get('grade_id'), release[at][3]
        right = [row for row in rows if row[0] == kind]
        if any(text != stub for _, text in right):  # beside an answer, an old one that was set aside
            extras.setdefault(at, []).extend(row for row in rows if row[0] != kind)
            taken[at] = right
        elif len(right) < len(rows):
            notes.append(f'cell {label} had become a {rows[-1][0]} cell')
            taken[at] = [row for row in rows if row[0] != kind]
    return taken, extras


def line_up(cells, release, source, number, notes):
    """A submission's cells in the order of the source, one dictionary each.

    Locked cells and tests are those of the release; what a student added stands where it stood.
    `student` is what the student's process runs, a list of cells where several have one name;
    `source` is what the tests' process runs, `again` names the answers that an added cell gives.
    """
    taken, extras = places(cells, release, notes)
    find_lost(release, taken, extras, notes)
    find_written(release, taken, extras, notes)
    changed, items = [], [dict(kind='extra', cell=k, text=t) for k, t in extras.get(-1, [])]
    for at, (kind, ident, meta, text) in enumerate(release):
        what, label = kind_of(release[at]), meta.get('grade_id') or ident
        every = [one for _, one in taken.get(at, [])]
        mine = [one for one in every if one != text] or every[:1]
        if len(mine) > 1:
            notes.append(f'cell {label} stands {len(mine)} times: they were joined in their order')
        if not mine and what in ('solution', 'manual'):
            notes.append(f'cell {label} is missing')
        own = '\n\n'.join(mine)
        if what == 'tests' or (what == 'given' and meta):
            if mine and not same_code(own, text):
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
                student=None if kind != 'code' else mine if len(mine) > 1 else own,
                release=text,
                source=VARIANT.sub(f'VARIANT = {number}', source[at][3]),
            )
        )
        if what == 'given' and kind == 'markdown':
            items[-1]['text'] = text
        items += [dict(kind='extra', cell=k, text=t) for k, t in extras.get(at, [])]
    if changed:
        notes.append(f'cells that are not to be changed were changed: {", ".join(changed)}')
    find_again(items, notes)
    return items


def same_code(one, two):
    "Whether two cells differ in blanks at the ends of lines only."
    return [line.rstrip() for line in one.strip().split('\n')] == [
        line.rstrip() for line in two.strip().split('\n')
    ]


def find_again(items, notes):
    "Cells of the student's own that give an answer again, beside the cell that was made for it."
    asked, own = [], []
    for n, item in enumerate(items):
        if item['kind'] != 'extra':
            if item['kind'] == 'solution':
                names = names_of(item['release'])
                asked.append((n, names))
                above = sorted(names & set().union(*own, set()))
                if above and item['text'].strip() in ('', item['release'].strip()):
                    item['student'] = None  # the untouched cell would take the answer back
                    notes.append(f'{above[0]} is answered in a cell of its own, which was taken')
            continue
        text = item['text']
        item.update(id=f'extra cell {n}', student=text if item['cell'] == 'code' else None)
        if item['cell'] == 'code':
            found = names_of(text)
            own.append(found)
            item['again'] = [at for at, names in asked if names & found]
            for at in item['again']:
                label = sorted(found & names_of(items[at]['release']))[0]
                notes.append(f'{label} is answered again in a cell of its own, which was looked at')


def find_lost(release, taken, extras, notes):
    """Answers whose metadata are gone, found by what they define, or by the question that they
    follow."""
    for at, cell in enumerate(release):
        kind, _, meta, text = cell
        if kind_of(cell) not in ('solution', 'manual') or at in taken:
            continue
        want = names_of(text)
        for before, rows in extras.items():
            follows = kind == 'markdown' and before == at - 1
            mine = [
                row
                for row in rows
                if row[0] == kind and ((want and want & names_of(row[1])) or follows)
            ]
            if mine:
                taken.setdefault(at, []).extend(mine)
                extras[before] = [row for row in rows if row not in mine]
        if at in taken:
            notes.append(f'cell {meta["grade_id"]} had lost its name')


def find_written(release, taken, extras, notes):
    """Written answers in cells of their own: those right below the place for them, and, where that is
    untouched, those right above it."""
    for at, (kind, _, meta, text) in enumerate(release):
        if kind_of(release[at]) != 'manual' or kind != 'markdown':
            continue
        answered = any(one.strip() not in ('', text.strip()) for _, one in taken.get(at, []))
        for before in (at,) if answered else (at, at - 1):
            rows = extras.get(before, [])
            mine = [row for row in rows if row[0] == 'markdown' or not (answered or parses(row[1]))]
            if mine:
                taken.setdefault(at, []).extend(mine)
                extras[before] = [row for row in rows if row not in mine]
                notes.append(f'{meta["grade_id"]} is answered in a cell of its own, which was taken')


def parses(source):
    "Whether a text is a program; a line of words is not."
    try:
        return bool(ast.parse(source).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return bool(re.search(r'^ *(def |import |%|!)', source, re.M))


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
    release = cells_of(room / 'release' / name / f'{name}.ipynb')
    source = cells_of(room / 'source' / name / f'{name}.ipynb')
    if len(release) != len(source):
        raise SystemExit(f'{name}: release and source differ; run make course again')
    path, cells = notebook_in(Path(folder), name, release, notes)
    carried = variant_in(cells)
    if number is None:
        number = carried if carried is not None else variant_in(release)
    elif carried != number:
        notes.append(f'VARIANT is {carried}, should be {number}: graded with {number}')
    return line_up(cells, release, source, number, notes), notes, number, path
