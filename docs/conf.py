"""Sphinx: the pages of this folder, and the reference from the docstrings of the installed package (`make docs`)."""

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml
from sphinx.addnodes import pending_xref

import pdgpu

project = "pdgpu"
version = release = pdgpu.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinxcontrib.bibtex",
    "myst_parser",
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
default_role = "py:obj"


def setup(app):
    app.add_html_math_renderer("mathml", (inline_equation, None), (displayed_equation, None))
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("doctree-read", own_attributes_only)


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
