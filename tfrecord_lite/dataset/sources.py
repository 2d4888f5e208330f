"""The nodes that most plans begin with: files in order or in turns, or all records in random order.

As in TensorFlow's ``interleave`` and ``num_parallel_reads``, `cycle_length` slots take turns. In its turn a slot
gives the next `block_length` records of its file; if the file has fewer, it gives those and becomes empty. An
empty slot first opens the next file. As long as no file ends, many rounds are done at once, by permuting
record numbers.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import field, replace
from typing import Any

import numpy as np

from tfrecord_lite.arrays import Int64Array
from tfrecord_lite.block import OVERHEAD_BYTES, Block, block_of
from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.chunks import join_records
from tfrecord_lite.dataset.cutting import Demand, Feed, Pair, Start, State
from tfrecord_lite.dataset.plan import Memory, Run, Source
from tfrecord_lite.errors import FailedPreconditionError, Reason, TFRecordError
from tfrecord_lite.files.ahead import ReadAhead
from tfrecord_lite.files.names import is_url, local_size, name_of
from tfrecord_lite.files.remote import for_each_file
from tfrecord_lite.index.handles import FileStamp, open_handle
from tfrecord_lite.index.parts import FileMarks, FilePart, PartReader, deal, file_marks, marks_in
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import is_header
from tfrecord_lite.texts import plural

_Stamp = tuple[str, FileStamp | None]
_Read = Callable[[int, int], Iterator[Block]]
"""Reads the file at a place, after its first `n` records."""

_MOST_RECORDS = 4096
_WINDOW_BYTES = 64 * 1024 * 1024
"""About the bytes of a chunk in random order that is read from a store: many neighbours make few requests."""
_ABOUT_BYTES = 4 * 1024 * 1024
"""About the bytes of another chunk in random order, or of whole rounds of files in turns."""
_LONG_TURN = 16
"""Number of records from which on turns are taken one by one, without a copy."""
_LARGE_RECORDS = 8
"""Number of large records to read at a time, from each open file."""


class Files(Source):
    """The records of files, in order or in turns."""

    options: ReadSettings = field(default_factory=ReadSettings)
    cycle_length: int = 1
    block_length: int = 1
    seed: int | None = None
    """Seed of a random order of the files; None keeps theirs."""
    is_seeded: bool = True
    reshuffles: bool = True
    n_records: Memory = field(default_factory=lambda: Memory(travels=True))
    """The number of records of each file."""
    marks: Memory = field(default_factory=lambda: Memory(travels=True, value={}))
    """Where each file can be cut, by its stamp, and whether that shows before it is read."""

    @property
    def skips_damage(self) -> bool:
        """Whether damage is skipped, or records are dropped."""
        return self.options.leaves_out

    def count(self) -> None:
        """Count the records of all files, so that the size is known."""
        from tfrecord_lite.index.counting import count_each  # noqa: PLC0415 - seldom needed

        counted = count_each(list(self.names), self.options)
        self.n_records.value = {name_of(source): n for source, n in counted}

    def size(self) -> int | None:
        """Return the number of records of this part, if it is known."""
        counts: dict[str, int] | None = self.n_records.value
        if counts is not None:
            return self.part_size(sum(counts[name] for name in self.names))
        marks = None
        if not (self.skips_damage or any(map(is_url, self.names))):
            with suppress(OSError, TFRecordError):  # raised on iteration
                marks = self._marks_of(self.names, is_first=True)
        if marks is None:
            return None
        return self.part_size(sum(int(file.numbers[-1]) for file in marks))

    def worker_part(self, n_workers: int, worker: int, *, repeats: bool) -> Files:
        """Divide by files if there are enough, all are read in order, and once; or as ranks do."""
        is_all = not self.is_shared and self.seed is None
        if is_all and not repeats and len(self.names) >= n_workers:
            return replace(self, names=self.names[worker::n_workers])
        return replace(self, share=(n_workers, worker))

    def prepare(self, run: Run, n_workers: int) -> None:
        """Find out where files can be cut."""
        replace(self, share=(n_workers, 0)).groups(run)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part; warn of skipped damage."""
        log = run.damage.begin(self.options)
        groups, are_runs = self.groups(run, state["runs"] if state else None)
        options, n_at_once = self.options, min(self.cycle_length, len(groups))
        whole = () if are_runs else [parts[0].source for parts in groups]
        ahead = ReadAhead(whole, options.storage_options, options.read_ahead, max(n_at_once, 1))
        try:
            demand = run.demand if self.cycle_length == 1 else Demand()
            own_run = replace(run, demand=demand)
            open_part = functools.partial(
                PartReader, options=options, log=log, block_records=_LARGE_RECORDS, ahead=ahead
            )
            read = functools.partial(self._read, own_run, groups, open_part)
            start: Start = functools.partial(_in_order, read, len(groups))
            if self.cycle_length > 1:
                turns = self.cycle_length, self.block_length
                start = functools.partial(_interleaved, read, len(groups), *turns)
            at = state["at"] if state else None
            pairs = self._rounds(Feed(start, at)) if self.even and not are_runs else start(at)
            seen = state["seen"] if state else 0
            step = slice(0, None, 1) if are_runs else self.step
            for chunk, after in pairs:
                mine = chunk
                if step.step > 1:
                    mine = chunk[(step.start - seen) % step.step :: step.step]
                seen += len(chunk)
                if len(mine):
                    yield mine, {"at": after, "seen": seen, "runs": are_runs}
        finally:  # also if the caller stops, or a later file is missing
            ahead.close()
            if log is not None:
                log.give_warning()

    def _rounds(self, feed: Feed) -> Iterator[Pair]:
        """Yield records in rounds, one for each rank and worker; fill or leave out the last."""
        n = self.step.step
        with feed:
            while (chunk := feed.gather(n, max(_MOST_RECORDS // n, 1))) is not None:
                numbers = np.arange(self.part_size(len(chunk)) * n)
                records: Any = chunk
                yield records[np.minimum(numbers, len(chunk) - 1)], feed.state()

    def groups(self, run: Run, are_runs: bool | None = None) -> tuple[list[list[FilePart]], bool]:
        """Return what is read of each file in this epoch, in order, and whether all of that is given.

        Runs that are dealt among ranks and workers, or files whose every n-th record is taken. Which of the two depends on the files and the number of the epoch alone; a state records it.
        """
        names = self._order(run)
        if names and self._can_be_dealt and are_runs is not False:
            marks = self._marks_of(names, is_first=not (any(run.epoch) or are_runs))
            if marks is not None:
                return deal(marks, self.ranks, self.share, self.even), True
            if are_runs:
                detail = "it is not known any more where the records of a file begin; begin the epoch anew"
                raise FailedPreconditionError(Reason.STALE_INDEX, detail=detail)
        return [[FilePart(name)] for name in names], False

    @property
    def _can_be_dealt(self) -> bool:
        is_read_by_several = self.ranks[0] * self.share[0] > 1
        return is_read_by_several and self.n_parts == 1 and not self.skips_damage

    def _marks_of(self, names: Sequence[str], *, is_first: bool) -> list[FileMarks] | None:
        """Return where each file can be cut; None if that is not known of all."""
        known = self.marks.value

        def look(name: str) -> FileMarks | None:
            stamp = _stamp(name)
            marks = known.get((stamp, True)) or (None if is_first else known.get((stamp, False)))
            if marks is None and (marks := file_marks(name, self.options, is_first=is_first)):
                known[stamp, is_first] = marks
            return marks

        are_remote = any(map(is_url, names))
        looked = for_each_file(names, names, look) if are_remote else map(look, names)
        marks = list(itertools.takewhile(lambda file: file is not None, looked))
        return [file for file in marks if file is not None] if len(marks) == len(names) else None

    def _order(self, run: Run) -> list[str]:
        if self.seed is None:
            return list(self.names)
        key = run.key(self.seed, 0, reshuffles=self.reshuffles, is_shared=self.is_shared)
        return [self.names[i] for i in order.permutation(key, len(self.names)).tolist()]

    def _read(
        self, run: Run, groups: list[list[FilePart]], open_part: Any, place: int, n_skip: int
    ) -> Iterator[Block]:
        """Yield the records after the first `n_skip` of the parts at a place."""
        name = groups[place][0].source
        if (size := local_size(name)) is not None:
            run.sizes[name] = size
        for part in groups[place]:
            if part.n_records is not None and n_skip >= part.n_records:
                n_skip -= part.n_records
                continue
            yield from self._read_part(run, part, open_part, n_skip)
            n_skip = 0

    def _read_part(self, run: Run, part: FilePart, open_part: Any, n_skip: int) -> Iterator[Block]:
        """Yield the records of a part; note where a whole file can be cut."""
        name = part.source
        is_first = part.is_whole and not n_skip and self._can_be_dealt
        stamp = _stamp(name) if is_first else (name, None)  # before it is opened
        notes = _Notes() if stamp[1] is not None and is_header(stamp[1].header) else None
        if n_skip and not self.skips_damage:  # otherwise only intact records count
            part, n_skip = part.after(n_skip, self.options)
        with closing(open_part(part)) as reader:
            while (block := reader.next_block(None if n_skip else run.demand.n)) is not None:
                if reader.remote_bytes:
                    run.sizes[name] = reader.remote_bytes
                places = block.places  # which nobody else has; all chunks have the same sources
                if places is not None:
                    places[:, 0] = self._numbers[name]
                    if notes is not None:
                        notes.add(places, int(block.lengths[-1]))
                chunk = block_of(block.data, block.offsets, block.lengths, self.names, places)
                chunk = chunk[n_skip:] if n_skip else chunk
                n_skip -= min(len(block), n_skip)
                if len(chunk):
                    yield chunk
        if n_skip:
            detail = f"the file ends {plural(n_skip, 'record')} before the place to resume at"
            raise FailedPreconditionError(Reason.STALE_INDEX, source=name, detail=detail)
        if notes is not None and notes.rows:
            self.marks.value[stamp, False] = notes.marks(name)

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


class ShuffledRecords(Source):
    """All records of uncompressed files, in random order."""

    method = "shuffle_all"
    options: ReadSettings
    seed: int
    is_seeded: bool
    reshuffles: bool = True
    key: Memory = field(default_factory=lambda: Memory(travels=True))

    def worker_part(self, n_workers: int, worker: int, *, repeats: bool) -> ShuffledRecords:
        """Return a node that gives every `n_workers`-th of these records."""
        return replace(self, share=(n_workers, worker))

    def size(self) -> int:
        """Return the number of records of this part."""
        return self.part_size(len(self._opened()))

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part."""
        from tfrecord_lite.index.file import MAX_OPEN  # noqa: PLC0415 - for these alone

        file = self._opened()
        run.sizes.update(zip(self.names, (index.end for index in file.indexes), strict=True))
        key = run.key(self.seed, 0, reshuffles=self.reshuffles, is_shared=self.is_shared)
        records = order.permutation(key, len(file))
        if self.even:
            records = np.resize(records, self.part_size(records.size) * self.step.step)
        records = records[self.step]
        n_bytes = sum(int(index.sizes.sum()) for index in file.indexes)
        # Where files are asked for anew each time, as those that cannot all stay open, more at once.
        is_far = len(self.names) > MAX_OPEN or any(map(is_url, self.names))
        about_bytes, most = (_WINDOW_BYTES, len(file)) if is_far else (_ABOUT_BYTES, _MOST_RECORDS)
        most = max(min(about_bytes * len(file) // max(n_bytes, 1), most), 1)
        at = state["taken"] if state else 0
        if state and state["of"] != len(file):
            detail = f"the state is of {plural(state['of'], 'record')}, but the files now have {len(file):,}"
            raise FailedPreconditionError(Reason.STALE_INDEX, detail=detail)
        while at < records.size:
            numbers = records[at : at + most]
            try:
                block = file.block(numbers)
            except TFRecordError:
                if numbers.size == 1:
                    raise
                most = 1  # so that records before the damaged one are returned first
                continue
            at += numbers.size
            yield block, {"taken": at, "of": len(file)}

    def _opened(self) -> Any:
        """Open the files, or return them as opened before if they have not changed."""
        from tfrecord_lite.index.file import TFRecordFile  # noqa: PLC0415 - for these alone

        file: TFRecordFile | None = self.key.value
        if file is None or file.is_stale:
            own = self.options
            file = TFRecordFile(
                self.names,
                verify=own.verify,
                max_record_bytes=own.max_record_bytes,
                storage_options=own.storage_options,
            )
            self.key.value = file
        return file


class _Notes:
    """Where a file can be cut, noted while it is read."""

    def __init__(self) -> None:
        self.rows: list[Int64Array] = []  # numbers and offsets of records, shape (n, 2)
        self._last = np.array([[-1, -1]])  # number and offset of the last record
        self._end: Int64Array = self._last

    def add(self, places: Int64Array, last_length: int) -> None:
        """Note records by their places, and the length of the last one."""
        self.rows.append(places[marks_in(places[:, 2], int(self._last[0, 1])), 1:])
        self._last = places[-1:, 1:].copy()
        self._end = np.add(self._last, (1, last_length + OVERHEAD_BYTES))

    def marks(self, name: str) -> FileMarks:
        numbers, offsets = np.concatenate([*self.rows, self._end]).T.copy()
        return FileMarks(name, offsets, numbers)


def size_now(name: str, options: ReadSettings) -> int | None:
    """Return the size of a file or URL, if it is known."""
    if is_url(name):
        with suppress(OSError, FailedPreconditionError):
            return open_handle(name, options.storage_options).size()
    return local_size(name)


def _stamp(name: str) -> _Stamp:
    """Return what changes if a file does; a pipe has no stamp."""
    return name, None if local_size(name) is None else FileStamp.of(open_handle(name))


# ------------------------------------------------------------------------------- turns


def _in_order(read: _Read, n_parts: int, state: State) -> Iterator[tuple[Block, State]]:
    """Yield the records of one part after the other, each chunk with the state after it."""
    place, n_taken = (state["file"], state["taken"]) if state else (0, 0)
    while place < n_parts:
        for chunk in read(place, n_taken):
            n_taken += len(chunk)
            yield chunk, {"file": place, "taken": n_taken}
        place, n_taken = place + 1, 0


class _OpenFile:
    """A file in a slot, with the records that were read and not given yet."""

    def __init__(self, read: _Read, file: int, n_taken: int) -> None:
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


def _interleaved(
    read: _Read, n_files: int, cycle_length: int, block_length: int, state: State
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
