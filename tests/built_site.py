"The site, built once for all tests that look at it."
import functools
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def script(name):
    "A script of docs/ as a module."
    spec = importlib.util.spec_from_file_location(f'docs_{name}', ROOT/'docs'/f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_build(out):
    return subprocess.run([sys.executable, 'docs/build.py', '--no-export', '--out', str(out)], cwd=ROOT, capture_output=True, text=True)


@functools.cache
def built(folder):
    out = Path(folder)/'site'
    done = run_build(out)
    assert done.returncode == 0, f'docs/build.py failed:\n{done.stdout}\n{done.stderr}'
    return out, done.stdout


@pytest.fixture(scope='session')
def site(tmp_path_factory): return built(tmp_path_factory.getbasetemp())[0]


@pytest.fixture(scope='session')
def report(tmp_path_factory): return built(tmp_path_factory.getbasetemp())[1]


@pytest.fixture(scope='session')
def own_scripts(report):
    "Skips where the site could not be given KaTeX and the slider embedder."
    if 'npm was not at hand' in report: pytest.skip('npm could not give KaTeX and the slider embedder, so pages load them from a public host')
    if 'were not checked' in report: pytest.skip('node or npm is missing, so formulas were not read by KaTeX and MathJax')
