"Readers: what is written comes back, what is refused is named, no input crashes them."

import bz2
import gzip
import io
import lzma
import os
import random
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refuses
from scipy.io import savemat
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from extreme_opt import data
from extreme_opt.data import delimited, formats
from extreme_opt.data.delimited import parse_number

PLACE = re.compile(r'(line|byte|row|field) \d+|up to (its end|@data)')
QUICK = settings(max_examples=60, deadline=None)


def as_file(text, name='toy.txt'):
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    file.name = name
    return file


def saved(write, *args, **options):
    "Bytes that a writer of binary files produces."
    file = io.BytesIO()
    write(file, *args, **options)
    return file.getvalue()


# ------------------------------------------------------------------------------- round trips
@st.composite
def labeled_rows(draw):
    "Samples with labels and sparse features, as lists."
    n_features, n_labels = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    value = st.floats(-1e6, 1e6, width=32)
    row = st.tuples(
        st.lists(st.integers(0, n_labels - 1), max_size=3, unique=True),
        st.dictionaries(st.integers(0, n_features - 1), value, max_size=5),
    )
    return n_features, n_labels, draw(st.lists(row, min_size=1, max_size=8))


def dense_of(n_features, rows):
    found = np.zeros((len(rows), n_features), np.float32)
    for i, (_, entries) in enumerate(rows):
        for k, v in entries.items():
            found[i, k] = v
    return found


@QUICK
@given(labeled_rows(), st.booleans(), st.sampled_from(['', '\r']))
def test_sparse_text_round_trip(problem, header, ending):
    "With and without header, counted from 0 or 1, Unix or Windows line ends, blank rows."
    n_features, n_labels, rows = problem
    if not header:  # without a header a blank line is no row
        rows = [(labels or [0], entries) for labels, entries in rows]
    lines = [f'{len(rows)} {n_features} {n_labels}'] if header else []
    for labels, entries in rows:
        pairs = [f'{k + (not header)}:{v!r}' for k, v in sorted(entries.items())]
        lines.append(','.join(map(str, labels)) + ' ' + ' '.join(pairs))
    text = ''.join(line + ending + '\n' for line in lines)
    found = data.read_sparse(as_file(text), n_features=None if header else n_features)
    np.testing.assert_array_equal(found.features.toarray(), dense_of(n_features, rows))
    labels = [found.labels_of(i).tolist() for i in range(found.n_samples)]
    assert labels == [sorted(labels) for labels, _ in rows]
    assert found.n_labels == (n_labels if header else None)
    assert found.features.indices.dtype == np.int32


@QUICK
@given(labeled_rows(), st.booleans())
def test_arff_round_trip(problem, sparse):
    "Sparse or dense rows, features and labels in any order of columns."
    n_features, n_labels, rows = problem
    names = [f'f{k}' for k in range(n_features)] + [f"'l {k}'" for k in range(n_labels)]
    order = random.Random(n_features).sample(range(len(names)), len(names))
    text = '@relation toy\n'
    for k in order:
        text += f'@attribute {names[k]} {"numeric" if k < n_features else "{0,1}"}\n'
    text += '@data\n'
    for labels, entries in rows:
        full = {**entries, **{n_features + label: 1 for label in labels}}
        if sparse:
            text += '{' + ','.join(f'{order.index(k)} {v!r}' for k, v in full.items()) + '}\n'
        else:
            text += ','.join(repr(full.get(k, 0)) for k in order) + '\n'
    found = data.formats.read_arff(as_file(text), [f'l {k}' for k in range(n_labels)])
    columns = [int(name[1:]) for name in found.feature_names]
    np.testing.assert_array_equal(found.features.toarray(), dense_of(n_features, rows)[:, columns])
    for i, (labels, _) in enumerate(rows):
        assert set(found.labels_of(i).tolist()) == set(labels)


@QUICK
@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.integers(0, 2**40)),
    st.sampled_from([',', '\t', ' ', '::', ';', '|']),
    st.booleans(),
    st.booleans(),
)
def test_triplets_round_trip(triplets, sep, heading, packed):
    "Text with any separator, .npy and MATLAB files give the same array."
    lines = [sep.join(map(str, row)) for row in triplets.tolist()]
    if heading:
        lines.insert(0, sep.join(['anchor', 'near', 'far']))
    text = '\n'.join(lines).encode()
    file = as_file(gzip.compress(text) if packed else text)
    np.testing.assert_array_equal(data.read_triplets(file), triplets)
    assert not file.closed
    npy = saved(np.save, np.asfortranarray(triplets) if heading else triplets)
    np.testing.assert_array_equal(data.read_triplets(io.BytesIO(npy)), triplets)
    both = {'empty': np.zeros((0, 3)), 'triplets': triplets + 1.0}
    mat = saved(savemat, both, do_compression=packed)
    np.testing.assert_array_equal(data.read_triplets(io.BytesIO(mat), first_index=1), triplets)


