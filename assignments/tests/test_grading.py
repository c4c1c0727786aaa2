"""A class is made, graded and given its feedback, and nothing that people put into it is lost."""

import contextlib
import csv
import importlib.util
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import test_course as course

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'assignments'))
import make  # noqa: E402
import small_set  # noqa: E402
from small_set import tell  # noqa: E402

sys.path.insert(0, str(ROOT / 'assignments/grader'))
from grader import intake, sandbox, verify  # noqa: E402


def everything(folder):
    "Files with what they hold, and folders; what Python compiles does not count."
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob('*'))
        if '__pycache__' not in path.parts
    }


# ---------------------------------------------------------------- make course, make clean


@pytest.fixture()
def room(tmp_path_factory, tmp_path):
    "A course of one's own to work in."
    made = small_set.course(tmp_path_factory.getbasetemp())
    return Path(shutil.copytree(made, tmp_path / 'mine')) / 'class'


def with_marks(room):
    """Ada's submission of ps1 with a mark by tests and one by hand, written as nbgrader writes
    them, and what lies beside it."""
    from nbgrader.api import Gradebook

    folder = room / 'submitted/ada/ps1_softmax'
    folder.mkdir(parents=True)
    shutil.copy(room / 'release/ps1_softmax/ps1_softmax.ipynb', folder)
    (room / 'feedback/ada').mkdir(parents=True)
    (room / 'feedback/ada/ps1.html').write_text('well done')
    (room / 'grades.csv').write_text('ada,50')
    with Gradebook(f'sqlite:///{room / "gradebook.db"}', 'extreme_opt') as book:
        book.add_student('ada')
        book.add_submission('ps1_softmax', 'ada')
        book.find_grade('q1b', 'ps1_softmax', 'ps1_softmax', 'ada').auto_score = 4
        book.find_grade('q1a', 'ps1_softmax', 'ps1_softmax', 'ada').manual_score = 3
        book.db.commit()


def marks_in(book):
    "All marks of a gradebook."
    with contextlib.closing(sqlite3.connect(book)) as base:
        return base.execute('select auto_score, manual_score from grade order by id').fetchall()


def test_a_class_lives_where_the_teacher_says():
    "Without a folder, or with one in the checkout, nothing is made, and one line says what to do."
    for out, word in (((), 'out=../my-class'), (('out=build/course',), 'outside')):
        done = tell(sys.executable, 'assignments/make.py', *out)
        assert done.returncode and word in done.stderr and done.stderr.count('\n') == 1


def test_making_a_course_again_keeps_all_work(room):
    """Sources and releases are made anew; submissions, marks, feedback, tables and settings stay,
    and the gradebook is copied first."""
    with_marks(room)
    (room / 'class.toml').write_text((room / 'class.toml').read_text() + '# mine\n')
    (room / 'nbgrader_config.py').write_text('c = get_config()  # mine\n')
    before, marks = everything(room), marks_in(room / 'gradebook.db')
    for names in (('ps5_project',), ()):
        done = tell(sys.executable, 'assignments/make.py', f'out={room.parent}', *names)
        assert done.returncode == 0, done.stdout + done.stderr
        after = everything(room)
        ours = {'gradebook.db', 'nbgrader_config.py'}
        assert {at for at in before if at not in after or after[at] != before[at]} <= ours | {
            at for at in before if at.startswith(('source', 'release'))
        }
        assert marks_in(room / 'gradebook.db')[: len(marks)] == marks
        (kept, *_) = sorted((room / 'backups').glob('gradebook-*.db'))
        assert marks_in(kept) == marks
    (mine,) = (room / 'backups').glob('nbgrader_config-*.py')
    assert '# mine' in mine.read_text()
    assert len(list((room / 'source').iterdir())) == len(make.SETS)


@pytest.mark.parametrize('change', ['points', 'gone', 'seed'])
def test_what_would_cost_marks_is_listed_and_refused(room, change, tmp_path, monkeypatch):
    with_marks(room)
    sources = tmp_path / 'source'
    shutil.copytree(make.HERE / 'source', sources / 'source')
    for file in ('hints', 'answers'):
        shutil.copytree(make.HERE / file, sources / file)
    path = sources / 'source/ps1_softmax/ps1_softmax.ipynb'
    book = json.loads(path.read_text())
    cells = [c for c in book['cells'] if c['metadata'].get('nbgrader', {}).get('grade_id') == 'q1b']
    points = cells[0]['metadata']['nbgrader']['points']
    if change == 'points':
        cells[0]['metadata']['nbgrader']['points'] = points + 1
    if change == 'gone':
        book['cells'].remove(cells[0])
    path.write_text(json.dumps(book))
    monkeypatch.setattr(make, 'HERE', sources)
    monkeypatch.setattr(make.parts, 'HERE', sources)
    before = everything(room)
    with pytest.raises(SystemExit) as told:
        make.release(room.parent, ['ps1_softmax'], seed=7 if change == 'seed' else 0)
    word = dict(
        points=f'q1b: 1 marks out of {points:g}, now out of {points + 1:g}',
        gone='question is gone',
        seed='seed=7',
    )
    assert word[change] in str(told.value) and 'nothing was done' in str(told.value)
    after = everything(room)
    assert {at for at in after if after[at] != before.get(at)} <= {
        at for at in after if at.startswith('backups')
    }


def test_an_unreadable_gradebook_stops_everything(room):
    (room / 'gradebook.db').write_text('no database')
    before = everything(room)
    done = tell(sys.executable, 'assignments/make.py', f'out={room.parent}', 'ps5_project')
    after = {at: text for at, text in everything(room).items() if at != 'backups'}
    assert done.returncode and 'cannot be read' in done.stderr and after == before


@pytest.mark.parametrize('work', ['submitted', 'feedback', 'grades.csv', 'gradebook.db', 'nothing'])
def test_clean_spares_a_class_of_before(tmp_path, work):
    """Where an older version left a class under build/, `make clean` names what it holds and
    deletes nothing."""
    root = tmp_path / 'repository'
    old = root / 'build/course/class'
    old.mkdir(parents=True)
    (root / 'assignments').mkdir()
    for name in ('Makefile', 'tasks.py', 'assignments/make.py', 'assignments/parts.py'):
        shutil.copy(ROOT / name, root / name)
    programs = shutil.ignore_patterns('__pycache__')
    shutil.copytree(ROOT / 'assignments/grader', root / 'assignments/grader', ignore=programs)
    with contextlib.closing(sqlite3.connect(old / 'gradebook.db')) as book, book:
        book.execute('create table student (id text)')
        if work == 'gradebook.db':
            book.execute('insert into student values ("ada")')
    if work in ('submitted', 'feedback'):
        (old / work / 'ada').mkdir(parents=True)
    if work == 'grades.csv':
        (old / work).write_text('ada,50')
    before = everything(root)
    done = tell('make', 'clean', f'PYTHON={sys.executable}', where=root)
    if work == 'nothing':
        assert done.returncode == 0 and not (root / 'build').exists(), done.stderr
    else:
        assert done.returncode and work in done.stderr and 'move them away' in done.stderr
        assert everything(root) == before


