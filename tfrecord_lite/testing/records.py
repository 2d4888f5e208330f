"""Strategies for records, and for files of records, intact and damaged."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tfrecord_lite.extension import FrameDecoder


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
