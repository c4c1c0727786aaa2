"A fit that raises leaves the estimator as it was: the four estimators, and what their fits refuse."

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from extreme_opt.bound import BoundClassifier
from extreme_opt.ordinal import OrdinalEmbedding
from extreme_opt.similarity import Linear, SimilarityModel
from extreme_opt.softmax import SoftmaxClassifier

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = 3 * np.eye(3)[Y] + RNG.normal(size=(60, 3))
OTHER_X, OTHER_Y = np.hstack([X, X]), np.array(['ant', 'bee', 'cat', 'dog'])[np.arange(60) % 4]
HOLE = OTHER_X.copy()
HOLE[7, 1] = np.nan
TRIPLETS = np.array([RNG.permutation(8)[:3] for _ in range(80)])
PAIRS = np.column_stack([np.arange(40) % 10, np.arange(40) % 7])
NO_FOLDER = dict(checkpoint='/no/such/folder/run.npz')


def fitted(kind):
    "A small model of each kind, and the answers by which a change of it is noticed."
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        if kind is OrdinalEmbedding:
            return kind(max_epochs=3).fit(TRIPLETS), lambda model: model.decision_function(TRIPLETS)
        if kind is SimilarityModel:
            return kind(2, Linear(), Linear(), max_iter=2).fit(
                PAIRS
            ), lambda model: model.score_pairs(PAIRS)
        limits = dict(max_epochs=2) if kind is SoftmaxClassifier else dict(max_iter=2)
        return kind(**limits).fit(X, Y), lambda model: model.predict_proba(X)


def classifier_cases():
    for kind in (SoftmaxClassifier, BoundClassifier):
        yield kind, {}, (OTHER_X, OTHER_Y, np.full(60, -1.0)), {}, 'bad weight'
        yield kind, {}, (OTHER_X, OTHER_Y, np.ones(7)), {}, 'weights of another length'
        yield kind, {}, (OTHER_X, np.zeros(60)), {}, 'one class'
        yield kind, {}, (HOLE, OTHER_Y), {}, 'NaN in X'
        yield kind, {}, (OTHER_X, OTHER_Y[:50]), {}, 'too few labels'
        yield kind, dict(class_weight={'emu': 2.0}), (OTHER_X, OTHER_Y), {}, 'wrong class_weight'
        yield kind, NO_FOLDER, (OTHER_X, OTHER_Y), {}, 'no folder for the checkpoint'
        yield kind, dict(solver='none'), (OTHER_X, OTHER_Y), {}, 'unknown solver'
        yield kind, dict(warm_start=True), (OTHER_X, OTHER_Y), {}, 'warm start with other classes'
    yield SoftmaxClassifier, {}, (OTHER_X, np.zeros((60, 4), int)), {}, 'indicator without a 1'
    yield (
        BoundClassifier,
        dict(prior=[1.0, 2.0]),
        (OTHER_X, OTHER_Y),
        {},
        'prior of the wrong length',
    )


