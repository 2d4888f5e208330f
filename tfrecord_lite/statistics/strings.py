"""StringStatistics: the byte strings of a feature: lengths, the most frequent ones, what they are.

Short strings are counted, up to 10,000 different ones. When there are more, the rarer half is
dropped, so memory is bounded, and a count may be too low by a number that is known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.arrays import ByteRanges, row_splits
from tfrecord_lite.errors import require_int
from tfrecord_lite.example.value_content import recognize_value
from tfrecord_lite.statistics.distribution import Distribution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfrecord_lite.arrays import ObjectArray

_Text = TypeVar("_Text", str, bytes)

MAX_COUNTED_BYTES = 64
"""Longer strings are not counted one by one."""
MAX_DISTINCT = 10_000
_MAX_LOOKED_AT = 16
"""Strings that are looked at closely, of each batch of them."""
_MAX_DETAILS, _MAX_DESCRIBED = 100, 10
_MAX_EXAMPLES, _MAX_EXAMPLE_BYTES = 4, 16 * 1024


@dataclass(frozen=True, slots=True)
class StringStatistics:
    """Some byte strings: their lengths, how often the short ones occur, and what they are.

    Statistics can be added with ``+``. Create one with :meth:`of`.

    Attributes
    ----------
    lengths : Distribution
        Bytes per string.
    counts : mapping of bytes to int
        How often each string of up to 64 bytes occurs; of more than 10,000 different ones, the most frequent.
    n_uncounted : int
        How many strings are longer, and so not among `counts`.
    max_missed : int
        A string may occur this many times more than `counts` says; 0 if they are exact.
    contents : mapping of str to int
        What some of the strings, spread over all, are: ``"JPEG"``, ``"text"``, ``"float32 tensor"``,
        ``"bytes"``, ...; and how many of them.
    details : mapping of str to int
        The same of those with a size, shape or duration: ``"JPEG 640 x 480"``, ``"float32 tensor [3, 4]"``, ...;
        the 100 most frequent.
    examples : tuple of bytes
        A few strings, none larger than 16 KiB.

    Notes
    -----
    Immutable; can be pickled.
    """

    lengths: Distribution
    counts: Mapping[bytes, int]
    n_uncounted: int = 0
    max_missed: int = 0
    contents: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        """Replace the mappings by read-only copies."""
        for name in "counts", "contents", "details":
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the call that creates an equal one."""
        looked_at = dict(self.contents), dict(self.details), self.examples
        counted = dict(self.counts), self.n_uncounted, self.max_missed
        return (type(self), (self.lengths, *counted, *looked_at))

    @classmethod
    def of(cls, values: ByteRanges | ObjectArray) -> StringStatistics:
        """Return the statistics of byte strings: ranges of a buffer, or an object array of ``bytes``."""
        if isinstance(values, ByteRanges):
            lengths = values.lengths
            short = np.flatnonzero(lengths <= MAX_COUNTED_BYTES)
            counted = _strings(values if short.size == len(values) else values.take(short))
            looked_at = _strings(values.take(_spread(len(values))))
        else:
            lengths = np.fromiter(map(len, values), np.int64, values.size)
            counted = [value for value in values if len(value) <= MAX_COUNTED_BYTES]
            looked_at = values[_spread(values.size)].tolist()
        counts, max_missed = _bounded(Counter(counted))
        contents = [recognize_value(value) for value in looked_at]
        return cls(
            Distribution.of(lengths),
            counts,
            lengths.size - len(counted),
            max_missed,
            Counter(content.label for content in contents),
            Counter(
                f"{content.label} {content.details}" for content in contents if content.details
            ),
            tuple(v for v in looked_at if len(v) <= _MAX_EXAMPLE_BYTES)[:_MAX_EXAMPLES],
        )

    def __add__(self, other: StringStatistics) -> StringStatistics:
        """Return the statistics of all strings of both."""
        if not isinstance(other, StringStatistics):
            return NotImplemented
        added = Counter(self.counts)
        added.update(other.counts)  # which takes time by what is added, unlike +
        counts, max_missed = _bounded(added)
        return StringStatistics(
            self.lengths + other.lengths,
            counts,
            self.n_uncounted + other.n_uncounted,
            self.max_missed + other.max_missed + max_missed,
            Counter(self.contents) + Counter(other.contents),
            _most_frequent(Counter(self.details) + Counter(other.details), _MAX_DETAILS),
            (*self.examples, *other.examples)[:_MAX_EXAMPLES],
        )

    @property
    def is_exact(self) -> bool:
        """Whether `counts` has every string, and how often exactly it occurs."""
        return not self.n_uncounted and not self.max_missed

    @property
    def n_distinct(self) -> int | None:
        """How many different strings there are; None if there were too many, or too long ones, to count."""
        return len(self.counts) if self.is_exact else None

    def top(self, n: int = 10) -> list[tuple[bytes, int]]:
        """Return the `n` most frequent short strings, and how often each occurs.

        At least that often, unless :attr:`is_exact`. Of strings that occur as often, the first by their bytes come first. Raises InvalidArgumentError
        (``BAD_ARGUMENT``) for an `n` that is not positive.
        """
        n = require_int("n", n, 1)
        return list(_most_frequent(self.counts, n).items())

    def describe(self) -> dict[str, Any]:
        r"""Return the figures as JSON values; bytes that are not UTF-8 are escaped (``\xff``)."""
        return {
            "lengths": self.lengths.describe(),
            "distinct": self.n_distinct,
            "top": [[_text(value), count] for value, count in self.top()],
            "contents": _most_frequent(self.contents),
            "details": _most_frequent(self.details, _MAX_DESCRIBED),
        }


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


def _spread(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the numbers of a few of `n` strings, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, _MAX_LOOKED_AT)).astype(np.int64))


def _strings(values: ByteRanges) -> list[bytes]:
    data = values.joined().tobytes()
    return [data[a:b] for a, b in pairwise(row_splits(values.lengths).tolist())]


def _bounded(counts: Counter[bytes]) -> tuple[dict[bytes, int], int]:
    """Return counts without the rarer half if there are too many, and the largest that was dropped."""
    if len(counts) <= MAX_DISTINCT:
        return counts, 0
    ordered = list(_most_frequent(counts).items())
    kept = MAX_DISTINCT // 2
    return dict(ordered[:kept]), ordered[kept][1]


def _most_frequent(counts: Mapping[_Text, int], n: int | None = None) -> dict[_Text, int]:
    """Return the first `n` of some counts, the highest first; of equal ones in the order of their keys."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:n])
