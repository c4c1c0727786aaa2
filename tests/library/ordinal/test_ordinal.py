"""Comparisons, losses, their sum, SVRG, step sizes and the estimator: edges, oracles and bad input
that the pages do not show."""

import itertools
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from refusals import no_warning, refuses, unheard
from sklearn.exceptions import NotFittedError

from extreme_opt.core import LBFGS, SGD, check_descend, check_gradient, iterate, minimize
from extreme_opt.core.checks import expect_fail
from extreme_opt.core.run import FitDiverged
from extreme_opt.core.step_sizes import SBB, FixedStep
from extreme_opt.core.svrg import SVRG, _dense
from extreme_opt.data import Triplets, planted_triplets
from extreme_opt.ordinal import (
    CKL,
    SOE,
    STE,
    TSTE,
    Comparisons,
    Hinge,
    OrdinalEmbedding,
    choose_components,
    contradictions,
    drop_degenerate,
    embedding,
    flip_labels,
    merge_comparisons,
    procrustes,
    triplet_error,
)
from extreme_opt.ordinal import study as module
from extreme_opt.ordinal.comparisons import check_comparisons, orient
from extreme_opt.ordinal.embedding import KernelMap
from extreme_opt.ordinal.losses import CallableLoss, PairLoss

LOSSES = [STE(), STE(1.0), TSTE(1.0), TSTE(9.0), CKL(0.1), CKL(2.0), Hinge(), SOE()]


def answers(n_objects=20, n_terms=300, seed=0, noise=0.1):
    return planted_triplets(n_objects, 2, n_terms, noise=noise, seed=seed)[0].triplets


def fours(n_objects=12, n_terms=200, seed=0):
    "Quadruplets that share objects in all positions."
    rows = np.random.default_rng(seed).integers(n_objects, size=(n_terms * 2, 4))
    return drop_degenerate(rows)[:n_terms]


@pytest.mark.parametrize('loss', LOSSES, ids=repr)
@pytest.mark.parametrize('width', [1, 2, 5])
def test_gradients_of_all_losses(loss, width):
    """Against differences, for triplets and quadruplets, with weights and a ridge; to 1e-8 where
    the loss has no kink."""
    for rows in (answers(), fours()):
        problem = Comparisons(
            rows, width, loss, weights=np.random.default_rng(0).random(len(rows)) + 0.1, ridge=0.2
        )
        check_gradient(
            problem,
            problem.init_params(3),
            atol=1e-8 if loss.kind < 3 else 1e-5,
            eps=1e-5 if loss.kind < 3 else 1e-7,
        )
        check_descend(problem, problem.init_params(3), problem.draw(np.random.default_rng(1), 9))


@pytest.mark.parametrize('ridge', [0.0, 0.2])
def test_steps_on_consecutive_batches_are_those_of_each(ridge):
    "Answers that fill no batch take no part."
    problem = Comparisons(answers(), 2, STE(), ridge=ridge)
    found, wanted = problem.init_params(0), problem.init_params(0)
    batch = problem.draw(np.random.default_rng(1), 7)
    problem.sgd_steps_(found, batch, 0.3, 2)
    for part in batch[:6].reshape(3, 2):
        wanted -= 0.3 * problem.grad_at(wanted, part)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize('dtype', [np.float64, np.float32])
@pytest.mark.parametrize('size', [1, 3, 16, 40])
def test_lazy_is_dense(dtype, size):
    "The O(p) inner loop agrees with the dense one, for every loss, ridge, weight and damping."
    for loss, rows, ridge, share in itertools.product(
        LOSSES[::2], (answers(), fours()), (0.0, 2.0), (1.0, 0.1)
    ):
        weights = np.random.default_rng(0).random(len(rows)) + 0.1
        problem = Comparisons(rows, 3, loss, ridge=ridge, dtype=dtype, weights=weights)
        old, batch = problem.init_params(0), problem.draw(np.random.default_rng(1), 4 * size * 10)
        full, kept = problem.svrg_anchor(old)
        lazy, dense = old.copy(), old.copy()
        problem.svrg_steps_(lazy, old, full, kept, batch, 0.01, size, share)
        _dense(problem, dense, old, full, batch, 0.01, size, share)
        np.testing.assert_allclose(
            lazy, dense, atol=(1e-10 if dtype == np.float64 else 1e-4) * np.abs(dense).max()
        )


def test_a_strong_ridge_does_not_underflow():
    "The scale that all rows owe is settled before it vanishes."
    problem = Comparisons(answers(), 2, STE(), ridge=20.0)
    old, batch = problem.init_params(0), problem.draw(np.random.default_rng(0), 3000)
    full, kept = problem.svrg_anchor(old)
    lazy, dense = old.copy(), old.copy()
    problem.svrg_steps_(lazy, old, full, kept, batch, 0.5, 1)
    _dense(problem, dense, old, full, batch, 0.5, 1, 1.0)
    np.testing.assert_allclose(lazy, dense, atol=1e-10)
    assert 0.5**3000 == 0


def test_quadruplets_with_a_shared_anchor_are_triplets():
    rows = answers()
    three = Comparisons(rows, 2, CKL())
    four = Comparisons(np.insert(rows, 2, rows[:, 0], axis=1), 2, CKL())
    params = three.init_params(1)
    np.testing.assert_allclose(three.loss(params), four.loss(params))
    np.testing.assert_allclose(three.grad(params), four.grad(params), atol=1e-15)


def test_weights_are_copies():
    rows = answers(n_terms=100)
    merged, counts = merge_comparisons(np.concatenate([rows, rows[:30], rows[:10]]))
    one = Comparisons(np.concatenate([rows, rows[:30], rows[:10]]), 2, TSTE())
    other = Comparisons(merged, 2, TSTE(), int(rows.max()) + 1, weights=counts)
    params = one.init_params(2)
    np.testing.assert_allclose(one.loss(params), other.loss(params))
    np.testing.assert_allclose(one.grad(params), other.grad(params), atol=1e-15)


@pytest.mark.parametrize('loss', [STE(), TSTE(1.0), CKL(), Hinge(), SOE()], ids=repr)
def test_the_automatic_step_never_blows_up(loss):
    """Other data, starts and batches than on the page; a start a hundred times too small or three
    times too large."""
    for seed, size, scale in itertools.product(range(4), (1, 7, 300), (0.01, 1.0, 3.0)):
        problem = Comparisons(
            answers(25, 300, seed, noise=0.2) if seed % 2 else fours(20, 300, seed), 2, loss
        )
        run = minimize(
            problem, SVRG(SBB(), size), scale * problem.init_params(seed), max_iter=15, seed=seed
        )
        losses = run.column('loss')
        assert np.isfinite(losses).all() and losses.max() <= 1.15 * losses[0], (seed, size, scale)
        assert losses[-1] < losses[0], (seed, size, scale)


def test_states_of_svrg_are_fixed_and_counted():
    problem = Comparisons(answers(), 2, TSTE(), weights=np.ones(300))
    states = [state for _, state in zip(range(3), iterate(problem, SVRG()))]
    with pytest.raises(ValueError):
        states[0].params[0] = 1
    assert states[2].n_epochs == 6 and states[2].n_terms == 6 * problem.n_terms


def test_svrg_on_another_problem():
    "Any problem that can draw and differentiate; batches of several arrays too."
    from extreme_opt.softmax import DoubleSum

    rng = np.random.default_rng(0)
    softmax = DoubleSum(rng.normal(size=(30, 4)), rng.integers(5, size=30), 5, dtype=np.float64)
    run = minimize(softmax, SVRG(FixedStep(0.02), batch_size=3), max_iter=10)
    assert run.history[-1]['loss'] < run.history[0]['loss'] and run.state.n_epochs == 30
    with expect_fail(TypeError, contains='needs `smoothness` for its automatic settings, which'):
        minimize(softmax, SVRG(), max_iter=1)


def test_losses_at_the_ends_of_the_numbers():
    for loss in LOSSES:
        for near, far in itertools.product((0.0, 1e-320, 1e150), repeat=2):
            assert np.isfinite(np.array(loss(near, far))[:1]).all()
        assert np.isnan(loss(np.nan, 1.0)[0])
    assert STE()(800.0, 0.0)[1] == 1 and STE()(0.0, 800.0)[0] == 0


def test_error_counts_ties_and_nan():
    rows = np.array([[0, 1, 2], [0, 2, 1]])
    assert triplet_error(np.zeros((3, 2)), rows) == 1
    assert triplet_error(np.full((3, 2), np.nan), rows) == 1
    assert triplet_error(np.array([[0.0], [1.0], [2.0]]), rows) == 0.5
    assert triplet_error(np.array([[0.0], [1.0], [np.nan]]), rows) == 1


@pytest.mark.parametrize(
    ('rows', 'words'),
    [
        ([[0, 0, 1]], 'anchor and near object are the same'),
        ([[0, 1, 0]], 'anchor and far object are the same'),
        ([[0, 1, 1]], 'both pairs are the same'),
        ([[0, 1, -1]], 'ids run from 0'),
        ([[0.5, 1, 2]], '0.5 at row 0, column 0'),
        ([[np.inf, 1, 2]], 'inf at row 0'),
        ([0, 1, 2], 'shape (3,)'),
        ([[0, 1, 2, 3, 4]], 'shape (1, 5)'),
        ([], 'shape (0,)'),
        ([[0, 1, 1, 0]], 'both pairs are the same'),
        ([[None, 1, 2]], 'no entry (None) at row 0, column 0'),
        (np.array([[0, 1, 2], [2, 'b', 0]], object), "triplets holds 'b' at (1, 1)"),
    ],
)
def test_bad_rows_are_one_clear_line(rows, words):
    for place in (check_comparisons, Comparisons):
        refuses(words, place, rows)


