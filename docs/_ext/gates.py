"""What a finished site must pass: no warning, no broken link, formula or alternative text, and
nothing that comes from another host. The build ends with an error otherwise."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import logging
import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
from pathlib import Path

from book import LIB, NBS, ROOT, notebooks, page_name

MATHJAX = (
    'mathjax',
    '3.2.2',
    r'es5/(tex-svg-full|node-main|core|startup|loader)\.js|es5/(input|output|adaptors|a11y)/.*\.js|LICENSE',
)


def vendored(wanted=(MATHJAX,)) -> dict[str, Path] | None:
    "Unpacked npm packages by name, fetched once into the user's cache; None where npm has none."
    import platformdirs

    cache = Path(os.environ.get('EXTREME_OPT_CACHE') or platformdirs.user_cache_dir(LIB)) / 'site'

    def home(name, version):
        return cache / f'{name.replace("/", "-").lstrip("@")}-{version}'

    missing = [one for one in wanted if not home(*one[:2]).exists()]
    if missing and shutil.which('npm'):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as tmp:
            command = [
                'npm',
                'pack',
                '--silent',
                '--fetch-retries=1',
                '--fetch-timeout=60000',
                *(f'{name}@{version}' for name, version, _ in missing),
            ]
            try:
                subprocess.run(command, cwd=tmp, capture_output=True, timeout=180, check=True)
                for name, version, keep in missing:
                    _unpack(Path(tmp), home(name, version), keep)
            except (subprocess.SubprocessError, OSError, tarfile.TarError):
                return None
    found = {name: home(name, version) for name, version, _ in wanted}
    return found if all(path.exists() for path in found.values()) else None


def _unpack(tmp: Path, home: Path, keep: str):
    new = tmp / f'{home.name}-new'
    with tarfile.open(tmp / f'{home.name}.tgz') as tar:
        wants = [one for one in tar.getmembers() if re.fullmatch(f'package/({keep})', one.name)]
        safe = {'filter': 'data'} if hasattr(tarfile, 'data_filter') else {}  # from 3.11.4 on
        tar.extractall(new, members=wants, **safe)
    try:
        (new / 'package').replace(home)
    except OSError:
        if not home.exists():  # otherwise another build was first: its copy is as good
            raise


FORMULA = re.compile(
    r'<(span|div) class="(math[^"]*)"([^>]*)>\s*(\\[(\[])(.*?)\\[)\]]\s*</(?:span|div)>', re.S
)
DRAWN = re.compile(r'<(?:span|div) class="math[^"]*"[^>]* data-tex="(\\[(\[])([^"]*)\\[)\]]">')


def formulas(text: str) -> list[tuple[bool, str]]:
    "Formulas of a rendered page: (is display, TeX)."
    found = [(m.start(), m[4], m[5]) for m in FORMULA.finditer(text)]
    found += [(m.start(), m[1], m[2]) for m in DRAWN.finditer(text)]
    return [(mark == r'\[', html.unescape(tex)) for _, mark, tex in sorted(found)]


def written_formulas(nb: dict) -> list[tuple[bool, str]]:
    "Formulas of the markdown cells of a notebook: (is display, TeX)."
    found = []
    code = re.compile(r'^(```|~~~).*?^\1|(`+)(?!`).+?(?<!`)\2(?!`)', re.S | re.M)
    math = re.compile(r'(?<!\\)\$\$(.+?)\$\$|(?<![\\$])\$(?![\s$])([^$]+?)(?<![\s\\])\$', re.S)
    for cell in nb['cells']:
        if cell['cell_type'] == 'markdown':
            for m in math.finditer(code.sub('', ''.join(cell['source']))):
                found.append((m[1] is not None, m[1] or m[2]))
    return found


def wrong_formulas(out: Path, pages: list[Path]) -> tuple[list[str], int, bool]:
    "Formulas that did not reach their page or that MathJax cannot read; how many, and if read."
    wrong, every, shown = [], [], {}
    for page in pages:
        name = page.relative_to(out).as_posix()
        here = formulas(page.read_text(encoding='utf-8'))
        every += [dict(page=name, display=display, tex=tex) for display, tex in here]
        shown[name] = {''.join(tex.split()) for _, tex in here}
    for path in notebooks():
        page = page_name(path).with_suffix('.html').as_posix()
        if page not in shown:
            continue
        for _, tex in written_formulas(json.loads((NBS / path).read_text(encoding='utf-8'))):
            if ''.join(tex.split()) not in shown[page]:
                wrong.append(f'nbs/{path}: not seen as a formula by the site: ${tex.strip()[:80]}$')
    drawn = drawings(every)
    if drawn is not None:
        told = [(one['page'], drawn[key_of(one)].get('why')) for one in every]
        wrong += [f'{page}: {why}' for page, why in told if why]
        put_in(out, pages, drawn)
        (out / '_static/mathjax/tex-svg-full.js').unlink(missing_ok=True)  # its license stays
    return wrong, len(every), drawn is not None


def key_of(formula: dict) -> str:
    "What the drawing of a formula depends on."
    return ('display ' if formula['display'] else 'inline ') + formula['tex'].strip()


def drawings(every: list[dict]) -> dict | None:
    """Formulas drawn by MathJax, by key: `html`, or `why` it cannot; paths of glyphs by id under
    `glyphs`, the style sheet under `css`. Kept beside MathJax for the next build; None without
    node or npm."""
    found = vendored() if shutil.which('node') else None
    if not found:
        return None
    file = found['mathjax'].with_name(f'{found["mathjax"].name}-drawn.json')
    kept = json.loads(file.read_text(encoding='utf-8')) if file.exists() else {'glyphs': {}}
    missing = {key_of(one): one for one in every if key_of(one) not in kept}
    if missing or 'css' not in kept:
        with tempfile.TemporaryDirectory() as tmp:
            asked, answer = Path(tmp) / 'formulas.json', Path(tmp) / 'drawn.json'
            asked.write_text(json.dumps(list(missing.values())), encoding='utf-8')
            done = subprocess.run(
                ['node', ROOT / 'docs/formulas.mjs', asked, found['mathjax'], answer],
                capture_output=True,
                text=True,
            )
            if not answer.exists():
                raise OSError(f'MathJax did not run: {done.stdout}{done.stderr}')
            made = json.loads(answer.read_text(encoding='utf-8'))
        kept['css'] = made['css']
        paths = re.finditer(r'<path id="([^"]+)"[^>]*></path>', made['glyphs'])
        kept['glyphs'] |= {m[1]: m[0] for m in paths}
        for key, one in zip(missing, made['drawn'], strict=True):
            kept[key] = {'why': one['why']} if one['why'] else {'html': lean(one['html'])}
        new = file.with_name(f'{file.name}.{os.getpid()}')  # another build may read it now
        new.write_text(json.dumps(kept), encoding='utf-8')
        new.replace(file)
    return kept


def lean(drawing: str) -> str:
    "A drawing without what only MathJax itself would read."
    drawing = re.sub(
        r' (?:data-mml-node|data-c|xmlns(?::xlink)?|id|data-mjx-texclass)="[^"]*"', '', drawing
    )
    return re.sub(r' style="position: relative;"| focusable="false"', '', drawing)


def put_in(out: Path, pages: list[Path], drawn: dict):
    "Formulas of pages become drawings, and the script that drew them in the browser goes."
    (out / '_static/formulas.css').write_text(drawn['css'], encoding='utf-8')
    for page in pages:
        before = page.read_text(encoding='utf-8')
        text = with_drawings(before, drawn, '../' * (len(page.relative_to(out).parts) - 1))
        if text != before:
            page.write_text(text, encoding='utf-8')


def with_drawings(text: str, drawn: dict, up: str) -> str:
    "A page with its formulas drawn, and without scripts that it does not need then."
    glyphs: dict[str, None] = {}  # that the page uses, in order

    def draw(m):
        key = key_of(dict(display=m[4] == r'\[', tex=html.unescape(m[5])))
        made = drawn.get(key, {}).get('html')
        if not made:
            return m[0]
        glyphs.update(dict.fromkeys(re.findall(r'xlink:href="#([^"]+)"', made)))
        tex = html.escape(html.unescape(m[4] + m[5] + (r'\]' if m[4] == r'\[' else r'\)')))
        return f'<{m[1]} class="{m[2]}"{m[3]} data-tex="{tex}">{made}</{m[1]}>'

    text = FORMULA.sub(draw, text)
    text = re.sub(r'(</mjx-container>)</span>([.,;:)]+)', r'\1\2</span>', text)  # begins no line
    if glyphs:
        paths = ''.join(drawn['glyphs'][name] for name in glyphs)
        head, body, rest = re.split(r'(<body[^>]*>)', text, maxsplit=1)
        store = f'<svg class="glyphs" aria-hidden="true"><defs>{paths}</defs></svg>'
        sheet = f'<link rel="stylesheet" href="{up}_static/formulas.css">\n</head>'
        text = head.replace('</head>', sheet, 1) + body + store + rest
    text = re.sub(r'<script>window\.MathJax = .*?</script>\s*', '', text)
    needless = r'<script[^>]*(?:mathjax/tex-svg-full|scripts/fontawesome)\.js[^>]*></script>\s*'
    return re.sub(needless, '', text)


IMG = re.compile(r'<img\b[^>]*>')
INLINE = re.compile(r'src="data:image/png;base64,([^"]{4000,})"')


def lighten(out: Path, pages: list[Path]):
    """Pictures under sliders become files, which a browser loads when they are looked at, and each
    picture says its size, so that nothing moves when it comes."""
    for page in pages:
        before = page.read_text(encoding='utf-8')
        text = IMG.sub(lambda m: lighter(m[0], page.parent, out), before)  # noqa: B023
        text = stacked(spoken(text))
        if text != before:
            page.write_text(text, encoding='utf-8')


SPOKEN = (  # what the theme, Sphinx and pandas write; what a screen reader can make sense of
    (r'<th((?: [^>]*)?)>(\s*(?:<p>\s*</p>)?\s*)</th>', r'<td\1>\2</td>'),  # heads nothing
    (
        r'<summary>(?=<span class="toctree-toggle")',
        '<summary aria-label="Show or hide the pages below">',
    ),
    (  # a list of definitions without a word that is defined
        r'<dl>\n((?:<dd><em class="sig-param">.*</dd>\n)+)</dl>',
        lambda m: re.sub(r'<(/?)dd>', r'<\1div>', f'<div class="sig-lines">{m[1]}</div>'),
    ),
)


def spoken(text: str) -> str:
    "A page whose tables, folds and signatures say to a screen reader what they are."
    for written, said in SPOKEN:
        text = re.sub(written, said, text)
    return text


LONG = 40  # characters of a cell that has a line of its own on a phone


def stacked(text: str) -> str:
    "A page whose wide tables of words can stand on a phone as blocks: each cell knows its head."
    return re.sub(r'<table\b[^>]*>.*?</table>', lambda m: _stacked(m[0]), text, flags=re.S)


def _stacked(table: str) -> str:
    def plain(cell: str) -> str:
        cell = re.sub(r'<mjx-assistive-mml.*?</mjx-assistive-mml>|<svg.*?</svg>', 'xx', cell)
        return ' '.join(html.unescape(re.sub('<[^>]*>', '', cell)).split())

    head, mark, body = table.partition('</thead>')
    names = [plain(one) for one in re.findall(r'<t[hd]\b[^>]*>(.*?)</t[hd]>', head, re.S)]
    cells = [plain(one) for one in re.findall(r'<td\b[^>]*>(.*?)</td>', body, re.S)]
    words = (len(one) for n, one in enumerate(cells) if n % max(len(names), 1))
    if not mark or len(names) < 4 or max(words, default=0) < LONG:  # names and numbers fit
        return table
    if re.search(r'<th\b|colspan|data-head', body) or len(cells) % len(names):
        return table

    def named(row: str) -> str:
        places = iter(names)

        def cell(m) -> str:
            size = len(plain(m[2]))
            kind = ' data-long' * (size >= LONG) if size else ' data-empty'
            return f'<td data-head="{html.escape(next(places))}"{kind}{m[1]}>{m[2]}</td>'

        return re.sub(r'<td\b([^>]*)>(.*?)</td>', cell, row, flags=re.S)

    body = re.sub(r'<tr\b.*?</tr>', lambda m: named(m[0]), body, flags=re.S)
    return head.replace('<table', '<table data-stacked', 1) + mark + body


def lighter(tag: str, folder: Path, out: Path) -> str:
    "A picture of a page in this folder, its content in a file, with its size."
    if held := INLINE.search(tag):
        content = base64.b64decode(held[1])
        file = out / '_images' / f'{hashlib.sha256(content).hexdigest()}.png'
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
        late = ' loading="lazy"' if 'display: none' in tag else ''
        place = Path(os.path.relpath(file, folder)).as_posix()
        return tag.replace(held[0], f'src="{place}"{late}')
    found = re.search(r'src="([^":]*_images/[^"]*\.png)"', tag)
    if not found or ' height="' in tag:
        return tag
    with (folder / found[1]).open('rb') as file:
        across, down = struct.unpack('>II', file.read(24)[16:])
    if said := re.search(r' style="width: (\d+)px; height: (\d+)px;"', tag):
        across, down = said.groups()
        tag = tag.replace(said[0], '')
    return tag.replace('<img', f'<img width="{across}" height="{down}"', 1)


def slim_sheets(out: Path):
    "Style sheets of the theme and of myst-nb without rules for classes that nothing here has."
    import myst_nb
    import pydata_sphinx_theme

    theme = Path(pydata_sphinx_theme.__file__).parent / 'theme/pydata_sphinx_theme/static/styles'
    pages = [page for page in out.rglob('*.html') if '_static' not in page.parts]
    classes = set(WORD.findall(' '.join(set().union(*map(_classes, pages)))))
    for script in (out / '_static').rglob('*.js'):
        if script.name != 'fontawesome.js':  # is loaded by no page
            classes.update(WORD.findall(script.read_text(encoding='utf-8')))
    for sheet, source in (
        ('styles/pydata-sphinx-theme.css', theme / 'pydata-sphinx-theme.css'),
        ('mystnb.*.css', Path(myst_nb.__file__).parent / 'static/mystnb.css'),
    ):
        text = re.sub(r'/\*.*?\*/', '', source.read_text(encoding='utf-8'), flags=re.S)
        for file in (out / '_static').glob(sheet):
            file.write_text(slimmed(text, classes), encoding='utf-8')


WORD = re.compile(r'[\w-]+')


def _classes(page: Path) -> set[str]:
    "Names of classes that a page has, and the words of its own scripts, which may add some."
    text = page.read_text(encoding='utf-8')
    own = re.findall(r'<script[^>]*>(.*?)</script>', text, re.S)
    return {*re.findall(r'class="([^"]*)"', text), *own}


def slimmed(css: str, classes: set[str]) -> str:
    "Rules of a style sheet whose selectors name only these classes."
    kept, at = [], 0
    while at < len(css):
        head = re.compile(r'[^{;]*[{;]?').match(css, at)
        if head is None or head[0][-1:] != '{':
            kept.append(head[0] if head else '')
            at = head.end() if head else len(css)
            continue
        depth, end = 1, head.end()
        while depth:
            brace = re.compile(r'[{}]').search(css, end)
            if brace is None:
                return ''.join([*kept, css[at:]])
            depth, end = depth + (1 if brace[0] == '{' else -1), brace.end()
        name, body = head[0][:-1], css[head.end() : end - 1]
        if re.match(r'\s*@(media|supports)', name):
            inside = slimmed(body, classes)
            kept += [f'{name}{{{inside}}}'] * bool(inside.strip())
        elif '@' in name:
            kept.append(css[at:end])
        else:
            several = re.split(r',(?![^()]*\))', name)
            fits = [one for one in several if set(CLASS.findall(NOT.sub('', one))) <= classes]
            kept += [f'{",".join(fits)}{{{body}}}'] * bool(fits)
        at = end
    return ''.join(kept)


CLASS = re.compile(r'\.(-?[A-Za-z_][\w-]*)')
NOT = re.compile(r':not\([^)]*\)')


def wrong_pictures(out: Path, pages: list[Path]) -> list[str]:
    "Pictures of pages without words for those who do not see them."
    wrong = []
    for page in pages:
        main = page.read_text(encoding='utf-8').partition('<article')[2].partition('</article>')[0]
        for picture in re.findall(r'<img\b[^>]*>', main):
            alt = re.search(r'\balt="([^"]*)"', picture)
            if not alt or len(alt[1]) < 15 or alt[1].startswith(('../', '_images')):
                wrong.append(
                    f'{page.relative_to(out)}: a picture has no alternative text '
                    f'({picture[:80]}); give its cell a line #| fig-alt: ...'
                )
    return wrong


class Warnings(logging.Handler):
    "Keeps what Sphinx warns about; oddities of docstrings are shown, but end no build."

    def __init__(self):
        super().__init__(logging.WARNING)
        self.found = {}

    def emit(self, record):
        place = str(getattr(record, 'location', '') or '')
        if 'docstring of' not in place and LIB + '/' not in place:
            self.found[record.getMessage()] = None  # Sphinx itself has printed the place


def finish(app, error):
    "Run the gates on the finished site."
    import links

    if error or app.builder.format != 'html':
        return
    out = Path(app.outdir).resolve()
    made = {out / f'{name}.html' for name in (*app.env.found_docs, 'search', 'genindex')}
    there = {page for page in out.rglob('*.html') if '_static' not in page.parts}
    for page in there - made:
        page.unlink()  # of a page that is no more
    kept = Path(app.doctreedir) / 'made/links.json'
    known = links.remembered(kept)  # pages of the last build, which were fit to be shown
    pages = sorted(there & made)
    new = [one for one in pages if known.get(str(one), [0])[0] != links.stamp_of(one)]
    lighten(out, new)
    slim_sheets(out)
    found, count, read = wrong_formulas(out, new)
    wrong = list(app.own_warnings.found) + found + wrong_pictures(out, new)
    wrong += links.check(out, app.offline, kept)
    if wrong or not (read and app.offline):
        kept.unlink()
    if wrong:
        print('\n'.join(wrong))
        print(f'The site in {out} is not fit to be shown; lines to mend: {len(wrong)}')
        app.statuscode = 1
        return
    print(
        f'{len(notebooks())} notebooks, {len(made)} pages, {len(new)} of them new, {count} formulas'
    )
    if not app.offline:
        print('NOTE: npm was not at hand, so formulas load their script from a public host.')
    if not read:
        print('NOTE: node or npm was not at hand, so formulas were not read by MathJax.')
    print(f'{out}/index.html')


def bring_mathjax(app, config):
    "Serve MathJax from the site itself where npm can give it."
    for sheet in Path(app.outdir).glob('_static/mystnb.*.css'):
        sheet.unlink()  # of an earlier build, slimmed: Sphinx would refuse to copy over it
    found = vendored()
    app.offline = bool(found)
    if found:
        config.mathjax_path = 'mathjax/tex-svg-full.js'
    config.mathjax3_config = dict(svg=dict(fontCache='local'), options=dict(enableMenu=False))


def copy_files(app):
    "What pages load beside what Sphinx copies: the pictures of the front page, and MathJax."
    if app.builder.format != 'html':
        return
    shutil.copytree(NBS / 'images', Path(app.outdir) / 'images', dirs_exist_ok=True)
    found = vendored()
    if found:
        target = Path(app.outdir) / '_static/mathjax'
        target.mkdir(parents=True, exist_ok=True)
        for file in ('es5/tex-svg-full.js', 'LICENSE'):
            shutil.copy(found['mathjax'] / file, target)


def setup(app):
    app.own_warnings = Warnings()
    logging.getLogger('sphinx').addHandler(app.own_warnings)
    app.connect('config-inited', bring_mathjax)
    app.connect('builder-inited', copy_files)
    app.connect('build-finished', finish, priority=900)
    return dict(version='1', parallel_read_safe=True, parallel_write_safe=True)
