"The look of the book's figures: PYTHONSTARTUP of kernels that `make refresh` and `make lab` start."

__import__('extreme_opt.show', fromlist=['style']).style()
