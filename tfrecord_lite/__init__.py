"""TFRecord files and the tf.train messages in them, without TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfrecord_lite.block import Block
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
)
from tfrecord_lite.options import TFRecordCompressionType, TFRecordOptions
from tfrecord_lite.reader import TFRecordReader, tf_record_iterator
from tfrecord_lite.writer import ShardedTFRecordWriter, TFRecordWriter

if TYPE_CHECKING:
    from tfrecord_lite.messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )

__all__ = [
    "Block",
    "BytesList",
    "DataLossError",
    "Example",
    "FailedPreconditionError",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "InvalidArgumentError",
    "Reason",
    "SequenceExample",
    "ShardedTFRecordWriter",
    "TFRecordCompressionType",
    "TFRecordError",
    "TFRecordOptions",
    "TFRecordReader",
    "TFRecordWriter",
    "tf_record_iterator",
]


def __getattr__(name: str) -> Any:
    """Load the protobuf messages when one is first asked for: the runtime is not light."""
    if name in __all__:
        from tfrecord_lite import messages  # noqa: PLC0415

        return getattr(messages, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
