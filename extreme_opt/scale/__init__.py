"The same problems with their rows on many workers, by way of dask."

from extreme_opt.scale.estimators import lent
from extreme_opt.scale.files import (
    Recipe,
    delayed_parts,
    file_parts,
    open_file,
    read_maps,
    read_npz,
    read_parquet,
    read_svmlight,
    save_part,
)
from extreme_opt.scale.sharded import Sharded, local_client
from extreme_opt.scale.plan import Machine, Plan, Task, best_workers, forecast
from extreme_opt.scale.shards import Part, parts_of, product_bytes, step_bytes
from extreme_opt.scale.softmax_blocks import Rotation, rotate, rotation_bytes

__all__ = [
    'Part',
    'Sharded',
    'local_client',
    'parts_of',
    'Recipe',
    'delayed_parts',
    'file_parts',
    'open_file',
    'read_maps',
    'read_npz',
    'read_parquet',
    'read_svmlight',
    'save_part',
    'Rotation',
    'rotate',
    'lent',
    'Machine',
    'Plan',
    'Task',
    'best_workers',
    'forecast',
    'product_bytes',
    'rotation_bytes',
    'step_bytes',
]
