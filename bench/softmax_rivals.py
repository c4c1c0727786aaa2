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

`softmax_500_classes` holds the implicit solver beside scikit-learn's exact softmax on the 500 most
documented functions of `data.docstrings()`: fitted to the training sentences of those functions,
judged on the held-out ones, by the share of first answers that are right, and of true functions
among the first five. Seconds are those of `fit`, kernels compiled before.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import machine
import numpy as np
import softmax_reproduce
from softmax_reproduce import passes

from extreme_opt import data
from extreme_opt.core import LBFGS, minimize
from extreme_opt.softmax import (
    NCE,
    FullSoftmax,
    ImplicitSGD,
    ImportanceSampled,
    OneVsEach,
    SoftmaxClassifier,
    UMax,
)

LONG = ('softmax_rivals',)
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
softmax_reproduce.SOLVERS |= {
    'ImplicitSGD m=20': ImplicitSGD(n_negatives=20),
    'UMax m=50': UMax(n_negatives=50),
}
softmax_reproduce.KINDS |= {
    'ImportanceSampled label_exact': lambda *data: ImportanceSampled(*data, form='label_exact')
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


def main() -> Iterator[dict]:
    for task, n_rows in ROWS.items():
        rows = (*planted(n_rows, noise=task == 'planted'), N_CLASSES)
        for kind in (FullSoftmax, OneVsEach, NCE):
            problem = kind(*rows)
            run = minimize(problem, LBFGS(), max_iter=150, tol=1e-4, record_every=1000)
            told = dict(log_loss=f'{problem.log_loss(run.state.params):.4f}')
            took = f'{run.column("seconds")[-1]:.2f}'
            yield machine.row(f'L-BFGS {kind.__name__}', f'{task}, pass end', took, **told)
        for method, (rate, decay, last) in SETTINGS[task].items():
            problem = softmax_reproduce.problem_of(method, rows)
            solver = softmax_reproduce.solver_of(method, rate, decay)
            marks = [mark for mark in MARKS if mark <= last]
            with np.errstate(all='ignore'):
                found = passes(problem, solver, marks, problem.log_loss, np.inf)
            for done, (loss, seconds) in found.items():
                told = dict(peer=f'rate {rate:.3g}, decay {decay:g}', log_loss=f'{loss:.4f}')
                yield machine.row(method, f'{task}, pass {done}', f'{seconds:.3f}', **told)


def softmax_500_classes() -> list[dict]:
    from sklearn.linear_model import LogisticRegression

    docs = data.docstrings()
    some = np.argsort(-np.bincount(docs.train_labels), kind='stable')[:500]
    (X, y), (X_test, y_test) = (
        (docs.features[rows], docs.labels[rows])
        for rows in (
            docs.train[np.isin(docs.train_labels, some)],
            docs.test[np.isin(docs.test_labels, some)],
        )
    )
    task, rows = f'docstrings of 500 functions: {len(y)} rows, {X.shape[1]} words', []
    SoftmaxClassifier('implicit', max_epochs=1).fit(X[:600], y[:600])
    exact = LogisticRegression(C=10.0, max_iter=40)
    for method, peer, model in (
        ('LogisticRegression, 40 iterations', 'scikit-learn', exact),
        ('implicit, 6 passes', '', SoftmaxClassifier('implicit', max_epochs=6)),
        ('implicit, 20 passes', '', SoftmaxClassifier('implicit', max_epochs=20)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # forty iterations are not convergence
            seconds = machine.timed(lambda model=model: model.fit(X, y))
        first = np.argsort(-model.decision_function(X_test), axis=1)[:, :5]
        best = model.classes_[first] == y_test[:, None]
        told = dict(top_1=f'{best[:, 0].mean():.3f}', top_5=f'{best.any(1).mean():.3f}')
        rows.append(machine.row(method, task, f'{seconds:.1f}', peer=peer, **told))
    return rows
