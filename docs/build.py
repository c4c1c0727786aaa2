"""Build the site: nbdev's processors turn notebooks into pages, smalldocs renders them, and a finished page fetches
nothing from another host. `make docs` runs this file; it exits non-zero when a link, a formula or a name is broken.

    python docs/build.py [--out _docs] [--executed DIR] [--no-export]
"""
import argparse
import ast
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
NBS, LIB = ROOT/'nbs', 'extreme_opt'
sys.path[:0] = [str(ROOT), str(ROOT/'docs')]

CHAPTERS = dict(core='Foundations', data='Data', softmax='Softmax over many classes', similarity='All-pairs similarity',
                ordinal='Ordinal embedding', bound='Bound majorization', show='Figures and sliders', scale='Many workers', lab='Lab',
                verdict='The verdict')
# What a finished page needs beside its own files: package, version, the files to keep of it.
VENDOR = [('katex', '0.19.1', r'dist/(katex\.min\.(css|js)|contrib/auto-render\.min\.js|fonts/.*\.woff2)|LICENSE'),
          ('@jupyter-widgets/html-manager', '1.0.15', r'dist/embed\.js|LICENSE')]
LINT_ONLY = [('mathjax', '3.2.2', r'es5/.*\.js')]


class Broken(Exception):
    "Something a reader would stumble over; the message names the place and the way out."


# ---------------------------------------------------------------- notebooks

def notebooks(folder=NBS):
    "Relative paths of all notebooks in reading order: the front page, then chapter by chapter."
    found = [path.relative_to(folder) for path in folder.rglob('*.ipynb')]
    found = [path for path in found if not any(part.startswith(('.', '_')) for part in path.parts)]
    return sorted(found, key=lambda path: (path.name != 'index.ipynb', str(path)))


def sources(executed=None):
    "(path, file to read) of all notebooks: from the folder `executed` where it has them."
    return [(path, executed/path if executed and (executed/path).exists() else NBS/path) for path in notebooks()]


def page_name(path):
    "`20_softmax/30_umax.ipynb` -> `softmax/umax.ipynb`: numbers are for the order only."
    return Path(*(re.sub(r'^\d+[a-z]?_', '', part) for part in Path(path).parts))


def check_first_cell(nb, path):
    "The first cell holds `# title` and `> one line` alone, for anything else in it vanishes from the page."
    cell = nb['cells'][0] if nb['cells'] else dict(cell_type='code', source='')
    lines = [line for line in ''.join(cell['source']).split('\n') if line.strip()]
    if cell['cell_type'] != 'markdown' or len(lines) != 2 or not lines[0].startswith('# ') or not lines[1].startswith('> '):
        raise Broken(f'nbs/{path}: the first cell must hold `# Title` and `> one line` and nothing else; move the rest to a cell of its own')


def mend_links(text, folder, path):
    "Links between notebooks follow the renamed pages; fragments take the form that the site gives to headings."
    def mend(m):
        target, _, fragment = m[2].partition('#')
        if re.match(r'[a-z]+:', target) or target and not target.endswith('.ipynb'): return m[0]
        if target and not (folder/target).exists(): raise Broken(f'nbs/{path}: the link to {target} leads to no notebook')
        mended = '/'.join(re.sub(r'^\d+[a-z]?_', '', part) for part in target.split('/'))
        if fragment: mended += '#' + re.sub(r'[^\w\-.]', '', fragment.replace('%20', '-')).lower()
        return m[1] + mended + m[3]
    return re.sub(r'(\]\()([^)\s]+)(\))', mend, text)


def defined(source):
    "Names that the top level of a cell defines."
    try: body = ast.parse(source).body
    except SyntaxError: return []
    names = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)): names.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [t.id for t in targets if isinstance(t, ast.Name)]
    return list(dict.fromkeys(names))


