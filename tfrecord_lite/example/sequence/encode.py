"""encode_sequence_example(s): dictionaries or columns to SequenceExample messages.

::

    {"context": {"id": 7}, "feature_lists": {"tokens": [[5, 6], [7], []]}}      a record

    context        column ──> Lists ────────────────────────────┐
    feature list   column ──> Lists, the first level its steps  ├─ emit ─> Block
                              ──> Features of all steps ────────┘
                                  cut into records

A feature list is written as if each *step* were a record: the steps of all records are one flat batch of
Features, in which the bytes of a record's steps are its payload. Records are collected by their form, as rows
of Examples are (:mod:`tfrecord_lite.example.encode.rows`): those with the same keys, and lists whose steps have
the same types, become columns. A record without such a form is encoded alone at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import AnyArray, BoolArray, Int64Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.types import EXACT_DTYPES, column_error, rows_of, unmasked
from tfrecord_lite.errors import InvalidArgumentError, Reason, errors_at
from tfrecord_lite.example import proto
from tfrecord_lite.example.decode.first_error import in_steps
from tfrecord_lite.example.encode import columns, one, rows
from tfrecord_lite.example.encode.one import delimited, feature_content
from tfrecord_lite.example.encode.rows import OBJECT
from tfrecord_lite.options import hinted
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.kinds import array_of
from tfrecord_lite.schema.types import WIRE
from tfrecord_lite.wire.emit import Part, compact, emit_fields, emit_run

_LARGE_BYTES = 256 * 1024
"""A record with a larger list is encoded alone."""
_NO_CONTEXT: rows.TakenRow = (0, b"", (), [])


def encode_sequence_example(row: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Encode a dictionary as one SequenceExample message.

    Parameters
    ----------
    row : mapping
        ``{"context": {...}, "feature_lists": {...}}``; either may be left out. The values of
        the context are those that :func:`encode_example` takes. A feature list is a sequence
        of such values, one per step, or an array with a row per step. A step without values, or
        that is None or masked, is an empty list of the kind of the others, or has no kind if all
        are. Ints and floats in one list become floats: floats rounded to the nearest float32, ints exact.

    Returns
    -------
    bytes
        The same values always give the same bytes: keys are in the order of their bytes.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for other keys than these two; ``UNREPRESENTABLE`` and
        ``UNSUPPORTED`` as for :func:`encode_example`, with `key`; the text names the step.
    TypeError
        If `row` is not a dictionary, or a feature list not a sequence.

    Examples
    --------
    >>> row = {"context": {"id": 1}, "feature_lists": {"tokens": [[5, 6], [7]]}}
    >>> message = SequenceExample.FromString(encode_sequence_example(row))
    >>> [step.int64_list.value for step in message.feature_lists.feature_list["tokens"].feature]
    [[5, 6], [7]]
    """
    if not isinstance(row, Mapping):
        raise TypeError(f"a record must be a dict, not {type(row).__name__}")
    for name in row:
        if name not in ("context", "feature_lists"):
            detail = "a SequenceExample has 'context' and 'feature_lists' only"
            raise column_error(str(name), detail)
    pieces: list[Any] = []
    if "context" in row:
        pieces += one.encode_features(proto.FEATURES_TAG, row["context"])
    if "feature_lists" in row:
        lists = _checked_dict("feature_lists", row["feature_lists"])
        entries = []
        for raw, key in columns.sorted_keys(lists):
            value = delimited(proto.VALUE_TAG, _feature_list(key, lists[key]))
            entries.append(delimited(proto.ENTRY_TAG, delimited(proto.KEY_TAG, raw) + value))
        pieces.append(delimited(proto.FEATURE_LISTS_TAG, b"".join(entries)))
    return b"".join(pieces)


