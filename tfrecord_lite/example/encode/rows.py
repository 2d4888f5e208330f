"""Many dictionaries, one per record, to batches of columns: one by one, or all at once.

Programs write their rows alike: the same keys, the same types, often lists of the same lengths. That
is a row's *form*. A :class:`RowBuffer` collects rows until they are worth a batch. A :class:`RowPlan` is
made from the first row of a form and takes all others apart at C's speed, without looking at their
values. What it keeps of them is a copy, already checked::

    {"x": 0.5, "n": 7, "tags": [b"a", b"b"], "v": array, "w": array}
          │        │            │                 │           │
          ╰─ struct.pack ─╯     ╰─ strings        ╰─ concatenate, one per dtype
             "<fq"

The rows become value lists without another look: their numbers lie in memory as those of a structured
array, and arrays of a dtype end to end. A row of a new form, or one with large, unusual or wrong
values, is encoded alone at once, so the call that passes a bad row raises, and keeps nothing of it.
Every row, and every record that is written between rows, has a number; they come out in order.

Rows that are all there need not be taken apart one by one (:func:`encode_rows`): for each key the values
of all rows are looked at together, by a few calls that run at C's speed::

    [{"x": 0.5, "v": array}, {"x": 0.7, "v": array}, ...]
       "x": [0.5, 0.7, ...]  ─ set(map(type, ...)) ─ struct.pack ──> float32
       "v": [array, array]   ─ one dtype? ─ concatenate, lengths ──> int64, counts

A key is taken if its values are of one type that needs no further look. Anything else, and anything
wrong, is None: the rows then go one by one, and the one that is wrong raises the error.
"""

from __future__ import annotations

import struct
from itertools import chain
from operator import attrgetter, countOf, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import ByteRanges, gather, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lists import ValueLists
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.convert.types import (
    EXACT_DTYPES,
    PLAIN_FLOATS,
    PLAIN_INTEGERS,
    PLAIN_STRINGS,
    plain_numbers,
    rounded,
)
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.example.encode.one import encode_features, encoded_key, only_string
from tfrecord_lite.example.proto import FEATURES_TAG
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Buffer

    from tfrecord_lite.arrays import AnyArray
    from tfrecord_lite.convert.lists import Counts

_MAX_ROWS = 1024
_MAX_BYTES = 2 * 1024 * 1024
"""When a buffer is full."""
_MAX_PLANS = 8
"""Forms that are collected at a time; each becomes a batch of its own."""
_MAX_FORMS = 256
"""Forms that are remembered."""
LARGE_BYTES = 16 * 1024
"""A row with more bytes in strings or arrays is encoded alone, with fewer copies."""
SHORT_LIST = 8
"""The lengths of lists up to this one are part of the form; longer lists of numbers vary."""
_MOST_BYTES = 4 * _MAX_BYTES
"""Of all rows; larger rows than the first of their batch go one by one, so that they take no more memory."""
_ITEM_BYTES = 8
_FEWEST_ROWS = 8
_ndim_of = attrgetter("ndim")


# ------------------------------------------------------------------------------ one by one


class Waiting:
    """Records among rows that wait, and how many there are of both. Not thread-safe."""

    def __init__(self) -> None:
        self._n = 0
        self._n_bytes = 0
        self._records: list[bytes] = []
        self._record_order: list[int] = []

    def __len__(self) -> int:
        """Return the number of rows and records."""
        return self._n

    @property
    def is_full(self) -> bool:
        """Whether it is time to write what is here."""
        return self._n >= _MAX_ROWS or self._n_bytes >= _MAX_BYTES

    def add_record(self, record: bytes) -> None:
        """Add a record that is encoded already."""
        self._records.append(record)
        self._record_order.append(self._n)
        self._n += 1
        self._n_bytes += len(record)

    def add_records(self, records: Sequence[Buffer] | Block) -> None:
        """Add copies of many encoded records."""
        for record in records.views() if isinstance(records, Block) else records:
            self.add_record(bytes(record))

    def _clear(self) -> None:
        """Forget the records; there are no rows any more."""
        self._n = self._n_bytes = 0
        self._records, self._record_order = [], []


