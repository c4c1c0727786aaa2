"""The pages of measurements: made from docs/results/*.csv and docs/races.toml whenever the site is
built, so they follow every new run.

races.toml says which rows of a result are held against which, and explains where a peer wins; it
holds no measured number. A row of the table is

    [[race]]
    chapter = "ordinal"
    script = "ordinal_race"            # docs/results/NAME.csv, bench/NAME.py
    method = "SVRG on STE"             # as the table calls it
    ours = "method=SVRG, ste"          # column=regular expression, several joined by " & "
    rivals = "method=cblearn .*"       # likewise, of the same task and threads
    peer = "method"                    # the column that names a rival
    to = "test error 0.15"             # what both have to reach
    measure = "top_1"                  # with its name in `measured`: a column that both report, if
                                       # they do not end alike; the higher the better
    memory = true                      # whether peak_mb is that of each method alone
    [[race.why]]
    where = "digits.*lbfgs.*time"      # regular expression over "task | peer | time", memory or
                                       # quality in the last place
    text = "one or two sentences"

and a task, whose best methods of ours and of others stand side by side, is

    [[task]]
    results = ["bound_tagger"]         # docs/results/NAME.csv, several where methods are in many
    tasks = "1000 objects"             # how its name begins, where not all of them count
    measure = "f1"                     # what is judged
    ours = "LinearChainCRF$"           # regular expressions of methods, as they come and tuned,
    others_tuned = "CRFsuite, tuned"   # too: ours_tuned, others
"""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULTS, RACES = ROOT / 'docs' / 'results', ROOT / 'docs' / 'races.toml'
TIE = 0.95  # a ratio from here to its inverse is a draw
KINDS = 'ours', 'ours_tuned', 'others', 'others_tuned'
CHAPTERS = dict(
    core='Foundations', softmax='Softmax', similarity='Similarity', ordinal='Ordinal', bound='Bound'
)


class Line(NamedTuple):
    "A row of the table."

    chapter: str
    method: str
    task: str
    peer: str
    to: str
    time: float | None  # seconds of the peer over ours; None where one of them never got there
    missed: bool  # the peer never got there
    memory: float | None  # peak memory of the peer over ours
    quality: tuple[float, float] | None  # ours, theirs
    script: str
    threads: str
    whys: tuple[tuple[str, str], ...]
    measured: str = ''  # what `quality` is

    @property
    def name(self) -> str:
        return f'{self.task} | {self.peer}'

    def lost(self) -> list[str]:
        "In what the peer is ahead: time, memory, quality."
        worse = self.quality is not None and self.quality[0] < self.quality[1] * (1 - 1e-3)
        slow = self.time is not None and self.time < TIE
        heavy = self.memory is not None and self.memory < TIE
        return ['time'] * slow + ['memory'] * heavy + ['quality'] * worse

    def why(self, aspect: str) -> str:
        return next(
            (text for where, text in self.whys if re.search(where, f'{self.name} | {aspect}')), ''
        )


def table(name: str) -> list[dict[str, str]]:
    "Rows of a result; none where it was never measured."
    path = RESULTS / f'{name}.csv'
    if not path.exists():
        return []
    with path.open(encoding='utf-8') as file:
        return list(csv.DictReader(file))


def fits(row: dict[str, str], selector: str) -> bool:
    "Whether a row has all that `column=regular expression & ...` asks for."
    return all(
        re.fullmatch(pattern, row[column])
        for column, _, pattern in (part.partition('=') for part in selector.split(' & '))
    )


def number(text: str) -> float | None:
    return float(text) if re.fullmatch(r'[\d.]+(e[+-]?\d+)?', text) else None


def lines_of(race: dict[str, Any]) -> list[Line]:
    "Every pairing of a race that the result holds."
    rows, found = table(race['script']), []
    ours, rivals = ([row for row in rows if fits(row, race[key])] for key in ('ours', 'rivals'))
    common: dict[str, Any] = {
        key: race.get(key, '') for key in ('chapter', 'method', 'to', 'script')
    }
    common |= dict(
        whys=tuple((why['where'], ' '.join(why['text'].split())) for why in race.get('why', [])),
        measured=race.get('measured', ''),
    )
    for mine in ours:
        for other in rivals:
            if any(other[key] != mine[key] for key in ('task', 'threads')):
                continue
            a, b = number(mine['seconds']), number(other['seconds'])
            pair, measure = (mine, other), race.get('measure', '')
            heavy = [number(row['peak_mb']) if race.get('memory') else None for row in pair]
            reached = [number(row.get(measure, '')) for row in pair]
            found.append(
                Line(
                    peer=other[race.get('peer', 'method')],
                    time=b / a if a and b else None,
                    missed=bool(a and not b and not race.get('memory')),
                    memory=heavy[1] / heavy[0] if heavy[0] and heavy[1] else None,
                    quality=None if None in reached else (reached[0], reached[1]),
                    task=mine['task'],
                    threads=mine['threads'],
                    **common,
                )
            )
    return found


