"""Runs, refreshes and checks the notebooks under nbs/.

    python docs/notebooks.py refresh [NAME ...]    execute in place and clean; a second run changes no byte
    python docs/notebooks.py run [NAME ...]        execute into build/executed, leave nbs/ alone
    python docs/notebooks.py check [NAME ...]      execute in memory and compare with what is committed
    python docs/notebooks.py slow [NAME ...]       refresh those with slow cells, slow cells included
    python docs/notebooks.py clean [NAME ...]      strip what is not content, as nbdev-clean does
    python docs/notebooks.py new NAME              start a page, e.g. 40_ordinal/45_momentum

NAME is a stem (30_umax or umax), a folder (20_softmax) or a path; without one, every notebook.
Cells that say `#| eval: false` or export are never executed and `#| slow` ones only by `slow`: they keep the outputs they have.
"""
from __future__ import annotations

import argparse
import base64
import copy
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT/'nbs'
LIMIT = 600            # seconds a notebook may take
REPORT = 60            # seconds above which a notebook is named
RELATIVE = 1e-6        # numbers in text
PIXELS = .01           # mean pixel difference, of full scale
VIEW, STATE = 'application/vnd.jupyter.widget-view+json', 'application/vnd.jupyter.widget-state+json'


# ---------------------------------------------------------------------------------------------- files
def find(names=()) -> list[Path]:
    "Notebooks in reading order that fit any of `names` (all without names); a name that fits none is an error."
    root = NBS
    every = sorted(path for path in root.rglob('*.ipynb')
                   if not any(part.startswith(('.', '_')) for part in path.relative_to(root).parts))
    every.sort(key=lambda path: (path != root/'index.ipynb', path.relative_to(root).parts))
    if not names: return every
    chosen = []
    for name in names:
        fits = [path for path in every if _fits(path.relative_to(root), name)]
        if not fits:
            raise SystemExit(f'no notebook fits {name!r}; there are: '
                             + ', '.join(str(path.relative_to(root).with_suffix('')) for path in every))
        chosen += [path for path in fits if path not in chosen]
    return [path for path in every if path in chosen]


def _fits(relative: Path, name: str) -> bool:
    plain = [re.sub(r'^\d+_', '', part) for part in relative.with_suffix('').parts]
    parts, asked = list(relative.with_suffix('').parts), Path(name.removesuffix('.ipynb')).parts
    if asked[:1] == ('nbs',): asked = asked[1:]
    if not asked or asked == ('.',): return True
    wanted = [re.sub(r'^\d+_', '', part) if not re.match(r'\d+_', part) else part for part in asked]
    for have in (parts, plain):
        for start in range(len(have) - len(wanted) + 1):
            if have[start:start + len(wanted)] == wanted: return True
    absolute = Path(name).absolute()
    return absolute == (NBS/relative) or absolute in (NBS/relative).parents


def read(path: Path) -> dict:
    return json.loads(Path(path).read_text(encoding='utf-8'))


def write(notebook: dict, path: Path) -> bool:
    "Write as nbdev does; say whether the file changed."
    from fastcore.nbio import nb2str
    text = nb2str(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding='utf-8') == text: return False
    path.write_text(text, encoding='utf-8', newline='\n')
    return True


def source(cell: dict) -> str:
    return cell['source'] if isinstance(cell['source'], str) else ''.join(cell['source'])


def directives(cell: dict) -> dict[str, str]:
    "The `#| name: value` lines at the top of a code cell."
    found = {}
    for line in source(cell).splitlines():
        if not line.strip(): continue
        match = re.match(r'#\s*\|\s*([\w-]+)\s*:?\s*(.*)', line.strip())
        if not match: break
        found[match[1]] = match[2].strip()
    return found


def is_skipped(cell: dict, slow: bool = False) -> bool:
    "Whether the runner leaves this code cell alone and keeps the outputs it has."
    flags = directives(cell)
    return flags.get('eval', '').lower() == 'false' or ('slow' in flags and not slow) or 'nbdev_export()' in source(cell)


def has_slow(notebook: dict) -> bool:
    return any(cell['cell_type'] == 'code' and 'slow' in directives(cell) for cell in notebook['cells'])


