"""Grading, student by student. nbgrader calls alembic by its name: it is found beside this Python,
in an environment that is not activated, too."""

import contextlib
import os
import shutil
import sqlite3
import sys
import time
from pathlib import Path

os.environ['PATH'] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ.get('PATH', os.defpath)]
)


def spare(path, folder):
    "A name for a copy in a folder, with the time, that is not taken."
    folder.mkdir(parents=True, exist_ok=True)
    stamp, number = time.strftime('%Y%m%d-%H%M%S'), 1
    while (copy := folder / f'{path.stem}-{stamp}-{number}{path.suffix}').exists():
        number += 1
    return copy


def keep(path, folder, move=False):
    "A copy of a file in another folder, or the file itself."
    (shutil.move if move else shutil.copy)(path, spare(path, folder))


def keep_gradebook(room):
    "A copy of the gradebook in backups/, named by the time; None where there is none yet."
    book = room / 'gradebook.db'
    if not book.exists():
        return None
    copy = spare(book, room / 'backups')
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
