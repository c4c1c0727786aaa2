"SoftmaxClassifier as scikit-learn sees it, against scikit-learn's exact softmax, and at the edges."

import pickle
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from refusals import no_warning, refuses, unheard
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from extreme_opt.core.solver import State, Status
from extreme_opt.softmax import classifier, rates
from extreme_opt.softmax.averaging import AveragedSolver
from extreme_opt.softmax.classifier import SoftmaxClassifier, calibration_error, with_intercept
from extreme_opt.softmax.double_sum import DoubleSum
from extreme_opt.softmax.exact import ExactSGD, FullSoftmaxByColumn, SquaredHingeByColumn
from extreme_opt.softmax.implicit import ImplicitSGD
from extreme_opt.softmax.rates import choose_rate, search_size


def planted(n_samples=400, n_features=8, n_classes=6, noise=1.0, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_samples)
    X = 2 * rng.normal(size=(n_classes, n_features))[labels] + noise * rng.normal(
        size=(n_samples, n_features)
    )
    return X.astype(dtype), np.array([f'class {k}' for k in range(n_classes)])[labels]


SOLVERS = ('exact', 'implicit', 'umax', 'sgd', 'ove', 'nce', 'sampled', 'lbfgs')
STOCHASTIC = {
    f'check_sample_weight_equivalence_on_{kind}_data': 'rows of weight two are drawn more often'
    for kind in ('dense', 'sparse')
}


@pytest.mark.parametrize(
    'settings',
    [
        dict(),
        dict(solver='umax', learning_rate=0.03, ridge=1.0),
        dict(solver='sampled', learning_rate=1.0, n_negatives=1),
        dict(solver='lbfgs', ridge=1e-3, max_epochs=2000, tol=1e-9),
        dict(dtype='float64', n_negatives=1, average=True),
        dict(loss='squared_hinge'),
    ],
)
def test_scikit_learn_accepts_it(settings):
    expected = {} if settings.get('solver') == 'lbfgs' else STOCHASTIC
    with unheard():
        results = check_estimator(
            SoftmaxClassifier(**settings), on_fail=None, expected_failed_checks=expected
        )
    failed = {one['check_name']: one['exception'] for one in results if one['status'] == 'failed'}
    assert not failed, failed
    assert sum(result['status'] == 'passed' for result in results) > 40


@pytest.mark.parametrize('kind', ['float32', 'float64'])
def test_shapes_and_dtypes(kind):
    X, y = planted()
    model = SoftmaxClassifier(max_epochs=5, dtype=kind).fit(X, y)
    assert model.coef_.shape == (6, 8) and model.intercept_.shape == (6,)
    assert model.coef_.dtype == model.intercept_.dtype == kind
    scores = X @ model.coef_.T.astype(float) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-5, atol=1e-5)
    assert model.n_iter_ == 5 == len(model.run_.column('log_loss')) and model.n_features_in_ == 8


def test_probabilities_of_sparse_rows_sum_to_one_in_float64():
    "Closely enough that scikit-learn's log_loss does not warn, with float32 rows and weights."
    X, y = planted(noise=2.5, dtype=np.float32)
    model = SoftmaxClassifier(max_epochs=3, learning_rate=10.0).fit(X, y)
    proba = model.predict_proba(scipy.sparse.csr_array(X))
    assert proba.dtype == np.float64 and abs(proba.sum(1) - 1).max() < 1e-12


def test_no_intercept():
    X, y = planted()
    model = SoftmaxClassifier(max_epochs=3, fit_intercept=False).fit(X, y)
    assert (model.intercept_ == 0).all() and model.score(X, y) > 0.8


def test_x_is_not_copied_without_need():
    X, y = planted()
    rows, model = scipy.sparse.csr_array(X), SoftmaxClassifier(fit_intercept=False)
    model.classes_, model._height = np.unique(y), 0.0
    for features, values in ((X, X), (rows, rows.data)):
        problem = model._make_problem(features, np.unique(y, return_inverse=True)[1])
        held = (
            problem.features.data if scipy.sparse.issparse(problem.features) else problem.features
        )
        assert np.shares_memory(held, values)
    assert X.flags.writeable and rows.data.flags.writeable


def test_record_and_limits():
    X, y = planted()
    model = SoftmaxClassifier(max_iter=2, max_epochs=None).fit(X, y)
    assert model.n_iter_ == 2 and 'max_iter=2' in model.run_.message
    losses = SoftmaxClassifier(max_epochs=20).fit(X, y).run_.column('log_loss')
    assert losses[-1] < 0.7 * losses[0]
    stopped = SoftmaxClassifier(solver='umax', max_epochs=500, tol=0.05).fit(X, y)
    assert stopped.n_iter_ < 500


def test_a_generator_is_a_seed_and_none_is_another_each_time():
    X, y = planted()
    one, other, none = (
        SoftmaxClassifier(max_epochs=2, random_state=seed).fit(X, y).coef_
        for seed in (np.random.RandomState(3), np.random.RandomState(3), None)
    )
    np.testing.assert_array_equal(one, other)
    assert (one != none).any()


def test_warm_start_goes_on():
    X, y = planted(noise=2.0)
    model = SoftmaxClassifier(max_epochs=2, warm_start=True, learning_rate=0.1).fit(X, y)
    first = model.log_loss(X, y)
    for _ in range(4):
        model.fit(X, y)
    cold = SoftmaxClassifier(max_epochs=2, learning_rate=0.1).fit(X, y)
    assert model.log_loss(X, y) < first == pytest.approx(cold.log_loss(X, y))
    bare = SoftmaxClassifier(max_epochs=1, warm_start=True, fit_intercept=False).fit(X, y)
    assert bare.set_params(fit_intercept=True).fit(X, y).intercept_.any()


def test_partial_fit_learns_from_a_stream():
    X, y = planted(3000)
    model = SoftmaxClassifier()
    for k in range(0, 3000, 100):
        model.partial_fit(X[k : k + 100], y[k : k + 100], classes=np.unique(y))
    assert model.score(X, y) > 0.9 and model.n_iter_ == 30
    again = SoftmaxClassifier()
    for k in range(0, 3000, 100):
        again.partial_fit(X[k : k + 100], y[k : k + 100], classes=np.unique(y) if k == 0 else None)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    # a batch of one row, one class
    one = SoftmaxClassifier().partial_fit(X[:1], y[:1], classes=np.unique(y))
    assert one.predict(X[:1]) == y[:1]


def test_partial_fit_after_fit_keeps_what_was_learned():
    X, y = planted(noise=2.0)
    model = SoftmaxClassifier(max_epochs=20).fit(X, y)
    before = model.coef_.copy()
    model.set_params(learning_rate=1e-6).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, before, atol=1e-4)


ONE = dict(max_epochs=1)
WRONG_USE = {
    'first call of partial_fit needs all labels': lambda S, X, y: S().partial_fit(X, y),
    'which is not among the 2 classes': lambda S, X, y: S().partial_fit(X, y, classes=y[:2]),
    'classes differ': lambda S, X, y: (
        S().partial_fit(X, y, y).partial_fit(X, y, classes=['a', 'b'])
    ),
    'class_weight="balanced" needs all labels at once': lambda S, X, y: S(
        'nce', class_weight='balanced'
    ).partial_fit(X, y, y),
    'checkpoint': lambda S, X, y: S(checkpoint='x').partial_fit(X, y, classes=y),
    "y[0] is 0, but the classes of fit are text, such as 'class 0'": lambda S, X, y: (
        S(**ONE).fit(X, y).score(X, np.arange(60))
    ),
    'but the classes of fit are numbers, such as 0': lambda S, X, y: (
        S(**ONE).fit(X, np.arange(60) % 3).score(X, y)
    ),
    'fit_intercept=False, but the weights to go on from have intercepts': lambda S, X, y: (
        S(**ONE, warm_start=True).fit(X, y).set_params(fit_intercept=False).fit(X, y)
    ),
}


@pytest.mark.parametrize('words', WRONG_USE)
def test_wrong_use_is_one_line(words):
    refuses(words, lambda: WRONG_USE[words](SoftmaxClassifier, *planted(60)))


def test_a_search_of_the_rate_does_not_depend_on_the_limit_of_a_checkpoint(tmp_path):
    X, y = planted()
    auto = [
        SoftmaxClassifier('implicit', max_epochs=n, checkpoint=str(tmp_path / 'auto.npz')).fit(X, y)
        for n in (2, 6)
    ]
    assert auto[0].learning_rate_ == auto[1].learning_rate_ and auto[1].n_iter_ == 6


def test_copies_hold_the_weights_once(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 5000)).astype(np.float32)
    wide = SoftmaxClassifier(max_epochs=1).fit(rows, np.arange(20))
    wide.save(tmp_path / 'wide.npz')
    sizes = len(pickle.dumps(wide)), (tmp_path / 'wide.npz').stat().st_size
    assert max(sizes) < 1.2 * wide.run_.state.params.nbytes  # not once per view
    SoftmaxClassifier.load(tmp_path / 'wide.npz').partial_fit(np.eye(2, 5000), [0, 1])


@pytest.mark.parametrize('solver', SOLVERS)
def test_odd_data(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:5] = 0
    X[5:10] = X[10]
    y = np.append(np.repeat([0, 1, 2], 13), 9)  # a class with one member
    model = SoftmaxClassifier(solver, max_epochs=5).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all() and model.classes_.tolist() == [0, 1, 2, 9]
    two = SoftmaxClassifier(solver, max_epochs=5).fit(X[:2], [True, False])
    assert two.decision_function(X).shape == (40,) and two.coef_.shape == (2, 3)
    zeros = SoftmaxClassifier(solver, max_epochs=5).fit(np.zeros((6, 2)), [0, 0, 0, 0, 1, 1])
    assert np.isfinite(zeros.predict_proba(np.zeros((1, 2)))).all()