# ------------------------------------------------------------------------------------------ execution
class Failure(Exception):
    "A notebook that did not run; the message names notebook, cell and error on one line."


def environment() -> dict[str, str]:
    "What a kernel sees beside the caller's environment: this tree's package, pinned threads, fixed hashes."
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get('PYTHONPATH', '')) if part)
    return dict(PYTHONPATH=path, PYTHONHASHSEED='0', MPLBACKEND='module://matplotlib_inline.backend_inline',
                OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1', MKL_NUM_THREADS='1', VECLIB_MAXIMUM_THREADS='1',
                NUMBA_NUM_THREADS='2', PYDEVD_DISABLE_FILE_VALIDATION='1', NBDEV_NO_SYNC='1', COLUMNS='100',
                IPYTHONDIR=str(_profile()), MPLCONFIGDIR=os.environ.get('MPLCONFIGDIR', str(_profile('mpl'))))


def _profile(name: str = 'ipython') -> Path:
    "A folder of our own, so that no personal start-up file or style changes a page."
    folder = Path(tempfile.gettempdir())/f'extreme_opt-{name}-{os.getuid() if hasattr(os, "getuid") else "user"}'
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def _client(notebook, path: Path, slow: bool, limit: float):
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from nbclient import NotebookClient

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            return KernelSpec(argv=[sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}',
                                    '--HistoryManager.enabled=False', '--Application.log_level=40'],
                              display_name='python3', language='python', env=environment())

    class Manager(AsyncKernelManager):
        def __init__(self, **kwargs): super().__init__(**kwargs, kernel_spec_manager=ThisPython())

    class Runner(NotebookClient):
        cell_index = -1

        async def async_execute_cell(self, cell, cell_index, *args, **kwargs):
            self.cell_index = cell_index
            if cell.cell_type == 'code' and is_skipped(cell, slow): return cell
            return await super().async_execute_cell(cell, cell_index, *args, **kwargs)

    end = time.monotonic() + limit
    return Runner(notebook, kernel_manager_class=Manager, kernel_name='python3', store_widget_state=True, coalesce_streams=True,
                  timeout_func=lambda cell: max(1, int(end - time.monotonic())), startup_timeout=120,
                  resources={'metadata': {'path': str(path.parent)}})


class Result(NamedTuple):
    notebook: dict        # executed and cleaned
    seconds: float        # wall time, kernel start included


def execute(path: Path, slow: bool = False, limit: float | None = None) -> Result:
    "Execute a notebook in memory, in its own folder, and clean it; raises `Failure`."
    import nbformat
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    plain, start = fill_ids(read(path)), time.monotonic()
    limit = limit or (12 * LIMIT if slow else LIMIT)
    old_state = plain.get('metadata', {}).get('widgets', {}).get(STATE, {}).get('state', {})
    plain['metadata'].pop('widgets', None)
    notebook = nbformat.reads(json.dumps(plain), as_version=4)
    runner = _client(notebook, path, slow, limit)
    try: runner.execute()
    except CellExecutionError as error:
        raise Failure(f'{_place(path, runner, plain)}: {error.ename}: {_last_line(error.evalue)}') from None
    except CellTimeoutError:
        raise Failure(f'{_place(path, runner, plain)}: took longer than the {limit:.0f} s that a notebook may take') from None
    except (DeadKernelError, RuntimeError) as error:
        raise Failure(f'{_place(path, runner, plain)}: {type(error).__name__}: {_last_line(str(error))}') from None
    _keep_widgets(notebook, old_state, slow)
    number_widgets(notebook)             # while the models still stand in the order of their creation
    done = json.loads(nbformat.writes(notebook))
    for cell, before in zip(done['cells'], plain['cells'], strict=True):
        cell['source'] = before['source']
        if cell['cell_type'] == 'code' and is_skipped(cell, slow) and VIEW not in json.dumps(before['outputs']):
            cell['outputs'] = before['outputs']
    clean(done)
    return Result(done, time.monotonic() - start)


def _place(path: Path, runner, notebook: dict) -> str:
    if runner.cell_index < 0: return f'{path.relative_to(ROOT)}, before the first cell'
    return f'{path.relative_to(ROOT)}, {describe(notebook, runner.cell_index)}'