@QUICK
@given(
    hnp.arrays(
        st.sampled_from(['u1', 'i1', '>i2', '>i4', '>f4', '>f8']),
        hnp.array_shapes(max_dims=4, min_side=0, max_side=4),
    )
)
def test_idx_round_trip(array):
    "Every type of the format, any shape, also empty."
    kind = {'u1': 8, 'i1': 9, 'i2': 11, 'i4': 12, 'f4': 13, 'f8': 14}[array.dtype.str[1:]]
    shape = struct.pack(f'>{array.ndim}I', *array.shape)
    found = data.formats.read_idx(
        as_file(bytes([0, 0, kind, array.ndim]) + shape + array.tobytes())
    )
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder('=')


def test_ratings_of_every_release():
    "The three layouts of MovieLens, with and without times and headings."
    for text in (
        '1::1193::5::978300760\n2::661::3::978302109\n',
        '1\t1193\t5\t978300760\n2\t661\t3\t978302109\n',
        'userId,movieId,rating,timestamp\n1,1193,5.0,978300760\n2,661,3.0,978302109\n',
    ):
        found = data.read_ratings(as_file(text))
        assert found.users.tolist() == [1, 2] and found.items.tolist() == [1193, 661]
        assert found.stars.tolist() == [5, 3]
        assert found.times.tolist() == [978300760, 978302109]
    assert data.read_ratings(as_file('1,2,.5\n')).times is None
    assert data.read_ratings(as_file('1 2\n')).stars is None


def test_edges_with_comments_and_blanks():
    "SNAP's comments, Windows line ends, a byte order mark, no newline at the end."
    text = b'\xef\xbb\xbf# from to\r\n\r\n0\t1\r\n% half time\r\n1\t 2'
    assert data.read_edges(as_file(text)).tolist() == [[0, 1], [1, 2]]


def test_table_with_quotes_and_long_words():
    "Quoted fields may hold commas; words keep their whole length."
    text = 'a,kind,b\n1,"x, y",2\n3,' + 'z' * 300 + ',4.5\n'
    found = data.read_table(as_file(text), 'kind')
    assert found.values.tolist() == [[1, 2], [3, 4.5]] and found.names == ['a', 'b']
    assert found.target == ['x, y', 'z' * 300]
    assert data.read_table(as_file('x,1\n'), 0, header=False).names == ['x1']


def test_compression_is_recognized_by_content():
    "gzip, bzip2, xz and zip are known by their first bytes; two members need a name."
    text = b'1 1:2\n'
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as pack:
        pack.writestr('a.txt', text)
    packers = (gzip.compress, bz2.compress, lzma.compress)
    for packed in (*(pack(text) for pack in packers), file.getvalue()):
        assert data.read_sparse(as_file(packed)).labels_of(0).tolist() == [1]
    with zipfile.ZipFile(file, 'a') as pack:
        pack.writestr('b.txt', text)
    refuses('2 files', lambda: data.read_sparse(as_file(file.getvalue())))
    assert list(delimited.iter_lines(as_file(file.getvalue()), 'b.txt')) == [(1, b'1 1:2')]


@pytest.mark.parametrize('zero_based', [True, False])
def test_sparse_text_written_by_scikit_learn(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    X = csr_array(rng.random((30, 8)) * (rng.random((30, 8)) < 0.4))
    y = rng.integers(-3, 4, 30)
    path = tmp_path / 'toy.svm'
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment='made up')
    found = data.read_sparse(path, 8, first_index=int(not zero_based), dtype=np.float64)
    np.testing.assert_allclose(found.features.toarray(), X.toarray(), rtol=1e-12)
    assert found.label_ids.tolist() == y.tolist()


# ------------------------------------------------------------------------------- refusals


def test_a_header_may_name_as_many_columns_as_there_are_ids():
    found = data.read_sparse(as_file(f'1 {2**31 - 1} 4\n1 0:1\n'))
    assert found.features.shape == (1, 2**31 - 1)


ARFF = '@relation toy\n@attribute a numeric\n@attribute b {0,1}\n@attribute c {red,blue}\n@data\n'


HUGE_NPY = (
    b'\x93NUMPY\x01\0v\0'
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 3), }".ljust(117)
    + b'\n'
    + bytes(100)
)


def test_npy_with_objects_is_not_opened(tmp_path):
    "A pickle inside a .npy file is refused and does not run."

    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / 'sprung'), 'w')

    np.save(tmp_path / 'trap.npy', np.array([Trap()], dtype=object), allow_pickle=True)
    refuses('allow_pickle', data.read_triplets, tmp_path / 'trap.npy')
    assert not (tmp_path / 'sprung').exists()


def test_a_missing_file_is_file_not_found(tmp_path):
    cases = [data.read_sparse, data.formats.read_arff, data.read_triplets, data.formats.read_idx]
    for read in cases:
        with pytest.raises(FileNotFoundError):
            read(tmp_path / 'none.txt')


