"""Check a built site: every local link, picture, script and #fragment leads somewhere, and nothing
is fetched from outside.

python docs/links.py [_docs]
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {
    ('script', 'src'),
    ('img', 'src'),
    ('link', 'href'),
    ('iframe', 'src'),
    ('source', 'src'),
    ('video', 'src'),
    ('audio', 'src'),
}


COLORS = re.compile('<span class="[^">]*">|</span>')  # of code: nine tags of ten


class Page(HTMLParser):
    "Collects the ids of a page, its links, and what a browser would fetch for it."

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.fetched = [], [], []
        self.feed(COLORS.sub('', text))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if attrs.get('id'):
            self.ids.append(attrs['id'])
        if tag == 'a' and attrs.get('name'):
            self.ids.append(attrs['name'])
        for key in ('href', 'src'):
            if not attrs.get(key):
                continue
            kind = (
                self.fetched
                if (tag, key) in FETCHED and attrs.get('rel') not in ('canonical', 'search')
                else self.links
            )
            kind.append(attrs[key])


def check(site, offline=True):
    """List what is broken in the folder `site`, one line each; with `offline`, also whatever comes
    from another host."""
    site, wrong = Path(site).resolve(), []
    pages = {
        path: Page(path.read_text(encoding='utf-8'))
        for path in sorted(site.rglob('*.html'))
        if '_static' not in path.parts
    }
    for path, page in pages.items():
        name = path.relative_to(site)
        for twice in sorted({i for i in page.ids if page.ids.count(i) > 1}):
            wrong.append(f'{name}: id `{twice}` is there {page.ids.count(twice)} times')
        for href in dict.fromkeys(page.links + page.fetched):
            parts = urlsplit(href)
            if parts.scheme in ('data', 'mailto', 'javascript'):
                continue
            if parts.scheme or parts.netloc:
                if offline and href in page.fetched:
                    wrong.append(f'{name}: fetches {href} from another host')
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve()
                if not parts.path.startswith('/')
                else site / unquote(parts.path).lstrip('/')
            )
            if not parts.path:
                target = path
            if target.is_dir():
                target /= 'index.html'
            if not target.is_file():
                wrong.append(f'{name}: {href} leads nowhere')
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].ids
            ):
                wrong.append(f'{name}: {href}: that page has no `{parts.fragment}`')
    for path in sorted(site.rglob('*.css')):
        for url in re.findall(
            r'url\(\s*["\']?([^"\')]+)|@import\s+["\']([^"\']+)', path.read_text(encoding='utf-8')
        ):
            url = url[0] or url[1]
            parts = urlsplit(url)
            if parts.scheme == 'data' or url.startswith('#'):
                continue
            if parts.scheme or parts.netloc:
                wrong += [f'{path.relative_to(site)}: fetches {url} from another host'] * offline
            elif not (path.parent / unquote(parts.path)).is_file():
                wrong.append(f'{path.relative_to(site)}: {url} leads nowhere')
    return wrong


if __name__ == '__main__':
    found = check(sys.argv[1] if len(sys.argv) > 1 else '_docs')
    print('\n'.join(found) or 'all links lead somewhere, nothing comes from outside')
    sys.exit(bool(found))
