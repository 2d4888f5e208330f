"""encode_sequence_examples: columns, or dictionaries, to SequenceExample messages.

::

    context        column ──> Outgoing ──────────────────────────────┐
    feature list   column ──> steps of all records, end to end       ├─ emit ─> Block
                              ──> Outgoing ──> Features, end to end ─┘
                                               cut into records

A feature list is written as if each *step* were a record: all steps of all records are one
flat batch of Features. Where a record's steps begin and end in it is then its payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays.ragged import gather, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.lists import Outgoing, outgoing
from tfrecord_lite.convert.types import refuse, unmasked
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.encode.columns import FEATURES, entry_levels, feature_parts
from tfrecord_lite.example.encode.one import encoded_key
from tfrecord_lite.example.sequence.one import (
    check_lists,
    encode_sequence_example,
    in_step,
    values_of,
)
from tfrecord_lite.example.sequence.rows import SequenceRows
from tfrecord_lite.wire.emit import emit_fields, emit_run
from tfrecord_lite.wire.fields import WireError
from tfrecord_lite.wire.parts import Part, compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

__all__ = ["encode_sequence_examples"]

_FEATURE_LISTS = b"\x12"
_STEP = b"\x0a"


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
        key: outgoing(key, column) for key, column in (context or {}).items() if column is not None
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
    features: Mapping[str, Outgoing] | None, lists: Mapping[str, _Steps] | None, n_records: int
) -> Block:
    """Encode columns; None if the messages are not to have that part at all."""
    fields = []
    if features is not None:
        parts = [feature_parts(entry_levels(raw), features[key]) for raw, key in _sorted(features)]
        fields.append((FEATURES, list(chain.from_iterable(parts))))
    if lists is not None:
        entries = [_list_part(raw, key, lists[key]) for raw, key in _sorted(lists)]
        fields.append((_FEATURE_LISTS, entries))
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
    """The values of all steps, with a leading dimension of steps; or these as Outgoing."""
    counts: npt.NDArray[np.int64]
    """Steps of each record; shape (n_records,)."""
    present: npt.NDArray[np.bool_] | None = None
    """Which records have the list; None for all."""

    @property
    def n_records(self) -> int:
        return self.counts.size


def _n_records(columns: Sequence[tuple[str, Outgoing | _Steps]]) -> int:
    """Return the number of records that all columns have."""
    if not columns:
        detail = "no columns, so nothing says how many records there are"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    n_records = columns[0][1].n_records
    for key, column in columns:
        if column.n_records != n_records:
            refuse(key, f"{column.n_records} records, the columns before it have {n_records}")
    return n_records


def _lists(columns: Mapping[str, Any], lengths: Mapping[str, Any]) -> dict[str, _Steps]:
    """Part the steps of each column from what is in them."""
    for key in lengths:
        if columns.get(key) is None:
            refuse(str(key), "lengths of a list that is not there")
    return {
        key: _steps_of(key, column, lengths.get(key))
        for key, column in columns.items()
        if column is not None
    }


def _steps_of(key: str, column: Any, lengths: Any) -> _Steps:
    if isinstance(column, SparseTensor):
        detail = "a SparseTensor does not say how many steps a record has; give a RaggedTensor"
        refuse(key, detail, None, Reason.UNSUPPORTED)
    if isinstance(column, BytesColumn):
        refuse(key, "a feature list needs a dimension of steps")
    is_array = not isinstance(column, RaggedTensor | list | tuple)
    if is_array:
        column = column if isinstance(column, np.ma.MaskedArray) else np.asarray(column)
        if column.ndim == 1 and column.dtype == object:
            column, is_array = column.tolist(), False
    if lengths is not None and not is_array:
        refuse(key, "only arrays are padded; other columns know their lengths")
    if isinstance(column, RaggedTensor):
        rows = RaggedTensor.from_row_splits(column.values, column.row_splits)  # checks them
        return _Steps(rows.values, np.diff(rows.row_splits).astype(np.int64))
    return _of_array(key, column, lengths) if is_array else _of_records(key, column)


def _of_array(key: str, column: np.ndarray[Any, Any], lengths: Any) -> _Steps:
    """Take the steps of an array, without the padding if it has some."""
    if column.ndim < 2:
        refuse(key, "a feature list needs a dimension of steps behind that of records")
    n_records, longest = column.shape[:2]
    if lengths is None:
        counts = np.full(n_records, longest, np.int64)
        return _Steps(column.reshape(n_records * longest, *column.shape[2:]), counts)
    counts = np.asarray(lengths)
    if counts.shape != (n_records,) or (counts.size and counts.dtype.kind not in "iu"):
        detail = f"lengths of {counts.dtype} and shape {counts.shape} for {n_records} records"
        refuse(key, detail)
    wrong = (counts < 0) | (counts > longest)
    if wrong.any():
        first = int(wrong.argmax())
        refuse(key, f"a length of {counts[first]} in an array of {longest} steps", first)
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


def _are_alike(arrays: list[np.ndarray[Any, Any]]) -> bool:
    return len({(array.shape[1:], array.dtype) for array in arrays}) == 1


def _list_part(raw: bytes, key: str, steps: _Steps) -> Part:
    """Return a feature list as a part of the messages."""
    try:
        is_known = isinstance(steps.column, Outgoing)
        out = steps.column if is_known else outgoing(key, steps.column)
    except InvalidArgumentError as error:
        raise _in_record(error, steps.counts) from None
    if out.present is not None:
        detail = "a step that is masked: a step may be empty, but not missing"
        refuse(key, detail, _record_of(int((~out.present).argmax()), steps.counts))
    data, sizes = _run(out)
    ends = row_splits(sizes)[row_splits(steps.counts)]
    payload = compact(data, ends[:-1], np.diff(ends))
    return Part(entry_levels(raw), payload, steps.present)


def _run(out: Outgoing) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Write all steps one behind the other; and bytes of each."""
    if not out.n_records:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64)
    parts = feature_parts((_STEP,), out)
    if len(parts) == 1:
        return emit_run(parts[0].levels, parts[0].payload, out.n_records)
    # Steps with values and without: each has one of two parts, which need room between them.
    data, starts, lengths = emit_fields([(b"", parts)], out.n_records)
    return gather(data, starts, lengths), lengths


def _record_of(step: int, counts: npt.NDArray[np.int64]) -> int:
    return int(np.searchsorted(np.cumsum(counts), step, side="right"))


def _in_record(error: InvalidArgumentError, counts: npt.NDArray[np.int64]) -> InvalidArgumentError:
    """Turn what is said of one of all steps into what is said of a record."""
    if error.index is None:
        return error
    record = _record_of(error.index, counts)
    return in_step(error, error.index - int(counts[:record].sum()), record)
