"""Save every intact record of a damaged file to a new file, and report what is lost.

Of a compressed file, the parts that can be inflated are saved (:mod:`.members`). A record whose
CRCs are wrong is never written. The damaged file is opened for reading only. The new file is
written under a temporary name and renamed when it is complete.
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

from tfrecord_lite.block import OVERHEAD_BYTES, Block
from tfrecord_lite.convert.arrow import without_numbers
from tfrecord_lite.errors import (
    DamagedSpan,
    DamageReport,
    DataLossError,
    FailedPreconditionError,
    FileReport,
    InvalidArgumentError,
    Reason,
    argument_error,
)
from tfrecord_lite.files.compression import (
    CompressionType,
    codec_named,
    compression_of_name,
    compression_to_write,
    is_infer,
)
from tfrecord_lite.files.inflate import InflationLimits
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import (
    SIDECAR_SUFFIX,
    Source,
    StorageOptions,
    check_storage_options,
    expand,
    is_file_object,
    is_same_file,
    is_url,
    name_of,
)
from tfrecord_lite.files.output import OutputFile
from tfrecord_lite.options import ReadOptions, ReadSettings
from tfrecord_lite.progress import Meter, Progress, check_progress, metered, total_bytes
from tfrecord_lite.records.damage import DamagedSpans, DamageLog, levels_to_caller
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.recovery.members import MemberReader
from tfrecord_lite.recovery.verify import settings_of
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.data_files import DataFiles
from tfrecord_lite.storage.sidecar import Sidecar


def recover(
    path: str | bytes | os.PathLike[str],
    output_path: str | bytes | os.PathLike[str],
    *,
    output_compression: CompressionType = "infer",
    overwrite: bool = False,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> DamageReport:
    """Write every intact record of a damaged file to a new one.

    Parameters
    ----------
    path : str, bytes or PathLike
        A local path, or a URL whose file can seek. Never changed. A pattern must match one file.
    output_path : str, bytes or PathLike
        The new file; it appears when it is complete. None is written if the file is damaged and
        not one intact record is found in it. If there is a sidecar beside the damaged file, there is
        one beside the new file, too.
    output_compression : str, int, TFRecordOptions or None, optional
        Of the new file, as for :class:`TFRecordWriter`; but ``"infer"`` means that of the
        damaged file if the new name's ending does not choose one.
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
        Of one file: how many records were written (with none and damage, there is no new file),
        and what was lost. Offsets count the bytes
        that could be inflated; bytes between two members that could not be have no length.

    Raises
    ------
    FileExistsError
        If `output_path` exists, without `overwrite`.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if both are one file, for a pattern of several, and for wrong options.
    TypeError
        For a file object, since the damaged file is read more than once, and the new one is
        renamed; for a list of files (:func:`tfrecord_lite.apps.rearrange.merge_files` takes these).
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
    if is_file_object(path) or is_file_object(output_path):
        raise TypeError("recover takes paths or URLs, not file objects")
    check_progress(progress)
    target = name_of(output_path)
    settings = settings_of(options)
    storage_options = settings.storage_options
    check_storage_options(storage_options, path, target)
    source = _one_file(path, storage_options)
    compression_to_write(target, output_compression)  # checked before anything is read
    if is_same_file(source, target, storage_options):
        detail = "the new file would replace the damaged one; give another name"
        raise argument_error(detail, source=target)
    if not is_url(source) and stat.S_ISFIFO(os.stat(source).st_mode):
        detail = "a pipe can be read only once; copy it into a file first"
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=source, detail=detail)
    with closing(RecordStream(source, settings)) as stream:
        settings = replace(settings, compression=stream.compression)
    if is_infer(output_compression) and not compression_of_name(target):
        output_compression = settings.compression
    described = _described(source, storage_options)
    account = _Account(source, InflationLimits(settings.max_inflated_bytes))
    made = DataFiles([target], compression_to_write(target, output_compression), storage_options)
    try:
        made.open(target)
        _check_free(made.files[0], overwrite=overwrite)
        with metered(progress, source, "bytes") as meter:
            for part in _parts(source, settings, meter):
                account.add(part)
                if isinstance(part, Block):
                    made.sinks[0].add_framed(part)
            meter.finish()
        account.check_format()
        if account.spans and not account.n_records:
            made.abandon()
        else:
            (fingerprint,) = made.finish()
            _check_free(made.files[0], overwrite=overwrite)
            if described is not None:
                place = f"{target}{SIDECAR_SUFFIX}"
                made.add_sidecar(place, described._replace(fingerprint=fingerprint))
            made.commit()
            sidecar.remove_stale(target, storage_options)
    except BaseException:
        made.abandon()
        raise
    return DamageReport((account.report(),))


