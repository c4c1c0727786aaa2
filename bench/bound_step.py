"""What a step of bound majorization costs, single-threaded:

- with a Cholesky factorization, on the digits and on Satellite (where EXTREME_OPT_DATA has it),
  against an iteration of scikit-learn's newton-cholesky
  on the same objective (the difference between fits of five iterations and of one, over four, so
  that validation does not count);
- without a matrix (conjugate gradients behind Boehning's preconditioner), up to K * d = 100,000, in
  gradients; and the memory it takes, beside the bytes of
  samples by classes and of parameters;
- how many steps relaxation saves: steps to a relative gap of 1e-6 with eta = 1, 1.8 and 1.9.

Asked: at most 1.15 iterations (median of 9 alternated), at most 15 gradients, half the steps.
"""

from __future__ import annotations

import os
import statistics
import tracemalloc
import warnings

import machine
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from extreme_opt import data
from extreme_opt.bound import LogLinear
from extreme_opt.core import minimize
from extreme_opt.core.majorize import Majorizer, Newton

RIDGE, ROUNDS, ASKED_STEP, ASKED_GRADIENTS = 1e-3, 9, 1.15, 15.0


def sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    "Features and labels by name; Satellite only where the data are."
    X, y = load_digits(return_X_y=True)
    made = data.four_gaussians()[0]
    found = {
        'digits': (X / 16, y),
        'four Gaussians': (np.asarray(made.features), np.asarray(made.labels)),
    }
    if os.environ.get('EXTREME_OPT_DATA'):
        table = data.load('uci-multiclass', table='Satellite', dtype=np.float64)
        found['Satellite'] = np.asarray(table.features), np.asarray(table.labels)
    return found


def with_ones(X: np.ndarray) -> np.ndarray:
    return np.hstack([X, np.ones((len(X), 1))])


def cholesky(name: str, X: np.ndarray, y: np.ndarray) -> dict:
    "A step against an iteration of newton-cholesky."
    problem = LogLinear(with_ones(X), y, ridge=RIDGE, n_unpenalized=1)
    solver = Majorizer(solve='cholesky')
    state = minimize(problem, solver, max_iter=1).state

    def fit(n):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            LogisticRegression(
                C=1 / (RIDGE * len(y)), solver='newton-cholesky', max_iter=n, tol=1e-14
            ).fit(X, y)

    found = machine.race(
        {
            'step': lambda: solver.step(problem, state, np.random.default_rng(0)),
            'one': lambda: fit(1),
            'five': lambda: fit(5),
        },
        ROUNDS,
    )
    seconds = {name: timing.seconds for name, timing in found.items()}
    iteration = [
        (five - one) / 4 for one, five in zip(seconds['one'], seconds['five'], strict=True)
    ]
    share = machine.ratio(seconds['step'], iteration)
    machine.asked(f'{name}: iterations of newton-cholesky a step', share, ASKED_STEP, least=False)
    return machine.row(
        'BM step with Cholesky',
        f'{name}: {len(y)} rows, {problem.n_params} parameters',
        found['step'],
        peer='newton-cholesky iteration',
        peer_steps=f'{share:.2f}',
        peer_seconds=f'{statistics.median(iteration):.4f}',
    )


def matrix_free(n_classes: int, n_features: int, n_samples: int) -> dict:
    "A step in gradients, and its memory."
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(n_samples, n_features))
        * np.geomspace(1, 30, n_features)
        / np.sqrt(n_features)
    )
    y = np.argmax(
        X @ rng.normal(size=(n_features, n_classes)) + rng.gumbel(size=(n_samples, n_classes)), 1
    )
    problem, solver = LogLinear(X, y, n_classes, ridge=RIDGE), Majorizer(solve='cg')
    state = minimize(
        problem, solver, max_iter=2, loss_subset=0
    ).state  # two steps: the preconditioner is factorized, once for the whole run
    jobs = {
        'step': lambda: solver.step(problem, state, rng),
        'gradient': lambda: problem.loss_and_grad(state.params),
    }
    found = machine.race(jobs, ROUNDS)
    seconds = {name: timing.seconds for name, timing in found.items()}
    cost = machine.ratio(seconds['step'], seconds['gradient'])
    tracemalloc.start()
    solver.step(problem, state, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    unit = 8 * (n_samples * n_classes + problem.n_params)
    task = f'made up: {n_samples} rows, K = {n_classes}, d = {n_features}'
    machine.asked(f'{task}: gradients a step', cost, ASKED_GRADIENTS, least=False)
    return machine.row(
        'BM step without a matrix',
        task,
        found['step'],
        peer='gradient',
        peer_steps=f'{cost:.1f}',
        memory_units=f'{peak / unit:.1f}',  # of 8 (tK + Kd) bytes
    )


def relaxation(name: str, X: np.ndarray, y: np.ndarray) -> dict:
    "Steps to a relative gap of 1e-6."
    problem = LogLinear(with_ones(X), y, ridge=RIDGE, n_unpenalized=1)
    best = min(minimize(problem, Newton(), max_iter=40, tol=1e-9).column('loss'))
    steps = {}
    for eta in (1.0, 1.8, 1.9):
        run = minimize(problem, Majorizer(relaxation=eta), max_iter=400, tol=1e-6)
        steps[eta] = int(np.argmax(run.column('loss') <= best * (1 + 1e-6))) or 400
    told = {f'n_steps_{10 * eta:.0f}': count for eta, count in steps.items()}  # ten times eta
    task, method = f'{name}: {len(y)} rows', 'BM steps to 1e-6 with three relaxations'
    return machine.row(method, task, peer='relaxation', **told)


def main() -> list[dict]:
    found = sets()
    rows = [cholesky(name, X, y) for name, (X, y) in found.items() if name != 'four Gaussians']
    rows += [matrix_free(*shape) for shape in ((10, 100, 5000), (50, 200, 4000), (100, 1000, 4000))]
    return rows + [relaxation(name, X, y) for name, (X, y) in found.items()]
