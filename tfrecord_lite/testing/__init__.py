"""Property-based tests for programs that read and write TFRecord files.

Hypothesis strategies for the contents of such files, and assertions about programs that
read and write them. Needs the extra ``testing``.

::

    messages    values; Examples and SequenceExamples of anything; encodings of any message
    features    Examples, SequenceExamples and columns that fit given features
    records     records; damaged files
    round_trip  assertions: what was written comes back, and damage is not read as data
    reencode    how messages are written in unusual but legal encodings, and damaged

This package's own tests are the first to use it.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError:
    raise ImportError("strategies need Hypothesis: pip install hypothesis") from None

from tfrecord_lite.testing.features import columns, examples_for, sequence_examples_for
from tfrecord_lite.testing.messages import (
    byte_strings,
    damaged_messages,
    encodings,
    examples,
    feature_messages,
    float32s,
    int64s,
    keys,
    sequence_examples,
)
from tfrecord_lite.testing.records import damaged, records
from tfrecord_lite.testing.round_trip import (
    assert_damage_is_noticed,
    assert_round_trip,
    assert_same,
)

__all__ = [
    "assert_damage_is_noticed", "assert_round_trip", "assert_same", "byte_strings", "columns", "damaged",
    "damaged_messages", "encodings", "examples", "examples_for", "feature_messages", "float32s", "int64s", "keys",
    "records", "sequence_examples", "sequence_examples_for",
]  # fmt: skip
