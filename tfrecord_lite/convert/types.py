"""The one table of Python's and NumPy's types: which list of an Example holds their values.

===================================================  =========================================
bool, every integer, ml_dtypes' too                  int64 list
floats up to 32 bits, ml_dtypes' too                 float list
float64, Python's float, longdouble                  float list, rounded to the nearest float32
bytes, ``S``; str, ``U``, StringDType (as UTF-8)     bytes list
datetime64, timedelta64                              int64 list: the count of their unit
object arrays, lists                                 by the values in them: one kind; without
                                                     values bytes list (arrays), or None (lists)
===================================================  =========================================

Floats are rounded whatever their type, as protobuf does (P2). Any other value that would not come back is an error: a
finite float beyond float32's range, an integer among floats that float32 does not hold, uint64 from 2**63 on, complex,
NaT, objects of several kinds. Python's datetime, date and timedelta become arrays only under the strict policy.

The converters take values end to end and raise errors whose `index` is the number of a value;
:func:`at_records` turns it into the number of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import AnyArray, ByteRanges, ByteStrings, Int64Array, row_splits
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason, errors_at
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS
from tfrecord_lite.schema.types import Shape, Type

Splits: TypeAlias = "np.ndarray[Any, np.dtype[np.signedinteger[Any]]]"

_LARGE_BYTES = 4096
"""Byte strings of this mean size are copied one by one."""

_AS_IT_IS = "store it as it is, with the schema of schema_of(columns, lossless=True)"
MISSING_VALUE = (
    "None or a masked value among the values of a record; "
    "leave the feature out of the record, or use a value that means missing"
)
DECIMALS = (
    "no list of an Example holds decimals; cast them to float64 (x::DOUBLE in SQL, float(x) in Python), "
    "or to texts, which keep the digits"
)
_SURROGATES = "a text with lone surrogates, which UTF-8 cannot encode"

Flat: TypeAlias = "arrays.Float32Array | Int64Array | ByteStrings"
FlatList: TypeAlias = "tuple[Kind | None, Flat]"
"""Values end to end and their kind, None without values."""
Converter: TypeAlias = "Callable[[AnyArray], FlatList]"


# ------------------------------------------------------------------------------------- errors


def column_error(
    key: str, detail: str, index: int | None = None, reason: Reason = Reason.BAD_ARGUMENT
) -> InvalidArgumentError:
    """Return the error about a column, or about one record of it."""
    return InvalidArgumentError(reason, index=index, key=key, detail=detail)


def _value_error(
    number: int | None, detail: str, reason: Reason = Reason.UNREPRESENTABLE
) -> InvalidArgumentError:
    return InvalidArgumentError(reason, index=number, detail=detail)


def record_of(splits: Splits, number: int) -> int:
    """Return the record that has a value; splits are of all records."""
    return int(np.searchsorted(splits, number, "right")) - 1


def at_records(splits: Splits) -> errors_at:
    """Make errors about one of the values name the record that has it."""
    return errors_at(index=partial(record_of, splits))


def has_any(items: Iterable[Any], classes: Any) -> bool:
    """Return whether some items are of these classes."""
    return any(issubclass(cls, classes) for cls in set(map(type, items)))


def not_utf8(strings: ByteStrings) -> int | None:
    """Return the number of the first byte string that is not UTF-8; None if all are."""
    splits = row_splits(strings.lengths)
    data = strings.packed(splits)
    if not data.size or data.max() < 0x80:
        return None
    firsts = data[splits[:-1][strings.lengths > 0]]
    whole = data.tobytes()
    with suppress(UnicodeDecodeError):
        whole.decode()
        if not ((firsts & 0xC0) == 0x80).any():  # none begins within a character
            return None
    for i, (start, stop) in enumerate(pairwise(splits.tolist())):
        try:
            whole[start:stop].decode()
        except UnicodeDecodeError:
            return i
    return None


def rows_of(data: Any) -> Any:
    """Return rows to iterate over, also of a map-style data set, such as torch's."""
    is_mapped = hasattr(data, "__getitem__") and hasattr(data, "__len__")
    if hasattr(data, "__iter__") or not is_mapped:
        return data
    return map(data.__getitem__, range(len(data)))


