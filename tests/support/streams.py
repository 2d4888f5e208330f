"""Strategies for the contents of files, from intact records to noise, and for the lengths in headers."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tfrecord_lite.records import crc32c
from tfrecord_lite.records.framing import frame

# Around the limits of integers, of records, and of pages, buffers and allocations.
ODD_LENGTHS = sorted(
    {
        near
        for power in (8, 16, 20, 24, 31, 32, 33, 36, 40, 48, 62, 63, 64)
        for near in range(2**power - 17, 2**power + 2)
        if near < 2**64
    }
)


def odd_lengths() -> SearchStrategy[int]:
    """Return a strategy for lengths that a damaged header may hold: 0 to 2**64 - 1."""
    return st.one_of(st.sampled_from(ODD_LENGTHS), st.integers(0, 2**64 - 1))


def header(length: int) -> bytes:
    """Return the header of a record of that length, with the right checksum."""
    lengths = np.array([length], np.uint64)
    return lengths.tobytes() + crc32c.length_crcs(lengths).astype("<u4").tobytes()


@st.composite
def any_stream(draw: DrawFn) -> bytes:
    """Draw the content of a file, anything from intact records to noise."""
    piece = st.one_of(
        st.binary(max_size=40).map(lambda record: bytes(frame([record]))),
        st.one_of(st.integers(0, 80), odd_lengths()).map(header),
        st.integers(0, 40).map(bytes),
        st.binary(max_size=40),
    )
    stream = bytearray(b"".join(draw(st.lists(piece, max_size=8))))
    for _ in range(draw(st.integers(0, 2))):
        if stream:
            bit = draw(st.integers(0, 8 * len(stream) - 1))
            stream[bit // 8] ^= 1 << bit % 8
    return bytes(stream[: draw(st.one_of(st.just(len(stream)), st.integers(0, len(stream))))])