def spec() -> dict[str, list]:
    return tomllib.loads(RACES.read_text(encoding='utf-8'))


def lines() -> list[Line]:
    "All rows of the table, chapter by chapter."
    found = [line for race in spec()['race'] for line in lines_of(race)]
    return sorted(found, key=lambda line: list(CHAPTERS).index(line.chapter))


def faults(given: list[Line] | None = None) -> list[str]:
    "What a reader would miss: a loss without a reason, a race that no result answers."
    wrong = [
        f'docs/races.toml: {line.script}: "{line.name}" is won by the peer'
        f' ({", ".join(line.lost())}); say why under [[race.why]]'
        for line in (lines() if given is None else given)
        if any(not line.why(aspect) for aspect in line.lost())
    ]
    if given is not None:
        return wrong
    return wrong + [
        f'docs/races.toml: {race["script"]}: no rows for {race["ours"]!r}'
        for race in spec()['race']
        if not lines_of(race) and table(race['script'])
    ]


# ------------------------------------------------------------------------------------------ pages
def plain(value: float) -> str:
    "Two digits, no exponent."
    return f'{value:,.0f}' if value >= 100 else f'{value:.2g}'


def told(line: Line) -> str:
    "The time column."
    if line.time is None:
        return 'the peer does not get there' if line.missed else ''
    if 'time' in line.lost():
        return f'**{plain(line.time)}** [why](#{anchor(line)})'
    return plain(line.time) + ', a draw' * (line.time < 1 / TIE)


def told_memory(line: Line) -> str:
    if line.memory is None:
        return ''
    return f'{plain(line.memory)}' + (f' [why](#{anchor(line)})' if 'memory' in line.lost() else '')


def reasons(found: list[Line]) -> dict[tuple[str, str], list[tuple[Line, str]]]:
    "Where the peer is ahead, by method and explanation."
    grouped: dict[tuple[str, str], list[tuple[Line, str]]] = {}
    for line in found:
        for aspect in line.lost():
            grouped.setdefault((line.method, line.why(aspect)), []).append((line, aspect))
    return grouped


def anchor(line: Line) -> str:
    "Where the explanation of a row's first loss stands."
    return 'why-' + re.sub(r'[^a-z0-9]+', '-', f'{line.method} {line.why(line.lost()[0])}'.lower())[
        :60
    ].strip('-')


def cell(text: str) -> str:
    return ' '.join(text.split()).replace('|', '\\|')


def grid(columns: str, rows, kind: str = 'races') -> str:
    "A table, from the names of its columns and the cells of its rows."
    lines = [f'| {" | ".join(row)} |' for row in rows]
    between = '|---' * (columns.count(' | ') + 1) + '|'
    return '\n'.join([f'::: {{.{kind}}}', f'| {columns} |', between, *lines, ':::', ''])


def filled(name: str, **values) -> str:
    "A page from its template."
    import jinja2

    make = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / 'docs/templates/results'),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return make.get_template(f'{name}.md').render(dict(grid=grid) | values)


def race_figure(found: list[Line]) -> tuple[str, bytes]:
    """Time ratios, a line for each method and a dot for each race: what it shows, in words, and the
    picture. With twice the dots of a screen and few colors, so few bytes."""
    import matplotlib
    from PIL import Image

    matplotlib.use('Agg')
    from matplotlib.figure import Figure

    shown = [line for line in found if line.time and line.threads in ('', '1')]
    methods = list(dict.fromkeys(line.method for line in shown))
    figure = Figure(figsize=(5, 1 + 0.36 * len(methods)), layout='constrained')
    axes = figure.subplots()
    axes.set(yticks=range(len(methods)), ylim=(len(methods) - 0.6, -0.75), yticklabels=[])
    axes.tick_params(left=False)
    for at, name in enumerate(methods):  # above its row, so that a phone shows it all
        axes.text(0.01, at - 0.4, name, transform=axes.get_yaxis_transform(), va='center', size=9)
    colors = dict(
        zip(CHAPTERS, ('#666666', '#1b6ca8', '#b8552c', '#3a7d44', '#7a4f9a'), strict=True)
    )
    for line in shown:
        place, look = methods.index(line.method), dict(s=24, alpha=0.6, linewidths=0)
        axes.scatter([line.time], [place], color=colors[line.chapter], **look)
    for chapter in dict.fromkeys(line.chapter for line in shown):
        axes.plot([], [], 'o', color=colors[chapter], label=CHAPTERS[chapter])
    figure.legend(fontsize=9, loc='outside lower center', ncols=3, frameon=False)
    axes.axvline(1, color='0.35', lw=1)
    axes.set(xscale='log', xlabel='time of the peer / ours; left of 1 the peer is faster')
    axes.xaxis.set_major_formatter(lambda value, _: f'{value:g}')
    axes.tick_params(top=True, labeltop=True)
    axes.grid(axis='x', alpha=0.3)
    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, dpi=216)
    Image.open(full).quantize(64).save(small, 'png', optimize=True)
    ahead = sum(line.time > 1 / TIE for line in shown)
    behind = sum('time' in line.lost() for line in shown)
    words = (
        f'A line for each of {len(methods)} methods and a dot for each race on one thread, on a'
        f' logarithmic axis around 1: ours is faster in {ahead}, the peer in {behind} of'
        f' {len(shown)}.'
    )
    return words, small.getvalue()


