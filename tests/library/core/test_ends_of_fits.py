"How fits of the two classifiers end: refused labels, refused fits, limits, divergence."

import re
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from extreme_opt.bound.classifier import BoundClassifier
from extreme_opt.core.run import Run
from extreme_opt.core.solver import State
from extreme_opt.softmax.classifier import SoftmaxClassifier

BOTH = [lambda: SoftmaxClassifier(max_epochs=3), lambda: BoundClassifier('newton')]


def planted(n_samples=60, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_samples)
    return rng.normal(size=(n_samples, 4)) + 2 * rng.normal(size=(3, 4))[labels], labels


def said(fit):
    "Messages of the convergence warnings."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model = fit()
    assert all('\n' not in str(line.message) for line in caught)
    return model, [
        str(line.message) for line in caught if issubclass(line.category, ConvergenceWarning)
    ]


@pytest.mark.parametrize('make', BOTH)
@pytest.mark.parametrize(
    'missing, kind',
    [
        (np.nan, float),
        (np.nan, object),
        (None, object),
        (float('nan'), object),
        (np.datetime64('NaT'), 'M8[D]'),
    ],
)
def test_a_missing_label_is_no_class(make, missing, kind):
    X, y = planted()
    labels = y.astype('M8[D]') if kind == 'M8[D]' else y.astype(kind)
    labels[[7, 20]] = missing
    with pytest.raises(ValueError, match=r'\b7\b'):
        make().fit(X, labels)
    model = make().fit(X, y)
    with pytest.raises(ValueError):
        model.fit(X, labels)
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_refused_first_batch_fixes_no_classes():
    X, y = planted()
    for wrong in (dict(sample_weight=-np.ones(60)), dict(sample_weight=np.ones(2))):
        model = SoftmaxClassifier()
        with pytest.raises(ValueError):
            model.partial_fit(X[:, :2], y, classes=[0, 1, 2, 9], **wrong)
        assert not hasattr(model, 'classes_') and not hasattr(model, 'n_features_in_')
        assert model.partial_fit(X, y, classes=[0, 1, 2]).coef_.shape == (3, 4)
    model = SoftmaxClassifier()
    with pytest.raises(ValueError, match='not among'):
        model.partial_fit(X, y, classes=[0, 1])
    assert model.partial_fit(X, y, classes=[0, 1, 2]).n_iter_ == 1


def test_a_limit_before_the_tolerance_is_told():
    X, y = load_digits(return_X_y=True)
    model, lines = said(lambda: BoundClassifier('bm', max_iter=5).fit(X[:300], y[:300]))
    assert (
        len(lines) == 1
        and 'reached max_iter=5' in lines[0]
        and f'{model.bound_gap_:.2g} nats per row' in lines[0]
        and 'solver="auto"' in lines[0]
    )
    assert 'raise that limit' in said(lambda: BoundClassifier(max_iter=2).fit(X, y))[1][0]
    sbm = said(lambda: BoundClassifier('sbm', max_iter=1).fit(X[:300], y[:300]))[1][0]
    assert '"sbm" is for a first rough fit; use solver="auto"' in sbm
    X, y = planted()
    for fit in (
        lambda: BoundClassifier('newton').fit(X, y),
        lambda: BoundClassifier(max_iter=5, tol=None).fit(X, y),
        lambda: BoundClassifier('quasi').fit(X, y),
        lambda: SoftmaxClassifier(max_epochs=2).fit(X, y),
    ):
        assert not said(fit)[1]
    assert (
        'reached max_epochs=2'
        in said(lambda: SoftmaxClassifier(max_epochs=2, tol=1e-9).fit(X, y))[1][0]
    )
    assert (
        'use solver="auto"'
        in said(lambda: BoundClassifier('quasi', max_iter=1, ridge=0.0).fit(X, y))[1][0]
    )


