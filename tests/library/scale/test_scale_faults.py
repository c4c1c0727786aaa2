"""Workers that die, workers that are slow, a scheduler that is gone: the run ends as it would have,
or says what happened and goes on from its file."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse

from extreme_opt.bound import LogLinear
from extreme_opt.core import LBFGS, minimize
from extreme_opt.scale import Sharded, local_client
from extreme_opt.scale.sharded import WorkerLost

pytestmark = pytest.mark.skipif(sys.platform == 'win32', reason='Windows has no SIGKILL')
distributed = pytest.importorskip('distributed', reason='needs the scale extra')
dask = pytest.importorskip('dask')
KILL, SLOW = 'EXTREME_OPT_TEST_KILL', 'EXTREME_OPT_TEST_SLOW'


def data(seed=0, n=40):
    rng = np.random.default_rng(seed)
    return scipy.sparse.random(n, 6, 0.5, 'csr', random_state=rng), rng.integers(5, size=n)


def once(name):
    "Whether this is a worker, and the first to come here since the test named a file."
    path = os.environ.get(name)
    if not path or multiprocessing.parent_process() is None:
        return False
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Troubled(LogLinear):
    "In the middle of a gradient, once: kills its own process, or sleeps."

    def loss_and_grad(self, params, rows=None):
        if once(KILL):
            os.kill(os.getpid(), signal.SIGKILL)
        if once(SLOW):
            time.sleep(3)
        return super().loss_and_grad(params, rows)


def calm_and_troubled(n=40, seed=0):
    X, y = data(seed, n)
    return LogLinear(X, y, 5, ridge=0.1), Troubled(X, y, 5, ridge=0.1)


def test_a_worker_killed_in_a_step_costs_nothing_but_time(tmp_path, monkeypatch):
    """SIGKILL in the middle of a gradient, then a worker that sleeps: steps are made again on the
    rest, or waited for; the run is the calm one."""
    calm, troubled = calm_and_troubled()
    monkeypatch.setenv(KILL, str(tmp_path / 'killed'))
    monkeypatch.setenv(SLOW, str(tmp_path / 'slow'))
    with local_client(2) as client:
        run = minimize(Sharded(troubled, client, 3), LBFGS(), max_iter=3)
    assert (tmp_path / 'killed').exists() and (tmp_path / 'slow').exists()
    alone = minimize(calm, LBFGS(), max_iter=3)
    np.testing.assert_allclose(run.column('loss'), alone.column('loss'), rtol=1e-10)
    np.testing.assert_allclose(run.state.params, alone.state.params, rtol=1e-8, atol=1e-10)


LONELY = '''
import asyncio, sys
from distributed import Scheduler, Worker

async def main(path):
    where = dict(host='127.0.0.1', port=0, dashboard=False, dashboard_address=':0')
    async with Scheduler(**where) as scheduler:
        with open(path + '.part', 'w') as file: file.write(scheduler.address)
        import os; os.replace(path + '.part', path)
        async with Worker(scheduler.address, nthreads=1, memory_limit=0): await scheduler.finished()

asyncio.run(main(sys.argv[1]))
'''


def test_a_lost_scheduler_is_one_line_and_the_file_goes_on(tmp_path):
    """The process with the scheduler is killed after step 2; the run is continued without any
    cluster, from its checkpoint."""
    calm, _ = calm_and_troubled()
    address, path = tmp_path / 'address', tmp_path / 'run.npz'
    process = subprocess.Popen(
        [sys.executable, '-c', LONELY, str(address)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not address.exists():
            assert process.poll() is None, 'the scheduler did not start'
            time.sleep(0.1)
        with dask.config.set({'distributed.comm.timeouts.connect': '60s'}):
            client = distributed.Client(address.read_text(), timeout=120)
            client.wait_for_workers(1)
            whole, looks = Sharded(calm, client, 2), []

            def look(problem, params):
                looks.append(1)
                if len(looks) == 3:
                    process.kill()
                    process.wait()
                    dask.config.set({'distributed.comm.timeouts.connect': '3s'})
                return len(looks)

            with pytest.raises(ConnectionError, match='lost .*resume=checkpoint') as caught:
                minimize(whole, LBFGS(), max_iter=6, checkpoint=path, metrics=dict(look=look))
            assert '\n' not in str(caught.value)
            client.close(timeout=1)
    finally:
        process.kill()
        process.wait()
    rest = minimize(
        calm, LBFGS(), max_iter=6, resume=path, metrics=dict(look=lambda problem, params: 0)
    )
    assert rest.state.n_iter == 6
    np.testing.assert_allclose(
        rest.state.params, minimize(calm, LBFGS(), max_iter=6).state.params, rtol=1e-8, atol=1e-10
    )


def many_kills(tmp_path, monkeypatch, n):
    """So many runs on one cluster; each loses a worker in a gradient, the others meet what is left
    or has come back."""
    path = tmp_path / 'killed'
    path.touch()
    monkeypatch.setenv(KILL, str(path))  # workers inherit it when they start
    with local_client(2) as client:
        for seed in range(n):
            calm, troubled = calm_and_troubled(seed=seed % 5)
            whole = Sharded(troubled, client, 3)
            path.unlink()
            run = minimize(whole, LBFGS(), max_iter=3)
            assert path.exists()
            np.testing.assert_allclose(
                run.column('loss'), minimize(calm, LBFGS(), max_iter=3).column('loss'), rtol=1e-10
            )


@pytest.mark.slow
def test_twenty_kills_on_one_cluster(tmp_path, monkeypatch):
    many_kills(tmp_path, monkeypatch, 20)


def test_no_worker_is_one_line():
    """When all are gone and none comes back in time, the run ends with one line; a cluster that
    gets one again goes on."""
    calm, _ = calm_and_troubled()
    with local_client(1, processes=False) as client:
        whole, params = Sharded(calm, client, 2), calm.init_params()
        value, place = whole.loss(params), whole.place
        place.pause, place.worker_timeout = 0.05, 0.2
        client.cluster.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        with pytest.raises(
            ConnectionError, match='^no worker came .* in 0.2 s; .*resume=checkpoint'
        ) as caught:
            whole.loss(params)
        assert '\n' not in str(caught.value)
        place.worker_timeout = 300.0
        client.cluster.scale(1)
        assert whole.loss(params) == pytest.approx(value, rel=1e-12)


def test_what_is_given_to_a_worker_that_left_is_given_again():
    "A worker may go between the look at who is there and the message to it."
    calm, _ = calm_and_troubled()
    with local_client(2, processes=False) as client:
        whole = Sharded(calm, client, 3)
        place, looks = whole.place, []
        workers = place.workers

        def late():
            looks.append(1)
            return ['inproc://127.0.0.1/1/1'] if len(looks) == 1 else workers()

        place.workers, place._known, place._looked = late, (), -1e9
        params = calm.init_params()
        assert whole.loss(params) == pytest.approx(calm.loss(params), rel=1e-12)
        assert len(looks) >= 2 and 'inproc://127.0.0.1/1/1' not in place.owners


def test_a_worker_that_joins_late_gets_its_part():
    "Shards are shared out again when a worker comes, and the numbers stay what they are."
    calm, _ = calm_and_troubled()
    with local_client(1, processes=False) as client:
        whole, params = Sharded(calm, client, 4), calm.init_params()
        value = whole.loss(params)
        assert whole.n_workers == 1
        client.cluster.scale(2)
        client.wait_for_workers(2)
        whole.place._looked = -1e9  # as if a second had passed
        assert whole.loss(params + 0.1) == pytest.approx(calm.loss(params + 0.1), rel=1e-12)
        assert whole.loss(params) == pytest.approx(value, rel=1e-12)
        assert sorted(map(whole.place.owners.count, set(whole.place.owners))) == [2, 2]


NO_PAUSE = {'distributed.worker.memory.pause': False, 'distributed.worker.memory.spill': False}


def test_a_step_that_never_succeeds_ends():
    calm, _ = calm_and_troubled()
    # the worker has the memory of this process, which other tests have filled
    with dask.config.set(NO_PAUSE), local_client(1, processes=False, memory_limit='1GB') as client:
        place, tries = Sharded(calm, client, 2).place, []

        def attempt():
            tries.append(1)
            raise distributed.comm.CommClosedError('somebody left')

        with pytest.raises(WorkerLost) as caught:
            place.run(attempt)
    assert len(tries) == 4
    said = str(caught.value)
    assert said.startswith('workers were lost in each of 4 tries of one step (CommClosedError), ')
    assert 'memory is the usual cause' in said and 'a worker 1,000 MB' in said
    assert 'checkpoint=' in said and '\n' not in said


class Deadly(LogLinear):
    "Its gradient kills every worker that tries, as a full memory does."

    def loss_and_grad(self, params, rows=None):
        if multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().loss_and_grad(params, rows)


@pytest.mark.slow
def test_a_step_that_kills_every_worker_ends_in_one_line():
    "Four workers lost in one step end the run; the message names memory and the size of a shard."
    X, y = data()
    with local_client(2, memory_limit='2GB') as client:
        with pytest.raises(WorkerLost, match='memory is the usual cause; the largest shard has'):
            minimize(Sharded(Deadly(X, y, 5), client, 2), LBFGS(), max_iter=3)


def test_workers_that_have_paused_are_told_of(monkeypatch):
    "A worker whose memory is full takes no task; when all have paused, the run ends in one line."
    calm, _ = calm_and_troubled()
    with local_client(1, processes=False) as client:
        place, clock = Sharded(calm, client, 1).place, []
        place.pause, place._all_paused = 16.0, lambda: clock.append(1) or True
        place._looked = -1e9
        monkeypatch.setattr(time, 'sleep', lambda seconds: None)
        with pytest.raises(WorkerLost, match='^all workers have paused, and memory is'):
            place.run(lambda: None)
        monkeypatch.undo()
        assert len(clock) == 2


def test_what_cannot_be_sent_or_has_no_room_is_one_line():
    "A closed client, a thing that does not pickle, a shard that no worker can hold."
    import threading

    calm, _ = calm_and_troubled()
    lock = threading.Lock()

    def locked(sample):
        with lock:
            return np.array(sample)

    samples = list(np.random.default_rng(0).normal(size=(20, 3, 4)))
    odd = LogLinear(samples, np.zeros(20, int), feature_map=locked)
    with dask.config.set(NO_PAUSE), local_client(1, processes=False, memory_limit='20MB') as client:
        with pytest.raises(TypeError, match='^LogLinear cannot be sent to workers') as said:
            Sharded(odd, client, 2)
        assert 'pickle' in str(said.value) and '\n' not in str(said.value)
        X = np.random.default_rng(0).normal(size=(20_000, 100))
        with pytest.raises(MemoryError, match='^a shard of 16 MB') as said:
            Sharded(LogLinear(X, np.arange(20_000) % 3), client, 1)
        assert '\n' not in str(said.value)
    for n_shards in (2, None):
        with pytest.raises(ValueError, match='^the client is closed, so there is nobody') as said:
            Sharded(calm, client, n_shards)
        assert '\n' not in str(said.value)


UNGUARDED = """
import numpy as np
from extreme_opt.bound import BoundClassifier

