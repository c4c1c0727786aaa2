"""What True and False, 0, -1, NaN, weight 0, an empty list and an unknown id mean.

`docs/no_zero_none.csv` has a row for each pair of a value and an estimator, which names its check.
"""

import csv
import functools
import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from scipy import sparse

from extreme_opt.bound import BoundClassifier, LinearChainCRF
from extreme_opt.ordinal import OrdinalEmbedding
from extreme_opt.similarity import SimilarityModel
from extreme_opt.softmax import SoftmaxClassifier

ROOT = Path(__file__).resolve().parents[3]
with (ROOT / 'docs' / 'no_zero_none.csv').open(encoding='utf-8') as _file:
    ROWS = list(csv.DictReader(_file))
GAPS = None, np.nan, pd.NA, pd.NaT
CLASSIFIERS = (BoundClassifier, functools.partial(SoftmaxClassifier, solver='lbfgs'))


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row['check'])
@pytest.mark.filterwarnings('ignore')
def test_cell(row):
    globals()[row['check']]()


def test_the_table_is_whole():
    "Each estimator for each value, and a check for each cell."
    given = list(dict.fromkeys(row['given'] for row in ROWS))
    assert [(row['given'], row['estimator']) for row in ROWS] == [
        (one, name)
        for one in given
        for name in ('both classifiers', 'SimilarityModel', 'OrdinalEmbedding', 'LinearChainCRF')
    ]
    assert len({row['check'] for row in ROWS}) == len(ROWS)


def test_the_guide_shows_the_table():
    page = json.loads((ROOT / 'nbs/use/60_no_zero_none.ipynb').read_text(encoding='utf-8'))
    outputs = [out for cell in page['cells'] for out in cell.get('outputs', [])]
    shown = ''.join(''.join(out.get('data', {}).get('text/markdown', '')) for out in outputs)
    for row in ROWS:
        line = next(line for line in shown.splitlines() if line.startswith(f'| {row["given"]} |'))
        assert f' {row["means"]} |' in line, row


# ------------------------------------------------------------------------------- classifiers
@functools.cache
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, (X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(90, 3))).argmax(1)


def weight_zero_classifiers():
    X, y = rows()
    w = np.where(np.arange(90) % 3, 1.0, 0.0)
    for make in CLASSIFIERS:
        one = make(ridge=0.01).fit(X, y, sample_weight=w)
        other = make(ridge=0.01).fit(X[w > 0], y[w > 0])
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-4)
        gone = make(ridge=0.01).fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
        assert gone.classes_.tolist() == [0, 1, 2] and gone.predict_proba(X)[:, 1].max() < 0.05


def absent_classifiers():
    X, y = rows()
    for make in CLASSIFIERS:
        model = make(ridge=0.01).fit(X[y != 1], y[y != 1])
        assert model.classes_.tolist() == [0, 2] and model.predict_proba(X).shape == (90, 2)


def stored_zero_classifiers():
    X, y = rows()
    full = sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    left, right = full.nonzero()
    u, i = np.argwhere(full.toarray() == 0)[0]
    entries = np.append(full.data, 0.0), (np.append(left, u), np.append(right, i))
    stored = sparse.csr_array(entries, shape=full.shape)
    assert stored.nnz == full.nnz + 1
    for make in CLASSIFIERS:
        one, other = make(ridge=0.01).fit(full, y), make(ridge=0.01).fit(stored, y)
        np.testing.assert_allclose(one.predict_proba(full), other.predict_proba(full), atol=1e-6)


def two_classes(labels):
    X, y = rows()
    for make in CLASSIFIERS:
        model = make(ridge=0.01).fit(X, np.where(y > 0, labels[0], labels[1]))
        assert sorted(model.classes_.tolist()) == sorted(labels)


booleans_classifiers = functools.partial(two_classes, [True, False])
one_zero_classifiers = functools.partial(two_classes, [1, 0])
one_two_classifiers = functools.partial(two_classes, [1, 2])
minus_one_classifiers = functools.partial(two_classes, [1, -1])


def missing_classifiers():
    X, y = rows()
    bad = X.copy()
    bad[7, 1] = np.nan
    for make in CLASSIFIERS:
        refuses(r'\b7\b', make().fit, bad, y)
        refuses(r'\b4\b', make().fit, X, pd.Series(y).astype('Int64').where(np.arange(90) != 4))
        for gap in GAPS:
            labels = np.array(list('abc'), object)[y]
            labels[4] = gap
            refuses(r'\b4\b', make().fit, X, labels)


def empty_classifiers():
    X, y = rows()
    for make in CLASSIFIERS:
        refuses('0 (row|sample)', make().fit, X[:0], y[:0])


def unknown_classifiers():
    X, y = rows()
    for make in CLASSIFIERS:
        model = make().fit(X[y < 2], y[y < 2])
        refuses('2', model.log_loss, X, y)
        assert model.score(X, y) == np.mean(model.predict(X) == y)


