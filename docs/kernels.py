"""Kernels that start in a tenth of a second: one process imports what pages import, and forks for
each page.

A page's kernel is a process of its own as before; only the five seconds of imports are shared.
Where a process cannot be forked (Windows), `manager` starts kernels in the usual way.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

COMMON = [
    *'ipykernel.kernelapp ipywidgets matplotlib.backends.backend_agg matplotlib.figure'.split(),
    *'numba pandas scipy.optimize scipy.sparse.linalg scipy.stats sklearn.datasets'.split(),
    *'sklearn.linear_model sklearn.model_selection'.split(),
    *(f'extreme_opt.{name}' for name in 'bound data ordinal show similarity softmax'.split()),
]


# ------------------------------------------------------------------------ in the process that forks
def serve() -> None:
    """Read a line of JSON for each kernel (argv, env, cwd), answer with its process id; end with
    the input."""
    import importlib

    for name in COMMON:
        with suppress(ImportError):
            importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets kernels that have ended
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become_kernel(**json.loads(line))
        print(pid, flush=True)


def _become_kernel(argv: list[str], env: dict[str, str], cwd: str) -> None:
    "The rest of a forked process: a kernel as `python -m ipykernel_launcher` makes it."
    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = argv
    ends_with = f'--IPKernelApp.parent_handle={os.getppid()}'
    try:
        IPKernelApp.launch_instance(argv=[*argv[argv.index('-f') :], ends_with])
    finally:
        os._exit(0)


# ------------------------------------------------------------------------ in the process that asks
class Server:
    "The process that forks, with the environment that it was started with."

    def __init__(self, env: dict[str, str]):
        self.env = env
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.close)

    def fork(self, **request) -> int:
        self.process.stdin.write(json.dumps(request) + '\n')
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


_lock = threading.Lock()
KERNELS_OWN = 'PYTEST', 'JPY', 'EXTREME_OPT_DRAFT'  # what no module reads when it is imported
_servers: list[Server] = []


def _fork(argv: list[str], env: dict[str, str], cwd: str) -> int:
    """A kernel's process id. What modules read when they are imported depends on the environment,
    so another one means another server."""
    same = {name: value for name, value in env.items() if not name.startswith(KERNELS_OWN)}
    with _lock:
        if not _servers or _servers[-1].env != same:
            while _servers:
                _servers.pop().close()
            _servers.append(Server(same))
        return _servers[-1].fork(argv=argv, env=env, cwd=cwd)


def provisioner(manager, spec):
    "What starts and ends the kernel of `manager`; None where the usual one does."
    if not hasattr(os, 'fork') or sys.platform == 'darwin':  # frameworks of macOS do not survive it
        return None
    import psutil
    from jupyter_client.provisioning import LocalProvisioner

    class Forked(psutil.Process):
        "What a provisioner asks of a `subprocess.Popen`."

        stdin = stdout = stderr = None

        def poll(self):
            with suppress(psutil.NoSuchProcess):
                if self.is_running() and self.status() != psutil.STATUS_ZOMBIE:
                    return None
            return 0

        def wait(self, timeout=None):
            with suppress(psutil.NoSuchProcess):
                super().wait(timeout)
            return 0

    class Forking(LocalProvisioner):
        async def launch_kernel(self, cmd, **kwargs):
            folder = str(kwargs.get('cwd') or Path.cwd())
            self.pid = self.pgid = _fork(cmd, kwargs['env'], folder)
            self.process, self.cwd = Forked(self.pid), folder
            return self.connection_info

    return Forking(kernel_id=manager.kernel_id, kernel_spec=spec, parent=manager)


if __name__ == '__main__':
    del sys.path[0]  # this folder: a kernel does not see it
    serve()
