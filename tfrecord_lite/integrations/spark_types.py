"""Types of Spark, Arrow's, and features: which column is read from, and stored in, which.

::

    Spark's schema ──feature_of──> Original and specification ──> table ──> Arrow
    Arrow ──spark_type──> Spark's type          ──converted──> exactly the Arrow types that Spark wants
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from tfrecord_lite.convert.arrow import imported
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import FixedLenFeature, Original, RaggedFeature
from tfrecord_lite.storage.widening import SchemaItem, as_missing


def spark_type(name: str, kind: Any) -> Any:
    """Return the type of Spark for one of Arrow; raise if there is none."""
    from pyspark.sql.pandas.types import from_arrow_type  # noqa: PLC0415 - an extra
    from pyspark.sql.types import ArrayType, DecimalType, TimestampNTZType  # noqa: PLC0415

    pa = imported()
    types = pa.types
    if types.is_dictionary(kind):
        return spark_type(name, kind.value_type)
    if is_list_type(kind):
        return ArrayType(spark_type(name, kind.value_type), True)  # noqa: FBT003 - containsNull
    if isinstance(kind, pa.BaseExtensionType):
        return spark_type(name, kind.storage_type)
    if types.is_uint64(kind):
        return DecimalType(20, 0)
    if types.is_timestamp(kind) and kind.tz is None:  # to 4.1 one without a zone is one with it
        return TimestampNTZType()
    wider = {
        "uint8": pa.int16(),
        "uint16": pa.int32(),
        "uint32": pa.int64(),
        "halffloat": pa.float32(),
    }
    try:
        return from_arrow_type(wider.get(str(kind), kind))
    except Exception:  # noqa: BLE001 - Spark's errors, of many classes
        detail = f"Spark has no type for {kind}; leave it out of the option columns"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail) from None


def is_list_type(kind: Any) -> bool:
    """Return whether a type of Arrow's is one of lists."""
    types = imported().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def arrow_schema_of(schema: Any) -> Any:
    """Return exactly the Arrow schema that Spark wants batches of a schema to have."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    has_zone = "timezone" in inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **({"timezone": "UTC"} if has_zone else {}))


_DTYPES = {
    "boolean": ("bool", np.int64),
    "byte": ("int8", np.int64),
    "short": ("int16", np.int64),
    "integer": ("int32", np.int64),
    "long": ("int64", np.int64),
    "float": ("float32", np.float32),
    "double": ("float32", np.float32),  # what a FloatList has, then widened
    "decimal": ("float32", np.float32),
    "string": ("string", bytes),
    "binary": ("string", bytes),
    "date": ("datetime64[D]", np.int64),
    "timestamp": ("datetime64[us]", np.int64),
    "timestamp_ntz": ("datetime64[us]", np.int64),
}
"""Of each type of Spark: the dtype of values, and the list that has them."""


def feature_of(field: Any, *, is_step: bool = False) -> SchemaItem:
    """Return the feature that a column of Spark's is read from, or is stored in."""
    kind, is_list = field.dataType, False
    if kind.typeName() == "array":
        kind, is_list = kind.elementType, True
    word = kind.typeName()
    word = "string" if word in ("char", "varchar") else word
    if word not in _DTYPES:
        detail = f"a column of {field.dataType.simpleString()}, which an Example cannot hold"
        if word == "array" and not is_step:
            detail = f"a column of {field.dataType.simpleString()} needs recordType=SequenceExample"
        if word in ("udt", "vectorudt"):
            detail += "; pyspark.ml.functions.vector_to_array makes an array of a vector"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=field.name, detail=detail)
    name, stored = _DTYPES[word]
    text = "str" if word == "string" else None
    zone = "UTC" if word == "timestamp" else None
    if is_list:
        return SchemaItem(RaggedFeature(stored), Original(name, (None,), text, zone=zone))
    item = SchemaItem(FixedLenFeature([], stored), Original(name, (), text, zone=zone))
    return as_missing(field.name, item) if field.nullable else item


def converted(array: Any, kind: Any) -> Any:
    """Return an array as one of exactly a type of Spark's; raises pyarrow's errors."""
    pa = imported()
    if array.type == kind:
        return array
    if isinstance(array, pa.ExtensionArray):
        return converted(array.storage, kind)
    if pa.types.is_dictionary(array.type):
        return converted(array.dictionary_decode(), kind)
    if not pa.types.is_list(kind):
        return array.cast(kind)
    if not is_list_type(array.type):  # one value is a list of one
        splits = np.arange(len(array) + 1, dtype=np.int32)
        mask = array.is_null() if array.null_count else None
        inner = converted(array, kind.value_type)
        return pa.ListArray.from_arrays(pa.array(splits), inner, type=kind, mask=mask)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        offsets = np.arange(len(array) + 1, dtype=np.int32) * size
        values = array.values[array.offset * size : (array.offset + len(array)) * size]
    else:
        found = array.offsets.to_numpy()
        offsets = (found - found[0]).astype(np.int32)
        values = array.values[int(found[0]) : int(found[-1])]
    mask = array.is_null() if array.null_count else None
    inner = converted(values, kind.value_type)
    return pa.ListArray.from_arrays(pa.array(offsets), inner, type=kind, mask=mask)


def depth_of(kind: Any) -> int:
    """Return how many lists of Arrow's are in each other."""
    return 1 + depth_of(kind.value_type) if is_list_type(kind) else 0


def as_steps(array: Any, depth: int) -> Any:
    """Return a column of a feature list with a list per step, or with the one value of each step."""
    pa = imported()
    found = depth_of(array.type)
    if found == depth or not len(array):
        return array
    plain = array.type if pa.types.is_list(array.type) else pa.list_(array.type.value_type)
    array = converted(array, plain)
    if found < depth:
        inner = pa.ListArray.from_arrays(
            pa.array(np.arange(len(array.values) + 1, dtype=np.int32)), array.values
        )
    else:
        steps = array.values
        if len(steps) and not (steps.value_lengths().to_numpy(zero_copy_only=False) == 1).all():
            raise pa.ArrowInvalid(
                "a step that has not exactly one value; expected array<array<...>>"
            )
        inner = steps.flatten()
    return pa.ListArray.from_arrays(array.offsets, inner)


def is_nested_array(kind: Any) -> bool:
    """Return whether a type of Spark's is one of arrays of arrays."""
    return bool(kind.typeName() == "array" and kind.elementType.typeName() == "array")


def with_leaf(kind: Any, leaf: Any) -> Any:
    """Return a type of Spark's with another one inside of its arrays."""
    return type(kind)(with_leaf(kind.elementType, leaf)) if kind.typeName() == "array" else leaf


def leaf_of(kind: Any) -> Any:
    """Return the type of the values in arrays of Spark's."""
    return leaf_of(kind.elementType) if kind.typeName() == "array" else kind


def without_decimals(kind: Any) -> Any:
    """Return an Arrow type with floats for decimals, as spark-tfrecord stores them."""
    pa = imported()
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", without_decimals(kind.value_type)))
    return pa.float64() if pa.types.is_decimal(kind) else kind


def with_type(field: Any, kind: Any) -> Any:
    """Return a field of Spark's with another type."""
    return type(field)(field.name, kind, field.nullable)


def without_nulls(array: Any) -> Any:
    """Return lists with empty ones for nulls."""
    pa = imported()
    lengths = array.value_lengths().fill_null(0).to_numpy()
    splits = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(splits), array.flatten())
