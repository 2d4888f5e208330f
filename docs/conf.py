"""How Sphinx builds these pages: ``sphinx-build -W docs docs/_build/html``."""

from __future__ import annotations

import importlib
import os
import sys
import urllib.request
from importlib.metadata import metadata
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

_DISTRIBUTION = "tfrecord-numpy"

project = "tfrecord_lite"
release = version_of(_DISTRIBUTION)
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    # Ours, in docs/_ext.
    "command_line",
    "pictures",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"tfrecord_lite {release}"
html_static_path = ["_static"]
html_css_files = ["ours.css"]
html_show_copyright = False
smartquotes_action = "D"  # dashes; quotes in the help of the command line are code
pygments_dark_style = "github-dark"
maximum_signature_line_length = 88

# Rules are referred to by anchor: semantics.md#r2.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The docstrings state the types in words (dtype and shape), which say more than
# annotations; those stay in the signatures.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Types are words, such as "uint8, shape (n_bytes,)"; none of them is a link.
napoleon_use_param = False
napoleon_use_rtype = False

# References to names of this package have to resolve; those of other projects may be out of reach.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!tfrecord_lite\b).*"),
    ("py:.*", r"tfrecord_lite\..*\b_\w+(\.\w+)?"),  # private
    # Internal: they stand in signatures and in the heads of modules.
    ("py:.*", r"tfrecord_lite\..*\.(T_co|Operators|DamageLog|Html|MessageWriter)"),
    ("py:.*", r"tfrecord_lite\..*\.(ExampleList|PlanNode|RecordBatches|SequenceRow|Settings)"),
    (
        "py:.*",
        r"tfrecord_lite\.(records\.(crc_combine|stream)|tensors\.serialize|testing\.reencode)\b.*",
    ),
]


# ------------------------------------------------------------------ a page per object

_BASES_NOT_SHOWN = [
    *("object", "BaseException", "tuple", "int", "str", "Generic", "Mapping", "Sequence"),
    "Dataset",  # has a page, to which those of its subclasses refer
]


def methods_of(name: str) -> list[str]:
    """Return the methods that the page of a class shows: its own and those it inherits in the package."""
    module, _, attribute = name.rpartition(".")
    one = getattr(importlib.import_module(module), attribute)
    found: dict[str, None] = {}
    for each in one.__mro__:
        is_shown = each is one or each.__name__ not in _BASES_NOT_SHOWN
        if each.__module__.startswith("tfrecord_lite") and is_shown:
            names = [key for key in vars(each) if not key.startswith("_")]
            found |= dict.fromkeys(key for key in names if callable(getattr(one, key)))
    return [key for key in found if getattr(one, key).__doc__]


def has_bases(name: str) -> bool:
    """Return whether the page of a class names what it is derived from."""
    module, _, attribute = name.rpartition(".")
    return bool(getattr(importlib.import_module(module), attribute).__mro__[1:-1])


# For docs/_templates/autosummary. Sphinx cannot compare functions with those of an earlier build, and says so.
autosummary_context = {
    "bases_not_shown": ", ".join(_BASES_NOT_SHOWN),
    "has_bases": has_bases,
    "methods_of": methods_of,
}
suppress_warnings = ["config.cache"]


# ------------------------------------------------------------------ links to other sites

_INVENTORIES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "pyarrow": "https://arrow.apache.org/docs/",
    "torch": "https://docs.pytorch.org/docs/stable/",
}


def _is_reachable(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}objects.inv", timeout=5) as response:  # noqa: S310 - https
            return bool(response.status == 200)
    except OSError:
        return False


# A build without a network has no such links, and no warnings either.
intersphinx_mapping = {
    name: (url, None) for name, url in _INVENTORIES.items() if _is_reachable(url)
}


def _repository() -> str | None:
    """Return the address that the package states, or that of the fork which a workflow runs in."""
    for line in metadata(_DISTRIBUTION).get_all("Project-URL") or []:
        label, _, url = line.partition(", ")
        if label.lower() in ("source", "repository"):
            return str(url)
    if name := os.environ.get("GITHUB_REPOSITORY"):
        return f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}"
    return None


# Links by which a page is edited.
if _source := _repository():
    html_theme_options = {
        "source_repository": _source,
        "source_branch": "main",
        "source_directory": "docs/",
    }