def describe(notebook: dict, index: int) -> str:
    "How messages name a cell: its number, its id, and the first line that is not a directive."
    cell = notebook['cells'][index]
    lines = [line.strip() for line in source(cell).splitlines() if line.strip() and not line.strip().startswith('#|')]
    first = lines[0] if lines else ''
    return f'cell {index + 1} #{cell.get("id", "?")} `{first[:60]}{"..." if len(first) > 60 else ""}`'


def _last_line(text: str) -> str:
    lines = [line for line in re.sub(r'\x1b\[[0-9;]*m', '', text or '').splitlines() if line.strip()]
    return lines[0][:400] if lines else '(no message)'


# -------------------------------------------------------------------------------------------- cleaning
def fill_ids(notebook: dict) -> dict:
    "Give every cell without an id of its own one that depends on its text alone."
    seen: set[str] = set()
    for cell in notebook['cells']:
        if 'id' not in cell or cell['id'] in seen:
            number, text = 0, f'{cell["cell_type"]}:{source(cell)}'
            while (name := hashlib.sha256(f'{text}:{number}'.encode()).hexdigest()[:8]) in seen: number += 1
            cell['id'] = name
        seen.add(cell['id'])
    return notebook


def clean(notebook: dict) -> dict:
    "Strip what is not content, as nbdev-clean does with this project's settings."
    from nbdev.clean import clean_nb
    from nbdev.config import get_config
    config = get_config(path=ROOT)
    fill_ids(notebook)
    clean_nb(notebook, allowed_metadata_keys=config.get('allowed_metadata_keys') or [],
             allowed_cell_metadata_keys=config.get('allowed_cell_metadata_keys') or [],
             allowed_out_metadata_keys=config.get('allowed_out_metadata_keys') or [], clean_ids=config.clean_ids)
    notebook['metadata']['kernelspec'] = dict(display_name='python3', language='python', name='python3')
    for cell in notebook['cells']:
        if isinstance(cell['source'], str): cell['source'] = cell['source'].splitlines(keepends=True)
        for output in cell.get('outputs', []):
            for holder, key in [(output, 'text')] + [(output.get('data', {}), key) for key in output.get('data', {})]:
                value = holder.get(key)
                if isinstance(value, str) and (key == 'text' or key.startswith('text/') or key == 'image/svg+xml'):
                    holder[key] = value.splitlines(keepends=True)
    return notebook


def _keep_widgets(notebook, old_state: dict, slow: bool) -> None:
    "Carry the saved widgets of cells that were not executed over to the new widget state."
    kept = json.dumps([cell.outputs for cell in notebook.cells if cell.cell_type == 'code' and is_skipped(cell, slow)])
    if VIEW not in kept or not old_state: return
    rename = {name: f'kept-{name}' for name in old_state}
    for cell in notebook.cells:
        if cell.cell_type != 'code' or not is_skipped(cell, slow): continue
        for output in cell.outputs:
            view = output.get('data', {}).get(VIEW)
            if view: view['model_id'] = rename.get(view['model_id'], view['model_id'])
    carried = {rename[name]: _rename(copy.deepcopy(model), rename) for name, model in old_state.items()}
    widgets = notebook.metadata.setdefault('widgets', {}).setdefault(
        STATE, {'state': {}, 'version_major': 2, 'version_minor': 0})
    widgets['state'].update(carried)


def _rename(value, names: dict[str, str]):
    "`value` with every `IPY_MODEL_id` renamed."
    if isinstance(value, dict): return {key: _rename(part, names) for key, part in value.items()}
    if isinstance(value, list): return [_rename(part, names) for part in value]
    if isinstance(value, str) and value.startswith('IPY_MODEL_'):
        return 'IPY_MODEL_' + names.get(value[10:], value[10:])
    return value


def _references(value) -> list[str]:
    "Ids of the widget models that `value` mentions, in order."
    if isinstance(value, dict): return [name for key in sorted(value) for name in _references(value[key])]
    if isinstance(value, list): return [name for part in value for name in _references(part)]
    if isinstance(value, str) and value.startswith('IPY_MODEL_'): return [value[10:]]
    return []


