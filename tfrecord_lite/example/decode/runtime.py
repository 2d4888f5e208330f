"""The features of a few messages, read by the protobuf runtime.

For a few messages this is faster than lockstep. If the runtime cannot read every message, it reads none
(:class:`UnsureError`), and all are read the general way: it rejects messages without saying where, and
Python floats do not keep the bits of every NaN (rule P3).
"""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError

from tfrecord_lite.arrays import AnyArray, BoolArray, ByteItems, Int64Array, Uint8Array, objects
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.example.decode.entries import Features
from tfrecord_lite.messages import Example, FloatList
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE
from tfrecord_lite.wire.keys import KeyTable

_KEEPS_NANS = hasattr(FloatList().value, "__array__")
"""Whether lists of numbers are arrays without a Python object per value, as from protobuf 7 on."""
_IN_PYTHON = api_implementation.Type() == "python"

_KINDS = {None: 0, "bytes_list": Kind.BYTES, "float_list": Kind.FLOAT, "int64_list": Kind.INT64}


class UnsureError(Exception):
    """The runtime rejects a message, or loses bits of it; users never see this."""


def parsed(message: Any, serialized: bytes) -> Any:
    """Parse a message; raises UnsureError if the runtime rejects it."""
    if _IN_PYTHON:
        raise UnsureError("protobuf's runtime in Python reads some encodings differently")
    try:
        return message.FromString(serialized)
    except DecodeError as error:
        raise UnsureError(str(error)) from None


def array_of(feature: Any) -> tuple[int, AnyArray | None]:
    """Return a Feature's kind and values, 0 and None without one; UnsureError for a NaN whose bits may be lost."""
    kind = _KINDS[feature.WhichOneof("kind")]
    if kind == Kind.BYTES:
        return kind, objects(list(feature.bytes_list.value))
    if kind == Kind.INT64:
        return kind, np.array(feature.int64_list.value, np.int64)
    if kind == Kind.FLOAT:
        values = feature.float_list.value
        if not _KEEPS_NANS and isnan(sum(values)):
            raise UnsureError("there may be a NaN")
        return kind, np.array(values, np.float32)
    return 0, None


def arrays_of(features: Any) -> dict[str, AnyArray]:
    """Return the values of a Features message by key, ascending, without the features that have no kind."""
    # The runtime's maps have an order of their own in each process.
    arrays = {name: array_of(features.feature[name]) for name in sorted(features.feature)}
    return {name: values for name, (_, values) in arrays.items() if values is not None}


def row_of(serialized: bytes) -> dict[str, AnyArray]:
    """Return the values of an Example by key; raises UnsureError."""
    return arrays_of(parsed(Example, serialized).features)


class RuntimeMessages(Features):
    """A few messages, whose features the protobuf runtime reads at once; may raise UnsureError."""

    def __init__(
        self, data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
    ) -> None:
        extents = zip(starts.tolist(), stops.tolist(), strict=True)
        messages = [parsed(Example, data[start:stop].tobytes()) for start, stop in extents]
        self._messages = [message.features.feature for message in messages]
        self._names = [key.decode() for key in table.keys]
        self._values = [self._read(name) for name in self._names]
        self._known = frozenset(table.keys)

    def _read(self, name: str) -> list[tuple[int, AnyArray | None]]:
        """Read a feature of every message; getting one that a map lacks would add it."""
        all_features, none = self._messages, (0, None)
        return [array_of(own[name]) if name in own else none for own in all_features]

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the keys that are not in the table, without regard to the limit."""
        keys = {name.encode() for features in self._messages for name in features}
        return sorted(keys - self._known)

    def present(self, feature: int) -> BoolArray:
        """Return which messages have a feature, with or without a kind."""
        return np.array([self._names[feature] in features for features in self._messages])

    def kinds(self, feature: int) -> Uint8Array | int:
        """Return the kind of a feature in each message; one number if all agree."""
        kinds = [kind for kind, _ in self._values[feature]]
        return kinds[0] if kinds.count(kinds[0]) == len(kinds) else np.array(kinds, np.uint8)

    def lists(self, feature: int, kind: Kind) -> Lists:
        """Read the values of a feature in each message; none where it is of another kind."""
        return _values(self._values[feature], kind)


def _values(pairs: list[tuple[int, AnyArray | None]], kind: Kind) -> Lists:
    """Join the values of some Features; Features of another kind have none."""
    none = np.empty(0, kind.dtype)
    arrays = [array if has == kind and array is not None else none for has, array in pairs]
    flat: Any = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    if kind is Kind.BYTES:
        flat = ByteItems.of(flat.tolist())
    sizes = [array.size for array in arrays]
    level = sizes[0] if len(sizes) == 1 else np.array(sizes, np.int64)
    return Lists(len(arrays), WIRE[kind], (level,), flat)
