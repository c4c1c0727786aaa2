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

import json
import os
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import machine
import numpy as np
from bound_tagger import f1

from extreme_opt import data
from extreme_opt.bound import BoundClassifier
from extreme_opt.bound.structured import noun_phrases
from extreme_opt.core import LBFGS, minimize

ALL = ('tag', 'tag-1', 'tag+1', 'word', 'word-1', 'word+1', 'end')
GAP, MOST, C2 = 1e-4, 250, 1.0

PEER = """
import json, sys, time
import numpy as np, pycrfsuite

folder, n_iter, all_pairs = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'all'
found = np.load(folder + '/chains.npz')
names = [str(i) for i in range(found['n_features'])]


def sentences(part):
    indptr, indices, starts = (found[f'{part}_{name}'] for name in ('indptr', 'indices', 'starts'))
    for begin, end in zip(starts[:-1], starts[1:]):
        yield [[names[i] for i in indices[indptr[t] : indptr[t + 1]]] for t in range(begin, end)]


trainer = pycrfsuite.Trainer(algorithm='lbfgs', verbose=False)
labels, starts = found['train_labels'], found['train_starts']
for words, begin, end in zip(sentences('train'), starts[:-1], starts[1:]):
    trainer.append(words, [str(k) for k in labels[begin:end]])
trainer.set_params(
    {
        'c1': 0.0,
        'c2': float(sys.argv[4]),
        'max_iterations': n_iter,
        'epsilon': 1e-10,
        'delta': 1e-10,
        'feature.possible_states': all_pairs,
        'feature.possible_transitions': all_pairs,
    }
)
mark = time.process_time()
trainer.train(folder + '/model')
seconds = time.process_time() - mark
log = trainer.logparser
tagger = pycrfsuite.Tagger()
tagger.open(folder + '/model')
guess = [int(k) for words in sentences('test') for k in tagger.tag(words)]
known = tagger.info()
np.savez(folder + '/guess.npz', guess=guess)
n_weights = len(known.state_features) + len(known.transitions)
losses = [each.get('loss') for each in log.iterations]
peak = (
    next(
        int(line.split()[1]) / 1024
        for line in open('/proc/self/status')
        if line.startswith('VmHWM')
    )
    if sys.platform == 'linux'
    else float('nan')
)
print(json.dumps(dict(seconds=seconds, losses=losses, n_weights=n_weights, peak_mb=peak)))
"""


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


def rival(python, folder, n_iter, pairs='all'):
    "One fit of CRFsuite in its own process."
    done = subprocess.run(
        [python, '-c', PEER, str(folder), str(n_iter), pairs, str(C2)],
        capture_output=True,
        text=True,
        env=machine.pinned(1),
    )
    if done.returncode:
        raise RuntimeError(f'CRFsuite: {done.stderr[-800:]}')
    return json.loads(done.stdout.splitlines()[-1])


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
            timing = machine.Timing(seconds)
            rows.append(
                machine.row(
                    method=method,
                    task=f'{task}: {train.n_samples} sentences, {len(names)} tags',
                    peer=peer,
                    **measured,
                    **timing.columns()
                    | dict(
                        how=f'processor seconds of one fit, median of {len(seconds)}, turn by turn'
                    ),
                    peak_mb=round(peak, 1),
                )
            )

        long = minimize(train, LBFGS(), max_iter=MOST, tol=1e-9)
        losses, floor = long.column('loss'), float(min(long.column('loss')))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            np.savez(
                folder / 'chains.npz',
                n_features=train.features.shape[1],
                **{
                    f'{part}_{key}': value
                    for part, chains in (('train', train), ('test', test))
                    for key, value in dict(
                        indptr=chains.features.indptr,
                        indices=chains.features.indices,
                        starts=chains.starts,
                        labels=chains.labels,
                    ).items()
                },
            )
            n_ours = first(losses, floor)
            if python:
                theirs = rival(python, folder, MOST)
                floor = min(floor, *theirs['losses'])
                n_ours, n_theirs = first(losses, floor), first(theirs['losses'], floor) + 1
            told: dict[str, list] = dict(ours=[], all=[], seen=[])
            for turn in range(rounds):
                jobs = {'ours': lambda: machine.fresh(__file__, 'ours', task, n_ours)}
                if python:
                    jobs['all'] = lambda: rival(python, folder, n_theirs)
                    jobs['seen'] = lambda: rival(python, folder, n_theirs, 'seen')
                for key in list(jobs)[:: -1 if turn % 2 else 1]:
                    told[key].append(jobs[key]())
                    if key != 'ours':
                        told[key][-1]['guess'] = np.load(folder / 'guess.npz')['guess'].tolist()
            for method, peer, key, n in (
                ('LinearChain, L-BFGS', 'ours', 'ours', n_ours),
                ('CRFsuite', 'CRFsuite', 'all', n_theirs if python else 0),
                ('CRFsuite, seen pairs', 'CRFsuite', 'seen', n_theirs if python else 0),
            ):
                if not told[key]:
                    continue
                end = told[key][-1]
                size = end.get('n_weights', train.n_params)
                loss = losses[n] if key == 'ours' else end['losses'][-1]
                add(
                    method,
                    peer,
                    [each['seconds'] for each in told[key]],
                    dict(n_iter=n, n_weights=size)
                    | ({} if key == 'seen' else dict(gap=f'{loss / floor - 1:.1e}'))
                    | judged(np.array(end['guess']), test, names),
                    end['peak_mb'],
                )
        if len(names) == 3:
            alone = BoundClassifier(ridge=2 * C2 / len(train.labels))
            mark = time.process_time()
            alone.fit(train.features, train.labels)
            add(
                'words alone',
                'ours',
                [time.process_time() - mark],
                dict(n_iter=alone.n_iter_, n_weights=alone.coef_.size + 3)
                | judged(alone.predict(test.features), test, names),
                machine.peak_mb(),
            )
    return rows
