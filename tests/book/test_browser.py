"The built site in headless Chromium: on a desk and on a phone, by day and by night."

import json
import re

import explorations
import pytest
from built_site import (  # noqa: F401 (fixtures)
    CHROMIUM,
    browser,
    own_scripts,
    report,
    script,
    served,
    site,
)

pytestmark = [
    pytest.mark.skipif(
        not CHROMIUM, reason='Chromium is missing; on Debian and Ubuntu: apt-get install chromium'
    ),
    pytest.mark.usefixtures('own_scripts'),
]
book, gates = script('book'), script('gates')
PAGES = [book.page_name(path).with_suffix('.html').as_posix() for path in book.notebooks()]
SLIDERS: dict[str, list] = {}  # of the pages that have some
for _one in explorations.find():
    if _one.kind == 'page and lab':
        _page = book.page_name(_one.page).with_suffix('.html').as_posix()
        SLIDERS.setdefault(_page, []).append(_one)
DESK, PHONE = dict(width=1280, height=900), dict(width=390, height=844)
PATIENCE = 180_000  # milliseconds, for a machine that does much else


def listen(tab, address, wrong):
    "Note what goes wrong in a tab, and every other host that it asks."
    quiet = (address, 'data:', 'blob:')

    def failed(request):  # a click to the next page ends requests, which is no fault
        if 'ERR_ABORTED' not in (request.failure or ''):
            wrong.append(f'failed: {request.url}')

    def asked(request):
        if not request.url.startswith(quiet):
            wrong.append(f'asks {request.url}')

    def answered(response):
        if response.status >= 400 and 'favicon' not in response.url:
            wrong.append(f'{response.status} {response.url}')

    tab.on('pageerror', lambda error: wrong.append(str(error)))
    tab.on('requestfailed', failed)
    tab.on('request', asked)
    tab.on('response', answered)


@pytest.fixture(scope='module')
def address(site):
    with served(site) as address:
        yield address


@pytest.fixture
def visit(browser, address):
    """visit(page, size, scheme) opens a page; at the end of the test nothing may have gone wrong
    and no other host been asked."""
    open_, wrong = [], []

    def go(page, size=DESK, scheme='light'):
        context = browser.new_context(viewport=size, color_scheme=scheme)
        context.set_default_timeout(PATIENCE)
        open_.append(context)
        tab = context.new_page()
        listen(tab, address, wrong)
        tab.goto(f'{address}/{page}', wait_until='load')
        return tab

    yield go
    for context in open_:
        context.close()
    assert not wrong, '\n'.join(wrong)


# What sticks out of a narrow screen and stands in no box that scrolls.
STICKS_OUT = """() => [...document.querySelectorAll('article *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (!box.width || !box.height || (box.right <= innerWidth + 1 && box.left >= -1)) return false;
  for (let p = e.parentElement; p && p.tagName !== 'ARTICLE'; p = p.parentElement) {
    const style = getComputedStyle(p);
    if (/auto|scroll|hidden/.test(style.overflowX) || style.clipPath !== 'none') return false;
  }
  return !e.closest('mjx-assistive-mml') && getComputedStyle(e).position !== 'fixed';
}).map(e => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40))"""

# What a reader sees of a slider: its pictures on show, each with where it ends on the right.
SEEN = """box => [...box.querySelectorAll('img')].filter(i => i.offsetParent)
  .map(i => [i.alt, i.getBoundingClientRect().right])"""

READ = "() => window.MathJax?.startup?.promise?.then(() => true) ?? true"


@pytest.fixture(scope='module')
def one_tab(browser, address):
    """one_tab(page, size, scheme) opens a page in a tab that all pages share; says what went wrong
    with it."""
    context, wrong = browser.new_context(viewport=DESK), []
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    listen(tab, address, wrong)

    def go(page, size=DESK, scheme='light'):
        tab.goto('about:blank')
        wrong.clear()
        tab.set_viewport_size(size)
        tab.emulate_media(color_scheme=scheme)
        tab.goto(f'{address}/{page}', wait_until='load')
        return tab, wrong

    def swap(page, like):
        "The text of a page in the frame of another, which is loaded where it is not yet."
        if tab.url != f'{address}/{like}' or tab.viewport_size != PHONE:
            go(like, PHONE)
        wrong.clear()
        tab.evaluate(SWAP, f'{address}/{page}')
        return tab, wrong

    go.swap = swap
    yield go
    context.close()


