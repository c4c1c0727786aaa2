"""Tools under all chapters beside the usual ones, one core: special functions, log-sum-exp, readers of text files.

- `wright_omega` against `scipy.special.wrightomega`, `log_sum_exp` against `scipy.special.logsumexp`, over arrays that fit the near caches and a
  matrix of 20,000 x 500 scores;
- `read_sparse` against scikit-learn's `load_svmlight_file` on 20,000 rows of 50 values with one label each, and `read_columns` against
  `pandas.read_csv` and `numpy.loadtxt` on 50,000 rows of 20 numbers.

Both sides give the same numbers, which is checked. Peak memory is that of a fresh process that reads the file once.
"""
from __future__ import annotations

import tempfile
from pathlib import Path

import machine
import numpy as np

ROUNDS = 7


def write_files(folder: Path) -> tuple[str, str]:
    "A sparse file in the usual index:value form, and a table of numbers."
    rng = np.random.default_rng(0)
    sparse, table = folder/'rows.svm', folder/'rows.csv'
    with sparse.open('w') as file:
        for label in rng.integers(50, size=20_000):
            columns = np.sort(rng.choice(10_000, 50, replace=False)) + 1
            file.write(f'{label} ' + ' '.join(f'{column}:{value:.5f}' for column, value in zip(columns, rng.random(50), strict=True)) + '\n')
    np.savetxt(table, rng.normal(size=(50_000, 20)), fmt='%.6f', delimiter=',')
    return str(sparse), str(table)


def readers(path: str) -> dict:
    "Ways to read the sparse file or the table: name -> job that gives the numbers (and labels) found."
    from extreme_opt.data import read_columns, read_sparse

    def svmlight():
        from sklearn.datasets import load_svmlight_file
        return load_svmlight_file(path, dtype=np.float32)[0].data

    def pandas():
        from pandas import read_csv
        return read_csv(path, header=None).to_numpy()
    if path.endswith('.svm'): return {'read_sparse': lambda: read_sparse(path).features.data, 'load_svmlight_file': svmlight}
    return {'read_columns': lambda: np.stack(read_columns(path, ['f' * 20]), axis=1), 'pandas.read_csv': pandas, 'numpy.loadtxt': lambda: np.loadtxt(path, delimiter=',')}


def read(kind: str, path: str) -> dict:
    "Read a file one way: the sum of its numbers, and the time, in this process."
    return dict(total=float(np.sum(readers(path)[kind](), dtype=float)))


def functions() -> dict[str, dict]:
    "Task -> name -> job."
    from scipy import special

    from extreme_opt.core import log_sum_exp, wright_omega
    rng = np.random.default_rng(0)
    t, scores = rng.normal(scale=5, size=100_000), rng.normal(size=(20_000, 500)).astype(np.float32)
    return {'Wright omega of 100,000 numbers': {'wright_omega': lambda: wright_omega(t), 'scipy.special.wrightomega': lambda: special.wrightomega(t)},
            'log-sum-exp of 20,000 x 500 scores, float32': {'log_sum_exp': lambda: log_sum_exp(scores, axis=1),
                                                            'scipy.special.logsumexp': lambda: special.logsumexp(scores, axis=1)}}


def main() -> list[dict]:
    rows = []
    common = dict(versions=machine.versions('scikit-learn', 'pandas'), date=machine.today())

    def add(task: str, timings: dict, off: float, peaks: dict | None = None) -> None:
        for name, timing in timings.items():
            print(f'{task:50.50s}{name:28s}{timing.median * 1e3:10.2f} ms, spread {timing.spread:.0%}', flush=True)
            rows.append(dict(method=name, task=task, peer='' if '.' not in name and name != 'load_svmlight_file' else 'usual tool', quality=f'differ by {off:.0e}',
                             peak_mb=(peaks or {}).get(name, machine.peak_mb()), **timing.columns(), **common))
    for task, jobs in functions().items():
        mine, theirs = (job() for job in jobs.values())
        add(task, machine.race(jobs, ROUNDS), float(np.abs(mine - theirs).max()))
    with tempfile.TemporaryDirectory() as name:
        for path, task in zip(write_files(Path(name)), ('sparse rows: a million of index:value', 'table: 50,000 rows of 20 numbers'), strict=True):
            peaks = {kind: machine.fresh(__file__, 'read', kind, path) for kind in readers(path)}
            totals = [each['total'] for each in peaks.values()]
            add(task, machine.race(readers(path), ROUNDS), max(totals) - min(totals), {kind: each['peak_mb'] for kind, each in peaks.items()})
    return rows
