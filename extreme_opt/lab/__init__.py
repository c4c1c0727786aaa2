"Any solver on any problem that has what it needs."

from extreme_opt.lab.race import meetings, race, trial

__all__ = ['meetings', 'race', 'trial']
