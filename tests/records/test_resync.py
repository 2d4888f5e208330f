"""The next intact record is found as a search byte by byte finds it, in linear work."""

import tracemalloc
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from crc32c import crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.frame_damage import pieces_of
from tfrecord_lite.records import resync
from tfrecord_lite.records.crc32c import crcs_between
from tfrecord_lite.records.framing import frame
from tfrecord_lite.records.resync import RecordFinder, find_headers


def is_record_at(stream: bytes, offset: int, limit: int = 2**31) -> bool:
    records, _ = reference.decode(stream[offset:], max_record_bytes=limit)
    return bool(records)


def first_record(stream: bytes, first: int, limit: int = 2**31) -> int:
    """Return what :meth:`RecordFinder.find` must return."""
    places = range(first, len(stream))
    return next((at for at in places if is_record_at(stream, at, limit)), len(stream))


def find(finder: RecordFinder, chunks: Iterable[bytes], base: int, first: int) -> int:
    """Find a record in what comes in chunks, keeping no more of them than has to be kept."""
    held, at = b"", base
    for chunk in chunks:
        held += chunk
        found = finder.find(as_array(held), at, first, is_end=False)
        if found is not None:
            assert found >= at  # all of the record is still held
            return found
        drop = min(finder.wanted_from - at, len(held))
        held, at = held[drop:], at + drop
    found = finder.find(as_array(held), at, first, is_end=True)
    assert found is not None
    assert found >= at
    return found


