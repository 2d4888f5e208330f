"""The nodes that plans begin with: files in order or in turns, or all records in random order."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.chunks import RecordChunk
from tfrecord_lite.dataset.interleave import interleaved
from tfrecord_lite.dataset.plan import MemoryKey, PlanNode, Run
from tfrecord_lite.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
    plural,
)
from tfrecord_lite.index import TFRecordFile
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import (
    HEADER_BYTES,
    OVERHEAD_BYTES,
    first_bad_frame,
    frame_error,
)
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.block import Block
    from tfrecord_lite.dataset.feed import Pair, State
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.records.damage import DamageLog, SkippingStream

_MOST_RECORDS = 4096
_LARGE_RECORDS = 8
"""Number of large records to read at a time, from each open file."""
_ABOUT_BYTES = 4 * 1024 * 1024
"""About the bytes to read at a time in random order."""


@dataclass(frozen=True, kw_only=True)
class Files(PlanNode):
    """The records of files: one file after the other, or several in turns."""

    names: tuple[str, ...]
    numbers: range = range(sys.maxsize)
    """The number of each file in the whole data set."""
    options: ReadSettings = field(default_factory=ReadSettings)
    cycle_length: int = 1
    block_length: int = 1
    n_parts: int = 1
    number: int = 0
    seed: int | None = None
    """Seed of a random order of the files; None keeps theirs."""
    is_seeded: bool = True
    reshuffles: bool = True

    @property
    def skips_damage(self) -> bool:
        """Whether damage is skipped, rather than raised."""
        return self.options.on_error != "raise"

    def part(self, n_parts: int, number: int) -> Files:
        """Return a node that gives every `n_parts`-th record, from `number` on."""
        return replace(
            self, n_parts=self.n_parts * n_parts, number=self.number + self.n_parts * number
        )

    def worker_part(self, n_workers: int, worker: int) -> Files:
        """Divide by files if there are enough and this is not a part yet."""
        if self.n_parts == 1 and len(self.names) >= n_workers:
            names, numbers = self.names[worker::n_workers], self.numbers[worker::n_workers]
            return replace(self, names=names, numbers=numbers)
        return self.part(n_workers, worker)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part; at the end, warn of skipped damage."""
        log = run.damage.begin(self.options)
        try:
            yield from self._part_of(self._all(run, state, log), state)
        finally:  # also if the caller stops, or a later file is missing
            if log is not None:
                log.give_warning()

    @property
    def _checks_all(self) -> bool:
        """Whether to check the CRCs of all parts, rather than of this part only.

        If damage is skipped, all parts have to count the same records.
        """
        return self.n_parts == 1 or self.cycle_length > 1 or self.skips_damage

    def _all(
        self, run: Run, state: State, log: DamageLog | None
    ) -> Iterator[tuple[RecordChunk, State]]:
        """Yield the records of all parts."""
        verify = self.options.verify and self._checks_all
        read = functools.partial(self._read, self._order(run), log, verify=verify)
        at = state["at"] if state else None
        if self.cycle_length > 1:
            return interleaved(read, len(self.names), self.cycle_length, self.block_length, at)
        return self._in_order(read, at)

    def _part_of(self, pairs: Iterator[tuple[RecordChunk, State]], state: State) -> Iterator[Pair]:
        """Yield the records of this part; check them unless all were checked."""
        is_to_check = self.options.verify and not self._checks_all
        seen = state["seen"] if state else 0
        for chunk, after in pairs:
            first = (self.number - seen) % self.n_parts
            seen += len(chunk)
            mine = chunk if self.n_parts == 1 else chunk[first :: self.n_parts]
            wrong = _first_bad_record(mine) if is_to_check else None
            if wrong is None:
                if len(mine):
                    yield mine, {"at": after, "seen": seen}
                continue
            if wrong:  # a run resumed after these meets the damage again
                n_left = len(chunk) - (first + wrong * self.n_parts)
                before = {**after, "taken": after["taken"] - n_left} if after else None
                yield mine[:wrong], {"at": before, "seen": seen - n_left}
            raise _damage_error(mine, wrong)

    def _order(self, run: Run) -> list[int]:
        """Return the numbers of the files, in the order of this epoch."""
        if self.seed is None:
            return list(range(len(self.names)))
        key = run.key(self.seed, 0, reshuffles=self.reshuffles)
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
        """Yield the records, after the first `n_skip`, of the file at a place in the order."""
        number = numbers[place]
        # The first `n_skip` records were checked in an earlier run. Only where damage is skipped
        # are they checked again, since only intact records count.
        is_to_check = verify and n_skip > 0 and log is None
        options = replace(self.options, verify=verify and not is_to_check)
        stream = RecordStream(self.names[number], options, block_records=_LARGE_RECORDS)
        records: RecordStream | SkippingStream = (
            stream if log is None else log.skipping(stream, self.numbers[number])
        )
        try:
            while (block := records.next_block()) is not None:
                chunk = self._chunk(number, block)[n_skip:]
                n_skip -= min(len(block), n_skip)
                wrong = _first_bad_record(chunk) if is_to_check else None
                if wrong is not None:
                    if wrong:
                        yield chunk[:wrong]
                    raise _damage_error(chunk, wrong)
                if len(chunk):
                    yield chunk
            if n_skip:
                detail = f"the file ends {plural(n_skip, 'record')} before the place to resume at"
                name = self.names[number]
                raise FailedPreconditionError(Reason.STALE_INDEX, source=name, detail=detail)
        finally:
            stream.close()

    def _chunk(self, number: int, block: Block) -> RecordChunk:
        span = block.spans[0]
        places = np.empty((len(block), 3), np.int64)  # file, index, offset of each record
        places[:, 0] = number
        places[:, 1] = np.arange(span.index, span.index + len(block))
        places[:, 2] = block.offsets
        places[:, 2] += span.base or 0
        return RecordChunk(self.names, block.data, block.offsets, block.lengths, places)


