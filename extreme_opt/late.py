"""What a lower package asks of a higher one: by name, so that it imports nothing from above."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

REGISTERED: dict[str, str] = {}  # name -> "module:attribute", imported when it is first found


def register(name: str, place: str) -> None:
    """Say where something is.

    Parameters
    ----------
    name : str
        What it is asked for by.
    place : str
        Module and attribute, as in "extreme_opt.scale.estimators:on_client".
    """
    REGISTERED[name] = place


def find(name: str) -> Any:
    """Import what was registered by a name.

    Parameters
    ----------
    name : str

    Returns
    -------
    object
    """
    module, _, attribute = REGISTERED[name].partition(':')
    return getattr(import_module(module), attribute)


def names_of(package: str, places: dict[str, str]) -> tuple[Callable, Callable]:
    """Make `__getattr__` and `__dir__` of a package that imports some names when they are used.

    Parameters
    ----------
    package : str
        Its name; `__all__` lists all its names.
    places : dict of str to str
        Modules of the package by the names that are in them.

    Returns
    -------
    tuple[Callable, Callable]
    """

    def get(name: str) -> Any:
        if name in places:
            return getattr(import_module(f'{package}.{places[name]}'), name)
        raise AttributeError(f'module {package!r} has no attribute {name!r}')

    return get, lambda: sorted(sys.modules[package].__all__)
