"""The wire: every decoder of many at once equals a loop over one at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.support import reference_example as reference
from tests.support.errors import raised
from tests.support.example_messages import (
    UNKNOWN_NUMBERS,
    Buffer,
    buffer_of,
    float_bits,
    int64s,
    len_field,
    mutate,
    plain_list,
    strings,
    varint,
)
from tests.support.reference_example import BYTES, FLOAT, INT64, RejectedError
from tfrecord_lite import arrays
from tfrecord_lite.arrays import ByteRanges, gather, lanes, ranges
from tfrecord_lite.example.decode.layout import Template
from tfrecord_lite.messages import BytesList, FloatList, Int64List
from tfrecord_lite.testing.reencode import Reencoder, chooser
from tfrecord_lite.wire import fields as wire_fields
from tfrecord_lite.wire import repeated as wire_repeated
from tfrecord_lite.wire.fields import tokenise
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.repeated import repeated_float, repeated_len, repeated_varint, varint_runs
from tfrecord_lite.wire.scalar import WireError, walk
from tfrecord_lite.wire.varint import TOO_LONG, Hole, read_sized, read_varints, squeeze

fills = st.sampled_from([b"\0", b"\xff", b"\x80", b"\x0a", b"\x0a\x01", b"\x08\x96\x01"])
everywhere = pytest.mark.parametrize("few", [0, 24, 10**9], ids=["lockstep", "both", "walk"])
"""In lockstep, one by one, and the one after the other, as it is by default."""


def with_few(few: int) -> mock._patch[int]:
    return mock.patch.object(wire_fields, "_FEW", few)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=6), st.integers(1, 4))
def test_ranges_are_the_ranges_of_python(pairs: list[tuple[int, int]], step: int) -> None:
    starts, counts = np.array(pairs, np.int64).reshape(-1, 2).T
    assert ranges(starts, counts, step).tolist() == [
        number for start, n in pairs for number in range(start, start + n * step, step)
    ]


@given(st.lists(st.binary(max_size=20), max_size=6), st.integers(1, 300), st.data())
def test_gather_copies_any_ranges(parts: list[bytes], widest: int, draw: st.DataObject) -> None:
    if draw.draw(st.booleans()):
        parts = [*parts, bytes(range(256)) * 2]
    buffer = buffer_of(parts)
    order = draw.draw(st.lists(st.integers(0, len(parts) - 1), max_size=8)) if parts else []
    starts, lengths = buffer.starts[order], (buffer.stops - buffer.starts)[order]
    with mock.patch.object(arrays, "_WIDEST_ROW_BYTES", widest):
        found = gather(buffer.data, starts, lengths)
    assert found.tobytes() == b"".join(parts[i] for i in order)


def test_gather_reads_up_to_the_last_byte_of_the_buffer() -> None:
    data = np.arange(100, dtype=np.uint8)
    found = gather(data, np.array([99, 0, 100]), np.array([1, 60, 0]))
    assert found.tolist() == [99, *range(60)]


any_varint = st.tuples(st.integers(0, 2**64 - 1), st.integers(1, 10)).map(lambda a: varint(*a))
short_varint = st.tuples(st.integers(0, 300), st.integers(1, 4)).map(lambda a: varint(*a))
bits_past_64 = st.tuples(st.binary(min_size=9, max_size=9), st.integers(0, 127)).map(
    lambda a: bytes(byte | 0x80 for byte in a[0]) + bytes([a[1]])
)
too_long = st.binary(min_size=10, max_size=14).map(lambda b: bytes(x | 0x80 for x in b) + b"\0")


@given(st.lists(st.one_of(any_varint, bits_past_64), max_size=30), fills)
def test_varints_are_read_at_any_offset(numbers: list[bytes], fill: bytes) -> None:
    data, starts, stops = buffer_of(numbers, fill=fill)
    values, sizes = read_varints(lanes(data), starts)
    assert values.tolist() == [reference.varint(number, 0)[0] for number in numbers]
    assert sizes.tolist() == (stops - starts).tolist()


@given(st.lists(st.one_of(any_varint, too_long), max_size=30), fills)
def test_a_varint_of_more_than_ten_bytes_is_told(numbers: list[bytes], fill: bytes) -> None:
    data, starts, stops = buffer_of(numbers, fill=fill)
    _, sizes = read_varints(lanes(data), starts)
    assert sizes.tolist() == np.minimum(stops - starts, TOO_LONG).tolist()


@pytest.mark.parametrize("longest", [1, 4, 8, 9, 10])
@pytest.mark.parametrize("fill", [b"\0", b"\xff"])
def test_varints_of_known_sizes(longest: int, fill: bytes) -> None:
    numbers = [varint(2 ** (7 * size) - 1 & 2**64 - 1) for size in range(1, longest + 1)]
    numbers = [*numbers, varint(1), varint(1, longest)]
    data, starts, stops = buffer_of(numbers, fill=fill)
    sizes = (stops - starts).astype(np.uint8)
    values, wrong = read_sized(lanes(data), starts, sizes.copy())
    assert [n % 2**64 for n in values.tolist()] == [reference.varint(n, 0)[0] for n in numbers]
    assert wrong is None
    for i, size in itertools.product(range(len(numbers)), range(longest + 1)):
        changed = sizes.copy()
        changed[i] = size
        _, wrong = read_sized(lanes(data), starts, changed.copy())
        found = [] if wrong is None else np.flatnonzero(wrong).tolist()
        assert found == [i] * int(size != sizes[i])


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.integers(1, 8))
def test_squeeze_drops_the_top_bit_of_every_byte(numbers: list[int], n_bytes: int) -> None:
    kept = 256**n_bytes - 1 if n_bytes > 1 else 0x7F
    words = [number & kept for number in numbers]
    found = squeeze(np.array(words, np.uint64), n_bytes)
    assert found.tolist() == [
        sum((byte & 0x7F) << 7 * i for i, byte in enumerate(word.to_bytes(8, "little")))
        for word in words
    ]


@st.composite
def wire_messages(draw: DrawFn) -> bytes:
    """Return fields of any kind, in a legal encoding or damaged."""
    reencoder = Reencoder(chooser(draw), length_bytes=10)
    parts = [reencoder.unknown({1: set(), 2: set()}) for _ in range(draw(st.integers(0, 4)))]
    if draw(st.booleans()):
        parts.append(len_field(1, draw(st.binary(max_size=20))))
    message = b"".join(parts)
    if draw(st.integers(0, 3)) == 3:
        message = mutate(chooser(draw), message, b"".join(parts[:1]))
    return draw(st.one_of(st.just(message), st.binary(max_size=12)))


def slowly(messages: Sequence[bytes], depth: int = 0) -> tuple[list[list[reference.Field]], int]:
    """Return each message's fields, and the number of messages that are none."""
    found: list[list[reference.Field]] = []
    n_refused = 0
    for message in messages:
        try:
            found.append(reference.fields(message, depth=depth))
        except RejectedError:
            n_refused += 1
    return found, n_refused


