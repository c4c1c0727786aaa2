"""What hostile readings found, row by row: each of these once gave a wrong answer without a word, a
raw message, or no end. All of them, those of other files among them: pytest -k reliability"""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from refusals import no_warning, refuses
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from extreme_opt.bound import BoundClassifier, LinearChainCRF
from extreme_opt.ordinal import OrdinalEmbedding
from extreme_opt.similarity import SimilarityModel
from extreme_opt.softmax import SoftmaxClassifier

X, Y = load_iris(return_X_y=True)
IMPLICIT, TOWERS = SoftmaxClassifier('implicit', max_epochs=1), SimilarityModel(2)
PAIRS = np.column_stack([np.arange(1000) % 40, np.arange(1000) * 7 % 25])
THREES = PAIRS[:, 0] == 3
TRIPLETS = np.array([[i % 7, (i + 1 + i % 3) % 7, (i + 4 + i % 2) % 7] for i in range(60)])


def test_every_row_names_a_test_that_is_there():
    "The list says which test holds each row; `-k reliability` selects those (conftest.py)."
    root = Path(__file__).parents[3]
    with open(root / 'tests/reliability.csv', encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        name, _, function = row['test'].partition('::')
        assert f'def {function}(' in (root / name).read_text(encoding='utf-8'), row
    letters = {f'A{i}' for i in range(1, 6)} | {f'{k}{i}' for k in 'BC' for i in range(1, 10)}
    assert {row['row'] for row in rows} == letters | {'D', 'supply', 'held'}


@pytest.mark.parametrize('make', [SoftmaxClassifier, BoundClassifier])
@pytest.mark.parametrize('kind', [str, object, 'S1', list])
def test_weights_that_are_text_are_refused(make, kind):
    "C9: array(['1', ...]) was taken as numbers."
    weights = ['1'] * 150 if kind is list else np.array(['1'] * 150).astype(kind)
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is .*1', but a number is needed"):
        make().fit(X, Y, weights)


def masked(values, where):
    return np.ma.masked_array(values, where)


@pytest.mark.parametrize(
    'name, call',
    [
        ('X', lambda: SoftmaxClassifier().fit(masked(X, X > 6), Y)),
        ('X', lambda: BoundClassifier().fit(X, Y).predict(masked(X, X > 6))),
        ('y', lambda: SoftmaxClassifier().fit(X, masked(Y, Y == 1))),
        ('sample_weight', lambda: BoundClassifier().fit(X, Y, masked(np.ones(150), Y == 1))),
        ('triplets', lambda: OrdinalEmbedding(2).fit(masked(TRIPLETS, TRIPLETS == 3))),
        ('observed', lambda: SimilarityModel(2).fit(masked(PAIRS, PAIRS == 3))),
        ('pair_weights', lambda: TOWERS.fit(PAIRS, pair_weights=masked(np.ones(1000), THREES))),
        ('left_features', lambda: SimilarityModel(2).fit(PAIRS, masked(np.eye(40), np.eye(40)))),
    ],
)
def test_what_is_masked_is_no_data(name, call):
    "D: masks were passed over, and what stands under them was learned from."
    refuses(f'^{name} is masked at ', call)


def test_a_mask_that_hides_nothing_is_none():
    plain = BoundClassifier().fit(X, Y).predict(X)
    same = BoundClassifier().fit(masked(X, False), masked(Y, False)).predict(masked(X, False))
    np.testing.assert_array_equal(plain, same)


def test_labels_that_are_sets_are_refused_or_several_labels():
    "C9: 4 distinct frozensets became 111 classes."
    sets = np.array([frozenset('ab'), frozenset('c'), frozenset('a')] * 50, dtype=object)
    refuses(r'y\[0\] is a frozenset, but a row has one label', BoundClassifier().fit, X, sets)
    model = SoftmaxClassifier(max_epochs=1).fit(X, sets)
    assert model.multilabel_ and list(model.classes_) == ['a', 'b', 'c']


@pytest.mark.parametrize('size', [1e13, 1e14, 1e16, 1e30, 1e100, 1e200])
@pytest.mark.parametrize('make', [SoftmaxClassifier, BoundClassifier])
def test_probabilities_of_huge_scores_sum_to_one(make, size):
    "C3: rows summed to .998 at scores of 1e14, and to 4 at 1e16."
    model = make('lbfgs').fit(X[::5], Y[::5])
    model.coef_, model.intercept_ = model.coef_ * size, model.intercept_ + size
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(1), 1.0, rtol=1e-12)
    assert (found >= 0).all() and (found.argmax(1) == model.decision_function(X).argmax(1)).all()