@pytest.mark.parametrize(
    'read, raw',
    [
        (data.read_sparse, b'2000000000 2000000000 2000000000\n1 0:1\n'),
        (data.formats.read_idx, b'\0\0\x08\x03' + b'\xff' * 12 + bytes(100)),
        (data.read_sparse, b'1 2000000000:1\n'),
    ],
)
def test_a_header_allocates_nothing(read, raw):
    "What a header claims is not what is asked of the memory."
    import sklearn.datasets  # noqa: F401 - so that its import is not counted

    tracemalloc.start()
    try:
        read(as_file(raw))
    except ValueError:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


# ------------------------------------------------------------------------------- malformed input
def samples():
    "A small valid input for every reader."
    npy = saved(np.save, np.arange(12).reshape(4, 3))
    mats = [
        saved(savemat, {'triplets': np.arange(12.0).reshape(4, 3)}, do_compression=packed)
        for packed in (False, True)
    ]
    text = b'3 6 4\n0,2 0:1 5:.5\n3 1:2 2:-1e-3\n 4:1\n'
    arff = ARFF.encode() + b'{0 2.5,1 1}\n{2 blue}\n% remark\n1,0,red\n'
    binary = arff.replace(b'{red,blue}', b'{0,1}').replace(b'blue', b'1')
    xml = b'<labels>\n<label name="a"></label>\n<label name="b&amp;c"></label>\n</labels>\n'
    idx = b'\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\3' + bytes(range(12))
    return [
        (data.read_sparse, text),
        (data.read_sparse, b'1 1:2 3:4 # remark\n-1,7 2:5\n'),
        (data.read_sparse, gzip.compress(text)),
        (data.formats.read_arff, arff),
        (lambda file: data.formats.read_arff(file, ['b']), arff),
        (data.formats.read_arff, binary),
        (data.formats.read_label_names, xml),
        (data.read_triplets, b'0,1,2\n3,4,5\n6,7,8\n'),
        (data.read_triplets, npy),
        (data.read_triplets, mats[0]),
        (data.read_triplets, mats[1]),
        (data.read_ratings, b'1::10::5::978300760\n2::11::3.5::978302109\n'),
        (data.read_edges, b'# remark\nid1,id2\n1,2\n3,4\n'),
        (data.read_table, b'a,b,kind\n1.5,2,x\n3,4,"y"\n'),
        (data.formats.read_idx, idx),
        (data.formats.read_idx, gzip.compress(b'\0\0\x0d\x01\0\0\0\2' + bytes(8))),
    ]


TOKENS = [
    b'', b'\0', b'\n', b'\r\n', b' ', b',', b':', b'::', b'\t', b'{', b'}', b'-', b'_', b'.',
    b'e', b'nan', b'inf', b'1e999', b'999999999999999999999', b'-1', b'0x10', b'?', b"'", b'"',
    b'#', b'%', b'@data', b'@attribute ', b'2147483648', b'\xff\xfe', b'\xd9\xa3',
    b'<label name="', b'9' * 5000, b'\x1f\x8b', b'PK\3\4',
]  # fmt: skip


