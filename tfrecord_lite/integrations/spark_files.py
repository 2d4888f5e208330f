"""Folders of data files as Spark lays them out: which files to read, and how a job's files appear.

::

    train/_SUCCESS                                      after a complete write
    train/year=2026/part-00000-JOB-c000.tfrecord        the folder's name is a column: year, 2026
    train/_temporary-JOB/3-17/...                       what attempt 17 of task 3 writes before the commit

Names that begin with ``_`` or ``.``, sidecars and indexes are not data. Local paths and URLs alike;
URLs go through fsspec. Spark itself is not needed here.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fnmatch
import os
import posixpath
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tfrecord_lite.errors import argument_error, plural
from tfrecord_lite.files.names import (
    INDEX_SUFFIX,
    SIDECAR_SUFFIX,
    expand,
    is_url,
    name_of,
    without_companions,
)
from tfrecord_lite.files.remote import as_os_errors, remote_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tfrecord_lite.files.names import Source, StorageOptions

__all__ = ["DataFile", "Job", "column_type", "data_files", "folder_of"]

NULL_TEXT = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder whose column is null."""
SUCCESS = "_SUCCESS"
_STAGING = "_temporary-"
_COMPANIONS = (SIDECAR_SUFFIX, INDEX_SUFFIX)
_SCHEMAS = ("features.json", "dataset_info.json")
"""What TensorFlow Datasets has beside its data."""
_UNSAFE = re.compile(r"""[\x00-\x1f"#%'*/:=?\\{\[\]^\x7f]""")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PATTERN = re.compile(r"[*?\[]")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOVES_AT_ONCE = 16


# ------------------------------------------------------------------------------------ reading


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to read, and the columns that the folders around it name."""

    name: str
    """Path or URL."""
    keys: tuple[tuple[str, str | None], ...] = ()
    """Names and texts, from the outermost folder; None for null."""


def data_files(
    paths: Sequence[str],
    storage_options: StorageOptions = None,
    *,
    base_path: str | None = None,
    name_pattern: str | None = None,
    recursive: bool = False,
) -> list[DataFile]:
    """List the files of paths, which may be folders or patterns, as Spark does.

    Parameters
    ----------
    paths : sequence of str
    storage_options : dict, optional
        For fsspec.
    base_path : str, optional
        The folder below which ``name=value`` are columns; by default each path that is a folder.
    name_pattern : str, optional
        Of folders, only files whose name matches this.
    recursive : bool, default False
        Read all folders below, and take none of their names for a column.

    Raises
    ------
    FileNotFoundError
        If there is no such path, or no data in it.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if files lie under folders of different columns.
    """
    base = None if base_path is None else _plain(base_path)
    found = []
    plain = [_plain(path) for path in paths]
    sources = [each for path in plain for each in _matches(path, storage_options)]
    for name in map(name_of, without_companions(sources)):
        if not _is_folder(name, storage_options):
            found.append(DataFile(name, _keys_below(base, name)))
            continue
        inside = _inside(name, storage_options, name_pattern, recursive=recursive)
        outer = () if recursive else _keys_below(base, f"{name}/file")
        found += [DataFile(file, () if recursive else outer + keys) for file, keys in inside]
    _check_keys(found)
    return found


def _plain(path: str) -> str:
    """Return a path as it is, one of ``file:`` as a local one, always absolute."""
    path = re.sub(r"^file:(//)?(?=/)", "", path)
    return path if is_url(path) else os.path.abspath(path)  # noqa: PTH100 - str


def _matches(path: str, storage_options: StorageOptions) -> list[Source]:
    """Return the files and folders that a path names; a pattern matches no hidden ones."""
    options = storage_options if is_url(path) else None
    fixed = _PATTERN.split(path, maxsplit=1)[0].rpartition("/")[0]
    found = expand(path, options)
    if fixed == path.rpartition("/")[0] and [*found] == [path]:
        return found
    is_asked = re.search(r"/_[^/]*$|/_[^/]*/", path[len(fixed) :]) is not None
    shown = [each for each in found if is_asked or not _is_hidden(name_of(each)[len(fixed) :])]
    if not shown:
        raise FileNotFoundError(f"{path}: the pattern matches nothing but hidden files")
    return shown


def _is_hidden(inner: str) -> bool:
    """Return whether a name is hidden, or in a folder that is."""
    parts = [part for part in inner.split("/") if part]
    return any(part.startswith("_") and "=" not in part for part in parts)


def _is_folder(name: str, storage_options: StorageOptions) -> bool:
    if not is_url(name):
        return os.path.isdir(name)  # noqa: PTH112
    if name.startswith(("http://", "https://")):  # to ask would fetch the file
        return False
    filesystem, path = remote_place(name, storage_options)
    with as_os_errors(name):
        return bool(filesystem.isdir(path))


def _inside(
    folder: str, storage_options: StorageOptions, pattern: str | None, *, recursive: bool
) -> list[tuple[str, tuple[tuple[str, str | None], ...]]]:
    """Return the data files in a folder, and their columns."""
    found, n_deeper = [], 0
    for inner in _walk(folder, storage_options):
        *folders, name = inner.split("/")
        if not _is_data(name, folders) or (pattern and not fnmatch.fnmatchcase(name, pattern)):
            continue
        is_partitioned = all("=" in part for part in folders)
        if is_partitioned or recursive:
            found.append(
                (
                    f"{folder.rstrip('/')}/{inner}",
                    tuple(map(_key, folders)) if is_partitioned else (),
                )
            )
        else:
            n_deeper += 1
    if not found:
        deeper = (
            f"; {plural(n_deeper, 'file')} in folders below, for recursiveFileLookup=true"
            if n_deeper
            else ""
        )
        raise FileNotFoundError(f"{folder}: the folder has no data files{deeper}")
    return found


def _walk(folder: str, storage_options: StorageOptions) -> Iterator[str]:
    """Yield the names of all files below a folder, relative to it, sorted."""
    if is_url(folder):
        filesystem, path = remote_place(folder, storage_options)
        with as_os_errors(folder):
            names = filesystem.find(path)
        yield from sorted(name[len(path.rstrip("/")) :].lstrip("/") for name in names)
        return
    for place, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        inner = os.path.relpath(place, folder)
        for name in sorted(names):
            yield name if inner == "." else f"{Path(inner).as_posix()}/{name}"


def _is_data(name: str, folders: Iterable[str] = ()) -> bool:
    """Return whether a file is data: not hidden, in no hidden folder, no companion of data."""
    is_hidden = name.startswith(("_", ".")) or any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) for part in folders
    )
    return not (is_hidden or name.endswith(_COMPANIONS) or name in _SCHEMAS)


def _key(folder: str) -> tuple[str, str | None]:
    """Return the column that a folder's name is."""
    name, _, text = folder.partition("=")
    return unquote(name), None if text == NULL_TEXT else unquote(text)


