"""Save every intact record of a damaged file to a new file, and report what is lost.

A record whose CRCs are wrong is never written; of a compressed file, what can be inflated is saved.
"""

from __future__ import annotations

import errno
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Unpack

from tfrecord_lite import errors
from tfrecord_lite.block import OVERHEAD_BYTES, Block
from tfrecord_lite.described import sidecar
from tfrecord_lite.described.frames import without_numbers
from tfrecord_lite.files import compression, names
from tfrecord_lite.files.inflate import InflationLimits
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.options import ReadOptions, ReadSettings
from tfrecord_lite.progress import Meter, Progress, check_progress, metered, total_bytes
from tfrecord_lite.records.damage import DamagedSpans, DamageLog
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.recovery.members import MemberReader
from tfrecord_lite.recovery.verify import settings_of
from tfrecord_lite.storage.data_files import DataFiles


def recover(
    path: str | bytes | os.PathLike[str],
    output_path: str | bytes | os.PathLike[str],
    *,
    output_compression: compression.CompressionType = "infer",
    overwrite: bool = False,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> errors.DamageReport:
    """Write every intact record of a damaged file to a new one.

    Parameters
    ----------
    path : str, bytes or PathLike
        A local path, or a URL whose file can seek. A pattern must match one file.
    output_path : str, bytes or PathLike
        The new file; it appears when it is complete, with a sidecar if the damaged file has one. None is
        written if the file is damaged and not one intact record is found in it.
    output_compression : str, int, TFRecordOptions or None, optional
        As for :class:`TFRecordWriter`; but ``"infer"`` means the one of the damaged file if the new
        name's ending does not choose one.
    overwrite : bool, optional
        Replace an existing file, if a new one is written.
    progress : bool or callable, optional
        Show a progress bar, as for :func:`load`.
    **options
        How files are read, see :class:`ReadOptions`; `verify`, `on_error` and `max_errors` do not
        apply. Name the `compression` if the first bytes are damaged; a larger record than
        `max_record_bytes` is left out.

    Returns
    -------
    DamageReport
        How many records were written, and what was lost. Offsets count the bytes
        that could be inflated; bytes between two members that could not be have no length.

    Raises
    ------
    FileExistsError
        If `output_path` exists, without `overwrite`.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if both are one file, for several files
        (see :func:`tfrecord_lite.apps.rearrange.merge_files`), and for wrong options.
    TypeError
        For a file object.
    FailedPreconditionError
        ``UNSUPPORTED`` for a pipe.
    DataLossError
        ``NOT_A_TFRECORD`` if it begins as files of another format do, and no record is found in
        it; ``COMPRESSION`` if the file is not of the compression that was named,
        ``INFLATED_TOO_LARGE`` beyond a limit.
    OSError
        If a file cannot be read or written; then there is no new file.

    Examples
    --------
    >>> from pathlib import Path
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> file = Path("names.tfrecord")
    >>> n_bytes = file.write_bytes(file.read_bytes().replace(b"Alan", b"Elan"))
    >>> report = recover("names.tfrecord", "intact.tfrecord")
    >>> report.records, report.lost_bytes, list(TFRecordReader("intact.tfrecord"))
    (2, 20, [b'Ada', b'Grace'])
    """
    if names.is_file_object(path) or names.is_file_object(output_path):
        raise TypeError("recover takes paths or URLs, not file objects")
    check_progress(progress)
    target = names.name_of(output_path)
    settings = settings_of(options)
    storage_options = settings.storage_options
    names.check_storage_options(storage_options, path, target)
    source = _source_of(path, storage_options)
    compression.compression_to_write(target, output_compression)  # checked before anything is read
    if names.is_same_file(source, target, storage_options):
        detail = "the new file would replace the damaged one; give another name"
        raise errors.argument_error(detail, source=target)
    with closing(RecordStream(source, settings)) as stream:
        settings = replace(settings, compression=stream.compression)
    if compression.is_infer(output_compression) and not compression.compression_of_name(target):
        output_compression = settings.compression
    described = _described(source, storage_options)
    limits = InflationLimits(settings.max_inflated_bytes)
    damage = DamagedSpans()
    n_records = record_bytes = n_bytes = 0  # as if of one stream
    output_options = compression.compression_to_write(target, output_compression)
    with DataFiles([target], output_options, storage_options) as outputs:
        outputs.open(target)
        if outputs.files[0].replaces(target) and not overwrite:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        with metered(progress, source, "bytes") as meter:
            for part in _parts(source, settings, meter):
                if isinstance(part, Block):
                    outputs.sinks[0].add_framed(part)
                    n_records += len(part)
                    record_bytes += part.nbytes
                else:
                    index = n_records + damage.num_damaged
                    damage.add(replace(part, offset=n_bytes, index=index, records_before=n_records))
                n_bytes = record_bytes + n_records * OVERHEAD_BYTES + damage.lost_bytes
                if excess := limits.excess(n_bytes, 0):
                    too_large = errors.Reason.INFLATED_TOO_LARGE
                    raise errors.DataLossError(too_large, n_bytes, source, n_records, detail=excess)
            meter.finish()
        if n_records or not damage.kept:
            (fingerprint,) = outputs.finish()
            if described is not None:
                place = names.companion(target, names.SIDECAR_SUFFIX)
                outputs.add_sidecar(place, described._replace(fingerprint=fingerprint))
            outputs.commit()
            sidecar.remove_stale(target, storage_options)
        elif damage.kept[0].reason is errors.Reason.NOT_A_TFRECORD:
            raise damage.kept[0].error()
    return errors.DamageReport((damage.report(source, n_records, record_bytes),))


def _source_of(path: str | bytes | os.PathLike[str], storage_options: names.StorageOptions) -> str:
    files = names.expand(path, storage_options if names.is_url(names.name_of(path)) else None)
    source = names.name_of(files[0])
    if len(files) > 1:
        detail = f"recover takes one file, this names {len(files)}; to save what is left of several in one, "
        detail += "use 'tfrecord merge --skip-damage', or merge_files with a TFRecordReader(files, on_error='skip')"
        raise errors.argument_error(detail, source=source)
    if not names.is_url(source) and stat.S_ISFIFO(os.stat(source).st_mode):
        detail = "a pipe can be read only once; copy it into a file first"
        raise errors.FailedPreconditionError(
            errors.Reason.UNSUPPORTED, source=source, detail=detail
        )
    return source


def _described(source: str, storage_options: names.StorageOptions) -> sidecar.Sidecar | None:
    """Return the sidecar of a damaged file, without the labels of rows; warn if it is of other data."""
    try:
        with warnings.catch_warnings(action="ignore"):  # that the data are damaged is known
            description = sidecar.read_beside(source, storage_options, may_be_damaged=True)
    except errors.InvalidArgumentError as error:
        text = f"the new file gets no sidecar, since the damaged file's does not fit: {error}"
        warnings.warn(text, UserWarning, stacklevel=errors.levels_to_caller())
        return None
    return description and description._replace(dataframe=without_numbers(description.dataframe))


def _parts(
    source: str, settings: ReadSettings, meter: Meter
) -> Iterator[Block | errors.DamagedSpan]:
    size = total_bytes([source])
    codec = compression.codec_named(settings.codec_name or "")
    if codec is not None and codec.joinable:
        with closing(open_seekable(source, settings.storage_options)) as file:
            reader = MemberReader(file, source, settings, lambda at: meter.update(at, size))
            yield from reader.parts()
        return
    spans: list[errors.DamagedSpan] = []
    with closing(RecordStream(source, settings)) as stream:
        records = DamageLog(spans.append, None).skipping(stream)
        while True:
            block = records.next_block()
            yield from spans
            spans.clear()
            if block is None:
                return
            meter.update(stream.file_offset, size)
            yield block
