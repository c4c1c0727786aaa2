"scikit-learn's own examinations on a small estimator, and what they do not ask."

import datetime
import decimal
import fractions
import io
import types
import uuid
import zoneinfo

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from refusals import no_warning, refuses
from sklearn.base import clone

from extreme_opt.core.estimator import Classifier, Estimator, run_estimator
from extreme_opt.core.memory import check_memory, free_memory
from extreme_opt.core.validation import (
    check_features,
    check_labels,
    checked_sample_weight,
    number_in,
)

BERLIN = zoneinfo.ZoneInfo('Europe/Berlin')
HOUR_EAST = datetime.timezone(datetime.timedelta(hours=1))


class Centroids(Classifier):
    """Nearest class mean.

    Attributes: classes_, n_features_in_, feature_names_in_ (names of the columns, when X had some),
    means_.
    """

    _settings = dict(Classifier._settings, shrink=number_in())

    def __init__(self, shrink=0.0):
        self.shrink = shrink

    def fit(self, X, y):
        X, labels = self._enter(X, y)
        picks = scipy.sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))
        sums = picks @ X
        sums = np.asarray(sums.todense() if scipy.sparse.issparse(sums) else sums)
        self.means_ = (1 - self.shrink) * sums / np.bincount(labels)[:, None]
        return self

    def _scores(self, X):
        return np.asarray(X @ self.means_.T) - (self.means_**2).sum(1) / 2


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=90)
    return 3 * np.eye(3)[labels] + rng.normal(size=(90, 3)), np.array(['ant', 'bee', 'cat'])[labels]


def test_two_classes_have_one_column(data):
    X, y = data
    model = Centroids().fit(X[y != 'cat'], y[y != 'cat'])
    scores, proba = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == (90,) and proba.shape == (90, 2)
    np.testing.assert_allclose(np.log(proba[:, 1] / proba[:, 0]), scores)
    assert (model.predict(X) == np.where(scores > 0, 'bee', 'ant')).all()


def test_answers_do_not_depend_on_chunks(data, monkeypatch):
    X, y = np.tile(data[0], (5, 1)), np.tile(data[1], 5)
    model, sizes = Centroids().fit(*data), []

    def answers():
        found = [model.predict(X), model.predict_proba(X), model.decision_function(X)]
        return [*found, *model.top_k(X, 2), model.score(X, y), model.log_loss(X, y)]

    def chunks(self, X):
        rows = check_features(X)
        for start in range(0, rows.shape[0], 7):
            sizes.append(start)
            yield slice(start, start + 7), self._scores(rows[start : start + 7])

    whole = answers()
    monkeypatch.setattr(Centroids, '_chunks', chunks)
    for one, two in zip(whole, answers(), strict=True):
        if np.asarray(one).dtype.kind == 'f':
            np.testing.assert_allclose(one, two, rtol=1e-12)
        else:
            np.testing.assert_array_equal(one, two)
    assert len(sizes) > 100


@pytest.mark.parametrize('k', [0, 4])
def test_top_k_of_too_few_or_too_many(data, k):
    refuses(f'k={k}', Centroids().fit(*data).top_k, data[0], k)


def test_scores_of_a_thousand_stay_finite(data):
    X, y = data
    model = Centroids().fit(X, y)
    model.means_ = model.means_ * 1e3
    assert np.isfinite(model.predict_log_proba(X)).all() and np.isfinite(model.log_loss(X, y))


@pytest.mark.parametrize(
    'X, word',
    [
        ([[1.0, np.nan]], 'X holds NaN at row 0, column 1'),
        ([[1.0, 2.0], [np.inf, 0.0]], 'X holds inf at row 1, column 0'),
        (scipy.sparse.csc_array([[0.0, 1.0], [0.0, np.nan]]), 'X holds NaN at row 1, column 1'),
        (np.zeros(3), 'Reshape your data'),
        (np.zeros((0, 2)), r'0 sample\(s\)'),
        (np.zeros((2, 0)), r'0 feature\(s\)'),
        (np.ones((2, 2)) * 1j, 'Complex data not supported'),
        ([['a', 'b']], 'numbers are needed'),
        (np.array([[1, 2], ['a', 1]], dtype=object), "X holds 'a' at row 1, column 0"),
        ([[1, 2], [3]], 'differ in length'),
        (np.zeros((2, 2, 2)), r'X.reshape\(len\(X\), -1\)'),
    ],
)
def test_bad_features(X, word):
    refuses(word, check_features, X)


