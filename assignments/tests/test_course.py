"""Problem sets: right answers earn the marks, wrong ones do not, and the release holds neither
solutions nor hidden tests."""

import contextlib
import copy
import io
import json
import os
import re
import shutil
import sys
import textwrap
import types
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'assignments'))
import make  # noqa: E402
import small_set  # noqa: E402

SETS = sorted(folder.name for folder in (ROOT / 'assignments/source').glob('ps*'))


VERSIONS = [(name, 'a') for name in SETS] + [(name, 'b') for name in make.sets_of('b')]


def texts(path, kind=''):
    "Sources of the cells of a notebook, of one kind."
    cells = json.loads(path.read_text(encoding='utf-8'))['cells']
    return [''.join(cell['source']) for cell in cells if kind in cell['cell_type']]


def source_of(name):
    return ROOT / f'assignments/source/{name}/{name}.ipynb'


def unsolved(source):
    "A cell as students get it."
    solution = r'### BEGIN SOLUTION\n.*?### END SOLUTION'
    return re.sub(solution, 'raise NotImplementedError()', source, flags=re.S)


def cells_of(notebook):
    "Code cells of a notebook: (grade id, kind, points, source)."
    found = []
    for cell in notebook['cells']:
        if cell['cell_type'] == 'code':
            meta = cell['metadata'].get('nbgrader', {})
            graded, solved = meta.get('grade'), meta.get('solution')
            kind = (
                ('manual' if solved else 'tests') if graded else 'solution' if solved else 'given'
            )
            found.append((cell['id'], kind, meta.get('points', 0), ''.join(cell['source'])))
    return found


def cells(name, version='a'):
    return cells_of(make.parts.read(name, version))


def answers(name, version='a'):
    """Answers of other people, right and wrong: {question: [(answer, points over all tests of the
    question, source)]}. Those in `blind` were written before the reference was opened."""
    found, folder = {}, Path(__file__).with_name('course')
    if version == 'a':
        found = {question: list(rows) for question, rows in make.known_answers(name).items()}
    blind = folder / f'blind/{name}{"" if version == "a" else "_" + version}.txt'
    for answer in blind.read_text().split('\n## ')[1:] if blind.exists() else []:
        question, points, said, source = re.match(
            r'(\w+), ([\d.]+): (.*)\n((?s:.*))', answer
        ).groups()
        found.setdefault(question, []).append((said, float(points), source))
    return found


def run(source, space):
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all='ignore'):
        exec(compile(source, 'cell', 'exec'), space)
    plt.close('all')


def state_of(space):
    """A copy of a notebook's state whose functions see the copy, so that one answer leaves nothing
    behind for the next."""
    new = {}
    for name, value in space.items():
        if isinstance(value, types.FunctionType) and value.__globals__ is space:
            again = types.FunctionType(
                value.__code__, new, value.__name__, value.__defaults__, value.__closure__
            )
            again.__kwdefaults__ = value.__kwdefaults__
            value = again
        elif isinstance(value, np.ndarray):
            value = copy.copy(value)
        new[name] = value
    return new


def worth(cells):
    "Points of each coding question over all its tests."
    found, question = {}, None
    for label, kind, points, _ in cells:
        question = label if kind == 'solution' else question
        if kind == 'tests':
            found[question] = found.get(question, 0) + points
    return found


def earned(cells, given, skip=()):
    """What each of the answers earns: [(question, answer, points, should)]; every test runs, as in
    nbgrader, whatever the one before said."""
    space, rows = {'__name__': '__main__'}, []
    for at, (label, kind, _, source) in enumerate(cells):
        if label in skip:
            break
        if kind == 'solution' and label in given:
            after = [n for n in range(at + 1, len(cells)) if cells[n][1] == 'solution']
            own = range(at + 1, (after or [len(cells)])[0])
            end = max(n for n in own if cells[n][1] == 'tests') + 1  # its last test
            for answer, should, code in given[label]:
                trial, points = state_of(space), 0
                with contextlib.suppress(Exception):
                    run(code, trial)
                for _, sort, counts, test in cells[at + 1 : end]:
                    if sort == 'given':
                        run(test, trial)
                    if sort == 'tests':
                        with contextlib.suppress(Exception):
                            run(test, trial)
                            points += counts
                rows.append((label, answer, points, should))
        run(source, space)  # the reference, which must pass every test
    return rows


