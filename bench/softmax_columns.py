"""Does it help to sort the columns by how often they occur? One pass of implicit updates (one wrong
class, float32, CSR, int32 columns), one core.

Frequent columns side by side share cache lines, so that a row of frequent words touches fewer lines
of the two classes. Three tasks, each with its columns as they are (alphabetical, or in no order)
and with the most frequent ones first; the rows keep their columns ascending:

- `docstrings`: the sentences of `data.docstrings()`, a dozen words each, words as frequent as words
  are;
- `shape A`: that of `softmax_implicit`, where all columns are equally frequent and nothing can be
  gained;
- `shape A, Zipf`: the same shape with the n-th column drawn in proportion to 1 / n, in no order.
"""

from __future__ import annotations

import statistics

import machine
import numpy as np
import scipy.sparse
from softmax_implicit import RATE, ROUNDS, shape_a

from extreme_opt import data
from extreme_opt.softmax import DoubleSum
from extreme_opt.softmax.implicit import implicit_updates


def frequent_first(problem: DoubleSum) -> DoubleSum:
    "The same problem with its columns sorted by frequency."
    rows = problem.features
    place = np.empty(problem.n_features, np.int32)
    place[np.argsort(-np.bincount(rows.indices, minlength=problem.n_features), kind='stable')] = (
        np.arange(problem.n_features)
    )
    rows = scipy.sparse.csr_array(
        (rows.data.copy(), place[rows.indices], rows.indptr.copy()), shape=rows.shape
    )
    rows.sort_indices()
    return DoubleSum(rows, problem.labels, problem.n_classes)


def zipf(like: DoubleSum) -> DoubleSum:
    """Rows as long as those of another problem, with columns of very different frequency, in no
    order."""
    rng, (n_samples, n_features) = np.random.default_rng(1), like.features.shape
    width = int(np.diff(like.features.indptr)[0])
    heights = np.log(1 / np.arange(1, n_features + 1))[rng.permutation(n_features)].astype(
        np.float32
    )
    columns = np.concatenate(
        [
            np.argpartition(
                -(heights + rng.gumbel(size=(500, n_features)).astype(np.float32)), width, axis=1
            )[:, :width]
            for _ in range(n_samples // 500)
        ]
    )
    rows = scipy.sparse.csr_array(
        (
            like.features.data,
            np.sort(columns, axis=1).ravel().astype(np.int32),
            like.features.indptr,
        ),
        shape=like.features.shape,
    )
    return DoubleSum(rows, like.labels, like.n_classes)


def main() -> list[dict]:
    docs, wide, out = data.docstrings(), shape_a(), []
    problems = {
        'docstrings': DoubleSum(docs.train_features, docs.train_labels, docs.n_classes),
        'shape A': wide,
        'shape A, Zipf': zipf(wide),
    }
    for task, problem in problems.items():
        kinds = {'as they are': problem, 'frequent first': frequent_first(problem)}
        draw, params = (
            problem.draw(np.random.default_rng(0), problem.n_samples, 1),
            {name: problem.init_params() for name in kinds},
        )
        jobs = {
            name: lambda name=name, one=one: implicit_updates(one, params[name], draw, RATE)
            for name, one in kinds.items()
        }
        seconds = machine.alternate(jobs, ROUNDS)
        print(
            f'{task}: as they are over frequent first'
            f' {machine.ratio(seconds["as they are"], seconds["frequent first"]):.2f}',
            flush=True,
        )
        out += [
            dict(
                method=f'implicit updates, columns {name}',
                task=task,
                peer='kernel',
                threads=1,
                seconds=f'{statistics.median(seconds[name]):.4f}',
                peak_mb=machine.peak_mb(),
                versions=machine.versions(),
                date=machine.today(),
            )
            for name in kinds
        ]
    return out
