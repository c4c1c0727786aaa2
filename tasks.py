"""What continuous integration runs, and the targets of the Makefile where there is no make.

python tasks.py setup [FOLDER]          environment in .venv, each file checked by its hash
python tasks.py TARGET [name=30_umax]   the recipe of a Makefile target: lab, check, test, ...
python tasks.py wheel-tests [--newest] [tests/test_x.py ...]
                                        wheel, empty environment, self-test, tests of the library
python tasks.py release-check TAG       tag, version and wheel agree
python tasks.py build FOLDER            a wheel, whose bytes a second build gives again
python tasks.py sbom FILE               what the wheel needs, by version (CycloneDX)
python tasks.py audit                   known vulnerabilities of what constraints.txt names
python tasks.py pins [--upgrade]        constraints.txt and the hashes in .ci, from settings.ini
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent
MOST_BYTES = 1_000_000  # of a wheel
EXTRAS = 'dev', 'docs', 'course', 'lab', 'data'  # that constraints.txt serves
TOOLS = 'uv', 'setuptools'  # what installs, and what builds the wheel
COMPILED = 'numpy', 'scipy', 'numba', 'llvmlite'  # never built from their sources
CALL = re.compile(r'\$\((?:(or|if) )?((?:[^()]|\([^()]*\))*)\)')


def fail(message: str) -> None:
    raise SystemExit(f'tasks.py: {message}')


def settings() -> dict[str, str]:
    "The values in settings.ini."
    parser = ConfigParser(delimiters=['='], interpolation=None)
    parser.read(ROOT / 'settings.ini', encoding='utf-8')
    return dict(parser['DEFAULT'])


def scripts_of(folder: Path) -> Path:
    "The folder of a virtual environment that holds its commands."
    return Path(
        sysconfig.get_path('scripts', 'venv', dict(base=str(folder), installed_base=str(folder)))
    )


def python_of(folder: Path) -> Path:
    "The interpreter of a virtual environment."
    return scripts_of(folder) / ('python.exe' if os.name == 'nt' else 'python')


def recipes() -> dict[str, list[str]]:
    """Lines of the recipe of each target in the Makefile, those of targets it needs first, without
    the leading @."""
    found: dict[str, list[str]] = {}
    target = None
    for line in (ROOT / 'Makefile').read_text(encoding='utf-8').replace('\\\n', ' ').splitlines():
        named = re.match(r'([a-z][\w-]*):(?!=)([^#]*)', line)
        if named:
            target = named[1]
            found[target] = [one for need in named[2].split() for one in found.get(need, ())]
        elif line.startswith('\t') and target:
            found[target].append(line.strip().removeprefix('@'))
        elif line.strip():
            target = None
    return found


def expand(line: str, given: dict[str, str]) -> str:
    "A recipe line with $(name), $(or $(n),10) and $(if $(full),--full) filled in."

    def value(match):
        function, inside = match[1], match[2]
        if function is None:
            return {'CURDIR': str(ROOT), 'workers': '2', **given}.get(inside, '')
        first, _, second = inside.partition(',')
        first = expand(first, given)
        if function == 'or':
            return first or expand(second, given)
        return expand(second, given) if first else ''

    return CALL.sub(value, line)


def command_of(line: str, given: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    "Variables and words of a recipe line that is one plain command."
    if re.search(r'[|;&<>`]|\$\$', re.sub(r"'[^']*'|\"[^\"]*\"", '', line)):
        fail(f'this line of the Makefile needs a shell: {line}; run it with make')
    words, own = shlex.split(expand(line, given)), {}
    while words and re.fullmatch(r'[A-Z_]+=.*', words[0]):
        name, _, text = words.pop(0).partition('=')
        own[name] = text
    return own, words


def commands_of(lines: list[str], given: dict[str, str]) -> list[tuple[dict[str, str], list[str]]]:
    "The commands of a recipe, without lines that are empty with these settings."
    commands = [command_of(line, given) for line in lines]
    return [(own, words) for own, words in commands if words]


def make(target: str, given: dict[str, str]) -> int:
    "Run the recipe of a Makefile target in .venv; the first command that fails ends it."
    known = recipes()
    if target not in known:
        fail(f'{target!r} is no target of the Makefile; it has {", ".join(sorted(known))}')
    commands = commands_of(known[target], given)
    folder = ROOT / '.venv'
    if not (folder / '.last_set_up').exists():
        setup(folder)
    env = {
        **os.environ,
        'PATH': os.pathsep.join([str(scripts_of(folder)), os.environ['PATH']]),
        'NBDEV_NO_SYNC': '1',
        'PYTHONUTF8': '1',
    }
    for own, words in commands:
        print('+', shlex.join(words), flush=True)
        if words[0] == 'python':
            words[0] = str(python_of(folder))
        elif (scripts_of(folder) / f'{words[0]}.exe').exists():
            words[0] = str(scripts_of(folder) / f'{words[0]}.exe')
        code = subprocess.run(words, cwd=ROOT, env={**env, **own}).returncode
        if code:
            return code
    return 0


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


def setup(folder: Path) -> None:
    "What `make setup` does: all that constraints.txt names, and this checkout."
    install(folder, '-e', ROOT, cwd=ROOT)
    (folder / '.last_set_up').touch()


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
    if extra := [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith('_modidx.py')]:
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
    own, versions = settings(), pinned()
    needed = [re.split('[<>=~!]', need)[0] for need in own['requirements'].split()]
    needed += 'llvmlite joblib cloudpickle threadpoolctl narwhals'.split()  # what these need

    def part(name: str, version: str) -> dict:
        url = f'pkg:pypi/{name.replace("_", "-")}@{version}'
        return dict(type='library', name=name, version=version, purl=url) | {'bom-ref': url}

    root = part(own['lib_name'], own['version'])
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
    compiled += ['--python-version', settings()['min_python']]
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
    version = settings()['version']
    if tag != f'v{version}':
        fail(
            f'the tag is {tag}, but settings.ini has version = {version}; '
            f'tag v{version}, or set the version and tag again'
        )
    if 'dev' in version:
        fail(f'version {version} is a development version and is not released')
    wheels = sorted((ROOT / 'dist').glob('*.whl'))
    if [wheel.name.split('-')[1] for wheel in wheels] != [version]:
        fail(
            f'dist holds {[wheel.name for wheel in wheels]}, not one wheel '
            f'of {version}; run `make clean wheel`'
        )
    check_wheel(wheels[0])


def main(words: list[str]) -> int:
    match words:
        case ['setup', *folder] if len(folder) < 2:
            setup(ROOT.joinpath(*(folder or ['.venv'])))
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
        case [target, *more] if all(
            re.match(r'\w+=', word) for word in more
        ) and not target.startswith('-'):
            return make(target, dict(word.split('=', 1) for word in more))
        case _:
            fail(f'cannot read {words}\n{__doc__}')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
