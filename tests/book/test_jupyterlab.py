"""The notebooks in JupyterLab, driven by headless Chromium; no test here needs the built site."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from built_site import CHROMIUM, browser, script  # noqa: F401 (fixture)
from test_browser import DESK

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason='Chromium is missing')]
book = script('book')
PATIENCE = 300  # seconds for one thing to happen; a busy machine takes its time
LAB_PAGE = 'engine/show/20_widgets.ipynb'  # the page that shows `live`
FIRST = {path.parts[:-1]: path.as_posix() for path in book.notebooks()[:0:-1]}


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    """JupyterLab as `make lab` starts it, on a copy of the notebooks; gives its address and the
    folder."""
    folder = tmp_path_factory.mktemp('lab')
    shutil.copytree(book.NBS, folder / 'nbs')
    shutil.copytree(book.ROOT / 'docs/results', folder / 'docs/results')
    shutil.copy(book.ROOT / 'pyproject.toml', folder)  # the last cell of a page exports it
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    names = [f'JUPYTER_{kind}_DIR' for kind in ('CONFIG', 'DATA', 'RUNTIME')]
    own = {name: str(folder / name) for name in (*names, 'IPYTHONDIR', 'EXTREME_OPT_CACHE')}
    # without a check of requests, so that the tests can end kernels
    settings = '--no-browser --allow-root --ip=127.0.0.1 --ServerApp.port_retries=0'
    settings += ' --IdentityProvider.token= --ServerApp.disable_check_xsrf=True --LabApp.news_url='
    settings += (
        ' --LabApp.news_url= --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate'
    )
    words = [sys.executable, '-m', 'jupyterlab', 'nbs/index.ipynb', f'--port={port}']
    command = [*words, *settings.split()]
    with open(folder / 'log.txt', 'w') as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **own}, stdout=log, stderr=subprocess.STDOUT
        )
    try:

        def answers():
            assert process.poll() is None, (folder / 'log.txt').read_text()[-2000:]
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(
                    f'http://127.0.0.1:{port}/api/status', timeout=PATIENCE
                )

        wait_for(answers, 'JupyterLab does not answer')
        yield f'http://127.0.0.1:{port}', folder / 'nbs'
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def session(address, name):
    "What the server says of the notebook's session; None before there is one."
    with urllib.request.urlopen(f'{address}/api/sessions', timeout=PATIENCE) as answer:
        return next((one for one in json.load(answer) if one['path'] == name), None)


def idle(address, name):
    """Whether the kernel of a notebook waits and the page is connected to it: the page itself says
    `idle` already before that, and then loses Run All."""
    kernel = (session(address, name) or {}).get('kernel', {})
    return kernel.get('execution_state') == 'idle' and kernel['connections'] > 0


@contextlib.contextmanager
def opened(browser, lab, name):
    """The tab of a notebook in the lab; at the end its kernel is ended too, so that the next one
    has the machine alone."""
    address, _ = lab
    context = browser.new_context(viewport=DESK)
    context.set_default_timeout(PATIENCE * 1000)
    tab = context.new_page()
    try:
        tab.goto(
            f'{address}/lab/tree/{name}?reset', wait_until='load'
        )  # without the pages that were open before
        tab.locator('.jp-Notebook .jp-Cell').first.wait_for()
        yield tab
    finally:
        context.close()
        if running := session(address, name):
            there = f'{address}/api/sessions/{running["id"]}'
            ask = urllib.request.Request(there, method='DELETE')
            urllib.request.urlopen(ask, timeout=PATIENCE).close()


def run_all(tab, lab, name):
    "Run All Cells and save; every cell has run, without an error."
    address, folder = lab
    wait_for(lambda: idle(address, name), f'{name}: no kernel')
    tab.locator('.jp-Notebook-ExecutionIndicator[data-status=idle]:visible').first.wait_for()
    tab.wait_for_timeout(500)
    tab.locator('.lm-MenuBar-itemLabel', has_text=re.compile('^Run$')).click()
    tab.locator('.lm-Menu-itemLabel', has_text=re.compile('^Run All Cells$')).click()

    def ended():
        tab.wait_for_timeout(500)
        if not idle(address, name):  # between two cells, too
            return False
        tab.keyboard.press('Control+s')
        tab.wait_for_timeout(500)
        try:
            saved = json.loads((folder / name).read_text())
        except json.JSONDecodeError:
            return False  # just being written
        code = [
            cell
            for cell in saved['cells']
            if cell['cell_type'] == 'code' and ''.join(cell['source']).strip()
        ]
        for cell in code:
            for output in cell['outputs']:
                assert output['output_type'] != 'error', '\n'.join(output['traceback'])
        return all(cell['execution_count'] for cell in code)

    wait_for(ended, f'{name} still runs')


def wait_for(true, message):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            pytest.fail(f'{message} after {PATIENCE} s')
        time.sleep(0.1)


def changes(image, before, moved):
    wait_for(lambda: image.get_attribute('src') != before, f'{moved}: the figure stands still')


def scrolled_to(tab, found):
    "The lab draws what is scrolled to: go down until something is found."
    tab.mouse.move(700, 500)
    tab.mouse.wheel(0, -100_000)
    for _ in range(120):
        if found.count():
            break
        tab.mouse.wheel(0, 800)
        tab.wait_for_timeout(250)
    return found.first


@pytest.fixture(scope='module')
def waiting_and_run(browser, lab):
    "What the sliders of a page say before it has run, and the tab of that page once it has."
    with opened(browser, lab, LAB_PAGE) as tab:
        drawn = scrolled_to(tab, tab.locator('.jp-OutputArea-output .xo-frames'))
        said = drawn.locator('input').first.is_disabled(), drawn.locator('p').first.inner_text()
        run_all(tab, lab, LAB_PAGE)
        yield said, tab


def test_sliders_say_that_they_wait_and_keep_their_keys_in_the_lab(waiting_and_run):
    """Opened and not yet run, a notebook says why its sliders are gray; run, sliders of ipywidgets
    stand there, and arrow keys move them, the figure too, and select no other cell."""
    (disabled, said), tab = waiting_and_run
    assert disabled and 'move once this cell has run' in said
    assert not tab.locator('.jp-OutputArea-output .xo-frames').count()
    box = scrolled_to(
        tab, tab.locator('.jp-OutputArea-output .widget-vbox', has=tab.locator('img'))
    )
    assert box.locator('.noUi-handle').count() == 2
    for knob in box.locator('.noUi-handle').all():
        knob.click()
        knob.press('Home')
        last = int(float(knob.get_attribute('aria-valuemax')))
        keys, seen = ['ArrowRight'] * last + ['ArrowLeft', 'ArrowUp', 'ArrowDown'], []
        for key in keys:
            before = box.locator('img').get_attribute('src')
            knob.press(key)
            changes(box.locator('img'), before, key)
            seen.append(int(float(knob.get_attribute('aria-valuenow'))))
            assert knob.evaluate('one => document.activeElement === one'), key
        assert seen == [*range(1, last + 1), last - 1, last, last - 1]


SETS = sorted(path.stem for path in (book.ROOT / 'assignments/source').glob('ps*/*.ipynb'))


def with_sliders():
    "One notebook with the sliders of all problem sets, with what they need, after a prediction."
    cells = []
    for name in SETS:
        path = book.ROOT / f'assignments/source/{name}/{name}.ipynb'
        given = json.loads(path.read_text(encoding='utf-8'))
        for cell in given['cells']:
            source = ''.join(cell['source'])
            needed = ('import live' in source, cell['id'] in ('cell-01', 'setup', 'interval_of'))
            if cell['id'] == 'prediction' or any(needed):
                text = re.sub(r'^(predicted_\w+) = None', r'\1 = 1.0', source)
                cells.append({**cell, 'id': f'{name}-{cell["id"]}', 'source': text})
    return {**given, 'cells': cells}


def test_sliders_of_the_problem_sets_move_by_mouse_and_keys_in_the_lab(browser, lab):
    """Each is one of ipywidgets: arrow keys, Home and End move it and leave the cell selected that
    was; the figure follows, and follows the mouse; in a notebook that was saved stand
    a dozen figures for pages without a kernel."""
    (lab[1] / 'sets.ipynb').write_text(json.dumps(with_sliders()))
    with opened(browser, lab, 'sets.ipynb') as tab:
        run_all(tab, lab, 'sets.ipynb')
        saved = json.loads((lab[1] / 'sets.ipynb').read_text())
        kept = [
            ''.join(out['data']['text/html']).count('<img')
            for cell in saved['cells']
            for out in cell.get('outputs', ())
            if 'text/html' in out.get('data', {})
        ]
        assert len(kept) == len(SETS) and min(kept) >= 8
        for number in range(len(SETS)):
            cell = tab.locator('.jp-Cell', has=tab.locator('.widget-slider')).nth(number)
            scrolled_to(tab, cell.locator('.noUi-handle'))
            handle, shown = cell.locator('.noUi-handle'), cell.locator('.widget-image')
            handle.scroll_into_view_if_needed()
            handle.click()
            selected = tab.locator('.jp-Notebook .jp-mod-active').first.element_handle()

            def follows(move, handle=handle, shown=shown):
                before = shown.get_attribute('src')
                move()
                changes(shown, before, SETS[number])
                return float(handle.get_attribute('aria-valuenow'))

            keys = ('End', 'Home', 'ArrowRight', 'ArrowUp', 'ArrowLeft', 'ArrowDown')
            last = float(handle.get_attribute('aria-valuemax'))
            for key, place in zip(keys, (last, 0, 1, 2, 1, 0)):
                assert follows(lambda key=key: handle.press(key)) == place, key
                assert handle.evaluate('one => document.activeElement === one'), key
            assert selected.evaluate('one => one.classList.contains("jp-mod-active")')

            def drag(handle=handle):
                place = handle.bounding_box()
                across, down = place['x'] + place['width'] / 2, place['y'] + place['height'] / 2
                tab.mouse.move(across, down)
                tab.mouse.down()
                tab.mouse.move(across + 100, down, steps=5)
                tab.mouse.up()

            assert follows(drag) > 2


@pytest.mark.parametrize('name', sorted(FIRST.values()))
def test_first_pages_run_in_the_lab(browser, lab, name):
    "Run All on the first page of each chapter ends without an error."
    with opened(browser, lab, name) as tab:
        run_all(tab, lab, name)
