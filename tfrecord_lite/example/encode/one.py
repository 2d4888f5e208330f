"""One dictionary to the bytes of its features: a fast path without a batch.

Python's numbers, strings and short lists of them are encoded by hand here. Anything else, wrong values
included, is encoded the plain way as a column of one record, with the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, Buffer, views
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.example.proto import ENTRY_TAG, KEY_TAG, KIND_TAGS, LIST_VALUE_TAG, VALUE_TAG
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.emit import prefix_bytes
from tfrecord_lite.wire.scalar import varint
from tfrecord_lite.wire.varint import varint_run

_BYTES, _FLOAT, _INT64 = (KIND_TAGS[kind] for kind in (Kind.BYTES, Kind.FLOAT, Kind.INT64))
_LARGE_BYTES = 1024
_LARGE_VALUES = 64
"""Strings and arrays of at least this size are copied only once, from where they are."""
_FEW = 32
"""Up to this many integers are encoded one by one; for more, NumPy is faster."""

_SHORT = tuple(map(varint, range(1024)))
_SMALL_INTEGER = _INT64 + b"\x03" + LIST_VALUE_TAG + b"\x01%c"
_ANY_INTEGER = _INT64 + b"%c" + LIST_VALUE_TAG + b"%c%b"
_FLOAT_HEAD = _FLOAT + b"\x06" + LIST_VALUE_TAG + b"\x04"
_OBJECT = np.dtype(object)
_FLOATS = {float, np.float64}
_pack_float = struct.Struct("<f").pack


def _length(n: int) -> bytes:
    return _SHORT[n] if n < 1024 else varint(n)


def delimited(tag: bytes, content: bytes) -> bytes:
    """Return a field: tag, length, content."""
    return b"%b%b%b" % (tag, _length(len(content)), content)


def encoded_key(key: Any) -> bytes:
    """Return a key as UTF-8; BAD_ARGUMENT for lone surrogates, TypeError if it is not a str."""
    if not isinstance(key, str):
        raise TypeError(f"a feature's key must be a str, not {key!r}")
    try:
        return key.encode()
    except UnicodeEncodeError:
        raise column_error(key, "a key with lone surrogates, which UTF-8 cannot encode") from None


@lru_cache(maxsize=4096)
def entry_levels(key: bytes) -> tuple[bytes, bytes]:
    """Return the levels around the value of a map entry: its tag, and all before the value."""
    return ENTRY_TAG, delimited(KEY_TAG, key) + VALUE_TAG


def encode_features(tag: bytes, row: Mapping[str, Any]) -> list[Buffer]:
    """Encode a dictionary as a field with a Features message; return pieces, of which large values are the row's memory."""
    if not hasattr(row, "items"):
        raise TypeError(f"a record must be a dict of features, not {type(row).__name__}")
    entries: list[tuple[bytes, tuple[Any, ...]]] = []
    for key, row_value in row.items():
        raw, value = encoded_key(key), only_string(row_value)
        if (type(value) is bytes and len(value) >= _LARGE_BYTES) or (
            type(value) is np.ndarray and value.size >= _LARGE_VALUES and value.dtype.kind in "iuf"
        ):
            entries.append((raw, _large(key, raw, value)))
            continue
        content = feature_content(key, value)
        if content is not None:
            entry, head = entry_levels(raw)
            field = b"%b%b%b" % (head, _length(len(content)), content)
            entries.append((raw, (delimited(entry, field),)))
    entries.sort(key=itemgetter(0))
    pieces = list(chain.from_iterable([pieces for _, pieces in entries]))
    return [tag, _length(sum(map(len, pieces))), *pieces]


def only_string(value: Any) -> Any:
    """Return the byte string in a list, tuple or vector of one; any other value as it is."""
    is_vector = type(value) is np.ndarray and value.dtype == _OBJECT and value.ndim == 1
    if (is_vector or type(value) in (list, tuple)) and len(value) == 1 and type(value[0]) is bytes:
        return value[0]
    return value


