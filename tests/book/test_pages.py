"Where pages stand, and what lessons of rebuilt chapters may hold."

import builtins
import re

import explorations
import notebooks
import numpy as np
import pages
import pytest
from built_site import script

book = script('book')


def modules():
    "(page, module it exports to) of all pages that export."
    for path in notebooks.find():
        for cell in notebooks.read(path)['cells']:
            if found := re.search(r'^#\|\s*default_exp\s+(\S+)', notebooks.source(cell), re.M):
                yield path.relative_to(notebooks.NBS).with_suffix(''), found[1]


def test_pages_stand_on_a_shelf():
    "Below `nbs/` there is the front page, and else only the four folders."
    every = [path.relative_to(notebooks.NBS) for path in notebooks.find()]
    assert {path.parts[0] for path in every} <= {'index.ipynb', *notebooks.SHELVES}


def test_nothing_that_a_reader_should_see_is_hidden():
    "A cell marked `hide` is not on the site, so it shows no table, figure or text."
    hidden = [
        f'{path.relative_to(notebooks.NBS)} #{cell["id"]}'
        for path in notebooks.find()
        for cell in notebooks.read(path)['cells']
        if re.search(r'^#\|\s*hide\s*$', notebooks.source(cell), re.M) and cell.get('outputs')
    ]
    assert hidden == []


def test_no_formula_shows_the_backslash_of_an_escape():
    "MathJax reads an underscore in text as it stands, and writes a backslash before it."
    shown = [
        (path.name, found)
        for path in notebooks.find()
        for cell in notebooks.read(path)['cells']
        if cell['cell_type'] == 'markdown'
        for found in re.findall(r'\\text(?:tt|rm|it)?\{[^}]*\\_[^}]*\}', notebooks.source(cell))
    ]
    assert shown == []


def test_an_engine_page_is_named_after_its_module():
    "`engine/core/61_svrg` exports to `core.svrg`, and every engine page exports."
    exporting = {page: module for page, module in modules() if page.parts[0] == 'engine'}
    assert len(exporting) > 20
    wrong = [
        f'nbs/{page}.ipynb exports to {module}'
        for page, module in exporting.items()
        if module.split('.') != [page.parts[1], re.sub(r'^\d+_', '', page.name)]
    ]
    assert wrong == []
    engines = {
        path.relative_to(notebooks.NBS).with_suffix('') for path in notebooks.find(['engine'])
    }
    assert engines == set(exporting)


def test_guides_and_evidence_export_no_engine():
    "Guides export nothing; the evidence pages that still do are named here."
    left = {'evidence/30_race'}
    assert {str(page) for page, _ in modules() if page.parts[0] in ('use', 'evidence')} <= left


@pytest.mark.parametrize('chapter', ['softmax', 'similarity', 'ordinal', 'bound'])
def test_lessons_keep_their_measures(chapter):
    "Words a line, lines of code, exported lines, the first result and sliders of each lesson."
    found = map(pages.measure, notebooks.find([f'learn/{chapter}']))
    assert [fault for page in found for fault in pages.faults(page)] == []


def test_measures_are_counted(tmp_path, monkeypatch):
    "Two prose words, a displayed formula, one exported line and one before the first result."

    def code(text, outputs=()):
        return dict(cell_type='code', source=text, outputs=list(outputs), metadata={})

    book = dict(
        cells=[
            dict(cell_type='markdown', source='two words $$x$$', metadata={}),
            code('#| exports\ndef f(): return 1\n\n# a comment'),
            code('print(f())', [dict()]),
            code('frames(draw, width=[1], shift=[2])'),
        ]
    )
    monkeypatch.setattr(notebooks, 'NBS', tmp_path)
    monkeypatch.setattr(notebooks, 'read', lambda path: book)
    page = pages.measure(tmp_path / 'learn/softmax/10_a.ipynb')
    assert page[1:] == (2, 3, 1, 1, 2)
    assert (
        len(pages.faults(page)) == 1
        and len(pages.faults(page._replace(lines=900, exported=400, before_run=300, sliders=0)))
        == 5
    )


def test_symbols_of_displayed_formulas_are_said():
    "In the table or the text, up to the formula's cell; the usual letters need no word."
    wrong = {}
    for path in notebooks.find(['learn']):
        name = path.relative_to(notebooks.NBS).with_suffix('').as_posix()
        if missing := pages.undefined(notebooks.read(path)):
            wrong[name] = sorted(missing)
    assert wrong == {}


