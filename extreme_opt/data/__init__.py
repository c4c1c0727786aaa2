"""Data sets as problems: built in, read from files, fetched, or made up with a known truth."""
from extreme_opt.data.multiclass import Multiclass, docstrings
from extreme_opt.data.store import cache_folder
