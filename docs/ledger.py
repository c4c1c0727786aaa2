"""The equation ledger: what each numbered formula of the four papers is worth, and the cell that
says so.

    python docs/ledger.py check                        rows, cells and names fit together
    python docs/ledger.py run [--n 10] [--seed 1]      run that many rows' cells, and one mutant of
                                                       each
    python docs/ledger.py all [CHAPTER ...]            every row and every mutant; prints the
                                                       mutation score and keeps it in
                                                       docs/ledger/scores.json

Rows stand in docs/ledger/CHAPTER.toml. A row is

    [[row]]
    id = "softmax-25"              # as in the label of its cell, `# check: softmax-25`
    what = "one line, in our words"
    verdict = "corrected"          # as printed, corrected, conditional, refuted, not checkable
    check = "softmax-25"           # label of the cell; left out when it equals the id
    names = ["softmax.implicit.set_step"]      # what implements it, if anything
    erratum = "S1"
    reason = "..."                 # for conditional, refuted and not checkable
    mutants = ["old => new"]       # changes by hand, to the check cell or to the nearest cell
                                   # before it that holds the text
    equivalent = {"a * b -> a" = "why no check can notice it"}     # "*" for a one-sided bound,
                                                                   # which stays true when loosened

    [[slip]]                       # an erratum: id, where, printed, right, numbers, weight (3 a
                                   # result, 2 a formula, 1 the pen), check

and checks of facts that the paper does not number stand in one table: [ours] softmax-guard = "one
line", or a table with what, mutants and equivalent.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import hashlib
import importlib
import io
import json
import os
import random
import re
import signal
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [part for part in (str(ROOT), str(ROOT / 'docs')) if part not in sys.path]
import benchmarks  # noqa: E402
import mutants as mutation  # noqa: E402
import notebooks  # noqa: E402

CHAPTERS = ('softmax', 'similarity', 'ordinal', 'bound')
VERDICTS = ('as printed', 'corrected', 'conditional', 'refuted', 'not checkable', 'ours')
# Everything that carries a number in the papers.
NUMBERED = {
    'softmax': dict(equations=29, prop=5, lemma=5, alg=2, table=4, fig=4),
    'similarity': dict(equations=65, alg=4, table=3, fig=2),
    'ordinal': dict(equations=61, lemma=4, theorem=3, corollary=1, alg=2, table=2, fig=5),
    'bound': dict(equations=19, lemma=4, alg=4, table=1, fig=4),
}
LABEL = re.compile(r'^\s*# check: (.+?)\s*$', re.M)
LIMIT = 60  # seconds of work after which a mutant counts as noticed
A_ROW = 3  # mechanical mutants tried for a row


class Row(NamedTuple):
    id: str
    what: str
    verdict: str
    check: str = ''
    names: tuple[str, ...] = ()
    erratum: str = ''
    reason: str = ''
    mutants: tuple[str, ...] = ()
    equivalent: dict[str, str] = {}

    @property
    def chapter(self) -> str:
        return self.id.split('-')[0]


class Place(NamedTuple):
    path: Path  # of the notebook, below nbs/
    index: int  # of the cell


def numbered(chapter: str) -> list[str]:
    "Ids of everything that carries a number in a paper."
    kinds = dict(NUMBERED[chapter])
    ids = [f'{chapter}-{n}' for n in range(1, kinds.pop('equations') + 1)]
    return ids + [
        f'{chapter}-{kind}{n}' for kind, last in kinds.items() for n in range(1, last + 1)
    ]


def table_of(chapter: str) -> dict:
    return tomllib.loads((ROOT / f'docs/ledger/{chapter}.toml').read_text(encoding='utf-8'))


def rows(chapters=CHAPTERS) -> list[Row]:
    "The rows of the ledger in the order of the files."
    found = []
    for chapter in chapters:
        table = table_of(chapter)
        unnumbered = [
            dict(id=label, verdict='ours', **(told if isinstance(told, dict) else dict(what=told)))
            for label, told in table.get('ours', {}).items()
        ]
        for number, entry in enumerate(table.get('row', []) + unnumbered, 1):
            unknown = set(entry) - set(Row._fields)
            if unknown or not {'id', 'what', 'verdict'} <= set(entry):
                raise SystemExit(
                    f'docs/ledger/{chapter}.toml, row {number}: needs id, what and verdict, knows'
                    f' {", ".join(Row._fields)}; has {", ".join(entry)}'
                )
            lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
            check = entry['id'] if entry['verdict'] != 'not checkable' else ''
            found.append(Row(**dict(check=check) | entry | lists))
    return found


def cells(paths=None) -> dict[str, Place]:
    "Where each label stands: the first cell of the book that carries it."
    found: dict[str, Place] = {}
    for path in paths or notebooks.find():
        for index, cell in enumerate(notebooks.read(path)['cells']):
            if cell['cell_type'] != 'code':
                continue
            for line in LABEL.findall(notebooks.source(cell)):
                for label in re.split(r',\s*', line):
                    found.setdefault(label, Place(path.relative_to(notebooks.NBS), index))
    return found


def asserts(source: str) -> bool:
    return bool(re.search(r'\bassert\b|assert_\w+\(|\bcheck_\w+\(|expect_fail\(', source))


def thing(name: str):
    """The object called `chapter.module.name` or `chapter.module.Class.method`; None where there is
    none."""
    parts = name.split('.')
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module('.'.join(['extreme_opt', *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return None
            found = getattr(found, part)
        return found
    return None


def faults(chapters=CHAPTERS) -> list[str]:
    "What does not fit: one line each, with the way out."
    table, where, wrong = rows(chapters), cells(), []
    known = sources_of(table)
    seen: set[str] = set()
    for row in table:
        at = f'docs/ledger/{row.chapter}.toml, {row.id}'
        if row.id in seen:
            wrong.append(f'{at}: stands twice')
        seen.add(row.id)
        if row.verdict not in VERDICTS:
            wrong.append(f'{at}: verdict {row.verdict!r}; say one of {", ".join(VERDICTS)}')
        if row.verdict in ('conditional', 'refuted', 'not checkable') and not row.reason:
            wrong.append(f'{at}: {row.verdict}, so say why in `reason`')
        if row.verdict != 'not checkable' and row.id not in known:
            wrong.append(
                f'{at}: no cell carries `# check: {row.check}`; label one or say `not checkable`'
                ' with the reason'
            )
        elif row.verdict != 'not checkable' and not asserts(known[row.id]):
            wrong.append(f'{at}: the cell `# check: {row.check}` asserts nothing')
        elif row.verdict != 'not checkable':
            said = (_misplaced(change, where[row.check]) for change in row.mutants)
            wrong += [f'{at}: {one}' for one in said if one]
        for name in row.names:
            if thing(name) is None:
                wrong.append(f'{at}: there is no extreme_opt.{name}; mend `names`')
    told = {row.check for row in table} | {row.id for row in table}
    for label, place in where.items():
        if label.split('-')[0] in chapters and label not in told:
            wrong.append(
                f'nbs/{place.path}, cell {place.index + 1}: `# check: {label}` has no row in the'
                ' ledger; add one'
            )
    return wrong


def _misplaced(change: str, place: Place) -> str:
    "Why a change by hand cannot be made on the page of its check; nothing where it can."
    page = notebooks.read(notebooks.NBS / place.path)['cells'][: place.index + 1]
    texts = [notebooks.source(cell) for cell in page if cell['cell_type'] == 'code']
    old = change.partition('=>')[0].strip()
    holds = (text for text in reversed(texts) if mutation.places(text, old))
    try:
        mutation.by_hand(next(holds, ''), change)
    except ValueError as error:
        return f'{error}; mend `mutants`'
    return ''


# ------------------------------------------------------------------------------------------ pages
PAPERS = {
    'softmax': 'F. Fagan and G. Iyengar, *Unbiased scalable softmax optimization*',
    'similarity': (
        'B. Yuan, Y.-S. Li, P. Quan and C.-J. Lin, *Efficient optimization methods for extreme'
        ' similarity learning with nonlinear embeddings*'
    ),
    'ordinal': (
        'K. Ma, J. Zeng, J. Xiong, Q. Xu, X. Cao, W. Liu and Y. Yao, *Fast stochastic ordinal'
        ' embedding with variance reduction and adaptive step size*'
    ),
    'bound': 'Y. Pan, *From bound majorization to stochastic bound majorization*',
}
KINDS = dict(prop='Proposition', alg='Algorithm', fig='Figure')  # others by their own name
WEIGHTS = {3: 'A result changes', 2: 'A formula changes', 1: 'Slips of the pen'}


class Slip(NamedTuple):
    id: str  # S1
    where: str  # in the paper: (25)
    printed: str
    right: str
    numbers: str  # the smallest counterexample
    weight: int  # 3: a result is wrong; 2: a formula is wrong; 1: a slip of the pen
    # label of the cell that shows it; found by itself when the cell is labeled chapter-id or its
    # row names the erratum
    check: str = ''
    chapter: str = ''


def errata() -> list[Slip]:
    "The papers' slips, in the order of the files."
    found, where = [], {label.lower(): label for label in cells()}
    for chapter in CHAPTERS:
        by_row = {
            word: row.check for row in rows([chapter]) for word in row.erratum.split(', ') if word
        }
        for entry in table_of(chapter).get('slip', []):
            known = where.get(f'{chapter}-{entry["id"]}'.lower()) or by_row.get(entry['id'], '')
            found.append(Slip(**dict(check=known, chapter=chapter) | entry))
    return found


def told_on(slip: Slip) -> Path | None:
    "The first page of its chapter that names an erratum which no check is needed for."
    for path in notebooks.find():
        if slip.chapter in path.parent.name and any(
            re.search(rf'\b{slip.id}\b', notebooks.source(cell))
            for cell in notebooks.read(path)['cells']
        ):
            return path.relative_to(notebooks.NBS)
    return None


def number(row_id: str) -> str:
    "`softmax-25` -> (25), `softmax-prop1` -> Proposition 1."
    rest = row_id.partition('-')[2]
    match = re.fullmatch(r'(prop|lemma|theorem|corollary|alg|table|fig)(\d+)', rest)
    if match:
        return f'{KINDS.get(match[1], match[1].capitalize())} {match[2]}'
    return f'({rest})' if rest.isdigit() else rest


def scores() -> str:
    """What the last whole run of the mutants said, chapter by chapter, and how many claims were
    measured again."""
    rows_of, older = [], []
    for chapter in CHAPTERS:
        one = tally(chapter)
        older += one.older
        noticed = f'{one.noticed} ({one.noticed / max(one.tried, 1):.0%})'
        told = (one.rows, one.tried, noticed, one.loosened, one.missed, one.equivalent)
        rows_of.append((chapter, *map(str, told)))
    columns = 'Paper | Rows | Mutants tried | Noticed | Loosen a bound | Missed'
    said = benchmarks.grid(f'{columns} | Proved to change nothing', rows_of, 'ledger')
    if older:
        said += f'\n{len(older)} rows have changed since that run: {", ".join(older)}.\n'
    for path in notebooks.find():  # the count that the page on headline claims ends with
        if path.stem.endswith('what_holds'):
            shown = [cell.get('outputs') for cell in notebooks.read(path)['cells']]
            text = json.dumps(shown, ensure_ascii=False)
            if found := re.search(r'\d+ claims measured again: .+?(?=\\n|")', text):
                link = f'[{found[0]}](/evidence/what_holds.ipynb)'
                said += f'\nThe headline claims: {link}.\n'
    return said


def write_pages(page_name, names: dict) -> dict[str, str]:
    "The ledger's pages; `names` says where the reference has a name."
    where, table, slips = cells(), rows(), errata()
    grid = functools.partial(benchmarks.grid, kind='ledger')

    def link(label):
        if label not in where:
            return ''
        place = where[label]
        title = place.path.stem.partition('_')[2]
        return f'[{title}](/{page_name(place.path).as_posix()}#check-{label})'

    def entry(name):
        "A name as a link into the reference; an inherited method leads to its class."
        owner, _, last = name.rpartition('.')
        kind = owner.rpartition('.')[2]
        short = f'{kind}.{last}' if kind[:1].isupper() else last
        target = names.get(f'extreme_opt.{name}') or names.get(f'extreme_opt.{owner}')
        return f'[`{short}`]({target})' if target else f'`{short}`'

    def direct(row):
        "A number as a link to its check, or to its row where there is none."
        target = f'/ledger/{row.chapter}.qmd#{row.id}'
        if row.check in where:
            target = f'/{page_name(where[row.check].path).as_posix()}#check-{row.check}'
        said = cell(row.what).replace('"', "'").replace('$', '')
        return f'[{number(row.id)}]({target}){{title="{said}"}}'

    def item(row):
        verdict = row.verdict + (f' ({row.erratum})' if row.erratum else '')
        verdict += f': {row.reason}' if row.reason else ''
        code = ' '.join(map(entry, row.names))
        mark = f'[{number(row.id)}]{{#{row.id}}}'
        return mark, cell(row.what), cell(verdict), link(row.check), code

    cell = benchmarks.cell
    made, counts, numbers = {'index': ''}, [], {}
    for chapter in CHAPTERS:
        part = [row for row in table if row.chapter == chapter]
        order = {item: at for at, item in enumerate(numbered(chapter))}
        part.sort(key=lambda row: order.get(row.id, len(order)))
        printed, ours = (
            [row for row in part if (row.verdict == 'ours') == own] for own in (False, True)
        )
        equal = [
            (
                f'[{number(row.id)}](#{row.id})',
                'any that loosens it' if change == '*' else f'`{cell(change)}`',
                cell(why),
            )
            for row in part
            for change, why in row.equivalent.items()
        ]
        made[chapter] = benchmarks.filled(
            'ledger_chapter',
            grid=grid,
            chapter=chapter,
            paper=PAPERS[chapter],
            items=map(item, printed),
            facts=[(f'[{cell(row.what)}]{{#{row.id}}}', link(row.check)) for row in ours],
            equal=equal,
        )
        numbers[chapter] = map(direct, printed)
        told = [str(sum(row.verdict == verdict for row in part)) for verdict in VERDICTS]
        counts.append((f'[{chapter}](/ledger/{chapter}.qmd)', *told))
    made['index'] = benchmarks.filled(
        'ledger_index',
        grid=grid,
        verdicts=list(VERDICTS),
        counts=counts,
        scores=scores(),
        numbers=numbers,
    )

    def told(slip):
        if slip.check:
            return f'Checked on {link(slip.check)}.'
        page = told_on(slip)
        title = page and page.stem.partition('_')[2]
        return page and f'Told on [{title}](/{page_name(page).as_posix()}).'

    weights = [
        (title, [(slip, told(slip)) for slip in slips if slip.weight == weight])
        for weight, title in WEIGHTS.items()
    ]
    made['errata'] = benchmarks.filled('ledger_errata', weights=weights)
    return made


# ------------------------------------------------------------------------------------------ running
class Book:
    """One notebook, run cell by cell in this process; cells are files, so that numba can keep what
    it compiled."""

    def __init__(self, path: Path, folder: Path):
        self.path, self.folder = path, folder
        self.cells = notebooks.read(notebooks.NBS / path)['cells']
        self.space: dict = {'__name__': '__main__', 'display': lambda *a, **k: None}
        self.done = 0

    def code(self, index: int) -> str:
        text = notebooks.source(self.cells[index])
        text = '\n'.join(
            '' if line.lstrip().startswith(('%', '!')) else line for line in text.split('\n')
        )
        return text.replace(
            '(cache=True)', '(cache=False)'
        )  # these cells are run once, from no file that lasts

    def run(self, text: str, tag: str) -> None:
        file = self.folder / f'{self.path.stem}_{tag}.py'
        file.write_text(text, encoding='utf-8')
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(text, str(file), 'exec', dont_inherit=True), self.space)

    def up_to(self, index: int) -> None:
        "Run every cell before `index` that the page runs."
        import matplotlib.pyplot as plt

        while self.done < index:
            cell = self.cells[self.done]
            if cell['cell_type'] == 'code' and not notebooks.is_skipped(cell):
                try:
                    self.run(self.code(self.done), str(self.done))
                except Exception as error:
                    raise SystemExit(
                        f'nbs/{self.path}, cell {self.done + 1}: {type(error).__name__}: {error}'
                    ) from error
                plt.close('all')
            self.done += 1

    def trial(self, changes: dict[int, str], check: int) -> str | None:
        """Run the changed cells and then the check in a copy of the page's state; what the check
        said, None if it passed."""
        kept = self.space
        self.space = {name: _kept(value) for name, value in kept.items()}
        try:
            for index, text in sorted(changes.items()):
                if index != check:
                    self.run(text, f'{index}m{abs(hash(text))}')
            _alarm(LIMIT)
            self.run(
                changes.get(check, self.code(check)), f'{check}m{abs(hash(changes.get(check, "")))}'
            )
        except Exception as error:
            return f'{type(error).__name__}: {(str(error).strip() or " ").splitlines()[0]}'
        except KeyboardInterrupt as error:
            if not isinstance(error, _Late):
                raise
            return f'no end within {LIMIT} seconds'
        finally:
            _alarm(0)
            self.space = kept
        return None


class _Late(KeyboardInterrupt):
    pass


def _alarm(seconds: int) -> None:
    def late(*_):
        raise _Late

    if hasattr(signal, 'SIGPROF'):  # seconds of this process, whatever else the machine does
        signal.signal(signal.SIGPROF, late)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _kept(value):
    "What a check could change stays as it was for the next trial."
    import numpy as np

    if isinstance(value, np.random.Generator):
        return copy.deepcopy(value)
    if (
        isinstance(value, (list, dict, set))
        or isinstance(value, np.ndarray)
        and value.nbytes < 10**7
    ):
        return copy.copy(value)
    return value


def mutants_of(
    row: Row, book: Book, index: int, rng: random.Random, n: int | None = A_ROW
) -> list[tuple[mutation.Mutant, dict[int, str]]]:
    "The mutants of a row: all that it lists, and `n` that its syntax trees give."
    found = []
    for change in row.mutants:
        old = change.partition('=>')[0].strip()
        for at in range(index, -1, -1):
            if book.cells[at]['cell_type'] == 'code' and mutation.places(book.code(at), old):
                break
        mutant = mutation.by_hand(book.code(at), change)
        found.append((mutant, {at: mutant.source}))
    machine = [(mutant, {index: mutant.source}) for mutant in mutation.mechanical(book.code(index))]
    if not machine:
        machine = list(_of_names(row, book, index))
    rng.shuffle(machine)
    return found + machine[:n]


def _of_names(row: Row, book: Book, index: int):
    """Mutants of the definitions on the page that the row names, for a check that holds no
    arithmetic of its own."""
    for name in row.names:
        for at in range(index):
            if book.cells[at]['cell_type'] != 'code':
                continue
            for length in (1, 2):
                dotted = '.'.join(name.split('.')[-length:])
                try:
                    found = mutation.mechanical(book.code(at), dotted)
                except (StopIteration, SyntaxError):
                    continue
                for mutant in found:
                    yield mutant, {at: mutant.source}


class Score(NamedTuple):
    row: Row
    tried: int
    noticed: int
    survivors: list[str]  # not noticed
    fault: str = ''
    loosened: int = (
        0  # not noticed either, and allowed: a one-sided bound stays true when it is loosened
    )


def examine(
    chosen: list[Row], seed: int = 1, n: int | None = A_ROW, done=lambda scores: None
) -> list[Score]:
    """Run the cells of the rows and their mutants; one process, each notebook once; `done` gets the
    scores of each notebook."""
    for name, value in notebooks.environment().items():
        os.environ.setdefault(name, value)
    import matplotlib

    matplotlib.use('Agg')
    where, scores = cells(), []
    groups: dict[Path, list[Row]] = {}
    for row in chosen:
        if row.check in where:
            groups.setdefault(where[row.check].path, []).append(row)
    with tempfile.TemporaryDirectory() as folder:
        for path, group in sorted(groups.items()):
            book, start = Book(path, Path(folder)), os.getcwd()
            os.chdir((notebooks.NBS / path).parent)
            try:
                for row in sorted(group, key=lambda row: where[row.check].index):
                    index = where[row.check].index
                    book.up_to(index)
                    scores.append(_score(row, book, index, random.Random(f'{seed} {row.id}'), n))
                    print(_line(scores[-1], path))
            finally:
                os.chdir(start)
            done(scores[-len(group) :])
    return scores


def _score(row: Row, book: Book, index: int, rng, n) -> Score:
    for turn in ('', ' a second time'):
        said = book.trial({}, index)
        if said:
            return Score(row, 0, 0, [], f'the check fails{turn}: {said}')
    tried, noticed, loose, survivors = 0, 0, 0, []
    for mutant, changes in mutants_of(row, book, index, rng, n):
        if mutant.what in row.equivalent:
            continue
        tried += 1
        if book.trial(changes, index):
            noticed += 1
        elif '*' in row.equivalent and mutant.what.replace(' -> ', ' => ') not in row.mutants:
            loose += 1
        else:
            survivors.append(mutant.what)
    if loose and not noticed:
        survivors.append('anything; list a mutant that this bound does notice')
    if not tried and not row.equivalent and row.verdict in ('as printed', 'corrected'):
        return Score(row, 0, 0, [], 'no mutant; list one in `mutants`')
    return Score(row, tried, noticed, survivors, loosened=loose)


def _line(score: Score, path: Path) -> str:
    loose = f', {score.loosened} loosen a bound' if score.loosened else ''
    said = score.fault or f'{score.noticed} of {score.tried} mutants noticed{loose}' + ''.join(
        f'; not noticed: {text}' for text in score.survivors
    )
    return f'{score.row.id:22} {score.row.verdict:13} nbs/{path}: {said}'


SCORES = ROOT / 'docs' / 'ledger' / 'scores.json'


def digest(row: Row, source: str) -> str:
    return hashlib.sha256(f'{row} {source}'.encode()).hexdigest()[:8]


def sources_of(table: list[Row]) -> dict[str, str]:
    "The check cell of each row."
    where, books = cells(), {}
    for row in table:
        if row.check in where and (path := where[row.check].path) not in books:
            books[path] = notebooks.read(notebooks.NBS / path)['cells']
    return {
        row.id: notebooks.source(books[where[row.check].path][where[row.check].index])
        for row in table
        if row.check in where
    }


def keep(scores: list[Score]) -> None:
    """Store how many mutants each row noticed, with a digest of row and cell:
    docs/ledger/scores.json, one line a row."""
    kept, table = stored(), rows()
    said = sources_of([score.row for score in scores])
    for score in scores:
        counts = dict(tried=score.tried, noticed=score.noticed, loosened=score.loosened)
        counts['missed'] = score.tried - score.noticed - score.loosened
        fault = dict(fault=score.fault) if score.fault else {}
        kept[score.row.id] = counts | dict(of=digest(score.row, said[score.row.id])) | fault
    lines = [
        f' {json.dumps(row.id)}: {json.dumps(kept[row.id])}' for row in table if row.id in kept
    ]
    SCORES.write_text('{\n' + ',\n'.join(lines) + '\n}\n', encoding='utf-8')


def stored() -> dict[str, dict]:
    return json.loads(SCORES.read_text(encoding='utf-8')) if SCORES.exists() else {}


def older(table: list[Row]) -> list[Row]:
    "Rows without a score, or whose cell or line in the ledger is another since."
    said, kept = sources_of(table), stored()
    now = {row.id: digest(row, said.get(row.id, '')) for row in table}
    return [row for row in table if kept.get(row.id, {}).get('of') != now[row.id]]


class Tally(NamedTuple):
    rows: int  # whose cells were run with mutants
    tried: int  # noticed, loosened and missed together
    noticed: int
    loosened: int  # a one-sided bound that stays true
    missed: int  # the check passes although the formula is wrong
    equivalent: int  # mutants that change nothing, each listed with a proof; not tried
    older: tuple[str, ...]  # rows without a score of their present cell


def tally(chapter: str) -> Tally:
    "The last whole run of a chapter's mutants."
    part = [row for row in rows([chapter]) if row.verdict not in ('not checkable', 'ours')]
    kept = stored()
    found = [kept[row.id] for row in part if row.id in kept]
    kinds = 'tried', 'noticed', 'loosened', 'missed'
    sums = [sum(one.get(key, 0) for one in found) for key in kinds]
    equal = sum(len(set(row.equivalent) - {'*'}) for row in part)
    return Tally(len(found), *sums, equal, tuple(row.id for row in older(part)))


def report(scores: list[Score]) -> int:
    for chapter in dict.fromkeys(score.row.chapter for score in scores):
        part = [score for score in scores if score.row.chapter == chapter]
        tried, noticed, loose = (
            sum(getattr(score, key) for score in part) for key in ('tried', 'noticed', 'loosened')
        )
        print(
            f'{chapter}: {noticed} of {tried} mutants noticed in {len(part)} rows, {loose} loosen a'
            f' bound, {tried - noticed - loose} are missed'
        )
    return int(any(score.survivors or score.fault for score in scores))


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description='The equation ledger.',
        epilog=__doc__.split('\n\n', 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('work', choices=('check', 'run', 'all'))
    parser.add_argument(
        'chapters', nargs='*', help='softmax, similarity, ordinal, bound (default all)'
    )
    parser.add_argument('--n', type=int, default=10, help='rows to run (default 10)')
    parser.add_argument(
        '--seed', type=int, default=1, help='which rows and which mutants (default 1)'
    )
    parser.add_argument(
        '--changed',
        action='store_true',
        help='only rows whose cell or line has changed since they were last examined by `all`',
    )
    args = parser.parse_args(argv)
    chapters = args.chapters or CHAPTERS
    if args.work == 'check':
        wrong = faults(chapters)
        print('\n'.join(wrong) if wrong else f'{len(rows(chapters))} rows fit their cells')
        return int(bool(wrong))
    chosen = [row for row in rows(chapters) if row.verdict != 'not checkable']
    if args.work == 'run':
        chosen = random.Random(args.seed).sample(chosen, min(args.n, len(chosen)))
    if args.changed:
        chosen = older(chosen)
    if args.work == 'run':
        return report(examine(chosen, args.seed, 1))
    return report(examine(chosen, args.seed, done=keep))


if __name__ == '__main__':
    sys.exit(main())