def test_symbols_are_found():
    text = (
        r'A weight $w_j$. $$\\hat y=\\sum_jw_jx_j+\\lambda\\log p\\tag{a}$$'
        + '\n\n## Exercises\n\n$$z$$'
    )
    cell = dict(cell_type='markdown', source=text.replace('\\\\', '\\'), metadata={})
    assert pages.undefined(dict(cells=[cell])) == {'y', 'x', 'lambda', 'p'}
    late = dict(cell_type='markdown', source='The lines $x$, $y$, $p$ and $\\lambda$.', metadata={})
    assert pages.undefined(dict(cells=[cell, late])) == {'y', 'x', 'lambda', 'p'}
    assert pages.undefined(dict(cells=[late, cell])) == set()


def test_letters_of_equations_run_in_order():
    "Ours are lettered from (a) in the order of the page; numbers of a source say whose they are."
    wrong = []
    for path in notebooks.find(['learn']):
        cells = [cell for cell in notebooks.read(path)['cells'] if cell['cell_type'] == 'markdown']
        text = '\n'.join(map(notebooks.source, cells))
        tags = re.findall(r'\\tag\{([^}]*)\}', text)
        letters = [tag for tag in tags if re.fullmatch('[a-z]', tag)]
        numbers = [int(tag) for tag in re.findall(r'\\tag\{(\d+)', text)]
        if letters != [chr(97 + i) for i in range(len(letters))] or len(set(tags)) < len(tags):
            wrong.append(f'{path.stem}: {tags}')
        if numbers != sorted(numbers) and not re.search(
            r'[Nn]umber(?:s|ed)[^.]*\b(?:paper|report|carry)', text
        ):
            wrong.append(f'{path.stem}: numbers {numbers}, and nothing says whose')
    assert wrong == []


def test_each_slider_has_a_question_of_its_own():
    "`docs/explorations.py` lists all sliders with the question that each answers."
    found = explorations.find()
    assert [one for one in found if not one.question] == []
    asked = [(one.page, one.question) for one in found]
    assert sorted(set(asked)) == sorted(asked)


def test_sliders_move_a_picture():
    "No two neighboring positions show the same, and none is empty where the others are not."
    wrong = [
        f'{path.stem}: {dull}'
        for path in notebooks.find()
        for cell in notebooks.read(path)['cells']
        for settings, pictures in explorations.positions(cell)
        for dull in explorations.dull(settings, pictures)
    ]
    assert wrong == []


def test_a_picture_that_shows_nothing_is_found():
    lines = [np.full((80, 60), 255, np.uint8) for _ in range(4)]
    for i, line in enumerate(lines[:3]):
        line[50 + 2 * i, 10 * i : 10 * i + 30] = 0
    settings = [('1',), ('2',), ('3',), ('4',)]
    assert explorations.dull(settings, lines) == [('4',)]
    alike = [lines[0], lines[0], lines[1], lines[2]]
    assert explorations.dull(settings, alike) == [(('1',), ('2',))]


def read_but_not_shown(cells):
    "(name, first line of the box that reads it) of code on a page that no box on it binds."
    sources = [cell['source'] for cell in cells if cell['cell_type'] == 'code']
    known = {'display', *dir(builtins)}.union(*(book.names_of(one)[0] for one in sources))
    return [(name, one.split('\n')[0]) for one in sources for name in book.names_of(one)[1] - known]


@pytest.mark.parametrize(
    'path',
    [path for path in book.notebooks() if path.parts[0] != 'engine'],
    ids=lambda path: path.with_suffix('').as_posix(),
)
def test_code_that_a_reader_copies_has_its_imports_on_the_page(path):
    assert read_but_not_shown(book.process(path, book.NBS / path, {}, {})['cells']) == []


def test_hidden_cells_are_shown_where_code_needs_them():
    "Once, with what they need themselves, in one box above the code; others stay hidden."
    needs = book.SetUp()
    needs.hidden('import math\nimport re')
    needs.hidden('half = math.pi / 2')
    needs.hidden('import json')
    assert needs.before('1 + 1') is None
    box = needs.before('def f(x):\n    return half * x')
    assert box['source'] == 'import math\nimport re\n\nhalf = math.pi / 2'
    assert box['metadata']['fold'] == ['', 'Set-up']
    assert needs.before('half, math') is None
    needs.shown('json = 1')
    assert needs.before('json') is None
    needs.hidden('from os import (\n    path,\n)\nimport json')
    needs.hidden('import json\nfrom os import sep')
    box = needs.before('[json for sep in path]')
    assert box['source'] == 'from os import (\n    path,\n)\nimport json\nfrom os import sep'
    assert box['metadata']['fold'] == ['', 'Imports']
