"""Values end to end, of any dtype, to what a list holds: int64, float32 or byte strings.

===================================================  =========================================
bool, every integer                                  int64 list
float16, bfloat16, float32                           float list
float64, longdouble                                  float list, if every value is a float32
bytes, ``S``; str, ``U``, StringDType (as UTF-8)     bytes list
datetime64, timedelta64                              int64 list: the count of their unit
Python's int and bool; float (rounded); bytes, str   int64, float and bytes list
object arrays, lists                                 by what is in them: one kind, or None
===================================================  =========================================

What would lose something is refused, with the number of the record: uint64 from 2**63
on, a float64 between two float32, complex, NaT, objects of several kinds. A Python float
is no float64 in this: it has no other width to ask for, and is rounded as protobuf does
(P2), unless it is too large.

Nothing here knows of columns, of schemas, or of bytes on the wire.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    Float32Array,
    Int64Array,
    Uint8Array,
    Uint32Array,
    row_splits,
)
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

_LARGE_BYTES = 4096
"""Objects of this mean size are copied one by one."""

_DEEPEST = 64
"""Levels of nested lists; NumPy has no more dimensions either."""

_RAW = "or store it as it is, with the schema of schema_of(columns)"


AMONG = (
    "None, or a masked value, among the values of a record; "
    "leave the feature out of the record, or put a value there that says so"
)


def _unsupported(what: str) -> str:
    return f"an Example holds int64, float32 and bytes, not {what}; convert it, {_RAW}"


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """Byte strings, anywhere in a buffer."""

    data: Uint8Array
    starts: Int64Array
    lengths: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class LargeStrings:
    """Byte strings that are large, an object each: to be copied once, to where they go."""

    items: list[Any]
    lengths: Int64Array

    def joined(self) -> Strings:
        """Copy them into one buffer."""
        data = np.frombuffer(b"".join(self.items), np.uint8)
        return Strings(data, row_splits(self.lengths)[:-1], self.lengths)


Run: TypeAlias = "tuple[Kind | None, Flat]"
Flat: TypeAlias = "Float32Array | Int64Array | Strings | LargeStrings"


class _Unfit(Exception):  # noqa: N818 - never leaves this module
    """A value that no list holds: its number among the values, and what about it."""

    def __init__(self, number: int, detail: str) -> None:
        super().__init__(number, detail)
        self.number = number
        self.detail = detail


def refusal(
    key: str, detail: str, index: int | None = None, reason: Reason | None = None
) -> InvalidArgumentError:
    """Return the error about a column, or about one record of it."""
    reason = Reason.BAD_ARGUMENT if reason is None else reason
    return InvalidArgumentError(reason, None, None, index, key, detail)


def refuse(
    key: str, detail: str, index: int | None = None, reason: Reason | None = None
) -> NoReturn:
    """Raise the error about a column, or about one record of it."""
    raise refusal(key, detail, index, reason)


@contextmanager
def rows_of(splits: npt.NDArray[np.signedinteger[Any]]) -> Iterator[None]:
    """Let errors about one of the values name the row that has it."""
    try:
        yield
    except InvalidArgumentError as error:
        if error.index is None:
            raise
        row = int(np.searchsorted(splits, error.index, "right")) - 1
        raise InvalidArgumentError(error.reason, None, None, row, error.key, error.detail) from None


def refuse_deep(key: str, values: Iterable[Any]) -> None:
    """Refuse sequences that are nested without end, or too deeply to recurse into them."""
    level = [value for value in values if isinstance(value, list | tuple | np.ndarray)]
    for _ in range(_DEEPEST):
        # Each object once: lists that hold themselves twice would double with every level.
        inner: dict[int, Any] = {}
        for sequence in level:
            if isinstance(sequence, np.ndarray):
                is_object = sequence.dtype.kind == "O"
                items = np.asarray(sequence).ravel().tolist() if is_object else ()
            else:
                items = sequence
            inner |= {id(v): v for v in items if isinstance(v, list | tuple | np.ndarray)}
        level = list(inner.values())
        if not level:
            return
    refuse(key, f"values nested too deeply: more than {_DEEPEST} levels")


def run(key: str, values: Any, splits: Int64Array) -> Run:
    """Convert values, end to end; splits say which record an error is about."""
    if isinstance(values, BytesColumn):
        return Kind.BYTES, strings_of(values)
    values = values.reshape(-1)
    if values.dtype.kind == "O":
        items = values.tolist()
        if not items:  # objects are byte strings, unless they turn out to be something else
            return bytes_run(items)
        return object_run(key, items, set(map(type, items)), splits)
    convert = _BY_DTYPE.get(values.dtype.kind)
    if values.dtype.name == "bfloat16":
        convert = _narrow_floats
    if convert is None:
        refuse(key, _unsupported(values.dtype.name), None, Reason.UNSUPPORTED)
    try:
        return convert(values)
    except _Unfit as unfit:
        index = int(np.searchsorted(splits, unfit.number, "right")) - 1
        refuse(key, unfit.detail, index, Reason.UNREPRESENTABLE)


def object_run(key: str, items: list[Any], types: set[type], splits: Int64Array) -> Run:
    """Convert Python objects, end to end."""
    if not types:
        return None, np.zeros(0, np.float32)
    if type(None) in types:
        number = next(i for i, item in enumerate(items) if item is None)
        index = int(np.searchsorted(splits, number, "right")) - 1
        refuse(key, AMONG, index, Reason.UNREPRESENTABLE)
    fitting = [f for f in _FAMILIES if all(issubclass(cls, f[0]) for cls in types)]
    if not fitting:
        if len(types) == 1:
            cls = types.pop()
            detail = f"no feature holds a {cls.__name__}; give numbers, strings, a list or an array"
            if issubclass(cls, complex):
                detail = _unsupported("complex")
            refuse(key, detail, int(np.searchsorted(splits, 0, "right")) - 1, Reason.UNSUPPORTED)
        first = next((f for f, _ in _FAMILIES if isinstance(items[0], f)), object)
        number = next((i for i, item in enumerate(items) if not isinstance(item, first)), 0)
        names = ", ".join(sorted(cls.__name__ for cls in types))
        index = int(np.searchsorted(splits, number, "right")) - 1
        refuse(key, f"values of several kinds: {names}", index, Reason.UNREPRESENTABLE)
    try:
        return fitting[0][1](items)
    except _Unfit as unfit:
        index = int(np.searchsorted(splits, unfit.number, "right")) - 1
        refuse(key, unfit.detail, index, Reason.UNREPRESENTABLE)


def _integers(values: AnyArray) -> Run:
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        large = np.flatnonzero(values > np.uint64(2**63 - 1))
        if large.size:
            raise _Unfit(int(large[0]), f"a uint64 above 2**63 - 1 is no int64; {_RAW[3:]}")
    return Kind.INT64, np.ascontiguousarray(values.astype(np.int64, copy=False))


def _narrow_floats(values: AnyArray) -> Run:
    return Kind.FLOAT, np.ascontiguousarray(values.astype(np.float32, copy=False))


def _floats(values: AnyArray) -> Run:
    if values.dtype.itemsize <= 4:
        return _narrow_floats(values)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = values.astype(np.float32)
    differs = np.flatnonzero((narrow != values) & (values == values))  # noqa: PLR0124 - NaN
    if differs.size:
        detail = (
            f"a {values.dtype.name} that is no float32; round it with astype('float32'), {_RAW}"
        )
        raise _Unfit(int(differs[0]), detail)
    return Kind.FLOAT, narrow


def _times(values: AnyArray) -> Run:
    nat = np.flatnonzero(np.isnat(values))
    if nat.size:
        detail = f"NaT is no number; mask it in a masked array, {_RAW}"
        raise _Unfit(int(nat[0]), detail)
    return Kind.INT64, ticks(values)


def ticks(values: AnyArray) -> Int64Array:
    """Return datetime64 or timedelta64 as counts of their unit."""
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native).view(np.int64)


def _fixed_strings(values: AnyArray) -> Run:
    width = values.dtype.itemsize
    data = np.ascontiguousarray(values).view(np.uint8) if width else np.zeros(0, np.uint8)
    lengths = np.strings.str_len(values).astype(np.int64)
    return Kind.BYTES, Strings(data, np.arange(values.size, dtype=np.int64) * width, lengths)


def _fixed_texts(values: AnyArray) -> Run:
    if not values.dtype.itemsize:
        return _fixed_strings(values.astype("S"))
    counts = np.strings.str_len(values).astype(np.int64)
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    codes = native.view("<u4").reshape(values.size, values.dtype.itemsize // 4)
    chosen = codes[np.arange(codes.shape[1]) < counts[:, None]]
    return Kind.BYTES, _utf8(chosen, counts)


def _utf8(codes: Uint32Array, counts: Int64Array) -> Strings:
    """Encode texts, given as code points end to end, and how many each has."""
    try:
        data = codes.tobytes().decode("utf-32-le").encode()
    except UnicodeError as error:
        splits = row_splits(counts)
        number = int(np.searchsorted(splits, getattr(error, "start", 0) // 4, "right")) - 1
        raise _Unfit(number, "a text with lone surrogates, which UTF-8 cannot write") from None
    lengths = counts
    if len(data) != codes.size:
        sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000).astype(np.int64)
        lengths = np.diff(row_splits(sizes)[row_splits(counts)])
    return Strings(np.frombuffer(data, np.uint8), row_splits(lengths)[:-1], lengths)


def _variable_texts(values: AnyArray) -> Run:
    items = values.astype(object).tolist()
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise _Unfit(i, "a missing text; give None for a missing feature")
    return _texts(items)


def _texts(items: list[Any]) -> Run:
    counts = np.fromiter(map(len, items), np.int64, len(items))
    whole = "".join(items)
    try:
        data = whole.encode()
    except UnicodeEncodeError as error:
        number = int(np.searchsorted(row_splits(counts), error.start, "right")) - 1
        raise _Unfit(number, "a text with lone surrogates, which UTF-8 cannot write") from None
    if len(data) == len(whole):
        return Kind.BYTES, Strings(np.frombuffer(data, np.uint8), row_splits(counts)[:-1], counts)
    codes = np.frombuffer(whole.encode("utf-32-le"), np.uint32)
    return Kind.BYTES, _utf8(codes, counts)


def bytes_run(items: list[Any]) -> Run:
    """Take bytes-like objects; large ones are not copied here."""
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    large = LargeStrings(items, lengths)
    is_large = int(lengths.sum()) >= _LARGE_BYTES * len(items) > 0
    return Kind.BYTES, large if is_large else large.joined()


def _mixed_strings(items: list[Any]) -> Run:
    encoded = []
    for i, item in enumerate(items):
        try:
            encoded.append(item.encode() if isinstance(item, str) else bytes(item))
        except UnicodeEncodeError:
            detail = "a text with lone surrogates, which UTF-8 cannot write"
            raise _Unfit(i, detail) from None
    return bytes_run(encoded)


def _python_integers(items: list[Any]) -> Run:
    try:
        return Kind.INT64, np.fromiter(items, np.int64, len(items))
    except OverflowError:
        number = next(i for i, v in enumerate(items) if not -(2**63) <= int(v) < 2**63)
        raise _Unfit(number, "an integer that does not fit into int64") from None


def _python_floats(items: list[Any]) -> Run:
    """Round Python's floats; integers among them, and NumPy's numbers, must be exact."""
    types = set(map(type, items))
    if any(issubclass(cls, bool | np.bool) for cls in types):
        number = next(i for i, v in enumerate(items) if isinstance(v, bool | np.bool))
        raise _Unfit(number, "a bool among floats")
    try:
        wide = np.fromiter(items, np.float64, len(items))
    except OverflowError:
        number = next(i for i, v in enumerate(items) if isinstance(v, int) and abs(v) > 2**1000)
        raise _Unfit(number, "an integer that no float32 holds") from None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = wide.astype(np.float32)
    wrong = np.isinf(narrow) & np.isfinite(wide)
    if types != {float}:
        rounded = np.array([type(item) is float for item in items], np.bool_)
        exact = np.array(list(map(operator.eq, narrow.tolist(), items)), np.bool_)
        wrong |= ~(rounded | exact | np.isnan(wide))
    if wrong.any():
        raise _Unfit(int(wrong.argmax()), f"a number that no float32 holds; round it, {_RAW}")
    return Kind.FLOAT, narrow


def _others(items: list[Any]) -> Run:
    """Take NumPy's scalars of one dtype."""
    dtypes = {item.dtype for item in items}
    if len(dtypes) != 1:
        names = ", ".join(sorted(map(str, dtypes)))
        raise _Unfit(0, f"values of several dtypes: {names}")
    array = np.array(items, dtypes.pop())
    convert = _BY_DTYPE.get(array.dtype.kind)
    convert = _narrow_floats if array.dtype.name == "bfloat16" else convert
    if convert is None:
        raise _Unfit(0, _unsupported(array.dtype.name))
    return convert(array)


