"""Many dictionaries, one per record, to batches of columns: one by one, or all at once.

The keys and types of a row, and the lengths of its lists, are its *form*. A :class:`RowBuffer` collects rows
until they are worth a batch. A :class:`RowPlan`, made from the first row of a form, takes all others apart at
C's speed. What it keeps of them is a copy, already checked::

    {"x": 0.5, "n": 7, "tags": [b"a", b"b"], "v": array, "w": array}
          │        │            │                 │           │
          ╰─ struct.pack ─╯     ╰─ strings        ╰─ copies
             "<fq"

A row of a new form, or one with large, unusual or wrong values, is encoded alone at once, so the call that
passes a bad row raises, and keeps nothing of it. Every row, and every record that is written between rows,
has a number; they are returned in order.

Many rows at once are not taken apart one by one (:func:`encode_rows`), but looked at together, key by key::

    [{"x": 0.5, "v": array}, {"x": 0.7, "v": array}, ...]
       "x": [0.5, 0.7, ...]  ─ set(map(type, ...)) ─ struct.pack ──> float32
       "v": [array, array]   ─ one dtype? ─ concatenate, lengths ──> int64, counts

If the values of a key are not of one type that needs no further look, or something is wrong, the rows go
one by one.
"""

from __future__ import annotations

import marshal
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Protocol, TypeAlias

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import AnyArray, ByteItems, ByteRanges, Int64Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lists import Level, Lists
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.types import EXACT_DTYPES, PLAIN_FLOATS, PLAIN_INTEGERS, PLAIN_STRINGS
from tfrecord_lite.errors import warn_user
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.example.encode.one import encode_features, encoded_key, only_string
from tfrecord_lite.example.proto import FEATURES_TAG
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE

_MAX_ROWS = 1024
_MAX_BYTES = 2 * 1024 * 1024
"""When a buffer is full."""
MAX_PLANS = 8
"""Forms that are collected at a time; each becomes a batch of its own."""
_MAX_FORMS = 256
"""Forms that are remembered."""
LARGE_BYTES = 16 * 1024
"""A row with more bytes in strings or arrays is encoded alone, with fewer copies."""
SHORT_LIST = 8
"""The lengths of lists up to this one are part of the form; longer lists of numbers vary."""
_MOST_BYTES = 4 * _MAX_BYTES
"""The most bytes of all rows; larger rows than the first of their batch go one by one, so that they take no more memory."""
_ITEM_BYTES = 8
_FEWEST_ROWS = 8
_KIND_OF_TYPE = (
    dict.fromkeys(PLAIN_INTEGERS, Kind.INT64)
    | dict.fromkeys(PLAIN_FLOATS, Kind.FLOAT)
    | dict.fromkeys((*PLAIN_STRINGS, np.str_, np.bytes_), Kind.BYTES)
)
_KIND_OF_DTYPE = dict.fromkeys("biu", Kind.INT64) | dict.fromkeys("SU", Kind.BYTES)
_KIND_OF_DTYPE["f"] = Kind.FLOAT
_ndim_of = attrgetter("ndim")


# ------------------------------------------------------------------------------ one by one


class Waiting:
    """Copies of rows of some forms, and of records between them, until they are written. Not thread-safe."""

    of_sequences = False

    def __init__(self) -> None:
        self._n = 0
        self._n_bytes = 0
        self._records: list[tuple[int, bytes]] = []
        self._active: list[Plan] = []

    def __len__(self) -> int:
        """Return the number of rows and records."""
        return self._n

    @property
    def is_full(self) -> bool:
        """Whether it is time to write what is here."""
        return self._n >= _MAX_ROWS or self._n_bytes >= _MAX_BYTES

    def add_record(self, record: bytes) -> None:
        """Add a record that is encoded already."""
        self._records.append((self._n, record))
        self._n += 1
        self._n_bytes += len(record)

    def add_records(self, records: Sequence[arrays.Buffer] | Block) -> None:
        """Add copies of many encoded records."""
        for record in records.views() if isinstance(records, Block) else records:
            self.add_record(bytes(record))

    def _keep(self, plan: Plan, taken: Any, n_bytes: int) -> None:
        """Add a row that a plan took apart."""
        if not plan.rows:
            self._active.append(plan)
        plan.rows.append((self._n, taken))
        self._n += 1
        self._n_bytes += n_bytes

    def take(self) -> list[Any] | Block:
        """Return everything as records, bytes-like and in order, and start anew."""
        blocks = [plan.encoded() for plan in self._active]
        taken: list[Any] | Block
        if len(blocks) == 1 and not self._records:
            taken = blocks[0]
        else:
            numbered: list[tuple[int, Any]] = self._records
            for plan, block in zip(self._active, blocks, strict=True):
                numbers = [number for number, _ in plan.rows]
                numbered += zip(numbers, block.views(), strict=True)
            numbered.sort(key=itemgetter(0))
            taken = [record for _, record in numbered]
        for plan in self._active:
            plan.rows = []
        self._n = self._n_bytes = 0
        self._records, self._active = [], []
        return taken


