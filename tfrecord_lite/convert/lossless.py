r"""schema_of and restore: columns stored so that nothing is lost, and brought back.

An Example has three kinds of lists; a column has a dtype and a shape. :func:`schema_of`
says how each column is stored, and what it was:

=======================  ======================================  =========================
column                   feature                                 comes back as
=======================  ======================================  =========================
array (n, \*shape)        FixedLenFeature                         array
masked array             RaggedFeature, nothing where masked     masked array
RaggedTensor, lists      RaggedFeature; the lengths of inner     RaggedTensor
                         rows in ``name/row_lengths_1``, ...
SparseTensor             SparseFeature; ``name/values``,         SparseTensor
                         ``name/indices_0``, ...
BytesColumn, strings     FixedLenFeature                         object array of bytes,
                                                                 or the strings they were
=======================  ======================================  =========================

float64 and complex numbers are stored raw: the bytes of an innermost row as one string.
That depends on dtypes alone, never on values, so the schema of one batch fits the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.normalize import regular
from tfrecord_lite.convert.originals import RAW, from_raw, from_stored, is_raw
from tfrecord_lite.convert.types import refuse, rows_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import (
    FixedLenFeature,
    Kind,
    Original,
    RaggedFeature,
    Schema,
    SparseFeature,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfrecord_lite.schema import FeatureSpec

Described: TypeAlias = "tuple[FeatureSpec, Original]"

__all__ = ["restore", "schema_of"]

_LISTED = {"b": Kind.INT64, "i": Kind.INT64, "u": Kind.INT64, "M": Kind.INT64, "m": Kind.INT64}
_LISTED |= {"f": Kind.FLOAT, "S": Kind.BYTES, "U": Kind.BYTES, "T": Kind.BYTES, "O": Kind.BYTES}


def schema_of(columns: Mapping[str, Any], *, lossless: bool = True) -> Schema:
    """Return the schema with which columns are stored so that nothing is lost.

    Parameters
    ----------
    columns : mapping of str to column
        As :func:`~tfrecord_lite.encode_examples` takes them.
    lossless : bool, default True
        False: float64 becomes a list of float32, rounded, which other programs read as
        such. Complex numbers are stored raw even then, for want of a list.

    Returns
    -------
    Schema
        With an Original for each feature; for ``encode_examples(columns, schema)``, then
        ``restore(parse_example(block, schema), schema)``.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for objects of several kinds and for missing records in a column
        whose rows vary in length; ``UNSUPPORTED`` for a dtype or shape that cannot be
        stored; with the column's name in `key`.
    TypeError
        For `columns` that are no dict.

    Notes
    -----
    Not kept are the byte order, the dtype and uniform length of a RaggedTensor's rows where
    they are stored raw, and that numbers were objects.

    Examples
    --------
    >>> schema_of({"x": np.zeros((2, 3)), "n": np.zeros(2, np.uint8)})
    Schema of 2 features
    name  specification    dtype   shape  original
    ----  ---------------  ------  -----  -----------
    x     FixedLenFeature  string  []     float64 [3]
    n     FixedLenFeature  int64   []     uint8 []
    """
    if not hasattr(columns, "items"):
        found = type(columns).__name__
        raise TypeError(f"columns must be a dict, one column a feature, not {found}")
    specs: dict[str, FeatureSpec] = {}
    originals: dict[str, Original] = {}
    for name, column in columns.items():
        made = regular(name, column)
        describe = next((d for cls, d in _DESCRIBERS.items() if isinstance(made, cls)), None)
        if describe is None:
            refuse(name, f"a {type(made).__name__} is no column", None, Reason.UNSUPPORTED)
        specs[name], originals[name] = describe(name, made, lossless)
    return Schema(specs, originals)


def _stored_as(name: str, dtype: np.dtype[Any], *, lossless: bool) -> tuple[Kind, bool]:
    """Return the kind of list for a dtype, and whether it holds raw bytes."""
    if dtype.name in RAW and (lossless or dtype.kind == "c"):
        return Kind.BYTES, True
    kind = Kind.FLOAT if dtype.name == "bfloat16" else _LISTED.get(dtype.kind)
    if kind is None or (dtype.kind == "f" and dtype.itemsize > 8):
        detail = f"{dtype.name} cannot be stored so that every machine reads it; convert it"
        refuse(name, detail, None, Reason.UNSUPPORTED)
    return kind, False


def _original(values: Any, shape: tuple[int | None, ...], *, missing: bool = False) -> Original:
    """Return what flat values were."""
    dtype = values.dtype
    text = None
    if dtype.kind in "SU":
        text = f"{dtype.kind}{max(dtype.itemsize // (1 if dtype.kind == 'S' else 4), 1)}"
    elif dtype.kind == "T":
        text = "T"
    elif dtype.kind == "O" and isinstance(values, np.ndarray):
        text = "str" if any(isinstance(item, str) for item in values.flat) else None
    return Original("string" if text else dtype, shape, text, missing)


def _of_array(name: str, array: Any, lossless: bool) -> Described:  # noqa: FBT001
    kind, raw = _stored_as(name, array.dtype, lossless=lossless)
    shape = () if raw else array.shape[1:]
    return FixedLenFeature(shape, kind.dtype), _original(array, array.shape[1:])


def _of_masked(name: str, array: Any, lossless: bool) -> Described:  # noqa: FBT001
    kind, _ = _stored_as(name, array.dtype, lossless=lossless)
    original = _original(array.compressed(), array.shape[1:], missing=True)
    return RaggedFeature(kind.dtype), original


def _of_bytes(*_: Any) -> Described:
    return FixedLenFeature([], bytes), Original("string", ())


def _of_ragged(name: str, column: Any, lossless: bool) -> Described:  # noqa: FBT001
    values = column.flat_values
    kind, raw = _stored_as(name, values.dtype, lossless=lossless)
    inner = values.shape[1:]
    if 0 in inner:
        detail = f"rows of values of the shape {inner}, which hold nothing, cannot be counted"
        refuse(name, detail, None, Reason.UNSUPPORTED)
    rank = column.ragged_rank
    original = _original(values, (None,) * rank + inner)
    if raw and rank == 1:
        return FixedLenFeature([], bytes), original
    levels = range(1, rank - raw)
    partitions = [RaggedFeature.RowLengths(f"{name}/row_lengths_{level}") for level in levels]
    splits_dtype = column.row_splits.dtype
    spec = RaggedFeature(
        kind.dtype, partitions=partitions, row_splits_dtype=splits_dtype, validate=True
    )
    return spec, original


def _of_sparse(name: str, column: Any, lossless: bool) -> Described:  # noqa: FBT001
    kind, _ = _stored_as(name, column.dtype, lossless=lossless)
    sizes = column.shape[1:]
    if not sizes:
        detail = "a SparseTensor of rank 1 has no dimension besides that of records"
        refuse(name, detail, None, Reason.UNSUPPORTED)
    keys = [f"{name}/indices_{i}" for i in range(len(sizes))]
    spec = SparseFeature(keys, f"{name}/values", kind.dtype, list(sizes))
    return spec, _original(column.values, sizes)


_DESCRIBERS: dict[type, Callable[[str, Any, bool], Described]] = {
    np.ma.MaskedArray: _of_masked,
    np.ndarray: _of_array,
    BytesColumn: _of_bytes,
    RaggedTensor: _of_ragged,
    SparseTensor: _of_sparse,
}


# ---------------------------------------------------------------------------------- restoring


def restore(columns: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Bring parsed columns back to the dtypes and shapes they had before they were stored.

    Parameters
    ----------
    columns : mapping of str to column
        What :func:`~tfrecord_lite.parse_example` gave for a batch with `schema`; some of
        its features will do.
    schema : Schema
        Its originals say what to make of them; a feature without one stays as it is.

    Returns
    -------
    dict of str to column
        In the order given. Arrays own their memory, or are the ones given.

    Raises
    ------
    InvalidArgumentError
        ``WRONG_COUNT`` for a record whose values do not make up the original's shape, with
        `key` and `index`; ``UNREPRESENTABLE`` for a value that the original's dtype does not
        have, or a string that is longer; ``BAD_ARGUMENT`` for a string that is no text, where
        it was one.
    ImportError
        For bfloat16, if ml_dtypes is not installed.

    Examples
    --------
    >>> from tfrecord_lite import encode_examples, parse_example
    >>> columns = {"x": np.array([0.1, 0.2]), "flag": np.array([True, False])}
    >>> schema = schema_of(columns)
    >>> restore(parse_example(encode_examples(columns, schema), schema), schema)
    {'x': array([0.1, 0.2]), 'flag': array([ True, False])}
    """
    originals = schema.originals
    restored = {}
    for name, column in columns.items():
        original = originals.get(name)
        if original is None:
            restored[name] = column
            continue
        raw = is_raw(original, kind_of(schema[name].dtype))  # type: ignore[attr-defined]
        if isinstance(column, SparseTensor):
            restored[name] = _sparse_back(name, column, original, raw=raw)
        elif isinstance(column, RaggedTensor):
            back = _masked_back if original.missing else _ragged_back
            restored[name] = back(name, column, original, raw=raw)
        else:
            restored[name] = _dense_back(name, column, original, raw=raw)
    return restored


