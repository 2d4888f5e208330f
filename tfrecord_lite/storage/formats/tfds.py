"""The ``features.json`` of TensorFlow Datasets: which features, and how they are stored.

=========================  ===============================================================
FeaturesDict               its features, names joined by ``/``
Tensor, Scalar             a list of the nearest kind; one string with `encoding`
ClassLabel                 an int64
Text, Image                a string: of an image, the file
Video                      the files of its images, one string each
BBox, Audio                as Tensor
Translation                a Text for each language
Sequence, Dataset          one dimension more for every feature in it; of a sequence in a
                           sequence the values, and the lengths of the inner ones, as
                           ``NAME/ragged_flat_values`` and ``NAME/ragged_row_lengths_0``
=========================  ===============================================================

The file has had several forms: today's (``pythonClassName`` and a member named by what
follows), and older ones (``type`` and ``content``, which may itself be JSON in a string).
All are read. What TFDS would do to values afterwards (decode images, decompress zlib) is
left to the user.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import (
    FeatureSpec,
    Original,
    RaggedFeature,
    Schema,
)
from tfrecord_lite.storage.formats.natural import Shape, nearest_kind, specification


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A tensor that is stored."""

    name: str
    dtype: str
    shape: Shape
    sequences: int = 0
    """How many of its first dimensions are sequences."""
    encoded: tuple[str, Shape] | None = None
    """dtype and shape of what its one string holds, if that is raw values."""
    is_optional: bool = False


def is_features(document: Any) -> bool:
    """Whether parsed JSON is a ``features.json``, of any form."""
    return isinstance(document, Mapping) and (
        "featuresDict" in document or "pythonClassName" in document or "type" in document
    )


def from_json(features: str | bytes, info: str | bytes | None = None) -> Schema:
    """Read a ``features.json``, and maybe the ``dataset_info.json`` beside it.

    Parameters
    ----------
    features : str or bytes
        The JSON of ``features.json``.
    info : str or bytes, optional
        The JSON of ``dataset_info.json``: says whether the data are TFRecord files at all.

    Returns
    -------
    Schema
        FixedLenFeature where the shape is known, RaggedFeature where the first dimension
        is not; with the original dtypes, such as uint8 and bool.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the text is no such file; ``UNSUPPORTED`` for a class of feature
        that is not known, and shapes and dtypes that cannot be read, with the feature's
        name in `key` and its class in the text; and for data in another file format.

    Examples
    --------
    >>> from_json('{"featuresDict": {"features": {"label": {"classLabel": {"numClasses": "10"}},'
    ...           ' "tokens": {"sequence": {"feature": {"tensor": {"dtype": "int32"}}}}}}}')
    Schema of 2 features
    name    specification    dtype  shape  original
    ------  ---------------  -----  -----  ---------
    label   FixedLenFeature  int64  []
    tokens  RaggedFeature    int64         int32 [?]
    """
    if info is not None:
        _check_format(_load(info))
    document = _load(features)
    if not is_features(document):
        raise _refuse("no feature class in it; is this a features.json of TFDS?")
    specs: dict[str, FeatureSpec] = {}
    originals: dict[str, Original] = {}
    try:
        for leaf in _leaves("", document):
            for name, spec, original in _stored(leaf):
                specs[name] = spec
                if original is not None:
                    originals[name] = original
    except RecursionError as error:
        raise _refuse("nested too deeply") from error
    if not specs or "" in specs:
        raise _refuse("the features must have names: a FeaturesDict, or a Translation")
    return Schema(specs, originals)


def _load(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refuse(f"not JSON: {type(error).__name__}") from None


def _refuse(detail: str, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=f"TFDS features: {detail}")


def _check_format(info: Any) -> None:
    """Refuse a data set that is kept in files of another format."""
    found = info.get("fileFormat", "tfrecord") if isinstance(info, Mapping) else None
    if found != "tfrecord":
        detail = f"TFDS: the data set's files are of format {found!r}, not tfrecord"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)


# ------------------------------------------------------------------ from JSON to tensors


def _leaves(name: str, node: Any) -> Iterator[_Leaf]:
    """Yield the tensors of a feature."""
    if not isinstance(node, Mapping):
        raise _refuse("a feature must be an object", name)
    word, content = _content(name, node)
    build = _FEATURES.get(word)
    if build is None:
        detail = f"TFDS features: how the class {word!r} is stored is not known"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    try:
        yield from build(name, content)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise _refuse(f"{word} without what it needs", name) from None


