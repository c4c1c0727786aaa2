"""Folders in one encrypted file, and out of it again: AES-256 by openssl, the key made of a
passphrase.

The passphrase is read from the environment (COURSE_PASSPHRASE) or asked for, and goes to openssl
over a pipe: it never stands on a command line. Without our programs, such a file is opened by

    openssl enc -d -aes-256-cbc -pbkdf2 -iter 600000 -md sha256 -in FILE -out all.tar.gz
"""

import getpass
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VARIABLE = 'COURSE_PASSPHRASE'
CIPHER = ('enc', '-aes-256-cbc', '-pbkdf2', '-iter', '600000', '-md', 'sha256', '-salt')
SHORTEST = 12


def openssl():
    "Where openssl is."
    found = shutil.which('openssl')
    if found is None:
        raise SystemExit('openssl is not on this machine, and the archive needs it: nothing was done')
    return found


def passphrase(new):
    "From the environment, or asked for; twice where it is new."
    phrase = os.environ.get(VARIABLE)
    if phrase is None:
        if not sys.stdin.isatty():
            raise SystemExit(f'no passphrase: set {VARIABLE}, or call this in a terminal, which asks for it')
        phrase = getpass.getpass('passphrase of the archive: ')
        if new and getpass.getpass('once more: ') != phrase:
            raise SystemExit('these were two passphrases: nothing was done')
    if '\n' in phrase or (new and len(phrase) < SHORTEST):
        raise SystemExit(f'a passphrase is one line of at least {SHORTEST} characters: nothing was done')
    return phrase


def crypt(phrase, source, target, *more):
    "Run openssl; whether it was content."
    done = subprocess.run(
        [openssl(), *CIPHER, *more, '-pass', 'stdin', '-in', str(source), '-out', str(target)],
        input=phrase.encode() + b'\n',
        capture_output=True,
    )
    return done.returncode == 0


def ready(path):
    "The passphrase for a new archive, or the end where it could not be written."
    openssl()
    if path.exists() and not path.read_bytes()[:8] == b'Salted__':
        raise SystemExit(f'{path} is there and is no encrypted archive: nothing was done')
    if not path.parent.is_dir():
        raise SystemExit(f'{path.parent} is no folder: nothing was done')
    return passphrase(new=True)


def pack(path, root, names, phrase):
    """Write folders and files below root into an encrypted archive, and open it once to see that it
    holds them."""
    with tempfile.TemporaryDirectory() as place:
        plain, again, made = (Path(place) / name for name in ('a.tar.gz', 'b.tar.gz', 'c.enc'))
        with tarfile.open(plain, 'w:gz') as tar:
            for name in names:
                tar.add(root / name, name, filter=lambda one: None if '__pycache__' in one.name else one)
        if not crypt(phrase, plain, made) or not crypt(phrase, made, again, '-d'):
            raise SystemExit('openssl could not write the archive: nothing was written')
        if again.read_bytes() != plain.read_bytes():
            raise SystemExit('the archive does not hold what was put in: nothing was written')
        shutil.copy(made, path)


def unpack(path, out):
    "Open an archive in an empty folder."
    openssl()
    if out.exists() and any(out.iterdir()):
        raise SystemExit(f'{out} is not empty: nothing was done')
    with tempfile.TemporaryDirectory() as place:
        plain = Path(place) / 'a.tar.gz'
        # a wrong key passes openssl once in some hundred times; then it is no archive
        if not crypt(passphrase(new=False), path, plain, '-d') or not tarfile.is_tarfile(plain):
            raise SystemExit(f'{path} does not open with this passphrase, or is damaged')
        with tarfile.open(plain) as tar:
            for one in (members := tar.getmembers()):
                inside = (out / one.name).resolve().is_relative_to(out)
                if not inside or not (one.isfile() or one.isdir()):
                    raise SystemExit(f'{path} holds {one.name}, which does not belong into {out}')
            files = [one for one in members if one.isfile()]
            for one in files:
                (out / one.name).parent.mkdir(parents=True, exist_ok=True)
                (out / one.name).write_bytes(tar.extractfile(one).read())
    print(f'{out}: {len(files)} files')
