"""Taggers of one's own text, one core: `LinearChainCRF` beside sklearn-crfsuite, from dictionaries
of features to tags (EXTREME_OPT_DATA).

The first 1,000 sentences of the CoNLL-2000 chunking task to train on, its 2,012 test sentences; 22
tags. A word has the features of sklearn-crfsuite's tutorial: itself, its endings, its shape, its
part of speech, and those of its neighbors. Both get the same dictionaries. CRFsuite runs with its
defaults and with the settings of that tutorial. Seconds are the processor's, of `fit` from
dictionaries on; F1 is that of whole phrases on the test sentences. sklearn-crfsuite runs in the
interpreter of bench/peers/crfsuite.txt and is left out where that is not there.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import machine

N_SENTENCES = 1000
ROWS = 'indptr', 'indices', 'starts'  # of a file with sentences
OURS = {'LinearChainCRF': {}, 'LinearChainCRF, ridge chosen': dict(ridge='auto')}
THEIRS = {'CRFsuite, defaults': {}, 'CRFsuite, tutorial': dict(c1=0.1, c2=0.1, max_iterations=100)}


def described(words):
    "The dictionaries of a sentence."

    def shape(word, part):
        return dict(
            lower=word.lower(), upper=word.isupper(), title=word.istitle(), part=part, kind=part[:2]
        )

    shapes = [shape(*row) for row in words]
    found = []
    for t, (word, _) in enumerate(words):
        one = dict(shapes[t], bias=1.0, end3=word[-3:], end2=word[-2:], digit=word.isdigit())
        for name, at in (('before', t - 1), ('after', t + 1)):
            if 0 <= at < len(words):
                one |= {f'{name} {key}': value for key, value in shapes[at].items()}
            else:
                one[f'{name} nothing'] = True
        found.append(one)
    return found


def text(part):
    "Dictionaries and tags of a part of the task; no package of ours, so that rivals can call it."
    import zipfile

    pack = Path(os.environ['EXTREME_OPT_DATA'], 'conll2000', 'conll2000.zip')
    whole = zipfile.ZipFile(pack).read(f'conll2000/{part}.txt').decode('latin-1')
    lines = [[line.split(' ') for line in some.split('\n')] for some in whole.strip().split('\n\n')]
    return [described([row[:2] for row in some]) for some in lines], [
        [row[2] for row in some] for some in lines
    ]


def phrases(tags):
    "Phrases as (sentence, kind, begin, end), by the rule of the shared task."
    found = set()
    for i, sentence in enumerate(tags):
        kind, begin = 'O', 0
        for t, tag in enumerate([*sentence, 'O']):
            place, _, what = tag.partition('-')
            if kind != 'O' and (place != 'I' or what != kind):
                found.add((i, kind, begin, t))
                kind = 'O'
            if place != 'O' and kind == 'O':
                kind, begin = what, t
    return found


def f1(guess, right) -> float:
    "Of whole phrases; tags of each sentence."
    ours, theirs = phrases(guess), phrases(right)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def measured(name):
    "One fit: seconds, F1 and words right."
    X, y = (part[:N_SENTENCES] for part in text('train'))
    X_test, y_test = text('test')
    if name in OURS:
        from extreme_opt.bound import LinearChainCRF

        model = LinearChainCRF(**OURS[name])
        LinearChainCRF(max_iter=2, tol=None).fit(X[:5], y[:5])  # compiles
    else:
        from sklearn_crfsuite import CRF

        model = CRF(algorithm='lbfgs', **THEIRS[name])
    mark = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - mark
    mark = time.process_time()
    guess = [list(tags) for tags in model.predict(X_test)]
    later = time.process_time() - mark
    words = [a == b for one, two in zip(guess, y_test) for a, b in zip(one, two)]
    return dict(
        seconds=seconds,
        predict_seconds=f'{later:.2f}',
        f1=f'{f1(guess, y_test):.4f}',
        percent_right=f'{100 * sum(words) / len(words):.2f}',
        n_iter=getattr(model, 'n_iter_', ''),
    )


def crfsuite(folder, n_iter, pairs, c2) -> dict:
    "A fit of CRFsuite, which needs nothing of ours: seconds, losses, and labels of the test words."
    import numpy as np
    import pycrfsuite  # type: ignore[import-not-found]

    found = np.load(f'{folder}/chains.npz')
    names = [str(i) for i in range(found['n_features'])]

    def sentences(part):
        indptr, indices, starts = (found[f'{part}_{key}'] for key in ROWS)
        for begin, end in zip(starts[:-1], starts[1:]):
            words = range(begin, end)
            yield [[names[i] for i in indices[indptr[t] : indptr[t + 1]]] for t in words]

    trainer = pycrfsuite.Trainer(algorithm='lbfgs', verbose=False)
    labels, starts = found['train_labels'], found['train_starts']
    for words, begin, end in zip(sentences('train'), starts[:-1], starts[1:]):
        trainer.append(words, [str(k) for k in labels[begin:end]])
    settings = dict(c1=0.0, c2=c2, max_iterations=n_iter, epsilon=1e-10, delta=1e-10)
    for kind in ('states', 'transitions'):
        settings[f'feature.possible_{kind}'] = pairs == 'all'
    trainer.set_params(settings)
    mark = time.process_time()
    trainer.train(f'{folder}/model')
    seconds = time.process_time() - mark
    tagger = pycrfsuite.Tagger()
    tagger.open(f'{folder}/model')
    guess = [int(k) for words in sentences('test') for k in tagger.tag(words)]
    known = tagger.info()
    n_weights = len(known.state_features) + len(known.transitions)
    losses = [each.get('loss') for each in trainer.logparser.iterations]
    return dict(seconds=seconds, losses=losses, n_weights=n_weights, guess=guess)


def main() -> Iterator[dict]:
    if not os.environ.get('EXTREME_OPT_DATA'):
        print('EXTREME_OPT_DATA is not set: no rows')
        return
    python = machine.peer_python('crfsuite')
    for name in [*OURS, *(THEIRS if python else ())]:
        runner = sys.executable if name in OURS else python
        told = [machine.fresh(__file__, 'measured', name, python=runner) for _ in range(2)]
        timing = machine.Timing([min(one.pop('seconds') for one in told)])
        peak = told[-1].pop('peak_mb')
        yield machine.row(
            method=name,
            task=f'all chunks: {N_SENTENCES} sentences, 20 tags',
            peer='ours' if name in OURS else 'sklearn-crfsuite',
            **told[-1],
            **timing.columns() | dict(how='processor seconds of one fit, the less of two'),
            peak_mb=round(peak, 1),
        )
