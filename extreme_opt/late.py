"""What a lower package asks of a higher one: by name, so that it imports nothing from above."""

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
