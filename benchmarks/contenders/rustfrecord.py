"""The package rustfrecord: a dictionary of arrays a record, in Rust; it checks no CRC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rustfrecord

from benchmarks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "rustfrecord"


def dicts(path: str, data: str) -> Run:
    """Make a dictionary of arrays of each record."""
    if data == "sequences":
        raise NotImplementedError("it reads Examples only")
    return lambda: iter(rustfrecord.Reader(path, compressed=path.endswith(".gz")))


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield dictionaries; strings are arrays of their bytes."""
    return check.rows(
        {k: v.tobytes() if v.dtype.itemsize == 1 else v for k, v in row.items()} for row in items
    )


OPERATIONS = {"dicts": dicts}
