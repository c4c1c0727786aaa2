"The readers: what they read comes back, what they refuse they name, and no input makes them crash, hang or swell."
import gzip
import io
import os
import random
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat
from scipy.sparse import csr_array

from extreme_opt import data
from extreme_opt.data import readers

PLACE = re.compile(r'(line|byte|row|field) \d+|up to (its end|@data)')
QUICK = settings(max_examples=60, deadline=None)


def as_file(text, name='toy.txt'):
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    file.name = name
    return file


# ------------------------------------------------------------------------------------------ round trips
@st.composite
def labelled_rows(draw):
    "Rows with labels and sparse features, as lists."
    n_features, n_labels = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    value = st.floats(-1e6, 1e6, width=32)
    row = st.tuples(st.lists(st.integers(0, n_labels - 1), max_size=3), st.dictionaries(st.integers(0, n_features - 1), value, max_size=5))
    return n_features, n_labels, draw(st.lists(row, min_size=1, max_size=8))


def write_sparse(n_features, n_labels, rows, header, base, gap=' '):
    lines = [f'{len(rows)} {n_features} {n_labels}'] if header else []
    for labels, entries in rows:
        pairs = gap.join(f'{k + base}:{v!r}' for k, v in entries.items())
        lines.append(','.join(map(str, labels)) + ' ' + pairs)
    return '\n'.join(lines) + '\n'


def dense_of(n_features, rows, dtype=np.float32):
    found = np.zeros((len(rows), n_features), dtype)
    for i, (_, entries) in enumerate(rows):
        for k, v in entries.items(): found[i, k] = v
    return found


@QUICK
@given(labelled_rows(), st.booleans(), st.sampled_from(['', '\r']))
def test_sparse_text_comes_back(problem, header, ending):
    "Header or not, from 0 or from 1, Unix or Windows line ends: the same rows."
    n_features, n_labels, rows = problem
    if not header: rows = [(labels or [0], entries) for labels, entries in rows]     # a row of nothing is a blank line
    text = write_sparse(n_features, n_labels, rows, header, 0 if header else 1).replace('\n', ending + '\n')
    found = data.read_sparse(as_file(text), n_features=None if header else n_features)
    np.testing.assert_array_equal(found.features.toarray(), dense_of(n_features, rows))
    assert [found.labels_of(i).tolist() for i in range(found.n_samples)] == [labels for labels, _ in rows]
    assert found.n_labels == (n_labels if header else None) and found.features.indices.dtype == np.int32


@QUICK
@given(labelled_rows(), st.booleans())
def test_arff_comes_back(problem, sparse):
    "Sparse or dense rows, features and labels in any order of columns."
    n_features, n_labels, rows = problem
    names = [f'f{k}' for k in range(n_features)] + [f"'l {k}'" for k in range(n_labels)]
    order = random.Random(n_features).sample(range(len(names)), len(names))
    head = '@relation toy\n' + ''.join(f'@attribute {names[k]} {"numeric" if k < n_features else "{0,1}"}\n' for k in order) + '@data\n'
    body = ''
    for labels, entries in rows:
        full = {**entries, **{n_features + label: 1 for label in labels}}
        if sparse: body += '{' + ','.join(f'{order.index(k)} {v!r}' for k, v in full.items()) + '}\n'
        else: body += ','.join(repr(full.get(k, 0)) for k in order) + '\n'
    found = data.read_arff(as_file(head + body), [f'l {k}' for k in range(n_labels)])
    columns_of = [int(name[1:]) for name in found.feature_names]
    np.testing.assert_array_equal(found.features.toarray(), dense_of(n_features, rows)[:, columns_of])
    assert [set(found.labels_of(i).tolist()) for i in range(found.n_samples)] == [set(labels) for labels, _ in rows]


@QUICK
@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.integers(0, 2**40)),
       st.sampled_from([',', '\t', ' ', '::', ';', '|']), st.booleans(), st.booleans())
def test_triplets_come_back(triplets, sep, heading, packed):
    "Text with any separator, .npy and MATLAB give the same array."
    text = sep.join(['anchor', 'near', 'far']) + '\n' if heading else ''
    text = (text + '\n'.join(sep.join(map(str, row)) for row in triplets.tolist())).encode()
    np.testing.assert_array_equal(data.read_triplets(as_file(gzip.compress(text) if packed else text)), triplets)
    file = io.BytesIO(); np.save(file, np.asfortranarray(triplets) if heading else triplets); file.seek(0)
    np.testing.assert_array_equal(data.read_triplets(file), triplets)
    file = io.BytesIO(); savemat(file, {'triplets': triplets + 1.}, do_compression=packed); file.seek(0)
    np.testing.assert_array_equal(data.read_triplets(file, first_index=1), triplets)