def _content(name: str, node: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the class of a feature, without its module, and what is said of it."""
    full = node.get("pythonClassName", node.get("type", ""))
    if not isinstance(full, str):
        raise _refuse("the name of a class must be a string", name)
    word = full.rpartition(".")[2]
    if "type" in node:
        content = node.get("content", {})
        return word, _load(content) if isinstance(content, str) and content else content
    if "jsonFeature" in node:
        return word, _load(node["jsonFeature"]["json"])
    member = next((key for key in _MEMBERS if key in node), "")
    if word not in _FEATURES:
        # A subclass of the user's, stored as the class it is derived from.
        word = _MEMBERS.get(member, word)
    return word, node.get(member, {})


def _dict(name: str, content: Any) -> Iterator[_Leaf]:
    features = content.get("features", content)
    for key, node in features.items():
        yield from _leaves(f"{name}/{key}" if name else key, node)


def _tensor(name: str, content: Any) -> Iterator[_Leaf]:
    dtype = _dtype(name, content.get("dtype", "float32"))
    shape = _shape(content.get("shape"))
    encoding = str(content.get("encoding", "none") or "none").lower()
    is_optional = bool(content.get("optional"))
    if encoding == "none":
        yield _Leaf(name, dtype, shape, is_optional=is_optional)
        return
    if encoding not in ("bytes", "zlib"):
        raise _refuse(f"unknown encoding {encoding!r}", name)
    raw = (dtype, shape) if encoding == "bytes" else None
    if shape.count(None) < 2:
        yield _Leaf(name, "string", (), encoded=raw, is_optional=is_optional)
        return
    yield _Leaf(f"{name}/shape", "int32", (len(shape),), is_optional=is_optional)
    yield _Leaf(f"{name}/value", "string", (), is_optional=is_optional)


def _label(name: str, content: Any) -> Iterator[_Leaf]:  # noqa: ARG001 - one of a table
    yield _Leaf(name, "int64", ())


def _string(name: str, content: Any) -> Iterator[_Leaf]:
    is_encoded = isinstance(content, Mapping) and content.get("use_encoder")
    yield _Leaf(name, "int64", (None,)) if is_encoded else _Leaf(name, "string", ())


def _video(name: str, content: Any) -> Iterator[_Leaf]:
    frames = _shape(content["shape"])[0]
    yield _Leaf(name, "string", (frames,), sequences=1)


def _box(name: str, content: Any) -> Iterator[_Leaf]:
    content = content or {}
    shape = _shape(content.get("shape")) or (4,)
    yield _Leaf(name, _dtype(name, content.get("dtype") or "float32"), shape)


def _audio(name: str, content: Any) -> Iterator[_Leaf]:
    if content.get("lazyDecode") or content.get("lazy_decode"):
        yield _Leaf(name, "string", ())
        return
    shape = content.get("shape") or [None]
    yield from _tensor(name, {"dtype": "int64", **content, "shape": shape})


def _translation(name: str, content: Any) -> Iterator[_Leaf]:
    for language in content["languages"]:
        yield _Leaf(f"{name}/{language}" if name else str(language), "string", ())


def _languages(name: str, content: Any) -> Iterator[_Leaf]:  # noqa: ARG001 - one of a table
    for part in ("language", "translation"):
        yield _Leaf(f"{name}/{part}" if name else part, "string", (None,), sequences=1)


def _sequence(name: str, content: Any) -> Iterator[_Leaf]:
    length = _dimension(content.get("length"))
    for leaf in _leaves(name, content["feature"]):
        shape = (length, *leaf.shape)
        yield replace(leaf, shape=shape, sequences=leaf.sequences + 1, encoded=None)


_FEATURES: dict[str, Callable[[str, Any], Iterator[_Leaf]]] = {
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
    """Return a shape from its list, or from an object with a list of dimensions."""
    if isinstance(given, Mapping):
        given = given.get("dimensions")
    return tuple(_dimension(dim) for dim in given or [])


def _dimension(dim: Any) -> int | None:
    """Return one dimension: a number, in a string maybe; None for null and -1."""
    number = -1 if dim is None else int(dim)
    return None if number < 0 else number


def _dtype(name: str, dtype: Any) -> str:
    """Return a dtype's name; those of strings are several."""
    word = "string" if dtype in ("object", "object_", "str", "bytes") else dtype
    if not isinstance(word, str):
        raise _refuse("a dtype must be a name", name)
    nearest_kind(name, word)
    return word


# ------------------------------------------------------- from tensors to specifications


def _stored(leaf: _Leaf) -> Iterator[tuple[str, FeatureSpec, Original | None]]:
    """Yield the features a tensor is stored in."""
    if leaf.sequences >= 2:
        yield from _nested(leaf)
        return
    spec, original = specification(leaf.name, leaf.dtype, leaf.shape, optional=leaf.is_optional)
    if leaf.encoded is not None:
        original = Original(*leaf.encoded)
    yield leaf.name, spec, original


def _nested(leaf: _Leaf) -> Iterator[tuple[str, FeatureSpec, Original | None]]:
    """Yield the one ragged feature that a sequence of sequences is, named as the tensor."""
    below = leaf.shape[leaf.sequences :]
    if None in below:
        detail = f"TFDS features: an unknown dimension inside sequences, {list(below)}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=leaf.name, detail=detail)
    kind = nearest_kind(leaf.name, leaf.dtype)
    partitions: list[Any] = [
        RaggedFeature.RowLengths(f"{leaf.name}/ragged_row_lengths_{level}")
        for level in range(leaf.sequences - 1)
    ]
    key = f"{leaf.name}/ragged_flat_values"
    spec = RaggedFeature(kind.dtype, key, partitions, np.int64)
    is_plain = leaf.dtype in ("int64", "float32", "string") and not below
    shape = (*[None] * leaf.sequences, *below)
    yield leaf.name, spec, None if is_plain else Original(leaf.dtype, shape)
