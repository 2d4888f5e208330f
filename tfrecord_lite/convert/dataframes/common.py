"""What the libraries of data frames share: masked values, rows, and errors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfrecord_lite.arrays import row_splits
from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.convert.lists import MaskedRows, masked_rows
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfrecord_lite.arrays import AnyArray, BoolArray
    from tfrecord_lite.errors import InvalidArgumentError
    from tfrecord_lite.schema import Original

TEXT = {"text": "str"}
"""The traits of texts."""

_INSTEAD = {
    "decimal": "cast it to floats, integers or texts",
    "struct": "give its fields as columns of their own (unnest, flatten)",
    "extension": "give its storage, such as array.storage",
    "map": "give its keys and values as two columns of lists",
    "union": "give its members as columns of their own",
    "period": "convert it with dt.to_timestamp(), or to texts",
    "interval": "give its ends as columns of their own, or convert it to texts",
    "sparse": "convert it with sparse.to_dense()",
    "object": "give numbers, texts, bytes, or lists of them",
}
_DAYS = {"Y": "s", "M": "s", "W": "s", "D": "s", "h": "s", "m": "s"}


_USES = {
    "pyarrow": "Arrow tables and Parquet files need",
    "pandas": "data frames of pandas need",
    "polars": "data frames of Polars need",
}
"""What the optional libraries are needed for."""

UNUSABLE: tuple[type[Exception], ...] = (
    *(TypeError, ValueError, LookupError, AttributeError, StopIteration),
    *(ArithmeticError, RecursionError),
)
"""What making a type may raise if the sidecar has none that there is."""


class Opened(NamedTuple):
    """A column as values that ``normalize`` takes, and as traits of its Original."""

    values: Any
    traits: dict[str, Any]


def has(*names: str) -> Callable[[Any], bool]:
    """Return what recognises objects by the methods of their class."""
    # Ask the class: a module or a mock may have an attribute of any name.
    return lambda data: all(hasattr(type(data), name) for name in names)


def library(name: str, extra: str = "dataframes") -> Any:
    """Import a library, or a module of it."""
    try:
        return import_module(name)
    except ImportError:
        first = name.partition(".")[0]
        what = _USES.get(first, "this needs")
        hint = f"{what} {first}: pip install 'tfrecord-numpy[{extra}]'"
        raise ImportError(hint) from None


# ------------------------------------------------------------------------------- to columns


def masked(values: Any, mask: Any) -> Any:
    """Return an array that is masked where something is missing, if anything is."""
    mask = np.asarray(mask, np.bool_)
    return np.ma.MaskedArray(values, mask) if mask.any() else np.asarray(values)


def time_values(name: str, ticks: AnyArray, dtype: str, mask: BoolArray) -> Any:
    """Return counts of a unit as times."""
    values = ticks.view(dtype)
    wrong = np.isnat(values) & ~mask
    if wrong.any():
        detail = "the time -2**63, which NumPy has as NaT; make it a null"
        raise column_error(name, detail, int(wrong.argmax()), Reason.UNREPRESENTABLE)
    return masked(values, mask)


def objects(items: Sequence[Any]) -> AnyArray:
    """Return objects as an array of one dimension, even if they are lists."""
    array = np.empty(len(items), object)
    array[:] = items
    return array


def chosen(
    name: str, categories: Any, codes: AnyArray, mask: BoolArray, *, ordered: bool
) -> Opened:
    """Return the values that codes stand for, and their traits."""
    names = np.asarray(categories)
    listed = names.tolist()
    is_plain = names.dtype.kind in "biuf" or (
        names.dtype == object and len({*map(type, listed)} | {str}) == 1
    )
    is_plain |= names.dtype == object and {*map(type, listed)} == {bytes}
    if not is_plain or len(set(listed)) < len(listed) or any(c != c for c in listed):  # noqa: PLR0124
        raise category_error(name)
    if not listed:
        names = np.zeros(1, names.dtype)
    traits = {"categories": tuple(listed), "ordered": ordered}
    if names.dtype != object:
        return Opened(masked(names[np.where(mask, 0, codes)], mask), traits)
    values = names[np.where(mask, 0, codes)]
    values[mask] = None
    return Opened(values, traits if bytes in map(type, listed) else TEXT | traits)


def rows_of(values: Any, lengths: Any, mask: BoolArray) -> Any:
    """Return the values of lists as rows; the lengths are of those that are not missing."""
    if not mask.any():
        return RaggedTensor(values, row_splits(np.asarray(lengths, np.int64)))
    every = np.zeros(len(mask), np.int64)
    every[~mask] = lengths
    return MaskedRows(RaggedTensor(values, row_splits(every)), mask)


def is_text(original: Original | None) -> bool:
    """Return whether byte strings of an original are text; NumPy's ``S`` are bytes."""
    return original is not None and original.text is not None and original.text[0] != "S"


def fixed_rows(name: str, inner: Any, n_rows: int, width: int, mask: Any) -> Any:
    """Return the values of lists of one length as rows; `n_rows` of them are not missing."""
    mask = np.asarray(mask, np.bool_)
    if isinstance(inner, RaggedTensor):
        return rows_of(inner, np.full(n_rows, width), mask)
    array = inner.reshape(n_rows, width, *inner.shape[1:])
    if mask.any() and 0 in array.shape[1:]:
        detail = "a missing list among lists without values cannot be told from them"
        raise column_error(name, detail, int(mask.argmax()), Reason.UNREPRESENTABLE)
    fill = None if array.dtype == object else b""
    return masked_rows(array, mask, fill) if mask.any() else array


