"""Write the problem sets for students and the package for teachers to build/course: `make course`.

    python assignments/make.py                      all problem sets
    python assignments/make.py ps1_softmax          one of them
    python assignments/make.py seed=7               other numbers: another year, another class
    python assignments/make.py roster=students.txt  besides, numbers of their own for every student, one id a line
    python assignments/make.py audit=FOLDER roster=students.txt   who handed in somebody else's numbers?
    python assignments/make.py check                end with an error where build/course holds submissions or marks
    python assignments/make.py list                 the names of the problem sets

A class folder with submissions, feedback or marks is not replaced: the first four commands end with a list of them. force=1 replaces it all the same.
"""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tomllib
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = Path(os.environ.get('EXTREME_OPT_COURSE') or HERE.parent / 'build' / 'course')
SETS = sorted(folder.name for folder in (HERE / 'source').glob('ps*') if folder.is_dir())
VARIANT = re.compile(r'^VARIANT = (\d+)', re.M)


def variant_of(student, name, seed=0):
    "The number of a student in a problem set: always the same, and another one in another year."
    return 1 + zlib.crc32(f'{student}/{name}/{seed}'.encode()) % 9999


def roster_of(path):
    "Student ids of a file: the first column, without a heading called id and without lines that begin with #."
    ids = [
        re.split(r'[,;\t]', line)[0].strip().strip('"')
        for line in Path(path).read_text(encoding='utf-8').splitlines()
    ]
    ids = [one for one in ids if one and one != 'id' and not one.startswith('#')]
    for one in ids:
        if not re.fullmatch(r'[\w.@-]+', one):
            raise SystemExit(
                f'{path}: the id {one!r} cannot be a folder; use letters, digits, and . _ - @'
            )
    return ids


def with_variant(text, number):
    "A notebook's text with another number in its line `VARIANT = 0`."
    new, n = re.subn(r'(?<="VARIANT = )\d+', str(number), text)
    if n != 1:
        raise SystemExit(f'{n} lines say VARIANT = ..., but a problem set has exactly one')
    return new


# ---------------------------------------------------------------- what must not be lost


def work_in(folder):
    "What people have put into a class folder: submissions, autograded copies, feedback, tables of marks, marks in the gradebook."
    found = [
        path
        for name in ('submitted', 'downloaded', 'autograded', 'feedback')
        if (path := folder / name).is_dir() and any(path.iterdir())
    ]
    if folder.is_dir():
        found += sorted(folder.glob('*.csv'))
    return found + [path for path in sorted(folder.glob('*.db')) if _has_students(path)]


def _has_students(path):
    "Whether a gradebook knows a student; a file that cannot be read counts as one that does."
    import sqlite3

    try:
        with contextlib.closing(
            sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro', uri=True)
        ) as book:
            return book.execute('select count(*) from student').fetchone()[0] > 0
    except sqlite3.Error:
        return True


def protect(folders):
    "End with a list of what would be lost, where a class folder holds anybody's work."
    found = [path for folder in folders for path in work_in(folder)]
    if not found:
        return
    raise SystemExit(
        'these would be deleted, so nothing was done:\n'
        + ''.join(f'  {path}\n' for path in found)
        + 'move them away first, or say force=1 to lose them'
    )


# ---------------------------------------------------------------- release