def quoted(source):
    "Figure texts as quoted YAML, so that a colon in a sentence does not silence every option of its cell."
    def quote(m): return m[0] if m[2][:1] in '"\'|>[' else f'{m[1]}{json.dumps(m[2].strip(), ensure_ascii=False)}'
    return re.sub(r'^(#\|\s*(?:fig-alt|fig-cap|tbl-cap):\s*)(\S.*)$', quote, source, flags=re.M)


def broken(text, width=94):
    "Printed sentences in lines that fit a page; a line with wide gaps is a row of a table and stays whole."
    def fold(line):
        if len(line) <= width or re.search(r'\S {3,}\S', line): return line
        lead = line[:len(line) - len(line.lstrip())]
        return '\n'.join(textwrap.wrap(line.strip(), width, initial_indent=lead, subsequent_indent=lead + '    ', break_long_words=False, break_on_hyphens=False))
    return '\n'.join(fold(line) for line in text.split('\n'))


def process(path, source, names):
    "One notebook as the page wants it: nbdev's processors without its signatures, definitions foldable in place, links mended."
    from fastcore.nbio import mk_cell, read_nb
    from nbdev.process import NBProcessor
    from nbdev.processors import FilterDefaults

    import freshness

    class Page(FilterDefaults):
        def base_procs(self):  # signatures stand in the reference; nothing needs to run here
            dropped = {'add_show_docs', 'exec_show_docs', 'mv_exports', 'add_fold', 'add_links', 'insert_warning', 'clean_magics'}
            return [proc for proc in super().base_procs() if proc.__name__ not in dropped]

    nb = read_nb(source)
    check_first_cell(nb, path)
    module = next((m[1] for c in nb.cells if c.cell_type == 'code' and (m := re.search(r'^#\|\s*default_exp\s+(\S+)', c.source, re.M))), '')
    for cell in nb.cells:
        if cell.cell_type == 'code':
            cell.source = quoted(cell.source)
            for said in (out['data'] for out in cell.get('outputs', []) if 'text/markdown' in out.get('data', {})):
                said['text/markdown'] = mend_links(''.join(said['text/markdown']), (NBS/path).parent, path)
            for out in cell.get('outputs', []):
                if out['output_type'] == 'stream': out['text'] = broken(''.join(out['text']))
        elif cell.cell_type == 'markdown': cell.source = mend_links(cell.source, (NBS/path).parent, path)
    NBProcessor(nb=nb, procs=Page().procs(), rm_directives='quarto').process()
    nb.cells[0].source = re.sub(r'^output-file:.*\n', '', nb.cells[0].source, flags=re.M)
    cells, has_widget, seen = [], False, set()
    for index, cell in enumerate(nb.cells):
        if index == 1:
            cells.append(mk_cell(pace(nb.cells), 'markdown'))
            if said := freshness.note('\n'.join(''.join(one.source) for one in nb.cells if one.cell_type == 'code')): cells.append(mk_cell(said, 'markdown'))
        if cell.cell_type == 'code':
            has_widget |= show_widgets(cell)
            if 'exports' in cell.directives_:
                here = defined(cell.source)
                cells.append(mk_cell(signpost(module, here, names), 'markdown'))
                cell.source = f'#| code-fold: show\n#| code-summary: {json.dumps(" · ".join(here) or "Source")}\n{cell.source}'
            if labels := checks_of(cell.source):
                cells.append(mk_cell(check_post(labels, seen), 'markdown'))
                seen |= set(labels)
        cells.append(cell)
    if has_widget: cells.append(mk_cell(widget_state(nb, path), 'markdown'))
    plain = [{key: value for key, value in cell.items() if not key.endswith('_')} for cell in cells]
    return dict(cells=plain, metadata=dict(kernelspec=dict(language='python')), nbformat=4, nbformat_minor=5)


