"""Read TFRecord files: one record after the other, in blocks of thousands, or decoded without a schema.

Every record before damage is returned, then the error is raised; or, with ``on_error``, the
records after it too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.block import Block
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason, require_int
from tfrecord_lite.files import names as file_names
from tfrecord_lite.files.ahead import ReadAhead
from tfrecord_lite.files.compression import CompressionType, TFRecordOptions
from tfrecord_lite.files.names import Source, Sources, StorageOptions, expand, name_of
from tfrecord_lite.options import MAX_RECORD_BYTES, OnError, OnMisfit, ReadSettings, hinted
from tfrecord_lite.records.damage import DamageLog, SkippingStream
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.texts import short_name

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from tfrecord_lite.described.sidecar import SchemaLike
    from tfrecord_lite.errors import DamageReport
    from tfrecord_lite.example.parse import ExampleParser
    from tfrecord_lite.example.sequence.parse import SequenceExampleParser
    from tfrecord_lite.example.to_dicts import SequenceRow

    AnyMessage = TypeVar("AnyMessage", bound=Message)


_PARSED_RECORDS = 4096
_PARSED_BYTES = 3 * 1024 * 1024
"""About how many records, and bytes of them, are parsed at once."""


@hinted
class TFRecordReader:
    """Read the records of one file or many.

    Iterate to get each record as ``bytes``; call :meth:`blocks` to get many at a time.

    Parameters
    ----------
    paths : str, bytes, PathLike, binary file object, or an iterable of them
        Paths and URLs may be patterns (``data-*.tfrecord``, ``train@10``), whose
        matches are read in sorted order. URLs need the extra ``remote``. A file
        object is read from its current position, and is not closed.
    compression : str, int, TFRecordOptions or None, optional
        ``"infer"``, the default, or None: by the first bytes of each file. Otherwise ``""`` (none),
        ``"GZIP"``, ``"ZLIB"``, ``"ZSTD"`` or ``"BZ2"``, also as ``"gz"`` or ``"zst"``, or
        TensorFlow's numbers and options.
    verify : bool, optional
        Check the CRC of every record's data. The CRCs of lengths are always checked.
    max_record_bytes : int, optional
        Reject larger records. The default, 2 GiB, is the limit of a protobuf message.
    on_error : {"raise", "skip"} or callable, optional
        What to do about damage. "skip" continues with the next record whose length and data
        both have the right CRC, and warns at the end of the iteration; `report` lists each
        place. A callable is called with the :class:`DamagedSpan` of each place after it was
        skipped, and stops the iteration if it raises.
    on_misfit : {"raise", "drop"} or callable, optional
        What to do about intact records that do not fit what they are read as: a schema, which may be
        that of files beside the data, a class of messages, or else Examples and SequenceExamples.
        "drop" leaves them out before batches are made, and warns at the end of the iteration;
        ``report.message_errors`` lists them. A callable is called with the error of each, as for
        `on_error`. Each record is parsed once more for it.
    max_errors : int, optional
        Maximum number of damaged places to skip and records to drop; None for no limit.
    max_inflated_bytes : int, optional
        Stop reading a compressed file that inflates to more. Memory does not depend on this.
    max_inflated_ratio : float, optional
        Stop reading a compressed file that inflates to more than this many times the bytes
        read of it; applies from 1 MB of content on. Deflate reaches 1032 for equal bytes;
        real data rarely exceed 50.
    read_ahead : int, optional
        How many bytes of URLs are fetched before they are read, over all files of an
        iteration; 0 for none. By default 32 MiB, for HTTP, S3, GCS, Azure and Hugging Face.
    storage_options : dict, optional
        Options for fsspec, which opens URLs: credentials, an endpoint, ...

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing. A path that is not a pattern is opened when the
        iteration reaches it.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown compression, `on_error` or `on_misfit`, a limit out of range, or
        `storage_options` without a URL.
    TypeError
        For limits that are not numbers.

    Warns
    -----
    DataLossWarning
        With ``on_error="skip"`` or ``on_misfit="drop"``, once an iteration has ended that left something out.

    Notes
    -----
    Every iteration opens the files again and starts at the first record; a file object is
    rewound to its first position, if it can seek. Several iterations may run at once, also in
    threads, except over one file object. A reader of paths can be pickled.

    Records before a damaged one are returned first. If a compressed stream is damaged, "skip" returns what can be
    inflated before that place, and continues with the next file; :func:`recover` can save more. A missing file,
    a read error, or a file of another compression than named is not damage, and is always raised.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(b"Ada")
    ...     writer.write(b"Alan")
    >>> list(TFRecordReader("names.tfrecord"))
    [b'Ada', b'Alan']
    """

    def __init__(
        self,
        paths: Sources,
        compression: CompressionType = "infer",
        *,
        verify: bool = True,
        max_record_bytes: int = MAX_RECORD_BYTES,
        on_error: OnError = "raise",
        on_misfit: OnMisfit = "raise",
        max_errors: int | None = None,
        max_inflated_bytes: int | None = None,
        max_inflated_ratio: float | None = None,
        read_ahead: int | None = None,
        storage_options: StorageOptions = None,
    ) -> None:
        options = ReadSettings(
            compression=compression,
            verify=verify,
            max_record_bytes=max_record_bytes,
            max_inflated_bytes=max_inflated_bytes,
            max_inflated_ratio=max_inflated_ratio,
            on_error=on_error,
            on_misfit=on_misfit,
            max_errors=max_errors,
            read_ahead=read_ahead,
            storage_options=storage_options,
        )
        self._start(expand(paths, storage_options), options)

    def _start(self, sources: list[Source], options: ReadSettings) -> None:
        self._sources = sources
        self._options = options
        self._log: DamageLog | None = None  # of the last iteration
        # Positions of file objects. Iterations start there; only one if it cannot seek.
        self._starts = list(map(file_names.position_of, sources))
        self._begun: set[int] = set()
        self._is_closed = False
        self._open_streams: set[RecordStream] = set()
        self._open_aheads: set[ReadAhead] = set()
        self._n_bytes_before = 0  # of the files that the last iteration has read

    @property
    def sources(self) -> list[Source]:
        """The files, in the order they are read: paths and URLs as str, or file objects."""
        return list(self._sources)

    @property
    def report(self) -> DamageReport | None:
        """What the last iteration has read and lost so far.

        None before the first iteration, and if nothing is to be left out.

        Examples
        --------
        >>> import io
        >>> from tfrecord_lite.records.framing import frame
        >>> file = io.BytesIO(b"damage" + frame([b"one"]))
        >>> reader = TFRecordReader(file, "", on_error=print)
        >>> list(reader)
        <BytesIO>: record 0, byte 0: length CRC mismatch: ...; 6 bytes skipped
        [b'one']
        >>> reader.report.records, reader.report.lost_bytes
        (1, 6)
        """
        return None if self._log is None else self._log.report()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the records of all files, each as ``bytes``."""
        for stream in self._streams():
            while (records := stream.next_records()) is not None:
                yield from records
                del records  # frees them before the next ones are made

    def blocks(self, num_records: int | None = None) -> Iterator[Block]:
        """Yield the records of all files, many at a time.

        Parameters
        ----------
        num_records : int, optional
            Records per block, also across files; the last block may be short. None for what
            one read brings (about 1 MB, or 64 records if that is more), never from two
            files.

        Yields
        ------
        Block
            Its memory is never overwritten; it may be shared with its neighbours.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if `num_records` is not positive.
        DataLossError
            As for iteration, after a block of all records before the damage.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> for block in TFRecordReader("people.tfrecord").blocks(2):
        ...     print(len(block), parse_example(block, {"age": int}))
        2 {'age': array([36, 41])}
        1 {'age': array([37])}
        """
        if num_records is not None:
            num_records = require_int("num_records", num_records, 1)
        return self._blocks(lambda: num_records)

    def batches(
        self,
        schema: SchemaLike | ExampleParser[Any] | SequenceExampleParser | None = None,
        batch_size: int = 32,
        *,
        strings: Literal["ndarray", "BytesColumn"] = "ndarray",
        drop_remainder: bool = False,
    ) -> Iterator[Any]:
        """Yield the records of all files as batches of columns.

        Some thousand records are parsed at once, and cut into batches, so that small batches cost
        little more than large ones.

        Parameters
        ----------
        schema : Schema, SequenceSchema, dict of specifications, path or parser, optional
            The features to parse, as for :func:`read_batches`; or an ExampleParser or
            SequenceExampleParser made before.
        batch_size : int, default 32
            Records per batch, also across files.
        strings : {"ndarray", "BytesColumn"}, optional
            As for :class:`ExampleParser`; a parser has its own.
        drop_remainder : bool, optional
            Leave out a last batch that is not full.

        Yields
        ------
        dict of str to result
            What an ExampleParser returns for the records of a batch; of a SequenceExampleParser a
            tuple (context, feature_lists, feature_list_lengths). No two share memory; long byte
            strings may keep the buffer that they were read into.

        Raises
        ------
        InvalidArgumentError
            For the first record that is wrong, after all batches before its own; or
            ``BAD_ARGUMENT``, if `batch_size` is not positive.
        DataLossError
            As for iteration, after a batch of all records before the damage.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> for batch in TFRecordReader("people.tfrecord").batches({"age": int}, 2):
        ...     print(batch["age"])
        [36 41]
        [37]
        """
        from tfrecord_lite.described.sources import parser_for  # noqa: PLC0415 - loads the engine

        batch_size = require_int("batch_size", batch_size, 1)
        parser: Any = schema
        if not hasattr(schema, "parse_batches"):
            parser = parser_for(schema, self._sources, self._options, strings)
        return self._batches(parser, batch_size, drop_remainder=drop_remainder)

    def take(self, num_records: int) -> list[bytes]:
        """Return the first records.

        Raises
        ------
        DataLossError
            For damage among them.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> TFRecordReader("names.tfrecord").take(2)
        [b'Ada', b'Alan']
        """
        return list(islice(self, require_int("num_records", num_records, 0)))

    def examples(self) -> Iterator[dict[str, AnyArray]]:
        """Yield the records of all files as dictionaries, without a schema.

        Yields
        ------
        dict of str to ndarray
            As :func:`decode_example` returns it; decoded many records at a time.

        Raises
        ------
        InvalidArgumentError
            ``MALFORMED`` for a record that is not an Example, after all before it; also if the
            records look like SequenceExamples, lists of Examples, TensorBoard events, or text.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> for row in TFRecordReader("people.tfrecord").examples():
        ...     print(row["name"], row["age"])
        [b'Ada'] [36]
        [b'Alan'] [41]
        [b'Grace'] [37]
        """
        return self._rows(of_sequences=False)

    def sequence_examples(self) -> Iterator[SequenceRow]:
        """Yield the SequenceExamples of all files as dictionaries, without a schema.

        Yields
        ------
        dict
            As :func:`decode_sequence_example` returns it; decoded many records at a time.

        Raises
        ------
        InvalidArgumentError
            As :meth:`examples`.

        Examples
        --------
        >>> with TFRecordWriter("words.tfrecord") as writer:
        ...     writer.write_sequence_examples({"id": [1, 2]}, {"tokens": [[5, 6], [7]]})
        >>> for row in TFRecordReader("words.tfrecord").sequence_examples():
        ...     print(row["context"]["id"], row["feature_lists"]["tokens"])
        [1] [array([5]), array([6])]
        [2] [array([7])]
        """
        return self._rows(of_sequences=True)

    def messages(self, message_class: type[AnyMessage]) -> Iterator[AnyMessage]:
        r"""Yield the records of all files as messages of a protobuf class.

        Parameters
        ----------
        message_class : type of Message
            Any generated class: one of :mod:`tfrecord_lite.messages`, TensorFlow's, or
            your own.

        Raises
        ------
        InvalidArgumentError
            ``MALFORMED`` for a record that is not such a message, after all before it; if the first one of a file is
            an Example, and the class is another, or the reverse.
        TypeError
            If it is not a protobuf class.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> for message in TFRecordReader("people.tfrecord").messages(Example):
        ...     print(message.features.feature["age"].int64_list.value)
        [36]
        [41]
        [37]
        """
        check_message_class(message_class)
        return self._messages(message_class)

    # Nothing but the loops below holds an iterator of blocks: it ends, and its file is closed,
    # as soon as an error leaves the loop, even if the error is kept.

    def _messages(self, message_class: type[AnyMessage]) -> Iterator[AnyMessage]:
        from tfrecord_lite.example.content import check_class  # noqa: PLC0415 - loads the engine

        checked: str | None = ""  # the last file
        for block in self._blocks(lambda: None, lambda b: list(parse_messages(b, message_class))):
            source = block.place(0).source if len(block) else checked
            if source != checked:
                check_class(block, message_class)
                checked = source
            yield from parse_messages(block, message_class)

    def _rows(self, *, of_sequences: bool) -> Iterator[Any]:
        """Check and decode a block at a time; an error follows all rows before it."""
        from tfrecord_lite.example.content import ContentType  # noqa: PLC0415 - loads the engine
        from tfrecord_lite.example.survey import TypeCheck  # noqa: PLC0415
        from tfrecord_lite.example.to_dicts import Decoder  # noqa: PLC0415

        types = (ContentType.SEQUENCE_EXAMPLE, ContentType.EXAMPLE)
        check = TypeCheck(*(types if of_sequences else types[1:]))
        decode = Decoder(of_sequences=of_sequences)

        def checked(block: Block) -> Any:
            check(block)
            return decode(block)

        for stream in self._streams(checked):
            while (block := stream.next_block()) is not None:
                try:
                    rows = checked(block)
                except InvalidArgumentError as error:
                    first = block.place(0).index
                    if error.index is not None and first is not None:
                        yield from decode(block[: error.index - first])
                    raise
                yield from rows
                del rows  # frees them before the next ones are made

    def _batches(self, parser: Any, size: int, *, drop_remainder: bool) -> Iterator[Any]:
        """Read whole batches, and parse many at once."""
        n_batches = 1
        with contextlib.closing(self._blocks(lambda: n_batches * size, parser)) as blocks:
            for block in blocks:
                n_used = len(block) // size * size if drop_remainder else len(block)
                for batches in _parsed(parser, block[:n_used], size):
                    yield from batches
                n_batches = batches_at_once(size, len(block), block.nbytes)

    def _blocks(
        self, num_records: Callable[[], int | None], check: Callable[[Block], object] | None = None
    ) -> Generator[Block, None, None]:
        """Yield blocks of as many records as `num_records` returns."""
        parts: list[Block] = []  # of the next block
        n_started = 0
        try:
            for stream in self._streams(check):
                while True:
                    n_records = num_records()
                    n_wanted = None if n_records is None else n_records - n_started
                    if (block := stream.next_block(n_wanted)) is None:
                        break
                    if len(block) == n_wanted or n_wanted is None:
                        whole, parts, n_started = Block.concat([*parts, block]), [], 0
                        yield whole
                    else:
                        # A file's last records must not keep a large buffer alive.
                        is_small = 2 * block.nbytes < block.data.size
                        parts.append(block.copy() if is_small else block)
                        n_started += len(block)
        except Exception:
            if parts:
                yield Block.concat(parts)
            raise
        if parts:
            yield Block.concat(parts)

    def _streams(
        self, check: Callable[[Block], object] | None = None
    ) -> Iterator[RecordStream | SkippingStream]:
        """Open one file after the other; drop records that fail a check, if they are to be."""
        options = self._options
        if check is not None:
            options = options.dropping(check)
        elif options.on_misfit != "raise" and options.check is None:
            from tfrecord_lite.described.sources import dropping  # noqa: PLC0415 - loads the engine

            options = dropping(None, self._sources, options)
        self._log = log = DamageLog.begin(options)
        if log is None:
            yield from self._opened()
            return
        try:
            for stream in self._opened():
                yield log.skipping(stream)
        finally:  # also if the caller stops early, or a further file is missing
            log.give_warning()

    def _opened(self) -> Iterator[RecordStream]:
        self._n_bytes_before, options = 0, self._options
        ahead = ReadAhead(self._sources, options.storage_options, options.read_ahead)
        self._open_aheads.add(ahead)
        try:
            for number, source in enumerate(self._sources):
                if self._is_closed:
                    detail, name = "the reader is closed; make another", name_of(source)
                    raise FailedPreconditionError(Reason.CLOSED, source=name, detail=detail)
                if file_names.is_file_object(source):
                    if self._starts[number] is not None or number in self._begun:
                        file_names.seek_to(source, self._starts[number])
                    self._begun.add(number)
                stream = RecordStream(source, options, ahead=ahead)
                self._open_streams.add(stream)
                try:
                    yield stream
                finally:
                    self._n_bytes_before += stream.file_offset
                    self._open_streams.discard(stream)
                    stream.close()
        finally:
            self._open_aheads.discard(ahead)
            ahead.close()

    def close(self) -> None:
        """Close the files of all iterations; none can start afterwards. May be called twice.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> reader = TFRecordReader("people.tfrecord")
        >>> first = next(iter(reader))
        >>> reader.close()
        """
        self._is_closed = True
        opened: list[Any] = [*self._open_streams, *self._open_aheads]
        for file in opened:
            file.close()

    def __enter__(self) -> Self:
        """Return the reader itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __getstate__(self) -> dict[str, object]:
        """Return the state without open files."""
        for source in self._sources:
            if file_names.is_file_object(source):
                detail = f"a reader of the file object {name_of(source)} cannot be pickled; "
                raise TypeError(f"{detail}give a path")
        return {**self.__dict__, "_open_streams": set(), "_open_aheads": set(), "_log": None}

    def __repr__(self) -> str:
        """Name the first two files."""
        names = ", ".join(short_name(name_of(source)) for source in self._sources[:2])
        more = f", ... ({len(self._sources)} files)" if len(self._sources) > 2 else ""
        return f"TFRecordReader({names}{more})"


def batches_at_once(size: int, n_records: int, n_bytes: int) -> int:
    """Return how many batches of a size are parsed at once, of so many records and bytes."""
    return max(min(_PARSED_RECORDS, _PARSED_BYTES * n_records // max(n_bytes, 1)) // size, 1)


def _parsed(parser: Any, block: Block, size: int) -> Iterator[list[Any]]:
    """Parse batches; those before a wrong record are returned first."""
    splits = [*range(0, len(block), size), len(block)]
    try:
        yield parser.parse_batches(block, splits)
    except InvalidArgumentError:
        for start, stop in pairwise(splits):
            yield parser.parse_batches(block[start:stop], [0, stop - start])


def bytes_read(reader: TFRecordReader) -> int:
    """Return how many bytes of its files a reader has read."""
    streams = reader._open_streams  # noqa: SLF001 - of this module
    return reader._n_bytes_before + sum(stream.file_offset for stream in streams)  # noqa: SLF001


def reader_with(paths: Sources, options: ReadSettings) -> TFRecordReader:
    """Return a reader with options that were checked before."""
    return reader_of(expand(paths, options.storage_options), options)


def reader_of(sources: list[Source], options: ReadSettings) -> TFRecordReader:
    """Return a reader of files that were listed before."""
    reader = TFRecordReader.__new__(TFRecordReader)
    reader._start(sources, options)  # noqa: SLF001 - a second constructor
    return reader


class RecordIterator(Iterator[bytes]):
    """The records of one file, one at a time, by TensorFlow's rules."""

    _stream: RecordStream | None = None

    def __init__(self, path: str | bytes | os.PathLike[str], compression: str) -> None:
        self._name = name_of(path)
        file_names.refuse_folder(self._name)
        self._stream = RecordStream(path, ReadSettings(compression))
        self._ready: Iterator[bytes] = iter(())

    def __next__(self) -> bytes:
        """Return the next record.

        Raises
        ------
        StopIteration
            At the end of the file; a later call returns records added since (rule R8).
        DataLossError
            A later call raises it again (rule R7), or returns the record if it was only cut
            and has been completed since.
        """
        for record in self._ready:
            return record
        records = None if self._stream is None else self._stream.next_records()
        if records is None:
            raise StopIteration
        self._ready = iter(records)
        return next(self._ready)

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._stream is not None:
            self._stream.close()
        self._stream = None
        self._ready = iter(())

    def __del__(self) -> None:
        """Close the file: a loop that runs to its end does not."""
        self.close()

    def __reduce__(self) -> NoReturn:
        """Raise: the file is open."""
        raise TypeError("an iteration over records cannot be pickled or copied; pickle the path")

    def __repr__(self) -> str:
        """Name the file."""
        return f"<RecordIterator of {short_name(self._name)}>"