def test_text_for_a_number_is_named():
    with pytest.raises(ValueError, match="shrink='big' is not a number from 0 up"):
        Centroids(shrink='big').fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match='shrink=True is not a number from 0 up'):
        Centroids(shrink=True).fit([[0.0], [1.0]], [0, 1])


def test_large_float32_is_not_taken_for_inf():
    X = np.full((4, 3), 3e38, np.float32)
    assert check_features(X) is X


def test_good_features_are_not_copied():
    for X in (np.ones((3, 2)), np.ones((3, 2), np.float32), np.asfortranarray(np.ones((3, 2)))):
        assert check_features(X) is X
    rows = scipy.sparse.random(5, 4, density=0.5, format='csr', dtype=np.float32)
    assert np.shares_memory(check_features(rows).data, rows.data)
    assert check_features(np.ones((2, 2), int)).dtype == np.float64
    assert check_features(scipy.sparse.coo_array(np.eye(3))).format == 'csr'
    refuses('dense data is required', check_features, rows, sparse=False, raises=TypeError)


@pytest.mark.parametrize(
    'y, word',
    [
        (None, 'requires y'),
        ([1, 2], 'y has 2 labels, but X has 3 rows'),
        ([1.0, np.nan, 2.0], 'NaN at row 1'),
        ([1.0, 2.0, np.inf], 'infinity at row 2'),
        ([0.5, 1.0, 2.0], r'Unknown label type: continuous. y\[0\] is 0.5'),
        (np.ones((3, 2)), '1d array'),
    ],
)
def test_bad_labels(y, word):
    refuses(word, check_labels, y, 3)


def test_labels_of_every_kind(data):
    X, y = data
    numbers = np.unique(y, return_inverse=True)[1]
    cases = [y, y.astype(object), pd.Series(y), list(y), numbers, numbers.astype(float)]
    cases += [numbers.astype(np.uint8), numbers > 0]
    for labels in cases:
        model = Centroids().fit(X, labels)
        assert model.score(X, labels) > 0.8 and model.predict(X).dtype == model.classes_.dtype
    odd = [name + '\0' if name == 'ant' else name for name in y]  # numpy's text drops a last NUL
    model = Centroids().fit(X, odd)
    assert 'ant\0' in model.classes_.tolist() and model.score(X, odd) > 0.8
    with pytest.raises(TypeError, match='cannot be sorted, of types int, str'):
        Centroids().fit(X[:2], np.array([1, 'a'], dtype=object))
    refuses("1 class only, 'ant'", Centroids().fit, X[y == 'ant'], y[y == 'ant'])


