"The built site: complete, in order, self-contained, with every public name in the reference."
import html
import importlib
import json
import os
import pkgutil
import re
import subprocess

import pytest
from built_site import ROOT, own_scripts, report, run_build, script, site  # noqa: F401 (fixtures)

pytestmark = pytest.mark.site
build, links = script('build'), script('links')
PAGES = build.notebooks()


def page_of(path): return build.page_name(path).with_suffix('.html').as_posix()

def text_of(markup): return html.unescape(re.sub(r'<[^>]+>', '', markup))


def test_reading_order_starts_at_the_front_page_and_follows_the_numbers():
    assert PAGES[0].name == 'index.ipynb'
    assert PAGES[1:] == sorted(PAGES[1:], key=str)
    assert page_of('20_softmax/30_umax.ipynb') == 'softmax/umax.html'


def test_a_page_for_every_notebook_and_none_with_a_number(site):
    there = {page.relative_to(site).as_posix() for page in site.rglob('*.html')}
    assert {page_of(path) for path in PAGES} == {name for name in there if not name.startswith(('api/', 'ledger/', 'benchmarks/', 'explorations/', 'teaching/'))}
    assert not [name for name in there if re.search(r'(^|/)\d\d', name)]


def test_previous_and_next_walk_through_all_pages(site):
    def neighbour(page, side):
        m = re.search(rf'nav-page-{side}"><a href="([^"]+)"', (site/page).read_text())
        return m and ((site/page).parent/m[1]).resolve().relative_to(site.resolve()).as_posix()
    order = [page_of(path) for path in PAGES]
    for page, before, after in zip(order, [None, *order], [*order[1:], None]):
        assert neighbour(page, 'previous') == before
        assert neighbour(page, 'next') == after


def test_chapters_have_readable_titles(site):
    sections = re.findall(r'sidebar-link text-start[^>]*><span class="menu-text">([^<]+)', (site/'index.html').read_text())
    used = list(dict.fromkeys(path.parts[0].split('_', 1)[1] for path in PAGES if len(path.parts) > 1))
    assert sections[:len(used)] == [build.CHAPTERS[name] for name in used]


@pytest.mark.parametrize('path', PAGES, ids=str)
def test_the_head_gives_goal_and_minutes(site, path):
    "Under the title stand the page's one line, labelled as its goal by the style sheet, and the minutes it takes."
    page = (site/page_of(path)).read_text()
    goal = json.loads((ROOT/'nbs'/path).read_text())['cells'][0]['source'][-1].split('> ')[-1].strip()
    head = text_of(page.partition('<h1')[2].partition('<h2')[0])
    letters = re.compile(r'[^A-Za-z]')                       # the site sets quotes and formulas its own way
    assert letters.sub('', goal.partition('$')[0])[:40] in letters.sub('', head)
    assert 1 <= int(re.search(r'About (\d+) minutes?', head)[1]) <= 45


def test_minutes_come_from_what_there_is_to_read():
    def cell(kind, source): return dict(cell_type=kind, source=source)
    short = build.pace([cell('markdown', 'word ' * 360), cell('code', '#| exports\nx = 1\n' * 20)])
    assert short == '::: {.pace}\nAbout 2 minutes.\n:::'
    full = build.pace([cell('markdown', 'word ' * 180 + '$$x$$ $$y$$ $$z$$\n## Exercises\n\n1. a\n2. b\n\n## Next\n\n1. c'), cell('code', 'assert x == 1'),
                       cell('code', 'frames(draw, width=[1], shift=[2])')])
    assert 'About 2 minutes: 1 check, 2 sliders, 2 exercises' in full


def test_explorations_are_listed_with_their_questions(site):
    "Each figure with sliders has a row with its page, its question and its knobs; what moves only in the lab says so."
    import explorations
    page, found = text_of((site/'explorations/index.html').read_text()), explorations.find()
    assert len(found) > 20 and len({one.page.split('/')[0] for one in found}) >= 6
    shown = sum(build.VIEW in (site/page_of(path)).read_text() for path in PAGES)
    assert len({one.page for one in found if one.kind == 'page and lab'}) == shown       # none is missed
    for one in found: assert one.title in page and ', '.join(one.knobs).replace('_', ' ') in page
    assert {one.page for one in found if one.kind == 'lab'} == {'60_show/20_widgets.ipynb', '65_lab/10_race.ipynb'}
    assert explorations.asked('Is it so? The rate is 0.5. Which of the two\nis it?') == 'Which of the two is it?'
    assert explorations.asked('## Why?\n\nIt is 2. Does $m$ help? Does $p$?') == 'Does $m$ help? Does $p$?' and explorations.asked('## Why?\n\nSo it is.') == ''
    assert explorations.calls('a = frames(f, x=[1])') == [] == explorations.calls('frames') and explorations.calls('live(f, x=(1, 2))') == [('live', ('x',))]


def test_links_lead_somewhere(site): assert links.check(site, offline=False) == []


