"Problems whose rows lie with other processes: the same numbers, and the same run when one of them dies."
import multiprocessing
import os
import signal

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.bound import LogLinear, Majorizer, Newton
from extreme_opt.core import LBFGS, SGD, GaussNewton, GradientDescent, minimize
from extreme_opt.ordinal import CKL, STE, Comparisons, GramComparisons
from extreme_opt.scale import Sharded, local_client, parts_of
from extreme_opt.similarity import MLP, AllPairs, Linear
from extreme_opt.softmax import DoubleSum, FullSoftmax, UMax, WeightedSum

pytest.importorskip('distributed', reason='needs the scale extra')


def problems():
    "One small problem of each kind, dense and sparse, weighted and not."
    rng = np.random.default_rng(0)
    X, y = scipy.sparse.random(40, 6, .5, 'csr', rng=rng), rng.integers(5, size=40)
    triplets = np.array([row for row in rng.integers(12, size=(90, 3)) if len(set(row)) == 3])
    pairs, weights = np.unique(rng.integers([40, 9], size=(70, 2)), axis=0), rng.integers(0, 3, 40)
    towers = dict(n_right=9, n_components=3, ridge=.5)
    return dict(
        softmax=DoubleSum(X, y, 5, ridge=.1), softmax_raman=DoubleSum(X.toarray(), y, 5, ridge=.1, alpha=1.),
        softmax_weighted=WeightedSum(X, y, 5, ridge=.1, row_weights=weights, n_free=1), softmax_exact=FullSoftmax(X, y, 5, ridge=.1),
        bound=LogLinear(X, y, 5, ridge=.1), bound_weighted=LogLinear(rng.normal(size=(40, 6)), y, 5, ridge=.1, sample_weight=weights, n_free=1),
        bound_map=LogLinear(list(rng.normal(size=(20, 3, 4))), rng.integers(3, size=20), feature_map=np.array, ridge=.1),
        ordinal=Comparisons(triplets, 2, STE(), 12, ridge=.3), ordinal_weighted=Comparisons(triplets, 2, CKL(), 12, weights=rng.random(len(triplets))),
        similarity=AllPairs(pairs, X, n_left=40, left=MLP(4), right=Linear(), **towers),
        similarity_ids=AllPairs(pairs, n_left=40, left=Linear(), right=MLP(3), kind='squared', biases=True, pair_weights=1. + np.arange(len(pairs)) % 3,
                                row_weights=1. + np.arange(40) % 2, **towers))


PROBLEMS = problems()


@pytest.fixture(scope='module')
def client():
    with local_client(2) as client: yield client


def point(problem, seed=1):
    return problem.start(seed) + .1 * np.random.default_rng(seed).normal(size=problem.start(seed).size)


def same(got, want): np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def agree(problem, whole):
    "Every sum of the parts is that of the whole, to 1e-10."
    params, vector = point(problem), point(problem, 2)
    same(whole.loss(params), problem.loss(params))
    same(whole.grad(params), problem.grad(params))
    loss, grad = whole.loss_and_grad(params)
    same(loss, problem.loss(params)); same(grad, problem.grad(params))
    same(grad @ vector, problem.grad(params) @ vector)
    assert hasattr(whole, 'curvature_times') == hasattr(problem, 'curvature_times')
    if hasattr(problem, 'curvature_times'): same(whole.curvature_times(params, vector), problem.curvature_times(params, vector))
    if hasattr(problem, 'bound_at'):
        for one, other in ((whole.bound_at(params), problem.bound_at(params)),):
            same(one.value, other.value); same(one.slope, other.slope)
            for name in ('times', 'precondition'): np.testing.assert_allclose(*(getattr(b.curvature, name)(vector) for b in (one, other)), rtol=1e-7, atol=1e-10)
            same(one.curvature.matrix(), other.curvature.matrix())
        same(whole.curvature_at(params).times(vector), problem.curvature_at(params).times(vector))


@pytest.mark.parametrize('n_shards', range(1, 8))
@pytest.mark.parametrize('name', PROBLEMS)
def test_parts_add_up_to_the_whole(name, n_shards):
    "Value, gradient and curvature products over one to seven parts are the local ones."
    agree(PROBLEMS[name], Sharded(PROBLEMS[name], None, n_shards))


@pytest.mark.parametrize('n_shards', [1, 2, 3, 7])
@pytest.mark.parametrize('name', ['softmax_weighted', 'bound', 'ordinal', 'similarity'])
def test_workers_add_up_to_the_whole(client, name, n_shards):
    "The same with worker processes; a part stays where it is."
    problem = PROBLEMS[name]
    whole = Sharded(problem, client, n_shards)
    held = client.who_has(whole.place.parts)
    agree(problem, whole)
    assert client.who_has(whole.place.parts) == held and all(len(places) == 1 for places in held.values())
    assert whole.n_shards == n_shards and whole.n_workers == min(2, n_shards) and f'{n_shards} parts' in repr(whole)


