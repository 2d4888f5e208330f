"""The package dareblopy: records and fixed features in C++; its wheels are for Python 3.8 at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dareblopy

from benchmarks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DISTRIBUTION = "dareblopy"


def read(path: str) -> Callable[[], Any]:
    """Iterate over records."""
    if path.endswith(".gz"):
        raise NotImplementedError("it can, but takes half a millisecond a record")
    return lambda: iter(dareblopy.RecordReader(path))


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    return check.records(items)


OPERATIONS = {"read": read}