def test_nothing_is_fetched_from_another_host(site, own_scripts): assert links.check(site, offline=True) == []


def public_names():
    "(module, name) of every name in an `__all__` of the package."
    package = importlib.import_module(build.LIB)
    for info in [None, *pkgutil.walk_packages(package.__path__, f'{build.LIB}.')]:
        name = info.name if info else build.LIB
        if not any(part.startswith('_') for part in name.split('.')):
            yield from ((name, public) for public in getattr(importlib.import_module(name), '__all__', []))


def test_every_public_name_has_its_place_in_the_reference(site):
    pages = {page.stem: set(re.findall(r'id="([^"]+)"', page.read_text())) for page in (site/'api').glob('*.html')}
    everywhere = set().union(*pages.values())
    names = list(public_names())
    assert len(names) > 20
    packages = {name for name, _ in names if hasattr(importlib.import_module(name), '__path__')}
    missing = [f'{module}.{name}' for module, name in names
               if name not in (everywhere if module in packages else pages.get(build.short(module), set()))]
    assert not missing, f'no entry in the reference: {", ".join(missing)}'


def test_the_reference_says_something_about_every_function_and_class(site):
    rows = re.findall(r'<tr>(.*?)</tr>', (site/'api/index.html').read_text(), re.S)
    bare = [text_of(row).strip() for row in rows if re.search(r'<td>\s*</td>', row)]
    assert len(rows) > 50 and not bare, f'no docstring: {bare}'


def test_a_method_without_words_borrows_those_of_its_protocol(site):
    text = text_of((site/'api/softmax.double_sum.html').read_text())
    assert '(As every Problem.)' in text


def test_outputs_come_from_the_executed_copy_where_there_is_one(tmp_path):
    (tmp_path/'index.ipynb').write_text('{}')
    chosen = dict(build.sources(tmp_path))
    assert chosen.pop(PAGES[0]) == tmp_path/'index.ipynb'
    assert all(source == ROOT/'nbs'/path for path, source in chosen.items())


def test_search_finds_pages_and_names(site):
    index = json.loads((site/'search.json').read_text())
    hrefs = {entry['href'] for entry in index}
    assert {page_of(path) for path in PAGES} <= {href.partition('#')[0] for href in hrefs}
    assert 'api/core.run.html#minimize' in hrefs
    assert any('log-normaliser' in entry['text'] for entry in index if entry['href'].startswith('index.html'))


@pytest.mark.parametrize('path', PAGES, ids=str)
def test_each_definition_stands_once_and_folds(site, path):
    page = (site/page_of(path)).read_text()
    shown = text_of(' '.join(re.findall(r'<code class="sourceCode[^"]*">(.*?)</code>', page, re.S)))
    folded = text_of(' '.join(re.findall(r'<details open="" class="code-fold">(.*?)</details>', page, re.S)))
    for cell in json.loads((ROOT/'nbs'/path).read_text())['cells']:
        source = ''.join(cell['source'])
        if cell['cell_type'] != 'code' or not re.search(r'^#\|\s*exports\b', source, re.M): continue
        code = '\n'.join(line for line in source.split('\n') if not line.startswith('#|')).strip()
        assert shown.count(code) == 1, code
        assert folded.count(code) == 1, code
        for name in build.defined(code): assert f'id="code-{name}"' in page
    assert 'show_doc' not in page


@pytest.mark.parametrize('path', PAGES, ids=str)
def test_every_picture_has_words(site, path):
    pictures = re.findall(r'<img\b[^>]*>', (site/page_of(path)).read_text())
    assert all(re.search(r'alt="[^"]{15,}"', picture) for picture in pictures), [p[:60] for p in pictures]


def test_formulas_were_read_by_katex_and_mathjax(own_scripts, report, tmp_path):
    assert int(re.search(r'(\d+) formulas', report)[1]) > 50
    bad = [dict(page='p', display=True, tex=r'\begin{aligned} a &= b \tag{1} \end{aligned}'), dict(page='p', display=False, tex=r'\frac{1}{'),
           dict(page='p', display=True, tex=r'\begin{aligned} a &= b \end{aligned} \tag{1}')]
    (tmp_path/'bad.json').write_text(json.dumps(bad))
    packages = build.vendored(build.VENDOR + build.LINT_ONLY)
    done = subprocess.run(['node', ROOT/'docs/formulas.mjs', tmp_path/'bad.json', packages['katex'], packages['mathjax']], capture_output=True, text=True)
    assert done.returncode == 1
    said = done.stdout.strip().split('\n')
    assert len(said) == 3 and 'MathJax' in said[0] and 'aligned' in said[0] and 'KaTeX' in said[1] and 'MathJax' in said[2]


