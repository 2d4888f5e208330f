"""Folders of data files as Spark lays them out: which files to read, and how a job's files appear.

::

    train/_SUCCESS                                      after a complete write
    train/year=2026/part-00000-JOB-c000.tfrecord        the folder's name is a column: year, 2026
    train/_temporary-JOB/3-17/...                       what attempt 17 of task 3 writes before the commit

Names that begin with ``_`` or ``.``, sidecars and indexes are not data. Spark itself is not needed here.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tables.record_format import file_system
from tfrecord_lite.errors import argument_error

__all__ = ["Job", "column_type", "data_files", "folder_of"]

NULL_TEXT = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder whose column is null."""
SUCCESS = "_SUCCESS"
_COMPANIONS = (ext.SIDECAR_SUFFIX, ext.INDEX_SUFFIX)
_SCHEMAS = ("features.json", "dataset_info.json")
"""What TensorFlow Datasets has beside its data."""
_UNSAFE = re.compile(r"""[\x00-\x1f"#%'*/:=?\\{\[\]^\x7f]""")
_MOVES_AT_ONCE = 16

Keys = dict[str, str | None]
"""The columns that the folders around a file name, with their texts, from the outermost on; None for null."""


# ------------------------------------------------------------------------------------ reading


def data_files(paths: Sequence[str], storage_options: ext.StorageOptions) -> list[tuple[str, Keys]]:
    """List the files of paths, which may be folders or patterns, with the columns of their folders."""
    matches = [match for path in paths for match in _matches(plain(path), storage_options)]
    files: list[tuple[str, Keys]] = []
    for name in map(ext.name_of, ext.without_companions(matches)):
        system, place = file_system(name, storage_options)
        if system.get_file_info(place).type != fs.FileType.Directory:
            files.append((name, {}))
            continue
        below = filter(_is_data, _names_below(name, storage_options))
        inside = [(f"{name}/{inner}", _keys(inner)) for inner in below]
        if not inside:
            raise FileNotFoundError(f"{name}: the folder has no data files")
        files += inside
    first, names = files[0][0], list(files[0][1])
    for name, keys in files:
        if list(keys) != names:
            detail = f"folders name the columns {list(keys)} here, but {names} for {first}"
            raise argument_error(detail, source=name)
    return files


def plain(path: str) -> str:
    """Return a path as it is, one of ``file:`` as a local one, always absolute."""
    path = re.sub(r"^file:(//)?(?=/)", "", path)
    return path.rstrip("/") if ext.is_url(path) else os.path.abspath(path)


def _matches(path: str, storage_options: ext.StorageOptions) -> list[Any]:
    sources = ext.expand(path, storage_options if ext.is_url(path) else None, folders="keep")
    if [*sources] == [path]:
        return sources
    n_fixed = len(re.split(r"[*?\[]", path, maxsplit=1)[0].rpartition("/")[0])
    shown = [source for source in sources if not _is_hidden(ext.name_of(source)[n_fixed:])]
    if not shown:
        raise FileNotFoundError(f"{path}: the pattern matches nothing but hidden files")
    return shown


def _names_below(folder: str, storage_options: ext.StorageOptions) -> Iterator[str]:
    system, place = file_system(folder, storage_options)
    selector = fs.FileSelector(place, recursive=True, allow_not_found=True)
    for path in sorted(info.path for info in system.get_file_info(selector) if info.is_file):
        yield path[len(place.rstrip("/")) + 1 :]


def _is_hidden(inner: str) -> bool:
    """Return whether a file is hidden, or in a folder that is; ``_k=1`` is a column."""
    return any(part.startswith(("_", ".")) and "=" not in part for part in inner.split("/"))


def _is_data(inner: str) -> bool:
    """Return whether a file below a folder is data: in folders of columns only, not hidden, not a companion."""
    *folders, name = inner.split("/")
    is_companion = name.endswith(_COMPANIONS) or name in _SCHEMAS
    return not (is_companion or _is_hidden(name)) and all("=" in part for part in folders)


def _keys(inner: str) -> Keys:
    pairs = [part.split("=", 1) for part in inner.split("/")[:-1]]
    return {unquote(name): None if text == NULL_TEXT else unquote(text) for name, text in pairs}


def column_type(texts: Sequence[str | None]) -> Any:
    """Return the Arrow type of a column of texts: integers, dates, or texts if one is neither."""
    array = pa.array(texts, pa.string())
    for kind in (pa.int32(), pa.int64(), pa.date32()):
        with contextlib.suppress(pa.ArrowInvalid):
            array.cast(kind)
            return kind
    return pa.string()


def folder_of(name: str, value: Any) -> str:
    """Return the name of the folder for a value of a column.

    >>> folder_of("year", 2026), folder_of("a b", "x/y"), folder_of("day", None)
    ('year=2026', 'a b=x%2Fy', 'day=__HIVE_DEFAULT_PARTITION__')
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = NULL_TEXT if value is None or not text else _escaped(text)
    return f"{_escaped(name)}={text}"


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


# ------------------------------------------------------------------------------------ writing


@dataclass(frozen=True, slots=True)
class Job:
    """The files of one write: staged by tasks in a folder for each attempt, and moved to their places by the driver."""

    folder: str
    """An absolute path, or a URL."""
    name: str
    """Differs between jobs, and is in the names of files."""
    overwrite: bool = False
    storage_options: ext.StorageOptions = None

    def attempt(self, task: int, attempt: int) -> str:
        """Return the folder, relative to the job's, of one attempt of a task."""
        return f"_temporary-{self.name}/{task}-{attempt}"

    def commit(self, files: Iterable[tuple[str, str]]) -> None:
        """Move files, as the folder of an attempt and a name, to their places; then remove those that they replace.

        Nothing is lost whenever this ends; without ``_SUCCESS`` it did not finish.
        """
        system, root = file_system(self.folder, self.storage_options)
        moves = list(files)
        below = list(_names_below(self.folder, self.storage_options))
        old = [n for n in below if n == SUCCESS or (self.overwrite and _is_replaceable(n))]

        def place(move: tuple[str, str]) -> None:
            attempt, name = move
            system.create_dir(os.path.dirname(f"{root}/{name}"))
            system.move(f"{root}/{attempt}/{name}", f"{root}/{name}")

        def remove(name: str) -> None:
            with contextlib.suppress(FileNotFoundError):
                system.delete_file(f"{root}/{name}")

        def for_each(function: Any, items: Iterable[Any]) -> None:
            with ThreadPoolExecutor(_MOVES_AT_ONCE) as threads:
                list(threads.map(function, items))

        try:
            for_each(place, moves)
        except BaseException:
            for_each(remove, [name for _, name in moves])
            raise
        for_each(remove, old)
        self.abort()
        system.create_dir(root)
        system.open_output_stream(f"{root}/{SUCCESS}").close()

    def abort(self) -> None:
        """Remove what the tasks wrote."""
        system, root = file_system(self.folder, self.storage_options)
        with contextlib.suppress(FileNotFoundError):
            system.delete_dir(f"{root}/_temporary-{self.name}")


def _is_replaceable(inner: str) -> bool:
    """Return whether overwriting removes a file: data, and sidecars and indexes of data."""
    for suffix in _COMPANIONS:
        inner = inner.removesuffix(suffix)
    return _is_data(inner)
