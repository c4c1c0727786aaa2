"""Linear-chain random fields on CoNLL-2000 (EXTREME_OPT_DATA), one core:

- forward and backward over 500 sentences, compiled against the same two sweeps as a NumPy loop over
  words, for 3 and for 22 tags;
- training on noun phrases with L-BFGS, all 8,936 sentences, words, endings and parts of speech as
  features; F1 of whole phrases on the 2,012 test sentences;
- the bound against L-BFGS on 100 sentences with parts of speech alone: seconds to 1e-6 of the
  optimum.

Without the data, planted chains stand in and the task says so.
"""

from __future__ import annotations

import os
import time
from functools import partial

import machine
import numpy as np
from bound_tagging import judged

from extreme_opt import data
from extreme_opt.bound.structured import forward_backward, noun_phrases, planted_chain
from extreme_opt.core import LBFGS, Majorizer, minimize
from extreme_opt.core.linalg import log_sum_exp

ALL = ('tag', 'tag-1', 'tag+1', 'word', 'word-1', 'word+1', 'end')


def numpy_loop(scores, transitions, starts):
    "Forward and backward with NumPy, one word at a time."
    total = 0.0
    for start, stop in zip(starts[:-1], starts[1:], strict=True):
        front, back = [scores[start]], [np.zeros(len(transitions))]
        for t in range(start + 1, stop):
            front.append(scores[t] + log_sum_exp(front[-1][:, None] + transitions, axis=0))
        for t in range(stop - 1, start, -1):
            back.append(log_sum_exp(transitions + (scores[t] + back[-1])[None], axis=1))
        log_norm = log_sum_exp(front[-1])
        np.exp(np.array(front) + np.array(back[::-1]) - log_norm)
        for t in range(start + 1, stop):
            np.exp(
                front[t - start - 1][:, None]
                + transitions
                + (scores[t] + back[stop - 1 - t])[None]
                - log_norm
            )
        total += log_norm
    return total


def main() -> list[dict]:
    at_hand = bool(os.environ.get('EXTREME_OPT_DATA'))
    found = data.load('conll2000', min_count=1, dtype=np.float64) if at_hand else None
    train = (
        noun_phrases(found, kinds=ALL)
        if at_hand
        else planted_chain(2000, n_features=30, ridge=1e-3)
    )
    test = (
        noun_phrases(found, 'test', kinds=ALL)
        if at_hand
        else planted_chain(300, n_features=30, ridge=1e-3)
    )
    small = (
        noun_phrases(found, n_chains=100, ridge=1e-2)
        if at_hand
        else planted_chain(100, n_features=20)
    )
    name = 'CoNLL-2000' if at_hand else 'planted chains'
    rows = []

    def add(method, task, peer, timing, **measured):
        rows.append(
            machine.row(
                method=method, task=f'{name}: {task}', peer=peer, **measured, seconds=timing
            )
        )

    starts = train.starts[:501]
    rng = np.random.default_rng(0)
    for n_classes in (3, 22):
        scores = rng.normal(size=(starts[-1], n_classes))
        transitions = rng.normal(size=(n_classes, n_classes))
        jobs = {
            'compiled': partial(forward_backward, scores, transitions, starts),
            'numpy': partial(numpy_loop, scores, transitions, starts),
        }
        assert np.isclose(
            forward_backward(scores, transitions, starts).log_norms.sum(),
            numpy_loop(scores, transitions, starts),
        )
        timings = machine.race(jobs, 5)
        times = machine.ratio(timings['numpy'].seconds, timings['compiled'].seconds)
        for key, measured in (('numpy', {}), ('compiled', dict(times_faster=f'{times:.0f}'))):
            add(
                f'forward and backward, {n_classes} tags',
                f'{starts[-1]} words',
                key,
                timings[key],
                **measured,
            )

    best = minimize(small, LBFGS(), tol=1e-10, max_iter=500)
    floor = best.column('loss')[-1]
    for label, solver in (('bound', Majorizer(relaxation=1.9)), ('L-BFGS', LBFGS())):
        run = minimize(small, solver, max_iter=500, tol=1e-7)
        there = np.flatnonzero(run.column('loss') - floor <= 1e-6 * abs(floor))
        step = run.history[there[0]] if len(there) else run.history[-1]
        add(
            '100 sentences to 1e-6 of the optimum',
            f'{small.n_params} weights',
            label,
            machine.Timing([step['seconds']]),
            n_steps=step['step'],
        )

    mark = time.perf_counter()
    run = minimize(train, LBFGS(), max_iter=100, record_every=100)
    seconds = time.perf_counter() - mark
    score = judged(test.predict(run.state.params), test, np.array(['B-NP', 'I-NP', 'O']))
    add(
        f'{train.n_samples} sentences, 100 steps',
        f'{train.n_params} weights',
        'L-BFGS',
        machine.Timing([seconds]),
        **score,
    )
    return rows
