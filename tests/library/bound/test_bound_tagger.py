"The tagger: sentences in, tags out, and one line for what it does not take."

import datetime
import itertools
import re

import numpy as np
import pandas
import pyarrow as pa
import pytest
import scipy.sparse
from refusals import no_warning, refuses
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score

from extreme_opt.bound import LinearChain, LinearChainCRF
from extreme_opt.bound.structured import planted_chain
from extreme_opt.core.linalg import log_sum_exp


def sentences(n=30, seed=0):
    "Sentences of dictionaries, and tags that follow the words and each other."
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(0, 7, size=n):
        tags = ['ABC'[k] for k in np.cumsum(rng.integers(0, 2, size=length)) % 3]
        words = []
        for t, tag in enumerate(tags):
            word = f'{tag.lower()}{rng.integers(3)}'
            words.append({'word': word, 'noise': float(rng.normal()), 'first': not t})
        X.append(words)
        y.append(tags)
    return X, y


@pytest.fixture(scope='module')
def made():
    X, y = sentences()
    assert min(map(len, X)) == 0 and 1 in map(len, X)
    return X, y, LinearChainCRF(ridge=0.05, tol=1e-9).fit(X, y)


def test_it_learns_and_keeps_the_shape_of_sentences(made):
    X, y, model = made
    new, tags = sentences(20, 1)
    guess = model.predict(new)
    assert [len(words) for words in guess] == [len(words) for words in new]
    assert all(type(tag) is str for words in guess for tag in words)
    assert model.score(new, tags) > 0.9 and model.classes_.tolist() == ['A', 'B', 'C']
    assert model.predict([]) == [] and model.predict([[], []]) == [[], []]
    assert [one.shape for one in model.predict_marginals([[], new[0]])] == [
        (0, 3),
        (len(new[0]), 3),
    ]
    right = sum(a == b for one, two in zip(guess, tags) for a, b in zip(one, two))
    assert model.score(new, tags) == right / sum(map(len, new))


