"""Figures of pages that run to see whether they do: drawn, but small, once and without a layout.
Formulas of ticks are read once for all figures."""

import functools
import io

import matplotlib as mpl
from IPython import get_ipython
from matplotlib.backends import backend_agg
from matplotlib.figure import Figure
from matplotlib.image import imsave

from extreme_opt.show import widgets


def picture(figure, dpi=144, colors=64) -> bytes:
    "In place of `show.plots.picture`, and of what shows a figure below its cell."
    figure.set_layout_engine('none')
    figure.set_dpi(20)
    canvas = backend_agg.FigureCanvasAgg(figure)
    canvas.draw()
    imsave(out := io.BytesIO(), canvas.buffer_rgba(), format='png')
    return out.getvalue()


widgets.picture = picture
get_ipython().display_formatter.formatters['image/png'].for_type(Figure, picture)
backend_agg.MathTextParser = functools.cache(backend_agg.MathTextParser)
mpl.rcParams['figure.dpi'] = 20
mpl.rcParams['figure.constrained_layout.use'] = False
