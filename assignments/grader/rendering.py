"""Marked notebooks and feedback pages: what a student wrote is text there, never HTML, links or
scripts."""

import html
import re
from functools import cache

import nbformat

TAG = re.compile(r'<(?=[A-Za-z/!?])')
LINK = re.compile(r'\](?=[(\[:])')
MACRO = re.compile(
    r'\\(?=(?:href|url|require|cssId|class|style|unicode|html\w*|mmlToken|Tip|texttip|data|def|gdef|let|newcommand'
    r'|renewcommand|newenvironment|DeclareMathOperator|csname|includegraphics|toggle|action)\b)'
)
ADDRESS = re.compile(r'(?i)\b(https?|ftp|file|data|javascript|vbscript)(?=\s*[:&])')


def as_text(markdown):
    """Markdown whose tags, links, pictures and active macros have become text; formulas stay
    formulas."""
    text = re.sub(r'[\x00-\x08\x0b\x0c\x0e-\x1f]', '', markdown)
    text = TAG.sub('< ', text)
    text = LINK.sub('] ', text)
    text = ADDRESS.sub('\\1\u2060', text)  # an address is shown and not linked
    text = re.sub(r'&(?=#|(?:lt|gt|quot|apos|colon|Tab|NewLine)\b)', '& ', text)
    return MACRO.sub(r'\\ ', text)


def outputs(said):
    "Outputs of a cell: plain text and pictures."
    made = []
    for kind, body in said or []:
        if kind == 'text':
            made.append(nbformat.v4.new_output('stream', name='stdout', text=body))
        else:
            data = {'image/png': body, 'text/plain': 'a figure'}
            made.append(nbformat.v4.new_output('display_data', data=data))
    return made


def marked(items, found, release):
    """The notebook that a teacher opens: the release's cells with the student's answers as text,
    and what the tests said."""
    meta = {
        cell['metadata']['nbgrader']['grade_id']: dict(cell['metadata']['nbgrader'])
        for cell in release['cells']
        if cell['metadata'].get('nbgrader')
    }
    cells = []
    for number, item in enumerate(items):
        own = item['kind'] in ('solution', 'manual', 'extra')
        if item['cell'] != 'code':
            text = as_text(item['text']) if own else item['text']
            cell = nbformat.v4.new_markdown_cell(text)
        else:
            said = found['outputs'].get(str(number), [])
            if item['kind'] == 'tests':
                score = found['scores'].get(item['id'], 0)
                words = [f'{score:g} of {item["points"]:g} points']
                words += [found['messages'][item['id']]] if item['id'] in found['messages'] else []
                said = [['text', '\n'.join(words) + '\n']]
            cell = nbformat.v4.new_code_cell(item['text'], outputs=outputs(said))
        if item['id'] in meta and item['kind'] != 'extra':
            cell.metadata['nbgrader'] = meta[item['id']]
        cell['id'] = f'cell-{number}'
        cells.append(cell)
    spec = dict(display_name='Python 3', language='python', name='python3')
    return nbformat.v4.new_notebook(cells=cells, metadata=dict(kernelspec=spec))


def row(*parts):
    return (
        '| ' + ' | '.join(str(part).replace('|', r'\|').replace('\n', ' ') for part in parts) + ' |'
    )


TAGS = (
    'a abbr b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i li ol p pre s span strong'
    ' sub sup table tbody td th thead tr u ul'.split()
)


FORMULA = re.compile('<code class="(math|display)">(.*?)</code>', re.S)
KNOWN = (  # TeX as docutils knows it
    (r'\\[bB]igg?[lrm]?(?![a-zA-Z])|\\mathrel(?![a-z])', ''),
    (r'\\dots(?![a-z])', r'\\ldots'),
    (r'\\texttt(?![a-z])', r'\\mathtt'),
    (r'\\operatorname\*', r'\\operatorname'),
    (r'\\(begin|end)\{(?:align|gather|equation)\*?\}', r'\\\1{aligned}'),
    (r'(\\[dt]?frac)\s*(\d)\s*(\d)', r'\1{\2}{\3}'),
)


def drawn(found):
    "A formula as MathML, which browsers draw themselves; what cannot be read stays TeX."
    from docutils.utils.math.latex2mathml import tex2mathml

    text = html.unescape(found[2])
    if len(text) > 2000:
        return found[0]
    for one, other in KNOWN:
        text = re.sub(one, other, text)
    try:
        text = tex2mathml(text, as_block=found[1] == 'display')
    except Exception:  # of any kind: a student may have written it
        return found[0]
    text = re.sub(r'<mi[^>]*>(\w\w+)</mi>', r'<mo lspace=".17em" rspace=".17em">\1</mo>', text)
    text = text.replace('<mo>&ApplyFunction;</mo>', '')
    return re.sub('<mo[^>]*>\u2016', '<mo stretchy="false">\u2016', text)


