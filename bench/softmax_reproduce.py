"""The softmax paper's tables on the sets at hand, one core: MNIST, Bibtex, Delicious
(EXTREME_OPT_DATA), docstrings, and the next word in Brown.

- `table`: seven ways to a softmax, 50 passes, exact training log-loss and error for everyone.
  Preparation as in the paper: one label a row, rows of
  length one, no ridge. The rate falls by 0.9 a pass; it is the best of 10^-3..10^3 after 10 passes
  with five times that fall, on 15,000 random rows at most, and gives way to the next lower one
  where the full run ends above log K. One row per update, 5 wrong classes (implicit: 1, and 5).
  L-BFGS on the exact loss shows how far one can get.
- `tenth`: the same with the paper's search, 50 passes on a tenth of the rows (a random one), on
  Bibtex and Delicious.
- `rates`: the ends of all rates on Bibtex (Figure 2; the paper's Eurlex is not at hand).
- `forms`: U-max on the double sums (6) and (8) at rates 10^-4..10^4 on Bibtex (Figure 3).
- `stored`: the rates of Table 2 with the settings of the published runs (rows in file order, u = 0
  at the start, classes drawn from all K and the label
  dropped), each of the three changed alone to ours and ours with each changed alone to theirs.

Quality is log-loss and error, on all rows or on 5,000 fixed ones where rows times classes pass
10^7. Brown is its first 100,000 tokens of words seen at least 20 times. Without EXTREME_OPT_DATA
only docstrings run. About twenty minutes.

Beside them, with the same preparation, fall of the rate and passes:

- `softmax_seeds`: how much the seed matters on Bibtex and Delicious, at the rates of the stored
  table. About a minute.
- `softmax_starts`: Figure 2 from both starts, the ends of all rates on Bibtex from u = 0, as
  published, and from u = log K.
- `softmax_forms`: U-max on the two double sums (Figure 3): equation (6), equation (8), and (8) with
  the gradient of the public code. Settings of the published runs (rows in file order, classes drawn
  from all K and the label dropped) and of the library (rows at random, negative classes only), each
  from both starts. Rates 10^-4 to 10^3, three seeds. A few minutes.
"""

from __future__ import annotations

import csv
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import machine
import numpy as np
from numba import njit
from run import RESULTS

from extreme_opt import data
from extreme_opt.core import LBFGS, SGD, iterate, minimize
from extreme_opt.softmax import (
    NCE,
    DoubleSum,
    FullSoftmax,
    ImplicitSGD,
    ImportanceSampled,
    OneVsEach,
    UMax,
    mean_log_loss,
    top_k_accuracy,
)
from extreme_opt.softmax.double_sum import sample_distinct
from extreme_opt.softmax.implicit import pair_step

LONG = True  # needs data that are not in the package
SEEDS = range(1, 4)
PASSES = 50
DECAY = 0.9
RATES = [10.0**power for power in range(-3, 4)]
MARKS = (1, 2, 5, 10, 20, 30, 40, 50)
KINDS = dict(OneVsEach=OneVsEach, NCE=NCE, ImportanceSampled=ImportanceSampled)
SOLVERS = {
    'SGD': UMax(threshold=math.inf),
    'UMax': UMax(),
    'ImplicitSGD': ImplicitSGD(),
    'ImplicitSGD m=5': ImplicitSGD(n_negatives=5),
}
TABLE_2 = {
    'mnist': dict(SGD=-2, UMax=1, ImplicitSGD=-1),
    'bibtex': dict(SGD=-2, UMax=-1, ImplicitSGD=1),
    'delicious': dict(SGD=-3, UMax=-2, ImplicitSGD=-2),
}


