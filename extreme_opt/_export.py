"""Makes nbdev write imports of this package in one form; `export_procs` in pyproject.toml loads it.

No wheel holds it.
"""

import ast
from typing import Any

from nbdev import maker

_update_import = maker.update_import


def _update_whole(source: str, tree: Any, *args: Any) -> Any:
    """nbdev's `update_import`, for imports in parentheses and in functions as well.

    It takes the place where an import ends for one in the first line, so that an import of
    several lines stayed absolute, and it looks at the outermost statements only.
    """
    found = [node for one in tree or () for node in ast.walk(one)]
    imports = [node for node in found if isinstance(node, ast.ImportFrom)]
    for node in imports:
        node.end_col_offset = len(source.splitlines()[node.lineno - 1])
    return _update_import(source, imports, *args)


maker.update_import = _update_whole


def loaded(cell: Any) -> None:
    """Leave a cell as it is: what nbdev calls, once this module is there.

    Parameters
    ----------
    cell : object
        A cell of a notebook.
    """
