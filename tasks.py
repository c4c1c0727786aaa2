"""The targets of the Makefile, on every system, and what continuous integration runs.

python tasks.py TARGET [name=30_umax]   what `make TARGET` does; `python tasks.py help` lists them
python tasks.py wheel-tests [--newest] [tests/test_x.py ...]
                                        wheel, empty environment, self-test, tests of the library
python tasks.py release-check TAG       tag, version and wheel agree
python tasks.py build FOLDER            a wheel, whose bytes a second build gives again
python tasks.py sbom FILE               what the wheel needs, by version (CycloneDX)
python tasks.py audit                   known vulnerabilities of what constraints.txt names
python tasks.py pins [--upgrade]        constraints.txt and the hashes in .ci, from pyproject.toml
"""

import ast
import hashlib
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
MOST_BYTES = 1_000_000  # of a wheel
VENV = ROOT / os.environ.get('VENV', '.venv')
EXTRAS = 'dev', 'docs', 'course', 'lab', 'data'  # that constraints.txt serves
TOOLS = 'uv', 'setuptools'  # what installs, and what builds the wheel
COMPILED = 'numpy', 'scipy', 'numba', 'llvmlite'  # never built from their sources


def fail(message: str) -> None:
    raise SystemExit(f'tasks.py: {message}')


def project() -> dict:
    "What pyproject.toml says of the package."
    return tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['project']


def own_version() -> str:
    "The version of the package."
    text = (ROOT / 'extreme_opt/__init__.py').read_text(encoding='utf-8')
    return ast.literal_eval(re.findall('^__version__ = (.+)$', text, flags=re.M)[0])


def scripts_of(folder: Path) -> Path:
    "The folder of a virtual environment that holds its commands."
    return Path(
        sysconfig.get_path('scripts', 'venv', dict(base=str(folder), installed_base=str(folder)))
    )


def python_of(folder: Path) -> Path:
    "The interpreter of a virtual environment."
    return scripts_of(folder) / ('python.exe' if os.name == 'nt' else 'python')


def run(*command: object, **options) -> None:
    words = [str(word) for word in command]
    print('+', shlex.join(words), flush=True)
    if code := subprocess.run(words, **options).returncode:
        fail(f'{Path(words[0]).name} ended with status {code}; its message stands above')


