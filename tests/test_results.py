"Every number that a page reads says how it came about, and whether the code has changed since."
import csv
import json
import re
import tomllib

import freshness
import pytest

NAMES = freshness.names()


@pytest.fixture(scope='module')
def changed(): return freshness.changed()


@pytest.mark.parametrize('name', NAMES)
def test_every_result_says_how_it_came_about(name):
    "Beside each table of rows: the command, versions, date and code; the rows name their versions too."
    path = freshness.RESULTS/f'{name}.json'
    assert path.exists(), f'docs/results/{name}.csv has no {name}.json beside it; measure again: make bench name={name}'
    told = json.loads(path.read_text(encoding='utf-8'))
    assert told['command'].startswith(f'make bench name={name}') and re.search(r'numpy \d', told['versions']) and re.fullmatch(r'20\d\d-\d\d-\d\d', told['date'])
    assert re.fullmatch('[0-9a-f]{16}', told['fingerprint']) and name in told['code']
    with path.with_suffix('.csv').open(encoding='utf-8') as file: rows = list(csv.DictReader(file))
    assert rows and all('numpy ' in row['versions'] or 'python ' in row['versions'] for row in rows)


def test_results_are_those_of_the_code_or_say_that_they_are_not(changed):
    "An old result is measured again or named as one of an earlier version; a fresh one is not named."
    assert freshness.faults(changed, freshness.earlier()) == []


def test_an_old_result_is_told_with_the_line_that_mends_it():
    (line,) = freshness.faults({'bound_race': ['extreme_opt.bound.memory.quasi_times'], 'core_tools': []}, {})
    assert 'quasi_times' in line and 'make bench name=bound_race' in line
    assert freshness.faults({'bound_race': ['x']}, {'bound_race': 'why'}) == []
    (line,) = freshness.faults({'bound_race': []}, {'bound_race': 'why'})
    assert 'take the line out' in line
    assert len(freshness.faults({}, {'gone': 'why'})) == 1


def test_old_results_are_noted_with_what_changed():
    "Reasons given by hand stay, those of results that were measured again go."
    found = {'a': ['extreme_opt.core.run.minimize', 'a'], 'b': [], 'c': ['x']}
    text = freshness.noted(found, {'b': 'gone now', 'c': 'a reason by hand'})
    assert tomllib.loads(text) == {'a': 'measured before these changed: minimize, a', 'c': 'a reason by hand'}
    assert freshness.faults(found, tomllib.loads(text)) == []


def test_pages_say_that_they_read_results_of_an_earlier_version(monkeypatch):
    monkeypatch.setattr(freshness, 'earlier', lambda: {'bound_race': 'why'})
    assert 'earlier version' in freshness.note("rows = results('bound_race')") and '#bound_race' in freshness.note("Path('../../docs/results/bound_race.csv')")
    assert freshness.note("rows = results('bound_step')") == ''


def test_the_reasons_are_sentences():
    for name, why in freshness.earlier().items(): assert len(why.split()) >= 4, f'{name}: say why this result still stands'
