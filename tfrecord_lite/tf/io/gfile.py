"""tf.io.gfile: local files, by Python's own functions; patterns of URLs too."""

from __future__ import annotations

import glob as _glob
import os
import shutil
from typing import IO, Any

from tfrecord_lite.extension import expand, is_url, name_of
from tfrecord_lite.tf._unavailable import Unavailable, unavailable, unsupported

__all__ = [
    "GFile", "copy", "exists", "glob", "isdir", "join", "listdir", "makedirs", "mkdir", "remove",
    "rename", "rmtree",
]  # fmt: skip


def GFile(name: Any, mode: str = "r") -> IO[Any]:  # noqa: N802 - TensorFlow's name
    """Open a local file, text as UTF-8."""
    return open(_local(name), mode, encoding=None if "b" in mode else "utf-8")


def exists(path: Any) -> bool:
    """Return whether a file or folder exists."""
    return os.path.exists(_local(path))


def isdir(path: Any) -> bool:
    """Return whether a folder exists."""
    return os.path.isdir(_local(path))


def glob(pattern: Any) -> list[str]:
    """List the files that match a pattern, or one of several, sorted; also of URLs."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [name for item in patterns for name in sorted(_matches(os.fsdecode(item)))]


def _matches(pattern: str) -> list[str]:
    if not is_url(pattern):
        return _glob.glob(pattern)
    try:
        return [name_of(source) for source in expand(pattern, may_mix=True, folders="keep")]
    except FileNotFoundError:
        return []


def listdir(path: Any) -> list[str]:
    """List the names in a folder."""
    return os.listdir(_local(path))


def mkdir(path: Any) -> None:
    """Make a folder, whose parent must exist."""
    os.mkdir(_local(path))


def makedirs(path: Any) -> None:
    """Make a folder and its parents."""
    os.makedirs(_local(path), exist_ok=True)


def join(path: Any, *paths: Any) -> str:
    """Join parts of a path."""
    return os.path.join(*map(os.fspath, (path, *paths)))


def remove(path: Any) -> None:
    """Remove a file."""
    os.remove(_local(path))


def rmtree(path: Any) -> None:
    """Remove a folder and its contents."""
    shutil.rmtree(_local(path))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file; raise FileExistsError if the target exists, unless `overwrite` is true."""
    _check_free(dst, overwrite=overwrite)
    shutil.copyfile(_local(src), _local(dst))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Move a file or folder; raise FileExistsError as :func:`copy`."""
    _check_free(dst, overwrite=overwrite)
    os.replace(_local(src), _local(dst))


def _check_free(path: Any, *, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise FileExistsError(f"{_local(path)} exists; overwrite=True replaces it")


def _local(path: Any) -> str:
    name = os.fsdecode(path)
    if "://" in name:
        detail = f"gfile is for local files, not {name}; use fsspec for other file systems"
        raise unsupported(detail)
    return name


__getattr__: Unavailable = unavailable(__name__, "use os, shutil or pathlib")
