"""Public bug reports of other projects, tried here.

`docs/public_reports.csv` has a row each, in our words, with what is right; each row names the test
that holds it, here or in another file.
"""

import ast
import copy
import csv
import functools
import gc
import io
import pickle
import re
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from extreme_opt import data
from extreme_opt.bound import BoundClassifier, LinearChain, LinearChainCRF
from extreme_opt.bound.structured import best_labels, forward_backward
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
    helpers = {'file', 'rows', 'log', 'refused', 'hits', 'maps', 'names_of', 'run_once'}
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


@functools.cache
def log():
    rng = np.random.default_rng(0)
    pairs = [
        (f'u{u:02d}', f'i{i:02d}')
        for u in range(20)
        for i in rng.choice(np.arange(u % 2, 24, 2), 6, replace=False)
    ]
    return pd.DataFrame(pairs, columns=['user', 'item'])


# ------------------------------------------------------------------------------- classifiers
def weights_scale():
    X, y = rows()
    w = np.random.default_rng(1).uniform(0.5, 2, len(y))
    one, other = (BoundClassifier(ridge=1e-3).fit(X, y, sample_weight=w * s) for s in (1, 1e-3))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


def weights_repeat():
    X, y = rows()
    times = np.random.default_rng(2).integers(0, 4, len(y))
    for balance in (None, 'balanced'):
        model = BoundClassifier(ridge=1e-3, class_weight=balance, tol=1e-10)
        one = copy.deepcopy(model).fit(X, y, sample_weight=times)
        other = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)


def balanced_weights():
    X, y = rows()
    one = BoundClassifier(ridge=1e-2, class_weight='balanced', tol=1e-10).fit(X, y)
    other = LogisticRegression(C=1 / (1e-2 * len(y)), class_weight='balanced', tol=1e-10)
    got, want = (m.fit(X, y).predict_proba(X) for m in (one, other))
    np.testing.assert_allclose(got, want, atol=1e-4)


def class_weight_absent():
    X, y = rows()
    weights = {0: 1, 1: 2, 2: 3}
    for estimator in (BoundClassifier, SoftmaxClassifier):
        model = estimator(class_weight=weights).fit(X[y < 2], y[y < 2])
        assert model.classes_.tolist() == [0, 1]


def warm_start_classes():
    X, y = rows()
    for estimator in (BoundClassifier, SoftmaxClassifier):
        model = estimator(warm_start=True).fit(X, y)
        refused('class', model.fit, X[y < 2], y[y < 2])


def partial_fit_sizes():
    X, y = rows()
    for size in (1, 40):
        model = SoftmaxClassifier(learning_rate=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            for k in range(0, len(y), size):
                model.partial_fit(X[k : k + size], y[k : k + size], classes=[0, 1, 2])
        assert model.score(X, y) > 0.6


def partial_fit_classes():
    X, y = rows()
    model = SoftmaxClassifier().partial_fit(X[y < 2][:9], y[y < 2][:9], classes=[0, 1, 2])
    assert model.predict_proba(X[:1]).shape == (1, 3)
    refused('not among', model.partial_fit, X[:1], [7])


def huge_scores():
    X, y = rows()
    model = BoundClassifier(ridge=1e-3).fit(X, y)
    right = model.predict_proba(X)
    model.intercept_ = model.intercept_ + 1e12
    np.testing.assert_allclose(model.predict_proba(X), right, atol=1e-3)
    model.intercept_ = model.intercept_ + 1e17
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)


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


def edited_intercept():
    X, y = rows()
    for estimator in (BoundClassifier, SoftmaxClassifier):
        model = estimator().fit(X, y)
        model.intercept_ = model.intercept_ + np.array([9, 0, 0], model.intercept_.dtype)
        again = pickle.loads(pickle.dumps(model))
        assert (again.predict_proba(X) == model.predict_proba(X)).all()


def nan_labels():
    X, y = rows()
    for bad in (np.where(y == 1, np.nan, y), pd.Series(y).astype('Int64').where(y != 1)):
        refused(r'y\[\d+\]|row \d+|missing', BoundClassifier().fit, X, bad)


def n_jobs():
    X, y = rows()
    for jobs in (None, -1):
        BoundClassifier(n_jobs=jobs).fit(X, y)
        SoftmaxClassifier(n_jobs=jobs, max_epochs=2).fit(X, y)


