"Problems whose rows lie with other processes, or in files: the same numbers as here."

import copy
import pickle
import re
import sys

import numpy as np
import pandas
import pytest
import scipy.sparse
from refusals import no_warning, refuses, unheard
from sklearn.base import clone

from extreme_opt.bound import BoundClassifier, LogLinear
from extreme_opt.core import SGD, GaussNewton, minimize
from extreme_opt.core.majorize import Majorizer
from extreme_opt.core.shards import array_bytes
from extreme_opt.ordinal import CKL, STE, Comparisons, GramComparisons, OrdinalEmbedding
from extreme_opt.scale import Sharded, delayed_parts, local_client, read_svmlight
from extreme_opt.scale.estimators import ON_WORKERS
from extreme_opt.scale.files import file_parts, save_part
from extreme_opt.scale.plan import (
    Machine,
    best_workers,
    comparisons_task,
    forecast,
    pairs_task,
    softmax_task,
)
from extreme_opt.scale.shards import bytes_sent, product_bytes, step_bytes
from extreme_opt.similarity import MLP, AllPairs, Linear, SimilarityModel
from extreme_opt.softmax import DoubleSum, FullSoftmax, Rotation, SoftmaxClassifier, UMax
from extreme_opt.softmax.rotation import rotation_bytes, schedule

pytest.importorskip('distributed', reason='needs the scale extra')


def problems():
    "One small problem of each kind, dense and sparse, weighted and not."
    rng = np.random.default_rng(0)
    X, y = scipy.sparse.random(40, 6, 0.5, 'csr', random_state=rng), rng.integers(5, size=40)
    triplets = np.array([row for row in rng.integers(12, size=(90, 3)) if len(set(row)) == 3])
    pairs, weights = np.unique(rng.integers([40, 9], size=(70, 2)), axis=0), rng.integers(0, 3, 40)
    towers = dict(n_right=9, n_components=3, ridge=0.5)
    return dict(
        softmax=DoubleSum(X, y, 5, ridge=0.1),
        softmax_raman=DoubleSum(X.toarray(), y, 5, ridge=0.1, alpha=1.0),
        softmax_weighted=DoubleSum(X, y, 5, ridge=0.1, sample_weight=weights, n_unpenalized=1),
        softmax_exact=FullSoftmax(X, y, 5, ridge=0.1),
        bound=LogLinear(X, y, 5, ridge=0.1),
        bound_weighted=LogLinear(
            rng.normal(size=(40, 6)), y, 5, ridge=0.1, sample_weight=weights, n_unpenalized=1
        ),
        bound_map=LogLinear(
            list(rng.normal(size=(20, 3, 4))),
            rng.integers(3, size=20),
            feature_map=np.array,
            ridge=0.1,
        ),
        ordinal=Comparisons(triplets, 2, STE(), 12, ridge=0.3),
        ordinal_weighted=Comparisons(triplets, 2, CKL(), 12, weights=rng.random(len(triplets))),
        similarity=AllPairs(pairs, X, n_left=40, left=MLP(4), right=Linear(), **towers),
        similarity_ids=AllPairs(
            pairs,
            n_left=40,
            left=Linear(),
            right=MLP(3),
            pair_loss='squared',
            biases=True,
            pair_weights=1.0 + np.arange(len(pairs)) % 3,
            row_weights=1.0 + np.arange(40) % 2,
            **towers,
        ),
    )


PROBLEMS = problems()


@pytest.fixture(scope='module')
def client():
    with local_client(2) as client:
        yield client


def point(problem, seed=1):
    return problem.init_params(seed) + 0.1 * np.random.default_rng(seed).normal(
        size=problem.init_params(seed).size
    )


