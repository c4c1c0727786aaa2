"""What the problem sets ask, give and refuse: partial credit, other people's answers, pictures,
parts that are left out."""

import contextlib
import ast
import json
import re
import sys
import types
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import test_course as course

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'assignments'))
import parts  # noqa: E402
import plan  # noqa: E402
import slides  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


# ------------------------------------------------------------------ answers that are no answers


NOTHING = (
    *('[]', '()', '{}', 'None', 'True', '0', '""', "float('inf')", "float('nan')", '[[], []]'),
    *('([], [])', '(None, None)', *(f'__import__("numpy").zeros({n})' for n in ('0', '(0, 3)'))),
)
BROKEN = """
def _broken(value, how):
    import numpy as np
    if value is None: return None
    if how == 'short': return value[:-1] if isinstance(value, (list, tuple)) or np.ndim(value) else []
    if isinstance(value, (list, tuple)): return type(value)(_broken(one, how) for one in value)
    return np.full(np.shape(value), float(how)) if np.ndim(value) else float(how)
def _wrap(own, how): return lambda *args, **kwargs: _broken(own(*args, **kwargs), how)
"""


def no_answers(solution):
    """Answers without work to a cell of a solution: each name is nothing, or a function that returns
    nothing; the solution's own values, all infinite, all nan, or without their last part."""
    body = ast.parse(solution).body
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    targets = [one for node in body if isinstance(node, ast.Assign) for one in node.targets]
    values = [target.id for target in targets if isinstance(target, ast.Name)]
    for what in NOTHING:
        lines = [f'def {one}(*args, **kwargs): return {what}' for one in functions]
        yield what, 0, '\n'.join(lines + [f'{one} = {what}' for one in values])
    if functions and not values:
        for how in ('inf', 'nan', 'short'):
            lines = [f'{one} = _wrap({one}, {how!r})' for one in functions]
            yield how, 0, '\n'.join([solution, BROKEN, *lines])


@pytest.mark.parametrize('skip', ['real', pytest.param('', marks=pytest.mark.slow)])
@pytest.mark.parametrize('name, version', course.VERSIONS)
def test_no_answer_earns_nothing(name, version, skip):
    "An empty, an infinite or a shortened answer to every coding question of both versions."
    cells = course.cells(name, version)
    given = {  # what sgd_step returns does not count: it works in place
        label: [
            row
            for row in no_answers(source)
            if row[0] in NOTHING or not (skip or label == 'sgd_step')
        ]
        for label, kind, _, source in cells
        if kind == 'solution'
    }
    rows = course.earned(cells, given, (skip,))
    assert len({row[0] for row in rows}) >= len(given) - (skip == 'real') > 3
    assert [row[:3] for row in rows if row[2]] == []


# ---------------------------------------------------------------- parts


FOUR_WEEKS = {
    'ps1_softmax': (1, 2, 4, 5, 6, 7),
    'ps2_similarity': (1, 2, 3, 6, 7),
    'ps3_ordinal': (1, 2, 3, 4, 6, 7),
    'ps4_bound': (1, 2, 3, 5),
}


@pytest.mark.parametrize('name', FOUR_WEEKS)
def test_parts_can_be_left_out(name):
    """Points, table and cells follow; what the other parts need is there, and the reference earns
    all of it."""
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
    for label, _, _, source in course.cells_of(part):
        if label in ('sentences', 'links', 'cities', 'wines'):
            break  # the last part fits real data; its tests run with the whole set
        course.run(source, space)


def test_a_part_that_needs_another_is_refused():
    with pytest.raises(ValueError, match='part 7 uses .*loss_and_gradient.* of part 2'):
        parts.cut(parts.read('ps3_ordinal'), {1, 6, 7})
    with pytest.raises(ValueError, match='there is no part 9'):
        parts.cut(parts.read('ps1_softmax'), {9})


