"""Columns of any kind to the value lists of a feature: what NumPy and Python have, as lists.

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

Nothing here knows of schemas, or of bytes on the wire.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.partitions import check_splits
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.ragged import row_splits

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Counts: TypeAlias = npt.NDArray[np.int64] | int

__all__ = [
    "LargeStrings",
    "Outgoing",
    "Strings",
    "empty",
    "exact_floats",
    "outgoing",
    "refusal",
    "refuse",
    "ticks",
]

_LARGE_BYTES = 4096
"""Objects of this mean size are copied one by one."""

_RAW = "or store it as it is, with the schema of schema_of(columns)"


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """Byte strings, anywhere in a buffer."""

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LargeStrings:
    """Byte strings that are large, an object each: to be copied once, to where they go."""

    items: list[Any]
    lengths: npt.NDArray[np.int64]

    def joined(self) -> Strings:
        """Copy them into one buffer."""
        data = np.frombuffer(b"".join(self.items), np.uint8)
        return Strings(data, row_splits(self.lengths)[:-1], self.lengths)


Run: TypeAlias = "tuple[Kind | None, Flat]"
Flat: TypeAlias = "npt.NDArray[np.float32] | npt.NDArray[np.int64] | Strings | LargeStrings"


@dataclass(frozen=True, slots=True, eq=False)
class Outgoing:
    """One feature of N records, as it is to be written."""

    n_records: int
    kind: Kind | None
    """None where there are no values at all to tell: the feature is written without a kind."""
    counts: Counts
    """Values of each record, int64, shape (n_records,); a plain number if all have as many."""
    flat: Any
    """int64 or float32, shape (n_values,), Strings or LargeStrings: the values of all records end to end, also of those that are to go without."""
    present: npt.NDArray[np.bool_] | None = None
    """Which records have the feature; None for all."""

    @property
    def is_single(self) -> bool:
        """Whether every record has one value."""
        return isinstance(self.counts, int) and self.counts == 1

    @property
    def n_bytes(self) -> int:
        """About how many bytes the values take."""
        if isinstance(self.flat, Strings | LargeStrings):
            return int(self.flat.lengths.sum())
        return int(self.flat.nbytes)

    def part(self, first: int, last: int) -> Outgoing:
        """Return the lists of some of the records; views."""
        if isinstance(self.counts, int):
            counts: Counts = self.counts
            low, high = first * counts, last * counts
        else:
            counts = self.counts[first:last]
            low = int(self.counts[:first].sum())
            high = low + int(counts.sum())
        flat = self.flat
        if isinstance(flat, Strings):
            flat = Strings(flat.data, flat.starts[low:high], flat.lengths[low:high])
        elif isinstance(flat, LargeStrings):
            flat = LargeStrings(flat.items[low:high], flat.lengths[low:high])
        else:
            flat = flat[low:high]
        present = None if self.present is None else self.present[first:last]
        return Outgoing(last - first, self.kind, counts, flat, present)

    def counts_array(self) -> npt.NDArray[np.int64]:
        """Return the counts as an array."""
        return np.broadcast_to(np.asarray(self.counts, np.int64), (self.n_records,))


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


def outgoing(key: str, column: Any) -> Outgoing:
    """Turn a column into the lists that will be written.

    Parameters
    ----------
    key : str
        The feature, for errors.
    column : array-like, RaggedTensor, SparseTensor, BytesColumn, list
        With a leading record dimension; see the head of this module.

    Returns
    -------
    Outgoing
        Views of the column's memory where that is possible.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for a value that would not come back, ``BAD_ARGUMENT`` for a
        column without records or with splits that do not fit, each with `key` and, where
        one record is at fault, its `index`; ``UNSUPPORTED`` for a dtype without a list.
    """
    for cls, convert in _CONVERTERS.items():
        if isinstance(column, cls):
            return convert(key, column)
    return _from_array(key, np.asarray(column))


def empty(n_records: int, kind: Kind) -> Outgoing:
    """Return an empty list of a kind for each record."""
    none = np.zeros(0, np.int64)
    strings = Strings(np.zeros(0, np.uint8), none, none)
    flats: dict[Kind, Flat] = {Kind.BYTES: strings, Kind.FLOAT: none.astype(np.float32)}
    return Outgoing(n_records, kind, 0, flats.get(kind, none))


def exact_floats(key: str, out: Outgoing) -> Outgoing:
    """Return integers as floats, where they are to be that.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for one that no float32 holds.
    """
    whole: Any = out.flat
    narrow = whole.astype(np.float32)
    # Not compared as they are: NumPy would round the integers for that.
    fits = narrow < 2.0**63
    fits &= np.where(fits, narrow, 0).astype(np.int64) == whole
    splits = row_splits(out.counts_array())
    wrong = np.flatnonzero(~fits)
    if wrong.size:
        index = int(np.searchsorted(splits, wrong[0], "right")) - 1
        refuse(key, "an integer that no float32 holds", index, Reason.UNREPRESENTABLE)
    return replace(out, kind=Kind.FLOAT, flat=narrow)


# -------------------------------------------------------------------- one converter a class


def _from_array(key: str, array: np.ndarray[Any, Any]) -> Outgoing:
    if array.ndim == 0:
        refuse(key, "a column needs a leading dimension, one row a record")
    if array.dtype.kind == "O":
        return _from_objects(key, array)
    n_records = len(array)
    count = array.size // n_records if n_records else int(np.prod(array.shape[1:], dtype=np.int64))
    starts = np.arange(n_records + 1, dtype=np.int64) * count
    kind, flat = _flat(key, array, starts)
    return Outgoing(n_records, kind, count, flat)


def _from_masked(key: str, column: np.ma.MaskedArray[Any, Any]) -> Outgoing:
    present = _present(key, column)
    if present is None:
        return outgoing(key, np.asarray(column.data))
    data = column.data.copy()
    # What is masked may be anything, and is looked at no more.
    data[~present] = b"" if data.dtype.kind == "O" else np.zeros((), data.dtype)
    return replace(outgoing(key, data), present=present)


def _present(key: str, column: np.ma.MaskedArray[Any, Any]) -> npt.NDArray[np.bool_] | None:
    """Say which records of a masked array are there; a record is masked as a whole."""
    if column.ndim == 0 or not column.size or column.mask is np.ma.nomask:
        return None
    mask = np.ma.getmaskarray(column).reshape(len(column), -1)
    missing = mask.all(axis=1)
    partly = np.flatnonzero(mask.any(axis=1) != missing)
    if partly.size:
        detail = "some values of the record are masked; a feature is there, or missing, as a whole"
        refuse(key, detail, int(partly[0]), Reason.UNREPRESENTABLE)
    return np.logical_not(missing) if missing.any() else None


def _from_ragged(key: str, column: RaggedTensor) -> Outgoing:
    splits, values = column.row_splits.astype(np.int64), column.values
    _check_splits(key, splits, len(values))
    while isinstance(values, RaggedTensor):
        inner = values.row_splits.astype(np.int64)
        _check_splits(key, inner, len(values.values))
        splits, values = inner[splits], values.values
    if not isinstance(values, BytesColumn):
        splits = splits * int(np.prod(values.shape[1:], dtype=np.int64))
    kind, flat = _flat(key, values, splits)
    return Outgoing(splits.size - 1, kind, np.diff(splits), flat)


def _check_splits(key: str, splits: npt.NDArray[np.int64], n_values: int) -> None:
    try:
        check_splits(splits, n_values)
    except InvalidArgumentError as error:
        refuse(key, error.detail or "", None, Reason.BAD_PARTITION)


def _from_sparse(key: str, column: SparseTensor) -> Outgoing:
    """Take what a VarLenFeature gives: rows of values without gaps."""
    if column.rank != 2:
        detail = (
            "a SparseTensor of rank 2 is a feature; for others give a schema with SparseFeature"
        )
        refuse(key, detail, None, Reason.UNSUPPORTED)
    n_records = column.shape[0]
    order = np.argsort(column.indices[:, 0], kind="stable")
    records, places = column.indices[order].T
    if records.size and not 0 <= records[0] <= records[-1] < n_records:
        refuse(key, "an index is outside of dense_shape", None, Reason.BAD_INDEX)
    counts = np.bincount(records, minlength=n_records).astype(np.int64)
    splits = row_splits(counts)
    gaps = np.flatnonzero(places != np.arange(records.size) - np.repeat(splits[:-1], counts))
    if gaps.size:
        detail = (
            "the indices leave gaps or are out of order, which a list cannot hold; "
            "give a schema with SparseFeature, as schema_of(columns) does"
        )
        refuse(key, detail, int(records[gaps[0]]), Reason.UNREPRESENTABLE)
    in_order = np.array_equal(order, np.arange(order.size))
    values = column.values
    if not in_order:
        values = values.take(order)
    kind, flat = _flat(key, values, splits)
    return Outgoing(n_records, kind, counts, flat)


def _from_bytes_column(key: str, column: BytesColumn) -> Outgoing:  # noqa: ARG001
    return Outgoing(len(column), Kind.BYTES, 1, _of_bytes_column(column))


def _from_objects(key: str, column: Any) -> Outgoing:
    """Take objects, one a record: scalars or sequences of one kind, and None for missing."""
    if isinstance(column, np.ndarray):
        shape = column.shape
        items = column.ravel().tolist() if column.ndim > 1 else list(column)
        count = int(np.prod(shape[1:], dtype=np.int64))
        n_records = shape[0]
    else:
        items, count, n_records = list(column), 1, len(column)
    types = set(map(type, items))
    present = None
    if type(None) in types:
        if count != 1:
            refuse(key, "None among the values of a record", None, Reason.UNREPRESENTABLE)
        present = np.fromiter((item is not None for item in items), np.bool_, n_records)
        types.discard(type(None))
        fill = _filler(types)
        items = [fill if item is None else item for item in items]
    if any(issubclass(cls, list | tuple | np.ndarray) for cls in types):
        nested = _from_nested(key, items)
        return replace(nested, present=present)
    splits = np.arange(n_records + 1, dtype=np.int64) * count
    if isinstance(column, np.ndarray) and not items:
        kind, flat = _bytes(items)
    else:
        kind, flat = _flat_objects(key, items, types, splits)
    return Outgoing(n_records, kind, count, flat, present)


def _filler(types: set[type]) -> Any:
    """Return what stands for None among values of some types; it is not written."""
    for cls in types:
        if issubclass(cls, list | tuple | np.ndarray):
            return ()
        if issubclass(cls, str | bytes | bytearray | memoryview):
            return cls() if cls is str else b""
    return 0 if any(issubclass(t, int | np.integer) for t in types) else 0.0 if types else b""


def _from_nested(key: str, items: list[Any]) -> Outgoing:
    """Take a sequence a record, of any length; deeper levels are flattened."""
    for i, item in enumerate(items):
        if not isinstance(item, list | tuple | np.ndarray):
            refuse(key, "single values and lists are mixed", i, Reason.UNREPRESENTABLE)
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    if (
        len(arrays) == len(items)
        and len({a.dtype for a in arrays}) == 1
        and arrays[0].dtype != object
    ):
        counts = np.array([item.size for item in items], np.int64)
        joined = np.concatenate([item.ravel() for item in items])
        kind, flat = _flat(key, joined, row_splits(counts))
        return Outgoing(len(items), kind, counts, flat)
    lists = [_flattened(item) for item in items]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    values = list(chain.from_iterable(lists))
    kind, flat = _flat_objects(key, values, set(map(type, values)), row_splits(counts))
    return Outgoing(len(items), kind, counts, flat)


def _flattened(item: Any) -> list[Any]:
    """Return the values of nested sequences, end to end; those of arrays as NumPy's scalars."""
    if isinstance(item, np.ndarray):
        return list(item.ravel())
    values = list(item)
    while any(isinstance(value, list | tuple | np.ndarray) for value in values):
        parts = (_flattened(v) if isinstance(v, list | tuple | np.ndarray) else [v] for v in values)
        values = list(chain.from_iterable(parts))
    return values