def same(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def agree(problem, whole):
    "Every sum of the parts is that of the whole, to 1e-10."
    params, vector = point(problem), point(problem, 2)
    assert whole.init_params(0).shape == params.shape
    same(whole.loss(params), problem.loss(params))
    same(whole.grad(params), problem.grad(params))
    loss, grad = whole.loss_and_grad(params)
    same(loss, problem.loss(params))
    same(grad, problem.grad(params))
    same(grad @ vector, problem.grad(params) @ vector)
    assert hasattr(whole, 'ggn_vp') == hasattr(problem, 'ggn_vp')
    if hasattr(problem, 'ggn_vp'):
        same(whole.ggn_vp(params, vector), problem.ggn_vp(params, vector))
    if hasattr(problem, 'quadratic_bound'):
        for one, other in ((whole.quadratic_bound(params), problem.quadratic_bound(params)),):
            same(one.value, other.value)
            same(one.slope, other.slope)
            for name in ('times', 'precondition'):
                np.testing.assert_allclose(
                    *(getattr(b.curvature, name)(vector) for b in (one, other)),
                    rtol=1e-7,
                    atol=1e-10,
                )
            same(one.curvature.matrix(), other.curvature.matrix())
        same(whole.curvature_at(params).times(vector), problem.curvature_at(params).times(vector))


def test_arrays_with_gaps_have_bytes():
    "A frame that was cut again holds parts of its columns; they counted nothing, and were kept."
    rows = np.zeros((40, 6))
    for part in (rows, rows.T, rows[::2], rows[:, ::2], rows[1:, 1:]):
        assert array_bytes([part]) == part.nbytes
    assert array_bytes(pandas.DataFrame(rows).iloc[5:25]) >= 20 * 6 * 8


@pytest.mark.parametrize('n_shards', [1, 2, 7])
@pytest.mark.parametrize('name', PROBLEMS)
def test_parts_add_up_to_the_whole(name, n_shards):
    "Value, gradient and curvature products over one to seven parts are the local ones."
    agree(PROBLEMS[name], Sharded(PROBLEMS[name], None, n_shards))


@pytest.mark.parametrize('n_shards', [1, 3])
@pytest.mark.parametrize('name', ['softmax_weighted', 'bound', 'ordinal', 'similarity'])
def test_workers_add_up_to_the_whole(client, name, n_shards):
    "The same with worker processes; a part stays where it is."
    problem = PROBLEMS[name]
    whole = Sharded(problem, client, n_shards)
    held = client.who_has(whole.place.parts)
    agree(problem, whole)
    assert client.who_has(whole.place.parts) == held
    assert all(len(places) == 1 for places in held.values())
    assert whole.n_shards == n_shards and whole.n_workers == min(2, n_shards)
    assert f'{n_shards} parts' in repr(whole)


def test_more_shards_than_rows(client):
    "Parts are never empty: there are as many as rows."
    problem = PROBLEMS['bound'].take(slice(0, 3))
    for n_shards in (3, 4, 50):
        assert len(problem.shard(n_shards)) == 3
    agree(problem, Sharded(problem, client, 50))


def test_parameters_are_sent_once_per_point(client):
    "A loss, a gradient and a product at one point share a broadcast."
    problem, sent = PROBLEMS['similarity'], []
    whole, params = Sharded(problem, client, 4), point(PROBLEMS['similarity'])
    for what in (whole.loss, whole.grad, lambda params: whole.ggn_vp(params, params)):
        what(params)
        sent.append(whole._sent[1].key)
    assert sent[0] == sent[1] == sent[2]
    assert client.who_has([whole._sent[1]])[sent[0]]  # the scheduler may drop copies at any time
    assert whole.loss(params + 1) != whole.loss(params)


@pytest.mark.parametrize('name', ['similarity', 'similarity_ids'])
def test_gauss_newton_takes_the_same_steps(client, name):
    """The random diagonal is drawn from the same signs, so that its iterates are those of one
    process, on any number of parts."""
    problem = PROBLEMS[name]
    for n_iter, slack in (
        (1, 1e-8),
        (3, 1e-6),
    ):  # a step solves a system, so that rounding grows from one to the next
        here = minimize(problem, GaussNewton(), max_iter=n_iter)
        for one, n_shards in ((None, 1), (None, 7), (client, 3)):
            there = minimize(Sharded(problem, one, n_shards), GaussNewton(), max_iter=n_iter)
            np.testing.assert_allclose(
                there.state.params, here.state.params, rtol=slack, atol=slack
            )
    assert (np.diff(here.column('loss')) < 0).all()


@pytest.mark.parametrize('n_shards', range(1, 8))
def test_a_diagonal_of_parts_is_that_of_the_whole(n_shards):
    for name in ('similarity', 'similarity_ids'):
        problem, params = PROBLEMS[name], point(PROBLEMS[name])
        whole, other = (np.random.default_rng(3) for _ in range(2))
        same(
            Sharded(problem, None, n_shards).hutchinson_diagonal(params, whole),
            problem.hutchinson_diagonal(params, other),
        )
        assert whole.random() == other.random()  # as many numbers were drawn


@pytest.mark.parametrize('dense', [True, False])
@pytest.mark.parametrize('n_unpenalized', [0, 1, 2])
def test_columns_that_are_empty_in_a_part(tmp_path, dense, n_unpenalized):
    """What stands in for an empty column stands in only where the whole has none: curvatures stay
    those of the whole, in parts of it and in files."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.integers(4, size=40)
    X[:20, 4] = X[:, 3] = 0  # in the first half; everywhere
    X = X if dense else scipy.sparse.csr_array(X)

    def made(found):
        return LogLinear(found['features'], found['labels'], 4, n_unpenalized=n_unpenalized)

    problem, files = LogLinear(X, y, 4, n_unpenalized=n_unpenalized), []
    for k, rows in enumerate(np.array_split(np.arange(40), 4)):
        files.append(save_part(tmp_path / f'{k}.npz', features=X[rows], labels=y[rows]))
    params, vector = point(problem), rng.normal(size=problem.n_params)
    cases = [Sharded(problem, None, 2), Sharded(problem, None, 7)]
    cases += [Sharded.of(file_parts(files, made)), Sharded.of(file_parts(files, made), keep=False)]
    for whole in cases:
        one = whole.quadratic_bound(params).curvature
        other = problem.quadratic_bound(params).curvature
        same(one.matrix(), other.matrix())
        same(one.times(vector), other.times(vector))
        np.testing.assert_allclose(
            one.precondition(vector), other.precondition(vector), rtol=1e-7, atol=1e-9
        )
        for solver in (Majorizer(), Majorizer(solve='cg')):
            np.testing.assert_allclose(
                *(minimize(which, solver, max_iter=4).column('loss') for which in (whole, problem)),
                rtol=1e-9,
            )


@pytest.mark.parametrize('solver', [SGD(0.1), UMax(0.1)], ids=lambda solver: type(solver).__name__)
def test_what_samples_rows_is_refused(solver):
    with pytest.raises(TypeError, match=f'{type(solver).__name__} (needs|solves) .*Sharded'):
        minimize(Sharded(PROBLEMS['softmax'], None, 2), solver, max_iter=1)


def test_wrong_uses_get_one_line():
    with pytest.raises(TypeError, match='GramComparisons cannot be cut into parts'):
        Sharded(GramComparisons(PROBLEMS['ordinal'].triplets), None, 2)
    refuses('n_shards=-1 is not a whole number', Sharded, PROBLEMS['bound'], None, -1)
    with pytest.raises(ValueError, match='leave it out'):
        Sharded(PROBLEMS['bound'], None, 2).quadratic_bound(
            PROBLEMS['bound'].init_params(), np.arange(3)
        )


def test_errors_of_a_part_come_back_as_they_are(client):
    "What a worker raises is raised here, once, and is not taken for a loss of the worker."
    whole = Sharded(PROBLEMS['similarity'], client, 2)
    refuses('params has shape', whole.sums, 'loss', np.zeros(3))


# --- parts that nobody held whole -----------------------------------------------------------------


def columns(problem, rows):
    return dict(features=problem.features[rows], labels=problem.labels[rows])


def svmlight(problem, rows):
    "Lines of text for these rows."
    for label, row in zip(problem.labels[rows], problem.features[rows].toarray().tolist()):
        yield f'{label} ' + ' '.join(f'{c + 1}:{v!r}' for c, v in enumerate(row))


def make_bound(found):
    rows = found['features']
    rows = rows if scipy.sparse.issparse(rows) else np.asarray(rows)
    return LogLinear(rows, found['labels'], 5, ridge=0.1)


def make_softmax(found):
    return DoubleSum(found['features'], found['labels'], 5, ridge=0.1, alpha=1.0)


def make_ordinal(found):
    return Comparisons(found['triplets'], 2, STE(), 12, ridge=0.3)


@pytest.mark.parametrize('kind', ['npz', 'maps', 'svm'])
@pytest.mark.parametrize('keep', [True, False])
def test_parts_from_files(tmp_path, kind, keep):
    "Three files are the problem that they were cut from, kept in memory or opened anew each time."
    problem, files = PROBLEMS['bound'], []
    for k in range(3):
        rows, end = np.arange(k, 40, 3), dict(npz='.npz', maps='', svm='.svm')[kind]
        path = tmp_path / f'part-{k}{end}'
        if kind != 'svm':
            save_part(path, **columns(problem, rows))
        else:
            path.write_text('\n'.join([*svmlight(problem, rows), '# the end']))
        files.append(path)
    read = (lambda path: read_svmlight(path, n_features=6)) if kind == 'svm' else None
    whole = Sharded.of(file_parts(files, make_bound, read), keep=keep)
    agree(problem, whole)
    assert whole.n_samples == whole.n_terms == 40 and whole.n_shards == 3


def test_parts_from_files_on_workers(client, tmp_path):
    "Recipes travel, rows do not: log-normalizers follow their files, a mean counts by comparisons."
    softmax, ordinal = make_softmax(columns(PROBLEMS['softmax'], ...)), PROBLEMS['ordinal']
    files = [
        save_part(tmp_path / f's{k}.npz', **columns(softmax, part))
        for k, part in enumerate(np.array_split(np.arange(40), 3))
    ]
    for keep in (True, False):
        agree(softmax, Sharded.of(file_parts(files, make_softmax), client, keep))
    files = [
        save_part(tmp_path / f'o{k}.npz', triplets=part)
        for k, part in enumerate((ordinal.triplets[:10], ordinal.triplets[10:]))
    ]
    agree(ordinal, Sharded.of(file_parts(files, make_ordinal), client))


def test_parts_of_a_partitioned_table():
    "A dask DataFrame with a column of lists: the same problem."
    import dask.dataframe

    problem = PROBLEMS['bound']
    table = pandas.DataFrame(
        {'features': problem.features.toarray().tolist(), 'labels': problem.labels}
    )
    with dask.config.set({'dataframe.convert-string': False}):
        tables = dask.dataframe.from_pandas(table, npartitions=3)

    def columns_of(frame):
        return {
            'features': np.stack(frame['features'].tolist()),
            'labels': frame['labels'].to_numpy(),
        }

    pieces = [dask.delayed(columns_of)(part) for part in tables.to_delayed()]
    agree(problem, Sharded.of(delayed_parts(pieces, make_bound)))


def test_addresses_go_through_fsspec(client, tmp_path):
    "Files in a store that is no disk, of all kinds, and addresses that workers open."
    import fsspec

    problem = PROBLEMS['bound']
    X, y = problem.features.toarray(), problem.labels
    lines = '\n'.join(svmlight(problem, np.arange(40)))
    for name, write in (
        ('part.npz', lambda file: np.savez(file, features=X, labels=y)),
        ('part.svm', lambda file: file.write(lines.encode())),
        (
            'part.parquet',
            lambda file: pandas.DataFrame({'features': X.tolist(), 'labels': y}).to_parquet(file),
        ),
    ):
        with fsspec.open(f'memory://extreme_opt-test/{name}', 'wb') as file:
            write(file)
        agree(problem, Sharded.of(file_parts([f'memory://extreme_opt-test/{name}'], make_bound)))
        with fsspec.open(f'file://{tmp_path}/{name}', 'wb') as file:
            write(file)
        agree(problem, Sharded.of(file_parts([f'file://{tmp_path}/{name}'], make_bound), client))
    with pytest.raises(ValueError, match='test/folder is no folder .*npz'):
        Sharded.of(file_parts(['memory://extreme_opt-test/folder'], make_bound))
    with pytest.raises(FileNotFoundError, match='nowhere'):
        Sharded.of(file_parts([tmp_path / 'nowhere'], make_bound))


def test_a_broken_file_is_named_with_its_row(client, tmp_path):
    "Whether it is opened here or by a worker."
    good = save_part(tmp_path / 'good.npz', features=np.eye(3), labels=np.arange(3))
    broken = save_part(
        tmp_path / 'broken.npz',
        features=np.array([[1.0, 2, 3], [4, 5, np.inf]]),
        labels=np.arange(2),
    )
    short, text, odd = tmp_path / 'short.npz', tmp_path / 'text.svm', tmp_path / 'odd.npz'
    short.write_bytes(good.read_bytes()[:100])
    text.write_text('1 1:2\n0 0:1\n')
    save_part(odd, features=np.eye(4), labels=np.arange(4))
    for one in (None, client):
        for path, said in (
            (broken, r'broken.npz: features holds inf at row 1, column 2'),
            (short, r'short.npz'),
            (text, r'line 2 of .*text.svm: .*0 0:1.*first_index=0'),
            (odd, 'part 1 has 20 shared parameters, but part 0 has 15'),
        ):
            refuses(said, lambda: Sharded.of(file_parts([good, path], make_bound), one))
    with pytest.raises(ValueError, match='text.xyz ends in .*give read='):
        Sharded.of(file_parts(['text.xyz'], make_bound))
    with pytest.raises(ValueError, match="holds triplets"):
        Sharded.of(file_parts([save_part(tmp_path / 't.npz', triplets=np.eye(3))], make_bound))
    refuses('no file is named', file_parts, [], make_bound)
    with pytest.raises(FileNotFoundError):
        Sharded.of(file_parts([tmp_path / 'nowhere.npz'], make_bound), client)


# --- blocks that rotate ---------------------------------------------------------------------------


def raman(**more):
    softmax = PROBLEMS['softmax']
    settings = dict(ridge=0.01, alpha=1.0, dtype=np.float64) | more
    return DoubleSum(softmax.features, softmax.labels, 5, **settings)


@pytest.mark.parametrize('method', ['implicit', 'umax'])
@pytest.mark.parametrize('n_shards', [1, 3, 7])
def test_rotation_on_workers_is_the_serial_schedule(client, method, n_shards):
    "To the last bit, with more blocks than workers, and than classes; also without any shards."
    problem = raman(sample_weight=(np.arange(40) % 3) * (np.arange(40) > 8), n_unpenalized=1)
    solver = Rotation(2.0, 2, method, n_blocks=n_shards)
    plain, here, there = (
        minimize(one, solver, max_epochs=2).state.params
        for one in (problem, Sharded(problem, None, n_shards), Sharded(problem, client, n_shards))
    )
    assert np.isfinite(plain).all()
    np.testing.assert_array_equal(plain, here)
    np.testing.assert_array_equal(here, there)


def test_every_pair_of_blocks_meets_once():
    "And in a round no block of rows or classes is used twice."
    for n in range(1, 8):
        turns = schedule(n, 3)
        assert {(turn.part, turn.block) for turn in turns} == {
            (p, q) for p in range(n) for q in range(n)
        }
        for r in range(n):
            now = [turn for turn in turns if turn.round == r]
            assert len({turn.part for turn in now}) == len({turn.block for turn in now}) == n
            assert len(now) == n


@pytest.mark.parametrize('implicit', [True, False])
def test_a_pass_is_unbiased(implicit):
    """At a vanishing rate the mean move over many passes with one drawn class is minus the rate
    times the gradient, weights and ridge included."""
    problem = raman(sample_weight=1.0 + np.arange(40) % 3, n_unpenalized=1)
    params, method = point(raman()), 'implicit' if implicit else 'umax'
    solver, rng = Rotation(1e-6, 1, method, threshold=1e9, n_blocks=3), np.random.default_rng(0)
    state = solver.init(problem, params)
    moves = np.array(
        [(params - solver.step(problem, state, rng).params) / 1e-6 for _ in range(400)]
    )
    off = np.abs(moves.mean(0) - problem.grad(params)) / (moves.std(0) / 20 + 1e-3)
    assert off.max() < 5 and np.mean(off) < 1.2


@pytest.mark.parametrize('method', ['implicit', 'umax'])
@pytest.mark.parametrize('rate', [1e-3, 1.0, 1e6])
def test_no_rate_overflows(method, rate):
    problem = DoubleSum(
        1e3 * PROBLEMS['softmax'].features, PROBLEMS['softmax'].labels, 5, alpha=1.0
    )
    if method == 'umax':
        rate = min(rate, 1.0)
    with np.errstate(over='ignore'):
        run = minimize(
            problem, Rotation(rate, method=method, n_blocks=2), max_epochs=3, loss_subset=0
        )
    assert np.isfinite(run.state.params).all()


def test_rotation_says_what_it_needs():
    with pytest.raises(ValueError, match='use DoubleSum.*alpha=1'):
        minimize(Sharded(PROBLEMS['softmax'], None, 2), Rotation(), max_iter=1)
    for problem in (PROBLEMS['softmax_exact'], Sharded(PROBLEMS['bound'], None, 2)):
        with pytest.raises(TypeError, match='Rotation needs `alpha`'):
            minimize(problem, Rotation(), max_iter=1)


# --- estimators -----------------------------------------------------------------------------------


ESTIMATORS = dict(
    softmax=lambda client: SoftmaxClassifier(solver='lbfgs', max_epochs=3, client=client),
    bound=lambda client: BoundClassifier(max_iter=3, client=client),
    ordinal=lambda client: OrdinalEmbedding(2, solver='gd', max_iter=3, client=client),
    similarity=lambda client: SimilarityModel(
        2, left=Linear(), right=Linear(), solver='gd', max_iter=3, client=client
    ),
)


@pytest.mark.parametrize('kind', ESTIMATORS)
def test_a_client_stays_with_its_process(client, kind, tmp_path):
    """A clone shares the client; pickles, copies and files go without it, say so in one line, and
    know what was learned."""
    X = PROBLEMS['bound'].features
    y = PROBLEMS['bound'].labels
    triplets = PROBLEMS['ordinal'].triplets
    model = ESTIMATORS[kind](client)
    model.fit(
        *dict(ordinal=(triplets,), similarity=(np.arange(8).reshape(4, 2) % 5,)).get(kind, (X, y))
    )
    with no_warning():
        twin = clone(model)
        assert twin.client is client and model.get_params()['client'] is client
        assert not hasattr(twin, 'run_')
        assert (
            clone(ESTIMATORS[kind]('local')).client
            == pickle.loads(pickle.dumps(ESTIMATORS[kind]('local'))).client
            == 'local'
        )

    def filed(model):
        model.save(tmp_path / 'model.npz')
        return type(model).load(tmp_path / 'model.npz')

    for way in (copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), filed):
        with pytest.warns(
            UserWarning, match=f'^{type(model).__name__}: the client stays behind.*set_params'
        ) as said:
            other = way(model)
        assert len(said) == 1 and '\n' not in str(said[0].message)
        assert other.client is None and model.client is client and other.n_iter_ == model.n_iter_
        np.testing.assert_array_equal(other.run_.state.params, model.run_.state.params)
        assert other.set_params(client=client).client is client


def refused(model, *data):
    with pytest.raises(
        TypeError, match='^solver=.* take one of solver="[^;]*, or leave client=None$'
    ) as said:
        model.fit(*data)
    return set(re.findall(r'"(\w+)"', str(said.value)))


@pytest.mark.parametrize('place', ['client', 'local'])
def test_what_runs_in_one_process_is_refused_with_the_names_of_others(client, place):
    "Solvers that need all rows at once are refused with the names of those that do not."
    X = PROBLEMS['bound'].features
    y = PROBLEMS['bound'].labels
    triplets = PROBLEMS['ordinal'].triplets
    pairs, where = np.arange(8).reshape(4, 2) % 5, client if place == 'client' else 'local'
    for kind, data, here, home in (
        (SoftmaxClassifier, (X, y), 'lbfgs rotation', 'implicit umax sgd ove nce sampled'),
        (BoundClassifier, (X, y), 'bm newton lbfgs', 'quasi sbm incremental'),
        (OrdinalEmbedding, (triplets,), 'gd lbfgs', 'svrg sgd gram'),
        (SimilarityModel, (pairs,), 'newton lbfgs gd adagrad', 'auto als block pair sogram'),
    ):
        more = dict(max_iter=1, client=where)
        if kind is SimilarityModel:
            more |= dict(n_components=2, left=Linear(), right=Linear(), dtype='float64')
        for solver in home.split():
            assert refused(kind(solver=solver, **more), *data) == set(here.split()), (kind, solver)
    for more in (dict(average=True), dict(early_stopping=True)):
        assert refused(SoftmaxClassifier(client=where, **more), X, y) == {'lbfgs', 'rotation'}


def fits(client, dtype):
    "Parameters of each estimator with each of its solvers that run on workers."
    X, y = PROBLEMS['bound'].features.toarray().astype(dtype), PROBLEMS['bound'].labels
    pairs = np.unique(np.random.default_rng(0).integers([12, 9], size=(40, 2)), axis=0)
    triplets, found = PROBLEMS['ordinal'].triplets, {}
    towers = dict(n_components=2, left=MLP(3), right=Linear(), dtype=dtype)
    for solver in ON_WORKERS['softmax']:
        settings = dict(ridge=0.01, max_iter=2, dtype=dtype, learning_rate=1.0)
        found[solver, 'softmax'] = SoftmaxClassifier(solver, client=client, **settings).fit(X, y)
    for solver in ('auto', *ON_WORKERS['bound']):
        found[solver, 'bound'] = BoundClassifier(solver, max_iter=2, client=client).fit(X, y)
    for solver in ON_WORKERS['ordinal']:
        settings = dict(solver=solver, max_iter=2, n_init=1, init='random', client=client)
        found[solver, 'ordinal'] = OrdinalEmbedding(2, **settings).fit(triplets)
    for solver in ON_WORKERS['similarity']:
        settings = dict(solver=solver, max_iter=2, client=client, **towers)
        found[solver, 'similarity'] = SimilarityModel(**settings).fit(pairs)
    return {name: model.run_.state.params for name, model in found.items()}


@pytest.fixture(scope='module')
def alone():
    with unheard():
        return {dtype: fits(None, dtype) for dtype in ('float32', 'float64')}


@pytest.mark.filterwarnings('ignore:.*did not converge')
@pytest.mark.parametrize(
    'n_workers', [2, 7, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3, 4, 5, 6))]
)
def test_every_solver_on_workers_gives_what_it_gives_alone(n_workers, alone):
    "Four estimators, every solver that runs on workers, one to seven parts, both types (7: one)."
    types = (('float32', 2e-3), ('float64', 1e-6))[n_workers == 7 :]
    with local_client(n_workers, processes=False) as client:
        if n_workers == 2:  # its first map is fitted in more dimensions, in a hundred sums
            maps = [
                OrdinalEmbedding(2, max_iter=2, n_init=1, client=one)
                .fit(PROBLEMS['ordinal'].triplets)
                .embedding_
                for one in (client, None)
            ]
            np.testing.assert_allclose(*maps, rtol=1e-6, atol=1e-6)
        for dtype, slack in types:
            for name, params in fits(client, dtype).items():
                assert params.dtype == alone[dtype][name].dtype
                np.testing.assert_allclose(
                    params, alone[dtype][name], rtol=slack, atol=slack, err_msg=f'{dtype} {name}'
                )


def test_a_stream_stays_at_home(client):
    X, y = PROBLEMS['bound'].features, PROBLEMS['bound'].labels
    refuses('runs in one process', SoftmaxClassifier(client=client).partial_fit, X, y, np.arange(5))


# --- broken part files ----------------------------------------------------------------------------


@pytest.mark.parametrize('line, place', [('1 1:nan', 'row 1'), ('1,2 1:1', 'row 1 has 2 labels')])
def test_svmlight_names_the_file_and_the_row(line, place, tmp_path):
    path = tmp_path / 'part.svm'
    path.write_text(f'0 1:1\n{line}\n')
    assert str(path) in refuses(place, read_svmlight, path, n_features=2)


def test_svmlight_of_a_part_is_that_of_the_one_reader(tmp_path):
    "Compressed or not; columns from 0 where it is said; a label of no whole number is refused."
    import gzip

    path = tmp_path / 'part.svm'
    path.write_bytes(gzip.compress(b'# made up\n2 0:0.5 3:1\n\n0\n'))
    found = read_svmlight(path, n_features=5, first_index=0)
    assert found['features'].toarray().tolist() == [[0.5, 0, 0, 1, 0], [0.0] * 5]
    assert found['features'].dtype == np.float64 and found['labels'].tolist() == [2.0, 0.0]
    path.write_text('1.5 1:1\n')
    refuses('label 1.5 at row 0 of .*: expected a whole number', read_svmlight, path)


# --- bytes and plans ------------------------------------------------------------------------------


@pytest.fixture
def still(client):
    """A client whose scheduler moves nothing of its own: it neither drops a copy of the point that
    a task will ask for (the active memory manager, every two seconds), nor gives tasks to an idle
    worker."""

    async def steal(wish, dask_scheduler):
        await getattr(dask_scheduler.extensions['stealing'], wish)()

    client.amm.stop()
    client.run_on_scheduler(steal, 'stop')
    yield client
    client.run_on_scheduler(steal, 'start')
    client.amm.start()


@pytest.mark.skipif(sys.platform != 'linux', reason='Linux counts the bytes of a connection')
def test_bytes_are_those_of_the_formulas(still):
    """Counted in the sockets of all processes: within 10 %, for sums, products and passes of
    rotating blocks."""
    from distributed.comm.tcp import TCP

    write = TCP.write
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 400)), rng.integers(150, size=100)
    bound, double = LogLinear(X, y, 150), DoubleSum(X, y, 150, alpha=1.0)
    tall = DoubleSum(rng.normal(size=(60_000, 2)), rng.integers(2, size=60_000), 2)
    size, vector = bound.n_params, rng.normal(size=bound.n_params)
    triplets = rng.permuted(np.tile(np.arange(20_000), (3, 1)), axis=1).T
    map_of = Comparisons(triplets[(np.diff(triplets) != 0).all(1)], 4, STE(), 20_000)
    pairs = np.unique(rng.integers([3000, 2000], size=(20_000, 2)), axis=0)
    towers = AllPairs(
        pairs, n_left=3000, n_right=2000, n_components=16, left=Linear(), right=Linear()
    )

    def one_pass(whole, params):
        solver = Rotation()
        return solver.step(whole, solver.init(whole, params), np.random.default_rng(0))

    for problem, n_shards, wish, formula in (
        (bound, 2, lambda one, at: one.loss_and_grad(at), step_bytes(size, 2)),
        (bound, 5, lambda one, at: one.loss_and_grad(at), step_bytes(size, 2)),
        (bound, 2, lambda one, at: one.ggn_vp(at, vector), product_bytes(size, 2)),
        (
            tall,
            2,
            lambda one, at: one.loss_and_grad(at),
            step_bytes(tall.n_weights, 2, tall.n_samples),
        ),
        (double, 2, one_pass, rotation_bytes(size, 100, 2)),
        (map_of, 5, lambda one, at: one.loss_and_grad(at), step_bytes(80_000, 2)),
        (towers, 2, lambda one, at: one.loss_and_grad(at), step_bytes(80_000, 2)),
    ):
        whole, params = Sharded(problem, still, n_shards), problem.init_params() + 0.01
        wish(whole, params)
        if 'ggn_vp' not in wish.__code__.co_names:
            params = params + 0.01  # there, the point is known already
        sent = bytes_sent(still, lambda wish=wish, whole=whole, params=params: wish(whole, params))
        assert abs(sent - formula) < 0.1 * formula, (sent, formula)
    assert TCP.write is write  # nothing of distributed was replaced


def test_plans_add_up():
    """A plan for one worker is the work and one message; the best number of workers is where a pass
    is shortest."""
    machine = Machine(per_product=1e-9, latency=1e-3, bandwidth=1e9, memory=1e9)
    for task in (
        softmax_task(1e8, 1000, 100, 50),
        pairs_task(1e9, 2e7, 64, 10**6),
        comparisons_task(1e9, 1e6, 10),
    ):
        one = 1e-9 * task.products + 2 * (1e-3 + task.itemsize * task.n_shared / 1e9)
        assert forecast(task, machine, 1).seconds == pytest.approx(one)
        seconds = {n: forecast(task, machine, n).seconds for n in 2 ** np.arange(24)}
        assert 0.4 < best_workers(task, machine) / min(seconds, key=seconds.get) < 2.5
        held = [forecast(task, machine, n) for n in (1, 10, 10_000)]
        assert held[0].held > held[1].held > held[2].held
        assert all(one.fits == (one.held <= 1e9) for one in held)


# --- dask arrays and data frames ------------------------------------------------------------------


def labeled_table(n=300):
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(n, 4)), columns=list('abcd'))
    names = np.array(['ash', 'birch', 'cedar'])
    table['label'] = names[np.argmax(table[['a', 'b', 'c']] + rng.normal(size=(n, 3)), axis=1)]
    return table


COLLECTED = dict(
    bound=lambda **more: BoundClassifier(ridge=1e-3, **more),
    prior=lambda **more: BoundClassifier('bm', ridge=1e-3, prior='empirical', tol=1e-9, **more),
    softmax=lambda **more: SoftmaxClassifier('lbfgs', ridge=1e-3, **more),
    rotation=lambda **more: SoftmaxClassifier(
        'rotation', n_blocks=3, learning_rate=3.0, dtype='float64', max_epochs=3, **more
    ),
)


@pytest.mark.parametrize('kind', COLLECTED)
@pytest.mark.parametrize('where', ['here', 'workers'])
def test_dask_frames_and_arrays_give_the_model_of_the_table(client, kind, where, tmp_path):
    "From parquet files, from arrays of other chunks, in this process and on workers."
    import dask.array
    import dask.dataframe

    table, one = labeled_table(), client if where == 'workers' else None
    X, y = table[list('abcd')], table['label']
    want = COLLECTED[kind]().fit(X, y)
    dask.dataframe.from_pandas(table, npartitions=3).to_parquet(tmp_path)
    frame = dask.dataframe.read_parquet(tmp_path)
    found = COLLECTED[kind](client=one).fit(frame[list('abcd')], frame['label'])
    assert list(found.feature_names_in_) == list('abcd') and found.n_features_in_ == 4
    np.testing.assert_array_equal(found.classes_, want.classes_)
    if kind == 'rotation':
        want = COLLECTED[kind]().fit(X, y)  # the same three blocks of rows
    np.testing.assert_allclose(found.coef_, want.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.intercept_, want.intercept_, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found.predict(X), want.predict(X))
    rows = dask.array.from_array(X.to_numpy(), chunks=(100, 2))
    labels = dask.array.from_array(np.unique(y, return_inverse=True)[1], chunks=60)
    again = COLLECTED[kind](client=one).fit(rows, labels)
    np.testing.assert_allclose(again.coef_, want.coef_, rtol=1e-4, atol=1e-5)
    if kind in ('softmax', 'rotation'):
        for fit in (found, again):
            np.testing.assert_array_equal(fit.class_count_, np.unique(y, return_counts=True)[1])


def test_dask_collections_that_do_not_fit_are_one_line():
    import dask.array
    import dask.dataframe

    table = labeled_table(60)
    frame = dask.dataframe.from_pandas(table, npartitions=3)
    X, y = frame[list('abcd')], frame['label']
    with pytest.raises(TypeError, match='y is Series; give labels as a dask array'):
        BoundClassifier().fit(X, table['label'])
    with pytest.raises(ValueError, match='X has 3 partitions, but y has 2'):
        BoundClassifier().fit(X, dask.array.from_array(np.arange(60) % 3, chunks=30))
    refuses('solver="lbfgs", "rotation"', SoftmaxClassifier().fit, X, y, raises=TypeError)
    refuses(r'\(QuasiMajorizer\) needs', BoundClassifier('quasi').fit, X, y, raises=TypeError)
    refuses('class_weight needs all rows', BoundClassifier(class_weight='balanced').fit, X, y)
    with pytest.raises(ValueError, match='y holds 1 class only'):
        BoundClassifier().fit(X, y.map(lambda _: 'ash', meta=y._meta))
    holed = table.copy()
    holed.loc[45, 'b'] = np.nan
    holed = dask.dataframe.from_pandas(holed, npartitions=3)
    with pytest.raises(ValueError, match='partition 2: .*row 5, column 1'):
        BoundClassifier().fit(holed[list('abcd')], holed['label'])
    empty = X[X['a'] > 10]  # a filter that leaves partitions without rows
    refuses('X has 0 rows', BoundClassifier().fit, empty, y[X['a'] > 10])


class Counted:
    "A source that counts how often its rows are read."

    def __init__(self, make):
        self.make, self.reads = make, 0

    def __call__(self):
        self.reads += 1
        return self.make()


@pytest.mark.parametrize('kind', [LogLinear, DoubleSum])
def test_out_of_core_a_part_is_read_once_per_evaluation_and_nothing_of_it_stays(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    parts = np.array_split(np.arange(60), 20)
    sources = [Counted(lambda rows=rows: kind(X[rows], y[rows], 3)) for rows in parts]
    whole = Sharded.of(sources, keep=False)
    assert {one.reads for one in sources} == {1}
    assert getattr(whole.template.features.base, "size", 4) == 4  # a copy of one row
    params = np.zeros(whole.n_shared + sum(len(at) for at in whole.pieces if at is not None))
    for method in (whole.loss, whole.grad, whole.loss_and_grad):
        method(params)
    assert {one.reads for one in sources} == {4}


def count_adds(dask_scheduler):
    return dask_scheduler.task_prefixes['add'].state_counts['memory']


def test_answers_of_a_worker_are_added_eight_at_a_time():
    "40 parts on one worker: five sums and the sum of these, so that no task needs all answers."
    from functools import partial

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.integers(3, size=80)
    blocks = np.array_split(np.arange(80), 40)
    with local_client(1, processes=False) as client:
        sources = [partial(LogLinear, X[rows], y[rows], 3) for rows in blocks]
        whole = Sharded.of(sources, client, keep=False)
        found = whole.loss_and_grad(np.zeros(12))
        assert client.run_on_scheduler(count_adds) == 6
    same(found[1], LogLinear(X, y, 3).grad(np.zeros(12)))


def test_a_partition_travels_with_its_own_part_of_the_graph(tmp_path):
    "What is sent for a partition does not grow with the number of partitions."
    import dask.array
    import dask.dataframe
    from distributed.protocol.pickle import cloudpickle

    from extreme_opt.scale.collections import partitions

    sizes = []
    for n in (2, 40):
        frame = dask.dataframe.from_pandas(labeled_table(80), npartitions=n)
        frame.to_parquet(tmp_path / str(n))
        frame = dask.dataframe.read_parquet(tmp_path / str(n))
        parts = partitions(frame[list('abcd')], frame['label'])
        rows = dask.array.zeros((80, 4), chunks=(80 // n, 2)) + 1
        labels = dask.array.zeros(80, chunks=80 // n)
        more = partitions(rows, labels)
        assert len(parts) == len(more) == n and more[-1]()[0].shape == (80 // n, 4)
        sizes.append([len(cloudpickle.dumps(some[0])) for some in (parts, more)])
    assert all(after < 1.5 * before for before, after in zip(*sizes)), sizes


@pytest.mark.parametrize(
    'kind, place', [*((kind, 'client') for kind in ESTIMATORS), ('bound', 'local')]
)
def test_a_fit_on_workers_that_diverges_learns_nothing(client, kind, place, monkeypatch):
    "Also where an earlier fit is there, and with dask collections."
    from extreme_opt.core import FitDiverged, Run, State, Status

    dataframe = pytest.importorskip('dask.dataframe')
    frame = labeled_table(60)
    rows, labels = frame[list('abcd')].to_numpy(), frame['label'].to_numpy()

    def lost(problem, solver, params=None, **_):
        params = np.full_like(problem.init_params(0), np.nan)
        return Run(State(params=params, n_iter=2, n_epochs=2.0), Status.DIVERGED, 'lost')

    data = dict(
        softmax=(rows, labels),
        bound=(rows, labels),
        ordinal=(PROBLEMS['ordinal'].triplets,),
        similarity=(np.argwhere(np.ones((6, 5))),),
    )[kind]
    with monkeypatch.context() as patched:
        patched.setattr('extreme_opt.core.estimator.minimize', lost)
        model = ESTIMATORS[kind](dict(client=client, local='local')[place])
        refuses(r'diverged after iteration 2 \(2 epochs\)', model.fit, *data, raises=FitDiverged)
        assert not any(name.endswith('_') for name in vars(model))
        if kind in ('softmax', 'bound'):
            parts = dataframe.from_pandas(frame, npartitions=2)
            with pytest.raises(FitDiverged) as error:
                model.fit(parts[list('abcd')], parts['label'])
            assert error.value.run.status == 'diverged'
            assert not any(name.endswith('_') for name in vars(model))