def pace(cells):
    "What the head of a page says under its goal: the minutes it takes, and what there is to do on the way."
    prose = ' '.join(''.join(cell['source']) for cell in cells if cell['cell_type'] == 'markdown')
    code = [''.join(cell['source']) for cell in cells if cell['cell_type'] == 'code']
    lines = sum(bool(line.strip()) and not line.startswith('#|') for text in code for line in text.split('\n'))
    formulas = len(re.findall(r'\$\$.+?\$\$', prose, re.S))
    minutes = max(1, round(len(prose.split()) / 180 + lines / 40 + formulas / 3))     # 180 words, 40 lines of code or 3 displayed formulas a minute
    todo = dict(check=sum(bool(re.search(r'\bassert\b|assert_\w+\(|\bcheck_\w+\(|expect_fail\(', text)) for text in code),
                slider=sum(len(knobs) for text in code for name, knobs in calls(text) if name == 'frames'),
                exercise=len(re.findall(r'^\d+\. ', prose.partition('## Exercises')[2].partition('\n## ')[0], re.M)))
    said = [f'{count} {name}{"s" * (count > 1)}' for name, count in todo.items() if count]
    return f'::: {{.pace}}\nAbout {minutes} minute{"s" * (minutes > 1)}{": " if said else "."}{", ".join(said)}\n:::'


def calls(source):
    import explorations
    return explorations.calls(source)


def signpost(module, here, names):
    "Anchors for the definitions of a cell, and links to their entries in the reference."
    public = [(name, names.get(f'{LIB}.{module}.{name}')) for name in here]
    links = ' '.join(f'[`{name}`]({target})' for name, target in public if target)
    return f'::: {{.signpost}}\n{"".join(f"[]{{#code-{name}}}" for name in here)}{"Reference: " + links if links else ""}\n:::'


def checks_of(source):
    "Labels of a check cell: `# check: softmax-25, softmax-26` -> both."
    return [label for line in re.findall(r'^\s*# check: (.+?)\s*$', source, re.M) for label in re.split(r',\s*', line)]


def check_post(labels, seen=frozenset()):
    "Anchors for the formulas that a cell checks, unless the page has them already, and the way to their rows in the ledger."
    rows = ledger_rows()
    told = {row.check: row.id for row in reversed(rows)} | {row.id: row.id for row in rows}
    links = ' '.join(f'[{label}](/ledger/{label.split("-")[0]}.qmd#{told[label]})' if label in told else label for label in labels)
    return f'::: {{.checkpost}}\n{"".join(f"[]{{#check-{label}}}" for label in dict.fromkeys(labels) if label not in seen)}checks {links}\n:::'


def ledger_rows():
    import ledger
    return ledger.rows()


VIEW = 'application/vnd.jupyter.widget-view+json'
STATE = 'application/vnd.jupyter.widget-state+json'

def show_widgets(cell):
    "Give each widget view of a cell the script that the embedder looks for, and the cell's caption."
    seen, source = False, quoted(''.join(cell['source']))
    def said(option):
        found = re.search(rf'^#\|\s*{option}:\s*(\S.*)$', source, re.M)
        return html.escape(str(yaml.safe_load(found[1]))) if found else ''
    for out in cell.get('outputs', []):
        view = out.get('data', {}).get(VIEW)
        if not view: continue
        label = f' role="group" aria-label="{said("fig-alt")}"' if said('fig-alt') else ''
        caption = f'\n<p class="widget-caption">{said("fig-cap")}</p>' if said('fig-cap') else ''
        out['data'] = {'text/html': f'<div class="widget"{label}>\n<script type="{VIEW}">{safe_json(view)}</script>\n</div>{caption}'}
        seen = True
    return seen


def widget_state(nb, path):
    "The saved state of all widgets of a page, once, and the embedder that draws them."
    from ipywidgets.embed import DEFAULT_EMBED_SCRIPT_URL
    state = nb.metadata.get('widgets', {}).get(STATE)
    if not state: raise Broken(f'nbs/{path}: a slider is shown but no widget state is saved; run `make refresh name={path.stem}`')
    for model in state['state'].values():  # the embedder stumbles over the tooltip of a widget that has no description
        if 'description' not in model['state']: model['state'].pop('tooltip', None)
    return ('```{=html}\n' f'<script type="{STATE}">{safe_json(state)}</script>\n'
            f'<script src="{DEFAULT_EMBED_SCRIPT_URL}"></script>\n```')