def installer(folder: Path) -> Path:
    "The uv of a virtual environment, which is made where it is missing; pip checks its hash."
    if not python_of(folder).exists():
        venv.create(folder, with_pip=True)
    pip = [python_of(folder), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    run(*pip, '--require-hashes', '--only-binary', ':all:', '-r', ROOT / '.ci/build.txt')
    return scripts_of(folder) / ('uv.exe' if os.name == 'nt' else 'uv')


def install(folder: Path, *what: object, **options) -> None:
    "The files that .ci/hashes.txt names and no others, then what is here."
    pip = [installer(folder), 'pip', 'install', '--quiet', '--python', python_of(folder)]
    binary = [word for name in COMPILED for word in ('--only-binary', name)]
    hashes = ['--require-hashes', '-r', ROOT / '.ci/hashes.txt']
    run(*pip, '--compile-bytecode', *binary, *hashes, **options)
    run(*pip, '--no-deps', '--no-build-isolation', *what, **options)


# What make calls -------------------


def tool(*words: object, **more: str) -> None:
    """Run a command of the environment in the repository, with more variables; one that fails ends
    the target."""
    env = {
        'PYTHONHASHSEED': '0',
        'NBDEV_NO_SYNC': '1',
        **os.environ,
        'PATH': os.pathsep.join([str(scripts_of(VENV)), os.environ['PATH']]),
        'PYTHONUTF8': '1',
        **more,
    }
    env.pop('PYTHONDONTWRITEBYTECODE', None)  # each of some hundred processes would compile again
    env.pop('MAKEFLAGS', None)  # settings of this target are not those of a make within it
    command = [str(word) for word in words]
    print('+', shlex.join(command), flush=True)
    command[0] = shutil.which(command[0], path=env['PATH']) or command[0]
    if code := subprocess.run(command, cwd=ROOT, env=env).returncode:
        raise SystemExit(code)


def given(**settings: str) -> list[str]:
    "Settings as words, without those that are empty."
    return [f'{name}={value}' for name, value in settings.items() if value]


def setup() -> None:
    """make the environment in .venv, each file checked by its hash (done by itself when another
    target needs it)"""
    install(VENV, '-e', ROOT, cwd=ROOT)
    (VENV / '.last_set_up').touch()


def lab() -> None:
    "open the tutorials in JupyterLab"
    tool('jupyter', 'lab', 'nbs/index.ipynb', PYTHONSTARTUP=str(ROOT / 'docs/style.py'))


def sphinx(out: str, *more: str, builder: str = 'html', config: str = 'docs') -> None:
    "Build pages that lie under build/."
    tool('sphinx-build', '-q', '-b', builder, '-c', config, *more, out)


def site(*more: str) -> None:
    (ROOT / 'build/pages').mkdir(parents=True, exist_ok=True)
    sphinx('_docs', '-d', 'build/doctrees', *more, 'build/pages')


def tutorials() -> None:
    "execute every tutorial on its default real data and build the site"
    tool('python', 'docs/notebooks.py', 'run', '--reuse', '--out', 'build/executed')
    site('-D', f'executed={ROOT / "build/executed"}')


def test(workers: str = '2', args: str = '') -> None:
    "run everything that .ci/run runs: notebooks, package, site, browser (workers=2 processes)"
    many = ['-n', workers, '--dist', 'loadscope']
    tool('python', '-m', 'pytest', *many, '-m', 'not slow', *shlex.split(args))


def check(workers: str = '2') -> None:
    """the look before a commit: export, clean, lint, types, then the pages and tests that the
    change concerns"""
    os.environ['EXTREME_OPT_CACHE'] = str(ROOT / 'build/cache')
    tool('python', 'tests/tools/check.py', '--workers', workers)


def export() -> None:
    "write the package from the notebooks"
    tool('python', 'docs/notebooks.py', 'export')


def refresh(name: str = '', workers: str = '2') -> None:
    "execute notebooks in place, say how outputs differ (name=30_umax for one)"
    tool('python', 'docs/notebooks.py', 'refresh', '--workers', workers, *name.split())


def docs(live: str = '') -> None:
    """build the site into _docs; a second time only what has changed (live=1: pages run in the
    browser)"""
    export()
    if live:
        tool('python', 'docs/live/build.py')
    site(*['-D', 'live=1'][: 2 * bool(live)])


def serve(live: str = '') -> None:
    "build the site and serve it on this machine"
    docs(live)
    tool('python', '-m', 'http.server', '--bind', '127.0.0.1', '--directory', '_docs', '8000')


def printed() -> None:
    """write the lessons and guides as EPUB and as LaTeX, and as PDF where latexmk is at hand, into
    _print"""
    docs()
    (ROOT / 'build/printed/pages').mkdir(parents=True, exist_ok=True)
    for builder in ('epub', 'latex'):
        places = ['-d', f'build/printed/{builder}', 'build/printed/pages']
        sphinx(f'_print/{builder}', *places, builder=builder, config='docs/printed')
    shutil.copy(ROOT / '_print/epub/extreme_opt.epub', ROOT / '_print')
    print('_print/extreme_opt.epub')
    if not (shutil.which('latexmk') and shutil.which('xelatex')):
        print(
            'no PDF: xelatex or latexmk is missing (on Debian and Ubuntu: apt-get install latexmk '
            'texlive-xetex texlive-latex-extra texlive-fonts-recommended)'
        )
        return
    options = ['-xelatex', '-interaction=nonstopmode', '-silent', '-cd']
    tool('latexmk', *options, '_print/latex/extreme_opt.tex')
    shutil.copy(ROOT / '_print/latex/extreme_opt.pdf', ROOT / '_print')


def bench(name: str = '', full: str = '') -> None:
    """measure speed, write docs/results: what changed, at most 30 minutes (name=softmax_umax for
    one, full=1 for all)"""
    tool('python', 'bench/run.py', *['--full'][: bool(full)], *name.split())


def ledger(n: str = '10', seed: str = '1') -> None:
    """run the checks of random rows of the equation ledger, each with a mutant (n=10 seed=1)"""
    tool('python', 'docs/ledger.py', 'run', '--n', n, '--seed', seed)


def slow(workers: str = '2', minutes: str = '45') -> None:
    """run slow cells, slow tests, all mutants, long results, within minutes=45; says what it left
    out, goes on when called again"""
    tool('python', 'tests/tools/slow.py', '--workers', workers, '--minutes', minutes)


def course(
    out: str = '',
    seed: str = '',
    roster: str = '',
    name: str = '',
    parts: str = '',
    version: str = '',
) -> None:
    """write problem sets, solutions, rubrics and a class to grade in (out=DIR; seed=7 for other
    numbers, roster=FILE for each student's own)"""
    first = given(out=out, seed=seed, roster=roster)
    last = given(parts=parts, version=version)
    tool('python', 'assignments/make.py', *first, *name.split(), *last)


def book(out: str = '', **more: str) -> None:
    """write what students need, without solutions: site, pages, problem sets, wheel (out=DIR;
    class=DIR for the sets of a class)"""
    docs()
    tool('python', '-m', 'build', '--wheel', '--quiet', '--outdir', 'build/wheel')
    tool('python', 'assignments/handout.py', *given(out=out, **more))


def new(name: str = '') -> None:
    "start a notebook from the template: make new name=learn/ordinal/45_momentum"
    if not name:
        fail('no name is given; say for example: make new name=learn/ordinal/45_momentum')
    tool('python', 'docs/notebooks.py', 'new', name)


def wheel() -> None:
    "build a wheel into dist, twice, and compare: the same bytes"
    tool('python', 'tasks.py', 'build', 'dist')


def clean() -> None:
    """remove what was built, unless a class with submissions or marks is among it (the environment
    stays)"""
    run(sys.executable, 'assignments/make.py', 'check', cwd=ROOT)
    for name in BUILT:
        for path in ROOT.glob(name):
            shutil.rmtree(path)


def show_help() -> None:
    "list the targets"
    for name, function in TARGETS.items():
        print(f'  make {name:<10} {" ".join(inspect.getdoc(function).split())}')


BUILT = (
    *('_docs', '_print', '_proc', 'jupyter_execute', 'build', 'dist', '*.egg-info'),
    *('.pytest_cache', '.ruff_cache', '.mypy_cache', '.hypothesis'),
)
TARGETS = {
    'help': show_help,
    **{one.__name__: one for one in (setup, lab, tutorials, test, check, export, refresh, docs)},
    **{'serve': serve, 'print': printed},
    **{one.__name__: one for one in (bench, ledger, slow, course, book, new, wheel, clean)},
}


def make(target: str, settings: dict[str, str]) -> None:
    "Run a target with the settings that it takes."
    function = TARGETS[target]
    takes = {**inspect.signature(function).parameters}
    if target == 'book':
        takes['class'] = takes.pop('more')
    if strange := sorted(settings.keys() - takes.keys()):
        fail(f'{target} takes {", ".join(takes) or "no setting"}, not {strange[0]}')
    if (
        target not in ('help', 'setup', 'clean')
        and 'MAKELEVEL' not in os.environ  # make has done it
        and not (VENV / '.last_set_up').exists()
    ):
        setup()
    function(**settings)


# What continuous integration calls --


def reproducible() -> dict[str, str]:
    "An environment that builds the same bytes again: times in the wheel are those of the commit."
    said = subprocess.run(
        ['git', 'log', '-1', '--format=%ct'], cwd=ROOT, capture_output=True, text=True
    )
    return {'SOURCE_DATE_EPOCH': said.stdout.strip() or '315532800', **os.environ}


def build(out: Path, uv: object) -> Path:
    "A wheel of this checkout, by tools that are checked by their hashes; small and pure Python."
    for name in ('lib', f'bdist.{sysconfig.get_platform()}'):  # a module that is gone would come in
        shutil.rmtree(ROOT / 'build' / name, ignore_errors=True)
    hashed = ['--require-build-hashes', '--build-constraints', ROOT / '.ci/build.txt']
    python = ['--python', sys.executable]
    run(
        uv,
        'build',
        '--wheel',
        '--quiet',
        *python,
        *hashed,
        '--out-dir',
        out,
        ROOT,
        env=reproducible(),
    )
    (wheel,) = out.glob('*.whl')
    check_wheel(wheel)
    return wheel


def check_wheel(wheel: Path) -> None:
    "End with one line where a wheel is too large, not pure, or holds the index of nbdev."
    size = wheel.stat().st_size
    if size >= MOST_BYTES:
        fail(
            f'{wheel.name} has {size:,} bytes, but less than {MOST_BYTES:,} is allowed; '
            'look for data in it'
        )
    if not wheel.name.endswith('-py3-none-any.whl'):
        fail(f'{wheel.name} is not pure Python; an installation would need a compiler')
    if extra := [
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if name.endswith(('_modidx.py', '_export.py'))
    ]:
        fail(f'{wheel.name} holds {extra[0]}; setup.py should leave it out')
    print(f'{wheel.name}: {size:,} bytes')


def build_twice(out: Path) -> None:
    "A wheel, unless a second build gives other bytes."
    for old in out.glob('*.whl'):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix='extreme_opt-again-') as again:
        uv = shutil.which('uv', path=scripts_of(Path(sys.prefix))) or installer(Path(again, 'venv'))
        wheels = build(out, uv), build(Path(again, 'dist'), uv)
        hashes = [hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels]
    if hashes[0] != hashes[1]:
        fail(f'two builds of {wheels[0].name} differ; look for times and places in it')
    print(f'{wheels[0].name}: sha256 {hashes[0]}, twice')


