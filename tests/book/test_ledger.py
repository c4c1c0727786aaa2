"""The equation ledger: rows and cells fit, and a check notices an error that is put into its
formula."""

import random
import re
import textwrap

import ledger
import mutants
import pytest

# Every fortieth row here; `make slow` runs all of them: python docs/ledger.py all
SEED, SHARE = 1, 40


def test_rows_and_cells_fit():
    "Every row has its cell, every cell its row; cells assert, named functions exist."
    assert ledger.faults() == []


@pytest.mark.parametrize('chapter', ledger.CHAPTERS)
def test_every_number_of_a_paper_has_one_row(chapter):
    "From 1 to the last of its kind, and none beyond it."
    told = [row.id for row in ledger.rows([chapter]) if row.verdict != 'ours']
    assert sorted(told) == sorted(ledger.numbered(chapter))


def test_each_verdict_but_as_printed_says_why_or_names_its_erratum():
    slips = {(slip.chapter, slip.id) for slip in ledger.errata()}
    for row in ledger.rows():
        if row.verdict == 'corrected':
            assert row.erratum, f'{row.id} is corrected: name the erratum'
        for name in filter(None, row.erratum.split(', ')):
            assert (row.chapter, name) in slips, (
                f'{row.id} names the erratum {name}, which stands nowhere'
            )


def test_each_erratum_has_a_page_and_each_that_changes_something_its_numbers():
    where = ledger.cells()
    for slip in ledger.errata():
        assert slip.check in where or not slip.check and ledger.told_on(slip), (
            f'{slip.chapter} {slip.id}: no page tells it'
        )
        assert slip.numbers or slip.weight == 1, (
            f'{slip.chapter} {slip.id} changes a formula or a result: give the smallest numbers'
            ' that show it'
        )


def test_kept_scores_add_up_and_older_ones_are_listed(record_property):
    """docs/ledger/scores.json, written by `python docs/ledger.py all`: each mutant is noticed,
    loosens a bound or is missed; rows that changed since are named."""
    kept, said = ledger.stored(), ledger.scores()
    for row, one in kept.items():
        assert one['tried'] == one['noticed'] + one['loosened'] + one['missed'], row
    for chapter in ledger.CHAPTERS:
        one = ledger.tally(chapter)
        assert one.tried == one.noticed + one.loosened + one.missed and one.noticed > 0
        assert f'| {chapter} | {one.rows} |' in said and all(row in said for row in one.older)
        if one.older:
            record_property(
                'note',
                f'ledger of {chapter}: {len(one.older)} rows have no score for their present cell; '
                f'run: python docs/ledger.py all {chapter} --changed',
            )
    assert re.search(r'\d+ claims measured again', said)


def test_a_missed_mutant_is_counted(monkeypatch):
    "What no check noticed stands in a column of its own."
    row = ledger.rows(['bound'])[0]
    of = ledger.digest(row, ledger.sources_of([row])[row.id])
    monkeypatch.setattr(
        ledger, 'stored', lambda: {row.id: dict(tried=6, noticed=3, loosened=2, missed=1, of=of)}
    )
    one = ledger.tally('bound')
    assert one[:5] == (1, 6, 3, 2, 1) and row.id not in one.older
    line = r'^\| bound \| 1 \| 6 \| 3 \(50%\) \| 2 \| 1 \| \d+ \|$'
    assert re.search(line, ledger.scores(), re.M)


def test_a_row_counts_as_changed_when_its_cell_is_another():
    row = ledger.rows(['bound'])[0]
    other = row._replace(verdict='refuted')
    found = [(row, 'assert x'), (row, 'assert y'), (other, 'assert x'), (row, 'assert x')]
    first, *others, again = [ledger.digest(*one) for one in found]
    assert first == again and first not in others


