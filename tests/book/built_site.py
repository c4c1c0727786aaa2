"The site, built once for all tests that look at it."

import contextlib
import functools
import http.server
import importlib
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from told import tell

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = (
    shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
)
ARGUMENTS = (
    '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run'
    ' --disable-background-networking --disable-component-update --disable-sync'
).split()


def script(name):
    "A script of docs/ or an extension of the site as a module."
    sys.path[:0] = [
        part for part in (str(ROOT / 'docs'), str(ROOT / 'docs/_ext')) if part not in sys.path
    ]
    return importlib.import_module(name)


@contextlib.contextmanager
def served(folder):
    "Address of a plain server of the files of a folder."

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=folder, **kwargs)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.shutdown()


def run_build(out, work):
    "Build the site into `out`; pages and doctrees go to `work`."
    (Path(work) / 'pages').mkdir(parents=True, exist_ok=True)
    places = ['-d', f'{work}/doctrees', f'{work}/pages', out]
    return tell(sys.executable, '-m', 'sphinx', '-q', '-c', 'docs', *places, timeout=None)


@functools.cache
def built(folder):
    if ready := os.environ.get('EXTREME_OPT_SITE'):  # built by `make docs` a moment ago
        return Path(ready).resolve(), ''
    out = Path(folder) / 'site'
    done = run_build(out, Path(folder) / 'work')
    assert done.returncode == 0, f'the site was not built:\n{done.stdout}\n{done.stderr}'
    return out, done.stdout


@pytest.fixture(scope='session')
def site(tmp_path_factory):
    return built(tmp_path_factory.getbasetemp())[0]


@pytest.fixture(scope='session')
def report(tmp_path_factory):
    return built(tmp_path_factory.getbasetemp())[1]


@pytest.fixture(scope='session')
def own_scripts(report):
    "Skips where the site could not be given MathJax."
    if 'npm was not at hand' in report:
        pytest.skip('npm could not give MathJax, so pages load it from a public host')
    if 'were not read' in report:
        pytest.skip('node or npm is missing, so formulas were not read by MathJax')


@pytest.fixture(scope='module')
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()
