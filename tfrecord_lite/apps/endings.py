"""The formats that files are converted from and to, by the endings of their names."""

from __future__ import annotations

import os
import re

from tfrecord_lite import extension as ext
from tfrecord_lite.errors import argument_error

ENDINGS: dict[str, tuple[str, ...]] = {
    "tfrecord": (".tfrecord", ".tfrecords", ".tfrec", ".tfr"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "jsonl": (".jsonl", ".ndjson"),
}
"""Endings of names by format; the first is the usual one."""
UNTYPED = ("csv", "tsv", "jsonl")
"""Formats of text, which have no types of their own, and may be compressed as a whole."""
_OF_LOADERS = {
    "webdataset": ("webdataset", "wds", "tar"),
    "ArrayRecord": ("arrayrecord", "array_record"),
}
"""Formats with a library of their own, and the words and endings that name them."""
_FORMATS = {ending: kind for kind, endings in ENDINGS.items() for ending in endings}
_SHARD_NUMBER = re.compile(r"-\d+-of-\d+$")
_ENDING = re.compile(rf"(?i)({'|'.join(map(re.escape, _FORMATS))})(-\d+-of-\d+)?$")


def format_named(name: str) -> str:
    """Return the format of a name such as ``feather``; raise if there is none."""
    ending = f".{name.lower().lstrip('.')}"
    check_not_of_loader(ending)
    kind = _FORMATS.get(ending)
    if kind is None:
        known = ", ".join([*ENDINGS, "feather"])
        raise argument_error(f"unknown format {name!r}, expected one of {known}")
    return kind


def check_not_of_loader(name: str) -> None:
    """Raise, with the way to go, if a file's name has the ending of another loader's format."""
    ending = _SHARD_NUMBER.sub("", _without_codec(name).lower()).rpartition(".")[2]
    for title, words in _OF_LOADERS.items():
        if ending in words:
            detail = f"{title} is read and written by its own library, and not converted here; "
            detail += "the guide 'From and to the files of other loaders' has a recipe of ten lines"
            raise argument_error(detail, source=name)


def ending_of(name: str) -> str:
    """Return the ending in a file's name that tells the format, in lower case; empty without one."""
    match = _ENDING.search(re.sub(r"@\d+$", "", _without_codec(name)))
    return "" if match is None else match[1].lower()


def format_of(name: str) -> str | None:
    """Return the format by the ending of a file's name; None without a known one.

    >>> format_of("train-00000-of-00002.csv.gz"), format_of("a.tfrecord-00000-of-00002")
    ('csv', 'tfrecord')
    """
    return _FORMATS.get(ending_of(name))


def stem_of(name: str) -> str:
    """Return a file's base name without the endings of its format and compression."""
    return _ENDING.sub(r"\2", os.path.basename(_without_codec(name)))  # noqa: PTH119 - may be a URL


def is_numbered(name: str) -> bool:
    """Return whether a name ends like a shard's, maybe compressed, with no other ending."""
    return _SHARD_NUMBER.search(_without_codec(name)) is not None


def _without_codec(name: str) -> str:
    return name if not ext.compression_of_name(name) else os.path.splitext(name)[0]  # noqa: PTH122
