"""Measure speed: each script of this folder answers one question and leaves docs/results/NAME.csv
(rows) and NAME.json (how they came about).

    python bench/run.py                 every script that takes minutes at most and has changed
                                        since it was last run
    python bench/run.py NAME ...        these, whatever was run before
    python bench/run.py --slow 30       of the scripts that take longer those that have changed, as
                                        many as fit into so many minutes
    python bench/run.py --full          every script, in full length (hours); when stopped, the next
                                        call goes on where it was
    python bench/run.py --list          what is there, and which results are older than the code

bench/README.md says what a script looks like. `APART = True` leaves it to calls by its name,
because it needs more than the repository. What a script does in more depth with --full it learns
from EXTREME_OPT_FULL=1. A result counts as fresh while no file of the script and of the packages
that it uses differs from the commit that was measured (docs/freshness.py). PARTS names a folder for
finished parts. Rivals live in build/peers, made when a script first asks for them (their
interpreters reach it as EXTREME_OPT_PEERS, EXTREME_OPT_PEERS_CBLEARN and so on); set these
variables to use your own.
"""

from __future__ import annotations

import argparse
import ast
import csv
import datetime
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'docs')]
import freshness  # noqa: E402

ROOT = HERE.parent
RESULTS, PEERS = ROOT / 'docs' / 'results', ROOT / 'build' / 'peers'
RIVALS = sorted(path.stem for path in (HERE / 'peers').glob('*.txt'))
COLUMNS = ['method', 'task', 'peer', 'threads', 'seconds', 'peak_mb', 'versions', 'date']
OPTIONAL = ['spread', 'how']  # relative spread over repeats; how the seconds were taken
MEASURED = re.compile(r'[a-z][a-z0-9_]*')  # what else was measured: a column each, a number a cell
WORD = re.compile(r'[^\s,;=|]*')
SHARED = freshness.HARNESS
LIMIT, LIMIT_FULL = 15 * 60, 4 * 3600  # seconds that a script may take


def scripts() -> dict[str, Path]:
    """Every result by its name, with the script that measures it: `main` of NAME.py gives NAME,
    another function that names its script's chapter, as `softmax_seeds() -> list[dict]`, its own
    result. Functions that yield rows say `-> Iterator[dict]`."""
    found = {}
    for path in sorted(HERE.glob('*.py')):
        chapter = path.stem.partition('_')[0]
        for call in re.findall(
            r'^def (\w+)\(\) -> (?:list|Iterator)\[dict\]:', text_of(path), re.M
        ):
            if call == 'main' or call.startswith(f'{chapter}_'):
                found[path.stem if call == 'main' else call] = path
    return {name: found[name] for name in sorted(found) if name not in SHARED}


def text_of(path: Path) -> str:
    return path.read_text(encoding='utf-8')


def is_long(name: str, path: Path) -> bool:
    "Whether a result is left to --full: `LONG = True`, or the names of a script's long results."
    said = re.search(r'^LONG = (.+)', text_of(path), re.M)
    named = said and ast.literal_eval(said[1])
    return name in named if isinstance(named, tuple) else bool(named)


def is_apart(path: Path) -> bool:
    "Whether a script runs only when it is named."
    return bool(re.search(r'^APART = True', text_of(path), re.M))


# ------------------------------------------------------------------------------------ what is fresh
def story(name: str) -> dict:
    "How the rows of a script came about; empty where nothing is told."
    return freshness.story(name, RESULTS) if (RESULTS / f'{name}.csv').exists() else {}


def changed(name: str) -> list[str]:
    """Files that have changed since the stored rows were measured; empty where nothing that they
    depend on has."""
    files = freshness.changed(story(name), ROOT)
    return ['how the rows came about is not known to git here'] if files is None else files


def is_fresh(name: str, full: bool = False) -> bool:
    """Whether the stored rows were measured with this very code on a machine like this one, as
    fully as is asked."""
    told = story(name)
    import machine

    return (
        bool(told)
        and not changed(name)
        and told['machine'] == machine.cpu()
        and told['full'] >= full
    )


