"""Texts of verbs: sizes, lines of JSON, columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import zip_longest

from tfrecord_lite.texts import human_bytes, plural


def exact_bytes(n_bytes: int) -> str:
    """Return a size in bytes, and in the unit that suits it.

    >>> exact_bytes(523), exact_bytes(53_869)
    ('523 bytes', '53,869 bytes (52.6 KiB)')
    """
    exact = plural(n_bytes, "byte")
    return exact if n_bytes < 1024 else f"{exact} ({human_bytes(n_bytes)})"


def terminal_width() -> int:
    """Return the characters of a line: what COLUMNS says, or the terminal, or 100.

    As shutil does it, whose import takes longer than reading a short file.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    with suppress(OSError):  # not a terminal
        return os.get_terminal_size().columns or 100
    return 100


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


def ragged_notes(names: Iterable[str]) -> list[str]:
    """Return a line about the features that TFDS stores as values and lengths, if there are any.

    >>> ragged_notes(["id", "steps/a/ragged_flat_values", "steps/a/ragged_row_lengths_0"])
    ['steps/a: nested lists of TFDS, as all values and the lengths of the rows; sql and convert have lists of lists']
    """
    end = "/ragged_flat_values"
    nested = ", ".join(name.removesuffix(end) for name in names if name.endswith(end))
    text = "nested lists of TFDS, as all values and the lengths of the rows; sql and convert have lists of lists"
    return [f"{nested}: {text}"] if nested else []


def aligned(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Lay out rows, of any lengths, in columns with ``<`` or ``>`` for each.

    >>> aligned([("a", "10", "x"), ("long", "9", "")], "<><")
    ['a     10  x', 'long   9']
    """
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    lines = []
    for row in rows:
        cells = zip(row, alignment, widths, strict=False)
        lines.append("  ".join(f"{text:{side}{width}}" for text, side, width in cells).rstrip())
    return lines
