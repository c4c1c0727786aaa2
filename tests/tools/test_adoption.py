"What lets others adopt the repository: workflows, other systems, the wheel, the self-test."

import ast
import importlib.metadata
import inspect
import json
import os
import re
import shlex
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from told import tell

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
import tasks  # noqa: E402

yaml = pytest.importorskip('yaml', reason='needs the dev extra')
WORKFLOWS = sorted((ROOT / '.github/workflows').glob('*.yml'))
ON_EVERY_SYSTEM = [
    ROOT / 'setup.py',
    ROOT / 'tasks.py',
    *sorted((ROOT / 'extreme_opt').rglob('*.py')),
]
CHECK = 'from check_jsonschema import main; main()'
POSIX_ONLY = {'fcntl', 'grp', 'pwd', 'resource', 'termios', 'posix'}
OF_POSIX = 'rename fork getuid kill uname getloadavg'.split()


def steps():
    "Workflow, job and step of everything that a workflow does."
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding='utf-8'))['jobs'].items():
            for step in job['steps']:
                yield path.stem, name, step


# Workflows --------------------------


def test_workflows_follow_the_schema():
    "The four workflows are valid, and each job has a time limit."
    pytest.importorskip('check_jsonschema', reason='needs the dev extra')
    assert [path.stem for path in WORKFLOWS] == ['newest', 'release', 'site', 'tests']
    for schema in ('vendor.github-workflows', 'custom.github-workflows-require-timeout'):
        done = tell(sys.executable, '-c', CHECK, '--builtin-schema', schema, *map(str, WORKFLOWS))
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_step_also_runs_outside_of_a_workflow():
    "A step uses an action, or is one make target, tasks.py, or .ci/run."
    targets, n_commands = tasks.TARGETS, 0
    commands = {*targets, *re.findall(r'^python tasks.py ([\w-]+)', tasks.__doc__, re.M)}
    for workflow, job, step in steps():
        if 'run' not in step:
            assert re.fullmatch(r'[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}', step['uses']), step
            continue
        n_commands += 1
        words = step['run'].split()
        known = {
            'make': lambda words: words[1] in targets,
            'bash': lambda words: (ROOT / words[1]).is_file(),
            'sudo': lambda words: words[1] == 'apt-get',
            'cp': lambda words: words[-1] == '_docs',
            'python': lambda words: words[1] == 'tasks.py' and words[2] in commands,
        }
        assert '\n' not in step['run'].strip() and words[0] in known and known[words[0]](words), (
            f'{workflow}, {job}: {step["run"]}'
        )
    assert n_commands >= 6


def test_reliability_actions_say_which_version_their_commit_is():
    "A tag can be moved, a commit cannot; one commit for each action, with its version behind it."
    seen = {}
    for path in WORKFLOWS:
        for line in path.read_text(encoding='utf-8').splitlines():
            if 'uses:' in line:
                found = re.fullmatch(r' +- (?:id: \w+ )?uses: (\S+)@(\w{40}) # (v[\d.]+)', line)
                found = found or re.fullmatch(r' +uses: (\S+)@(\w{40}) # (v[\d.]+)', line)
                assert found, line
                assert seen.setdefault(found[1], found.groups()[1:]) == found.groups()[1:], line
    assert len(seen) == 8


def test_reliability_the_ci_asks_before_it_installs_system_packages():
    text = (ROOT / '.ci/run').read_text(encoding='utf-8')
    assert text.count('apt-get install') == 1
    asked = text[: text.index('apt-get install')].rpartition('\n  if ')[2].partition('; then')[0]
    thrown_away = '[ -n "${CI:-}" ] || { [ "$(id -u)" = 0 ] && [ ! -t 1 ]; }'
    assert asked == f'{{ {thrown_away}; }} && command -v apt-get >/dev/null 2>&1'