def _dense_back(name: str, column: Any, original: Original, *, raw: bool) -> Any:
    if not raw:
        values = from_stored(name, column, original)
        is_whole = original.shape is not None and None not in original.shape
        if isinstance(values, np.ndarray) and is_whole:
            return values.reshape(len(values), *original.shape)
        return values
    values, counts = from_raw(name, column, original)
    if original.shape is None or None in original.shape:
        inner = () if original.shape is None else original.shape[1:]
        return _rows(name, values, counts, inner)
    size = int(np.prod(original.shape, dtype=np.int64))
    _check_counts(name, counts, size, original)
    return values.reshape(len(counts), *original.shape)


def _check_counts(name: str, counts: Any, size: int, original: Original) -> None:
    wrong = np.flatnonzero(counts != size)
    if wrong.size:
        detail = f"{counts[wrong[0]]} values, the shape {original.shape} holds {size}"
        refuse(name, detail, int(wrong[0]), Reason.WRONG_COUNT)


def _rows(name: str, values: Any, counts: Any, inner: tuple[int, ...]) -> RaggedTensor:
    """Return values in rows of so many each, of one shape."""
    size = int(np.prod(inner, dtype=np.int64))
    wrong = np.flatnonzero(counts % size)
    if wrong.size:
        detail = f"{counts[wrong[0]]} values are no rows of the shape {inner}"
        refuse(name, detail, int(wrong[0]), Reason.WRONG_COUNT)
    if inner:
        values, counts = values.reshape(-1, *inner), counts // size
    return RaggedTensor.from_row_lengths(values, counts)