@QUICK
@given(hnp.arrays(st.sampled_from(['u1', 'i1', '>i2', '>i4', '>f4', '>f8']), hnp.array_shapes(max_dims=4, min_side=0, max_side=4)))
def test_idx_comes_back(array):
    "Every type of the format, any shape, also empty."
    kind = {'u1': 8, 'i1': 9, 'i2': 11, 'i4': 12, 'f4': 13, 'f8': 14}[array.dtype.str[1:]]
    raw = bytes([0, 0, kind, array.ndim]) + struct.pack(f'>{array.ndim}I', *array.shape) + array.tobytes()
    found = data.read_idx(as_file(raw))
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder('=')


@QUICK
@given(st.dictionaries(st.text('abc', min_size=1, max_size=5),
                       hnp.arrays(st.sampled_from(['f8', 'f4', 'u1', 'i2', 'i8', 'u4']), hnp.array_shapes(min_dims=2, max_dims=3, max_side=4),
                                  elements=st.integers(0, 100)), min_size=1, max_size=3), st.booleans())
def test_mat_agrees_with_scipy(arrays, packed):
    "What scipy writes, we read."
    file = io.BytesIO(); savemat(file, {'w': 'text', 'c': np.array([1j]), **{'x' + k: v for k, v in arrays.items()}}, do_compression=packed); file.seek(0)
    found = data.read_mat(file)
    assert set(found) == {'x' + name for name in arrays}
    for name, array in arrays.items(): np.testing.assert_array_equal(found['x' + name], array)


def test_ratings_of_every_release():
    "The three layouts of MovieLens, with and without times and headings."
    for text in ('1::1193::5::978300760\n2::661::3::978302109\n', '1\t1193\t5\t978300760\n2\t661\t3\t978302109\n',
                 'userId,movieId,rating,timestamp\n1,1193,5.0,978300760\n2,661,3.0,978302109\n'):
        found = data.read_ratings(as_file(text))
        assert found.users.tolist() == [1, 2] and found.items.tolist() == [1193, 661]
        assert found.stars.tolist() == [5, 3] and found.times.tolist() == [978300760, 978302109]
    assert data.read_ratings(as_file('1,2,.5\n')).times is None and data.read_ratings(as_file('1 2\n')).stars is None


def test_edges_with_remarks_and_blanks():
    "SNAP's remarks, Windows line ends, a byte order mark, no newline at the end."
    text = b'\xef\xbb\xbf# from to\r\n\r\n0\t1\r\n% half time\r\n1\t 2'
    assert data.read_edges(as_file(text)).tolist() == [[0, 1], [1, 2]]


def test_packing_is_seen_and_not_named():
    "gzip, bzip2 and zip are known by their first bytes; a zip file with two members wants a name."
    import bz2
    text = b'1 1:2\n'
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as pack: pack.writestr('a.txt', text)
    for packed in (gzip.compress(text), bz2.compress(text), file.getvalue()):
        assert data.read_sparse(as_file(packed)).labels_of(0).tolist() == [1]
    with zipfile.ZipFile(file, 'a') as pack: pack.writestr('b.txt', text)
    with pytest.raises(ValueError, match='2 files'): data.read_sparse(as_file(file.getvalue()))
    assert list(readers.lines(as_file(file.getvalue()), 'b.txt')) == [(1, b'1 1:2')]


def test_svmlight_agrees_with_scikit_learn(tmp_path):
    "scikit-learn writes a file; both readers see the same matrix."
    sklearn = pytest.importorskip('sklearn.datasets')
    rng = np.random.default_rng(0)
    X, y = csr_array(rng.random((30, 8)) * (rng.random((30, 8)) < .4)), rng.integers(-3, 4, 30)
    for base in (True, False):
        sklearn.dump_svmlight_file(X, y, str(tmp_path/'toy.svm'), zero_based=base, comment='made up')
        found = data.read_sparse(tmp_path/'toy.svm', n_features=8, first_index=0 if base else 1, dtype=np.float64)
        np.testing.assert_allclose(found.features.toarray(), X.toarray(), rtol=1e-12)
        assert found.label_ids.tolist() == y.tolist()


def test_unsorted_rows_are_sorted():
    "Columns in any order within a row, rows of length 0 and 1 at the borders."
    found = data.read_sparse(as_file('4 5 2\n\n0 4:4 0:1 2:2\n1 3:3\n\n')).features
    assert found.has_sorted_indices and found.indices.tolist() == [0, 2, 4, 3] and found.data.tolist() == [1, 2, 4, 3]
    assert np.diff(found.indptr).tolist() == [0, 3, 1, 0]


