"""What to read from Examples, and as what: feature specifications, checks, schemas.

::

    user:    {"label": FixedLenFeature([], "int64"), ...}       features, a plain dict
                │                                     │
                │ prepare: every check there is       │ Schema: keeps, prints, JSON
                ▼                                     ▼
    parser:  {"label": Dense(key, kind, shape, default), ...}

The specifications carry TensorFlow's names, arguments and defaults. They take what
they are given; what is wrong with it is said when they are used (rule E8), by
:func:`prepare`, which also puts everything into the one form that a parser works with.

No I/O, no protobuf runtime, no knowledge of bytes on the wire.
"""

from __future__ import annotations

from tfrecord_lite.schema.features import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Partition,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.schema.kinds import Kind, kind_of
from tfrecord_lite.schema.prepare import (
    Dense,
    Padded,
    Prepared,
    Ragged,
    Sparse,
    VarLen,
    canonical,
    keys_to_read,
    prepare,
    prepare_sequence,
)
from tfrecord_lite.schema.schema import Original, Schema
from tfrecord_lite.schema.summary import FeatureSummary, ListSummary, Summary, Variable

__all__ = [
    "Dense",
    "FeatureSpec",
    "FeatureSummary",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "Kind",
    "ListSummary",
    "Original",
    "Padded",
    "Partition",
    "Prepared",
    "Ragged",
    "RaggedFeature",
    "Schema",
    "Sparse",
    "SparseFeature",
    "Summary",
    "VarLen",
    "VarLenFeature",
    "Variable",
    "canonical",
    "keys_to_read",
    "kind_of",
    "prepare",
    "prepare_sequence",
]
