"The built site: complete, in order, self-contained, with every public name in the reference."

import base64
import html
import importlib
import json
import os
import re
import sys
from pathlib import Path

import pytest
from built_site import ROOT, own_scripts, report, run_build, script, site  # noqa: F401 (fixtures)
from told import tell

pages, links, gates, reference = (script(name) for name in ('book', 'links', 'gates', 'reference'))
PAGES = pages.notebooks()
ELSEWHERE = re.compile(
    r'(learn|use|evidence|reference)/index|evidence/(ledger|benchmarks)/|reference/|learn/(explorations|teaching|hints/)|genindex|search'
)


def page_of(path):
    return pages.page_name(path).with_suffix('.html').as_posix()


def cells_of(path):
    return json.loads((ROOT / 'nbs' / path).read_text(encoding='utf-8'))['cells']


def text_of(markup):
    return html.unescape(re.sub(r'<[^>]+>', '', markup))


def test_reading_order_goes_from_shelf_to_shelf_and_follows_the_numbers():
    assert PAGES[0].name == 'index.ipynb'
    shelves = [path.parts[0] for path in PAGES[1:]]
    assert list(dict.fromkeys(shelves)) == [
        name for name in ('learn', 'use', 'engine', 'evidence') if name in shelves
    ]
    for before, after in zip(PAGES[1:], PAGES[2:]):
        if before.parent == after.parent:
            assert before.name < after.name
    assert len(PAGES) > 100 and page_of('learn/softmax/30_umax.ipynb') == 'learn/softmax/umax.html'


def test_a_page_for_every_notebook_and_none_with_a_number(site):
    there = {page.relative_to(site).as_posix() for page in site.rglob('*.html')}
    there = {name for name in there if not name.startswith('_static')}
    assert set(map(page_of, PAGES)) == {name for name in there if not ELSEWHERE.match(name)}
    assert not [name for name in there if re.search(r'(^|/)\d\d', name)]


def neighbor(site, page, side):
    "The page that the button at the foot leads to."
    found = re.search(rf'class="{side}-(?:prev|next)"\s+href="([^"]+)"', (site / page).read_text())
    return found and os.path.normpath(Path(page).parent / found[1].partition('#')[0])


@pytest.mark.parametrize('shelf', ['learn', 'use', 'evidence', 'reference'])
def test_previous_and_next_walk_through_one_shelf(site, shelf):
    """From the front page of a shelf `next` passes each of its notebooks once, in reading order,
    and stays on the shelf."""
    mine = [page_of(path) for path in PAGES[1:] if pages.shelf_of(path) == shelf]
    if not mine:
        pytest.skip(f'no page stands on the shelf {shelf} yet')
    walk, at = [], f'{shelf}/index.html'
    while at:
        walk.append(at)
        after = neighbor(site, at, 'right')
        if after:
            assert neighbor(site, after, 'left') == at
        at = after
        assert len(walk) < 300
    assert [page for page in walk if page in mine] == mine
    assert {pages.shelf_of(page) for page in walk} == {shelf}


@pytest.mark.parametrize(
    'page, above', [('learn/softmax/umax', 0), ('reference/softmax/SoftmaxClassifier', 1)]
)
def test_the_menu_marks_the_way_to_its_page(site, page, above):
    "The menu is drawn once a shelf: seen from a page, its own entry and those above it stand out."
    menu = (site / f'{page}.html').read_text().partition('bd-docs-nav')[2].partition('</nav>')[0]
    here = re.findall(r'<li class="([^"]*)"><a class="current reference internal" href="#">', menu)
    assert len(here) == 1 and 'current active' in here[0]
    assert len(re.findall('<li class="[^"]*current active', menu)) == 1 + above
    assert len(re.findall('<details open', menu)) == above
    front = (site / page.split('/')[0] / 'index.html').read_text()
    assert 'current active' not in front.partition('bd-docs-nav')[2].partition('</nav>')[0]


def test_shelves_stand_in_the_head_of_every_page(site):
    shelves = [title for title, _ in pages.SHELVES.values()]
    head = (site / 'index.html').read_text().partition('<header')[2].partition('</header>')[0]
    assert [word for word in text_of(head).split() if word in shelves][:4] == shelves


