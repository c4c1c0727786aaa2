"""The same numbers with numba, with numba switched off and without numba; and nothing is compiled
twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_fits

ROOT = Path(__file__).resolve().parents[3]


def run(*words, **env):
    "What tiny_fits.py prints, in a process of its own."
    base = {name: value for name, value in os.environ.items() if name != 'NUMBA_DISABLE_JIT'}
    options = dict(cwd=ROOT, capture_output=True, text=True, timeout=600)
    options |= dict(env={**base, 'PYTHONPATH': str(ROOT), **env})
    done = subprocess.run([sys.executable, 'tests/library/package/tiny_fits.py', *words], **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope='module')
def compiled():
    return run(), run()  # a first start, which leaves its kernels on disk, and a second


def test_every_part_has_a_tiny_fit():
    "Each package below the figures is exercised."
    parts = {path.parent.name for path in (ROOT / 'extreme_opt').glob('*/__init__.py')} - {
        'show',
        'lab',
    }
    assert {name.split('.')[0] for name in tiny_fits.JOBS} == parts


@pytest.mark.parametrize(
    'words, env',
    [((), {'NUMBA_DISABLE_JIT': '1'}), (('block',), {})],
    ids=['switched off', 'missing'],
)
def test_plain_python_gives_the_same(compiled, words, env):
    "Every chapter fits without numba, and to the same numbers."
    plain, fast = run(*words, **env), compiled[0]
    assert (plain['have_numba'], fast['have_numba']) == (False, True)
    assert set(plain['results']) == set(fast['results']) == set(tiny_fits.JOBS)
    for name, values in plain['results'].items():
        assert np.isfinite(values).all(), name
        # some fits are float32
        np.testing.assert_allclose(
            values, fast['results'][name], rtol=1e-4, atol=1e-5, err_msg=name
        )


def test_second_start_compiles_nothing(compiled):
    "Compiled kernels are kept on disk: a second process loads them all."
    first, second = compiled
    assert second['compiled'] == ['<lambda>']  # the one that is never kept, so the recorder works
    assert first['results'] == second['results']