def test_some_rows_notice_their_mutants():
    table = [row for row in ledger.rows() if row.verdict not in ('not checkable', 'ours')]
    chosen = random.Random(SEED).sample(table, -(-len(table) // SHARE))
    scores = ledger.examine(chosen, SEED, 1)
    assert len(scores) == len(chosen)
    assert [ledger._line(score, '') for score in scores if score.survivors or score.fault] == []


SOURCE = textwrap.dedent('''
    # check: softmax-4
    a = 3.
    rng = np.random.default_rng(0)
    noise = rng.normal(size=2 + 1)
    idle = a + 1
    value = 1 - u - a * np.exp(-u)
    table = np.arange(2 + 3)
    table[0] = u * 4
    assert abs(value + np.log(a)) < 1e-9 * table.sum()
''')


def test_mutants_change_formulas_and_nothing_else():
    """Signs, factors and functions change; sizes, tolerances, draws and what no assertion reads
    stay."""
    found = [mutant.what for mutant in mutants.mechanical(SOURCE)]
    wanted = ['a * np.exp(-u) -> a', '-u -> u', 'u * 4 -> u']
    wanted += ['value + np.log(a) -> value - np.log(a)']
    assert {*wanted, '1 - u - a * np.exp(-u) -> 1 - u + a * np.exp(-u)'} <= set(found)
    quiet = 'size', '1e-09', 'a + 1', '2 + 1', '2 + 3'
    assert not any(word in text for text in found for word in quiet)
    for mutant in mutants.mechanical(SOURCE):
        assert mutant.source != SOURCE and compile(mutant.source, 'm', 'exec')


def test_mutants_by_hand():
    assert 'a / np.exp' in mutants.by_hand(SOURCE, 'a * np.exp => a / np.exp').source
    with pytest.raises(ValueError, match='2 times|stands'):
        mutants.by_hand(SOURCE, 'a => b')
    with pytest.raises(ValueError, match='old => new'):
        mutants.by_hand(SOURCE, 'a')


@pytest.mark.parametrize(
    'old', ('f(a, 0.)', 'f( a,0.0 ) <= b: g("x")', "f(a, 0.) <= b:\n    g('x')")
)
def test_mutants_by_hand_do_not_depend_on_layout(old):
    laid_out = "if f(\n    a,  # first\n    0.0,\n) <= b:\n    g('x')\n"
    changed = mutants.by_hand(laid_out, f'{old} => h()').source
    assert 'h()' in changed and 'f(' not in changed
    with pytest.raises(ValueError, match='0 times'):
        mutants.by_hand(laid_out, f'{old.replace("a", "a + 1")} => h()')


ROW = ledger.Row('softmax-1', '', 'as printed', 'softmax-1')


def score(tmp_path, monkeypatch, check, row=ROW):
    "What a check says of the mutants of a page `x = 3.`"
    cell = dict(cell_type='code', metadata={}, outputs=[], execution_count=None)
    check = f'# check: softmax-1\n{check}'
    cells = [dict(cell, id='a', source='x = 3.'), dict(cell, id='b', source=check)]
    page = dict(cells=cells, metadata={}, nbformat=4, nbformat_minor=5)
    ledger.notebooks.write(page, tmp_path / 'nbs/10_x.ipynb')
    monkeypatch.setattr(ledger.notebooks, 'NBS', tmp_path / 'nbs')
    book = ledger.Book(ledger.Path('10_x.ipynb'), tmp_path)
    book.up_to(1)
    return ledger._score(row, book, 1, random.Random(0), None)


@pytest.mark.parametrize('check, noticed', [('assert x * x == 9', 1), ('assert x * x > 0', 0)])
def test_a_check_that_cannot_fail_is_found(tmp_path, monkeypatch, check, noticed):
    "A sharp check notices the lost factor, a blunt one is named."
    sharp = score(tmp_path, monkeypatch, check)
    assert (sharp.tried, sharp.noticed) == (1, noticed)
    assert sharp.survivors == ['x * x -> x'] * (1 - noticed)
    loose = score(tmp_path, monkeypatch, check, ROW._replace(equivalent={'*': 'one-sided'}))
    assert (loose.tried, loose.noticed, loose.loosened) == (1, noticed, 1 - noticed)


def test_a_check_that_fails_by_itself_is_a_fault(tmp_path, monkeypatch):
    assert 'fails' in score(tmp_path, monkeypatch, 'x += 1\nassert x == 5').fault