def both(cells):
    "The reference and the release as answers."
    found, points = {}, worth(cells)
    for label, kind, _, source in cells:
        if kind == 'solution':
            whole, empty = ('the reference', points[label]), ('the release', 0)
            found[label] = [(*whole, source), (*empty, unsolved(source))]
    return found


@pytest.mark.parametrize('name', SETS)
def test_reference_earns_all_and_release_nothing(name):
    "Question by question, in this process."
    every = cells(name)
    rows = earned(every, both(every))
    assert len(rows) == 2 * len(worth(every)) and [row for row in rows if row[2] != row[3]] == []


@pytest.mark.parametrize('last', [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize('name, version', [row for row in VERSIONS if answers(*row)])
def test_answers_earn_what_they_should(name, version, last):
    """Parts of the points for parts of a question; ways that the reference does not take. Fits to the
    data of the last question are slow."""
    given = {key: rows for key, rows in answers(name, version).items() if (key == 'real') == last}
    rows = earned(cells(name, version), given, () if last else ('real',))
    assert len(rows) == sum(map(len, given.values()))
    assert [row for row in rows if row[2] != row[3]] == []


@pytest.mark.parametrize('name', SETS)
def test_every_question_has_right_and_wrong_answers(name):
    "Three right and three wrong ones at least."
    given = answers(name)
    for question, points in worth(cells(name)).items():
        right = [should == points for _, should, _ in given.get(question, [])]
        assert sum(right) >= 3 and len(right) - sum(right) >= 3, (question, right)


@pytest.fixture(scope='module')
def course(tmp_path_factory):
    "Student and instructor versions as `make course` writes them."
    return small_set.course(tmp_path_factory.getbasetemp())


@pytest.mark.parametrize('name', SETS)
def test_release_tells_nothing(course, name):
    "No line of a solution, of a hidden test or of a mark scheme is in the student's file."
    path = course / f'student/{name}/{name}.ipynb'
    assert not re.search('BEGIN SOLUTION|HIDDEN TESTS|MARK SCHEME', path.read_text())
    given, source = ('\n'.join(texts(one)) for one in (path, source_of(name)))
    coded = r'### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END'
    secret = re.findall(coded + r'|=== BEGIN MARK SCHEME ===\n(.*?)=== END', source, flags=re.S)
    shown = re.sub(coded, '', source, flags=re.S)
    every = {line.strip() for pair in secret for part in pair for line in part.split('\n')}
    lines = {line for line in every if len(line) > 40 and line not in shown}
    assert lines and [line for line in lines if line in given] == []
    assert 'YOUR CODE HERE' in given
    assert 'BEGIN SOLUTION' in (course / f'instructor/{name}/{name}.ipynb').read_text()


@pytest.mark.filterwarnings('ignore:Object of type <Submitted')
@pytest.mark.parametrize(
    'name',
    [pytest.param(name, marks=pytest.mark.slow if name[2] != '3' else ()) for name in SETS],
)
def test_reference_gets_all_and_release_nothing(course, name, tmp_path):
    """nbgrader itself grades both: full automatic marks for the reference, none for the empty
    version; feedback renders. One set stands for all; marks of each are those of this process."""
    from nbgrader.apps import NbGraderAPI

    room, graded = tmp_path / 'class', {}
    shutil.copytree(course / 'class', room)
    config = Config()
    config.CourseDirectory.course_id, config.CourseDirectory.root = 'extreme_opt', str(room)
    config.Execute.timeout = 300
    api = NbGraderAPI(config=config)
    for student, kind in (('reference', 'instructor'), ('empty', 'student')):
        shutil.copytree(course / f'{kind}/{name}', room / f'submitted/{student}/{name}')
        done = api.autograde(name, student)
        assert done['success'], f'{done["log"]}\n{done["error"]}'
        done = api.generate_feedback(name, student)
        assert done['success'], f'{done["log"]}\n{done["error"]}'
        with api.gradebook as book:
            graded[student] = [
                (cell.name, cell.auto_score)
                for cell in book.find_submission(name, student).notebooks[0].grades
            ]
        page = (room / f'feedback/{student}/{name}/{name}.html').read_text()
        assert len(page) > 10_000 and all(label in page for label, _ in graded[student])
    worth = {label: points for label, kind, points, _ in cells(name) if kind == 'tests'}
    assert {label: score for label, score in graded['reference'] if label in worth} == worth
    assert sum(score or 0 for _, score in graded['empty']) == 0
    assert sum(score or 0 for label, score in graded['reference'] if label not in worth) == 0, (
        'a written part earned points by itself'
    )


@pytest.mark.parametrize('name', SETS)
def test_rubric_covers_every_question(course, name):
    """Every question has its minutes, every written one a mark scheme, every coding one its common
    mistakes; two to four hours in all."""
    rows = make.questions(name)
    minutes = {label: row[0] for label, row in make.parts.known(name).items()}
    assert list(minutes) == [row[0] for row in rows] and 110 <= sum(minutes.values()) <= 260
    by_hand = [row for row in rows if row[1] == 'by hand']
    marks = [sum(map(int, re.findall(r'(\d) points?: ', row[4]))) for row in by_hand]
    assert marks == [row[2] for row in by_hand], 'mark schemes'
    tried = make.known_answers(name)
    assert [row[1] for row in rows if row[1] != 'by hand' and row[1] not in (*tried, 'real')] == []
    text = (course / f'instructor/rubrics/{name}.md').read_text()
    assert all(f'## {row[0]} ' in text for row in rows) and 'None' not in text
    stated = re.findall(r'\| [^|\n]* \| ([\d +]+) \|', texts(source_of(name))[0])
    points = sum(int(n) for part in stated for n in part.split('+'))
    assert points == sum(row[2] for row in rows), 'the table of points at the head of the set'


def test_nothing_that_students_get_names_a_host(course):
    "Sets, hints and what they read first work without a network; only the installation needs a registry."
    files = [path for path in (course / 'student').rglob('*') if path.is_file()]
    assert len(files) > 10
    for path in files:
        text = path.read_text(encoding='utf-8')
        assert not re.search(r'(https?|ftp)://|\bfetch_|urlopen|download', text), path.name


def test_points_hours_and_outcomes_agree_everywhere(course):
    """questions.toml is the one home: the guide's table, the package for teachers and the rubrics say the
    same, every question says what it tests, and every lesson that is named exists."""
    guide = (ROOT / 'docs/teaching.md').read_text()
    package = (course / 'instructor/README.md').read_text()
    for name in SETS:
        rows, known = make.questions(name), make.parts.known(name)
        points, hand = (f'{sum(r[2] for r in rows if test(r)):g}' for test in (bool, lambda r: r[1] == 'by hand'))
        hours = f'{make.parts.hours(name, known):.1f}'
        assert re.search(rf'^\| `{name}` \|[^|]*\| {points} \| {hand} \| {hours} \|', guide, re.M), name
        assert f'| {name} | {points} | {hand} | {hours} |' in package
        assert f'About {hours} hours' in (course / f'instructor/rubrics/{name}.md').read_text()
        for label, (minutes, lesson, tests) in known.items():
            assert f'| {name}, {label} | ' in package and minutes and len(tests.split()) > 3
            assert not lesson or (ROOT / f'nbs/learn/{lesson}.ipynb').exists(), lesson
    assert 'no question here tests' in package


def test_every_student_can_have_numbers_of_their_own(course, tmp_path):
    """Variants differ from the release in one line, are the same again next time, and the audit
    names whoever handed in another's."""
    shutil.copytree(course / 'student', tmp_path / 'student')
    (tmp_path / 'roster.csv').write_text('id,name\nada,Ada L.\n# gone\ngrace,Grace H.\n')
    students = make.roster_of(tmp_path / 'roster.csv')
    assert students == ['ada', 'grace']
    make.variants(tmp_path, SETS, students)
    lines = {}
    for student in students:
        for name in SETS:
            text, plain = (
                (folder / name / f'{name}.ipynb').read_text().split('\n')
                for folder in (tmp_path / 'variants' / student, tmp_path / 'student')
            )
            (changed,) = [new for new, old in zip(text, plain, strict=True) if new != old]
            assert f'VARIANT = {make.variant_of(student, name)} ' in changed
            lines[student, name] = changed
    made, file = tmp_path / 'variants', f'{SETS[0]}/{SETS[0]}.ipynb'
    assert len(set(lines.values())) == len(lines) and make.audit(made, students) == []
    shutil.copy(made / 'ada' / file, made / 'grace' / file)
    assert [found[:2] for found in make.audit(made, students)] == [('grace', SETS[0])]
    with pytest.raises(SystemExit, match='cannot be a folder'):
        (tmp_path / 'bad').write_text('../up\n')
        make.roster_of(tmp_path / 'bad')


@pytest.mark.slow
@pytest.mark.parametrize('number', [1, 2, 5, 4711])
@pytest.mark.parametrize('name', SETS)
def test_reference_solves_every_variant(name, number):
    "The reference passes all tests, hidden ones too, for other numbers than those of the release."
    space = {'__name__': '__main__'}
    for _, _, _, source in cells(name):
        run(source.replace('VARIANT = 0', f'VARIANT = {number}'), space)
    assert space['VARIANT'] == number


def exercises():
    "How many exercises close each page of the four chapters: {(chapter, page): number}."
    found = {}
    core = dict(svrg='ordinal', step_sizes='ordinal', gauss_newton='similarity', majorize='bound')
    for path in sorted((ROOT / 'nbs').glob('*/*/*.ipynb')):
        folder = path.parent.name
        if folder == 'core':  # engines of one chapter
            folder = core.get(path.stem.partition('_')[2])
        text = '\n\n'.join(texts(path, 'markdown'))
        section = re.search(r'^## Exercises\n(.*?)(?=^## |\Z)', text, re.S | re.M)
        if section and folder in (*core.values(), 'softmax'):
            found[folder, path.stem] = len(re.findall(r'^\d+\. ', section[1], re.M))
    return found


def by_page(folder):
    "Numbered paragraphs of the files of a folder: {(chapter, page): [text, ...]}."
    found = {}
    for path in sorted((ROOT / 'assignments' / folder).glob('*.md')):
        for page, text in re.findall(r'^## (\S+)\n(.*?)(?=^## |\Z)', path.read_text(), re.S | re.M):
            items = re.findall(r'^(\d+)\. (.*?)(?=^\d+\. |\Z)', text, re.S | re.M)
            assert [int(number) for number, _ in items] == list(range(1, len(items) + 1)), (
                f'{path.name}, {page}: numbers'
            )
            found[path.stem, page] = [item for _, item in items]
    return found


@pytest.mark.parametrize('folder', ['answers', 'hints'])
def test_every_exercise_has_an_answer_and_a_hint(folder):
    "One section a page, one numbered paragraph an exercise, none for a page that has none."
    given, asked = by_page(folder), exercises()
    least = 60 if folder == 'answers' else 30
    for at, items in given.items():
        for text in items:
            placeholder = re.search(r'[A-Z]{3,}_[A-Z]{3,}', text)
            done = len(text.strip()) >= least and not text.count('$') % 2 and not placeholder
            assert done, f'{at}: unfinished {folder}: {text}'
    assert len(asked) > 35 and {page: len(items) for page, items in given.items()} == asked


def test_hints_are_for_students_and_answers_are_not(course):
    "Every hint is handed out, no sentence of an answer is, and a hint is shorter than its answer."
    handed = '\n'.join(
        path.read_text() for path in (course / 'student').rglob('*') if path.is_file()
    )
    hints, full = by_page('hints'), by_page('answers')
    assert all(hint.strip() in handed for items in hints.values() for hint in items)
    text = '\n'.join(text for items in full.values() for text in items)
    sentences = [part for part in re.split(r'(?<=[.:;]) |\n', text) if len(part) > 40]
    assert len(sentences) > 300 and [part for part in sentences if part in handed] == []
    assert [at for at in full if sum(map(len, hints[at])) > sum(map(len, full[at]))] == []


def measured():
    "The programs that stand in the answers: (file and page, source)."
    for path in sorted((ROOT / 'assignments/answers').glob('*.md')):
        for page, text in re.findall(r'^## (\S+)\n(.*?)(?=^## |\Z)', path.read_text(), re.S | re.M):
            for block in re.findall(r'^ *```python\n(.*?)^ *```$', text, re.S | re.M):
                yield f'{path.stem}/{page}', textwrap.dedent(block)


@pytest.mark.parametrize(
    'source',
    [pytest.param(source, id=f'{at}-{number}') for number, (at, source) in enumerate(measured())],
)
def test_measured_answers_hold(source):
    "Where an answer states measured numbers, its lines of code find them again."
    assert re.search(r'^ *(assert |np\.testing\.assert_)', source, re.M)
    run(source, {'__name__': 'answer'})


@pytest.mark.slow
def test_a_student_begins(course, tmp_path):
    """In an environment that holds the built wheel and nothing of this checkout, a release is
    validated: unsolved it lists its questions, solved it passes."""
    ours = 'PYTHONPATH', 'PYTHONHOME'
    away = {key: value for key, value in os.environ.items() if key not in ours}
    name, bench, home = SETS[0], tmp_path / 'venv/bin', tmp_path / 'course'
    home.mkdir()
    shutil.copy(course / 'student/nbgrader_config.py', home)
    source = tmp_path / 'source'
    source.mkdir()
    for file in ('setup.py', 'pyproject.toml', 'README.md', 'LICENSE'):
        shutil.copy(ROOT / file, source)
    shutil.copytree(
        ROOT / 'extreme_opt', source / 'extreme_opt', ignore=shutil.ignore_patterns('__pycache__')
    )
    uv = shutil.which('uv', path=f'{Path(sys.executable).parent}{os.pathsep}{away["PATH"]}')

    def tell(*command):
        path = f'{bench}{os.pathsep}{away["PATH"]}'
        done = small_set.tell(*command, where=home, env={**away, 'PATH': path})
        return done.returncode, done.stdout + done.stderr

    assert tell(sys.executable, '-m', 'build', '--wheel', '--outdir', tmp_path, source)[0] == 0
    (wheel,) = tmp_path.glob('*.whl')
    bare = ['--without-pip'] if uv else []
    assert tell(sys.executable, '-m', 'venv', *bare, tmp_path / 'venv')[0] == 0
    own = [bench / 'python', '-m', 'pip', 'install', '-q']
    install = [uv, 'pip', 'install', '-q', '--python', bench / 'python'] if uv else own
    code, said = tell(*install, '-c', ROOT / 'constraints.txt', f'{wheel}[lab,course]')
    assert code == 0, said
    for kind in ('student', 'instructor'):
        shutil.copy(course / f'{kind}/{name}/{name}.ipynb', home)
        said = tell('nbgrader', 'validate', f'{name}.ipynb')[1]
        assert dict(student='VALIDATION FAILED', instructor='Success')[kind] in said, said[-3000:]


def marks_table():
    "Marks of every answer known, as Markdown."
    lines = [
        '| set | question | points | reference | release | as they should | otherwise |',
        '|---' * 7 + '|',
    ]
    for name in SETS:
        every, given = cells(name), answers(name)
        known = {label: rows + given.get(label, []) for label, rows in both(every).items()}
        rows = earned(every, known)
        for question, points in worth(every).items():
            reference, release, *others = [row for row in rows if row[0] == question]
            odd = [answer for _, answer, got, should in others if got != should]
            lines.append(
                f'| {name} | {question} | {points} | {reference[2]} | {release[2]} |'
                f' {len(others) - len(odd)} of {len(others)} | {", ".join(odd) or "none"} |'
            )
    return '\n'.join(lines)


if __name__ == '__main__':
    print(marks_table())
