"""What notebooks show of an object: the hook behind ``_repr_html_``.

A class that notebooks show as a table has the line ``_repr_html_ = repr_html``. Nothing in the codec knows
HTML: the package's root fills the hook with the app for notebooks, which is loaded when a notebook asks.
"""

from __future__ import annotations

from collections.abc import Callable

html_of: Callable[[object], str] = repr
"""Returns an object as a small table in HTML, as soon as the root has set it."""


def repr_html(thing: object) -> str:
    """Return an object as a small table in HTML."""
    return html_of(thing)