# ---------------------------------------------------------------- the grader


NAME = 'ps0_small'
SANDBOX = sandbox.probe('bubblewrap')
HOW = [] if SANDBOX is None else ['--trust']


@pytest.fixture(scope='module')
def small(tmp_path_factory):
    "The repository's programs with one small problem set, and a course made of it."
    home = tmp_path_factory.mktemp('small') / 'repository'
    home.mkdir()
    shutil.copytree(
        ROOT / 'assignments',
        home / 'assignments',
        ignore=shutil.ignore_patterns('source', '__pycache__'),
    )
    (home / 'docs').mkdir()
    shutil.copy(ROOT / 'docs/teaching.md', home / 'docs')
    shutil.copy(ROOT / 'constraints.txt', home)
    (home / 'assignments/questions.toml').write_text(
        f'[{NAME}]\nq1a = [30, "", "reason"]\nq1b = [40, "softmax/30_umax", "sum squares"]\n'
        'q2 = [40, "", "lift"]\nq3 = [40, "", "read off"]\n'
    )
    folder = home / 'assignments/source' / NAME
    folder.mkdir(parents=True)
    (folder / f'{NAME}.ipynb').write_text(json.dumps(small_set.source()))
    make_small(home, home.parent / 'course')
    return home


def make_small(home, out):
    done = tell(sys.executable, home / 'assignments/make.py', f'out={out}')
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture()
def room_of_small(small, tmp_path):
    "A class of one's own, with short limits."
    room = Path(shutil.copytree(small.parent / 'course', tmp_path / 'course')) / 'class'
    rules = (room / 'class.toml').read_text().replace('seconds = 120', 'seconds = 6')
    rules = re.sub('begun = .*', 'begun = 2026-01-01T00:00:00Z', rules)
    (room / 'class.toml').write_text(rules.replace('memory_gb = 4', 'memory_gb = 2'))
    return room


def release_of(room):
    return json.loads((room / f'release/{NAME}/{NAME}.ipynb').read_text())


def hand_in(room, student, book, file=f'{NAME}.ipynb', when=None):
    folder = room / 'submitted' / student / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(book if isinstance(book, str) else json.dumps(book))
    if when:
        (folder / 'timestamp.txt').write_text(when)


def grade(room, *others):
    done = tell(sys.executable, 'grade.py', NAME, *HOW, *others, where=room)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def grades_of(room):
    with open(room / 'grades.csv', newline='') as file:
        return {row['student']: row for row in csv.DictReader(file)}


def mark(room, scores):
    "Type marks into the table of written answers, as a teacher does in a spreadsheet."
    path = room / f'written/{NAME}.csv'
    with open(path, newline='') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row['student'] in scores:
            row['score'], row['comment'] = scores[row['student']], 'see the lecture'
    with open(path, 'w', newline='') as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def line_of(said, student):
    "What the table says of a student."
    rows = [line for line in said.splitlines() if line.startswith(f'| {student} |')]
    return rows[0] if rows else ''


SECRETS = ('HIDDEN', 'seven rows\'', 'make_rows(7', 'seed=8', 'BEGIN SOLUTION', 'MARK SCHEME')


def test_a_small_class_from_release_to_feedback(room_of_small):
    """Five students: marks, tables, written answers, feedback, a resubmission, lateness; and again,
    with nothing lost."""
    room = room_of_small
    release, right = release_of(room), small_set.RIGHT
    rules = (room / 'class.toml').read_text()
    (room / 'class.toml').write_text(
        rules.replace('[due] ', f'[due]\n{NAME} = 2030-10-14T12:00:00+02:00\n#')
    )
    hand_in(room, 'ada', small_set.solved(release, right), when='2030-10-14 10:05:00 UTC')
    hand_in(room, 'bob', release, when='2030-10-14 09:00:00 UTC')
    half = small_set.solved(release, small_set.HALF)
    hand_in(room, 'cleo', half, 'my copy.ipynb', when='2030-10-15 11:00:00 UTC')
    hand_in(room, 'dan', '{', when='2030-10-14 09:00:00 UTC')
    dies = dict(right, lift='import os; os._exit(3)')
    hand_in(room, 'eve', small_set.solved(release, dies))
    said = grade(room)
    marks = grades_of(room)
    assert {one: marks[one]['tests'] for one in ('ada', 'bob', 'cleo', 'eve')} == dict(
        ada='15', bob='0', cleo='11', eve='9'
    )
    assert marks['dan']['state'] == 'not graded' and 'no notebook' in line_of(said, 'dan')
    assert 'is called my copy.ipynb' in line_of(said, 'cleo') and '2 day(s) late' in said
    assert 'died' in line_of(said, 'eve') and not line_of(said, 'ada')
    # feedback waits for the marks of written answers; an empty answer needs none
    pages = sorted(path.parent.parent.name for path in room.glob(f'feedback/*/*/{NAME}.html'))
    assert pages == ['bob'] and marks['ada']['state'] == 'waits for marks'
    mark(room, dict(ada='4.5', cleo='2', eve='6'))
    said = grade(room)
    assert 'a score from 0 to 5' in line_of(said, 'eve')
    mark(room, dict(ada='4.5', cleo='2', eve='1'))
    grade(room)
    marks = grades_of(room)
    assert marks['ada']['points'] == '19.5' and float(marks['cleo']['points']) == 0.8 * 13
    page = (room / f'feedback/cleo/{NAME}/{NAME}.html').read_text()
    assert 'sums of squares' in page and 'see the lecture' in page and '2 day(s) late' in page
    for path in [*room.glob('feedback/*/*/*.html'), *room.glob('autograded/*/*/*.ipynb')]:
        assert not [word for word in SECRETS if word in path.read_text()], path
    # everything again changes nothing
    kept = {at: text for at, text in everything(room).items() if not at.startswith('backups')}
    grade(room)
    after = everything(room)
    changed = {at for at in kept if after.get(at) != kept[at]}
    assert changed <= {'grading.log', 'gradebook.db'}
    # bob hands in again, and dan in a form that can be read; ada keeps her mark by hand
    hand_in(room, 'bob', small_set.solved(release, right))
    hand_in(room, 'dan', small_set.solved(release, right))
    better = dict(small_set.HALF, squares=right['squares'])
    hand_in(room, 'cleo', small_set.solved(release, better), 'my copy.ipynb')
    said = grade(room, '--force', 'ada')
    marks = grades_of(room)
    assert [marks[one]['tests'] for one in ('ada', 'bob', 'cleo', 'dan')] == ['15'] * 4
    assert marks['ada']['written'] == '4.5' and marks['cleo']['state'] == 'graded'
    assert marks['bob']['state'] == 'waits for marks'
    assert (room / f'feedback/bob/{NAME}/{NAME}.html').exists()
    assert len(list((room / f'history/{NAME}/bob').glob('*.ipynb'))) == 2


