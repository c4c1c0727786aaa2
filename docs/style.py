"""PYTHONSTARTUP of kernels that `make refresh` and `make lab` start: the look of the figures, and
no line that tells of kernels being compiled."""

__import__('extreme_opt.show', fromlist=['style']).style()
__import__('extreme_opt.core', fromlist=['compiled']).compiled._say_compiling = lambda: None
