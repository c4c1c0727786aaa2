"""What factors take at large sizes: the default fit up to the size of the Netflix table, beside
`implicit`, and Gauss-Newton steps with the paper's towers.

Made-up pairs of users and items: items of uneven popularity (a power law), half of each user's from
an order of its own group (50 groups), users of uneven activity. One pair of each of 2,000 users is
held out; recall@20 is the share of them among the twenty best items that the user has not seen.

- `small` has 120,000 x 18,000 and 2.5 million pairs, `fifth` a fifth of the users and pairs of the
  Netflix table, `netflix` all of them (478,251 x 17,768, 51 million). `SimilarityModel()` is
  everything by default: 64 components, float32, alternating least squares. `told_after` are the
  seconds on the wall after which a terminal is told of a fit that nobody asked to tell,
  `search_seconds` those of the search for `ridge` and `unobserved_weight`, which are what the fit
  took, `rise_mb`
  what the fit adds at most to the memory held before it, and `forecast_mb` what was forecast.
- "ALS" and "implicit" iterate on the same objective (confidence 1 on pairs and on all other cells
  1/10, ridge 1, 64 components, float32), on `small` and `fifth`: `step_seconds` of one iteration,
  mean of five after the first, `loss` of that objective and recall after the six, memory before any
  pair is read (`base_mb`: interpreter, imports, for ours compiled code) and after it (`fit_mb`).
- "GaussNewton": the paper's towers, 256-256-128 with ELU on ids, at the sizes of MovieLens-10M
  with the paper's pairs (`ml10m`) and with all ratings (`ml10m_raw`), a tenth of the first
  (`tenth`): one iteration from a random start, with `n_products` products with the curvature and
  `n_values` losses in the search for a step, and apart from it a gradient and a product, which is
  all that `netflix` takes. `vector_mb` is one vector of parameters.
- "product": one such product on a share of the users of `netflix`, the better of two;
  `pair_seconds` are those that the observed pairs take, `tower_seconds` those of the towers.

Each part has a process of its own, in which the pairs are read from a file; processor seconds.
`run` says where a row was kept from an earlier run on the same pairs.
"""

from __future__ import annotations

import io
import math
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import process_time, time

import machine
import numpy as np
import scipy.sparse

LONG = True
HOW = (
    'Each part in a process of its own, once, compiled before the clock starts; processor seconds;'
    ' peak_mb is the most memory of that process. One command, stopped and called again where it'
    ' takes long: finished parts are kept.'
)
SIZES = dict(
    small=(120_000, 18_000, 2_500_000),
    fifth=(95_650, 17_768, 10_245_670),
    netflix=(478_251, 17_768, 51_228_351),
    tenth=(6_979, 1_021, 450_582),
    ml10m=(69_786, 10_210, 4_505_820),
    ml10m_raw=(71_567, 10_681, 10_000_054),
)
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)  # of the users of `netflix`
K, REST, RIDGE, STEPS = 64, 0.1, 1.0, 5
ROOM = Path(os.environ.get('PARTS') or tempfile.mkdtemp())