def _checked_dict(name: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        actual = type(values).__name__
        raise TypeError(f"{name} must be a dict with an entry per list, not {actual}")
    return values


def _check_is_sequence(key: str, steps: Any) -> None:
    is_single = getattr(steps, "ndim", 1) == 0
    is_single |= isinstance(steps, str | bytes | Mapping) or not hasattr(steps, "__iter__")
    if is_single:
        raise TypeError(f"feature list {key!r} must be a sequence of steps, not {steps!r:.40}")


def _feature_list(key: str, steps: Any) -> bytes:
    """Encode the steps of one feature list."""
    _check_is_sequence(key, steps)
    steps = list(steps)
    try:
        contents = [feature_content(key, () if step is None else step) or b"" for step in steps]
    except InvalidArgumentError:
        contents = _contents_together(key, steps)
    tags = {content[:1] for content in contents if content}
    if len(tags) > 1:
        contents = _contents_together(key, steps)
        tags = {content[:1] for content in contents}
    empty = tags.pop() + b"\0" if tags else b""
    return b"".join([delimited(proto.STEP_TAG, content or empty) for content in contents])


def _contents_together(key: str, steps: list[Any]) -> list[bytes]:
    """Encode steps as a column: ints among floats become floats; an error names the step."""
    with in_steps(np.array([len(steps)])):
        lists = opened(key, [_values_of(step) for step in unmasked(key, steps)])
    return list(map(one.content_of, lists.views(range(len(steps) + 1))))


def _values_of(step: Any) -> Any:
    """Return a step as a sequence of its values; a missing one has none."""
    if step is None:
        return ()
    is_tensor = hasattr(step, "__array__") and not isinstance(step, np.generic)
    return step if is_tensor or isinstance(step, list | tuple) else [step]


# ------------------------------------------------------------------------------------ columns


@hinted
def encode_sequence_examples(
    context: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
    feature_lists: Mapping[str, Any] | None = None,
    lengths: Mapping[str, Any] | None = None,
) -> Block:
    """Encode columns, or dictionaries, as SequenceExample messages, one per record.

    Parameters
    ----------
    context : mapping of str to column, or iterable of dict, optional
        Columns as :func:`~tfrecord_lite.encode_examples` takes them. Or, without the other
        arguments, records as :func:`~tfrecord_lite.encode_sequence_example` takes them.
    feature_lists : mapping of str to column, optional
        Each column has a leading record dimension, then one of steps; the rest are the values
        of a step: a RaggedTensor, with the steps as its first ragged level; an array of at
        least two dimensions, padded if `lengths` says so; or a list of sequences of steps,
        with None for a record without the list.
    lengths : mapping of str to int, shape (n_records,), optional
        Steps of each record, for arrays that are padded. ``encode_sequence_examples(*parsed)``
        writes the results of a :class:`~tfrecord_lite.SequenceExampleParser`.

    Returns
    -------
    Block
        One SequenceExample per record, in order, as :func:`~tfrecord_lite.encode_sequence_example`
        encodes it; owns its memory.

    Raises
    ------
    InvalidArgumentError
        With `key` and, where one record is at fault, `index`: ``BAD_ARGUMENT`` for no
        columns, columns of different lengths, lengths that do not fit, a column without
        steps; ``UNSUPPORTED`` for a SparseTensor, which does not record the number of steps;
        ``UNREPRESENTABLE``, ``UNSUPPORTED`` and ``RECORD_TOO_LARGE`` as for
        :func:`~tfrecord_lite.encode_examples`.
    TypeError
        If a key is not a str, a column not a sequence, `feature_lists` or `lengths` not a
        dictionary.

    Notes
    -----
    NumPy's values must have one dtype in a column; in a dictionary each step may have its own.

    Examples
    --------
    >>> tokens = np.array([[5, 6], [7, 0]])
    >>> block = encode_sequence_examples({"id": [1, 2]}, {"tokens": tokens}, {"tokens": [2, 1]})
    >>> decode_sequence_examples(block)[1]
    {'context': {'id': array([2])}, 'feature_lists': {'tokens': [array([7])]}}
    """
    if context is not None and not isinstance(context, Mapping):
        if feature_lists is not None or lengths is not None:
            raise TypeError("give feature_lists with columns only; records have their own")
        return _encode_rows(rows_of(context))
    features = None
    if context is not None:
        features = {k: opened(k, column) for k, column in context.items() if column is not None}
    lists = _feature_lists(
        {} if feature_lists is None else _checked_dict("feature_lists", feature_lists),
        {} if lengths is None else _checked_dict("lengths", lengths),
    )
    n_records = columns.count_records([*(features or {}).items(), *lists.items()])
    return _encode_columns(features, None if feature_lists is None else lists, n_records)


def _encode_columns(
    features: Mapping[str, Lists] | None, lists: Mapping[str, Lists] | None, n_records: int
) -> Block:
    """Encode columns, in lists with their steps as a level more; None if the messages are not to have that part."""
    fields = []
    if features is not None:
        fields.append((proto.FEATURES_TAG, columns.features_parts(features)))
    if lists is not None:
        entries = [_list_part(raw, lists[key]) for raw, key in columns.sorted_keys(lists)]
        fields.append((proto.FEATURE_LISTS_TAG, entries))
    return columns.encode_fields(fields, n_records)


def _list_part(raw: bytes, lists: Lists) -> Part:
    """Return a feature list as a part of the messages."""
    steps = lists.below()
    parts = columns.feature_parts((proto.STEP_TAG,), steps) if steps.n else []
    data, sizes = np.zeros(0, np.uint8), np.zeros(0, np.int64)
    if len(parts) == 1:
        data, sizes = emit_run(parts[0], steps.n)
    elif parts:
        # Steps with values and without have different parts; emitted as messages, with space between.
        data, starts, sizes = emit_fields([(b"", parts)], steps.n)
        data = arrays.gather(data, starts, sizes)
    # Where the steps of each record begin and end in the data.
    ends = row_splits(sizes)[row_splits(lists.lengths)]
    return Part(one.entry_levels(raw), compact(data, ends[:-1], np.diff(ends)), lists.present)


def _feature_lists(lists: Mapping[str, Any], lengths: Mapping[str, Any]) -> dict[str, Lists]:
    """Convert columns with a dimension of steps."""
    for key in lengths:
        if lists.get(key) is None:
            raise column_error(str(key), "lengths are given for this list, but not the list")
    present = {key: column for key, column in lists.items() if column is not None}
    return {key: _lists_of(key, column, lengths.get(key)) for key, column in present.items()}


def _lists_of(key: str, column: Any, lengths: Any) -> Lists:
    """Convert a column, with its steps as the first level."""
    if isinstance(column, SparseTensor):
        detail = "a SparseTensor does not record the number of steps; give a RaggedTensor"
        raise column_error(key, detail, None, Reason.UNSUPPORTED)
    if isinstance(column, BytesColumn) or (isinstance(column, Lists) and not column.levels):
        raise column_error(key, "a feature list needs a dimension of steps")
    if isinstance(column, Lists):
        return _lists_of_steps(key, column.below(), column.lengths, column.present)
    is_array = not isinstance(column, RaggedTensor | list | tuple)
    if is_array:
        column = column if isinstance(column, np.ma.MaskedArray) else array_of(column, key)
        if column.ndim == 1 and column.dtype == object:
            column, is_array = column.tolist(), False
    if lengths is not None and not is_array:
        raise column_error(key, "lengths are for arrays only, since other columns have their own")
    if isinstance(column, RaggedTensor):
        column = RaggedTensor.from_row_splits(column.values, column.row_splits)  # checks them
        return _lists_of_steps(key, column.values, np.diff(column.row_splits).astype(np.int64))
    if is_array:
        return _lists_of_array(key, column, lengths)
    return _lists_of_sequences(key, column)


def _lists_of_steps(
    key: str, steps: Any, n_steps: Int64Array, present: BoolArray | None = None
) -> Lists:
    """Convert a column with the values of all steps, given how many each record has.

    `present` says which records have the list; None for all.
    """
    with in_steps(n_steps):
        lists = opened(key, steps)
        if lists.present is not None:
            detail = "the step is masked; a step may be empty, but not missing"
            raise column_error(key, detail, int((~lists.present).argmax()))
    return lists.above(n_steps, present)


def _lists_of_array(key: str, column: AnyArray, lengths: Any) -> Lists:
    """Convert an array, without the padding if it has some."""
    if column.ndim < 2:
        raise column_error(key, "a feature list needs a dimension of steps after the records")
    n_records, longest = column.shape[:2]
    if lengths is None:
        n_steps = np.full(n_records, longest, np.int64)
        return _lists_of_steps(key, column.reshape(n_records * longest, *column.shape[2:]), n_steps)
    n_steps = np.asarray(lengths)
    if n_steps.shape != (n_records,) or (n_steps.size and n_steps.dtype.kind not in "iu"):
        actual = f"the lengths are {n_steps.dtype} of shape {list(n_steps.shape)}"
        raise column_error(key, f"{actual}, expected an integer for each of {n_records} records")
    if (first := arrays.first_true((n_steps < 0) | (n_steps > longest))) is not None:
        detail = f"the length is {n_steps[first]}, expected 0 to {longest} as the array has"
        raise column_error(key, detail, first)
    is_step = np.arange(longest) < n_steps[:, None]
    return _lists_of_steps(key, column[is_step], n_steps.astype(np.int64))


def _lists_of_sequences(key: str, column: Sequence[Any]) -> Lists:
    """Convert a column with a sequence of steps per record."""

    def steps_of(record: Any) -> Any:
        is_masked = isinstance(record, np.ma.MaskedArray) and record.ndim
        return record if is_masked else unmasked(key, [record])[0]

    column = list(map(steps_of, column))
    is_present = [record is not None for record in column]
    present = None if all(is_present) else np.array(is_present, np.bool_)
    column = [() if record is None else record for record in column]
    for record in column:
        _check_is_sequence(key, record)
    n_steps = np.fromiter(map(len, column), np.int64, len(column))
    filled = [record for record in column if isinstance(record, np.ndarray) and len(record)]
    is_masked = any(isinstance(array, np.ma.MaskedArray) for array in filled)
    are_alike = len({(array.shape[1:], array.dtype) for array in filled}) == 1
    if are_alike and not is_masked and len(filled) == np.count_nonzero(n_steps):
        return _lists_of_steps(key, np.concatenate(filled), n_steps, present)
    with in_steps(n_steps):
        steps = unmasked(key, list(chain.from_iterable(column)))
    types = set(map(type, steps))
    if len(types) > 1 or type(None) in types:  # numbers among lists, or missing steps
        steps = [_values_of(step) for step in steps]
    return _lists_of_steps(key, steps, n_steps, present)


# ------------------------------------------------------------------------------- many records


def _encode_rows(dicts: Iterable[Mapping[str, Any]]) -> Block:
    """Encode dictionaries: rows of one form as columns, any other alone."""
    blocks: list[Block] = []
    buffer = SequenceRowBuffer()
    for index, row in enumerate(dicts):
        with errors_at(index=index):
            buffer.add(row)
        if buffer.is_full:
            blocks.append(_as_block(buffer.take()))
    return Block.concat([*blocks, _as_block(buffer.take())])


def _as_block(records: list[Any] | Block) -> Block:
    return records if isinstance(records, Block) else Block.from_records(records)


class SequenceRowBuffer(rows.Waiting):
    """Rows of SequenceExamples and records, in the order in which they came."""

    of_sequences = True

    def __init__(self, kinds: rows.KindsOfRows | None = None) -> None:
        super().__init__()
        self._kinds = kinds
        self._plans: dict[Any, list[_SequencePlan]] = {}

    def add(self, row: Any) -> None:
        """Add a record. Raises as :func:`encode_sequence_example`, and is then unchanged."""
        if not self.take_in(row):
            self.add_record(encode_sequence_example(row))
            self._note(row)

    def take_in(self, row: Any) -> bool:
        """Take a record in, if it has a form; one that has not may be wrong."""
        if type(row) is not dict or not row.keys() <= {"context", "feature_lists"}:
            return False
        context, lists = row.get("context", {}), row.get("feature_lists", {})
        if type(context) is not dict or type(lists) is not dict:
            return False
        context = {key: _as_list(value) for key, value in context.items()}
        step_values = [values for steps in lists.values() if (values := _step_values(steps))]
        sizes = [values.n_bytes for values in step_values]
        if len(step_values) < len(lists) or max(sizes, default=0) > _LARGE_BYTES:
            return False
        types = tuple([(values.dtype, values.counts is None) for values in step_values])
        alike = self._plans.setdefault((tuple(row), tuple(lists), types), [])
        n_bytes = 1 + sum([values.n_bytes for values in step_values])
        for plan in alike:
            taken = plan.take(context)
            if taken is not None:
                break
        else:
            if len(self._active) >= rows.MAX_PLANS:
                return False
            try:
                plan = _SequencePlan({**row, "context": context} if context else row)
            except (ArithmeticError, rows.UnplannedError, TypeError, ValueError):
                return False
            taken = plan.take(context)
            if taken is None:
                return False
            alike.append(plan)
            self._note(row)
        self._keep(plan, (taken, step_values), n_bytes + taken[0])
        return True

    def _note(self, row: Mapping[str, Any]) -> None:
        if self._kinds is not None:
            for part, values in row.items():
                self._kinds.note(values or {}, f"{part}/")

    def take(self) -> list[Any] | Block:
        """Return everything as messages, in order, and start anew."""
        taken = super().take()
        self._plans = {}
        return taken


class _SequencePlan:
    """Takes records of one form apart, and keeps their values.

    A form is the keys of context and lists, the form of the context's plan, the dtype of each list,
    and whether its steps are sequences.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._parts = frozenset(row)
        context = row.get("context", {})
        self._lists = tuple(row.get("feature_lists", {}))
        for key in chain(context, self._lists):
            one.encoded_key(key)
        self._context = rows.RowPlan(tuple(context), tuple(context.values())) if context else None
        self.rows: list[tuple[int, tuple[rows.TakenRow, tuple[_StepValues, ...]]]] = []
        """For each record its number, its context, and its lists."""

    def take(self, context: dict[str, Any]) -> rows.TakenRow | None:
        """Take the context of a record; None if it has another form."""
        plan = self._context
        if plan is None:
            return None if context else _NO_CONTEXT
        values = tuple(context.values())
        if tuple(context) != plan.keys or plan.types != tuple(map(type, values)):
            return None
        return plan.take(values)

    def encoded(self) -> Block:
        """Return the records taken as messages."""
        contexts, lists = zip(*[taken for _, taken in self.rows], strict=True)
        context = {} if self._context is None else self._context.columns(contexts)
        of_keys = zip(self._lists, zip(*lists, strict=True), strict=True)
        steps = {key: _joined(key, taken) for key, taken in of_keys}
        own_context = context if "context" in self._parts else None
        own_steps = steps if "feature_lists" in self._parts else None
        return _encode_columns(own_context, own_steps, len(self.rows))


class _StepValues(NamedTuple):
    """The values in the steps of one list of one record."""

    dtype: np.dtype[Any]
    counts: list[int] | None
    """Values of each step; None if each step is a single value, not a sequence."""
    values: Any
    """All of them: an array of numbers, or a list of bytes."""
    n_steps: int
    n_bytes: int


def _step_values(steps: Any) -> _StepValues | None:
    """Copy the values of steps; None if they are not of one type, or there are none."""
    if type(steps) is np.ndarray and steps.size and steps.dtype in EXACT_DTYPES:
        n_steps = len(steps) if steps.ndim else 0
        if not n_steps:
            return None
        counts = [steps.size // n_steps] * n_steps if steps.ndim > 1 else None
        return _StepValues(steps.dtype, counts, steps.flatten(), n_steps, steps.nbytes)
    if type(steps) not in (list, tuple):
        return None
    types = set(map(type, steps))
    if types == {np.ndarray}:
        return _array_values(steps)
    counts = None
    values: Any = steps
    if types in ({list}, {tuple}):
        counts = list(map(len, steps))
        values = list(chain.from_iterable(steps))
    try:
        flat = rows.plain_values(values)
    except (ArithmeticError, UnicodeEncodeError):
        return None
    if flat is None:
        return None
    if isinstance(flat, list):
        return _StepValues(OBJECT, counts, flat, len(steps), sum(map(len, flat)))
    return _StepValues(flat.dtype, counts, flat, len(steps), flat.nbytes)


def _array_values(steps: list[AnyArray] | tuple[AnyArray, ...]) -> _StepValues | None:
    """Copy the values of steps that are arrays."""
    dtypes = set(map(rows.dtype_of, steps))
    if dtypes == {OBJECT}:
        lists = list(map(_as_list, steps))
        return _step_values(lists) if set(map(type, lists)) == {list} else None
    if len(dtypes) > 1 or not dtypes <= EXACT_DTYPES:
        return None
    try:
        flat = np.concatenate(steps)
    except ValueError:  # arrays of different dimensions, or of none
        return None
    if flat.ndim != 1:
        return None
    return _StepValues(flat.dtype, list(map(len, steps)), flat, len(steps), flat.nbytes)


def _as_list(value: Any) -> Any:
    """Return a vector of objects, if it has some, as the list that it is encoded as."""
    is_array = type(value) is np.ndarray and value.dtype == OBJECT and value.ndim == 1
    return value.tolist() if is_array and value.size else value


def _joined(key: str, taken: Sequence[_StepValues]) -> Lists:
    """Join the values of one list in many records."""
    n_steps = np.fromiter((values.n_steps for values in taken), np.int64, len(taken))
    n_all = int(n_steps.sum())
    counts = None
    if taken[0].counts is not None:
        parts = chain.from_iterable([values.counts or () for values in taken])
        counts = np.fromiter(parts, np.int64, n_all)
    is_even = counts is None or bool((counts == counts[0]).all())
    count: Any = (1 if counts is None else int(counts[0])) if is_even else counts
    if taken[0].dtype == OBJECT:
        strings = list(chain.from_iterable([values.values for values in taken]))
        flat: Any = arrays.ByteItems.of(strings).to_ranges()
        return Lists(n_steps.size, WIRE[Kind.BYTES], (n_steps, count), flat)
    flat = np.concatenate([values.values for values in taken])
    steps = flat.reshape(n_all, count) if is_even else RaggedTensor(flat, row_splits(count))
    return opened(key, steps).above(n_steps)
