"""Distribution and StringStatistics: how the numbers of a feature are distributed, and its byte strings.

Numbers are counted in ever coarser buckets::

    code          an int64 for each number, its bits as float64, in the order of the numbers
    key           a code without its last `shift` bits
    keys, counts  the keys that occur, and how often each does: at most 2,048

Without a shift each key is one number, so a few distinct numbers are counted exactly. When there are
too many, one more bit is dropped, again and again, and neighbours fall together: even *relative* distances
suit ids and times that differ in their last digits, and data whose largest values are a million times the usual ones.

What is counted does not depend on the order of the numbers, nor on how they were divided: the shift is
always the smallest with which all keys fit. So distributions can be added.

Of byte strings, short ones are counted, up to 10,000 different ones. When there are more, the rarer half is
dropped, so memory is bounded, and a count may be too low by a number that is known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from crc32c import crc32c

from tfrecord_lite.arrays import (
    AnyArray,
    ByteRanges,
    Float64Array,
    Int64Array,
    ObjectArray,
    row_splits,
)
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.schema.text import json_value
from tfrecord_lite.sniff import recognize_value

_Text = TypeVar("_Text", str, bytes)

MAX_BUCKETS = 2048
_SIGN = np.int64(-(2**63))
_HALF = 0.5
_DENSE = 4
"""Keys are counted in an array, not sorted, if it has at most that many places per number."""
_POWERS = np.uint64(1) << np.arange(64, dtype=np.uint64)
_NO_KEYS = np.empty(0, np.int64)

MAX_COUNTED_BYTES = 64
"""Longer strings are not counted one by one."""
MAX_DISTINCT = 10_000
MAX_LOOKED_AT = 64
"""Strings that are looked at closely, of all."""
_SEED_BYTES = 1024
_MAX_DESCRIBED = 10
_MAX_EXAMPLES, _MAX_EXAMPLE_BYTES = 4, 16 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Some numbers: how many, their range, mean and spread, and how they are distributed.

    Distributions can be added with ``+``. Create one with :meth:`of`.

    Attributes
    ----------
    count : int
        How many numbers, NaN included.
    num_nan, num_inf, num_zeros : int
        How many of them are NaN, infinite, and zero.
    min, max : int, float or None
        The smallest and the largest, without NaN, exactly; None if there are none.
    is_integer : bool
        Whether they are integers by their type.

    Notes
    -----
    Immutable, a few kilobytes (32 KiB at most), can be pickled. :attr:`mean` and :attr:`std` are those of the
    finite numbers, in float64. Quantiles and histograms are exact if there are at most 2,048 distinct numbers;
    otherwise a number is known up to its bucket, which is usually one or two percent of the number, and more if the
    numbers spread over dozens of powers of two. Integers beyond 2**53 are in buckets as float64 rounds them.

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import Distribution
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
    is_integer: bool = False
    _base: int = 0
    """Of integers, a number near them, so that the digits in which they differ count."""
    _mean: float = 0.0
    """The mean of the finite numbers, less the base."""
    _squares: float = 0.0
    """The sum of squared differences from the mean."""
    _is_float32: bool = False
    """Whether all are, so that quantiles are too."""
    _shift: int = 0
    _keys: Int64Array = field(default_factory=lambda: _NO_KEYS, repr=False)
    """Ascending; the code of the numbers of each bucket without the last `_shift` bits."""
    _counts: Int64Array = field(default_factory=lambda: _NO_KEYS, repr=False)

    @classmethod
    def of(cls, numbers: AnyArray) -> Distribution:
        """Return the distribution of an array of integers or floats, of any shape.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> ages = Distribution.of(np.array([36, 41, 37]))
        >>> ages.count, ages.mean, ages.max
        (3, 38.0, 41)
        """
        return cls._of(numbers, 0)

    @classmethod
    def _of(cls, numbers: AnyArray, shift: int) -> Distribution:
        """Count numbers without at least `shift` of the last bits of their codes."""
        numbers = numbers.reshape(-1)
        is_integer = numbers.dtype.kind in "iub" and numbers.dtype != np.uint64
        if not is_integer and numbers.dtype.kind not in "uf":
            raise TypeError(f"numbers must be integers or floats, not {numbers.dtype}")
        known = numbers if is_integer else numbers[~np.isnan(numbers)]
        own = cls(
            count=numbers.size,
            num_nan=numbers.size - known.size,
            is_integer=is_integer,
            _is_float32=numbers.dtype == np.float32,
        )
        if not known.size:
            return own
        base = 0
        if is_integer:
            integers = known.astype(np.int64)
            base = int(integers.min())
            finite = integers.astype(np.float64)
            # Less the base, which is right even where int64 overflows.
            near = (integers - base).view(np.uint64).astype(np.float64)
        else:
            finite = near = known[np.isfinite(known)].astype(np.float64)
        with np.errstate(over="ignore"):
            mean = float(near.mean()) if near.size else 0.0
            if math.isinf(mean):
                mean = float((near / near.size).sum())
            squares = float(np.square(near - mean).sum())
        shift, keys, counts = _coarsened(*_counted(_codes(finite), shift), shift)
        return replace(
            own,
            num_inf=known.size - finite.size,
            num_zeros=known.size - int(np.count_nonzero(known)),
            min=known.min().item(),
            max=known.max().item(),
            _base=base,
            _mean=mean,
            _squares=squares,
            _shift=shift,
            _keys=keys,
            _counts=counts,
        )

    @classmethod
    def repeated(cls, number: int, times: int) -> Distribution:
        """Return the distribution of one integer, many times.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> lengths = Distribution.repeated(1, times=1_000)
        >>> lengths.count, lengths.mean
        (1000, 1.0)
        """
        one = cls.of(np.full(min(times, 1), number, np.int64))
        counts = np.array([times] * one.count, np.int64)
        return replace(one, count=times, num_zeros=one.num_zeros * times, _counts=counts)

    @property
    def num_finite(self) -> int:
        """How many numbers are neither NaN nor infinite."""
        return self.count - self.num_nan - self.num_inf

    @property
    def mean(self) -> float | None:
        """The mean of the finite numbers; None if there are none."""
        return self._base + self._mean if self.num_finite else None

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
        shift = max(self._shift, other._shift)
        ours, theirs = self._keys >> (shift - self._shift), other._keys >> (shift - other._shift)
        keys, counts = _summed(
            np.concatenate([ours, theirs]), np.concatenate([self._counts, other._counts])
        )
        shift, keys, counts = _coarsened(keys, counts, shift)
        n_ours, n_theirs = self.num_finite, other.num_finite
        share = n_theirs / max(n_ours + n_theirs, 1)
        gap = other._base - self._base + other._mean - self._mean
        return Distribution(
            count=self.count + other.count,
            num_nan=self.num_nan + other.num_nan,
            num_inf=self.num_inf + other.num_inf,
            num_zeros=self.num_zeros + other.num_zeros,
            min=min((n for n in (self.min, other.min) if n is not None), default=None),
            max=max((n for n in (self.max, other.max) if n is not None), default=None),
            is_integer=self.is_integer and other.is_integer,
            _is_float32=self._is_float32 and other._is_float32,
            _base=self._base,
            _mean=self._mean + gap * share,
            _squares=self._squares + other._squares + gap * gap * n_ours * share,
            _shift=shift,
            _keys=keys,
            _counts=counts,
        )

    def plus(self, numbers: AnyArray) -> Distribution:
        """Return the distribution with some more numbers: faster than ``self + Distribution.of(numbers)``.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> ages = Distribution.of(np.array([36, 41])).plus(np.array([37]))
        >>> ages.count, ages.mean
        (3, 38.0)
        """
        return self + Distribution._of(numbers, self._shift)

    def __eq__(self, other: object) -> bool:
        """Compare counts, ranges and buckets; and means, up to rounding."""
        if not isinstance(other, Distribution):
            return NotImplemented
        exact = ("count", "num_nan", "num_inf", "num_zeros", "min", "max", "is_integer", "_shift")
        return (
            all(getattr(self, name) == getattr(other, name) for name in exact)
            and np.array_equal(self._keys, other._keys)
            and np.array_equal(self._counts, other._counts)
            and math.isclose(self.mean or 0, other.mean or 0, rel_tol=1e-9, abs_tol=1e-12)
        )

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def buckets(self) -> tuple[Float64Array, Float64Array, Int64Array]:
        """Return the first and the last number of each bucket that is not empty, and its count.

        Ascending; float64, float64 and int64, shape (n_buckets,). A bucket of one number begins and ends with
        it. Infinite numbers and NaN are in none.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> first, last, counts = Distribution.of(np.array([36, 41, 37, 36])).buckets()
        >>> first, counts
        (array([36., 37., 41.]), array([2, 1, 1]))
        """
        firsts = self._keys << self._shift
        starts, stops = _numbers(firsts), _numbers(firsts | ((1 << self._shift) - 1))
        if self.is_integer:
            starts, stops = np.ceil(starts), np.floor(stops)
        if starts.size:
            starts[0], stops[-1] = max(starts[0], self.min), min(stops[-1], self.max)
        return starts, stops, self._counts

    def quantile(self, q: float) -> float | None:
        """Return the number below which a share `q` of the finite numbers is; None if there are none.

        Between two numbers that are told apart, it is the smaller one.

        Raises InvalidArgumentError (``BAD_ARGUMENT``) unless `q` is from 0 to 1.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> ages = Distribution.of(np.array([36, 41, 37]))
        >>> [ages.quantile(q) for q in (0, 0.5, 1)]
        [36, 37, 41]
        """
        if not 0 <= q <= 1:
            raise argument_error(f"q is {q}, expected a share from 0 to 1")
        if not self.num_finite:
            return None
        starts, stops, counts = self.buckets()
        ends = np.cumsum(counts)
        rank = q * (self.num_finite - 1)
        i = int(np.searchsorted(ends, rank, side="right"))
        n_others = int(counts[i]) - 1
        n_before = rank - (int(ends[i]) - n_others - 1)  # in the bucket
        low, high = float(starts[i]), float(stops[i])
        is_zero = low == 0 and n_before < self.num_zeros
        is_end = rank in (0, self.num_finite - 1)
        if is_zero or is_end:
            number = high if is_end and rank else low
        else:
            number = low + (high - low) * (n_before / n_others if n_others else _HALF)
        if self.is_integer:
            return min(max(int(number), self.min or 0), self.max or 0)
        return float(np.float32(number)) if self._is_float32 else number

    def histogram(self, bins: int = 20) -> tuple[Int64Array, Float64Array]:
        """Return how many finite numbers are in each of some bins of the same width.

        Parameters
        ----------
        bins : int, optional
            How many; integers of a small range have one each instead.

        Returns
        -------
        counts : int64, shape (n_bins,)
        edges : float64, shape (n_bins + 1,)
            Each bin includes its first edge, and the last one its last edge too. Both arrays are empty if
            there are no finite numbers.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if `bins` is not positive.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> Distribution.of(np.array([36, 41, 37, 36])).histogram()
        (array([2, 1, 0, 0, 0, 1]), array([35.5, 36.5, 37.5, 38.5, 39.5, 40.5, 41.5]))
        >>> Distribution.of(np.array([0.25, 0.5, 1.0])).histogram(2)
        (array([2, 1]), array([0.25 , 0.625, 1.   ]))
        """
        bins = require_int("bins", bins, 1)
        starts, stops, counts = self.buckets()
        if not starts.size:
            return _NO_KEYS, np.empty(0)
        edges = _edges(float(starts[0]), float(stops[-1]), bins, is_integer=self.is_integer)
        return _spread(starts, stops, counts, edges), edges

    def describe(self) -> dict[str, Any]:
        """Return the figures as JSON values: counts, range, mean, spread, quartiles and a histogram.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> figures = Distribution.of(np.array([36, 41, 37])).describe()
        >>> figures["min"], figures["mean"], figures["quartiles"]
        (36, 38.0, [36, 37, 37])
        """
        counts, edges = self.histogram()
        quartiles = [self.quantile(q) for q in (0.25, 0.5, 0.75)]
        return {
            "count": self.count,
            "nan": self.num_nan,
            "infinite": self.num_inf,
            "zeros": self.num_zeros,
            "min": json_value(self.min),
            "max": json_value(self.max),
            "mean": json_value(self.mean),
            "std": json_value(self.std),
            "quartiles": [json_value(number) for number in quartiles],
            "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
        }


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

    @classmethod
    def of(cls, values: ByteRanges | ObjectArray) -> StringStatistics:
        """Return the statistics of byte strings: ranges of a buffer, or an object array of ``bytes``.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import StringStatistics
        >>> dict(StringStatistics.of(np.array([b"Ada", b"Alan", b"Ada"], object)).counts)
        {b'Ada': 2, b'Alan': 1}
        """
        return cls._of(values, 1.0, 0)  # all lots are below

    @classmethod
    def _of(cls, values: ByteRanges | ObjectArray, below: float, n_before: int) -> StringStatistics:
        """Return the statistics of byte strings, after some others; look at those whose lot is below a number only."""
        if not isinstance(values, ByteRanges):
            column = BytesColumn.from_list(values)
            values = ByteRanges(column.data, column.offsets[:-1], column.lengths)
        lots = _lots(values, n_before)
        drawn = np.argsort(lots, kind="stable")[:MAX_LOOKED_AT]
        drawn = drawn[lots[drawn] < below]
        strings = _strings(values.take(drawn))
        contents = zip(lots[drawn].tolist(), map(recognize_value, strings), strict=True)
        short = np.flatnonzero(values.lengths <= MAX_COUNTED_BYTES)
        counted = _strings(values if short.size == len(values) else values.take(short))
        counts, max_missed = _bounded(Counter(counted))
        return cls(
            Distribution.of(values.lengths),
            counts,
            len(values) - len(counted),
            max_missed,
            tuple((lot, content.label, content.details) for lot, content in contents),
            tuple(v for v in strings if len(v) <= _MAX_EXAMPLE_BYTES)[:_MAX_EXAMPLES],
        )

    def plus(self, values: ByteRanges | ObjectArray) -> StringStatistics:
        """Return the statistics with some more strings: faster than ``self + StringStatistics.of(values)``, and it looks at others.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import StringStatistics
        >>> names = StringStatistics.of(np.array([b"Ada", b"Alan"], object))
        >>> dict(names.plus(np.array([b"Ada"], object)).counts)
        {b'Ada': 2, b'Alan': 1}
        """
        is_full = len(self.looked_at) == MAX_LOOKED_AT
        below = self.looked_at[-1][0] if is_full else 1.0
        return self + StringStatistics._of(values, below, self.lengths.count)

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
        top = self.top()
        return {
            "lengths": self.lengths.describe(),
            "distinct": self.num_distinct,
            "top": [[value.decode("utf-8", "backslashreplace"), count] for value, count in top],
            "looked_at": len(self.looked_at),
            "contents": self.contents,
            "details": _most_frequent(self.details, _MAX_DESCRIBED),
        }


# ------------------------------------------------------------------------------- numbers


def _codes(numbers: Float64Array) -> Int64Array:
    """Return codes of finite numbers: their bits, in the order of the numbers; that of 0 is 0."""
    bits: Int64Array = (numbers + 0.0).view(np.int64)  # of two zeros, the positive one
    return np.where(bits < 0, _SIGN - bits - 1, bits)


def _numbers(codes: Int64Array) -> Float64Array:
    """Return the numbers with some codes; those beyond the largest number are infinite or NaN."""
    bits = np.where(codes < 0, _SIGN - codes - 1, codes)
    return bits.view(np.float64)


def _counted(codes: Int64Array, shift: int) -> tuple[Int64Array, Int64Array]:
    """Return the keys that occur, ascending, and how often each does."""
    keys = codes >> shift
    if keys.size:
        low, high = int(keys.min()), int(keys.max())
        if high - low < _DENSE * keys.size:
            counts = np.bincount(keys - low)
            found = np.flatnonzero(counts)
            return found + low, counts[found]
    keys, counts = np.unique(keys, return_counts=True)
    return keys, counts


def _summed(keys: Int64Array, counts: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return keys once each, ascending, with the sum of their counts."""
    keys, places = np.unique(keys, return_inverse=True)
    return keys, np.bincount(places, counts, keys.size).astype(np.int64)


