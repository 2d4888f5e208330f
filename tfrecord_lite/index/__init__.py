"""Random access: an index of where each record of a file is, and reading any of them.

::

    index      RecordIndex: the extents of a file's records, from a scan or an index file
    handles    files read at any offset: local ones, and URLs by range requests
    parts      parts of files, cut at borders of records, for tasks elsewhere
    file       TFRecordFile: records by number; tf_record_random_reader: by offset
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfrecord_lite.index.file import RandomReader, TFRecordFile, tf_record_random_reader
    from tfrecord_lite.index.index import RecordIndex

__all__ = ["RandomReader", "RecordIndex", "TFRecordFile", "tf_record_random_reader"]


def __getattr__(name: str) -> object:
    """Load a name when it is first used: readers in order use `parts` alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "index" if name == "RecordIndex" else "file"
    return getattr(import_module(f"{__name__}.{module}"), name)