def reach(state: dict, start: str) -> list[str]:
    "Models that a view needs, depth first in order of appearance."
    found: list[str] = []
    def visit(name):
        if name in found or name not in state: return
        found.append(name)
        for other in _references(state[name]['state']): visit(other)
    visit(start)
    return found


def number_widgets(notebook: dict) -> None:
    "Rename widget models to running numbers in order of appearance and drop those that no page shows."
    widgets = notebook['metadata'].get('widgets', {}).get(STATE)
    views = [output['data'][VIEW] for cell in notebook['cells'] for output in cell.get('outputs', [])
             if VIEW in output.get('data', {})]
    if not widgets: return
    if not views:
        del notebook['metadata']['widgets']
        return
    state, order = widgets['state'], []
    for view in views: order += [name for name in reach(state, view['model_id']) if name not in order]
    grew = True
    while grew:   # links point at widgets, nothing points at links
        grew = False
        for name, model in state.items():
            if name not in order and 'Link' in model['model_name'] and set(_references(model['state'])) & set(order):
                order += [other for other in reach(state, name) if other not in order]
                grew = True
    names = {name: f'{number:032x}' for number, name in enumerate(order, 1)}
    for view in views: view['model_id'] = names.get(view['model_id'], view['model_id'])
    widgets['state'] = {names[name]: _rename(state[name], names) for name in order}


# ------------------------------------------------------------------------------------------ comparison
NUMBER = re.compile(r'(?<![\w.])[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?')


def _unit(text: str) -> float | None:
    "Worth of the last printed decimal of a number that carries a decimal point."
    match = re.fullmatch(r'[-+]?\d*\.(\d*)(?:[eE]([-+]?\d+))?', text.replace('_', ''))
    return 10. ** (int(match[2] or 0) - len(match[1])) if match and match[1] else None


def same_number(one: str, two: str) -> bool:
    if one == two: return True
    left, right = float(one.replace('_', '')), float(two.replace('_', ''))
    units = [unit for unit in (_unit(one), _unit(two)) if unit is not None]
    slack = max(RELATIVE * max(abs(left), abs(right)), 1.001 * min(units) if units else 0.)
    return abs(left - right) <= slack


def compare_text(old: str, new: str) -> str | None:
    "None where two texts agree up to white space and tolerated numbers, otherwise the first difference."
    if old == new: return None
    pieces = [NUMBER.split(text) for text in (old, new)], [NUMBER.findall(text) for text in (old, new)]
    words = [[' '.join(part.split()) for part in parts] for parts in pieces[0]]
    if words[0] != words[1]:
        rows = [[' '.join(line.split()) for line in text.splitlines()] for text in (old, new)]
        for before, after in zip(rows[0], rows[1], strict=False):
            if before != after: return f'committed {before[:100]!r}, now {after[:100]!r}'
        return f'committed has {len(rows[0])} lines, now {len(rows[1])}'
    for before, after in zip(*pieces[1], strict=True):
        if not same_number(before, after): return f'committed {before}, now {after}'
    return None


def _pixels(data: str | bytes):
    import numpy as np
    from PIL import Image
    raw = base64.b64decode(data) if isinstance(data, str) else data
    with Image.open(io.BytesIO(raw)) as picture: return np.asarray(picture.convert('RGB'), dtype=float)


def compare_pictures(old: str | bytes, new: str | bytes, slack: float = PIXELS) -> str | None:
    "None where two pictures agree to 1 % of the scale in the mean; their sizes may differ by three pixels."
    if old == new: return None
    import numpy as np
    left, right = _pixels(old), _pixels(new)
    if max(abs(left.shape[axis] - right.shape[axis]) for axis in (0, 1)) > 3:
        return f'picture was {left.shape[1]}x{left.shape[0]}, now {right.shape[1]}x{right.shape[0]}'
    height, width = (min(left.shape[axis], right.shape[axis]) for axis in (0, 1))
    apart = np.abs(left[:height, :width] - right[:height, :width]).mean() / 255
    return f'pictures differ by {apart:.1%} in the mean, {slack:.0%} is allowed' if apart > slack else None


