"""What every page and every file keeps to. One test per rule; a failure lists each place that
breaks it."""

import ast
import json
import re
import sys

import notebooks
import pytest
from told import tell

ROOT = notebooks.ROOT
BOOKS = {str(path.relative_to(notebooks.NBS)): notebooks.read(path) for path in notebooks.find()}
CELLS = [
    (name, book, index, cell)
    for name, book in BOOKS.items()
    for index, cell in enumerate(book['cells'])
]
CODE = [
    (name, book, index, cell) for name, book, index, cell in CELLS if cell['cell_type'] == 'code'
]
EXPORTS = {'export', 'exports', 'exporti'}


def places(rule, cells=CODE):
    "Where `rule(name, book, index, cell)` has something to say, with what it says."
    said = [(name, book, index, rule(name, book, index, cell)) for name, book, index, cell in cells]
    return [
        f'{name}, {notebooks.describe(book, index)}: {word}'
        for name, book, index, word in said
        if word
    ]


def each(cells=CODE):
    "A rule as a test, which fails with each place that breaks it, one a line."

    def test_of(rule):
        def test():
            if said := places(rule, cells):
                pytest.fail('\n'.join([f'{len(said)} places:', *said]), pytrace=False)

        test.__name__, test.__doc__ = rule.__name__, rule.__doc__
        return test

    return test_of


def exported(cell):
    return bool(EXPORTS & set(notebooks.directives(cell)))


def body(cell):
    "Lines of a code cell below its directives."
    lines = notebooks.source(cell).splitlines()
    return [line for line in lines if not re.match(r'\s*#\s*\|', line)]


def tree(cell):
    "Syntax tree of a code cell without magics; None where it is no Python."
    try:
        return notebooks.tree(notebooks.source(cell))
    except SyntaxError:
        return None


@each()
def test_second_cell_names_the_module(name, book, index, cell):
    "The second cell is the directive with the module, or the page exports nothing."
    named = 'default_exp' in notebooks.directives(cell)
    if named:
        return (
            None
            if index == 1 and not ''.join(body(cell)).strip()
            else '`#| default_exp` must be the second cell and alone'
        )
    second = book['cells'][1] if len(book['cells']) > 1 else cell
    if exported(cell) and 'default_exp' not in notebooks.source(second):
        return 'exports, but no cell says `#| default_exp`'


@each()
def test_check_labels(name, book, index, cell):
    "A check of a paper's formula opens with its label, such as `# check: softmax-25`."
    label = r'# check: [a-z]+-[A-Za-z0-9.-]+(, [a-z]+-[A-Za-z0-9.-]+)*'
    lines = [line.strip() for line in body(cell) if line.strip()]
    found = [line for line in lines if re.match(r'#\s*check\b', line, flags=re.I)]
    if not found:
        return None
    if found != lines[:1]:
        return 'the label must be the first line, and one a cell'
    if not (re.fullmatch(label, found[0])):
        return f'{found[0]!r} does not read like `# check: softmax-25`'


@each()
def test_no_clock_on_a_page(name, book, index, cell):
    "No cell shows a time; only exported code of the engine, such as time limits, reads a clock."
    clock = (
        r'%%?time|\bperf_counter|\btime\.(time|monotonic|process_time)\(|\btimeit\b|datetime\.now'
        r'|\bseconds\b.*\bplot\(|against=[\'"]seconds'
    )
    if exported(cell) and name.startswith('engine/'):
        return None
    found = re.search(clock, notebooks.source(cell))
    if found:
        return f'reads a clock: {found[0]!r}'


@each()
def test_no_interact_and_no_shell(name, book, index, cell):
    "Sliders on pages work without a kernel, and no cell calls a program or a magic."
    found = re.search(
        r'\binteract(ive|ive_output|_manual)?\s*\(|import interact', notebooks.source(cell)
    ) or re.search(r'^\s*(!|%)\S+', '\n'.join(body(cell)), flags=re.M)
    if found:
        return f'holds {found[0].strip()!r}'


@each()
def test_imports_stand_alone(name, book, index, cell):
    "Building the site executes each cell that imports, so such a cell holds nothing else."
    code = tree(cell)
    if code is None:
        return 'is no Python'
    if 'nbdev_export()' in notebooks.source(cell):
        return None
    kinds = [isinstance(node, (ast.Import, ast.ImportFrom)) for node in code.body]
    inside = not exported(cell) and any(
        isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(code)
    )
    if (any(kinds) or inside) and not all(kinds):
        return 'mixes imports with other code'


