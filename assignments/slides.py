"""Slides to teach from: python assignments/slides.py out=FOLDER.

    python assignments/slides.py out=FOLDER                        the sixteen sessions of the guide
    python assignments/slides.py learn/softmax/30_umax out=FOLDER  one lesson
    python assignments/slides.py out=FOLDER mathjax=FOLDER         MathJax from here (that of the built
                                                                   site, _docs/_static/mathjax, is found)

One HTML file each, which loads nothing but the MathJax beside it, so it works without a network. One
idea a slide: a formula with the sentence that leads to it, a figure, a function that the lesson exports,
or a question of the quiz. Arrow keys turn pages, n shows the notes: the text of the lesson, the answer
to the question.
"""

import base64
import html
import json
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NBS = HERE.parent / 'nbs'
LEFT_OUT = ('Exercises', 'Further reading', 'Next', 'Symbols', 'Remember')
LINES, WIDTH = 20, 84  # of code that can be read from the last row
TAUGHT = re.compile(r'\b(slider|the cell|cells?|exercise|page|notebook|below|above)\b|\([a-z]\)', re.I)
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
html {{ font-size: 1.25vw }} body {{ margin: 0; font: 1.6rem/1.45 system-ui, sans-serif; color: #222; background: #fff }}
section {{ display: none; box-sizing: border-box; min-height: 100vh; padding: 4vh 6vw }}
section:target, section.now {{ display: block }}
h1 {{ font-size: 2.6rem }} h2 {{ font-size: 1.9rem; color: #2b5b84 }}
img {{ display: block; margin: auto; width: 64vw; max-height: 74vh; object-fit: contain }}
.anchor-link {{ display: none }} mjx-container[display="true"] {{ font-size: 1.25em }}
pre {{ font-size: 1.15rem; overflow: auto; background: #f4f6f8; padding: 1rem }}
aside {{ display: none; font-size: 1rem; border-top: 1px solid #aaa; margin-top: 2rem }}
.notes aside {{ display: block }} mjx-container {{ overflow-x: auto; max-width: 100% }}
footer {{ position: fixed; bottom: .4rem; right: 1rem; font-size: .9rem; color: #666 }}
@media print {{ section {{ display: block; page-break-after: always }} footer {{ display: none }} }}
</style>
<script>MathJax = {{tex: {{inlineMath: [['$', '$']], displayMath: [['$$', '$$']]}},
  startup: {{pageReady: () => MathJax.startup.defaultPageReady().then(show)}}}}</script>
<script defer src="{mathjax}"></script>
{slides}
<footer></footer>
<script>
const all = [...document.querySelectorAll('section')], foot = document.querySelector('footer');
let at = Math.max(0, Number(location.hash.slice(1)) - 1 || 0);
function show() {{
  at = Math.min(Math.max(at, 0), all.length - 1);
  all.forEach((one, n) => one.classList.toggle('now', n === at));
  for (const one of all[at].querySelectorAll('mjx-container[display="true"]')) {{
    one.style.fontSize = '';  // a formula that is too wide is drawn smaller
    const wide = Math.max(one.scrollWidth, one.getBoundingClientRect().width) / (0.87 * innerWidth);
    if (wide > 1) one.style.fontSize = parseFloat(getComputedStyle(one).fontSize) / wide + 'px';
  }}
  history.replaceState(null, '', '#' + (at + 1)); foot.textContent = (at + 1) + ' / ' + all.length;
}}
addEventListener('keydown', event => {{
  if (['ArrowRight', 'ArrowDown', 'PageDown', ' '].includes(event.key)) at += 1;
  else if (['ArrowLeft', 'ArrowUp', 'PageUp'].includes(event.key)) at -= 1;
  else if (event.key === 'Home') at = 0; else if (event.key === 'End') at = all.length;
  else if (event.key === 'n') document.body.classList.toggle('notes'); else return;
  event.preventDefault(); show();
}});
addEventListener('resize', show);
addEventListener('click', event => {{ at += event.clientX < innerWidth / 3 ? -1 : 1; show(); }});
show();
</script></html>
"""


def lessons():
    "Names of all lessons, in order."
    return [str(path.relative_to(NBS))[:-6] for path in sorted(NBS.glob('learn/*/*.ipynb'))]


def sessions():
    "The sessions of the guide's plan: [(name, title, pages)]."
    guide = (HERE.parent / 'docs/teaching.md').read_text(encoding='utf-8')
    table = guide[guide.index('## Eight weeks') : guide.index('## Four weeks')]
    rows = re.findall(r'^\| (\d) \| ([^|]*) \| ([^|]*) \|', table, re.M)
    return [
        (f'{number:02d}', title.strip(), re.findall(r'`((?:learn|engine|evidence|use)/[^`]*)`', pages))
        for number, (_, title, pages) in enumerate(rows, 1)
    ]


def questions(page):
    "Questions of the quiz on a lesson, with their answers."
    chapter, _, name = page.removeprefix('learn/').partition('/')
    path = HERE / f'quiz/{chapter}.md'
    text = path.read_text(encoding='utf-8') if path.exists() else ''
    found = re.search(rf'^## {re.escape(name)}\n(.*?)Answers:\n(.*?)(?=^## |\Z)', text, re.S | re.M)
    parts = [re.findall(r'^\d+\. (.*)$', part, re.M) for part in (found.groups() if found else ('', ''))]
    return list(zip(*parts, strict=True))


def ideas(page):
    "The slides of a page: [(heading, what is on it, notes)] in Markdown; pictures and code as HTML."
    book = json.loads((NBS / f'{page}.ipynb').read_text(encoding='utf-8'))
    found, head, title, skip = [], '', '', False
    for cell in book['cells']:
        source = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown':
            for part in re.split(r'(?m)^(?=#{1,3} )', source):
                if heading := re.match(r'(#{1,3}) (.*)', part):
                    part, head = part[heading.end() :], heading[2].strip()
                    skip = head in LEFT_OUT or (skip and len(heading[1]) > 2)
                    if len(heading[1]) == 1:
                        title = head
                        found.append((f'# {head}', part.strip().split('\n')[0].lstrip('> '), part))
                        continue
                if skip:
                    continue
                lead = ''
                for block in re.split(r'\n\s*\n', part):
                    formulas = re.findall(r'\$\$.*?\$\$', block, re.S)
                    text = re.sub(r'\$\$.*?\$\$', ' ', block, flags=re.S).strip()
                    said = re.split(r'(?<=[a-z$)*`][.?!:])\s', text)[-1 if not formulas else 0]
                    said = (said or lead).strip()
                    for formula in formulas:
                        words = '' if TAUGHT.search(said) or said.startswith(('|', '-')) else said
                        found.append((f'## {head or title}', f'{words}\n\n{formula}', part))
                    lead = said
        elif not skip:
            for output in cell.get('outputs', ()):
                if picture := output.get('data', {}).get('image/png'):
                    alt = re.search(r'^#\| fig-alt: *(.*)', source, re.M)
                    alt = html.escape(alt[1].strip('"\' ') if alt else 'figure', quote=True)
                    data = base64.b64encode(base64.b64decode(''.join(picture))).decode()
                    shown = f'<img alt="{alt}" src="data:image/png;base64,{data}">'
                    found.append((f'## {head or title}', shown, alt))
            code = re.sub(r'(?m)^#\|.*\n', '', source).strip()
            code = re.sub(r'\n +"""(.*?)\n +"""', '', code, flags=re.S)
            lines = code.split('\n')
            fits = len(lines) <= LINES and max(map(len, lines)) <= WIDTH
            if '#| exports' in source and re.search(r'^def ', code, re.M) and fits:
                found.append((f'## {head or title}', f'<pre>{html.escape(code)}</pre>', ''))
    found += [('## A question', question, answer) for question, answer in questions(page)]
    return found


def deck(title, pages, mathjax='mathjax/tex-svg-full.js'):
    "One HTML page with the slides of some pages."
    from nbconvert.filters.markdown_mistune import markdown2html_mistune as rendered

    made = []
    for head, shown, notes in [found for page in pages for found in ideas(page)]:
        body = shown if shown.startswith('<') else rendered(shown)
        aside = rendered(notes) if notes else ''
        made.append(f'<section>{rendered(head)}{body}<aside>{aside}</aside></section>')
    return PAGE.format(title=html.escape(title), slides='\n'.join(made), mathjax=mathjax)


def main(arguments):
    "Write the slides of the lessons named, or of all sessions."
    options = dict(part.split('=', 1) for part in arguments if '=' in part)
    names = [part for part in arguments if '=' not in part]
    if 'out' not in options:
        raise SystemExit('say where they are to lie: python assignments/slides.py out=../my-slides')
    for name in names:
        if name not in lessons():
            raise SystemExit(f'{name} is no lesson; lessons are {", ".join(lessons()[:3])}, ...')
    out = Path(options['out']).expanduser()
    out.mkdir(parents=True, exist_ok=True)
    source = Path(options.get('mathjax', HERE.parent / '_docs/_static/mathjax'))
    if (source / 'tex-svg-full.js').exists():
        shutil.copytree(source, out / 'mathjax', dirs_exist_ok=True)
    else:
        print(f'{source} holds no MathJax, so formulas stay text: make docs brings one')
    decks = [(name.replace('/', '-'), name, [name]) for name in names] or sessions()
    for name, title, pages in decks:
        (out / f'{name}.html').write_text(deck(title, pages), encoding='utf-8')
        print(f'{out / name}.html: {title}')


if __name__ == '__main__':
    main(sys.argv[1:])
