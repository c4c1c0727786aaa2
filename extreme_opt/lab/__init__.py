"Any solver on any problem that has what it needs."

from extreme_opt.lab.race import race

__all__ = ['race']
