"""Random use of the estimators with all looked at after every step: nothing lost, nothing changed
that should not, nothing left behind. A seed gives the same steps again."""

import hashlib
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from extreme_opt.bound import BoundClassifier, LinearChainCRF
from extreme_opt.core.serialize import load_model
from extreme_opt.data.store import cached
from extreme_opt.ordinal import OrdinalEmbedding
from extreme_opt.similarity import EASE, MLP, ItemNeighbors, RP3beta, SimilarityModel
from extreme_opt.softmax import SoftmaxClassifier

STEPS = Counter()
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(60, 4)) + 3 * np.eye(3, 4)[np.arange(60) % 3]
LABELS = np.array(['ant', 'bee', 'cat'])[np.arange(60) % 3]
PAIRS = np.unique(np.column_stack([np.arange(80) % 12, np.arange(80) * 7 % 9]), axis=0)
TRIPLETS = np.array([row for row in rng.integers(8, size=(150, 3)) if len(set(row.tolist())) == 3])
WORDS = scipy.sparse.random(60, 30, 0.15, 'csr', random_state=rng)
TOPICS = np.arange(60) % 12
SETS = [[f't{i % 12}', *([f't{i % 5}'] if i % 3 and i % 12 != i % 5 else [])] for i in range(60)]
SENTENCES = [[{'word': 'abcd'[(i * j) % 4], 'at': j / 3} for j in range(i % 4)] for i in range(12)]
TAGS = [['xyz'[(i * j) % 3] for j in range(i % 4)] for i in range(12)]
SIDES = rng.normal(size=(14, 3)), scipy.sparse.csr_array(rng.random((9, 5)))  # two without a pair
PRIOR = rng.normal(size=(14, 3)), rng.normal(size=(9, 3))
DATA = {
    'support': [(WORDS, TOPICS), (WORDS[:48], TOPICS[:48]), (WORDS[::-1], TOPICS[::-1])],
    'margins': [(WORDS, TOPICS), (WORDS[:48], TOPICS[:48]), (WORDS[::-1], TOPICS[::-1])],
    'labels': [(WORDS, SETS), (WORDS[:48], SETS[:48]), (WORDS[::-1], SETS[::-1])],
    'tagger': [(SENTENCES, TAGS), (SENTENCES[:8], TAGS[:8])],
    'cold': [(PAIRS, *SIDES), (PAIRS[::-1], *SIDES)],
    'towers': [(PAIRS, *SIDES), (PAIRS[::-1], *SIDES)],
    'neighbors': [(PAIRS,), (PAIRS[::-1],), (PAIRS[:-9],)],
    'softmax': [(ROWS, LABELS), (scipy.sparse.csr_array(ROWS), LABELS), (ROWS[:30], LABELS[:30])],
    'bound': [(ROWS, LABELS), (scipy.sparse.csr_array(ROWS), LABELS), (ROWS[15:], LABELS[15:])],
    'similarity': [(PAIRS,), (PAIRS[::-1],), (PAIRS[:-9],)],
    'ordinal': [(TRIPLETS,), (TRIPLETS[::-1],), (TRIPLETS[:100],)],
}
MAKE = {
    'support': [
        lambda: SoftmaxClassifier(weights='support', max_epochs=2),
        lambda: SoftmaxClassifier('implicit', weights='support', max_epochs=1, learning_rate=1.0),
        lambda: SoftmaxClassifier(weights='support', max_epochs=2, average=True),
    ],
    'margins': [
        lambda: SoftmaxClassifier(loss='squared_hinge', max_epochs=3),
        lambda: SoftmaxClassifier(max_epochs=3),
        lambda: SoftmaxClassifier('exact', max_epochs=2),
    ],
    'labels': [
        lambda: SoftmaxClassifier(max_epochs=2),
        lambda: SoftmaxClassifier('implicit', max_epochs=1, learning_rate=1.0),
        lambda: SoftmaxClassifier(loss='squared_hinge', max_epochs=2),
    ],
    'tagger': [lambda: LinearChainCRF(max_iter=5), lambda: LinearChainCRF('bm', max_iter=2)],
    'cold': [
        lambda: SimilarityModel(2, max_iter=2, cold_start='auto'),
        lambda: SimilarityModel(2, max_iter=2, cold_start='regression'),
    ],
    'towers': [
        lambda: SimilarityModel(2, max_iter=2),
        lambda: SimilarityModel(2, left=MLP(3), biases=True, max_iter=1),
        lambda: SimilarityModel(2, prior=PRIOR, max_iter=2),
    ],
    'neighbors': [lambda: EASE(1.0), lambda: ItemNeighbors(3), lambda: RP3beta(3)],
    'softmax': [
        lambda: SoftmaxClassifier('lbfgs', max_epochs=5),
        lambda: SoftmaxClassifier('implicit', max_epochs=2, learning_rate=0.5),
        lambda: SoftmaxClassifier('umax', max_epochs=1, learning_rate=0.1, average=True),
        lambda: SoftmaxClassifier(max_epochs=2),
    ],
    'bound': [
        lambda: BoundClassifier(max_iter=4),
        lambda: BoundClassifier('lbfgs', max_iter=4),
        lambda: BoundClassifier('sbm', max_iter=1),
    ],
    'similarity': [
        lambda: SimilarityModel(2, max_iter=2),
        lambda: SimilarityModel(2, solver='newton', max_iter=1),
        lambda: SimilarityModel(2, loss='softmax', biases=True, max_iter=2),
    ],
    'ordinal': [
        lambda: OrdinalEmbedding(2, max_iter=3),
        lambda: OrdinalEmbedding(2, solver='svrg', max_iter=1),
    ],
}
KINDS = st.sampled_from(sorted(MAKE))
NUMBERS = st.integers(0, 11)


