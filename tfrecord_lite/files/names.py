"""Names of files: paths, URLs, patterns, shards and folders become lists of files here.

A *source* is a local path, a URL (``scheme://``, opened by fsspec) or an open binary file object. A path or
URL may be a pattern, the short form of a sharded name, or a folder; a file of exactly this name takes precedence.
"""

from __future__ import annotations

import errno
import glob
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, Literal, TypeAlias, cast

from tfrecord_lite.errors import FailedPreconditionError, Reason, argument_error
from tfrecord_lite.files.folders import (
    data_files,
    inside,
    is_data,
    is_folder,
    is_hidden,
    is_saved,
    kinds_of,
    listing,
    named_kinds,
)
from tfrecord_lite.files.remote import as_os_errors, forget_listings, remote_place
from tfrecord_lite.files.shards import check_sets, shard_names, shards_instead
from tfrecord_lite.files.urls import (
    INDEX_SUFFIX,
    SIDECAR_SUFFIX,
    companion,
    hint,
    is_companion,
    is_pattern,
    is_url,
    split_name,
)
from tfrecord_lite.texts import plural

__all__ = [
    "INDEX_SUFFIX", "SIDECAR_SUFFIX", "Source", "Sources", "StorageOptions", "check_storage_options", "companion",
    "expand", "is_companion", "is_data", "is_file_object", "is_folder", "is_hidden", "is_same_file", "is_saved",
    "is_url", "listing", "local_size", "name_of", "opening_error", "position_of", "shard_names",
    "without_companions",
]  # fmt: skip

Source: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes] | IO[bytes]"
"""One file: a path, a URL, or a file object."""
Sources: TypeAlias = "Source | Iterable[Source]"
"""What a `paths` argument may be: a file or several; paths may be patterns."""
StorageOptions: TypeAlias = "Mapping[str, Any] | None"

_MAX_NAME, _MAX_NAME_OF_LINES = 4096, 1024


def check_storage_options(storage_options: StorageOptions, *sources: object) -> None:
    """Raise if there are options for fsspec, but no URL that they could be for."""
    if storage_options is None:
        return
    if not isinstance(storage_options, Mapping):
        actual = type(storage_options).__name__
        raise TypeError(f"storage_options must be a dict of options for fsspec, not {actual}")
    paths = (os.fsdecode(s) for s in sources if isinstance(s, (str, bytes, os.PathLike)))
    if storage_options and not any(map(is_url, paths)):
        raise argument_error("storage_options are for URLs, which fsspec opens; none was given")


def is_same_file(one: str, other: str, storage_options: StorageOptions = None) -> bool:
    """Whether two names, one of them maybe a URL, are of one file; it need not exist yet.

    Raises ImportError or ValueError for a URL without a file system.
    """
    if one == other:
        return True
    paths = [re.sub("^(file|local)://", "", name) for name in (one, other)]
    if any(map(is_url, paths)):
        places = [remote_place(path, storage_options) for path in (one, other) if is_url(path)]
        return all(map(is_url, paths)) and places[0] == places[1]
    if os.path.realpath(paths[0]) == os.path.realpath(paths[1]):
        return True
    try:
        return os.path.samefile(*paths)
    except OSError:
        return False


def name_of(source: Source) -> str:
    """Return the name of a source: its path or URL, or the name of a file object.

    Raises InvalidArgumentError for a str or bytes that can only be the content of a file.
    """
    if isinstance(source, (str, bytes, os.PathLike)):
        path = os.fsdecode(source)
        longest = _MAX_NAME_OF_LINES if "\n" in path else _MAX_NAME
        if "\0" in path or (len(path) > longest and not is_url(path)):
            what = plural(len(path), "byte" if isinstance(source, bytes) else "character")
            detail = f"expected a path or URL, not the content of a file ({what}); io.BytesIO makes a file of bytes"
            raise argument_error(detail)
        return path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{type(source).__name__}>"


def is_file_object(source: Sources) -> bool:
    """Whether a source is an open file object, not a path or URL."""
    return hasattr(source, "read") and not isinstance(source, (str, bytes, os.PathLike))


def is_pipe(source: Source) -> bool:
    """Whether a path is a pipe or a device, such as ``/dev/stdin``, which can be read only once."""
    if not isinstance(source, (str, bytes, os.PathLike)):
        return False
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError):  # a URL, or nothing
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_binary(file: object, mode: str) -> None:
    """Raise if a file object is in text mode; `mode` is the one to open it in."""
    # Wrappers of files, such as tempfile's, have their attributes.
    if isinstance(file, io.TextIOBase) or isinstance(getattr(file, "encoding", None), str):
        name = name_of(cast("Source", file))
        raise TypeError(f'{name} is open in text mode; open it in binary mode, "{mode}"')


