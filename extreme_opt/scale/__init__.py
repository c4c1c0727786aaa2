"The same problems with their rows on many workers, by way of dask."

from extreme_opt.scale.files import delayed_parts, read_npz, read_parquet, read_svmlight
from extreme_opt.scale.sharded import Sharded, local_client
from extreme_opt.scale.plan import Machine, Plan, Task, best_workers, forecast

__all__ = [
    'Sharded',
    'local_client',
    'delayed_parts',
    'read_npz',
    'read_parquet',
    'read_svmlight',
    'Machine',
    'Plan',
    'Task',
    'best_workers',
    'forecast',
]
