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

from tfrecord_lite.block import Block
from tfrecord_lite.errors import plural
from tfrecord_lite.example.sequence.to_dicts import SequenceExampleDecoder
from tfrecord_lite.example.to_dicts import ExampleDecoder
from tfrecord_lite.schema.text import shown_name

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

_EMPTY = Block.from_records([])
_MAX_SHOWN = 10
"""How many differences are kept."""
_MAX_NAMES = 5
"""How many features of a difference are named in its line."""


@dataclass(frozen=True, slots=True)
class RecordDifference:
    """Two records of the same number that hold different values.

    Attributes
    ----------
    number : int
        Of the record in both data sets, from 0.
    features : tuple of str
        The features and feature lists that differ.
    """

    number: int
    features: tuple[str, ...]

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
    n_records : int
        Number of records in each.
    n_different : int
        How many pairs hold different values.
    by_feature : mapping of str to int
        In how many pairs each feature differs; those that do.
    first : tuple of RecordDifference
        The first 10.
    """

    n_records: int
    n_different: int
    by_feature: Mapping[str, int] = field(default_factory=dict)
    first: tuple[RecordDifference, ...] = ()

    def __post_init__(self) -> None:
        """Replace the mapping by a read-only copy, the most frequent first."""
        ordered = sorted(self.by_feature.items(), key=lambda item: (-item[1], item[0]))
        object.__setattr__(self, "by_feature", MappingProxyType(dict(ordered)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the call that creates an equal one."""
        return (type(self), (self.n_records, self.n_different, dict(self.by_feature), self.first))

    def __str__(self) -> str:
        """Return the number of differences in one line."""
        if not self.n_different:
            return f"all {plural(self.n_records, 'record')} hold the same"
        names = [f"{shown_name(name)} in {n:,}" for name, n in self.by_feature.items()]
        dots = ", ..." * (len(names) > _MAX_NAMES)
        said = f"{self.n_different:,} of {plural(self.n_records, 'record')} differ"
        return f"{said}: {', '.join(names[:_MAX_NAMES])}{dots}"

    def describe(self) -> dict[str, Any]:
        """Return all as JSON values."""
        return {
            "records": self.n_records,
            "different": self.n_different,
            "by_feature": dict(self.by_feature),
            "first": [{"record": one.number, "features": list(one.features)} for one in self.first],
        }


def compare_records(
    a: Generator[Block, None, None], b: Generator[Block, None, None], *, is_sequence: bool
) -> RecordDifferences | None:
    """Compare records one by one; None if one data set turns out to have more of them."""
    decode: Any = SequenceExampleDecoder() if is_sequence else ExampleDecoder()
    n_records, n_different = 0, 0
    by_feature: Counter[str] = Counter()
    first: list[RecordDifference] = []
    with closing(a), closing(b):
        for ours, theirs in _aligned(a, b):
            if len(ours) != len(theirs):
                return None
            pairs = zip(ours.to_list(), theirs.to_list(), strict=True)
            odd = [i for i, (one, other) in enumerate(pairs) if one != other]
            for i, names in zip(odd, _differing(ours[odd], theirs[odd], decode), strict=True):
                if names:
                    n_different += 1
                    by_feature.update(names)
                    if len(first) < _MAX_SHOWN:
                        first.append(RecordDifference(n_records + i, tuple(names)))
            n_records += len(ours)
    return RecordDifferences(n_records, n_different, by_feature, tuple(first))


def _aligned(a: Iterator[Block], b: Iterator[Block]) -> Iterator[tuple[Block, Block]]:
    """Yield blocks of equally many records; at the end one of them may be empty."""
    ours = theirs = _EMPTY
    while True:
        ours = ours if len(ours) else next(a, _EMPTY)
        theirs = theirs if len(theirs) else next(b, _EMPTY)
        n_records = min(len(ours), len(theirs))
        if not n_records:
            if len(ours) or len(theirs):
                yield ours, theirs
            return
        yield ours[:n_records], theirs[:n_records]
        ours, theirs = ours[n_records:], theirs[n_records:]


def _differing(ours: Block, theirs: Block, decode: Any) -> Iterable[list[str]]:
    """Return the names of what differs in each pair of records."""
    if not len(ours):
        return []
    return (
        sorted(_names(_flat(one), _flat(other)))
        for one, other in zip(decode(ours), decode(theirs), strict=True)
    )


def _flat(row: Mapping[str, Any]) -> dict[tuple[str, str], list[Any]]:
    """Return the arrays of a record by part and name: a list of one for a feature."""
    if row.keys() == {"context", "feature_lists"} and isinstance(row["context"], dict):
        context = {("context", name): [values] for name, values in row["context"].items()}
        return {
            **context,
            **{("list", name): steps for name, steps in row["feature_lists"].items()},
        }
    return {("", name): [values] for name, values in row.items()}


def _names(
    one: dict[tuple[str, str], list[Any]], other: dict[tuple[str, str], list[Any]]
) -> set[str]:
    return {
        name
        for part, name in one.keys() | other.keys()
        if not _are_same(one.get((part, name)), other.get((part, name)))
    }


def _are_same(one: list[Any] | None, other: list[Any] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(
        a.dtype == b.dtype
        and a.size == b.size
        and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
        for a, b in zip(one, other, strict=True)
    )
