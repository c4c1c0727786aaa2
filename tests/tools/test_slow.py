"The driver of `make slow`: limits, failures, going on after a stop."

import sys

import pytest
import slow


@pytest.fixture
def short(monkeypatch, tmp_path):
    "Parts that take no time; returns what they wrote, in order."

    def part(word, tail=''):
        return [
            sys.executable,
            '-c',
            f'open({str(tmp_path / "log")!r}, "a").write({word!r}); {tail}',
        ], {}

    monkeypatch.setattr(slow, 'DONE', tmp_path / 'build' / 'slow.json')
    monkeypatch.setattr(slow, 'digest', lambda: 'one')
    monkeypatch.setattr(
        slow,
        'parts',
        lambda workers: dict(
            a=part('a'), b=part('b', 'raise SystemExit(1)'), c=part('c {minutes} ')
        ),
    )
    return lambda: (tmp_path / 'log').read_text()


def test_a_failed_part_does_not_stop_the_others_and_a_second_call_goes_on(
    short, capsys, monkeypatch
):
    assert slow.main([]) == 1 and short() == 'abc 44.0 '
    said = capsys.readouterr().out
    assert 'a' in said and 'failed' in said
    assert slow.main([]) == 1 and short() == 'abc 44.0 b'
    assert 'done before, for this code' in capsys.readouterr().out
    monkeypatch.setattr(slow, 'digest', lambda: 'two')
    slow.main([])
    assert short().count('a') == 2


def test_what_the_limit_leaves_out_is_named(short, capsys):
    assert slow.main(['--minutes', '.5']) == 1
    assert capsys.readouterr().out.count('not run, the limit is reached') == 3


def test_a_part_is_stopped_at_the_limit():
    assert (
        slow.run([sys.executable, '-c', 'import time; time.sleep(60)'], {}, 0.2)
        == 'stopped by the limit'
    )


def test_every_part_is_a_command():
    for command, _ in slow.parts(2).values():
        assert command[0] == sys.executable and (
            command[1] == '-m' or (slow.ROOT / command[1]).exists()
        )
