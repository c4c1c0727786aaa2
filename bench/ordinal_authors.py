"""Seconds to a test error of 0.15 beside the authors' own C, one core, STE, one comparison per
inner step.

The C file is the authors' public one of the conference version
(github.com/alphaprime/Stabilized_Stochastic_BB, C/STE); it is no part of this repository. The
environment variable AUTHORS_C names a folder that holds `ste_svrg_bb_epsilon_mex_ifo_time.c`;
without it, or without a C compiler, there are no rows for it. It is compiled with -O3
-march=native, untouched but for stand-ins of the few MATLAB functions that it calls, and with
random numbers of 30 bits: its draw divides by RAND_MAX + 1, which overflows where RAND_MAX is not
the 32767 of the authors' system.

Noiseless triplets of N(0, I/20), p = 10: n = 100 with 10,000 and n = 1,000 with 200,000, as in
`ordinal_race`; both begin at the same uniform coordinates, as the authors do. Theirs is run with
epsilon = 0.025, the value of their scripts, and with 0.025 * 100 / n and a tenth of that; its clock
counts epochs without the errors in between, and so does ours. Median of five rounds in turn (three
at n = 1,000). A second task is the inner step alone.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import machine
import numpy as np
from ordinal_race import TARGET, TASKS, questions

from extreme_opt.core import SVRG, minimize
from extreme_opt.ordinal import STE, Comparisons, triplet_error

FILE, ROUNDS, EPOCHS = 'ste_svrg_bb_epsilon_mex_ifo_time.c', {100: 5, 1000: 3}, {100: 40, 1000: 14}
SHIM = '''
#include <stdlib.h>
#undef RAND_MAX
#define RAND_MAX 0x3fffffff
#define rand() ((int) (random() & RAND_MAX))
typedef struct { double *values; } mxArray;
#define mxREAL 0
static double *mxGetPr(const mxArray *a) { return a->values; }
static double mxGetScalar(const mxArray *a) { return a->values[0]; }
static mxArray *mxCreateDoubleMatrix(int m, int n, int kind)
{ mxArray *a = malloc(sizeof *a); a->values = calloc((size_t) m * n, sizeof(double)); return a; }
'''


def build(folder: Path):
    "The authors' function, compiled; None where that cannot be done."
    source, compiler = Path(os.environ.get('AUTHORS_C', '')) / FILE, shutil.which('cc')
    if not os.environ.get('AUTHORS_C') or not source.is_file() or compiler is None:
        print(
            f'AUTHORS_C names no folder with {FILE}, or there is no C compiler: no rows for the'
            ' authors'
        )
        return None
    for name in ('mex.h', 'matrix.h'):
        (folder / name).write_text('#ifndef SHIM\n#define SHIM\n' + SHIM + '#endif\n')
    subprocess.run(
        [
            compiler,
            '-O3',
            '-march=native',
            '-w',
            '-fPIC',
            '-shared',
            f'-I{folder}',
            '-o',
            folder / 'authors.so',
            source,
            '-lm',
        ],
        check=True,
    )
    return ctypes.CDLL(str(folder / 'authors.so')).mexFunction


class Array(ctypes.Structure):
    _fields_ = [('values', ctypes.POINTER(ctypes.c_double))]


def theirs(
    function, data: dict, begin: np.ndarray, epsilon: float, n_epochs: int
) -> tuple[np.ndarray, np.ndarray]:
    "Seconds of each epoch and test error after it."
    train, test, n = data['train'], data['test'], int(data['n'])
    inputs = [
        begin,
        train,
        test,
        np.ones(n),
        n,
        10,
        len(train),
        len(test),
        5e-4,
        epsilon,
        2,
        len(train),
        n_epochs,
        1,
    ]
    kept = [np.asfortranarray(np.atleast_1d(np.asarray(value, float))) for value in inputs]
    pointers = [Array(value.ctypes.data_as(ctypes.POINTER(ctypes.c_double))) for value in kept]
    given = (ctypes.POINTER(Array) * len(kept))(*[ctypes.pointer(value) for value in pointers])
    back = (ctypes.POINTER(Array) * 5)()
    function(5, back, len(kept), given)

    def row(at):
        return np.ctypeslib.as_array(back[at].contents.values, (n_epochs,)).copy()

    return row(3), row(2)


def ours(data: dict, begin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    "Seconds and test errors along a run of the automatic rule."
    problem = Comparisons(data['train'], 10, STE(), int(data['n']))
    minimize(problem.warmup_problem(), SVRG(), max_iter=1)
    run = minimize(
        problem,
        SVRG(),
        begin.ravel(),
        max_epochs=30,
        loss_subset=0,
        metrics={'error': lambda one, x: triplet_error(one.unpack(x), data['test'])},
    )
    return np.diff(run.column('seconds'), prepend=0), run.column('error')


def reached(seconds: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    "Seconds to the target and the error there; inf and the least error where it is not reached."
    hit = np.flatnonzero(errors <= TARGET)
    if not len(hit):
        return np.inf, float(errors[seconds > 0].min())
    return float(seconds[: hit[0] + 1].sum()), float(errors[hit[0]])


def race(function, n_objects: int, n_terms: int) -> dict:
    "Method -> seconds of each round and error; and seconds of an inner step."
    data, begin = questions(n_objects, n_terms), np.random.default_rng(1).random((n_objects, 10))
    settings = dict.fromkeys((0.025, 0.025 * 100 / n_objects, 0.0025 * 100 / n_objects))
    jobs = {'SVRG, automatic rule': lambda: ours(data, begin)}
    if function:
        jobs |= {
            f"authors' C, epsilon {value:g}": lambda value=value: theirs(
                function, data, begin, value, EPOCHS[n_objects]
            )
            for value in settings
        }
    found, steps = {}, {}
    for turn in range(ROUNDS[n_objects]):
        for name, job in list(jobs.items())[:: -1 if turn % 2 else 1]:
            seconds, errors = job()
            found.setdefault(name, []).append(reached(seconds, errors))
            steps.setdefault(name, []).append(statistics.median(seconds[seconds > 0]) / n_terms)
    return {
        name: (
            [took for took, _ in found[name]],
            min(error for _, error in found[name]),
            steps[name],
        )
        for name in jobs
    }


def columns(seconds: list[float]) -> dict:
    "Of seconds that may be infinite: who never gets there has none."
    if not np.isfinite(seconds).all():
        return dict(
            threads=1,
            seconds=f'{statistics.median(seconds):.4g}',
            spread='',
            how='never gets there',
        )
    return machine.Timing(seconds).columns()


def main() -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        function = build(Path(name))
        for n_objects, n_terms in TASKS:
            found = race(function, n_objects, n_terms)
            task = f'{n_objects} objects, {n_terms} triplets, p=10'
            for method, (took, error, each) in found.items():
                peer = "authors' C" if method.startswith('authors') else ''
                told = dict(peer=peer, test_error=f'{error:.3f}', **columns(took))
                rows.append(machine.row(method, f'{task}, to test error {TARGET}', **told))
                step = dict(peer=peer, **columns(each))
                rows.append(machine.row(method, f'{task}, inner step', **step))
    return rows
