"""Runs, refreshes and checks the notebooks under nbs/.

    python docs/notebooks.py refresh [NAME ...]    execute in place and clean, say how outputs
                                                   differ; a second run changes no byte
    python docs/notebooks.py run [NAME ...]        execute into build/executed, leave nbs/ alone;
                                                   --changed: those whose code differs from HEAD,
                                                   and those that import a module that does;
                                                   --draft: only to see whether they run, with
                                                   small figures; nothing is written
    python docs/notebooks.py slow [NAME ...]       refresh those with slow cells, slow cells
                                                   included
    python docs/notebooks.py status [NAME ...]     without running: outputs that are older than the
                                                   code of their page or of the package
    python docs/notebooks.py stamp [NAME ...]      say that the outputs as they stand are those of
                                                   the code as it stands
    python docs/notebooks.py clean [NAME ...]      strip what is not content, as nbdev-clean does
    python docs/notebooks.py new NAME              start a page, e.g. learn/ordinal/45_momentum
    python docs/notebooks.py export                write the package, as nbdev-export does

NAME is a stem (30_umax or umax), a folder (learn/softmax) or a path; without one, every notebook.
Seconds are processor time of the kernel; pages that take more than a minute of it are named. Cells
that say `#| eval: false` or export are never executed and `#| slow` ones only by `slow`: they keep
the outputs they have.
"""

from __future__ import annotations

import argparse
import ast
import base64
import functools
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / 'nbs'
EXECUTED = ROOT / 'build' / 'executed'
TEMPLATE = ROOT / 'docs' / 'template.ipynb'
PACKAGE = 'extreme_opt'
STAMP = 'extreme_opt'  # key of the metadata that says which code the outputs belong to
LIMIT = 1200  # seconds that a notebook may take before it is stopped
REPORT = 60  # seconds of processor time above which a notebook is named

SHELVES = ('learn', 'use', 'engine', 'evidence')
FOLDERS = ('core', 'data', 'softmax', 'similarity', 'ordinal', 'bound', 'show', 'scale', 'lab')


# -------------------------------------------------------------------------------------------- files
def reading_order(relative: Path) -> tuple:
    "Sorts pages: the front page, then shelf by shelf, folder by folder, by number."
    folders = [
        (*SHELVES, *FOLDERS).index(part) if part in (*SHELVES, *FOLDERS) else 99
        for part in relative.parts[:-1]
    ]
    return relative.name != 'index.ipynb', folders, relative.parts


def find(names=()) -> list[Path]:
    """Notebooks in reading order that fit any of `names` (all without names); a name that fits none
    is an error."""
    root = NBS
    every = sorted(
        path
        for path in root.rglob('*.ipynb')
        if not any(part.startswith(('.', '_')) for part in path.relative_to(root).parts)
    )
    every.sort(key=lambda path: reading_order(path.relative_to(root)))
    if not names:
        return every
    chosen = []
    for name in names:
        fits = [path for path in every if _fits(path.relative_to(root), name)]
        if not fits:
            raise SystemExit(
                f'no notebook fits {name!r}; there are: '
                + ', '.join(str(path.relative_to(root).with_suffix('')) for path in every)
            )
        chosen += [path for path in fits if path not in chosen]
    return [path for path in every if path in chosen]


def _fits(relative: Path, name: str) -> bool:
    plain = [re.sub(r'^\d+_', '', part) for part in relative.with_suffix('').parts]
    parts, asked = list(relative.with_suffix('').parts), Path(name.removesuffix('.ipynb')).parts
    if asked[:1] == ('nbs',):
        asked = asked[1:]
    if not asked or asked == ('.',):
        return True
    wanted = [re.sub(r'^\d+_', '', part) if not re.match(r'\d+_', part) else part for part in asked]
    for have in (parts, plain):
        for start in range(len(have) - len(wanted) + 1):
            if have[start : start + len(wanted)] == wanted:
                return True
    absolute = Path(name).absolute()
    return absolute == (NBS / relative) or absolute in (NBS / relative).parents


def read(path: Path) -> dict:
    return json.loads(Path(path).read_text(encoding='utf-8'))


def write(notebook: dict, path: Path) -> bool:
    "Write as nbdev does; say whether the file changed."
    from fastcore.nbio import nb2str

    text = nb2str(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding='utf-8') == text:
        return False
    path.write_text(text, encoding='utf-8', newline='\n')
    return True