def test_scores_are_made_in_chunks(monkeypatch):
    X, y = planted()
    model, sizes = SoftmaxClassifier(max_epochs=2).fit(X, y), []
    scores = SoftmaxClassifier._scores
    monkeypatch.setattr(
        SoftmaxClassifier, '_scores', lambda self, X: sizes.append(X.shape[0]) or scores(self, X)
    )
    tall = scipy.sparse.csr_array((2_000_000, 8), dtype=np.float32)
    model.predict(tall)
    assert max(sizes) * 6 <= 2**22 and sum(sizes) == 2_000_000


def test_intercept_column_and_its_freedom():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * (rng.random((20, 3)) < 0.5)
    for rows in (
        scipy.sparse.csr_array(X),
        scipy.sparse.csr_array(X.astype(np.float32)),
        scipy.sparse.csr_matrix((20, 3)),
    ):
        wide = with_intercept(rows, 0.3)
        np.testing.assert_allclose(
            wide.toarray(), np.hstack([rows.toarray(), np.full((20, 1), 0.3)]), rtol=1e-6
        )
        assert wide.dtype == rows.dtype and wide.has_canonical_format
    problem = DoubleSum(
        with_intercept(X, 0.3), rng.integers(4, size=20), 4, ridge=0.2, n_unpenalized=1
    )
    plain = DoubleSum(problem.features, problem.labels, 4, ridge=0.2)
    params = rng.random(problem.init_params().size)
    free = problem.unpack(params)[0][:, -1]
    assert plain.loss(params) - problem.loss(params) == pytest.approx(
        20 * 0.1 * free @ free, rel=1e-6
    )
    assert plain.loss_on(params, np.arange(5)) - problem.loss_on(
        params, np.arange(5)
    ) == pytest.approx(20 * 0.1 * free @ free, rel=1e-6)


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_learns(solver):
    X, y = planted(600)
    for features in (X, scipy.sparse.csr_array(X)):
        model = SoftmaxClassifier(solver, max_epochs=15).fit(features, y)
        score, loss = model.score(features, y), model.log_loss(features, y)
        assert score > (0.9 if solver == 'nce' else 0.93) and loss < (
            0.7 if solver == 'nce' else 0.4
        ), (score, loss)


@pytest.mark.parametrize('solver', SOLVERS)
def test_weights_are_repetitions(solver):
    "A weight of zero is no row, and a heavy class is predicted more often."
    X, y = planted(300, noise=3.0)
    weights = np.where(y == 'class 0', 20.0, 1.0)
    weights[:50] = 0
    rates = (
        {}
        if solver == 'lbfgs'
        else dict(learning_rate=dict(umax=0.1, ove=0.1, sgd=0.001).get(solver, 1.0))
    )
    one = SoftmaxClassifier(solver, max_epochs=30, **rates).fit(X, y, sample_weight=weights)
    two = SoftmaxClassifier(solver, max_epochs=30, **rates).fit(X, y)
    assert (one.predict(X) == 'class 0').mean() > (two.predict(X) == 'class 0').mean()
    same = SoftmaxClassifier(solver, max_epochs=30, class_weight={'class 0': 20.0}, **rates).fit(
        X[50:], y[50:]
    )
    np.testing.assert_allclose(same.coef_, one.coef_, rtol=1e-5, atol=1e-5)


def test_lbfgs_has_no_partial_fit():
    with pytest.raises(AttributeError, match='partial_fit') as caught:
        getattr(SoftmaxClassifier('lbfgs'), 'partial_fit')  # noqa: B009
    assert 'needs all rows at once' in str(caught.value.__cause__)
    assert not hasattr(SoftmaxClassifier('lbfgs'), 'partial_fit')
    assert hasattr(SoftmaxClassifier(), 'partial_fit')


def test_rate_is_searched_on_training_rows_and_recorded():
    X, y = planted(3000)
    model = SoftmaxClassifier('implicit', max_epochs=10).fit(X, y)
    assert [row['rate'] for row in model.rate_search_] == [10.0**k for k in range(-3, 4)]
    # a third of the whole
    assert sum(row['rows'] * row['epochs'] for row in model.rate_search_) <= 3000 * 10 / 2
    best = min(row['log_loss'] for row in model.rate_search_)
    assert model.learning_rate_ == min(
        row['rate'] for row in model.rate_search_ if row['log_loss'] <= 1.02 * best
    )
    again = SoftmaxClassifier('implicit', max_epochs=10).fit(X, y)
    assert again.rate_search_ == model.rate_search_ and (again.coef_ == model.coef_).all()
    assert (
        SoftmaxClassifier('implicit', max_epochs=2, learning_rate=3.0).fit(X, y).learning_rate_
        == 3.0
    )
    # too few rows: the usual rate
    assert SoftmaxClassifier('implicit', max_epochs=2).fit(X[:60], y[:60]).rate_search_ == []


def test_a_search_sees_a_tenth_of_the_rows_for_half_the_work():
    assert search_size(30_000, 10.0) == (3000, 7)
    assert search_size(2000, 10.0) == (500, 2) and search_size(60, 2.0) == (8, 1)


@pytest.mark.parametrize('ridge', [0.0, 1e-8, 1.0, 100.0])
def test_searched_rate_with_a_ridge_has_a_limit(ridge):
    X, y = planted(3000)
    labels = np.unique(y, return_inverse=True)[1]
    problem = DoubleSum(X, labels, labels.max() + 1, ridge=ridge)
    rate, seen = choose_rate(problem, lambda rate: ImplicitSGD(rate, 5), 6)
    best = min(row['log_loss'] for row in seen)
    searched = min(row['rate'] for row in seen if row['log_loss'] <= 1.02 * best)
    limit = 3 / (ridge * 3000) if ridge else np.inf
    assert rate == pytest.approx(min(searched, limit))


def test_a_search_on_a_part_of_the_rows_asks_for_as_many_steps_on_all(monkeypatch):
    X, y = bags(800, 10)
    problem = FullSoftmaxByColumn(X, y, 10)
    part = problem.take(np.random.default_rng([0, 7]).permutation(800)[:200])

    def solver_at(rate, epochs):
        return ExactSGD(rate, rates.falling(epochs))

    found = rates.choose_schedule(part, solver_at, rate=0.03)
    monkeypatch.setattr(rates, 'LEAST_ROWS', 200)
    monkeypatch.setattr(rates, 'MOST_PRODUCTS', 1)
    of_all = rates.choose_schedule(problem, solver_at, rate=0.03)
    assert [row['log_loss'] for row in of_all[3]] == [row['log_loss'] for row in found[3]]
    assert found[1] == 48 and of_all[1] == 12
    assert rates.choose_schedule(problem, solver_at, n_epochs=5.0)[1] == 5


@pytest.mark.parametrize('ample', [1e-9, 1e9])
def test_margins_are_judged_beside_a_run_that_began_where_the_fit_does(monkeypatch, ample):
    "Means that are not taken may have the lower log-loss; their weights have another length."
    problem = FullSoftmaxByColumn(*bags(800, 10), 10)
    monkeypatch.setattr(rates, 'AMPLE', ample)
    monkeypatch.setattr(rates, '_mean_length', lambda *_: 5.0)
    best = {}
    tried = rates.choose_schedule(
        problem, lambda rate, epochs: ExactSGD(rate, rates.falling(epochs)), best=best
    )[3]
    (begin,) = best['weights']
    assert begin == (5.0 if ample > 1 else 0.0) == tried[-1]['mean_length']
    assert {row['mean_length'] for row in tried} == {0.0, 5.0}
    lowest = min(row['log_loss'] for row in tried if row['mean_length'] == begin)
    assert rates.sample_loss(best['judged'], best['weights'][begin]) == pytest.approx(lowest)


def test_margins_are_judged_on_rows_that_no_search_has_learned(monkeypatch):
    "Where a search sees a part of the rows, that of margins has to leave out the same."
    X, y = bags(800, 10)
    monkeypatch.setattr(rates, 'LEAST_ROWS', 200)
    monkeypatch.setattr(rates, 'MOST_PRODUCTS', 400 * (X.nnz / 800 * 10 + 1))
    judged = []
    for kind in (FullSoftmaxByColumn, SquaredHingeByColumn):
        best = {}
        rates.choose_schedule(
            kind(X, y, 10), lambda rate, epochs: ExactSGD(rate, rates.falling(epochs)), best=best
        )
        judged.append(best['judged'])
    assert 30 < judged[0].n_samples < 50  # about a fifth of half of what a search sees
    assert (judged[0].features != judged[1].features).nnz == 0


def test_the_usual_rate_follows_the_unit_of_the_rows():
    X, y = planted(200)
    for learn in ('fit', 'partial_fit'):
        rates_of = [
            getattr(SoftmaxClassifier('exact', learning_rate=None, max_epochs=1), learn)(
                unit * X, y, **(dict(classes=np.unique(y)) if learn == 'partial_fit' else {})
            ).learning_rate_
            for unit in (1.0, 16.0)
        ]
        assert rates_of[0] == pytest.approx(256 * rates_of[1])


def test_the_average_of_a_noisy_run_is_better_than_its_end():
    X, y = planted(400, noise=4.0, n_features=30)
    settings = dict(learning_rate_decay=1.0, ridge=0.01, learning_rate=3.0, max_epochs=30)
    mean, last = (SoftmaxClassifier(average=told, **settings).fit(X, y) for told in (True, False))

    def objective(model):
        return model.log_loss(X, y) + 0.005 * float((model.coef_.astype(float) ** 2).sum())

    assert objective(mean) < objective(last)


