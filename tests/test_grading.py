"""A class is made, graded and given its feedback, and nothing that people put into it is lost."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'assignments'))
import make  # noqa: E402


def tell(*command, where=ROOT, **others):
    return subprocess.run(
        [str(part) for part in command], cwd=where, capture_output=True, text=True, **others
    )


def everything(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob('*'))
    }


# ---------------------------------------------------------------- make course, make clean


@pytest.fixture(scope='module')
def course(tmp_path_factory):
    "Two problem sets as `make course` writes them."
    out = tmp_path_factory.mktemp('course') / 'mine'
    done = tell(sys.executable, 'assignments/make.py', f'out={out}', 'ps1_softmax', 'ps5_project')
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture()
def room(course, tmp_path):
    "A course of one's own to work in."
    return Path(shutil.copytree(course, tmp_path / 'mine')) / 'class'


def with_marks(room):
    "Ada's submission of ps1 with a mark by tests and one by hand, written as nbgrader writes them, and what lies beside it."
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
    "Sources and releases are made anew; submissions, marks, feedback, tables and settings stay, and the gradebook is copied first."
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
    if change == 'points':
        cells[0]['metadata']['nbgrader']['points'] = 2
    if change == 'gone':
        book['cells'].remove(cells[0])
    path.write_text(json.dumps(book))
    monkeypatch.setattr(make, 'HERE', sources)
    before = everything(room)
    with pytest.raises(SystemExit) as told:
        make.release(room.parent, ['ps1_softmax'], seed=7 if change == 'seed' else 0)
    word = dict(
        points='q1b: 1 marks out of 4, now out of 2', gone='question is gone', seed='seed=7'
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
    "Where an older version left a class under build/, `make clean` names what it holds and deletes nothing."
    root = tmp_path / 'repository'
    old = root / 'build/course/class'
    old.mkdir(parents=True)
    (root / 'assignments').mkdir()
    for name in ('Makefile', 'assignments/make.py'):
        shutil.copy(ROOT / name, root / name)
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