# ------------------------------------------------------------------------------- SimilarityModel
@functools.cache
def log():
    rng = np.random.default_rng(0)
    pairs = [
        (f'u{u:02d}', f'i{i:02d}') for u in range(20) for i in rng.choice(24, 6, replace=False)
    ]
    return pd.DataFrame(pairs, columns=['user', 'item'])


def same(one, other):
    pairs = log().head(9)
    np.testing.assert_allclose(one.score_pairs(pairs), other.score_pairs(pairs), atol=1e-6)


def weight_zero_similarity():
    table = log().assign(weight=1.0)
    more = pd.concat([table, pd.DataFrame(dict(user=['u00'], item=['i23'], weight=[0.0]))])
    same(*(SimilarityModel(4, values='weights').fit(one) for one in (table, more)))


def absent_similarity():
    plain, M = matrix()
    low, high = (
        SimilarityModel(3, values='weights', impute=goal, unobserved_weight=5.0).fit(plain)
        for goal in (-2.0, 0.0)
    )
    assert (low.observed_.toarray() == (M > 0)).all()
    away = np.argwhere(M == 0)
    assert low.score_pairs(away).mean() < high.score_pairs(away).mean() - 0.5


def matrix(extra=()):
    rng = np.random.default_rng(1)
    M = (rng.random((12, 10)) < 0.3).astype(float)
    left, right = M.nonzero()
    for _, u, i in extra:
        left, right = np.append(left, u), np.append(right, i)
    values = np.append(np.ones(int(M.sum())), [value for value, _, _ in extra])
    return sparse.csr_array((values, (left, right)), shape=M.shape), M


def stored_zero_similarity():
    plain, M = matrix()
    u, i = np.argwhere(M == 0)[0]
    stored = matrix([(0.0, u, i)])[0]
    one, other = (SimilarityModel(3, values='weights').fit(each) for each in (plain, stored))
    pairs = np.argwhere(M > 0)[:6]
    np.testing.assert_allclose(one.score_pairs(pairs), other.score_pairs(pairs), atol=1e-6)
    no, minus = (
        SimilarityModel(3, values='labels').fit(matrix([(v, u, i)])[0]) for v in (0.0, -1.0)
    )
    np.testing.assert_allclose(no.score_pairs(pairs), minus.score_pairs(pairs), atol=1e-6)


@functools.cache
def liked(yes, no):
    labels = np.where(np.arange(len(log())) % 3, yes, no)
    return SimilarityModel(4, values='labels').fit(log().assign(like=labels))


def booleans_similarity():
    same(liked(True, False), liked(1, -1))
    table = log().assign(like=np.arange(len(log())) % 3 > 0)
    same(SimilarityModel(4).fit(table), SimilarityModel(4).fit(log()))
    weighed = SimilarityModel(4, values='weights')
    same(weighed.fit(table), SimilarityModel(4, values='weights').fit(table[table['like']]))


def one_zero_similarity():
    same(liked(1, 0), liked(1, -1))


def one_two_similarity():
    refuses('label', liked, 1, 2)


def minus_one_similarity():
    refuses('-1', SimilarityModel(4, values='weights').fit, log().assign(weight=-1.0))


def missing_similarity():
    for gap, column in itertools.product(GAPS, (0, 1)):
        bad = log().astype(object)
        bad.iloc[7, column] = gap
        refuses(r'\b7\b', SimilarityModel(4).fit, bad)
    weights = log().assign(weight=np.where(np.arange(len(log())) == 7, np.nan, 1.0))
    refuses(r'\b7\b', SimilarityModel(4, values='weights').fit, weights)


def empty_similarity():
    model = SimilarityModel(4).fit(log())
    with pytest.warns(UserWarning):
        lists = model.recommend(history=[[]], k=3)[0]
    often = log().item.value_counts()
    assert often[lists[0][0]] == often.max()


def unknown_similarity():
    model = SimilarityModel(4).fit(log())
    test = pd.DataFrame(dict(user=['u00', 'nobody'], item=['i23', 'i01']))
    refuses('nobody', model.evaluate, test, ('recall@5',))
    told = model.evaluate(test, ('recall@5',), exclude_seen=False, unknown='ignore')
    assert told['left_out']['unknown'] == 1
    refuses('99', model.recommend, history={99: 1, 'i01': 1})


# ------------------------------------------------------------------------------- OrdinalEmbedding
@functools.cache
def answers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2))
    q = np.array([rng.choice(8, 3, replace=False) for _ in range(200)])
    near, far = (((X[q[:, 0]] - X[q[:, k]]) ** 2).sum(1) for k in (1, 2))
    return q, near < far


def weight_zero_ordinal():
    q, y = answers()
    w = np.where((q == 7).any(axis=1), 0.0, 1.0)
    with pytest.warns(UserWarning):
        model = OrdinalEmbedding(2).fit(q, y, sample_weight=w)
    assert np.isnan(model.embedding_[7]).all() and np.isfinite(model.embedding_[:7]).all()


