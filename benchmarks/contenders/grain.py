"""Grain: its data set of records, in Python; it checks no CRC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grain.experimental import TFRecordIterDataset

from benchmarks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DISTRIBUTION = "grain"


def read(path: str) -> Callable[[], Any]:
    """Iterate over records."""
    if path.endswith(".gz"):
        raise NotImplementedError("it reads no compressed files")
    return lambda: iter(TFRecordIterDataset(path))


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    return check.records(items)


OPERATIONS = {"read": read}
