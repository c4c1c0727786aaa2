"The pages of measurements follow the results: every loss has a reason, nothing is written by hand."

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'docs'), str(ROOT / 'bench')]
import benchmarks  # noqa: E402
import notebooks  # noqa: E402
import run  # noqa: E402

HEAD = 'method,task,peer,threads,seconds,top_1,peak_mb,versions,date\n'


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    "One race over rows of our own."

    def make(rows, races):
        (tmp_path / 'one.csv').write_text(HEAD + ''.join(f'{row},v,2026-01-01\n' for row in rows))
        (tmp_path / 'races.toml').write_text(races)
        monkeypatch.setattr(benchmarks, 'RESULTS', tmp_path)
        monkeypatch.setattr(benchmarks, 'RACES', tmp_path / 'races.toml')
        return benchmarks.lines()

    return make


RACE = (
    '[[race]]\nchapter = "bound"\nscript = "one"\nmethod = "ours"\nours = "method=us"\nrivals ='
    ' "peer=them"\npeer = "peer"\n'
)


def test_every_place_where_a_peer_wins_is_explained():
    assert benchmarks.faults() == []


def test_every_race_finds_its_rows():
    for race in benchmarks.spec()['race']:
        assert (benchmarks.RESULTS / f'{race["script"]}.csv').exists(), race['script']
        assert benchmarks.lines_of(race), f'{race["script"]}: {race["ours"]}'


def test_a_line_for_each_task(monkeypatch, tmp_path):
    """Means over splits; the best of the others, by its mean, with its own seconds; what was not
    tried is said, and twenty lines are enough."""
    rows = [
        ('us(),"a, split {}"', [(2, 0.5, 10), (4, 0.7, 10)]),
        ('them(),"a, split {}"', [(3, 0.9, 20), (3, 0.1, 20)]),
        ('others(),"a, split {}"', [('', 0.55, '')]),
        ('us(),b', [(2, 0.5, 10)]),  # a task without others
    ]
    text = [
        f'{name.format(n)},,1,{seconds},{top_1},{peak},v,2026-01-01\n'
        for name, several in rows
        for n, (seconds, top_1, peak) in enumerate(several)
    ]
    (tmp_path / 'one.csv').write_text(HEAD + ''.join(text))
    monkeypatch.setattr(benchmarks, 'RESULTS', tmp_path)
    told = dict(results=['one'], measure='top_1', ours=r'us\(\)', others='them|others')
    monkeypatch.setattr(benchmarks, 'spec', lambda: dict(task=[told]))
    assert benchmarks.task_table().split('\n')[3:-2] == [
        '| a | top 1 | 0.600, 3 s | not tried | 0.550, others() | not tried | 10 |'
    ]
    told['measure'] = 'test_error'
    text = (tmp_path / 'one.csv').read_text().replace('top_1', 'test_error')
    (tmp_path / 'one.csv').write_text(text)
    assert '| 0.500, them(), 3 s |' in benchmarks.task_table()
    monkeypatch.undo()
    rows = benchmarks.task_table().split('\n')[3:-2]
    assert 15 <= len(rows) <= 40
    assert not [row for row in rows if 'nan' in row or row.count('|') != 8]


def test_the_table_holds_no_measured_number():
    "Explanations quote no ratios: they would not follow a new run."
    for race in benchmarks.spec()['race']:
        for why in race.get('why', []):
            assert not re.search(r'\d\.\d|\d+ times', why['text']), why['text']


def test_ratios_are_those_of_the_results(made_up):
    rows = ['us,t,,1,2,,10', 'x,t,them,1,5,,40', 'x,t,them,2,9,,40']
    lines = made_up([*rows, 'us,u,,1,,,', 'x,u,them,1,3,,'], RACE + 'memory = true\n')
    found = [(line.task, line.time, line.memory) for line in lines]
    assert found == [('t', 2.5, 4.0), ('u', None, None)]
    assert benchmarks.faults(lines) == [] and benchmarks.told(lines[0]) == '2.5'


