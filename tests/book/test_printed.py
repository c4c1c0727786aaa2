"""The book in print: every lesson and guide, whole, without what only a screen can do."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from built_site import script
from told import tell

book, printed = script('book'), script('printed')


@pytest.fixture(scope='module')
def pages(tmp_path_factory):
    "Pages of the site, as Sphinx reads them; those of its build where this process made it."
    built = tmp_path_factory.getbasetemp() / 'work/pages'
    if built.exists():
        return built
    folder = tmp_path_factory.mktemp('pages')
    book.stage(folder)
    return folder


def build(builder, pages, folder):
    (folder / 'pages').mkdir()
    done = tell(
        *(sys.executable, '-m', 'sphinx', '-q', '-b', builder, '-c', 'docs/printed'),
        *('-d', f'{folder}/doctrees', '-D', f'site_pages={pages}'),
        *(f'{folder}/pages', f'{folder}/out'),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / 'out', done.stdout


@pytest.fixture(scope='module')
def epub(pages, tmp_path_factory):
    out, said = build('epub', pages, tmp_path_factory.mktemp('epub'))
    with zipfile.ZipFile(out / 'extreme_opt.epub') as archive:
        return {name: archive.read(name) for name in archive.namelist()}, said


def lessons_and_guides():
    return [path for path in book.notebooks() if path.parts[0] in printed.PARTS]


def test_the_epub_holds_every_lesson_and_guide(epub):
    files, _ = epub
    for path in lessons_and_guides():
        page = files[str(book.page_name(path).with_suffix('.xhtml'))].decode()
        title = json.loads((book.NBS / path).read_text(encoding='utf-8'))['cells'][0]['source'][0]
        words = re.sub(r'[`*$]', '', title.removeprefix('# ').strip())
        assert words in html.unescape(re.sub(r'<[^>]+>', '', page)), path


def test_a_reader_of_epubs_can_read_every_page(epub):
    """Well-formed, links and pictures lead to files of the book, no sliders, no scripts; pages
    with MathML say so in the list of files."""
    files, said = epub
    listed = files['content.opf'].decode()
    told = set(re.findall(r'<item properties="mathml" id="[^"]*" href="([^"]+)"', listed))
    for name in (name for name in files if name.endswith('.xhtml')):
        text = files[name].decode()
        bare = re.sub(r'&(?!(?:lt|gt|amp|quot|apos|#\d+|#x\w+);)\w+;', '', text)
        tree = ElementTree.fromstring(re.sub(r'<!DOCTYPE[^>]*>', '', bare))
        assert not re.search(r'<script|<input|xo-frames|class="signpost"', text), name
        assert ('<math' in text) == (name in told), name
        for part in tree.iter():
            target = part.get('href') or part.get('src') or ''
            if target and '://' not in target and not target.startswith(('#', 'mailto:', 'data:')):
                where = os.path.normpath(PurePosixPath(name).parent / target.partition('#')[0])
                assert where in files, f'{name}: {target}'
    if 'npm was not at hand' not in said:
        shown = ''.join(text.decode() for name, text in files.items() if name.endswith('.xhtml'))
        assert not re.search(r'class="math[^"]*"[^>]*>\s*\\[(\[]', shown)
        assert len(told) > 20


def test_a_slider_shows_the_picture_it_begins_with():
    text = (
        '<div class="xo-frames"><label style=""><span>rate</span>'
        '<input type="range" min="0" max="1" value="1" data-labels="[2, 3]"></label>'
        '<label><span>size</span><input type="range" min="0" max="2" value="1" '
        'data-labels="[&quot;a&quot;, &quot;b&quot;, &quot;c&quot;]"></label>'
        + ''.join(f'<img alt="" src="data:image/png;base64,{n}">' for n in 'uvwxyz')
        + '</div>'
    )
    picture, line = printed.still(dict(data={'text/html': text}), '')
    assert picture['data']['image/png'] == 'y'  # 1 of 2, then 1 of 3
    assert 'rate 3, size b' in line['data']['text/markdown']


def test_a_figure_keeps_its_words():
    cell = dict(cell_type='code', source='draw()', outputs=[])
    cell['metadata'] = dict(mystnb=dict(image=dict(alt='A line that falls.')), live='1')
    made = printed.printed(dict(cells=[cell]), 'learn/a', set())['cells'][0]
    assert made['metadata'] == dict(mystnb=dict(image=dict(alt='A line that falls.')))


def test_prose_keeps_links_of_the_book_alone():
    inside = {'learn/softmax/umax', 'learn/softmax/implicit'}
    text = (
        '<p class="pace">long</p>See [U-max](umax.ipynb#x), [names](../../reference/softmax.md), '
        '[$x_{[i]}$ and more](#here), [paper](https://example.org/a).'
    )
    found = printed.prose(text, 'learn/softmax/implicit', inside)
    assert found == (
        'See [U-max](umax.ipynb#x), names, [$x_{[i]}$ and more](#here), '
        '[paper](https://example.org/a).'
    )


def test_a_table_becomes_text():
    rows = '<tr><th></th><th>rank</th></tr><tr><th>first</th><td>10</td></tr>'
    out = printed.still(dict(data={'text/html': f'<table>{rows}</table>'}), '')
    assert out[0]['data']['text/plain'] == '       rank\nfirst    10'
    rows = (
        '<tr><th></th><th></th><th>hits</th></tr><tr><th rowspan="2">a</th><th>2</th><td>10</td>'
        '</tr><tr><th>6</th><td>11</td></tr><tr><th colspan="2">b</th><td>12</td></tr>'
    )
    out = printed.still(dict(data={'text/html': f'<table>{rows}</table>'}), '')
    assert out[0]['data']['text/plain'] == '      hits\na  2    10\n   6    11\nb       12'


def test_a_function_stands_apart_from_what_it_is_of():
    made = '<math><mi>log</mi><mo>\u2061</mo>{}</math>'
    for of, apart in (('<mi>a</mi>', 1), ('<mrow><mo minsize="2em">(</mo></mrow>', 0)):
        drawn = {'inline x': {'html': made.format(of)}}
        text = printed.with_mathml(r'<span class="math">\(x\)</span>', drawn)
        assert text.count('<mspace') == apart, text


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which('latexmk') and shutil.which('xelatex')),
    reason='xelatex or latexmk is missing',
)
def test_latex_sets_the_book(pages, tmp_path):
    out, _ = build('latex', pages, tmp_path)
    subprocess.run(
        ['latexmk', '-xelatex', '-interaction=nonstopmode', '-silent', 'extreme_opt.tex'],
        cwd=out,
        capture_output=True,
    )
    log = Path(out / 'extreme_opt.log').read_text(encoding='utf-8', errors='replace')
    assert not re.findall(r'^! .*', log, re.M) and 'Missing character' not in log
    assert (out / 'extreme_opt.pdf').stat().st_size > 1e6
