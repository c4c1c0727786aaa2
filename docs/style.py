"""PYTHONSTARTUP of kernels that `make refresh` and `make lab` start: the look of the figures, and
no line that tells of kernels being compiled. Where a test asks whether a page runs, its figures are
drawn, all positions of sliders too, but small and without a layout."""

__import__('extreme_opt.show', fromlist=['style']).style()
__import__('extreme_opt.core', fromlist=['compiled']).compiled._say_compiling = lambda: None
if __import__('os').environ.get('EXTREME_OPT_DRAFT'):
    __import__('runpy').run_path(__file__.replace('style.py', 'draft.py'))
