"""Folders of data files as Spark lays them out: which files to read, and how a job's files appear.

::

    train/_SUCCESS                                      after a complete write
    train/year=2026/part-00000-JOB-c000.tfrecord        the folder's name is a column: year, 2026
    train/_temporary-JOB/3-17/...                       what attempt 17 of task 3 writes before the commit

Names that begin with ``_`` or ``.``, sidecars and indexes are not data. Local paths and URLs alike, by pyarrow's
file systems; URLs go through fsspec. Spark itself is not needed here.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tfrecord_lite.apps.tables.parts import file_system
from tfrecord_lite.convert.arrow import imported
from tfrecord_lite.errors import argument_error, plural
from tfrecord_lite.files.names import (
    INDEX_SUFFIX,
    SIDECAR_SUFFIX,
    Source,
    StorageOptions,
    expand,
    is_url,
    name_of,
    without_companions,
)

__all__ = ["DataFile", "Job", "column_type", "data_files", "folder_of"]

NULL_TEXT = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder whose column is null."""
SUCCESS = "_SUCCESS"
_COMPANIONS = (SIDECAR_SUFFIX, INDEX_SUFFIX)
_SCHEMAS = ("features.json", "dataset_info.json")
"""What TensorFlow Datasets has beside its data."""
_UNSAFE = re.compile(r"""[\x00-\x1f"#%'*/:=?\\{\[\]^\x7f]""")
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
    path_glob_filter: str | None = None,
    recursive_file_lookup: bool = False,
) -> list[DataFile]:
    """List the files of paths, which may be folders or patterns, as Spark does.

    Parameters
    ----------
    paths : sequence of str
    storage_options : dict, optional
        For fsspec.
    base_path : str, optional
        The folder below which ``name=value`` are columns; by default each path that is a folder.
    path_glob_filter : str, optional
        Of folders, only files whose name matches this.
    recursive_file_lookup : bool, default False
        Read all folders below, and take none of their names for a column.

    Raises
    ------
    FileNotFoundError
        If there is no such path, or no data in it.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if files lie under folders of different columns.
    """
    base = None if base_path is None else _plain(base_path)
    matches = [each for path in paths for each in _matches(_plain(path), storage_options)]
    found: list[DataFile] = []
    for name in map(name_of, without_companions(matches)):
        system, place = file_system(name, storage_options)
        if system.get_file_info(place).type != imported("pyarrow.fs").FileType.Directory:
            found.append(DataFile(name, _keys_below(base, name)))
            continue
        pattern = path_glob_filter or "*"
        inside = [
            inner
            for inner in _names_below(name, storage_options)
            if _is_data(inner) and fnmatch.fnmatchcase(inner.rpartition("/")[2], pattern)
        ]
        if recursive_file_lookup:
            found += [DataFile(f"{name}/{inner}") for inner in inside]
            continue
        outer = _keys_below(base, f"{name}/file")
        named = [n for n in inside if all("=" in part for part in n.split("/")[:-1])]
        if not named:
            deeper = (
                f"; {plural(len(inside), 'file')} in folders below, for recursiveFileLookup=true"
            )
            raise FileNotFoundError(
                f"{name}: the folder has no data files{deeper if inside else ''}"
            )
        found += [DataFile(f"{name}/{n}", outer + _keys(n)) for n in named]
    names = [[name for name, _ in file.keys] for file in found]
    for file, there in zip(found, names, strict=True):
        if there != names[0]:
            detail = (
                f"folders name the columns {there} here, but {names[0]} for {found[0].name}; "
                "name the folder of all in basePath, or read them one by one"
            )
            raise argument_error(detail, source=file.name)
    return found


def _plain(path: str) -> str:
    """Return a path as it is, one of ``file:`` as a local one, always absolute."""
    path = re.sub(r"^file:(//)?(?=/)", "", path)
    return path.rstrip("/") if is_url(path) else os.path.abspath(path)


def _matches(path: str, storage_options: StorageOptions) -> list[Source]:
    """Return the files and folders that a path names; a pattern matches no hidden ones."""
    found = expand(path, storage_options if is_url(path) else None)
    if [*found] == [path]:
        return found
    n_fixed = len(re.split(r"[*?\[]", path, maxsplit=1)[0].rpartition("/")[0])
    shown = [each for each in found if not _is_hidden(name_of(each)[n_fixed:])]
    if not shown:
        raise FileNotFoundError(f"{path}: the pattern matches nothing but hidden files")
    return shown