def test_a_class_can_have_some_parts_of_the_other_version(tmp_path):
    """Release, reference, rubric and points are those of the parts of that version; students and
    teachers get their papers."""
    course.make.main([f'out={tmp_path}', 'ps1_softmax', 'parts=1,2', 'version=b'])
    wanted = parts.cut(parts.read('ps1_softmax', 'b'), {1, 2})
    for place in ('student', 'instructor', 'class/release', 'class/source'):
        made = json.loads((tmp_path / place / 'ps1_softmax/ps1_softmax.ipynb').read_text('utf-8'))
        assert parts.points_of(made['cells']) == parts.points_of(wanted['cells']) < 37
        assert [cell['id'] for cell in made['cells']] == [cell['id'] for cell in wanted['cells']]
    text = (tmp_path / 'instructor/rubrics/ps1_softmax.md').read_text('utf-8')
    assert f'{parts.points_of(wanted["cells"]):g} points' in text
    assert (tmp_path / 'student/README.md').exists()
    assert (tmp_path / 'student/constraints.txt').exists()
    assert {'answers', 'written', 'quiz', 'exam'} <= {
        path.name for path in (tmp_path / 'instructor').iterdir()
    }
    assert not (tmp_path / 'student/written').exists()


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        (['parts=1'], 'parts= belongs to one problem set'),
        (['ps1_softmax', 'parts=a'], 'parts=a names no parts'),
        (['ps1_softmax', 'parts=99'], 'ps1_softmax: there is no part 99'),
        (['ps2_similarity', 'version=z'], "ps2_similarity: no version 'z' of it"),
    ],
)
def test_wrong_parts_are_refused_before_anything_is_written(tmp_path, options, said):
    with pytest.raises(SystemExit, match=re.escape(said)):
        course.make.main([f'out={tmp_path / "new"}', *options])
    assert not (tmp_path / 'new').exists()


# ---------------------------------------------------------------- sliders and pictures


def slider(name, variant, predicted=1.0, answer=False):
    """The cells of the slider of a set, executed: (what they define, the pictures as (function,
    values))."""
    seen, space, on = [], {'__name__': '__main__'}, False
    every = parts.parts_of(parts.read(name)).values()
    part = next(part for part in every if 'prediction' in [cell['id'] for cell in part])
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
            live=lambda function, **values: seen.append((function, values))
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, 'extreme_opt.show', patched)
            course.run(source, space)
    assert on
    return space, seen


@pytest.mark.parametrize('name', course.SETS)
def test_pictures_are_not_cropped(name):
    """Titles, labels and ticks lie inside the figure that the slider shows; two panels, and every
    axis is named."""
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


@pytest.mark.parametrize('name', course.SETS)
def test_sliders_have_a_kernel_and_frames_by_one_call(name):
    """The call of the set makes ipywidgets for the lab and, for a page without a kernel, a dozen
    figures; the words of that page do not say the answer."""
    widgets = pytest.importorskip('ipywidgets')
    import extreme_opt.show

    space, ((function, values),) = slider(name, 3, 1.0, answer=True)
    ((argument, offered),) = values.items()

    def small(**chosen):
        plt.plot([offered.index(chosen[argument])])

    made = extreme_opt.show.live(small, **values)
    knob = made.children[0]
    assert isinstance(knob, widgets.SelectionSlider) and [one for _, one in knob.options] == offered
    shown = made._repr_mimebundle_()
    page = shown['text/html']
    assert 'application/vnd.jupyter.widget-view+json' in shown and page.count('<img') >= 8
    (answer,) = [space[key] for key in space if key.startswith('answer_')]
    words = re.sub(r'src="[^"]*"|data-labels="[^"]*"', '', page)
    counts = [words.count(f' {label}"') for label, _ in knob.options]
    assert max(counts) <= 2 and sum(counts) >= 8, answer  # each position is named, none stands out


def in_theory(runs, space, variant):
    "The number of runs that mean and deviation, which are printed, ask for."
    rng = space['np'].random.default_rng(2024 + 1000 * variant)
    mean, spread = rng.uniform(0.12, 0.25), rng.uniform(0.6, 1.2)
    return min(n for n in runs if n >= (1.96 * spread / mean) ** 2)


