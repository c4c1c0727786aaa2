"Random use of the estimators with all looked at after each step: `endurance.py`, a fixed number."

import sys
import warnings
from pathlib import Path

import pytest

from extreme_opt.core.run import _Recorder

pytest.importorskip('resource', reason='limits of the system are used')
sys.path.insert(0, str(Path(__file__).parent))
import endurance  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(6))
def test_reliability_of_random_use(seed, capsys):
    endurance.STEPS.clear()
    with capsys.disabled():
        print(f' seed {seed} ', end='', flush=True)
    endurance.run(seed)
    assert endurance.STEPS.total() > 100


@pytest.mark.parametrize('kind', sorted(endurance.MAKE))
@pytest.mark.parametrize('call', [0, 1])
def test_an_interrupted_record_ends_a_fit_and_nothing_else(kind, call, monkeypatch):
    "Before the first step the model stays as it was; later it predicts finite numbers."
    for make in endurance.MAKE[kind]:
        left, row = [call], _Recorder.row

        def interrupted(*args, left=left, row=row):
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
            return row(*args)

        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            model = make().fit(*endurance.DATA[kind][0])
            before = endurance.answers(kind, model)
            with monkeypatch.context() as patch:
                patch.setattr(_Recorder, 'row', interrupted)
                try:
                    model.fit(*endurance.DATA[kind][1])
                except KeyboardInterrupt:
                    assert endurance.answers(kind, model) == before
                else:
                    assert len(endurance.answers(kind, model)) > 0
