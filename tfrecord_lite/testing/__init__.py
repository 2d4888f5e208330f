"""Property-based tests for programs that read and write TFRecord files.

Hypothesis strategies for the contents of such files, and assertions about programs that
read and write them. Needs the extra ``testing``.

::

    messages    values; Examples and SequenceExamples of anything; encodings of any message
    features    feature specifications and Schemas; Examples, SequenceExamples and columns
                that fit them
    columns     single columns; tables of columns with the Examples they stand for
    records     records; files, intact and damaged
    round_trip  assertions: what was written comes back, and damage is not read as data
    reencode    messages in unusual but legal encodings; bytes damaged in one place

This package's own tests are the first to use it.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError:
    raise ImportError("strategies need Hypothesis: pip install 'tfrecord-numpy[testing]'") from None

from tfrecord_lite.testing.columns import bytes_columns, ragged_tensors, sparse_tensors, tables
from tfrecord_lite.testing.features import (
    columns,
    examples_for,
    feature_specs,
    schemas,
    sequence_examples_for,
    sequence_feature_specs,
)
from tfrecord_lite.testing.messages import (
    byte_strings,
    chooser,
    damaged_messages,
    encodings,
    examples,
    feature_messages,
    float32s,
    int64s,
    keys,
    sequence_examples,
)
from tfrecord_lite.testing.records import any_stream, damaged, odd_lengths, pieces_of, records
from tfrecord_lite.testing.reencode import Reencoder, mutate
from tfrecord_lite.testing.round_trip import (
    assert_damage_is_noticed,
    assert_round_trip,
    assert_same,
)

__all__ = [
    "Reencoder",
    "any_stream",
    "assert_damage_is_noticed",
    "assert_round_trip",
    "assert_same",
    "byte_strings",
    "bytes_columns",
    "chooser",
    "columns",
    "damaged",
    "damaged_messages",
    "encodings",
    "examples",
    "examples_for",
    "feature_messages",
    "feature_specs",
    "float32s",
    "int64s",
    "keys",
    "mutate",
    "odd_lengths",
    "pieces_of",
    "ragged_tensors",
    "records",
    "schemas",
    "sequence_examples",
    "sequence_examples_for",
    "sequence_feature_specs",
    "sparse_tensors",
    "tables",
]
