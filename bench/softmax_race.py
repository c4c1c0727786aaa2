"""The race to a training log-loss of 0.1: ours against PyTorch with the full softmax, one thread,
float32.

Rows hold half of their non-zeros in the columns of their class (as many as a row has), the other
half anywhere; values are uniform, rows have length one. So a row says plainly which class it is
from, and a few looks at it are enough: such rows favor everyone who can read that off, most of all
methods that make many cheap updates in a pass. A factor found here says nothing about real rows;
`softmax_real` races on those. `separable`: labels are those classes. `replaced`: every fifth label
is drawn anew from all classes. Shape A: 15,000 rows, 5,000 columns,
230 non-zeros, 4,000 classes. Shape L: 90,737 x 10,000, 48, 18,207.

The clock runs during updates alone; between them the exact log-loss is taken on 300 fixed rows,
after each pass of ours and four times a pass of PyTorch's. A run ends below 0.1 or after LIMIT
seconds of updates; then its `seconds` are a lower bound, and `log_loss` tells where it stood. Ours:
`ImplicitSGD` with one wrong class an update, rows shuffled, a rate that falls by 0.9 a pass, from a
start of zeros. PyTorch: minibatches of sparse rows (CSR times dense; rows made dense first were
slower), cross-entropy over all classes with the gradient written out (no autograd) into one array
that is made once, and its own Adam or Adagrad, fused, or SGD with momentum; the same start. It runs
in a Python of its own, named by EXTREME_OPT_PEERS (any with numpy, scipy, torch), or is left out.
One search (seconds, separable labels): Adam at rate 0.1 and 256 rows 5.7, 1,024 rows 8.3; at 1 and
256 rows 6.3, 1,024 rows 5.8, 4,096 rows 7.2; Adagrad at 1 and 256 rows 5.8, 1,024 rows 6.8, 4,096
rows 8.1; SGD at 1,000 and 1,024 rows 12.0.

    python bench/run.py softmax_race                       shape A, the best two PyTorch settings of
                                                           the search
    EXTREME_OPT_FULL=1 python bench/run.py softmax_race    the search itself (SEARCH) and shape L:
                                                           half an hour
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import machine
import numpy as np
import scipy.sparse

SHAPES = {'A': (15_000, 5_000, 230, 4_000), 'L': (90_737, 10_000, 48, 18_207)}
GOAL, LIMIT, ROWS = 0.1, 100.0, 300
TASKS = ('A', 'separable'), ('A', 'replaced'), ('L', 'separable')
RATES = (10.0, 30.0, 100.0, 300.0, 1000.0)
SEARCH = [
    ('Adam', 0.1, 256),
    ('Adam', 1.0, 256),
    ('Adam', 0.1, 1024),
    ('Adam', 1.0, 1024),
    ('Adam', 1.0, 4096),
    ('Adagrad', 1.0, 256),
    ('Adagrad', 1.0, 1024),
    ('Adagrad', 1.0, 4096),
    ('SGD', 1000.0, 1024),
]
BEST = [('Adam', 0.1, 256), ('Adagrad', 1.0, 256)]  # of SEARCH
LARGE = [('Adam', 1.0, 4096)]  # on shape L, where an update of all weights takes long


def made(shape: str, replaced: bool) -> dict:
    "Rows as the three arrays of CSR, and labels."
    n_samples, n_features, n_nonzero, n_classes = SHAPES[shape]
    rng = np.random.default_rng(0)
    pools = np.argpartition(rng.random((n_classes, n_features), np.float32), n_nonzero, axis=1)[
        :, :n_nonzero
    ].astype(np.int32)
    classes = rng.integers(n_classes, size=n_samples)
    columns = np.empty((n_samples, n_nonzero), np.int32)
    for i, k in enumerate(classes):
        own = rng.choice(pools[k], n_nonzero // 2, replace=False)
        others = rng.choice(n_features, 2 * n_nonzero, replace=False).astype(np.int32)
        columns[i] = np.sort(
            np.concatenate([own, others[~np.isin(others, own)][: n_nonzero - len(own)]])
        )
    values = rng.random((n_samples, n_nonzero), np.float32)
    values /= np.linalg.norm(values, axis=1)[:, None]
    if replaced:
        classes = np.where(
            rng.random(n_samples) < 0.2, rng.integers(n_classes, size=n_samples), classes
        )
    return dict(
        data=values.ravel(),
        indices=columns.ravel(),
        indptr=np.arange(n_samples + 1, dtype=np.int32) * n_nonzero,
        labels=classes,
        shape=np.array([n_features, n_classes]),
    )


def read(path: str) -> tuple:
    "Rows, labels and number of classes."
    with np.load(path) as file:
        some = dict(file)
    n_features, n_classes = some['shape']
    return (
        scipy.sparse.csr_array(
            (some['data'], some['indices'], some['indptr']), shape=(len(some['labels']), n_features)
        ),
        some['labels'],
        int(n_classes),
    )


def race(advance, log_loss, turn: float, limit: float) -> dict:
    "Seconds of `advance` until `log_loss` is low enough, turn by turn."
    seconds, turns, loss = 0.0, 0, math.inf
    while seconds < limit:
        mark = time.perf_counter()
        advance()
        seconds += time.perf_counter() - mark
        turns, loss = turns + 1, log_loss()
        if not GOAL <= loss < math.inf:
            break
    return dict(seconds=seconds, passes=turns * turn, loss=loss)


def fixed_rows(n_samples: int) -> np.ndarray:
    "The rows that the log-loss is taken on."
    return np.sort(np.random.default_rng(1).choice(n_samples, ROWS, replace=False))


def ours(path: str, rate: float, limit: float) -> dict:
    from extreme_opt.core import iterate
    from extreme_opt.softmax import DoubleSum, ImplicitSGD

    problem = DoubleSum(*read(path))
    solver = ImplicitSGD(rate, visits='shuffled', n_updates=problem.n_samples)
    tiny, small = problem.warmup_problem(), solver.warmup_problem()
    small.step(tiny, small.init(tiny, tiny.init_params()), np.random.default_rng(0))
    states, some = iterate(problem, solver, seed=0), fixed_rows(problem.n_samples)
    found = [next(states)]

    def advance():
        found[0] = next(states)

    with np.errstate(all='ignore'):
        return race(advance, lambda: problem.log_loss(found[0].params, some), 1.0, limit)


def torch_peer(path: str, kind: str, rate: float, size: int, limit: float) -> dict:
    import torch  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    rows, labels, n_classes = read(path)
    n_samples, n_features = rows.shape
    rng, weights = np.random.default_rng(0), torch.zeros(n_features, n_classes)
    make = dict(
        Adam=lambda p, lr: torch.optim.Adam(p, lr, fused=True),
        Adagrad=lambda p, lr: torch.optim.Adagrad(p, lr, fused=True),
        SGD=lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9),
    )[kind]
    optimizer, targets = make([weights], lr=rate), torch.from_numpy(labels.astype(np.int64))
    weights.grad = grad = torch.zeros_like(weights)
    queue: list = []

    def sparse(part):
        return torch.sparse_csr_tensor(
            *map(torch.from_numpy, (part.indptr.astype(np.int32), part.indices, part.data)),
            part.shape,
        )

    def update(ids):
        part, at = rows[ids], torch.arange(len(ids))
        probabilities = torch.softmax(sparse(part) @ weights, 1)
        probabilities[at, targets[ids]] -= 1
        torch.addmm(grad, sparse(part.T.tocsr()), probabilities / len(ids), beta=0, out=grad)
        optimizer.step()

    def advance():
        for _ in range(max(1, n_samples // size // 4)):
            if not queue:
                order = rng.permutation(n_samples)
                queue.extend(order[k : k + size] for k in range(0, n_samples, size))
            update(queue.pop())

    some = fixed_rows(n_samples)
    test = sparse(rows[some])
    turn = max(1, n_samples // size // 4) * size / n_samples
    with torch.no_grad():
        return race(
            advance,
            lambda: float(torch.nn.functional.cross_entropy(test @ weights, targets[some])),
            turn,
            limit,
        )


def row(task: str, method: str, setting: str, found: dict) -> dict:
    "What the table keeps of a run."
    return machine.row(
        method,
        task,
        f'{found["seconds"]:.2f}',
        peer=setting,
        log_loss=f'{found["loss"]:.3f}',
        passes=f'{found["passes"]:.3g}',
        peak_mb=round(found['peak_mb'], 1),
    )


@contextlib.contextmanager
def rows_at(shape: str, replaced: bool = False):
    "A file with the rows."
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / 'rows.npz')
        np.savez(path, **made(shape, replaced))
        yield path


def main() -> Iterator[dict]:
    peers, full = os.environ.get('EXTREME_OPT_PEERS'), os.environ.get('EXTREME_OPT_FULL')
    for shape, kind in TASKS if full else TASKS[:2]:
        large, task = shape == 'L', f'{shape} {kind}'
        with rows_at(shape, kind == 'replaced') as path:
            for rate in RATES[2:3] if large else RATES:
                found = machine.fresh(__file__, 'ours', path, rate, LIMIT)
                yield row(task, 'ImplicitSGD', f'rate {rate:g}', found)
            settings = LARGE if large else SEARCH if full else BEST
            for optimizer, rate, size in settings if peers else ():
                given = path, optimizer, rate, size, 2.5 * LIMIT if large else LIMIT
                found = machine.fresh(__file__, 'torch_peer', *given, python=peers)
                yield row(task, f'PyTorch {optimizer}', f'rate {rate:g}, {size} rows', found)