def test_without_a_sandbox_nothing_is_graded(room_of_small, tmp_path):
    "One says what to install; with --trust it goes on."
    hand_in(room_of_small, 'ada', release_of(room_of_small))
    done = tell(sys.executable, 'grade.py', NAME, where=room_of_small, env={'PATH': str(tmp_path), 'HOME': str(tmp_path)})
    assert done.returncode and 'apt-get install bubblewrap' in done.stderr
    assert '--trust' in done.stderr and not (room_of_small / 'grades.csv').exists()


# ---------------------------------------------------------------- attacks, and a class of thirty


class Solutions(BaseHTTPRequestHandler):
    "A server that has the solutions, and remembers who asked."

    asked = []

    def do_GET(self):
        Solutions.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write('\n'.join(small_set.RIGHT[name] for name in ('squares', 'lift')).encode())

    def log_message(self, *args):
        pass


@pytest.fixture()
def port():
    server = HTTPServer(('127.0.0.1', 0), Solutions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


def untouched(room):
    "What no submission may change."
    return {
        at: text
        for at, text in everything(room).items()
        if at.startswith(('source', 'release', 'submitted', 'grader', 'grade.py', 'class.toml'))
        and '__pycache__' not in at
    }


needs_sandbox = pytest.mark.skipif(
    bool(SANDBOX), reason=f'attacks run in a sandbox only: {SANDBOX}'
)


@needs_sandbox
def test_the_four_attacks_earn_nothing(room_of_small, port):
    """Asserts stripped, sources read, the gradebook edited, files deleted: nothing is earned and
    the others keep theirs."""
    room = room_of_small
    release = release_of(room)
    names = ('strips_asserts', 'reads_sources', 'edits_gradebook', 'deletes_files')
    for name, (answers, extra) in small_set.attacks(room, port).items():
        if name in names:
            hand_in(room, name, small_set.solved(release, answers, extra))
    hand_in(room, 'ada', small_set.solved(release, small_set.RIGHT))
    before = untouched(room)
    grade(room)
    marks = grades_of(room)
    assert {one: marks[one]['points'] for one in names} == dict.fromkeys(names, '0')
    assert marks['ada']['tests'] == '15' and untouched(room) == before


@needs_sandbox
@pytest.mark.slow
def test_a_class_of_thirty(room_of_small, port):
    """Ten honest at three levels, accidents and attacks: every mark as it should be, twice, and
    nothing is lost."""
    room = room_of_small
    release = release_of(room)
    should = {}
    levels = [(small_set.RIGHT, 15), (small_set.HALF, 11), (small_set.LOW, 5)]
    for number in range(10):
        answers, points = levels[number % 3]
        hand_in(room, f'honest{number}', small_set.solved(release, answers))
        should[f'honest{number}'] = points
    words = {}
    for name, (file, book, points, word) in small_set.accidents(release).items():
        hand_in(room, name, book, file)
        should[name], words[name] = points, word
    for name, (answers, extra) in small_set.attacks(room, port).items():
        hand_in(room, name, small_set.solved(release, answers, extra))
        should[name] = 0
    before = untouched(room)
    said = grade(room)
    marks = grades_of(room)
    found = {one: marks[one]['tests'] for one in marks}
    assert found == {one: '' if points is None else f'{points:g}' for one, points in should.items()}
    assert {one for one, points in should.items() if points is None} == {
        one for one in marks if marks[one]['state'] == 'not graded'
    }
    assert untouched(room) == before and Solutions.asked == []
    for name, word in words.items():
        assert word is None or word in line_of(said, name), (name, said)
    scores = {f'honest{n}': str(5 - n % 3) for n in range(10)}
    mark(room, {**scores, **dict.fromkeys(words, '3')})
    said = grade(room)
    marks = grades_of(room)
    for name, points in should.items():
        if name.startswith('honest'):
            assert float(marks[name]['points']) == points + int(scores[name])
            assert (room / f'feedback/{name}/{NAME}/{NAME}.html').exists()
    kept = everything(room)
    said = grade(room, '--force', 'all')
    after = everything(room)
    lost = {at for at in kept if after.get(at) is None and kept[at] is not None}
    assert lost == set()
    assert grades_of(room) == marks


# ------------------------------------------------------------- answers in whatever shape they arrive


class Here:
    "The student's process, for quick tests: this one."

    limit, objects, spent = 60, {}, 0.0

    def __init__(self, job):
        self.space = {}

    def send(self, kind, source, limit):
        self.error = None
        try:
            if source.startswith('%%') or '%matplotlib' in source:
                source = re.sub(r'^%.*\n', '', source)
            exec(compile(source, 'cell', 'exec'), self.space)
        except Exception as error:
            self.error = [type(error).__name__, str(error)]

    def hear(self, limit):
        return 'done', dict(outputs=[], error=self.error)

    def ask_student(self, kind, names):
        return dict(values={name: self.space[name] for name in names if name in self.space})


def released():
    "The small set as it is handed out: without solutions, hidden tests and mark schemes."
    book = small_set.source()
    for cell in book['cells']:
        for begin, end, new in (
            (
                '### BEGIN SOLUTION',
                '### END SOLUTION',
                '# YOUR CODE HERE\n    raise NotImplementedError()',
            ),
            ('### BEGIN HIDDEN TESTS', '### END HIDDEN TESTS', ''),
            ('=== BEGIN MARK SCHEME', 'END MARK SCHEME ===', 'YOUR ANSWER HERE'),
        ):
            cell['source'] = re.sub(f'{begin}.*?{end}', new, cell['source'], flags=re.S)
        if cell['id'] == 'answer':
            cell['source'] = 'answer = None\n# YOUR CODE HERE\nraise NotImplementedError()'
    return book


SHAPES = small_set.shapes(released())


@pytest.fixture(scope='module')
def bench(tmp_path_factory):
    "A class folder with the source and the release of the small set alone."
    room = tmp_path_factory.mktemp('bench')
    for kind, book in (('source', small_set.source()), ('release', released())):
        (room / kind / NAME).mkdir(parents=True)
        (room / kind / NAME / f'{NAME}.ipynb').write_text(json.dumps(book))
    return room


def put_files(folder, files):
    for file, book in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(book if isinstance(book, str) else json.dumps(book))


@pytest.mark.parametrize('shape', SHAPES)
def test_honest_work_in_every_shape_is_graded_or_asked_about(shape, bench, tmp_path, monkeypatch):
    files, points, written, word = SHAPES[shape]
    assert len(SHAPES) >= 40
    put_files(tmp_path, files)
    if points is None:
        with pytest.raises(intake.Trouble) as told:
            intake.read(tmp_path, NAME, bench, 'ada')
        assert word in told.value.why and told.value.what
        return
    items, notes, _, _ = intake.read(tmp_path, NAME, bench, 'ada')
    monkeypatch.setattr(verify, 'Session', Here)
    monkeypatch.setitem(sys.modules, 'tracemalloc', tracemalloc)
    monkeypatch.setattr(verify, 'Meter', lambda session: tracemalloc)
    one = verify.Submission(dict(items=items), {})
    one.run()
    assert sum(one.scores.values()) == points, (one.messages, notes)
    text = next(item['text'] for item in items if item['id'] == 'q1a')
    assert written is None or written in text
    said = '; '.join(notes)
    assert word in said if word else not said, said


# ------------------------------------------------- what a teacher types, and where it is typed wrong


@pytest.fixture()
def here(room_of_small, monkeypatch):
    "grade.py of a class, in this process."
    spec = importlib.util.spec_from_file_location('grade_here', room_of_small / 'grade.py')
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, 'path', sys.path[:])
    spec.loader.exec_module(module)
    return module