def hashes_of(file):
    "Pin -> its hashes, of a file that pip and uv read."
    text = (ROOT / file).read_text(encoding='utf-8').replace('\\\n', ' ')
    found = [re.split(r' +--hash=sha256:', line.strip()) for line in text.splitlines()]
    assert all(re.fullmatch('[0-9a-f]{64}', one) for _, *hashes in found for one in hashes)
    return {pin: hashes for pin, *hashes in found}


def needs_of(name, extra='', seen=()):
    "What a package needs here, by name, with what those need."
    from packaging.requirements import Requirement

    found = set()
    for line in importlib.metadata.requires(name) or ():
        need = Requirement(line)
        if need.marker is None or need.marker.evaluate(dict(extra=extra)):
            own = {re.sub('[._]', '-', need.name.lower())} - {*seen, *found}
            found |= own
            for one in own:
                for asked in need.extras or ['']:
                    found |= needs_of(one, asked, {*seen, *found})
    return found


def test_reliability_what_is_installed_is_known_by_its_hash():
    "Hashes of the files of all systems for each pin, and a pin for all that is needed."
    lines = (ROOT / 'constraints.txt').read_text(encoding='utf-8').splitlines()
    everything, tools = hashes_of('.ci/hashes.txt'), hashes_of('.ci/build.txt')
    assert list(everything) == lines and all(everything.values()) and len(everything) > 150
    assert list(tools) == [f'{name}=={tasks.pinned()[name]}' for name in sorted(tasks.TOOLS)]
    assert all(everything[pin] == hashes for pin, hashes in tools.items())
    of_all_systems = [len(everything[pin]) for pin in lines if pin.startswith('numpy==')]
    assert min(of_all_systems) > 20
    assert inspect.getsource(tasks.installer).count("'--require-hashes'") == 1
    assert inspect.getsource(tasks.install).count("'--require-hashes'") == 1
    assert inspect.getsource(tasks.build).count("'--require-build-hashes'") == 1
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    assert 'pip install' not in makefile and '$(PYTHON) tasks.py setup\n' in makefile


def test_reliability_all_that_is_needed_has_a_pin():
    "A package without one would be refused by hash, so an environment would lack it."
    pytest.importorskip('packaging')
    needed = set()
    for extra in tasks.EXTRAS:
        needed |= needs_of('extreme_opt', extra)
    assert needed - {name.lower() for name in tasks.pinned()} == {'extreme-opt'}


def test_reliability_the_sbom_names_all_that_the_wheel_needs(tmp_path):
    versions = tasks.pinned()
    assert int(tasks.reproducible()['SOURCE_DATE_EPOCH']) >= 315532800
    tasks.sbom(tmp_path / 'sbom.json')
    content = json.loads((tmp_path / 'sbom.json').read_text(encoding='utf-8'))
    assert content['bomFormat'] == 'CycloneDX'
    found = {one['name']: one['version'] for one in content['components']}
    assert set(found) == needs_of('extreme_opt')
    assert all(versions[name] == found[name] for name in found)


def test_workflows_test_every_python_that_is_promised():
    "The matrix of the tests is the list of versions in pyproject.toml, on three systems."
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['project']
    promised = [
        line.rsplit(' ', 1)[1] for line in project['classifiers'] if re.search(r':: 3\.\d+$', line)
    ]
    least = project['requires-python'].removeprefix('>=')
    matrix = yaml.safe_load((ROOT / '.github/workflows/tests.yml').read_text(encoding='utf-8'))[
        'jobs'
    ]['wheel']['strategy']['matrix']
    assert matrix['python'] == promised and promised[0] == least
    assert {name.partition('-')[0] for name in matrix['os']} == {'ubuntu', 'macos', 'windows'}


# Tasks without make -----------------


