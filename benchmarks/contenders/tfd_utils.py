"""The package tfd-utils: random access by the value of a feature; it checks no CRC."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfd_utils.random_access import TFRecordRandomAccess

from benchmarks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "tfd-utils"
_KEY = "i0"


def _opened(path: str) -> Any:
    """Return a reader whose index is new."""
    file = Path(tempfile.mkdtemp(), "index")
    return TFRecordRandomAccess(path, _KEY, index_file=file, progress_interval=1 << 60)


def index(path: str) -> Run:
    """Make an index, which parses every record, and read the first."""

    def run() -> Any:
        reader = _opened(path)
        return iter([reader[next(iter(reader.index))]])

    return run


def random_reads(path: str, numbers: list[int]) -> Run:
    """Read Examples by their keys."""
    reader, offsets, at = _opened(path), [], 0
    data = Path(path).read_bytes()
    while at < len(data):
        offsets.append(at)
        at += int.from_bytes(data[at : at + 8], "little") + 16
    key_at = {place["offset"]: key for key, place in reader.index.items()}
    keys = [key_at[offsets[number]] for number in numbers]  # few values occur twice
    return lambda: iter([reader[key] for key in keys])


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    return check.records(item.SerializeToString(deterministic=True) for item in items)


OPERATIONS = {"index": index, "random_reads": random_reads}
