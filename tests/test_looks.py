"What the style sheet must not spoil: roots, braces and numbers of formulas."
from built_site import own_scripts, report, site  # noqa: F401 (fixtures)
from test_browser import DESK, address, browser, pytestmark, visit  # noqa: F401 (fixtures)

DRAWN = '''() => [...document.querySelectorAll('main .katex-html svg')].map(e => e.getBoundingClientRect().height)'''
TAGS = 'main .katex-display :is(.tag, .katex-tag)'         # the name depends on the version of KaTeX
OVERLAPS = '''tags => [...document.querySelectorAll(tags)].filter(tag => [...tag.parentNode.children].some(e =>
  e !== tag && e.getBoundingClientRect().right > tag.lastElementChild.getBoundingClientRect().left + 1)).map(tag => tag.textContent)'''


def test_roots_are_drawn_and_numbers_stand_beside_their_formulas(visit):  # noqa: F811
    tab = visit('ordinal/theory.html', DESK)
    tab.wait_for_selector(TAGS, state='attached')
    heights = tab.evaluate(DRAWN)
    assert heights and min(heights) > 2      # height: auto on every svg once made all of them nought
    assert tab.evaluate(OVERLAPS, TAGS) == []
