"""The ``schema.pbtxt`` of TFX: tensorflow-metadata's Schema in protobuf's text format.

This follows tensorflow-metadata's description of its schema; the lifecycle stages that TFX's own
readers omit have differed. protobuf parses the text with our own messages for these parts
(``proto/tfmd_schema.proto``); the rest of the text is skipped.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from google.protobuf import text_format

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.messages import tfmd_schema_pb2 as tfmd
from tfrecord_lite.schema import FeatureSpec, Kind, RaggedFeature, Schema, SequenceSchema
from tfrecord_lite.schema.features import FixedLenFeature, Partition, SparseFeature, VarLenFeature
from tfrecord_lite.schema.prepare import keys_to_read, prepare

_KINDS: dict[int, Kind] = {tfmd.BYTES: Kind.BYTES, tfmd.INT: Kind.INT64, tfmd.FLOAT: Kind.FLOAT}
_DEFAULTS: dict[Kind, tuple[str, ...]]
_DEFAULTS = {Kind.BYTES: ("bytes_value",), Kind.INT64: ("int_value", "uint_value")}
_DEFAULTS[Kind.FLOAT] = ("float_value", "int_value", "uint_value")
# Our messages lack this field; a dimension without a size means the same.
_UNKNOWN_RANK = re.compile(r"\bunknown_rank\s*:\s*(?:true|True|t|1)\b")
_SEQUENCE = "##SEQUENCE##"
_IN_USE = frozenset({tfmd.UNKNOWN_STAGE, tfmd.BETA, tfmd.PRODUCTION})


def from_text(text: str | bytes) -> tuple[Schema | SequenceSchema, dict[str, InvalidArgumentError]]:
    """Read a ``schema.pbtxt``; return also the features that cannot be read, with the reasons.

    >>> from_text('''
    ... feature { name: "age" type: INT presence { min_fraction: 1 } shape {} }
    ... feature { name: "tags" type: BYTES skew_comparator { anything: 1 } }
    ... ''')[0]
    Schema of 2 features
    name  specification    dtype   shape
    ----  ---------------  ------  -----
    age   FixedLenFeature  int64   []
    tags  VarLenFeature    string
    """
    try:
        if isinstance(text, bytes):
            text = text.decode()
        with warnings.catch_warnings():
            # About escapes in strings that Python does not know.
            warnings.simplefilter("ignore", DeprecationWarning)
            text, pool = _UNKNOWN_RANK.sub("dim { }", text), tfmd.DESCRIPTOR.pool
            schema = tfmd.Schema()
            text_format.Parse(text, schema, allow_unknown_field=True, descriptor_pool=pool)
    except text_format.ParseError as error:
        # The error's own text may quote the document.
        where = f" at line {error.GetLine()}" if error.GetLine() is not None else ""
        raise _schema_error(f"not a Schema in protobuf's text format{where}") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise _schema_error(f"not readable as text ({type(error).__name__})") from None
    return _Reader(schema).read()


def _schema_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return argument_error(f"TFX schema: {detail}", key=key)


def _unsupported_error(detail: str, key: str) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.UNSUPPORTED, key=key, detail=f"TFX schema: {detail}")


_Maker: TypeAlias = Callable[[], FeatureSpec]


class _Reader:
    def __init__(self, schema: tfmd.Schema) -> None:
        self._schema = schema
        self._features = _by_name(schema.feature)
        steps = self._features.pop(_SEQUENCE, None)
        self._is_sequence = steps is not None
        self._steps = {} if steps is None else _by_name(steps.struct_domain.feature)
        self._refused: dict[str, InvalidArgumentError] = {}

    def read(self) -> tuple[Schema | SequenceSchema, dict[str, InvalidArgumentError]]:
        group = self._schema.tensor_representation_group
        # Indexing the map with a key that it lacks would add the key.
        represented = group[""].tensor_representation if "" in group else {}
        makers: tuple[dict[str, _Maker], dict[str, _Maker]] = {}, {}
        for name in sorted(represented):
            is_step = represented[name].ragged_tensor.feature_path.step[:1] == [_SEQUENCE]
            makers[is_step][name] = partial(self._represented, name, represented[name])
        for sparse in filter(_is_in_use, self._schema.sparse_feature):
            keys, value = [part.name for part in sparse.index_feature], sparse.value_feature.name
            make = partial(self._sparse, sparse.name, keys, value, sparse.dense_shape)
            makers[0][sparse.name] = partial(make, is_sorted=sparse.is_sorted)
        context = self._made(makers[0], self._features, "context/" if self._is_sequence else "")
        lists = self._made(makers[1], self._steps, "feature_lists/")
        if not context and not lists:
            error = _schema_error("there are no features; expected a Schema of tensorflow-metadata")
            raise next(iter(self._refused.values()), error)
        schema = SequenceSchema(context, lists) if self._is_sequence else Schema(context)
        return schema, self._refused

    def _made(
        self, makers: Mapping[str, _Maker], features: Mapping[str, tfmd.Feature], prefix: str
    ) -> dict[str, FeatureSpec]:
        """Return specifications, also for the columns that none of them is made of; in the schema's order."""
        by_name: dict[str, FeatureSpec] = {}
        composed: set[str] = set()
        plain: dict[str, _Maker] = {n: partial(self._plain, n, own) for n, own in features.items()}
        for name, make in (*makers.items(), *plain.items()):
            if make is plain.get(name) and (name in composed or not _is_in_use(features[name])):
                continue
            composed.add(name)
            try:
                spec = make()
                composed.update(keys_to_read(prepare({name: spec})))
                by_name[name] = spec
            except InvalidArgumentError as error:
                self._refused[prefix + name] = error
        order = [name for name in features if name in by_name]
        return {name: by_name[name] for name in dict.fromkeys([*order, *by_name])}

    def _kind(
        self, name: str, owner: str, features: Mapping[str, tfmd.Feature] | None = None
    ) -> Kind:
        """Return the kind of a feature; errors name `owner`, which it is part of."""
        features = self._features if features is None else features
        if name not in features:
            raise _schema_error(f"its part {name!r} is not a feature", owner)
        return _kind_of(features[name], owner)

    def _plain(self, name: str, feature: tfmd.Feature) -> FeatureSpec:
        kind = _kind_of(feature, name)
        if feature.HasField("value_counts"):
            detail = "value_counts describe nested values, which an Example cannot hold"
            raise _unsupported_error(detail, name)
        is_step = self._steps.get(name) is feature
        is_known = feature.HasField("shape") and _is_known(feature.shape) and not is_step
        if is_known and feature.presence.min_fraction == 1:
            return FixedLenFeature(_shape(name, feature.shape), kind.dtype)
        if self._schema.represent_variable_length_as_ragged or is_step:
            return RaggedFeature(kind.dtype, row_splits_dtype=np.int64)
        return VarLenFeature(kind.dtype)

    def _sparse(
        self, name: str, keys: list[str], value: str, shape: tfmd.FixedShape, *, is_sorted: bool
    ) -> FeatureSpec:
        """Return a sparse feature; without a dense shape, its size is the range of its indices, if that is known."""
        sizes = _shape(name, shape) if shape.dim else []
        for key in [] if shape.dim else keys:
            self._kind(key, name)
            domain = self._features[key].int_domain
            sizes.append(domain.max + 1 if domain.HasField("max") else -1)
        if not keys or any(self._kind(key, name) is not Kind.INT64 for key in keys):
            raise _schema_error("the indices must be features of type INT", name)
        return SparseFeature(keys, value, self._kind(value, name).dtype, sizes, is_sorted)

    def _represented(self, name: str, representation: tfmd.TensorRepresentation) -> FeatureSpec:
        word = representation.WhichOneof("kind")
        variant: Any = getattr(representation, word or "", None)
        match word:
            case "dense_tensor":
                key = variant.column_name
                kind, shape = self._kind(key, name), _shape(name, variant.shape)
                default = None
                if variant.HasField("default_value"):
                    default = _default(name, variant.default_value, kind, shape)
                return FixedLenFeature(shape, kind.dtype, default, None if key == name else key)
            case "varlen_sparse_tensor":
                key = variant.column_name
                return VarLenFeature(self._kind(key, name).dtype, None if key == name else key)
            case "sparse_tensor":
                keys, value = list(variant.index_column_names), variant.value_column_name
                is_sorted = variant.already_sorted
                return self._sparse(name, keys, value, variant.dense_shape, is_sorted=is_sorted)
            case "ragged_tensor":
                return self._ragged(name, variant)
            case _:
                raise _schema_error("the representation is of no known kind", name)

    def _ragged(
        self, name: str, representation: tfmd.TensorRepresentation.RaggedTensor
    ) -> FeatureSpec:
        steps, features = list(representation.feature_path.step), self._features
        if self._is_sequence and steps[:1] == [_SEQUENCE]:
            steps, features = steps[1:], self._steps
        if len(steps) != 1:
            detail = f"the path {steps} must have one step, as an Example is not nested"
            raise _unsupported_error(detail, name)
        partitions: list[Partition] = []
        for part in representation.partition:
            if part.WhichOneof("kind") == "row_length":
                partitions.append(RaggedFeature.RowLengths(part.row_length))
            else:
                partitions.append(RaggedFeature.UniformRowLength(part.uniform_row_length))
        is_short = representation.row_partition_dtype == tfmd.TensorRepresentation.INT32
        splits = np.int32 if is_short else np.int64
        kind = self._kind(steps[0], name, features)
        return RaggedFeature(kind.dtype, steps[0], partitions, splits)