def mutated(raw, rng):
    "One input with one to four changes: flipped, cut, doubled, swapped, or a foreign token."
    raw = bytearray(raw)
    for _ in range(rng.randint(1, 4)):
        at, to = sorted((rng.randint(0, len(raw)), rng.randint(0, len(raw))))
        kind = rng.randrange(7)
        if kind == 0 and raw:
            raw[min(at, len(raw) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del raw[at:]
        elif kind == 2:
            del raw[at : min(to, at + 8)]
        elif kind == 3:
            raw[at:at] = raw[at:to]
        elif kind == 4:
            raw[at:at] = rng.choice(TOKENS)
        elif kind == 5 and raw:
            raw[min(at, len(raw) - 1)] = rng.randrange(256)
        else:
            raw[at:to] = bytes(reversed(raw[at:to]))
    return bytes(raw)


@pytest.mark.filterwarnings('ignore')
def test_malformed_input_is_refused_with_a_place():
    "Seeded mutations (EXTREME_OPT_FUZZ says how many): a result, or one line with file and place."
    n, sources, refused = int(os.environ.get('EXTREME_OPT_FUZZ', 2000)), samples(), 0
    rng = random.Random(0)
    for k in range(n):
        read, raw = sources[k % len(sources)]
        text = mutated(raw, rng)
        try:
            read(as_file(text))
        except ValueError as error:
            refused += 1
            message = str(error)
            assert PLACE.search(message) and 'toy.txt' in message, (text, message)
            assert '\n' not in message, (text, message)
        except Exception as error:
            raise AssertionError(f'{type(error).__name__}: {error} for {text!r}') from error
    assert refused > n / 3


# ------------------------------------------------------------------------------- many forms
TABLE = [['1.5', '-2', 'pêche'], ['.25', '4e2', 'pèche, "dry"']]


def spelled(sep, decimal, ending='\n', quote=False):
    "The table above as a spreadsheet with these habits writes it."
    lines = [['low', 'high', 'kind']]
    lines += [[*(x.replace('.', decimal) for x in row[:2]), row[2]] for row in TABLE]
    for row in lines:
        for k, field in enumerate(row):
            if quote or sep in field or '"' in field or '\n' in field:
                row[k] = '"' + field.replace('"', '""') + '"'
    return ending.join(sep.join(row) for row in lines) + ending


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'cp1252', 'latin-1'])
@pytest.mark.parametrize(
    'sep, decimal', [(',', '.'), (',', ','), (';', '.'), (';', ','), ('\t', '.'), ('\t', ',')]
)
def test_a_table_means_the_same_in_every_form(sep, decimal, encoding):
    "Separator, decimal sign, encoding, line ends and quotes do not change what is read."
    named = encoding if encoding in ('cp1252', 'latin-1') else None
    for ending in ('\n', '\r\n', '\r'):
        for quote in (False, True):
            raw = spelled(sep, decimal, ending, quote).encode(encoding)
            if sep == decimal and not quote:
                continue  # 1,5,-2,x does not say what it means
            found = data.read_table(as_file(raw), 'kind', encoding=named)
            assert found.values.tolist() == [[1.5, -2], [0.25, 400]]
            assert found.target == [row[2] for row in TABLE] and found.names == ['low', 'high']
            table = data.read_fields(as_file(raw), encoding=('utf-8', 'cp1252'))
            assert table.column('KIND', 'other') == found.target and table.sep == sep
            again = raw.decode(table.encoding)
            assert again.replace('\r\n', '\n').replace('\r', '\n') == spelled(
                sep, decimal, quote=quote
            )


@pytest.mark.parametrize(
    'text, rows, lines',
    [
        ('id\nann\n\nbob\n', [['ann'], ['bob']], [2, 4]),
        ('id;mark;;\nann;"1\r\n2";;\n;;;\nbob;3;;\n', [['ann', '1\n2'], ['bob', '3']], [2, 5]),
        ('sep=;\nid;mark\nann;3\n', [['ann', '3']], [3]),
        ('"id, old",b\n1,2\n', [['1', '2']], [2]),
        ('a,b\n1,x;y\n2,z;w\n', [['1', 'x;y'], ['2', 'z;w']], [2, 3]),
        ('a;b\n1,5;2\n2,5;3\n', [['1,5', '2'], ['2,5', '3']], [2, 3]),
        ('a\tb, c\n1\t2\n', [['1', '2']], [2]),
        ('a, b\n1, "x, y"\n', [['1', 'x, y']], [2]),
        (',x\n0,1\n', [['0', '1']], [2]),
        ('id,mark\n', [], []),
        ('a;b\n1;2;\n', [['1', '2']], [2]),
    ],
)
def test_fields(text, rows, lines):
    table = data.read_fields(as_file(text))
    assert (table.rows, table.lines) == (rows, lines)
    assert table.records() == [dict(zip(table.names, row)) for row in rows]


def workbook():
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as pack:
        pack.writestr('[Content_Types].xml', '<Types/>')
        pack.writestr('xl/workbook.xml', '<workbook/>')
    return file.getvalue()


