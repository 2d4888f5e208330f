"""The order of the files' records: one file after the other, or several in turns.

Several files take turns as in TensorFlow's ``interleave`` and ``num_parallel_reads``:
`cycle_length` slots take turns; each holds an open file, or is empty. In its turn a slot gives the
next `block_length` records of its file; if the file has fewer, it gives those and becomes empty. An
empty slot first opens the next file, if there is one. As long as no file ends, many rounds are done
at once, by permuting record numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.dataset.chunks import join_records

if TYPE_CHECKING:
    from tfrecord_lite.dataset.cutting import State

    Read = Callable[[int, int], Iterator[Block]]
    """Reads the file at a place, after its first `n` records."""

_MOST_RECORDS = 4096
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
        self._chunks = read(file, n_taken)
        self._ready: list[Block] = []
        self.n_ready = 0
        self.n_bytes = 0
        self._is_at_end = False

    def fill(self, wanted: int, most: int = 0, about_bytes: int = 0) -> None:
        """Read until `wanted` records are ready, or up to `most` if they are small."""
        while not self._is_at_end and (
            self.n_ready < wanted or (self.n_ready < most and self.n_bytes < about_bytes)
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
            self.n_bytes += chunk.nbytes

    def take(self, wanted: int) -> list[Block]:
        """Return the next records, fewer only at the end."""
        self.fill(wanted)
        out = []
        while wanted and self._ready:
            chunk = self._ready.pop(0)
            if len(chunk) > wanted:
                self._ready.insert(0, chunk[wanted:])
                chunk = chunk[:wanted]
            out.append(chunk)
            wanted -= len(chunk)
            self.n_taken += len(chunk)
            self.n_ready -= len(chunk)
            self.n_bytes -= chunk.nbytes
        return out


def interleaved(
    read: Read, n_files: int, cycle_length: int, block_length: int, state: State
) -> Iterator[tuple[Block, State]]:
    """Yield the records of files in turns, each chunk with the state after it."""
    at: dict[str, Any] = state or {"next": 0, "turn": 0, "slots": [None] * cycle_length}
    next_file, turn = at["next"], at["turn"]
    slots = [_OpenFile(read, *where) if where else None for where in at["slots"]]
    while next_file < n_files or any(slots):
        active = [slot for slot in slots[turn:] + slots[:turn] if slot is not None]
        is_steady = next_file == n_files or len(active) == cycle_length
        n_rounds = _whole_rounds(active, block_length) if is_steady else 0
        chunk: Block | None
        error = None
        if n_rounds:
            chunk = _take_rounds(active, n_rounds, block_length)
        else:
            slot = slots[turn]
            if slot is None and next_file < n_files:
                slot = slots[turn] = _OpenFile(read, next_file, 0)
                next_file += 1
            pieces = [] if slot is None else slot.take(block_length)
            if slot is not None and sum(map(len, pieces)) < block_length:
                error = slot.error
                slots[turn] = None if error is None else slot
            if error is None:  # otherwise it remains this slot's turn, also in a resumed run
                turn = (turn + 1) % cycle_length
            chunk = join_records(pieces) if pieces else None
        if chunk is not None:
            where = [None if slot is None else [slot.file, slot.n_taken] for slot in slots]
            yield chunk, {"next": next_file, "turn": turn, "slots": where}
        if error is not None:
            raise error


def _whole_rounds(files: list[_OpenFile], block_length: int) -> int:
    """Read ahead in each file; return the number of rounds in which no file ends."""
    most = max(_MOST_RECORDS // (len(files) * block_length), 1)
    for file in files:
        file.fill(block_length, most * block_length, _ABOUT_BYTES // len(files))
    round_bytes = sum(file.n_bytes * block_length // max(file.n_ready, 1) for file in files)
    most = max(min(most, _ABOUT_BYTES // max(round_bytes, 1)), 1)
    return min(most, *(file.n_ready // block_length for file in files))


def _take_rounds(files: list[_OpenFile], n_rounds: int, block_length: int) -> Block:
    """Take whole rounds at once."""
    pieces = [piece for file in files for piece in file.take(n_rounds * block_length)]
    # Record numbers in the order of the pieces, by (file, round, turn); wanted by round first.
    shape = (len(files), n_rounds, block_length)
    numbers = np.arange(len(files) * n_rounds * block_length).reshape(shape)
    return join_records(pieces)[numbers.transpose(1, 0, 2).reshape(-1)]
