"Forecasts of memory beside the peaks that the system measures."

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses

from extreme_opt.core import memory
from extreme_opt.core.memory import forecast_memory

sys.path.insert(0, str(Path(__file__).parent))
import peaks  # noqa: E402

linux = pytest.mark.skipif(
    not Path('/proc/self/clear_refs').exists(), reason='peaks are read from /proc'
)
MB = 1 << 20


def check(chosen):
    "Within 20 % of the peak, and 16 MB of what a heap keeps for later."
    found = peaks.peaks(chosen)
    wrong = [
        f'{one["estimator"]} {one["solver"]} {one["sizes"]}: '
        f'peak {one["peak"] / MB:.0f} MB, forecast {one["forecast"] / MB:.0f} MB'
        for one in found
        if abs(one['forecast'] - one['peak']) > 0.2 * one['peak'] + 16 * MB
    ]
    assert not wrong, '; '.join(wrong)
    return found


@linux
def test_reliability_forecasts_are_near_the_peaks():
    "B7: 96 MB were said and 1,791 taken."
    check([one for one in peaks.CASES if one['usual'] and one['estimator'] == 'softmax'][1:3])


@linux
@pytest.mark.slow
def test_reliability_forecasts_of_all_fits():
    found = check(peaks.CASES)
    assert len(found) >= 36 and {one['estimator'] for one in found} == set(peaks.TINY)


def test_forecasts_grow_with_each_size():
    for one in peaks.CASES:
        if one['solver'] not in (None, 'auto'):
            for name, size in one['sizes'].items():
                if size is not None:
                    told = [
                        forecast_memory(one['estimator'], one['solver'], **one['sizes'] | {name: n})
                        for n in (size, 2 * size)
                    ]
                    assert told[0] <= told[1], name
    held = dict(n_rows=10, n_columns=1e6, n_classes=1e6, itemsize=4)
    assert forecast_memory('softmax', 'support', n_weights=1e7, **held) < 1e9
    assert forecast_memory('softmax', 'implicit', **held) > 9e12
    wide = dict(
        n_rows=3500, n_columns=40_001, n_classes=3, n_stored=140_000
    )  # no square of columns
    assert forecast_memory('bound', 'auto', **wide) < 1e8
    cases = [('softmax', 'newton'), ('forest', 'lbfgs'), ('ordinal', 'als'), ('similarity', '')]
    for wrong in cases:
        refuses('is none of', forecast_memory, *wrong)


def fits():
    from extreme_opt.bound import BoundClassifier
    from extreme_opt.ordinal import OrdinalEmbedding
    from extreme_opt.similarity import SimilarityModel
    from extreme_opt.softmax import SoftmaxClassifier

    wide = scipy.sparse.csr_array(
        ([1.0] * 100, ([*range(100)], [*range(100)])), shape=(100, 20_000)
    )
    told = dict(ridge=1.0, ridge_power=0.0, unobserved_weight=1.0)
    apart = np.stack([np.arange(2000), (np.arange(2000) + 1) % 2000, (np.arange(2000) + 2) % 2000])
    return [
        (SoftmaxClassifier('lbfgs'), (wide, np.arange(100) % 50), 'fewer columns'),
        (SoftmaxClassifier('implicit'), (wide, np.arange(100) % 50), 'fewer columns'),
        (BoundClassifier('lbfgs'), (wide, np.arange(100) % 50), 'SoftmaxClassifier'),
        (SimilarityModel(64), (apart[:2].T,), 'numbers for ridge'),
        (SimilarityModel(64, **told), (apart[:2].T,), 'fewer components'),
        (OrdinalEmbedding(20), (apart.T,), 'solver="svrg"'),
    ]


@pytest.mark.parametrize('model, given, way', fits())
def test_reliability_a_fit_that_cannot_be_held_is_refused_first(monkeypatch, model, given, way):
    "Needed, free and the ways out, before a problem is made; with room it goes on."
    monkeypatch.setattr(memory, '_ALWAYS_FREE', 0)
    monkeypatch.setattr(memory, 'free_memory', lambda: 10**5)
    monkeypatch.setattr(type(model), '_make_problem', None, raising=False)
    monkeypatch.setattr(type(model), '_problem', None, raising=False)
    with pytest.raises(MemoryError, match=r'\.fit needs about .* but 0.0001 GB are free') as caught:
        model.fit(*given)
    assert way in str(caught.value) and '\n' not in str(caught.value)


