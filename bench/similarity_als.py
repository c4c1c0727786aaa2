"""The default model on ids beside a tuned `implicit`: recall@20 on held-out pairs and seconds, on
films and links.

Needs EXTREME_OPT_DATA with ml-100k, ml-1m and wikipedia-links; sets that are not there are left
out. To the four sets of similarity_reproduce come the links of the larger Wikipedia graph
("crocodile"), without trials of ours. Training pairs are masked. All methods have rank 40, float32
and one thread. Two kinds of rows:

- "als SET": recall@20 on held-out pairs. `implicit` is its newest solver (native, conjugate
  gradients) with 15 iterations; it chose
  regularization and alpha among 30 settings by recall@20 on a tenth of the training pairs, and
  `peer` says which. "default" is `SimilarityModel(40)`, nothing tuned: alternating least squares.
  "tuned" is the best of 25 multiples of its ridge and of its unobserved weight on the same tenth.
  "newton" is `SimilarityModel(40, solver="newton")`: logistic loss, Gauss-Newton steps.
- "defaults SET": recall@20 on a tenth of the training pairs (mean of three such tenths, of one on
  MovieLens-1M), with one setting moved away from
  the rule; from these the rule was chosen. "penalty_scale 1" is the rule without its factor. The
  held-out pairs play no part. The larger graph has only the rows about the factor and max_iter.

`interval` is the 95 % interval of recall@20 over users (bootstrap); `ratio` is the difference to
`implicit` in recall@20, user by user, and `ratio_interval` its 95 % interval. `seconds` are
processor seconds of one fit with the chosen setting, on one thread, data in memory, kernels
compiled; tuning is not part of them. Each fit is kept under build/bench as soon as it has ended.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import machine
import numpy as np
from similarity_reproduce import sets as four_sets
from sklearn.exceptions import ConvergenceWarning

from extreme_opt import data
from extreme_opt.similarity.model import SimilarityModel
from extreme_opt.similarity.ranking import pattern, top_k

LONG = True
RANK, ITERATIONS = 40, 15
REGULARIZATION, ALPHA = (1.0, 10.0, 30.0, 100.0, 300.0), (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the ridge and of the unobserved weight
PEER = 'implicit, tuned'
MOVED = (
    dict(),
    *(dict(unobserved_weight=times) for times in (0.25, 0.5, 2.0)),
    *(dict(ridge=times) for times in (0.5, 2 / 3, 4 / 3, 2.0)),
    *(dict(ridge_power=power) for power in (0.0, 1.0)),
    dict(impute=-1.0),
    dict(popularity_power=0.25),
    dict(penalty_scale=1),
    dict(max_iter=30),
    dict(solver='newton'),
)


def sets() -> dict:
    "Training and held-out pairs of the sets that are there."
    found = four_sets()
    if 'Wikipedia links' in found:
        pairs = data.load('wikipedia-links', graph='crocodile')
        shape = pairs.n_left, pairs.n_right
        found['Wikipedia, large'] = tuple(
            pattern(part, shape) for part in (pairs.train_observed, pairs.test_observed)
        )
    return found


def ours(**settings):
    """A model and the processor seconds of its fit; `ridge` and `unobserved_weight` are multiples
    of the rule."""

    def fit(train):
        made = dict(settings)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', ConvergenceWarning)
            rule = SimilarityModel(RANK, max_iter=1).fit(train)
            scale = rule.settings_['penalty_scale']
            for name in ('ridge', 'unobserved_weight'):
                if name in made:
                    made[name] *= getattr(rule, f'{name}_')
            if made.pop('penalty_scale', None):
                made = dict(
                    ridge=rule.ridge_ / scale,
                    unobserved_weight=rule.unobserved_weight_ / scale,
                    ridge_power=rule.settings_['ridge_power'] / scale,
                )
            SimilarityModel(RANK, **made | dict(max_iter=1)).fit(train)
            mark = time.process_time()
            model = SimilarityModel(RANK, **made).fit(train)
            took = time.process_time() - mark
        return model.left_embeddings_, model.right_embeddings_, took

    return ', '.join(
        f'{name} {value:.3g}' if not isinstance(value, str) else value
        for name, value in settings.items()
    ) or 'default', fit


def implicit_trials():
    "Settings of implicit's ALS, if it is there: in this environment or in that of the peers."
    machine.lend_peers()
    try:
        from implicit.als import AlternatingLeastSquares
    except ImportError:
        return []

    def trial(regularization, alpha):
        def fit(train):
            model = AlternatingLeastSquares(
                factors=RANK,
                regularization=regularization,
                alpha=alpha,
                iterations=ITERATIONS,
                num_threads=1,
                random_state=0,
            )
            matrix = train.astype(np.float32).tocsr()
            mark = time.process_time()
            model.fit(matrix, show_progress=False)
            took = time.process_time() - mark
            return np.asarray(model.user_factors), np.asarray(model.item_factors), took

        return f'regularization {regularization:g}, alpha {alpha:g}', fit

    return [trial(r, a) for r in REGULARIZATION for a in ALPHA]


def recalls(P, Q, test, seen) -> np.ndarray:
    "Recall@20 of every user with held-out pairs."
    rows = np.flatnonzero(np.diff(test.indptr))
    found = top_k(lambda at: P[at] @ Q.T, rows, test.shape[1], 20, seen)[0]
    held = [set(test.indices[test.indptr[i] : test.indptr[i + 1]]) for i in rows]
    return np.array(
        [len(held_i.intersection(list_i)) / len(held_i) for held_i, list_i in zip(held, found)]
    )


def interval(values) -> tuple[float, float]:
    "95 % bootstrap interval of a mean."
    rng = np.random.default_rng(0)
    means = [values[rng.integers(len(values), size=len(values))].mean() for _ in range(1000)]
    return tuple(np.quantile(means, [0.025, 0.975]))


def ends(column, values, sign='') -> dict:
    "The interval of a mean as two columns."
    both = zip(('low', 'high'), interval(values))
    return {f'{column}_{end}': f'{value:{sign}.4f}' for end, value in both}


def difference(column, values) -> dict:
    "A mean difference with its interval."
    return {column: f'{values.mean():+.4f}'} | ends(column, values, '+')


def judged(trials, train, test, title, method) -> dict:
    """The best trial on a tenth of the training pairs, fitted to all of them: per-user recall,
    seconds, setting."""
    pairs = np.column_stack(train.nonzero())
    cut = np.random.default_rng(0).random(len(pairs)) < 0.1
    rest, valid = pattern(pairs[~cut], train.shape), pattern(pairs[cut], train.shape)
    chosen, tried = 0, ''
    if len(trials) > 1:

        def score(name, fit):
            found = float(recalls(*fit(rest)[:2], valid, rest).mean())
            print(f'  {title}: {method}: {name}: validation {found:.4f}', flush=True)
            return found

        scores = [
            machine.kept(f'{title} {method} {name}', score, name, fit) for name, fit in trials
        ]
        chosen = int(np.argmax(scores))
        tried = f', best of {len(trials)}'
    P, Q, seconds = trials[chosen][1](train)
    return dict(
        recalls=recalls(P, Q, test, train).tolist(), seconds=seconds, peer=trials[chosen][0] + tried
    )


def defaults(title, train, moved) -> dict:
    "Recall@20 on validation pairs with one setting moved away from the rule."
    name, fit = ours(**moved)
    pairs = np.column_stack(train.nonzero())

    def mean():
        values, took = [], 0.0
        for seed in range(1 if train.nnz > 10**5 else 3):
            cut = np.random.default_rng(seed).random(len(pairs)) < 0.1
            rest, valid = pattern(pairs[~cut], train.shape), pattern(pairs[cut], train.shape)
            P, Q, took = fit(rest)
            values.append(float(recalls(P, Q, valid, rest).mean()))
        return dict(recall=float(np.mean(values)), seconds=took)

    told = machine.kept(f'{title} defaults {name}', mean)
    return machine.row(
        method=name,
        task=f'defaults {title}',
        seconds=f'{told["seconds"]:.3g}',
        how='processor seconds of one fit',
        recall_20=f'{told["recall"]:.4f}',
    )


def main() -> Iterator[dict]:
    methods = {
        PEER: implicit_trials(),
        'SimilarityModel, default': [ours()],
        'SimilarityModel, tuned': [
            ours(unobserved_weight=weight, ridge=ridge) for weight in TIMES for ridge in TIMES
        ],
        'SimilarityModel, newton': [ours(solver='newton')],
    }
    for title, (train, test) in sets().items():
        large = title == 'Wikipedia, large'  # no trials of ours there
        ended = {
            method: machine.kept(f'{title} {method}', judged, trials, train, test, title, method)
            for method, trials in methods.items()
            if trials and not (large and method == 'SimilarityModel, tuned')
        }
        base = np.array(ended[PEER]['recalls']) if PEER in ended else None
        for method, told in ended.items():
            values = np.array(told['recalls'])
            row = machine.row(
                method=method,
                task=f'als {title}',
                peer=told['peer'],
                seconds=f'{told["seconds"]:.3g}',
                how='processor seconds of one fit',
                recall_20=f'{values.mean():.4f}',
                **ends('recall', values),
            )
            if base is not None and method != PEER:
                row |= difference('difference', values - base)
            yield row
        few = dict(), dict(penalty_scale=1), dict(max_iter=30)
        yield from [defaults(title, train, moved) for moved in (few if large else MOVED)]
