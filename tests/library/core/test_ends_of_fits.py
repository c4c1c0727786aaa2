"How fits end: refused labels, refused fits, limits, divergence."

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from extreme_opt.bound.classifier import BoundClassifier
from extreme_opt.core.run import FitDiverged, Run, Stop
from extreme_opt.core.solver import State, Status
from extreme_opt.ordinal import OrdinalEmbedding
from extreme_opt.similarity import SimilarityModel
from extreme_opt.softmax.classifier import SoftmaxClassifier


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


def test_a_limit_before_the_tolerance_is_told():
    X, y = load_digits(return_X_y=True)
    model, lines = said(lambda: BoundClassifier('bm', max_iter=5).fit(X[:300], y[:300]))
    assert len(lines) == 1 and 'reached max_iter=5' in lines[0]
    assert f'{model.bound_gap_:.2g} nats per row' in lines[0] and 'solver="auto"' in lines[0]
    assert 'raise that limit' in said(lambda: BoundClassifier(max_iter=2).fit(X, y))[1][0]
    for solver in ('exact', 'implicit', 'lbfgs'):
        wide = SoftmaxClassifier(solver=solver, max_epochs=3, tol=1e-9, ridge=1e-3)
        assert 'scale the columns of X' in said(lambda: wide.fit(X * 9, y))[1][0]
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


def comparisons(n=300, n_objects=12):
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(n_objects)[:3] for _ in range(n)])


def pairs():
    return np.argwhere(np.random.default_rng(0).random((20, 15)) < 0.3)


FOUR = dict(  # an estimator that meets max_iter=1 before its tol, and what it is fitted to
    softmax=lambda **more: (SoftmaxClassifier('lbfgs', max_iter=1, tol=1e-9, **more), planted()),
    bound=lambda **more: (BoundClassifier('lbfgs', max_iter=1, tol=1e-9, **more), planted()),
    ordinal=lambda **more: (
        OrdinalEmbedding(solver='gd', n_init=1, max_iter=1, tol=1e-9, **more),
        (comparisons(),),
    ),
    similarity=lambda **more: (
        SimilarityModel(2, solver='gd', max_iter=1, tol=1e-9, **more),
        (pairs(),),
    ),
)


@pytest.mark.parametrize('name', FOUR)
def test_no_word_of_a_message_decides(name, monkeypatch):
    "Every sentence about the end of a run is another; what fits do and warn of is the same."
    model, data = FOUR[name]()
    want, lines = said(lambda: model.fit(*data))
    assert len(lines) == 1 and want.run_.status == 'max_iter'
    monkeypatch.setattr('extreme_opt.core.run.Stop', lambda status, message: Stop(status, 'Xyz'))
    model, data = FOUR[name]()
    got, reworded = said(lambda: model.fit(*data))
    assert len(reworded) == 1 and got.run_.message == 'Xyz' and got.run_.status == 'max_iter'
    np.testing.assert_array_equal(got.run_.state.params, want.run_.state.params)
    lines, reworded = (one[0].partition('; ')[2] for one in (lines, reworded))
    assert lines == reworded  # the remedy is the same


def attributes(model):
    return {name: value for name, value in vars(model).items() if name != 'max_iter'}


@pytest.mark.parametrize('again', [False, True])
@pytest.mark.parametrize('name', FOUR)
def test_a_fit_that_diverges_raises_and_learns_nothing(name, again, monkeypatch):
    "Whatever makes the run diverge: unfitted, or as the last fit left it."

    def lost(problem, solver, params=None, **_):
        params = np.full_like(problem.init_params(0), np.nan)
        return Run(State(params=params, n_iter=3, n_epochs=3.0), Status.DIVERGED, 'Xyz')

    model, data = FOUR[name]()
    if again:
        said(lambda: model.fit(*data))
    before = attributes(model)
    monkeypatch.setattr('extreme_opt.core.estimator.minimize', lost)
    with pytest.raises(FitDiverged, match=r'diverged after iteration 3 \(3 epochs\)') as error:
        model.fit(*data)
    after = attributes(model)
    assert after.keys() == before.keys() and all(after[key] is before[key] for key in before)
    assert hasattr(model, 'run_') is again
    assert error.value.run.status == 'diverged' and np.isnan(error.value.run.state.params).all()
    line = str(error.value)
    assert '\n' not in line and 'Xyz' not in line and type(model).__name__ in line
    copy = pickle.loads(pickle.dumps(error.value))
    assert str(copy) == line and copy.run.state.n_iter == 3


