"""What weights on a support cost and lose (`SoftmaxClassifier(weights="support")`).

- **Real sets** ("bibtex", "delicious", "docstrings"), dense against support, both with
  solver="implicit", 20 epochs and a rate that `fit` chooses: top-1, top-5 and log-loss on the test
  rows of classes that have training rows, share of cells kept; `gain` is the difference in top-1,
  with its standard error over test rows. `peer` is what differs.
- **Made-up text** of classes x words x rows x words a row. All words follow Zipf's law; half of the
  words of a row come from the twenty of its class. Rows are tf-idf, of length 1. 2,000 new rows of
  random classes are judged, the log-loss on 500 of them. `100k` is 100,000 x 100,000 x 300,000 x
  30; `670k` is 670,000 x 136,000 x 490,000 x 75, where 180,000 rows have two labels so that each
  class has a row; it is part of the long run (`full=1`) alone. Both by default. Rivals get the same
  rows: omikuji with three trees (Parabel, its default), napkinXC's label tree by its defaults, and
  the mean row of each class. napkinXC's hierarchical softmax did not end within 100 processor
  seconds and is left out.
- **Sizes of the paper's Table 4**, made up in the same manner: `amazoncat` has 2,709 classes x
  10,000 words x 100,000 rows of 70, `wikismall` 18,207 x 10,000 x 90,737 of 40 (the paper says no
  words a row), 50 epochs as there.

Each fit has a process of its own, in which the rows are read from a file. `seconds` are processor
seconds of the fit (and of the search for a rate, which is part of it); `top5_ms` milliseconds of
the five best classes of one row, the mean of 100 rows asked one by one; `file_mb` the saved model,
megabytes; `rise_mb` what the fit adds at most to the memory held before it, and `forecast_mb`;
`cells` the weights kept and `cells_kept` their share; `run` says where a row was kept
from an earlier run on the same rows.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import scipy.sparse

LONG = True
HOW = (
    'Each fit in a process of its own, once, compiled before the clock starts; processor seconds;'
    ' peak_mb is the most memory of that process. One command, stopped and called again where it'
    ' takes long: finished fits are kept. A shared machine: the milliseconds of a row, measured'
    ' twice, differed by a fifth.'
)
SETS = ('bibtex', 'delicious', 'docstrings')
MADE = {
    'amazoncat': (2709, 10_000, 100_000, 70),
    'wikismall': (18_207, 10_000, 90_737, 40),
    '100k': (100_000, 100_000, 300_000, 30),
    '670k': (670_000, 136_000, 490_000, 75),
}
EPOCHS = {name: 20 for name in SETS} | dict(amazoncat=50, wikismall=50)
RIVALS = ('class means', 'omikuji, 3 trees', 'napkinXC, label tree')
NEW = 2000  # rows to judge by
ROOM = Path(os.environ.get('PARTS') or tempfile.mkdtemp())


# ------------------------------------------------------------------------------------------- rows
def made(n_classes: int, n_words: int, n_rows: int, words: int, seed: int = 0):
    """Rows and their labels, and new rows: half of the words from the twenty of the class, all by
    Zipf's law; tf-idf, length 1. Where classes are more than rows, rows have a second label."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(1 / np.arange(1, n_words + 1))
    ends /= ends[-1]

    def draw(*shape):
        return np.searchsorted(ends, rng.random(shape)).astype(np.int32)

    own, n_all, first = draw(n_classes, 20), n_rows + NEW, min(n_classes, n_rows)
    y = np.append(np.arange(first), rng.integers(n_classes, size=n_all - first))
    second = y.copy()  # the class that a word may come from instead
    second[: n_classes - first] = np.arange(first, n_classes)
    ids = np.empty((n_all, words), np.int32)
    for at in range(0, n_all, 2**15):
        part = slice(at, min(at + 2**15, n_all))
        ids[part] = draw(part.stop - at, words)
        shape = ids[part].shape
        of = np.where(rng.random(shape) < 0.5, y[part, None], second[part, None])
        mine = own[of, rng.integers(20, size=shape)]
        ids[part] = np.where(rng.random(shape) < 0.5, mine, ids[part])
    starts = np.arange(0, ids.size + 1, words)
    X = scipy.sparse.csr_array(
        (np.ones(ids.size, np.float32), ids.ravel(), starts), (n_all, n_words)
    )
    X.sum_duplicates()
    counts = np.bincount(X.indices, minlength=n_words)
    X.data *= np.log(n_all / np.maximum(counts, 1)).astype(np.float32)[X.indices]
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(np.maximum(norms, 1e-6), np.diff(X.indptr))
    return X[:n_rows], y[:n_rows], second[:n_rows], X[n_rows:], y[n_rows:]


def real(name: str):
    from extreme_opt import data

    found = data.docstrings() if name == 'docstrings' else data.load(name)
    X = scipy.sparse.csr_array(found.features).astype(np.float32)
    y = np.asarray(found.labels)
    train, test = found.train, found.test[np.isin(found.labels[found.test], y[found.train])]
    return X[train], y[train], y[train], X[test], y[test]


