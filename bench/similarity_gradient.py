"""One gradient and one Gauss-Newton product of a two-tower model, against frameworks.

6,000 left and 3,500 right entities on ids, 500,000 observed pairs, towers 256-256-128 with ELU on
both sides, logistic loss, constant imputation. Peers run in a Python of their own, named by
EXTREME_OPT_PEERS (any with numpy, torch, jax); those that are not there are left out. Every peer is
a process that waits for a word before each round, so that all see the same machine; its peak memory
is that of the process.

    python bench/run.py similarity_gradient          float32, one and two threads
    python bench/run.py --full                       float64 too

Each case is kept under build/bench as soon as it is measured; a run that was stopped goes on behind
the last of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import machine
import numpy as np

LEFT, RIGHT, PAIRS, HIDDEN, K, OMEGA, RIDGE, ROUNDS = 6000, 3500, 500_000, 256, 128, 2**-4, 4.0, 5


def data(dtype):
    "Pairs (sorted ids), parameters of both towers as lists of arrays, and a direction."
    rng = np.random.default_rng(0)
    keys = np.sort(rng.choice(LEFT * RIGHT, PAIRS, replace=False))
    shapes = [
        (size, shape)
        for n in (LEFT, RIGHT)
        for size, shape in (
            (1, (n, HIDDEN)),
            (1, (HIDDEN,)),
            (HIDDEN, (HIDDEN, HIDDEN)),
            (1, (HIDDEN,)),
            (HIDDEN, (K, HIDDEN)),
            (1, (K,)),
        )
    ]
    theta, way = (
        [
            (rng.normal(size=shape) * (0.3 if len(shape) > 1 else 0.1) / np.sqrt(size)).astype(
                dtype
            )
            for size, shape in shapes
        ]
        for _ in range(2)
    )
    return keys // RIGHT, keys % RIGHT, theta, way


def flat(parts):
    return np.concatenate([np.asarray(part).ravel() for part in parts])


def ours(task, dtype):
    from extreme_opt.similarity import MLP, AllPairs

    rows, columns, theta, way = data(dtype)
    problem = AllPairs(
        np.column_stack([rows, columns]),
        n_left=LEFT,
        n_right=RIGHT,
        n_components=K,
        left=MLP(HIDDEN, HIDDEN),
        right=MLP(HIDDEN, HIDDEN),
        unobserved_weight=OMEGA,
        ridge=RIDGE,
        dtype=dtype,
        n_jobs=int(os.environ['OMP_NUM_THREADS']),
    )
    theta, way = flat(theta), flat(way)

    def gradient():
        problem._memo.clear()
        return problem.loss_and_grad(theta)[1]

    def product():
        return problem.ggn_vp(theta, way)

    problem.loss(theta)
    return product if task == 'product' else gradient


def torch_peer(task, dtype, form):
    import torch

    torch.set_num_threads(int(os.environ['OMP_NUM_THREADS']))
    rows, columns, theta, way = data(dtype)
    rows, columns = torch.from_numpy(rows), torch.from_numpy(columns)
    theta, way = tuple(map(torch.from_numpy, theta)), tuple(map(torch.from_numpy, way))
    elu = torch.nn.functional.elu

    def tower(E, b, W, c, S, d):
        return elu(elu(E + b) @ W.T + c) @ S.T + d

    def embed(*theta):
        return tower(*theta[:6]), tower(*theta[6:])

    def loss(*theta):
        P, Q = embed(*theta)
        if form == 'dense':
            scores = P @ Q.T
            seen = scores[rows, columns]
            unseen = ((scores + 1) ** 2).sum()
        else:
            seen = (P[rows] * Q[columns]).sum(1)
            unseen = ((P.T @ P) * (Q.T @ Q)).sum() + 2 * (P.sum(0) * Q.sum(0)).sum() + LEFT * RIGHT
        fit = torch.nn.functional.softplus(-seen).sum() - OMEGA / 2 * ((seen + 1) ** 2).sum()
        return fit + OMEGA / 2 * unseen + RIDGE / 2 * sum((part**2).sum() for part in theta)

    if task == 'gradient':
        leaves = [part.clone().requires_grad_() for part in theta]
        return lambda: flat(
            [part.detach().numpy() for part in torch.autograd.grad(loss(*leaves), leaves)]
        )

    def product():
        (P, Q), (W, H) = torch.func.jvp(embed, theta, way)
        seen = (P[rows] * Q[columns]).sum(1)
        z = (torch.sigmoid(seen) * torch.sigmoid(-seen) - OMEGA) * (
            (W[rows] * Q[columns]).sum(1) + (P[rows] * H[columns]).sum(1)
        )
        Z = torch.sparse_coo_tensor(
            torch.stack([rows, columns]), z, (LEFT, RIGHT), check_invariants=False
        )
        to_left = torch.sparse.mm(Z, Q) + OMEGA * (W @ (Q.T @ Q) + P @ (H.T @ Q))
        to_right = torch.sparse.mm(Z.t(), P) + OMEGA * (H @ (P.T @ P) + Q @ (W.T @ P))
        _, pull = torch.func.vjp(embed, *theta)
        return flat(
            [
                (back + RIDGE * part).numpy()
                for back, part in zip(pull((to_left, to_right)), way, strict=True)
            ]
        )

    return product


def jax_peer(task, dtype, form):
    import jax

    jax.config.update('jax_enable_x64', dtype == np.float64)
    import jax.numpy as jnp

    rows, columns, theta, way = data(dtype)
    rows = jnp.asarray(rows)
    columns = jnp.asarray(columns)
    theta = tuple(map(jnp.asarray, theta))
    way = tuple(map(jnp.asarray, way))

    def tower(E, b, W, c, S, d):
        return jax.nn.elu(jax.nn.elu(E + b) @ W.T + c) @ S.T + d

    def embed(theta):
        return tower(*theta[:6]), tower(*theta[6:])

    def loss(theta):
        P, Q = embed(theta)
        seen = (P[rows] * Q[columns]).sum(1)
        unseen = ((P.T @ P) * (Q.T @ Q)).sum() + 2 * (P.sum(0) * Q.sum(0)).sum() + LEFT * RIGHT
        fit = jax.nn.softplus(-seen).sum() - OMEGA / 2 * ((seen + 1) ** 2).sum()
        return fit + OMEGA / 2 * unseen + RIDGE / 2 * sum((part**2).sum() for part in theta)

    def product(theta, way):
        (P, Q), (W, H) = jax.jvp(embed, (theta,), (way,))
        p, q = P[rows], Q[columns]
        seen = (p * q).sum(1)
        z = (jax.nn.sigmoid(seen) * jax.nn.sigmoid(-seen) - OMEGA) * (
            (W[rows] * q).sum(1) + (p * H[columns]).sum(1)
        )
        to_left = jnp.zeros_like(P).at[rows].add(z[:, None] * q) + OMEGA * (
            W @ (Q.T @ Q) + P @ (H.T @ Q)
        )
        to_right = jnp.zeros_like(Q).at[columns].add(z[:, None] * p) + OMEGA * (
            H @ (P.T @ P) + Q @ (W.T @ P)
        )
        _, pull = jax.vjp(embed, theta)
        return [
            back + RIDGE * part
            for back, part in zip(pull((to_left, to_right))[0], way, strict=True)
        ]

    work = jax.jit(jax.grad(loss)) if task == 'gradient' else jax.jit(product)
    return lambda: flat(work(theta) if task == 'gradient' else work(theta, way))


PEERS = {'torch': torch_peer, 'jax': jax_peer}


def child(peer, task, kind):
    "Tell peak memory and a checksum; then wait for a word, work, and tell the seconds."
    dtype = np.dtype(kind).type
    who, _, form = peer.partition(' ')
    job = ours(task, dtype) if who == 'ours' else PEERS[who](task, dtype, form)
    result = job()
    peak = machine.peak_mb()
    print(
        json.dumps(
            dict(
                peak=peak,
                check=float(result.astype(float) @ np.cos(np.arange(len(result)))),
                norm=float(np.linalg.norm(result)),
            )
        ),
        flush=True,
    )
    for _ in sys.stdin:
        mark = time.perf_counter()
        job()
        print(time.perf_counter() - mark, flush=True)


def measure(task, kind, threads, peers):
    "Rows of one task, type and number of threads."
    running, first = {}, {}
    for peer, python in peers.items():
        if peer == 'torch dense' and task == 'product':
            continue
        process = subprocess.Popen(
            [python, __file__, 'child', peer, task, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=machine.pinned(threads),
        )
        line = process.stdout.readline()
        if line:
            running[peer], first[peer] = process, json.loads(line)
        else:
            print(f'{peer} is not there or failed; left out')
    seconds = {peer: [] for peer in running}
    for turn in range(ROUNDS):
        for peer, process in list(running.items())[:: -1 if turn % 2 else 1]:
            process.stdin.write('go\n')
            process.stdin.flush()
            seconds[peer].append(float(process.stdout.readline()))
    for process in running.values():
        process.stdin.close()
        process.wait()
    for peer in running:
        if peer == 'ours':
            continue
        off = (
            abs(first[peer]['norm'] / first['ours']['norm'] - 1)
            + abs(first[peer]['check'] - first['ours']['check']) / first['ours']['norm']
        )
        assert off < 1e-2, 'not the same numbers'
    return [
        machine.row(
            method='AllPairs' if peer == 'ours' else peer,
            task=f'{task}, {kind}',
            peer='kernel' if peer == 'ours' else 'framework',
            **machine.Timing(seconds[peer]).columns(threads),
            peak_mb=round(first[peer]['peak'], 1),
        )
        for peer in running
    ]


def main() -> list[dict]:
    other = os.environ.get('EXTREME_OPT_PEERS')
    peers = {'ours': sys.executable} | (
        {name: other for name in ('torch gramian', 'torch dense', 'jax gramian')} if other else {}
    )
    full = os.environ.get('EXTREME_OPT_FULL')
    cases = [
        (kind, threads)
        for kind in ('float32', *(('float64',) if full else ()))
        for threads in (1, 2)
    ]
    return [
        row
        for kind, threads in cases
        for task in ('gradient', 'product')
        for row in machine.kept(
            f'{task} {kind} {threads} {" ".join(peers)}', measure, task, kind, threads, peers
        )
    ]


if __name__ == '__main__' and sys.argv[1:2] == ['child']:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    child(*sys.argv[2:5])
