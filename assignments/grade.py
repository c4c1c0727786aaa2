"""Grade a problem set, student by student: in the class folder, `python grade.py ps1_softmax`.

    python grade.py ps1_softmax               what is new or changed; then marks, tables and
                                              feedback
    python grade.py ps1_softmax --force NAME  this student once more
    python grade.py ps1_softmax --force all   everybody once more
    python grade.py ps1_softmax --trust       without a sandbox where none is found
    python grade.py ps1_softmax --workers 4   four submissions at once, one core each
    python grade.py ps1_softmax --into FILE   marks into the gradebook that Canvas or Moodle
                                              exported: the file to import lies in lms/

Submissions lie in submitted/STUDENT/ps1_softmax/. Marks of written answers are typed into
written/ps1_softmax.csv, and read when the program is run again. It writes grades.csv, and a page in
feedback/ for everybody whose written answers are marked. What was graded is kept in history/, the
gradebook as it was in backups/, and grading.log says what was done.
"""

import argparse
import contextlib
import csv
import datetime
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOM = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOM))
from grader import intake, keep, keep_gradebook, lms, rendering, sandbox  # noqa: E402

UTC = datetime.UTC
RUNNING = set()  # processes of tests
MINUTES = re.compile(r'^MINUTES = (\d{1,4})\b', re.M)  # what a student says that the set took
TIME = '2030-10-14T23:59:00+02:00'
WRITTEN = ('student', 'question', 'points', 'score', 'comment', 'answer')
GRADES = tuple('student set state points of tests written late handed_in note'.split())


def settings():
    "class.toml, with what it leaves out; SystemExit where it says what cannot be."
    path = ROOM / 'class.toml'
    try:
        found = tomllib.loads(path.read_text(encoding='utf-8-sig')) if path.exists() else {}
    except ValueError as error:
        raise SystemExit(f'class.toml cannot be read: {error}; a time looks like {TIME}') from None
    for part in ('due', 'extensions'):
        for key, when in found.get(part, {}).items():
            if not isinstance(when, datetime.datetime) or when.tzinfo is None:
                raise SystemExit(
                    f'class.toml, [{part}] {key} = {when}: give the day, the time and its zone, '
                    f'such as {TIME}'
                )
            if part == 'extensions' and '/' not in key:
                raise SystemExit(f'class.toml, [extensions] {key}: write "student/set" = {TIME}')
            if part == 'extensions' and not (ROOM / 'submitted' / key).is_dir():
                print(f'class.toml, [extensions] {key}: nothing is handed in under this name')
            if not (ROOM / 'source' / key.rsplit('/', 1)[-1]).is_dir():
                print(f'class.toml, [{part}] {key}: no set of this name is here')
    for part in ('late', 'limits'):
        for key, value in found.get(part, {}).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise SystemExit(f'class.toml, [{part}] {key} = {value!r}: give a number, 0 or more')
    for key, members in found.get('groups', {}).items():
        if '/' not in key or not isinstance(members, list) or not all(map(is_name, members)):
            raise SystemExit(f'class.toml, [groups] {key} = {members!r}: write "ada/set" = ["bob", "cy"]')
        student, name = key.rsplit('/', 1)
        for member in members:
            if member == student or (ROOM / 'submitted' / member / name).exists():
                raise SystemExit(
                    f'class.toml, [groups] {key}: {member} handed in, too; keep one of the two in submitted/'
                )
    rules = dict(seed=0, due={}, extensions={}, groups={}, begun=None) | found
    rules['late'] = dict(grace_minutes=10, share_per_day=0.1, days=5) | found.get('late', {})
    return rules | dict(limits=dict(seconds=120, memory_gb=4) | found.get('limits', {}))


def is_name(one):
    return isinstance(one, str) and one and one == intake.shown(one) and '/' not in one


def log(text):
    with open(ROOM / 'grading.log', 'a', encoding='utf-8', errors='backslashreplace') as file:
        file.write(f'{datetime.datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}\n')


def write(path, text, encoding='utf-8'):
    "Write a file in one go, so that an interrupted run leaves the one before."
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f'.{path.name}.part')
    part.write_text(text, encoding=encoding, newline='')
    part.replace(path)


# ---------------------------------------------------------------- running


