"""Public bug reports of other projects, tried here.

`docs/public_reports.csv` has a row each, in our words, with what is right; each row names the test
that holds it, here or in another file.
"""

import ast
import csv
import functools
import gc
import io
import re
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import no_warning
from scipy import sparse

from extreme_opt import data
from extreme_opt.bound import BoundClassifier, LinearChainCRF
from extreme_opt.core.serialize import load_model
from extreme_opt.data import formats
from extreme_opt.ordinal import OrdinalEmbedding
from extreme_opt.ordinal.formats import triplets_from_odd_one_out
from extreme_opt.similarity import SimilarityModel
from extreme_opt.softmax import SoftmaxClassifier

ROOT = Path(__file__).resolve().parents[3]
with (ROOT / 'docs' / 'public_reports.csv').open(encoding='utf-8') as _file:
    ROWS = list(csv.DictReader(_file))
pytestmark = pytest.mark.filterwarnings('ignore')


@functools.cache
def names_of(path):
    "Functions of a file of tests."
    tree = ast.parse((ROOT / path).read_text(encoding='utf-8'))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@functools.cache
def run_once(name):
    globals()[name]()


@pytest.mark.parametrize('row', ROWS, ids=lambda row: re.sub(r'[^\w#]+', '_', row['reports'])[:40])
def test_report(row):
    "What a row says is so."
    path, _, name = row['test'].rpartition('::')
    if path:
        assert f'test_{name}' in names_of(path)
    else:
        run_once(name)


def test_the_table_is_whole():
    "At least a hundred reports; each is named once, and each check here serves a row."
    found = [
        f'{part.split()[0]} {number}'
        for row in ROWS
        for part in row['reports'].split('; ')
        for number in re.findall(r'#\d+', part) or [part]
    ]
    assert len(found) >= 100 and len(found) == len(set(found))
    assert {row['verdict'] for row in ROWS} <= {'held', 'mended'}
    used = {row['test'] for row in ROWS}
    helpers = {'file', 'rows', 'refused', 'names_of', 'run_once'}
    own = names_of(f'tests/library/package/{Path(__file__).name}')
    assert {name for name in own if not name.startswith('test_')} - helpers == {
        name for name in used if '::' not in name
    }


# ------------------------------------------------------------------------------- what tests need
def file(text):
    found = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    found.name = 'toy.txt'
    return found


def refused(words, call, *args, **options):
    "One line that holds these words."
    with pytest.raises((ValueError, TypeError)) as caught:
        call(*args, **options)
    text = str(caught.value)
    assert re.search(words, text)
    assert '\n' not in text or text.startswith('The feature names'), text  # scikit-learn's own


