"""Several files at a time, in turns, as TensorFlow's ``interleave`` and ``num_parallel_reads``.

There are so many slots, each with a file or empty. They take turns: a slot gives the next
`block_length` records of its file. One whose file has fewer gives those and is empty; an
empty slot takes the next file, if there is one, when its turn comes.

As long as no file ends, many rounds are done at once, by permuting numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.dataset.chunks import RecordChunk, join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.dataset.feed import State

_MOST_RECORDS = 4096
_ABOUT_BYTES = 4 * 1024 * 1024
"""How much is put together at a time, if rounds are not larger."""


class _Slot:
    """One open file."""

    def __init__(self, chunks: Iterator[RecordChunk], file: int, n_taken: int) -> None:
        self.file = file
        self.n_taken = n_taken
        self.error: Exception | None = None
        self._chunks = chunks
        self._ready: list[RecordChunk] = []
        self.n_ready = 0
        self.n_bytes = 0
        self._is_at_end = False

    def fill(self, wanted: int, most: int = 0, about_bytes: int = 0) -> None:
        """Read until there are so many records, or no more; a few more that are small."""
        while not self._is_at_end and (
            self.n_ready < wanted or (self.n_ready < most and self.n_bytes < about_bytes)
        ):
            try:
                chunk = next(self._chunks, None)
            except Exception as error:  # noqa: BLE001 - it comes when its turn has come
                self.error, chunk = error, None
            if chunk is None:
                self._is_at_end = True
                return
            self._ready.append(chunk)
            self.n_ready += len(chunk)
            self.n_bytes += int(chunk.lengths.sum())

    def take(self, wanted: int) -> list[RecordChunk]:
        """Return the next records, fewer only if there are no more."""
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
            self.n_bytes -= int(chunk.lengths.sum())
        return out


def interleaved(
    read: Callable[[int, int], Iterator[RecordChunk]],
    n_files: int,
    cycle_length: int,
    block_length: int,
    state: State,
) -> Iterator[tuple[RecordChunk, State]]:
    """Yield the records of files in turns.

    Parameters
    ----------
    read : callable
        Given a file's number, and how many of its records to skip.
    n_files, cycle_length, block_length : int
    state : dict or None
    """
    at: dict[str, Any] = state or {"next": 0, "turn": 0, "slots": [None] * cycle_length}
    next_file, turn = at["next"], at["turn"]
    slots = [
        _Slot(read(where[0], where[1]), where[0], where[1]) if where else None
        for where in at["slots"]
    ]
    while next_file < n_files or any(slots):
        active = [slot for slot in slots[turn:] + slots[:turn] if slot is not None]
        n_rounds = 0
        if next_file == n_files or len(active) == cycle_length:
            most = max(_MOST_RECORDS // (len(active) * block_length), 1)
            for slot in active:
                slot.fill(block_length, most * block_length, _ABOUT_BYTES // len(active))
            round_bytes = sum(
                slot.n_bytes * block_length // max(slot.n_ready, 1) for slot in active
            )
            most = max(min(most, _ABOUT_BYTES // max(round_bytes, 1)), 1)
            n_rounds = min(most, *(slot.n_ready // block_length for slot in active))
        error = None
        if n_rounds:
            chunk = _rounds(active, n_rounds, block_length)
        else:
            slot = slots[turn]
            if slot is None and next_file < n_files:
                slot = slots[turn] = _Slot(read(next_file, 0), next_file, 0)
                next_file += 1
            pieces = [] if slot is None else slot.take(block_length)
            if slot is not None and sum(map(len, pieces)) < block_length:
                error = slot.error
                slots[turn] = None if error is None else slot
            if error is None:  # or else it is this one's turn, also for who goes on here
                turn = (turn + 1) % cycle_length
            chunk = join(pieces) if pieces else None  # type: ignore[assignment]
        if chunk is not None:
            where = [None if slot is None else [slot.file, slot.n_taken] for slot in slots]
            yield chunk, {"next": next_file, "turn": turn, "slots": where}
        if error is not None:
            raise error


def _rounds(slots: list[_Slot], n_rounds: int, block_length: int) -> RecordChunk:
    """Take some whole rounds at once."""
    pieces = [piece for slot in slots for piece in slot.take(n_rounds * block_length)]
    shape = (len(slots), n_rounds, block_length)
    numbers = np.arange(len(slots) * n_rounds * block_length).reshape(shape)
    chunk: Any = join(pieces)
    mixed: RecordChunk = chunk.pick(numbers.transpose(1, 0, 2).reshape(-1))
    return mixed
