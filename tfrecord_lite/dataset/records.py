"""Where records come from: files in order, interleaved, or all in one random order."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.chunks import RecordChunk
from tfrecord_lite.dataset.interleave import interleaved
from tfrecord_lite.dataset.plan import Source
from tfrecord_lite.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
)
from tfrecord_lite.index import TFRecordFile
from tfrecord_lite.records.damage import Damage
from tfrecord_lite.records.framing import (
    HEADER_BYTES,
    OVERHEAD_BYTES,
    first_bad_frame,
    frame_error,
)
from tfrecord_lite.records.options import ReadOptions
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.block import Block
    from tfrecord_lite.dataset.feed import Pair, State
    from tfrecord_lite.dataset.plan import Context
    from tfrecord_lite.records.damage import DamageLog, SkippingStream

_MOST_RECORDS = 4096
_LARGE_RECORDS = 8
"""So many large records are read at a time, of each file that is open."""
_ABOUT_BYTES = 4 * 1024 * 1024
"""How much is read in random order at a time."""


@dataclass(frozen=True, kw_only=True)
class Files(Source):
    """The records of files, one file after the other, or several at a time."""

    names: tuple[str, ...]
    numbers: range = range(sys.maxsize)
    """The number of each file in the data set."""
    options: ReadOptions = field(default_factory=ReadOptions)
    cycle_length: int = 1
    block_length: int = 1
    n_parts: int = 1
    number: int = 0
    seed: int | None = None
    """Of a random order of the files; None keeps theirs."""
    is_seeded: bool = True
    reshuffles: bool = True
    damage: Damage = field(default_factory=Damage)

    def part(self, n_parts: int, number: int) -> Files:
        """Return one that gives every n-th of the records."""
        return replace(
            self, n_parts=self.n_parts * n_parts, number=self.number + self.n_parts * number
        )

    def worker_part(self, n_workers: int, worker: int) -> Files:
        """Split by files if there are enough and it makes no difference to others."""
        if self.n_parts == 1 and len(self.names) >= n_workers:
            names, numbers = self.names[worker::n_workers], self.numbers[worker::n_workers]
            return replace(self, names=names, numbers=numbers)
        return self.part(n_workers, worker)

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield the records of this part; at the end, warn of what was passed over."""
        log = self.damage.begin()
        try:
            yield from self._run(context, state, log)
        finally:  # also if the caller has enough, or a further file is not there
            if log is not None:
                log.give_warning()

    def _run(self, context: Context, state: State, log: DamageLog | None) -> Iterator[Pair]:
        is_whole = self.n_parts == 1
        # Who passes over damage checks all, so that all parts count the same records.
        checks_all = is_whole or self.cycle_length > 1 or log is not None
        if self.cycle_length > 1:
            read = functools.partial(
                self._read, self._order(context), log, verify=self.options.verify
            )
            sizes = (self.cycle_length, self.block_length)
            pairs = interleaved(read, len(self.names), *sizes, state["at"] if state else None)
        else:
            read = functools.partial(
                self._read, self._order(context), log, verify=checks_all and self.options.verify
            )
            pairs = self._in_order(read, state["at"] if state else None)
        seen = state["seen"] if state else 0
        for chunk, after in pairs:
            first = (self.number - seen) % self.n_parts
            seen += len(chunk)
            now = {"at": after, "seen": seen}
            mine = chunk if is_whole else chunk[first :: self.n_parts]
            if checks_all or not self.options.verify:
                if len(mine):
                    yield mine, now
                continue
            # Who reads a part need not check what others will.
            wrong = _first_wrong(mine)
            if wrong is None:
                if len(mine):
                    yield mine, now
                continue
            if wrong:  # who goes on behind those meets the damage again
                n_left = len(chunk) - (first + wrong * self.n_parts)
                before = {**after, "taken": after["taken"] - n_left} if after else None
                yield mine[:wrong], {"at": before, "seen": seen - n_left}
            raise _loss(mine, wrong)

    def _order(self, context: Context) -> list[int]:
        """Return the numbers of the files in the order of this epoch."""
        if self.seed is None:
            return list(range(len(self.names)))
        key = (self.seed, 0, *(context.epoch if self.reshuffles else ()))
        numbers: list[int] = order.permutation(key, len(self.names)).tolist()
        return numbers

    def _in_order(
        self, read: Callable[[int, int], Iterator[RecordChunk]], state: State
    ) -> Iterator[tuple[RecordChunk, State]]:
        file, taken = (state["file"], state["taken"]) if state else (0, 0)
        for number in range(file, len(self.names)):
            n_given = taken if number == file else 0
            for chunk in read(number, n_given):
                n_given += len(chunk)
                yield chunk, {"file": number, "taken": n_given}

    def _read(
        self, numbers: list[int], log: DamageLog | None, place: int, n_skip: int, *, verify: bool
    ) -> Iterator[RecordChunk]:
        """Yield the records of the file at a place in the order, behind the first so many."""
        number = numbers[place]
        # What is skipped was checked when it was given out; but only whole records count
        # if others are passed over.
        options = replace(self.options, verify=verify and (not n_skip or log is not None))
        stream = RecordStream(self.names[number], options, block_records=_LARGE_RECORDS)
        is_to_check = verify and n_skip > 0 and log is None
        records: RecordStream | SkippingStream = (
            stream if log is None else log.skipping(stream, self.numbers[number])
        )
        try:
            while (block := records.next_block()) is not None:
                chunk = self._chunk(number, block)[n_skip:]
                n_skip -= min(len(block), n_skip)
                wrong = _first_wrong(chunk) if is_to_check else None
                if wrong is not None:
                    if wrong:
                        yield chunk[:wrong]
                    raise _loss(chunk, wrong)
                if len(chunk):
                    yield chunk
            if n_skip:
                detail = f"a run is to go on {n_skip} records behind the end of the file"
                name = self.names[number]
                raise FailedPreconditionError(Reason.STALE_INDEX, source=name, detail=detail)
        finally:
            stream.close()

    def _chunk(self, number: int, block: Block) -> RecordChunk:
        span = block.spans[0]
        places = np.empty((len(block), 3), np.int64)
        places[:, 0] = number
        places[:, 1] = np.arange(span.index, span.index + len(block))
        places[:, 2] = block.offsets
        places[:, 2] += span.base or 0
        return RecordChunk(self.names, block.data, block.offsets, block.lengths, places)


