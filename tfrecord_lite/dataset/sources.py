"""The nodes that plans begin with: files in order or in turns, or all records in random order."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from tfrecord_lite.block import Block, block_of
from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.cutting import Demand
from tfrecord_lite.dataset.plan import MemoryKey, Run, Source
from tfrecord_lite.dataset.turns import in_order, interleaved
from tfrecord_lite.errors import FailedPreconditionError, Reason, TFRecordError, plural
from tfrecord_lite.files.ahead import ReadAhead
from tfrecord_lite.files.names import is_url, local_size
from tfrecord_lite.index import TFRecordFile
from tfrecord_lite.index.handles import FileStamp, open_handle
from tfrecord_lite.index.parts import FilePart, PartReader, equal_share
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.damage import DamageLog

if TYPE_CHECKING:
    from tfrecord_lite.dataset.cutting import Pair, State

    _Stamp = tuple[str, FileStamp | None]

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
    is_cut: bool = False
    """Whether a worker reads an equal share of the records, and nothing else, in each round of a repeat after the
    first; in the first, which shows where records are, it takes every n-th, as otherwise."""
    runs: MemoryKey = field(default_factory=MemoryKey, compare=False)
    """The runs of each file that was read to its end; None of one that cannot be cut."""

    @property
    def skips_damage(self) -> bool:
        """Whether damage is skipped, rather than raised."""
        return self.options.on_error != "raise"

    def worker_part(self, n_workers: int, worker: int, *, repeats: bool) -> Files:
        """Divide by files if there are enough, in order, and all of them; or into equal shares."""
        if repeats:
            can_seek = not any(map(is_url, self.names))
            is_cut = can_seek and self.n_parts == 1 and not self.skips_damage
            return replace(self, share=(n_workers, worker), is_cut=is_cut)
        if self.n_parts == 1 and self.seed is None and len(self.names) >= n_workers:
            return replace(self, names=self.names[worker::n_workers])
        return replace(self, share=(n_workers, worker))

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part; at the end, warn of skipped damage."""
        log = run.damage.begin(self.options)
        names, options = self._order(run), self.options
        ahead = ReadAhead(
            names, options.storage_options, options.read_ahead, min(self.cycle_length, len(names))
        )
        try:
            share = self._share(names) if self.is_cut and any(run.epoch[1:]) else None
            parts = list(map(FilePart, names)) if share is None else share
            demand = run.demand if self.cycle_length == 1 else Demand()
            numbers = {name: number for number, name in enumerate(self.names)}
            read = functools.partial(self._read, run.sizes, parts, numbers, log, demand, ahead)
            at = state["at"] if state else None
            if self.cycle_length > 1:
                pairs = interleaved(read, len(parts), self.cycle_length, self.block_length, at)
            else:
                pairs = in_order(read, len(parts), at)
            seen, step = (
                state["seen"] if state else 0,
                self.step if share is None else slice(0, None, 1),
            )
            for chunk, after in pairs:
                mine = (
                    chunk if step.step == 1 else chunk[(step.start - seen) % step.step :: step.step]
                )
                seen += len(chunk)
                if len(mine):
                    yield mine, {"at": after, "seen": seen}
        finally:  # also if the caller stops, or a later file is missing
            ahead.close()
            if log is not None:
                log.give_warning()

    def _share(self, names: list[str]) -> list[FilePart] | None:
        """Return the parts of files that are this worker's; None if a file cannot be cut."""
        runs: list[FilePart] = []
        for name in names:
            stamp = _stamp(name)
            if stamp not in self._runs:
                reader = PartReader(FilePart(name), replace(self.options, verify=False))
                deque(reader.blocks(), 0)
                self._runs[stamp] = reader.runs
            of_file = self._runs[stamp]
            if of_file is None:
                return None
            runs += of_file
        return equal_share(runs, *self.share)

    @property
    def _runs(self) -> dict[_Stamp, list[FilePart] | None]:
        runs: dict[_Stamp, list[FilePart] | None] | None = self.runs.recall()
        if runs is None:
            self.runs.keep(runs := {})
        return runs

    def _order(self, run: Run) -> list[str]:
        """Return the files in the order of this epoch."""
        if self.seed is None:
            return list(self.names)
        key = run.key(self.seed, 0, reshuffles=self.reshuffles, is_shared=self.n_parts > 1)
        return [self.names[i] for i in order.permutation(key, len(self.names)).tolist()]

    def _read(
        self,
        sizes: dict[str, int],
        parts: list[FilePart],
        numbers: dict[str, int],
        log: DamageLog | None,
        demand: Demand,
        ahead: ReadAhead,
        place: int,
        n_skip: int,
    ) -> Iterator[Block]:
        """Yield the records, after the first `n_skip`, of the part at a place in the order.

        `numbers` are those of the files, by name.
        """
        part = parts[place]
        name, is_all = part.source, not n_skip and part.is_whole
        if (size := local_size(name)) is not None:
            sizes[name] = size
        stamp = _stamp(name) if self.is_cut and is_all else None  # before it is opened
        if n_skip and log is None:  # where damage is skipped, only intact records count
            part, n_skip = part.after(n_skip, self.options)
        with closing(PartReader(part, self.options, log, _LARGE_RECORDS, ahead=ahead)) as reader:
            while (block := reader.next_block(None if n_skip else demand.n)) is not None:
                places = block.places  # which nobody else has; all chunks have the same sources
                if places is not None:
                    places[:, 0] = numbers[name]
                chunk = block_of(block.data, block.offsets, block.lengths, self.names, places)
                chunk = chunk[n_skip:] if n_skip else chunk
                n_skip -= min(len(block), n_skip)
                if len(chunk):
                    yield chunk
        if n_skip:
            detail = f"the file ends {plural(n_skip, 'record')} before the place to resume at"
            raise FailedPreconditionError(Reason.STALE_INDEX, source=name, detail=detail)
        if stamp is not None:
            self._runs[stamp] = reader.runs


def _stamp(name: str) -> _Stamp:
    """Return what changes if a file does; without the stamp for one that has none, such as a pipe."""
    return name, None if local_size(name) is None else FileStamp.of(open_handle(name))


@dataclass(frozen=True, kw_only=True)
class ShuffledRecords(Source):
    """All records of uncompressed files, in random order; the process keeps their index."""

    method: ClassVar[str] = "shuffle_all"
    options: ReadSettings
    seed: int
    is_seeded: bool
    reshuffles: bool = True
    key: MemoryKey = field(default_factory=MemoryKey, compare=False)

    def size(self) -> int:
        """Return the number of records of this part."""
        return len(range(len(self._opened()))[self.step])

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield the records of this part."""
        file = self._opened()
        run.sizes.update({name: local_size(name) or 0 for name in self.names if not is_url(name)})
        key = run.key(self.seed, 0, reshuffles=self.reshuffles, is_shared=self.n_parts > 1)
        wanted = order.permutation(key, len(file))[self.step]
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
            yield block, {"taken": at, "of": len(file)}

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
