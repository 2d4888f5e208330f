"""Assertions: what was written comes back, and damage does not pass for data."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.columns import BytesColumn, RaggedTensor
from tfrecord_lite.testing.records import is_sound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Item = TypeVar("Item")

__all__ = ["assert_damage_is_noticed", "assert_round_trip", "assert_same"]

_BYTES = (bytes, bytearray, memoryview)


def assert_round_trip(
    write: Callable[[str, list[Item]], object],
    read: Callable[[str], Iterable[Any]],
    items: Iterable[Item],
    *,
    expected: Iterable[Any] | None = None,
) -> None:
    """Assert that a reader gives back what a writer was given: all of it, in order, as it was.

    Parameters
    ----------
    write : callable
        Writes a file: ``write(path, items)``.
    read : callable
        Reads one: ``read(path)``. Called twice: a second reading must give the same.
    items : iterable
        What to write: bytes, dictionaries of arrays, messages, anything.
    expected : iterable, optional
        What the reader should give; `items`, unless it gives them in another form.

    Raises
    ------
    AssertionError
        Which says in which item, and where in it, the difference is; see
        :func:`assert_same` for what counts as one.

    Examples
    --------
    >>> from tfrecord_lite import TFRecordReader, TFRecordWriter
    >>> def write(path, records):
    ...     with TFRecordWriter(path) as writer:
    ...         for record in records:
    ...             writer.write(record)
    >>> assert_round_trip(write, TFRecordReader, [b"one", b"", b"three"])
    >>> assert_round_trip(write, lambda path: list(TFRecordReader(path))[:2], [b"a", b"b", b"c"])
    Traceback (most recent call last):
        ...
    AssertionError: 2 items, expected 3
    """
    given = list(items)
    wanted = given if expected is None else list(expected)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "round-trip.tfrecord")
        write(path, given)
        _assert_all_same(list(read(path)), wanted, "")
        _assert_all_same(list(read(path)), wanted, "when read again, ")


def _assert_all_same(found: list[Any], expected: list[Any], when: str) -> None:
    for i, (one, other) in enumerate(zip(found, expected, strict=False)):
        assert_same(one, other, f"{when}item {i}")
    if len(found) != len(expected):
        raise AssertionError(f"{when}{len(found)} items, expected {len(expected)}")


def assert_damage_is_noticed(
    read: Callable[[str], Iterable[Any]], sound: bytes, damaged: bytes
) -> None:
    """Assert that a reader raises an error for a damaged file, and gives no other data before it.

    What it gives before the error must be what it gives of the sound file, in order, as far
    as that goes.

    Parameters
    ----------
    read : callable
        Reads a file: ``read(path)``.
    sound : bytes
        A sound file of records.
    damaged : bytes
        A damaged copy, as :func:`tfrecord_lite.testing.damaged` draws it. One that is
        whole records and nothing else cannot be told from a sound one, and passes.

    Raises
    ------
    AssertionError
        If the reader ends without an error, or gives something else before it.
    """
    if is_sound(damaged):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sound.tfrecord"
        path.write_bytes(sound)
        expected = list(read(str(path)))
        path = Path(folder) / "damaged.tfrecord"
        path.write_bytes(damaged)
        found = []
        try:
            for item in read(str(path)):
                found.append(item)  # noqa: PERF402 - what comes before an error counts
        except Exception:  # noqa: BLE001 - readers have errors of their own
            ended = True
        else:
            ended = False
    for i, (one, other) in enumerate(zip(found, expected, strict=False)):
        assert_same(one, other, f"before the damage was noticed, item {i}")
    if not ended:
        raise AssertionError(f"no error; {len(found)} items were read of the damaged file")
    if len(found) > len(expected):
        more = len(found) - len(expected)
        raise AssertionError(f"{more} items more than there are, before the damage was noticed")


def assert_same(found: Any, expected: Any, where: str = "value") -> None:
    """Assert that two values are the same, to the last bit that means something.

    Parameters
    ----------
    found, expected : any
        Arrays must have the same dtype and shape, and the same bits but for NaNs, of which
        any is any other; so 0.0 is not -0.0. Strings of bytes are compared by content,
        sequences and mappings item by item, columns by what they hold, messages by their
        bytes, all else by ``==``.
    where : str, optional
        What the error calls the value.

    Raises
    ------
    AssertionError
        At the first difference.
    """
    found, expected = _plain(found), _plain(expected)
    if isinstance(expected, np.ndarray) or isinstance(found, np.ndarray):
        _assert_same_array(found, expected, where)
    elif isinstance(expected, Mapping) and isinstance(found, Mapping):
        missing, more = expected.keys() - found.keys(), found.keys() - expected.keys()
        if missing or more:
            raise AssertionError(f"{where} lacks {sorted(missing)}, and has {sorted(more)} besides")
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}, key {key!r}")
    elif _is_sequence(expected) and _is_sequence(found):
        if len(found) != len(expected):
            raise AssertionError(f"{where} has {len(found)} values, expected {len(expected)}")
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{where}, value {i}")
    elif isinstance(expected, float | complex) or isinstance(found, float | complex):
        if type(found) is not type(expected):
            raise AssertionError(f"{where} is {_name(found)}, expected {_name(expected)}")
        _assert_same_array(np.asarray(found), np.asarray(expected), where)
    elif type(found) is not type(expected):
        raise AssertionError(f"{where} is {_name(found)}, expected {_name(expected)}")
    elif found != expected:
        raise AssertionError(f"{where} differs from what was expected")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _name(value: Any) -> str:
    return type(value).__name__


def _plain(value: Any) -> Any:
    """Take a value apart, as far as its class is not to be compared."""
    if isinstance(value, _BYTES):
        return bytes(value)
    if isinstance(value, BytesColumn):
        return value.to_numpy()
    if isinstance(value, RaggedTensor):
        return {"flat_values": value.flat_values, "row_splits": list(value.nested_row_splits)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if hasattr(value, "SerializeToString") and hasattr(value, "DESCRIPTOR"):
        return {value.DESCRIPTOR.full_name: value.SerializeToString(deterministic=True)}
    return value


def _assert_same_array(found: Any, expected: Any, where: str) -> None:
    if not (isinstance(found, np.ndarray) and isinstance(expected, np.ndarray)):
        detail = f"{where} is {_name(found)}, expected {_name(expected)}"
        raise AssertionError(detail)  # noqa: TRY004 - an assertion
    if found.dtype != expected.dtype:
        raise AssertionError(f"{where} is of {found.dtype}, expected {expected.dtype}")
    if found.shape != expected.shape:
        raise AssertionError(f"{where} has the shape {found.shape}, expected {expected.shape}")
    if found.dtype == object:
        for i, (one, other) in enumerate(zip(found.ravel(), expected.ravel(), strict=True)):
            assert_same(one, other, f"{where}, value {i}")
        return
    same = found == expected
    if found.dtype.kind in "fc":
        both_nan = np.isnan(found) & np.isnan(expected)
        same &= np.signbit(found.real) == np.signbit(expected.real)
        same &= np.signbit(found.imag) == np.signbit(expected.imag)
        same |= both_nan
    wrong = np.flatnonzero(~np.atleast_1d(same))
    if wrong.size:
        n_values = found.size
        raise AssertionError(
            f"{where} differs at {wrong.size} of {n_values} values, first {wrong[0]}"
        )
