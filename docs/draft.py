"Figures of pages that run to see whether they do: drawn, but small and without a layout."

import io

import matplotlib as mpl
from matplotlib_inline.backend_inline import set_matplotlib_formats

from extreme_opt.show import widgets


def picture(figure, dpi=144, colors=64) -> bytes:
    "In place of `show.plots.picture`."
    out = io.BytesIO()
    figure.set_layout_engine('none')
    figure.savefig(out, dpi=20)
    return out.getvalue()


widgets.picture = picture
set_matplotlib_formats('png', bbox_inches=None)
mpl.rcParams['figure.dpi'] = 20
mpl.rcParams['figure.constrained_layout.use'] = False