def test_several_labels_a_row():
    rng = np.random.default_rng(0)
    Y = rng.random((500, 12)) < 0.2
    Y[:, 11] = False  # a label that no row has
    X = (Y @ rng.normal(size=(12, 20)) + 0.5 * rng.normal(size=(500, 20))).astype(np.float32)
    model = SoftmaxClassifier(max_epochs=10).fit(X, Y)
    assert model.classes_.tolist() == list(range(12)) and model.precision_at_k(X, Y, 1) > 0.8
    by_hand = np.mean([Y[i, model.top_k(X, 3)[0][i]].mean() for i in range(500)])
    assert model.precision_at_k(X, Y, 3) == pytest.approx(by_hand)
    assert 0 < model.propensity_precision_at_k(X, Y, 3) <= 1 and model.propensities_.shape == (12,)
    heavy = SoftmaxClassifier(max_epochs=10, early_stopping=True).fit(
        X, Y, sample_weight=np.arange(500) % 2
    )
    assert np.isfinite(heavy.coef_).all()


def several(n=300, n_labels=6, seed=0):
    "Rows with zero to some labels that linear scores find."
    rng = np.random.default_rng(seed)
    Y = rng.random((n, n_labels)) < 0.3
    X = (Y @ rng.normal(size=(n_labels, 8)) + 0.3 * rng.normal(size=(n, 8))).astype(np.float32)
    return X, Y


def test_several_labels_in_every_form_are_the_same_labels():
    "Matrices, tables with names, sets, lists; a table is matched by its names afterwards."
    X, Y = several()
    names = np.array(['ash', 'birch', 'cedar', 'elm', 'fir', 'oak'])
    table = pd.DataFrame(Y.astype(int), columns=names)
    sets = [set(names[row]) for row in Y]
    settings = dict(solver='lbfgs', ridge=1e-3)
    right = SoftmaxClassifier(**settings).fit(X, Y)
    assert right.multilabel_ and right.classes_.tolist() == list(range(6))
    csr, coo = scipy.sparse.csr_matrix(Y), scipy.sparse.coo_array(Y.astype(float))
    for y in (Y.astype(int), csr, coo):
        np.testing.assert_array_equal(SoftmaxClassifier(**settings).fit(X, y).coef_, right.coef_)
    cases = [table, table.astype('Int64'), sets, list(map(sorted, sets)), pd.Series(sets)]
    cases += [np.array(list(map(frozenset, sets)), object)]
    for y in cases:
        model = SoftmaxClassifier(**settings).fit(X, y)
        np.testing.assert_allclose(model.coef_, right.coef_, atol=1e-3)
        assert model.classes_.tolist() == names.tolist()
        for again in (Y, scipy.sparse.csr_array(Y), table, table[names[::-1]], sets):
            assert model.score(X, again) == right.score(X, Y)
            assert model.log_loss(X, again) == pytest.approx(right.log_loss(X, Y), rel=1e-5)
            assert model.precision_at_k(X, again, 2) == right.precision_at_k(X, Y, 2)
    assert set(model.top_k(X, 1)[0].ravel()) <= set(names)
    column = SoftmaxClassifier(**settings).fit(X, Y.argmax(1))
    assert not column.multilabel_ and column.predict(X).shape == (300,)
    refuses('k and threshold concern rows with several labels', column.predict, X, k=2)


def test_several_labels_take_margins_unless_told_otherwise():
    X, Y = several(400)
    model = SoftmaxClassifier().fit(X, Y)
    assert model.settings_['loss'] == 'squared_hinge' and model._scale >= 1
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1, rtol=1e-6)
    assert model.precision_at_k(X, Y, 1) > 0.85
    weighted = SoftmaxClassifier(class_weight='balanced').fit(X, Y, np.arange(400) % 3)
    assert weighted.precision_at_k(X, Y, 1) > 0.8
    sparse = SoftmaxClassifier().fit(scipy.sparse.csr_array(X), scipy.sparse.csr_array(Y))
    assert sparse.settings_['loss'] == 'squared_hinge' and sparse.precision_at_k(X, Y, 1) > 0.8
    cases = [dict(loss='softmax'), dict(solver='exact'), dict(average=True)]
    cases += [dict(early_stopping=True, max_epochs=9), dict(weights='support')]
    for told in cases:
        other = SoftmaxClassifier(**told).fit(scipy.sparse.csr_array(X), Y)
        assert other.settings_.get('loss', 'softmax') == 'softmax' and other._scale == 1
    assert SoftmaxClassifier().fit(X, Y.argmax(1)).settings_['loss'] == 'softmax'
    again = clone(model).fit(X, Y).partial_fit(X, Y)  # goes on with margins
    assert again.log_loss(X, Y) < 1.1 * model.log_loss(X, Y)
    before = model.log_loss(X, Y)
    model.set_params(warm_start=True).fit(X, Y)
    assert model.log_loss(X, Y) < 1.1 * before
    model.set_params(loss='softmax').fit(X, Y)  # scores of margins are those it starts from
    assert model._scale == 1 and model.log_loss(X, Y) < before
    stream = SoftmaxClassifier(loss='squared_hinge')
    for batch in np.array_split(np.arange(400), 5) * 2:
        stream.partial_fit(X[batch], Y[batch])
    assert stream.precision_at_k(X, Y, 1) > 0.85


def test_which_labels_a_row_gets():
    "At least half as likely as the first; or the k first; or all from a probability on."
    X, Y = several()
    model = SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(1), 1)
    np.testing.assert_array_equal(model.predict(X), proba >= proba.max(1, keepdims=True) / 2)
    two = model.predict(X, k=2)
    assert (two.sum(1) == 2).all()
    np.testing.assert_array_equal(np.sort(model.top_k(X, 2)[0], 1).ravel(), two.nonzero()[1])
    np.testing.assert_array_equal(model.predict(X, threshold=0.25), proba >= 0.25)
    np.testing.assert_array_equal(
        model.predict(X, threshold=0.25, k=2), (proba >= 0.25) & (two == 1)
    )
    assert scipy.sparse.issparse(
        SoftmaxClassifier(max_epochs=2).fit(X, scipy.sparse.csr_array(Y)).predict(X)
    )
    pairs = SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X, Y[:, :2])  # two labels are two columns
    assert pairs.decision_function(X).shape == pairs.predict(X).shape == (300, 2)
    for bad in (dict(k=0), dict(k=7), dict(k=1.5), dict(threshold=0), dict(threshold=2)):
        refuses('labels to name|not in', model.predict, X, **bad)


def test_margins_name_as_many_labels_as_training_rows_have():
    "The first, and all from the score on at which rows of the fit have their number of labels."
    X, Y = several()
    for labels in (Y, scipy.sparse.csr_array(Y)):
        model = SoftmaxClassifier(loss='squared_hinge', random_state=0).fit(X, labels)
        scores, named = model.decision_function(X), model.predict(X)
        assert scipy.sparse.issparse(named) == scipy.sparse.issparse(labels)
        named = named if isinstance(named, np.ndarray) else named.toarray()
        least = model.settings_['least_score']
        n_named = (scores[Y.any(axis=1)] >= least).sum()  # rows without a label are left out
        assert abs(int(n_named) - int(Y.sum())) <= 1
        first = scores == scores.max(1, keepdims=True)
        np.testing.assert_array_equal(named, (scores >= least) | first)
        assert (model.predict(X, k=1).sum(1) == 1).all()
    proba = model.set_params(logit_adjustment=1.0).predict_proba(X)  # other scores, the usual rule
    half = proba >= proba.max(1, keepdims=True) / 2
    np.testing.assert_array_equal(model.predict(X).toarray(), half)


def test_measures_of_several_labels_are_those_of_scikit_learn():
    from sklearn import metrics

    X, Y = several()
    weights = np.random.default_rng(1).random(300)
    model = SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X[:200], Y[:200])
    guess = model.predict(X)
    assert model.score(X, Y, weights) == pytest.approx(
        metrics.accuracy_score(Y, guess, sample_weight=weights)
    )
    log_proba = model.predict_log_proba(X)
    assert model.log_loss(X, Y, weights) == pytest.approx(
        -(weights[:, None] * Y * log_proba).sum() / (weights @ Y.sum(1))
    )
    for measure in (metrics.hamming_loss, metrics.multilabel_confusion_matrix):
        assert np.isfinite(measure(Y, guess)).all()
    for scoring in ('f1_micro', 'f1_samples', 'jaccard_macro', 'average_precision', 'roc_auc'):
        assert 0 < metrics.get_scorer(scoring)(model, X, Y) <= 1, scoring
    assert metrics.label_ranking_average_precision_score(Y, model.predict_proba(X)) > 0.8
    sparse = SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X, scipy.sparse.csr_array(Y))
    assert 0.5 < metrics.get_scorer('f1_micro')(sparse, X, scipy.sparse.csr_array(Y)) <= 1


def test_several_labels_in_folds_grids_and_streams():
    from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

    X, Y = several()
    Y[:, 5] = np.arange(300) < 40  # a label that two of three folds of rows in order lack
    sparse = scipy.sparse.csr_array(Y)
    model = SoftmaxClassifier('lbfgs', ridge=1e-3)
    assert np.isfinite(cross_val_score(model, X, Y, cv=KFold(3))).all()
    for y in (Y, sparse):
        search = GridSearchCV(model, {'ridge': [1e-4, 1e-1]}, scoring='f1_micro', cv=3).fit(X, y)
        assert np.isfinite(search.cv_results_['mean_test_score']).all()
        assert search.best_score_ > 0.6
    assert cross_val_predict(model, X, Y, cv=3).shape == Y.shape
    streams = {
        'indicator': (Y, None),
        'sparse': (sparse, None),
        'sets': (np.array([frozenset(np.flatnonzero(row)) for row in Y], object), range(6)),
    }
    fits = {}
    for name, (y, classes) in streams.items():
        stream = fits[name] = SoftmaxClassifier(learning_rate=5.0)
        for batch in np.array_split(np.arange(300), 5) * 4:
            stream.partial_fit(X[batch], y[batch], classes=classes)
        np.testing.assert_array_equal(stream.coef_, fits['indicator'].coef_)
        np.testing.assert_array_equal(stream.label_counts_, 4 * Y.sum(0))
        assert stream.precision_at_k(X, Y, 1) > 0.8
    fits['sets'].fit(X, Y.argmax(1))  # a fit with one label per row forgets
    assert not fits['sets'].multilabel_ and not hasattr(fits['sets'], 'propensities_')