def test_make_calls_the_tasks(tmp_path):
    "Each target of make is a function in tasks.py, which gets the settings that make was given."
    text = (ROOT / 'Makefile').read_text(encoding='utf-8')
    named = re.findall(r'^TARGETS := (.+)$', text, re.M)[0].split()
    assert sorted([*named, 'help', 'setup', 'clean']) == sorted(tasks.TARGETS)
    # A test that make itself started would inherit its flags: `w` prints two lines of its own.
    plain = {key: value for key, value in os.environ.items() if not key.startswith('MAKE')}
    plain.pop('MFLAGS', None)
    done = tell('make', '-n', 'test', 'READY=', 'workers=3', 'args=-k "it\'s a or b"', env=plain)
    if done.returncode == 127:
        pytest.skip('no make here')
    words = shlex.split(done.stdout)
    assert words[:3] == ['python', 'tasks.py', 'test']
    assert sorted(words[3:]) == ['READY=', 'args=-k "it\'s a or b"', 'workers=3']


@pytest.mark.parametrize(
    'words, want',
    [
        (['refresh'], ['refresh', '--workers', '2']),
        (['refresh', 'name=30_umax', 'READY='], ['refresh', '--workers', '2', '30_umax']),
        (['ledger', 'seed=7'], ['run', '--n', '10', '--seed', '7']),
        (['bench', 'full=1', 'name=scale'], ['--full', 'scale']),
        (['course', 'seed=7', 'name=ps1_softmax'], ['seed=7', 'ps1_softmax']),
        (
            ['test', 'args=-k "a or b"'],
            ['-n', '2', '--dist', 'loadscope', '-m', 'not slow', '-k', 'a or b'],
        ),
    ],
)
def test_settings_of_a_target_reach_its_command(words, want, monkeypatch):
    ran = []
    monkeypatch.setattr(tasks, 'tool', lambda *command: ran.append(list(command)))
    monkeypatch.setenv('MAKELEVEL', '1')
    tasks.main(words)
    assert len(ran) == 1 and ran[0][-len(want) :] == want


@pytest.mark.parametrize(
    'words',
    [
        ['nothing'],
        [],
        ['wheel-tests', '--old'],
        ['release-check'],
        ['release-check', 'v0.0.0.0'],
        ['new'],
        ['check', 'notebook'],
        ['check', 'name=30_umax'],
    ],
)
def test_wrong_tasks_end_with_a_line(words, monkeypatch):
    monkeypatch.setenv('MAKELEVEL', '1')  # the environment is not made where it is missing
    with pytest.raises(SystemExit, match='^tasks.py: '):
        tasks.main(words)


# Other systems ----------------------


def is_text_file(call):
    "Whether a call opens a text file and leaves the encoding to the system."
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, 'id', '')
    if name in ('read_text', 'write_text'):
        return not any(word.arg == 'encoding' for word in call.keywords)
    if (
        name != 'open'
        or isinstance(function, ast.Attribute)
        and getattr(function.value, 'id', '')
        in ('os', 'pack', 'Pillow', 'Image', 'tarfile', 'zipfile', 'fsspec', 'webbrowser')
    ):
        return False
    if (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Call)
        and getattr(function.value.func, 'attr', '') == 'open'
    ):
        return False  # opens what another library has described
    place = 1 if isinstance(function, ast.Name) else 0
    modes = (
        [call.args[place]]
        if len(call.args) > place
        else [word.value for word in call.keywords if word.arg == 'mode']
    )
    told = [mode.value if isinstance(mode, ast.Constant) else 'b' for mode in modes]
    binary = any('b' in str(mode) for mode in told)
    return not binary and not any(word.arg in ('encoding', None) for word in call.keywords)


def unportable(text):
    "Lines that would fail, or give another result, on Windows or macOS."
    tree = ast.parse(text)
    for node in tree.body:
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in POSIX_ONLY.intersection(names):
            yield f'line {node.lineno}: imports {name}, which Windows lacks'
    for node in ast.walk(tree):
        match node:
            case ast.Call() if is_text_file(node):
                yield f'line {node.lineno}: a text file without encoding='
            case ast.Attribute(value=ast.Name(id='os'), attr=name) if name in OF_POSIX:
                yield f'line {node.lineno}: os.{name}'
            case ast.Constant(value=str(text)) if re.match(r'/tmp(/|$)', text):
                yield f'line {node.lineno}: a path in /tmp'


