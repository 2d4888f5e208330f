"""CRC-32C, masked as the record format requires, of one record and of many.

A record holds two checksums: one of its 8 length bytes, one of its data (rule
F2). Both are CRC-32C (Castagnoli: reflected polynomial 0x82F63B78, start and
final xor all ones), then *masked*, because the CRC of data that itself holds
CRCs is weak::

    masked = ((crc >> 15) | (crc << 17)) + 0xA282EAD8    (mod 2**32)

The lengths' CRCs are computed here for a whole block at once: the CRC of a fixed number of bytes is
linear over xor, so it is eight table look-ups per length, each of them one NumPy pass over all lengths.

The CRCs of a run of short records are checked with one call, and those of stretches of a stream follow
from the CRCs up to their edges (below).

Sources: RFC 3720, appendix B.4; TensorFlow's ``tensorflow/core/lib/hash/crc32c.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.machinery import PathFinder
from typing import SupportsIndex

import numpy as np

from tfrecord_lite.arrays import Buffer, Int64Array, Uint8Array, Uint32Array, Uint64Array, rows
from tfrecord_lite.block import OVERHEAD_BYTES

_MASK_DELTA = 0xA282EAD8
_LENGTH_BYTES = 8


def _loaded() -> Callable[..., int]:
    """Return the function of the crc32c package, from its extension alone: the rest is slow to import."""
    package = PathFinder.find_spec("crc32c")
    places = package and package.submodule_search_locations
    spec = PathFinder.find_spec("crc32c._crc32c", places) if places else None
    if spec is None or spec.loader is None:  # found or arranged in another way
        from crc32c import crc32c  # noqa: PLC0415 - see above

        return crc32c
    extension = spec.loader.create_module(spec)
    spec.loader.exec_module(extension)  # type: ignore[arg-type]
    function: Callable[..., int] = extension.crc32c  # type: ignore[union-attr]
    return function


crc32c: Callable[..., int] = _loaded()


def masked_crc32c(data: Buffer) -> int:
    """Return the masked CRC-32C of a contiguous buffer, as the format stores it."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def mask(crcs: Uint32Array) -> Uint32Array:
    """Mask many CRCs at once (rule F2); shape (n_records,)."""
    rotated = (crcs >> np.uint32(15)) | (crcs << np.uint32(17))
    return rotated + np.uint32(_MASK_DELTA)


def unmask(masked: Uint32Array) -> Uint32Array:
    """Undo :func:`mask`."""
    rotated = masked - np.uint32(_MASK_DELTA)
    return (rotated >> np.uint32(17)) | (rotated << np.uint32(15))


def crcs_of(records: Iterable[Buffer], n_records: SupportsIndex) -> Uint32Array:
    """Return the masked CRC of the data of each of `n_records` records; shape (n_records,)."""
    return mask(np.fromiter(map(crc32c, records), np.uint32, n_records))


def length_crcs(lengths: Uint64Array) -> Uint32Array:
    """Return the CRC that each header must hold after its length; shape (n_records,)."""
    # The eight columns of a little-endian view are the bytes in stream order. A zero byte
    # after the first adds nothing, so the high bytes that no length uses are left out.
    columns = np.ascontiguousarray(lengths, "<u8").view(np.uint8).reshape(-1, _LENGTH_BYTES)
    used = (int(lengths.max(initial=0)).bit_length() + 7) // 8
    crcs = LENGTH_TABLES[0][columns[:, 0]]
    for place in range(1, used):
        crcs ^= LENGTH_TABLES[place][columns[:, place]]
    return mask(crcs)


def _length_tables() -> Uint32Array:
    """Build the tables; the CRC of zeros is part of the first, so xoring the look-ups gives the whole CRC."""
    of_zeros = crc32c(bytes(_LENGTH_BYTES))
    crcs = [crc32c((1 << bit).to_bytes(_LENGTH_BYTES, "little")) for bit in range(64)]
    of_bits = np.array(crcs, np.uint32).reshape(_LENGTH_BYTES, 8) ^ np.uint32(of_zeros)
    tables = np.zeros((_LENGTH_BYTES, 1), np.uint32)
    tables[0] = of_zeros
    for of_bit in of_bits.T[:, :, None]:  # a byte's bits, from the lowest on
        tables = np.hstack([tables, tables ^ of_bit])
    return tables


LENGTH_TABLES: Uint32Array = _length_tables()
"""Entry [place, byte] is what a byte of a length adds to its CRC; (8, 256)."""


# ----------------------------------------------------------------------- runs and stretches
#
# A call that computes the CRC of 300 bytes is mostly overhead. One call over a whole run of frames checks
# all of them, if the CRC register is *forced* between the records. In a file of short records every two are
# 16 bytes apart, a footer and a header, which were read already. For a moment these bytes are replaced::
#
#     record 0 │ u0, 12 zeros │ record 1 │ u1, 12 zeros │ record 2        the CRC of all this, in one call
#                                                                         = the CRC of record 2 alone
#
# After record i, if its stored CRC c is right, the register is ~c. The CRC is linear: the bytes
# ``u = c ^ FORCE`` and twelve zeros bring the register from ~c to all ones, where each CRC begins, so the
# next record is checked as if it were the first. If c is wrong, the register differs from then on.
#
# One damaged record is always detected. Two or more cancel out as often as a damaged record has the right
# CRC by chance: one time in 2**32.
#
# CRCs also *combine*, which the search after damage uses: appending b bytes to a message whose CRC is c shifts c
# by b bytes, and the appended bytes add their own CRC,
#
#     crc(A + B) = shift(crc(A), len(B)) ^ crc(B)
#
# where ``shift(c, n)`` is c times x**(8n) modulo the CRC's polynomial, a linear map, looked up for each
# base-256 digit of n, in tables (1 MB per digit) that are made when first needed.

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


_FORCE = np.uint32(0xFFFFFFFF ^ _back(0xFFFFFFFF, 8 * OVERHEAD_BYTES))


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
