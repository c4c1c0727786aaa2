"""Every figure that a reader can move: its chapter, its page, the question it answers, its knobs,
and where it moves; and pictures of it that show nothing.

python docs/explorations.py        prints the list; the site has it as a page of its own
"""

import ast
import base64
import html
import io
import itertools
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import benchmarks  # noqa: E402
import notebooks  # noqa: E402

KINDS = dict(frames='page and lab', live='lab')


class Exploration(NamedTuple):
    page: str  # path of the notebook below nbs/
    title: str  # of the page
    section: str  # heading it stands under
    question: str  # asked just above or below it
    knobs: tuple  # names of its sliders
    kind: str  # where it moves: "page and lab", or "lab" alone


def calls(source):
    """(name, knobs) of the calls of `frames` and `live` that a cell shows: those whose value is its
    last line."""
    if not any(f'{kind}(' in source for kind in KINDS):
        return []
    try:
        body = notebooks.tree(source).body
    except SyntaxError:
        return []
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    if (
        not isinstance(last, ast.Call)
        or not isinstance(last.func, ast.Name)
        or last.func.id not in KINDS
    ):
        return []
    return [(last.func.id, tuple(key.arg for key in last.keywords if key.arg))]


def asked(text):
    """The last question of a text, as one line without its marks; with the one before it where it
    leans on that."""
    plain = re.sub(r'\$\$.*?\$\$|^```.*?^```', '', text, flags=re.S | re.M)
    plain = re.sub(r'^[|#].*$', '', plain, flags=re.M)
    found = list(
        re.finditer(
            r'(?:^|(?<=[.!?:]\s)|(?<=\n))[A-Z](?:[^.!?$]|\$[^$]*\$|\.(?=\d))*\?', plain, flags=re.M
        )
    )
    if not found:
        return ''
    line, first = found[-1][0], found[-2] if len(found) > 1 else None
    if (
        first
        and not plain[first.end() : found[-1].start()].strip()
        and (len(line.split()) < 9 or re.match(r'(And|So|Then|Or|But)\b', line))
    ):
        line = f'{first[0]} {line}'
    return re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', ' '.join(line.split()))


def near(cells, index):
    """Texts that may ask what a figure answers: its caption, what follows up to the next heading,
    and the section before it, from near to far."""
    texts = [''.join(cell['source']) for cell in cells]
    yield ' '.join(re.findall(r'^#\|\s*fig-cap:\s*(\S.*)$', texts[index], re.M))
    prose = [i for i, cell in enumerate(cells) if cell['cell_type'] == 'markdown']
    yield next((re.split(r'^#', texts[i], flags=re.M)[0] for i in prose if i > index), '')
    for i in reversed([i for i in prose if i < index]):
        yield texts[i].rpartition('\n## ')[2]
        if re.search(r'^##', texts[i], re.M):
            return


def find():
    "All explorations in reading order."
    return [one for path in notebooks.find() for one in of_page(path)]


def of_page(path):
    "The explorations of one notebook."
    cells, head = notebooks.read(path)['cells'], ''
    title = notebooks.source(cells[0]).split('\n')[0].removeprefix('# ')
    for index, cell in enumerate(cells):
        text = notebooks.source(cell)
        if cell['cell_type'] == 'markdown':
            head = (re.findall(r'^##+ (.+)$', text, re.M) or [head])[-1]
        if cell['cell_type'] != 'code' or re.search(r'^#\|\s*export[si]?\b', text, re.M):
            continue
        for name, knobs in calls(text):
            question = next(filter(None, map(asked, near(cells, index))), '')
            page = path.relative_to(notebooks.NBS).as_posix()
            yield Exploration(page, title, head, question, knobs, KINDS[name])


def positions(cell):
    "Settings and pictures of the sliders in a cell's outputs, gray in rows of pixels."
    import numpy as np
    from PIL import Image

    for output in cell.get('outputs', []):
        text = ''.join(output.get('data', {}).get('text/html', ''))
        if 'class="xo-frames"' not in text:
            continue
        knobs = re.findall(r'data-labels="([^"]*)"|data-labels=\'([^\']*)\'', text)
        labels = [json.loads(html.unescape(one or two)) for one, two in knobs]
        pictures = [
            np.asarray(Image.open(io.BytesIO(base64.b64decode(each))).convert('L'))[::2, ::2]
            for each in re.findall(r'src="data:image/png;base64,([^"]+)"', text)
        ]
        yield list(itertools.product(*labels)), pictures


def dull(settings, pictures, least=0.02, empty=0.1):
    """Pairs of neighboring settings whose pictures are alike, and settings whose picture shows
    nothing of what the others show: what all pictures have in common, such as axes, is left out."""
    import numpy as np

    if len({each.shape for each in pictures}) > 1:
        return []
    shown = np.stack(pictures)[:, 20:].astype(int)  # below the title
    own = (shown < 230) & ~(abs(shown - shown[0]) <= 24).all(0)
    drawn, found = own.sum((1, 2)), []
    names = [list(dict.fromkeys(each)) for each in zip(*settings)]
    places = [tuple(map(list.index, names, each)) for each in settings]
    for a, b in itertools.combinations(range(len(settings)), 2):
        if sum(abs(one - two) for one, two in zip(places[a], places[b])) == 1:
            moved = (abs(shown[a] - shown[b]) > 24).sum()
            if moved < least * max(1, (own[a] | own[b]).sum()):
                found.append((settings[a], settings[b]))
    return found + [
        each for each, count in zip(settings, drawn) if count < empty * np.median(drawn)
    ]


def page(found, page_name, names):
    "The list as a page of the site."
    chapters = []
    for folder, part in itertools.groupby(found, lambda one: page_name(one.page).parent.name):
        chapters.append((names.get(folder, folder.capitalize()), list(part)))
    return benchmarks.filled('explorations', found=found, chapters=chapters, page_name=page_name)


def main():
    for one in find():
        print(
            f'{one.page:<44} {one.kind:<13} {", ".join(one.knobs):<28}'
            f' {one.question or "(" + one.section + ")"}'
        )
    return 0


if __name__ == '__main__':
    sys.exit(main())
