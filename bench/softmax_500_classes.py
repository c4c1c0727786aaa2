"""The implicit solver beside scikit-learn's exact softmax on the 500 most documented functions of
`data.docstrings()`, one core.

Both fit the training sentences of those functions and answer the held-out ones. Quality is the
share of first answers that are right, and of true functions among the first five. Seconds are those
of `fit`, kernels compiled before.
"""

from __future__ import annotations

import warnings

import machine
import numpy as np

from extreme_opt import data
from extreme_opt.softmax import SoftmaxClassifier


def main() -> list[dict]:
    from sklearn.linear_model import LogisticRegression

    docs = data.docstrings()
    some = np.argsort(-np.bincount(docs.train_labels), kind='stable')[:500]
    train, test = (
        docs.train[np.isin(docs.train_labels, some)],
        docs.test[np.isin(docs.test_labels, some)],
    )
    X, y, X_test, y_test = (
        docs.features[train],
        docs.labels[train],
        docs.features[test],
        docs.labels[test],
    )
    task, rows = f'docstrings of 500 functions: {len(y)} rows, {X.shape[1]} words', []
    SoftmaxClassifier(max_epochs=1).fit(X[:600], y[:600])
    for method, peer, model in (
        (
            'LogisticRegression, 40 iterations',
            'scikit-learn',
            LogisticRegression(C=10.0, max_iter=40),
        ),
        ('implicit, 6 passes', '', SoftmaxClassifier(max_epochs=6)),
        ('implicit, 20 passes', '', SoftmaxClassifier(max_epochs=20)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # forty iterations are not convergence
            seconds = machine.timed(lambda model=model: model.fit(X, y))
        best = (
            model.classes_[np.argsort(-model.decision_function(X_test), axis=1)[:, :5]]
            == y_test[:, None]
        )
        measured = dict(top_1=f'{best[:, 0].mean():.3f}', top_5=f'{best.any(1).mean():.3f}')
        print(f'{method:36s}{measured}  {seconds:.1f} s')
        rows.append(
            dict(
                method=method,
                task=task,
                peer=peer,
                threads=1,
                seconds=f'{seconds:.1f}',
                **measured,
                peak_mb=machine.peak_mb(),
                versions=machine.versions('scikit-learn'),
                date=machine.today(),
            )
        )
    return rows
