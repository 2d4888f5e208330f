"""Write a TFRecord file, or append to one, by TensorFlow's rules (O3 to O8)."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Self

from tfrecord_lite import errors
from tfrecord_lite.arrays import Buffer
from tfrecord_lite.block import Block
from tfrecord_lite.errors import Reason
from tfrecord_lite.files import compression as codecs
from tfrecord_lite.files import names
from tfrecord_lite.files.compression import INFER, CompressionType, TFRecordOptions
from tfrecord_lite.files.names import Source, StorageOptions, name_of
from tfrecord_lite.files.output import open_output
from tfrecord_lite.options import ReadSettings, hinted, take_over
from tfrecord_lite.records.framing import checked
from tfrecord_lite.records.sink import RecordSink
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.texts import plural, short_name

if TYPE_CHECKING:
    from tfrecord_lite.convert.arrow import DataFrame
    from tfrecord_lite.described.sidecar import Sidecar
    from tfrecord_lite.example.encode.rows import KindsOfRows, RowBuffer
    from tfrecord_lite.example.sequence.encode import SequenceRowBuffer
    from tfrecord_lite.schema import FeatureLike


def as_record(record: object) -> bytes:
    """Return a record as bytes (rule O4)."""
    if isinstance(record, str):
        return record.encode()
    if isinstance(record, (bytes, bytearray)):
        return bytes(record)
    detail = "write takes bytes, bytearray or str as a record, or a Block of records, not "
    raise TypeError(detail + type(record).__name__)


class MessageWriter:
    """What all writers share."""

    _rows: RowBuffer | SequenceRowBuffer | None = None
    _kinds: KindsOfRows | None = None
    """Rows that are not encoded yet, and the records written between them."""
    _name: str
    _is_closed = True
    """Whether no record can be written: not yet, or not any more."""
    _add: Callable[[bytes], None]
    """Writes an encoded record that nothing waits before."""
    _put: Callable[[Sequence[Buffer] | Block], None]
    """Writes encoded records."""
    _put_block: Callable[[Block], None]
    """Writes a block whose memory others may hold too."""
    _put_pieces: Callable[[Sequence[Buffer]], None]
    """Writes one record in pieces, which may change after the call."""

    def __init_subclass__(cls) -> None:
        """Let errors about arguments name the writer; the other methods do so by a hint."""
        if cls.__base__ is MessageWriter:
            take_over(cls, "write", "write_example", "write_sequence_example")

    def write(self, record: bytes | bytearray | str | Block) -> None:
        """Write one record, or all of a block.

        Parameters
        ----------
        record : bytes, bytearray, numpy.bytes_, str or Block
            The record's data; str is written as UTF-8 (rule O4). A block is written without a
            Python object per record.

        Raises
        ------
        TypeError
            For anything else.
        DataLossError
            ``DATA_CRC`` for a block with a damaged record, as :meth:`write_blocks`.
        FailedPreconditionError
            ``CLOSED`` after :meth:`close` (rule O5), as from all methods that write.
        OSError
            If the records collected so far cannot be written; they, and this one, stay pending.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(b"Ada")
        ...     writer.write(Block.from_records([b"Alan", b"Grace"]))
        >>> list(TFRecordReader("names.tfrecord"))
        [b'Ada', b'Alan', b'Grace']
        """
        if self._is_closed:
            self._check_open()  # raises
        if type(record) is not bytes:
            if isinstance(record, Block):
                self._write_block(record)
                return
            record = as_record(record)
        if not self._rows:
            self._add(record)
            return
        self._rows.add_record(record)
        if self._rows.is_full:
            self._put_rows()

    def write_example(
        self, row: Mapping[str, Any], schema: Mapping[str, FeatureLike] | None = None
    ) -> None:
        """Write a dictionary as one Example.

        Parameters
        ----------
        row : mapping of str to value
            As :func:`~tfrecord_lite.encode_example` takes it.
        schema : Schema, or mapping of str to feature specification, optional
            The features that the row is to be read with. Rows are then encoded one by one,
            which is slower.

        Raises
        ------
        InvalidArgumentError, TypeError
            If the row cannot be encoded, with the feature in `key`, and `index` 0. Nothing of the row is written,
            and the writer can go on.
        FailedPreconditionError, OSError
            As :meth:`write`.

        Warns
        -----
        UserWarning
            Once for a feature with values of several kinds, such as int64 and float32, in rows of this writer.

        Notes
        -----
        Up to 1,024 rows, or 2 MB, wait to be encoded together. They are copies: the
        dictionary and its arrays may be reused at once. Floats of any type are rounded to the
        nearest float32, as by :func:`~tfrecord_lite.encode_examples`.

        Examples
        --------
        >>> with TFRecordWriter("people.tfrecord") as writer:
        ...     writer.write_example({"name": "Ada", "age": 36, "scores": [0.5, 0.75]})
        >>> next(TFRecordReader("people.tfrecord").examples())["scores"]
        array([0.5 , 0.75], dtype=float32)
        """
        if schema is not None:
            from tfrecord_lite.example.encode.columns import encode_example  # noqa: PLC0415

            self._write_encoded([encode_example(row, schema)])
            return
        self._check_open()
        rows = self._rows
        if rows is None or rows.of_sequences:
            self._begin_rows(row, of_sequences=False)
            return
        if (pieces := rows.add(row)) is not None:
            self._put_pieces(pieces)
        elif rows.is_full:
            self._put_rows()

    @hinted
    def write_examples(
        self,
        rows: Iterable[Mapping[str, Any]] | Mapping[str, Any] | DataFrame,
        schema: Mapping[str, FeatureLike] | None = None,
    ) -> None:
        """Write many Examples, from columns or from dictionaries.

        Parameters
        ----------
        rows : mapping of str to column, data frame, Arrow data, or iterable of dict
            Columns or a data frame as :func:`~tfrecord_lite.encode_examples` takes them, which
            is fastest; or any iterable of rows, as :meth:`write_example` takes them. Arrow data
            that are not in memory, such as a RecordBatchReader, a relation of DuckDB or
            what :func:`~tfrecord_lite.scan` returns, are written batch by batch.
        schema : Schema, or mapping of str to feature specification, optional
            The features that the records are to be read with.

        Raises
        ------
        InvalidArgumentError, TypeError
            With the number of the record among `rows` in `index`. Nothing of columns is written then,
            all rows before that one of an iterable, and the batches before of a stream.
        FailedPreconditionError, OSError
            As :meth:`write`.

        Examples
        --------
        >>> with TFRecordWriter("people.tfrecord") as writer:
        ...     writer.write_examples({"name": ["Ada", "Alan"], "age": [36, 41]})  # columns
        ...     writer.write_examples([{"name": "Grace", "age": 37}])  # rows
        >>> load("people.tfrecord")["age"]
        array([36, 41, 37])
        """
        self._check_open()
        from tfrecord_lite.convert.store import warn_of_rounding  # noqa: PLC0415
        from tfrecord_lite.convert.types import rows_of  # noqa: PLC0415
        from tfrecord_lite.example.encode.columns import encode_batches, is_columns  # noqa: PLC0415

        if schema is not None or is_columns(rows):
            rounded: dict[str, None] = {}
            with contextlib.closing(encode_batches(rows, schema, rounded)) as batches:
                for records in batches:
                    self._write_encoded(records)
            way = "the schema of schema_of(columns, lossless=True)"
            warn_of_rounding("write_examples", rounded, way)
            return
        if not isinstance(rows, list | tuple):
            self._write_each(self.write_example, rows_of(rows))
            return
        from tfrecord_lite.example.encode.rows import encode_rows, rows_at_once  # noqa: PLC0415

        first = 0  # rows of one form at once
        while first < len(rows):
            part = rows[first : first + max(rows_at_once(rows[first]), 1)]
            block = encode_rows(part, self._kinds_of_rows())
            if block is None:
                self._write_each(self.write_example, part, first)
            else:
                self._write_encoded(block)
            first += len(part)

    def _write_each(
        self, write: Callable[[Any], None], rows: Iterable[Mapping[str, Any]], first: int = 0
    ) -> None:
        """Write rows one by one; the first is number `first`."""
        for index, row in enumerate(rows, first):
            try:
                write(row)
            except errors.InvalidArgumentError as error:
                raise error.at(index=index) from None

    def write_sequence_example(self, row: Mapping[str, Mapping[str, Any]]) -> None:
        """Write a dictionary as one SequenceExample.

        Parameters
        ----------
        row : mapping
            As :func:`~tfrecord_lite.encode_sequence_example` takes it.

        Raises
        ------
        InvalidArgumentError, TypeError
            If the row cannot be encoded; nothing of it is written.
        FailedPreconditionError, OSError
            As :meth:`write`.

        Notes
        -----
        Rows wait to be encoded together, as for :meth:`write_example`.

        Examples
        --------
        >>> with TFRecordWriter("words.tfrecord") as writer:
        ...     writer.write_sequence_example(
        ...         {"context": {"id": 1}, "feature_lists": {"tokens": [[5, 6], [7]]}}
        ...     )
        >>> next(TFRecordReader("words.tfrecord").sequence_examples())
        {'context': {'id': array([1])}, 'feature_lists': {'tokens': [array([5, 6]), array([7])]}}
        """
        self._check_open()
        rows = self._rows
        if rows is None or not rows.of_sequences:
            self._begin_rows(row, of_sequences=True)
            return
        rows.add(row)
        if rows.is_full:
            self._put_rows()

    @hinted
    def write_sequence_examples(
        self,
        context: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
        feature_lists: Mapping[str, Any] | None = None,
        lengths: Mapping[str, Any] | None = None,
    ) -> None:
        """Write many SequenceExamples, from columns or from dictionaries.

        Parameters
        ----------
        context, feature_lists, lengths
            As :func:`~tfrecord_lite.encode_sequence_examples` takes them. The result of a
            :class:`~tfrecord_lite.SequenceExampleParser` can be given as ``*parsed``.

        Raises
        ------
        InvalidArgumentError, TypeError
            With the number of the record in `index`. Nothing of columns is written then,
            and all dictionaries before that one.
        FailedPreconditionError, OSError
            As :meth:`write`.

        Examples
        --------
        >>> tokens = np.array([[5, 6], [7, 0]])
        >>> with TFRecordWriter("words.tfrecord") as writer:
        ...     writer.write_sequence_examples({}, {"tokens": tokens}, {"tokens": [2, 1]})
        >>> [row["feature_lists"] for row in TFRecordReader("words.tfrecord").sequence_examples()]
        [{'tokens': [array([5]), array([6])]}, {'tokens': [array([7])]}]
        """
        from tfrecord_lite.convert.types import rows_of  # noqa: PLC0415
        from tfrecord_lite.example.sequence.encode import encode_sequence_examples  # noqa: PLC0415

        self._check_open()
        is_lone = feature_lists is None and lengths is None
        if context is None or isinstance(context, Mapping) or not is_lone:
            self._write_encoded(encode_sequence_examples(context, feature_lists, lengths))
        else:
            self._write_each(self.write_sequence_example, rows_of(context))

    def write_blocks(self, blocks: Iterable[Block]) -> None:
        """Write the records of many blocks, without a Python object per record.

        Parameters
        ----------
        blocks : iterable of Block
            For example, the blocks of :meth:`TFRecordReader.blocks`, or ``block[mask]`` of each.

        Raises
        ------
        TypeError
            For anything that is not a block; the blocks before it are written.
        DataLossError
            ``DATA_CRC`` for a block that was read with ``verify=False``, if one of its records is
            damaged. Nothing of the block is written: damage gets no CRC that looks right. The records of
            ``block.to_list()`` can be written one by one.
        FailedPreconditionError, OSError
            As :meth:`write`.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> parse = ExampleParser({"age": int})
        >>> with TFRecordWriter("older.tfrecord") as writer:
        ...     blocks = TFRecordReader("people.tfrecord").blocks()
        ...     writer.write_blocks(block[parse(block)["age"] > 36] for block in blocks)
        >>> [row["name"].item() for row in TFRecordReader("older.tfrecord").examples()]
        [b'Alan', b'Grace']
        """
        self._check_open()
        if isinstance(blocks, Block) or not hasattr(blocks, "__iter__"):
            detail = "write_blocks takes an iterable of blocks, and write a single one; not "
            raise TypeError(detail + type(blocks).__name__)
        for block in blocks:
            if not isinstance(block, Block):
                detail = "write_blocks takes blocks, as blocks() yields, not "
                raise TypeError(detail + type(block).__name__)
            self._write_block(block)

    # What is given to a writer is pending even if writing fails: each of these takes it in first,
    # or hands it to a sink, which keeps it.

    def _write_block(self, block: Block) -> None:
        self._check_open()
        block = checked(block)
        try:
            self._put_rows()
        finally:
            self._put_block(block)

    def _write_encoded(self, records: Sequence[Buffer] | Block) -> None:
        self._check_open()
        try:
            self._put_rows()
        finally:
            self._put(records)

    def _begin_rows(self, row: Mapping[str, Any], *, of_sequences: bool) -> None:
        """Write the first row of a kind; rows of the other are written before it."""
        rows = _new_buffer(self._kinds_of_rows(), of_sequences=of_sequences)
        pieces = rows.add(row)  # raises if the row is wrong
        before, self._rows = self._rows, rows
        try:
            if before:
                self._put(before.take())
        finally:
            if pieces is not None:
                self._put_pieces(pieces)

    def _kinds_of_rows(self) -> KindsOfRows:
        if self._kinds is None:
            from tfrecord_lite.example.encode.rows import KindsOfRows  # noqa: PLC0415

            self._kinds = KindsOfRows()
        return self._kinds

    def _put_rows(self) -> None:
        if self._rows:
            self._put(self._rows.take())

    def _check_open(self) -> None:
        if self._is_closed:
            detail = "the writer is closed; open another"
            raise errors.FailedPreconditionError(Reason.CLOSED, source=self._name, detail=detail)

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raise: two copies would write to one file."""
        detail = f"a {type(self).__name__} cannot be pickled or copied, since its file is open; "
        detail += "make a writer of another file where it is needed"
        raise TypeError(detail)