# ------------------------------------------------------------------------------------------ rivals
def peers(name: str) -> str | None:
    """The interpreter of the environment of bench/peers/NAME.txt; it is made where it is not there
    or is made from other pins."""
    wanted, folder = (HERE / 'peers' / f'{name}.txt').read_text(encoding='utf-8'), PEERS / name
    python = folder / ('Scripts/python.exe' if os.name == 'nt' else 'bin/python')
    stamp = folder / 'made_from.txt'
    if python.exists() and stamp.exists() and stamp.read_text(encoding='utf-8') == wanted:
        return str(python)
    print(f'making the environment of rivals build/peers/{name}', flush=True)
    try:
        subprocess.run([sys.executable, '-m', 'venv', '--clear', str(folder)], check=True)
        install = [str(python), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
        subprocess.run([*install, '-r', str(HERE / 'peers' / f'{name}.txt')], check=True)
    except subprocess.CalledProcessError as error:
        print(
            f'bench/peers/{name}.txt could not be installed ({error}): no rows for these rivals',
            flush=True,
        )
        return None
    stamp.write_text(wanted, encoding='utf-8')
    return str(python)


def parts(path: Path) -> Path:
    "Where a script may keep what it has finished until all is; another place for other code."
    digest = hashlib.sha256()
    for place in freshness.touched(path, ROOT):
        for file in (
            sorted((ROOT / place).rglob('*.py')) if (ROOT / place).is_dir() else [ROOT / place]
        ):
            digest.update(file.read_bytes())
    return ROOT / 'build' / 'bench' / f'{path.stem}-{digest.hexdigest()[:16]}'


def environment(path: Path, full: bool) -> dict[str, str]:
    "What a script finds in its environment: one thread, its rivals, whether all is wanted."
    import machine

    env, text = machine.pinned(1), text_of(path)
    if full:
        env |= {'EXTREME_OPT_FULL': '1', 'FULL': '1'}
    env.setdefault('PARTS', str(parts(path)))
    for name in RIVALS:
        asks, at = rf'peer_(python|at)\(.{name}', f'EXTREME_OPT_PEERS_{name.upper()}'
        if name == 'main':
            asks, at = (
                rf'EXTREME_OPT_PEERS\b|peer_python\(\)|lend_peers\(|{asks}',
                'EXTREME_OPT_PEERS',
            )
        if re.search(asks, text):
            env[at] = env.get(at) or peers(name) or ''
    return env


# ------------------------------------------------------------------------------------------ running
def measure(name: str, path: Path) -> list[dict]:
    "Import a script and run the function that measures a result."
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(
        spec
    )  # kernels that are kept on disk look for it there
    spec.loader.exec_module(module)
    return list(getattr(module, 'main' if name == path.stem else name)())


def ordered(rows: list[dict]) -> list[str]:
    "Names of the columns: what was measured stands between seconds and memory."
    measured = dict.fromkeys(
        name for row in rows for name in row if name not in (*COLUMNS, *OPTIONAL)
    )
    after = [name for name in OPTIONAL if any(name in row for row in rows)]
    return [*COLUMNS[:5], *measured, *COLUMNS[5:], *after]


def write(rows: list[dict], path: Path) -> None:
    "Write rows as CSV, whole or not at all."
    for row in rows:
        if missing := [name for name in COLUMNS if name not in row]:
            raise ValueError(f'{path.name}: a row lacks {missing}; it has {sorted(row)}')
        for name, value in row.items():
            if name in (*COLUMNS, *OPTIONAL):
                continue
            if not MEASURED.fullmatch(name) or not WORD.fullmatch(str(value)):
                raise ValueError(
                    f'{path.name}: {name}={value!r} is no measured number or word under a plain '
                    'name; give each number a column of its own'
                )
    path.parent.mkdir(parents=True, exist_ok=True)
    part, columns = (path.with_suffix('.part'), ordered(rows))
    with part.open('w', newline='', encoding='utf-8') as file:
        table = csv.DictWriter(file, columns, restval='', lineterminator='\n')
        table.writeheader()
        table.writerows(rows)
    part.replace(path)


def alone(name: str) -> None:
    "Measure in this process and store rows and story."
    import machine

    path = scripts()[name]
    full = os.environ.get('EXTREME_OPT_FULL') == '1'
    mark = time.perf_counter()
    paths = freshness.touched(path, ROOT)
    commit = freshness.here(paths, ROOT)
    rows = measure(name, path)
    write(rows, RESULTS / f'{name}.csv')
    kept, took = Path(os.environ.get('PARTS', '')) / 'seconds', time.perf_counter() - mark
    if kept.is_file():  # some parts are of calls that were stopped
        took = max(took, sum(map(float, text_of(kept).split())))
    told = dict(
        command=f'make bench name={name}' + ' full=1' * full,
        commit=commit,
        full=full,
        machine=machine.cpu(),
        cores=os.cpu_count(),
        versions=machine.versions(),
        rivals={each: machine.installed(each) for each in RIVALS if machine.peer_at(each)},
        minutes=round(took / 60, 1),
        date=datetime.date.today().isoformat(),
        how=getattr(sys.modules[path.stem], 'HOW', HOW),
        paths=paths,
    )
    (RESULTS / f'{name}.json').write_text(json.dumps(told, indent=1) + '\n', encoding='utf-8')
    shutil.rmtree(parts(path), ignore_errors=True)


HOW = (
    'In a process of its own; libraries held to the threads that a row names; compiled and warmed'
    ' up before the clock starts; jobs that are compared take turns; medians over repeats where a'
    ' job is short; peak_mb is the most memory of the process that a row was measured in.'
)


def fitting(minutes: float, known: dict[str, Path]) -> list[str]:
    """The long scripts whose code has changed since they were measured, the shorter first, as far
    as they fit; what does not is named."""
    chosen = []
    stale = {
        name: float(story(name).get('minutes') or LIMIT / 60)
        for name, path in known.items()
        if is_long(name, path) and not is_apart(path) and changed(name)
    }
    for name, expected in sorted(stale.items(), key=lambda item: item[1]):
        fits = expected <= minutes
        minutes -= expected * fits
        if fits:
            chosen.append(name)
        else:
            print(
                f'{name} is older than the code and takes about {expected:.0f} minutes, more than'
                f' is left; run it by itself: make bench name={name}',
                flush=True,
            )
    if not stale:
        print('every long result is as the code stands', flush=True)
    return chosen


def seconds_for(args, names: list[str], spent: float) -> float:
    "How long the next script may take; of --slow what is left of its minutes."
    if args.slow is not None:
        return max(1.0, 60 * args.slow - spent)
    return LIMIT_FULL if args.full or names else LIMIT


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description='Measure speed and write docs/results.')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--full', action='store_true', help='every script, in full length')
    parser.add_argument(
        '--list',
        action='store_true',
        help='what is there, and which results are older than the code',
    )
    parser.add_argument(
        '--slow',
        type=float,
        metavar='MINUTES',
        help=(
            'of the long scripts those whose code has changed, as many as fit; the others are named'
        ),
    )
    parser.add_argument('--here', help=argparse.SUPPRESS)
    args, known = parser.parse_args(words), scripts()
    if args.here:
        alone(args.here)
        return 0
    names = [name.removesuffix('.py').removeprefix('bench/') for name in args.names]
    for name in names:
        if name not in known:
            sys.exit(f'bench has no script {name!r}; there are: {", ".join(known)}')
    if args.list:
        for name, path in known.items():
            told = story(name)
            state = 'older than the code' if told and changed(name) else 'fresh' if told else 'lost'
            print(f'{name:24}{"long" * is_long(name, path):6}results {state}')
        return 0
    wanted = names or [
        name
        for name, path in known.items()
        if (args.full or not is_long(name, path)) and not is_apart(path)
    ]
    if args.slow is not None:
        wanted = names = fitting(args.slow, known)
        if not wanted:
            return 0
    failed, started = [], time.monotonic()
    left = [
        f'{name} (long: make bench name={name})'
        for name, path in known.items()
        if name not in wanted and is_long(name, path) and args.slow is None and not names
    ]
    for name in wanted:
        path = known[name]
        if not names and is_fresh(name, args.full):
            left.append(f'{name} (as the code stands, {story(name)["date"]})')
            continue
        print(f'== {name}', flush=True)
        try:
            full = (
                args.full or args.slow is not None and story(name).get('full', False)
            )  # again as it was
            subprocess.run(
                [sys.executable, str(HERE / 'run.py'), '--here', name],
                check=True,
                env=environment(path, full),
                timeout=seconds_for(args, names, time.monotonic() - started),
            )
            print(f'wrote docs/results/{name}.csv', flush=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            if args.slow is not None and isinstance(error, subprocess.TimeoutExpired):
                print(
                    f'{name} was stopped when the {args.slow:g} minutes were over; run it by'
                    f' itself: make bench name={name}',
                    flush=True,
                )
                for other in wanted[wanted.index(name) + 1 :]:
                    print(f'not run: {other} (no time left: make bench name={other})', flush=True)
                break
            failed.append(name)
            print(f'{name} did not end well: {error}', flush=True)
    for word in left:
        print(f'not run: {word}', flush=True)
    if failed:
        print(f'failed: {", ".join(failed)}', file=sys.stderr)
    return bool(failed)


if __name__ == '__main__':
    sys.path.insert(0, str(HERE))
    sys.exit(main(sys.argv[1:]))
