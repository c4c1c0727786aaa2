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

DRAWS = set('normal random integers choice uniform standard_normal permutation exponential'.split())
QUIET_CALLS = set(
    'print range arange linspace logspace geomspace default_rng expect_fail display frames'
    ' log_likely'.split()
)
QUIET_WORDS = set(
    'rtol atol tol size seed figsize label axis keepdims minlength max_iter max_epochs err_msg'
    ''.split()
)
QUIET_METHODS = DRAWS | set('plot set_title reshape zeros ones eye'.split())
FUNCTIONS = 'exp log log1p expm1 sqrt softplus omega wright_omega'.split()


class Mutant(NamedTuple):
    what: str  # the change, in words that name the place: "line 3: a - b -> a + b"
    source: str  # the whole changed source


def _name(node) -> str:
    return getattr(node, 'attr', '') or getattr(node, 'id', '')


def _is_drawn(node) -> bool:
    "Whether random numbers are made here: another sample is no other formula."
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return any(
        _name(one) == 'default_rng' or isinstance(one, ast.Attribute) and one.attr in DRAWS
        for one in calls
    )


def _is_shape(node) -> bool:
    "A sum of lists or texts, or a whole-number index, is no arithmetic of the formula."
    return any(
        isinstance(part, (ast.List, ast.Tuple, ast.JoinedStr))
        or isinstance(getattr(part, 'value', None), (str, bytes))
        for part in (node.left, node.right)
    )


def _is_tolerance(node) -> bool:
    values = (getattr(part, 'value', None) for part in (node.left, node.right))
    return any(isinstance(value, float) and 0 < abs(value) < 1e-3 for value in values)


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
            yield ast.BinOp(copy.deepcopy(node), ast.Mult(), ast.Constant(1.5))
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=part) if not isinstance(part, ast.Constant):
            yield part
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=two)])):
            if one != two:
                turned = ast.Tuple(node.slice.elts[::-1], ast.Load())
                yield ast.Subscript(node.value, turned, node.ctx)
        case ast.Call(func=function, args=[_]) if _name(function) in FUNCTIONS:
            yield ast.BinOp(copy.deepcopy(node), ast.Mult(), ast.Constant(1.25))


def _places(tree):
    "Nodes where a formula can stand, in the order of the source."

    def is_quiet(node):
        if isinstance(node, ast.Call):
            method = isinstance(node.func, ast.Attribute) and node.func.attr in QUIET_METHODS
            return method or _name(node.func) in QUIET_CALLS or _is_drawn(node)
        words = ast.Import, ast.ImportFrom, ast.JoinedStr, ast.arguments
        return isinstance(node, words) or isinstance(node, ast.expr) and _is_drawn(node)

    def visit(node):
        if is_quiet(node):
            return
        if isinstance(node, ast.Assert):
            node = ast.Assert(node.test, None)
        yield node
        for field, value in ast.iter_fields(node):
            if isinstance(node, ast.Subscript) and field == 'slice':
                continue
            if isinstance(node, ast.Compare) and field == 'comparators':
                if any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops):
                    constants = [
                        [n for n in ast.walk(part) if isinstance(n, ast.Constant)] for part in value
                    ]  # bounds and tolerances
                    value = [part for part, own in zip(value, constants) if not own]
            if isinstance(node, ast.Call) and field == 'args':
                if _name(node.func).startswith(('assert_', 'check_')):
                    value = value[:2]
            for part in value if isinstance(value, list) else [value]:
                quiet = isinstance(part, ast.keyword) and part.arg in QUIET_WORDS
                if isinstance(part, ast.AST) and not quiet:
                    yield from visit(part)

    for statement in tree.body:
        yield from visit(statement)


def _leading(tree) -> set[int]:
    """Statements (by identity) whose results reach an assertion; the rest of the cell cannot be
    noticed by it."""
    wanted, kept = set(), set()

    def names(node, kind):
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}

    def asserts(n):
        checks = ('assert_', 'check_', 'expect_fail')
        called = isinstance(n, ast.Call) and _name(n.func).startswith(checks)
        return called or isinstance(n, ast.Assert)

    for statement in reversed(tree.body):
        inside, made = list(ast.walk(statement)), names(statement, ast.Store)
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            made.add(statement.name)
        for n in inside:
            match n:
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                    made.add(name)
        if any(map(asserts, inside)) or made & wanted:
            kept |= set(map(id, inside))
            wanted |= names(statement, ast.Load)
    return kept


def mechanical(source: str, function: str | None = None) -> list[Mutant]:
    """Every mutant of a check cell, or of one function or method of a cell (`name` or
    `Class.method`), in source order."""
    body = re.sub(r'^\s*[%!].*', '', source, flags=re.M)
    tree, found = ast.parse(body), []
    inside = set(map(id, ast.walk(_find(tree, function)))) if function else _leading(tree)
    for node in _places(tree):
        for new in _changes(node) if id(node) in inside else ():
            text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(new)))
            if changed := _replaced(body, node, text):
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
