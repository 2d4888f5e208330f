"""Strategies for messages: Examples, SequenceExamples, and every encoding of any message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tfrecord_lite.messages import Example, Feature, FeatureList, SequenceExample
from tfrecord_lite.testing.damage import mutate
from tfrecord_lite.testing.reencode import Scribe

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from hypothesis.strategies import DrawFn, SearchStrategy

    from tfrecord_lite.testing.reencode import Below

__all__ = [
    "byte_strings",
    "chooser",
    "damaged_messages",
    "encodings",
    "examples",
    "feature_messages",
    "float32s",
    "int64s",
    "keys",
    "sequence_examples",
]

_INTS = (0, 1, -1, 127, 128, 16383, 16384, 2**31, 2**56 - 1, 2**56, 2**63 - 1, -(2**63))
_KEYS = ("a", "b", "", "label", "image/encoded", "\N{SNOWMAN}", "a\0", "abcdefgh", "k" * 127)
_LENGTHS = (0, 1, 2, 5, 30, 100, 110, 118, 122, 124, 126, 127, 128, 129, 140, 300)
"""On both sides of where a length takes a byte more, at every level of nesting."""


def chooser(draw: DrawFn) -> Below:
    """Return a source of decisions that Hypothesis controls, for :class:`Scribe`."""
    return lambda n: draw(st.integers(0, n - 1))


def keys() -> SearchStrategy[str]:
    """Return a strategy for names of features: usual ones, odd ones, any text."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    return st.one_of(st.sampled_from(_KEYS), anything)


def int64s() -> SearchStrategy[int]:
    """Return a strategy for int64, most of them where a varint takes one byte more."""
    return st.one_of(
        st.sampled_from(_INTS),
        st.integers(0, 200),
        st.integers(0, 62).map(lambda n: 1 << n),
        st.integers(0, 63).map(lambda n: (1 << n) - 1),
        st.integers(-(2**63), 2**63 - 1),
    )


def byte_strings() -> SearchStrategy[bytes]:
    """Return a strategy for byte strings, many where a length takes one byte more."""
    alike = st.sampled_from(_LENGTHS).map(lambda n: b"\xff" * n)
    return st.one_of(st.binary(max_size=12), alike)


def float32s(*, allow_nan: bool = True) -> SearchStrategy[float]:
    """Return a strategy for float32, as Python floats."""
    return st.floats(width=32, allow_nan=allow_nan)


@st.composite
def feature_messages(draw: DrawFn, max_values: int = 6, *, allow_nan: bool = True) -> Feature:
    """Draw a Feature: of any kind, or none; any number of values, or none."""
    feature = Feature()
    values: list[Any]
    match draw(st.sampled_from([None, "bytes_list", "float_list", "int64_list"])):
        case "bytes_list":
            values = draw(st.lists(st.binary(max_size=12), max_size=max_values))
            feature.bytes_list.value.extend(values)
            feature.bytes_list.SetInParent()
        case "float_list":
            values = draw(st.lists(float32s(allow_nan=allow_nan), max_size=max_values))
            feature.float_list.value.extend(values)
            feature.float_list.SetInParent()
        case "int64_list":
            feature.int64_list.value.extend(draw(st.lists(int64s(), max_size=max_values)))
            feature.int64_list.SetInParent()
    return feature


@st.composite
def examples(draw: DrawFn, max_features: int = 5, *, allow_nan: bool = True) -> Example:
    """Draw an Example of any features.

    Parameters
    ----------
    max_features : int, optional
        How many features at the most.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.
    """
    features = st.dictionaries(keys(), feature_messages(allow_nan=allow_nan), max_size=max_features)
    example = Example()
    for key, feature in draw(features).items():
        example.features.feature[key].CopyFrom(feature)
    return example


@st.composite
def sequence_examples(
    draw: DrawFn, max_features: int = 3, max_steps: int = 4, *, allow_nan: bool = True
) -> SequenceExample:
    """Draw a SequenceExample of any context and feature lists, which may differ in length.

    Parameters
    ----------
    max_features : int, optional
        How many features at the most, in the context and in the lists.
    max_steps : int, optional
        Longest feature list.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.
    """
    sequence = SequenceExample()
    context = draw(examples(max_features, allow_nan=allow_nan))
    if context.features.feature:
        sequence.context.CopyFrom(context.features)
    steps = st.lists(feature_messages(2, allow_nan=allow_nan), max_size=max_steps)
    for key, features in draw(st.dictionaries(keys(), steps, max_size=max_features)).items():
        feature_list = FeatureList(feature=features)
        sequence.feature_lists.feature_list[key].CopyFrom(feature_list)
    return sequence


@st.composite
def encodings(draw: DrawFn, message: Message, *, unknown_fields: bool = True) -> bytes:
    """Draw a legal encoding of a message: the same, written in another way.

    Packed and unpacked, in parts, in another order, with fields that are overruled by
    later ones, fields that nobody knows, and numbers in more bytes than they need; see
    :mod:`tfrecord_lite.testing.reencode`.

    Parameters
    ----------
    message : Message
        Of any class, proto2 or proto3.
    unknown_fields : bool, optional
        Whether there may be some. The runtime keeps them, and counts them when it compares
        messages; ``DiscardUnknownFields`` takes them out of a parsed one.

    Returns
    -------
    bytes
        ``type(message).FromString`` makes the same of them; not that of protobuf's
        implementation in Python, to which a field is unknown if its tag takes more bytes
        than it needs.
    """
    oddity = draw(st.sampled_from([20, 6, 3]))
    scribe = Scribe(chooser(draw), oddity, with_unknown_fields=unknown_fields)
    return scribe.message(message.SerializeToString(deterministic=True), message.DESCRIPTOR)


@st.composite
def damaged_messages(draw: DrawFn, message: Message) -> bytes:
    """Draw an encoding of a message with one or two damages; it may still be legal."""
    plain = message.SerializeToString(deterministic=True)
    out = draw(st.one_of(st.just(plain), encodings(message)))
    for _ in range(draw(st.integers(1, 2))):
        out = mutate(chooser(draw), out, plain)
    return out