def safe_json(value): return json.dumps(value, sort_keys=True).replace('<', '\\u003c')


# ---------------------------------------------------------------- reference

def reference(folder, stories):
    "Write a page per module and an overview; return where each public name has its entry, and the sidebar."
    from smalldocs import api
    order = list(dict.fromkeys(module for module, _ in stories))
    found = sorted(api.package_modules(LIB), key=lambda mod: order.index(short(mod.__name__)) if short(mod.__name__) in order else -1)
    modules = {mod.__name__: mod for mod in found}
    names, rows, groups = {}, {}, {}
    folder.mkdir(parents=True)
    for module, mod in modules.items():
        text, rows[module], anchors = module_page(mod, stories)
        (folder/f'{short(module)}.qmd').write_text(text)
        for name in anchors:
            names[f'{module}.{name}'] = f'/api/{short(module)}.qmd#{name}'
            names.setdefault(name, names[f'{module}.{name}'])
        groups.setdefault(short(module).partition('.')[0] if '.' in short(module) else '', []).append(module)
    leftover = {}  # what a package offers to importers and no page of a module explains
    for package in sorted(name for name in sys.modules if name == LIB or re.fullmatch(rf'{LIB}\.\w+', name)):
        for name in getattr(sys.modules[package], '__all__', []):
            value = getattr(sys.modules[package], name)
            target = names.get(f'{getattr(value, "__module__", None)}.{name}') or names.get(name)
            if not target:
                target = f'/api/index.qmd#{name}'
                leftover.setdefault('' if package == LIB else short(package), []).append(f'| [`{name}`]{{#{name}}} | {told_value(value, None)} |')
            names[name] = names[f'{package}.{name}'] = target
    overview = ['---', 'title: Reference', 'description: Every public name, by package.', 'toc-depth: 2', '---', '',
                'Signatures, argument by argument, for `import extreme_opt`. Each entry links to the page that derives and tests it.', '']
    sidebar = ['api/index.qmd']
    for chapter in sorted({*groups, *leftover}, key=lambda c: ['', *CHAPTERS, c].index(c)):
        overview += [f'## {CHAPTERS.get(chapter, "The package")}', '']
        for module in groups.get(chapter, []):
            overview += [f'### [{short(module)}](/api/{short(module)}.qmd)', '', '::: {.names}', '| Name | What it is |', '|---|---|'] + [
                f'| [`{name}`]({names[f"{module}.{name}"]}) | {api.cell(said)} |' for name, said in rows[module]] + [':::', '']
        if chapter in leftover: overview += ['### Also there', '', '::: {.names}', '| Name | What it is |', '|---|---|', *leftover[chapter], ':::', '']
        items = [dict(text=short(module).split('.')[-1], href=f'api/{short(module)}.qmd') for module in groups.get(chapter, [])]
        sidebar += [dict(section=CHAPTERS.get(chapter, chapter), contents=items)] if chapter else items
    (folder/'index.qmd').write_text('\n'.join(overview) + '\n')
    return names, sidebar


