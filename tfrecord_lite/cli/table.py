"""Columns, numbers and sizes for people."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_bytes(n_bytes: int) -> str:
    """Return a size in the unit that suits it.

    Examples
    --------
    >>> human_bytes(523), human_bytes(53_869), human_bytes(1024**3 - 1)
    ('523 B', '52.6 KiB', '1.0 GiB')
    """
    if n_bytes < 1024:
        return f"{n_bytes} B"
    size = n_bytes / 1024
    for unit in _UNITS[:-1]:
        if round(size, 1) < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {_UNITS[-1]}"


def sized(n_bytes: int) -> str:
    """Return a size exactly, and in the unit that suits it.

    Examples
    --------
    >>> sized(523), sized(53_869)
    ('523 bytes', '53,869 bytes (52.6 KiB)')
    """
    exact = plural(n_bytes, "byte")
    return exact if n_bytes < 1024 else f"{exact} ({human_bytes(n_bytes)})"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "record"), plural(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{count:,} {noun}" + "s" * (count != 1)


def aligned(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Lay out rows in columns, two spaces apart.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells. The last column is as wide as it likes, and rows may end early.
    alignment : str
        ``<`` or ``>`` for each column.

    Examples
    --------
    >>> aligned([("a", "10", "x"), ("long", "9", "")], "<><")
    ['a     10  x', 'long   9']
    """
    widths = [max(map(len, cells)) for cells in zip_longest(*rows, fillvalue="")]
    return [
        "  ".join(
            f"{cell:{side}{width}}"
            for cell, side, width in zip(row, alignment, widths, strict=False)
        ).rstrip()
        for row in rows
    ]
