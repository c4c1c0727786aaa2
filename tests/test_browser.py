"The built site in headless Chromium: on a desk and on a phone, by day and by night."
import http.server
import re
import shutil
import threading

import pytest
from built_site import own_scripts, report, script, site  # noqa: F401 (fixtures)

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
ARGUMENTS = ('--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking '
             '--disable-component-update --disable-sync').split()
pytestmark = [pytest.mark.browser, pytest.mark.site,
              pytest.mark.skipif(not CHROMIUM, reason='Chromium is missing; on Debian and Ubuntu: apt-get install chromium'),
              pytest.mark.usefixtures('own_scripts')]
build = script('build')
PAGES = [build.page_name(path).with_suffix('.html').as_posix() for path in build.notebooks()]
DESK, PHONE = dict(width=1280, height=900), dict(width=390, height=844)


@pytest.fixture(scope='module')
def address(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs): super().__init__(*args, directory=site, **kwargs)
        def log_message(self, *args): pass
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.shutdown()


@pytest.fixture(scope='module')
def browser():
    from playwright.sync_api import sync_playwright
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def visit(browser, address):
    "visit(page, size, scheme) opens a page; at the end of the test nothing may have gone wrong and no other host been asked."
    open_, wrong = [], []
    def go(page, size=DESK, scheme='light'):
        context = browser.new_context(viewport=size, color_scheme=scheme)
        open_.append(context)
        tab = context.new_page()
        tab.on('pageerror', lambda error: wrong.append(f'{page}: {error}'))
        tab.on('requestfailed', lambda request: wrong.append(f'{page}: failed: {request.url}'))
        tab.on('request', lambda r: None if r.url.startswith((address, 'data:', 'blob:')) else wrong.append(f'{page}: asks {r.url}'))
        tab.on('response', lambda r: wrong.append(f'{page}: {r.status} {r.url}') if r.status >= 400 and 'favicon' not in r.url else None)
        tab.goto(f'{address}/{page}', wait_until='load')
        return tab
    yield go
    for context in open_: context.close()
    assert not wrong, '\n'.join(wrong)


# What sticks out of a narrow screen and stands in no box that scrolls.
STICKS_OUT = """() => [...document.querySelectorAll('main *, header *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (!box.width || !box.height || (box.right <= innerWidth + 1 && box.left >= -1)) return false;
  for (let p = e.parentElement; p && p.id !== 'quarto-content'; p = p.parentElement) {
    const style = getComputedStyle(p);
    if (/auto|scroll|hidden/.test(style.overflowX) || style.clipPath !== 'none') return false;
  }
  return !e.closest('.katex-mathml') && getComputedStyle(e).position !== 'fixed';
}).map(e => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40))"""

@pytest.mark.parametrize('page', PAGES + ['api/index.html', 'api/core.run.html'])
def test_page_is_whole_on_a_desk_and_on_a_phone(visit, page):
    tab = visit(page)
    assert tab.locator('.katex-error').count() == 0
    assert tab.locator('span.math').count() == tab.locator('span.math .katex').count()
    broken = tab.evaluate('[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src.slice(0, 80))')
    assert broken == []
    tab.set_viewport_size(PHONE)
    tab.wait_for_timeout(100)
    assert tab.evaluate('document.documentElement.scrollWidth') <= PHONE['width']
    assert tab.evaluate(STICKS_OUT) == []
    wide = tab.evaluate('[...document.querySelectorAll("main img")].filter(i => i.getBoundingClientRect().right > innerWidth).length')
    assert wide == 0, 'a figure is wider than the phone'


# Every visible text with its contrast to what is painted behind it (WCAG formula); the worst first.
CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = {}, rgba = css => known[css] ??= paint(css);
  const paint = css => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const over = (top, below) => { const a = top[3] / 255; return [0, 1, 2].map(i => top[i] * a + below[i] * (1 - a)).concat(255); };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { const stack = []; for (let p = e; p; p = p.parentElement) stack.push(rgba(getComputedStyle(p).backgroundColor));
    return stack.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 255]); };
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    if (!text || e.closest('script, style, .katex-mathml, svg') || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    const back = behind(e), front = over(rgba(getComputedStyle(e).color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    found.push([Math.round((a + .05) / (b + .05) * 100) / 100, e.tagName + '.' + e.className, text.slice(0, 30)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""

@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize('page', ['index.html', 'core/run.html', 'softmax/double_sum.html', 'api/core.run.html'])
def test_text_is_readable_by_day_and_by_night(visit, page, scheme):
    tab = visit(page, DESK, scheme)
    tab.locator('.smalldocs-search input:visible').fill('solver')
    tab.locator('.search-result').first.wait_for()
    dark = sum(map(int, re.findall(r'\d+', tab.evaluate('getComputedStyle(document.body).backgroundColor'))[:3])) < 200
    assert dark == (scheme == 'dark')
    contrasts = tab.evaluate(CONTRASTS)
    assert len(contrasts) > 50
    assert contrasts[0][0] >= 4.5, contrasts[:5]


def test_the_switch_turns_day_into_night_and_stays(visit, address):
    tab = visit('index.html')
    night = 'document.documentElement.classList.contains("quarto-dark")'
    assert not tab.evaluate(night)
    tab.locator('.quarto-color-scheme-toggle').first.click()
    tab.wait_for_function(night)
    tab.goto(f'{address}/{PAGES[1]}')
    tab.wait_for_function(night)


def test_search_leads_to_the_name(visit):
    tab = visit(PAGES[1])
    tab.locator('.smalldocs-search input:visible').fill('minimize')
    tab.locator('.search-result', has_text='core.run').first.click()
    tab.wait_for_url('**/api/core.run.html*')


def test_search_works_on_pages_opened_from_disk(browser, site):
    tab = browser.new_page(viewport=DESK)
    tab.goto((site/'index.html').as_uri())
    tab.locator('.smalldocs-search input:visible').fill('minimize')
    tab.locator('.search-result', has_text='core.run').first.wait_for()
    tab.close()


def test_slider_moves_its_figure(visit, site):
    pages = [page for page in PAGES if build.VIEW in (site/page).read_text()]
    assert pages, 'no page has a slider'
    tab = visit(pages[0])
    box = tab.locator('.widget', has=tab.locator('.noUi-handle')).first
    handle = box.locator('.noUi-handle').first
    handle.wait_for()
    def seen(): return box.evaluate('b => [...b.querySelectorAll("img")].filter(i => i.offsetParent).map(i => i.src)')
    before = seen()
    assert len(before) == 1
    handle.focus()
    at_end = handle.get_attribute('aria-valuenow') == handle.get_attribute('aria-valuemax')
    tab.keyboard.press('ArrowLeft' if at_end else 'ArrowRight')
    tab.wait_for_timeout(300)
    after = seen()
    assert len(after) == 1 and after != before
