"The notebook runner itself: names, comparison, cleaning, failures, byte-identity."
import base64
import io
import json
import shutil

import notebooks
import numpy as np
import pytest
from PIL import Image


def page(*sources):
    "A notebook whose cells have these sources."
    cells = [dict(cell_type='code', execution_count=None, metadata={}, outputs=[], source=source.splitlines(keepends=True))
             for source in sources]
    return notebooks.clean(dict(cells=cells, metadata={}, nbformat=4, nbformat_minor=5))


def put(folder, name, *sources):
    path = folder/f'{name}.ipynb'
    notebooks.write(page(*sources), path)
    return path


@pytest.fixture
def nbs(tmp_path, monkeypatch):
    "An empty tree of notebooks that the runner takes for its own."
    shutil.copy(notebooks.ROOT/'pyproject.toml', tmp_path)
    monkeypatch.setattr(notebooks, 'ROOT', tmp_path)
    monkeypatch.setattr(notebooks, 'NBS', tmp_path/'nbs')
    return tmp_path/'nbs'


@pytest.mark.parametrize('old, new', [
    ('loss 1.2345', 'loss 1.2346'), ('9.99', '10.0'), ('[0.5 1. ]', '[0.5  1.]'), ('1000000', '1000001'), ('-0.0', '0.0'),
    ('1.23e-05', '1.24e-05'), ('a\nb', 'a\n b'), ('x=1.0000001', 'x=1.0')])
def test_texts_that_agree(old, new): assert notebooks.compare_text(old, new) is None


@pytest.mark.parametrize('old, new', [
    ('loss 1.2345', 'loss 1.2355'), ('3 steps', '4 steps'), ('UMax wins', 'SGD wins'), ('nan', '1.0'), ('1.5', '-1.5'),
    ('100', '101'), ('1.23e-05', '1.23e-04'), ('a b', 'ab'), ('1.0', 'inf')])
def test_texts_that_differ(old, new): assert notebooks.compare_text(old, new)


