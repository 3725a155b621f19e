"""Settings of the documentation; ``make docs`` builds it, with no network and no warning."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

import corral

mpl.use("Agg")
DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "corral"
copyright = "corral contributors, BSD-3-Clause"
version = release = corral.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "own_members",
]
templates_path = ["_templates"]
root_doc = "index"
exclude_patterns = [
    "_build",
    "gallery/*.ipynb",
    "gallery/*.py",
    "gallery/*.zip",
    "reproduction/data",
]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"  # docs/_ext: no script, no font, no network

autosummary_generate = True
autodoc_typehints = "none"
# Methods come with the class: its own page lists them, scikit-learn's are scikit-learn's.
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10_000,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "doc_module": ("corral",),
    "backreferences_dir": None,
    "capture_repr": ("_repr_html_",),
}

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "

html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = "corral"
html_static_path = ["_static"]
html_css_files = ["corral.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {
    "start": [],
    "changelog": [],
    "command-line": [],
    "how": [],
    "notation": [],
    "gallery/plot_*": [],
}
html_theme_options = {
    "logo": {"text": "corral"},
    "show_prev_next": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
}


def setup(app):
    """List the reproduction pages only once there are any: their own command writes them."""

    def drop(app, docname, source):
        if docname == "more" and not list((DOCS / "reproduction").glob("*.md")):
            source[0] = source[0].replace("reproduction/*\n", "")

    app.connect("source-read", drop)