def test_launch_links_are_off_without_an_address(site):
    "They appear with an address in pyproject.toml and lead to the notebook itself."
    assert pages.launch('learn/a.ipynb', '') == ''
    said = pages.launch('learn/softmax/30_umax.ipynb', 'https://example.org/some/name.git')
    assert 'https://example.org/some/name/blob/HEAD/nbs/learn/softmax/30_umax.ipynb' in said
    assert '/gh/some/name/HEAD?labpath=nbs/learn' in said
    assert 'mybinder' not in (site / page_of('learn/softmax/30_umax.ipynb')).read_text()


@pytest.mark.parametrize('path', PAGES, ids=str)
def test_the_head_gives_goal_and_minutes(site, path):
    """Under the title stand the page's one line, labeled as its goal by the style sheet, and the
    minutes it takes."""
    page = (site / page_of(path)).read_text()
    goal = cells_of(path)[0]['source'][-1].split('> ')[-1].strip()
    head = text_of(page.partition('<article')[2].partition('<h1')[2].partition('<h2')[0])
    letters = re.compile(r'[^A-Za-z]')  # the site sets quotes and formulas its own way
    assert letters.sub('', goal.partition('$')[0])[:40] in letters.sub('', head)
    if len(path.parts) > 1:
        most = 75 if path.parts[0] == 'engine' else 60  # the engine: whole classes
        assert 1 <= int(re.search(r'About (\d+) minutes?', head)[1]) <= most


def test_minutes_come_from_what_there_is_to_read():
    def cell(kind, source):
        return dict(cell_type=kind, source=source)

    short = pages.pace([cell('markdown', 'word ' * 360), cell('code', '#| exports\nx = 1\n' * 20)])
    assert short == 'About 2 minutes.'
    prose = '$$x$$ $$y$$ $$z$$\n## Exercises\n\n1. a\n2. b\n\n## Next\n\n1. c'
    code = 'assert x == 1', 'frames(draw, width=[1], shift=[2])'
    full = [cell('markdown', 'word ' * 180 + prose), *(cell('code', one) for one in code)]
    assert 'About 2 minutes: 1 check, 2 sliders, 2 exercises' in pages.pace(full)


def test_explorations_are_listed_with_their_questions(site):
    """Each figure with sliders has a row with its page, its question and its knobs; what moves only
    in the lab says so."""
    import explorations

    page, found = text_of((site / 'learn/explorations.html').read_text()), explorations.find()
    assert len(found) > 20 and len({one.page.split('/')[1] for one in found}) >= 6
    shown = sum('class="xo-frames"' in (site / page_of(path)).read_text() for path in PAGES)
    assert len({one.page for one in found if one.kind == 'page and lab'}) == shown  # none is missed
    for one in found:
        assert one.title in page and ', '.join(one.knobs).replace('_', ' ') in page
    assert {one.page for one in found if one.kind == 'lab'} == {
        'engine/show/20_widgets.ipynb',
        'evidence/30_race.ipynb',
    }
    for text, question in (
        ('Is it so? The rate is 0.5. Which of the two\nis it?', 'Which of the two is it?'),
        ('## Why?\n\nIt is 2. Does $m$ help? Does $p$?', 'Does $m$ help? Does $p$?'),
        ('## Why?\n\nSo it is.', ''),
    ):
        assert explorations.asked(text) == question
    assert explorations.calls('a = frames(f, x=[1])') == [] == explorations.calls('frames')
    assert explorations.calls('live(f, x=(1, 2))') == [('live', ('x',))]


def test_every_public_name_has_its_place_in_the_reference(site):
    there = {
        f'{page.relative_to(site).with_suffix(".md")}#{name}'
        for page in (site / 'reference').rglob('*.html')
        for name in re.findall(r'id="([^"]+)"', page.read_text())
    }
    names = reference.write(lambda *args: None)
    assert len(names) > 100
    assert [name for name, target in names.items() if target not in there] == []
    modules = map(importlib.import_module, reference.modules())
    every = [(module, name) for module in modules for name in getattr(module, '__all__', [])]
    public = {f'{at.__name__}.{name}' for at, name in every if callable(getattr(at, name))}
    assert public <= set(names), sorted(public - set(names))