class KindsOfRows:
    """The kinds of the features in the rows of a writer; warns once of each feature that has several."""

    def __init__(self) -> None:
        self._kinds: dict[str, Kind] = {}
        self._mixed: set[str] = set()

    def note(self, row: Mapping[str, Any], part: str = "") -> None:
        """Note the kinds of a row's values; those of rows of the same form need no further look."""
        for key, value in row.items():
            if (kind := _kind_of(value)) is not None:
                self.add(part + key, kind)

    def add(self, key: str, kind: Kind) -> None:
        """Note that a feature has a kind."""
        before = self._kinds.setdefault(key, kind)
        if kind is before or key in self._mixed:
            return
        self._mixed.add(key)
        cure = "write values of one type, or the others as another feature"
        if Kind.BYTES not in (kind, before):
            cure = f"write float(value), or give the rows a schema: {{{key!r}: float}}"
        warn_user(
            f"feature {key!r} holds {kind.label} in this row, but {before.label} in a row before. A file may have "
            "both, and TFRecordReader(path).examples() gives each record as it is, but load, scan and read_batches "
            f"raise an error about them: {cure}"
        )


def _kind_of(value: Any) -> Kind | None:
    """Return the kind that a value of a row is stored as; None if it is not known from it."""
    if is_list(value):
        kinds = {_KIND_OF_TYPE.get(cls) for cls in set(map(type, value))}
        if None in kinds:
            kinds = set(map(_kind_of, value))
        return Kind.FLOAT if Kind.FLOAT in kinds else next(iter(kinds - {None}), None)
    if isinstance(value, np.ndarray):
        is_missing = not value.size or np.all(getattr(value, "mask", False))
        return None if is_missing else _KIND_OF_DTYPE.get(value.dtype.kind)
    return _KIND_OF_TYPE.get(type(value))


class RowBuffer(Waiting):
    """Rows of Examples and records, in the order in which they came."""

    def __init__(self, kinds: KindsOfRows | None = None) -> None:
        super().__init__()
        self._kinds = kinds
        self._forms: dict[Any, RowPlan | bool] = {}
        self._last: RowPlan | None = None

    def add(self, row: Mapping[str, Any]) -> list[arrays.Buffer] | None:
        """Add a row; or return it encoded, in pieces to be written at once, if it is large and nothing waits before it.

        Raises the same errors as :func:`~tfrecord_lite.encode_example`, and is then unchanged.
        """
        if type(row) is dict:
            keys, values = tuple(row), tuple(row.values())
            plan, taken, is_only = self._last, None, False
            if plan is not None and plan.keys == keys and plan.types == tuple(map(type, values)):
                taken, is_only = plan.take(values), plan.is_only
            if taken is None and not is_only and not any(map(_is_large, values)):
                plan = self._plan_for(keys, values)
                taken = None if plan is None else plan.take(values)
            if plan is not None and taken is not None:
                self._last = plan
                self._keep(plan, taken, taken[0])
                return None
        pieces = encode_features(FEATURES_TAG, row)
        if self._kinds is not None:  # the first row of each form
            self._kinds.note(row)
        if not self._n and sum(map(len, pieces)) >= LARGE_BYTES:
            return pieces
        self.add_record(b"".join(pieces))
        return None

    def _plan_for(self, keys: tuple[Any, ...], values: tuple[Any, ...]) -> RowPlan | None:
        """Return the plan of a row's form, if the form has occurred before and can have one."""
        lists = [value for value in values if is_list(value)]
        lengths = tuple([min(len(value), SHORT_LIST + 1) for value in lists])
        # The first value represents a long list; the plan looks at all of them.
        first = [value[:1] if len(value) > SHORT_LIST else value for value in lists]
        types = tuple(map(type, values))
        form = (keys, types, dtypes_of(values), lengths, tuple(map(type, chain(*first))))
        plan = self._forms.get(form)
        if plan is None:  # a form that occurs only once is not worth a plan
            if len(self._forms) >= _MAX_FORMS:
                self._forms = {}
            self._forms[form] = True
        elif plan is True:
            try:
                for key in keys:
                    encoded_key(key)
                plan = self._forms[form] = RowPlan(keys, values)
            except (ArithmeticError, UnplannedError, TypeError, ValueError):
                plan = self._forms[form] = False
        if not isinstance(plan, RowPlan) or (not plan.rows and len(self._active) >= MAX_PLANS):
            return None
        return plan


