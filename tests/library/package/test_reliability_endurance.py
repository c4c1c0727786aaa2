"Random use of the estimators with all looked at after each step: `endurance.py`, a fixed number."

import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import unheard

from extreme_opt.core.run import _Recorder
from extreme_opt.core.serialize import _content_digest

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

        with unheard():
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


def rewritten(array):
    "What else could stand there."
    if array.dtype.kind == 'f' and array.size:
        for wild in (np.nan, np.inf, np.finfo(array.dtype).max / 1.2):
            yield np.concatenate([[wild], array.ravel()[1:]]).reshape(array.shape)
    if array.ndim:
        yield array.astype(str)
        yield from (array[:-1], array[:0], array[None], np.concatenate([array, array[:1]]))


@pytest.mark.parametrize('kind', sorted(endurance.MAKE))
def test_a_file_of_other_arrays_is_refused_or_predicts_numbers(kind, tmp_path):
    "Each array in turn, with a digest that is right: in one line, before use or at it."
    path, n_refused = tmp_path / 'model.npz', 0
    for make in endurance.MAKE[kind]:
        with unheard():
            make().fit(*endurance.DATA[kind][0]).save(path)
        members = dict(np.load(path))
        for name in members.keys() - {'meta', 'digest'}:
            for array in rewritten(members[name]):
                changed = members | {name: array}
                changed['digest'] = _content_digest(
                    {k: changed[k] for k in members if k != 'digest'}
                )
                np.savez(path, **changed)
                try:
                    endurance.answers(kind, type(make()).load(path))
                except ValueError as error:
                    n_refused += 'cannot be read' in str(error)
                    assert '\n' not in str(error)
    assert n_refused > 3