def run(items, name, kind, limits, *, given=None, changes=(), keep_cache=None, warm=None):
    "Run one submission against the tests: what verify.py found; Trouble where it could not finish."
    with tempfile.TemporaryDirectory(prefix='grade-') as scratch:
        scratch = Path(scratch)
        tests = 2 * sum(item['kind'] in ('tests', 'solution') for item in items)
        limits = dict(limits, cpu=limits['seconds'] * (tests + 6) + 60)  # of each process, in all
        command, env, stop = sandbox.command(kind, given, warm, keep_cache, scratch, limits)
        job = dict(
            items=items,
            limits=limits,
            changes=list(changes),
            learn=keep_cache is not None,
            command=command,
            env=env,
            stop=stop,
            outside=kind in ('bubblewrap', 'none') and Path('/proc/self/clear_refs').exists(),
            places=sandbox.places(kind, given, warm, keep_cache, scratch),
        )
        (scratch / 'job.json').write_text(json.dumps(job), encoding='utf-8')
        verify = [sys.executable, '-I', str(ROOM / 'grader/verify.py'), 'job.json', 'result.json']
        process = subprocess.Popen(
            verify,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith('PYTHON')},
                **{key: sandbox.ENV[key] for key in sandbox.ENV if 'THREADS' in key},
            },
        )
        RUNNING.add(process)
        try:
            said, _ = process.communicate(timeout=4 * limits['seconds'] * (tests + 6) + 300)
        except subprocess.TimeoutExpired:
            raise intake.Trouble(
                'the tests did not come to an end', 'read the notebook, then --force'
            ) from None
        finally:
            RUNNING.discard(process)
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode or not (scratch / 'result.json').exists():
            last = (said.strip() or 'no message').splitlines()[-1][:200]
            if process.returncode < 0:
                last = f'the process of the tests was ended by {signal.Signals(-process.returncode).name}'
            raise intake.Trouble(f'the run failed: {last}', 'read the notebook, then --force')
        return json.loads((scratch / 'result.json').read_text(encoding='utf-8'))


def reference(name, kind, limits):
    """What the source's own solutions earn here (all, or nobody is graded), the arguments they may
    change, compiled code."""
    home = ROOM / '.reference' / name
    source = ROOM / 'source' / name / f'{name}.ipynb'
    parts = [source.read_bytes(), (ROOM / 'release' / name / f'{name}.ipynb').read_bytes()]
    parts += [path.read_bytes() for path in sorted((ROOM / 'grader').glob('*.py'))]
    digest = hashlib.sha256(b''.join(parts)).hexdigest()
    record = home / 'record.json'
    if record.exists() and (old := json.loads(record.read_text()))['digest'] == digest:
        return old['changes'], home / 'warm'
    cells, release = intake.cells_of(source), intake.cells_of(
        ROOM / 'release' / name / f'{name}.ipynb'
    )
    items = intake.line_up(cells, release, cells, intake.variant_in(cells), [])
    (home / 'warm').mkdir(parents=True, exist_ok=True)
    os.chmod(home / 'warm', 0o777)
    found = run(items, name, kind, limits, keep_cache=home / 'warm')
    short = [
        f'{item["id"]}: {found["messages"].get(item["id"], "no mark")}'
        for item in items
        if item['kind'] == 'tests' and found['scores'].get(item['id']) != item['points']
    ]
    if short or found['trouble']:
        raise SystemExit(
            f'the solutions of {name} do not earn all points here, so nobody is graded:\n'
            + '\n'.join(f'  {line}' for line in [*short, *found['trouble']])
        )
    write(record, json.dumps(dict(digest=digest, changes=found['changes'])))
    return found['changes'], home / 'warm'


# ---------------------------------------------------------------- one student


