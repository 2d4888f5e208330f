r"""The CRC of a run of pieces from the CRCs of the pieces: many CRCs checked with one call.

A call that computes the CRC of 300 bytes is mostly overhead. But CRCs *combine*: appending
b bytes to a message whose CRC is c shifts c by b bytes, and the appended bytes add their own CRC,

    crc(A + B) = shift(crc(A), len(B)) ^ crc(B)

where ``shift(c, n)`` is c times x**(8n) modulo the CRC's polynomial, a linear map.
So the CRC of a whole block, from one call, is compared with the value predicted from the
stored CRCs of its records and the few bytes between them::

    piece 0 │ gap │ piece 1 │ gap │ piece 2         the CRC of all this, in one call
       c0      g0      c1      g1      c2           = xor of every c and g, each
       ╰───────┴───────┴───────┴───────╯              shifted by the bytes after it

All pieces are shifted at once. A shift by n bytes is three look-ups, one for each
base-256 digit of n; since pieces whose higher digits agree can be added up before
those are applied, the higher digits cost next to nothing.

One damaged piece is always detected. Two or more cancel out as often as a damaged piece
has the right CRC by chance: one time in 2**32.

No I/O. The tables (1 MB per digit, made in about 5 ms) are made when first needed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from crc32c import crc32c

from tfrecord_lite import jit
from tfrecord_lite.arrays import rows

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array, Uint8Array, Uint32Array


_RUN_DIGITS = 3

MAX_RUN_BYTES = 256**_RUN_DIGITS - 1
"""The longest run that can be checked: its shifts have three digits."""

_POLYNOMIAL = 0x82F63B78
_WORD_BYTES = 4


def run_matches(
    data: Uint8Array,
    starts: Int64Array,
    stops: Int64Array,
    crcs: Uint32Array,
) -> bool:
    """Whether all pieces of a buffer have the expected CRCs.

    `starts` and `stops` (int64) and the expected plain `crcs` (uint32) have the shape (n,), n at
    least 1. All gaps between pieces have one length; the run has at most :data:`MAX_RUN_BYTES`.

    Examples
    --------
    >>> data = np.frombuffer(b"one--two--three", np.uint8)
    >>> crcs = np.array([crc32c(b"one"), crc32c(b"two"), crc32c(b"three")], np.uint32)
    >>> run_matches(data, np.array([0, 5, 10]), np.array([3, 8, 15]), crcs)
    True
    """
    run = memoryview(data)[int(starts[0]) : int(stops[-1])]  # type: ignore[arg-type]
    expected = int(crcs[-1])
    if starts.size > 1:
        gap_bytes = int(starts[1] - stops[0])
        if jit.kernels is not None and gap_bytes:
            shifts = tuple(map(_powers, range(_RUN_DIGITS)))
            gap = _row_tables(gap_bytes), crc32c(bytes(gap_bytes))
            return bool(
                jit.kernels.crc_of_run(data, starts, stops, crcs, shifts, *gap) == crc32c(run)
            )
        # Each piece but the last, with the gap after it, is one longer piece.
        longer = _shift(_powers(0)[gap_bytes], crcs[:-1])
        longer ^= _crcs_of_rows(data, stops[:-1], gap_bytes)
        expected ^= _sum_shifted(longer, stops[-1] - starts[1:])
    return crc32c(run) == expected


def crcs_between(before: Uint32Array, until: Uint32Array, n_bytes: Int64Array) -> Uint32Array:
    """Return the CRCs of stretches of a stream, from the CRCs of the stream up to their edges.

    `before` and `until` are plain CRCs of the stream, from one common start to the start and to
    the end of each stretch; `n_bytes` is its length; shapes (n,). The stream is read once, even
    if stretches overlap.

    Examples
    --------
    >>> before, until = np.array([[crc32c(b"one")], [crc32c(b"onetwo")]], np.uint32)
    >>> crcs_between(before, until, np.array([3])) == crc32c(b"two")
    array([ True])
    """
    digit = 0
    while n_bytes.any():
        before = _shift_each(_powers(digit), n_bytes & 0xFF, before)
        n_bytes, digit = n_bytes >> 8, digit + 1
    return before ^ until


def _sum_shifted(crcs: Uint32Array, n_after: Int64Array) -> int:
    """Shift each CRC by its number in `n_after`, which is descending, and xor them all."""
    for digit in range(_RUN_DIGITS):
        crcs = _shift_each(_powers(digit), n_after & 0xFF, crcs)
        # CRCs with the same higher digits share all further shifts: xor them now.
        n_after = n_after >> 8
        firsts = np.flatnonzero(np.diff(n_after, prepend=-1))
        crcs, n_after = np.bitwise_xor.reduceat(crcs, firsts), n_after[firsts]
        if n_after[0] == 0:
            break
    return int(crcs[0])


def _bytes_of(words: Uint32Array) -> Uint8Array:
    """View 32-bit words as their bytes, the lowest first; shape (..., 4)."""
    little = np.ascontiguousarray(words, "<u4")
    return little.view(np.uint8).reshape(*words.shape, _WORD_BYTES)


def _shift(table: Uint32Array, crcs: Uint32Array) -> Uint32Array:
    """Shift all CRCs by the same number of bytes: xor what each of their bytes becomes."""
    places = _bytes_of(crcs)
    shifted: Uint32Array = table[0][places[..., 0]]
    for place in range(1, _WORD_BYTES):
        shifted ^= table[place][places[..., place]]
    return shifted


def _shift_each(powers: Uint32Array, digits: Int64Array, crcs: Uint32Array) -> Uint32Array:
    """Shift each CRC by its own digit."""
    places = _bytes_of(crcs)
    flat = powers.reshape(-1)
    at = digits * (_WORD_BYTES * 256)  # where in `flat` each digit's table of 4 x 256 begins
    shifted: Uint32Array = flat[at + places[:, 0]]
    for place in range(1, _WORD_BYTES):
        at += 256
        shifted ^= flat[at + places[:, place]]
    return shifted


def _crcs_of_rows(data: Uint8Array, at: Int64Array, n_bytes: int) -> Uint32Array:
    """Return the CRC of the `n_bytes` bytes at each offset, by one table per byte; shape (n,)."""
    crcs = np.full(at.size, crc32c(bytes(n_bytes)), np.uint32)
    if n_bytes == 0:
        return crcs
    columns = rows(data, n_bytes)[at].view(np.uint8).reshape(-1, n_bytes).T
    tables = _row_tables(n_bytes)
    for table, column in zip(tables, columns, strict=True):
        if column.any():  # a zero adds nothing, and high bytes of lengths are all zero
            crcs ^= table[column]
    return crcs


@cache
def _row_tables(n_bytes: int) -> Uint32Array:
    """Build the tables of :func:`_crcs_of_rows`: [place, byte] is what that byte adds."""
    return np.stack([_shift(_powers(0)[n], _byte_table()) for n in reversed(range(n_bytes))])


@cache
def _powers(digit: int) -> Uint32Array:
    """Build the table of shifts by n x 256**digit bytes, for n from 0 to 255; (256, 4, 256).

    Entry [n, place, byte] is what a byte at that place of a CRC becomes.
    """
    # A shift is linear, so its values for single bits determine it. The first n shifts and
    # the shift by n give the next n, and so on.
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    if digit == 0:
        by_n = _all_bytes(_byte_table()[bits & np.uint32(0xFF)] ^ (bits >> np.uint32(8)))
    else:
        below = _powers(digit - 1)
        by_n = _shift(below[1], below[255])
    shifts = bits[None]
    while len(shifts) < 256:
        shifts = np.concatenate([shifts, _shift(by_n, shifts)])
        by_n = _shift(by_n, by_n)
    return _all_bytes(shifts)


def _all_bytes(bits: Uint32Array) -> Uint32Array:
    """Return what each byte becomes, from what each bit does: [..., 32] to [..., 4, 256]."""
    bits = bits.reshape(*bits.shape[:-1], _WORD_BYTES, 8)
    found = np.zeros((*bits.shape[:-1], 256), np.uint32)
    for place in range(8):
        half = 1 << place
        found[..., half : 2 * half] = found[..., :half] ^ bits[..., place, None]
    return found


@cache
def _byte_table() -> Uint32Array:
    """Build the table of the polynomial: what a byte becomes, shifted out bit by bit; (256,)."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        odd = (table & np.uint32(1)).astype(np.bool_)
        table >>= np.uint32(1)
        table[odd] ^= np.uint32(_POLYNOMIAL)
    return table
