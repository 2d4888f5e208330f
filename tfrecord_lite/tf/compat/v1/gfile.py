"""tf.compat.v1.gfile: tf.io.gfile with the names of TensorFlow 1."""

from __future__ import annotations

from typing import Any

from tfrecord_lite.tf.io import gfile as _gfile
from tfrecord_lite.tf.io.gfile import (
    GFile,
)
from tfrecord_lite.tf.io.gfile import (
    GFile as FastGFile,
)
from tfrecord_lite.tf.io.gfile import (
    GFile as Open,
)
from tfrecord_lite.tf.io.gfile import (
    copy as Copy,
)
from tfrecord_lite.tf.io.gfile import (
    exists as Exists,
)
from tfrecord_lite.tf.io.gfile import (
    glob as Glob,
)
from tfrecord_lite.tf.io.gfile import (
    isdir as IsDirectory,
)
from tfrecord_lite.tf.io.gfile import (
    listdir as ListDirectory,
)
from tfrecord_lite.tf.io.gfile import (
    makedirs as MakeDirs,
)
from tfrecord_lite.tf.io.gfile import (
    mkdir as MkDir,
)
from tfrecord_lite.tf.io.gfile import (
    remove as Remove,
)
from tfrecord_lite.tf.io.gfile import (
    rename as Rename,
)
from tfrecord_lite.tf.io.gfile import (
    rmtree as DeleteRecursively,
)

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


def __getattr__(name: str) -> Any:
    """Look up any other name in tf.io.gfile."""
    return getattr(_gfile, name)
