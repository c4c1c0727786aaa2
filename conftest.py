"""What every test stands on: a cache of the session's own, honest skips, and a closing line a machine can read."""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
for _folder in ('tests/book', 'tests/library', 'docs'):  # `import built_site`, `import notebooks`
    sys.path.insert(0, str(ROOT / _folder))
NEEDS_DATA = 'needs EXTREME_OPT_DATA'
os.environ.setdefault('MPLBACKEND', 'Agg')
for _name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')  # threads of several processes would wait for each other
# Files whose tests share nothing and take long: each test goes where there is room.
APART = {'test_notebooks', 'test_reliability', 'test_reliability_endurance', 'test_memory'}
# Files that share what is dear to make: a process of pytest-xdist gets them together.
GROUPS = dict.fromkeys(
    'test_site test_browser test_browser_ledger test_live test_printed'.split(), 'site'
) | dict.fromkeys(('test_course', 'test_grading'), 'course')


def rows_of_reliability():
    "Of `tests/reliability.csv`: what hostile readings found, and which test holds it."
    table = ROOT / 'tests/reliability.csv'
    if not table.exists():  # this file alone, elsewhere
        return []
    with open(table, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


OF_RELIABILITY = {row['test'] for row in rows_of_reliability()}


def pytest_itemcollected(item):
    "`pytest -k reliability` selects all tests of those rows."
    if item.nodeid.partition('[')[0] in OF_RELIABILITY:
        item.extra_keyword_matches.add('reliability')


def pytest_configure(config):
    "Keep the user's cache untouched; EXTREME_OPT_CACHE names a folder to use, and to use again, instead."
    config.own_cache = None
    if not os.environ.get('EXTREME_OPT_CACHE'):
        config.own_cache = tempfile.mkdtemp(prefix='extreme_opt-test-cache-')
        os.environ['EXTREME_OPT_CACHE'] = config.own_cache
    config.not_run = Counter()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    "Every process of pytest-xdist leaves out the same tests: take the count of one."
    left_out = Counter(getattr(node, 'workeroutput', {}).get('not_run', {}))
    node.config.not_run = node.config.not_run | left_out


def pytest_make_parametrize_id(config, val, argname):
    """Bytes are named by their length: packed text holds the second in which it was packed, and processes
    of pytest-xdist would collect tests of different names."""
    return f'{len(val)} bytes' if isinstance(val, bytes) else None


def group_of(nodeid: str) -> str:
    "Tests of one group share a process, and so its fixtures."
    file = Path(nodeid.partition('::')[0]).stem
    return nodeid if file in APART else GROUPS.get(file, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    "With `--dist loadscope`, processes of pytest-xdist get groups of tests."
    if config.getoption('dist') != 'loadscope':
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return ByGroup(config, log)


def pytest_unconfigure(config):
    if getattr(config, 'own_cache', None):
        shutil.rmtree(config.own_cache, ignore_errors=True)
        os.environ.pop('EXTREME_OPT_CACHE', None)


def _reason(report) -> str:
    "Why a report says skipped."
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix('Skipped: ')


def _no_excuse(report):
    "Turn a skip for missing data into a failure where the data are said to be there."
    if (
        report.skipped
        and _reason(report).startswith(NEEDS_DATA)
        and os.environ.get('EXTREME_OPT_DATA')
    ):
        said = _reason(report)
        report.outcome = 'failed'
        report.longrepr = (
            f'EXTREME_OPT_DATA is set, so this test must not be skipped; it says: {said}'
        )
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _no_excuse((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _no_excuse((yield))


def pytest_deselected(items):
    for item in items:
        item.config.not_run['slow' if item.get_closest_marker('slow') else 'other'] += 1


def pytest_terminal_summary(terminalreporter, config):
    "Say how many tests were not run, and why; and what tests had to note."
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, 'when', '') != 'call':
                continue
            for key, note in report.user_properties:
                if key == 'note':
                    terminalreporter.write_line(f'note: {note}')
    skips = Counter(_reason(report) for report in terminalreporter.stats.get('skipped', []))
    for why, count in skips.most_common():
        terminalreporter.write_line(f'not run: {count} skipped, {why}')
    for name, count in config.not_run.items():
        terminalreporter.write_line(
            f'not run: {count} marked slow, `make slow` runs them'
            if name == 'slow'
            else f'not run: {count} left out by the selection on the command line'
        )


def closing_line(stats: dict, exitstatus: int) -> str:
    "The last line of the run; a run that broke off counts as a failure."
    passed, skipped = (
        len(stats.get('passed', [])),
        len(stats.get('skipped', [])) + len(stats.get('xfailed', [])),
    )
    failed = (
        len(stats.get('failed', [])) + len(stats.get('error', [])) + len(stats.get('xpassed', []))
    )
    if exitstatus in (2, 3, 4):
        failed = max(failed, 1)
    return f'{passed} passed, {failed} failed, {skipped} skipped'


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    if hasattr(session.config, 'workeroutput'):
        session.config.workeroutput['not_run'] = dict(session.config.not_run)
    result = yield
    reporter = session.config.pluginmanager.get_plugin('terminalreporter')
    if reporter is not None and not session.config.option.collectonly:
        reporter.ensure_newline()
        reporter.write_line(closing_line(reporter.stats, int(session.exitstatus)))
    return result


@pytest.fixture
def fresh_python():
    "What code prints in a Python of its own, which must end well."

    def run(code: str, **env: str) -> str:
        env = {**os.environ, 'PYTHONPATH': str(ROOT), **env}
        command = [sys.executable, '-c', code]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
