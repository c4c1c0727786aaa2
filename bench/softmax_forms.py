"""U-max on the two double sums (Figure 3), on Bibtex (EXTREME_OPT_DATA): equation (6), equation
(8), and (8) with the gradient of the public code.

Settings of the published runs (rows in file order, classes drawn from all K and the label dropped,
50 passes, the rate falls by 0.9 a pass) from both starts, u = 0 (published) and u = log K; and the
library's settings (rows at random, negative classes only) from both. Rates 10^-4 to 10^3, three
seeds. Quality is the exact training log-loss of each seed. A few minutes on one core.
"""

from __future__ import annotations

import math
import sys
import time

import machine
import numpy as np
from numba import njit
from softmax_reproduce import DECAY, PASSES, sets

from extreme_opt.softmax import DoubleSum, mean_log_loss
from extreme_opt.softmax.double_sum import sample_distinct

LONG = True  # needs data that are not in the package
SEEDS, RATES = range(1, 4), [10.0**power for power in range(-4, 4)]
FORMS = {'(6)': 0, '(8)': 1, '(8), public code': 2}
SETTINGS = {
    f'{order}, {start}': (order, start)
    for order in ('published', 'random')
    for start in ('u = 0', 'u = log K')
}


@njit
def updates(weights, log_norms, rows, labels, sample, others, rate, form):
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


def end(task: tuple, form: int, rate: float, order: str, start: str, seed: int) -> float:
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
        updates(weights, log_norms, csr, problem.labels, sample, others, rate * DECAY**done, form)
        if not np.isfinite(weights).all():
            return math.inf
    return mean_log_loss(problem, weights)


def main() -> list[dict]:
    found, out = sets(), []
    if 'bibtex' not in found:
        sys.exit('EXTREME_OPT_DATA names no folder with bibtex; set it to one that has it')
    np.seterr(all='ignore')
    for setting, (order, start) in SETTINGS.items():
        for form, number in FORMS.items():
            for rate in RATES:
                mark = time.perf_counter()
                ends = [end(found['bibtex'], number, rate, order, start, seed) for seed in SEEDS]
                out.append(
                    dict(
                        method=form,
                        task=f'bibtex, {setting}',
                        peer=f'rate {rate:g}',
                        threads=1,
                        seconds=f'{(time.perf_counter() - mark) / len(SEEDS):.2f}',
                        **{f'log_loss_{seed}': f'{one:.4f}' for seed, one in enumerate(ends)},
                        peak_mb=machine.peak_mb(),
                        versions=machine.versions(),
                        date=machine.today(),
                    )
                )
                print(setting, form, f'{rate:g}', ends, flush=True)
    return out