def module_page(mod, stories):
    "The reference page of a module, its (name, summary) rows for the overview, and every anchor on it."
    from smalldocs import api
    tops, rows, anchors = api.own(mod), [], []
    title, _, rest = (api.doc(mod) or mod.__name__).partition('\n')
    parts = [f'---\ntitle: {json.dumps(short(mod.__name__))}\ndescription: {json.dumps(title)}\n---', rest.strip()]

    def add(symbol, level):
        anchors.append(symbol.__qualname__)
        head, _, body = api.entry(symbol, level).partition('\n\n')
        body = re.sub(r'^```python\n(.+)\n```$', lambda m: f'```python\n{wrapped(m[1])}\n```', body, flags=re.M)
        body = re.sub(r'^\| Parameter \|.*\n(\|.*(\n|$))+', lambda m: parameters(m[0].rstrip()), body, flags=re.M)
        if getattr(symbol, '_is_protocol', False): body = re.sub(r'^```.*?^```\n*', '', body, flags=re.S | re.M)
        story = stories.get((short(mod.__name__), symbol.__qualname__))
        parts.append(f'{"#" * level} {symbol.__qualname__} {{#{symbol.__qualname__}}}')
        if story: parts.append(f'[Told in [{story[1]}](/{story[0]}#code-{symbol.__qualname__})]{{.told}}')
        parts.append(body if api.doc(symbol) or level == 2 else f'{body}\n\n{inherited(symbol, mod)}')

    for top in tops:
        add(top, 2)
        rows.append((top.__qualname__, api.summary(top)))
        if not isinstance(top, type): continue
        seen = [(name, value) for name, value in vars(top).items() if isinstance(value, property) and not name.startswith('_')]
        if seen:
            anchors += [f'{top.__qualname__}.{name}' for name, _ in seen]
            parts.append('| Property | |\n|---|---|\n' + '\n'.join(
                f'| [`{name}`]{{#{top.__qualname__}.{name}}} | {api.cell(api.summary(value))} |' for name, value in seen))
        for method in dict.fromkeys(api.methods(top)): add(method, 3)
    other = [name for name in getattr(mod, '__all__', []) if name not in anchors]
    if other:
        anchors += other
        rows += [(name, told_value(getattr(mod, name), mod)) for name in other]
        parts.append('## Other names\n\n| Name | |\n|---|---|\n' + '\n'.join(
            f'| [`{name}`]{{#{name}}} | {told_value(getattr(mod, name), mod)} |' for name in other))
    return '\n\n'.join(part for part in parts if part) + '\n', rows, anchors


def inherited(method, mod):
    "What a base class or a protocol of the package says about a method that has no words of its own."
    owner, _, name = method.__qualname__.rpartition('.')
    protocols = [value for module in sorted(sys.modules) if module.startswith(f'{LIB}.') for value in vars(sys.modules[module]).values()
                 if getattr(value, '_is_protocol', False) and value.__module__ == module]
    for base in [*getattr(mod, owner).__mro__[1:-1], *protocols]:
        said = vars(base).get(name)
        if getattr(said, '__doc__', None): return f'{said.__doc__.strip()} (As every `{base.__name__}`.)'
    return ''


def parameters(table):
    "The table of arguments, where it says more than the signature above it."
    told = [row for row in table.split('\n')[2:] if not row.endswith('|  |')]
    return f'::: {{.parameters}}\n{table}\n:::\n' if told else ''


def short(module): return module.removeprefix(f'{LIB}.')

def wrapped(signature, width=88):
    "A long signature, one argument to a line."
    if len(signature) <= width: return signature
    parts, depth, last = [], 0, 0
    start = signature.index('(') + 1
    for i, char in enumerate(signature[start:], start):
        if char in '([{': depth += 1
        elif char in ')]}':
            depth -= 1
            if depth < 0: break
        elif char == ',' and depth == 0: parts.append(signature[last or start:i + 1].strip()); last = i + 1
    parts.append(signature[last or start:i].strip())
    return signature[:start] + '\n' + ''.join(f'    {part}\n' for part in parts) + signature[i:]

def told_value(value, mod):
    origin = getattr(value, '__module__', None)
    if isinstance(value, (bool, int, float, str)): return f'`{value!r}`, a constant'
    if callable(value) and isinstance(origin, str) and not (mod and origin == mod.__name__): return f'from `{origin}`'
    return f'a `{type(value).__name__}`'


def defined_names(stories_from):
    "Which page defines which public name: (module, name) -> (page, title)."
    stories = {}
    for path, source in stories_from:
        cells = json.loads(source.read_text(encoding='utf-8'))['cells']
        module = ''
        title = ''.join(cells[0]['source']).split('\n')[0].removeprefix('# ').strip() if cells else path.stem
        for cell in cells:
            text = ''.join(cell['source'])
            if cell['cell_type'] != 'code': continue
            if m := re.search(r'^#\|\s*default_exp\s+(\S+)', text, re.M): module = m[1]
            if re.search(r'^#\|\s*exports\b', text, re.M):
                for name in defined(text): stories.setdefault((module, name), (page_name(path).as_posix(), title))
    return stories