def _coarsened(
    keys: Int64Array, counts: Int64Array, shift: int
) -> tuple[int, Int64Array, Int64Array]:
    """Drop the fewest bits that leave few enough keys; return the shift, the keys and their counts."""
    if keys.size <= MAX_BUCKETS:
        return shift, keys, counts
    # Neighbours stay apart until the highest bit in which they differ is dropped.
    changes = (keys[1:] ^ keys[:-1]).view(np.uint64)
    n_bits = np.searchsorted(_POWERS, changes, side="right")
    dropped = int(np.sort(n_bits)[-MAX_BUCKETS])
    return shift + dropped, *_summed(keys >> dropped, counts)


def _edges(low: float, high: float, bins: int, *, is_integer: bool) -> Float64Array:
    """Return the ascending edges of bins from one number to another, fewer if they are too close."""
    step = float(np.spacing(max(abs(low), abs(high))))  # to the next number
    if is_integer and high - low < bins and step <= _HALF:
        return np.arange(low, high + 2, dtype=np.float64) - _HALF
    if low == high:
        return np.array([low - max(step, _HALF), high + max(step, _HALF)])
    parts = np.linspace(0, 1, 1 + int(min(bins, high / step - low / step)))
    edges: Float64Array = low * (1 - parts) + high * parts
    return edges


