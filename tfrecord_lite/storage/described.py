"""What describes the records of files: a schema that is given, files beside them, or a sample of the records.

::

    schema ──────────────────────────────> Schema, and of sidecars the structure
    data.tfrecord.schema.json, merged ──┤
    features.json of TFDS ──────────────┤
    the first records, surveyed ────────╯

All readers ask here, so that all read the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.block import Block
from tfrecord_lite.convert.arrow import merged_description, without_numbers
from tfrecord_lite.errors import InvalidArgumentError, Reason, TFRecordError, argument_error
from tfrecord_lite.example.parse import ExampleParser, parser_of_all
from tfrecord_lite.example.sequence.parse import SequenceExampleParser
from tfrecord_lite.example.survey import Survey
from tfrecord_lite.files.names import Source, Sources, is_file_object, name_of, position_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.reader import TFRecordReader, reader_with
from tfrecord_lite.schema import (
    FixedLenFeature,
    Kind,
    Original,
    Schema,
    SchemaItem,
    SequenceSchema,
    SparseFeature,
)
from tfrecord_lite.schema.text import nearest
from tfrecord_lite.sniff import text_of
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.infer import first_of
from tfrecord_lite.storage.sidecar import Sidecar
from tfrecord_lite.storage.structure import Structure, is_flat_dict
from tfrecord_lite.storage.structure import merged as merged_structures
from tfrecord_lite.storage.widening import IncompatibleError, as_absent, as_ragged, widened

if TYPE_CHECKING:
    from tfrecord_lite.example.decode.reader import StringForm
    from tfrecord_lite.storage.sidecar import SchemaLike

SAMPLE = 10_000
"""Records from which a schema is inferred, where not all are read."""
_FROM_SAMPLE = "the schema is that of a sample, the first records: pass schema"
_SAMPLE_BYTES = 64 * 1024 * 1024
_TFDS_FILES = ("features.json", "dataset_info.json")


def described_by(
    schema: SchemaLike | None, sources: list[Source], options: ReadSettings
) -> Sidecar | None:
    """Return the schema that is given, or that of the files beside the data; None without any."""
    if schema is not None:
        return sidecar.resolve_schema(schema, options.storage_options)
    return sidecars_of(sources, options) or _tfds_of(sources)


def parser_for(
    schema: SchemaLike | None,
    sources: Sequence[Source],
    options: ReadSettings,
    strings: StringForm = "ndarray",
) -> ExampleParser[Any] | SequenceExampleParser:
    """Return the parser of what describes the records; by default a sample, whose features must be all."""
    found = described_by(schema, list(sources), options)
    described: Any = inferred(sources, options) if found is None else found.schema
    if isinstance(described, SequenceSchema):
        return SequenceExampleParser(*described, strings=strings)
    if found is None:
        return parser_of_all(described, strings=strings, hint=_FROM_SAMPLE)
    return ExampleParser(described, strings=strings)


def reader_ahead(sources: Sources, options: ReadSettings) -> TFRecordReader:
    """Return a reader for a first look; damage is reported when the data are read, not before."""
    if options.on_error != "raise":
        options = replace(options, on_error=lambda span: None, max_errors=None)  # noqa: ARG005
    reader = reader_with(sources, options)
    for source in reader.sources:
        if is_file_object(source) and position_of(source) is None:
            detail = "a stream that cannot seek is read only once; give schema, and text by name"
            raise argument_error(detail, source=name_of(source))
    return reader


# --------------------------------------------------------------------------- for displays


def originals_of(
    sources: Sequence[Source], options: ReadSettings, *, may_be_damaged: bool = True
) -> Schema:
    """Return the features of Examples whose values had another dtype; none if nothing tells, or not for all files.

    Sidecars of files that are damaged since are used, too: what is intact is shown as it was saved.
    """
    if may_be_damaged:
        options = replace(options, on_error="skip")
    try:
        found = described_by(None, list(sources), options)
    except (TFRecordError, OSError, ImportError):
        found = None
    if found is None or isinstance(found.schema, SequenceSchema):
        return Schema({})
    items = {
        name: item
        for name, item in found.schema.to_items().items()
        if item.original is not None
        and item.original.dtype not in ("string", item.kind.label)
        and not isinstance(item.spec, SparseFeature)
    }
    return Schema.of_items(items)


def row_restorer(schema: Schema) -> Callable[[bytes], dict[str, AnyArray]]:
    """Return a function that gives such features of a record as arrays; none of a record that does not fit."""
    if not schema:
        return lambda _: {}
    parser = ExampleParser(schema)

    def restored(record: bytes) -> dict[str, AnyArray]:
        try:
            row = parser.parse_single(record)
        except TFRecordError:
            return {}
        return {
            name: np.asarray(getattr(value, "flat_values", value)) for name, value in row.items()
        }

    return restored


# ----------------------------------------------------------------------------- a sample


def first_blocks(sources: Sequence[Source], options: ReadSettings, size: int | None) -> list[Block]:
    """Return the records at the start of some files, up to their number or size."""
    found: list[Block] = []
    n_bytes = 0
    with closing(first_of(reader_ahead(sources, options).blocks(), size)) as blocks:
        for block in blocks:
            found.append(block)
            n_bytes += block.nbytes
            if n_bytes >= _SAMPLE_BYTES:
                break
    return found


def inferred(
    sources: Sequence[Source], options: ReadSettings, blocks: Iterable[Block] | None = None
) -> Schema | SequenceSchema:
    """Return the schema of some blocks, by default of the first records."""
    survey = Survey()
    for block in first_blocks(sources, options, SAMPLE) if blocks is None else blocks:
        survey.add(block)
    try:
        return survey.summary().schema()
    except InvalidArgumentError as error:
        name = name_of(sources[0]) if len(sources) == 1 else None
        detail = f"{error.detail}; give schema, which says what the columns are"
        raise error.at(detail=detail, source=name) from None


# ----------------------------------------------------------------- files beside the data


def _tfds_of(sources: list[Source]) -> Sidecar | None:
    """Read the features.json of TensorFlow Datasets in the one folder that all files are in, if it is there."""
    names = [name_of(source) for source in sources if isinstance(source, str | os.PathLike)]
    folders = {os.path.dirname(name) for name in names}  # noqa: PTH120 - may be URLs
    if len(names) != len(sources) or len(folders) != 1:
        return None
    features, info = (os.path.join(*folders, name) for name in _TFDS_FILES)  # noqa: PTH118
    if not os.path.isfile(features):  # noqa: PTH113
        return None
    try:
        return sidecar.read(features)
    except InvalidArgumentError:
        if os.path.isfile(info):  # noqa: PTH113
            raise
        return None  # it may be any program's


def sidecars_of(sources: list[Source], options: ReadSettings) -> Sidecar | None:
    """Merge the sidecars of all files; None if there are none."""
    may_skip = options.on_error != "raise"
    found = [
        (s, sidecar.read_beside(s, options.storage_options, may_be_damaged=may_skip))
        for s in sources
    ]
    if not any(one for _, one in found):
        return None

    def without(one: Sidecar | None) -> Sidecar | None:
        """Return what the sidecars of a frame's shards have in common."""
        return one and one._replace(dataframe=without_numbers(one.dataframe))

    alike = [without(one) for _, one in found]
    if any(one != alike[0] for one in alike):
        # A file without records goes with any others.
        found = [pair for pair in found if _has_records(pair[0], options)] or found
    merged: Sidecar | None = None
    for source, one in found:
        if one is None:
            detail = "this file has no sidecar, but others have; give schema"
            raise argument_error(detail, source=name_of(source))
        if merged is None:
            merged = one
        elif without(merged) == without(one):
            described = merged_description(merged.dataframe, one.dataframe)
            merged = merged._replace(dataframe=described)
        else:
            merged = _merged(merged, one, source)
    return merged


