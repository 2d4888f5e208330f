"""How Sphinx builds these pages: ``sphinx-build -W docs docs/_build/html``."""

from __future__ import annotations

import importlib
import os
import sys
import tomllib
import urllib.request
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util.inspect import signature, stringify_signature

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

project = "tfrecord_lite"
release = version_of("tfrecord-numpy")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    # Ours, in docs/_ext.
    "keywords",
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
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The docstrings state the types in words (dtype and shape), which say more than
# annotations; those stay in the signatures.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
# The modules for engines are imported without the engines: each needs an environment of its own.
autodoc_mock_imports = ["apache_beam", "grain", "keras", "pyspark", "ray"]
napoleon_google_docstring = False
# Types are words, such as "uint8, shape (n_bytes,)"; none of them is a link.
napoleon_use_param = False
napoleon_use_rtype = False

# References to names of this package have to resolve; names of other projects may be out of reach.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!tfrecord_lite\b).*"),
    ("py:.*", r"tfrecord_lite\..*\b_\w+(\.\w+)?"),  # private
    # Internal: they stand in signatures and in the heads of modules.
    (
        "py:.*",
        r"tfrecord_lite\..*\.(T_co|Item|WrittenPart|MessageWriter|PlanNode|ReadSettings|RecordBatches)",
    ),
    (
        "py:.*",
        r"tfrecord_lite\..*\.(SequenceRow|SchemaItem|IndexedExamples|RecordIndex|KeyedPartition|ScanOptions)",
    ),
    (
        "py:.*",
        r"tfrecord_lite\..*\.(ByteRanges|FilePart|TensorType|EventValues|Tags|ImageProblem)",
    ),
    (
        "py:.*",
        r"tfrecord_lite\.(records\.(crc32c|damage)|tensors\.serialize|testing\.reencode)\b.*",
    ),
]


# ------------------------------------------------------------------ a page per object

_BASES_NOT_SHOWN = [
    *(
        "object",
        "BaseException",
        "tuple",
        "int",
        "str",
        "Generic",
        "Mapping",
        "Sequence",
    ),
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


def _show_signature(
    _app: Sphinx,
    what: str,
    _name: str,
    one: Any,
    _options: Any,
    shown: str | None,
    _returned: Any,
) -> tuple[str, None] | None:
    """Show how a class is made whose base stands for one of an engine, and so takes anything."""
    if what != "class" or shown != "(*args: Any, **kwargs: Any)":
        return None
    own = signature(one.__init__, bound_method=True)
    return stringify_signature(own.replace(return_annotation=own.empty)), None


def _show_bases(
    _app: Sphinx, _name: str, _one: Any, _options: Any, bases: list[Any]
) -> None:
    """Show what a class is derived from in public: a private base is replaced by its own bases."""
    while private := [
        base for base in bases if getattr(base, "__name__", "").startswith("_")
    ]:
        at = bases.index(private[0])
        bases[at : at + 1] = [
            base for base in private[0].__bases__ if base is not object
        ]


def setup(app: Sphinx) -> None:
    """Connect what changes pages while they are made."""
    app.connect("autodoc-process-signature", _show_signature)
    app.connect("autodoc-process-bases", _show_bases)
    app.connect("html-page-context", _edit_the_module)


# For docs/_templates/autosummary. Sphinx cannot compare functions with an earlier build's, and says so.
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
    """Return the repository that pyproject.toml names, or the fork in which a workflow runs."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get(
        "urls", {}
    )
    if source := urls.get("Source"):
        return str(source).rstrip("/")
    if name := os.environ.get("GITHUB_REPOSITORY"):
        return f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}"
    return None


# Links by which a page is edited. The page of an object is edited in the module that has its docstring.
if _source := _repository():
    html_theme_options = {
        "source_repository": _source,
        "source_branch": "main",
        "source_directory": "docs/",
    }


def _edit_the_module(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    folder, _, name = page.rpartition("/")
    if _source is None or folder != "reference/api/generated":
        return
    module, _, attribute = name.rpartition(".")
    one = getattr(importlib.import_module(module), attribute)
    file = Path(sys.modules[getattr(one, "__module__", module)].__file__ or "")
    for verb in "edit", "view":
        link = f"{_source}/{'blob' if verb == 'view' else 'edit'}/main/{file.relative_to(ROOT)}"
        context[f"theme_source_{verb}_link"] = link