def _one_file(path: Source, storage_options: StorageOptions) -> str:
    """Return the name of the damaged file; raise if there are several."""
    several = (
        "; to save what is left of several in one, use 'tfrecord merge --skip-damage', or "
        "merge_files with a TFRecordReader(files, on_error='skip')"
    )
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(
            f"recover takes the path or URL of one file, not {type(path).__name__}{several}"
        )
    files = expand(path, storage_options)
    if len(files) > 1:
        detail = f"recover takes one file, this names {len(files)}{several}"
        raise argument_error(detail, source=name_of(path))
    return name_of(files[0])


def _described(source: str, storage_options: StorageOptions) -> Sidecar | None:
    """Return the sidecar of a damaged file, without the labels of rows; warn if it is of other data."""
    try:
        with warnings.catch_warnings(action="ignore"):  # that the data are damaged is known
            found = sidecar.read_beside(source, storage_options, may_be_damaged=True)
    except InvalidArgumentError as error:
        text = f"the new file gets no sidecar, since that of the damaged one does not fit: {error}"
        warnings.warn(text, UserWarning, stacklevel=levels_to_caller())
        return None
    return found and found._replace(dataframe=without_numbers(found.dataframe))


def _check_free(file: OutputFile, *, overwrite: bool) -> None:
    if file.replaces(file.name) and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file.name)


def _parts(source: str, settings: ReadSettings, meter: Meter) -> Iterator[Block | DamagedSpan]:
    """Yield the intact records of a file and the damage, in order."""
    size = total_bytes([source])
    codec = codec_named(settings.codec_name or "")
    if codec is not None and codec.joinable:
        with closing(open_seekable(source, settings.storage_options)) as file:
            yield from MemberReader(
                file, source, settings, lambda at: meter.update(at, size)
            ).parts()
        return
    spans: list[DamagedSpan] = []
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


class _Account:
    """What was saved of a file and what was lost, counted as if of one stream, within limits."""

    def __init__(self, source: str, limits: InflationLimits) -> None:
        self._source = source
        self._limits = limits
        self.n_records = 0
        self._record_bytes = 0
        self._damage = DamagedSpans()
        self.spans = self._damage.kept

    @property
    def _n_bytes(self) -> int:
        """Bytes so far, after decompression."""
        return self._record_bytes + self.n_records * OVERHEAD_BYTES + self._damage.lost_bytes

    def add(self, part: Block | DamagedSpan) -> None:
        """Count what follows everything counted so far."""
        if isinstance(part, Block):
            self.n_records += len(part)
            self._record_bytes += part.nbytes
        else:
            index = self.n_records + self._damage.num_damaged
            n_before = self.n_records
            span = replace(part, offset=self._n_bytes, index=index, records_before=n_before)
            self._damage.add(span)
        if detail := self._limits.excess(self._n_bytes, 0):
            reason = Reason.INFLATED_TOO_LARGE
            raise DataLossError(reason, self._n_bytes, self._source, self.n_records, detail=detail)

    def check_format(self) -> None:
        """Raise if nothing was found because the file is of another format."""
        if self.spans and self.spans[0].reason is Reason.NOT_A_TFRECORD and not self.n_records:
            raise self.spans[0].error()

    def report(self) -> FileReport:
        """Return the counts, and the damaged spans."""
        spans = [replace(s, records_after=self.n_records - s.records_before) for s in self.spans]
        return FileReport(
            self._source,
            self.n_records,
            self._record_bytes,
            tuple(spans),
            self._damage.num_damaged,
            self._damage.lost_bytes,
        )
