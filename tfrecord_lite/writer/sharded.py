"""Write the shards of a data set, which appear when all are complete."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Iterator, Sequence

from tfrecord_lite.arrays import Buffer
from tfrecord_lite.block import Block
from tfrecord_lite.errors import argument_error, optional_int
from tfrecord_lite.files.compression import CompressionType, TFRecordOptions, compression_to_write
from tfrecord_lite.files.names import StorageOptions, check_storage_options, is_url, shard_names
from tfrecord_lite.files.output import lock_set, unlock_set
from tfrecord_lite.options import hinted
from tfrecord_lite.records.shard_set import Filling, ShardSet
from tfrecord_lite.texts import plural, short_name
from tfrecord_lite.writer.single import MessageWriter

_Records = Sequence[Buffer] | Block


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
    compression, storage_options
        As for :class:`TFRecordWriter`.
    bytes_per_shard : int, optional
        Instead of `num_shards`: fill one file after the other, and begin the next when one
        holds that many bytes before compression, headers and footers included.

    Attributes
    ----------
    paths : list of str
        The files; known after :meth:`close`.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` unless the pattern has a place for the shard's number, and exactly
        one of `num_shards`, ``@`` and `bytes_per_shard` is given; for an unknown compression.
    FailedPreconditionError
        ``IN_USE`` if another writer, of any process, has these shards open (local files, where
        there are locks).

    Notes
    -----
    All files are written under hidden names, and renamed by :meth:`close` when every one is on
    the disk; at most 128 are open at a time. An error in the ``with`` block removes them. If a rename fails, those before it are
    undone, and :meth:`close` can be called again; but a file that replaced an older one stays.
    A machine that stops during the renames leaves some of the files.

    Examples
    --------
    >>> with ShardedTFRecordWriter("names@2.tfrecord") as writer:
    ...     for name in ("Ada", "Alan", "Grace"):
    ...         writer.write(name)
    >>> writer.paths
    ['names-00000-of-00002.tfrecord', 'names-00001-of-00002.tfrecord']
    """

    _is_done = True  # nothing to close or to remove

    @hinted
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
        self._name = os.fspath(pattern)
        self._options = compression_to_write(self._name, compression)
        check_storage_options(storage_options, self._name)
        num_shards = optional_int("num_shards", num_shards, 1)
        bytes_per_shard = optional_int("bytes_per_shard", bytes_per_shard, 1)
        self._filling = None if bytes_per_shard is None else Filling(None, bytes_per_shard)
        self._next = 0  # shard in turn
        # Shards and records for them that wait after a failure, such as a full disk.
        self._parts: deque[tuple[int, _Records]] = deque()
        names = self._names(num_shards, bytes_per_shard)
        self._files = ShardSet(self._options, storage_options, len(names))
        self._sinks = self._files.sinks
        self._lock = None if is_url(names[0]) else lock_set(names[0])
        self._is_closed = self._is_done = False
        try:
            for name in names:
                self._files.open(name)
        except BaseException:
            self.abandon()
            raise

    def _names(self, num_shards: int | None, bytes_per_shard: int | None) -> list[str]:
        pattern = self._name
        n_given = (num_shards is not None) + (bytes_per_shard is not None)
        if n_given != ("{shard" in pattern):
            detail = f"the pattern {pattern!r} with num_shards={num_shards} and "
            detail += f"bytes_per_shard={bytes_per_shard} does not say how many shards there are; "
            detail += "expected 'name@10', or '{shard}' in the name with one of the two arguments"
            raise argument_error(detail)
        if not (names := shard_names(pattern, num_shards if bytes_per_shard is None else 1)):
            detail = f"the pattern {pattern!r} names no shard; expected 'name@10' or '{{shard}}'"
            raise argument_error(detail)
        return names

    def _add(self, record: bytes) -> None:
        if self._filling is not None:
            self._put([record])
            return
        sink = self._sinks[self._next]
        self._next = (self._next + 1) % len(self._sinks)
        sink.add(record)

    def _put(self, records: _Records) -> None:
        self._parts += self._cut(records)
        try:
            self._put_parts()
        except BaseException:  # records may be views of memory that changes after this call
            self._parts = deque((shard, list(map(bytes, part))) for shard, part in self._parts)
            raise

    def _cut(self, records: _Records) -> Iterator[tuple[int, _Records]]:
        """Yield the parts of records, each with the number of its shard."""
        if self._filling is not None:
            yield from self._filling.cut(records)
            return
        n_shards, first = len(self._sinks), self._next
        self._next = (first + len(records)) % n_shards
        for step in range(min(n_shards, len(records))):
            yield (first + step) % n_shards, records[step::n_shards]

    def _put_parts(self) -> None:
        while self._parts:
            shard, part = self._parts[0]
            if shard == len(self._sinks):
                self._files.finish_file(-1)
                names = shard_names(self._name, shard + 1) or []
                self._files.open(names[-1])
            self._parts.popleft()
            self._sinks[shard].add_shared(part)  # what it cannot write waits in the sink

    _put_block = _put

    def _put_pieces(self, pieces: Sequence[Buffer]) -> None:
        self._add(b"".join(pieces))

    def close(self) -> None:
        """Finish all files, then move each to its place. May be called twice.

        Examples
        --------
        >>> import glob
        >>> writer = ShardedTFRecordWriter("names@2.tfrecord")
        >>> writer.write(b"Ada")
        >>> writer.close()
        >>> sorted(glob.glob("names*"))
        ['names-00000-of-00002.tfrecord', 'names-00001-of-00002.tfrecord']
        """
        if self._is_done:
            return
        self._put_rows()
        self._put_parts()
        for i in range(len(self._sinks)):
            self._files.finish_file(i)
        self._is_closed = True
        paths = shard_names(self._name, len(self._sinks)) or []
        for file, path in zip(self._files.files, paths, strict=True):
            file.name = path
        self._files.commit()
        self.paths, self._is_done = paths, True
        if self._lock is not None:
            unlock_set(self._lock)

    def __repr__(self) -> str:
        """Name the pattern; count shards and records."""
        n_records = sum(sink.n_records for sink in self._sinks) + len(self._rows or ())
        shards, state = plural(len(self._sinks), "shard"), "closed" if self._is_closed else "open"
        shards += " so far" if self._filling is not None and not self._is_closed else ""
        compression = TFRecordOptions.get_compression_type_string(self._options) or "uncompressed"
        what = f"{plural(n_records, 'record')}, {shards}, {compression}, {state}"
        return f"<ShardedTFRecordWriter of {short_name(self._name)}: {what}>"

    def abandon(self) -> None:
        """Remove all that was written; no file appears.

        Examples
        --------
        >>> writer = ShardedTFRecordWriter("names@2.tfrecord")
        >>> writer.write(b"Ada")
        >>> writer.abandon()
        >>> writer.paths
        []
        """
        self._is_closed = self._is_done = True
        try:
            self._files.abandon()
        finally:
            if self._lock is not None:
                unlock_set(self._lock)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
            text = f"the shards of {self._name} were not closed"
            try:
                warnings.warn(text, ResourceWarning, 2, source=self)
            finally:  # a warning may be an error
                self.abandon()