@pytest.mark.parametrize(
    'words, call',
    [
        (r'X holds [\d.]+e[+]300 at row 0', lambda: SoftmaxClassifier().fit(1e300 * X, Y)),
        (r'X holds [\d.]+e[+]300 at row 0', lambda: SoftmaxClassifier('lbfgs').fit(1e300 * X, Y)),
        (r'X holds 5.1e[+]39 at row 0.* as float32', lambda: IMPLICIT.fit(1e39 * X, Y)),
        ('too large for float32, in row 0', lambda: TOWERS.fit(PAIRS, np.full((40, 3), 1e300))),
        ('of a pair is 5e[+]300', lambda: TOWERS.fit(PAIRS, pair_weights=np.full(1000, 1e300))),
        ('its sum overflows', lambda: SoftmaxClassifier().fit(X, Y, np.full(150, 1e308))),
    ],
)
def test_numbers_too_large_are_named_without_raw_warnings(words, call):
    "C8 and its kind: numpy's own warnings stood above models of zeros."
    with no_warning():
        with pytest.raises(ValueError, match=words) as caught:
            call()
    assert '\n' not in str(caught.value)


def test_numbers_of_many_digits_in_a_table_are_named():
    with pytest.raises(ValueError, match=r'X holds int\(\.\.\.\) at row 0, column 0'):
        BoundClassifier().fit(X, Y).predict([[10**5000, 1, 2, 3]])


@pytest.mark.parametrize('name', ['a\nb.npz', '\n', 'no\nfolder/b.npz', 'a\0b.npz'])
def test_names_of_files_stand_in_one_line(name, tmp_path, monkeypatch):
    "A line end in a name broke the message; a NUL was 'embedded null byte'."
    monkeypatch.chdir(tmp_path)
    model, said = BoundClassifier('lbfgs', max_iter=3).fit(X, Y), []
    for call in (
        lambda: BoundClassifier.load(name),
        lambda: model.save(name),
        lambda: SoftmaxClassifier.load(name),
        lambda: BoundClassifier('lbfgs', checkpoint=name, max_iter=3).fit(X, Y),
    ):
        try:
            call()
        except (ValueError, TypeError, OSError) as error:
            said.append(str(error))
    assert len(said) >= 3 and all('\n' not in one and 'embedded' not in one for one in said)


@pytest.mark.parametrize(
    'make',
    [
        *(
            lambda solver=solver: SoftmaxClassifier(solver, max_iter=0).fit(X, Y)
            for solver in ('auto', 'exact', 'implicit', 'umax', 'sgd', 'ove', 'nce', 'rotation')
        ),
        lambda: SoftmaxClassifier(loss='squared_hinge', max_iter=0).fit(X, Y),
        lambda: SoftmaxClassifier(weights='support', max_iter=0).fit(scipy.sparse.csr_array(X), Y),
        lambda: SoftmaxClassifier('implicit', early_stopping=True, max_epochs=1e-9).fit(X, Y),
        lambda: BoundClassifier(max_iter=0, tol=None).fit(X, Y),
        lambda: LinearChainCRF(max_iter=0, tol=None).fit([[['a'], ['b']]], [['x', 'y']]),
        lambda: SimilarityModel(2, max_iter=0, tol=None).fit(PAIRS),
        lambda: OrdinalEmbedding(2, init='random', max_iter=0, tol=None).fit(TRIPLETS),
        lambda: SoftmaxClassifier('lbfgs', max_epochs=3).fit(X, Y),
        lambda: BoundClassifier(max_iter=1).fit(X, Y),
        lambda: BoundClassifier('lbfgs', max_iter=1).fit(X, Y),
        lambda: LinearChainCRF(max_iter=1).fit([[['a'], ['b']], [['a']]], [['x', 'y'], ['x']]),
        lambda: SimilarityModel(2, solver='lbfgs', max_iter=1).fit(PAIRS),
        lambda: OrdinalEmbedding(2, solver='lbfgs', max_iter=1).fit(TRIPLETS),
    ],
)
def test_exact_solvers_that_end_by_a_limit_warn(make):
    "A5: a fit at chance ended without a word; nor one without a step."
    with pytest.warns(ConvergenceWarning, match='did not converge: reached max_'):
        make()


# -------------------------------------------------------------------------------------------- files


def rewritten_model(path, change):
    "Write a model file again after `change(settings, learned, arrays)`, with a digest that fits."
    import json

    from extreme_opt.core.serialize import write_atomically

    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name not in ('meta', 'digest')}
        meta = json.loads(file['meta'].tobytes().decode())
    change(meta['model'][2], meta['model'][3], arrays)
    write_atomically(path, meta, arrays)


