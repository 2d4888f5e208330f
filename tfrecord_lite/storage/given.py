"""Columns and rows in the form of a schema that is given, whatever a batch of them holds.

Values alone do not tell a shard's types: a batch may have no value of a feature, or rows that happen
to be of one length. The schema tells them: its originals have each column's dtype and shape, and whether
a record may lack it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfrecord_lite.arrays import BoolArray
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.lists import (
    MaskedBytes,
    MaskedRows,
    TextColumn,
    masked_rows,
    missing_row_error,
    with_values,
)
from tfrecord_lite.convert.lossless import original_dtype
from tfrecord_lite.convert.normalize import flattened, normalize, present_records
from tfrecord_lite.convert.types import WHOLE, at_records, column_error, has_any
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, plural
from tfrecord_lite.schema import (
    FixedLenFeature,
    Original,
    RaggedFeature,
    RawFeature,
    Schema,
    SchemaItem,
)
from tfrecord_lite.schema.text import nearest


def given_columns(columns: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return columns as the schema has them, without those that have no value."""
    items = schema.to_items()
    for name in columns:
        if name not in schema:
            raise unknown_error(name, schema)
    found = {name: given_column(name, values, items[name]) for name, values in columns.items()}
    return {name: column for name, column in found.items() if column is not None}


def unknown_error(name: str, schema: Iterable[str]) -> InvalidArgumentError:
    """Return the error about a feature that is not in the schema."""
    return argument_error(f"this feature is not in the schema{nearest(name, schema)}", key=name)


def given_column(name: str, values: Any, item: SchemaItem) -> Any:
    """Return a column in the form that its original has; None if it has no value.

    A column without an original, or of another specification, is left to the encoder.
    """
    missing, kept = _missing_and_kept(name, values)
    original = item.original
    shape = None if original is None else original.shape
    if missing.any() and None in (shape or ()):  # where lengths vary, an empty row
        kept, missing = _with_empty_rows(values), missing[:0]
    if missing.any() and 0 in (shape or ()):  # nothing would tell it from an empty row
        raise missing_row_error(name, missing)
    if isinstance(values, SparseTensor) or not isinstance(
        item.spec, FixedLenFeature | RaggedFeature | RawFeature
    ):
        original = None
    if original is None or shape is None:
        # What a required feature lacks is for the encoder to say.
        is_required = isinstance(item.spec, FixedLenFeature | RawFeature)
        is_absent = missing.size and missing.all() and not is_required
        return None if is_absent else values
    try:
        made = _typed(name, normalize(name, kept, "strict"), original)
        if (original.dtype if item.is_raw else item.kind.label) in ("float32", "complex64"):
            _check_integers(name, kept, made)
            if isinstance(kept, list) and not has_any(kept, np.ndarray | np.generic):
                made = with_values(made, lambda flat: _rounded(name, flat))
        made = _shaped(name, made, shape)
    except InvalidArgumentError as error:
        if error.index is None or not missing.any():
            raise
        raise error.at(index=int(np.flatnonzero(~missing)[error.index])) from None
    if not missing.any():
        return made
    if isinstance(values, MaskedBytes) and isinstance(made, BytesColumn):
        return values
    fill = "" if original.text == "str" else b""
    return masked_rows(made.to_numpy() if isinstance(made, BytesColumn) else made, missing, fill)


def _missing_and_kept(name: str, values: Any) -> tuple[BoolArray, Any]:
    """Return which records are missing, and the values of the others."""
    if isinstance(values, MaskedBytes):
        return values.mask, values.values.take(np.flatnonzero(~values.mask))
    if isinstance(values, MaskedRows):
        return values.mask, values.kept()
    if isinstance(values, np.ma.MaskedArray) and (values.dtype.kind != "O" or values.ndim > 1):
        present = present_records(name, values)
        data = np.asarray(values.data)
        return (np.zeros(0, np.bool_), data) if present is None else (~present, data[present])
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    is_object = isinstance(values, np.ndarray) and values.dtype.kind == "O" and values.ndim == 1
    if not is_object and not isinstance(values, list | tuple):
        return np.zeros(0, np.bool_), values
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    return missing, [value for value in values if value is not None]


