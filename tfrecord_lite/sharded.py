"""Write the shards of a data set, which appear when all are complete.

The size of shards: for N hosts that read in parallel, 10 x N files of 100 MB or more each
(10 MB at least), so that every host has several files to interleave, and no file is too small
to be read at full speed.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    plural,
    require_int,
    short_name,
)
from tfrecord_lite.files.compression import TFRecordOptions, compression_to_write
from tfrecord_lite.files.names import check_storage_options, is_url, shard_names
from tfrecord_lite.files.output import lock_set, open_output, unlock_set
from tfrecord_lite.records.framing import OVERHEAD_BYTES
from tfrecord_lite.records.sink import BUFFER_BYTES, RecordSink
from tfrecord_lite.writer import MessageWriter, as_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from typing_extensions import Buffer

    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import StorageOptions

__all__ = ["ShardedTFRecordWriter"]

_BUFFERS_BYTES = 32 * 1024 * 1024
_SMALLEST_BUFFER_BYTES = 64 * 1024


class ShardedTFRecordWriter(MessageWriter):
    """Write records to many files, which appear when all are complete.

    Parameters
    ----------
    pattern : str or PathLike
        ``"train@10"`` or ``"train@10.tfrecord"`` for ``train-00000-of-00010`` and
        so on; or any name with ``{shard}`` and, if wanted, ``{num_shards}``, as in
        ``"train-{shard:05d}-of-{num_shards:05d}.tfrecord"``. A path or a URL.
    num_shards : int, optional
        Number of files; records go to them in turn (round robin). Not with ``@``.
    compression : str, int, TFRecordOptions or None, optional
        As for :class:`TFRecordWriter`; ``"infer"`` goes by the ending of the pattern.
    bytes_per_shard : int, optional
        Instead of `num_shards`: fill one file after the other, and begin the next when one
        holds that many bytes before compression, headers and footers included. At least one
        file is written.
    storage_options : dict, optional
        As for :class:`TFRecordWriter`.

    Attributes
    ----------
    paths : list of str
        The files; known after :meth:`close`.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the pattern has no place for the shard's number, or if not exactly
        one of `num_shards`, ``@`` and `bytes_per_shard` is given; for an unknown compression.
    FailedPreconditionError
        ``IN_USE`` if another writer, of any process, has these shards open (local files, where
        there are locks).
    TypeError
        If `num_shards` or `bytes_per_shard` is not an integer.

    Notes
    -----
    All files are written under hidden names, and renamed by :meth:`close` when every one is on
    the disk. An error in the ``with`` block removes them. If a rename fails, those before it are
    undone, and :meth:`close` can be called again; but a file that replaced an older one stays.
    A machine that stops during the renames leaves some of the files. The module's head says
    how large shards should be.

    Examples
    --------
    >>> with ShardedTFRecordWriter("names@2.tfrecord") as writer:
    ...     for name in ("Ada", "Alan", "Grace"):
    ...         writer.write(name)
    >>> writer.paths
    ['names-00000-of-00002.tfrecord', 'names-00001-of-00002.tfrecord']
    """

    _is_done = True  # nothing to close or to remove

    def __init__(
        self,
        pattern: str | os.PathLike[str],
        num_shards: int | None = None,
        compression: CompressionType = "infer",
        *,
        bytes_per_shard: int | None = None,
        storage_options: StorageOptions = None,
    ) -> None:
        self.paths: list[str] = []
        self._is_open = False  # to records
        self._pattern = os.fspath(pattern)
        self._options = compression_to_write(self._pattern, compression)
        check_storage_options(storage_options, self._pattern)
        self._storage_options = storage_options
        if num_shards is not None:
            num_shards = require_int("num_shards", num_shards, 1)
        if bytes_per_shard is not None:
            bytes_per_shard = require_int("bytes_per_shard", bytes_per_shard, 1)
        self._bytes_per_shard = bytes_per_shard
        self._sinks: list[RecordSink] = []
        self._n_bytes = 0  # in the last shard
        self._next = 0
        names = self._check_pattern(num_shards)
        self._buffer_bytes = _BUFFERS_BYTES // max(len(names), 1)
        self._buffer_bytes = min(max(self._buffer_bytes, _SMALLEST_BUFFER_BYTES), BUFFER_BYTES)
        self._lock = None if is_url(names[0]) else lock_set(names[0])
        self._is_open, self._is_done = True, False
        try:
            for name in names:
                self._open_shard(name)
        except BaseException:
            self.abandon()
            raise

    def _check_pattern(self, num_shards: int | None) -> list[str]:
        """Return the names of the shards to open now: all of them, or the first."""
        by_bytes = self._bytes_per_shard is not None
        has_field = "{shard" in self._pattern
        if by_bytes == (num_shards is not None or not has_field) or (
            num_shards is not None and not has_field
        ):
            detail = (
                f"the pattern {self._pattern!r} with num_shards={num_shards} and "
                f"bytes_per_shard={self._bytes_per_shard} does not say how many shards there are; "
                "expected 'name@10', or '{shard}' in the name with one of the two arguments"
            )
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        try:
            names = shard_names(self._pattern, 1 if by_bytes else num_shards)
        except InvalidArgumentError:
            raise
        except KeyError as error:
            detail = (
                f"unknown field {{{error.args[0]}}} in the pattern; "
                "expected {shard} or {num_shards}"
            )
            raise InvalidArgumentError(
                Reason.BAD_ARGUMENT, source=self._pattern, detail=detail
            ) from None
        except (AttributeError, LookupError, TypeError, ValueError):  # of str.format
            names = None
        if not names or len(set(names)) < len(names):
            detail = (
                f"the pattern {self._pattern!r} names no shard; expected 'name@10' or '{{shard}}'"
            )
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        return names

    def _open_shard(self, name: str) -> None:
        file = open_output(name, atomic=True, storage_options=self._storage_options)
        try:
            sink = RecordSink(file, self._options, self._buffer_bytes)
        except BaseException:
            file.abandon()
            raise
        self._sinks.append(sink)
        self._n_bytes = 0

    def write(self, record: bytes | bytearray | str | Block) -> None:
        """Write one record, as :meth:`TFRecordWriter.write`, to the next shard in turn.

        The records of a block go to the shards in turn, or fill them, as single ones do.

        Examples
        --------
        >>> with ShardedTFRecordWriter("names@2.tfrecord") as writer:
        ...     for name in ("Ada", "Alan", "Grace"):
        ...         writer.write(name)
        >>> list(TFRecordReader("names-00000-of-00002.tfrecord"))
        [b'Ada', b'Grace']
        """
        if not self._is_open:
            raise self._closed()
        if type(record) is not bytes:
            if isinstance(record, Block):
                self._write_block(record)
                return
            record = as_record(record)
        if self._rows:
            self._write_waiting(record)
        else:
            self._add(record)

    def _check_open(self) -> None:
        if not self._is_open:
            raise self._closed()

    def _closed(self) -> FailedPreconditionError:
        return FailedPreconditionError(
            Reason.CLOSED, source=self._pattern, detail="the writer is closed; open another"
        )

    def _put(self, records: Sequence[Buffer] | Block) -> None:
        """Give encoded records to the shards in turn."""
        if isinstance(records, Block):
            records = records.views()
        n_taken = 0
        try:
            for record in records:
                sink = self._next_sink(len(record))  # type: ignore[arg-type]
                n_taken += 1  # by the sink, even if it cannot write
                sink.add(record)
        except BaseException:
            self._row_buffer().add_records(records[n_taken:])  # for another attempt
            raise

    def _put_block(self, block: Block) -> None:
        if self._bytes_per_shard is None:
            self._deal(block)
            return
        n_taken = 0
        try:
            while n_taken < len(block):
                sink, n_records = self._room_for(block.lengths[n_taken:])
                part = block[n_taken : n_taken + n_records]
                n_taken += n_records  # by the sink, even if it cannot write
                sink.add_block(part)
        except BaseException:
            self._row_buffer().add_records(block[n_taken:])  # for another attempt
            raise

    def _deal(self, block: Block) -> None:
        """Give the records of a block to the shards in turn; each shard's at once."""
        n_shards, first = len(self._sinks), self._next
        self._next = (first + len(block)) % n_shards
        failures = []
        for step in range(min(n_shards, len(block))):
            try:
                self._sinks[(first + step) % n_shards].add_block(block[step::n_shards])
            except Exception as error:  # noqa: BLE001 - raised when all shards have theirs
                failures.append(error)
        if failures:
            raise failures[0]

    def _put_pieces(self, pieces: Sequence[Buffer]) -> None:
        self._add(b"".join(pieces))

    def _add(self, data: bytes) -> None:
        if self._bytes_per_shard is None:
            self._next_sink(len(data)).add(data)
            return
        try:
            sink = self._next_sink(len(data))
        except BaseException:
            self._row_buffer().add_record(data)
            raise
        sink.add(data)

    def _next_sink(self, n_bytes: int) -> RecordSink:
        """Return the shard that takes the next record, of `n_bytes`."""
        if self._bytes_per_shard is None:
            sink = self._sinks[self._next]
            self._next = (self._next + 1) % len(self._sinks)
            return sink
        if self._n_bytes >= self._bytes_per_shard:
            self._sinks[-1].finish()
            self._open_shard((shard_names(self._pattern, len(self._sinks) + 1) or [""])[-1])
        self._n_bytes += n_bytes + OVERHEAD_BYTES
        return self._sinks[-1]

    def _room_for(self, lengths: Int64Array) -> tuple[RecordSink, int]:
        """Return the shard that takes the next records, and how many of these lengths."""
        sink = self._next_sink(int(lengths[0]))
        sizes = lengths[1:] + OVERHEAD_BYTES
        before = self._n_bytes + np.cumsum(sizes) - sizes  # in the shard, before each record
        n_more = int(np.searchsorted(before, self._bytes_per_shard or 0))
        self._n_bytes += int(sizes[:n_more].sum())
        return sink, 1 + n_more

    def close(self) -> None:
        """Finish all files, then move each to its place. May be called twice.

        Examples
        --------
        >>> import glob
        >>> writer = ShardedTFRecordWriter("names@2.tfrecord")
        >>> writer.write(b"Ada")
        >>> glob.glob("names*")  # the files appear when all are complete
        []
        >>> writer.close()
        >>> sorted(glob.glob("names*"))
        ['names-00000-of-00002.tfrecord', 'names-00001-of-00002.tfrecord']
        """
        if self._is_done:
            return
        self._put_rows()
        for sink in self._sinks:
            sink.finish()
        self._is_open = False
        paths = shard_names(self._pattern, len(self._sinks)) or []
        self._place_all(paths)
        self.paths, self._is_done = paths, True
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None and all(sink.belongs_here for sink in self._sinks):
            unlock_set(self._lock)

    def __repr__(self) -> str:
        """Name the pattern, and count the shards and the records written so far."""
        n_records = sum(sink.n_records for sink in self._sinks) + len(self._rows or ())
        parts = [
            plural(n_records, "record"),
            f"{plural(len(self._sinks), 'shard')} so far"
            if self._bytes_per_shard is not None and self._is_open
            else plural(len(self._sinks), "shard"),
            TFRecordOptions.get_compression_type_string(self._options) or "uncompressed",
            "open" if self._is_open else "closed",
        ]
        return f"<ShardedTFRecordWriter of {short_name(self._pattern)}: {', '.join(parts)}>"

    def _place_all(self, paths: list[str]) -> None:
        """Move each file to its place; if one fails, take back those that replaced nothing."""
        new: list[RecordSink] = []
        try:
            for sink, path in zip(self._sinks, paths, strict=True):
                if not sink.replaces(path):
                    new.append(sink)
                sink.commit(path)
        except BaseException:
            for sink in reversed(new):
                with contextlib.suppress(OSError):  # the first error is raised
                    sink.take_back()
            raise

    def abandon(self) -> None:
        """Remove all that was written; no file appears.

        Examples
        --------
        >>> import glob
        >>> writer = ShardedTFRecordWriter("names@2.tfrecord")
        >>> writer.write(b"Ada")
        >>> writer.abandon()
        >>> glob.glob("names*")
        []
        """
        self._is_open, self._is_done = False, True
        with contextlib.ExitStack() as stack:  # one failure does not stop the others
            stack.callback(self._unlock)
            for sink in self._sinks:
                stack.callback(sink.abandon)

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; after an error, remove all that was written."""
        if kind is not None and not self._is_done:
            self.abandon()
        try:
            self.close()
        except BaseException:
            self.abandon()
            raise

    def __del__(self) -> None:
        """Remove the files of a writer that was forgotten."""
        if not self._is_done and all(sink.belongs_here for sink in self._sinks):
            text = f"the shards of {self._pattern} were not closed"
            try:
                warnings.warn(text, ResourceWarning, 2, source=self)
            finally:  # a warning may be an error
                self.abandon()
