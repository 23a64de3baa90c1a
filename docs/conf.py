"""How Sphinx makes the site: `make docs` writes it to docs/_build/."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from dpverify import __version__  # noqa: E402 - found on the path that was just told

project = "dpverify"
author = "The dpverify maintainers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "_reference"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # `--option` is no dash

autodoc_typehints = "none"  # the docstring says domain and unit, of which a type knows nothing
autodoc_preserve_defaults = True  # 10**6 reads better than 1000000
autodoc_member_order = "bysource"
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"dpverify {release}"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}  # they would point to a hosted repository
