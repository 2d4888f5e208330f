"""Row plans: a fast path that takes rows of one form apart without looking at their values.

A row's *form* is its keys, the types of their values, and the lengths of short lists. A
:class:`RowPlan` is made from the first row of a form and takes all others apart at C's speed.
What it keeps of them is a copy, already checked::

    {"x": 0.5, "n": 7, "tags": [b"a", b"b"], "v": array, "w": array}
          │        │            │                 │           │
          ╰─ struct.pack ─╯     ╰─ strings        ╰─ concatenate, one per dtype
             "<fq"

The rows become value lists without another look: their numbers lie in memory as those of a
structured array, and arrays of a dtype end to end. A short vector of byte strings is taken as a list. A
plan rejects a row that is wrong or of another form; that row is then encoded alone, which raises
the error.
"""

from __future__ import annotations

import struct
from itertools import chain
from operator import attrgetter, countOf, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import ByteRanges, gather, row_splits
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lists import ValueLists
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.convert.plain_numbers import plain_numbers, rounded
from tfrecord_lite.convert.types import EXACT_DTYPES, PLAIN_FLOATS, PLAIN_INTEGERS, PLAIN_STRINGS
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfrecord_lite.arrays import AnyArray

LARGE_BYTES = 16 * 1024
"""A row with more bytes in strings or arrays is encoded alone, with fewer copies."""
SHORT_LIST = 8
"""The lengths of lists up to this one are part of the form; longer lists of numbers vary."""


class UnplannedError(Exception):
    """A row whose form cannot have a plan."""


