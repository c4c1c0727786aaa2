"""Settings of the site, which Sphinx builds without running anything.

    make docs        or: mkdir -p build/pages; sphinx-build -c docs -d build/doctrees build/pages
                     _docs

The extension `book` writes notebooks, results and the reference into `build/pages`, and `gates`
ends the build with an error when a link, a formula or an alternative text is missing or broken.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.modules['rfc3987_syntax'] = None  # type: ignore  # jsonschema does without; 38 parsers, 3 s
sys.path[:0] = [str(ROOT), str(ROOT / 'docs'), str(ROOT / 'docs' / '_ext')]

import addresses  # noqa: E402

project = 'extreme_opt'
author = 'The extreme_opt authors'
version = release = addresses.version()
extensions = 'book reference gates live myst_nb numpydoc sphinx_copybutton'.split()
extensions += [f'sphinx.ext.{name}' for name in ('autodoc', 'autosummary', 'mathjax')]
repository_url, html_baseurl = addresses.of()  # empty: no links to it, no launch buttons

# Notebooks: saved outputs only
nb_execution_mode = 'off'
nb_render_markdown_format = 'myst'
nb_merge_streams = True
myst_enable_extensions = ['dollarmath', 'amsmath', 'attrs_inline']
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Reference
autosummary_generate = False
autodoc_member_order = 'bysource'
autodoc_typehints = 'none'
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = 'code'
add_module_names = False
toc_object_entries_show_parents = 'hide'
python_maximum_signature_line_length = 88

# Look
html_theme = 'sphinx_book_theme'
html_title = project
html_static_path = ['static', str(ROOT / 'nbs' / 'styles.css')]
html_css_files = ['styles.css']
html_js_files = [('site.js', dict(defer='defer'))]
html_favicon = 'static/favicon.svg'
html_context = dict(default_mode='auto')
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {'index': [], '**': ['sidebar-nav-bs.html']}
html_theme_options = dict(
    navbar_start=['navbar-logo.html'],
    navbar_center=['navbar-nav.html'],
    navbar_end=['theme-switcher.html'],
    navbar_persistent=['search-button-field.html'],  # in the header at every width
    article_header_start=[],  # scripts of the theme know only the buttons of the header
    article_header_end=[],
    use_download_button=False,
    use_fullscreen_button=False,
    show_nav_level=1,
    show_toc_level=2,
    toc_title='On this page',
    repository_url=repository_url,
    use_repository_button=bool(repository_url),
    footer_content_items=[],
    back_to_top_button=True,
    collapse_navigation=False,
)
pygments_style = 'a11y-high-contrast-light'
copybutton_selector = 'div.cell_input div.highlight pre, div.highlight-default pre'
templates_path = ['templates']
exclude_patterns: list[str] = []