def checkpoint_of_other_rows():
    import tempfile

    X, y = rows()
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/run.npz'
        SoftmaxClassifier(checkpoint=path, max_epochs=2).fit(X[:60], y[:60])
        refused('data|rows|other', SoftmaxClassifier(checkpoint=path, max_epochs=2).fit, X, y)


def one_class():
    X, _ = rows()
    model = BoundClassifier()
    try:
        model.fit(X, np.zeros(len(X), int))
    except ValueError as error:
        assert 'class' in str(error)
    else:
        assert (model.predict(X) == 0).all()


def nullable_labels():
    X, y = rows()
    right = BoundClassifier(ridge=1e-3).fit(X, y % 2).coef_
    for kind in ('Int64', 'Float64', 'boolean'):
        model = BoundClassifier(ridge=1e-3).fit(X, pd.Series(y % 2).astype(kind))
        np.testing.assert_array_equal(model.coef_, right)


def continuous_labels():
    X, y = rows()
    refused('label|continuous|class', BoundClassifier().fit, X, y + 0.5 * X[:, 0])


def warm_start_exact():
    X, y = rows()
    model = BoundClassifier(ridge=1e-2, warm_start=True, max_iter=1).fit(X, y)
    model.set_params(max_iter=100).fit(X, y)
    right = LogisticRegression(C=1 / (len(y) * 1e-2), tol=1e-9, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), right.predict_proba(X), atol=1e-4)


def foreign_model():
    import tempfile

    X, y = rows()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'model.eo'
        BoundClassifier().fit(X, y).save(path)
        found = path if path.exists() else next(Path(folder).iterdir())
        raw = found.read_bytes()
        for k, bad in enumerate((raw[:-40], b'no model at all', b'')):
            other = Path(folder) / f'bad{k}{found.suffix}'
            other.write_bytes(bad)
            refused('.', load_model, other)


def names_after_loading():
    import tempfile

    X, y = rows()
    table = pd.DataFrame(X, columns=['low', 'high', 'age'])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'model'
        BoundClassifier().fit(table, y).save(path)
        model = load_model(path if path.exists() else next(Path(folder).iterdir()))
    assert model.feature_names_in_.tolist() == ['low', 'high', 'age']
    refused('feature names', model.predict, table[['high', 'low', 'age']])


def column_permutation():
    X, y = rows()
    one, other = (BoundClassifier(ridge=1e-2).fit(x, y) for x in (X, X[:, ::-1]))
    np.testing.assert_allclose(one.coef_, other.coef_[:, ::-1], atol=1e-5)


# ------------------------------------------------------------------------------- sentences
def odd_chains():
    scores, T = np.zeros((12, 3)), np.zeros((3, 3))
    for call in (best_labels, forward_backward):
        refused('starts|lengths', call, scores, T, [5, 4, 3])
        refused('starts', call, scores, T, [0, 4])
        refused('shape|transitions', call, scores, np.zeros((2, 2)), [0, 12])


def empty_sentence():
    scores = np.eye(3)[[0, 2, 1, 1]] * 5
    assert best_labels(scores, np.zeros((3, 3)), [0, 1, 1, 4]).tolist() == [0, 2, 1, 1]
    assert len(best_labels(np.zeros((0, 3)), np.zeros((3, 3)))) == 0


def params_of_other_sizes():
    X, y = rows()
    chain = LinearChain(X, y, np.arange(0, 121, 10), ridge=1e-2)
    params = chain.init_params(0)
    few = LinearChain(X, y % 2, np.arange(0, 121, 10), ridge=1e-2)
    refused('params', few.predict, params)
    assert len(LinearChain(X, y % 2, [0, 120], 3, ridge=1e-2).predict(params)) == 120


def tags_beyond_ascii():
    rows = [[{'wort': 'Äpfel'}, {'wort': '東京'}, {'wort': 'ñu'}]] * 3
    tags = [['Früchte', '地名', 'año']] * 3
    model = LinearChainCRF().fit(rows, tags)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    assert [list(found) for found in load_model(file).predict(rows)] == tags


def nan_in_a_chain():
    X, y = rows()
    bad = X.copy()
    bad[7, 1] = np.nan
    refused('7', LinearChain, bad, y, [0, 120])


def dictionaries():
    from sklearn.feature_extraction import DictVectorizer

    words = [{'word': w, 'upper': w.isupper(), 'length': len(w)} for w in ('a', 'NASA', 'b', 'x')]
    X = DictVectorizer().fit_transform(words)
    assert LinearChain(X, [0, 1, 0, 0], [0, 2, 4], ridge=1e-2).n_terms > 0


