"""Settings of the book in print: the lessons and guides of the site as EPUB and as LaTeX.

    make print       or: sphinx-build -b epub -c docs/printed build/printed _print/epub

`printed` writes what Sphinx reads, from the pages of the site in `build/pages`.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), *(str(ROOT / 'docs' / one) for one in ('', '_ext'))]

import addresses  # noqa: E402

project, author, version = 'extreme_opt', 'The extreme_opt authors', addresses.version()
release, copyright = '', author
title = 'Learning at extreme sizes'
extensions = ['myst_nb', 'sphinx.ext.mathjax', 'printed']
nb_execution_mode = 'off'
nb_merge_streams = True
nb_render_markdown_format = 'myst'
myst_enable_extensions = ['dollarmath', 'amsmath', 'attrs_inline']
myst_heading_anchors = 4
suppress_warnings = ['epub.unknown_project_files', 'myst.xref_missing', 'mystnb.mime_priority']
nb_mime_priority_overrides = [(one, 'image/png', 0) for one in ('epub', 'latex')]
pygments_style = 'a11y-high-contrast-light'
numfig, today = False, f'Version {version}'

epub_title, epub_show_urls = title, 'no'
html_static_path, epub_css_files = ['static'], ['print.css']
epub_tocdepth, epub_use_index = 2, False
epub_identifier = epub_uid = 'extreme-opt'
epub_description = 'Four methods for problems whose naive cost is out of reach, derived and run.'

latex_engine = 'xelatex'
latex_documents = [('index', 'extreme_opt.tex', title, author.replace('_', r'\_'), 'manual')]
latex_toplevel_sectioning = 'part'
latex_show_urls = 'no'
latex_elements = dict(
    papersize='a4paper',
    pointsize='10pt',
    babel='',
    extraclassoptions='openany,oneside',
    fontpkg=r'\setmonofont{DejaVu Sans Mono}[Scale=0.73]',
    sphinxsetup='verbatimwrapslines=true, verbatimforcewraps=true, TitleColor={rgb}{0,0,0}',
    preamble=r'\usepackage{amsmath,amssymb}\setcounter{tocdepth}{1}',
)
