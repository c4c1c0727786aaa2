"""Where bias shows: labels planted by a softmax over 500 classes and 50 features (and a constant),
float32, one core.

- `planted`: 30,000 rows; no weights fit all labels, and the best log-loss is far from 0;
- `separable`: 10,000 rows, each labeled by the class with the best score; the planted weights, made
  long, fit every label.

One sample and 5 wrong classes an update (U-max also 50, implicit SGD also 1 and 20). Rates and
their fall per pass are the best of those tried (by about half decades, falls of 0 to 3 per cent,
100 to 1,500 passes: no rival ends lower with a slower fall and more passes) and stand in SETTINGS.
Quality is the exact softmax log-loss in nats per row on all rows; `task` ends with the pass, `peer`
holds rate and decay. L-BFGS runs on the exact loss of the problem named, until its gradient is
10^-4 of the first one or 150 steps are made. Seconds are those of the updates alone. About seven
minutes, five of them L-BFGS.
"""

from __future__ import annotations

import time
from dataclasses import replace

import machine
import numpy as np

from extreme_opt.core import LBFGS, SGD, iterate, minimize
from extreme_opt.softmax import (
    NCE,
    DoubleSum,
    FullSoftmax,
    ImplicitSGD,
    ImportanceSampled,
    OneVsEach,
    UMax,
)

N_CLASSES, N_FEATURES, ROWS = 500, 50, dict(planted=30_000, separable=10_000)
MARKS = (
    1,
    2,
    3,
    5,
    7,
    10,
    15,
    20,
    30,
    40,
    50,
    70,
    100,
    130,
    160,
    200,
    250,
    300,
    400,
    500,
    700,
    1000,
    1500,
)
SOLVERS = {
    'ImplicitSGD m=5': ImplicitSGD(n_negatives=5),
    'ImplicitSGD m=20': ImplicitSGD(n_negatives=20),
    'ImplicitSGD': ImplicitSGD(),
    'UMax': UMax(),
    'UMax m=50': UMax(n_negatives=50),
    'SGD': UMax(threshold=np.inf),
}
KINDS = {
    'OneVsEach': OneVsEach,
    'ImportanceSampled': ImportanceSampled,
    'ImportanceSampled label_exact': lambda *data: ImportanceSampled(*data, form='label_exact'),
    'NCE': NCE,
}
SETTINGS = {  # learning rate, decay, passes
    'planted': {
        'ImplicitSGD m=5': (0.1, 0.99, 500),
        'ImplicitSGD': (0.03, 0.997, 1500),
        'UMax': (0.03, 0.998, 1000),
        'UMax m=50': (0.3, 0.98, 160),
        'ImplicitSGD m=20': (0.3, 0.978, 260),
        'OneVsEach': (0.01, 0.97, 300),
        'ImportanceSampled': (1.0, 0.97, 300),
        'ImportanceSampled label_exact': (10**-0.5, 0.97, 300),
        'NCE': (1.0, 0.97, 300),
    },
    'separable': {
        'ImplicitSGD m=5': (100.0, 0.97, 300),
        'ImplicitSGD': (10**1.5, 0.97, 300),
        'UMax': (0.1, 0.998, 1000),
        'SGD': (10**-0.5, 0.97, 300),
        'OneVsEach': (10**-1.5, 0.99, 300),
        'ImportanceSampled': (10.0, 0.99, 300),
        'ImportanceSampled label_exact': (10**0.5, 0.99, 300),
        'NCE': (10.0, 0.97, 300),
    },
}


def planted(n_rows: int, noise: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the labels that a softmax with weights of spread 3 gives them, or its best class
    without noise."""
    rng = np.random.default_rng(0)
    weights = 3 * rng.normal(size=(N_CLASSES, N_FEATURES))
    rows = rng.normal(size=(n_rows, N_FEATURES)) / np.sqrt(N_FEATURES)
    labels = (rows @ weights.T + noise * rng.gumbel(size=(n_rows, N_CLASSES))).argmax(1)
    return np.column_stack([rows, np.ones(n_rows)]).astype(np.float32), labels


def passes(method: str, data: tuple, rate: float, learning_rate_decay: float, last: int) -> dict:
    """Exact log-loss and seconds of the updates at some passes; inf at the last one for a run that
    is lost."""
    problem = KINDS[method](*data) if method in KINDS else DoubleSum(*data)
    solver = (
        SGD(rate, learning_rate_decay=learning_rate_decay)
        if method in KINDS
        else replace(SOLVERS[method], learning_rate=rate, learning_rate_decay=learning_rate_decay)
    )
    found, seconds, states = {}, 0.0, iterate(problem, solver, seed=1)
    next(states)
    for done in range(1, last + 1):
        mark = time.perf_counter()
        state = next(states)
        seconds += time.perf_counter() - mark
        if not np.isfinite(state.params.sum(dtype=float)):
            return found | {last: (np.inf, seconds)}
        if done in MARKS:
            found[done] = problem.log_loss(state.params), seconds
    return found


def rows_of(task: str, data: tuple, methods=None) -> list[dict]:
    "What is measured on one kind of data."
    out, common = [], dict(threads=1, versions=machine.versions(), date=machine.today())
    for method, settings in SETTINGS[task].items():
        if methods and method not in methods:
            continue
        with np.errstate(all='ignore'):
            found = passes(method, data, *settings)
        for done, (loss, seconds) in found.items():
            out.append(
                dict(
                    method=method,
                    task=f'{task}, pass {done}',
                    peer=f'rate {settings[0]:.3g}, decay {settings[1]:g}',
                    seconds=f'{seconds:.3f}',
                    log_loss=f'{loss:.4f}',
                    peak_mb=machine.peak_mb(),
                    **common,
                )
            )
        print(task, method, settings, out[-1]['log_loss'], f'{seconds:.1f} s', flush=True)
    return out


def main() -> list[dict]:
    out, common = [], dict(threads=1, versions=machine.versions(), date=machine.today())
    for task, n_rows in ROWS.items():
        data = (*planted(n_rows, noise=task == 'planted'), N_CLASSES)
        for kind in (FullSoftmax, OneVsEach, NCE):
            problem = kind(*data)
            run = minimize(problem, LBFGS(), max_iter=150, tol=1e-4, record_every=1000)
            loss = problem.log_loss(run.state.params)
            print(task, f'L-BFGS {kind.__name__}', f'{loss:.3f}', run.message, flush=True)
            out.append(
                dict(
                    method=f'L-BFGS {kind.__name__}',
                    task=f'{task}, pass end',
                    peer='',
                    seconds=f'{run.column("seconds")[-1]:.2f}',
                    log_loss=f'{loss:.4f}',
                    peak_mb=machine.peak_mb(),
                    **common,
                )
            )
        out += rows_of(task, data)
    return out
