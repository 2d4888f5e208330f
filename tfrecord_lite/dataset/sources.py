"""The nodes that plans begin with: files in order or in turns, or all records in random order."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import Int64Array, row_splits
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, Block
from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.chunks import RecordChunk, join
from tfrecord_lite.dataset.cutting import Demand
from tfrecord_lite.dataset.plan import MemoryKey, Run, Source
from tfrecord_lite.errors import FailedPreconditionError, Reason, TFRecordError, plural
from tfrecord_lite.files.names import is_url, local_size
from tfrecord_lite.index import TFRecordFile
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.damage import DamageLog, SkippingStream
from tfrecord_lite.records.framing import first_bad_frame, frame_error
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from tfrecord_lite.dataset.cutting import Pair, State

    Read = Callable[[int, int], Iterator[RecordChunk]]
    """Reads file `number`, after its first `n` records."""
    _Stamp = tuple[str, int, int, int]

_MOST_RECORDS = 4096
_LARGE_RECORDS = 8
"""Number of large records to read at a time, from each open file."""
_ABOUT_BYTES = 4 * 1024 * 1024
"""About the bytes of a chunk in random order, or of whole rounds of files in turns."""


@dataclass(frozen=True, kw_only=True)
class Files(Source):
    """The records of files: one file after the other, or several in turns."""

    options: ReadSettings = field(default_factory=ReadSettings)
    cycle_length: int = 1
    block_length: int = 1
    seed: int | None = None
    """Seed of a random order of the files; None keeps theirs."""
    is_seeded: bool = True
    reshuffles: bool = True
    in_ranges: bool = False
    """Whether a part of each round of a repeat after the first is a range of the records, so that only that is
    read; of the first round, which shows where they are, it is every n-th, as otherwise."""
    found: MemoryKey = field(default_factory=MemoryKey, compare=False)
    """Of each file that was read to its end: index and offset of some records, and of its end; None if compressed."""

    @property
    def skips_damage(self) -> bool:
        """Whether damage is skipped, rather than raised."""
        return self.options.on_error != "raise"

    def worker_part(self, n_workers: int, worker: int, *, repeats: bool) -> Files:
        """Divide by files if there are enough and this is not a part yet, or by ranges of equal size."""
        if repeats:
            can_seek = not any(map(is_url, self.names))
            in_ranges = can_seek and self.n_parts == 1 and not self.skips_damage
            return replace(self.part(n_workers, worker), in_ranges=in_ranges)
        if self.n_parts == 1 and len(self.names) >= n_workers:
            return replace(self, names=self.names[worker::n_workers])
        return self.part(n_workers, worker)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part; at the end, warn of skipped damage."""
        log = run.damage.begin(self.options)
        try:
            marks = self._marks() if self.in_ranges and any(run.epoch[1:]) else None
            pairs = self._all(run, state, log, marks)
            if marks is None:
                yield from self._part_of(pairs, state)
            else:
                yield from ((chunk, {"at": after, "seen": 0}) for chunk, after in pairs)
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
        self, run: Run, state: State, log: DamageLog | None, marks: dict[str, Int64Array] | None
    ) -> Iterator[tuple[RecordChunk, State]]:
        """Yield the records of all parts; with marks those of ranges of this part only."""
        verify = self.options.verify and (self._checks_all or marks is not None)
        demand = run.demand if self.cycle_length == 1 else Demand()
        numbers = self._order(run)
        read: Any = functools.partial(self._read, numbers, log, demand, verify=verify)
        if marks is not None:
            of_files = [marks[self.names[i]] for i in numbers]
            splits = row_splits(np.array([found[-1, 0] for found in of_files]))
            read = functools.partial(self._read_range, of_files, splits, read)
        at = state["at"] if state else None
        if self.cycle_length > 1:
            return _interleaved(read, len(self.names), self.cycle_length, self.block_length, at)
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

    def _read_range(
        self, marks: list[Int64Array], splits: Int64Array, read: Any, place: int, n_taken: int
    ) -> Iterator[RecordChunk]:
        """Yield the records of one file that are in this part's range of all, after the first `n_taken`.

        A range has as many records as every n-th would be. `marks` are those of each file in order,
        and `splits` the row splits of the files' records.
        """
        size, rest = divmod(int(splits[-1]), self.n_parts)
        first = self.number * size + min(self.number, rest)
        begin, end = splits[place : place + 2].tolist()
        at = max(first - begin, 0) + n_taken
        stop = min(first + size + (self.number < rest), end) - begin
        if at < stop:
            for chunk in read(place, at, marks=marks[place]):
                mine = chunk[: stop - at]
                at += len(mine)
                yield mine
                if at == stop:
                    return

    def _marks(self) -> dict[str, Int64Array] | None:
        """Return where records are in all files, of those not read yet too; None if one cannot be sought in."""
        marks: dict[str, Int64Array] = {}
        for name in self.names:
            stamp = _stamp(name)
            if stamp not in self._found:
                with closing(RecordStream(name, replace(self.options, verify=False))) as stream:
                    places = map(_place, iter(stream.next_block, None))
                    self._found[stamp] = _marks_in(stream, places)
            found = self._found[stamp]
            if found is None:
                return None
            marks[name] = found
        return marks

    @property
    def _found(self) -> dict[_Stamp, Int64Array | None]:
        found: dict[_Stamp, Int64Array | None] | None = self.found.recall()
        if found is None:
            self.found.keep(found := {})
        return found

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
        self,
        numbers: list[int],
        log: DamageLog | None,
        demand: Demand,
        place: int,
        n_skip: int,
        *,
        verify: bool,
        marks: Int64Array | None = None,
    ) -> Iterator[RecordChunk]:
        """Yield the records, after the first `n_skip`, of the file at a place in the order."""
        number = numbers[place]
        index = offset = 0
        if marks is not None:
            index, offset = marks[marks[:, 0].searchsorted(n_skip, side="right") - 1].tolist()
            n_skip -= index
        # The first `n_skip` records were checked in an earlier run. Only where damage is skipped
        # are they checked again, since only intact records count.
        is_to_check = verify and n_skip > 0 and log is None
        options = replace(self.options, verify=verify and not is_to_check)
        stamp = _stamp(self.names[number]) if self.in_ranges else None  # before it is opened
        stream = RecordStream(self.names[number], options, block_records=_LARGE_RECORDS)
        records: RecordStream | SkippingStream = stream if log is None else log.skipping(stream)
        places: list[tuple[int, int]] = []
        try:
            if offset:
                stream.begin_at(offset, index)
            while (block := records.next_block(None if n_skip else demand.n)) is not None:
                places.append(_place(block))
                chunk = self._chunk(number, block)[n_skip:]
                n_skip -= min(len(block), n_skip)
                wrong = _first_bad_record(chunk) if is_to_check else None
                if wrong is not None:
                    if wrong:
                        yield chunk[:wrong]
                    raise _damage_error(chunk, wrong)
                is_to_check = is_to_check and n_skip > 0
                stream.decoder.verify = verify and not is_to_check
                if len(chunk):
                    yield chunk
            if n_skip:
                detail = f"the file ends {plural(n_skip, 'record')} before the place to resume at"
                name = self.names[number]
                raise FailedPreconditionError(Reason.STALE_INDEX, source=name, detail=detail)
            if stamp is not None and marks is None:
                self._found[stamp] = _marks_in(stream, places)
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


