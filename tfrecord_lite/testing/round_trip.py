"""Assertions: what was written comes back, and damage is not read as data."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray
from tfrecord_lite.columns import BytesColumn, RaggedTensor
from tfrecord_lite.testing.strategies import is_intact

__all__ = ["assert_damage_is_noticed", "assert_round_trip", "assert_same"]

Item = TypeVar("Item")
Read: TypeAlias = Callable[[str], Iterable[Any]]
_BYTES = (bytes, bytearray, memoryview)


def assert_round_trip(
    write: Callable[[str, list[Item]], object],
    read: Read,
    items: Iterable[Item],
    *,
    expected: Iterable[Any] | None = None,
) -> None:
    """Assert that a reader returns exactly what a writer was given, in order.

    Parameters
    ----------
    write : callable
        Writes a file: ``write(path, items)``.
    read : callable
        Reads one: ``read(path)``. Called twice, and must return the same both times.
    items : iterable
        The items to write: bytes, dictionaries of arrays, messages, anything.
    expected : iterable, optional
        What the reader should return; by default `items`. :func:`assert_same` compares them.

    Examples
    --------
    >>> from tfrecord_lite.testing import assert_round_trip
    >>> def write(path, records):
    ...     with TFRecordWriter(path) as writer:
    ...         writer.write(Block.from_records(records))
    >>> assert_round_trip(write, TFRecordReader, [b"Ada", b"", b"Grace"])
    >>> assert_round_trip(write, lambda path: list(TFRecordReader(path))[:2], [b"a", b"b", b"c"])
    Traceback (most recent call last):
        ...
    AssertionError: 2 items, expected 3
    """
    written = list(items)
    expected_items = written if expected is None else list(expected)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "round-trip.tfrecord")
        write(path, written)
        for when in ("", "on the second reading, "):
            back = list(read(path))
            for i, (one, other) in enumerate(zip(back, expected_items, strict=False)):
                assert_same(one, other, f"{when}item {i}")
            if len(back) != len(expected_items):
                raise AssertionError(f"{when}{len(back)} items, expected {len(expected_items)}")


def assert_damage_is_noticed(read: Read, intact: bytes, damaged: bytes) -> None:
    """Assert that a reader raises an error for a damaged file, and returns no wrong data before it.

    The items before the error must be the first items of the intact file.

    Parameters
    ----------
    read : callable
        Reads a file: ``read(path)``.
    intact : bytes
        An intact file of records.
    damaged : bytes
        A damaged copy, as :func:`tfrecord_lite.testing.damaged` draws it. A copy that only
        lacks whole records is not checked, as no reader could notice that.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import assert_damage_is_noticed, damaged
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> intact = Path("names.tfrecord").read_bytes()
    >>> @given(damaged(intact))
    ... def test_my_reader_notices_damage(stream):
    ...     assert_damage_is_noticed(TFRecordReader, intact, stream)
    >>> test_my_reader_notices_damage()
    """
    if is_intact(damaged):
        return
    items_read, is_noticed = [], False
    with tempfile.TemporaryDirectory() as folder:
        path, damaged_path = (Path(folder) / f"{name}.tfrecord" for name in ("intact", "damaged"))
        path.write_bytes(intact)
        damaged_path.write_bytes(damaged)
        expected = list(read(str(path)))
        try:
            for item in read(str(damaged_path)):
                items_read.append(item)  # noqa: PERF402 - keep those before an error
        except Exception:  # noqa: BLE001 - readers have errors of their own
            is_noticed = True
    for i, (one, other) in enumerate(zip(items_read, expected, strict=False)):
        assert_same(one, other, f"before the damage was noticed, item {i}")
    if not is_noticed:
        raise AssertionError(f"no error; {len(items_read)} items were read from the damaged file")
    if len(items_read) > len(expected):
        more = len(items_read) - len(expected)
        raise AssertionError(f"{more} items too many before the damage was noticed")


def assert_same(actual: Any, expected: Any, where: str = "value") -> None:
    """Assert that two values are the same, bit for bit except for NaNs.

    Parameters
    ----------
    found, expected : any
        Must be of the same class, except that these are interchangeable: bytes, bytearray and
        memoryview; memory-mapped and other arrays; classes of one message type, compared as bytes.
        NumPy's arrays and scalars must have the same dtype, shape and bits, so 0.0 is not -0.0, but
        any NaN equals any other; masked arrays the same masks, and the same values that are not
        masked. Sequences and mappings are compared item by item, anything else by ``==``.
    where : str, optional
        Name of the value in errors.

    Examples
    --------
    >>> from tfrecord_lite.testing import assert_same
    >>> assert_same({"age": np.array([36, np.nan])}, {"age": np.array([36, np.nan])})
    >>> assert_same({"age": np.array([36])}, {"age": np.array([36], np.int32)})
    Traceback (most recent call last):
        ...
    AssertionError: value, key 'age' has the dtype int64, expected int32
    """
    if _kind(actual) != _kind(expected):
        name, expected_name = type(actual).__name__, type(expected).__name__
        raise AssertionError(f"{where} is {name}, expected {expected_name}")
    actual, expected = _plain(actual), _plain(expected)
    is_number = isinstance(expected, np.generic | float | complex)
    if isinstance(expected, np.ndarray):
        _assert_same_array(actual, expected, where)
    elif is_number and not isinstance(expected, bytes | str):
        _assert_same_array(np.asarray(actual), np.asarray(expected), where)
    elif isinstance(expected, Mapping):
        if expected.keys() != actual.keys():
            lacks = sorted(expected.keys() - actual.keys(), key=repr)  # of any classes
            has = sorted(actual.keys() - expected.keys(), key=repr)
            raise AssertionError(f"{where} lacks {lacks} and has {has} too many")
        keys = {key: key for key in actual}
        for key, value in expected.items():
            assert_same(keys[key], key, f"{where}, key {key!r}")  # 1 is equal to True
            assert_same(actual[key], value, f"{where}, key {key!r}")
    elif isinstance(expected, Sequence) and not isinstance(expected, str | bytes):
        if len(actual) != len(expected):
            raise AssertionError(f"{where} has {len(actual)} values, expected {len(expected)}")
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            assert_same(one, other, f"{where}, value {i}")
    elif actual != expected:
        raise AssertionError(f"{where} differs from what was expected")


def _kind(value: Any) -> object:
    if isinstance(value, _BYTES):
        return bytes
    if isinstance(value, np.memmap):
        return np.ndarray
    if _is_message(value):  # each protobuf runtime has classes of its own
        return value.DESCRIPTOR.full_name
    return type(value)


def _is_message(value: Any) -> bool:
    return hasattr(value, "SerializeToString") and hasattr(value, "DESCRIPTOR")


def _plain(value: Any) -> Any:
    if isinstance(value, _BYTES):
        return bytes(value)
    if isinstance(value, BytesColumn):
        return value.to_numpy()
    if isinstance(value, RaggedTensor):
        return {"flat_values": value.flat_values, "row_splits": list(value.nested_row_splits)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return value.SerializeToString(deterministic=True) if _is_message(value) else value


def _assert_same_array(actual: Any, expected: Any, where: str) -> None:
    """Compare arrays, of masked ones the values that are not hidden."""
    for name in ("dtype", "shape"):
        have, theirs = getattr(actual, name), getattr(expected, name)
        if have != theirs:
            raise AssertionError(f"{where} has the {name} {have}, expected {theirs}")
    counts: Any = np.True_
    if isinstance(expected, np.ma.MaskedArray):
        masks = np.ma.getmaskarray(actual), np.ma.getmaskarray(expected)
        _assert_same_array(*masks, f"{where}, mask")
        counts = ~masks[1].reshape(-1)
    actual, expected = np.asarray(actual).reshape(-1), np.asarray(expected).reshape(-1)
    if expected.dtype.kind in "OT":  # objects, and strings that may include NaN
        for i in np.flatnonzero(np.broadcast_to(counts, expected.shape)).tolist():
            assert_same(actual[i], expected[i], f"{where}, value {i}")
        return
    wrong = np.flatnonzero(counts & ~_are_same(actual, expected))
    if wrong.size:
        places = f"{wrong.size} of {actual.size} values, first {wrong[0]}"
        raise AssertionError(f"{where} differs at {places}")


def _are_same(actual: AnyArray, expected: AnyArray) -> BoolArray:
    """Return which values of two flat arrays are equal, zeros with their signs, or are both NaN."""
    if expected.dtype.kind == "c":
        return _are_same(actual.real, expected.real) & _are_same(actual.imag, expected.imag)
    same: BoolArray = actual == expected
    with contextlib.suppress(TypeError):  # a dtype without signs, or without NaN
        same &= np.signbit(actual) == np.signbit(expected)
    with contextlib.suppress(TypeError):
        same |= np.isnan(actual) & np.isnan(expected)
    return same
