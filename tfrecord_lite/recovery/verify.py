"""Check files: every checksum and, if asked for, every message; several files at a time.

Threads keep several cores busy, since checksums, inflating and reading release the GIL. Spawned processes
would have to import everything first, and cannot take file objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import repeat
from threading import Event
from typing import TYPE_CHECKING, TypeAlias, Unpack, cast

from tfrecord_lite import errors
from tfrecord_lite.block import Block
from tfrecord_lite.files.ahead import ReadAhead, share_of
from tfrecord_lite.files.names import Source, Sources, expand, is_file_object, is_url, name_of
from tfrecord_lite.options import ReadOptions, ReadSettings, num_processors, read_settings
from tfrecord_lite.progress import Progress, check_progress, metered, title_of, total_bytes
from tfrecord_lite.reader import check_message_class, parse_messages
from tfrecord_lite.records.damage import DamageLog, misfits_in
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.schema import FeatureLike, SequenceSchema

if TYPE_CHECKING:
    from google.protobuf.message import Message

    AnySchema: TypeAlias = Mapping[str, FeatureLike] | SequenceSchema

_LARGE_RECORD_BYTES = 32 * 1024


def verify(
    paths: Sources,
    *,
    messages: bool | type[Message] = False,
    schema: AnySchema | None = None,
    num_threads: int | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> errors.DamageReport:
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
        How many files to read at a time; by default, the number of processors, and 1 if there are URLs,
        whose files are fetched ahead.
    progress : bool or callable, optional
        Show a progress bar, as for :func:`load`; a callable may be called by any of the threads,
        one at a time.
    **options
        How files are read, see :class:`ReadOptions`; `verify`, `on_error`, `on_misfit` and `max_errors` do
        not apply.

    Returns
    -------
    DamageReport
        A :class:`FileReport` for each file, in order. If a file cannot be opened or read, or exceeds a
        limit, the error is its `failure`, and the others are still checked.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing, or no path was given.
    InvalidArgumentError, TypeError
        ``BAD_ARGUMENT`` for wrong options; for a schema as :class:`ExampleParser`.

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
    """
    settings = settings_of(options)
    sources = expand(paths, settings.storage_options)
    check = partial(verify_each, sources, settings, messages=messages, schema=schema)
    return errors.DamageReport(tuple(check(num_threads=num_threads, progress=progress)))


def settings_of(options: ReadOptions) -> ReadSettings:
    """Return options, checked, for what reads past all damage and checks everything."""
    for name in ("verify", "on_error", "on_misfit", "max_errors"):
        if name in options:
            raise errors.argument_error(
                f"{name} does not apply here: all damage is found and reported"
            )
    return read_settings(options)


def verify_each(
    sources: list[Source],
    options: ReadSettings,
    *,
    messages: bool | type[Message] = False,
    schema: AnySchema | None = None,
    num_threads: int | None = None,
    progress: Progress = None,
) -> Iterator[errors.FileReport]:
    """Yield the reports of :func:`verify` file by file; `sources` holds no patterns."""
    if num_threads is None:
        num_threads = 1 if any(map(is_url, map(name_of, sources))) else num_processors()
    num_threads = min(errors.require_int("num_threads", num_threads, 1), len(sources))
    options = replace(options, read_ahead=share_of(options.read_ahead, num_threads))
    _new_check(messages, schema)  # reject a wrong schema before anything is read
    check_progress(progress)
    is_over = Event()

    def report(source: Source, ahead: ReadAhead | None = None) -> errors.FileReport:
        try:
            stream = RecordStream(source, options, ahead=ahead)
        # ValueError is what fsspec's file systems raise about URLs.
        except (OSError, ImportError, ValueError) as error:
            return errors.FileReport(name_of(source), 0, 0, failure=error)
        records = DamageLog("skip", None).skipping(stream)
        check = _new_check(messages, schema)
        misfits: list[errors.InvalidArgumentError] = []
        n_errors, failure, are_large = 0, None, False
        try:
            while not is_over.is_set():
                offset, file_offset = stream.offset, stream.file_offset
                taken = records.next_records() if are_large else records.next_block()
                if taken is None:
                    break
                if check is not None:
                    for _, wrong in misfits_in(cast("Block", taken), check):
                        n_errors += 1
                        if n_errors <= errors.MAX_SPANS:
                            misfits.append(wrong)
                n_bytes, n_records = stream.offset - offset, len(taken)
                del taken  # so that the next ones can use this memory
                # For checksums alone, large records are read in the faster way.
                are_large = check is None and n_bytes >= _LARGE_RECORD_BYTES * n_records
                meter.advance(stream.file_offset - file_offset)
        except (OSError, errors.TFRecordError) as error:
            if error is meter.error:
                raise
            failure = error
        finally:
            stream.close()
        report = replace(records.report(), message_errors=tuple(misfits))
        return replace(report, num_message_errors=n_errors, failure=failure)

    with metered(progress, title_of(sources) if sources else "", "bytes") as meter:
        if meter.is_on:
            meter.expect(total_bytes(sources))
        if num_threads <= 1 or any(map(is_file_object, sources)):
            with ReadAhead(sources, options.storage_options, options.read_ahead) as ahead:
                yield from map(report, sources, repeat(ahead))
        else:
            yield from _in_threads(report, sources, num_threads, is_over)
        meter.finish()


def _in_threads(
    report: Callable[[Source], errors.FileReport], sources: list[Source], n: int, is_over: Event
) -> Iterator[errors.FileReport]:
    with ThreadPoolExecutor(n, "tfrecord-verify") as threads:
        try:
            yield from threads.map(report, sources)
        finally:
            is_over.set()
            threads.shutdown(cancel_futures=True)


Check: TypeAlias = "Callable[[Block], object]"
"""Raises an InvalidArgumentError about the first wrong record of a block."""


def _new_check(messages: type[Message] | bool, schema: AnySchema | None) -> Check | None:  # noqa: FBT001
    """Return a check of the messages of a block, for one thread; None if there is none to make."""
    if isinstance(schema, SequenceSchema):
        from tfrecord_lite.example.sequence import parse as sequence_parse  # noqa: PLC0415

        return sequence_parse.SequenceExampleParser(*schema, pad=False)
    if schema is not None:
        from tfrecord_lite.example import parse  # noqa: PLC0415 - loads the engine

        return parse.ExampleParser(schema)
    if messages is True:
        from tfrecord_lite.example import survey  # noqa: PLC0415 - loads the engine

        seen, check_type = survey.Survey(), survey.check_of_either()

        def check_example(block: Block) -> None:
            check_type(block)
            survey.reject_sequences(block)
            seen.add(block)

        return check_example
    if not messages:
        return None
    check_message_class(messages)
    return lambda block: deque(parse_messages(block, messages), maxlen=0)