def _first_wrong(chunk: RecordChunk) -> int | None:
    """Return the first record whose CRC is wrong, of a chunk as it was read."""
    places, sizes = chunk.offsets - HEADER_BYTES, chunk.lengths + OVERHEAD_BYTES
    return first_bad_frame(chunk.data, places, sizes)


def _loss(chunk: RecordChunk, number: int) -> TFRecordError:
    start, size = int(chunk.offsets[number]) - HEADER_BYTES, int(chunk.lengths[number])
    file, index, offset = chunk.places[number].tolist()
    size += OVERHEAD_BYTES
    frame = chunk.data[start : start + size].tobytes()
    return frame_error(frame, size, offset, chunk.names[file], index)


@dataclass(frozen=True, kw_only=True)
class ShuffledFiles(Source):
    """All records of uncompressed files, in a random order each time."""

    files: _Opened
    seed: int
    is_seeded: bool
    reshuffles: bool = True
    n_parts: int = 1
    number: int = 0

    def part(self, n_parts: int, number: int) -> ShuffledFiles:
        """Return one that gives every n-th of the records in that order."""
        return replace(
            self, n_parts=self.n_parts * n_parts, number=self.number + self.n_parts * number
        )

    def settings(self) -> dict[str, Any]:
        """Return the numbers, and that of the files."""
        return {**super().settings(), "n_files": self.files.n_files}

    def size(self) -> int:
        """Return the number of records of this part."""
        return len(range(self.number, len(self.files.opened), self.n_parts))

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield the records of this part."""
        file = self.files.opened
        key = (self.seed, 0, *(context.epoch if self.reshuffles else ()))
        wanted = order.permutation(key, len(file))[self.number :: self.n_parts]
        n_bytes = sum(int(index.sizes.sum()) for index in file.indexes)
        most = min(max(_ABOUT_BYTES * len(file) // max(n_bytes, 1), 1), _MOST_RECORDS)
        at = state["taken"] if state else 0
        if state and state["of"] != len(file):
            detail = f"a run of {state['of']} records is to go on, there are {len(file)}"
            raise FailedPreconditionError(Reason.STALE_INDEX, detail=detail)
        while at < wanted.size:
            numbers = wanted[at : at + most]
            try:
                block = file.block(numbers)
            except TFRecordError:
                if numbers.size == 1:
                    raise
                most = 1  # those before the bad one come first
                continue
            at += numbers.size
            places = file.places(numbers)
            names = file.sources
            yield (
                RecordChunk(names, block.data, block.offsets, block.lengths, places),
                {"taken": at, "of": len(file)},
            )


class _Opened:
    """Files whose index is made when it is first needed, and kept."""

    def __init__(self, names: tuple[str, ...], *, verify: bool, max_record_bytes: int) -> None:
        self.n_files = len(names)
        self._names = names
        self._verify = verify
        self._max_record_bytes = max_record_bytes
        self._file: TFRecordFile | None = None

    @property
    def opened(self) -> TFRecordFile:
        """The files; with a new index if they have changed."""
        if self._file is None or self._file.is_stale:
            self._file = TFRecordFile(
                self._names, verify=self._verify, max_record_bytes=self._max_record_bytes
            )
        return self._file


def shuffled_files(files: Files, **settings: Any) -> ShuffledFiles:
    """Make of files in order the same files in random order.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` if damage is to be passed over.
    """
    if files.damage.on_error != "raise":
        detail = "records in random order need an index, and damaged files have none; recover them"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    most = files.options.max_record_bytes
    opened = _Opened(files.names, verify=files.options.verify, max_record_bytes=most)
    return ShuffledFiles(files=opened, n_parts=files.n_parts, number=files.number, **settings)