def _by_name(features: Iterable[tfmd.Feature]) -> dict[str, tfmd.Feature]:
    by_name: dict[str, tfmd.Feature] = {}
    for feature in features:
        if not feature.name or feature.name in by_name:
            raise _schema_error("a feature must have a name of its own", feature.name)
        by_name[feature.name] = feature
    return by_name


def _kind_of(feature: tfmd.Feature, owner: str) -> Kind:
    if feature.type == tfmd.STRUCT:
        raise _unsupported_error("an Example holds lists of values, not STRUCT", owner)
    if feature.type not in _KINDS:
        raise _schema_error("a feature must have the type BYTES, INT or FLOAT", owner)
    return _KINDS[feature.type]


def _is_in_use(feature: tfmd.Feature | tfmd.SparseFeature) -> bool:
    return feature.lifecycle_stage in _IN_USE and not feature.deprecated


def _is_known(shape: tfmd.FixedShape) -> bool:
    return all(dim.HasField("size") for dim in shape.dim)


def _shape(name: str, shape: tfmd.FixedShape) -> list[int]:
    if not _is_known(shape):
        raise _schema_error("the shape must have a known rank and sizes", name)
    return [dim.size for dim in shape.dim]


def _default(
    name: str, representation: tfmd.TensorRepresentation.DefaultValue, kind: Kind, shape: list[int]
) -> Any:
    word = representation.WhichOneof("kind")
    if word is None or word not in _DEFAULTS[kind]:
        raise _schema_error(f"default_value must be {kind.label}, not {word or 'empty'}", name)
    value: Any = getattr(representation, word)
    if kind is Kind.INT64 and value >= 2**63:
        raise _schema_error(f"default_value {value} does not fit into int64", name)
    if min(shape, default=0) < 0:
        raise _schema_error("a dimension must not be negative", name)
    # np.full would strip zero bytes from the end of a string.
    array = np.empty(shape, object)
    array.fill(value)
    return array.tolist()
