"""Where sampling begins to pay: processor seconds to a held-out log-loss and to a top-1.

Made text of K classes, 12 rows each, from 20,000 words by Zipf's law: 30 words a row, of which a
quarter come from twenty words of the class ("easy"), or 10 words a row and a tenth ("hard").
Sentences of docstrings: the 100 and 1,000 most documented functions, and all of them. Rows
have length one; a tenth of them is held out, and at most 1,000 of those judge.

Solvers: exact SGD; implicit SGD and U-max with 5 uniform negatives; implicit SGD on the support of
each class with one uniform negative and four from posting lists. One thread, float32, no ridge, no
intercept but on the support. Rates go by factors of ten and then by half decades until a further
one lowers the log-loss by less than a half per cent on either side; 2 and 8 epochs, whose rate
falls to a fiftieth. With 10,000 classes exact SGD has 1 and 2 epochs: on hard rows at the best rate
of 3,000 classes, on easy ones at 10, at 100 and at the rate that is best in one epoch over a
quarter of the rows (`exact SGD, a quarter`). The rates are chosen on the rows that judge, for all
solvers alike. Seconds are those of the epochs alone.

`softmax_crossing_others`: LinearSVC, and Adagrad in PyTorch, the gradient by hand, 256 rows a step.
`softmax_crossing_large`: 30,000 and 100,000 classes. `softmax_crossing_auto`: what
`SoftmaxClassifier()` takes on such rows.
"""

from __future__ import annotations

import os
import time
import warnings

import numpy as np
import scipy.sparse

LONG = True
SIZES = (100, 1000, 3000, 10_000)
MOST = int(os.environ.get('MOST_CLASSES', SIZES[-1]))
SEARCH_TO = 3000  # classes, of exact SGD
ENOUGH, N_JUDGED = 0.995, 1000
QUARTER = (10.0, 1e3, 1e5, 1e7, 1e8, 1e9)  # rates of exact SGD on easy rows of 10,000 classes
BATCH, TORCH_RATES = 256, (1.0, 3.0, 10.0)


def made(n_classes: int, words: int, own_share: float):
    "Rows of words, each a class's own with a probability."
    rng = np.random.default_rng(0)
    n_words, n_rows = 20_000, 12 * n_classes
    ends = np.cumsum(1 / np.arange(1, n_words + 1))
    ends /= ends[-1]

    def draw(*shape):
        return np.searchsorted(ends, rng.random(shape)).astype(np.int32)

    own, y = draw(n_classes, 20), rng.permutation(np.arange(n_rows) % n_classes)
    mine = own[y[:, None], rng.integers(20, size=(n_rows, words))]
    ids = np.where(rng.random((n_rows, words)) < own_share, mine, draw(n_rows, words))
    starts = np.arange(0, ids.size + 1, words)
    X = scipy.sparse.csr_array(
        (np.ones(ids.size, np.float32), ids.ravel(), starts), shape=(n_rows, n_words)
    )
    X.sum_duplicates()
    counts = np.bincount(X.indices, minlength=n_words)
    X.data *= np.log(n_rows / np.maximum(counts, 1))[X.indices]
    return X, y


def tasks(most: int):
    "Kind, rows, labels."
    from extreme_opt import data

    for size in SIZES:
        if size <= min(most, MOST):
            yield 'easy', *made(size, 30, 0.25)
            yield 'hard', *made(size, 10, 0.1)
        if size == SIZES[0]:
            for part in (100, 1000, None):
                found = data.docstrings(max_classes=part)
                yield 'docstrings', found.features, found.labels