def test_docstrings_with_sections_stay_and_others_are_plain_text():
    whole = ['Add.', '', 'Parameters', '----------', 'x : int', '    A *number*.']
    kept = list(whole)
    reference.read_docstring(None, 'function', 'x', len, None, kept)
    assert kept == whole
    lines = ['Of `x` and y_.']
    reference.read_docstring(None, 'function', 'x', len, None, lines)
    assert lines == [r'Of ``x`` and y\_.', '']
    assert reference.escaped('`x` times *y* of coef_, |z|') == r'``x`` times \*y\* of coef\_, \|z\|'


def test_outputs_come_from_the_executed_copy_where_there_is_one(site, tmp_path, tmp_path_factory):
    "`-D executed=FOLDER` replaces what is stored in nbs/."
    kept = tmp_path_factory.getbasetemp() / 'work/doctrees/made'  # by the build of the site
    path = PAGES[1]
    more = dict(cell_type='markdown', metadata={}, source='From the executed copy.')
    book = dict(cells=[*cells_of(path), more])
    (tmp_path / 'run' / path).parent.mkdir(parents=True)
    (tmp_path / 'run' / path).write_text(json.dumps(book))
    pages.stage(tmp_path / 'pages', str(tmp_path / 'run'), kept=kept)
    assert 'From the executed copy.' in (tmp_path / 'pages' / pages.page_name(path)).read_text()


def test_search_finds_pages_and_names(site):
    index = json.loads(
        (site / 'searchindex.js').read_text().removeprefix('Search.setIndex(').removesuffix(')')
    )
    assert {page_of(path) for path in PAGES} <= {f'{name}.html' for name in index['docnames']}
    assert any(entry[4] == 'minimize' for entry in index['objects']['extreme_opt.core'])
    assert 'softmax' in index['titleterms'] and 'lambert' in index['terms']


@pytest.mark.parametrize('path', PAGES, ids=str)
def test_each_definition_stands_once_and_folds(site, path):
    page = (site / page_of(path)).read_text()
    boxes = re.findall(r'<details class="fold" (?:open)?>(.*?)</details>', page, re.S)
    folded = text_of(' '.join(boxes))
    for cell in cells_of(path):
        source = ''.join(cell['source'])
        if cell['cell_type'] != 'code' or not re.search(r'^#\|\s*exports\b', source, re.M):
            continue
        code = '\n'.join(line for line in source.split('\n') if not line.startswith('#|')).strip()
        if pages.imports_only(code):
            continue  # imports stand above each box that needs them
        assert folded.count(code) == 1, code
        for name in pages.defined(code):
            assert f'id="code-{name}"' in page


@pytest.mark.parametrize('path', [path for path in PAGES if path.parts[0] == 'learn'], ids=str)
def test_figures_of_lessons_have_numbers_and_captions(site, path):
    "Each cell with a figure, still or under sliders, has the next number and a sentence."
    page = (site / page_of(path)).read_text()
    numbers = re.findall(r'<p class="caption"><b>Figure (\d+)\.</b> [^<]{30,}[.?]</p>', page)
    code = [cell for cell in cells_of(path) if cell['cell_type'] == 'code']
    said = [set(pages.options(''.join(cell['source']))) for cell in code]
    hidden = [bool({'hide', 'export'} & one) for one in said]
    drawn = sum(pages.is_figure(cell) for cell, hides in zip(code, hidden) if not hides)
    assert numbers == [str(n + 1) for n in range(drawn)]