_CONVERTERS: dict[type, Callable[[str, Any], Outgoing]] = {
    np.ma.MaskedArray: _from_masked,
    np.ndarray: _from_array,
    RaggedTensor: _from_ragged,
    SparseTensor: _from_sparse,
    BytesColumn: _from_bytes_column,
    list: _from_objects,
    tuple: _from_objects,
}


# ----------------------------------------------------------------------- one flat run of values


def _flat(key: str, values: Any, splits: npt.NDArray[np.int64]) -> Run:
    """Convert values, end to end; splits say which record an error is about."""
    if isinstance(values, BytesColumn):
        return Kind.BYTES, _of_bytes_column(values)
    values = values.reshape(-1)
    if values.dtype.kind == "O":
        items = values.tolist()
        if not items:  # objects are byte strings, unless they turn out to be something else
            return _bytes(items)
        return _flat_objects(key, items, set(map(type, items)), splits)
    convert = _BY_DTYPE.get(values.dtype.kind)
    if values.dtype.name == "bfloat16":
        convert = _narrow_floats
    if convert is None:
        what = values.dtype.name
        detail = f"an Example holds int64, float32 and bytes, not {what}; convert it, {_RAW}"
        refuse(key, detail, None, Reason.UNSUPPORTED)
    try:
        return convert(values)
    except _Unfit as unfit:
        index = int(np.searchsorted(splits, unfit.number, "right")) - 1
        refuse(key, unfit.detail, index, Reason.UNREPRESENTABLE)