def position_of(source: Source) -> int | None:
    """Return the position of a file object; None if it cannot seek, or for a path or URL."""
    try:
        file = cast("IO[bytes]", source)
        return file.tell() if file.seekable() else None
    except (AttributeError, OSError):
        return None


def seek_to(source: Source, position: int | None) -> None:
    """Put a file object back to its position; ``NOT_SEEKABLE`` if `position` is None."""
    if position is None:
        detail = "the file object cannot seek, so it can be read only once"
        raise FailedPreconditionError(Reason.NOT_SEEKABLE, source=name_of(source), detail=detail)
    cast("IO[bytes]", source).seek(position)


def expand(
    sources: Sources,
    storage_options: StorageOptions = None,
    *,
    may_mix: bool = False,
    folders: Literal["read", "keep", "refuse"] = "read",
) -> list[Source]:
    """List every file that paths, URLs, patterns (``*?[``), folders, shards and lists of them name.

    A folder is the data files directly in it. The matches of each pattern are sorted, in the order the
    patterns were given; a name that exists is not a pattern. Sidecars, indexes and hidden names are left out,
    unless they are named themselves (:func:`without_companions`), and so are folders beside files.

    may_mix
        A pattern may match shards of two sets, or miss some, or hidden names, as for TensorFlow.
    folders
        ``"keep"`` lists folders as they are; ``"refuse"`` leaves local ones to whoever opens them, and raises for others.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing, a folder has no data, or nothing was given.
    IsADirectoryError
        For a folder that another library has written.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for more than 99,999 shards, a pattern that matches ``-of-00004`` and
        ``-of-00002`` of one name, or `storage_options` without a URL.
    TypeError
        For anything that is not a path, URL or binary file object.
    """
    is_one = isinstance(sources, (str, bytes, os.PathLike)) or is_file_object(sources)
    try:
        items = [cast("Source", sources)] if is_one else list(cast("Iterable[Source]", sources))
    except TypeError:
        raise TypeError(not_a_source(sources)) from None
    if not items:
        raise FileNotFoundError("an empty list of files was given; expected at least one path")
    check_storage_options(storage_options, *items)
    places = [place for item in items for place in _in_archives(item, storage_options)]
    urls = [place for place in places if isinstance(place, str) and is_url(place)]
    kinds: dict[str, str] = {}
    if urls:
        forget_listings(urls, storage_options)
        kinds = kinds_of(dict.fromkeys(urls), storage_options)
    expanded: list[Source] = []
    for name in places:
        if not isinstance(name, str):
            expanded.append(name)
            continue
        names = _named(name, kinds.get(name), storage_options, may_mix=may_mix)
        if folders == "keep":
            expanded += [match for match, _ in names]
            continue
        data = [match for match, is_folder in names if not is_folder]
        for folder in [] if data else [match for match, _ in names]:
            if folders == "read":
                data += (files := data_files(folder, storage_options))
                check_sets(None, files)
            else:
                refuse_folder(folder)
                data.append(folder)
        expanded += data
    return expanded if is_one or len(expanded) == 1 else without_companions(expanded)


def refuse_folder(name: str) -> None:
    """Raise IsADirectoryError for a URL of a folder, which many stores open as a file of no bytes."""
    if is_url(name) and is_folder(name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)


def without_companions(sources: list[Source]) -> list[Source]:
    """Leave out each sidecar and index that is listed together with its data file, as by a shell."""
    names = [name_of(source) for source in sources if not is_file_object(source)]
    companions = {companion(name, end) for name in names for end in (SIDECAR_SUFFIX, INDEX_SUFFIX)}
    return [s for s in sources if is_file_object(s) or name_of(s) not in companions]


def not_a_source(value: object) -> str:
    """Return the text of an error about a value that is not a source."""
    return f"expected a path, URL or binary file object, got {type(value).__name__}"


def _in_archives(source: Source, storage_options: StorageOptions) -> list[Source]:
    """Return a file object, or a name: one for each archive that the pattern in a chained URL matches."""
    if is_file_object(source):
        return [source]
    if not isinstance(source, (str, bytes, os.PathLike)):
        raise TypeError(not_a_source(source))
    name = name_of(source)
    if "::" not in name:
        return [name]
    head, rest = split_name(name)
    archive = rest.removeprefix("::")
    if not is_pattern(archive) or archive == rest:
        return [name]
    options = (storage_options or {}).get(archive.partition("://")[0])
    return [f"{head}::{name_of(place)}" for place in expand(archive, options)]