def as_array(data: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def nested(levels: int, payload: bytes = b"core") -> bytes:
    for _ in range(levels):
        payload = reference.encode_record(payload)
    return payload


def false_heads(length: int, times: int) -> bytes:
    return reference.encode_header(length) * times


parts = st.one_of(
    st.binary(max_size=40),
    st.binary(max_size=20).map(reference.encode_record),
    st.builds(false_heads, st.integers(0, 300), st.integers(1, 4)),
    st.builds(nested, st.integers(1, 3)),
    st.binary(max_size=20).map(lambda data: reference.encode_record(data)[:-1]),
    st.just(bytes(30)),
)
streams = st.lists(parts, max_size=8).map(b"".join)


@pytest.fixture(params=[3, 50, 64 * 1024])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at that many offsets at a time."""
    monkeypatch.setattr(resync, "_PIECE_BYTES", request.param)


@pytest.mark.usefixtures("piece")
class TestFinding:
    @given(streams, st.integers(0, 2**40), st.data())
    def test_it_equals_a_slow_search(self, stream: bytes, base: int, data: st.DataObject) -> None:
        chunks = data.draw(pieces_of(stream))
        first = data.draw(st.integers(0, len(stream)))
        limit = data.draw(st.sampled_from([5, 100, 2**31, 2**64 - 1]))
        found = find(RecordFinder(limit), chunks, base, base + first)
        assert found == base + first_record(stream, first, limit)

    @given(streams, st.lists(st.integers(0, 400), min_size=2, max_size=5))
    def test_what_was_found_before_changes_nothing(self, stream: bytes, firsts: list[int]) -> None:
        finder = RecordFinder(2**31)
        for first in sorted(min(first, len(stream)) for first in firsts):
            assert finder.find(as_array(stream), 0, first, is_end=True) == first_record(
                stream, first
            )


def first_of_run(stream: bytes, first: int, stop: int) -> int:
    """Return what :meth:`RecordFinder.find_run` must return."""
    places = range(first, stop)
    return next((at for at in places if reference.decode(stream[at:stop])[1] is None), stop)


@pytest.mark.usefixtures("piece")
class TestRuns:
    @given(st.lists(parts, min_size=1, max_size=8), st.data())
    def test_it_equals_a_slow_search(self, pieces: list[bytes], data: st.DataObject) -> None:
        stream, finder = b"".join(pieces), RecordFinder(2**31)
        edges = [len(b"".join(pieces[:n])) for n in range(len(pieces) + 1)]
        places = sorted(data.draw(st.lists(st.sampled_from(edges), min_size=2, max_size=6)))
        for first, stop in pairwise(places):
            if data.draw(st.booleans()):  # what was found before changes nothing
                through = data.draw(st.integers(0, len(stream)))
                finder.find(as_array(stream), 0, first, is_end=True, through=through)
            found = finder.find_run(as_array(stream), 0, first, stop)
            assert found == first_of_run(stream, first, stop)

    def test_the_records_in_a_record_are_no_run_to_its_end(self) -> None:
        stream = nested(3)
        assert RecordFinder(2**31).find_run(as_array(stream), 0, 1, len(stream)) == len(stream)

    def test_all_records_of_the_run_are_known_to_be_intact(self) -> None:
        stream = b"damage" + reference.encode([b"one", b"two"])
        finder = RecordFinder(2**31)
        assert finder.find_run(as_array(stream), 0, 1, len(stream)) == 6
        assert [finder.n_intact(6, most) for most in (0, 1, 2, 9)] == [0, 1, 2, 2]


@given(st.binary(max_size=60), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
@example(b"", 2**62, 2**63)
@example(b"", 2**62 + 1, 2**63)
@example(b"ab", 2**32, 2**32)
def test_heads_are_found_whatever_they_say(data: bytes, length: int, limit: int) -> None:
    stream = data + reference.encode_header(length) + data
    starts, lengths = find_headers(as_array(stream), limit)
    expected = [
        at
        for at in range(len(stream) - 11)
        if reference.encode_header(int.from_bytes(stream[at : at + 8], "little"))
        == stream[at : at + 12]
        and int.from_bytes(stream[at : at + 8], "little") <= min(limit, 2**62)
    ]
    assert starts.tolist() == expected
    assert lengths.tolist() == [int.from_bytes(stream[a : a + 8], "little") for a in expected]


def test_fewer_bytes_than_a_header_hold_none() -> None:
    head = as_array(reference.encode_header(0))
    found = [find_headers(head[:n_bytes], 2**31) for n_bytes in range(12)]
    assert all(starts.size == lengths.size == 0 for starts, lengths in found)


@given(st.binary(max_size=600), st.lists(st.tuples(st.integers(0, 600), st.integers(0, 600))))
def test_crcs_of_stretches_follow_prefixes(stream: bytes, pairs: list[tuple[int, int]]) -> None:
    edges = [sorted((min(a, len(stream)), min(b, len(stream)))) for a, b in pairs]
    before, until = (
        np.array([reference.crc32c(stream[: edge[which]]) for edge in edges], np.uint32)
        for which in (0, 1)
    )
    n_bytes = np.array([stop - start for start, stop in edges], np.int64)
    expected = [reference.crc32c(stream[start:stop]) for start, stop in edges]
    assert crcs_between(before, until, n_bytes).tolist() == expected


def test_stretches_of_gigabytes() -> None:
    # The polynomial is x + 1 times a primitive one: 2**31 - 1 bytes shift a CRC as none do.
    crcs = np.arange(1, 5, dtype=np.uint32)
    shifts = np.array([0, 1, 5, 2**20]) * (2**31 - 1)
    shifted = crcs_between(crcs, np.zeros(4, np.uint32), shifts)
    assert shifted.tolist() == crcs.tolist()


class Work:
    """Counts the bytes that CRCs are taken of, and the rounds of looking."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_bytes = 0
        self.n_rounds = 0

        def count_bytes(data: memoryview, crc: int) -> int:
            self.n_bytes += len(data)
            return crc32c(data, crc)

        def count_rounds(*arguments: Any) -> npt.NDArray[np.uint32]:
            self.n_rounds += 1
            return crcs_between(*arguments)

        monkeypatch.setattr(resync, "crc32c", count_bytes)
        monkeypatch.setattr(resync, "crcs_between", count_rounds)


HOSTILE: dict[str, Callable[[int], bytes]] = {
    # Each head promises all the rest, so their data overlaps as much as it can.
    "nested": lambda n: (
        b"".join(reference.encode_header(12 * (n - i)) for i in range(n)) + bytes(4)
    ),
    "same": lambda n: false_heads(6 * n, n),
    # An intact record after each, so that each is the start of another search.
    "between": lambda n: (false_heads(20 * n, 1) + reference.encode_record(b"sound")) * n,
    "zeros": lambda n: bytes(20 * n),
}


RUNS: dict[str, Callable[[int], bytes]] = {
    **HOSTILE,
    "records": lambda n: reference.encode([b""] * n),
    "records without an end": lambda n: reference.encode([b""] * n) + b"junk",
}


@pytest.mark.parametrize("kind", RUNS)
def test_work_for_runs_grows_as_the_stream(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = as_array(RUNS[kind](20_000))
    work, finder = Work(monkeypatch), RecordFinder(2**31)
    finder.find(stream, 0, 1, is_end=True, through=stream.size)
    rounds = work.n_rounds
    # Many damaged records one after the other, after a search that has found all candidates.
    tracemalloc.start()
    for stop in range(1000, stream.size, 1000):
        finder.find_run(stream, 0, stop - 999, stop)
    assert tracemalloc.get_traced_memory()[1] <= 300_000
    tracemalloc.stop()
    assert work.n_rounds == rounds
    fresh = RecordFinder(2**31)
    fresh.find_run(stream, 0, 1, stream.size)
    assert work.n_bytes <= 2 * stream.size
    assert work.n_rounds <= 2 * stream.size / resync._PIECE_BYTES + 60


def test_a_long_record_is_found_across_many_pieces() -> None:
    stream = b"damage" + bytes(frame([bytes(300_000), b"behind"]))
    assert RecordFinder(2**31).find(as_array(stream), 0, 1, is_end=True) == 6
    assert RecordFinder(299_999).find(as_array(stream), 0, 1, is_end=True) == 6 + 300_016
