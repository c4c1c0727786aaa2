"What the fits of the four estimators refuse: in one line, and with the estimator left as it was."

import copy
import functools

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses, unheard
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from extreme_opt.bound import BoundClassifier
from extreme_opt.ordinal import OrdinalEmbedding
from extreme_opt.similarity import MLP, Linear, SimilarityModel
from extreme_opt.softmax import SoftmaxClassifier

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = 3 * np.eye(3)[Y] + RNG.normal(size=(60, 3))
OTHER_X, OTHER_Y = np.hstack([X, X]), np.array(['ant', 'bee', 'cat', 'dog'])[np.arange(60) % 4]
HOLE = OTHER_X.copy()
HOLE[7, 1] = np.nan
TRIPLETS = np.array([RNG.permutation(8)[:3] for _ in range(80)])
TURNED = TRIPLETS[:, ::-1]
PAIRS = np.column_stack([np.arange(40) % 10, np.arange(40) % 7])
ONES, WIDE = np.ones((10, 3)), scipy.sparse.csr_array((7, 10))
SIDES = PAIRS, ONES
NAMED = {'a': ['x', 'y'], 'b': ['x', 'y']}
NO_FOLDER = dict(checkpoint='/no/such/folder/run.npz')


@functools.cache
def made(kind):
    "A small model of each kind, and the answers by which a change of it is noticed."
    with unheard():
        if kind is OrdinalEmbedding:
            return kind(max_epochs=3).fit(TRIPLETS), lambda model: model.decision_function(TRIPLETS)
        if kind is SimilarityModel:
            return kind(2, Linear(), Linear(), max_iter=2).fit(
                PAIRS
            ), lambda model: model.score_pairs(PAIRS)
        limits = dict(max_epochs=2) if kind is SoftmaxClassifier else dict(max_iter=2)
        return kind(**limits).fit(X, Y), lambda model: model.predict_proba(X)


def fitted(kind):
    model, answers = made(kind)
    return copy.deepcopy(model), answers