@pytest.mark.parametrize(
    'three',
    [
        np.array(['2024-02-29', '2025-01-01', '2026-01-01'], 'M8[D]'),
        np.array([1, 5, 7], 'm8[s]'),
        np.array([b'a', b'bb', b'c']),
        np.array(['a', 'bb', 'c'], np.dtypes.StringDType()),
        np.array([uuid.UUID(int=k) for k in (1, 9, 2**100)], object),
        np.array([b'a', b'', b'\x00'], object),
        np.array([datetime.date(2024, 1, k) for k in (1, 2, 3)], object),
        np.array([datetime.datetime(2024, 1, 1, k, tzinfo=datetime.UTC) for k in (1, 2, 3)]),
        np.array([decimal.Decimal(k) / 10 for k in (1, 2, 3)], object),
        np.array([fractions.Fraction(1, k) for k in (1, 2, 3)], object),
        np.array([datetime.time(k) for k in (1, 2, 3)], object),
        np.array([datetime.datetime(2024, 10, 27, k, tzinfo=BERLIN) for k in (1, 2, 3)]),
        pd.Series(pd.date_range('2024', periods=3, tz='Europe/Berlin')),
        pd.Series(pd.date_range('2024', periods=3, tz='UTC')).astype('category'),
        pd.Series(pd.date_range('2024', periods=3, tz=HOUR_EAST)),
        pd.Series(pd.period_range('2024-01', periods=3, freq='M')),
        pd.Series(pd.period_range('2024', periods=3, freq='Q')).astype('category'),
        pd.Series(pd.IntervalIndex.from_breaks([0, 1, 2, 3])),
        pd.Series(pd.interval_range(pd.Timestamp('2024', tz='UTC'), periods=3, closed='both')),
        pd.Series(pd.Categorical(['hi', 'lo', 'mid'], categories=['none', 'lo', 'mid', 'hi'])),
        pd.Series([1, 2, 3], dtype='Int64'),
        pd.Series(['a', 'b', 'c'], dtype='string'),
        np.array([pd.Timedelta(k, 'h') for k in (1, 2, 3)], object),
    ],
    ids=lambda three: f'{three.dtype}-{type(three[0]).__name__}',
)
def test_a_file_keeps_labels_of_every_kind(data, three, tmp_path):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    labels = three[codes] if isinstance(three, np.ndarray) else three.iloc[codes]
    model = Centroids().fit(X, labels)
    model.save(tmp_path / 'model.npz')
    back = Centroids.load(tmp_path / 'model.npz')
    assert back.classes_.dtype == model.classes_.dtype
    assert list(map(type, back.classes_)) == list(map(type, model.classes_))
    for name in ('tz', 'freq', 'unit', 'closed'):
        one, other = ([getattr(label, name, None) for label in m.classes_] for m in (model, back))
        assert [*map(str, one)] == [*map(str, other)]
    assert set(model.classes_.tolist()) == set(np.asarray(three).tolist())
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.score(X, labels) == model.score(X, labels) > 0.8


def test_a_label_that_no_file_can_hold_is_named(data, tmp_path):
    class Own(str):
        "Text with a type of its own."

    X, y = data
    odd = np.empty(len(y), object)
    odd[:] = [Own(label) for label in y]
    with pytest.raises(TypeError, match=r'classes_\[0\] is a Own, which a file'):
        Centroids().fit(X, odd).save(tmp_path / 'model.npz')


def test_unknown_label(data):
    X, y = data
    model = Centroids().fit(X, y)
    assert model.score(X[:2], ['dog', y[1]]) <= 0.5
    for word in ('dog', 'aardvark', 'zebra'):
        refuses(f"'{word}', which is not among the 3 classes", model.log_loss, X[:1], [word])


