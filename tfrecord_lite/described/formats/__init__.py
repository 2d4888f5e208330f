"""Schemas that other programs wrote: a text in, a Schema out.

``tfds`` reads ``features.json`` of TensorFlow Datasets, ``tfx`` ``schema.pbtxt`` of tensorflow-metadata, ``superserial`` the
YAML header of Super Serial; the ``info.SPLIT.json`` of seqio is read here.

Most programs store tensors in an Example as a flat list of the nearest kind: bools and integers
become int64, floats float32, and strings stay as they are. The shape is not stored, but in the schema.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import FixedLenFeature, Kind, Original, RaggedFeature, Schema, SchemaItem
from tfrecord_lite.schema.features import Partition
from tfrecord_lite.schema.kinds import is_float
from tfrecord_lite.schema.types import Shape


def nearest_kind(name: str, dtype: str) -> Kind:
    """Return the kind of list that stores values of a dtype; raise for complex and unknown ones."""
    try:
        known = Original(dtype).dtype
    except (TypeError, InvalidArgumentError):
        known = "complex"
    if known == "string":
        return Kind.BYTES
    if is_float(known):
        return Kind.FLOAT
    if known.startswith("complex"):
        detail = f"values of dtype {dtype!r} cannot be stored as int64, float32 or strings"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return Kind.INT64


def specification(name: str, dtype: str, shape: Shape, *, optional: bool = False) -> SchemaItem:
    """Return the specification of a tensor that was stored flat, and its original if it differs."""
    kind = nearest_kind(name, dtype)
    if shape.count(None) > 1:
        detail = f"only one dimension of the shape may be unknown, but the shape is {list(shape)}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    is_plain = dtype == kind.label
    if None not in shape and not optional:
        spec = FixedLenFeature(shape, kind.dtype)
        return SchemaItem(spec, None if is_plain else Original(dtype, shape))
    # The original's shape says how values divide into rows.
    missing = None not in shape
    is_plain = is_plain and not missing and len(shape) == 1
    original = None if is_plain else Original(dtype, shape, missing=missing)
    return SchemaItem(RaggedFeature(kind.dtype, row_splits_dtype=np.int64), original)


# ---------------------------------------------------------------------------------- seqio


def is_seqio(document: Mapping[str, object]) -> bool:
    """Return whether parsed JSON is an ``info.SPLIT.json``."""
    return isinstance(document.get("features"), dict) and "num_shards" in document


def from_seqio(document: Mapping[str, object]) -> tuple[Schema, dict[str, InvalidArgumentError]]:
    """Read a parsed ``info.SPLIT.json``; return also the features that cannot be read, with the reasons.

    A shape of ``[null, null, 2]`` is a RaggedFeature with the lengths of inner rows in ``_rl:0:NAME``.

    >>> info = {"num_shards": 1, "features": {"x": {"shape": [None, 2], "dtype": "int32"}}}
    >>> from_seqio(info)[0]
    Schema of 1 feature
    name  specification  dtype  original
    ----  -------------  -----  ------------
    x     RaggedFeature  int64  int32 [?, 2]
    """
    schema = Schema({})
    refused: dict[str, InvalidArgumentError] = {}
    features = document["features"]
    for name, item in features.items() if isinstance(features, Mapping) else ():
        try:
            schema |= Schema.of_items(
                {name: _seqio_item(name, Original(item["dtype"], item["shape"]))}
            )
        except InvalidArgumentError as error:
            refused[name] = error.at(key=name)
        except (LookupError, TypeError):
            detail = "seqio info: a feature must have a dtype and a shape"
            raise argument_error(detail, key=str(name)) from None
    if refused and not schema:
        raise next(iter(refused.values()))
    return schema, refused


def _seqio_item(name: str, original: Original) -> SchemaItem:
    shape = original.shape
    if None not in shape[1:]:
        return specification(name, original.dtype, shape)
    kind = nearest_kind(name, original.dtype)
    lengths, uniform = RaggedFeature.RowLengths, RaggedFeature.UniformRowLength
    partitions: list[Partition] = []
    for i, dim in enumerate(shape[1:], 1):
        key = f"_rl:{shape[1:i].count(None)}:{name}"
        partitions.append(lengths(key) if dim is None else uniform(dim))
    return SchemaItem(RaggedFeature(kind.dtype, None, partitions, np.int64), original)