OTHER, MARGINS = (OTHER_X, OTHER_Y), dict(loss='squared_hinge')
SUPPORT = dict(weights='support', solver='implicit')
HALF = dict(margin_share=0.5, max_epochs='auto')
BOTH = [  # words, settings, arguments of fit by place and by name
    ('sample_weight[0] is -1.0', {}, (*OTHER, np.full(60, -1.0))),
    ('sample_weight has shape (7,)', {}, (*OTHER, np.ones(7))),
    ('1 class only', {}, (OTHER_X, np.zeros(60))),
    ('NaN at row 7', {}, (HOLE, OTHER_Y)),
    ('0 feature', {}, (X[:, :0], Y)),
    ('y has 50 labels', {}, (OTHER_X, OTHER_Y[:50])),
    ("class_weight names 'emu'", dict(class_weight={'emu': 2.0}), OTHER),
    ("class_weight['ant'] is 'a', but a number", dict(class_weight={'ant': 'a'}), OTHER),
    ('class_weight', dict(class_weight='even'), OTHER),
    ('/no/such/folder is not a folder', NO_FOLDER, OTHER),
    ("solver='none'", dict(solver='none'), OTHER),
    ('y holds other classes', dict(warm_start=True), (X, OTHER_Y)),
    ('columns', dict(warm_start=True), (OTHER_X, Y)),
    ("client='here'", dict(client='here'), OTHER),
    ('n_jobs=0', dict(n_jobs=0), OTHER),
    ('n_jobs=2', dict(solver='lbfgs', n_jobs=2), OTHER),
]
CASES = {
    SoftmaxClassifier: [
        *BOTH,
        ('holds more than 0 and 1', {}, (X, 2 * np.eye(60))),
        ('y has no 1', {}, (OTHER_X, np.zeros((60, 4), int))),
        ('n_jobs=1.5 is not a number', dict(n_jobs=1.5), OTHER),
        ("n_jobs=2, but solver='nce' runs on 1", dict(solver='nce', n_jobs=2), OTHER),
        ('average=True concerns sampled', dict(solver='lbfgs', average=True), OTHER),
        ("sampler='unigram', but solver='auto'", dict(sampler='unigram'), OTHER),
        ('validation_fraction=1.0', dict(validation_fraction=1.0), OTHER),
        ('leave checkpoint=None', dict(early_stopping=True, checkpoint='x'), OTHER),
        ('n_iter_no_change=0', dict(n_iter_no_change=0, early_stopping=True), OTHER),
        ('n_negatives=0', dict(n_negatives=0), OTHER),
        ('n_negatives=2.5 is not a whole number', dict(n_negatives=2.5), OTHER),
        ('max_', dict(max_epochs=None), OTHER),
        ('random_state=-1 is neither', dict(random_state=-1), OTHER),
        ("solver='implicit', but loss=", dict(solver='implicit', **MARGINS), OTHER),
        ("solver='lbfgs', but loss=", dict(solver='lbfgs', **MARGINS), OTHER),
        ('weights="support", but loss=', dict(weights='support', **MARGINS), OTHER),
        ('early_stopping=True, but loss=', dict(early_stopping=True, **MARGINS), OTHER),
        ("client='local', but loss=", dict(client='local', **MARGINS), OTHER),
        ('weights="support", but solver=', dict(weights='support', solver='lbfgs'), OTHER),
        ('weights="support", but solver=', dict(weights='support', solver='exact'), OTHER),
        ('weights="support", but solver=', dict(weights='support', solver='umax'), OTHER),
        ('weights="support", but sampler=', dict(SUPPORT, sampler='near'), OTHER),
        ('weights="support", but n_jobs=', dict(weights='support', n_jobs=2), OTHER),
        ('margin_share=0.5, but ridge=0.1', dict(HALF, ridge=0.1), OTHER),
        ("margin_share=0.5, but loss='s", dict(HALF, loss='softmax'), OTHER),
        ('margin_share=0.5, but average', dict(HALF, average=True), OTHER),
        ('sparse rows with one label of', dict(HALF, weights='support'), OTHER),
        ('take 2 or more', dict(solver='implicit', sampler='near', n_negatives=1), OTHER),
        ("takes 'uniform'", dict(solver='umax', sampler='near'), OTHER),
        ('y has 5 rows, but X has 60', {}, (X, scipy.sparse.eye_array(5))),
        ('y[1] is 2, but other rows hold sets of labels', {}, (X[:2], np.array([{1}, 2]))),
        ('weights="support", but client=', dict(weights='support', client='local'), OTHER),
    ],
    BoundClassifier: [
        *BOTH,
        ('relaxation=2.0', dict(relaxation=2.0), OTHER),
        ("prior='even'", dict(prior='even'), OTHER),
        ('prior holds 2 weights, but y 4 classes', dict(prior=[1.0, 2.0]), OTHER),
        ('must hold 4 finite numbers', dict(prior=[1.0, 2, 3, 0]), OTHER),
    ],
    OrdinalEmbedding: [
        ('sample_weight[0] is -1.0', {}, (TURNED,), dict(sample_weight=-np.ones(80))),
        ('span 7 dimensions', dict(n_components=9), (TURNED,)),
        ("solver='none'", dict(solver='none'), (TURNED,)),
        ('/no/such/folder is not a folder', NO_FOLDER, (TURNED,)),
        ('ids run from 0 to 4', dict(n_objects=5), (TURNED,)),
        ('ids run from 0 to 2', {}, (TURNED,), dict(names=list('abc'))),
        ("'z'", {}, (np.array([['a', 'b', 'z']]),), dict(names=list('abc'))),
        ('both pairs are the same', {}, ([['a', 'b', 'b'], ['c', 'b', 'a']],)),
        ("answers[0] is 'x'", {}, (TURNED, ['x'] * 80)),
        ('ids run from 0 to 2', {}, (TURNED,), dict(features=np.ones((3, 2)))),
    ],
    SimilarityModel: [
        ("solver='none' is not one of", dict(solver='none'), (PAIRS,)),
        ('/no/such/folder is not a folder', NO_FOLDER, (PAIRS,)),
        ('-1', {}, (PAIRS - 1,)),
        ('labels has shape', {}, (PAIRS,), dict(labels=np.ones(3))),
        ('with another label', {}, ([[0, 1], [0, 1]],), dict(labels=[1.0, -1.0])),
        ('but ids are needed', {}, (PAIRS.astype(float),)),
        ("'b' has no id in row 1", {}, ({'a': [1, 2], 'b': ['x', None]},)),
        ("no column 'user'", dict(columns=['user', 'item']), (NAMED,)),
        ('left_features needs them, too', {}, (NAMED, np.ones((2, 1)))),
        ("left_features has no row of left id 'y'", {}, (NAMED, (['x'], np.ones((1, 1))))),
        ('left_features holds ids already', dict(id_features=True), (PAIRS, np.arange(10))),
        ('left_features holds inf at row 0', {}, (PAIRS, np.full((10, 2), np.inf))),
        ('observed', {}, (PAIRS, np.ones((9, 2)))),
        ('needs ids, without features', dict(solver='als', loss='squared'), (PAIRS, np.eye(10))),
        ('no pair of known entities', {}, (PAIRS,), dict(validation=PAIRS[:3])),
        ('of width 2', dict(warm_start=True, n_components=3), (PAIRS,)),
        ('left_features', {}, (PAIRS, HOLE)),
        ('left_features', {}, (PAIRS, 'x')),
        ('pair_weights', {}, (PAIRS,), dict(pair_weights=np.full(40, -1.0))),
        ('shape (1, 3)', {}, ([[0, 1, 2]],)),
        ('n_components=0', dict(n_components=0), (PAIRS,)),
        ('n_components=10000, but', dict(n_components=10_000), (PAIRS,)),
        ('whole number below 2', dict(n_components=2**63), (PAIRS,)),
        ('biases=2 is not True or False', dict(biases=2), (PAIRS,)),
        ('left=3 is no tower', dict(left=3), (PAIRS,)),
        ('needs loss="squared"', dict(solver='als', loss='logistic'), (PAIRS,)),
        ('needs linear towers', dict(solver='als', left=MLP(3)), (PAIRS,)),
        ('impute is nan', dict(impute=np.nan), (PAIRS,)),
        ('row_weights', dict(row_weights=[1.0]), (PAIRS,)),
        ('are both given', dict(popularity_power=0.5, column_weights=np.ones(7)), (PAIRS,)),
        ('random_state=-1', dict(random_state=-1), (PAIRS,)),
        ('limit', dict(max_iter=None, tol=None), (PAIRS,)),
        ('client=3', dict(client=3), (PAIRS,)),
        ('n_jobs=0 is not a number', dict(n_jobs=0), (PAIRS,)),
        ('outside (0, 1)', dict(validation=2.0), (PAIRS,)),
        ("measure 'recall' is not known", dict(validation=0.2, metric='recall'), (PAIRS,)),
        ("prior='words' is neither", dict(prior='words'), (PAIRS,)),
        ('needs left_features and right_features', dict(prior='cosine'), (PAIRS,)),
        ('prior=3 is neither a pair of factors nor a sparse matrix', dict(prior=3), (PAIRS,)),
        ('of shapes (10, 2) and (7, 3)', dict(prior=(ONES[:10, :2], ONES[:7])), (PAIRS,)),
        ('holds nan or inf', dict(prior=(np.nan * ONES[:10], ONES[:7])), (PAIRS,)),
        ('a part of shape (10,)', dict(prior=(ONES[:10, 0], ONES[:7, 0])), (PAIRS,)),
        ('prior is a matrix of shape (7, 10), but (10, 7)', dict(prior=WIDE), (PAIRS,)),
        ('prior has rows, but the pairs have ids', dict(prior=(ONES[:2], ONES[:2])), (NAMED,)),
        ('left_features has 3 and right_features 2', dict(prior='cosine'), (*SIDES, ONES[:7, :2])),
        ('cold_start does not go', dict(prior='cosine', cold_start='auto'), (*SIDES, ONES[:7])),
        ('is neither None, "auto", one of', dict(cold_start='best'), (*SIDES, ONES[:7])),
        ('is neither None', dict(cold_start=[]), (*SIDES, ONES[:7])),
        ("['cosine']=nan is", dict(cold_start={'cosine': np.nan}), (*SIDES, ONES[:7])),
        ("['cosine']='2' is not a", dict(cold_start={'cosine': '2'}), (*SIDES, ONES[:7])),
        ('needs left_features or right_features', dict(cold_start='auto'), (PAIRS,)),
        ('of both sides with the same columns', dict(cold_start='cosine'), SIDES),
        ('does not go with id_features', dict(cold_start='auto', id_features=True), SIDES),
        ('prior belongs to the sq', dict(prior='cosine', loss='softmax'), (*SIDES, ONES[:7])),
    ],
}
EACH = [(kind, *case, {})[:5] for kind, cases in CASES.items() for case in cases]


