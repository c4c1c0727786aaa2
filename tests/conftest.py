"""What every test stands on: a cache of the session's own, honest skips, and a closing line a machine can read."""
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT/'docs'))      # `import notebooks`
NEEDS_DATA = 'needs EXTREME_OPT_DATA'
os.environ.setdefault('MPLBACKEND', 'Agg')
LATER = {'slow': '`make slow` runs them', 'notebook': '`make test` runs them', 'browser': '`make test` runs them',
         'site': '`make test` runs them', 'setup': '`make test` runs them'}


def pytest_configure(config):
    "Keep the user's cache untouched; EXTREME_OPT_CACHE names a folder to use, and to use again, instead."
    config.own_cache = None
    if not os.environ.get('EXTREME_OPT_CACHE'):
        config.own_cache = tempfile.mkdtemp(prefix='extreme_opt-test-cache-')
        os.environ['EXTREME_OPT_CACHE'] = config.own_cache
    config.not_run = Counter()


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
    if report.skipped and _reason(report).startswith(NEEDS_DATA) and os.environ.get('EXTREME_OPT_DATA'):
        said = _reason(report)
        report.outcome = 'failed'
        report.longrepr = f'EXTREME_OPT_DATA is set, so this test must not be skipped; it says: {said}'
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call): return _no_excuse((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector): return _no_excuse((yield))


def pytest_deselected(items):
    for item in items:
        names = [name for name in LATER if item.get_closest_marker(name)]
        item.config.not_run[names[0] if names else 'other'] += 1


def pytest_terminal_summary(terminalreporter, config):
    "Say how many tests were not run, and why."
    skips = Counter(_reason(report) for report in terminalreporter.stats.get('skipped', []))
    for why, count in skips.most_common(): terminalreporter.write_line(f'not run: {count} skipped, {why}')
    for name, count in config.not_run.items():
        terminalreporter.write_line(f'not run: {count} marked {name}, {LATER[name]}' if name in LATER
                                    else f'not run: {count} left out by the selection on the command line')


def closing_line(stats: dict, exitstatus: int) -> str:
    "The last line of the run; a run that broke off counts as a failure."
    passed, skipped = len(stats.get('passed', [])), len(stats.get('skipped', [])) + len(stats.get('xfailed', []))
    failed = len(stats.get('failed', [])) + len(stats.get('error', [])) + len(stats.get('xpassed', []))
    if exitstatus in (2, 3, 4): failed = max(failed, 1)
    return f'{passed} passed, {failed} failed, {skipped} skipped'


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    result = yield
    reporter = session.config.pluginmanager.get_plugin('terminalreporter')
    if reporter is not None and not session.config.option.collectonly:
        reporter.ensure_newline()
        reporter.write_line(closing_line(reporter.stats, int(session.exitstatus)))
    return result
