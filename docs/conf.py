"""How Sphinx builds these pages: ``sphinx-build -W docs docs/_build/html``."""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "tfrecord_lite"
release = version_of("tfrecord-numpy")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tfrecord_lite {release}"

# Rules are referred to by anchor: semantics.md#r2.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# The docstrings state the types in words (dtype and shape), which say more than
# annotations; those stay in the signatures.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Types are words, such as "uint8, shape (n_bytes,)"; none of them is a link.
napoleon_use_param = False
napoleon_use_rtype = False
