"The notebook runner itself: names, staleness, cleaning, failures, byte-identity."

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import notebooks
import pytest


def page(*sources):
    "A notebook whose cells have these sources."
    empty = dict(cell_type='code', execution_count=None, metadata={}, outputs=[])
    cells = [dict(empty, source=source.splitlines(keepends=True)) for source in sources]
    return notebooks.clean(dict(cells=cells, metadata={}, nbformat=4, nbformat_minor=5))


def put(folder, name, *sources):
    path = folder / f'{name}.ipynb'
    notebooks.write(page(*sources), path)
    return path


@pytest.fixture
def nbs(tmp_path, monkeypatch):
    "An empty tree of notebooks that the runner takes for its own."
    shutil.copy(notebooks.ROOT / 'pyproject.toml', tmp_path)
    same = notebooks.environment()  # of all tests, which so share what their kernels import
    monkeypatch.setattr(notebooks, 'environment', lambda *_: same)
    monkeypatch.setattr(notebooks, 'ROOT', tmp_path)
    monkeypatch.setattr(notebooks, 'NBS', tmp_path / 'nbs')
    return tmp_path / 'nbs'


def shown(*datas):
    "A notebook of one cell with these outputs."
    book = page('show()')
    book['cells'][0]['outputs'] = [
        dict(output_type='display_data', metadata={}, data=data) for data in datas
    ]
    return book


def test_differences_are_told_by_cell():
    """Equal outputs give nothing; another text gives its first line that differs; another picture
    or number of outputs is named."""
    one = shown({'text/plain': ['loss 1.5\n', 'done']})
    two = shown({'text/plain': ['loss 1.6\n', 'done']})
    assert notebooks.differences(one, one) == []
    (said,) = notebooks.differences(one, two)
    assert "was 'loss 1.5', now 'loss 1.6'" in said and 'cell 1 #' in said
    first, second = (shown({'image/png': name}) for name in 'ab')
    assert 'other pictures' in notebooks.differences(first, second)[0]
    assert 'had 1 outputs, now 0' in notebooks.differences(one, shown())[0]


def test_outputs_are_known_by_the_digest_of_their_code(nbs):
    """A page is stale when a code cell changes, not when its text or an output does; a new page was
    never refreshed."""
    path = put(nbs / '90_try', '10_page', '1', '#| slow\n2', '#| eval: false\n3')
    assert notebooks.stale(notebooks.read(path)) == 'was never refreshed'
    assert notebooks.main(['status']) == 1
    assert notebooks.main(['stamp']) == 0 and notebooks.main(['status']) == 0
    book = notebooks.read(path)
    assert notebooks.clean(notebooks.read(path)) == book  # cleaning keeps the digest
    for cell, word in [(0, 'code that is newer'), (1, 'slow cells'), (2, '')]:
        changed = notebooks.read(path)
        changed['cells'][cell]['source'] = [*changed['cells'][cell]['source'], ' + 1']
        assert word in notebooks.stale(changed) and bool(word) == bool(notebooks.stale(changed))
    book['cells'].insert(0, dict(cell_type='markdown', id='t', metadata={}, source=['words']))
    book['cells'][1]['outputs'] = [dict(output_type='stream', name='stdout', text=['x'])]
    assert notebooks.stale(book) == ''


def test_pages_older_than_the_package_are_listed(nbs, tmp_path, capsys):
    """A change in a module that a page imports, through another one too, makes it older; comments,
    docstrings and other modules do not."""
    folder = tmp_path / 'extreme_opt' / 'core'
    folder.mkdir(parents=True)
    texts = {'far.py': 'x = 1\n', 'near.py': 'from .far import x\n', 'other.py': 'y = 1\n'}
    texts |= {'../__init__.py': '', '__init__.py': ''}
    for name, text in texts.items():
        (folder / name).write_text(text)
    path = put(
        nbs / '90_try', '10_page', 'from extreme_opt.core.near import x', '%matplotlib inline'
    )
    found = notebooks.imported_modules(notebooks.read(path))
    assert found == [f'extreme_opt{name}' for name in ('', '.core', '.core.far', '.core.near')]
    notebooks.main(['stamp'])
    (folder / 'other.py').write_text('y = 2\n')
    (folder / 'far.py').write_text('"A docstring."\n# a remark\nx = 1\n')
    assert not notebooks.is_older(notebooks.read(path))
    (folder / 'far.py').write_text('x = 2\n')
    capsys.readouterr()
    assert notebooks.is_older(notebooks.read(path)) and notebooks.main(['status']) == 0
    said = capsys.readouterr().out
    assert 'nbs/90_try/10_page.ipynb is older than the modules that it imports' in said


