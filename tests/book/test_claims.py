"Claims of pages: what a cell has to look like, what the table may hold."

import claims
import notebooks
import pytest


def page(*cells):
    made = dict(cell_type='code', metadata={}, execution_count=None, outputs=[])
    return dict(
        cells=[dict(made, id=f'c{i}', source=text) for i, text in enumerate(cells)],
        nbformat=4,
        nbformat_minor=5,
        metadata={},
    )


def test_every_claim_of_a_page_can_be_run():
    assert all(names for _, names in claims.pages())


def test_the_table_holds_claims_that_stand_on_pages_and_hold():
    "A claim that fails on more than one seed of eight is reworded or taken out."
    there = {(claims.name_of(path), name) for path, names in claims.pages() for name in names}
    rows = claims.read()
    assert [row for row in rows if (row.page, row.name) not in there] == []
    assert [claims.line(row) for row in rows if row.held < claims.ENOUGH or row.of < 8] == []


@pytest.mark.parametrize(
    'cells, message',
    [
        (['# claim: lag\nx = 1'], 'has no function claim_lag'),
        (['# claim: a\ndef claim_a(seed): pass'] * 2, 'have one name'),
    ],
)
def test_a_claim_without_its_function_is_refused(cells, message):
    with pytest.raises(ValueError, match=message):
        claims.claims_of(page(*cells))


def test_seeds_are_counted_and_an_error_is_a_failure(tmp_path, monkeypatch):
    code = """# claim: even
def claim_even(seed):
    if seed == 3:
        raise ValueError("three")
    return dict(holds=seed % 2 == 0, seed=seed)"""
    path = notebooks.NBS / 'index.ipynb'
    written = {}
    monkeypatch.setattr(notebooks, 'read', lambda _: page(code))
    monkeypatch.setattr(notebooks, 'write', lambda notebook, path: written.update({path: notebook}))
    (row,) = claims.run(path, ['even'], seeds=[1, 2, 3, 4], refresh=True)
    assert [''.join(cell['source']) for cell in written[path]['cells']] == [code]
    assert (row.page, row.name, row.held, row.of) == ('index', 'even', 2, 4)
    assert row.numbers == 'seed 1 to 4, error: ValueError: three'


def test_each_comparison_has_a_proof_beyond_the_seed_of_its_page():
    assert claims.unproved() == []


@pytest.mark.parametrize(
    'sentence, counts',
    [
        ('It is faster.', True),
        ('It is 3.5 times as fast.', False),
        ('It wins, hardly $x$.', True),
        ('About twice.', True),
        ('Its loss is far below that of SGD.', True),
        ('No rule is best everywhere.', True),
        ('It ends lower than before.', True),
        # terms: an answer, a minimizer, a way to draw, a proof
        ('The answer "Paris is nearer to Calais than to Rome".', False),
        ('Object $i$ is nearer to $j$ than to $k$.', False),
        ('The first pair is the nearer one.', False),
        ('At the best $u$ it is the probability.', False),
        ('Each runs at its best rate.', False),
        ('The nearest centroid has seen the same rows.', False),
        ('How far are the two apart?', False),
        ('It converges almost surely.', False),
        ('If it lags $u$ nats behind its best value, the step is long.', False),
        ('It needs the row, because the sum stands inside a logarithm.', False),
        ('It needs 30 epochs, because the rate is small.', True),
        ('It needs 30 epochs, because $h$ is concave.', False),
    ],
)
def test_sentences_that_compare_are_told_from_terms(sentence, counts):
    assert claims.compares(sentence) == counts


def prose(text):
    return dict(cell_type='markdown', source=text, metadata={}, id='m')


def test_sentences_that_compare_are_listed_with_their_proof():
    text = (
        '# A title that is better\n\nIt is faster.\n\n$$a \\text{ is better}$$\n\n| better |\n\n'
        '1. About twice.\n2. It is two.\n\n## Exercises\n\n1. Which is best?'
    )
    found = claims.comparisons(dict(cells=[prose(text)]))
    assert [one.text for one in found] == ['It is faster.', 'About twice.']
    assert [one.proof for one in found] == ['', '']
    claim = '# claim: a\ndef claim_a(seed): return True'
    proofs = {claim: 'claim', 'assert 1': 'exact', '# check: b\nassert 1': 'exact', '1': ''}
    for cell, proof in proofs.items():
        notebook = page(cell)
        for cells in (
            [prose('It is faster.'), *notebook['cells']],
            [*notebook['cells'], prose('It is faster.')],
        ):
            assert [one.proof for one in claims.comparisons(dict(cells=cells))] == [proof], cell
    printed = page('print(1)')['cells'][0] | dict(outputs=[dict(text='0.3 ± 0.1')])
    for cells in ([printed, prose('It wins.')], [prose('It wins. Is it faster?'), printed]):
        assert [one.proof for one in claims.comparisons(dict(cells=cells))] == ['interval']
    for sentence, proof in [
        ('Fagan (2018) finds it faster.', 'source'),
        ('It is faster on [a page](../a.ipynb).', 'page'),
        ('It is faster.', ''),
    ]:
        (one,) = claims.comparisons(dict(cells=[prose(sentence)]))
        assert one.proof == proof, sentence


DRAWN = {
    'rng = np.random.default_rng(0)\nassert rng.normal() < 9': True,
    'x = stream(0, "a").normal()': True,  # an earlier cell
    'fit = SoftmaxClassifier().fit(X, y)\nassert fit.score(X, y) > 0': True,  # has a seed
    'def f():\n    return rng.normal()\n\n\nrng = g()\nprint(f())\nassert 1': True,
    'found = {}\nfor k in (1, 2):\n    found[k] = KMeans(k)\nassert found[1]': True,
    'values = []\nvalues.append(rng.normal())\nassert values': True,
    'x = rng.normal()\nx = 2\nassert x': False,  # bound again
    'for x in rows:\n    print(x)\nassert [x for x in rows]': False,
    'names = dict(SGD="sampled")\nassert "SGD" in names': False,
    'y = rng.normal()\nassert 1 + 1 == 2': False,  # no statement reads it
    # a module is not changed by a function that reads of it
    'import numpy as np\n\nf = lambda: np.abs(rng.normal())\nassert np.log(1) == 0': False,
}


@pytest.mark.parametrize('code', DRAWN)
def test_checks_without_a_draw_are_exact(code):
    cells = [*page(code)['cells'], prose('It is faster.')]
    if 'stream' in code:
        cells = [*page(code)['cells'], prose('Words.'), *page('assert x < 9')['cells'], cells[-1]]
    (one,) = claims.comparisons(dict(cells=cells))
    assert one.proof == ('check' if DRAWN[code] else 'exact')


def test_comparisons_on_the_seed_of_a_page_are_named(monkeypatch):
    check, claim = page(*DRAWN)['cells'][0], page('# claim: a')['cells'][0]
    for cell, found in ((check, 1), (page('1')['cells'][0], 1), (claim, 0)):
        pages = {'a': dict(cells=[prose('It is faster.'), cell])}
        monkeypatch.setattr(claims, 'read_all', lambda names, pages=pages: pages)
        assert len(claims.unproved()) == found