def _stamp(name: str) -> _Stamp:
    """Return what changes if a file does, also if it keeps its size."""
    try:
        status = os.stat(name)  # noqa: PTH116
    except OSError:  # told when it is opened
        return name, 0, 0, 0
    return name, status.st_ino, status.st_size, status.st_mtime_ns


def _place(block: Block) -> tuple[int, int]:
    """Return index and offset of a block's first record."""
    span = block.spans[0]
    return span.index, int(block.offsets[0]) + (span.base or 0)


def _marks_in(stream: RecordStream, places: Iterable[tuple[int, int]]) -> Int64Array | None:
    """Return where some records of a file that is read to its end are, and the end; None if it cannot be sought in."""
    if stream.compression or local_size(stream.name) is None:
        return None
    return np.array([*places, (stream.n_records, stream.offset)])


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
class ShuffledRecords(Source):
    """All records of uncompressed files, in random order; the process keeps their index."""

    options: ReadSettings
    seed: int
    is_seeded: bool
    reshuffles: bool = True
    key: MemoryKey = field(default_factory=MemoryKey, compare=False)

    def size(self) -> int:
        """Return the number of records of this part."""
        return len(range(self.number, len(self._opened()), self.n_parts))

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part."""
        file = self._opened()
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

    def _opened(self) -> TFRecordFile:
        """Open the files, or return them as opened before if they have not changed."""
        file: TFRecordFile | None = self.key.recall()
        if file is None or file.is_stale:
            file = TFRecordFile(
                self.names,
                verify=self.options.verify,
                max_record_bytes=self.options.max_record_bytes,
                storage_options=self.options.storage_options,
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


# Several files at a time, in turns, as TensorFlow's ``interleave`` and ``num_parallel_reads``:
# `cycle_length` slots take turns; each holds an open file, or is empty. In its turn a slot gives the
# next `block_length` records of its file; if the file has fewer, it gives those and becomes empty. An
# empty slot first opens the next file, if there is one. As long as no file ends, many rounds are done
# at once, by permuting record numbers.


class _OpenFile:
    """A file in a slot, with the records that were read and not given yet."""

    def __init__(self, read: Read, file: int, n_taken: int) -> None:
        self.file = file
        self.n_taken = n_taken
        self.error: Exception | None = None
        self._chunks = read(file, n_taken)
        self._ready: list[RecordChunk] = []
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
            self.n_bytes += int(chunk.lengths.sum())

    def take(self, wanted: int) -> list[RecordChunk]:
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
            self.n_bytes -= int(chunk.lengths.sum())
        return out


def _interleaved(
    read: Read, n_files: int, cycle_length: int, block_length: int, state: State
) -> Iterator[tuple[RecordChunk, State]]:
    """Yield the records of files in turns, each chunk with the state after it."""
    at: dict[str, Any] = state or {"next": 0, "turn": 0, "slots": [None] * cycle_length}
    next_file, turn = at["next"], at["turn"]
    slots = [_OpenFile(read, *where) if where else None for where in at["slots"]]
    while next_file < n_files or any(slots):
        active = [slot for slot in slots[turn:] + slots[:turn] if slot is not None]
        is_steady = next_file == n_files or len(active) == cycle_length
        n_rounds = _whole_rounds(active, block_length) if is_steady else 0
        chunk: RecordChunk | None
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
            chunk = join(pieces) if pieces else None  # type: ignore[assignment]
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


def _take_rounds(files: list[_OpenFile], n_rounds: int, block_length: int) -> RecordChunk:
    """Take whole rounds at once."""
    pieces = [piece for file in files for piece in file.take(n_rounds * block_length)]
    # Record numbers in the order of the pieces, by (file, round, turn); wanted by round first.
    shape = (len(files), n_rounds, block_length)
    numbers = np.arange(len(files) * n_rounds * block_length).reshape(shape)
    chunk: Any = join(pieces)
    mixed: RecordChunk = chunk[numbers.transpose(1, 0, 2).reshape(-1)]
    return mixed