def answers(kind, model):
    "What a user sees of a fitted model, as bytes."
    if kind in ('softmax', 'bound'):
        found = [model.predict_proba(ROWS), model.coef_, model.intercept_]
    elif kind in ('similarity', 'neighbors'):
        found = [*model.recommend(np.arange(9), 3), *model.recommend(history=[[0, 1]], k=3)]
    elif kind == 'towers' and model.prior is None:
        found = [*model.recommend(features=SIDES[0][9:], k=3), model.embed_right(features=SIDES[1])]
    elif kind == 'towers':
        found = [*model.recommend(np.arange(9), 3), model.score_pairs(PAIRS)]
    elif kind == 'cold':
        found = [model.left_embeddings_, *model.recommend(features=SIDES[0][9:], k=3)]
    elif kind == 'support':
        found = [model.predict_proba(WORDS), *model.top_k(WORDS, 3), model.coef_.toarray()]
    elif kind in ('margins', 'labels'):
        found = [*model.top_k(WORDS, 3)[1:], model.decision_function(WORDS), model.coef_]
    elif kind == 'tagger':
        found = [np.vstack(model.predict_marginals(SENTENCES)), model.coef_, model.transitions_]
    else:
        found = [model.embedding_, model.decision_function(TRIPLETS)]
    for each in found:
        assert np.isfinite(np.asarray(each, dtype=float)).all(), f'{kind}: not finite'
    return b''.join(np.asarray(each, dtype=float).tobytes() for each in found)


def fingerprint():
    "Of all data that the fits are given."
    digest = hashlib.sha256()
    for sets in DATA.values():
        for given in sets:
            for each in given:
                if isinstance(each, list):
                    digest.update(repr(each).encode())
                    continue
                values = each.data if scipy.sparse.issparse(each) else each
                digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


UNTOUCHED = fingerprint()


def open_files():
    return len(os.listdir('/proc/self/fd')) if Path('/proc/self/fd').exists() else 0


