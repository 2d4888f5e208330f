"""The order of the files' records: one file after the other, or several in turns.

As in TensorFlow's ``interleave`` and ``num_parallel_reads``, `cycle_length` slots take turns. In its turn a slot
gives the next `block_length` records of its file; if the file has fewer, it gives those and becomes empty. An
empty slot first opens the next file. As long as no file ends, many rounds are done at once, by permuting
record numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.dataset.chunks import join_records
from tfrecord_lite.dataset.cutting import State

Read = Callable[[int, int], Iterator[Block]]
"""Reads the file at a place, after its first `n` records."""

_MOST_RECORDS = 4096
_LONG_TURN = 16
"""Number of records from which on turns are taken one by one, without a copy."""
_ABOUT_BYTES = 4 * 1024 * 1024
"""About the bytes of whole rounds that are taken at once."""


def in_order(read: Read, n_parts: int, state: State) -> Iterator[tuple[Block, State]]:
    """Yield the records of one part after the other, each chunk with the state after it."""
    place, n_taken = (state["file"], state["taken"]) if state else (0, 0)
    while place < n_parts:
        for chunk in read(place, n_taken):
            n_taken += len(chunk)
            yield chunk, {"file": place, "taken": n_taken}
        place, n_taken = place + 1, 0


class _OpenFile:
    """A file in a slot, with the records that were read and not given yet."""

    def __init__(self, read: Read, file: int, n_taken: int) -> None:
        self.file = file
        self.n_taken = n_taken
        self.error: Exception | None = None
        self._chunks: Any = read(file, n_taken)
        self._ready: deque[Block] = deque()
        self._n_used = 0  # of the first chunk
        self.n_ready = 0
        self._n_bytes = 0
        self._is_at_end = False

    @property
    def mean_bytes(self) -> int:
        """The mean length of the records that are ready, about."""
        return self._n_bytes // max(self.n_ready + self._n_used, 1)

    def fill(self, n_wanted: int, most: int = 0, about_bytes: int = 0) -> None:
        """Read until `n_wanted` records are ready, or `most` small ones."""
        while not self._is_at_end and (
            self.n_ready < n_wanted or (self.n_ready < most and self._n_bytes < about_bytes)
        ):
            try:
                chunk = next(self._chunks, None)
            except Exception as error:  # noqa: BLE001 - it is raised when its turn comes
                self.error, chunk = error, None
            if chunk is None:
                self._is_at_end = True
                return
            self._ready.append(chunk)
            self.n_ready += len(chunk)
            self._n_bytes += chunk.nbytes

    def close(self) -> None:
        self._chunks.close()

    def take(self, most: int) -> Block | None:
        """Return the next records, one or more, at most `most`; None at the end, or before an error."""
        self.fill(1)
        if not self._ready:
            return None
        first, start = self._ready[0], self._n_used
        n_left = len(first) - start
        n = min(n_left, most)
        self._n_used += n
        if n == n_left:
            self._n_bytes -= self._ready.popleft().nbytes
            self._n_used = 0
        self.n_ready -= n
        self.n_taken += n
        return first[start : start + n] if start or n < n_left else first


def interleaved(
    read: Read, n_files: int, cycle_length: int, block_length: int, state: State
) -> Iterator[tuple[Block, State]]:
    """Yield the records of files in turns, each chunk with the state after it."""
    at: dict[str, Any] = state or {"next": 0, "turn": 0, "given": 0, "slots": [None] * cycle_length}
    next_file, turn, n_given = at["next"], at["turn"], at["given"]  # of the records of this turn
    where = at["slots"]  # the file in each slot, and how many of its records were given
    slots = [_OpenFile(read, *place) if place else None for place in where]
    while next_file < n_files or any(slots):
        n_rounds, slot = 0, slots[turn]
        if block_length < _LONG_TURN and n_given == 0:
            active = [slot for slot in slots[turn:] + slots[:turn] if slot is not None]
            if next_file == n_files or len(active) == cycle_length:
                n_rounds = _whole_rounds(active, block_length)
        if n_rounds:
            chunk: Block | None = _take_rounds(active, n_rounds, block_length)
            where = [[slot.file, slot.n_taken] if slot else None for slot in slots]
        else:
            if slot is None and next_file < n_files:
                slot = slots[turn] = _OpenFile(read, next_file, 0)
                next_file += 1
            chunk = None if slot is None else slot.take(block_length - n_given)
            if chunk is None and slot is not None and slot.error is not None:
                for other in filter(None, slots):  # which the error's traceback keeps
                    other.close()
                raise slot.error  # it remains this slot's turn, also in a resumed run
            if chunk is None:
                slots[turn] = None
            where = list(where)
            where[turn] = None if chunk is None or slot is None else [slot.file, slot.n_taken]
            n_given += block_length if chunk is None else len(chunk)
            if n_given >= block_length:
                turn, n_given = (turn + 1) % cycle_length, 0
        if chunk is not None:
            yield chunk, {"next": next_file, "turn": turn, "given": n_given, "slots": where}


def _whole_rounds(files: list[_OpenFile], block_length: int) -> int:
    """Read ahead; return the number of rounds in which no file ends, 0 if a turn is large."""
    for file in files:
        file.fill(1)
    round_bytes = block_length * sum(file.mean_bytes for file in files)
    if block_length > 1 and round_bytes > _ABOUT_BYTES:
        return 0
    most = max(_MOST_RECORDS // (len(files) * block_length), 1)
    most = max(min(most, _ABOUT_BYTES // max(round_bytes, 1)), 1)
    for file in files:
        file.fill(block_length, most * block_length, _ABOUT_BYTES // len(files))
    return min(most, *(file.n_ready // block_length for file in files))


def _take_rounds(files: list[_OpenFile], n_rounds: int, block_length: int) -> Block:
    pieces = []
    for file in files:
        n_left = n_rounds * block_length
        while n_left and (piece := file.take(n_left)) is not None:
            pieces.append(piece)
            n_left -= len(piece)
    # Record numbers in the order of the pieces, by (file, round, turn); wanted by round first.
    shape = (len(files), n_rounds, block_length)
    numbers = np.arange(len(files) * n_rounds * block_length).reshape(shape)
    return join_records(pieces)[numbers.transpose(1, 0, 2).reshape(-1)]
