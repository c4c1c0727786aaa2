"""`repository_url` and `site_url` of settings.ini; both are empty until there is such a place."""

import re
from configparser import ConfigParser
from pathlib import Path
from urllib.parse import quote

SETTINGS = Path(__file__).resolve().parent.parent / 'settings.ini'
BRANCH = 'main'


def of(settings: Path = SETTINGS) -> tuple[str, str]:
    "Addresses of repository and site without a final slash; empty if there is none."
    parser = ConfigParser(delimiters=['='], interpolation=None)
    parser.read(settings, encoding='utf-8')
    values = parser['DEFAULT']
    return values.get('repository_url', '').strip().rstrip('/'), values.get(
        'site_url', ''
    ).strip().rstrip('/')


def launch_links(page: str, settings: Path = SETTINGS) -> dict[str, str]:
    "Links that open a notebook (path from the root) in Colab and Binder; none without an address."
    repository, _ = of(settings)
    if not repository:
        return {}
    found = re.fullmatch(r'https://github\.com/([\w.-]+/[\w.-]+)', repository)
    if found is None:
        raise ValueError(
            f'repository_url = {repository} in {settings.name}, but launch buttons need '
            'https://github.com/OWNER/NAME; leave it empty to have no buttons'
        )
    return {
        'Colab': f'https://colab.research.google.com/github/{found[1]}/blob/{BRANCH}/{quote(page)}',
        'Binder': f'https://mybinder.org/v2/gh/{found[1]}/{BRANCH}?urlpath=lab/tree/{quote(page)}',
    }
