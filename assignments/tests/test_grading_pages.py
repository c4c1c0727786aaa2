"""What a student wrote is text where a teacher opens it, and what crosses the pipe from a student
is values."""

import json
import os
import re
import struct
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'assignments'))
sys.path.insert(0, str(ROOT / 'assignments/grader'))
from grader import intake, rendering, verify  # noqa: E402
from grader.wire import Opaque, Pipe, Reader, Writer  # noqa: E402

HOSTILE = [
    '<img src="x" onerror="document.title=1">',
    '<IMG SRC=x OnError=alert(1)>',
    '<svg/onload=alert(1)>',
    '<script>alert(1)</script>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '<math><a xlink:href="javascript:alert(1)">x</a></math>',
    '[a](javascript:alert(1))',
    '[a](JaVaScRiPt&#58;alert(1))',
    '[a](<javascript:alert(1)>)',
    '![a](https://example.org/seen.png)',
    '[a]: javascript:alert(1)\n\n[a][a] and [a]',
    '<javascript:alert(1)>',
    'https://example.org/seen',
    '&lt;img src=x onerror=alert(1)&gt;',
    '&#60;img src=x onerror=alert(1)&#62;',
    '`<b onclick=alert(1)>` and ``` <script>alert(1)</script> ```',
    '$<img src=x onerror=alert(1)>$',
    '$$\\href{javascript:alert(1)}{x} \\require{html} \\class{a}{b}$$',
    '<!--><img src=x onerror=alert(1)>-->',
    '<\nimg src=x onerror=alert(1)>',
    '|a|<img src=x onerror=alert(1)>|\n|-|-|\n|b|c|',
    '<style>body{display:none}</style>',
    '<form action="https://example.org"><button>more</button></form>',
    '{{ 1 + 1 }} {% include "/etc/passwd" %}',
]


class Tags(HTMLParser):
    "Tags and attributes of a page."

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def rendered(source, **settings):
    "The tags that a Markdown cell and an output become without any other protection."
    from nbconvert import HTMLExporter

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source)])
    text, _ = HTMLExporter(template_name='lab', **settings).from_notebook_node(book)
    tags = Tags()
    tags.feed(text[text.index('<body') :])
    return text, tags.found


@pytest.fixture(scope='module')
def harmless():
    return [tag for tag, _ in rendered('plain')[1]]


@pytest.mark.parametrize('source', HOSTILE)
def test_hostile_markdown_becomes_text(source, harmless):
    "No tag but those of plain Markdown, no attribute that acts, no link, no picture."
    _, tags = rendered(rendering.as_text(source))
    fine = {*harmless, 'p', 'pre', 'code', 'span', 'em', 'strong', 'table', 'thead', 'tbody', 'tr'}
    fine |= {'td', 'th', 'div', 'br'}
    assert {tag for tag, _ in tags} <= fine
    assert not {'script', 'style', 'img', 'a', 'iframe', 'svg', 'form'} & fine
    for _, attributes in tags:
        assert not [name for name in attributes if name.startswith('on')]
    assert not re.search(r'\\(href|require|class)\b', rendering.as_text(source))


def test_the_check_above_can_fail():
    "Without it the same notebook does hold the tag."
    assert [tag for tag, attributes in rendered(HOSTILE[0])[1] if 'onerror' in attributes] == [
        'img'
    ]


def test_formulas_and_code_stay():
    text = 'If $a<b$ then $\\sum_{k<K} x_k \\le 1$, and *so on*:\n\n- `x[i](2)`\n- $f(u)\\ge0$'
    kept = rendering.as_text(text)
    assert '$a< b$' in kept and '\\sum_{k< K}' in kept and '*so on*' in kept and '\\ge0' in kept


def test_outputs_are_texts_and_pictures():
    "Whatever the student's side sends, an output is a text or a PNG."
    picture = b'\x89PNG\r\n\x1a\n' + b'0' * 10
    said = [
        ['text', '<script>'],
        ['png', picture],
        ['png', b'<svg/>'],
        ['html', '<b>'],
        3,
        ['text', 7],
    ]
    kept = verify.plain(said)
    assert [kind for kind, _ in kept] == ['text', 'png']
    kinds = [list(output.get('data', {'stream': 0})) for output in rendering.outputs(kept)]
    assert kinds == [['stream'], ['image/png', 'text/plain']]


