"""Seconds to a test error of 0.15, one core: SVRG with the automatic stabilizer, L-BFGS on the same kernel, and cblearn 0.4.0.

Noiseless triplets of points N(0, I/20) in ten dimensions: n = 100 with 10,000 and n = 1,000 with 200,000 of them, 10,000 others for the test.
cblearn needs a numpy of its own, so it runs in the interpreter that the environment variable CBLEARN_PYTHON names; without it there are no rows
for it. It reports nothing on the way, so it is run with a doubling `max_iter`, and only the shortest fit that reaches the error counts.
Our seconds are those of `minimize`, whose clock stands while errors are taken. Each method has a process of its own in each of two rounds, the second
in the opposite order, and runs three times in it after warming up (once, if it takes over four seconds); seconds are the median of all.

A second part: most memory of a process that makes a few steps at n = 10,000 with a million triplets, less that of the imports and the data.

Long runs can be stopped and called again: with the environment variable PARTS naming a folder, what is finished is kept there and not run again.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import machine
import numpy as np

TARGET, ROUNDS, REPEATS, LONG_RUN = .15, 2, 3, 4.
TASKS = ((100, 10_000), (1000, 200_000))

PEER = '''
import json, sys, time, warnings
import numpy as np
sys.path.insert(0, sys.argv[6])
from memory import peak_mb
from cblearn import embedding
warnings.simplefilter('ignore')
data, jobs, target, repeats, long = np.load(sys.argv[1]), json.loads(sys.argv[2]), *map(float, sys.argv[3:6])
train, test, n, answer = data['train'], data['test'], int(data['n']), {}
for name, settings, iterations in jobs:
    def fit(most):
        model = getattr(embedding, name)(n_components=10, random_state=1, max_iter=most, **settings)
        mark = time.perf_counter(); model.fit(train, n_objects=n)
        return time.perf_counter() - mark, model.embedding_
    for most in iterations:
        before = peak_mb()
        took, x = fit(most)
        near, far = (((x[test[:, 0]] - x[test[:, c]])**2).sum(1) for c in (1, 2))
        grown, error = peak_mb() - before, float(1 - np.mean(near < far))
        if error <= target: break
    seconds = [fit(most)[0] for _ in range(int(repeats))] if repeats and took < long else [took]
    answer[name] = dict(seconds=seconds, error=error, grown_mb=grown, peak_mb=peak_mb(), most=most)
print(json.dumps(answer))
'''

OURS = '''
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[6])
from memory import peak_mb
from extreme_opt.core import LBFGS, SVRG, minimize
from extreme_opt.ordinal import LOSSES, Comparisons, triplet_error
data, jobs, target, repeats, long = np.load(sys.argv[1]), json.loads(sys.argv[2]), *map(float, sys.argv[3:6])
train, test, n, answer = data['train'], data['test'], int(data['n']), {}
for name, solver, passes in jobs:
    solver = {'svrg': SVRG(), 'lbfgs': LBFGS()}[solver]
    minimize(Comparisons(train[:50], 10, LOSSES[name](), n), solver, max_steps=2)
    before = peak_mb()
    problem = Comparisons(train, 10, LOSSES[name](), n)
    watch = {'error': lambda one, x: triplet_error(one.unpack(x), test)}
    seconds = []
    for _ in range(max(1, int(repeats))):
        run = minimize(problem, solver, max_passes=passes, record_on=0, watch=watch)
        errors = run.column('error')
        hit = np.flatnonzero(errors <= target)
        at = int(hit[0]) if len(hit) else len(errors) - 1
        seconds.append(run.column('seconds')[at])
    peak = peak_mb()
    answer[type(solver).__name__.replace('LBFGS', 'L-BFGS') + ', ' + name] = dict(seconds=seconds, error=float(errors[at]), grown_mb=peak - before, peak_mb=peak)
print(json.dumps(answer))
'''


def questions(n_objects: int, n_terms: int, n_test: int = 10_000) -> dict:
    "Noiseless triplets, in chunks."
    points, rng = np.random.default_rng(0).normal(size=(n_objects, 10)) / np.sqrt(20), np.random.default_rng(1)
    parts, n_rows = [], 0
    while n_rows < n_terms + n_test:
        rows = rng.integers(n_objects, size=(200_000, 3))
        rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 0] != rows[:, 2]) & (rows[:, 1] != rows[:, 2])]
        near, far = (((points[rows[:, 0]] - points[rows[:, c]])**2).sum(1) for c in (1, 2))
        parts.append(np.where((near < far)[:, None], rows, rows[:, [0, 2, 1]]).astype(np.int64))
        n_rows += len(rows)
    rows = np.concatenate(parts)[:n_terms + n_test]
    return dict(train=rows[:n_terms], test=rows[n_terms:], n=n_objects)


def kept(key: str, make: Callable):
    "What `make` gives, from the folder PARTS where it stands there already."
    if not os.environ.get('PARTS'): return make()
    path = Path(os.environ['PARTS'])/f'{key}.json'
    if path.exists(): return json.loads(path.read_text())
    value = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return value


def ask(python: str, code: str, path: Path, jobs: list, target: float, repeats: int = REPEATS) -> dict:
    "Run competitors in a process of their own: name -> seconds of all repeats, error, peak_mb, and how much of it the runs took."
    threads = {name: '1' for name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')}
    words = [str(path), json.dumps(jobs), str(target), str(repeats), str(LONG_RUN), str(Path(__file__).resolve().parent)]
    done = subprocess.run([python, '-c', code, *words], capture_output=True, text=True, env=os.environ | threads)
    if done.returncode: raise RuntimeError(done.stderr[-500:])
    return json.loads(done.stdout.splitlines()[-1])


def race(folder: Path, n_objects: int, n_terms: int) -> dict:
    "Some rounds, ours and theirs in turn: name -> seconds of all repeats, error, peak_mb."
    path, peer, best = folder/f'{n_objects}.npz', os.environ.get('CBLEARN_PYTHON'), {}
    np.savez(path, **questions(n_objects, n_terms))
    ours = [(loss, 'svrg', 60) for loss in ('ste', 'gnmds', 'tste', 'soe')] + [(loss, 'lbfgs', 80) for loss in ('ste', 'gnmds', 'tste', 'soe')]
    theirs = [(name, settings, [10, 20, 40, 80, 160]) for name, settings in (('STE', {}), ('TSTE', {}), ('GNMDS', {}), ('SOE', dict(n_init=1)))]
    for turn in range(ROUNDS):
        entrants = [(sys.executable, OURS, job, '') for job in ours] + [(peer, PEER, job, 'cblearn ') for job in theirs if peer]
        for python, code, job, mark in entrants[::-1 if turn % 2 else 1]:
            if mark and (known := best.get(f'cblearn {job[0]}')): job = (*job[:2], [known['most']])        # searched in the first round
            for name, each in kept(f'race {n_objects} {turn} {mark}{job[:2]}', lambda job=job, python=python, code=code: ask(python, code, path, [job], TARGET)).items():
                if each['error'] > TARGET: each['seconds'] = None
                if (before := best.get(mark + name)) and before['seconds'] and each['seconds']: each['seconds'] = before['seconds'] + each['seconds']
                best[mark + name] = each
    if not peer: print('CBLEARN_PYTHON names no interpreter: no rows for cblearn')
    for name, found in best.items(): print(f'n = {n_objects}: {name:18s}{median(found["seconds"] or [float("nan")]):8.4f} s   error {found["error"]:.3f}', flush=True)
    return best


def memory(folder: Path) -> dict:
    "Most memory of a few steps at n = 10,000 with a million triplets."
    path, peer = folder/'memory.npz', os.environ.get('CBLEARN_PYTHON')
    np.savez(path, **questions(10_000, 1_000_000))
    found = kept('race memory ours', lambda: ask(sys.executable, OURS, path, [('ste', 'svrg', 6)], 0, 0))
    if peer: found['cblearn STE'] = kept('race memory STE', lambda: ask(peer, PEER, path, [('STE', {}, [3])], 0, 0))['STE']
    for name, each in found.items(): print(f'n = 10000, a million triplets: {name:12s} {each["grown_mb"]:7.0f} MB', flush=True)
    return {name: each | dict(peak_mb=each['grown_mb']) for name, each in found.items()}


def main() -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        tasks = {(n, n_terms): race(Path(name), n, n_terms) for n, n_terms in TASKS} | {(10_000, 1_000_000): memory(Path(name))}
    for (n, n_terms), best in tasks.items():
        if n < 10_000 and 'cblearn STE' in best:
            theirs = [median(each['seconds']) for each_name, each in best.items() if each_name.startswith('cblearn') and each['seconds']]
            ours = median(best['SVRG, ste']['seconds'])
            print(f'n = {n}: SVRG on STE takes 1/{median(best["cblearn STE"]["seconds"] or [float("inf")]) / ours:.1f} of cblearn STE (asked: 1/6), '
                  f'1/{min(theirs, default=float("inf")) / ours:.1f} of its fastest (asked: 1/2)')
        rows += [dict(method=each_name, task=f'{n} objects, {n_terms} triplets, p=10, ' + (f'to test error {TARGET}' if n < 10_000 else 'memory of a few steps'),
                      peer='cblearn 0.4.0' if each_name.startswith('cblearn') else '',
                      **(machine.Timing(each['seconds']).columns() if each['seconds'] and n < 10_000 else dict(threads=1, seconds='', spread='', how='memory alone')),
                      quality=f'{each["error"]:.3f}', peak_mb=round(each['peak_mb'], 1), versions=machine.versions(), date=machine.today())
                 for each_name, each in best.items()]
    return rows
