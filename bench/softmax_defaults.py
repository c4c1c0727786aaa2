"""`SoftmaxClassifier()` as it comes, with `solver="implicit"`, with `loss="squared_hinge"`, on
texts with `loss="softmax"` (of tables that is the default), four classifiers of scikit-learn as
they come, and two of them with C tuned, on rows that nobody has seen. One thread.

Rows: digits, wine and breast cancer of scikit-learn, three tables of UCI, MNIST (4,000 rows),
Bibtex and Delicious (first label), the 500 most documented functions of `data.docstrings()`, and
all of them; made texts of 150 topics. The default was chosen on digits, Bibtex and Delicious, its
share of margins on those two and the 500 functions. Rows of texts have length one;
columns of tables have variance one, those of wine and breast cancer are as they come. Sets from
EXTREME_OPT_DATA are left out without it. Each split holds out a fifth of the rows, drawn with its
own seed; rows whose class is not in training are dropped. Five splits, of Delicious and the 500
functions three, of the topics two, of all docstrings one.

C is chosen among CS on a fifth of the training rows that is held out, by accuracy for LinearSVC and
by log-loss for LogisticRegression (at most 60 iterations), then all training rows are fitted.
Seconds are processor seconds of everything that an entrant does, searches included. `above` is
log-loss over that of LogisticRegression in the same split. LogisticRegression is left out on
docstrings, where a search takes minutes, and LinearSVC with C tuned on all of them. Naive Bayes is
ComplementNB on words and GaussianNB on tables; the centroid is `NearestCentroid`.
"""

from __future__ import annotations

import os
import time
import warnings

import machine
import numpy as np
import scipy.sparse

from extreme_opt import data
from extreme_opt.softmax import SoftmaxClassifier

LONG = True
CS = (0.1, 1.0, 10.0)
CHOSEN_ON = ('bibtex', 'delicious')
SOFTMAX = 'SoftmaxClassifier(loss="softmax")'
LARGE = ('docstrings', 'docstrings, 500')
SPLITS = {'delicious': 3, 'docstrings, 500': 3, 'docstrings': 1, 'topics': 2}  # else five


def sets():
    "Names, rows and labels."
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    X, y = load_digits(return_X_y=True)
    yield 'digits', X / 16.0, y
    yield 'wine', *load_wine(return_X_y=True)
    yield 'breast cancer', *load_breast_cancer(return_X_y=True)
    if os.environ.get('EXTREME_OPT_DATA'):
        for table in ('DNA', 'Satellite', 'LetterRecognition'):
            found = data.load('uci-multiclass', table=table)
            yield table, found.features, found.labels
        found = data.load('mnist')
        rows = np.random.default_rng(0).permutation(len(found.labels))[:4000]
        pixels = found.features[rows].astype(np.float32)
        yield 'mnist', pixels / pixels.max(), found.labels[rows]
        for name in CHOSEN_ON:
            found = data.load(name, drop_empty=True)
            yield name, found.features, found.labels
    yield 'topics', *topics()
    found = data.docstrings(max_classes=500)
    yield 'docstrings, 500', found.features, found.labels
    found = data.docstrings()
    yield 'docstrings', found.features, found.labels


def topics(n_rows=12_000, n_classes=150, n_words=8000):
    "Texts of 20 to 79 words by Zipf's law, a quarter of them by a topic. Topics differ in size."
    from sklearn.feature_extraction.text import TfidfTransformer

    rng = np.random.default_rng(0)
    zipf = 1 / np.arange(1.0, n_words + 1)
    zipf /= zipf.sum()
    y = rng.choice(n_classes, n_rows, p=rng.dirichlet(np.full(n_classes, 0.7)))
    own = [np.cumsum(0.75 * zipf + 0.25 * rng.dirichlet(300 * zipf)) for _ in range(n_classes)]
    lengths = rng.integers(20, 80, n_rows)
    words = [
        np.minimum(np.searchsorted(own[k], rng.random(n)), n_words - 1)
        for k, n in zip(y, lengths, strict=True)
    ]
    starts = np.append(0, np.cumsum(lengths)).astype(np.int32)
    cells = np.ones(starts[-1], np.float32), np.concatenate(words).astype(np.int32), starts
    X = scipy.sparse.csr_array(cells, shape=(n_rows, n_words))
    X.sum_duplicates()
    return scipy.sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X)), y


def tuned(make, X, y, by_loss):
    "A fit on all rows with the C that is best on a fifth of them."
    from sklearn.model_selection import train_test_split

    some, rest = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0)
    rest = rest[np.isin(y[rest], y[some])]
    found = {}
    for C in CS:
        model = make(C).fit(X[some], y[some])
        found[C] = -loss_of(model, X[rest], y[rest]) if by_loss else model.score(X[rest], y[rest])
    return make(max(found, key=found.get)).fit(X, y)


