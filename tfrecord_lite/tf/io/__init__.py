"""tf.io: records, messages, the contents of byte strings, and local files (``gfile``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tfrecord_lite
from tfrecord_lite import FixedLenFeature, RaggedFeature, SparseFeature, VarLenFeature, writer
from tfrecord_lite.apps.images import image as images
from tfrecord_lite.extension import CompressionType, TFRecordOptions
from tfrecord_lite.schema import FeatureSpec, FixedLenSequenceFeature, require_specifications
from tfrecord_lite.tensors import parse, serialize
from tfrecord_lite.tf._dtype import as_dtype
from tfrecord_lite.tf._parse_ahead import BatchTensor, RecordTensor, can_be_cut
from tfrecord_lite.tf._tensor import Tensor, plain_array, unwrap, wrap
from tfrecord_lite.tf._unavailable import Unavailable, unavailable, unsupported
from tfrecord_lite.tf.io import gfile

Features = Mapping[str, FeatureSpec]

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "SparseFeature", "TFRecordOptions",
    "TFRecordWriter", "VarLenFeature", "decode_image", "decode_jpeg", "decode_png", "decode_raw", "encode_jpeg",
    "encode_png", "gfile", "parse_example", "parse_sequence_example", "parse_single_example",
    "parse_single_sequence_example", "parse_tensor", "read_file", "serialize_tensor", "write_file",
]  # fmt: skip


class TFRecordWriter(writer.TFRecordWriter):
    """Writes records to one file, compressed only if the options say so, whatever its name."""

    def __init__(self, path: Any, options: CompressionType = None) -> None:
        super().__init__(path, "" if options is None else options)


def parse_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse a batch of Examples, as :func:`tfrecord_lite.parse_example`."""
    parser, names = _parser(tfrecord_lite.ExampleParser, features), _names(example_names)
    if isinstance(serialized, BatchTensor):
        return wrap(serialized.parsed(parser, names))  # type: ignore[no-any-return]
    messages = unwrap(serialized)
    if isinstance(messages, bytes):
        return parse_single_example(messages, features, example_names)
    return wrap(parser(messages, names))  # type: ignore[no-any-return]


def parse_single_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse one Example, as :func:`tfrecord_lite.parse_single_example`."""
    parser = _parser(tfrecord_lite.ExampleParser, features)
    if example_names is None and isinstance(serialized, RecordTensor) and can_be_cut(features):
        row = serialized.parsed(parser)
        if row is not None:
            return wrap(row)  # type: ignore[no-any-return]
    return wrap(parser.parse_single(unwrap(serialized), _names(example_names)))  # type: ignore[no-any-return]


def parse_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse a batch of SequenceExamples, as :func:`tfrecord_lite.parse_sequence_example`."""
    parser = _parser(tfrecord_lite.SequenceExampleParser, context_features, sequence_features)
    return wrap(parser(unwrap(serialized), _names(example_names)))  # type: ignore[no-any-return]


def parse_single_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one SequenceExample, as :func:`tfrecord_lite.parse_single_sequence_example`."""
    parser = _parser(tfrecord_lite.SequenceExampleParser, context_features, sequence_features)
    context, lists, _ = parser.parse_single(unwrap(serialized), _names(example_name))
    return wrap(context), wrap(lists)


def _names(names: Any) -> Any:
    return None if names is None else unwrap(names)


_MAX_PARSERS = 16
_recent: list[tuple[Any, Any]] = []
"""Parsers by their features: scripts pass the same features with each record."""


def _parser(make: type[Any], *features: Any) -> Any:
    """Return a parser, one made before if there is any, for specifications only (rule E2)."""
    items = [tuple(f.items()) if isinstance(f, Mapping) else f for f in features]
    for known, parser in _recent:  # an Example's has one set of features, a SequenceExample's two
        if known == items:  # fast for identical specifications
            return parser
    for feature in features:
        require_specifications(feature)
    parser = make(*features)
    _recent[:] = [(items, parser), *_recent[: _MAX_PARSERS - 1]]
    return parser


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Serialise a tensor, as :func:`tfrecord_lite.serialize_tensor`."""
    plain = unwrap(tensor) if hasattr(tensor, "numpy") else plain_array(tensor)
    return Tensor(serialize.serialize_tensor(plain, name))