def conll_2003():
    text = '-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\n'
    assert data.read_conll(file(text)).tags == [['B-ORG', 'O'], ['B-PER']]


def text_tags():
    sentences = [[dict(word=w) for w in one] for one in (['a', 'b'], ['b'], ['a', 'a', 'b'])] * 4
    tags = [['ADJ' if w['word'] == 'a' else 'B' for w in one] for one in sentences]
    assert LinearChainCRF(ridge=1e-3).fit(sentences, tags).predict(sentences) == tags


def one_tag():
    X, _ = rows()
    chain = LinearChain(X, np.zeros(120, int), [0, 60, 120], 2, ridge=1e-2)
    assert np.isfinite(chain.loss(chain.init_params(0)))


# ------------------------------------------------------------------------------- files
def rows_without_labels():
    found = data.read_sparse(file('3 2 2\n0 0:1\n 1:1\n1 0:1\n'))
    assert [found.labels_of(i).tolist() for i in range(3)] == [[0], [], [1]]


def header_decides():
    assert data.read_sparse(file('1 5 2\n0 1:1\n')).features.toarray().tolist() == [[0, 1, 0, 0, 0]]


def zero_based():
    refused('first_index=0', data.read_sparse, file('1 0:1 2:3\n'))
    found = data.read_sparse(file('1 1:1\n'), 3, first_index=0)
    assert found.features.toarray().tolist() == [[0, 1, 0]]


def unsorted_ids():
    assert data.read_sparse(file('1 3:3 1:1\n')).features.toarray().tolist() == [[1, 0, 3]]


def comments():
    assert data.read_sparse(file('# all\n1 1:2 # one\n')).features.toarray().tolist() == [[2]]


def one_based():
    assert data.read_sparse(file('1 1:7 2:3\n')).features.shape == (1, 2)


def narrow_file():
    assert data.read_sparse(file('1 1:7\n'), n_features=784).features.shape == (1, 784)


def arff_quoted():
    text = '@attribute a real\n@attribute c {"class A", "class B"}\n@data\n{0 .5, 1 "class B"}\n'
    assert formats.read_arff(file(text)).features.toarray().tolist() == [[0.5, 1]]


def arff_first_word():
    text = '@attribute a {3,5,1}\n@attribute y {TRUE,FALSE}\n@data\n{0 5}\n{1 FALSE}\n'
    found = formats.read_arff(file(text), ['y'])
    assert found.features.toarray().tolist() == [[5], [3]]
    assert [found.labels_of(i).tolist() for i in range(2)] == [[0], []]


def arff_escaped():
    text = "@attribute a {'it\\'s','b'}\n@attribute b real\n@data\nb,1\n'it\\'s',2\n"
    assert formats.read_arff(file(text)).features.toarray().tolist() == [[1, 1], [0, 2]]


def arff_no_braces():
    refused('line 1', formats.read_arff, file('@attribute e 0,1,2\n@data\n1\n'))


def arff_blanks():
    text = '@attribute a real\n@data\n{ 0 1 }\n{ }\n'
    assert formats.read_arff(file(text)).features.toarray().tolist() == [[1], [0]]


def arff_quoted_blanks():
    text = "@attribute a {'  yes', 'no  ', x }\n@attribute b real\n@data\n'no  ',1\nx,1\n"
    found = formats.read_arff(file(text))
    assert found.categories == {'a': ['  yes', 'no  ', 'x']}
    assert found.features.toarray()[:, 0].tolist() == [1, 2]


def arff_one_word():
    text = '@attribute a {x}\n@attribute b real\n@data\nx,1\n'
    assert formats.read_arff(file(text)).features.toarray().tolist() == [[0, 1]]


def semicolons():
    found = data.read_table(file('A;B;kind\n1,1;2,2;x\n1,1;2,5;z\n'))
    assert found.values.tolist() == [[1.1, 2.2], [1.1, 2.5]] and found.target == ['x', 'z']


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


def namibia():
    refused('line 3', data.read_table, file('v,code\n1,NC\n2,NA\n'))
    assert data.read_table(file('v,code\n1,NC\n2,NA\n'), na_values=()).target == ['NC', 'NA']


def other_separator():
    assert data.read_fields(file('a|b\n1|2\n'), sep='|').rows == [['1', '2']]


