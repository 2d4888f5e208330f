"""The names of shards: one file of many that are one data set, ``train-00003-of-00010``."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
import warnings
from collections.abc import Sequence

from tfrecord_lite.errors import argument_error, levels_to_caller
from tfrecord_lite.files.urls import INDEX_SUFFIX, SIDECAR_SUFFIX, base_of, split_name
from tfrecord_lite.texts import plural

_SHORT = r"(?P<stem>.*)@(?P<count>\d+)(?P<suffix>[^@/]*)"
_SHARD = r"(?s)(?P<stem>.*)-(?P<shard>\d+)-of-(?P<count>\d+)(?P<suffix>.*)"
_MAX_SHARDS = 99_999


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
    name, rest = split_name(pattern)
    short = re.fullmatch(_SHORT, name)
    if short is None:
        return None
    stem, suffix, count = short["stem"], f"{short['suffix']}{rest}", int(short["count"])
    if count > _MAX_SHARDS:
        detail = f"{short['count']} shards are more than {_MAX_SHARDS:,}, the most that five "
        detail += "digits can number; no file has this name either"
        raise argument_error(detail, source=pattern)
    return [f"{stem}-{shard:05d}-of-{count:05d}{suffix}" for shard in range(count)]


def check_sets(pattern: str | None, names: Sequence[str]) -> None:
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
    base = "*" if pattern is None else base_of(pattern)
    for (stem, suffix, _), (shard, numbers) in sets.items():
        count = shard["count"]
        if int(count) > _MAX_SHARDS:
            continue
        width = len(shard["shard"])
        absent = (n for n in range(int(count)) if n not in numbers)
        places = (f"{stem}-{n:0{width}}-of-{count}{suffix}" for n in absent)
        missing = [place for place in places if fnmatch.fnmatchcase(base_of(place), base)]
        if missing and f"-of-{count}" not in base:
            if int(count) not in numbers:  # or they count from 1
                shown = f"{', '.join(missing[:3])}{', ...' * (len(missing) > 3)}"
                text = f"{plural(len(missing), 'shard')} missing: {shown}; the name {_set_name(shard, count)!r} makes this an error"
                warnings.warn(text, stacklevel=levels_to_caller())
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
