"""Small errors put into a formula on purpose: a check that does not notice one is no check.

A mutant is one change at one place of the syntax tree: a sign, a factor, a power, a pair of
indices. Places that no formula stands in are left alone: tolerances, sizes, seeds, random draws,
ranges, messages, drawing.
"""

from __future__ import annotations

import ast
import copy
import re
from typing import NamedTuple

QUIET_CALLS = {
    'print',
    'range',
    'arange',
    'linspace',
    'logspace',
    'geomspace',
    'default_rng',
    'expect_fail',
    'display',
    'frames',
    'log_likely',
}
QUIET_WORDS = {
    'rtol',
    'atol',
    'tol',
    'size',
    'seed',
    'figsize',
    'label',
    'axis',
    'keepdims',
    'minlength',
    'max_iter',
    'max_epochs',
    'err_msg',
}
QUIET_METHODS = {
    'normal',
    'random',
    'integers',
    'choice',
    'uniform',
    'standard_normal',
    'permutation',
    'exponential',
    'plot',
    'set_title',
    'reshape',
    'zeros',
    'ones',
    'eye',
}


DRAWS = {
    'normal',
    'random',
    'integers',
    'choice',
    'uniform',
    'standard_normal',
    'permutation',
    'exponential',
}


class Mutant(NamedTuple):
    what: str  # the change, in words that name the place: "line 3: a - b -> a + b"
    source: str  # the whole changed source


def _name(node) -> str:
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ''
    )


def _is_drawn(node) -> bool:
    "Whether random numbers are made here: another sample is no other formula."
    return any(
        isinstance(n, ast.Call)
        and (
            _name(n.func) in ('default_rng',)
            or isinstance(n.func, ast.Attribute)
            and n.func.attr in DRAWS
        )
        for n in ast.walk(node)
    )


def _is_shape(node) -> bool:
    "A sum of lists or texts, or a whole-number index, is no arithmetic of the formula."
    return any(
        isinstance(part, (ast.List, ast.Tuple, ast.JoinedStr))
        or isinstance(part, ast.Constant)
        and isinstance(part.value, (str, bytes))
        for part in (getattr(node, 'left', None), getattr(node, 'right', None))
    )


def _is_tolerance(node) -> bool:
    return any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, float)
        and 0 < abs(part.value) < 1e-3
        for part in (node.left, node.right)
    )


def _changes(node):
    "(what it becomes) for one node: each is one mutant."
    if isinstance(node, ast.BinOp) and not _is_shape(node) and not _is_tolerance(node):
        other = {ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Div: ast.Mult()}.get(type(node.op))
        if other is not None:
            yield ast.BinOp(node.left, other, node.right)
        if isinstance(node.op, ast.Mult):
            yield node.right if isinstance(node.left, ast.Constant) else node.left
        if isinstance(node.op, ast.Pow):
            yield node.left
        if isinstance(node.op, ast.MatMult):
            yield ast.BinOp(
                ast.BinOp(node.left, ast.MatMult(), node.right), ast.Mult(), ast.Constant(1.5)
            )
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and not isinstance(node.operand, ast.Constant)
    ):
        yield node.operand
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Tuple)
        and len(node.slice.elts) == 2
    ):
        one, two = node.slice.elts
        if all(isinstance(part, ast.Name) for part in (one, two)) and one.id != two.id:
            yield ast.Subscript(node.value, ast.Tuple([two, one], ast.Load()), node.ctx)
    if (
        isinstance(node, ast.Call)
        and _name(node.func)
        in ('exp', 'log', 'log1p', 'expm1', 'sqrt', 'softplus', 'omega', 'wright_omega')
        and len(node.args) == 1
    ):
        yield ast.BinOp(copy.deepcopy(node), ast.Mult(), ast.Constant(1.25))


def _places(tree):
    """Nodes where a formula can stand, in the order of the source, each with the statement it is
    part of."""

    def visit(node, statement):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr)):
            return
        if isinstance(node, ast.Call) and (
            _name(node.func) in QUIET_CALLS
            or isinstance(node.func, ast.Attribute)
            and node.func.attr in QUIET_METHODS
        ):
            return
        if isinstance(node, ast.arguments):
            return
        if isinstance(node, ast.expr) and _is_drawn(node):
            return
        if isinstance(node, ast.Assert):
            node = ast.Assert(node.test, None)
        yield node, statement
        for field, value in ast.iter_fields(node):
            if (
                isinstance(node, ast.Compare)
                and field == 'comparators'
                and any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops)
            ):
                value = [
                    part
                    for part in value
                    if not any(isinstance(n, ast.Constant) for n in ast.walk(part))
                ]  # bounds and tolerances
            if isinstance(node, ast.Subscript) and field == 'slice':
                continue
            if (
                isinstance(node, ast.Call)
                and field == 'args'
                and _name(node.func).startswith(('assert_', 'check_'))
            ):
                value = value[:2]
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.keyword) and part.arg in QUIET_WORDS:
                    continue
                if isinstance(part, ast.AST):
                    yield from visit(part, part if isinstance(part, ast.stmt) else statement)

    for statement in tree.body:
        yield from visit(statement, statement)


