"""encode_sequence_examples: columns, or dictionaries, to SequenceExample messages.

::

    context        column ──> ValueLists ──────────────────────────────┐
    feature list   column ──> steps of all records, end to end       ├─ emit ─> Block
                              ──> ValueLists ──> Features, end to end ─┘
                                               cut into records

A feature list is written as if each *step* were a record: all steps of all records are one
flat batch of Features. Where a record's steps begin and end in it is then its payload.

SequenceExample messages from dictionaries, one at a time.

::

    {"context": {"length": 3}, "feature_lists": {"tokens": [[5, 6], [7], []]}}

The context holds features as an Example does; a feature list holds a feature a step, all of
one kind. Messages are encoded by hand; many at once by :mod:`.sequence_encode`.

Records of sequences, one dictionary each, collected until they are worth a batch.

As for rows (:mod:`.rows`), whose plans take the contexts apart, records of one form go into
columns. What is in the steps of a list is laid end to end, which is a copy, as soon as the
record comes; so the form need say no more of a list than the dtype of that::

    {"context":       {"id": 7},                         ── a plan of rows
     "feature_lists": {"tokens": [[5, 6], [7]]}}         ── int64, 5 6 7, steps of 2 and 1

A record that has no such form, lists of several types or none, is encoded by itself at
once, so an error is raised by the record that brings it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    ByteRanges,
    Int64Array,
    Uint8Array,
    gather,
    row_splits,
)
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.lists import ValueLists
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.convert.types import EXACT_DTYPES, column_error, unmasked
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.encode.columns import entry_levels, feature_parts
from tfrecord_lite.example.encode.one import (
    content_of,
    delimited,
    encode_features,
    encoded_key,
    feature_content,
)
from tfrecord_lite.example.encode.plan import RowPlan, UnplannedError
from tfrecord_lite.example.proto import (
    ENTRY_TAG,
    FEATURE_LISTS_TAG,
    FEATURES_TAG,
    KEY_TAG,
    STEP_TAG,
    VALUE_TAG,
)
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.emit import emit_fields, emit_run
from tfrecord_lite.wire.parts import Part, compact
from tfrecord_lite.wire.scalar import WireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Buffer

__all__ = [
    "SequenceForm",
    "SequenceRows",
    "check_lists",
    "encode_sequence_example",
    "encode_sequence_examples",
    "in_step",
    "values_of",
]


def encode_sequence_examples(
    context: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
    feature_lists: Mapping[str, Any] | None = None,
    lengths: Mapping[str, Any] | None = None,
) -> Block:
    """Encode columns, or dictionaries, as SequenceExample messages, one a record.

    Parameters
    ----------
    context : mapping of str to column, or iterable of dict, optional
        Columns as :func:`~tfrecord_lite.encode_examples` takes them. Or, with nothing else
        given, records as :func:`~tfrecord_lite.encode_sequence_example` takes them.
    feature_lists : mapping of str to column, optional
        Each column has a leading record dimension, then one of steps; what is left are the
        values of a step: a RaggedTensor, with the steps as its first ragged level; an array
        of at least two dimensions, padded if `lengths` says so; or a list of sequences of
        steps, with None for a record without the list.
    lengths : mapping of str to int, shape (n_records,), optional
        Steps of each record, for arrays that are padded. With what a
        :class:`~tfrecord_lite.SequenceExampleParser` gives, ``encode_sequence_examples(*parsed)``
        writes it again.

    Returns
    -------
    Block
        One SequenceExample a record, in order; owns its memory. The same columns always give
        the same bytes: keys in the order of their bytes, lists packed, numbers as short as
        can be.

    Raises
    ------
    InvalidArgumentError
        With `key` and, where one record is at fault, `index`: ``BAD_ARGUMENT`` for no
        columns, columns of different lengths, lengths that do not fit, a column without
        steps; ``UNSUPPORTED`` for a SparseTensor, which does not say how many steps there
        are; ``UNREPRESENTABLE``, ``UNSUPPORTED`` and ``RECORD_TOO_LARGE`` as
        :func:`~tfrecord_lite.encode_examples`.
    TypeError
        For a key that is no str, a column that is no sequence, and for `feature_lists` or
        `lengths` that are no dictionary.

    Notes
    -----
    A step without values is an empty list of the kind of its column. If there are no values
    in the column at all, all steps are features without kind. NumPy's values must be of one
    dtype in a column, as elsewhere; in a dictionary each step may be of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from tfrecord_lite import decode_sequence_examples
    >>> tokens = np.array([[5, 6], [7, 0]])
    >>> block = encode_sequence_examples(
    ...     {"id": [1, 2]}, {"tokens": tokens}, {"tokens": [2, 1]}
    ... )
    >>> decode_sequence_examples(block)[1]
    {'context': {'id': array([2])}, 'feature_lists': {'tokens': [array([7])]}}
    """
    if context is not None and not isinstance(context, Mapping):
        if feature_lists is not None or lengths is not None:
            raise TypeError("feature_lists go with columns; records bring theirs along")
        return _encode_rows(context)
    features = {
        key: normalize(key, column) for key, column in (context or {}).items() if column is not None
    }
    lists = _lists(
        {} if feature_lists is None else check_lists("feature_lists", feature_lists),
        {} if lengths is None else check_lists("lengths", lengths),
    )
    n_records = _n_records([*features.items(), *lists.items()])
    return _encode_columns(
        None if context is None else features, None if feature_lists is None else lists, n_records
    )


def _encode_columns(
    features: Mapping[str, ValueLists] | None, lists: Mapping[str, _Steps] | None, n_records: int
) -> Block:
    """Encode columns; None if the messages are not to have that part at all."""
    fields = []
    if features is not None:
        parts = [feature_parts(entry_levels(raw), features[key]) for raw, key in _sorted(features)]
        fields.append((FEATURES_TAG, list(chain.from_iterable(parts))))
    if lists is not None:
        entries = [_list_part(raw, key, lists[key]) for raw, key in _sorted(lists)]
        fields.append((FEATURE_LISTS_TAG, entries))
    try:
        return Block(*emit_fields(fields, n_records))
    except WireError as error:
        reason, index = Reason.RECORD_TOO_LARGE, error.message
        raise InvalidArgumentError(reason, None, None, index, None, error.detail) from None


def _encode_rows(rows: Iterable[Mapping[str, Any]]) -> Block:
    """Encode dictionaries: those of one form as columns, any other by itself."""
    blocks = []
    waiting = SequenceRows()
    for index, row in enumerate(rows):
        if not waiting.add(row):
            waiting.add_message(_encoded(index, row))
        if waiting.is_full:
            blocks.append(_encode_waiting(waiting))
            waiting = SequenceRows()
    return Block.concat([*blocks, _encode_waiting(waiting)])


def _encode_waiting(waiting: SequenceRows) -> Block:
    """Encode what has been collected."""
    blocks = []
    for form in waiting.forms():
        context, lists = form.columns()
        steps = None if lists is None else {key: _Steps(*found) for key, found in lists.items()}
        blocks.append(_encode_columns(context, steps, len(form.order)))
    if len(blocks) == 1 and len(blocks[0]) == len(waiting):
        return blocks[0]
    return Block.from_records(waiting.in_order([block.views() for block in blocks]))


def _encoded(index: int, row: Mapping[str, Any]) -> bytes:
    """Encode one of several records; an error bears its number."""
    try:
        return encode_sequence_example(row)
    except InvalidArgumentError as error:
        fields = (error.reason, None, None, index, error.key, error.detail)
        raise InvalidArgumentError(*fields) from None


def _sorted(columns: Mapping[str, Any]) -> list[tuple[bytes, str]]:
    """Return keys in the order of their bytes."""
    return sorted((encoded_key(key), key) for key in columns)


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """One feature list of N records."""

    column: Any
    """The values of all steps, with a leading dimension of steps; or these as ValueLists."""
    counts: Int64Array
    """Steps of each record; shape (n_records,)."""
    present: BoolArray | None = None
    """Which records have the list; None for all."""

    @property
    def n_records(self) -> int:
        return self.counts.size


def _n_records(columns: Sequence[tuple[str, ValueLists | _Steps]]) -> int:
    """Return the number of records that all columns have."""
    if not columns:
        detail = "no columns, so nothing says how many records there are"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    n_records = columns[0][1].n_records
    for key, column in columns:
        if column.n_records != n_records:
            raise column_error(
                key, f"{column.n_records} records, the columns before it have {n_records}"
            )
    return n_records


def _lists(columns: Mapping[str, Any], lengths: Mapping[str, Any]) -> dict[str, _Steps]:
    """Part the steps of each column from what is in them."""
    for key in lengths:
        if columns.get(key) is None:
            raise column_error(str(key), "lengths of a list that is not there")
    return {
        key: _steps_of(key, column, lengths.get(key))
        for key, column in columns.items()
        if column is not None
    }


def _steps_of(key: str, column: Any, lengths: Any) -> _Steps:
    if isinstance(column, SparseTensor):
        detail = "a SparseTensor does not say how many steps a record has; give a RaggedTensor"
        raise column_error(key, detail, None, Reason.UNSUPPORTED)
    if isinstance(column, BytesColumn):
        raise column_error(key, "a feature list needs a dimension of steps")
    is_array = not isinstance(column, RaggedTensor | list | tuple)
    if is_array:
        column = column if isinstance(column, np.ma.MaskedArray) else np.asarray(column)
        if column.ndim == 1 and column.dtype == object:
            column, is_array = column.tolist(), False
    if lengths is not None and not is_array:
        raise column_error(key, "only arrays are padded; other columns know their lengths")
    if isinstance(column, RaggedTensor):
        rows = RaggedTensor.from_row_splits(column.values, column.row_splits)  # checks them
        return _Steps(rows.values, np.diff(rows.row_splits).astype(np.int64))
    return _of_array(key, column, lengths) if is_array else _of_records(key, column)


def _of_array(key: str, column: AnyArray, lengths: Any) -> _Steps:
    """Take the steps of an array, without the padding if it has some."""
    if column.ndim < 2:
        raise column_error(key, "a feature list needs a dimension of steps behind that of records")
    n_records, longest = column.shape[:2]
    if lengths is None:
        counts = np.full(n_records, longest, np.int64)
        return _Steps(column.reshape(n_records * longest, *column.shape[2:]), counts)
    counts = np.asarray(lengths)
    if counts.shape != (n_records,) or (counts.size and counts.dtype.kind not in "iu"):
        detail = f"lengths of {counts.dtype} and shape {counts.shape} for {n_records} records"
        raise column_error(key, detail)
    wrong = (counts < 0) | (counts > longest)
    if wrong.any():
        first = int(wrong.argmax())
        raise column_error(
            key, f"a length of {counts[first]} in an array of {longest} steps", first
        )
    is_step = np.arange(longest) < counts[:, None]
    return _Steps(column[is_step], counts.astype(np.int64))


def _of_records(key: str, column: Sequence[Any]) -> _Steps:
    """Take the steps of a sequence a record."""
    present = None
    column = [
        record
        if isinstance(record, np.ma.MaskedArray) and record.ndim
        else unmasked(key, [record])[0]
        for record in column
    ]
    if any(record is None for record in column):
        present = np.array([record is not None for record in column], np.bool_)
        column = [() if record is None else record for record in column]
    for record in column:
        is_single = isinstance(record, np.ndarray) and record.ndim == 0
        is_single |= isinstance(record, str | bytes | Mapping) or not hasattr(record, "__iter__")
        if is_single:
            raise TypeError(f"feature list {key!r} needs a sequence of steps, not {record!r:.40}")
    counts = np.fromiter(map(len, column), np.int64, len(column))
    arrays = [record for record in column if isinstance(record, np.ndarray) and len(record)]
    is_masked = any(isinstance(array, np.ma.MaskedArray) for array in arrays)
    if arrays and not is_masked and len(arrays) == np.count_nonzero(counts) and _are_alike(arrays):
        return _Steps(np.concatenate(arrays), counts, present)
    try:
        steps = unmasked(key, list(chain.from_iterable(column)))
    except InvalidArgumentError as error:
        raise _in_record(error, counts) from None
    types = set(map(type, steps))
    if len(types) > 1 or type(None) in types:  # numbers among lists, or steps that are not there
        steps = [values_of(step) for step in steps]
    return _Steps(steps, counts, present)


def _are_alike(arrays: list[AnyArray]) -> bool:
    return len({(array.shape[1:], array.dtype) for array in arrays}) == 1


def _list_part(raw: bytes, key: str, steps: _Steps) -> Part:
    """Return a feature list as a part of the messages."""
    try:
        is_known = isinstance(steps.column, ValueLists)
        out = steps.column if is_known else normalize(key, steps.column)
    except InvalidArgumentError as error:
        raise _in_record(error, steps.counts) from None
    if out.present is not None:
        detail = "a step that is masked: a step may be empty, but not missing"
        raise column_error(key, detail, _record_of(int((~out.present).argmax()), steps.counts))
    data, sizes = _run(out)
    ends = row_splits(sizes)[row_splits(steps.counts)]
    payload = compact(data, ends[:-1], np.diff(ends))
    return Part(entry_levels(raw), payload, steps.present)


def _run(out: ValueLists) -> tuple[Uint8Array, Int64Array]:
    """Write all steps one behind the other; and bytes of each."""
    if not out.n_records:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64)
    parts = feature_parts((STEP_TAG,), out)
    if len(parts) == 1:
        return emit_run(parts[0].levels, parts[0].payload, out.n_records)
    # Steps with values and without: each has one of two parts, which need room between them.
    data, starts, lengths = emit_fields([(b"", parts)], out.n_records)
    return gather(data, starts, lengths), lengths


def _record_of(step: int, counts: Int64Array) -> int:
    return int(np.searchsorted(np.cumsum(counts), step, side="right"))


def _in_record(error: InvalidArgumentError, counts: Int64Array) -> InvalidArgumentError:
    """Turn what is said of one of all steps into what is said of a record."""
    if error.index is None:
        return error
    record = _record_of(error.index, counts)
    return in_step(error, error.index - int(counts[:record].sum()), record)


def encode_sequence_example(row: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Encode a dictionary as one SequenceExample message.

    Parameters
    ----------
    row : mapping
        ``{"context": {...}, "feature_lists": {...}}``, either of which may be left out. The
        context's features are given as :func:`encode_example` takes them; a feature list as
        a sequence of such values, one a step, or as an array with a row a step.

    Returns
    -------
    bytes
        The same for the same values: keys in the order of their bytes.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for another member than these two; ``UNREPRESENTABLE`` and
        ``UNSUPPORTED`` as :func:`encode_example` has them, with `key`; for the values of a
        feature list the text says in which step.
    TypeError
        For what is no dictionary, and for a feature list that is no sequence.

    Notes
    -----
    A step without values, also one that is None or masked, is an empty list of the kind of
    the others. If all steps are, they are features without kind. Python's ints and floats in
    one list are all floats, if that changes none of them, as they are in one feature.

    Examples
    --------
    >>> row = {"context": {"length": 2}, "feature_lists": {"tokens": [[5, 6], [7]]}}
    >>> from tfrecord_lite import decode_sequence_example
    >>> decode_sequence_example(encode_sequence_example(row))
    {'context': {'length': array([2])}, 'feature_lists': {'tokens': [array([5, 6]), array([7])]}}
    """
    if not isinstance(row, Mapping):
        raise TypeError(f"a record must be a dict, not {type(row).__name__}")
    for name in row:
        if name not in ("context", "feature_lists"):
            raise column_error(
                str(name), "a SequenceExample has 'context' and 'feature_lists', nothing else"
            )
    pieces: list[Any] = []
    if "context" in row:
        pieces += encode_features(FEATURES_TAG, row["context"])
    if "feature_lists" in row:
        lists = check_lists("feature_lists", row["feature_lists"])
        entries = sorted((encoded_key(key), key) for key in lists)
        content = [
            delimited(
                ENTRY_TAG,
                delimited(KEY_TAG, raw) + delimited(VALUE_TAG, _feature_list(key, lists[key])),
            )
            for raw, key in entries
        ]
        pieces.append(delimited(FEATURE_LISTS_TAG, b"".join(content)))
    return b"".join(pieces)


