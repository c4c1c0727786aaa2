"The same problems with their rows on many workers, by way of dask."

from extreme_opt.scale.files import delayed_parts, read_npz, read_parquet, read_svmlight
from extreme_opt.scale.sharded import Sharded, local_client

__all__ = [
    'Sharded',
    'local_client',
    'delayed_parts',
    'read_npz',
    'read_parquet',
    'read_svmlight',
]