# Without a look at the figure: the answer that text, lesson and printed numbers give.
THEORIES = {
    'ps2_similarity': lambda space, variant: 15 * space['MY_WIDTH'],
    'ps3_ordinal': lambda space, variant: 1.0,
    'ps4_bound': lambda space, variant: 1.0,
    'ps5_project': lambda space, variant: in_theory(space['offered'], space, variant),
}


@pytest.mark.parametrize('name', THEORIES)
def test_the_figure_says_what_the_text_does_not(name):
    "What can be derived without it is right for a few of twenty-five students at most."
    test = next(row[3] for row in course.cells(name) if 'read the slider again' in row[3])
    right = 0
    for variant in range(25):
        space, _ = slider(name, variant, None, answer=True)
        course.run(test, space)
        (key,) = [key for key in space if key.startswith('answer_')]
        space[key] = THEORIES[name](space, variant)
        with contextlib.suppress(AssertionError):
            course.run(test, space)
            right += 1
    assert right <= 6


def test_overflow_says_so():
    "At the largest rate of problem set 1 the picture names the step."
    _, ((function, values),) = slider('ps1_softmax', 0, 1.0)
    figure = function(rate=values['rate'][-1])
    assert 'overflow at step' in figure.axes[0].get_title()
    plt.close(figure)


# ---------------------------------------------------------------- written answers


def samples(name):
    "Written answers to calibrate on: {question: {points earned: (of, text)}}."
    text = (ROOT / f'assignments/written/{name}.md').read_text(encoding='utf-8')
    found = {}
    for question, body in re.findall(r'^## (q\w+)\n(.*?)(?=^## |\Z)', text, re.S | re.M):
        parted = re.findall(r'^### (\d+) of (\d+)\n(.*?)(?=^### |\Z)', body, re.S | re.M)
        found[question] = {int(got): (int(of), answer.strip()) for got, of, answer in parted}
    return found


@pytest.mark.parametrize('name', course.SETS)
def test_every_written_question_has_three_samples(name):
    """Full, about half and none; what is not full says what was marked, unless nothing was there to
    mark."""
    worth = {row[0]: row[2] for row in course.make.questions(name) if row[1] == 'by hand'}
    given = samples(name)
    assert set(given) == set(worth)
    for question, answers in given.items():
        none, half, full = sorted(answers)
        assert none == 0 and full == worth[question] and abs(2 * half - full) <= 1, question
        assert all(of == worth[question] for of, _ in answers.values())
        assert '*Marked:*' in answers[half][1] and len(answers[full][1]) > len(answers[none][1])


@pytest.mark.parametrize('version', ['a', 'b'])
def test_every_mark_scheme_has_common_mistakes_with_marks(version):
    "What graders see most often, and what it is worth."
    for name in course.SETS if version == 'a' else course.make.sets_of(version):
        schemes = [row for row in course.make.questions(name, version) if row[1] == 'by hand']
        assert schemes
        for label, _, points, _, scheme in schemes:
            (mistakes,) = re.findall(r'Common mistakes?\b[^\n]*', scheme)
            worth = re.findall(r'\b(\d) of (?:the )?(\d)|\b\d point less|\bno point\b', mistakes)
            assert worth, (name, label)
            assert all(int(got) < int(of) <= points for got, of in worth if of), (name, label)
        text = course.make.rubric(name, version)
        assert text.count('Common mistake') == len(schemes)


def numbers(text):
    "Decimal fractions of a text."
    return set(re.findall(r'(?<![\d.])\.\d{3,4}', text))


def reference(name, variant=0, version='a'):
    "What the reference of a set defines."
    space = {'__name__': '__main__'}
    for _, kind, _, source in course.cells(name, version):
        if kind != 'manual':
            course.run(source.replace('VARIANT = 0', f'VARIANT = {variant}'), space)
    return space


def fit_of(name, version):
    "The cell that fits the last part's data."
    return next(cell[3] for cell in course.cells(name, version) if cell[0] == 'real')