def other_cases():
    other = TRIPLETS[:, ::-1]
    for settings, args, more, name in (
        ({}, (other,), dict(sample_weight=-np.ones(80)), 'bad weight'),
        (dict(n_components=9), (other,), {}, 'too many components'),
        (dict(solver='none'), (other,), {}, 'unknown solver'),
        (NO_FOLDER, (other,), {}, 'no folder for the checkpoint'),
        (dict(n_objects=5), (other,), {}, 'id outside'),
        ({}, (other,), dict(names=list('abc')), 'names of fewer objects'),
        ({}, (np.array([['a', 'b', 'z']]),), dict(names=list('abc')), 'unknown name'),
        ({}, ([['a', 'b', 'b'], ['c', 'b', 'a']],), {}, 'names that are refused'),
        ({}, (other,), dict(y=['x'] * 80), 'answers that are no answers'),
        ({}, (other,), dict(features=np.ones((3, 2))), 'features of fewer objects'),
    ):
        yield OrdinalEmbedding, settings, args, more, name
    for settings, args, more, name in (
        (dict(solver='none'), (PAIRS,), {}, 'unknown solver'),
        (NO_FOLDER, (PAIRS,), {}, 'no folder for the checkpoint'),
        ({}, (PAIRS - 1,), {}, 'negative id'),
        ({}, (PAIRS,), dict(labels=np.ones(3)), 'labels of another length'),
        (dict(warm_start=True, n_components=3), (PAIRS,), {}, 'warm start of another width'),
        ({}, (PAIRS, HOLE), {}, 'NaN in the features'),
        ({}, (PAIRS, 'x'), {}, 'features of text'),
        ({}, (PAIRS,), dict(pair_weights=np.full(40, -1.0)), 'bad weight'),
        ({}, ([[0, 1, 2]],), {}, 'three columns'),
        (dict(n_components=0), (PAIRS,), {}, 'no components'),
        (dict(left=3), (PAIRS,), {}, 'no tower'),
        (dict(loss='other'), (PAIRS,), {}, 'unknown loss'),
        (dict(ridge=-1.0), (PAIRS,), {}, 'negative ridge'),
        (dict(ridge='most'), (PAIRS,), {}, 'ridge of text'),
        (dict(impute=np.nan), (PAIRS,), {}, 'NaN as imputed value'),
        (dict(row_weights=[1.0]), (PAIRS,), {}, 'weights of fewer rows'),
        (dict(values='stars'), (PAIRS,), {}, 'unknown meaning of values'),
        (dict(tol=-1.0), (PAIRS,), {}, 'negative tolerance'),
        (dict(random_state=-1), (PAIRS,), {}, 'negative seed'),
        (dict(max_iter=None, tol=None), (PAIRS,), {}, 'no limit at all'),
        (dict(client=3), (PAIRS,), {}, 'no client'),
    ):
        yield SimilarityModel, settings, args, more, name


CASES = [*classifier_cases(), *other_cases()]


@pytest.mark.parametrize(
    'kind, settings, args, more, name',
    CASES,
    ids=[f'{case[0].__name__}-{case[-1]}' for case in CASES],
)
def test_a_refused_fit_changes_nothing(kind, settings, args, more, name):
    model, answers = fitted(kind)
    known = answers(model)
    model.set_params(**settings)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError, OSError)):
        model.fit(*args, **more)
    assert list(vars(model)) == list(before) and all(
        vars(model)[key] is value for key, value in before.items()
    )
    np.testing.assert_array_equal(answers(model), known)


def test_a_refused_partial_fit_changes_nothing():
    model = SoftmaxClassifier()
    with pytest.raises(ValueError, match='which is not among the 2 classes'):
        model.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.partial_fit(X, Y, classes=[0, 1, 2])  # the refused call has not fixed the classes
    before, known = dict(vars(model)), model.predict_proba(X)
    for more in (dict(sample_weight=-np.ones(60)), dict(classes=[0, 1])):
        with pytest.raises(ValueError):
            model.partial_fit(X, Y, **more)
    with pytest.raises(ValueError, match='not among'):
        model.partial_fit(X, Y + 5)
    assert all(vars(model)[key] is value for key, value in before.items()) and len(
        vars(model)
    ) == len(before)
    np.testing.assert_array_equal(model.predict_proba(X), known)


def test_an_interrupt_changes_nothing_either(monkeypatch):
    model, answers = fitted(SoftmaxClassifier)
    before, known = dict(vars(model)), answers(model)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SoftmaxClassifier, '_make_problem', interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(OTHER_X, OTHER_Y)
    assert dict(vars(model)) == before
    np.testing.assert_array_equal(answers(model), known)


def test_the_signature_of_fit_is_its_own():
    import inspect

    assert list(inspect.signature(SoftmaxClassifier.fit).parameters) == [
        'self',
        'X',
        'y',
        'sample_weight',
    ]
    assert (
        'epochs' in SoftmaxClassifier.fit.__doc__
        and 'batch' in SoftmaxClassifier.partial_fit.__doc__
    )


def test_warnings_of_convergence_point_at_the_caller():
    from sklearn.exceptions import ConvergenceWarning

    from extreme_opt.core.estimator import warn_not_converged

    model, _ = fitted(BoundClassifier)
    with pytest.warns(
        ConvergenceWarning, match=r'BoundClassifier.fit did not converge: .*; raise max_iter'
    ) as said:
        warn_not_converged(model, model.run_, 'raise max_iter')
    assert said[0].filename == __file__
