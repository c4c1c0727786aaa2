"How we time, and what a row tells: shared by the measuring scripts."

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from memory import peak_mb  # noqa: F401


def timed(job: Callable[[], object], clock: Callable[[], float] | None = None) -> float:
    clock = clock or time.perf_counter
    mark = clock()
    job()
    return clock() - mark


def cpu_of(job: Callable[..., Any], *args: Any, **settings: Any) -> tuple[Any, float]:
    "What a job answers, and the processor seconds that it takes."
    mark = time.process_time()
    answer = job(*args, **settings)
    return answer, time.process_time() - mark


def alternate(
    jobs: dict[str, Callable[[], object]],
    rounds: int = 9,
    warm: int = 1,
    clock: Callable[[], float] | None = None,
) -> dict[str, list[float]]:
    """Seconds of each job, round by round, every other round in the opposite order, so that all see
    the same machine."""
    for _ in range(warm):
        for job in jobs.values():
            job()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(rounds):
        for name in list(jobs)[:: -1 if turn % 2 else 1]:
            seconds[name].append(timed(jobs[name], clock))
    return seconds


def ratio(over: list[float], under: list[float]) -> float:
    "Median over rounds of one job's seconds by another's."
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


# ------------------------------------------------------------------------------------------ races
class Timing(NamedTuple):
    "Seconds of a job over the rounds of a race."

    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        "Half the distance between the quartiles, relative to the median; 0 of a single run."
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4, method='inclusive')
        return (high - low) / 2 / self.median

    def columns(self, threads: int = 1) -> dict:
        "What a row says of its seconds: the columns `seconds`, `spread`, `how` and `threads`."
        runs = f'median of {len(self.seconds)}' if len(self.seconds) > 1 else 'one run'
        return dict(
            seconds=f'{self.median:.4g}',
            spread=f'{self.spread:.3f}',
            threads=threads,
            how=f'{runs}, warmed up, turn by turn, {threads} thread{"s" * (threads > 1)}',
        )


def race(
    jobs: dict[str, Callable[[], object]], rounds: int = 5, long: float = 60.0
) -> dict[str, Timing]:
    """Jobs warmed up off the clock, then timed turn by turn; whoever needs longer than `long`
    seconds runs once."""
    once, short = {}, {}
    for name, job in jobs.items():
        if timed(job) > long and (took := timed(job)) > long:
            once[name] = Timing([took])  # the first may have compiled
        else:
            short[name] = job
    return once | {
        name: Timing(seconds) for name, seconds in alternate(short, rounds, warm=0).items()
    }


# ------------------------------------------------------------------------------------------- rows
def row(method: str, task: str, seconds: Any = '', **measured: Any) -> dict:
    """A row of a result, printed too: seconds (a text, or a `Timing` with its columns), what was
    measured, and what every row tells. Empty cells are filled in: no peer, one thread, the most
    memory of this process so far, versions, today."""
    if isinstance(seconds, Timing):
        measured = seconds.columns(measured.get('threads', 1)) | measured
        seconds = measured.pop('seconds')
    told = dict(method=method, task=task, peer='', threads=1, seconds=seconds) | measured
    print(*(f'{value}' for value in told.values() if value != ''), sep=' | ', flush=True)
    return dict(peak_mb=peak_mb(), versions=versions(), date=today()) | told


def kept(key: str, job: Callable[..., Any], *args: Any) -> Any:
    """What `job(*args)` answers (as JSON), or answered when this very code ran it before: a long
    script that was stopped goes on behind its last part."""
    if not os.environ.get('PARTS'):
        return job(*args)
    path = Path(os.environ['PARTS']) / f'{key}.json'
    if not path.exists():
        mark = time.perf_counter()
        told = json.dumps(job(*args))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(told, encoding='utf-8')
        with (path.parent / 'seconds').open('a', encoding='utf-8') as file:
            file.write(f'{time.perf_counter() - mark}\n')
    return json.loads(path.read_text(encoding='utf-8'))


# ----------------------------------------------------------------------- threads, processes, memory
THREADS = (
    'OMP_NUM_THREADS',
    'OPENBLAS_NUM_THREADS',
    'MKL_NUM_THREADS',
    'NUMBA_NUM_THREADS',
    'VECLIB_MAXIMUM_THREADS',
)


