"""What `make check` tests: the rooms that the working tree has changed, and nothing else.

    python tests/tools/check.py [--base HEAD] [--workers 2] [--list]

A folder of tests belongs to each room. A change in a package runs its tests and those of the whole
package; a change in `core` those of the library; a page without new code is built, with its links
and formulas. `make test` runs everything.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = 'tests/library'
EVERY_PACKAGE = [f'{LIBRARY}/package/test_{name}.py' for name in ('floors', 'public_names')]
ROOMS = {  # a room: the tests that look at it
    'assignments': ['assignments/tests'],
    'docs/live': ['docs/live/tests'],
    'docs': ['tests/book/test_pages.py', 'tests/book/test_site.py', 'tests/book/test_ledger.py'],
    'bench': ['tests/tools/test_bench.py'],
    'conftest.py': ['tests/tools/test_conftest.py'],
}
TOOLS = ('Makefile', 'tasks.py', 'pyproject.toml', 'settings.ini', 'setup.py', '.github', '.ci')


def changed_files(base: str) -> list[str]:
    "Files that differ from a commit, and those that git does not know yet."
    found = []
    for words in (
        ['diff', '--no-ext-diff', '--name-only', '--relative', base],
        ['ls-files', '--others', '--exclude-standard'],
    ):
        done = subprocess.run(['git', *words], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f'git {words[0]} says: {done.stderr.strip()}')
        found += done.stdout.splitlines()
    return sorted(set(found))


def tests_of(path: str) -> list[str]:
    "Files and folders of tests that a changed file asks for."
    parts = Path(path).parts
    if parts[0] == 'tests' or 'tests' in parts[:3] and parts[0] in ('assignments', 'docs'):
        return [path] if Path(path).name.startswith('test_') and path.endswith('.py') else []
    if parts[0] == 'extreme_opt':
        package = parts[1] if len(parts) > 2 else 'package'
        if package == 'core':
            return [LIBRARY]
        own = f'{LIBRARY}/{package}'
        return [*([own] if (ROOT / own).is_dir() else []), *EVERY_PACKAGE]
    if parts[0] in TOOLS:
        return ['tests/tools']
    rooms = [room for room in ROOMS if path == room or path.startswith(f'{room}/')]
    return ROOMS[max(rooms, key=len)] if rooms else []


def chosen(files: list[str]) -> list[str]:
    "Tests for some changed files, none of them twice."
    wanted = sorted({test for file in files for test in tests_of(file) if (ROOT / test).exists()})
    return [one for one in wanted if not any(one.startswith(f'{other}/') for other in wanted)]


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--base', default='HEAD')
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--list', action='store_true', help='say what would run')
    given = parser.parse_args(argv)
    files = changed_files(given.base)
    tests = chosen(files)
    pages = any(file.startswith('nbs/') for file in files)
    print('tests:', ' '.join(tests) or 'none', '| pages are built' if pages else '', flush=True)
    if given.list:
        return 0
    commands = []
    if pages:
        build = ['-q', '-c', 'docs', '-d', 'build/doctrees', 'build/pages', '_docs']
        (ROOT / 'build/pages').mkdir(parents=True, exist_ok=True)
        commands.append([sys.executable, '-m', 'sphinx', *build])
    if tests:
        several = ['-n', str(given.workers), '--dist', 'loadscope'] if given.workers > 1 else []
        commands.append([sys.executable, '-m', 'pytest', '-m', 'not slow', *several, *tests])
    return max((subprocess.run(each, cwd=ROOT).returncode for each in commands), default=0)


if __name__ == '__main__':
    sys.exit(main())
