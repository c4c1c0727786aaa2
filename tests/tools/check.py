"""What `make check` does: what the change of the working tree asks for, and nothing else.

    python tests/tools/check.py [--base HEAD] [--workers 2] [--list]

Where code has changed, the package is written and its types are checked; then notebooks are
cleaned, pages that the change concerns run, the site is built and tests run. A folder of tests
belongs to each room. A change of a module runs the test files of its package that reach it by
imports; one in `core`, or of what a lesson defines, such files of all packages. `make test` runs
everything.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'docs'))
import notebooks  # noqa: E402

LIBRARY = 'tests/library'
EVERY_PACKAGE = [f'{LIBRARY}/package/test_{name}.py' for name in ('floors', 'public_names')]
ROOMS = {  # a room: the tests that look at it
    'assignments': ['assignments/tests'],
    'docs/live': ['docs/live/tests'],
    'docs': ['tests/book/test_pages.py', 'tests/book/test_site.py', 'tests/book/test_ledger.py'],
    'bench': ['tests/tools/test_bench.py'],
    'conftest.py': ['tests/tools/test_conftest.py'],
}
TOOLS = ('Makefile', 'tasks.py', 'pyproject.toml', 'setup.py', '.github', '.ci')


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


@functools.cache
def reached_by(test: Path) -> frozenset[str]:
    "Modules that a test file, or what it takes from a file beside it, imports."
    text = test.read_text(encoding='utf-8')
    beside = [one for one in test.parent.glob('*.py') if one.name[:5] != 'test_']
    used = [one.read_text(encoding='utf-8') for one in beside if one.stem in text]
    return frozenset().union(*map(notebooks.reached, (text, *used)))


def tests_of(path: str) -> list[str]:
    "Files and folders of tests that a changed file asks for."
    parts = Path(path).parts
    if parts[0] == 'tests' or 'tests' in parts[:3] and parts[0] in ('assignments', 'docs'):
        return [path] if Path(path).name.startswith('test_') and path.endswith('.py') else []
    if parts[0] == 'extreme_opt':
        package, module = parts[1], '.'.join(Path(path).with_suffix('').parts)
        if len(parts) == 2 or parts[-1] == '__init__.py':
            own = f'{LIBRARY}/{package if len(parts) > 2 else "package"}'
            return [*[own][: (ROOT / own).is_dir()], *EVERY_PACKAGE]
        wide = package == 'core' or 'plain' in parts  # others use these, too
        tests = sorted((ROOT / LIBRARY).glob('*/test_*.py' if wide else f'{package}/test_*.py'))
        asked = [one for one in tests if one.parent.name != 'package']
        own = [one.relative_to(ROOT).as_posix() for one in asked if module in reached_by(one)]
        return [*own, *EVERY_PACKAGE]
    if parts[0] in TOOLS:
        return ['tests/tools']
    rooms = [room for room in ROOMS if path == room or path.startswith(f'{room}/')]
    return ROOMS[max(rooms, key=len)] if rooms else []


def chosen(files: list[str]) -> list[str]:
    "Tests for some changed files, none of them twice."
    wanted = sorted({test for file in files for test in tests_of(file) if (ROOT / test).exists()})
    return [one for one in wanted if not any(one.startswith(f'{other}/') for other in wanted)]


def code_of(text: str) -> list:
    "Sources of the code cells of a notebook."
    cells = json.loads(text)['cells']
    return [''.join(cell['source']) for cell in cells if cell['cell_type'] == 'code']


def is_prose(path: str, base: str) -> bool:
    "Whether a changed file is text, or a notebook whose code is that of a commit."
    if not path.endswith('.ipynb') or not (ROOT / path).exists():
        return path.endswith('.md')
    done = subprocess.run(
        ['git', 'show', f'{base}:./{path}'],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding='utf-8',
    )
    now = (ROOT / path).read_text(encoding='utf-8')
    return done.returncode == 0 and code_of(done.stdout) == code_of(now)


def commands(files: list[str], base: str, workers: int) -> list[list[str]]:
    "What runs for some changed files, in order."
    python, many = sys.executable, ['--workers', str(workers)]
    found = [[python, 'docs/notebooks.py', 'clean'], ['ruff', 'check', '.']]
    if not all(is_prose(file, base) for file in files):
        found.append(['mypy'])
    found += [
        ['git', 'diff', '--no-ext-diff', '--stat', '--', 'nbs', 'extreme_opt'],
        [python, 'docs/notebooks.py', 'run', '--changed', '--draft', *many],
    ]
    if any(file.startswith('nbs/') for file in files):
        build = ['-q', '-c', 'docs', '-d', 'build/doctrees', 'build/pages', '_docs']
        found.append([python, '-m', 'sphinx', *build])
    if tests := chosen(files):
        several = ['-n', str(workers), '--dist', 'loadscope'] if workers > 1 else []
        found.append([python, '-m', 'pytest', '-m', 'not slow', *several, *tests])
    return found


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--base', default='HEAD')
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--list', action='store_true', help='say what would run')
    given = parser.parse_args(argv)
    files = changed_files(given.base)
    if not given.list and not all(is_prose(file, given.base) for file in files):
        subprocess.run([sys.executable, 'docs/notebooks.py', 'export'], cwd=ROOT, check=True)
        files = changed_files(given.base)  # with the modules that it wrote
    wanted = commands(files, given.base, given.workers)
    print('tests:', ' '.join(chosen(files)) or 'none', flush=True)
    if given.list:
        print('\n'.join(' '.join(words) for words in wanted))
        return 0
    (ROOT / 'build/pages').mkdir(parents=True, exist_ok=True)
    codes = []
    for words in wanted:
        codes.append(subprocess.run(words, cwd=ROOT).returncode)
        if codes[-1] and words[0] in ('ruff', 'mypy'):
            break  # what follows would say the same at length
    return max(codes)


if __name__ == '__main__':
    sys.exit(main())
