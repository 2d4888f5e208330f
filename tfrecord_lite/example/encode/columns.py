"""encode_examples and encode_example: columns, or one dictionary, to Example messages.

::

    columns ──> Lists, one per key ──> Part, one or two per key ──> emit ──> Block
                values                      nested lengths               wire

The bytes are the same as from the protobuf runtime's ``SerializeToString(deterministic=True)``:
features in the order of their keys' bytes, lists packed, every number as short as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np

from tfrecord_lite.arrays import ByteItems, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import SparseTensor
from tfrecord_lite.convert import arrow
from tfrecord_lite.convert.lists import Lists, SparseLists
from tfrecord_lite.convert.lossless import with_carried
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.store import stored
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, errors_at
from tfrecord_lite.example.encode.one import encode_features, encoded_key, entry_levels
from tfrecord_lite.example.proto import FEATURES_TAG, KIND_TAGS, LIST_VALUE_TAG
from tfrecord_lite.options import hinted
from tfrecord_lite.schema import FeatureLike, Kind
from tfrecord_lite.texts import plural
from tfrecord_lite.wire import emit
from tfrecord_lite.wire.scalar import WireError
from tfrecord_lite.wire.varint import varint_rows, varint_run

_BATCH_BYTES = 1024 * 1024
_MIN_RECORDS, _MAX_RECORDS = 64, 4096
"""About how many bytes of values a batch of columns has, and the bounds of its records."""
_SCHEMA_ROWS = 512
"""Rows that are checked against a schema at once."""


@hinted
def encode_examples(
    columns: Mapping[str, Any] | arrow.DataFrame, schema: Mapping[str, FeatureLike] | None = None
) -> Block:
    r"""Encode columns as Example messages, one per record.

    Parameters
    ----------
    columns : mapping of str to column, or data frame
        One per feature, each with a leading record dimension: ndarray of any dtype and shape,
        masked array, RaggedTensor, SparseTensor as a VarLenFeature gives it, BytesColumn; a list,
        with a number, a string or a sequence per record; a Series of pandas or Polars, or an Arrow
        array. The values of a record are flattened. Or a data frame of these libraries, with a feature
        for each column and for each level of an index that is not a RangeIndex.
        Or whatever has ``__arrow_c_stream__`` or ``__arrow_c_array__``, read as a whole: the fields of
        structs are features such as ``point/x``; if the metadata has the schema of records,
        columns are stored as it says, as far as they still have its types.
        A record that is None or masked goes without the feature; a column that is None is left out.
    schema : Schema, or mapping of str to feature specification, optional
        The features that the records are to be read with. Columns are checked against it; a
        SparseFeature's coordinates and a RaggedFeature's row lengths are written under their
        keys; and its ``originals`` say how columns of any dtype are stored, see
        :func:`~tfrecord_lite.schema_of`.

    Returns
    -------
    Block
        One Example per record, in order; owns its memory. The same columns always give the
        same bytes: features in the order of their keys' UTF-8 bytes, lists packed, numbers
        as short as possible.

    Raises
    ------
    InvalidArgumentError
        With `key` and, where one record is at fault, `index`. ``BAD_ARGUMENT`` for no
        columns, columns of different lengths, keys with lone surrogates, lists nested too
        deeply; ``UNREPRESENTABLE`` for a value that would not come back: uint64 above
        2**63 - 1, a finite float beyond float32, an integer among floats that float32 does
        not hold, NaT, values of several kinds, a record that is masked in part, None among
        the values of a record, a value that the schema's original dtype does not have;
        ``UNSUPPORTED`` for a dtype without a list;
        ``RECORD_TOO_LARGE`` for a record that protobuf cannot read. With a schema also
        ``MISSING``, ``WRONG_KIND``, ``WRONG_COUNT``, ``BAD_PARTITION`` and ``BAD_INDEX``.
    TypeError
        For a key that is not a str, and if `columns` is not a dict.

    Notes
    -----
    Floats of any type are rounded to the nearest float32, as protobuf does (P2); with the schema of
    ``schema_of(columns, lossless=True)`` they are kept exactly. Batches of 1,000 records or more, up to
    a few megabytes, are fastest.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, None]})
    >>> people
    <Block of 3 records, 88 bytes>
    >>> parse_example(people, {"age": FixedLenFeature([], int, -1)})
    {'age': array([36, 41, -1])}
    """
    return encode_lists(_lists(columns, schema))


def encode_example(
    row: Mapping[str, Any], schema: Mapping[str, FeatureLike] | None = None
) -> bytes:
    """Encode one dictionary as an Example message.

    Parameters
    ----------
    row : mapping of str to value
        int, bool, float, str, bytes, a list, tuple or array of these, flattened; None, or a
        value that is masked as a whole, for a missing feature. A list without values becomes
        a feature without a kind, since its kind is unknown; that counts as missing (rule X3).
    schema : Schema, or mapping of str to feature specification, optional
        As for :func:`encode_examples`; costs as much as a batch.

    Returns
    -------
    bytes
        The same as :func:`encode_examples` gives for a record with these values.

    Raises
    ------
    InvalidArgumentError, TypeError
        As :func:`encode_examples`; `index` is 0 where one value is at fault.

    Notes
    -----
    ``TFRecordWriter.write_example`` is several times as fast.

    Examples
    --------
    >>> message = Example.FromString(encode_example({"name": "Ada", "scores": [0.5, 0.75]}))
    >>> message.features.feature["scores"].float_list.value
    [0.5, 0.75]
    """
    if schema is not None and hasattr(row, "items"):
        return encode_examples({key: [value] for key, value in row.items()}, schema)[0]
    return b"".join(encode_features(FEATURES_TAG, row))


def encode_batches(
    data: Any, schema: Mapping[str, FeatureLike] | None, rounded: dict[str, None]
) -> Generator[Block | list[bytes]]:
    """Encode columns, or rows that are to fit a schema, a batch at a time.

    An error about a row is raised after all rows before it. Adds the columns that float32 does not hold to `rounded`.
    """
    if arrow.is_stream(data):
        return _encode_stream(data, schema, rounded)
    if schema is None or is_columns(data):
        return encode_column_batches(data, schema, rounded)
    return _encode_row_batches(data, schema)


def is_columns(data: Any) -> bool:
    """Return whether data are columns, not rows."""
    return isinstance(data, Mapping) or arrow.is_frame(data)


def encode_column_batches(
    columns: Mapping[str, Any] | arrow.Frame,
    schema: Mapping[str, FeatureLike] | None,
    rounded: dict[str, None] | None = None,
) -> Generator[Block]:
    """Encode columns as :func:`encode_examples`, in blocks that fit the cache."""
    features = _lists(columns, schema, rounded)
    n_records = count_records(features.items())
    step = _BATCH_BYTES * n_records // max(sum(lists.n_bytes for lists in features.values()), 1)
    step = min(max(step, _MIN_RECORDS), _MAX_RECORDS)
    splits = [*range(0, n_records, step), n_records]
    parts = {key: iter(lists.views(splits)) for key, lists in features.items()}
    for first, last in pairwise(splits):
        yield encode_lists({key: next(rest) for key, rest in parts.items()}, last - first)


def _encode_stream(
    stream: Any, schema: Mapping[str, FeatureLike] | None, rounded: dict[str, None]
) -> Generator[Block | list[bytes]]:
    """Encode Arrow data batch by batch; errors have the record's number in the whole stream."""
    first = 0
    with closing(arrow.open_frames(stream)) as frames:
        for frame in frames:
            with errors_at(index=first.__add__):
                yield from encode_column_batches(frame, schema, rounded)
            first += frame.n_rows