def test_only_changed_notebooks(nbs, tmp_path):
    "Against a commit: a page with other code and a new page count, one with another text does not."
    paths = [put(nbs / '90_try', f'{n}_page', '1') for n in (10, 20, 30)]
    with pytest.raises(SystemExit, match='git does not know'):
        notebooks.changed()
    for words in ('init -q', 'add .', '-c user.name=a -c user.email=a@b commit -qm x'):
        subprocess.run(['git', *words.split()], cwd=tmp_path, check=True)
    assert notebooks.changed() == []
    put(nbs / '90_try', '20_page', '2')
    book = notebooks.read(paths[2])
    book['cells'].append(dict(cell_type='markdown', id='t', metadata={}, source=['words']))
    notebooks.write(book, paths[2])
    new = put(nbs / '90_try', '40_page', '1')
    assert notebooks.changed() == [paths[1], new]


def test_names(nbs):
    "A stem, the plain idea, a folder or a path choose notebooks; a name that fits none is said."
    names = 'learn/softmax/30_umax', 'learn/softmax/40_implicit', 'engine/show/10_plots'
    paths = [put(nbs, name, 'pass') for name in names]
    index = put(nbs, 'index', 'pass')
    for name in ('30_umax', 'umax', names[0], f'nbs/{names[0]}.ipynb', 'softmax/umax'):
        assert notebooks.find([name]) == paths[:1], name
    assert notebooks.find(['learn/softmax']) == notebooks.find(['softmax']) == paths[:2]
    assert notebooks.find([]) == [index, *paths]
    assert notebooks.find(['plots', 'index']) == [index, paths[2]]
    with pytest.raises(SystemExit, match='no notebook fits'):
        notebooks.find(['max'])


def test_an_export_touches_only_what_changes(nbs, tmp_path, monkeypatch):
    "Modules that come out as they were keep their time, by which Sphinx tells what is new."
    folder = tmp_path / 'extreme_opt'
    folder.mkdir()
    paths = [folder / name for name in ('same.py', 'other.py')]
    for path in paths:
        path.write_text('x = 1\n')
        os.utime(path, (1e9, 1e9))

    def written(*_, **__):
        for n, path in enumerate(paths):
            path.write_text(f'x = {1 + n}\n')
        return subprocess.CompletedProcess([], 0)

    monkeypatch.setattr(notebooks.subprocess, 'run', written)
    assert notebooks.main(['export']) == 0
    assert [path.stat().st_mtime == 1e9 for path in paths] == [True, False]


def test_new_page(nbs):
    "The template becomes a page with a module of its own, and an existing page is left alone."
    path = notebooks.new('learn/ordinal/45_momentum')
    book = notebooks.read(path)
    assert '#| default_exp ordinal.momentum' in json.dumps(book)
    assert book['cells'][0]['source'][0] == '# Momentum\n'
    with pytest.raises(SystemExit, match='exists already'):
        notebooks.new('learn/ordinal/45_momentum')
    with pytest.raises(SystemExit, match='no page name'):
        notebooks.new('momentum')
    guide = notebooks.new('use/ordinal/10_maps')
    assert 'export' not in json.dumps(notebooks.read(guide))


def test_refresh_twice_changes_nothing(nbs, capsys):
    "A page with text, a figure, a slider, a skipped and a slow cell: two runs, the same bytes."
    path = put(
        nbs / '90_try',
        '10_page',
        'import matplotlib.pyplot as plt\nfrom extreme_opt.show import frames',
        'print(hash("a"), object())',
        'plt.plot([1, 2]); plt.show()',
        'def draw(a=1): plt.plot([a, 2])\nframes(draw, a=[1, 2, 3])',
        '#| eval: false\n1/0',
        '#| slow\nprint("slow")',
    )
    book = notebooks.read(path)
    book['cells'][4]['outputs'] = [dict(output_type='stream', name='stdout', text=['kept\n'])]
    notebooks.write(book, path)
    assert notebooks.main(['refresh', '10_page']) == 0
    first = path.read_bytes()
    assert notebooks.main(['refresh', '10_page']) == 0 and path.read_bytes() == first
    assert 'outputs as they were' in capsys.readouterr().out
    done = notebooks.read(path)
    assert done['cells'][4]['outputs'] == book['cells'][4]['outputs']
    assert done['cells'][5]['outputs'] == []
    assert notebooks.main(['slow']) == 0
    after = notebooks.read(path)
    assert after['cells'][5]['outputs'][0]['text'] == ['slow\n']
    assert after['metadata'].keys() == done['metadata'].keys()
    assert after['cells'][:5] == done['cells'][:5]