def test_a_long_docstring_folds_between_its_first_line_and_its_end():
    line = '<span class="sd">{}</span>'
    first, end = line.format('"""Add up.'), line.format('    """')
    rest = '\n'.join(['', line.format('    Parameters'), '', line.format('    x : int'), ''])
    context = dict(body=f'{first}\n{rest}{end}')
    pages.fold_docstrings(None, 'learn/a', '', context, object())
    assert context['body'].count('class="doc-more"') == 1
    assert context['body'].endswith(f'<span class="doc-rest">{rest}</span>{end}')
    for short in (f'{first}\n{end}', line.format('"""One line."""')):
        context = dict(body=short)
        pages.fold_docstrings(None, 'learn/a', '', context, object())
        assert context['body'] == short


def test_hints_of_an_exercise_are_a_link_on_the_site():
    text = 'Hints are in `assignments/hints/softmax.md`, answers elsewhere.'
    made = pages.link_hints(text, 'learn/softmax/double_sum.ipynb')
    assert made.startswith(
        'Hints are <a href="../hints/softmax.html#hints-softmax-double-sum">on their page</a>,'
    )
    for chapter in ('softmax', 'similarity', 'ordinal', 'bound'):
        assert '## [' in pages.hints_page(chapter)


def test_drawn_formulas_keep_their_source(tmp_path):
    "Each formula is drawn in place, its TeX stays readable for the gate, glyphs stand once a page."
    (tmp_path / '_static').mkdir()
    body = '<span class="math notranslate">\\(a &lt; b\\)</span>'
    page = f'<head></head><body>{body}{body}<div class="math">\n\\[c\\]</div></body>'
    (tmp_path / 'a.html').write_text(page)
    asked = [dict(page='a.html', display=display, tex=tex) for display, tex in gates.formulas(page)]
    assert [one['tex'] for one in asked] == ['a < b', 'a < b', 'c']
    use = '<mjx-container><use xlink:href="#g1"></use></mjx-container>'
    drawn = {gates.key_of(one): dict(html=use) for one in asked}
    drawn |= dict(css='', glyphs=dict(g1='<path id="g1"></path>'))
    gates.put_in(tmp_path, [tmp_path / 'a.html'], drawn)
    made = (tmp_path / 'a.html').read_text()
    assert made.count(use) == 3 and made.count('id="g1"') == 1
    assert gates.formulas(made) == gates.formulas(page)
    gates.put_in(tmp_path, [tmp_path / 'a.html'], drawn)
    assert (tmp_path / 'a.html').read_text() == made


def test_pictures_of_sliders_are_files_with_a_size(tmp_path):
    "Those that are hidden come when they are looked at; a second pass changes nothing."
    content = b'\x89PNG\r\n\x1a\n' + bytes(8) + bytes([0, 0, 3, 225, 0, 0, 2, 84]) + bytes(4000)
    held = base64.b64encode(content).decode()
    image = (
        '<img alt="A" width="690" height="414" style="display: {}" src="data:image/png;base64,{}">'
    )
    still = '<img alt="B" src="../_images/b.png" style="width: 500px; height: 300px;" />'
    (tmp_path / 'learn').mkdir()
    (tmp_path / '_images').mkdir()
    (tmp_path / '_images/b.png').write_bytes(content)
    text = image.format('block', held) + image.format('none', held) + image.format('none', 'AAAA')
    (tmp_path / 'learn/a.html').write_text(text + still)
    gates.lighten(tmp_path, [tmp_path / 'learn/a.html'])
    made = (tmp_path / 'learn/a.html').read_text()
    first, second, small, other = re.findall('<img[^>]*>', made)
    place = re.search('src="([^"]*)"', first)[1]
    assert (tmp_path / 'learn' / place).read_bytes() == content
    assert 'loading' not in first and f'src="{place}" loading="lazy"' in second
    assert small == image.format('none', 'AAAA')
    assert 'width="500" height="300"' in other and 'style' not in other
    gates.lighten(tmp_path, [tmp_path / 'learn/a.html'])
    assert (tmp_path / 'learn/a.html').read_text() == made


