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
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import machine
import numpy as np
from memory import peak_mb

LONG = True  # a quarter of an hour
TARGET, SEEDS, REPEATS, LONG_RUN = 0.15, 5, 15, 2.0
TASKS = ((100, 10_000), (1000, 200_000))
T95 = 2.776  # Student's t, four degrees of freedom, 95 % on both sides


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
            took, x = time.process_time() - mark, model.embedding_
            near, far = (((x[test[:, 0]] - x[test[:, c]]) ** 2).sum(1) for c in (1, 2))
            return took, float(1 - np.mean(near < far))

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
        rows = rng.integers(n_objects, size=(200_000, 3))
        rows = rows[
            (rows[:, 0] != rows[:, 1]) & (rows[:, 0] != rows[:, 2]) & (rows[:, 1] != rows[:, 2])
        ]
        near, far = (((points[rows[:, 0]] - points[rows[:, c]]) ** 2).sum(1) for c in (1, 2))
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
