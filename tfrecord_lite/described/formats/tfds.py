"""The ``features.json`` of TensorFlow Datasets: its features, and how they are stored.

Names are joined by ``/``. A tensor is a list of the nearest kind, with an encoding one string of bytes, with several
unknown dimensions ``NAME/value`` and ``NAME/shape``. A Sequence or Dataset is one more dimension for each feature in it;
a sequence of sequences is ``NAME/ragged_flat_values``, the values, and ``NAME/ragged_row_lengths_0``, the lengths of the
inner ones.

The file has had several forms, all of which are read: today's (``pythonClassName`` and a member
named after the class), and older ones (``type`` and ``content``, which may be JSON in a string).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tfrecord_lite.described.formats import nearest_kind, specification
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import Kind, Original, Schema, SchemaItem
from tfrecord_lite.schema.features import FixedLenFeature, Partition, RaggedFeature, RawFeature
from tfrecord_lite.schema.types import Shape


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    dtype: str
    shape: Shape
    sequences: int = 0
    """Number of its leading dimensions that are sequences."""
    encoding: str = "none"
    """For numbers in strings, one for each tensor: ``"bytes"`` or ``"zlib"``."""
    is_optional: bool = False
    is_text: bool = False
    trait: Any = None
    """The number of classes of a label; the format of a bounding box."""


class Features(NamedTuple):
    """What a ``features.json`` says."""

    schema: Schema
    refused: dict[str, InvalidArgumentError]
    """The features that cannot be read, each with the reason."""
    texts: list[str]
    num_classes: dict[str, int]
    bbox_formats: dict[str, str]


def is_features(document: object) -> bool:
    """Return whether parsed JSON is a ``features.json``, in any of its forms."""
    keys = ("featuresDict", "pythonClassName", "type")
    return isinstance(document, Mapping) and any(key in document for key in keys)


def from_json(features: str | bytes, info: str | bytes | None = None) -> Features:
    """Read a ``features.json``; `info`, the ``dataset_info.json``, has the data's file format.

    >>> from_json('{"featuresDict": {"features": {"label": {"classLabel": {"numClasses": "10"}},'
    ...           ' "tokens": {"sequence": {"feature": {"tensor": {"dtype": "int32"}}}}}}}').schema
    Schema of 2 features
    name    specification    dtype  shape  original
    ------  ---------------  -----  -----  ---------
    label   FixedLenFeature  int64  []
    tokens  RaggedFeature    int64         int32 [?]
    """
    refused: dict[str, InvalidArgumentError] = {}
    try:
        document = {} if info is None else json.loads(info)
        file_format = document.get("fileFormat") if isinstance(document, Mapping) else None
        document = json.loads(features)
        is_valid = is_features(document)
        tensors = list(_tensors("", document, refused)) if is_valid else []
    except InvalidArgumentError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        detail = f"not a features.json of TFDS ({type(error).__name__}: {error})"
        raise argument_error(detail) from None
    if file_format not in (None, "tfrecord"):
        raise _unsupported_error(f"the data files are {file_format!r}, expected tfrecord")
    if not is_valid:
        raise argument_error("TFDS features: not a features.json, which names a feature class")
    items: dict[str, SchemaItem] = {}
    for tensor in tensors:
        try:
            items |= Schema.of_items({tensor.name: _stored(tensor)}).to_items()
        except InvalidArgumentError as error:
            refused[tensor.name] = error
    if refused and not items:
        raise next(iter(refused.values()))
    if not items or "" in items:
        detail = "the features must have names, in a FeaturesDict or a Translation"
        raise argument_error(f"TFDS features: {detail}")
    traits = {tensor.name: tensor.trait for tensor in tensors}
    counts = {name: trait for name, trait in traits.items() if isinstance(trait, int)}
    words = {name: trait for name, trait in traits.items() if isinstance(trait, str)}
    texts = [tensor.name for tensor in tensors if tensor.is_text and tensor.name in items]
    return Features(Schema.of_items(items), refused, texts, counts, words)


def _unsupported_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.UNSUPPORTED, key=key, detail=f"TFDS features: {detail}")


# ------------------------------------------------------------------ from JSON to tensors


def _tensors(  # noqa: C901, PLR0912 - a case for each class
    name: str, node: Mapping[str, Any], refused: dict[str, InvalidArgumentError]
) -> Iterator[_Tensor]:
    """Yield the tensors of a feature; add to `refused` the members that cannot be read."""
    prefix = f"{name}/" if name else ""
    word, content = _class_and_content(node)
    content = content or {}
    match word:
        case "FeaturesDict":
            for key, below in content.get("features", content).items():
                try:
                    yield from list(_tensors(prefix + key, below, refused))
                except InvalidArgumentError as error:
                    refused[prefix + key] = error
        case "Tensor" | "Scalar":
            yield from _tensor(name, content)
        case "ClassLabel":
            n_classes = content.get("numClasses") or content.get("num_classes")
            yield _Tensor(name, "int64", (), trait=n_classes and int(n_classes))
        case "Image" | "LabeledImage":
            yield _Tensor(name, "string", ())
        case "Text":
            yield _Tensor(name, "string", (), is_text=True)
        case "Video":
            yield _Tensor(name, "string", _shape(content["shape"])[:1], sequences=1)
        case "BBox" | "BBoxFeature":
            shape = _shape(content.get("shape")) or (4,)
            dtype = _dtype(content.get("dtype") or "float32")
            yield _Tensor(name, dtype, shape, trait=content.get("bboxFormat"))
        case "Audio" if content.get("lazyDecode") or content.get("lazy_decode"):
            yield _Tensor(name, "string", ())
        case "Audio":
            of_samples = {"dtype": "int64", **content, "shape": content.get("shape") or [None]}
            yield from _tensor(name, of_samples)
        case "Translation":
            for language in content["languages"]:
                yield _Tensor(f"{prefix}{language}", "string", (), is_text=True)
        case "TranslationVariableLanguages":
            for part in ("language", "translation"):
                yield _Tensor(f"{prefix}{part}", "string", (None,), sequences=1, is_text=True)
        case "Sequence" | "Dataset":
            length = _dimension(content.get("length"))
            for tensor in _tensors(name, content["feature"], refused):
                yield replace(tensor, shape=(length, *tensor.shape), sequences=tensor.sequences + 1)
        case _:
            raise _unsupported_error(f"the class {word!r} is not known", name)


_PLAIN = ["FeaturesDict", "Tensor", "ClassLabel", "Image", "Video", "Audio"]
_PLAIN += ["Text", "Translation", "Sequence"]
_MEMBERS = {name[0].lower() + name[1:]: name for name in _PLAIN} | {"boundingBox": "BBoxFeature"}


def _class_and_content(node: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the class name of a feature, without its module, and its description."""
    word = node.get("pythonClassName", node.get("type", "")).rpartition(".")[2]
    if "type" in node:
        content = node.get("content", {})
        return word, json.loads(content) if isinstance(content, str) and content else content
    if "jsonFeature" in node:
        return word, json.loads(node["jsonFeature"]["json"])
    member = next((key for key in _MEMBERS if key in node), "")
    # A class of a user's is stored as the one that it is derived from.
    known = word if word == "TranslationVariableLanguages" else _MEMBERS.get(member, word)
    return known, node.get(member, {})