@pytest.mark.parametrize(
    'path', ON_EVERY_SYSTEM, ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_package_is_portable(path):
    assert list(unportable(path.read_text(encoding='utf-8'))) == []


def test_names_of_files_fit_every_system():
    "No two names differ by case alone; none is too long or forbidden on Windows."
    done = tell('git', 'ls-files', '-z')
    if done.returncode:
        pytest.skip('no git checkout here')
    names = [name for name in done.stdout.split('\0') if name]
    assert len(names) > 100 and len({name.lower() for name in names}) == len(names)
    forbidden = re.compile(
        r'[<>:"\\|?*\x00-\x1f]|[. ](/|$)|(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.|/|$)', re.I
    )
    assert [name for name in names if forbidden.search(name) or len(name) > 140] == []


def test_line_endings_are_the_same_everywhere():
    "Hashes of pages and comparisons of exported code rest on bytes."
    rules = (ROOT / '.gitattributes').read_text(encoding='utf-8').splitlines()
    assert '* text=auto eol=lf' in rules


# Wheel and self-test ----------------


@pytest.mark.parametrize(
    'name, n_bytes, inside, word',
    [
        ('a-1-py3-none-any.whl', 2_000_000, 'a.py', 'bytes'),
        ('a-1-cp312-cp312-win_amd64.whl', 10, 'a.py', 'pure'),
        ('a-1-py3-none-any.whl', 10, 'a/_modidx.py', '_modidx'),
    ],
)
def test_a_bad_wheel_is_refused(tmp_path, name, n_bytes, inside, word):
    with zipfile.ZipFile(tmp_path / name, 'w') as pack:
        pack.writestr(inside, os.urandom(n_bytes))
    with pytest.raises(SystemExit, match=word):
        tasks.check_wheel(tmp_path / name)


def self_test(*words, **env):
    return tell(sys.executable, '-m', 'extreme_opt', *words, env={**os.environ, **env})


def test_self_test_passes_and_names_places(tmp_path):
    "`python -m extreme_opt` prints versions and places and fits every estimator."
    done = self_test(EXTREME_OPT_CACHE=str(tmp_path / 'here'))
    assert done.returncode == 0, done.stdout + done.stderr
    words = 'extreme_opt python numba softmax similarity ordinal bound'.split()
    for word in (*words, 'compiled kernels', str(tmp_path / 'here'), 'all as expected'):
        assert word in done.stdout
    assert done.stdout.count(' ok ') == 4


def test_self_test_notices_a_wrong_result(monkeypatch, capsys):
    "A poor result and an error both give the status of failure."
    from extreme_opt import __main__ as program

    monkeypatch.setitem(program.FITS, 'softmax', lambda: ('accuracy', 0.4, 0.95))
    assert program.main(['softmax']) == 1 and 'FAILED  accuracy 0.40' in capsys.readouterr().out
    monkeypatch.setitem(program.FITS, 'softmax', lambda: 1 / 0)
    assert program.main(['softmax']) == 1 and 'ZeroDivisionError' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        program.main(['svm'])
    assert "'svm' is no estimator to try" in capsys.readouterr().err
    njit = pytest.importorskip('numba').njit
    assert (
        njit(lambda x: x + 1)(1) == 2 and capsys.readouterr().out == ''
    )  # others compile in silence


# Addresses --------------------------


def test_addresses_are_empty_until_there_are_some(tmp_path):
    "Without a final slash; the site shows links to the repository where there is one."
    sys.path.insert(0, str(ROOT / 'docs'))
    import addresses

    settings = tmp_path / 'settings.toml'
    settings.write_text('[project]\n', encoding='utf-8')
    assert addresses.of(settings) == ('', '')
    urls = (
        'Repository = "https://github.com/someone/extreme_opt/"\nDocumentation = "https://a.org/"'
    )
    settings.write_text(f'[project.urls]\n{urls}\n', encoding='utf-8')
    assert addresses.of(settings) == ('https://github.com/someone/extreme_opt', 'https://a.org')
