"""Strategies for values, Examples, SequenceExamples, columns, and files of records, also damaged ones."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.message import Message
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tfrecord_lite import ExampleParser
from tfrecord_lite import schema as specs
from tfrecord_lite.extension import FrameDecoder, prepare, prepare_sequence
from tfrecord_lite.messages import Example, Feature, FeatureList, SequenceExample
from tfrecord_lite.schema import Kind
from tfrecord_lite.testing.reencode import Reencoder, chooser, mutate

__all__ = [
    "byte_strings", "columns", "damaged", "damaged_messages", "encodings", "examples", "examples_for",
    "feature_messages", "float32s", "int64s", "keys", "records", "sequence_examples", "sequence_examples_for",
]  # fmt: skip

Specs: TypeAlias = Mapping[str, specs.FeatureSpec]
Lists: TypeAlias = dict[str, tuple[Kind, list[Any]]]
"""The kind and values of each list of an Example, by key."""

MAX_ROW_LENGTH = 3
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
        Whether floats may be NaN.

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
        Whether floats may be NaN.

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
        Whether floats may be NaN.

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
        Whether there may be unknown fields, which ``DiscardUnknownFields`` removes from a parsed message.

    Returns
    -------
    bytes
        ``type(message).FromString`` parses them to the same message. (Protobuf's implementation in Python
        does not: it treats a field as unknown if its tag takes more bytes than it needs.)

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


# --- messages and columns that fit given features


def _draw_lists(draw: DrawFn, name: str, spec: Any, *, allow_nan: bool) -> Lists:
    """Draw kind and values of each list that a specification reads, by key; none if missing."""
    if isinstance(spec, specs.RawFeature):
        n_bytes = spec.n_bytes
        return {name: (Kind.BYTES, [draw(st.binary(min_size=n_bytes, max_size=n_bytes))])}
    kind = spec.kind
    lists: Lists = {}
    key = name
    match spec:
        case specs.FixedLenFeature():
            # A default without values counts as no default.
            may_be_missing = spec.default_value is not None and np.size(spec.default_value) > 0
            count = -1 if may_be_missing and draw(st.booleans()) else prod(spec.shape)
        case specs.FixedLenSequenceFeature():
            n_blocks = draw(st.integers(-1, 3))
            count = -1 if n_blocks < 0 else n_blocks * prod(spec.shape)
        case specs.VarLenFeature():
            count = draw(st.integers(-1, 4))
        case specs.SparseFeature():
            index_keys = [spec.index_key] if isinstance(spec.index_key, str) else spec.index_key
            sizes = spec.size if isinstance(spec.size, list) else [spec.size]
            one_index = st.tuples(*(st.integers(0, size - 1) for size in sizes))
            indices = draw(st.lists(one_index, max_size=4, unique=True))
            if spec.already_sorted:
                indices.sort()
            for axis, index_key in enumerate(index_keys):
                lists[index_key] = (Kind.INT64, [index[axis] for index in indices])
            key, count = spec.value_key, len(indices)
        case _:
            count = draw(st.integers(0, MAX_ROW_LENGTH))
            for partition in spec.partitions:
                if isinstance(partition, specs.RaggedFeature.UniformRowLength):
                    count *= partition.length
                    continue
                one = st.integers(0, MAX_ROW_LENGTH)
                lengths = draw(st.lists(one, min_size=count, max_size=count))
                if lengths and isinstance(partition, specs.RaggedFeature.ValueRowIds):
                    lengths[-1] = max(lengths[-1], 1)  # rows after the last value are not stored
                lists[partition.key] = (Kind.INT64, _divided(partition, lengths))
                count = sum(lengths)
            key = spec.value_key or name
    if count >= 0:
        lists[key] = (kind, draw(lists_of(kind, count, allow_nan=allow_nan)))
    return lists


def _divided(partition: Any, lengths: list[int]) -> list[int]:
    """Return the values that a partition stores for rows of these lengths."""
    ends: list[int] = np.cumsum([0, *lengths]).tolist()
    forms = {"RowSplits": ends, "RowStarts": ends[:-1], "RowLimits": ends[1:]}
    forms["RowLengths"] = lengths
    rows = [row for row, length in enumerate(lengths) for _ in range(length)]
    return forms.get(type(partition).__name__, rows)


@st.composite
def examples_for(draw: DrawFn, features: Specs, *, allow_nan: bool = True) -> Example:
    """Draw an Example that parses with the given features; optional ones are sometimes missing.

    Parameters
    ----------
    features : mapping of str to feature specification
        A dict, or a Schema.
    allow_nan : bool, optional
        Whether floats may be NaN.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import examples_for
    >>> features = {"age": FixedLenFeature([], int)}
    >>> @given(examples_for(features))
    ... def test_every_person_has_an_age(person):
    ...     parsed = parse_single_example(person.SerializeToString(), features)
    ...     assert parsed["age"].shape == ()
    >>> test_every_person_has_an_age()
    """
    prepare(features)
    example = Example()
    for name, spec in features.items():
        for key, (kind, values) in _draw_lists(draw, name, spec, allow_nan=allow_nan).items():
            put(example.features.feature[key], kind, values)
    return example


@st.composite
def columns(
    draw: DrawFn, features: Specs, min_rows: int = 1, max_rows: int = 5, *, allow_nan: bool = True
) -> dict[str, Any]:
    """Draw a batch of columns, as parsing Examples with these features returns it.

    Parameters
    ----------
    features : mapping of str to feature specification
    min_rows, max_rows : int, optional
        Number of records.
    allow_nan : bool, optional
        Whether floats may be NaN.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import assert_same, columns
    >>> features = {"name": FixedLenFeature([], bytes), "scores": RaggedFeature(float)}
    >>> @given(columns(features, allow_nan=False))
    ... def test_columns_come_back(batch):
    ...     assert_same(parse_example(encode_examples(batch, features), features), batch)
    >>> test_columns_come_back()
    """
    one = examples_for(features, allow_nan=allow_nan)
    messages = draw(st.lists(one, min_size=min_rows, max_size=max_rows))
    return ExampleParser(features)([message.SerializeToString() for message in messages])


@st.composite
def sequence_examples_for(
    draw: DrawFn,
    context_features: Specs | None = None,
    sequence_features: Specs | None = None,
    max_steps: int = 3,
    *,
    allow_nan: bool = True,
) -> SequenceExample:
    """Draw a SequenceExample that parses with the given features.

    Parameters
    ----------
    context_features, sequence_features : mapping of str to feature specification, optional
    max_steps : int, optional
        Maximum number of steps in a list.
    allow_nan : bool, optional
        Whether floats may be NaN.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import sequence_examples_for
    >>> features = {"tokens": FixedLenSequenceFeature([], int)}
    >>> @given(sequence_examples_for(sequence_features=features))
    ... def test_tokens_can_be_parsed(example):
    ...     _, lists = parse_single_sequence_example(
    ...         example.SerializeToString(), sequence_features=features
    ...     )
    ...     assert lists["tokens"].ndim == 1
    >>> test_tokens_can_be_parsed()
    """
    prepare_sequence(context_features, sequence_features)
    sequence = SequenceExample()
    if context_features:
        context = draw(examples_for(context_features, allow_nan=allow_nan))
        sequence.context.CopyFrom(context.features)
    for name, spec in (sequence_features or {}).items():
        may_be_missing = getattr(spec, "allow_missing", not isinstance(spec, specs.RawFeature))
        n_steps = draw(st.integers(-1 if may_be_missing else 0, max_steps))
        for key, kind, steps in _draw_steps(draw, name, spec, n_steps, allow_nan=allow_nan):
            features = sequence.feature_lists.feature_list[key].feature
            for values in steps:
                feature = features.add()
                has_kind: bool = draw(st.booleans())
                if values or has_kind:
                    put(feature, kind, values)
    return sequence


def _draw_steps(
    draw: DrawFn, name: str, spec: Any, n_steps: int, *, allow_nan: bool
) -> list[tuple[str, Kind, list[list[Any]]]]:
    """Draw key, kind and values per step of each list a specification reads; none if n_steps < 0."""
    if n_steps < 0:
        return []
    kind = spec.kind
    if isinstance(spec, specs.FixedLenSequenceFeature):
        one = lists_of(kind, prod(spec.shape), allow_nan=allow_nan)
        return [(name, kind, [draw(one) for _ in range(n_steps)])]
    kinds = {name: kind}
    if isinstance(spec, specs.RaggedFeature):
        kinds = {part.key: Kind.INT64 for part in spec.partitions if hasattr(part, "key")}
        kinds[spec.value_key or name] = kind
    steps = [_draw_lists(draw, name, spec, allow_nan=allow_nan) for _ in range(n_steps)]
    return [
        (key, kind, [step[key][1] if key in step else [] for step in steps])
        for key, kind in kinds.items()
    ]


# --- records


def records(
    min_size: int = 0, max_size: int = 8, max_bytes: int = 64
) -> SearchStrategy[list[bytes]]:
    """Return a strategy for lists of records, empty records included.

    Parameters
    ----------
    min_size, max_size : int, optional
        Number of records.
    max_bytes : int, optional
        Maximum size of a record.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import records
    >>> @given(records())
    ... def test_records_come_back(items):
    ...     with TFRecordWriter("some.tfrecord") as writer:
    ...         writer.write(Block.from_records(items))
    ...     assert list(TFRecordReader("some.tfrecord")) == items
    >>> test_records_come_back()
    """
    return st.lists(st.binary(max_size=max_bytes), min_size=min_size, max_size=max_size)


@st.composite
def damaged(draw: DrawFn, stream: bytes) -> bytes:
    """Draw a damaged copy of a file of records, in which every reader should find damage.

    Parameters
    ----------
    stream : bytes
        An intact file, not compressed, of at least one record.

    Returns
    -------
    bytes
        With a bit flipped, bytes inserted, changed or deleted, the end cut off or zeros added; never a file that
        only lacks whole records.

    Examples
    --------
    >>> import io
    >>> from pathlib import Path
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import damaged
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> @given(damaged(Path("names.tfrecord").read_bytes()))
    ... def test_damage_is_noticed(stream):
    ...     assert not verify(io.BytesIO(stream), compression=None).is_sound
    >>> test_damage_is_noticed()
    """

    def flipped(bit: int) -> bytes:
        out = bytearray(stream)
        out[bit // 8] ^= 1 << bit % 8
        return bytes(out)

    def spliced(at: int, n_deleted: int, inserted: bytes) -> bytes:
        return stream[:at] + inserted + stream[at + n_deleted :]

    ways = st.one_of(
        st.integers(0, 8 * len(stream) - 1).map(flipped),
        st.integers(1, len(stream) - 1).map(lambda stop: stream[:stop]),
        st.integers(1, 64).map(lambda n: stream + bytes(n)),
        st.builds(spliced, st.integers(0, len(stream)), st.integers(0, 3), st.binary(max_size=3)),
    )
    return draw(ways.filter(lambda out: not is_intact(out)))


def is_intact(stream: bytes) -> bool:
    """Return whether bytes are intact records and nothing else."""
    decoder = FrameDecoder()
    try:
        decoder.feed(stream)
        decoder.close()
    except ValueError:
        return False
    return True
