"""Version and addresses in pyproject.toml; addresses are empty until there is such a place."""

import re
import tomllib
from pathlib import Path
from urllib.parse import quote

SETTINGS = Path(__file__).resolve().parent.parent / 'pyproject.toml'
BRANCH = 'main'


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


def launch_links(page: str, settings: Path = SETTINGS) -> dict[str, str]:
    "Links that open a notebook (path from the root) in Colab and Binder; none without an address."
    repository, _ = of(settings)
    if not repository:
        return {}
    found = re.fullmatch(r'https://github\.com/([\w.-]+/[\w.-]+)', repository)
    if found is None:
        raise ValueError(
            f'Repository = {repository} in {settings.name}, but launch buttons need '
            'https://github.com/OWNER/NAME; leave it out to have no buttons'
        )
    return {
        'Colab': f'https://colab.research.google.com/github/{found[1]}/blob/{BRANCH}/{quote(page)}',
        'Binder': f'https://mybinder.org/v2/gh/{found[1]}/{BRANCH}?urlpath=lab/tree/{quote(page)}',
    }
