"""Data sets as problems: built in, read from files, fetched, or synthetic with known parameters."""

from extreme_opt.data.multiclass import (
    Multiclass,
    class_centroids,
    digits,
    docstrings,
    four_gaussians,
    iris,
    planted_softmax,
    wine,
)
from extreme_opt.data.pairs import Pairs, planted_towers, see_also
from extreme_opt.data.comparisons import (
    Triplets,
    eurodist,
    planted_triplets,
    triplets_from_distances,
)
from extreme_opt.data.delimited import (
    read_edges,
    read_fields,
    read_ratings,
    read_table,
)
from extreme_opt.data.formats import read_sparse, read_triplets
from extreme_opt.data.preparation import prepare
from extreme_opt.data.sentences import read_conll
from extreme_opt.data.fetching import DATASETS, fetch
from extreme_opt.data.loading import load, load_options

__all__ = [
    'Multiclass',
    'class_centroids',
    'digits',
    'docstrings',
    'four_gaussians',
    'iris',
    'planted_softmax',
    'wine',
    'Pairs',
    'planted_towers',
    'see_also',
    'Triplets',
    'eurodist',
    'planted_triplets',
    'triplets_from_distances',
    'read_edges',
    'read_fields',
    'read_ratings',
    'read_sparse',
    'read_table',
    'read_triplets',
    'read_conll',
    'prepare',
    'DATASETS',
    'fetch',
    'load',
    'load_options',
]