def sets() -> dict:
    "Training rows and labels by name, labels 0..K-1."
    found = {}
    if os.environ.get('EXTREME_OPT_DATA'):
        for name in TABLE_2:
            found[name] = data.load(
                name, part='train', **({} if name == 'mnist' else dict(drop_empty=True))
            )
        brown = data.load('brown', min_count=20, bag=True, test_size=0.0)
        found['brown'] = (
            brown.train_features[:100_000],
            np.unique(brown.train_labels[:100_000], return_inverse=True)[1],
        )
    found['docstrings'] = data.docstrings()
    parts = {
        name: one if isinstance(one, tuple) else (one.train_features, one.train_labels)
        for name, one in found.items()
    }
    return {
        name: (features, labels, int(labels.max()) + 1)
        for name, (features, labels) in parts.items()
    }


LOST = dict(log_loss='inf', error='1.0000')


def score(problem, params, rows=None) -> dict[str, str]:
    "Exact log-loss and error; inf for weights that are lost."
    weights = problem.unpack(params)[0]
    if not np.isfinite(weights.sum(dtype=float)):
        return dict(LOST)
    return dict(
        log_loss=f'{mean_log_loss(problem, weights, rows):.4f}',
        error=f'{1 - top_k_accuracy(problem, weights, rows=rows):.4f}',
    )


def loss_of(scored: dict[str, str]) -> float:
    return float(scored['log_loss'])


def problem_of(method: str, data: tuple, **settings):
    return KINDS.get(method, DoubleSum)(*data, **settings)


def solver_of(method: str, rate: float, learning_rate_decay: float = DECAY):
    if method in KINDS:
        return SGD(rate, learning_rate_decay=learning_rate_decay)
    return replace(SOLVERS[method], learning_rate=rate, learning_rate_decay=learning_rate_decay)


def passes(problem, solver, marks, judge, lost) -> dict:
    """What `judge` says of the parameters, and seconds of the updates, at some passes; `lost` at
    the last one for a run that is."""
    found, seconds, states = {}, 0.0, iterate(problem, solver, seed=1)
    next(states)
    for done in range(1, max(marks) + 1):
        mark = time.perf_counter()
        state = next(states)
        seconds += time.perf_counter() - mark
        if not np.isfinite(state.params.sum(dtype=float)):
            return found | {max(marks): (lost, seconds)}
        if done in marks:
            found[done] = judge(state.params), seconds
    return found


def run(method, task, rate, marks=(PASSES,), decay=DECAY, rows=None, **settings) -> dict:
    "Scores and seconds of the updates at some passes."
    problem = problem_of(method, task, **settings)
    solver = solver_of(method, rate, decay)
    return passes(problem, solver, marks, lambda params: score(problem, params, rows), LOST)


