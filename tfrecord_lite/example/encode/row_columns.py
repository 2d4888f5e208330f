"""A list of rows of one form to columns, value by value of a key: the fast path of many dictionaries.

Rows that are all there need not be taken apart one by one (:mod:`.row_plan`): for each key the values of
all rows are looked at together, by a few calls that run at C's speed::

    [{"x": 0.5, "v": array}, {"x": 0.7, "v": array}, ...]
       "x": [0.5, 0.7, ...]  ─ set(map(type, ...)) ─ struct.pack ──> float32
       "v": [array, array]   ─ one dtype? ─ concatenate, lengths ──> int64, counts

A key is taken if its values are of one type that needs no further look. Anything else, and anything
wrong, is None: the rows then go one by one, and the one that is wrong raises the error.
"""

from __future__ import annotations

import struct
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import ByteRanges, row_splits
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lists import ValueLists
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.convert.plain_numbers import plain_numbers, rounded
from tfrecord_lite.convert.types import EXACT_DTYPES, PLAIN_FLOATS, PLAIN_INTEGERS, PLAIN_STRINGS
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.example.encode.one import encoded_key
from tfrecord_lite.example.encode.row_plan import LARGE_BYTES, dtype_of
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfrecord_lite.block import Block
    from tfrecord_lite.convert.lists import Counts

_MAX_BYTES = 2 * 1024 * 1024
_MAX_ROWS = 1024
_MOST_BYTES = 4 * _MAX_BYTES
"""Of all rows; larger rows than the first of their batch go one by one, so that they take no more memory."""
_ITEM_BYTES = 8
_FEWEST_ROWS = 8
_ndim_of = attrgetter("ndim")


def rows_at_once(row: Any) -> int:
    """Return how many rows like this one are worth a batch; 0 if they are to go one by one."""
    if type(row) is not dict or not row:
        return 0
    n_bytes = 0
    for value in row.values():
        size = value.nbytes if type(value) is np.ndarray else _ITEM_BYTES
        if type(value) in (bytes, str, list, tuple):
            size = len(value) * (1 if type(value) in (bytes, str) else _ITEM_BYTES)
        n_bytes += size
    return 0 if n_bytes >= LARGE_BYTES else min(_MAX_ROWS, _MAX_BYTES // max(n_bytes, 1))


def encode_rows(rows: Sequence[Any]) -> Block | None:
    """Encode rows as :func:`~tfrecord_lite.encode_example`, all at once; None if they are not of one form."""
    found = as_columns(rows) if len(rows) >= _FEWEST_ROWS else None
    return encode_lists(found, len(rows)) if found else None


def as_columns(rows: Sequence[Any]) -> dict[str, ValueLists] | None:
    """Return the value lists of each key; None if the rows are not of one plain form."""
    if set(map(type, rows)) != {dict}:
        return None
    keys = rows[0].keys()
    if any(row.keys() != keys for row in rows):
        return None
    found: dict[str, ValueLists] = {}
    n_bytes = 0
    try:
        for key in keys:
            encoded_key(key)
            values = [row[key] for row in rows]
            kinds = set(map(type, values))
            if kinds == {type(None)}:
                continue
            lists = _arrays(key, values) if kinds == {np.ndarray} else _values(values, kinds)
            if lists is None:
                return None
            n_bytes += lists.n_bytes
            if n_bytes > _MOST_BYTES:
                return None
            found[key] = lists
    except (ArithmeticError, TypeError, ValueError, struct.error):
        return None
    return found or None


def _values(values: list[Any], types: set[type]) -> ValueLists | None:
    """Return the lists of single values, or of lists of them."""
    n_rows = len(values)
    counts: Counts = 1
    if types in ({list}, {tuple}):
        counts = np.fromiter(map(len, values), np.int64, n_rows)
        if int(counts.min()) < 1 or _ITEM_BYTES * int(counts.sum()) > _MOST_BYTES:
            return None
        values = list(chain.from_iterable(values))
        counts = _one_or_all(counts)
        numbers = plain_numbers(values)
        if numbers is not None:
            if numbers.dtype == float:
                return ValueLists(n_rows, Kind.FLOAT, counts, rounded(numbers))
            return ValueLists(n_rows, Kind.INT64, counts, numbers.astype(np.int64))
        types = set(map(type, values))
    flat: Any
    if types <= PLAIN_INTEGERS:
        flat = np.fromiter(values, np.int64, len(values))
        return ValueLists(n_rows, Kind.INT64, counts, flat)
    if types <= PLAIN_FLOATS:
        flat = np.frombuffer(struct.pack(f"<{len(values)}f", *values), "<f4")
        return ValueLists(n_rows, Kind.FLOAT, counts, flat)
    if types <= PLAIN_STRINGS:
        if str in types:
            values = [value.encode() if type(value) is str else value for value in values]
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        if int(lengths.sum()) > _MOST_BYTES:
            return None
        data = np.frombuffer(b"".join(values), np.uint8)
        flat = ByteRanges(data, row_splits(lengths)[:-1], lengths)
        return ValueLists(n_rows, Kind.BYTES, counts, flat)
    return None


def _arrays(key: str, values: list[Any]) -> ValueLists | None:
    """Return the lists of vectors of one dtype."""
    dtypes = set(map(dtype_of, values))
    if len(dtypes) != 1 or set(map(_ndim_of, values)) != {1}:
        return None
    dtype = dtypes.pop()
    if dtype.hasobject:
        found = _values([value.tolist() for value in values], {list})
        return found if found is not None and found.kind is Kind.BYTES else None
    counts = np.fromiter(map(len, values), np.int64, len(values))
    if dtype.itemsize * int(counts.sum()) > _MOST_BYTES:
        return None
    flat = np.concatenate(values)
    if dtype == np.float64:
        flat = rounded(flat)
    elif dtype not in EXACT_DTYPES:
        return None
    if int(counts.min()) < 1:
        return None
    if isinstance(_one_or_all(counts), int):
        return normalize(key, flat.reshape(len(values), -1))
    return normalize(key, RaggedTensor(flat, row_splits(counts)))


def _one_or_all(counts: Any) -> Counts:
    """Return counts as one number if they are equal."""
    first = int(counts[0])
    return first if (counts == first).all() else counts
