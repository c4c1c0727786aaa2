"""Data sets as problems: built in, read from files, fetched, or made up with a known truth."""
from extreme_opt.data.multiclass import (Multiclass, Gaussians, corpus, docstrings, docstring_modules, digits, iris, wine, held_out,
                                         class_centroids, planted_softmax, sparse_multiclass, four_gaussians)
from extreme_opt.data.pairs import Pairs, Towers, see_also, planted_towers
from extreme_opt.data.comparisons import (Triplets, docstring_triplets, eurodist, planted_triplets, triplets_from_distances)
from extreme_opt.data.formats import (Multilabel, Ratings, Table, read_arff, read_columns, read_edges, read_idx, read_label_names,
                                      read_ratings, read_sparse, read_table, read_triplets)
from extreme_opt.data.preparation import prepare, unit_rows
from extreme_opt.data.store import cache_folder, cached, load_arrays, save_arrays
from extreme_opt.data.fetching import DATASETS, fetch, unpack
from extreme_opt.data.loading import load, load_options
