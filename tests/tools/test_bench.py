"The measuring harness: scripts, what counts as fresh, rivals, timing, memory."

import csv
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from told import tell

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = '''"A question."

import machine


def job(n):
    return dict(total=sum(range(n)))


def main() -> list[dict]:
    timing = machine.race({'one': lambda: sum(range(2000))})['one']
    return [machine.row('one', 'adding', timing, total=3)]


def adding_again() -> list[dict]:
    return [machine.row('two', 'adding', '0.5', peer='x', threads=2, peak_mb='')]
'''


@pytest.fixture
def bench(monkeypatch):
    "The modules of bench/, and nothing of them left behind."
    monkeypatch.syspath_prepend(str(ROOT / 'bench'))
    import machine
    import run

    yield run, machine
    for name in ('run', 'machine', 'memory'):
        sys.modules.pop(name, None)


@pytest.fixture
def small(bench, monkeypatch, tmp_path):
    "A folder with one script, and a place for its results."
    run, machine = bench
    folder = tmp_path / 'bench'
    folder.mkdir()
    (folder / 'adding.py').write_text(SCRIPT)
    places = dict(HERE=folder, ROOT=tmp_path)
    for name, value in (places | {one: tmp_path / one for one in ('RESULTS', 'PEERS')}).items():
        monkeypatch.setattr(run, name, value)
    return run, machine, folder / 'adding.py'


def test_a_script_leaves_rows_and_how_they_came_about(small):
    run, machine, path = small
    run.alone('adding')
    (row,) = csv.DictReader((run.RESULTS / 'adding.csv').open())
    assert list(row) == [*run.COLUMNS[:5], 'total', *run.COLUMNS[5:], *run.OPTIONAL]
    assert float(row['seconds']) > 0 and float(row['peak_mb']) > 10
    assert row['how'] == 'median of 5, warmed up, turn by turn, 1 thread'
    told = json.loads((run.RESULTS / 'adding.json').read_text())
    assert told['command'] == 'make bench name=adding' and told['machine'] == machine.cpu()
    assert 'process of its own' in told['how']
    assert told['commit'] == '' and told['paths'] == ['bench/adding.py']  # no git here
    assert not run.is_fresh('adding')


def test_a_script_may_measure_several_results(small):
    "A function named after the chapter is a result of its own; empty cells of a row are filled in."
    run, machine, path = small
    assert list(run.scripts()) == ['adding', 'adding_again']
    run.alone('adding_again')
    (row,) = csv.DictReader((run.RESULTS / 'adding_again.csv').open())
    assert list(row.values())[:6] == ['two', 'adding', 'x', '2', '0.5', '']
    assert len(row) == 8
    assert row['versions'] == machine.versions() and row['date'] == machine.today()
    assert 'name=adding_again' in (run.RESULTS / 'adding_again.json').read_text()
    for said, names in (('True', 2), ("('adding_again',)", 1), ('()', 0)):
        path.write_text(f'LONG = {said}\n{SCRIPT}')
        assert sum(run.is_long(name, path) for name in run.scripts()) == names


def test_a_cell_holds_one_number_under_its_name(small):
    run, _, _ = small
    whole = dict.fromkeys(run.COLUMNS, '')
    for more in (dict(quality='loss 0.3 after 5'), dict(top_1='0.3,0.4'), {'top-1': 0.3}):
        with pytest.raises(ValueError, match='a column of its own'):
            run.write([whole | more], run.RESULTS / 'one.csv')
    with pytest.raises(ValueError, match="lacks ..threads"):
        run.write([{name: '' for name in run.COLUMNS if name != 'threads'}], run.RESULTS / 'x.csv')
    assert not (run.RESULTS / 'one.csv').exists()


def test_a_result_is_fresh_for_its_commit_machine_and_length(small, monkeypatch):
    run, machine, path = small
    run.alone('adding')
    monkeypatch.setattr(run.freshness, 'changed', lambda told, root: [])
    fresh = run.is_fresh('adding'), run.is_fresh('adding', full=True), run.is_fresh('none')
    assert fresh == (True, False, False)
    monkeypatch.setattr(machine, 'cpu', lambda: 'another')
    assert not run.is_fresh('adding')


