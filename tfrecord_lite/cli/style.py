"""Text on a terminal: colours, columns, sizes, lines of JSON.

::

    bold("records") + ": " + name   ──Console.say──>  with codes on a terminal, else without

A :class:`Styled` text is printable but for our own codes: what is joined to it becomes printable. Any
other text loses its control characters in :meth:`Console.say`, so no code of a file's ever
reaches the terminal. NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and TERM=dumb are heeded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TextIO

from tfrecord_lite.errors import human_bytes, plural, printable
from tfrecord_lite.progress import is_terminal

_CODE = re.compile(r"\x1b\[[0-9;]*m")
_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = "1", "2", "31", "32", "33", "36"
_HEADING = re.compile(r"^(usage|[A-Za-z][\w ]*)(?=:(?: |$))", re.MULTILINE)


class Styled(str):
    """A text that may be printed as it is: printable, with codes of ours."""

    __slots__ = ()

    def __add__(self, other: str) -> Styled:
        """Append a text, made printable."""
        return Styled(str.__add__(self, _safe(other)))

    def __radd__(self, other: str) -> Styled:
        """Prepend a text, made printable."""
        return Styled(str.__add__(_safe(other), self))

    def join(self, parts: Iterable[str], /) -> Styled:
        """Join texts, made printable."""
        return Styled(str.join(self, map(_safe, parts)))

    def rstrip(self, chars: str | None = None, /) -> Styled:
        """Remove spaces at the end."""
        return Styled(str.rstrip(self, chars))


def _safe(text: str) -> str:
    return str(text) if isinstance(text, Styled) else printable(text)


def line(*parts: str) -> Styled:
    """Join parts of a line, all made printable."""
    return Styled("").join(parts)


def _with(code: str, text: str) -> Styled:
    return Styled(f"\x1b[{code}m{_safe(text)}\x1b[0m") if text else Styled("")


def heading(text: str) -> Styled:
    """Return the title of a part, or the head of a column."""
    return _with(_BOLD, text)


def name(text: str) -> Styled:
    """Return the name of a feature."""
    return _with(_CYAN, text)


def dim(text: str) -> Styled:
    """Return what is less important: labels, places, what was cut."""
    return _with(_DIM, text)


def good(text: str) -> Styled:
    """Return a word that says that all is well."""
    return _with(_GREEN, text)


def bad(text: str) -> Styled:
    """Return a word that says that something is damaged or wrong."""
    return _with(_RED, text)


def warning(text: str) -> Styled:
    """Return a word that something should be looked at."""
    return _with(_YELLOW, text)


def table(lines: Iterable[str], *, has_names: bool = False) -> Iterator[str]:
    """Yield the lines of a table with its heads in bold, maybe with names in the first column.

    Heads are those lines that a line of dashes follows.
    """
    before: str | None = None
    is_body = False
    for text in lines:
        is_rule = text.startswith("--") and not text.strip("- ")
        if before is not None:
            yield heading(before) if is_rule else _row(before, is_named=has_names and is_body)
        is_body = bool(text) and (is_rule or is_body)
        before = dim(text) if is_rule else text
    if before is not None:
        yield _row(before, is_named=has_names and is_body)


def _row(text: str, *, is_named: bool) -> str:
    first, space, rest = text.partition("  ")
    return line(name(first), space, rest) if is_named and not isinstance(text, Styled) else text


def help_text(text: str) -> Styled:
    """Return the help of a parser, which is ours, with its headings in bold."""
    return Styled(_HEADING.sub(f"\x1b[{_BOLD}m\\1\x1b[0m", text))


def plain(text: str) -> str:
    """Return a text without our codes."""
    return _CODE.sub("", text) if isinstance(text, Styled) else text


def width(text: str) -> int:
    """Return how many characters are seen of a text."""
    return len(plain(text))


def has_colour(stream: TextIO) -> bool:
    """Whether texts that are written to a stream have colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(
        os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")
    ):
        return True
    terminal = os.environ.get("TERM", "dumb" if os.name == "nt" else "")
    is_able = terminal != "dumb" or "WT_SESSION" in os.environ
    return is_able and is_terminal(stream)


def exact_bytes(n_bytes: int) -> str:
    """Return a size in bytes, and in the unit that suits it.

    >>> exact_bytes(523), exact_bytes(53_869)
    ('523 bytes', '53,869 bytes (52.6 KiB)')
    """
    exact = plural(n_bytes, "byte")
    return exact if n_bytes < 1024 else f"{exact} ({human_bytes(n_bytes)})"


def json_line(value: object, *, is_ascii: bool) -> str:
    r"""Return a value as JSON on one line, with ``\u`` escapes for what cannot be printed.

    If only ASCII is safe, all else is an escape too.

    >>> json_line("tab: \t, \x9b", is_ascii=False)
    '"tab: \\t, \\u009b"'
    """
    text = json.dumps(value, ensure_ascii=is_ascii, allow_nan=False)
    return text if text.isprintable() else "".join(map(_json_character, text))


def _json_character(character: str) -> str:
    if character.isprintable():
        return character
    return r"\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def aligned(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Lay out rows, of any lengths, in columns with ``<`` or ``>`` for each; styled if a cell is.

    >>> aligned([("a", "10", "x"), ("long", "9", "")], "<><")
    ['a     10  x', 'long   9']
    """
    widths = [max(map(width, column)) for column in zip_longest(*rows, fillvalue="")]
    return [_joined(row, alignment, widths) for row in rows]


def _joined(row: Sequence[str], alignment: str, widths: Sequence[int]) -> str:
    while row and not row[-1]:
        row = row[:-1]
    cells: list[str] = []
    for i, (text, side, most) in enumerate(zip(row, alignment, widths, strict=False)):
        room = " " * (most - width(text))
        is_last = i == len(row) - 1
        cells += [room, text] if side == ">" else [text, "" if is_last else room]
        cells += [] if is_last else ["  "]
    if any(isinstance(cell, Styled) for cell in cells):
        return line(*cells).rstrip()
    return "".join(cells).rstrip()