def _is_large(value: Any) -> bool:
    string = only_string(value)
    return type(string) is bytes and len(string) >= LARGE_BYTES


class UnplannedError(Exception):
    """A row whose form cannot have a plan."""


def _chooser(places: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a callable that picks the items at some places of a tuple, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


OBJECT = np.dtype(object)
dtype_of: Callable[[Any], np.dtype[Any]] = attrgetter("dtype")


def is_list(value: Any) -> bool:
    """Whether a value is a list, a tuple, or a vector of objects, which is encoded as one."""
    cls = type(value)
    if cls is np.ndarray:
        return bool(value.dtype == OBJECT and value.ndim == 1)
    return cls is list or cls is tuple


def dtypes_of(values: Iterable[Any]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of the arrays among some values."""
    return tuple([value.dtype for value in values if type(value) is np.ndarray])


def _copier(value: Any) -> tuple[Callable[[Any], AnyArray], int]:
    """Return a function that copies vectors like this array or long list, or raises an error; and bytes per value."""
    if type(value) is np.ndarray and value.dtype == float:
        return _float_copy, 8
    if type(value) is np.ndarray and value.dtype in EXACT_DTYPES:
        return lambda array: array.flatten(), value.dtype.itemsize
    flat = plain_values(value) if type(value) in (list, tuple) else None
    if not isinstance(flat, np.ndarray):
        raise UnplannedError
    return partial(_list_copy, flat.dtype), 8


def _float_copy(array: AnyArray) -> AnyArray:
    if not array.size:  # np.array([]), which has no kind
        raise TypeError
    return rounded(array).ravel()


def _list_copy(dtype: np.dtype[Any], values: Any) -> AnyArray:
    flat = plain_values(values)
    if not isinstance(flat, np.ndarray) or flat.dtype != dtype:
        raise TypeError
    return flat


def plain_values(
    values: list[Any] | tuple[Any, ...], types: set[type] | None = None
) -> AnyArray | list[Any] | None:
    """Copy Python's numbers into an array of int64 or float32, or encode strings; None if there is anything else.

    `types` are the values' types, if known. Raises ArithmeticError for a number that is too large, and UnicodeEncodeError.
    """
    if types is None:
        numbers = plain_numbers(values)
        if numbers is not None:
            return rounded(numbers) if numbers.dtype == float else numbers.astype(np.int64)
        types = set(map(type, values))
    if not types:
        return None
    if types <= PLAIN_INTEGERS:
        return np.fromiter(values, np.int64, len(values))
    if types <= PLAIN_FLOATS:
        return np.frombuffer(struct.pack(f"<{len(values)}f", *values), "<f4")
    if types == {bytes}:
        return list(values)
    if types <= PLAIN_STRINGS:
        return [value.encode() if type(value) is str else value for value in values]
    return None


_VERSION = 2
"""Without references, which would take the place of values that occur twice."""
_HEAD_BYTES = 5
_CELLS: dict[type, tuple[bytes, np.dtype[np.void]]] = {
    int: (b"i", np.dtype([("tag", "u1"), ("value", "<i4")])),
    float: (b"g", np.dtype([("tag", "u1"), ("value", "<f8")])),
}
_FEW_NUMBERS = 32
"""For fewer values other ways are as fast."""


def plain_numbers(values: list[Any] | tuple[Any, ...]) -> AnyArray | None:
    """Return a list's int or float values as int32 or float64; None if there is anything else.

    To look at the types of the values takes longer than to pack them. marshal does both in one pass: it writes a
    tag before each value, and a list's head is as long as an integer::

        [7, 300]     [ 2,0,0,0   i 7,0,0,0   i 44,1,0,0        5 bytes each: int, up to 32 bits
        [0.5]        [ 1,0,0,0   g (a float of 8 bytes)        9 bytes each: float

    If the length is right, and there is the same tag at every step, all values are of that type:
    subclasses, booleans, NumPy's numbers and large integers have other tags, or none.
    """
    n_values = len(values)
    if n_values < _FEW_NUMBERS or type(values[0]) not in _CELLS:
        return None
    tag, dtype = _CELLS[type(values[0])]
    try:
        data = marshal.dumps(values, _VERSION)
    except ValueError:  # a type that marshal does not know
        return None
    if len(data) != _HEAD_BYTES + n_values * dtype.itemsize:
        return None
    if data[_HEAD_BYTES :: dtype.itemsize] != tag * n_values:
        return None
    numbers: AnyArray = np.frombuffer(data, dtype, n_values, _HEAD_BYTES)["value"]
    return numbers


def rounded(values: AnyArray) -> arrays.Float32Array:
    """Return float32 values; raise FloatingPointError for a finite one that is too large."""
    with np.errstate(over="raise", under="ignore", invalid="ignore"):
        return values.astype(np.float32)


class Plan(Protocol):
    """Takes rows of one form apart."""

    rows: list[tuple[int, Any]]
    """What it took of each row, with the row's number."""

    def encoded(self) -> Block:
        """Return the rows taken as messages."""


TakenRow: TypeAlias = tuple[int, bytes, Any, list["AnyArray"]]
"""What a plan took of a row: about how many bytes; the numbers, packed; the strings; the vectors."""


class RowPlan:
    """How to take apart rows of one form, from a first row; UnplannedError if a value needs more than its type."""

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
        self._list_types = tuple(map(type, chain.from_iterable(lists)))
        objects = [values[i] for i in arrays_of if values[i].dtype == OBJECT]
        if not PLAIN_STRINGS.issuperset(map(type, chain(*objects))):
            raise UnplannedError
        self._place(values)
        self.rows: list[tuple[int, TakenRow]] = []
        """The rows taken, with their numbers."""

    def _place(self, values: tuple[Any, ...]) -> None:
        """Decide where each value goes; places count a row's values, then the values of its short lists."""
        numbers: list[int] = []
        strings: list[int] = []
        code = "<"
        self._fields: list[tuple[str, str, int]] = []  # key, letter, values per row
        self._texts: list[tuple[str, int]] = []  # key, strings per row
        self._vectors: list[tuple[int, str, Callable[[Any], AnyArray], int]] = []
        # place, key, copier, bytes per value
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
            else:
                self._vectors.append((i, key, *_copier(value)))
        self._pack = struct.Struct(code).pack
        self._numbers, self._texts_of = _chooser(numbers), _chooser(strings)
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
        vectors: list[AnyArray] = []
        try:
            packed = self._pack(*self._numbers(values))
            if self._has_str:
                strings = [s.encode() if type(s) is str else s for s in strings]
            for place, _, copy, n_each in self._vectors:
                value = values[place]
                n_bytes += n_each * (value.size if type(value) is np.ndarray else len(value))
                if n_bytes > LARGE_BYTES:  # before it is copied
                    return None
                vectors.append(copy(value))
        except (ArithmeticError, TypeError, UnicodeEncodeError, struct.error):
            return None  # encoding the row alone raises the error
        if strings:
            n_bytes += sum(map(len, strings))
        return (n_bytes, packed, strings, vectors) if n_bytes <= LARGE_BYTES else None

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

    def columns(self, rows: Sequence[TakenRow]) -> dict[str, Lists]:
        """Return rows taken as lists, one per key."""
        n_rows = len(rows)
        _, numbers, strings, vectors = zip(*rows, strict=True)
        lists: dict[str, Lists] = {}
        dtypes = {"q": "<i8", "f": "<f4"}
        fields = [(str(i), dtypes[letter], (n,)) for i, (_, letter, n) in enumerate(self._fields)]
        # dtype.itemsize is 0 without fields, which frombuffer rejects.
        packed = b"".join(numbers)
        table: AnyArray = np.frombuffer(packed, np.dtype(fields)) if fields else np.empty(0)
        for i, (key, letter, count) in enumerate(self._fields):
            flat = np.ascontiguousarray(table[str(i)]).reshape(-1)
            kind = Kind.INT64 if letter == "q" else Kind.FLOAT
            lists[key] = Lists(n_rows, WIRE[kind], (count,), flat)
        if self._texts:
            lists |= self._string_columns(n_rows, list(chain.from_iterable(strings)))
        for i, (_, key, _, _) in enumerate(self._vectors):
            parts = [of_row[i] for of_row in vectors]
            counts = np.fromiter(map(len, parts), np.int64, n_rows)
            lists[key] = _joined_vectors(key, np.concatenate(parts), counts)
        return lists

    def encoded(self) -> Block:
        """Return the rows taken as messages."""
        _, rows = zip(*self.rows, strict=True)
        return encode_lists(self.columns(rows), len(rows))

    def _string_columns(self, n_rows: int, strings: list[bytes]) -> dict[str, Lists]:
        """Return the lists of strings; in the buffer the strings of a row are together."""
        together = ByteItems.of(strings).to_ranges()
        starts = together.starts.reshape(n_rows, -1)
        lengths = together.lengths.reshape(n_rows, -1)
        lists: dict[str, Lists] = {}
        place = 0
        for key, count in self._texts:
            span = slice(place, place + count)
            own = ByteRanges(together.data, starts[:, span].ravel(), lengths[:, span].ravel())
            lists[key] = Lists(n_rows, WIRE[Kind.BYTES], (count,), own)
            place += count
        return lists


# ----------------------------------------------------------------------------- all at once


def rows_at_once(row: Any) -> int:
    """Return how many rows like this one are worth a batch; 0 if they are to go one by one."""
    if type(row) is not dict or not row:
        return 0
    n_bytes = 0
    for value in row.values():
        if type(value) in (bytes, str):
            n_bytes += len(value)
        elif type(value) in (list, tuple):
            n_bytes += _ITEM_BYTES * len(value)
        else:
            n_bytes += value.nbytes if type(value) is np.ndarray else _ITEM_BYTES
    return 0 if n_bytes >= LARGE_BYTES else min(_MAX_ROWS, _MAX_BYTES // max(n_bytes, 1))


def encode_rows(rows: Sequence[Any], noted: KindsOfRows | None = None) -> Block | None:
    """Encode rows as :func:`~tfrecord_lite.encode_example`, all at once; None if they are not of one plain form."""
    if len(rows) < _FEWEST_ROWS or set(map(type, rows)) != {dict}:
        return None
    keys = rows[0].keys()
    if any(row.keys() != keys for row in rows):
        return None
    features: dict[str, Lists] = {}
    n_bytes = 0
    try:
        for key in keys:
            encoded_key(key)
            values = [row[key] for row in rows]
            types = set(map(type, values))
            if types == {type(None)}:
                continue
            lists = _arrays(key, values) if types == {np.ndarray} else _values(values, types)
            if lists is None:
                return None
            n_bytes += lists.n_bytes
            if n_bytes > _MOST_BYTES:
                return None
            features[key] = lists
    except (ArithmeticError, TypeError, ValueError, struct.error):
        return None
    if noted is not None:
        for key, lists in features.items():
            noted.add(key, lists.kind or Kind.BYTES)
    return encode_lists(features, len(rows)) if features else None


def _values(values: list[Any], types: set[type]) -> Lists | None:
    """Return the lists of single values, or of lists of them."""
    n_rows = len(values)
    counts: Level = 1
    flat: Any
    if types in ({list}, {tuple}):
        counts = np.fromiter(map(len, values), np.int64, n_rows)
        if int(counts.min()) < 1 or _ITEM_BYTES * int(counts.sum()) > _MOST_BYTES:
            return None
        flat = plain_values(list(chain.from_iterable(values)))
        counts = _one_or_all(counts)
    else:
        flat = plain_values(values, types)
    if flat is None:
        return None
    if isinstance(flat, list):
        strings = ByteItems.of(flat)
        if int(strings.lengths.sum()) > _MOST_BYTES:
            return None
        return Lists(n_rows, WIRE[Kind.BYTES], (counts,), strings.to_ranges())
    kind = Kind.INT64 if flat.dtype == np.int64 else Kind.FLOAT
    return Lists(n_rows, WIRE[kind], (counts,), flat)


def _arrays(key: str, values: list[Any]) -> Lists | None:
    """Return the lists of vectors of one dtype."""
    dtypes = set(map(dtype_of, values))
    if len(dtypes) != 1 or set(map(_ndim_of, values)) != {1}:
        return None
    dtype = dtypes.pop()
    if dtype.hasobject:
        strings = _values([value.tolist() for value in values], {list})
        return strings if strings is not None and strings.kind is Kind.BYTES else None
    counts = np.fromiter(map(len, values), np.int64, len(values))
    if dtype.itemsize * int(counts.sum()) > _MOST_BYTES:
        return None
    if int(counts.min()) < 1 or (dtype != np.float64 and dtype not in EXACT_DTYPES):
        return None
    flat = np.concatenate(values)
    return _joined_vectors(key, rounded(flat) if dtype == np.float64 else flat, counts)


def _joined_vectors(key: str, flat: AnyArray, counts: Int64Array) -> Lists:
    """Return the lists of vectors that lie end to end."""
    if isinstance(_one_or_all(counts), int):
        return opened(key, flat.reshape(counts.size, -1))
    return opened(key, RaggedTensor(flat, row_splits(counts)))


def _one_or_all(counts: Any) -> Level:
    """Return counts as one number if they are equal."""
    first = int(counts[0])
    return first if (counts == first).all() else counts
