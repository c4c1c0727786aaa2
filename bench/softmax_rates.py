"""Who minds the learning rate: five methods at rates from 10 to 1,000 on shape A of `softmax_race`
(separable labels), one thread, float32.

Seconds of updates to a training log-loss of 0.1, taken after each pass on 300 fixed rows. A run
also ends after LIMIT seconds, or where the loss is not finite any more (`inf`). U-max and vanilla
SGD draw 5 wrong classes an update, the others one; the rate falls by 0.9 a pass.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from softmax_race import GOAL, ask, made, row

RATES, LIMIT, ASKED = (10.0, 100.0, 1000.0), 6.0, 2.5
METHODS = {
    'implicit': 'ImplicitSGD',
    'umax': 'UMax',
    'vanilla': 'SGD',
    'ove': 'OneVsEach',
    'sampled': 'ImportanceSampled',
}


def main() -> list[dict]:
    out = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / 'rows.npz')
        np.savez(path, **made('A', False))
        for kind, method in METHODS.items():
            found = [
                ask(sys.executable, path=path, kind=kind, rate=rate, limit=LIMIT) for rate in RATES
            ]
            out += [
                row('A separable', method, f'rate {rate:g}', each)
                for rate, each in zip(RATES, found, strict=True)
            ]
            times = [each['seconds'] for each in found if each['loss'] < GOAL]
            spread = f', slowest over fastest {max(times) / min(times):.1f}' if times else ''
            print(
                f'{method}: {len(times)} of {len(RATES)} rates arrive{spread}'
                + (f' (asked: {ASKED})' if kind == 'implicit' else '')
            )
    return out
