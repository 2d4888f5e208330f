"""The ``info.SPLIT.json`` of seqio: dtypes and shapes of what a task has cached.

A shape of ``[null, null, 2]`` is a RaggedFeature with the lengths of inner rows in ``_rl:0:NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tfrecord_lite.described.formats import nearest_kind, specification
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.schema import Original, RaggedFeature, Schema, SchemaItem
from tfrecord_lite.schema.features import Partition


def is_info(document: Mapping[str, object]) -> bool:
    """Return whether parsed JSON is an ``info.SPLIT.json``."""
    return isinstance(document.get("features"), dict) and "num_shards" in document


def from_mapping(document: Mapping[str, object]) -> tuple[Schema, dict[str, InvalidArgumentError]]:
    """Read a parsed ``info.SPLIT.json``; return also the features that cannot be read, with the reasons.

    >>> info = {"num_shards": 1, "features": {"x": {"shape": [None, 2], "dtype": "int32"}}}
    >>> from_mapping(info)[0]
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
            schema |= Schema.of_items({name: _item(name, Original(item["dtype"], item["shape"]))})
        except InvalidArgumentError as error:
            refused[name] = error.at(key=name)
        except (LookupError, TypeError):
            detail = "seqio info: a feature must have a dtype and a shape"
            raise argument_error(detail, key=str(name)) from None
    if refused and not schema:
        raise next(iter(refused.values()))
    return schema, refused


def _item(name: str, original: Original) -> SchemaItem:
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
