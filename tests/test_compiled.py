"Kernels run with numba, and without it as plain Python; long calls are cut into blocks."

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from extreme_opt.core import compiled
from extreme_opt.core.compiled import in_blocks, njit, plain_njit, prange

def test_stand_in_takes_all_forms():
    @plain_njit
    def one(x): return x
    @plain_njit()
    def two(x): return x
    @plain_njit(cache=True, nogil=True)
    def three(x): return x
    for function in (one, two, three): assert function(5) == 5 and function.py_func(5) == 5

def test_njit_is_what_have_numba_says():
    if compiled.HAVE_NUMBA:
        import numba
        assert njit is numba.njit and prange is numba.prange
    else: assert njit is plain_njit and prange is range

@settings(max_examples=60, deadline=None)
@given(n_items=st.integers(0, 5000), first=st.integers(1, 700), times=st.lists(st.floats(0, 10), min_size=1, max_size=20))
def test_blocks_cover_everything_once_at_any_speed(n_items, first, times):
    clock, real = [0.], compiled.time
    class Time:
        perf_counter = staticmethod(lambda: clock[0])
    compiled.time = Time
    try:
        seen, sizes = np.zeros(n_items, int), []
        for k, (start, stop) in enumerate(in_blocks(n_items, first=first)):
            seen[start:stop] += 1
            sizes.append(stop - start)
            clock[0] += times[k % len(times)]
    finally: compiled.time = real
    assert (seen == 1).all()
    assert all(after <= 4 * before + 1 for before, after in zip(sizes, sizes[1:], strict=False))

def test_blocks_settle_near_the_wanted_time():
    clock, real = [0.], compiled.time
    class Time:
        perf_counter = staticmethod(lambda: clock[0])
    compiled.time = Time
    try:
        sizes = []
        for start, stop in in_blocks(10**6, seconds=.25):
            sizes.append(stop - start)
            clock[0] += (stop - start) * 1e-4       # ten thousand items a second
    finally: compiled.time = real
    assert sizes[0] == 256 and max(sizes) <= 2501 and min(sizes[4:-1]) >= 2400