# ------------------------------------------------------------------------------- lists
@functools.cache
def hits():
    "A fitted model, its test pairs and its lists."
    table = log()
    test = table.sample(frac=0.3, random_state=0)
    train = table.drop(test.index)
    test = test[test.user.isin(train.user) & test.item.isin(train.item)]
    return SimilarityModel(4).fit(train), train, test


def seen_items():
    model, train, _ = hits()
    users = sorted(train.user.unique())
    lists, scores = model.recommend(users, k=40)
    for user, found, score in zip(users, lists, scores):
        seen = set(train.item[train.user == user])
        there = [one for one in found if one is not None]
        assert not seen & set(there) and len(there) == train.item.nunique() - len(seen)
        assert np.isneginf(score[len(there) :]).all()
    everything, _ = model.recommend(users[:1], k=40, exclude_seen=False)
    assert set(train.item) <= set(everything[0])


def filtered_items():
    model, train, _ = hits()
    users = sorted(train.user.unique())
    out = model.recommend(users, k=1)[0][:, 0]
    lists = model.recommend(users, k=5, filter_items=np.unique(out))[0]
    assert not np.isin(lists, out).any() and all(len(set(found)) == 5 for found in lists.tolist())


def nothing_new_to_judge():
    model, train, _ = hits()
    refused('.', model.evaluate, train, ('ndcg@3',))


def recall_by_hand():
    model, train, test = hits()
    users = sorted(test.user.unique())
    lists = model.recommend(users, k=5)[0]
    recall, first, hit = [], [], []
    for user, found in zip(users, lists):
        want = set(test.item[test.user == user]) - set(train.item[train.user == user])
        places = [k for k, one in enumerate(found) if one in want]
        recall.append(len(places) / len(want))
        first.append(1 / (places[0] + 1) if places else 0)
        hit.append(bool(places))
    told = model.evaluate(test, ('recall@5', 'mrr@5', 'hit_rate@5'))
    got = [told['recall@5'], told['mrr@5'], told['hit_rate@5']]
    np.testing.assert_allclose(got, [np.mean(recall), np.mean(first), np.mean(hit)])


def ndcg_by_hand():
    model, train, test = hits()
    users = sorted(test.user.unique())
    found = []
    for user, items in zip(users, model.recommend(users, k=3)[0]):
        want = set(test.item[test.user == user])
        gain = sum(1 / np.log2(k + 2) for k, one in enumerate(items) if one in want)
        found.append(gain / sum(1 / np.log2(k + 2) for k in range(min(3, len(want)))))
    np.testing.assert_allclose(model.evaluate(test, ('ndcg@3',))['ndcg@3'], np.mean(found))
    assert max(found) <= 1


def recall_grows():
    model, _, test = hits()
    told = model.evaluate(test, ('recall@2', 'recall@10', 'recall@40'))
    assert told['recall@2'] <= told['recall@10'] <= told['recall@40'] == 1


def weight_zero_pair():
    table = log().assign(weight=1.0)
    more = pd.DataFrame(dict(user=['u00'], item=['i23'], weight=[0.0]))
    one = SimilarityModel(4, values='weights').fit(table)
    other = SimilarityModel(4, values='weights').fit(pd.concat([table, more]))
    pair = table[['user', 'item']].head(9)
    np.testing.assert_allclose(one.score_pairs(pair), other.score_pairs(pair), atol=1e-6)


def dislikes():
    table = log().assign(like=lambda t: (t.index % 3 > 0).astype(int))
    train, test = table[table.index % 2 == 0], table[table.index % 2 == 1]
    test = test[test.item.isin(train.item)]
    model = SimilarityModel(4, values='labels').fit(train)
    names = ('recall@5', 'auc')
    both, likes = model.evaluate(test, names), model.evaluate(test[test.like == 1], names)
    assert [both[name] for name in names] == [likes[name] for name in names]


def pivot():
    table = log()
    refused('.', SimilarityModel(4).fit, pd.crosstab(table.user, table.item))


def columns_turned():
    model, _, test = hits()
    names = ('recall@5',)
    right = model.evaluate(test, names)['recall@5']
    assert model.evaluate(test[['item', 'user']], names)['recall@5'] == right


def ragged_histories():
    model, train, _ = hits()
    histories = train.groupby('user').item.unique().head(3)
    assert model.recommend(history=histories, k=2)[0].shape == (3, 2)