def test_the_signal_that_ended_the_tests_is_named(here, monkeypatch):
    "C6: 'the run failed: no message' stood there after the process of the tests was killed."

    class Killed:
        returncode = -9

        def __init__(self, *args, **more):
            pass

        def communicate(self, **more):
            return '', None

        def poll(self):
            return self.returncode

    monkeypatch.setattr(here.subprocess, 'Popen', Killed)
    monkeypatch.setattr(here.sandbox, 'command', lambda *given: ([], {}, 0))
    monkeypatch.setattr(here.sandbox, 'places', lambda *given: {})
    with pytest.raises(here.intake.Trouble, match='tests was ended by SIGKILL'):
        here.run([], NAME, 'none', dict(seconds=1))


def retyped(path, sep, encoding, score, comment):
    "A sheet as a spreadsheet saves it, with a mark and a comment typed in."
    with open(path, newline='', encoding='utf-8-sig') as file:
        rows = list(csv.DictReader(file))
    rows[0].update(score=score, comment=comment)
    with open(path, 'w', newline='', encoding=encoding) as file:
        writer = csv.DictWriter(file, rows[0], delimiter=sep, lineterminator='\r\n')
        writer.writeheader()
        writer.writerows(rows)


def test_marks_survive_every_spreadsheet(here, room_of_small, capsys):
    """Semicolons, tabs, decimal commas, byte order marks, Windows-1252: marks and comments are read,
    and stand in the sheet and the feedback afterwards. What cannot be read is refused and stays."""
    room, path = room_of_small, room_of_small / f'written/{NAME}.csv'
    hand_in(room, 'ada', small_set.solved(release_of(room), small_set.RIGHT))
    run = [NAME, *HOW]
    here.main(run)
    for sep, encoding, score, worth in (
        (';', 'utf-8', '3,5', '3.5'), (';', 'cp1252', '2,25', '2.25'), (',', 'utf-8-sig', '4', '4'),
        ('\t', 'utf-16', '1,5', '1.5'), (',', 'utf-8', '4.5', '4.5'), (';', 'utf-8-sig', '5', '5'),
    ):  # fmt: skip
        here.write(path, here.table_text(here.WRITTEN, here.sheet_rows(path)[0]))
        comment = f'Größe fehlt: {encoding}'
        retyped(path, sep, encoding, score, comment)
        here.main(run)
        (row,) = here.sheet_rows(path)[0]
        assert (row['score'], row['comment']) == (worth, comment), (sep, encoding)
        assert grades_of(room)['ada']['written'] == worth
        assert comment in (room / f'feedback/ada/{NAME}/{NAME}.html').read_text()
    good = path.read_bytes()
    for bad, word in (
        (b'student,question,mark\nada,q1a,3\n', "no column 'score'"),
        (b'a\n' * 200, 'no column'),
        (b'student,question,points,score,comment,answer\n' + b' ' * 300, 'no rows'),
        (good.replace(b'ada', b'ada;ada;', 1)[:-3] + b'"x', 'cannot be read'),
        (b'PK\x03\x04' + b'x' * 300, 'cannot be read'),
    ):
        path.write_bytes(bad)
        with pytest.raises(SystemExit) as told:
            here.main(run)
        assert word in str(told.value) and 'nothing was done' in str(told.value), bad[:40]
        assert path.read_bytes() == bad


@pytest.mark.parametrize(
    'rules, word',
    [
        (f'[due]\n{NAME} = 2030-10-14', 'the time and its zone'),
        (f'[due]\n{NAME} = 2030-10-14T23:59:00', 'the time and its zone'),
        (f'[due]\n{NAME} = "next Monday"', 'next Monday'),
        (f'[due]\n{NAME} = 2030-10-14T23:59', 'class.toml cannot be read'),
        (f'[extensions]\n"ada/{NAME}" = 2030-10-14', 'the time and its zone'),
        ('[extensions]\nada = 2030-10-14T23:59:00Z', 'student/set'),
        ('[late]\nshare_per_day = "10 %"', 'share_per_day'),
        ('[limits]\nseconds = -3', 'seconds'),
        ('[due\n', 'class.toml cannot be read'),
    ],
)
def test_a_setting_that_cannot_be_is_one_line(here, room_of_small, rules, word):
    "Read once, before anybody is graded."
    hand_in(room_of_small, 'ada', release_of(room_of_small))
    (room_of_small / 'class.toml').write_text(rules)
    with pytest.raises(SystemExit) as told:
        here.main([NAME, *HOW])
    assert word in str(told.value) and str(told.value).count('\n') == 0
    assert not (room_of_small / 'graded.json').exists()


