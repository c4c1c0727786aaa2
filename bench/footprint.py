"""The code that a measuring script can reach: a result is old when one of these definitions has changed, and stays what it is when anything else has.

From a script on, names are followed through imports into the package and into the other scripts, definition by definition: a function, a whole class, a
constant. What is compared is the syntax tree, without docstrings, annotations of arguments and comments. Names of modules that are used as such
(`data.load`) are followed by their attributes; programs that a script holds as text are followed too; another script that starts itself anew counts as
a whole. Not counted are the helpers of the harness itself (run, machine, memory, footprint), what the lower floors import of the upper ones inside
functions (a cluster, a progress bar), and what is found by a word at run time only (readers of data sets, whose content has checksums of its own).
"""
from __future__ import annotations

import ast
import functools
import hashlib
import textwrap
from collections.abc import Iterator
from pathlib import Path

HARNESS = {'run', 'machine', 'memory', 'footprint'}
UPPER = {'scale', 'show', 'lab'}
Key = tuple[str, str]      # module, name; the name '' is a whole module


class Module:
    "One file: its definitions by name, and what its other names were imported as."

    def __init__(self, name: str, path: Path):
        self.name, self.path = name, path
        self.package = name if path.name == '__init__.py' else name.rpartition('.')[0]
        self.tree = ast.parse(path.read_text(encoding='utf-8'))
        self.made: dict[str, list[ast.stmt]] = {}
        self.brought = bindings(self.tree.body, self.package)
        for statement in self.tree.body:
            for made in names_made(statement): self.made.setdefault(made, []).append(statement)


def names_made(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)): return {statement.name}
    targets = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    if isinstance(statement, ast.Assign):
        targets += [part.value for part in statement.targets if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.value, ast.Name)]
    inner = {node.name for node in ast.walk(statement) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return {node.id for node in targets} | inner


def bindings(body: list[ast.stmt], package: str) -> dict[str, Key]:
    "What imports bind, functions and classes left out: local name -> (module, name)."
    found: dict[str, Key] = {}
    queue: list[ast.AST] = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Import):
            for each in node.names: found[each.asname or each.name.split('.')[0]] = (each.name if each.asname else each.name.split('.')[0], '')
        elif isinstance(node, ast.ImportFrom):
            base = '.'.join(package.split('.')[:len(package.split('.')) - node.level + 1]) if node.level else ''
            module = '.'.join(part for part in (base, node.module or '') if part)
            for each in node.names: found[each.asname or each.name] = (module, each.name)
        elif not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)): queue.extend(ast.iter_child_nodes(node))
    return found


class Code:
    "The files of a checkout, read when asked for."

    def __init__(self, root: Path):
        self.root = root
        self.modules: dict[str, Module | None] = {}
        self.reached: dict[Key, tuple[list[Key], str]] = {}

    def module(self, name: str) -> Module | None:
        if name not in self.modules:
            inside = name == 'extreme_opt' or name.startswith('extreme_opt.')
            stem = self.root/name.replace('.', '/') if inside else self.root/'bench'/name
            paths = [stem/'__init__.py', stem.with_suffix('.py')] if inside else [] if name in HARNESS or '.' in name else [stem.with_suffix('.py')]
            self.modules[name] = next((Module(name, path) for path in paths if path.exists()), None)
        return self.modules[name]

    def resolve(self, module: str, name: str) -> Key | None:
        "The place of the definition that `from module import name` gives; None outside of this checkout."
        for _ in range(20):
            found = self.module(module)
            if found is None: return (f'{module}.{name}', '') if name and self.module(f'{module}.{name}') else None
            if not name or name in found.made: return module, name
            if name in found.brought:
                module, name = found.brought[name]
                continue
            return (f'{module}.{name}', '') if self.module(f'{module}.{name}') else None
        return None

    def uses(self, node: ast.AST, home: Module) -> Iterator[Key]:
        "What a definition names: places of definitions, and whole modules that are used otherwise than by an attribute."
        local: dict[str, Key] = {}
        for part in ast.walk(node):
            if isinstance(part, (ast.Import, ast.ImportFrom)): local |= bindings([part], home.package)
        def named(name: str) -> Key | None:
            if name in local: return self.resolve(*local[name])
            return (home.name, name) if name in home.made else self.resolve(*home.brought[name]) if name in home.brought else None
        queue = [node]
        while queue:
            part, words = queue.pop(), []
            below: ast.AST = part
            while isinstance(below, ast.Attribute):
                words.append(below.attr)
                below = below.value
            if isinstance(below, ast.Name):
                place = named(below.id)
                while place and not place[1] and words: place = self.resolve(place[0], words.pop()) or (place if not place[0].startswith('extreme_opt') else None)
                if place: yield place
            elif words: queue.append(below)
            else: queue.extend(ast.iter_child_nodes(part))

    def reach(self, place: Key) -> tuple[list[Key], str]:
        "What a definition names, and a digest of its code; of a module of the package used as such, nothing."
        if place not in self.reached: self.reached[place] = self._reach(*place)
        return self.reached[place]

    def _reach(self, module: str, name: str) -> tuple[list[Key], str]:
        home = self.module(module)
        ours = not module.startswith('extreme_opt')
        if home is None or not name and not ours or name.startswith('__') and name not in home.made: return [], ''
        body = home.made[name] if name else [home.tree]
        if ours and name and any(isinstance(node, ast.Name) and node.id == '__file__' for one in body for node in ast.walk(one)): return [(module, '')], ''
        near = [place for one in body for place in self.uses(one, home)]
        if ours:
            if not name: near += [found for found in (self.resolve(*key) for key in home.brought.values()) if found]
            for program in (each for one in body for each in programs(one)):
                near += [found for found in (self.resolve(*key) for key in bindings(program.body, '').values()) if found]
        elif module.split('.')[1] not in UPPER: near = [one for one in near if one[0].split('.')[1:2] == [] or one[0].split('.')[1] not in UPPER]
        return list(dict.fromkeys(near)), digest(''.join(plain(one) for one in body))