class RowBuffer(Waiting):
    """Rows and records, in the order in which they came.

    Rows are checked and copied as they are added; they may change afterwards.
    """

    of_sequences = False

    def __init__(self) -> None:
        super().__init__()
        self._forms: dict[Any, RowPlan | bool] = {}
        self._active: list[RowPlan] = []
        self._last: RowPlan | None = None

    def add(self, row: Mapping[str, Any]) -> list[Buffer] | None:
        """Add a row, or return it encoded if it is large and nothing waits before it.

        That record is in pieces, which saves a copy: write them before the row's arrays change.
        Raises as :func:`~tfrecord_lite.encode_example`, and is then unchanged.
        """
        plan = self._last
        if type(row) is not dict:
            return self._add_alone(row)
        values = tuple(row.values())
        if plan is not None and plan.keys == tuple(row) and plan.types == tuple(map(type, values)):
            taken = plan.take(values)
            if taken is not None:
                plan.rows.append((self._n, taken))
                self._n += 1
                self._n_bytes += taken[0]
                return None
            if plan.is_only:
                return self._add_alone(row)
        return self._add_other(row, values)

    def _add_alone(self, row: Mapping[str, Any]) -> list[Buffer] | None:
        """Encode a row alone."""
        pieces = encode_features(FEATURES_TAG, row)
        if not self._n and sum(map(len, pieces)) >= LARGE_BYTES:  # type: ignore[arg-type]
            return pieces
        self.add_record(b"".join(pieces))
        return None

    def _add_other(self, row: Mapping[str, Any], values: tuple[Any, ...]) -> list[Buffer] | None:
        """Add a row of another form than the last one, or one to be encoded alone."""
        strings = [value for value in map(only_string, values) if type(value) is bytes]
        if any(len(string) >= LARGE_BYTES for string in strings):
            return self._add_alone(row)
        plan = self._plan_for(tuple(row), values)
        taken = None if plan is None else plan.take(values)
        if plan is None or taken is None:
            return self._add_alone(row)
        if not plan.rows:
            self._active.append(plan)
        plan.rows.append((self._n, taken))
        self._last = plan
        self._n += 1
        self._n_bytes += taken[0]
        return None

    def _plan_for(self, keys: tuple[Any, ...], values: tuple[Any, ...]) -> RowPlan | None:
        """Return the plan of a row's form, if the form has come before and can have one."""
        lists = [value for value in values if is_list(value)]
        lengths = tuple([min(len(value), SHORT_LIST + 1) for value in lists])
        # The first value stands for a long list; the plan looks at all of them.
        first = [value[:1] if len(value) > SHORT_LIST else value for value in lists]
        types = tuple(map(type, values))
        form = (keys, types, dtypes_of(values), lengths, tuple(map(type, chain(*first))))
        plan = self._forms.get(form)
        if plan is None:  # a form that comes only once is not worth a plan
            if len(self._forms) >= _MAX_FORMS:
                self._forms = {}
            self._forms[form] = True
        elif plan is True:
            try:
                for key in keys:
                    encoded_key(key)
                plan = self._forms[form] = RowPlan(keys, values)
            except (UnplannedError, TypeError, ValueError):
                plan = self._forms[form] = False
        if not isinstance(plan, RowPlan):
            return None
        has_room = plan.rows or len(self._active) < _MAX_PLANS
        return plan if has_room else None

    def take(self) -> list[Any] | Block:
        """Return everything as records, bytes-like and in order, and start anew."""
        plans = self._active
        blocks, orders = [], []
        for plan in plans:
            order, rows = zip(*plan.rows, strict=True)
            blocks.append(encode_lists(plan.columns(rows), len(rows)))
            orders.append(order)
        records = in_order(blocks, orders, self._records, self._record_order)
        for plan in plans:
            plan.rows = []
        self._active, self._last = [], None
        self._clear()
        return records