def pinned() -> dict[str, str]:
    "Name -> version of constraints.txt."
    lines = (ROOT / 'constraints.txt').read_text(encoding='utf-8').splitlines()
    return dict(line.split(';')[0].strip().split('==') for line in lines if '==' in line)


def sbom(out: Path) -> None:
    "What the wheel needs to run, in the versions it was tested with, in CycloneDX's JSON."
    versions = pinned()
    needed = [re.split('[<>=~!]', need)[0] for need in project()['dependencies']]
    needed += 'llvmlite joblib cloudpickle threadpoolctl narwhals'.split()  # what these need

    def part(name: str, version: str) -> dict:
        url = f'pkg:pypi/{name.replace("_", "-")}@{version}'
        return dict(type='library', name=name, version=version, purl=url) | {'bom-ref': url}

    root = part(project()['name'], own_version())
    parts = [part(name, versions[name]) for name in needed]
    content = dict(
        bomFormat='CycloneDX',
        specVersion='1.5',
        version=1,
        metadata=dict(component=root),
        components=parts,
        dependencies=[dict(ref=root['bom-ref'], dependsOn=[one['bom-ref'] for one in parts])],
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(content, indent=1) + '\n', encoding='utf-8')
    print(f'{out}: {len(parts)} components')


def audit() -> None:
    "Ask for known vulnerabilities of every version in constraints.txt."
    with tempfile.TemporaryDirectory(prefix='extreme_opt-audit-') as name:
        venv.create(Path(name) / 'venv', with_pip=True)
        python = python_of(Path(name) / 'venv')
        run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'pip-audit')
        pins = ROOT / 'constraints.txt'
        run(python, '-m', 'pip_audit', '--strict', '--no-deps', '--disable-pip', '-r', pins)


