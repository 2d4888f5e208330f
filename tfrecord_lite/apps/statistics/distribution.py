"""Distribution and StringStatistics: how the numbers of a feature are distributed, and its byte strings.

Numbers are kept sorted, each different one with its count. If they are more than 2,048, so many are taken at equal
steps from a random start, each of which then represents as many numbers. If there are more than 10,000 different
short byte strings, the rarer half is dropped, so a count may be too low.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import AnyArray, ByteRanges, Float64Array, Int64Array, ObjectArray
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.extension import json_value, shortest
from tfrecord_lite.sniff import recognize_value

_Text = TypeVar("_Text", str, bytes)

MAX_VALUES = 2048
_TYPES = {"b": np.int64, "i": np.int64, "u": np.uint64, "f": np.float64}
"""How numbers are kept, by the kind of their dtype."""

MAX_COUNTED_BYTES = 64
"""Longer strings are not counted one by one."""
MAX_DISTINCT = 10_000
MAX_LOOKED_AT = 64
"""Strings that are looked at closely, of all."""
_MAX_EXAMPLES, _MAX_EXAMPLE_BYTES = 4, 16 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Some numbers: how many, their range, mean and spread, and how they are distributed.

    Immutable, 32 KiB at most; can be pickled, and added with ``+``. Create one with :meth:`of`.

    Attributes
    ----------
    count : int
        How many numbers, NaN included.
    num_nan, num_inf, num_zeros : int
        How many of them are NaN, infinite, and zero.
    min, max : int, float or None
        The smallest and the largest, without NaN, exactly; None if there are none.
    values : ndarray
        The different finite numbers, ascending; int64, uint64 or float64. All, or up to 2,048 that represent all,
        with the smallest and the largest.
    counts : ndarray
        How often each occurs, or how many it represents; int64.
    is_exact : bool
        Whether these are all. Otherwise quantiles and histograms are exact to about one percent of the numbers.

    Examples
    --------
    >>> ages = Distribution.of(np.array([36, 41])) + Distribution.of(np.array([37]))
    >>> ages.count, ages.min, ages.max, ages.mean, ages.quantile(0.5)
    (3, 36, 41, 38.0, 37)
    """

    count: int = 0
    num_nan: int = 0
    num_inf: int = 0
    num_zeros: int = 0
    min: float | None = None
    max: float | None = None
    values: AnyArray = field(default_factory=lambda: np.empty(0), repr=False)
    counts: Int64Array = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    is_exact: bool = True
    _mean: float = 0.0
    _squares: float = 0.0
    """The sum of squared differences from the mean."""
    _is_single: bool = False
    """Whether all are float32."""

    @classmethod
    def of(cls, numbers: AnyArray) -> Distribution:
        """Return the distribution of an array of integers or floats, of any shape.

        Examples
        --------
        >>> Distribution.of(np.array([36, 41, 37, 36])).values
        array([36, 37, 41])
        """
        kind = numbers.dtype.kind
        if kind not in _TYPES:
            raise TypeError(f"numbers must be integers or floats, not {numbers.dtype}")
        if not numbers.size:
            return cls()
        known = numbers[~np.isnan(numbers)] if kind == "f" else numbers.reshape(-1)
        finite = known[np.isfinite(known)] if kind == "f" else known
        values, counts = np.unique(finite, return_counts=True)
        values = values.astype(_TYPES[kind]) + 0  # of two zeros, the positive one
        mean = squares = 0.0
        if values.size:
            with np.errstate(over="ignore", invalid="ignore"):
                mean = float(np.average(values, weights=counts))
                squares = float((np.square(values - mean) * counts).sum())
        return cls(
            count=numbers.size,
            num_nan=numbers.size - known.size,
            num_inf=known.size - finite.size,
            num_zeros=int(counts[values == 0].sum()),
            min=known.min().item() if known.size else None,
            max=known.max().item() if known.size else None,
            **_bounded_values(values, counts, is_exact=True),
            _mean=mean,
            _squares=squares,
            _is_single=numbers.dtype == np.float32,
        )

    @property
    def is_integer(self) -> bool:
        """Whether they are integers by their type."""
        return self.values.dtype.kind in "iu"

    @property
    def num_finite(self) -> int:
        """How many numbers are neither NaN nor infinite."""
        return self.count - self.num_nan - self.num_inf

    @property
    def mean(self) -> float | None:
        """The mean of the finite numbers; None if there are none."""
        return self._mean if self.num_finite else None

    @property
    def std(self) -> float | None:
        """The standard deviation of the finite numbers (divided by their count); None if there are none."""
        return math.sqrt(self._squares / self.num_finite) if self.num_finite else None

    def __add__(self, other: Distribution) -> Distribution:
        """Return the distribution of all numbers of both."""
        if not isinstance(other, Distribution):
            return NotImplemented
        if not self.count or not other.count:
            return other if other.count else self
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")  # which is fast for two sorted parts
        values = values[order]
        firsts = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: values.size])
        counts = np.add.reduceat(np.concatenate([self.counts, other.counts])[order], firsts)
        n_ours, n_theirs = self.num_finite, other.num_finite
        share = n_theirs / max(n_ours + n_theirs, 1)
        gap = other._mean - self._mean
        return Distribution(
            count=self.count + other.count,
            num_nan=self.num_nan + other.num_nan,
            num_inf=self.num_inf + other.num_inf,
            num_zeros=self.num_zeros + other.num_zeros,
            min=min((n for n in (self.min, other.min) if n is not None), default=None),
            max=max((n for n in (self.max, other.max) if n is not None), default=None),
            **_bounded_values(values[firsts], counts, is_exact=self.is_exact and other.is_exact),
            _mean=self._mean + gap * share,
            _squares=self._squares + other._squares + gap * gap * n_ours * share,
            _is_single=self._is_single and other._is_single,
        )

    def __eq__(self, other: object) -> bool:
        """Compare counts, ranges and values; and means, up to rounding."""
        if not isinstance(other, Distribution):
            return NotImplemented
        exact = ("count", "num_nan", "num_inf", "num_zeros", "min", "max", "is_integer")
        return (
            all(getattr(self, name) == getattr(other, name) for name in exact)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.counts, other.counts)
            and math.isclose(self._mean, other._mean, rel_tol=1e-9, abs_tol=1e-12)
        )

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def quantile(self, q: float) -> float | None:
        """Return the number below which a share `q` of the finite numbers is, the smaller one of two; None without any.

        Raises InvalidArgumentError (``BAD_ARGUMENT``) unless `q` is from 0 to 1.

        Examples
        --------
        >>> Distribution.of(np.array([36, 41, 37])).quantile(0.5)
        37
        """
        if not 0 <= q <= 1:
            raise argument_error(f"q is {q}, expected a share from 0 to 1")
        if not self.num_finite:
            return None
        place = np.searchsorted(np.cumsum(self.counts), q * (self.num_finite - 1), side="right")
        number: float = self.values[place].item()
        return number

    def histogram(self, bins: int = 20) -> tuple[Int64Array, Float64Array]:
        """Return how many finite numbers are in each of some bins of the same width.

        Parameters
        ----------
        bins : int, optional
            How many, from 1; fewer for integers of a small range, so that as many are in each.

        Returns
        -------
        counts : int64, shape (n_bins,)
        edges : float64, shape (n_bins + 1,)
            Each bin includes its first edge, and the last one its last edge too. Both arrays are empty if
            there are no finite numbers.

        Examples
        --------
        >>> Distribution.of(np.array([36, 41, 37, 36])).histogram()
        (array([2, 1, 0, 0, 0, 1]), array([35.5, 36.5, 37.5, 38.5, 39.5, 40.5, 41.5]))
        """
        bins = require_int("bins", bins, 1)
        if not self.values.size:
            return np.empty(0, np.int64), np.empty(0)
        values, base = self.values, 0
        low, high = values[0].item(), values[-1].item()
        if self.is_integer and high - low < 4 * bins:  # otherwise they may be one more or less
            values, base = values - values[0], low
            width = (high - low) // bins + 1
            edges = np.arange(0, high - low + width + 1, width) - 0.5
        elif low == high:
            edges = np.array([low - 0.5, high + 0.5])
        else:
            shares = np.linspace(0, 1, bins + 1)
            # Their difference may overflow, and of near ones rounding may lower an edge.
            edges = np.maximum.accumulate(low * (1 - shares) + high * shares)
        counts, _ = np.histogram(values.astype(np.float64), edges, weights=self.counts)
        return counts.astype(np.int64), edges + base

    def describe(self) -> dict[str, Any]:
        """Return the figures as JSON values: counts, range, mean, spread, quartiles and a histogram.

        Examples
        --------
        >>> Distribution.of(np.array([36, 41, 37])).describe()["quartiles"]
        [36, 37, 37]
        """
        counts, edges = self.histogram()
        figures = {name: getattr(self, name) for name in ("min", "max", "mean", "std")}
        figures["quartiles"] = tuple(self.quantile(q) for q in (0.25, 0.5, 0.75))
        bounds = edges.tolist()
        if self._is_single:  # with the digits that float32 needs
            figures = {name: shortest(figure) for name, figure in figures.items()}
            bounds = [shortest(float(edge)) for edge in edges.astype(np.float32)]
        return {
            "count": self.count,
            "nan": self.num_nan,
            "infinite": self.num_inf,
            "zeros": self.num_zeros,
            **{name: json_value(figure) for name, figure in figures.items()},
            "histogram": {"counts": counts.tolist(), "edges": bounds},
        }