def _first_bad_record(chunk: RecordChunk) -> int | None:
    """Return the number of the first record with a wrong CRC, in a chunk that holds whole frames."""
    offsets, sizes = chunk.offsets - HEADER_BYTES, chunk.lengths + OVERHEAD_BYTES
    return first_bad_frame(chunk.data, offsets, sizes)


def _damage_error(chunk: RecordChunk, number: int) -> TFRecordError:
    """Return the error of a damaged record."""
    start, size = int(chunk.offsets[number]) - HEADER_BYTES, int(chunk.lengths[number])
    file, index, offset = map(int, chunk.places[number])
    size += OVERHEAD_BYTES
    frame = chunk.data[start : start + size].tobytes()
    return frame_error(frame, size, offset, chunk.names[file], index)


@dataclass(frozen=True, kw_only=True)
class ShuffledRecords(PlanNode):
    """All records of uncompressed files, in random order."""

    files: IndexedFiles
    seed: int
    is_seeded: bool
    reshuffles: bool = True
    n_parts: int = 1
    number: int = 0

    def part(self, n_parts: int, number: int) -> ShuffledRecords:
        """Return a node that gives every `n_parts`-th record in that order, from `number` on."""
        return replace(
            self, n_parts=self.n_parts * n_parts, number=self.number + self.n_parts * number
        )

    def settings(self) -> dict[str, Any]:
        """Add the number of files."""
        return {**super().settings(), "n_files": len(self.files.names)}

    def size(self) -> int:
        """Return the number of records of this part."""
        return len(range(self.number, len(self.files.opened()), self.n_parts))

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part."""
        file = self.files.opened()
        key = run.key(self.seed, 0, reshuffles=self.reshuffles)
        wanted = order.permutation(key, len(file))[self.number :: self.n_parts]
        n_bytes = sum(int(index.sizes.sum()) for index in file.indexes)
        most = min(max(_ABOUT_BYTES * len(file) // max(n_bytes, 1), 1), _MOST_RECORDS)
        at = state["taken"] if state else 0
        if state and state["of"] != len(file):
            detail = f"the state is of {plural(state['of'], 'record')}, but the files now have {len(file):,}"
            raise FailedPreconditionError(Reason.STALE_INDEX, detail=detail)
        while at < wanted.size:
            numbers = wanted[at : at + most]
            try:
                block = file.block(numbers)
            except TFRecordError:
                if numbers.size == 1:
                    raise
                most = 1  # read one by one, so that those before the damaged one come first
                continue
            at += numbers.size
            places = file.places(numbers)
            yield (
                RecordChunk(file.sources, block.data, block.offsets, block.lengths, places),
                {"taken": at, "of": len(file)},
            )


@dataclass(frozen=True, kw_only=True)
class IndexedFiles:
    """Files whose records are read by number; the process keeps their index once it is made."""

    names: tuple[str, ...]
    verify: bool
    max_record_bytes: int
    storage_options: StorageOptions = field(default=None, compare=False)
    key: MemoryKey = field(default_factory=MemoryKey, compare=False)

    def opened(self) -> TFRecordFile:
        """Open the files, or return them as opened before if they have not changed."""
        file: TFRecordFile | None = self.key.recall()
        if file is None or file.is_stale:
            file = TFRecordFile(
                self.names,
                verify=self.verify,
                max_record_bytes=self.max_record_bytes,
                storage_options=self.storage_options,
            )
            self.key.keep(file)
        return file

    def __getstate__(self) -> dict[str, Any]:
        """Take the index along to another process."""
        return {**self.__dict__, "kept": self.key.recall()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Keep the index in this process."""
        kept = state.pop("kept")
        self.__dict__.update(state)
        if kept is not None:
            self.key.keep(kept)


def shuffled_records(files: Files, **settings: Any) -> ShuffledRecords:
    """Return the records of files in random order instead, for files that skip no damage."""
    if files.skips_damage:
        detail = "shuffle_all needs intact files: recover the files first, and leave out on_error"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    indexed = IndexedFiles(
        names=files.names,
        verify=files.options.verify,
        max_record_bytes=files.options.max_record_bytes,
        storage_options=files.options.storage_options,
    )
    return ShuffledRecords(files=indexed, n_parts=files.n_parts, number=files.number, **settings)
