"""Write what Sphinx reads: notebooks in the dialect of nbdev become pages, with shelves around
them.

The first cell of a notebook holds `# Title` and `> one line`. Cells that say `#| hide`, `#| export`
or `#| default_exp` do not show; those that code on the page needs stand folded above it.
`#| exports` and `#| exporti` (internals, not in `__all__`) show definitions in a box that folds.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import html
import json
import os
import pickle
import posixpath
import re
import symtable
import textwrap
from pathlib import Path

import yaml
from bs4 import BeautifulSoup
from pydata_sphinx_theme.toctree import add_toctree_functions
from sphinx.environment.adapters.toctree import _get_toctree_ancestors
from sphinx.errors import SphinxError
from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).resolve().parent.parent.parent
NBS, LIB = ROOT / 'nbs', 'extreme_opt'
TEMPLATES = ROOT / 'docs/templates/results'
CHAPTERS = dict(
    softmax='Softmax over many classes',
    similarity='All-pairs similarity',
    ordinal='Ordinal embedding',
    bound='Bound majorization',
    core='Foundations',
    data='Data',
    show='Figures and sliders',
    scale='Many workers',
    lab='Lab',
    verdict='The verdict',
)
SHELVES = dict(
    learn=('Learn', 'Why the methods work: derivations that run, one idea a page.'),
    use=('Use', 'Your data, from a table to a saved model.'),
    evidence=('Evidence', 'What holds, what does not, and what was measured.'),
    reference=('Reference', 'Every public name, and how the package is built.'),
)


class Broken(SphinxError):
    "Something a reader would stumble over; the message names the place and the way out."

    category = 'Broken site'


# ---------------------------------------------------------------- places


def page_name(path) -> Path:
    "`learn/softmax/30_umax.ipynb` -> `learn/softmax/umax.ipynb`: numbers only give the order."
    parts = [re.sub(r'^\d+[a-z]?_', '', part) for part in Path(path).parts]
    return Path(*parts)


def shelf_of(page) -> str:
    "The shelf of a page of the site; notes on the engine stand behind the reference."
    first = Path(page).parts[0]
    return 'reference' if first == 'engine' else first if first in SHELVES else 'learn'


def chapter_of(page) -> str:
    "Folder of a page below its shelf; empty for pages that stand on the shelf itself."
    folders = [part for part in Path(page).parts[:-1] if part not in (*SHELVES, 'engine')]
    return folders[0] if folders else ''


def notebooks() -> list[Path]:
    "All notebooks in reading order, as paths below `nbs/`."
    import notebooks as runner

    return [path.relative_to(NBS) for path in runner.find()]


# ---------------------------------------------------------------- cells


def options(source: str) -> dict[str, str]:
    "The `#| name: value` lines of a cell; texts may be quoted as YAML or stand as they are."
    found = {}
    for name, value in re.findall(r'^#\s*\|\s*([\w-]+):?[ \t]*(.*)$', source, re.M):
        quoted = value[:1] in '"\'' and value[:1] == value.strip()[-1:]
        found[name] = str(yaml.safe_load(value)) if value and quoted else value.strip()
    return found


def without_directives(source: str) -> str:
    lines = [line for line in source.split('\n') if not re.match(r'#\s*\|', line)]
    return '\n'.join(lines).strip('\n')


@functools.cache
def defined(source: str) -> list[str]:
    "Names that the top level of a cell defines."
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return []
    names = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return list(dict.fromkeys(names))


TESTED = re.compile(r'\bassert\b|assert_\w+\(|\bcheck_\w+\(|expect_fail\(')


def checks_of(source: str) -> list[str]:
    "Labels of a check cell: `# check: softmax-25, softmax-26` -> both."
    lines = re.findall(r'^\s*# check: (.+?)\s*$', source, re.M)
    return [label for line in lines for label in re.split(r',\s*', line)]


def folded(text: str, width: int = 94) -> str:
    "Printed sentences in lines that fit a page; a line with wide gaps is a table row and stays."

    def fold(line):
        if len(line) <= width or re.search(r'\S {3,}\S', line):
            return line
        lead = line[: len(line) - len(line.lstrip())]
        return '\n'.join(
            textwrap.wrap(
                line.strip(),
                width,
                initial_indent=lead,
                subsequent_indent=lead + '    ',
                break_long_words=False,
                break_on_hyphens=False,
            )
        )

    return '\n'.join(map(fold, text.split('\n')))


def pace(cells: list[dict]) -> str:
    "What the head of a page says: the minutes it takes, and what there is to do on the way."
    from explorations import calls

    texts = {
        kind: [''.join(cell['source']) for cell in cells if cell['cell_type'] == kind]
        for kind in ('markdown', 'code')
    }
    prose, code = ' '.join(texts['markdown']), texts['code']
    lines = sum(
        bool(line.strip()) and not line.startswith('#|')
        for text in code
        for line in text.split('\n')
    )
    formulas = len(re.findall(r'\$\$.+?\$\$', prose, re.S))
    # 180 words, 40 lines of code or 3 displayed formulas a minute
    minutes = max(1, round(len(prose.split()) / 180 + lines / 40 + formulas / 3))
    exercises = prose.partition('## Exercises')[2].partition('\n## ')[0]
    todo = dict(
        check=sum(bool(TESTED.search(text)) for text in code),
        slider=sum(len(knobs) for text in code for name, knobs in calls(text) if name == 'frames'),
        exercise=len(re.findall(r'^\d+\. ', exercises, re.M)),
    )
    said = [f'{count} {name}{"s" * (count > 1)}' for name, count in todo.items() if count]
    return f'About {minutes} minute{"s" * (minutes > 1)}{": " if said else "."}{", ".join(said)}'


# ---------------------------------------------------------------- links


def anchor(page, target: str, fragment: str = '') -> str:
    "Address of a page of the site, as seen from another."
    address = os.path.relpath(Path(target).with_suffix('.html'), Path(page).parent)
    return Path(address).as_posix() + ('#' + fragment if fragment else '')


def mend_links(text: str, folder: Path, path) -> str:
    "Links between notebooks follow the renamed pages; fragments take the form of the site."

    def mend(m):
        target, _, fragment = m[2].partition('#')
        if target and (shown := FILES.get(os.path.relpath(folder / target, ROOT))):
            return f'{m[1]}{os.path.relpath(shown, page_name(path).parent)}{m[3]}'
        if re.match(r'[a-z]+:', target) or target and not target.endswith('.ipynb'):
            return m[0]
        if target and not (folder / target).exists():
            raise Broken(f'nbs/{path}: the link to {target} leads to no notebook')
        mended = '/'.join(re.sub(r'^\d+[a-z]?_', '', part) for part in target.split('/'))
        if fragment:
            mended += '#' + re.sub(r'[^\w\-]', '', fragment.replace('%20', '-')).lower()
        return m[1] + mended + m[3]

    return re.sub(r'(\]\()([^)\s]+)(\))', mend, text)


FILES = {'docs/teaching.md': 'learn/teaching.md'}  # files beside the notebooks that are pages
HINTS = ROOT / 'assignments/hints'


def hints_page(chapter: str) -> str:
    "Hints of a chapter as a page, under the titles of its lessons."
    text = (HINTS / f'{chapter}.md').read_text(encoding='utf-8')

    def head(m):
        page = page_name(m[1])
        mark = f'(hints-{chapter}-{page})='.replace('_', '-')
        for file in NBS.glob(f'*/{chapter}/{m[1]}.ipynb'):
            nb = json.loads(file.read_text(encoding='utf-8'))
            title = ''.join(nb['cells'][0]['source']).split('\n')[0].removeprefix('# ')
            shelf = file.parent.parent.name
            return f'{mark}\n## [{title}](../../{shelf}/{chapter}/{page}.ipynb)'
        return f'{mark}\n## {str(page).replace("_", " ").capitalize()}'

    return re.sub(r'^## (\S+)$', head, text, flags=re.M)


def link_hints(text: str, page) -> str:
    "Where a lesson says in which file its hints are, the site leads there."

    def link(m):
        place = anchor(
            page, f'learn/hints/{m[1]}', f'hints-{m[1]}-{Path(page).stem}'.replace('_', '-')
        )
        return f'Hints are <a href="{place}">on their page</a>'

    return re.sub(r'Hints are in `assignments/hints/(\w+)\.md`', link, text)


MOVED = dict(ledger='evidence/ledger', benchmarks='evidence/benchmarks')


def myst(text: str, page) -> str:
    "Quarto's Markdown, which the writers of tables use, in the form that Sphinx reads."
    head = re.match(r'---\n(.*?)\n---\n', text, re.S)
    if head:
        said = yaml.safe_load(head[1])
        goal = said.get('description', '')
        goal = f'\n<div class="goal">\n\n{goal}\n\n</div>\n' if goal else ''
        text = f'# {said["title"]}\n{goal}\n{text[head.end() :]}'
    text = re.sub(r'^```\{=html\}\n(.*?)^```$', r'\1', text, flags=re.S | re.M)
    text = re.sub(r'^::: \{(.+)\}$', lambda m: f'<div {_attributes(m[1])}>\n', text, flags=re.M)
    text = re.sub(r'^:::$', '\n</div>\n', text, flags=re.M)
    inside = r'\[((?:[^\[\]]|\[[^\[\]]*\])*)\]'

    def link(m):
        target, _, fragment = m[2].lstrip('/').partition('#')
        first, _, rest = target.partition('/')
        target = f'{MOVED.get(first, first)}/{rest}' if rest else target or page
        title = re.sub(r'^\{(.*)\}$', r' \1', m[3] or '')
        return f'<a href="{anchor(page, target, fragment)}"{title}>{m[1]}</a>'

    text = re.sub(inside + r'\(([/#][^)\s]+)\)(\{[^}\n]*\})?', link, text)
    return re.sub(
        inside + r'\{([#.][^}\n]*)\}', lambda m: f'<span {_attributes(m[2])}>{m[1]}</span>', text
    )


def _attributes(said: str) -> str:
    names = [word[1:] for word in said.split() if word[0] == '#']
    kinds = [word[1:] for word in said.split() if word[0] == '.']
    return ' '.join(
        [f'id="{name}"' for name in names] + [f'class="{" ".join(kinds)}"'] * bool(kinds)
    )


# ---------------------------------------------------------------- a notebook as a page


def imports_only(source: str) -> bool:
    return all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in ast.parse(source).body)


def names_of(source: str) -> tuple[set[str], set[str]]:
    "Names that the code of a cell binds, and names that it reads from its module."
    bound, read = set(), set()

    def walk(table, top):
        for one in table.get_symbols():
            if one.is_referenced() and (top or one.is_global()):
                read.add(one.get_name())
            if top and (one.is_assigned() or one.is_imported() or one.is_namespace()):
                bound.add(one.get_name())
        for inner in table.get_children():
            walk(inner, False)

    try:
        walk(symtable.symtable(source, 'cell', 'exec'), True)
    except SyntaxError:  # a question without its answer, a line for the shell
        return set(), set()
    return bound, read


class SetUp:
    """Hidden cells on which boxes of code hang: `before(code)` gives those that a box needs and
    that the page has not shown, as one folded box, so that what a reader copies runs."""

    def __init__(self):
        self.cells, self.owner = [], {}

    def hidden(self, source: str):
        bound, read = names_of(source)
        self.cells.append((source, bound, read))
        self.owner |= dict.fromkeys(bound, len(self.cells) - 1)

    def shown(self, source: str):
        for name in names_of(source)[0]:
            self.owner.pop(name, None)

    def before(self, source: str) -> dict | None:
        needed, left = set(), [names_of(source)[1]]
        while left:
            for at in {self.owner[name] for name in left.pop() if name in self.owner} - needed:
                needed.add(at)
                left.append(self.cells[at][2])
        if not needed:
            return None
        for at in needed:
            for name in self.cells[at][1]:
                if self.owner.get(name) == at:
                    del self.owner[name]
        code = '\n\n'.join(self.cells[at][0] for at in sorted(needed))
        if only := imports_only(code):
            parts = [ast.get_source_segment(code, one) for one in ast.parse(code).body]
            code = '\n'.join(dict.fromkeys(parts))
        said = dict(fold=['', 'Imports' if only else 'Set-up'], setup=True)
        return dict(cell_type='code', metadata=said, source=code, outputs=[], execution_count=None)


def process(path, source: Path, names: dict, rows: dict, repository: str = '') -> dict:
    "One notebook as the site wants it; `names` and `rows` say where reference and ledger are."
    import claims
    import freshness

    nb = json.loads(Path(source).read_text(encoding='utf-8'))
    page, folder = page_name(path), (NBS / path).parent
    check_first_cell(nb, path)
    code = [''.join(cell['source']) for cell in nb['cells'] if cell['cell_type'] == 'code']
    module = next(
        (m[1] for text in code if (m := re.search(r'^#\|\s*default_exp\s+(\S+)', text, re.M))), ''
    )
    title, goal = [line for line in ''.join(nb['cells'][0]['source']).split('\n') if line.strip()]
    head = [f'{title}\n\n<div class="goal">\n\n{mend_links(goal[2:], folder, path)}\n\n</div>']
    if len(page.parts) > 1:
        head.append(f'<p class="pace">{pace(nb["cells"])}{launch(path, repository)}</p>')
    old = myst(freshness.note('\n'.join(code)) or '', page)
    if old and len(page.parts) > 1:
        head.append(old)
    made, seen, figures, needs = [_markdown('\n\n'.join(head))], set(), 0, SetUp()
    for cell in nb['cells'][1:]:
        text = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown':
            made.append(_markdown(link_hints(mend_links(text, folder, path), page)))
            continue
        said = options(text)
        if cell['cell_type'] != 'code' or 'default_exp' in said:
            continue
        if {'hide', 'export'} & set(said):
            hidden = without_directives(text)
            if page.parts[0] != 'engine' or imports_only(hidden):  # the rest is in the package
                needs.hidden(hidden)
            continue
        if box := needs.before(text):
            made.append(box)
        needs.shown(text)
        if 'exports' in said:
            made.append(_markdown(signpost(page, module, defined(text), names)))
        if labels := checks_of(text):
            made.append(_markdown(checkpost(page, labels, seen, rows)))
            seen |= set(labels)
        for label in claims.labels(text):
            mark = claims.mark(Path(path).with_suffix('').as_posix(), label)
            made.append(_markdown(f'<div class="checkpost">{mark}</div>'))
        shown = _code(cell, text, said, folder, path)
        if page.parts[0] == 'learn' and is_figure(shown):
            figures += 1
            caption(shown, figures, said)
        made.append(shown)
    if old and len(page.parts) == 1:  # a newcomer to the front page reads what is new first
        made.append(_markdown(old))
    language = dict(display_name='python3', language='python', name='python3')
    return dict(
        cells=made,
        nbformat=4,
        nbformat_minor=4,
        metadata=dict(
            kernelspec=language, language_info=dict(name='python', pygments_lexer='python')
        ),
    )


def check_first_cell(nb: dict, path):
    "The first cell holds `# title` and `> one line` alone: they become the head of the page."
    cell = nb['cells'][0] if nb['cells'] else dict(cell_type='code', source='')
    lines = [line for line in ''.join(cell['source']).split('\n') if line.strip()]
    if (
        cell['cell_type'] != 'markdown'
        or len(lines) != 2
        or not lines[0].startswith('# ')
        or not lines[1].startswith('> ')
    ):
        raise Broken(
            f'nbs/{path}: the first cell must hold `# Title` and `> one line` and '
            'nothing else; move the rest to a cell of its own'
        )


def _markdown(text: str) -> dict:
    return dict(cell_type='markdown', metadata={}, source=text)


def _code(cell: dict, text: str, said: dict, folder: Path, path) -> dict:
    "A code cell without its directives, and its outputs with what readers without eyes need."
    text = without_directives(text)
    extra: dict = {'live': cell.get('id', '')}
    if alt := said.get('fig-alt'):
        extra['mystnb'] = dict(image=dict(alt=alt))
    if words := said.get('fig-cap'):
        extra.setdefault('mystnb', {})['figure'] = dict(caption=words)
    if {'exports', 'exporti'} & set(said):
        only = imports_only(text)
        named = 'Imports' if only else ' · '.join(defined(text)) or 'Source'
        extra['fold'] = ['open' * (not only), named]
    elif said.get('code-fold') in ('true', 'show'):
        extra['fold'] = ['open' * (said['code-fold'] == 'show'), said.get('code-summary') or 'Code']
    outputs = []
    for out in cell.get('outputs', []):
        data = out.get('data', {})
        if any(mime.startswith('application/vnd.jupyter.widget') for mime in data):
            raise Broken(
                f'nbs/{path}: a cell shows a widget, which needs a kernel; use frames(), or '
                'say `#| eval: false` in it, and rerun the page'
            )
        if out['output_type'] == 'stream':
            out = {**out, 'text': folded(''.join(out['text']))}
        if 'text/markdown' in data:
            mended = mend_links(''.join(data['text/markdown']), folder, path)
            out = {**out, 'data': {'text/markdown': mended}}
        if 'text/html' in data:
            shown = ''.join(data['text/html'])
            if 'xo-frames' in shown:
                shown = re.sub(r'<p class="xo-waiting">.*?</p>\n', '', shown)  # for notebooks
                label = html.escape(said.get('fig-alt', ''))
                shown = shown.replace('role="group"', f'role="group" aria-label="{label}"', 1)
                if words and not Path(path).parts[0] == 'learn':
                    shown += f'<p class="caption">{html.escape(words)}</p>'
            out = {**out, 'data': {'text/html': shown}}
        outputs.append(out)
    return dict(
        cell_type='code', metadata=extra, source=text, outputs=outputs, execution_count=None
    )


def is_figure(cell: dict) -> bool:
    "Whether a cell shows a figure, still or under sliders."
    return any(
        'image/png' in (data := out.get('data', {}))
        or 'image/svg+xml' in data
        or 'xo-frames' in ''.join(data.get('text/html', ''))
        for out in cell['outputs']
    )


def caption(cell: dict, number: int, said: dict):
    """A line under the figure of a cell: its number and, from the words for it, the first sentence,
    with what follows it where it says little."""
    words = said.get('fig-cap') or re.match(r'.{60,}?[.;](?=\s|$)|.*', said.get('fig-alt', ''))[0]
    words = html.escape(words if words.endswith(('.', '?')) else words.rstrip(';') + '.')
    line = f'<p class="caption"><b>Figure {number}.</b> {words}</p>'
    cell['metadata'].get('mystnb', {}).pop('figure', None)
    last = max(n for n, out in enumerate(cell['outputs']) if is_figure(dict(outputs=[out])))
    shown = dict(output_type='display_data', data={'text/html': line}, metadata={})
    cell['outputs'].insert(last + 1, shown)


def signpost(page, module: str, here: list[str], names: dict) -> str:
    "Anchors for the definitions of a cell, and links to their entries in the reference."
    links = [
        f'<a href="{anchor(page, *target.split("#"))}"><code>{name}</code></a>'
        for name in here
        if (target := names.get(f'{LIB}.{module}.{name}'))
    ]
    said = 'Reference: ' + ' '.join(links) if links else ''
    anchors = ''.join(f'<span id="code-{name}"></span>' for name in here)
    return f'<div class="signpost">{anchors}{said}</div>'


def checkpost(page, labels: list[str], seen: set, rows: dict) -> str:
    "Anchors for the formulas that a cell checks, and the way to their rows in the ledger."
    links = [
        f'<a href="{anchor(page, *rows[label].split("#"))}">{label}</a>' if label in rows else label
        for label in labels
    ]
    anchors = ''.join(
        f'<span id="check-{label}"></span>' for label in dict.fromkeys(labels) if label not in seen
    )
    return f'<div class="checkpost">{anchors}checks {" ".join(links)}</div>'


def launch(path, repository: str) -> str:
    "Links that open a page in the repository and on Binder; nothing while no address is set."
    if not repository:
        return ''
    where = repository.removesuffix('/').removesuffix('.git')
    name = '/'.join(where.split('/')[-2:])
    return (
        f' · <a class="launch" href="{where}/blob/HEAD/nbs/{path}">Notebook</a> · '
        f'<a class="launch" href="https://mybinder.org/v2/gh/{name}/HEAD?labpath=nbs/{path}">'
        'Run it</a>'
    )


# ---------------------------------------------------------------- shelves


def shelf(name: str, groups: dict[str, list[tuple[str, str, str]]]) -> str:
    "Front page of a shelf: its chapters with a line on each page, which also order the site."
    title, goal = SHELVES[name]
    text = [f'# {title}', f'<div class="goal">\n\n{goal}\n\n</div>']
    for caption, pages in groups.items():
        if caption:
            text.append(f'## {caption}')
        text.append(
            '\n'.join(
                f'- [{one}]({os.path.relpath(page, name)}): {said}'
                if said
                else f'- [{one}]({os.path.relpath(page, name)})'
                for page, one, said in pages
            )
        )
        listed = '\n'.join('/' + str(Path(page).with_suffix('')) for page, _, _ in pages)
        titled = f':caption: {caption}' if caption else ''
        text.append(f'```{{toctree}}\n:hidden:\n{titled}\n\n{listed}\n```')
    return '\n\n'.join(text) + '\n'


def head_of(text: str) -> tuple[str, str]:
    "Title and line of a page."
    lines = [line for line in text.split('\n') if line.strip() and line != '<div class="goal">']
    goal = (
        lines[1].removeprefix('> ') if '<div class="goal">' in text or lines[1][:1] == '>' else ''
    )
    return lines[0].removeprefix('# '), goal


def digest(key: list) -> str:
    "Of files by what they hold, of the rest as it is written."
    found = hashlib.sha256()
    for part in key:
        found.update(part.read_bytes() if isinstance(part, Path) else repr(part).encode())
    return found.hexdigest()


def remembered(kept: Path | None, name: str, key: list, make):
    "What `make` made for this key in an earlier build, from the folder `kept`, or makes now."
    file, mark = kept and kept / f'{name}.pickle', digest(key)
    if file and file.exists():
        with contextlib.suppress(Exception):  # of another Python, or cut short: made again
            found, made = pickle.loads(file.read_bytes())
            if found == mark:
                return made
    made = make()
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps((mark, made)))
    return made


def _reference():
    "Pages of the reference, each with what `put` takes, and where each name has its entry."
    import reference

    found: list[tuple] = []
    return reference.write(lambda *page: found.append(page)), found


def stage(folder: Path, executed='', repository='', sets: tuple = (), kept: Path | None = None):
    """Write every page of the site into `folder`; only what has changed is touched. `sets`:
    problem sets, (page, notebook), where pages run. `kept`: a folder for what took long."""
    import explorations
    import freshness
    import ledger

    made: dict[str, str] = {}
    shelves: dict[str, dict] = {name: {} for name in SHELVES}

    def put(page, text, title, goal, group='', where=None):
        if str(page) in made:
            raise Broken(f'{page}: two pages have this name; rename one')
        made[str(page)] = text
        if group is None:  # the page above it leads there
            return
        group = CHAPTERS.get(group, group.replace('_', ' ').capitalize())
        shelves[where or shelf_of(page)].setdefault(group, []).append((str(page), title, goal))

    library = [*sorted((ROOT / LIB).rglob('*.py')), Path(__file__).with_name('reference.py')]
    names, entries = remembered(kept, 'reference', library, _reference)
    for entry in entries:
        put(*entry)
    depends = [*(ROOT / 'docs').glob('*.*'), *Path(__file__).parent.glob('*.py')]
    depends = sorted([path for path in depends if path.suffix in ('.py', '.csv', '.toml')])
    table = ledger.rows()
    rows = {row.check: row.id for row in reversed(table)} | {row.id: row.id for row in table}
    rows = {label: f'evidence/ledger/{label.split("-")[0]}.md#{row}' for label, row in rows.items()}
    wrong, paths = [], notebooks()
    mark = digest([*depends, names, rows, repository, paths, freshness.old()])
    for path in paths:
        source = (
            Path(executed) / path if executed and (Path(executed) / path).exists() else NBS / path
        )
        try:
            nb = remembered(
                kept,
                f'pages/{path}',
                [mark, source],
                lambda: process(path, source, names, rows, repository),  # noqa: B023
            )
        except Broken as error:
            wrong.append(str(error))
            continue
        page = page_name(path)
        if page.name == 'index.ipynb' and len(page.parts) == 1:
            front = page, nb
            continue
        title, goal = head_of(
            ''.join(json.loads(source.read_text(encoding='utf-8'))['cells'][0]['source'])
        )
        engine = page.parts[0] == 'engine'
        group, goal = chapter_of(page), re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', goal)
        put(
            page,
            json.dumps(nb),
            title,
            goal,
            f'Engine: {CHAPTERS.get(group, group)}' if engine else group,
        )
    if wrong:
        raise Broken('\n'.join(wrong))
    for path, source in sets:
        nb = json.loads(source.read_text(encoding='utf-8'))
        title, goal = head_of(nb['cells'][0]['source'])
        put(path, json.dumps(process(path, source, names, rows)), title, goal, 'problem_sets')
    images = _results(put, names, kept)
    found = explorations.page(explorations.find(), page_name, CHAPTERS)
    put(
        'learn/explorations.md',
        myst(found, 'learn/explorations.md'),
        'Explorations',
        'Every figure that moves, with the question it answers.',
        'More',
    )
    put(
        'learn/teaching.md',
        (ROOT / 'docs/teaching.md').read_text(encoding='utf-8'),
        'Teaching',
        'A guide for teachers.',
        'More',
    )
    for file in sorted(HINTS.glob('*.md')):
        text = hints_page(file.stem)
        put(f'learn/hints/{file.name}', text, head_of(text)[0], '', 'More')
    filled = {name: groups for name, groups in shelves.items() if groups}
    for name, groups in filled.items():
        made[f'{name}/index.md'] = shelf(name, groups)
    page, nb = front
    listed = '\n'.join(f'{SHELVES[name][0]} <{name}/index>' for name in filled)
    nb['cells'].append(_markdown(f'```{{toctree}}\n:hidden:\n\n{listed}\n```'))
    made[str(page)] = json.dumps(nb)
    _write(folder, made, images)


def _results(put, names: dict, kept: Path | None) -> dict[str, bytes]:
    "Pages of the ledger and of the measurements; their pictures."
    import benchmarks
    import freshness
    import ledger

    entries = {name: '/' + target for name, target in names.items()}
    measured = [freshness.old(), *sorted((ROOT / 'docs').glob('*.py')), benchmarks.RACES]
    measured += [*sorted(freshness.RESULTS.iterdir()), *sorted(TEMPLATES.iterdir())]
    made = {
        'ledger': ledger.write_pages(page_name, entries),
        'benchmarks': remembered(kept, 'benchmarks', measured, benchmarks.write_pages),
    }
    images = {}
    for group, files in made.items():
        for name, text in files.items():
            if isinstance(text, bytes):
                images[f'{MOVED[group]}/{name}'] = text
                continue
            page = f'{MOVED[group]}/{name}.md'
            text = myst(text, page)
            put(page, text, *head_of(text), dict(benchmarks='Measurements').get(group, 'Ledger'))
    return images


def _write(folder: Path, made: dict[str, str], images: dict[str, bytes]):
    files = {name: text.encode() for name, text in made.items()} | images
    for file in [file for file in folder.rglob('*') if file.is_file()]:
        if file.relative_to(folder).as_posix() not in files:
            file.unlink()
    for name, content in files.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


# ---------------------------------------------------------------- Sphinx


def finish_nodes(app, doctree):
    "Fold boxes around definitions; formulas go to MathJax as they were written."
    from docutils import nodes

    for cell in list(doctree.findall(nodes.container)):
        fold = (cell.get('cell_metadata') or {}).get('fold')
        if fold and cell.children:
            opened, summary = fold
            cell.insert(1, nodes.raw('', '</details>', format='html'))
            cell.insert(
                0,
                nodes.raw(
                    '',
                    f'<details class="fold" {opened}><summary>{html.escape(summary)}</summary>',
                    format='html',
                ),
            )
    for formula in doctree.findall(nodes.math_block):
        text = formula.astext()
        formula['nowrap'] = formula['no-wrap'] = True
        formula.children = [nodes.Text(f'\\[{text}\\]' if not text.startswith('\\[') else text)]


# Docstrings of several lines: Pygments gives each line a span of its own.
_QUOTES = '(?:"""|&quot;&quot;&quot;)'
_DOCSTRING = re.compile(
    rf'(<span class="sd">{_QUOTES}[^<\n]*</span>)\n'
    rf'((?:(?:[ ]*<span class="sd">(?:(?!{_QUOTES})[^<\n])*</span>)?\n){{3,}})'
    rf'(<span class="sd">(?:(?!{_QUOTES})[^<\n])*{_QUOTES}</span>)'
)
_MORE = (
    '<span class="doc-more" role="button" tabindex="0" aria-expanded="false" '
    'aria-label="the rest of the docstring"></span>'
)


