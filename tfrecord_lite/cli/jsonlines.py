"""A record as one JSON object.

======================  ==============================================================
Example                 ``{"name": [value, ...], ...}``; null if no kind is set
SequenceExample         ``{"context": {...}, "feature_lists": {"name": [[...], ...]}}``
ExampleListWithContext  ``{"context": {...}, "examples": [{...}, ...]}``
any other record        ``{"text": "..."}`` or ``{"base64": "..."}``
======================  ==============================================================

A value is a number; or a string, for bytes that are text; or ``{"base64": "..."}`` for other
bytes; or ``{"float": "NaN"}`` (``Infinity``, ``-Infinity``) for a float that JSON cannot
express. A float always has a point or an exponent, an int64 never, and reading it as float32
gives the value stored. So nothing is lost except the kind of a list without values, and
the payload of a NaN.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tfrecord_lite.example.content import ExampleList, is_sequence
from tfrecord_lite.example.outline import float_texts, values_of
from tfrecord_lite.sniff import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfrecord_lite.example.content import Content
    from tfrecord_lite.messages import Feature

_NOT_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_of(content: Content) -> dict[str, Any]:
    """Return the object that stands for a record."""
    message = content.message
    if message is None:
        value = _bytes(content.record)
        return value if isinstance(value, dict) else {"text": value}
    if isinstance(message, ExampleList):
        examples = [_features(example.features.feature) for example in message.examples]
        return {"context": _features(message.context.features.feature), "examples": examples}
    if is_sequence(message):
        lists = message.feature_lists.feature_list
        return {
            "context": _features(message.context.feature),
            "feature_lists": {
                name: [_feature(step) for step in lists[name].feature] for name in sorted(lists)
            },
        }
    return _features(message.features.feature)


def _features(features: Mapping[str, Feature]) -> dict[str, Any]:
    return {name: _feature(features[name]) for name in sorted(features)}


def _feature(feature: Feature) -> list[Any] | None:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "bytes_list":
        return [_bytes(value) for value in feature.bytes_list.value]
    if kind == "float_list":
        texts = float_texts(feature.float_list.value)
        return [{"float": _NOT_JSON[text]} if text in _NOT_JSON else float(text) for text in texts]
    return list(values_of(feature))


def _bytes(data: bytes) -> str | dict[str, str]:
    text = text_of(data)
    return {"base64": base64.b64encode(data).decode()} if text is None else text
