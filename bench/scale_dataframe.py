"""A fit on a Dask data frame of parquet files, five times the memory limit of the only worker.

The memory of the worker is looked at ten times a second from outside. The run counts only when the
worker that began is the one that ended, never paused, and when Dask wrote less than a megabyte of
its own to disk (spilling), so that what is shown is the reading of partitions one after the other.
"""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import machine
import numpy as np
import psutil

from extreme_opt.scale import local_client
from extreme_opt.softmax import SoftmaxClassifier

LIMIT_MB, N_PARTS, N_COLUMNS, MAX_ITER = 700, 175, 64, 1


def write_parquet(folder: str, data_mb: int) -> int:
    "Files of equal size whose rows in memory are data_mb in all; return the number of rows."
    import pandas

    rng, rows = np.random.default_rng(0), data_mb * 10**6 // N_PARTS // (4 * N_COLUMNS)
    for k in range(N_PARTS):
        table = pandas.DataFrame(rng.standard_normal((rows, N_COLUMNS), np.float32))
        table = table.rename(columns=str)
        table['label'] = (table['0'] > 0) + 2 * (table['1'] > 0)
        path = Path(folder) / f'part-{k:03}.parquet'
        table.to_parquet(path, compression=None, use_dictionary=False)
    return rows * N_PARTS


class Watch(threading.Thread):
    "Look at the only worker of a client ten times a second."

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.stop = client, threading.Event()
        self.worker = psutil.Process(client.submit(os.getpid).result())
        self.memory_mb: list[float] = []
        self.states: set[str] = set()
        self.spilled = 0

    def run(self):
        while not self.stop.wait(0.1):
            self.memory_mb.append(self.worker.memory_info().rss / 1e6)
            for one in self.client.scheduler_info(n_workers=-1)['workers'].values():
                self.states.add(one['status'])
                disk = one["metrics"].get("spilled_bytes", {}).get("disk", 0)
                self.spilled = max(self.spilled, disk)


def prefixes(dask_scheduler) -> dict[str, int]:
    "How many tasks of each name the scheduler has seen to their end."
    return {
        name: prefix.state_counts['memory'] for name, prefix in dask_scheduler.task_prefixes.items()
    }


def main() -> list[dict]:
    import dask.dataframe

    with tempfile.TemporaryDirectory() as folder:
        n_rows = write_parquet(folder, 5 * LIMIT_MB)
        frame = dask.dataframe.read_parquet(folder)
        with local_client(1, memory_limit=f'{LIMIT_MB}MB') as client:
            watch = Watch(client)
            start = watch.worker.memory_info().rss / 1e6
            watch.start()
            model = SoftmaxClassifier(
                'lbfgs', ridge=1e-4, tol=None, max_iter=MAX_ITER, client=client
            )
            model.fit(frame.drop(columns='label'), frame['label'])
            watch.stop.set()
            watch.join()
            same = client.submit(os.getpid).result() == watch.worker.pid
            tasks = client.run_on_scheduler(prefixes)
        first = frame.get_partition(0).compute()
        accuracy = model.score(first.drop(columns='label'), first['label'])
    names = ('summarize', 'facts', 'loss_and_grad', 'loss', 'grad')
    reads, peak = sum(tasks.get(name, 0) for name in names), max(watch.memory_mb)
    print(f'worker: {start:.0f} MB at the start, {peak:.0f} MB at most; {tasks}; {watch.states}')
    if not same or watch.states != {'running'} or watch.spilled > 1e6 or peak > LIMIT_MB:
        raise RuntimeError(
            f'no calm run: same worker {same}, {watch.states}, spilled {watch.spilled}'
        )
    return [
        machine.row(
            method='SoftmaxClassifier, lbfgs',
            task=f'{N_PARTS} parquet files, {MAX_ITER} step of L-BFGS',
            peer='1 worker',
            seconds=f'{model.run_.history[-1]["seconds"]:.1f}',
            rows=n_rows,
            columns=N_COLUMNS,
            data_mb=5 * LIMIT_MB,
            limit_mb=LIMIT_MB,
            start_mb=f'{start:.0f}',
            worker_peak_mb=f'{peak:.0f}',
            reads_per_partition=f'{reads / N_PARTS:.2f}',
            spilled_mb=f'{watch.spilled / 1e6:.1f}',
            accuracy=f'{accuracy:.3f}',
        )
    ]


if __name__ == '__main__':
    print(main())