def in_order(
    blocks: list[Block],
    orders: Sequence[Sequence[int]],
    records: list[bytes],
    record_order: list[int],
) -> list[Any] | Block:
    """Merge the records of blocks, and single ones, by their numbers; one block stays one."""
    if len(blocks) == 1 and not records:
        return blocks[0]
    found: list[Any] = list(chain.from_iterable([block.views() for block in blocks]))
    if records:
        found += records
        orders = [*orders, record_order]
    if len(orders) > 1:
        places = np.argsort(np.fromiter(chain(*orders), np.int64, len(found)))
        found = [found[i] for i in places.tolist()]
    return found


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
    """The arrays of one dtype in each row."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.keys: list[str] = []
        self.places: list[int] = []

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

    def columns(self, rows: list[tuple[bytes, list[int]]]) -> Iterator[tuple[str, ValueLists]]:
        """Yield the value lists of each key, given the bytes and the sizes of each row's arrays."""
        dtype = np.dtype(np.float32) if self.dtype == float else self.dtype
        flat = np.frombuffer(b"".join([data for data, _ in rows]), dtype)
        sizes = np.array([sizes for _, sizes in rows], np.int64)
        if flat.size and (sizes == sizes[0]).all():
            stops = np.cumsum(sizes[0]).tolist()
            table = flat.reshape(len(rows), -1)
            for key, start, stop in zip(self.keys, [0, *stops], stops, strict=False):
                yield key, normalize(key, table[:, start:stop])
            return
        starts = row_splits(sizes.ravel())[:-1].reshape(len(rows), -1)
        for i, key in enumerate(self.keys):
            own = flat
            if len(self.keys) > 1:
                places, n_bytes = dtype.itemsize * starts[:, i], dtype.itemsize * sizes[:, i]
                own = gather(flat.view(np.uint8), places, n_bytes).view(dtype)
            yield key, normalize(key, RaggedTensor(own, row_splits(sizes[:, i])))


TakenRow: TypeAlias = tuple[int, bytes, Any, list[bytes], list[tuple[bytes, list[int]]]]
"""What a plan took of a row: about how many bytes; the numbers, packed; the strings; the long lists,
packed; and of each dtype the arrays' values and sizes."""