def strings_of(column: BytesColumn) -> Strings:
    """Return a column's strings, where they are."""
    return Strings(column.data, column.offsets[:-1], column.lengths)


_BY_DTYPE: dict[str, Callable[[AnyArray], Run]] = {
    "b": _integers,
    "i": _integers,
    "u": _integers,
    "f": _floats,
    "S": _fixed_strings,
    "U": _fixed_texts,
    "T": _variable_texts,
    "M": _times,
    "m": _times,
}

# The first family that all types belong to; no types at all belong to every one.
_FAMILIES: tuple[tuple[Any, Callable[[list[Any]], Run]], ...] = (
    (bytes | bytearray | memoryview, bytes_run),
    (str, _texts),
    (bytes | str | bytearray | memoryview, _mixed_strings),
    (int | np.integer | np.bool, _python_integers),
    (np.generic, _others),
    (float | int | np.floating | np.integer | np.bool, _python_floats),
)


def unmasked(key: str, items: list[Any]) -> list[Any]:
    """Return the values of records with None for those that are masked, and no masked array."""
    if not any(isinstance(item, np.ma.MaskedArray) for item in items):
        return items
    return [_unmasked(key, i, item) for i, item in enumerate(items)]


def _unmasked(key: str, index: int, item: Any) -> Any:
    if not isinstance(item, np.ma.MaskedArray):
        return item
    if item.dtype.names is not None:  # refused as what it is, whatever is masked
        return np.asarray(item.data)
    mask = np.ma.getmaskarray(item)
    if not mask.any():
        return item.data[()]
    if not mask.all():
        detail = "some values of the record are masked, not all"
        refuse(key, detail, index, Reason.UNREPRESENTABLE)
    return None