@each()
def test_exported_cells_need_no_tools(name, book, index, cell):
    "Tools that write and test the pages never become requirements of the package."
    code = tree(cell)
    if not exported(cell) or code is None:
        return None
    names = [name for node in ast.walk(code) for name in imported(node)]
    bad = [
        name
        for name in names
        if name.split('.')[0] in ('nbdev', 'fastcore', 'execnb', 'pytest', 'hypothesis')
    ]
    if bad:
        return f'exports an import of {", ".join(bad)}'


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ''] if isinstance(node, ast.ImportFrom) else []


@each()
def test_no_star_imports(name, book, index, cell):
    "Names say where they come from."
    if re.search(r'^\s*from\s+\S+\s+import\s+\*', notebooks.source(cell), flags=re.M):
        return 'imports *'


@each()
def test_no_error_is_committed(name, book, index, cell):
    "No output is an error, and no warning slipped into a page."
    kinds = [
        output
        for output in cell['outputs']
        if output['output_type'] == 'error' or output.get('name') == 'stderr'
    ]
    if kinds:
        return f'holds {kinds[0]["output_type"]} {kinds[0].get("ename", "on stderr")}'


@each([row for row in CELLS if row[3]['cell_type'] == 'markdown'])
def test_formula_numbers_stand_outside(name, book, index, cell):
    r"`\tag` comes after `\end{aligned}`: inside, one of the two formula renderers prints an error."
    inside = re.search(
        r'\\begin\{(aligned|cases|bmatrix)\}(?:(?!\\end\{\1\}).)*\\tag',
        notebooks.source(cell),
        flags=re.S,
    )
    if inside:
        return r'has \tag inside an environment'


@each(CELLS)
def test_nothing_is_left_undone(name, book, index, cell):
    "No page and no file carries a note to its author."
    found = re.search(r'\b(TODO|FIXME|XXX)\b', notebooks.source(cell))
    if found:
        return f'holds {found[0]}'


def test_notebooks_are_valid():
    "Every notebook is valid, and its cells have ids of their own."
    import nbformat

    for name, book in BOOKS.items():
        nbformat.validate(json.loads(json.dumps(book)))
        ids = [cell['id'] for cell in book['cells']]
        assert len(set(ids)) == len(ids), name


def test_ruff_passes():
    "`ruff check .` has nothing to say."
    done = tell(sys.executable, '-m', 'ruff', 'check', '--no-cache', '--output-format=concise', '.')
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def test_types_pass():
    "`mypy --strict` has nothing to say about the package, but for what pyproject.toml lists."
    done = tell(sys.executable, '-m', 'mypy')
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def columns(line):
    "Columns of a line, without a remark that is meant for a formatter or a checker."
    return len(re.sub(r'\s+# (fmt: skip|type: ignore.*|noqa.*)$', '', line))


@each()
def test_lines_of_cells_have_100_columns(name, book, index, cell):
    "As ruff holds it for files; texts of figures stand on one line, because nbdev reads them so."
    long = [line for line in body(cell) if columns(line) > 100]
    if long:
        return f'{columns(long[0])} columns: {long[0].strip()[:60]!r}'


def test_lines_of_exported_modules_have_100_columns():
    "But for the line with what the page is about and `__all__`, both of which nbdev writes."
    wrong = []
    for path in sorted((ROOT / 'extreme_opt').rglob('*.py')):
        text = path.read_text(encoding='utf-8')
        if path.name == '_modidx.py':
            continue
        nodes = ast.parse(text).body if 'AUTOGENERATED' in text else []
        listed = [
            node
            for node in nodes
            if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == '__all__'
        ]
        headers = {
            number
            for node in [*nodes[:1], *listed]
            for number in range(node.lineno, node.end_lineno + 1)
        }
        wrong += [
            f'{path.relative_to(ROOT)}:{number}: {columns(line)} columns'
            for number, line in enumerate(text.split('\n'), 1)
            if number not in headers and columns(line) > 100
        ]
    assert not wrong, '\n'.join(wrong)
