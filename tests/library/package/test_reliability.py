"""Hostile inputs: no crash, nothing wrong without a word, nothing half-read. The whole round:
python tests/library/package/fuzz_reliability.py"""

import faulthandler
import os

import pytest

if not hasattr(os, 'fork'):
    pytest.skip('the probes fork', allow_module_level=True)

import time  # noqa: E402

import fuzz_reliability  # noqa: E402
from fuzz_reliability import PROBES, in_child  # noqa: E402


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', PROBES)
def test_hostile_inputs(name):
    assert PROBES[name]()


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', PROBES)
def test_all_hostile_inputs(name, monkeypatch):
    monkeypatch.setattr(fuzz_reliability, 'ROUNDS', 2)
    assert PROBES[name]()


def test_a_child_that_dies_hangs_or_grows_is_a_result():
    def dies():
        faulthandler.disable()  # or it fills the screen
        os.abort()

    def grows():
        return len(bytearray(8 << 30))

    cases = [
        ('fine', lambda: 1),
        ('dies', dies),
        ('wrong', lambda: 1 / 0),
        ('grows', grows),
        ('fine again', lambda: 2),
    ]
    found = {name: (outcome, text) for name, outcome, text in in_child(cases, 60.0)}
    assert list(in_child([('hangs', lambda: time.sleep(60))], 0.2)) == [('hangs', 'hung', '0.2 s')]
    assert found['fine'] == ('held', 1) and found['fine again'] == ('held', 2)
    assert found['dies'] == ('signal', 'SIGABRT')
    assert found['wrong'][0] == 'failed' and 'ZeroDivisionError' in found['wrong'][1]
    assert found['grows'][0] == 'failed' and 'MemoryError' in found['grows'][1]