def assert_same_fields(messages: Sequence[bytes], buffer: Buffer, depth: int = 0) -> None:
    expected, n_refused = slowly(messages, depth)
    if n_refused:
        error = raised(WireError, tokenise, *buffer, depth)
        wrong = error.message
        assert slowly([messages[wrong]], depth)[1]
        assert buffer.starts[wrong] <= error.offset <= buffer.stops[wrong]
        return
    fields = tokenise(*buffer, depth)
    owners = np.repeat(np.arange(len(messages)), [len(each) for each in expected])
    assert fields.owner.tolist() == owners.tolist()
    base = buffer.starts[owners]
    columns = (fields.number, fields.wire_type, fields.start - base, fields.stop - base)
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    assert found == [tuple(field) for each in expected for field in each]


@everywhere
@given(messages=st.lists(wire_messages(), max_size=4), between=fills, fill=fills)
def test_messages_are_split(few: int, messages: list[bytes], between: bytes, fill: bytes) -> None:
    with with_few(few):
        assert_same_fields(messages, buffer_of(messages, between, fill))


@given(message=wire_messages(), others=st.lists(wire_messages(), max_size=4), n=st.integers(1, 40))
def test_many_messages_are_split_into_fields(message: bytes, others: list[bytes], n: int) -> None:
    messages = [*others[:2], *[message] * n, *others[2:]]
    assert_same_fields(messages, buffer_of(messages, b"\x0a", b"\xff"))