WAY = (
    'Every number here is a ratio, measured in the same run, turn by turn, by a script that `make'
    ' bench name=...` repeats. Both sides get the same data in the same form, and one function'
    ' judges both. Compiling and warming up are off the clock; every library is held to the threads'
    ' named.'
)


def race_table(part: list[Line]) -> list[tuple[str, str, list]]:
    "For each method what all its races have in common, and their rows."

    def cells(line):
        task = cell(re.sub(r', p=.*', '', line.task))
        task += f', {line.threads} threads' if line.threads not in ('', '1') else ''
        if line.quality:
            ours, theirs = (f'{one:g}' for one in line.quality)
            why = f', [why](#{anchor(line)})' if 'quality' in line.lost() else ''
            task += f' ({line.measured}: ours {ours}, theirs {theirs}{why})'
        command = f'[{line.script}](/benchmarks/runs.qmd#{line.script})'
        return task, cell(line.peer), told(line), told_memory(line), command

    found = []
    for method in dict.fromkeys(line.method for line in part):
        mine = [line for line in part if line.method == method]
        goals = [f', to {goal}' for goal in dict.fromkeys(line.to for line in mine) if goal]
        found.append((cell(method), cell('; '.join(goals)), map(cells, mine)))
    return found


def summary_table(found: list[Line]) -> str:
    "One row for each method: how its races went, and the ratios in their middle."

    rows = []
    for method in dict.fromkeys(line.method for line in found):
        mine = [line for line in found if line.method == method]
        times = [line.time for line in mine if line.time]
        behind = sum('time' in line.lost() for line in mine)
        draws = sum(bool(line.time) and TIE <= line.time < 1 / TIE for line in mine)
        heavy = [line.memory for line in mine if line.memory]
        ends = [line for line in mine if line.quality]
        worse = sum('quality' in line.lost() for line in ends)
        spent = plain(median(times)) if times else ''
        spent += f' ({plain(min(times))} to {plain(max(times))})' * (len(times) > 1)
        counts = map(str, (len(mine), len(mine) - behind - draws, draws, behind))
        last = plain(median(heavy)) if heavy else '', f'{len(ends) - worse}, {worse}' * bool(ends)
        rows.append((cell(method), *counts, spent, *last))
    columns = 'Method | Races | Faster | Draw | Slower | Time, middle and range | Memory, middle'
    return grid(f'{columns} | Quality: no worse, worse', rows)


def task_table() -> str:
    "One row for each task: ours and the best other, as they come and tuned, with seconds."
    lines = []
    for said in spec()['task']:
        measure, kinds = said['measure'], [said.get(kind) for kind in KINDS]
        rows = [row for name in said['results'] for row in table(name) if row.get(measure)]
        tasks: dict[str, list] = {}
        for row in rows:
            called = re.split(r', (?:split|seed) |: ', row['task'].removeprefix('als '))[0]
            tasks.setdefault(called, []).append(row)
        for task, mine in tasks.items():
            found = [kind and best(mine, measure, kind) for kind in kinds]
            if not (task.startswith(said.get('tasks', '')) and found[0] and any(found[2:])):
                continue
            both = [one['peak_mb'] for one in (found[0], found[3] or found[2])]
            heavy = ', '.join(f'{one:.0f}' for one in both if one == one)
            cells = [one and told_best(one, n > 1) or 'not tried' for n, one in enumerate(found)]
            lines.append((cell(task), cell(measure.replace('_', ' ')), *cells, heavy))
    columns = 'Task | Measure | Ours as it comes | Ours tuned | Best other as it comes'
    return grid(f'{columns} | Best other tuned | Memory, MB: ours, other', lines)


