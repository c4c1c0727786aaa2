"""Pages that run in the browser: the kernel by itself, the pages as built, and the button pressed
in Chromium."""

import csv
import gzip
import importlib
import inspect
import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from built_site import (  # noqa: F401 (fixtures)
    CHROMIUM,
    ROOT,
    browser,
    own_scripts,
    report,
    script,
    served,
    site,
)
from told import tell

from extreme_opt import data

MADE = ROOT / 'build/live/site'
book, live = script('book'), script('live')


def kernel(*cells, before=''):
    "What the kernel sends for cells run in a process of its own."
    code = (
        f'import sys; sys.path.insert(0, {str(ROOT / "docs/live")!r})\nimport json,'
        f' guest\n{before}\nguest.start()\nfor cell in {list(cells)!r}:'
        ' guest.handle(json.dumps(dict(source=cell, name="<cell'
        ' 1>")))\nsys.__stdout__.write(json.dumps(guest.sent))'
    )
    done = tell(sys.executable, '-c', code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_kernel_prints_and_shows_the_last_value():
    sent = kernel('print("one"); 2 + 3', '_ * 2;')
    assert [one['kind'] for one in sent] == ['stream', 'data', 'done', 'done']
    assert sent[0]['text'] == 'one\n' and sent[1]['data'] == {'text/plain': '5'}


def test_an_error_names_the_line_of_the_cell_and_nothing_of_the_kernel():
    *_, error, done = kernel('x = 1\n\nx / 0')
    assert error['kind'] == 'error' and error['name'] == 'ZeroDivisionError'
    assert 'line 3' in error['text'] and 'x / 0' in error['text'] and 'guest' not in error['text']
    assert done['ok'] is False


def test_weights_on_a_support_are_those_of_compiled_code():
    "Pages run without numba; `auto` takes dense weights at their sizes, a support where asked."
    cell = (
        'import numpy as np; import scipy.sparse\nfrom extreme_opt.softmax import'
        ' SoftmaxClassifier\nrng = np.random.default_rng(0); y = np.arange(40) % 5\nX ='
        ' scipy.sparse.csr_array((rng.random((40, 30)) < 0.1 + 0.5 * (np.arange(30) // 6 =='
        ' y[:, None])).astype(float))\nmodels = [SoftmaxClassifier(weights=name,'
        ' max_epochs=3).fit(X, y) for name in ("support", "auto")]\nstored ='
        ' [scipy.sparse.issparse(model.coef_) for model in models]\nfound ='
        ' models[0].predict_proba(X)[:3]'
    )
    there: dict = {}
    exec(cell, there)
    _, out, _ = kernel(cell, 'print(stored, found.tolist())', before='sys.modules["numba"] = None')
    stored, found = out['text'].split('] ', 1)
    assert stored == '[True, False' and there['stored'] == [True, False]
    np.testing.assert_allclose(json.loads(found), there['found'], rtol=2e-3)


def test_figures_leave_as_svg_and_large_ones_as_png():
    before = 'import os; os.environ["MPLBACKEND"] = "module://guest_figures"'
    cell = 'import matplotlib.pyplot as plt\nplt.plot(range({}), marker="o")\nplt.show()'
    small, _, large, _ = kernel(cell.format(3), cell.format(20_000), before=before)
    assert small['data']['image/svg+xml'].lstrip().startswith('<?xml')
    assert list(large['data']) == ['image/png']


def test_sliders_draw_what_they_are_asked_for():
    cells = [
        'import matplotlib.pyplot as plt\nfrom extreme_opt.show import frames, live',
        'def draw(a=2, b=0.5):\n    "A line."\n    plt.plot([0, a * b])',
        'frames(draw, a=[1, 2, 3])',
        'live(draw, a=(1, 4), b=0.5)',
        'import guest\nguest.handle(\'{"move": 0, "places": [0]}\')',
    ]
    shown = [one for one in kernel(*cells) if one['kind'] in ('data', 'moved', 'error')]
    described = [one['data']['application/x-sliders'] for one in shown[:2]]
    assert [one['knobs'][0]['labels'] for one in described] == [['1', '2', '3'], list('1234')]
    assert described[0]['knobs'][0]['start'] == 1
    assert shown[2]['kind'] == 'moved' and shown[2]['image'] != described[0]['image']


def test_pages_with_a_button_list_all_cells():
    "Every shown cell of a lesson is found on the page by its id; hidden ones are listed too."
    cells = live.cells_of('learn/softmax/10_double_sum.ipynb')['cells']
    assert any(one['hidden'] for one in cells) and not all(one['hidden'] for one in cells)
    assert not any('default_exp' in one['source'] or '#|' in one['source'] for one in cells)


TEXT = (ROOT / 'docs/live/tests/answers.md').read_text(encoding='utf-8')
PAGE = r'^## (\S+)\n(.*?)(?=^## |\Z)'
ANSWERS = {  # by page and number, right ones
    (page, int(number)): code
    for page, own in re.findall(PAGE, TEXT, re.S | re.M)
    for number, code in re.findall(r'^### (\d+)\n\n```python\n(.*?)```$', own, re.S | re.M)
}
EXERCISES = {
    (f'{path.parent.name}/{path.stem}', one['number']): one
    for path in live.pages().values()
    for one in live.exercises(path)
}


def test_every_lesson_that_names_an_answer_has_it_checked():
    "Tests belong to exercises that are there, and every one has a right answer to try it with."
    written = [
        (f'{path.stem}/{page}', int(number))
        for path in (live.TASKS / 'checks').glob('*.md')
        for page, own in re.findall(PAGE, path.read_text(), re.S | re.M)
        for number in re.findall(r'^### (\d+)$', own, re.M)
    ]
    assert sorted(written) == sorted(EXERCISES) == sorted(ANSWERS)
    for path in live.pages().values():
        cells = json.loads((live.NBS / path).read_text())['cells']
        text = '\n'.join(''.join(cell['source']) for cell in cells)
        own = text.partition('## Exercises')[2].partition('\n## ')[0]
        there = [int(number) for number in re.findall(r'^(\d+)\. ', own, re.M)]
        checked = {one['number'] for one in live.exercises(path)}
        assert checked <= set(there), path
        assert checked or path.parts[0] != 'learn', f'{path} has no exercise with a cell'


@pytest.mark.parametrize('key', EXERCISES, ids=lambda key: f'{key[0]}-{key[1]}')
def test_an_exercise_is_refused_empty_and_taken_when_right(key):
    "The tests stand alone: they need nothing of the page."
    one, names = EXERCISES[key], {}
    exec(one['start'], names)
    with pytest.raises((AssertionError, TypeError, ValueError)):
        exec(one['test'], names)
    names = {}
    exec(ANSWERS[key], names)
    exec(one['test'], names)


def test_a_part_that_grows_is_named():
    build = load_build()
    assert build.too_large({'a.gz': 900_000}, {'a.gz': 1.0}) == []
    [said] = build.too_large({'a.gz': 1_100_000}, {'a.gz': 1.0})
    assert said.startswith('a.gz has 1.1 MB')
    assert build.too_large({}, {'a.gz': 1.0})  # a part that is missing is no small part


def test_pages_load_the_parts_that_their_cells_name():
    names = 'learn/00_primer', 'learn/similarity/30_first_fit', 'use/20_recommender'
    parts = [live.cells_of(f'{name}.ipynb')['parts'] for name in names]
    assert parts == [[], ['corpus.zip.gz'], ['pandas.zip.gz', 'corpus.zip.gz']]


def test_documented_functions_are_read_from_what_the_site_brings(tmp_path):
    "The links are those of a process that reads the libraries; nothing is imported for them."
    (tmp_path / 'corpus.zip').write_bytes(load_build().corpus())
    before = (
        f'import os; guest.CORPUS = {str(tmp_path / "corpus.zip")!r}\n'
        f'os.environ["EXTREME_OPT_CACHE"] = {str(tmp_path / "cache")!r}'
    )
    cells = [
        'from extreme_opt import data\nfrom extreme_opt.data import multiclass',
        'multiclass._crawl = None\nlinks = data.see_also(max_features=50)',
        'print(len(links.observed), links.left_names[:2])',
    ]
    sent = kernel(*cells, before=before)
    there = data.see_also(max_features=50)
    told = f'{len(there.observed)} {there.left_names[:2]}\n'
    assert [one['text'] for one in sent if one['kind'] == 'stream'] == [told], sent


FITS = """
import numpy as np
from extreme_opt import data
from extreme_opt.bound import LogLinear
from extreme_opt.bound.class_space import chain_times, class_chain
from extreme_opt.bound.quadratic_bound import bound_rows
from extreme_opt.core import GaussNewton, LBFGS, Newton, minimize
from extreme_opt.core.majorize import Majorizer
from extreme_opt.ordinal import CKL, Hinge, SOE, STE, TSTE, Comparisons, triplet_error
from extreme_opt.similarity import MLP, AllPairs, Linear, PairSGD, top_k
from extreme_opt.softmax import DoubleSum, ExactSGD, FullSoftmaxByColumn, ImplicitSGD, UMax
from scipy import sparse

found = data.planted_towers(70, 50, 6, 3, test_size=0.0)[0]
pairs, features = found.train_observed, (found.left_features, found.right_features)
groups = np.arange(70) % 40, np.arange(50)
losses = []
for kind in ('logistic', 'squared'):
    settings = dict(right=Linear(), pair_loss=kind, ridge=0.3)
    towers = AllPairs(pairs, *features, n_components=11, left=MLP(5), **settings)
    ids = AllPairs(pairs, *groups, n_components=3, left=Linear(), **settings)
    for problem in (towers, ids):
        run = minimize(problem, GaussNewton(), max_iter=3)
        losses += run.column('loss').tolist()
        losses += minimize(problem, PairSGD(0.1), max_iter=3).column('loss').tolist()
    P, Q = (problem.embed(side, run.state.params) for side in (0, 1))
    rough = (P @ Q.T).round(1)  # with ties
    rough[3, 4] = np.nan
    seen = sparse.csr_array((np.ones(len(pairs)), pairs.T), shape=(70, 50))
    for k in (20, 60):  # and longer than there are items
        lists = top_k(lambda rows: rough[rows], np.arange(70), 50, k, seen)
        losses += [float((np.maximum(part, -9) * np.arange(k)).sum()) for part in lists]

triplets = data.planted_triplets(20, 2, 400)[0].triplets
for loss in (STE(), TSTE(1.0), CKL(), Hinge(), SOE()):
    weights = np.arange(len(triplets)) % 3
    run = minimize(Comparisons(triplets, 2, loss, weights=weights), LBFGS(), max_iter=4)
    points = run.state.params.reshape(20, 2)
    losses += [*run.column('loss').tolist(), triplet_error(points, triplets)]
    losses += np.array(loss([0.1, 1.0], [1.0, 0.2])).ravel().tolist()

iris = data.iris()
rows, labels = iris.train_features, iris.train_labels
for order in ('smallest', 'largest'):
    losses += bound_rows(rows[:5], rows[:5, 0], order)[2].ravel().tolist()
    for scores in (rows[:9].copy(), 1000 * rows[:9]):
        scores[:, 1], scores[::2, 3] = scores[:, 0], -np.inf  # ties; classes that cannot happen
        for one in (order, 'given'):
            losses += chain_times(class_chain(scores, one), rows[9:18]).ravel().tolist()
    for solver in (Majorizer(order=order), Newton()):
        for size in (1, 1000):
            problem = LogLinear(size * rows, labels, 3, ridge=0.1)
            run = minimize(problem, solver, max_iter=3)
            losses += run.column('loss').tolist()
            losses += problem.curvature_at(run.state.params).matrix().ravel().tolist()

for table in (sparse.csr_array(rows), rows):
    for solver in (ImplicitSGD(0.1, 1), ImplicitSGD(0.1, 2), UMax(0.1, n_negatives=1)):
        problem = DoubleSum(table, labels, 3, ridge=0.1)
        losses.append(problem.log_loss(minimize(problem, solver, max_iter=100).state.params))
    for rate in (0.1, 50.0):
        problem = FullSoftmaxByColumn(table, labels, 3, ridge=0.1)
        losses += minimize(problem, ExactSGD(rate), max_epochs=2).column('loss').tolist()
"""


def test_counts_of_any_width_are_taken():
    "On this machine nothing is refused; what the kernel puts in NumPy's place does the same."
    cell = (
        'import numpy as np\nx = np.array([2, 0, 2], np.int64)\n'
        'print(np.bincount(x, [1.0, 2.0, 4.0], minlength=4).tolist(), np.repeat(x, x).tolist())\n'
        'print(np.repeat([[1, 2]], 2, axis=0).tolist(), np.bincount.__name__)'
    )
    said = ''.join(one['text'] for one in kernel(cell) if one['kind'] == 'stream')
    assert said == '[2.0, 0.0, 5.0, 0.0] [2, 2, 2, 2]\n[[1, 2], [1, 2]] bincount\n'


def test_numpy_in_place_of_compiled_loops_gives_the_same_fits():
    "These fits call every loop that the kernel replaces; its arguments are the original's."
    names: dict = {}
    exec(FITS, names)
    called = (
        'import guest_loops, sys\ncodes = set()\n'
        'sys.setprofile(lambda frame, *_: codes.add(frame.f_code))\n'
        + FITS
        + 'sys.setprofile(None)\nevery = sum(guest_loops.loops.values(), [])\n'
        'print([one.__name__ for one in every if one.__code__ not in codes], *losses)'
    )
    plain = 'import os; os.environ["NUMBA_DISABLE_JIT"] = "1"'
    [said] = [one['text'] for one in kernel(called, before=plain) if one['kind'] == 'stream']
    not_called, _, losses = said.partition('] ')
    assert not_called == '['
    np.testing.assert_allclose([float(one) for one in losses.split()], names['losses'], rtol=1e-6)
    sys.path.insert(0, str(ROOT / 'docs/live'))
    import guest
    import guest_loops

    patched = [name for name, done in guest._AfterImport.changes.items() if 'loops' in str(done)]
    assert patched == sorted(guest_loops.loops)
    for name, functions in guest_loops.loops.items():
        for one in functions:
            original = getattr(importlib.import_module(name), one.__name__)
            both = one, getattr(original, 'py_func', original)
            mine, theirs = (inspect.signature(each).parameters.keys() for each in both)
            assert mine == theirs


def test_a_loop_refuses_a_number_that_it_has_no_formula_for():
    """What stands in for a compiled loop knows each loss and each order of the package, and takes
    no other number for one of them."""
    sys.path.insert(0, str(ROOT / 'docs/live'))
    import guest_loops

    from extreme_opt.bound.quadratic_bound import ORDERS
    from extreme_opt.ordinal import losses
    from extreme_opt.similarity.all_pairs import LOSSES

    ones, ids, rows, scores = np.ones(3), np.zeros(3, int), np.ones((1, 2)), np.ones((2, 3))
    lists = [ones] * 5 + [0.0, ones, ones, ids, ids, rows, rows, np.empty(3)]
    order, empty = np.empty((2, 3), int), [np.empty((2, 3)), np.empty((2, 3)), np.empty(2)]
    orders = range(len(ORDERS))
    for loop, before, after, known in (
        (guest_loops._pair_losses, [], [1.0, ones, 2 * ones, np.empty((3, 3))], losses._KINDS),
        (guest_loops._pulls, [], lists, LOSSES.values()),
        (guest_loops._class_logs, [scores], [order, *empty], orders),
        (guest_loops._class_chain, [scores, scores], [order, *empty], orders),
    ):
        for kind in known:
            loop(*before, kind, *after)
        for kind in (-1, max(known) + 1, 99):
            with pytest.raises(ValueError, match=f'kind={kind} has no formula here'):
                loop(*before, kind, *after)


@pytest.mark.skipif(
    not (MADE / 'sizes.json').exists(), reason='the engine was not built: python docs/live/build.py'
)
def test_the_engine_as_built_keeps_to_its_limits():
    "A first visit loads the image or the library, not both."
    build = load_build()
    sizes = build.measure(MADE)
    assert build.too_large(sizes) == []
    large = max(sizes.get('image.gz', 0), sum(sizes[name] for name in build.LIBRARIES))
    small = 'files.zip.gz', 'project.zip.gz', 'python.wasm.gz', 'scripts'
    assert sizes['total'] <= sum(sizes[name] for name in small) + large


def test_an_image_is_taken_after_the_imports_of_pages():
    """The modules that pages name are imported, what is no module is passed over, and free memory
    is emptied up to the end of the memory."""
    before = (
        'import os; os.environ["MPLBACKEND"] = "module://guest_figures"\n'
        'said = json.dumps(dict(warm=["csv", "math.pi"]))\n'
        'run = guest.handle\nguest.handle = lambda _: run(said)\n'
    )
    [done] = kernel('', before=before)
    assert done['ok']
    assert kernel('import guest; guest.scrub(0)')[-1]['ok']


def test_modules_for_the_image_are_those_that_pages_import():
    named = load_build().imported()
    assert {'numpy', 'matplotlib.pyplot', 'scipy.optimize', 'scipy.special.lambertw'} <= set(named)
    assert set(load_build().MORE) <= set(named)
    assert not [name for name in named if name.startswith(('pandas', 'sklearn.linear'))]


def load_build():
    import importlib.util

    spec = importlib.util.spec_from_file_location('live_build', ROOT / 'docs/live/build.py')
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build


# ---------------------------------------------------------------- in the browser

LESSON = 'learn/softmax/double_sum.html'
PRIMER = 'learn/primer.html'  # the shortest page
BAR = re.compile(r'<div class="live-bar".*?</div>', re.S)
in_browser = [
    pytest.mark.skipif(not CHROMIUM, reason='Chromium is missing'),
    pytest.mark.skipif(
        not (MADE / 'sizes.json').exists(),
        reason='the engine was not built; it needs the registries: python docs/live/build.py',
    ),
]


def browser_test(function):
    for mark in in_browser:
        function = mark(function)
    return function


@pytest.fixture(scope='session')
def site_with_engine(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp('live') / 'sub/path'
    shutil.copytree(site, folder)
    live.add_to(folder, MADE)
    return folder


@pytest.fixture(scope='session')
def address(site_with_engine):
    "The site with its engine, under a sub-path of a plain server of files."
    with served(site_with_engine.parent.parent) as address:
        yield f'{address}/sub/path'


class Visit:
    "A page with a button in a profile of its own."

    def __init__(self, browser, address, page=LESSON):
        self.context = browser.new_context(viewport=dict(width=1280, height=900))
        self.tab, self.asked, self.wrong = self.context.new_page(), [], []
        self.tab.on('request', lambda request: self.asked.append(request.url))
        self.tab.on('pageerror', lambda error: self.wrong.append(str(error)))
        self.tab.goto(f'{address}/{page}')

    def press(self, name='Run this page'):
        self.tab.get_by_role('button', name=name, exact=True).click()

    def until(self, *states, seconds=280):
        where = ', '.join(f'.live-bar[data-state={state}]' for state in states)
        self.tab.locator(where).wait_for(timeout=seconds * 1000)
        return self.tab.locator('.live-status').text_content()

    def cell(self, words):
        return self.tab.locator('div.cell', has_text=words).first

    def rewrite(self, cell, text):
        code = cell.locator('pre[contenteditable]')
        code.click()
        self.tab.keyboard.press('Control+a')
        self.tab.keyboard.insert_text(text)


@pytest.fixture
def visit(browser, address):
    made = []

    def go(page=LESSON):
        made.append(Visit(browser, address, page))
        return made[-1]

    yield go
    for one in made:
        one.context.close()
        assert not one.wrong, one.wrong


@browser_test
def test_a_lesson_runs_from_top_to_bottom(visit):
    """The button loads the engine, every cell runs, and text and figures come in place of the
    stored ones."""
    page = visit()
    late = re.compile(r'\.gz|\.zip|cells\.json|engine\.js|worker\.js|sw\.js|shim/|sizes\.json')
    assert not any(late.search(url) for url in page.asked)  # not before the press
    before = page.tab.locator('div.cell > .cell_output').count()
    page.press()
    said = page.until('done', 'failed')
    assert page.tab.locator('.live-bar').get_attribute('data-state') == 'done', said
    cells = live.cells_of('learn/softmax/10_double_sum.ipynb')['cells']
    cells = [one for one in cells if 'cannot' not in one]
    ran = page.tab.evaluate('live.timings')
    assert [one['id'] for one in ran] == [one['id'] for one in cells]
    assert all(one['ok'] for one in ran)
    assert re.match(rf'{len(cells)} cells ran in [\d.]+ s', said)
    assert any(late.search(url) for url in page.asked)
    if (MADE / 'image.gz').exists():  # it holds all that the page imports
        assert not any('library.zip' in url for url in page.asked)
    assert page.tab.locator('.live-output img').count() >= 5
    with_output = page.tab.locator('.live-output:not(:empty)').count()
    assert with_output >= before > 5
    assert 'f at the best u' in page.cell('f at the best u').locator('.live-output').text_content()


ECHO = (
    'export class Engine {\n  start() { this.started = true; }\n  async run(cell, say) {'
    ' say({kind: "data", data: {"text/plain": `echo ${cell.source}`}});\n    return {ok: true,'
    ' seconds: 0, heap: 0}; }\n  interrupt() {}\n  stop() { this.started = null; }\n}\n'
)


def with_echo(folder, page):
    "A copy of a page whose cells are not run but shown; its address."
    (folder / '_static/live/echo.js').write_text(ECHO)
    copy = Path(page).with_name(f'echo_{Path(page).name}')
    text = (folder / page).read_text(encoding='utf-8').replace('engine.js', 'echo.js')
    (folder / copy).write_text(text, encoding='utf-8')
    return copy.as_posix()


@browser_test
def test_another_engine_takes_its_place_in_one_file(browser, address, site_with_engine):
    "The page needs start, run, interrupt and stop of an engine, and nothing else."
    page = Visit(browser, address, with_echo(site_with_engine, PRIMER))
    page.press()
    assert page.until('done', 'failed').endswith('press Run.')
    assert 'echo def softmax' in page.cell('def softmax').locator('.live-output').text_content()
    assert not any('.gz' in url for url in page.asked)
    page.context.close()
    assert not page.wrong


@pytest.fixture(scope='module')
def primer(browser, address):
    "The shortest page, run once for the tests that change its cells."
    page = Visit(browser, address, PRIMER)
    page.stored = BAR.sub('', page.tab.locator('article').inner_html())
    page.press()
    assert page.until('done', 'failed').endswith('press Run.')
    yield page
    page.context.close()
    assert not page.wrong, page.wrong


@browser_test
def test_a_slider_computes_anew_after_an_edit(primer):
    """A slider of a page that runs asks Python for its figure, also for values that the stored page
    lacks."""
    page = primer
    cell = page.tab.locator('div.cell:has(.live-output .xo-frames)').first
    box, shown = cell.locator('.xo-frames'), cell.locator('.xo-frames img')
    knob = box.locator('input').first
    before = shown.get_attribute('src')
    knob.focus()
    page.tab.keyboard.press('End')
    page.tab.keyboard.press('ArrowLeft')
    page.tab.keyboard.press('End')
    page.tab.wait_for_function("document.querySelector('.live-output .xo-frames').dataset.moves")
    moved = shown.get_attribute('src')
    assert moved != before
    source = cell.locator('pre[contenteditable]').text_content()
    page.rewrite(cell, re.sub(r'frames\((\w+), (\w+)=\[', r'frames(\1, \2=[-3.3, ', source))
    cell.get_by_role('button', name='Run').click()
    page.until('done', 'failed')
    labels = cell.locator('.xo-frames output').first
    cell.locator('.xo-frames input').first.focus()
    page.tab.keyboard.press('Home')
    page.tab.wait_for_function("document.querySelector('.live-output .xo-frames').dataset.moves")
    assert labels.text_content() == '-3.3'
    assert cell.locator('.xo-frames img').get_attribute('src') not in (before, moved)


@browser_test
def test_code_of_a_page_reaches_neither_network_nor_files_nor_storage(primer, address):
    """From Python there is no socket, no folder of the reader, no script; HTML that acts is taken
    away."""
    page = primer
    asked = len(page.asked)
    cell = page.tab.locator('div.cell:has(pre[contenteditable])').last
    page.rewrite(
        cell,
        'import os, urllib.request\n'
        'from IPython.display import HTML\n'
        'for reach in (\n'
        f"    lambda: urllib.request.urlopen('{address}/index.html', timeout=5),\n"
        "    lambda: __import__('socket').create_connection(('127.0.0.1', 80), 1),\n"
        "    lambda: __import__('js'),\n"
        "    lambda: os.system('true'),\n"
        '):\n'
        '    try:\n'
        "        print('REACHED', reach())\n"
        '    except Exception as error:\n'
        "        print('refused:', type(error).__name__)\n"
        "print(sorted(os.listdir('/')))\n"
        'HTML(\'<b>kept</b><script>live.bad = 1</script><img src="x" onerror="live.bad = 2">'
        '<a href="javascript:live.bad=3">a</a><iframe src="/"></iframe>\')',
    )
    cell.get_by_role('button', name='Run').click()
    page.until('done', 'failed')
    said = cell.locator('.live-output').text_content()
    assert 'REACHED' not in said and said.count('refused:') == 4, said
    assert "['book', 'lib', 'tmp', 'usr']" in said
    assert cell.locator('.live-output b').text_content() == 'kept'
    assert not cell.locator('.live-output :is(script, iframe, [onerror], [href], [src])').count()
    assert page.tab.evaluate('live.bad') is None
    assert len(page.asked) == asked


@browser_test
def test_what_the_image_lacks_comes_when_it_is_imported(primer):
    """A module that no page imports; then more titles with formulas than matplotlib keeps: no file
    of the image is closed in place of another."""
    page = primer
    cell = page.tab.locator('div.cell:has(pre[contenteditable])').last
    source = cell.locator('pre[contenteditable]').text_content()
    for text, said in (
        ('import sndhdr_not_there', 'ModuleNotFoundError'),
        ('import mimetypes\nprint(mimetypes.guess_type("a.png")[0])', 'image/png'),
        (
            'import io\nfor k in range(60):\n    figure = plt.figure(figsize=(2, 1))\n'
            '    plt.title(f"$a_{k}$")\n    figure.savefig(io.BytesIO(), format="svg")\n'
            '    plt.close(figure)\nprint("drawn")',
            'drawn',
        ),
    ):
        page.rewrite(cell, text)
        cell.get_by_role('button', name='Run').first.click()
        page.until('done', 'failed')
        shown = cell.locator('.live-output').text_content()
        assert said in shown and 'Exception ignored' not in shown
    page.rewrite(cell, source)


@browser_test
def test_an_exercise_is_checked_by_the_cells_of_its_page(primer):
    """Under the exercises an empty cell; Check tells which of the page's checks fails with what it
    defines."""
    cell = primer.tab.locator('#cell-exercises')
    kept = 'keep = softmax\n'
    primer.rewrite(cell, kept + 'softmax = lambda scores: np.zeros(len(scores))')
    cell.get_by_role('button', name='Check').click()
    cell.locator('.live-checks').wait_for(timeout=60_000)
    said = cell.locator('.live-checks').text_content()
    assert 'fails: AssertionError' in said
    primer.rewrite(cell, 'softmax = keep')
    cell.get_by_role('button', name='Check').click()
    cell.locator('.live-checks[data-state=passed]').wait_for(timeout=60_000)
    assert re.match(r'All \d+ check cells', cell.locator('.live-checks').text_content())


@browser_test
def test_each_exercise_with_an_answer_has_a_cell_and_tests(primer):
    "Check runs the tests, which can be read, on what the reader wrote under the exercise."
    cell = primer.tab.locator('#exercises > ol > li:nth-child(1) .live-try')
    assert 'for n_classes in (2, 7, 5000)' in cell.locator('.live-test pre').text_content()
    cell.get_by_role('button', name='Check').click()  # as it stands, without an answer
    cell.locator('.live-checks[data-state=failed]').wait_for(timeout=60_000)
    assert 'the test of exercise 1 fails: TypeError' in cell.locator('.live-checks').text_content()
    primer.rewrite(cell, ANSWERS['learn/00_primer', 1])
    cell.get_by_role('button', name='Check').click()
    cell.locator('.live-checks[data-state=passed]').wait_for(timeout=60_000)
    assert cell.locator('.live-checks').text_content() == 'The tests pass.'


@pytest.fixture(scope='session')
def problem_sets(site_with_engine, tmp_path_factory):
    "The problem sets as pages of the site, built by themselves: name -> page."
    place = tmp_path_factory.mktemp('sets')
    (place / 'in').mkdir()
    sets = live.problem_sets(MADE.parent / 'sets')
    for one in sets:
        made = book.process(live.SETS / one.name, one, {}, {})
        (place / 'in' / one.name).write_text(json.dumps(made))
    command = [sys.executable, '-m', 'sphinx', '-q', '-C', '-D', 'extensions=live,myst_nb']
    command += ['-D', f'root_doc={sets[0].stem}', '-D', 'nb_execution_mode=off']
    command += ['-D', 'project=five', '-D', 'suppress_warnings=toc.not_included']
    command += ['-D', 'html_theme=sphinx_book_theme']
    command += ['-D', 'myst_enable_extensions=dollarmath', place / 'in', place / 'out']
    paths = os.pathsep.join(str(ROOT / name) for name in ('docs', 'docs/_ext'))
    done = tell(*command, env=os.environ | dict(PYTHONPATH=paths))
    assert done.returncode == 0, done.stderr
    (site_with_engine / live.SETS).mkdir(parents=True, exist_ok=True)
    for one in sets:
        text = (place / 'out' / f'{one.stem}.html').read_text(encoding='utf-8')
        text = re.sub(r'(src|href)="(_static/|searchindex)', r'\1="../../\2', text)
        (site_with_engine / live.SETS / f'{one.stem}.html').write_text(text, encoding='utf-8')
    live.add_to(site_with_engine, MADE)
    return {one.stem: (live.SETS / f'{one.stem}.html').as_posix() for one in sets}


@browser_test
@pytest.mark.parametrize(
    'name', ['ps1_softmax', 'ps2_similarity', 'ps3_ordinal', 'ps4_bound', 'ps5_project']
)
def test_a_problem_set_can_be_tried(visit, problem_sets, name):
    """Questions without an answer, and their tests, say so in a fold and not in red, and the rest
    runs; after the answers all tests pass."""
    page = visit(problem_sets[name])
    page.press()
    said = page.until('done', 'failed')
    failed = [one['id'] for one in page.tab.evaluate('live.timings') if not one['ok']]
    assert len(failed) > 5 and f'Questions and tests without an answer: {len(failed)}.' in said
    assert page.tab.locator('.live-open').count() >= len(failed)
    assert not page.tab.locator('.live-error').count() and 'Errors' not in said
    source = json.loads((live.TASKS / f'source/{name}/{name}.ipynb').read_text())
    for one in source['cells']:
        if one['cell_type'] == 'code' and one['metadata'].get('nbgrader', {}).get('solution'):
            page.rewrite(page.tab.locator(f'#cell-{one["id"]}'), ''.join(one['source']))
    for tests in (page.tab.locator(f'#cell-{one}') for one in failed):
        tests.get_by_role('button', name='Run').first.click()  # answers above have changed: too
        page.until('done')
        wrong = tests.locator('.live-error, .live-open')
        assert not wrong.count(), wrong.inner_text()


@browser_test
def test_stop_stays_in_view(visit, site_with_engine):
    "However far down the cell is that runs."
    page = visit(with_echo(site_with_engine, LESSON))
    page.press()
    page.until('done', 'failed')
    page.tab.locator('div.cell:has(pre[contenteditable])').last.scroll_into_view_if_needed()
    assert page.tab.evaluate('scrollY') > 2000
    top = page.tab.get_by_role('button', name='Stop').bounding_box()['y']
    assert 0 < top < 200
    captions = page.tab.locator('.live-output .caption').count()
    assert captions == 0  # the echo draws nothing


@browser_test
def test_front_page_and_shelves_say_that_pages_run(visit, site_with_engine):
    for name in ('index.html', 'learn/index.html', 'use/index.html'):
        text = (site_with_engine / name).read_text(encoding='utf-8')
        [count] = re.findall(r'class="live-note">.*?(\d+) pages run in your browser', text)
        assert int(count) >= len(live.pages())
        assert live.with_note(text, name, 1) == text


@browser_test
@pytest.mark.parametrize('name', [LESSON, 'ps1_softmax'])
def test_every_key_can_be_typed_in_a_cell(visit, site_with_engine, problem_sets, name):
    """Key by key: what is typed, copied and pasted is what runs, and no key means anything else to
    the page."""
    page = visit(with_echo(site_with_engine, problem_sets.get(name, name)))
    page.press()
    page.until('done', 'failed')
    cell = page.tab.locator('div.cell:has(pre[contenteditable])').nth(1)
    code, keys, wrote = cell.locator('pre[contenteditable]'), page.tab.keyboard, []

    def runs(text):
        "Shift and Enter hands exactly this to Python."
        keys.press('Shift+Enter')
        page.until('done', 'failed')
        assert cell.locator('.live-output').text_content().rstrip('\n') == 'echo ' + text

    def left():
        "Whether the cell still has the keys, and the page is as it was."
        return page.tab.evaluate(
            '[location.href, document.querySelectorAll("dialog[open]").length,'
            ' document.activeElement.matches("pre[contenteditable]")]'
        )

    before = page.tab.url
    code.click()
    keys.press('Control+a')
    keys.press('Delete')
    for one in map(chr, range(32, 127)):
        keys.type(one)
        wrote.append(one)
        assert left() == [before, 0, True], one
    runs(''.join(wrote))
    for combination in ('Control+k', 'Meta+k', 'Control+/', 'Escape', 'Alt+s'):
        keys.press(combination)
        assert left() == [before, 0, True], combination

    def play(*steps):
        for one in steps:  # a text in a list is typed, a name is a key
            keys.type(*one) if isinstance(one, list) else keys.press(one)

    play('Control+a', ['a = 1 / 2'], 'Enter', ['b = 34'], 'ArrowLeft', ['/'], 'Home', 'Tab')
    play('ArrowUp', 'End', 'ArrowLeft', 'ArrowRight', ['0'], 'ArrowDown', 'End', ['?'])
    runs('a = 1 / 20\n    b = 3/4?')
    play('Control+a', 'Control+c', 'Control+End', 'Enter', 'Control+v')
    runs('a = 1 / 20\n    b = 3/4?\na = 1 / 20\n    b = 3/4?')


def test_problem_sets_of_the_site_hold_nothing_for_teachers():
    "What is on the site is what students get."
    sys.path.insert(0, str(live.TASKS))
    import handout

    folder = MADE.parent / 'sets'
    made = live.problem_sets(folder)
    assert len(made) == 5 and handout.leaks(folder) == []
    for path in made:
        assert not re.search('BEGIN SOLUTION|HIDDEN TESTS|MARK SCHEME', path.read_text())
        said = live.cells_of(live.SETS / path.name, path)
        assert said['goOn'] and any('YOUR CODE HERE' in one['source'] for one in said['cells'])


def test_pages_of_the_table_ran_to_their_end():
    "Every cell ran or is marked with its reason, every figure of a cell that ran was drawn."
    with (ROOT / 'docs/results/live_pages.csv').open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    page = script('benchmarks').live_page()
    marked = [row['method'] for row in rows if row['cell']]
    assert all(row['task'] for row in rows)
    for row in (row for row in rows if not row['cell']):
        assert row['task'] == 'runs from top to bottom', row
        assert int(row['ran']) + marked.count(row['method']) == int(row['cells']), row
        assert row['drawn'] == row['figures'], row
        assert f'[{row["method"]}](/{row["method"]}.html)' in page
        assert float(row['peak_mb']) < 300, row


def test_a_cell_that_cannot_run_is_marked_on_its_page(tmp_path):
    """The table names page, cell and reason; the page shows the reason and the button leaves the
    cell out."""
    table = tmp_path / 'live_pages.csv'
    table.write_text('method,task,cell\nlearn/a,runs,\nlearn/a,needs threads,1a2b\n')
    assert live.cannot_run(table) == {('learn/a', '1a2b'): 'needs threads'}
    assert live.cannot_run(tmp_path / 'none.csv') == {}
    page = '<head></head><p class="pace">1</p><div class="cell docutils container" id="cell-1a2b">'
    cells = dict(cells=[dict(id='1a2b', cannot='needs threads')])
    text = live.with_button(page, 'learn/a', cells)
    assert 'Not in the browser: needs threads.</p><div class="cell' in text
    assert live.with_button(text, 'learn/a', cells) == text


@browser_test
def test_cells_are_edited_stopped_broken_and_brought_back(primer):
    """An edit changes its figure, a loop ends at Stop, a broken check is seen, Reset brings the
    stored page back."""
    page = primer
    number = page.tab.locator('div.cell:has(.live-output > img)').first.get_attribute('id')
    figure = page.tab.locator(f'[id={number}]')
    source = figure.locator('pre[contenteditable]').text_content()
    before = figure.locator('img').get_attribute('src')
    page.rewrite(figure, source.replace('plt.show()', "plt.title('edited')\nplt.show()"))
    figure.get_by_role('button', name='Run').click()
    page.until('done', 'failed')
    after = figure.locator('.live-output > img').get_attribute('src')
    assert after != before
    assert 'edited' in page.tab.evaluate('async src => (await fetch(src)).text()', after)

    same = 'one => getComputedStyle(one).color === getComputedStyle(one.parentElement).color'
    written = 'pre[contenteditable] font'  # browsers keep the color of the word that was replaced
    assert page.tab.evaluate(f'[...document.querySelectorAll("{written}")].every({same})')

    page.rewrite(figure, 'while True:\n    pass')
    figure.get_by_role('button', name='Run').click()
    page.until('running')
    page.tab.wait_for_timeout(300)
    page.press('Stop')
    assert 'Stopped' in page.until('stopped', seconds=5)
    assert 'Variables are gone' in page.tab.locator('.live-status').text_content()

    page.rewrite(figure, 'assert 1 + 1 == 3, "a check that was broken"')
    figure.get_by_role('button', name='Run').click()
    assert 'error' in page.until('failed')
    shown = figure.locator('.live-error')
    assert shown.is_visible() and 'a check that was broken' in shown.text_content()

    page.press('Reset')
    page.until('off')
    assert BAR.sub('', page.tab.locator('article').inner_html()) == page.stored


@browser_test
def test_a_page_read_before_runs_without_a_network(visit, browser, address):
    """After one visit the page, the engine and its files come from this computer; without it, they
    do not."""
    page = visit(PRIMER)
    page.press()
    page.until('done', 'failed')
    assert page.tab.evaluate('Boolean(navigator.serviceWorker.controller)')
    page.context.set_offline(True)
    page.tab.goto('about:blank')
    page.tab.goto(f'{address}/{PRIMER}')
    page.press()
    assert page.until('done', 'failed').endswith('press Run.')


@pytest.mark.skipif(not CHROMIUM, reason='Chromium is missing')
def test_reliability_two_books_on_one_host_and_an_update(browser, tmp_path):
    """B9: a book deletes no copy of another, an update replaces pages at once and keeps them for
    reading without a network, and parts of the engine that did not change are not asked for."""

    def publish(book, words, part=b'part'):
        folder = tmp_path / book
        (folder / '_static/live').mkdir(parents=True, exist_ok=True)
        (folder / '_static/live/a.gz').write_bytes(part)
        (folder / '_static/live/m.wasm.gz').write_bytes(gzip.compress(b'module'))
        told = dict(hashes={'a.gz': live.hashlib.sha256(part).hexdigest()[:16], 'm.wasm.gz': '1'})
        (folder / '_static/live/sizes.json').write_text(json.dumps(told))
        for page in ('index', 'other'):
            (folder / f'{page}.html').write_text(f'<title>{book}</title><p>{words}</p>')
        worker = (ROOT / 'docs/live/sw.js').read_text()
        (folder / 'sw.js').write_text(worker.replace('VERSION', live.version_of(folder)))
        return told['hashes']['a.gz']

    def taken(tab):  # until the worker that stands in the folder is the one that answers
        tab.evaluate("""async () => {
          const registration = await navigator.serviceWorker.register('sw.js');
          await registration.update();
          for (;;) {
            const { active, installing, waiting } = registration;
            const there = active?.state === 'activated' && !installing && !waiting;
            if (there && navigator.serviceWorker.controller === active) return;
            await new Promise(done => setTimeout(done, 50));
          }
        }""")

    module = '''async () => {
      const answer = await fetch('_static/live/m.wasm?1');
      return [await answer.text(), answer.headers.get('content-type')];
    }'''
    names = "async () => (await caches.keys()).map(name => name.split(' ')[1]).sort()"
    context = browser.new_context()
    with served(tmp_path) as address:
        for book in ('a', 'a/b'):
            number = publish(book, 'first')
        for book in ('a', 'a/b'):
            tab = context.new_page()
            tab.goto(f'{address}/{book}/index.html')
            taken(tab)
            tab.evaluate('async name => (await fetch(name)).text()', f'_static/live/a.gz?{number}')
            assert tab.evaluate(module) == ['module', 'application/wasm']  # unpacked
            tab.goto(f'{address}/{book}/other.html')
            tab.goto(f'{address}/{book}/index.html')
        assert tab.evaluate(names) == [f'{address}/a/', f'{address}/a/b/']
        assert publish('a', 'second') == number
        old = context.new_page()
        old.goto(f'{address}/a/index.html')
        assert old.locator('p').text_content() == 'second'
        taken(old)
        assert old.evaluate(names) == [f'{address}/a/', f'{address}/a/b/']
        publish('c', 'shown')  # where nothing can be kept, because a disk is full
        worker = tmp_path / 'c/sw.js'
        full = "Cache.prototype.put = async () => { throw new Error('full'); };"
        worker.write_text(f'{full}\n{worker.read_text()}')
        old.goto(f'{address}/c/index.html')
        taken(old)
        old.goto(f'{address}/c/other.html')
        assert old.locator('p').text_content() == 'shown'
        context.set_offline(True)
        for book, words in (('a', 'second'), ('a/b', 'first')):
            for page in ('index', 'other'):  # the second was not opened after the update
                tab.goto(f'{address}/{book}/{page}.html')
                assert tab.locator('p').text_content() == words
            part = tab.evaluate(
                'async name => (await fetch(name)).text()', f'_static/live/a.gz?{number}'
            )
            assert part == 'part' and tab.evaluate(module)[0] == 'module'
    context.close()


def test_the_worker_has_no_way_to_the_network():
    """What the module may import is files, clocks and one door; the ways of the worker are taken
    away first."""
    worker = (ROOT / 'docs/live/worker.js').read_text()
    assert worker.index('quiet();') < worker.index('const failed = turn(')
    assert 'sock_' not in worker  # nothing of its own for sockets
    for name in ('fetch', 'XMLHttpRequest', 'WebSocket', 'importScripts', 'indexedDB', 'caches'):
        assert f"'{name}'" in worker
