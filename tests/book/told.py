"What a command prints."

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tell(*command, ends_well=False, **options):
    "Run a command in the repository, unless `cwd` says where, and keep what it prints."
    given = dict(cwd=ROOT, capture_output=True, text=True, timeout=600) | options
    done = subprocess.run([str(part) for part in command], **given)
    if ends_well:
        assert done.returncode == 0, f'{command}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}'
    return done