@everywhere
@given(message=wire_messages(), fill=fills)
def test_any_prefix_of_a_message_is_split_or_refused(few: int, message: bytes, fill: bytes) -> None:
    with with_few(few):
        for stop in range(len(message)):
            cut = Buffer(buffer_of([message], fill=fill).data, np.array([0]), np.array([stop]))
            assert_same_fields([message[:stop]], cut)


def batches_at_borders() -> Iterator[tuple[list[bytes], int]]:
    """Yield batches at the borders of what is allowed, and how deep they are nested."""
    for n_groups, depth in itertools.product(range(93, 103), range(5)):  # up to a hundred
        yield [b"\x23" * n_groups + b"\x24" * n_groups], depth
    for number in (1, 15, 16, *UNKNOWN_NUMBERS, 2**29, 2**61 - 1):  # 32 bits in up to five bytes
        for size in (1, 2, 4, 5, 6, 10):
            yield [varint(number << 3, size) + b"\x05"] * 2, 0
    for number, wire_type in itertools.product((0, 1), range(8)):  # no field has the number 0
        value = {0: b"\x01", 1: bytes(8), 2: b"\x01a", 3: b"\x04", 5: bytes(4)}.get(wire_type, b"")
        message = bytes([number << 3 | wire_type]) + value
        for messages in ([message] * 2, [message, b"\x0a\x01a"], [b"\x10\x01" + message] * 2):
            yield messages, 0
    for size, tag in itertools.product((9, 10, 11, 12, 20), (b"\x08", b"\x0a")):
        message = tag + varint(1, size) + (b"a" if tag == b"\x0a" else b"")
        for messages in ([message] * 2, [message, b"\x0a\x01a"], [b"\x0d1234", message]):
            yield messages, 0
    for length in (2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 11):
        huge = b"\x0a" + varint(length) + b"abc"
        for place in range(3):
            messages = [b"\x0a\x01a", b"", b"\x0a\x01a"]
            messages[place] = huge
            yield messages, 0
    one, two, group = b"\x08\x01", b"\x12\x01a\x08\x02", b"\x1b\x08\x07\x1c"
    yield [two + group + two, two, group, b"", two * 3] * 6, 0
    for messages in ([b"", one], [b"", one, two], [two, b"", two], [b"", b""]):
        yield messages * 10, 0


@everywhere
@pytest.mark.parametrize("between", [b"", b"\x1b", b"\x08"])
def test_fields_at_the_borders_of_what_is_allowed(few: int, between: bytes) -> None:
    with with_few(few):
        for messages, depth in batches_at_borders():
            assert_same_fields(messages, buffer_of(messages, between), depth)


def test_a_message_is_the_first_and_not_nested_unless_told() -> None:
    message = b"\x23" * 100 + b"\x24" * 100
    assert tokenise(*buffer_of([message])).number.tolist() == [4]
    assert [number for number, *_ in walk(message, 0, len(message))] == [4]
    assert raised(WireError, list, walk(b"\x08", 0, 1)).message == 0


@everywhere
def test_errors_say_what_is_wrong_with_a_field(few: int) -> None:
    wrong = {b"\x02\x01a": "the number 0", b"\x0c": "group 1 ends", b"\x0e": "wire type 6"}
    wrong |= {b"\x0a\x05": "field 1 does not end", b"\x0d\x05": "field 1 does not end"}
    for message, what in wrong.items():
        with with_few(few), pytest.raises(WireError, match=what):
            tokenise(*buffer_of([message]))


@pytest.mark.parametrize(("owner", "expected"), [(10, 11), (np.array([3, 7, 9]), 7)])
def test_errors_name_the_message_of_a_batch(owner: arrays.Int64Array | int, expected: int) -> None:
    with pytest.raises(WireError) as caught, wire_fields.renumbered(owner):
        raise WireError(1, 5, "why")
    assert caught.value.args == (expected, 5, "why")


LISTS: dict[int, Any] = {BYTES: BytesList, FLOAT: FloatList, INT64: Int64List}


