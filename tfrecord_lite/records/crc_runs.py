r"""Check the CRCs of a run of records with one call; compute the CRCs of stretches of a stream.

A call that computes the CRC of 300 bytes is mostly overhead. One call over a whole run of frames checks
all of them, if the CRC register is *forced* between the records. In a file of short records every two are
16 bytes apart, a footer and a header, which were read already. For a moment these bytes are replaced::

    record 0 │ u0, 12 zeros │ record 1 │ u1, 12 zeros │ record 2        the CRC of all this, in one call
                                                                        = the CRC of record 2 alone

After record i, if its stored CRC c is right, the register is ~c. The CRC is linear: the bytes
``u = c ^ FORCE`` and twelve zeros bring the register from ~c to all ones, where each CRC begins, so the
next record is checked as if it were the first. If c is wrong, the register differs from then on.

One damaged record is always detected. Two or more cancel out as often as a damaged record has the right
CRC by chance: one time in 2**32.

CRCs also *combine*, which the search after damage uses: appending b bytes to a message whose CRC is c shifts c
by b bytes, and the appended bytes add their own CRC,

    crc(A + B) = shift(crc(A), len(B)) ^ crc(B)

where ``shift(c, n)`` is c times x**(8n) modulo the CRC's polynomial, a linear map, looked up for each
base-256 digit of n, in tables (1 MB per digit) that are made when first needed.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from tfrecord_lite.arrays import Int64Array, Uint8Array, Uint32Array, rows
from tfrecord_lite.block import OVERHEAD_BYTES
from tfrecord_lite.records.crc32c import crc32c

_POLYNOMIAL = 0x82F63B78
_WORD_BYTES = 4


def _back(register: int, n_bits: int) -> int:
    """Return the register that so many zero bits turn into `register`."""
    for _ in range(n_bits):
        if register >> 31:
            register = ((register ^ _POLYNOMIAL) << 1) | 1
        else:
            register <<= 1
    return register


_ALL_ONES = 0xFFFFFFFF
_FORCE = np.uint32(_ALL_ONES ^ _back(_ALL_ONES, 8 * OVERHEAD_BYTES))


def run_matches(data: Uint8Array, starts: Int64Array, stops: Int64Array, crcs: Uint32Array) -> bool:
    """Whether all pieces of a buffer, which are `OVERHEAD_BYTES` apart, have the expected CRCs.

    `starts`, `stops` and the plain `crcs` have the shape (n,), n at least 1. The gaps are overwritten
    meanwhile: nobody else may read `data` at the same time.
    """
    run = memoryview(data)[int(starts[0]) : int(stops[-1])]  # type: ignore[arg-type]
    if starts.size == 1:
        return crc32c(run) == int(crcs[0])
    gaps, at = rows(data, OVERHEAD_BYTES), stops[:-1]
    kept = gaps[at]
    forcing = np.zeros((at.size, OVERHEAD_BYTES // 4), "<u4")
    forcing[:, 0] = crcs[:-1] ^ _FORCE
    gaps[at] = forcing.view((np.void, OVERHEAD_BYTES))[:, 0]
    try:
        return crc32c(run) == int(crcs[-1])
    finally:
        gaps[at] = kept


def crcs_between(before: Uint32Array, until: Uint32Array, n_bytes: Int64Array) -> Uint32Array:
    """Return the CRCs of stretches of a stream, from the CRCs of the stream up to their edges.

    `before` and `until` are plain CRCs of the stream, from one common start to the start and to
    the end of each stretch; `n_bytes` is its length; shapes (n,).
    """
    digit = 0
    while n_bytes.any():
        before = _shift(_powers(digit), n_bytes & 0xFF, before)
        n_bytes, digit = n_bytes >> 8, digit + 1
    return before ^ until


def _shift(powers: Uint32Array, digits: Int64Array | int, crcs: Uint32Array) -> Uint32Array:
    """Shift CRCs, each by its own digit or all by one: xor what each of their bytes becomes."""
    places = np.ascontiguousarray(crcs, "<u4").view(np.uint8).reshape(*crcs.shape, _WORD_BYTES)
    shifted: Uint32Array = powers[digits, 0, places[..., 0]]
    for place in range(1, _WORD_BYTES):
        shifted ^= powers[digits, place, places[..., place]]
    return shifted


@cache
def _powers(digit: int) -> Uint32Array:
    """Build the table of shifts by n x 256**digit bytes, for n from 0 to 255; (256, 4, 256).

    Entry [n, place, byte] is what a byte at that place of a CRC becomes.
    """
    # A shift is linear, so its values for single bits determine it. The first n shifts and
    # the shift by n give the next n, and so on.
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    if digit == 0:
        after = bits.copy()  # what each bit becomes, shifted out bit by bit
        for _ in range(8):
            odd = (after & np.uint32(1)).astype(np.bool_)
            after >>= np.uint32(1)
            after[odd] ^= np.uint32(_POLYNOMIAL)
        by_n = _all_bytes(after)
    else:
        below = _powers(digit - 1)
        by_n = _shift(below, 1, below[255])
    shifts = bits[None]
    while len(shifts) < 256:
        shifts = np.concatenate([shifts, _shift(by_n[None], 0, shifts)])
        by_n = _shift(by_n[None], 0, by_n)
    return _all_bytes(shifts)


def _all_bytes(bits: Uint32Array) -> Uint32Array:
    """Return what each byte becomes, from what each bit does: [..., 32] to [..., 4, 256]."""
    bits = bits.reshape(*bits.shape[:-1], _WORD_BYTES, 8)
    crcs = np.zeros((*bits.shape[:-1], 256), np.uint32)
    for place in range(8):
        half = 1 << place
        crcs[..., half : 2 * half] = crcs[..., :half] ^ bits[..., place, None]
    return crcs
