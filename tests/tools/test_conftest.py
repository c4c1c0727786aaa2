"The closing line, and skips that are not allowed, each in a pytest of its own."

import os
import re
import sys
from pathlib import Path

import pytest
from told import tell

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import os, pytest
def test_good(): pass
def test_bad(): assert {good}
def test_skipped(): pytest.skip('needs Chromium')
def test_data(): pytest.skip('needs EXTREME_OPT_DATA/mnist')
@pytest.mark.slow
def test_later(): pass
def test_noted(record_property): record_property('note', 'a page is old')
def test_cache():
    assert os.path.isdir(os.environ['EXTREME_OPT_CACHE'])
    open('cache.txt', 'w').write(os.environ['EXTREME_OPT_CACHE'])
"""


def run(tmp_path, good=True, words=(), **env):
    (tmp_path / 'docs').mkdir(exist_ok=True)
    folder = tmp_path / 'tests'
    folder.mkdir(exist_ok=True)
    (folder / 'conftest.py').write_text((ROOT / 'conftest.py').read_text())
    (folder / 'test_it.py').write_text(TESTS.format(good=good))
    (tmp_path / 'pytest.ini').write_text(
        '[pytest]\naddopts = -q -rs -p no:cacheprovider\nmarkers =\n  slow: later\n'
    )
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ('EXTREME_OPT_DATA', 'EXTREME_OPT_CACHE')
    }
    return tell(
        sys.executable,
        '-m',
        'pytest',
        *words,
        '-m',
        'not slow',
        'tests',
        cwd=tmp_path,
        env={**clean, **env},
    )


@pytest.mark.parametrize(
    'good, words, line',
    [
        (True, (), '4 passed, 0 failed, 2 skipped'),
        (False, ('-n', '2', '--dist', 'loadscope'), '3 passed, 1 failed, 2 skipped'),
    ],
)
def test_closing_line_is_last(tmp_path, good, words, line):
    "Nothing follows the count, and what was not run is said above it; in one process and in two."
    done = run(tmp_path, good, words)
    assert done.stdout.splitlines()[-1] == line and done.stdout.endswith('\n')
    assert (done.returncode == 0) == good
    assert re.search(r'^not run: 1 skipped, needs Chromium$', done.stdout, flags=re.M)
    assert re.search(r'^note: a page is old$', done.stdout, flags=re.M)
    assert re.search(r'^not run: 1 marked slow, `make slow` runs them$', done.stdout, flags=re.M)


def test_missing_data_is_no_excuse(tmp_path):
    "With EXTREME_OPT_DATA set, a test that skips for want of data fails."
    done = run(tmp_path, EXTREME_OPT_DATA=str(tmp_path))
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == '4 passed, 1 failed, 1 skipped'
    assert 'must not be skipped' in done.stdout


def test_broken_collection_counts(tmp_path):
    "A module that cannot be imported is a failure in the closing line too."
    run(tmp_path)
    (tmp_path / 'tests' / 'test_broken.py').write_text('import there_is_no_such_module')
    done = tell(sys.executable, '-m', 'pytest', 'tests', cwd=tmp_path)
    assert done.returncode == 2 and done.stdout.splitlines()[-1] == '0 passed, 1 failed, 0 skipped'


def test_cache_of_the_session(tmp_path):
    "Tests get a cache folder that goes with the session, or the one they are told to use."
    run(tmp_path)
    assert not Path((tmp_path / 'cache.txt').read_text()).exists()
    kept = tmp_path / 'kept'
    kept.mkdir()
    run(tmp_path, EXTREME_OPT_CACHE=str(kept))
    assert (tmp_path / 'cache.txt').read_text() == str(kept) and kept.is_dir()


def test_tests_of_a_group_share_a_process(tmp_path):
    """The site is built in one process only; two files that share nothing may go to two. (Groups by
    a marker were lost in silence when pytest changed how it keeps names.)"""
    for name in ('test_site', 'test_browser', 'test_other', 'test_notebooks'):
        (tmp_path / f'{name}.py').write_text(
            'import os, pytest, time\n@pytest.mark.parametrize("x", range(4))\ndef test_runs(x):\n'
            "    open('ran.txt', 'a').write(f'{__name__} {os.getpid()}\\n')\n    time.sleep(0.05)\n"
        )
    (tmp_path / 'conftest.py').write_text((ROOT / 'conftest.py').read_text())
    (tmp_path / 'pytest.ini').write_text('[pytest]\naddopts = -p no:cacheprovider\n')
    done = tell(
        sys.executable, '-m', 'pytest', '-q', '-n', '2', '--dist', 'loadscope', cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout
    ran = [line.split() for line in (tmp_path / 'ran.txt').read_text().splitlines()]
    where = {name: {process for each, process in ran if each == name} for name, _ in ran}
    assert len(ran) == 16 and where['test_site'] == where['test_browser']
    assert len(where['test_site']) == len(where['test_other']) == 1
    assert len({process for _, process in ran}) == 2