def clean(page):
    "HTML with the tags of Markdown and nothing that acts; other tags stand as text."
    import bleach

    page = page.decode() if isinstance(page, bytes) else str(page)
    allowed = {'a': ['href', 'title'], '*': ['class', 'id'], 'td': ['align'], 'th': ['align']}
    return FORMULA.sub(drawn, bleach.clean(page, tags=TAGS, attributes=allowed))


@cache
def exporter():
    "One for all pages: it reads its templates once."
    from nbconvert import HTMLExporter
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    class Formulas(IPythonRenderer):
        def inline_math(self, body, kind='math'):
            return f'<code class="{kind}">{html.escape(body)}</code>'

        def block_math(self, body):
            return self.inline_math(body, 'display')

        def latex_environment(self, name, body):
            return self.block_math(f'\\begin{{{name}}}{body}\\end{{{name}}}')

    made = HTMLExporter(template_name='lab', sanitize_html=True)
    made.exclude_input_prompt = made.exclude_output_prompt = True
    made.register_filter('clean_html', clean)  # nbconvert's own knows neither h1 nor p nor th
    made.register_filter(
        'markdown2html', lambda text: MarkdownWithMath(renderer=Formulas(escape=False)).render(text)
    )
    return made


STYLE = """<style>
body { max-width: 54rem; margin: auto; padding: 1rem }
td, p, li, blockquote { overflow-wrap: anywhere }
.jp-RenderedHTMLCommon blockquote { border-left: .3rem solid #4878a8; background: #f2f6fa; padding: .6rem 1rem }
pre { white-space: pre-wrap !important }
</style></head>"""


def verdict(name, got, most, words, lesson, tests):
    "What a student reads below an answer: points, what was wrong, where it is taught."
    mark = '\u2713' if got >= most else '\u25d0' if got else '\u2717'
    lines = [f'> **{mark} {name}: {got:g} of {most:g} points**']
    said, _, code = words.partition('\nin: ')
    if said.strip():
        lines += ['>', '> ' + ' '.join(as_text(said).split())]
    if code.strip():
        lines += ['>', f"> The line that failed: `{code.strip().replace('`', chr(39))}`"]
    if got < most and tests:
        lines += ['>', f'> This question asks whether you can {tests}.']
        lines[-1] += f' It is taught in the lesson `learn/{lesson}`.' if lesson else ''
    return '\n'.join(lines)


def feedback(book, rows, head, known=None):
    """An HTML page: a table of all questions, then each question, the student's own answer and what was
    said of it. `rows` are (question, points, of, words), `known` says what each question tests and where
    it is taught."""
    known, said = known or {}, {name: row for name, *row in rows}
    total, most = sum(row[1] for row in rows), sum(row[2] for row in rows)
    lines = [f'# {head}', '', f'**{total:g} of {most:g} points**', '']
    lines += [row('question', 'points', 'of', 'what was said'), '|---|---|---|---|']
    for name, got, of, words in rows:
        lines.append(row(name, f'{got:g}', f'{of:g}', as_text(words.partition('\nin: ')[0])))
    cells = [nbformat.v4.new_markdown_cell('\n'.join(lines))]
    start = 1 if str(book['cells'][0]['source']).startswith('# ') else 0  # the head of the set
    for cell in book['cells'][start:]:
        meta = cell['metadata'].get('nbgrader') or {}
        name, tests = meta.get('grade_id'), meta.get('grade') and not meta.get('solution')
        if not tests and (cell['cell_type'] == 'markdown' or meta.get('solution') or not meta):
            cells.append(cell)  # questions, answers, cells of the student's own
        if name in said:
            _, lesson, outcome = known.get(name, ('', '', ''))
            text = verdict(name, *said[name], lesson, outcome)
            cells.append(nbformat.v4.new_markdown_cell(text))
    for number, cell in enumerate(cells):
        cell['id'] = f'cell-{number}'
    page = nbformat.v4.new_notebook(cells=cells, metadata=book['metadata'])
    text = exporter().from_notebook_node(page, resources={'metadata': {'name': head}})[0]
    text = re.sub('<script.*?</script>', '', text, flags=re.S)  # of nbconvert, from the network
    return text.replace('</head>', STYLE, 1)