def unmasked(key: str, items: list[Any]) -> list[Any]:
    """Replace masked arrays: by None if they are masked as a whole, else by what they hold."""
    if not has_any(items, np.ma.MaskedArray):
        return items
    present = list(items)
    for i, item in enumerate(items):
        if isinstance(item, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(item)
            is_plain = item.dtype.names is not None or not np.any(mask)
            if not (is_plain or np.all(mask)):
                detail = "some values of the record are masked, not all"
                raise column_error(key, detail, i, Reason.UNREPRESENTABLE)
            present[i] = item.data[()] if is_plain else None
    return present


# ---------------------------------------------------------------------------- NumPy's dtypes


def flat_list(values: AnyArray) -> FlatList:
    """Convert an array that is not one of objects; errors have the number of a value."""
    return _row_of(values.dtype)[1](values)


def flat_values(values: AnyArray) -> AnyArray | ByteStrings:
    """Return flat values as Lists have them: numbers and times as they are, strings in UTF-8."""
    if values.dtype.kind == "O":  # none: objects are byte strings, unless there is something else
        return _byte_strings([])[1]
    return _DTYPES[values.dtype.kind][1](values)[1] if values.dtype.kind in "SUT" else values


@lru_cache(1024)
def type_of_dtype(dtype: np.dtype[Any], shape: Shape = (), text: str | None = None) -> Type:
    """Return what values of a dtype are, which are stored as the lenient policy stores them."""
    if dtype.kind in "SU":
        text = f"{dtype.kind}{max(dtype.itemsize // (1 if dtype.kind == 'S' else 4), 1)}"
    elif dtype.kind == "T":
        text = "T"
    name = "string" if dtype.kind in "SUTO" else dtype.name
    if name == "string" or dtype.kind == "c":  # complex numbers only as their bytes
        return Type(Kind.BYTES, name, shape, text)
    return Type(_row_of(dtype)[0], name, shape, text)


@lru_cache(256)
def _row_of(dtype: np.dtype[Any], number: int | None = None) -> tuple[Kind, Converter]:
    """Return the list for a dtype, and what converts to it; an error is about the value of that number."""
    if dtype.name in EXTRA_FLOATS:  # by name: ml_dtypes gives most of them the kind of structures
        return Kind.FLOAT, _extra_floats
    if dtype.name in EXTRA_INTEGERS:
        return Kind.INT64, _integers
    if dtype.kind not in _DTYPES:
        raise _unsupported_error(dtype.name, number)
    return _DTYPES[dtype.kind]


def _unsupported_error(what: str, number: int | None = None) -> InvalidArgumentError:
    detail = f"an Example has no list for {what}; convert it to int64, float32 or bytes"
    if what in ("complex", "complex64", "complex128"):
        detail += f", or {_AS_IT_IS}"
    return _value_error(number, detail, Reason.UNSUPPORTED)


def ranges_of(column: BytesColumn) -> ByteRanges:
    """Return a column's strings, where they are."""
    return ByteRanges(column.data, column.offsets[:-1], column.lengths)


def ticks(values: AnyArray) -> Int64Array:
    """Return datetime64 or timedelta64 as counts of their unit."""
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native).view(np.int64)


def _integers(values: AnyArray) -> FlatList:
    is_wide = values.dtype.kind == "u" and values.dtype.itemsize == 8
    if is_wide and (first := arrays.first_true(values > np.uint64(2**63 - 1))) is not None:
        what = f"this uint64, {values[first]}, is above 2**63 - 1, the largest int64"
        raise _value_error(first, f"{what}; {_AS_IT_IS}")
    return Kind.INT64, np.ascontiguousarray(values.astype(np.int64, copy=False))