def _ragged_back(name: str, column: RaggedTensor, original: Original, *, raw: bool) -> Any:
    """Return a ragged column; of raw strings one level more, their values."""
    if isinstance(column.values, RaggedTensor):
        with rows_of(column.row_splits):
            inner = _ragged_back(name, column.values, original, raw=raw)
        return RaggedTensor(inner, column.row_splits)
    rank = next((i for i, d in enumerate(original.shape or ()) if d is not None), None)
    inner_shape = () if rank is None else original.shape[rank:]
    if raw:
        with rows_of(column.row_splits):
            values, counts = from_raw(name, column.values, original)
            rows = _rows(name, values, counts, inner_shape)
        splits = rows.row_splits.astype(column.row_splits.dtype)
        return RaggedTensor(RaggedTensor(rows.values, splits), column.row_splits)
    with rows_of(column.row_splits):
        values = from_stored(name, column.values, original)
    rows = _rows(name, values, np.diff(column.row_splits), inner_shape)
    return RaggedTensor(rows.values, rows.row_splits.astype(column.row_splits.dtype))


def _masked_back(name: str, column: RaggedTensor, original: Original, *, raw: bool) -> Any:
    """Return a masked array of the records that are there."""
    shape = original.shape or ()
    counts = np.diff(column.row_splits)
    present = counts > 0
    with rows_of(column.row_splits):
        if raw:
            values, sizes = from_raw(name, column.values, original)
        else:
            values, sizes = from_stored(name, column.values, original), counts[present]
    if raw:
        _check_counts(name, np.where(present, counts, 1), 1, original)
    if isinstance(values, BytesColumn):
        values = values.to_numpy()
    size = int(np.prod(shape, dtype=np.int64))
    if not raw and size == 0:  # nothing says which records were masked; nothing was there to be
        present = np.ones(counts.size, np.bool_)
        sizes = counts
    found = np.full(counts.size, size, np.int64)
    found[present] = sizes
    _check_counts(name, found, size, original)
    fill: Any = ("" if original.text == "str" else b"") if values.dtype == object else 0
    if values.dtype.kind in "SUTMm":
        fill = np.zeros((), values.dtype)
    whole = np.full((counts.size, *shape), fill, values.dtype)
    whole[present] = values.reshape(np.count_nonzero(present), *shape)
    mask = np.broadcast_to(~present.reshape(-1, *[1] * len(shape)), whole.shape)
    return np.ma.MaskedArray(whole, mask.copy())


def _sparse_back(name: str, column: SparseTensor, original: Original, *, raw: bool) -> Any:
    try:
        if not raw:
            values = from_stored(name, column.values, original)
        else:
            values, counts = from_raw(name, column.values, original)
            _check_counts(name, counts, 1, original)
    except InvalidArgumentError as error:
        if error.index is None:
            raise
        index = int(column.indices[error.index, 0])
        refuse(name, error.detail or "", index, error.reason)
    return SparseTensor(column.indices, values, column.dense_shape)
