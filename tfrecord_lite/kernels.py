"""Loops that numba compiles; each does the work of NumPy code elsewhere, in one pass.

:func:`~tfrecord_lite.jit.enable_jit` loads this module, and nothing else does. Three rules keep it
small and safe:

- A kernel takes plain arrays and writes into arrays that its caller made, so that it can be run with
  every index checked (``NUMBA_BOUNDSCHECK=1``).
- Lengths in files may be forged. Every place is compared with the end of its message, and that with
  the end of the buffer, before a byte is read there.
- A kernel knows the usual form of its bytes. Of anything else it says that it is not sure, and the
  NumPy code reads the same bytes: what is an error, and which, is never decided here.

Places are int64 and bytes uint8 throughout; `words` is a buffer as :func:`~tfrecord_lite.arrays.lanes`.
A number of mixed signs would become a float in numba, so every mask and shift has its type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np

if TYPE_CHECKING:
    from tfrecord_lite.arrays import (
        Int64Array,
        Uint8Array,
        Uint32Array,
        Uint64Array,
    )

    Function = TypeVar("Function", bound=Callable[..., Any])

UNSURE = -1


def _compiled(function: Function) -> Function:
    return cast("Function", numba.njit(cache=True, nogil=True)(function))


_HEADER_BYTES, _OVERHEAD_BYTES = 12, 16
_MASK_DELTA = 0xA282EAD8
_32_BITS = np.uint64(0xFFFFFFFF)
_ONE, _BYTE, _SEVEN_BITS = np.uint64(1), np.uint64(0xFF), np.uint64(0x7F)
_TOP_BITS = np.uint64(0x8080808080808080)
_LANE_BYTES = 8


# -------------------------------------------------------------------------------- frames


@_compiled
def scan(
    words: Uint64Array,
    at: int,
    stop: int,
    most_bytes: int,
    tables: Uint32Array,
    found: Int64Array,
) -> tuple[int, int, int]:
    """Hop from header to header, and check the CRC of each; fill in where the whole frames start.

    `tables` are those of :func:`tfrecord_lite.records.crc32c.length_crcs`. Returns the number of
    whole frames, at most as many as `found` has room for; where they end; and the length in the
    header there, -1 if that is not there yet. The number is :data:`UNSURE` if a header is damaged, or
    says more than `most_bytes`.
    """
    n_found = 0
    while at + _HEADER_BYTES <= stop:
        length = words[at]
        crc = np.uint64(tables[0, length & _BYTE])
        for place in range(1, 8):
            crc ^= np.uint64(tables[place, (length >> np.uint64(8 * place)) & _BYTE])
        masked = (crc >> np.uint64(15) | crc << np.uint64(17)) & _32_BITS
        masked = (masked + np.uint64(_MASK_DELTA)) & _32_BITS
        # The stored CRC is the upper half of the word that ends with the header.
        if words[at + 4] >> np.uint64(32) != masked or length > np.uint64(most_bytes):
            return UNSURE, at, UNSURE
        end = at + _OVERHEAD_BYTES + np.int64(length)
        if end > stop or n_found == found.size:
            return n_found, at, np.int64(length)
        found[n_found] = at
        n_found += 1
        at = end
    return n_found, at, UNSURE


# -------------------------------------------------------------------------------- varints


@_compiled
def count_varints(
    data: Uint8Array, starts: Int64Array, lengths: Int64Array, counts: Int64Array
) -> int:
    """Count the varints in each run of them; return how many there are, UNSURE if a run is cut."""
    total = 0
    for run in range(starts.size):
        start, length = starts[run], lengths[run]
        # No sum is made before it is known to be small: one that overflows may be anything.
        if not (0 <= start <= data.size and 0 <= length <= data.size - start):
            return UNSURE
        stop = start + length
        if length and data[stop - 1] >= 0x80:
            return UNSURE
        n_values = 0
        for byte in data[start:stop]:
            n_values += np.int64(byte < 0x80)
        counts[run] = n_values
        total += n_values
    return total


@_compiled
def decode_varints(
    data: Uint8Array, starts: Int64Array, lengths: Int64Array, values: Uint64Array
) -> bool:
    """Decode runs that :func:`count_varints` was sure of; False if one is longer than ten bytes."""
    n_values = 0
    for run in range(starts.size):
        at = np.uint64(starts[run])  # unsigned, so that it is not looked at as a negative index
        stop = at + np.uint64(lengths[run])
        while at < stop:
            byte = np.uint64(data[at])
            at += _ONE
            value = byte & _SEVEN_BITS
            shift = np.uint64(7)
            while byte > _SEVEN_BITS:
                if shift > np.uint64(63):
                    return False
                byte = np.uint64(data[at])
                at += _ONE
                value |= (byte & _SEVEN_BITS) << shift
                shift += np.uint64(7)
            values[n_values] = value
            n_values += 1
    return True


@_compiled
def varint_sizes(values: Uint64Array, sizes: Uint8Array) -> int:
    """Fill in how many bytes each number takes as a varint; return those of all."""
    total = 0
    for number in range(values.size):
        value = values[number]
        size = 1
        for n_bits in (7, 14, 21, 28, 35, 42, 49, 56, 63):  # without branches
            size += np.int64(value >> np.uint64(n_bits) != 0)
        sizes[number] = size
        total += size
    return total


@_compiled
def encode_varints(values: Uint64Array, out: Uint8Array) -> None:
    """Write numbers as varints, end to end; `out` has as many bytes as they take."""
    at = np.uint64(0)
    for value in values:
        left = value
        while left > _SEVEN_BITS:
            out[at] = (left & _SEVEN_BITS) | np.uint64(0x80)
            at += _ONE
            left >>= np.uint64(7)
        out[at] = left
        at += _ONE


# -------------------------------------------------------------------------------- steps


@_compiled
def count_steps(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, tag: int, counts: Int64Array
) -> tuple[int, int]:
    """Count the plain, short steps of each list, with the tag of their kind; 0 if others are in it.

    As :func:`tfrecord_lite.example.sequence.batch.find_plain`, whose lists these are. Returns the
    number of steps of all lists; and the bytes of each, 0 if they differ.
    """
    total, size = 0, UNSURE
    for number in range(starts.size):
        place, stop = starts[number], stops[number]
        counts[number] = 0
        if not 0 <= place <= stop <= data.size:  # no sum before it is known to be small
            continue
        n_steps = 0
        while place + 6 <= stop:
            room = np.int64(data[place + 1])
            if room < 4 or room > 0x7F or place + 2 + room > stop:
                break
            if data[place] != 0x0A or data[place + 2] != tag or data[place + 3] != room - 2:
                break
            if data[place + 4] != 0x0A or data[place + 5] != room - 4:
                break
            if tag == 0x12 and room & 3:
                break
            if size == UNSURE:
                size = room + 2
            elif size != room + 2:
                size = 0
            n_steps += 1
            place += 2 + room
        if place == stop:
            counts[number] = n_steps
            total += n_steps
    return total, size


@_compiled
def steps_at(
    data: Uint8Array, starts: Int64Array, counts: Int64Array, contents: Int64Array
) -> None:
    """Fill in the start and the length of each content in lists of counted steps; shape (2, n)."""
    n_steps = 0
    for number in range(starts.size):
        place = starts[number]
        for _ in range(counts[number]):
            room = np.int64(data[place + 1])
            contents[0, n_steps] = place + 6
            contents[1, n_steps] = room - 4
            n_steps += 1
            place += 2 + room


@_compiled
def pad_steps(
    data: Uint8Array, firsts: Int64Array, counts: Int64Array, size: int, out: Uint8Array
) -> None:
    """Copy the contents of counted steps, `size` bytes apart, into rows, and zeros after them.

    `firsts` are the first contents of the lists. `out` has the shape (n_lists, longest, n_bytes).
    """
    n_bytes = out.shape[2]
    for number in range(firsts.size):
        place = firsts[number]
        for step in range(counts[number]):
            content = data[place : place + n_bytes]
            to = out[number, step]
            for byte in range(n_bytes):
                to[byte] = content[byte]
            place += size
        out[number, counts[number] :] = 0