def test_orient_and_flips():
    rows = answers()
    for width in (3, 4):
        some = rows if width == 3 else fours()
        turned = orient(some, np.full(len(some), -1))[0]
        np.testing.assert_array_equal(orient(turned, np.full(len(some), False))[0], some)
        assert (flip_labels(some, 0.25) != some).any(1).sum() == round(0.25 * len(some))
        assert contradictions(np.concatenate([some, turned])).all()
    refuses('answers[1] is missing (nan)', orient, rows[:2], [1, np.nan])
    refuses("ties='keep'", orient, rows[:1], [1], ties='keep')


@pytest.mark.parametrize(
    'settings',
    [
        dict(solver='svrg', dtype='float32', batch_size=10, stabilizer=0.05),
        dict(solver='gram'),
        dict(solver='gd', loss='tste'),
    ],
    ids=str,
)
def test_settings_of_few_fits(settings):
    rows = answers(15, 600, noise=0.0)
    model = OrdinalEmbedding(2, max_epochs=30, **settings).fit(rows)
    assert model.embedding_.dtype == np.dtype(settings.get('dtype', 'float64'))
    assert model.score(rows) == pytest.approx(1 - model.error_) and model.error_ < 0.25


def test_estimator_on_odd_data(tmp_path):
    with expect_fail(ValueError, contains='they must agree'):
        OrdinalEmbedding(1).fit([[0, 1, 2]], features=np.ones((3, 1)), names=list('abcd'))
    refuses('client=', OrdinalEmbedding(1, client=1).fit, [[0, 1, 2]])
    OrdinalEmbedding(1, n_init=2, checkpoint=tmp_path / 'x.npz').fit([[0, 1, 2]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ['x-1.npz', 'x.npz']
    with expect_fail(ValueError, contains='the fitted map itself is embedding_, and place('):
        OrdinalEmbedding(1).fit([[0, 1, 2]]).transform([[0, 1, 2]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model = OrdinalEmbedding(1, n_objects=9, solver='lbfgs').fit([[0, 1, 7], [7, 1, 0]])
    assert len(caught) == 1 and '6 of 9 objects are in no comparison' in str(caught[0].message)
    assert model.predict([[0, 1, 8], [0, 1, 7]]).tolist() == [0, 1]
    assert model.score([[0, 8, 1]]) == 0
    ties = OrdinalEmbedding(1, ties='half', solver='lbfgs', max_epochs=200).fit([[0, 1, 2]], [0])
    assert abs(ties.decision_function([[0, 1, 2]])[0]) < 1e-3  # called even
    refuses('every answer is a tie', OrdinalEmbedding(1).fit, [[0, 1, 2]], [0])
    names = OrdinalEmbedding(1).fit([['x', 'y', 'z'], ['z', 'y', 'x']])
    assert names.names_.tolist() == ['x', 'y', 'z'] and names.score([['x', 'y', 'z']]) == 1
    numbers = OrdinalEmbedding(1).fit([[10, 30, 77], [77, 30, 10]], names=[10, 30, 77])
    assert numbers.embedding_.shape == (3, 1) and numbers.score([[10, 30, 77]]) == 1


def test_estimator_resumes_and_warm_starts(tmp_path):
    rows = answers(15, 400)
    whole = OrdinalEmbedding(2, max_epochs=30).fit(rows)
    OrdinalEmbedding(2, max_epochs=15, checkpoint=tmp_path / 'run.npz').fit(rows)
    np.testing.assert_array_equal(
        OrdinalEmbedding(2, max_epochs=30, checkpoint=tmp_path / 'run.npz').fit(rows).embedding_,
        whole.embedding_,
    )
    model = OrdinalEmbedding(2, n_init=2, max_epochs=15, warm_start=True).fit(rows)
    first = model.run_.history[-1]['loss']
    assert len(model.losses_) == 2 and first == model.losses_.min()
    assert model.fit(rows).run_.history[0]['loss'] == first and len(model.losses_) == 1


def test_a_map_from_features_places_strangers():
    table, places = planted_triplets(100, 2, 10_000, noise=0.05)
    noise = np.random.default_rng(0).normal(size=(100, 4)) / 10
    features = np.hstack([places, places]) + noise
    model = OrdinalEmbedding(2, 'tste', max_epochs=30).fit(table.train_triplets, features=features)
    assert model.score(table.test_triplets) > 0.85
    spread = model.embedding_.std()
    assert abs(model.transform(features[:3]) - model.embedding_[:3]).max() < 0.4 * spread
    assert np.sqrt(np.mean(model.loo_residuals() ** 2)) < 0.4 * spread


def test_the_next_question_is_where_maps_disagree():
    from extreme_opt.ordinal import select_queries
    from extreme_opt.ordinal.plain.which_question import information

    maps = 9 * np.array([[[0.0], [1.0], [2.0], [5.0]], [[0.0], [2.0], [1.0], [5.0]]])
    questions = np.array([[0, 1, 3], [0, 1, 2], [3, 0, 1]])
    bits = information(maps, questions)
    np.testing.assert_allclose(bits, [0, 1, 0], atol=1e-9)
    for pool in (None, 100, 3):
        assert select_queries(maps, questions, 1, pool).tolist() == [1]
    assert len(select_queries(maps, questions, 10)) == 3
    with expect_fail(ValueError, contains="questions hold 'a', but row numbers of the maps"):
        select_queries(maps, np.array([['a', 'b', 'c']]))


class Unnumbered(PairLoss):
    "A loss of somebody's own: no kernel has a formula for it."

    constant = 0.1


@pytest.mark.parametrize('kind', [-1, 5, 7, None, 'ste'])
def test_a_loss_without_a_formula_is_refused(kind):
    loss = type('Mine', (Unnumbered,), {'kind': kind})()
    for use in (
        lambda: loss(1.0, 2.0),
        lambda: Comparisons([[0, 1, 2]], 1, loss),
        lambda: OrdinalEmbedding(1, loss).fit([[0, 1, 2]]),
    ):
        refuses(f'Mine has kind={kind!r}, but the kernel has formulas for 0 to 4 only', use)


def softplus(near, far):
    "The loss of STE in plain NumPy."
    share = 1 / (1 + np.exp(far - near))
    return np.logaddexp(0, near - far), share, -share


@pytest.mark.parametrize('columns', [3, 4])
@pytest.mark.parametrize('ridge', [0.0, 0.1])
def test_a_loss_of_ones_own_is_the_kernels_where_the_formula_is(columns, ridge):
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(12)[:columns] for _ in range(200)])
    more = dict(weights=rng.random(200), ridge=ridge)
    ours = Comparisons(rows, 2, STE(), 12, **more)
    own = Comparisons(rows, 2, CallableLoss(softplus), 12, **more)
    x = ours.init_params(0)
    np.testing.assert_allclose(own.loss(x), ours.loss(x))
    np.testing.assert_allclose(own.grad(x), ours.grad(x), atol=1e-14)
    np.testing.assert_allclose(own.grad_at(x, [3, 5]), ours.grad_at(x, [3, 5]), atol=1e-14)
    for solver in (SGD(0.05), SVRG(FixedStep(0.02)), LBFGS()):
        ends = [minimize(each, solver, x, max_iter=2).state.params for each in (ours, own)]
        np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)


def test_the_estimator_takes_a_function_as_loss():
    rows = answers(15, 400, noise=0.1)
    own, ours = (OrdinalEmbedding(2, loss).fit(rows) for loss in (softplus, 'ste'))
    np.testing.assert_allclose(own.embedding_, ours.embedding_, atol=1e-6)
    with expect_fail(ValueError, contains='the derivative by far of'):
        OrdinalEmbedding(2, lambda near, far: (near - far, near**0, near**0)).fit(rows)
    refuses('no loss object and no function', OrdinalEmbedding(2, 3).fit, rows)


def test_a_loss_with_a_call_of_its_own_is_not_replaced_by_the_kernel():
    class Doubled(STE):
        def __call__(self, near, far):
            return tuple(2 * part for part in super().__call__(near, far))

    own, once = Comparisons([[0, 1, 2]], 1, Doubled()), Comparisons([[0, 1, 2]], 1)
    np.testing.assert_allclose(own.loss(own.init_params()), 2 * once.loss(once.init_params()))
    np.testing.assert_allclose(own.grad(own.init_params()), 2 * once.grad(once.init_params()))


@pytest.mark.parametrize(
    'dtype', ['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int64', 'float64', object]
)
def test_ids_of_every_type_that_holds_whole_numbers(dtype):
    rows = answers(15, 400)
    typed = rows.astype(dtype)
    np.testing.assert_array_equal(check_comparisons(typed), rows)
    assert Comparisons(typed).n_objects == 15
    wanted = OrdinalEmbedding(max_epochs=30).fit(rows)
    model = OrdinalEmbedding(max_epochs=30).fit(typed)
    np.testing.assert_array_equal(model.embedding_, wanted.embedding_)
    assert model.names_ is None and model.score(typed) == wanted.score(rows)
    if dtype != 'float64':
        assert Triplets(typed).n_objects == 15


def told(model, rows, **more):
    "Messages of the warnings of a fit."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model.fit(rows, **more)
    return [str(each.message) for each in caught]


def test_a_fit_that_has_not_converged_says_so_and_names_a_setting():
    rows, settings = answers(15, 400, noise=0.1), set(OrdinalEmbedding().get_params())
    assert told(OrdinalEmbedding(), rows) == []
    cases = [
        (dict(max_iter=1, max_epochs=None), 'raise max_iter or tol='),
        (dict(solver='gd', max_epochs=3, tol=None), 'raise max_epochs'),
        (dict(solver='svrg', max_epochs=30), 'raise max_epochs or tol='),
    ]
    for changed, words in cases:
        said = told(OrdinalEmbedding(**changed), rows)
        assert len(said) == 1 and words in said[0], (changed, said)
        assert said[0].startswith('OrdinalEmbedding.fit did not converge: ')
        assert (
            set(re.findall(r'[a-z]+_[a-z]+|solver|tol\b', said[0].rpartition(';')[2])) <= settings
        )
    assert told(OrdinalEmbedding(solver='svrg', tol=1e-2, max_epochs=1000), rows) == []
    assert told(OrdinalEmbedding(tol=None, max_epochs=30), rows) == []


def test_comparisons_that_fall_into_groups_are_told():
    rows = answers(12, 300)
    assert told(OrdinalEmbedding(), np.concatenate([rows, rows + 12])) == [
        'the comparisons fall into 2 groups of objects that no comparison links, so how the groups'
        ' lie to each other in the map is arbitrary; ask across the groups, or fit each by itself'
    ]
    assert told(OrdinalEmbedding(), np.concatenate([rows, rows + 12, [[0, 12, 1]]])) == []
    said = told(OrdinalEmbedding(n_objects=30), np.concatenate([rows, rows + 12]))
    assert len(said) == 2 and '6 of 30 objects are in no comparison' in said[0]
    assert '2 groups' in said[1]


@pytest.mark.parametrize('changed', [dict(solver='sgd'), dict(solver='svrg', step_rule='fixed')])
def test_a_diverged_map_gives_nobody_a_place(changed):
    rows, features = answers(15, 400), np.random.default_rng(0).normal(size=(15, 3))
    model = OrdinalEmbedding(**changed, learning_rate=1e9)
    refuses('use a smaller learning_rate', model.fit, rows, features=features, raises=FitDiverged)
    refuses('not fitted', model.transform, features, raises=NotFittedError)


@pytest.mark.parametrize('loss', ['ste', 'gnmds', 'soe', 'tste', 'ckl'])
@pytest.mark.parametrize('noise', [0.0, 0.1])
@pytest.mark.parametrize('n_objects', [20, 120])
def test_default_fits_end_by_their_stop_rule(loss, noise, n_objects):
    rows = answers(n_objects, 40 * n_objects, noise=noise)
    # with a small ridge the kink of the hinge takes more than the default number of epochs
    model = OrdinalEmbedding(2, loss, ridge=0.0 if loss == 'gnmds' else 1e-3, max_epochs=1000)
    assert told(model, rows) == [] and 'tol=' in model.run_.message
    assert model.solver_ == 'lbfgs' and model.n_iter_ == model.run_.state.n_iter
    assert len(model.losses_) == 4 and model.error_ < noise + 0.12


def test_the_default_solver_goes_by_the_number_of_comparisons(monkeypatch):
    rows = answers(15, 400, noise=0.1)
    monkeypatch.setattr(embedding, '_MOST_LBFGS', 399)
    assert OrdinalEmbedding(n_init=1, tol=1e-2).fit(rows).solver_ == 'svrg'
    assert OrdinalEmbedding(n_init=1, tol=1e-2).fit(rows[:399]).solver_ == 'lbfgs'


@pytest.mark.parametrize('loss', ['ste', 'soe', 'gnmds'])
def test_svrg_ends_where_only_noise_is_left(loss):
    rows = answers(60, 2400, noise=0.1)
    model = OrdinalEmbedding(2, loss, solver='svrg', n_init=1)
    assert told(model, rows) == [] and 'tol=' in model.run_.message
    best = OrdinalEmbedding(2, loss, solver='lbfgs').fit(rows)
    assert model.losses_[0] < 1.01 * best.losses_.min()
    without = OrdinalEmbedding(2, loss, solver='svrg', n_init=1, tol=None, max_iter=3).fit(rows)
    assert without.n_iter_ == 3


def test_a_fit_ends_where_ten_steps_leave_the_loss_as_it_is():
    rows = answers(15, 400, noise=0.1)
    model = OrdinalEmbedding(solver='svrg', step_rule='fixed', learning_rate=1e-12, n_init=1)
    with pytest.warns(Warning):
        model.fit(rows)
    assert model.n_iter_ == 11 and 'over 10 steps' in model.run_.message


def test_choosing_the_dimension_hides_no_warning_of_convergence():
    from sklearn.exceptions import ConvergenceWarning

    rows = answers(15, 400, noise=0.1)
    with pytest.warns(ConvergenceWarning, match='max_epochs'):
        model = OrdinalEmbedding(max_epochs=2, n_init=1)
        choose_components(model, rows, candidates=(1,), n_folds=2)


def test_a_loss_of_other_shapes_is_refused():
    for parts in (lambda near, far: (near, far), lambda near, far: (near, near, far[:1])):
        refuses('must return three arrays of shape', CallableLoss, parts)


def test_a_loss_that_is_not_a_number_is_refused():
    with expect_fail(ValueError, contains='three finite numbers are needed'):
        OrdinalEmbedding(2, lambda near, far: (near * np.nan, near, far)).fit(answers(15, 40))


def test_a_warm_start_stops_where_the_first_fit_stopped():
    rows = answers(30, 1200, noise=0.1)
    model = OrdinalEmbedding(warm_start=True).fit(rows)
    n_iter = model.n_iter_
    assert told(model, rows) == [] and model.n_iter_ < n_iter / 5


def test_new_objects_are_placed_by_comparisons():
    table, truth = planted_triplets(40, 2, 6000, noise=0.05, seed=1)
    rows = table.triplets
    old = (rows < 34).all(1)
    model = OrdinalEmbedding(2).fit(rows[old])
    before = model.embedding_.copy()
    new = model.place(rows[~old])
    assert new.shape == (6, 2) and procrustes(np.vstack([before, new]), truth)[1] < 0.04
    np.testing.assert_array_equal(model.embedding_, before)
    # near and far exchanged, and answers that say so
    np.testing.assert_allclose(
        model.place(rows[~old][:, [0, 2, 1]], -np.ones((~old).sum())), new, atol=1e-9
    )
    # alone or with others, an object that is compared with old ones only has the same place
    alone = (rows == 36).any(1) & ((rows < 34) | (rows == 36)).all(1)
    other = (rows == 39).any(1) & ((rows < 34) | (rows == 39)).all(1)
    both, one = model.place(rows[alone | other]), model.place(rows[alone])
    np.testing.assert_allclose(both[2], one[2], atol=1e-2)
    assert np.isnan(both[[0, 1, 3, 4]]).all() and np.isfinite(both[5]).all()
    names = np.array([f'o{i:02d}' for i in range(40)])
    named = OrdinalEmbedding(2).fit(names[rows[old]])
    np.testing.assert_allclose(named.place(names[rows[~old]]), new, atol=1e-6)
    for wrong, words in (
        (rows[old], 'no comparison has a new object; ids from 34 up'),
        ([[40, 1, 1]], 'near and far'),
    ):
        refuses(words if words.startswith('no') else '', model.place, wrong)
    with unheard():
        gap = OrdinalEmbedding(1).fit([[0, 1, 3], [3, 1, 0]])
    refuses('object 2 has no coordinates', gap.place, [[4, 2, 1]])


def test_bootstrap_takes_weights_and_fresh_starts():
    rows = answers(15, 500, noise=0.1)
    weights = np.repeat([1.0, 0.0], 250)
    model = OrdinalEmbedding(2).fit(rows, sample_weight=weights)
    clouds = model.bootstrap(rows, n_draws=4, sample_weight=weights)
    half = model.bootstrap(rows, n_draws=4)
    assert clouds.shape == half.shape == (4, 15, 2) and not np.allclose(clouds, half)
    refuses('n_init=0', model.bootstrap, rows, n_init=0)
    # two groups of objects that hang together by one answer: the second can lie anywhere
    two = np.concatenate([answers(8, 300), answers(8, 300) + 8, [[0, 8, 1]]])
    model = OrdinalEmbedding(2, ridge=1e-3).fit(two)
    spread = [model.bootstrap(two, n_draws=6, n_init=n_init).std(0).mean() for n_init in (1, 4)]
    assert spread[0] > 0 and spread[1] > 0
    assert told(model, two) == []


def test_a_response_array_is_fitted_as_the_triplets_in_it():
    from scipy import sparse

    from extreme_opt.ordinal import responses_from_triplets, triplets_from_responses

    rows = answers(12, 300, noise=0.1)
    y = np.where(np.arange(300) % 3, 1, -1)
    coords, data, shape = responses_from_triplets(rows, y, 12)
    dense = np.zeros(shape)
    dense[tuple(coords)] = data
    arrays = [dense]
    try:
        arrays.append(sparse.coo_array((data, tuple(coords)), shape=shape))
    except (TypeError, ValueError):  # an old SciPy has two dimensions
        pass
    back, weights = triplets_from_responses(dense)
    wanted = OrdinalEmbedding(2, n_init=1).fit(back, sample_weight=weights)
    for array in arrays:
        model = OrdinalEmbedding(2, n_init=1).fit(array)
        np.testing.assert_allclose(model.embedding_, wanted.embedding_, atol=1e-9)
    refuses('holds answers and weights itself', lambda: OrdinalEmbedding(2).fit(dense, np.ones(5)))


def study(n_rows=400, n_objects=12, seed=0, noise=0.1):
    "Names, questions, booleans that say whether the first is nearer, and the places."
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(n_objects, 2))
    q = rng.random((n_rows, n_objects)).argsort(1)[:, :3]
    near, far = (((places[q[:, 0]] - places[q[:, c]]) ** 2).sum(1) for c in (1, 2))
    names = np.array([f'o{i:02d}' for i in range(n_objects)])
    return names, q, (near < far) ^ (rng.random(n_rows) < noise), places