def pinned(threads: int = 1) -> dict[str, str]:
    "An environment in which every library that we or our rivals use takes so many threads."
    xla = (
        f'--xla_cpu_multi_thread_eigen={"true" if threads > 1 else "false"}'
        f' intra_op_parallelism_threads={threads}'
    )
    return {**os.environ, **dict.fromkeys(THREADS, str(threads)), 'XLA_FLAGS': xla}


def peer_python(name: str = 'main') -> str | None:
    """The Python that has the rivals of bench/peers/NAME.txt; `make bench` makes it, without it
    there are no rows for them."""
    found = peer_at(name)
    if not found:
        print(
            f'no Python with the rivals of bench/peers/{name}.txt is at hand: no rows for them',
            flush=True,
        )
    return found or None


def lend_peers() -> None:
    "Let this process import the rivals of bench/peers/main.txt too, where they are at hand."
    if at := peer_at('main'):
        sys.path += map(str, Path(at).parent.parent.glob('lib/python*/site-packages'))


def peer_at(name: str) -> str:
    "The interpreter that a script was given for the rivals of bench/peers/NAME.txt, or nothing."
    return os.environ.get(
        'EXTREME_OPT_PEERS' if name == 'main' else f'EXTREME_OPT_PEERS_{name.upper()}', ''
    )


def installed(name: str) -> str:
    "Versions of the rivals that bench/peers/NAME.txt names, as that environment has them."
    lines = (
        (Path(__file__).parent / 'peers' / f'{name}.txt').read_text(encoding='utf-8').splitlines()
    )
    wanted = [line.split('==')[0] for line in lines if line and not line.startswith('#')]
    code = (
        'import sys; from importlib.metadata import version; print("; ".join(f"{name}'
        ' {version(name)}" for name in sys.argv[1:]))'
    )
    done = subprocess.run([peer_at(name), '-c', code, *wanted], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else 'versions unknown'


def fresh(
    script: str | Path,
    call: str,
    *args: Any,
    threads: int = 1,
    python: str = sys.executable,
    limit: float | None = None,
) -> dict:
    """What `call(*args)` of a script answers (a dict) in a process of its own, with `peak_mb`, the
    most memory of that process."""
    script = Path(script).resolve()
    code = (
        'import importlib.util, json, sys; sys.path[:0] = [sys.argv[1]]; import memory\nname ='
        ' sys.argv[2]; spec = importlib.util.spec_from_file_location(name, sys.argv[5]); script ='
        ' sys.modules[name] ='
        ' importlib.util.module_from_spec(spec)\nspec.loader.exec_module(script)\ntold ='
        ' getattr(script, sys.argv[3])(*json.loads(sys.argv[4])); print("\\n" + json.dumps({**(told'
        ' or {}), "peak_mb": memory.peak_mb()}))'
    )
    done = subprocess.run(
        [
            python,
            '-c',
            code,
            str(Path(__file__).resolve().parent),
            script.stem,
            call,
            json.dumps(args),
            str(script),
        ],
        capture_output=True,
        text=True,
        env=pinned(threads),
        timeout=limit,
    )
    if done.returncode:
        raise RuntimeError(f'{script.stem}.{call}: {done.stderr[-800:]}')
    return json.loads(done.stdout.splitlines()[-1])


def cpu() -> str:
    "Name of the processor, as far as it tells."
    try:
        for line in Path('/proc/cpuinfo').read_text().splitlines():
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


LIBRARIES = {'sklearn': 'scikit-learn', 'dask': 'dask', 'pandas': 'pandas', 'faiss': 'faiss-cpu'}


def versions(*names: str) -> str:
    "Python and package versions in one field; those of libraries that were imported too."
    used = [name for module, name in LIBRARIES.items() if module in sys.modules]
    wanted = dict.fromkeys(('numpy', 'scipy', 'numba', *names, *used))
    found = [f'{name} {metadata.version(name)}' for name in wanted]
    return '; '.join([f'python {platform.python_version()}', *found])


def today() -> str:
    return datetime.date.today().isoformat()