REFUSED = {  # reader -> what it is given, options, words of what is said
    data.read_sparse: [
        ('1 1:2\n1 2:x', {}, 'line 2 of toy.txt'),
        ('1 1:2 3', {}, "line 1 of toy.txt: expected \"label,label index:value index:value\""),
        ('1,,2 1:2', {}, "got '1,,2 1:2'"),
        ('1 0:2', {}, 'indices from 1'),
        ('1 1:1\n1 2:1 2:1', {}, 'line 2 of toy.txt'),
        ('1 1:1\n\n1 5:2', dict(n_features=4), 'row 1 of toy.txt has a feature beyond'),
        ('1 1:inf', {}, 'value inf at row 0'),
        ('1 1:2\n1 1:1e39', {}, 'value inf at row 1 of toy.txt: expected a finite number within'),
        ('1.5 1:1', {}, 'label 1.5 at row 0 of toy.txt: expected a whole number'),
        ('nan 1:1', {}, 'label nan at row 0'),
        ('2 3 4\n1 0:1\n2 1:1\n3 2:1', {}, 'has 3 rows up to its end (line 4), but its header'),
        ('3 3 4\n1 0:1\n2 1:1\n', {}, 'has 2 rows up to its end (line 3), but its header'),
        ('1 3 4\n1 3:1\n', {}, 'row 0 of toy.txt has a feature beyond the last of n_features=3'),
        ('1 3 4\n7 0:1\n', {}, 'label 7 at row 0 of toy.txt: expected 0..3'),
        ('1 3 4\n-1 0:1\n', {}, 'label -1 at row 0'),
        ('99999999999 3 4\n', {}, "'99999999999 3 4' at line 1"),
        ('1 0:2 1:3\n', {}, 'does the file count from 0? then say first_index=0'),
        ('1 2:2 2:3\n', {}, 'index 2 stands twice'),
        ('1 3:2 2:3 2:1\n', {}, 'index 2 stands twice'),
        ('2 4\n1 1:1\n', {}, 'with three numbers'),
        ('', {}, 'no row up to its end'),
        ('# nothing\n\n', {}, 'no row up to its end'),
    ],
    data.formats.read_arff: [
        (ARFF + '{0 1,1 1', {}, "'{0 1,1 1' at line 6 of toy.txt"),
        (ARFF + '{0 1,9 1}', {}, 'expected columns 0..2'),
        (ARFF + '{0 1,2 green}', {}, 'at line 6 of toy.txt'),
        (ARFF + '{0 1,0 2}', {}, 'a column appears twice'),
        (ARFF + '{0 1;1 1}', {}, 'at line 6'),
        (ARFF + '{0 nan}', {}, 'value nan at row 0 of toy.txt'),
        (ARFF + '1,0', {}, '2 values, expected 3'),
        (ARFF + '1,0,?', {}, 'at line 6'),
        (ARFF, dict(labels=['z']), "label 'z' is no column of toy.txt"),
        ('@relation toy\n@attribute a string\n@data\n', {}, 'line 2'),
        ('@relation toy\nattribute a numeric\n@data\n', {}, 'line 2'),
        ('@relation toy\n@attribute a numeric\n', {}, 'line 2 without @data'),
    ],
    data.formats.read_idx: [
        (b'\0\0\x08', {}, 'at byte 0'),
        (b'\0\0\x07\x01\0\0\0\1\0', {}, 'is it an IDX file'),
        (b'\0\0\x08\x02' + b'\xff' * 8 + bytes(50), {}, 'ends at byte 62'),
        (b'\0\0\x08\x01\0\0\0\x01ab', {}, 'ends at byte 10, but'),
    ],
    data.read_triplets: [
        (b'\x93NUMPY\x01\0\x05\0hello', {}, 'cannot be read up to its end'),
        (HUGE_NPY, {}, 'toy.txt'),
        (b'1,2,3\n4,5\n', {}, 'line 2 of toy.txt'),
        (b'1,2,-3\n', {}, '-3 at row 0, column 3 of toy.txt'),
        (b'1,2,3\n4,5,1.5\n', {}, 'line 2 of toy.txt'),
        (b'# nothing\n', {}, 'no line of numbers'),
        (b'1,2,' + b'9' * 5000 + b'\n', {}, 'line 1 of toy.txt'),
        (b'MATLAB 7.3 MAT-file' + bytes(200), {}, 'cannot be read up to its end'),
        (saved(savemat, {'other': np.eye(3)}), {}, "no numeric matrix 'triplets'"),
        (saved(savemat, {'triplets': 'text'}), {}, "no numeric matrix 'triplets'"),
    ],
    data.read_ratings: [
        (b'1::2::3::4\n1::2::1e999::4\n', {}, 'inf at row 1, column 3'),
        (b'1::2::3::4\n1::2::x::4\n', {}, 'line 2 of toy.txt'),
        (',user,item,stars\n0,1,10,3.5\n', {}, 'line 1 of toy.txt has a column without a name'),
        ('"",user,item\n0,1,10\n', {}, 'column without a name'),
        ('Unnamed: 0,user,item\n0,1,10\n', {}, 'column without a name'),
        ('1;10;1,234\n', {}, "'1,234' is 1.234 or 1234"),
        ('1,5;10;3\n', {}, 'line 1 of toy.txt'),
    ],
    data.read_edges: [(b'1 2 3\n', {}, 'line 1 of toy.txt has 3 fields, expected 2')],
    data.read_table: [
        (b'a,b\n1,x\n2,y,z\n', {}, 'line 3 of toy.txt has 3 fields'),
        (b'a,b\n1,x\n\nx,y\n', {}, 'line 4 of toy.txt'),
        (b'a,b\n1,x\n\ninf,x\n', {}, "line 4 of toy.txt, column 'a': 'inf' is not"),
        ('a,b,y\n1,2,x\n', dict(target=5), 'target is 5, but line 1 of toy.txt has 3 columns'),
        ('a,b,y\n1,2,x\n', dict(target=-4), 'expected -3..2'),
        ('a,b,y\n1,2,x\n', dict(target=1.0), 'target is 1.0, expected a position or a heading'),
        ('a,b,y\n1,2,x\n', dict(target='z'), "no column 'z'"),
        ('1,2,x\n', dict(target='x0', header=False), "no column 'x0'"),
        ('a,y\n1,x\n2,\n', {}, "the word in column 'y' at line 3 of toy.txt is missing ('')"),
        ('a,y\n1,x\n2, NA\n', {}, "is missing ('NA')"),
        ('a,y\n1,x\n2,?\n', {}, "is missing ('?')"),
        ('a,y\n1,x\n,z\n', {}, "line 3 of toy.txt, column 'a': '' is not a finite number"),
        ('a;y\n1,234;x\n5,678;z\n', {}, "line 2 of toy.txt, column 'a': '1,234' is 1.234 or 1234"),
        ('a;b;y\n1,5;2.5;x\n', {}, "'1,5' at line 2 and '2.5' at line 2"),
        ('a;b;y\n1.234,5;2;x\n', {}, "expected one decimal sign"),
        ('a;b;y\n1.234;2,5;x\n', {}, "'2,5' at line 2 and '1.234' at line 2"),
        ('5.1,3.5,x\n4.9,3.0,z\n', {}, 'holds numbers'),
        ('a,b,y\n1,2,x\n', dict(header=False), "column 'x0': 'a' is not a finite number"),
        ('a,b,y\n1,2,x\n', dict(header=False), 'or say header=True'),
        ('a b y\n1 2 x\n', {}, 'line 1 of toy.txt has one field'),
        ('a,a,y\n1,2,x\n', dict(target='a'), "the heading 'a' in columns 1 and 2"),
    ],
    data.read_fields: [
        ('a\npêche\n'.encode('latin-1'), {}, "byte b'\\xea' at line 2 of toy.txt is not utf-8"),
        ('a\npêche\n'.encode('latin-1'), {}, 'encoding="cp1252"'),
        ('a\npêche\n'.encode('utf-16-le'), {}, 'encoding="utf-16-le"'),
        (b'a\nx\x81\n', dict(encoding=['utf-8', 'cp1252']), "b'\\x81' at line 2"),
        (b'a\n', dict(encoding='utf-9'), "encoding 'utf-9' of toy.txt is not known"),
        (b'', {}, 'no row up to its end'),
        (b'\n;;\n', dict(sep=';'), 'no row up to its end'),
        (b'a,b;c,d\n1,2;3,x\n', {}, "may be separated by ',' or ';'; say which: sep="),
        (b'a,b\n1,2\n3\n', {}, 'line 3 of toy.txt has 1 fields, expected 2'),
        (b'a,b\n1,2,3\n', {}, 'line 2 of toy.txt has 3 fields, expected 2'),
        (b'a;b;A;b\n1;2;3;4\n', {}, "has the heading 'b' in columns 2 and 4"),
        (b'a,b\n1,"2\n3,4\n', {}, 'the row at line 2 of toy.txt cannot be read'),
        (b'a,b\n1,2\n', dict(sep='::'), "sep is '::', expected one character"),
        (workbook(), {}, 'toy.txt is an Excel workbook'),
        (b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1' + bytes(9), {}, 'is an Excel workbook'),
        (b'\x28\xb5\x2f\xfd' + bytes(9), {}, 'is packed with zstd'),
    ],
}
EACH = [(read, *row) for read, rows in REFUSED.items() for row in rows]


@pytest.mark.parametrize('read, raw, options, words', EACH)
def test_what_is_refused(read, raw, options, words):
    with pytest.raises(ValueError) as caught:
        read(as_file(raw), **options)
    assert words in str(caught.value) and '\n' not in str(caught.value)
    assert words.startswith('encoding') or 'toy.txt' in str(caught.value)


def test_a_column_that_is_not_there():
    table = data.read_fields(as_file('ID,Mark\nann,3\n'))
    assert table.column('username', 'id') == ['ann']
    refuses(r"no column 'name' or 'user', only \['ID', 'Mark'\]", table.column, 'name', 'user')


@pytest.mark.parametrize(
    'text, decimal, value',
    [
        ('3', None, 3),
        (' -3.5 ', None, -3.5),
        ('3,5', None, 3.5),
        ('+.5e-1', None, 0.05),
        (',5', None, 0.5),
        ('0,123', None, 0.123),
        ('1.234', None, 1.234),
        ('1,234', ',', 1.234),
        ('12,5', ',', 12.5),
        ('1,234', None, '1.234 or 1234'),
        ('1,234,567', None, 'or 1234567'),
        ('1,234', '.', 'not a finite number'),
        ('1.234,5', None, 'not a finite number'),
        ('1.5', ',', 'not a finite number'),
        ('1', ';', "decimal is ';'"),
        *[
            (text, None, 'not a finite number')
            for text in ('', 'nan', '-inf', '1e999', '1_000', '٣', 'B+')
        ],
    ],
)
def test_numbers(text, decimal, value):
    if isinstance(value, str):
        refuses(re.escape(value), parse_number, text, decimal)
    else:
        assert parse_number(text, decimal) == value


def test_tables_that_are_read():
    "Ways out that the messages name, and headings that look odd and are right."
    assert data.read_table(as_file('a;y\n1,234;x\n0,5;z\n')).values.tolist() == [[1.234], [0.5]]
    assert data.read_table(as_file('a;y\n1,234;x\n'), decimal=',').values.tolist() == [[1.234]]
    assert data.read_table(as_file('a,y\n1,NA\n'), na_values=()).target == ['NA']
    assert data.read_table(as_file('0,1,y\n5.1,3.5,x\n')).names == ['0', '1']
    assert data.read_table(as_file('"a, cm",b,y\n1,2,x\n')).names == ['a, cm', 'b']
    assert data.read_table(as_file('a,y\n1,"x\nw"\n')).target == ['x\nw']
    assert data.read_table(as_file('a;b;y\n1;2;x\n3;4;z\n')).values.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    'text, rows',
    [
        ('1;10;3,5\n2;11;4\n', [[1, 2], [10, 11], [3.5, 4]]),
        ('1\t10\t3,5\n', [[1], [10], [3.5]]),
        ('"1","10","3.5"\n"2","11","4"\n', [[1, 2], [10, 11], [3.5, 4]]),
        ('"user","item","stars"\n"1","10","3.5"\n', [[1], [10], [3.5]]),
    ],
)
def test_ratings_in_other_forms(text, rows):
    found = data.read_ratings(as_file(text))
    assert [column.tolist() for column in found[:3]] == rows
    utf16 = data.read_ratings(as_file(text.encode('utf-16')))
    assert [column.tolist() for column in utf16[:3]] == rows


