"""CRC-32C, masked as the record format requires, of one record and of many.

A record holds two checksums: one of its 8 length bytes, one of its data (rule
F2). Both are CRC-32C (Castagnoli: reflected polynomial 0x82F63B78, start and
final xor all ones), then *masked*, because the CRC of data that itself holds
CRCs is weak::

    masked = ((crc >> 15) | (crc << 17)) + 0xA282EAD8    (mod 2**32)

The lengths' CRCs are computed here for a whole block at once: the CRC of a fixed number of bytes is
linear over xor, so it is eight table look-ups per length, each of them one NumPy pass over all lengths.

Sources: RFC 3720, appendix B.4; TensorFlow's ``tensorflow/core/lib/hash/crc32c.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.machinery import PathFinder
from typing import SupportsIndex

import numpy as np

from tfrecord_lite.arrays import Buffer, Uint32Array, Uint64Array

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
