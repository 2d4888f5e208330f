"""Distribution: the numbers of a feature, counted in ever coarser buckets.

::

    float64       sign  exponent  fraction                     in the order of the numbers, as int64
    key           sign  exponent  fract┆                       the same without its last `shift` bits
    keys, counts  the keys that occur, and how often each does: at most 2,048

Without a shift each key is one number, so a few distinct numbers are counted exactly. When there are
too many, one more bit is dropped, again and again, and neighbours fall together. So buckets have an
even *relative* width: it suits ids and times that differ in their last digits, and data whose largest
values are a million times the usual ones.

What is counted does not depend on the order of the numbers, nor on how they were divided: the shift is
always the smallest with which all keys fit. So distributions can be added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.errors import argument_error, require_int

if TYPE_CHECKING:
    from tfrecord_lite.arrays import AnyArray, Float64Array, Int64Array

MAX_BUCKETS = 2048
_SIGN = np.int64(-(2**63))
_HALF = 0.5
_DENSE = 4
"""Keys are counted in an array, not sorted, if it has at most that many places per number."""

_POWERS = np.uint64(1) << np.arange(64, dtype=np.uint64)
_NO_KEYS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Some numbers: how many, their range, mean and spread, and how they are distributed.

    Distributions can be added with ``+``. Create one with :meth:`of`.

    Attributes
    ----------
    count : int
        How many numbers, NaN included.
    n_nan, n_inf, n_zeros : int
        How many of them are NaN, infinite, and zero.
    min, max : int, float or None
        The smallest and the largest, without NaN, exactly; None if there are none.
    is_integer : bool
        Whether they are integers by their type.

    Notes
    -----
    Immutable, a few kilobytes (32 KiB at most), can be pickled. :attr:`mean` and :attr:`std` are those of the
    finite numbers, in float64. Quantiles and histograms are exact if there are at most 2,048 distinct numbers;
    otherwise a number is known up to its bucket, which is narrower than 1 % of the number unless the numbers
    spread over dozens of powers of two. In buckets, integers beyond 2**53 are rounded to the nearest float64.

    Examples
    --------
    >>> ages = Distribution.of(np.array([7, 31, 19])) + Distribution.of(np.array([19]))
    >>> ages.count, ages.min, ages.max, ages.mean, ages.quantile(0.5)
    (4, 7, 31, 19.0, 19)
    """

    count: int = 0
    n_nan: int = 0
    n_inf: int = 0
    n_zeros: int = 0
    min: float | None = None
    max: float | None = None
    is_integer: bool = False
    _mean: float = 0.0
    _squares: float = 0.0
    """The sum of squared differences from the mean."""
    _shift: int = 0
    _keys: Int64Array = field(default_factory=lambda: _NO_KEYS, repr=False)
    """Ascending; the first number of each bucket, as its ordered bits without the last `_shift`."""
    _counts: Int64Array = field(default_factory=lambda: _NO_KEYS, repr=False)

    @classmethod
    def of(cls, numbers: AnyArray) -> Distribution:
        """Return the distribution of an array of integers or floats, of any shape."""
        return cls._of(numbers, 0)

    @classmethod
    def _of(cls, numbers: AnyArray, shift: int) -> Distribution:
        """Count numbers without at least `shift` of the last bits."""
        is_integer = numbers.dtype.kind in "iub"
        if not is_integer and numbers.dtype.kind != "f":
            raise TypeError(f"numbers must be integers or floats, not {numbers.dtype}")
        numbers = numbers.reshape(-1)
        known = numbers if is_integer else numbers[~np.isnan(numbers)]
        if not known.size:
            return cls(count=numbers.size, n_nan=numbers.size, is_integer=is_integer)
        finite = known.astype(np.float64)
        if not is_integer:
            finite = finite[np.isfinite(finite)]
        with np.errstate(over="ignore"):
            mean = float(finite.mean()) if finite.size else 0.0
            if math.isinf(mean):
                mean = float((finite / finite.size).sum())
            squares = float(np.square(finite - mean).sum())
        shift, keys, counts = _coarsened(*_counted(_ordered(finite), shift), shift)
        return cls(
            count=numbers.size,
            n_nan=numbers.size - known.size,
            n_inf=known.size - finite.size,
            n_zeros=known.size - int(np.count_nonzero(known)),
            min=known.min().item(),
            max=known.max().item(),
            is_integer=is_integer,
            _mean=mean,
            _squares=squares,
            _shift=shift,
            _keys=keys,
            _counts=counts,
        )

    @classmethod
    def repeated(cls, number: int, times: int) -> Distribution:
        """Return the distribution of one integer, many times."""
        if not times:
            return cls(is_integer=True)
        keys = _ordered(np.array([number], np.float64))
        return cls(
            count=times,
            n_zeros=times if number == 0 else 0,
            min=number,
            max=number,
            is_integer=True,
            _mean=float(number),
            _keys=keys,
            _counts=np.array([times]),
        )

    @property
    def n_finite(self) -> int:
        """How many numbers are neither NaN nor infinite."""
        return self.count - self.n_nan - self.n_inf

    @property
    def mean(self) -> float | None:
        """The mean of the finite numbers; None if there are none."""
        return self._mean if self.n_finite else None

    @property
    def std(self) -> float | None:
        """The standard deviation of the finite numbers (divided by their count); None if there are none."""
        return math.sqrt(self._squares / self.n_finite) if self.n_finite else None

    def __add__(self, other: Distribution) -> Distribution:
        """Return the distribution of all numbers of both."""
        if not isinstance(other, Distribution):
            return NotImplemented
        if not self.count or not other.count:
            return other if other.count else self
        shift, keys, counts = self._merged_buckets(other)
        ours, theirs = self.n_finite, other.n_finite
        n_finite = max(ours + theirs, 1)
        gap = other._mean - self._mean
        return Distribution(
            count=self.count + other.count,
            n_nan=self.n_nan + other.n_nan,
            n_inf=self.n_inf + other.n_inf,
            n_zeros=self.n_zeros + other.n_zeros,
            min=min((n for n in (self.min, other.min) if n is not None), default=None),
            max=max((n for n in (self.max, other.max) if n is not None), default=None),
            is_integer=self.is_integer and other.is_integer,
            _mean=self._mean + gap * (theirs / n_finite) if ours else other._mean,
            _squares=self._squares + other._squares + gap * gap * ours * (theirs / n_finite),
            _shift=shift,
            _keys=keys,
            _counts=counts,
        )

    def plus(self, numbers: AnyArray) -> Distribution:
        """Return the distribution with some more numbers: faster than ``self + Distribution.of(numbers)``."""
        return self + Distribution._of(numbers, self._shift)

    def _merged_buckets(self, other: Distribution) -> tuple[int, Int64Array, Int64Array]:
        """Return shift, keys and counts of both together."""
        shift = max(self._shift, other._shift)
        ours, theirs = self._keys >> (shift - self._shift), other._keys >> (shift - other._shift)
        counts = np.concatenate([self._counts, other._counts])
        return _coarsened(*_summed(np.concatenate([ours, theirs]), counts), shift)

    def __eq__(self, other: object) -> bool:
        """Compare counts, ranges and buckets; and means, up to rounding."""
        if not isinstance(other, Distribution):
            return NotImplemented
        exact = ("count", "n_nan", "n_inf", "n_zeros", "min", "max", "is_integer", "_shift")
        return (
            all(getattr(self, name) == getattr(other, name) for name in exact)
            and np.array_equal(self._keys, other._keys)
            and np.array_equal(self._counts, other._counts)
            and math.isclose(self._mean, other._mean, rel_tol=1e-9, abs_tol=1e-12)
        )

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def buckets(self) -> tuple[Float64Array, Float64Array, Int64Array]:
        """Return the first and the last number of each bucket that is not empty, and its count.

        Ascending; float64, float64 and int64, shape (n_buckets,). A bucket of one number begins and ends with
        it. Infinite numbers and NaN are in none.
        """
        starts = _numbers(self._keys << self._shift)
        stops = _numbers((self._keys << self._shift) | ((1 << self._shift) - 1))
        if starts.size and self.min is not None and self.max is not None:
            starts, stops = np.maximum(starts, self.min), np.minimum(stops, self.max)
        if self.is_integer:
            starts, stops = np.ceil(starts), np.floor(stops)
        return starts, np.maximum(starts, stops), self._counts

    def quantile(self, q: float) -> float | None:
        """Return the number below which a share `q` of the finite numbers is; None if there are none.

        Raises InvalidArgumentError (``BAD_ARGUMENT``) unless `q` is from 0 to 1.
        """
        if not 0 <= q <= 1:
            raise argument_error(f"q is {q}, expected a share from 0 to 1")
        if not self.n_finite:
            return None
        starts, stops, counts = self.buckets()
        ends = np.cumsum(counts)
        rank = q * (self.n_finite - 1)
        i = int(np.searchsorted(ends, rank, side="right"))
        share = (rank - (ends[i] - counts[i])) / max(counts[i] - 1, 1)
        number = float(starts[i] + share * (stops[i] - starts[i]))
        if not self.is_integer or self.min is None or self.max is None:
            return number
        return min(max(math.floor(number), self.min), self.max)

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
        """
        bins = require_int("bins", bins, 1)
        starts, stops, counts = self.buckets()
        if not starts.size:
            return _NO_KEYS, np.empty(0)
        edges = _edges(float(starts[0]), float(stops[-1]), bins, is_integer=self.is_integer)
        return _spread(starts, stops, counts, edges), edges

    def describe(self) -> dict[str, Any]:
        """Return the figures as JSON values: counts, range, mean, spread, quartiles and a histogram."""
        counts, edges = self.histogram()
        quartiles = [self.quantile(q) for q in (0.25, 0.5, 0.75)]
        return {
            "count": self.count,
            "nan": self.n_nan,
            "infinite": self.n_inf,
            "zeros": self.n_zeros,
            "min": _json_number(self.min),
            "max": _json_number(self.max),
            "mean": _json_number(self.mean),
            "std": _json_number(self.std),
            "quartiles": [_json_number(number) for number in quartiles],
            "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
        }


def _json_number(number: float | None) -> float | str | None:
    """Return a number as a JSON value."""
    if number is None or math.isfinite(number):
        return number
    return "Infinity" if number > 0 else "-Infinity"


def _ordered(numbers: Float64Array) -> Int64Array:
    """Return integers in the order of finite numbers; that of 0 is 0."""
    bits: Int64Array = (numbers + 0.0).view(np.int64)  # of two zeros, the positive one
    return np.where(bits < 0, _SIGN - bits - 1, bits)


def _numbers(ordered: Int64Array) -> Float64Array:
    """Return the numbers from the integers of :func:`_ordered`."""
    bits = np.where(ordered < 0, _SIGN - ordered - 1, ordered)
    return bits.view(np.float64)


def _counted(ordered: Int64Array, shift: int) -> tuple[Int64Array, Int64Array]:
    """Return the keys that occur, ascending, and how often each does."""
    keys = ordered >> shift
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
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: keys.size])
    if not firsts.size:
        return keys, counts
    return keys[firsts], np.add.reduceat(counts[order], firsts)


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
