"""Data that need no download: nothing leaks or depends on chance, the cache can be trusted."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from extreme_opt import data
from extreme_opt.data import multiclass
from extreme_opt.data.multiclass import (
    Multiclass,
    corpus,
    docstrings,
    public_modules,
    sentences,
    stratified_split,
    tf_idf,
    tokenize,
)
from extreme_opt.data.store import cached, load_arrays

# of the standard library: documented, quick to read
SMALL = ('json', 'email', 'logging', 'unittest')


def in_process(code, cache, **env):
    "Run code in a fresh interpreter with its own cache folder; returns what it printed."
    env = {**os.environ, 'EXTREME_OPT_CACHE': str(cache), 'PYTHONHASHSEED': '1', **env}
    done = subprocess.run(
        [sys.executable, '-W', 'error', '-c', code], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv('EXTREME_OPT_CACHE', str(tmp_path / 'cache'))
    return tmp_path / 'cache'


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    "The default problem, built cold in a process of its own that notes what it touches."
    cache = tmp_path_factory.mktemp('docstrings')
    code = '''
import sys

touched = []


def note(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system"):
        touched.append(event)


sys.addaudithook(note)
from extreme_opt.data import docstrings

docstrings()
print(len(touched), "matplotlib" in sys.modules)
'''
    return cache, in_process(code, cache)


@pytest.fixture
def default(built, monkeypatch):
    monkeypatch.setenv('EXTREME_OPT_CACHE', str(built[0]))
    return docstrings()


# ------------------------------------------------------------------------------- docstrings
def test_cold_build_is_quiet_and_local(built):
    # no connection, no program started, nothing else printed, no warning (-W error)
    assert built[1] == '0 True'


def test_size_of_the_default_problem(default):
    assert default.n_classes > 2000 and default.n_samples > 25_000 and default.n_features > 5000
    assert default.stats['n_sentences_shared'] > default.stats['n_sentences'] / 3
    assert default.stats['n_rows'] == default.n_samples
    left_out = [default.stats[f'n_rows_{of}'] for of in ('of_small_classes', 'without_known_word')]
    assert default.stats['n_rows_clean'] - sum(left_out) == default.n_samples


def test_features_are_weighted_by_training_rows_alone(default):
    X = default.features
    assert X.dtype == np.float32 and X.indices.dtype == np.int32 and X.indptr.dtype == np.int32
    assert X.has_canonical_format
    seen = np.bincount(default.train_features.indices, minlength=default.n_features)
    assert seen.min() >= 2
    # 6 rows without known word were counted too
    np.testing.assert_allclose(
        default.idf, 1 + np.log((1 + len(default.train)) / (1 + seen)), atol=0.01
    )


def test_one_class_per_docstring(default):
    names = corpus().names.tolist()
    assert len(set(names)) == len(names)
    assert 'numpy.arccos' in names and 'numpy.acos' not in names  # alias of the same ufunc
    assert 'scipy.linalg.solve' in names and 'scipy.linalg.basic.solve' not in names
    inherited = [name for name in names if name.endswith('.get_params')]
    assert len(inherited) < 10, inherited  # a hundred estimators inherit it
    assert not any('._' in name or '.tests.' in name or '.backends.' in name for name in names)


@pytest.mark.slow
def test_two_cold_builds_agree(built, tmp_path):
    "Another process, with another hash seed and with other modules loaded before."
    code = '''
import matplotlib, numpy.ma
matplotlib.use("agg")
import matplotlib.pyplot as plt
plt.plot([1])
from extreme_opt.data import docstrings
docstrings()
'''
    in_process(code, tmp_path, PYTHONHASHSEED='2')
    for kind in ('corpus', 'docstrings'):
        one, other = (next(at.glob(f'{kind}-*.npz')) for at in (built[0], tmp_path))
        np.testing.assert_equal(load_arrays(one), load_arrays(other))


HARM = [  # a file that is cut, changed, empty, something else, or a folder
    lambda content: content[: len(content) // 2],
    lambda content: content[:500] + bytes(b ^ 255 for b in content[500:900]) + content[900:],
    lambda content: b'',
    lambda content: b'not an archive',
    None,
]


def test_cached_load_imports_no_documented_package(built):
    code = '''
import sys
from extreme_opt.data import docstrings

problem = docstrings()
print(
    problem.n_classes > 2000,
    [
        name
        for name in ("matplotlib", "sklearn", "pandas", "scipy.stats", "pooch", "pkg_resources")
        if name in sys.modules
    ],
)
'''
    assert in_process(code, built[0]) == 'True []'


# ------------------------------------------------------------------------------- cache
def same(a, b):
    names = 'labels class_names feature_names texts train test idf'.split()
    one, two = ([m.features.toarray(), *(getattr(m, name) for name in names)] for m in (a, b))
    return all(map(np.array_equal, one, two)) and a.stats == b.stats


def test_cache_gives_back_what_was_built(cache, monkeypatch):
    first = docstrings(SMALL)
    monkeypatch.setattr(multiclass, '_crawl', None)  # a second build would fail
    second = docstrings(SMALL)
    assert same(first, second) and second.texts.dtype == first.texts.dtype
    assert first.n_classes > 20 and len(list(cache.glob('docstrings-*.npz'))) == 1


@pytest.mark.parametrize('harm', HARM)
def test_a_damaged_cache_is_built_again(cache, harm):
    def found():
        return cached('toy', 'key', lambda: dict(a=np.arange(999)))['a'].tolist()

    first, path = found(), next(cache.glob('toy-*.npz'))
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(harm(content)) if harm else path.mkdir()
    assert first == found() == found() and [*cache.iterdir()] == [path]  # no partial files left


def test_versions_and_options_are_in_the_key(cache, monkeypatch):
    docstrings(SMALL)
    docstrings(SMALL, seed=1)
    assert len(list(cache.glob('docstrings-*.npz'))) == 2
    assert len(list(cache.glob('corpus-*.npz'))) == 1
    numpy_only = multiclass._key(multiclass._installed(('numpy',)))
    assert np.__version__ in numpy_only
    monkeypatch.setattr(multiclass.metadata, 'version', lambda name: '99.0')
    assert multiclass._key(multiclass._installed(('numpy',))) != numpy_only
    monkeypatch.setattr(multiclass.sys, 'version_info', (3, 99, 0))
    docstrings(SMALL)
    assert len(list(cache.glob('corpus-*.npz'))) == 2


# ------------------------------------------------------------------------------- options
def test_options(cache):
    full = docstrings(SMALL, min_sentences=1)
    few = docstrings(SMALL, max_classes=7, max_features=50, dtype=np.float64)
    assert few.n_classes == 7 and few.n_features <= 50 and few.features.dtype == np.float64
    sizes = dict(zip(full.class_names.tolist(), np.bincount(full.labels).tolist()))
    assert min(sizes[name] for name in few.class_names) >= sorted(sizes.values())[-8]
    # a row of rare words may be lost
    assert np.bincount(docstrings(SMALL, min_sentences=8).labels).min() >= 6
    none, half = docstrings(SMALL, test_size=0.0), docstrings(SMALL, test_size=0.5)
    assert len(none.test) == 0 and 0.35 < len(half.test) / half.n_samples < 0.6
    other = docstrings(SMALL, seed=5)
    assert set(other.texts[other.test].tolist()) != set(
        docstrings(SMALL).texts[docstrings(SMALL).test].tolist()
    )


def test_a_text_stays_on_its_side_when_classes_change(cache):
    full, few = docstrings(SMALL), docstrings(SMALL, max_classes=30)
    held = set(full.texts[full.test].tolist())
    assert len(few.test) > 10 and set(few.texts[few.test].tolist()) <= held


def test_a_missing_package_is_one_clear_line(cache):
    with pytest.raises(ImportError, match="'no_such_package_here' is not installed") as error:
        docstrings(('json', 'no_such_package_here'))
    assert '\n' not in str(error.value)


def test_default_packages_are_those_installed(monkeypatch):
    find = multiclass.importlib.util.find_spec
    some = lambda name: None if name in ('matplotlib', 'sklearn') else find(name)  # noqa: E731
    monkeypatch.setattr(multiclass.importlib.util, 'find_spec', some)
    assert list(multiclass._installed(None)) == ['numpy', 'scipy']


# ------------------------------------------------------------------- a package made for the purpose
PACKAGE = {
    '__init__.py': '''
        """A toy."""
        print("hello from the toy")
        import warnings; warnings.warn("the toy is old", DeprecationWarning)
        from . import lazy
        from toy_documented.solvers import solve, solve as old_solve, Base, Child
        from os.path import join
        __all__ = ["solve", "old_solve", "Base", "Child", "join", "constant"]
        constant = 3
        ''',
    'solvers.py': '''
        def solve(a):
            """Solve one equation quickly. Shared sentence of both friends.

            Parameters
            ----------
            a : float, any number
                The number at 0x7f3a22b1c0d0 to divide.

            See Also
            --------
            Base.fit, toy_documented.others.helper : Not for the words.
            nowhere.to_be_found : Neither.
            """
        class Base:
            """A base with methods inside."""
            def fit(self):
                """Fit the base to data. Shared sentence of both friends."""
            @property
            def size(self):
                """Size of the whole base."""
            def _hidden(self):
                """Hidden things never show up."""
        class Child(Base):
            """A child that inherits everything."""
            def fit(self): return 1
        ''',
    'others.py': '''
        from toy_documented.solvers import solve
        def helper():
            """Help with the other things.

            .. math:: nothing to see
               in this formula at all

            Examples
            --------
            First print a number.

            >>> print("code is never read")
            code is never read
            """
        def _private():
            """Private words never show up."""
        ''',
    'lazy.py': 'def __getattr__(name):\n    raise ImportError("install it")\n',
    'broken.py': 'raise RuntimeError("this module never imports")\n',
    'leaves.py': 'import sys; sys.exit(3)\n',
    'tests.py': 'def check():\n    "Test words never show up."\n',
}


@pytest.fixture
def toy(cache, tmp_path, monkeypatch):
    import textwrap

    folder = tmp_path / 'path' / 'toy_documented'
    folder.mkdir(parents=True)
    for name, code in PACKAGE.items():
        (folder / name).write_text(textwrap.dedent(code).lstrip('\n'))
    monkeypatch.syspath_prepend(str(tmp_path / 'path'))
    yield corpus(('toy_documented',))
    for name in [name for name in sys.modules if name.startswith('toy_documented')]:
        del sys.modules[name]


def test_what_is_read_from_a_package(toy, capsys, recwarn):
    names = ['Base', 'Base.fit', 'Base.size', 'Child', 'others.helper', 'solve']
    assert toy.names.tolist() == [f'toy_documented.{name}' for name in names]
    texts = {}
    for text, owner in zip(toy.texts.tolist(), toy.owners.tolist()):
        texts.setdefault(toy.names[owner], []).append(text)
    assert texts['toy_documented.solve'] == [
        'Solve one equation quickly.',
        'Shared sentence of both friends.',
        'a : float, any number',
        'The number at to divide.',
    ]
    told = ['Help with the other things.', 'First print a number.']
    assert texts['toy_documented.others.helper'] == told
    links = {tuple(toy.names[list(link)]) for link in toy.links}
    assert links == {
        ('toy_documented.solve', 'toy_documented.Base.fit'),
        ('toy_documented.solve', 'toy_documented.others.helper'),
    }
    assert capsys.readouterr() == ('', '')
    assert not [w for w in recwarn if 'the toy' in str(w.message)]


def test_shared_sentence_of_the_toy(toy):
    clean = docstrings(('toy_documented',), min_sentences=1, test_size=0.0)
    assert 'Shared sentence of both friends.' not in clean.texts.tolist()
    assert clean.stats['n_sentences_shared'] == 2
    assert 'toy_documented.Base' in clean.class_names  # of one sentence
    both = docstrings(('toy_documented',), min_sentences=1, test_size=0.0, keep_shared=True)
    assert both.texts.tolist().count('Shared sentence of both friends.') == 2


def test_modules_that_do_not_import_are_passed_over(toy):
    names = [
        'toy_documented',
        *(f'toy_documented.{name}' for name in ('lazy', 'others', 'solvers')),
    ]
    assert [module.__name__ for module in public_modules('toy_documented')] == names


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=' \n\t.:-=>`*abcA0(é', max_size=300))
def test_any_text_has_sentences_of_words(text):
    for sentence in sentences(text):
        assert len(tokenize(sentence)) >= 3 and '\n' not in sentence and '`' not in sentence


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from(['a1', 'b1', 'c1', 'zz']), max_size=6), max_size=8))
def test_tf_idf_against_a_dense_loop(rows):
    names, idf = np.array(['a1', 'b1', 'c1']), np.array([1.0, 2.0, 3.5])
    dense = (
        np.array([[row.count(name) for name in names] for row in rows], float).reshape(-1, 3) * idf
    )
    norms = np.linalg.norm(dense, axis=1, keepdims=True)
    X = tf_idf(rows, names, idf, np.float64)
    assert X.shape == dense.shape
    np.testing.assert_allclose(X.toarray(), dense / np.where(norms > 0, norms, 1), atol=1e-12)


# ----------------------------------------------------------------- roads, flowers, made-up problems
@pytest.mark.skipif('EXTREME_OPT_DATA' not in os.environ, reason='EXTREME_OPT_DATA is not set')
def test_roads_against_the_original_table():
    with open(
        Path(os.environ['EXTREME_OPT_DATA']) / 'eurodist' / 'eurodist.csv', newline=''
    ) as file:
        head, *rows = csv.reader(file)
    distances, names = data.eurodist()
    assert head[1:] == names.tolist() == [row[0] for row in rows]
    assert np.array_equal(np.array([row[1:] for row in rows], float), distances)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.floats(0, 1), st.integers(0, 9))
@settings(max_examples=100, deadline=None)
def test_stratified_split(labels, share, seed):
    labels = np.array(labels)
    train, test = stratified_split(labels, share * 0.99, seed)
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(labels)))
    assert set(labels[train].tolist()) == set(labels.tolist())
    assert (
        np.bincount(labels[test], minlength=6) <= share * np.bincount(labels, minlength=6)
    ).all()


def test_planted_triplets_reach_every_object_alike():
    problem, _ = data.planted_triplets(8, 2, 40_000, noise=0.0)
    asked = np.zeros((8, 8, 8), int)
    np.add.at(asked, tuple(problem.triplets.T), 1)
    both = asked + asked.transpose(0, 2, 1)  # each question, however answered
    counts = both[
        tuple(
            np.array(
                [(i, j, k) for i in range(8) for j in range(8) for k in range(j) if i not in (j, k)]
            ).T
        )
    ]
    assert len(counts) == 168 and counts.sum() == 40_000 and counts.min() > 0.7 * counts.mean()
    assert counts.max() < 1.3 * counts.mean()


# ------------------------------------------------------------------------------- wrong input
@pytest.mark.parametrize(
    'kind, ids, features, line',
    [
        (Multiclass, [0, 1], [np.eye(3)], 'labels has 2 entries, but features has 3 rows'),
        (Multiclass, [0, -1], [np.eye(2)], r'labels\[1\] is -1'),
        (data.Pairs, [[0, 0], [3, 0]], [np.eye(3), np.eye(2)], r'observed\[1, 0\] is 3'),
        (data.Triplets, [[0, 1, 2], [0, 1, -1]], [], r'triplets\[1\] is \(0, 1, -1\)'),
    ],
)
def test_wrong_input_is_one_clear_line(kind, ids, features, line):
    given = [*features, np.array(ids)] if kind is Multiclass else [np.array(ids), *features]
    refuses(line, kind, *given)


@pytest.mark.parametrize(
    'options, line',
    [
        (dict(max_classes=0), 'max_classes=0, but a number from 2 up'),
        (dict(max_features=-1), 'max_features=-1'),
        (dict(min_sentences=0), 'min_sentences=0'),
        (dict(test_size=1.0), r'test_size=1.0 is outside \[0, 1\)'),
        (dict(test_size=float('nan')), 'test_size=nan'),
        (dict(dtype=np.int32), "dtype='int32', but"),
        (dict(packages=()), 'packages names none'),
    ],
)
def test_options_without_sense_are_one_line(cache, options, line):
    refuses(line, docstrings, **{'packages': SMALL} | options)
    assert not list(cache.glob('*.npz'))


def test_one_package_may_be_named_alone(cache):
    "A bare name is one package, not a list of letters."
    assert (
        docstrings('json').class_names.tolist() == docstrings(['json']).class_names.tolist() != []
    )


@pytest.mark.parametrize('dtype', [np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_pairs_of_ids_alone(dtype):
    "Without features and names the largest id tells the size; unsigned ids count like any others."
    pairs = data.Pairs(np.array([[0, 2], [3, 0]], dtype), None, None)
    assert (pairs.n_left, pairs.n_right) == (4, 3)
    assert pairs.observed.dtype == np.int64 and pairs.observed.tolist() == [[0, 2], [3, 0]]
    with pytest.raises(ValueError, match=r'observed\[1, 0\] is 3, but there are 2 left rows'):
        data.Pairs(np.array([[0, 2], [3, 0]], dtype), np.eye(2), None)


def test_pairs_without_pairs_and_with_text():
    assert data.Pairs(np.empty((0, 2), int), None, None).n_right == 0
    assert data.Pairs([[1, 0]], None, None).train_observed.tolist() == [[1, 0]]
    refuses('number each column', data.Pairs, [['u1', 'i1']], None, None)
