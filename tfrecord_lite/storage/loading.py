"""load: TFRecord files to the columns they were saved from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.join import join
from tfrecord_lite.convert.lossless import is_raw, restore
from tfrecord_lite.errors import InvalidArgumentError, Reason, TFRecordError
from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.example.survey import reject_sequences
from tfrecord_lite.files.names import expand, name_of
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.records.framing import MAX_RECORD_BYTES
from tfrecord_lite.records.limits import ReadingLimits
from tfrecord_lite.schema import Schema, kind_of
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.infer import closed, infer_schema, summarize
from tfrecord_lite.storage.stream_schema import Conflict, as_missing, as_ragged, widened
from tfrecord_lite.storage.structure import rebuild

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Source, Sources
    from tfrecord_lite.records.damage import OnError
    from tfrecord_lite.storage.stream_schema import Feature
    from tfrecord_lite.storage.structure import Structure

    SchemaPath = str | os.PathLike[str] | Schema | None

_MOST_MADE_UP = 2**24
"""Values that are made for records without any, on the word of a schema alone."""
_WIDE_BYTES = 2**28
_WIDE_TIMES = 16
"""Fixed-width strings may take so many bytes, unless they are about as long as that."""


@overload
def load(
    path: Sources,
    schema_path: SchemaPath = None,
    batch_size: None = None,
    *,
    compression: CompressionType = None,
    on_error: OnError = "raise",
    max_errors: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
) -> Any: ...
@overload
def load(
    path: Sources,
    schema_path: SchemaPath = None,
    *,
    batch_size: int,
    compression: CompressionType = None,
    on_error: OnError = "raise",
    max_errors: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
) -> Iterator[Any]: ...
def load(
    path: Sources,
    schema_path: SchemaPath = None,
    batch_size: int | None = None,
    *,
    compression: CompressionType = None,
    on_error: OnError = "raise",
    max_errors: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
) -> Any:
    """Load what :func:`save` saved, or any file of Examples.

    Parameters
    ----------
    path : str, PathLike, file object, or a list of them
        One file or many, patterns included, as for :class:`TFRecordReader`.
    schema_path : str, PathLike or Schema, optional
        The sidecar, or another program's schema file, as :func:`load_schema` reads them; or
        a schema itself. By default the ``.schema.json`` beside each file; what has none is
        inferred, which reads the files twice.
    batch_size : int, optional
        Give an iterator of batches of so many records, the last maybe smaller, instead of
        all of it at once.
    compression : str, optional
        As for :class:`TFRecordReader`; None finds it out.
    on_error, max_errors : optional
        What to do about damage, as for :class:`TFRecordReader`. A record that does not fit
        the schema is no damage.
    max_record_bytes : int, optional
    max_inflated_bytes : int, optional
    max_inflated_ratio : float, optional
        How large records, and what is inflated, may be, as for :class:`TFRecordReader`.

    Returns
    -------
    dict, tuple or column
        In the structure that was saved, with the original dtypes and shapes: ndarray;
        masked array where records lack the value; RaggedTensor where lengths vary. Byte
        strings are object arrays. Without a sidecar or schema it is a dict of float32, int64
        and byte strings. With `batch_size`, an iterator of them.

    Raises
    ------
    FileNotFoundError
        For data or a given schema that is not there.
    DataLossError
        For a damaged file.
    InvalidArgumentError
        For a record that does not fit the schema: ``MISSING``, ``WRONG_KIND``,
        ``WRONG_COUNT``, ``MALFORMED`` (as of a SequenceExample), with its file, number and
        key; for schema files as :func:`load_schema`; ``BAD_ARGUMENT`` for files whose sidecars
        do not go together, and for a sidecar beside other data than it was written for. One
        that is given as `schema_path` is not asked for that.

    Notes
    -----
    Needs memory for the columns, twice while they are joined, and for a megabyte of
    records. What a schema says of sizes is compared with the data before memory is taken
    for it.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "data.tfrecord")
    >>> schema = save(path, {"image": np.zeros((5, 2, 2), np.uint8), "label": np.arange(5)})
    >>> load(path)["image"].shape
    (5, 2, 2)
    >>> for batch in load(path, batch_size=2):
    ...     print(batch["label"])
    [0 1]
    [2 3]
    [4]
    """
    sources = _sources(path)
    limits = ReadingLimits(max_record_bytes, max_inflated_bytes, max_inflated_ratio)
    reader = _reader(sources, compression, limits, on_error=on_error, max_errors=max_errors)
    if isinstance(schema_path, Schema):
        schema, structure = schema_path, None
    elif schema_path is not None:
        schema, structure = sidecar.read(schema_path)
    else:
        # Damage is told of when the data are read, and not before.
        ahead = reader if on_error == "raise" else _looking_ahead(sources, limits, compression)
        schema, structure = _beside(sources, limits) or (infer_schema(ahead), None)
    batches = _Batches(reader, schema, structure)
    if batch_size is None:
        return batches.whole()
    return batches.each(reader.blocks(batch_size))


def _sources(path: Sources) -> list[Source]:
    """List the files; a pattern that matches sidecars as well does not mean them."""
    sources = expand(path)
    data = [source for source in sources if not name_of(source).endswith(sidecar.SUFFIX)]
    return data or sources


def _reader(
    sources: Sources, compression: CompressionType, limits: ReadingLimits, **damage: Any
) -> TFRecordReader:
    return TFRecordReader(sources, compression, **limits.as_arguments(), **damage)


def _looking_ahead(
    sources: Sources, limits: ReadingLimits, compression: CompressionType = None
) -> TFRecordReader:
    """Return a reader for what is not data yet: it goes on behind damage, and says nothing."""
    return _reader(sources, compression, limits, on_error=lambda span: None)  # noqa: ARG005


def _beside(sources: list[Source], limits: ReadingLimits) -> tuple[Schema, Structure | None] | None:
    """Read the sidecars of all files into one; None if there are none."""
    found = [_one_beside(source) for source in sources]
    if not any(found):
        return None
    whole: tuple[Schema, Structure | None] | None = None
    before: list[Source] = []
    # What was saved from no rows says nothing of those in other files.
    some = [
        bool(one and one[0]) or not _is_empty(s, limits)
        for s, one in zip(sources, found, strict=True)
    ]
    for source, one, has_some in zip(sources, found, some, strict=True):
        if not has_some and any(some):
            continue
        if one is None:
            detail = "a file without a sidecar among files that have one; give schema_path"
            raise _refuse(detail, name_of(source))
        if whole is None:
            whole = one
        elif whole != one:
            whole = _merged(whole, one, before, source, limits)
        before.append(source)
    return whole


def _is_empty(source: Source, limits: ReadingLimits) -> bool:
    """Whether a file has no records."""
    blocks = _looking_ahead(source, limits).blocks(1)
    with closed(blocks):
        return next(blocks, None) is None


def _one_beside(source: Source) -> tuple[Schema, Structure | None] | None:
    if not isinstance(source, (str, os.PathLike)):
        return None
    try:
        return sidecar.read_beside(name_of(source))
    except FileNotFoundError:
        return None


def _merged(
    whole: tuple[Schema, Structure | None],
    one: tuple[Schema, Structure | None],
    before: list[Source],
    last: Source,
    limits: ReadingLimits,
) -> tuple[Schema, Structure | None]:
    """Return what fits the files so far and one more."""
    source = name_of(last)
    (schema, structure), (other, its_structure) = whole, one
    if structure != its_structure or schema.keys() != other.keys():
        raise _refuse("a file of other features than those before it", source)
    specs, originals = {}, {}
    for name in schema:
        pair = [(s[name], s.originals.get(name)) for s in (schema, other)]
        try:
            try:
                specs[name], original = widened(name, *pair)
            except Conflict:
                fitted = _beside_nothing(name, pair[0], pair[1], [last], limits)
                fitted = fitted or _beside_nothing(name, pair[1], pair[0], before, limits)
                if fitted is None:
                    raise
                specs[name], original = fitted
        except Conflict as conflict:
            raise _refuse(str(conflict), source, name) from None
        if original is not None:
            originals[name] = original
    return Schema(specs, originals), structure


def _beside_nothing(
    name: str, feature: Feature, other: Feature, sources: list[Source], limits: ReadingLimits
) -> Feature | None:
    """Return what fits a feature, and files where it never has a value; None if it has one.

    Such a feature was saved as one of byte strings, for want of anything else.
    """
    original = other[1]
    if original is None or original.dtype != "string" or original.text is not None:
        return None
    if not original.missing and original.shape != (None,):
        return None
    for source in sources:
        summary = summarize(_looking_ahead(source, limits))
        if name in summary and summary[name].lengths != (0, 0):
            return None
    return as_missing(name, feature) if original.missing else as_ragged(name, feature)


def _refuse(detail: str, source: str | None = None, key: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.BAD_ARGUMENT, source=source, key=key, detail=detail)


class _Batches:
    """Turns blocks into what was saved."""

    def __init__(self, reader: TFRecordReader, schema: Schema, structure: Structure | None) -> None:
        self._reader = reader
        self._schema = schema
        plain: Structure = {name: name for name in schema}
        self._structure = plain if structure is None else structure
        originals = schema.originals
        self._raw = {
            name
            for name, spec in schema.items()
            if is_raw(originals.get(name), kind_of(spec.dtype))  # type: ignore[attr-defined]
        }
        # Raw values come as one column; an object for each string would only be in the way.
        self._parse = ExampleParser(schema, strings="BytesColumn") if schema else None

    def each(self, blocks: Iterator[Block]) -> Iterator[Any]:
        """Yield the records of each block."""
        for columns in self._columns(blocks):
            yield rebuild(self._structure, columns)

    def whole(self) -> Any:
        """Return the records of all blocks."""
        parts: dict[str, list[Any]] = {name: [] for name in self._schema}
        for columns in self._columns(self._reader.blocks()):
            for name, column in columns.items():
                parts[name].append(column)
        if not any(parts.values()):
            return rebuild(self._structure, self._restored(Block.from_records([])))
        # What is joined is let go, so that no more than one column is there twice.
        whole = {name: join(parts.pop(name)) for name in list(parts)}
        return rebuild(self._structure, whole)

    def _columns(self, blocks: Iterator[Block]) -> Iterator[dict[str, Any]]:
        is_first = True
        with closed(blocks):
            for block in blocks:
                reject_sequences(block, is_first=is_first)
                is_first = False
                yield self._restored(block)

    def _restored(self, block: Block) -> dict[str, Any]:
        """Return the columns of a block."""
        if self._parse is None:
            return {}
        parsed = {
            name: column if name in self._raw else _objects(column)
            for name, column in self._parse(block).items()
        }
        try:
            self._check_sizes(parsed, len(block))
            restored = restore(parsed, self._schema)
        except InvalidArgumentError as error:
            if error.index is None:
                raise
            raise block.place(error.index).locate(error) from None
        except TFRecordError:
            raise
        except (ValueError, OverflowError) as error:
            # Of NumPy, about shapes that no array can have.
            detail = f"the schema's originals are none that arrays can have: {error}"
            raise _refuse(detail) from None
        return {name: _objects(column) for name, column in restored.items()}

    def _check_sizes(self, parsed: dict[str, Any], n_records: int) -> None:
        """Refuse to make arrays whose size nothing but the schema speaks for."""
        for name, original in self._schema.originals.items():
            column: Any = parsed[name]
            flat = getattr(column, "flat_values", column)
            flat = flat.values if isinstance(flat, SparseTensor) else flat
            if original.missing and len(flat) == 0:
                size = n_records
                for dim in original.shape or ():
                    size *= dim or 0
                if size > _MOST_MADE_UP:
                    detail = f"no record has a value, and the shape {original.shape} is large"
                    raise InvalidArgumentError(Reason.WRONG_COUNT, key=name, detail=detail)
            if original.text is not None and original.text[0] in "SU":
                self._check_width(name, flat, original.text)

    def _check_width(self, name: str, flat: Any, text: str) -> None:
        width = int(text[1:]) * (4 if text[0] == "U" else 1)
        count = flat.size if isinstance(flat, np.ndarray) else len(flat)
        if count * width <= _WIDE_BYTES:
            return
        lengths = flat.lengths if isinstance(flat, BytesColumn) else map(len, flat.ravel())
        longest = max(map(int, lengths), default=0)
        if width > _WIDE_TIMES * max(longest, 1) * (4 if text[0] == "U" else 1):
            detail = f"strings of fixed width {text}, the longest of {count} has {longest} bytes"
            raise InvalidArgumentError(Reason.WRONG_COUNT, key=name, detail=detail)


def _objects(column: Any) -> Any:
    """Return a column with byte strings as an object array."""
    if isinstance(column, BytesColumn):
        return column.to_numpy()
    if isinstance(column, RaggedTensor):
        inner = _objects(column.values)
        return RaggedTensor(inner, column.row_splits, column.uniform_row_length)
    if isinstance(column, SparseTensor):
        return SparseTensor(column.indices, _objects(column.values), column.dense_shape)
    return column
