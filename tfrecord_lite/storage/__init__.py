"""Saving and loading: a TFRecord file, with a sidecar for what Examples cannot hold.

::

    columns, rows ── flatten, schema_of ──> Examples ──> data.tfrecord
                          │
                          ╰── Schema, structure ──────> data.tfrecord.schema.json

=================  ==========================================================================
``saving``         :func:`save`
``data_files``     the files that ``saving`` writes: one, or the shards of a set
``loading``        :func:`load`
``described``      what describes files, for all readers: a schema, sidecars, or a sample
``infer``          :func:`summarize` and :func:`infer_schema`, for data without a schema
``sidecar``        schema files, written and read: ours, and with ``formats`` those of others
``structure``      nested dicts and tuples, as columns by name and back
``builder``        rows or frames, as batches of columns, and the one schema that fits all of them
``widening``       one schema for what was stored by either of two
``formats``        schemas of Super Serial, TensorFlow Datasets and TFX
=================  ==========================================================================

Nothing is pickled, and nothing in a sidecar can name code.
"""

from __future__ import annotations

from tfrecord_lite.storage.loading import load
from tfrecord_lite.storage.saving import save
from tfrecord_lite.storage.sidecar import load_schema

__all__ = ["load", "load_schema", "save"]
