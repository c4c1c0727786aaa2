"""Comparisons of pages, on seeds that they were not written with.

    python docs/claims.py [NAME ...]        what share of the seeds each claim held on
    python docs/claims.py run [NAME ...]    run the claims of the pages that changed (or are named)
                                            on eight seeds and keep the result in docs/claims.csv

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
SEEDS = range(1, 9)
ENOUGH = 7  # of eight: a claim that holds less often is reworded or taken out
LABEL = re.compile(r'^\s*# claim: (\w+)\s*$', re.M)
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


def run(path: Path, claims: list[str], seeds=SEEDS) -> list[Claim]:
    "Execute a page, then its claims on other seeds."
    code = f'SEEDS, NAMES = {list(seeds)}, {claims}{RUN}'
    done = notebooks.execute(path, then=code).notebook
    outputs = done['cells'][-1]['outputs']
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


def run_all(names=()) -> int:
    "Run the claims of pages that were named, or whose code has changed; 1 if one does not hold."
    rows = {(row.page, row.name): row for row in read()}
    there = {(name_of(path), name) for path, claims in pages() for name in claims}
    for path, claims in pages(names):
        digest = notebooks.code_hash(notebooks.read(path))
        kept = [rows.get((name_of(path), name)) for name in claims]
        if names or any(row is None or row.code != digest for row in kept):
            for row in run(path, claims):
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
    if names[:1] == ['run']:
        return run_all(names[1:])
    rows = {(row.page, row.name): row for row in read()}
    for path, claims in pages(names):
        for name in claims:
            row = rows.get((name_of(path), name))
            print(line(row) if row else f'not run  {name_of(path)}  {name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