@pytest.mark.parametrize(
    'kind, words, settings, args, more',
    EACH,
    ids=[f'{case[0].__name__}-{case[1]}' for case in EACH],
)
def test_a_refused_fit_is_one_line_and_changes_nothing(kind, words, settings, args, more):
    model, answers = fitted(kind)
    known = answers(model)
    model.set_params(**settings)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        model.fit(*args, **more)
    assert words in str(caught.value) and '\n' not in str(caught.value)
    assert list(vars(model)) == list(before)
    assert all(vars(model)[key] is value for key, value in before.items())
    np.testing.assert_array_equal(answers(model), known)


def test_a_refused_partial_fit_changes_nothing():
    model = SoftmaxClassifier()
    refuses('which is not among the 2 classes', model.partial_fit, X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match='sample_weight'):
        model.partial_fit(X[:, :2], Y, classes=[0, 1, 2, 9], sample_weight=-np.ones(60))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, 'n_features_in_')
    model.partial_fit(X, Y, classes=[0, 1, 2])  # the refused call has not fixed the classes
    before, known = dict(vars(model)), model.predict_proba(X)
    for more in (dict(sample_weight=-np.ones(60)), dict(classes=[0, 1])):
        with pytest.raises(ValueError):
            model.partial_fit(X, Y, **more)
    refuses('not among', model.partial_fit, X, Y + 5)
    assert all(vars(model)[key] is value for key, value in before.items())
    assert len(vars(model)) == len(before)
    np.testing.assert_array_equal(model.predict_proba(X), known)


def test_the_signature_of_fit_is_its_own():
    import inspect

    names = inspect.signature(SoftmaxClassifier.fit).parameters
    assert [*names] == ['self', 'X', 'y', 'sample_weight']
    assert 'epochs' in SoftmaxClassifier.fit.__doc__
    assert 'batch' in SoftmaxClassifier.partial_fit.__doc__


def test_warnings_of_convergence_point_at_the_caller():
    from sklearn.exceptions import ConvergenceWarning

    from extreme_opt.core.estimator import warn_not_converged

    model, _ = fitted(BoundClassifier)
    with pytest.warns(
        ConvergenceWarning, match=r'BoundClassifier.fit did not converge: .*; raise max_iter'
    ) as said:
        warn_not_converged(model, model.run_, 'raise max_iter')
    assert said[0].filename == __file__
