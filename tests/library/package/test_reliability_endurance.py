"Random use of the estimators with all looked at after each step: `endurance.py`, a fixed number."

import sys
from pathlib import Path

import pytest

pytest.importorskip('resource', reason='limits of the system are used')
sys.path.insert(0, str(Path(__file__).parent))


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(6))
def test_reliability_of_random_use(seed, capsys):
    import endurance

    endurance.STEPS.clear()
    with capsys.disabled():
        print(f' seed {seed} ', end='', flush=True)
    endurance.run(seed)
    assert endurance.STEPS.total() > 100