def test_a_peer_that_wins_needs_a_reason(made_up):
    rows = ['us,t,,1,2,0.5,10', 'x,t,them,1,1,0.6,5']
    (line,) = made_up(rows, RACE + 'memory = true\nmeasure = "top_1"\n')
    assert line.lost() == ['time', 'memory', 'quality'] and line.quality == (0.5, 0.6)
    assert len(benchmarks.faults([line])) == 1
    whys = ''.join(
        f'[[race.why]]\nwhere = "them.*{aspect}"\ntext = "because of {aspect}"\n'
        for aspect in ('time', 'memory', 'quality')
    )
    (line,) = made_up(rows, RACE + 'memory = true\nmeasure = "top_1"\n' + whys)
    assert benchmarks.faults([line]) == [] and line.why('memory') == 'because of memory'
    assert benchmarks.told(line).startswith('**0.5** [why](#')


def test_a_draw_and_a_stopped_peer_are_told_as_such(made_up):
    for seconds, said in (('2.04', '1, a draw'), ('', 'the peer does not get there')):
        (line,) = made_up(['us,t,,1,2,,', f'x,t,them,1,{seconds},,'], RACE)
        assert benchmarks.told(line) == said and not line.lost()


def test_pages_show_every_race_with_its_command():
    pages, found = benchmarks.write_pages(), benchmarks.lines()
    text = pages['index']
    for line in found:
        assert benchmarks.cell(line.peer) in text
    rows = re.findall(r'^\| .* \| \[(\w+)\]\(/benchmarks/runs.qmd#\1\) \|$', text, re.M)
    assert len(rows) == len(found)
    for mark in re.findall(r'\(#(why-[^)]+)\)', text):
        assert text.count(f'{{#{mark}}}') == 1, mark
    for name in re.findall(r'!\[[^]]{40,}\]\(([^)]+)\)', text):
        assert len(pages[name]) < 400_000
    for name in run.scripts():
        assert f'| [{name}]{{#{name}}} | `make bench name={name}' in pages['runs']


def test_each_chapter_lists_how_others_do_its_job():
    "Twelve or more; a line ends in yes, with a script that is there, or in no and the reason."
    page = notebooks.read(notebooks.NBS / 'evidence' / '20_which_method.ipynb')
    text = '\n'.join(notebooks.source(cell) for cell in page['cells'])
    sections = re.findall(r'^### How others do it: (.+)\n+((?:[^#\n].*\n+)+)', text, re.M)
    assert len(sections) == 4
    for name, section in sections:
        rows = [line.strip('| ').split(' | ') for line in section.splitlines() if line[:1] == '|']
        rows = rows[2:]
        assert len(rows) >= 12, name
        for row in rows:
            assert re.match(r'yes\b|no: \w', row[-1]), row
            for script in re.findall(r'`(bench/\w+\.py)`', row[-1]):
                assert (notebooks.ROOT / script).exists(), row


GRIDS = {  # what a setting of a rival was chosen from, by its name in `peer`; zero is no edge
    'RP3beta': ('alpha ([0-9.]+), beta ([0-9.]+)', 'WALKS_GRID'),
    'BPR': ('learning rate ([0-9.e-]+), regularization ([0-9.e-]+)', 'BPR_GRID'),
    'logistic factors': ('learning rate ([0-9.e-]+), regularization ([0-9.e-]+)', 'LOGISTIC_GRID'),
}


def test_settings_that_were_chosen_lie_inside_their_grids():
    "A best value at the edge of its grid says nothing: the next one may be better."
    source = (notebooks.ROOT / 'bench' / 'similarity_neighbors.py').read_text(encoding='utf-8')
    values = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith('_GRID')
    }
    n_rows = 0
    for row in benchmarks.table('similarity_others'):
        if row['method'] in GRIDS:
            pattern, grid = GRIDS[row['method']]
            for chosen, tried in zip(re.match(pattern, row['peer']).groups(), values[grid]):
                n_rows += 1
                assert float(chosen) in tried[1:-1] or float(chosen) == 0, row
    assert n_rows == 12
