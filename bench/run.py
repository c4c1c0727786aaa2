"""Measure speed: `python bench/run.py NAME` runs bench/NAME.py, without a name every script, and each writes docs/results/NAME.csv.

A script has a function `main() -> list[dict]`, one row per thing measured, with the columns below; `bench/machine.py` has what they share.
"""
from __future__ import annotations

import csv
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / 'docs' / 'results'
COLUMNS = ['method', 'task', 'peer', 'threads', 'seconds', 'quality', 'peak_mb', 'versions', 'date']
SHARED = {'run', 'machine'}


def scripts() -> dict[str, Path]:
    "Every measuring script by its name."
    return {path.stem: path for path in sorted(HERE.glob('*.py')) if path.stem not in SHARED}


def measure(path: Path) -> list[dict]:
    "Import a script and run its `main`."
    spec = importlib.util.spec_from_file_location(f'bench_{path.stem}', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main()


def write(rows: list[dict], path: Path) -> None:
    "Write rows as CSV, whole or not at all."
    for row in rows:
        if set(row) != set(COLUMNS): raise ValueError(f'{path.name}: a row has the columns {sorted(row)}, but {COLUMNS} are needed')
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix('.part')
    with part.open('w', newline='', encoding='utf-8') as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        table.writeheader(); table.writerows(rows)
    part.replace(path)


def main(names: list[str]) -> int:
    known = scripts()
    names = [name.removesuffix('.py').removeprefix('bench/') for name in names] or list(known)
    for name in names:
        if name not in known: sys.exit(f'bench has no script {name!r}; there are: {", ".join(known)}')
    for name in names:
        print(f'== {name}', flush=True)
        write(measure(known[name]), RESULTS / f'{name}.csv')
        print(f'wrote docs/results/{name}.csv', flush=True)
    return 0


if __name__ == '__main__':
    for variable in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS'): os.environ.setdefault(variable, '1')
    sys.path.insert(0, str(HERE))
    sys.exit(main(sys.argv[1:]))
