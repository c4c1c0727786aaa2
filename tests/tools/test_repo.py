"The README, the Makefile and what a stranger meets first."

import ast
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from told import tell

ROOT = Path(__file__).resolve().parents[2]


def blocks(name, language):
    "Code blocks of one language in a Markdown file."
    return re.findall(rf'```{language}\n(.*?)```', (ROOT / name).read_text(), flags=re.S)


def test_readme_python_runs():
    "The README's code runs as it stands and prints an accuracy and the names that it found."
    pytest.importorskip('scipy')
    (code,) = blocks('README.md', 'python')
    assert len([line for line in code.splitlines() if line.strip()]) <= 14
    done = tell(sys.executable, '-c', code, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == 0, done.stderr[-2000:]
    count, names = done.stdout.strip().splitlines()
    assert re.match(r'[\d,]+ classes, held-out accuracy 0\.\d+', count)
    assert (
        len(ast.literal_eval(names)) == 5
    )  # which ones depends on the docstrings that are installed


def test_readme_commands_exist():
    "Each `make` command that a text names is a target with its own line of help."
    listed = tell('make', 'help').stdout
    for page in ('README.md', 'CONTRIBUTING.md'):
        text = (ROOT / page).read_text()
        for target in re.findall(r'`make ([a-z]+)', text) + re.findall(
            r'^make ([a-z]+)', text, flags=re.M
        ):
            assert f'make {target} ' in listed, f'{page} names make {target}'


@pytest.mark.skipif(sys.platform == 'win32', reason='stands in for python3 by a shell script')
def test_make_says_what_is_missing(tmp_path):
    "An old python, or one without venv, ends in one line that says what to do."
    for body, word in [
        ('echo 3.9; exit 1', 'make PYTHON='),
        ('case "$*" in *ensurepip*) exit 1;; esac', 'python3-venv'),
    ]:
        fake = tmp_path / 'python3'
        fake.write_text(f'#!/bin/sh\n{body}\n')
        fake.chmod(0o755)
        done = tell('make', 'setup', f'PYTHON={fake}', f'VENV={tmp_path}/none')
        assert done.returncode != 0 and word in done.stdout, done.stdout + done.stderr


def test_new_needs_a_name():
    "Without a name nothing is written, and one line shows how to give it."
    done = tell('make', 'new', 'READY=', 'name=')
    assert (
        done.returncode != 0
        and 'make new name=learn/ordinal/45_momentum' in done.stderr
        and 'usage' not in done.stderr
    )


def test_nothing_private_is_committed():
    "No lock file and no large file in what git tracks."
    if not shutil.which('git') or not (ROOT / '.git').exists():
        pytest.skip('no git checkout here')
    files = [ROOT / line for line in tell('git', 'ls-files').stdout.splitlines()]
    files = [file for file in files if file.exists()]
    assert len(files) > 20
    assert [file.name for file in files if file.name == 'uv.lock'] == []
    assert [str(file) for file in files if file.stat().st_size > 1_000_000] == []
