"""Sphinx: the pages of this folder, and the reference from the docstrings of the installed package (`make docs`)."""

import re
import shutil
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml
from sphinx.addnodes import pending_xref

import pdgpu

sys.path.insert(0, str(Path(__file__).parent))
import class_examples
import gallery_pages
import site_checks

# Sphinx reads what is below this folder: a copy, since links through a symbolic link lead out of it
DOCS = Path(__file__).parent
shutil.copytree(DOCS.parent / "notebooks", DOCS / "notebooks", ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)

project = "pdgpu"
version = release = pdgpu.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinxcontrib.bibtex",
    "myst_nb",
]
html_theme = "furo"
html_title = f"pdgpu {version}"
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
autodoc_typehints = "none"  # the docstrings say them, with shapes and units
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
html_math_renderer = "mathml"
nb_execution_mode = "off"  # notebooks are stored executed, and a test executes them
html_static_path = ["static"]
html_css_files = ["gallery.css"]
exclude_patterns = ["reference/class_examples.txt"]
# external links, for `make links`; a site that refuses programs cannot be checked
linkcheck_timeout = 30
linkcheck_retries = 2
linkcheck_anchors = False
default_role = "py:obj"


def setup(app):
    app.add_html_math_renderer("mathml", (inline_equation, None), (displayed_equation, None))
    app.connect("source-read", prepare_page)
    app.connect("build-finished", site_checks.check_site)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", class_examples.add_example)
    app.connect("doctree-read", own_attributes_only)


def prepare_page(app, page, source):
    """Links to the folder of notebooks, which readers of the repository follow, become links to their pages here."""
    source[0] = re.sub(r"\]\((?:\.\./)+notebooks/(\w+\.ipynb)\)", r"](/notebooks/\1)", source[0])
    if page.startswith("gallery/"):
        source[0] = gallery_pages.filled(page, source[0])


def escape_bars(app, what, name, thing, options, lines):
    """|x| is a norm in the docstrings, and would be a substitution here."""
    lines[:] = [line if "`" in line and "|" in "".join(line.split("`")[1::2]) else line.replace("|", "\\|") for line in lines]


def own_attributes_only(app, doctree):
    """Names of fields link to attributes of their own class. Sphinx would search every class, and warn where several have the name."""
    for reference in doctree.findall(pending_xref):
        if reference.get("refdomain") == "py" and reference.get("reftarget", "")[:1].islower():
            reference.attributes.pop("refspecific", None)


def inline_equation(translator, node):
    """MathML, which browsers show without a script or a network. An equation that cannot be converted ends the build."""
    translator.body.append(latex2mathml.tex2mathml(node.astext()))
    raise SkipNode


def displayed_equation(translator, node):
    equation = latex2mathml.tex2mathml(node.astext(), as_block=True)
    translator.body.append(f'<div style="overflow-x: auto; overflow-y: hidden; padding: 0.4em 0">{equation}</div>')
    raise SkipNode
