"The same problems with their rows on many workers, by way of dask."
from extreme_opt.scale.sharded import Sharded, local_client
from extreme_opt.scale.shards import Part, parts_of

__all__ = ['Part', 'Sharded', 'local_client', 'parts_of']
