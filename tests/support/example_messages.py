"""Examples and SequenceExamples in every legal encoding, and what decodes them.

The encoder takes its decisions from a function ``below(n)``, which returns a
number from 0 to n - 1: a random generator's, or one that draws from Hypothesis.
0 is always the plain choice, so that a counterexample shrinks to the plainest
message that still shows it.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Many
from typing import Any, Literal, NamedTuple, TypeAlias
from unittest import mock

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError
from hypothesis import strategies as st

from tests.support import reference_example as reference
from tests.support.reference_example import (
    ABSENT,
    BYTES,
    FLOAT,
    INT64,
    LEN,
    NO_KIND,
    Dialect,
    Feature,
    RejectedError,
    Sequence,
)
from tfrecord_lite import testing
from tfrecord_lite.arrays import ByteItems, ByteRanges
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.decode import batch as engine_batch
from tfrecord_lite.example.decode.batch import LayoutMemory, MessageBatch
from tfrecord_lite.example.decode.layout import LayoutMatch
from tfrecord_lite.example.decode.plain import PlainMatch
from tfrecord_lite.example.sequence.batch import SequenceMessageBatch
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.schema import Kind
from tfrecord_lite.testing.reencode import UNKNOWN_NUMBERS, Below, Reencoder, len_field, mutate
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.scalar import varint

# What the tests take from here, and the package has for its users too.
__all__ = ["UNKNOWN_NUMBERS", "Below", "len_field", "mutate", "varint"]

Features: TypeAlias = dict[bytes, Feature]

SPARE = 512


def plain_list(kind: int, values: Many[int] | Many[bytes]) -> bytes:
    if not values:
        return b""
    match kind:
        case reference.BYTES:
            return b"".join(len_field(1, v) for v in values if isinstance(v, bytes))
        case reference.FLOAT:
            numbers = [v.to_bytes(4, "little") for v in values if isinstance(v, int)]
        case _:
            numbers = [varint(v) for v in values if isinstance(v, int)]
    return len_field(1, b"".join(numbers))


def plain_feature(feature: Feature) -> bytes:
    if feature.kind == NO_KIND:
        return b""
    return len_field(feature.kind, plain_list(feature.kind, feature.values))


def plain_entry(key: bytes, feature: Feature) -> bytes:
    return len_field(1, len_field(1, key) + len_field(2, plain_feature(feature)))


def plain(features: Features) -> bytes:
    return len_field(1, b"".join(plain_entry(*item) for item in features.items()))


class AnyReencoder(Reencoder):
    """Writes also map entries with an unknown field, which the runtime puts aside, whole."""

    def _element(self, known: Any, fields: list[Any]) -> list[bytes]:
        found = super()._element(known, fields)
        of = known.message_type
        while of.GetOptions().map_entry and self.sometimes():
            key = [self._value(*field) for field in fields if field.number == 1]
            parts = [*key, self.filled(of.fields_by_number[2])]
            parts.insert(self.below(3), self.unknown({1: {LEN}, 2: {LEN}}))
            found.append(self.len_field(known.number, b"".join(parts)))
        return found


KEYS = (b"a", b"b", b"", b"label", b"image/encoded", "\N{SNOWMAN}".encode(), b"a\0", b"abcdefgh")
FLOATS = (0, 0x3F800000, 0x80000000, 0x7F800000, 0x7FC00000, 0x7FA12345, 0xFFFFFFFF, 1)
INTS = (0, 1, -1, 127, 128, 16383, 16384, 2**31, 2**56 - 1, 2**56, 2**63 - 1, -(2**63))


def some_value(below: Below, kind: int) -> int | bytes:
    match kind:
        case reference.BYTES:
            return bytes(below(256) for _ in range(below(12)))
        case reference.FLOAT:
            return FLOATS[below(len(FLOATS))] if below(2) else below(2**32)
        case _:
            if below(2):
                return INTS[below(len(INTS))]
            number = below(2 ** (1 + below(63)))
            return -number if below(4) == 3 else number


def some_feature(below: Below, kind: int | None = None, n_values: int | None = None) -> Feature:
    kind = below(4) if kind is None else kind
    if kind == NO_KIND:
        return ABSENT
    n_values = (0, 1, 1, 2, 3, 5, 9)[below(7)] if n_values is None else n_values
    values = tuple(some_value(below, kind) for _ in range(n_values))
    return Feature(kind, values)  # type: ignore[arg-type]


def some_features(below: Below, keys: Many[bytes] = KEYS, most: int = 5) -> Features:
    return {keys[below(len(keys))]: some_feature(below) for _ in range(below(most + 1))}


class Pattern(NamedTuple):
    """What the messages of a program have in common."""

    keys: tuple[bytes, ...]
    kinds: tuple[int, ...]
    counts: tuple[int | None, ...]
    """Values of each feature; None if it varies."""
    widths: tuple[int, ...]
    """Typical length of byte strings; of numbers, what to multiply a varying count with."""


def look_alike(below: Below, pattern: Pattern) -> Features:
    features = {}
    for key, kind, count, width in zip(*pattern, strict=True):
        n_values = below(1 + width) if count is None else count
        if kind == BYTES:
            length = max(0, width - 2 + below(5))
            strings = tuple(bytes([below(256)]) * length for _ in range(min(n_values, 5)))
            features[key] = Feature(BYTES, strings)
        elif kind == FLOAT:
            features[key] = Feature(FLOAT, tuple(below(2**32) for _ in range(n_values)))
        elif kind == INT64:
            # A wide number now and then changes the length of the list.
            limits = (2**7, 2**7, 2**7, 2**14, 2**63)
            features[key] = Feature(
                INT64, tuple(below(limits[below(5)]) - below(2) for _ in range(n_values))
            )
        else:
            features[key] = ABSENT
    return features


def runtime_accepts(message: bytes) -> bool:
    try:
        Example.FromString(message)
    except (DecodeError, UnicodeDecodeError):
        return False
    return True


RUNTIME = Dialect(
    length_bytes=10 if runtime_accepts(b"\x1a" + varint(0, 10)) else 5,
    zero_in_groups=runtime_accepts(b"\x1b\x00\x00\x1c"),
)
"""How the protobuf runtime at hand answers the questions that releases disagree on."""


def is_settled(error: InvalidArgumentError) -> bool:
    """Say whether all runtimes reject a message for what this package rejected it for."""
    return not (RUNTIME.zero_in_groups and "number 0" in (error.detail or ""))


def runtime(message: bytes) -> Features:
    """Parse with the protobuf runtime; the bits of floats are exact."""
    try:
        example = Example.FromString(message)
    except (DecodeError, UnicodeDecodeError) as error:
        raise RejectedError(str(error)) from None
    found = {}
    for key, feature in example.features.feature.items():
        match feature.WhichOneof("kind"):
            case "bytes_list":
                value = Feature(BYTES, tuple(feature.bytes_list.value))
            case "float_list":
                # A float that becomes a Python float and back loses a signalling NaN.
                feature.float_list.DiscardUnknownFields()
                n_bytes = 4 * len(feature.float_list.value)
                stored = feature.float_list.SerializeToString()
                bits: np.ndarray = (
                    np.frombuffer(stored, "<u4", offset=len(stored) - n_bytes)
                    if n_bytes
                    else np.empty(0, "<u4")
                )
                value = Feature(FLOAT, tuple(map(int, bits)))
            case "int64_list":
                value = Feature(INT64, tuple(feature.int64_list.value))
            case _:
                value = ABSENT
        found[key.encode()] = value
    return found


class Buffer(NamedTuple):
    """Messages in one buffer, with other bytes before, between and after them."""

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]


def buffer_of(messages: Many[bytes], between: bytes = b"", fill: bytes = b"\0") -> Buffer:
    """Lay messages out in a buffer, with some bytes between them and a filling after them."""
    starts = np.cumsum([len(between), *(len(m) + len(between) for m in messages)])[:-1]
    lengths = np.array([len(m) for m in messages], np.int64)
    behind = (fill * SPARE)[:SPARE]
    data = b"".join([*(between + message for message in messages), behind])
    return Buffer(np.frombuffer(data, np.uint8), starts.astype(np.int64), starts + lengths)


class Reading(NamedTuple):
    """A batch as the engine reads it, and by which way."""

    batch: MessageBatch
    table: KeyTable
    n_by_layout: int
    """Messages that a layout read."""
    n_plain: int
    """Messages that were read as plain entries."""


def read(
    messages: Many[bytes],
    keys: Iterable[bytes],
    memory: LayoutMemory | None = None,
    *,
    way: Literal["fastest", "plain", "general"] = "fastest",
    between: bytes = b"",
    fill: bytes = b"\0",
) -> Reading:
    """Read a batch with the engine: as it chooses, without layouts, or the general way."""
    table = KeyTable(list(keys))
    least_plain = {"fastest": engine_batch._WORTH_PLAIN, "plain": 1, "general": 2**62}[way]
    ways: dict[str, Any] = {"_WORTH_PLAIN": least_plain}
    if way != "fastest":
        ways |= {"_MAX_LAYOUTS": 0, "FEW": 0}
    with mock.patch.multiple(engine_batch, **ways):
        batch = MessageBatch(*buffer_of(messages, between, fill), table, memory or LayoutMemory())
    by_layout = sum(part.n_messages for _, part in batch._parts if isinstance(part, LayoutMatch))
    by_plain = sum(part.n_messages for _, part in batch._parts if isinstance(part, PlainMatch))
    return Reading(batch, table, by_layout, by_plain)


def flat_values(lists: Any) -> list[int] | list[bytes]:
    """Return the values of one feature of all messages, end to end; floats as their bits."""
    flat = lists.flat
    if isinstance(flat, ByteItems):  # a few messages, read by the protobuf runtime
        return list(flat.items)
    if isinstance(flat, ByteRanges):
        view = flat.data.tobytes()
        extents = zip(flat.starts.tolist(), flat.lengths.tolist(), strict=True)
        return [view[start : start + length] for start, length in extents]
    if flat.dtype == np.float32:
        return [int(bits) for bits in flat.view(np.uint32)]
    assert flat.dtype == np.int64
    return [int(number) for number in flat]


def features_of(reading: Reading) -> list[Features]:
    """Return what the engine read, message by message; features of no kind left out."""
    return features_in(reading.batch, reading.table.keys)


def features_in(batch: MessageBatch, keys: Many[bytes]) -> list[Features]:
    """Return the features that a batch has in each message; those of no kind left out."""
    found: list[Features] = [{} for _ in range(batch.n_messages)]
    for number, key in enumerate(keys):
        kinds = np.broadcast_to(batch.kinds(number), (batch.n_messages,))
        for kind in Kind:
            lists = batch.lists(number, kind)
            assert not lists.lengths[kinds != kind].any()
            values = flat_values(lists)
            stop = 0
            for message, count in enumerate(lists.lengths.tolist()):
                start, stop = stop, stop + count
                if kinds[message] == kind:
                    found[message][key] = Feature(kind, tuple(values[start:stop]))  # type: ignore[arg-type]
            assert stop == len(values)
    return found


def with_a_kind(features: Features, asked: Iterable[bytes] | None = None) -> Features:
    """Leave out features without kind, which the engine does not tell from missing ones."""
    keys = features if asked is None else asked
    return {k: features[k] for k in keys if k in features and features[k].kind != NO_KIND}


Lists: TypeAlias = dict[bytes, list[Feature]]

EMPTY = Sequence({}, {})


def plain_steps(key: bytes, steps: Many[Feature]) -> bytes:
    value = b"".join(len_field(1, plain_feature(step)) for step in steps)
    return len_field(1, len_field(1, key) + len_field(2, value))


def plain_sequence(sequence: Sequence) -> bytes:
    lists = b"".join(plain_steps(*item) for item in sequence.lists.items())
    return plain(sequence.context) + len_field(2, lists)


def some_list(below: Below) -> list[Feature]:
    """Return the steps of a feature list: mostly of one kind, and often of one size."""
    kind = below(4)
    n_values = (None, 1, 1, 2, 0)[below(5)]
    steps = [some_feature(below, kind, n_values) for _ in range((0, 1, 2, 3, 9)[below(5)])]
    if steps and below(6) == 5:
        steps[below(len(steps))] = some_feature(below)
    return steps


def some_sequence(below: Below, keys: Many[bytes] = KEYS) -> Sequence:
    lists = {keys[below(len(keys))]: some_list(below) for _ in range(below(4))}
    return Sequence(some_features(below, keys, 3), lists)


def look_alike_list(below: Below, kind: int, n_values: int | None, longest: int) -> list[Feature]:
    return [some_feature(below, kind, n_values) for _ in range(below(longest + 1))]


def runtime_sequence(message: bytes) -> Sequence:
    """Parse with the protobuf runtime; the bits of floats are exact."""
    try:
        parsed = SequenceExample.FromString(message)
    except (DecodeError, UnicodeDecodeError) as error:
        raise RejectedError(str(error)) from None
    lists = {}
    for key, feature_list in parsed.feature_lists.feature_list.items():
        steps = []
        for feature in feature_list.feature:
            holder = Example()
            holder.features.feature["step"].CopyFrom(feature)
            steps.append(runtime(holder.SerializeToString())[b"step"])
        lists[key.encode()] = steps
    holder = Example()
    holder.features.CopyFrom(parsed.context)
    return Sequence(runtime(holder.SerializeToString()), lists)


def steps_of(batch: SequenceMessageBatch, number: int) -> list[list[Feature] | None]:
    """Return the steps of one feature list of all messages; None where it is missing."""
    n_all = batch.lists(number, Kind.INT64).below().n
    kinds = np.broadcast_to(batch.kinds(number), (n_all,))
    steps = [Feature(NO_KIND, ())] * kinds.size
    lists: Any = None
    for kind in Kind:
        lists = batch.lists(number, kind)
        values = flat_values(lists)
        stop = 0
        for step, count in enumerate(lists.below().lengths.tolist()):
            start, stop = stop, stop + count
            if kinds[step] == kind:
                steps[step] = Feature(kind, tuple(values[start:stop]))  # type: ignore[arg-type]
            else:
                assert not count
        assert stop == len(values)
    found: list[list[Feature] | None] = []
    stop = 0
    for is_present, n_steps in zip(lists.present, lists.levels[0].tolist(), strict=True):
        start, stop = stop, stop + n_steps
        assert is_present or not n_steps
        found.append(steps[start:stop] if is_present else None)
    assert stop == len(steps)
    return found


def read_sequences(
    messages: Many[bytes],
    context: Iterable[bytes],
    lists: Iterable[bytes],
    *,
    few: int = 0,
    between: bytes = b"",
    fill: bytes = b"\0",
) -> list[Sequence]:
    """Read a batch with the engine; features of no kind left out of the context.

    With `few`, batches of so many go to the protobuf runtime.
    """
    names, list_names = list(context), list(lists)
    buffer = buffer_of(messages, between, fill)
    with mock.patch.object(engine_batch, "FEW", few):
        batch = SequenceMessageBatch(*buffer, KeyTable(list_names))
        features = MessageBatch(
            buffer.data, buffer.starts, batch.context_stops, KeyTable(names), LayoutMemory()
        )
    found = [Sequence(row, {}) for row in features_in(features, names)]
    for number, key in enumerate(list_names):
        for sequence, steps in zip(found, steps_of(batch, number), strict=True):
            if steps is not None:
                sequence.lists[key] = steps
    return found


def seen(sequence: Sequence, context: Iterable[bytes], lists: Iterable[bytes]) -> Sequence:
    """Return the parts of a sequence that the engine returns for these keys."""
    wanted = set(lists)
    return Sequence(
        with_a_kind(sequence.context, context),
        {key: steps for key, steps in sequence.lists.items() if key in wanted},
    )


int64s = testing.int64s()
float_bits = st.one_of(st.sampled_from(FLOATS), st.integers(0, 2**32 - 1))
strings = st.binary(max_size=12)

features = st.one_of(
    st.just(ABSENT),
    st.lists(strings, max_size=4).map(lambda v: Feature(BYTES, tuple(v))),
    st.lists(float_bits, max_size=6).map(lambda v: Feature(FLOAT, tuple(v))),
    st.lists(int64s, max_size=6).map(lambda v: Feature(INT64, tuple(v))),
)
examples = st.dictionaries(testing.keys().map(str.encode), features, max_size=5)