def pins(upgrade: bool) -> None:
    """Write constraints.txt for all systems and versions of Python, .ci/hashes.txt with the hashes
    of all files of each version, and .ci/build.txt with those of uv and what builds the wheel."""
    uv = shutil.which('uv', path=scripts_of(ROOT / '.venv')) or fail('run `make setup` first')
    compiled = [uv, 'pip', 'compile', '--quiet', '--universal', '--no-header', '--no-annotate']
    compiled += ['--python-version', project()['requires-python'].removeprefix('>=')]
    extras = [word for name in EXTRAS for word in ('--extra', name)]
    hashed = ['--no-deps', '--generate-hashes']
    with tempfile.TemporaryDirectory(prefix='extreme_opt-pins-') as name:
        tool, out = Path(name) / 'tools.txt', Path(name) / 'out.txt'
        tool.write_text(''.join(f'{one}\n' for one in TOOLS), encoding='utf-8')
        kept = [] if upgrade else ['-c', 'constraints.txt']
        for file, words in [
            ('constraints.txt', [*extras, *kept, 'pyproject.toml', tool]),
            ('.ci/hashes.txt', [*hashed, 'constraints.txt']),
            ('.ci/build.txt', [*hashed, '-c', 'constraints.txt', tool]),
        ]:
            run(*compiled, *words, '-o', out, cwd=ROOT)
            (ROOT / file).write_bytes(out.read_bytes())
            out.unlink()