def _named(
    name: str, kind: str | None, storage_options: StorageOptions, *, may_mix: bool
) -> list[tuple[str, bool]]:
    """Return the files and folders of a name, each with whether it is a folder; `kind` as `kinds_of` has it."""
    if kind is None and os.path.lexists(name):
        return [(name, os.path.isdir(name))]
    if kind:
        return [(name, kind == "directory")]
    shards = None if "{shard" in name else shard_names(name)
    if shards and (not is_pattern(name) or _has_one(shards, storage_options)):
        if not (is_url(name) or len(shards) == 1 or any(map(os.path.lexists, shards))):
            detail = (
                f"no file {name!r}, nor any of its {len(shards):,} shards such as {shards[0]!r}"
            )
            raise FileNotFoundError(detail)
        return [(shard, False) for shard in shards]
    if not is_pattern(name):
        return [(name, False)]
    matches = _matches(name, storage_options, may_hide=not may_mix)
    data = {match: is_folder for match, is_folder in matches.items() if not is_companion(match)}
    if not data:
        only = " but sidecars and indexes, which are not data" if matches else ""
        raise FileNotFoundError(errno.ENOENT, f"no file matches the pattern{only}", name)
    if not may_mix:
        check_sets(name, list(data))
    return sorted(data.items())


def _has_one(shards: list[str], storage_options: StorageOptions) -> bool:
    """Whether the first or the last shard exists."""
    ends = {shards[0], shards[-1]}
    if is_url(shards[0]):
        return any(kinds_of(ends, storage_options).values())
    return any(map(os.path.lexists, shards))


def _matches(name: str, storage_options: StorageOptions, *, may_hide: bool) -> dict[str, bool]:
    """Return what a pattern matches, each with whether it is a folder."""
    if not is_url(name):
        pattern = _with_literal_folders(name, os.path.isdir)
        kinds = {match: os.path.isdir(match) for match in glob.iglob(pattern, recursive=True)}
    else:
        filesystem, path = remote_place(name, storage_options, keeps_listings=True)
        with as_os_errors(name, ValueError):
            own = path.removesuffix(split_name(name)[1])
            pattern = _with_literal_folders(own, filesystem.isdir)
            kinds = named_kinds(name, path, filesystem.glob(pattern, detail=True))
    if not may_hide:
        return kinds
    parts = pattern.split("/")
    n_fixed = next(n for n, part in enumerate(parts) if is_pattern(part))
    signs = tuple({".", "_"} - {part[0] for part in parts[n_fixed:] if part})
    n_more = split_name(name)[0].count("/") - pattern.count("/")

    def is_shown(match: str) -> bool:
        parts = split_name(match)[0].split("/")[n_fixed + n_more :]
        return not any(part.startswith(signs) for part in parts)

    return {match: is_folder for match, is_folder in kinds.items() if is_shown(match)}


def _with_literal_folders(pattern: str, exists: Callable[[str], bool]) -> str:
    """Escape the wildcards in the names of folders that exist as they are written, from the first on."""
    parts = pattern.split("/")
    for n, part in enumerate(parts[:-1]):
        if is_pattern(part):
            if not exists("/".join(parts[: n + 1])):
                break
            parts[n] = glob.escape(part)
    return "/".join(parts)


def opening_error(error: OSError, name: str) -> OSError:
    """Return the error about a file that could not be opened, with advice."""
    if isinstance(error, FileNotFoundError):
        detail = shards_instead(name) or hint(name)
    elif isinstance(error, IsADirectoryError) and not is_url(name):
        detail = inside(name)
    elif error.errno == errno.EMFILE:
        detail = f"{_open_files_limit()}; read fewer files at a time, or raise the limit"
    else:
        return error
    if not detail or error.errno is None:
        return error
    return OSError(error.errno, f"{error.strerror}{detail}", name)


def _open_files_limit() -> str:
    try:
        import resource  # noqa: PLC0415 - not everywhere
    except ImportError:
        return ""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"; this process may have {limit:,} open (ulimit -n)"


def local_size(source: Source) -> int | None:
    """Return the size of a local file in bytes; None if it is none, or a saved data set."""
    if not isinstance(source, (str, bytes, os.PathLike)) or not os.path.isfile(source):
        return None
    return None if is_saved(os.fsdecode(source)) else os.path.getsize(source)
