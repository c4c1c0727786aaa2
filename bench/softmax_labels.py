"""Rows with several labels: precision among the first one, three and five labels named, of
`SoftmaxClassifier()` beside one-vs-rest margins and probabilities.

Bibtex and Delicious with all their labels (from EXTREME_OPT_DATA; rows of length one; rows without
a label or a word are dropped). Each split holds out a fifth of the rows, drawn with its own seed;
three splits of Bibtex, two of Delicious. C of the two one-vs-rest classifiers is chosen among CS on
a fifth of the training rows, by precision of the first three, with one label in so many that some
50 to 100 are left. The centroid is the mean row of a label, by cosine; popularity names the most
frequent labels. `error` is the standard error of the precision of the first over rows held out.

`exact`, `f1_rows`, `f1_labels`: the labels that are named, not ranked: share of rows with all of
them right and none besides, mean F1 of the rows, F1 of all cells. One-vs-rest names what has a
score above 0, ours what `predict` says.

`a row counts once`: each row has sample_weight one over the number of its labels. `logit
adjustment`: .25 times the log share of a label off its score. One thread; processor seconds with
all searches.
"""

from __future__ import annotations

import os
import time
import warnings

import machine
import numpy as np
import scipy.sparse

from extreme_opt.softmax import SoftmaxClassifier

LONG = True
CS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def sets():
    "Name, number of splits, rows, indicator matrix."
    if os.environ.get('EXTREME_OPT_DATA'):
        for name, splits in (('bibtex', 3), ('delicious', 2)):
            yield name, splits, *of_mulan(name)


def of_mulan(name):
    "Rows of length one and all their labels, both parts together."
    from pathlib import Path

    from sklearn.preprocessing import normalize

    from extreme_opt.data.formats import read_arff

    folder, parts = Path(os.environ['EXTREME_OPT_DATA']) / name, []
    for part in ('train', 'test'):
        found = read_arff(folder / f'{name}-{part}.arff.gz', folder / f'{name}.xml.gz')
        cells = np.ones(len(found.label_ids), int), found.label_ids, found.label_starts
        kinds = scipy.sparse.csr_array(cells, shape=(len(found.label_starts) - 1, found.n_labels))
        parts.append((scipy.sparse.csr_array(found.features), kinds))
    X, Y = (scipy.sparse.vstack(each, format='csr') for each in zip(*parts, strict=True))
    keep = (np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0)
    return scipy.sparse.csr_array(normalize(X[keep])), scipy.sparse.csr_array(Y[keep])


def precisions(scores, Y):
    "Share of right labels among the first one, three and five."
    best = np.argsort(-scores, axis=1, kind='stable')[:, :5]
    right = np.asarray(Y[np.arange(len(best))[:, None].repeat(5, 1), best].todense())
    return [float((right[:, :k] != 0).mean()) for k in (1, 3, 5)]


def named(chosen, Y):
    "Share of rows with the right set of labels, mean F1 of rows, F1 of cells; of ranks nothing."
    if chosen is None:
        return dict(exact='', f1_rows='', f1_labels='')
    chosen = scipy.sparse.csr_array(chosen).astype(float)
    both = np.asarray(chosen.multiply(Y).sum(1)).ravel()
    told, true = (np.asarray(each.sum(1)).ravel() for each in (chosen, Y))
    exact = ((both == told) & (both == true)).mean()
    f1 = 2 * both / np.maximum(told + true, 1)
    return dict(exact=exact, f1_rows=f1.mean(), f1_labels=2 * both.sum() / (told + true).sum())


def one_each(make, X, Y, new):
    "Scores of one classifier for each label."
    scores = np.full((new.shape[0], Y.shape[1]), -np.inf)
    columns = scipy.sparse.csc_array(Y)
    for k in range(Y.shape[1]):
        y = np.zeros(X.shape[0], int)
        y[columns.indices[columns.indptr[k] : columns.indptr[k + 1]]] = 1
        if 0 < y.sum() < len(y):
            scores[:, k] = make().fit(X, y).decision_function(new)
    return scores


def tuned(make):
    "Scores with the C that is best on a fifth of the training rows."

    def scored(X, Y, new):
        order = np.random.default_rng(3).permutation(X.shape[0])
        aside, rest = np.split(order, [len(order) // 5])
        found, some = {}, Y[:, :: 1 + Y.shape[1] // 100]
        for C in CS:
            scores = one_each(lambda C=C: make(C), X[rest], some[rest], X[aside])
            found[C] = precisions(scores, some[aside])[1]
        best = max(found, key=lambda C: found[C])
        scores = one_each(lambda: make(best), X, Y, new)
        return scores, best, scores > 0

    return scored


def ours(each_once=False, **settings):
    "Scores of `SoftmaxClassifier`."

    def scored(X, Y, new):
        weights = 1 / np.diff(Y.indptr) if each_once else None
        model = SoftmaxClassifier(**settings).fit(X, Y, sample_weight=weights)
        return model.decision_function(new), '', model.predict(new)

    return scored


def centroid(X, Y, new):
    from sklearn.preprocessing import normalize

    return (new @ normalize(Y.T @ X).T).toarray(), '', None


def popularity(X, Y, new):
    return np.tile(np.asarray(Y.sum(0)).ravel(), (new.shape[0], 1)), '', None


def entrants():
    "Name, and what makes scores of new rows."
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return {
        'popularity': popularity,
        'nearest centroid': centroid,
        'LinearSVC, one-vs-rest, C tuned': tuned(lambda C: LinearSVC(C=C)),
        'LogisticRegression, one-vs-rest, C tuned': tuned(
            lambda C: LogisticRegression(C=C, solver='liblinear')
        ),
        'SoftmaxClassifier()': ours(),
        'SoftmaxClassifier(loss="softmax")': ours(loss='softmax'),
        'softmax, a row counts once': ours(each_once=True, loss='softmax'),
        'softmax, logit adjustment': ours(logit_adjustment=0.25, loss='softmax'),
    }


def main() -> list[dict]:
    warnings.simplefilter('ignore')
    y = np.arange(150) // 50
    SoftmaxClassifier().fit(scipy.sparse.eye_array(3).tocsr()[y], np.eye(3, dtype=int)[y])
    rows = []
    for name, n_splits, X, Y in sets():
        for split in range(n_splits):
            order = np.random.default_rng([split, 5]).permutation(X.shape[0])
            test, train = np.split(order, [len(order) // 5])
            task = f'{name}, split {split}: {len(train)} rows, {Y.shape[1]} labels'
            parts = X[train], Y[train], X[test]
            for who, fit in entrants().items():
                if split and name == 'delicious' and who.startswith('softmax, '):
                    continue  # minutes

                def job(who=who, fit=fit, parts=parts, task=task, truth=Y[test]):
                    mark = time.process_time()
                    scores, C, chosen = fit(*parts)
                    seconds = time.process_time() - mark
                    found = dict(zip(('p_1', 'p_3', 'p_5'), precisions(scores, truth), strict=True))
                    found['error'] = (found['p_1'] * (1 - found['p_1']) / len(scores)) ** 0.5
                    found |= named(chosen, truth)
                    return machine.row(
                        who,
                        task,
                        f'{seconds:.2f}',
                        peer='scikit-learn' if 'one-vs' in who else '',
                        **{key: value and f'{value:.4f}' for key, value in found.items()},
                        c=str(C),
                        versions=machine.versions('scikit-learn'),
                    )

                rows.append(machine.kept(f'{name} {split}, {who}'.replace('"', ''), job))
    return rows
