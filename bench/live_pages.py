"""Every page that runs in the browser, run there from top to bottom: seconds, memory, and the cells
that cannot run.

Serves the built site (`make docs live=1`) from this machine to headless Chromium and presses the
button: once with an empty profile, once more when engine and files are in the cache. A cell that
takes more than LIMIT CPU seconds is stopped, with the rest of its page. Rows are pages, and cells
that cannot run with the reason as their task, which the next build shows on the page. Seconds are
those of a clock; `cpu_seconds` those of the whole browser. EXTREME_OPT_PAGES, a regular expression,
chooses pages; EXTREME_OPT_ONCE leaves out the second run.
"""

from __future__ import annotations

import contextlib
import functools
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
ROOT = Path(__file__).resolve().parent.parent
LIMIT = float(os.environ.get('EXTREME_OPT_CELL_SECONDS', '30'))  # CPU seconds that a cell may take
ARGUMENTS = '--headless --no-sandbox --disable-gpu --disable-quic'
POLL = 0.25


class Quiet(http.server.SimpleHTTPRequestHandler):
    "Files as any static host sends them; the browser may keep them for an hour."

    def log_message(self, *args):
        pass

    def end_headers(self):
        self.send_header('Cache-Control', 'max-age=3600')
        super().end_headers()


def site() -> Path:
    found = Path(os.environ.get('EXTREME_OPT_SITE') or ROOT / '_docs')
    if not (found / '_static/live/sizes.json').exists():
        raise SystemExit(f'{found} has no engine; build it first: make docs live=1')
    return found


def names() -> list[str]:
    "Pages with a button, without their ending."
    return sorted(
        path.relative_to(site()).as_posix().removesuffix('.cells.json')
        for path in site().rglob('*.cells.json')
    )


def cpu_of(process: int) -> float:
    "CPU seconds that a process and its descendants have used (Linux)."
    ticks, children = {}, {}
    for path in Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            after = path.read_text().rpartition(')')[2].split()
            number = int(path.parent.name)
            ticks[number] = int(after[11]) + int(after[12])
            children.setdefault(int(after[1]), []).append(number)
    found, total = [process], 0
    while found:
        one = found.pop()
        total += ticks.get(one, 0)
        found += children.get(one, [])
    return total / os.sysconf('SC_CLK_TCK')


def press(tab) -> dict:
    "Press the button and wait: state and timings of the page, CPU seconds of the browser."
    tab.evaluate('live.goOn = true')
    began, cell, since = cpu_of(os.getpid()), 0, cpu_of(os.getpid())
    tab.locator('.live-bar button').first.click()
    while True:
        time.sleep(POLL)
        if tab.locator('.live-bar').get_attribute('data-state') in ('done', 'failed', 'stopped'):
            break
        timings = tab.evaluate('live.timings.length')
        if timings != cell:
            cell, since = timings, cpu_of(os.getpid())
        if cpu_of(os.getpid()) - since > LIMIT:
            tab.get_by_role('button', name='Stop').click()
    bar = tab.locator('.live-bar')
    return dict(
        said=tab.locator('.live-status').text_content(),
        first=float(bar.get_attribute('data-first') or 0) / 1000,
        total=float(bar.get_attribute('data-total') or 0) / 1000,
        cpu=cpu_of(os.getpid()) - began,
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
    }
    return next(
        (words for mark, words in known.items() if mark in one['error']), one['error'][:150]
    )


def measure(browser, address: str, page: str) -> tuple[dict, list[dict]]:
    "A cold and a warm run of a page; its row, and the rows of cells that cannot run."
    cells = json.loads((site() / f'{page}.cells.json').read_text(encoding='utf-8'))['cells']
    context, runs = browser.new_context(viewport=dict(width=1280, height=900)), []
    for _ in range(2):
        tab = context.new_page()
        tab.goto(f'{address}/{page}.html', wait_until='load')
        runs.append(press(tab))
        tab.close()
        if any(not one['ok'] for one in runs[0]['timings']) or os.environ.get('EXTREME_OPT_ONCE'):
            break
    context.close()
    cold, warm = runs[0], runs[-1]
    base = dict(peer='', threads=1, versions=versions(browser), date=machine.today())
    row = dict(
        method=page,
        task='runs from top to bottom',
        cell='',
        cells=len(cells),
        ran=sum(one['ok'] for one in cold['timings']),
        first_cold=f'{cold["first"]:.2f}',
        first_warm=f'{warm["first"]:.2f}' if warm is not cold else '',
        cpu_seconds=f'{cold["cpu"]:.1f}',
        seconds=f'{cold["total"]:.2f}',
        peak_mb=f'{max((one["heap"] for one in cold["timings"]), default=0) / 1e6:.0f}',
        **base,
    )
    wrong = [
        dict(method=page, task=reason(one), cell=one['id'], seconds='', peak_mb='', **base)
        for one in cold['timings']
        if not one['ok']
    ]
    return row, wrong


def versions(browser) -> str:
    told = json.loads((site() / '_static/live/versions.json').read_text())
    return (
        '; '.join(f'{name} {one}' for name, one in told.items()) + f'; Chromium {browser.version}'
    )


def main() -> list[dict]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which('chromium') or shutil.which('google-chrome')
    handler = functools.partial(Quiet, directory=str(site()))
    rows, wrong = [], []
    only = re.compile(os.environ.get('EXTREME_OPT_PAGES', '.'))
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=ARGUMENTS.split())
            for page in filter(only.search, names()):
                row, more = measure(browser, f'http://127.0.0.1:{server.server_port}', page)
                rows.append(row)
                wrong += more
                print(*list(row.values())[:10], sep='  ', flush=True)
                print(*[f'    {one["cell"]} {one["task"]}' for one in more], sep='\n', flush=True)
            browser.close()
        server.shutdown()
    return rows + wrong


if __name__ == '__main__':
    sys.exit(0 if main() else 1)