X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
{guard}
{indent}print(BoundClassifier(max_iter=1, client='local').fit(X, y).n_iter_)
"""


def script(path, guard):
    path.write_text(UNGUARDED.format(guard=guard, indent='    ' if guard else ''))
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)


def test_a_missing_main_guard_is_told_before_a_process_starts(tmp_path):
    done = script(tmp_path / 'bare.py', '')
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) < 40 and sum(line.startswith('Traceback') for line in lines) == 1
    assert lines[-1].startswith('RuntimeError: ') and "if __name__ == '__main__'" in lines[-1]
    assert 'bare.py, line 7' in lines[-1]
    done = script(tmp_path / 'guarded.py', "if __name__ == '__main__':")
    assert done.returncode == 0 and done.stdout.strip() == '1', done.stderr[-2000:]


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    "After a cluster has closed there is no worker process and no file of it."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    import tempfile

    import psutil

    monkeypatch.setattr(tempfile, 'tempdir', None)
    before = {one.pid for one in psutil.Process().children(recursive=True)}
    calm, _ = calm_and_troubled()
    with local_client(2) as client:
        Sharded(calm, client).loss(calm.init_params())
    left = [one for one in psutil.Process().children(recursive=True) if one.pid not in before]
    left = [one for one in left if 'resource_tracker' not in ' '.join(one.cmdline())]
    assert not left and not list(tmp_path.rglob('worker-*'))


def test_without_a_worker_nothing_waits_longer_than_it_was_told(monkeypatch):
    "Dask would wait two minutes for a worker before it sends the parameters."
    asked = []
    with local_client(1, processes=False) as client:
        whole = Sharded(calm_and_troubled()[0], client, 2)
        send = client.scatter

        def scatter(*args, **kwargs):
            asked.append(kwargs.get('timeout', np.inf))
            return send(*args, **kwargs)

        monkeypatch.setattr(client, 'scatter', scatter)
        whole.loss(np.zeros(whole.n_params))
    assert asked and max(asked) <= whole.place.pause < whole.place.worker_timeout
