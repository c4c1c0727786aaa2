"The ledger in headless Chromium: from a number to its check and back, and the box that finds rows."

import random

import ledger
import pytest
from built_site import browser, own_scripts, report, site  # noqa: F401 (fixtures)
from test_browser import address, book, one_tab, pytestmark  # noqa: F401 (fixtures)

TABLE = [row for row in ledger.rows() if row.verdict not in ('not checkable', 'ours')]
TEN = random.Random(1).sample(TABLE, 10)


@pytest.mark.parametrize('row', TEN, ids=[row.id for row in TEN])
def test_any_number_to_its_check_in_two_clicks(one_tab, row):  # noqa: F811
    """From the front page: the evidence, the ledger, then the number; the cell that opens carries
    the label. Its post leads back to the row."""
    tab, wrong = one_tab('index.html')
    tab.locator('header').get_by_role('link', name='Evidence').first.click()
    tab.locator('article').get_by_role('link', name='The ledger', exact=True).click()
    chapter = row.id.split('-')[0]
    numbers = tab.locator(f'#{chapter}-numbers')
    numbers.get_by_role('link', name=ledger.number(row.id), exact=True).click()
    tab.wait_for_url(f'**#check-{row.check}')
    anchor = tab.locator(f'[id="check-{row.check}"]')
    assert anchor.count() == 1
    post = tab.locator('.checkpost', has=anchor)
    cell = post.locator('xpath=following::pre[1]').text_content()
    labels = book.checks_of(cell)
    assert row.check in labels, f'{row.id} leads to a cell that checks {labels}'
    post.get_by_role('link', name=row.check, exact=True).click()
    tab.wait_for_url(f'**/ledger/{chapter}.html#*')
    target = tab.url.partition('#')[2]
    assert row.check in {target, *(other.check for other in TABLE if other.id == target)}
    assert tab.locator(f'[id="{target}"]').count() == 1
    assert wrong == []


@pytest.mark.parametrize('chapter', sorted({row.chapter for row in TABLE}))
def test_the_box_finds_rows(one_tab, chapter):  # noqa: F811
    "Typing hides the rows that lack a word; clearing shows them again."
    tab, wrong = one_tab(f'evidence/ledger/{chapter}.html')
    rows = tab.locator('.ledger tbody tr')
    wanted = next(row for row in TABLE if row.chapter == chapter)
    total = rows.count()
    assert total >= len([row for row in TABLE if row.chapter == chapter])
    tab.get_by_label('Find a row').fill(wanted.id + ' ' + wanted.verdict.split()[0])
    seen = tab.locator('.ledger tbody tr:visible')
    assert 1 <= seen.count() < total / 2 and wanted.verdict in seen.first.text_content()
    tab.get_by_label('Find a row').fill('')
    assert tab.locator('.ledger tbody tr:visible').count() == total and wrong == []


def test_errata_come_by_consequence(one_tab):  # noqa: F811
    "The gravest first, each erratum once, and a check wherever one is known."
    tab, _ = one_tab('evidence/ledger/errata.html')
    slips, titles = ledger.errata(), ledger.WEIGHTS.items()
    said = [title.strip().rstrip('#') for title in tab.locator('main h2').all_text_contents()]
    wanted = [title for weight, title in titles if weight in {slip.weight for slip in slips}]
    assert [title for title in said if title in wanted] == wanted
    order = tab.evaluate('[...document.querySelectorAll("main p [id]")].map(e => e.id)')
    weights = {f'{slip.chapter}-{slip.id}': slip.weight for slip in slips}
    told = [weights[name] for name in order if name in weights]
    assert len(told) == len(weights) == len(slips) and told == sorted(told, reverse=True)
    assert tab.locator('main a[href*="#check-"]').count() >= sum(bool(slip.check) for slip in slips)