def test_tables_folds_and_signatures_say_what_they_are():
    "An empty head of a column heads nothing; a list needs words that it defines."
    text = (
        '<tr><th></th><th class="head"><p></p></th><th class="head"><p>a</p></th></tr>'
        '<details><summary><span class="toctree-toggle" role="presentation"></span></summary>'
        '<dl>\n<dd><em class="sig-param">x</em>,</dd>\n</dl><dl>\n<dt>a</dt><dd>b</dd>\n</dl>'
    )
    made = gates.spoken(text)
    assert made == gates.spoken(made)
    assert made.startswith(
        '<tr><td></td><td class="head"><p></p></td><th class="head"><p>a</p></th>'
    )
    assert '<summary aria-label="Show or hide the pages below"><span' in made
    assert '<div class="sig-lines"><div><em class="sig-param">x</em>,</div>\n</div>' in made
    assert made.endswith('<dl>\n<dt>a</dt><dd>b</dd>\n</dl>')


def test_a_wide_table_of_words_can_stand_as_blocks():
    "Each cell of a table of four columns or more knows its head; numbers and narrow tables stay."
    head = '<table class="t"><thead><tr>' + '<th><p>{}</p></th>' * 4 + '</tr></thead><tbody>'
    row = '<tr><td>1</td><td class="c"><p></p></td><td>{}</td><td>2</td></tr></tbody></table>'
    text = head.format('a', 'b', '<b>c</b> &amp; d', 'e') + row
    made = gates.stacked(text.format('word ' * 9))
    assert made.startswith('<table data-stacked class="t">') and '<th><p>a</p></th>' in made
    assert '<td data-head="a">1</td><td data-head="b" data-empty class="c"><p></p></td>' in made
    assert f'<td data-head="c &amp; d" data-long>{"word " * 9}</td>' in made
    assert gates.stacked(made) == made
    for other in (text.format('3'), text.format('word ' * 9).replace('<td>2</td>', '')):
        assert gates.stacked(other) == other


def test_a_caption_says_more_than_that_there_are_two_panels():
    alt = 'Two panels. Left, the loss falls at every step; right, it rises after a while. More.'
    short = f'{alt[12:45]} to zero, and it stays there'
    for said, shown in (
        ({'fig-alt': alt}, alt[:-6]),
        ({'fig-alt': f'{short}; more.'}, f'{short}.'),
        ({'fig-alt': alt, 'fig-cap': 'Is it so?'}, 'Is it so?'),
    ):
        cell = dict(metadata={}, outputs=[dict(data={'image/png': ''})])
        pages.caption(cell, 3, said)
        line = f'<p class="caption"><b>Figure 3.</b> {shown}</p>'
        assert cell['outputs'][1]['data']['text/html'] == line


def test_a_comma_after_a_formula_begins_no_line():
    drawn = {'inline x': {'html': '<mjx-container>x</mjx-container>'}, 'glyphs': {}}
    text = r'<body>if <span class="math">\(x\)</span>, then <span class="math">\(x\)</span> b'
    made = gates.with_drawings(text, drawn, '')
    assert '</mjx-container>,</span> then' in made and made.endswith('</mjx-container></span> b')


def test_a_style_sheet_keeps_the_rules_of_classes_that_are_there():
    css = (
        '@charset "utf-8";html{a:b}.on,.off:hover{c:d}.off{e:f}a:not(.off) .on{g:h}'
        '@media (max-width:9px){.off{i:j}}@media print{.on{k:l}.off{m:n}}'
        '@font-face{src:url(x)}[data-theme=dark] p:is(.on,.off){o:p}'
    )
    assert gates.slimmed(css, {'on'}) == (
        '@charset "utf-8";html{a:b}.on{c:d}a:not(.off) .on{g:h}'
        '@media print{.on{k:l}}@font-face{src:url(x)}'
    )
    assert gates.slimmed(css, {'on', 'off'}) == css


def test_a_long_package_of_the_reference_stands_on_several_pages(site):
    "What is large has a page of its own; the page of the package lists all of its names."
    first = (site / 'reference/softmax.html').read_text()
    assert 'href="softmax/SoftmaxClassifier.html#' in first
    assert 'id="extreme_opt.softmax.SoftmaxClassifier"' not in first
    assert 'href="softmax/modules/double_sum.html#' in first
    own = (site / 'reference/softmax/SoftmaxClassifier.html').read_text()
    assert 'id="extreme_opt.softmax.SoftmaxClassifier.fit"' in own
    assert not (site / 'reference/show').exists()  # short enough