class Use(RuleBasedStateMachine):
    "A user with some models, a folder, and bad luck."

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.models, self.seen, self.settings, self.files = {}, {}, {}, {}
        self.n_open = None

    def teardown(self):
        self.folder.chmod(0o700)
        shutil.rmtree(self.folder)

    def count(self, name):
        STEPS[name] += 1

    def changed(self, kind):
        "The model has learned: what it answers now is what it has to answer from here on."
        self.seen[kind] = answers(kind, self.models[kind])
        self.settings[kind] = repr(self.models[kind].get_params())

    def fitted(self, kind, which):
        if kind not in self.seen:
            self.fit(kind=kind, how=which, which=which)
        return self.models[kind]

    @rule(kind=KINDS, how=NUMBERS, which=NUMBERS)
    def fit(self, kind, how, which):
        self.count('fit')
        model = MAKE[kind][how % len(MAKE[kind])]()
        given = DATA[kind][which % len(DATA[kind])]
        self.models[kind] = model.fit(*given)
        self.changed(kind)
        if how % 3 == 0:  # the same again: the same bits
            twin = MAKE[kind][how % len(MAKE[kind])]().fit(*given)
            assert answers(kind, twin) == self.seen[kind]

    @rule(kind=KINDS, which=NUMBERS, warm=st.booleans())
    def refit(self, kind, which, warm):
        self.count('warm start' if warm else 'refit')
        model = self.fitted(kind, which)
        if hasattr(model, 'warm_start'):
            model.set_params(warm_start=warm)
        try:
            model.fit(*DATA[kind][which % len(DATA[kind])])
        except ValueError as error:  # such as other ids than those of the last fit
            assert '\n' not in str(error) and warm
            model.set_params(warm_start=False)
            self.settings[kind] = repr(model.get_params())
        else:
            self.changed(kind)

    @rule(which=NUMBERS, kind=st.sampled_from(['softmax', 'support']))
    def partial_fit(self, which, kind):
        model = self.fitted(kind, which)
        if not hasattr(model, 'partial_fit') or model.average:
            return
        self.count(f'partial_fit {kind}')
        (X, y), rows = DATA[kind][0], np.arange(which, 60, 7)
        model.partial_fit(X[rows], y[rows])
        self.changed(kind)

    @rule(kind=KINDS, name=st.sampled_from('abc'))
    def save(self, kind, name):
        self.count('save')
        path = self.folder / f'{name}.npz'
        self.fitted(kind, 0).save(path)
        self.files[path] = kind, self.seen[kind]

    @rule(number=NUMBERS)
    def load(self, number):
        if self.files:
            self.count('load')
            path = sorted(self.files)[number % len(self.files)]
            kind, seen = self.files[path]
            self.models[kind] = load_model(path)
            assert answers(kind, self.models[kind]) == seen
            self.changed(kind)

    @rule(kind=KINDS, wrong=st.sampled_from(['nan', 'short', 'text', 'none']))
    def fit_refused(self, kind, wrong):
        self.count('refused fit')
        model, (first, *rest) = self.fitted(kind, 0), DATA[kind][0]
        nan = [[{'word': np.nan}]] if kind == 'tagger' else first * np.nan
        bad = dict(nan=nan, short=first[:0], text='no', none=None)[wrong]
        try:
            model.fit(bad, *rest)
        except (ValueError, TypeError) as error:
            assert '\n' not in str(error)
        else:
            raise AssertionError(f'{kind} took {wrong}')

    @rule(kind=KINDS, wait=st.floats(1e-5, 0.05))
    def interrupted_fit(self, kind, wait):
        self.count('interrupt')
        model = self.fitted(kind, 0)
        before = dict(vars(model))
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, wait)
            model.fit(*DATA[kind][0])
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            pass  # before, in or after the run
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        if any(vars(model).get(name) is not value for name, value in before.items()):
            self.seen.pop(kind)
            self.changed(kind)

    @rule(kind=KINDS, wait=st.floats(0, 0.1))
    def killed(self, kind, wait):
        "A process dies while it fits and saves: the file is whole, a run goes on to the same end."
        self.count('kill')
        model, folder = self.fitted(kind, 0), self.folder / 'dead'
        folder.mkdir()
        path, checkpoint = folder / 'model.npz', folder / 'run.npz'
        model.save(path)
        keeps = 'checkpoint' in model.get_params() and kind not in ('ordinal', 'cold')
        whole = MAKE[kind][0]()
        child = os.fork()
        if child == 0:
            try:
                while True:
                    if keeps:
                        whole.set_params(checkpoint=checkpoint).fit(*DATA[kind][0])
                        checkpoint.unlink()
                    model.save(path)
            finally:
                os._exit(1)
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        assert answers(kind, type(model).load(path)) == self.seen[kind]
        if keeps:
            whole.set_params(checkpoint=folder / 'whole.npz').fit(*DATA[kind][0])
            again = MAKE[kind][0]().set_params(checkpoint=checkpoint).fit(*DATA[kind][0])
            assert answers(kind, again) == answers(kind, whole)
        shutil.rmtree(folder)

    @rule(size=st.integers(1, 5000))
    def one_cache(self, size):
        "Two processes build the same entry of the cache at the same time."
        self.count('one cache')
        folder = self.folder / 'cache'
        os.environ['EXTREME_OPT_CACHE'] = str(folder)
        child = os.fork()
        found = [
            cached('numbers', f'{size} {i}', lambda i=i: dict(values=np.arange(size) + i))['values']
            for i in range(3)
        ]
        right = all((values == np.arange(size) + i).all() for i, values in enumerate(found))
        if child == 0:
            os._exit(not right)
        assert right and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        del os.environ['EXTREME_OPT_CACHE']
        assert len(list(folder.iterdir())) == 3
        shutil.rmtree(folder)

    @rule(kind=KINDS)
    def no_way_to_write(self, kind):
        self.count('read-only folder')
        model = self.fitted(kind, 0)
        for place in (self.folder / 'none/model.npz', Path('/proc/none.npz')):
            try:
                model.save(place)
            except OSError as error:
                assert '\n' not in str(error)
            else:
                raise AssertionError(f'{place} was written')
        self.folder.chmod(0o500)
        try:
            if not os.access(self.folder, os.W_OK):
                try:
                    model.save(self.folder / 'new.npz')
                except OSError:
                    pass
        finally:
            self.folder.chmod(0o700)

    @rule(kind=KINDS, room=st.integers(0, 2))
    def checkpoint(self, kind, room):
        "A run that is kept, gone on with, and removed."
        if 'checkpoint' not in MAKE[kind][0]().get_params() or kind in ('ordinal', 'cold'):
            return
        self.count('checkpoint')
        path = self.folder / 'run.tmp'
        first = MAKE[kind][0]().set_params(checkpoint=path).fit(*DATA[kind][0])
        again = MAKE[kind][0]().set_params(checkpoint=path).fit(*DATA[kind][0])
        assert answers(kind, first) == answers(kind, again)
        path.unlink()

    @rule(kind=KINDS)
    def clock_set_back(self, kind):
        self.count('clock')
        plain = time.time
        time.time = lambda: plain() - 10**6
        path = self.folder / 'clock.tmp'
        try:
            model = MAKE[kind][0]().fit(*DATA[kind][0])
            model.save(path)
            os.utime(path, (2**32, 2**32))
            assert answers(kind, type(model).load(path)) == answers(kind, model)
        finally:
            time.time = plain
            path.unlink(missing_ok=True)
        assert answers(kind, model) == answers(kind, MAKE[kind][0]().fit(*DATA[kind][0]))

    @invariant()
    def nothing_else_changed(self):
        for kind, seen in self.seen.items():
            assert answers(kind, self.models[kind]) == seen, f'{kind} answers otherwise'
            assert repr(self.models[kind].get_params()) == self.settings[kind]
        assert fingerprint() == UNTOUCHED
        assert sorted(self.folder.iterdir()) == sorted(self.files)
        for path, (kind, seen) in self.files.items():
            if STEPS.total() % 5 == 0:
                assert answers(kind, load_model(path)) == seen
        if self.n_open is None:
            self.n_open = open_files()
        assert open_files() <= self.n_open + 1


def run(number, n_examples=10, n_steps=30):
    "A fixed number of steps."
    options = dict(deadline=None, database=None, derandomize=False, print_blob=True)
    options |= dict(phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck))
    chosen = settings(max_examples=n_examples, stateful_step_count=n_steps, **options)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        run_state_machine_as_test(seed(number)(Use), settings=chosen)
