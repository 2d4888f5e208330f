"""Names of files: paths, URLs, patterns, shards and folders become lists of files here.

A *source* is a local path, a URL (``scheme://``, opened by fsspec) or an open binary file object. A path or
URL may be a pattern, the short form of a sharded name, or a folder; a file of exactly this name takes precedence.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import io
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import takewhile
from typing import IO, Any, Literal, NamedTuple, TypeAlias, cast

from tfrecord_lite.errors import FailedPreconditionError, Reason, argument_error, warn_user
from tfrecord_lite.files import remote, urls
from tfrecord_lite.files.urls import INDEX_SUFFIX, SIDECAR_SUFFIX, companion, is_companion, is_url
from tfrecord_lite.texts import plural

__all__ = ["INDEX_SUFFIX", "SIDECAR_SUFFIX", "companion", "is_companion", "is_url"]

Source: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes] | IO[bytes]"
"""One file: a path, a URL, or a file object."""
Sources: TypeAlias = "Source | Iterable[Source]"
"""What a `paths` argument may be: a file or several; paths may be patterns."""
StorageOptions: TypeAlias = "Mapping[str, Any] | None"

_MAX_NAME, _MAX_NAME_OF_LINES = 4096, 1024
_OTHER_FORMATS = r"(?i)\.(json|jsonl|txt|md|pbtxt|pb|csv|tsv|parquet|arrow|html|yaml|yml|npz|npy|log)(\.gz|\.zst)?$"
_MARKERS = {"COMPLETED", "COMPLETE", "DONE", "SUCCESS", "FAILED", "README", "LICENSE", "MANIFEST"}
SAVED = "snapshot.metadata"
"""The file that represents a folder of ``tf.data.Dataset.save`` in a list of files."""
_TFDS_INFO = "dataset_info.json"
_MAX_NAMES = 3
_SHORT = r"(?P<stem>.*)@(?P<count>\d+)(?P<suffix>[^@/]*)"
_SHARD = r"(?s)(?P<stem>.*)-(?P<shard>\d+)-of-(?P<count>\d+)(?P<suffix>.*)"
_MAX_SHARDS = 99_999


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
        places = [remote.remote_place(n, storage_options) for n in (one, other) if is_url(n)]
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
    remote_names = [place for place in places if isinstance(place, str) and is_url(place)]
    kinds: dict[str, str] = {}
    if remote_names:
        remote.forget_listings(remote_names, storage_options)
        kinds = kinds_of(dict.fromkeys(remote_names), storage_options)
    expanded: list[Source] = []
    for name in places:
        if not isinstance(name, str):
            expanded.append(name)
            continue
        names = _named(name, kinds.get(name), storage_options, may_mix=may_mix)
        matches = [match for match, _ in names]
        data = [m for m, is_folder in names if folders == "keep" or not is_folder]
        for folder in [] if data else matches:
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
    head, rest = urls.split_name(name)
    archive = rest.removeprefix("::")
    if not urls.is_pattern(archive) or archive == rest:
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
    if shards and (not urls.is_pattern(name) or _has_one(shards, storage_options)):
        if not (is_url(name) or len(shards) == 1 or any(map(os.path.lexists, shards))):
            detail = f"nor any of its {len(shards):,} shards such as {shards[0]!r}"
            raise FileNotFoundError(f"no file {name!r}, {detail}")
        return [(shard, False) for shard in shards]
    if not urls.is_pattern(name):
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
        filesystem, path = remote.remote_place(name, storage_options, keeps_listings=True)
        with remote.as_os_errors(name, ValueError):
            own = path.removesuffix(urls.split_name(name)[1])
            pattern = _with_literal_folders(own, filesystem.isdir)
            kinds = named_kinds(name, path, filesystem.glob(pattern, detail=True))
    if not may_hide:
        return kinds
    parts = pattern.split("/")
    n_fixed = next(n for n, part in enumerate(parts) if urls.is_pattern(part))
    signs = tuple({".", "_"} - {part[0] for part in parts[n_fixed:] if part})
    n_more = urls.split_name(name)[0].count("/") - pattern.count("/")

    def is_shown(match: str) -> bool:
        parts = urls.split_name(match)[0].split("/")[n_fixed + n_more :]
        return not any(part.startswith(signs) for part in parts)

    return {match: is_folder for match, is_folder in kinds.items() if is_shown(match)}


def _with_literal_folders(pattern: str, exists: Callable[[str], bool]) -> str:
    """Escape the wildcards in the names of folders that exist as they are written, from the first on."""
    parts = pattern.split("/")
    for n, part in enumerate(parts[:-1]):
        if urls.is_pattern(part):
            if not exists("/".join(parts[: n + 1])):
                break
            parts[n] = glob.escape(part)
    return "/".join(parts)


def opening_error(error: OSError, name: str) -> OSError:
    """Return the error about a file that could not be opened, with advice."""
    if isinstance(error, FileNotFoundError):
        detail = shards_instead(name) or urls.hint(name)
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


# ----------------------------------------------------------------------------------- shards


def shard_names(pattern: str, num_shards: int | None = None) -> list[str] | None:
    """Return the names of the shards of a pattern; None if it does not have such a form.

    A pattern says how many there are (``"train@10.tfrecord"``), or has the field ``{shard}``
    and maybe ``{num_shards}``, as ``"train-{shard:05d}-of-{num_shards:05d}.tfrecord"``.

    Raises ``BAD_ARGUMENT`` for more shards after an ``@`` than five digits can number, and for
    fields that do not give each shard a name of its own.

    Examples
    --------
    >>> shard_names("train@2.tfrecord")
    ['train-00000-of-00002.tfrecord', 'train-00001-of-00002.tfrecord']
    """
    if "{shard" in pattern:
        count = num_shards or 0
        try:
            names = [pattern.format(shard=shard, num_shards=count) for shard in range(count)]
        except (AttributeError, LookupError, TypeError, ValueError):
            names = [""] * 2
        if len(set(names)) < len(names):
            detail = "the pattern does not name the shards; expected {shard}, "
            raise argument_error(f"{detail}and maybe {{num_shards}}", source=pattern)
        return names
    name, rest = urls.split_name(pattern)
    short = re.fullmatch(_SHORT, name)
    if short is None:
        return None
    stem, suffix, count = short["stem"], f"{short['suffix']}{rest}", int(short["count"])
    if count > _MAX_SHARDS:
        detail = f"{short['count']} shards are more than {_MAX_SHARDS:,}, the most that five "
        detail += "digits can number; no file has this name either"
        raise argument_error(detail, source=pattern)
    return [f"{stem}-{shard:05d}-of-{count:05d}{suffix}" for shard in range(count)]


def check_sets(pattern: str | None, names: Iterable[str]) -> None:
    """Raise or warn if names that a pattern matches, None for a folder, are not the shards of whole sets.

    It is an error if two sets of a pattern differ only in their number, or if shards are missing that a pattern
    with their number would match, as ``train-*-of-01000``. A warning names others.
    """
    sets: dict[tuple[str, str, str], tuple[re.Match[str], set[int]]] = {}
    for name in names:
        shard = re.fullmatch(_SHARD, name)
        if shard is None:
            continue
        own_set = shard["stem"], shard["suffix"], shard["count"] if pattern is None else ""
        first, numbers = sets.setdefault(own_set, (shard, set()))
        numbers.add(int(shard["shard"]))
        if first["count"] != shard["count"]:
            one, other = sorted(_set_name(shard, match["count"]) for match in (first, shard))
            detail = f"the pattern matches shards of two sets, {one!r} and {other!r}, one of which "
            detail += "may be left over; name one of them, or remove its files"
            raise argument_error(detail, source=pattern)
    base = "*" if pattern is None else urls.base_of(pattern)
    for (stem, suffix, _), (shard, numbers) in sets.items():
        count = shard["count"]
        if int(count) > _MAX_SHARDS:
            continue
        width = len(shard["shard"])
        absent = (n for n in range(int(count)) if n not in numbers)
        places = (f"{stem}-{n:0{width}}-of-{count}{suffix}" for n in absent)
        missing = [place for place in places if fnmatch.fnmatchcase(urls.base_of(place), base)]
        if missing and f"-of-{count}" not in base:
            if int(count) not in numbers:  # or they count from 1
                shown = f"{', '.join(missing[:3])}{', ...' * (len(missing) > 3)}"
                text = f"{plural(len(missing), 'shard')} missing: {shown}; the name {_set_name(shard, count)!r} makes this an error"
                warn_user(text)
        elif missing:
            detail = f"the pattern {pattern!r} misses {plural(len(missing), 'shard')}, the first"
            raise FileNotFoundError(errno.ENOENT, detail, missing[0])


def shards_instead(name: str) -> str:
    """Name the shards that exist in place of a local file that does not."""
    folder, base = os.path.split(name.removesuffix(SIDECAR_SUFFIX).removesuffix(INDEX_SUFFIX))
    try:
        names = os.listdir(folder or ".")
        shards = [shard for own in names if (shard := re.fullmatch(_SHARD, own))]
    except OSError:  # nor is the folder; or a URL
        return ""
    of_this = [shard for shard in shards if shard["stem"] + shard["suffix"] == base]
    sets = sorted({os.path.join(folder, _set_name(shard, shard["count"])) for shard in of_this})
    return f"; its shards are there, name them {' or '.join(map(repr, sets))}" if sets else ""


def _set_name(shard: re.Match[str], count: str) -> str:
    """Return the short form of a set of shards, or a pattern if the numbers have another width."""
    stem, suffix = shard["stem"], shard["suffix"]
    if len(count) == 5 and not re.search("[@/]", suffix):
        return f"{stem}@{int(count)}{suffix}"
    return f"{stem}-*-of-{count}{suffix}"


# ---------------------------------------------------------------------------------- folders


class Folder(NamedTuple):
    """The names of what is directly in a folder, sorted."""

    files: list[str]
    folders: list[str]


def listing(folder: str, storage_options: StorageOptions = None) -> Folder:
    """List a folder; the names are whole paths or URLs."""
    if is_url(folder):
        filesystem, path = remote.remote_place(folder, storage_options, keeps_listings=True)
        with remote.as_os_errors(folder, ValueError):
            entries = filesystem.ls(path, detail=True)
        kinds = named_kinds(folder, path, {entry["name"]: entry for entry in entries})
        kinds.pop(folder.rstrip("/"), None)  # an object in the place of the folder
    else:
        with os.scandir(folder) as entries:
            places = [e for e in entries if e.is_dir() or e.is_file() or e.is_symlink()]  # no pipe
        kinds = {os.path.join(folder, place.name): place.is_dir() for place in places}
    files = sorted(name for name, is_folder in kinds.items() if not is_folder)
    return Folder(files, sorted(name for name, is_folder in kinds.items() if is_folder))


def named_kinds(url: str, path: str, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
    """Name entries of a file system as `url` names `path` there, and say which are folders.

    Empty objects that represent a folder are left out.
    """
    head, rest = urls.split_name(url)
    head = re.sub("(?<=[^:/])/+$", "", head)
    path = path.removesuffix(rest).rstrip("/")
    pairs = zip(reversed(head), reversed(path), strict=False)
    n_common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    before, start = path[: len(path) - n_common], head[: len(head) - n_common]
    are_folders = {name: entry.get("type") == "directory" for name, entry in entries.items()}
    kept = {name: own for name, own in are_folders.items() if own or not name.endswith("/")}
    return {f"{start}{n.removeprefix(before)}{rest}".rstrip("/"): own for n, own in kept.items()}


def kinds_of(names: Collection[str], storage_options: StorageOptions = None) -> dict[str, str]:
    """Ask what one or more URLs are, several at a time: "file" or "directory", "" if that is not known.

    On a web server only a name that ends in a slash can be a folder; a plain name is not requested.
    Raises for a URL that no installed file system is for.
    """
    places = [(n, *remote.remote_place(n, storage_options, keeps_listings=True)) for n in names]
    return dict(zip(names, remote.for_each_file([*names], places, _kind), strict=True))


def _kind(place: tuple[str, Any, str]) -> str:
    url, filesystem, path = place
    is_bucket = re.fullmatch(r"[^/:]+://[^/:*?\[]+/?", url)
    try:
        with remote.as_os_errors(url, ValueError):
            if urls.is_http(url) and url.endswith("/"):
                return "directory" if filesystem.isdir(path) else ""
            if not urls.is_http(url) or urls.is_pattern(url) or "@" in url:
                return str(filesystem.info(path)["type"])
    except (OSError, ValueError) as error:  # which opening it raises, but for a bucket
        if is_bucket and isinstance(error, FileNotFoundError):
            raise
    return ""


def is_folder(name: str, storage_options: StorageOptions = None) -> bool:
    """Whether a path or URL is a folder."""
    if not is_url(name):
        return os.path.isdir(name)
    remote.forget_listings([name], storage_options)
    return kinds_of([name], storage_options)[name] == "directory"


def is_hidden(name: str) -> bool:
    """Whether readers of a folder ignore a file: its name begins with a dot or an underscore."""
    return urls.base_of(name).startswith((".", "_"))


def is_saved(name: str) -> bool:
    """Whether a file represents a folder of ``tf.data.Dataset.save``."""
    return SAVED in name and urls.base_of(name) == SAVED


def data_files(folder: str, storage_options: StorageOptions = None) -> list[str]:
    """List the data files that are directly in a folder, sorted.

    A folder that ``tf.data.Dataset.save`` wrote is its one description. Left out are hidden names, sidecars
    and indexes, markers, and files of other formats by their endings. Raises FileNotFoundError if there is
    none, with the contents; IsADirectoryError for a data set of TensorFlow Datasets.
    """
    files, folders = listing(folder, storage_options)
    data = [name for name in files if is_data(name)]
    if not data and len(folders) == 1:  # of Dataset.snapshot: the hash of its graph
        files = [*files, *filter(is_saved, listing(folders[0], storage_options).files)]
    if saved := [name for name in files if is_saved(name)]:
        return saved
    special = _special(folder, map(urls.base_of, files), looks_below=not data)
    if special:
        raise IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}{special}", folder)
    if not data:
        others = ((folders, "folder"), (files, "other file"))
        counts = [f"{plural(len(names), what)} ({_some(names)})" for names, what in others if names]
        text = f"no data files are in this folder, only {' and '.join(counts)}"
        detail = text if counts else "the folder is empty"
        raise FileNotFoundError(errno.ENOENT, detail, folder)
    return data


def inside(folder: str) -> str:
    """Say how the files of a local folder are read by what takes no folders."""
    try:
        bases = os.listdir(folder)
    except OSError:
        return ""
    pattern = os.path.join(folder, "*")
    special = _special(folder, bases, looks_below=True)
    return special or (f"; name its files, as {pattern!r}" if bases else "")


def _some(names: Iterable[str]) -> str:
    bases = [urls.base_of(name) for name in names]
    return ", ".join(bases[:_MAX_NAMES]) + (", ..." if len(bases) > _MAX_NAMES else "")


def is_data(name: str) -> bool:
    """Whether a file is one that its folder is read for."""
    base = urls.base_of(name)
    is_other = is_hidden(base) or is_companion(base) or base in _MARKERS
    return not is_other and not re.search(_OTHER_FORMATS, base)


def _special(folder: str, bases: Iterable[str], *, looks_below: bool) -> str:
    """Say how a folder that another library wrote is read; empty for any other folder."""
    names = set(bases)
    if SAVED in names:
        return " of tf.data.Dataset.save; load, read_batches and TFRecordReader read it"
    below = ("*", "*/*", "*/*/*") if looks_below and not is_url(folder) else ()
    infos = (os.path.join(glob.escape(folder), name, _TFDS_INFO) for name in below)
    if _TFDS_INFO in names or any(next(glob.iglob(info), None) for info in infos):
        files = "tfds_info(folder).files('train') of tfrecord_lite.apps.tfds"
        return f" of TensorFlow Datasets; load_tfds reads it, and read_batches {files}"
    return ""
