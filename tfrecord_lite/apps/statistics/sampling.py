"""A look at any number of files of any size, in seconds and bounded memory.

::

                         ┌ all of it fits       every record
    files ──> a share ───┤ an index beside it   records drawn by number
    of the budget each   │ uncompressed         records at places all over it (windows)
                         └ otherwise            the first records: compressed, or a pipe

The budget is a number of bytes of records. Each file gets a share in proportion to its size. Of many files some are opened, spread over all, and the
others are counted by their size. Damage is skipped and reported.

A :class:`Sample` says how its records were chosen. They stand for all of the file, except the first
records of a compressed file or of a pipe: these may be unlike the rest.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from tfrecord_lite.apps.statistics import windows
from tfrecord_lite.block import Block, Span
from tfrecord_lite.dataset.random_order import permutation, seed_of, words
from tfrecord_lite.errors import (
    DamagedSpan,
    DataLossError,
    FailedPreconditionError,
    Reason,
    TFRecordError,
    plural,
    require_int,
)
from tfrecord_lite.files.inflate import PIECE_BYTES
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import (
    INDEX_SUFFIX,
    check_binary,
    expand,
    is_file_object,
    is_url,
    local_size,
    name_of,
    opening_error,
    position_of,
    seek_to,
)
from tfrecord_lite.index import TFRecordFile
from tfrecord_lite.index.pread import open_handle
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import SILENT
from tfrecord_lite.records.damage import (
    DamageLog,
    DamageReport,
    FileReport,
)
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.dataset.random_order import Key
    from tfrecord_lite.files.inflate import InflationLimits
    from tfrecord_lite.files.names import Source, Sources, StorageOptions
    from tfrecord_lite.index.pread import AnyHandle
    from tfrecord_lite.progress import Meter
    from tfrecord_lite.records.damage import SkippingStream

NUM_RECORDS, MAX_BYTES = 10_000, 64 * 1024 * 1024
"""How large a sample is."""

_MAX_OPENED = 64
"""Of more files than this, a sample opens some."""
_MAX_SMALL = 1024
"""So many local files are read, if all of them fit."""
_MAX_INDEX_BYTES = 32 * 1024 * 1024
"""A larger index takes longer to read than windows do."""
_HEAD_BYTES = 64 * 1024
"""What is read of a file to see what it is; of a file object at least this is."""
_MAX_DAMAGE = 2000
"""A file is left after so many damaged places: a second or so is spent on these."""
_BLOCK_RECORDS = 256
"""Records per block that are drawn by index; each has a span of its own."""

_DEFAULTS = ReadSettings()


@dataclass(frozen=True, slots=True)
class Sample:
    """Some records of files, or all."""

    blocks: list[Block]
    """Their places have no number if that is not known."""
    n_records: int
    """Of the files; if that is not known, those read."""
    is_estimate: bool
    """Whether `n_records` is one."""
    is_whole: bool
    """Whether these are all records."""
    method: str
    """How the records were chosen, such as "records at 64 places"."""
    report: DamageReport
    """What was read and lost, of the files that were opened."""
    n_bytes: int | None
    """Of all files on disk; None if not known."""
    compressions: tuple[str, ...]
    """Of the files that were opened, sorted; "" for none."""
    is_least: bool = False
    """Whether there are more records than `n_records`: of a pipe or file object not read to its end."""


@dataclass(slots=True)
class _Part:
    """What was taken of one file."""

    report: FileReport
    compression: str
    blocks: list[Block] = field(default_factory=list)
    n_records: float = 0
    is_exact: bool = True
    """Whether `n_records` is no estimate."""
    is_whole: bool = False
    is_least: bool = False
    """Whether `n_records` is what was read of a file of unknown size."""
    n_drawn: int = 0
    n_places: int = 0

    @property
    def is_first(self) -> bool:
        """Whether these are the first records only."""
        return not (self.is_whole or self.n_drawn or self.n_places)

    @property
    def n_taken(self) -> int:
        """Number of records."""
        return sum(map(len, self.blocks))

    @property
    def n_bytes(self) -> int:
        """Bytes of all records."""
        return sum(block.nbytes for block in self.blocks)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to take of one file."""

    options: ReadSettings
    n_records: int
    n_bytes: int
    key: Key
    meter: Meter

    @property
    def limits(self) -> InflationLimits:
        """The limits of the options on compressed files, lowered to what is wanted."""
        limits = self.options.inflation
        most = self.n_bytes if limits.max_bytes is None else min(limits.max_bytes, self.n_bytes)
        return replace(limits, max_bytes=most)


