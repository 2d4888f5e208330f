"""Strategies for values, Examples and SequenceExamples, and every encoding of any message."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import Message
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.messages import Example, Feature, FeatureList, SequenceExample
from tfrecord_lite.schema import Kind
from tfrecord_lite.testing.reencode import Reencoder, chooser, mutate

_INTS = (0, 1, -1, 127, 128, 16383, 16384, 2**31, 2**56 - 1, 2**56, 2**63 - 1, -(2**63))
_KEYS = ("a", "b", "", "label", "image/encoded", "\N{SNOWMAN}", "a\0", "abcdefgh", "k" * 127)
_LENGTHS = (0, 1, 2, 5, 30, 100, 110, 118, 122, 124, 126, 127, 128, 129, 140, 300)
"""Lengths around those where a varint takes one more byte, at every level of nesting."""
_LISTS = {Kind.BYTES: "bytes_list", Kind.FLOAT: "float_list", Kind.INT64: "int64_list"}


def keys() -> SearchStrategy[str]:
    """Return a strategy for feature names: usual ones, odd ones, any text.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import keys
    >>> @given(keys())
    ... def test_a_feature_may_have_any_name(name):
    ...     assert list(decode_example(encode_example({name: 36}))) == [name]
    >>> test_a_feature_may_have_any_name()
    """
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    return st.one_of(st.sampled_from(_KEYS), anything)


def int64s() -> SearchStrategy[int]:
    """Return a strategy for int64 values, most of them where a varint takes one more byte.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import int64s
    >>> @given(int64s())
    ... def test_an_int64_comes_back(number):
    ...     assert decode_example(encode_example({"age": number}))["age"].tolist() == [number]
    >>> test_an_int64_comes_back()
    """
    return st.one_of(
        st.sampled_from(_INTS),
        st.integers(0, 200),
        st.integers(0, 62).map(lambda n: 1 << n),
        st.integers(0, 63).map(lambda n: (1 << n) - 1),
        st.integers(-(2**63), 2**63 - 1),
    )


def byte_strings() -> SearchStrategy[bytes]:
    """Return a strategy for byte strings, many where the length takes one more byte.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import byte_strings
    >>> @given(byte_strings())
    ... def test_any_bytes_can_be_stored(value):
    ...     assert decode_example(encode_example({"name": value}))["name"].tolist() == [value]
    >>> test_any_bytes_can_be_stored()
    """
    return st.one_of(st.binary(max_size=12), st.sampled_from(_LENGTHS).map(lambda n: b"\xff" * n))


def float32s(*, allow_nan: bool = True) -> SearchStrategy[float]:
    """Return a strategy for float32 values, as Python floats.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import float32s
    >>> @given(float32s(allow_nan=False))
    ... def test_a_float32_comes_back(number):
    ...     assert decode_example(encode_example({"score": number}))["score"].tolist() == [number]
    >>> test_a_float32_comes_back()
    """
    return st.floats(width=32, allow_nan=allow_nan)


def values_of(kind: Kind, *, allow_nan: bool = True) -> SearchStrategy[Any]:
    """Return a strategy for values of a kind."""
    if kind is Kind.BYTES:
        return st.binary(max_size=12)
    return int64s() if kind is Kind.INT64 else float32s(allow_nan=allow_nan)


def lists_of(kind: Kind, count: int, *, allow_nan: bool = True) -> SearchStrategy[list[Any]]:
    """Return a strategy for lists of that many values of a kind."""
    return st.lists(values_of(kind, allow_nan=allow_nan), min_size=count, max_size=count)


def array_of(kind: Kind, values: list[Any]) -> AnyArray:
    """Return values of a kind as an array of its dtype, shape (n,)."""
    array: AnyArray = np.empty(len(values), kind.dtype)
    array[:] = values
    return array


def put(feature: Feature, kind: Kind, values: list[Any]) -> None:
    """Give a Feature its values, and its kind even if there are none."""
    items = getattr(feature, _LISTS[kind])
    items.SetInParent()
    items.value.extend(values)


@st.composite
def feature_messages(draw: DrawFn, max_values: int = 6, *, allow_nan: bool = True) -> Feature:
    """Draw a Feature of any kind, or none, with any number of values.

    Parameters
    ----------
    max_values : int, optional
        Maximum number of values.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import feature_messages
    >>> @given(feature_messages(max_values=2))
    ... def test_a_feature_has_at_most_two_values(feature):
    ...     kind = feature.WhichOneof("kind")
    ...     assert kind is None or len(getattr(feature, kind).value) <= 2
    >>> test_a_feature_has_at_most_two_values()
    """
    feature = Feature()
    kind = draw(st.sampled_from([None, *Kind]))
    if kind is not None:
        one = values_of(kind, allow_nan=allow_nan)
        put(feature, kind, draw(st.lists(one, max_size=max_values)))
    return feature


@st.composite
def examples(draw: DrawFn, max_features: int = 5, *, allow_nan: bool = True) -> Example:
    """Draw an Example of any features.

    Parameters
    ----------
    max_features : int, optional
        Maximum number of features.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import examples
    >>> @given(examples())
    ... def test_only_features_of_the_example_are_decoded(example):
    ...     assert len(decode_example(example.SerializeToString())) <= len(example.features.feature)
    >>> test_only_features_of_the_example_are_decoded()
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
        Maximum number of features in the context, and of feature lists.
    max_steps : int, optional
        Maximum number of steps in a list.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import sequence_examples
    >>> @given(sequence_examples())
    ... def test_a_sequence_example_is_decoded_with_all_its_lists(example):
    ...     row = decode_sequence_example(example.SerializeToString())
    ...     assert row["feature_lists"].keys() == set(example.feature_lists.feature_list)
    >>> test_a_sequence_example_is_decoded_with_all_its_lists()
    """
    sequence = SequenceExample()
    context = draw(examples(max_features, allow_nan=allow_nan))
    if context.features.feature:
        sequence.context.CopyFrom(context.features)
    steps = st.lists(feature_messages(2, allow_nan=allow_nan), max_size=max_steps)
    for key, features in draw(st.dictionaries(keys(), steps, max_size=max_features)).items():
        sequence.feature_lists.feature_list[key].CopyFrom(FeatureList(feature=features))
    return sequence


@st.composite
def encodings(draw: DrawFn, message: Message, *, unknown_fields: bool = True) -> bytes:
    """Draw a legal encoding of a message: the same message, written in another way.

    Repeated numbers packed and unpacked, messages in parts, fields in another order or
    overruled by later ones, unknown fields, and numbers in more bytes than they need; see
    :mod:`tfrecord_lite.testing.reencode`.

    Parameters
    ----------
    message : Message
        Of any class, proto2 or proto3.
    unknown_fields : bool, optional
        Whether there may be unknown fields. The protobuf runtime keeps them, and compares
        them with the message; ``DiscardUnknownFields`` removes them from a parsed one.

    Returns
    -------
    bytes
        ``type(message).FromString`` parses them to the same message. (Not with protobuf's
        implementation in Python, which treats a field as unknown if its tag takes more
        bytes than it needs.)

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import encodings
    >>> ada = Example.FromString(encode_example({"name": "Ada", "age": 36}))
    >>> @given(encodings(ada))
    ... def test_all_encodings_of_a_person_are_read_alike(message):
    ...     assert decode_example(message)["age"].tolist() == [36]
    >>> test_all_encodings_of_a_person_are_read_alike()
    """
    oddity = draw(st.sampled_from([20, 6, 3]))
    reencoder = Reencoder(chooser(draw), oddity, with_unknown_fields=unknown_fields)
    return reencoder.message(message.SerializeToString(deterministic=True), message.DESCRIPTOR)


@st.composite
def damaged_messages(draw: DrawFn, message: Message) -> bytes:
    """Draw an encoding of a message, damaged in one or two places; it may still be legal.

    Examples
    --------
    >>> from hypothesis import given, strategies as st
    >>> from tfrecord_lite.testing import damaged_messages, examples
    >>> @given(st.data())
    ... def test_a_damaged_example_is_decoded_or_rejected(data):
    ...     message = data.draw(damaged_messages(data.draw(examples())))
    ...     try:
    ...         decode_example(message)
    ...     except InvalidArgumentError as error:
    ...         assert error.reason is Reason.MALFORMED
    >>> test_a_damaged_example_is_decoded_or_rejected()
    """
    plain = message.SerializeToString(deterministic=True)
    out = draw(st.one_of(st.just(plain), encodings(message)))
    for _ in range(draw(st.integers(1, 2))):
        out = mutate(chooser(draw), out, plain)
    return out
