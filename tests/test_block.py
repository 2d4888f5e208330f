"""Block: records in one buffer, and where they came from."""

import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.errors import raised
from tfrecord_lite import Block, testing
from tfrecord_lite.block import SPARE_BYTES, Place
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.records.decoder import FrameDecoder
from tfrecord_lite.records.framing import frame
from tfrecord_lite.texts import plural


def from_stream(items: list[bytes], source: str) -> Block:
    return FrameDecoder(source=source).feed(reference.encode(items))


def offsets_of(items: list[bytes]) -> list[int]:
    return [len(reference.encode(items[:i])) for i in range(len(items))]


@given(testing.records(), st.slices(8))
def test_a_block_holds_what_was_put_in(items: list[bytes], part: slice) -> None:
    block = Block.from_records(items)
    assert len(block) == len(items)
    assert list(block) == block.to_list() == items
    assert [bytes(view) for view in block.views()] == items
    assert [block[i] for i in range(len(items))] == items
    assert [block[i - len(items)] for i in range(len(items))] == items
    assert block.nbytes == sum(map(len, items))
    assert list(block[part]) == items[part]
    assert block[part].data is block.data


@pytest.mark.parametrize("item", [
    np.arange(3, dtype=np.int32), np.arange(6).reshape(2, 3), np.array(7, np.int16),
    memoryview(array.array("d", [0.5, 2.0])), array.array("d", [1.5, 2.5]), np.zeros((0, 3)),
])  # fmt: skip
def test_a_record_is_all_bytes_of_its_buffer(item: Any) -> None:
    content = memoryview(item).tobytes()
    for block in (Block.from_records([b"ab", item, b"c"]), Block.from_records([item])):
        assert content in list(block)
        assert block.nbytes in (len(content), len(content) + 3)
    assert frame([b"ab", item]) == reference.encode([b"ab", content])


@pytest.mark.parametrize("item", [np.arange(6)[::2], np.zeros((2, 3)).T, memoryview(b"abc")[::-1]])
def test_a_buffer_with_gaps_is_no_record(item: Any) -> None:
    for make in (Block.from_records, frame):
        error = raised(InvalidArgumentError, make, [b"one", item])
        assert (error.reason, error.index) == (Reason.BAD_ARGUMENT, 1)


@pytest.mark.parametrize("item", ["text", 7, None, [b"one"]])
def test_what_has_no_bytes_is_no_record(item: Any) -> None:
    for make in (Block.from_records, frame):
        raised(TypeError, make, [b"one", item], match=type(item).__name__)


SOME = np.zeros(SPARE_BYTES + 8, np.uint8)
NUMBERS = np.zeros(3, np.int64)


@pytest.mark.parametrize(("data", "offsets", "lengths"), [
    (bytes(SPARE_BYTES), NUMBERS, NUMBERS), (SOME.tolist(), NUMBERS, NUMBERS),
    (SOME[::2], NUMBERS[:0], NUMBERS[:0]), (SOME.reshape(2, -1), NUMBERS, NUMBERS),
    (SOME.astype(np.int8), NUMBERS, NUMBERS), (SOME, [0, 0, 0], NUMBERS),
    (SOME, NUMBERS, [0, 0, 0]), (SOME, NUMBERS.astype(np.int32), NUMBERS),
    (SOME, NUMBERS, NUMBERS.astype(float)), (SOME, NUMBERS.astype(np.uint64), NUMBERS),
    (SOME, NUMBERS.astype(">i8"), NUMBERS), (SOME, NUMBERS, NUMBERS.reshape(3, 1)),
    (SOME, None, NUMBERS),
])  # fmt: skip
def test_wrong_arrays_of_a_block_are_refused(data: Any, offsets: Any, lengths: Any) -> None:
    assert raised(InvalidArgumentError, Block, data, offsets, lengths).reason is Reason.BAD_ARGUMENT


@given(testing.records(min_size=1), st.slices(8))
def test_records_of_any_slice_know_their_place(items: list[bytes], part: slice) -> None:
    blocks = [from_stream(items, "a"), Block.from_records(items), from_stream(items, "b")]
    block = Block.concat(blocks)
    places = [block.place(i) for i in range(len(block))]
    found = block[part]
    for i, number in enumerate(range(len(block))[part]):
        expected = places[number]
        if expected.source is None:
            expected = Place(None, found.place(i).index, None)
        assert found.place(i) == expected


@given(testing.records(min_size=1))
def test_places_count_from_the_end_too(items: list[bytes]) -> None:
    for block in (from_stream(items, "a"), Block.from_records(items)):
        for i in range(len(items)):
            assert block.place(i - len(items)) == block.place(i)
        for wrong in (len(items), -len(items) - 1):
            raised(IndexError, block.place, wrong, match=f"of {plural(len(items), 'record')}$")
            with pytest.raises(IndexError, match=f"of {plural(len(items), 'record')}$"):
                block[wrong]


