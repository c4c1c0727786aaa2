"""Problem sets: right answers earn the marks, wrong ones do not, and the release holds neither solutions nor hidden tests."""
import contextlib
import copy
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
SETS = sorted(folder.name for folder in (ROOT/'assignments/source').glob('ps*'))


def cells(name):
    "Code cells of a problem set: (grade id, kind, points, source)."
    found = []
    for cell in json.loads((ROOT/f'assignments/source/{name}/{name}.ipynb').read_text())['cells']:
        if cell['cell_type'] != 'code': continue
        meta = cell['metadata'].get('nbgrader', {})
        kind = 'tests' if meta.get('grade') else 'solution' if meta.get('solution') else 'given'
        found.append((meta.get('grade_id', cell['id']), kind, meta.get('points', 0), ''.join(cell['source'])))
    return found


def answers(name):
    path = ROOT/f'tests/course/{name}.py'
    if not path.exists(): return {}
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ANSWERS


def run(source, space):
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all='ignore'): exec(compile(source, 'cell', 'exec'), space)
    plt.close('all')


def state_of(space):
    "A copy of a notebook's state whose functions see the copy, so that one answer leaves nothing behind for the next."
    new = {}
    for name, value in space.items():
        if isinstance(value, types.FunctionType) and value.__globals__ is space:
            again = types.FunctionType(value.__code__, new, value.__name__, value.__defaults__, value.__closure__)
            again.__kwdefaults__ = value.__kwdefaults__
            value = again
        elif isinstance(value, np.ndarray): value = copy.copy(value)
        new[name] = value
    return new


def marks(name):
    "What each answer to each coding question earns: (question, answer, points, earned, should earn)."
    space, kept, rows = {'__name__': '__main__'}, None, []
    for label, kind, points, source in cells(name):
        if kind == 'solution': kept = (label, state_of(space))
        elif kind == 'tests' and kept:
            question, before = kept
            for answer, right, code in answers(name).get(question, []):
                trial = state_of(before)
                try:
                    run(code, trial)
                    run(source, trial)
                    earned = points
                except Exception: earned = 0
                rows.append((question, answer, points, earned, points * right))
            kept = None
        run(source, space)            # the reference, which must pass every test
    return rows


@pytest.mark.parametrize('name', SETS)
def test_answers_earn_what_they_should(name):
    "The reference passes; three right answers and eight wrong ones a coding question get all and none of its marks."
    rows = marks(name)
    wrong = [f'{question}, {answer}: {earned} of {points}, should be {should}' for question, answer, points, earned, should in rows if earned != should]
    assert wrong == []
    coding = {question for question, _, _, _, _ in rows} - {'answer', 'real'}
    for question in coding:
        right = [earned > 0 for asked, _, _, earned, _ in rows if asked == question]
        assert sum(right) >= 3 and len(right) - sum(right) >= 8, f'{question}: {sum(right)} right and {len(right) - sum(right)} wrong answers'


@pytest.fixture(scope='module')
def course(tmp_path_factory):
    "Student and instructor versions as `make course` writes them."
    out = tmp_path_factory.mktemp('course')
    done = subprocess.run([sys.executable, 'assignments/make.py'], cwd=ROOT, capture_output=True, text=True, env={**os.environ, 'EXTREME_OPT_COURSE': str(out)})
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.parametrize('name', SETS)
def test_release_tells_nothing(course, name):
    "No line of a solution, of a hidden test or of a mark scheme is in the student's file."
    text = (course/f'student/{name}/{name}.ipynb').read_text()
    assert not re.search('BEGIN SOLUTION|HIDDEN TESTS|MARK SCHEME', text)
    given = '\n'.join(''.join(cell['source']) for cell in json.loads(text)['cells'])
    source = '\n'.join(''.join(cell['source']) for cell in json.loads((ROOT/f'assignments/source/{name}/{name}.ipynb').read_text())['cells'])
    secret = re.findall(r'### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END|=== BEGIN MARK SCHEME ===\n(.*?)=== END', source, flags=re.S)
    shown = re.sub(r'### BEGIN (SOLUTION|HIDDEN TESTS)\n.*?### END', '', source, flags=re.S)
    lines = {line.strip() for pair in secret for part in pair for line in part.split('\n') if len(line.strip()) > 40 and line.strip() not in shown}
    assert lines and [line for line in lines if line in given] == []
    assert 'YOUR CODE HERE' in given and 'BEGIN SOLUTION' in (course/f'instructor/{name}/{name}.ipynb').read_text()


@pytest.mark.notebook
@pytest.mark.parametrize('name', SETS)
def test_reference_gets_all_and_release_nothing(course, name, tmp_path):
    "nbgrader itself grades both: full automatic marks for the reference, none for the empty version."
    shutil_copy(course, name, tmp_path)
    command = [sys.executable, '-m', 'nbgrader']
    for work in (['autograde', name], ['export', '--to', 'grades.csv'], ['generate_feedback', name]):
        done = subprocess.run([*command, *work], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    import csv
    got = {row['student_id']: float(row['score']) for row in csv.DictReader((tmp_path/'grades.csv').open())}
    assert got == {'reference': sum(points for _, _, points, _ in cells(name)), 'empty': 0}
    for student in ('reference', 'empty'): assert (tmp_path/f'feedback/{student}/{name}/{name}.html').stat().st_size > 10_000


def shutil_copy(course, name, folder):
    "A course folder in which the reference and the untouched release were handed in."
    import shutil
    shutil.copy(ROOT/'assignments/nbgrader_config.py', folder)
    shutil.copytree(course/f'instructor/{name}', folder/f'source/{name}')
    for student, kind in (('reference', 'instructor'), ('empty', 'student')):
        shutil.copytree(course/f'{kind}/{name}', folder/f'submitted/{student}/{name}')
    done = subprocess.run([sys.executable, '-m', 'nbgrader', 'generate_assignment', name, '--create'], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