def test_formulas_were_read_by_mathjax(own_scripts, report, tmp_path):
    assert int(re.search(r'(\d+) formulas', report)[1]) > 50
    bad = [
        dict(page='p', display=True, tex=r'\begin{aligned} a &= b \tag{1} \end{aligned}'),
        dict(page='p', display=False, tex=r'\frac{1}{'),
        dict(page='p', display=True, tex=r'\begin{aligned} a &= b \end{aligned} \tag{1}'),
    ]
    (tmp_path / 'bad.json').write_text(json.dumps(bad))
    done = tell(
        'node', ROOT / 'docs/formulas.mjs', tmp_path / 'bad.json', gates.vendored()['mathjax']
    )
    assert done.returncode == 1
    said = done.stdout.strip().split('\n')
    assert len(said) == 2 and 'tag' in said[0] and 'frac' in said[1]


def test_a_picture_without_words_ends_the_build(tmp_path):
    (tmp_path / 'a.html').write_text(
        '<img src="logo.png"><article><img src="a.png" alt="A curve that falls and rises again">'
        '<img src="b.png" alt="short"><img src="c.png"></article>'
    )
    found = gates.wrong_pictures(tmp_path, [tmp_path / 'a.html'])
    assert ['b.png' in line or 'c.png' in line for line in found] == [True, True]


@pytest.mark.parametrize(
    'gives, first, found',
    [
        ('package', False, True),
        ('package', True, True),
        ('nothing', False, False),
        ('broken', False, False),
    ],
)
def test_packages_come_whole_or_not_at_all(gives, first, found, tmp_path, monkeypatch):
    "npm may give nothing or half a file, and another build may be first."
    cache, made = tmp_path / 'cache/site', tmp_path / 'package'
    made.mkdir()
    (made / 'a.js').write_text('1')
    (made / 'b.txt').write_text('2')
    act = dict(
        package=f'tar -czf some-thing-1.0.tgz -C {tmp_path} package',
        nothing='true',
        broken='echo half > some-thing-1.0.tgz',
    )[gives]
    if first:
        act += f'; mkdir -p {cache}/some-thing-1.0; cp {made}/a.js {cache}/some-thing-1.0'
    (tmp_path / 'npm').write_text(f'#!/bin/sh\n{act}\n')
    (tmp_path / 'npm').chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    monkeypatch.setenv('EXTREME_OPT_CACHE', str(cache.parent))
    packages = gates.vendored([('@some/thing', '1.0', r'.*\.js')])
    assert (packages is not None) == found
    if found:
        assert [p.name for p in packages['@some/thing'].iterdir()] == ['a.js']
    assert found or not (cache / 'some-thing-1.0').exists()


def test_formulas_are_found_in_markdown_and_not_in_code():
    text = 'cost $x$ and `$HOME`, 5\\$ or $ 3, then $$y\n= 2 \\tag{1}$$\n```\n$z$\n```\n$a$-th'
    found = gates.written_formulas(dict(cells=[dict(cell_type='markdown', source=text)]))
    assert found == [(False, 'x'), (True, 'y\n= 2 \\tag{1}'), (False, 'a')]


def test_the_checker_sees_what_is_broken(tmp_path):
    (tmp_path / 'a.html').write_text(
        '<p id="x"><a href="b.html">gone</a><a href="#y">gone</a><a href="a.html#x">fine</a><img'
        ' src="p.png"><script src="https://example.org/s.js"></script><i id="t"></i><i id="t"></i>'
    )
    (tmp_path / 'a.css').write_text(
        '@import url(https://example.org/font.css); p { background: url(q.png) }'
    )
    found = '\n'.join(links.check(tmp_path))
    words = [f'{name} leads nowhere' for name in ('b.html', 'p.png', 'q.png')]
    words += [f'fetches https://example.org/{name}' for name in ('s.js', 'font.css')]
    words += ['no `y`', 'id `t` is there 2 times']
    assert all(word in found for word in words) and len(found.split('\n')) == len(words)
    assert 'example.org' not in '\n'.join(links.check(tmp_path, offline=False))


