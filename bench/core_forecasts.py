"""Forecasts of memory beside what fits hold at their peak: all estimators, sizes of 50 to 600 MB.

The cases are those of a slow test (tests/library/core/peaks.py), which fits extreme_opt.softmax,
extreme_opt.bound, extreme_opt.similarity and extreme_opt.ordinal. Each fit has a process of its
own; `rise_mb` is the rise of its memory over the level before the fit, pages of files left out,
`forecast_mb` what was said before it began. Linux only.
"""

from __future__ import annotations

import sys
from pathlib import Path

import machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests/library/core'))
import peaks  # noqa: E402


def main() -> list[dict]:
    found = []
    for name in peaks.TINY:
        cases = [one for one in peaks.CASES if one['estimator'] == name]
        found += machine.kept(name, peaks.peaks, cases)
    rows = []
    for one in found:
        sizes = ', '.join(f'{k[2:]} {v:,}' for k, v in one['sizes'].items() if v is not None)
        task = f'{peaks.called(one)}: {sizes}'.removeprefix(': ')
        rise, told = (round(one[key] / 1e6) for key in ('peak', 'forecast'))
        rows.append(machine.row(one['estimator'], task, rise_mb=rise, forecast_mb=told, peak_mb=''))
    return rows
