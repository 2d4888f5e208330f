"""tf.compat.v1.gfile: tf.io.gfile with the names of TensorFlow 1."""

from __future__ import annotations

from typing import Any

from tfrecord_lite.tf.io import gfile as _gfile

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
]

Copy = _gfile.copy
DeleteRecursively = _gfile.rmtree
Exists = _gfile.exists
FastGFile = GFile = Open = _gfile.GFile
Glob = _gfile.glob
IsDirectory = _gfile.isdir
ListDirectory = _gfile.listdir
MakeDirs = _gfile.makedirs
MkDir = _gfile.mkdir
Remove = _gfile.remove
Rename = _gfile.rename


def __getattr__(name: str) -> Any:
    """Look up any other name in tf.io.gfile."""
    return getattr(_gfile, name)
