"""A look at any number of files of any size, in seconds and bounded memory.

::

                         ┌ all of it fits       every record
    files ──> a share ───┤ an index beside it   records drawn by number
    of the budget each   │ uncompressed         the records that follow places all over it
                         └ otherwise            the first records: compressed, or a pipe

The budget is a number of bytes of records. Each file gets a share in proportion to its size. Of
many files some are opened, spread over all. Damage is skipped and reported.

A place is a random offset in each of some parts of equal length. The first record after it is found by
its two CRCs (:func:`~tfrecord_lite.records.resync.find_headers`), and those that follow are read with it.

A :class:`Sample` says how its records were chosen. They stand for all of the file, except the first
records of a compressed file or of a pipe: these may be unlike the rest.
"""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from typing import IO, NamedTuple

import numpy as np

from tfrecord_lite.arrays import Int64Array
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, Block, Span
from tfrecord_lite.dataset.random_order import Key, permutation, seed_of, words
from tfrecord_lite.errors import (
    DamageReport,
    DataLossError,
    FailedPreconditionError,
    FileReport,
    Reason,
    TFRecordError,
    plural,
    require_int,
)
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import (
    INDEX_SUFFIX,
    Source,
    Sources,
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
from tfrecord_lite.index.handles import AnyHandle, RemoteHandle, open_handle
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import SILENT, Meter
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.resync import RecordFinder, find_headers
from tfrecord_lite.records.stream import RecordStream

NUM_RECORDS, MAX_BYTES = 10_000, 64 * 1024 * 1024
"""How large a sample is."""

_MAX_OPENED, _MAX_SMALL = 64, 1024
"""Of more files than the first, a sample opens some; up to the second are read if all of them fit."""
_MAX_INDEX_BYTES = 32 * 1024 * 1024
"""A larger index takes longer to read than records at places do."""
_HEAD_BYTES = 64 * 1024
"""What is read of a file to see what it is, and at a place at least."""
_MAX_PLACES, _MAX_REMOTE, _REMOTE_BYTES = 64, 16, 512 * 1024
"""How many places a file has at most; of remote files, with fewer bytes each."""
_MAX_READ = 4
"""How many times the budget is read at places."""
_MAX_DAMAGE = 2000
"""A file is left after so many damaged places."""
_FEW = 8
"""How many large records of a compressed file are read together."""
_BLOCK_RECORDS = 256
"""Records per block that are drawn by index; each has a span of its own."""

_DEFAULTS = ReadSettings()


@dataclass(frozen=True, slots=True)
class Sample:
    """Some records of files, or all."""

    blocks: list[Block]
    """Their places have no number if that is not known."""
    num_records: int | None
    """Of the files; None if that is not known."""
    is_whole: bool
    """Whether these are all records."""
    method: str
    """How the records were chosen, such as "records at 64 places"."""
    report: DamageReport
    """What was read and lost, of the files that were opened."""
    compressions: tuple[str, ...]
    """Of the files that were opened, sorted; "" for none."""

    @property
    def num_read(self) -> int:
        """Number of records in the blocks."""
        return sum(map(len, self.blocks))


@dataclass(frozen=True, slots=True)
class _Part:
    """What was taken of one file."""

    report: FileReport
    blocks: list[Block]
    way: str
    """How: "whole", "first", "drawn", or "places"."""
    compression: str = ""
    num_records: int | None = None
    n_places: int = 0


class _Wanted(NamedTuple):
    """What to take of one file."""

    options: ReadSettings
    n_records: int
    n_bytes: int
    key: Key
    meter: Meter


def draw_sample(
    paths: Sources,
    *,
    num_records: int = NUM_RECORDS,
    max_bytes: int = MAX_BYTES,
    seed: int = 0,
    options: ReadSettings = _DEFAULTS,
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
    sources = expand(paths, options.storage_options)
    sizes = [local_size(source) for source in sources]
    key = (seed_of(seed),)
    is_small = len(sources) <= _MAX_SMALL and sum(n or max_bytes for n in sizes) <= max_bytes
    chosen = list(range(len(sources)))
    if len(sources) > _MAX_OPENED and not is_small:
        chosen = sorted(permutation(key, len(sources))[:_MAX_OPENED].tolist())
    known = [size for i in chosen if (size := sizes[i]) is not None]
    mean = sum(known) // max(len(known), 1)
    weights = [max(mean if (size := sizes[i]) is None else size, 1) for i in chosen]
    parts = []
    for i, weight in zip(chosen, weights, strict=True):
        n_records, n_bytes = (n * weight // sum(weights) or 1 for n in (num_records, max_bytes))
        parts.append(_take(sources[i], _Wanted(options, n_records, n_bytes, (*key, i), meter)))
    is_whole = len(parts) == len(sources) and all(part.way == "whole" for part in parts)
    counts = [part.num_records for part in parts if part.num_records is not None]
    return Sample(
        [block for part in parts for block in part.blocks],
        sum(counts) if len(counts) == len(sources) else None,
        is_whole,
        "all records" if is_whole else _method(parts, len(sources)),
        DamageReport(tuple(part.report for part in parts)),
        tuple(sorted({part.compression for part in parts})),
    )


def _method(parts: list[_Part], n_files: int) -> str:
    """Say how the records of a sample that is not whole were chosen."""
    taken: Counter[str] = Counter()
    for part in parts:
        taken[part.way] += 1 if part.way == "whole" else sum(map(len, part.blocks))
    n_places = sum(part.n_places for part in parts)
    ways = [
        f"{plural(taken['drawn'], 'record')} drawn by index" * bool(taken["drawn"]),
        f"records at {plural(n_places, 'place')}" * bool(n_places),
        f"the first {plural(taken['first'], 'record')}" * bool(taken["first"]),
        f"all records of {plural(taken['whole'], 'file')}" * bool(taken["whole"]),
    ]
    where = f" of {len(parts):,} of {n_files:,} files" if len(parts) < n_files else ""
    return (", ".join(filter(None, ways)) or "no records") + where


def _take(source: Source, wanted: _Wanted) -> _Part:
    """Take records of one file."""
    name, options = name_of(source), wanted.options
    if is_file_object(source):
        check_binary(source, "rb")
        position = position_of(source)
        part = _first(RecordStream(source, options), wanted, wanted.n_records)
        if position is not None:
            seek_to(source, position)
        return part
    if local_size(source) is None and not is_url(name):  # a pipe
        with closing(RecordStream(name, options)) as stream:
            return _first(stream, wanted, wanted.n_records)
    try:
        handle = open_handle(name, options.storage_options)
    except FailedPreconditionError as error:
        if error.reason is not Reason.UNSUPPORTED:
            raise
        with closing(open_seekable(name, options.storage_options)) as file:
            # A server that answers no ranges.
            return _first(RecordStream(file, options), wanted, wanted.n_records)
    except OSError as error:
        raise opening_error(error, name) from None
    head = _piece(name, handle.read(_HEAD_BYTES, 0))
    is_compressed = RecordStream(head, options).compression != ""
    if is_compressed or handle.size() <= wanted.n_bytes:
        with closing(RecordStream(name, options, block_records=_FEW)) as stream:
            return _first(stream, wanted)
    return _drawn_by_index(handle, wanted) or _at_places(handle, wanted)


def _first(stream: RecordStream, wanted: _Wanted, most: int | None = None) -> _Part:
    """Take all records of a file, or the first ones if they have more bytes, or are more than `most`."""
    skipping = DamageLog(lambda _: None, _MAX_DAMAGE).skipping(stream)
    blocks: list[Block] = []
    n_taken, n_bytes, is_end, failure = 0, 0, False, None
    try:
        while not is_end and n_bytes < wanted.n_bytes and n_taken != most:
            block = skipping.next_block(None if most is None else most - n_taken)
            is_end = block is None
            if block is not None:
                blocks.append(block)
                n_taken, n_bytes = n_taken + len(block), n_bytes + block.nbytes
                wanted.meter.advance(block.nbytes)
    except DataLossError as error:
        failure = error
    report = replace(skipping.report(), failure=failure)
    if not is_end:
        blocks = _only(blocks, np.arange(min(n_taken, wanted.n_records)))
    way = "whole" if is_end else "first"
    return _Part(report, blocks, way, stream.compression, n_taken if is_end else None)


# ---------------------------------------------------------------------------- by an index


def _drawn_by_index(handle: AnyHandle, wanted: _Wanted) -> _Part | None:
    """Draw records by the index beside a file; None if there is none that fits, or one is damaged."""
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
    blocks: list[Block] = []
    with file:
        (index,) = file.indexes
        numbers = permutation(wanted.key, len(index))
        # Larger ones than are wanted in all are left out.
        numbers = numbers[index.sizes[numbers] <= wanted.n_bytes][: wanted.n_records]
        n_fit = int(np.searchsorted(np.cumsum(index.sizes[numbers]), wanted.n_bytes, side="right"))
        numbers = np.sort(numbers[:n_fit])
        for first in range(0, numbers.size, _BLOCK_RECORDS):
            chosen = numbers[first : first + _BLOCK_RECORDS]
            try:
                block = file.block(chosen)
            except (FailedPreconditionError, DataLossError):  # as at places damage is skipped
                return None
            bases = (index.offsets[chosen] - block.offsets).tolist()
            places = enumerate(zip(chosen.tolist(), bases, strict=True))
            each = (Span(i, handle.name, n, base, is_framed=True) for i, (n, base) in places)
            blocks.append(replace(block, spans=tuple(each)))
    nbytes = sum(block.nbytes for block in blocks)
    wanted.meter.advance(nbytes)
    report = FileReport(handle.name, sum(map(len, blocks)), nbytes)
    return _Part(report, blocks, "drawn", num_records=len(index))


# ------------------------------------------------------------------------------- at places


def _piece(name: str, data: bytes) -> IO[bytes]:
    """Return some bytes of a file as a file of its name."""
    file = io.BytesIO(data)
    file.name = name
    return file


def _at_places(handle: AnyHandle, wanted: _Wanted) -> _Part:
    """Take records at the start of a file and at places all over it, as many as are wanted."""
    most, is_remote = wanted.n_bytes, isinstance(handle, RemoteHandle)
    n_places = max(2, min(_MAX_REMOTE if is_remote else _MAX_PLACES, most // _HEAD_BYTES))
    width = min(max(most // n_places, 1), _REMOTE_BYTES if is_remote else most)
    stride = handle.size() / n_places
    draws = (words(wanted.key, 0, n_places) >> np.uint64(11)) * 2.0**-53
    starts = (np.arange(n_places) * stride + draws * (stride - width)).astype(np.int64)
    starts[0] = 0  # where another format shows
    left = _MAX_READ * most  # long records begin in a piece, and end far beyond it
    options = replace(wanted.options, compression="")
    blocks: list[Block] = []
    log = DamageLog(lambda _: None, _MAX_DAMAGE)  # damage is in the report
    reports: list[FileReport] = []
    for start in starts.tolist():
        data = handle.read(width, start)
        first, data = _from_record(data, handle, start, min(left, options.max_record_bytes))
        left = max(left - len(data), 0)
        if not data:
            continue
        stream = RecordStream(_piece(handle.name, data), options)
        stream.decoder.begin_at(first, 0)
        is_cut = first + len(data) < handle.size()
        skipping = log.skipping(stream, may_be_torn=is_cut)
        found: list[Block] = []
        with contextlib.suppress(DataLossError):  # of too much damage
            found.extend(iter(skipping.next_block, None))
        report = skipping.report()
        if start:  # the numbers of these records are not known
            found = [
                replace(b, spans=tuple(replace(s, is_numbered=False) for s in b.spans))
                for b in found
            ]
            spans = tuple(replace(span, index=None) for span in report.spans)
            report = replace(report, spans=spans)
        reports.append(report)
        blocks += found
        wanted.meter.advance(sum(block.nbytes for block in found))
    n_found = sum(map(len, blocks))
    kept = permutation((*wanted.key, 1), n_found)[: wanted.n_records]
    report = FileReport(
        handle.name,
        n_found,
        sum(report.record_bytes for report in reports),
        tuple(span for report in reports for span in report.spans),
        sum(report.num_damaged for report in reports),
        sum(report.lost_bytes for report in reports),
    )
    return _Part(report, _only(blocks, np.sort(kept)), "places", n_places=n_places)


def _from_record(data: bytes, handle: AnyHandle, start: int, most: int) -> tuple[int, bytes]:
    """Return where the first record in some bytes is, and the bytes from there on: an intact one if there is one.

    If none is whole, the first is read, unless it has more than `most` bytes. A file begins with a record.
    """
    view = np.frombuffer(data, np.uint8)
    at = RecordFinder(most).find(view, 0, 0, is_end=True) if start else len(data)
    if at is None or at == len(data):
        starts, lengths = find_headers(view if start else view[:HEADER_BYTES], most)
        if not starts.size:
            return start, b"" if start else data
        at, size = int(starts[0]), int(lengths[0]) + OVERHEAD_BYTES
        if at + size > len(data):
            return start + at, handle.read(size, start + at)
    return start + at, data[at:]


def _only(blocks: list[Block], numbers: Int64Array) -> list[Block]:
    """Return the records with these numbers, in ascending order, among those of all blocks."""
    ends = np.cumsum([len(block) for block in blocks])
    chosen = np.split(numbers, np.searchsorted(numbers, ends)[:-1]) if blocks else []
    kept = [
        block[n - (end - len(block))] for block, n, end in zip(blocks, chosen, ends, strict=True)
    ]
    return [block for block in kept if len(block)]