def type_error(name: str, dtype: Any) -> InvalidArgumentError:
    """Return the error about a column whose type has no array or list of values."""
    word = str(dtype)
    ways = (way for start, way in _INSTEAD.items() if word.lower().startswith(start))
    way = next(ways, "cast it to numbers, texts, bytes, times, or lists of them")
    return column_error(name, f"a column of {word}; {way}", None, Reason.UNSUPPORTED)


def category_error(name: str) -> InvalidArgumentError:
    """Return the error about categories that are not those of an original."""
    detail = "categories that are not different texts, bytes, numbers or bools; convert the column"
    return column_error(name, detail, None, Reason.UNSUPPORTED)


def null_error(name: str) -> InvalidArgumentError:
    """Return the error about a null within a list."""
    detail = "a null within a list, which a feature cannot store; fill or drop it"
    return column_error(name, detail, None, Reason.UNREPRESENTABLE)


# ------------------------------------------------------------------------------------ back


def parts_of(column: Any) -> tuple[AnyArray, BoolArray | None]:
    """Return an array's values, and its mask; None if there is none."""
    if isinstance(column, np.ma.MaskedArray):
        mask: Any = np.ma.getmaskarray(column)
        return np.asarray(column.data), mask.any(axis=tuple(range(1, mask.ndim)))
    return column, None


def with_none(column: Any) -> list[Any]:
    """Return the objects of an array as a list, with None for what is masked."""
    items: list[Any] = column.tolist()
    return items


def as_frame_column(name: str, column: Any) -> Any:
    """Return a column as rows that a frame can have."""
    if isinstance(column, SparseTensor):
        if column.rank != 2:
            detail = "a SparseTensor is not a column of a data frame; load it with as_=None"
            raise column_error(name, detail, None, Reason.UNSUPPORTED)
        counts = np.bincount(column.indices[:, 0], minlength=column.shape[0])
        column = RaggedTensor.from_row_lengths(column.values, counts)
    return _plain(column)


def _plain(column: Any) -> Any:
    """Return the numbers of ml_dtypes, which no library has, as the nearest of NumPy's."""
    if isinstance(column, RaggedTensor):
        return RaggedTensor(_plain(column.values), column.row_splits)
    if column.dtype.isbuiltin == 1:  # its name takes longer
        return column
    if column.dtype.name in EXTRA_FLOATS:
        return column.astype(np.float32)
    if column.dtype.name in EXTRA_INTEGERS:
        return column.astype(np.uint8 if column.dtype.name.startswith("u") else np.int8)
    return column


def time_unit(name: str, dtype: np.dtype[Any]) -> str:
    """Return the unit that libraries have, in which times of a dtype are exact."""
    unit, count = np.datetime_data(dtype)
    found = _DAYS.get(unit, unit) if count == 1 or unit in _DAYS else ""
    if dtype.kind == "m" and unit in ("Y", "M"):
        found = ""
    if found not in ("s", "ms", "us", "ns"):
        detail = f"no data frame has times of the dtype {dtype.name}; load them with as_=None"
        raise column_error(name, detail, None, Reason.UNSUPPORTED)
    return found


def ticks_in(name: str, values: AnyArray, unit: str) -> AnyArray:
    """Return times as counts of a unit that is not coarser than theirs; NaT is the least int64."""
    kind = values.dtype.kind
    if kind not in "Mm":
        raise misfit_error(name, values.dtype)
    wanted = np.dtype(f"{kind}8[{unit}]")
    converted = values.astype(wanted)
    if (
        converted.dtype != values.dtype
        and (converted.astype(values.dtype) != values)[~np.isnat(values)].any()
    ):
        detail = f"times that do not fit into {wanted.name}; load them with as_=None"
        raise column_error(name, detail, None, Reason.UNREPRESENTABLE)
    return converted.view(np.int64)


def codes_of(name: str, column: Any, original: Original | None) -> tuple[AnyArray, BoolArray]:
    """Return the places of a column's values among its categories, and which are missing."""
    categories = None if original is None else original.categories
    if categories is None:
        raise misfit_error(name, "categories")
    values, mask = parts_of(column)
    places = {value: i for i, value in enumerate(categories)}
    # Texts may not be decoded yet.
    places |= {value.encode(): i for value, i in places.items() if isinstance(value, str)}
    if mask is None:
        mask = np.zeros(len(values), np.bool_)
    items = values.tolist()
    codes = [0 if m else places.get(v, -1) for v, m in zip(items, mask.tolist(), strict=True)]
    found = np.array(codes, np.int64)
    if (found < 0).any():
        index = int((found < 0).argmax())
        detail = f"{items[index]!r} is not one of the categories in the schema"
        raise column_error(name, detail, index, Reason.UNREPRESENTABLE)
    return found, mask


def misfit_error(name: str, kind: Any) -> InvalidArgumentError:
    """Return the error about a type in a sidecar that its column does not fit."""
    detail = f"the sidecar's dataframe has the type {kind}, which this column does not fit"
    return column_error(name, detail)
