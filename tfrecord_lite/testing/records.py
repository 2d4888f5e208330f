"""Strategies for records, and for files of records, intact and damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from tfrecord_lite.records import crc32c
from tfrecord_lite.records.decoder import FrameDecoder
from tfrecord_lite.records.framing import frame
from tfrecord_lite.testing.reencode import chooser, mutate

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


# Around the limits of integers, of records, and of pages, buffers and allocations.
ODD_LENGTHS = sorted(
    {
        near
        for power in (8, 16, 20, 24, 31, 32, 33, 36, 40, 48, 62, 63, 64)
        for near in range(2**power - 17, 2**power + 2)
        if near < 2**64
    }
)


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


def odd_lengths() -> SearchStrategy[int]:
    """Return a strategy for lengths that a damaged header may hold: 0 to 2**64 - 1."""
    return st.one_of(st.sampled_from(ODD_LENGTHS), st.integers(0, 2**64 - 1))


def header(length: int) -> bytes:
    """Return the header of a record of that length, with the right checksum."""
    lengths = np.array([length], np.uint64)
    return lengths.tobytes() + crc32c.length_crcs(lengths).astype("<u4").tobytes()


@st.composite
def any_stream(draw: DrawFn) -> bytes:
    """Draw the content of a file, anything from intact records to noise.

    Intact records, headers without their records, zeros and noise, in any order; then maybe
    some bits flipped, and the end cut off. Most begin with intact records.

    Examples
    --------
    >>> import io
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import any_stream
    >>> @given(any_stream())
    ... def test_a_file_is_read_or_rejected(stream):
    ...     try:
    ...         list(TFRecordReader(io.BytesIO(stream), compression=None))
    ...     except DataLossError:
    ...         pass
    >>> test_a_file_is_read_or_rejected()
    """
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
        With a bit flipped, a byte changed, bytes inserted or deleted, the end cut off or
        zeros added. A file that only lacks whole records is never drawn, as no reader
        could notice that.

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

    ways = st.one_of(
        st.integers(0, 8 * len(stream) - 1).map(flipped),
        st.integers(1, len(stream) - 1).map(lambda stop: stream[:stop]),
        st.integers(1, 64).map(lambda n: stream + bytes(n)),
        st.builds(lambda data: mutate(chooser(data.draw), stream), st.data()),
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