def release(names, seed=0):
    "Cut the solutions out with nbgrader in a course folder that is ready to grade in; copies for students and teachers."
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    room = OUT / 'class'
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(parents=True)
    for file in ('nbgrader_config.py', 'Dockerfile', 'grade.sh'):
        shutil.copy(HERE / file, room)
    config = Config()
    config.CourseDirectory.course_id, config.CourseDirectory.root = 'extreme_opt', str(room)
    (OUT / 'student').mkdir(parents=True, exist_ok=True)
    shutil.copy(
        HERE / 'nbgrader_config.py', OUT / 'student'
    )  # students validate with the same patience
    shutil.rmtree(OUT / 'student/hints', ignore_errors=True)
    shutil.copytree(HERE / 'hints', OUT / 'student/hints')
    for name in names:
        shutil.copytree(
            HERE / 'source' / name, room / 'source' / name, ignore=shutil.ignore_patterns('.*')
        )
        if seed:
            path = room / 'source' / name / f'{name}.ipynb'
            path.write_text(with_variant(path.read_text(encoding='utf-8'), seed), encoding='utf-8')
        done = NbGraderAPI(config=config).generate_assignment(name, force=True, create=True)
        if not done['success']:
            raise SystemExit(f'{name}: {done["log"]}\n{done["error"]}')
        for kind, made in dict(student='release', instructor='source').items():
            shutil.rmtree(OUT / kind / name, ignore_errors=True)
            shutil.copytree(room / made / name, OUT / kind / name)


def variants(names, students, seed=0):
    "A copy of the release for every student, with a number of their own."
    for student in students:
        for name in names:
            text = (OUT / 'student' / name / f'{name}.ipynb').read_text(encoding='utf-8')
            path = OUT / 'variants' / student / name / f'{name}.ipynb'
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(with_variant(text, variant_of(student, name, seed)), encoding='utf-8')


def audit(folder, students, seed=0):
    "Submissions whose number is not their student's: (student, problem set, number, what it should be)."
    found = []
    for path in sorted(Path(folder).glob('*/*/*.ipynb')):
        student, name = path.parts[-3:-1]
        if name not in SETS or path.stem != name:
            continue
        sources = [
            ''.join(cell['source'])
            for cell in json.loads(path.read_text(encoding='utf-8'))['cells']
            if cell['cell_type'] == 'code'
        ]
        numbers = [int(n) for source in sources for n in VARIANT.findall(source)]
        should = variant_of(student, name, seed) if student in students else None
        if numbers != [should]:
            found.append((student, name, numbers, should))
    return found


# ---------------------------------------------------------------- teachers


def questions(name):
    "(grade id, kind, points, what is asked, mark scheme) of a problem set, in order."
    asked, found, answered = '', [], ''
    for cell in json.loads((HERE / 'source' / name / f'{name}.ipynb').read_text(encoding='utf-8'))[
        'cells'
    ]:
        meta, source = cell['metadata'].get('nbgrader', {}), ''.join(cell['source'])
        if cell['cell_type'] == 'markdown' and not meta:
            asked = source
        elif meta.get('solution') and not meta.get('grade'):
            answered = meta['grade_id']
        elif meta.get('grade'):
            by_hand = bool(meta.get('solution'))
            scheme = re.search(
                r'=== BEGIN MARK SCHEME ===\n(.*?)\n=== END|# MARK SCHEME\. (.*?)\n### END',
                source,
                re.S,
            )
            text = (scheme[1] or re.sub(r'^# ', '', scheme[2], flags=re.M)) if scheme else ''
            found.append(
                (meta['grade_id'], 'by hand' if by_hand else answered, meta['points'], asked, text)
            )
    return found


def mistakes(name):
    "Answers known to be wrong, by coding question, from the files that the tests grade."
    path = HERE.parent / f'tests/course/{name}.py'
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        key: ([a for a, right, _ in rows if right], [a for a, right, _ in rows if not right])
        for key, rows in module.ANSWERS.items()
    }