@pytest.mark.parametrize(
    'y, word',
    [
        ([{'a'}, {'b'}, None], r'y\[2\] is None, but other rows hold sets'),
        ([{'a'}, {'b'}, 'c'], r"y\[2\] is 'c', but other rows hold sets"),
        ([{'a'}, {'b', None}, set()], r'y\[1\] holds None, which is no label'),
        ([{'a'}, {'b', float('nan')}, set()], r'y\[1\] holds nan'),
        ([{'a'}, {'b', 1}, set()], 'cannot be sorted|mixed'),
        ([{'a'}, {'a'}, set()], 'y holds 1 label only'),
        ([set(), set(), set()], 'nothing to learn'),
        ([[0, 1], [1, 2], [1, 1]], 'more than 0 and 1: 2 at row 1, column 1'),
        (np.array([[0, 1], [1, np.nan], [1, 1]]), 'more than 0 and 1: nan at row 1, column 1'),
        ([[1, 2], [3], [1]], 'set of labels per row|several'),
    ],
)
def test_several_labels_that_mean_nothing(y, word):
    refuses(word, lambda: SoftmaxClassifier().fit(np.eye(3), y), raises=(ValueError, TypeError))


def test_a_label_without_training_rows_has_next_to_no_probability():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 8))
    several = (rows @ rng.normal(size=(8, 6)) > 0.8).astype(int)
    several[:, 5] = 0
    for settings in ({}, dict(logit_adjustment=1.0), dict(loss='softmax', ridge=1e-2)):
        model = SoftmaxClassifier(random_state=0, **settings).fit(rows, several)
        assert model.predict_proba(rows)[:, 5].max() < 1e-4
        assert not (model.top_k(rows, k=3)[0] == 5).any()
    for settings in (*map(dict, [[('solver', name)] for name in SOLVERS]), dict(weights='support')):
        X = scipy.sparse.csr_array(rows) if 'weights' in settings else rows
        model = SoftmaxClassifier(max_epochs=2, **settings)
        with unheard(ConvergenceWarning):
            assert model.fit(X, several).predict_proba(X)[:, 5].max() < 1e-10, settings
    stream = SoftmaxClassifier(loss='squared_hinge', random_state=0)
    stream.partial_fit(rows, several, classes=np.arange(6))
    assert stream.predict_proba(rows)[:, 5].max() > 1e-4  # it may come with the next batch
    assert stream.fit(rows, several).predict_proba(rows)[:, 5].max() < 1e-10


def test_labels_that_a_fit_with_several_has_not_seen():
    X, Y = several()
    names = np.array(list('abcdef'))
    sets = [set(names[row]) for row in Y]
    model = SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X, sets)
    strange = [row | {'z'} for row in sets]
    assert model.score(X, strange) == 0 and model.precision_at_k(X, strange, 1) > 0.8
    refuses('row 0 of y has a label that is not among the 6 of fit', model.log_loss, X, strange)
    refuses('y has 5 columns, but there are 6 labels', model.score, X, Y[:, :5])
    refuses('one label per row, where rows have several', lambda: model.score(X, Y.argmax(1)))
    stream = SoftmaxClassifier()
    refuses('classes is None', stream.partial_fit, X, sets)
    stream.partial_fit(X, sets, classes=names)
    refuses('row 0 of y has a label that is not among', stream.partial_fit, X, strange)
    with pytest.raises(ValueError, match='one label per row, unlike the first call'):
        stream.partial_fit(X, names[Y.argmax(1)])
    heavy = SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X, Y, sample_weight=np.arange(300) < 200)
    np.testing.assert_allclose(  # a row of weight 0 is a row left out
        heavy.coef_, SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X[:200], Y[:200]).coef_, atol=1e-3
    )


def test_calibration_error_is_zero_where_chances_are_true():
    rng = np.random.default_rng(0)
    probabilities = rng.random(20_000)
    assert (
        calibration_error(probabilities, rng.random(20_000) < probabilities)[0]
        < 0.03
        < calibration_error(probabilities, rng.random(20_000) < probabilities**3)[0]
    )
    refuses('one of each per answer', calibration_error, np.ones(3), np.ones(2))


SOME = ('exact', 'implicit', 'umax', 'nce', 'rotation', 'lbfgs')


@pytest.mark.parametrize('solver', SOME)
def test_weights_changed_by_hand_stay(solver, tmp_path):
    "What predict uses is what copies, files and the next fit use; views are stored once."
    import copy

    import joblib

    X, y = planted(200)
    model = SoftmaxClassifier(solver, max_epochs=3).fit(X, y)
    small = len(pickle.dumps(model))
    for change in (
        lambda model: setattr(model, 'intercept_', model.intercept_ + np.arange(6.0)),
        lambda model: setattr(model, 'coef_', model.coef_ / 2.5),
        lambda model: setattr(model, 'coef_', model.coef_[::-1]),
        lambda model: model.coef_.__imul__(2),
        lambda model: model.intercept_.__iadd__(np.arange(6, dtype=model.intercept_.dtype)),
    ):
        changed = copy.deepcopy(model)
        assert len(pickle.dumps(changed)) == small
        change(changed)
        right = changed.predict_proba(X)
        assert np.abs(right - model.predict_proba(X)).max() > 1e-3
        changed.save(tmp_path / 'model.npz')
        joblib.dump(changed, tmp_path / 'model.joblib')
        for again in (
            pickle.loads(pickle.dumps(changed)),
            copy.copy(changed),
            copy.deepcopy(changed),
            SoftmaxClassifier.load(tmp_path / 'model.npz'),
            joblib.load(tmp_path / 'model.joblib'),
        ):
            np.testing.assert_array_equal(again.predict_proba(X), right)
        ahead = changed.set_params(warm_start=True, learning_rate=1e-9, max_epochs=1)
        if solver != 'lbfgs':
            np.testing.assert_allclose(ahead.fit(X, y).predict_proba(X), right, atol=1e-3)


@pytest.mark.parametrize('n_classes', [2, 3])
def test_ridge_is_that_of_the_other_classifiers(n_classes):
    "C = 1 / (sum of weights * ridge), for two classes as for three."
    from extreme_opt.bound import BoundClassifier

    X, y = planted(200, n_classes=n_classes, noise=3.0, dtype=np.float64)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for ridge in (0.003, 0.1):
        C = 1 / (weights.sum() * ridge)
        ours = SoftmaxClassifier('lbfgs', ridge=ridge, tol=1e-9)
        bound = BoundClassifier(ridge=ridge, tol=1e-9)
        theirs = LogisticRegression(C=C, tol=1e-10, max_iter=5000)
        found = [
            each.fit(X, y, sample_weight=weights).predict_proba(X) for each in (ours, bound, theirs)
        ]
        np.testing.assert_allclose(found[0], found[1], atol=1e-5)
        np.testing.assert_allclose(found[0], found[2], atol=1e-5)


@pytest.mark.parametrize('solver', SOME)
def test_repeated_entries_are_their_sum(solver):
    X, y = planted(150, dtype=np.float64)
    whole = scipy.sparse.csr_array(X)
    values = np.stack([whole.data / 4, whole.data * 3 / 4], 1).ravel()
    parts = values, whole.indices.repeat(2), 2 * whole.indptr
    parts = scipy.sparse.csr_array(parts, shape=whole.shape)
    kept = parts.data.copy(), parts.indices.copy()
    models = [SoftmaxClassifier(solver, max_epochs=3).fit(rows, y) for rows in (whole, parts)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].predict_proba(whole), models[1].predict_proba(parts))
    np.testing.assert_array_equal(parts.data, kept[0])
    np.testing.assert_array_equal(parts.indices, kept[1])


def test_an_exact_fit_that_is_not_done_says_so():
    "By its limit, or where no step lowers the loss far from the optimum; and not where it is done."
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    with no_warning():
        done = SoftmaxClassifier('lbfgs', ridge=1e-3).fit(X, y)
    assert done.run_.message.startswith('gradient norm is at most')
    with pytest.warns(ConvergenceWarning, match='reached max_epochs=20; scale the columns of X'):
        SoftmaxClassifier('lbfgs', max_epochs=20).fit(X, y)
    for column in (1.7e9 + 1e7 * rng.normal(size=150), 1e8 + rng.normal(size=150)):
        with pytest.warns(ConvergenceWarning, match='still has a correlation of .* scale'):
            SoftmaxClassifier('lbfgs', ridge=1e-3).fit(np.c_[X, column], y)


@pytest.mark.parametrize('solver', SOME)
@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
def test_no_floating_point_error_is_raised(solver, kind):
    X, y = planted(150)
    with np.errstate(all='raise'):
        model = SoftmaxClassifier(solver, max_epochs=10).fit(kind(X), y)
        model.predict_proba(kind(X))
        model.log_loss(kind(X), y)