@pytest.mark.parametrize('common', [0.0, 1e3, 1e12, 1e15, 1e17, -1e17, 1e300, np.inf])
def test_probabilities_forget_what_all_scores_share(data, common):
    X, y = data
    model = Centroids().fit(X, y)
    fine = model._scores
    step = np.array([0.0, 1, 2]) * (max(abs(common), 1e3) / 1e3 if np.isfinite(common) else 1.0)
    model._scores = lambda X: fine(X) * 0 + step + common  # as many digits as are left
    proba, log_proba = model.predict_proba(X), model.predict_log_proba(X)
    np.testing.assert_allclose(proba.sum(1), 1)
    np.testing.assert_array_equal(np.exp(log_proba), proba)
    np.testing.assert_allclose(model.top_k(X, 3)[1], -np.sort(-proba, axis=1))
    with np.errstate(divide='ignore'):
        own = -log_proba[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert model.log_loss(X, y) == own.mean()
    wanted = np.full(3, 1 / 3) if common == np.inf else np.exp(step - step.max())
    np.testing.assert_allclose(proba[0], wanted / wanted.sum(), atol=1e-12)


def test_scores_that_are_no_numbers_are_named(data):
    X, y = data
    model = Centroids().fit(X, y)
    fine = model._scores
    model._scores = lambda X: np.where(np.arange(len(X))[:, None] == 4, np.nan, fine(X))
    for call in (model.predict, model.predict_proba, model.decision_function, model.top_k):
        refuses('row 4 of X has scores that are no numbers', call, X)


def test_weighted_score(data):
    X, y = data
    model, n = Centroids().fit(X, y), np.arange(90)
    rows, labels = np.repeat(X, n, axis=0), np.repeat(y, n)
    for measure in (model.score, model.log_loss):
        assert measure(X, y, sample_weight=n) == pytest.approx(measure(rows, labels))


def test_column_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=['a', 'b', 'c'])
    model = Centroids().fit(frame, y)
    assert list(model.feature_names_in_) == ['a', 'b', 'c']
    with pytest.raises(ValueError, match='same order'):  # in scikit-learn's own lines
        model.predict(frame[['b', 'a', 'c']])
    with pytest.raises(ValueError, match='unseen at fit time:\n- d\n.*missing:\n- c'):
        model.predict(frame.rename(columns=dict(c='d')))
    with pytest.warns(UserWarning, match='does not have valid feature names'):
        model.predict(X)
    assert not hasattr(model.fit(X, y), 'feature_names_in_')
    with pytest.warns(UserWarning, match='fitted without feature names'):
        model.predict(frame)
    with pytest.raises(TypeError, match='string names'):
        Centroids().fit(frame.rename(columns=dict(c=3)), y)


def test_every_kind_of_table_has_names(data):
    "Dictionaries of columns and structured arrays too; other names and another order are refused."
    X, y = data
    frame = pd.DataFrame(X, columns=[f'x{k}' for k in range(X.shape[1])])
    columns = {name: list(column) for name, column in frame.items()}
    for table in (frame, columns, frame.to_records(index=False)):
        model = Centroids().fit(table, y)
        assert model.feature_names_in_.tolist() == list(frame)
        for again in (frame, columns, frame.to_records(index=False)):
            np.testing.assert_array_equal(model.predict(again), Centroids().fit(X, y).predict(X))
        with pytest.raises(ValueError, match='same order as they were in fit'):
            model.predict(dict(reversed(columns.items())))
    with pytest.raises(ValueError, match='X holds dictionaries, .*DictVectorizer'):
        model.predict([dict(row) for _, row in frame.iterrows()])
    refuses('X is a object, but .*X.reshape', lambda: model.predict(object()))


def test_save_and_load_give_the_same_estimator(data, tmp_path):
    X, y = data
    frame = pd.DataFrame(X, columns=['a', 'b', 'c'])
    for labels in (y, y.astype(object), np.unique(y, return_inverse=True)[1], y == 'cat'):
        model = Centroids(shrink=0.2).fit(frame, labels)
        model.save(tmp_path / 'model.npz')
        for kind in (Centroids, Classifier, Estimator):
            back = kind.load(tmp_path / 'model.npz')
            assert type(back) is Centroids and back.get_params() == model.get_params()
            np.testing.assert_array_equal(back.predict_proba(frame), model.predict_proba(frame))
            assert (back.predict(frame) == model.predict(frame)).all()
            assert back.classes_.dtype == model.classes_.dtype
            assert list(back.feature_names_in_) == ['a', 'b', 'c']
    unfitted = Centroids(shrink=0.5)
    unfitted.save(tmp_path / 'unfitted.npz')
    assert repr(Centroids.load(tmp_path / 'unfitted.npz')) == repr(unfitted)
    with np.load(tmp_path / 'model.npz', allow_pickle=False) as file:
        assert 'meta' in file.files  # numbers and text: no code to run


class Client:
    "Like a handle on workers: it cannot be copied."

    def __deepcopy__(self, memo):
        raise TypeError('a client cannot be copied')


class Remote(Centroids):
    def __init__(self, shrink=0.0, client=None):
        self.shrink, self.client = shrink, client