class RowPlan:
    """How to take apart rows of one form.

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
        self.rows: list[tuple[int, TakenRow]] = []
        """The rows taken, with their numbers: one item each, so that none is there in part."""

    def _place(self, values: tuple[Any, ...]) -> None:
        """Decide where each value goes; places count a row's values, then those of its short lists."""
        numbers: list[int] = []
        strings: list[int] = []
        long: list[int] = []
        code = "<"
        self._fields: list[tuple[str, str, int]] = []  # key, letter, values per row
        self._texts: list[tuple[str, int]] = []  # key, strings per row
        groups: dict[np.dtype[Any], _Arrays] = {}
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
                group = groups.setdefault(value.dtype, _Arrays(value.dtype))
                group.keys.append(key)
                group.places.append(i)
            else:
                pack, dtype = _packer(value)
                self._vectors.append((key, dtype))
                self._packers.append(pack)
                long.append(i)
        self._pack = struct.Struct(code).pack
        self._numbers, self._texts_of, self._long_of = map(_chooser, (numbers, strings, long))
        self._groups = [(_chooser(group.places), group) for group in groups.values()]
        chosen = self._texts_of((*values, *chain.from_iterable(self._choose_lists(values))))
        self._has_str = str in map(type, chosen)
        self._row_bytes = struct.calcsize(code) + sum(len(key) + 16 for key in self.keys)

    def take(self, values: tuple[Any, ...]) -> TakenRow | None:
        """Take apart a row of these keys and types; None if it has another form, or is wrong."""
        if self._dtypes and tuple(map(dtype_of, self._choose_arrays(values))) != self._dtypes:
            return None
        if self._lists:
            flat = self._values_of_lists(values)
            if flat is None or tuple(map(type, flat)) != self._list_types:
                return None
            values += flat
        n_bytes = self._row_bytes
        strings: Any = self._texts_of(values)
        long: list[bytes] = []
        arrays: list[tuple[bytes, list[int]]] = []
        try:
            packed = self._pack(*self._numbers(values))
            if self._has_str:
                strings = [s.encode() if type(s) is str else s for s in strings]
            if self._packers:
                found = self._long_of(values)
                if 8 * sum(map(len, found)) > LARGE_BYTES:  # before it is copied
                    return None
                long = [pack(v) for pack, v in zip(self._packers, found, strict=True)]
                n_bytes += sum(map(len, long))
            for choose, group in self._groups:
                found = choose(values)
                sizes = list(map(_size_of, found))
                n_bytes += group.dtype.itemsize * sum(sizes)
                if n_bytes > LARGE_BYTES:
                    return None
                arrays.append((group.copied(found), sizes))
        except (ArithmeticError, TypeError, UnicodeEncodeError, struct.error):
            return None  # encoding the row alone raises the error
        if strings:
            n_bytes += sum(map(len, strings))
        return (n_bytes, packed, strings, long, arrays) if n_bytes <= LARGE_BYTES else None

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

    def columns(self, rows: Sequence[TakenRow]) -> dict[str, ValueLists]:
        """Return rows taken as value lists, one per key."""
        n_rows = len(rows)
        _, numbers, strings, long, arrays = zip(*rows, strict=True)
        found: dict[str, ValueLists] = {}
        dtypes = {"q": "<i8", "f": "<f4"}
        fields = [(str(i), dtypes[letter], (n,)) for i, (_, letter, n) in enumerate(self._fields)]
        # dtype.itemsize is 0 without fields, which frombuffer rejects.
        packed = b"".join(numbers)
        table: AnyArray = np.frombuffer(packed, np.dtype(fields)) if fields else np.empty(0)
        for i, (key, letter, count) in enumerate(self._fields):
            flat = np.ascontiguousarray(table[str(i)]).reshape(-1)
            kind = Kind.INT64 if letter == "q" else Kind.FLOAT
            found[key] = ValueLists(n_rows, kind, count, flat)
        if self._texts:
            found |= self._string_columns(n_rows, list(chain.from_iterable(strings)))
        for i, (_, group) in enumerate(self._groups):
            found |= group.columns([of_row[i] for of_row in arrays])
        for i, (key, dtype) in enumerate(self._vectors):
            parts = [of_row[i] for of_row in long]
            flat = np.frombuffer(b"".join(parts), dtype)
            counts = np.fromiter(map(len, parts), np.int64, n_rows) // dtype.itemsize
            is_even = int(counts.min()) == int(counts.max())
            even = flat.reshape(n_rows, -1) if is_even and flat.size else None
            column = RaggedTensor(flat, row_splits(counts)) if even is None else even
            found[key] = normalize(key, column)
        return found

    def _string_columns(self, n_rows: int, strings: list[bytes]) -> dict[str, ValueLists]:
        """Return the lists of strings; in the buffer the strings of a row are together."""
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        starts = row_splits(lengths)[:-1].reshape(n_rows, -1)
        lengths = lengths.reshape(n_rows, -1)
        data = np.frombuffer(b"".join(strings), np.uint8)
        found: dict[str, ValueLists] = {}
        place = 0
        for key, count in self._texts:
            some = slice(place, place + count)
            own = ByteRanges(data, starts[:, some].ravel(), lengths[:, some].ravel())
            found[key] = ValueLists(n_rows, Kind.BYTES, count, own)
            place += count
        return found


# ----------------------------------------------------------------------------- all at once


