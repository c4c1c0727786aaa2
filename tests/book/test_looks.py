"What the style sheet must not spoil: roots and numbers of formulas, and tables that fit a desk."

from built_site import browser, own_scripts, report, site  # noqa: F401 (fixtures)
from test_browser import DESK, PHONE, READ, address, pytestmark, visit  # noqa: F401 (fixtures)

# Formulas whose box cuts something off on the left, where no scrolling shows it.
CUT = """() => [...document.querySelectorAll('div.math')].filter(box => {
  const svg = box.querySelector('svg');
  const left = one => one.getBoundingClientRect().left;
  return svg && left(svg) < left(box) - 1 && box.scrollLeft === 0;
}).map(box => box.textContent.slice(0, 60))"""


def test_formulas_are_drawn_whole_on_a_desk_and_on_a_phone(visit):  # noqa: F811
    tab = visit('learn/ordinal/proof.html', DESK)
    tab.evaluate(READ)
    heights = tab.evaluate(
        "() => [...document.querySelectorAll('mjx-container svg')].map(e =>"
        " e.getBoundingClientRect().height)"
    )
    assert heights and min(heights) > 2
    assert tab.evaluate(CUT) == []
    tab.set_viewport_size(PHONE)
    tab.wait_for_timeout(200)
    assert tab.evaluate(CUT) == []


def test_the_verdicts_of_the_ledger_are_readable(visit):  # noqa: F811
    tab = visit('evidence/ledger/bound.html', DESK)
    widths = tab.evaluate(
        "() => [...document.querySelectorAll('.ledger td:nth-child(3)')].map(e =>"
        " e.getBoundingClientRect().width)"
    )
    assert widths and min(widths) > 140
