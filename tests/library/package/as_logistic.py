"""scikit-learn's tests against us: `pytest -p as_logistic --pyargs sklearn.linear_model.tests...`.

This plugin puts `BoundClassifier` behind the name and the arguments of `LogisticRegression` before
the test modules are imported. What is not offered skips the test, with the reason. Tests that
never make or fit it are told apart by a property of their report.
"""

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from extreme_opt.bound import BoundClassifier

used: list = []  # what the running test makes and fits


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    used.clear()
    try:
        return (yield)
    finally:
        if not used:
            item.user_properties.append(('used', 'no'))


SOLVERS = {'lbfgs': 'lbfgs', 'newton-cg': 'newton', 'newton-cholesky': 'newton'}


def _delegate(name):
    def method(self, X, *rest):
        check_is_fitted(self, 'model_')
        return getattr(self.model_, name)(X, *rest)

    method.__name__ = name
    return method


class LogisticRegression(ClassifierMixin, BaseEstimator):
    "`BoundClassifier` with the arguments of scikit-learn's class."

    def __init__(
        self,
        penalty='deprecated',
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver='lbfgs',
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
    ):
        used.append(self)
        for name, value in list(locals().items()):
            if name not in ('self', '__class__'):
                setattr(self, name, value)

    def _ridge(self, y, sample_weight):
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        weights = np.broadcast_to(weights, len(y))
        if self.class_weight is not None:
            classes, at = np.unique(y, return_inverse=True)
            weight = compute_class_weight(
                self.class_weight, classes=classes, y=y, sample_weight=sample_weight
            )
            weights = weights * weight[at]
        return 0.0 if np.isinf(self.C) or self.penalty is None else 1 / (self.C * weights.sum())

    def fit(self, X, y, sample_weight=None):
        used.append(self)
        if self.l1_ratio or self.penalty in ('l1', 'elasticnet'):
            pytest.skip('not offered: l1')
        if self.dual:
            pytest.skip('not offered: dual')
        if self.solver not in SOLVERS:
            pytest.skip(f'not offered: {self.solver}')
        model = BoundClassifier(
            solver=SOLVERS[self.solver],
            ridge=self._ridge(np.asarray(y), sample_weight),
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            tol=min(max(self.tol**2, 1e-13), 1e-6),  # theirs is of the gradient, ours of the loss
            max_iter=self.max_iter,
            warm_start=self.warm_start,
            n_jobs=self.n_jobs if self.n_jobs in (None, 1) else -1,
        )
        if self.warm_start and hasattr(self, 'model_'):
            model = self.model_.set_params(**model.get_params())
        self.model_ = model.fit(X, y, sample_weight)
        self.n_iter_ = np.array([model.n_iter_], np.int32)
        for name in ('classes_', 'coef_', 'intercept_', 'n_features_in_', 'feature_names_in_'):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    predict, predict_proba, predict_log_proba, decision_function = map(
        _delegate, ('predict', 'predict_proba', 'predict_log_proba', 'decision_function')
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


sklearn.linear_model.LogisticRegression = LogisticRegression
sklearn.linear_model._logistic.LogisticRegression = LogisticRegression
