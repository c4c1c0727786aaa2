"""Alternating least squares beside `implicit`: recall@20 on held-out pairs, and seconds, on films and links.

Needs EXTREME_OPT_DATA with ml-100k, ml-1m and wikipedia-links; sets that are not there are left out. Training pairs are masked. All methods
have rank 40, float32 and one thread. `implicit` is its newest solver (native, conjugate gradients) with 15 iterations; it chose regularization and
alpha among 25 settings by recall@20 on a tenth of the training pairs, and `peer` says which. Ours are:

- ALS, default: squared loss, unobserved pairs imputed as 0, automatic weight and ridge, 15 iterations; nothing is tuned.
- ALS, ridge tuned: the same with the best of four multiples of the automatic ridge, on the same tenth.
- Newton, default: logistic loss, linear towers, everything automatic (the model's own rules).

`interval` is the 95 % interval of recall@20 over users (bootstrap); `ratio` is the difference to `implicit` in recall@20, user by user, and
`ratio_interval` its 95 % interval. `seconds` are processor seconds of one fit with the chosen setting, on one thread, data in memory, kernels
compiled; tuning is not part of them.
Each fit is kept under build/bench as soon as it has ended.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import machine
import numpy as np
from similarity_gradient import kept
from similarity_reproduce import sets

from extreme_opt.core.run import minimize, warm_up
from extreme_opt.similarity import ALS, AllPairs, Linear
from extreme_opt.similarity.model import SimilarityModel, auto_ridge
from extreme_opt.similarity.ranking import pattern, top_k

LONG = True
RANK, ITERATIONS = 40, 15
REGULARIZATION, ALPHA = (1.0, 10.0, 30.0, 100.0, 300.0), (1.0, 3.0, 10.0, 30.0, 100.0)
RIDGES = (0.5, 1.0, 2.0, 4.0)
PEER = 'implicit, tuned'


def als(times=1.0):
    "Ours with a multiple of the automatic ridge: factors and processor seconds."

    def fit(train):
        problem = AllPairs(
            train,
            n_components=RANK,
            left=Linear(),
            right=Linear(),
            kind='squared',
            impute=0.0,
            ridge=times * auto_ridge(train.nnz, *train.shape),
            dtype=np.float32,
        )
        warm_up(problem, ALS())
        mark = time.process_time()
        run = minimize(problem, ALS(), max_iter=ITERATIONS, loss_subset=0)
        took = time.process_time() - mark
        return problem.embed(0, run.state.params), problem.embed(1, run.state.params), took

    return f'ridge {times:g} x auto', fit


def newton(train):
    SimilarityModel(RANK, Linear(), Linear(), max_iter=1).fit(train[:50])
    mark = time.process_time()
    model = SimilarityModel(RANK, Linear(), Linear()).fit(train)
    return model.left_embeddings_, model.right_embeddings_, time.process_time() - mark


def implicit_trials():
    "Settings of implicit's ALS, if it is there: in this environment or in that of the peers."
    at = machine.peer_at('main')
    if at:
        sys.path += [str(each) for each in Path(at).parent.parent.glob('lib/python*/site-packages')]
    try:
        from implicit.als import AlternatingLeastSquares
    except ImportError:
        return []

    def trial(regularization, alpha):
        def fit(train):
            model = AlternatingLeastSquares(
                factors=RANK,
                regularization=regularization,
                alpha=alpha,
                iterations=ITERATIONS,
                num_threads=1,
                random_state=0,
            )
            matrix = train.astype(np.float32).tocsr()
            mark = time.process_time()
            model.fit(matrix, show_progress=False)
            took = time.process_time() - mark
            return np.asarray(model.user_factors), np.asarray(model.item_factors), took

        return f'regularization {regularization:g}, alpha {alpha:g}', fit

    return [trial(r, a) for r in REGULARIZATION for a in ALPHA]


def recalls(P, Q, test, seen) -> np.ndarray:
    "Recall@20 of every user with held-out pairs."
    rows = np.flatnonzero(np.diff(test.indptr))
    found = top_k(lambda at: P[at] @ Q.T, rows, test.shape[1], 20, seen)[0]
    held = [set(test.indices[test.indptr[i] : test.indptr[i + 1]]) for i in rows]
    return np.array(
        [len(held_i.intersection(list_i)) / len(held_i) for held_i, list_i in zip(held, found)]
    )


def interval(values) -> tuple[float, float]:
    "95 % bootstrap interval of a mean."
    rng = np.random.default_rng(0)
    means = [values[rng.integers(len(values), size=len(values))].mean() for _ in range(1000)]
    return tuple(np.quantile(means, [0.025, 0.975]))


def judged(trials, train, test, title, method) -> dict:
    "The best trial on a tenth of the training pairs, fitted to all of them: per-user recall, seconds, setting."
    pairs = np.column_stack(train.nonzero())
    cut = np.random.default_rng(0).random(len(pairs)) < 0.1
    rest, valid = pattern(pairs[~cut], train.shape), pattern(pairs[cut], train.shape)
    chosen, tried = 0, ''
    if len(trials) > 1:

        def score(name, fit):
            found = float(recalls(*fit(rest)[:2], valid, rest).mean())
            print(f'  {title}: {method}: {name}: validation {found:.4f}', flush=True)
            return found

        scores = [
            kept(__file__, f'{title} {method} {name}', lambda name=name, fit=fit: score(name, fit))
            for name, fit in trials
        ]
        chosen = int(np.argmax(scores))
        tried = f', best of {len(trials)}'
    P, Q, seconds = trials[chosen][1](train)
    return dict(
        recalls=recalls(P, Q, test, train).tolist(), seconds=seconds, peer=trials[chosen][0] + tried
    )


def main() -> list[dict]:
    rows = []
    methods = {
        PEER: implicit_trials(),
        'ALS, default': [als()],
        'ALS, ridge tuned': [als(times) for times in RIDGES],
        'Newton, default': [('logistic loss, ridge 1 x auto', newton)],
    }
    for title, (train, test) in sets().items():
        ended = {
            method: kept(
                __file__,
                f'{title} {method}',
                lambda trials=trials, train=train, test=test, title=title, method=method: judged(
                    trials, train, test, title, method
                ),
            )
            for method, trials in methods.items()
            if trials
        }
        base = np.array(ended[PEER]['recalls']) if PEER in ended else None
        for method, told in ended.items():
            values = np.array(told['recalls'])
            low, high = interval(values)
            row = dict(
                method=method,
                task=f'als {title}',
                peer=told['peer'],
                threads=1,
                seconds=f'{told["seconds"]:.3g}',
                how='processor seconds of one fit',
                quality=f'recall20={values.mean():.4f}',
                interval=f'{low:.4f} to {high:.4f}',
                peak_mb=round(machine.peak_mb(), 1),
                versions=machine.versions(),
                date=machine.today(),
            )
            if base is not None and method != PEER:
                low, high = interval(values - base)
                row |= dict(
                    ratio=f'{(values - base).mean():+.4f}',
                    ratio_interval=f'{low:+.4f} to {high:+.4f}',
                )
            print(
                f'{title}: {method}: {row["quality"]} ({row["interval"]}), {row["seconds"]} s, '
                f'{told["peer"]}; {row.get("ratio", "")} ({row.get("ratio_interval", "")})',
                flush=True,
            )
            rows.append(row)
    return rows
