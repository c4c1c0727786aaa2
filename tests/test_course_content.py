"""What the problem sets ask, give and refuse: partial credit, other people's answers, pictures, parts that are left out."""

import importlib.util
import re
import sys
import types
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import test_course as course

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'assignments'))
import parts  # noqa: E402

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


# ---------------------------------------------------------------- parts


FOUR_WEEKS = {
    'ps1_softmax': (1, 2, 4, 5, 6, 7),
    'ps2_similarity': (1, 2, 3, 6, 7),
    'ps3_ordinal': (1, 2, 3, 4, 6, 7),
    'ps4_bound': (1, 2, 3, 5),
}


def as_cells(notebook):
    "Code cells of a notebook in the form of `test_course.cells`."
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


@pytest.mark.parametrize('name', FOUR_WEEKS)
def test_parts_can_be_left_out(name):
    "Points, table and cells follow; what the other parts need is there, and the reference earns all of it."
    notebook = parts.read(name)
    every = parts.parts_of(notebook)
    part = parts.cut(notebook, FOUR_WEEKS[name])
    worth = sum(parts.points_of(every[number]) for number in FOUR_WEEKS[name])
    assert parts.points_of(part['cells']) == worth < parts.points_of(notebook['cells'])
    head = ''.join(part['cells'][0]['source'])
    stated = [int(row[1]) for row in parts.ROW.finditer(head)]
    assert stated == list(FOUR_WEEKS[name])
    assert worth == sum(int(n) for row in parts.ROW.finditer(head) for n in row[2].split('+'))
    space = {'__name__': '__main__'}
    for label, _, _, source in as_cells(part):
        if label in ('sentences', 'links', 'cities', 'wines'):
            break  # the last part fits real data; its tests run with the whole set
        course.run(source, space)


def test_a_part_that_needs_another_is_refused():
    with pytest.raises(ValueError, match='part 7 uses .*loss_and_gradient.* of part 2'):
        parts.cut(parts.read('ps3_ordinal'), {1, 6, 7})
    with pytest.raises(ValueError, match='there is no part 9'):
        parts.cut(parts.read('ps1_softmax'), {9})


# ---------------------------------------------------------------- sliders and pictures


def slider(name, variant, predicted=1.0, answer=False):
    "The cells of the slider of a set, executed: (what they define, the pictures as (function, values))."
    seen, space, on = [], {'__name__': '__main__'}, False
    part = next(
        cells
        for cells in parts.parts_of(parts.read(name)).values()
        if any(cell['id'] == 'prediction' for cell in cells)
    )
    setup = [cell for cell in parts.read(name)['cells'] if cell['id'] in ('setup', 'interval_of')]
    for cell in setup + part:
        source = ''.join(cell['source'])
        if cell['cell_type'] != 'code' or 'HIDDEN TESTS' in source:
            continue
        if cell['id'] == 'answer' and not answer:
            continue
        space['VARIANT'] = variant
        if cell['id'] == 'prediction':
            source = re.sub(r'^(\w+) = None', rf'\1 = {predicted}', source)
            on = True
        patched = types.SimpleNamespace(
            frames=lambda function, **values: seen.append((function, values))
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, 'extreme_opt.show', patched)
            course.run(source, space)
    assert on
    return space, seen


@pytest.mark.parametrize('name', course.SETS)
def test_pictures_are_not_cropped(name):
    "Titles, labels and ticks lie inside the figure that the slider shows; two panels, and every axis is named."
    _, ((function, values),) = slider(name, 0, 1234.5)
    ((argument, offered),) = values.items()
    for value in [
        offered[n] for n in sorted({0, len(offered) // 3, len(offered) // 2, len(offered) - 1})
    ]:
        figure = function(**{argument: value})
        figure.canvas.draw()
        inside = figure.get_tightbbox(figure.canvas.get_renderer())
        width, height = figure.get_size_inches()
        plt.close(figure)
        assert inside.x0 > -0.02 and inside.y0 > -0.02, f'{argument}={value}: {inside}'
        assert inside.x1 < width + 0.02 and inside.y1 < height + 0.02, (
            f'{argument}={value}: {inside}'
        )
        assert len(figure.axes) == 2 and all(axes.get_xlabel() for axes in figure.axes)


@pytest.mark.parametrize('name', course.SETS)
def test_a_prediction_comes_first(name, capsys):
    "Without it there is no picture; with it the picture says what was predicted."
    assert slider(name, 0, None)[1] == []
    _, ((function, values),) = slider(name, 0, 0.123)
    ((argument, offered),) = values.items()
    figure = function(**{argument: offered[-1]})
    assert any('you predicted 0.123' in axes.get_title() for axes in figure.axes)
    plt.close(figure)


@pytest.mark.parametrize('name', course.SETS)
def test_slider_answers_differ_by_student(name):
    "No single answer serves a third of twenty-five students."
    said = {}
    for variant in range(25):
        space, _ = slider(name, variant, None, answer=True)
        (value,) = [float(space[key]) for key in space if key.startswith('answer_')]
        said.setdefault(round(value, 6), []).append(variant)
    assert max(map(len, said.values())) <= 9, {value: len(who) for value, who in said.items()}


def test_overflow_says_so():
    "At the largest rate of problem set 1 the picture names the step."
    _, ((function, values),) = slider('ps1_softmax', 0, 1.0)
    figure = function(rate=values['rate'][-1])
    assert 'overflow at step' in figure.axes[0].get_title()
    plt.close(figure)