def png(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(out, format='png')
    return base64.b64encode(out.getvalue()).decode()


def test_pictures():
    "One per cent of the scale in the mean, and three pixels in size, are let pass."
    flat = np.full((40, 50, 3), 100)
    line = flat.copy(); line[20] = 255
    assert notebooks.compare_pictures(png(flat), png(flat + 2)) is None
    assert notebooks.compare_pictures(png(flat), png(flat[:-2])) is None
    assert '1.' in notebooks.compare_pictures(png(flat), png(line)) and notebooks.compare_pictures(png(flat), png(line), .05) is None
    assert 'picture was 50x40, now 50x30' in notebooks.compare_pictures(png(flat), png(flat[:30]))
    books = [shown({'image/png': png(pixels)}) for pixels in (flat, line)]
    assert len(notebooks.compare(*books)) == 1
    for book in books: book['cells'][0]['source'] = ['#| picture-slack: .05\n', 'show()']       # a cell may ask for more
    assert notebooks.compare(*books) == []


def shown(*datas, **state):
    "A notebook of one cell with these outputs."
    book = page('show()')
    book['cells'][0]['outputs'] = [dict(output_type='display_data', metadata={}, data=data) for data in datas]
    if state: book['metadata']['widgets'] = {notebooks.STATE: dict(state=state, version_major=2, version_minor=0)}
    return book


def test_outputs_are_compared_by_kind():
    "Types, html with pictures inside, and what is no text are told apart and named."
    flat = np.full((40, 50, 3), 100)
    html = [f'<b>1.50</b><img src="data:image/png;base64,{png(flat + shift)}">' for shift in (0, 1, 50)]
    assert notebooks.compare(shown({'text/html': html[0]}), shown({'text/html': html[1]})) == []
    assert 'pictures differ' in notebooks.compare(shown({'text/html': html[0]}), shown({'text/html': html[2]}))[0]
    assert 'types were' in notebooks.compare(shown({'text/plain': '1'}), shown({'text/html': '1'}))[0]
    assert 'outputs were' in notebooks.compare(shown({'text/plain': '1'}), shown())[0]
    assert 'a[1]' in notebooks.compare(shown({'application/json': {'a': [1, 2]}}), shown({'application/json': {'a': [1, 3]}}))[0]


def widget(ids, picture, index=0):
    "A slider joined to a picture, as nbclient stores it, under these ids."
    slider, image, link, box = ids
    models = {link: ('LinkModel', dict(source=[f'IPY_MODEL_{slider}', 'index'], target=[f'IPY_MODEL_{image}', 'width'])),
              box: ('VBoxModel', dict(children=[f'IPY_MODEL_{slider}', f'IPY_MODEL_{image}'])),
              image: ('ImageModel', dict(format='png')), slider: ('SelectionSliderModel', dict(index=index)), 'stray': ('LabelModel', {})}
    state = {name: dict(model_name=kind, model_module='', model_module_version='', state=values) for name, (kind, values) in models.items()}
    state[image]['buffers'] = [dict(data=picture, encoding='base64', path=['value'])]
    return shown({notebooks.VIEW: dict(model_id=box, version_major=2, version_minor=0), 'text/plain': f'VBox({box})'}, **state)


def test_widgets_lose_their_random_names():
    "Equal widgets become equal bytes, links come along, and what no page shows is dropped."
    flat = np.full((4, 5, 3), 100)
    books = widget('abcd', png(flat)), widget('wxyz', png(flat))
    assert notebooks.compare(*books) == []
    for book in books: notebooks.number_widgets(book)
    states = [book['metadata']['widgets'][notebooks.STATE]['state'] for book in books]
    assert states[0] == states[1] and list(states[0]) == [f'{i:032x}' for i in (1, 2, 3, 4)]
    assert sorted(model['model_name'] for model in states[0].values()) == ['ImageModel', 'LinkModel', 'SelectionSliderModel', 'VBoxModel']
    assert 'pictures differ' in notebooks.compare(widget('abcd', png(flat)), widget('abcd', png(flat + 50)))[0]
    assert 'index' in notebooks.compare(widget('abcd', png(flat)), widget('abcd', png(flat), index=1))[0]
    cut = widget('abcd', png(flat)); del cut['metadata']['widgets'][notebooks.STATE]['state']['c']
    assert 'joined sliders' in notebooks.compare(widget('abcd', png(flat)), cut)[0]


def test_names(nbs):
    "A stem, the plain idea, a folder or a path choose notebooks; a name that fits none is said."
    paths = [put(nbs/folder, name, 'pass')
             for folder, name in [('20_softmax', '30_umax'), ('20_softmax', '40_implicit'), ('60_show', '10_plots')]]
    index = put(nbs, 'index', 'pass')
    for name in ('30_umax', 'umax', '20_softmax/30_umax', 'nbs/20_softmax/30_umax.ipynb', 'softmax/umax'):
        assert notebooks.find([name]) == paths[:1], name
    assert notebooks.find(['20_softmax']) == notebooks.find(['softmax']) == paths[:2]
    assert notebooks.find([]) == [index, *paths] and notebooks.find(['plots', 'index']) == [index, paths[2]]
    with pytest.raises(SystemExit, match='no notebook fits'): notebooks.find(['max'])


def test_new_page(nbs):
    "The template becomes a page with a module of its own, and an existing page is left alone."
    path = notebooks.new('40_ordinal/45_momentum')
    book = notebooks.read(path)
    assert '#| default_exp ordinal.momentum' in json.dumps(book) and book['cells'][0]['source'][0] == '# Momentum\n'
    with pytest.raises(SystemExit, match='exists already'): notebooks.new('40_ordinal/45_momentum')
    with pytest.raises(SystemExit, match='no page name'): notebooks.new('momentum')


@pytest.mark.notebook
def test_refresh_twice_changes_nothing(nbs, capsys):
    "A page with text, a figure, linked sliders, a skipped and a slow cell: two runs, the same bytes."
    path = put(nbs/'90_try', '10_page', 'import matplotlib.pyplot as plt\nfrom extreme_opt.show import frames',
               'print(hash("a"), object())', 'plt.plot([1, 2]); plt.show()',
               'def draw(a=1): plt.plot([a, 2])\nframes(draw, a=[1, 2, 3])', '#| eval: false\n1/0', '#| slow\nprint("slow")')
    book = notebooks.read(path)
    book['cells'][4]['outputs'] = [dict(output_type='stream', name='stdout', text=['kept\n'])]
    notebooks.write(book, path)
    assert notebooks.main(['refresh', '10_page']) == 0
    first = path.read_bytes()
    assert notebooks.main(['refresh', '10_page']) == 0 and path.read_bytes() == first
    assert 'as it was' in capsys.readouterr().out
    done = notebooks.read(path)
    assert done['cells'][4]['outputs'] == book['cells'][4]['outputs'] and done['cells'][5]['outputs'] == []
    assert notebooks.main(['slow']) == 0
    after = notebooks.read(path)
    assert after['cells'][5]['outputs'][0]['text'] == ['slow\n']
    assert after['metadata'] == done['metadata'] and after['cells'][:5] == done['cells'][:5]


@pytest.mark.notebook
def test_failure_is_one_clear_line(nbs, capsys, tmp_path):
    "A page that fails is named with its cell and error, leaves no copy, and the others still run."
    good = put(nbs/'90_try', '10_good', 'print("here")')
    put(nbs/'90_try', '20_bad', '1', 'value = [1, 2]\nvalue[5]')
    assert notebooks.main(['run', '--out', str(tmp_path/'out')]) == 1
    said = capsys.readouterr().out
    assert 'FAILED nbs/90_try/20_bad.ipynb, cell 2 #' in said and '`value = [1, 2]`: IndexError: list index out of range' in said
    assert [path.name for path in (tmp_path/'out').rglob('*.ipynb')] == ['10_good.ipynb']
    assert 'slowest of 2' in said
    assert notebooks.main(['check', '10_good']) == 1    # committed without the output that it has
    assert 'nbs/90_try/10_good.ipynb is stale; cell 1 #' in capsys.readouterr().out
    notebooks.write(notebooks.read(tmp_path/'out'/'90_try'/'10_good.ipynb'), good)
    assert notebooks.main(['check', '10_good']) == 0