def test_float32_stays_float32(client):
    problem = DoubleSum(PROBLEMS['softmax'].features, PROBLEMS['softmax'].labels, 5, ridge=.1, dtype=np.float32)
    whole, params = Sharded(problem, client, 3), problem.start()
    assert whole.grad(params).dtype == np.float32 == whole.dtype
    np.testing.assert_allclose(whole.grad(params), problem.grad(params), atol=1e-4)


def test_more_shards_than_rows(client):
    "Parts are never empty: there are as many as rows."
    problem = PROBLEMS['bound'].take(slice(0, 3))
    for n_shards in (3, 4, 50): assert len(parts_of(problem, n_shards)) == 3
    agree(problem, Sharded(problem, client, 50))


def test_parameters_are_sent_once_per_point(client):
    "A loss, a gradient and a product at one point share a broadcast."
    problem, sent = PROBLEMS['similarity'], []
    whole, params = Sharded(problem, client, 4), point(PROBLEMS['similarity'])
    for what in (whole.loss, whole.grad, lambda params: whole.curvature_times(params, params)):
        what(params)
        sent.append(whole.place.sent[1].key)
    assert len(set(sent)) == 1
    assert whole.loss(params + 1) != whole.loss(params)


@pytest.mark.parametrize('solver', [Majorizer(), Majorizer(solve='cg'), Newton(), LBFGS(), GradientDescent()], ids=lambda solver: type(solver).__name__)
def test_solvers_run_unchanged(client, solver):
    "A run on workers is the local run, step by step."
    problem = PROBLEMS['bound']
    here, there = (minimize(one, solver, max_steps=3) for one in (problem, Sharded(problem, client, 3)))
    np.testing.assert_allclose(here.column('loss'), there.column('loss'), rtol=1e-9)
    np.testing.assert_allclose(here.state.params, there.state.params, rtol=1e-6, atol=1e-9)


def test_gauss_newton_goes_down_on_workers(client):
    run = minimize(Sharded(PROBLEMS['similarity'], client, 3), GaussNewton(), max_steps=4)
    assert (np.diff(run.column('loss')) < 0).all()


@pytest.mark.parametrize('solver', [SGD(.1), UMax(.1)], ids=lambda solver: type(solver).__name__)
def test_what_samples_rows_is_refused(solver):
    with pytest.raises(TypeError, match=f'{type(solver).__name__} needs .*which Sharded does not have'):
        minimize(Sharded(PROBLEMS['softmax'], None, 2), solver, max_steps=1)


def test_wrong_uses_get_one_line():
    with pytest.raises(TypeError, match='GramComparisons cannot be cut into parts'):
        Sharded(GramComparisons(PROBLEMS['ordinal'].triplets), None, 2)
    with pytest.raises(ValueError, match='n_shards=-1 is not a whole number'): Sharded(PROBLEMS['bound'], None, -1)
    with pytest.raises(ValueError, match='leave it out'): Sharded(PROBLEMS['bound'], None, 2).bound_at(PROBLEMS['bound'].start(), np.arange(3))


def test_errors_of_a_part_come_back_as_they_are(client):
    "What a worker raises is raised here, once, and is not taken for a loss of the worker."
    whole = Sharded(PROBLEMS['similarity'], client, 2)
    with pytest.raises(ValueError, match='params has shape'): whole.place.ask('loss', np.zeros(3), [None, None])


# --- faults ---------------------------------------------------------------------------------------------------------------------------------

class Dying(LogLinear):
    "Kills its own process with SIGKILL in the middle of a gradient, once: the file says whether it has happened."
    def loss_and_grad(self, params, rows=None):
        path = os.environ.get('EXTREME_OPT_TEST_KILL')
        if path and multiprocessing.parent_process() is not None:
            try: os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            except FileExistsError: pass
            else: os.kill(os.getpid(), signal.SIGKILL)
        return super().loss_and_grad(params, rows)


def test_a_worker_killed_in_a_step_costs_nothing_but_time(tmp_path):
    "SIGKILL in the middle of a gradient: the step is made again on the rest, and the run is the undisturbed one."
    mark = tmp_path/'killed'
    os.environ['EXTREME_OPT_TEST_KILL'] = str(mark)
    try:
        with local_client(2) as client:
            plain = PROBLEMS['bound']
            doomed = Dying(plain.features, plain.labels, 5, ridge=.1)
            run = minimize(Sharded(doomed, client, 3), LBFGS(), max_steps=3)
    finally: del os.environ['EXTREME_OPT_TEST_KILL']
    assert mark.exists()
    calm = minimize(plain, LBFGS(), max_steps=3)
    np.testing.assert_allclose(run.column('loss'), calm.column('loss'), rtol=1e-10)
    np.testing.assert_allclose(run.state.params, calm.state.params, rtol=1e-8, atol=1e-10)
