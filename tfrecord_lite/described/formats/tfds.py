"""The ``features.json`` of TensorFlow Datasets: its features, and how they are stored.

=========================  ===============================================================
FeaturesDict               its features, with names joined by ``/``
Tensor, Scalar             a list of the nearest kind; with `encoding` one string
ClassLabel                 an int64
Text, Image                a string: the text, or the image file
Video                      the image files of its frames, one string each
BBox, Audio                as Tensor
Translation                a Text for each language
Sequence, Dataset          one more dimension for each feature in it; a sequence of sequences
                           as ``NAME/ragged_flat_values``, the values, and
                           ``NAME/ragged_row_lengths_0``, the lengths of the inner ones
=========================  ===============================================================

The file has had several forms, all of which are read: today's (``pythonClassName`` and a member
named after the class), and older ones (``type`` and ``content``, which may be JSON in a string).
What TFDS does with the values afterwards (decode images, decompress zlib) is left to the user.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfrecord_lite.described.formats import Shape, nearest_kind, specification
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import Original, RaggedFeature, Schema, SchemaItem


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of the data set, by the name it is stored under."""

    name: str
    dtype: str
    shape: Shape
    sequences: int = 0
    """Number of its leading dimensions that are sequences."""
    encoded: tuple[str, Shape] | None = None
    """dtype and shape of the raw values in its single string, if it has them."""
    is_optional: bool = False


def is_features(document: object) -> bool:
    """Return whether parsed JSON is a ``features.json``, in any of its forms."""
    return isinstance(document, Mapping) and (
        "featuresDict" in document or "pythonClassName" in document or "type" in document
    )


def from_json(features: str | bytes, info: str | bytes | None = None) -> Schema:
    """Read a ``features.json``; `info`, the ``dataset_info.json``, tells the data's file format.

    >>> from_json('{"featuresDict": {"features": {"label": {"classLabel": {"numClasses": "10"}},'
    ...           ' "tokens": {"sequence": {"feature": {"tensor": {"dtype": "int32"}}}}}}}')
    Schema of 2 features
    name    specification    dtype  shape  original
    ------  ---------------  -----  -----  ---------
    label   FixedLenFeature  int64  []
    tokens  RaggedFeature    int64         int32 [?]
    """
    try:
        found = {} if info is None else json.loads(info)
        file_format = found.get("fileFormat", "tfrecord") if isinstance(found, Mapping) else None
        document = json.loads(features)
        is_valid = is_features(document)
        items = dict(map(_stored, _tensors("", document))) if is_valid else {}
    except InvalidArgumentError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        detail = f"not a features.json of TFDS ({type(error).__name__}: {error})"
        raise argument_error(detail) from None
    if file_format != "tfrecord":
        raise _unsupported_error(f"the data files are {file_format!r}, expected tfrecord")
    if not is_valid:
        raise argument_error("TFDS features: not a features.json, which names a feature class")
    if not items or "" in items:
        detail = "the features must have names, in a FeaturesDict or a Translation"
        raise argument_error(f"TFDS features: {detail}")
    return Schema.of_items(items)


def _unsupported_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.UNSUPPORTED, key=key, detail=f"TFDS features: {detail}")


# ------------------------------------------------------------------ from JSON to tensors


