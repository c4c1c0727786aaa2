"""What it costs to check sparse rows and drawn ids where they enter, as a share of the work that
follows, at four sizes, one core.

- `check_sparse` of a CSR matrix, beside one epoch of `SoftmaxClassifier.fit` on the same rows (ten
  columns of 50 occur per row, 100 classes,
  no search for a rate). A fit has 50 epochs by default, so the share of a fit is smaller.
- `check_draw` and `check_ids` of the ids of a step, beside that step: implicit SGD on a million
  weights, SVRG on comparisons.
- The digest of a model file, beside writing the file without one.

`percent_of_work` is the median share over the rounds.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import machine
import numpy as np
from scipy import sparse

ROUNDS = 5
SIZES = 1_000, 10_000, 100_000, 1_000_000


def matrix(n_samples):
    rng = np.random.default_rng(0)
    columns = np.sort(
        rng.permuted(np.tile(np.arange(50, dtype=np.int32), (1000, 1)), axis=1)[:, :10]
    )
    columns = columns[rng.integers(1000, size=n_samples)].ravel()
    starts = np.arange(0, 10 * n_samples + 1, 10, dtype=np.int32)
    values = rng.normal(size=10 * n_samples).astype(np.float32)
    return sparse.csr_array((values, columns, starts), (n_samples, 50)), rng.integers(
        100, size=n_samples
    )


def tasks():
    "Task -> (name of the check, the check, the work)."
    from extreme_opt.core.linalg import check_ids, check_sparse
    from extreme_opt.core.serialize import _content_digest
    from extreme_opt.core.svrg import SVRG
    from extreme_opt.ordinal import Comparisons
    from extreme_opt.softmax import DoubleSum, ImplicitSGD, SoftmaxClassifier
    from extreme_opt.softmax.double_sum import check_draw

    for n in SIZES:
        X, y = matrix(n)
        model = SoftmaxClassifier(learning_rate=1.0, max_epochs=1)
        yield (
            f'fit of one epoch, {n:,} sparse rows',
            'check_sparse',
            lambda X=X: check_sparse(X),
            lambda X=X, y=y, model=model: model.fit(X, y),
        )
    for n in SIZES[:3]:
        X, y = matrix(n)
        problem, solver = DoubleSum(X, y, 20_000), ImplicitSGD(1.0)
        state, rng = solver.init(problem, problem.init_params()), np.random.default_rng(0)
        draw = problem.draw(rng, n)
        yield (
            f'step of implicit SGD, {n:,} updates',
            'check_draw',
            lambda problem=problem, draw=draw: check_draw(problem, draw, 'classes'),
            lambda problem=problem, solver=solver, state=state, rng=rng: solver.step(
                problem, state, rng
            ),
        )
        objects = rng.permuted(np.tile(np.arange(1000), (1000, 1)), axis=1)[:, :3]
        triplets = np.repeat(objects, n // 1000, axis=0)
        comparisons, svrg = Comparisons(triplets), SVRG()
        start = svrg.init(comparisons, comparisons.init_params(0))
        batch = comparisons.draw(rng, n)
        yield (
            f'step of SVRG, {n:,} comparisons',
            'check_ids',
            lambda batch=batch, n=n: check_ids(batch, n, 'batch', 'comparisons'),
            lambda comparisons=comparisons, svrg=svrg, start=start, rng=rng: svrg.step(
                comparisons, start, rng
            ),
        )
    for n in SIZES[1:]:
        members = {'a0': np.random.default_rng(0).normal(size=n)}
        path = Path(tempfile.mkdtemp()) / 'x.npz'
        yield (
            f'file of {n:,} numbers',
            'digest',
            lambda members=members: _content_digest(members),
            lambda members=members, path=path: np.savez(path, **members),
        )


def main() -> list[dict]:
    rows = []
    for task, name, check, work in tasks():
        timings = machine.race({name: check, 'work': work}, ROUNDS)
        share = machine.ratio(timings[name].seconds, timings['work'].seconds)
        print(
            f'{task:45}{name:14}{timings[name].median * 1e3:10.3f} ms, {share:.2%} of the work',
            flush=True,
        )
        for method, peer in ((name, ''), ('work', 'what follows the check')):
            rows.append(
                dict(
                    method=method,
                    task=task,
                    peer=peer,
                    **({} if peer else dict(percent_of_work=f'{100 * share:.2f}')),
                    peak_mb=machine.peak_mb(),
                    **timings[method].columns(),
                    versions=machine.versions(),
                    date=machine.today(),
                )
            )
    return rows
