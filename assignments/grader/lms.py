"""Marks of one problem set by question, and into the file of a learning management system.

Canvas and Moodle import the gradebook that they export: their own file says who is who. Gradescope
imports no marks; its roster works the same, for a table with its names and numbers.
"""

import unicodedata
from statistics import correlation, fmean, quantiles

WHO = (
    'sis login id', 'sis user id', 'id', 'student id', 'username', 'user name', 'id number', 'sid',
    'login', 'student', 'email', 'email address', 'integration id', 'section', 'sections', 'name',
    'first name', 'last name', 'surname', 'full name',
)  # fmt: skip


def plain(text):
    "An id as it is compared."
    return unicodedata.normalize('NFC', str(text)).strip().casefold()


def filled(table, name, marks, most):
    """The rows of a gradebook or roster of a learning management system with a column for this set, and
    the students who are not in it: (headings, rows, missing). `marks` is {student: (points or None,
    words)}; of other columns only those that say who somebody is are kept."""
    heads = [head.strip() for head in table.names]
    keep = [at for at, head in enumerate(heads) if head.casefold() in WHO]
    ids = [at for at in keep if heads[at].casefold() in WHO[:12]]
    if not ids:
        raise ValueError(f'no column of ids among {", ".join(heads)[:80]}')
    head = next((one for one in heads if one.split(' (')[0].casefold() == name), name)
    moodle = 'email address' in map(str.casefold, heads)
    known, rows = {plain(student): student for student in marks}, []
    found = set()
    for row in table.rows:
        here = [plain(row[at]) for at in ids]
        here += [one.split('@')[0] for one in here if '@' in one]
        student = next((known[one] for one in here if one in known), None)
        if plain(row[0]).startswith('points possible'):
            value, words = f'{most:g}', ''
        elif student is None or marks[student][0] is None:
            value, words = '', ''
        else:
            value, words = f'{marks[student][0]:g}', marks[student][1]
        found.add(student)
        rows.append([row[at] for at in keep] + [value] + [words] * moodle)
    missing = sorted(set(marks) - found)
    return [heads[at] for at in keep] + [head] + [f'{name} feedback'] * moodle, rows, missing


def by_question(grades, known, minutes):
    """(headings, rows) with the points of every student by question, and Markdown that sums up each
    question. `grades` is {student: {question: (points or None, most)}}, `known` what questions.toml
    says, and `minutes` what students say that the set took."""
    asked = list(next(iter(grades.values()), {}))
    rows = [
        [student, *('' if row[q][0] is None else f'{row[q][0]:g}' for q in asked)]
        for student, row in sorted(grades.items())
    ]
    head = '| question | of | marked | mean | full | none | discrimination | minutes, estimated |'
    lines = [head, '|---' * 8 + '|']
    for q in asked:
        marked = [row for row in grades.values() if row[q][0] is not None]
        got, most = [row[q][0] for row in marked], next(iter(grades.values()))[q][1]
        rest = [sum(row[o][0] or 0 for o in asked if o != q) for row in marked]
        clear = len(set(got)) > 1 and len(set(rest)) > 1
        lines.append(
            f'| {q} | {most:g} | {len(got)} | {fmean(got) if got else 0:.1f} |'
            f' {sum(one == most for one in got)} | {sum(one == 0 for one in got)} |'
            f' {f"{correlation(got, rest):.2f}" if clear else ""} | {known.get(q, [""])[0]} |'
        )
    lines += ['', 'Discrimination: correlation of the points of a question with those of all others.']
    if minutes:
        low, middle, high = quantiles(minutes * 2 if len(minutes) == 1 else minutes, method='inclusive')
        estimated = sum(known[q][0] for q in asked if q in known)
        lines += ['', f'Minutes for the set, as {len(minutes)} say: half took {low:.0f} to {high:.0f}, '
                  f'the median is {middle:.0f}; estimated {estimated}.']  # fmt: skip
    return ['student', *asked], rows, '\n'.join(lines) + '\n'
