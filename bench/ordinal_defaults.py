"""Default fits of OrdinalEmbedding beside cblearn 0.4.0 at equal data: held-out error, and whether
each fit ended by its stop rule.

Planted maps of 20 to 5,000 normal points in the plane. Three kinds of answers: "clean" ones are all
right; "perceived" ones compare distances that are each seen with a normal error of standard
deviation 0.3, so that close calls go wrong; of "reversed" ones a tenth, drawn at random, is turned
round, however clear the question. The error is that on 40,000 other questions, answered by the
planted map without a fault. Five seeds: other points, questions and starts, from streams of their
own.

`test_error` is the mean error, `error_low` to `error_high` its 95 % interval over the seeds
(Student's t). `ratio` is the error over that of the default fit, seed by seed: geometric mean and
95 % interval. Work is L-BFGS steps for ours, iterations of its optimizer for cblearn. Seconds are
not compared here: bench/ordinal_race.py does that. cblearn needs a numpy of its own, so it runs in
the interpreter of bench/peers/cblearn.txt; without it there are no rows for it. Up to 100 objects
five of its estimators run with their defaults. Beyond, where every iteration forms all distances,
only those run that were best there or level with the best: at 1,000 objects SOE with four starts,
as many as ours, STE, and GNMDS with 500 iterations of its 2,000; at 5,000 SOE with one start. Fits
of 5,000 objects have no reversed answers.

Long runs can be stopped and called again: with the environment variable PARTS naming a folder, what
is finished is kept there.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import machine
import numpy as np

LONG = True
SIZES = ((20, 400), (100, 4000), (1000, 40_000), (5000, 200_000))  # objects, triplets
KINDS = ('clean', 'perceived', 'reversed')
SEEDS = 5
N_TEST, BLUR, REVERSED = 40_000, 0.3, 0.1
OUR_JOBS = [['default', {}], ['loss="ste"', dict(loss='ste')]]
PEER_JOBS = {
    20: [[name, {}] for name in ('SOE', 'STE', 'TSTE', 'GNMDS', 'CKL')],
    1000: [['SOE', dict(n_init=4)], ['STE', {}], ['GNMDS', dict(max_iter=500)]],
    5000: [['SOE', dict(n_init=1)]],
}
PEER_JOBS[100] = PEER_JOBS[20]


def answers(n_objects: int, n_terms: int, kind: str, seed: int) -> dict:
    """Questions about a planted map, answered in one of three ways; those for the test without a
    fault."""
    from extreme_opt.core.streams import stream

    points = stream(seed, 'data').normal(size=(n_objects, 2))
    rng = stream(seed, 'questions')
    n_rows = n_terms + N_TEST
    rows = rng.integers(n_objects, size=(2 * n_rows, 3))
    rows = rows[
        (rows[:, 0] != rows[:, 1]) & (rows[:, 0] != rows[:, 2]) & (rows[:, 1] != rows[:, 2])
    ]
    rows = rows[:n_rows]
    near, far = (np.sqrt(((points[rows[:, 0]] - points[rows[:, c]]) ** 2).sum(1)) for c in (1, 2))
    right = near < far
    if kind == 'perceived':
        blur = BLUR * rng.normal(size=(2, n_terms))
        right[:n_terms] = near[:n_terms] + blur[0] < far[:n_terms] + blur[1]
    elif kind == 'reversed':
        right[:n_terms] ^= rng.random(n_terms) < REVERSED
    rows = np.where(right[:, None], rows, rows[:, [0, 2, 1]])
    return dict(train=rows[:n_terms], test=rows[n_terms:], n=n_objects)


def error(x, test) -> float:
    "Share of the questions that a map answers wrong."
    near, far = (((x[test[:, 0]] - x[test[:, c]]) ** 2).sum(1) for c in (1, 2))
    return float(1 - np.mean(near < far))


def ours(path, jobs, seed) -> dict:
    from extreme_opt.ordinal import OrdinalEmbedding

    warnings.simplefilter('ignore')
    data, answer = np.load(path), {}
    for name, settings in jobs:
        model = OrdinalEmbedding(n_objects=int(data['n']), random_state=seed, **settings)
        model.fit(data['train'])
        told = dict(steps=int(model.n_iter_), ended=not model.run_.status.is_limit)
        answer[name] = dict(error=error(model.embedding_, data['test']), **told)
    return answer


def theirs(path, jobs, seed) -> dict:
    from cblearn import embedding

    warnings.simplefilter('ignore')
    data, answer = np.load(path), {}
    for name, settings in jobs:
        model = getattr(embedding, name)(n_components=2, random_state=seed, **settings)
        model.fit(data['train'], n_objects=int(data['n']))
        told = dict(steps=int(model.n_iter_), ended=bool(model.n_iter_ < model.max_iter))
        answer[f'cblearn {name}'] = dict(error=error(model.embedding_, data['test']), **told)
    return answer


def ask(call: str, jobs: list, size: tuple[int, int], kind: str, seed: int) -> dict:
    "Fit in a process of its own: name -> error, steps, whether a stop rule ended it."
    python = sys.executable if call == 'ours' else machine.peer_at('cblearn')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'answers.npz'
        np.savez(path, **answers(*size, kind, seed))
        told = machine.fresh(__file__, call, str(path), jobs, seed, python=python)
    return {name: one for name, one in told.items() if name != 'peak_mb'}


def interval(values) -> tuple[float, float, float]:
    "Mean and 95 % interval; not a number for one seed."
    if len(values) == 1:
        return float(values[0]), np.nan, np.nan
    import scipy.stats

    half = scipy.stats.t.ppf(0.975, len(values) - 1) * scipy.stats.sem(values)
    return tuple(float(np.mean(values) + shift) for shift in (0, -half, half))


def main() -> Iterator[dict]:
    peer = machine.peer_python('cblearn')
    for size in SIZES:
        for kind in KINDS[: 3 if size[0] <= 1000 else 2]:
            found: dict[str, list[dict]] = {}
            entrants = [('ours', OUR_JOBS)] + [('theirs', PEER_JOBS[size[0]])] * bool(peer)
            for seed in range(SEEDS):
                for call, jobs in entrants:
                    key = f'{size[0]} {kind} {seed} {call.replace("theirs", "cblearn")}'
                    one = machine.kept(key, ask, call, jobs, size, kind, seed)
                    for name, each in one.items():
                        found.setdefault(name, []).append(each)
            base = [one['error'] for one in found['default']]
            for method, each in found.items():
                errors = [one['error'] for one in each]
                mean, low, high = interval(errors)
                rate, least, most = np.exp(interval(np.log(np.divide(errors, base))))
                ended = sum(one['ended'] for one in each)
                measured = dict(
                    test_error=f'{mean:.4f}', n_ended=ended, n_seeds=len(each), ratio=f'{rate:.3f}'
                )
                if len(each) > 1:
                    measured |= dict(
                        error_low=f'{low:.4f}',
                        error_high=f'{high:.4f}',
                        ratio_low=f'{least:.3f}',
                        ratio_high=f'{most:.3f}',
                    )
                yield machine.row(
                    method,
                    f'{size[0]} objects, {size[1]} triplets, {kind}',
                    peer='cblearn 0.4.0' if method.startswith('cblearn') else '',
                    how=f'error alone, {len(each)} seeds',
                    peak_mb='',
                    **measured,
                    work=f'{np.mean([one["steps"] for one in each]):.0f}',
                )
