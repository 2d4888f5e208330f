"""The parts that encoding is made of: numbers, nested lengths, copies, frames in place."""

import random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite import Block, encode_example, encode_examples
from tfrecord_lite.arrays import ByteRanges, scatter
from tfrecord_lite.block import OVERHEAD_BYTES
from tfrecord_lite.records.framing import frame, frame_in_place, frame_pieces
from tfrecord_lite.wire import emit
from tfrecord_lite.wire.scalar import (
    WireError,
    content_start,
    read_length,
    read_varint,
    varint,
    varint_size,
)
from tfrecord_lite.wire.varint import varint_rows, varint_run

int64s = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 63).map(lambda n: (1 << n) - 1),
    st.integers(0, 62).map(lambda n: 1 << n),
)
small = st.integers(0, 2**14 + 1)


# Content comes from a seed: it is large, and does not matter.
seeds = st.integers(0, 2**32).map(random.Random)


def scalar(value: int) -> bytes:
    """Encode one number as the format's page says, byte by byte."""
    value &= 2**64 - 1
    out = []
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


@given(
    st.one_of(st.lists(int64s, max_size=40), st.lists(small, max_size=40)),
    st.sampled_from([1, 2000]),
)
@example(list(range(100, 140)), 2000)
def test_numbers_are_encoded_as_one_by_one(values: list[int], times: int) -> None:
    array = np.array(values * times, np.int64)  # up to more than are encoded in one go
    data, sizes = varint_run(array)
    cells, widths = varint_rows(array)
    one = [scalar(value) for value in values]
    assert data.tobytes() == b"".join(one) * times
    assert np.broadcast_to(sizes, array.shape).tolist() == [len(v) for v in one] * times
    assert [cells[i, : widths[i]].tobytes() for i in range(len(one))] == one
    assert widths.tolist() == [len(v) for v in one] * times


def test_the_largest_number_decides_how_all_are_encoded() -> None:
    for value in (n for bits in range(63) for n in (2**bits - 1, 2**bits, -(2**bits))):
        data, _ = varint_run(np.array([value, 1, value]))
        cells, sizes = varint_rows(np.array([1, value]))
        assert data.tobytes() == scalar(value) + b"\1" + scalar(value)
        assert cells[1, : sizes[1]].tobytes() == scalar(value)


def test_one_number_of_any_size_is_written_and_read() -> None:
    for value in (n for bits in range(64) for n in (2**bits - 1, 2**bits)):
        assert varint(value) == scalar(value)
        assert varint_size(value) == len(scalar(value))
        for at_least in range(1, 11):
            data = b"\xff" + varint(value, at_least) + b"\xff"
            stop = 1 + max(at_least, varint_size(value))
            assert len(data) == stop + 1
            assert read_varint(data, 1, len(data)) == (value, stop)
            assert read_varint(data, 1, stop - 1) == (0, -1)
    assert varint(-1) == scalar(-1)
    assert varint(-(2**63), 10) == scalar(-(2**63))
    assert read_varint(b"\xff" * 9 + b"\x7f", 0, 10) == (2**64 - 1, 10)
    assert read_varint(b"\x80" * 10 + b"\0", 0, 11) == (0, -1)


def test_the_content_of_a_field_follows_its_tag_and_length() -> None:
    data = memoryview(b"??\x0a\x03abc")
    assert read_length(data, 2) == (3, 4)
    assert [content_start(data, 2, stop, 0x0A) for stop in (None, 7, 6, 8)] == [4, 4, None, None]
    assert content_start(data, 2, None, 0x12) is None
    # The field begins at the end or after it, or is cut within its length.
    assert [content_start(data, start, None, 0x0A) for start in (7, 8)] == [None, None]
    assert content_start(data[:3], 2, None, 0x0A) is None
    assert content_start(memoryview(b"\x0a\0"), 0, None, 0x0A) == 2
    assert content_start(memoryview(b"\x0a\x80"), 0, None, 0x0A) is None
    for size, start in ((1, 2), (5, 6), (6, None)):  # a length has up to five bytes
        field = memoryview(b"\x0a" + varint(3, size) + b"abc")
        assert content_start(field, 0, None, 0x0A) == start


LENGTHS = st.one_of(
    st.integers(0, 40), st.sampled_from([63, 64, 65, 127, 128, 4095, 4096, 4097, 9000])
)


@given(st.lists(LENGTHS, max_size=12), seeds)
def test_ranges_are_copied_and_nothing_beside_them(lengths: list[int], chance: Any) -> None:
    data = np.frombuffer(chance.randbytes(10_000), np.uint8)
    starts = [chance.randrange(data.size - n + 1) for n in lengths]
    gaps = [chance.randrange(3) for _ in lengths]
    out = np.full(sum(lengths) + sum(gaps), 7, np.uint8)
    places, wanted, at = [], bytearray(), 0
    for start, n, gap in zip(starts, lengths, gaps, strict=True):
        wanted += b"\7" * gap + data[start : start + n].tobytes()
        at += gap
        places.append(at)
        at += n
    order = chance.sample(range(len(lengths)), len(lengths))
    columns = [np.array(column, np.int64)[order] for column in (places, starts, lengths)]
    scatter(out, columns[0], ByteRanges(data, columns[1], columns[2]))
    assert out.tobytes() == bytes(wanted)


