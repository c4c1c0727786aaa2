"""Tagging with a linear-chain random field, beside CRFsuite, one core: the CoNLL-2000 chunking task
(EXTREME_OPT_DATA).

8,936 sentences to train on, 2,012 to test; features of a word are itself, its ending, its part of
speech and those of its neighbors. Two sets of tags: noun phrases alone (3 tags) and, with --full,
all chunks (22 tags). Both programs get the same features and the same penalty, CRFsuite's default
(c2=1 times the squared norm), and both run L-BFGS. CRFsuite gets a weight for every pair of feature
and tag, as ours has; `CRFsuite, seen pairs` is its default, which leaves out pairs that no training
sentence has. `words alone` is a softmax over the tags of each word, without the chain.

The smallest number of iterations whose end is within 1e-4 of the best objective known is looked up
in one long run of each; then fits of that many iterations are timed, once, with --full three rounds
for 3 tags, turn by turn. Seconds are the processor's, of the fit alone: both have their data in
memory before. F1 is that of whole phrases on the test sentences.

CRFsuite runs in the interpreter of bench/peers/crfsuite.txt and is left out where that is not
there.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import replace

import bound_tagger
import machine
import numpy as np
from bound_tagger import f1

from extreme_opt import data
from extreme_opt.bound import BoundClassifier
from extreme_opt.bound.structured import noun_phrases
from extreme_opt.core import LBFGS, minimize

ALL = ('tag', 'tag-1', 'tag+1', 'word', 'word-1', 'word+1', 'end')
GAP, MOST, C2 = 1e-4, 250, 1.0

FULL = os.environ.get('EXTREME_OPT_FULL') == '1'


def tasks():
    "Training and test chains by name, with the names of their tags."
    found = data.load('conll2000', min_count=1, dtype=np.float64)
    train, test = noun_phrases(found, kinds=ALL), noun_phrases(found, 'test', kinds=ALL)
    ridge = 2 * C2 / train.n_samples
    train, test = replace(train, ridge=ridge), replace(test, ridge=ridge)
    yield 'noun phrases', train, test, np.array(['B-NP', 'I-NP', 'O'])
    if not FULL:
        return
    names = np.asarray(found.class_names)
    labels = [np.asarray(found.labels)[np.asarray(rows)] for rows in (found.train, found.test)]
    yield (
        'all chunks',
        replace(train, labels=labels[0], n_classes=len(names)),
        replace(test, labels=labels[1], n_classes=len(names)),
        names,
    )


def judged(guess, test, names):
    "F1 of phrases and per cent of words with the right tag."
    ends = list(zip(test.starts[:-1], test.starts[1:]))
    tags = [[names[part[a:b]].tolist() for a, b in ends] for part in (guess, test.labels)]
    percent = 100 * np.mean(guess == test.labels)
    return dict(f1=f'{f1(*tags):.4f}', percent_right=f'{percent:.2f}')


def first(losses, floor):
    "The first iteration within GAP of the floor."
    there = np.flatnonzero(np.asarray(losses) <= floor * (1 + GAP))
    return int(there[0]) if len(there) else len(losses) - 1


def ours(task, n_iter):
    "One fit of ours, in a process of its own: seconds, and the labels of the test words."
    train, test = next((train, test) for name, train, test, _ in tasks() if name == task)
    minimize(train.take(slice(0, 50)), LBFGS(), max_iter=2)  # compiles
    mark = time.process_time()
    run = minimize(train, LBFGS(), max_iter=n_iter, loss_subset=0)
    seconds = time.process_time() - mark
    return dict(seconds=seconds, guess=test.predict(run.state.params).tolist())


def main() -> list[dict]:
    if not os.environ.get('EXTREME_OPT_DATA'):
        print('EXTREME_OPT_DATA is not set: no rows')
        return []
    python, rows = machine.peer_python('crfsuite'), []
    for task, train, test, names in tasks():
        rounds = 3 if FULL and len(names) == 3 else 1

        def add(method, peer, seconds, measured, peak, task=task, train=train, names=names):
            how = f'processor seconds of one fit, median of {len(seconds)}, turn by turn'
            columns = machine.Timing(seconds).columns() | dict(how=how, peak_mb=round(peak, 1))
            sizes = f'{task}: {train.n_samples} sentences, {len(names)} tags'
            rows.append(machine.row(method, sizes, peer=peer, **measured, **columns))

        long = minimize(train, LBFGS(), max_iter=MOST, tol=1e-9)
        losses, floor = long.column('loss'), float(min(long.column('loss')))
        with tempfile.TemporaryDirectory() as folder:
            parts = {'n_features': train.features.shape[1]}
            for part, chains in (('train', train), ('test', test)):
                rows_of = chains.features.indptr, chains.features.indices, chains.starts
                parts |= {f'{part}_{key}': rows for key, rows in zip(bound_tagger.ROWS, rows_of)}
                parts[f'{part}_labels'] = chains.labels
            np.savez(f'{folder}/chains.npz', **parts)
            jobs = {
                'ours': ('LinearChain, L-BFGS', lambda: machine.fresh(__file__, 'ours', task, n))
            }
            n = first(losses, floor)
            if python:

                def rival(pairs, n_iter, folder=folder):
                    given = folder, n_iter, pairs, C2
                    return machine.fresh(bound_tagger.__file__, 'crfsuite', *given, python=python)

                theirs = rival('all', MOST)['losses']
                floor = min(floor, *theirs)
                n, n_theirs = first(losses, floor), first(theirs, floor) + 1
                jobs['all'] = 'CRFsuite', lambda: rival('all', n_theirs)
                jobs['seen'] = 'CRFsuite, seen pairs', lambda: rival('seen', n_theirs)
            told: dict[str, list] = {key: [] for key in jobs}
            for turn in range(rounds):
                for key in list(jobs)[:: -1 if turn % 2 else 1]:
                    told[key].append(jobs[key][1]())
            for key, (method, _) in jobs.items():
                end, mine = told[key][-1], key == 'ours'
                loss = losses[n] if mine else end['losses'][-1]
                measured = dict(n_iter=n if mine else n_theirs)
                measured['n_weights'] = end.get('n_weights', train.n_params)
                measured |= {} if key == 'seen' else dict(gap=f'{loss / floor - 1:.1e}')
                measured |= judged(np.array(end['guess']), test, names)
                seconds = [each['seconds'] for each in told[key]]
                add(method, 'ours' if mine else 'CRFsuite', seconds, measured, end['peak_mb'])
        if len(names) == 3:
            alone = BoundClassifier(ridge=2 * C2 / len(train.labels))
            _, seconds = machine.cpu_of(alone.fit, train.features, train.labels)
            measured = dict(n_iter=alone.n_iter_, n_weights=alone.coef_.size + 3)
            measured |= judged(alone.predict(test.features), test, names)
            add('words alone', 'ours', [seconds], measured, machine.peak_mb())
    return rows