@st.composite
def list_messages(draw: DrawFn, kind: int) -> bytes:
    """Return the values of a list in any legal encoding, sometimes damaged."""
    values: st.SearchStrategy[Any] = {BYTES: strings, FLOAT: float_bits, INT64: int64s}[kind]
    content = draw(st.lists(values, max_size=6))
    reencoder = Reencoder(chooser(draw), draw(st.sampled_from([100, 6, 3])), 10)
    message = reencoder.message(plain_list(kind, content), LISTS[kind].DESCRIPTOR)
    return mutate(chooser(draw), message) if draw(st.integers(0, 4)) == 4 else message


READERS: dict[int, Callable[..., tuple[np.ndarray, ByteRanges | np.ndarray]]] = {
    BYTES: repeated_len, FLOAT: repeated_float, INT64: repeated_varint,
}  # fmt: skip


@pytest.mark.parametrize("kind", [BYTES, FLOAT, INT64])
@given(draw=st.data())
def test_lists_are_read_in_any_encoding(kind: int, draw: st.DataObject) -> None:
    messages = draw.draw(st.lists(list_messages(kind), max_size=5))
    if draw.draw(st.booleans()):
        messages = [*messages, *messages[:1] * 40]
    buffer = buffer_of(messages, draw.draw(fills), draw.draw(fills))
    assert_same_lists(kind, messages, buffer)


@pytest.mark.parametrize("kind", [FLOAT, INT64])
def test_values_of_several_chunks_are_those_of_their_message(kind: int) -> None:
    chunk = len_field(1, bytes(8))
    for messages in ([chunk * 2, b""], [chunk, chunk * 2, b""], [b"", chunk, chunk * 2]):
        assert_same_lists(kind, messages, buffer_of(messages))


def test_the_first_odd_chunk_of_floats_is_named() -> None:
    messages = [len_field(1, bytes(n_bytes)) for n_bytes in (4, 6, 2)]  # in sum, whole floats
    error = raised(WireError, repeated_float, *buffer_of(messages), 1)
    assert (error.message, error.offset) == (1, 6 + 2)


def assert_same_lists(kind: int, messages: list[bytes], buffer: Buffer) -> None:
    try:
        expected = [reference.list_values(message, kind, depth=0) for message in messages]
    except RejectedError:
        error = raised(WireError, READERS[kind], *buffer, 1)
        raised(RejectedError, reference.list_values, messages[error.message], kind, depth=0)
        return
    counts, found = READERS[kind](*buffer, 1)
    assert counts.tolist() == [len(values) for values in expected]
    flat = [value for values in expected for value in values]
    if isinstance(found, ByteRanges):
        pairs = zip(found.starts.tolist(), found.lengths.tolist(), strict=True)
        assert [buffer.data[a : a + n].tobytes() for a, n in pairs] == flat
    else:
        bits = found.view("<u4") if kind == FLOAT else found
        assert bits.tolist() == flat
        assert found.base is None or not np.shares_memory(found, buffer.data)


sound_run = st.one_of(
    st.lists(st.one_of(any_varint, bits_past_64), max_size=30),
    st.lists(short_varint, max_size=30),
    st.lists(st.one_of(short_varint, st.integers(0, 2**56 - 1).map(varint)), max_size=30),
).map(b"".join)


@st.composite
def cut_run(draw: DrawFn) -> bytes:
    run = draw(sound_run)
    return run[: draw(st.integers(0, len(run)))]


@given(st.lists(sound_run, max_size=5))
def test_runs_of_varints_are_decoded_each(runs: list[bytes]) -> None:
    assert_same_runs(runs)


@given(st.lists(st.one_of(sound_run, cut_run(), too_long), max_size=5))
@example([b"\1\x80", b"\1"])  # what goes on in the next run is cut all the same
@example([varint(2**40) + b"\1"])
@example([b"\x80" * 6, b"\x80" * 6 + b"\1"])
def test_the_first_run_that_is_none_is_named(runs: list[bytes]) -> None:
    assert_same_runs(runs)


@pytest.mark.parametrize("longest", range(1, 11))
@pytest.mark.parametrize("n_short", [0, 30])
def test_a_run_is_decoded_whatever_its_longest_number(longest: int, n_short: int) -> None:
    """What goes on after four bytes is decoded for all values if it is most of them, else for those."""
    numbers = [2 ** (7 * size) - 1 & 2**64 - 1 for size in range(1, longest + 1)]
    assert_same_runs([b"".join(map(varint, [5] * n_short + numbers + numbers[::-1]))])


