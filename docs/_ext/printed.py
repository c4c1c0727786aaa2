"""Lessons and guides as they stand in print: no sliders, no folds, no links out of the book.

`write` turns pages of the site (`build/pages`, which `make docs` writes) into pages of the book.
In an EPUB formulas become MathML, which MathJax makes from the TeX of the page; LaTeX sets them
itself.
"""

import html
import itertools
import json
import logging
import os
import re
from pathlib import Path

import gates
from book import SHELVES

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / 'build' / 'pages'
PARTS = ('learn', 'use')
DOCSTRING = re.compile(r'("""[^"\n]+)\n(?:(?!.*""").*\n){2,}[ ]*(""")')  # the first line stays
LINK = re.compile(r'(?<!\!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^()\s]+)\)')


def chosen(site: Path) -> dict[str, dict[str, list[str]]]:
    "Pages of the book in the order of the site, by part and chapter."
    found: dict[str, dict[str, list[str]]] = {}
    for part in PARTS:
        chapter, groups = '', {}
        text = (site / part / 'index.md').read_text(encoding='utf-8')
        for line in text.split('\n'):
            if line.startswith('## '):
                chapter = line.removeprefix('## ')
            elif line.startswith(f'/{part}/') and (site / f'{line[1:]}.ipynb').exists():
                groups.setdefault(chapter, []).append(line[1:])
        found[part] = groups
    return found


def write(folder: Path, site: Path):
    "Every page of the book, with a front page for each part and chapter."
    parts = chosen(site)
    inside = {page for groups in parts.values() for pages in groups.values() for page in pages}
    made = {}
    for page in inside:
        nb = json.loads((site / f'{page}.ipynb').read_text(encoding='utf-8'))
        made[f'{page}.ipynb'] = json.dumps(printed(nb, page, inside))
    for part, groups in parts.items():
        listed = []
        for at, (chapter, pages) in enumerate(groups.items()):
            if chapter:
                name = f'{part}/chapter_{at}'
                made[f'{name}.md'] = f'# {chapter}\n\n{_toctree(pages)}'
                listed.append(name)
            else:
                listed += pages
        title, goal = SHELVES[part]
        made[f'{part}/index.md'] = f'# {title}\n\n{goal}\n\n{_toctree(listed)}'
    made['index.md'] = f'# extreme_opt\n\n{_toctree([f"{part}/index" for part in parts])}'
    for file in [file for file in folder.rglob('*') if file.is_file()]:
        if file.relative_to(folder).as_posix() not in made:
            file.unlink()
    for name, text in made.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding='utf-8') != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding='utf-8')


def _toctree(pages) -> str:
    return '```{toctree}\n\n' + '\n'.join(f'/{page}' for page in pages) + '\n```\n'


def printed(nb: dict, page: str, inside: set[str]) -> dict:
    "A notebook of the site as a page of the book."
    cells = []
    for cell in nb['cells']:
        if cell['cell_type'] == 'markdown':
            text = prose(''.join(cell['source']), page, inside)
            if text.strip():
                cells.append(cell | {'source': text})
            continue
        if cell.get('metadata', {}).get('setup'):  # for those who copy code, which needs a screen
            continue
        words = cell.get('metadata', {}).get('mystnb', {}).get('image', {}).get('alt', '')
        outputs = [one for out in cell['outputs'] for one in still(out, words)]
        code = DOCSTRING.sub(r'\1\2', ''.join(cell['source']))
        kept = dict(mystnb=dict(image=dict(alt=words))) if words else {}
        cells.append(cell | {'source': code, 'outputs': outputs, 'metadata': kept})
    return nb | {'cells': cells}


def prose(text: str, page: str, inside: set[str]) -> str:
    "Markdown without marks of the site, with links inside the book alone."
    text = re.sub(r'<div class="goal">\s*(.*?)\s*</div>', r'*\1*', text, flags=re.S)
    text = re.sub(r'<(p|div) class="(?:pace|checkpost|signpost)">.*?</\1>', '', text, flags=re.S)
    text = re.sub(r'<summary>(.*?)</summary>', r'**\1**\n', text, flags=re.S)
    text = re.sub(r'</?details[^>]*>|<span id="[^"]*"></span>', '', text)
    text = re.sub(r'<a href="[^"]*">(.*?)</a>', r'\1', text, flags=re.S)
    text = re.sub(r'<code>(.*?)</code>', lambda m: f'`{html.unescape(m[1])}`', text, flags=re.S)

    def link(m):
        target = m[2].partition('#')[0]
        if '://' in target:
            return m[0]
        here = os.path.normpath(Path(page).parent / target)
        there = str(Path(here).with_suffix('')) if target else page
        return m[0] if there in inside else m[1]

    return LINK.sub(link, text)


def still(out: dict, words: str) -> list[dict]:
    "An output on paper: sliders show the picture they begin with, a table becomes text."
    text = ''.join(out.get('data', {}).get('text/html', ''))
    if 'xo-frames' in text:
        return _first_picture(text)
    if '<table' in text:
        return [_as_text(_table(text))]
    if caption := re.match(r'<p class="caption">(.*)</p>$', text, re.S):
        line = html.unescape(re.sub('<[^>]*>', '', caption[1]))
        return [_markdown(f'*{_escaped(line)}*')]
    if 'image/png' in out.get('data', {}):
        size = out.get('metadata', {}).get('image/png', {})
        out = out | {'metadata': {'image/png': {'alt': words, **size}}}
    return [out]


def _escaped(text: str) -> str:
    return re.sub(r'([\\*_`\[\]$<>])', r'\\\1', text)


def _markdown(text: str) -> dict:
    data = {'text/markdown': text}
    return dict(output_type='display_data', data=data, metadata={})


