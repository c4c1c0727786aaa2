"""How long a plain import takes, beside importing numpy and numba alone; the package aims at less
than three times.

Each import runs in a process of its own; the kinds take turns, so that a busy moment of the machine
hits them all. Quality is the ratio of the medians. With --full the last line says how many kernels
a second start of tests/library/package/tiny_fits.py compiles, which should be none: they are kept
on disk.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parent.parent
TARGET, ROUNDS = 3.0, 5
PARTS = sorted(
    f'extreme_opt.{path.parent.name}' for path in (ROOT / 'extreme_opt').glob('*/__init__.py')
)
BASE = 'numpy and numba'
KINDS = {
    BASE: ['numpy', 'numba'],
    'extreme_opt': ['extreme_opt'],
    **{part: [part] for part in PARTS},
    'all parts': ['extreme_opt', *PARTS],
}


def run(*words: str) -> str:
    "Standard output of this Python on `words`."
    env = {**os.environ, 'PYTHONPATH': str(ROOT)}
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True, env=env
    ).stdout


def seconds(modules: list[str]) -> float:
    "Wall time of one import in a new process, the start of the interpreter left out."
    return float(
        run(
            '-c',
            f'import time; start = time.perf_counter(); import {", ".join(modules)};'
            ' print(time.perf_counter() - start)',
        )
    )


def bring(modules: list[str]) -> dict:
    "Import these in this process."
    sys.path.insert(0, str(ROOT))
    for module in modules:
        importlib.import_module(module)
    return {}


def main() -> list[dict]:
    for modules in KINDS.values():
        seconds(modules)  # bytecode and file cache are warm
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for turn in range(ROUNDS):
        for kind in list(KINDS)[:: -1 if turn % 2 else 1]:
            taken[kind].append(seconds(KINDS[kind]))
    timings = {kind: machine.Timing(each) for kind, each in taken.items()}
    medians = {kind: timing.median for kind, timing in timings.items()}
    ratios = {kind: median / medians[BASE] for kind, median in medians.items()}
    print(f'{"import":<24}{"median s":>10}{"ratio":>8}   of {ROUNDS} runs each')
    for kind, median in medians.items():
        print(f'{kind:<24}{median:>10.3f}{ratios[kind]:>8.2f}')
    print(
        f'{"meets" if ratios["all parts"] < TARGET else "MISSES"} the target: less than'
        f' {TARGET:.0f} times'
    )
    if os.environ.get('EXTREME_OPT_FULL') == '1':
        run('tests/library/package/tiny_fits.py')
        again = json.loads(run('tests/library/package/tiny_fits.py'))['compiled']
        print(f'kernels compiled by a second start: {len(again) - 1}')  # one is compiled on purpose
    peaks = {
        kind: machine.fresh(__file__, 'bring', modules)['peak_mb']
        for kind, modules in KINDS.items()
    }
    return [
        dict(
            method=kind,
            task='import',
            peer='' if kind != BASE else 'what it stands on',
            times_base=f'{ratios[kind]:.2f}',
            peak_mb=peaks[kind],
            versions=machine.versions(),
            date=machine.today(),
            **timings[kind].columns(),
        )
        for kind in KINDS
    ]


if __name__ == '__main__':
    main()
