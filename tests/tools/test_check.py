"What `make check` chooses for a change."

import json
import subprocess

import check
import pytest
from told import tell

HELPERS = ('tests/', 'assignments/tests/', 'docs/live/tests/')
SOFTMAX = ['tests/library/package/test_floors.py', 'tests/library/package/test_public_names.py']


@pytest.mark.parametrize(
    'files, tests',
    [
        (
            ['extreme_opt/softmax/support.py'],
            [
                *SOFTMAX,
                *(f'tests/library/softmax/test_{one}.py' for one in ('classifier', 'near_classes')),
                'tests/library/softmax/test_support.py',
            ],
        ),
        (['extreme_opt/softmax/plain/umax.py'], ['tests/library/core/test_threads.py', *SOFTMAX]),
        (
            ['extreme_opt/softmax/plain/scoring.py'],
            [*SOFTMAX, 'tests/library/softmax/test_softmax.py'],
        ),
        (['extreme_opt/softmax/__init__.py'], [*SOFTMAX, 'tests/library/softmax']),
        (['nbs/learn/softmax/10_double_sum.ipynb'], []),
        (['CHANGELOG.md'], []),
        (['assignments/grade.py'], ['assignments/tests']),
        (['docs/live/guest.py'], ['docs/live/tests']),
        (['bench/machine.py'], ['tests/tools/test_bench.py']),
        (['tests/book/test_site.py', 'tests/book/built_site.py'], ['tests/book/test_site.py']),
        (['tests/library/bound/test_gone.py'], []),
    ],
)
def test_a_change_runs_the_tests_of_its_room(files, tests):
    assert check.chosen(files) == tests


def test_a_module_of_core_runs_the_tests_that_reach_it():
    "Through other modules too, in all packages."
    asked = check.chosen(['extreme_opt/core/svrg.py'])
    assert {one.split('/')[2] for one in asked} >= {'core', 'ordinal', 'package'}
    assert 'tests/library/softmax/test_rivals.py' not in asked
    assert 'tests/library/softmax/test_rivals.py' in check.chosen(['extreme_opt/core/linalg.py'])


@pytest.mark.parametrize('what, is_prose', [('markdown', True), ('code', False)])
def test_a_sentence_asks_for_no_types(tmp_path, monkeypatch, what, is_prose):
    "Words of a page are cleaned, linted and built; types are checked where code has changed."
    page = tmp_path / 'nbs/learn/one.ipynb'
    page.parent.mkdir(parents=True)
    cells = [dict(cell_type=kind, source=[f'{kind}\n']) for kind in ('markdown', 'code')]
    page.write_text(json.dumps(dict(cells=cells)), encoding='utf-8')
    git = ['git', '-C', str(tmp_path), '-c', 'user.name=x', '-c', 'user.email=x@y']
    for words in (['init', '-q'], ['add', '.'], ['commit', '-q', '-m', 'one']):
        subprocess.run([*git, *words], check=True)
    next(cell for cell in cells if cell['cell_type'] == what)['source'].append('and more')
    page.write_text(json.dumps(dict(cells=cells)), encoding='utf-8')
    monkeypatch.setattr(check, 'ROOT', tmp_path)
    files = check.changed_files('HEAD')
    assert files == ['nbs/learn/one.ipynb'] and check.is_prose(files[0], 'HEAD') == is_prose
    wanted = check.commands(files, 'HEAD', 2)
    assert any('sphinx' in words for words in wanted)
    assert (['mypy'] in wanted) == (not is_prose)


def test_every_file_of_a_room_has_tests():
    "A folder that is added has to say who looks at it; prose and data are what is left."
    done = tell('git', 'ls-files', '*.py', cwd=check.ROOT)
    if done.returncode:
        pytest.skip('no git checkout here')
    lost = [
        path
        for path in done.stdout.splitlines()
        if not path.startswith(HELPERS) and not check.chosen([path])
    ]
    assert lost == []


def test_no_test_lies_outside_of_the_folders():
    "Folders of tests are a room's: pytest and `make check` find all that is there."
    found = tell('git', 'ls-files', '**/test_*.py', 'test_*.py', cwd=check.ROOT).stdout.splitlines()
    homes = *(f'tests/{one}/' for one in ('library', 'book', 'tools')), *HELPERS[1:]
    assert [path for path in found if not path.startswith(homes)] == []
    assert [path for path in found if path.startswith('tests/library/test_')] == []