def _large(key: str, raw: bytes, value: Any) -> tuple[Any, ...]:
    """Encode the entry of a large value: the bytes before it, and its payload as it is."""
    kind, payload = Kind.BYTES, value
    if type(value) is not bytes:
        lists = opened(key, value.reshape(1, -1))
        kind = lists.kind or kind
        flat: Any = lists.flat if kind is Kind.FLOAT else varint_run(lists.flat)[0]
        payload = memoryview(flat).cast("B")
    levels = (*entry_levels(raw), KIND_TAGS[kind], LIST_VALUE_TAG)
    return prefix_bytes(levels, len(payload)), payload


def feature_content(key: str, value: Any) -> bytes | None:
    """Encode a value as the content of a Feature message; None for a missing one."""
    encode = _ENCODERS.get(type(value))
    content = None if encode is None else encode(value)
    if content is not None or value is None:
        return content
    lists = opened(key, [value])  # the plain way: a column of one record
    return content_of(lists) if lists.present is None else None


# Each returns None for what it leaves to the plain way, errors included.


def _integer(value: int) -> bytes | None:
    if 0 <= value < 128:
        return _SMALL_INTEGER % value
    if not -(2**63) <= value < 2**63:
        return None
    payload = varint(value)
    return _ANY_INTEGER % (len(payload) + 2, len(payload), payload)


def _float(value: float) -> bytes | None:
    try:
        return _FLOAT_HEAD + _pack_float(value)
    except OverflowError:
        return None


def _string(value: bytes) -> bytes:
    return delimited(_BYTES, delimited(LIST_VALUE_TAG, value))


def _text(value: str) -> bytes | None:
    try:
        return _string(value.encode())
    except UnicodeEncodeError:
        return None


def _list(values: list[Any] | tuple[Any, ...]) -> bytes | None:
    types = set(map(type, values))
    if types == {int}:
        if not -(2**63) <= min(values) <= max(values) < 2**63:
            return None
        if len(values) > _FEW:
            data = varint_run(np.fromiter(values, np.int64, len(values)))[0]
            return delimited(_INT64, delimited(LIST_VALUE_TAG, data.tobytes()))
        parts = [_SHORT[v] if 0 <= v < 1024 else varint(v) for v in values]
        return delimited(_INT64, delimited(LIST_VALUE_TAG, b"".join(parts)))
    if types <= _FLOATS and types:
        try:
            packed = struct.pack(f"<{len(values)}f", *values)
        except OverflowError:
            return None
        return delimited(_FLOAT, delimited(LIST_VALUE_TAG, packed))
    if types == {bytes}:
        return delimited(_BYTES, b"".join([delimited(LIST_VALUE_TAG, v) for v in values]))
    return None


def _array(values: AnyArray) -> bytes | None:
    if values.ndim != 1 or not values.size:
        return None
    if values.dtype == np.float32:
        data = values.astype("<f4", copy=False).tobytes()
        return delimited(_FLOAT, delimited(LIST_VALUE_TAG, data))
    # Floats of 64 bits become Python's, which are rounded alike.
    return _list(values.tolist()) if values.dtype.kind in "iuO" or values.dtype == float else None


_ENCODERS: dict[type, Callable[[Any], bytes | None]]
_ENCODERS = {bool: _integer, int: _integer, float: _float, np.float64: _float, bytes: _string}
_ENCODERS |= {str: _text, list: _list, tuple: _list, np.ndarray: _array}


def content_of(lists: Lists) -> bytes:
    """Encode the lists of one record as the content of a Feature message."""
    kind, flat = lists.kind, lists.flat
    if kind is None:
        return b""
    if kind is Kind.BYTES:
        strings = flat.to_ranges()
        pieces = views(strings.data, strings.starts, strings.lengths)
        values = b"".join([delimited(LIST_VALUE_TAG, piece) for piece in pieces])  # type: ignore[arg-type]
    else:
        data = flat.astype("<f4", copy=False) if kind is Kind.FLOAT else varint_run(flat)[0]
        values = delimited(LIST_VALUE_TAG, data.tobytes()) if data.size else b""
    return delimited(KIND_TAGS[kind], values)
