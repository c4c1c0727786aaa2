"""Marked notebooks and feedback pages: what a student wrote is text there, never HTML, links or
scripts."""

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


def clean(html):
    "HTML with the tags of Markdown and nothing that acts; other tags stand as text."
    import bleach

    html = html.decode() if isinstance(html, bytes) else str(html)
    allowed = {'a': ['href', 'title'], '*': ['class', 'id'], 'td': ['align'], 'th': ['align']}
    return bleach.clean(html, tags=TAGS, attributes=allowed)


@cache
def exporter():
    "One for all pages: it reads its templates once."
    from nbconvert import HTMLExporter

    made = HTMLExporter(template_name='lab', sanitize_html=True)
    made.register_filter('clean_html', clean)  # nbconvert's own knows neither h1 nor p nor th
    return made


def feedback(book, rows, head):
    """An HTML page: a table of all questions, then the notebook. `rows` are (question, points, of,
    words)."""
    lines = [f'# {head}', '', row('question', 'points', 'of', 'what was said'), '|---|---|---|---|']
    lines += [row(name, f'{got:g}', f'{of:g}', as_text(words)) for name, got, of, words in rows]
    lines += ['', f'**{sum(r[1] for r in rows):g} of {sum(r[2] for r in rows):g} points**']
    page = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell('\n'.join(lines)), *book['cells']],
        metadata=book['metadata'],
    )
    page['cells'][0]['id'] = 'summary'
    html = exporter().from_notebook_node(page, resources={'metadata': {'name': head}})[0]
    return html.replace('</head>', '<style>td, th { overflow-wrap: anywhere }</style></head>', 1)
