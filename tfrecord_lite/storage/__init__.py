"""Saving and loading: a TFRecord file, with a sidecar for what Examples cannot hold.

::

    saving         save: columns, rows ──> Examples, schema, structure
    data_files     the files that saving writes: one, new or appended to, or the shards of a set
    builder        batches as columns, and the one schema that fits all of them
    loading        load
    infer          summarize and infer_schema, for data without a schema

Nothing is pickled, and nothing in a sidecar can name code.
"""

from __future__ import annotations

from tfrecord_lite.storage.loading import load, num_saved_shards, saved_elements
from tfrecord_lite.storage.saving import save, save_elements

__all__ = ["load", "num_saved_shards", "save", "save_elements", "saved_elements"]
