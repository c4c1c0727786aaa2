"""Pages that run in the reader's browser: `make docs live=1`.

Gives each lesson and guide a button, writes its cells beside it as JSON, and copies the engine that
`docs/live/build.py` made. Without the setting nothing of this is on the site.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from book import NBS, ROOT, TESTED, Broken, checks_of, notebooks, options, page_name
from book import without_directives as source_of

LIVE = ROOT / 'docs/live'
SHELVES = ('learn', 'use')  # what readers run; notes on the engine and evidence stay as they are
PARTS = {  # loaded only by pages with such a line
    r'^\s*(?:import|from) pandas\b': 'pandas.zip.gz',
    r'\b(?:corpus|docstrings|linked_objects|see_also)\(': ('corpus.zip.gz'),
}
TASKS = ROOT / 'assignments'
SETS = Path('learn/problem_sets')  # where the problem sets stand on the site


def runs(path) -> bool:
    "Whether a notebook gets a button."
    return Path(path).parts[0] in SHELVES


def cannot_run(table: Path = ROOT / 'docs/results/live_pages.csv') -> dict[tuple[str, str], str]:
    """Cells that cannot run in the browser, (page, cell): reason, as `bench/live_pages.py` found
    them."""
    if not table.exists():
        return {}
    with table.open(encoding='utf-8') as file:
        return {
            (row['method'], row['cell']): row['task'] for row in csv.DictReader(file) if row['cell']
        }


def checks(text: str) -> list[str]:
    """What a cell that only checks is called; none for a cell that defines, because it would undo
    an exercise."""
    if not TESTED.search(text) or re.search(r'^(def|class) ', text, re.M):
        return []
    return checks_of(text) or ['the cell ' + source_of(text).split('\n')[0][:60]]


def exercises(path, folder: Path = TASKS / 'checks') -> list[dict]:
    """Exercises of a page that can be checked: number, what their cell begins with, and the tests,
    which the reader sees."""
    path = Path(path)
    file = folder / f'{path.parent.name}.md'
    text = file.read_text(encoding='utf-8') if file.exists() else ''
    _, _, own = text.partition(f'\n## {path.stem}\n')
    found = re.findall(
        r'^### (\d+)\n\n```python\n(.*?)\n```\n\n```python\n(.*?)\n```$',
        re.split(r'^## ', own, maxsplit=1, flags=re.M)[0],
        re.S | re.M,
    )
    return [dict(number=int(number), start=start, test=test) for number, start, test in found]


def cells_of(path, source: Path | None = None) -> dict:
    "What the button of a page runs: every code cell in order, hidden ones included."
    text = (source or NBS / path).read_text(encoding='utf-8')
    nb, cannot, cells = json.loads(text), cannot_run(), []
    for cell in nb['cells']:
        text = ''.join(cell['source'])
        said = options(text) if cell['cell_type'] == 'code' else {}
        if cell['cell_type'] != 'code' or 'default_exp' in said or said.get('eval') == 'false':
            continue
        if not source_of(text) or 'nbdev_export()' in text:
            continue
        hidden = bool({'hide', 'export', 'exporti'} & set(said))
        one = dict(id=cell['id'], source=source_of(text), hidden=hidden)
        if alt := said.get('fig-alt'):
            one['alt'] = alt
        if labels := checks(text):
            one['checks'] = labels
        if reason := cannot.get((page_name(path).with_suffix('').as_posix(), cell['id'])):
            one['cannot'] = reason
        cells.append(one)
    code = '\n'.join(one['source'] for one in cells)
    parts = [part for line, part in PARTS.items() if re.search(line, code, re.M)]
    said = dict(folder=Path(path).parent.as_posix(), parts=parts, cells=cells)
    if source:  # a problem set: questions without an answer fail, and the rest goes on
        return said | dict(goOn=True)
    return said | dict(exercises=exercises(path))


# ---------------------------------------------------------------- the built site


def pages() -> dict[str, Path]:
    "Pages with a button: name on the site without ending, and notebook."
    return {page_name(path).with_suffix('').as_posix(): path for path in notebooks() if runs(path)}


def as_page(nb: dict) -> dict:
    "A problem set as students get it, with the head of a page."
    first, *rest = nb['cells']
    title, _, text = ''.join(first['source']).partition('\n')
    goal = 'Try it here. Nothing is kept or handed in: that is done with the notebook.'
    head = dict(cell_type='markdown', metadata={}, source=f'{title}\n\n> {goal}')
    return dict(nb, cells=[head, {**first, 'source': text.strip()}, *rest])


def problem_sets(folder: Path) -> list[Path]:
    "Student versions of the problem sets as notebooks of pages; made again where a source changed."
    sources = [*TASKS.glob('source/*/*.ipynb'), TASKS / 'make.py', Path(__file__)]
    key = hashlib.sha256(b''.join(path.read_bytes() for path in sorted(sources))).hexdigest()
    stamp = folder / 'made_from.txt'
    if not stamp.exists() or stamp.read_text() != key:
        shutil.rmtree(folder, ignore_errors=True)
        code = 'import sys, pathlib, make; make.release(pathlib.Path(sys.argv[1]), make.SETS)'
        with tempfile.TemporaryDirectory() as out:
            command = [sys.executable, '-c', code, out]
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get('PATH', '')])
            env = os.environ | dict(PATH=path)  # nbgrader looks there for its parts
            done = subprocess.run(command, cwd=TASKS, env=env, capture_output=True, text=True)
            if done.returncode:
                raise Broken(f'the problem sets were not made:\n{done.stderr}')
            folder.mkdir(parents=True)
            for path in sorted((Path(out) / 'student').glob('*/*.ipynb')):
                nb = as_page(json.loads(path.read_text(encoding='utf-8')))
                (folder / path.name).write_text(json.dumps(nb), encoding='utf-8')
        stamp.write_text(key)
    return sorted(folder.glob('*.ipynb'))


def with_button(text: str, page: str, cells: dict) -> str:
    "HTML of a page with its button, notes on cells that cannot run, and the script; once."
    if 'class="live-bar"' in text:
        return text
    up = '../' * page.count('/')
    said = dict(cells=f'{Path(page).name}.cells.json', engine='engine.js', offline=f'{up}sw.js')
    bar = (
        f'<div class="live-bar" data-live="{html.escape(json.dumps(said))}" data-state="off"></div>'
    )
    for one in cells['cells']:
        if reason := one.get('cannot'):
            note = f'<p class="live-cannot">Not in the browser: {html.escape(reason)}.</p>'
            box = rf'(<div class="cell[^>]*id="cell-{one["id"]}">)'
            text = re.sub(box, lambda m, note=note: note + m[0], text, count=1)
    text, count = re.subn(
        r'<p class="pace">.*?</p>', lambda m: m[0] + bar, text, count=1, flags=re.S
    )
    if not count:
        raise Broken(f'{page}.html has no line of the class `pace`, below which the button stands')
    head = (
        f'<link rel="stylesheet" href="{up}_static/live/live.css">\n'
        f'<script type="module" src="{up}_static/live/page.js"></script>\n</head>'
    )
    return text.replace('</head>', head, 1)


def with_note(text: str, page: str, count: int) -> str:
    "HTML of the front page or of a shelf that says that pages run; once."
    if 'class="live-note"' in text:
        return text
    up = '../' * page.count('/')
    first = f'<a href="{up}learn/softmax/double_sum.html">the first lesson</a>'
    note = (
        f'<p class="live-note">Press <b>Run this page</b>: {count} pages run in your browser, with '
        'nothing to install and, after the first time, without a network. Change a cell and run it '
        f'again; try it on {first}.</p>'
    )
    return re.sub(
        r'(<div class="goal">.*?</div>)', lambda m: m[0] + note, text, count=1, flags=re.S
    ).replace('</head>', f'<link rel="stylesheet" href="{up}_static/live/live.css">\n</head>', 1)


def add_to(out: Path, made: Path):
    "Make the lessons and guides of a built site run: the engine `made`, cells and buttons."
    if not (made / 'sizes.json').exists():
        raise Broken(f'{made} has no engine; make it first: python docs/live/build.py')
    shutil.rmtree(out / '_static/live', ignore_errors=True)  # no file of an earlier engine stays
    shutil.copytree(made, out / '_static/live')
    for name in ('live.css', 'page.js', 'engine.js', 'worker.js'):
        shutil.copy(LIVE / name, out / '_static/live')
    todo = {page: (path, None) for page, path in pages().items()}
    for source in sorted((made.parent / 'sets').glob('*.ipynb')):
        page = (SETS / source.stem).as_posix()
        if (out / f'{page}.html').exists():
            todo[page] = SETS / source.name, source
    for page, (path, source) in todo.items():
        cells, file = cells_of(path, source), out / f'{page}.html'
        (out / f'{page}.cells.json').write_text(json.dumps(cells), encoding='utf-8')
        text = file.read_text(encoding='utf-8')
        file.write_text(with_button(text, page, cells), encoding='utf-8')
    for page in ('index', *(f'{shelf}/index' for shelf in SHELVES)):
        file = out / f'{page}.html'
        if file.exists():
            text = with_note(file.read_text(encoding='utf-8'), page, len(todo))
            file.write_text(text, encoding='utf-8')
    worker = (LIVE / 'sw.js').read_text(encoding='utf-8').replace('VERSION', version_of(out))
    (out / 'sw.js').write_text(worker, encoding='utf-8')


def version_of(out: Path) -> str:
    "A hash of all that the site serves, but for the service worker, which holds it."
    whole = hashlib.sha256()
    for path in sorted(out.rglob('*')):
        if path.is_file() and path != out / 'sw.js' and '.doctrees' not in path.parts:
            whole.update(f'{path.relative_to(out).as_posix()} '.encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


# ---------------------------------------------------------------- Sphinx


def name_cells(app, doctree):
    "Give each code cell the id that the notebook knows it by."
    from docutils import nodes

    for cell in doctree.findall(nodes.container):
        if number := (cell.get('cell_metadata') or {}).get('live'):
            cell['ids'].append(f'cell-{number}')


def finish(app, error):
    if not error and app.config.live and app.builder.format == 'html':
        add_to(Path(app.outdir), Path(app.config.live_files))


def setup(app):
    app.add_config_value('live', '', 'html')
    app.add_config_value('live_files', str(ROOT / 'build/live/site'), 'html')
    app.connect('doctree-read', name_cells)
    app.connect('build-finished', finish, priority=800)
    return dict(version='1', parallel_read_safe=True, parallel_write_safe=True)