# ------------------------------------------------------------------------------- what a label says
@pytest.mark.parametrize(
    'words',
    ['{0,1}', '{1,0}', '{FALSE,TRUE}', '{TRUE,FALSE}', '{no,yes}', '{yes,no}', '{1,-1}', '{-1,1}']
    + ["{'0','1'}", "{'1', '0'}", '{"No","Yes"}', '{t,f}', '{1.0,0.0}'],
)
def test_a_label_does_not_depend_on_the_order_of_its_words(words):
    "Yes is yes in dense and sparse rows; a sparse row leaves out the first word."
    first, second = (word.strip() for word in words[1:-1].split(','))
    yes = first if first.strip('\'"').lower() in ('1', 'true', 'yes', 't', '1.0') else second
    no = second if yes == first else first
    head = f'@relation r\n@attribute a numeric\n@attribute spam {words}\n@data\n'
    found = formats.read_arff(as_file(head + f'1,{yes}\n2,{no}\n'), ['spam'])
    assert [found.labels_of(i).tolist() for i in range(2)] == [[0], []]
    assert found.features.toarray().tolist() == [[1], [2]]
    sparse = head + '{0 1}\n' + f'{{1 {second}}}\n' + f'{{ 0 3, 1 {first} }}\n{{ }}\n'
    found = formats.read_arff(as_file(sparse), ['spam'])
    has = [[0] if yes == first else [], [0] if yes == second else []]
    assert [found.labels_of(i).tolist() for i in range(4)] == [*has, has[0], has[0]]


