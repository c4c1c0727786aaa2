"""What the Gramian control variate of the sampled softmax is worth in a run, one thread.

`CatalogSoftmax` on ids with linear towers of rank 40, float32, with and without `control_variate`,
by stochastic gradient steps on batches of 2,048 pairs with shared negatives drawn by popularity.
Each number of negatives and each way gets the best of RATES, by the exact training loss at the end
of a run of about a thousand steps with seed 0, and is then run with SEEDS. The ridges are near
those that `similarity_softmax` finds best. Told for each: the exact loss above the least that
L-BFGS finds, per pair (nats), and NDCG@20 on the test pairs, means and standard deviations over
seeds; processor seconds of a run; `served`, the share of pairs whose row takes the control variate
at the end (mean square of at most 1); and `left`, the variance of what is then sampled for an
estimate of the sum, over that without a control variate, as a mean over pairs (exact sums).

MovieLens-100K and Wikipedia links need EXTREME_OPT_DATA and are left out without it.

    python bench/run.py similarity_control           about twenty minutes
"""

from __future__ import annotations

import statistics
import time
from functools import partial

import machine
import numpy as np
from similarity_gradient import kept
from similarity_reproduce import sets

from extreme_opt.core import LBFGS, SGD, minimize
from extreme_opt.similarity import CatalogSoftmax, Linear
from extreme_opt.similarity.ranking import rank_measures

LONG = True  # needs data that are not in the package
RANK, BATCH, STEPS = 40, 2048, 1000
RIDGES = {'MovieLens-100K': 10.0, 'Wikipedia links': 1.0, 'see also': 0.3}
RATES, SEEDS = (5.0, 10.0, 20.0, 40.0), range(1, 4)
WAYS = [(n, control) for n in (16, 64, 256, 1024) for control in (False, True)]


def problem_of(train, ridge, **options) -> CatalogSoftmax:
    "The softmax on these pairs."
    m, n = train.shape
    return CatalogSoftmax(
        np.column_stack(train.nonzero()),
        n_components=RANK,
        left=Linear(),
        right=Linear(),
        ridge=ridge,
        n_left=m,
        n_right=n,
        dtype=np.float32,
        **options,
    )


def fit(problem, rate, seed):
    "Parameters after about a thousand steps, and the processor seconds."
    epochs = max(1, round(STEPS * BATCH / problem.n_observed))
    mark = time.process_time()
    with np.errstate(over='ignore', invalid='ignore'):
        run = minimize(
            problem,
            SGD(learning_rate=rate, batch_size=BATCH),
            max_epochs=epochs,
            loss_subset=0,
            seed=seed,
        )
    return run.state.params, time.process_time() - mark


def served(problem, params) -> tuple[float, float]:
    "Share of pairs with the control variate, and the share of the variance left in the mean."
    P, Q = problem.embed(0, params).astype(float), problem.embed(1, params).astype(float)
    q = problem._proba
    d = P @ Q.T - np.log(q)
    d -= (d @ q)[:, None]

    def variance(values):
        return values**2 @ q - (values @ q) ** 2

    near = (d * d) @ q <= 1
    ratio = np.ones(len(d))
    ratio[near] = variance(np.exp(d[near]) - d[near] - d[near] ** 2 / 2)
    ratio[near] /= variance(np.exp(d[near]))
    return float(near[problem._lefts].mean()), float(ratio[problem._lefts].mean())


def measured(title, train, test, least, n_negatives, control) -> dict:
    "Ends of one way."
    options = dict(n_negatives=n_negatives, control_variate=control)
    problem = problem_of(train, RIDGES[title], **options)

    def loss_of(params):
        loss = problem.loss(params) if np.isfinite(params).all() else np.inf
        return loss if np.isfinite(loss) else np.inf

    tried = {rate: loss_of(fit(problem, rate, 0)[0]) for rate in RATES}
    rate = min(RATES, key=lambda rate: tried[rate])
    fits = [fit(problem, rate, seed) for seed in SEEDS]
    excess, ndcg = [], []
    for params, _ in fits:
        P, Q = problem.embed(0, params), problem.embed(1, params)
        excess.append((loss_of(params) - least) / problem.n_observed)
        ndcg.append(rank_measures(lambda at: P[at] @ Q.T, test, train, ('ndcg@20',))['ndcg@20'])
    return dict(
        rate=rate,
        seconds=statistics.median(took for _, took in fits),
        excess=excess,
        ndcg=[float(value) for value in ndcg],
        served=served(problem, fits[0][0]),
    )


def main() -> list[dict]:
    out = []
    for title, (train, test) in sets(tuple(RIDGES)).items():
        exact = problem_of(train, RIDGES[title])
        run = minimize(exact, LBFGS(), max_iter=300, loss_subset=0)
        least = exact.loss(run.state.params)
        for n_negatives, control in WAYS:
            job = partial(measured, title, train, test, least, n_negatives, control)
            told = kept(__file__, f'{title} {n_negatives} {control}', job)
            row = dict(
                method='control variate' if control else 'plain',
                task=f'{title}: {n_negatives} negatives',
                peer=f'rate {told["rate"]:g}',
                threads=1,
                seconds=f'{told["seconds"]:.3g}',
                n_pairs=exact.n_observed,
                n_right=exact.n_right,
                excess=f'{np.mean(told["excess"]):.4f}',
                excess_sd=f'{np.std(told["excess"], ddof=1):.4f}',
                ndcg_20=f'{np.mean(told["ndcg"]):.4f}',
                ndcg_20_sd=f'{np.std(told["ndcg"], ddof=1):.4f}',
                served=f'{told["served"][0]:.2f}' if control else '',
                left=f'{told["served"][1]:.2f}' if control else '',
                peak_mb=machine.peak_mb(),
                versions=machine.versions(),
                date=machine.today(),
            )
            print(
                row['task'], row['method'], row['peer'], row['seconds'], row['excess'], flush=True
            )
            out.append(row)
    return out
