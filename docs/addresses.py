"""Version and addresses in pyproject.toml; addresses are empty until there is such a place."""

import re
import tomllib
from pathlib import Path

SETTINGS = Path(__file__).resolve().parent.parent / 'pyproject.toml'


def of(settings: Path = SETTINGS) -> tuple[str, str]:
    "Addresses of repository and site without a final slash; empty if there is none."
    urls = tomllib.loads(settings.read_text(encoding='utf-8'))['project'].get('urls', {})
    return urls.get('Repository', '').rstrip('/'), urls.get('Documentation', '').rstrip('/')


def version() -> str:
    "Version of the package."
    text = (SETTINGS.parent / 'extreme_opt/__init__.py').read_text(encoding='utf-8')
    found = re.search(r'^__version__ = "(.+)"$', text, flags=re.M)
    assert found is not None
    return found[1]