def same_map(model, wanted):
    np.testing.assert_array_equal(model.embedding_, wanted.embedding_)


def frames(columns):
    "A dict of columns, and the table of each package that is there."
    yield from (columns, pd.DataFrame(columns), pa.table(columns))
    try:
        import polars
    except ImportError:
        return
    yield polars.DataFrame(columns)


def answer_forms(yes):
    "The same answers in every form that is read."
    signs = np.where(yes, 1, -1)
    yield from (yes, yes.tolist(), yes.astype(object), signs.astype('int8'), signs * 2.5)
    yield from coded_forms(signs)
    yield from (pd.Series(yes), pd.Series(yes, dtype='boolean'), pd.Series(yes).astype('category'))
    yield from (pd.Series(yes, index=range(9, 9 + len(yes))), pd.Series(yes, dtype='bool[pyarrow]'))
    yield from (pa.array(yes), pa.chunked_array([yes]))


def coded_forms(values):
    "The same numbers as list, array, object and float, and as columns of pandas and pyarrow."
    values = np.asarray(values)
    yield from (values, values.tolist(), values.astype(object), values.astype('float32'))
    yield from (pd.Series(values), pd.Series(values, dtype='Int64'), pa.array(values))


def doors(rows, y):
    "Every call that takes answers."
    from extreme_opt.ordinal import choose_components, responses_from_triplets

    model = OrdinalEmbedding(1, n_init=1).fit([[0, 1, 2], [2, 1, 0]])
    with unheard():
        yield lambda: OrdinalEmbedding(1).fit(rows, y)
        yield lambda: OrdinalEmbedding(1).fit_transform(rows, y)
        yield lambda: model.score(rows, y)
        yield lambda: model.place(rows, y)
        yield lambda: model.bootstrap(rows, y)
        yield lambda: choose_components(OrdinalEmbedding(1), rows, y)
        yield lambda: orient(rows, y)
        yield lambda: responses_from_triplets(rows, y)