def handed_in(folder):
    """When a submission was handed in, from the timestamp.txt that nbgrader's exchange writes or a
    teacher does; None without."""
    path = folder / 'timestamp.txt'
    if not path.is_file():
        return None
    text = path.read_text(encoding='utf-8-sig', errors='replace').strip().replace(' UTC', '+00:00')
    try:
        when = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise intake.Trouble(
            f'timestamp.txt says {text[:40]!r}', 'write a time such as 2030-10-14 23:59:00 UTC'
        ) from None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def lateness(student, name, when, rules):
    "(share of the points that is lost, words) by the policy of class.toml."
    due = rules['extensions'].get(f'{student}/{name}', rules['due'].get(name))
    if due is None or when is None:
        return 0.0, '' if due is None else 'no timestamp: taken as in time'
    late = (when - due).total_seconds() - 60 * rules['late']['grace_minutes']
    if late <= 0:
        return 0.0, ''
    days = int(((when - due).total_seconds() - 1) // 86400) + 1
    if days > rules['late']['days']:
        return 1.0, f'{days} days late: nothing is earned'
    return min(1.0, days * rules['late']['share_per_day']), f'{days} day(s) late'


def digest_of(folder):
    "What a submission holds, as one number; links are not followed."
    found = hashlib.sha256()
    for path in intake.files_in(folder):
        name = os.fsencode(path.relative_to(folder))
        found.update(name + f'\0{path.stat().st_size}\0'.encode())
        with open(path, 'rb') as file:
            found.update(hashlib.file_digest(file, 'sha256').digest())
    return found.hexdigest()


def files_beside(folder, notebook, scratch):
    "A copy of the small files that lie beside a notebook, for the student's code to read."
    place, size = scratch / 'given', 0
    place.mkdir()
    os.chmod(scratch, 0o755)
    for path in intake.files_in(folder):
        if path == notebook:
            continue
        size += path.stat().st_size
        if size > 100 << 20:
            raise intake.Trouble('more than 100 MB of files', 'ask for the notebook and its data')
        copy = place / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return place


def try_one(student, name, kind, rules, changes, warm, students):
    "Read one submission and run it: what `mark_one` writes down. Several run side by side."
    folder = ROOM / 'submitted' / student / name
    number = None
    if students:
        if unicodedata.normalize('NFC', student) not in students:
            raise intake.Trouble('not in students.txt', 'add the name, or rename the folder')
        number = intake.variant_of(student, name, rules['seed'])
    when = handed_in(folder)
    items, notes, number, notebook = intake.read(folder, name, ROOM, student, number)
    if when and rules['begun'] and when < rules['begun'].astimezone(UTC):
        notes.append(f'timestamp.txt says {when:%Y-%m-%d}, before the class began: who wrote it?')
    keep(notebook, ROOM / 'history' / name / student)
    with tempfile.TemporaryDirectory(prefix='given-') as scratch:
        given = files_beside(folder, notebook, Path(scratch))
        found = run(items, name, kind, rules['limits'], given=given, changes=changes, warm=warm)
    return items, notes, number, when, found


def mark_one(student, name, rules, items, notes, number, when, found):
    "Write the marks of one submission: what is kept of it."
    release = json.loads((ROOM / 'release' / name / f'{name}.ipynb').read_text(encoding='utf-8'))
    book = rendering.marked(items, found, release)
    import nbformat

    write(ROOM / 'autograded' / student / name / f'{name}.ipynb', nbformat.writes(book))
    share, late = lateness(student, name, when, rules)
    record(student, name, items, found, when, share)
    answers = {
        item['id']: hashlib.sha256(item['text'].encode()).hexdigest()
        for item in items
        if item['kind'] == 'manual'
    }
    words = [*found['trouble'], *notes, *([late] if late else [])]
    said = [MINUTES.search(item['text']) for item in items if item['cell'] == 'code']
    return dict(
        number=number,
        words=words,
        answers=answers,
        share=share,
        late=late,
        seconds=found['seconds'],
        minutes=next((int(one[1]) for one in said if one), None),
    )


# ---------------------------------------------------------------- the gradebook


def gradebook():
    import warnings

    from nbgrader.api import Gradebook

    warnings.filterwarnings('ignore', 'Object of type <Submitted')  # about how nbgrader asks
    return Gradebook(f'sqlite:///{ROOM / "gradebook.db"}', 'extreme_opt')


def record(student, name, items, found, when, share):
    """Write what the tests gave; marks of written answers stay, and wait for another look where the
    answer has changed."""
    release = {item['id']: item for item in items}
    with gradebook() as book:
        book.update_or_create_student(student)
        stamp = dict(timestamp=when.replace(tzinfo=None)) if when else {}
        submission = book.update_or_create_submission(name, student, **stamp)
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                item = release[grade.name]
                if item['kind'] == 'tests':
                    grade.auto_score = float(found['scores'].get(grade.name, 0.0))
                    grade.needs_manual_grade = False
                else:
                    empty = item['text'].strip() in ('', item['release'].strip())
                    grade.auto_score = 0.0 if empty else None
                    if grade.manual_score is None:
                        grade.needs_manual_grade = not empty
            for comment in notebook.comments:
                item = release[comment.name]
                empty = item['text'].strip() in ('', item['release'].strip())
                comment.auto_comment = 'No response.' if empty else None
        book.db.commit()


def ask_again(student, name, questions):
    "Written answers that changed after they were marked wait for a mark again."
    with gradebook() as book:
        for question in questions:
            grade = book.find_grade(question, name, name, student)
            if grade.manual_score is not None:
                grade.needs_manual_grade = True
        book.db.commit()


def sheet(name, last=False):
    """The table of written answers, or as it was when this program last wrote it: (student,
    question) -> row."""
    path = ROOM / 'written' / (f'.{name}.last.csv' if last else f'{name}.csv')
    return {(row['student'], row['question']): row for row in sheet_rows(path)[0]}


def sheet_rows(path):
    """(rows, separator, encoding) of a table of written answers as a spreadsheet saved it; SystemExit
    where it cannot be read, so that nothing typed is lost."""
    if not path.exists():
        return [], ',', 'utf-8'
    from extreme_opt.data import read_fields

    try:
        table = read_fields(path, encoding=('utf-8', 'cp1252'))
        rows = [{field.lower(): text for field, text in row.items()} for row in table.records()]
        missing = [field for field in ('student', 'question', 'score', 'comment') if field not in
                   [one.lower() for one in table.names]]  # fmt: skip
        if missing:
            raise ValueError(f'no column {missing[0]!r} among {", ".join(table.names)[:80]}')
        if not rows and path.stat().st_size > 200:
            raise ValueError('no rows')
    except ValueError as error:
        raise SystemExit(
            f'written/{path.name} cannot be read, so nothing was done: {error}; mend it, or take the'
            ' newest copy from backups/'
        ) from None
    return rows, table.sep or ',', 'utf-8' if table.encoding == 'utf-8' else 'utf-8-sig'


def read_marks(name, state):
    "Take the marks of written answers out of written/SET.csv: the lines that could not be read."
    from nbgrader.api import MissingEntry

    from extreme_opt.data.delimited import parse_number

    bad, last = [], sheet(name, last=True)
    with gradebook() as book:
        for (student, question), row in sheet(name).items():
            score = (row.get('score') or '').strip()
            old = last.get((student, question), {})
            if not score or all(row.get(at) == old.get(at) for at in ('score', 'comment')):
                continue  # not typed since: formgrader may have changed the mark
            try:
                grade = book.find_grade(question, name, name, student)
                value = parse_number(score)
            except (MissingEntry, ValueError):
                bad.append((student, f'{question}: score {score!r}', f'mend written/{name}.csv'))
                continue
            if not 0 <= value <= grade.max_score:
                what = f'a score from 0 to {grade.max_score:g} in written/{name}.csv'
                bad.append((student, f'{question}: score {score!r}', what))
                continue
            if grade.manual_score != value:
                log(f'{student}/{name} {question}: {grade.score:g}, by hand {value:g}')
            grade.manual_score, grade.needs_manual_grade = value, False
            comment = (row.get('comment') or '').strip()
            if comment:
                with contextlib.suppress(MissingEntry):
                    book.find_comment(question, name, name, student).manual_comment = comment
        book.db.commit()
    return bad


def write_sheet(name, state):
    """The table of written answers: marks and comments as they stand, a line for each answer that
    waits for one."""
    old, rows = sheet(name), {}
    with gradebook() as book:
        for submission in book.assignment_submissions(name):
            student = submission.student.id
            texts = {}
            path = ROOM / 'autograded' / student / name / f'{name}.ipynb'
            if path.exists():
                for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
                    meta = cell['metadata'].get('nbgrader') or {}
                    texts[meta.get('grade_id')] = ''.join(cell['source'])
            for notebook in submission.notebooks:
                remarks = {one.name: one.manual_comment for one in notebook.comments}
                for grade in notebook.grades:
                    if grade.name not in remarks:
                        continue
                    score = grade.auto_score if grade.manual_score is None else grade.manual_score
                    rows[student, grade.name] = dict(
                        student=student,
                        question=grade.name,
                        points=f'{grade.max_score:g}',
                        score='' if score is None or grade.needs_manual_grade else f'{score:g}',
                        comment=remarks[grade.name] or '',
                        answer=safe_field(texts.get(grade.name, '')),
                    )
    last = table_text(WRITTEN, [rows[key] for key in sorted(rows, key=str)])
    for key, row in old.items():  # what cannot be read, or is not in the gradebook, stays
        if key not in rows:
            rows[key] = {field: row.get(field) or '' for field in WRITTEN}
        elif not rows[key]['score'] and key[1] not in state.get(f'{key[0]}/{name}', {}).get('again', []):
            rows[key]['score'] = row.get('score') or ''
    path = ROOM / 'written' / f'{name}.csv'
    _, sep, encoding = sheet_rows(path)  # as the spreadsheet wrote it, it opens it again
    lines = table_text(WRITTEN, [rows[key] for key in sorted(rows, key=str)], sep)
    write(ROOM / 'written' / f'.{name}.last.csv', last)
    if path.exists() and path.read_bytes() != lines.encode(encoding):
        keep(path, ROOM / 'backups')
    write(path, lines, encoding)


def safe_field(text):
    "Text that a spreadsheet takes for text."
    text = text[:4000]
    return f"'{text}" if text[:1] in ('=', '+', '-', '@', '\t', '\r') else text


def table_text(fields, rows, sep=','):
    import io

    out = io.StringIO()
    writer = csv.DictWriter(
        out, fields, extrasaction='ignore', lineterminator='\n', delimiter=sep
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def export(state, groups):
    "grades.csv: a line for each student and set that was handed in; what waits for marks says so."
    rows = []
    with gradebook() as book:
        for assignment in book.assignments:
            for submission in assignment.submissions:
                student, name = submission.student.id, assignment.name
                grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
                waits = [grade.name for grade in grades if grade.needs_manual_grade]
                entry = state.get(f'{student}/{name}', {})
                tests = sum(g.auto_score or 0 for g in grades if g.manual_score is None)
                written = sum(g.manual_score or 0 for g in grades if g.manual_score is not None)
                lost = entry.get('share', 0.0) * (tests + written)
                rows.append(
                    dict(
                        student=student,
                        set=name,
                        state='waits for marks' if waits else 'graded',
                        points=f'{tests + written - lost:g}',
                        of=f'{assignment.max_score:g}',
                        tests=f'{tests:g}',
                        written=f'{written:g}',
                        late=f'{-lost:g}' if lost else '0',
                        handed_in=submission.timestamp or '',
                        note=safe_field('; '.join(entry.get('words', []))),
                    )
                )
    for key, members in groups.items():
        mine = [row for row in rows if f'{row["student"]}/{row["set"]}' == key]
        rows += [dict(row, student=one, note=f'with {row["student"]}') for row in mine for one in members]
    known = {(row['student'], row['set']) for row in rows}
    for key, entry in state.items():
        student, name = key.rsplit('/', 1)
        if entry['state'] == 'not graded':
            note = f'{entry["why"]}: {entry["what"]}'
            for row in rows:
                if (row['student'], row['set']) == (student, name):
                    row['note'] = safe_field(f'of the version before; the new one: {note}')
            if (student, name) not in known:
                rows.append(
                    dict(student=student, set=name, state='not graded', note=safe_field(note))
                )
    rows.sort(key=lambda row: (row['set'], row['student']))
    write(ROOM / 'grades.csv', table_text(GRADES, rows))
    return rows


def known_of(name):
    "What questions.toml says of a set: {question: (minutes, lesson, what it tests)}."
    path = ROOM / 'questions.toml'
    return tomllib.loads(path.read_text(encoding='utf-8')).get(name, {}) if path.exists() else {}


def feedback(name, state, groups):
    """A page for everybody whose written answers are marked, made anew where marks have changed:
    (made, waiting)."""
    import nbformat

    known = known_of(name)
    made, waiting, typed = [], [], sheet(name)
    with gradebook() as book:
        for submission in book.assignment_submissions(name):
            student = submission.student.id
            grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
            waits = [grade.name for grade in grades if grade.needs_manual_grade]
            if waits:
                waiting.append((student, waits))
                continue
            path = ROOM / 'autograded' / student / name / f'{name}.ipynb'
            if not path.exists():
                continue
            notebook = nbformat.read(path, as_version=4)
            remarks = {
                one.name: one.manual_comment or one.auto_comment or ''
                for each in submission.notebooks
                for one in each.comments
            }
            said = {
                cell.metadata['nbgrader']['grade_id']: cell.outputs[0]['text'].split('\n', 1)[-1]
                for cell in notebook.cells
                if cell.metadata.get('nbgrader', {}).get('grade') and cell.get('outputs')
                and 'text' in cell.outputs[0] and not cell.metadata['nbgrader']['solution']
            }
            scores = {grade.name: (grade.score or 0.0, grade.max_score) for grade in grades}
            order = [cell.metadata.get('nbgrader', {}).get('grade_id') for cell in notebook.cells]
            rows = [
                (
                    one,
                    *scores[one],
                    remarks.get(one) or typed.get((student, one), {}).get('comment') or said.get(one, ''),
                )
                for one in order
                if one in scores
            ]
            entry = state.get(f'{student}/{name}', {})
            if entry.get('share'):
                lost = -entry['share'] * sum(row[1] for row in rows)
                rows.append(('handed in late', lost, 0.0, entry['late']))
            for one in (student, *groups.get(f'{student}/{name}', ())):
                page = rendering.feedback(notebook, rows, f'{name}: {one}', known)
                target = ROOM / 'feedback' / one / name / f'{name}.html'
                if target.exists():
                    if target.read_text(encoding='utf-8') == page:
                        continue
                    keep(target, ROOM / 'history' / name / one, move=True)
                write(target, page)
                made.append(one)
    return made, waiting


# ---------------------------------------------------------------- a class


def grade_class(name, kind, force, rules, state, table, workers=1):
    """Grade what is new or changed, several at once: `state` is what is known of each submission,
    `table` what needs a hand; both are filled as far as this comes."""
    folders = [folder for folder in sorted(ROOM.glob(f'submitted/*/{name}')) if folder.is_dir()]
    for unknown in set(force) - {folder.parent.name for folder in folders} - {'all'}:
        raise SystemExit(f'submitted/{unknown}/{name} is not there')
    listed = ROOM / 'students.txt'
    text = listed.read_text(encoding='utf-8-sig') if listed.exists() else ''
    students = set(unicodedata.normalize('NFC', text).split())
    prepared, waiting = None, {}
    pool = ThreadPoolExecutor(workers)
    try:
        for folder in folders:  # those that are to run, so that all workers have some
            student, old = folder.parent.name, state.get(f'{folder.parent.name}/{name}', {})
            linked = folder.is_symlink() or folder.parent.is_symlink()
            if linked or student != intake.shown(student):
                continue
            if digest_of(folder) != old.get('digest') or {student, 'all'} & set(force):
                prepared = prepared or reference(name, kind, rules['limits'])
                words = (student, name, kind, rules, *prepared, students)
                waiting[student] = pool.submit(try_one, *words)
        for number, folder in enumerate(folders):
            one_of_class(folder, name, kind, rules, state, table, waiting)
            if number % 10 == 9:  # what is lost to a cut of power
                export(state, rules['groups'])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(RUNNING):  # of a run that was stopped
            process.kill()


def one_of_class(folder, name, kind, rules, state, table, waiting):
    "Mark one submission, or say why not; nothing in it costs the class."
    student = intake.shown(folder.parent.name)
    key, old = f'{student}/{name}', state.get(f'{student}/{name}', {})
    try:
        digest = digest_of(folder)
        if folder.is_symlink() or folder.parent.is_symlink():
            raise intake.Trouble('the folder is a link', 'put the files themselves there')
        if student != folder.parent.name:
            raise intake.Trouble('the name of the folder cannot be written', 'rename it')
        if student not in waiting:
            if old['state'] == 'not graded':
                table.append((student, old['why'], old['what']))
            return
        print(f'{student} ...', flush=True)
        done = mark_one(student, name, rules, *waiting[student].result())
        again = [q for q, text in done['answers'].items() if old.get('answers', {}).get(q) != text]
        if old.get('answers'):
            ask_again(student, name, again)
        entry = dict(done, state='graded', digest=digest, again=again if old.get('answers') else [])
        if done['words']:
            what = f'look at autograded/{student}/{name}, nothing else is needed'
            table.append((student, '; '.join(done['words']), what))
        spent = f'{done["seconds"]:g} s of the processor'
        log(f'{key} graded in {kind}, {spent}: {"; ".join(done["words"]) or "no remark"}')
    except intake.Trouble as trouble:
        entry = dict(
            {key: old[key] for key in ('answers', 'share', 'late') if key in old},
            state='not graded',
            why=trouble.why,
            what=trouble.what,
            digest=digest_of(folder),
        )
        table.append((student, trouble.why, trouble.what))
        log(f'{key} not graded: {trouble.why}')
    except Exception as error:  # one student never costs the class
        why = f'{type(error).__name__}: {str(error)[:200]}'
        entry = dict(
            old, state='not graded', why=why, what='read grading.log, then --force', digest=''
        )
        table.append((student, why, entry['what']))
        import traceback

        log(f'{key} not graded:\n{traceback.format_exc()}')
    state[key] = entry
    write(ROOM / 'graded.json', json.dumps(state, indent=1))


def tables_of(name, rows, state, into):
    """questions/SET.csv and SET.md: points by question, and what each question told; with `into`, a file
    of a learning management system with a column for this set, in lms/."""
    grades = {}
    with gradebook() as book:
        for submission in book.assignment_submissions(name):
            every = [grade for notebook in submission.notebooks for grade in notebook.grades]
            grades[submission.student.id] = {
                one.name: (None if one.needs_manual_grade else one.score or 0.0, one.max_score)
                for one in every
            }
    minutes = [state.get(f'{student}/{name}', {}).get('minutes') for student in grades]
    heads, lines, summary = lms.by_question(grades, known_of(name), [one for one in minutes if one])
    text = table_text(heads, [dict(zip(heads, line)) for line in lines])
    write(ROOM / 'questions' / f'{name}.csv', text)
    write(ROOM / 'questions' / f'{name}.md', f'# {name}\n\n{summary}')
    if not into:
        return
    from extreme_opt.data import read_fields

    marks = {
        row['student']: (float(row['points']) if row['state'] == 'graded' else None, row['note'])
        for row in rows
    }
    most = max((float(row.get('of') or 0) for row in rows), default=0)
    try:
        table = read_fields(into, encoding=('utf-8', 'cp1252'))
        heads, lines, missing = lms.filled(table, name, marks, most)
    except (OSError, ValueError) as error:
        raise SystemExit(f'{into}: {error}') from None
    path = ROOM / 'lms' / f'{name}-{Path(into).stem}.csv'
    write(path, table_text(heads, [dict(zip(heads, line)) for line in lines], table.sep))
    print(f'{path.relative_to(ROOM)}: {len(marks) - len(missing)} of {len(marks)} students')
    if missing:
        print(f'not in {Path(into).name}: {", ".join(missing)}')


def report(table):
    "The table of what needs a hand."
    if not table:
        return print('nothing needs a hand')
    print('\n| who | why | what to do |\n|---|---|---|')
    for who, why, what in table:
        print(rendering.row(who, why, what))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('set')
    parser.add_argument('--force', action='append', default=[], metavar='NAME')
    parser.add_argument('--trust', action='store_true')
    parser.add_argument('--sandbox', choices=('bubblewrap', 'docker', 'podman'))
    parser.add_argument('--workers', type=int, default=1, metavar='N')
    parser.add_argument('--into', metavar='FILE')
    options = parser.parse_args(arguments)
    name = options.set
    if not (ROOM / 'source' / name / f'{name}.ipynb').exists():
        known = ', '.join(sorted(path.name for path in (ROOM / 'source').glob('*')))
        raise SystemExit(f'what is {name}? the sets are {known}')
    kind = sandbox.choose(options.trust, options.sandbox)
    rules, record = settings(), ROOM / 'graded.json'
    keep_gradebook(ROOM)
    log(f'python grade.py {" ".join(arguments)} ({kind})')
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    state = json.loads(record.read_text(encoding='utf-8')) if record.exists() else {}
    table, ended = read_marks(name, state), False
    with contextlib.suppress(KeyboardInterrupt):
        grade_class(name, kind, options.force, rules, state, table, options.workers)
        ended = True
    write_sheet(name, state)
    rows = export(state, rules['groups'])
    made, waiting = feedback(name, state, rules['groups'])
    report(table)
    here = [row for row in rows if row['set'] == name]
    tables_of(name, here, state, options.into)
    bad = sum(row['state'] == 'not graded' for row in here)
    print(f'\n{len(here) - bad} graded, {bad} not; marks in grades.csv')
    print(f'{len(made)} pages written in feedback/')
    if waiting:
        print(f'{len(waiting)} wait for marks in written/{name}.csv, then run this again')
    if not ended:
        raise SystemExit('stopped: what was graded is kept; run this again for the rest')


if __name__ == '__main__':
    main(sys.argv[1:])