def write(name: str) -> dict:
    "The pairs of a size, kept in a file."
    n_users, n_items, n_pairs = SIZES[name]
    rng = np.random.default_rng(0)
    active = rng.lognormal(0, 1, n_users)
    counts = rng.poisson(active * (1.35 * n_pairs / active.sum())).clip(2, n_items // 2)
    users = np.repeat(np.arange(n_users), counts)
    items = (n_items * rng.random(len(users), np.float32).astype(np.float64) ** 2.5).astype(
        np.int64
    )
    own = rng.random(len(users), np.float32) < 0.5
    items[own] = (items[own] + n_items // 50 * (users[own] % 50)) % n_items
    keys = users * n_items + items
    del users, items, own
    keys.sort()
    keys = keys[np.flatnonzero(np.diff(keys, append=-1))]
    drop = rng.random(len(keys), np.float32) >= n_pairs / len(keys)
    keys = keys[~drop]
    held = np.flatnonzero(np.diff(keys // n_items) == 0)  # its user has another pair
    held = rng.choice(held, 2000, replace=False)
    held = held[np.unique(keys[held] // n_items, return_index=True)[1]]
    truth = keys[held]
    keys = np.delete(keys, held)
    indptr = np.searchsorted(keys, np.arange(n_users + 1) * n_items)
    ROOM.mkdir(parents=True, exist_ok=True)
    with (ROOM / f'pairs-{name}.part').open('wb') as file:
        np.savez(file, indptr=indptr, indices=(keys % n_items).astype(np.int32), truth=truth)
    (ROOM / f'pairs-{name}.part').replace(ROOM / f'pairs-{name}.npz')
    return {}


def pairs_of(name: str):
    "Users by items, users of the pairs held out, and their items."
    n_users, n_items, _ = SIZES[name]
    with np.load(ROOM / f'pairs-{name}.npz') as file:
        X = scipy.sparse.csr_array(
            (np.ones(len(file['indices']), np.float32), file['indices'], file['indptr']),
            (n_users, n_items),
        )
        return X, *np.divmod(file['truth'], n_items)


class Watched(io.StringIO):
    "A terminal that notes after how many seconds it is first told something, and what."

    def __init__(self):
        super().__init__()
        self.begin, self.first = time(), ''

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.first = self.first or f'{time() - self.begin:.0f}'
        return super().write(text)


def held_mb() -> float:
    "Memory that this process holds now, MB; Linux only."
    with open('/proc/self/status', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS:')) / 1024


def fit(name: str) -> dict:
    "Everything by default."
    import memory

    from extreme_opt.similarity import SimilarityModel
    from extreme_opt.similarity import model as module

    warnings.simplefilter('ignore')
    X, users, items = pairs_of(name)
    SimilarityModel(max_iter=1).fit(X[:200])
    told, sys.stderr = sys.stderr, Watched()
    said: list = []
    module.check_memory = lambda needed, *_: said.append(needed / 2**20)
    search, spent = SimilarityModel._search, [0.0]

    def timed(*args):
        mark = process_time()
        found = search(*args)
        spent[0] += process_time() - mark
        return found

    level = held_mb()
    mark = process_time()
    model = SimilarityModel()
    model._search = types.MethodType(timed, model)
    model.fit(X)
    seconds, peak = process_time() - mark, memory.peak_mb()
    told, sys.stderr = sys.stderr, told
    hits = [
        (model.recommend(users[at : at + 200], 20)[0] == items[at : at + 200, None]).any(1)
        for at in range(0, len(users), 200)
    ]
    return dict(
        seconds=seconds,
        pairs=X.nnz,
        search_seconds=f'{spent[0]:.3g}',
        settings_tried=len(model.search_ or ()),
        ridge=f'{model.ridge_:.4g}',
        unobserved_weight=f'{model.unobserved_weight_:.4g}',
        iterations=model.n_iter_,
        told_after=told.first,
        rise_mb=f'{peak - level:.0f}',
        forecast_mb=f'{said[0]:.0f}',
        recall20=f'{np.concatenate(hits).mean():.4f}',
    )


def objective() -> dict:
    "That of `implicit`."
    from extreme_opt.similarity import Linear

    towers = dict(left=Linear(), right=Linear(), pair_loss='squared', impute=0.0)
    return towers | dict(n_components=K, ridge=RIDGE, unobserved_weight=REST, dtype=np.float32)


def problem_of(name: str):
    "That objective on the pairs of a size."
    from extreme_opt.similarity import AllPairs

    return AllPairs(pairs_of(name)[0], **objective())


def judge(name: str) -> dict:
    "The objective at the factors of `implicit`, which are deleted."
    path = ROOM / f'factors-{name}.npz'
    with np.load(path) as file:
        factors = file['users'], file['items']
    path.unlink()
    loss = problem_of(name).loss(np.concatenate([side.ravel() for side in factors]))
    return dict(loss=f'{loss:.6g}') | recall(name, *factors)


def recall(name: str, left: np.ndarray, right: np.ndarray) -> dict:
    "Share of the pairs held out that are among the twenty best items not seen."
    X, users, items = pairs_of(name)
    scores = left[users] @ right.T
    scores[X[users].nonzero()] = -np.inf
    above = (scores > scores[np.arange(len(users)), items][:, None]).sum(1)
    return dict(recall20=f'{(above < 20).mean():.4f}')


def steps(name: str) -> dict:
    "Our iterations on the objective of `implicit`."
    import memory

    from extreme_opt.core import minimize
    from extreme_opt.similarity import ALS, AllPairs

    few = np.argwhere(np.eye(200)).astype(np.int32)
    minimize(AllPairs(few, **objective()), ALS(), max_iter=1)
    base = memory.peak_mb()
    problem = problem_of(name)
    clock = dict(cpu=lambda *_: process_time())
    run = minimize(problem, ALS(), max_iter=1 + STEPS, metrics=clock)
    seconds = (run.column('cpu')[-1] - run.column('cpu')[1]) / STEPS
    loss, peak = f'{run.column("loss")[-1]:.6g}', memory.peak_mb()
    found = recall(name, *(problem.embed(side, run.state.params) for side in (0, 1)))
    return dict(step_seconds=f'{seconds:.3f}', loss=loss, base_mb=base, fit_mb=peak) | found


def implicit(name: str) -> dict:
    "Iterations of `implicit`, whose objective has weight 1 on all other cells: 10 times ours."
    import memory
    from implicit.als import AlternatingLeastSquares  # type: ignore[import-not-found]

    base = memory.peak_mb()
    X, _, _ = pairs_of(name)
    X = scipy.sparse.csr_matrix(X)
    X.data[:] = 1 / REST
    settings = dict(factors=K, regularization=RIDGE / REST, num_threads=1, dtype=np.float32)
    settings |= dict(alpha=1.0, random_state=0, calculate_training_loss=False)
    took = []
    for iterations in (1, 1 + STEPS):
        model = AlternatingLeastSquares(iterations=iterations, **settings)
        mark = process_time()
        model.fit(X, show_progress=False)
        took.append(process_time() - mark)
    peak = memory.peak_mb()
    np.savez(ROOM / f'factors-{name}.npz', users=model.user_factors, items=model.item_factors)
    seconds = f'{(took[1] - took[0]) / STEPS:.3f}'
    return dict(step_seconds=seconds, base_mb=base, fit_mb=peak)


def newton(name: str) -> dict:
    "A gradient, products with the curvature and one iteration, towers 256-256-128 on ids."
    import memory

    from extreme_opt.core import GaussNewton, minimize
    from extreme_opt.similarity import MLP, AllPairs

    X, _, _ = pairs_of(name)
    pairs = X.tocoo()
    pairs = np.column_stack([pairs.row, pairs.col]).astype(np.int32)
    shape = dict(n_left=X.shape[0], n_right=X.shape[1])
    towers = dict(left=MLP(256, 256), right=MLP(256, 256), n_components=128)
    few = AllPairs(pairs[:50], **shape, **towers, dtype=np.float32).warmup_problem()
    minimize(few, GaussNewton(), max_iter=1)
    level = held_mb()
    problem = AllPairs(pairs, **shape, **towers, dtype=np.float32)
    params = problem.init_params(0)
    mark = process_time()
    grad = problem.grad(params)
    first, mark = process_time() - mark, process_time()
    for _ in range(2):
        problem.ggn_vp(params, grad)
    each = (process_time() - mark) / 2
    told: dict = dict(gradient_seconds=f'{first:.3g}', product_seconds=f'{each:.3g}')
    if name != 'netflix':  # there an iteration takes more than five minutes
        del grad
        mark = process_time()
        state = minimize(problem, GaussNewton(), params, max_iter=1).state
        told['seconds'] = process_time() - mark
        told |= dict(iterations=1, n_products=state.n_products, n_values=state.n_values)
        told['step_seconds'] = f'{told["seconds"]:.3g}'
    return told | dict(
        pairs=len(pairs),
        rise_mb=f'{memory.peak_mb() - level:.0f}',
        vector_mb=f'{params.nbytes / 2**20:.0f}',
    )


def growth(name: str) -> dict:
    "Products on growing shares of the users."
    from extreme_opt.similarity import MLP, AllPairs
    from extreme_opt.similarity import problem as module

    spent: dict = {}

    def timed(kind, function):
        def call(*args, **kwargs):
            mark = process_time()
            found = function(*args, **kwargs)
            spent[kind] = spent.get(kind, 0.0) + process_time() - mark
            return found

        return call

    whole, told = pairs_of(name)[0], []
    towers = dict(left=MLP(256, 256), right=MLP(256, 256), n_components=128)
    few = AllPairs(whole[:300], **towers, dtype=np.float32)
    few.ggn_vp(few.init_params(0), few.init_params(1))
    for kind in ('curvature_pulls', 'jvp', 'vjp'):
        setattr(module, kind, timed(kind, getattr(module, kind)))
    for share in SHARES:
        X = whole[: int(whole.shape[0] * share)]
        problem = AllPairs(X, **towers, dtype=np.float32)
        params, vector, best = problem.init_params(0), problem.init_params(1), math.inf
        problem.point(params)
        for _ in range(2):
            spent.clear()
            mark = process_time()
            problem.ggn_vp(params, vector)
            took = process_time() - mark
            if took < best:
                best, pairs = took, spent['curvature_pulls']
                beside = spent['jvp'] + spent['vjp']
        row = dict(users=X.shape[0], items=X.shape[1], pairs=X.nnz)
        row |= dict(product_seconds=f'{best:.3g}', pair_seconds=f'{pairs:.3g}')
        row |= dict(tower_seconds=f'{beside:.3g}', pair_ns=f'{pairs / X.nnz * 1e9:.0f}')
        told.append(row)
    return dict(rows=told)


def newton_forecast(name: str, pairs: int) -> dict:
    "What those towers are forecast to hold, from sizes alone."
    from extreme_opt.core.memory import forecast_memory

    n_users, n_items, _ = SIZES[name]
    n_weights = 256 * (n_users + n_items) + 2 * (256 * 257 + 128 * 257)
    sizes = dict(n_left=n_users, n_right=n_items, n_pairs=pairs, n_weights=n_weights)
    needed = forecast_memory('similarity', 'newton', **sizes, itemsize=4, in_order=True)
    return dict(forecast_mb=f'{needed / 2**20:.0f}')


def part(name: str, call: str) -> dict:
    "A part in a process of its own, or what an earlier run kept of it."
    python = machine.peer_python() if call == 'implicit' else sys.executable
    if not python:
        return {}

    def job():
        if not (ROOM / f'pairs-{name}.npz').exists():
            machine.fresh(__file__, 'write', name)
        told = machine.fresh(__file__, call, name, python=python)
        if call == 'implicit':
            judged = machine.fresh(__file__, 'judge', name)
            told |= {key: judged[key] for key in ('loss', 'recall20')}
        return told

    return machine.kept(f'{name}-{call}', job)


def main() -> Iterator[dict]:
    os.environ.setdefault('PARTS', str(ROOM))
    full = os.environ.get('EXTREME_OPT_FULL') == '1'
    names = dict(fit='SimilarityModel', steps='ALS', newton='GaussNewton')
    for name, calls in dict(
        small=('fit', 'steps', 'implicit'),
        fifth=('fit', 'steps', 'implicit'),
        tenth=('newton',),
        ml10m=('newton',),
        ml10m_raw=('newton',),
        netflix=('fit', 'newton', 'growth') * full,
    ).items():
        for call in calls:
            told = part(name, call)
            for share, row in zip(SHARES, told.pop('rows', ()), strict=False):
                yield machine.row('product', f'{name} x {share:g}', **row, peak_mb='')
            if call == 'growth':
                continue
            if told.get('step_seconds') and call == 'newton':
                told |= newton_forecast(name, told['pairs'])
            if told:
                shape = dict(zip(('users', 'items'), SIZES[name], strict=False))
                seconds = f'{told.pop("seconds"):.4g}' if 'seconds' in told else ''
                yield machine.row(names.get(call, call), name, seconds, **shape, **told)


if __name__ == '__main__':
    sys.path[:0] = [str(Path(__file__).parent)]
    print(sys.argv[1:], part(*sys.argv[1:]), flush=True)