def parse_tensor(serialized: Any, out_type: object, name: str | None = None) -> Tensor:
    """Parse a serialised tensor, as :func:`tfrecord_lite.parse_tensor`."""
    return Tensor(parse.parse_tensor(unwrap(serialized), out_type, name))


def decode_raw(
    input_bytes: Any,
    out_type: object,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Tensor:
    """View bytes as numbers, as :func:`tfrecord_lite.decode_raw`."""
    return Tensor(
        parse.decode_raw(unwrap(input_bytes), out_type, little_endian, fixed_length, name)
    )


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: object = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decode an image, as :func:`tfrecord_lite.apps.images.decode_image`.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for a `dtype` other than uint8, and for a GIF, which may have
        several images, unless `expand_animations` is False.
    """
    plain = unwrap(contents)
    if expand_animations and plain[:4] == b"GIF8":
        detail = "a GIF may be animated; pass expand_animations=False to decode its first image"
        raise unsupported(detail)
    return _decoded(plain, channels, dtype)


def decode_jpeg(contents: Any, channels: int = 0, **settings: Any) -> Tensor:
    """Decode a JPEG image; settings of TensorFlow's own decoder raise an error."""
    _check_settings(settings)
    return _decoded(unwrap(contents), channels, "uint8")


def decode_png(contents: Any, channels: int = 0, dtype: Any = "uint8", name: Any = None) -> Tensor:
    """Decode a PNG image of 8 bits per channel."""
    return _decoded(unwrap(contents), channels, dtype)


def encode_jpeg(image: Any, format: str = "", quality: int = 95, **settings: Any) -> Tensor:  # noqa: A002
    """Encode an image as JPEG, as :func:`tfrecord_lite.apps.images.encode_image`."""
    plain = np.asarray(unwrap(image))
    if format and plain.shape[-1] != {"grayscale": 1, "rgb": 3}.get(format):
        raise unsupported(f"an image of shape {list(plain.shape)} cannot be encoded as {format!r}")
    _check_settings(settings)
    return Tensor(images.encode_image(plain, "jpeg", quality))


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Encode an image as PNG, as :func:`tfrecord_lite.apps.images.encode_image`."""
    return Tensor(images.encode_image(unwrap(image), "png"))


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Return the content of a local file."""
    return Tensor(Path(_path(filename)).read_bytes())


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a local file."""
    Path(_path(filename)).write_bytes(unwrap(contents))


def _path(filename: Any) -> str:
    name = unwrap(filename)
    return name.decode() if isinstance(name, bytes) else str(name)


def _decoded(contents: Any, channels: int | None, dtype: object) -> Tensor:
    if (name := as_dtype(dtype).name) not in ("uint8", "uint16"):
        raise unsupported("images are decoded to uint8 and uint16; use tf.cast on the result")
    return Tensor(images.decode_image(contents, channels or 0, dtype=name))


def _check_settings(settings: dict[str, Any]) -> None:
    """Raise an error for settings that would change TensorFlow's result."""
    for name, value in settings.items():
        if name != "name":
            detail = f"{name}={value!r} is a setting of TensorFlow's own codec; leave it out"
            raise unsupported(detail)


__getattr__: Unavailable = unavailable(
    __name__,
    "use tfrecord_lite itself, or NumPy on the array that .numpy() returns",
    {
        "TFRecordCompressionType": "use tf.compat.v1.io.TFRecordCompressionType",
        "decode_bmp": "use decode_image",
        "decode_gif": "use Pillow to read animations",
        "matching_files": "use tf.io.gfile.glob",
        "tf_record_iterator": "use tf.compat.v1.io.tf_record_iterator, or tf.data.TFRecordDataset",
        "write_graph": "leave it out, as there are no graphs here",
    },
)
