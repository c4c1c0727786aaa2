"""What `make slow` runs, one part after the other, within a limit: slow cells, slow tests, all
claims on other seeds, mutants of the ledger, long results.

    python tests/tools/slow.py [--minutes 45] [--workers 2]

A part that fails does not keep the others from running. What the limit leaves out is named. Parts
that ended well are kept in build/slow.json for the code as it stands: a run that was stopped goes
on with the others when it is called again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'docs'))
import notebooks  # noqa: E402

DONE = ROOT / 'build' / 'slow.json'
RESERVE = 1  # minutes that the last part leaves to the limit


def digest() -> str:
    "Of the code that is tested: a run that was stopped goes on only for the same code."
    found = hashlib.sha256()
    for folder in ('extreme_opt', 'tests', 'bench', 'docs', 'assignments'):
        for path in sorted((ROOT / folder).rglob('*.py')):
            found.update(path.read_bytes())
    for path in notebooks.find():
        for slow in (False, True):
            found.update(notebooks.code_hash(notebooks.read(path), slow).encode())
    return found.hexdigest()[:16]


def parts(workers: int) -> dict[str, tuple[list[str], dict[str, str]]]:
    "Name -> command and environment; `{minutes}` stands for what is left."
    python, test = sys.executable, [sys.executable, '-m', 'pytest']
    return {
        'slow cells': ([python, 'docs/notebooks.py', 'slow', '--workers', str(workers)], {}),
        'slow tests': ([*test, '-n', str(workers), '--dist', 'loadscope', '-m', 'slow'], {}),
        'killed runs and malformed files': (
            [
                *test,
                'tests/library/core/test_run.py',
                'tests/library/data/test_readers.py',
                '-k',
                'killed or malformed',
            ],
            dict(EXTREME_OPT_KILLS='10', EXTREME_OPT_FUZZ='10000'),
        ),
        'claims on other seeds': ([python, 'docs/claims.py', 'run'], {}),
        'mutants of the ledger': ([python, 'docs/ledger.py', 'all'], {}),
        'long results': ([python, 'bench/run.py', '--slow', '{minutes}'], {}),
    }


def run(command: list[str], env: dict[str, str], seconds: float) -> str:
    "How a command ended: done, failed, or stopped by the limit."
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **env}, start_new_session=os.name != 'nt'
    )
    try:
        return 'done' if process.wait(seconds) == 0 else 'failed'
    except subprocess.TimeoutExpired:
        return 'stopped by the limit'
    finally:
        if process.poll() is None:
            if os.name == 'nt':
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--minutes', type=float, default=45.0)
    parser.add_argument('--workers', type=int, default=2)
    given = parser.parse_args(argv)
    end, now = time.monotonic() + 60 * given.minutes, digest()
    kept = json.loads(DONE.read_text(encoding='utf-8')) if DONE.exists() else {}
    done = kept.get('done', []) if kept.get('code') == now else []
    ended = {}
    for name, (command, env) in parts(given.workers).items():
        left = end - time.monotonic()
        if name in done:
            ended[name] = 'done before, for this code'
        elif left < 60 * RESERVE:
            ended[name] = 'not run, the limit is reached'
        else:
            print(f'== {name}', flush=True)
            minutes = f'{left / 60 - RESERVE:.1f}'
            mark = time.monotonic()
            ended[name] = run([word.format(minutes=minutes) for word in command], env, left)
            if ended[name] == 'done':
                done.append(name)
            ended[name] += f', {(time.monotonic() - mark) / 60:.1f} minutes'
            DONE.parent.mkdir(exist_ok=True)
            DONE.write_text(json.dumps(dict(code=now, done=done)), encoding='utf-8')
    print()
    for name, how in ended.items():
        print(f'{name:34}{how}')
    return int(len(done) < len(ended))


if __name__ == '__main__':
    sys.exit(main())