def test_every_script_asks_for_rivals_only_where_it_names_them(bench, monkeypatch):
    run, machine = bench
    asked = []
    monkeypatch.setattr(run, 'peers', lambda name: asked.append(name) or f'/{name}')
    for name in ('EXTREME_OPT_PEERS', 'EXTREME_OPT_PEERS_CBLEARN'):
        monkeypatch.delenv(name, raising=False)
    env = run.environment(ROOT / 'bench/ordinal_race.py', False)
    assert 'cblearn' in asked and env['EXTREME_OPT_PEERS_CBLEARN'] == '/cblearn'
    for name in ('similarity_als', 'similarity_reproduce', 'softmax_crossing'):
        asked.clear()
        env = run.environment(ROOT / f'bench/{name}.py', False)
        assert asked == ['main'] and env['EXTREME_OPT_PEERS'] == '/main'
    asked.clear()
    env = run.environment(ROOT / 'bench/bound_rank_one.py', True)
    assert not asked and env['EXTREME_OPT_FULL'] == '1'
    assert env['NUMBA_NUM_THREADS'] == env['OPENBLAS_NUM_THREADS'] == '1'
    monkeypatch.setenv('EXTREME_OPT_PEERS', '/mine')
    env = run.environment(ROOT / 'bench/similarity_gradient.py', False)
    assert env['EXTREME_OPT_PEERS'] == machine.peer_python() == '/mine'


def test_jobs_take_turns_in_both_directions(bench):
    _, machine = bench
    order = []
    machine.alternate(
        {name: lambda name=name: order.append(name) for name in 'ab'}, rounds=3, warm=1
    )
    assert ''.join(order) == 'ab' + 'ab' + 'ba' + 'ab'


def test_a_long_job_runs_once(bench, monkeypatch):
    _, machine = bench
    now, runs = [0.0], []
    monkeypatch.setattr(machine, 'time', SimpleNamespace(perf_counter=lambda: now[0]))

    def job(seconds):
        runs.append(seconds)
        now[0] += seconds

    found = machine.race({'long': lambda: job(2.0), 'short': lambda: job(0.5)}, long=1.0)
    assert (
        runs.count(2.0) == 2
        and found['long'].seconds == [2.0]
        and found['short'].seconds == [0.5] * 5
    )


def test_spread_is_half_the_distance_of_the_quartiles(bench):
    _, machine = bench
    timing = machine.Timing([1.0, 2.0, 3.0, 4.0, 5.0])
    assert timing.median == 3 and np.isclose(timing.spread, 1 / 3)
    assert machine.Timing([7.0]).spread == 0


def test_peak_memory_is_that_of_the_process_itself(bench, tmp_path):
    "A child does not inherit the peak of a large parent."
    _, machine = bench
    (tmp_path / 'one.py').write_text(
        SCRIPT
        + '\ndef env():\n    import os\n    return dict(threads=os.environ["OMP_NUM_THREADS"])\n'
        'def large():\n    return dict(n=len(bytearray(10**8).replace(b"\\0", b"\\1")))\n'
    )
    parent = np.ones(60_000_000)
    assert machine.peak_mb() > 450
    small = machine.fresh(tmp_path / 'one.py', 'job', 10)
    large = machine.fresh(tmp_path / 'one.py', 'large')
    del parent
    assert (
        small['total'] == 45 and small['peak_mb'] < 400 and large['peak_mb'] > small['peak_mb'] + 90
    )
    assert machine.fresh(tmp_path / 'one.py', 'env', threads=2)['threads'] == '2'
    with pytest.raises(RuntimeError, match='one.no'):
        machine.fresh(tmp_path / 'one.py', 'no')


def test_the_list_names_every_script(bench):
    run, _ = bench
    done = tell(sys.executable, ROOT / 'bench/run.py', '--list', ends_well=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(run.scripts())
    assert tell(sys.executable, ROOT / 'bench/run.py', 'no_such').returncode == 1