def _new_buffer(kinds: KindsOfRows, *, of_sequences: bool) -> RowBuffer | SequenceRowBuffer:
    if of_sequences:
        from tfrecord_lite.example.sequence.encode import SequenceRowBuffer  # noqa: PLC0415

        return SequenceRowBuffer(kinds)
    from tfrecord_lite.example.encode.rows import RowBuffer  # noqa: PLC0415

    return RowBuffer(kinds)


class End(NamedTuple):
    """Where the records of a file end that others are appended to."""

    n_bytes: int | None
    offset: int
    """In the decompressed file."""
    n_records: int


class TFRecordWriter(MessageWriter):
    """Write records to one file.

    Parameters
    ----------
    path : str, bytes, PathLike or binary file object
        A local path or a URL (extra ``remote``); created or emptied at once. A
        file object is written from its current position, and is not closed.
    options : TFRecordOptions, str, int or None, optional
        The compression, as for TensorFlow's writer; only one of `options` and `compression` can be given.
    compression : str, int, TFRecordOptions or None, optional
        ``"infer"``: by the ending of the name, ``.gz`` or ``.gzip``, ``.zlib`` or
        ``.zz``, ``.zst`` or ``.zstd``, ``.bz2``; none for any other, and for a file object.
        ``""`` or None for none, ``"GZIP"``, ``"ZLIB"``, ``"ZSTD"`` or ``"BZ2"`` in any letter
        case; or TensorFlow's numbers and options. TensorFlow cannot read ZSTD and BZ2.
    mode : {"w", "a"}, optional
        "a" appends to an existing local file, after reading it through: it must be intact, and
        no other writer may have it open. ``"infer"`` then goes by its content. A GZIP, ZSTD or
        BZ2 file gets a further stream; a ZLIB file cannot. A sidecar that describes the file is
        brought up to date when the writer is closed; records that do not fit it are taken back, and closing
        raises an error. A file that is written anew loses its old sidecar.
    torn : {"raise", "cut"}, optional
        What mode "a" does about a file that ends inside a record, because its writer was
        killed: raise, or cut off the incomplete record. A compressed file is then replaced by
        one with its whole records.
    atomic : bool, optional
        Write to a hidden file in the same folder, and rename it when it is closed: the file
        appears complete or not at all, also after a crash, with the permissions of the file it
        replaces. An error in the ``with`` block leaves the old file as it was. The next atomic write in the folder
        removes what a killed process of this machine has left. In a store, no file appears after an error,
        atomic or not.
    storage_options : dict, optional
        Options for fsspec, which opens URLs: credentials, an endpoint, ...

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        At once, as Python's ``open`` (TensorFlow: NotFoundError, rule O3).
    DataLossError
        In mode "a", if the file is damaged, or torn and `torn` is "raise".
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown compression, options that the compressor rejects, both
        `options` and `compression`, a file of another compression to append to, or
        `storage_options` without a URL; ``UNSUPPORTED`` for appending to a ZLIB file, a
        URL or a file object, and for `atomic` with mode "a" or a device, pipe or file object.
        When closed in mode "a": records that do not fit the sidecar.
    FailedPreconditionError
        ``IN_USE`` in mode "a", if another writer has the file open.

    Notes
    -----
    Up to about 1 MB of records is collected, then framed and written together;
    :meth:`flush` writes them now. If a write fails (a full disk), the :class:`OSError` names the
    file, which ends after the last complete write; the other records stay pending, and
    :meth:`flush` or :meth:`close` tries again, the end of a ``with`` block once. A non-blocking file object
    that takes no more at the moment is such a failure, a :class:`BlockingIOError`.

    A writer belongs to one thread of one process: several threads need a lock around all calls, or
    a writer each. After an interrupt (Ctrl-C) inside a call the writer may be unusable; the file has
    all that was flushed.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord.gz") as writer:
    ...     writer.write(b"Ada")
    >>> with TFRecordWriter("names.tfrecord.gz", mode="a") as writer:
    ...     writer.write("text is written as UTF-8")
    >>> list(TFRecordReader("names.tfrecord.gz"))
    [b'Ada', b'text is written as UTF-8']
    """

    described: Sidecar | None = None
    """The sidecar of a file that records are appended to, if it has one."""
    end: End = End(0, 0, 0)
    """Where the records end that the file had before."""

    @hinted
    def __init__(
        self,
        path: Source,
        options: CompressionType = None,
        *,
        compression: CompressionType = INFER,
        mode: Literal["w", "a"] = "w",
        torn: Literal["raise", "cut"] = "raise",
        atomic: bool = False,
        storage_options: StorageOptions = None,
    ) -> None:
        self._atomic = atomic
        self._name, self._is_named = name_of(path), not names.is_file_object(path)
        self._storage_options = storage_options
        self._appends = append = mode == "a"
        # Arguments are checked before the file is emptied.
        for name, value, choices in (("mode", mode, ("w", "a")), ("torn", torn, ("raise", "cut"))):
            if value not in choices:
                raise errors.argument_error(f"{name} is {value!r}, expected one of {choices}")
        if options is not None:
            if not codecs.is_infer(compression):
                detail = "both options and compression were given; give one of them"
                raise errors.argument_error(detail)
            TFRecordOptions.get_compression_type_string(options)
            compression = options
        settings = codecs.compression_to_write(path, compression)
        names.check_storage_options(storage_options, path)
        if append and self._has_sidecar():
            from tfrecord_lite.writer import beside  # noqa: PLC0415 - loads the engine

            self.described = beside.describing(self._name)
        file = open_output(path, atomic=atomic, append=append, storage_options=storage_options)
        try:
            if append:
                if codecs.is_infer(compression) and names.local_size(path):
                    settings = TFRecordOptions(_compression_of(path))
                end = _whole_records(path, settings, torn)
                if end.n_bytes is None:
                    _rewrite_whole_records(path, settings)
                    file.abandon()
                    file = open_output(path, append=True)
                    end = end._replace(n_bytes=names.local_size(path) or 0)
                file.keep(end.n_bytes or 0)
                self.end = end
            self._sink = RecordSink(file, settings)
        except BaseException:
            file.abandon()
            raise
        self._is_closed = False
        self._add, self._put = self._sink.add, self._sink.add_all
        self._put_block, self._put_pieces = self._sink.add_shared, self._sink.add_pieces

    def _has_sidecar(self) -> bool:
        return os.path.exists(names.companion(self._name, names.SIDECAR_SUFFIX))  # noqa: PTH110

    def flush(self) -> None:
        """Make everything written so far readable by others (rule O6).

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(b"Ada")
        ...     writer.flush()
        ...     print(list(TFRecordReader("names.tfrecord")))
        [b'Ada']
        """
        self._check_open()
        self._put_rows()
        self._sink.flush()

    def close(self) -> None:
        """Write what is pending and close the file. May be called twice (rule O5).

        Examples
        --------
        >>> writer = TFRecordWriter("names.tfrecord")
        >>> writer.write(b"Ada")
        >>> writer.close()
        >>> list(TFRecordReader("names.tfrecord"))
        [b'Ada']
        """
        if self._is_closed:
            return
        self._put_rows()
        self._sink.finish()
        self._sink.commit()
        self._is_closed = True
        if not self._is_named or not (names.is_url(self._name) or self._has_sidecar()):
            return
        from tfrecord_lite.described.sidecar import remove_stale  # noqa: PLC0415 - loads the engine

        if self.described is not None:
            from tfrecord_lite.writer import beside  # noqa: PLC0415 - loads the engine

            beside.extend(self._name, self.described, self.end, self._sink.compression)
        elif not self._appends:
            remove_stale(self._name, self._storage_options)

    def abandon(self) -> None:
        """Take back what was written: the file is as before in the modes "a" and `atomic`, and absent from a store.

        A local file that is written in place keeps what was flushed.

        Examples
        --------
        >>> import os
        >>> writer = TFRecordWriter("names.tfrecord", atomic=True)
        >>> writer.write(b"Ada")
        >>> writer.abandon()
        >>> os.path.exists("names.tfrecord")
        False
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._sink.abandon()
        if self._appends:
            os.truncate(self._name, self.end.n_bytes or 0)

    def __repr__(self) -> str:
        """Name the file and its compression, and count the records."""
        n_records = self._sink.n_records + len(self._rows or ())
        state = "closed" if self._is_closed else "open"
        parts = [plural(n_records, "record"), self._sink.compression or "uncompressed", state]
        return f"<TFRecordWriter of {short_name(self._name)}: {', '.join(parts)}>"

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close; after an error, atomic writers and URLs write nothing."""
        try:
            if kind is None or not (self._atomic or names.is_url(self._name)):
                self.close()
        finally:
            if not self._is_closed:  # nobody can try again
                self._is_closed = True
                self._sink.abandon()

    def __del__(self) -> None:
        """Close a forgotten writer, as TensorFlow does; an atomic one leaves no file."""
        if self._is_closed or not self._sink.belongs_here:
            return
        self._is_closed = True
        text = f"the writer of {self._name} was not closed"
        try:
            warnings.warn(text, ResourceWarning, 2, source=self)
        finally:  # a warning may be an error
            if self._atomic:
                self._sink.abandon()
            else:
                if self._rows:
                    self._sink.add_all(self._rows.take())
                self._sink.finish()


