"""Write the problem sets for students, the package for teachers and a class to grade in: `make
course out=DIR`.

    python assignments/make.py out=DIR                   all problem sets
    python assignments/make.py out=DIR ps1_softmax       one of them
    python assignments/make.py out=DIR seed=7            other numbers: another year, another class
    python assignments/make.py out=DIR roster=FILE       numbers of their own for every student, one
                                                         id a line
    python assignments/make.py out=DIR ps1_softmax parts=1,2,5   some parts of a set, with the
                                                                 points that they have
    python assignments/make.py out=DIR version=b         the other version of the sets that have one
    python assignments/make.py audit=FOLDER roster=FILE  who handed in somebody else's numbers?
    (seed=7 as above)
    python assignments/make.py check                     end with an error where build/ holds a
                                                         class with work in it
    python assignments/make.py list                      the names of the problem sets

DIR lies outside this checkout. Called again, it updates sources and releases in DIR/class and
leaves submissions, marks and feedback alone: the gradebook is copied to DIR/class/backups first,
and a change that would cost marks is listed and refused.
"""

import contextlib
import importlib.util
import io
import json
import re
import shutil
import sqlite3
import sys
import time
import tomllib
import unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import parts  # noqa: E402
from grader import intake, keep, keep_gradebook  # noqa: E402
from grader.intake import VARIANT, variant_of  # noqa: E402
from grader.lms import WHO  # noqa: E402

SETS = sorted(folder.name for folder in (HERE / 'source').glob('ps*') if folder.is_dir())
PROGRAMS = (
    'nbgrader_config.py',
    'Dockerfile',
    'grade.py',
    'questions.toml',
    *sorted(f'grader/{path.name}' for path in (HERE / 'grader').glob('*.py')),
)
SETTINGS = """\
# Settings of this class. `make course` writes this file once and never changes it.
seed = {seed}
begun = {begun}   # an earlier time of handing in is asked about

[late]                       # a time of handing in is read from timestamp.txt beside the notebook
grace_minutes = 10           # so much later counts as in time
share_per_day = 0.1          # of the points earned, for every day begun
days = 5                     # after these nothing is earned

[due]                        # for example: ps1_softmax = 2030-10-14T23:59:00+02:00

[extensions]                 # for example: "ada/ps1_softmax" = 2030-10-21T23:59:00+02:00

[groups]                     # for example: "ada/ps5_project" = ["bob", "cy"]: ada hands in for the three

[limits]                     # of one submission
seconds = 120                # of the processor, a cell or a call; three times as many by the clock
memory_gb = 4
"""


def roster_of(path):
    """Student ids of a file that a spreadsheet or a learning management system wrote: the column
    whose heading says so, otherwise the first; lines that begin with # are left out."""
    from extreme_opt.data import read_fields

    lines = Path(path).read_bytes().splitlines(keepends=True)
    text = b''.join(line for line in lines if not line.startswith((b'#', b'"#')))
    if not text.strip():
        return []
    try:
        table = read_fields(io.BytesIO(text), header=False, encoding=('utf-8', 'cp1252'))
    except ValueError as error:
        raise SystemExit(f'{path} cannot be read: {error}') from None
    head = [cell.strip().lower() for cell in table.rows[0]] if table.rows else []
    at = next((head.index(one) for one in WHO[:12] if one in head), None)
    rows = table.rows if at is None else table.rows[1:]
    ids = [unicodedata.normalize('NFC', row[at or 0].strip()) for row in rows]
    ids = list(dict.fromkeys(one for one in ids if one))
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
    """What people have put into a class folder: submissions, autograded copies, feedback, tables of
    marks, marks in the gradebook."""
    found = [
        path
        for name in ('submitted', 'downloaded', 'autograded', 'feedback', 'history', 'backups')
        if (path := folder / name).is_dir() and any(path.iterdir())
    ]
    if folder.is_dir():
        found += sorted(folder.glob('*.csv'))
    return found + [path for path in sorted(folder.glob('*.db')) if _has_students(path)]


def _has_students(path):
    "Whether a gradebook knows a student; a file that cannot be read counts as one that does."
    try:
        with contextlib.closing(
            sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro', uri=True)
        ) as book:
            return book.execute('select count(*) from student').fetchone()[0] > 0
    except sqlite3.Error:
        return True


def protect(folder):
    "End with a list of what would be lost, where a folder holds anybody's work."
    rooms = [path.parent for path in folder.rglob('gradebook.db')] if folder.is_dir() else []
    rooms += [folder / 'course/class']
    found = sorted({path for room in rooms for path in work_in(room)})
    if found:
        raise SystemExit(
            'these would be deleted, so nothing was done:\n'
            + ''.join(f'  {path}\n' for path in found)
            + 'move them away first: a class lives outside the checkout (make course out=DIR)'
        )


