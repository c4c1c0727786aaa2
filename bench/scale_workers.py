"""What more than one process costs and gives, on this machine:

- bytes that all processes write into their sockets during one gradient, one curvature product and
  one pass of rotating blocks, against the formulas;
- a gradient at fixed work by one process and by two workers (strong scaling), through the very same
  problem;
- what a round trip costs when there is nothing to compute, and a megabyte of parameters more;
- an out-of-core run in a process of its own: data four times the memory that it may have, one
  memory-mapped part after the other; the limit is
  on data and anonymous memory (RLIMIT_DATA), the peak is all that was resident, maps included.

A fit on a dask data frame of five times the memory of its worker is in bench/scale_dataframe.py.

Seconds are medians over rounds, taken by turns.
"""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path

import machine
import numpy as np

from extreme_opt.bound import LogLinear
from extreme_opt.core import LBFGS, minimize
from extreme_opt.scale import Sharded, local_client
from extreme_opt.scale.files import file_parts, save_part
from extreme_opt.scale.shards import bytes_sent, product_bytes, step_bytes
from extreme_opt.softmax import DoubleSum, Rotation
from extreme_opt.softmax.rotation import rotation_bytes

ROUNDS, LIMIT_MB, PART_MB, N_PARTS = 7, 512, 64, 32


def row(method, task, peer, seconds=0.0, threads=1, peak=None, **measured) -> dict:
    return machine.row(
        method=method,
        task=task,
        peer=peer,
        threads=threads,
        seconds=f'{seconds:.5f}',
        **measured,
        peak_mb=machine.peak_mb() if peak is None else peak,
    )


def sparse_rows(n, d, classes, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d), np.float32), rng.integers(classes, size=n)


def one_pass(whole, params):
    solver = Rotation()
    return solver.step(whole, solver.init(whole, params), np.random.default_rng(0))


def traffic(client) -> list[dict]:
    X, y = sparse_rows(200, 500, 200)
    bound = LogLinear(X, y, 200, dtype=np.float64)
    double = DoubleSum(X, y, 200, alpha=1.0, dtype=np.float64)
    small = DoubleSum(*sparse_rows(150_000, 2, 2), 2, dtype=np.float64)
    found, vector = [], np.ones(bound.n_params)
    for name, problem, job, formula in (
        (
            'gradient, LogLinear',
            bound,
            lambda one, at: one.loss_and_grad(at),
            step_bytes(bound.n_params, 2),
        ),
        (
            'curvature product, LogLinear',
            bound,
            lambda one, at: one.ggn_vp(at, vector),
            product_bytes(bound.n_params, 2),
        ),
        (
            'gradient, DoubleSum',
            small,
            lambda one, at: one.loss_and_grad(at),
            step_bytes(small.n_weights, 2, small.n_samples),
        ),
        (
            'pass of rotating blocks',
            double,
            one_pass,
            rotation_bytes(double.n_weights, double.n_samples, 2),
        ),
    ):
        whole, params = Sharded(problem, client, 2), problem.init_params() + 0.01
        job(whole, params)  # compiled, and for the product: the point is there
        if 'product' not in name:
            params = params + 0.01
        n = bytes_sent(client, lambda job=job, whole=whole, params=params: job(whole, params))
        found.append(
            row('bytes', name, '2 workers', threads=2, bytes_sent=n, bytes_formula=formula)
        )
    return found


def scaling(client) -> list[dict]:
    problem = LogLinear(*sparse_rows(200_000, 100, 20), 20)
    whole = Sharded(problem, client, 2)
    tiny = Sharded(LogLinear(*sparse_rows(4, 2, 2), 2), client, 2)
    wide = LogLinear(*sparse_rows(4, 25_000, 20), 20, dtype=np.float32)
    large, moves = Sharded(wide, client, 2), iter(np.linspace(0, 1, 1000))

    def at(one):
        return one.init_params() + one.dtype.type(
            next(moves)
        )  # a new point each time: parameters travel

    seconds = machine.alternate(
        {
            '1 process': lambda: problem.loss_and_grad(at(problem)),
            '2 workers': lambda: whole.loss_and_grad(at(problem)),
            'nothing': lambda: tiny.loss_and_grad(at(tiny)),
            'wide': lambda: large.loss_and_grad(at(wide)),
            'wide here': lambda: wide.loss_and_grad(at(wide)),
        },
        ROUNDS,
    )
    middle = {name: float(np.median(some)) for name, some in seconds.items()}
    gain = machine.ratio(seconds['1 process'], seconds['2 workers'])
    megabytes = wide.n_params * 4 / 1e6
    each = max(0.0, middle['wide'] - middle['nothing'] - middle['wide here']) / megabytes
    task = '200,000 x 100 dense float32, 20 classes'
    return [
        row('gradient', task, '1 process', middle['1 process']),
        row('gradient', task, '2 workers', middle['2 workers'], 2, times_one_process=f'{gain:.2f}'),
        row('round trip', 'nothing to compute', '2 workers', middle['nothing'], threads=2),
        row('megabyte', 'parameters and gradient, float32', '2 workers', each, threads=2),
    ]


def make(columns):
    return LogLinear(columns['features'], columns['labels'], 5, ridge=1e-3)


def out_of_core(folder: str) -> dict:
    "Three steps on all parts, one part in memory at a time; in a process that may not have more."
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_MB * 2**20, LIMIT_MB * 2**20))
    paths = sorted(Path(folder).iterdir())
    run = minimize(Sharded.of(file_parts(paths, make), keep=False), LBFGS(), max_iter=3)
    return dict(
        seconds=run.history[-1]['seconds'],
        losses=run.column('loss').tolist(),
        data_mb=sum(file.stat().st_size for path in paths for file in path.iterdir()) / 2**20,
    )


def beyond_memory() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        for k in range(N_PARTS):
            X = rng.standard_normal((PART_MB * 2**20 // 256, 64), np.float32)
            save_part(
                Path(folder) / f'part-{k:02}', features=X, labels=(X[:, 0] > 0) + 2 * (X[:, 1] > 0)
            )
            del X
        found = machine.fresh(__file__, 'out_of_core', folder)
    if not found['peak_mb'] < LIMIT_MB <= found['data_mb'] / 4:
        raise RuntimeError('the run was not out of core')
    return row(
        'out of core',
        f'{N_PARTS} memory-mapped parts, 3 steps',
        '1 process',
        found['seconds'],
        peak=found['peak_mb'],
        data_mb=f'{found["data_mb"]:.0f}',
        limit_mb=LIMIT_MB,
        loss_ratio=f'{found["losses"][0] / found["losses"][-1]:.1f}',
    )


def main() -> list[dict]:
    rows = [beyond_memory()]
    with local_client(2) as client:
        return rows + scaling(client) + traffic(client)