def write(name: str) -> dict:
    "The rows of a task, kept in a file."
    X, y, second, new, truth = real(name) if name in SETS else made(*MADE[name])
    parts = dict(y=y, second=second, truth=truth, width=X.shape[1])
    for key, rows in dict(X=X, new=new).items():
        parts |= {f'{key}_{of}': getattr(rows, of) for of in ('data', 'indices', 'indptr')}
    ROOM.mkdir(parents=True, exist_ok=True)
    with (ROOM / f'support-{name}.part').open('wb') as file:
        np.savez(file, **parts)
    (ROOM / f'support-{name}.part').replace(ROOM / f'support-{name}.npz')
    return {}


def rows_of(name: str):
    "Rows, labels, second labels, new rows, their labels."
    with np.load(ROOM / f'support-{name}.npz') as file:
        X, new = (
            scipy.sparse.csr_matrix(
                tuple(file[f'{key}_{of}'] for of in ('data', 'indices', 'indptr')),
                (len(file[labels]), int(file['width'])),
            )
            for key, labels in (('X', 'y'), ('new', 'truth'))
        )
        return X, file['y'], file['second'], new, file['truth']


# ------------------------------------------------------------------------------------------- fits
def judged(best: np.ndarray, truth: np.ndarray) -> dict:
    "Shares of new rows whose label comes first, and among five."
    hits = best == truth[:, None]
    found = dict(top1=f'{hits[:, 0].mean():.4f}', top5=f'{hits[:, :5].any(1).mean():.4f}')
    return found | dict(hits=''.join(map(str, hits[:, 0].astype(int))))


def one_by_one(top, new) -> str:
    "Milliseconds of a row's five best, asked one row at a time."
    top(new[:1])
    rows = [new[i : i + 1] for i in range(100)]
    mark = process_time()
    for row in rows:
        top(row)
    return f'{(process_time() - mark) * 10:.2f}'


def megabytes(path: Path) -> str:
    files = [path] if path.is_file() else path.rglob('*')
    return f'{sum(file.stat().st_size for file in files if file.is_file()) / 1e6:.1f}'