# ---------------------------------------------------------------- site

# Opened from disk a page may not fetch its search index, but it may load it as a script.
FROM_DISK = """<script>if (location.protocol === 'file:') {
  const fetched = window.fetch;
  window.fetch = url => !String(url).endsWith('search.json') ? fetched(url) : new Promise(done => {
    const script = document.createElement('script');
    script.src = String(url).replace(/json$/, 'js');
    script.onload = () => done({ json: () => window.searchIndex });
    document.head.append(script);
  });
}</script>"""


def config(pages, reference_bar, ledger_bar, results_bar, out):
    "The committed `_quarto.yml` with what only a build knows: contents in reading order, the reference, the folder to write."
    from nbdev.config import get_config
    cfg = yaml.safe_load((NBS/'_quarto.yml').read_text())
    cfg.pop('metadata-files', None)
    cfg['project']['output-dir'] = str(out)
    cfg['format']['html']['include-in-header'] = [dict(text=FROM_DISK)]
    web = cfg['website']
    web.update(title=LIB, description=str(get_config().description))
    tutorials = []
    for path in pages:
        where = page_name(path)
        if len(where.parts) == 1: tutorials.append(where.as_posix()); continue
        title = CHAPTERS.get(where.parts[0], where.parts[0].replace('_', ' ').capitalize())
        if not tutorials or not isinstance(tutorials[-1], dict) or tutorials[-1]['section'] != title:
            tutorials.append(dict(section=title, contents=[]))
        tutorials[-1]['contents'].append(where.as_posix())
    bar = web.get('sidebar') or {}
    web['sidebar'] = [dict(bar, id='tutorials', contents=tutorials), dict(bar, id='reference', contents=reference_bar), dict(bar, id='ledger', contents=ledger_bar),
                      dict(bar, id='benchmarks', contents=results_bar)]
    web['navbar']['left'] = [dict(text='Tutorials', href='index.ipynb'), dict(text='Reference', href='api/index.qmd'), dict(text='Ledger', href='ledger/index.qmd'),
                             dict(text='Measurements', href='benchmarks/index.qmd'), dict(text='Explorations', href='explorations/index.qmd'),
                             dict(text='Teaching', href='teaching/index.qmd')]
    return yaml.safe_dump(cfg, sort_keys=False, allow_unicode=True)


def teaching(folder):
    "The guide for teachers as a page: docs/teaching.md, its first heading as the title."
    folder.mkdir()
    title, text = (ROOT/'docs/teaching.md').read_text(encoding='utf-8').split('\n', 1)
    (folder/'index.qmd').write_text(f'---\ntitle: {title.lstrip("# ")}\n---\n{text}', encoding='utf-8')


def vendored(wanted):
    "Folders of unpacked npm packages by name, fetched once into the user's cache; None where npm cannot give them."
    import platformdirs
    cache = Path(os.environ.get('EXTREME_OPT_CACHE') or platformdirs.user_cache_dir(LIB))/'site'
    def home(name, version): return cache/f'{name.replace("/", "-").lstrip("@")}-{version}'
    missing = [(name, version, keep) for name, version, keep in wanted if not home(name, version).exists()]
    if missing and shutil.which('npm'):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as tmp:
            command = ['npm', 'pack', '--silent', '--fetch-retries=1', '--fetch-timeout=60000', *(f'{n}@{v}' for n, v, _ in missing)]
            try:
                subprocess.run(command, cwd=tmp, capture_output=True, timeout=180, check=True)
                for name, version, keep in missing:
                    new = Path(tmp)/f'{home(name, version).name}-new'
                    with tarfile.open(Path(tmp)/f'{home(name, version).name}.tgz') as tar:
                        wants = [m for m in tar.getmembers() if re.fullmatch(f'package/({keep})', m.name)]
                        tar.extractall(new, members=wants, filter='data')
                    try: (new/'package').replace(home(name, version))
                    except OSError:
                        if not home(name, version).exists(): raise    # another build was first: its copy is as good
            except (subprocess.SubprocessError, OSError, tarfile.TarError): return None
    found = {name: home(name, version) for name, version, _ in wanted}
    return found if all(path.exists() for path in found.values()) else None


