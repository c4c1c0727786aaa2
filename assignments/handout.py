"""Write what students need, and nothing for teachers: `make book out=DIR`, after the site was
built.

    python assignments/handout.py out=DIR                  site, pages as notebooks, problem sets,
                                                           environment
    python assignments/handout.py out=DIR class=CLASS      with the problem sets of a class that
                                                           `make course` wrote to CLASS

DIR lies outside this checkout. Called again, it replaces what it wrote before; where one of these
files was changed, or the folder holds files of somebody else, nothing is done. The book is searched
for runs of words of solutions, hidden tests, mark schemes, answers, quizzes and exam before it is
put in place.
"""

import hashlib
import html
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402

LIST = 'files.json'  # what we wrote, with check sums
RUN = 12  # so many words in a row are no accident
SECRET = re.compile(
    r'### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END|=== BEGIN MARK SCHEME ===\n(.*?)=== END', re.S
)


# ---------------------------------------------------------------- what must not be in it


def words_of(path):
    "The words of a page, a notebook's cells or a text, without tags."
    text = path.read_text(encoding='utf-8')
    if path.suffix == '.ipynb':
        text = '\n'.join(''.join(cell['source']) for cell in json.loads(text)['cells'])
    elif path.suffix == '.html':
        text = html.unescape(re.sub(r'<[^>]*>', '', text))
    return text.split()


def runs(words):
    "All runs of so many words."
    return {' '.join(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}


def secrets():
    "Runs of words of what is for teachers, without those that the book's own pages hold."
    hidden, shown = set(), set()
    for path in [*HERE.glob('source/*/*.ipynb'), *HERE.glob('versions/*/*.ipynb')]:
        for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
            source = ''.join(cell['source'])
            for pair in SECRET.findall(source):
                hidden |= runs(' '.join(pair).split())
            shown |= runs(SECRET.sub('', source).split())
    for folder in ('answers', 'written', 'exam'):
        for path in (HERE / folder).glob('*.md'):
            hidden |= runs(words_of(path))
    for path in (HERE / 'quiz').glob('*.md'):
        text = path.read_text(encoding='utf-8')
        for answers in re.findall(r'^Answers:\n(.*?)(?=^## |\Z)', text, re.S | re.M):
            hidden |= runs(answers.split())
    public = [*ROOT.glob('nbs/**/*.ipynb'), *ROOT.glob('extreme_opt/**/*.py'), *HERE.glob('hints/*')]
    for path in public:
        shown |= runs(words_of(path))
    return hidden - shown


def leaks(folder, hidden=None):
    "Where a folder holds what is for teachers: [(file, words)], one a file."
    hidden, found = secrets() if hidden is None else hidden, []
    for path in sorted(folder.rglob('*')):
        if path.suffix in ('.ipynb', '.html', '.md', '.txt'):
            if both := runs(words_of(path)) & hidden:
                found.append((path.relative_to(folder).as_posix(), min(both)))
    return found


# ---------------------------------------------------------------- what is in it


def sets(folder, room):
    """Problem sets of a class, or those of the release; where students have numbers of their own, no
    notebooks, so that nobody works with the number of all."""
    with tempfile.TemporaryDirectory() as place:
        if room is None:
            make.release(Path(place), make.SETS)
        student = (Path(place) if room is None else room) / 'student'
        if not student.is_dir():
            raise SystemExit(f'{room} holds no student/: write a class first, make course out={room}')
        shutil.copytree(student, folder)
        if room and (room / 'class/students.txt').exists():  # each student has a copy of their own
            for path in folder.glob('*/*.ipynb'):
                path.unlink()


def write(folder, site, wheel, room=None):
    "The book, in an empty folder."
    shutil.copytree(site, folder / 'site', ignore=shutil.ignore_patterns('.*', '*.inv'))
    leave = shutil.ignore_patterns('.*', '*.css', '*.yml')
    shutil.copytree(ROOT / 'nbs', folder / 'pages', ignore=leave)
    shutil.copytree(  # tables that pages read, at the place where they look for them
        ROOT / 'docs/results', folder / 'docs/results', ignore=shutil.ignore_patterns('.*', '*.py')
    )
    sets(folder / 'sets', room)
    shutil.copy(HERE / 'student/BOOK.md', folder / 'README.md')
    shutil.copy(ROOT / 'constraints.txt', folder)
    shutil.copy(wheel, folder)


def files_of(folder):
    "Files of a folder with their check sums."
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob('*'))
        if path.is_file()
    }


def listed(out):
    "What was written into a folder before."
    path = out / LIST
    return json.loads(path.read_text(encoding='utf-8')) if path.exists() else {}


def in_the_way(out):
    "Files of a folder that we did not write, or that were changed since."
    known = listed(out)
    here = files_of(out)
    here.pop(LIST, None)
    return [name for name, found in here.items() if known.get(name) != found]


def put(new, out):
    "The new book in the place of the old one."
    files = files_of(new)
    for name in set(listed(out)) - set(files):
        (out / name).unlink(missing_ok=True)
    shutil.copytree(new, out, dirs_exist_ok=True)
    (out / LIST).write_text(json.dumps(files, indent=0), encoding='utf-8')
    for folder in sorted((one for one in out.rglob('*') if one.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def main(arguments):
    "Write the book."
    options = dict(part.split('=', 1) for part in arguments if '=' in part)
    strange = [part for part in arguments if '=' not in part]
    strange += sorted(set(options) - {'out', 'class', 'site', 'wheel'})
    if strange:
        raise SystemExit(f'what is {strange[0]}? say out=DIR, and class=CLASS for the sets of a class')
    out = make.out_of(options, 'make book out=../my-book')
    if found := in_the_way(out):
        raise SystemExit(
            f'{len(found)} files of {out} are not as we wrote them, so nothing was done: {", ".join(found[:5])}; '
            'name another folder'
        )
    site = Path(options.get('site', ROOT / '_docs'))
    if not (site / 'index.html').exists():
        raise SystemExit(f'{site} holds no site: make docs builds one')
    built = Path(options.get('wheel', ROOT / 'build/wheel'))
    wheels = sorted(built.glob('*.whl'), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise SystemExit(f'{built} holds no wheel: make book builds one')
    room = Path(options['class']).expanduser().resolve() if 'class' in options else None
    with tempfile.TemporaryDirectory() as place:
        new = Path(place) / 'book'
        new.mkdir()
        write(new, site, wheels[-1], room)
        if found := leaks(new):
            raise SystemExit(
                'the book would hold what is for teachers, so nothing was written:\n'
                + ''.join(f'  {name}: {words}\n' for name, words in found)
            )
        out.mkdir(parents=True, exist_ok=True)
        put(new, out)
    print(f'{out}: begin with README.md')


if __name__ == '__main__':
    main(sys.argv[1:])