def history_of_strangers():
    model, train, _ = hits()
    lists = model.recommend(history=[['i00', 'i02'], ['i01']], k=3)[0]
    assert not {'i00', 'i02'} & set(lists[0]) and 'i01' not in lists[1]


def column_order():
    X, y = rows()
    table = pd.DataFrame(X, columns=['a', 'b', 'c'])
    for estimator in (BoundClassifier, SoftmaxClassifier):
        model = estimator().fit(table, y)
        refused('feature names', model.predict, table[['c', 'b', 'a']])
    users = pd.DataFrame(dict(user=sorted(log().user.unique())))
    users['even'], users['odd'] = np.arange(20) % 2 == 0, np.arange(20) % 2 == 1
    users = users.astype(dict(even=float, odd=float))
    model = SimilarityModel(4).fit(log(), users)
    one, other = (
        model.recommend(features=pd.DataFrame(new), k=5)[0]
        for new in (dict(even=[1.0], odd=[0.0]), dict(odd=[0.0], even=[1.0]))
    )
    assert one.tolist() == other.tolist()


def features_of_strangers():
    users = pd.DataFrame(dict(user=sorted(log().user.unique())))
    users['even'], users['odd'] = np.arange(20) % 2 == 0, np.arange(20) % 2 == 1
    model = SimilarityModel(4).fit(log(), users.astype(dict(even=float, odd=float)))
    found = model.recommend(features=pd.DataFrame(dict(even=[1.0], odd=[0.0])), k=5)[0][0]
    assert all(int(item[1:]) % 2 == 0 for item in found)


def scores_are_products():
    model, train, _ = hits()
    pairs = train[['user', 'item']].head(12)
    scores = model.score_pairs(pairs)
    parts = [model.score_pairs(pairs.iloc[k : k + 5]) for k in (0, 5, 10)]
    np.testing.assert_allclose(np.concatenate(parts), scores)
    by_hand = (model.embed_left(pairs.user) * model.embed_right(pairs.item)).sum(1)
    np.testing.assert_allclose(by_hand, scores, rtol=1e-5)


def ids_of_another_type():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 15, (80, 2)), columns=['user', 'item']).drop_duplicates()
    model = SimilarityModel(4).fit(table)
    refused('.', model.evaluate, table.astype(str), ('recall@5',))


def zones():
    when = pd.date_range('2024-01-01', periods=len(log()), freq='h', tz='Europe/Paris')
    shuffled = log().sample(frac=1, random_state=0).assign(time=when)
    SimilarityModel(4, validation=0.1).fit(shuffled)


def fits_do_not_add_up():
    "What is still held after thirty fits more, their models thrown away."
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
            for _ in range(30):
                fit()
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
            tracemalloc.stop()
        assert grown < 30 * 6000, grown  # a model or its data is 80,000 bytes or more


# ------------------------------------------------------------------------------- maps
@functools.cache
def maps():
    rng = np.random.default_rng(0)
    names = np.array([f'n{k}' for k in range(8)])
    X = rng.normal(size=(8, 2))
    q = np.array([rng.choice(8, 3, replace=False) for _ in range(300)])
    near, far = (((X[q[:, 0]] - X[q[:, k]]) ** 2).sum(1) for k in (1, 2))
    return names, q, near < far


def answer_codes():
    _, q, y = maps()
    right = OrdinalEmbedding(2).fit(q, y).score(q, y)
    assert right > 0.9 and OrdinalEmbedding(2).fit(q, np.where(y, 1, -1)).score(q, y) == right
    for codes in (y.astype(int), np.where(y, 1, 2)):
        refused('.', OrdinalEmbedding(2).fit, q, codes)


def maps_by_name():
    names, q, y = maps()
    one = OrdinalEmbedding(2).fit(names[q], y)
    other = OrdinalEmbedding(2).fit(names[q], y, names=names[::-1])
    assert one.procrustes(other)[1] < 0.05


def odd_one_out():
    found = triplets_from_odd_one_out(np.array([[0, 1, 2]]), np.array([2]))
    assert sorted(map(tuple, np.asarray(found).tolist())) == [(0, 1, 2), (1, 0, 2)]
    assert triplets_from_odd_one_out([[5, 6, 7]], [0]).tolist() == [[6, 7, 5], [7, 6, 5]]


def missing_name():
    names, q, y = maps()
    bad = names[q].astype(object)
    bad[4, 1] = None
    refused('4', OrdinalEmbedding(2).fit, bad, y)