@pytest.mark.parametrize(
    'fit, remedy',
    [
        (
            lambda X, y: SoftmaxClassifier('sgd', learning_rate=1e4, max_epochs=3).fit(30 * X, y),
            'lower learning_rate=10000.0, or use solver="implicit"',
        ),
        (
            lambda X, y: SoftmaxClassifier('sgd', learning_rate=1e30).partial_fit(
                1e8 * X, y, classes=[0, 1, 2]
            ),
            'lower learning_rate=1e+30, or use solver="implicit"',
        ),
        (
            lambda X, y: BoundClassifier('sbm', max_iter=5).fit(1e200 * X, y),
            'scale the columns of X, raise ridge, or use solver="auto"',
        ),
        (
            lambda X, y: OrdinalEmbedding(solver='sgd', learning_rate=1e300).fit(comparisons()),
            'use a smaller learning_rate',
        ),
        (
            lambda X, y: SimilarityModel(2, solver='als', loss='squared').fit(
                pairs(), labels=np.full(len(pairs()), 1e30)
            ),
            'scale the features, or raise ridge',
        ),
    ],
)
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_fits_that_really_diverge(fit, remedy):
    with pytest.raises(FitDiverged) as error:
        fit(*planted())
    run = error.value.run
    assert str(error.value).endswith(remedy) and run.status == 'diverged'
    last = run.history[-1].get('loss', 0.0) if run.history else 0.0
    assert not np.isfinite([last, np.sum(run.state.params)]).all()


def test_a_kept_run_that_diverged_is_named(tmp_path):
    model = SoftmaxClassifier(
        'sgd', learning_rate=1e4, max_epochs=3, checkpoint=tmp_path / 'run.npz'
    )
    X, y = planted()
    for _ in range(2):
        with pytest.raises(FitDiverged, match=r'remove .*run\.npz, which holds that run'):
            model.fit(30 * X, y)


def test_one_start_that_diverges_does_not_end_a_fit(monkeypatch):
    from extreme_opt.core import estimator

    real, calls = estimator.minimize, []

    def second_lost(problem, solver, params=None, **more):
        run = real(problem, solver, params, **more)
        calls.append(run)
        if len(calls) == 2:
            run.status = Status.DIVERGED
        return run

    monkeypatch.setattr(estimator, 'minimize', second_lost)
    model = OrdinalEmbedding(n_init=3, init='random').fit(comparisons())
    assert len(calls) == 3 and np.isnan(model.losses_).tolist() == [False, True, False]
    assert model.run_ is calls[int(np.nanargmin(model.losses_))]
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize('solver', ['sbm', 'incremental'])
def test_too_many_weights_for_a_matrix_name_a_solver_of_the_class(solver):
    X = np.eye(60, 1100)
    with pytest.raises(ValueError, match=r'3 classes have 3303 weights; use solver="auto"'):
        BoundClassifier(solver).fit(X, np.arange(60) % 3)


def test_scales_that_differ_end_certified_or_are_said():
    X, y = load_iris(return_X_y=True)
    X = X * np.geomspace(1e-3, 1e3, 4)  # the gradient of the large columns drowns the others
    default, nothing = said(lambda: BoundClassifier(tol=1e-9).fit(X, y))
    assert not nothing and default.bound_gap_ < 1e-6
    early, messages = said(lambda: BoundClassifier('lbfgs', max_iter=5000).fit(X, y))
    losses = [model.run_.column('loss')[-1] for model in (default, early)]
    assert 'no step of L-BFGS' in early.run_.message and losses[1] < 1.001 * losses[0]
    assert not messages and losses[1] - losses[0] <= early.bound_gap_ * len(y) < 1e-4 * losses[1]
    far, messages = said(lambda: BoundClassifier('lbfgs', max_iter=100).fit(X, y))
    assert len(messages) == 1 and 'use solver="auto"' in messages[0]
    assert far.bound_gap_ * len(y) >= far.run_.column('loss')[-1] - losses[0]
    alike = (X - X.mean(0)) / X.std(0)
    assert not said(lambda: BoundClassifier('lbfgs').fit(alike, y))[1]