def test_failure_is_one_clear_line(nbs, capsys, tmp_path):
    "A page that fails is named with its cell and error, leaves no copy, and the others still run."
    put(nbs / '90_try', '10_good', 'print("here")')
    put(nbs / '90_try', '20_bad', '1', 'value = [1, 2]\nvalue[5]')
    assert notebooks.main(['run', '--out', str(tmp_path / 'out')]) == 1
    said = capsys.readouterr().out
    assert 'FAILED nbs/90_try/20_bad.ipynb, cell 2 #' in said
    assert '`value = [1, 2]`: IndexError: list index out of range' in said
    assert [path.name for path in (tmp_path / 'out').rglob('*.ipynb')] == ['10_good.ipynb']
    assert '2 notebooks: ' in said and 's of processor time' in said
    capsys.readouterr()
    assert notebooks.main(['run', '--reuse', '--out', str(tmp_path / 'out'), '10_good']) == 0
    assert '1 of 1 notebooks stand executed' in capsys.readouterr().out
    put(nbs / '90_try', '10_good', 'print("there")')
    assert notebooks.main(['run', '--reuse', '--out', str(tmp_path / 'out'), '10_good']) == 0
    assert '1 of 1' not in capsys.readouterr().out
    put(nbs / '90_try', '10_good', 'print("a draft")')
    assert notebooks.main(['run', '--draft', '--out', str(tmp_path / 'none'), '10_good']) == 0
    assert notebooks.main(['run', '--draft', '--out', str(tmp_path / 'none'), '20_bad']) == 1
    assert not (tmp_path / 'none').exists()


def test_processor_time_is_that_of_the_kernel(nbs):
    "A page that computes for a second is charged for it, one that sleeps is not."
    busy = 'import time\nwhile time.process_time() < 2: pass'
    pages = [
        put(nbs / '90_try', '10_busy', busy),
        put(nbs / '90_try', '20_idle', 'import time\ntime.sleep(2)'),
    ]
    busy, idle = (notebooks.execute(path) for path in pages)
    assert busy.cpu - idle.cpu > 1


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='kernels are forked where that is possible')
def test_forked_kernels_are_apart_and_end_with_what_forked_them(tmp_path):
    """Two kernels of one server share no variables, have the environment that was asked for and
    show figures; none stays behind."""
    import kernels
    import psutil
    from jupyter_client import BlockingKernelClient

    server = kernels.Server({**os.environ, **notebooks.environment()})
    clients, pids = [], []
    for name in ('one', 'two'):
        file = tmp_path / f'{name}.json'
        client = BlockingKernelClient(connection_file=str(file))
        client.ip, client.transport = '127.0.0.1', 'tcp'
        argv = ['python', '-m', 'ipykernel_launcher', '-f', str(file)]
        pids.append(server.fork(argv=argv, env={**server.env, 'NAME': name}, cwd=str(tmp_path)))
        clients.append(client)
    said = []
    for client in clients:
        file = tmp_path / Path(client.connection_file).name
        deadline = time.monotonic() + 120
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=120)
        code = (
            "import os; seen = 'mine' in globals(); mine = os.environ['NAME']; print(mine, seen,"
            " os.getcwd())"
        )
        for line in (code, 'import matplotlib.pyplot as plt; plt.plot([0, 1]);'):
            client.execute_interactive(
                line, timeout=120, output_hook=lambda message: said.append(message['content'])
            )
        client.stop_channels()
    assert [content['text'].split() for content in said if 'text' in content] == [
        [name, 'False', str(tmp_path)] for name in ('one', 'two')
    ]
    assert sum('image/png' in content.get('data', {}) for content in said) == 2
    processes = [psutil.Process(pid) for pid in pids]
    server.process.kill()
    server.process.wait()
    assert not psutil.wait_procs(processes, timeout=120)[1]