levels = st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=4).map(tuple)


def nested(some: tuple[bytes, ...], payload: bytes) -> bytes:
    for level in reversed(some):
        payload = level + scalar(len(payload)) + payload
    return payload


@given(
    st.lists(
        st.tuples(levels, st.sampled_from([3, 20, 40, 140, 20_000]), st.booleans()), max_size=4
    ),
    st.integers(1, 8),
    seeds,
)
def test_parts_are_written_in_order_into_every_message(
    fields: list[tuple[tuple[bytes, ...], int, bool]], n_messages: int, chance: Any
) -> None:
    wanted = [b""] * n_messages
    parts = []
    for some, longest, is_optional in fields:
        payloads = [chance.randbytes(chance.randrange(longest)) for _ in range(n_messages)]
        present = [not is_optional or chance.random() < 0.7 for _ in range(n_messages)]
        sizes = np.array([len(p) for p in payloads])
        data = np.frombuffer(b"".join(payloads), np.uint8)
        payload: emit.Payload = emit.compact(data, np.cumsum(sizes) - sizes, sizes)
        if chance.random() < 0.3:
            payload = emit.Objects(payloads, sizes)
        parts.append(emit.Part(some, payload, np.array(present) if is_optional else None))
        for i in range(n_messages):
            wanted[i] += nested(some, payloads[i]) if present[i] else b""
    data, offsets, lengths = emit.emit_fields([(b"\x0a", parts)], n_messages)
    block = Block(data, offsets, lengths)
    assert block.to_list() == [nested((b"\x0a",), content) for content in wanted]
    assert (offsets[1:] - offsets[:-1] - lengths[:-1] == OVERHEAD_BYTES).all()


def field_of(lengths: list[int]) -> tuple[bytes, list[emit.Part]]:
    """Return a field of many messages with payloads of these lengths, which are not there."""
    starts = np.zeros(len(lengths), np.int64)
    payload = ByteRanges(np.zeros(9, np.uint8), starts, np.array(lengths, np.int64))
    return b"", [emit.Part((b"\x0a",), payload)]


def test_messages_are_as_large_as_protobuf_reads_and_no_larger() -> None:
    with pytest.raises(WireError) as caught:
        # The tag and the length take 6 bytes: one byte too many.
        emit.emit_fields([field_of([1, 2**31 - 6, 2**40])], 3)
    assert caught.value.message == 1
    with mock.patch.object(emit, "MAX_MESSAGE_BYTES", 4):
        assert emit.emit_fields([field_of([2, 2])], 2)[2].tolist() == [4, 4]
        error = raised(WireError, emit.emit_fields, [field_of([2, 3])], 2)
    assert (error.message, error.offset) == (1, 0)


def test_a_long_stretch_of_fixed_fields_is_cut() -> None:
    columns = {f"{i:03}": np.full(3, i, np.int64) for i in range(100)}
    assert (
        encode_examples(columns).to_list()
        == [encode_example({k: v[0] for k, v in columns.items()})] * 3
    )


@given(st.lists(st.lists(int64s, max_size=3), max_size=5))
def test_a_block_is_framed_where_it_is(rows: list[list[int]]) -> None:
    block = encode_examples({"x": rows}) if rows else Block.from_records([])
    records = block.to_list()
    frames = frame_in_place(block)
    assert bytes(frames or b"") == bytes(frame(records))
    assert block.to_list() == records


@pytest.mark.parametrize("key", [slice(None, None, 2), slice(None, None, -1), slice(1, None)])
def test_records_that_are_not_a_frame_apart_are_left_alone(key: slice) -> None:
    block = encode_examples({"x": [1, 2, 3]})[key]
    before = block.data.copy()
    frames = frame_in_place(block)
    if key == slice(1, None):  # the one before it makes way
        assert bytes(frames or b"") == bytes(frame(block))
    else:
        assert frames is None
        assert np.array_equal(block.data, before)
    assert frame_in_place(Block.from_records([b"a", b"b"])) is None


@given(st.lists(st.binary(max_size=20), max_size=4), st.integers(0, 10))
def test_a_record_in_pieces_is_framed_as_a_whole(pieces: list[bytes], room: int) -> None:
    whole = b"".join(pieces)
    buffer = bytearray(b"\xff" * (len(whole) + 16 + room))
    frames = frame_pieces(pieces, buffer)
    assert bytes(frames) == bytes(frame([whole]))
    assert buffer[len(whole) + 16 :] == b"\xff" * room