def test_a_file_takes_no_more_memory_than_its_size(tmp_path):
    "B6: a deflated member that nobody names made 1.7 GB of 1.5 MB."
    import zipfile

    from extreme_opt.core.serialize import load_model, read_arrays, save_model
    from extreme_opt.data.store import load_arrays
    from extreme_opt.scale.files import read_npz

    path = tmp_path / 'model.npz'
    save_model(path, SoftmaxClassifier())
    with zipfile.ZipFile(path, 'a', zipfile.ZIP_DEFLATED) as file:
        file.writestr('big.npy', bytes(1 << 24))
    assert path.stat().st_size < 1 << 16
    refuses('is compressed; write it with np.savez', read_arrays, path)
    refuses('is cut short or no model of ours', load_model, path)
    lie = io.BytesIO()  # 8 GB, says the header of an array
    said = dict(descr='<f8', fortran_order=False, shape=(10**9,))
    np.lib.format.write_array_header_1_0(lie, said)
    with zipfile.ZipFile(tmp_path / 'lie.npz', 'w') as file:
        file.writestr('a.npy', lie.getvalue() + bytes(8))
    for read in (load_model, load_arrays, read_npz):
        refuses('lie.npz', read, tmp_path / 'lie.npz')
    np.savez(tmp_path / 'twice.npz', a=np.ones(1 << 12))
    content = bytearray((tmp_path / 'twice.npz').read_bytes())
    at = content.index(b'PK\1\2')  # two names for the bytes of one array
    entry, end = content[at : content.index(b'PK\5\6')], content[content.index(b'PK\5\6') :]
    other = entry.replace(b'a.npy', b'b.npy')
    end[8:12] = (2).to_bytes(2, 'little') * 2
    end[12:16] = (2 * len(entry)).to_bytes(4, 'little')
    (tmp_path / 'twice.npz').write_bytes(content[:at] + entry + other + end)
    refuses('arrays claim|verlap', read_arrays, tmp_path / 'twice.npz')


def test_a_checkpoint_does_not_travel(tmp_path):
    "B8: a refit after load wrote to the path that a stranger's file named."
    there, path = tmp_path / 'run.npz', tmp_path / 'model.npz'
    model = SoftmaxClassifier('lbfgs', checkpoint=there).fit(X, Y)
    model.save(path)
    there.unlink()
    assert SoftmaxClassifier.load(path).checkpoint is None and model.checkpoint == there
    rewritten_model(path, lambda s, learned, a: s.update(checkpoint={'path': str(there)}))
    back = SoftmaxClassifier.load(path).fit(X, Y)
    assert back.checkpoint is None and not there.exists()
    for key in ('checkpoint', 'max_epochs', 'predict', '__class__'):  # nor by what it learned
        SoftmaxClassifier(max_epochs=1).fit(X, Y).save(path)
        rewritten_model(path, lambda s, learned, a: learned.update({key: {'path': str(there)}}))
        refuses(f'it has learned {key!r}, which a Softmax', SoftmaxClassifier.load, path)
        assert not there.exists()


def test_a_number_in_a_model_file_is_not_a_power_of_ten_to_compute(tmp_path):
    "Fraction('1e99999999') is a whole number of 100 million digits: it did not end."
    from fractions import Fraction

    path, model = tmp_path / 'model.npz', SoftmaxClassifier(max_epochs=1).fit(X, Y)
    model.kept = [Fraction(-2, 3), Fraction(5)]
    model.save(path)
    assert SoftmaxClassifier.load(path).kept == model.kept
    rewritten_model(path, lambda s, learned, a: learned.update(z={'text': ['Fraction', '1e9999']}))
    refuses('cannot be read', SoftmaxClassifier.load, path)


def test_model_files_that_are_no_files(tmp_path):
    "D: to load a FIFO waited for ever."
    import os

    from extreme_opt.core import Run
    from extreme_opt.core.serialize import load_model
    from extreme_opt.data.delimited import iter_lines, read_table
    from extreme_opt.data.fetching import unpack
    from extreme_opt.data.store import load_arrays
    from extreme_opt.scale.files import read_maps, read_npz

    if not hasattr(os, 'mkfifo'):
        pytest.skip('no FIFO here')
    os.mkfifo(tmp_path / 'pipe.npz')
    os.mkfifo(tmp_path / 'pipe.npy')

    def read_lines(path):
        return list(iter_lines(path))

    def unpacked(path):
        return unpack(path, tmp_path / 'out')

    refuses('pipe.npy is a FIFO', read_maps, tmp_path)
    for path in (tmp_path / 'pipe.npz', '/dev/zero'):
        for read in (load_model, Run.load, load_arrays, read_npz, read_lines, read_table, unpacked):
            refuses('is a FIFO, a socket or a device', read, path)


def test_models_in_open_files(tmp_path):
    model, file = BoundClassifier().fit(X, Y), io.BytesIO()
    model.save(file)
    file.seek(0)
    np.testing.assert_array_equal(BoundClassifier.load(file).coef_, model.coef_)
    with open(tmp_path / 'model.npz', 'wb') as opened:
        model.save(opened)
    with open(tmp_path / 'model.npz', 'rb') as opened:
        np.testing.assert_array_equal(BoundClassifier.load(opened).coef_, model.coef_)