def _extra_floats(values: AnyArray) -> FlatList:
    """Widen a float of ml_dtypes; a NaN keeps its bits in the low ones of the wider NaN."""
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float32)
    is_nan = np.isnan(wide)
    if is_nan.any():
        bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
        wide.view(np.uint32)[is_nan] |= _QUIET_NAN | bits[is_nan]
    return Kind.FLOAT, wide


def extra_floats_back(values: arrays.Float32Array, dtype: np.dtype[Any]) -> AnyArray:
    """Narrow float32 to a float of ml_dtypes, with the bits of NaN that it had before."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = values.astype(dtype)
        places = np.flatnonzero(np.isnan(values))
        kept = values.reshape(-1)[places].view(np.uint32).astype(f"u{dtype.itemsize}").view(dtype)
        # The NaN of another program has other bits there, which mean a number.
        is_own = np.isnan(kept.astype(np.float32))
    narrow.reshape(-1)[places[is_own]] = kept[is_own]
    return narrow


_QUIET_NAN = np.uint32(0x7FC00000)
_TOO_LARGE = (
    "this number is beyond float32, which ends at 3.4e38; save it with lossless=True, or with the schema of "
    "schema_of(columns, lossless=True)"
)


def _floats(values: AnyArray) -> FlatList:
    if values.dtype.itemsize <= 4:
        return Kind.FLOAT, np.ascontiguousarray(values.astype(np.float32, copy=False))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = values.astype(np.float32)
    if np.isinf(narrow).any():
        first = arrays.first_true(np.isinf(narrow) & np.isfinite(values))
        if first is not None:
            raise _value_error(first, _TOO_LARGE)
    return Kind.FLOAT, narrow


def is_rounded(values: AnyArray | ByteStrings, narrow: AnyArray | ByteStrings) -> bool:
    """Return whether float32 has other numbers than some values; NaN is the same."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or values.dtype.itemsize <= 4:
        return False
    with np.errstate(invalid="ignore"):
        changed = values[values != narrow]
    return not np.isnan(changed).all()


