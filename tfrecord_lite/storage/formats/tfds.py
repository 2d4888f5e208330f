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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import FeatureSpec, Original, RaggedFeature, Schema
from tfrecord_lite.storage.formats.natural import Shape, nearest_kind, specification


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


def is_features(document: Any) -> bool:
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
    if info is not None:
        found = _load(info)
        file_format = found.get("fileFormat", "tfrecord") if isinstance(found, Mapping) else None
        if file_format != "tfrecord":
            raise _unsupported_error(f"the data files are {file_format!r}, expected tfrecord")
    document = _load(features)
    if not is_features(document):
        raise _features_error("not a features.json, which names a feature class")
    specs: dict[str, FeatureSpec] = {}
    originals: dict[str, Original] = {}
    try:
        for tensor in _tensors("", document):
            for name, spec, original in _stored(tensor):
                specs[name] = spec
                if original is not None:
                    originals[name] = original
    except RecursionError as error:
        raise _features_error("nested too deeply") from error
    if not specs or "" in specs:
        raise _features_error("the features must have names, in a FeaturesDict or a Translation")
    return Schema(specs, originals)


def _load(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _features_error(f"not valid JSON ({type(error).__name__})") from None


def _features_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return argument_error(f"TFDS features: {detail}", key=key)


def _unsupported_error(detail: str, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.UNSUPPORTED, key=key, detail=f"TFDS features: {detail}")


# ------------------------------------------------------------------ from JSON to tensors


def _tensors(name: str, node: Any) -> Iterator[_Tensor]:
    """Yield the tensors of a feature."""
    if not isinstance(node, Mapping):
        raise _features_error("a feature must be an object", name)
    word, content = _content(name, node)
    build = _FEATURES.get(word)
    if build is None:
        raise _unsupported_error(f"the class {word!r} is not known", name)
    try:
        yield from build(name, content)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise _features_error(f"{word} lacks what the class needs", name) from None


def _content(name: str, node: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the class name of a feature, without its module, and its description."""
    full = node.get("pythonClassName", node.get("type", ""))
    if not isinstance(full, str):
        raise _features_error("the name of a class must be a string", name)
    word = full.rpartition(".")[2]
    if "type" in node:
        content = node.get("content", {})
        return word, _load(content) if isinstance(content, str) and content else content
    if "jsonFeature" in node:
        return word, _load(node["jsonFeature"]["json"])
    member = next((key for key in _MEMBERS if key in node), "")
    if word not in _FEATURES:
        # A subclass of a user, stored as the class it is derived from.
        word = _MEMBERS.get(member, word)
    return word, node.get(member, {})


def _dict(name: str, content: Any) -> Iterator[_Tensor]:
    features = content.get("features", content)
    for key, node in features.items():
        yield from _tensors(f"{name}/{key}" if name else key, node)


def _tensor(name: str, content: Any) -> Iterator[_Tensor]:
    dtype = _dtype(name, content.get("dtype", "float32"))
    shape = _shape(content.get("shape"))
    encoding = str(content.get("encoding", "none") or "none").lower()
    is_optional = bool(content.get("optional"))
    if encoding == "none":
        yield _Tensor(name, dtype, shape, is_optional=is_optional)
        return
    if encoding not in ("bytes", "zlib"):
        raise _features_error(f"unknown encoding {encoding!r}", name)
    raw = (dtype, shape) if encoding == "bytes" else None
    if shape.count(None) < 2:
        yield _Tensor(name, "string", (), encoded=raw, is_optional=is_optional)
        return
    yield _Tensor(f"{name}/shape", "int32", (len(shape),), is_optional=is_optional)
    yield _Tensor(f"{name}/value", "string", (), is_optional=is_optional)


def _label(name: str, content: Any) -> Iterator[_Tensor]:  # noqa: ARG001 - for _FEATURES
    yield _Tensor(name, "int64", ())


def _string(name: str, content: Any) -> Iterator[_Tensor]:
    is_encoded = isinstance(content, Mapping) and content.get("use_encoder")
    yield _Tensor(name, "int64", (None,)) if is_encoded else _Tensor(name, "string", ())


def _video(name: str, content: Any) -> Iterator[_Tensor]:
    frames = _shape(content["shape"])[0]
    yield _Tensor(name, "string", (frames,), sequences=1)


def _box(name: str, content: Any) -> Iterator[_Tensor]:
    content = content or {}
    shape = _shape(content.get("shape")) or (4,)
    yield _Tensor(name, _dtype(name, content.get("dtype") or "float32"), shape)


def _audio(name: str, content: Any) -> Iterator[_Tensor]:
    if content.get("lazyDecode") or content.get("lazy_decode"):
        yield _Tensor(name, "string", ())
        return
    shape = content.get("shape") or [None]
    yield from _tensor(name, {"dtype": "int64", **content, "shape": shape})


def _translation(name: str, content: Any) -> Iterator[_Tensor]:
    for language in content["languages"]:
        yield _Tensor(f"{name}/{language}" if name else str(language), "string", ())


def _languages(name: str, content: Any) -> Iterator[_Tensor]:  # noqa: ARG001 - for _FEATURES
    for part in ("language", "translation"):
        yield _Tensor(f"{name}/{part}" if name else part, "string", (None,), sequences=1)


def _sequence(name: str, content: Any) -> Iterator[_Tensor]:
    length = _dimension(content.get("length"))
    for tensor in _tensors(name, content["feature"]):
        shape = (length, *tensor.shape)
        yield replace(tensor, shape=shape, sequences=tensor.sequences + 1, encoded=None)


_FEATURES: dict[str, Callable[[str, Any], Iterator[_Tensor]]] = {
    "FeaturesDict": _dict,
    "Tensor": _tensor,
    "Scalar": _tensor,
    "ClassLabel": _label,
    "Image": _string,
    "LabeledImage": _string,
    "Text": _string,
    "Video": _video,
    "BBox": _box,
    "BBoxFeature": _box,
    "Audio": _audio,
    "Translation": _translation,
    "TranslationVariableLanguages": _languages,
    "Sequence": _sequence,
    "Dataset": _sequence,
}
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


def _shape(given: Any) -> Shape:
    """Convert a shape: a list, or an object with a list of dimensions."""
    if isinstance(given, Mapping):
        given = given.get("dimensions")
    return tuple(_dimension(dim) for dim in given or [])


def _dimension(dim: Any) -> int | None:
    """Convert a dimension: a number, or a string with one; None for null and -1."""
    number = -1 if dim is None else int(dim)
    return None if number < 0 else number


def _dtype(name: str, dtype: Any) -> str:
    """Return a dtype's name; that of strings has several forms."""
    word = "string" if dtype in ("object", "object_", "str", "bytes") else dtype
    if not isinstance(word, str):
        raise _features_error("a dtype must be a name", name)
    nearest_kind(name, word)
    return word


# ------------------------------------------------------- from tensors to specifications


def _stored(tensor: _Tensor) -> Iterator[tuple[str, FeatureSpec, Original | None]]:
    """Yield the features in which a tensor is stored."""
    if tensor.sequences >= 2:
        yield from _nested(tensor)
        return
    spec, original = specification(
        tensor.name, tensor.dtype, tensor.shape, optional=tensor.is_optional
    )
    if tensor.encoded is not None:
        original = Original(*tensor.encoded)
    yield tensor.name, spec, original


def _nested(tensor: _Tensor) -> Iterator[tuple[str, FeatureSpec, Original | None]]:
    """Yield the ragged feature of a sequence of sequences, under the name of the tensor."""
    below = tensor.shape[tensor.sequences :]
    if None in below:
        detail = f"the shape inside sequences must be known, not {list(below)}"
        raise _unsupported_error(detail, tensor.name)
    kind = nearest_kind(tensor.name, tensor.dtype)
    partitions: list[Any] = [
        RaggedFeature.RowLengths(f"{tensor.name}/ragged_row_lengths_{level}")
        for level in range(tensor.sequences - 1)
    ]
    key = f"{tensor.name}/ragged_flat_values"
    spec = RaggedFeature(kind.dtype, key, partitions, np.int64)
    is_plain = tensor.dtype in ("int64", "float32", "string") and not below
    shape = (*[None] * tensor.sequences, *below)
    yield tensor.name, spec, None if is_plain else Original(tensor.dtype, shape)