def _spread(
    starts: Float64Array, stops: Float64Array, counts: Int64Array, edges: Float64Array
) -> Int64Array:
    """Divide the counts of buckets among bins; a bucket across an edge in proportion, rounded."""
    lows = np.cumsum(counts) - counts
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        shares = (edges[1:-1, None] - starts) / (stops - starts)
    # Of a bucket of one number: all of it is below an edge, or none.
    whole = np.where(starts < edges[1:-1, None], 1.0, 0.0)
    shares = np.where(stops > starts, np.clip(shares, 0, 1), whole)
    below = np.rint(shares * counts).astype(np.int64).sum(axis=1)
    total = int(lows[-1] + counts[-1])
    return np.diff(np.concatenate([[0], below, [total]]))


# ------------------------------------------------------------------------------- strings


def _lots(values: ByteRanges, n_before: int) -> Float64Array:
    """Draw a number from 0 to 1 for each string; the lowest of all strings are looked at.

    The seed is in the strings, so that the same data give the same statistics; and in how many were before,
    so that equal blocks are not looked at in the same places.
    """
    n = len(values)
    seed = crc32c(values.lengths.tobytes(), n_before & 0xFFFFFFFF)
    for value in _strings(values.take(np.array([0, n - 1]))) if n else ():
        seed = crc32c(value[:_SEED_BYTES], seed)
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
