"""Odd surroundings: threads, forks, signals, a full disk, folders that cannot be written, a home
that is not UTF-8."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from refusals import unheard

pytest.importorskip('resource', reason='endurance.py asks for limits of the system')
import endurance  # noqa: E402

from extreme_opt import data
from extreme_opt.bound import BoundClassifier
from extreme_opt.core import SGD, LeastSquares, minimize
from extreme_opt.data.store import cached

Y = np.arange(300) % 3
X = 3 * np.eye(3)[Y] + np.random.default_rng(0).normal(size=(300, 3))
posix = pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs a POSIX system')


def fits():
    "What a small fit of each kind answers."
    with unheard():
        return [
            endurance.answers(kind, make[0]().fit(*endurance.DATA[kind][0]))
            for kind, make in endurance.MAKE.items()
        ]


def test_two_threads_learn_what_one_learns():
    expected, found = fits(), [[], [], []]

    def work(at):
        found[at] = fits()

    threads = [threading.Thread(target=work, args=[at]) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == expected for each in found)


@posix
@pytest.mark.filterwarnings('ignore::DeprecationWarning')  # fork of a process with threads
def test_a_fork_after_a_fit_learns_the_same():
    expected = fits()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if fits() == expected else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert fits() == expected


@posix
def test_signals_during_kernels_change_nothing():
    "A handler that only counts: the fit goes on to the same numbers."
    expected, heard = fits(), []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    try:
        found = fits()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard and found == expected


def check_full_disk(folder, fill):
    "A save that finds no room raises, leaves the old file whole and nothing beside it."
    model = BoundClassifier(max_iter=2, tol=None).fit(X, Y)
    model.save(folder / 'model.npz')
    wide = BoundClassifier(max_iter=1, tol=None).fit(np.tile(X, 1000), Y)
    problem = LeastSquares(np.eye(3), np.ones(3))
    minimize(problem, SGD(0.1), max_iter=2, checkpoint=folder / 'run.npz')
    names = sorted(os.listdir(folder))
    with pytest.raises(OSError):
        wide.save(folder / 'model.npz')
    assert sorted(os.listdir(folder)) == names
    assert (BoundClassifier.load(folder / 'model.npz').coef_ == model.coef_).all()
    fill(folder)
    with pytest.warns(RuntimeWarning, match='run.npz could not be written'):
        run = minimize(
            problem, SGD(0.1), max_iter=4, checkpoint=folder / 'run.npz', resume=folder / 'run.npz'
        )
    assert run.state.n_iter == 4  # the fit is not lost
    assert minimize(problem, SGD(0.1), max_iter=2, resume=folder / 'run.npz').state.n_iter == 2


LIMITED = """
import resource, signal, sys
from pathlib import Path
from test_environment import check_full_disk
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limit(n): resource.setrlimit(resource.RLIMIT_FSIZE, (n, resource.RLIM_INFINITY))
limit(65536)
check_full_disk(Path(sys.argv[1]), lambda folder: limit(16))
"""


@posix
def test_a_limit_on_the_size_of_files_while_saving(tmp_path):
    "The same without a disk of its own: the system refuses to write on."
    ran = subprocess.run(
        [sys.executable, '-c', LIMITED, str(tmp_path)],
        env=os.environ | dict(PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize('kind', ['a file', 'below a file', 'read only'])
def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch, kind):
    "What can be built is built and not kept; a download says where it could not go."
    place = tmp_path / 'cache'
    if kind == 'read only':
        place.mkdir()
        place.chmod(0o500)
        if os.access(place, os.W_OK):
            pytest.skip('this user may write everywhere')
    else:
        place.write_text('no folder')
        place = place / 'below' if kind == 'below a file' else place
    monkeypatch.setenv('EXTREME_OPT_CACHE', str(place))
    for _ in range(2):
        assert cached('toy', 'key', lambda: dict(a=np.arange(3)))['a'].tolist() == [0, 1, 2]
    with pytest.raises(OSError) as caught:
        data.fetch(
            next(name for name in data.DATASETS if data.DATASETS[name].downloads), quiet=True
        )
    assert str(place) in str(caught.value) and '\n' not in str(caught.value)


ODD_HOME = """
import os, sys
from pathlib import Path
import numpy as np
from extreme_opt.bound import BoundClassifier
from extreme_opt.core.linalg import omega
from extreme_opt.data.store import cached, cache_folder
assert omega(1.0) == 1.0
home = Path(os.environ['HOME'])
assert home in cache_folder().parents, cache_folder()
for _ in range(2): cached('toy', 'key', lambda: dict(a=np.arange(3)))
assert len(list(cache_folder().glob('toy-*.npz'))) == 1
model = BoundClassifier(max_iter=2, tol=None, checkpoint=home / 'run.npz')
model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).save(home / 'model.npz')
assert (BoundClassifier.load(home / 'model.npz').coef_ == model.coef_).all()
try:
    BoundClassifier.load(home / 'none.npz')
except FileNotFoundError as error:
    print(ascii(str(error)))
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='other systems refuse such names')
@pytest.mark.parametrize('locale', ['C.UTF-8', 'C'])
def test_a_home_that_is_not_utf8(tmp_path, locale):
    home = os.fsencode(tmp_path) + b'/h\xf6me'
    os.mkdir(home)
    env = {
        os.fsencode(name): os.fsencode(value)
        for name, value in os.environ.items()
        if name not in ('EXTREME_OPT_CACHE', 'XDG_CACHE_HOME', 'NUMBA_CACHE_DIR')
    }
    env |= {b'HOME': home, b'LC_ALL': locale.encode(), b'PYTHONUTF8': b'0'}
    ran = subprocess.run(
        [sys.executable, '-c', ODD_HOME], env=env, cwd=home, capture_output=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr.decode(errors='replace')
    assert b'does not exist' in ran.stdout and b'Traceback' not in ran.stderr
