"""A look at any number of files of any size, in seconds and bounded memory.

The budget is a number of bytes of records; each file gets a share in proportion to its size. A file that fits is
read whole. Otherwise records are taken at places all over an uncompressed file, and the first ones of a compressed
file or a pipe, which may be unlike the rest. A place is a random offset in each of some parts of equal length; the
first record after it is found by its two CRCs. Damage is skipped and reported.
"""

from __future__ import annotations

import io
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, Block
from tfrecord_lite.files import names
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.index.handles import AnyHandle, RemoteHandle, open_handle
from tfrecord_lite.index.parts import join_reports
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import SILENT, Meter
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.resync import RecordFinder, find_headers
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.texts import plural

NUM_RECORDS, MAX_BYTES = 10_000, 64 * 1024 * 1024
"""How large a sample is."""

_MAX_OPENED, _MAX_SMALL = 64, 1024
"""Of more files than the first, a sample opens some; up to the second are read if all of them fit."""
_HEAD_BYTES = 64 * 1024
"""What is read of a file to see what it is, and at a place at least."""
_MAX_PLACES, _MAX_REMOTE, _REMOTE_BYTES = 64, 16, 512 * 1024
"""How many places a file has at most; of remote files, with fewer bytes each."""
_MAX_READ = 4
"""How many times the budget may be read at places."""
_MAX_DAMAGE = 2000
"""A file is left after so many damaged places."""
_FEW = 8
"""How many large records of a compressed file are read together."""

_DEFAULTS = ReadSettings()


@dataclass(frozen=True, slots=True)
class Sample:
    """Some records of files, or all."""

    blocks: list[Block]
    """Their places have no number if that is not known."""
    num_records: int | None
    """The number of records in the files; None if it is not known."""
    is_whole: bool
    """Whether these are all records."""
    method: str
    """How the records were chosen, such as "records at 64 places"."""
    report: errors.DamageReport
    compressions: tuple[str, ...]
    """The compressions of the opened files, sorted; "" for none."""

    @property
    def num_read(self) -> int:
        """Number of records in the blocks."""
        return sum(map(len, self.blocks))


class _Part(NamedTuple):
    report: errors.FileReport
    blocks: list[Block]
    way: str  # "whole", "first", or "places"
    compression: str = ""
    num_records: int | None = None
    n_places: int = 0


class _Share(NamedTuple):
    options: ReadSettings
    n_records: int
    n_bytes: int
    rng: np.random.Generator
    meter: Meter