@pytest.mark.parametrize('pages', [-247, -1, 10])
def test_a_system_that_counts_below_zero_does_not_tell_what_is_free(monkeypatch, pages):
    "In a browser the system said -247 pages, and a fit of 20 MB was refused."

    def refuse(*args, **kwargs):
        raise OSError('no such file')

    told = {'SC_AVPHYS_PAGES': pages, 'SC_PAGE_SIZE': 65536}
    monkeypatch.setattr(memory, 'open', refuse, raising=False)
    monkeypatch.setattr(memory.Path, 'read_bytes', refuse)
    monkeypatch.setattr(memory.os, 'sysconf', told.__getitem__, raising=False)
    assert memory.free_memory() == (655360 if pages > 0 else None)


def test_sizes_without_data(capsys):
    from extreme_opt.__main__ import main

    assert main('size softmax --classes 10 --features 784 --rows 60000 --solver lbfgs'.split()) == 0
    said = capsys.readouterr().out
    sizes = dict(n_rows=60_000, n_columns=785, n_classes=10)
    told = forecast_memory('softmax', 'lbfgs', **sizes) / 1e9
    assert f'softmax, solver lbfgs, float64: about {told:.3g} GB besides the data' in said
    assert main('size bound --classes 1e9 --columns 1e9 --rows 1e9'.split()) in (0, 1)
    main('size softmax --classes 5000 --columns 50_000 --rows 1e5 --stored 3e6'.split())
    assert 'solver support' in capsys.readouterr().out  # which the default takes
    for wrong in ('size', 'size softmax --classes 3', 'size softmax --classes a', 'size forest'):
        with pytest.raises(SystemExit):
            main(wrong.split())
    said = capsys.readouterr().err
    assert 'softmax needs --rows --columns' in said
    whole = 'size softmax --rows 3e5 --columns 100_000 --classes 1e5 --stored 9e6'
    for more, problem in {
        '--rows -3': "'-3' is no whole number from 1 up, such as 300000 or 3e5",
        '--rows nan': "'nan' is no whole number from 1 up",
        '--rows inf': "'inf' is no whole number from 1 up",
        '--classes 10.5': "'10.5' is no whole number",
        '--weights sparse': "'sparse' is no whole number",
        '--rows 10 --columns 5': '--stored 9000000 is more than 10 rows and 5 columns have',
        '--classes 1': '--classes 1: a classifier needs 2 at least',
        '--pairs 5': 'softmax has no --pairs, but --rows --columns --classes --stored',
        '--weights support --solver lbfgs': 'weights on a support are for softmax with --stored',
    }.items():
        with pytest.raises(SystemExit):
            main(f'{whole} {more}'.split())
        said = capsys.readouterr().err
        assert problem in said and len(said.splitlines()) == 2


def test_sizes_say_what_would_fit(capsys, monkeypatch):
    from extreme_opt.__main__ import main

    monkeypatch.setattr(memory, 'free_memory', lambda: 16 * 10**9)
    whole = 'size softmax --rows 3e5 --columns 1e5 --classes 1e5 --stored 9e6'
    assert main(f'{whole} --weights dense'.split()) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith('less: ') and said[2].startswith('--weights support: at most ')
    assert main(whole.split()) == 0  # a support, as the default takes there
    assert said[2].split(': ')[1] in capsys.readouterr().out
    ours = 'size similarity --users 478251 --items 17768 --pairs 51228351'
    for words in (ours, f'{ours} --components 64'):
        assert main(words.split()) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_the_command_does_the_sum():
    words = 'size similarity --users 1000 --items 500 --pairs 20000 --components 8'
    done = subprocess.run(
        [sys.executable, '-m', 'extreme_opt', *words.split()], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith('similarity, solver als, float32: about')
