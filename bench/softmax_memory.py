"""Most memory of a run to a training log-loss of 3.1 on shape A of `softmax_race` (separable
labels): the same run of ours as in `softmax_lbfgs`, in a process that was started afresh. A child's
`ru_maxrss` begins at its parent's, which made the data, and is too high; the kernel's mark of this
process alone (`memory.peak_mb`) is not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
import numpy as np
from memory import peak_mb
from softmax_lbfgs import GOAL
from softmax_race import made, ours

RATES = (100.0, 1000.0)


def main() -> list[dict]:
    out = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / 'rows.npz')
        np.savez(path, **made('A', False))
        for rate in RATES:
            done = subprocess.run(
                [sys.executable, __file__, path, str(rate)],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ,
            )
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f'rate {rate:g}: log-loss {found["loss"]:.3f}, {found["peak"]:.0f} MB', flush=True
            )
            out.append(
                dict(
                    method='ImplicitSGD',
                    task=f'A separable to {GOAL}',
                    peer=f'rate {rate:g}',
                    threads=1,
                    seconds=f'{found["seconds"]:.2f}',
                    log_loss=f'{found["loss"]:.3f}',
                    passes=f'{found["passes"]:.3g}',
                    peak_mb=found['peak'],
                    versions=machine.versions(),
                    date=machine.today(),
                )
            )
    return out


if __name__ == '__main__':
    found = ours(sys.argv[1], 'implicit', float(sys.argv[2]), 30.0, GOAL)
    print(json.dumps(found | dict(peak=peak_mb())))
