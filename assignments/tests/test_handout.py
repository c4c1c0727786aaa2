"""The folder for students holds what they need and nothing for teachers; the archive for teachers
opens with its passphrase alone."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'assignments'))
import archive  # noqa: E402
import handout  # noqa: E402
import make  # noqa: E402

NAME = 'ps5_project'
PHRASE = 'seven little words, and a comma'


@pytest.fixture(scope='module')
def room(tmp_path_factory):
    "A class with one problem set."
    out = tmp_path_factory.mktemp('class') / 'mine'
    make.main([f'out={out}', NAME])
    return out


@pytest.fixture(scope='module')
def hidden():
    return handout.secrets()


@pytest.fixture()
def told(room, tmp_path, monkeypatch, hidden):
    "The arguments of a book of one page, a wheel, and the sets of the class."
    (tmp_path / 'site').mkdir()
    (tmp_path / 'site/index.html').write_text('<h1>All pairs</h1>')
    (tmp_path / 'extreme_opt-1-py3-none-any.whl').write_text('wheel')
    monkeypatch.setattr(handout, 'secrets', lambda: hidden)
    return [f'out={tmp_path}/book', f'class={room}', f'site={tmp_path}/site', f'wheel={tmp_path}']


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def test_a_book_holds_what_a_student_needs(told, tmp_path, hidden):
    """Site, pages, tables at the places where pages read them, sets, environment; made again, it
    has lost what is no longer in it."""
    handout.main(told)
    made = tmp_path / 'book'
    assert {path.name for path in made.iterdir()} == {
        'README.md', 'constraints.txt', 'extreme_opt-1-py3-none-any.whl', 'files.json', 'site', 'pages', 'docs', 'sets'
    }  # fmt: skip
    assert {path.name for path in (made / 'sets').iterdir()} == {
        'README.md', 'constraints.txt', 'nbgrader_config.py', 'hints', NAME
    }  # fmt: skip
    pages = sorted(path.relative_to(made / 'pages') for path in made.glob('pages/**/*.ipynb'))
    assert pages == sorted(path.relative_to(ROOT / 'nbs') for path in ROOT.glob('nbs/**/*.ipynb'))
    read = 0
    for path in pages:  # a table that a page opens lies where it looks for it
        text = (made / 'pages' / path).read_text(encoding='utf-8')
        for name in re.findall(r"Path\('((?:\.\./)+docs/results/[\w.]+)'\)", text):
            assert ((made / 'pages' / path).parent / name).exists(), (path, name)
            read += 1
    assert read >= 3
    assert handout.leaks(made, hidden) == []
    before = everything(made)
    (tmp_path / 'site/more.html').write_text('more')
    handout.main(told)
    (tmp_path / 'site/more.html').unlink()
    handout.main(told)
    assert everything(made) == before


@pytest.mark.parametrize('kind', ['answer', 'sample', 'hidden test', 'solution', 'scheme', 'exam'])
def test_a_book_with_something_for_teachers_is_not_written(told, tmp_path, kind, room):
    "Runs of words are found in pages with tags between them, and in notebooks."
    here = ROOT / 'assignments'
    text = (here / f'source/{NAME}/{NAME}.ipynb').read_text(encoding='utf-8')
    cells = [''.join(cell['source']) for cell in json.loads(text)['cells']]
    words = dict(
        answer=lambda: max((here / 'answers/bound.md').read_text('utf-8').split('\n'), key=len),
        sample=lambda: max((here / f'written/{NAME}.md').read_text('utf-8').split('\n'), key=len),
        exam=lambda: max((here / 'exam/answers_b.md').read_text('utf-8').split('\n'), key=len),
        scheme=lambda: next(one for one in cells if 'BEGIN MARK SCHEME' in one).split('\n', 1)[1],
        solution=lambda: max(
            re.findall(r'### BEGIN SOL.*?\n(.*?)###', '\n'.join(cells), re.S), key=len
        ),
    )
    words['hidden test'] = lambda: max(
        re.findall(r'### BEGIN HID.*?\n(.*?)###', '\n'.join(cells), re.S), key=len
    )
    given = words[kind]()
    page = given.replace('&', '&amp;').replace('<', '&lt;').replace(' ', ' <span>', 3)
    (tmp_path / 'site/index.html').write_text(f'<p>{page}</p>', encoding='utf-8')
    with pytest.raises(SystemExit, match='site/index.html: '):
        handout.main(told)
    assert not (tmp_path / 'book').exists()
    notebook = json.dumps(dict(cells=[dict(cell_type='code', source=[given])]))
    (tmp_path / 'one.ipynb').write_text(notebook)
    (tmp_path / 'site/index.html').write_text('')
    assert [name for name, _ in handout.leaks(tmp_path)] == ['one.ipynb']


def test_a_folder_with_other_work_is_left_alone(told, tmp_path):
    """A changed file, or one of somebody else, and nothing is done; without a site, a wheel or a
    class neither."""
    handout.main(told)
    path = tmp_path / f'book/sets/{NAME}/{NAME}.ipynb'
    was = path.read_text()
    for change in (
        lambda: path.write_text('mine'),
        lambda: (tmp_path / 'book/mine').write_text('mine'),
    ):
        change()
        before = everything(tmp_path)
        with pytest.raises(SystemExit, match='not as we wrote them, so nothing was done'):
            handout.main(told)
        assert everything(tmp_path) == before
        path.write_text(was)
    (tmp_path / 'book/mine').unlink()
    for at, word in ((2, 'no site'), (3, 'no wheel'), (1, 'no student/')):
        wrong = list(told)
        wrong[at] = f'{told[at].split("=")[0]}={tmp_path}/nothing'
        with pytest.raises(SystemExit, match=word):
            handout.main(wrong)
    for wrong, word in ((told[1:], 'make book out='), ([f'out={ROOT}/build/x'], 'outside')):
        with pytest.raises(SystemExit, match=word):
            handout.main(wrong)


# ---------------------------------------------------------------- the archive


needs_openssl = pytest.mark.skipif(not shutil.which('openssl'), reason='openssl is not here')


@needs_openssl
def test_an_archive_opens_with_its_passphrase_alone(room, tmp_path, monkeypatch):
    """All files for teachers, none of a student; another phrase, a changed file or a full folder
    end with a line."""
    folder = room / f'class/submitted/ada/{NAME}'
    folder.mkdir(parents=True)
    (folder / f'{NAME}.ipynb').write_text('ada')
    path = tmp_path / 'teachers.enc'
    monkeypatch.setenv(archive.VARIABLE, PHRASE)
    make.main([f'out={room}', NAME, f'archive={path}'])
    shutil.rmtree(room / 'class/submitted')
    assert path.read_bytes()[:8] == b'Salted__'
    make.main([f'open={path}', f'out={tmp_path}/new'])
    programs = [f'class/{one}' for one in (*make.PROGRAMS, 'constraints.txt')]
    names = ['instructor', 'class/source', *programs]
    wanted = {
        one.relative_to(room): one.read_bytes()
        for name in names
        for one in [room / name, *(room / name).rglob('*')]
        if one.is_file() and '__pycache__' not in one.parts
    }
    made = {
        one.relative_to(tmp_path / 'new'): data
        for one, data in everything(tmp_path / 'new').items()
    }
    assert made == wanted and len(made) > 20
    with pytest.raises(SystemExit, match='is not empty'):
        make.main([f'open={path}', f'out={tmp_path}/new'])
    for number in range(3):
        monkeypatch.setenv(archive.VARIABLE, f'{PHRASE}{number}')
        with pytest.raises(SystemExit, match='does not open with this passphrase'):
            make.main([f'open={path}', f'out={tmp_path}/other'])
    assert not (tmp_path / 'other').exists()


@needs_openssl
def test_an_archive_opens_as_its_message_says(tmp_path):
    "The command in the docstring, without our programs."
    (tmp_path / 'a').mkdir()
    (tmp_path / 'a/text').write_text('mine')
    archive.pack(tmp_path / 'FILE', tmp_path, ['a'], PHRASE)
    line = next(one for one in archive.__doc__.splitlines() if one.strip().startswith('openssl'))
    opened = [*line.split(), '-pass', 'stdin']
    done = subprocess.run(opened, cwd=tmp_path, input=PHRASE.encode() + b'\n', capture_output=True)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tmp_path / 'a')
    shutil.unpack_archive(tmp_path / 'all.tar.gz', tmp_path / 'out')
    assert (tmp_path / 'out/a/text').read_text() == 'mine'


def test_an_archive_needs_openssl_a_phrase_and_a_place(tmp_path, monkeypatch):
    "Each is asked for before anything is written."
    call = [f'out={tmp_path}/class', NAME, f'archive={tmp_path}/teachers.enc']
    monkeypatch.delenv(archive.VARIABLE, raising=False)
    monkeypatch.setattr(archive.shutil, 'which', lambda name: None)
    with pytest.raises(SystemExit, match='openssl is not on this machine'):
        make.main(call)
    monkeypatch.setattr(archive.shutil, 'which', lambda name: '/usr/bin/openssl')
    monkeypatch.setattr(archive.sys.stdin, 'isatty', lambda: False, raising=False)
    with pytest.raises(SystemExit, match=f'set {archive.VARIABLE}'):
        make.main(call)
    monkeypatch.setenv(archive.VARIABLE, 'short')
    with pytest.raises(SystemExit, match='at least 12 characters'):
        make.main(call)
    (tmp_path / 'teachers.enc').write_text('a letter')
    with pytest.raises(SystemExit, match='is no encrypted archive'):
        make.main(call)
    assert {path.name for path in tmp_path.iterdir()} == {'teachers.enc'}
