"""Which results that pages read were measured with an earlier version of the code. A report: it
never fails anything.

    python docs/freshness.py          every result: the commit it belongs to, what has changed
                                      since, and the line that measures it again

docs/results/NAME.csv holds rows, NAME.json how they came about: command, versions, date, the
commit, and the paths that matter: the script, the scripts that it imports and the packages that it
uses. A result is listed when a file under these paths differs from that commit.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'docs' / 'results'
# helpers of bench/ that measure: a change there makes no result old
HARNESS = {'run', 'machine', 'memory'}


def names() -> list[str]:
    return sorted(path.stem for path in RESULTS.glob('*.csv'))


def story(name: str, folder: Path = RESULTS) -> dict:
    "How the rows of a result came about; empty where that is not known."
    path = folder / f'{name}.json'
    return json.loads(path.read_text(encoding='utf-8')) if path.exists() else {}


def git(*words: str, root: Path = ROOT) -> str | None:
    "What git answers; None where it cannot."
    try:
        done = subprocess.run(
            ['git', *words], cwd=root, capture_output=True, text=True, encoding='utf-8'
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def touched(script: Path, root: Path = ROOT) -> list[str]:
    """Paths whose change may change what a script measures: scripts of bench/ by name, packages of
    extreme_opt as a whole."""
    queue, scripts, packages = [script], set(), set()
    while queue:
        path = queue.pop()
        if path in scripts:
            continue
        scripts.add(path)
        text = path.read_text(encoding='utf-8')
        packages |= set(re.findall(r'\bextreme_opt\.(\w+)', text))
        for listed in re.findall(r'from extreme_opt import ([\w, ]+)', text):
            packages |= set(re.split(r',\s*', listed.split(' as ')[0].strip()))
        near = re.findall(r'^\s*(?:import|from) (\w+)', text, flags=re.M)
        beside = [script.parent / f'{name}.py' for name in near if name not in HARNESS]
        queue += [one for one in beside if one.exists()]
    # every chapter stands on the core; a script that names none may use all
    used = [f'extreme_opt/{name}' for name in sorted({*packages, 'core'})]
    there = [name for name in (used if packages else ['extreme_opt']) if (root / name).is_dir()]
    return sorted(path.relative_to(root).as_posix() for path in scripts) + there


def here(paths: list[str], root: Path = ROOT) -> str:
    """The commit that is measured, with a mark where files under `paths` differ from it; empty
    without git."""
    commit = git('rev-parse', '--short=12', 'HEAD', root=root)
    if commit is None:
        return ''
    return commit + ('+changes' if git('status', '--porcelain', '--', *paths, root=root) else '')


def changed(told: dict, root: Path = ROOT) -> list[str] | None:
    "Files that differ from those which were measured; None where git cannot say."
    commit, paths = told.get('commit', '').partition('+')[0], told.get('paths', [])
    if not commit or not paths:
        return None
    found = git('diff', '--name-only', commit, '--', *paths, root=root)
    return None if found is None else found.splitlines()


@functools.cache
def old() -> dict[str, list[str]]:
    "Results older than the code, each with the files that have changed."
    return {name: files for name in names() if (files := changed(story(name)))}


def read_by(source: str) -> list[str]:
    "The results that the code of a page reads."
    found = re.findall(r"docs/results/(\w+)\.csv|results\('(\w+)'\)", source)
    return [name for name in dict.fromkeys(one or other for one, other in found)]


def note(source: str) -> str:
    "What a page says of results of an earlier version that it reads; nothing where there are none."
    links = ', '.join(
        f'[{name}](/benchmarks/runs.qmd#{name})' for name in read_by(source) if name in old()
    )
    return (
        f'::: {{.pace}}\nMeasured with an earlier version of the code: {links}\n:::'
        if links
        else ''
    )


def line(name: str, told: dict, files: list[str] | None) -> str:
    "One line of the report."
    if files is None:
        said = 'unknown: git history or the commit is missing here'
    elif not files:
        said = 'as the code stands'
    else:
        said = (
            f'{len(files)} files changed, {", ".join(files[:3])}{", ..." * (len(files) > 3)};'
            f' again: {told.get("command", f"make bench name={name}")}'
        )
    return f'{name:24}{told.get("commit") or "no commit":22}{said}'


def main() -> int:
    for name in names():
        print(line(name, told := story(name), changed(told)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