def test_answers_in_every_form_give_one_map():
    _, q, yes, _ = study()
    wanted = OrdinalEmbedding(2, n_init=1).fit(q, yes)
    for y in answer_forms(yes):
        same_map(OrdinalEmbedding(2, n_init=1).fit(q, y), wanted)
        assert wanted.score(q, y) == wanted.score(q, yes) == pytest.approx(1 - wanted.error_)


@pytest.mark.parametrize(
    'code, words',
    [
        (lambda q, yes: np.where(yes, 1, 0), 'booleans? say y == 1'),
        (lambda q, yes: np.where(yes, 0, 1), 'booleans? say y == 1'),
        (lambda q, yes: np.where(yes, 1, 2), 'booleans? say y == 1'),
        (lambda q, yes: np.where(yes, 0, 2), 'booleans? say y == 1'),
        (lambda q, yes: np.where(yes, 5, 1) + (np.arange(len(q)) % 2), 'as by y > 3'),
        (lambda q, yes: np.zeros(len(q), int), 'every answer is a tie'),
        (lambda q, yes: np.full(len(q), 2), 'no negative number'),
        (lambda q, yes: np.where(np.arange(len(q)) % 5, np.where(yes, 1, 2), -9), 'missing ones'),
        (lambda q, yes: np.where(np.arange(len(q)) % 5, np.where(yes, 1, 0), -99), 'missing ones'),
        (lambda q, yes: np.where(np.arange(len(q)) % 5, np.where(yes, 1, 2), -1), 'missing ones'),
        (lambda q, yes: np.where(yes, q[:, 1], q[:, 2]), 'an object of its question'),
    ],
)
def test_codes_of_answers_are_never_misread(code, words):
    _, q, yes, _ = study(60)
    for y in coded_forms(code(q, yes)):
        for use in doors(q, y):
            refuses(words, use)


def test_answers_that_are_names_missing_or_mixed_are_refused():
    names, q, yes, _ = study(60)
    for y, words in (
        (np.where(yes, names[q[:, 1]], names[q[:, 2]]), 'an object of its question'),
        (np.where(yes, 'True', 'False'), "answers[0] is '"),
        ([True, None] + yes[2:].tolist(), 'answers[1] is missing (None)'),
        ([True, np.nan] + yes[2:].tolist(), 'answers[1] is missing (nan)'),
        ([True, 0] + yes[2:].astype(object).tolist(), 'booleans'),
        (yes[:1], 'answers has shape (1,), but there are 60 questions'),
    ):
        y = np.array(y, object)
        refuses(words, OrdinalEmbedding(2).fit, names[q], y)
    for dtype in ('boolean', 'Int64', object):
        y = pd.Series([True, None] + yes[2:].tolist(), dtype=dtype)
        refuses('answers[1] is missing', OrdinalEmbedding(2).fit, names[q], y)


def test_all_yes_is_no_code():
    _, q, yes, _ = study(60)
    near = np.where(yes[:, None], q, q[:, [0, 2, 1]])
    wanted = OrdinalEmbedding(2, n_init=1).fit(near)
    for y in (np.ones(60), np.ones(60, int), np.ones(60, bool)):
        same_map(OrdinalEmbedding(2, n_init=1).fit(near, y), wanted)
        assert wanted.score(near, y) == wanted.score(near)
    one = (near == 1).any(1) & (near[:, 0] != 1)
    turned = near[one]
    assert len(turned) > 3
    assert wanted.score(near[near[:, 1] == 1], np.ones((near[:, 1] == 1).sum())) > 0
    OrdinalEmbedding(1, ties='half', n_init=1).fit(near, np.zeros(60))


def test_a_column_of_answers_in_a_table_is_answers():
    names, q, yes, _ = study()
    table = dict(zip(('anchor', 'first', 'second'), names[q].T))
    wanted = OrdinalEmbedding(2, n_init=1).fit(names[q], yes)
    for given in frames(table):
        same_map(OrdinalEmbedding(2, n_init=1).fit(given, yes), wanted)
        np.testing.assert_array_equal(wanted.predict(given), wanted.predict(names[q]))
    for answer in (yes, np.where(yes, 1, -1)):
        for given in frames({**table, 'answer': answer}):
            model = OrdinalEmbedding(2, n_init=1).fit(given)
            same_map(model, wanted)
            assert model.score(given) == pytest.approx(1 - model.error_)
            same_map(OrdinalEmbedding(2, n_init=1).fit(given, yes), wanted)
            np.testing.assert_array_equal(model.predict(given), model.predict(names[q]))
            np.testing.assert_array_equal(
                model.bootstrap(given, n_draws=1), model.bootstrap(names[q], yes, n_draws=1)
            )
    for answer in (yes.astype(int), np.where(yes, 'first', 'second'), np.where(yes, 1, 2)):
        for given in frames({**table, 'answer': answer}):
            for use in (OrdinalEmbedding(2).fit, wanted.score):
                refuses('answers', use, given)


def test_columns_in_another_order_are_read_by_their_names():
    "In each later call, which leaves the names as they were; features as well."
    names, q, yes, _ = study()
    table = dict(zip(('anchor', 'first', 'second'), names[q].T))
    features = np.random.default_rng(0).normal(size=(12, 2))
    model = OrdinalEmbedding(2, n_init=1).fit(table, yes, features=dict(zip('ab', features.T)))
    margins, boot = model.decision_function(names[q]), model.bootstrap(names[q], yes, n_draws=1)
    places, free = model.transform(features), names[q]
    folds = choose_components(model, free, yes, candidates=(1,), n_folds=2)[1]
    residuals = model.answer_residuals(free, yes, n_folds=2)['probability']
    for given in frames({key: table[key] for key in ('second', 'anchor', 'first')}):
        np.testing.assert_array_equal(model.bootstrap(given, yes, n_draws=1), boot)
        found = model.answer_residuals(given, yes, n_folds=2)['probability']
        np.testing.assert_array_equal(found, residuals)
        found = choose_components(model, given, yes, candidates=(1,), n_folds=2)[1]
        np.testing.assert_array_equal(found, folds)
        np.testing.assert_array_equal(model.decision_function(given), margins)
        with expect_fail(ValueError, contains='they are read in the order anchor, first, second'):
            OrdinalEmbedding(2).fit(given, yes)
    for given in frames(dict(b=features[:, 1], a=features[:, 0])):
        np.testing.assert_array_equal(model.transform(given), places)
    with expect_fail(ValueError, contains="a column 'far', but fit saw anchor, first, second"):
        model.score({**dict(anchor=names[q[:, 0]]), 'first': names[q[:, 1]], 'far': names[q[:, 2]]})
    new = {**table, 'anchor': np.full(len(q), 'z')}
    mixed = {key: new[key] for key in ('second', 'anchor', 'first')}
    np.testing.assert_array_equal(model.place(mixed, yes), model.place(new, yes))
    flipped = dict(anchor=table['anchor'], far=table['second'], near=table['first'])
    refuses('they are read in the order anchor, near, far', OrdinalEmbedding(2).fit, flipped)
    again = model.set_params(warm_start=True)
    again.fit({key: table[key] for key in ('second', 'anchor', 'first')}, yes)
    assert again.score(free, yes) == pytest.approx(1 - again.error_) and again.error_ < 0.2


