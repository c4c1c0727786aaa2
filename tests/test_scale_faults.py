"Workers that die, workers that are slow, a scheduler that is gone: the run ends as it would have, or says what happened and goes on from its file."

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
from extreme_opt.scale.sharded import WorkerLost, Workers
from extreme_opt.softmax import DoubleSum

pytestmark = pytest.mark.skipif(sys.platform == 'win32', reason='Windows has no SIGKILL')
distributed = pytest.importorskip('distributed', reason='needs the scale extra')
KILL, SLOW = 'EXTREME_OPT_TEST_KILL', 'EXTREME_OPT_TEST_SLOW'


def data(seed=0, n=40):
    rng = np.random.default_rng(seed)
    return scipy.sparse.random(n, 6, 0.5, 'csr', rng=rng), rng.integers(5, size=n)


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


class TroubledSum(DoubleSum):
    "Kills its own process in the middle of a pass of rotating blocks, once."

    @property
    def ridge(self):
        if once(KILL):
            os.kill(os.getpid(), signal.SIGKILL)
        return 0.01

    @ridge.setter
    def ridge(self, value):
        pass


def calm_and_troubled(n=40, seed=0):
    X, y = data(seed, n)
    return LogLinear(X, y, 5, ridge=0.1), Troubled(X, y, 5, ridge=0.1)


def test_a_worker_killed_in_a_step_costs_nothing_but_time(tmp_path, monkeypatch):
    "SIGKILL in the middle of a gradient, then a worker that sleeps: steps are made again on the rest, or waited for; the run is the calm one."
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
    async with Scheduler(host='127.0.0.1', port=0, dashboard=False, dashboard_address=':0') as scheduler:
        with open(path + '.part', 'w') as file: file.write(scheduler.address)
        import os; os.replace(path + '.part', path)
        async with Worker(scheduler.address, nthreads=1, memory_limit=0): await scheduler.finished()

asyncio.run(main(sys.argv[1]))
'''


def test_a_lost_scheduler_is_one_line_and_the_file_goes_on(tmp_path):
    "The process with the scheduler is killed after step 2; the run is continued without any cluster, from its checkpoint."
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
        import dask

        with dask.config.set({'distributed.comm.timeouts.connect': '60s'}):
            client = distributed.Client(address.read_text(), timeout=120)
            client.wait_for_workers(1)
            whole, looks = Sharded(calm, client, 2), []

            def look(problem, params):
                looks.append(1)
                if len(looks) == 3:
                    process.kill()
                    process.wait()
                return len(looks)

            with pytest.raises(
                ConnectionError, match=r'lost the scheduler at .*resume=checkpoint'
            ) as caught:
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
    "So many runs on one cluster; each loses a worker in a gradient, the others meet what is left or has come back."
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
def test_three_kills_on_one_cluster(tmp_path, monkeypatch):
    many_kills(tmp_path, monkeypatch, 3)


@pytest.mark.slow
def test_twenty_kills_on_one_cluster(tmp_path, monkeypatch):
    many_kills(tmp_path, monkeypatch, 20)


def test_no_worker_is_one_line():
    "When all are gone and none comes back in time, the run ends with one line; a cluster that gets one again goes on."
    calm, _ = calm_and_troubled()
    with local_client(1, processes=False) as client:
        whole, params = Sharded(calm, client, 2), calm.init_params()
        value, place = whole.loss(params), whole.place
        place.pause, place.limit = 0.05, 0.2
        client.cluster.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        with pytest.raises(
            ConnectionError,
            match=r'^no worker came to the scheduler at .* in 0.2 s; start some, and continue with .*resume=checkpoint',
        ) as caught:
            whole.loss(params)
        assert '\n' not in str(caught.value)
        place.limit = 300.0
        client.cluster.scale(1)
        assert whole.loss(params) == pytest.approx(value, rel=1e-12)


def test_what_is_given_to_a_worker_that_left_is_given_again():
    "A worker may go between the look at who is there and the message to it."
    calm, _ = calm_and_troubled()
    with local_client(2, processes=False) as client:
        whole, give, left = Sharded(calm, client, 3), Workers.give, []

        def late(place, value, worker):
            if left:
                return give(place, value, worker)
            left.append(worker)
            return give(place, value, 'inproc://127.0.0.1/1/1')

        with pytest.raises(WorkerLost, match='left'):
            late(whole.place, np.ones(3), '')
        left.clear()
        whole.place.give = late.__get__(whole.place)
        assert (
            whole.loss(calm.init_params())
            == pytest.approx(calm.loss(calm.init_params()), rel=1e-12)
            and left
        )


def test_a_step_that_never_succeeds_ends():
    calm, _ = calm_and_troubled()
    with local_client(1, processes=False) as client:
        place = Sharded(calm, client, 2).place

        def attempt():
            raise WorkerLost('somebody')

        with pytest.raises(
            RuntimeError,
            match='workers went away in each of 10 tries of one step, at last somebody; look into their logs',
        ):
            place.again(attempt)


@pytest.mark.slow
def test_twenty_kills_in_twenty_runs(tmp_path, monkeypatch):
    "Every run, on two workers of its own, loses one of them in a gradient and ends as the calm one."
    for seed in range(20):
        calm, troubled = calm_and_troubled(seed=seed)
        path = tmp_path / f'killed-{seed}'
        monkeypatch.setenv(KILL, str(path))
        with local_client(2) as client:
            run = minimize(Sharded(troubled, client, 3), LBFGS(), max_iter=3)
        assert path.exists()
        np.testing.assert_allclose(
            run.column('loss'), minimize(calm, LBFGS(), max_iter=3).column('loss'), rtol=1e-10
        )
