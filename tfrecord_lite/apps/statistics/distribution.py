"""Distribution: the numbers of a feature, counted in ever coarser buckets.

::

    code          an int64 for each number, in the order of the numbers, at even *relative* distances
    key           a code without its last `shift` bits
    keys, counts  the keys that occur, and how often each does: at most 2,048

Without a shift each key is one number, so a few distinct numbers are counted exactly. When there are
too many, one more bit is dropped, again and again, and neighbours fall together. So it suits ids and
times that differ in their last digits, and data whose largest values are a million times the usual ones.

What is counted does not depend on the order of the numbers, nor on how they were divided: the shift is
always the smallest with which all keys fit. So distributions can be added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.schema.text import json_value

if TYPE_CHECKING:
    from tfrecord_lite.arrays import AnyArray, Float64Array, Int64Array

MAX_BUCKETS = 2048
_SIGN = np.int64(-(2**63))
_HALF = 0.5
_BITS_OF_1 = int(np.float64(1).view(np.int64))
_EXACT = 2**53
_CODE_OF_EXACT = 53 * 2**52 + 1
_HIGHEST_CODE = _CODE_OF_EXACT + (2**63 - 1 - _EXACT) // 2
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
    numbers spread over dozens of powers of two. Integers beyond 2**53 share a bucket with one neighbour at least, and
    in arrays of float64 they are rounded.

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
        if numbers.dtype.kind in "iub" and numbers.dtype != np.uint64:
            return cls._of_integers(numbers.astype(np.int64), shift)
        if numbers.dtype.kind not in "uf":
            raise TypeError(f"numbers must be integers or floats, not {numbers.dtype}")
        known = numbers[~np.isnan(numbers)]
        if not known.size:
            is_float32 = numbers.dtype == np.float32
            return cls(count=numbers.size, num_nan=numbers.size, _is_float32=is_float32)
        finite = known[np.isfinite(known)].astype(np.float64)
        with np.errstate(over="ignore"):
            mean = float(finite.mean()) if finite.size else 0.0
            if math.isinf(mean):
                mean = float((finite / finite.size).sum())
            squares = float(np.square(finite - mean).sum())
        shift, keys, counts = _coarsened(*_counted(_float_codes(finite), shift), shift)
        return cls(
            count=numbers.size,
            num_nan=numbers.size - known.size,
            num_inf=known.size - finite.size,
            num_zeros=known.size - int(np.count_nonzero(known)),
            min=known.min().item(),
            max=known.max().item(),
            _is_float32=numbers.dtype == np.float32,
            _mean=mean,
            _squares=squares,
            _shift=shift,
            _keys=keys,
            _counts=counts,
        )

    @classmethod
    def _of_integers(cls, numbers: Int64Array, shift: int) -> Distribution:
        if not numbers.size:
            return cls(is_integer=True)
        low, high = int(numbers.min()), int(numbers.max())
        near = (
            (numbers - low).view(np.uint64).astype(np.float64)
        )  # right even where int64 overflows
        mean = float(near.mean())
        shift, keys, counts = _coarsened(*_counted(_integer_codes(numbers), shift), shift)
        return cls(
            count=numbers.size,
            num_zeros=numbers.size - int(np.count_nonzero(numbers)),
            min=low,
            max=high,
            is_integer=True,
            _base=low,
            _mean=mean,
            _squares=float(np.square(near - mean).sum()),
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
        if not times:
            return cls(is_integer=True)
        keys = _integer_codes(np.array([number]))
        return cls(
            count=times,
            num_zeros=times if number == 0 else 0,
            min=number,
            max=number,
            is_integer=True,
            _base=number,
            _keys=keys,
            _counts=np.array([times]),
        )

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
        if self.is_integer != other.is_integer:
            return self._as_floats() + other._as_floats()
        shift, keys, counts = self._merged_buckets(other)
        ours, theirs = self.num_finite, other.num_finite
        share = theirs / max(ours + theirs, 1)
        gap = other._base - self._base + other._mean - self._mean
        return Distribution(
            count=self.count + other.count,
            num_nan=self.num_nan + other.num_nan,
            num_inf=self.num_inf + other.num_inf,
            num_zeros=self.num_zeros + other.num_zeros,
            min=min((n for n in (self.min, other.min) if n is not None), default=None),
            max=max((n for n in (self.max, other.max) if n is not None), default=None),
            is_integer=self.is_integer,
            _is_float32=self._is_float32 and other._is_float32,
            _base=self._base,
            _mean=self._mean + gap * share,
            _squares=self._squares + other._squares + gap * gap * ours * share,
            _shift=shift,
            _keys=keys,
            _counts=counts,
        )

    def _as_floats(self) -> Distribution:
        """Return the same distribution, of floats."""
        if not self.is_integer:
            return self
        starts, _, counts = self.buckets()
        keys, counts = _summed(_float_codes(starts), counts)
        shift, keys, counts = _coarsened(keys, counts, 0)
        mean = self._base + self._mean
        changed = {"is_integer": False, "_base": 0, "_mean": mean, "_shift": shift}
        return replace(self, **changed, _keys=keys, _counts=counts)  # type: ignore[arg-type]

    def plus(self, numbers: AnyArray) -> Distribution:
        """Return the distribution with some more numbers: faster than ``self + Distribution.of(numbers)``.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import Distribution
        >>> ages = Distribution.of(np.array([36, 41])).plus(np.array([37]))
        >>> ages.count, ages.mean
        (3, 38.0)
        """
        is_same = self.is_integer == (numbers.dtype.kind != "f")
        return self + Distribution._of(numbers, self._shift if is_same else 0)

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
        starts, stops = self._bounds()
        return starts.astype(np.float64), stops.astype(np.float64), self._counts

    def _bounds(self) -> tuple[AnyArray, AnyArray]:
        """Return the first and the last number of each bucket; int64 or float64."""
        firsts = self._keys << self._shift
        lasts = firsts | ((1 << self._shift) - 1)
        starts: AnyArray
        stops: AnyArray
        if self.is_integer:
            starts, stops = _integers(firsts, lasts)
        else:
            starts, stops = _floats(firsts), _floats(lasts)
        if starts.size:
            starts[0] = max(starts[0], self.min)
            stops[-1] = min(stops[-1], self.max)
        return starts, stops

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
        starts, stops = self._bounds()
        ends = np.cumsum(self._counts)
        rank = q * (self.num_finite - 1)
        if rank in (0, self.num_finite - 1):
            end: float = (stops[-1] if rank else starts[0]).item()
            return end
        i = int(np.searchsorted(ends, rank, side="right"))
        n_others = int(self._counts[i]) - 1
        n_before = rank - (int(ends[i]) - n_others - 1)  # in the bucket
        low, high = starts[i].item(), stops[i].item()
        if low == 0 and n_before < self.num_zeros:
            return low  # type: ignore[no-any-return]
        share = n_before / n_others if n_others else 0.5
        if self.is_integer:
            return min(low + int((high - low) * share), high)  # type: ignore[no-any-return]
        number = low + (high - low) * share
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


def _float_codes(numbers: Float64Array) -> Int64Array:
    """Return codes of finite numbers: their bits, in the order of the numbers; that of 0 is 0."""
    bits: Int64Array = (numbers + 0.0).view(np.int64)  # of two zeros, the positive one
    return np.where(bits < 0, _SIGN - bits - 1, bits)


def _floats(codes: Int64Array) -> Float64Array:
    """Return the numbers with some codes; those beyond the largest number are infinite or NaN."""
    bits = np.where(codes < 0, _SIGN - codes - 1, codes)
    return bits.view(np.float64)


def _integer_codes(numbers: Int64Array) -> Int64Array:
    """Return codes of integers: as of floats up to 2**53, then one for two neighbours each."""
    sizes = np.where(numbers < 0, ~numbers, numbers)
    codes = sizes.astype(np.float64).view(np.int64) - _BITS_OF_1 + 1
    codes[sizes == 0] = 0
    codes = np.where(sizes < _EXACT, codes, _CODE_OF_EXACT + ((sizes - _EXACT) >> 1))
    return np.where(numbers < 0, ~codes, codes)


def _integers(firsts: Int64Array, lasts: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the first and the last integer with codes between two codes of one sign."""
    is_negative = firsts < 0
    low = _sizes(np.where(is_negative, ~lasts, firsts), is_last=False)
    high = _sizes(np.where(is_negative, ~firsts, lasts), is_last=True)
    return np.where(is_negative, ~high, low), np.where(is_negative, ~low, high)


def _sizes(codes: Int64Array, *, is_last: bool) -> Int64Array:
    """Return the last integers from 0 up to some codes, or the first ones from them on."""
    near = np.minimum(codes, _CODE_OF_EXACT)
    floats = np.where(near > 0, near - 1 + _BITS_OF_1, 0).view(np.float64)
    exact = (np.floor(floats) if is_last else np.ceil(floats)).astype(np.int64)
    beyond = np.clip(codes, _CODE_OF_EXACT, _HIGHEST_CODE) - _CODE_OF_EXACT
    return np.where(codes < _CODE_OF_EXACT, exact, _EXACT + 2 * beyond + is_last)


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
