"""The data files of one ``save``: one file, new or appended to, or shards, which appear with their sidecars."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

from tfrecord_lite.block import Block
from tfrecord_lite.described import sidecar
from tfrecord_lite.described.frames import merged_description
from tfrecord_lite.described.sidecar import Fingerprint, FingerprintingFile, Sidecar
from tfrecord_lite.errors import InvalidArgumentError, argument_error, require_int
from tfrecord_lite.files.compression import TFRecordOptions, compression_of_name
from tfrecord_lite.files.names import Source, StorageOptions, local_size, shard_names
from tfrecord_lite.files.output import OutputFile
from tfrecord_lite.progress import SILENT, Meter
from tfrecord_lite.records.shard_set import Evenly, Filling, ShardSet, Spool
from tfrecord_lite.schema import Schema
from tfrecord_lite.writer import TFRecordWriter
from tfrecord_lite.writer.beside import describing


def data_names(name: str, num_shards: int | None) -> list[str]:
    """Return the names of the data files: `name` itself, or the shards that it names.

    Without ``@`` and ``{shard}``, a shard's number goes before the ending of the name:
    ``train.tfrecord.gz`` to ``train-00000-of-00002.tfrecord.gz``.
    """
    if num_shards is None:
        if "{shard" in name:
            raise argument_error("the name has {shard} in it; give num_shards too", source=name)
        names = None
        with contextlib.suppress(InvalidArgumentError):  # more than can be numbered, such as a date
            names = shard_names(name)
        if not names:
            return [name]
    else:
        num_shards = require_int("num_shards", num_shards, 1)
        if (names := shard_names(name, num_shards)) is None:
            stem, ending = os.path.splitext(name)  # noqa: PTH122 - may be a URL
            if compression_of_name(name):
                stem, inner = os.path.splitext(stem)  # noqa: PTH122
                ending = inner + ending
            names = shard_names(f"{stem}@{num_shards}{ending}") or []
        if len(names) != num_shards:
            detail = f"the name does not stand for num_shards={num_shards} files; expected a plain "
            detail += f"name, 'name@{num_shards}', or '{{shard}}' in it"
            raise argument_error(detail, source=name)
    if "@" in name and os.path.lexists(name):
        detail = "a file has exactly this name, and would be read instead of the shards; remove it"
        raise argument_error(detail, source=name)
    return names


class DataFiles(ShardSet):
    """Files to which records are written in order, one file after the other, each with its fingerprint.

    A file is opened with its first record, and finished when the next one is opened. Set `n_records`
    before :meth:`put` if it is known; otherwise the records of several files are written to a
    :class:`Spool` first.
    """

    def __init__(
        self,
        names: Sequence[Source],
        options: TFRecordOptions,
        storage_options: StorageOptions,
        meter: Meter = SILENT,
    ) -> None:
        super().__init__(options, storage_options, 1)
        self.names: list[Source] = list(names)
        self.n_records: int | None = None
        self._meter = meter
        self._n_put = 0
        self._fingerprinting: list[FingerprintingFile] = []
        self._cutter: Evenly | Filling | None = None
        self._spool: Spool | None = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the files that are not in their place."""
        self.abandon()

    def open(self, name: Source, through: Any = None) -> None:
        """Open one more file."""

        def fingerprinting(file: OutputFile) -> FingerprintingFile:
            self._fingerprinting.append(FingerprintingFile(file))
            return self._fingerprinting[-1]

        super().open(name, through or fingerprinting)

    def open_through(self, last: int) -> None:
        """Open the files up to this one, and finish those before it."""
        while len(self.files) <= last:
            if self.files:
                self.finish_file(-1)
            self.open(self.names[len(self.files)])

    def put(self, records: Block | Sequence[bytes]) -> None:
        """Write records, each to its shard."""
        if self._cutter is None and (self.n_records is not None or len(self.names) == 1):
            self._cutter = Evenly(len(self.names), self.n_records or 0)
        if self._cutter is None:
            self._spool = self._spool or Spool(self.names[0])
            self._spool.put(records)
        else:
            self._divide(records, self._cutter)
        self._n_put += len(records)
        self._meter.update(self._n_put, self.n_records)

    def _divide(self, records: Block | Sequence[bytes], cutter: Evenly | Filling) -> None:
        for shard, part in cutter.cut(records):
            self.open_through(shard)
            self._write(part, is_whole=part is records)

    def _write(self, part: Any, *, is_whole: bool) -> None:
        """Write records to the last file; what rearranges records keeps their checksums here."""
        # One by one if they are a part of a block; as views, as others share its memory.
        is_shared = isinstance(part, Block) and not is_whole
        self.sinks[-1].add_all(part.views() if is_shared else part)

    def rows_of(self, shard: int) -> range:
        """Return the numbers of the records in a shard."""
        first = sum(sink.n_records for sink in self.sinks[:shard])
        return range(first, first + self.sinks[shard].n_records)

    def finish(self) -> list[Fingerprint]:
        """Close the files, and return their fingerprints."""
        if self._spool is not None:
            cutter = Evenly(len(self.names), self._n_put)
            for block in self._spool.blocks():
                self._divide(block, cutter)
            self._spool.close()
        self.open_through(len(self.names) - 1)
        self.finish_file(-1)
        self.count()
        return [file.fingerprint for file in self._fingerprinting]

    def count(self) -> int:
        """Return how many records were written, which are all."""
        self._meter.expect(self._n_put)
        self._meter.finish()
        return self._n_put

    def add_sidecar(self, place: str, described: Sidecar) -> None:
        """Write a sidecar that appears with the files."""
        self.beside.append(sidecar.write(place, described, self._storage_options))

    def abandon(self) -> None:
        """Remove all files that are not in their place."""
        if self._spool is not None:
            self._spool.close()
        super().abandon()