def _names_below(folder: str, storage_options: StorageOptions) -> Iterator[str]:
    """Yield the names of all files below a folder, relative to it, sorted."""
    system, place = file_system(folder, storage_options)
    selector = imported("pyarrow.fs").FileSelector(place, recursive=True, allow_not_found=True)
    for path in sorted(info.path for info in system.get_file_info(selector) if info.is_file):
        yield path[len(place.rstrip("/")) + 1 :]


def _is_hidden(inner: str) -> bool:
    """Return whether a file is hidden, or in a folder that is; ``_k=1`` is a column."""
    return any(part.startswith(("_", ".")) and "=" not in part for part in inner.split("/"))


def _is_data(inner: str) -> bool:
    """Return whether a file in a folder is data: not hidden, no companion of data."""
    is_companion = inner.endswith(_COMPANIONS) or inner.rpartition("/")[2] in _SCHEMAS
    return not (is_companion or _is_hidden(inner))


def _keys(inner: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns that the folders of a relative name are."""
    pairs = [part.split("=", 1) for part in inner.split("/")[:-1] if "=" in part]
    return tuple((unquote(n), None if text == NULL_TEXT else unquote(text)) for n, text in pairs)


def _keys_below(base: str | None, name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of the folders between a base and a file."""
    if base is None:
        return ()
    prefix = f"{base.rstrip('/')}/"
    if not name.startswith(prefix):
        raise argument_error(f"the path is not below basePath, {base}", source=name)
    return _keys(name[len(prefix) :])


_TYPES = (
    ("int", "int32", r"[+-]?[0-9]+"),
    ("bigint", "int64", r"[+-]?[0-9]+"),
    # Whole numbers that no integer holds stay texts: a float would round them.
    ("double", "float64", r"[+-]?([0-9]{1,18}|[0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"),
    ("date", "date32", r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
)


def column_type(texts: Iterable[str | None]) -> str:
    """Return the type of a column of texts, in Spark's words: int, bigint, double, date or string."""
    found = [text for text in texts if text is not None]
    for word, kind, pattern in _TYPES:
        if found and all(re.fullmatch(pattern, text) for text in found):
            with contextlib.suppress(imported().ArrowInvalid):
                typed(found, imported().type_for_alias(kind))
                return word
    return "string"


def typed(texts: Sequence[str | None], kind: Any) -> Any:
    """Return texts as an Arrow array of a type; raises pyarrow's errors."""
    pa = imported()
    signless = [text and text.removeprefix("+") for text in texts]
    return pa.array(signless if pa.types.is_integer(kind) else texts, pa.string()).cast(kind)


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
        if not is_url(folder) and os.path.isfile(folder):
            raise argument_error("this is a file; expected a folder, or a new name", source=folder)
        return cls(folder, name, overwrite, storage_options)

    def attempt(self, task: int, attempt: int) -> str:
        """Return the folder, relative to that of the job, of one attempt of a task."""
        return f"_temporary-{self.name}/{task}-{attempt}"

    def commit(self, files: Iterable[tuple[str, str]]) -> None:
        """Move files to their places, and remove those that they replace.

        New files are in place before any old one is removed, so nothing is lost whenever this ends; without
        ``_SUCCESS`` it did not come to its end.

        Parameters
        ----------
        files : iterable of (str, str)
            The folder of an attempt, and a name relative to it, as to the job's folder.
        """
        system, root = file_system(self.folder, self.storage_options)
        old = [
            name
            for name in _names_below(self.folder, self.storage_options)
            if name == SUCCESS or (self.overwrite and _is_replaceable(name))
        ]
        placed: list[str] = []

        def place(file: tuple[str, str]) -> None:
            attempt, name = file
            system.create_dir(os.path.dirname(f"{root}/{name}"))
            system.move(f"{root}/{attempt}/{name}", f"{root}/{name}")
            placed.append(name)

        def remove(name: str) -> None:
            with contextlib.suppress(FileNotFoundError):
                system.delete_file(f"{root}/{name}")

        with ThreadPoolExecutor(_MOVES_AT_ONCE) as threads:
            moves = [threads.submit(place, file) for file in files]
        error = next((move.exception() for move in moves if move.exception()), None)
        if error is not None:
            for name in placed:
                remove(name)
            raise error
        with ThreadPoolExecutor(_MOVES_AT_ONCE) as threads:
            list(threads.map(remove, old))
        self.abort()
        system.create_dir(root)
        system.open_output_stream(f"{root}/{SUCCESS}").close()
        if not is_url(self.folder):  # elsewhere folders are no more than names
            for folder in {os.path.dirname(name) for name in old} - {""}:
                with contextlib.suppress(OSError):  # not empty
                    os.removedirs(f"{root}/{folder}")

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
