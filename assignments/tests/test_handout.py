"The folder for students holds what they need and nothing for teachers."

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'assignments'))
import handout  # noqa: E402
import make  # noqa: E402

NAME = 'ps5_project'


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