def test_early_stopping_changes_nothing_where_auto_chooses_the_length(monkeypatch):
    X, y = planted(400, noise=4.0)
    words, topics = bags(600, 10)
    sets = np.eye(10, dtype=int)[topics] | np.eye(10, dtype=int)[(topics + 1) % 10]
    for rows, labels in ((X, y), (words, topics), (words, sets)):
        plain, stops = (
            SoftmaxClassifier(early_stopping=told).fit(rows, labels) for told in (False, True)
        )
        np.testing.assert_array_equal(stops.coef_, plain.coef_)
        assert stops.settings_ == plain.settings_
        given = SoftmaxClassifier(early_stopping=True, max_epochs=3).fit(rows, labels)
        assert 'stopped' in given.settings_ and 'stopped' not in stops.settings_
    monkeypatch.setattr(classifier, '_MOST_PRODUCTS', 1)  # no search of the length there
    many = SoftmaxClassifier(early_stopping=True, weights='dense').fit(words, topics)
    assert many.settings_['solver'] == 'implicit' and 'stopped' in many.settings_


@dataclass(frozen=True)
class Count:
    "A solver whose only parameter counts steps."

    learning_rate: float = 1.0
    learning_rate_decay: float = 0.5
    requires: ClassVar = object

    def init(self, problem, params):
        return State(params=params.copy())

    def step(self, problem, state, rng):
        return state.advance(state.params + 1, n_epochs=1.0)


@pytest.mark.parametrize(
    ('losses', 'n_iter', 'kept'),
    [
        (lambda t: np.array([5.0, 5.0]) + abs(t - 3), 11, 3),  # worse on every row: stop, go back
        (lambda t: 5.0 + abs(t - 3), 11, 3),  # the same of a judge that tells the mean
        (lambda t: np.array([5.0, 5.0]) + max(3 - t, 0), 11, 3),  # no gain, and no noise
        (lambda t: np.array([5.0, 5.0 + 3 * abs(t - 3)]), 30, 30),  # one row of two: noise
        (lambda t: np.array([5.0, 5.0]) - t, 30, 30),
        (lambda t: np.array([5.0, np.nan if t > 3 else 4.0 - t]), 11, 3),
    ],
)
def test_a_run_stops_where_it_is_clearly_worse_than_its_lowest(losses, n_iter, kept):
    judged = AveragedSolver(
        Count(), judge=lambda problem, params: losses(params[0]), n_iter_no_change=4
    )
    state = judged.init(None, np.zeros(1))
    while state.n_iter < 30 and not state.status:
        state = judged.step(None, state, None)
    assert (state.n_iter, state.best_step) == (n_iter, kept) and state.best == [kept]
    if n_iter < 30:  # from the third step on, to a fiftieth in four more
        assert state.closing_from == 3 and state.lowest_step == 3
        last = judged._closing(replace(state, closing=4))
        assert last.learning_rate == pytest.approx(0.25 / 50)


@pytest.mark.parametrize('solver', ['implicit', 'umax', 'exact', 'support'])
def test_a_fit_that_stops_takes_the_rate_of_one_that_does_not(solver):
    X, y = planted(400, noise=4.0)
    given = dict(weights=solver) if solver == 'support' else dict(solver=solver)
    X = scipy.sparse.csr_array(X) if solver == 'support' else X
    plain, stops = (SoftmaxClassifier(early_stopping=told, **given).fit(X, y) for told in (0, 1))
    assert stops.rate_search_ == plain.rate_search_ and plain.rate_search_
    assert stops.learning_rate_ == plain.learning_rate_


def test_a_fit_that_never_stops_is_that_of_all_rows():
    X, y = planted(400)
    for weights, rows in (('dense', X), ('support', scipy.sparse.csr_array(X))):
        given = dict(learning_rate=0.1, max_epochs=4, weights=weights)
        plain, stops = (
            SoftmaxClassifier('implicit', early_stopping=told, **given).fit(rows, y)
            for told in (0, 1)
        )
        assert stops.settings_.pop('stopped') is False and stops.settings_ == plain.settings_
        assert abs(stops.coef_ - plain.coef_).max() == 0


def test_weights_on_a_support_that_stop_are_those_of_the_rows_they_had():
    X, y = bags(600)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.5, rng.integers(40, size=600), y)
    given = dict(weights='support', learning_rate=100.0, max_epochs=40, n_iter_no_change=1)
    given |= dict(learning_rate_decay=1.0)
    plain, stops = (
        SoftmaxClassifier(early_stopping=told, **given).fit(X, y) for told in (False, True)
    )
    assert stops.settings_['stopped'] and stops.coef_.nnz < plain.coef_.nnz
    assert stops.n_iter_ < 40 and stops.predict(X).shape == (600,)


def test_early_stopping_tells_when_the_first_epoch_was_best():
    X, y = planted(400, noise=6.0, n_features=40)
    fit = SoftmaxClassifier(early_stopping=True, learning_rate=300.0, max_epochs=8)
    with pytest.warns(ConvergenceWarning, match='epochs the first was best on the rows held out'):
        fit.fit(X, y)
    assert fit.run_.state.best_step == 1


def test_weights_that_cannot_be_held_are_refused_first(monkeypatch):
    from extreme_opt.core import memory

    monkeypatch.setattr(memory, 'free_memory', lambda: 2 * 10**9)
    n = 100_000
    X = scipy.sparse.csr_array((np.ones(n, np.float32), np.arange(n), np.arange(n + 1)))
    for settings, third in (
        (dict(), 'a machine with more memory'),
        (dict(dtype='float64'), 'dtype="float32"'),
        (dict(solver='lbfgs'), 'a sampled solver, in float32'),
    ):
        with pytest.raises(MemoryError) as caught:
            SoftmaxClassifier(weights='dense', **settings).fit(X, np.arange(n))
        said = str(caught.value)
        assert 'the weights of 100,000 classes x 100,000 columns take' in said and third in said
        assert '2 GB are free' in said and 'fewer columns' in said and 'fewer classes' in said
    with pytest.raises(MemoryError, match='40 GB as float32'):
        model = SoftmaxClassifier(weights='dense')
        model.partial_fit(X, np.arange(n), classes=np.arange(n))


def test_exact_takes_the_road_of_the_softmax_itself():
    "Sparse and dense rows, weights, ridge, checkpoints, streams; another solver may go on."
    X, y = planted(300, noise=2.5)
    exact = SoftmaxClassifier('lbfgs', ridge=0.05, fit_intercept=False).fit(X, y)
    settings = dict(ridge=0.05, learning_rate=0.05, learning_rate_decay=0.9, max_epochs=60)
    model = SoftmaxClassifier('exact', fit_intercept=False, **settings)
    model.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.02)
    sparse = clone(model).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(X), model.predict_proba(X), atol=1e-3)
    went_on = clone(exact).set_params(solver='exact', warm_start=True, max_epochs=1)
    went_on.fit(X, y)  # from nothing
    first = went_on.predict_proba(X)
    went_on.set_params(solver='lbfgs', max_epochs='auto').fit(X, y)
    np.testing.assert_allclose(went_on.predict_proba(X), exact.predict_proba(X), atol=1e-4)
    again = pickle.loads(pickle.dumps(went_on.set_params(solver='exact')))
    np.testing.assert_array_equal(again.predict_proba(X), went_on.predict_proba(X))
    assert np.abs(first - exact.predict_proba(X)).max() > 0.01


def test_auto_chooses_and_says_what():
    X, y = planted(2000, noise=4.0, n_features=20)
    fresh, truth = X[1500:], y[1500:]
    X, y = X[:1500], y[:1500]
    best = LogisticRegression(C=0.1).fit(X, y).predict_proba(fresh)
    exact = -np.log(best[np.arange(500), np.searchsorted(np.unique(y), truth)]).mean()
    words = np.random.default_rng(0).integers(3, 60, size=1500)
    words[::2] = np.unique(y, return_inverse=True)[1][::2]
    for rows, solver in ((X, 'lbfgs'), (scipy.sparse.csr_array(np.eye(60)[words]), 'exact')):
        model = SoftmaxClassifier().fit(rows, y)
        chosen = model.settings_
        assert chosen['solver'] == solver and model.scales_ is None
        assert pickle.loads(pickle.dumps(model)).settings_ == chosen
        if solver == 'lbfgs':
            assert model.log_loss(fresh, truth) < 1.02 * exact
            least = min(model.rate_search_, key=lambda row: row['log_loss'])['ridge']
            assert 0.3 * least < chosen['ridge'] < 3 * least
            continue
        assert chosen['learning_rate'] == model.learning_rate_
        assert chosen['max_epochs'] == model.n_iter_ == model.run_.state.n_epochs
        model = SoftmaxClassifier(loss='softmax').fit(rows, y)
        share = chosen.pop('margin_share')
        assert model.settings_ == chosen and 0 <= share <= 1
        again = SoftmaxClassifier(**chosen).fit(rows, y)
        np.testing.assert_array_equal(again.coef_, model.coef_)  # every number can be set by hand
        assert again.rate_search_ == []
        scaled = SoftmaxClassifier().fit(1000 * rows, y)
        assert scaled.learning_rate_ == pytest.approx(chosen['learning_rate'] / 1e6, rel=1e-4)
        np.testing.assert_allclose(
            scaled.predict_proba(1000 * rows), model.predict_proba(rows), atol=1e-3
        )


def bags(n_rows, n_classes=40, seed=0):
    "Rows of words, a third of them from ten words of the class."
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    words = np.where(
        rng.random((n_rows, 9)) < 1 / 3,
        10 * y[:, None] + rng.integers(10, size=(n_rows, 9)),
        rng.integers(10 * n_classes, size=(n_rows, 9)),
    )
    cells = np.ones(words.size), (np.repeat(np.arange(n_rows), 9), words.ravel())
    rows = scipy.sparse.csr_array(cells, shape=(n_rows, 10 * n_classes))
    rows.sum_duplicates()  # old versions of scipy keep them
    return rows, y