@pytest.mark.parametrize('gives, first, found', [('package', False, True), ('package', True, True), ('nothing', False, False), ('broken', False, False)])
def test_packages_come_whole_or_not_at_all(gives, first, found, tmp_path, monkeypatch):
    "npm may give nothing or half a file, and another build may be first."
    cache, made = tmp_path/'cache/site', tmp_path/'package'
    made.mkdir(); (made/'a.js').write_text('1'); (made/'b.txt').write_text('2')
    act = dict(package=f'tar -czf some-thing-1.0.tgz -C {tmp_path} package', nothing='true', broken='echo half > some-thing-1.0.tgz')[gives]
    if first: act += f'; mkdir -p {cache}/some-thing-1.0; cp {made}/a.js {cache}/some-thing-1.0'
    (tmp_path/'npm').write_text(f'#!/bin/sh\n{act}\n'); (tmp_path/'npm').chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    monkeypatch.setenv('EXTREME_OPT_CACHE', str(cache.parent))
    packages = build.vendored([('@some/thing', '1.0', r'.*\.js')])
    assert (packages is not None) == found
    if found: assert [p.name for p in packages['@some/thing'].iterdir()] == ['a.js']
    assert found or not (cache/'some-thing-1.0').exists()


def test_formulas_are_found_in_markdown_and_not_in_code():
    cells = [dict(cell_type='markdown', source='cost $x$ and `$HOME`, 5\\$ or $ 3, then $$y\n= 2 \\tag{1}$$\n```\n$z$\n```\n$a$-th')]
    assert build.written_formulas(dict(cells=cells)) == [(False, 'x'), (True, 'y\n= 2 \\tag{1}'), (False, 'a')]


def test_the_checker_sees_what_is_broken(tmp_path):
    (tmp_path/'a.html').write_text('<p id="x"><a href="b.html">gone</a><a href="#y">gone</a><a href="a.html#x">fine</a>'
                                   '<img src="p.png"><script src="https://example.org/s.js"></script><i id="t"></i><i id="t"></i>')
    (tmp_path/'a.css').write_text('@import url(https://example.org/font.css); p { background: url(q.png) }')
    found = '\n'.join(links.check(tmp_path))
    for word in ('b.html leads nowhere', 'no `y`', 'p.png leads nowhere', 'fetches https://example.org/s.js', 'id `t` is there 2 times',
                 'fetches https://example.org/font.css', 'q.png leads nowhere'): assert word in found
    assert len(found.split('\n')) == 7
    assert 'example.org' not in '\n'.join(links.check(tmp_path, offline=False))


def test_a_first_cell_with_more_than_a_title_is_refused():
    def nb(source): return dict(cells=[dict(cell_type='markdown', source=source)])
    build.check_first_cell(nb('# Title\n\n> one line'), 'a.ipynb')
    for source in ('# Title', '# Title\n> one line\nmore', '> one line\n# Title', '# Title\n> one\n> two'):
        with pytest.raises(build.Broken, match=r'a\.ipynb: the first cell'): build.check_first_cell(nb(source), 'a.ipynb')


def test_links_between_notebooks_follow_the_renamed_pages(tmp_path):
    (tmp_path/'20_softmax').mkdir()
    (tmp_path/'20_softmax/30_umax.ipynb').write_text('')
    def mend(text): return build.mend_links(text, tmp_path, 'a.ipynb')
    assert mend('[u](20_softmax/30_umax.ipynb#The-question)') == '[u](softmax/umax.ipynb#the-question)'
    assert mend('[w](https://example.org/10_a.ipynb) [f](#Next) [p](x.png)') == '[w](https://example.org/10_a.ipynb) [f](#next) [p](x.png)'
    with pytest.raises(build.Broken, match='30_gone.ipynb leads to no notebook'): mend('[g](30_gone.ipynb)')


def test_widgets_get_their_script_and_one_state():
    nb = dict(cell_type='code', source='#| fig-cap: Is it <steep>?\n#| fig-alt: A "steep" curve',
              outputs=[dict(output_type='display_data', data={build.VIEW: dict(model_id='1')})])
    assert build.show_widgets(nb)
    made = nb['outputs'][0]['data']['text/html']
    assert f'<script type="{build.VIEW}">{{"model_id": "1"}}</script>' in made and '&quot;steep&quot;' in made
    assert '<p class="widget-caption">Is it &lt;steep&gt;?</p>' in made
    assert '</script' not in build.safe_json(dict(value='</script>'))


def test_figure_texts_survive_a_colon():
    assert build.quoted('#| fig-alt: loss: it falls\nplot()') == '#| fig-alt: "loss: it falls"\nplot()'
    assert build.quoted('#| fig-cap: "a: b"\n#| fig-alt: x') == '#| fig-cap: "a: b"\n#| fig-alt: "x"'


@pytest.mark.slow
def test_two_builds_are_the_same_byte_for_byte(site, tmp_path):
    assert run_build(tmp_path/'again').returncode == 0
    first, second = ({f.relative_to(top): f.read_bytes() for f in top.rglob('*') if f.is_file()} for top in (site, tmp_path/'again'))
    assert first.keys() == second.keys()
    assert not [name for name in first if first[name] != second[name]]
