"""The sidecars of several files as one, which describes what is read of all."""

from __future__ import annotations

from contextlib import closing

from tfrecord_lite.described.frames import merged_description, without_numbers
from tfrecord_lite.described.inferred import blocks_ahead
from tfrecord_lite.described.sidecar import Sidecar
from tfrecord_lite.described.structure import is_flat_dict
from tfrecord_lite.described.structure import merged as merged_structures
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.files.names import Source, name_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.schema import Original, Schema, SchemaItem, SequenceSchema
from tfrecord_lite.schema.types import IncompatibleError, as_absent, as_ragged, widened


def merged_sidecars(
    pairs: list[tuple[Source, Sidecar | None]], options: ReadSettings
) -> Sidecar | None:
    """Merge the sidecars of files, some of which may have none."""

    def without(one: Sidecar | None) -> Sidecar | None:
        """Return what the sidecars of a frame's shards have in common."""
        return one and one._replace(dataframe=without_numbers(one.dataframe))

    alike = [without(one) for _, one in pairs]
    if any(one != alike[0] for one in alike):
        # A file without records goes with any others.
        pairs = [pair for pair in pairs if _has_records(pair[0], options)] or pairs
    merged: Sidecar | None = None
    for source, one in pairs:
        if one is None:
            detail = "this file has no sidecar, but others have; give schema"
            raise argument_error(detail, source=name_of(source))
        if merged is None:
            merged = one
        elif without(merged) == without(one):
            merged = merged._replace(dataframe=merged_description(merged.dataframe, one.dataframe))
        else:
            merged = _merged(merged, one, source)
    return merged


def _has_records(source: Source, options: ReadSettings) -> bool:
    with closing(blocks_ahead([source], options)) as blocks:
        return next(blocks, None) is not None


def _merged(merged: Sidecar, one: Sidecar, source: Source) -> Sidecar:
    def error(detail: str, key: str | None = None) -> InvalidArgumentError:
        return argument_error(detail, source=name_of(source), key=key)

    if isinstance(merged.schema, SequenceSchema) or isinstance(one.schema, SequenceSchema):
        raise error("this file's schema differs from the files before; give schema")
    ours, theirs = merged.schema.to_items(), one.schema.to_items()
    if ours and theirs and not ours.keys() & theirs.keys():
        raise error("this file has none of the features of those before it")
    structure = merged_structures(merged.nesting, one.nesting)
    if structure is None:
        raise error("this file's data are nested differently than those before it")
    items = {}
    for name in {**ours, **theirs}:
        try:
            if name in ours and name in theirs:
                items[name] = _widened(name, ours[name], theirs[name])
            else:
                items[name] = as_absent(name, ours.get(name) or theirs[name])
        except IncompatibleError as misfit:
            detail = f"{misfit}; shards that are saved with one schema= always go together"
            raise error(detail, name) from None
    structure = None if is_flat_dict(structure) else structure
    dataframe = merged_description(merged.dataframe, one.dataframe)
    return Sidecar(Schema.of_items(items), structure, dataframe=dataframe)


def _widened(name: str, ours: SchemaItem, theirs: SchemaItem) -> SchemaItem:
    """Return the item that fits the files before and one more.

    A feature without any value was saved as byte strings, as its type was not known; if such a file
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