def _has_records(source: Source, options: ReadSettings) -> bool:
    with closing(reader_ahead(source, options).blocks(1)) as blocks:  # type: ignore[type-var]
        return next(blocks, None) is not None


def _merged(merged: Sidecar, one: Sidecar, source: Source) -> Sidecar:
    """Merge the sidecar of one more file into that of the files before."""
    if isinstance(merged.schema, SequenceSchema) or isinstance(one.schema, SequenceSchema):
        detail = "this file's schema differs from that of the files before; give schema"
        raise argument_error(detail, source=name_of(source))
    ours, theirs = merged.schema.to_items(), one.schema.to_items()
    if ours and theirs and not ours.keys() & theirs.keys():
        detail = "this file has none of the features of those before it"
        raise argument_error(detail, source=name_of(source))
    structure = merged_structures(*(structure_of(each) for each in (merged, one)))
    if structure is None:
        detail = "this file's data are nested differently than those before it"
        raise argument_error(detail, source=name_of(source))
    items = {}
    for name in {**ours, **theirs}:
        try:
            if name in ours and name in theirs:
                items[name] = _widened(name, ours[name], theirs[name])
            else:
                items[name] = as_absent(name, ours.get(name) or theirs[name])
        except IncompatibleError as error:
            detail = f"{error}; shards that are saved with one schema= always go together"
            raise argument_error(detail, source=name_of(source), key=name) from None
    structure = None if is_flat_dict(structure) else structure
    dataframe = merged_description(merged.dataframe, one.dataframe)
    return Sidecar(Schema.of_items(items), structure, dataframe=dataframe)