def prepared(X, y):
    "Rows of length one to learn from, and those that judge; classes without a row left are gone."
    X = scipy.sparse.csr_array(X).astype(np.float32)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())
    X = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.maximum(norms, 1e-9)) @ X)
    X = X.astype(np.float32)
    test, train = np.split(np.random.default_rng(1).permutation(len(y)), [len(y) // 10])
    classes, labels = np.unique(y[train], return_inverse=True)
    test = test[np.isin(y[test], classes)][:N_JUDGED]
    return X[train], labels, X[test], np.searchsorted(classes, y[test]), len(classes)


ON_SUPPORT = 'implicit SGD on a support, uniform'  # in the race of very many classes


def solvers():
    "Name: problem, solver of a rate and a fall, the rate to begin with."
    from extreme_opt.softmax import DoubleSum, ExactSGD, FullSoftmaxByColumn, ImplicitSGD, UMax
    from extreme_opt.softmax.support import SupportSGD, SupportSoftmax

    few = dict(visits='shuffled')
    return {
        'exact SGD': (FullSoftmaxByColumn, ExactSGD, 10.0),
        'implicit SGD, uniform': (
            DoubleSum,
            lambda rate, fall: ImplicitSGD(rate, 5, learning_rate_decay=fall, **few),
            100.0,
        ),
        'U-max, uniform': (
            DoubleSum,
            lambda rate, fall: UMax(rate, 1.0, 5, learning_rate_decay=fall, **few),
            1.0,
        ),
        'implicit SGD, posting lists': (
            SupportSoftmax,
            lambda rate, fall: SupportSGD(rate, 5, 1, learning_rate_decay=fall),
            100.0,
        ),
        ON_SUPPORT: (
            SupportSoftmax,
            lambda rate, fall: SupportSGD(rate, 5, 5, learning_rate_decay=fall),
            100.0,
        ),
    }


def judge(problem, params, X, y):
    "Log-loss and top-1 of rows that nobody has seen."
    if hasattr(problem, 'model'):  # on a support
        model = problem.model(params)
        return float(model.log_losses(X, y).mean()), float((model.top_k(X, 1)[0][:, 0] == y).mean())
    weights, losses, hits = problem.unpack(params)[0], [], []
    for at in range(0, len(y), 100):
        some = X[at : at + 100]
        used, place = np.unique(some.indices, return_inverse=True)
        rows = scipy.sparse.csr_array((some.data, place.ravel(), some.indptr))
        scores = (rows @ np.ascontiguousarray(weights[:, used].T)).astype(float)
        scores -= scores.max(1, keepdims=True)
        own = scores[np.arange(len(scores)), y[at : at + 100]]
        losses.append(np.log(np.exp(scores).sum(1)) - own)
        hits.append(scores.argmax(1) == y[at : at + 100])
    return float(np.mean(np.concatenate(losses))), float(np.mean(np.concatenate(hits)))


def one_run(name, task, rows, c, epochs) -> dict:
    "A row: what a rate and a number of epochs reach."
    import machine

    from extreme_opt.core import minimize
    from extreme_opt.softmax.rates import falling

    X, y, new, truth, n_classes = rows
    make, solver_at, _ = solvers()[name]
    problem = make(X, y, n_classes)
    mark = time.process_time()
    try:
        run = minimize(problem, solver_at(c, falling(epochs)), max_epochs=epochs, loss_subset=0)
        seconds = time.process_time() - mark
        with np.errstate(all='ignore'):
            loss, top = judge(problem, run.state.params, new, truth)
    except ValueError:  # a rate that the solver does not take
        seconds, loss, top = time.process_time() - mark, np.inf, 0.0
    found = dict(log_loss=f'{loss if np.isfinite(loss) else 1e9:.4f}', top_1=f'{top:.4f}')
    return machine.row(name, task, f'{seconds:.3f}', rate=f'{c:.3g}', epochs=epochs, **found)


def torch_run(task, rows, c, epochs) -> dict:
    "The same of Adagrad in PyTorch, in a Python of its own."
    import tempfile

    import machine

    X, y, new, truth, n_classes = rows
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'rows.npz')
        parts = {
            f'{a}_{b}': getattr(some, b)
            for a, some in (('x', X), ('new', new))
            for b in ('data', 'indices', 'indptr', 'shape')
        }
        np.savez(path, y=y, truth=truth, n_classes=n_classes, **parts)
        found = machine.fresh(
            __file__, 'torch_epochs', path, c, epochs, python=machine.peer_at('main')
        )
    told = dict(log_loss=f'{found["log_loss"]:.4f}', top_1=f'{found["top_1"]:.4f}')
    return machine.row(
        'PyTorch',
        task,
        f'{found["seconds"]:.3f}',
        peer=f'Adagrad, {BATCH} rows',
        rate=f'{c:.3g}',
        epochs=epochs,
        **told,
    )


def torch_epochs(path: str, rate: float, epochs: int) -> dict:
    "Softmax with its gradient by hand; the rate falls to a fiftieth."
    import torch  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    with np.load(path) as file:
        some = dict(file)

    def rows_of(a):
        cells = some[f'{a}_data'], some[f'{a}_indices'], some[f'{a}_indptr']
        return scipy.sparse.csr_array(cells, shape=tuple(some[f'{a}_shape']))

    def sparse(part):
        cells = part.indptr.astype(np.int32), part.indices.astype(np.int32), part.data
        return torch.sparse_csr_tensor(*map(torch.from_numpy, cells), part.shape)

    rows, n_classes = rows_of('x'), int(some['n_classes'])
    rng, weights = np.random.default_rng(0), torch.zeros(rows.shape[1], n_classes)
    optimizer, targets = torch.optim.Adagrad([weights], lr=rate), torch.from_numpy(some['y'])
    weights.grad = torch.zeros_like(weights)
    seconds = 0.0
    with torch.no_grad():
        for epoch in range(epochs):
            mark, order = time.process_time(), rng.permutation(rows.shape[0])
            for group in optimizer.param_groups:
                group['lr'] = rate * 0.02 ** (epoch / max(epochs - 1, 1))
            for ids in (order[k : k + BATCH] for k in range(0, len(order), BATCH)):
                part, at = rows[ids], torch.arange(len(ids))
                slopes = torch.softmax(sparse(part) @ weights, 1)
                slopes[at, targets[ids]] -= 1
                torch.addmm(
                    weights.grad,
                    sparse(part.T.tocsr()),
                    slopes / len(ids),
                    beta=0,
                    out=weights.grad,
                )
                optimizer.step()
            seconds += time.process_time() - mark
        scores, truth = sparse(rows_of('new')) @ weights, torch.from_numpy(some['truth'])
        loss = float(torch.nn.functional.cross_entropy(scores, truth))
        top = float((scores.argmax(1) == truth).float().mean())
    return dict(seconds=seconds, log_loss=loss, top_1=top)


def runs(name, task, rows, first, lengths) -> list[dict]:
    "Rates around the best by log-loss, for each number of epochs."
    out: list[dict] = []
    for epochs in lengths:
        least: dict[float, float] = {}

        def tried(power, epochs=epochs, least=least):
            if power not in least:
                out.append(one_run(name, task, rows, 10.0**power, epochs))
                least[power] = float(out[-1]['log_loss'])
            return least[power]

        tried(first)
        for step in (1.0, 0.5) if epochs == lengths[0] else (0.5,):
            best = min(least, key=lambda power: least[power])
            for side in (-step, step):
                while -4 < best < 20 and tried(best + side) < ENOUGH * least[best]:
                    best += side
        first = min(least, key=lambda power: least[power])
    return out


def exact_on_many(task, rows, easy, rate) -> list[dict]:
    "Exact SGD where a search on all rows would take an hour."
    import machine

    def kept(name, rows, c, epochs):
        def job():
            return one_run('exact SGD', task, rows, c, epochs) | dict(method=name)

        return machine.kept(f'{task}, {name}, {c:g}, {epochs}', job)

    out: list[dict] = []
    if easy:
        part = slice(len(rows[1]) // 4)  # rows come in random order
        few = (rows[0][part], rows[1][part], *rows[2:])
        out = [kept('exact SGD, a quarter', few, c, 1) for c in QUARTER]
        rate = float(min(out, key=lambda row: float(row['log_loss']))['rate'])
        out += [kept('exact SGD', rows, c, 1) for c in (10.0, 100.0)]
    return out + [kept('exact SGD', rows, rate, n) for n in (1, 2)]


def main() -> list[dict]:
    import machine

    warnings.simplefilter('ignore')
    y = np.arange(300) // 3
    rows = prepared(scipy.sparse.eye_array(100).tocsr()[y], y)
    for name in solvers():  # compiled before the clock
        one_run(name, 'warm up', rows, 1.0, 1)
    out, begin = [], {}
    for kind, X, y in tasks(SIZES[-1]):
        rows = prepared(X, y)
        n_classes = len(np.unique(y))
        task = f'{kind}, {n_classes} classes'
        for name, (_, _, first) in solvers().items():
            if name == ON_SUPPORT:
                continue
            exact, first = name == 'exact SGD', float(np.log10(first))
            if exact and n_classes > SEARCH_TO:
                out += exact_on_many(task, rows, kind == 'easy', 10.0 ** begin[kind])
                continue

            def job(name=name, task=task, rows=rows, first=first):
                return runs(name, task, rows, first, (2, 8))

            found = machine.kept(f'{task}, {name}', job)
            if exact:
                least = min(float(row['log_loss']) for row in found)
                good = [float(r['rate']) for r in found if float(r['log_loss']) <= least / ENOUGH]
                begin[kind] = round(2 * float(np.log10(min(good)))) / 2
            out += found
    return out


def softmax_crossing_large() -> list[dict]:
    """Made rows. With 30,000 classes one fit each of sampled updates, two epochs at the rate that
    was best with 10,000; with 100,000, on a support alone, rates are searched with 2 epochs, and
    the best has 8. Of exact SGD some rows of the first epoch, on the columns that they have, and
    the seconds that an epoch takes at that pace."""
    import machine

    from extreme_opt.softmax.exact import exact_updates

    warnings.simplefilter('ignore')
    rates = {
        'implicit SGD, uniform': dict(easy=1e8, hard=10.0),
        'implicit SGD, posting lists': dict(easy=1e6, hard=10.0),
    }
    y = np.arange(300) // 3
    small = prepared(scipy.sparse.eye_array(100).tocsr()[y], y)
    for name in ('exact SGD', *rates, ON_SUPPORT):  # compiled before the clock
        one_run(name, 'warm up', small, 1.0, 1)
    out: list[dict] = []
    for size, kind in ((n, kind) for n in (10_000, 30_000, 100_000) for kind in ('hard', 'easy')):
        task = f'{kind}, {size} classes'
        words, share = dict(easy=(30, 0.25), hard=(10, 0.1))[kind]

        some: list = []

        def rows_of(size=size, words=words, share=share, some=some):
            some[:] = some or prepared(*made(size, words, share))
            return tuple(some)

        def pace(task=task, rows_of=rows_of, rate=dict(easy=100.0, hard=10.0)[kind]):
            X, labels, *_, n_classes = rows_of()
            part = X[:200][:, np.unique(X[:200].indices)]
            problem = solvers()['exact SGD'][0](part, labels[:200], n_classes)
            params = problem.init_params()
            exact_updates(problem, params, np.arange(100), rate)
            mark = time.process_time()
            exact_updates(problem, params, np.arange(100, 200), rate)
            a_row = (time.process_time() - mark) / 100
            told = dict(rate=f'{rate:g}', epochs=1, log_loss='', top_1='')
            seconds = f'{a_row * X.shape[0]:.0f}'
            return machine.row('exact SGD, at the pace of 100 rows', task, seconds, **told)

        out.append(machine.kept(f'{task}, pace', pace))
        if size == 30_000:
            for name in rates:

                def job(name=name, task=task, rows_of=rows_of, rate=rates[name][kind]):
                    return one_run(name, task, rows_of(), rate, 2)

                out.append(machine.kept(f'{task}, {name}', job))
        if size == 100_000:
            for name in (ON_SUPPORT, 'implicit SGD, posting lists'):

                def search(name=name, task=task, rows_of=rows_of, first=6 if kind == 'easy' else 1):
                    return runs(name, task, rows_of(), float(first), (2,))

                found = machine.kept(f'{task}, {name}', search)
                best = min(found, key=lambda row: float(row['log_loss']))['rate']

                def longer(name=name, task=task, rows_of=rows_of, rate=float(best)):
                    return one_run(name, task, rows_of(), rate, 8)

                out += [*found, machine.kept(f'{task}, {name}, 8 epochs', longer)]
    return out


def softmax_crossing_others() -> list[dict]:
    """Rivals on the rows of `softmax_crossing`. LinearSVC, a fit for each class, C of 0.1, 1 and
    10; the log-loss is that of its margins times the one factor that is best on the rows that
    judge. With 3,000 made classes and more some classes are fitted alone, and the seconds are those
    that all would take at that pace. PyTorch with up to 1,000 made classes, and on docstrings."""
    import machine

    warnings.simplefilter('ignore')
    out: list[dict] = []
    for kind, X, y in tasks(SIZES[-1]):
        rows = prepared(X, y)
        n_classes = len(np.unique(y))
        task = f'{kind}, {n_classes} classes'
        whole = kind == 'docstrings' or n_classes < 3000

        if whole:
            for c in (0.1, 1.0, 10.0):

                def svc(task=task, rows=rows, c=c):
                    return svc_run(task, rows, c)

                out.append(machine.kept(f'{task}, LinearSVC, {c:g}', svc))
        else:

            def pace(task=task, rows=rows):
                return svc_pace(task, rows)

            out.append(machine.kept(f'{task}, LinearSVC', pace))
    for kind, X, y in tasks(1000):
        task = f'{kind}, {len(np.unique(y))} classes'
        if not machine.peer_python():
            break
        for rate in TORCH_RATES:

            def adagrad(task=task, rows=prepared(X, y), rate=rate):
                return torch_run(task, rows, rate, 8)

            out.append(machine.kept(f'{task}, PyTorch, {rate:g}', adagrad))
    return out


def softmax_crossing_auto() -> list[dict]:
    """`SoftmaxClassifier()` beside its own other choices on the rows of `softmax_crossing` with
    1,000 to 3,000 classes: with the class means that its search may begin at left out, by
    `weights="support"`, and by `solver="implicit"`. Seconds are those of `fit`, search included."""
    import machine

    from extreme_opt.softmax import SoftmaxClassifier, rates

    warnings.simplefilter('ignore')
    choices: dict = dict(auto={}, zero={}, support=dict(weights='support'))
    choices |= dict(implicit=dict(solver='implicit', weights='dense'))
    y, length = np.arange(600) // 3, rates._mean_length
    for given in choices.values():  # compiled before the clock
        SoftmaxClassifier(**given).fit(scipy.sparse.eye_array(200, dtype=np.float32).tocsr()[y], y)
    out: list[dict] = []
    for kind, X, y in tasks(3000):
        rows, n_classes = narrow(prepared(X, y)), len(np.unique(y))
        if n_classes < 1000:
            continue
        for name in choices:

            def fitted(name=name, rows=rows, task=f'{kind}, {n_classes} classes'):
                X, labels, new, truth, _ = rows
                rates._mean_length = length if name == 'auto' else lambda *_: 0.0
                mark = time.process_time()
                model = SoftmaxClassifier(**choices[name]).fit(X, labels)
                seconds = time.process_time() - mark
                rates._mean_length = length
                told = dict(epochs=f'{model.settings_["max_epochs"]:g}')
                told |= dict(mean_length=f'{model.settings_.get("mean_length", 0):.1f}')
                told |= dict(log_loss=f'{model.log_loss(new, truth):.4f}')
                told |= dict(top_1=f'{np.mean(model.predict(new) == truth):.4f}')
                return machine.row(name, task, f'{seconds:.3f}', **told)

            out.append(machine.kept(f'{kind}, {n_classes} classes, {name}', fitted))
    return out


def narrow(rows):
    "Rows with the ids that scikit-learn takes."
    for part in (rows[0], rows[2]):
        part.indices, part.indptr = part.indices.astype(np.int32), part.indptr.astype(np.int32)
    return rows


def svc_run(task, rows, c) -> dict:
    "A fit of every class against the others."
    import machine
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp
    from sklearn.svm import LinearSVC

    X, y, new, truth, _ = narrow(rows)
    mark = time.process_time()
    model = LinearSVC(C=c, dual=True).fit(X, y)
    seconds = time.process_time() - mark
    margins = model.decision_function(new)
    own = margins[np.arange(len(truth)), truth]

    def loss(power):
        return float(np.mean(logsumexp(np.exp(power) * margins, axis=1) - np.exp(power) * own))

    told = dict(log_loss=f'{minimize_scalar(loss, bounds=(-3, 5), method="bounded").fun:.4f}')
    told |= dict(top_1=f'{np.mean(margins.argmax(1) == truth):.4f}')
    return machine.row('LinearSVC', task, f'{seconds:.3f}', rate=f'{c:g}', epochs='', **told)


def svc_pace(task, rows, n_fitted=30) -> dict:
    "Seconds of all classes at the pace of some, each against all others."
    import machine
    from sklearn.svm import LinearSVC

    X, y, *_, n_classes = narrow(rows)
    mark = time.process_time()
    for k in range(n_fitted):
        LinearSVC(C=1.0, dual=True).fit(X, y == k)
    seconds = (time.process_time() - mark) / n_fitted * n_classes
    told = dict(rate='1', epochs='', log_loss='', top_1='')
    name = f'LinearSVC, at the pace of {n_fitted} classes'
    return machine.row(name, task, f'{seconds:.0f}', **told)
