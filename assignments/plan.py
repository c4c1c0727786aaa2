"""The four weeks of plan.toml, measured: words and lines to read, minutes and points of the parts.

python assignments/plan.py
"""

import json
import tomllib
from pathlib import Path

import parts

HERE = Path(__file__).resolve().parent


def plan():
    "What plan.toml says."
    return tomllib.loads((HERE / 'plan.toml').read_text(encoding='utf-8'))


def size(page):
    "(words of text, lines of code) of a page."
    cells = json.loads((HERE.parent / f'nbs/{page}.ipynb').read_text(encoding='utf-8'))['cells']
    words = lines = 0
    for cell in cells:
        source = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown':
            words += len(source.split())
        else:
            lines += sum(bool(line.strip()) for line in source.split('\n'))
    return words, lines


def measured():
    "One row a week: words, lines, minutes and points of its problem set."
    rows = []
    for week in plan()['week']:
        words, lines = map(sum, zip(*map(size, week['board'] + week['lab'])))
        part = parts.cut(parts.read(week['set']), week['parts'])
        asked = [cell['metadata'].get('nbgrader', {}).get('grade_id') for cell in part['cells']]
        rows.append(
            dict(
                words=words,
                lines=lines,
                minutes=round(60 * parts.hours(week['set'], asked)),
                points=parts.points_of(part['cells']),
            )
        )
    return rows


def table(sizes=True):
    "The plan as Markdown, with the words and lines of its pages or without them."
    head = '| week | board | lab | guide | problem set | points | hours |'
    head += ' words | lines of code |' if sizes else ''
    out = [head, '|---' * (head.count('|') - 1) + '|']
    for number, (week, row) in enumerate(zip(plan()['week'], measured()), 1):
        board, lab = (', '.join(f'`{page}`' for page in week[key]) for key in ('board', 'lab'))
        said = f'{week["set"]}, parts {", ".join(map(str, week["parts"]))}'
        out.append(
            f'| {number} | {board} | {lab} | `{week["guide"]}` | {said} | {row["points"]:g} | '
            f'{row["minutes"] / 60:.1f} |'
            + (f' {row["words"]} | {row["lines"]} |' if sizes else '')
        )
    return '\n'.join(out)


if __name__ == '__main__':
    print(table())
