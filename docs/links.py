"""Check a built site: every local link, picture, script and #fragment leads somewhere, and nothing
is fetched from outside.

python docs/links.py [_docs]
"""

import functools
import json
import re
import sys
from collections import Counter
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


def pages_of(site: Path, kept: Path | None) -> dict[Path, tuple[list, list, list]]:
    "Ids, links and what is fetched of every page; `kept` remembers pages that are as they were."
    known = json.loads(kept.read_text(encoding='utf-8')) if kept and kept.exists() else {}
    found = {}
    for path in sorted(site.rglob('*.html')):
        if '_static' in path.parts:
            continue
        name, said = str(path), path.stat()
        if known.get(name, [None])[0] != [said.st_mtime_ns, said.st_size]:
            page = Page(path.read_text(encoding='utf-8'))
            parts = page.ids, page.links, page.fetched
            known[name] = [[said.st_mtime_ns, said.st_size], *parts]
        found[path] = tuple(known[name][1:])
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        there = {str(path): known[str(path)] for path in found}
        kept.write_text(json.dumps(there), encoding='utf-8')
    return found


def check(site, offline=True, kept=None):
    """List what is broken in the folder `site`, one line each; with `offline`, also whatever comes
    from another host. `kept`: a file that remembers the pages for the next check."""
    site, wrong = Path(site).resolve(), []
    pages = pages_of(site, kept)
    known = {path: set(ids) for path, (ids, _, _) in pages.items()}

    @functools.cache
    def target_of(folder, path):
        "The file that a path leads to, seen from a folder; None where there is none."
        target = site / path.lstrip('/') if path.startswith('/') else (folder / path).resolve()
        target = target / 'index.html' if target.is_dir() else target
        return target if target.is_file() else None

    for path, (ids, links, fetched) in pages.items():
        name = path.relative_to(site)
        for twice, count in Counter(ids).items():
            if count > 1:
                wrong.append(f'{name}: id `{twice}` is there {count} times')
        for href in dict.fromkeys(links + fetched):
            parts = urlsplit(href)
            if parts.scheme in ('data', 'mailto', 'javascript'):
                continue
            if parts.scheme or parts.netloc:
                if offline and href in fetched:
                    wrong.append(f'{name}: fetches {href} from another host')
                continue
            target = target_of(path.parent, unquote(parts.path)) if parts.path else path
            if target is None:
                wrong.append(f'{name}: {href} leads nowhere')
            elif parts.fragment and unquote(parts.fragment) not in known.get(
                target, {unquote(parts.fragment)}
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