def held_mb() -> float:
    "Memory that this process holds now, MB; Linux only."
    with open('/proc/self/status', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS:')) / 1024


def ours(name: str, weights: str) -> dict:
    "One fit of `SoftmaxClassifier`."
    import warnings

    import memory

    from extreme_opt.softmax import SoftmaxClassifier, classifier, support

    warnings.simplefilter('ignore')  # a fit that ends at its last epoch
    X, y, second, new, truth = rows_of(name)
    labels: object = y
    if (second != y).any():
        more = np.flatnonzero(second != y)
        pairs = np.append(np.arange(len(y)), more), np.append(y, second[more])
        labels = scipy.sparse.csr_array((np.ones(len(pairs[0]), bool), pairs))
    settings: dict = dict(weights=weights)
    if name in EPOCHS:
        settings |= dict(solver='implicit', max_epochs=EPOCHS[name])
    SoftmaxClassifier('implicit', weights=weights, max_epochs=1).fit(X[:50], y[:50]).top_k(new[:1])
    said: list = []  # forecasts
    support.check_memory = classifier.check_memory = lambda needed, *_: said.append(needed / 2**20)
    level, mark = held_mb(), process_time()
    model = SoftmaxClassifier(**settings).fit(X, labels)
    seconds, rise = process_time() - mark, memory.peak_mb() - level
    found = judged(model.top_k(new, 5)[0], truth)
    n = len(truth) if name in SETS else 500
    few: object = truth[:n]
    if scipy.sparse.issparse(labels):
        pairs = np.ones(n, bool), (np.arange(n), truth[:n])
        few = scipy.sparse.csr_array(pairs, (n, len(model.classes_)))
    found['log_loss'] = f'{model.log_loss(new[:n], few):.4f}'
    found |= dict(rise_mb=f'{rise:.0f}', forecast_mb=f'{max(said):.0f}')
    found['mean_length'] = f'{model.settings_.get("mean_length", 0):.3g}'
    kept = model.settings_
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'model.npz'
        model.save(path)
        file_mb = megabytes(path)
    return found | dict(
        seconds=seconds,
        epochs=f'{kept["max_epochs"]:g}',
        rate=f'{kept["learning_rate"]:.3g}',
        top5_ms=one_by_one(lambda row: model.top_k(row, 5), new),
        file_mb=file_mb,
        cells=kept.get('n_cells', model.coef_.size),
        cells_kept=f'{kept.get("share_of_cells", 1.0):.6f}',
        kept_on=kept.get('weights', 'dense'),
    )


def rival(name: str, method: str) -> dict:
    "One fit of a rival."
    X, y, second, new, truth = rows_of(name)
    both = [(a, b) if a != b else (a,) for a, b in zip(y.tolist(), second.tolist(), strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'model'
        seconds, top = {
            'class means': means,
            'omikuji, 3 trees': omikuji,
            'napkinXC, label tree': napkin,
        }[method](method, X, both, folder)
        best = np.full((len(truth), 5), -1)
        for i in range(len(truth)):
            ids = top(new[i : i + 1])[:5]
            best[i, : len(ids)] = ids
        path = path if path.exists() else path.with_suffix('.npz')
        return judged(best, truth) | dict(
            seconds=seconds, top5_ms=one_by_one(top, new), file_mb=megabytes(path)
        )


def means(method, X, both, folder):
    "Classes by the cosine between a row and the mean row of the class, by posting lists."
    from extreme_opt.softmax.support import PostingWeights

    mark = process_time()
    sizes = np.array([len(labels) for labels in both])
    rows, labels = np.repeat(np.arange(len(both)), sizes), np.concatenate(both)
    of = scipy.sparse.csr_matrix((np.ones(len(rows), np.float32), (labels, rows)))
    sums = (of @ X).tocsr()
    length = np.sqrt(np.asarray(sums.power(2).sum(1))).ravel()
    sums.data /= np.repeat(np.maximum(length, 1e-30), np.diff(sums.indptr)).astype(np.float32)
    model = PostingWeights(sums, np.zeros(sums.shape[0]))
    seconds = process_time() - mark
    scipy.sparse.save_npz(Path(folder) / 'model', sums)
    return seconds, lambda row: model.top_k(row, 5)[0][0]


def omikuji(method, X, both, folder):
    import omikuji as library  # type: ignore[import-not-found]

    file = Path(folder) / 'rows.txt'
    with file.open('w') as lines:
        lines.write(f'{X.shape[0]} {X.shape[1]} {max(map(max, both)) + 1}\n')
        for i, labels in enumerate(both):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
            words = ' '.join(f'{j}:{x:.6g}' for j, x in pairs)
            lines.write(f'{",".join(map(str, labels))} {words}\n')
    mark = process_time()
    settings = library.Model.default_hyper_param()
    settings.n_trees = 3
    model = library.Model.train_on_data(str(file), settings, n_threads=1)
    seconds = process_time() - mark
    model.save(str(Path(folder) / 'model'))

    def top(row):
        pairs = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        return [k for k, _ in model.predict(list(pairs), top_k=5)]

    return seconds, top


def napkin(method, X, both, folder):
    from napkinxc.models import PLT  # type: ignore[import-not-found]

    model = PLT(str(Path(folder) / 'model'), threads=1, seed=0)
    mark = process_time()
    model.fit(X, [list(labels) for labels in both])
    seconds = process_time() - mark
    model.load()
    return seconds, lambda row: model.predict(row, top_k=5)[0]


# ---------------------------------------------------------------------------------------- the table
def part(name: str, method: str) -> dict:
    "A fit in a process of its own, or what an earlier run kept of it; no seconds where it failed."
    import machine

    peer = method.partition(',')[0] in ('omikuji', 'napkinXC')
    python = machine.peer_python('many_classes') if peer else sys.executable
    if not python:
        return {}

    def job():
        if not (ROOM / f'support-{name}.npz').exists():
            machine.fresh(__file__, 'write', name)
        call = 'rival' if method in RIVALS else 'ours'
        try:
            return machine.fresh(__file__, call, name, method, python=python)
        except Exception as error:
            print(f'{method} on {name} failed: {str(error)[-300:]}', flush=True)
            return {}

    return machine.kept(f'{name}-{method.replace(", ", "-").replace(" ", "_")}', job)


def main() -> list[dict]:
    import machine

    os.environ.setdefault('PARTS', str(ROOM))
    full, out = os.environ.get('EXTREME_OPT_FULL') == '1', []
    tasks: list = [(name, ('dense', 'support', 'class means')) for name in SETS]
    tasks += [(name, ('support', 'class means')) for name in ('amazoncat', 'wikismall')]
    tasks += [('100k', ('support', *RIVALS))]
    tasks += [('670k', ('support', 'class means'))] * full
    for name, methods in tasks:
        shape = dict(
            zip(('classes', 'words', 'rows', 'row_words'), MADE.get(name, ()), strict=False)
        )
        hits: dict[str, np.ndarray] = {}
        for method in methods:
            found = dict(part(name, method))
            if not found:
                continue
            hits[method] = np.array(list(found.pop('hits', '')), int)
            if method == 'support' and 'dense' in hits:  # row by row
                gain = hits['support'] - hits['dense']
                found |= dict(gain=f'{gain.mean():+.4f}')
                found |= dict(gain_se=f'{gain.std() / math.sqrt(len(gain)):.4f}')
            seconds = f'{found.pop("seconds"):.4g}'
            rival = method in RIVALS
            who = method if rival else 'SoftmaxClassifier'
            word = '' if rival else method
            out.append(machine.row(who, name, seconds, peer=word, **found, **shape))
    return out


if __name__ == '__main__':
    sys.path[:0] = [str(Path(__file__).parent)]
    told = part(*sys.argv[1:])
    print(sys.argv[1:], {key: told[key] for key in told if key != 'hits'}, flush=True)