class _AppendedFile(DataFiles):
    """The file of a writer that appends."""

    def __init__(self, writer: TFRecordWriter, meter: Meter) -> None:
        super().__init__([], TFRecordOptions(), None, meter)
        self._writer = writer

    def put(self, records: Block | Sequence[bytes]) -> None:
        self._writer.write(records if isinstance(records, Block) else Block.from_records(records))
        self._n_put += len(records)
        self._meter.update(self._n_put, self.n_records)


def described_by_sidecar(name: str) -> Sidecar | None:
    """Return the sidecar of a file to append to; None if there is no file, or nothing in it yet."""
    size = local_size(name)
    described = None if size is None else describing(name)
    if not size and (described is None or not described.schema):
        return None
    if described is None:
        detail = "no sidecar describes this file, so it was not written by save, or changed since; "
        detail += "TFRecordWriter(path, mode='a') appends to any file"
        raise argument_error(detail, source=name)
    if not isinstance(described.schema, Schema):
        detail = "the file has SequenceExamples; TFRecordWriter(path, mode='a') appends them"
        raise argument_error(detail, source=name)
    return described


def append(
    name: str, known: Sidecar, write: Callable[[DataFiles], Sidecar], compression: Any, meter: Meter
) -> None:
    """Append what a function writes; if anything fails, the file is as before."""
    writer = TFRecordWriter(name, mode="a", compression=compression)
    try:
        files = _AppendedFile(writer, meter)
        written = write(files)
        if files.count():
            writer.described = _merged(known, written, is_first=not writer.end.n_records)
        writer.close()
    except BaseException as error:
        writer.abandon()
        if isinstance(error, InvalidArgumentError):
            raise error.at(source=name) from None
        raise


def _merged(described: Sidecar, written: Sidecar, *, is_first: bool) -> Sidecar:
    if written.dataframe is not None:
        frames = merged_description(described.dataframe, written.dataframe)
        described = described._replace(dataframe=frames)
    if is_first:  # without rows, nothing showed how they are nested
        return described._replace(structure=written.structure)
    if written.structure is not None and written.nesting != described.nesting:
        raise argument_error("the data are nested differently from those in the file")
    return described