@pytest.mark.parametrize(
    'kind, value, words',
    [
        ('{a,b}', 'a', "the label 'l' has the words '{a,b}'"),
        ('{a,b,c}', 'a', 'expected a yes and a no'),
        ('{0,1,2}', '2', 'expected a yes and a no'),
        ('{-1,0,1}', '1', 'expected a yes and a no'),
        ('{yes,true}', 'yes', 'expected a yes and a no'),
        ('numeric', '-1', "'l' is -1, but a label is 0 or 1"),
        ('numeric', '2', 'a label is 0 or 1'),
        ('real', '0.5', 'a label is 0 or 1'),
    ],
)
def test_labels_that_are_neither_yes_nor_no(kind, value, words):
    for row in (f'1,{value}', f'{{0 1,1 {value}}}'):
        text = f'@relation r\n@attribute a numeric\n@attribute l {kind}\n@data\n{row}\n'
        assert PLACE.search(refuses(words, lambda: formats.read_arff(as_file(text), ['l'])))


def arff_of(kind, *rows):
    text = f'@relation r\n@attribute a {kind}\n@attribute b numeric\n@data\n' + '\n'.join(rows)
    return formats.read_arff(as_file(text))


@pytest.mark.parametrize(
    'kind, rows, values',
    [
        ('{1,2,3}', ['3,0', '{1 5}', '{0 2}'], [3, 1, 2]),
        ('{3,5,1}', ['1,0', '{1 5}', '{0 5}'], [1, 3, 5]),
        ('{-1,1}', ['1,0', '{1 5}'], [1, -1]),
        ('{TRUE,FALSE}', ['TRUE,0', 'FALSE,0', '{1 5}'], [1, 0, 1]),
        ('{red,blue,green}', ['green,0', '{1 5}', '{0 blue}'], [2, 0, 1]),
        ("{'x,y', 'it\\'s'}", ["'it\\'s',0", "{0 'it\\'s'}", "'x,y',1"], [1, 1, 0]),
        ('real [0,1]', ['0.5,0', '{0 .25}'], [0.5, 0.25]),
        ('numeric % in cm', ['2,0 % short', '3 ,\t0'], [2, 3]),
        ('integer', ['4\t0', '5 0'], [4, 5]),
        ("{'50%',' % '}", ["'50%',0", "' % ',0 % half"], [0, 1]),
    ],
)
def test_arff_features(kind, rows, values):
    assert arff_of(kind, *rows).features.toarray()[:, 0].tolist() == values