def test_blocks_meet_without_a_seam(monkeypatch):
    "Tiny blocks, so that every line straddles one: same rows, same line numbers."
    text = ''.join(f'{k},{k + 1},{k + 2}\n' for k in range(200))
    whole = data.read_triplets(as_file(text))
    for size in (1, 2, 7, 64):
        monkeypatch.setattr(readers, '_BLOCK', size)
        np.testing.assert_array_equal(data.read_triplets(as_file(text)), whole)
        with pytest.raises(ValueError, match="'x' at line 150, field 2 of toy.txt"): data.read_triplets(as_file(text.replace('\n149,150', '\n149,x')))


# ------------------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize('text, settings, words', [
    ('1 1:2\n1 2:x', {}, "'2:x' at line 2, field 2"),
    ('1 1:2 3:4:5', {}, "'3:4:5' at line 1, field 3"),
    ('1 1:2 3', {}, "'3' at line 1, field 3"),
    ('1,,2 1:2', {}, "'1,,2' at line 1, field 1"),
    ('1 1_0:2', {}, "'1_0:2' at line 1"),
    ('1 1:2_0', {}, "'1:2_0' at line 1"),
    ('1 0:2', {}, 'index 0 at line 1 of toy.txt: expected 1..0; pass first_index=0'),
    ('1 3000000000:2', {}, 'line 1, field 2'),
    ('1 5:2', dict(n_features=4), 'index 5 at line 1 of toy.txt: expected 1..4'),
    ('1 1:inf', {}, 'value inf at line 1'),
    ('1 1:1e39', {}, 'value inf at line 1 of toy.txt: expected a finite number within float32'),
    ('1 2:1 2:1', {}, 'index 2 stands twice at line 1'),
    ('1 3:1 2:1 3:4', {}, 'index 3 stands twice at line 1'),
    ('1.5 1:1', {}, "'1.5' at line 1, field 1"),
    ('2 3 4\n1 0:1\n2 1:1\n3 2:1', {}, 'line 4 of toy.txt is a row too many: the header promises 2'),
    ('3 3 4\n1 0:1\n2 1:1\n', {}, 'line 3 of toy.txt is the last, after 2 rows: the header promises 3'),
    ('1 3 4\n7 0:1\n', {}, 'label 7 at line 2 of toy.txt: expected 0..3'),
    ('1 3 4\n-1 0:1\n', {}, 'label -1 at line 2'),
    ('99999999999 3 4\n', {}, "'99999999999' at line 1"),
])
def test_sparse_text_refuses(text, settings, words):
    with pytest.raises(ValueError) as caught: data.read_sparse(as_file(text), **settings)
    assert words in str(caught.value) and '\n' not in str(caught.value)


ARFF = '@relation toy\n@attribute a numeric\n@attribute b {0,1}\n@attribute c {red,blue}\n@data\n'
@pytest.mark.parametrize('text, labels, words', [
    (ARFF + '{0 1,1 1', (), 'line 6 of toy.txt opens {'),
    (ARFF + '{0 1,9 1}', (), 'index 9 at line 6 of toy.txt: expected 0..2'),
    (ARFF + '{0 1,2 green}', (), "'2 green' at line 6, field 2"),
    (ARFF + '{0 1;1 1}', (), 'line 6, field 1'),
    (ARFF + '1,0', (), 'line 6 of toy.txt has 2 values, expected 3'),
    (ARFF + '1,0,?', (), 'line 6, field 3'),
    (ARFF + '?,0,red', (), "'?' at line 6, field 1"),
    (ARFF, ['z'], "label 'z' is no column of toy.txt"),
    ('@relation toy\n@attribute a string\n@data\n', (), 'line 2'),
    ('@relation toy\nattribute a numeric\n@data\n', (), 'line 2'),
    ('@relation toy\n@attribute a numeric\n', (), 'line 2 without @data'),
])
def test_arff_refuses(text, labels, words):
    with pytest.raises(ValueError) as caught: data.read_arff(as_file(text), labels)
    assert words in str(caught.value)


