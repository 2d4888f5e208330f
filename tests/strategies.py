"""Records, streams and damages, for properties."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from tests import reference

records = st.lists(st.binary(max_size=64), max_size=8)
some_records = st.lists(st.binary(max_size=64), min_size=1, max_size=8)

# Lengths that mean something to somebody: signed and unsigned limits, the largest
# record by default, what a page, a buffer or an allocation cannot be.
ODD_LENGTHS = sorted(
    {
        near
        for power in (8, 16, 20, 24, 31, 32, 33, 36, 40, 48, 62, 63, 64)
        for near in range(2**power - 17, 2**power + 2)
        if near < 2**64
    }
)
odd_lengths = st.one_of(st.sampled_from(ODD_LENGTHS), st.integers(0, 2**64 - 1))

# Whole records, heads that promise what does not follow, zeros and noise, in any order.
pieces = st.one_of(
    st.binary(max_size=40).map(reference.encode_record),
    st.one_of(st.integers(0, 80), odd_lengths).map(reference.encode_head),
    st.integers(0, 40).map(bytes),
    st.binary(max_size=40),
)


@st.composite
def damaged_streams(draw: st.DrawFn) -> bytes:
    """Return anything from a sound stream to noise; most have a sound beginning."""
    stream = bytearray(b"".join(draw(st.lists(pieces, max_size=8))))
    for _ in range(draw(st.integers(0, 2))):
        if stream:
            bit = draw(st.integers(0, 8 * len(stream) - 1))
            stream[bit // 8] ^= 1 << bit % 8
    return bytes(stream[: draw(st.one_of(st.just(len(stream)), st.integers(0, len(stream))))])


@st.composite
def cut_up(draw: st.DrawFn, stream: bytes) -> list[bytes]:
    """Return the stream in pieces, some of them maybe empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    return [stream[a:b] for a, b in pairwise([0, *cuts, len(stream)])]
