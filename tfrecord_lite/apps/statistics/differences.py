"""Records that differ: two data sets of equally many records, compared one by one.

::

    block of a ─┬─ the same bytes? ── yes ──> the same
    block of b ─┘        │ no
                         └── decoded, the same values? ── yes ──> the same
                                     │ no
                                     └──> a difference, of these features

Programs write the features of an Example in any order, so two records of different bytes may hold the
same. Floats are compared bit by bit, so that NaN equals NaN.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.errors import plural
from tfrecord_lite.example.to_dicts import ExampleDecoder, SequenceExampleDecoder
from tfrecord_lite.schema.text import shown_name
from tfrecord_lite.sniff import recognize_value

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    _Flat = dict[tuple[str, str], list[Any]]
    """The arrays of a record by part and name: a list of one for a feature."""

_EMPTY = Block.from_records([])
_MAX_SHOWN = 10
"""How many differences are kept."""
_MAX_NAMES = 5
"""How many features of a difference are named in its line, and have their values kept."""
_MAX_VALUES, _MAX_TEXT, _MAX_HEX = 3, 24, 6
"""Of the values of a feature: how many are shown, and characters or bytes of each."""


@dataclass(frozen=True, slots=True)
class RecordDifference:
    """Two records of the same number that hold different values.

    Attributes
    ----------
    number : int
        Of the record in both data sets, from 0.
    features : tuple of str
        The features and feature lists that differ.
    values : tuple of tuple of two str
        For each of the first 5 of them what the two records hold, as short texts, from the first value that differs.

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import compare
    >>> before = encode_examples({"age": [36, 41, 37]})
    >>> after = encode_examples({"age": [36, 41, 38]})
    >>> (difference,) = compare(before, after).records.first
    >>> difference.number, difference.features, difference.values
    (2, ('age',), (('37', '38'),))
    """

    number: int
    features: tuple[str, ...]
    values: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Return the number and the features in one line."""
        names = ", ".join(map(shown_name, self.features[:_MAX_NAMES]))
        more = f", ... ({len(self.features)} features)" * (len(self.features) > _MAX_NAMES)
        return f"record {self.number}: {names}{more}"