def _with_empty_rows(values: Any) -> Any:
    """Return rows with an empty one where one is missing."""
    if isinstance(values, MaskedRows):
        return values.rows
    return [[] if value is None else value for value in values]


def _typed(name: str, made: Any, original: Original) -> Any:
    """Give a column without values the dtype of its original; check the type of strings."""
    flat = getattr(made, "flat_values", made)
    is_object = isinstance(flat, np.ndarray) and flat.dtype.kind == "O"
    if is_object and not flat.size:
        dtype = original_dtype(original.dtype)
        return with_values(made, lambda values: np.zeros(values.shape, dtype))
    is_bytes = isinstance(flat, BytesColumn) and not isinstance(flat, TextColumn)
    is_bytes = is_bytes or flat.dtype.kind == "S"
    is_bytes = is_bytes or (is_object and isinstance(flat.flat[0], bytes))
    if is_bytes and original.text is not None and not original.text.startswith("S"):
        detail = "byte strings, but the schema says that these are text; decode them"
        raise column_error(name, detail, None, Reason.WRONG_KIND)
    return made


def _check_integers(name: str, kept: Any, made: Any) -> None:
    """Reject an integer of Python's that the schema's float32 does not hold; floats are rounded."""
    flat = getattr(made, "flat_values", made)
    exact = np.float64(2**24)  # of NumPy: float16 does not hold it
    if (
        _is_typed(kept)
        or flat.dtype.kind not in "iufc"
        or not np.any((flat.real > exact) | (flat.real < -exact))
    ):
        return  # smaller integers are exact
    rows = kept.to_list() if isinstance(kept, RaggedTensor) else kept
    for i, row in enumerate(rows):
        for value in () if _is_typed(row) else flattened(name, [row]):
            if isinstance(value, WHOLE) and float(np.float32(value)) != int(value):
                detail = f"the integer {value} is not exact in float32, which the schema stores"
                raise column_error(name, detail, i, Reason.UNREPRESENTABLE)


def _is_typed(values: Any) -> bool:
    """Return whether values have a dtype of numbers, which tells floats from integers."""
    flat = getattr(values, "flat_values", values)
    return isinstance(flat, np.ndarray) and flat.ndim > 0 and flat.dtype.kind != "O"


def _rounded(name: str, flat: Any) -> Any:
    """Return Python's floats as the schema stores them; other values as they are."""
    dtype: Any = {"float64": np.float32, "complex128": np.complex64}.get(str(flat.dtype))
    if dtype is None:
        return flat
    with np.errstate(over="ignore", under="ignore"):
        rounded = flat.astype(dtype)
    wrong = np.isinf(rounded) & np.isfinite(flat)
    if wrong.any():
        detail = f"a number that is too large for {rounded.dtype}, which the schema stores"
        raise column_error(name, detail, None, Reason.UNREPRESENTABLE)
    return rounded


def _shaped(name: str, values: Any, shape: tuple[int | None, ...]) -> Any:
    """Return values with dimensions of this shape after the first; those of None are ragged."""
    n_dims = 2 if isinstance(values, RaggedTensor) else getattr(values, "ndim", 1)
    if not shape or (n_dims < 2 and len(values)):
        if bool(shape) or n_dims > 1:
            detail = f"records of another shape than {list(shape)}, which the schema has"
            raise column_error(name, detail, None, Reason.WRONG_COUNT)
        return values
    if isinstance(values, RaggedTensor):
        splits, below = values.row_splits, values.values
    elif n_dims < 2:
        splits, below = np.zeros(1, np.int64), values
    else:
        n_rows, width = values.shape[:2]
        splits = np.arange(n_rows + 1, dtype=np.int64) * width
        below = values.reshape(n_rows * width, *values.shape[2:])
    with at_records(splits):
        below = _shaped(name, below, shape[1:])
    if shape[0] is None:
        return RaggedTensor(below, splits)
    wrong = np.flatnonzero(np.diff(splits) != shape[0])
    if wrong.size:
        found = int(np.diff(splits)[wrong[0]])
        detail = f"{plural(found, 'value')} in a dimension of {shape[0]}, which the schema has"
        raise column_error(name, detail, int(wrong[0]), Reason.WRONG_COUNT)
    below = below.to_numpy() if isinstance(below, BytesColumn) else below
    return below.reshape(len(splits) - 1, shape[0], *below.shape[1:])
