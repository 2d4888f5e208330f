"""Saving and loading: a TFRecord file, with a sidecar for what Examples cannot hold.

::

    columns, rows ── flatten, schema_of ──> Examples ──> data.tfrecord
                          │
                          ╰── Schema, structure ──────> data.tfrecord.schema.json

=================  ==========================================================================
``saving``         :func:`save`
``data_files``     the files that ``saving`` writes: one, or the shards of a set
``loading``        :func:`load`
``infer``          :func:`summarize` and :func:`infer_schema`, for data without a schema
``builder``        rows or frames, as batches of columns, and the one schema that fits all of them
=================  ==========================================================================

Nothing is pickled, and nothing in a sidecar can name code.
"""

from __future__ import annotations

from tfrecord_lite.storage.loading import load, num_saved_shards, saved_elements
from tfrecord_lite.storage.saving import save, save_elements

__all__ = ["load", "num_saved_shards", "save", "save_elements", "saved_elements"]