def _whole_records(path: Source, options: TFRecordOptions, torn: str) -> End:
    """Check a file to append to; return where its whole records end.

    Its `n_bytes` is None if it is a torn compressed file, which has to be rewritten.
    """
    if not (size := names.local_size(path)):
        return End(0, 0, 0)
    compression = TFRecordOptions.get_compression_type_string(options)
    if compression and not codecs.CODECS[compression].joinable:
        detail = f"a {compression} file cannot be appended to, since TensorFlow reads only its "
        detail += "first stream; use GZIP, or no compression"
        raise errors.argument_error(detail, Reason.UNSUPPORTED, source=name_of(path))
    with contextlib.closing(RecordStream(path, ReadSettings(compression))) as stream:
        try:
            while stream.next_block() is not None:
                pass
        except errors.DataLossError as error:
            if error.reason not in (Reason.TRUNCATED, Reason.COMPRESSED_TRUNCATED):
                if (own := _compression_of(path)) == compression:
                    raise
                detail = f"by its first bytes the file's compression is {own or 'none'}, "
                detail += f"not {compression or 'none'}"
                raise errors.argument_error(detail, source=name_of(path)) from None
            if torn == "raise":
                detail = f"{error.detail}; pass torn='cut' to cut off the torn end and append"
                raise error.at(detail=detail) from None
            size = None if compression else error.offset or 0
        return End(size, stream.offset, stream.n_records)


def _compression_of(path: Source) -> str:
    with contextlib.closing(RecordStream(path)) as stream:
        return stream.compression


def _rewrite_whole_records(path: Source, options: TFRecordOptions) -> None:
    """Replace a torn compressed file by one with its whole records."""
    sink = RecordSink(open_output(path, atomic=True), options)
    try:
        with (
            contextlib.closing(RecordStream(path, ReadSettings(options))) as stream,
            contextlib.suppress(errors.DataLossError),  # the torn end, which was met before
        ):
            while (records := stream.next_records()) is not None:
                sink.add_all(records)
        sink.finish()
    except BaseException:
        sink.abandon()
        raise
    sink.commit()
