"""Most memory of this process; plain Python, so that rivals' processes can ask too."""

import sys


def peak_mb() -> float:
    """Most memory that this process has held, MB. A child's `ru_maxrss` begins at its parent's, so
    Linux is asked for the peak of the address space."""
    try:
        with open('/proc/self/status', encoding='ascii') as file:
            return round(
                next(int(line.split()[1]) for line in file if line.startswith('VmHWM:')) / 1024, 1
            )
    except (OSError, StopIteration):
        import resource

        return round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            / (2**20 if sys.platform == 'darwin' else 2**10),
            1,
        )