@pytest.mark.parametrize(
    'message',
    [
        (
            'params are not finite after step 3 (3 passes): learning_rate=1 is too large for'
            ' StochasticMajorizer; try 0.1'
        ),
        (
            'the step after step 3 (3 passes) failed (no): learning_rate=1 is too large for'
            ' StochasticMajorizer'
        ),
    ],
)
def test_a_lost_fit_of_bounds_is_told_in_settings_of_the_class(monkeypatch, message):
    "Whatever makes the run diverge."
    X, y = planted()

    def lost(estimator, problem, solver, params, **_):
        estimator.run_ = Run(State(params=np.full(problem.n_params, np.nan), n_iter=3), message)
        estimator.n_iter_ = 3
        return estimator.run_

    monkeypatch.setattr('extreme_opt.bound.classifier.run_estimator', lost)
    model, lines = said(lambda: BoundClassifier('sbm').fit(X, y))
    assert len(lines) == 1 and 'the weights are zero now' in lines[0] and 'after step 3' in lines[0]
    assert (
        'learning_rate' not in lines[0] + model.run_.message
        and 'Majorizer' not in lines[0] + model.run_.message
    )
    assert (
        not model.coef_.any() and np.isfinite(model.predict_proba(X)).all() and model.bound_gap_ > 0
    )


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_batches_of_bounds_that_overflow_leave_zeros():
    X, y = planted()
    model, lines = said(lambda: BoundClassifier('sbm', max_iter=5).fit(1e200 * X, y))
    assert 'the weights are zero now' in lines[0] and np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize('solver', ['sbm', 'incremental'])
def test_too_many_weights_for_a_matrix_name_a_solver_of_the_class(solver):
    X = scipy.sparse.eye_array(60, 1100, format='csr')
    with pytest.raises(ValueError, match=r'3 classes have 3303 weights; use solver="auto"'):
        BoundClassifier(solver).fit(X, np.arange(60) % 3)


@pytest.mark.parametrize('solver', ['implicit', 'umax', 'sgd', 'ove', 'nce', 'sampled', 'lbfgs'])
def test_no_scale_of_the_rows_leaves_numbers_that_are_not_finite(solver):
    X, y = planted()
    for scale in (1e-30, 1e15, 1e25, 1e30, 1e36):
        model, lines = said(
            lambda scale=scale: SoftmaxClassifier(solver, max_epochs=3).fit(scale * X, y)
        )
        assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
        zero = not model.coef_.any()
        assert len(lines) <= 1 and (not zero or lines), (scale, lines)
        if not zero:  # finite weights are worse than none only with a word
            frequencies = np.bincount(y) / len(y)
            entropy = -np.sum(frequencies * np.log(frequencies))
            assert model.log_loss(scale * X, y) <= 1.001 * entropy or 'log-loss' in lines[0]
        else:
            assert (
                re.search('the weights are zero( now)?: scale the columns of X', lines[0])
                and 'ImplicitSGD' not in lines[0]
            )


def test_numbers_beyond_the_type_are_named_with_their_place():
    X, y = planted()
    X[3, 2] = 1e39
    for rows in (X, scipy.sparse.csr_array(X)):
        with pytest.raises(ValueError, match=r'X holds 1e\+39 at row 3, column 2, .* as float32'):
            SoftmaxClassifier(max_epochs=1).fit(rows, y)
        with pytest.raises(ValueError, match='row 3, column 2'):
            SoftmaxClassifier().partial_fit(rows, y, classes=[0, 1, 2])
    X[3, 2] = 1e200
    with pytest.raises(ValueError, match=r'row 3, column 2, .* as float64'):
        SoftmaxClassifier('lbfgs').fit(X, y)


def test_a_tolerance_met_far_from_the_minimum_is_said():
    X, y = load_iris(return_X_y=True)
    X = X * np.geomspace(1e-3, 1e3, 4)  # the gradient of the large columns drowns the others
    default, nothing = said(lambda: BoundClassifier(tol=1e-9).fit(X, y))
    assert not nothing and default.bound_gap_ < 1e-6
    early, messages = said(lambda: BoundClassifier('lbfgs', max_iter=5000).fit(X, y))
    losses = [model.run_.column('loss')[-1] for model in (default, early)]
    assert 'gradient norm' in early.run_.message and losses[1] > 1.001 * losses[0]
    assert len(messages) == 1 and 'use solver="auto"' in messages[0]
    alike = (X - X.mean(0)) / X.std(0)
    assert not said(lambda: BoundClassifier('lbfgs').fit(alike, y))[1]
