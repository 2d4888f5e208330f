"""Parts of the splits of TensorFlow Datasets: expressions such as ``train[:75%]+test``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tfrecord_lite.errors import InvalidArgumentError, argument_error, plural
from tfrecord_lite.schema.text import nearest

_PART = re.compile(r"(?P<split>[\w.\-]+)(\[(?P<ends>[^\[\]]*)\])?")
_END = re.compile(r"(?P<number>-?\d[\d_]*)(?P<unit>%|shard)?", re.ASCII)


def parts_of(expression: str, lengths: Mapping[str, Sequence[int]]) -> list[tuple[str, int, int]]:
    """Return the splits that an expression names, each with its first record and the end.

    `lengths` are the numbers of records in the files of each split.
    """
    if not isinstance(expression, str):
        raise TypeError(f"split must be a str, not {type(expression).__name__}")
    parts: list[tuple[str, int, int]] = []
    for text in map(str.strip, expression.split("+")):
        found = _PART.fullmatch(text)
        if found is None:
            raise _syntax_error(text)
        name, ends = found["split"], found["ends"]
        if name == "all" and name not in lengths:
            if ends is not None:
                raise argument_error("'all' cannot be sliced; slice each split")
            parts += [(each, 0, sum(counts)) for each, counts in lengths.items()]
        elif name not in lengths:
            there = "; there are " + ", ".join(map(repr, lengths))
            raise argument_error(f"no split {name!r}{nearest(name, list(lengths)) or there}")
        elif ends is None:
            parts.append((name, 0, sum(lengths[name])))
        else:
            parts.append((name, *_slice(text, name, ends, lengths[name])))
    return parts


def _slice(text: str, name: str, ends: str, lengths: Sequence[int]) -> tuple[int, int]:
    """Return the first record and the end of a slice; percents are rounded as Python's round does."""
    given = ends.split(":")
    found = [_END.fullmatch(end) for end in given]
    numbers = [match and int(match["number"]) for match in found]
    units = {match["unit"] or "" for match in found if match}
    if len(units) > 1:
        raise argument_error(f"both ends of {text!r} must be in the same unit")
    if len(given) == 1 and units == {"shard"}:
        numbers.append(((numbers[0] or 0) + 1) or None)
    if len(numbers) != 2 or any(end and not match for end, match in zip(given, found, strict=True)):
        raise _syntax_error(text)
    start, stop = numbers
    total = sum(lengths)
    if units == {"%"}:
        if any(abs(number or 0) > 100 for number in numbers):
            raise argument_error(f"the percents of {text!r} must be between -100 and 100")
        start, stop = (each and round(each * total / 100) for each in (start, stop))
    elif units == {"shard"}:
        start, stop = sum(lengths[: start or 0]), sum(lengths[:stop])
    start, stop = start or 0, total if stop is None else stop
    has = f"{name!r} has {plural(total, 'record')}"
    if max(abs(start), abs(stop)) > total:
        raise argument_error(f"{text!r} is out of range: {has}")
    start, stop = start + total * (start < 0), stop + total * (stop < 0)
    if start >= stop:
        raise argument_error(f"{text!r} has no records: {has}")
    return start, stop


def _syntax_error(text: str) -> InvalidArgumentError:
    return argument_error(
        f"{text!r} is not a split; expected such as 'train', 'train[:10%]', 'train[100:200]', "
        "'train[-5%:]', 'train[0shard]', 'train+test' or 'all'"
    )
