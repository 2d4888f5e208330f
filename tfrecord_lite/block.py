"""Block: many records in one buffer, the unit that flows through the package.

::

    data     ...[header]record 0[footer][header]record 1[footer][header]record 2[footer]...spare
    offsets             ^                       ^                       ^
    lengths             |------|                |------|                |------|

What lies between the records does not matter. The last record is always followed by at least
:data:`SPARE_BYTES` bytes, so that loads of several bytes at once may run past a record's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from tfrecord_lite.arrays import AnyArray, Buffer, Int64Array, Uint8Array, gather, row_splits, views
from tfrecord_lite.errors import TFRecordError, argument_error, require_int
from tfrecord_lite.texts import plural

if TYPE_CHECKING:
    import numpy.typing as npt

_Error = TypeVar("_Error", bound=TFRecordError)

SPARE_BYTES = 512
"""At least this many bytes follow the last record of every block; their content is arbitrary."""

HEADER_BYTES, FOOTER_BYTES = 12, 4
"""Bytes before and after the data of a record in a file; blocks that were read have them too."""
OVERHEAD_BYTES = HEADER_BYTES + FOOTER_BYTES
"""Between the data of two records."""

_FIELDS = ("data", "offsets", "lengths", "sources", "places", "is_framed")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record came from, for errors about it."""

    source: str | None
    """Path or URL, None for records that came from memory."""
    index: int | None
    """Number of the record in `source`, from 0, None if unknown; in the block, for records from
    memory."""
    offset: int | None
    """Bytes from the start of the decompressed stream to the record's header."""

    def locate(self, error: _Error) -> _Error:
        """Return the same error about the record at this place."""
        return error.at(source=self.source, index=self.index, offset=self.offset)

    def __str__(self) -> str:
        """Return the place in words."""
        return f"record {self.index}, byte {self.offset} of {self.source}"


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Many records in one contiguous buffer.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The buffer. Not copied; must not change while the block lives.
        At least :data:`SPARE_BYTES` bytes follow the end of the last record.
    offsets : int64, shape (n_records,)
        Where in `data` each record's first byte is.
    lengths : int64, shape (n_records,)
        Bytes of each record, 0 allowed.
    sources : sequence of str, optional
        Paths or URLs of the files that records came from; a file without a name is None.
    places : int64, shape (n_records, 3), optional
        Where each record came from: the number of its file in `sources`, its number in the file, and the offset of
        its header there. -1 in place of the first for a record from memory, of the second if it is not known.
    is_framed : bool, default False
        Whether the buffer has each record in its frame, whose CRCs were found right.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the arrays are not of these types, the buffer is not contiguous,
        `offsets` and `lengths` differ in length, or an extent leaves the buffer without its
        spare bytes.

    Examples
    --------
    >>> block = Block.from_records([b"one", b"", b"three"])
    >>> len(block), block[2], list(block[:2])
    (3, b'three', [b'one', b''])
    """

    data: Uint8Array
    offsets: Int64Array
    lengths: Int64Array
    sources: Sequence[str | None] = ()
    places: Int64Array | None = None
    is_framed: bool = False

    def __post_init__(self) -> None:
        """Check the arrays, then the extents."""
        _check_array("data", self.data, np.uint8)
        _check_array("offsets", self.offsets, np.int64)
        _check_array("lengths", self.lengths, np.int64)
        if not self.data.flags.c_contiguous:
            raise argument_error("data must be contiguous")
        if self.offsets.shape != self.lengths.shape:
            n = self.offsets.size
            raise argument_error(f"there are {n} offsets, but {self.lengths.size} lengths")
        if self.offsets.size == 0:
            return
        room = self.data.size - SPARE_BYTES
        low = min(self.offsets.min(), self.lengths.min())
        # Each alone first, so that their sum cannot wrap around.
        high = max(self.offsets.max(), self.lengths.max())
        if low < 0 or high > room or (self.offsets + self.lengths).max() > room:
            raise argument_error(f"an extent is not within the {room} bytes that records may take")

    @classmethod
    def from_records(cls, records: Sequence[Buffer]) -> Block:
        """Copy records from memory into one buffer.

        Parameters
        ----------
        records : sequence of bytes-like
            For example, a list or object array of ``bytes``. A buffer of larger items is one
            record of all its bytes.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a buffer that is not contiguous.
        TypeError
            If a record is not a buffer.

        Examples
        --------
        >>> block = Block.from_records([b"Ada", b"Alan", b"Grace"])
        >>> block[np.array([True, False, True])].to_list()
        [b'Ada', b'Grace']
        """
        records = as_bytes_like(records)
        lengths = np.fromiter(map(len, records), np.int64, len(records))
        data = np.frombuffer(b"".join([*records, bytes(SPARE_BYTES)]), np.uint8)
        return cls(data, row_splits(lengths)[:-1], lengths)

    @classmethod
    def concat(cls, blocks: Sequence[Block]) -> Block:
        """Copy several blocks into one, in order.

        Parameters
        ----------
        blocks : sequence of Block
            May be empty, and may hold empty blocks.

        Examples
        --------
        >>> Block.concat([Block.from_records([b"Ada", b"Alan"]), Block.from_records([b"Grace"])])
        <Block of 3 records, 12 bytes>
        """
        blocks = [block for block in blocks if len(block)]
        if len(blocks) == 1:
            return blocks[0]
        return cls._joined(blocks) if blocks else cls.from_records([])

    def copy(self) -> Block:
        """Return the same records in a buffer of their own, from the first to the last of them.

        Examples
        --------
        >>> people = Block.from_records([b"Ada", b"Alan", b"Grace"])
        >>> people[2:].copy().to_list()  # without the buffer of all three
        [b'Grace']
        """
        return self._joined([self]) if len(self) else self.from_records([])

    @classmethod
    def _joined(cls, blocks: Sequence[Block]) -> Block:
        # With what is around them: the first header, and the last footer.
        starts = [max(int(block.offsets.min()) - HEADER_BYTES, 0) for block in blocks]
        stops = [int((b.offsets + b.lengths).max()) + FOOTER_BYTES for b in blocks]
        parts = [b.data[lo:hi] for b, lo, hi in zip(blocks, starts, stops, strict=True)]
        data = np.concatenate([*parts, np.zeros(SPARE_BYTES, np.uint8)])
        firsts = accumulate(map(len, parts), initial=0)  # of each part in `data`
        offsets = [b.offsets + (at - lo) for b, at, lo in zip(blocks, firsts, starts, strict=False)]
        lengths = [block.lengths for block in blocks]
        is_framed = all(block.is_framed for block in blocks)
        places = np.concatenate(offsets), np.concatenate(lengths)
        return block_of(data, *places, *origin_of(blocks), is_framed)

    def take(self, numbers: Int64Array) -> Block:
        """Copy records, in any order, into a buffer of their own, which has nothing else.

        Parameters
        ----------
        numbers : int64, shape (n,)
            Numbers of records in this block, each 0 or more.

        Examples
        --------
        >>> Block.from_records([b"Ada", b"Alan", b"Grace"]).take(np.array([2, 0])).to_list()
        [b'Grace', b'Ada']
        """
        lengths = self.lengths[numbers]
        splits = row_splits(lengths)
        records = gather(self.data, self.offsets[numbers], lengths, splits)
        data = np.concatenate([records, np.zeros(SPARE_BYTES, np.uint8)])
        places = None if self.places is None else self.places[numbers]
        return block_of(data, splits[:-1], lengths, self.sources, places)

    @property
    def nbytes(self) -> int:
        """Bytes of all records, without what lies between them."""
        return int(self.lengths.sum())

    def __len__(self) -> int:
        """Return the number of records."""
        return self.offsets.size

    def __iter__(self) -> Iterator[bytes]:
        """Yield each record as ``bytes`` of its own, made when it is asked for."""
        view = memoryview(self.data)  # type: ignore[arg-type]
        stops = (self.offsets + self.lengths).tolist()
        for start, stop in zip(self.offsets.tolist(), stops, strict=True):
            yield view[start:stop].tobytes()

    def to_list(self) -> list[bytes]:
        """Copy every record into a ``bytes`` object of its own.

        Examples
        --------
        >>> Block.from_records([b"Ada", b"Alan", b"Grace"]).to_list()
        [b'Ada', b'Alan', b'Grace']
        """
        return [view.tobytes() for view in self.views()]

    def views(self) -> list[memoryview]:
        """Return a view of every record; each keeps the whole buffer alive.

        Examples
        --------
        >>> views = Block.from_records([b"Ada", b"Alan", b"Grace"]).views()
        >>> views[1].nbytes, bytes(views[1][:2])
        (4, b'Al')
        """
        return views(self.data, self.offsets, self.lengths)

    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(
        self, key: slice | Sequence[int] | npt.NDArray[np.integer[Any] | np.bool_]
    ) -> Block: ...
    def __getitem__(
        self, key: int | slice | Sequence[int] | npt.NDArray[np.integer[Any] | np.bool_]
    ) -> bytes | Block:
        """Return one record as ``bytes``, or several as a block on the same buffer.

        Parameters
        ----------
        key : int, slice, list or array
            An array of bool, shape (n_records,), picks the records where it is True; an array or
            list of integers those with these numbers, in any order, with repetitions. Negative
            numbers count from the end.

        Raises
        ------
        IndexError
            If there is no such record, or a mask has another length.
        TypeError
            For any other key.

        Examples
        --------
        >>> block = Block.from_records([b"one", b"two", b"three"])
        >>> block[block.lengths > 3], list(block[[2, 0]])
        (<Block of 1 record, 5 bytes>, [b'three', b'one'])
        """
        is_number = isinstance(key, np.ndarray) and not key.ndim and key.dtype.kind in "iu"
        if isinstance(key, (list, np.ndarray)) and not is_number:
            key = self._numbers(_key_array(key))
        elif not isinstance(key, slice):
            key = self._number(key)  # type: ignore[arg-type]
            start, length = int(self.offsets[key]), int(self.lengths[key])
            return self.data[start : start + length].tobytes()
        places = None if self.places is None else self.places[key]
        offsets, lengths = self.offsets[key], self.lengths[key]
        return block_of(self.data, offsets, lengths, self.sources, places, self.is_framed)

    def _numbers(self, key: AnyArray) -> Int64Array:
        """Return the numbers of the records that a mask or an array of numbers picks."""
        n_records = len(self)
        if key.dtype == np.bool_:
            if key.shape != (n_records,):
                raise IndexError(f"the mask has the shape {key.shape}, expected ({n_records},)")
            return np.flatnonzero(key)
        if key.dtype.kind not in "iu" or key.ndim != 1:
            actual = f"{key.dtype} of shape {key.shape}"
            raise TypeError(f"the key is an array of {actual}, expected a vector of int or bool")
        outside = np.flatnonzero((key < -n_records) | (key >= n_records))
        if outside.size:
            self._number(int(key.ravel()[outside[0]]))  # raises
        numbers = key.ravel().astype(np.int64)
        numbers[numbers < 0] += n_records
        return numbers

    def _number(self, i: int) -> int:
        """Return the number of a record from 0; a negative one counts from the end."""
        i = require_int("index", i)
        number = i + len(self) if i < 0 else i
        if not 0 <= number < len(self):
            raise IndexError(f"record {i} of a block of {plural(len(self), 'record')}")
        return number

    def __repr__(self) -> str:
        """Count the records and their bytes."""
        return f"<Block of {plural(len(self), 'record')}, {plural(self.nbytes, 'byte')}>"

    def place(self, i: int) -> Place:
        """Return where record `i` came from.

        Parameters
        ----------
        i : int
            Number of the record in this block; a negative one counts from the end.

        Raises
        ------
        IndexError
            If the block has no such record.

        Examples
        --------
        >>> with TFRecordWriter("names.tfrecord") as writer:
        ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
        >>> block = next(TFRecordReader("names.tfrecord").blocks())
        >>> block.place(-1)
        Place(source='names.tfrecord', index=2, offset=39)
        """
        i = self._number(i)
        file, index, offset = (-1, i, 0) if self.places is None else self.places[i].tolist()
        if file < 0:
            return Place(None, i, None)
        return Place(self.sources[file], None if index < 0 else index, offset)


def block_of(
    data: Uint8Array,
    offsets: Int64Array,
    lengths: Int64Array,
    sources: Sequence[str | None] = (),
    places: Int64Array | None = None,
    is_framed: bool = False,  # noqa: FBT001, FBT002 - as a Block has it
) -> Block:
    """Return a block of arrays that need no check."""
    block = object.__new__(Block)
    values = (data, offsets, lengths, sources, places, is_framed)
    for name, value in zip(_FIELDS, values, strict=True):
        object.__setattr__(block, name, value)
    return block


def origin_of(blocks: Sequence[Block]) -> tuple[Sequence[str | None], Int64Array | None]:
    """Return the `sources` and `places` of the records of several blocks, in order."""
    sources = blocks[0].sources
    tables = [block.places for block in blocks if block.places is not None]
    if len(tables) == len(blocks) and all(block.sources is sources for block in blocks):
        return sources, np.concatenate(tables)
    if not tables:
        return (), None
    numbers: dict[str | None, int] = {}
    tables = []
    for block in blocks:
        table = np.full((len(block), 3), -1) if block.places is None else block.places.copy()
        # The number in `numbers` of each of the block's sources, and of none.
        renumbered = [numbers.setdefault(source, len(numbers)) for source in block.sources] + [-1]
        table[:, 0] = np.array(renumbered)[table[:, 0]]
        tables.append(table)
    return tuple(numbers), np.concatenate(tables)


def _key_array(key: Sequence[int] | AnyArray) -> AnyArray:
    """Return a list of numbers or bools, or an array, as an array."""
    if isinstance(key, np.ma.MaskedArray):
        if np.ma.is_masked(key):
            raise TypeError(
                "the key has masked items; replace them, for example with filled(False)"
            )
        return np.asarray(key)
    try:
        return np.asarray(key, np.int64 if isinstance(key, list) and not key else None)
    except ValueError:
        detail = "the key is a list of lists of different lengths, expected int or bool"
        raise TypeError(detail) from None


def _check_array(name: str, value: Any, dtype: type[np.generic]) -> None:
    is_array = isinstance(value, np.ndarray)
    if not is_array or value.dtype != dtype or value.ndim != 1:
        actual = f"{value.dtype} of shape {value.shape}" if is_array else type(value).__name__
        raise argument_error(f"{name} is {actual}, expected a vector of {dtype.__name__}")


def as_bytes_like(records: Sequence[Buffer]) -> Sequence[Buffer]:
    """Return records whose ``len`` is in bytes; `records` itself if all are bytes or bytearray."""
    if all(issubclass(kind, (bytes, bytearray)) for kind in set(map(type, records))):
        return records
    return [
        record if isinstance(record, (bytes, bytearray)) else _bytes_of(record, index)
        for index, record in enumerate(records)
    ]


def _bytes_of(record: Buffer, index: int) -> Buffer:
    try:
        view = memoryview(record)
    except (TypeError, ValueError):  # ValueError: a NumPy type that no buffer can have
        view = None
    if view is None or "O" in view.format:
        detail = f"record {index} must be bytes or a buffer of them, not {type(record).__name__}"
        raise TypeError(detail)
    if not view.c_contiguous:
        detail = "the buffer is not contiguous; copy it, for example with numpy.ascontiguousarray"
        raise argument_error(detail, index=index)
    try:
        return view.cast("B")
    except TypeError:  # it is empty, or its items have several fields
        return view.tobytes()
