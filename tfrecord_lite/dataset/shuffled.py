"""The node of all records of files in random order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

import numpy as np

from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.cutting import Pair, State
from tfrecord_lite.dataset.plan import Memory, Run, Source
from tfrecord_lite.errors import FailedPreconditionError, Reason, TFRecordError
from tfrecord_lite.files.names import is_url
from tfrecord_lite.index.file import MAX_OPEN, TFRecordFile
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.texts import plural

_MOST_RECORDS = 4096
_WINDOW_BYTES = 64 * 1024 * 1024
"""About the bytes of a chunk in random order that is read from a store, where many neighbours make few requests."""
_ABOUT_BYTES = 4 * 1024 * 1024
"""About the bytes of a chunk in random order, or of whole rounds of files in turns."""


class ShuffledRecords(Source):
    """All records of uncompressed files, in random order; the process keeps their index."""

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

    def _opened(self) -> TFRecordFile:
        """Open the files, or return them as opened before if they have not changed."""
        file: TFRecordFile | None = self.key.recall()
        if file is None or file.is_stale:
            own = self.options
            file = TFRecordFile(
                self.names,
                verify=own.verify,
                max_record_bytes=own.max_record_bytes,
                storage_options=own.storage_options,
            )
            self.key.keep(file)
        return file
