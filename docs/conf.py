"""Sphinx: the pages of this folder, and the reference from the docstrings of the installed package (`make docs`)."""

import pdgpu

project = "pdgpu"
version = release = pdgpu.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "myst_parser"]
html_theme = "furo"
html_title = f"pdgpu {version}"
myst_heading_anchors = 2
autodoc_typehints = "none"  # the docstrings say them, with shapes and units
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "py:obj"
# links to files and folders beside docs/ are for who reads it in the repository; tests/test_documents.py follows them
# a name in backticks leads to the one of its class where several have it
suppress_warnings = ["myst.xref_missing", "ref.python"]


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars)


def escape_bars(app, what, name, thing, options, lines):
    """|x| is a norm in the docstrings, and would be a substitution here."""
    lines[:] = [line if "`" in line and "|" in "".join(line.split("`")[1::2]) else line.replace("|", "\\|") for line in lines]