@pytest.mark.parametrize(("offsets", "lengths"), [
    ([0], [11]), ([11], [0]), ([-1], [1]), ([0], [-1]), ([5, 0], [6, 1]),
    ([2**63 - 1], [2**63 - 1]), ([1], [2**63 - 1]), ([0, 0], [1]),
])  # fmt: skip
def test_extents_that_leave_the_buffer_are_refused(offsets: list[int], lengths: list[int]) -> None:
    data = np.zeros(10 + SPARE_BYTES, np.uint8)
    with pytest.raises(InvalidArgumentError) as caught:
        Block(data, np.array(offsets, np.int64), np.array(lengths, np.int64))
    assert caught.value.reason is Reason.BAD_ARGUMENT


@given(st.lists(testing.records(), max_size=4), st.data())
def test_concat_keeps_records_and_places(lists: list[list[bytes]], data: st.DataObject) -> None:
    # Given blocks of several streams and of memory, each cut down to a part
    blocks, expected = [], []
    for number, items in enumerate(lists):
        part = slice(*sorted(data.draw(st.tuples(st.integers(0, 8), st.integers(0, 8)))))
        source = data.draw(st.sampled_from(["stream", "memory"]))
        block = from_stream(items, str(number)) if source == "stream" else Block.from_records(items)
        blocks.append(block[part])
        offsets = offsets_of(items)
        expected += [
            (items[i], (str(number), i, offsets[i]) if source == "stream" else None)
            for i in range(len(items))[part]
        ]

    joined = Block.concat(blocks)

    assert list(joined) == [item for item, _ in expected]
    for i, (_, place) in enumerate(expected):
        found = joined.place(i)
        assert (found.source, found.offset) == (place[0] if place else None, place and place[2])
        if place is not None:
            assert found.index == place[1]
    assert (joined.offsets + joined.lengths).max(initial=0) + SPARE_BYTES <= joined.data.size


def test_concat_copies() -> None:
    data = np.zeros(10 + SPARE_BYTES, np.uint8)
    block = Block(data, np.array([0]), np.array([3]))
    joined = Block.concat([block, block])
    data[:] = 1
    assert list(joined) == [bytes(3), bytes(3)]


@given(testing.records(), testing.records(), st.data())
def test_picked_records_are_whole(one: list[bytes], two: list[bytes], data: st.DataObject) -> None:
    block = Block.concat([from_stream(one, "one"), from_stream(two, "two")])
    items = one + two
    places = [block.place(i) for i in range(len(items))]
    mask = data.draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    numbers = data.draw(
        st.lists(st.integers(-len(items), len(items) - 1), max_size=9) if items else st.just([])
    )
    part = data.draw(st.slices(len(numbers)))

    kept = np.flatnonzero(mask).tolist()
    some = block[np.array(mask, bool)]
    assert list(some) == [items[i] for i in kept]
    assert [some.place(i) for i in range(len(some))] == [places[i] for i in kept]
    for key in numbers, np.array(numbers, np.int16):
        chosen = block[key][part]
        assert list(chosen) == [items[i] for i in numbers[part]]
        assert [chosen.place(i) for i in range(len(chosen))] == [places[i] for i in numbers[part]]
        if chosen:
            assert Block.concat([chosen, some]).place(0) == places[numbers[part][0]]
    assert np.shares_memory(some.data, block.data)
    taken = block.take(np.array(kept, np.int64))
    assert list(taken) == list(some)
    assert [taken.place(i) for i in range(len(taken))] == [places[i] for i in kept]
    assert taken.data.size == taken.nbytes + SPARE_BYTES


@pytest.mark.parametrize(("key", "kind", "text"), [
    ([0, 3], IndexError, "record 3 of a block of 3 records"),
    (np.array([True, False]), IndexError, r"mask has the shape \(2,\), expected \(3,\)"),
    ([0.5], TypeError, "float64"), (np.array([[1]]), TypeError, "vector of int or bool"),
    ([[1], [2, 0]], TypeError, "list of lists of different lengths"),
    (np.array(True), IndexError, r"mask has the shape \(\), expected \(3,\)"),
    (np.ma.masked, TypeError, "masked items"),
    (np.empty((0, 2), int), TypeError, r"int64 of shape \(0, 2\)"),
    ([[]], TypeError, "vector of int or bool"), ("a", TypeError, "must be an integer"),
    (None, TypeError, "must be an integer"),
])  # fmt: skip
def test_what_picks_no_record_is_one_clear_error(key: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        Block.from_records([b"one", b"two", b"three"])[key]