def _as_text(text: str) -> dict:
    return dict(output_type='display_data', data={'text/plain': text}, metadata={})


def _first_picture(text: str) -> list[dict]:
    knobs, n = [], 0
    for knob in re.finditer(r'<label[^>]*><span>(.*?)</span><input ([^>]*)>', text, re.S):
        said = dict(re.findall(r'([\w-]+)="([^"]*)"', knob[2]))
        labels = json.loads(html.unescape(said['data-labels']))
        n = n * (int(said['max']) + 1) + int(said['value'])
        knobs.append(f'{html.unescape(knob[1])} {labels[int(said["value"])]}')
    shown = re.findall(r'src="data:image/png;base64,([^"]*)"', text)[n]
    picture = dict(
        output_type='display_data', data={'image/png': shown, 'text/plain': ''}, metadata={}
    )
    line = f'*Sliders of the notebook, here at: {_escaped(", ".join(knobs))}.*'
    return [picture, _markdown(line)]


def _table(text: str) -> str:
    from bs4 import BeautifulSoup

    placed: dict[
        tuple[int, int], str
    ] = {}  # a cell over several rows or columns: its other places are empty
    for down, row in enumerate(BeautifulSoup(text, 'html.parser').find_all('tr')):
        for cell in row.find_all(['th', 'td']):
            at = next(at for at in range(10**6) if (down, at) not in placed)
            spans = (range(int(cell.get(f'{one}span', 1))) for one in ('row', 'col'))
            placed |= {(down + y, at + x): '' for y, x in itertools.product(*spans)}
            placed[down, at] = cell.get_text(' ', strip=True)
    across, last = max(at for _, at in placed) + 1, max(down for down, _ in placed)
    rows = [[placed.get((down, at), '') for at in range(across)] for down in range(last + 1)]
    widths = [max(len(row[at]) for row in rows) for at in range(across)]
    return '\n'.join(
        '  '.join(
            f'{cell:{"<" if not at else ">"}{width}}'
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


# ---------------------------------------------------------------- Sphinx

_TAG = re.compile(r'\\tag\*?\{([^}]*)\}')
# A function of what stands in no brackets: readers of EPUBs print "loga"
_APPLIED = re.compile('(<mo>\u2061</mo>)(?!(?:<mrow>)*<mo[^>]*>[([{|‖])')


def with_mathml(text: str, drawn: dict) -> str:
    "A page with MathML in place of TeX; the number of an equation stands beside it."

    def draw(m):
        display, tex = m[4] == r'\[', html.unescape(m[5])
        tag = _TAG.search(tex)
        made = drawn.get(gates.key_of(dict(display=display, tex=_TAG.sub('', tex))), {})
        found = re.search(r'<math.*</math>', made.get('html', ''), re.S)
        if not found:
            return m[0]
        math = re.sub(
            '^<math', '<math xmlns="http://www.w3.org/1998/Math/MathML"', found[0], count=1
        )
        math = _APPLIED.sub(r'\1<mspace width="0.17em"/>', math)
        number = f'<span class="eqno" style="float: right">({tag[1]})</span>' if tag else ''
        return f'<{m[1]} class="{m[2]}">{number}{math}</{m[1]}>'

    return gates.FORMULA.sub(draw, text)


def finish(app, error):
    "Formulas of an EPUB; a warning ends the build with an error."
    if error:
        return
    if app.builder.name == 'epub':
        out = Path(app.outdir)
        pages = sorted(out.rglob('*.xhtml'))
        every = [
            dict(page=page.name, display=display, tex=_TAG.sub('', tex))
            for page in pages
            for display, tex in gates.formulas(page.read_text(encoding='utf-8'))
        ]
        drawn = gates.drawings(every)
        if drawn is None:
            print('NOTE: node or npm was not at hand, so formulas stay as TeX.')
        with_math = set()
        for page in pages:
            text = page.read_text(encoding='utf-8')
            text = re.sub(r'<link [^>]*mystnb\.\w+\.css"[^>]*>\s*', '', text)  # not in the archive
            text = with_mathml(text, drawn or {})
            page.write_text(text, encoding='utf-8')
            if '<math' in text:
                with_math.add(page.relative_to(out).as_posix())
        _tell_readers(out / 'content.opf', with_math)
        app.builder.build_epub()
    if wrong := list(app.own_warnings.found):
        print('\n'.join(wrong))
        app.statuscode = 1


def _tell_readers(file: Path, with_math: set[str]):
    "The list of files of an EPUB says which of them hold MathML."

    def tell(m):
        return f'<item properties="mathml"{m[1]}' if m[2] in with_math else m[0]

    text = file.read_text(encoding='utf-8')
    file.write_text(re.sub(r'<item( id="[^"]*" href="([^"]+)")', tell, text), encoding='utf-8')


def bare_formulas(app, doctree):
    "LaTeX gets displayed formulas as they were written."
    from docutils import nodes

    if app.builder.format == 'latex':
        for formula in doctree.findall(nodes.math_block):
            text = formula.astext().strip()
            formula['nowrap'] = formula['no-wrap'] = True
            whole = re.match(r'\\begin\{(?:align|gather|equation)\*?\}', text)
            formula.children = [nodes.Text(text if whole else f'\\[{text}\\]')]


def setup(app):
    app.own_warnings = gates.Warnings()
    logging.getLogger('sphinx').addHandler(app.own_warnings)
    app.add_config_value('site_pages', str(SITE), '')
    app.connect(
        'config-inited',
        lambda app, config: write(Path(app.srcdir), Path(config.site_pages)),
        priority=10,
    )
    app.connect('doctree-read', bare_formulas)
    app.connect('build-finished', finish, priority=900)
    return dict(version='1', parallel_read_safe=True, parallel_write_safe=True)
