"""The messages that records usually hold, as protobuf classes.

``Example`` and ``SequenceExample`` and the parts they are made of, byte for byte
what TensorFlow's classes of the same names read and write. The classes come
from ``proto/`` and live in a descriptor pool of their own
(:mod:`tfrecord_lite.messages._pool`), so they never clash with TensorFlow's in
the same process. Others are loaded when they are first asked for: ``Event`` and
``Summary``, which event files hold, and ``ExampleListWithContext`` of TensorFlow
Serving.

Importing this package loads the protobuf runtime, which nothing below it does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "BytesList",
    "Event",
    "Example",
    "ExampleListWithContext",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "HistogramProto",
    "Int64List",
    "SequenceExample",
    "Summary",
    "SummaryMetadata",
]

_LAZY = {
    "Event": "event_pb2",
    "ExampleListWithContext": "input_pb2",
    "HistogramProto": "summary_pb2",
    "Summary": "summary_pb2",
    "SummaryMetadata": "summary_pb2",
}


def __getattr__(name: str) -> Any:
    """Load what is seldom needed."""
    if name not in _LAZY:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