# Head, menus and scripts are the same on all pages, and take most of the time of a visit.
SWAP = """async address => {
  const text = await (await fetch(address)).text();
  const made = new DOMParser().parseFromString(text, 'text/html').querySelector('article');
  const base = document.querySelector('base') ?? document.createElement('base');
  base.href = address;
  document.head.append(base);
  document.querySelector('article').replaceWith(document.adoptNode(made));
  for (const image of document.images) image.loading = 'eager';
  await Promise.all([...document.images].map(image => image.decode().catch(() => 0)));
}"""


def move_sliders(tab, box, exploration):
    "Each knob of a figure, from its first position to its last."
    assert box.locator('input').count() == len(exploration.knobs)
    assert len(box.get_attribute('aria-label')) >= 20
    for knob in box.locator('input').all():
        knob.focus()
        tab.keyboard.press('Home')
        seen, said = [box.evaluate(SEEN)], [knob.get_attribute('aria-valuetext')]
        for _ in range(int(knob.get_attribute('max'))):
            tab.keyboard.press('ArrowRight')
            seen.append(box.evaluate(SEEN))
            said.append(knob.get_attribute('aria-valuetext'))
        assert [len(pictures) for pictures in seen] == [1] * len(seen)
        assert len({pictures[0][0] for pictures in seen}) == len(seen) == len(set(said))
        assert max(right for pictures in seen for _, right in pictures) <= PHONE['width'] + 1


ALL_PAGES = [*PAGES, 'reference/index.html', 'reference/core.html', 'evidence/index.html']


@pytest.mark.parametrize('page', ALL_PAGES)
def test_page_is_whole_on_a_phone(one_tab, page):
    """Formulas and figures are there, nothing sticks out, and every slider is reached and moved by
    keys alone and shows another figure at each of its positions; the sliders at night. Pages
    without sliders, but for the first of each shelf, are looked at in the frame of that."""
    first = next(one for one in ALL_PAGES if one.split('/')[0] == page.split('/')[0])
    plain = page != first and page not in SLIDERS and page.split('/')[0] != 'reference'
    tab, wrong = one_tab.swap(page, first) if plain else one_tab(page, PHONE)
    tab.evaluate(READ)
    assert tab.locator('mjx-merror, [data-mjx-error]').count() == 0
    assert tab.locator('.math').count() == tab.locator('.math > mjx-container').count()
    broken = tab.evaluate(
        '[...document.images].filter(i => i.checkVisibility() && !(i.complete &&'
        ' i.naturalWidth)).map(i => i.src.slice(0, 80))'
    )
    assert broken == []
    assert tab.evaluate('document.documentElement.scrollWidth') <= PHONE['width']
    assert tab.evaluate(STICKS_OUT) == []
    wide = tab.evaluate(  # but for those in a box that scrolls
        """[...document.querySelectorAll("article img")].filter(image => {
          if (image.getBoundingClientRect().right <= innerWidth) return false;
          for (let box = image.parentElement; box.localName != 'article'; box = box.parentElement)
            if (/auto|scroll/.test(getComputedStyle(box).overflowX)
                && box.getBoundingClientRect().right <= innerWidth) return false;
          return true;
        }).length"""
    )
    assert wide == 0, 'a figure is wider than the phone'
    here = SLIDERS.get(page, [])
    boxes = tab.locator('.xo-frames')
    if here:
        boxes.locator('input').first.wait_for()
        tab.emulate_media(color_scheme='dark')
    assert boxes.count() == len(here)
    for box, one in zip(boxes.all(), here):
        move_sliders(tab, box, one)
    assert wrong == []


@pytest.mark.parametrize('page', ['index.html', 'learn/softmax/umax.html', 'reference/core.html'])
def test_page_is_whole_on_a_desk(one_tab, page):
    tab, wrong = one_tab(page, DESK)
    tab.evaluate(READ)
    assert tab.evaluate('document.documentElement.scrollWidth') <= DESK['width']
    assert tab.evaluate(STICKS_OUT) == [] and wrong == []


