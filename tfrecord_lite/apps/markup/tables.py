"""Panels of small tables, as notebooks show them: a title, and tables.

::

    panel("Schema of 2 features",
          table(["name", "dtype"], rows))           <- cells: text, a number, or Html

A cell that is a ``str`` is escaped, cut, and shows what cannot be printed as escapes; a number is short,
and set to the right. Rows and columns beyond a limit are only counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from typing import TypeAlias

MAX_ROWS = 40
MAX_COLUMNS = 16
MAX_TEXT = 160
"""Most rows and columns of a table, and characters of a text, that are shown."""

# What would not be seen, would reorder the text around it, or cannot be stored as UTF-8.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# Not by the module html, whose table of entities takes a millisecond to load.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class Html(str):
    """Markup, in which every text has been escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return itself, as template engines ask for it."""
        return self


Cell: TypeAlias = "Html | str | float | None"


def quoted(text: str) -> Html:
    """Return a text as it is, with entities for what would be markup."""
    return Html(text.translate(_ESCAPES))


def visible(text: str) -> str:
    r"""Return a text with escapes for control characters, and for what would reorder it.

    >>> visible("a\x00b\u202ec\n")
    'a\\x00b\\u202ec\n'
    """
    return _UNSEEN.sub(lambda match: repr(match[0])[1:-1], text)


def escaped(text: str, limit: int = MAX_TEXT) -> Html:
    r"""Return a text on one line, cut after `limit` characters, with escapes for what is not seen.

    >>> escaped("a<b>\t"), escaped("long text", 4)
    ('a&lt;b&gt;\\t', 'long…')
    """
    shown = visible(text[:limit]).replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return Html(quoted(shown) + ("…" if len(text) > limit else ""))


def panel(title: str, *parts: Html) -> str:
    """Return a whole representation: a title, and tables below it."""
    head = f'<div class="tfl-title">{escaped(title)}</div>'
    return f'<div class="tfrecord-lite"><style>{_style()}</style>{head}{"".join(parts)}</div>'


@cache
def _style() -> str:
    from importlib import resources  # noqa: PLC0415 - not light

    return (resources.files("tfrecord_lite.apps.markup") / "panel.css").read_text("utf-8").strip()


def table(
    header: Sequence[Cell],
    rows: Iterable[Sequence[Cell]],
    *,
    n_rows: int | None = None,
    noun: str = "row",
    caption: str = "",
    max_rows: int = MAX_ROWS,
) -> Html:
    """Return a table of the first rows and columns, and say how many more there are.

    Only as many rows are taken as are shown; `n_rows` is the number of all, if there may be more.
    """
    shown = [row[:MAX_COLUMNS] for row in islice(rows, max_rows)]
    columns = header[:MAX_COLUMNS]
    first = shown[0] if shown else [""] * len(columns)
    numbers = [isinstance(cell, int | float) for cell in first]
    heads = [_element("th", name, right) for name, right in zip(columns, numbers, strict=True)]
    lines = [[_element("td", cell, isinstance(cell, int | float)) for cell in row] for row in shown]
    if len(header) > MAX_COLUMNS:
        heads.append(_element("th", f"... and {len(header) - MAX_COLUMNS:,} more"))
        lines = [[*line, "<td></td>"] for line in lines]
    n_hidden = 0 if n_rows is None else n_rows - len(shown)
    if n_hidden > 0:
        more = f"... and {n_hidden:,} more {noun}{'' if n_hidden == 1 else 's'}"
        lines.append([f'<td class="tfl-more" colspan="{len(heads)}">{escaped(more)}</td>'])
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    head, *body = (f"<tr>{''.join(line)}</tr>" for line in [heads, *lines])
    return Html(f"<table>{title}<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>")


def _element(tag: str, cell: Cell, is_number: bool = False) -> str:  # noqa: FBT001, FBT002
    scope = ' scope="col"' if tag == "th" else ""
    kind = ' class="tfl-number"' if is_number else ""
    if isinstance(cell, int | float):
        cell = Html(f"{cell:,}" if isinstance(cell, int) else f"{cell:.6g}")
    content = cell if isinstance(cell, Html) else escaped(cell or "")
    return f"<{tag}{scope}{kind}>{content}</{tag}>"