def absent_ordinal():
    q, y = answers()
    kept = (q != 3).all(axis=1)
    with pytest.warns(UserWarning, match='no comparison'):
        model = OrdinalEmbedding(2).fit(q[kept], y[kept])
    assert np.isnan(model.embedding_[3]).all() and np.isfinite(model.embedding_[4:]).all()


def fit(codes):
    return OrdinalEmbedding(2).fit(answers()[0], codes)


def stored_zero_ordinal():
    q, y = answers()
    tied = np.where(np.arange(len(y)) % 5 == 0, 0, np.where(y, 1, -1))
    assert fit(tied).score(q, y) > 0.85


def booleans_ordinal():
    assert fit(answers()[1]).score(*answers()) > 0.9


def one_zero_ordinal():
    refuses('0', fit, answers()[1].astype(int))


def one_two_ordinal():
    refuses('2', fit, np.where(answers()[1], 1, 2))


def minus_one_ordinal():
    one, other = fit(answers()[1]), fit(np.where(answers()[1], 1, -1))
    np.testing.assert_array_equal(one.embedding_, other.embedding_)


def missing_ordinal():
    q, y = answers()
    names = np.array([*'abcdefgh'], object)[q]
    for gap in GAPS:
        bad = y.astype(object)
        bad[7] = gap
        refuses(r'\b7\b', OrdinalEmbedding(2).fit, q, bad)
        objects = names.copy()
        objects[7, 1] = gap
        refuses(r'\b7\b', OrdinalEmbedding(2).fit, objects, y)


def empty_ordinal():
    refuses('.', OrdinalEmbedding(2).fit, np.zeros((0, 3), int))


def unknown_ordinal():
    q, y = answers()
    names = np.array(list('abcdefghi'))
    model = OrdinalEmbedding(2).fit(names[q], y)
    with pytest.warns(UserWarning):
        assert model.score(np.array([['i', 'a', 'b']])) == 0


# ------------------------------------------------------------------------------- LinearChainCRF
@functools.cache
def text():
    "Sentences of numbers as features, and a number that says the tag."
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 2, n) for n in (4, 1, 5, 3, 6, 2, 4, 5)]
    return [np.column_stack([one, 1 - one]).astype(float) for one in codes], codes


def tagged(yes, no):
    X, codes = text()
    y = [[yes if code else no for code in one] for one in codes]
    model = LinearChainCRF().fit(X, y)
    assert model.predict(X) == y and sorted(model.classes_.tolist()) == sorted([yes, no])
    return model


def weight_zero_tagger():
    X, codes = text()
    with pytest.raises(TypeError, match='sample_weight'):
        LinearChainCRF().fit(X, codes, sample_weight=np.zeros(len(X)))


def absent_tagger():
    X, codes = text()
    assert LinearChainCRF().fit(X, [['A'] * len(one) for one in codes]).classes_.tolist() == ['A']


def stored_zero_tagger():
    X, codes = text()
    full = LinearChainCRF().fit(X, codes)
    stored = [sparse.csr_array(one) for one in X]
    for one in stored:
        one.data[0] = 0.0
    zeros = [one.toarray() for one in stored]
    one, other = LinearChainCRF().fit(stored, codes), LinearChainCRF().fit(zeros, codes)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-9)
    assert not np.allclose(one.coef_, full.coef_)


def booleans_tagger():
    tagged(True, False)
    X, codes = text()
    words = [[{'yes': bool(code)} for code in one] for one in codes]
    numbers = [[{'yes': int(code)} for code in one] for one in codes]
    one, other = (LinearChainCRF().fit(given, codes) for given in (words, numbers))
    np.testing.assert_array_equal(one.coef_, other.coef_)


one_zero_tagger = functools.partial(tagged, 1, 0)
one_two_tagger = functools.partial(tagged, 1, 2)
minus_one_tagger = functools.partial(tagged, 1, -1)


def missing_tagger():
    X, codes = text()
    for gap in GAPS:
        tags = [[*map(str, one)] for one in codes]
        tags[2][3] = gap
        refuses(r'y\[2\]\[3\]', LinearChainCRF().fit, X, tags)
        words = [[{'yes': code} for code in one] for one in codes]
        words[2][3] = {'yes': gap}
        refuses(r'word 3 of X\[2\]', LinearChainCRF().fit, words, codes)
    tables = [one.copy() for one in X]
    tables[2][3, 1] = np.nan
    refuses(r'X\[2\], .* row 3, column 1', LinearChainCRF().fit, tables, codes)


def empty_tagger():
    model = tagged('A', 'B')
    assert model.predict([[], []]) == [[], []] and model.predict([]) == []
    refuses('no word', LinearChainCRF().fit, [[]], [[]])


def unknown_tagger():
    X, codes = text()
    words = [[{'w': str(code)} for code in one] for one in codes]
    model = LinearChainCRF().fit(words, [[*map(str, one)] for one in codes])
    assert model.score(words[:1], [['C'] * len(words[0])]) == 0
    assert model.unseen_features([[{'w': 'new', 'z': 1}]]) == (2, 2)
