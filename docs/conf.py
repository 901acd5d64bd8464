"""Sphinx configuration; nothing here needs a network."""

import os
import re
import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE / "_ext"), str(_HERE.parent)]

from skfrontier import __version__  # noqa: E402

project = "scikit-frontier"
author = "scikit-frontier developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "myst_parser",
    "benchmark_pages",
    "mathml",
]
exclude_patterns = ["_build", "api/generated/*.examples"]
templates_path = ["_templates"]

autosummary_generate = True
autosummary_imported_members = True  # the layers re-export what their folders define ...
autosummary_ignore_module_all = False  # ... and __all__ says what is public
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "scikit-frontier"
html_static_path = ["_static"]
html_css_files = ["frontier.css"]
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}
html_sidebars = {page: [] for page in ("changelog", "benchmarks", "benchmarks/generated/*")}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": os.sep + "plot_",
    "ignore_pattern": "quickstart",
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "min_reported_time": 1,
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
}


def skip_metadata_requests(app, what, name, obj, skip, options):
    """Leave out the methods that scikit-learn generates; their texts refer to its own guide."""
    return skip or bool(re.fullmatch(r"set_\w+_request", name))


def setup(app):
    """Connect the hook."""
    app.connect("autodoc-skip-member", skip_metadata_requests)
