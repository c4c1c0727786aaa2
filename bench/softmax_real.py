"""A race over many classes on real rows: eleven ways to fit, searched alike, judged on rows that
nobody has seen, one thread.

Rows: `docstrings` (data.docstrings: which function a sentence documents), Delicious and Bibtex
(first label; from EXTREME_OPT_DATA, left out without it). Classes with fewer than 5 rows are
dropped; then 15 % of the rows make the test part and 15 % the validation part, drawn with a fixed
seed before anything is tuned. Rows of these parts whose class has no training row are dropped.
Rows have length one; the values are tf-idf in docstrings.

Search: each entrant has TRIALS settings, the defaults of its library first where it has some, the
others spread evenly over RANGES (a Latin hypercube with a fixed seed; scikit-learn's C and alpha: a
grid). A trial may use CAP processor seconds: who can be stopped is stopped there and judged as it
stands; fastText gets as many passes as its first two say will fit; a label tree that takes longer
is out, and so is a fit of ours that does (its search for a rate has no limit). The setting with the
best accuracy on the validation part, and the one with the best log-loss where there are
probabilities, is fitted again three times (once, where a fit takes more than half the cap), in a
process of its own, and judged on the test part: top-1, log-loss, the median processor seconds of
the fits, and the most memory of the process until the first ends. `likelihood` is exp(-log-loss).
All trials stand in the table with their validation scores; `cut` is 1 where the cap stopped a fit.
Where it stopped LogisticRegression, `beyond the cap` shows outside the rules, in one run, what its
own 100 iterations reach, in at most MORE times the cap; the C of these fits is searched on the rows
of every so-manieth class, so that some FEWER are left.

Entrants, and the advice that they follow:

- SoftmaxClassifier: implicit and U-max steps, rows shuffled; rate, passes, negatives, ridge and
  averaging as its docstring offers them.
- PyTorch, full softmax: CSR rows of a minibatch times the weights, cross-entropy's gradient written
  out, its own AdamW (rate falling to zero) or Adagrad, fused, with weight decay (0.01 is AdamW's
  own; Adagrad, where it is part of the gradient, gets a ten-thousandth). Sampled softmax: the same
  model by Adagrad on the cells that are touched, classes shared by a minibatch, log-uniform over
  classes by frequency or uniform, accidental hits masked, the expected count's logarithm taken off.
  AdaptiveLogSoftmaxWithLoss behind an EmbeddingBag by Adagrad, a model of low rank; classes sorted
  by frequency as its page asks (docs.pytorch.org, torch.nn.AdaptiveLogSoftmaxWithLoss).
- scikit-learn: LogisticRegression by lbfgs in float32, its default solver; SGDClassifier with log
  loss, alpha as in `10.0**-np.arange(1, 7)` and 10^6 / n passes at most
  (scikit-learn.org, user guide, 1.5 SGD, tips on practical use); NearestCentroid and its cosine
  form, which have nothing else to tune here.
- fastText (fasttext.cc, docs, text classification): rate 0.1 to 1, 5 to 50 epochs, hierarchical or
  full softmax. It reads tokens: the names of a row's columns, so the values are lost to it.
- omikuji: Parabel and Bonsai as its README sets them, in turn; its scores are no probabilities over
  classes.

    python bench/run.py softmax_real           about an hour and a half
    python bench/run.py softmax_near           about ten minutes
    python bench/run.py softmax_untuned        half a minute: the default of the estimator

`softmax_near`: do negative classes drawn near the label pay? Implicit steps on the same rows and
parts, no intercept. Three ways to draw m negative classes: all alike; half of them from the label's
list of nearest classes, as SoftmaxClassifier(sampler='near') does (`near_classes`); and the same
with lists drawn at random, which shows what the lists are worth. For each, every rate of RATES is
tried with each number of epochs of EPOCHS, seed 0; rate and epochs with the best accuracy on the
validation rows, and those with the best log-loss, are run again with SEEDS and judged on the test
rows: means, and standard deviations over seeds. Seconds are processor seconds of a run, lists
included.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse

LONG = True
CAP, TRIALS, ROUNDS, FEWER, MORE = 10.0, 8, 3, 250, 10
LOWEST = float(np.finfo(np.float32).tiny)
OURS = ('SoftmaxClassifier, implicit', 'SoftmaxClassifier, U-max')
FULL, EXACT = 'PyTorch, full softmax', 'scikit-learn LogisticRegression'
HOW = (
    'One thread; a small fit of the same kind warms up before the clock; seconds are processor'
    ' seconds of the fit; tests are fitted anew in a process of their own; peak_mb is the'
    ' most memory of that process until the first of them ended.'
)


# ---------------------------------------------------------------------------------------- the rows
def sets() -> dict:
    "Rows, labels by name; what is not at hand is said."
    from extreme_opt import data

    found = {}
    for name in ('bibtex', 'delicious'):
        if os.environ.get('EXTREME_OPT_DATA'):
            found[name] = data.load(name, drop_empty=True)
        else:
            print(f'{name} is left out: EXTREME_OPT_DATA names no folder', flush=True)
    return found | dict(docstrings=data.docstrings())


def split(X, y, least: int = 5) -> dict:
    "Parts of the rows whose classes have enough of them."
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rows = np.random.default_rng(2026).permutation(np.flatnonzero(counts[codes] >= least))
    n_out = round(0.15 * len(rows))
    parts = dict(test=rows[:n_out], valid=rows[n_out : 2 * n_out], train=np.sort(rows[2 * n_out :]))
    known, told = np.unique(y[parts['train']]), {}
    for name, ids in parts.items():
        ids = ids[np.isin(y[ids], known)]
        part = scipy.sparse.csr_array(X[ids]).astype(np.float32)
        part.sort_indices()
        told |= {f'{name}_{key}': getattr(part, key) for key in ('data', 'indices', 'indptr')}
        told[f'{name}_labels'] = np.searchsorted(known, y[ids])
    return told | dict(shape=np.array([X.shape[1], len(known)]))


def read(path: str) -> tuple[dict, int]:
    "Rows and labels of each part, and the number of classes."
    with np.load(path) as file:
        some = dict(file)
    n_features, n_classes = map(int, some['shape'])
    parts = {}
    for name in ('train', 'valid', 'test'):
        values = [some[f'{name}_{key}'] for key in ('data', 'indices', 'indptr')]
        shape = len(some[f'{name}_labels']), n_features
        parts[name] = scipy.sparse.csr_array(tuple(values), shape=shape), some[f'{name}_labels']
    return parts, n_classes


# --------------------------------------------------------------------------------------- the clock
class Clock:
    "Processor seconds of a fit."

    def __init__(self, cap: float = math.inf):
        self.cap, self.cut = cap, 0
        self.start()

    def start(self) -> None:
        self.spent, self.mark = 0.0, time.process_time()

    def stop(self) -> None:
        self.spent, self.mark = self.now(), math.nan

    def now(self) -> float:
        going = 0.0 if math.isnan(self.mark) else time.process_time() - self.mark
        return self.spent + going

    def over(self) -> bool:
        self.cut = int(self.cut or self.now() > self.cap)
        return bool(self.cut)


def judged(scores, X, y, proper: bool = True) -> tuple[float, float]:
    "Share of right first answers, and log-loss where scores are proper."
    right, loss = 0, 0.0
    for i in range(0, len(y), 500):
        table, true = np.array(scores(X[i : i + 500]), np.float64), y[i : i + 500]
        right += int((table.argmax(1) == true).sum())
        top = table.max(1)
        if proper:
            total = top + np.log(np.exp(table - top[:, None]).sum(1))
            loss += float((total - table[np.arange(len(true)), true]).sum())
    return right / len(y), loss / len(y) if proper else math.nan


# ------------------------------------------------------------------------------------ the entrants
def ours(X, y, n_classes, setting, clock):
    from extreme_opt.softmax import SoftmaxClassifier

    cap = None if math.isinf(clock.cap) else clock.cap
    model = SoftmaxClassifier(max_seconds=cap, **setting).fit(X, y)
    return model.decision_function, True


def with_ones(X):
    return scipy.sparse.hstack([X, np.ones((X.shape[0], 1), np.float32)], format='csr')


def batches(n: int, size: int, passes: int):
    "Ids of minibatches."
    rng = np.random.default_rng(0)
    for _ in range(passes):
        order = rng.permutation(n)
        for k in range(0, n, size):
            yield order[k : k + size]


def as_torch(X):
    import torch  # type: ignore[import-not-found]

    parts = X.indptr.astype(np.int32), X.indices.astype(np.int32), X.data
    return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), X.shape)


def optimizer(setting: dict, weights, n_steps: int, clock):
    """An optimizer of PyTorch and what to call after each of its steps: the rate of AdamW falls to
    zero at the last step or at the cap."""
    import torch

    rate, decay = setting['rate'], setting['decay']
    if setting['optimizer'] == 'Adagrad':
        adagrad = torch.optim.Adagrad(weights, rate, weight_decay=1e-4 * decay, fused=True)
        return adagrad, lambda done: None
    adam = torch.optim.AdamW(weights, rate, weight_decay=decay, fused=True)

    def fall(done):
        left = 1 - max(done / n_steps, min(clock.now() / clock.cap, 1.0))
        adam.param_groups[0]['lr'] = rate * max(left, 1e-3)

    return adam, fall


def full_softmax(X, y, n_classes, setting, clock):
    import torch

    rows, weights = with_ones(X), torch.zeros(X.shape[1] + 1, n_classes)
    size, passes, target = setting['size'], setting['passes'], torch.from_numpy(y)
    weights.grad = grad = torch.zeros_like(weights)  # made once: new pages cost more than a product
    steps = passes * -(-len(y) // size)
    optimize, after = optimizer(setting, [weights], steps, clock)

    def scores(part):
        return (as_torch(with_ones(part)) @ weights).numpy()

    with torch.no_grad():
        for done, ids in enumerate(batches(len(y), size, passes), 1):
            part = rows[ids]
            table = torch.softmax(as_torch(part) @ weights, 1)
            table[torch.arange(len(ids)), target[ids]] -= 1
            torch.addmm(grad, as_torch(part.T.tocsr()), table / len(ids), beta=0, out=grad)
            optimize.step()
            after(done)
            if clock.over():
                break
    return scores, True


def by_frequency(y, n_classes):
    "Place of each class when the most frequent comes first."
    place = np.empty(n_classes, np.int64)
    place[np.argsort(-np.bincount(y, minlength=n_classes), kind='stable')] = np.arange(n_classes)
    return place


def sampled_softmax(X, y, n_classes, setting, clock):
    import torch

    rows, place, rng = with_ones(X), by_frequency(y, n_classes), np.random.default_rng(1)
    weights, squares = (torch.zeros(rows.shape[1], n_classes) for _ in range(2))
    noise = np.full(n_classes, 1 / n_classes)
    if setting['noise'] == 'log-uniform':
        k = np.arange(n_classes)
        noise = np.log((k + 2) / (k + 1)) / math.log(n_classes + 1)
    share, drawn, rate = np.cumsum(noise), setting['classes'], setting['rate']
    shift, ranks = np.log(noise * drawn).astype(np.float32), place[y]
    with torch.no_grad():
        for at in batches(len(y), setting['size'], setting['passes']):
            part, true, row = rows[at], ranks[at], torch.arange(len(at))
            others = np.minimum(np.searchsorted(share, rng.random(drawn)), n_classes - 1)
            ids, where = np.unique(np.r_[true, others], return_inverse=True)
            own, other = map(torch.from_numpy, np.split(where, [len(at)]))
            columns, spot = np.unique(part.indices, return_inverse=True)
            shape, starts = (len(at), len(columns)), part.indptr
            part = scipy.sparse.csr_array((part.data, spot, starts), shape)
            cells = torch.from_numpy(columns.astype(np.int64))[:, None], torch.from_numpy(ids)
            block = weights[cells]
            table = as_torch(part) @ block
            mine = table[row, own] - torch.from_numpy(shift[true])
            theirs = table[:, other] - torch.from_numpy(shift[others])
            theirs[torch.from_numpy(true[:, None] == others)] = -math.inf
            chances = torch.softmax(torch.cat([mine[:, None], theirs], 1), 1) / len(at)
            back = torch.zeros_like(table).index_add_(1, other, chances[:, 1:])
            back[row, own] += chances[:, 0] - 1 / len(at)
            grad = as_torch(part.T.tocsr()) @ back
            seen = squares[cells].addcmul_(grad, grad)  # Adagrad where the gradient is not zero
            squares[cells] = seen
            weights[cells] = block.addcdiv_(grad, seen.sqrt_().add_(1e-10), value=-rate)
            if clock.over():
                break
        final = weights[:, torch.from_numpy(place)]
    return lambda part: (as_torch(with_ones(part)) @ final).numpy(), True


def adaptive_softmax(X, y, n_classes, setting, clock):
    import torch

    torch.manual_seed(0)
    place, width = by_frequency(y, n_classes), setting['width']
    bag = torch.nn.EmbeddingBag(X.shape[1], width, mode='sum', sparse=True)
    torch.nn.init.uniform_(bag.weight, -1 / width, 1 / width)  # as in fastText; its own is N(0, 1)
    cuts = [n_classes // 10, n_classes // 3]
    head = torch.nn.AdaptiveLogSoftmaxWithLoss(
        width, n_classes, cuts, div_value=setting['divide'], head_bias=True
    )
    target, (rate, size) = torch.from_numpy(place[y]), (setting['rate'], setting['size'])
    optimize = torch.optim.Adagrad([*bag.parameters(), *head.parameters()], rate)

    def hidden(part):
        columns, starts = map(torch.from_numpy, (part.indices.astype(np.int64), part.indptr[:-1]))
        return bag(columns, starts.long(), per_sample_weights=torch.from_numpy(part.data))

    for ids in batches(len(y), size, setting['passes']):
        optimize.zero_grad()
        head(hidden(X[ids]), target[ids]).loss.backward()
        optimize.step()
        if clock.over():
            break

    def scores(part):
        with torch.no_grad():
            return head.log_prob(hidden(part)).numpy()[:, place]

    return scores, True


def logistic(X, y, n_classes, setting, clock):
    import scipy.optimize
    from sklearn.linear_model import LogisticRegression

    plain = scipy.optimize.minimize

    def look(x):
        if clock.over():
            raise StopIteration

    def stopping(*args, **more):
        return plain(*args, **(more | dict(callback=look)))

    scipy.optimize.minimize = stopping  # the solver has no limit of seconds
    try:
        model = LogisticRegression(**setting).fit(X, y)
    finally:
        scipy.optimize.minimize = plain
    return model.decision_function, True


def one_against_rest(X, y, n_classes, setting, clock):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss='log_loss', random_state=0, **setting)
    n, rng = len(y), np.random.default_rng(0)
    for _ in range(math.ceil(10**6 / n)):
        for ids in np.array_split(rng.permutation(n), math.ceil(n * n_classes / 10**7)):
            model.partial_fit(X[ids], y[ids], classes=np.arange(n_classes))
            if clock.over():
                break
        if clock.cut:
            break
    return lambda part: np.log(np.maximum(model.predict_proba(part), LOWEST)), True


def centroid(X, y, n_classes, setting, clock):
    if not setting['cosine']:
        from sklearn.neighbors import NearestCentroid

        model = NearestCentroid().fit(X, y)
        centers = model.centroids_.astype(np.float32)
        return lambda part: 2 * (part @ centers.T) - (centers**2).sum(1), False
    ones = np.ones(len(y), np.float32)
    sums = scipy.sparse.csr_array((ones, (y, np.arange(len(y)))), (n_classes, len(y))) @ X
    length = np.sqrt(np.maximum(sums.power(2).sum(1), LOWEST))
    centers = scipy.sparse.diags_array(1 / length).tocsr() @ sums
    return lambda part: (part @ centers.T).toarray(), False


def fasttext_of(X, y, n_classes, setting, clock):
    import fasttext  # type: ignore[import-not-found]

    def text(part):
        return [' '.join(f'c{j}' for j in part.indices[a:b]) for a, b in zip(
            part.indptr[:-1], part.indptr[1:], strict=True
        )]  # fmt: skip

    with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
        lines = zip(y, text(X), strict=True)
        file.writelines(f'__label__{label} {words}\n' for label, words in lines)
        file.flush()
        common = dict(thread=1, verbose=0, minCount=1, epoch=5) | setting
        if not math.isinf(clock.cap):
            marks = [time.process_time()]
            for n in (1, 2):
                fasttext.train_supervised(file.name, **common | dict(epoch=n))
                marks.append(time.process_time())
            one, two = np.diff(marks)
            fit = 1 + int((clock.cap - one) / max(two - one, 0.1 * one))
            clock.cut = int(fit < common['epoch'])
            common['epoch'] = max(1, min(fit, common['epoch']))
        clock.start()
        model = fasttext.train_supervised(file.name, **common)
    clock.stop()

    place = [int(label[9:]) for label in model.get_labels()]
    output, column = model.get_output_matrix().T, {f'__label__{k}': k for k in range(n_classes)}

    def scores(part):
        table = np.full((part.shape[0], n_classes), math.log(LOWEST))
        if setting['loss'] == 'softmax':  # the products that `predict` makes, all at once
            hidden = np.stack([model.get_sentence_vector(line) for line in text(part)])
            table[:, place] = hidden @ output
            return table
        for i, line in enumerate(text(part)):
            found = model.f.predict(line + '\n', -1, -1e-5, 'strict')
            values = np.array([value for value, _ in found])
            table[i, [column[label] for _, label in found]] = np.log(np.maximum(values, LOWEST))
        return table

    return scores, True


def label_tree(X, y, n_classes, setting, clock):
    import omikuji  # type: ignore[import-not-found]

    tuned = omikuji.Model.default_hyper_param()
    for name, value in setting.items():
        setattr(tuned, name, value)
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
        file.write(f'{len(y)} {X.shape[1]} {n_classes}\n')
        for i, label in enumerate(y):
            a, b = X.indptr[i : i + 2]
            pairs = zip(X.indices[a:b], X.data[a:b], strict=True)
            file.write(f'{label} ' + ' '.join(f'{j}:{v:.7g}' for j, v in pairs) + '\n')
        file.flush()
        clock.start()
        model = omikuji.Model.train_on_data(file.name, tuned, n_threads=1)
    clock.stop()
    model.init_prediction_thread_pool(1)

    def scores(part):
        table = np.full((part.shape[0], n_classes), -math.inf)
        for i in range(part.shape[0]):
            a, b = part.indptr[i : i + 2]
            pairs = list(zip(part.indices[a:b].tolist(), part.data[a:b].tolist(), strict=True))
            for label, value in model.predict(pairs, top_k=1):
                table[i, label] = value
        return table

    return scores, False


ENTRANTS = {
    OURS[0]: ours,
    OURS[1]: ours,
    FULL: full_softmax,
    'PyTorch, sampled softmax': sampled_softmax,
    'PyTorch, adaptive softmax': adaptive_softmax,
    EXACT: logistic,
    'scikit-learn SGDClassifier': one_against_rest,
    'nearest centroid': centroid,
    'fastText, hierarchical softmax': fasttext_of,
    'fastText, softmax': fasttext_of,
    'omikuji, label tree': label_tree,
}


# -------------------------------------------------------------------------------------- the search
def between(low: float, high: float):
    "A place in (0, 1) as a number on a logarithmic axis, to two digits."
    return lambda at: float(f'{low * (high / low) ** at:.2g}')


def one_of(*values):
    return lambda at: values[int(at * len(values))]


PASSES = one_of(2, 5, 10, 20, 50)
SAMPLED = dict(
    max_epochs=PASSES,
    n_negatives=one_of(5, 20),
    ridge=one_of(0.0, 1e-6, 1e-5),
    average=one_of(False, True),
)
MINIBATCH = dict(size=one_of(256, 1024), passes=PASSES)
FASTTEXT = dict(lr=between(0.1, 1), epoch=lambda at: round(between(5, 50)(at)))
RANGES = {
    OURS[0]: dict(solver=one_of('implicit'), learning_rate=between(1, 300), **SAMPLED),
    OURS[1]: dict(solver=one_of('umax'), learning_rate=between(0.1, 100), **SAMPLED),
    FULL: dict(
        optimizer=one_of('AdamW', 'Adagrad'),
        rate=between(0.01, 3),
        decay=one_of(0.0, 0.01, 0.1),
        **MINIBATCH,
    ),
    'PyTorch, sampled softmax': dict(
        rate=between(0.01, 3),
        noise=one_of('log-uniform', 'uniform'),
        classes=one_of(64, 256),
        **MINIBATCH,
    ),
    'PyTorch, adaptive softmax': dict(
        rate=between(0.01, 1), width=one_of(128, 256), divide=one_of(2.0, 4.0), **MINIBATCH
    ),
    'fastText, hierarchical softmax': dict(loss=one_of('hs'), **FASTTEXT),
    'fastText, softmax': dict(loss=one_of('softmax'), **FASTTEXT),
    'omikuji, label tree': dict(
        linear_c=between(0.1, 10),
        linear_loss_type=one_of(0, 1),
        linear_weight_threshold=between(0.01, 0.1),
    ),
}
BONSAI = dict(cluster_balanced=False, cluster_k=100, max_depth=3)
DEFAULTS = {
    OURS[0]: [{}],
    OURS[1]: [dict(solver='umax')],
    'fastText, hierarchical softmax': [dict(loss='hs')],
    'fastText, softmax': [dict(loss='softmax')],
    'omikuji, label tree': [{}, {}],
}
GRIDS = {
    EXACT: [dict(C=float(f'{c:.2g}')) for c in np.geomspace(0.1, 1e4, TRIALS)],
    'scikit-learn SGDClassifier': [
        dict(alpha=alpha, average=average)
        for alpha in (1e-3, 1e-4, 1e-5, 1e-6)
        for average in (False, True)
    ],
    'nearest centroid': [dict(cosine=False), dict(cosine=True)],
}


def settings(entrant: str) -> list[dict]:
    "What an entrant tries."
    if entrant in GRIDS:
        return GRIDS[entrant]
    found, rng = list(DEFAULTS.get(entrant, [])), np.random.default_rng(0)
    n_drawn = TRIALS - len(found)
    places = {
        name: (rng.permutation(n_drawn) + rng.random(n_drawn)) / n_drawn for name in RANGES[entrant]
    }
    for k in range(n_drawn):
        found.append({name: draw(places[name][k]) for name, draw in RANGES[entrant].items()})
    if entrant.startswith('omikuji'):
        found = [one | BONSAI if k % 2 else one for k, one in enumerate(found)]
    return found


def told(setting: dict) -> str:
    "A setting in words."
    return ' '.join(f'{key} {value}' for key, value in setting.items()) or 'default'


def every_so(parts: dict, step: int) -> tuple[dict, int]:
    "The rows of every so-manieth class."
    found = {}
    for name, (X, y) in parts.items():
        rows = np.flatnonzero(y % step == 0)
        found[name] = X[rows], y[rows] // step
    return found, int(found['train'][1].max()) + 1


def fits(path: str, entrant: str, tried: list, cap: float, part: str, step: int = 1) -> dict:
    "Fits one after the other, and how each does on a part of the rows."
    from memory import peak_mb

    parts, n_classes = read(path)
    if step > 1:
        parts, n_classes = every_so(parts, step)
    make, (X, y), held = ENTRANTS[entrant], parts['train'], parts[part]
    few, found = np.arange(min(400, len(y))), []
    _, small = np.unique(y[few], return_inverse=True)
    small = X[few], small.astype(np.int64), int(small.max()) + 1
    for k, setting in enumerate(tried):
        less = {'max_epochs': 1, 'passes': 1, 'epoch': 1}
        warm = setting | {key: less[key] for key in less if key in setting or make is ours}
        warm = {key: value for key, value in warm.items() if key in setting or key == 'max_epochs'}
        with np.errstate(all='ignore'):
            if not k or setting != tried[k - 1]:
                make(*small, warm, Clock(0.5))
            clock = Clock(cap)
            scores, proper = make(X, y, n_classes, setting, clock)
            clock.stop()
            most = peak_mb()
            top_1, log_loss = judged(scores, *held, proper)
        one = dict(seconds=clock.spent, top_1=top_1, cut=clock.cut)
        one |= dict(log_loss=log_loss) if math.isfinite(log_loss) else {}
        found.append(one | (dict(peak=most) if k == 0 and part == 'test' else {}))
        del scores
    return dict(found=found)


def main() -> list[dict]:
    import machine

    python, out = machine.peer_python('many_classes'), []
    room = Path(os.environ.get('PARTS') or tempfile.mkdtemp())
    room.mkdir(parents=True, exist_ok=True)

    def kept(name: str, entrant: str, *args) -> list[dict]:
        "Fits in a process of their own, or what an earlier run kept of them; none where it failed."
        rows = str(room / f'{name.split("-")[0]}.npz')
        runner = sys.executable if entrant in OURS else python

        def job():
            try:
                given = rows, entrant, *args
                return machine.fresh(__file__, 'fits', *given, python=runner, limit=1800.0)
            except Exception as error:
                print(f'{name} failed: {str(error)[-300:]}', flush=True)
                return dict(found=[])

        return machine.kept(name, job)['found']

    def note(task: str, method: str, peer: str, found: dict, **more) -> None:
        "A row of the table."
        log_loss = found.get('log_loss')
        measured = dict(
            top_1=f'{found["top_1"]:.4f}' if 'top_1' in found else '',
            log_loss='' if log_loss is None else f'{log_loss:.4f}',
            likelihood='' if log_loss is None else f'{math.exp(-log_loss):.4g}',
            cut=found.get('cut', ''),
        )
        seconds = f'{found["seconds"]:.4g}' if 'seconds' in found else ''
        heavy = round(found['peak'], 1) if 'peak' in found else ''
        out.append(machine.row(method, task, seconds, peer=peer, **measured, **more, peak_mb=heavy))

    entrants = [name for name in ENTRANTS if python or name in OURS]
    for name, rows in sets().items():
        np.savez(room / f'{name}.npz', **split(rows.features, rows.labels))
        parts, n_classes = read(str(room / f'{name}.npz'))
        shape = {f'n_{part}': len(labels) for part, (_, labels) in parts.items()}
        shape |= dict(n_classes=n_classes, n_features=parts['train'][0].shape[1])
        shape |= dict(n_nonzero=f'{parts["train"][0].nnz / shape["n_train"]:.1f}')
        note(f'{name}: rows', 'data', '', {}, **shape)
        race(name, n_classes, entrants, kept, note)
    return out


def race(name: str, n_classes: int, entrants: list[str], kept, note) -> None:
    "Search and test of everyone on one set."
    trials: dict[str, list] = {}
    for entrant in entrants:
        tried = settings(entrant)
        found = kept(f'{name}-{entrant}', entrant, tried, CAP, 'valid')
        for k, (setting, one) in enumerate(zip(tried, found, strict=False), 1):
            note(f'{name}: trial {k}', entrant, told(setting), one)
            stopped = entrant not in OURS and not entrant.startswith('omikuji')
            if stopped or one['seconds'] <= CAP:
                trials.setdefault(entrant, []).append((setting, one))
    chosen = {}
    for entrant, tried in trials.items():
        best = max(tried, key=lambda each: each[1]['top_1'])
        chosen[entrant, 'accuracy'] = best[0], CAP, best[1]['seconds']
        proper = [each for each in tried if 'log_loss' in each[1]]
        if proper:
            best = min(proper, key=lambda each: each[1]['log_loss'])
            chosen[entrant, 'log-loss'] = best[0], CAP, best[1]['seconds']
    if any(found['cut'] for _, found in trials.get(EXACT, [])):
        chosen |= unlimited(name, n_classes, kept, note)
    for (label, by), (setting, cap, lasts) in chosen.items():
        entrant, tag = label.removesuffix(', beyond the cap'), f'{label}, {told(setting)}'
        runs = [setting] * (ROUNDS if lasts <= CAP / 2 else 1)
        found = kept(f'{name}-test {tag}', entrant, runs, cap, 'test')
        if not found:
            continue
        times = [one['seconds'] for one in found]
        middle = found[0] | dict(seconds=statistics.median(times))
        how = f'median of {len(times)}' if len(times) > 1 else 'one run'
        note(f'{name}: test, best by {by}', label, told(setting), middle, how=how)


def unlimited(name: str, n_classes: int, kept, note) -> dict:
    "Settings of LogisticRegression for fits beyond the cap, found on fewer classes."
    step, tried = max(1, n_classes // FEWER), []
    every = kept(f'{name}-fewer {step}', EXACT, settings(EXACT), MORE * CAP, 'valid', step)
    for k, (setting, one) in enumerate(zip(settings(EXACT), every, strict=False), 1):
        task = f'{name}: beyond the cap, trial {k}, 1 class of {step}'
        note(task, EXACT, told(setting), one)
        tried.append((one['top_1'], -one.get('log_loss', math.inf), setting))
    label, found = f'{EXACT}, beyond the cap', {}
    if tried:
        found[label, 'accuracy'] = max(tried, key=lambda each: each[0])[2], MORE * CAP, CAP
        found[label, 'log-loss'] = max(tried, key=lambda each: each[1])[2], MORE * CAP, CAP
    return found


# ------------------------------------------------------------------------- negatives near the label
RATES, EPOCHS, NEGATIVES, SEEDS = (0.3, 1.0, 3.0, 10.0, 30.0), (5, 10, 20), (5, 20), range(1, 6)


def lists_of(how: str, problem, n_negatives: int):
    "Whom to draw more often."
    from extreme_opt.softmax.near_classes import NearClasses, list_sizes, near_classes

    if how == 'uniform':
        return None
    if how == 'near the label':
        return near_classes(problem, n_negatives)
    n_classes, (n_listed, n_drawn) = problem.n_classes, list_sizes(problem.n_classes, n_negatives)
    rng = np.random.default_rng(0)
    rows = [rng.choice(n_classes - 1, n_listed, replace=False) for _ in range(n_classes)]
    return NearClasses(np.stack([row + (row >= k) for k, row in enumerate(rows)]), n_drawn)


def implicit_fit(how: str, problem, m: int, rate: float, n_epochs: int, seed: int):
    "The weights, and the processor seconds of the run."
    from extreme_opt.core import minimize
    from extreme_opt.softmax import ImplicitSGD

    mark = time.process_time()
    solver = ImplicitSGD(rate, m, visits='shuffled', near=lists_of(how, problem, m))
    run = minimize(problem, solver, max_epochs=n_epochs, loss_subset=0, seed=seed)
    return problem.unpack(run.state.params)[0], time.process_time() - mark


def softmax_near() -> list[dict]:
    import machine

    from extreme_opt.softmax import DoubleSum, mean_log_loss, top_k_accuracy

    def judge(problem, weights) -> tuple[float, float]:
        return top_k_accuracy(problem, weights, 1), mean_log_loss(problem, weights)

    out = []
    for name, rows in sets().items():
        with tempfile.TemporaryDirectory() as room:
            np.savez(Path(room) / 'rows.npz', **split(rows.features, rows.labels))
            parts, n_classes = read(str(Path(room) / 'rows.npz'))
        train, valid, test = (
            DoubleSum(*parts[part], n_classes, dtype=np.float32)
            for part in ('train', 'valid', 'test')
        )
        for m, how in itertools.product(
            NEGATIVES, ('uniform', 'near the label', 'lists at random')
        ):
            implicit_fit('near the label', train, m, 1.0, 1, 0)  # compiled before the clock
            tried = {
                setting: judge(valid, implicit_fit(how, train, m, *setting, 0)[0])
                for setting in itertools.product(RATES, EPOCHS)
            }
            picks = {
                'accuracy': max(tried, key=lambda key: tried[key][0]),
                'log-loss': min(tried, key=lambda key: tried[key][1]),
            }
            for by, (rate, n_epochs) in picks.items():
                fits = [implicit_fit(how, train, m, rate, n_epochs, seed) for seed in SEEDS]
                ends = np.array([judge(test, weights) for weights, _ in fits])
                mean, spread = ends.mean(0), ends.std(0, ddof=1)
                told = dict(peer=f'rate {rate:g}, {n_epochs} epochs', n_classes=n_classes)
                for measure, one, sd in zip(('top_1', 'log_loss'), mean, spread, strict=True):
                    told |= {measure: f'{one:.4f}', f'{measure}_sd': f'{sd:.4f}'}
                took = f'{statistics.median(took for _, took in fits):.3g}'
                task = f'{name}: {m} negatives, best by {by}'
                out.append(machine.row(how, task, took, **told))
    return out


# -------------------------------------------------------------------------------- as it comes
def softmax_untuned() -> list[dict]:
    "`SoftmaxClassifier()` as it comes, on the rows and parts of the race."
    import machine

    from extreme_opt.softmax import SoftmaxClassifier

    y = np.arange(300) // 3
    SoftmaxClassifier().fit(scipy.sparse.eye_array(100).tocsr()[y], y)  # compiled before the clock

    def job(one, found):
        some = split(found.features, found.labels)
        width, n_classes = map(int, some['shape'])

        def rows(part):
            values = tuple(some[f'{part}_{key}'] for key in ('data', 'indices', 'indptr'))
            labels = some[f'{part}_labels']
            return scipy.sparse.csr_array(values, shape=(len(labels), width)), labels

        mark = time.process_time()
        model = SoftmaxClassifier().fit(*rows('train'))
        seconds, (new, truth) = time.process_time() - mark, rows('test')
        return machine.row(
            'SoftmaxClassifier(), as it comes',
            f'{one}: {n_classes} classes',
            f'{seconds:.3g}',
            top_1=f'{model.score(new, truth):.4f}',
            top_5=f'{(model.top_k(new, 5)[0] == truth[:, None]).any(1).mean():.4f}',
            log_loss=f'{model.log_loss(new, truth):.4f}',
        )

    return [
        machine.kept(one, lambda one=one, found=found: job(one, found))
        for one, found in sets().items()
    ]