def exact(values: AnyArray, dtype: np.dtype[Any], detail: str = "", start: int = 0) -> AnyArray:
    """Return integers in a dtype that holds all of them; errors count the values from `start` on."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        converted = values.astype(dtype, copy=False)
        if values.dtype.kind not in "iu" or values.dtype == dtype:
            return converted
        are_integers = dtype.kind in "iu"
        wrong = converted != values if are_integers else inexact_integers(values, converted.real)
    if (number := arrays.first_true(wrong)) is not None:
        detail = detail or f"the integer {values[number]} is not exact in {dtype.name}"
        raise _value_error(start + number, detail)
    return converted


def inexact_integers(values: AnyArray, floats: AnyArray) -> arrays.BoolArray:
    """Find the integers that changed when they became floats."""
    limit = 2.0 ** (63 if values.dtype.kind == "i" else 64)
    fits = floats < limit  # the limit itself is rounded up to, and wraps around on the way back
    inexact: arrays.BoolArray = ~fits | (np.where(fits, floats, 0).astype(values.dtype) != values)
    return inexact


def _times(values: AnyArray) -> FlatList:
    if (first := arrays.first_true(np.isnat(values))) is not None:
        raise _value_error(first, f"NaT is not a number; mask it in a masked array, or {_AS_IT_IS}")
    return Kind.INT64, ticks(values)


def _fixed_strings(values: AnyArray) -> FlatList:
    width = values.dtype.itemsize
    data = np.ascontiguousarray(values).view(np.uint8) if width else np.zeros(0, np.uint8)
    lengths = np.strings.str_len(values).astype(np.int64)
    return Kind.BYTES, ByteRanges(data, np.arange(values.size, dtype=np.int64) * width, lengths)


def _fixed_texts(values: AnyArray) -> FlatList:
    if not values.dtype.itemsize:
        return _fixed_strings(values.astype("S"))
    counts = np.strings.str_len(values).astype(np.int64)
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    # The code points of each text in a row, with zeros after them; then of all, end to end.
    codes = native.view("<u4").reshape(values.size, values.dtype.itemsize // 4)
    return Kind.BYTES, _utf8(codes[np.arange(codes.shape[1]) < counts[:, None]], counts)


def _utf8(codes: arrays.Uint32Array, counts: Int64Array) -> ByteRanges:
    """Encode texts, given as code points end to end, and how many each has."""
    try:
        data = codes.tobytes().decode("utf-32-le").encode()
    except UnicodeError as error:
        number = record_of(row_splits(counts), getattr(error, "start", 0) // 4)
        raise _value_error(number, _SURROGATES) from None
    lengths = counts
    if len(data) != codes.size:
        # Bytes of each code point; their sums over each text are its length.
        sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000).astype(np.int64)
        lengths = np.diff(row_splits(sizes)[row_splits(counts)])
    return ByteRanges(np.frombuffer(data, np.uint8), row_splits(lengths)[:-1], lengths)


def _variable_texts(values: AnyArray) -> FlatList:
    items = values.astype(object).tolist()
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise _value_error(i, "a missing text; give None for a missing feature")
    return _texts(items)


# One row per kind of dtype: the list, and what converts to it.
_DTYPES: dict[str, tuple[Kind, Converter]]
_DTYPES = {"S": (Kind.BYTES, _fixed_strings), "f": (Kind.FLOAT, _floats)}
_DTYPES |= {"U": (Kind.BYTES, _fixed_texts), "T": (Kind.BYTES, _variable_texts)}
_DTYPES |= dict.fromkeys("biu", (Kind.INT64, _integers)) | dict.fromkeys("Mm", (Kind.INT64, _times))

EXACT_DTYPES = frozenset(map(np.dtype, ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "f2", "f4"]))
"""The dtypes whose every value a list holds: fast paths need not look at the values."""


# --------------------------------------------------------------- Python's types, and NumPy's


def values_for_list(items: list[Any], types: set[type]) -> tuple[Kind | None, Any]:
    """Convert Python objects to the list that holds them, and leave floats to be rounded."""
    if not types:
        return None, np.zeros(0, np.float32)
    if type(None) in types:
        raise _value_error(next(i for i, item in enumerate(items) if item is None), MISSING_VALUE)
    family = _family_of(frozenset(types), is_strict=False)
    if family is None:
        raise _no_family_error(items, types)
    kind_and_values: tuple[Kind | None, Any] = family.to_list(items)
    return kind_and_values


def values_of_objects(items: list[Any], types: set[type]) -> tuple[Type, AnyArray | ByteStrings]:
    """Convert Python objects under the strict policy: to their type, and values that equal them."""
    if not types:
        return Type(None, "string", ()), _byte_strings([])[1]
    family = _family_of(frozenset(types), is_strict=True)
    if family is None:
        raise _no_array_error(items)
    flat = family.to_flat(items)
    if isinstance(flat, np.ndarray):
        return type_of_dtype(flat.dtype), flat
    return (_TEXT if issubclass(next(iter(types)), str) else _BYTES), flat


_BYTES = Type(Kind.BYTES, "string", ())
_TEXT = Type(Kind.BYTES, "string", (), "str")


def _no_array_error(items: list[Any]) -> InvalidArgumentError:
    """Return the error for objects that no array equals; about the first of them that is odd."""
    types = set(map(type, items))
    names = ", ".join(sorted(cls.__name__ for cls in types))
    detail = f"no array holds values of these types together: {names}; convert them to one"
    if any(cls.__name__ == "Decimal" for cls in types):
        detail = f"values of type {names}; {DECIMALS}"
    elif len(types) == 1:
        detail = f"no dtype holds these values of type {names}; {_cure(types.pop())}"
    if any(issubclass(cls, (*_TIMES, np.datetime64, np.timedelta64)) for cls in types):
        detail += "; give np.datetime64 or np.timedelta64 of one unit, or pd.to_datetime(values)"
    number = next((i for i, item in enumerate(items) if type(item) is not type(items[0])), 0)
    return _value_error(number, detail)


def _cure(cls: type) -> str:
    cures = {
        "keys": "give each of its values a feature, with a name such as 'feature/key'",
        "__fspath__": "give str(value)",
        "_member_map_": "give its name or its value",  # of an Enum
        "__iter__": "give list(value)",
    }
    if cls.__name__ == "Decimal":
        return DECIMALS
    fitting = (cure for name, cure in cures.items() if hasattr(cls, name))
    return next(fitting, "give numbers, strings, a list or an array")


def _no_family_error(items: list[Any], types: set[type]) -> InvalidArgumentError:
    if len(types) == 1:
        (cls,) = types
        if issubclass(cls, complex):
            return _unsupported_error("complex", 0)
        detail = f"an Example cannot store a value of type {cls.__name__}; {_cure(cls)}"
        if issubclass(cls, _TIMES):
            detail += ", such as np.datetime64 or np.timedelta64, stored as the count of its unit"
        return _value_error(0, detail, Reason.UNSUPPORTED)
    names = ", ".join(sorted(cls.__name__ for cls in types))
    seen: set[type] = set()
    for i, item in enumerate(items):
        seen.add(type(item))
        if _family_of(frozenset(seen), is_strict=False) is None:
            return _value_error(i, f"values of several kinds: {names}")
    return _value_error(None, f"values of several kinds: {names}")


@lru_cache(256)
def _family_of(types: frozenset[type], *, is_strict: bool) -> _Family | None:
    """Return the first family that has all types, and may be converted under a policy."""
    for family in _FAMILIES:
        is_possible = family.to_flat if is_strict else family.to_list
        if is_possible and all(issubclass(cls, family.types) for cls in types):
            return family
    return None


def _byte_strings(items: list[Any]) -> FlatList:
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    large = arrays.ByteItems(items, lengths)
    is_large = int(lengths.sum()) >= _LARGE_BYTES * len(items) > 0
    return Kind.BYTES, large if is_large else large.to_ranges()


def _bytes_of(number: int, item: Any) -> bytes | bytearray:
    if isinstance(item, memoryview) and "O" in item.format:
        detail = "a memoryview of Python objects, which have no bytes; give numbers or strings"
        raise _value_error(number, detail, Reason.UNSUPPORTED)
    return item if isinstance(item, bytearray) else bytes(item)


def _texts(items: list[Any]) -> FlatList:
    counts = np.fromiter(map(len, items), np.int64, len(items))
    whole = "".join(items)
    try:
        data = whole.encode()
    except UnicodeEncodeError as error:
        raise _value_error(record_of(row_splits(counts), error.start), _SURROGATES) from None
    if len(data) == len(whole):
        ranges = ByteRanges(np.frombuffer(data, np.uint8), row_splits(counts)[:-1], counts)
        return Kind.BYTES, ranges
    return Kind.BYTES, _utf8(np.frombuffer(whole.encode("utf-32-le"), np.uint32), counts)


def _mixed_strings(items: list[Any]) -> FlatList:
    encoded = []
    for i, item in enumerate(items):
        try:
            encoded.append(item.encode() if isinstance(item, str) else _bytes_of(i, item))
        except UnicodeEncodeError:
            raise _value_error(i, _SURROGATES) from None
    return _byte_strings(encoded)


def _shown(integer: Any) -> str:
    n_bits = int(integer).bit_length()
    return f"{integer}" if n_bits <= 128 else f"one of {n_bits:,} bits"


def _python_integers(items: list[Any]) -> FlatList:
    try:
        return Kind.INT64, np.fromiter(items, np.int64, len(items))
    except OverflowError:
        number = next(i for i, v in enumerate(items) if not -(2**63) <= int(v) < 2**63)
        detail = f"this integer does not fit into int64: {_shown(items[number])}"
        raise _value_error(number, detail) from None


def _python_floats(items: list[Any]) -> tuple[Kind, AnyArray]:
    types = set(map(type, items))
    if len(types) == 1 and issubclass(next(iter(types)), np.floating):
        return Kind.FLOAT, np.array(items, items[0].dtype)
    if any(issubclass(cls, bool | np.bool) for cls in types):
        number = next(i for i, v in enumerate(items) if isinstance(v, bool | np.bool))
        raise _value_error(number, "a bool among floats")
    # Not rounded twice: longdouble to float64, and that to float32.
    is_long = any(issubclass(cls, np.longdouble) for cls in types)
    try:
        wide = np.fromiter(items, np.longdouble if is_long else np.float64, len(items))
    except (OverflowError, ValueError):
        number = next(i for i, v in enumerate(items) if isinstance(v, int) and abs(v) > 2**1000)
        raise _value_error(number, _TOO_LARGE) from None
    is_large = not np.fmax.reduce(abs(wide), initial=0) <= 2**24  # all integers up to it are exact
    if is_large and any(issubclass(cls, WHOLE) for cls in types):
        _, narrow = _floats(wide)
        for i, (ours, own) in enumerate(zip(narrow.tolist(), items, strict=True)):  # type: ignore[union-attr]
            if isinstance(own, WHOLE) and ours != int(own):
                detail = f"this integer among floats, {_shown(own)}, is not exact in float32; {_AS_IT_IS}"
                raise _value_error(i, detail)
    return Kind.FLOAT, wide


def _numpy_scalars(items: list[Any]) -> FlatList:
    dtypes = {item.dtype for item in items}
    if len(dtypes) != 1:
        names = ", ".join(sorted(map(str, dtypes)))
        number = next(i for i, item in enumerate(items) if item.dtype != items[0].dtype)
        raise _value_error(number, f"values of several dtypes: {names}")
    array = np.array(items, dtypes.pop())
    return _row_of(array.dtype, 0)[1](array)


# Not np.integer, of which timedelta64 is one.
WHOLE: Any = int | np.bool | np.unsignedinteger
WHOLE |= np.byte | np.short | np.intc | np.long | np.longlong
"""The types of integers, and bool."""


def _array_of_integers(items: list[Any]) -> AnyArray:
    types = set(map(type, items))
    is_bool = {issubclass(cls, bool | np.bool) for cls in types}
    if len(is_bool) != 1:
        raise _no_array_error(items)
    if True in is_bool:
        return np.array(items, np.bool)
    common = np.result_type(*(cls if issubclass(cls, np.generic) else np.int64 for cls in types))
    numbers = items if types == {int} else list(map(int, items))
    # Of uint64 and int64 NumPy makes float64.
    for dtype in (np.dtype(np.int64) if common.kind == "f" else common, np.int64, np.uint64):
        try:
            return np.array(numbers, dtype)
        except OverflowError:
            continue
    number = next(i for i, v in enumerate(numbers) if not -(2**63) <= v < 2**63)
    detail = "no dtype holds all of these integers: int64 goes to 2**63 - 1, uint64 from 0 to "
    raise _value_error(number, detail + "2**64 - 1")


def _array_of_numbers(items: list[Any]) -> AnyArray:
    types = set(map(type, items))
    if any(issubclass(cls, bytes | str | bool | np.bool) for cls in types):
        raise _no_array_error(items)
    if types == {float}:
        return np.array(items, np.float64)
    dtypes = {getattr(item, "dtype", None) for item in items}
    if len(dtypes) == 1 and None not in dtypes:
        return np.array(items, dtypes.pop())
    if any(issubclass(cls, np.datetime64 | np.timedelta64) for cls in types):
        raise _no_array_error(items)  # of several units
    try:
        with np.errstate(all="ignore"):
            array = np.array(items)
    except (OverflowError, TypeError, ValueError):  # of NumPy's promotion
        raise _no_array_error(items) from None
    if array.dtype.kind == "O":
        raise _no_array_error(items)
    if (number := first_difference(array, items)) is not None:
        detail = f"this value does not fit into {array.dtype.name}, which NumPy makes of the column"
        raise _value_error(number, f"{detail}; give values of one dtype that holds all of them")
    return array


_TIMES = date, timedelta  # a datetime is a date
_TIME_DTYPES: dict[type, str] = {datetime: "datetime64[us]", date: "datetime64[D]"}
_TIME_DTYPES[timedelta] = "timedelta64[us]"


def _array_of_times(items: list[Any]) -> AnyArray:
    types = set(map(type, items))
    # Not their subclasses: pandas' are finer.
    if len(types) != 1 or type(items[0]) not in _TIME_DTYPES:
        raise _no_array_error(items)
    for i, item in enumerate(items):
        if getattr(item, "tzinfo", None) is not None:
            detail = "this datetime has a time zone, which no dtype holds; convert it to UTC "
            detail += "without one: t.astimezone(timezone.utc).replace(tzinfo=None)"
            raise _value_error(i, detail)
        if isinstance(item, timedelta) and abs(item.days) > _MAX_DAYS:
            raise _value_error(i, "this timedelta is too long for timedelta64[us]")
    return np.array(items, _TIME_DTYPES[type(items[0])])


_MAX_DAYS = 2**63 // (24 * 60 * 60 * 10**6) - 1


class _Family(NamedTuple):
    """Types whose values may be mixed, and what converts them under each policy."""

    types: Any
    to_list: Any
    """Lenient: ``list -> FlatList``, to the list that protobuf has for them; None if there is none."""
    to_flat: Any
    """Strict: ``list -> AnyArray | ByteStrings``, which equals them; None if there is none."""


# The first family that has all types decides; no types at all belong to every one.
_FAMILIES = (
    _Family(bytes | bytearray, _byte_strings, lambda items: _byte_strings(items)[1]),
    _Family(bytes | bytearray | memoryview, _mixed_strings, lambda items: _mixed_strings(items)[1]),
    _Family(str, _texts, lambda items: _texts(items)[1]),
    _Family(bytes | str | bytearray | memoryview, _mixed_strings, None),
    _Family(WHOLE, _python_integers, _array_of_integers),
    _Family(float | np.floating | WHOLE, _python_floats, _array_of_numbers),
    _Family(np.generic, _numpy_scalars, _array_of_numbers),
    _Family(int | float | complex | np.generic, None, _array_of_numbers),
    _Family(date | timedelta, None, _array_of_times),
)

PLAIN_INTEGERS = frozenset({bool, int, *(d.type for d in EXACT_DTYPES if d.kind in "iu")})
PLAIN_FLOATS = frozenset({float, np.float16, np.float32, np.float64})
PLAIN_STRINGS = frozenset({bytes, str})
"""The types that fast paths may put into one list without :data:`_FAMILIES`."""


# ---------------------------------------------------------------------------- exact comparison
# NumPy's == rounds both sides to a common dtype; Python's is exact.


def first_difference(array: AnyArray, items: Iterable[Any]) -> int | None:
    """Return the first of some numbers that an array has changed; NaN equals NaN.

    >>> first_difference(np.array([2.0**53, 0.5]), [2**53 + 1, 0.5])
    0
    """
    pairs = zip(array, items, strict=True)
    return next((i for i, (ours, own) in enumerate(pairs) if _exact(ours) != _exact(own)), None)


def _exact(value: Any) -> Any:
    if isinstance(value, complex | np.complexfloating):
        return _real(value.real), _real(value.imag)
    return _real(value), 0


def _real(value: Any) -> Any:
    if isinstance(value, int | np.integer | np.bool):
        return int(value)
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        return "NaN"
    if isinstance(value, np.longdouble) and np.isfinite(value):
        from fractions import Fraction  # noqa: PLC0415 - for longdouble alone

        return Fraction(*value.as_integer_ratio())
    return float(value)  # of ml_dtypes' integers too, which are small
