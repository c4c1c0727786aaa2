"""sklearn-crfsuite's tests against us: `pytest -p as_crfsuite test_crf.py`.

This plugin puts `LinearChainCRF` behind the names and the arguments of sklearn-crfsuite before the
test modules are imported. What is not offered skips the test, with the reason.
"""

import io
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from extreme_opt.bound import LinearChainCRF


def _decoded(X):
    "Features with text in place of bytes, which are refused here."
    return [
        [{k: v.decode() if isinstance(v, bytes) else v for k, v in word.items()} for word in words]
        for words in X
    ]


class CRF(BaseEstimator):
    "`LinearChainCRF` with the arguments of sklearn-crfsuite's class."

    def __init__(self, algorithm='lbfgs', c2=1.0, verbose=False, model_filename=None):
        self.algorithm = algorithm
        self.c2 = c2
        self.verbose = verbose
        self.model_filename = model_filename

    def fit(self, X, y, X_dev=None, y_dev=None):
        if self.algorithm not in (None, 'lbfgs'):
            pytest.skip(f'not offered: {self.algorithm}')
        if X_dev is not None or y_dev is not None:
            pytest.skip('not offered: sentences for development')
        model = LinearChainCRF(ridge=2 * self.c2 / len(X), verbose=self.verbose)
        self.model_ = model.fit(_decoded(X), y)
        if self.model_filename:
            model.save(self.model_filename)
        return self

    @property
    def tagger_(self):
        if not hasattr(self, 'model_') and self.model_filename:
            if Path(self.model_filename).exists():
                self.model_ = LinearChainCRF.load(self.model_filename)
        return getattr(self, 'model_', None) and types.SimpleNamespace(
            labels=self.model_.classes_.tolist, model=self.model_
        )

    def _model(self):
        return self.tagger_.model if self.tagger_ else LinearChainCRF()

    def predict(self, X):
        return np.array(self._model().predict(_decoded(X)), dtype=object)

    def predict_marginals(self, X):
        model = self._model()
        return [
            [dict(zip(model.classes_.tolist(), word.tolist())) for word in words]
            for words in model.predict_marginals(_decoded(X))
        ]

    def score(self, X, y):
        return self._model().score(_decoded(X), y)

    @property
    def size_(self):
        if self.tagger_ is None:
            return None
        file = io.BytesIO()
        self.model_.save(file)
        return file.tell()

    def _of_model(self, names):
        return None if self.tagger_ is None else names(self.model_)

    classes_ = property(lambda self: self._of_model(lambda model: model.classes_.tolist()))
    attributes_ = property(lambda self: self._of_model(lambda model: [*model.feature_names_]))
    num_attributes_ = property(lambda self: self._of_model(lambda model: model.n_features_in_))

    @property
    def state_features_(self):
        return self._of_model(lambda model: _weights(self.attributes_, model.coef_.T, model))

    @property
    def transition_features_(self):
        return self._of_model(lambda model: _weights(self.classes_, model.transitions_, model))


def _weights(rows, values, model):
    tags = model.classes_.tolist()
    return {(a, b): float(values[i, j]) for i, a in enumerate(rows) for j, b in enumerate(tags)}


def _not_offered(*args, **options):
    pytest.skip("not offered: measures; scikit-learn's take the tags of all words")


_names = 'accuracy precision recall f1 fbeta'
sys.modules['sklearn_crfsuite'] = types.ModuleType('sklearn_crfsuite')
sys.modules['sklearn_crfsuite'].CRF = CRF
sys.modules['sklearn_crfsuite'].metrics = types.SimpleNamespace(
    sequence_accuracy_score=_not_offered,
    **{f'flat_{name}_score': _not_offered for name in _names.split()},
)
