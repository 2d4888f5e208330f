"""One CRC over many pieces says what a CRC a piece would say."""

import numpy as np
import numpy.typing as npt
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite.block import OVERHEAD_BYTES
from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.records.crc32c import run_matches
from tfrecord_lite.records.decoder import FrameDecoder
from tfrecord_lite.records.framing import frame

Array = npt.NDArray[np.int64]
pieces = st.lists(st.binary(max_size=700), min_size=1, max_size=12)
gaps = st.binary(min_size=OVERHEAD_BYTES, max_size=OVERHEAD_BYTES)


def joined(items: list[bytes], gap: bytes) -> tuple[bytearray, Array, Array]:
    """Put pieces end to end with a gap between; return the buffer, starts and stops."""
    lengths = np.array([len(item) for item in items])
    starts = np.concatenate([[0], np.cumsum(lengths + len(gap))[:-1]])
    return bytearray(gap.join(items) + bytes(64)), starts, starts + lengths


def crcs_of(items: list[bytes]) -> npt.NDArray[np.uint32]:
    return np.array([crc32c(item) for item in items], np.uint32)


@given(pieces, gaps)
def test_sound_pieces_match_and_the_buffer_is_as_before(items: list[bytes], gap: bytes) -> None:
    buffer, starts, stops = joined(items, gap)
    before = bytes(buffer)
    assert run_matches(np.frombuffer(buffer, np.uint8), starts, stops, crcs_of(items))
    assert buffer == before


@given(pieces.filter(any), gaps, st.data())
def test_a_flipped_bit_is_noticed(items: list[bytes], gap: bytes, data: st.DataObject) -> None:
    buffer, starts, stops = joined(items, gap)
    which = data.draw(st.sampled_from([i for i, item in enumerate(items) if item]))
    byte = data.draw(st.integers(int(starts[which]), int(stops[which]) - 1))
    buffer[byte] ^= 1 << data.draw(st.integers(0, 7))
    before = bytes(buffer)
    assert not run_matches(np.frombuffer(buffer, np.uint8), starts, stops, crcs_of(items))
    assert buffer == before


@pytest.mark.parametrize("n_records", [63, 64, 65, 4095, 4096, 4097, 9000])
def test_a_decoder_finds_the_damaged_one_of_many_short_records(n_records: int) -> None:
    records = [b"%d" % i * (i % 40) for i in range(n_records)]
    stream = frame(records)
    starts = np.concatenate([[0], np.cumsum([len(r) + OVERHEAD_BYTES for r in records])])
    for hit in (1, n_records // 2, n_records - 1):
        damaged = bytearray(stream)
        damaged[starts[hit + 1] - 1] ^= 0x10  # in the stored CRC of the data
        decoder = FrameDecoder()
        found = decoder.feed(damaged).to_list()
        error = raised(DataLossError, decoder.close)
        assert found == records[:hit]
        assert (error.reason, error.index, error.offset) == (Reason.DATA_CRC, hit, starts[hit])