def draw_sample(
    paths: Sources,
    *,
    num_records: int = NUM_RECORDS,
    max_bytes: int = MAX_BYTES,
    seed: int = 0,
    options: ReadSettings = _DEFAULTS,
    storage_options: StorageOptions = None,
    meter: Meter = SILENT,
) -> Sample:
    """Take all records of small files, and some of large ones.

    Files that together have at most `max_bytes` are read whole, however many records they have.
    Of others about `num_records` are taken, with at most about `max_bytes` of data; no more than a few
    times as much is read. The same `seed` takes the same records of the same files.
    `on_error` and `max_errors` of the options do not matter: damage is skipped. `meter` is told of
    the bytes of the records that are read.

    Raises as :class:`TFRecordReader` for files that cannot be opened or read, and for damage that
    is not skipped there.
    """
    require_int("num_records", num_records, 1)
    require_int("max_bytes", max_bytes, 1)
    if storage_options is not None:
        options = replace(options, storage_options=storage_options)
    sources = expand(paths, options.storage_options)
    sizes = [local_size(source) for source in sources]
    seed = seed_of(seed)
    chosen = _chosen(sizes, max_bytes, (seed,))
    weights = _weights([sizes[number] for number in chosen])
    total = sum(weights)
    parts = []
    for number, weight in zip(chosen, weights, strict=True):
        few, small = max(num_records * weight // total, 1), max(max_bytes * weight // total, 1)
        part, sizes[number] = _take(
            sources[number], sizes[number], _Wanted(options, few, small, (seed, number), meter)
        )
        parts.append(part)
    return _joined(parts, chosen, sizes)


def _chosen(sizes: list[int | None], max_bytes: int, key: Key) -> list[int]:
    """Return the numbers of the files to open: all, or some that are spread over all."""
    n_files = len(sizes)
    fits = n_files <= _MAX_SMALL and sum(size or max_bytes for size in sizes) <= max_bytes
    if n_files <= _MAX_OPENED or fits:
        return list(range(n_files))
    # Strata of a circle that is turned at random: no file twice, and each as likely.
    turn, *draws = words(key, 0, _MAX_OPENED + 1).tolist()
    edges = [(i * n_files + turn % n_files) // _MAX_OPENED for i in range(_MAX_OPENED + 1)]
    strata = zip(pairwise(edges), draws, strict=True)
    return sorted((first + draw % (stop - first)) % n_files for (first, stop), draw in strata)


def _weights(sizes: list[int | None]) -> list[int]:
    """Return what the budget is divided by: sizes, and the mean of them for those not known."""
    known = [size for size in sizes if size is not None]
    mean = sum(known) // len(known) if known else 1
    return [max(mean if size is None else size, 1) for size in sizes]


def _take(source: Source, size: int | None, wanted: _Wanted) -> tuple[_Part, int | None]:
    """Take records of one file; return them, and its size if that is known."""
    name, options = name_of(source), wanted.options.storage_options
    if is_file_object(source):
        position = position_of(source)
        part = _first_of_object(cast("IO[bytes]", source), wanted, is_pipe=position is None)
        if position is not None:
            seek_to(source, position)
        return part, None
    try:
        if size is None and not is_url(name):
            with open(name, "rb", buffering=0) as pipe:  # noqa: PTH123 - as every name here
                return _first_of_object(cast("IO[bytes]", pipe), wanted, is_pipe=True), None
        handle = open_handle(name, options)
    except FailedPreconditionError as error:
        if error.reason is not Reason.UNSUPPORTED:
            raise
        with closing(open_seekable(name, options)) as file:  # a server that answers no ranges
            return _first_of_object(file, wanted, is_pipe=False), None
    except OSError as error:
        raise opening_error(error, name) from None
    return _take_at_any_offset(handle, wanted), handle.size()


def _take_at_any_offset(handle: AnyHandle, wanted: _Wanted) -> _Part:
    """Take records of a file that can be read at any offset."""
    size, options = handle.size(), wanted.options
    head = windows.Window(handle, 0, _HEAD_BYTES)
    compression = RecordStream(cast("IO[bytes]", head), options).compression
    if compression or size <= wanted.n_bytes:
        limits = wanted.limits if compression else None
        with closing(RecordStream(handle.name, options, limits=limits)) as stream:
            return _first(stream, wanted, size=size)
    return _drawn_by_index(handle, wanted) or _from_windows(handle, wanted)


class _Prefix:
    """The first bytes of a file object, as a file object that cannot seek; `left` of them."""

    def __init__(self, file: IO[bytes], n_bytes: float) -> None:
        self.name: str = name_of(file)
        self.left = n_bytes
        self._file = file

    def read(self, n_bytes: int) -> bytes | None:
        """Return the next bytes, at most `n_bytes`, none at the end."""
        data = self._file.read(int(min(n_bytes, self.left)))
        self.left -= len(data or b"")
        return data


def _first_of_object(file: IO[bytes], wanted: _Wanted, *, is_pipe: bool) -> _Part:
    """Take the first records of a file object; of a pipe not many more than are wanted."""
    check_binary(file, "rb")
    prefix = _Prefix(file, max(wanted.n_bytes, _HEAD_BYTES))
    stream = RecordStream(cast("IO[bytes]", prefix), wanted.options, limits=wanted.limits)
    if stream.compression:  # its content is limited instead
        prefix.left = np.inf
    return _first(stream, wanted, prefix=prefix, most=wanted.n_records if is_pipe else None)


def _first(
    stream: RecordStream,
    wanted: _Wanted,
    *,
    size: int | None = None,
    prefix: _Prefix | None = None,
    most: int | None = None,
) -> _Part:
    """Take the first records of a file: all, if that is within what limits the stream, and `most`.

    Of others as many as are wanted.
    """
    log = DamageLog(lambda span: None, _MAX_DAMAGE)  # noqa: ARG005 - told by the report
    skipping = log.skipping(stream, may_be_torn=prefix is not None)
    blocks: list[Block] = []
    is_end, n_taken, failure = False, 0, None
    try:
        while not is_end and n_taken != most:
            block = skipping.next_block(None if most is None else most - n_taken)
            is_end = block is None
            if block is not None:
                blocks.append(block)
                n_taken += len(block)
                wanted.meter.advance(block.nbytes)
    except DataLossError as error:
        if error.reason is not Reason.INFLATED_TOO_LARGE and not log.is_over:
            raise
        is_ours = not log.is_over and stream.inflated.position >= wanted.n_bytes
        failure = None if is_ours else error
    report = skipping.report()
    if is_end and prefix is not None:
        is_end = prefix.left > 0
        if is_end and skipping.torn_bytes:
            report = _with_torn_end(report, skipping)
    report = replace(report, failure=failure)
    n_records = n_taken if is_end or not size else _estimate(stream, n_taken, size)
    if not is_end and n_taken > wanted.n_records:
        blocks = _only(blocks, np.arange(wanted.n_records))
    return _Part(
        report, stream.compression, blocks, n_records, is_end, is_end, not (is_end or size)
    )


def _with_torn_end(report: FileReport, stream: SkippingStream) -> FileReport:
    """Return the report of a file that ends inside a record."""
    n_bytes, n_records = stream.torn_bytes, report.records
    place = stream.name, stream.offset - n_bytes, n_bytes
    index = n_records + report.n_damaged
    torn = DamagedSpan(*place, Reason.TRUNCATED, None, index, n_records, 0)
    return replace(
        report,
        spans=(*report.spans, torn),
        n_damaged=report.n_damaged + 1,
        lost_bytes=report.lost_bytes + n_bytes,
    )


def _estimate(stream: RecordStream, n_taken: int, size: int) -> float:
    """Estimate the number of records in a file of which some content was read."""
    if not stream.compression:  # it is so damaged that it was left
        return n_taken * size / max(stream.offset, 1)
    inflated, n_read = stream.inflated, stream.inflated.raw_position
    # Of the last piece that was read, some was inflated, on average half.
    n_read = max(n_read - PIECE_BYTES // 2, n_read // 2, 1)
    n_bytes = inflated.position * size / n_read
    return max(n_taken * n_bytes / max(stream.offset, 1), n_taken)


def _drawn_by_index(handle: AnyHandle, wanted: _Wanted) -> _Part | None:
    """Draw records by the index beside a file; None if there is none that fits."""
    options = wanted.options
    beside = handle.name + INDEX_SUFFIX
    try:
        if open_handle(beside, options.storage_options).size() > _MAX_INDEX_BYTES:
            return None
        file = TFRecordFile(
            handle.name,
            index=beside,
            max_record_bytes=options.max_record_bytes,
            verify=options.verify,
            storage_options=options.storage_options,
        )
    except (OSError, TFRecordError):  # it was not asked for, so it need not be good
        return None
    try:
        return _drawn(file, wanted)
    except FailedPreconditionError:  # a record is not as the index says
        return None


def _drawn(file: TFRecordFile, wanted: _Wanted) -> _Part:
    """Draw records of an indexed file; larger ones than are wanted in all are left out."""
    with file:
        (index,), (name,) = file.indexes, file.sources
        numbers = permutation(wanted.key, len(index))
        numbers = numbers[index.sizes[numbers] <= wanted.n_bytes][: wanted.n_records]
        n_fit = int(np.searchsorted(np.cumsum(index.sizes[numbers]), wanted.n_bytes, side="right"))
        numbers = np.sort(numbers[:n_fit])
        spans: list[DamagedSpan] = []
        blocks: list[Block] = []
        for first in range(0, numbers.size, _BLOCK_RECORDS):
            some = _intact(file, numbers[first : first + _BLOCK_RECORDS], spans)
            wanted.meter.advance(sum(block.nbytes for block in some))
            blocks += some
    report = _report(name, blocks, spans)
    return _Part(report, "", blocks, len(index), is_exact=True, n_drawn=report.records)


def _intact(file: TFRecordFile, numbers: Int64Array, spans: list[DamagedSpan]) -> list[Block]:
    """Read records of an indexed file; leave out those that are damaged, and add them to `spans`."""
    (index,) = file.indexes
    try:
        block = file.block(numbers)
    except DataLossError as error:
        if numbers.size > 1:
            middle = numbers.size // 2
            return [
                b for n in (numbers[:middle], numbers[middle:]) for b in _intact(file, n, spans)
            ]
        number = int(numbers[0])
        place = file.sources[0], int(index.offsets[number]), int(index.sizes[number])
        spans.append(DamagedSpan(*place, error.reason, error.detail, number, number))
        return []
    return [_placed(block, file.sources[0], numbers, index.offsets[numbers])]


def _placed(block: Block, name: str, numbers: Int64Array, offsets: Int64Array) -> Block:
    """Return a block of frames that knows where its records, in the order of the file, are."""
    bases = offsets - block.offsets
    is_first = np.ones(numbers.size, np.bool_)
    is_first[1:] = (np.diff(numbers) != 1) | (np.diff(bases) != 0)
    spans = tuple(
        Span(first, name, int(numbers[first]), int(bases[first]), is_framed=True)
        for first in np.flatnonzero(is_first).tolist()
    )
    return replace(block, spans=spans)


def _from_windows(handle: AnyHandle, wanted: _Wanted) -> _Part:
    """Take records at places all over a file, at most as many as are wanted."""
    found = windows.look(handle, wanted.options, wanted.n_bytes, wanted.key, wanted.meter)
    n_found = sum(map(len, found.blocks))
    kept = permutation((*wanted.key, 1), n_found)[: wanted.n_records]
    blocks = _only(found.blocks, np.sort(kept)) if n_found > kept.size else found.blocks
    return _Part(found.report, "", blocks, found.n_records, is_exact=False, n_places=found.n_places)


def _only(blocks: list[Block], numbers: Int64Array) -> list[Block]:
    """Return the records with these numbers, in ascending order, among those of all blocks."""
    ends = np.cumsum([len(block) for block in blocks])
    edges = np.searchsorted(numbers, ends)
    chosen = np.split(numbers, edges[:-1])
    firsts = (ends - [len(block) for block in blocks]).tolist()
    kept = [block[n - first] for block, n, first in zip(blocks, chosen, firsts, strict=True)]
    return [block for block in kept if len(block)]


def _report(name: str, blocks: list[Block], spans: list[DamagedSpan]) -> FileReport:
    """Return the report of a file of which these records were read."""
    n_records, n_bytes = sum(map(len, blocks)), sum(block.nbytes for block in blocks)
    n_lost = sum(span.length for span in spans)
    return FileReport(name, n_records, n_bytes, tuple(spans), len(spans), n_lost)


def _joined(parts: list[_Part], chosen: list[int], sizes: list[int | None]) -> Sample:
    """Return the parts of all files as one sample."""
    n_files = len(sizes)
    is_whole = len(parts) == n_files and all(part.is_whole for part in parts)
    n_records = sum(part.n_records for part in parts)
    all_known = [size for size in sizes if size is not None]
    n_bytes = sum(all_known) if len(all_known) == n_files else None
    if len(parts) < n_files:
        opened = sum(sizes[number] or 0 for number in chosen)
        is_known = n_bytes is not None and opened > 0
        n_records *= n_bytes / opened if is_known else n_files / len(parts)  # type: ignore[operator]
    return Sample(
        [block for part in parts for block in part.blocks],
        round(n_records),
        len(parts) < n_files or not all(part.is_exact for part in parts),
        is_whole,
        "all records" if is_whole else _method(parts, n_files),
        DamageReport(tuple(part.report for part in parts)),
        n_bytes,
        tuple(sorted({part.compression for part in parts})),
        any(part.is_least for part in parts),
    )


def _method(parts: list[_Part], n_files: int) -> str:
    """Say how the records of a sample that is not whole were chosen."""
    n_drawn = sum(part.n_drawn for part in parts)
    n_places = sum(part.n_places for part in parts)
    n_first = sum(part.n_taken for part in parts if part.is_first)
    n_whole = sum(part.is_whole for part in parts)
    ways = [
        f"{plural(n_drawn, 'record')} drawn by index" if n_drawn else "",
        f"records at {plural(n_places, 'place')}" if n_places else "",
        f"the first {plural(n_first, 'record')}" if n_first else "",
        f"all records of {plural(n_whole, 'file')}" if n_whole else "",
    ]
    where = f" of {len(parts):,} of {n_files:,} files" if len(parts) < n_files else ""
    return (", ".join(filter(None, ways)) or "no records") + where