def test_clone_keeps_the_client_and_the_metadata_request():
    import sklearn

    client = Client()
    with sklearn.config_context(enable_metadata_routing=True):
        model = Remote(0.2, client).set_score_request(sample_weight=True)
        twin = clone(model)
        assert twin.client is client and twin.shrink == 0.2
        assert twin.get_metadata_routing().score.requests['sample_weight'] is True
        twin.set_score_request(sample_weight=False)
        assert model.get_metadata_routing().score.requests['sample_weight'] is True


class Other(Estimator):
    def __init__(self, size=1, inner=None):
        self.size, self.inner = size, inner


def test_load_refuses_what_is_not_its_own(data, tmp_path):
    path = tmp_path / 'model.npz'
    Centroids().fit(*data).save(path)
    whole = path.read_bytes()
    refuses('holds a Centroids, not a Other; use Centroids.load', Other.load, path)
    refuses('does not exist', Centroids.load, tmp_path / 'none.npz', raises=FileNotFoundError)
    for bytes_ in (b'', b'PK', whole[:-30]):
        path.write_bytes(bytes_)
        refuses('is cut short or no model of ours', Centroids.load, path)
    import json

    from extreme_opt.core.serialize import pack, write_atomically

    def rewritten(**changes):
        with np.load(io.BytesIO(whole)) as file:
            content = dict(file)
        meta = json.loads(content['meta'].tobytes().decode()) | changes
        write_atomically(path, meta, {name: content[name] for name in content if name[0] == 'a'})
        return meta

    spec = rewritten(version=99)['model']
    refuses("format version 99, but this package reads 3", Centroids.load, path)
    rewritten(format='extreme_opt run')
    refuses("holds 'extreme_opt run', not 'extreme_opt model'", Centroids.load, path)
    for change, word in (
        ([*spec[:2], spec[2] | dict(strange=1), spec[3]], "a setting 'strange', which this"),
        (['os', 'system', {}, {}], 'names system of module os, which is not there'),
        (['subprocess', 'Popen', {}, {}], 'names Popen of module subprocess'),
        ([1, 2], 'cannot be read'),
        ([*spec[:3], {'x_': {'fields': ['extreme_opt.core.run', 'Run', {}]}}], 'cannot be read'),
        ([*spec[:3], {'x_': {'code': 'print(1)'}}], 'cannot be read'),
        ([*spec[:3], {'x_': {'fields': [pack.__module__, 'pack', {}]}}], 'names pack of module'),
    ):
        rewritten(model=change)
        refuses(word, Centroids.load, path)


def test_save_takes_nested_settings_and_refuses_code(data, tmp_path):
    from extreme_opt.core import SGD, LeastSquares, minimize

    run = minimize(LeastSquares(np.eye(3), np.ones(3)), SGD(0.1), max_iter=2)
    model = Other(size={'a': (1, 2.5, None)}, inner=Other(size=np.float32))
    model.run_, model.path_, model.solver_, model.random_ = (
        run,
        tmp_path / 'x',
        SGD(0.3),
        np.random.RandomState(2),
    )
    model.save(tmp_path / 'nested.npz')
    back = Other.load(tmp_path / 'nested.npz')
    assert back.size == {'a': (1, 2.5, None)} and back.inner.size == np.float32
    assert back.path_ == tmp_path / 'x' and back.solver_ == SGD(0.3)
    np.testing.assert_array_equal(back.run_.state.params, run.state.params)
    assert back.run_.message == run.message and back.run_.history == run.history
    assert back.random_.randint(99) == model.random_.randint(99)
    with pytest.raises(TypeError, match='Other.inner is a function, which'):
        Other(inner=lambda: 0).save(tmp_path / 'no.npz')
    assert not (tmp_path / 'no.npz').exists()