def _keys_below(base: str | None, name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of the folders between a base and a file."""
    if base is None:
        return ()
    prefix = f"{base.rstrip('/')}/"
    if not name.startswith(prefix):
        raise argument_error(f"the path is not below basePath, {base}", source=name)
    return tuple(_key(part) for part in name[len(prefix) :].split("/")[:-1] if "=" in part)


def _check_keys(files: Sequence[DataFile]) -> None:
    """Raise if the folders of files name different columns."""
    for file in files:
        names, first = ([name for name, _ in each.keys] for each in (file, files[0]))
        if names != first:
            detail = (
                f"folders name the columns {names} here, but {first} for {files[0].name}; "
                "name the folder of all in basePath, or read them one by one"
            )
            raise argument_error(detail, source=file.name)


def column_type(texts: Iterable[str | None]) -> str:
    """Return the type of a column of texts, in Spark's words: int, bigint, double, date or string."""
    kinds = {_kind(text) for text in texts if text is not None}
    if not kinds <= {"int", "bigint", "double"}:
        return "date" if kinds == {"date"} else "string"
    return next((kind for kind in ("double", "bigint", "int") if kind in kinds), "string")


def _kind(text: str) -> str:
    if _WHOLE.fullmatch(text):
        number = int(text) if len(text) <= 20 else 2**64
        if -(2**31) <= number < 2**31:
            return "int"
        return "bigint" if -(2**63) <= number < 2**63 else "string"
    if _DECIMAL.fullmatch(text):
        return "double"
    if _DAY.fullmatch(text):
        with contextlib.suppress(ValueError):
            dt.date.fromisoformat(text)
            return "date"
    return "string"


def folder_of(name: str, value: Any) -> str:
    """Return the name of the folder for a value of a column.

    >>> folder_of("year", 2026), folder_of("a b", "x/y"), folder_of("day", None)
    ('year=2026', 'a b=x%2Fy', 'day=__HIVE_DEFAULT_PARTITION__')
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = NULL_TEXT if value is None or not text else _escaped(text)
    return f"{_escaped(name)}={text}"


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", text)


# ------------------------------------------------------------------------------------ writing


@dataclass(frozen=True, slots=True)
class Job:
    """The files of one write: staged by tasks, and moved to their places by the driver.

    Names have the job in them, so files of two jobs never meet, and those of a task's attempts are
    in folders of their own: only what the driver was told of is moved.
    """

    folder: str
    name: str
    """Differs between jobs."""
    overwrite: bool = False
    storage_options: StorageOptions = None

    @classmethod
    def of(cls, path: str, name: str, *, overwrite: bool, storage_options: StorageOptions) -> Job:
        """Return a job that writes to a folder; raise if there is a file of its name."""
        folder = _plain(path).rstrip("/")
        if not folder or folder.endswith(":"):
            raise argument_error("the root of a file system cannot be written to", source=path)
        if not is_url(folder) and os.path.isfile(folder):  # noqa: PTH113
            raise argument_error("this is a file; expected a folder, or a new name", source=folder)
        return cls(folder, name, overwrite, storage_options)

    @property
    def staging(self) -> str:
        """The hidden folder in which tasks write."""
        return f"{self.folder}/{_STAGING}{self.name}"

    def attempt(self, task: int, attempt: int) -> str:
        """Return the folder of one attempt of a task."""
        return f"{self.staging}/{task}-{attempt}"

    def make_folder(self, name: str) -> None:
        """Make the folder of a file, if that is needed."""
        _Store(self.folder, self.storage_options).make_folder_of(name)

    def commit(self, files: Iterable[tuple[str, str]]) -> None:
        """Move files to their places, and remove those that they replace.

        New files are in place before any old one is removed, so nothing is lost whenever this ends; without
        ``_SUCCESS`` it did not come to its end.

        Parameters
        ----------
        files : iterable of (str, str)
            The folder of an attempt, and a name relative to it, as to the job's folder.
        """
        store = _Store(self.folder, self.storage_options)
        old = [name for name in _walk(self.folder, self.storage_options) if _is_replaceable(name)]
        old = old if self.overwrite else [name for name in old if name == SUCCESS]
        moves = [(f"{attempt}/{name}", f"{self.folder}/{name}") for attempt, name in files]
        placed: list[str] = []

        def place(move: tuple[str, str]) -> None:
            store.move(*move)
            placed.append(move[1])

        try:
            store.each(place, moves)
        except BaseException:
            for name in placed:
                with contextlib.suppress(OSError):  # the first error is raised
                    store.remove(name)
            raise
        store.each(lambda name: store.remove(f"{self.folder}/{name}"), old)
        store.remove_folder(self.staging)
        store.write_empty(f"{self.folder}/{SUCCESS}")
        store.prune(old)

    def abort(self) -> None:
        """Remove what the tasks wrote."""
        _Store(self.folder, self.storage_options).remove_folder(self.staging)


def _is_replaceable(inner: str) -> bool:
    """Return whether overwriting removes a file: data, what belongs to it, and the mark of success."""
    *folders, name = inner.split("/")
    visible = name.lstrip(".").removesuffix(".crc") if name.endswith(".crc") else name
    for suffix in _COMPANIONS:
        visible = visible.removesuffix(suffix)
    return SUCCESS in (inner, visible) or _is_data(visible, folders)


class _Store:
    """The few operations on files that a job needs, local or through fsspec."""

    def __init__(self, folder: str, storage_options: StorageOptions) -> None:
        self._folder = folder
        self._remote: Any = None
        if is_url(folder):
            self._remote, self._root = remote_place(folder, storage_options)

    def _path(self, name: str) -> str:
        """Return the path in the remote file system."""
        return f"{self._root.rstrip('/')}{name[len(self._folder) :]}"

    def each(self, work: Any, items: Sequence[Any]) -> None:
        """Do something for each item; remotely for several at a time."""
        if self._remote is None or len(items) < 2:
            for item in items:
                work(item)
            return
        with ThreadPoolExecutor(_MOVES_AT_ONCE) as threads:
            list(threads.map(work, items))

    def make_folder_of(self, name: str) -> None:
        """Make the folder of a file; object stores have none."""
        if self._remote is None:
            os.makedirs(os.path.dirname(name), exist_ok=True)  # noqa: PTH103, PTH120
            return
        with as_os_errors(name):
            self._remote.makedirs(self._path(posixpath.dirname(name)), exist_ok=True)

    def move(self, old: str, new: str) -> None:
        """Move a file; the folder is made."""
        self.make_folder_of(new)
        if self._remote is None:
            os.replace(old, new)  # noqa: PTH105
            return
        with as_os_errors(new):
            self._remote.mv(self._path(old), self._path(new))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if self._remote is None:
            with contextlib.suppress(FileNotFoundError):
                os.remove(name)  # noqa: PTH107
            return
        with as_os_errors(name), contextlib.suppress(FileNotFoundError):
            self._remote.rm_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all that is in it, if it is there."""
        if self._remote is None:
            shutil.rmtree(name, ignore_errors=True)
            return
        with as_os_errors(name), contextlib.suppress(FileNotFoundError):
            self._remote.rm(self._path(name), recursive=True)

    def write_empty(self, name: str) -> None:
        """Write an empty file; the folder is made."""
        self.make_folder_of(name)
        if self._remote is None:
            with open(name, "wb"):  # noqa: PTH123
                return
        with as_os_errors(name):
            self._remote.pipe_file(self._path(name), b"")

    def prune(self, removed: Iterable[str]) -> None:
        """Remove folders that have no files any more; object stores have none."""
        if self._remote is None:
            for inner in {posixpath.dirname(name) for name in removed} - {""}:
                with contextlib.suppress(OSError):  # not empty
                    os.removedirs(f"{self._folder}/{inner}")