# Every visible text with its contrast to what is painted behind it (WCAG formula); the worst first.
CONTRASTS = """() => {
  const HIDDEN =
    'script, style, mjx-container, svg, .onlyprint, #jb-print-docs-body, #pst-skip-link';
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = {}, rgba = css => known[css] ??= paint(css);
  const paint = css => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => {
    const a = top[3] / 255;
    return [0, 1, 2].map(i => top[i] * a + below[i] * (1 - a)).concat(255);
  };
  const light = c => {
    const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const [r, g, b] = c.map(v => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = e => {
    const stack = [];
    for (let p = e; p; p = p.parentElement) stack.push(rgba(getComputedStyle(p).backgroundColor));
    return stack.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 255]);
  };
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    const seen = e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
    if (!text || e.closest(HIDDEN) || !seen) continue;
    const back = behind(e), front = over(rgba(getComputedStyle(e).color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const contrast = Math.round((a + .05) / (b + .05) * 100) / 100;
    found.push([contrast, e.tagName + '.' + e.className, text.slice(0, 30)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""


@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize(
    'page',
    ['index.html', 'engine/core/run.html', 'learn/softmax/double_sum.html', 'reference/core.html'],
)
def test_text_is_readable_by_day_and_by_night(one_tab, page, scheme):
    tab, wrong = one_tab(page, DESK, scheme)
    tab.wait_for_function('document.documentElement.dataset.theme === ' + json.dumps(scheme))
    color = tab.evaluate('getComputedStyle(document.body).backgroundColor')
    assert (sum(map(int, re.findall(r'\d+', color)[:3])) < 200) == (scheme == 'dark')
    tab.wait_for_timeout(500)  # colors fade from day to night
    contrasts = tab.evaluate(CONTRASTS)
    assert len(contrasts) > 50
    assert contrasts[0][0] >= 4.5 and wrong == [], contrasts[:5]


def test_the_switch_turns_day_into_night_and_stays(visit, address):
    tab = visit('index.html')
    night = 'document.documentElement.dataset.theme === "dark"'
    assert not tab.evaluate(night)
    tab.locator('.theme-switch-button:visible, .pst-theme-switch:visible').first.click()
    dark = tab.locator(
        '[data-mode=dark]:visible, [data-theme-mode=dark]:visible, .theme-switch-container'
        ' [value=dark]'
    )
    if dark.count():
        dark.first.click()
    for _ in range(3):
        if tab.evaluate(night):
            break
        tab.locator('.theme-switch-button:visible').first.click()
    tab.wait_for_function(night)
    tab.goto(f'{address}/{PAGES[1]}')
    tab.wait_for_function(night)


def search(tab, word, address):
    "Open the page that lists what the search finds."
    tab.goto(f'{address}/search.html?q={word}')
    tab.locator('#search-results li').first.wait_for()


def test_search_leads_to_the_name(visit, address):
    tab = visit(PAGES[1])
    search(tab, 'minimize', address)
    tab.wait_for_load_state('networkidle')  # the list fetches the pages it quotes
    tab.locator('#search-results a[href*="reference/core.html"]', has_text='minimize').first.click()
    tab.wait_for_url('**/reference/core.html*')


def test_search_works_on_pages_opened_from_disk(browser, site):
    tab = browser.new_page(viewport=DESK)
    tab.set_default_timeout(PATIENCE)
    search(tab, 'minimize', site.as_uri())
    tab.close()


FINDS = {  # what a reader types: pages of which one has to be among the first three
    'learning rate': 'use/softmax_classifier',
    'out of memory': 'use/larger_than_one_machine',
    'cold start': 'use/recommender learn/similarity/cold_start',
    'save model': 'use/softmax_classifier use/recommender',
    'gradient of log-sum-exp': 'learn/primer learn/bound/chain',
    'Lambert W': 'learn/softmax/implicit',
    'choose dimension': 'use/ordinal_embedding learn/ordinal/maps',
    'sample_weight': 'use/softmax_classifier',
    'GPU': 'use/recommender',
    'Dask': 'engine/scale/collections use/larger_than_one_machine',
    'convergence warning': 'use/softmax_classifier use/bound_classifier',
    'progress bar': 'use/larger_than_one_machine',
    'install': 'index',
    'partial_fit': 'use/softmax_classifier',
    'triplet': 'learn/ordinal/triplet_loss learn/ordinal/comparisons',
    'warm start': 'use/larger_than_one_machine',
    'number of components': 'use/ordinal_embedding use/recommender',
    'early stopping': 'use/softmax_classifier',
    'class_weight': 'use/softmax_classifier',
    'calibration': 'learn/softmax/scoring',
    'top-k accuracy': 'learn/softmax/scoring',
    'U-max': 'learn/softmax/umax',
    'Gramian': 'learn/similarity/gramian_gradient',
    'variance reduction': 'learn/softmax/variance learn/ordinal/svrg',
    'Barzilai-Borwein': 'learn/ordinal/barzilai_borwein',
    'negative sampling': 'learn/softmax/negative_sampling',
    'NCE': 'learn/softmax/negative_sampling',
    'two towers': 'learn/similarity/two_towers',
    'ridge': 'use/bound_classifier',
    'log-partition function': 'learn/bound/chain learn/bound/two_outcomes',
    'CRF': 'learn/bound/sequences',
    'GridSearchCV': 'use/softmax_classifier',
    'feature scaling': 'use/bound_classifier',
    'sparse matrix': 'engine/core/linalg use/softmax_classifier',
    'random seed': 'engine/core/streams',
    'numba': 'engine/core/compiled',
    'popularity baseline': 'use/recommender',
    'recommend films': 'use/recommender',
    'procrustes': 'learn/ordinal/maps',
    'stochastic gradient descent': 'learn/ordinal/svrg engine/core/descent',
    'logistic regression': 'use/bound_classifier',
    'multiclass classification': 'use/softmax_classifier',
    'implicit SGD': 'learn/softmax/implicit',
    'which method should I use': 'evidence/which_method',
    'cite': 'index',
    'SoftmaxClassifier': 'reference/softmax/SoftmaxClassifier',
    'minimize': 'reference/core',
    'matrix factorization': 'use/recommender',
    'nearest neighbours': 'engine/similarity/index',
    'missing values': 'use/bound_classifier',
    'new users without ratings': 'learn/similarity/cold_start use/recommender',
    'multi-label': 'engine/softmax/multilabel',
    'load csv': 'engine/data/formats',
    'newton method': 'learn/similarity/curvature learn/softmax/implicit',
    'proof of convergence': 'learn/ordinal/proof',
    'overflow in exp': 'learn/softmax/why_sgd_overflows',
    'hyperparameter tuning': 'use/recommender',
    'imbalanced classes': 'use/softmax_classifier',
    'part of speech tagging': 'learn/bound/sequences',
}


def test_the_right_page_is_among_the_first_three(browser, address):
    """Guides before the engine; in other words than ours, and plainly where there is nothing. The
    page shows what the ranking says, which is then asked without the page."""
    # A context of its own: requests of what is listed may end with it, which is no fault.
    context = browser.new_context(viewport=DESK)
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    search(tab, 'GPU', address)
    said = tab.locator('#search-results li').first.inner_text()
    assert said.startswith('No GPU: everything here runs on processors')
    links = '[...document.querySelectorAll("#search-results li a")].slice(0, 3)'
    shown = tab.evaluate(f'{links}.map(one => one.getAttribute("href"))')
    ask = 'all => all.map(one => Search._performSearch(one).slice(-3).reverse().map(hit => hit[0]))'
    found = dict(zip(FINDS, tab.evaluate(ask, list(FINDS))))
    assert [one.partition('.html')[0] for one in shown] == found['GPU']
    context.close()
    assert {q: hits for q, hits in found.items() if not set(FINDS[q].split()) & set(hits)} == {}


def test_every_answer_of_the_search_leads_to_a_place(site):
    text = (book.ROOT / 'docs/static/answers.js').read_text(encoding='utf-8')
    places = re.findall(r"page: '([^']+)', at: '([^']*)'", text)
    assert len(places) == text.count('when:') > 15
    for page, place in places:
        there = (site / f'{page}.html').read_text(encoding='utf-8')
        assert not place or f'id="{place}"' in there, (page, place)


SHIFT = """() => { window.shift = 0; new PerformanceObserver(list => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift += one.value;
}).observe({ type: 'layout-shift', buffered: true }); }"""


@pytest.mark.parametrize(
    'page', ['learn/softmax/double_sum.html', 'learn/similarity/two_towers.html']
)
def test_a_lesson_is_light_and_stands_still(browser, address, page, own_scripts):
    """Formulas come drawn, the index of the search is not loaded, and nothing moves while the page
    loads."""
    context = browser.new_context(viewport=DESK)
    context.set_default_timeout(PATIENCE)
    tab, sizes = context.new_page(), {}
    tab.on('response', lambda got: sizes.update({got.url: len(got.body())}))
    tab.goto(f'{address}/{page}', wait_until='networkidle')
    tab.evaluate(SHIFT)
    tab.wait_for_timeout(300)
    assert tab.locator('mjx-container').count() > 100
    assert not [url for url in sizes if re.search('searchindex|mathjax|fontawesome', url)]
    assert sum(sizes.values()) < 1_000_000, sorted(sizes.items(), key=lambda one: -one[1])[:5]
    assert tab.evaluate('window.shift') < 0.05  # .4 with formulas set late
    context.close()


@pytest.mark.parametrize(
    'page',
    'learn/softmax/double_sum learn/similarity/two_towers learn/ordinal/comparisons'
    ' use/softmax_classifier use/recommender'.split(),
)
def test_code_and_formulas_fit_the_column_of_a_desk(one_tab, page):
    tab, _ = one_tab(f'{page}.html', DESK)
    cut = tab.evaluate(
        "[...document.querySelectorAll('article :is(.cell_input pre, div.math)')].filter(one =>"
        ' one.checkVisibility() && one.scrollWidth > one.clientWidth + 1).map(one =>'
        ' one.textContent.slice(0, 60))'
    )
    assert cut == []


def test_the_rest_of_a_docstring_unfolds(one_tab):
    "By a press and by a key; what is copied or run is whole code either way."
    tab, _ = one_tab('learn/softmax/double_sum.html')
    more = tab.locator('.doc-more').first
    rest, code = tab.locator('.doc-rest').first, tab.locator('pre:has(.doc-more)').first
    assert not rest.is_visible() and code.inner_text().count('"""') % 2 == 0
    more.click()
    assert rest.is_visible() and more.get_attribute('aria-expanded') == 'true'
    more.press('Enter')
    assert not rest.is_visible()
    compile(code.evaluate('one => one.textContent'), 'cell', 'exec')
    compile(code.inner_text(), 'cell', 'exec')


