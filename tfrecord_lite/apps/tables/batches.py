"""Blocks of records to record batches of Arrow, all of one schema.

No files, no plan: whoever reads records, in whatever process, turns them into batches here.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.extension import Lists, Sidecar, SparseLists
from tfrecord_lite.schema import Schema, SequenceSchema
from tfrecord_lite.texts import choices, nearest

_BATCH_BYTES = 4 * 1024 * 1024
PANDAS_KEY = b"pandas"
"""Where Arrow's schemas, and so Parquet, have what pandas says of a frame."""
ROUNDED_KEY = b"tfrecord_lite.rounded"
"""Where they have the names of float64 columns that were rounded to float32, for fewer digits in texts."""
LEAST, _MOST = 64, 8192
"""Bytes of records in a batch, about, and bounds of their number."""


def fitting_size(block: Block, least: int) -> int:
    """Return the number of records in a batch of the usual size, if they are like the records of a block."""
    return min(max(_BATCH_BYTES * len(block) // max(block.nbytes, 1), least), _MOST)


class RecordBatches:
    """Makes record batches of one schema from blocks of records."""

    def __init__(
        self, described: Sidecar, names: Sequence[str] | None = None, hint: str | None = None
    ) -> None:
        described.check_readable(names)
        if names is not None:
            names = _checked(names, ext.items_of(described.schema), hint)
            described = _selected(described, names)
        self.described = described
        schema = described.schema
        self._loader = ext.Loader(
            described,
            names,
            # What nobody chose to leave out is not left out.
            rejects_others=hint is not None and names is None,
        )
        frame = described.dataframe or {}
        types = frame.get("columns", {}) if frame.get("library") == "arrow" else {}
        self._names = names
        self.hint = hint
        columns = self._lists(Block.from_records([]))
        kinds = {name: ext.target(name, types.get(name)) for name in columns}
        pa = ext.imported()
        fields = [
            pa.field(name, array.type)
            for name, array in zip(columns, self._arrays(columns, kinds), strict=True)
        ]
        # The schema of the features is in the metadata.
        metadata = {ext.SCHEMA_KEY: schema.to_json(None).encode()}
        rounded = [name for name, item in ext.items_of(schema).items() if item.is_narrowed]
        if rounded:
            metadata[ROUNDED_KEY] = json.dumps(rounded).encode()
        self.schema: Any = pa.schema(fields, metadata)
        self._types = dict(zip(self.schema.names, self.schema.types, strict=True))

    @property
    def features(self) -> Schema | SequenceSchema:
        """The schema with which the records are parsed."""
        schema = self.described.schema
        return schema if isinstance(schema, SequenceSchema) else schema.select(self.schema.names)

    def select(self, names: Sequence[str]) -> RecordBatches:
        """Return the same of some columns; the others are not parsed."""
        chosen = _checked(names, self.schema.names, self.hint)
        return RecordBatches(self.described, chosen, self.hint)

    def of(self, block: Block) -> Any:
        """Return the batch of a block."""
        record_batch = ext.imported().RecordBatch
        is_chosen = self._names is not None or self.hint is None
        if not len(self.schema) and is_chosen:  # of rows without columns only the number is known
            counted = ext.imported().array(np.zeros(len(block), np.bool_))
            return record_batch.from_arrays([counted], ["rows"]).select([])
        try:
            columns = self._lists(block)
            try:
                arrays = self._arrays(columns, self._types)
            except InvalidArgumentError as error:
                raise (
                    error if error.index is None else block.place(error.index).locate(error)
                ) from None
        except InvalidArgumentError as error:
            if self.hint is None or error.key is None:
                raise
            raise error.at(detail=f"{error.detail or error.reason}; {self.hint}") from None
        return record_batch.from_arrays(arrays, schema=self.schema)

    def _lists(self, block: Block) -> dict[str, Lists | SparseLists]:
        lists = self._loader.lists_of(block)
        return lists if self._names is None else {name: lists[name] for name in self._names}

    def _arrays(
        self, columns: Mapping[str, Lists | SparseLists], types: Mapping[str, Any]
    ) -> list[Any]:
        return [ext.array_of(name, lists, types.get(name)) for name, lists in columns.items()]


def rounded_in(schema: Any) -> set[str]:
    """Return the float64 columns of an Arrow schema that were rounded to float32."""
    return set(json.loads((schema.metadata or {}).get(ROUNDED_KEY, b"[]")))


def as_rounded(array: Any) -> Any:
    """Return float64 as the float32 that they all are, at any depth of lists; others as they are."""
    pa = ext.imported()
    flat = array
    while hasattr(flat, "flatten") and ext.form_of(flat.type) in ("list", "fixed list"):
        flat = flat.flatten()
    if flat.type != pa.float64():
        return array
    values = flat.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        if not np.array_equal(values, values.astype(np.float32), equal_nan=True):
            return array
    return array.cast(ext.changed_type(array.type, lambda _: pa.float32()))


def with_pandas(schema: Any, described: Sidecar) -> Any:
    """Return an Arrow schema with the metadata by which pandas restores index and dtypes, if they are known."""
    frame = described.dataframe or {}
    metadata = json.dumps(frame["pandas"]).encode() if "pandas" in frame else None
    if frame.get("library") == "pandas":
        # Of some columns, without the index.
        if not set(ext.index_names(frame)) <= set(schema.names):
            frame = {key: word for key, word in frame.items() if key != "index"}
        with contextlib.suppress(ImportError):
            tables = [schema.empty_table()]
            empty = ext.joined_frame("pandas", tables, described.schema.originals, frame)
            metadata = ext.imported().Schema.from_pandas(empty).metadata[PANDAS_KEY]
    if metadata is None:
        return schema
    return schema.with_metadata({**(schema.metadata or {}), PANDAS_KEY: metadata})


def _checked(names: Sequence[str], known: Collection[str], hint: str | None) -> list[str]:
    """Return a choice of columns; raise about a name that is unknown, or occurs twice."""
    names = ext.names_of(names)
    for i, name in enumerate(names):
        if name not in known:
            sampled = f"; {hint}" if hint and not nearest(name, known) else ""
            raise argument_error(f"no column {name!r}{choices(name, known)}{sampled}")
        if name in names[:i]:
            raise argument_error(f"the column {name!r} is there twice")
    return names


def _selected(described: Sidecar, names: list[str]) -> Sidecar:
    """Return what describes some columns; a frame of pandas keeps its index."""
    schema = described.schema
    if isinstance(schema, SequenceSchema):
        items = ext.items_of(schema)
        chosen = ext.schema_like(schema, {name: items[name] for name in items if name in names})
        return described._replace(schema=chosen)
    if (described.dataframe or {}).get("library") == "pandas":
        return described  # its loader selects
    return Sidecar(schema.select(names), dataframe=described.dataframe)