def told_plainly(n_classes=40, seed=0):
    "Rows of words, some of them from six words of the class, out of many; twelve rows a class."
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(12 * n_classes) % n_classes)
    own, all_words = rng.integers(2000, size=(n_classes, 20)), (len(y), 30)
    mine = own[y[:, None], rng.integers(20, size=all_words)]
    words = np.where(rng.random(all_words) < 0.25, mine, rng.integers(2000, size=all_words))
    cells = np.ones(words.size), (np.repeat(np.arange(len(y)), 30), words.ravel())
    rows = scipy.sparse.csr_array(cells, shape=(len(y), 2000))
    rows.sum_duplicates()
    return rows, y


def test_a_fit_begins_at_class_means_where_they_are_far_ahead(monkeypatch):
    X, y = told_plainly()
    model = SoftmaxClassifier(margin_share=0.0).fit(X[100:], y[100:])
    assert model.settings_['mean_length'] > 0 and model.settings_['max_epochs'] == 1
    named = SoftmaxClassifier('exact').fit(X[100:], y[100:])
    assert named.settings_['mean_length'] == model.settings_['mean_length']
    several = SoftmaxClassifier(loss='softmax').fit(X, np.eye(40)[y])
    assert several.settings_['mean_length'] > 0
    monkeypatch.setattr(rates, '_mean_length', lambda *_: 0.0)
    zero = SoftmaxClassifier(margin_share=0.0).fit(X[100:], y[100:])
    assert 'mean_length' not in zero.settings_
    assert model.log_loss(X[:100], y[:100]) < zero.log_loss(X[:100], y[:100]) + 0.05
    monkeypatch.undo()
    for settings in (dict(learning_rate=10.0), dict(max_epochs=3), dict(ridge=1e-4)):
        assert 'mean_length' not in SoftmaxClassifier(**settings).fit(X, y).settings_
    X, y = bags(800, 10)
    y = np.random.default_rng(0).permutation(y)  # nothing to learn
    assert 'mean_length' not in SoftmaxClassifier().fit(X, y).settings_


def test_weights_that_point_to_class_means():
    X, y = bags(300, 10)
    counts = np.random.default_rng(1).random(300)
    X = with_intercept(X, 0.1)
    problem = FullSoftmaxByColumn(X, y, 11, sample_weight=counts, n_unpenalized=1)
    (weights,) = problem.unpack(rates._start_at_means(problem, 3.0))
    for k in range(10):
        mean = (counts[y == k] @ X.toarray()[y == k])[:-1]
        np.testing.assert_allclose(weights[k, :-1], 3 * mean / np.linalg.norm(mean), rtol=1e-5)
    assert not weights[10].any() and not weights[:, -1].any()
    groups = np.arange(300) // 3  # rows of a group are held out together
    for each in (None, groups):
        assert rates._mean_length(problem, each, 0) > 0
    assert rates._mean_length(problem.take(np.arange(100)), None, 0) == 0  # too few to judge by


@pytest.mark.parametrize(
    'settings',
    [
        {},
        dict(loss='squared_hinge'),
        dict(ridge=1e-3),
        dict(solver='exact', early_stopping=True, learning_rate=3.0),
    ],
)
def test_columns_without_entries_take_no_time_and_change_nothing(settings, monkeypatch, tmp_path):
    X, y = bags(600, 10)
    columns = np.sort(np.random.default_rng(0).choice(9000, X.shape[1], replace=False))
    cells = X.data, columns[X.indices].astype(np.int32), X.indptr
    wide = scipy.sparse.csr_array(cells, shape=(600, 9000))
    model = SoftmaxClassifier(**settings).fit(wide, y)
    with monkeypatch.context() as patch:
        patch.setattr(classifier, '_filled', lambda rows: None)
        whole = SoftmaxClassifier(**settings).fit(wide, y)
    assert model.run_.state.params.size < whole.run_.state.params.size / 50
    assert model.settings_ == whole.settings_ and model.n_features_in_ == 9000
    assert model.coef_.shape == (10, 9000) and model.coef_.dtype == whole.coef_.dtype
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)
    np.testing.assert_array_equal(model.predict_proba(wide), whole.predict_proba(wide))
    model.save(tmp_path / 'model.npz')
    for same in (SoftmaxClassifier.load(tmp_path / 'model.npz'), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.coef_, whole.coef_)
    if settings:
        return
    further = wide[:, ::-1].tocsr()  # columns that had no entries
    for each in (model, whole):
        each.partial_fit(further, y)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.coef_[:, further.indices].any()
    for each in (model, whole):
        each.set_params(warm_start=True).fit(wide, y)
    np.testing.assert_array_equal(model.coef_, whole.coef_)


@pytest.mark.parametrize('units', [(1, 1000, 0.01, 1, 50), (1, 1, 1, 1, 1)])
def test_auto_counts_the_columns_that_have_entries(units, tmp_path):
    "A slice of a wide table of sparse rows is as good as its own few columns."
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 5))
    y = (Z @ rng.normal(size=(5, 4)) + 0.3 * rng.normal(size=(500, 4))).argmax(1)
    Z = Z * units + np.multiply(units, (0, 5, 0, 0, 2))
    columns = np.array([5, 777, 20_000, 40_000, 65_000])

    def wide(rows, columns=columns):
        cells = rows.ravel(), np.tile(columns, len(rows)), np.arange(len(rows) + 1) * rows.shape[1]
        return scipy.sparse.csr_array(cells, shape=(len(rows), 2**16))

    train, test = slice(0, 400), slice(400, 500)
    cut = SoftmaxClassifier().fit(Z[train], y[train])
    model = SoftmaxClassifier().fit(wide(Z[train]), y[train])
    assert model.settings_ == cut.settings_ and model.settings_['solver'] == 'lbfgs'
    assert model.run_.state.params.size == 4 * 6 and model.coef_.shape == (4, 2**16)
    assert (cut.scales_ is None) == (model.scales_ is None) == (units[1] == 1)

    def same(rtol=1e-9):
        np.testing.assert_allclose(model.coef_[:, columns], cut.coef_, rtol, 1e-12)
        np.testing.assert_allclose(model.intercept_, cut.intercept_, rtol)
        assert np.count_nonzero(model.coef_.any(0)) == 5

    same()
    assert model.log_loss(wide(Z[test]), y[test]) == pytest.approx(cut.log_loss(Z[test], y[test]))
    model.save(tmp_path / 'model.npz')
    again = SoftmaxClassifier.load(tmp_path / 'model.npz')
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).coef_, model.coef_)
    for each, rows in (cut, Z[train]), (model, wide(Z[train])):
        each.partial_fit(rows, y[train])
    same(1e-4)  # steps in float32
    for each, rows in (cut, Z[train]), (model, wide(Z[train])):
        each.set_params(warm_start=True).fit(rows, y[train])
    same(1e-4)
    more = wide(np.hstack([Z[train], np.eye(4)[y[train]]]), [*columns, 1, 2, 3, 4])
    for other in (more, scipy.sparse.csr_array(np.eye(400, 2**16, 100))):
        np.testing.assert_array_equal(model.partial_fit(other, y[train]).coef_.any(0)[1:5], True)
        assert np.isfinite(model.fit(other, y[train]).log_loss(other, y[train]))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.coef_, model.coef_)
    assert model.coef_[:, 100:500].any() and model.coef_[:, columns].any()


def test_margins_are_blended_in_where_log_loss_bears_it():
    X, y = bags(2000)
    fresh, truth = bags(2000, seed=1)
    model, plain = SoftmaxClassifier().fit(X, y), SoftmaxClassifier(loss='softmax').fit(X, y)
    assert 0 < model.settings_['margin_share'] <= 1 and 'margin_share' not in plain.settings_
    assert model.log_loss(fresh, truth) < 1.02 * plain.log_loss(fresh, truth)
    assert model.score(fresh, truth) > plain.score(fresh, truth) - 0.01
    np.testing.assert_allclose(model.predict_proba(fresh).sum(1), 1, rtol=1e-5)
    weighted = SoftmaxClassifier(class_weight='balanced', fit_intercept=False)
    assert weighted.fit(X, y, np.arange(2000) % 3).score(fresh, truth) > 0.5
    on = SoftmaxClassifier(warm_start=True).fit(X, y)
    before = on.coef_.copy()
    assert on.fit(X, y).score(fresh, truth) > 0.5 and (on.coef_ != before).any()
    assert on.partial_fit(fresh, truth).score(fresh, truth) > 0.5


@pytest.mark.parametrize('whole', [False, True])
@pytest.mark.parametrize('hinge', [False, True])
def test_an_interrupt_ends_a_fit_wherever_it_comes(monkeypatch, hinge, whole):
    "In the search of a fit, in the fit, in the search of margins, and while these are fitted."
    X, y = bags(600, 10)
    monkeypatch.setattr(rates, '_mean_length', lambda *_: 0.0)  # fits of more than one epoch
    step = ExactSGD.step

    def interrupted(self, problem, state, rng):
        here = isinstance(problem, SquaredHingeByColumn), problem.n_samples == 600
        if here == (hinge, whole) and state.n_iter:
            raise KeyboardInterrupt
        return step(self, problem, state, rng)

    plain = SoftmaxClassifier(loss='softmax').fit(X, y)
    monkeypatch.setattr(ExactSGD, 'step', interrupted)
    model = SoftmaxClassifier()
    if not hinge and not whole:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert not hasattr(model, 'run_')
        return
    model.fit(X, y)
    assert model.run_.status is Status.INTERRUPTED and 'margin_share' not in model.settings_
    assert 'interrupted' in model.run_.message
    assert (model.coef_ == plain.coef_).all() == hinge


