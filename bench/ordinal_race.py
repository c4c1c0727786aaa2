"""Work and seconds to a test error of 0.15, one core: SVRG with the automatic stabilizer, L-BFGS on
the same kernel, and cblearn 0.4.0.

Noiseless triplets of points N(0, I/20) in ten dimensions: n = 100 with 10,000 and n = 1,000 with
200,000 of them, 10,000 others for the test. Everything is repeated for five seeds: other points,
triplets and starts. Points, triplets and starts come from streams of their own, and each row says
how good the starts are before the first step. cblearn draws its own starts.

Numbers are geometric means over the seeds with 95 % intervals (Student's t on logarithms). `ratio`
is time over that of SVRG on STE for the same seed, taken in the same round. `work` does not depend
on the load of the machine: passes over the triplets for ours, iterations of its optimizer for
cblearn. cblearn needs a numpy of its own, so it runs in the interpreter of bench/peers/cblearn.txt;
without it there are no rows for it. It reports nothing on the way,
so the least `max_iter` that reaches the target is searched by doubling and halving to within a
tenth, and only that fit is timed. Seconds are those of the processor (`time.process_time`), which
other work on the machine does not lengthen, of a whole fit from the triplets on, without the
errors. A fit is repeated after warming up until two seconds are over, at most 15 times, and the
fastest counts.

A second part: most memory of a process that makes a few steps at n = 10,000 with a million
triplets, less that of the imports and the data.

Long runs can be stopped and called again: with the environment variable PARTS naming a folder, what
is finished is kept there and not run again.

`ordinal_defaults`: default fits of OrdinalEmbedding beside cblearn 0.4.0 at equal data: held-out
error, and whether each fit ended by its stop rule.

Planted maps of 20 to 5,000 normal points in the plane. Three kinds of answers: "clean" ones are all
right; "perceived" ones compare distances that are each seen with a normal error of standard
deviation 0.3, so that close calls go wrong; of "reversed" ones a tenth, drawn at random, is turned
round, however clear the question. The error is that on 40,000 other questions, answered by the
planted map without a fault. Five seeds: other points, questions and starts, from streams of their
own.

`test_error` is the mean error, `error_low` to `error_high` its 95 % interval over the seeds
(Student's t). `ratio` is the error over that of the default fit, seed by seed: geometric mean and
95 % interval. Work is L-BFGS steps for ours, iterations of its optimizer for cblearn. Seconds are
not compared. cblearn needs a numpy of its own, so it runs in
the interpreter of bench/peers/cblearn.txt; without it there are no rows for it. Up to 100 objects
five of its estimators run with their defaults. Beyond, where every iteration forms all distances,
only those run that were best there or level with the best: at 1,000 objects SOE with four starts,
as many as ours, STE, and GNMDS with 500 iterations of its 2,000; at 5,000 SOE with one start. Fits
of 5,000 objects have no reversed answers.

`ordinal_million`: a million objects and twenty million noiseless triplets of N(0, I/20), p = 10,
five epochs of SVRG on STE, one core, five seeds.

Points, triplets and starts come from streams of their own; the row "start" holds the error before
the first step, which is that of guessing. Triplets are made in chunks of a million. Without the
environment variable FULL=1 everything is twenty times smaller, to fit a minute. Reported: seconds
of one full gradient (loss included), seconds of each epoch (medians over seeds), error on a million
other triplets after each (mean and half the width of its 95 % interval over the seeds), most memory
of the process.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import machine
import numpy as np
from memory import peak_mb

LONG = 'ordinal_race', 'ordinal_defaults'
TARGET, SEEDS, REPEATS, LONG_RUN = 0.15, 5, 15, 2.0
TASKS = ((100, 10_000), (1000, 200_000))
T95 = 2.776  # Student's t, four degrees of freedom, 95 % on both sides


def distinct(rows: np.ndarray) -> np.ndarray:
    "Rows of three different objects."
    i, j, k = rows.T
    return rows[(i != j) & (i != k) & (j != k)]


def squares(points: np.ndarray, rows: np.ndarray):
    "Squared distances of the first object of each row to the second and to the third."
    return (((points[rows[:, 0]] - points[rows[:, c]]) ** 2).sum(1) for c in (1, 2))


def missed(points, rows) -> float:
    "Share of the answers that a map does not give."
    near, far = squares(points, rows)
    return float(1 - np.mean(near < far))


def theirs(path, jobs, target, repeats, seed):
    "Estimators of cblearn: the least `max_iter` that reaches the target, seconds of that fit."
    from cblearn import embedding

    warnings.simplefilter('ignore')
    data, answer = np.load(path), {}
    train, test, n = data['train'], data['test'], int(data['n'])
    for name, settings, most in jobs:

        def fit(most):
            model = getattr(embedding, name)(
                n_components=10, random_state=seed, max_iter=most, **settings
            )
            mark = time.process_time()
            model.fit(train, n_objects=n)
            took = time.process_time() - mark
            return took, missed(model.embedding_, test)

        before, low, high, least = peak_mb(), 0, None, 4
        while high is None and least <= most:
            took, error = fit(least)
            if error <= target or not repeats:
                high = least
            else:
                low, least = least, 2 * least
        while high is not None and repeats and high - low > max(1, high // 10):
            middle = (low + high) // 2
            took, error = fit(middle)
            low, high = (low, middle) if error <= target else (middle, high)
        if high is not None and repeats:
            took, error = fit(high)
        seconds = [took]
        while high is not None and len(seconds) < repeats and sum(seconds) < LONG_RUN:
            seconds.append(fit(high)[0])
        answer['cblearn ' + name] = dict(
            seconds=seconds,
            error=error,
            grown_mb=peak_mb() - before,
            peak_mb=peak_mb(),
            work=high,
            start=None,
        )
    return answer


def ours(path, jobs, target, repeats, seed):
    "Solvers of ours, stopped where they reach the target."
    from extreme_opt.core import LBFGS, SVRG, iterate, minimize
    from extreme_opt.ordinal import Comparisons, triplet_error
    from extreme_opt.ordinal.losses import LOSSES

    data, answer = np.load(path), {}
    train, test, n = data['train'], data['test'], int(data['n'])
    for name, solver, passes in jobs:
        solver = {'svrg': SVRG(), 'lbfgs': LBFGS()}[solver]
        minimize(Comparisons(train[:50], 10, LOSSES[name](), n), solver, max_iter=2)
        before = peak_mb()

        def fit(most):
            mark = time.process_time()
            minimize(
                Comparisons(train, 10, LOSSES[name](), n),
                solver,
                seed=seed,
                max_iter=most,
                loss_subset=0,
            )
            return time.process_time() - mark

        problem = Comparisons(train, 10, LOSSES[name](), n)
        for state in iterate(problem, solver, seed=seed):
            error = triplet_error(problem.unpack(state.params), test)
            if not state.n_iter:
                start = error
            elif error <= target or state.n_epochs >= passes:
                break
        seconds = [fit(state.n_iter)]
        while len(seconds) < repeats and sum(seconds) < LONG_RUN:
            seconds.append(fit(state.n_iter))
        answer[type(solver).__name__.replace('LBFGS', 'L-BFGS') + ', ' + name] = dict(
            seconds=seconds,
            error=error,
            grown_mb=peak_mb() - before,
            peak_mb=peak_mb(),
            work=state.n_epochs,
            start=start,
        )
    return answer


LOSSES = 'ste', 'gnmds', 'tste', 'soe'
# Ours share a process and so do theirs; who takes less memory comes first, so that most memory so
# far is mostly a competitor's own.
OUR_JOBS = [[loss, solver, 60] for solver in ('svrg', 'lbfgs') for loss in LOSSES]
PEER_JOBS = [
    [name, settings, 512]
    for name, settings in (('GNMDS', {}), ('SOE', dict(n_init=1)), ('STE', {}), ('TSTE', {}))
]


def questions(n_objects: int, n_terms: int, n_test: int = 10_000, seed: int = 0) -> dict:
    "Noiseless triplets, in chunks."
    from extreme_opt.core.streams import stream

    points = stream(seed, 'data').normal(size=(n_objects, 10)) / np.sqrt(20)
    rng = stream(seed, 'questions')
    parts, n_rows = [], 0
    while n_rows < n_terms + n_test:
        rows = distinct(rng.integers(n_objects, size=(200_000, 3)))
        near, far = squares(points, rows)
        parts.append(np.where((near < far)[:, None], rows, rows[:, [0, 2, 1]]).astype(np.int64))
        n_rows += len(rows)
    rows = np.concatenate(parts)[: n_terms + n_test]
    return dict(train=rows[:n_terms], test=rows[n_terms:], n=n_objects)


def ask(call: str, path: Path, jobs: list, target: float, repeats=REPEATS, seed=0) -> dict:
    """Run `ours` or `theirs` in a process of its own: name -> seconds of all repeats, error, work,
    peak_mb, and how much of it the runs took."""
    python = sys.executable if call == 'ours' else machine.peer_at('cblearn')
    told = machine.fresh(__file__, call, str(path), jobs, target, repeats, seed, python=python)
    return {name: one for name, one in told.items() if name != 'peak_mb'}


def race(folder: Path, n_objects: int, n_terms: int) -> dict[str, list[dict]]:
    "One round a seed, every other round in the opposite order: name -> what each round gave."
    found: dict = {}
    entrants = [('ours', OUR_JOBS)]
    entrants += [('theirs', PEER_JOBS)] * bool(machine.peer_python('cblearn'))
    for seed in range(SEEDS):
        path = folder / f'{n_objects} {seed}.npz'
        np.savez(path, **questions(n_objects, n_terms, seed=seed))
        for call, jobs in entrants[:: -1 if seed % 2 else 1]:
            key = f'race {n_objects} {seed} {call.replace("theirs", "cblearn")}'
            one = machine.kept(key, ask, call, path, jobs, TARGET, REPEATS, seed)
            for name, each in one.items():
                found.setdefault(name, []).append(each)
        path.unlink()
    for name, each in found.items():
        starts = [one['start'] for one in each if one['start'] is not None]
        if min(starts, default=0.5) < 0.4:
            raise RuntimeError(
                f'{name} starts at a test error of {min(starts):.2f}: its start knows the planted'
                ' points'
            )
    return found


def mean(values: list[float]) -> tuple[float, float, float]:
    "Geometric mean and its 95 % interval."
    logs = np.log(values)
    half = T95 * logs.std(ddof=1) / np.sqrt(len(logs))
    return tuple(float(np.exp(logs.mean() + shift)) for shift in (0, -half, half))


def columns(each: list[dict], base: list[dict]) -> dict:
    "What a row says of the rounds of a competitor."
    error = np.mean([one['error'] for one in each])
    starts = [one['start'] for one in each if one['start'] is not None]
    told = dict(test_error=f'{error:.3f}')
    if starts:
        told['start_error'] = f'{np.mean(starts):.2f}'
    seconds = [min(one['seconds']) for one in each]
    if max(one['error'] for one in each) > TARGET:
        met = sum(one['error'] <= TARGET for one in each)
        return dict(
            seconds='', spread='', how=f'reaches the target for {met} of {len(each)} seeds', **told
        )
    rate, low, high = mean(
        [one / min(other['seconds']) for one, other in zip(seconds, base, strict=True)]
    )
    work, least, most = mean([one['work'] for one in each])
    took, fast, slow = mean(seconds)
    return dict(
        seconds=f'{took:.4g}',
        spread=f'{machine.Timing(seconds).spread:.3f}',
        **told,
        how=(
            f'processor time, fastest of up to {REPEATS} runs, geometric mean of {len(each)} seeds,'
            ' 1 thread'
        ),
        seconds_low=f'{fast:.4g}',
        seconds_high=f'{slow:.4g}',
        work=f'{work:.0f}',
        work_low=f'{least:.0f}',
        work_high=f'{most:.0f}',
        ratio=f'{rate:.3g}',
        ratio_low=f'{low:.3g}',
        ratio_high=f'{high:.3g}',
    )


def memory(folder: Path) -> dict:
    "Most memory of a few steps at n = 10,000 with a million triplets."
    path = folder / 'memory.npz'
    np.savez(path, **questions(10_000, 1_000_000))
    found = machine.kept('race memory ours', ask, 'ours', path, [('ste', 'svrg', 6)], 0, 0)
    if machine.peer_at('cblearn'):
        found |= machine.kept('race memory STE', ask, 'theirs', path, [('STE', {}, 4)], 0, 0)
    return found


def main() -> Iterator[dict]:
    with tempfile.TemporaryDirectory() as name:
        for n, n_terms in TASKS:
            found = race(Path(name), n, n_terms)
            for method, each in found.items():
                yield machine.row(
                    method,
                    f'{n} objects, {n_terms} triplets, p=10, to test error {TARGET}',
                    peer='cblearn 0.4.0' if method.startswith('cblearn') else '',
                    **columns(each, found['SVRG, ste']),
                    peak_mb=round(max(one['peak_mb'] for one in each), 1),
                )
        for method, one in memory(Path(name)).items():
            yield machine.row(
                method,
                '10000 objects, 1000000 triplets, p=10, memory of a few steps',
                spread='',
                how='memory alone',
                peer='cblearn 0.4.0' if method.startswith('cblearn') else '',
                test_error=f'{one["error"]:.3f}',
                peak_mb=round(one['grown_mb'], 1),
            )


# ----------------------------------------------------------------------------- fits as they come
SIZES = ((20, 400), (100, 4000), (1000, 40_000), (5000, 200_000))  # objects, triplets
KINDS = ('clean', 'perceived', 'reversed')
N_TEST, BLUR, REVERSED = 40_000, 0.3, 0.1
DEFAULT_JOBS = [['default', {}], ['loss="ste"', dict(loss='ste')]]
THEIR_JOBS = {
    20: [[name, {}] for name in ('SOE', 'STE', 'TSTE', 'GNMDS', 'CKL')],
    1000: [['SOE', dict(n_init=4)], ['STE', {}], ['GNMDS', dict(max_iter=500)]],
    5000: [['SOE', dict(n_init=1)]],
}
THEIR_JOBS[100] = THEIR_JOBS[20]


def answers(n_objects: int, n_terms: int, kind: str, seed: int) -> dict:
    """Questions about a planted map, answered in one of three ways; those for the test without a
    fault."""
    from extreme_opt.core.streams import stream

    points = stream(seed, 'data').normal(size=(n_objects, 2))
    rng = stream(seed, 'questions')
    n_rows = n_terms + N_TEST
    rows = distinct(rng.integers(n_objects, size=(2 * n_rows, 3)))[:n_rows]
    near, far = map(np.sqrt, squares(points, rows))
    right = near < far
    if kind == 'perceived':
        blur = BLUR * rng.normal(size=(2, n_terms))
        right[:n_terms] = near[:n_terms] + blur[0] < far[:n_terms] + blur[1]
    elif kind == 'reversed':
        right[:n_terms] ^= rng.random(n_terms) < REVERSED
    rows = np.where(right[:, None], rows, rows[:, [0, 2, 1]])
    return dict(train=rows[:n_terms], test=rows[n_terms:], n=n_objects)


def fitted(path, jobs, seed) -> dict:
    from extreme_opt.ordinal import OrdinalEmbedding

    warnings.simplefilter('ignore')
    data, answer = np.load(path), {}
    for name, settings in jobs:
        model = OrdinalEmbedding(n_objects=int(data['n']), random_state=seed, **settings)
        model.fit(data['train'])
        told = dict(steps=int(model.n_iter_), ended=not model.run_.status.is_limit)
        answer[name] = dict(error=missed(model.embedding_, data['test']), **told)
    return answer


def their_fits(path, jobs, seed) -> dict:
    from cblearn import embedding

    warnings.simplefilter('ignore')
    data, answer = np.load(path), {}
    for name, settings in jobs:
        model = getattr(embedding, name)(n_components=2, random_state=seed, **settings)
        model.fit(data['train'], n_objects=int(data['n']))
        told = dict(steps=int(model.n_iter_), ended=bool(model.n_iter_ < model.max_iter))
        answer[f'cblearn {name}'] = dict(error=missed(model.embedding_, data['test']), **told)
    return answer


def fits(call: str, jobs: list, size: tuple[int, int], kind: str, seed: int) -> dict:
    "Fit in a process of its own: name -> error, steps, whether a stop rule ended it."
    python = sys.executable if call == 'fitted' else machine.peer_at('cblearn')
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


def ordinal_defaults() -> Iterator[dict]:
    peer = machine.peer_python('cblearn')
    for size in SIZES:
        for kind in KINDS[: 3 if size[0] <= 1000 else 2]:
            found: dict[str, list[dict]] = {}
            entrants = [('fitted', DEFAULT_JOBS, 'ours')]
            entrants += [('their_fits', THEIR_JOBS[size[0]], 'cblearn')] * bool(peer)
            for seed in range(SEEDS):
                for call, jobs, whose in entrants:
                    key = f'{size[0]} {kind} {seed} {whose}'
                    one = machine.kept(key, fits, call, jobs, size, kind, seed)
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


# ------------------------------------------------------------------------------ a million objects
SCALE = 1 if os.environ.get('FULL') == '1' else 20
N_OBJECTS = 1_000_000 // SCALE
N_TERMS = 20_000_000 // SCALE
CHUNK = 1_000_000
EPOCHS = 5


def chunk(points: np.ndarray, rng: np.random.Generator, size: int) -> np.ndarray:
    "Answers read off the planted points: (size, 3) int32."
    i, j, k = (rng.integers(len(points) - less, size=size) for less in range(3))
    j += j >= i
    low, high = np.minimum(i, j), np.maximum(i, j)
    k += k >= low
    k += k >= high
    near, far = (((points[i] - points[other]) ** 2).sum(1) for other in (j, k))
    return np.column_stack([i, np.where(near < far, j, k), np.where(near < far, k, j)]).astype(
        np.int32
    )


def million(seed: int) -> dict:
    """Seconds of a full gradient, seconds of each epoch, errors at the start and after each epoch,
    most memory."""
    from extreme_opt.core import SVRG, minimize
    from extreme_opt.core.streams import stream
    from extreme_opt.ordinal import STE, Comparisons, triplet_error

    points = (stream(seed, 'data').normal(size=(N_OBJECTS, 10)) / np.sqrt(20)).astype(np.float32)
    rows, rng = np.empty((N_TERMS, 3), np.int32), stream(seed, 'questions')
    for at in range(0, N_TERMS, CHUNK):
        rows[at : at + CHUNK] = chunk(points, rng, min(CHUNK, N_TERMS - at))
    test = chunk(points, rng, 1_000_000 // SCALE)
    del points
    problem = Comparisons(rows, 10, STE(), N_OBJECTS)
    problem.warmup_problem().loss_and_grad(problem.warmup_problem().init_params(0))
    begin = problem.init_params(seed)
    begin.flags.writeable = False
    full = machine.timed(lambda: problem.loss_and_grad(begin))
    look = {'error': lambda one, x: triplet_error(one.unpack(x), test)}
    run = minimize(problem, SVRG(), begin, seed=seed, max_iter=EPOCHS, loss_subset=0, metrics=look)
    return dict(
        full=full,
        seconds=np.diff(run.column('seconds'), prepend=0).tolist(),
        errors=[look['error'](problem, begin), *run.column('error').tolist()],
        peak_mb=machine.peak_mb(),
    )


def ordinal_million() -> list[dict]:
    found = [machine.kept(f'million {N_OBJECTS} {seed}', million, seed) for seed in range(SEEDS)]
    seconds = np.median([each['seconds'] for each in found], axis=0)
    errors = np.array([each['errors'] for each in found])
    full = float(np.median([each['full'] for each in found]))
    half = T95 * errors.std(0, ddof=1) / np.sqrt(SEEDS)
    peak = max(each['peak_mb'] for each in found)
    task = f'{N_OBJECTS} objects, {N_TERMS} triplets, p=10, STE'
    errors_of = [
        dict(test_error=f'{mean:.4f}', half_width=f'{wide:.4f}')
        for mean, wide in zip(errors.mean(0), half, strict=True)
    ]
    common = dict(peak_mb=peak, how=f'median of {SEEDS} seeds, 1 thread')
    rows = [
        machine.row('full gradient', task, f'{full:.2f}', **common),
        machine.row('start', task, **errors_of[0], **common),
    ]
    for s, (took, error) in enumerate(zip(seconds, errors_of[1:], strict=True), 1):
        rows.append(machine.row(f'epoch {s}', task, f'{took:.2f}', **error, **common))
    return rows