def test_marginals_and_tags_are_those_of_all_labelings(made):
    X, _, model = made
    words = max(X, key=len)[:4]
    rows = DictVectorizer().fit([word for some in X for word in some]).transform(words)
    scores = rows @ model.coef_.T
    paths = np.array(list(itertools.product(range(3), repeat=4)))
    totals = scores[np.arange(4), paths].sum(1) + model.transitions_[
        paths[:, :-1], paths[:, 1:]
    ].sum(1)
    proba = np.exp(totals - log_sum_exp(totals))
    wanted = np.stack([(proba[:, None] * (paths == k)).sum(0) for k in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_marginals([words])[0], wanted, atol=1e-12)
    assert model.predict([words])[0] == model.classes_[paths[totals.argmax()]].tolist()


def test_dictionaries_names_arrays_and_sparse_rows_are_one_model(made):
    X, y, model = made
    vectors = DictVectorizer().fit([word for words in X for word in words])
    sparse = [vectors.transform(words) if words else scipy.sparse.csr_array((0, 0)) for words in X]
    dense = [rows.toarray() for rows in sparse]
    nested = [[row.tolist() for row in rows] for rows in dense]
    for other in (sparse, dense, nested, [rows.astype(np.float32) for rows in dense]):
        same = LinearChainCRF(ridge=0.05, tol=1e-9).fit(other, y)
        np.testing.assert_allclose(same.coef_, model.coef_, atol=1e-5)
        assert same.predict(other) == model.predict(X) and same.feature_names_ is None
    ones = [[{'word': word['word'], 'first': word['first']} for word in words] for words in X]
    names = [
        [[f'word={word["word"]}'] + ['first'] * word['first'] for word in words] for words in X
    ]
    one, two = (LinearChainCRF(ridge=0.05, tol=1e-9).fit(some, y) for some in (ones, names))
    assert sorted(one.feature_names_) == sorted(two.feature_names_)
    assert one.predict(ones) == two.predict(names)


def test_empty_sentences_change_nothing(made):
    X, y, model = made
    full = [i for i, words in enumerate(X) if words]
    less = LinearChainCRF(ridge=0.05, tol=1e-9).fit([X[i] for i in full], [y[i] for i in full])
    np.testing.assert_allclose(less.coef_, model.coef_, atol=1e-6)
    assert less.bound_gap_ == pytest.approx(model.bound_gap_, abs=1e-9)


def test_text_that_ends_in_nul_is_another_text():
    sentence, tags = [dict(w='a'), dict(w='a '), dict(w='a\0')], ['x', 'y', 'x\0']
    model = LinearChainCRF().fit([sentence] * 3, [tags] * 3)
    assert model.predict([sentence]) == [tags]
    assert model.n_features_in_ == 3 and set(model.classes_) == set(tags)


def test_one_tag_and_one_word():
    model = LinearChainCRF().fit([[{'a': 1}], []], [['only'], []])
    assert model.predict([[{'a': 1}, {'b': 2}], []]) == [['only', 'only'], []]
    np.testing.assert_array_equal(model.predict_marginals([[{'b': 1}]])[0], [[1.0]])


def test_unknown_features_are_left_out_and_counted(made):
    X, _, model = made
    words = [{'word': 'a0', 'noise': 0.0, 'first': True, 'color': 'red', 'odd': ['x', 'y']}]
    assert model.unseen_features([words]) == (3, 6)
    assert model.unseen_features(X) == (0, 3 * sum(map(len, X)))
    plain = [{key: words[0][key] for key in ('word', 'noise', 'first')}]
    assert model.predict([words]) == model.predict([plain])
    strange = [[{'never': 1.0}, {}]]
    assert model.unseen_features(strange) == (1, 1) and len(model.predict(strange)[0]) == 2


def test_the_optimum_is_that_of_the_objective_and_the_certificate_holds(made):
    X, y, model = made
    ends = []
    for solver, tol in (('bm', 1e-10), ('lbfgs', 1e-10), ('lbfgs', 1e-2), ('bm', 0.3)):
        fit = LinearChainCRF(solver, ridge=0.05, tol=tol, max_iter=5000).fit(X, y)
        ends.append((fit.run_.column('loss')[-1] / sum(map(bool, X)), fit.bound_gap_))
    best = ends[0][0]
    assert ends[1][0] == pytest.approx(best, rel=1e-10) and ends[2][0] > best
    assert all(loss - best <= gap * (1 + 1e-9) + 1e-12 for loss, gap in ends)
    assert ends[1][1] < 1e-12
    assert LinearChainCRF(ridge=0.0, max_iter=5, tol=None).fit(X, y).bound_gap_ == np.inf


def test_a_chosen_ridge_is_found_on_held_out_sentences():
    made = planted_chain(200, n_classes=3, n_features=30, seed=1)
    noisy = made.features + 2 * np.random.default_rng(0).normal(size=made.features.shape)
    easy = LinearChain(noisy, made.labels, made.starts, 3)
    cut = [slice(a, b) for a, b in zip(easy.starts, easy.starts[1:])]
    X, y = [easy.features[part] for part in cut], [easy.labels[part] for part in cut]
    model = LinearChainCRF(ridge='auto').fit(X[:25], y[:25])
    held = easy.take(slice(25, None))

    def nats(fit):
        return held.loss(np.r_[fit.coef_.ravel(), fit.transitions_.ravel()])

    ends = [nats(LinearChainCRF(ridge=ridge).fit(X[:25], y[:25])) for ridge in (1e-6, 10.0)]
    assert nats(model) < min(ends)
    again = LinearChainCRF(ridge='auto').fit(X[:25], y[:25])
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_search_and_folds(made):
    X, y, _ = made
    search = GridSearchCV(LinearChainCRF(), {'ridge': [1e-3, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {'ridge': 1e-3} and search.best_score_ > 0.9
    assert cross_val_score(LinearChainCRF(), X, y, cv=3, error_score='raise').min() > 0.8


def test_a_limit_that_comes_first_is_told(made):
    X, y, _ = made
    with pytest.warns(ConvergenceWarning, match='reached max_iter=2; raise that limit'):
        LinearChainCRF(max_iter=2).fit(X, y)
    with no_warning():
        LinearChainCRF(max_iter=2, tol=None).fit(X, y)


WORDS = [{'word': 'a'}, {'word': 'b'}]
BAD_FITS = {
    'no list': (5, [], 'X is a int, but a list of sentences'),
    'one sentence': (WORDS, ['A', 'B'], r'X\[0\] is a dict.*for one sentence pass \[X\]'),
    'text': (['a b'], [['A', 'B']], r'X\[0\] is a str'),
    'words of text': ([['a', 'b']], [['A', 'B']], r'word 0 of X\[0\] is a str'),
    'nothing': ([[], []], [[], []], 'X holds no word'),
    'no tags': ([WORDS], None, 'y must be a list of lists'),
    'too few sentences': ([WORDS, WORDS], [['A', 'B']], 'y has 1 sentences, but X has 2'),
    'too few tags': ([WORDS, WORDS], [['A', 'B'], ['A']], r'y\[1\] has 1 tags, but X\[1\] has 2'),
    'tags as text': ([WORDS], ['AB'], r'y\[0\] is a str; give a list of tags'),
    'tags as a set': ([WORDS], [{'A', 'B'}], r'y\[0\] is a set; give a list of tags'),
    'a tag alone': ([WORDS], [1], r'y\[0\] is a int; give a list of tags'),
    'no order of tags': ([WORDS], {0: ['A', 'B']}, 'y must be a list of lists'),
    'several tags': ([WORDS], [[('A', 1), ('B', 2)]], r"y holds \('A', 1\), but a word has one"),
    'a date': ([[{'a': pandas.Timestamp(0)}, {}]], [['A', 'B']], r'has a=Timestamp'),
    'names of two kinds': ([[{'a': 1}, {0: 1}]], [['A', 'B']], r'word 1 .* has a feature 0, but'),
    'two dimensions': (np.eye(2), [['A', 'B']] * 2, r'a sentence has shape \(2,\)'),
    'a table of arrow': (pa.table({'a': [1, 2]}), [['A', 'B']], 'X is a data frame'),
    'fraction': ([WORDS], [[0.0, 1.9]], r'y\[1\] is 1.9'),
    'kinds': ([WORDS], [['A', 1]], 'tags of types int, str; use one type'),
    'a dictionary': ([[{'a': {'b': 1}}, {}]], [['A', 'B']], r"word 0 of X\[0\] has a=\{'b': 1\}"),
    'bytes': ([[{'a': b'x'}, {'a': 'x'}]], [['A', 'B']], r"has a=b'x'"),
    'a data frame': (pandas.DataFrame({'a': [1, 2]}), [['A', 'B']], 'X is a data frame'),
    'data frames': ([pandas.DataFrame({'a': [1, 2]})], [['A', 'B']], r'X\[0\]\.to_dict'),
    'widths': ([np.eye(2), np.eye(3)], [['A', 'B'], ['A'] * 3], r'X\[1\] have \(3,\) features'),
    'no name': ([[['a'], ['b', None]]], [['A', 'B']], r'word 1 of X\[0\] has a feature None'),
    'no text': ([[{'a': ['x', None]}, {}]], [['A', 'B']], r"word 0 of X\[0\] has a=\['x', None\]"),
    'a number as text': (
        [[{'a': 'x'}], [{'n': 5.0}, {'n': '-5'}]],
        [['A'], ['A', 'B']],
        r"word 1 of X\[1\] has n='-5', a text, but other values of n are numbers",
    ),
    'a truth value as text': (
        [[{'n': 'False'}, {'n': True}]],
        [['A', 'B']],
        r"word 0 of X\[0\] has n='False', a text, but other values",
    ),
    'inf in rows': ([np.array([[1.0], [np.inf]])], [['A', 'B']], r'X\[0\], .* inf at row 1'),
}


def test_series_count_by_place(made):
    X, y, model = made
    at = range(7, 7 + len(X))
    fit = LinearChainCRF(ridge=0.05, tol=1e-9).fit(pandas.Series(X, at), pandas.Series(y, at))
    np.testing.assert_array_equal(fit.coef_, model.coef_)
    assert fit.predict(pandas.Series(X, at)) == model.predict(X)
    assert fit.score(pandas.Series(X, at), pandas.Series(y, at)) == model.score(X, y)
    refuses(r'word 0 of X\[1\] has noise=None', fit.predict, [[], [{'noise': None}]])


@pytest.mark.parametrize('case', BAD_FITS)
def test_what_is_wrong_is_one_line(case, made):
    X, y, words = BAD_FITS[case]
    refuses(words, LinearChainCRF().fit, X, y)
    model = made[2]
    before = dict(vars(model))
    with pytest.raises(ValueError):
        model.fit(X, y)
    assert vars(model) == before  # as it was


@pytest.mark.parametrize(
    'word, words',
    [
        ({'len': '-5'}, "has len='-5', a text, but other values of len are numbers"),
        ({'len': ['x', ' 5 ']}, r"has len=\['x', ' 5 '\], a text, but"),
        ({'year': 1999}, 'has year=1999, a number, but fit saw text'),
        ({'word': None, 'len': 1.0}, 'has word=None, but a text, a finite number or'),
        ({'new': np.nan}, 'has new=nan, but'),
        ({'new': pandas.NA}, 'has new=<NA>, but'),
        ({'word': ['a', None]}, r"has word=\['a', None\], but"),
        ({None: 1.0}, 'has a feature None; leave out what is missing'),
        (['word=a', None], 'has a feature None; leave out what is missing'),
        (['word=a', np.nan], 'has a feature nan; leave out what is missing'),
    ],
)
def test_features_of_another_kind_and_missing_ones_are_refused_in_both(word, words):
    X = [[{'len': 5.0, 'word': 'a', 'year': '1998'}], [{'len': -5.0, 'word': 'b', 'year': '2'}]]
    model = LinearChainCRF().fit(X * 3, [['up'], ['down']] * 3)
    for use in (model.predict, model.predict_marginals, model.unseen_features):
        refuses(r'word 0 of X\[1\] ' + words, use, [[], [word]])
    if not isinstance(word, dict) or not {'len', 'year'} & {*word} or None in word.values():
        with pytest.raises(ValueError, match=r'word 0 of X\[6\] ' + words):
            LinearChainCRF().fit(X * 3 + [[word]], [['up'], ['down']] * 3 + [['up']])


def test_text_that_reads_as_a_number_stays_text_where_the_feature_is_text():
    X = [[{'year': '1998', 'n': 1.0}], [{'year': 'old', 'n': 'many'}]]
    model = LinearChainCRF().fit(X * 3, [['up'], ['down']] * 3)
    assert model.predict([[{'year': '1998'}], [{'year': '7', 'n': 'few'}]])[0] == ['up']
    names = [[['n', 'n=5']], [['m']]]  # names in lists, not numbers
    LinearChainCRF().fit(names, [['up'], ['down']]).predict(names)


def test_values_of_numpy_and_lists_of_arrow_mean_what_those_of_python_do():
    X, y = sentences(40)
    wanted = LinearChainCRF().fit(X, y).coef_
    numpy = [[{k: np.array([v])[0] for k, v in word.items()} for word in words] for words in X]
    series = pandas.Series(X, index=range(9, 49))
    for given, tags in ((numpy, y), (series, pandas.Series(y)), (pa.array(X), y), (X, pa.array(y))):
        np.testing.assert_array_equal(LinearChainCRF().fit(given, tags).coef_, wanted)


def test_tags_of_another_kind_are_not_counted_as_missed(made):
    X, y, model = made
    with pytest.raises(ValueError, match=r'y\[0\] is 1, but the classes of fit are text'):
        model.score(X, [[1] * len(tags) for tags in y])
    with pytest.raises(ValueError, match='X holds dictionaries .*, but fit saw arrays'):
        LinearChainCRF().fit([np.eye(3)], [['A', 'B', 'A']]).predict(X)
    with pytest.raises(TypeError, match='y holds labels that cannot be sorted, of types date, int'):
        LinearChainCRF().fit([WORDS], [[1, datetime.date(2024, 1, 1)]])


def test_numbers_beyond_all_bounds_are_no_model(made):
    "Refused by their place, and below that the transitions still count."
    for size in (1e160, 1.7e308):
        huge = [np.array([[size], [-size]])] * 3
        said = re.escape(f'X holds {size:g} at row 0, column 0, but at most')
        refuses(said, LinearChainCRF().fit, huge, [['A', 'B']] * 3)
    X, y, model = made
    noisy = [[word | dict(noise=1e300) for word in words] for words in X]
    refuses('but at most 1e\\+150 can be computed with', model.predict, noisy)
    apart = LinearChainCRF(ridge=1e-2).fit(
        [[{'n': 1.0}, {}], [{'n': -1.0}, {}]], [['A', 'B'], ['B', 'A']]
    )
    assert apart.predict([[{'n': 1e100}, {}], [{'n': -1e100}, {}]]) == [['A', 'B'], ['B', 'A']]


def test_wrong_settings_and_wrong_rows(made):
    X, y, model = made
    for settings, words in (
        (dict(solver='newton'), "solver='newton' is neither"),
        (dict(max_iter=1.5), 'max_iter'),
    ):
        refuses(words, LinearChainCRF(**settings).fit, X, y)
    wide = [[{f'f{i}': 1.0 for i in range(2000)}] * 2]
    refuses('use solver="lbfgs"', LinearChainCRF('bm').fit, wide, [['A', 'B']])
    refuses('X holds arrays, but fit saw dictionaries', model.predict, [np.eye(3)])
    tables = LinearChainCRF().fit([np.eye(3)], [['A', 'B', 'A']])
    refuses('have 2 features, but fit saw 3', tables.predict, [np.eye(2)])
    refuses('not fitted yet', LinearChainCRF().predict, [WORDS])
