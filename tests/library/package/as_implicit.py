"""implicit's tests against us: `pytest -p as_implicit als_test.py`.

This plugin puts `SimilarityModel` behind the names and the arguments of implicit before the test
modules are imported. What is not offered skips the test, with the reason.
"""

import copy
import sys
import types

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.similarity import SimilarityModel


def _not_offered(what):
    def method(*args, **options):
        pytest.skip(f'not offered: {what}')

    return method


class AlternatingLeastSquares:
    "`SimilarityModel(solver='als')` with the arguments of implicit's class."

    def __init__(
        self,
        factors=100,
        regularization=0.01,
        alpha=1.0,
        dtype=np.float32,
        use_native=True,
        use_cg=True,
        use_gpu=None,
        iterations=15,
        calculate_training_loss=False,
        num_threads=0,
        random_state=0,
    ):
        self.factors, self.regularization, self.alpha = factors, regularization, alpha
        self.dtype, self.iterations, self.random_state = dtype, iterations, random_state

    def _make(self):
        settings = dict(values='weights', unobserved_weight=1.0, ridge=self.regularization)
        settings |= dict(ridge_power=0.0, impute=0.0, dtype=np.dtype(self.dtype).name)
        settings |= dict(max_iter=self.iterations, tol=None, random_state=self.random_state)
        return SimilarityModel(self.factors, solver='als', loss='squared', **settings)

    def fit(self, user_items, show_progress=True, callback=None):
        if callback is not None:
            pytest.skip('not offered: a call after each iteration')
        self.model_ = self._make().fit(user_items * self.alpha)
        return self

    user_factors = property(lambda self: self.model_.left_embeddings_)
    item_factors = property(lambda self: self.model_.right_embeddings_)
    explain = _not_offered('explanations')
    partial_fit_users = partial_fit_items = _not_offered('a fit of a few entities')

    def recommend(
        self,
        userid,
        user_items,
        N=10,
        filter_already_liked_items=True,
        filter_items=None,
        recalculate_user=False,
        items=None,
    ):
        who = dict(ids=np.atleast_1d(userid))
        if recalculate_user:
            who = dict(history=scipy.sparse.csr_array(user_items) * self.alpha)
        settings = dict(candidates=items, filter_items=filter_items)
        ids, scores = self.model_.recommend(
            k=N, exclude_seen=filter_already_liked_items, **who, **settings
        )
        return (ids, scores) if np.ndim(userid) else (ids[0], scores[0])

    def _similar(self, ids, N, side, asked):
        if any(value is not None for value in asked):
            pytest.skip('not offered: similar entities among some')
        own = np.atleast_1d(ids)
        near, scores = self.model_.similar(own, N - 1, side)
        near = np.column_stack([own, near])  # theirs begin with the entity itself
        scores = np.column_stack([np.ones(len(own)), scores])
        return (near, scores) if np.ndim(ids) else (near[0], scores[0])

    def similar_users(self, userid, N=10, filter_users=None, users=None):
        return self._similar(userid, N, 'left', (filter_users, users))

    def similar_items(
        self, itemid, N=10, recalculate_item=False, item_users=None, filter_items=None, items=None
    ):
        if item_users is not None:
            raise NotImplementedError  # which their tests take as an answer
        return self._similar(itemid, N, 'right', (filter_items, items))

    def save(self, file):
        getattr(self, 'model_', self._make()).save(file)

    def load(self, file):
        twin, model = copy.copy(self), SimilarityModel.load(file)
        if hasattr(self, 'model_'):
            twin.model_ = model
        return twin


def _precision_at_k(model, train, test, K=10, **options):
    measure = f'precision@{K}'
    return model.model_.evaluate(scipy.sparse.csr_array(test), measure)[measure]


def _module(name, **members):
    found = types.ModuleType(name)
    vars(found).update(members)
    sys.modules[name] = found
    head, _, tail = name.rpartition('.')
    if head:
        setattr(sys.modules[head], tail, found)


_module('implicit')
_module('implicit.als', AlternatingLeastSquares=AlternatingLeastSquares)
_module('implicit.gpu', HAS_CUDA=False)
_module('implicit.cpu')
_module('implicit.cpu.als', calculate_loss=_not_offered('the loss of given factors'))
_module('implicit.evaluation', precision_at_k=_precision_at_k)
_module('implicit.nearest_neighbours', ItemItemRecommender=type('ItemItemRecommender', (), {}))
_module('implicit.utils', ParameterWarning=type('ParameterWarning', (Warning,), {}))