def plain(node) -> str:
    "A syntax tree in words that are the same in every version of Python."
    if isinstance(node, list): return '[' + ' '.join(plain(part) for part in node) + ']'
    if not isinstance(node, ast.AST): return repr(node)
    said = [type(node).__name__]
    for field, value in ast.iter_fields(node):
        if value in (None, []) and not isinstance(node, ast.Constant) or field in ('ctx', 'kind', 'type_comment', 'annotation', 'returns', 'type_params'): continue
        if field == 'body' and isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)): value = [part for part in value if not is_text(part)]
        said.append(f'{field}={plain(value)}')
    return '(' + ' '.join(said) + ')'


def is_text(statement) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)


def digest(text: str, length: int = 8) -> str: return hashlib.sha256(text.encode()).hexdigest()[:length]


def programs(tree: ast.AST) -> list[ast.Module]:
    "Programs that stand as text in a script and import the package."
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 'import ' in node.value and 'extreme_opt' in node.value:
            try: found.append(ast.parse(textwrap.dedent(node.value)))
            except SyntaxError: pass
    return found


@functools.cache
def imports_of(root: Path) -> dict[str, str]:
    "The imports of every module of the package, for scripts about importing it."
    found = {}
    for path in sorted((root/'extreme_opt').rglob('*.py')):
        body = ast.parse(path.read_text(encoding='utf-8')).body
        found[f'imports of {path.relative_to(root).as_posix()}'] = digest(plain([part for part in body if isinstance(part, (ast.Import, ast.ImportFrom))]))
    return found


def parts(script: Path, root: Path, code: Code | None = None) -> dict[str, str]:
    "Every definition that a script of bench/ can reach, with a digest of its code; the script itself is one part."
    code = code or Code(root)
    found: dict[str, str] = {}
    queue: list[Key] = [(script.stem, '')]
    seen: set[Key] = set()
    while queue:
        place = queue.pop()
        if place in seen or not place[0].startswith('extreme_opt') and (place[0], '') in seen: continue
        seen.add(place)
        near, told = code.reach(place)
        if told: found['.'.join(place).removesuffix('.')] = told
        queue += near
    if any(isinstance(node, ast.Constant) and node.value == 'extreme_opt' for node in ast.walk(code.module(script.stem).tree)): found |= imports_of(root)
    return dict(sorted(found.items()))


def fingerprint(found: dict[str, str]) -> str: return digest('\n'.join(f'{name} {value}' for name, value in sorted(found.items())), 16)


def packed(found: dict[str, str]) -> dict[str, str]:
    "One entry a file, to be stored: file -> `name digest` of its definitions."
    lines: dict[str, list[str]] = {}
    for name, value in found.items():
        file, _, last = name.rpartition('.') if name.startswith('extreme_opt.') else name.partition('.')
        lines.setdefault(file, []).append(f'{last} {value}'.strip())
    return {file: ', '.join(words) for file, words in lines.items()}


def unpacked(stored: dict[str, str]) -> dict[str, str]:
    "The reverse of `packed`."
    found = {}
    for file, words in stored.items():
        for word in words.split(', '):
            last, _, value = word.rpartition(' ')
            found[f'{file}.{last}'.rstrip('.')] = value
    return found


def changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    "What differs, by name."
    return ([name for name in now if name in before and now[name] != before[name]] + [f'{name} (new)' for name in now if name not in before]
            + [f'{name} (gone)' for name in before if name not in now])
