"""Schemas: the features to read from Examples, their kinds, and their original types.

::

    user:    {"label": FixedLenFeature([], "int64"), ...}       features, a plain dict
                │                                     │
                │ prepare: all checks                 │ Schema: stored, printed, JSON
                ▼                                     ▼
    parser:  {"label": Dense(key, kind, shape, default), ...}

    kinds      the three kinds of lists, and the dtypes that select them
    features   the specifications, with TensorFlow's names, arguments and defaults
    prepare    all checks of specifications, and the form that a parser works with
    types      what the values of a feature are, in a record and as the user's
    schema     Schema, SequenceSchema and Original
    text       a schema's table and JSON
    summary    counts and ranges of data, from which a schema is inferred
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.lazy import names_from
from tfrecord_lite.schema.features import (
    DenseLike,
    FeatureLike,
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Partition,
    RaggedFeature,
    RawFeature,
    SparseFeature,
    SparseSpec,
    VarLenFeature,
)
from tfrecord_lite.schema.kinds import Kind
from tfrecord_lite.schema.prepare import require_specifications
from tfrecord_lite.schema.schema import Original, Schema, SchemaItem, SequenceSchema

if TYPE_CHECKING:
    from tfrecord_lite.schema.summary import (
        FeatureListSummary,
        FeatureSummary,
        ListSummary,
        SequenceSummary,
        Summary,
        Variable,
        summary_rows,
    )

__all__ = [
    "DenseLike", "FeatureLike", "FeatureListSummary", "FeatureSpec", "FeatureSummary", "FixedLenFeature",
    "FixedLenSequenceFeature", "Kind", "ListSummary", "Original", "Partition", "RaggedFeature", "RawFeature",
    "Schema", "SchemaItem", "SequenceSchema", "SequenceSummary", "SparseFeature", "SparseSpec", "Summary",
    "VarLenFeature", "Variable", "require_specifications", "summary_rows",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = names_from(__name__, dict.fromkeys(__all__, "schema.summary"))
