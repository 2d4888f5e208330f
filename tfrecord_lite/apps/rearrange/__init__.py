"""Records from files to files as they are: their bytes and checksums do not change.

::

    TFRecordReader ── Block ──(shuffle, pick)──> Block ── one file, or shards

=============  ==============================================================================
``files``      :func:`merge_files`, :func:`split_files` and :func:`filter_records`
``parts``      :func:`split_records`, into train, validation and test
``shuffling``  :func:`shuffle_records`, in a bounded amount of memory
``sampling``   :func:`sample_records`
``unique``     :func:`unique_records`, in a bounded amount of memory
``transfer``   what they share: the blocks of a reader, with the schema beside its files, and
               the files that are written, which appear together
=============  ==============================================================================
"""

from __future__ import annotations

from tfrecord_lite.apps.rearrange.files import filter_records, merge_files, split_files
from tfrecord_lite.apps.rearrange.parts import split_records
from tfrecord_lite.apps.rearrange.sampling import sample_records
from tfrecord_lite.apps.rearrange.shuffling import shuffle_records
from tfrecord_lite.apps.rearrange.transfer import Rearranged, TargetOptions
from tfrecord_lite.apps.rearrange.unique import unique_records

__all__ = [
    "Rearranged", "TargetOptions", "filter_records", "merge_files", "sample_records", "shuffle_records",
    "split_files", "split_records", "unique_records",
]  # fmt: skip
