"""Figure 2 of the similarity paper on four data sets at hand, and lists beside those of the usual
rivals.

Needs EXTREME_OPT_DATA with ml-1m, ml-100k and wikipedia-links; sets that are not there are left
out. Three kinds of rows:

- "curve SET": one point of a run of one of the paper's seven methods, or of Newton with the
  preconditioner that the paper does not have ("Newton").
  `seconds` is the processor time of the solver's steps, the other columns have the loss, mean
  precision@1..5 and recall@20 on held-out pairs (training pairs masked), and the work in units of
  one evaluation of the loss (a gradient is 2, a product with the curvature 4, a sampled step its
  share of tower passes times 2).
- "lists SET": one method's measures on the same held-out pairs. Tuned methods chose among TRIALS
  settings on a tenth of the training pairs; `peer`
  says what was chosen.
- "defaults SET": recall on validation pairs when the ridge or the unobserved weight is moved away
  from its rule (small sets).

Python's `implicit` is measured where it is installed, here or in EXTREME_OPT_PEERS. All rows use 1
thread and float32.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace

import machine
import numpy as np

from extreme_opt import data
from extreme_opt.core.descent import GradientDescent
from extreme_opt.core.gauss_newton import GaussNewton
from extreme_opt.core.run import minimize
from extreme_opt.similarity import (
    MLP,
    AllPairs,
    BlockSGD,
    SOGram,
    item_neighbors,
    popularity,
    rank_measures,
)
from extreme_opt.similarity.defaults import auto_ridge
from extreme_opt.similarity.model import SimilarityModel
from extreme_opt.similarity.ranking import max_score, pattern, svd_factors

SECONDS, TRIALS, RANK = 16.0, 4, 40
MEASURES = ('mean_precision@5', 'recall@20', 'ndcg@20')
SETS = {
    'MovieLens-100K': ('ml-100k', {}),
    'MovieLens-1M': ('ml-1m', {}),
    'Wikipedia links': ('wikipedia-links', {}),
    'see also': ('see_also', {}),
}


def sets(names: tuple[str, ...] = tuple(SETS)) -> dict:
    "Training and held-out pairs of the sets that are there."
    found = {}
    for title in names:
        name, options = SETS[title]
        if name == 'see_also':
            pairs = data.see_also(max_features=10)
        elif os.environ.get('EXTREME_OPT_DATA'):
            pairs = data.load(name, **options)
        else:
            continue
        shape = pairs.n_left, pairs.n_right
        found[title] = pattern(pairs.train_observed, shape), pattern(pairs.test_observed, shape)
    return found


def judged(problem, params, test, seen) -> dict:
    P, Q = problem.embed(0, params), problem.embed(1, params)
    return rank_measures(lambda rows: P[rows] @ Q.T, test, seen, MEASURES)


def cells(found: dict) -> dict:
    "The measures as a row tells them."
    return {name.replace('@', '_'): f'{found[name]:.4f}' for name in MEASURES}


def work_of(state, n_rows=1) -> float:
    "Evaluations of the loss that a run has cost so far."
    if hasattr(state, 'n_products'):
        return state.n_values + 2 * state.n_iter + 4 * state.n_products
    if hasattr(state, 'n_rows'):
        return 3 * state.n_rows / n_rows
    return (
        state.n_epochs + state.n_iter
    )  # GradientDescent counts a pass for each value and gradient; the gradient is one unit more


def run_for(problem, solver, start, n_rows) -> list[tuple]:
    "(clock, parameters, work) at the start and at five marks; the start alone where it diverged."
    if hasattr(solver, 'warmup_problem'):
        minimize(problem.warmup_problem(), solver.warmup_problem(), max_iter=1)
    state = solver.init(problem, start)
    rng = np.random.default_rng(0)
    clock = 0.0
    points = [(0.0, start, 0.0)]
    marks = list(SECONDS * np.array([0.06, 0.12, 0.25, 0.5, 1.0]))
    while marks:
        begin = time.process_time()
        state = solver.step(problem, state, rng)
        clock += time.process_time() - begin
        if not np.isfinite(state.params).all() or not np.isfinite(
            np.float64(state.params) @ state.params
        ):
            return points[:1]
        if clock >= marks[0] or getattr(state, 'message', ''):
            points.append((clock, state.params, work_of(state, n_rows)))
            marks = [each for each in marks if each > clock]
        if getattr(state, 'message', ''):
            break
    return points if problem.loss(points[-1][1]) < 10 * problem.loss(start) else points[:1]


def curves(title, train, test) -> Iterator[dict]:
    "Eight methods from one start, each for the same time."
    problem = AllPairs(
        train,
        n_components=16,
        left=MLP(64),
        right=MLP(64),
        ridge=auto_ridge(train.nnz, *train.shape),
        dtype=np.float32,
    )
    start, n_rows = problem.init_params(0), sum(train.shape)
    gd, rate = minimize(problem, GradientDescent(), start, max_seconds=SECONDS), 1e-6
    if len(gd.column('iter')) > 1:  # SOGram and Sampling take the last step of gradient descent
        rate = 2.0 ** round(np.log2(max(gd.state.step_size, 1e-12)))
    plain = dict(scaling=None, learning_rate=rate, n_updates=10)
    scaled = dict(scaling='adagrad', learning_rate=0.01, n_updates=10)
    methods = {
        'Newton': GaussNewton(),
        'Newton, as printed': GaussNewton(precondition=False),
        'GD': GradientDescent(),
        'GD-diag': GradientDescent(scaling='adagrad'),
        'SOGram': SOGram(share=0.01, **plain),
        'Sampling': BlockSGD(share=0.01, **plain),
        'SOGram-diag': SOGram(share=0.01, **scaled),
        'Sampling-diag': BlockSGD(share=0.01, **scaled),
    }
    for name, solver in methods.items():
        points = run_for(problem, solver, start, n_rows)
        peer = f'rate {rate:.1e}' if name in ('SOGram', 'Sampling') else ''
        while (
            len(points) == 1 and solver.learning_rate > 1e-4 * rate
        ):  # it diverged at the rate of gradient descent
            solver = replace(solver, learning_rate=solver.learning_rate / 8)
            points = run_for(problem, solver, start, n_rows)
            peer = f'rate {solver.learning_rate:.1e}, diverged at {8 * solver.learning_rate:.1e}'
        for seconds, params, work in points:
            found = judged(problem, params, test, train)
            yield machine.row(
                name,
                f'curve {title}',
                f'{seconds:.2f}',
                peer=peer,
                loss=f'{problem.loss(params):.5g}',
                mean_precision_5=f'{found["mean_precision@5"]:.4f}',
                recall_20=f'{found["recall@20"]:.4f}',
                work=f'{work:.0f}',
            )


def best_of(trials, valid, kept) -> tuple:
    "The trial with the best recall@20 on validation pairs: (settings, make)."
    scores = [
        rank_measures(make(kept), valid, kept, ('recall@20',))['recall@20'] for _, make in trials
    ]
    return trials[int(np.argmax(scores))]


def als_trials():
    """Settings of implicit's ALS, if it is there: in this environment or in that of the rivals,
    whose libraries come last."""
    machine.lend_peers()
    try:
        from implicit.als import AlternatingLeastSquares
    except ImportError:
        return []

    def trial(regularization, alpha):
        def make(train):
            model = AlternatingLeastSquares(
                factors=RANK,
                regularization=regularization,
                alpha=alpha,
                iterations=15,
                num_threads=1,
                random_state=0,
            )
            model.fit(train.astype(np.float32).tocsr(), show_progress=False)
            P, Q = np.asarray(model.user_factors), np.asarray(model.item_factors)
            return lambda rows: P[rows] @ Q.T

        return f'regularization {regularization:g}, alpha {alpha:g}', make

    return [trial(*each) for each in ((0.1, 10.0), (1.0, 10.0), (5.0, 10.0), (10.0, 40.0))][:TRIALS]


def ours(**settings):
    def make(train):
        model = SimilarityModel(RANK, **settings).fit(train)
        P, Q = model.left_embeddings_, model.right_embeddings_
        return lambda rows: P[rows] @ Q.T

    return make


def svd(rank):
    def make(train):
        P, Q = svd_factors(train, rank)
        return lambda rows: P[rows] @ Q.T

    return make


def lists(title, train, test) -> Iterator[dict]:
    """Measures on held-out pairs: simple methods, implicit's ALS, and two towers; tuned on
    validation pairs, then fitted to all training pairs."""
    pairs = np.column_stack(train.nonzero())
    cut = np.random.default_rng(0).random(len(pairs)) < 0.1
    kept, valid = pattern(pairs[~cut], train.shape), pattern(pairs[cut], train.shape)
    auto = auto_ridge(train.nnz, *train.shape)
    methods = {
        'popularity': [('', popularity)],
        'item-kNN': [
            (f'{n} neighbors', lambda m, n=n: item_neighbors(m, n)) for n in (10, 30, 100, 300)
        ],
        f'truncated SVD, rank {RANK}': [('', svd(RANK))],
        'truncated SVD, rank tuned': [(f'rank {rank}', svd(rank)) for rank in (10, 20, 40, 80)],
        'implicit ALS': als_trials(),
        'two towers, linear': [
            (f'ridge {times:g} x auto', ours(solver="newton", ridge=times * auto))
            for times in (0.5, 1.0, 2.0, 4.0)
        ],
        'SimilarityModel, deep': [('', ours(left=MLP(256, 256), right=MLP(256, 256)))],
    }
    for name, trials in methods.items():
        if not trials:
            continue
        begin = time.process_time()
        chosen, make = best_of(trials, valid, kept) if len(trials) > 1 else trials[0]
        found = rank_measures(make(train), test, train, MEASURES)
        seconds = time.process_time() - begin
        yield machine.row(name, f'lists {title}', f'{seconds:.1f}', peer=chosen, **cells(found))
    n_test = np.diff(test.indptr)
    top = {name: max_score(name, n_test[n_test > 0]) for name in MEASURES}
    yield machine.row('a perfect list', f'lists {title}', **cells(top))


def defaults(title, train) -> Iterator[dict]:
    """Recall on validation pairs around the rules for omega and the ridge, linear towers, 12 steps:
    one of the two is moved at a time."""
    pairs = np.column_stack(train.nonzero())
    cut = np.random.default_rng(0).random(len(pairs)) < 0.1
    kept, valid = pattern(pairs[~cut], train.shape), pattern(pairs[cut], train.shape)
    ridge, omega = auto_ridge(kept.nnz, *train.shape), kept.nnz / np.prod(train.shape)
    for times, weight in (
        (0.25, 1.0),
        (0.5, 1.0),
        (1.0, 1.0),
        (2.0, 1.0),
        (4.0, 1.0),
        (1.0, 0.25),
        (1.0, 4.0),
    ):
        begin = time.process_time()
        score = ours(
            solver='newton', ridge=times * ridge, unobserved_weight=weight * omega, max_iter=12
        )(kept)
        found = rank_measures(score, valid, kept, MEASURES)
        peer = f'ridge {times:g} x auto, unobserved weight {weight:g} x auto'
        seconds = f'{time.process_time() - begin:.1f}'
        told = dict(peer=peer, **cells(found))
        yield machine.row('two towers, linear', f'defaults {title}', seconds, **told)


def main() -> Iterator[dict]:
    warnings.simplefilter('ignore')
    for title, (train, test) in sets().items():
        yield from curves(title, train, test)
        yield from lists(title, train, test)
        if train.nnz < 1e5:
            yield from defaults(title, train)
