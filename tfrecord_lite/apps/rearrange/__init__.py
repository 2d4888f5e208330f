"""Records from files to files as they are: their bytes and checksums do not change.

::

    TFRecordReader ── Block ──(shuffle, pick)──> Block ── one file, or shards

``files`` has the functions, and ``transfer`` what they share: the blocks of a reader, with the schema beside
its files, and the files that are written, which appear together.
"""

from __future__ import annotations

from tfrecord_lite.apps.rearrange.files import (
    filter_records,
    merge_files,
    sample_records,
    shuffle_records,
    split_files,
    split_records,
    unique_records,
)
from tfrecord_lite.apps.rearrange.transfer import Rearranged, TargetOptions

__all__ = [
    "Rearranged", "TargetOptions", "filter_records", "merge_files", "sample_records", "shuffle_records",
    "split_files", "split_records", "unique_records",
]  # fmt: skip