def rubric(name):
    "Points, minutes, mark schemes and common mistakes of a problem set, as Markdown."
    minutes, wrong, rows = (
        tomllib.loads((HERE / 'minutes.toml').read_text(encoding='utf-8')).get(name, {}),
        mistakes(name),
        questions(name),
    )
    points = sum(row[2] for row in rows)
    hand = sum(row[2] for row in rows if row[1] == 'by hand')
    out = [
        f'# {name}: rubric',
        '',
        f'{points:g} points, {hand:g} of them by hand. About {sum(minutes.values()) / 60:.1f} hours for one who has read the chapter.',
        '',
        '| question | marked | points | minutes |',
        '|---|---|---|---|',
    ]
    out += [
        f'| {label} | {"by hand" if kind == "by hand" else f"by tests (`{kind}`)"} | {worth:g} | {minutes.get(label, "")} |'
        for label, kind, worth, _, _ in rows
    ]
    for label, kind, worth, asked, scheme in rows:
        out += ['', f'## {label} ({worth:g} points)', '']
        if kind == 'by hand':
            out += [
                re.sub(r'^#+ (.*)$', r'**\1**', asked, flags=re.M),
                '',
                '**Mark scheme.** ' + scheme.replace('\n', '  \n'),
            ]
        else:
            right, bad = wrong.get(kind, ([], []))
            out += [
                f'`{kind}`, all or nothing. Approaches known to earn the points: {"; ".join(right) or "the reference"}.',
                '',
                'Mistakes known to earn none: ' + '; '.join(bad) + '.',
            ]
    return '\n'.join(out) + '\n'


def teachers(names):
    "Rubrics, the answers to the exercises of all pages, the guide, and a table of contents."
    room = OUT / 'instructor'
    (room / 'rubrics').mkdir(parents=True, exist_ok=True)
    for name in names:
        (room / 'rubrics' / f'{name}.md').write_text(rubric(name), encoding='utf-8')
    shutil.rmtree(room / 'answers', ignore_errors=True)
    shutil.copytree(HERE / 'answers', room / 'answers')
    shutil.copy(HERE.parent / 'docs/teaching.md', room / 'GUIDE.md')
    minutes = tomllib.loads((HERE / 'minutes.toml').read_text(encoding='utf-8'))
    lines = [
        '# For teachers',
        '',
        '`GUIDE.md` says how to run a course; `rubrics/` how to mark; `answers/` solves the exercises that close the pages.',
        'The notebooks here hold the solutions: keep this folder away from students. `../class` is an nbgrader course, ready to grade in.',
        '',
        '| problem set | points | by hand | hours |',
        '|---|---|---|---|',
    ]
    for name in names:
        rows = questions(name)
        lines.append(
            f'| {name} | {sum(r[2] for r in rows):g} | {sum(r[2] for r in rows if r[1] == "by hand"):g} | {sum(minutes[name].values()) / 60:.1f} |'
        )
    (room / 'README.md').write_text('\n'.join(lines) + '\n', encoding='utf-8')


def main(arguments):
    "Make every problem set, or the ones named."
    options = dict(part.split('=', 1) for part in arguments if '=' in part)
    names = [part for part in arguments if '=' not in part]
    if strange := (set(options) - {'seed', 'roster', 'audit', 'force'}) | (
        set(names) - {'list', 'check', *SETS}
    ):
        raise SystemExit(
            f'what is {sorted(strange)[0]}? say seed=N, roster=FILE, audit=FOLDER, force=1, list, check, or one of {", ".join(SETS)}'
        )
    seed = int(options.get('seed', 0))
    if names == ['list']:
        return print('\n'.join(SETS) or 'assignments/source holds no problem set yet')
    students = roster_of(options['roster']) if 'roster' in options else []
    if 'audit' in options:
        found = audit(options['audit'], students, seed)
        for student, name, numbers, should in found:
            print(f'{student}, {name}: VARIANT is {numbers}, should be {should}')
        print(f'{len(found)} submissions with numbers that are not their own')
        return sys.exit(bool(found))
    folders = (
        [HERE.parent / 'build/course/class'] if names == ['check'] else [OUT / 'class']
    )  # what `make clean` deletes, what this command does
    if options.get('force') != '1':
        protect(folders)
    if names == ['check']:
        return None
    names = names or SETS
    release(names, seed)
    variants(names, students, seed)
    teachers(names)
    for name in names:
        print(f'{name}: build/course/student/{name} and build/course/instructor/{name}')
    if students:
        print(f'{len(students)} students: build/course/variants')


if __name__ == '__main__':
    main(sys.argv[1:])