def _leading(tree) -> set[int]:
    """Statements (by identity) whose results reach an assertion; the rest of the cell cannot be
    noticed by it."""
    wanted, kept = set(), set()

    def names(node, kind):
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}

    def asserts(node):
        return any(
            isinstance(n, ast.Assert)
            or isinstance(n, ast.Call)
            and _name(n.func).startswith(('assert_', 'check_', 'expect_fail'))
            for n in ast.walk(node)
        )

    for statement in reversed(tree.body):
        made = names(statement, ast.Store) | (
            {statement.name} if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else set()
        )
        changed = {
            n.value.id
            for n in ast.walk(statement)
            if isinstance(n, ast.Subscript)
            and isinstance(n.ctx, ast.Store)
            and isinstance(n.value, ast.Name)
        }
        if asserts(statement) or (made | changed) & wanted:
            kept |= {id(n) for n in ast.walk(statement)}
            wanted |= names(statement, ast.Load)
    return kept


def mechanical(source: str, function: str | None = None) -> list[Mutant]:
    """Every mutant of a check cell, or of one function or method of a cell (`name` or
    `Class.method`), in source order."""
    body = '\n'.join(
        '' if line.lstrip().startswith(('%', '!')) else line for line in source.split('\n')
    )
    tree = ast.parse(body)
    inside = (
        _leading(tree)
        if function is None
        else {id(n) for part in [_find(tree, function)] for n in ast.walk(part)}
    )
    found = []
    for node, _ in _places(tree):
        if id(node) not in inside:
            continue
        for new in _changes(node):
            changed = _replaced(
                body, node, ast.unparse(ast.fix_missing_locations(copy.deepcopy(new)))
            )
            if changed is None:
                continue
            found.append(Mutant(f'{_short(node)} -> {_short(new)}', changed))
    return found


def _find(tree, dotted: str):
    for part in dotted.split('.'):
        tree = next(
            n
            for n in ast.walk(tree)
            if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == part
        )
    return tree


def _short(node) -> str:
    text = ' '.join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:28] + ' ... ' + text[-28:]


def _replaced(source: str, node, text: str) -> str | None:
    "`source` with the characters of one node replaced; columns of the syntax tree count bytes."
    lines = source.encode().split(b'\n')
    if not hasattr(node, 'lineno'):
        return None
    first, last = node.lineno - 1, node.end_lineno - 1
    start, end = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    changed = b'\n'.join(
        [*lines[:first], start + b'(' + text.encode() + b')' + end, *lines[last + 1 :]]
    ).decode()
    try:
        ast.parse(changed)
    except SyntaxError:
        return None
    return changed


# Text, number, name or one character: what stays of a line of code when it is laid out anew.
TOKEN = re.compile(
    r"""#[^\n]*|(?:[rbfu]{0,2})(?:'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
    r'|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?|\w+|[^\s\\]',
    re.I,
)


def _tokens(source: str) -> list[tuple[object, int, int]]:
    "Value, start and end of each token; no comments and no comma before a closing bracket."
    found: list[tuple[object, int, int]] = []
    for match in TOKEN.finditer(source):
        word, value = match[0], match[0]
        if word.startswith('#'):
            continue
        if re.match(r'\.?\d', word):
            number = word.replace('_', '')
            value = float(number) if re.search('[.e]', number, re.I) else int(number)
            value = (type(value).__name__, value)
        elif word[-1] in '\'"' and len(word) > 1:
            quote = word.index(word[-1])
            value = (word[:quote], word[quote + 1 : -1])
        elif word in (')', ']', '}') and found and found[-1][0] == ',':
            found.pop()
        found.append((value, match.start(), match.end()))
    return found


def places(source: str, text: str) -> list[tuple[int, int]]:
    "Where `text` stands in the source, letter by letter or else with another layout."
    exact = [(at.start(), at.end()) for at in re.finditer(re.escape(text), source)]
    wanted = [value for value, *_ in _tokens(text)]
    if exact or not wanted:
        return exact
    tokens, n = _tokens(source), len(wanted)
    values = [value for value, *_ in tokens]
    return [
        (tokens[at][1], tokens[at + n - 1][2])
        for at in range(len(tokens) - n + 1)
        if values[at : at + n] == wanted
    ]


def by_hand(source: str, change: str) -> Mutant:
    "The mutant `old => new`; the old text must stand in the source exactly once, in any layout."
    old, arrow, new = (part.strip() if part != '=>' else part for part in change.partition('=>'))
    if not arrow:
        raise ValueError(f'{change!r}: write a change as `old => new`')
    found = places(source, old)
    if len(found) != 1:
        raise ValueError(
            f'{old!r} stands {len(found)} times in the cell; quote enough to make it one'
        )
    ((start, end),) = found
    return Mutant(f'{old} -> {new}', source[:start] + new + source[end:])