def test_row_weights():
    classes, labels = np.array(['a', 'b', 'c']), np.array([0, 0, 0, 1, 1, 2])
    assert checked_sample_weight(None, None, classes, labels) is None
    assert checked_sample_weight(2.0, None, classes, labels) is None
    from sklearn.utils.class_weight import compute_class_weight

    for weights in (None, np.arange(1.0, 7)):
        ours = checked_sample_weight(weights, 'balanced', classes, labels)
        n = np.ones(6, int) if weights is None else weights.astype(int)
        rows = np.repeat(classes[labels], n)  # a row of weight two stands there twice
        theirs = n * compute_class_weight('balanced', classes=classes, y=rows)[labels]
        np.testing.assert_allclose(ours, theirs / theirs.mean())
    np.testing.assert_allclose(
        checked_sample_weight([1, 0, 1, 1, 1, 1], {'c': 3.0}, classes, labels),
        np.array([1, 0, 1, 1, 1, 3]) * 6 / 7,
    )
    everyone = {'a': 2.0, 'b': 2, 'c': 4, 'd': 9}  # a fold without d
    np.testing.assert_allclose(
        checked_sample_weight(None, everyone, classes, labels),
        np.array([2, 2, 2, 2, 2, 4]) * 6 / 14,
    )
    for weights, per_class, word in (
        (None, {'a': 1, 'b': 1, 'd': 1}, "names 'd'"),
        (None, {'a': 'many'}, r"class_weight\['a'\] is 'many', but a number is needed"),
        ([1.0], None, 'has shape'),
        (np.full(6, np.nan), None, r'sample_weight\[0\] is nan'),
        (np.zeros(6), None, 'zero for every row'),
        (None, {'d': 1}, "names 'd'"),
        (None, 'even', 'neither None'),
        (None, {'a': -1.0}, 'no finite number'),
        ([0, 0, 0, 1, 1, 1], {'b': 0, 'c': 0}, 'leave no row'),
    ):
        refuses(word, checked_sample_weight, weights, per_class, classes, labels)


def test_memory_is_forecast(monkeypatch):
    from extreme_opt.core import memory

    monkeypatch.setattr(memory, 'free_memory', lambda: 10**9)
    said = 'Toy.fit needs about {} GB besides its data, but 1 GB are free; take fewer'
    refuses(said.format(3), check_memory, 3e9, 'Toy.fit', 'take fewer', raises=MemoryError)
    with pytest.warns(RuntimeWarning, match=said.format('1.1')):
        check_memory(1.1e9, 'Toy.fit', 'take fewer')
    refuses(
        said.format('2,800,000'), check_memory, 2.8e15, 'Toy.fit', 'take fewer', raises=MemoryError
    )
    held = types.SimpleNamespace(memory=lambda dtype: 0.8e9, dtype=np.float64)
    said = 'Estimator.fit needs about 1.6 GB'  # the state, and the next one
    refuses(said, run_estimator, Estimator(), held, None, raises=MemoryError)
    with no_warning():
        check_memory(1e9, 'Toy.fit')
        monkeypatch.setattr(memory, 'free_memory', lambda: None)
        check_memory(1e99, 'Toy.fit')
    monkeypatch.undo()
    assert free_memory() is None or 0 < free_memory() < 2**50


@pytest.mark.parametrize(
    'y',
    [
        np.array(['a', None, 'b'], object),
        ['a', float('nan'), 'b'],
        ('a', pd.NA, 'b'),
        np.array(['a', np.nan, 'b'], np.dtypes.StringDType(na_object=np.nan)),
        np.array(['a', None, 'b'], np.dtypes.StringDType(na_object=None)),
        np.array([1.0, np.nan, 2.0], object),
        pd.Series([1, None, 2], dtype='Int64'),
        np.array(['2020-01-01', 'NaT', '2020-01-02'], 'datetime64[D]'),
        np.array([1, 'NaT', 2], 'timedelta64[D]'),
        pd.Series(['a', pd.NA, 'b'], dtype='string'),
        pd.Series(['a', None, 'b'], dtype='category'),
        pd.Series([pd.NaT, pd.NaT, 1], dtype=object)[[2, 0, 1]],
    ],
)
def test_gaps_are_no_labels(y):
    refuses(r'^Input y contains .* at row 1; drop or fill it$', check_labels, y, 3)
    refuses('at row 1', lambda: Centroids().fit(np.eye(3), y))


