"Column files of the CoNLL tasks: what is read, and what is refused with its line."

import gzip
import io
import os

import pytest
from refusals import refuses

from extreme_opt.data import load, read_conll


def read(text, *args, **settings):
    text = text if isinstance(text, bytes) else text.encode()
    return read_conll(io.BytesIO(text), *args, **settings)


def test_columns_of_the_tasks():
    of_2003 = '-DOCSTART- -X- -X- O||EU NNP B-NP B-ORG|-DOCSTART- -X- O O|No DT B-NP O|||'
    assert read(of_2003.replace('|', '\r\n')).tags == [['B-ORG'], ['O']]


def test_tabs_comments_encodings_and_packed_files(tmp_path):
    assert read('a\tB\n \t \nc  \t D').tags == [['B'], ['D']]
    assert read('# sent 1\na B\n# sent 2\nc D\n', comment='#').tags == [['B', 'D']]
    assert read('Peña B\n'.encode('utf-16')).rows == [[('Peña',)]]
    assert read('a\u2028b X\n').rows == [[('a\u2028b',)]]
    spanish = 'Peña B-PER\n'.encode('latin-1')
    assert read(spanish, encoding='latin-1').rows == [[('Peña',)]]
    (tmp_path / 'words.gz').write_bytes(gzip.compress(b'a B\n'))
    assert read_conll(tmp_path / 'words.gz').tags == [['B']]
    words = read('one\ntwo\n\nthree\n', tag=None)
    assert words.rows == [[('one',), ('two',)], [('three',)]] and words.tags is None


def test_tabs_alone_separate_where_the_first_line_has_one():
    assert read('New York\tLOC\nb\tO\n').rows == [[('New York',), ('b',)]]
    assert read('a\tO\nNew  York\tLOC\n').rows == [[('a',), ('New  York',)]]
    refuses('line 2 has nothing in column 1', read, 'a\tX\tO\nb\t\tO\n')


def test_trees_of_conll_u_are_sentences():
    "Comments, words that stand for several (1-2) and words that are not there (2.1) are left out."
    row = '{}\t{}\t_\t{}' + '\t_' * 6
    lines = ['# sent_id = 1', '# text = dámelo', row.format('1-2', 'dámelo', '_')]
    lines += [row.format(1, 'dá', 'VERB'), row.format(2, 'lo', 'PRON'), row.format('2.1', 'x', 'X')]
    found = read('\n'.join([*lines, '', '# sent_id = 2', row.format(1, 'sí', 'INTJ'), '']), tag=3)
    assert found.tags == [['VERB', 'PRON'], ['INTJ']]
    assert [[word[1] for word in words] for words in found.rows] == [['dá', 'lo'], ['sí']]
    four = read('# sent_id = 1\nEU NNP B-NP B-ORG\n')  # four columns, too
    assert four.tags == [['B-ORG']]


def test_an_open_text_file_is_read():
    assert read_conll(io.StringIO('Peña B\n'), encoding='latin-1').rows == [[('Peña',)]]


@pytest.mark.parametrize(
    'text, settings, words',
    [
        ('He PRP O\n\nruns VBZ\n', {}, 'line 3 has 2 columns, but line 1 has 3'),
        ('He O\n', dict(tag=2), 'line 1 has 2 columns, but tag=2'),
        ('He O\n', dict(tag=-3), 'but tag=-3'),
        ('a O\nPeña O\n'.encode('latin-1'), {}, 'line 2 is not utf-8: .*encoding="latin-1"'),
        ('', {}, 'holds no sentence'),
        ('\n-DOCSTART- -X- O\n', {}, 'holds no sentence'),
    ],
)
def test_what_is_wrong_is_one_line(text, settings, words):
    refuses(words, read, text, **settings)


def test_the_shared_task_itself():
    if not os.environ.get('EXTREME_OPT_DATA'):
        pytest.skip('needs EXTREME_OPT_DATA')
    folder = os.path.join(os.environ['EXTREME_OPT_DATA'], 'conll2000', 'conll2000.zip')
    found = read_conll(folder, member='conll2000/test.txt', encoding='latin-1')
    loaded = load('conll2000', min_count=1)
    assert len(found.rows) == 2012 and sum(map(len, found.tags)) == len(loaded.test) == 47_377
    assert [row[0] for words in found.rows for row in words] == loaded.texts[loaded.test].tolist()