def _tensors(name: str, node: Mapping[str, Any]) -> Iterator[_Tensor]:
    """Yield the tensors of a feature."""
    prefix = f"{name}/" if name else ""
    word, content = _class_and_content(node)
    match word:
        case "FeaturesDict":
            for key, below in content.get("features", content).items():
                yield from _tensors(prefix + key, below)
        case "Tensor" | "Scalar":
            yield from _tensor(name, content)
        case "ClassLabel":
            yield _Tensor(name, "int64", ())
        case "Image" | "LabeledImage" | "Text":
            yield _Tensor(name, "string", ())
        case "Video":
            yield _Tensor(name, "string", _shape(content["shape"])[:1], sequences=1)
        case "BBox" | "BBoxFeature":
            content = content or {}
            shape = _shape(content.get("shape")) or (4,)
            yield _Tensor(name, _dtype(name, content.get("dtype") or "float32"), shape)
        case "Audio" if content.get("lazyDecode") or content.get("lazy_decode"):
            yield _Tensor(name, "string", ())
        case "Audio":
            given = content.get("shape") or [None]
            yield from _tensor(name, {"dtype": "int64", **content, "shape": given})
        case "Translation":
            for language in content["languages"]:
                yield _Tensor(f"{prefix}{language}", "string", ())
        case "TranslationVariableLanguages":
            for part in ("language", "translation"):
                yield _Tensor(f"{prefix}{part}", "string", (None,), sequences=1)
        case "Sequence" | "Dataset":
            length = _dimension(content.get("length"))
            for tensor in _tensors(name, content["feature"]):
                shape, sequences = (length, *tensor.shape), tensor.sequences + 1
                yield replace(tensor, shape=shape, sequences=sequences, encoded=None)
        case _:
            raise _unsupported_error(f"the class {word!r} is not known", name)


_MEMBERS = {
    "featuresDict": "FeaturesDict",
    "tensor": "Tensor",
    "classLabel": "ClassLabel",
    "image": "Image",
    "video": "Video",
    "audio": "Audio",
    "boundingBox": "BBoxFeature",
    "text": "Text",
    "translation": "Translation",
    "sequence": "Sequence",
}


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
    dtype = _dtype(name, content.get("dtype", "float32"))
    shape = _shape(content.get("shape"))
    encoding = str(content.get("encoding", "none") or "none").lower()
    is_optional = bool(content.get("optional"))
    if encoding == "none":
        yield _Tensor(name, dtype, shape, is_optional=is_optional)
    elif encoding not in ("bytes", "zlib"):
        raise argument_error(f"TFDS features: unknown encoding {encoding!r}", key=name)
    elif shape.count(None) < 2:
        raw = (dtype, shape) if encoding == "bytes" else None
        yield _Tensor(name, "string", (), encoded=raw, is_optional=is_optional)
    else:
        yield _Tensor(f"{name}/shape", "int32", (len(shape),), is_optional=is_optional)
        yield _Tensor(f"{name}/value", "string", (), is_optional=is_optional)


def _shape(given: Any) -> Shape:
    """Convert a shape: a list, or an object with a list of dimensions."""
    if isinstance(given, Mapping):
        given = given.get("dimensions")
    return tuple(_dimension(dim) for dim in given or [])


def _dimension(dim: Any) -> int | None:
    """Convert a dimension: a number, or a string with one; None for null and -1."""
    number = -1 if dim is None else int(dim)
    return None if number < 0 else number


def _dtype(name: str, dtype: str) -> str:
    """Return a dtype's name; that of strings has several forms."""
    word = "string" if dtype in ("object", "object_", "str", "bytes") else dtype
    nearest_kind(name, word)
    return word


# ------------------------------------------------------- from tensors to specifications


def _stored(tensor: _Tensor) -> tuple[str, SchemaItem]:
    """Return the feature in which a tensor is stored, under its name."""
    name = tensor.name
    if tensor.sequences < 2:
        item = specification(name, tensor.dtype, tensor.shape, optional=tensor.is_optional)
        raw = tensor.encoded
        return name, item if raw is None else item._replace(original=Original(*raw))
    below = tensor.shape[tensor.sequences :]
    if None in below:
        detail = f"the shape inside sequences must be known, not {list(below)}"
        raise _unsupported_error(detail, name)
    kind = nearest_kind(name, tensor.dtype)
    partitions = [
        RaggedFeature.RowLengths(f"{name}/ragged_row_lengths_{level}")
        for level in range(tensor.sequences - 1)
    ]
    spec = RaggedFeature(kind.dtype, f"{name}/ragged_flat_values", partitions, np.int64)
    is_plain = tensor.dtype == kind.label and not below
    shape = (*[None] * tensor.sequences, *below)
    return name, SchemaItem(spec, None if is_plain else Original(tensor.dtype, shape))