def fold_docstrings(app, page, template, context, doctree):
    "On pages made of notebooks the first line of a long docstring shows, the rest unfolds."
    body = context.get('body')
    if body and doctree is not None and not page.startswith('reference/'):
        context['body'] = _DOCSTRING.sub(rf'\1{_MORE}\n<span class="doc-rest">\2</span>\3', body)


def stay_on_the_shelf(app, page, template, context, doctree):
    "Previous and next lead through one shelf and end with it."
    for side in ('prev', 'next'):
        if other := context.get(side):
            target = os.path.normpath(Path(page).parent / other['link'].partition('#')[0])
            if shelf_of(target) != shelf_of(page) or page == 'index':
                context[side] = None


class Menu:
    "The menu of a shelf, drawn once by the theme: seen from a page, with the way to it marked."

    def __init__(self, drawn: str, front: str):
        self.soup, folder = BeautifulSoup(drawn, 'html.parser'), posixpath.dirname(front)
        links = self.soup.select('a.internal')
        places = [posixpath.normpath(posixpath.join(folder, one['href'])) for one in links]
        self.links = list(zip(places, links))

    def seen_from(self, page: str) -> str:
        folder, before = posixpath.dirname(page) or '.', []

        def mark(tag, **changed):
            before.append((tag, dict(tag.attrs)))
            tag.attrs |= changed

        for place, link in self.links:
            link['href'] = posixpath.relpath(place, folder)
            if place == f'{page}.html':
                mark(link, **{'href': '#', 'class': ['current', *link['class']]})
                for tag in link.find_parents(['li', 'ul']):
                    first, rest = tag.get('class', [])[:1], tag.get('class', [])[1:]
                    mine = [*first, 'current', 'active', *rest]
                    mark(tag, **{'class': mine if tag.name == 'li' else ['current', *first, *rest]})
                for tag in filter(None, [link.parent.details, *link.find_parents('details')]):
                    mark(tag, open='open')
        text = str(self.soup)
        for tag, attrs in reversed(before):
            tag.attrs = attrs
        return text