def test_a_link_into_a_fold_opens_it(one_tab):
    "On the page of measurements details are folded; a link to a reason shows it."
    tab, _ = one_tab('evidence/benchmarks/index.html')
    assert tab.evaluate('document.documentElement.scrollHeight') < 8000
    place = tab.evaluate("document.querySelector('details a[href*=\"#why-\"]').hash")
    tab.goto(tab.url.partition('#')[0] + place)
    tab.wait_for_function('at => document.querySelector(at).checkVisibility()', arg=place)


# ---------------------------------------------------------------- getting about

OPEN = """() => [...document.querySelectorAll('dialog[open]')].map(one => one.id)"""


@pytest.mark.parametrize('width', [390, 768, 900, 975, 1280])
def test_menu_contents_and_search_are_reached_at_every_width(browser, address, width):
    "A tap opens the menu, the contents and the search, their links lead on; no button is idle."
    wrong = []
    context = browser.new_context(viewport=dict(width=width, height=844), has_touch=True)
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    tab.on('pageerror', lambda error: wrong.append(str(error)))
    tab.on('console', lambda said: wrong.append(said.text) if said.type == 'error' else None)
    for page in ('index.html', 'learn/softmax/double_sum.html', 'reference/core.html'):
        tab.goto(f'{address}/{page}', wait_until='load')
        for button in tab.locator('button.sidebar-toggle:visible').all():
            look = """() => [document.querySelectorAll('dialog[open]').length,
                document.querySelector('#pst-primary-sidebar').checkVisibility()]"""
            before = tab.evaluate(look)
            button.tap()
            tab.wait_for_function(f'before => String(({look})()) !== String(before)', arg=before)
            for one in tab.evaluate(OPEN):
                tab.evaluate(f'document.getElementById({one!r}).close()')
            if not tab.evaluate(OPEN) and before != tab.evaluate(look):
                button.tap()  # back as it was

    tab.goto(f'{address}/learn/softmax/double_sum.html', wait_until='load')
    if width < 960:
        tab.locator('.primary-toggle:visible').tap()
        assert tab.evaluate(OPEN) == ['pst-primary-sidebar-modal']
        assert tab.locator('dialog[open] .theme-switch-button').is_visible()
    tab.locator('#pst-primary-sidebar-modal[open] a, #pst-primary-sidebar a').get_by_text(
        'The implicit step through'
    ).tap()
    tab.wait_for_url('**/implicit.html')
    if width < 1200:
        tab.locator('.secondary-toggle:visible').tap()
        assert tab.evaluate(OPEN) == ['pst-secondary-sidebar-modal']
    contents = tab.locator('#pst-secondary-sidebar-modal[open] a, #pst-secondary-sidebar a')
    contents.filter(has_text='Exercises').tap()
    tab.wait_for_url('**/implicit.html#exercises')
    tab.wait_for_function("!document.querySelector('dialog[open]')")
    tab.wait_for_function("document.getElementById('exercises').getBoundingClientRect().top < 500")

    tab.locator('.search-button__button:visible').tap()
    assert tab.evaluate(OPEN) == ['pst-search-dialog']
    tab.keyboard.type('Lambert W')
    tab.keyboard.press('Enter')
    tab.wait_for_url('**/search.html?q=Lambert*')
    tab.locator('#search-results li a').first.wait_for()
    context.close()
    assert wrong == []