def short(*values, digits=3):
    return {f'{value:.{digits}f}'[1:] for value in values}


@pytest.mark.slow
@pytest.mark.parametrize('version', ['a', 'b'])
@pytest.mark.parametrize('name', course.SETS[:4])
def test_numbers_of_the_mark_schemes_come_from_the_reference(name, version):
    """The experiments of the last part, run; the scheme, and in version a the sample at full marks,
    hold their numbers and no others."""
    space = reference(name, version=version)
    question = 'q6b' if name == 'ps4_bound' else 'q7b'
    rows = course.make.questions(name, version)
    scheme = next(row[4] for row in rows if row[0] == question)
    full = max(samples(name)[question].items())[1][1] if version == 'a' else ''
    measured = dict(
        ps1_softmax=softmax_numbers,
        ps2_similarity=similarity_numbers,
        ps3_ordinal=ordinal_numbers,
        ps4_bound=bound_numbers,
    )[name](space, version)
    assert numbers(scheme) <= measured and numbers(full) <= measured, (
        numbers(scheme + full) - measured,
        measured,
    )
    assert len(numbers(scheme)) >= 3


def softmax_numbers(space, version):
    docs, found = space['docs'], {}
    epochs, top = dict(a=(6, 5), b=(4, 10))[version]
    for solver, settings in (('implicit', {}), ('umax', {}), ('umax', dict(learning_rate=0.1))):
        found[solver, bool(settings)] = []
        for seed in range(3):
            model = space['SoftmaxClassifier'](
                solver=solver, max_epochs=epochs, random_state=seed, **settings
            )
            model.fit(docs.train_features, docs.train_labels)
            hit = model.top_k(docs.test_features, top)[0] == docs.test_labels[:, None]
            found[solver, bool(settings)].append(hit.any(1).mean())
    assert found['implicit', False][0] == space['report']['implicit'][0]
    difference = found['implicit', False][0] - found['umax', False][0]
    return short(*sum(found.values(), []), difference)


def similarity_numbers(space, version):
    found = [space['recall']]
    for factor in (10, 0.1):
        trial = course.state_of(space)
        trial['weight'] *= factor
        course.run(fit_of('ps2_similarity', version), trial)
        found.append(trial['recall'])
    return short(*found)


def ordinal_numbers(space, version):
    import numpy as np

    turned = np.random.default_rng(0).choice(2000, 200, replace=False)
    noisy = space['known'].copy()
    noisy[turned] = noisy[turned][:, [0, 2, 1]]
    trial = course.state_of(space)
    trial['known'] = noisy
    course.run(fit_of('ps3_ordinal', version), trial)
    return short(*[each['errors'][key] for each in (space, trial) for key in ('train', 'test')])


def bound_numbers(space, version):
    ends = [value for curve in space['curves'].values() for value in (curve[1], curve[-1])]
    if version == 'a':
        trial = course.state_of(space)
        course.run(fit_of('ps4_bound', version).replace('S, ridge)', 'S, ridge, 1.8)'), trial)
        ends += [curve[-1] for curve in trial['curves'].values()]
    return short(*ends, digits=4)


# ---------------------------------------------------------------- quiz


def quiz(chapter, version):
    "Questions and answers of a quiz by lesson."
    file = ROOT / f'assignments/quiz/{chapter}{"_b" if version == "b" else ""}.md'
    text = file.read_text(encoding='utf-8')
    assert text.count('$') % 2 == 0
    pages = re.findall(r'^## (\S+)\n(.*?)(?=^## |\Z)', text, re.S | re.M)
    halves = {page: body.split('\nAnswers:\n') for page, body in pages}
    return {
        page: [re.findall(r'^(\d)\. (\S.*)', half, re.M) for half in both]
        for page, both in halves.items()
    }


