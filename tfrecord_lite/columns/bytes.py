"""BytesColumn: many byte strings in two arrays, the buffers of Arrow's ``LargeBinary``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, Uint8Array, objects, ranges, row_splits
from tfrecord_lite.errors import argument_error
from tfrecord_lite.texts import plural, repr_html, value_text

SHOWN_VALUES = 6


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BytesColumn:
    """Byte strings of any length, without one Python object per value.

    Parameters
    ----------
    offsets : int64, shape (n_values + 1,)
        Value ``i`` is ``data[offsets[i]:offsets[i + 1]]``. Ascending; the first may be
        greater than 0, and the last less than the size of `data`.
    data : uint8, shape (n_bytes,)
        The bytes. Both arrays are held, not copied.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the offsets are not int64, not ascending or outside `data`, or
        if the data are not uint8.

    Notes
    -----
    ``pyarrow.LargeBinaryArray.from_buffers(pyarrow.large_binary(), len(column),
    [None, pyarrow.py_buffer(column.offsets), pyarrow.py_buffer(column.data)])`` copies nothing.

    Examples
    --------
    >>> column = BytesColumn.from_list([b"one", b"", b"three"])
    >>> len(column), column[2], column.offsets.tolist()
    (3, b'three', [0, 3, 3, 8])
    >>> column[1:]
    <BytesColumn [b'', b'three']>
    >>> np.asarray(column)
    array([b'one', b'', b'three'], dtype=object)
    """

    offsets: Int64Array
    data: Uint8Array

    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Makes array == column call our __eq__ instead of comparing element by element.
    __array_ufunc__: ClassVar[None] = None

    def __post_init__(self) -> None:
        """Check dtypes, shapes, and the offsets in one pass."""
        offsets, data = self.offsets, self.data
        if offsets.dtype != np.int64 or offsets.ndim != 1 or not offsets.size:
            actual = f"{offsets.dtype} of shape {offsets.shape}"
            raise argument_error(f"offsets must be int64 of shape (n + 1,), not {actual}")
        if data.dtype != np.uint8 or data.ndim != 1:
            actual = f"{data.dtype} of shape {data.shape}"
            raise argument_error(f"data must be uint8 of shape (n,), not {actual}")
        if offsets[0] < 0 or offsets[-1] > data.size or (offsets[1:] < offsets[:-1]).any():
            raise argument_error(f"offsets must be ascending, from 0 to at most {data.size}")

    @classmethod
    def from_list(cls, values: Iterable[bytes]) -> BytesColumn:
        """Copy byte strings into a new column.

        Raises
        ------
        TypeError
            If a value is not bytes.

        Examples
        --------
        >>> BytesColumn.from_list([b"Ada", b"Alan", b"Grace"])
        <BytesColumn [b'Ada', b'Alan', b'Grace']>
        """
        items = list(values)
        for item in items:
            if not isinstance(item, bytes):
                raise TypeError(f"a BytesColumn holds bytes, not {type(item).__name__}")
        offsets = row_splits(np.fromiter(map(len, items), np.int64, len(items)))
        return cls(offsets, np.frombuffer(b"".join(items), np.uint8))

    @property
    def lengths(self) -> Int64Array:
        """int64, shape (n_values,): the size of each value in bytes; a new array."""
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        """Size of all values together, in bytes."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n_values,)``, as of an array of the values."""
        return (len(self),)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that :meth:`to_numpy` gives: object."""
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
        """Return one value, or a column of a slice; with step 1 it is a view of the data."""
        if not isinstance(key, slice):
            if not -len(self) <= key < len(self):
                raise IndexError(f"value {key} of a column of {plural(len(self), 'value')}")
            i = key if key >= 0 else key + len(self)
            return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()
        start, stop, step = key.indices(len(self))
        if step != 1:
            return self.take(np.arange(start, stop, step))
        stop = max(start, stop)
        low, high = self.offsets[start], self.offsets[stop]
        return type(self)(self.offsets[start : stop + 1] - low, self.data[low:high])

    def take(self, indices: np.typing.NDArray[np.integer[Any]]) -> BytesColumn:
        """Copy the values at `indices` into a new column, in that order.

        Parameters
        ----------
        indices : int, shape (n,)
            Numbers of values, not negative; a number may be repeated.

        Examples
        --------
        >>> BytesColumn.from_list([b"Ada", b"Alan", b"Grace"]).take(np.array([2, 0, 2]))
        <BytesColumn [b'Grace', b'Ada', b'Grace']>
        """
        lengths = self.lengths[indices]
        return type(self)(row_splits(lengths), self.data[ranges(self.offsets[indices], lengths)])

    def to_list(self) -> list[bytes]:
        """Copy the values into a list of ``bytes`` objects.

        Examples
        --------
        >>> BytesColumn.from_list([b"Ada", b"Alan", b"Grace"]).to_list()
        [b'Ada', b'Alan', b'Grace']
        """
        low = self.offsets[0]
        # Copied as a whole first: slicing bytes is several times faster than slicing an array.
        data = self.data[low : self.offsets[-1]].tobytes()
        return [data[a:b] for a, b in pairwise((self.offsets - low).tolist())]

    def to_numpy(self) -> AnyArray:
        """Return an object array of ``bytes``, shape (n_values,), as TensorFlow gives them.

        Examples
        --------
        >>> BytesColumn.from_list([b"Ada", b"Alan", b"Grace"]).to_numpy()
        array([b'Ada', b'Alan', b'Grace'], dtype=object)
        """
        return objects(self.to_list())

    def to_string_dtype(self) -> AnyArray:
        """Decode all values as UTF-8 into an array of NumPy's variable-length strings.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if a value is not UTF-8; the text gives its number.

        Examples
        --------
        >>> names = BytesColumn.from_list([b"Ada", b"Alan", b"Grace"])
        >>> np.strings.str_len(names.to_string_dtype())
        array([3, 4, 5])
        """
        texts = []
        for i, value in enumerate(self.to_list()):
            try:
                texts.append(value.decode())
            except UnicodeDecodeError as error:
                raise argument_error(f"value {i} is not UTF-8 at byte {error.start}") from None
        return np.array(texts, np.dtypes.StringDType())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:  # noqa: FBT001 - NumPy's
        """Return what ``np.asarray(column)`` is: objects; another dtype only if asked for.

        Parameters
        ----------
        dtype : dtype, optional
            object; ``S`` with a width, such as ``S5``; or StringDType, for values in UTF-8. NumPy
            does not pass on an ``S`` without a width, and drops NULs at the ends of values.
        copy : bool, optional
            The values are always copied.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if the dtype is another, or too narrow for a value, or if a value
            ends in a NUL byte, which NumPy's ``S`` drops.
        ValueError
            If `copy` is False.
        """
        if copy is False:
            raise ValueError("a BytesColumn has no array to share; leave copy out, or copy=None")
        target = np.dtype(object if dtype is None else dtype)
        if target.kind == "O":
            return self.to_numpy()
        if target.kind == "T":
            return self.to_string_dtype().astype(target, copy=False)
        if target.kind == "S":
            return self._fixed_width(target.itemsize)
        detail = f"byte strings are an array of dtype object, S or StringDType, not {target}"
        raise argument_error(detail)

    def _fixed_width(self, width: int) -> AnyArray:
        """Return an array of ``S``; as wide as the longest value if `width` is 0."""
        lengths = self.lengths
        width = width or max(int(lengths.max(initial=0)), 1)
        last = self.data[np.maximum(self.offsets[1:] - 1, 0)] if self.data.size else lengths
        for wrong, what in (
            (lengths > width, f"is longer than S{width} has room for"),
            ((lengths > 0) & (last == 0), "ends in a NUL byte, which S would drop"),
        ):
            if wrong.any():
                raise argument_error(f"value {int(wrong.argmax())} {what}; take dtype=object")
        return np.array(self.to_list(), f"S{width}")

    def __eq__(self, other: object) -> bool:
        """Compare all values; their places in `data` do not matter."""
        if not isinstance(other, BytesColumn):
            return NotImplemented
        ours, theirs = (c.data[c.offsets[0] : c.offsets[-1]] for c in (self, other))
        return np.array_equal(self.lengths, other.lengths) and np.array_equal(ours, theirs)

    def __repr__(self) -> str:
        """Show the first values; of long ones what they are, or how they begin."""
        shown = [*map(value_text, self[:SHOWN_VALUES])]
        if len(self) > SHOWN_VALUES:
            shown.append(f"... {len(self)} values")
        return f"<BytesColumn [{', '.join(shown)}]>"

    _repr_html_ = repr_html


# ------------------------------------------------------------------------------ flat values

FlatValues: TypeAlias = AnyArray | BytesColumn
"""What ragged and sparse tensors end in."""


def as_array(values: FlatValues) -> AnyArray:
    """Return flat values as an array; byte strings as objects."""
    return values.to_numpy() if isinstance(values, BytesColumn) else values


def fill_value(default: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Check a default value and convert it to the value to fill an array with.

    `default` is None for zero, ``b""`` or NaT; a scalar; or an array that broadcasts to `shape`, the
    shape of one value, without adding dimensions.
    """
    if dtype.kind == "O":
        if not isinstance(default, bytes | str | None):
            raise TypeError(f"default_value must be bytes, not {type(default).__name__}")
        # As an array: of a byte string itself NumPy would drop NULs at the end.
        return np.array(default.encode() if isinstance(default, str) else default or b"", object)
    if default is None:
        default = np.array("NaT", dtype) if dtype.kind in "mM" else np.zeros((), dtype)
    fill = np.asarray(default)
    # Bools and integers are accepted for any numbers; floats not for integers, complex not for floats.
    kinds = "biufVc"  # V as of bfloat16
    most = max(kinds.find(dtype.kind), kinds.index("u")) if dtype.kind in kinds else -1
    if fill.dtype.kind != dtype.kind and not 0 <= kinds.find(fill.dtype.kind) <= most:
        raise TypeError(f"default_value must be {dtype}, not {fill.dtype}")
    try:
        fits = fill.ndim <= len(shape) and np.broadcast_shapes(fill.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        detail = f"default_value has shape {fill.shape}, which does not fit values of shape {shape}"
        raise argument_error(detail)
    if dtype.kind in "iu" and fill.size:
        limits = np.iinfo(dtype)
        if int(fill.min()) < limits.min or int(fill.max()) > limits.max:
            raise argument_error(f"default_value does not fit into {dtype}")
    with np.errstate(over="ignore"):
        return fill.astype(dtype)


def owned_slice(values: Any, start: int, stop: int) -> Any:
    """Copy a range of values, an array or a BytesColumn."""
    if not isinstance(values, BytesColumn):
        return values[start:stop].copy()
    offsets = values.offsets[start : stop + 1]
    low, high = int(offsets[0]), int(offsets[-1])
    return BytesColumn(offsets - low, values.data[low:high].copy())
