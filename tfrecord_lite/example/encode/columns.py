"""encode_examples and encode_example: columns, or one dictionary, to Example messages.

::

    columns ──> ValueLists, one a key ──> Part, one or two a key ──> emit ──> Block
                values                  nested lengths             wire

What is written is byte for byte what the protobuf runtime writes with
``SerializeToString(deterministic=True)``: features in the order of their keys' bytes, lists
packed, every number as short as can be.

A single dictionary is encoded without NumPy where that would cost more than it saves.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.convert.conform import conform
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.convert.types import ByteItems, column_error
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.encode.one import encode_features, encoded_key
from tfrecord_lite.example.proto import (
    ENTRY_TAG,
    FEATURES_TAG,
    KEY_TAG,
    KIND_TAGS,
    LIST_VALUE_TAG,
    VALUE_TAG,
)
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.emit import emit, emit_run
from tfrecord_lite.wire.pack import varint_rows, varint_run
from tfrecord_lite.wire.parts import Fixed, Objects, Part, Short, compact
from tfrecord_lite.wire.scalar import WireError, varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tfrecord_lite.convert.lists import ValueLists
    from tfrecord_lite.schema import FeatureSpec
    from tfrecord_lite.wire.parts import Payload

__all__ = [
    "encode_example",
    "encode_examples",
    "encode_lists",
    "entry_levels",
    "feature_parts",
]

_BATCH_BYTES = 1024 * 1024
_FEWEST, _MOST = 64, 4096
"""Records of a batch, and about how many bytes of values it is to have."""


def encode_examples(
    columns: Mapping[str, Any], schema: Mapping[str, FeatureSpec] | None = None
) -> Block:
    r"""Encode columns as Example messages, one a record.

    Parameters
    ----------
    columns : mapping of str to column
        One a feature, each with a leading record dimension: ndarray of any dtype and shape
        (records are flattened), masked array, RaggedTensor (several levels are flattened),
        SparseTensor as a VarLenFeature gives it, BytesColumn; or a list, with a number, a
        string or a sequence a record, whose inner sequences are flattened, of whatever
        depth. None, and what is masked, is missing: the record
        goes without the feature. A column that is None altogether is left out.
    schema : Schema, or mapping of str to feature specification, optional
        What the columns are to be read with. They are checked against it; a SparseFeature's
        coordinates and a RaggedFeature's row lengths are written under their keys; and
        what a column was (``originals``) says how it is stored, as
        :func:`~tfrecord_lite.schema_of` does for columns of any dtype.

    Returns
    -------
    Block
        One Example a record, in order; owns its memory. The same columns always give the
        same bytes: features in the order of their keys' UTF-8 bytes, lists packed, numbers
        as short as can be.

    Raises
    ------
    InvalidArgumentError
        With `key` and, where one record is at fault, `index`. ``BAD_ARGUMENT`` for no
        columns, columns of different lengths, keys without UTF-8 form, lists nested too
        deeply;
        ``UNREPRESENTABLE`` for a value that would not come back: uint64 above 2**63 - 1,
        float64 that is no float32, NaT, values of several kinds, a record that is masked in
        part, None among the values of a record, a value that the schema's original dtype
        does not have; ``UNSUPPORTED`` for a dtype that no list holds; ``RECORD_TOO_LARGE`` for a
        record that protobuf cannot read. With a schema also ``MISSING``, ``WRONG_KIND``,
        ``WRONG_COUNT``, ``BAD_PARTITION`` and ``BAD_INDEX``.
    TypeError
        For a key that is no str, and for `columns` that are no dict.

    Notes
    -----
    Working memory is about that of the columns and the result. From 1,000 records on, and
    up to a few megabytes, batches are fastest.

    Examples
    --------
    >>> block = encode_examples({"age": np.array([7, 300], np.uint16), "name": ["a", None]})
    >>> for row in decode_examples(block):
    ...     print(sorted(row.items()))
    [('age', array([7])), ('name', array([b'a'], dtype=object))]
    [('age', array([300]))]
    """
    return encode_lists(_outgoing(columns, schema))


def encode_example(
    row: Mapping[str, Any], schema: Mapping[str, FeatureSpec] | None = None
) -> bytes:
    """Encode one dictionary as an Example message.

    Parameters
    ----------
    row : mapping of str to value
        int, bool, float, str, bytes, a list, tuple or array of these, flattened; None, or
        what is masked as a whole, for a feature that is missing. A list without values is a feature without kind, which counts as
        missing too (rule X3): nothing says of which kind it is.
    schema : Schema, or mapping of str to feature specification, optional
        As :func:`encode_examples`; costs a batch of one.

    Returns
    -------
    bytes
        The same as :func:`encode_examples` gives for a record with these values.

    Raises
    ------
    InvalidArgumentError, TypeError
        As :func:`encode_examples`; `index` is 0 where it is of one value.

    Notes
    -----
    Python's floats are rounded to float32, as protobuf does (P2); one that is too large is
    refused. ``TFRecordWriter.write_example`` is several times as fast.

    Examples
    --------
    >>> message = Example.FromString(encode_example({"my_ints": [5, 6], "my_float": [2.5]}))
    >>> message.features.feature["my_ints"].int64_list.value
    [5, 6]
    """
    if not hasattr(row, "items"):
        raise TypeError(f"a record must be a dict of its features, not {type(row).__name__}")
    if schema is not None:
        return encode_examples({key: [value] for key, value in row.items()}, schema)[0]
    return b"".join(encode_features(FEATURES_TAG, row))


def encode_batches(
    columns: Mapping[str, Any], schema: Mapping[str, FeatureSpec] | None
) -> Iterator[Block]:
    """Encode columns as :func:`encode_examples`, as blocks that the cache holds.

    Errors come before the first block.
    """
    found = _outgoing(columns, schema)
    n_records = _n_records(found)
    n_bytes = sum(out.n_bytes for out in found.values())
    step = _BATCH_BYTES * n_records // max(n_bytes, 1)
    step = min(max(step, _FEWEST), _MOST)
    for first in range(0, n_records, step):
        last = min(first + step, n_records)
        part = {key: out.part(first, last) for key, out in found.items()}
        yield encode_lists(part, last - first)


def encode_rows(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, FeatureSpec]) -> Block:
    """Encode dictionaries as Example messages that fit a schema."""
    names = dict.fromkeys(chain.from_iterable(rows))
    return encode_examples({name: [row.get(name) for row in rows] for name in names}, schema)


def _outgoing(
    columns: Mapping[str, Any], schema: Mapping[str, FeatureSpec] | None
) -> dict[str, ValueLists]:
    if not hasattr(columns, "items"):
        found = type(columns).__name__
        raise TypeError(f"columns must be a dict, one column a feature, not {found}")
    if schema is not None:
        return conform(columns, schema)
    return {key: normalize(key, column) for key, column in columns.items() if column is not None}


def encode_lists(found: Mapping[str, ValueLists], n_records: int | None = None) -> Block:
    """Encode lists, one feature a key, as Example messages.

    Parameters
    ----------
    found : mapping of str to ValueLists
    n_records : int, optional
        How many; by default what the features say.
    """
    if n_records is None:
        n_records = _n_records(found)
    keys = sorted((encoded_key(key), key) for key in found)
    parts = [part for raw, key in keys for part in feature_parts(entry_levels(raw), found[key])]
    try:
        data, offsets, lengths = emit(FEATURES_TAG, parts, n_records)
    except WireError as error:
        reason, index = Reason.RECORD_TOO_LARGE, error.message
        raise InvalidArgumentError(reason, None, None, index, None, error.detail) from None
    return Block(data, offsets, lengths)


def _n_records(found: Mapping[str, ValueLists]) -> int:
    """Return the number of records that all columns have."""
    n_records = None
    for key, out in found.items():
        if n_records not in (None, out.n_records):
            raise column_error(
                key, f"{out.n_records} records, the columns before it have {n_records}"
            )
        n_records = out.n_records
    if n_records is None:
        detail = "no columns, so nothing says how many records there are"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return n_records


def entry_levels(key: bytes) -> tuple[bytes, bytes]:
    """Return what stands around the value of a map entry with a key."""
    return ENTRY_TAG, KEY_TAG + varint(len(key)) + key + VALUE_TAG


def feature_parts(entry: tuple[bytes, ...], out: ValueLists) -> list[Part]:
    """Return a Feature as parts of the messages, in some levels; two if some lists are empty."""
    nothing = Fixed(np.zeros((out.n_records, 0), np.uint8))
    if out.kind is None:
        return [Part(entry, nothing, out.present)]
    lists = (*entry, KIND_TAGS[out.kind])
    if isinstance(out.counts, int) and out.counts == 0:
        return [Part(lists, nothing, out.present)]
    payload = _PAYLOADS[out.kind](out)
    if out.kind is Kind.BYTES and not out.is_single:
        return [Part(lists, payload, out.present)]
    packed = Part((*lists, LIST_VALUE_TAG), payload, out.present)
    if isinstance(out.counts, int):
        return [packed]
    empty = out.counts == 0
    if not empty.any():
        return [packed]
    present = np.ones_like(empty) if out.present is None else out.present
    return [
        Part(packed.levels, payload, present & ~empty),
        Part(lists, nothing, present & empty),
    ]


def _float_payload(out: ValueLists) -> Payload:
    data = out.flat.view(np.uint8)
    if isinstance(out.counts, int):
        return Fixed(data.reshape(out.n_records, 4 * out.counts))
    lengths = 4 * out.counts
    return compact(data, row_splits(lengths)[:-1], lengths)


def _int64_payload(out: ValueLists) -> Payload:
    if out.is_single:
        cells, n_bytes = varint_rows(out.flat)
        width = int(n_bytes.max(initial=0))
        if width == n_bytes.min(initial=10):
            return Fixed(cells[:, :width])
        return Short(cells, n_bytes.astype(np.int64))
    sizes: Any
    data, sizes = varint_run(out.flat)
    if not isinstance(sizes, int):
        splits = row_splits(sizes.astype(np.int64))[row_splits(out.counts_array())]
        return compact(data, splits[:-1], np.diff(splits))
    if isinstance(out.counts, int):
        return Fixed(data.reshape(out.n_records, sizes * out.counts))
    lengths = sizes * out.counts
    return compact(data, row_splits(lengths)[:-1], lengths)


def _bytes_payload(out: ValueLists) -> Payload:
    flat = out.flat
    if isinstance(flat, ByteItems):
        if out.is_single:
            return Objects(flat.items, flat.lengths)
        flat = flat.to_ranges()
    payload = compact(flat.data, flat.starts, flat.lengths)
    if out.is_single:
        return payload
    data, sizes = emit_run((LIST_VALUE_TAG,), payload, flat.starts.size)
    splits = row_splits(sizes)[row_splits(out.counts_array())]
    return compact(data, splits[:-1], np.diff(splits))


_PAYLOADS: dict[Kind, Callable[[ValueLists], Payload]] = {
    Kind.BYTES: _bytes_payload,
    Kind.FLOAT: _float_payload,
    Kind.INT64: _int64_payload,
}