@pytest.mark.parametrize('chapter', ['softmax', 'similarity', 'ordinal', 'bound'])
def test_every_lesson_has_five_questions_with_answers(chapter):
    "In the order of the lessons, two files a chapter, no question twice."
    lessons = sorted(path.stem for path in (ROOT / f'nbs/learn/{chapter}').glob('*.ipynb'))
    every = []
    for version in 'ab':
        pages = quiz(chapter, version)
        assert list(pages) == lessons
        for page, (asked, answers) in pages.items():
            assert [n for n, _ in asked] == [n for n, _ in answers] == list('12345'), page
            assert all(said.endswith('?') or '.' in said for _, said in asked), page
            every += [' '.join(normal(said)) for _, said in asked]
    assert len(set(every)) == len(every)


# ---------------------------------------------------------------- plan, slides, exam


def test_four_weeks_load_alike():
    """Words, lines and minutes of each week are within a fifth of the mean; the methods of the
    papers are read."""
    rows = plan.measured()
    for key in ('words', 'lines', 'minutes'):
        mean = sum(row[key] for row in rows) / len(rows)
        assert all(abs(row[key] / mean - 1) < 0.2 for row in rows), (
            key,
            [row[key] for row in rows],
        )
    weeks = [week['board'] + week['lab'] for week in plan.plan()['week']]
    assert {'learn/softmax/30_umax', 'learn/softmax/40_implicit'} <= set(weeks[0])
    assert 'learn/ordinal/30_svrg' in weeks[2] and 3 in plan.plan()['week'][2]['parts']
    assert {5, 6} <= set(plan.plan()['week'][0]['parts'])
    assert sum(plan.plan()['grade'].values()) == 100
    assert plan.table().count('\n') == 5
    assert plan.table(sizes=False) in (ROOT / 'docs/teaching.md').read_text(encoding='utf-8')


@pytest.mark.parametrize('name', course.SETS[:4])
def test_sets_name_lessons_that_exist(name):
    "Titles in the head are titles of the chapter's lessons, in their order."
    chapter = name.split('_')[1]
    titles = []
    for path in sorted((ROOT / f'nbs/learn/{chapter}').glob('*.ipynb')):
        first = ''.join(json.loads(path.read_text(encoding='utf-8'))['cells'][0]['source'])
        titles.append(first.split('\n')[0].removeprefix('# '))
    head = ''.join(parts.read(name)['cells'][0]['source'])
    named = re.findall(r'\*([^*]+)\*', re.search(r'these lessons beside you: (.*)', head)[1])
    found = [
        next((n for n, title in enumerate(titles) if title.startswith(one)), one) for one in named
    ]
    assert len(found) >= 4 and all(isinstance(n, int) for n in found), found
    assert found[:4] == sorted(found[:4])  # the last part may go back


def test_slides_to_teach_from():
    """For the sixteen sessions of the plan: every page exists; of a lesson each displayed formula and figure
    has a slide of its own, with notes, and each question of its quiz; no imports, no code that is cut, no
    words about sliders and cells, nothing from a network."""
    sessions = slides.sessions()
    assert len(sessions) == 16 and all(pages for _, _, pages in sessions)
    for _, _, pages in sessions:
        assert all((ROOT / f'nbs/{page}.ipynb').exists() for page in pages)
    page = 'learn/softmax/40_implicit'
    made = slides.ideas(page)
    lesson = json.loads((ROOT / f'nbs/{page}.ipynb').read_text())
    full = '\n\n'.join(
        ''.join(c['source']) for c in lesson['cells'] if c['cell_type'] == 'markdown'
    )
    left_out = '|'.join(slides.LEFT_OUT)
    taught = re.sub(rf'^##+ (?:{left_out})\n.*?(?=^##? |\Z)', '', full, flags=re.S | re.M)
    formulas = re.findall(r'\$\$.*?\$\$', taught, re.S)
    assert len(formulas) > 5 and all(any(one in shown for _, shown, _ in made) for one in formulas)
    assert all(shown.count('$$') <= 2 for _, shown, _ in made)
    asked = [row for row in made if row[0] == '## A question']
    assert len(asked) == 5 and all(notes for _, _, notes in asked)
    pictures = [shown for _, shown, _ in made if shown.startswith('<img')]
    assert len(pictures) >= 2 and all('alt="figure"' not in one for one in pictures)
    for _, shown, _ in made:
        if not shown.startswith('<img'):
            assert 'import ' not in shown and max(map(len, shown.split('\n'))) < 700
            assert '<pre>' in shown or '$$' not in shown or 'slider' not in shown
    text = slides.deck('The implicit step', [page])
    assert 'http://' not in re.sub(r'href="[^"]*"', '', text) and 'src="http' not in text
    assert text.count('<section>') == len(made) and 'Nelder-Mead' not in text