def finish(out):
    "Serve what pages would fetch from elsewhere from the site itself; say whether that worked."
    from ipywidgets.embed import DEFAULT_EMBED_SCRIPT_URL
    from smalldocs.layout import KATEX
    for css in out.rglob('*.css'):  # themes name web fonts; the style sheet sets system fonts
        text = css.read_text(encoding='utf-8')
        if '@import' in text: css.write_text(re.sub(r'@import\s*(url\([^)]*\)|"[^"]*")[^;]*;', '', text), encoding='utf-8')
    (out/'search.js').write_text(f'window.searchIndex = {(out/"search.json").read_text(encoding="utf-8")};\n', encoding='utf-8')
    packages = vendored(VENDOR)
    pages = {page: page.read_text(encoding='utf-8') for page in sorted(out.rglob('*.html'))}
    if packages:
        (out/'vendor').mkdir()
        for name, folder in packages.items(): shutil.copytree(folder, out/'vendor'/name.split('/')[-1])
        style = out/'vendor/katex/dist/katex.min.css'  # one font format is enough
        style.write_text(re.sub(r',url\(fonts/[^)]*\.(woff|ttf)\) format\("\w+"\)', '', style.read_text()))
    for page, text in pages.items():
        up = '../' * (len(page.relative_to(out).parts) - 1)
        if packages:
            text = text.replace(KATEX, f'{up}vendor/katex/dist').replace(DEFAULT_EMBED_SCRIPT_URL, f'{up}vendor/html-manager/dist/embed.js')
        page.write_text(text, encoding='utf-8')
    return bool(packages)


MATH = re.compile(r'<span class="math (inline|display)">\\[(\[](.*?)\\[)\]]</span>', re.S)

def formulas(text):
    "Formulas of a rendered page: (is display, TeX)."
    return [(kind == 'display', html.unescape(tex)) for kind, tex in MATH.findall(text)]


def written_formulas(nb):
    "Formulas of the markdown cells of a notebook: (is display, TeX)."
    found = []
    for cell in nb['cells']:
        if cell['cell_type'] != 'markdown': continue
        text = re.sub(r'^(```|~~~).*?^\1|(`+)(?!`).+?(?<!`)\2(?!`)', '', ''.join(cell['source']), flags=re.S | re.M)
        for m in re.finditer(r'(?<!\\)\$\$(.+?)\$\$|(?<![\\$])\$(?![\s$])([^$]+?)(?<![\s\\])\$', text, re.S):
            found.append((m[1] is not None, m[1] or m[2]))
    return found


def check_formulas(out, sources):
    "Every formula reached its page, and both KaTeX (site) and MathJax (lab) can read it. Returns what was not checked."
    squeeze = lambda tex: ''.join(tex.split())
    wrong, every = [], []
    for page in sorted(out.rglob('*.html')):
        every += [dict(page=page.relative_to(out).as_posix(), display=display, tex=tex) for display, tex in formulas(page.read_text(encoding='utf-8'))]
    for path, source in sources:
        page = page_name(path).with_suffix('.html').as_posix()
        shown = {squeeze(f['tex']) for f in every if f['page'] == page}
        for _, tex in written_formulas(json.loads(source.read_text(encoding='utf-8'))):
            if squeeze(tex) not in shown: wrong.append(f'nbs/{path}: not seen as a formula by the site: ${tex.strip()[:80]}$')
    packages = vendored(VENDOR + LINT_ONLY) if shutil.which('node') else None
    if packages:
        with tempfile.TemporaryDirectory() as tmp:
            (Path(tmp)/'formulas.json').write_text(json.dumps(every))
            done = subprocess.run(['node', str(ROOT/'docs/formulas.mjs'), f'{tmp}/formulas.json', str(packages['katex']), str(packages['mathjax'])],
                                  capture_output=True, text=True)
        if done.returncode: wrong += (done.stdout + done.stderr).strip().split('\n')
    if wrong: raise Broken('\n'.join(wrong))
    return len(every), bool(packages)


