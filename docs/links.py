"""Check a built site: every local link, picture, script and #fragment leads somewhere, and nothing
is fetched from outside.

python docs/links.py [_docs]
"""

import functools
import json
import os
import re
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

TAGS = 'script img iframe source video audio'.split()
FETCHED = {('link', 'href'), *((tag, 'src') for tag in TAGS)}
# what is text for a browser, though it looks like tags; and colors of code, nine tags of ten
TEXTS = re.compile('(<script[^>]*>).*?</script>|<!--.*?-->|<span class="[^">]*">|</span>', re.S)
TAG = re.compile(
    r"""<([a-z]\w*)((?:\s+[^\s"'>=]+(?:=(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*)\s*/?>""", re.I
)
ATTRIBUTE = re.compile(r"""\s(id|name|href|src|rel)=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)


class Page:
    "The ids of a page, its links, and what a browser would fetch for it."

    def __init__(self, text):
        self.ids, self.links, self.fetched = [], [], []
        for tag, inside in TAG.findall(TEXTS.sub(r'\1', text)):
            attrs = {name.lower(): a or b or c for name, a, b, c in ATTRIBUTE.findall(inside)}
            attrs = {name: unescape(value) for name, value in attrs.items() if value}
            names = attrs.get('id'), tag == 'a' and attrs.get('name')
            self.ids += [name for name in names if name]
            for key in {'href', 'src'} & attrs.keys():
                known = (tag, key) in FETCHED and attrs.get('rel') not in ('canonical', 'search')
                (self.fetched if known else self.links).append(attrs[key])


def stamp_of(path: Path) -> list[int]:
    said = path.stat()
    return [said.st_mtime_ns, said.st_size]


def remembered(kept: Path | None) -> dict[str, list]:
    "What an earlier check knows of pages, by path: stamp, ids, links, what is fetched."
    return json.loads(kept.read_text(encoding='utf-8')) if kept and kept.exists() else {}


def pages_of(site: Path, kept: Path | None) -> dict[str, tuple[list, list, list]]:
    "Ids, links and what is fetched of every page; `kept` remembers pages that are as they were."
    known, found = remembered(kept), {}
    for path in sorted(site.rglob('*.html')):
        if '_static' in path.parts:
            continue
        name, stamp = str(path), stamp_of(path)
        if known.get(name, [None])[0] != stamp:
            page = Page(path.read_text(encoding='utf-8'))
            known[name] = [stamp, page.ids, page.links, page.fetched]
        found[name] = tuple(known[name][1:])
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({name: known[name] for name in found}), encoding='utf-8')
    return found


def check(site, offline=True, kept=None):
    """List what is broken in the folder `site`, one line each; with `offline`, also whatever comes
    from another host. `kept`: a file that remembers the pages for the next check."""
    site, wrong = Path(site).resolve(), []
    pages = pages_of(site, kept)
    known = {path: set(ids) for path, (ids, _, _) in pages.items()}

    @functools.cache
    def fault(folder: str, href: str, fetched: bool) -> str:
        "What is wrong with a link of a page in a folder that leads to another page."
        parts = urlsplit(href)
        if parts.scheme in ('data', 'mailto', 'javascript'):
            return ''
        if parts.scheme or parts.netloc:
            return f'fetches {href} from another host' if offline and fetched else ''
        path, fragment = unquote(parts.path), unquote(parts.fragment)
        base = str(site) if path.startswith('/') else folder
        target = os.path.normpath(os.path.join(base, path.lstrip('/')))
        target = os.path.join(target, 'index.html') if os.path.isdir(target) else target
        if not os.path.isfile(target):
            return f'{href} leads nowhere'
        lost = fragment and fragment not in known.get(target, {fragment})
        return f'{href}: that page has no `{parts.fragment}`' if lost else ''

    for path, (ids, links, fetched) in pages.items():
        folder, file = os.path.split(path)
        name = os.path.relpath(path, site)
        for twice, count in Counter(ids).items():
            if count > 1:
                wrong.append(f'{name}: id `{twice}` is there {count} times')
        loaded = set(fetched)
        for href in dict.fromkeys(links + fetched):
            within = file if href[:1] in '#?' else ''
            if said := fault(folder, within + href, href in loaded):
                wrong.append(f'{name}: {said.replace(within + href, href, 1)}')
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