def out_of(options, example='make course out=../my-class'):
    """The folder that a teacher names; not in this checkout, where it could be cleaned away or
    committed."""
    if 'out' not in options:
        raise SystemExit(f'say where it is to live: {example}')
    out = Path(options['out']).expanduser().resolve()
    if out.is_relative_to(HERE.parent):
        raise SystemExit(
            f'{out} lies in the checkout, where `make clean` deletes and git commits: '
            f'name a folder outside it, for example {example.split()[-1]}'
        )
    return out


def cells_of(notebook):
    """Graded cells of a notebook and their points, and the names of all cells that nbgrader knows:
    ({name: points}, names)."""
    metas = [
        cell['metadata']['nbgrader']
        for cell in notebook['cells']
        if cell['metadata'].get('nbgrader')
    ]
    points = {meta['grade_id']: float(meta['points']) for meta in metas if meta['grade']}
    return points, {meta['grade_id'] for meta in metas}


def losses(room, name, seed, notebook):
    """What an update of a set's source to this notebook would cost a class that has submissions of
    it, one line each."""
    from nbgrader.api import Gradebook, MissingEntry

    if not (room / 'gradebook.db').exists():
        return []
    points, names = cells_of(notebook)
    with Gradebook(f'sqlite:///{room / "gradebook.db"}', 'extreme_opt') as book:
        try:
            notebook = book.find_notebook(name, name)
        except MissingEntry:
            return []
        if not notebook.submissions:
            return []
        old = {cell.name: cell.max_score for cell in notebook.grade_cells}
        known = {cell.name for cell in (*notebook.source_cells, *notebook.solution_cells)}
        marks = {
            cell: sum(
                grade.auto_score is not None or grade.manual_score is not None
                for submission in notebook.submissions
                for grade in submission.grades
                if grade.name == cell
            )
            for cell in old
        }
    found = [
        f'{name}, {cell}: {marks[cell]} marks out of {old[cell]:g}, '
        + (f'now out of {points[cell]:g}' if cell in points else 'and the question is gone')
        for cell in old
        if points.get(cell) != old[cell]
    ]
    changed = (known | set(old)) ^ names
    found += [
        f'{name}, {cell}: the cell is {"new" if cell in names else "gone"}'
        for cell in sorted(changed - set(old))
    ]
    before = settings_of(room)['seed']
    if before != seed:
        found.append(f'{name}: submissions were made with seed={before}, not seed={seed}')
    return found


# ---------------------------------------------------------------- release


def settings_of(room):
    "The settings of a class."
    return tomllib.loads((room / 'class.toml').read_text(encoding='utf-8'))


def replace(room, path, new):
    """Put a file of ours in its place; where it was changed by hand, the changed one is kept in
    backups/."""
    if path.exists() and path.read_bytes() != new.read_bytes():
        keep(path, room / 'backups')
    shutil.copy(new, path)


def furnish(room, seed):
    "The programs and settings of a class folder."
    room.mkdir(parents=True, exist_ok=True)
    (room / 'grader').mkdir(exist_ok=True)
    for file in PROGRAMS:
        replace(room, room / file, HERE / file)
    replace(room, room / 'constraints.txt', HERE.parent / 'constraints.txt')
    if not (room / 'class.toml').exists():
        begun = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
        text = SETTINGS.format(seed=seed, begun=begun)
        (room / 'class.toml').write_text(text, encoding='utf-8')


def chosen(name, version='a', only=()):
    "The notebook of a problem set, in one of its versions, all of it or some of its parts."
    try:
        notebook = parts.read(name, version)
        if not only:
            return notebook
        notebook = parts.cut(notebook, set(only))
        left = [cell['metadata'].get('nbgrader', {}).get('grade_id') for cell in notebook['cells']]
        head = notebook['cells'][0]['source']
        said = f'About {parts.hours(name, left):.1f} hours'
        notebook['cells'][0]['source'] = [re.sub('^(Three to four|Four) hours', said, one) for one in head]
        return notebook
    except ValueError as error:
        raise SystemExit(f'{name}: {error}') from None