@functools.cache
def rows(n_classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    noise = rng.gumbel(size=(120, n_classes))
    return X, (X @ rng.normal(size=(3, n_classes)) * 2 + noise).argmax(1)


# ------------------------------------------------------------------------------- classifiers
def weights_scale():
    X, y = rows()
    w = np.random.default_rng(1).uniform(0.5, 2, len(y))
    one, other = (BoundClassifier(ridge=1e-3).fit(X, y, sample_weight=w * s) for s in (1, 1e-3))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


def partial_fit_sizes():
    X, y = rows()
    for size in (1, 40):
        model = SoftmaxClassifier(learning_rate=1.0)
        with no_warning():
            for k in range(0, len(y), size):
                model.partial_fit(X[k : k + size], y[k : k + size], classes=[0, 1, 2])
        assert model.score(X, y) > 0.6


def sparse_forms():
    X, y = rows()
    model = SoftmaxClassifier(random_state=0).fit(sparse.csr_array(X), y)
    right = model.predict(X)
    for form in (np.float32, np.float64):
        M = sparse.csr_array(X.astype(form))
        M.indices, M.indptr = M.indices.astype(np.int64), M.indptr.astype(np.int64)
        M.data = M.data.reshape(-1, 3)[:, ::-1].ravel().copy()
        M.indices = M.indices.reshape(-1, 3)[:, ::-1].ravel().copy()
        for part in (M.data, M.indices, M.indptr):
            part.flags.writeable = False
        before = M.indices.copy()
        assert (model.predict(M) == right).all() and (M.indices == before).all()


def nullable_labels():
    X, y = rows()
    right = BoundClassifier(ridge=1e-3).fit(X, y % 2).coef_
    for kind in ('Int64', 'Float64', 'boolean'):
        model = BoundClassifier(ridge=1e-3).fit(X, pd.Series(y % 2).astype(kind))
        np.testing.assert_array_equal(model.coef_, right)


# ------------------------------------------------------------------------------- sentences
def tags_beyond_ascii():
    rows = [[{'wort': 'Äpfel'}, {'wort': '東京'}, {'wort': 'ñu'}]] * 3
    tags = [['Früchte', '地名', 'año']] * 3
    model, file = LinearChainCRF().fit(rows, tags), io.BytesIO()
    model.save(file)
    file.seek(0)
    assert [list(found) for found in load_model(file).predict(rows)] == tags


# ------------------------------------------------------------------------------- files
def rows_without_labels():
    found = data.read_sparse(file('3 2 2\n0 0:1\n 1:1\n1 0:1\n'))
    assert [found.labels_of(i).tolist() for i in range(3)] == [[0], [], [1]]


def header_decides():
    assert data.read_sparse(file('1 5 2\n0 1:1\n')).features.toarray().tolist() == [[0, 1, 0, 0, 0]]


def narrow_file():
    assert data.read_sparse(file('1 1:7\n'), n_features=784).features.shape == (1, 784)


def arff_quoted():
    text = '@attribute a real\n@attribute c {"class A", "class B"}\n@data\n{0 .5, 1 "class B"}\n'
    assert formats.read_arff(file(text)).features.toarray().tolist() == [[0.5, 1]]


def arff_no_braces():
    refused('line 1', formats.read_arff, file('@attribute e 0,1,2\n@data\n1\n'))


def arff_quoted_blanks():
    text = "@attribute a {'  yes', 'no  ', x }\n@attribute b real\n@data\n'no  ',1\nx,1\n"
    found = formats.read_arff(file(text))
    assert found.categories == {'a': ['  yes', 'no  ', 'x']}
    assert found.features.toarray()[:, 0].tolist() == [1, 2]


def arff_one_word():
    text = '@attribute a {x}\n@attribute b real\n@data\nx,1\n'
    assert formats.read_arff(file(text)).features.toarray().tolist() == [[0, 1]]


def ragged_rows():
    refused('line 2', data.read_table, file('"n";"c";"v"\n"e";("8");39,20;29,51\n'))


def thousands():
    refused('1.299,99', data.read_table, file('v;y\n1.299,99;x\n'))
    refused("decimal=','", data.read_table, file('v;y\n1,299;x\n'))


def latin_1():
    raw = 'a,y\n1,pêche\n2,pèche\n'.encode('latin-1')
    refused('line 2 .*encoding=', data.read_table, file(raw))
    assert data.read_table(file(raw), encoding='latin-1').target == ['pêche', 'pèche']


def bom_heading():
    raw = '"Name","Team"\nx,y\n'.encode('utf-8-sig')
    assert data.read_fields(file(raw)).names == ['Name', 'Team']


def other_separator():
    assert data.read_fields(file('a|b\n1|2\n'), sep='|').rows == [['1', '2']]


# ------------------------------------------------------------------------------- lists
def nothing_new_to_judge():
    pairs = np.column_stack([np.arange(30) % 6, np.arange(30) * 7 % 5])
    refused('.', SimilarityModel(2).fit(pairs).evaluate, pairs, ('ndcg@3',))


def fits_do_not_add_up():
    "What is still held after eight fits more, their models thrown away."
    X, y = np.random.default_rng(0).normal(size=(200, 50)), np.arange(200) % 3
    pairs = np.column_stack([np.arange(300) % 40, np.arange(300) * 7 % 25])
    triplets = np.array([[i % 7, (i + 1) % 7, (i + 3) % 7] for i in range(60)])
    for fit in (
        lambda: SoftmaxClassifier('implicit', max_epochs=1, learning_rate=1.0).fit(X, y),
        lambda: BoundClassifier('lbfgs', max_iter=2).fit(X, y),
        lambda: SimilarityModel(2, max_iter=1).fit(pairs),
        lambda: OrdinalEmbedding(2, max_iter=1, n_init=1).fit(triplets),
    ):
        with warnings.catch_warnings():  # who records them holds them
            warnings.simplefilter('ignore')
            [fit() for _ in range(3)]
            gc.collect()
            tracemalloc.start()
            fit()
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(8):
                fit()
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
            tracemalloc.stop()
        assert grown < 8 * 6000, grown  # a model or its data is 80,000 bytes or more


# ------------------------------------------------------------------------------- maps
def odd_one_out():
    found = triplets_from_odd_one_out(np.array([[0, 1, 2]]), np.array([2]))
    assert sorted(map(tuple, np.asarray(found).tolist())) == [(0, 1, 2), (1, 0, 2)]
    assert triplets_from_odd_one_out([[5, 6, 7]], [0]).tolist() == [[6, 7, 5], [7, 6, 5]]