def test_arff_words_and_weights():
    found = arff_of('{red,blue}', 'blue,1, {2.5}', '{0 blue}', '{1 3}, {0}')
    assert found.categories == {'a': ['red', 'blue']}
    assert found.sample_weight.tolist() == [2.5, 1, 0]
    assert arff_of('{1,2}', '1,2').categories is None
    assert arff_of('{1,2}', '1,2').sample_weight is None
    refuses('weight -1.0 at row 0 of toy.txt', arff_of, '{red,blue}', 'blue,1,{-1}')
    with pytest.raises(ValueError, match='sample_weight'):
        rows = csr_array(np.eye(2)), np.arange(2), np.arange(3)
        data.prepare(formats.Multilabel(*rows, sample_weight=np.ones(2)))


@pytest.mark.parametrize(
    'kind, row, words',
    [
        ('{red,blue}', '?,1', "'a' is missing (?)"),
        ('{red,blue}', 'green,1', "'green' is not among the words of 'a'"),
        ('{red,red}', 'red,1', 'a word stands twice'),
        ('numeric', '1_0,1', "'1_0' is not a number"),
        ('string', "'x',1", "not 'string'"),
        ('{red,blue}', "'red,1", 'a quote opens and does not close'),
        ('numeric', '{0}', 'expected {column value, column value}'),
    ],
)
def test_arff_rows_that_are_refused(kind, row, words):
    assert PLACE.search(refuses(words, arff_of, kind, row))


def test_names_in_another_encoding():
    "The encoding that an XML file names is taken; other bytes are refused, not replaced."
    xml = '<labels><label name="pêche"/><label name=\'pèche\'></label></labels>'
    for raw in (
        xml.encode(),
        xml.encode('utf-16'),
        ('<?xml version="1.0" encoding="ISO-8859-1"?>' + xml).encode('latin-1'),
    ):
        assert formats.read_label_names(as_file(raw)) == ['pêche', 'pèche']
    bare = xml.encode('latin-1')
    assert formats.read_label_names(as_file(bare), encoding='latin-1') == ['pêche', 'pèche']
    with pytest.raises(ValueError, match='line 1 of toy.txt is not XML .* encoding="latin-1"'):
        formats.read_label_names(as_file(bare))
    with pytest.raises(ValueError, match="label 'a' stands twice"):
        formats.read_label_names(as_file('<l><label name="a"/><label name="a"/></l>'))
    arff = '@relation r\n@attribute pêche {0,1}\n@attribute pèche {0,1}\n@data\n1,0\n0,1\n'
    found = formats.read_arff(
        as_file(arff.encode('latin-1')), ['pêche', 'pèche'], encoding='latin-1'
    )
    assert found.label_ids.tolist() == [0, 1]
    assert formats.read_arff(as_file(arff.encode('utf-16')), ['pêche', 'pèche']).n_labels == 2
    with pytest.raises(ValueError, match='line 2 of toy.txt is not utf-8 text'):
        formats.read_arff(as_file(arff.encode('latin-1')), ['pêche'])
    with pytest.raises(ValueError, match="label 'a' names two columns"):
        formats.read_arff(as_file('@attribute a {0,1}\n@attribute a {0,1}\n@data\n1,0\n'), ['a'])


# ------------------------------------------------------------------------------- sparse text
@pytest.mark.parametrize(
    'raw',
    [
        b'1 3:1 1:2\n2 2:3\n',
        b'\xef\xbb\xbf1 1:2 3:1\n2 2:3\n',
        '1 1:2 3:1\n2 2:3\n'.encode('utf-16'),
        b'# made by hand\n\n1 1:2 3:1 # first\n2 2:3\n',
        b'# made by hand\n2 3 3\n1 0:2 2:1\n2 1:3\n',
        b'\xef\xbb\xbf2 3 3\n1 2:1 0:2\n2 1:3\n',
        lzma.compress(b'1 1:2 3:1\n2 2:3\n'),
        gzip.compress(b'1 qid:4 3:1 1:2\n2 qid:4 2:3\n', mtime=0),
    ],
)
def test_sparse_text_as_found(raw):
    found = data.read_sparse(as_file(raw))
    assert found.features.toarray().tolist() == [[2, 0, 1], [0, 3, 0]]
    assert found.features.has_sorted_indices and found.label_ids.tolist() == [1, 2]