def _join(value) -> str:
    return ''.join(value) if isinstance(value, list) else value


def _compare_html(old: str, new: str) -> str | None:
    "As text, with pictures inside taken out and compared as pictures."
    inside = re.compile(r'data:image/(?:png|jpeg);base64,([A-Za-z0-9+/=\s]+)')
    for before, after in zip(inside.findall(old), inside.findall(new), strict=False):
        if (said := compare_pictures(before, after)): return said
    return compare_text(inside.sub('picture', old), inside.sub('picture', new))


def _compare_data(old: Any, new: Any, where: str = '') -> str | None:
    "Deep comparison of what JSON can hold."
    if isinstance(old, dict) and isinstance(new, dict):
        if set(old) != set(new): return f'{where or "data"} has other keys: {sorted(set(old) ^ set(new))}'
        pairs = [(old[key], new[key], f'{where}.{key}'.strip('.')) for key in sorted(old)]
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new): return f'{where or "data"} had {len(old)} entries, now {len(new)}'
        pairs = [(before, after, f'{where}[{i}]') for i, (before, after) in enumerate(zip(old, new, strict=True))]
    elif isinstance(old, str) and isinstance(new, str):
        said = compare_text(old, new)
        return f'{where}: {said}' if said else None
    elif isinstance(old, (int, float)) and isinstance(new, (int, float)) and not isinstance(old, bool):
        if abs(old - new) <= RELATIVE * max(abs(old), abs(new)): return None
        return f'{where}: committed {old!r}, now {new!r}'
    else: return None if old == new else f'{where}: committed {old!r}, now {new!r}'
    return next((said for before, after, place in pairs if (said := _compare_data(before, after, place))), None)


def _compare_widgets(old: dict, new: dict, views: tuple[str, str], slack: float = PIXELS) -> str | None:
    "Two widget trees: the same models joined the same way, with the same values and pictures."
    orders = reach(old, views[0]), reach(new, views[1])
    if len(orders[0]) != len(orders[1]): return f'widget had {len(orders[0])} models, now {len(orders[1])}'
    names = [{name: str(i) for i, name in enumerate(order)} for order in orders]
    for first, second in zip(*orders, strict=True):
        before, after = old[first], new[second]
        if before['model_name'] != after['model_name']:
            return f'widget {before["model_name"]} is now {after["model_name"]}'
        said = _compare_data(_rename(before['state'], names[0]), _rename(after['state'], names[1]), before['model_name'])
        if said: return said
        buffers = [model.get('buffers', []) for model in (before, after)]
        if len(buffers[0]) != len(buffers[1]): return f'{before["model_name"]} holds other buffers'
        for one, two in zip(*buffers, strict=True):
            if one['data'] == two['data']: continue
            said = compare_pictures(one['data'], two['data'], slack) if before['model_name'] == 'ImageModel' else 'other bytes'
            if said: return f'{before["model_name"]}: {said}'
    return None


def _links(notebook: dict) -> int:
    state = notebook['metadata'].get('widgets', {}).get(STATE, {}).get('state', {})
    return sum('Link' in model['model_name'] for model in state.values())


def compare(old: dict, new: dict, slow: bool = False) -> list[str]:
    "What differs between a committed notebook and the same one executed now, one line each."
    said, states = [], [book['metadata'].get('widgets', {}).get(STATE, {}).get('state', {}) for book in (old, new)]
    for index, (before, after) in enumerate(zip(old['cells'], new['cells'], strict=True)):
        if before['cell_type'] != 'code' or is_skipped(before, slow): continue
        slack = float(directives(before).get('picture-slack', PIXELS))      # more where a path of choices hangs on the last digit
        difference = _compare_outputs(before['outputs'], after['outputs'], states, slack)
        if difference: said.append(f'{describe(old, index)}: {difference}')
    if _links(old) != _links(new): said.append(f'the page had {_links(old)} joined sliders, now {_links(new)}')
    return said


