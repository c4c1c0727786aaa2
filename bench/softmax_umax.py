"""U-max on docstring sentences (float32, CSR, 5 other classes per update, one core) against three
things:

- the NumPy loop of the page nbs/learn/softmax/30_umax (`umax_update`), same draws, same start;
- the machine's limit for the same bytes: a loop over a ready list of addresses that reads, adds to
  and writes back exactly the cells that the
  updates touch, in the same order, and does nothing else (per update, 6 rows of the weights at the
  row's nonzero columns; counted are 4 bytes in and 4 out per cell, although the machine moves a
  line of 64 for most of them);
- for orientation, as many cells at random places of a table as large as the weights, and streaming.

Seconds are per pass (one update per training sample), medians over rounds in which all jobs
alternate. Quality is the log-loss (nats) after that pass.
"""

from __future__ import annotations

import statistics

import machine
import numpy as np

from extreme_opt import data
from extreme_opt.softmax import DoubleSum, UMax
from extreme_opt.softmax.umax import umax_update, umax_updates

RATE, N_OTHERS, ROUNDS = 0.1, 5, 9
ASKED_NUMPY, ASKED_LIMIT = 10, 0.3


def main() -> list[dict]:
    docs = data.docstrings()
    problem = DoubleSum(docs.train_features, docs.train_labels, docs.n_classes)
    rng, rows = np.random.default_rng(0), problem.features
    draw = problem.draw(rng, problem.n_samples, N_OTHERS)
    classes = np.column_stack([draw.others, problem.labels[draw.sample]])
    task = (
        f'docstrings: {problem.n_samples} rows, {problem.n_classes} classes, {problem.n_features}'
        f' words, {rows.nnz / problem.n_samples:.1f} per row'
    )
    print(task)

    kernel, slow = problem.init_params(), problem.init_params()
    umax_updates(problem, kernel, draw, RATE)
    numpy_seconds = machine.timed(
        lambda: [
            umax_update(problem, slow, i, others, RATE) for i, others in zip(*draw, strict=True)
        ]
    )
    losses = problem.log_loss(kernel), problem.log_loss(slow)
    print(
        f'one pass ends at {losses[0]:.5f} nats with the kernel, {losses[1]:.5f} with the NumPy'
        f' loop (log K = {np.log(problem.n_classes):.5f})'
    )

    some = slice(0, 1500)
    solver, state = (
        UMax(learning_rate=RATE, n_negatives=N_OTHERS),
        UMax().init(problem, problem.init_params()),
    )
    places = machine.places_of(rows.indptr, rows.indices, draw.sample, classes, problem.n_features)
    limit, moved = machine.touch_job(places, problem.n_weights)
    scattered, _ = machine.random_job(len(places), problem.n_weights)
    stream, stream_bytes = machine.stream_seconds()
    jobs = {
        'limit': limit,
        'kernel': lambda: umax_updates(problem, kernel, draw, RATE),
        'step': lambda: solver.step(problem, state, rng),
        'numpy': lambda: [
            umax_update(problem, slow, i, others, RATE)
            for i, others in zip(draw.sample[some], draw.others[some], strict=True)
        ],
        'random': scattered,
        'stream': stream,
    }
    seconds = machine.alternate(jobs, ROUNDS)
    seconds['numpy'] = [each * problem.n_samples / 1500 for each in seconds['numpy']]
    middle = {name: statistics.median(each) for name, each in seconds.items()}

    for name, n_bytes in (
        ('limit', moved),
        ('kernel', moved),
        ('random', moved),
        ('stream', stream_bytes),
    ):
        print(f'{name:<8}{n_bytes / middle[name] / 1e9:8.2f} GB/s')
    print(
        f'per update: kernel {middle["kernel"] / problem.n_samples * 1e9:.0f} ns, limit'
        f' {middle["limit"] / problem.n_samples * 1e9:.0f} ns, NumPy'
        f' {middle["numpy"] / problem.n_samples * 1e6:.0f} us (first full pass'
        f' {numpy_seconds:.1f} s)'
    )
    faster, share = (
        machine.ratio(seconds['numpy'], seconds['kernel']),
        machine.ratio(seconds['limit'], seconds['kernel']),
    )
    print(
        f'kernel against the NumPy loop: {faster:.1f} times faster (asked: {ASKED_NUMPY})'
        f' {"met" if faster >= ASKED_NUMPY else "MISSED"}'
    )
    print(
        f'kernel against the limit: {share:.0%} of its bytes per second (asked: {ASKED_LIMIT:.0%})'
        f' {"met" if share >= ASKED_LIMIT else "MISSED"}'
    )

    common = dict(
        task=task,
        threads=1,
        peak_mb=machine.peak_mb(),
        versions=machine.versions(),
        date=machine.today(),
    )
    return [
        dict(method=method, peer=peer, seconds=f'{middle[name]:.4f}', **measured, **common)
        for method, name, peer, measured in (
            ('umax_updates', 'kernel', 'kernel', dict(log_loss=f'{losses[0]:.4f}')),
            ('UMax.step, draws and copy included', 'step', 'solver', {}),
            ('umax_update in a loop', 'numpy', 'NumPy loop', dict(log_loss=f'{losses[1]:.4f}')),
            ('touch the same cells', 'limit', 'machine limit', {}),
        )
    ]
