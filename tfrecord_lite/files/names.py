"""Names of files: paths, URLs, patterns and shards.

A *source* is a local path, a URL (``scheme://``, opened by fsspec, the extra ``remote``) or an
open binary file object. A path or URL may be a pattern, or the short form of a sharded name;
a file that has exactly this name takes precedence.
"""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterable, Mapping
from typing import IO, Any, TypeAlias, cast

from tfrecord_lite.errors import FailedPreconditionError, Reason, argument_error
from tfrecord_lite.files.remote import as_os_errors, forget_listings, remote_place

__all__ = [
    "INDEX_SUFFIX",
    "SIDECAR_SUFFIX",
    "Source",
    "Sources",
    "StorageOptions",
    "check_storage_options",
    "expand",
    "in_directories",
    "is_file_object",
    "is_same_file",
    "is_url",
    "local_size",
    "name_of",
    "opening_error",
    "position_of",
    "shard_names",
    "without_companions",
]

Source: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes] | IO[bytes]"
"""One file: a path, a URL, or a file object."""
Sources: TypeAlias = "Source | Iterable[Source]"
"""What a `paths` argument may be: a file or several; paths may be patterns."""
StorageOptions: TypeAlias = "Mapping[str, Any] | None"
"""Options for fsspec, which opens URLs: credentials, an endpoint, ..."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")
_SHARDED = re.compile(r"(?P<stem>.*)@(?P<count>\d+)(?P<suffix>[^@/]*)")
_SHARD = re.compile(r"(?P<stem>.*)-(?P<shard>\d+)-of-(?P<count>\d+)(?P<suffix>.*)", re.DOTALL)
_MAX_SHARDS = 99_999
_PATTERN = re.compile(r"[*?\[]")

SIDECAR_SUFFIX = ".schema.json"
"""Appended to the name of a data file for that of its sidecar."""
INDEX_SUFFIX = ".idx"
"""Appended to the name of a data file for that of its index."""
_COMPANIONS = (SIDECAR_SUFFIX, INDEX_SUFFIX)
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")  # as files/output names it


def shard_names(pattern: str, num_shards: int | None = None) -> list[str] | None:
    """Return the names of the shards of a pattern; None if it does not have such a form.

    A pattern says how many there are (``"train@10.tfrecord"``), or has the field ``{shard}``
    and maybe ``{num_shards}``, as ``"train-{shard:05d}-of-{num_shards:05d}.tfrecord"``.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for more shards after an ``@`` than five digits can number, and for fields that
        do not give each shard a name of its own.

    Examples
    --------
    >>> shard_names("train@2.tfrecord")
    ['train-00000-of-00002.tfrecord', 'train-00001-of-00002.tfrecord']
    """
    sharded = _SHARDED.fullmatch(pattern)
    if "{shard" in pattern:
        count = num_shards or 0
        try:
            names = [pattern.format(shard=shard, num_shards=count) for shard in range(count)]
        except (AttributeError, LookupError, TypeError, ValueError):
            names = [""] * 2
        if len(set(names)) < len(names):
            detail = (
                "the pattern does not name the shards; expected {shard}, and maybe {num_shards}"
            )
            raise argument_error(detail, source=pattern)
        return names
    if sharded is None:
        return None
    stem, suffix, count = sharded["stem"], sharded["suffix"], int(sharded["count"])
    if count > _MAX_SHARDS:
        detail = (
            f"{sharded['count']} shards are more than {_MAX_SHARDS:,}, the most that five "
            "digits can number; no file has this name either"
        )
        raise argument_error(detail, source=pattern)
    return [f"{stem}-{shard:05d}-of-{count:05d}{suffix}" for shard in range(count)]


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return _URL.match(name) is not None


def check_storage_options(storage_options: StorageOptions, *sources: object) -> None:
    """Raise if there are options for fsspec, but no URL that they could be for."""
    if storage_options is None:
        return
    if not isinstance(storage_options, Mapping):
        found = type(storage_options).__name__
        raise TypeError(f"storage_options must be a dict of options for fsspec, not {found}")
    paths = (os.fsdecode(s) for s in sources if isinstance(s, (str, bytes, os.PathLike)))
    if storage_options and not any(map(is_url, paths)):
        detail = "storage_options are for URLs, which fsspec opens; none was given"
        raise argument_error(detail)


def is_same_file(one: str, other: str, storage_options: StorageOptions = None) -> bool:
    """Whether two names, one of them maybe a URL, are of one file; it need not exist yet.

    Two remote files are one if their file systems and their paths there are equal. Raises
    ImportError or ValueError for a URL without a file system.
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
    """Return the name of a source in errors: its path or URL, or that of a file object."""
    if isinstance(source, (str, bytes, os.PathLike)):
        return os.fsdecode(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{type(source).__name__}>"


def is_file_object(source: Sources) -> bool:
    """Whether a source is an open file object, not a path or URL."""
    return hasattr(source, "read") and not isinstance(source, (str, bytes, os.PathLike))


def check_binary(file: object, mode: str) -> None:
    """Raise if a file object is in text mode; `mode` is the one to open it in."""
    # Wrappers of files, such as those of tempfile, have their attributes.
    if isinstance(file, io.TextIOBase) or isinstance(getattr(file, "encoding", None), str):
        name = name_of(cast("Source", file))
        raise TypeError(f'{name} is open in text mode; open it in binary mode, "{mode}"')


def position_of(source: Source) -> int | None:
    """Return where a file object stands; None if it cannot seek, or for a path or URL."""
    try:
        file = cast("IO[bytes]", source)
        return file.tell() if file.seekable() else None
    except (AttributeError, OSError):
        return None


def seek_to(source: Source, position: int | None) -> None:
    """Put a file object where it stood before; ``NOT_SEEKABLE`` if `position` is None."""
    if position is None:
        detail = "the file object cannot seek, so it can be read only once"
        raise FailedPreconditionError(Reason.NOT_SEEKABLE, source=name_of(source), detail=detail)
    cast("IO[bytes]", source).seek(position)


def expand(
    sources: Sources, storage_options: StorageOptions = None, *, may_mix: bool = False
) -> list[Source]:
    """List every file that paths, URLs, patterns (``*?[``), shards and lists of them name.

    The matches of each pattern are sorted, in the order the patterns were given. A file that
    has exactly the name of a pattern is that file. Sidecars and indexes are left out, unless
    they are named themselves (:func:`without_companions`). Only with `may_mix` does one pattern
    match the shards of two sets of one name.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing, or nothing was given.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for more than 99,999 shards, a pattern that matches ``-of-00004`` and
        ``-of-00002`` of one name, or `storage_options` without a URL.
    TypeError
        For anything that is not a path, URL or binary file object.
    """
    if isinstance(sources, (str, bytes, os.PathLike)) or is_file_object(sources):
        check_storage_options(storage_options, sources)
        _forget_listings([sources], storage_options)
        return _matches(cast("Source", sources), storage_options, may_mix)
    try:
        items = list(sources)
    except TypeError:
        raise TypeError(not_a_source(sources)) from None
    if not items:
        detail = "an empty list of files was given; expected at least one path"
        raise FileNotFoundError(detail)
    check_storage_options(storage_options, *items)
    _forget_listings(items, storage_options)
    found = [_matches(item, storage_options, may_mix) for item in items]
    return without_companions([match for matches in found for match in matches])


def _forget_listings(sources: Iterable[object], storage_options: StorageOptions) -> None:
    """Have the clients of URLs list folders anew, once a call."""
    paths = [os.fsdecode(s) for s in sources if isinstance(s, (str, bytes, os.PathLike))]
    forget_listings(filter(is_url, paths), storage_options)


def in_directories(paths: Sources) -> list[Source]:
    """Replace local directories, and URLs that end in a slash, by patterns of the files in them."""
    is_one = isinstance(paths, (str, bytes, os.PathLike)) or is_file_object(paths)
    found: list[Source] = []
    for path in cast("Iterable[Source]", [paths] if is_one else paths):
        if is_file_object(path):
            found.append(path)
            continue
        name = name_of(path)
        if is_url(name):
            found.append(f"{name}*" if name.endswith("/") else path)
        elif os.path.isdir(name):
            found.append(os.path.join(glob.escape(name), "*"))
        else:
            found.append(path)
    return found


def without_companions(sources: list[Source]) -> list[Source]:
    """Leave out each sidecar and index that is listed together with its data file.

    So a list that a shell or ``glob`` made of ``train-*`` is the data files, as that pattern is.
    """
    names = {name_of(source) for source in sources if not is_file_object(source)}

    def is_companion(source: Source) -> bool:
        name = "" if is_file_object(source) else name_of(source)
        return any(name.endswith(end) and name.removesuffix(end) in names for end in _COMPANIONS)

    return [source for source in sources if not is_companion(source)]


def not_a_source(value: object) -> str:
    """Return the text of an error about a value that is not a source."""
    return f"expected a path, URL or binary file object, got {type(value).__name__}"


def _matches(source: Source, storage_options: StorageOptions, may_mix: bool) -> list[Source]:  # noqa: FBT001
    if not isinstance(source, (str, bytes, os.PathLike)):
        if not is_file_object(source):
            raise TypeError(not_a_source(source))
        return [source]
    path = os.fsdecode(source)
    is_remote = is_url(path)
    if not is_remote and os.path.lexists(path):
        return [path]
    if _PATTERN.search(path):
        if is_remote:
            matches = _remote_glob(path, storage_options)
        else:
            matches = sorted(glob.glob(path, recursive=True))
        data = [match for match in matches if not _is_ours(match)]
        if not data:
            only = " but sidecars and indexes, which are not data" if matches else ""
            detail = f"no file matches the pattern {path!r}{only}"
            raise FileNotFoundError(detail)
        if not may_mix:
            _check_one_set(path, data)
        return [*data]
    if _SHARDED.fullmatch(path) and not (is_remote and _is_remote_file(path, storage_options)):
        names = list(shard_names(path) or [path])
        if not is_remote and len(names) > 1 and not any(map(os.path.lexists, names)):
            detail = f"no file {path!r}, nor any of its {len(names):,} shards such as {names[0]!r}"
            raise FileNotFoundError(detail)
        return [*names]
    return [path]


def _check_one_set(pattern: str, names: list[str]) -> None:
    """Raise if names are of shards of several sets that only their number tells apart."""
    counts: dict[tuple[str, str], str] = {}
    for name in names:
        shard = _SHARD.fullmatch(name)
        if shard is None:
            continue
        one = counts.setdefault((shard["stem"], shard["suffix"]), shard["count"])
        if one != shard["count"]:
            sets = sorted(_set_name(shard, count) for count in (one, shard["count"]))
            detail = (
                f"the pattern matches shards of two sets, {sets[0]!r} and {sets[1]!r}, one of which "
                "may be left over; name one of them, or remove its files"
            )
            raise argument_error(detail, source=pattern)


def _set_name(shard: re.Match[str], count: str) -> str:
    """Return the short form of a set of shards, or a pattern if the numbers have another width."""
    stem, suffix = shard["stem"], shard["suffix"]
    if len(count) == 5 and not re.search("[@/]", suffix):
        return f"{stem}@{int(count)}{suffix}"
    return f"{stem}-*-of-{count}{suffix}"


def opening_error(error: OSError, name: str) -> OSError:
    """Return the error about a file that could not be opened; one that says what is there instead."""
    if isinstance(error, FileNotFoundError):
        detail = _shards_instead(name)
    elif isinstance(error, IsADirectoryError) and not is_url(name):
        detail = _files_below(name)
    else:
        return error
    if not detail or error.errno is None:
        return error
    return OSError(error.errno, f"{error.strerror}{detail}", name)


def _shards_instead(name: str) -> str:
    """Name the shards that are there for a file that is not."""
    folder, base = os.path.split(name)
    try:
        shards = [found for each in os.listdir(folder or ".") if (found := _SHARD.fullmatch(each))]
    except OSError:  # nor is the folder; or a URL
        return ""
    of_this = [shard for shard in shards if shard["stem"] + shard["suffix"] == base]
    sets = sorted({os.path.join(folder, _set_name(shard, shard["count"])) for shard in of_this})
    return f"; its shards are there, name them {' or '.join(map(repr, sets))}" * bool(sets)


def _files_below(folder: str) -> str:
    """Say how the files of a directory are read."""
    for below in ("", "*", "*/*"):
        info = os.path.join(glob.escape(folder), below, "dataset_info.json")
        if next(glob.iglob(info), None):
            return " of TensorFlow Datasets; load_tfds reads it"
    try:
        return f"; name its files, as {os.path.join(folder, '*')!r}" * bool(os.listdir(folder))
    except OSError:
        return ""


def _is_ours(match: str) -> bool:
    """Whether a match of a pattern is a sidecar, an index, or a file that is still written."""
    base = os.path.basename(match)
    return base.endswith(_COMPANIONS) or _TEMPORARY.fullmatch(base) is not None


def _remote_glob(url: str, storage_options: StorageOptions) -> list[str]:
    filesystem, path = remote_place(url, storage_options, keeps_listings=True)
    with as_os_errors(url, ValueError):
        matches = filesystem.glob(path)
    return sorted(filesystem.unstrip_protocol(match) for match in matches)


def _is_remote_file(url: str, storage_options: StorageOptions) -> bool:
    filesystem, path = remote_place(url, storage_options, keeps_listings=True)
    with as_os_errors(url, ValueError):
        return bool(filesystem.exists(path))


def local_size(source: Source) -> int | None:
    """Return the size of a local file in bytes; None if there is no such file."""
    if not isinstance(source, (str, bytes, os.PathLike)) or not os.path.isfile(source):
        return None
    return os.path.getsize(source)