def test_four_columns_of_which_one_holds_no_objects_are_asked_about():
    names, q, yes, _ = study()
    person = np.arange(len(q)) % 105
    ids, named = dict(zip('abc', q.T)), dict(zip('abc', names[q].T))
    words = 'does not hold the objects of the others'
    for columns, y in (
        ({**named, 'said': np.where(yes, 'first', 'second')}, None),
        ({**named, 'person': [f'p{i}' for i in person]}, yes),
        ({'person': [f'p{i}' for i in person], **named}, yes),
        ({**ids, 'person': person}, yes),
        ({'person': person, **ids}, yes),
        ({**ids, 'said': np.where(yes, 1, 2)}, None),
        ({**ids, 'said': yes.astype(int)}, None),
    ):
        for given in [*frames(columns), np.array(list(columns.values())).T]:
            refuses(words, OrdinalEmbedding(2).fit, given, y)
    model = OrdinalEmbedding(2, n_init=1).fit(ids, yes)
    few = person % 8  # ids of objects as well
    for three in (('anchor', 'first', 'second'), ('anchor', 'near', 'far')):
        for given in frames({**dict(zip(three, q.T)), 'person': few}):
            for use in (OrdinalEmbedding(2, n_objects=12).fit, OrdinalEmbedding(2).fit):
                refuses(f"column 'person' {words}", use, given)
            refuses(f"column 'person' {words}", model.predict, given)
    for given in frames({**ids, 'person': few}):
        refuses("a column 'person' besides those that fit saw", model.predict, given)
    spread = person % 40  # never the object beside it, so that rows can be read as two pairs
    for column, three in (('Worker ID', 'abc'), ('x', ('anchor', 'left', 'right'))):
        for given in frames(
            {**dict(zip(three, q.T)), column: np.where(spread == q[:, 2], 99, spread)}
        ):
            refuses(f'column {column!r} {words}', OrdinalEmbedding(2).fit, given, yes)
    with expect_fail(ValueError, contains='a name that ends in NUL'):
        OrdinalEmbedding(1).fit([['a', 'a\0', 'b'], ['b', 'a', 'a\0']])
    with expect_fail(ValueError, contains='or leave out a column that holds no objects'):
        OrdinalEmbedding(2, n_objects=12).fit(np.column_stack([q, q[:, 2]]), yes)
    rows = fours()
    wanted = OrdinalEmbedding(2, n_init=1).fit(rows)
    for given in frames(dict(zip(('i', 'j', 'l', 'k'), rows.T))):
        same_map(OrdinalEmbedding(2, n_init=1).fit(given), wanted)
    standard = drop_degenerate(np.column_stack([fours()[:, :2], np.tile([0, 1], (200, 1))]))
    OrdinalEmbedding(1, n_init=1).fit(standard)


def test_a_map_of_one_place_is_laid_on_the_middle():
    aligned, disparity = procrustes(np.full((3, 2), 7.0), np.array([[0.0, 0], [3, 0], [0, 6]]))
    assert aligned.tolist() == [[1.0, 2.0]] * 3 and disparity == 1


def test_maps_are_aligned_by_names():
    names, q, yes, _ = study(1000)
    model = OrdinalEmbedding(2).fit(names[q], yes)
    other = OrdinalEmbedding(2).fit(names[q], yes, names=names[::-1])
    with no_warning():
        aligned, disparity = model.procrustes(other)
    assert disparity < 1e-5
    np.testing.assert_allclose(aligned, other.embedding_[::-1], atol=0.02)
    renamed = names.copy()
    renamed[0] = 'z'  # sorted last: every other object is one row further up
    another = OrdinalEmbedding(2).fit(renamed[q], yes)
    with pytest.warns(UserWarning, match='on the 11 objects that are in both maps, of 12 and 12'):
        aligned, disparity = model.procrustes(another)
    assert disparity < 1e-5 and aligned.shape == (12, 2) and np.isfinite(aligned).all()
    strange = OrdinalEmbedding(2).fit(np.char.add('x', names)[q], yes)
    refuses('0 of 12 and 12 names are in both maps', model.procrustes, strange)
    fewer = OrdinalEmbedding(2).fit(q[(q < 10).all(1)], yes[(q < 10).all(1)])
    refuses('12 and 10 objects, and not both have names_', model.procrustes, fewer)
    assert model.procrustes(model.embedding_ * 3)[1] < 1e-9
    turned = OrdinalEmbedding(2).fit(q, yes)
    turned.embedding_ = 3 * model.embedding_[:, ::-1]
    np.testing.assert_allclose(model.procrustes(turned)[0], turned.embedding_, atol=1e-9)


def test_an_answer_of_weight_zero_is_left_out():
    names, q, yes, _ = study()
    weights = np.where((q == 11).any(1), 0.0, 1.0)
    left = weights > 0
    for rows, more in ((q, dict(n_objects=12)), (names[q], dict(names=names))):
        settings = {'n_objects': 12} if 'n_objects' in more else {}
        fit = dict(names=names) if 'names' in more else {}
        model = OrdinalEmbedding(2, n_init=2, **settings)
        said = told(model, rows, y=yes, sample_weight=weights, **fit)
        assert len(said) == 1 and '1 of 12 objects are in no comparison' in said[0]
        assert np.isnan(model.embedding_[11]).all() and np.isfinite(model.embedding_[:11]).all()
        with unheard():
            wanted = OrdinalEmbedding(2, n_init=2, **settings).fit(rows[left], yes[left], **fit)
        same_map(model, wanted)
        assert model.error_ == wanted.error_
    new = np.array([[12, 0, 1], [12, 1, 2], [13, 2, 3]])
    place = wanted.place(np.char.mod('o%02d', new), sample_weight=[1, 1, 0])
    assert np.isfinite(place[0]).all() and np.isnan(place[1]).all()
    refuses('zero for every row', OrdinalEmbedding(2).fit, q, yes, sample_weight=np.zeros(len(q)))


def test_bootstrap_tells_of_objects_with_few_answers():
    _, q, yes, _ = study(600)
    once = np.flatnonzero((q == 11).any(1))[1:]
    rows, y = np.delete(q, once, axis=0), np.delete(yes, once)
    model = OrdinalEmbedding(2, n_init=1).fit(rows, y)
    with pytest.warns(UserWarning, match=r'1 of 12 objects have fewer than .* answers: 11 \(1\)'):
        maps = model.bootstrap(rows, y, n_draws=12, n_init=1)
    assert np.isnan(maps[:, 11]).any() and np.isfinite(maps[:, :11]).all()
    with no_warning():
        OrdinalEmbedding(2, n_init=1).fit(q, yes).bootstrap(q, yes, n_draws=2, n_init=1)
    refuses('bootstrap needs the comparisons that were given to fit', model.bootstrap, [[0, 1, 30]])


def test_ids_far_apart_cost_no_more_than_others():
    _, q, yes, _ = study()
    wanted = OrdinalEmbedding(2).fit(q, yes)
    far = np.array([3, 5, 1000, 1_100_000, *range(2_000_000, 2_000_008)])[q]
    model = OrdinalEmbedding(2)
    assert len(told(model, far, y=yes)) == 1
    assert model.embedding_.shape == (2_000_008, 2) and model.run_.state.params.size == 24
    kept = np.isfinite(model.embedding_).all(1)
    assert kept.sum() == 12
    np.testing.assert_array_equal(model.embedding_[kept], wanted.embedding_)
    assert model.error_ == wanted.error_ and model.score(far, yes) == wanted.score(q, yes)
    np.testing.assert_array_equal(
        model.bootstrap(far, yes, n_draws=1, n_init=1)[0][kept],
        wanted.bootstrap(q, yes, n_draws=1, n_init=1)[0],
    )
    with expect_fail(ValueError, contains='say names=np.unique(triplets)'):
        OrdinalEmbedding(1).fit(np.where(far > 2_000_000, far * 1000, far), yes)
    named = OrdinalEmbedding(2).fit(far, yes, names=np.unique(far))
    np.testing.assert_array_equal(named.embedding_, wanted.embedding_)