def tf_record_iterator(
    path: str | bytes | os.PathLike[str], options: CompressionType = None
) -> RecordIterator:
    """Iterate over the records of one file, as ``tf.compat.v1.io.tf_record_iterator``.

    Parameters
    ----------
    path : str, bytes or PathLike
        One local path or URL, not a pattern.
    options : TFRecordOptions, str, int or None, optional
        The compression; never inferred: None is none (rules C1, O9).

    Returns
    -------
    RecordIterator
        Yields ``bytes``; has ``close``.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        At once, not at the first record (rule R9).

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> for record in tf_record_iterator("people.tfrecord"):
    ...     print(decode_example(record)["name"])
    [b'Ada']
    [b'Alan']
    [b'Grace']
    """
    if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
        raise TypeError(f"path must be str, bytes or PathLike, not {type(path).__name__}")
    return RecordIterator(path, TFRecordOptions.get_compression_type_string(options))


def parse_messages(block: Block, message_class: type[AnyMessage]) -> Iterator[AnyMessage]:
    """Parse each record of a block by a protobuf class."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

    for i, record in enumerate(block):
        try:
            message = message_class.FromString(record)
        except (DecodeError, UnicodeDecodeError):
            from tfrecord_lite.example.content import misfit_error  # noqa: PLC0415 - not light

            raise block.place(i).locate(misfit_error(record, message_class)) from None
        yield message


def check_message_class(message_class: type[AnyMessage]) -> None:
    """Raise TypeError if it is not a protobuf class."""
    if not callable(getattr(message_class, "FromString", None)):
        raise TypeError(f"expected a protobuf message class, got {message_class!r}")