# ---------------------------------------------------------------- versions


VERSIONS = sorted(path.stem for path in (ROOT / 'assignments/versions/b').glob('*.ipynb'))


@pytest.mark.parametrize('name', VERSIONS)
def test_versions_can_be_exchanged(name):
    """The same questions and points; each reference earns all in its own version, and at most a
    third of a question in the other."""
    one, two = [course.cells(name, version) for version in 'ab']
    assert [cell[:3] for cell in one] == [cell[:3] for cell in two]
    differ = {a[0] for a, b in zip(one, two) if a[1] == 'solution' and a[3] != b[3]} - {'real'}
    asked = {cell[0] for cell in one if cell[1] == 'solution'} - {'answer', 'real'}
    assert differ <= asked and len(differ) >= min(5, len(asked))
    for here, there in ((one, two), (two, one)):
        worth = course.worth(here)
        own = {cell[0]: [('own', worth[cell[0]], cell[3])] for cell in here if cell[0] in differ}
        other = {cell[0]: [('other', 0, cell[3])] for cell in there if cell[0] in differ}
        assert [row for row in course.earned(here, own, ('real',)) if row[2] != row[3]] == []
        rows = course.earned(here, other, ('real',))
        assert [row for row in rows if 3 * row[2] > worth[row[0]]] == []


# ---------------------------------------------------------------- the exam


def numbered(version, file):
    "Numbered paragraphs of a file of the exam: [(points, text)]."
    text = (ROOT / f'assignments/exam/{file}_{version}.md').read_text()
    return [(int(n), said) for n, said in re.findall(r'^\d+\. \((\d+)\) (.*)$', text, re.M)]


def normal(text):
    "Words in small letters without marks; a formula is one word, without its spaces."
    words = re.findall(r'\$[^$]*\$|\w+', re.sub(r'[*_`](?=\w)', '', text).lower())
    return [re.sub(r'\s', '', word) for word in words]


def runs(text):
    "Six words in a row, and the formulas that are longer than a name."
    words = normal(text)
    return {tuple(words[at : at + 6]) for at in range(len(words) - 5)} | {
        word for word in words if len(word) > 17
    }


def test_no_question_of_the_exam_or_a_quiz_is_one_of_a_set():
    "No six words in a row and no formula that a problem set has, whatever the capitals and marks."
    known = set()
    for name, version in course.VERSIONS:
        for cell in parts.read(name, version)['cells']:
            known |= runs(''.join(cell['source'])) if cell['cell_type'] == 'markdown' else set()
    assert len(known) > 5000
    asked = [said for version in 'ab' for _, said in numbered(version, 'exam')]
    for chapter in ('softmax', 'similarity', 'ordinal', 'bound'):
        asked += [said for v in 'ab' for both in quiz(chapter, v).values() for _, said in both[0]]
    assert len(asked) > 250
    assert not {said: both for said in asked if (both := runs(said) & known)}


def test_the_exam_has_two_versions():
    "The same points question by question, and answers whose points add up."
    for version in 'ab':
        questions, answers = numbered(version, 'exam'), numbered(version, 'answers')
        assert [n for n, _ in questions] == [n for n, _ in answers] == [8, 8, 6, 8, 6, 8, 8, 8]
        for worth, said in answers[:-1]:
            assert sum(int(n) for n in re.findall(r': (\d+)(?: points?)?[.]', said)) == worth, said
    mine, theirs = ({said for _, said in numbered(v, 'exam')} for v in 'ab')
    assert not mine & theirs
