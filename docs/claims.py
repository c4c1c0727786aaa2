"""Comparisons of pages, on seeds that they were not written with.

    python docs/claims.py [NAME ...]        what share of the seeds each claim held on
    python docs/claims.py run [NAME ...]    run the claims of the pages that changed (or are named)
                                            on eight seeds and keep the result in docs/claims.csv
    python docs/claims.py refresh [NAME ...]
                                            the same, and the page's outputs as `make refresh` does
    python docs/claims.py sentences [NAME ...]
                                            sentences that compare and claims of each page; those
                                            of a named page are printed
    python docs/claims.py keep              keep these counts in docs/comparisons.csv, above which
                                            a page may not grow without a claim

A sentence that compares, ranks or gives a reason for a number stands above a cell

    # claim: lag
    def claim_lag(seed):
        "What the sentence says, of data, starts and draws that come from the seed."
        ...
        return dict(holds=..., a_number=...)

It returns a bool, or a dict with `holds` and the numbers that it rests on. The page runs it with
its own seed 0, `make slow` with the seeds 1 to 8; the site shows the share at the cell.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import notebooks

TABLE = notebooks.ROOT / 'docs' / 'claims.csv'
KEPT = notebooks.ROOT / 'docs' / 'comparisons.csv'
SEEDS = range(1, 9)
ENOUGH = 7  # of eight: a claim that holds less often is reworded or taken out
LABEL = re.compile(r'^\s*# claim: (\w+)\s*$', re.M)
# words of comparisons, ranks, soft sizes and reasons
COMPARES = re.compile(
    r"""\b(faster|fastest|slower|slowest|better|best|worse|worst|cheaper|cheapest|nearer|nearest|
    closer|closest|sooner|ahead|behind|outperforms?|beats?|wins?|won|loses|pays|harmless|much|
    level(?!\s+(?:of|set|at))|roughly|about(?=\s+(?:\d|an?\b|as\b|the\s+same|equal|half|one|two|three
    |ten|twice|level))|approximately|usually|often|hardly|nearly|almost|barely|mostly|typically|
    slightly|clearly|rarely|seldom|(?:a\s+few|several|many)\s+times|far|because|the\s+reason)\b""",
    re.X | re.I,
)
# sections that ask, define or cite
OTHER = ('Symbols', 'Words', 'Exercises', 'Further reading', 'Next', 'Try it')
RUN = """
import json
def _result(function, seed):
    try:
        result = function(seed)
    except Exception as error:
        return dict(holds=False, error=f'{type(error).__name__}: {error}'[:200])
    result = dict(result) if isinstance(result, dict) else dict(holds=result)
    return {name: value if isinstance(value, str) else bool(value) if name == 'holds'
            else float(f'{float(value):.3g}') for name, value in result.items()}
print('claims ' + json.dumps(
    {name: [_result(globals()['claim_' + name], seed) for seed in SEEDS] for name in NAMES}))