def wheel_tests(newest: bool, which: list[str]) -> None:
    "Tests of the library against the installed wheel, in an environment of its own."
    with tempfile.TemporaryDirectory(
        prefix='extreme_opt-wheel-', ignore_cleanup_errors=True
    ) as name:
        home = Path(name)
        wheel = build(home / 'dist', installer(home / 'venv'))
        python = python_of(home / 'venv')
        env = {
            **{
                key: value
                for key, value in os.environ.items()
                if key not in ('PYTHONPATH', 'PYTHONHOME')
            },
            'PYTHONSAFEPATH': '1',
            'PYTHONUTF8': '1',
            'NBDEV_NO_SYNC': '1',
            'MPLBACKEND': 'Agg',
            'PATH': os.pathsep.join([str(scripts_of(home / 'venv')), os.environ['PATH']]),
        }
        if newest:
            pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--upgrade']
            binary = ['--only-binary', ','.join(COMPILED)]
            run(python, *pip, *binary, f'{wheel}[dev,course]', cwd=home, env=env)
        else:
            install(home / 'venv', wheel, cwd=home, env=env)
        run(python, '-m', 'extreme_opt', cwd=home, env=env)
        where = (
            'import extreme_opt as it, sys; assert it.__file__.startswith(sys.prefix), it.__file__'
        )
        run(python, '-c', where, cwd=ROOT, env=env)
        chosen = which or ['tests/library']
        run(python, '-m', 'pytest', '-m', 'not slow', *chosen, cwd=ROOT, env=env)


def release_check(tag: str) -> None:
    "The tag is v plus the version; dist holds one good wheel of that version."
    own = own_version()
    if tag != f'v{own}':
        fail(
            f'the tag is {tag}, but extreme_opt/__init__.py has version {own}; '
            f'tag v{own}, or set the version and tag again'
        )
    if 'dev' in own:
        fail(f'version {own} is a development version and is not released')
    wheels = sorted((ROOT / 'dist').glob('*.whl'))
    if [wheel.name.split('-')[1] for wheel in wheels] != [own]:
        fail(
            f'dist holds {[wheel.name for wheel in wheels]}, not one wheel '
            f'of {own}; run `make clean wheel`'
        )
    check_wheel(wheels[0])


def main(words: list[str]) -> None:
    match words:
        case ['pins', *more] if more in ([], ['--upgrade']):
            pins(bool(more))
        case ['wheel-tests', *more] if all(
            word == '--newest' or word.startswith('tests/') for word in more
        ):
            wheel_tests('--newest' in more, [word for word in more if word != '--newest'])
        case ['release-check', tag]:
            release_check(tag)
        case ['build', folder]:
            build_twice(ROOT / folder)
        case ['sbom', file]:
            sbom(ROOT / file)
        case ['audit']:
            audit()
        case [target, *more] if target in TARGETS and all(re.match(r'\w+=', one) for one in more):
            settings = dict(word.split('=', 1) for word in more)
            make(target, {name: value for name, value in settings.items() if name.islower()})
        case _:
            fail(f'cannot read {words}; there are {", ".join(TARGETS)}\n{__doc__}')


if __name__ == '__main__':
    main(sys.argv[1:])