def one_menu_a_shelf(menus: dict, app, page, template, context, doctree):
    "The theme draws the menu anew for each page, which takes half of the time of writing them."

    def menu(kind, **settings):
        front = [*_get_toctree_ancestors(app.env.toctree_includes, page)][-1]
        key = front, kind, *settings.items()
        if key not in menus:
            there = dict(context)
            add_toctree_functions(app, front, template, there, None)
            menus[key] = Menu(str(there['generate_toctree_html'](kind, **settings)), front)
        return menus[key].seen_from(page)

    context['generate_toctree_html'] = menu


def all_when_pages_come_or_go(app, env, added, changed, removed):
    "The margin names every page of a shelf: when one comes or goes, all are written again."
    return sorted(env.found_docs) if added or removed else []


class English(SearchEnglish):
    "The search index of Sphinx, which finds the stem of a word once and not once a page."

    def __init__(self, options):
        super().__init__(options)
        self.stem = functools.cache(super().stem)


def _sets(config) -> list[tuple[Path, Path]]:
    "Problem sets that stand on the site: where pages run, students can try them."
    import live

    made = live.problem_sets(Path(config.live_files).parent / 'sets') if config.live else []
    return [(live.SETS / path.name, path) for path in made]


def setup(app):
    app.add_search_language(English)
    app.add_config_value('executed', '', '')
    app.add_config_value('repository_url', '', 'env')
    app.connect(
        'config-inited',
        lambda app, config: stage(
            Path(app.srcdir),
            config.executed,
            config.repository_url,
            _sets(config),
            Path(app.doctreedir) / 'made',
        ),
        priority=10,
    )
    app.connect('env-get-outdated', all_when_pages_come_or_go)
    app.connect('doctree-read', finish_nodes)
    app.connect('html-page-context', stay_on_the_shelf)
    app.connect('html-page-context', fold_docstrings)
    app.connect('html-page-context', functools.partial(one_menu_a_shelf, {}), priority=900)
    return dict(version='1', parallel_read_safe=True, parallel_write_safe=True)
