"""What describes some files: a schema that is given, files beside the data, or a sample of the records."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.columns import Column
from tfrecord_lite.described import sidecar
from tfrecord_lite.described.columns import names_asked_for, names_of, with_columns, with_text
from tfrecord_lite.described.sidecar import SchemaLike, Sidecar
from tfrecord_lite.errors import InvalidArgumentError, TFRecordError, argument_error
from tfrecord_lite.example.parse import ExampleParser, parser_of_all
from tfrecord_lite.files.names import Source, is_saved, name_of
from tfrecord_lite.files.remote import for_each_file
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.schema import Schema, SequenceSchema, SparseFeature

if TYPE_CHECKING:
    from tfrecord_lite.block import Block
    from tfrecord_lite.example.decode.reader import StringForm
    from tfrecord_lite.example.sequence.parse import SequenceExampleParser


_SHARD_OF_SEQIO = r"^(.*/)?([^/]+)\.tfrecord-[0-9]+-of-[0-9]+$"
_TFDS_FILES = ("features.json", "dataset_info.json")


def described_by(
    schema: SchemaLike | None, sources: list[Source], options: ReadSettings
) -> Sidecar | None:
    """Return the schema that is given, or the schema of the files beside the data; None without any."""
    if schema is not None:
        return sidecar.resolve_schema(schema, options.storage_options)
    return _saved_of(sources, options) or sidecars_of(sources, options) or _in_folder_of(sources)


def dropping(
    schema: SchemaLike | None, sources: list[Source], options: ReadSettings
) -> ReadSettings:
    """Return options that, if `on_misfit` asks for it, drop the records that do not fit the schema."""
    if options.on_misfit == "raise":
        return options
    described = described_by(schema, sources, options)
    if described is None:
        from tfrecord_lite.example.survey import check_either  # noqa: PLC0415 - without a schema

        return options.dropping(check_either)
    if isinstance(described.schema, SequenceSchema):
        from tfrecord_lite.example.sequence.parse import SequenceExampleParser  # noqa: PLC0415

        return options.dropping(SequenceExampleParser(*described.schema, pad=False))
    return options.dropping(ExampleParser(described.schema))


def parser_for(
    schema: SchemaLike | None,
    sources: Sequence[Source],
    options: ReadSettings,
    strings: StringForm = "ndarray",
    *,
    columns: Sequence[str] | None = None,
    text: bool | Sequence[str] = False,
) -> ExampleParser[Column] | SequenceExampleParser:
    """Return the parser of what describes the records; by default a sample, whose features must be all.

    `columns` and `text` are as for :func:`load`.
    """
    columns = None if columns is None else names_of(columns)
    described = described_by(schema, list(sources), options)

    hint = None

    @functools.cache
    def sample() -> list[Block]:
        from tfrecord_lite.described import inferred  # noqa: PLC0415 - without a schema

        return inferred.first_blocks(sources, options, inferred.FOR_BATCHES.num_records)

    if described is None:
        from tfrecord_lite.described import inferred  # noqa: PLC0415 - without a schema

        names = names_asked_for(columns, text)
        policy = inferred.FOR_BATCHES
        described = Sidecar(inferred.inferred(sample(), policy, sources, names))
        hint = policy.hint if columns is None else None
    described.check_readable(columns)
    if text is not False:
        described = with_text(described, text, sample, columns)
    if columns is not None:
        described = with_columns(described, columns)
    if isinstance(described.schema, SequenceSchema):
        from tfrecord_lite.example.sequence.parse import SequenceExampleParser  # noqa: PLC0415

        return SequenceExampleParser(*described.schema, strings=strings)
    if hint is not None:
        return parser_of_all(described.schema, strings=strings, hint=hint)
    return ExampleParser(described.schema, strings=strings)


# --------------------------------------------------------------------------- for displays


def originals_of(
    sources: Sequence[Source], options: ReadSettings, *, may_be_damaged: bool = True
) -> Schema:
    """Return the features of Examples whose values had another dtype; none if that is not known for all files."""
    if may_be_damaged:
        options = replace(options, on_error="skip")
    try:
        description = described_by(None, list(sources), options)
    except (TFRecordError, OSError, ImportError):
        description = None
    if description is None or isinstance(description.schema, SequenceSchema):
        return Schema({})
    items = {}
    for name, item in description.schema.to_items().items():
        usual, is_sparse = (None, "string", item.kind.label), isinstance(item.spec, SparseFeature)
        if not is_sparse and getattr(item.original, "dtype", None) not in usual:
            items[name] = item
    return Schema.of_items(items)


def row_restorer(schema: Schema) -> Callable[[bytes], dict[str, AnyArray]]:
    """Return a function that gives such features of a record as arrays; none of a record that does not fit."""
    if not schema:
        return lambda _: {}
    parser = ExampleParser(schema)
    rounded = {name for name, item in schema.to_items().items() if item.is_narrowed}

    def restored(record: bytes) -> dict[str, AnyArray]:
        try:
            row = parser.parse_single(record)
        except TFRecordError:
            return {}
        flats = {name: getattr(value, "flat_values", value) for name, value in row.items()}
        values = {name: np.asarray(flat) for name, flat in flats.items()}
        for name in rounded & values.keys():  # to the digits that a float32 has
            values[name] = values[name].astype(np.float32).astype(str).astype(np.float64)
        return values

    return restored


# ----------------------------------------------------------------- files beside the data


def _in_folder_of(sources: list[Source]) -> Sidecar | None:
    """Read what describes the one folder that all files are in: the features.json of TFDS, the info of seqio."""
    names = [name_of(source) for source in sources if isinstance(source, str | os.PathLike)]
    folders = {os.path.dirname(name) for name in names}
    if len(names) != len(sources) or len(folders) != 1:
        return None
    features, info = (os.path.join(*folders, name) for name in _TFDS_FILES)
    if not os.path.isfile(features):
        return _of_seqio(names)
    try:
        return sidecar.read(features)
    except InvalidArgumentError:
        if os.path.isfile(info):
            raise
        return None  # it may be any program's


def _saved_of(sources: list[Source], options: ReadSettings) -> Sidecar | None:
    described: Sidecar | None = None
    for name in map(name_of, sources):
        if not is_saved(name):
            if described is None:
                continue
            raise argument_error("a file among saved data sets; read them apart", source=name)
        from tfrecord_lite.saved import SavedData, schema_of_saved  # noqa: PLC0415 - for them alone

        data = SavedData(name, options.storage_options)
        own = Sidecar(schema_of_saved(data, options), data.structure, refused=data.refused)
        if described is not None and described[:2] != own[:2]:
            detail = "this data set has another spec than those before it; read them apart"
            raise argument_error(detail, source=name)
        described = own
    return described


def _of_seqio(names: list[str]) -> Sidecar | None:
    """Read the ``info.SPLIT.json`` beside ``SPLIT.tfrecord-00000-of-00064``, of all splits alike; None without it."""
    places = {re.sub(_SHARD_OF_SEQIO, r"\g<1>info.\2.json", name) for name in names}
    if not all(place.endswith(".json") and os.path.isfile(place) for place in places):
        return None
    try:
        first, *others = map(sidecar.read, sorted(places))
    except InvalidArgumentError:
        return None  # it may be any program's
    return first if all(other == first for other in others) else None


def carried_by(sources: list[Source], options: ReadSettings) -> Sidecar | None:
    """Return the sidecar to write beside files that receive these records unchanged; None for no sidecar."""
    described = sidecars_of(sources, options)
    if described is not None:
        return described
    try:
        described = _saved_of(sources, options) or _in_folder_of(sources)
    except InvalidArgumentError:
        return None
    return None if described is None or described.refused else described


def sidecars_of(sources: list[Source], options: ReadSettings) -> Sidecar | None:
    """Merge the sidecars of all files; None if there are none."""
    names, storage_options = list(map(name_of, sources)), options.storage_options

    def read(source: Source) -> Sidecar | None:
        may_be_damaged = options.on_error != "raise"
        return sidecar.read_beside(source, storage_options, may_be_damaged=may_be_damaged)

    pairs = list(zip(sources, for_each_file(names, sources, read), strict=True))
    if not any(one for _, one in pairs):
        return None
    if len(pairs) == 1:
        return pairs[0][1]
    from tfrecord_lite.described.merging import merged_sidecars  # noqa: PLC0415 - for several files

    return merged_sidecars(pairs, options)