def release(out, names, seed=0, version='a', only=()):
    """Cut the solutions out with nbgrader in a class folder that is ready to grade in; copies for
    students and teachers."""
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    room = out / 'class'
    books = {name: chosen(name, version, only) for name in names}
    kept = keep_gradebook(room)
    if found := [line for name in names for line in losses(room, name, seed, books[name])]:
        raise SystemExit(
            'marks would be lost, so nothing was done:\n'
            + ''.join(f'  {line}\n' for line in found)
            + f'grade what was handed in with the sources it was made for ({room / "source"} is as'
            ' it was), and begin another class for the new ones'
        )
    furnish(room, seed)
    config = Config()
    config.CourseDirectory.course_id, config.CourseDirectory.root = 'extreme_opt', str(room)
    (out / 'student').mkdir(parents=True, exist_ok=True)
    shutil.copy(
        HERE / 'nbgrader_config.py', out / 'student'
    )  # students validate with the same patience
    shutil.copytree(HERE / 'hints', out / 'student/hints', dirs_exist_ok=True)
    for file in (HERE / 'student/README.md', HERE.parent / 'constraints.txt'):
        shutil.copy(file, out / 'student')
    for name in names:
        shutil.copytree(
            HERE / 'source' / name,
            room / 'source' / name,
            ignore=shutil.ignore_patterns('.*'),
            dirs_exist_ok=True,
        )
        text = json.dumps(books[name], indent=1, ensure_ascii=False) + '\n'
        (room / 'source' / name / f'{name}.ipynb').write_text(
            with_variant(text, seed) if seed else text, encoding='utf-8'
        )
        done = NbGraderAPI(config=config).generate_assignment(name, force=True, create=True)
        if not done['success']:
            raise SystemExit(f'{name}: {done["log"]}\n{done["error"]}')
        for kind, made in dict(student='release', instructor='source').items():
            shutil.copytree(room / made / name, out / kind / name, dirs_exist_ok=True)
    return kept


def variants(out, names, students, seed=0):
    """A copy of the release for every student, with a number of their own; the class remembers who
    they are."""
    for student in students:
        for name in names:
            text = (out / 'student' / name / f'{name}.ipynb').read_text(encoding='utf-8')
            path = out / 'variants' / student / name / f'{name}.ipynb'
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(with_variant(text, variant_of(student, name, seed)), encoding='utf-8')
    if students:
        path = out / 'class/students.txt'
        path.parent.mkdir(parents=True, exist_ok=True)
        known = roster_of(path) if path.exists() else []
        path.write_text(
            ''.join(f'{one}\n' for one in dict.fromkeys([*known, *students])), encoding='utf-8'
        )


def audit(folder, students, seed=0):
    """Submissions whose number is not their student's: (student, problem set, number, what it
    should be)."""
    found = []
    for path in sorted(Path(folder).glob('*/*/*.ipynb')):
        student, name = path.parts[-3:-1]
        if name not in SETS or path.stem != name:
            continue
        try:
            sources = [cell[3] for cell in intake.cells_of(path) if cell[0] == 'code']
        except intake.Trouble as trouble:
            found.append((student, name, trouble.why, variant_of(student, name, seed)))
            continue
        numbers = [int(n) for source in sources for n in VARIANT.findall(source)]
        should = variant_of(student, name, seed) if student in students else None
        if numbers != [should]:
            found.append((student, name, numbers, should))
    return found


# ---------------------------------------------------------------- teachers


def questions(name, version='a', only=()):
    "(grade id, kind, points, what is asked, mark scheme) of a problem set, in order."
    asked, found, answered = '', [], ''
    for cell in chosen(name, version, only)['cells']:
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


def known_answers(name):
    "Answers that the tests grade, by coding question: [(what it does, points, program)]."
    path = HERE.parent / f'assignments/tests/course/{name}.py'
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ANSWERS


def outcome(known, label):
    "(minutes, what a question tests, the lesson that teaches it), for a table."
    minutes, lesson, tests = known.get(label, ('', '', ''))
    return minutes, tests, f'`learn/{lesson}`' if lesson else ''