def test_features_are_matched_by_the_names_of_their_columns():
    _, q, yes, _ = study()
    values = np.random.default_rng(0).normal(size=(12, 3))
    new = np.random.default_rng(1).normal(size=(4, 3))
    wanted = OrdinalEmbedding(2, n_init=1).fit(q, yes, features=values).transform(new)
    model = OrdinalEmbedding(2, n_init=1)
    model.fit(q, yes, features=pd.DataFrame(values, columns=list('abc')))
    table = pd.DataFrame(new, columns=list('abc'))
    for given in (table, table[['c', 'a', 'b']], new):
        np.testing.assert_allclose(model.transform(given), wanted, rtol=0, atol=1e-9)
    for wrong, words in (
        (table.rename(columns={'a': 'x'}), "lacks 'a'"),
        (table.assign(d=1.0), "has 4 columns, but fit had 3"),
        (table[['a', 'b', 'b']], "lacks 'c'"),
    ):
        refuses(words, model.transform, wrong)


def test_a_fitted_map_keeps_copies_of_features_and_names():
    names, q, yes, places = study()
    features, names, new = 100 * places, names.astype(object), 100 * places[:2] + 1
    model = OrdinalEmbedding(2, n_init=1).fit(names[q], yes, features=features, names=names)
    wanted = model.transform(new)
    features -= 50
    names[0] = 'other'
    np.testing.assert_array_equal(model.transform(new), wanted)
    assert model.names_[0] == 'o00'


def test_features_are_matched_by_an_index_that_holds_the_names():
    names, q, yes, places = study()
    table = pd.DataFrame(places, names, ['x', 'y'])
    fit = OrdinalEmbedding(2, n_init=1).fit
    wanted = fit(names[q], yes, features=places).map_features_
    mixed = table.sample(frac=1, random_state=1)
    for given in (table, mixed, table.reset_index(drop=True), table.set_axis(names[::-1] + 'z')):
        np.testing.assert_array_equal(fit(names[q], yes, features=given).map_features_, wanted)
    by_id = table.set_axis(range(12)).sample(frac=1, random_state=1)
    np.testing.assert_array_equal(fit(q, yes, features=by_id).map_features_, wanted)
    turned = fit(names[q], yes, features=mixed, names=names[::-1])
    np.testing.assert_array_equal(turned.map_features_, wanted[::-1])
    fit(names[q], yes, features=places.tolist())  # a list has a method `index`
    for wrong in (mixed.rename({'o03': 'z'}), mixed.rename({'o03': 'o04'})):
        refuses("lacks 'o03'; rows are matched by name", fit, names[q], yes, features=wrong)


def test_features_that_say_nothing_are_told():
    _, q, yes, places = study()
    for features in (np.ones((12, 1)), scipy.sparse.csr_array(np.ones((12, 2)))):
        with expect_fail(ValueError, contains='features are the same for all objects'):
            OrdinalEmbedding(2).fit(q, yes, features=features)
    for features in (places, scipy.sparse.csr_array(places)):
        model = OrdinalEmbedding(2, n_init=1).fit(q, yes, features=features)
        with pytest.warns(UserWarning, match='1 of 2 rows are far from .* the first, row 1, by 8'):
            model.transform([[0.0, 0.0], [1e6, 1e6]])
        with no_warning():
            model.transform(places + 1)
    refuses('differ by less than rounding', KernelMap, np.ones((12, 1)), places)


def test_a_column_of_answers_and_other_answers_are_refused():
    names, q, yes, _ = study(60)
    table = dict(zip(('anchor', 'first', 'second'), names[q].T))
    model = OrdinalEmbedding(2, n_init=1).fit(table, yes)
    for answer in (yes, np.where(yes, 1, -1)):
        for given in frames({**table, 'answer': answer}):
            for other in (~yes, np.where(np.arange(60) == 7, ~yes, yes)):
                at = 7 if other[0] == yes[0] else 0
                for use in (OrdinalEmbedding(2).fit, model.score, model.bootstrap):
                    refuses(f'in row {at}, but y[{at}] is ', use, given, other)
            assert model.score(given, yes) == model.score(table, yes)
    text = {**table, 'answer': np.where(yes, 'first', 'second')}  # which y reads
    assert model.score(text, yes) == model.score(table, yes)


def test_names_that_are_digits_are_not_asked_for_by_whole_numbers():
    "Nor ids by text, in any call that takes objects; ids of objects with names besides are ids."
    _, q, yes, _ = study()
    text = q.astype(str)
    named, plain = OrdinalEmbedding(2, n_init=1).fit(text, yes), OrdinalEmbedding(2).fit(q, yes)
    by_name = "ids were fitted as text (such as '0'), and these are whole numbers (such as "
    by_id = 'ids were fitted as whole numbers (such as 0), and these are text (such as '
    for model, rows, words in ((named, q, by_name), (plain, text, by_id)):
        objects = rows.astype(object)
        for given in (rows, objects, *frames(dict(zip(('anchor', 'first', 'second'), rows.T)))):
            for use in (
                lambda: model.predict(given),
                lambda: model.decision_function(given),
                lambda: model.score(given, yes),
                lambda: model.place(given, yes),
                lambda: model.bootstrap(given, yes, n_draws=1),
                lambda: model.answer_residuals(given, yes),
                lambda: model.people_residuals(given, yes, groups=np.arange(len(q)) % 9),
                lambda: model.object_residuals(given, yes),
                lambda: model.question_information(given, rows, yes, n_draws=1),
            ):
                refuses(words, use)
    refuses(words.split(' (')[0], plain.question_information, text[:1], q, yes, n_draws=1)
    refuses('of type float (such as ', named.predict, q + 0.5)
    refuses(by_name, named.procrustes, plain)
    again = pickle.loads(pickle.dumps(named))
    refuses(by_name, again.predict, q)
    names = np.arange(12).astype(str)
    both = OrdinalEmbedding(2, n_init=1).fit(q, yes, names=names)
    np.testing.assert_array_equal(both.predict(q), both.predict(text))
    assert both.score(q, yes) > 0.8
    named.fit(q, yes, names=named.names_)  # ids from now on
    assert named.score(q, yes) > 0.8


def test_an_object_without_answers_among_the_others_counts_as_missed():
    _, q, yes, _ = study()
    has = (q == 5).any(1)
    with pytest.warns(UserWarning, match='5'):
        model = OrdinalEmbedding(2, n_init=1).fit(q[~has], yes[~has])
    with pytest.warns(UserWarning, match=f'{has.sum()} of {has.sum()} .* did not see.* is 5 in'):
        assert model.score(q[has], yes[has]) == 0


def test_cross_validation_lives_with_an_object_that_a_fold_lacks():
    from sklearn.model_selection import KFold, cross_val_score

    names, q, yes, _ = study()
    once = np.flatnonzero((q == 11).any(1))[1:]
    rows, y = np.delete(q, once, axis=0), np.delete(yes, once)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        for given in (names[rows], rows):
            scores = cross_val_score(OrdinalEmbedding(2, n_init=1), given, y, cv=KFold(4))
            assert np.isfinite(scores).all() and scores.min() > 0.6
        found = choose_components(OrdinalEmbedding(n_init=1), names[rows], y, candidates=(1, 2))
    assert (
        sum('1 of ' in str(w.message) and 'fit did not see' in str(w.message) for w in caught) == 2
    )
    assert all(np.isfinite(errors).all() for errors in found.values())
    with expect_fail(ValueError, contains='none of the 12 objects'):
        OrdinalEmbedding(1).fit(names[q], yes).predict([['o00', 'o01', 'zz']])


def test_choose_components_takes_what_fit_takes():
    names, q, yes, _ = study()
    near = np.where(yes[:, None], q, q[:, [0, 2, 1]])
    model = OrdinalEmbedding(n_init=1)
    wanted = choose_components(model, near, candidates=(1, 2))
    for rows, y, more in (
        (q, yes, {}),
        (q, np.where(yes, 1, -1), {}),
        (names[q], yes, {}),
        (names[q].tolist(), yes, dict(names=names)),
        (names[q], yes, dict(sample_weight=np.full(400, 2.0))),
        (dict(zip('abc', names[q].T)) | {'answer': yes}, None, {}),
    ):
        found = choose_components(model, rows, y, candidates=(1, 2), **more)
        for p in (1, 2):
            np.testing.assert_allclose(found[p], wanted[p], atol=0.03)
    person = np.repeat(['ann', 'bob', 'cid', 'dee'], 100)
    by_person = choose_components(model, q, yes, candidates=(2,), groups=person, n_folds=4)[2]
    alone = [
        1
        - OrdinalEmbedding(n_init=1)
        .fit(q[person != p], yes[person != p])
        .score(q[person == p], yes[person == p])
        for p in np.unique(person)
    ]
    np.testing.assert_allclose(sorted(by_person), sorted(alone))
    with expect_fail(ValueError, contains='n_folds=5 is not between 2 and the 4 groups'):
        choose_components(model, q, yes, groups=person)
    refuses('groups has shape (3,)', choose_components, model, q, yes, groups=person[:3])
    halves = OrdinalEmbedding(n_init=1, ties='half')
    signs = np.where(np.arange(400) % 4, np.where(yes, 1, -1), 0)
    assert choose_components(halves, q, signs, candidates=(2,))[2].mean() < 0.3


