"""Numbers, sizes, columns of text, and lines of JSON."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING

from tfrecord_lite.errors import human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Sequence


def exact_bytes(n_bytes: int) -> str:
    """Return a size in bytes, and in the unit that suits it.

    >>> exact_bytes(523), exact_bytes(53_869)
    ('523 bytes', '53,869 bytes (52.6 KiB)')
    """
    exact = plural(n_bytes, "byte")
    return exact if n_bytes < 1024 else f"{exact} ({human_bytes(n_bytes)})"


def printable(text: str) -> str:
    r"""Return a text on one line, with escapes for characters that cannot be printed.

    >>> printable("a\tb")
    'a\\tb'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def json_line(value: object, *, is_ascii: bool) -> str:
    r"""Return a value as JSON on one line, with ``\u`` escapes if only ASCII is safe."""
    return json.dumps(value, ensure_ascii=is_ascii, allow_nan=False)


def aligned(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Lay out rows, of any lengths, in columns with ``<`` or ``>`` for each.

    >>> aligned([("a", "10", "x"), ("long", "9", "")], "<><")
    ['a     10  x', 'long   9']
    """
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    return [
        "  ".join(
            f"{text:{side}{width}}"
            for text, side, width in zip(row, alignment, widths, strict=False)
        ).rstrip()
        for row in rows
    ]