def test_folders_that_are_odd_cost_nobody_else(room_of_small):
    """A name in Latin-1, a link to somebody else's folder, a time that a student wrote, a shell
    without asserts: each is named, and the others are graded."""
    room, release = room_of_small, release_of(room_of_small)
    right = small_set.solved(release, small_set.RIGHT)
    hand_in(room, 'ada', right, when='2020-01-01 00:00:00 UTC')
    odd = os.fsencode(room / 'submitted') + b'/Jos\xe9'
    shutil.copytree(os.fsencode(room / 'submitted/ada'), odd)
    with open(odd + b'/' + NAME.encode() + b'/da\xff\x1b[1Ata.txt', 'w') as file:
        file.write('x')
    shutil.copytree(odd + b'/' + NAME.encode(), os.fsencode(room / f'submitted/kim/{NAME}'))
    (room / 'submitted/eve').symlink_to('ada')
    (room / 'submitted/mo').mkdir()
    (room / f'submitted/mo/{NAME}').symlink_to(f'../ada/{NAME}')
    hand_in(room, 'zoe', release)
    done = tell(
        *(sys.executable, 'grade.py', NAME, *HOW), where=room,
        env={**os.environ, 'PYTHONOPTIMIZE': '1', 'PYTHONHOME': ''},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    marks, said = grades_of(room), done.stdout
    assert {one: marks[one]['tests'] for one in ('ada', 'kim', 'zoe')} == dict(
        ada='15', kim='15', zoe='0'
    )
    assert 'before the class began' in line_of(said, 'ada') and '\x1b' not in said
    for one, word in (
        ('eve', 'is a link'),
        ('mo', 'is a link'),
        ('Jos\\udce9', 'cannot be written'),
    ):
        assert marks[one]['state'] == 'not graded' and word in line_of(said, one), said
    assert 'SAWarning' not in done.stderr


def test_a_roster_after_work_was_handed_in_is_refused(small, room_of_small, tmp_path):
    "As another seed is: what was made with the common number is not graded with others."
    out = room_of_small.parent
    (tmp_path / 'roster.txt').write_text('ada\n')
    words = (
        sys.executable,
        small / 'assignments/make.py',
        f'out={out}',
        f'roster={tmp_path / "roster.txt"}',
    )
    hand_in(room_of_small, 'ada', release_of(room_of_small))
    before = everything(room_of_small)
    done = tell(*words)
    assert done.returncode and 'roster' in done.stderr and 'nothing was done' in done.stderr
    assert done.stderr.count('\n') == 1 and everything(room_of_small) == before
    shutil.rmtree(room_of_small / 'submitted')
    for _ in range(2):  # and once there is one, it may be given again
        assert tell(*words).returncode == 0
        hand_in(room_of_small, 'ada', release_of(room_of_small))


ROSTERS = {
    'bom': b'\xef\xbb\xbfid,name\r\nada,Ada\r\ngrace,Grace\r\n',
    'semicolons': b'ID;Name\nada;"L, Ada"\ngrace;Grace\n',
    'Latin-1': 'username;name\nada;Jos\xe9\ngrace;G\n'.encode('latin-1'),
    'UTF-16': 'Name\tUsername\nAda\tada\nGrace\tgrace\n'.encode('utf-16'),
    'plain': b'# winter\nada\n\ngrace\n',
    'heading': b'Student ID\nada\ngrace\nada\n',
    'Canvas': b'Student,ID,SIS User ID,SIS Login ID,Section\n"L, Ada",11,s1,ada,A\n"H, G",12,s2,grace,A\n',
    'Moodle': b'"First name","Last name","Username","Email address"\nA,L,ada,a@x.org\nG,H,grace,g@x.org\n',
}


@pytest.mark.parametrize('form', ROSTERS)
def test_rosters_as_they_come(form, tmp_path):
    path = tmp_path / 'roster.csv'
    path.write_bytes(ROSTERS[form])
    assert make.roster_of(path) == ['ada', 'grace']


def test_accents_are_one_name_however_they_are_written(tmp_path):
    import unicodedata

    path = tmp_path / 'roster.csv'
    path.write_text(unicodedata.normalize('NFD', 'Jos\xe9\n'), encoding='utf-8')
    assert make.roster_of(path) == ['Jos\xe9']
    both = [unicodedata.normalize(form, 'Jos\xe9') for form in ('NFC', 'NFD')]
    assert len({intake.variant_of(one, NAME) for one in both}) == 1


def test_the_audit_goes_on_after_a_damaged_notebook(tmp_path):
    name = make.SETS[0]
    for student, text in (('ada', '{"cells": ['), ('bob', '{"cells": []}')):
        (tmp_path / student / name).mkdir(parents=True)
        (tmp_path / student / name / f'{name}.ipynb').write_text(text)
    found = make.audit(tmp_path, ['ada', 'bob'])
    assert [row[0] for row in found] == ['ada', 'bob'] and 'no notebook' in found[0][2]


# ----------------------------------------------------------- marks on their way to somewhere else


LMS = {  # a gradebook as it is exported: (file, the one to import, students who are not in it)
    'Canvas': (
        'Student,ID,SIS User ID,SIS Login ID,Section,ps0_small (4711),Quiz (1),Current Score\n'
        '    Points Possible,,,,,20,5,(read only)\n"L, Ada",11,s1,ada,A,,3,\n"X, Bob",12,s2,BOB,A,2,4,\n"Student, Test",13,,ab12,A,,,\n',
        'Student,ID,SIS User ID,SIS Login ID,Section,ps0_small (4711)\n    Points Possible,,,,,20\n'
        '"L, Ada",11,s1,ada,A,19.5\n"X, Bob",12,s2,BOB,A,\n"Student, Test",13,,ab12,A,\n',
        'not in export.csv: cleo\n',
    ),
    'Moodle': (
        '"First name",Surname,"ID number",Institution,"Email address","Course total"\nA,L,,X,ada@x.org,\nC,D,,X,cleo@x.org,\n',
        'First name,Surname,ID number,Email address,ps0_small,ps0_small feedback\n'
        'A,L,,ada@x.org,19.5,\nC,D,,cleo@x.org,3,mended\n',
        'not in export.csv: bob\n',
    ),
    'Gradescope': (
        'First Name;Last Name;Email;Role;SID;Sections\nA;L;a@x.org;Student;ada;A\nB;X;b@x.org;Student;bob;A\nC;D;c@x.org;Student;cleo;\n',
        'First Name;Last Name;Email;SID;Sections;ps0_small\nA;L;a@x.org;ada;A;19.5\nB;X;b@x.org;bob;A;\nC;D;c@x.org;cleo;;3\n',
        '',
    ),
}


@pytest.mark.parametrize('form', LMS)
def test_marks_go_into_the_gradebook_of_a_learning_management_system(form, tmp_path):
    "Its own rows and ids, one column for the set; what waits for a mark stays empty."
    from grader import lms

    from extreme_opt.data import read_fields

    given, wanted, missing = LMS[form]
    (tmp_path / 'export.csv').write_text(given, encoding='utf-8-sig')
    table = read_fields(tmp_path / 'export.csv')
    marks = dict(ada=(19.5, ''), bob=(None, ''), cleo=(3.0, 'mended'))
    heads, rows, absent = lms.filled(table, NAME, marks, 20.0)
    out = io.StringIO()
    csv.writer(out, lineterminator='\n', delimiter=table.sep).writerows([heads, *rows])
    expected = [row for row in csv.reader(io.StringIO(wanted), delimiter=table.sep)]
    found = [row for row in csv.reader(io.StringIO(out.getvalue()), delimiter=table.sep)]
    assert [[one.strip() for one in row] for row in found] == [
        [one.strip() for one in row] for row in expected
    ]
    assert f'not in export.csv: {", ".join(absent)}\n' == missing or (not absent and not missing)


def test_a_run_that_is_stopped_keeps_what_it_graded(here, room_of_small, monkeypatch, capsys):
    """Two at once; the second is stopped: marks, tables and remarks of the first are there, the next run
    does the rest. Marks go into an exported gradebook, and by question into a table."""
    room, release = room_of_small, release_of(room_of_small)
    for student, answers in (
        ('ada', small_set.RIGHT),
        ('bob', small_set.HALF),
        ('cy', small_set.LOW),
    ):
        hand_in(room, student, small_set.solved(release, answers), f'{student}.ipynb')
    real = here.mark_one

    def stops(student, *words):
        if student == 'bob':
            raise KeyboardInterrupt
        return real(student, *words)

    monkeypatch.setattr(here, 'mark_one', stops)
    with pytest.raises(SystemExit, match='stopped'):
        here.main([NAME, '--workers', '2', *HOW])
    assert list(grades_of(room)) == ['ada'] and grades_of(room)['ada']['tests'] == '15'
    assert 'is called ada.ipynb' in line_of(capsys.readouterr().out, 'ada') and not here.RUNNING
    monkeypatch.setattr(here, 'mark_one', real)
    (room / 'export.csv').write_text('Username,Email address\nada,a@x.org\nbob,b@x.org\n')
    here.main([NAME, '--into', str(room / 'export.csv'), *HOW])
    assert {one: row['tests'] for one, row in grades_of(room).items()} == dict(
        ada='15', bob='11', cy='5'
    )
    assert 'not in export.csv: cy' in capsys.readouterr().out
    with open(room / f'questions/{NAME}.csv', newline='') as file:
        rows = {row['student']: row for row in csv.DictReader(file)}
    assert rows['ada'] == dict(student='ada', q1a='', q1b='4', q2='6', q3='5')
    assert rows['bob']['q1b'] == '0'
    assert '| q1b | 4 | 3 | 1.3 | 1 | 2 |' in (room / f'questions/{NAME}.md').read_text()
    line = (room / f'lms/{NAME}-export.csv').read_text().split('\n')[1]
    assert line.startswith('ada,a@x.org,,')  # her written answer waits for a mark


def test_groups_second_looks_and_the_time_it_took(here, room_of_small, capsys):
    """A group hands in once, and every member has a row and a page; points by tests are changed by a
    line in the table of marks, with a reason; the page of statistics says how long the set took."""
    room, release = room_of_small, release_of(room_of_small)
    book = small_set.solved(release, small_set.HALF)
    source = ['MINUTES = 95      # when you are done']
    book['cells'].insert(1, dict(cell_type='code', id='t', metadata={}, outputs=[], source=source))
    hand_in(room, 'ada', book)
    rules = room / 'class.toml'
    group = f'[groups]\n"ada/{NAME}" = ["bob", "cy"]\n#'
    rules.write_text(rules.read_text().replace('[groups]', group))
    here.main([NAME, *HOW])
    path = room / f'written/{NAME}.csv'
    typed = path.read_text().replace('q1a,5,,', 'q1a,5,5,')
    path.write_text(f'{typed}ada,q1b,4,3,a new way that counts,\n')
    here.main([NAME, *HOW])
    here.main([NAME, *HOW])  # once more: nothing is added twice
    marks = grades_of(room)
    assert {one: row['points'] for one, row in marks.items()} == dict.fromkeys(
        ('ada', 'bob', 'cy'), '19'
    )
    assert marks['cy']['note'] == 'with ada' and 'a new way that counts' in path.read_text()
    for one in marks:
        page = (room / f'feedback/{one}/{NAME}/{NAME}.html').read_text()
        assert 'a new way that counts' in page and f'{NAME}: {one}' in page
    assert (room / 'grading.log').read_text().count('q1b: 0, by hand 3') == 1
    said = (room / f'questions/{NAME}.md').read_text()
    assert (
        'the median is 95; estimated 150' in said
        and '| q1b | 4 | 1 | 3.0 | 0 | 0 |  | 40 |' in said
    )
    hand_in(room, 'bob', book)
    with pytest.raises(SystemExit, match='bob handed in, too'):
        here.main([NAME, *HOW])
    for wrong in ('"ada" = ["bob"]', f'"ada/{NAME}" = "bob"', f'"ada/{NAME}" = ["../bob"]'):
        rules.write_text(re.sub(r'(?m)^"ada/.*', wrong, rules.read_text()))
        with pytest.raises(SystemExit, match=r'write "ada/set"'):
            here.main([NAME, *HOW])
        rules.write_text(rules.read_text().replace(wrong, f'"ada/{NAME}" = ["cy"]'))
    late = f'[extensions]\n"aad/{NAME}" = 2030-10-21T23:59:00Z\n#'
    rules.write_text(rules.read_text().replace('[extensions]', late))
    capsys.readouterr()
    here.settings()
    assert f'aad/{NAME}: nothing is handed in under this name' in capsys.readouterr().out


# ---------------------------------------------------------------- the sandbox's walls


def linked_python(tmp_path, monkeypatch):
    "A home in which this Python is reached through links, as tools of its user make them."
    home = tmp_path / 'home'
    (home / 'bin').mkdir(parents=True)
    (home / 'bin/python3').symlink_to(Path(sys.executable).resolve())
    (home / 'tools').symlink_to('bin')
    (home / 'secret').write_text('solutions')
    monkeypatch.setenv('HOME', str(home))
    monkeypatch.setattr(sys, 'executable', str(home / 'tools/python3'))
    return home


def test_links_of_the_interpreter_bind_no_home(tmp_path, monkeypatch):
    home = linked_python(tmp_path, monkeypatch)
    folders, links = sandbox._needed()
    assert not [one for one in folders if home.is_relative_to(one)]
    assert {str(home / 'tools'), str(home / 'bin/python3')} <= set(links)


@needs_sandbox
def test_code_in_the_sandbox_reads_no_home(tmp_path, monkeypatch):
    home = linked_python(tmp_path, monkeypatch)
    command = sandbox._bubblewrap(None, None, None)
    look = f'import numpy, os; print(os.path.exists({str(home / "secret")!r}), os.listdir({str(home)!r}))'
    done = tell(*command, sys.executable, '-c', look)
    assert done.stdout.split(maxsplit=1)[0] == 'False' and 'secret' not in done.stdout, done.stderr


@pytest.mark.parametrize('what', ['home', 'class'])
def test_a_python_that_holds_the_class_is_refused(what, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, 'prefix', str(tmp_path))
    if what == 'home':
        monkeypatch.setenv('HOME', str(tmp_path / 'me'))
    else:
        monkeypatch.setattr(sandbox, 'HERE', tmp_path / 'mine/class/grader')
    with pytest.raises(ValueError, match='holds'):
        sandbox._needed()


@pytest.mark.skipif(not Path('/proc/self/task').is_dir(), reason='needs /proc')
@pytest.mark.parametrize('how', [['--trust'], pytest.param([], marks=needs_sandbox)])
def test_nothing_outlives_a_grader_that_is_killed(room_of_small, how):
    "An endless cell, the grader ended with SIGKILL: the tests' process and the student's end, too."
    loop = 'import sys\nwhile True: pass'
    hand_in(room_of_small, 'ada', small_set.solved(release_of(room_of_small), {}, loop))
    env = {**os.environ, 'PATH': '/nowhere'} if how else None  # no sandbox is found
    words = [sys.executable, 'grade.py', NAME, *how]
    main = subprocess.Popen(words, cwd=room_of_small, stdout=subprocess.PIPE, text=True, env=env)
    assert main.stdout.readline().startswith('ada')  # the reference is through
    mine, patience = [], 300
    while len(mine) < 3 and patience:  # grade.py, verify.py, student.py
        mine, patience = verify.descendants(main.pid), patience - 1
        time.sleep(0.1)
    main.kill()
    main.wait()
    main.stdout.close()

    def alive(pid):
        try:
            return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
        except OSError:
            return False

    for _ in range(300):
        if not any(map(alive, mine)):
            break
        time.sleep(0.1)
    assert len(mine) >= 3 and not [pid for pid in mine if alive(pid)]


@pytest.mark.slow
def test_attacks_of_the_second_round(room_of_small):
    "Memory, values and ranges without end, out of small answers: the tests' process holds, no points."
    room, release = room_of_small, release_of(room_of_small)
    lift = 'def lift(rows, i, by): rows[i] += by'
    answers = {
        'tiles': 'def squares(rows):\n    np.tile(rows, 2_500_000)\n    return np.square(rows).sum(1)',
        'lists': 'def squares(rows): return [[] for _ in range(30_000_000)]',
        'few bytes': 'def squares(rows): return [{}] * 8_000_000',
        'a range': 'def squares(rows): return range(150_000_000)',
        'a long range': 'def squares(rows): return range(10**30)',
        'a string': "def squares(rows): return 'x' * 10**9",
        'an array': 'def squares(rows): return np.zeros(10**9)',
        'deep': 'def squares(rows):\n    out = []\n    for _ in range(10**5): out = [out]\n    return out',
        'asks for ever': 'def squares(rows):\n    while True: rows.sum()',
    }
    for student, code in answers.items():
        book = small_set.solved(release, dict(small_set.RIGHT, squares=code, lift=lift))
        hand_in(room, student, book)
    hand_in(room, 'zoe', small_set.solved(release, small_set.RIGHT))
    grade(room)
    marks = grades_of(room)
    assert marks['zoe']['tests'] == '15' and {row['state'] for row in marks.values()} == {
        'waits for marks'
    }
    assert {
        one: float(row['tests']) <= 11 for one, row in marks.items() if one not in ('zoe', 'tiles')
    } == (dict.fromkeys(set(answers) - {'tiles'}, True))


# ---------------------------------------------------------------- the guide


GUIDE = (ROOT / 'docs/teaching.md').read_text(encoding='utf-8')
BLOCKS = re.findall(r'^```bash\n(.*?)^```', GUIDE, re.S | re.M)
ELSEWHERE = (
    '.venv/bin/pip install',  # test_course.py::test_a_student_begins
    'make book',  # test_handout.py, which does not build the site
)


def lines_of(block):
    return [line.partition('  #')[0].rstrip() for line in block.splitlines() if line.strip()]


@needs_sandbox
def test_every_command_of_the_guide_runs(small, tmp_path):
    """The blocks of the guide, from the first to the last, as they are written, with the small set
    in the place of the first."""
    home, out = tmp_path / 'repository', tmp_path / 'my-class'
    shutil.copytree(small, home)
    for name in ('Makefile', 'tasks.py'):
        shutil.copy(ROOT / name, home)
    (home / 'students.txt').write_text('ada\ngrace\n')
    bench = Path(sys.executable).parent
    begin = f"""set -euo pipefail; export PATH={bench}:$PATH
make() {{ command make READY= VENV=none "$@"; }}
openssl() {{ command openssl "$@" -pass pass:phrase; }}  # which it asks a terminal for
"""
    ran, where = 0, home
    for block in BLOCKS:
        lines = [line.replace('ps1_softmax', NAME) for line in lines_of(block)]
        if any(word in block for word in ELSEWHERE):
            continue
        if 'openssl' in block and not shutil.which('openssl'):
            continue
        if lines[0].startswith('make'):
            where = home
        if '--into' in block:
            (where / 'gradebook.csv').write_text('Username,Email address\nada,ada@x.org\n')
        if any('grade.py' in line for line in lines) and not (out / 'class/submitted').exists():
            mine = 'globals().update(VARIANT=0)\nanswer = float(make_rows(9).max())'  # not hers
            text = json.dumps(small_set.solved(release_of(out / 'class'), dict(answer=mine)))
            number = intake.variant_of('ada', NAME)
            hand_in(out / 'class', 'ada', text.replace('VARIANT = 0', f'VARIANT = {number}'))
        script = begin + '\n'.join(lines) + '\npwd\n'
        done = tell('bash', '-c', script, where=where)
        assert done.returncode == 0, '\n'.join(lines) + done.stdout + done.stderr
        where, ran = Path(done.stdout.strip().splitlines()[-1]), ran + len(lines)
    assert ran >= 6 and (out / f'class/feedback/ada/{NAME}/{NAME}.html').exists()
    assert grades_of(out / 'class')['ada']['tests'] == '0'
    assert (tmp_path / f'own-numbers/variants/grace/{NAME}/{NAME}.ipynb').exists()
    assert (tmp_path / f'next-year/class/release/{NAME}/{NAME}.ipynb').exists()
    if shutil.which('openssl'):
        assert (tmp_path / f'opened/instructor/{NAME}/{NAME}.ipynb').exists()


def test_commands_named_in_the_guide_exist():
    "Subcommands of nbgrader and jupyter, targets of make, programs: each is there."
    named = re.findall(r'`([^`\n]+)`', re.sub(r'^```.*?^```', '', GUIDE, flags=re.S | re.M))
    named += [line for block in BLOCKS for line in lines_of(block)]
    helps = tell(sys.executable, '-m', 'nbgrader', '--help').stdout
    checked = 0
    for command in named:
        words = command.replace('.venv/bin/', '').split()
        if len(words) < 2:
            continue
        if words[0] == 'nbgrader':
            assert re.search(rf'^{words[1]}$', helps, re.M), command
        elif words[0] == 'make':
            assert f'def {words[1]}(' in (ROOT / 'tasks.py').read_text(), command
        elif words[0] in ('python', 'bash') and words[1] != '-m':
            found = [ROOT / words[1], ROOT / 'assignments' / words[1]]
            assert any(path.exists() for path in found), command
        else:
            continue
        checked += 1
    assert checked >= 8


# -------------------------------------------------------------- instructions, counted over the pipe


def piped(call, tmp_path, **told):
    "What a function of `pipe.py` answers."
    told |= dict(call=call, kind='none' if SANDBOX else 'bubblewrap', scratch=str(tmp_path))
    done = tell(sys.executable, Path(__file__).with_name('pipe.py'), input=json.dumps(told))
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_instructions_are_counted_in_the_other_process(tmp_path):
    """A loop over all rows is too many, over few it is not; a function that stops the count, or
    hides the work, earns nothing."""
    answers = {
        'formula': 'def total(n): return n * (n - 1) // 2',
        'one call': 'def total(n): return sum(range(n))',
        'loop': 'def total(n):\n    out = 0\n    for k in range(n): out += k\n    return out',
        'helper': 'def _add(a, b): return a + b\ndef total(n):\n    out = 0\n    for k in range(n): out = _add(out, k)\n    return out',
        'swallowed': 'def total(n):\n    out = 0\n    try:\n        for k in range(n): out += k\n    except Exception: pass\n    return n * (n - 1) // 2',
        'switched off': 'def total(n):\n    import sys\n    sys.settrace(None)\n    out = 0\n    for k in range(n): out += k\n    return out',
        'no settrace': 'import sys\nsys.settrace = lambda *_: None\nsys.gettrace = lambda: None\ndef total(n):\n    out = 0\n    for k in range(n): out += k\n    return out',
        'raises': 'def total(n): return 1 / 0 if n > 2 else 1',
        'table of zeros': 'import numpy as np\ndef total(n):\n    table = np.zeros((1000, n // 20))\n    return n * (n - 1) // 2 + int(table[0, :1].sum())',
    }
    tests = (
        'assert total(2) == 1\nassert steps(total, 20_000, limit=500) > 0\n'
        'assert steps(lambda n: total(n), 20_000, limit=500) > 0\n'
        'import tracemalloc; tracemalloc.start(); total(20_000)\n'
        'assert tracemalloc.get_traced_memory()[1] < 4e6, "a table"'
    )
    steps = (
        'import sys\n'
        'def steps(function, size, limit):\n'
        "    count, space = 0, getattr(function, '__globals__', None)\n"
        '    def trace(frame, event, argument):\n'
        '        nonlocal count\n'
        '        if frame.f_globals is not space: return None\n'
        '        frame.f_trace_opcodes = True\n'
        "        count += event == 'opcode'\n"
        "        assert count <= limit, 'too many'\n"
        '        return trace\n'
        '    before, sys._getframe().f_trace_opcodes = sys.gettrace(), True\n'
        '    sys.settrace(trace)\n'
        '    try: function(size)\n'
        '    finally: sys.settrace(before)\n'
        '    return count\n'
    )
    said = piped('counted', tmp_path, answers=answers, tests=tests, steps=steps)
    assert {name for name, (points, _) in said.items() if points == 1} == {'formula', 'one call'}
    assert all('too many' in said[name][1] for name in ('loop', 'helper', 'swallowed')), said
    assert all('too many' in said[name][1] for name in ('switched off', 'no settrace')), said
    assert 'ZeroDivisionError' in said['raises'][1] and 'a table' in said['table of zeros'][1]


# ---------------------------------------------------------------- the real sets over the pipe


def over_the_pipe(name, version, answers, tmp_path):
    """Answers that do not earn what they should when the tests run outside, and tests that the
    reference does not pass there."""
    book = make.parts.read(name, version)
    (tmp_path / 'source.ipynb').write_text(json.dumps(book))
    for cell in book['cells']:  # the release's names are those of the solutions, without bodies
        cell['source'] = course.unsolved(''.join(cell['source']))
    (tmp_path / 'release.ipynb').write_text(json.dumps(book))
    given = {question: rows for question, rows in answers.items() if question != 'real'}
    return piped('odd', tmp_path, answers=given)


@pytest.mark.slow
@pytest.mark.parametrize('name, version', course.VERSIONS)
def test_answers_earn_over_the_pipe_what_they_should(name, version, tmp_path):
    """The reference and all answers known but the fits to real data, with the arrays and counters of
    the real sets in another process."""
    assert over_the_pipe(name, version, course.answers(name, version), tmp_path) == []


FORGED = {
    'ps2_similarity': (
        'loss',
        0,
        """
def loss(P, Q, pairs, omega, r):
    counting = sys.gettrace()
    sys.settrace(None)
    P, Q = np.asarray(P), np.asarray(Q)
    total = np.logaddexp(0, -(P[pairs[0]] * Q[pairs[1]]).sum(1)).sum()
    for at in range(0, len(P), 50):
        some = slice(at, at + 50)
        total += .5 * (omega[some, None] * (r[some, None] - P[some] @ Q.T)**2).sum()
    sys.settrace(counting)
    return total
""",
    ),
    'ps3_ordinal': (
        'loss_and_gradient',
        4,
        """
def loss_and_gradient(X, triplets, margin=0.):
    counting = sys.gettrace()
    sys.settrace(None)
    i, j, k = triplets.T
    near, far = np.empty(len(i)), np.empty(len(i))
    for one in range(len(X)):
        row = ((X - X[one])**2).sum(1)
        near[i == one], far[i == one] = row[j[i == one]], row[k[i == one]]
    z = near - far + margin
    share = (1 + np.tanh(z / 2))[:, None] / len(z)
    out = np.zeros_like(X)
    for at, step in ((i, X[k] - X[j]), (j, X[j] - X[i]), (k, X[i] - X[k])):
        np.add.at(out, at, share * step)
    sys.settrace(counting)
    return np.logaddexp(0, z).mean(), out
""",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize('name', FORGED)
def test_a_forged_count_does_not_hide_the_work(name, tmp_path):
    """A full sweep over all pairs in small pieces, on plain arrays and with the count of
    instructions off while it runs: the processor's time, seen from outside, gives it away."""
    question, points, code = FORGED[name]
    assert over_the_pipe(name, 'a', {question: [('forged', points, code)]}, tmp_path) == []
