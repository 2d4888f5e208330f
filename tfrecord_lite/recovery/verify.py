"""Check files: every checksum and, if asked for, every message; several files at a time.

Files are read as :class:`TFRecordReader` reads them with ``on_error="skip"``, so it reports what a
reader would find. Threads keep several cores busy, since checksums, inflating and reading release
the GIL. Spawned processes would have to import everything first, and cannot take file objects.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from tfrecord_lite.errors import (
    MAX_SPANS,
    DamageReport,
    FileReport,
    InvalidArgumentError,
    TFRecordError,
    argument_error,
    require_int,
)
from tfrecord_lite.files.names import expand, is_file_object, name_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import (
    Meter,
    check_progress,
    metered,
    title_of,
    total_bytes,
)
from tfrecord_lite.reader import check_message_class, parse_messages
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Unpack

    from google.protobuf.message import Message

    from tfrecord_lite.block import Block
    from tfrecord_lite.files.names import Source, Sources
    from tfrecord_lite.options import ReadOptions
    from tfrecord_lite.progress import Progress
    from tfrecord_lite.records.damage import SkippingStream
    from tfrecord_lite.schema import FeatureLike, SequenceSchema

    AnySchema: TypeAlias = Mapping[str, FeatureLike] | SequenceSchema

_LARGE_RECORD_BYTES = 32 * 1024
"""Records of at least this mean size are read one by one, straight into memory of their own."""


def verify(
    paths: Sources,
    *,
    messages: bool | type[Message] = False,
    schema: AnySchema | None = None,
    num_threads: int | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> DamageReport:
    """Check every checksum of files, and find every damaged place.

    Parameters
    ----------
    paths : str, bytes, PathLike, binary file object, or an iterable of them
        As for :class:`TFRecordReader`.
    messages : bool or type of Message, optional
        Check also that each intact record is a ``tf.train.Example``, or a message of the
        protobuf class given.
    schema : Schema, SequenceSchema, or mapping of str to feature specification, optional
        Check also that each intact record can be parsed with it.
    num_threads : int, optional
        How many files to read at a time; by default, the number of processors.
    progress : bool or callable, optional
        Show a progress bar, as for :func:`load`; a callable may be called by any of the threads,
        one at a time.
    **options
        How files are read, see :class:`ReadOptions`; `verify`, `on_error` and `max_errors` do not
        apply. A record larger than `max_record_bytes` is damage; a limit on what is inflated that
        is exceeded is the file's `failure`.

    Returns
    -------
    DamageReport
        A :class:`FileReport` for each file, in order. If a file cannot be opened or read, the
        error is its `failure`, and the others are still checked.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing, or no path was given.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for wrong options, or less than one thread; for a schema as
        :class:`ExampleParser`.
    TypeError
        For limits that are not numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> file = Path("names.tfrecord")
    >>> n_bytes = file.write_bytes(file.read_bytes().replace(b"Alan", b"Elan"))
    >>> report = verify("names.tfrecord")
    >>> report.is_sound, report.records, report.lost_bytes
    (False, 2, 20)
    >>> span = report.spans[0]
    >>> span.offset, span.reason.name, span.records_before, span.records_after
    (19, 'DATA_CRC', 1, 1)
    """
    settings = settings_of(options)
    files = verify_each(
        expand(paths, settings.storage_options),
        settings,
        messages=messages,
        schema=schema,
        num_threads=num_threads,
        progress=progress,
    )
    return DamageReport(tuple(files))


def settings_of(options: ReadOptions) -> ReadSettings:
    """Return options, checked, for what reads past all damage and checks everything."""
    for name in ("verify", "on_error", "max_errors"):
        if name in options:
            raise argument_error(f"{name} does not apply here: all damage is found and reported")
    return ReadSettings(**options)


def verify_each(
    sources: list[Source],
    options: ReadSettings,
    *,
    messages: bool | type[Message] = False,
    schema: AnySchema | None = None,
    num_threads: int | None = None,
    progress: Progress = None,
) -> Iterator[FileReport]:
    """Yield the reports of :func:`verify` file by file, each as soon as those before it are done.

    `sources` holds no patterns; the other arguments are those of :func:`verify`.
    """
    num_threads = (
        (os.cpu_count() or 1) if num_threads is None else require_int("num_threads", num_threads, 1)
    )
    message_check(messages or None, schema)  # reject a wrong schema before anything is read
    check_progress(progress)
    num_threads = 1 if any(map(is_file_object, sources)) else min(num_threads, len(sources))
    return _metered(_Task(options, messages, schema), sources, num_threads, progress)


def _metered(
    task: _Task, sources: list[Source], num_threads: int, progress: Progress
) -> Iterator[FileReport]:
    """Yield the reports, and show the progress."""
    with metered(progress, title_of(sources) if sources else "", "bytes") as meter:
        if meter.is_on:
            meter.expect(total_bytes(sources))
        task = replace(task, meter=meter)
        if num_threads <= 1:
            yield from map(task.report, sources)
        else:
            yield from _in_threads(task, sources, num_threads)
        meter.finish()


@dataclass(frozen=True, slots=True)
class _Task:
    """What to check of each file."""

    options: ReadSettings
    messages: bool | type[Message]
    schema: AnySchema | None
    meter: Meter = field(default_factory=Meter)
    is_over: Event = field(default_factory=Event)

    def report(self, source: Source) -> FileReport:
        """Check one file."""
        try:
            stream = RecordStream(source, self.options)
        # ValueError is what fsspec's file systems raise about URLs.
        except (OSError, ImportError, ValueError) as error:
            return FileReport(name_of(source), 0, 0, failure=error)
        records = DamageLog("skip", None).skipping(stream)
        errors: list[InvalidArgumentError] = []
        n_errors, failure = 0, None
        try:
            for wrong in self._errors(stream, records):
                n_errors += 1
                if n_errors <= MAX_SPANS:
                    errors.append(wrong)
        except (OSError, TFRecordError) as error:
            if error is self.meter.error:
                raise
            failure = error
        finally:
            stream.close()
        return replace(
            records.report(),
            message_errors=tuple(errors),
            num_message_errors=n_errors,
            failure=failure,
        )

    def _errors(
        self, stream: RecordStream, records: SkippingStream
    ) -> Iterator[InvalidArgumentError]:
        """Read a file to its end, and yield the errors of its messages."""
        check = message_check(self.messages or None, self.schema)
        are_large = False
        while not self.is_over.is_set():
            offset, file_offset = stream.offset, stream.file_offset
            taken = records.next_records() if are_large else records.next_block()
            if taken is None:
                return
            if check is not None:
                yield from errors_in(cast("Block", taken), check)
            n_bytes, n_records = stream.offset - offset, len(taken)
            del taken  # so that the next ones can use this memory
            # For checksums alone, large records are read in the faster way.
            are_large = check is None and n_bytes >= _LARGE_RECORD_BYTES * n_records
            self.meter.advance(stream.file_offset - file_offset)


def _in_threads(task: _Task, sources: list[Source], num_threads: int) -> Iterator[FileReport]:
    """Yield reports in order; stop the threads when the caller stops iterating."""
    with ThreadPoolExecutor(num_threads, "tfrecord-verify") as threads:
        try:
            yield from threads.map(task.report, sources)
        finally:
            task.is_over.set()
            threads.shutdown(cancel_futures=True)


Check: TypeAlias = "Callable[[Block], object]"
"""Raises an InvalidArgumentError about the first wrong record of a block."""


def message_check(
    messages: type[Message] | Literal[True] | None, schema: AnySchema | None
) -> Check | None:
    """Return a check of the messages of a block, for one thread; None if there is none to make."""
    if schema is not None:
        return _parser(schema)
    if messages is True:
        return _example_check()
    return _class_check(messages) if messages else None


def _parser(schema: AnySchema) -> Check:
    """Return the parser for a schema."""
    from tfrecord_lite.example import parse  # noqa: PLC0415 - loads the engine
    from tfrecord_lite.example.sequence import parse as sequence_parse  # noqa: PLC0415
    from tfrecord_lite.schema import SequenceSchema  # noqa: PLC0415

    if isinstance(schema, SequenceSchema):
        return sequence_parse.SequenceExampleParser(*schema, pad=False)
    return parse.ExampleParser(schema)


def _example_check() -> Check:
    """Return a check that each record is an Example."""
    from tfrecord_lite.example.survey import (  # noqa: PLC0415 - loads the engine
        Survey,
        check_of_either,
        reject_sequences,
    )

    survey = Survey()
    check_type = check_of_either()

    def check(block: Block) -> None:
        check_type(block)
        reject_sequences(block)
        survey.add(block)

    return check


def _class_check(message_class: type[Message]) -> Check:
    """Return a check that parses each record as a message of a class."""
    check_message_class(message_class)

    def check(block: Block) -> None:
        for _ in parse_messages(block, message_class):
            pass

    return check


def errors_in(block: Block, check: Check) -> Iterator[InvalidArgumentError]:
    """Yield an error for each wrong record of a block.

    After a wrong record, records are checked in groups that double in size: many wrong ones
    cost one small check each, and few only a handful.
    """
    at, n_records = 0, len(block)
    while at < len(block):
        part = block[at : at + n_records]
        try:
            check(part)
        except InvalidArgumentError as error:
            yield error
            at += (error.index or 0) - (part.place(0).index or 0) + 1
            n_records = 1
        else:
            at, n_records = at + n_records, 2 * n_records
