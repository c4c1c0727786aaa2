"""More ways to many classes: the SVM of Crammer and Singer, Vowpal Wabbit and napkinXC; top-1 on
held-out rows and seconds, one thread. Beside them stand the rows of `softmax_defaults`, whose
splits these are.

Rows: those of Bibtex (first label; from EXTREME_OPT_DATA) and of the docstrings of 500 functions,
in the first split. Each method has a grid; the setting with the best top-1 on a fifth of the
training rows is fitted to all of them, as LinearSVC's C was chosen there. `at_edge` is 1 where
something was chosen at the edge of its grid, `peer` the choice.

- Crammer and Singer: `LinearSVC(multi_class="crammer_singer")` as it comes, with C = 1, but 100
  iterations; a search up to three times that C did not end within four minutes.
- Vowpal Wabbit, `oaa` (one against all) and `ect` (a tournament): learning rate, and the loss of
  `ect`; rows in a new order for each pass, each number of PASSES tried (one is no edge).
- napkinXC, its label tree (`PLT`): C of its LIBLINEAR, either loss, one tree or three.

`seconds` are processor seconds of the search and the last fit, `fit` those of the last fit. Without
the rivals of bench/peers/many_classes.txt there are no rows for them.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import machine
import numpy as np
import scipy.sparse

LONG = True
SETS = 'bibtex', 'docstrings, 500'
SPLITS = 1
PASSES = (1, 2, 4, 8, 16)
GRIDS = {
    'Crammer and Singer': dict(C=(1.0,)),
    'Vowpal Wabbit, oaa': dict(loss=('logistic',), rate=(0.3, 1.0, 3.0), passes=PASSES),
    'Vowpal Wabbit, ect': dict(
        loss=('logistic', 'hinge'), rate=(0.03, 0.1, 0.3, 1.0), passes=PASSES
    ),
    'napkinXC, label tree': dict(
        loss=('log', 'l2'), liblinear_c=(0.3, 1.0, 3.0, 10.0, 30.0), ensemble=(1, 3)
    ),
}


# --------------------------------------------------------------- fits: top-1 of each setting asked
def crammer_singer(X, y, new, told, setting):
    from sklearn.svm import LinearSVC

    model = LinearSVC(multi_class='crammer_singer', max_iter=100, random_state=0, **setting).fit(
        X, y
    )
    return {(): model.score(new, told)}


def vowpal(X, y, new, told, setting):
    "One run, judged after each number of passes up to those of the setting."
    from vowpalwabbit import Workspace  # type: ignore[import-not-found]

    kind, loss, rate, passes = (setting[name] for name in ('kind', 'loss', 'rate', 'passes'))
    call = f'--{kind} {y.max() + 1} --loss_function {loss} -l {rate:g} -b 24 --quiet'
    model = Workspace(call + (' --indexing 0' if kind == 'oaa' else ''))
    first = int(kind == 'ect')  # its labels begin at 1

    def lines(X, y=None):
        for i in range(X.shape[0]):
            part = slice(*X.indptr[i : i + 2])
            pairs = zip(X.indices[part], X.data[part], strict=True)
            label = '' if y is None else y[i] + first
            yield model.parse(f'{label} | ' + ' '.join(f'{j}:{v:.6g}' for j, v in pairs))

    rows, others, rng = list(lines(X, y)), list(lines(new)), np.random.default_rng(0)
    found = {}
    for at in range(1, passes + 1):
        for i in rng.permutation(len(rows)):
            model.learn(rows[i])
        if at in PASSES:
            mark = time.process_time()
            answers = np.array([model.predict(one) for one in others]) - first
            found[at] = float(np.mean(answers == told))
            found['looks'] = found.get('looks', 0.0) + time.process_time() - mark
    for one in rows + others:
        model.finish_example(one)
    return found


def napkin(X, y, new, told, setting):
    from napkinxc.models import PLT  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        model = PLT(str(Path(folder) / 'model'), threads=1, seed=0, **setting)
        model.fit(X, [[int(label)] for label in y])
        model.load()
        best = model.predict(new, top_k=1)
    return {(): float(np.mean([bool(b) and b[0] == label for b, label in zip(best, told)]))}


def race(path: str, method: str) -> dict:
    "A method's search on a split, and its last fit, in a process of its own."
    warnings.simplefilter('ignore')
    with np.load(path) as file:
        X = scipy.sparse.csr_matrix((file['data'], file['indices'], file['indptr']), file['shape'])
        y, train, test = file['y'], file['train'], file['test']
    rng = np.random.default_rng([0, len(y)])
    rest, some = np.split(rng.permutation(train), [len(train) // 5])
    rest = rest[np.isin(y[rest], y[some])]
    fit = dict(V=vowpal, n=napkin, C=crammer_singer)[method[0]]
    more = dict(kind=method[-3:]) if fit is vowpal else {}
    grid, mark, looks, tried = GRIDS[method], time.process_time(), 0.0, {}
    runs = {name: values for name, values in grid.items() if name != 'passes'}
    if fit is vowpal:
        more['passes'] = PASSES[-1]
    for values in itertools.product(*runs.values()) if len(grid) > 1 else ():
        setting = dict(zip(runs, values, strict=True))
        found = fit(X[some], y[some], X[rest], y[rest], more | setting)
        looks += found.pop('looks', 0.0)
        for passes, score in found.items():
            tried[(*values, *([passes] if passes else []))] = score
        print(method, setting, found, round(time.process_time() - mark, 1), file=sys.stderr)
    best = max(tried, key=tried.get, default=(1.0,))
    setting, begun = dict(zip(grid, best, strict=True)), time.process_time()
    found = fit(X[train], y[train], X[test], y[test], more | setting)
    end, edge = time.process_time(), []
    for name, values in grid.items():
        if not isinstance(values[0], str) and len(values) > 2:
            ends = values[-1:] if name == 'passes' else values[:: len(values) - 1]
            edge += [name] * (setting[name] in ends)
    return dict(
        setting=' '.join(f'{name} {value}' for name, value in setting.items()),
        edge=' '.join(edge),
        top_1=f'{list(found.values())[-1] if fit is not vowpal else found[setting["passes"]]:.4f}',
        seconds=f'{end - mark - looks:.1f}',
        fit=f'{end - begun - found.pop("looks", 0.0):.2f}',
    )


# --------------------------------------------------------------------------------------- the table
def main() -> list[dict]:
    import softmax_defaults

    rows, folder = [], Path(os.environ.get('PARTS') or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    python = machine.peer_python('many_classes')
    for name, X, y in softmax_defaults.sets():
        if name not in SETS:
            continue
        X, codes = scipy.sparse.csr_matrix(X), np.unique(y, return_inverse=True)[1]
        for split in range(SPLITS):
            order = np.random.default_rng([split, 5]).permutation(len(y))
            test, train = np.split(order, [len(y) // 5])
            test, path = test[np.isin(y[test], y[train])], folder / f'{name[:4]}-{split}.npz'
            parts = dict(data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape)
            np.savez(path, y=codes, train=train, test=test, **parts)
            task = f'{name}, split {split}: {len(train)} rows, {len(np.unique(y[train]))} classes'
            for method in GRIDS:
                at = sys.executable if method.startswith('Crammer') else python
                if not at:
                    continue

                def job(method=method, at=at, path=path):
                    return machine.fresh(__file__, 'race', str(path), method, python=at)

                found = machine.kept(f'{name} {split} {method}', job)
                found['peer'] = found.pop('setting')
                found['at_edge'] = int(bool(found.pop('edge')))
                rows.append(machine.row(method, task, found.pop('seconds'), **found))
    return rows