def best(rows: list[dict], measure: str, kind: str) -> dict | None:
    "The best of these methods by its mean over splits or seeds, with its mean costs."
    methods: dict[str, list] = {}
    for row in rows:
        if re.match(kind, row['method']):
            methods.setdefault(row['method'], []).append(row)

    def mean(method, column):
        values = [float(row[column]) for row in methods[method] if row[column]]
        return sum(values) / len(values) if values else math.nan

    if not methods:
        return None
    sign = -1 if measure == 'test_error' else 1
    first = max(methods, key=lambda method: sign * mean(method, measure))
    costs = {name: mean(first, name) for name in ('seconds', 'peak_mb')}
    return dict(method=first, quality=mean(first, measure), **costs)


def told_best(one: dict, named: bool) -> str:
    "Quality and seconds, with the name of another's method."
    name = f', {cell(one["method"])}' if named else ''
    spent = 'below 0.01' if one['seconds'] < 0.01 else f'{one["seconds"]:.2g}'
    seconds = f', {spent} s' if one['seconds'] == one['seconds'] else ''
    return f'{one["quality"]:.3f}{name}{seconds}'


def lost_races(found: list[Line]) -> list[tuple]:
    "Where the peer is ahead: marks that rows lead to, method, peers and the reason."
    seen: set[str] = set()
    rows = []
    for (method, why), group in reasons(found).items():
        names = '; '.join(
            f'{cell(line.peer)} on {cell(re.split(": |, p=", line.task)[0])}'
            + ('' if aspect == 'time' else f' ({aspect})')
            for line, aspect in group
        )
        marks = [mark for mark in dict.fromkeys(anchor(line) for line, _ in group)]
        rows.append(([mark for mark in marks if mark not in seen], cell(method), names, why))
        seen |= set(marks)
    return rows


def run_rows() -> list[tuple]:
    "How each result came about."
    import freshness

    old, rows = freshness.old(), []
    for path in sorted(RESULTS.glob('*.csv')):
        lines, how = table(path.stem), freshness.story(path.stem)
        rivals = '; '.join(how.get('rivals', {}).values())
        command = how.get('command') or f'make bench name={path.stem}'
        versions = max((row['versions'] for row in lines), key=len, default='')
        versions += f'; rivals: {rivals}' if rivals else ''
        since = f'earlier: {len(old[path.stem])} files changed since' if path.stem in old else ''
        where = cell(f'{how["machine"]}, {how["cores"]} cores') if how else ''
        date = max((row['date'] for row in lines), default='')
        name, since = f'[{path.stem}]{{#{path.stem}}}', since or 'as it stands'
        rows.append((name, f'`{command}`', since, where, cell(versions), date))
    return rows


def live_page() -> str:
    "What became of each page in the browser, and the cells that cannot run there."
    import freshness

    left_out: dict[str, list[str]] = {}
    rows = []
    for row in table('live_pages'):
        if row['cell']:
            left_out.setdefault(row['method'], []).append(row['task'])
            continue
        first = f'{row["ran"]} of {row["cells"]}', f'{row["first_cold"]}, {row["first_warm"]}'
        rest = [row[name] for name in ('cpu_first', 'seconds', 'cpu_seconds', 'peak_mb')]
        rows.append((f'[{row["method"]}](/{row["method"]}.html)', *first, *rest))
    counted = {
        name: [f'{why.count(one)} {cell(one)}' for one in dict.fromkeys(why)]
        for name, why in left_out.items()
    }
    how = freshness.story('live_pages').get('how', '')
    return filled('live', how=how, rows=rows, left_out=counted)


def write_pages() -> dict[str, str | bytes]:
    "The pages of measurements, and their picture."
    found = lines()
    alt, picture = race_figure(found)
    by_chapter = [
        (title, [line for line in found if line.chapter == chapter])
        for chapter, title in CHAPTERS.items()
    ]
    index = filled(
        'benchmarks',
        way=WAY,
        tasks=task_table(),
        summary=summary_table(found),
        alt=alt,
        chapters=[(title, part) for title, part in by_chapter if part],
        races=race_table,
        lost=sum(bool(line.lost()) for line in found),
        total=len(found),
        reasons=lost_races(found),
    )
    runs = filled('runs', way=WAY, rows=run_rows())
    return {'index': index, 'runs': runs, 'live': live_page(), 'races.png': picture}


if __name__ == '__main__':
    for line in lines():
        time, memory = (math.nan if value is None else value for value in (line.time, line.memory))
        print(
            f'{line.script:22.22s}{line.method:26.26s}{line.task:44.44s}{line.peer:22.22s} time'
            f' {time:9.3g} memory {memory:7.2g} lost {line.lost()}'
        )
    print('\n'.join(faults()))
