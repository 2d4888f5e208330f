"""Records that are rearranged: their sources (`Input`), and the files that they are written to (`Outputs`)."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Self

from tfrecord_lite import extension as ext
from tfrecord_lite import progress as meters
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, argument_error, require_int, warn_user
from tfrecord_lite.extension import Sidecar, Source, Sources, StorageOptions
from tfrecord_lite.options import ReadSettings, WriteOptions, check_keywords
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader, bytes_read, reader_with
from tfrecord_lite.records.framing import checked, compact
from tfrecord_lite.records.shard_set import Filling
from tfrecord_lite.schema import Schema

_LIMITS = "num_shards", "bytes_per_shard", "records_per_shard"
_SMALL_BYTES = 32 * 1024
"""For a smaller block, a sink makes the frames anew."""


class Rearranged(NamedTuple):
    """What was written.

    Examples
    --------
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
    """The seed that was given, or drawn."""
    schema: Schema | Any = None
    """The Schema or SequenceSchema in the sidecars of the files; None if they have none."""


# --------------------------------------------------------------------------------- the files


class TargetOptions(WriteOptions, total=False):
    """How records are divided among files, and how these are written.

    At most one of the first three.

    Examples
    --------
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


class Outputs(ext.DataFiles):
    """The files of a target, which appear with :meth:`result`; all arguments are checked at once.

    If the number of shards is not known yet, they have other names until then.
    """

    def __init__(self, target: Source, options: TargetOptions) -> None:
        check_keywords(options, TargetOptions)
        output_options = ext.compression_to_write(target, options.get("compression", "infer"))
        self._target, self._overwrite = target, options.get("overwrite", False)
        self._is_named = not ext.is_file_object(target)
        sizes: Any = {name: options.get(name) for name in _LIMITS}
        limits = {name: require_int(name, n, 1) for name, n in sizes.items() if n is not None}
        num_shards = limits.get("num_shards")
        name = ext.name_of(target)
        if limits and not self._is_named:
            detail = "a file object is one file; give a path for the shards"
            raise argument_error(detail, source=name)
        if len(limits) > 1:
            raise argument_error(f"give one of {' and '.join(limits)}")
        self._is_open_ended = bool(limits) and num_shards is None
        if self._is_open_ended and "{shard" not in name and ext.shard_names(name):
            detail = "the name says how many shards there are; expected one without '@'"
            raise argument_error(detail, source=name)
        names: list[Any] = [target]
        if self._is_named:
            names = ext.data_names(name, 1 if self._is_open_ended else num_shards)
        self.storage_options: Any = options.get("storage_options")
        super().__init__(names, output_options, self.storage_options)
        if self._is_open_ended:
            self._cutter = Filling(limits.get("records_per_shard"), limits.get("bytes_per_shard"))
        self.is_divided: bool = self._is_open_ended or (self._is_named and names != [name])
        """Whether there are shards, maybe only one."""
        self.is_even: bool = not self._is_open_ended and len(names) > 1
        """Whether records are divided evenly if their number is known."""
        self._nbytes = 0

    def read(self, sources: Sources | TFRecordReader, progress: Progress, *more: Outputs) -> Input:
        """Return the records to write, here and to others."""
        read = Input(sources, self.storage_options, progress)
        outputs = (self, *more)
        targets = [name for output in outputs for name in output.names]
        ext.check_storage_options(self.storage_options, *targets, *read.sources)
        described = read.described()
        for output in outputs:
            output.describe(read.sources, described)
        return read

    def describe(self, sources: list[Source], described: Sidecar | None) -> None:
        """Take over the sidecars of the sources for the new files."""
        self._sources, self._described = sources, described if self._is_named else None

    def __enter__(self) -> Self:
        """Open the first file, so that a place that cannot be written to is known at once."""
        try:
            self.open_through(0)
            if not self._is_open_ended:
                self._check_names()
        except BaseException:
            self.abandon()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the files that have not appeared."""
        self.abandon()

    def put(self, records: Block | Sequence[bytes]) -> None:
        """Write the records of a block, whose memory others may hold too."""
        super().put(records)
        self._nbytes += records.nbytes  # type: ignore[union-attr]

    def _divide(self, records: Any, cutter: Any) -> None:
        """Write records with the checksums they were read with."""
        for shard, part in cutter.cut(records):
            self.open_through(shard)
            if part.nbytes < _SMALL_BYTES:
                self.sinks[-1].add_framed(compact(part))
            else:
                self.sinks[-1].add_shared(part)

    def open_through(self, last: int) -> None:
        """Open the files up to this one, under as many names as there need to be."""
        if last >= len(self.names):
            self.names[:] = ext.data_names(ext.name_of(self._target), 2 * last)
        super().open_through(last)

    def _check_names(self) -> None:
        """Raise if a file that is read would be replaced, or any other without being asked to."""
        sources = (ext.name_of(one) for one in self._sources if not ext.is_file_object(one))
        read = set(map(place_of, sources))
        for name in map(ext.name_of, self.names if self._is_named else ()):
            if place_of(name) in read:
                detail = "the new file would replace one that is read; give another name"
                raise argument_error(detail, source=name)
            if not self._overwrite and self.files[0].replaces(name):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)

    def result(self, num_read: int | None = None, seed: int | None = None) -> Rearranged:
        """Let all files appear, with sidecars or without, and return what was written."""
        self.prepare()
        self.commit()
        return self.placed(num_read, seed)

    def prepare(self) -> None:
        """Write all that is pending, and the sidecars, so that the files can appear."""
        if self._is_open_ended:
            self.names[:] = ext.data_names(ext.name_of(self._target), len(self.files))
        fingerprints = self.finish()
        names = list(map(ext.name_of, self.names))
        for file, name in zip(self.files, names, strict=True):
            file.name = name
        self._check_names()
        self._replaced = [file.replaces(file.name) for file in self.files]
        if (described := self._described) is not None:
            for name, fingerprint in zip(names, fingerprints, strict=True):
                place = ext.companion(name, ext.SIDECAR_SUFFIX)
                self.add_sidecar(place, described._replace(fingerprint=fingerprint))

    def placed(self, num_read: int | None = None, seed: int | None = None) -> Rearranged:
        """Return what was written, after all files have appeared; remove the sidecars of older data."""
        names, described = list(map(ext.name_of, self.names)), self._described
        if described is None and self._is_named:
            # Of data that were replaced, or deleted before, the sidecars go.
            for name, is_replaced in zip(names, self._replaced, strict=True):
                if is_replaced:
                    ext.remove(ext.companion(name, ext.SIDECAR_SUFFIX), self._storage_options)
                else:
                    ext.remove_stale(name, self._storage_options)
        n_put, schema = self._n_put, None if described is None else described.schema
        num_read = n_put if num_read is None else num_read
        return Rearranged(tuple(names), n_put, self._nbytes, num_read, seed, schema)


