"""Comparisons of pages, on seeds that they were not written with.

    python docs/claims.py [NAME ...]        what share of the seeds each claim held on
    python docs/claims.py run [NAME ...]    run the claims of the pages that changed (or are named)
                                            on eight seeds and keep the result in docs/claims.csv
    python docs/claims.py refresh [NAME ...]
                                            the same, and the page's outputs as `make refresh` does
    python docs/claims.py sentences [NAME ...]
                                            sentences that compare, by what proves them, and claims
                                            of each page; those of a named page are printed

A sentence that compares, ranks or gives a reason for a number stands above a cell

    # claim: lag
    def claim_lag(seed):
        "What the sentence says, of data, starts and draws that come from the seed."
        ...
        return dict(holds=..., a_number=...)

A sentence whose neighbor cells assert something counts as proved by a check, on the page's seed;
where those cells and all that they read draw nothing, no seed enters, and it is listed as exact.

It returns a bool, or a dict with `holds` and the numbers that it rests on. The page runs it with
its own seed 0, `make slow` with the seeds 1 to 8; the site shows the share at the cell.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
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
# words of comparisons, ranks, soft sizes and reasons
COMPARES = re.compile(
    r"""\b(faster|fastest|slower|slowest|better|worse|cheaper|cheapest|nearer|closer|closest|sooner|
    ahead|behind(?!\s+(?:it|them|this|that|these|those|an?|the|each|both)\b)|outperforms?|beats?
    |wins?|won|loses|pays|harmless|much(?=\s+\w+er\b|\s+(?:more|less|the\s+same|alike|better))
    |level(?!\s+(?:of|set|at))|roughly
    |about(?=\s+(?:\d|as\b|the\s+same|equal|half|two|three|ten|twice|level
    |(?:an?|one)\s+(?:third|half|quarter|fifth|tenth|dozen|hundred|thousand|million|point|nat)))
    |approximately|usually|often|hardly|nearly|almost|barely|mostly|typically|slightly|clearly
    |rarely|seldom|(?:a\s+few|several|many)\s+times|by\s+far
    |far(?=\s+(?:above|below|ahead|behind|from|off|more|less|better|worse|too|\w+er)\b)
    |(?:is|are|was|were|does|do|did|works?|fits?|learns?)\s+(?:\w+\s+)?(?:best|worst)
    |(?:the|by\s+far\s+the)\s+(?:best|worst)\s+(?:of|method|rule|choice|estimator|baseline|loss)
    |(?:end|gain|cost|need|take|lose)s?\s+(?:\w+\s+)?(?:lower|higher|less|more|fewer)(?=\s+than)
    |because|the\s+reason)\b""",
    re.X | re.I,
)
# the same words as terms: what an answer of a comparison says, what a mean or a proof names
TERMS = re.compile(
    r""""[^"]*"|`[^`]*`
    |\bnearer\s+(?:to\s+\$\s+than|to\s+a\s+third|one\b|object\b|pair\b)|\bis\s+the\s+nearer\b
    |\bclose\s+calls?\b|\blag\w*\b[^.]*?\bbehind\b
    |\balmost\s+(?:surely|everywhere|all\s+points)|\bnearly\s+free\b|\b(?:so|as|how|too)\s+far\b
    |\bbe(?:st|tter)\s+of\s+(?:two|three|\w+)\s+rates\b|\bcheapest\s+weights\b
    |\bbetter\s+(?:word|name)\b|\b(?:more|as)\s+often\s+(?:as|than)\b|\bhow\s+(?:often|much)\b""",
    re.X | re.I,
)
SOURCE = re.compile(
    r'\b(?:19|20)\d\d\b|https?://|\b(?:Table|Figure|Section|Theorem|Lemma|Algorithm|Proposition)\s+\d'
    r"|\b(?:[Tt]he|[Tt]hat|[Tt]heir)\s+(?:paper|papers|theorem|report|proof|text)\b"
    r"|\bpaper's|\bet al\b|\bpublished\b|\bpublic\s+code\b|\b[Ii]n\s+print\b"
)
# names of what draws, beside those of this package that take a seed
DRAWS = {'rng', 'seed', 'random', 'random_state', 'default_rng', 'stream', 'shuffle', 'permutation'}
DRAWS |= {'train_test_split', 'LinearSVC', 'SGDClassifier', 'KMeans', 'MDS', 'init_params'}
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


class Comparison(NamedTuple):
    "A sentence that compares."

    cell: int
    text: str
    proof: str  # claim, check, exact, interval, source, page, derivation, or nothing


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
            {node.name for node in notebooks.tree(text).body if isinstance(node, ast.FunctionDef)}
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
    held = {name: sum(one['holds'] for one in found[name]) for name in claims}
    return [Claim(page, name, held[name], len(seeds), span(found[name]), digest) for name in claims]


def name_of(path: Path) -> str:
    return path.relative_to(notebooks.NBS).with_suffix('').as_posix()


def run_all(names=(), refresh=False) -> int:
    "Run the claims of pages that were named, or whose code has changed; 1 if one does not hold."
    rows = {(row.page, row.name): row for row in read()}
    there = {(name_of(path), name) for path, claims in pages() for name in claims}
    rows = {key: row for key, row in rows.items() if key in there}
    for path, claims in pages(names):
        digest = notebooks.code_hash(notebooks.read(path))
        kept = [rows.get((name_of(path), name)) for name in claims]
        if names or any(row is None or row.code != digest for row in kept):
            for row in run(path, claims, refresh=refresh):
                rows[row.page, row.name] = row
                print(line(row), flush=True)
            write(rows)
    write(rows)
    return int(any(row.held < ENOUGH for row in rows.values()))


def write(rows: dict[tuple[str, str], Claim]) -> None:
    "Keep the table."
    with TABLE.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(Claim._fields)
        writer.writerows(rows[key] for key in sorted(rows))


def line(row: Claim) -> str:
    return f'{row.held} of {row.of}  {row.page}  {row.name}  {row.numbers}'


def compares(sentence: str) -> bool:
    "Whether a sentence compares, ranks, uses a soft word, or gives a reason for a number."
    plain = TERMS.sub(' ', re.sub(r'\$[^$]*\$', ' $ ', sentence))
    words = {match[0].lower() for match in COMPARES.finditer(plain)}
    if not re.search(r'\d|\b(?:per cent|twice|half|lower|higher|larger|smaller|fewer)\b', plain):
        words -= {'because', 'the reason'}  # a step of a derivation
    return bool(words - {'because', 'the reason'} if '$' in plain else words)


@functools.cache
def seeded() -> set[str]:
    "Functions and classes of the package that take a seed or a generator."
    found = set()
    for path in (notebooks.ROOT / 'extreme_opt').rglob('*.py'):
        for node in ast.parse(path.read_text(encoding='utf-8')).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                inside = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
                inside |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                if inside & {'seed', 'rng', 'random_state', 'generator'}:
                    found.add(node.name)
    return found


def names_of(node: ast.AST) -> tuple[set[str], set[str], set[str]]:
    "Names that a statement of a page reads, binds and changes in place; names of its own left out."
    inside, own = list(ast.walk(node)), set()
    for each in inside:
        own |= {each.arg} if isinstance(each, ast.arg) else set()
        if isinstance(each, (ast.comprehension, ast.For)):
            own |= {name.id for name in ast.walk(each.target) if isinstance(name, ast.Name)}
    found = [each for each in inside if isinstance(each, ast.Name)]
    stored = {each.id for each in found if isinstance(each.ctx, ast.Store)} - own
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        own, stored = own | stored, {node.name}
    reads = {each.id for each in found if isinstance(each.ctx, ast.Load)} - own
    reads |= {f'.{each.attr}' for each in inside if isinstance(each, ast.Attribute)}
    given = {each.arg for each in inside if isinstance(each, ast.keyword)}
    reads |= given & {'seed', 'rng', 'random_state'}
    changed = {
        root.id
        for each in inside
        if isinstance(each, (ast.Subscript, ast.Attribute))
        and (isinstance(each.ctx, ast.Store) or isinstance(each, ast.Attribute))
        for root in ast.walk(each.value)
        if isinstance(root, ast.Name)
    }
    return reads, stored, changed - own - stored


def draws(cells: list[dict], around: list[int]) -> bool:
    """Whether a statement that asserts or prints in some cells, or one that made what is read
    there, names something that draws."""
    lines: list[tuple] = []  # statement, what it reads, binds, changes
    todo: list[tuple[int, int]] = []
    imported: set[str] = set()  # not changed by what is read of them
    for index, cell in enumerate(cells[: max(around) + 1]):
        if cell['cell_type'] != 'code':
            continue
        for node in notebooks.tree(notebooks.source(cell)).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imported |= {(each.asname or each.name).split('.')[0] for each in node.names}
                continue
            reads, binds, changed = names_of(node)
            lines.append((node, reads, binds, changed - imported))
            asserts = any(isinstance(each, ast.Assert) for each in ast.walk(node))
            if index in around and (asserts or lines[-1][1] & {'print', 'display', '.testing'}):
                todo.append((len(lines) - 1, len(lines)))
    seen: set[tuple[int, int]] = set()
    while todo:
        at, when = pair = todo.pop()
        if pair in seen:
            continue
        seen.add(pair)
        node, reads = lines[at][:2]
        if {name.lstrip('.') for name in reads} & (DRAWS | seeded()):
            return True
        # a function reads what there is when it is called
        when = when if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else at
        for name in reads:
            for i in range(when - 1, -1, -1):
                if name in lines[i][2] or name in lines[i][3]:
                    todo.append((i, when))
                if name in lines[i][2] and not isinstance(lines[i][0], (ast.If, ast.Try)):
                    break
    return False


def proof(notebook: dict, index: int, sentence: str) -> str:
    "What proves a sentence of a cell: a claim, check or interval around it, a page, a source."
    cells, beside = notebook['cells'], []
    around = printed = ''
    for step in (-1, 1):
        at = index + step
        while 0 <= at < len(cells) and cells[at]['cell_type'] == 'code':
            beside.append(at)
            around += notebooks.source(cells[at]) + '\n'
            printed += json.dumps(cells[at]['outputs'], ensure_ascii=False)
            at += step
    if labels(around):
        return 'claim'
    if '.ipynb' in sentence:
        return 'page'
    if SOURCE.search(sentence):
        return 'source'
    if '±' in printed:
        return 'interval'
    if re.search(r'^\s*(?:# check: \w|assert\b|np\.testing\.)', around, re.M):
        return 'check' if draws(cells, beside) else 'exact'
    formula = '$$' in notebooks.source(cells[index]) and re.search(r'\$[^$]*[A-Za-z]', sentence)
    return (
        'derivation' if formula and not re.search(r'\d', re.sub(r'\$[^$]*\$', '', sentence)) else ''
    )


def comparisons(notebook: dict) -> list[Comparison]:
    "Sentences of prose that compare, with what proves each."
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
                found += [
                    Comparison(index, each, proof(notebook, index, each))
                    for each in re.split(r'(?<=[.!?])\s+(?=[A-Z*$`\[])', block)
                    if compares(each) and not each.endswith('?')
                ]
    return found


def read_all(names=()) -> dict[str, dict]:
    "Pages of Learn, Use and Evidence."
    return {
        name_of(path): notebooks.read(path)
        for path in notebooks.find(names)
        if not name_of(path).startswith(('engine', 'index'))
    }


def unproved(names=()) -> list[str]:
    "Sentences that compare and rest on nothing, or on a check of the page's seed alone."
    return [
        f'nbs/{page}.ipynb, cell {one.cell}: "{one.text}" has no claim; give it one, or reword'
        for page, notebook in read_all(names).items()
        for one in comparisons(notebook)
        if one.proof in ('check', '')
    ]


def show_counts(names) -> int:
    "Print the table, and the sentences of pages that were named."
    kinds = ('claim', 'check', 'exact', 'interval', 'source', 'page', 'derivation', '')
    total = dict.fromkeys((*kinds, 'claims'), 0)
    print(f'{"page":40}' + ''.join(f'{kind or "none":>11}' for kind in kinds) + f'{"claims":>8}')
    for page, notebook in read_all(names).items():
        found = comparisons(notebook)
        row = {kind: sum(one.proof == kind for one in found) for kind in kinds}
        row['claims'] = len(claims_of(notebook))
        total = {name: total[name] + row[name] for name in total}
        print(f'{page:40}' + ''.join(f'{row[kind]:11}' for kind in kinds) + f'{row["claims"]:8}')
        for one in found if names else ():
            print(f'    [{one.cell}] {one.proof or "NONE"}: {one.text}')
    print(f'{"all":40}' + ''.join(f'{total[kind]:11}' for kind in kinds) + f'{total["claims"]:8}')
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
    rows = {(row.page, row.name): row for row in read()}
    for path, claims in pages(names):
        for name in claims:
            row = rows.get((name_of(path), name))
            print(line(row) if row else f'not run  {name_of(path)}  {name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