def _flat_objects(
    key: str, items: list[Any], types: set[type], splits: npt.NDArray[np.int64]
) -> Run:
    """Convert Python objects, end to end."""
    if not types:
        return None, np.zeros(0, np.float32)
    fitting = [f for f in _FAMILIES if all(issubclass(cls, f[0]) for cls in types)]
    if not fitting:
        if len(types) == 1:
            detail = f"no feature holds a {types.pop().__name__}"
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


def _integers(values: np.ndarray[Any, Any]) -> Run:
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        large = np.flatnonzero(values > np.uint64(2**63 - 1))
        if large.size:
            raise _Unfit(int(large[0]), f"a uint64 above 2**63 - 1 is no int64; {_RAW[3:]}")
    return Kind.INT64, np.ascontiguousarray(values.astype(np.int64, copy=False))


def _narrow_floats(values: np.ndarray[Any, Any]) -> Run:
    return Kind.FLOAT, np.ascontiguousarray(values.astype(np.float32, copy=False))


def _floats(values: np.ndarray[Any, Any]) -> Run:
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


def _times(values: np.ndarray[Any, Any]) -> Run:
    nat = np.flatnonzero(np.isnat(values))
    if nat.size:
        detail = f"NaT is no number; mask it in a masked array, {_RAW}"
        raise _Unfit(int(nat[0]), detail)
    return Kind.INT64, ticks(values)