def test_a_first_cell_with_more_than_a_title_is_refused():
    def nb(source):
        return dict(cells=[dict(cell_type='markdown', source=source)])

    pages.check_first_cell(nb('# Title\n\n> one line'), 'a.ipynb')
    wrong = '# Title', '> one line\n# Title', '# Title\n> one\n> two', '# Title\n> one\nmore'
    for source in wrong:
        with pytest.raises(pages.Broken, match=r'a\.ipynb: the first cell'):
            pages.check_first_cell(nb(source), 'a.ipynb')


def test_links_between_notebooks_follow_the_renamed_pages(tmp_path):
    (tmp_path / 'softmax').mkdir()
    (tmp_path / 'softmax/30_umax.ipynb').write_text('')

    def mend(text):
        return pages.mend_links(text, tmp_path, 'a.ipynb')

    assert mend('[u](softmax/30_umax.ipynb#The-question)') == '[u](softmax/umax.ipynb#the-question)'
    text = '[w](https://example.org/10_a.ipynb) [f](#Next) [p](x.png)'
    assert mend(text) == text.replace('N', 'n')
    with pytest.raises(pages.Broken, match='30_gone.ipynb leads to no notebook'):
        mend('[g](30_gone.ipynb)')


def test_sliders_and_figures_get_the_words_of_their_cell():
    text = "#| fig-alt: A \"steep\" curve\n#| fig-cap: Is it <steep>?\nframes(f, k=[1])"
    data = {'text/html': ['<div class="xo-frames" role="group" oninput="">']}
    cell = dict(outputs=[dict(output_type='display_data', data=data)])
    made = pages._code(cell, text, pages.options(text), ROOT, 'a.ipynb')
    shown = made['outputs'][0]['data']['text/html']
    assert 'role="group" aria-label="A &quot;steep&quot; curve"' in shown
    assert '<p class="caption">Is it &lt;steep&gt;?</p>' in shown
    assert made['source'] == 'frames(f, k=[1])'
    assert made['metadata']['mystnb']['image']['alt'] == 'A "steep" curve'


def test_figure_texts_survive_a_colon():
    assert pages.options('#| fig-alt: loss: it falls\nplot()') == {'fig-alt': 'loss: it falls'}
    several = pages.options('#| fig-cap: "a: b"\n#| exports\nx = 1')
    assert several == {'fig-cap': 'a: b', 'exports': ''}


def test_tables_for_quarto_become_pages_for_sphinx():
    "Titles, boxes, anchors and links of the ledger and the measurements."
    text = (
        '---\ntitle: "A: b"\ndescription: One line.\n---\n::: {#x .ledger}\n| [(1)]{#bound-1} |'
        ' [`f`](/ledger/bound.qmd#bound-1){title="t"} [w](https://example.org) |\n:::\n'
    )
    made = pages.myst(text, 'evidence/ledger/softmax.md')
    for words in (
        '<div id="x" class="ledger">',
        '<span id="bound-1">(1)</span>',
        '<a href="bound.html#bound-1" title="t">`f`</a>',
        '[w](https://example.org)',
    ):
        assert words in made
    assert made.startswith('# A: b\n\n<div class="goal">')


@pytest.mark.slow
def test_two_builds_are_the_same_byte_for_byte(site, tmp_path):
    assert run_build(tmp_path / 'again', tmp_path / 'work').returncode == 0
    first, second = (
        {f.relative_to(top): f.read_bytes() for f in top.rglob('*') if f.is_file()}
        for top in (site, tmp_path / 'again')
    )
    assert first.keys() == second.keys()
    assert not [name for name in first if first[name] != second[name]]


def test_the_site_holds_nothing_for_teachers(site):
    """No page holds a run of words of a solution, a hidden test, a mark scheme, an answer or the
    exam."""
    sys.path.insert(0, str(ROOT / 'assignments'))
    import handout

    assert len(list(site.rglob('*.html'))) > 100
    assert handout.leaks(site) == []
