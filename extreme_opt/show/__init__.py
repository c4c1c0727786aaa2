"""Figures and sliders: the only home of matplotlib and ipywidgets.

Names are loaded when they are first used, so that importing this package needs neither of the two.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extreme_opt.show.maps import (
        aligned,
        embedding_map,
        embedding_maps,
        error_curve,
        label_points,
    )
    from extreme_opt.show.plots import (
        PALETTE,
        bound_picture,
        color_of,
        convergence,
        picture,
        spectrum,
        style,
        style_of,
    )
    from extreme_opt.show.widgets import frames, live

_HOMES = dict.fromkeys(
    'PALETTE bound_picture color_of convergence picture spectrum style style_of'.split(),
    'plots',
)
_HOMES |= dict.fromkeys(
    'aligned embedding_map embedding_maps error_curve label_points'.split(), 'maps'
)
_HOMES |= dict.fromkeys('frames live'.split(), 'widgets')
__all__ = [
    'PALETTE',
    'aligned',
    'bound_picture',
    'color_of',
    'convergence',
    'embedding_map',
    'embedding_maps',
    'error_curve',
    'frames',
    'label_points',
    'live',
    'picture',
    'spectrum',
    'style',
    'style_of',
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(
            f'module {__name__!r} has no attribute {name!r}; it has {", ".join(__all__)}'
        )
    try:
        value = getattr(import_module(f'{__name__}.{_HOMES[name]}'), name)
    except ModuleNotFoundError as error:
        missing = (error.name or '').split('.')[0]
        if missing not in ('matplotlib', 'ipywidgets', 'IPython', 'PIL'):
            raise
        raise ImportError(
            f'show.{name} needs {missing}, which is not installed; pip install "extreme_opt[show]"'
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