"""


class Claim(NamedTuple):
    "A row of the table."

    page: str
    name: str
    held: int
    of: int
    numbers: str  # smallest and largest of each number that the seeds gave
    code: str  # digest of the page's code that was run


def labels(text: str) -> list[str]:
    "Names of the claims of a cell."
    return LABEL.findall(text)


def claims_of(notebook: dict) -> list[str]:
    "Names of all claims of a page; each has a function in the cell that carries its label."
    found = []
    for index, cell in enumerate(notebook['cells']):
        if cell['cell_type'] != 'code':
            continue
        text = notebooks.source(cell)
        defined = (
            {
                node.name
                for node in ast.parse(re.sub(r'^\s*[%!].*', '', text, flags=re.M)).body
                if isinstance(node, ast.FunctionDef)
            }
            if labels(text)
            else set()
        )
        for name in labels(text):
            if f'claim_{name}' not in defined:
                where = notebooks.describe(notebook, index)
                raise ValueError(f'{where}: has no function claim_{name}(seed); define it there')
            found.append(name)
    if len(set(found)) < len(found):
        raise ValueError(f'two claims of a page have one name: {", ".join(found)}; rename one')
    return found


def pages(names=()) -> list[tuple[Path, list[str]]]:
    "Pages that make claims, with the names of the claims."
    found = [(path, claims_of(notebooks.read(path))) for path in notebooks.find(names)]
    return [(path, claims) for path, claims in found if claims]


def read() -> list[Claim]:
    "The table as it is kept."
    if not TABLE.exists():
        return []
    with TABLE.open(encoding='utf-8', newline='') as file:
        return [
            Claim(**{**row, 'held': int(row['held']), 'of': int(row['of'])})
            for row in csv.DictReader(file)
        ]


def span(results: list[dict]) -> str:
    "Smallest and largest of each number that the seeds gave."
    said = []
    for name in dict.fromkeys(name for result in results for name in result if name != 'holds'):
        values = [result[name] for result in results if name in result]
        texts = sorted({value for value in values if isinstance(value, str)})
        said.append(
            f'{name}: {"; ".join(texts)}' if texts else f'{name} {min(values):g} to {max(values):g}'
        )
    return ', '.join(said)


def run(path: Path, claims: list[str], seeds=SEEDS, refresh=False) -> list[Claim]:
    "Execute a page, then its claims on other seeds; with `refresh` keep the page's outputs."
    code = f'SEEDS, NAMES = {list(seeds)}, {claims}{RUN}'
    done = notebooks.execute(path, then=code).notebook
    outputs = done['cells'].pop()['outputs']
    if refresh:
        notebooks.write(notebooks.stamp(done), path)
    text = ''.join(''.join(out.get('text', '')) for out in outputs)
    found = json.loads(re.search(r'^claims (.*)$', text, re.M)[1])
    page, digest = name_of(path), notebooks.code_hash(notebooks.read(path))
    return [
        Claim(
            page,
            name,
            sum(one['holds'] for one in found[name]),
            len(seeds),
            span(found[name]),
            digest,
        )
        for name in claims
    ]


def name_of(path: Path) -> str:
    return path.relative_to(notebooks.NBS).with_suffix('').as_posix()


def run_all(names=(), refresh=False) -> int:
    "Run the claims of pages that were named, or whose code has changed; 1 if one does not hold."
    rows = {(row.page, row.name): row for row in read()}
    there = {(name_of(path), name) for path, claims in pages() for name in claims}
    for path, claims in pages(names):
        digest = notebooks.code_hash(notebooks.read(path))
        kept = [rows.get((name_of(path), name)) for name in claims]
        if names or any(row is None or row.code != digest for row in kept):
            for row in run(path, claims, refresh=refresh):
                rows[row.page, row.name] = row
                print(line(row), flush=True)
    rows = {key: row for key, row in rows.items() if key in there}
    with TABLE.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(Claim._fields)
        writer.writerows(rows[key] for key in sorted(rows))
    return int(any(row.held < ENOUGH for row in rows.values()))


def line(row: Claim) -> str:
    return f'{row.held} of {row.of}  {row.page}  {row.name}  {row.numbers}'


def comparisons(notebook: dict) -> list[tuple[int, str]]:
    "(cell, sentence) of prose that compares, ranks, gives a reason or uses a soft word."
    found, here = [], True
    for index, cell in enumerate(notebook['cells']):
        if cell['cell_type'] != 'markdown':
            continue
        text = re.sub(r'(?<!\\)\$\$.+?\$\$', ' (formula) ', notebooks.source(cell), flags=re.S)
        text = re.sub(r'^\s*(\||> ).*$|```.*?```', '', text, flags=re.M)
        for block in re.split(r'\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|#+) )', text):
            block = ' '.join(block.split())
            if block.startswith('#'):
                here = not block.lstrip('# ').startswith(OTHER)
            elif here:
                sentences = re.split(r'(?<=[.!?])\s+(?=[A-Z*$`\[])', block)
                # with a formula, "because" is a step of a derivation
                found += [
                    (index, each)
                    for each in sentences
                    if COMPARES.search(each.replace('because', '') if '$' in each else each)
                ]
    return found


def counts(names=()) -> dict[str, tuple[int, int]]:
    "Sentences that compare, and claims, of each page of Learn, Use and Evidence."
    return {
        name_of(path): (len(comparisons(notebook)), len(claims_of(notebook)))
        for path in notebooks.find(names)
        if not name_of(path).startswith(('engine', 'index'))
        for notebook in [notebooks.read(path)]
    }


def kept() -> dict[str, tuple[int, int]]:
    "The counts as they are kept."
    with KEPT.open(encoding='utf-8', newline='') as file:
        return {
            row['page']: (int(row['sentences']), int(row['claims'])) for row in csv.DictReader(file)
        }


def grown(now: dict, before: dict) -> list[str]:
    "Pages on which comparisons were added without a claim."
    return [
        f'nbs/{page}.ipynb has {sentences} sentences that compare and {claims} claims, before'
        f' {old_sentences} and {old_claims}; give a claim or reword (python docs/claims.py'
        f' sentences {page}), then python docs/claims.py keep'
        for page, (sentences, claims) in now.items()
        for old_sentences, old_claims in [before.get(page, (0, 0))]
        if sentences - old_sentences > max(0, claims - old_claims)
    ]


def show_counts(names) -> int:
    "Print the table, and the sentences of pages that were named."
    total = [0, 0]
    print(f'{"page":44}{"sentences":>10}{"claims":>8}')
    for page, (sentences, claims) in counts(names).items():
        print(f'{page:44}{sentences:10}{claims:8}')
        total = [total[0] + sentences, total[1] + claims]
        for index, sentence in comparisons(notebooks.read(notebooks.NBS / f'{page}.ipynb')):
            if names:
                print(f'    [{index}] {sentence}')
    print(f'{"all":44}{total[0]:10}{total[1]:8}')
    return 0


def keep_counts() -> int:
    with KEPT.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(('page', 'sentences', 'claims'))
        writer.writerows((page, *pair) for page, pair in counts().items())
    return 0


def mark(page: str, name: str) -> str:
    "What the site says at a claim."
    for row in read():
        if (row.page, row.name) == (page, name):
            return f'claim {name}: holds on {row.held} of {row.of} other seeds'
    return f'claim {name}: not yet run on other seeds'


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('names', nargs='*')
    names = parser.parse_args(argv).names
    if names[:1] in (['run'], ['refresh']):
        return run_all(names[1:], refresh=names[0] == 'refresh')
    if names[:1] == ['sentences']:
        return show_counts(names[1:])
    if names == ['keep']:
        return keep_counts()
    rows = {(row.page, row.name): row for row in read()}
    for path, claims in pages(names):
        for name in claims:
            row = rows.get((name_of(path), name))
            print(line(row) if row else f'not run  {name_of(path)}  {name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
