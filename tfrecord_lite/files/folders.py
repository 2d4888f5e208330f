"""Folders, local and in stores: what is in them, and what of it is data."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

from tfrecord_lite.files import remote
from tfrecord_lite.files.urls import base_of, is_companion, is_http, is_pattern, is_url, split_name
from tfrecord_lite.texts import plural

_OTHER_FORMATS = r"(?i)\.(json|jsonl|txt|md|pbtxt|pb|csv|tsv|parquet|arrow|html|yaml|yml|npz|npy|log)(\.gz|\.zst)?$"
_MARKERS = {"COMPLETED", "COMPLETE", "DONE", "SUCCESS", "FAILED", "README", "LICENSE", "MANIFEST"}
SAVED = "snapshot.metadata"
"""The file that represents a folder of ``tf.data.Dataset.save`` in a list of files."""
_TFDS_INFO = "dataset_info.json"
_MAX_NAMES = 3


class Folder(NamedTuple):
    """The names of what is directly in a folder, sorted."""

    files: list[str]
    folders: list[str]


def listing(folder: str, storage_options: Mapping[str, Any] | None = None) -> Folder:
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
    head, rest = split_name(url)
    head = re.sub("(?<=[^:/])/+$", "", head)
    path = path.removesuffix(rest).rstrip("/")
    pairs = zip(reversed(head), reversed(path), strict=False)
    n_common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    before, start = path[: len(path) - n_common], head[: len(head) - n_common]
    are_folders = {name: entry.get("type") == "directory" for name, entry in entries.items()}
    kept = {name: own for name, own in are_folders.items() if own or not name.endswith("/")}
    return {f"{start}{n.removeprefix(before)}{rest}".rstrip("/"): own for n, own in kept.items()}


def kinds_of(
    urls: Collection[str], storage_options: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Ask what one or more URLs are, several at a time: "file" or "directory", "" if that is not known.

    On a web server only a name that ends in a slash can be a folder; a plain name is not requested.
    Raises for a URL that no installed file system is for.
    """
    places = [
        (url, *remote.remote_place(url, storage_options, keeps_listings=True)) for url in urls
    ]
    return dict(zip(urls, remote.for_each_file([*urls], places, _kind), strict=True))


def _kind(place: tuple[str, Any, str]) -> str:
    url, filesystem, path = place
    is_bucket = re.fullmatch(r"[^/:]+://[^/:*?\[]+/?", url)
    try:
        with remote.as_os_errors(url, ValueError):
            if is_http(url) and url.endswith("/"):
                return "directory" if filesystem.isdir(path) else ""
            if not is_http(url) or is_pattern(url) or "@" in url:
                return str(filesystem.info(path)["type"])
    except (OSError, ValueError) as error:  # which opening it raises, but for a bucket
        if is_bucket and isinstance(error, FileNotFoundError):
            raise
    return ""


def is_folder(name: str, storage_options: Mapping[str, Any] | None = None) -> bool:
    """Whether a path or URL is a folder."""
    if not is_url(name):
        return os.path.isdir(name)
    remote.forget_listings([name], storage_options)
    return kinds_of([name], storage_options)[name] == "directory"


def is_hidden(name: str) -> bool:
    """Whether a folder is not read for a file: its name begins with a dot or an underscore."""
    return base_of(name).startswith((".", "_"))


def is_saved(name: str) -> bool:
    """Whether a file represents a folder of ``tf.data.Dataset.save``."""
    return SAVED in name and base_of(name) == SAVED


def data_files(folder: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
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
    special = _special(folder, map(base_of, files), looks_below=not data)
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
    bases = [base_of(name) for name in names]
    return ", ".join(bases[:_MAX_NAMES]) + (", ..." if len(bases) > _MAX_NAMES else "")


def is_data(name: str) -> bool:
    """Whether a file is one that its folder is read for."""
    base = base_of(name)
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