@pytest.mark.parametrize('read, raw, words', [
    (data.read_idx, b'\0\0\x08', 'byte 3 of its header'),
    (data.read_idx, b'\0\0\x07\x01\0\0\0\1\0', 'is it an IDX file'),
    (data.read_idx, b'\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff' + bytes(50), 'ends at byte 50'),
    (data.read_idx, b'\0\0\x08\x01\0\0\0\x01ab', 'goes on after byte 9'),
    (data.read_npy, b'\x93NUMPY\x01\0\x05\0hello', 'no usable .npy header'),
    (data.read_triplets, b'1,2,3\n4,5\n', 'line 2 of toy.txt has 2 fields'),
    (data.read_triplets, b'1,2,-3\n', "'-3' at line 1, field 3"),
    (data.read_triplets, b'# nothing\n', 'no line of numbers'),
    (data.read_triplets, b'1,2,' + b'9' * 5000 + b'\n', 'line 1, field 3'),
    (data.read_ratings, b'1::2::3::4\n1::2::1e999::4\n', "'1e999' at line 2, field 3"),
    (data.read_edges, b'1 2 3\n', 'line 1 of toy.txt has 3 fields, expected 2'),
    (data.read_table, b'a,b\n1,x\n2,y,z\n', 'line 3 of toy.txt has 3 fields'),
    (data.read_table, b'a,b\ninf,x\n', "'inf' at line 2"),
    (data.read_mat, b'MATLAB 7.3 MAT-file' + bytes(200), 'HDF5'),
    (data.read_mat, bytes(200), 'byte 126'),
])
def test_tables_refuse(read, raw, words):
    with pytest.raises(ValueError) as caught: read(as_file(raw))
    assert words in str(caught.value) and '\n' not in str(caught.value)


def test_npy_with_objects_is_not_run(tmp_path):
    "A pickle in a .npy file is refused before it is opened."
    class Trap:
        def __reduce__(self): return open, (str(tmp_path/'sprung'), 'w')
    np.save(tmp_path/'trap.npy', np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match='plain array'): data.read_npy(tmp_path/'trap.npy')
    assert not (tmp_path/'sprung').exists()


def test_a_missing_file_stays_a_missing_file(tmp_path):
    "Wrong data is a ValueError; a file that is not there is not wrong data."
    for read in (data.read_sparse, data.read_arff, data.read_triplets, data.read_idx):
        with pytest.raises(FileNotFoundError): read(tmp_path/'none.txt')


# ------------------------------------------------------------------------------------------ memory
def peak_of(act):
    "Highest water mark of `act`, bytes."
    tracemalloc.start()
    try:
        try: act()
        except ValueError: pass
        return tracemalloc.get_traced_memory()[1]
    finally: tracemalloc.stop()


def test_memory_follows_the_result(tmp_path):
    "Half a million entries: the peak stays under four times the arrays that come back."
    rng = np.random.default_rng(0)
    row = [b'%d ' % k + b' '.join(b'%d:%.3f' % pair for pair in zip(np.sort(rng.choice(1000, 50, replace=False)) + 1, rng.random(50))) for k in range(20)]
    (tmp_path/'big.txt').write_bytes(b'\n'.join(row * 500))
    found = data.read_sparse(tmp_path/'big.txt')
    size = found.features.data.nbytes + found.features.indices.nbytes + found.label_starts.nbytes
    assert found.features.nnz == 500_000 and peak_of(lambda: data.read_sparse(tmp_path/'big.txt')) < 4 * size
    (tmp_path/'pairs.csv').write_bytes(b''.join(b'%d,%d\n' % tuple(pair) for pair in rng.integers(10**6, size=(20_000, 2)).tolist()) * 10)
    assert peak_of(lambda: data.read_edges(tmp_path/'pairs.csv')) < 4 * 200_000 * 16 + 10 * 2**20     # and one block of text


@pytest.mark.parametrize('read, raw', [
    (data.read_sparse, b'2000000000 2000000000 2000000000\n1 0:1\n'),
    (data.read_idx, b'\0\0\x08\x03' + b'\xff' * 12 + bytes(100)),
    (data.read_npy, b'\x93NUMPY\x01\0v\0' + b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 3), }".ljust(117) + b'\n' + bytes(100)),
    (data.read_triplets, b'\x93NUMPY\x01\0v\0' + b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 3), }".ljust(117) + b'\n' + bytes(100)),
    (data.read_sparse, b'1 2000000000:1\n'),
])
def test_boasting_allocates_nothing(read, raw):
    "What a header claims is not what is asked of the memory."
    assert peak_of(lambda: read(as_file(raw))) < 8 * 2**20


def test_an_endless_line_is_refused(monkeypatch):
    "A file without line ends is no text file; it is not gathered whole."
    monkeypatch.setattr(readers, '_LONGEST', 1 << 22)
    packed = gzip.compress(bytes(1 << 26))
    assert peak_of(lambda: data.read_sparse(as_file(packed))) < 20 * 2**20
    with pytest.raises(ValueError, match='line 1 of toy.txt is longer'): data.read_sparse(as_file(b'1' * (1 << 23)))