def filled(template, **values):
    "A paper for teachers."
    import jinja2

    home = jinja2.FileSystemLoader(HERE / 'templates')
    look = dict(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    make = jinja2.Environment(loader=home, undefined=jinja2.StrictUndefined, **look)
    make.filters['marks'] = '{:g}'.format
    return make.get_template(template).render(**values)


def summary(name, version='a', only=()):
    "What papers for teachers say of a problem set: sums, and each question with known answers."
    known, answers, asked = parts.known(name), known_answers(name), questions(name, version, only)
    rows = []
    for label, kind, worth, text, scheme in asked:
        row = dict(label=label, kind=kind, points=worth, outcome=outcome(known, label), scheme=None)
        if kind == 'by hand':
            row['asked'] = re.sub(r'^#+ (.*)$', r'**\1**', text, flags=re.M)
            row['scheme'] = scheme.replace('\n', '  \n')
        most = sum(one[2] for one in asked if one[1] == kind)
        tried = [(said, earned) for said, earned, _ in answers.get(kind, [])]
        row['right'] = [said for said, earned in tried if earned >= most]
        some = [f'{said} ({earned:g} of {most:g})' for said, earned in tried if 0 < earned < most]
        row['wrong'] = [said for said, earned in tried if not earned] + some
        rows.append(row)
    points, by_hand = (sum(r[2] for r in asked if all or r[1] == 'by hand') for all in (True, False))
    hours = parts.hours(name, [row[0] for row in asked])
    return dict(name=name, points=points, by_hand=by_hand, hours=hours, rows=rows)


def rubric(name, version='a', only=()):
    "Points, minutes, mark schemes and common mistakes of a problem set, as Markdown."
    return filled('rubric.md', **summary(name, version, only))


def teachers(out, names, version='a', only=()):
    """Rubrics, answers to exercises, samples of written answers, quizzes, the exam, the guide, and
    a table of contents."""
    room = out / 'instructor'
    (room / 'rubrics').mkdir(parents=True, exist_ok=True)
    sets = [summary(name, version, only) for name in names]
    for one in sets:
        path = room / f'rubrics/{one["name"]}.md'
        path.write_text(filled('rubric.md', **one), encoding='utf-8')
    for folder in ('answers', 'written', 'quiz', 'exam'):
        shutil.copytree(HERE / folder, room / folder, dirs_exist_ok=True)
    shutil.copy(HERE.parent / 'docs/teaching.md', room / 'GUIDE.md')
    home = HERE.parent / 'nbs/learn'
    taught = {row[1] for name in names for row in parts.known(name).values()}
    lessons = [path.relative_to(home).with_suffix('').as_posix() for path in home.glob('*/*.ipynb')]
    text = filled('teachers.md', sets=sets, untested=sorted(set(lessons) - taught))
    (room / 'README.md').write_text(text, encoding='utf-8')


def numbers_of(text):
    "The numbers of parts=1,2,5."
    if text and not re.fullmatch(r'\d+(,\d+)*', text):
        raise SystemExit(f'parts={text} names no parts; say for example parts=1,2,5')
    return tuple(int(part) for part in text.split(',') if part)


def sets_of(version):
    "The problem sets that have another version."
    return [name for name in SETS if (HERE / f'versions/{version}/{name}.ipynb').exists()]


def main(arguments):
    "Make every problem set, or the ones named."
    options = dict(part.split('=', 1) for part in arguments if '=' in part)
    names = [part for part in arguments if '=' not in part]
    known = {'out', 'seed', 'roster', 'audit', 'parts', 'version'}
    if strange := (set(options) - known) | (set(names) - {'list', 'check', *SETS}):
        raise SystemExit(
            f'what is {sorted(strange)[0]}? say out=DIR, seed=N, roster=FILE, parts=1,2, version=b,'
            f' audit=FOLDER, list, check, or one of {", ".join(SETS)}'
        )
    seed = int(options.get('seed', 0))
    if names == ['list']:
        return print('\n'.join(SETS) or 'assignments/source holds no problem set yet')
    if names == ['check']:
        return protect(HERE.parent / 'build')
    students = roster_of(options['roster']) if 'roster' in options else []
    if 'audit' in options:
        found = audit(options['audit'], students, seed)
        for student, name, numbers, should in found:
            print(f'{student}, {name}: VARIANT is {numbers}, should be {should}')
        print(f'{len(found)} submissions with numbers that are not their own')
        return sys.exit(bool(found))
    out = out_of(options)
    if 'seed' not in options and (out / 'class/class.toml').exists():
        seed = settings_of(out / 'class')['seed']
    which = options.get('version', 'a'), numbers_of(options.get('parts', ''))
    if which[1] and len(names) != 1:
        raise SystemExit(
            'parts= belongs to one problem set: make course out=DIR name=ps1_softmax parts=1,2'
        )
    names = names or (SETS if which[0] == 'a' else sets_of(which[0]))
    room = out / 'class'
    handed = [path for path in work_in(room) if path.name not in ('backups', 'downloaded')]
    if students and handed and not (room / 'students.txt').exists():
        raise SystemExit(
            f'a roster gives every student another number, and work made with the common one is'
            f' here ({handed[0]}), so nothing was done: begin another class for the roster'
        )
    kept = release(out, names, seed, *which)
    variants(out, names, students, seed)
    teachers(out, names, *which)
    if kept:
        print(f'the gradebook as it was: {kept}')
    for name in names:
        asked = questions(name, *which)
        print(
            f'{name}: {sum(row[2] for row in asked):g} points, {len(asked)} questions, about'
            f' {parts.hours(name, [row[0] for row in asked]):.1f} hours'
        )
    if students:
        print(f'{len(students)} students: {out}/variants')
    print(f'to grade: {out}/class')


if __name__ == '__main__':
    main(sys.argv[1:])