def _encode_row_batches(
    rows: Iterable[Mapping[str, Any]], schema: Mapping[str, FeatureLike]
) -> Generator[Block | list[bytes]]:
    """Encode dictionaries: a batch without errors as columns, any other row by row."""
    rows = iter(rows)
    first = 0
    while batch := list(islice(rows, _SCHEMA_ROWS)):
        try:
            names = dict.fromkeys(chain.from_iterable(batch))
            columns = {name: [row.get(name) for row in batch] for name in names}
            block = encode_examples(columns, schema)
        except (TypeError, ValueError):
            # One row is at fault; encoding each alone finds it.
            for index, row in enumerate(batch, first):
                with errors_at(index=index):
                    record = encode_example(row, schema)
                yield [record]
        else:
            yield block
        first += len(batch)


def _lists(
    columns: Any, schema: Mapping[str, FeatureLike] | None, rounded: dict[str, None] | None = None
) -> dict[str, Lists]:
    frame = arrow.open_columns(columns)
    if schema is not None:
        return stored(frame.columns, schema, rounded)
    lists: dict[str, Lists] = {}
    if frame.carried is not None:
        frame, carried = with_carried(frame, any_category=True)
        lists = stored({name: frame.columns[name] for name in carried}, carried, rounded)
        frame = frame._replace(columns={k: v for k, v in frame.columns.items() if k not in carried})
    for key, column in frame.columns.items():
        if key in lists:
            detail = "a feature of the data's own schema is written under this name, too; "
            detail += "rename the column, or give a schema"
            raise column_error(key, detail)
        if column is not None:
            lists[key] = opened(key, column, rounded=rounded)
    return lists


def encode_lists(lists: Mapping[str, Lists], n_records: int | None = None) -> Block:
    """Encode lists, one per feature, as Examples; `n_records` if there may be none."""
    n_records = count_records(lists.items()) if n_records is None else n_records
    return encode_fields([(FEATURES_TAG, features_parts(lists))], n_records)


