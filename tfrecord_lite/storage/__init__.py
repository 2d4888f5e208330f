"""Data saved and loaded as they were: a TFRecord file, and a sidecar with what it cannot say.

::

    columns, rows ── flatten, schema_of ──> Examples ──> data.tfrecord
                          │
                          ╰── Schema, structure ──────> data.tfrecord.schema.json

    structure    nested dicts and tuples <-> columns by name
    widening     the schemas of batches, or of files, to one that fits all of them
    rows         an iterable of rows to batches of columns
    sidecar      reading and writing schema files, ours and others'
    stamps       which data a sidecar is of
    saving, loading                            what users call

Nothing is pickled, and nothing in a sidecar can name code.
"""

from __future__ import annotations

from tfrecord_lite.storage.loading import load
from tfrecord_lite.storage.saving import save
from tfrecord_lite.storage.sidecar import load_schema

__all__ = ["load", "load_schema", "save"]
