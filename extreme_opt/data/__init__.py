"""Data sets as problems: built in, read from files, fetched, or synthetic with known parameters."""

from extreme_opt.data.multiclass import (
    Gaussians,
    Multiclass,
    class_centroids,
    corpus,
    digits,
    docstring_modules,
    docstrings,
    four_gaussians,
    iris,
    planted_softmax,
    sparse_multiclass,
    stratified_split,
    wine,
)
from extreme_opt.data.pairs import Pairs, Towers, planted_towers, see_also
from extreme_opt.data.comparisons import (
    Triplets,
    docstring_triplets,
    eurodist,
    planted_triplets,
    triplets_from_distances,
)
from extreme_opt.data.formats import (
    Multilabel,
    Ratings,
    Table,
    read_arff,
    read_columns,
    read_edges,
    read_idx,
    read_label_names,
    read_ratings,
    read_sparse,
    read_table,
    read_triplets,
)
from extreme_opt.data.preparation import prepare, unit_rows
from extreme_opt.data.store import cache_folder, cached, load_arrays, save_arrays
from extreme_opt.data.fetching import DATASETS, fetch, unpack
from extreme_opt.data.loading import load, load_options
