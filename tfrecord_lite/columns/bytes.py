"""BytesColumn: many byte strings in two arrays.

::

    values    b"one"  b""  b"three"
    data      o n e t h r e e          uint8, all strings end to end
    offsets   0     3 3         8      int64, where each begins, and where the last ends

This is the layout of Arrow's ``LargeBinary``: both arrays are its buffers as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, ObjectArray, Uint8Array, ranges
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

SHOWN_VALUES = 6
SHOWN_BYTES = 32


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BytesColumn:
    """Byte strings of any length, without a Python object a value.

    Parameters
    ----------
    offsets : int64, shape (n_values + 1,)
        Value ``i`` is ``data[offsets[i]:offsets[i + 1]]``. Ascending; the first need not
        be 0, nor the last the end of `data`.
    data : uint8, shape (n_bytes,)
        The bytes. Both arrays are held, not copied.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for offsets that are not int64, not ascending or outside of
        `data`, and for data that is not uint8.

    Notes
    -----
    The layout equals Arrow's ``LargeBinary``, so that
    ``pyarrow.LargeBinaryArray.from_buffers(pyarrow.large_binary(), len(column),
    [None, pyarrow.py_buffer(column.offsets), pyarrow.py_buffer(column.data)])`` copies
    nothing.

    Examples
    --------
    >>> column = BytesColumn.from_list([b"one", b"", b"three"])
    >>> len(column), column[2], column.offsets.tolist()
    (3, b'three', [0, 3, 3, 8])
    >>> column[1:]
    <BytesColumn [b'', b'three']>
    """

    offsets: Int64Array
    data: Uint8Array

    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Arrays leave the comparison to us, instead of comparing each element with a whole column.
    __array_ufunc__: ClassVar[None] = None

    def __post_init__(self) -> None:
        """Check the offsets: one pass over them."""
        detail = None
        offsets, data = self.offsets, self.data
        if offsets.dtype != np.int64 or offsets.ndim != 1 or not offsets.size:
            detail = f"offsets of {offsets.dtype} and shape {offsets.shape}, not int64 (n + 1,)"
        elif data.dtype != np.uint8 or data.ndim != 1:
            detail = f"data of {data.dtype} and shape {data.shape}, not uint8 (n,)"
        elif offsets[0] < 0 or offsets[-1] > data.size or (offsets[1:] < offsets[:-1]).any():
            detail = f"offsets are not ascending within the {data.size} bytes of data"
        if detail:
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)

    @classmethod
    def from_list(cls, values: Iterable[bytes]) -> BytesColumn:
        """Copy byte strings into a column of their own.

        Parameters
        ----------
        values : iterable of bytes
            A list, an object array, and so on.

        Raises
        ------
        TypeError
            For a value that is not bytes.
        """
        items = list(values)
        for item in items:
            if not isinstance(item, bytes):
                raise TypeError(f"a BytesColumn holds bytes, not {type(item).__name__}")
        offsets = np.zeros(len(items) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(items), np.uint8))

    @property
    def lengths(self) -> Int64Array:
        """int64, shape (n_values,): bytes of each value; a new array."""
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes of all values together."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n_values,)``, as an array of them would have it."""
        return (len(self),)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of :meth:`to_numpy`: objects."""
        return np.dtype(object)

    def __len__(self) -> int:
        """Return the number of values."""
        return self.offsets.size - 1

    def __iter__(self) -> Iterator[bytes]:
        """Yield each value as ``bytes``."""
        return iter(self.to_list())

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> BytesColumn: ...
    def __getitem__(self, key: int | np.integer[Any] | slice) -> bytes | BytesColumn:
        """Return one value, or a range of them; a range in order is a view of the data."""
        if not isinstance(key, slice):
            if not -len(self) <= key < len(self):
                raise IndexError(f"value {key} of a column of {len(self)}")
            i = key if key >= 0 else key + len(self)
            return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()
        start, stop, step = key.indices(len(self))
        if step != 1:
            return self.take(np.arange(start, stop, step))
        stop = max(start, stop)
        low, high = self.offsets[start], self.offsets[stop]
        return BytesColumn(self.offsets[start : stop + 1] - low, self.data[low:high])

    def take(self, indices: npt.NDArray[np.integer[Any]]) -> BytesColumn:
        """Copy chosen values, in any order and as often as wanted, into a new column.

        Parameters
        ----------
        indices : int, shape (n,)
            Numbers of values, not negative.

        Returns
        -------
        BytesColumn
            `n` values; owns its memory.
        """
        lengths = self.lengths[indices]
        offsets = np.zeros(lengths.size + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return BytesColumn(offsets, self.data[ranges(self.offsets[indices], lengths)])

    def to_list(self) -> list[bytes]:
        """Copy every value into a ``bytes`` object of its own."""
        low = int(self.offsets[0])
        # One copy of all first: slices of bytes are several times faster than of an array.
        data = self.data[low : self.offsets[-1]].tobytes()
        offsets = (self.offsets - low).tolist() if low else self.offsets.tolist()
        return [data[a:b] for a, b in pairwise(offsets)]

    def to_numpy(self) -> ObjectArray:
        """Return an object array of ``bytes``, shape (n_values,), as TensorFlow gives them."""
        array = np.empty(len(self), object)
        array[:] = self.to_list()
        return array

    def to_string_dtype(self) -> AnyArray:
        """Decode all values as UTF-8 into an array of NumPy's variable-length strings.

        Returns
        -------
        StringDType, shape (n_values,)
            Owns its memory.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a value that is not UTF-8; the text gives its number.
        """
        texts = []
        for i, value in enumerate(self.to_list()):
            try:
                texts.append(value.decode())
            except UnicodeDecodeError as error:
                detail = f"value {i} is not UTF-8 from its byte {error.start} on"
                raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail) from None
        return np.array(texts, np.dtypes.StringDType())

    def __eq__(self, other: object) -> bool:
        """Compare all values; where they lie in `data` does not matter."""
        if not isinstance(other, BytesColumn):
            return NotImplemented
        return np.array_equal(self.lengths, other.lengths) and np.array_equal(
            self.data[self.offsets[0] : self.offsets[-1]],
            other.data[other.offsets[0] : other.offsets[-1]],
        )

    def __repr__(self) -> str:
        """Show the first values, each cut at some length."""
        shown = [
            f"{v[:SHOWN_BYTES]!r}..." if len(v) > SHOWN_BYTES else repr(v)
            for v in self[:SHOWN_VALUES]
        ]
        if len(self) > SHOWN_VALUES:
            shown.append(f"... {len(self)} values")
        return f"<BytesColumn [{', '.join(shown)}]>"
