"""Grading, student by student. nbgrader calls alembic by its name: it is found beside this Python,
in an environment that is not activated, too."""

import os
import sys
from pathlib import Path

os.environ['PATH'] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ.get('PATH', os.defpath)]
)
