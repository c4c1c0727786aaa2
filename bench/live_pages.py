"""Every page that runs in the browser, run there from top to bottom: seconds, memory, and the cells
that cannot run.

Serves the built site (`make docs live=1`) from this machine to headless Chromium and presses the
button with an empty profile; once more, until the first output, when engine and files are in the
cache. A cell that takes more than LIMIT CPU seconds, or ends in an error, is marked, and the page
runs again without it, until a run has no error: the numbers of a page are those of this last run,
but `first_cold` and `cpu_first`, which are those of the first one.
Rows are pages, and cells that cannot run with the reason as their task, which the next build shows
on the page. Seconds are those of a clock from the press on; `cpu_first` and `cpu_seconds` those of
the processes of the browser, which other work on the machine changes less. Finished pages
are kept in build/live/measured, and one is measured again when its cells, the packages that it
imports, or the engine have changed; EXTREME_OPT_PAGES, a regular expression, says which of these.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import sys
import threading
import time
from pathlib import Path

import machine

LONG = True
APART = True
HOW = (
    'Each page in headless Chromium with an empty profile, and once more from its cache; seconds of'
    ' a clock from the press of the button on, CPU seconds of all processes of the browser. Most'
    ' pages were measured beside other work or two at a time, so that their seconds of the clock'
    ' are up to three times what they are on an idle machine; CPU seconds are the ones to compare.'
)
ROOT = Path(__file__).resolve().parent.parent
LIMIT = float(os.environ.get('EXTREME_OPT_CELL_SECONDS', '30'))  # CPU seconds that a cell may take
ARGUMENTS = '--headless --no-sandbox --disable-gpu --disable-quic'
POLL = 0.25
SHELVES = ('learn', 'use')  # lessons are measured first
SHARED = tuple(
    f'docs/live/{name}' for name in ('guest.py', 'guest_figures.py', 'guest_loops.py', 'worker.js')
)
marks: dict[str, dict[str, str]] = {}  # cells that the pages served leave out, and why


class Host(http.server.SimpleHTTPRequestHandler):
    "Files as any static host sends them; the browser may keep them for an hour."

    def log_message(self, *args):
        pass

    def end_headers(self):
        fixed = not self.path.endswith('.cells.json')
        self.send_header('Cache-Control', 'max-age=3600' if fixed else 'no-store')
        super().end_headers()

    def do_GET(self):
        page = self.path.lstrip('/').removesuffix('.cells.json')
        if self.path == f'/{page}.cells.json':
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(cells_of(page, marks.get(page, {}))).encode())
        else:
            super().do_GET()


def site() -> Path:
    found = Path(os.environ.get('EXTREME_OPT_SITE') or ROOT / '_docs')
    if not (found / '_static/live/sizes.json').exists():
        raise SystemExit(f'{found} has no engine; build it first: make docs live=1')
    return found


def names() -> list[str]:
    "Pages with a button, without their ending, lessons first."
    found = [
        path.relative_to(site()).as_posix().removesuffix('.cells.json')
        for path in site().rglob('*.cells.json')
        if path.parent.name != 'problem_sets'  # they end in errors until they are solved
    ]
    return sorted(found, key=lambda page: (SHELVES.index(page.split('/')[0]), page))


def cells_of(page: str, left_out: dict[str, str]) -> dict:
    "What the button of a page runs, with these cells left out in place of those of an older table."
    told = json.loads((site() / f'{page}.cells.json').read_text(encoding='utf-8'))
    for one in told['cells']:
        one.pop('cannot', None)
        if reason := left_out.get(one['id']):
            one['cannot'] = reason
    return told


def descendants(process: int) -> list[int]:
    "Processes that a process has started, and those that these have started (Linux)."
    children: dict[int, list[int]] = {}
    for path in Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            after = path.read_text().rpartition(')')[2].split()
            children.setdefault(int(after[1]), []).append(int(path.parent.name))
    found = [*children.get(process, [])]
    for one in found:
        found += children.get(one, [])
    return found


def cpu_of(process: int) -> float:
    "CPU seconds that the descendants of a process have used, ended ones included (Linux)."
    ticks = 0
    for number in descendants(process):
        with contextlib.suppress(OSError):
            after = Path(f'/proc/{number}/stat').read_text().rpartition(')')[2].split()
            ticks += sum(map(int, after[11:15]))
    return ticks / os.sysconf('SC_CLK_TCK')


# ---------------------------------------------------------------- one page


def press(tab, to_first: bool = False) -> dict:
    """Press the button and wait for the end, or for the first output: seconds, CPU seconds, and
    what became of each cell."""
    tab.evaluate('live.goOn = true')
    began = since = cpu_of(os.getpid())
    cell, cpu_first, bar = 0, 0.0, tab.locator('.live-bar')
    tab.locator('.live-bar button').first.click()
    while True:
        time.sleep(POLL)
        cpu, first = cpu_of(os.getpid()), bar.get_attribute('data-first')
        if first and not cpu_first:
            cpu_first = cpu - began
        if bar.get_attribute('data-state') in ('done', 'failed', 'stopped') or first and to_first:
            break
        timings = tab.evaluate('live.timings.length')
        if timings != cell:
            cell, since = timings, cpu
        if cpu - since > LIMIT and cell:
            tab.get_by_role('button', name='Stop').click()
    return dict(
        said=tab.locator('.live-status').text_content(),
        first=float(first or 0) / 1000,
        total=float(bar.get_attribute('data-total') or 0) / 1000,
        cpu_first=cpu_first,
        cpu=cpu - began,
        timings=tab.evaluate('live.timings'),
    )


def reason(one: dict) -> str:
    "Why a cell cannot run, in a few words."
    if 'variables are gone' in one['error'].lower():
        return f'takes more than {LIMIT:.0f} s without compiled loops'
    known = {
        'new thread': 'needs threads',
        'process': 'needs processes',
        'MemoryError': 'needs more memory',
        'NameError': 'needs a cell above it that cannot run',
        'KeyError': 'needs a cell above it that cannot run',
    }
    return next(
        (words for mark, words in known.items() if mark in one['error']), one['error'][:150]
    )


def drawn_by_cell(tab) -> dict[str, bool]:
    "Whether each cell of the page shows a figure, by the id of the cell."
    return tab.evaluate(
        'Object.fromEntries([...document.querySelectorAll("div.cell[id]")].map(one =>'
        ' [one.id, Boolean(one.querySelector(".cell_output :is(img, svg)"))]))'
    )


def once(context, address: str, page: str, to_first: bool = False) -> dict:
    "One run of a page in this profile."
    tab = context.new_page()
    tab.goto(f'{address}/{page}.html', wait_until='load')
    stored = drawn_by_cell(tab)
    run = press(tab, to_first)
    ran, now = {f'cell-{one["id"]}' for one in run['timings']}, drawn_by_cell(tab)
    figures = [now[cell] for cell, there in stored.items() if there and cell in ran]
    tab.close()
    return run | dict(figures=len(figures), drawn=sum(figures))


def measure(browser, address: str, page: str) -> tuple[dict, list[dict]]:
    "Run a page until no cell fails; its row, and the rows of cells that cannot run."
    context = browser.new_context(viewport=dict(width=1280, height=900))
    wrong = marks[page] = {}
    cold = run = once(context, address, page)
    while True:
        new = {one['id']: reason(one) for one in run['timings'] if not one['ok']}
        if not run['timings'] or set(new) <= set(wrong):
            break
        wrong |= new
        run = once(context, address, page)
    warm = once(context, address, page, to_first=True) if run is cold else run
    context.close()
    base = dict(peer='', threads=1, versions=versions(browser), date=machine.today())
    ended = run['timings'] and all(one['ok'] for one in run['timings'])
    row = dict(
        method=page,
        task='runs from top to bottom' if ended else f'does not run: {run["said"]}',
        cell='',
        cells=len(cells_of(page, {})['cells']),
        ran=sum(one['ok'] for one in run['timings']),
        figures=run['figures'],
        drawn=run['drawn'],
        first_cold=f'{cold["first"]:.2f}',
        first_warm=f'{warm["first"]:.2f}',
        cpu_first=f'{cold["cpu_first"]:.1f}',
        cpu_seconds=f'{run["cpu"]:.1f}',
        slowest=f'{max((one["seconds"] for one in run["timings"]), default=0):.1f}',
        seconds=f'{run["total"]:.2f}',
        peak_mb=f'{max((one["heap"] for one in run["timings"]), default=0) / 1e6:.0f}',
        **base,
    )
    return row, [
        dict(method=page, task=why, cell=cell, seconds='', peak_mb='', **base)
        for cell, why in wrong.items()
    ]


def versions(browser) -> str:
    told = json.loads((site() / '_static/live/versions.json').read_text())
    return (
        '; '.join(f'{name} {one}' for name, one in told.items()) + f'; Chromium {browser.version}'
    )


# ---------------------------------------------------------------- all pages


def key(page: str) -> str:
    "Digest of what the numbers of a page depend on."
    source = '\n'.join(one['source'] for one in cells_of(page, {})['cells'])
    used = {'core', *re.findall(r'extreme_opt\.(\w+)', source)}
    used |= set(re.findall(r'from extreme_opt import (\w+)', source))
    files = [ROOT / name for name in SHARED]
    files += sorted(path for name in used for path in (ROOT / 'extreme_opt' / name).rglob('*.py'))
    content = b''.join(path.read_bytes() for path in files)
    return hashlib.sha256(f'{LIMIT}{source}'.encode() + content).hexdigest()[:16]


def main() -> list[dict]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which('chromium') or shutil.which('google-chrome')
    handler = functools.partial(Host, directory=str(site()))
    rows, wrong, kept = [], [], ROOT / 'build/live/measured'
    only = re.compile(os.environ.get('EXTREME_OPT_PAGES', '.'))
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=ARGUMENTS.split())
            for page in names():
                place = kept / f'{page.replace("/", "-")}-{key(page)}.json'
                if not place.exists():
                    if not only.search(page):
                        print(f'{page} was left out', flush=True)
                        continue
                    found = measure(browser, f'http://127.0.0.1:{server.server_port}', page)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(json.dumps(found), encoding='utf-8')
                row, more = json.loads(place.read_text(encoding='utf-8'))
                rows.append(row)
                wrong += more
                print(*list(row.values())[:16], sep='  ', flush=True)
                print(*[f'    {one["cell"]} {one["task"]}' for one in more], sep='\n', flush=True)
            browser.close()
        server.shutdown()
    return rows + wrong


if __name__ == '__main__':
    sys.exit(0 if main() else 1)
