"""Random access to records: by number, or by offset (rule R10)."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite.arrays import AnyArray, Int64Array
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, SPARE_BYTES, Block, block_of
from tfrecord_lite.files import names
from tfrecord_lite.files.ahead import share_of
from tfrecord_lite.files.remote import MAX_OPENING, for_each_file
from tfrecord_lite.index import handles
from tfrecord_lite.index.index import RecordIndex, beside, load_checked, save_index, scan
from tfrecord_lite.options import MAX_RECORD_BYTES, ReadOptions, ReadSettings, hinted, read_settings
from tfrecord_lite.progress import Meter, Progress, check_progress, metered, title_of, total_bytes
from tfrecord_lite.records.framing import data_of_frame, first_bad_frame, frame_error, is_header
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.texts import plural, short_name

if TYPE_CHECKING:
    from tfrecord_lite.columns import Column
    from tfrecord_lite.described.sidecar import SchemaLike
    from tfrecord_lite.example.parse import ExampleParser

Indices = Sequence[int] | np.typing.NDArray[np.integer[Any]]

_BYTES_AT_ONCE = 1024 * 1024
"""How much iteration reads at a time."""
_REMOTE_BYTES_AT_ONCE = 16 * 1024 * 1024  # two of the largest requests
MAX_OPEN = 64
"""How many local files are kept open."""


@hinted
class TFRecordFile:
    r"""The records of one file or many, by number: a sequence of ``bytes``.

    Works as a map-style data set for torch's ``DataLoader`` and as a data source for Grain.

    Parameters
    ----------
    paths : str, bytes, PathLike, or an iterable of them
        Paths, URLs (extra ``remote``) and patterns, as for :class:`TFRecordReader`. Records are
        numbered across files, in the order of the files.
    index : "auto", None, or a path or list of paths, optional
        ``"auto"`` uses the index beside a file (``FILE.idx``, of ``tfrecord index`` or
        :meth:`save_index`) if it fits, and otherwise reads the file once to make one. None
        always makes one. Paths, one per file, name indexes in DALI's form.
    progress : bool or callable, optional
        Show a progress bar while indexes are made, as for :func:`load`.
    **options
        How files are read, see :class:`ReadOptions`: `verify`, `max_record_bytes`, `storage_options`.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        At once.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for wrong options, or not one index per file.
    FailedPreconditionError
        ``UNSUPPORTED`` for a compressed file, a file object or a pipe, and for a URL whose
        server does not answer range requests; ``STALE_INDEX`` if an index that was named does
        not fit its file.
    DataLossError
        ``LENGTH_CRC``, ``TRUNCATED`` or ``RECORD_TOO_LARGE`` where a file is damaged:
        after a wrong length it is unknown where the next record is.

    Notes
    -----
    A remote file without an index beside it is read once, whole, to make one: save the index
    with the file. Records are then read by range requests: those of one call to :meth:`block` or
    ``__getitems__`` all at once, and neighbours together.

    The index takes 16 bytes of memory per record. Threads and forked processes may share this
    object; it can be pickled, index included. If a file has changed since it was
    indexed, opening it again or reading a record that is not where the index says raises
    ``STALE_INDEX``.

    Examples
    --------
    >>> with TFRecordWriter("three.tfrecord") as writer:
    ...     for record in (b"one", b"two", b"three"):
    ...         writer.write(record)
    >>> file = TFRecordFile("three.tfrecord")
    >>> len(file), file[-1], file[:2], file.__getitems__([2, 0])
    (3, b'three', [b'one', b'two'], [b'three', b'one'])
    """

    def __init__(
        self,
        paths: names.Sources,
        *,
        index: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = "auto",
        progress: Progress = None,
        **options: Unpack[ReadOptions],
    ) -> None:
        check_progress(progress)
        settings = read_settings(options)
        if settings.leaves_out:
            detail = "a file of which records are read by number skips no damage, "
            raise errors.argument_error(f"{detail}and drops no records")
        sources = names.expand(paths, settings.storage_options)
        for source in filter(names.is_file_object, sources):
            detail = "random access needs a path, not a file object, whose position is shared"
            reason, name = errors.Reason.UNSUPPORTED, names.name_of(source)
            raise errors.FailedPreconditionError(reason, source=name, detail=detail)
        self._names = list(map(names.name_of, sources))
        self._verify = settings.verify
        self._options = settings
        if index is None or index == "auto":
            index_names = [index] * len(self._names)
        else:
            is_one = isinstance(index, (str, bytes, os.PathLike))
            index_paths: Any = [index] if is_one else index
            index_names = list(map(os.fsdecode, index_paths))
        if len(index_names) != len(self._names):
            n_indexes, n_files = plural(len(index_names), "index", "indexes"), len(self._names)
            raise errors.argument_error(f"{n_indexes} for {plural(n_files, 'file')}; give one each")
        n_bytes = share_of(settings.read_ahead, min(len(self._names), MAX_OPENING))
        scanning = replace(settings, read_ahead=n_bytes)
        with metered(progress, title_of(self._names), "bytes") as meter:
            if meter.is_on:
                meter.expect(total_bytes(self._names))
            work = partial(_open_once, settings=scanning, meter=meter)
            pairs = list(zip(self._names, index_names, strict=True))
            opened = for_each_file(self._names, pairs, work)
            meter.finish()
        self._stamps = [stamp for _, stamp, _ in opened]
        self._indexes = [index for _, _, index in opened]
        self._ends = np.cumsum([len(index) for index in self._indexes])
        self._end_list: list[int] = self._ends.tolist()
        self._is_closed = False
        self._parser: tuple[Any, Any] | None = None
        self._renew()
        for number, (handle, _, _) in enumerate(opened):
            if handle is not None:
                self._remote[os.getpid(), number] = handle

    def _renew(self) -> None:
        opened = partial(_opened_again, self._names, self._stamps)
        self._local = lru_cache(MAX_OPEN)(opened)  # these take descriptors
        # By process too: a client of a remote store does not survive a fork.
        self._remote: dict[tuple[int, int], handles.RemoteHandle] = {}

    @property
    def sources(self) -> list[str]:
        """The paths of the files, in order."""
        return list(self._names)

    @property
    def indexes(self) -> list[RecordIndex]:
        """The index of each file; do not change them."""
        return list(self._indexes)

    @property
    def is_stale(self) -> bool:
        """Whether a file has changed since it was indexed."""

        def stamp(name: str) -> handles.FileStamp:
            return handles.FileStamp.of(_opened(name, self._options.storage_options))

        return for_each_file(self._names, self._names, stamp) != self._stamps

    def __len__(self) -> int:
        """Return the number of records."""
        return int(self._ends[-1])

    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> list[bytes]: ...
    def __getitem__(self, key: int | slice) -> bytes | list[bytes]:
        """Return one record, counted from the end if negative, or the records of a slice.

        Raises
        ------
        IndexError
            If there is no such record.
        TypeError
            If `key` is not an integer or a slice.
        DataLossError, FailedPreconditionError
            As :meth:`block`.
        """
        if isinstance(key, slice):
            return self.block(np.arange(*key.indices(len(self)))).to_list()
        position, n_records = errors.require_int("index", key), len(self)
        if not -n_records <= position < n_records:
            raise IndexError(_out_of_range(position, n_records))
        position %= n_records
        number = bisect_right(self._end_list, position)
        place = position - (self._end_list[number - 1] if number else 0)
        index = self._indexes[number]
        offset, size = int(index.offsets[place]), int(index.sizes[place])
        handle = self._handle(number)
        frame = handle.read(size, offset)
        data = data_of_frame(frame, size, verify=self._verify)
        if data is None:
            raise handle.explained(frame_error(frame, size, offset, self._names[number], place))
        return data

    def __getitems__(self, indices: Sequence[int]) -> list[bytes]:
        """Return many records, in the order given; torch's ``DataLoader`` calls this."""
        return self.block(indices).to_list()

    def block(self, indices: Indices) -> Block:
        """Read many records into one block.

        Parameters
        ----------
        indices : sequence of int, or int array, shape (n,)
            In any order, with repetitions; negative ones count from the end.

        Returns
        -------
        Block
            Record i is ``file[indices[i]]``. Owns its memory.

        Raises
        ------
        IndexError
            If there is no such record.
        TypeError
            If the indices are not integers.
        DataLossError
            ``DATA_CRC``, ``LENGTH_CRC`` or ``TRUNCATED``, about the first damaged record.
        FailedPreconditionError
            ``STALE_INDEX`` if the file has changed; ``CLOSED`` after :meth:`close`.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> with TFRecordFile("people.tfrecord") as people:
        ...     people.block([2, 0])
        <Block of 2 records, 68 bytes>
        """
        origin, sizes = self._locate(indices)
        numbers, places, offsets = origin.T
        files = np.unique(numbers).tolist()
        chosen = [np.flatnonzero(numbers == number) for number in files]
        data = np.empty(int(sizes.sum()) + SPARE_BYTES, np.uint8)
        data[-SPARE_BYTES:] = 0
        starts = np.empty_like(sizes)
        at = 0
        remote = []
        for number, rows in zip(files, chosen, strict=True):
            handle = self._handle(number)
            if isinstance(handle, handles.RemoteHandle):
                starts[rows] = at + np.cumsum(sizes[rows]) - sizes[rows]
                extents = offsets[rows], sizes[rows], starts[rows]
                remote.append(handles.RemoteFrames(handle, *extents))
            else:
                starts[rows] = handles.read_frames(handle, offsets[rows], sizes[rows], data, at)
            at += int(sizes[rows].sum())
        handles.read_remote_frames(remote, data)
        bad = first_bad_frame(data, starts, sizes, verify=self._verify)
        if bad is not None:
            number, size, offset = int(numbers[bad]), int(sizes[bad]), int(offsets[bad])
            handle = self._handle(number)
            frame = handle.read(size, offset)
            error = frame_error(frame, size, offset, self._names[number], int(places[bad]))
            raise handle.explained(error)
        starts, sizes = starts + HEADER_BYTES, sizes - OVERHEAD_BYTES
        return block_of(data, starts, sizes, self._names, origin, self._verify)

    def place(self, index: int) -> tuple[str, int, int]:
        """Return the file a record is in, its number there, and the offset of its header.

        Raises
        ------
        IndexError, TypeError
            As ``[i]``.

        Examples
        --------
        >>> _ = save("people@2.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> with TFRecordFile("people-*.tfrecord") as people:
        ...     people.place(2)
        ('people-00001-of-00002.tfrecord', 1, 50)
        """
        number, place, offset = self.places([errors.require_int("index", index)])[0].tolist()
        return self._names[number], place, offset

    def places(self, indices: Indices) -> Int64Array:
        """Return where many records are.

        Returns
        -------
        int64, shape (n, 3)
            For each record: the number of its file, its number there, the offset of its header.

        Raises
        ------
        IndexError, TypeError
            As :meth:`block`.

        Examples
        --------
        >>> _ = save("people@2.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> with TFRecordFile("people-*.tfrecord") as people:
        ...     people.places([0, 1, 2])
        array([[ 0,  0,  0],
               [ 1,  0,  0],
               [ 1,  1, 50]])
        """
        return self._locate(indices)[0]

    def example(self, index: int) -> dict[str, AnyArray]:
        """Return one Example as a dictionary, as :meth:`TFRecordReader.examples` does.

        Raises
        ------
        InvalidArgumentError
            ``MALFORMED`` for a record that is not an Example.
        IndexError, TypeError, DataLossError, FailedPreconditionError
            As ``[i]``.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> with TFRecordFile("people.tfrecord") as people:
        ...     people.example(1)
        {'age': array([41]), 'name': array([b'Alan'], dtype=object)}
        """
        from tfrecord_lite.example.to_dicts import decode_examples  # noqa: PLC0415 - loads the engine

        return decode_examples(self.block([errors.require_int("index", index)]))[0]

    def parse(
        self, indices: Indices, schema: SchemaLike | ExampleParser[Any] | None = None
    ) -> dict[str, Column]:
        """Read many Examples and parse them into columns.

        Parameters
        ----------
        indices : sequence of int, or int array, shape (n,)
        schema : Schema, dict of specifications, path or ExampleParser, optional
            The features to parse, as for :func:`read_batches`. The parser of the last call is kept.

        Returns
        -------
        dict of str to result
            Row i is record ``indices[i]``.

        Raises
        ------
        InvalidArgumentError
            As :class:`ExampleParser`, with the record's place in its file.
        IndexError, TypeError, DataLossError, FailedPreconditionError
            As :meth:`block`.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> with TFRecordFile("people.tfrecord") as people:
        ...     people.parse([2, 0], {"name": bytes, "age": int})
        {'name': array([b'Grace', b'Ada'], dtype=object), 'age': array([37, 36])}
        """
        columns: dict[str, Column] = parser_of(self, schema)(self.block(indices))
        return columns

    def __iter__(self) -> Iterator[bytes]:
        """Yield all records, a megabyte or more of them read at a time."""
        first = 0
        for name, index in zip(self._names, self._indexes, strict=True):
            at_once = _REMOTE_BYTES_AT_ONCE if names.is_url(name) else _BYTES_AT_ONCE
            edges = np.flatnonzero(np.diff(np.cumsum(index.sizes) // at_once)) + 1
            starts = [0, *edges.tolist()]
            for start, stop in zip(starts, [*starts[1:], len(index)], strict=True):
                yield from self.block(np.arange(first + start, first + stop)).to_list()
            first += len(index)

    def save_index(self) -> list[str]:
        r"""Write the index of each file beside it, as ``FILE.idx`` in DALI's form; return the paths.

        Raises
        ------
        OSError
            If an index cannot be written.
        InvalidArgumentError
            ``UNSUPPORTED`` for a URL that cannot be written to.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> with TFRecordFile("people.tfrecord") as people:
        ...     people.save_index()
        ['people.tfrecord.idx']
        """
        paths = [names.companion(name, names.INDEX_SUFFIX) for name in self._names]

        def save(item: tuple[RecordIndex, str]) -> None:
            save_index(*item, self._options.storage_options if names.is_url(item[1]) else None)

        for_each_file(paths, list(zip(self._indexes, paths, strict=True)), save)
        return paths

    def _locate(self, indices: Indices) -> tuple[Int64Array, Int64Array]:
        """Return the places of records, as :meth:`places`, and their sizes in the files."""
        record_numbers = np.asarray(indices)
        if record_numbers.size == 0:
            record_numbers = record_numbers.astype(np.int64)
        if record_numbers.dtype.kind not in "iu" or record_numbers.ndim != 1:
            actual = f"{record_numbers.dtype} of {record_numbers.ndim} dimensions"
            raise TypeError(f"indices must be a vector of integers, got {actual}")
        n_records = len(self)
        outside = np.flatnonzero((record_numbers < -n_records) | (record_numbers >= n_records))
        if outside.size:
            raise IndexError(_out_of_range(int(record_numbers[outside[0]]), n_records))
        record_numbers = record_numbers.astype(np.int64)
        record_numbers[record_numbers < 0] += n_records
        places, sizes = np.empty((record_numbers.size, 3), np.int64), np.empty_like(record_numbers)
        numbers = self._ends.searchsorted(record_numbers, side="right")
        places[:, 0] = numbers
        places[:, 1] = record_numbers - np.concatenate(([0], self._ends))[numbers]
        for number in np.unique(numbers).tolist():
            rows, index = np.flatnonzero(numbers == number), self._indexes[number]
            places[rows, 2] = index.offsets[places[rows, 1]]
            sizes[rows] = index.sizes[places[rows, 1]]
        return places, sizes

    def _handle(self, number: int) -> handles.AnyHandle:
        if self._is_closed:
            raise _closed_error(self._names[number])
        if not names.is_url(self._names[number]):
            return self._local(number)
        key = os.getpid(), number
        if key not in self._remote:
            handle = handles.RemoteHandle(self._names[number], self._options.storage_options)
            self._stamps[number].check(handle)
            self._remote[key] = handle
        return self._remote[key]

    def close(self) -> None:
        """Close the files; no record can be read after that. Twice is fine.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> TFRecordFile("people.tfrecord").close()
        """
        self._is_closed = True
        self._local.cache_clear()
        self._remote.clear()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __getstate__(self) -> dict[str, object]:
        """Return what a copy in another process needs; nothing that is open."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_local", "_remote")}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Open the files again when they are needed."""
        self.__dict__.update(state)
        self._renew()

    def __repr__(self) -> str:
        """Name the files, at most two, and the number of records."""
        names = ", ".join(map(short_name, self._names[:2]))
        names += ", ..." if len(self._names) > 2 else ""
        return f"<TFRecordFile of {names}: {len(self):,} records>"


def _opened(name: str, storage_options: names.StorageOptions) -> handles.AnyHandle:
    if names.is_url(name):
        return handles.open_handle(name, storage_options)
    return handles.local_handle(name)


def _opened_again(names: list[str], stamps: list[handles.FileStamp], number: int) -> handles.Handle:
    handle = handles.local_handle(names[number])
    stamps[number].check(handle)
    return handle


def _open_once(
    place: tuple[str, str | None], settings: ReadSettings, meter: Meter
) -> tuple[handles.RemoteHandle | None, handles.FileStamp, RecordIndex]:
    """Take the stamp of a file, load its index (one that was named must fit) or make it.

    The handle of a local file is closed again, as it takes a descriptor. The bytes of the file are
    added to the meter.
    """
    name, index_name = place
    storage_options = settings.storage_options if names.is_url(name) else None
    handle = _opened(name, storage_options)
    stamp = handles.FileStamp.of(handle)
    kept = handle if isinstance(handle, handles.RemoteHandle) else None
    if index_name is not None and index_name != "auto":
        options = settings.storage_options if names.is_url(index_name) else None
        index = load_checked(index_name, stamp, name, options)
    elif index_name and (loaded := beside(name, stamp, storage_options)) is not None:
        index = loaded
    else:
        settings = replace(settings, verify=False, storage_options=storage_options)
        with closing(RecordStream(name, settings)) as stream:
            return kept, stamp, scan(stream, meter)
    meter.advance(stamp.file_bytes)
    return kept, stamp, index


def _out_of_range(index: int, n_records: int) -> str:
    return f"there is no record {index}; there are {n_records} (0 to {n_records - 1})"


def _closed_error(source: str) -> errors.FailedPreconditionError:
    detail = "the file is closed"
    return errors.FailedPreconditionError(errors.Reason.CLOSED, source=source, detail=detail)


class RandomReader:
    """Read records at known offsets; made by :func:`tf_record_random_reader`. Can be pickled."""

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        self._name = names.name_of(path)
        self._handle: handles.AnyHandle | None = handles.open_handle(self._name)

    def read(self, offset: int) -> tuple[bytes, int]:
        """Return the record that starts at an offset, and the offset after it.

        Parameters
        ----------
        offset : int
            Bytes from the start of the file to the record's header.

        Raises
        ------
        IndexError
            If the file ends at that offset, or before it.
        DataLossError
            ``LENGTH_CRC`` if no record starts there, ``DATA_CRC``, ``TRUNCATED``,
            ``RECORD_TOO_LARGE``.
        FailedPreconditionError
            ``CLOSED`` after :meth:`close`.
        """
        if self._handle is None:
            raise _closed_error(self._name)
        header = self._handle.read(HEADER_BYTES, offset) if offset >= 0 else b""
        if not header:
            raise IndexError(f"Out of range at reading offset {offset}")
        n_bytes = int.from_bytes(header[:8], "little")
        size = n_bytes + OVERHEAD_BYTES
        if not is_header(header):
            frame, size = header, HEADER_BYTES
        elif n_bytes > MAX_RECORD_BYTES:
            detail = f"its length says {n_bytes} bytes, the limit is {MAX_RECORD_BYTES}"
            raise errors.DataLossError(
                errors.Reason.RECORD_TOO_LARGE, offset, self._name, detail=detail
            )
        else:  # no memory is made for more than the file has
            frame = self._handle.read(min(size, self._handle.size() - offset), offset)
        data = data_of_frame(frame, size)
        if data is None:
            raise self._handle.explained(frame_error(frame, size, offset, self._name, None))
        return data, offset + size

    def close(self) -> None:
        """Close the file. Twice is fine."""
        self._handle = None

    def __reduce__(self) -> tuple[type[RandomReader], tuple[str]]:
        """Return what a copy needs, which opens the file anew."""
        return RandomReader, (self._name,)

    def __repr__(self) -> str:
        """Name the file."""
        return f"<RandomReader of {short_name(self._name)}>"


def tf_record_random_reader(path: str | bytes | os.PathLike[str]) -> RandomReader:
    """Read records of an uncompressed file at known offsets, as TensorFlow's function does.

    Parameters
    ----------
    path : str, bytes or PathLike
        A local file, or a URL (extra ``remote``), where each record takes two requests.

    Returns
    -------
    RandomReader
        With ``read(offset)``, which returns ``(record, next_offset)``, and ``close``.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        At once.

    Examples
    --------
    >>> with TFRecordWriter("two.tfrecord") as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"three")
    >>> reader = tf_record_random_reader("two.tfrecord")
    >>> reader.read(0), reader.read(19)
    ((b'one', 19), (b'three', 40))
    """
    return RandomReader(path)


def parser_of(file: TFRecordFile, schema: Any = None) -> Any:
    """Return the parser of a schema, or of what describes the records; the last one is kept."""
    from tfrecord_lite.described.sources import parser_for  # noqa: PLC0415 - loads the engine

    if hasattr(schema, "parse_batches"):
        return schema
    kept = file._parser  # noqa: SLF001 - of this module; read once: another thread may replace it
    if kept is None or kept[0] != schema:
        known = dict(schema) if type(schema) is dict else schema
        kept = file._parser = known, parser_for(schema, file.sources, file._options)  # noqa: SLF001
    return kept[1]