def test_pictures_of_a_billion_pixels_are_left_out():
    head = b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR'
    small, large = (n.to_bytes(4, 'big') * 2 for n in (3000, 30_000))
    kept = verify.plain([['png', head + small], ['png', head + large]])
    assert [kind for kind, _ in kept] == ['png', 'text'] and '30000 x 30000' in kept[1][1]


def test_values_come_back_as_they_were():
    values = [
        None, True, 3, 2.5, float('inf'), 'a', 1 + 2j, b'ab', [1, (2, {3})], {'a': {1: 2}},
        np.float32(1.5), np.arange(6.0).reshape(2, 3), np.array([], int), np.array(['x', 'yz']),
        slice(1, None, 2), range(3), ..., np.dtype('f4'), float, np.add,
    ]  # fmt: skip
    writer = Writer(lambda value: {'o': type(value).__name__})
    tree = json.loads(json.dumps(writer.write(values)))
    again = Reader(b''.join(writer.blobs), None).read(tree)
    for one, two in zip(again, values, strict=True):
        if isinstance(two, np.ndarray):
            assert one.dtype == two.dtype and np.array_equal(one, two)
        else:
            assert type(one) is type(two) and one == two
    opaque = Reader(b'', None).read(writer.write(object()))
    assert isinstance(opaque, Opaque) and opaque != 1 and not (opaque == opaque.__class__('x'))


@pytest.mark.parametrize(
    'tree',
    [
        {'a': ['|O', [1], 0, 8]},
        {'a': ['<f8', [2], 0, 8]},
        {'a': ['<f8', [1], -8, 8]},
        {'a': ['<f8', [1 << 60], 0, 8]},
        {'a': ['V8', [1], 0, 8]},
        {'n': ['O8', 0, 8]},
        {'u': '__class__'},
        {'fn': ['x', 'y']},
        {'own': 99},
        {'__reduce__': ['os.system', 'true']},
        {'ty': 'eval'},
        ['bare list'],
        {'a': 1, 'b': 2},
    ],
)
def test_what_is_not_a_value_is_refused(tree):
    "Objects, bytes that are not there, code: an error, never an object."

    def nothing(tag, body):
        raise ValueError(tag)

    with pytest.raises((ValueError, KeyError, TypeError)):
        Reader(b'0' * 8, nothing).read(tree)


def test_a_long_message_is_refused():
    one, two = os.pipe()
    os.write(two, b'\xff' * 16)
    with pytest.raises(ValueError, match='too long'):
        Pipe(one, two).receive()


def test_few_bytes_of_many_values_are_refused():
    "Values are counted as well as bytes; a range is as long as its numbers."
    one, two = os.pipe()
    body = b'[' + b'[],' * 3_000_000 + b'[]]'
    sizes = struct.pack('>QQ', len(body), 0)
    threading.Thread(target=lambda: os.write(two, sizes) + sum(
        os.write(two, body[at : at + 60_000]) for at in range(0, len(body), 60_000)), daemon=True).start()  # fmt: skip
    with pytest.raises(ValueError, match='too many values'):
        Pipe(one, two).receive()
    with pytest.raises(ValueError, match='many numbers'):
        Reader(b'', None).read({'r': [0, 150_000_000, 1]})
    assert Writer(None).write(range(150_000_000)) == {'o': 'a range of many numbers'}
    with pytest.raises(ValueError, match='values'):
        Writer(None).write([None] * 2_000_001)


def test_feedback_is_rendered():
    "Headings, tables, lists and paragraphs are tags on the page, not text."
    text = '# A head\n\nWords, *more*.\n\n## Two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n1. one\n\n> said\n\n---'
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    book.cells.insert(0, nbformat.v4.new_markdown_cell('# The set'))
    answer = dict(grade_id='a1', solution=True, grade=False)
    tests = dict(grade_id='q1', solution=False, grade=True)
    for source, meta in (('x = 41', answer), ('assert x == 42', tests)):
        cell = nbformat.v4.new_code_cell(source, metadata=dict(nbgrader=meta))
        book.cells.append(cell)
    rows, known = [('q1', 1.0, 2.0, 'try <b>again</b>\nin: f(`x`) < 3')], {'q1': (5, 'softmax/30_umax', 'add')}
    page = rendering.feedback(book, rows, 'ps0: ada', known)
    text = re.sub(r'\s+', ' ', re.sub('<[^>]*>', '', page[page.index('<body') :]))
    for word in ('1 of 2 points', 'The line that failed: f(\'x\') &lt; 3', 'whether you can add', 'learn/softmax/30_umax'):
        assert word in text, word
    assert 'x = 41' in text and 'x == 42' not in text and 'The set' not in text
    assert not re.search(r'&lt;/?(?!b&gt;)[a-z]', page)
    tags = Tags()
    tags.feed(page[page.index('<body') :])
    assert {'h1', 'h2', 'p', 'table', 'thead', 'th', 'tbody', 'td', 'ol', 'li', 'blockquote', 'hr'} <= {
        tag for tag, _ in tags.found
    }


