"What a lesson may hold, and the symbols that a page explains."

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import claims
import explorations
import notebooks

WORDS_PER_LINE, MOST_LINES, MOST_EXPORTED, FIRST_RUN = 8, 250, 100, 100


class Page(NamedTuple):
    "Measures of one page."

    name: str
    words: int  # of prose
    lines: int  # of code, without blanks, comments and directives
    exported: int  # of those, in cells that export
    before_run: int  # lines before the first cell that shows a result of the page's own code
    sliders: int


def code_lines(text: str) -> int:
    "Lines of code of a cell, without blanks, comments and docstrings."
    lines = [line.strip() for line in text.split('\n')]
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a cell with a magic command
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines[first.lineno - 1 : first.end_lineno] = [''] * (
                first.end_lineno - first.lineno + 1
            )
    return sum(bool(line) and not line.startswith('#') for line in lines)


def measure(path: Path) -> Page:
    "Count what a notebook holds."
    relative = path.relative_to(notebooks.NBS)
    words = lines = exported = sliders = 0
    before: int | None = None
    own: set[str] = set()  # names that the page exports, or imports from the package
    for cell in notebooks.read(path)['cells']:
        text = notebooks.source(cell)
        if cell['cell_type'] == 'markdown':
            words += len(re.sub(r'\$\$.+?\$\$', ' ', text, flags=re.S).split())
            continue
        if cell['cell_type'] != 'code':
            continue
        if claims.labels(text):
            continue  # a sentence's proof, not code that a reader follows
        count = code_lines(text)
        if (
            before is None
            and cell['outputs']
            and own & set(re.findall(r'\w+', re.sub(r"'[^'\n]*'", '', text)))
        ):
            before = lines
        if {'export', 'exports', 'exporti'} & set(notebooks.directives(cell)):
            own |= set(re.findall(r'^(?:def|class) (\w+)', text, re.M))
        for names in re.findall(
            r'^from extreme_opt(?!\.show|\.core\.checks)\S* import (.+)$', text, re.M
        ):
            own |= set(re.findall(r'\w+', names))
        lines += count
        exported += count * bool({'export', 'exports', 'exporti'} & set(notebooks.directives(cell)))
        sliders += sum(len(knobs) for name, knobs in explorations.calls(text) if name == 'frames')
    name, first = str(relative.with_suffix('')), lines if before is None else before
    return Page(name, words, lines, exported, first, sliders)


GREEK = re.compile(
    r'(?:var)?(?:[Aa]lpha|beta|[Gg]amma|[Dd]elta|epsilon|zeta|eta|[Tt]heta|kappa|[Ll]ambda|mu|nu|[Xx]i'
    r'|[Pp]i|rho|[Ss]igma|tau|[Pp]hi|chi|[Pp]si|[Oo]mega)'
)
# indices, the number e, d of an integral; expectation, numbers, identity, order, probability
UNDERSTOOD = set('edijkl') | set('ERION')


def symbols(formula: str) -> set[str]:
    "Letters of a formula in TeX, Latin and Greek, without words and names of functions."
    words = r'\\(?:tag|text\w*|operatorname\*?|mathrm|mathtt|begin|end)\{[^{}]*\}'
    plain = re.sub(words, ' ', formula)
    plain = re.sub(r'\\rm\s+[a-z]+|\\\\\[[^]]*\]', ' ', plain)
    found = re.findall(r'\\([A-Za-z]+)|([A-Za-z])', plain)
    return {letter or word for word, letter in found if letter or GREEK.fullmatch(word)}


def undefined(notebook: dict) -> set[str]:
    """Symbols of displayed formulas that neither the table of symbols nor the text of a page has,
    up to the end of the formula's cell."""
    displayed = re.compile(r'(?<!\\)\$\$(.+?)\$\$', re.S)
    missing: set[str] = set()
    said = set(UNDERSTOOD)
    for cell in notebook['cells']:
        if cell['cell_type'] != 'markdown':
            continue
        text, *exercises = notebooks.source(cell).split('## Exercises')
        said |= symbols(' '.join(re.findall(r'\$([^$]+)\$', displayed.sub(' ', text))))
        missing |= symbols(' '.join(displayed.findall(text))) - said
        if exercises:
            break
    return missing


def faults(page: Page) -> list[str]:
    "What a lesson has too much or too little of."
    wrong = []
    words = page.words / max(1, page.lines)
    if words < WORDS_PER_LINE:
        wrong.append(f'{words:.1f} words a line of code, expected {WORDS_PER_LINE}')
    if page.lines > MOST_LINES:
        wrong.append(f'{page.lines} lines of code, at most {MOST_LINES}')
    if page.exported > MOST_EXPORTED:
        wrong.append(f'{page.exported} exported lines, at most {MOST_EXPORTED}')
    if page.before_run > FIRST_RUN:
        wrong.append(f'{page.before_run} lines before the first result, at most {FIRST_RUN}')
    if not page.sliders:
        wrong.append('no slider, expected one')
    return [f'nbs/{page.name}.ipynb: {one}' for one in wrong]