def check_lists(name: str, given: Any) -> Mapping[str, Any]:
    """Refuse what is no dictionary."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dict, one entry a list, not {type(given).__name__}")
    return given


def _feature_list(key: str, steps: Any) -> bytes:
    """Encode the steps of one feature list."""
    is_single = isinstance(steps, np.ndarray) and steps.ndim == 0
    is_single |= isinstance(steps, str | bytes | Mapping) or not hasattr(steps, "__iter__")
    if is_single:
        raise TypeError(f"feature list {key!r} must be a sequence of steps, not {steps!r:.40}")
    steps = list(steps)
    try:
        contents = [feature_content(key, () if step is None else step) or b"" for step in steps]
    except InvalidArgumentError:
        contents = _of_column(key, steps)
    tags = {content[:1] for content in contents if content}
    if len(tags) > 1:
        contents = _of_column(key, steps)
        tags = {content[:1] for content in contents}
    empty = tags.pop() + b"\0" if tags else b""
    return b"".join([delimited(STEP_TAG, content or empty) for content in contents])


def _of_column(key: str, steps: list[Any]) -> list[bytes]:
    """Encode steps together, as a column: ints among floats are floats, or the step is named."""
    try:
        out = normalize(key, [values_of(step) for step in unmasked(key, steps)])
    except InvalidArgumentError as error:
        raise in_step(error, error.index or 0) from None
    return [content_of(out.part(number, number + 1)) for number in range(len(steps))]


def values_of(step: Any) -> Any:
    """Return a step as a sequence of its values; one that is not there has none."""
    if step is None:
        return ()
    return step if isinstance(step, list | tuple | np.ndarray) else [step]


def in_step(error: InvalidArgumentError, step: int, record: int = 0) -> InvalidArgumentError:
    """Turn what is said of one step into what is said of a record."""
    detail = f"in step {step} of the list: {error.detail}"
    return InvalidArgumentError(error.reason, None, None, record, error.key, detail)


_MOST_ROWS = 1024
_MOST_BYTES = 8 * 1024 * 1024
"""When a buffer is full."""
_MOST_FORMS = 8
"""Forms that are collected at a time; each is a batch of its own in the end."""
_LARGE_BYTES = 256 * 1024
"""A record with a list of more bytes is encoded by itself."""
_FORMATS: dict[type, tuple[str, np.dtype[Any]]] = {
    int: ("q", np.dtype("<i8")),
    float: ("f", np.dtype("<f4")),
}
_BYTES = np.dtype(object)
_dtype_of = attrgetter("dtype")


class _Taken(NamedTuple):
    """What the steps of one list hold, in one record."""

    dtype: np.dtype[Any]
    counts: list[int] | None
    """Values of each step; None for one each, not in a list."""
    values: Any
    """All of them: bytes of numbers, or a list of bytes."""
    n_steps: int
    n_bytes: int


def _take_apart(steps: Any) -> _Taken | None:
    """Copy what some steps hold; None if they are not of one type, or hold nothing."""
    if type(steps) not in (list, tuple):
        return None
    types = set(map(type, steps))
    if types == {np.ndarray}:
        return _of_arrays(steps)
    counts = None
    values = steps
    if types in ({list}, {tuple}):
        counts = list(map(len, steps))
        values = list(chain.from_iterable(steps))
        types = set(map(type, values))
    if len(types) != 1:
        return None
    kind: Any = types.pop()
    if kind in _FORMATS:
        letter, dtype = _FORMATS[kind]
        try:
            packed = struct.pack(f"<{len(values)}{letter}", *values)
        except (OverflowError, struct.error):
            return None
        return _Taken(dtype, counts, packed, len(steps), len(packed))
    if kind is str:
        try:
            values = [value.encode() for value in values]
        except UnicodeEncodeError:
            return None
    elif kind is not bytes:
        return None
    return _Taken(_BYTES, counts, list(values), len(steps), sum(map(len, values)))


def _of_arrays(steps: list[AnyArray] | tuple[AnyArray, ...]) -> _Taken | None:
    """Copy what steps that are arrays hold."""
    dtypes = set(map(_dtype_of, steps))
    if dtypes == {_BYTES}:
        lists = list(map(_as_list, steps))
        return _take_apart(lists) if set(map(type, lists)) == {list} else None
    if len(dtypes) > 1 or not dtypes <= EXACT_DTYPES:
        return None
    try:
        flat = np.concatenate(steps)
    except ValueError:  # arrays of several dimensions, or of none
        return None
    if flat.ndim != 1:
        return None
    return _Taken(flat.dtype, list(map(len, steps)), flat.tobytes(), len(steps), flat.nbytes)


def _as_list(value: Any) -> Any:
    """Return an array of objects, if it is that and has some, as the list it is encoded as."""
    is_array = type(value) is np.ndarray and value.dtype == _BYTES and value.ndim == 1
    return value.tolist() if is_array and value.size else value


class _List:
    """One list in the records of one form."""

    def __init__(self) -> None:
        self._taken: list[_Taken] = []

    def add(self, taken: _Taken) -> None:
        self._taken.append(taken)

    def steps(self, key: str) -> tuple[ValueLists, Int64Array]:
        """Return the values of all steps, and the number of steps of each record."""
        taken = self._taken
        n_steps = np.fromiter((one.n_steps for one in taken), np.int64, len(taken))
        n_all = int(n_steps.sum())
        counts = None
        if taken[0].counts is not None:
            parts = chain.from_iterable([one.counts or () for one in taken])
            counts = np.fromiter(parts, np.int64, n_all)
        is_even = counts is None or bool((counts == counts[0]).all())
        count: Any = (1 if counts is None else int(counts[0])) if is_even else counts
        if taken[0].dtype == _BYTES:
            strings = list(chain.from_iterable([one.values for one in taken]))
            lengths = np.fromiter(map(len, strings), np.int64, len(strings))
            data = np.frombuffer(b"".join(strings), np.uint8)
            own = ByteRanges(data, row_splits(lengths)[:-1], lengths)
            return ValueLists(n_all, Kind.BYTES, count, own), n_steps
        flat = np.frombuffer(b"".join([one.values for one in taken]), taken[0].dtype)
        if is_even:
            return normalize(key, flat.reshape(n_all, count)), n_steps
        return normalize(key, RaggedTensor(flat, row_splits(count))), n_steps


class SequenceForm:
    """Records of one form."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._outline = frozenset(row)
        context = row.get("context", {})
        self._lists = {key: _List() for key in row.get("feature_lists", {})}
        for key in chain(context, self._lists):
            encoded_key(key)
        self._plan = RowPlan(tuple(context), tuple(context.values())) if context else None
        self.order: list[int] = []
        """The numbers of the records."""

    def take(self, number: int, context: dict[str, Any], lists: list[_Taken]) -> bool:
        """Take the context of a record apart, and its lists in; or say that it is another form."""
        plan = self._plan
        if tuple(context) != (() if plan is None else plan.keys):
            return False
        if plan is not None:
            values = tuple(context.values())
            if plan.types != tuple(map(type, values)) or not plan.take(values):
                return False
            plan.order.append(number)
        self.order.append(number)
        for own, taken in zip(self._lists.values(), lists, strict=True):
            own.add(taken)
        return True

    def columns(
        self,
    ) -> tuple[dict[str, ValueLists] | None, dict[str, tuple[ValueLists, Int64Array]] | None]:
        """Return contexts and lists as columns, None for what these records do not have."""
        context = self._plan.columns() if self._plan is not None else {}
        lists = {key: own.steps(key) for key, own in self._lists.items()}
        return (
            context if "context" in self._outline else None,
            lists if "feature_lists" in self._outline else None,
        )