def test_formulas_of_feedback_need_no_network():
    """Every formula of the sets becomes MathML, one that cannot be read stays as text, what a student
    writes into one is no tag, and the page loads nothing."""
    cells = [
        cell
        for file in sorted((ROOT / 'assignments').glob('*/**/ps*.ipynb'))
        if file.parts[-3] in ('source', 'versions')
        for cell in nbformat.read(file, 4).cells
        if cell.cell_type == 'markdown'
    ]
    assert len(cells) > 100
    page = rendering.feedback(nbformat.v4.new_notebook(cells=cells), [], 'ps0: ada')
    assert page.count('<math') > 600 and not re.findall('<code class="(?:math|display)">.*?</code>', page)
    assert not re.search(r'<script|<link|@import|src="(?!data:)|url\([\'"]?(?!data:)[^)]*//|\$\$', page)
    own = (
        ('$a\\text{<img src=x>}$', '<mtext>&lt;img src=x&gt;</mtext>'),
        ('$\\operatorname*{argmin}_x f(x)$', '>argmin</mo>'),
        ('$$\\|x\\| \\le \\tau\\log a$$', 'rspace=".17em">log</mo>'),
        ('\\begin{align}a &= b\\end{align}', '<mtable'),
        ('$a\\foo{<b>}$', '<code class="math">a\\foo{&lt;b&gt;}</code>'),
        (f'${"{" * 5000}$', '<code class="math">{{'),
        ('`$a$` and 5$', '<code>$a$</code> and 5$'),
    )
    for text, word in own:
        page = rendering.feedback(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]), [], 'x')
        assert word in page and '<img' not in page, (text, page[page.index('<main') :])


@pytest.mark.parametrize('source', HOSTILE)
def test_what_is_rendered_stays_harmless(source):
    "Where something got past the first wall, the second one holds."
    tags = Tags()
    tags.feed(rendering.clean(source))
    assert not {tag for tag, _ in tags.found} - set(rendering.TAGS)
    for _, attributes in tags.found:
        assert not [name for name in attributes if name.startswith('on')]
        assert 'script' not in str(attributes.get('href', '')).lower()


def test_messages_of_hidden_checks_hold_no_numbers():
    "The words of the check and not the values that it compared, nor its line."
    source = '### BEGIN HIDDEN TESTS\nnp.testing.assert_allclose(f(3), 41.5, err_msg="for three")\n'
    source += '### END HIDDEN TESTS'
    for function, word in ((lambda x: 2.0, 'for three'), (lambda x: [1, 2], 'for three')):
        try:
            verify.run_tests(source, '<tests q>', dict(np=np, f=function))
        except AssertionError as error:
            said, kept = verify.explain(error, source, '<tests q>')
        assert kept and word in said and '41.5' not in said and 'f(3)' not in said
    said, kept = verify.explain(AssertionError('x'), source, '<elsewhere>')
    assert not kept


def test_variants_of_a_notebook_file(tmp_path):
    "What cannot be read says why, and what to do."
    for name, text, word in (
        ('a.ipynb', 'no', 'is no notebook'),
        ('a.ipynb', '{"cells": 3}', 'is no notebook'),
        ('a.ipynb', '{"cells": [{"cell_type": "code"}]}', None),
        ('a.docx', 'PK', 'no notebook (a.docx)'),
    ):
        folder = tmp_path / str(abs(hash((name, text))))
        folder.mkdir()
        (folder / name).write_text(text)
        if word is None:
            assert intake.notebook_in(folder, 'ps', [], [])[1] == [('code', '', {}, '')]
            continue
        with pytest.raises(intake.Trouble) as told:
            intake.notebook_in(folder, 'ps', [], [])
        assert word in told.value.why and told.value.what
    large = tmp_path / 'large.ipynb'
    with open(large, 'wb') as file:
        file.truncate(500 << 20)
    with pytest.raises(intake.Trouble, match='has 500 MB'):
        intake.cells_of(large)