@pytest.mark.parametrize(
    'told',
    [
        dict(loss='softmax'),
        dict(solver='exact'),
        dict(learning_rate=1.0),
        dict(max_epochs=5),
        dict(max_iter=5),
        dict(ridge=0.0),
        dict(average=True),
        dict(early_stopping=True, max_epochs=9),
        dict(weights='support'),
    ],
)
def test_margins_are_not_blended_into_a_fit_set_by_hand(told):
    X, y = bags(600, 10)
    model = SoftmaxClassifier(**told).fit(X, y)
    assert 'margin_share' not in model.settings_


def test_the_share_of_margins_is_the_largest_that_log_loss_bears():
    from extreme_opt.softmax import FullSoftmaxByColumn
    from extreme_opt.softmax.rates import choose_share

    X, y = bags(400, 10)
    judged = FullSoftmaxByColumn(X, y, 10)
    right = np.zeros((10, 100))
    right[np.arange(100) // 10, np.arange(100)] = 1.8  # of a length that these rows bear
    assert choose_share(judged, right, 100 * np.roll(right, 1, 0)) == (0.0, 1.0)
    assert choose_share(judged, -right, right)[0] == 1.0
    share, factor = choose_share(judged, right, 4 * right)  # one direction, another length
    same = choose_share(judged, right, right)[1]
    assert share == 1.0 and 4 * factor == pytest.approx(same, rel=0.01)
    assert 0 < choose_share(judged, right, right / 4)[0] < 1  # a factor above 1.5 ends it
    few = FullSoftmaxByColumn(X[:10], y[:10], 10)
    assert choose_share(few, right, right) == (0.0, 1.0)
    assert choose_share(judged, right, 4 * right, 0.5)[0] == 0.5
    assert choose_share(few, right, right, 0.5) == (0.5, 1.0)
    noisy = right + np.random.default_rng(0).normal(scale=3, size=right.shape)
    some = FullSoftmaxByColumn(X[:30], y[:30], 10)
    assert choose_share(some, right, noisy)[0] <= choose_share(judged, right, noisy)[0]


@pytest.mark.parametrize('n_rows', [600, 60])  # rows to judge by, or too few
def test_the_share_of_margins_can_be_set_by_hand(monkeypatch, n_rows):
    X, y = bags(n_rows, 10)
    plain, half = (SoftmaxClassifier(margin_share=s).fit(X, y) for s in (0, 0.5))
    assert half.settings_['margin_share'] == 0.5 and 'margin_share' not in plain.settings_
    alone = SoftmaxClassifier(loss='softmax').fit(X, y)
    np.testing.assert_array_equal(plain.coef_, alone.coef_)
    assert (half.coef_ != plain.coef_).any()
    monkeypatch.setattr(classifier, 'MOST_PRODUCTS', 1)
    assert 'margin_share' not in SoftmaxClassifier().fit(X, y).settings_
    over = SoftmaxClassifier(margin_share=0.5).fit(X, y)  # asked for, so of any size
    np.testing.assert_array_equal(over.coef_, half.coef_)


def test_a_share_of_margins_that_cannot_be_had_is_refused():
    X, y = bags(200, 10)
    refuses('margin_share=1.5', SoftmaxClassifier(margin_share=1.5).fit, X, y)
    model = SoftmaxClassifier(margin_share=0.5)
    sets = np.eye(10, dtype=int)[y] | np.eye(10, dtype=int)[(y + 1) % 10]
    for rows, labels in ((X.toarray(), y), (X, y > 4), (X, sets)):
        refuses('sparse rows with one label of three or more', model.fit, rows, labels)


def test_the_factor_of_margins_is_that_of_a_run_as_long_as_the_fit():
    X, y = bags(1500)
    model = SoftmaxClassifier(loss='squared_hinge').fit(X, y)
    last = model.rate_search_[-1]
    assert last['epochs'] == model.settings_['max_epochs'] and last['scale'] == model._scale
    assert last['rate'] == model.learning_rate_


def test_auto_takes_a_support_of_sparse_rows_with_too_many_products(monkeypatch):
    X, y = bags(600, 10)
    X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(600, 20_000))
    assert SoftmaxClassifier().fit(X, y).settings_['solver'] == 'exact'
    monkeypatch.setattr(classifier, '_MOST_PRODUCTS', X.nnz * 10 - 1)
    model = SoftmaxClassifier().fit(X, y)
    assert model.settings_['weights'] == 'support' and model.settings_['solver'] == 'implicit'
    assert 'products' in model.settings_['reason'] and scipy.sparse.issparse(model.coef_)
    assert model.score(X, y) > 0.5
    dense = SoftmaxClassifier(weights='dense').fit(X, y)
    assert dense.settings_['solver'] == 'implicit' and isinstance(dense.coef_, np.ndarray)


def test_rows_without_entries_get_the_shares_of_the_classes():
    "Nothing to learn from is no reason to move off the class frequencies."
    y = np.random.default_rng(0).integers(3, size=400)
    model = SoftmaxClassifier().fit(scipy.sparse.csr_array((400, 2**10)), y)
    found = model.predict_proba(scipy.sparse.csr_array((1, 2**10)))[0]
    np.testing.assert_allclose(found, np.bincount(y) / 400, atol=1e-4)


def test_stored_zeros_are_no_entries():
    "Masks and thresholds leave them; the fit is that of the same rows without them."
    rng = np.random.default_rng(0)
    X, y = planted(n_features=5)
    rows, columns = rng.integers(len(X), size=200), rng.integers(5, 2**14, size=200)
    cells = scipy.sparse.coo_array(X)
    zeros = scipy.sparse.csr_array(
        (
            np.r_[cells.data, np.zeros(200, X.dtype)],
            (np.r_[cells.row, rows], np.r_[cells.col, columns]),
        ),
        shape=(len(X), 2**14),
    )
    plain, found = SoftmaxClassifier().fit(X, y), SoftmaxClassifier().fit(zeros, y)
    np.testing.assert_allclose(found.predict_proba(zeros), plain.predict_proba(X), atol=1e-6)
    assert zeros.nnz == X.size + 200


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize('solver', ['exact', 'implicit', 'umax'])
def test_named_solvers_tell_of_columns_with_different_units(solver, kind):
    X, y = planted()
    settings = dict(learning_rate=0.01, max_epochs=2)
    with no_warning():
        SoftmaxClassifier(solver, **settings).fit(kind(X), y)
    X[:, 0] *= 1e5
    with pytest.warns(ConvergenceWarning, match='different units.*scale the columns of X') as told:
        SoftmaxClassifier(solver, **settings).fit(kind(X), y)
    assert '\n' not in str(told[0].message)
    with no_warning():
        assert SoftmaxClassifier().fit(kind(X), y).score(kind(X), y) > 0.9


def test_auto_keeps_what_is_given():
    X, y = planted(400, noise=4.0)
    cases = [dict(learning_rate=0.01), dict(max_epochs=4), dict(max_iter=3), dict(average=True)]
    cases += [dict(early_stopping=True), dict(ridge=1e-3), dict(n_jobs=-1), dict(n_jobs=2)]
    cases.append(dict(learning_rate=0.01, max_epochs=2, learning_rate_decay=0.5))
    for given in cases:
        model = SoftmaxClassifier('auto', **given).fit(X, y)
        assert model.score(X, y) > 0.3
        if 'learning_rate' in given:
            assert model.settings_['learning_rate'] == 0.01
        assert model.settings_['ridge'] == given.get('ridge', model.settings_['ridge'])
        batch = model.settings_['solver'] == 'lbfgs'
        assert batch == (set(given) <= {'ridge', 'n_jobs', 'early_stopping'})
        assert batch or model.n_iter_ <= given.get('max_epochs', given.get('max_iter', 50))
    words = scipy.sparse.csr_array(np.eye(40)[np.arange(30)])
    few = SoftmaxClassifier().fit(words, y[:30])
    assert few.rate_search_ == [] and few.settings_['max_epochs'] == 12


def test_auto_does_not_mind_the_units_of_columns():
    "A year, a time stamp and a price beside numbers of size one; dense and sparse rows."
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 5))
    y = np.array(['a', 'b', 'c'])[
        (Z @ rng.normal(size=(5, 3)) + rng.gumbel(size=(500, 3))).argmax(1)
    ]
    units = np.array([1, 10, 3e7, 1e6, 1e-3])
    X = Z * units + [0, 2000, 1.7e9, 3e6, 0]
    train, test = slice(0, 350), slice(350, 500)
    plain = SoftmaxClassifier().fit(Z[train], y[train])
    mixed = SoftmaxClassifier().fit(X[train], y[train])
    np.testing.assert_allclose(mixed.scales_, X[train].std(0), rtol=1e-6)
    assert mixed.log_loss(X[test], y[test]) < 1.03 * plain.log_loss(Z[test], y[test])
    scores = X[test] @ mixed.coef_.T + mixed.intercept_
    np.testing.assert_array_equal(mixed.classes_[scores.argmax(1)], mixed.predict(X[test]))
    again = pickle.loads(pickle.dumps(mixed))
    np.testing.assert_array_equal(again.predict_proba(X), mixed.predict_proba(X))
    warm = mixed.set_params(warm_start=True).fit(X[train], y[train])  # from where it was
    assert warm.log_loss(X[test], y[test]) < 1.03 * plain.log_loss(Z[test], y[test])
    warm.partial_fit(X[train], y[train])
    assert warm.log_loss(X[test], y[test]) < 1.4 * plain.log_loss(Z[test], y[test])
    stopped = SoftmaxClassifier(early_stopping=True).fit(X[train], y[train])
    assert stopped.log_loss(X[test], y[test]) < 1.2 * plain.log_loss(Z[test], y[test])
    hot = scipy.sparse.csr_array(np.hstack([np.eye(9)[rng.integers(9, size=500)], X[:, 2:3]]))
    fit = SoftmaxClassifier().fit(hot[train], y[train])
    assert fit.scales_ is not None and fit.log_loss(hot[test], y[test]) < 1.15