@dataclass(frozen=True, slots=True)
class RecordDifferences:
    """How many records of two data sets differ, and in what.

    Attributes
    ----------
    num_records : int
        Number of records in each.
    num_different : int
        How many pairs hold different values.
    by_feature : mapping of str to int
        In how many pairs each feature differs; those that do.
    first : tuple of RecordDifference
        The first 10.

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import compare
    >>> before = encode_examples({"age": [36, 41, 37]})
    >>> after = encode_examples({"age": [36, 41, 38]})
    >>> records = compare(before, after).records
    >>> records.num_records, records.num_different, dict(records.by_feature)
    (3, 1, {'age': 1})
    """

    num_records: int
    num_different: int
    by_feature: Mapping[str, int] = field(default_factory=dict)
    first: tuple[RecordDifference, ...] = ()

    def __post_init__(self) -> None:
        """Replace the mapping by a read-only copy, the most frequent first."""
        ordered = sorted(self.by_feature.items(), key=lambda item: (-item[1], item[0]))
        object.__setattr__(self, "by_feature", MappingProxyType(dict(ordered)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the call that creates an equal one."""
        return (
            type(self),
            (self.num_records, self.num_different, dict(self.by_feature), self.first),
        )

    def __str__(self) -> str:
        """Return the number of differences in one line."""
        if not self.num_different:
            return f"all {plural(self.num_records, 'record')} hold the same"
        said = f"{self.num_different:,} of {plural(self.num_records, 'record')} differ"
        return f"{said}: {self._features()}"

    def _features(self) -> str:
        names = [f"{shown_name(name)} in {n:,}" for name, n in self.by_feature.items()]
        return ", ".join(names[:_MAX_NAMES]) + ", ..." * (len(names) > _MAX_NAMES)

    def sides(self) -> tuple[str, str]:
        """Say in a few words what is in the first data set, and in the second.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import compare
        >>> before = encode_examples({"age": [36, 41, 37]})
        >>> after = encode_examples({"age": [36, 41, 38]})
        >>> compare(before, after).records.sides()
        ('3 records', '1 of 3 differ: age in 1')
        """
        said = f"{self.num_different:,} of {self.num_records:,} differ"
        return plural(self.num_records, "record"), f"{said}: {self._features()}"

    def describe(self) -> dict[str, Any]:
        """Return all as JSON values.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import compare
        >>> before = encode_examples({"age": [36, 41, 37]})
        >>> after = encode_examples({"age": [36, 41, 38]})
        >>> compare(before, after).records.describe()["first"]
        [{'record': 2, 'features': ['age'], 'values': [['37', '38']]}]
        """
        return {
            "records": self.num_records,
            "different": self.num_different,
            "by_feature": dict(self.by_feature),
            "first": [
                {
                    "record": one.number,
                    "features": list(one.features),
                    "values": [list(sides) for sides in one.values],
                }
                for one in self.first
            ],
        }


def compare_records(
    a: Generator[Block, None, None], b: Generator[Block, None, None], *, is_sequence: bool
) -> RecordDifferences | None:
    """Compare records one by one; None if one data set turns out to have more of them."""
    decode: Any = SequenceExampleDecoder() if is_sequence else ExampleDecoder()
    num_records, num_different = 0, 0
    by_feature: Counter[str] = Counter()
    first: list[RecordDifference] = []
    with closing(a), closing(b):
        for ours, theirs in _aligned(a, b):
            if len(ours) != len(theirs):
                return None
            pairs = zip(ours.to_list(), theirs.to_list(), strict=True)
            odd = [i for i, (one, other) in enumerate(pairs) if one != other]
            decoded = (map(_flat, decode(each[odd])) if odd else () for each in (ours, theirs))
            for i, one, other in zip(odd, *decoded, strict=True):
                places = _places(one, other)
                num_different += bool(places)
                by_feature.update(places.keys())
                if places and len(first) < _MAX_SHOWN:
                    features = sorted(places)
                    keys = [places[name] for name in features[:_MAX_NAMES]]
                    texts = tuple(_texts(one.get(key), other.get(key)) for key in keys)
                    first.append(RecordDifference(num_records + i, tuple(features), texts))
            num_records += len(ours)
    return RecordDifferences(num_records, num_different, by_feature, tuple(first))


def _aligned(a: Iterator[Block], b: Iterator[Block]) -> Iterator[tuple[Block, Block]]:
    """Yield blocks of equally many records; at the end one of them may be empty."""
    ours = theirs = _EMPTY
    while True:
        ours = ours if len(ours) else next(a, _EMPTY)
        theirs = theirs if len(theirs) else next(b, _EMPTY)
        num_records = min(len(ours), len(theirs))
        if not num_records:
            if len(ours) or len(theirs):
                yield ours, theirs
            return
        yield ours[:num_records], theirs[:num_records]
        ours, theirs = ours[num_records:], theirs[num_records:]


def _flat(row: Mapping[str, Any]) -> _Flat:
    """Return the arrays of a record by part and name: a list of one for a feature."""
    if row.keys() == {"context", "feature_lists"} and isinstance(row["context"], dict):
        context = {("context", name): [values] for name, values in row["context"].items()}
        return {
            **context,
            **{("list", name): steps for name, steps in row["feature_lists"].items()},
        }
    return {("", name): [values] for name, values in row.items()}


def _places(one: _Flat, other: _Flat) -> dict[str, tuple[str, str]]:
    """Return the names of what differs, each with its part."""
    keys = sorted(one.keys() | other.keys())
    return {key[1]: key for key in keys if not _are_same(one.get(key), other.get(key))}


def _are_same(one: list[Any] | None, other: list[Any] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(
        a.dtype == b.dtype
        and a.size == b.size
        and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
        for a, b in zip(one, other, strict=True)
    )


# ------------------------------------------------------------------------------- as texts


def _texts(one: list[Any] | None, other: list[Any] | None) -> tuple[str, str]:
    """Return short texts about the values of a feature, from the first that differs."""
    if one is None or other is None:
        return _alone(one), _alone(other)
    if len(one) != len(other):
        return plural(len(one), "step"), plural(len(other), "step")
    pairs = enumerate(zip(one, other, strict=True))
    step, (a, b) = next(pair for pair in pairs if not _are_same(*([side] for side in pair[1])))
    where = f"step {step}: " if len(one) > 1 else ""
    at = byte = 0
    if a.dtype == b.dtype:
        n_common = min(a.size, b.size)
        bits = a.dtype if a.dtype == object else f"u{a.dtype.itemsize}"
        differs = np.flatnonzero(a[:n_common].view(bits) != b[:n_common].view(bits))
        at = int(differs[0]) if differs.size else n_common
        if a.dtype == object and differs.size:
            others = (i for i, (x, y) in enumerate(zip(a[at], b[at], strict=False)) if x != y)
            byte = next(others, min(len(a[at]), len(b[at])))
    return where + _side(a, at, byte), where + _side(b, at, byte)


def _alone(values: list[Any] | None) -> str:
    if values is None:
        return "missing"
    return _side(values[0], 0, 0) if len(values) == 1 else plural(len(values), "step")


def _side(array: Any, at: int, byte: int) -> str:
    """Show some values from number `at` on; of a byte string what is around a byte."""
    if not array.size:
        return f"no {'byte strings' if array.dtype == object else array.dtype}"
    if array.dtype == object:
        shown = [_bytes_text(value, byte) for value in array[at : at + 1]]
    else:
        shown = [str(value) for value in array[at : at + _MAX_VALUES]]
    before = "..., " if at and shown else "..." * bool(at)
    text = before + ", ".join(shown) + ", ..." * (at + len(shown) < array.size)
    return text if array.size == len(shown) else f"{text} ({plural(array.size, 'value')})"


def _bytes_text(value: bytes, byte: int) -> str:
    """Show a text around a byte; of other byte strings what they are, and some bytes."""
    found = recognize_value(value)
    if found.label == "empty":
        return "''"
    if found.label != "text":
        piece = value[byte : byte + _MAX_HEX]
        return f"{found}; byte {byte:,}: {piece.hex(' ')}" if piece else str(found)
    begin = max(byte - 8, 0) if byte >= _MAX_TEXT else 0
    text = value[begin : begin + 4 * _MAX_TEXT].decode(errors="replace")
    is_cut = len(text) > _MAX_TEXT or begin + 4 * _MAX_TEXT < len(value)
    size = f" ({plural(len(value), 'byte')})" if begin or is_cut else ""
    return "..." * bool(begin) + repr(text[:_MAX_TEXT]) + "..." * is_cut + size
