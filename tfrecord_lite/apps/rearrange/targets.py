"""The files that rearranged records are written to: one, or the shards of a set.

::

    Block ──cut──> (shard, Block) ──> RecordSink       a shard is opened with its first record
                                                       and closed when it is full
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

from tfrecord_lite.block import OVERHEAD_BYTES, Block
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.files.compression import CompressionType, compression_to_write
from tfrecord_lite.files.names import (
    SIDECAR_SUFFIX,
    Source,
    StorageOptions,
    check_storage_options,
    is_file_object,
    is_url,
    name_of,
    shard_names,
)
from tfrecord_lite.files.output import remove
from tfrecord_lite.options import WriteOptions
from tfrecord_lite.records.file_set import Filling
from tfrecord_lite.records.framing import compact
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.data_files import DataFiles, data_names
from tfrecord_lite.storage.sidecar import Sidecar

_SMALL_BYTES = 128 * 1024
"""From this size on records are written by themselves."""


class Rearranged(NamedTuple):
    """What was written.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import split_files
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> done = split_files("people.tfrecord", "part.tfrecord", num_shards=2)
    >>> done.paths, done.num_records, done.num_read
    (('part-00000-of-00002.tfrecord', 'part-00001-of-00002.tfrecord'), 3, 3)
    """

    paths: tuple[str, ...]
    """The files: paths and URLs, or the name of a file object."""
    num_records: int
    """Number of records written."""
    nbytes: int
    """Bytes of these records, without headers and checksums, before compression."""
    num_read: int
    """Number of records read."""
    seed: int | None = None
    """The seed that was used: the one given, or drawn."""
    schema: Schema | Any = None
    """The Schema or SequenceSchema in the sidecars of the files; None if they have none."""


# --------------------------------------------------------------------------------- the files


class TargetOptions(WriteOptions, total=False):
    """How records are divided among files, and how these are written.

    Of the first three, one at most.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import TargetOptions, split_files
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> options = TargetOptions(num_shards=3, overwrite=True)
    >>> len(split_files("people.tfrecord", "part.tfrecord", **options).paths)
    3
    """

    num_shards: int | None
    """Write this many files. Each has records that follow each other, as many as the others to within one."""
    bytes_per_shard: int | None
    """Begin the next file when one holds that many bytes before compression, with headers and checksums."""
    records_per_shard: int | None
    """Begin the next file when one holds that many records."""
    overwrite: bool
    """Replace files that exist."""


@dataclass(frozen=True)
class Target:
    """Where to write records; checked before anything is read."""

    target: Source
    num_shards: int | None = None
    bytes_per_shard: int | None = None
    records_per_shard: int | None = None
    compression: CompressionType = "infer"
    overwrite: bool = False
    storage_options: StorageOptions = None

    def __post_init__(self) -> None:
        """Check the arguments, but not yet whether there are such files."""
        compression_to_write(self.target, self.compression)
        given = [
            require_int(name, value, 1)
            for name in ("num_shards", "bytes_per_shard", "records_per_shard")
            if (value := getattr(self, name)) is not None
        ]
        name = name_of(self.target)
        if given and is_file_object(self.target):
            raise argument_error(
                "a file object is one file; give a path for the shards", source=name
            )
        if len(given) > 1:
            detail = "give one of num_shards, bytes_per_shard and records_per_shard"
            raise argument_error(detail)
        if self.is_open_ended and "{shard" not in name and shard_names(name):
            detail = "the name says how many shards there are; expected one without '@'"
            raise argument_error(detail, source=name)
        self.names()

    @property
    def is_open_ended(self) -> bool:
        """Whether the number of shards depends on the records."""
        return self.bytes_per_shard is not None or self.records_per_shard is not None

    @property
    def is_divided(self) -> bool:
        """Whether there are shards, maybe only one."""
        return self.is_open_ended or self.names() != [name_of(self.target)]

    @property
    def is_even(self) -> bool:
        """Whether records are divided evenly if their number is known."""
        return not self.is_open_ended and len(self.names()) > 1

    def names(self, num_shards: int = 1) -> list[str]:
        """Return the names of the files; `num_shards` of them if their number depends on the records."""
        if is_file_object(self.target):
            return [name_of(self.target)]
        count = num_shards if self.is_open_ended else self.num_shards
        return data_names(name_of(self.target), count)

    def open(self, sources: list[Source], described: Sidecar | None) -> Outputs:
        """Return the files, to be written to."""
        check_storage_options(self.storage_options, self.target, *sources)
        return Outputs(self, sources, described)


def _place(name: str) -> str:
    """Return the one name of a file."""
    name = re.sub("^(file|local)://", "", name)
    return name if is_url(name) else os.path.realpath(name)


class Outputs(DataFiles):
    """The files of a target: a context that lets them appear at its end, or removes them.

    If the number of shards is not known yet, they have other names until then.
    """

    def __init__(self, target: Target, sources: list[Source], described: Sidecar | None) -> None:
        options = compression_to_write(target.target, target.compression)
        self._is_named = not is_file_object(target.target)
        names: list[Any] = target.names() if self._is_named else [target.target]
        super().__init__(names, options, target.storage_options)
        self._target = target
        self._sources = sources
        self._described = described if self._is_named else None
        if target.is_open_ended:
            self._cutter = Filling(target.records_per_shard, target.bytes_per_shard)
        self._nbytes = 0
        self._few: list[Block] = []  # of the last shard
        self._few_bytes = 0

    def __enter__(self) -> Self:
        """Open the first file, so that a place that cannot be written to is known at once."""
        try:
            self.open_through(0)
            if not self._target.is_open_ended:
                self._check_names()
        except BaseException:
            self.abandon()
            raise
        return self

    def put(self, records: Block | Sequence[bytes]) -> None:
        """Write the records of a block, whose memory others may hold too."""
        super().put(records)
        self._nbytes += records.nbytes  # type: ignore[union-attr]

    def _write(self, part: Block, *, is_whole: bool) -> None:
        """Write records with the checksums they were read with; collect few, to write no small pieces."""
        n_bytes = part.nbytes + len(part) * OVERHEAD_BYTES
        is_small = n_bytes < _SMALL_BYTES
        if is_small:
            self._few.append(compact(part))
            self._few_bytes += n_bytes
        if not is_small or self._few_bytes >= _SMALL_BYTES:
            self._write_few()
        if not is_small:
            self.sinks[-1].add_block(part)

    def _write_few(self) -> None:
        """Write the records that were collected, frames and all."""
        few, self._few, self._few_bytes = self._few, [], 0
        if few:
            self.sinks[-1].add_framed(Block.concat(few))

    def finish_file(self, i: int) -> None:
        """Write what is pending for one file, and close it."""
        self._write_few()
        super().finish_file(i)

    def open_through(self, last: int) -> None:
        """Open the files up to this one, under as many names as there need to be."""
        if last >= len(self.names):
            self.names[:] = self._target.names(2 * last)
        super().open_through(last)

    def _check_names(self) -> None:
        """Raise if a file that is read would be replaced, or any other without being asked to."""
        sources = (name_of(source) for source in self._sources if not is_file_object(source))
        read = set(map(_place, sources))
        for name in map(name_of, self.names if self._is_named else ()):
            if _place(name) in read:
                detail = "the new file would replace one that is read; give another name"
                raise argument_error(detail, source=name)
            if not self._target.overwrite and self.files[0].replaces(name):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)

    def result(self, num_read: int | None = None, seed: int | None = None) -> Rearranged:
        """Let all files appear, with sidecars or without, and return what was written."""
        if self._target.is_open_ended:
            self.names[:] = self._target.names(len(self.files))
        fingerprints = self.finish()
        names = list(map(name_of, self.names))
        for file, name in zip(self.files, names, strict=True):
            file.name = name
        self._check_names()
        replaced = [file.replaces(file.name) for file in self.files]
        described = self._described
        if described is not None:
            for name, fingerprint in zip(names, fingerprints, strict=True):
                one = described._replace(fingerprint=fingerprint)
                self.add_sidecar(f"{name}{SIDECAR_SUFFIX}", one)
        self.commit()
        if (
            described is None and self._is_named
        ):  # sidecars of data that were replaced, or deleted before
            for name, is_replaced in zip(names, replaced, strict=True):
                if is_replaced:
                    remove(f"{name}{SIDECAR_SUFFIX}", self._storage_options)
                else:
                    sidecar.remove_stale(name, self._storage_options)
        return Rearranged(
            tuple(names),
            self._n_put,
            self._nbytes,
            self._n_put if num_read is None else num_read,
            seed,
            None if described is None else described.schema,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the files that are not in their place."""
        self.abandon()
