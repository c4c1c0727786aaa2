"""Grading, student by student. nbgrader calls alembic by its name: it is found beside this Python,
in an environment that is not activated, too."""

import contextlib
import os
import sqlite3
import sys
import time
from pathlib import Path

os.environ['PATH'] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ.get('PATH', os.defpath)]
)


def keep_gradebook(room):
    "A copy of the gradebook in backups/, named by the time; None where there is none yet."
    book = room / 'gradebook.db'
    if not book.exists():
        return None
    (room / 'backups').mkdir(exist_ok=True)
    copy = room / 'backups' / time.strftime('gradebook-%Y%m%d-%H%M%S.db')
    number = 1
    while copy.exists():
        number += 1
        copy = copy.with_name(f'{copy.stem.rsplit("_", 1)[0]}_{number}.db')
    try:
        with (
            contextlib.closing(sqlite3.connect(f'{book.as_uri()}?mode=ro', uri=True)) as old,
            contextlib.closing(sqlite3.connect(copy)) as new,
        ):
            old.backup(new)
    except sqlite3.Error as error:
        copy.unlink(missing_ok=True)
        raise SystemExit(f'{book} cannot be read ({error}): nothing was done') from None
    return copy
