"""Runs stop for a stated reason, keep an honest record, and continue from a file bit by bit, also
after SIGKILL and Ctrl-C."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy import sparse

import extreme_opt.core.run as run_module
from extreme_opt.core import (
    LBFGS,
    SGD,
    GradientDescent,
    LeastSquares,
    Problem,
    Run,
    State,
    Status,
    iterate,
    minimize,
)
from extreme_opt.core.problem import Stochastic
from extreme_opt.core.serialize import fingerprint, pack, read_file, unpack, write_atomically

KILLS = int(os.environ.get('EXTREME_OPT_KILLS', 2))  # per solver; 10 makes 20 in all


def make_problem(n_samples=40, kind=LeastSquares):
    rng = np.random.default_rng(0)
    return kind(rng.normal(size=(n_samples, 3)), rng.normal(size=n_samples), 0.1)


def timeless(run):
    return [{key: value for key, value in row.items() if key != 'seconds'} for row in run.history]


def assert_same(one, other):
    "Bit by bit, clock aside: every field of the state, and every row."
    assert type(one.state) is type(other.state)
    for name, value in vars(one.state).items():
        theirs = getattr(other.state, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == theirs.dtype and value.tobytes() == theirs.tobytes(), name
        else:
            assert repr(value) == repr(theirs), name
    assert repr(timeless(one)) == repr(timeless(other))
    assert one.message == other.message


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyState(State):
    "One field of every kind that a checkpoint takes."

    average: np.ndarray
    scale: np.float32 = np.float32(0.1)
    sizes: tuple = ()
    names: dict = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True)
class Noisy:
    "Draws uneven amounts from the generator, so that its state matters."

    learning_rate: float = 1e-3
    requires: ClassVar = Stochastic

    def init(self, problem, params):
        return NoisyState(params=params.copy(), average=np.zeros((2, params.size), np.float32))

    def step(self, problem, state, rng):
        size = int(rng.integers(1, 5, dtype=np.int32))
        grad = problem.grad_at(state.params, problem.draw(rng, size))
        params = state.params - self.learning_rate * grad
        kept = dict(average=state.average + params.astype('f4'), names={'last': size, 'x': grad[0]})
        kept |= dict(scale=state.scale * np.float32(1.1), sizes=(*state.sizes[-3:], size))
        kept |= dict(note=None if size % 2 else f'{rng.normal():.17g}')
        return state.advance(params, size, size / problem.n_samples, **kept)


SOLVERS = {
    'SGD': SGD(1e-3, 0.9, n_updates=7),
    'GradientDescent': GradientDescent(),
    'adagrad': GradientDescent('adagrad'),
    'LBFGS': LBFGS(),
    'Noisy': Noisy(),
}


# ------------------------------------------------------------------------------- limits and reasons
LIMITS = 'iter', 'epochs', 'seconds'


@pytest.mark.parametrize(
    'limits, steps, message',
    [
        (dict(max_iter=4), 4, 'reached max_iter=4'),
        (dict(max_iter=0), 0, 'reached max_iter=0'),
        (dict(max_epochs=3), 3, 'reached max_epochs=3'),
        (dict(max_epochs=2.5), 3, 'reached max_epochs=2.5'),
        (dict(max_seconds=0), 0, 'reached max_seconds=0'),
        (dict(max_iter=9, max_epochs=2), 2, 'reached max_epochs=2'),
    ],
)
def test_budgets(limits, steps, message):
    run = minimize(make_problem(), SGD(1e-3), **limits)
    assert (run.state.n_iter, run.message) == (steps, message)
    assert run.status == message.split()[1].partition('=')[0] and run.status.is_limit
    assert [row['iter'] for row in run.history] == list(range(steps + 1))


WRONG = [
    (dict(max_iter=-1), 'max_iter=-1'),
    (dict(max_iter=2.5), 'max_iter=2.5 is not a whole number'),
    (dict(max_iter='3'), "max_iter='3' is not a whole number"),
    (dict(tol=float('nan')), 'tol=nan'),
    (dict(max_iter=1, record_every=0), 'record_every=0'),
    (dict(max_iter=1, record_every=1.5), 'record_every=1.5 is not a whole number'),
    (dict(max_iter=1, loss_subset=2.5), 'loss_subset=2.5 is not a whole number'),
    (dict(max_iter=1, checkpoint_every=0), 'checkpoint_every=0'),
    (dict(max_iter=1, checkpoint_every='soon'), "checkpoint_every='soon'"),
    (dict(max_iter=1, metrics={'loss': min}), r"metrics names \['loss'\]"),
    (dict(max_iter=1, params=np.zeros((3, 1))), 'params'),
    *[({f'max_{name}': value}, 'limit|finite') for name in LIMITS for value in (np.inf, np.nan)],
]


@pytest.mark.parametrize('wrong, words', WRONG)
def test_wrong_use_raises_one_line(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words) as error:
        minimize(make_problem(), SGD(1e-3), **wrong)
    assert '\n' not in str(error.value)


def test_tolerance_on_the_gradient():
    problem = make_problem()
    for solver in (LBFGS(), GradientDescent()):
        run = minimize(problem, solver, tol=1e-3, max_iter=500)
        assert run.message == 'gradient norm is at most tol=0.001 times its start'
        assert run.status is Status.CONVERGED and not run.status.is_limit
        assert run.state.grad_norm <= 1e-3 * np.linalg.norm(problem.grad(problem.init_params()))


def test_tolerance_on_the_loss_over_a_pass():
    problem = make_problem()
    run = minimize(problem, SGD(1e-3, 0.5, n_updates=10), tol=1e-3)
    assert run.message == 'loss changed by at most tol=0.001 over a pass'
    assert run.status is Status.CONVERGED
    losses, passes = run.column('loss'), run.column('epoch')
    then = losses[np.flatnonzero(passes <= passes[-1] - 1 + 1e-9)[-1]]
    assert abs(losses[-1] - then) <= 1e-3 * then
    refuses('needs a recorded loss', lambda: minimize(problem, SGD(1e-3), tol=0.1, loss_subset=0))
    assert minimize(problem, LBFGS(), tol=0.1, loss_subset=0).message.startswith('gradient norm')


def test_a_rule_of_ones_own_ends_a_run(tmp_path):
    problem, asked = make_problem(), []

    def rule(given, state):
        asked.append((given is problem, state.n_iter))
        return f'loss is {state.loss:.3g}' if state.n_iter == 3 else None

    path = tmp_path / 'run.npz'
    run = minimize(problem, LBFGS(), max_iter=50, stop=rule, checkpoint=path)
    assert run.status is Status.CONVERGED and run.message.startswith('loss is ')
    assert asked == [(True, 1), (True, 2), (True, 3)] and run.history[-1]['iter'] == 3
    again = minimize(problem, LBFGS(), max_iter=50, stop=rule, resume=path)
    assert again.state.n_iter == 3 and again.message == run.message
    further = minimize(problem, LBFGS(), max_iter=5, resume=path)
    assert further.state.n_iter == 5 and further.status is Status.MAX_ITER


def test_divergence_is_a_result():
    run = minimize(make_problem(), SGD(1.0), max_iter=100)
    assert run.message.startswith('loss is not finite after iteration ')
    assert run.message.endswith('learning_rate=1 is too large for SGD; try 0.1')
    assert run.status is Status.DIVERGED
    assert run.state.n_iter < 100 and not np.isfinite(run.history[-1]['loss'])
    blind = minimize(make_problem(), SGD(1.0), max_iter=100, loss_subset=0)
    assert blind.message.startswith('params are not finite after iteration ')

    class Wise(LeastSquares):
        advice = 'UMax and ImplicitSGD do not overflow'

    wise = minimize(make_problem(kind=Wise), SGD(1.0), max_iter=100)
    assert wise.message.endswith(
        'learning_rate=1 is too large for SGD; UMax and ImplicitSGD do not overflow'
    )

    class _Tuned(SGD):
        'A solver that users do not know by name.'

    inner = minimize(make_problem(), _Tuned(1.0), max_iter=100)
    assert inner.message.endswith('learning_rate=1 is too large for SGD; try 0.1')
    start = minimize(make_problem(), SGD(1.0), np.full(3, np.nan), max_iter=100)
    assert start.message.startswith('loss is not finite at the start') and start.state.n_iter == 0


def test_divergence_between_two_rows_is_seen_at_once():
    run = minimize(make_problem(), SGD(1.0), max_iter=1000, record_every=500)
    assert run.state.n_iter < 50 and 'not finite' in run.message
    assert run.history[-1]['iter'] == run.state.n_iter


def test_no_warning_is_printed():
    with np.errstate(all='raise'):
        assert 'not finite' in minimize(make_problem(), SGD(1.0), max_iter=100).message


@pytest.mark.parametrize(
    'error',
    [
        np.linalg.LinAlgError('Singular matrix'),
        ZeroDivisionError('division by zero'),
        OverflowError('too big'),
    ],
)
def test_a_step_that_fails_on_numbers_returns_the_run(error):
    class Breaks(SGD):
        def step(self, problem, state, rng):
            if state.n_iter == 2:
                raise error
            return super().step(problem, state, rng)

    class Untried(LeastSquares):
        tiny = None

    run = minimize(make_problem(kind=Untried), Breaks(1e-3), max_iter=10)
    assert run.state.n_iter == 2 and run.status is Status.DIVERGED
    assert f'the step after iteration 2 (2 epochs) failed ({error})' in run.message


def test_a_bug_is_not_hidden():
    class Buggy(SGD):
        def step(self, problem, state, rng):
            raise RuntimeError('a bug')

    refuses('a bug', lambda: minimize(make_problem(), Buggy(), max_iter=10), raises=RuntimeError)


# ------------------------------------------------------------------------------------------- record
def test_rows_and_columns():
    problem = make_problem()
    metrics = dict(norm=lambda problem, params: np.linalg.norm(params))
    metrics['copy'] = lambda problem, params: params.copy()
    run = minimize(problem, SGD(1e-3), max_iter=7, record_every=3, metrics=metrics)
    assert list(run.history[0]) == ['iter', 'epoch', 'seconds', 'loss', 'norm', 'copy']
    assert list(run.column('iter')) == [0, 3, 6, 7] and run.column('copy').shape == (4, 3)
    assert all(type(row['norm']) is float for row in run.history)
    np.testing.assert_allclose(
        run.column('loss'), [problem.loss(params) for params in run.column('copy')]
    )
    with pytest.raises(KeyError, match='there are iter, epoch'):
        run.column('nothing')
    assert 'seconds' not in repr(run)


def test_record_on_fixed_rows():
    problem = make_problem()
    runs = [
        minimize(problem, solver, max_iter=3, loss_subset=10, seed=seed)
        for solver in (SGD(1e-3), LBFGS())
        for seed in (0, 1)
    ]
    for run in runs:
        assert set(run.column('loss_on')) == {10}
        assert run.history[0]['loss'] == runs[0].history[0]['loss']
    whole, plain = (
        minimize(problem, SGD(1e-3), max_iter=3, **more) for more in (dict(loss_subset=10**6), {})
    )
    np.testing.assert_allclose(whole.column('loss'), plain.column('loss'))
    assert whole.history[0]['loss_on'] == 40

    class Exact(LeastSquares):
        loss_on = None

    with pytest.raises(TypeError, match='loss_subset=5 needs `loss_on`, which Exact does not have'):
        minimize(make_problem(kind=Exact), SGD(), max_iter=1, loss_subset=5)


def test_no_loss_at_all():
    class Blind(LeastSquares):
        def loss(self, params):
            raise AssertionError('the loss was evaluated')

        def warmup_problem(self):
            return LeastSquares(self.features[:2], self.targets[:2])

    run = minimize(
        make_problem(kind=Blind),
        SGD(1e-3),
        max_iter=3,
        loss_subset=0,
        metrics={'one': lambda problem, params: 1},
    )
    assert [row['iter'] for row in run.history] == [1, 2, 3]
    assert all('loss' not in row and row['one'] == 1 for row in run.history)


def test_clock_counts_steps_only(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(
        run_module, 'time', SimpleNamespace(perf_counter=lambda: now[0], monotonic=lambda: now[0])
    )

    class Slow(LeastSquares):
        def loss(self, params):
            now[0] += 100
            return super().loss(params)

        def warmup_problem(self):
            now[0] += 1000
            return LeastSquares(self.features[:2], self.targets[:2])

    class Steady(SGD):
        def init(self, problem, params):
            now[0] += 5
            return super().init(problem, params)

        def step(self, problem, state, rng):
            now[0] += 1
            return super().step(problem, state, rng)

    metrics = {'dear': lambda problem, params: now.__setitem__(0, now[0] + 50)}
    run = minimize(make_problem(kind=Slow), Steady(1e-3), max_seconds=8, metrics=metrics)
    assert list(run.column('seconds')) == [5, 6, 7, 8] and run.message == 'reached max_seconds=8'


def test_a_problem_with_a_key_is_warmed_up_once_for_each_solver():
    "Kernels are compiled once a process; without a key nobody knows which."

    class Keyed:
        n_calls = 0
        warmup_key: tuple | None = ('test_run', 1)

        def warmup_problem(self):
            Keyed.n_calls += 1
            return make_problem()

    for _ in range(3):
        run_module.warm_up(Keyed(), SGD(1e-3))
    assert Keyed.n_calls == 1
    run_module.warm_up(Keyed(), SGD(2e-3))
    assert Keyed.n_calls == 2
    Keyed.warmup_key = None
    for _ in range(2):
        run_module.warm_up(Keyed(), SGD(1e-3))
    assert Keyed.n_calls == 4


def test_warm_up_takes_the_tiny_problem_and_no_full_step():
    sizes = []

    class Counting(SGD):
        def warmup_problem(self):
            return Counting(self.learning_rate, n_updates=1)

        def step(self, problem, state, rng):
            sizes.append((problem.n_terms, self.n_updates))
            return super().step(problem, state, rng)

    run = minimize(make_problem(), Counting(1e-3, n_updates=20), max_iter=3)
    assert sizes == [(2, 1), (40, 20), (40, 20), (40, 20)] and run.state.n_iter == 3


def test_iterate_takes_the_steps_of_a_run():
    problem = make_problem()
    run = minimize(problem, SGD(1e-3), max_iter=4, seed=3)
    states = [state for _, state in zip(range(5), iterate(problem, SGD(1e-3), seed=3))]
    assert states[-1].params.tobytes() == run.state.params.tobytes()
    assert [state.n_iter for state in states] == [0, 1, 2, 3, 4] and (states[0].params == 0).all()


def test_callers_vector_is_left_alone():
    params = np.ones(3)
    minimize(make_problem(), SGD(1e-3), params, max_iter=2)
    assert (params == 1).all() and params.flags.writeable


def test_table(monkeypatch):
    pandas = pytest.importorskip('pandas')
    run = minimize(make_problem(), SGD(1e-3), max_iter=3)
    frame = run.to_frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame['iter']) == [0, 1, 2, 3]
    monkeypatch.setitem(sys.modules, 'pandas', None)
    refuses(r'to_frame needs pandas; run pip install', run.to_frame, raises=ImportError)


def test_progress(monkeypatch, capsys):
    bars = []

    class Bar:
        def __init__(self, **settings):
            self.n, self.settings, self.closed = 0, settings, False
            bars.append(self)

        def update(self, more):
            self.n += more

        def set_postfix_str(self, text, refresh=True):
            self.text = text

        def close(self):
            self.closed = True

    fake = ModuleType('tqdm.auto')
    fake.tqdm = Bar
    monkeypatch.setitem(sys.modules, 'tqdm', ModuleType('tqdm'))
    monkeypatch.setitem(sys.modules, 'tqdm.auto', fake)
    minimize(make_problem(), SGD(1e-3), max_iter=5, verbose=True)
    minimize(make_problem(), SGD(1e-3), max_epochs=5, verbose=True)
    assert [(bar.n, bar.settings['total'], bar.settings['unit'], bar.closed) for bar in bars] == [
        (5, 5, 'iter', True),
        (5, 5, 'epoch', True),
    ]
    assert bars[0].text.startswith('loss ')
    minimize(make_problem(), SGD(1e-3), max_iter=5)
    assert len(bars) == 2  # off by default
    monkeypatch.setitem(sys.modules, 'tqdm.auto', None)
    minimize(make_problem(), SGD(1e-3), max_iter=5, verbose=True)  # no tqdm, no bar, no complaint
    assert capsys.readouterr() == ('', '')


def test_progress_says_the_seconds_that_are_left(monkeypatch, capsys):
    "After the first second, over whichever limit comes first; in lines where tqdm is missing."
    ticks = iter(range(10**6))
    clock = SimpleNamespace(perf_counter=lambda: next(ticks) / 2)  # a step and its bar: 1.5 s
    monkeypatch.setattr(run_module, 'time', clock)
    monkeypatch.setitem(sys.modules, 'tqdm.auto', None)
    minimize(make_problem(), SGD(1e-3), max_iter=20, max_epochs=1e6, verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and lines[0].startswith('iteration 2 (') and 'loss' in lines[0]
    left = [int(line.split()[-3]) for line in lines]
    assert left[0] == 27 and left == sorted(left, reverse=True) and left[-1] < 9, lines
    minimize(make_problem(), SGD(1e-3), max_iter=20, max_seconds=6, verbose=True)
    assert 'at most 14 s left' in capsys.readouterr().err
    minimize(make_problem(), SGD(1e-3), max_iter=20)
    assert capsys.readouterr().err == ''  # nobody asked, nobody watches
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: True, raising=False)
    minimize(make_problem(), SGD(1e-3), max_iter=20)
    assert capsys.readouterr().err.count('s left\n') == 1
    with run_module._choosing():  # short fits, told of as one, by a timer
        for _ in range(7):
            minimize(make_problem(), SGD(1e-3), max_iter=20)
    assert capsys.readouterr().err == ''
    minimize(make_problem(), SGD(1e-3), max_iter=20)
    assert capsys.readouterr().err.startswith('iteration ')


def test_progress_before_a_run(monkeypatch, capsys):
    "A timer of ten seconds says what goes on: reading, or choosing whatever it reads meanwhile."
    timers = []

    class Timer:
        def __init__(self, seconds, say):
            self.seconds, self.say, self.on = seconds, say, None

        def start(self):
            self.on = True
            timers.append(self)

        def cancel(self):
            self.on = False

    def said():
        (timer,) = timers
        assert timer.seconds == 10
        timer.say()
        return capsys.readouterr().err

    monkeypatch.setattr(run_module.threading, 'Timer', Timer)
    with run_module._stage('reading pairs'):
        assert not timers  # nobody watches
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: True, raising=False)
    with run_module._stage('reading pairs'):
        assert said() == 'reading pairs, after 10 s\n'
        with run_module._choosing():
            assert said() == 'choosing settings, after 10 s\n'
            with run_module._stage('reading pairs'):
                assert said() == 'choosing settings, after 10 s\n'
        assert said() == 'reading pairs, after 10 s\n' and timers[0].on
    assert timers[0].on is False and run_module._STAGE.get() == ()


# -------------------------------------------------------------------------------------------- files
@pytest.mark.parametrize('name', SOLVERS)
@settings(max_examples=12, deadline=None)
@given(
    stop=st.integers(0, 12),
    more=st.integers(0, 12),
    record_every=st.integers(1, 5),
    every=st.integers(1, 4),
    loss_subset=st.sampled_from([None, 0, 7]),
)
def test_resumed_equals_uninterrupted(
    tmp_path_factory, name, stop, more, record_every, every, loss_subset
):
    problem = make_problem()
    solver = SOLVERS[name]
    path = tmp_path_factory.mktemp('run') / 'run.npz'
    record = dict(
        record_every=record_every,
        loss_subset=loss_subset,
        metrics={'first': lambda problem, params: params[0], 'all': lambda problem, params: params},
    )
    minimize(
        problem, solver, max_iter=stop, seed=5, checkpoint=path, checkpoint_every=every, **record
    )
    options = dict(max_iter=stop + more, resume=path, checkpoint=path, checkpoint_every=every)
    resumed = minimize(problem, solver, **options, **record)
    straight = minimize(problem, solver, max_iter=stop + more, seed=5, **record)
    assert_same(resumed, straight)
    assert_same(Run.load(path), straight)


def test_finished_run_stays_as_it_is(tmp_path):
    problem, path = make_problem(), tmp_path / 'run.npz'
    done = minimize(problem, SGD(1e-3), max_iter=5, record_every=3, checkpoint=path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    again = minimize(problem, SGD(1e-3), max_iter=5, record_every=3, resume=path, checkpoint=path)
    assert_same(again, done)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert os.listdir(tmp_path) == ['run.npz']
    assert again.column('seconds').tolist() == done.column('seconds').tolist()
    # limits count from the original start
    assert minimize(problem, SGD(1e-3), max_iter=2, resume=path).state.n_iter == 5
    wild = minimize(problem, SGD(1.0), max_iter=100, checkpoint=path)
    # diverged is finished too
    assert_same(minimize(problem, SGD(1.0), max_iter=200, resume=path), wild)


def test_params_and_seed_come_from_the_file(tmp_path):
    problem, path = make_problem(), tmp_path / 'run.npz'
    minimize(problem, SGD(1e-3), np.ones(3), max_iter=3, seed=9, checkpoint=path)
    resumed = minimize(problem, SGD(1e-3), np.zeros(3), max_iter=6, seed=1, resume=path)
    assert_same(resumed, minimize(problem, SGD(1e-3), np.ones(3), max_iter=6, seed=9))


class Steady(SGD):
    "Each step takes two seconds."

    now = [0.0]

    def step(self, problem, state, rng):
        self.now[0] += 2
        return super().step(problem, state, rng)


@pytest.fixture()
def steady(monkeypatch):
    def now():
        return Steady.now[0]

    monkeypatch.setattr(run_module, 'time', SimpleNamespace(perf_counter=now, monotonic=now))


def test_seconds_go_on(tmp_path, steady):
    minimize(make_problem(), Steady(1e-3), max_iter=3, checkpoint=tmp_path / 'run.npz')
    Steady.now[0] += 1e6
    run = minimize(make_problem(), Steady(1e-3), max_seconds=10, resume=tmp_path / 'run.npz')
    assert list(run.column('seconds')) == [0, 2, 4, 6, 8, 10]


def test_schedule_of_writes(tmp_path, steady, monkeypatch):
    written = []
    monkeypatch.setattr(Run, 'save', lambda self, path: written.append(self.state.n_iter))
    cases = [(1, [0, 1, 2, 3, 4, 5, 6, 7]), (3, [0, 3, 6, 7]), (100, [0, 7]), ('5s', [0, 3, 6, 7])]
    cases += [('1000s', [0, 7]), ('0s', list(range(8)))]
    for every, steps in cases:
        written.clear()
        settings = dict(max_iter=7, checkpoint=tmp_path / 'run.npz', checkpoint_every=every)
        minimize(make_problem(), Steady(1e-3), **settings)
        assert written == steps, every


def test_wrong_files_are_refused_in_one_line(tmp_path):
    problem, path, other = make_problem(), tmp_path / 'run.npz', tmp_path / 'other.npz'
    minimize(problem, SGD(1e-3), max_iter=3, checkpoint=path)
    changed = LeastSquares(problem.features + 1e-12, problem.targets, 0.1)
    cases = [
        (problem, SGD(1e-2), {}, r'was made by SGD\(.*=0.001.* not by SGD\(.*=0.01'),
        (problem, LBFGS(), {}, 'not by LBFGS'),
        (changed, SGD(1e-3), {}, 'belongs to another problem'),
        (make_problem(39), SGD(1e-3), {}, 'belongs to another problem'),
        (problem, SGD(1e-3), dict(loss_subset=5), 'loss_subset=None, not 5'),
    ]
    for its_problem, solver, more, words in cases:
        refuses(words, minimize, its_problem, solver, max_iter=5, resume=path, **more)
    with pytest.raises(FileNotFoundError, match='does not exist'):
        minimize(problem, SGD(1e-3), max_iter=5, resume=other)
    with pytest.raises(FileNotFoundError, match='is not a folder'):
        minimize(problem, SGD(1e-3), max_iter=5, checkpoint=tmp_path / 'no' / 'run.npz')
    minimize(problem, SGD(1e-3), max_iter=3).save(other)
    with pytest.raises(ValueError, match='holds no generator state'):
        minimize(problem, SGD(1e-3), max_iter=5, resume=other)
    minimize(problem, SGD(1e-3), max_iter=3, checkpoint=path).save(other)
    assert_same(
        minimize(problem, SGD(1e-3), max_iter=5, resume=other),
        minimize(problem, SGD(1e-3), max_iter=5),
    )


def run_of(meta):
    "Fields of the run in the text of its file."
    return meta['run']


def state_of(meta):
    "Module, class and fields of its state."
    return run_of(meta)['state']['fields']


def part(meta, *names):
    "A place in the text of a run file: the list [key, value] that the last name leads to."
    spec = run_of(meta)['origin']
    for name in names:
        pair = next(pair for pair in spec['dict'] if pair[0] == name)
        spec = pair[1]
    return pair


def tamper(change):
    def done(meta, arrays):
        key = state_of(meta)[2]['params']['array']
        arrays[key] = change(arrays[key])

    return done


TAMPERED = {
    'class of a stranger': (
        lambda meta, arrays: state_of(meta).__setitem__(slice(2), ['antigravity', 'State']),
        'import it first',
    ),
    'count': (lambda meta, arrays: state_of(meta)[2].update(n_iter='5'), "its n_iter is '5'"),
    'generator': (
        lambda meta, arrays: part(meta, 'random', 'bit_generator').__setitem__(1, 'seed'),
        'was altered',
    ),
    'status': (lambda meta, arrays: run_of(meta).update(status={'status': 'x'}), 'cannot be read'),
    'no run': (lambda meta, arrays: meta.update(run={}), 'cannot be read'),
    'no state': (lambda meta, arrays: run_of(meta).update(state='x'), 'was altered'),
    'origin': (lambda meta, arrays: run_of(meta).update(origin='random'), 'no generator'),
    'words for numbers': (tamper(lambda params: params.astype('U5')), 'was altered'),
    'a matrix': (tamper(lambda params: params[None]), 'was altered'),
    'another length': (tamper(lambda params: params[:2]), 'was altered'),
    'another precision': (tamper(lambda params: params.astype('f4')), 'was altered'),
}


@pytest.mark.parametrize('name', TAMPERED)
def test_tampered_files_are_refused_in_one_line(tmp_path, name):
    """No class, module or function that a file names is reached unless it is a state of ours or
    already there."""
    problem, path = make_problem(), tmp_path / 'run.npz'
    minimize(problem, SGD(1e-3), max_iter=3, checkpoint=path)
    meta, arrays = read_file(path)
    change, words = TAMPERED[name]
    change(meta, arrays)
    del meta['format'], meta['version']
    write_atomically(path, meta, arrays)
    refuses(words, lambda: minimize(problem, SGD(1e-3), max_iter=5, resume=path))
    assert 'antigravity' not in sys.modules


def foreign_files(folder):
    np.save(folder / 'a.npy', np.ones(3))
    np.savez(folder / 'b.npz', x=np.ones(3))
    (folder / 'c.txt').write_text('buy milk')
    (folder / 'd').write_bytes(b'')
    np.savez(folder / 'e.npz', meta=np.array([{'a': 1}], dtype=object))
    (folder / 'f.npz').write_bytes(b'PK\x03\x04' + bytes(100))
    return sorted(folder.iterdir())


@pytest.mark.parametrize('place', range(6))
def test_foreign_files_are_left_untouched(tmp_path, place):
    path = foreign_files(tmp_path)[place]
    before = path.read_bytes()
    for how in (dict(resume=path), dict(checkpoint=path), dict(resume=path, checkpoint=path)):
        with pytest.raises(ValueError, match='is cut short or no run of ours') as error:
            minimize(make_problem(), SGD(1e-3), max_iter=2, **how)
        assert '\n' not in str(error.value)
    assert path.read_bytes() == before and len(os.listdir(tmp_path)) == 6


def test_a_state_that_cannot_be_saved_says_so_before_the_first_step(tmp_path):
    @dataclass(frozen=True, kw_only=True, eq=False)
    class Odd(State):
        helper: object = None

    steps = []

    class Odds(SGD):
        def init(self, problem, params):
            return Odd(params=params.copy(), helper={1, 2})

        def step(self, problem, state, rng):
            if problem.n_terms > 2:
                steps.append(1)
            return super().step(problem, state, rng)

    with pytest.raises(TypeError, match='Odd.helper is a set, which a file without code'):
        minimize(make_problem(), Odds(1e-3), max_iter=3, checkpoint=tmp_path / 'run.npz')
    assert not steps and os.listdir(tmp_path) == []


SCALARS = [np.float32(0.1), np.int64(3), np.bool_(True), np.arange(6).reshape(2, 3)[:, ::2]]


def some_of(inner):
    lists = st.lists(inner, max_size=3)
    return lists | lists.map(tuple) | st.dictionaries(st.text(), inner, max_size=3)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(SCALARS),
    some_of,
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_packing_loses_nothing(value):
    arrays = {}
    back = unpack(json.loads(json.dumps(pack(value, arrays))), arrays)
    assert repr(back) == repr(value) and type(back) is type(value)


def test_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / 'run.npz', tmp_path / 'link.npz'
    write_atomically(path, {'n': 3}, {'a0': np.arange(5)})
    link.symlink_to(path)
    write_atomically(link, {'n': 4}, {})
    assert link.is_symlink() and read_file(path)[0]["n"] == 4


def test_fingerprints():
    problem = make_problem()
    X, y = problem.features, problem.targets

    @dataclass(frozen=True, eq=False)
    class Nested:
        part: object
        _cache: object = None

    csr = sparse.csr_array(np.round(X))
    moved = csr.copy()
    moved.indices = moved.indices[::-1].copy()
    things = [problem, LeastSquares(X, y)]
    things += [LeastSquares(np.asfortranarray(X), y, 0.1), LeastSquares(X, y, 0.1)]
    things += [Nested(problem, 3), Nested(problem, 4), Nested(csr), Nested(csr.copy())]
    parts = [moved, (csr, 1), [csr, 1], {'a': problem}, np.array(['a', None], dtype=object)]
    parts += [np.exp, np.log, LBFGS(), LBFGS(history_size=3), LBFGS]
    names = [fingerprint(thing) for thing in [*things, *map(Nested, parts)]]
    same = [(0, 2), (0, 3), (4, 5), (6, 7)]
    for i in range(len(names)):
        for j in range(i):
            assert (names[i] == names[j]) == ((j, i) in same or (i, j) == (3, 2)), (i, j)

    class Own:
        def fingerprint(self):
            return 'mine'

    assert fingerprint(Own()) == 'mine'


def test_fingerprint_of_large_data_is_sampled_and_sees_both_ends(monkeypatch):
    import extreme_opt.core.serialize as checkpoint

    monkeypatch.setattr(checkpoint, '_WHOLE', 1000)
    monkeypatch.setattr(checkpoint, '_BLOCK', 64)
    vector = np.arange(100_000.0)
    name = fingerprint((vector,))
    for place in (0, 99_999, 1562 * 3):
        other = vector.copy()
        other[place] += 1
        assert fingerprint((other,)) != name
    assert fingerprint((vector.copy(),)) == name and fingerprint((vector[:-1],)) != name


# ------------------------------------------------------------------------------------------- memory
class Large:
    "Many parameters, and a loss that looks at two of them."

    n_terms, n_samples = 4, 4

    def __init__(self, n_params, dtype):
        self.n_params, self.dtype = n_params, np.dtype(dtype)

    def init_params(self, seed=0):
        return np.ones(self.n_params, self.dtype)

    def loss(self, params):
        return float(params[0] ** 2 + params[-1] ** 2)

    def draw(self, rng, size):
        return rng.integers(2, size=size)

    def grad_at(self, params, batch):
        raise AssertionError('a full vector was made')

    def grad(self, params):
        grad = np.zeros_like(params)
        grad[[0, -1]] = 2 * params[[0, -1]]
        return grad

    def sgd_step_(self, params, batch, rate):
        params[-batch] *= 1 - 2 * rate

    def fingerprint(self):
        return 'large'


@pytest.mark.parametrize('dtype', ['f4', 'f8'])
@pytest.mark.parametrize('solver', [SGD(0.1), GradientDescent()])
def test_one_state_and_one_new_vector(tmp_path, solver, dtype):
    n_bytes = 1 << 26
    problem = Large(n_bytes // np.dtype(dtype).itemsize, dtype)
    np.savez(tmp_path / 'warm.npz', x=np.ones(3))
    tracemalloc.start()
    try:
        run = minimize(problem, solver, max_iter=4)
        plain = tracemalloc.get_traced_memory()[1]
        assert run.state.params.dtype == dtype
        del run
        tracemalloc.reset_peak()
        minimize(problem, solver, max_iter=4, checkpoint=tmp_path / 'run.npz', checkpoint_every=2)
        kept = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        minimize(problem, solver, max_iter=6, resume=tmp_path / 'run.npz')
        resumed = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert plain < 2.05 * n_bytes
    # numpy writes and reads in pieces of 16 MB
    assert kept < 2.6 * n_bytes and resumed < 2.6 * n_bytes


# ------------------------------------------------------------------------------------------ signals
KILLED = '''
import sys, time
from test_run import SOLVERS, make_problem
from extreme_opt.core import minimize

path, settings = sys.argv[2], dict(max_iter=100_000, seed=5, record_every=3)
print('ready', flush=True)
minimize(make_problem(), SOLVERS[sys.argv[1]], checkpoint=path, **settings)
time.sleep(300)  # one that came to rest by itself waits to be killed
'''


def child(program, *arguments):
    options = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    env = dict(PYTHONPATH=os.pathsep.join(sys.path), NUMBA_DISABLE_JIT='1')
    options |= dict(env=os.environ | env)
    return subprocess.Popen([sys.executable, '-c', program, *map(str, arguments)], **options)


@pytest.mark.skipif(sys.platform == 'win32', reason='Windows has no SIGKILL')
@pytest.mark.parametrize('name', ['SGD', 'adagrad'])
def test_killed_at_any_moment_and_resumed(tmp_path, name):
    problem, solver, chance, steps = make_problem(), SOLVERS[name], random.Random(name), []
    for k in range(KILLS):
        path = tmp_path / f'{k}.npz'
        process = child(KILLED, name, path)
        try:
            assert process.stdout.readline() == 'ready\n', process.stderr.read()
            for _ in range(3000):
                if path.exists() and (k or Run.load(path).state.n_iter):
                    break  # the first is killed after a step, the others at any time
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.4))
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        found = Run.load(path)
        steps.append(found.state.n_iter)
        settings = dict(max_iter=steps[-1] + 5, record_every=3)
        resumed = minimize(problem, solver, resume=path, checkpoint=path, **settings)
        assert_same(resumed, minimize(problem, solver, seed=5, **settings))
        assert_same(Run.load(path), resumed)
    assert max(steps) > 0


BLOCKED = '''
import signal, sys, time
import numpy as np
from extreme_opt.core import SGD, LeastSquares, minimize

signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # in the background, a shell has it ignored
rng = np.random.default_rng(0)
problem = LeastSquares(rng.normal(size=(40, 3)), rng.normal(size=40), 0.1)


def block(self, problem, state, rng, step=SGD.step):
    if state.n_iter == 3:
        rng.normal(size=7)
        print('blocked', flush=True)
        time.sleep(300)
    return step(self, problem, state, rng)


SGD.step = block
run = minimize(
    problem, SGD(1e-3), max_iter=10, seed=5, checkpoint=sys.argv[1], checkpoint_every=100
)
print(run.state.n_iter, len(run.history), run.status, run.message, flush=True)
'''


def test_ctrl_c_in_a_long_step_returns_the_run(tmp_path):
    path, problem = tmp_path / 'run.npz', make_problem()
    process = child(BLOCKED, path)
    try:
        assert process.stdout.readline() == 'blocked\n', process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)  # far less than the 300 seconds of the step
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out == '3 4 interrupted interrupted from the keyboard after iteration 3 (3 epochs)\n'
    resumed = minimize(problem, SGD(1e-3), max_iter=6, resume=path)
    # what the broken step drew is forgotten
    assert_same(resumed, minimize(problem, SGD(1e-3), max_iter=6, seed=5))


def test_ctrl_c_between_any_two_lines_leaves_a_whole_run(tmp_path):
    "Interrupt the driver at each of its lines in turn, and continue from what it left."
    problem = make_problem()
    solver = SOLVERS['Noisy']
    straight = minimize(make_problem(), SOLVERS['Noisy'], max_iter=4, seed=5)
    places = [0]

    def count(frame, event, argument):
        if frame.f_globals.get('__name__') != run_module.__name__:
            return None
        if event == 'line':
            places[0] += 1
        return count

    sys.settrace(count)
    try:
        minimize(problem, solver, max_iter=4, seed=5, checkpoint=tmp_path / 'run.npz')
    finally:
        sys.settrace(None)
    chance, returned = random.Random(0), []
    for target in sorted(chance.sample(range(1, places[0] + 1), 60)):
        seen, path = [0], tmp_path / f'{target}.npz'

        def interrupt(frame, event, argument, seen=seen, target=target):
            if frame.f_globals.get('__name__') != run_module.__name__:
                return None
            if event == 'line':
                seen[0] += 1
                if seen[0] == target:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return interrupt

        sys.settrace(interrupt)
        try:
            returned.append(minimize(problem, solver, max_iter=4, seed=5, checkpoint=path).message)
        except KeyboardInterrupt:
            pass  # before the first state: nothing to lose
        finally:
            sys.settrace(None)
        if path.exists():
            assert_same(
                minimize(problem, solver, max_iter=4, resume=path, checkpoint=path), straight
            )
    assert len(returned) > 40 and all('interrupted' in message for message in returned)


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    "Whatever stands at the name of the new file is neither written nor removed."
    precious = tmp_path / 'precious'
    precious.write_text('keep me')
    (tmp_path / '.run.npz.partial').symlink_to(precious)
    (tmp_path / '.0000.part').symlink_to(precious)
    write_atomically(tmp_path / 'run.npz', {}, {})
    monkeypatch.setattr('secrets.token_hex', lambda n: '0000')
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / 'run.npz', {}, {})
    assert precious.read_text() == 'keep me' and (tmp_path / '.0000.part').is_symlink()


def test_a_full_disk_does_not_end_the_run(tmp_path, monkeypatch):
    problem, path, writes, real = make_problem(), tmp_path / 'run.npz', [], np.savez

    def savez(file, **arrays):
        writes.append(1)
        if 1 < len(writes) < 4 or len(writes) == 6:
            raise OSError(28, 'No space left on device')
        real(file, **arrays)

    monkeypatch.setattr(np, 'savez', savez)
    with pytest.warns(
        RuntimeWarning, match=r'run.npz could not be written \(No space left on device\).*make room'
    ):
        run = minimize(problem, SGD(0.01), max_iter=5, checkpoint=path)
    assert run.state.n_iter == 5 and run.message == 'reached max_iter=5' and len(writes) == 6
    assert Run.load(path).state.n_iter == 4  # the last write failed, the one before did not
    assert os.listdir(tmp_path) == ['run.npz']
    monkeypatch.undo()
    whole = minimize(problem, SGD(0.01), max_iter=5, resume=path)
    np.testing.assert_array_equal(whole.state.params, run.state.params)


def test_a_disk_that_is_full_at_the_start_is_said_at_once(tmp_path, monkeypatch):
    def savez(*_, **__):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(np, 'savez', savez)
    with pytest.raises(OSError, match='No space left'):
        minimize(make_problem(), SGD(0.01), max_iter=5, checkpoint=tmp_path / 'run.npz')
    assert os.listdir(tmp_path) == []


class Guarded:
    "A solver that must not be asked for anything."

    requires = Problem

    def init(self, problem, params):
        raise AssertionError('init was called')

    step = init


@pytest.mark.parametrize('change', [-1, 1, 40])
def test_params_of_another_length_are_refused_before_anything_runs(change):
    from extreme_opt.softmax import DoubleSum, ImplicitSGD, UMax

    problem, wrong = make_problem(), np.zeros(3 + change)
    said = f'params has {3 + change} numbers, but LeastSquares has 3'
    refuses(said, lambda: minimize(problem, Guarded(), wrong, max_iter=1))
    refuses(said, lambda: next(iterate(problem, Guarded(), wrong)))
    softmax = DoubleSum(np.ones((40, 3)), np.arange(40) % 4, 4)
    for solver in (ImplicitSGD(), UMax()):  # the weights without the log-normalizers
        with pytest.raises(ValueError, match='params has 12 numbers, but DoubleSum has 52'):
            minimize(softmax, solver, np.zeros(12), max_iter=1)


def test_losses_that_stand_still_end_a_run():
    rng = np.random.default_rng(0)
    problem = LeastSquares(rng.normal(size=(20, 3)), rng.normal(size=20))
    still = minimize(problem, SGD(learning_rate=0.0), max_iter=40, loss_tol=1e-9)
    assert still.status == 'converged' and still.state.n_iter == 11
    assert still.message == 'loss changed by at most tol=1e-09 over 10 steps'
    noisy = minimize(problem, SGD(learning_rate=0.01), max_iter=40, loss_tol=1e-12)
    assert noisy.status == 'max_iter'