class SequenceRows:
    """Records of sequences, and messages between them, in the order in which they came.

    Notes
    -----
    What was added is copied; nothing that happens to a record afterwards matters.
    """

    def __init__(self) -> None:
        self._n = 0
        self._n_bytes = 0
        self._forms: dict[Any, list[SequenceForm]] = {}
        self._messages: list[bytes] = []
        self._order: list[int] = []

    def __len__(self) -> int:
        """Return the number of records and messages."""
        return self._n

    @property
    def is_full(self) -> bool:
        """Whether it is time to take what is here."""
        return self._n >= _MOST_ROWS or self._n_bytes >= _MOST_BYTES

    def add(self, row: Any) -> bool:
        """Take a record in, if it has a form; what is wrong with it shows when it is encoded."""
        if type(row) is not dict or not row.keys() <= {"context", "feature_lists"}:
            return False
        context, lists = row.get("context", {}), row.get("feature_lists", {})
        if type(context) is not dict or type(lists) is not dict:
            return False
        context = {key: _as_list(value) for key, value in context.items()}
        taken: list[_Taken] = []
        for steps in lists.values():
            one = _take_apart(steps)
            if one is None or one.n_bytes > _LARGE_BYTES:
                return False
            taken.append(one)
        outline = tuple([(one.dtype, one.counts is None) for one in taken])
        form = (tuple(row), tuple(lists), outline)
        if not self._take(form, row, context, taken):
            return False
        self._n += 1
        self._n_bytes += sum(one.n_bytes for one in taken)
        return True

    def _take(
        self, form: Any, row: dict[str, Any], context: dict[str, Any], lists: list[_Taken]
    ) -> bool:
        alike = self._forms.setdefault(form, [])
        if any(one.take(self._n, context, lists) for one in alike):
            return True
        if sum(map(len, self._forms.values())) >= _MOST_FORMS:
            return False
        try:
            new = SequenceForm({**row, "context": context} if context else row)
        except (UnplannedError, TypeError, ValueError):
            return False
        if not new.take(self._n, context, lists):
            return False
        alike.append(new)
        return True

    def forms(self) -> list[SequenceForm]:
        """Return the records that were taken in, by form."""
        return list(chain.from_iterable(self._forms.values()))

    def add_message(self, message: bytes) -> None:
        """Take in a message that is encoded already."""
        self._messages.append(message)
        self._order.append(self._n)
        self._n += 1
        self._n_bytes += len(message)

    def in_order(self, records: Sequence[Sequence[Buffer]]) -> list[Buffer]:
        """Return all messages in order, given those that the records of each form became."""
        found: list[Any] = [None] * self._n
        orders = [form.order for form in self.forms()]
        for order, some in zip([*orders, self._order], [*records, self._messages], strict=True):
            for number, message in zip(order, some, strict=True):
                found[number] = message
        return found