def build(out, executed=None):
    "Build the site into `out` and check it; returns a report by name."
    import links
    start = time.perf_counter()
    pages, taken = notebooks(), sources(executed)
    with tempfile.TemporaryDirectory() as tmp:
        stage = Path(tmp)
        names, bar = reference(stage/'api', defined_names(taken))
        wrong = []
        for path, source in taken:
            target = stage/page_name(path)
            if target.exists(): raise Broken(f'nbs/{path}: another page is already called {page_name(path)}; rename one')
            target.parent.mkdir(parents=True, exist_ok=True)
            try: target.write_text(json.dumps(process(path, source, names)))
            except Broken as error: wrong.append(str(error))
        if wrong: raise Broken('\n'.join(wrong))
        shutil.copytree(NBS, stage, dirs_exist_ok=True, ignore=shutil.ignore_patterns('*.ipynb', '*.yml', '.*', '__pycache__'))
        import benchmarks
        import ledger
        shelf = ledger.write_pages(stage/'ledger', page_name, names)
        results = benchmarks.write_pages(stage/'benchmarks')
        teaching(stage/'teaching')
        import explorations
        (stage/'explorations').mkdir()
        (stage/'explorations/index.qmd').write_text(explorations.page(explorations.find(), page_name, CHAPTERS))
        (stage/'_quarto.yml').write_text(config(pages, bar, shelf, results, out.resolve()))
        (stage/'_symbols.json').write_text(json.dumps(names))
        from smalldocs import markdown
        from smalldocs.site import build as render
        dollars = markdown.dollarmath_plugin  # as the lab reads them: a digit beside a dollar is no obstacle
        markdown.dollarmath_plugin = lambda md, **options: dollars(md, **{**options, 'allow_digits': True})
        site = render(stage, quiet=True)
    for warning in site.warnings: print(f'smalldocs: {warning}', file=sys.stderr)
    offline = finish(out)
    wrong = links.check(out, offline=offline)
    if wrong: raise Broken('\n'.join(wrong))
    n_formulas, linted = check_formulas(out, taken)
    return dict(pages=len(pages), reference=len(list((out/'api').glob('*.html'))), names=len(names), formulas=n_formulas, linted=linted,
                offline=offline, seconds=time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description='Build the site from the notebooks.')
    parser.add_argument('--out', type=Path, default=ROOT/'_docs', help='folder to write (default _docs)')
    parser.add_argument('--executed', type=Path, help='take outputs from this executed copy of nbs/')
    parser.add_argument('--no-export', action='store_true', help='do not write the package from the notebooks first')
    args = parser.parse_args()
    here = Path.cwd()
    out, executed = here/args.out, args.executed and here/args.executed
    os.chdir(ROOT)
    if not args.no_export:
        from nbdev.doclinks import nbdev_export
        nbdev_export.__wrapped__()
    try: report = build(out, executed)
    except Broken as error:
        print(error, file=sys.stderr)
        print(f'The site in {out} is not fit to be shown; lines to mend: {len(str(error).splitlines())}', file=sys.stderr)
        return 1
    print(f'{report["pages"]} pages, {report["reference"]} reference pages with {report["names"]} names, '
          f'{report["formulas"]} formulas, in {report["seconds"]:.0f} s')
    if not report['offline']: print('NOTE: npm was not at hand, so formulas and sliders load their scripts from a public host.')
    if not report['linted']: print('NOTE: node or npm was not at hand, so formulas were not checked by KaTeX and MathJax.')
    print(f'{out}/index.html')
    return 0


if __name__ == '__main__': sys.exit(main())