def _chooser(places: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a callable that picks the items at some places of a tuple, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    if not places:
        return lambda _: ()
    (place,) = places
    return lambda values: (values[place],)


_OBJECT = np.dtype(object)
dtype_of: Callable[[Any], np.dtype[Any]] = attrgetter("dtype")
_size_of = attrgetter("size")


def is_list(value: Any) -> bool:
    """Whether a value is a list, a tuple, or a vector of objects, which is encoded as one."""
    cls = type(value)
    if cls is np.ndarray:
        return bool(value.dtype == _OBJECT and value.ndim == 1)
    return cls is list or cls is tuple


def dtypes_of(values: Iterable[Any]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of the arrays among some values."""
    return tuple([value.dtype for value in values if type(value) is np.ndarray])


def _packer(value: Any) -> tuple[Callable[[Any], bytes], np.dtype[Any]]:
    """Return a callable that packs values like this long list, and the dtype it packs.

    The callable raises TypeError for a value of another type than this one.
    """
    types = set(map(type, value)) if type(value) in (list, tuple) else set()
    for cls, letter, name in ((int, "q", "<i8"), (float, "f", "<f4")):
        if types == {cls}:
            return _list_packer(cls, letter), np.dtype(name)
    raise UnplannedError


def _list_packer(cls: type, letter: str) -> Callable[[Any], bytes]:
    # struct packs any number as a float, rounded, and a masked one as an integer.
    def pack(values: Any) -> bytes:
        numbers = plain_numbers(values) if values and type(values[0]) is cls else None
        if numbers is not None:
            data: bytes = (rounded(numbers) if cls is float else numbers.astype(np.int64)).tobytes()
            return data
        if not values or countOf(map(type, values), cls) != len(values):
            raise TypeError
        return struct.pack(f"<{len(values)}{letter}", *values)

    return pack


class _Arrays:
    """The arrays of one dtype in each row, and their values so far, all end to end."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.keys: list[str] = []
        self.places: list[int] = []
        self.data: list[bytes] = []
        self.sizes: list[int] = []

    def without_values(self) -> _Arrays:
        """Return the same arrays before any row was taken."""
        empty = _Arrays(self.dtype)
        empty.keys, empty.places = self.keys, self.places
        return empty

    def copied(self, arrays: tuple[AnyArray, ...]) -> bytes:
        """Return the values of one row's arrays; floats of 64 bits rounded."""
        if len(arrays) == 1:
            flat = arrays[0]
        else:
            try:
                flat = np.concatenate(arrays)
            except ValueError:  # of different dimensions
                flat = np.concatenate([array.ravel() for array in arrays])
        if self.dtype == float:
            flat = rounded(flat)
        data: bytes = flat.tobytes()
        return data

    def columns(self, n_rows: int) -> Iterator[tuple[str, ValueLists]]:
        """Yield the value lists of each key."""
        dtype = np.dtype(np.float32) if self.dtype == float else self.dtype
        flat = np.frombuffer(b"".join(self.data), dtype)
        sizes = np.array(self.sizes, np.int64).reshape(n_rows, -1)
        if flat.size and (sizes == sizes[0]).all():
            stops = np.cumsum(sizes[0]).tolist()
            table = flat.reshape(n_rows, -1)
            for key, start, stop in zip(self.keys, [0, *stops], stops, strict=False):
                yield key, normalize(key, table[:, start:stop])
            return
        starts = row_splits(sizes.ravel())[:-1].reshape(n_rows, -1)
        for i, key in enumerate(self.keys):
            own = flat
            if len(self.keys) > 1:
                places, n_bytes = dtype.itemsize * starts[:, i], dtype.itemsize * sizes[:, i]
                own = gather(flat.view(np.uint8), places, n_bytes).view(dtype)
            yield key, normalize(key, RaggedTensor(own, row_splits(sizes[:, i])))


class RowPlan:
    """How to take apart rows of one form, and the values taken so far.

    Made from the keys and values of a first row, which it does not take. Raises UnplannedError if a
    value cannot be taken by its type alone.
    """

    def __init__(self, keys: tuple[str, ...], values: tuple[Any, ...]) -> None:
        self.keys = keys
        self.types: tuple[type, ...] = tuple(map(type, values))
        self._dtypes = dtypes_of(values)
        arrays_of = [i for i, t in enumerate(self.types) if t is np.ndarray]
        self._choose_arrays = _chooser(arrays_of)
        lists_of = [i for i, value in enumerate(values) if is_list(value)]
        self._lists = [i for i in lists_of if len(values[i]) <= SHORT_LIST]
        self.is_only: bool = not lists_of and not arrays_of
        """Whether no other plan can have these keys and types."""
        self._choose_lists = _chooser(self._lists)
        lists = self._choose_lists(values)
        self._list_lengths = tuple(map(len, lists))
        self._all_single = set(self._list_lengths) == {1}
        flat = tuple(chain.from_iterable(lists))
        self._list_types = tuple(map(type, flat))
        objects = [values[i] for i in arrays_of if values[i].dtype == _OBJECT]
        if not PLAIN_STRINGS.issuperset(map(type, chain(*objects))):
            raise UnplannedError
        self._place(values)
        self.order: list[int] = []
        self._packed: list[bytes] = []
        self._strings: list[bytes] = []
        self._long: list[bytes] = []

    def _place(self, values: tuple[Any, ...]) -> None:
        """Decide where each value goes; places count a row's values, then those of its short lists."""
        numbers: list[int] = []
        strings: list[int] = []
        long: list[int] = []
        code = "<"
        self._fields: list[tuple[str, str, int]] = []  # key, letter, values per row
        self._texts: list[tuple[str, int]] = []  # key, strings per row
        self._arrays: dict[np.dtype[Any], _Arrays] = {}
        self._vectors: list[tuple[str, np.dtype[Any]]] = []
        self._packers: list[Callable[[Any], bytes]] = []
        place = len(values)
        lengths = iter(self._list_lengths)
        types = chain(self._list_types)
        for i, (key, value) in enumerate(zip(self.keys, values, strict=True)):
            where, held = [i], {type(value)}
            if i in self._lists:
                count = next(lengths)
                where = list(range(place, place + count))
                held = {next(types) for _ in where}
                place += count
            if held == {type(None)} and i not in self._lists:
                continue
            if held and (held <= PLAIN_INTEGERS or held <= PLAIN_FLOATS):
                letter = "q" if held <= PLAIN_INTEGERS else "f"
                code += f"{len(where)}{letter}"
                self._fields.append((key, letter, len(where)))
                numbers += where
            elif held and held <= PLAIN_STRINGS:
                self._texts.append((key, len(where)))
                strings += where
            elif type(value) is np.ndarray and (
                value.dtype in EXACT_DTYPES or value.dtype == float
            ):
                group = self._arrays.setdefault(value.dtype, _Arrays(value.dtype))
                group.keys.append(key)
                group.places.append(i)
            else:
                pack, dtype = _packer(value)
                self._vectors.append((key, dtype))
                self._packers.append(pack)
                long.append(i)
        self._pack = struct.Struct(code).pack
        self._numbers, self._texts_of, self._long_of = map(_chooser, (numbers, strings, long))
        self._groups = [(_chooser(group.places), group) for group in self._arrays.values()]
        chosen = self._texts_of((*values, *chain.from_iterable(self._choose_lists(values))))
        self._has_str = str in map(type, chosen)
        self._row_bytes = struct.calcsize(code) + sum(len(key) + 16 for key in self.keys)

    def take(self, values: tuple[Any, ...]) -> int:
        """Take a row of these keys and types; return about how many bytes, 0 if it is not taken."""
        if self._dtypes and tuple(map(dtype_of, self._choose_arrays(values))) != self._dtypes:
            return 0
        if self._lists:
            flat = self._values_of_lists(values)
            if flat is None or tuple(map(type, flat)) != self._list_types:
                return 0
            values += flat
        n_bytes = self._row_bytes
        strings: Any = self._texts_of(values)
        long: list[bytes] = []
        arrays: list[Any] = []
        try:
            packed = self._pack(*self._numbers(values))
            if self._has_str:
                strings = [s.encode() if type(s) is str else s for s in strings]
            if self._packers:
                found = self._long_of(values)
                if 8 * sum(map(len, found)) > LARGE_BYTES:  # before it is copied
                    return 0
                long = [pack(v) for pack, v in zip(self._packers, found, strict=True)]
                n_bytes += sum(map(len, long))
            for choose, group in self._groups:
                found = choose(values)
                sizes = list(map(_size_of, found))
                n_bytes += group.dtype.itemsize * sum(sizes)
                if n_bytes > LARGE_BYTES:
                    return 0
                arrays.append((group, group.copied(found), sizes))
        except (ArithmeticError, TypeError, UnicodeEncodeError, struct.error):
            return 0  # encoding the row alone raises the error
        if strings:
            n_bytes += sum(map(len, strings))
        if n_bytes > LARGE_BYTES:
            return 0
        if len(self._packed) > len(self.order):
            self._drop_unfinished()
        self._packed.append(packed)  # first: see _drop_unfinished
        self._strings += strings
        self._long += long
        for group, data, sizes in arrays:
            group.data.append(data)
            group.sizes += sizes
        return n_bytes

    def _values_of_lists(self, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the values of a row's short lists, end to end; None if their lengths are others."""
        lists = self._choose_lists(values)
        try:
            if self._all_single:
                return tuple([value for (value,) in lists])
            if tuple(map(len, lists)) == self._list_lengths:
                return tuple(chain.from_iterable(lists))
        except (TypeError, ValueError):  # an array of objects without a dimension; other lengths
            pass
        return None

    def _drop_unfinished(self) -> None:
        """Drop what is left of a row that an interrupt kept from being counted in `order`."""
        n_rows = len(self.order)
        del self._packed[n_rows:]
        del self._strings[n_rows * sum(count for _, count in self._texts) :]
        del self._long[n_rows * len(self._vectors) :]
        for group in self._arrays.values():
            del group.data[n_rows:]
            del group.sizes[n_rows * len(group.keys) :]

    def clear(self) -> None:
        """Forget the rows taken: all at once, so that an interrupt leaves no half of a row."""
        arrays = {dtype: group.without_values() for dtype, group in self._arrays.items()}
        groups = [(choose, arrays[group.dtype]) for choose, group in self._groups]
        (self.order, self._packed, self._strings, self._long, self._arrays, self._groups) = (
            [], [], [], [], arrays, groups,
        )  # fmt: skip

    def columns(self) -> dict[str, ValueLists]:
        """Return the rows taken as value lists, one per key."""
        self._drop_unfinished()
        n_rows = len(self.order)
        found: dict[str, ValueLists] = {}
        dtypes = {"q": "<i8", "f": "<f4"}
        fields = [(str(i), dtypes[letter], (n,)) for i, (_, letter, n) in enumerate(self._fields)]
        # dtype.itemsize is 0 without fields, which frombuffer rejects.
        packed = b"".join(self._packed)
        table: AnyArray = np.frombuffer(packed, np.dtype(fields)) if fields else np.empty(0)
        for i, (key, letter, count) in enumerate(self._fields):
            flat = np.ascontiguousarray(table[str(i)]).reshape(-1)
            kind = Kind.INT64 if letter == "q" else Kind.FLOAT
            found[key] = ValueLists(n_rows, kind, count, flat)
        found |= self._string_columns(n_rows)
        for group in self._arrays.values():
            found |= group.columns(n_rows)
        for i, (key, dtype) in enumerate(self._vectors):
            parts = self._long[i :: len(self._vectors)]
            flat = np.frombuffer(b"".join(parts), dtype)
            counts = np.fromiter(map(len, parts), np.int64, n_rows) // dtype.itemsize
            is_even = int(counts.min()) == int(counts.max())
            even = flat.reshape(n_rows, -1) if is_even and flat.size else None
            column = RaggedTensor(flat, row_splits(counts)) if even is None else even
            found[key] = normalize(key, column)
        return found

    def _string_columns(self, n_rows: int) -> dict[str, ValueLists]:
        """Return the lists of strings; in the buffer the strings of a row are together."""
        if not self._texts:
            return {}
        lengths = np.fromiter(map(len, self._strings), np.int64, len(self._strings))
        starts = row_splits(lengths)[:-1].reshape(n_rows, -1)
        lengths = lengths.reshape(n_rows, -1)
        data = np.frombuffer(b"".join(self._strings), np.uint8)
        found: dict[str, ValueLists] = {}
        place = 0
        for key, count in self._texts:
            some = slice(place, place + count)
            own = ByteRanges(data, starts[:, some].ravel(), lengths[:, some].ravel())
            found[key] = ValueLists(n_rows, Kind.BYTES, count, own)
            place += count
        return found
