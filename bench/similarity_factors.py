"""Alternating least squares at size beside `implicit`: 120,000 users, 18,000 items, 2.5 million
made pairs whose items follow Zipf's law, 64 components, float32, one objective and one start.

A row has processor seconds of an iteration (the least of the iterations after the first), the loss
after 1, 3 and 10 iterations by our own `AllPairs.loss` in float64, and the peak memory of a process
that has the data in memory, makes the problem or the model, and runs ten iterations. `ALS` is
conjugate gradients with the exact solver where residuals are large, `ALS(n_cg_steps=0)` the exact
solver for all; their loss of each iteration comes from the sums of the solver. `implicit` runs ten
fits of one iteration, each from where the last one ended; it takes the transpose of its matrix once
more in each, which is left out of its seconds. Its objective: confidence 5 on the pairs, weight 1
on all others, regularization 8.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

M, N, PAIRS, K, ITERATIONS = 120_000, 18_000, 2_500_000, 64, 10
WEIGHT, RIDGE = 5.0, 8.0
METHODS = {
    'ALS': dict(),
    'ALS, exact': dict(n_cg_steps=0),
    'ALS, two threads': dict(),
    'implicit, cg 3': dict(use_cg=True),
}


def pairs() -> np.ndarray:
    "Distinct pairs; items by Zipf's law, users of uneven activity."
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, N + 1)
    made = np.empty(0, np.int64)
    while len(made) < PAIRS:
        users = (M * rng.random(PAIRS // 2) ** 2).astype(np.int64)
        items = rng.choice(N, PAIRS // 2, p=share / share.sum())
        made = np.unique(np.concatenate([made, users * N + items]))
    kept = np.sort(rng.permutation(made)[:PAIRS])
    return np.column_stack([kept // N, kept % N])


def start() -> np.ndarray:
    "The same first factors for all."
    return (0.1 * np.random.default_rng(1).normal(size=(M + N, K))).astype(np.float32)


def problem(dtype, n_jobs=1, seen=None):
    "Our problem with the objective that `implicit` has."
    from extreme_opt.similarity import AllPairs, Linear

    return AllPairs(
        pairs() if seen is None else seen,
        n_components=K,
        left=Linear(),
        right=Linear(),
        pair_loss='squared',
        pair_weights=np.full(PAIRS, WEIGHT),
        unobserved_weight=1.0,
        impute=0.0,
        ridge=RIDGE,
        n_left=M,
        n_right=N,
        dtype=dtype,
        n_jobs=n_jobs,
    )


def ours(method):
    from extreme_opt.similarity import ALS

    n_jobs = 2 if 'two' in method else 1
    made, solver = problem(np.float32, n_jobs), ALS(**METHODS[method])
    small = made.warmup_problem()
    state = solver.init(small, small.init_params(0))
    solver.step(small, state, None)
    state, told = solver.init(made, start().ravel()), []
    for _ in range(ITERATIONS):
        mark = time.process_time()
        state = solver.step(made, state, None)
        made.loss(state.params)
        told.append(time.process_time() - mark)
        if len(told) in (1, 3, 10):
            yield len(told), state.params
    yield 'seconds', told


def theirs(method):
    import machine

    at = Path(machine.peer_at('main'))
    sys.path += [str(each) for each in at.parent.parent.glob('lib/python*/site-packages')]
    from implicit.als import AlternatingLeastSquares
    from scipy import sparse

    seen, first = pairs(), start()
    matrix = sparse.csr_matrix((np.ones(PAIRS, np.float32), (seen[:, 0], seen[:, 1])), shape=(M, N))
    del seen
    mark = time.process_time()
    matrix.T.tocsr()
    turn = time.process_time() - mark
    model = AlternatingLeastSquares(
        factors=K, regularization=RIDGE, alpha=WEIGHT, iterations=1, num_threads=1,
        dtype=np.float32, random_state=0, **METHODS[method],
    )  # fmt: skip
    model.user_factors, model.item_factors = first[:M].copy(), first[M:].copy()
    told = []
    for _ in range(ITERATIONS):
        mark = time.process_time()
        model.fit(matrix, show_progress=False)
        told.append(time.process_time() - mark - turn)
        if len(told) in (1, 3, 10):
            yield len(told), np.concatenate([model.user_factors, model.item_factors]).ravel()
    yield 'seconds', told


def child(method):
    import machine

    told, kept = {}, {}
    for what, value in (theirs if method.startswith('implicit') else ours)(method):
        if what == 'seconds':
            told['seconds'] = min(value[1:])
        else:
            kept[what] = value.copy()
            told['peak'] = machine.peak_mb() - sum(each.nbytes for each in kept.values()) / 2**20
    exact = problem(np.float64)
    told |= {f'loss_{what}': exact.loss(value.astype(np.float64)) for what, value in kept.items()}
    print(json.dumps(told), flush=True)


def told_by(method):
    "Run one method in a process of its own."
    done = subprocess.run(
        [sys.executable, __file__, 'child', method], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> list[dict]:
    import machine
    from similarity_gradient import kept

    rows = []
    for method in METHODS:
        if method.startswith('implicit') and not machine.peer_at('main'):
            continue
        told = kept(__file__, method, lambda method=method: told_by(method))
        print(method, told)
        rows.append(
            dict(
                method=method,
                task=f'{M} x {N}, {PAIRS} pairs, {K} components',
                peer='implicit' if method.startswith('implicit') else 'kernel',
                threads=2 if 'two' in method else 1,
                seconds=f'{told["seconds"]:.2f}',
                **{f'loss_{at}': f'{told[f"loss_{at}"]:.2f}' for at in (1, 3, 10)},
                peak_mb=f'{told["peak"]:.0f}',
                versions=machine.versions(),
                date=machine.today(),
            )
        )
    return rows


if __name__ == '__main__' and sys.argv[1:2] == ['child']:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    child(sys.argv[2])