def ticks(values: np.ndarray[Any, Any]) -> npt.NDArray[np.int64]:
    """Return datetime64 or timedelta64 as counts of their unit."""
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native).view(np.int64)


def _fixed_strings(values: np.ndarray[Any, Any]) -> Run:
    width = values.dtype.itemsize
    data = np.ascontiguousarray(values).view(np.uint8) if width else np.zeros(0, np.uint8)
    lengths = np.strings.str_len(values).astype(np.int64)
    return Kind.BYTES, Strings(data, np.arange(values.size, dtype=np.int64) * width, lengths)


def _fixed_texts(values: np.ndarray[Any, Any]) -> Run:
    if not values.dtype.itemsize:
        return _fixed_strings(values.astype("S"))
    counts = np.strings.str_len(values).astype(np.int64)
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    codes = native.view("<u4").reshape(values.size, values.dtype.itemsize // 4)
    chosen = codes[np.arange(codes.shape[1]) < counts[:, None]]
    return Kind.BYTES, _utf8(chosen, counts)


def _utf8(codes: npt.NDArray[np.uint32], counts: npt.NDArray[np.int64]) -> Strings:
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


def _variable_texts(values: np.ndarray[Any, Any]) -> Run:
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


def _bytes(items: list[Any]) -> Run:
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
    return _bytes(encoded)


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
        raise _Unfit(0, f"an Example holds int64, float32 and bytes, not {array.dtype.name}")
    return convert(array)


def _of_bytes_column(column: BytesColumn) -> Strings:
    return Strings(column.data, column.offsets[:-1], column.lengths)


_BY_DTYPE: dict[str, Callable[[np.ndarray[Any, Any]], Run]] = {
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
    (bytes | bytearray | memoryview, _bytes),
    (str, _texts),
    (bytes | str | bytearray | memoryview, _mixed_strings),
    (int | np.integer | np.bool, _python_integers),
    (np.generic, _others),
    (float | int | np.floating | np.integer | np.bool, _python_floats),
)