# ---------------------------------------------------------------- sliders


@pytest.fixture
def tab(one_tab):
    "A page with sliders on a phone at night."
    page, _ = one_tab(next(iter(SLIDERS)), PHONE, 'dark')
    page.locator('.xo-frames input').first.wait_for()
    return page


def test_the_tab_key_leads_to_a_slider(tab):
    "Without a mouse: Tab arrives at the slider, and a key moves it."
    tab.evaluate("document.querySelector('.xo-frames').scrollIntoView()")
    for _ in range(300):
        tab.keyboard.press('Tab')
        if tab.evaluate("document.activeElement.matches('.xo-frames input')"):
            break
    else:
        pytest.fail('300 presses of Tab arrive at no slider')
    before = tab.evaluate('document.activeElement.value')
    tab.keyboard.press('ArrowLeft' if float(before) > 0 else 'ArrowRight')
    assert tab.evaluate('document.activeElement.value') != before


def test_sliders_are_readable_at_night(tab):
    "Names and values of the sliders stand out from what is behind them."
    labels = [
        row for row in tab.evaluate(CONTRASTS) if row[1].startswith(('OUTPUT', 'SPAN.')) and row[2]
    ]
    assert labels and labels[0][0] >= 4.5, labels[:3]


# ------------------------------------------------------------------------- formulas and verdicts

# Formulas whose box cuts something off on the left, where no scrolling shows it.
CUT = """() => [...document.querySelectorAll('div.math')].filter(box => {
  const svg = box.querySelector('svg');
  const left = one => one.getBoundingClientRect().left;
  return svg && left(svg) < left(box) - 1 && box.scrollLeft === 0;
}).map(box => box.textContent.slice(0, 60))"""


def test_formulas_are_drawn_whole_on_a_desk_and_on_a_phone(visit):
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


def test_the_verdicts_of_the_ledger_are_readable(visit):
    tab = visit('evidence/ledger/bound.html', DESK)
    widths = tab.evaluate(
        "() => [...document.querySelectorAll('.ledger td:nth-child(3)')].map(e =>"
        " e.getBoundingClientRect().width)"
    )
    assert widths and min(widths) > 140
