"""Splits of TensorFlow Datasets: the ``dataset_info.json``, and expressions such as ``train[:75%]``.

Of the members are read: ``name``, ``configName``, ``version`` and ``fileFormat``; of each split the
name, ``shardLengths`` (records per file) and ``filepathTemplate``. The oldest releases have
``numShards`` and ``statistics.numExamples`` instead of the lengths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, plural
from tfrecord_lite.schema.text import nearest

_TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_VARIABLE = re.compile(r"\{(\w+)\}")
_PART = re.compile(r"(?P<split>[\w.\-]+)(\[(?P<ends>[^\[\]]*)\])?")
_END = re.compile(r"(?P<number>-?\d[\d_]*)(?P<unit>%|shard)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Split:
    """A split, and the files that store it."""

    name: str
    files: tuple[str, ...]
    """Paths or URLs."""
    lengths: tuple[int, ...] | None
    """Number of records in each file; None if it is not known."""
    n_records: int | None

    def files_with_records(self) -> list[str]:
        """Return the files without those that are known to be empty."""
        return [*self.files] if self.lengths is None else [*compress(self.files, self.lengths)]


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What a ``dataset_info.json`` says about the files beside it."""

    name: str
    config: str | None
    version: str | None
    splits: dict[str, Split]


def from_json(document: str | bytes, folder: str) -> DatasetInfo:
    """Read a ``dataset_info.json`` of a folder."""
    try:
        found: Any = json.loads(document)
    except ValueError as error:
        raise argument_error(f"not valid JSON ({type(error).__name__})") from None
    if not isinstance(found, Mapping) or not isinstance(found.get("name"), str):
        raise argument_error("not a dataset_info.json, which has the name of a data set")
    file_format = found.get("fileFormat") or "tfrecord"
    if file_format != "tfrecord":
        detail = f"the data files are {file_format!r}, expected tfrecord"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    try:
        splits = [_split(found["name"], item, folder) for item in found.get("splits") or []]
    except (AttributeError, LookupError, TypeError, ValueError):
        raise argument_error("the splits of this dataset_info.json are damaged") from None
    config, version = found.get("configName"), found.get("version")
    return DatasetInfo(
        found["name"],
        str(config) if config else None,
        str(version) if version else None,
        {split.name: split for split in splits},
    )


def _split(dataset: str, item: Mapping[str, Any], folder: str) -> Split:
    """Read a split; JSON may hold its counts as strings."""
    name = item["name"]
    lengths = tuple(map(int, item.get("shardLengths") or ()))
    n_shards = len(lengths) or int(item.get("numShards", 0))
    given = (item.get("statistics") or {}).get("numExamples")
    n_records = None if given is None else int(given)
    if n_shards == 1 and n_records is not None:
        lengths = lengths or (n_records,)
    files = []
    width = max(len(str(n_shards)), 5)
    for number in range(n_shards):
        words = {
            "DATASET": dataset,
            "SPLIT": name,
            "FILEFORMAT": "tfrecord",
            "SHARD_INDEX": f"{number:0{width}}",
            "NUM_SHARDS": f"{n_shards:0{width}}",
            "SHARD_X_OF_Y": f"{number:0{width}}-of-{n_shards:0{width}}",
        }
        template = item.get("filepathTemplate") or _TEMPLATE
        files.append(folder + _VARIABLE.sub(lambda found: words[found[1]], template))  # noqa: B023
    if len(lengths) == n_shards:
        return Split(name, tuple(files), lengths, sum(lengths))
    return Split(name, tuple(files), None, n_records)


# -------------------------------------------------------------------------- parts of splits


@dataclass(frozen=True, slots=True)
class SplitPart:
    """A split, or a slice of one by number, percent or shard."""

    split: str
    text: str
    start: int | None = None
    stop: int | None = None
    unit: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the split."""
        return self.start is None and self.stop is None

    def bounds(self, lengths: Sequence[int]) -> tuple[int, int]:
        """Return the first record and the end; percents are rounded as Python's round does."""
        total = sum(lengths)
        start, stop = self.start or 0, total if self.stop is None else self.stop
        if self.unit == "%":
            start = round(start * total / 100)
            stop = total if self.stop is None else round(stop * total / 100)
        elif self.unit == "shard":
            start = sum(lengths[:start])
            if self.stop is not None:
                n_shards = stop if stop > 0 else max(len(lengths) + stop, 0)
                stop = sum(lengths[:n_shards])
        if max(abs(start), abs(stop)) > total:
            raise argument_error(f"{self.text!r} is out of range: {self._has(total)}")
        start, stop = start + total * (start < 0), stop + total * (stop < 0)
        if start >= stop:
            raise argument_error(f"{self.text!r} has no records: {self._has(total)}")
        return start, stop

    def _has(self, total: int) -> str:
        return f"{self.split!r} has {plural(total, 'record')}"


def parts_of(expression: str, names: Sequence[str]) -> list[SplitPart]:
    """Read an expression such as ``train[:75%]+test``; `names` are those of the splits."""
    if not isinstance(expression, str):
        raise TypeError(f"split must be a str, not {type(expression).__name__}")
    parts: list[SplitPart] = []
    for text in map(str.strip, expression.split("+")):
        found = _PART.fullmatch(text)
        if found is None:
            raise _syntax_error(text)
        name, ends = found["split"], found["ends"]
        if name == "all" and name not in names:
            if ends is not None:
                raise argument_error("'all' cannot be sliced; slice each split")
            parts += [SplitPart(each, each) for each in names]
        elif name not in names:
            there = ", ".join(map(repr, names))
            raise argument_error(
                f"no split {name!r}{nearest(name, list(names)) or f'; there are {there}'}"
            )
        else:
            parts.append(SplitPart(name, text) if ends is None else _slice(name, text, ends))
    return parts


def _slice(name: str, text: str, ends: str) -> SplitPart:
    found = [_END.fullmatch(end) if end else None for end in ends.split(":")]
    if any(end and not match for end, match in zip(ends.split(":"), found, strict=True)):
        raise _syntax_error(text)
    numbers = [match and int(match["number"]) for match in found]
    units = {match["unit"] or "" for match in found if match}
    if len(units) > 1:
        raise argument_error(f"both ends of {text!r} must be in the same unit")
    unit = next(iter(units), "")
    if unit == "%" and any(abs(number or 0) > 100 for number in numbers):
        raise argument_error(f"the percents of {text!r} must be between -100 and 100")
    if len(numbers) == 2:
        return SplitPart(name, text, numbers[0], numbers[1], unit)
    if len(numbers) != 1 or numbers[0] is None or unit != "shard":
        raise _syntax_error(text)
    return SplitPart(name, text, numbers[0], numbers[0] + 1, unit)


def _syntax_error(text: str) -> InvalidArgumentError:
    return argument_error(
        f"{text!r} is not a split; expected such as 'train', 'train[:10%]', 'train[100:200]', "
        "'train[-5%:]', 'train[0shard]', 'train+test' or 'all'"
    )