def draw_sample(
    paths: names.Sources,
    *,
    num_records: int = NUM_RECORDS,
    max_bytes: int = MAX_BYTES,
    seed: int = 0,
    options: ReadSettings = _DEFAULTS,
    meter: Meter = SILENT,
) -> Sample:
    """Take all records of small files, and some of large ones.

    Files that together have at most `max_bytes` are read whole, however many records they have.
    From others about `num_records` are taken, with at most about `max_bytes` of data; no more than a few
    times as much is read. The same `seed` takes the same records of the same files.
    `on_error` and `max_errors` of the options do not matter: damage is skipped. Otherwise raises as
    :class:`TFRecordReader`.
    """
    errors.require_int("num_records", num_records, 1)
    errors.require_int("max_bytes", max_bytes, 1)
    rng = np.random.default_rng(errors.require_int("seed", seed) % 2**64)
    sources = names.expand(paths, options.storage_options)
    n_files = len(sources)
    sizes = [names.local_size(source) for source in sources]
    is_small = n_files <= _MAX_SMALL and sum(n or max_bytes for n in sizes) <= max_bytes
    chosen = list(range(n_files))
    if n_files > _MAX_OPENED and not is_small:
        chosen = sorted(rng.permutation(n_files)[:_MAX_OPENED].tolist())
    known = [size for i in chosen if (size := sizes[i]) is not None]
    mean = sum(known) // max(len(known), 1)
    weights = [max(mean if (size := sizes[i]) is None else size, 1) for i in chosen]
    parts = []
    for i, weight in zip(chosen, weights, strict=True):
        n_records, n_bytes = (n * weight // sum(weights) or 1 for n in (num_records, max_bytes))
        parts.append(_take(sources[i], _Share(options, n_records, n_bytes, rng, meter)))
    counts = [part.num_records for part in parts if part.num_records is not None]
    return Sample(
        [block for part in parts for block in part.blocks],
        sum(counts) if len(counts) == n_files else None,
        len(parts) == n_files and all(part.way == "whole" for part in parts),
        _method(parts, n_files),
        errors.DamageReport(tuple(part.report for part in parts)),
        tuple(sorted({part.compression for part in parts})),
    )


def _method(parts: list[_Part], n_files: int) -> str:
    taken: Counter[str] = Counter()
    for part in parts:
        taken[part.way] += 1 if part.way == "whole" else sum(map(len, part.blocks))
    if taken["whole"] == n_files:
        return "all records"
    n_places = sum(part.n_places for part in parts)
    ways = [
        (f"records at {plural(n_places, 'place')}" if n_places else ""),
        (f"the first {plural(taken['first'], 'record')}" if taken["first"] else ""),
        (f"all records of {plural(taken['whole'], 'file')}" if taken["whole"] else ""),
    ]
    where = f" of {len(parts):,} of {n_files:,} files" if len(parts) < n_files else ""
    return (", ".join(filter(None, ways)) or "no records") + where


def _take(source: names.Source, share: _Share) -> _Part:
    name, options = names.name_of(source), share.options
    is_pipe = names.local_size(source) is None and not names.is_url(name)
    if names.is_file_object(source) or is_pipe:
        return _first(source, share)
    try:
        handle = open_handle(name, options.storage_options)
    except errors.FailedPreconditionError as error:
        if error.reason is not errors.Reason.UNSUPPORTED:
            raise
        with closing(open_seekable(name, options.storage_options)) as file:
            return _first(file, share)  # of a server that answers no ranges
    head = RecordStream(_piece(name, handle.read(_HEAD_BYTES, 0)), options)
    if head.compression or handle.size() <= share.n_bytes:
        return _first(name, share)
    return _at_places(handle, share)


def _first(source: names.Source, share: _Share) -> _Part:
    blocks: list[Block] = []
    n_bytes, block, failure = 0, None, None
    with closing(RecordStream(source, share.options, block_records=_FEW)) as stream:
        skipping = DamageLog("skip", _MAX_DAMAGE).skipping(stream)
        try:
            while n_bytes < share.n_bytes and (block := skipping.next_block()) is not None:
                blocks.append(block)
                n_bytes += block.nbytes
                share.meter.advance(block.nbytes)
        except errors.DataLossError as error:
            failure = error
        report = replace(skipping.report(), failure=failure)
    n_taken = sum(map(len, blocks))
    if block is None and failure is None:
        return _Part(report, blocks, "whole", stream.compression, n_taken)
    blocks = _only(blocks, np.arange(min(n_taken, share.n_records)))
    return _Part(report, blocks, "first", stream.compression)


def _piece(name: str, data: bytes) -> Any:
    file = io.BytesIO(data)
    file.name = name
    return file


def _at_places(handle: AnyHandle, share: _Share) -> _Part:
    """Take records at the start of a file and at places all over it."""
    most, is_remote = share.n_bytes, isinstance(handle, RemoteHandle)
    n_places = max(2, min(_MAX_REMOTE if is_remote else _MAX_PLACES, most // _HEAD_BYTES))
    width = min(max(most // n_places, 1), _REMOTE_BYTES if is_remote else most)
    stride = handle.size() / n_places
    starts = np.arange(n_places) * stride + share.rng.random(n_places) * (stride - width)
    starts[0] = 0  # where another format shows
    left = _MAX_READ * most  # long records begin in a piece, and end far beyond it
    options = replace(share.options, compression="")
    log = DamageLog("skip", _MAX_DAMAGE)
    blocks: list[Block] = []
    for start in map(int, starts):
        first, data = _from_record(handle, start, width, min(left, options.max_record_bytes))
        left = max(left - len(data), 0)
        if not data:
            continue
        stream = RecordStream(_piece(handle.name, data), options)
        stream.decoder.begin_at(first, 0)
        skipping = log.skipping(stream, may_be_torn=first + len(data) < handle.size())
        with suppress(errors.DataLossError):  # of too much damage
            blocks += iter(skipping.next_block, None)
        share.meter.advance(skipping.report().record_bytes)
    kept = share.rng.permutation(sum(map(len, blocks)))[: share.n_records]
    blocks = _only(blocks, np.sort(kept))
    for block in blocks:
        if block.places is not None:
            block.places[:, 1] = -1  # the numbers of these records are not known

    def without_numbers(file: errors.FileReport) -> errors.FileReport:
        return replace(file, spans=tuple(replace(span, index=None) for span in file.spans))

    files = tuple(map(without_numbers, log.report().files))
    (report,) = join_reports([errors.DamageReport(files)]).files
    return _Part(report, blocks, "places", n_places=n_places)


def _from_record(handle: AnyHandle, start: int, width: int, most: int) -> tuple[int, bytes]:
    """Return where the first record at a place is, intact if possible, and the bytes from there on.

    If none is whole, the first is read, unless it has more than `most` bytes. A file begins with a record.
    """
    data = handle.read(width, start)
    view, at = np.frombuffer(data, np.uint8), 0
    if start:
        at = RecordFinder(most).find(view, 0, 0, is_end=True) or 0
        if at == len(data):
            headers, _ = find_headers(view, most)
            if not headers.size:
                return start, b""
            at = int(headers[0])
    _, lengths = find_headers(view[at : at + HEADER_BYTES], most)
    size = int(lengths[0]) + OVERHEAD_BYTES if lengths.size else 0
    return start + at, data[at:] if at + size <= len(data) else handle.read(size, start + at)


def _only(blocks: list[Block], numbers: AnyArray) -> list[Block]:
    sizes = list(map(len, blocks))
    ends = np.cumsum(sizes)
    chosen = np.split(numbers, np.searchsorted(numbers, ends)[:-1]) if blocks else []
    parts = zip(blocks, chosen, ends - sizes, strict=True)
    return [block[n - first] for block, n, first in parts if len(n)]