def test_a_custom_loss_needs_no_curvature_where_the_step_rule_needs_none():
    _, q, yes, _ = study()
    own = OrdinalEmbedding(2, softplus, solver='svrg', n_init=1, max_epochs=60, tol=1e-2)
    for rule in ('sbb', 'bb', 'fixed', 'damped'):
        assert own.set_params(step_rule=rule).fit(q, yes).error_ < 0.3
    with_a_step = dict(stabilizer=0.1, learning_rate=0.01)
    loss = type('Mine', (PairLoss,), {'__call__': lambda self, near, far: softplus(near, far)})()
    own.set_params(loss=loss, **with_a_step)
    for rule in ('sbb', 'bb', 'fixed', 'damped'):  # none asks for the curvature
        assert own.set_params(step_rule=rule).fit(q, yes).error_ < 0.3
    with pytest.raises(NotImplementedError, match='no bound on its curvature'):
        own.set_params(step_rule='fixed', learning_rate=None).fit(q, yes)


def test_the_curvature_of_a_loss_of_ones_own_is_a_bound():
    for radius in (0.5, 2.0):
        own, ours = (Comparisons(answers(), 2, loss) for loss in (CallableLoss(softplus), STE()))
        params = radius * own.init_params(0)
        assert own.smoothness(params) < 20 * ours.smoothness(params)
        rng = np.random.default_rng(0)
        for q in range(0, own.n_terms, 7):
            way = 1e-5 * rng.normal(size=params.size)
            change = own.grad_at(params + way, [q]) - own.grad_at(params - way, [q])
            assert np.linalg.norm(change) <= 2 * np.linalg.norm(way) * own.smoothness(params)


def test_names_are_names_of_one_object_each():
    names, q, yes, _ = study()
    with expect_fail(ValueError, contains="names holds 'o03' twice"):
        OrdinalEmbedding(2).fit(names[q], yes, names=[*names, 'o03'])


def test_a_warm_start_of_other_objects_is_refused():
    names, q, yes, _ = study()
    model = OrdinalEmbedding(2, n_init=2, warm_start=True)
    assert told(model, names[q], y=yes) == []
    assert told(model, names[q], y=yes) == [] and len(model.losses_) == 1
    with expect_fail(ValueError, contains='another n_components; set warm_start=False'):
        model.set_params(n_components=3).fit(names[q], yes)
    with expect_fail(ValueError, contains='other objects'):
        model.set_params(n_components=2).fit(np.char.add('x', names)[q], yes)
    assert model.embedding_.shape == (len(names), 2)


def line_study(n_objects, n_rows, flipped, seed):
    "Places on a line, and rows with the near object first, a fraction of them the wrong way."
    rng = np.random.default_rng(seed)
    places = rng.normal(size=n_objects)
    q = rng.random((n_rows, n_objects)).argsort(1)[:, :3]
    apart = abs(places[q[:, :1]] - places[q[:, 1:]])
    nearer = (apart[:, 0] < apart[:, 1]) ^ (rng.random(n_rows) < flipped)
    return places, np.where(nearer[:, None], q, q[:, [0, 2, 1]])


@pytest.mark.parametrize('loss', ['soe', 'ste', 'tste', 'ckl'])
@pytest.mark.parametrize('seed', [0, 1])
def test_the_default_finds_the_order_on_a_line(loss, seed):
    "Random starts end with rank correlations from .6 to .99 here."
    from scipy.stats import spearmanr

    places, rows = line_study(120, 5000, 0.1, seed)
    model = OrdinalEmbedding(1, loss)
    assert told(model, rows) == []
    assert abs(spearmanr(model.embedding_[:, 0], places)[0]) > 0.985
    random = OrdinalEmbedding(1, loss, init='random', n_init=6)
    with unheard():
        assert model.losses_.min() < 1.001 * random.fit(rows).losses_.min()


def test_a_lowest_loss_of_one_start_only_is_told():
    _, rows = line_study(120, 5000, 0.1, 0)
    said = told(OrdinalEmbedding(1, 'ckl', init='random'), rows)
    assert len(said) == 1 and 'one of 4 starts only reached the lowest loss' in said[0]
    assert told(OrdinalEmbedding(1, 'ckl', init='random', n_init=1), rows) == []
    refuses("init='best' is neither", OrdinalEmbedding(1, init='best').fit, rows)


@pytest.mark.parametrize('columns', [3, 4])
def test_a_spectral_start_is_that_of_dense_and_of_sparse_eigenvectors(columns, monkeypatch):
    rows = answers(60, 3000) if columns == 3 else fours(60, 3000)
    for weights in (None, np.random.default_rng(0).random(len(rows)) + 0.1):
        problem = Comparisons(rows, 3, SOE(), 60, weights=weights)
        monkeypatch.setattr(embedding, '_MOST_DENSE', 400)
        dense = problem.unpack(embedding.spectral_start(problem))
        monkeypatch.setattr(embedding, '_MOST_DENSE', 1)
        sparse = problem.unpack(embedding.spectral_start(problem))
        assert procrustes(sparse, dense)[1] < 0.06
        assert dense.std() == pytest.approx(problem.init_params(0).std(), rel=0.1)


def test_svrg_is_not_held_up_by_a_long_row_of_the_start():
    "Eigenvectors of a sparse study have long rows, at which the curvature of STE is large."
    rng = np.random.default_rng(0)
    places = rng.normal(size=(1000, 2)) / 2
    q = rng.integers(0, 1000, size=(40_000, 3))
    q = q[(q[:, 0] != q[:, 1]) & (q[:, 0] != q[:, 2]) & (q[:, 1] != q[:, 2])]
    near, far = (((places[q[:, 0]] - places[q[:, c]]) ** 2).sum(1) for c in (1, 2))
    rows = np.where((near < far)[:, None], q, q[:, [0, 2, 1]])
    model = OrdinalEmbedding(2, 'ste', solver='svrg', n_init=1, max_iter=6)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of the limit
        assert model.fit(rows).error_ < 0.15  # .28 from the eigenvectors as they are


def people_study(seed=0, n_each=60):
    "A study of eight people, of whom one answers at random and one names the farther object."
    rng = np.random.default_rng(seed)
    names, q, yes, places = study(8 * n_each, 12, seed, 0.05)
    person = np.repeat([f'p{k}' for k in range(8)], n_each)
    yes = np.where(person == 'p3', rng.random(len(q)) < 0.5, yes)
    return names, q, np.where(person == 'p6', ~yes, yes), person, places


def test_people_residuals_name_who_guesses_and_who_turns_answers_round():
    names, q, yes, person, _ = people_study()
    model = OrdinalEmbedding(2).fit(names[q], yes)
    table = model.people_residuals(names[q], yes, groups=person)
    assert list(table['group'][:2]) == ['p6', 'p3'] and (table['answers'] == 60).all()
    first = table.iloc[0]
    assert first['turned'] > 0.99 and first['error'] > 0.8 and first['low'] < first['error']
    assert table.iloc[1]['careless'] > 0.99 and table.iloc[1]['low'] < 0.5 < table.iloc[1]['high']
    rest = table[2:]
    assert (rest['careless'] + rest['turned'] < 0.05).all() and (rest['q_value'] > 0.05).all()
    assert (table['q_value'][:2] < 0.01).all()
    # a row of weight fifty is fifty rows, and so many leave no probability at zero over zero
    weights = np.full(len(q), 50.0)
    heavy = model.people_residuals(names[q], yes, groups=person, sample_weight=weights)
    assert (heavy['answers'] == 3000).all() and np.isfinite(heavy['turned']).all()
    got = heavy.set_index('group')['error'].sort_index()
    np.testing.assert_allclose(got, table.set_index('group')['error'].sort_index(), atol=0.06)
    four = np.isin(person, ['p0', 'p3', 'p6', 'p7'])  # fewer people than folds
    assert len(model.people_residuals(names[q][four], yes[four], groups=person[four])) == 4
    # ties have no part in a person's error
    signs = np.where(yes, 1, -1) * (np.arange(len(q)) % 5 > 0)
    for ties in ('drop', 'half'):
        with_ties = OrdinalEmbedding(2, ties=ties).fit(q, signs)
        found = with_ties.people_residuals(q, signs, groups=person)
        assert (found['answers'] == 48).all() and found['group'][0] == 'p6'
    for groups, word in (
        (person[:3], 'groups has shape (3,)'),
        (np.where(person == 'p1', None, person), 'groups[60] is missing'),
        (np.zeros(len(q)), 'n_folds=2 is not between 2 and the 1 groups'),
    ):
        refuses(word, model.people_residuals, names[q], yes, groups=groups)