def _tensor(name: str, content: Mapping[str, Any]) -> Iterator[_Tensor]:
    encoding = str(content.get("encoding") or "none").lower()
    if encoding not in ("none", "bytes", "zlib"):
        raise argument_error(f"TFDS features: unknown encoding {encoding!r}", key=name)
    dtype, shape = _dtype(content.get("dtype", "float32")), _shape(content.get("shape"))
    is_optional = bool(content.get("optional"))
    yield _Tensor(name, dtype, shape, encoding=encoding, is_optional=is_optional)


def _shape(dims: Any) -> Shape:
    if isinstance(dims, Mapping):
        dims = dims.get("dimensions")
    return tuple(_dimension(dim) for dim in dims or [])


def _dimension(dim: Any) -> int | None:
    number = -1 if dim is None else int(dim)
    return None if number < 0 else number


def _dtype(dtype: str) -> str:
    """Return a dtype's name; for strings it has several forms."""
    return "string" if dtype in ("object", "object_", "str", "bytes") else dtype


# ------------------------------------------------------- from tensors to specifications


def _stored(tensor: _Tensor) -> SchemaItem:
    name, dtype, is_optional = tensor.name, tensor.dtype, tensor.is_optional
    outer, inner = tensor.shape[: tensor.sequences], tensor.shape[tensor.sequences :]
    is_encoded = tensor.encoding != "none"
    if len(outer) < 2 and not is_encoded:
        return specification(name, dtype, tensor.shape, optional=is_optional)
    if inner.count(None) > (is_encoded and (1 if outer else len(inner))):
        detail = f"the shape inside sequences must be known, not {list(inner)}"
        raise _unsupported_error(detail, name)
    compression = "zlib" if tensor.encoding == "zlib" else None
    original = Original(dtype, (*[None] * len(outer), *inner), compression=compression)
    if inner.count(None) > 1:
        return SchemaItem(RawFeature(inner, dtype, f"{name}/value", f"{name}/shape"), original)
    if not outer and is_optional and None not in inner:
        return SchemaItem(RaggedFeature(bytes), replace(original, missing=True))
    if not outer:
        return SchemaItem(FixedLenFeature((), bytes, b"" if is_optional else None), original)
    kind = Kind.BYTES if is_encoded else nearest_kind(name, dtype)
    key: str | None = None
    partitions: list[Partition] = []
    if len(outer) > 1:
        key = f"{name}/ragged_flat_values"
        levels = range(len(outer) - 1)
        partitions += [RaggedFeature.RowLengths(f"{name}/ragged_row_lengths_{i}") for i in levels]
        if not is_encoded:  # row lengths count items, not numbers
            partitions += [RaggedFeature.UniformRowLength(n) for n in inner if n is not None]
    spec = RaggedFeature(kind.dtype, key, partitions, np.int64)
    is_plain = not is_encoded and dtype == kind.label and not inner
    return SchemaItem(spec, None if is_plain else original)