def place_of(name: str) -> str:
    """Return the one name of a file."""
    name = re.sub("^(file|local)://", "", name)
    return name if ext.is_url(name) else os.path.realpath(name)


class Input:
    """The records of a reader, or of files."""

    def __init__(
        self, sources: Sources | TFRecordReader, storage_options: StorageOptions, progress: Progress
    ) -> None:
        meters.check_progress(progress)
        if not isinstance(sources, TFRecordReader):
            is_one = isinstance(sources, (str, bytes, os.PathLike)) or ext.is_file_object(sources)
            is_list = not is_one and hasattr(sources, "__iter__")
            items: list[Any] = list(sources) if is_list else [sources]  # type: ignore[arg-type]
            names = (ext.name_of(item) for item in items if not ext.is_file_object(item))
            has_url = any(map(ext.is_url, names))
            sources = TFRecordReader(items, storage_options=storage_options if has_url else None)
        self._reader = sources
        self.sources: list[Source] = self._reader.sources
        self._options: ReadSettings = self._reader._options  # noqa: SLF001 - of this package
        self._progress, self._opened = progress, ExitStack()
        self._meter = meters.SILENT
        self._n_before = 0  # bytes of the passes before this one
        self.num_read: int = 0

    @contextmanager
    def metered(self, num_passes: int = 1) -> Iterator[meters.Meter]:
        """Show the progress of reading all files, which are closed in the end.

        If they are read several times, each byte counts a part each time.
        """
        title = meters.title_of(self.sources)
        with meters.metered(self._progress, title, "bytes") as meter, self._opened:
            self._total = meters.total_bytes(self.sources) if meter.is_on else None
            self._meter, self._num_passes = meter, num_passes
            yield meter

    def _advance(self, n_bytes: int) -> None:
        if self._meter.is_on:
            self._meter.update((self._n_before + n_bytes) // self._num_passes, self._total)

    def advance_written(self, num_written: int) -> None:
        """Show the progress of a second pass, over records that were read in the first."""
        if self.num_read:
            self._advance(int(self._n_before * num_written / self.num_read))

    @property
    def is_rereadable(self) -> bool:
        """Whether the records can be read twice."""
        streams = filter(ext.is_file_object, self.sources)
        has_pipe = any(map(ext.is_pipe, self.sources))
        return not has_pipe and all(ext.position_of(stream) is not None for stream in streams)

    def blocks(self) -> Iterator[Block]:
        """Yield the records, in blocks whose checksums are right."""
        self.num_read = 0
        for block in self._blocks_of(self._reader):
            yield checked(block)
            self.num_read += len(block)

    def count(self) -> int:
        """Count the records, in a reading of its own."""
        return sum(map(len, self._blocks_again(verify=self._options.leaves_out)))

    def blocks_again(self) -> Iterator[Block]:
        """Yield the records in a reading of its own; what is left out is reported by another one."""
        return map(checked, self._blocks_again(verify=True))

    def _blocks_again(self, *, verify: bool) -> Iterator[Block]:
        options = replace(self._options.quietly(), verify=verify)
        return self._blocks_of(reader_with(self.sources, options))

    def _blocks_of(self, reader: TFRecordReader) -> Iterator[Block]:
        blocks: Any = reader.blocks()
        for block in self._opened.enter_context(closing(blocks)):
            yield block
            self._advance(bytes_read(reader))
        self._n_before += bytes_read(reader)

    def described(self) -> Sidecar | None:
        """Return what the sidecars of all files say, as one; warn if they do not go together."""
        if self._options.on_error == "raise":
            for source in self.sources:  # raises if one is stale
                ext.read_beside(source, self._options.storage_options)
        try:
            description = ext.carried_by(self.sources, self._options)
        except InvalidArgumentError as error:
            reason = str(error).partition("; ")[0]
            warn_user(
                f"the new files get no sidecar, since those beside the old do not fit: {reason}"
            )
            return None
        if description is None:
            return None
        return description._replace(dataframe=ext.without_numbers(description.dataframe))
