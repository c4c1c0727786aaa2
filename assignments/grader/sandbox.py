"""Where a student's code runs: bubblewrap, else docker or podman, else (only with --trust) as an
ordinary process."""

import importlib.util
import os
import shutil
import subprocess
import sys
import uuid
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
IMAGE = 'extreme-opt-grader'
USUAL = ('/usr', '/lib', '/lib32', '/lib64', '/bin', '/sbin')
ENV = {
    'HOME': '/tmp',
    'MPLBACKEND': 'Agg',
    'MPLCONFIGDIR': '/tmp/mpl',
    'IPYTHONDIR': '/tmp/ipython',
    'NUMBA_CACHE_DIR': '/tmp/numba',
    'EXTREME_OPT_CACHE': '/tmp/cache',
    'PYTHONHASHSEED': '0',
    'PYTHONNOUSERSITE': '1',
    'LC_ALL': 'C.UTF-8',
    'MALLOC_MMAP_THRESHOLD_': '65536',  # what an array took goes back at once: memory is measured
    'MALLOC_TRIM_THRESHOLD_': '65536',
    'MALLOC_PERTURB_': '165',  # an array of zeros is written, too, and so counts
    'NUMPY_MADVISE_HUGEPAGE': '0',
    **{f'{name}_NUM_THREADS': '1' for name in ('OMP', 'OPENBLAS', 'MKL', 'NUMBA')},
}
MISSING = """\
students' code must not run here as it is: no sandbox was found.
{why}
Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap), or
build the image {image} of the Dockerfile beside this for docker or podman. With --trust the code
runs without a sandbox, with your rights."""


def links_to(path):
    "The symbolic links on the way to a file, and where each points: {link: target}."
    found, path = {}, Path(path).absolute()
    at = 1
    while at < len(path.parts):
        here = Path(*path.parts[: at + 1])
        if path.parts[at] == '..':
            path, at = Path(*path.parts[: at - 1], *path.parts[at + 1 :]), at - 2
        elif here.is_symlink() and str(here) not in found:
            found[str(here)] = os.readlink(here)
            path, at = here.parent.joinpath(os.readlink(here), *path.parts[at + 1 :]), 0
        at += 1
    return found


def _needed():
    """(folders that Python and the package live in, links on the way to them); ValueError where a
    folder holds the class or somebody's home."""
    wanted = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.exec_prefix)]
    spec = importlib.util.find_spec('extreme_opt')
    if spec and spec.submodule_search_locations:
        wanted += [Path(part) for part in spec.submodule_search_locations]
    wanted.append(Path(sys.executable).resolve().parent.parent)
    folders = sorted({Path('/usr'), *(path.resolve() for path in wanted)})
    for folder in folders:
        for kept, what in ((HERE.parent.resolve(), 'the class'), (Path.home().resolve(), 'a home')):
            if kept.is_relative_to(folder):
                raise ValueError(f'{folder}, which Python needs, holds {what}: use a venv elsewhere')
    links = {}
    for path in (*wanted, Path(sys.executable)):
        links |= links_to(path)

    def inside(path):
        return any(Path(path).is_relative_to(one) and Path(path) != one for one in folders)

    top = [str(one) for one in folders if not inside(one) and one != Path('/usr')]
    return top, {
        link: target for link, target in links.items() if not inside(link) and link not in USUAL
    }


