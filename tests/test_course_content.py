"""What the problem sets ask, give and refuse: partial credit, other people's answers, pictures, parts that are left out."""

import importlib.util
from pathlib import Path

import pytest
import test_course as course

ROOT = Path(__file__).resolve().parent.parent


def bank(name):
    "Answers with the points that they earn over all tests of their question: {question: [(answer, points, source)]}."
    spec = importlib.util.spec_from_file_location(name, ROOT / f'tests/course/{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, 'MORE', {})


def earned(name, given, cells=None, skip=()):
    "What each of the answers earns: [(question, answer, points, should)]; every test runs, as in nbgrader, whatever the one before said."
    cells = cells or course.cells(name)
    space, rows = {'__name__': '__main__'}, []
    for at, (label, kind, _, source) in enumerate(cells):
        if label in skip:
            break
        if kind == 'solution' and label in given:
            end = next(
                (n for n in range(at + 1, len(cells)) if cells[n][1] == 'solution'), len(cells)
            )
            for answer, should, code in given[label]:
                trial, points = course.state_of(space), 0
                try:
                    course.run(code, trial)
                except Exception as error:
                    assert not should, f'{label}, {answer}: {error!r}'
                for _, sort, worth, test in cells[at + 1 : end]:
                    if sort not in ('tests', 'given'):
                        continue
                    try:
                        course.run(test, trial)
                        points += worth
                    except Exception as error:
                        if sort == 'given':
                            raise
                        assert error is not None
                rows.append((label, answer, points, should))
        course.run(source, space)
    return rows


@pytest.mark.parametrize('name', course.SETS)
def test_answers_of_other_people_earn_what_they_should(name):
    "Parts of the points for parts of a question; ways that the reference does not take."
    given = {question: rows for question, rows in bank(name).items() if question != 'real'}
    if not given:
        pytest.skip('no answers yet')
    rows = earned(name, given, skip=('real',))
    assert sum(map(len, given.values())) == len(rows)
    wrong = [f'{q}, {a}: {points} of {should}' for q, a, points, should in rows if points != should]
    assert wrong == []