# ------------------------------------------------------------------------------------------ malformed input
def seeds():
    "A small valid input for every reader."
    file = io.BytesIO(); np.save(file, np.arange(12).reshape(4, 3)); npy = file.getvalue()
    mats = []
    for packed in (False, True):
        file = io.BytesIO(); savemat(file, {'triplets': np.arange(12.).reshape(4, 3)}, do_compression=packed); mats.append(file.getvalue())
    text = b'3 6 4\n0,2 0:1 5:.5\n3 1:2 2:-1e-3\n 4:1\n'
    arff = ARFF.encode() + b'{0 2.5,1 1}\n{2 blue}\n% remark\n1,0,red\n'
    return [(data.read_sparse, text), (data.read_sparse, b'1 1:2 3:4 # remark\n-1,7 2:5\n'), (data.read_sparse, gzip.compress(text)),
            (data.read_arff, arff), (lambda file: data.read_arff(file, ['b']), arff), (data.read_arff, arff.replace(b'{red,blue}', b'{0,1}').replace(b'blue', b'1')),
            (data.read_label_names, b'<labels>\n<label name="a"></label>\n<label name="b&amp;c"></label>\n</labels>\n'),
            (data.read_triplets, b'0,1,2\n3,4,5\n6,7,8\n'), (data.read_triplets, npy), (data.read_triplets, mats[0]), (data.read_mat, mats[1]),
            (data.read_ratings, b'1::10::5::978300760\n2::11::3.5::978302109\n'), (data.read_edges, b'# remark\nid1,id2\n1,2\n3,4\n'),
            (data.read_table, b'a,b,kind\n1.5,2,x\n3,4,"y"\n'), (data.read_idx, b'\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\3' + bytes(range(12))),
            (data.read_idx, gzip.compress(b'\0\0\x0d\x01\0\0\0\2' + bytes(8)))]


TOKENS = [b'', b'\0', b'\n', b'\r\n', b' ', b',', b':', b'::', b'\t', b'{', b'}', b'-', b'_', b'.', b'e', b'nan', b'inf', b'1e999', b'999999999999999999999',
          b'-1', b'0x10', b'?', b"'", b'"', b'#', b'%', b'@data', b'@attribute ', b'2147483648',
          b'\xff\xfe', b'\xd9\xa3', b'<label name="', b'9' * 5000, b'\x1f\x8b', b'PK\3\4']


def broken(raw, rng):
    "One input with one to four wounds: flipped, cut, doubled, swapped, or with a foreign word in it."
    raw = bytearray(raw)
    for _ in range(rng.randint(1, 4)):
        at, to = sorted((rng.randint(0, len(raw)), rng.randint(0, len(raw))))
        wound = rng.randrange(7)
        if wound == 0 and raw: raw[min(at, len(raw) - 1)] ^= 1 << rng.randrange(8)
        elif wound == 1: del raw[at:]
        elif wound == 2: del raw[at:min(to, at + 8)]
        elif wound == 3: raw[at:at] = raw[at:to]
        elif wound == 4: raw[at:at] = rng.choice(TOKENS)
        elif wound == 5 and raw: raw[min(at, len(raw) - 1)] = rng.randrange(256)
        else: raw[at:to] = bytes(reversed(raw[at:to]))
    return bytes(raw)


def test_malformed_input_is_refused_with_a_place():
    "Seeded wounds (EXTREME_OPT_FUZZ says how many): a result, or one line with file and place; never more than a few MB."
    n, sources, refused = int(os.environ.get('EXTREME_OPT_FUZZ', 2000)), seeds(), 0
    rng, worst = random.Random(0), 0
    tracemalloc.start()
    for k in range(n):
        read, raw = sources[k % len(sources)]
        text = broken(raw, rng)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try: read(as_file(text))
        except ValueError as error:
            refused += 1
            assert PLACE.search(str(error)) and 'toy.txt' in str(error) and '\n' not in str(error), (text, str(error))
        except Exception as error: raise AssertionError(f'{type(error).__name__}: {error} for {text!r}') from error
        worst = max(worst, tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    assert refused > n / 3 and worst < 2**23, (refused, worst)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(range(16)))
def test_any_bytes_are_read_or_refused(raw, which):
    "Hypothesis's own bytes through every reader."
    try: seeds()[which][0](as_file(raw))
    except ValueError as error: assert PLACE.search(str(error)) and '\n' not in str(error), str(error)