def tuned(method: str, task: tuple, paper: bool = False) -> list[float]:
    """Rates from the best downwards: of a short run with the same fall of the rate, or of 50 passes
    on a tenth of the rows."""
    n = len(task[1])
    some = np.sort(
        np.random.default_rng(0).choice(
            n, max(n // 10, 200) if paper else min(n, 15_000), replace=False
        )
    )
    ends = [
        loss_of(
            run(
                method,
                (task[0][some], task[1][some], task[2]),
                rate,
                *(() if paper else ((10,), DECAY**5)),
            )[PASSES if paper else 10][0]
        )
        for rate in RATES
    ]
    return RATES[: int(np.argmin(ends)) + 1][::-1]


@njit
def _published(weights, log_norms, rows, squares, labels, sample, others, rate, delta, implicit):
    """Updates as in the published runs: a class that is the label is dropped, and what is left
    stands for all wrong ones. rows: indptr, indices, values."""
    indptr, indices, values = rows
    n_classes, gaps, ratios = weights.shape[0], np.empty(others.shape[1]), np.empty(others.shape[1])
    for t in range(len(sample)):
        i = sample[t]
        y, a, b, total, top, count = labels[i], indptr[i], indptr[i + 1], 0.0, 0.0, 0
        for j in range(others.shape[1]):
            if others[t, j] == y:
                continue
            count, gap = count + 1, 0.0
            for p in range(a, b):
                gap += values[p] * (weights[others[t, j], indices[p]] - weights[y, indices[p]])
            gaps[j], top = gap, max(top, gap)
        if count == 0:
            continue
        if implicit:
            log_norms[i], ratios[0] = pair_step(
                rate, math.log(n_classes - 1.0), 0.5 / squares[i], gaps[0], log_norms[i]
            )
            total = ratios[0]
        else:
            whole = math.exp(-top)
            for j in range(others.shape[1]):
                if others[t, j] != y:
                    whole += math.exp(gaps[j] - top)
            if log_norms[i] <= top + math.log(whole) - delta:
                log_norms[i] = top + math.log(whole)
            for j in range(others.shape[1]):
                if others[t, j] == y:
                    continue
                ratios[j] = rate * (n_classes - 1.0) / count * math.exp(gaps[j] - log_norms[i])
                total += ratios[j]
            log_norms[i] = max(0.0, log_norms[i] - rate * (1.0 - math.exp(-log_norms[i])) + total)
        for j in range(others.shape[1]):
            if others[t, j] == y:
                continue
            for p in range(a, b):
                weights[others[t, j], indices[p]] -= ratios[j] * values[p]
        for p in range(a, b):
            weights[y, indices[p]] += total * values[p]


def published(
    method: str, task: tuple, rate: float, order: str, start: str, classes: str
) -> tuple[dict[str, str], float]:
    """Scores and seconds of 50 passes with the settings of the published runs (file, zero, all), or
    ours (random, log K, wrong)."""
    problem = DoubleSum(*task)
    rng = np.random.default_rng(2)
    m = 1 if method == 'ImplicitSGD' else 5
    seconds = 0.0
    params = problem.init_params()
    n = problem.n_samples
    K = problem.n_classes
    rows = problem.features
    weights, log_norms = problem.unpack(params)
    if start == 'zero':
        log_norms[:] = 0
    for done in range(PASSES):
        sample = (
            np.arange(n, dtype=np.int32)
            if order == 'file'
            else rng.integers(n, size=n, dtype=np.int32)
        )
        others = (
            sample_distinct(rng, problem.labels[sample], K, m)
            if classes == 'wrong'
            else sample_distinct(rng, np.full(n, K), K + 1, m)
        )
        mark = time.perf_counter()
        _published(
            weights,
            log_norms,
            (rows.indptr, rows.indices, rows.data),
            problem.squared_norms,
            problem.labels,
            sample,
            others,
            rate * DECAY**done,
            math.inf if method == 'SGD' else 1.0,
            method == 'ImplicitSGD',
        )
        seconds += time.perf_counter() - mark
    return score(problem, params), seconds


def main() -> list[dict]:
    out, every = [], sets()

    def note(method, task, peer, measured, seconds=0.0):
        out.append(machine.row(method, task, f'{seconds:.3f}', peer=peer, **measured))

    np.seterr(all='ignore')

    for name, task in every.items():
        n, K = len(task[1]), task[2]
        rows = (
            None
            if n * K < 10**7
            else np.sort(np.random.default_rng(3).choice(n, 5000, replace=False))
        )
        note(
            'data',
            f'data, {name}',
            '',
            dict(
                n_samples=n,
                n_classes=K,
                n_features=task[0].shape[1],
                n_scored=n if rows is None else len(rows),
            ),
        )
        for method in (*KINDS, *SOLVERS):
            for search in ('table', 'tenth') if name in ('bibtex', 'delicious') else ('table',):
                for rate in tuned(method, task, search == 'tenth'):
                    found = run(method, task, rate, MARKS, rows=rows)
                    if loss_of(found[PASSES][0]) < math.log(K):
                        break
                for done, (scored, seconds) in found.items():
                    note(
                        method, f'{search}, {name}, pass {done}', f'rate {rate:g}', scored, seconds
                    )
        if name in TABLE_2:
            full = FullSoftmax(*task)
            best = minimize(full, LBFGS(), max_iter=100, tol=1e-5, loss_subset=0, record_every=1000)
            note(
                'LBFGS',
                f'table, {name}, pass {PASSES}',
                f'{best.state.n_iter} steps',
                score(full, best.state.params, rows),
                best.history[-1]['seconds'],
            )

    for name in set(every) & {'bibtex'}:
        for method in (*KINDS, *SOLVERS):
            for rate in RATES:
                note(
                    method,
                    f'rates, {name}',
                    f'rate {rate:g}',
                    *run(method, every[name], rate)[PASSES],
                )
        for alpha in (0.0, 1.0):
            for rate in [1e-4, *RATES, 1e4]:
                note(
                    'UMax',
                    f'forms, {name}, alpha {alpha:g}',
                    f'rate {rate:g}',
                    *run('UMax', every[name], rate, alpha=alpha)[PASSES],
                )

    theirs = dict(order='file', start='zero', classes='all')
    ours = dict(order='random', start='log K', classes='wrong')
    for name, powers in TABLE_2.items():
        if name not in every:
            continue
        for method, power in powers.items():
            cases = (
                {'theirs': theirs, 'ours': ours}
                | {f'theirs, {key} {ours[key]}': theirs | {key: ours[key]} for key in ours}
                | {f'ours, {key} {theirs[key]}': ours | {key: theirs[key]} for key in ours}
            )
            for case, settings in cases.items():
                note(
                    method,
                    f'stored, {name}, {case}',
                    f'rate {10.0**power:g}',
                    *published(method, every[name], 10.0**power, **settings),
                )
    return out


# ------------------------------------------------------------------------- seeds, starts, two forms
def at_hand(*names: str) -> list[tuple]:
    "Sets by name; without them nothing is measured."
    found = sets()
    if not set(names) <= set(found):
        sys.exit(f'EXTREME_OPT_DATA names no folder with {" and ".join(names)}; set it to one')
    return [found[name] for name in names]


def stored_rates() -> dict:
    "The rate of each method on each set, from the stored table."
    with (RESULTS / 'softmax_reproduce.csv').open(encoding='utf-8') as file:
        return {
            (row['task'].split(', ')[1], row['method']): float(row['peer'].removeprefix('rate '))
            for row in csv.DictReader(file)
            if row['task'].endswith(', pass 50')
            and row['task'].startswith('table')
            and row['peer'].startswith('rate ')
        }


def per_seed(ends: list[float]) -> dict[str, str]:
    "A column for each seed."
    return {f'log_loss_{seed}': f'{end:.4f}' for seed, end in enumerate(ends)}


def fit(problem, solver, params=None, seed=1) -> tuple[float, float]:
    "Log-loss after all passes, and seconds."
    run = minimize(problem, solver, params, max_epochs=PASSES, loss_subset=0, seed=seed)
    weights = problem.unpack(run.state.params)[0]
    sound = np.isfinite(weights.sum(dtype=float))
    return mean_log_loss(problem, weights) if sound else math.inf, run.history[-1]['seconds']


def softmax_seeds() -> list[dict]:
    out, rates, names = [], stored_rates(), ('bibtex', 'delicious')
    for name, data_of in zip(names, at_hand(*names), strict=True):
        for method in (*SOLVERS, *KINDS):
            rate, problem = rates[name, method], problem_of(method, data_of)
            ends = [fit(problem, solver_of(method, rate), seed=seed) for seed in SEEDS]
            losses, seconds = zip(*ends, strict=True)
            peer = f'rate {rate:g}, seeds {SEEDS[0]} to {SEEDS[-1]}'
            task, took = f'{name}, pass {PASSES}', f'{np.median(seconds):.2f}'
            out.append(machine.row(method, task, took, peer=peer, **per_seed(losses)))
    return out


def softmax_starts() -> Iterator[dict]:
    np.seterr(all='ignore')
    problem = DoubleSum(*at_hand('bibtex')[0])
    for start in ('u = 0', 'u = log K'):
        for method in SOLVERS:
            for rate in RATES:
                params = problem.init_params()
                if start == 'u = 0':
                    problem.unpack(params)[1][:] = 0.0
                loss, took = fit(problem, solver_of(method, rate), params)
                told = dict(peer=f'rate {rate:g}', log_loss=f'{loss:.4f}')
                yield machine.row(method, f'bibtex, {start}', f'{took:.2f}', **told)


@njit
def _form_updates(weights, log_norms, rows, labels, sample, others, rate, form):
    """U-max updates in order; form 0: (6), 1: (8), 2: (8) with e^E1 for E1 and without x in the
    label's gradient."""
    indptr, indices, values = rows
    n_classes, m = weights.shape[0], others.shape[1]
    scores, ratios = np.empty(m), np.empty(m)
    for t in range(len(sample)):
        i = sample[t]
        y, a, b, own, count = labels[i], indptr[i], indptr[i + 1], 0.0, 0
        for p in range(a, b):
            own += values[p] * weights[y, indices[p]]
        shift = own if form == 0 else 0.0
        top = own - shift
        for j in range(m):
            if others[t, j] == y:
                continue
            count += 1
            scores[j] = -shift
            for p in range(a, b):
                scores[j] += values[p] * weights[others[t, j], indices[p]]
            top = max(top, scores[j])
        if count == 0:
            continue
        whole = math.exp(own - shift - top)
        for j in range(m):
            if others[t, j] != y:
                whole += math.exp(scores[j] - top)
        best = top + math.log(whole)
        if log_norms[i] <= best - 1.0:
            log_norms[i] = best
        first, total = math.exp(own - shift - log_norms[i]), 0.0
        for j in range(m):
            if others[t, j] != y:
                ratios[j] = (n_classes - 1.0) / count * math.exp(scores[j] - log_norms[i])
                total += ratios[j]
        log_norms[i] -= rate * (1.0 - (math.exp(first) if form == 2 else first) - total)
        if form == 0:
            log_norms[i] = max(0.0, log_norms[i])
        for j in range(m):
            if others[t, j] != y:
                for p in range(a, b):
                    weights[others[t, j], indices[p]] -= rate * ratios[j] * values[p]
        pull = total if form == 0 else 1.0 - first
        for p in range(a, b):
            weights[y, indices[p]] += rate * pull * (1.0 if form == 2 else values[p])


def end_of_form(task: tuple, form: int, rate: float, order: str, start: str, seed: int) -> float:
    "Log-loss after all passes."
    problem, rng = DoubleSum(*task), np.random.default_rng(seed)
    n, K, rows = problem.n_samples, problem.n_classes, problem.features
    weights = np.zeros((K, problem.n_features))
    log_norms = np.full(n, 0.0 if start == 'u = 0' else math.log(K))
    for done in range(PASSES):
        if order == 'published':
            sample = np.arange(n, dtype=np.int32)
            others = sample_distinct(rng, np.full(n, K), K + 1, 5)
        else:
            sample = rng.integers(n, size=n, dtype=np.int32)
            others = sample_distinct(rng, problem.labels[sample], K, 5)
        csr = rows.indptr, rows.indices, rows.data
        _form_updates(
            weights, log_norms, csr, problem.labels, sample, others, rate * DECAY**done, form
        )
        if not np.isfinite(weights).all():
            return math.inf
    return mean_log_loss(problem, weights)


def softmax_forms() -> Iterator[dict]:
    np.seterr(all='ignore')
    (task,) = at_hand('bibtex')
    for order in ('published', 'random'):
        for start in ('u = 0', 'u = log K'):
            for form, number in {'(6)': 0, '(8)': 1, '(8), public code': 2}.items():
                for rate in [1e-4, *RATES]:
                    mark = time.perf_counter()
                    ends = [end_of_form(task, number, rate, order, start, seed) for seed in SEEDS]
                    took = f'{(time.perf_counter() - mark) / len(SEEDS):.2f}'
                    told = dict(peer=f'rate {rate:g}') | per_seed(ends)
                    yield machine.row(form, f'bibtex, {order}, {start}', took, **told)
