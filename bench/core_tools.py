"""Tools under all chapters beside the usual ones, one core: special functions and log-sum-exp.

- `wright_omega` against `scipy.special.wrightomega`, `log_sum_exp` against
  `scipy.special.logsumexp`, over arrays that fit the near caches and a
  matrix of 20,000 x 500 scores.

Both sides give the same numbers, which is checked.
"""

from __future__ import annotations

from collections.abc import Iterator

import machine
import numpy as np

ROUNDS = 7


def functions() -> dict[str, dict]:
    "Task -> name -> job."
    from scipy import special

    from extreme_opt.core.linalg import log_sum_exp, wright_omega

    rng = np.random.default_rng(0)
    t, scores = rng.normal(scale=5, size=100_000), rng.normal(size=(20_000, 500)).astype(np.float32)
    return {
        'Wright omega of 100,000 numbers': {
            'wright_omega': lambda: wright_omega(t),
            'scipy.special.wrightomega': lambda: special.wrightomega(t),
        },
        'log-sum-exp of 20,000 x 500 scores, float32': {
            'log_sum_exp': lambda: log_sum_exp(scores, axis=1),
            'scipy.special.logsumexp': lambda: special.logsumexp(scores, axis=1),
        },
    }


def main() -> Iterator[dict]:
    for task, jobs in functions().items():
        mine, theirs = (job() for job in jobs.values())
        off = f'{np.abs(mine - theirs).max():.0e}'
        for name, timing in machine.race(jobs, ROUNDS).items():
            peer = 'usual tool' if '.' in name else ''
            yield machine.row(name, task, timing, peer=peer, max_difference=off)
