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
the interpreter that the environment variable CBLEARN_PYTHON names; without it there are no rows for
it. Up to 100 objects five of its estimators run with their defaults. Beyond, where every iteration
forms all distances, only those run that were best there or level with the best: at 1,000 objects
SOE with four starts, as many as ours, STE, and GNMDS with 500 iterations of its 2,000; at 5,000 SOE
with one start. Fits of 5,000 objects have no reversed answers.

Long runs can be stopped and called again: with the environment variable PARTS naming a folder, what
is finished is kept there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
import numpy as np
import scipy.stats

from extreme_opt.core.streams import stream

LONG = True
SIZES = ((20, 400), (100, 4000), (1000, 40_000), (5000, 200_000))  # objects, triplets
KINDS = ('clean', 'perceived', 'reversed')
SEEDS = 5
N_TEST, BLUR, REVERSED = 40_000, 0.3, 0.1
ERROR = """
import json, sys, warnings
import numpy as np
warnings.simplefilter('ignore')
data, seed, answer = np.load(sys.argv[1]), int(sys.argv[2]), {}
train, test, n = data['train'], data['test'], int(data['n'])
def error(x):
    near, far = (((x[test[:, 0]] - x[test[:, c]]) ** 2).sum(1) for c in (1, 2))
    return float(1 - np.mean(near < far))
"""
OURS = (
    ERROR
    + """
from extreme_opt.ordinal import OrdinalEmbedding

for name, settings in json.loads(sys.argv[3]):
    model = OrdinalEmbedding(n_objects=n, random_state=seed, **settings).fit(train)
    answer[name] = dict(
        error=error(model.embedding_),
        steps=int(model.n_iter_),
        ended=not model.run_.status.is_limit,
    )
print(json.dumps(answer))
"""
)
PEER = (
    ERROR
    + """
from cblearn import embedding

for name, settings in json.loads(sys.argv[3]):
    model = getattr(embedding, name)(n_components=2, random_state=seed, **settings).fit(
        train, n_objects=n
    )
    answer['cblearn ' + name] = dict(
        error=error(model.embedding_),
        steps=int(model.n_iter_),
        ended=model.n_iter_ < model.max_iter,
    )
print(json.dumps(answer))
"""
)
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


def ask(python: str, code: str, jobs: list, size: tuple[int, int], kind: str, seed: int) -> dict:
    "Fit in a process of its own: name -> error, steps, whether a stop rule ended it."
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'answers.npz'
        np.savez(path, **answers(*size, kind, seed))
        done = subprocess.run(
            [python, '-c', code, str(path), str(seed), json.dumps(jobs)],
            capture_output=True,
            text=True,
            env=machine.pinned(),
        )
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return json.loads(done.stdout.splitlines()[-1])


def interval(values) -> tuple[float, float, float]:
    "Mean and 95 % interval; not a number for one seed."
    if len(values) == 1:
        return float(values[0]), np.nan, np.nan
    half = scipy.stats.t.ppf(0.975, len(values) - 1) * scipy.stats.sem(values)
    return tuple(float(np.mean(values) + shift) for shift in (0, -half, half))


def main() -> list[dict]:
    rows = []
    peer = os.environ.get('CBLEARN_PYTHON')
    if not peer:
        print('CBLEARN_PYTHON names no interpreter: no rows for cblearn')
    for size in SIZES:
        for kind in KINDS[: 3 if size[0] <= 1000 else 2]:
            found: dict[str, list[dict]] = {}
            for seed in range(SEEDS):
                for who, python, code, jobs in (
                    ('ours', sys.executable, OURS, OUR_JOBS),
                    ('cblearn', peer, PEER, PEER_JOBS[size[0]]),
                ):
                    if python:
                        one = machine.kept(
                            f'{size[0]} {kind} {seed} {who}',
                            lambda python=python, code=code, jobs=jobs, seed=seed: ask(
                                python, code, jobs, size, kind, seed
                            ),
                        )
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
                rows.append(
                    machine.row(
                        method,
                        f'{size[0]} objects, {size[1]} triplets, {kind}',
                        peer='cblearn 0.4.0' if method.startswith('cblearn') else '',
                        how=f'error alone, {len(each)} seeds',
                        peak_mb='',
                        **measured,
                        work=f'{np.mean([one["steps"] for one in each]):.0f}',
                    )
                )
    return rows