def encode_fields(fields: list[tuple[bytes, list[emit.Part]]], n_records: int) -> Block:
    """Encode the fields of messages: a tag and parts each; RECORD_TOO_LARGE about one of them."""
    try:
        return Block(*emit.emit_fields(fields, n_records))
    except WireError as error:
        reason = Reason.RECORD_TOO_LARGE
        raise InvalidArgumentError(reason, index=error.message, detail=error.detail) from None


def count_records(columns: Iterable[tuple[str, Any]]) -> int:
    """Return the number of records that all columns have."""
    n_records: int | None = None
    for key, column in columns:
        if isinstance(column, Lists | SparseLists):
            size = column.n
        else:
            size = int(column.shape[0]) if isinstance(column, SparseTensor) else len(column)
        if n_records not in (None, size):
            rows = plural(size, "row")
            raise column_error(key, f"this column has {rows}; the others have {n_records:,}")
        n_records = size
    if n_records is None:
        raise argument_error("no columns, so nothing says how many records there are")
    return n_records


def sorted_keys(keys: Iterable[str]) -> list[tuple[bytes, str]]:
    """Return keys, encoded and as they are, in the order of their bytes."""
    return sorted((encoded_key(key), key) for key in keys)


def features_parts(lists: Mapping[str, Lists]) -> list[emit.Part]:
    """Return the Features that have lists, one per key, as parts of messages."""
    keys = sorted_keys(lists)
    return [part for raw, key in keys for part in feature_parts(entry_levels(raw), lists[key])]


def feature_parts(entry: tuple[bytes, ...], lists: Lists) -> list[emit.Part]:
    """Return a Feature within some levels as parts of messages; two if some lists are empty."""
    kind, counts, present = lists.type.kind, lists.levels[0], lists.present
    if kind is None or (isinstance(counts, int) and not counts):
        nothing = emit.Fixed(np.zeros((lists.n, 0), np.uint8))
        return [emit.Part(entry if kind is None else (*entry, KIND_TAGS[kind]), nothing, present)]
    levels = (*entry, KIND_TAGS[kind])
    payload = _PAYLOADS[kind](lists)
    if kind is Kind.BYTES and not lists.is_single:
        return [emit.Part(levels, payload, present)]
    packed = (*levels, LIST_VALUE_TAG)
    if isinstance(counts, int) or not (empty := counts == 0).any():
        return [emit.Part(packed, payload, present)]
    nothing = emit.Fixed(np.zeros((lists.n, 0), np.uint8))
    present = np.ones(lists.n, np.bool_) if present is None else present
    filled = emit.Part(packed, payload, present & ~empty)
    return [filled, emit.Part(levels, nothing, present & empty)]


# Each returns the lists' values as payloads, one per record.


def _float_payload(lists: Lists) -> emit.Payload:
    data, counts = lists.flat.view(np.uint8), lists.levels[0]
    if isinstance(counts, int):
        return emit.Fixed(data.reshape(lists.n, 4 * counts))
    lengths = 4 * counts
    return emit.compact(data, row_splits(lengths)[:-1], lengths)


def _int64_payload(lists: Lists) -> emit.Payload:
    counts = lists.levels[0]
    if isinstance(counts, int) and counts == 1:
        cells, n_bytes = varint_rows(lists.flat)
        width = int(n_bytes.max(initial=0))
        if width == n_bytes.min(initial=10):
            return emit.Fixed(cells[:, :width])
        return emit.Short(cells, n_bytes.astype(np.int64))
    sizes: Any
    data, sizes = varint_run(lists.flat)  # bytes end to end, and of each value
    if not isinstance(sizes, int):
        splits = row_splits(sizes.astype(np.int64))[lists.splits()]
        return emit.compact(data, splits[:-1], np.diff(splits))
    if isinstance(counts, int):
        return emit.Fixed(data.reshape(lists.n, sizes * counts))
    lengths = sizes * counts
    return emit.compact(data, row_splits(lengths)[:-1], lengths)


def _bytes_payload(lists: Lists) -> emit.Payload:
    flat, is_single = lists.flat, lists.is_single
    if isinstance(flat, ByteItems):
        if is_single:
            return emit.Objects(flat.items, flat.lengths)
        flat = flat.to_ranges()
    payload = emit.compact(flat.data, flat.starts, flat.lengths)
    if is_single:
        return payload
    # Each string as a field, end to end; then the fields of each record together.
    data, sizes = emit.emit_run(emit.Part((LIST_VALUE_TAG,), payload), flat.starts.size)
    splits = row_splits(sizes)[lists.splits()]
    return emit.compact(data, splits[:-1], np.diff(splits))


_PAYLOADS: dict[Kind, Callable[[Lists], emit.Payload]]
_PAYLOADS = {Kind.BYTES: _bytes_payload, Kind.FLOAT: _float_payload, Kind.INT64: _int64_payload}