def rows_at_once(row: Any) -> int:
    """Return how many rows like this one are worth a batch; 0 if they are to go one by one."""
    if type(row) is not dict or not row:
        return 0
    n_bytes = 0
    for value in row.values():
        size = value.nbytes if type(value) is np.ndarray else _ITEM_BYTES
        if type(value) in (bytes, str, list, tuple):
            size = len(value) * (1 if type(value) in (bytes, str) else _ITEM_BYTES)
        n_bytes += size
    return 0 if n_bytes >= LARGE_BYTES else min(_MAX_ROWS, _MAX_BYTES // max(n_bytes, 1))


def encode_rows(rows: Sequence[Any]) -> Block | None:
    """Encode rows as :func:`~tfrecord_lite.encode_example`, all at once; None if they are not of one form."""
    found = as_columns(rows) if len(rows) >= _FEWEST_ROWS else None
    return encode_lists(found, len(rows)) if found else None


def as_columns(rows: Sequence[Any]) -> dict[str, ValueLists] | None:
    """Return the value lists of each key; None if the rows are not of one plain form."""
    if set(map(type, rows)) != {dict}:
        return None
    keys = rows[0].keys()
    if any(row.keys() != keys for row in rows):
        return None
    found: dict[str, ValueLists] = {}
    n_bytes = 0
    try:
        for key in keys:
            encoded_key(key)
            values = [row[key] for row in rows]
            kinds = set(map(type, values))
            if kinds == {type(None)}:
                continue
            lists = _arrays(key, values) if kinds == {np.ndarray} else _values(values, kinds)
            if lists is None:
                return None
            n_bytes += lists.n_bytes
            if n_bytes > _MOST_BYTES:
                return None
            found[key] = lists
    except (ArithmeticError, TypeError, ValueError, struct.error):
        return None
    return found or None


def _values(values: list[Any], types: set[type]) -> ValueLists | None:
    """Return the lists of single values, or of lists of them."""
    n_rows = len(values)
    counts: Counts = 1
    if types in ({list}, {tuple}):
        counts = np.fromiter(map(len, values), np.int64, n_rows)
        if int(counts.min()) < 1 or _ITEM_BYTES * int(counts.sum()) > _MOST_BYTES:
            return None
        values = list(chain.from_iterable(values))
        counts = _one_or_all(counts)
        numbers = plain_numbers(values)
        if numbers is not None:
            if numbers.dtype == float:
                return ValueLists(n_rows, Kind.FLOAT, counts, rounded(numbers))
            return ValueLists(n_rows, Kind.INT64, counts, numbers.astype(np.int64))
        types = set(map(type, values))
    flat: Any
    if types <= PLAIN_INTEGERS:
        flat = np.fromiter(values, np.int64, len(values))
        return ValueLists(n_rows, Kind.INT64, counts, flat)
    if types <= PLAIN_FLOATS:
        flat = np.frombuffer(struct.pack(f"<{len(values)}f", *values), "<f4")
        return ValueLists(n_rows, Kind.FLOAT, counts, flat)
    if types <= PLAIN_STRINGS:
        if str in types:
            values = [value.encode() if type(value) is str else value for value in values]
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        if int(lengths.sum()) > _MOST_BYTES:
            return None
        data = np.frombuffer(b"".join(values), np.uint8)
        flat = ByteRanges(data, row_splits(lengths)[:-1], lengths)
        return ValueLists(n_rows, Kind.BYTES, counts, flat)
    return None


def _arrays(key: str, values: list[Any]) -> ValueLists | None:
    """Return the lists of vectors of one dtype."""
    dtypes = set(map(dtype_of, values))
    if len(dtypes) != 1 or set(map(_ndim_of, values)) != {1}:
        return None
    dtype = dtypes.pop()
    if dtype.hasobject:
        found = _values([value.tolist() for value in values], {list})
        return found if found is not None and found.kind is Kind.BYTES else None
    counts = np.fromiter(map(len, values), np.int64, len(values))
    if dtype.itemsize * int(counts.sum()) > _MOST_BYTES:
        return None
    flat = np.concatenate(values)
    if dtype == np.float64:
        flat = rounded(flat)
    elif dtype not in EXACT_DTYPES:
        return None
    if int(counts.min()) < 1:
        return None
    if isinstance(_one_or_all(counts), int):
        return normalize(key, flat.reshape(len(values), -1))
    return normalize(key, RaggedTensor(flat, row_splits(counts)))


def _one_or_all(counts: Any) -> Counts:
    """Return counts as one number if they are equal."""
    first = int(counts[0])
    return first if (counts == first).all() else counts