def _compare_outputs(old: list, new: list, states: list[dict], slack: float = PIXELS) -> str | None:
    kinds = [[output['output_type'] for output in outputs] for outputs in (old, new)]
    if kinds[0] != kinds[1]: return f'outputs were {kinds[0]}, now {kinds[1]}'
    for before, after in zip(old, new, strict=True):
        if before['output_type'] == 'error': return f'it fails: {before["ename"]}'
        if before['output_type'] == 'stream':
            if before['name'] != after['name']: return f'{before["name"]} is now {after["name"]}'
            if (said := compare_text(_join(before['text']), _join(after['text']))): return said
            continue
        if set(before['data']) != set(after['data']): return f'types were {sorted(before["data"])}, now {sorted(after["data"])}'
        for mime in sorted(before['data']):
            values = _join(before['data'][mime]), _join(after['data'][mime])
            if mime == VIEW: said = _compare_widgets(*states, (values[0]['model_id'], values[1]['model_id']), slack)
            elif mime in ('image/png', 'image/jpeg'): said = compare_pictures(*values, slack)
            elif mime == 'text/html': said = _compare_html(*values)
            elif mime == 'text/plain' and VIEW in before['data']: said = None   # the widget itself was compared
            elif isinstance(values[0], str) and isinstance(values[1], str): said = compare_text(*values)
            else: said = _compare_data(*values)
            if said: return f'{mime}: {said}'
    return None


def stale(path: Path) -> tuple[list[str], Result]:
    "Execute a notebook in memory; what differs from the committed one, and the result."
    result = execute(path)
    return compare(read(path), result.notebook), result


# -------------------------------------------------------------------------------------------- commands
def _each(paths: list[Path], work, workers: int) -> int:
    "Call `work(path)` for each notebook, print a line each, then the ten slowest; the number that failed."
    seconds, failures = {}, []
    def one(path):
        start = time.monotonic()
        try: said = work(path)
        except Failure as failure: said = None; failures.append(str(failure)); print(f'FAILED {failure}', flush=True)
        seconds[path] = time.monotonic() - start
        if said is not None: print(f'{seconds[path]:6.1f} s  {path.relative_to(ROOT)}  {said}', flush=True)
    with ThreadPoolExecutor(max(1, workers)) as pool: list(pool.map(one, paths))
    slowest = sorted(seconds, key=lambda path: -seconds[path])[:10]
    if len(paths) > 1:
        print(f'\nslowest of {len(paths)} ({sum(seconds.values()):.0f} s together):')
        for path in slowest: print(f'{seconds[path]:6.1f} s  {path.relative_to(ROOT)}')
    for path in slowest:
        if seconds[path] > REPORT: print(f'NOTE {path.relative_to(ROOT)} took {seconds[path]:.0f} s; pages aim at less than {REPORT} s')
    if failures:
        print(f'\n{len(failures)} of {len(paths)} notebooks failed:')
        for line in failures: print(f'  {line}')
    return len(failures)


def refresh(names, workers: int = 1, slow: bool = False) -> int:
    paths = [path for path in find(names) if not slow or has_slow(read(path))]
    return _each(paths, lambda path: 'changed' if write(execute(path, slow).notebook, path) else 'as it was', workers)


def run(names, out: Path, workers: int = 1) -> int:
    def work(path):
        write(execute(path).notebook, out/path.relative_to(NBS))
        return 'ran'
    failed = _each(find(names), work, workers)
    print(f'executed notebooks: {out}')
    return failed


def check(names, workers: int = 1) -> int:
    def work(path):
        said, _ = stale(path)
        if said: raise Failure(f'{path.relative_to(ROOT)} is stale; {said[0]}'
                               + (f' (and {len(said) - 1} more)' if len(said) > 1 else '')
                               + f'; rerun with: make refresh name={path.stem}')
        return 'fresh'
    return _each(find(names), work, workers)


def clean_all(names) -> int:
    for path in find(names):
        if write(clean(read(path)), path): print(f'cleaned {path.relative_to(ROOT)}')
    return 0


