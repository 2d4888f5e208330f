"""Properties of the record format that hold for every stream, not for chosen ones."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tests.support.frame_damage import pieces_of
from tests.support.read_outcome import Outcome, loss_of
from tests.support.streams import any_stream, odd_lengths
from tfrecord_lite import Block, testing
from tfrecord_lite.block import FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, SPARE_BYTES
from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.records import framing
from tfrecord_lite.records.decoder import CHUNK_BYTES, FrameDecoder
from tfrecord_lite.records.framing import (
    checked,
    compact,
    data_of_frame,
    first_bad_frame,
    frame,
    frame_in_place,
    frames_of,
    is_header,
)


def by_feed(decoder: FrameDecoder, chunks: Iterable[bytes]) -> Outcome:
    out: list[bytes] = []
    try:
        for chunk in chunks:
            out += decoder.feed(chunk)
        decoder.close()
    except DataLossError as error:
        return Outcome(out, loss_of(error))
    return Outcome(out, None)


def put(decoder: FrameDecoder, chunk: bytes, n_records: int | None = None) -> None:
    while chunk:
        room = decoder.writable(n_records)
        n_bytes = min(len(room), len(chunk))
        room[:n_bytes] = chunk[:n_bytes]
        decoder.advance(n_bytes)
        chunk = chunk[n_bytes:]


def by_records(decoder: FrameDecoder, chunks: Iterable[bytes]) -> Outcome:
    out: list[bytes] = []
    try:
        for chunk in chunks:
            put(decoder, chunk)
            while (items := decoder.next_block()) is not None:
                assert items
                out += items
        decoder.close()
    except DataLossError as error:
        return Outcome(out, loss_of(error))
    return Outcome(out, None)


def by_blocks_of(n_records: int) -> Callable[[FrameDecoder, Iterable[bytes]], Outcome]:
    def drive(decoder: FrameDecoder, chunks: Iterable[bytes]) -> Outcome:
        out: list[bytes] = []
        try:
            for chunk in chunks:
                put(decoder, chunk, n_records)
                while (block := decoder.next_block(n_records)) is not None:
                    assert 1 <= len(block) <= n_records
                    out += block
            out += decoder.rest()
            decoder.close()
        except DataLossError as error:
            return Outcome(out, loss_of(error))
        return Outcome(out, None)

    return drive


every_way = pytest.mark.parametrize(
    "drive",
    [by_feed, by_records, by_blocks_of(1), by_blocks_of(3)],
    ids=["feed", "records", "blocks of 1", "blocks of 3"],
)
Drive: TypeAlias = "Callable[[FrameDecoder, Iterable[bytes]], Outcome]"


def single_bytes(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


class TestSoundStreams:
    @every_way
    @given(items=testing.records(), data=st.data())
    def test_cutting_the_stream_anywhere_changes_nothing(
        self, drive: Drive, items: list[bytes], data: st.DataObject
    ) -> None:
        stream = reference.encode(items)
        chunks = data.draw(pieces_of(stream))
        assert drive(FrameDecoder(), [stream]) == (items, None)
        assert drive(FrameDecoder(), chunks) == (items, None)
        assert drive(FrameDecoder(), single_bytes(stream)) == (items, None)

    def test_f1_an_empty_record_is_a_record(self) -> None:
        empty = bytes.fromhex("0000000000000000 29039807 d8ea82a2")
        assert bytes(frame([b""])) == empty
        assert list(FrameDecoder().feed(empty * 3)) == [b"", b"", b""]

    @pytest.mark.parametrize("n_bytes", [CHUNK_BYTES - 16, CHUNK_BYTES, 3 * CHUNK_BYTES + 1])
    @pytest.mark.parametrize("step", [1000, 65536, CHUNK_BYTES])
    @every_way
    def test_records_larger_than_a_chunk(self, drive: Drive, n_bytes: int, step: int) -> None:
        items = [b"before", bytes(range(256)) * (n_bytes // 256) + b"x", b"behind"]
        stream = bytes(frame(items))
        chunks = [stream[i : i + step] for i in range(0, len(stream), step)]
        assert drive(FrameDecoder(), chunks) == (items, None)

    @given(st.lists(st.binary(max_size=64), max_size=30), st.data())
    def test_next_block_gives_so_many(self, items: list[bytes], data: st.DataObject) -> None:
        decoder = FrameDecoder()
        put(decoder, reference.encode(items))
        left = items
        while left:
            n_records = data.draw(st.integers(1, len(items) + 3))
            block = decoder.next_block(n_records)
            if n_records > len(left):
                assert block is None
                break
            assert block is not None
            assert list(block) == left[:n_records]
            left = left[n_records:]
        assert list(decoder.rest()) == left
        assert decoder.next_block(1) is None
        decoder.close()


class TestDamage:
    @every_way
    @given(stream=any_stream(), limit=st.integers(0, 80) | odd_lengths(), data=st.data())
    @example(reference.encode([b"one"]) + bytes(11), 80, None)  # as a power cut may leave it
    @example(reference.encode([b"one"]) + bytes(17), 80, None)
    @example(reference.encode([b"one", b"two", b"x"])[:-1] + b"\0", 80, None)
    def test_any_bytes_decode_or_raise_as_the_reference(
        self, drive: Drive, stream: bytes, limit: int, data: st.DataObject | None
    ) -> None:
        pieces = [] if data is None else [data.draw(pieces_of(stream))]
        for options in {}, {"max_record_bytes": limit}, {"verify": False}:
            expected = reference.decode(stream, **options)
            for chunks in ([stream], single_bytes(stream), *pieces):
                assert drive(FrameDecoder(**options), chunks) == expected

    @given(any_stream())
    @example(reference.encode([b"one", b"two"])[:-1] + b"\0")
    @example(reference.encode([b"one"]) + bytes(20))
    def test_r7_an_error_is_repeated(self, stream: bytes) -> None:
        decoder = FrameDecoder()
        _, loss = by_feed(decoder, [stream])
        if loss is None or loss.reason is Reason.TRUNCATED:
            return
        behind = reference.encode([b"behind"])
        calls: list[Callable[[], object]] = [
            lambda: decoder.feed(behind), decoder.next_block, decoder.rest, decoder.close,
            lambda: decoder.next_block(3),
        ]  # fmt: skip
        for again in calls:
            assert loss_of(raised(DataLossError, again)) == loss

    def test_r8_a_cut_record_is_given_out_when_the_rest_comes(self) -> None:
        stream = reference.encode([b"one", b"two"])
        decoder = FrameDecoder()
        out = list(decoder.feed(stream[:-1]))
        error = raised(DataLossError, decoder.close)
        out += decoder.feed(stream[-1:])
        decoder.close()
        assert loss_of(error) == (Reason.TRUNCATED, len(stream) // 2, 1)
        assert out == [b"one", b"two"]


class TestFrame:
    @given(testing.records())
    def test_frames_equal_the_reference(self, items: list[bytes]) -> None:
        expected = reference.encode(items)
        assert bytes(frame(items)) == expected
        assert bytes(frame(Block.from_records(items))) == expected
        assert bytes(frame([memoryview(bytearray(item)) for item in items])) == expected
        assert bytes(frame(np.array([*items, None], object)[:-1])) == expected  # type: ignore[arg-type]

    @given(st.one_of(st.binary(max_size=14), st.binary(min_size=8, max_size=8)))
    def test_a_head_is_twelve_bytes_with_a_right_crc(self, data: bytes) -> None:
        head = data + reference.masked_crc32c(data).to_bytes(4, "little")
        assert is_header(head) == (len(data) == 8)
        assert not is_header(head[:-1])
        assert not is_header(head + b"\0")
        assert not is_header(head[:-1] + bytes([head[-1] ^ 1]))


def flipped(data: bytes, *places: int) -> bytes:
    changed = bytearray(data)
    for place in places:
        changed[place] ^= 1
    return bytes(changed)


Origin = Callable[[Block], Block]


def as_read(block: Block) -> Block:
    numbers, offsets = np.arange(len(block)), block.offsets - HEADER_BYTES
    places = np.stack([0 * numbers, numbers, offsets], axis=1)
    return replace(block, sources=("there",), places=places)


def framed(block: Block) -> Block:
    """Return records as their frames were found right when they were read, if their extents are still those."""
    return replace(as_read(block), is_framed=True)


def partly_read(block: Block) -> Block:
    """Return records of which the fourth and later ones are from memory."""
    block = as_read(block)
    block.places[3:] = -1  # type: ignore[index]
    return block


ITEMS = (b"first", b"second", b"", b"the fourth", b"x")
STREAM = bytes(frame(ITEMS))
SIZES = np.array([len(item) + OVERHEAD_BYTES for item in ITEMS])
STARTS = np.cumsum(SIZES) - SIZES


def block_of(stream: bytes, before: int = 0, origin: Origin = lambda block: block) -> Block:
    data = np.frombuffer(bytes(before) + stream + bytes(SPARE_BYTES), np.uint8).copy()
    return origin(Block(data, STARTS + before + HEADER_BYTES, SIZES - OVERHEAD_BYTES))


def with_record(block: Block, offset: int, length: int) -> Block:
    offsets = np.concatenate([block.offsets, [offset]])
    longer = Block(block.data, offsets, np.concatenate([block.lengths, [length]]))
    return longer if block.places is None else as_read(longer)


def other_extents(start: int, cut: int, origin: Origin) -> Block:
    block = block_of(STREAM)[np.array([0, 1, 3])]
    return origin(Block(block.data, block.offsets + start, block.lengths - cut))


def in_zeros(places: list[int], length: int, two_at: int | None = None) -> Block:
    """Return a block of records in zeros, where a 2 may stand."""
    data = np.zeros(60 + SPARE_BYTES, np.uint8)
    if two_at is not None:
        data[two_at] = 2
    return framed(Block(data, np.array(places, np.int64), np.full(len(places), length)))


FRAMED_ANEW: dict[str, list[Block]] = {
    "what is wrong in the memory around": [
        block_of(flipped(STREAM, place)) for place in range(len(STREAM))
    ],
    # The last record lies before the others, whose frames are whole.
    "a record without room for a header": [
        with_record(block_of(STREAM, 40), first, 2) for first in range(HEADER_BYTES + 1)
    ],
    "the header at the start is not that of a record without room for one": [
        with_record(block_of(STREAM, origin=as_read), first, len(ITEMS[0]))
        for first in (0, HEADER_BYTES - 1)
    ],
    # Where its header would be counts from the end: the first of eight bytes is 2.
    "a length at the end of the memory is no header of a record at its start": [
        in_zeros([first], 2, first - HEADER_BYTES - 7) for first in (0, HEADER_BYTES - 1)
    ],
    "zeros before an empty record are no header": [in_zeros([HEADER_BYTES, 20], 0)],
    "no records": [in_zeros([], 0)],
    # The record is not checked, for want of a header; so the others are not known to be sound.
    "a header that is wrong is not written": [
        block_of(flipped(STREAM, int(STARTS[3]) + place), origin=as_read)[np.array([0, 1, 3, 4])]
        for place in range(8, HEADER_BYTES)
    ],
    "records with other extents have no CRC to check": [
        other_extents(start, 1, origin) for start in (0, 1) for origin in (as_read, framed)
    ],
    "what looks like a frame in memory is not checked": [
        block_of(flipped(STREAM, int(STARTS[4]) - 1), origin=partly_read)
    ],
    "frames in any order": [
        block_of(STREAM, before)[key]
        for before in (0, 1, 100)
        for key in (slice(None), slice(None, None, -1), slice(1, 4), slice(0, 0))
    ],
}


@pytest.mark.parametrize("case", FRAMED_ANEW)
def test_frames_are_copied_if_they_are_right_and_made_anew_if_not(case: str) -> None:
    for block in FRAMED_ANEW[case]:
        assert bytes(frames_of(checked(block))) == bytes(frame(list(block)))


class TestFramesOfBlocks:
    """Blocks that were read have frames around their records, or bytes that look like some."""

    @pytest.mark.parametrize("key", [slice(None), slice(None, None, 2), slice(0, 0)])
    def test_a_compact_block_has_nothing_but_frames_that_are_right(self, key: slice) -> None:
        block = compact(block_of(STREAM, 100)[key])
        expected = bytes(frame(list(ITEMS)[key]))
        assert list(block) == list(ITEMS)[key]
        assert block.data.tobytes() == expected + bytes(SPARE_BYTES)
        assert block.is_framed

    def test_sound_data_that_was_read_without_a_check_is_checked_once(self) -> None:
        found = checked(block_of(STREAM, origin=as_read))
        assert list(found) == list(ITEMS)
        assert found.is_framed

    @pytest.mark.parametrize("i", range(5))
    def test_damaged_data_that_was_read_without_a_check_is_rejected(self, i: int) -> None:
        place = int(STARTS[i] + SIZES[i]) - FOOTER_BYTES
        error = raised(DataLossError, checked, block_of(flipped(STREAM, place), origin=as_read))
        assert loss_of(error) == (Reason.DATA_CRC, STARTS[i], i)
        assert error.source == "there"

    def test_frames_are_made_in_place_if_there_is_just_room(self) -> None:
        for before, fits in ((0, True), (-1, False)):
            block = block_of(bytes(len(STREAM)))
            block = Block(block.data, block.offsets + before, block.lengths)
            assert (frame_in_place(block) is not None) is fits

    @pytest.mark.parametrize("before", [0, 1, 100])
    def test_frames_made_in_place_are_those_that_are_copied(self, before: int) -> None:
        block = block_of(STREAM, before)
        for place in (*STARTS, *(STARTS + 8), *(STARTS + SIZES - 4)):
            block.data[before + place] ^= 1  # in headers and footers only
        made = frame_in_place(block)
        assert made is not None
        assert bytes(made) == STREAM

    @pytest.mark.parametrize("key", [slice(None, None, 2), slice(None, None, -1)])
    def test_records_with_other_gaps_are_not_framed_in_place(self, key: slice) -> None:
        block = block_of(STREAM)[key]
        before = block.data.tobytes()
        assert frame_in_place(block) is None
        assert block.data.tobytes() == before

    @pytest.mark.parametrize("verify", [True, False])
    def test_the_first_bad_frame_is_named(self, verify: bool) -> None:
        """Damage of headers and of data are found in different passes."""
        data_places = STARTS + SIZES - 1
        for header in range(5):
            for data in range(5):
                stream = flipped(STREAM, int(STARTS[header]), int(data_places[data]))
                buffer = np.frombuffer(stream + bytes(SPARE_BYTES), np.uint8)
                found = first_bad_frame(buffer, STARTS, SIZES, verify=verify)
                assert found == (min(header, data) if verify else header)

    @pytest.mark.parametrize("verify", [True, False])
    def test_a_frame_of_another_size_is_bad(self, verify: bool) -> None:
        buffer = np.frombuffer(STREAM + bytes(SPARE_BYTES), np.uint8)
        for i in range(5):
            sizes = SIZES + (np.arange(5) >= i)
            assert first_bad_frame(buffer, STARTS, sizes, verify=verify) == i

    @pytest.mark.parametrize("step", [1, 2])
    @pytest.mark.parametrize("n_at_once", [70, 83])
    def test_the_first_bad_one_of_many_frames_is_named(
        self, step: int, n_at_once: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Frames that lie end to end are checked at once, in a copy: the memory here is read-only."""
        monkeypatch.setattr(framing, "_COPIED_RECORDS", n_at_once)
        items = [bytes([i]) * (i % 7 + 1) for i in range(250)]
        stream = bytes(frame(items)) + bytes(SPARE_BYTES)
        sizes = np.array([len(item) + OVERHEAD_BYTES for item in items])
        starts = np.cumsum(sizes) - sizes
        for bad in (None, 0, 69 * step, 70 * step, 248):
            places = [] if bad is None else [int(starts[bad]) + HEADER_BYTES]
            buffer = np.frombuffer(flipped(stream, *places), np.uint8)
            expected = None if bad is None else bad // step
            assert first_bad_frame(buffer, starts[::step], sizes[::step]) == expected
            first = slice(0, 70 * step, step)
            is_in = expected is not None and expected < 70
            assert first_bad_frame(buffer, starts[first], sizes[first]) == (
                expected if is_in else None
            )

    @pytest.mark.parametrize("verify", [True, False])
    def test_one_frame_is_its_data_or_none(self, verify: bool) -> None:
        for item in ITEMS:
            whole = bytes(frame([item]))
            size = len(whole)
            assert data_of_frame(whole, size, verify=verify) == item
            assert data_of_frame(whole, size + 1, verify=verify) is None
            assert data_of_frame(flipped(whole, size - 1), size) is None
            for place in range(size):
                is_checked = verify or place < HEADER_BYTES
                expected = None if is_checked else flipped(whole, place)[HEADER_BYTES:-FOOTER_BYTES]
                assert data_of_frame(flipped(whole, place), size, verify=verify) == expected
            for n_bytes in range(size):  # the file ends within the frame
                assert data_of_frame(whole[:n_bytes], size, verify=verify) is None