def _widened(name: str, ours: SchemaItem, theirs: SchemaItem) -> SchemaItem:
    """Return the item that fits the files before and one more.

    A feature without any value was saved as byte strings, as nothing told its type; if such a file
    does have byte strings, its records will not fit.
    """
    pairs = ((ours, theirs), (theirs, ours))
    for item, other in pairs:
        if other.original == Original("string", (), missing=True):
            return as_absent(name, item)
    for item, other in pairs:
        if other.original == Original("string", (None,)):
            return as_ragged(name, item, missing_as_empty=True)
    return widened(name, ours, theirs, missing_as_empty=True)


def structure_of(described: Sidecar) -> Structure:
    """Return the structure of data, also that of a flat dict."""
    names: Structure = {name: name for name in described.schema}
    return names if described.structure is None else described.structure


# ---------------------------------------------------------------------------------- text


def with_text(described: Sidecar, text: Any, looked: Callable[[], list[Block]]) -> Sidecar:
    """Return a schema that says which columns of byte strings are text."""
    schema = described.schema
    if isinstance(schema, SequenceSchema):
        detail = "text is for Examples; columns of SequenceExamples are byte strings"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    names = [name for name, item in schema.to_items().items() if _may_be_text(item)]
    if isinstance(text, str):
        raise TypeError(f"text must be a bool or a list of names, not the str {text!r}")
    if text is True:
        chosen = _texts_in(described, names, looked()) if names else []
    else:
        chosen = list(text)
        for name in chosen:
            if name not in names:
                detail = f"{name!r} in text is not a column of byte strings{nearest(name, names)}"
                raise argument_error(detail)
    items = schema.to_items()
    for name in chosen:
        item = items[name]
        if item.original is not None:
            original = replace(item.original, text="str")
        else:
            shape = item.spec.shape if isinstance(item.spec, FixedLenFeature) else (None,)
            original = Original("string", shape, "str")
        items[name] = item._replace(original=original)
    return described._replace(schema=Schema.of_items(items))


def _may_be_text(item: SchemaItem) -> bool:
    """Return whether a feature has byte strings that nothing says are text."""
    if item.original is not None:
        return item.original.dtype == "string" and item.original.text is None
    return item.kind is Kind.BYTES and not getattr(item.spec, "partitions", ())


def _texts_in(described: Sidecar, names: list[str], blocks: list[Block]) -> list[str]:
    """Return the columns whose byte strings are all printable text, and some not empty."""
    parse = ExampleParser(described.schema.select(names))
    is_text = dict.fromkeys(names, True)
    has_any = dict.fromkeys(names, False)
    for block in blocks:
        for name, column in parse(block).items():
            flat: Any = getattr(column, "flat_values", getattr(column, "values", column))
            values = np.ma.compressed(flat).tolist()
            has_any[name] |= any(values)
            is_text[name] &= all(text_of(value) is not None for value in values)
    return [name for name in names if has_any[name] and is_text[name]]
