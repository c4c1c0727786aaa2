"""How near the kernels come to what the machine can do, one core.

In one run are measured: bandwidth of a stream from memory and from the second cache, cells and rows
at random places per second, the rate of matrix products (float32, float64) and of exponentials;
then each kernel beside its own limits, turn by turn. Per update are counted:

- bytes: what has to come from memory and go back, were every cell fetched alone; data that stay in
  the near caches count as cache bytes;
- cells: places of a large table that are read, added to and written back; their limit is a loop
  over a ready list of exactly those addresses that
  does nothing else;
- flops: additions and multiplications;
- exps: exponentials and logarithms.

A kernel's limit is the largest of the times that these take at the machine's rates; `share` is that
time over the kernel's own, and `bound` says which of them it was. Seconds are per update (per call
for gradient, product and step). `part_near`, for kernels on sparse rows, is the time of the same
updates with all columns and classes folded into so few that the weights stay in the near caches,
over the kernel's own: arithmetic and bookkeeping without waiting for memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import machine
import numpy as np
from numba import njit
from scipy import sparse
from softmax_kernels import shape_a

from extreme_opt import data
from extreme_opt.bound import LogLinear
from extreme_opt.bound.class_space import chain_times, class_chain
from extreme_opt.core import minimize
from extreme_opt.core.majorize import Majorizer
from extreme_opt.ordinal import STE, Comparisons
from extreme_opt.similarity import MLP, AllPairs
from extreme_opt.softmax import DoubleSum
from extreme_opt.softmax.implicit import implicit_updates
from extreme_opt.softmax.umax import umax_updates

ROUNDS = 9


class Kernel(NamedTuple):
    "What one job does, `n` times over."

    name: str
    task: str
    job: Callable[[], object]
    n: int  # updates of a job
    flops: float = 0.0  # per update
    stream: float = 0.0  # bytes per update from or to memory, in long runs
    cache: float = 0.0  # bytes per update from or to the near caches
    exps: float = 0.0  # per update
    cells: float = 0.0  # places per update that are touched far apart
    limit: Callable[[], object] | None = None  # touches these places and does nothing else
    near: Callable[[], object] | None = None  # as many updates on weights in the near caches
    dtype: str = 'float32'  # of most of the arithmetic


@njit(cache=True)
def _exps(x, out):
    for i in range(len(x)):
        out[i] = math.exp(x[i])


@njit(cache=True)
def _triad(a, b, c, times):
    for _ in range(times):
        for i in range(len(a)):
            a[i] = b[i] + 3 * c[i]
        b[0] = a[0]


@njit(cache=True)
def touch_draws(work, rows, slopes, batch, width):
    """Fetch each drawn comparison and its slopes, read the table rows of its three objects and add
    to a part of them."""
    total, every = 0.0, work.shape[1]
    for q in batch:
        total += slopes[q, 0] + slopes[q, 1]
        for r in range(3):
            i = rows[q, r]
            for c in range(width):
                work[i, c] += work[i, width + c]
            for c in range(2 * width, every):
                total += work[i, c]
    return total


def machine_jobs() -> dict[str, tuple[Callable[[], object], float]]:
    """Jobs that show the machine's rates, and how much each does: bytes, cells, flops or
    exponentials."""
    stream, n_bytes = machine.stream_seconds(2**27)
    near = [np.ones(2**18 // 4, np.float32) for _ in range(3)]  # three quarters of a megabyte
    a32, b32 = (
        np.random.default_rng(seed).normal(size=(800, 800)).astype(np.float32) for seed in range(2)
    )
    a64, b64 = a32.astype(float), b32.astype(float)
    x, out = np.linspace(-5, 0, 1_000_000), np.empty(1_000_000)
    cells, _ = machine.random_job(1_000_000, 2**26 // 4)
    _triad(*near, 1), _exps(x[:2], out)
    return {
        'stream': (stream, n_bytes),
        'cache': (lambda: _triad(*near, 1500), 4500 * near[0].nbytes),
        'cells': (cells, 1_000_000),
        'float32': (lambda: a32 @ b32, 2 * 800**3),
        'float64': (lambda: a64 @ b64, 2 * 800**3),
        'exps': (lambda: _exps(x, out), len(x)),
    }


# ------------------------------------------------------------------------------------------ kernels
def folded(problem: DoubleSum, n_features: int = 512, n_classes: int = 16) -> DoubleSum:
    "The same numbers of non-zeros, row by row, in few columns and classes."
    rows = problem.features
    sizes = np.diff(rows.indptr)
    places = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], sizes)  # the first columns of each
    places *= max(1, n_features // sizes.max())
    few = sparse.csr_array((rows.data, places, rows.indptr), (rows.shape[0], n_features))
    folded = DoubleSum(few, problem.labels % n_classes, n_classes)
    assert folded.features.nnz == rows.nnz
    return folded


def softmax_sparse(task: str, problem: DoubleSum, m: int) -> list[Kernel]:
    rng, rows, n = np.random.default_rng(0), problem.features, problem.n_samples
    draw = problem.draw(rng, n, m)
    classes = np.column_stack([draw.others, problem.labels[draw.sample]])
    limit, _ = machine.touch_job(
        machine.places_of(rows.indptr, rows.indices, draw.sample, classes, problem.n_features),
        problem.n_weights,
    )
    nnz, one, two = rows.nnz / n, problem.init_params(), problem.init_params()
    counts = dict(
        n=n,
        flops=4 * nnz * (m + 1),
        cells=nnz * (m + 1),
        stream=8 * nnz + 8 * nnz * (m + 1),
        limit=limit,
    )
    rate, threshold = (1e-6, math.inf) if m == 1 else (0.1, 1.0)
    few = folded(problem)
    near, three, four = few.draw(rng, n, m), few.init_params(), few.init_params()
    return [
        Kernel(
            'vanilla step, CSR' if m == 1 else 'U-max step, CSR',
            task,
            lambda: umax_updates(problem, one, draw, rate, threshold),
            exps=m + 1,
            near=lambda: umax_updates(few, three, near, rate, threshold),
            **counts,
        ),
        Kernel(
            'implicit step, CSR',
            task,
            lambda: implicit_updates(problem, two, draw, 100.0 if m == 1 else 0.1),
            exps=6 * m,
            near=lambda: implicit_updates(few, four, near, 100.0 if m == 1 else 0.1),
            **counts,
        ),
    ]


def softmax_dense() -> list[Kernel]:
    rng, width, m, n = np.random.default_rng(0), 780, 1, 30_000
    X = rng.random((60_000, width), np.float32)
    X /= np.linalg.norm(X, axis=1)[:, None]
    problem = DoubleSum(X, rng.integers(10, size=60_000), 10)
    draw, one, two, three = problem.draw(rng, n, m), *(problem.init_params() for _ in range(3))
    counts = dict(
        n=n, flops=4 * width * (m + 1), stream=4 * width, cache=4 * width * (1 + 3 * (m + 1))
    )  # weights are read twice and written once, the row again
    task = '60,000 x 780 dense, 10 classes'
    return [
        Kernel(
            'vanilla step, dense',
            task,
            lambda: umax_updates(problem, one, draw, 1e-6, math.inf),
            exps=2,
            **counts,
        ),
        Kernel(
            'U-max step, dense',
            task,
            lambda: umax_updates(problem, two, draw, 0.1),
            exps=2,
            **counts,
        ),
        Kernel(
            'implicit step, dense',
            task,
            lambda: implicit_updates(problem, three, draw, 1.0),
            exps=6,
            **counts,
        ),
    ]


def similarity() -> list[Kernel]:
    "The race of similarity_gradient: towers 256-256-128, 500,000 pairs."
    left, right, pairs, hidden, k = 6000, 3500, 500_000, 256, 128
    rng = np.random.default_rng(0)
    keys = np.sort(rng.choice(left * right, pairs, replace=False))
    problem = AllPairs(
        np.column_stack([keys // right, keys % right]),
        n_left=left,
        n_right=right,
        n_components=k,
        left=MLP(hidden, hidden),
        right=MLP(hidden, hidden),
        unobserved_weight=2**-4,
        ridge=4.0,
        dtype=np.float32,
    )
    params, way = problem.init_params(0), problem.init_params(1)

    def gradient():
        problem._memo.clear()
        return problem.loss_and_grad(params)

    def product():
        if not problem._memo:
            problem.loss(params)
        return problem.ggn_vp(params, way)

    def work(towers, grams, visits):
        return 2 * (
            (left + right) * (towers * (hidden * hidden + hidden * k) + grams * k * k)
            + pairs * k * visits
        )

    task = f'{left:,} x {right:,} entities, {pairs:,} pairs'
    vectors = 4.0 * problem.n_params
    return [
        Kernel(
            'gradient over all pairs',
            task,
            gradient,
            1,
            work(3, 2, 3),
            stream=2 * vectors + 4 * (left + right) * (6 * hidden + 4 * k),
        ),
        Kernel(
            'Gauss-Newton product',
            task,
            product,
            1,
            work(4, 3, 4),
            stream=3 * vectors + 4 * (left + right) * (8 * hidden + 6 * k),
        ),
    ]


def ordinal(n_objects: int, n_terms: int, width: int = 10) -> Kernel:
    rng = np.random.default_rng(0)
    i = rng.integers(n_objects, size=n_terms)
    j = rng.integers(1, n_objects, size=n_terms)
    step = rng.integers(1, n_objects - 1, size=n_terms)
    problem = Comparisons(
        np.column_stack(
            [i, (i + j) % n_objects, (i + (j + step - 1) % (n_objects - 1) + 1) % n_objects]
        ),
        width,
        STE(),
        n_objects,
    )
    old, n = problem.init_params(0), max(100_000, 2 * n_objects)
    full, kept = problem.svrg_anchor(old)
    points = old.copy()
    batch = problem.draw(np.random.default_rng(1), n)
    work = np.zeros((n_objects, 3 * width))
    rows = problem.triplets.view(np.uint32)
    touch_draws(
        work[:9], np.zeros((1, 3), np.uint32), np.zeros((1, 2)), np.zeros(1, batch.dtype), width
    )
    return Kernel(
        'lazy SVRG step',
        f'{n_objects:,} objects, {n_terms:,} triplets, p = {width}',
        lambda: problem.svrg_steps_(points, old, full, kept, batch, 1e-3 / n_terms, 1),
        n,
        flops=26 * width,
        cells=12 * width,
        exps=1,
        stream=8 + 12 + 16 + 8 * 12 * width,
        dtype='float64',
        limit=lambda: touch_draws(work, rows, kept, batch, width),
    )


def bound() -> list[Kernel]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = np.hstack([X / 16, np.ones((len(X), 1))])
    found, (n, d), K = [], X.shape, 10
    digits = LogLinear(X, y, ridge=1e-3, n_unpenalized=1)
    solver = Majorizer(solve='cholesky')
    state = minimize(digits, solver, max_iter=1).state
    n_pairs, n_squares = K * (K - 1) // 2, d * (d + 1) // 2
    found.append(
        Kernel(
            'BM step, Cholesky',
            f'digits: {n} rows, {K * d} parameters',
            lambda: solver.step(digits, state, np.random.default_rng(0)),
            1,
            flops=2 * n * n_pairs * n_squares + (K * d) ** 3 / 3 + 8 * n * K * d,
            stream=8 * n * (n_pairs + n_squares) * 2,
            dtype='float64',
        )
    )
    rng, (n, K, d) = np.random.default_rng(0), (4000, 50, 200)
    X = rng.normal(size=(n, d)) * np.geomspace(1, 30, d) / np.sqrt(d)
    problem = LogLinear(
        X, np.argmax(X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K)), 1), K, ridge=1e-3
    )
    free = Majorizer(solve='cg')
    before = minimize(problem, free, max_iter=2, loss_subset=0).state
    n_products = free.step(problem, before, rng).n_products - before.n_products
    found.append(
        Kernel(
            'BM step, matrix-free',
            f'made up: {n} rows, K = {K}, d = {d}',
            lambda: free.step(problem, before, rng),
            1,
            flops=4 * n * K * d * (n_products + 1) + 2 * K * d * d * (n_products + 1),
            exps=2 * n * K,
            stream=8 * (n_products + 1) * (2 * n * d + 6 * n * K),
            dtype='float64',
        )
    )
    scores, K = rng.normal(size=(100_000, 10)), 10
    chain = class_chain(scores)
    found.append(
        Kernel(
            'bound recursion, a sample',
            '100,000 samples, 10 classes',
            lambda: class_chain(scores),
            len(scores),
            flops=10 * K + 2 * K * K,
            exps=2 * K - 1,
            stream=8 * K + 2 * 20 * K + 4 * 8 * K,
            dtype='float64',
        )
    )
    found.append(
        Kernel(
            'curvature times a vector, a sample',
            '100,000 samples, 10 classes',
            lambda: chain_times(chain, scores),
            len(scores),
            flops=9 * K,
            stream=20 * K + 8 * K * 3,
            dtype='float64',
        )
    )
    return found


def row(method, task, peer, seconds, timing, **measured) -> dict:
    return machine.row(
        method=method,
        task=task,
        peer=peer,
        **measured,
        **timing.columns() | dict(seconds=f'{seconds:.3e}'),
    )


def held(kernel: Kernel, jobs: dict, seen: dict[str, list[float]]) -> dict:
    "A kernel beside its limits, all of them measured again in the same rounds."
    needs = {
        'stream': kernel.stream,
        'cache': kernel.cache,
        kernel.dtype: kernel.flops,
        'exps': kernel.exps,
    }
    if kernel.limit:
        needs.pop('stream')  # the same bytes, one way or the other
    needs = {name: need for name, need in needs.items() if need}
    times = machine.race(
        {'kernel': kernel.job}
        | {name: jobs[name][0] for name in needs}
        | ({'places': kernel.limit} if kernel.limit else {})
        | ({'near': kernel.near} if kernel.near else {}),
        ROUNDS,
    )
    took = times['kernel'].median / kernel.n
    for name in needs:
        seen[name] += times[name].seconds
    limits = {
        name: [need * one / jobs[name][1] for one in times[name].seconds]
        for name, need in needs.items()
    }
    if kernel.limit:
        limits['places'] = [one / kernel.n for one in times['places'].seconds]
    shares = {
        'flops' if name == kernel.dtype else name: machine.ratio(each, times['kernel'].seconds)
        * kernel.n
        for name, each in limits.items()
    }
    bound = max(shares, key=shares.__getitem__)
    if kernel.near:
        shares['near'] = machine.ratio(times['near'].seconds, times['kernel'].seconds)
    parts = ','.join(f'{name}:{each:.3f}' for name, each in shares.items())
    print(
        f'{kernel.name:36s}{kernel.task:44.44s}{took * 1e9:14.1f} ns   {shares[bound]:5.0%} of its'
        f' limit by {bound:7s}({parts})',
        flush=True,
    )
    counted = dict(
        flops=kernel.flops,
        bytes=kernel.stream,
        cache=kernel.cache,
        cells=kernel.cells,
        exps=kernel.exps,
    )
    return row(
        kernel.name,
        kernel.task,
        'limit',
        took,
        times['kernel'],
        share=f'{shares[bound]:.3f}',
        bound=bound,
        **{name: f'{count:.4g}' for name, count in counted.items()},
        **{f'part_{name}': f'{each:.3f}' for name, each in shares.items()},
    )


def main() -> Iterator[dict]:
    jobs = machine_jobs()
    units = {
        'stream': 'bytes/s',
        'cache': 'bytes/s',
        'cells': 'cells/s',
        'float32': 'flops/s',
        'float64': 'flops/s',
        'exps': 'exps/s',
    }
    seen = {
        name: list(timing.seconds)
        for name, timing in machine.race(
            {name: job for name, (job, _) in jobs.items()}, ROUNDS
        ).items()
    }
    docs = data.docstrings()
    words = DoubleSum(docs.train_features, docs.train_labels, docs.n_classes)
    makers: list[Callable[[], list[Kernel]]] = [
        lambda: softmax_sparse('shape A: 15,000 rows, 230 of 5,000, 4,000 classes', shape_a(), 1),
        lambda: softmax_sparse('docstrings, one wrong class', words, 1),
        lambda: softmax_sparse('docstrings, five wrong classes', words, 5),
        softmax_dense,
        similarity,
        lambda: [ordinal(1000, 200_000), ordinal(100_000, 1_000_000)],
        bound,
    ]
    for make in makers:
        yield from [held(kernel, jobs, seen) for kernel in make()]
    for name, (_, work) in jobs.items():
        timing = machine.Timing(seen[name])
        print(f'{name:10s}{work / timing.median:.3g} {units[name]}')
        yield row(
            name,
            'what the machine can do',
            'machine',
            timing.median,
            timing,
            rate=f'{work / timing.median:.4g}',
            unit=units[name],
        )