def _bubblewrap(given, warm, keep):
    "The command that runs student.py in bubblewrap, up to the interpreter."
    command = ['bwrap', '--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL']
    command += ['--uid', '65534', '--gid', '65534', '--hostname', 'grader', '--clearenv']
    folders, links = _needed()
    for path in USUAL:
        if os.path.islink(path):
            command += ['--symlink', os.readlink(path), path]
        elif os.path.isdir(path):
            command += ['--ro-bind', path, path]
    for path in ('/etc/ld.so.cache', '/etc/fonts', '/etc/alternatives'):
        command += ['--ro-bind-try', path, path]
    command += ['--proc', '/proc', '--dev', '/dev']
    for path, size in (('/tmp', 1 << 30), ('/dev/shm', 1 << 26)):
        command += ['--size', str(size), '--tmpfs', path]
    for path in folders:
        command += ['--ro-bind', path, path]
    for link, target in links.items():
        command += ['--symlink', target, link]
    for file in ('student.py', 'wire.py'):
        command += ['--ro-bind', str(HERE / file), f'/tmp/grader/{file}']
    command += ['--ro-bind', str(given), '/tmp/given'] if given else []
    command += ['--ro-bind', str(warm), '/tmp/warm'] if warm else []
    command += ['--bind', str(keep), '/tmp/keep'] if keep else []
    for name, value in ENV.items():
        command += ['--setenv', name, value]
    return [*command, '--remount-ro', '/', '--chdir', '/tmp']


@cache
def probe(kind):
    "None where a sandbox of this kind works, otherwise why not."
    program = dict(bubblewrap='bwrap').get(kind, kind)
    if not shutil.which(program):
        return f'{program} is not installed'
    if kind == 'bubblewrap':
        try:
            trial = [*_bubblewrap(None, None, None), sys.executable, '-c', 'import numpy']
        except ValueError as error:
            return f'{program}: {error}'
    else:
        trial = [kind, 'image', 'inspect', IMAGE]
    try:
        done = subprocess.run(trial, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return f'{program} does not answer'
    if done.returncode == 0:
        return None
    return f'{program}: {(done.stderr.strip() or "it failed").splitlines()[-1][:200]}'


def choose(trust=False, wanted=None):
    "The kind of sandbox to use; without one, SystemExit says what to do."
    why = []
    for kind in [wanted] if wanted else ['bubblewrap', 'docker', 'podman']:
        if (problem := probe(kind)) is None:
            return kind
        why.append(problem)
    if trust:
        return 'none'
    raise SystemExit(MISSING.format(why='; '.join(why), image=IMAGE))


def places(kind, given, warm, keep, scratch):
    "Where the student's process finds its folders, as it sees them."
    inside = kind != 'none'
    return dict(
        given='/tmp/given' if inside and given else str(given or ''),
        warm='/tmp/warm' if inside and warm else str(warm or ''),
        keep='/tmp/keep' if inside and keep else str(keep or ''),
        work='/tmp/work' if inside else str(scratch / 'work'),
    )


def command(kind, given, warm, keep, scratch, limits):
    "(command, environment, command that stops it) to run student.py."
    if kind == 'none':
        env = {key: value.replace('/tmp', str(scratch)) for key, value in ENV.items()}
        return [sys.executable, str(HERE / 'student.py')], env, []
    if kind == 'bubblewrap':
        start = _bubblewrap(given, warm, keep)
        return [*start, sys.executable, '/tmp/grader/student.py'], {}, []
    name = f'grade-{uuid.uuid4().hex[:12]}'
    memory = f'{int(limits["memory_gb"] * 1024)}m'
    start = [kind, 'run', '--rm', '-i', '--name', name, '--network', 'none', '--read-only']
    start += [
        '--tmpfs',
        '/tmp:rw,exec,size=1g,mode=1777',
        '--memory',
        memory,
        '--memory-swap',
        memory,
    ]
    start += ['--cpus', '1', '--pids-limit', '64', '--cap-drop', 'ALL', '--user', '65534:65534']
    start += ['--security-opt', 'no-new-privileges']
    for file in ('student.py', 'wire.py'):
        start += ['-v', f'{HERE / file}:/tmp/grader/{file}:ro']
    start += ['-v', f'{given}:/tmp/given:ro'] if given else []
    start += ['-v', f'{warm}:/tmp/warm:ro'] if warm else []
    for key, value in ENV.items():
        start += ['-e', f'{key}={value}']
    return [*start, IMAGE, 'python', '/tmp/grader/student.py'], {}, [kind, 'kill', name]
