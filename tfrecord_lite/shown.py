"""What prompts and notebooks show of values: short texts, and the hooks that say more.

A class that notebooks show as a table has the line ``_repr_html_ = repr_html``. Nothing in the codec knows
HTML, or images: the package's root fills the hooks with the app for notebooks and with what recognises
values, which are loaded when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable

html_of: Callable[[object], str] = repr
"""Returns an object as a small table in HTML, as soon as the root has set it."""

content_of: Callable[[bytes], str | None] | None = None
"""Returns what an image, a sound or an array is, such as "PNG 8 x 8, 90 bytes", as soon as the root has set it."""

_SHOWN_BYTES = 32


def value_text(value: object) -> str:
    """Return a value as Python writes it; of a long byte string what it is, or how it begins."""
    if not isinstance(value, bytes | str):
        text = str(value)
        return text if len(text) <= 2 * _SHOWN_BYTES else f"{text[: 2 * _SHOWN_BYTES]}..."
    if len(value) <= _SHOWN_BYTES:
        return repr(value)
    content = content_of(value) if content_of and isinstance(value, bytes) else None
    unit = "bytes" if isinstance(value, bytes) else "characters"
    return f"<{content}>" if content else f"{value[:_SHOWN_BYTES]!r}... ({len(value):,} {unit})"


def repr_html(thing: object) -> str:
    """Return an object as a small table in HTML."""
    return html_of(thing)
