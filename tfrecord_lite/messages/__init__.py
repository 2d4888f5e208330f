"""The protobuf messages that records usually hold.

``Example`` and ``SequenceExample`` and their parts, byte for byte compatible with TensorFlow's
classes of the same names. The modules ``*_pb2`` are generated from ``proto/``. Their classes live
in a descriptor pool of their own (:mod:`tfrecord_lite.messages._pool`), so that they never clash
with TensorFlow's in the same process. ``Event`` and ``Summary`` of event files and
``ExampleListWithContext`` of TensorFlow Serving are loaded on first use.

Importing this package loads the protobuf runtime, which no lower package does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.lazy import names_from
from tfrecord_lite.messages.example_pb2 import Example, SequenceExample
from tfrecord_lite.messages.feature_pb2 import (
    BytesList,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
)

if TYPE_CHECKING:
    from tfrecord_lite.messages.event_pb2 import Event
    from tfrecord_lite.messages.input_pb2 import ExampleListWithContext
    from tfrecord_lite.messages.summary_pb2 import HistogramProto, Summary, SummaryMetadata

__all__ = [
    "BytesList", "Event", "Example", "ExampleListWithContext", "Feature", "FeatureList", "FeatureLists", "Features",
    "FloatList", "HistogramProto", "Int64List", "SequenceExample", "Summary", "SummaryMetadata",
]  # fmt: skip

if not TYPE_CHECKING:
    _HOMES = {"Event": "messages.event_pb2", "ExampleListWithContext": "messages.input_pb2"}
    _SUMMARIES = ("HistogramProto", "Summary", "SummaryMetadata")
    _HOMES |= dict.fromkeys(_SUMMARIES, "messages.summary_pb2")
    __getattr__ = names_from(__name__, _HOMES)
