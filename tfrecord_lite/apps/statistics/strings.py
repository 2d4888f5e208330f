"""StringStatistics: the byte strings of a feature: lengths, the most frequent ones, what they are.

Short strings are counted, up to 10,000 different ones. When there are more, the rarer half is
dropped, so memory is bounded, and a count may be too low by a number that is known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from crc32c import crc32c

from tfrecord_lite.apps.statistics.distribution import Distribution
from tfrecord_lite.arrays import ByteRanges, row_splits
from tfrecord_lite.errors import require_int
from tfrecord_lite.sniff import recognize_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfrecord_lite.arrays import Float64Array, ObjectArray

_Text = TypeVar("_Text", str, bytes)

MAX_COUNTED_BYTES = 64
"""Longer strings are not counted one by one."""
MAX_DISTINCT = 10_000
MAX_LOOKED_AT = 64
"""Strings that are looked at closely, of all."""
_ALL = 1.0  # all lots are below
_SEED_BYTES = 1024
_MAX_DESCRIBED = 10
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
    num_uncounted : int
        How many strings are longer, and so not among `counts`.
    max_missed : int
        A string may occur this many times more than `counts` says; 0 if they are exact.
    looked_at : tuple
        Of up to 64 of the strings, drawn at random from all: the number that was drawn, from 0 to 1, the
        format (``"JPEG"``, ``"text"``, ``"bytes"``, ...), and the size of a picture or shape of a tensor.
    examples : tuple of bytes
        A few strings, none larger than 16 KiB.

    Notes
    -----
    Immutable; can be pickled.

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import StringStatistics
    >>> names = StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object))
    >>> names.lengths.max, names.top(1)
    (4, [(b'Ada', 2)])
    """

    lengths: Distribution
    counts: Mapping[bytes, int]
    num_uncounted: int = 0
    max_missed: int = 0
    looked_at: tuple[tuple[float, str, str], ...] = ()
    examples: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        """Replace the counts by a read-only copy."""
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the call that creates an equal one."""
        counted = dict(self.counts), self.num_uncounted, self.max_missed
        return (type(self), (self.lengths, *counted, self.looked_at, self.examples))

    @classmethod
    def of(cls, values: ByteRanges | ObjectArray) -> StringStatistics:
        """Return the statistics of byte strings: ranges of a buffer, or an object array of ``bytes``.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import StringStatistics
        >>> dict(StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object)).counts)
        {b'Ada': 2, b'Alan': 1}
        """
        return cls._of(values, _ALL)

    @classmethod
    def _of(cls, values: ByteRanges | ObjectArray, below: float) -> StringStatistics:
        """Return the statistics of byte strings; look at those whose lot is below a number only."""
        lots = _lots(values)
        drawn = np.argsort(lots, kind="stable")[:MAX_LOOKED_AT]
        drawn = drawn[lots[drawn] < below]
        if isinstance(values, ByteRanges):
            lengths = values.lengths
            short = np.flatnonzero(lengths <= MAX_COUNTED_BYTES)
            counted = _strings(values if short.size == len(values) else values.take(short))
            strings = _strings(values.take(drawn))
        else:
            lengths = np.fromiter(map(len, values), np.int64, values.size)
            counted = [value for value in values if len(value) <= MAX_COUNTED_BYTES]
            strings = values[drawn].tolist()
        counts, max_missed = _bounded(Counter(counted))
        contents = map(recognize_value, strings)
        return cls(
            Distribution.of(lengths),
            counts,
            lengths.size - len(counted),
            max_missed,
            tuple(
                (lot, c.label, c.details)
                for lot, c in zip(lots[drawn].tolist(), contents, strict=True)
            ),
            tuple(v for v in strings if len(v) <= _MAX_EXAMPLE_BYTES)[:_MAX_EXAMPLES],
        )

    def plus(self, values: ByteRanges | ObjectArray) -> StringStatistics:
        """Return the statistics with some more strings: faster than ``self + StringStatistics.of(values)``.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import StringStatistics
        >>> names = StringStatistics.of(np.array([b"Ada", b"Alan"], object))
        >>> dict(names.plus(np.array([b"Ada"], object)).counts)
        {b'Ada': 2, b'Alan': 1}
        """
        is_full = len(self.looked_at) == MAX_LOOKED_AT
        return self + StringStatistics._of(values, self.looked_at[-1][0] if is_full else _ALL)

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
            self.num_uncounted + other.num_uncounted,
            self.max_missed + other.max_missed + max_missed,
            tuple(sorted((*self.looked_at, *other.looked_at))[:MAX_LOOKED_AT]),
            (*self.examples, *other.examples)[:_MAX_EXAMPLES],
        )

    @property
    def contents(self) -> dict[str, int]:
        """What the strings that were looked at are, and how many of them; the most frequent first.

        ``"JPEG"``, ``"text"``, ``"float32 tensor"``, ``"bytes"``, ...
        """
        return _most_frequent(Counter(label for _, label, _ in self.looked_at))

    @property
    def details(self) -> dict[str, int]:
        """The same of those with a size, shape or duration, which is in the key.

        ``"JPEG 640 x 480"``, ``"float32 tensor [3, 4]"``, ...
        """
        return _most_frequent(
            Counter(f"{label} {details}" for _, label, details in self.looked_at if details)
        )

    @property
    def is_exact(self) -> bool:
        """Whether `counts` has every string, and how often exactly it occurs."""
        return not self.num_uncounted and not self.max_missed

    @property
    def num_distinct(self) -> int | None:
        """How many different strings there are; None if there were too many, or too long ones, to count."""
        return len(self.counts) if self.is_exact else None

    def top(self, n: int = 10) -> list[tuple[bytes, int]]:
        """Return the `n` most frequent short strings, and how often each occurs.

        At least that often, unless :attr:`is_exact`. Of strings that occur as often, the first by their
        bytes come first. Raises InvalidArgumentError (``BAD_ARGUMENT``) for an `n` that is not positive.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import StringStatistics
        >>> names = StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object))
        >>> names.top(1)
        [(b'Ada', 2)]
        """
        n = require_int("n", n, 1)
        return list(_most_frequent(self.counts, n).items())

    def describe(self) -> dict[str, Any]:
        r"""Return the figures as JSON values; bytes that are not UTF-8 are escaped (``\xff``).

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import StringStatistics
        >>> names = StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object))
        >>> names.describe()["top"]
        [['Ada', 2], ['Alan', 1]]
        """
        return {
            "lengths": self.lengths.describe(),
            "distinct": self.num_distinct,
            "top": [[_text(value), count] for value, count in self.top()],
            "looked_at": len(self.looked_at),
            "contents": self.contents,
            "details": _most_frequent(self.details, _MAX_DESCRIBED),
        }


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


def _lots(values: ByteRanges | ObjectArray) -> Float64Array:
    """Draw a number from 0 to 1 for each string; the lowest of all strings are looked at.

    The seed is in the strings, so that the same data give the same statistics.
    """
    n = len(values)
    if not n:
        return np.empty(0)
    if isinstance(values, ByteRanges):
        first, last = _strings(values.take(np.array([0, n - 1])))
        seed = crc32c(values.lengths.tobytes())
    else:
        first, last = values[0], values[-1]
        seed = n
    seed = crc32c(last[:_SEED_BYTES], crc32c(first[:_SEED_BYTES], seed))
    return np.random.default_rng(seed).random(n)


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