def source(cell: dict) -> str:
    return cell['source'] if isinstance(cell['source'], str) else ''.join(cell['source'])


def directives(cell: dict) -> dict[str, str]:
    "The `#| name: value` lines at the top of a code cell."
    found = {}
    for line in source(cell).splitlines():
        if not line.strip():
            continue
        match = re.match(r'#\s*\|\s*([\w-]+)\s*:?\s*(.*)', line.strip())
        if not match:
            break
        found[match[1]] = match[2].strip()
    return found


def is_skipped(cell: dict, slow: bool = False) -> bool:
    "Whether the runner leaves this code cell alone and keeps the outputs it has."
    flags = directives(cell)
    return (
        flags.get('eval', '').lower() == 'false'
        or ('slow' in flags and not slow)
        or 'nbdev_export()' in source(cell)
    )


def has_slow(notebook: dict) -> bool:
    return any(
        cell['cell_type'] == 'code' and 'slow' in directives(cell) for cell in notebook['cells']
    )


# ---------------------------------------------------------------------------------------- execution
class Failure(Exception):
    "A notebook that did not run; the message names notebook, cell and error on one line."


def environment(draft: bool = False) -> dict[str, str]:
    """What a kernel sees beside the caller's environment: this tree's package, pinned threads,
    fixed hashes, and whether figures may be drafts."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get('PYTHONPATH', '')) if part)
    return dict(
        PYTHONPATH=path,
        PYTHONSTARTUP=str(ROOT / 'docs' / 'style.py'),
        PYTHONHASHSEED='0',
        MPLBACKEND='module://matplotlib_inline.backend_inline',
        OMP_NUM_THREADS='1',
        OPENBLAS_NUM_THREADS='1',
        MKL_NUM_THREADS='1',
        VECLIB_MAXIMUM_THREADS='1',
        NUMBA_NUM_THREADS='2',
        PYDEVD_DISABLE_FILE_VALIDATION='1',
        NBDEV_NO_SYNC='1',
        COLUMNS='100',
        EXTREME_OPT_DRAFT='1' * draft,
        IPYTHONDIR=str(_profile()),
        MPLCONFIGDIR=os.environ.get('MPLCONFIGDIR', str(_profile('mpl'))),
    )


def _profile(name: str = 'ipython') -> Path:
    "A folder of our own, so that no personal start-up file or style changes a page."
    folder = (
        Path(tempfile.gettempdir())
        / f'extreme_opt-{name}-{os.getuid() if hasattr(os, "getuid") else "user"}'
    )
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def _client(notebook, path: Path, slow: bool, limit: float, draft: bool):
    import kernels
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from nbclient import NotebookClient

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            words = [sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}']
            words += ['--HistoryManager.enabled=False', '--Application.log_level=40']
            names = dict(display_name='python3', language='python')
            return KernelSpec(argv=words, env=environment(draft), **names)

    class Manager(AsyncKernelManager):
        def __init__(self, **kwargs):
            super().__init__(**kwargs, kernel_spec_manager=ThisPython())
            self.provisioner = kernels.provisioner(self, self.kernel_spec)

    class Runner(NotebookClient):
        cell_index, cpu = -1, 0.0

        async def async_execute_cell(self, cell, cell_index, *args, **kwargs):
            self.cell_index = cell_index
            if cell.cell_type == 'code' and is_skipped(cell, slow):
                return cell
            try:
                return await super().async_execute_cell(cell, cell_index, *args, **kwargs)
            finally:
                self.cpu = (
                    max(self.cpu, _cpu_seconds(self.km.provisioner.pid)) if self.km else self.cpu
                )

    end = time.monotonic() + limit
    return Runner(
        notebook,
        kernel_manager_class=Manager,
        kernel_name='python3',
        store_widget_state=False,
        coalesce_streams=True,
        timeout_func=lambda cell: max(1, int(end - time.monotonic())),
        startup_timeout=120,
        resources={'metadata': {'path': str(path.parent)}},
    )


def _cpu_seconds(pid: int | None) -> float:
    """Processor time of a kernel and of the children that it has waited for; nothing where it is
    gone."""
    import psutil

    try:
        return sum(psutil.Process(pid).cpu_times()[:4])
    except (psutil.Error, TypeError):
        return 0.0


class Result(NamedTuple):
    notebook: dict  # executed and cleaned
    seconds: float  # wall time, kernel start included
    cpu: float  # processor time of the kernel


def execute(
    path: Path, slow=False, limit: float | None = None, then: str = '', draft: bool = False
) -> Result:
    """Execute a notebook in memory, in its own folder, and clean it; `then` is the code of one more
    cell; `draft`: only whether it runs matters, not how figures look. Raises `Failure`."""
    import nbformat
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    plain, start = read(path), time.monotonic()
    if then:
        more = dict(cell_type='code', metadata={}, execution_count=None, outputs=[])
        plain['cells'].append(dict(more, source=then.splitlines(keepends=True)))
    plain = fill_ids(plain)
    limit = limit or (12 * LIMIT if slow else LIMIT)
    plain['metadata'].pop('widgets', None)
    notebook = nbformat.reads(json.dumps(plain), as_version=4)
    runner = _client(notebook, path, slow, limit, draft)
    try:
        runner.execute()
    except CellExecutionError as error:
        raise Failure(
            f'{_place(path, runner, plain)}: {error.ename}: {_last_line(error.evalue)}'
        ) from None
    except CellTimeoutError:
        raise Failure(
            f'{_place(path, runner, plain)}: took longer than the {limit:.0f} s that a notebook may'
            ' take'
        ) from None
    except (DeadKernelError, RuntimeError) as error:
        raise Failure(
            f'{_place(path, runner, plain)}: {type(error).__name__}: {_last_line(str(error))}'
        ) from None
    if draft:
        return Result(plain, time.monotonic() - start, runner.cpu)
    done = json.loads(nbformat.writes(notebook))
    for cell, before in zip(done['cells'], plain['cells'], strict=True):
        cell['source'] = before['source']
        if cell['cell_type'] == 'code' and is_skipped(cell, slow):
            cell['outputs'] = before['outputs']
        for output in cell.get('outputs', []):
            keep_lean(output)
    stamp(clean(done), slow)
    return Result(done, time.monotonic() - start, runner.cpu)


def keep_lean(output: dict) -> None:
    """What a page needs of an output: a picture with a palette, which is a third as large, and of
    sliders what moves without a kernel."""
    from PIL import Image

    data = output.get('data', {})
    if 'text/html' in data:
        data.pop('application/vnd.jupyter.widget-view+json', None)
    if 'image/png' in data:
        full = Image.open(io.BytesIO(base64.b64decode(''.join(data['image/png']))))
        if full.mode != 'P':
            small = io.BytesIO()
            made = full.convert('RGB').quantize(colors=255, dither=Image.Dither.NONE)
            made.save(small, format='png', optimize=True)
            data['image/png'] = base64.b64encode(small.getvalue()).decode()


def _place(path: Path, runner, notebook: dict) -> str:
    if runner.cell_index < 0:
        return f'{path.relative_to(ROOT)}, before the first cell'
    return f'{path.relative_to(ROOT)}, {describe(notebook, runner.cell_index)}'


def describe(notebook: dict, index: int) -> str:
    "How messages name a cell: its number, its id, and the first line that is not a directive."
    cell = notebook['cells'][index]
    lines = [
        line.strip()
        for line in source(cell).splitlines()
        if line.strip() and not line.strip().startswith('#|')
    ]
    first = lines[0] if lines else ''
    return (
        f'cell {index + 1} #{cell.get("id", "?")} `{first[:60]}{"..." if len(first) > 60 else ""}`'
    )


def _last_line(text: str) -> str:
    lines = [
        line for line in re.sub(r'\x1b\[[0-9;]*m', '', text or '').splitlines() if line.strip()
    ]
    return lines[0][:400] if lines else '(no message)'


# ----------------------------------------------------------------------------------------- cleaning
def fill_ids(notebook: dict) -> dict:
    "Give every cell without an id of its own one that depends on its text alone."
    seen: set[str] = set()
    for cell in notebook['cells']:
        if 'id' not in cell or cell['id'] in seen:
            number, text = 0, f'{cell["cell_type"]}:{source(cell)}'
            while (name := hashlib.sha256(f'{text}:{number}'.encode()).hexdigest()[:8]) in seen:
                number += 1
            cell['id'] = name
        seen.add(cell['id'])
    return notebook


def clean(notebook: dict) -> dict:
    "Strip what is not content, as nbdev-clean does with this project's settings."
    from nbdev.clean import clean_nb
    from nbdev.config import get_config

    config = get_config(path=ROOT)
    fill_ids(notebook)
    clean_nb(
        notebook,
        allowed_metadata_keys=config.get('allowed_metadata_keys') or [],
        allowed_cell_metadata_keys=config.get('allowed_cell_metadata_keys') or [],
        allowed_out_metadata_keys=config.get('allowed_out_metadata_keys') or [],
        clean_ids=config.clean_ids,
    )
    notebook['metadata']['kernelspec'] = dict(
        display_name='python3', language='python', name='python3'
    )
    for cell in notebook['cells']:
        if isinstance(cell['source'], str):
            cell['source'] = cell['source'].splitlines(keepends=True)
        for output in cell.get('outputs', []):
            for holder, key in [(output, 'text')] + [
                (output.get('data', {}), key) for key in output.get('data', {})
            ]:
                value = holder.get(key)
                if isinstance(value, str) and (
                    key == 'text' or key.startswith('text/') or key == 'image/svg+xml'
                ):
                    holder[key] = value.splitlines(keepends=True)
    return notebook


# ------------------------------------------------------------------------------ are outputs current
def code_hash(notebook: dict, slow: bool = False) -> str:
    "Digest of the sources of the code cells that a plain run executes, or of the slow cells alone."
    cells = [cell for cell in notebook['cells'] if cell['cell_type'] == 'code']
    if slow:
        cells = [cell for cell in cells if is_skipped(cell) and not is_skipped(cell, slow=True)]
    else:
        cells = [cell for cell in cells if not is_skipped(cell)]
    return _digest([source(cell) for cell in cells])


def _digest(texts: list[str]) -> str:
    return hashlib.sha256('\0'.join(texts).encode()).hexdigest()[:16]


_PARSING = threading.Lock()  # Python 3.11 raises SystemError when two threads parse at once


@functools.lru_cache(maxsize=512)
def _parse(text: str) -> ast.Module:
    with _PARSING:
        return ast.parse(text)


def tree(text: str) -> ast.Module:
    "Code of a page, where a line for IPython does nothing."
    return _parse(re.sub(r'^(\s*)[%!].*', r'\1pass', text, flags=re.M))


def imported_modules(notebook: dict) -> list[str]:
    """Modules of the package that a notebook imports, and those which they import when they are
    loaded."""
    text = '\n'.join(source(cell) for cell in notebook['cells'] if cell['cell_type'] == 'code')
    found: set[str] = set()
    queue = _imports(ast.walk(tree(text)), '')
    while queue:
        name = queue.pop()
        if name in found or name.split('.')[0] != PACKAGE:
            continue
        path = module_file(name)
        if path is None:
            continue
        found.add(name)
        if '.' in name:
            queue.append(name.rpartition('.')[0])
        package = name if path.name == '__init__.py' else name.rpartition('.')[0]
        queue += _imports_of(path.read_text(encoding='utf-8'), package)
    return sorted(found)


def module_file(name: str) -> Path | None:
    stem = ROOT / name.replace('.', '/')
    return next(
        (path for path in (stem / '__init__.py', stem.with_suffix('.py')) if path.exists()), None
    )


@functools.lru_cache(maxsize=512)
def _imports_of(text: str, package: str) -> list[str]:
    return _imports(_module_level(_parse(text)), package)


def _module_level(tree: ast.AST):
    "The nodes of a module outside of functions."
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        yield node
        yield from _module_level(node)


def _imports(nodes, package: str) -> list[str]:
    "Names of modules that import statements may mean."
    names = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split('.')
            base = '.'.join(parts[: len(parts) - node.level + 1]) if node.level else ''
            module = '.'.join(part for part in (base, node.module) if part)
            names += [module, *(f'{module}.{alias.name}' for alias in node.names)]
    return names


@functools.lru_cache(maxsize=512)
def _meaning(text: str) -> str:
    "Digest of a module without comments and docstrings."
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
    return _digest([ast.dump(tree)])


def package_hash(notebook: dict) -> str:
    """Digest of the modules of the package that a notebook imports; comments and docstrings do not
    count."""
    texts = []
    for name in imported_modules(notebook):
        with _PARSING:
            texts += [name, _meaning(module_file(name).read_text(encoding='utf-8'))]
    return _digest(texts)


def stamp(notebook: dict, slow: bool = False) -> dict:
    "Store in the metadata which code the outputs of a notebook belong to."
    kept = notebook['metadata'].get(STAMP, {})
    told = dict(code=code_hash(notebook), package=package_hash(notebook))
    if has_slow(notebook):
        if slow:
            told['slow'] = code_hash(notebook, slow=True)
        elif 'slow' in kept:
            told['slow'] = kept['slow']
    notebook['metadata'][STAMP] = told
    return notebook


def stale(notebook: dict) -> str:
    """Why the outputs of a notebook are not those of its code cells; nothing where they are.
    Nothing is executed."""
    told = notebook['metadata'].get(STAMP, {})
    if not told:
        return 'was never refreshed'
    if told.get('code') != code_hash(notebook):
        return 'has code that is newer than its outputs'
    if 'slow' in told and told['slow'] != code_hash(notebook, slow=True):
        return 'has slow cells that are newer than their outputs'
    return ''


def is_older(notebook: dict) -> bool:
    "Whether the modules that a notebook imports have changed since it was refreshed."
    return notebook['metadata'].get(STAMP, {}).get('package') != package_hash(notebook)


def named_modules(code: ast.Module, package: str = '') -> set[str]:
    """Modules of the package that the import statements of some code name, those included that
    define what it takes from a package."""
    found = set()
    for name in _imports(ast.walk(code), package):
        package_of, _, last = name.rpartition('.')
        if module_file(name):
            found.add(name)
        elif module_file(package_of) and module_file(package_of).name == '__init__.py':
            for node in ast.walk(_parse(module_file(package_of).read_text(encoding='utf-8'))):
                if isinstance(node, ast.ImportFrom) and last in {one.name for one in node.names}:
                    found.add(f'{package_of}.{node.module}' if node.level else node.module)
    return found


@functools.lru_cache(maxsize=512)
def _named_by(module: str) -> frozenset[str]:
    "Modules that one of the package names; none for what holds the names of a package."
    path = module_file(module)
    if path is None or path.name == '__init__.py':
        return frozenset()
    code = _parse(path.read_text(encoding='utf-8'))
    return frozenset(named_modules(code, module.rpartition('.')[0]))


def reached(text: str) -> set[str]:
    "Modules of the package that some code names, and those that these name, wherever they do."
    known, more = set[str](), named_modules(_parse(text))
    while more:
        known |= more
        more = {two for one in more for two in _named_by(one)} - known
    return known


def changed(base: str = 'HEAD') -> list[Path]:
    """Notebooks whose code cells differ from those of a git commit, and those that import by name a
    module that differs."""

    def git(*words):
        done = subprocess.run(
            ['git', *words], cwd=ROOT, capture_output=True, text=True, encoding='utf-8'
        )
        return done.stdout if done.returncode == 0 else None

    if git('rev-parse', '--verify', '--quiet', base) is None:
        raise SystemExit(
            f'git does not know {base!r} here, so what changed since is not known; name the'
            ' notebooks instead'
        )
    where = [base, '--', PACKAGE, 'nbs']
    names = (git('diff', '--no-ext-diff', '--name-only', '--relative', *where) or '').splitlines()
    names += (git('ls-files', '--others', '--exclude-standard', *where[1:]) or '').splitlines()
    modules = {name.removesuffix('.py').replace('/', '.') for name in names if name[-3:] == '.py'}
    packages = {(name.split('.') + [''])[1] for name in modules}

    def differs(path):
        name = path.relative_to(ROOT).as_posix()
        if name not in names and not modules:
            return False
        old, page = git('show', f'{base}:./{name}') if name in names else '', read(path)
        if old is None or old and code_hash(json.loads(old)) != code_hash(page):
            return True
        text = '\n'.join(source(cell) for cell in page['cells'] if cell['cell_type'] == 'code')
        return any(one in text for one in packages) and bool(modules & named_modules(tree(text)))

    return [path for path in find() if differs(path)]


def differences(old: dict, new: dict) -> list[str]:
    """How the outputs of two runs of the same cells differ, one line a cell: a report, not a
    judgment."""
    said = []
    for index, (before, after) in enumerate(zip(old['cells'], new['cells'], strict=True)):
        if before['cell_type'] != 'code' or before['outputs'] == after['outputs']:
            continue
        shown = [[_shown(output) for output in cell['outputs']] for cell in (before, after)]
        pair = next((pair for pair in zip(*shown, strict=False) if pair[0] != pair[1]), None)
        what = (
            f'was {pair[0]}, now {pair[1]}'
            if pair
            else f'had {len(shown[0])} outputs, now {len(shown[1])}'
            if len(shown[0]) != len(shown[1])
            else 'other pictures'
        )
        lines = [text.splitlines() for text in pair] if pair else []
        if pair and len(lines[0]) == len(lines[1]):
            first = next(row for row in zip(*lines, strict=True) if row[0] != row[1])
            what = f'was {first[0][:100]!r}, now {first[1][:100]!r}'
        said.append(f'{describe(old, index)}: {what[:240]}')
    return said


def _shown(output: dict) -> str:
    "The text of an output, or what stands in its place."
    if 'text' in output:
        return ''.join(output['text'])
    data = output.get('data', {})
    text = next(
        (data[mime] for mime in ('text/html', 'text/markdown', 'text/plain') if mime in data),
        sorted(data),
    )
    return re.sub(r'data:image/\w+;base64,[A-Za-z0-9+/=\s]+', 'picture', ''.join(text))


# ----------------------------------------------------------------------------------------- commands
def _each(paths: list[Path], work, workers: int) -> int:
    """Call `work(path) -> (cpu seconds, what to say)` for each notebook, print a line each, then
    the slowest; the number that failed."""
    cpu, failures, begin = {}, [], time.monotonic()

    def one(path):
        try:
            cpu[path], said = work(path)
        except Failure as failure:
            failures.append(str(failure))
            print(f'FAILED {failure}', flush=True)
        else:
            print(f'{cpu[path]:6.1f} s  {path.relative_to(ROOT)}  {said}', flush=True)

    with ThreadPoolExecutor(max(1, workers)) as pool:
        list(pool.map(one, paths))
    slowest = sorted(cpu, key=lambda path: -cpu[path])[:10]
    if len(paths) > 1:
        print(
            f'\n{len(paths)} notebooks: {sum(cpu.values()):.0f} s of processor time,'
            f' {time.monotonic() - begin:.0f} s by the clock; the slowest:'
        )
        for path in slowest:
            print(f'{cpu[path]:6.1f} s  {path.relative_to(ROOT)}')
    for path in slowest:
        if cpu[path] > REPORT:
            print(f'NOTE {slow_note(path, cpu[path])}')
    if failures:
        print(f'\n{len(failures)} of {len(paths)} notebooks failed:')
        for line in failures:
            print(f'  {line}')
    return len(failures)


def slow_note(path: Path, cpu: float) -> str:
    return (
        f'{path.relative_to(ROOT)} took {cpu:.0f} s of processor time; pages aim at less than'
        f' {REPORT} s'
    )


def refresh(names, workers: int = 1, slow: bool = False) -> int:
    def work(path):
        result, old = execute(path, slow), read(path)
        said = differences(old, result.notebook)
        write(result.notebook, path)
        return result.cpu, '\n'.join(
            [f'{len(said)} outputs differ', *(f'          {line}' for line in said)]
        ) if said else 'outputs as they were'

    return _each([path for path in find(names) if not slow or has_slow(read(path))], work, workers)


def run(paths: list[Path], out: Path | None, workers: int = 1, reuse: bool = False) -> int:
    """Execute notebooks into a folder, or without one as drafts that are not kept; with `reuse`
    those whose executed copy there belongs to this code and package are left."""

    def current(path):
        if not (reuse and out is not None and (out / path.relative_to(NBS)).exists()):
            return False
        there = out / path.relative_to(NBS)
        done = read(there)
        sources = [[source(cell) for cell in book['cells']] for book in (done, read(path))]
        return sources[0] == sources[1] and not stale(done) and not is_older(done)

    def work(path):
        result = execute(path, draft=out is None)
        if out is not None:
            write(result.notebook, out / path.relative_to(NBS))
        return result.cpu, 'ran'

    todo = [path for path in paths if not current(path)]
    if len(todo) < len(paths):
        print(f'{len(paths) - len(todo)} of {len(paths)} notebooks stand executed in {out}')
    failed = _each(todo, work, workers)
    if out is not None or not paths:
        print(f'executed notebooks: {out}' if paths else 'no notebook to run')
    return failed


def status(names) -> int:
    "List outputs that are older than the code; the number of pages whose own code is newer."
    behind = 0
    for path in find(names):
        book = read(path)
        said = stale(book)
        behind += bool(said)
        if said:
            print(f'{path.relative_to(ROOT)} {said}; run: make refresh name={path.stem}')
        elif is_older(book):
            print(f'{path.relative_to(ROOT)} is older than the modules that it imports')
    return behind


def stamp_all(names) -> int:
    for path in find(names):
        if write(clean(stamp(read(path), slow=True)), path):
            print(f'stamped {path.relative_to(ROOT)}')
    return 0


def clean_all(names) -> int:
    for path in find(names):
        if write(clean(read(path)), path):
            print(f'cleaned {path.relative_to(ROOT)}')
    return 0


def export() -> int:
    """Write the package by nbdev. A module that comes out as it was keeps its time: Sphinx would
    write all pages of the reference again."""
    before = {path: (path.read_bytes(), path.stat()) for path in (ROOT / PACKAGE).rglob('*.py')}
    code = subprocess.run(['nbdev-export'], cwd=ROOT).returncode
    for path, (content, told) in before.items():
        if path.exists() and path.read_bytes() == content:
            os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
    return code


def new(name: str) -> Path:
    "Write a page from the template of the style guide; refuses to overwrite."
    parts = Path(name.removesuffix('.ipynb').removeprefix('nbs/')).parts
    if (
        len(parts) != 3
        or parts[0] not in SHELVES
        or not re.fullmatch(r'[a-z][a-z0-9_]*', parts[1])
        or not re.fullmatch(r'\d\d_[a-z][a-z0-9_]*', parts[2])
    ):
        raise SystemExit(
            f'{name!r} is no page name; expected shelf/chapter/idea with a number for the order, '
            f'such as learn/ordinal/45_momentum; shelves are {", ".join(SHELVES)}'
        )
    path = NBS.joinpath(*parts).with_suffix('.ipynb')
    if path.exists():
        raise SystemExit(f'{path.relative_to(ROOT)} exists already and is left as it is')
    chapter, idea = parts[1], re.sub(r'^\d+_', '', parts[2])
    notebook = read(TEMPLATE)
    words = dict(
        TITLE=idea.replace('_', ' ').capitalize(), MODULE=f'{chapter}.{idea}', CHAPTER=chapter
    )
    for cell in notebook['cells']:
        text = re.sub('|'.join(words), lambda m: words[m[0]], source(cell))
        if parts[0] in ('use', 'evidence'):  # these export nothing
            text = re.sub(r'^#\| (default_exp|export).*\n?', '', text, flags=re.M)
        cell['source'] = text.splitlines(keepends=True)
        del cell['id']
    notebook['cells'] = [cell for cell in notebook['cells'] if cell['source']]
    write(clean(notebook), path)
    return path


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        prog='docs/notebooks.py',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest='command', required=True)
    for name in ('refresh', 'run', 'slow', 'status', 'stamp', 'clean'):
        command = commands.add_parser(name)
        command.add_argument('names', nargs='*', metavar='NAME')
        if name in ('refresh', 'run', 'slow'):
            command.add_argument(
                '--workers',
                type=int,
                default=os.cpu_count() or 1,
                help='notebooks at a time (one a processor)',
            )
        if name == 'run':
            command.add_argument('--out', type=Path, default=EXECUTED)
            command.add_argument(
                '--changed',
                action='store_true',
                help='only those whose code, or a module they name, differs from HEAD',
            )
            command.add_argument(
                '--draft', action='store_true', help='only to see whether they run; nothing is kept'
            )
            command.add_argument(
                '--reuse',
                action='store_true',
                help='leave those whose executed copy belongs to this code',
            )
    commands.add_parser('new').add_argument('name', metavar='NAME')
    commands.add_parser('export')
    given = parser.parse_args(argv)
    if given.command == 'export':
        return export()
    if given.command == 'new':
        print(f'wrote {new(given.name).relative_to(ROOT)}')
        return 0
    if given.command == 'clean':
        return clean_all(given.names)
    if given.command == 'stamp':
        return stamp_all(given.names)
    if given.command == 'status':
        return 1 if status(given.names) else 0
    if given.command == 'run':
        paths = changed() if given.changed else find(given.names)
        out = None if given.draft else given.out.absolute()
        failed = run(paths, out, given.workers, given.reuse)
    else:
        failed = refresh(given.names, given.workers, slow=given.command == 'slow')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
