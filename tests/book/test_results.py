"""Every number that a page reads says how it came about; what has changed in the code since is a
report that fails nothing."""

import csv
import json
import re
import shutil
import subprocess

import freshness
import pytest


def test_every_result_says_how_it_came_about():
    """Beside each table of rows: command, versions, date, commit and the paths that matter; the
    rows name their versions too."""
    assert len(freshness.names()) > 20
    for name in freshness.names():
        path = freshness.RESULTS / f'{name}.json'
        assert path.exists(), (
            f'docs/results/{name}.csv has no {name}.json beside it; measure again: make bench'
            f' name={name}'
        )
        told = json.loads(path.read_text(encoding='utf-8'))
        assert told['command'].startswith(f'make bench name={name}') and re.search(
            r'numpy \d', told['versions']
        ), name
        assert re.fullmatch(r'20\d\d-\d\d-\d\d', told['date']) and re.fullmatch(
            r'[0-9a-f]{12}(\+changes)?', told['commit']
        ), name
        assert (
            told['machine']
            and told['how']
            and f'bench/{name}.py' in told['paths']
            and len(told['paths']) > 1
        ), name
        with path.with_suffix('.csv').open(encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        assert rows and all(
            'numpy ' in row['versions'] or 'python ' in row['versions'] for row in rows
        ), name


@pytest.fixture
def checkout(tmp_path):
    "A checkout with a script, a helper of its own, two packages and one commit."
    if not shutil.which('git'):
        pytest.skip('needs git')
    texts = {
        'bench/one.py': 'import helper\nimport machine\nfrom extreme_opt.bound import x\n',
        'bench/helper.py': 'y = 1\n',
        'bench/machine.py': '',
        'extreme_opt/bound/a.py': 'x = 1\n',
        'extreme_opt/core/b.py': '',
        'extreme_opt/data/c.py': '',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (
        ['init', '-q'],
        ['add', '.'],
        ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'x'],
    ):
        subprocess.run(['git', *words], cwd=tmp_path, check=True)
    return tmp_path


def test_a_result_is_older_when_a_file_that_matters_differs_from_its_commit(checkout):
    paths = freshness.touched(checkout / 'bench/one.py', checkout)
    assert paths == ['bench/helper.py', 'bench/one.py', 'extreme_opt/bound', 'extreme_opt/core']
    told = dict(commit=freshness.here(paths, checkout), paths=paths, command='make bench name=one')
    assert re.fullmatch('[0-9a-f]{12}', told['commit']) and freshness.changed(told, checkout) == []
    (checkout / 'bench/machine.py').write_text('z = 1\n')
    (checkout / 'extreme_opt/data/c.py').write_text('z = 1\n')
    assert (
        freshness.changed(told, checkout) == []
        and freshness.here(paths, checkout) == told['commit']
    )
    (checkout / 'extreme_opt/bound/a.py').write_text('x = 2\n')
    assert freshness.changed(told, checkout) == ['extreme_opt/bound/a.py']
    assert freshness.here(paths, checkout) == told['commit'] + '+changes'
    said = freshness.line('one', told, freshness.changed(told, checkout))
    assert 'extreme_opt/bound/a.py' in said and 'make bench name=one' in said


def test_without_history_the_report_says_so(checkout, tmp_path_factory):
    "A tarball has no git, a shallow clone lacks the commit: neither is called fresh or old."
    told = dict(commit='0123456789ab', paths=['bench'])
    assert freshness.changed(told, checkout) is None and freshness.changed({}, checkout) is None
    elsewhere = tmp_path_factory.mktemp('tarball')
    assert freshness.changed(told, elsewhere) is None and freshness.here(['bench'], elsewhere) == ''
    assert 'unknown' in freshness.line('one', told, None)


def test_pages_say_that_they_read_results_of_an_earlier_version(monkeypatch):
    monkeypatch.setattr(freshness, 'old', lambda: {'bound_race': ['x']})
    assert 'earlier version' in freshness.note(
        "rows = results('bound_race')"
    ) and '#bound_race' in freshness.note("Path('../../docs/results/bound_race.csv')")
    assert freshness.note("rows = results('bound_step')") == ''
