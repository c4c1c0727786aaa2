"""The backend of matplotlib inside the engine: `plt.show` hands the open figures to the page."""

from __future__ import annotations

import base64
import io

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

LARGEST_SVG = 1_000_000  # characters; a drawing with more marks is sent as a PNG


class FigureManager(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block=None):
        flush()


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager


def drawn(figure) -> dict[str, str]:
    "MIME bundle of a figure."
    out = io.StringIO()
    figure.savefig(out, format='svg', bbox_inches='tight', metadata={'Date': None})
    if len(out.getvalue()) <= LARGEST_SVG:
        return {'image/svg+xml': out.getvalue()}
    raw = io.BytesIO()
    figure.savefig(raw, format='png', bbox_inches='tight', dpi=144)
    return {'image/png': base64.b64encode(raw.getvalue()).decode()}


def flush():
    "Send the open figures to the page and close them."
    import guest
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        figure = plt.figure(number)
        if figure.axes or figure.texts:
            guest.send('data', data=drawn(figure))
        plt.close(number)
