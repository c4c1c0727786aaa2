"""How long a plain import takes, beside importing numpy and numba alone; the package aims at less than three times.

    python bench/import_time.py [--repeats 15] [--out docs/results/import_time.csv]

Each import runs in a process of its own; the kinds take turns, so that a busy moment of the machine hits them all.
The second table says how often a second process compiles a kernel, which should be never.
"""
import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import date
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = 3.
PARTS = sorted(f'extreme_opt.{path.parent.name}' for path in (ROOT/'extreme_opt').glob('*/__init__.py'))
KINDS = {'numpy and numba': ['numpy', 'numba'], 'extreme_opt': ['extreme_opt'], **{part: [part] for part in PARTS}, 'everything': ['extreme_opt', *PARTS]}
CODE = 'import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)'


def seconds(modules):
    "Wall time of one import in a new process, the start of the interpreter left out."
    code = CODE.format('; '.join(f'import {module}' for module in modules))
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--repeats', type=int, default=15)
    parser.add_argument('--out', type=Path, default=ROOT/'docs'/'results'/'import_time.csv')
    given = parser.parse_args()
    for modules in KINDS.values(): seconds(modules)     # bytecode and file cache are warm
    times = {kind: [] for kind in KINDS}
    for _ in range(given.repeats):
        for kind, modules in KINDS.items(): times[kind].append(seconds(modules))
    medians = {kind: statistics.median(values) for kind, values in times.items()}
    base = medians['numpy and numba']
    print(f'{"import":<24}{"median s":>10}{"ratio":>8}   of {given.repeats} runs each')
    for kind, median in medians.items(): print(f'{kind:<24}{median:>10.3f}{median / base:>8.2f}')

    starts = [json.loads(subprocess.run([sys.executable, 'tests/tiny_fits.py'], cwd=ROOT, capture_output=True, text=True, check=True,
                                        env={**os.environ, 'PYTHONPATH': str(ROOT)}).stdout) for _ in range(2)]
    n_compiled = len(starts[1]['compiled']) - 1         # one kernel is compiled on purpose
    print(f'kernels compiled by the second start: {n_compiled}')

    given.out.parent.mkdir(parents=True, exist_ok=True)
    versions = ' '.join([f'python={platform.python_version()}', *(f'{name}={metadata.version(name)}' for name in ('numpy', 'scipy', 'numba'))])
    with given.out.open('w', newline='', encoding='utf-8') as file:
        table = csv.writer(file, lineterminator='\n')
        table.writerow('method task peer threads seconds quality peak_mb versions date'.split())
        for kind, median in medians.items():
            table.writerow([kind, 'import', 'numpy and numba', 1, f'{median:.4f}', f'{median / base:.3f}', '', versions, date.today().isoformat()])
    print(f'wrote {given.out}')
    return medians['everything'] / base >= TARGET or n_compiled > 0


if __name__ == '__main__': sys.exit(main())