@dataclass(frozen=True, slots=True)
class StringStatistics:
    """Some byte strings: their lengths, how often the short ones occur, and what they are.

    Immutable; can be pickled, and added with ``+``. Create one with :meth:`of`.

    Attributes
    ----------
    lengths : Distribution
        Bytes per string.
    counts : mapping of bytes to int
        How often each string of up to 64 bytes occurs; of more than 10,000 different ones, the most frequent.
    is_exact : bool
        Whether `counts` has every string, and how often exactly it occurs.
    looked_at : tuple
        Of up to 64 of the strings, drawn at random from all: the number that was drawn, from 0 to 1, and the
        format (``"JPEG"``, ``"text"``, ``"bytes"``, ...).
    examples : tuple of bytes
        A few strings, none larger than 16 KiB.

    Examples
    --------
    >>> names = StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object))
    >>> names.lengths.max, names.top(1)
    (4, [(b'Ada', 2)])
    """

    lengths: Distribution = field(default_factory=Distribution)
    counts: Mapping[bytes, int] = field(default_factory=dict)
    is_exact: bool = True
    looked_at: tuple[tuple[float, str], ...] = ()
    examples: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, values: ByteRanges | ObjectArray) -> StringStatistics:
        """Return the statistics of byte strings: ranges of a buffer, or an object array of ``bytes``.

        Examples
        --------
        >>> StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object)).num_distinct
        2
        """
        return cls().plus(values)

    def plus(self, values: ByteRanges | ObjectArray) -> StringStatistics:
        """Return the statistics with some more strings.

        Examples
        --------
        >>> dict(StringStatistics().plus(np.array([b"Ada", b"Ada"], object)).counts)
        {b'Ada': 2}
        """
        values = ranges_of(values)
        # Those with the lowest numbers of all are looked at: others than in an equal block before.
        lots = np.random.default_rng(self.lengths.count).random(len(values))
        drawn = np.argsort(lots)[:MAX_LOOKED_AT]
        if len(self.looked_at) == MAX_LOOKED_AT:
            drawn = drawn[lots[drawn] < self.looked_at[-1][0]]
        strings = _strings(values.take(drawn))
        labels = [recognize_value(value).label for value in strings]
        short = np.flatnonzero(values.lengths <= MAX_COUNTED_BYTES)
        is_exact = short.size == len(values)
        lengths = Distribution.of(values.lengths)
        counts = Counter(_strings(values if is_exact else values.take(short)))
        looked_at = tuple(zip(lots[drawn].tolist(), labels, strict=True))
        examples = tuple(value for value in strings if len(value) <= _MAX_EXAMPLE_BYTES)
        return self + StringStatistics(lengths, counts, is_exact, looked_at, examples)

    def __add__(self, other: StringStatistics) -> StringStatistics:
        """Return the statistics of all strings of both."""
        if not isinstance(other, StringStatistics):
            return NotImplemented
        counts: Mapping[bytes, int] = Counter(self.counts)
        counts.update(other.counts)  # type: ignore[attr-defined] # in time by what is added, unlike +
        is_exact = self.is_exact and other.is_exact and len(counts) <= MAX_DISTINCT
        if len(counts) > MAX_DISTINCT:
            counts = _most_frequent(counts, MAX_DISTINCT // 2)
        looked_at = tuple(sorted((*self.looked_at, *other.looked_at))[:MAX_LOOKED_AT])
        examples = (*self.examples, *other.examples)[:_MAX_EXAMPLES]
        return StringStatistics(self.lengths + other.lengths, counts, is_exact, looked_at, examples)

    @property
    def contents(self) -> dict[str, int]:
        """What the strings that were looked at are, and how many of them; the most frequent first."""
        return _most_frequent(Counter(label for _, label in self.looked_at))

    @property
    def num_distinct(self) -> int | None:
        """How many different strings there are; None if there were too many, or too long ones, to count."""
        return len(self.counts) if self.is_exact else None

    def top(self, n: int = 10) -> list[tuple[bytes, int]]:
        """Return the `n` most frequent short strings, from 1, and how often each occurs; at least, unless :attr:`is_exact`.

        Equally frequent ones are in the order of their bytes.

        Examples
        --------
        >>> StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object)).top(1)
        [(b'Ada', 2)]
        """
        n = require_int("n", n, 1)
        return list(_most_frequent(self.counts, n).items())

    def describe(self) -> dict[str, Any]:
        r"""Return the figures as JSON values; bytes that are not UTF-8 are escaped (``\xff``).

        Examples
        --------
        >>> StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object)).describe()["top"]
        [['Ada', 2], ['Alan', 1]]
        """
        top = self.top()
        return {
            "lengths": self.lengths.describe(),
            "distinct": self.num_distinct,
            "top": [[value.decode("utf-8", "backslashreplace"), count] for value, count in top],
            "looked_at": len(self.looked_at),
            "contents": self.contents,
        }


def _bounded_values(values: AnyArray, counts: Int64Array, *, is_exact: bool) -> dict[str, Any]:
    """Return different numbers and their counts as fields: if they are too many, a sample that represents all."""
    if values.size > MAX_VALUES:
        total = int(counts.sum())
        # The start differs from one time to the next, so that errors do not add up.
        start = np.random.default_rng(total).random()
        ranks = (np.arange(MAX_VALUES) + start) * (total / MAX_VALUES)
        places = np.searchsorted(np.cumsum(counts), ranks, side="right")
        places[[0, -1]] = 0, values.size - 1  # the ends are always there
        places, first = np.unique(places, return_index=True)
        ranks_kept = np.linspace(0, total, MAX_VALUES + 1).astype(np.int64)
        values, counts = values[places], np.diff(ranks_kept[[*first, MAX_VALUES]])
        is_exact = False
    return {"values": values, "counts": counts, "is_exact": is_exact}


def ranges_of(values: ByteRanges | ObjectArray) -> ByteRanges:
    """Return byte strings as ranges of a buffer."""
    if isinstance(values, ByteRanges):
        return values
    column = BytesColumn.from_list(values)
    return ByteRanges(column.data, column.offsets[:-1], column.lengths)


def _strings(values: ByteRanges) -> list[bytes]:
    data = values.joined().tobytes()
    return [data[a:b] for a, b in pairwise(arrays.row_splits(values.lengths).tolist())]


def _most_frequent(counts: Mapping[_Text, int], n: int | None = None) -> dict[_Text, int]:
    """Return the first `n` of some counts, the highest first; of equal ones in the order of their keys."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:n])