@pytest.mark.parametrize("odd", [None, b"\x80", b"\1\2", b"\x80" * 10 + b"\1"])
@pytest.mark.parametrize("size", [1, 4, 5])
def test_runs_are_decoded_some_at_a_time(size: int, odd: bytes | None) -> None:
    runs = [varint(i, size) for i in range(20)]
    if odd is not None:
        runs[13] = odd
    with (
        mock.patch.object(wire_repeated, "_GROUP_BYTES", 16),
        mock.patch.object(wire_repeated, "_FEW_RUNS", 3),
    ):
        assert_same_runs(runs)
        assert_same_runs([runs[0] * 20, b"", *runs])


def assert_same_runs(runs: list[bytes]) -> None:
    data, starts, stops = buffer_of(runs)
    expected = []
    for number, run in enumerate(runs):
        try:
            expected.append(reference.varints(run))
        except RejectedError:
            error = raised(WireError, varint_runs, ByteRanges(data, starts, stops - starts))
            assert (error.message, error.offset) == (number, starts[number])
            return
    counts, values = varint_runs(ByteRanges(data, starts, stops - starts))
    assert counts.tolist() == [len(numbers) for numbers in expected]
    assert [n % 2**64 for n in values.tolist()] == [n for numbers in expected for n in numbers]


short_keys = st.text("ab\0", max_size=3).map(str.encode)
long_keys = st.tuples(st.sampled_from([7, 8, 9, 16, 300, 2000]), short_keys).map(
    lambda a: b"x" * a[0] + a[1]
)
some_keys = st.one_of(short_keys, long_keys, st.binary(max_size=20))


@given(st.lists(some_keys, unique=True, max_size=12), st.lists(some_keys, max_size=12), fills)
def test_keys_are_found_at_any_offset(known: list[bytes], others: list[bytes], fill: bytes) -> None:
    strings = known + others
    data, starts, stops = buffer_of(strings, fill, fill)
    found = KeyTable(known).find(ByteRanges(data, starts, stops - starts))
    assert found.tolist() == [known.index(s) if s in known else -1 for s in strings]


@pytest.mark.parametrize(("known", "others"), [
    ([b"a", b"b\0", b"a\0", b"", b"\0", b"\1", b"\1\0", b"\3\0\0", b"\0" * 8, b"\0" * 9], []),
    ([b"x" * n for n in range(253, 260)], [b"x" * 252, b"x" * 260, b"x" * 255 + b"y"]),
    ([], [b"", b"a"]),
    ([b"x" * 1_000_000, *(b"%d" % i for i in range(5000))], [b"x" * 999_999 + b"y"]),
], ids=["zeros", "long", "none", "huge"])  # fmt: skip
def test_keys_that_are_nearly_alike_are_told_apart(known: list[bytes], others: list[bytes]) -> None:
    data, starts, stops = buffer_of(known + others)
    found = KeyTable(known).find(ByteRanges(data, starts, stops - starts))
    assert found.tolist() == [*range(len(known)), *[-1] * len(others)]


def test_rows_with_wrong_bytes_stay_wrong_when_lengths_are_read() -> None:
    """The first row is right, the second has another tag, the outer length of the third lies."""
    messages = [b"\x0a\x05\x12\x03", b"\x0b\x05\x12\x03", b"\x0a\x06\x12\x03"]
    data, starts, _ = buffer_of(messages)
    template = Template(messages[0], [], [Hole(1, 1, 2), Hole(3, 1, 0)])
    _, wrong = template.match(template.bytes_at(data, starts))
    assert wrong.tolist() == [False, True, True]


@pytest.mark.parametrize("n_bytes", [1, 7, 8, 9, 16, 17])
def test_a_template_looks_at_all_of_its_bytes_and_no_other(n_bytes: int) -> None:
    known = bytes(range(1, n_bytes + 1))
    template = Template(known + b"\0", [], [Hole(n_bytes, 1, 0)])
    for place in range(n_bytes + 2):
        data = np.zeros(2 * template.row_size, np.uint8)
        data[:n_bytes] = np.frombuffer(known, np.uint8)
        data[place] ^= 0x80
        _, wrong = template.match(template.bytes_at(data, np.zeros(1, np.int64)))
        assert wrong.tolist() == [place <= n_bytes]