TEMPLATE = """\
%%md
# {title}

> What the reader will be able to do after this page, in one line.
%%code
#| default_exp {module}
%%md
## The question

One paragraph, and one picture or one number that is too slow, too big or wrong.
%%code
#| export
import numpy as np
%%code
#| hide
import matplotlib.pyplot as plt
from extreme_opt.core.checks import expect_fail
%%md
## Symbols

| code | shape, range | paper |
|---|---|---|
| `params` | (n_params,) | $\\theta$ |
%%md
## Derivation

A step of algebra in prose. The next cell checks that very step on random numbers.

$$
f(\\theta) = \\tfrac12 \\lVert \\theta \\rVert^2 \\tag{{1}}
$$
%%md
## Code

Per definition: formula, cell, test cell.
%%code
#| exports
def half_square(
    params:np.ndarray,  # (n_params,) current point
)->float: # >= 0
    "Half the squared length of `params`: eq. (1)."
    return .5 * float(params @ params)
%%code
# check: {chapter}-1
rng = np.random.default_rng(0)
params = rng.normal(size=3)
assert np.isclose(half_square(params), .5 * np.linalg.norm(params)**2)
%%md
## Watch it fail

Where the naive way breaks, with the error or the picture.
%%code
with expect_fail(ValueError, contains='matmul'): half_square(np.ones((2, 3)))
%%md
## The method runs

The smallest problem on which it visibly wins, then the kernel, then the table from `docs/results/`.
%%md
## Turn the knobs

A still figure, then the sliders, then two questions that the sliders answer.
%%code
#| fig-alt: A parabola through the origin with its lowest point at zero.
def show_curve(width=1.):
    "The curve on an interval of one width."
    grid = np.linspace(-width, width, 101)
    plt.plot(grid, [half_square(np.array([point])) for point in grid])
    plt.xlabel('parameter'); plt.ylabel('loss')

show_curve()
%%md
## What the paper says, what we do

Every difference: sign, scale, a slip in a formula, the default we chose.
%%md
## Exercises

1. Two or three, with a pointer to the problem set.
%%md
## Next

One sentence.
"""


def new(name: str) -> Path:
    "Write a page from the template of the style guide; refuses to overwrite."
    parts = Path(name.removesuffix('.ipynb').removeprefix('nbs/')).parts
    if len(parts) != 2 or not all(re.fullmatch(r'\d\d_[a-z][a-z0-9_]*', part) for part in parts):
        raise SystemExit(f'{name!r} is no page name; expected chapter/idea with numbers for the order, such as 40_ordinal/45_momentum')
    path = NBS.joinpath(*parts).with_suffix('.ipynb')
    if path.exists(): raise SystemExit(f'{path.relative_to(ROOT)} exists already and is left as it is')
    chapter, idea = (re.sub(r'^\d+_', '', part) for part in parts)
    text = TEMPLATE.format(title=idea.replace('_', ' ').capitalize(), module=f'{chapter}.{idea}', chapter=chapter)
    cells = []
    for kind, body in re.findall(r'^%%(md|code)\n(.*?)(?=^%%|\Z)', text, flags=re.M | re.S):
        cell: dict[str, Any] = dict(cell_type='markdown' if kind == 'md' else 'code', metadata={},
                                    source=body.strip('\n').splitlines(keepends=True))
        if kind == 'code': cell.update(execution_count=None, outputs=[])
        cells.append(cell)
    notebook = dict(cells=cells, nbformat=4, nbformat_minor=5,
                    metadata=dict(kernelspec=dict(display_name='python3', language='python', name='python3')))
    write(clean(notebook), path)
    return path


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog='docs/notebooks.py', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    for name in ('refresh', 'run', 'check', 'slow', 'clean'):
        command = commands.add_parser(name)
        command.add_argument('names', nargs='*', metavar='NAME')
        if name != 'clean': command.add_argument('--workers', type=int, default=1, help='notebooks at a time (1)')
        if name == 'run': command.add_argument('--out', type=Path, default=ROOT/'build'/'executed')
    commands.add_parser('new').add_argument('name', metavar='NAME')
    given = parser.parse_args(argv)
    if given.command == 'new':
        print(f'wrote {new(given.name).relative_to(ROOT)}')
        return 0
    if given.command == 'clean': return clean_all(given.names)
    if given.command == 'run': failed = run(given.names, given.out.absolute(), given.workers)
    elif given.command == 'check': failed = check(given.names, given.workers)
    else: failed = refresh(given.names, given.workers, slow=given.command == 'slow')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