def test_a_gap_among_features_is_named():
    X = pd.DataFrame(np.eye(3)).astype('Float64')
    X.iloc[1, 2] = pd.NA
    for given in (X, X.astype(object), X.to_numpy(object)):
        with pytest.raises(ValueError, match=r'^X holds .* at row 1, column 2; drop or fill it$'):
            Centroids().fit(given, [0, 1, 1])


def test_lazy_tables_are_to_be_collected():
    from extreme_opt.bound import BoundClassifier
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import SimilarityModel
    from extreme_opt.softmax import SoftmaxClassifier

    class LazyFrame:
        columns = ['a', 'b', 'c']

        def collect(self):
            raise NotImplementedError

    lazy = LazyFrame()
    pairs, triplets = np.array([[0, 0], [1, 1], [2, 1]]), [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    model, space = SimilarityModel(1).fit(pairs), OrdinalEmbedding(1, n_init=1).fit(triplets)
    for use in (
        lambda: SoftmaxClassifier().fit(lazy, [0, 1]),
        lambda: BoundClassifier().fit(lazy, [0, 1]),
        lambda: SimilarityModel(1).fit(lazy),
        lambda: model.evaluate(lazy),
        lambda: model.score_pairs(lazy),
        lambda: OrdinalEmbedding(1).fit(lazy),
        lambda: OrdinalEmbedding(1).fit(triplets, features=lazy),
        lambda: space.score(lazy),
        lambda: space.bootstrap(lazy),
    ):
        refuses(r'is a LazyFrame, .*\.collect\(\)$', use)


def test_settings_of_estimators_are_declared_once():
    from extreme_opt.bound import BoundClassifier, LinearChainCRF
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import EASE, ItemNeighbors, RP3beta, SimilarityModel
    from extreme_opt.softmax import SoftmaxClassifier

    elsewhere = {  # what depends on other settings or on the data
        *('random_state', 'checkpoint', 'client', 'class_weight', 'prior', 'sampler'),
        *('left', 'right', 'impute', 'row_weights', 'column_weights', 'columns', 'cold_start'),
        'metric',
    }
    kinds = [BoundClassifier, LinearChainCRF, OrdinalEmbedding, SoftmaxClassifier]
    for kind in [*kinds, SimilarityModel, EASE, ItemNeighbors, RP3beta]:
        names = set(kind().get_params())
        missing = names - set(kind._settings) - elsewhere
        if kind is OrdinalEmbedding:
            missing -= {'loss'}
        assert not missing, (kind, missing)
        assert set(vars(kind())) == names
        kind()._check_settings()
        for name in names & set(kind._settings):
            wrong = [object(), 10**400, 10**5000, 'no such word', np.nan, -1e9]
            wrong += [1.5][: 'a whole number' in kind._settings[name].need]
            if name in ('relevant', 'ridge_power', 'prior_weight'):
                wrong.remove(-1e9)
            for value in wrong[: 1 if name == 'verbose' else None]:
                said = refuses(f'^{name}=', lambda: kind(**{name: value})._check_settings())
                assert 'digits' not in said


@pytest.mark.parametrize('name', ['SoftmaxClassifier', 'BoundClassifier'])
def test_a_warm_start_keeps_the_names_of_columns(name):
    import extreme_opt.bound
    import extreme_opt.softmax

    made = getattr(extreme_opt.softmax, name, None) or getattr(extreme_opt.bound, name)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list('abc'))
    y = np.arange(60) % 3
    model = made(warm_start=True).fit(X, y)
    proba = model.predict_proba(X)
    for other in (X[list('cba')], X.rename(columns=str.upper)):
        refuses('column 0 of X is .* where the last fit had .a.;', model.fit, other, y)
    np.testing.assert_array_equal(model.predict_proba(X), proba)
    model.fit(X.to_numpy(), y)  # columns without names go by their place