def loss_of(model, X, y):
    "Mean log-loss."
    proba = model.predict_proba(X).astype(float)
    proba = proba[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(proba, 1e-300)).mean())


def bayes(X, y):
    "Naive Bayes for words, or for numbers."
    from sklearn.naive_bayes import ComplementNB, GaussianNB

    return (ComplementNB() if scipy.sparse.issparse(X) else GaussianNB()).fit(X, y)


def entrants():
    "Name, and what makes a fitted model from rows and labels."
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import NearestCentroid
    from sklearn.svm import LinearSVC

    def exact(C):
        return LogisticRegression(C=C, max_iter=60)

    return {
        'LogisticRegression, C tuned': lambda X, y: tuned(exact, X, y, True),
        'LinearSVC, C tuned': lambda X, y: tuned(lambda C: LinearSVC(C=C), X, y, False),
        'LogisticRegression()': lambda X, y: LogisticRegression().fit(X, y),
        'LinearSVC()': lambda X, y: LinearSVC().fit(X, y),
        'naive Bayes': bayes,
        'nearest centroid': lambda X, y: NearestCentroid().fit(X, y),
        'SoftmaxClassifier("implicit")': lambda X, y: SoftmaxClassifier('implicit').fit(X, y),
        'SoftmaxClassifier(loss="squared_hinge")': lambda X, y: SoftmaxClassifier(
            loss='squared_hinge'
        ).fit(X, y),
        SOFTMAX: lambda X, y: SoftmaxClassifier(loss='softmax').fit(X, y),
        'SoftmaxClassifier()': lambda X, y: SoftmaxClassifier().fit(X, y),
    }


def split_of(name, X, y, split) -> list[dict]:
    "What each entrant reaches when a fifth of the rows is held out."
    from sklearn.neighbors import NearestCentroid

    order = np.random.default_rng([split, 5]).permutation(len(y))
    test, train = np.split(order, [len(y) // 5])
    test = test[np.isin(y[test], y[train])]
    rows = []
    task = f'{name}, split {split}: {len(train)} rows, {len(np.unique(y[train]))} classes'
    for who, fit in entrants().items():
        if name in LARGE and who.startswith('Logistic'):
            continue
        if name == 'docstrings' and 'tuned' in who:
            continue
        if who == SOFTMAX and not scipy.sparse.issparse(X):
            continue

        def job(who=who, fit=fit):
            mark = time.process_time()
            model = fit(X[train], y[train])
            seconds = time.process_time() - mark
            known = hasattr(model, 'predict_proba') and not isinstance(model, NearestCentroid)
            measured = dict(
                peer='' if who.startswith('Softmax') else 'scikit-learn',
                top_1=f'{model.score(X[test], y[test]):.4f}',
                log_loss=f'{loss_of(model, X[test], y[test]):.4f}' if known else '',
                above='',
                versions=machine.versions('scikit-learn'),
            )
            return machine.row(who, task, f'{seconds:.2f}', **measured)

        rows.append(machine.kept(f'{name} {split} {who}'.replace('"', ''), job))
        if rows[-1]['log_loss'] and rows[0]['log_loss'] and rows[0]['method'].startswith('Log'):
            rows[-1]['above'] = f'{float(rows[-1]["log_loss"]) / float(rows[0]["log_loss"]):.3f}'
    return rows


def main() -> list[dict]:
    warnings.simplefilter('ignore')
    rows: list[dict] = []
    y = np.arange(150) // 50
    for solver in ('implicit', 'exact', 'auto'):  # compiled before the clock
        for X in (np.eye(3)[y], scipy.sparse.eye_array(3).tocsr()[y]):
            SoftmaxClassifier(solver).fit(X, y)
    for name, X, y in sets():
        for split in range(SPLITS.get(name, 5)):
            rows += split_of(name, X, y, split)
    return rows


def softmax_early_stopping() -> list[dict]:
    "Four tables, five splits: two solvers as they come, and with `early_stopping=True`."
    warnings.simplefilter('ignore')
    rows: list[dict] = []
    for name, X, y in sets():
        if name not in ('digits', 'wine', 'DNA', 'Satellite'):
            continue
        for split in range(5):
            order = np.random.default_rng([split, 5]).permutation(len(y))
            test, train = np.split(order, [len(y) // 5])
            test = test[np.isin(y[test], y[train])]
            for solver in ('auto', 'implicit'):
                for stops in (False, True):
                    mark = time.process_time()
                    model = SoftmaxClassifier(solver, early_stopping=stops).fit(X[train], y[train])
                    seconds = time.process_time() - mark
                    rows.append(
                        machine.row(
                            f'{solver}, early stopping' if stops else solver,
                            f'{name}, split {split}: {len(train)} rows, {len(test)} judged',
                            f'{seconds:.2f}',
                            top_1=f'{model.score(X[test], y[test]):.4f}',
                            log_loss=f'{loss_of(model, X[test], y[test]):.4f}',
                        )
                    )
    return rows
