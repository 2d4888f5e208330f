"""Data sets that ``tf.data.Dataset.save`` keeps: folders of tensors, without TensorFlow.

::

    dataset_spec.pb   ── spec ─> one Component per leaf: its name, dtype and shape
    snapshot.metadata ── spec ─> the files of the run that counts, in order
    RUN/*/*.snapshot  ── read ─> Lists per component, or a file of Examples; write makes such a folder
"""

from __future__ import annotations

from tfrecord_lite.saved.read import columns_of, elements_of, schema_of_saved
from tfrecord_lite.saved.spec import SavedData
from tfrecord_lite.saved.write import write_columns

__all__ = ["SavedData", "columns_of", "elements_of", "schema_of_saved", "write_columns"]