def test_answer_residuals_are_those_of_maps_without_the_answer():
    names, q, yes, _ = study(500, noise=0.05)
    model = OrdinalEmbedding(2).fit(names[q], yes)
    table = model.answer_residuals(names[q], yes)
    signs = np.where(yes, 1, -1)
    rows = np.where(yes[:, None], q, q[:, [0, 2, 1]])
    assert table['times'].sum() == 500 and (np.diff(table['p_value']) >= 0).all()
    line = table.iloc[0]
    given = rows[line['row']]
    assert [line['anchor'], line['near'], line['far']] == names[given].tolist()
    same = (rows == given).all(1).sum(), (rows == given[[0, 2, 1]]).all(1).sum()
    assert (line['times'], line['against']) == same
    # one fold by hand
    question = module.question_numbers(rows)[0]
    fold = module.fold_numbers(question, 5)
    far = fold == fold[line['row']]
    by_hand = OrdinalEmbedding(2).fit(rows[~far], names=None)
    near_far = module.squared_distances(by_hand.embedding_, rows[[line['row']]])
    held = model._held_out(rows, None, fold)[:, line['row']]
    np.testing.assert_allclose(held / held.sum(), (near_far / near_far.sum())[:, 0], atol=0.05)
    # the opposite answer of a question has the rest of the probability
    both = np.concatenate([rows, rows[:50][:, [0, 2, 1]]])
    twin = OrdinalEmbedding(2).fit(both).answer_residuals(both)
    key = {tuple(line[:3]): line[6] for line in twin.itertuples(index=False)}
    for a, b, c in rows[:50]:
        assert key[a, b, c] + key[a, c, b] == pytest.approx(1)
    # the same answers by signs and in a table
    again = model.answer_residuals(
        {'a': names[q[:, 0]], 'b': names[q[:, 1]], 'c': names[q[:, 2]], 'answer': signs}
    )
    assert (again['row'] == table['row']).all()
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of the object without answers
        lacking = OrdinalEmbedding(1, n_objects=12).fit(rows[(rows != 11).all(1)])
    refuses('answer_residuals needs the comparisons', lacking.answer_residuals, rows)


def test_tail_of_unlike_coin_tosses_and_false_discoveries():
    from scipy.stats import binom, false_discovery_control

    rng = np.random.default_rng(0)
    chances = rng.random(40)
    drawn = (rng.random((20_000, 40)) < chances).sum(1)
    for k in (10, 20, 25):
        found = module._upper_tail(chances, k, np.ones(40))
        assert found == pytest.approx((drawn >= k).mean(), abs=0.02)
    exact = module._upper_tail(np.full(60, 0.2), 15, np.ones(60))
    assert exact == pytest.approx(binom.sf(14, 60, 0.2))
    assert module._upper_tail(np.full(30, 0.2), 15, np.full(30, 2.0)) == pytest.approx(exact)
    assert module._upper_tail(np.full(60, 0.2), 15, np.full(60, 1.0001)) == pytest.approx(
        exact, abs=0.03
    )
    p = rng.random(30) ** 3
    np.testing.assert_allclose(module._discoveries(p), false_discovery_control(p))
    low, high = module._wilson(np.array([0.0, 5.0]), np.array([10.0, 10.0]))
    assert low[0] == 0 and high[0] == pytest.approx(0.2775, abs=1e-3)
    assert low[1] == pytest.approx(1 - high[1])


def test_answers_with_a_place_that_is_not_known_say_nothing_of_people():
    near, far = np.array([1.0, 2, np.nan, 1]), np.array([2.0, 1, 3, np.nan])
    who, noise = np.array([0, 1, 0, 1]), module.AnswerNoise('distance', 3.0, 0.1)
    found, wanted = (
        module._kinds(who[:n], 2, near[:n], far[:n], np.ones(n), noise)[1] for n in (4, 2)
    )
    np.testing.assert_array_equal(found, wanted)


def test_object_residuals_say_who_has_too_few_answers():
    names, q, yes, _ = study(400)
    once = np.flatnonzero((q == 11).any(1))[1:]
    rows, y = np.delete(q, once, axis=0), np.delete(yes, once)
    table = OrdinalEmbedding(2).fit(names[rows], y).object_residuals(names[rows], y)
    assert list(table['object']) == list(names)
    assert table['answers'][11] == 1 and not table['enough'][11] and table['enough'][:11].all()
    assert np.isnan(table['error'][11]) and np.isfinite(table['error'][:11]).all()
    assert (table['low'][:11] < table['error'][:11]).all()


def test_question_information_of_any_loss_and_tables_without_pandas(monkeypatch):
    names, q, yes, _ = study(200)
    for loss in ('soe', 'ste'):
        model = OrdinalEmbedding(2, loss).fit(names[q], yes)
        asked = names[study(50, seed=9)[1]]
        table = model.question_information(asked, names[q], yes, n_draws=5)
        assert (np.diff(table['information']) <= 0).all() and len(table) == 50
        assert (table['information'] <= table['uncertainty']).all()
        assert table['uncertainty'].between(0, 1).all()
        line = table.iloc[0]
        assert [line['anchor'], line['first'], line['second']] == asked[line['row']].tolist()
        guess = model.predict(asked[table['row']])
        sure = (table['probability'] - 0.5).abs() > 0.3
        assert (guess[sure] == np.sign(table['probability'][sure] - 0.5)).mean() > 0.9
    monkeypatch.setitem(__import__('sys').modules, 'pandas', None)
    plain = model.question_information(asked, names[q], yes, n_draws=5)
    assert isinstance(plain, dict) and (plain['row'] == table['row'].to_numpy()).all()
    four = fours(20, 600)
    model = OrdinalEmbedding(2).fit(four)
    found = model.answer_residuals(four)
    assert list(found)[:4] == ['near', 'near_2', 'far', 'far_2']
    first = {name: found[name][0] for name in found}
    assert four[first['row']].tolist() == [first[k] for k in list(found)[:4]]


def test_bootstrap_draws_whole_groups():
    names, q, yes, person, _ = people_study()
    model = OrdinalEmbedding(2).fit(q, yes)
    alone = model.bootstrap(q, yes, n_draws=3, n_init=1)
    np.testing.assert_array_equal(
        model.bootstrap(q, yes, n_draws=3, n_init=1, groups=np.arange(len(q))), alone
    )
    by_people = model.bootstrap(q, yes, n_draws=8, n_init=1, groups=person)
    assert by_people.shape == (8, 12, 2) and np.isfinite(by_people).all()
    whole = model.bootstrap(q, yes, n_draws=2, n_init=1, groups=np.zeros(len(q)))
    assert procrustes(whole[0], model.embedding_)[1] < 1e-3  # one group is all answers
    refuses('groups has shape (3,)', model.bootstrap, q, yes, groups=person[:3])


def test_the_dimension_is_chosen_by_one_standard_error():
    from extreme_opt.ordinal.embedding import ComponentErrors

    errors = ComponentErrors(
        {1: np.array([0.3, 0.32]), 2: np.array([0.11, 0.13]), 3: np.array([0.1, 0.13])}
    )
    assert errors.n_components == 2  # .12 is within .015 of .115
    table = errors.table()
    assert list(table['chosen']) == [False, True, False]
    np.testing.assert_allclose(table['standard_error'], [0.01, 0.01, 0.015])
    names, q, yes, _ = study(300, 5)
    found = choose_components(OrdinalEmbedding(n_init=1), names[q], yes, n_folds=3)
    assert sorted(found) == [1, 2, 3] and found.n_components in found


def test_2afc_tables_by_name_and_by_key():
    from extreme_opt.ordinal import triplets_from_2afc

    names, q, yes, _ = study()
    wanted = np.where(yes[:, None], q, q[:, [0, 2, 1]])
    chosen = wanted[:, 1]
    np.testing.assert_array_equal(triplets_from_2afc(q, chosen), wanted)
    np.testing.assert_array_equal(triplets_from_2afc(names[q], names[chosen]), names[wanted])
    for first, second in ((1, 2), (0, 1), ('left', 'right'), (True, False)):
        keys = [first if each else second for each in yes]
        np.testing.assert_array_equal(triplets_from_2afc(q, keys, first=first), wanted)
    for given, more, words in (
        (names[q[:, 0]], {}, 'chosen[0] is'),
        ([1, 2] * 200, dict(first='left'), 'one other key are needed'),
        ([1, 2, 3, 1] * 100, dict(first=1), 'one other key are needed'),
        ([None] + [1] * 399, dict(first=1), 'chosen[0] is missing'),
        ([1], dict(first=1), 'chosen (1,)'),
    ):
        refuses(words, triplets_from_2afc, names[q], given, **more)


def test_ratings_are_compared_within_a_person():
    from extreme_opt.ordinal import quadruplets_from_ratings

    pairs = [['a', 'b'], ['a', 'c'], ['b', 'c'], ['b', 'a'], ['a', 'c'], ['b', 'c']]
    who = [0, 0, 0, 1, 1, 1]
    rows, group = quadruplets_from_ratings(pairs, [5, 3, 3, 1, 9, np.nan], who)
    assert rows.tolist() == [['a', 'b', 'a', 'c'], ['a', 'b', 'b', 'c'], ['a', 'c', 'b', 'a']]
    assert group.tolist() == [0, 0, 1]
    far, _ = quadruplets_from_ratings(pairs, [5, 3, 3, 1, 9, None], who, similar=False)
    np.testing.assert_array_equal(far, rows[:, [2, 3, 0, 1]])
    some, _ = quadruplets_from_ratings(pairs * 5, np.arange(30) % 7, n_each=2)
    assert 0 < len(some) <= 60
    for wrong, words in (
        ((pairs, [1] * 6), 'no two ratings'),
        ((pairs, [1, 2]), 'ratings has shape (2,)'),
        ((pairs, ['x'] * 6), 'not a number'),
        (([['a', 'a']] * 2, [1, 2]), 'one object twice'),
        (([['a', 'b', 'c']], [1]), 'pairs has shape (1, 3)'),
    ):
        refuses(words, quadruplets_from_ratings, *wrong)