def test_rows_are_held_out_by_class():
    from extreme_opt.softmax import FullSoftmax
    from extreme_opt.softmax.rates import split_off

    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], [1000, 100, 2, 1]))
    problem = FullSoftmax(np.ones((len(labels), 1)), labels)
    for fold in range(10):
        rest, judged, n_judged = split_off(problem, 10, fold)
        counts = np.bincount(judged.labels, minlength=4)
        assert counts[0] == 100 and counts[1] == 10 and counts[3] == 0
        assert n_judged == counts.sum() and set(judged.labels) <= set(rest.labels)
    assert split_off(FullSoftmax(np.eye(4), np.arange(4)), 5)[1] is None


@pytest.mark.parametrize(
    'classes, words',
    [
        ([0, 1, 2, 'x'], 'classes holds labels that cannot be sorted, of types int, str'),
        ([0, 1, 2, np.nan], 'classes, read like y: Input y contains NaN at row 3'),
        ([0, 1, None], 'classes, read like y: Input y contains None at row 2'),
        ([0], 'classes has 1 label, but at least 2 are needed'),
        (5, 'classes, read like y: '),
    ],
    ids=['two kinds', 'nan', 'none', 'one', 'a number'],
)
def test_classes_of_partial_fit_are_checked_like_labels(classes, words):
    rng = np.random.default_rng(0)
    model = SoftmaxClassifier(solver='implicit')
    with pytest.raises((TypeError, ValueError), match=words):
        model.partial_fit(rng.normal(size=(9, 2)), rng.integers(0, 3, 9), classes=classes)
    assert not hasattr(model, 'classes_')


# --------------------------------------------------------------------------------- the prior
def unequal(n_classes=6, sparse=False, seed=0):
    "Noisy rows of classes with 4, 8, 16, ... rows; the same for judging."
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), 4 * 2 ** np.arange(n_classes))
    means = rng.normal(size=(n_classes, 12))
    parts = [(means[y] + 2.0 * rng.normal(size=(len(y), 12))).astype(np.float32) for _ in '12']
    parts = [np.maximum(part, 0) for part in parts] if sparse else parts
    return *(scipy.sparse.csr_array(part) if sparse else part for part in parts), y


@pytest.mark.parametrize(
    ('settings', 'sparse'),
    [
        (dict(solver='lbfgs', ridge=1e-2), False),
        (dict(solver='exact', learning_rate=0.1, max_epochs=5), True),
        (dict(solver='implicit', learning_rate=0.1, max_epochs=5), True),
        (dict(weights='support', learning_rate=0.1, max_epochs=5), True),
    ],
)
def test_logit_adjustment_takes_log_shares_off_the_scores(settings, sparse):
    X, new, y = unequal(sparse=sparse)
    names = np.array(list('fedcba'))
    model = SoftmaxClassifier(**settings).fit(X, names[y])
    assert model.class_count_.tolist() == [128.0, 64.0, 32.0, 16.0, 8.0, 4.0]
    plain, first = model.decision_function(new), model.predict(new)
    coef, intercept = model.coef_.copy(), model.intercept_.copy()
    adjusted = SoftmaxClassifier(**settings, logit_adjustment=0.75).fit(X, names[y])
    np.testing.assert_array_equal(adjusted.intercept_, intercept)  # the fit is the same
    assert abs(adjusted.coef_ - coef).max() == 0
    expected = plain - 0.75 * np.log(model.class_count_ / len(y))
    for each in (adjusted, model.set_params(logit_adjustment=0.75)):
        np.testing.assert_allclose(each.decision_function(new), expected, atol=1e-5)
        assert (each.predict(new) == each.classes_[expected.argmax(1)]).all()
        ids, proba = each.top_k(new, 6)
        assert (ids[:, 0] == each.predict(new)).all()
        np.testing.assert_allclose(proba.sum(1), 1, rtol=1e-6)
        best = np.take_along_axis(each.predict_proba(new), expected.argmax(1)[:, None], 1)
        np.testing.assert_allclose(proba[:, :1], best, rtol=1e-4)
    assert (model.set_params(logit_adjustment=0).predict(new) == first).all()
    np.testing.assert_array_equal(model.decision_function(new), plain)


def test_logit_adjustment_knows_weights_batches_and_classes_without_rows():
    X, new, y = unequal()
    balanced = SoftmaxClassifier('lbfgs', ridge=1e-2, class_weight='balanced').fit(X, y)
    np.testing.assert_allclose(balanced.class_count_, len(y) / 6)  # nothing is left to adjust
    plain = balanced.predict_log_proba(new)
    balanced.set_params(logit_adjustment=1)
    np.testing.assert_allclose(balanced.predict_log_proba(new), plain, atol=1e-9)
    stream = SoftmaxClassifier('exact', learning_rate=0.1)
    stream.partial_fit(X[y < 3], y[y < 3], classes=range(7)).partial_fit(X[y > 3], y[y > 3])
    assert stream.class_count_.tolist() == [4.0, 8.0, 16.0, 0.0, 64.0, 128.0, 0.0]
    before = stream.decision_function(new)
    stream.set_params(logit_adjustment=1)
    shares = np.array([4, 8, 16, 4, 64, 128, 4]) / 220  # as rare as the rarest
    np.testing.assert_allclose(stream.decision_function(new), before - np.log(shares), atol=1e-9)
    Y = np.eye(6, dtype=int)[y] | np.eye(6, dtype=int)[5]
    several = SoftmaxClassifier('exact', learning_rate=0.1, max_epochs=3).fit(X, Y)
    assert several.class_count_.tolist() == [4.0, 8.0, 16.0, 32.0, 64.0, 252.0]
    rank = several.precision_at_k(X, Y, 1)
    assert several.set_params(logit_adjustment=3).precision_at_k(X, Y, 1) != rank


@pytest.mark.parametrize('value', [-1, None])
def test_logit_adjustment_is_checked_before_and_after_a_fit(value):
    X, _, y = unequal()
    refuses('logit_adjustment', SoftmaxClassifier('lbfgs', logit_adjustment=value).fit, X, y)
    model = SoftmaxClassifier('lbfgs', ridge=1e-2).fit(X, y).set_params(logit_adjustment=value)
    refuses('logit_adjustment', model.predict, X)


@pytest.mark.parametrize('kind', [np.asarray, scipy.sparse.csr_array])
def test_auto_counts_the_products_of_an_epoch(kind, monkeypatch, tmp_path):
    "Rows times words times classes, not classes alone, decide whether all of them are visited."
    y = np.arange(120) % 30
    X = kind(np.eye(30)[y])
    entries = 120 if kind is scipy.sparse.csr_array else 120 * 30
    monkeypatch.setattr(classifier, '_MOST_BATCH', 0)
    for limit, solver in ((30 * entries, 'exact'), (30 * entries - 1, 'implicit')):
        monkeypatch.setattr(classifier, '_MOST_PRODUCTS', limit)
        model = SoftmaxClassifier().fit(X, y)
        assert model.settings_['solver'] == solver and model.score(X, y) == 1
        model.save(tmp_path / solver)
        for again in (SoftmaxClassifier.load(tmp_path / solver), pickle.loads(pickle.dumps(model))):
            assert again.partial_fit(X, y)._kind == solver and again.score(X, y) == 1
    for limit, solver in ((30, 'exact'), (29, 'implicit')):  # a stream has no last row
        monkeypatch.setattr(classifier, '_MOST_EXACT', limit)
        stream = SoftmaxClassifier(learning_rate=1.0).partial_fit(X, y, classes=range(30))
        assert stream._kind == solver and stream.partial_fit(X, y).score(X, y) == 1


@pytest.mark.parametrize('kind', ['one-hot', 'normal'])
def test_rows_that_tell_no_factor_bear_no_margins(kind, monkeypatch):
    "Factors of 3,700 and of 4 came from rows of which 0 and 1 were missed."
    monkeypatch.setattr(classifier, '_MOST_BATCH', 0)  # or L-BFGS takes so few filled columns
    rng = np.random.default_rng(2 if kind == 'one-hot' else 3)
    if kind == 'one-hot':
        a, b = rng.integers(0, 8, (2, 2400))
        X, y = np.hstack([np.eye(8)[a], np.eye(8)[b]]), (a + b) // 3
    else:
        slopes = rng.normal(size=(5, 6))
        X = rng.normal(size=(2400, 5))
        y = (X @ slopes + 0.1 * rng.normal(size=(2400, 6))).argmax(1)
    X = scipy.sparse.csr_array(scipy.sparse.hstack([X, scipy.sparse.csr_array((2400, 9000))]))
    known = np.isin(y, y[:400])
    X, y = X[known], y[known]
    model, plain = (SoftmaxClassifier(margin_share=s).fit(X[:400], y[:400]) for s in ('auto', 0))
    assert model.settings_['margin_share'] == 0
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    by_hand = SoftmaxClassifier(margin_share=0.3).fit(X[:400], y[:400])
    assert by_hand.log_loss(X[400:], y[400:]) < 0.5


def test_one_label_with_weight_is_no_failed_fit():
    X, y = planted(60)
    weights = (y == y[0]).astype(float)
    with no_warning(ConvergenceWarning):
        model = SoftmaxClassifier('lbfgs', ridge=1e-4).fit(X, y, sample_weight=weights)
    assert (model.predict(X) == y[0]).all()
