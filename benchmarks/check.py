"""Checksums of the values that a contender returns, whatever form they have.

A contender brings what it returned to ``{feature: (values, lengths)}``: all values of a batch in one
flat array or list of bytes, and the number of values of each record. How records are cut into
batches makes no difference, nor the order of the features. Runs in any Python from 3.8.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Dict, Tuple  # noqa: UP035 - runs in old Pythons

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Flat = Dict[str, Tuple[Any, Any]]  # noqa: UP006


class DifferentError(ValueError):
    """A contender's values are not those of the first one."""


class Fingerprint:
    """Checksums of the columns of a table, and how many records there are."""

    def __init__(self) -> None:
        self._sums: dict[str, list[int]] = {}  # of the values, of their sizes, of the lengths
        self._n_records = 0

    def add(self, columns: Flat) -> None:
        """Add a batch."""
        n_records = 0
        for name, (values, lengths) in columns.items():
            sums = self._sums.setdefault(name, [0, 0, 0])
            if isinstance(values, np.ndarray) and values.dtype != object:
                kind = np.float32 if values.dtype.kind == "f" else np.int64
                data = np.ascontiguousarray(values, kind).tobytes()
            else:
                items = [bytes(value) for value in values]
                sums[1] = zlib.crc32(np.array(list(map(len, items)), np.int64).tobytes(), sums[1])
                data = b"".join(items)
            sums[0] = zlib.crc32(data, sums[0])
            sums[2] = zlib.crc32(np.ascontiguousarray(lengths, np.int64).tobytes(), sums[2])
            n_records = len(lengths)
        self._n_records += n_records

    def value(self) -> dict[str, Any]:
        """Return the number of records, and a checksum for each feature."""
        sums = {name: zlib.crc32(repr(found).encode()) for name, found in self._sums.items()}
        return {"n_records": self._n_records, "sums": sums}


def compare(first: str, expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Raise an error that says what is different, if anything is.

    Raises
    ------
    DifferentError
        If the number of records, the features or their values are not the same.
    """
    ours, theirs = expected["sums"], found["sums"]
    keys = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
    if keys or expected["n_records"] != found["n_records"]:
        what = f"values of {', '.join(keys[:5])}" if keys else f"{found['n_records']:,} records"
        raise DifferentError(f"other {what} than {first}")


# ------------------------------------------------------------- from common forms to flat ones


def flat(column: Any) -> tuple[Any, Any]:
    """Return an array of shape (n_records, ...) or a list of bytes as values and lengths."""
    if isinstance(column, np.ndarray) and column.ndim:
        n_values = int(np.prod(column.shape[1:]))
        return column.reshape(-1), np.full(len(column), n_values)
    return column, np.ones(len(column), np.int64)


def padded(steps: Any, lengths: Any) -> tuple[Any, Any]:
    """Return the values of steps of shape (n_records, most steps, ...) without the padding."""
    is_step = np.arange(steps.shape[1]) < np.asarray(lengths)[:, None]
    n_values = int(np.prod(steps.shape[2:]))
    return steps[is_step].reshape(-1), np.asarray(lengths) * n_values


def records(items: Iterable[Any]) -> Iterator[Flat]:
    """Yield records as one column of bytes."""
    for some in _batches(items):
        yield {"record": (some, np.ones(len(some), np.int64))}


def counts(items: Iterable[int]) -> Iterator[Flat]:
    """Yield numbers of records as so many empty records."""
    for count in items:
        yield {"records": (np.zeros(0, np.int64), np.zeros(count, np.int64))}


def rows(items: Iterable[dict[str, Any]]) -> Iterator[Flat]:
    """Yield dictionaries of single values, lists or arrays as columns."""
    for some in _batches(items):
        columns: Flat = {}
        for name in some[0]:
            cells = [_cell(row[name]) for row in some]
            lengths = [len(cell) for cell in cells]
            if all(isinstance(cell, list) for cell in cells):
                columns[name] = ([value for cell in cells for value in cell], lengths)
            else:
                columns[name] = (np.concatenate(cells), lengths)
        yield columns


def sequence_rows(items: Iterable[dict[str, Any]]) -> Iterator[Flat]:
    """Yield SequenceExamples as dictionaries as columns, steps one after the other."""
    return rows(
        {
            **row["context"],
            **{
                name: np.concatenate([np.atleast_1d(np.asarray(step)) for step in steps])
                for name, steps in row["feature_lists"].items()
            },
        }
        for row in items
    )


def _cell(value: Any) -> Any:
    """Return the values of a feature of one record: an array of numbers, or a list of bytes."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return [value]
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], bytes):
        return list(value)
    array = np.atleast_1d(np.asarray(value))
    return list(array) if array.dtype == object else array.reshape(-1)


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    some: list[Any] = []
    for item in items:
        some.append(item)
        if len(some) == 4096:
            yield some
            some = []
    if some:
        yield some


def arrow(batches: Iterable[Any]) -> Iterator[Flat]:
    """Yield record batches of Arrow; lists in lists count as the values in them.

    Fields of a struct are columns, and of the name ``context/id`` the last part counts.
    """
    import pyarrow as pa

    for batch in batches:
        columns: Flat = {}
        for i, name in enumerate(batch.schema.names):
            array = batch.column(i)
            if pa.types.is_struct(array.type):
                fields = [(field.name, array.field(k)) for k, field in enumerate(array.type)]
            else:
                fields = [(name.rpartition("/")[2], array)]
            columns.update((key, _arrow_flat(values)) for key, values in fields)
        yield columns


def _arrow_flat(array: Any) -> tuple[Any, Any]:
    import pyarrow as pa

    splits = np.arange(len(array) + 1)
    while pa.types.is_nested(array.type):
        if array.null_count:
            raise DifferentError("a null in data that have none")
        if pa.types.is_fixed_size_list(array.type):
            splits = splits * array.type.list_size
        else:
            offsets = array.offsets.to_numpy()
            splits = (offsets - offsets[0])[splits]
        array = array.flatten()
    if array.null_count:
        raise DifferentError("a null in data that have none")
    is_number = pa.types.is_floating(array.type) or pa.types.is_integer(array.type)
    values = array.to_numpy() if is_number else array.to_pylist()
    return values, np.diff(splits)
