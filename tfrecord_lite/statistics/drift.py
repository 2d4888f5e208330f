"""Drift: what is different about the features of two data sets, beyond thresholds.

The first data set says what to expect, and the second is judged. Names and meanings of the thresholds are
TensorFlow Data Validation's, where it has them:

========================= ===================== ====================================================
threshold                 of                    what is compared with it
========================= ===================== ====================================================
jensen_shannon_divergence numbers, lengths      the divergence of the two distributions, from 0
                                                (equal) to 1 (disjoint), in bits, over ten bins that
                                                have as many numbers each; NaN has a bin of its own
infinity_norm             byte strings          the largest difference of a string's two shares
presence                  records               the difference of the shares of records with the
                                                feature
new_values                strings, integers     the share of values that the first data set never
                                                has, if it has few different values, often each
range                     other numbers         how far numbers are outside of the first range, as a
                                                part of it
min_fraction_threshold,   records               how many times as many records there are
max_fraction_threshold
========================= ===================== ====================================================

A distance counts only if it is larger than chance would make it with so few records: between two random
samples of the same data it would be as large in 1 of 1,000 cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.example.content import text_of
from tfrecord_lite.schema import FeatureListSummary, SequenceSummary, Summary
from tfrecord_lite.schema.features import RaggedFeature
from tfrecord_lite.schema.text import nearest, shown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from tfrecord_lite.arrays import BoolArray, Float64Array
    from tfrecord_lite.statistics.distribution import Distribution
    from tfrecord_lite.statistics.statistics import FeatureStatistics, Statistics
    from tfrecord_lite.statistics.strings import StringStatistics

_N_BINS = 10
_MAX_CATEGORIES, _LEAST_TIMES = 1000, 10
"""Few different values, often each: at most so many, at least so often on average."""
_KOLMOGOROV = 1.95
"""Times the root of 1/n + 1/m: what the largest difference of two samples exceeds in 1 of 1,000 cases."""
_NORMAL = 3.09
"""What a standard normal number exceeds in 1 of 1,000 cases."""
_RARE = 10
"""A value that occurs at most so often is rare: others like it may not have occurred at all."""
_MAX_CHANCE = 0.95
"""Disjoint distributions differ, however few records there are."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How different data may be; see the head of the module. Raises ``BAD_ARGUMENT`` or TypeError."""

    jensen_shannon_divergence: float = 0.05
    infinity_norm: float = 0.05
    presence: float = 0.05
    new_values: float = 0.0
    range: float = 0.25
    min_fraction_threshold: float = 0.0
    max_fraction_threshold: float = math.inf

    def __post_init__(self) -> None:
        """Check all."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not hasattr(value, "__float__"):
                raise TypeError(f"{field.name} must be a number, not {type(value).__name__}")
            if not value >= 0:  # NaN is not either
                raise argument_error(f"{field.name} is {value}, expected 0 or more")

    @classmethod
    def of(cls, given: Mapping[str, float] | None) -> Self:
        """Return the thresholds, by name; others are as usual."""
        names = [field.name for field in fields(cls)]
        for name in given or {}:
            if name not in names:
                raise argument_error(
                    f"there is no threshold {name!r}{nearest(name, names)}; expected "
                    f"{', '.join(names)}"
                )
        return cls(**(given or {}))


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between two data sets; ``str`` says it in a line.

    Attributes
    ----------
    what : str
        Never changes for a kind of difference: ``"missing feature"``, ``"new feature"``, ``"kind"``,
        ``"specification"``, ``"presence"``, ``"lengths"``, ``"steps"``, ``"numbers"``, ``"strings"``,
        ``"string lengths"``, ``"new values"``, ``"range"``, ``"not finite"``, ``"number of records"`` or ``"records"``.
    feature : str or None
        The feature, or feature list; None if it is about all.
    detail : str
        In words.
    distance, threshold : float or None
        How large it is, and what it is larger than, where that was measured.
    """

    what: str
    feature: str | None
    detail: str
    distance: float | None = None
    threshold: float | None = None

    def __str__(self) -> str:
        """Return the feature, what is different, and how, in one line."""
        about = "" if self.feature is None else f"{shown_name(self.feature)}: "
        measured = ""
        if self.distance is not None:
            measured = f" (distance {self.distance:.3g}, threshold {self.threshold:.3g})"
        return f"{about}{self.what}: {self.detail}{measured}"

    def describe(self) -> dict[str, Any]:
        """Return all as JSON values."""
        finite = [
            n if n is None or math.isfinite(n) else None for n in (self.distance, self.threshold)
        ]
        return {
            "what": self.what,
            "feature": self.feature,
            "detail": self.detail,
            "distance": finite[0],
            "threshold": finite[1],
        }


def findings(a: Statistics, b: Statistics, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield what is different about `b`: of all records, then by feature, in the order of names."""
    if a.is_sequence != b.is_sequence and a.n_records and b.n_records:
        names = [("Example", "SequenceExample")[one.is_sequence] for one in (a, b)]
        yield Finding("kind", None, f"the records are {names[0]}s and {names[1]}s")
    ratio = b.n_records / a.n_records if a.n_records else math.inf
    low, high = thresholds.min_fraction_threshold, thresholds.max_fraction_threshold
    if not low <= ratio <= high and a.n_records != b.n_records:
        limit = low if ratio < low else high
        detail = f"{a.n_records:,} and {b.n_records:,}"
        yield Finding("number of records", None, detail, ratio, limit)
    sections = (a.features, b.features), (a.feature_lists, b.feature_lists)
    for ours, theirs in sections:
        for name in sorted(ours.keys() | theirs.keys()):
            one, other = ours.get(name), theirs.get(name)
            if other is None and one is not None:
                where = f"in {_share_text(one.n_records, a.n_records)} of the first only"
                yield Finding("missing feature", name, f"{_kinds(one)}, {where}")
            elif one is None and other is not None:
                where = f"in {_share_text(other.n_records, b.n_records)} of the second only"
                yield Finding("new feature", name, f"{_kinds(other)}, {where}")
            elif one is not None and other is not None:
                pair = _Pair(name, one, other, a.n_records, b.n_records, thresholds)
                yield from pair.findings()


def _kinds(found: FeatureStatistics) -> str:
    return "/".join(kind.label for kind in found.kinds) or "no kind"


def _share_text(count: int, n_records: int) -> str:
    """Return a share of records; one that is not all does not look like it."""
    if count == n_records:
        return "all records"
    return f"{min(100 * count / max(n_records, 1), 99.9):.3g} % of the records"


@dataclass(frozen=True, slots=True)
class _Pair:
    """One feature of both data sets."""

    name: str
    one: FeatureStatistics
    other: FeatureStatistics
    n_ours: int
    n_theirs: int
    thresholds: Thresholds

    def findings(self) -> Iterator[Finding]:
        one, other = self.one, self.other
        if one.kinds != other.kinds:
            detail = f"{_kinds(one)} in the first, {_kinds(other)} in the second"
            yield Finding("kind", self.name, detail)
        else:
            yield from self._specification()
        yield from self._presence()
        yield from self._distance("lengths", one.lengths, other.lengths)
        if one.steps is not None and other.steps is not None:
            yield from self._distance("steps", one.steps, other.steps)
        if one.numbers is not None and other.numbers is not None:
            yield from self._distance("numbers", one.numbers, other.numbers)
            yield from self._values(one.numbers, other.numbers)
        if one.strings is not None and other.strings is not None:
            yield from self._strings(one.strings, other.strings)

    def _specification(self) -> Iterator[Finding]:
        """Yield that `other` needs a wider specification: with that of `one`, it cannot be parsed."""
        specs = [
            _spec_of(self.name, self.one, self.n_ours),
            _spec_of(self.name, self.other, self.n_theirs),
        ]
        if specs[0] is None or specs[1] is None or specs[0] == specs[1]:
            return
        if not isinstance(specs[0], RaggedFeature) and not _is_looser(*specs):
            detail = f"{_spec_text(specs[0])} in the first, {_spec_text(specs[1])} in the second"
            yield Finding("specification", self.name, detail)

    def _presence(self) -> Iterator[Finding]:
        shares = (
            self.one.n_records / max(self.n_ours, 1),
            self.other.n_records / max(self.n_theirs, 1),
        )
        distance = abs(shares[0] - shares[1])
        threshold = self._with_chance(self.thresholds.presence, self.n_ours, self.n_theirs)
        if distance > threshold:
            texts = (
                _share_text(self.one.n_records, self.n_ours),
                _share_text(self.other.n_records, self.n_theirs),
            )
            detail = f"in {texts[0]} of the first, in {texts[1]} of the second"
            yield Finding("presence", self.name, detail, distance, threshold)

    def _with_chance(self, threshold: float, n: int, m: int) -> float:
        """Return a threshold for the difference of two shares, which chance does not exceed."""
        chance = _KOLMOGOROV * math.sqrt(1 / max(n, 1) + 1 / max(m, 1))
        return max(threshold, min(chance, _MAX_CHANCE))

    def _distance(self, what: str, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        """Yield that two distributions are far apart."""
        if not ours.count or not theirs.count:
            return
        distance, n_bins = divergence(ours, theirs)
        # Values of one record depend on each other: no more of them count than there are records.
        n, m = min(ours.count, self.one.n_records), min(theirs.count, self.other.n_records)
        chance = _chi_squared(n_bins - 1) / (8 * math.log(2)) * (1 / max(n, 1) + 1 / max(m, 1))
        threshold = max(self.thresholds.jensen_shannon_divergence, min(chance, _MAX_CHANCE))
        if distance > threshold:
            detail = f"{_figures(ours)} in the first, {_figures(theirs)} in the second"
            yield Finding(what, self.name, detail, distance, threshold)

    def _values(self, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        """Yield that there are numbers which the first data set does not lead one to expect."""
        for word, n, m in (
            ("NaN", ours.n_nan, theirs.n_nan),
            ("infinite", ours.n_inf, theirs.n_inf),
        ):
            if m and not n:
                detail = f"{m / theirs.count:.3g} of the numbers are {word} in the second, none in the first"
                yield Finding("not finite", self.name, detail)
        known = _categories(ours)
        if known is not None:
            starts, stops, counts = theirs.buckets()
            is_new = ~np.isin(starts, known) | (starts != stops)
            shown = [f"{int(number):,}" for number in starts[is_new][:3].tolist()]
            rare = int((ours.buckets()[2] <= _RARE).sum())
            chance = _chance_of_new(rare, ours.count, theirs.count)
            yield from self._new_values(int(counts[is_new].sum()) / theirs.count, chance, shown)
        elif ours.n_finite and theirs.n_finite:
            yield from self._range(ours, theirs)

    def _range(self, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        low, high, _ = ours.buckets()
        least, most, _ = theirs.buckets()
        with np.errstate(over="ignore"):
            width = high[-1] - low[0]
            outside = max(low[0] - least[0], most[-1] - high[-1], 0.0)
        distance = float(outside / width) if width else float(outside and math.inf)
        if distance > self.thresholds.range and outside:
            detail = f"{low[0]:.6g} .. {high[-1]:.6g} in the first, {least[0]:.6g} .. {most[-1]:.6g} in the second"
            yield Finding("range", self.name, detail, distance, self.thresholds.range)

    def _strings(self, ours: StringStatistics, theirs: StringStatistics) -> Iterator[Finding]:
        yield from self._distance("string lengths", ours.lengths, theirs.lengths)
        distance, value, shares = _infinity_norm(ours, theirs)
        n, m = self.one.n_records, self.other.n_records
        n, m = min(n, ours.lengths.count), min(m, theirs.lengths.count)
        threshold = self._with_chance(self.thresholds.infinity_norm, n, m)
        if distance > threshold:
            detail = (
                f"{_quoted(value)} is {100 * shares[0]:.3g} % in the first, "
                f"{100 * shares[1]:.3g} % in the second"
            )
            yield Finding("strings", self.name, detail, distance, threshold)
        total = ours.lengths.count
        if ours.is_exact and _is_few(len(ours.counts), total):
            new = sorted(theirs.counts.keys() - ours.counts.keys())
            n_new = sum(theirs.counts[value] for value in new) + theirs.n_uncounted
            shown = [_quoted(value) for value in new[:3]] or ["longer ones"]
            rare = sum(count <= _RARE for count in ours.counts.values())
            chance = _chance_of_new(rare, total, theirs.lengths.count)
            yield from self._new_values(n_new / theirs.lengths.count, chance, shown)

    def _new_values(self, share: float, chance: float, shown: list[str]) -> Iterator[Finding]:
        threshold = max(self.thresholds.new_values, chance)
        if share > threshold:
            dots = ", ..." * (len(shown) > 2)
            new = f"{100 * share:.3g} % of the values in the second are not in the first"
            yield Finding(
                "new values", self.name, f"{new}: {', '.join(shown)}{dots}", share, threshold
            )


def _chance_of_new(n_rare: int, n: int, m: int) -> float:
    """Return the share of `m` values that chance makes new, if `n` had some that are rare.

    By Good and Turing: values not seen yet are about as frequent as those seen once. If none is
    rare, nothing new is expected.
    """
    expected = m * (n_rare + _NORMAL * math.sqrt(n_rare)) / n
    return (expected + _NORMAL * math.sqrt(expected)) / m if m else 0.0


def _spec_of(name: str, found: FeatureStatistics, n_records: int) -> Any:
    """Return the specification that would be inferred; None if there is none."""
    context = Summary(n_records, {})
    try:
        if isinstance(found.summary, FeatureListSummary):
            return SequenceSummary(context, {name: found.summary}).schema().feature_lists[name]
        return Summary(n_records, {name: found.summary}).schema()[name]
    except InvalidArgumentError:
        return None


def _is_looser(one: Any, other: Any) -> bool:
    """Whether the only difference is that a list may be missing in the first data set, not in the second."""
    return bool(getattr(one, "allow_missing", False)) and one.shape == getattr(other, "shape", None)


def _spec_text(spec: Any) -> str:
    shape = getattr(spec, "shape", None)
    missing = ", may be missing" * bool(getattr(spec, "allow_missing", False))
    return type(spec).__name__ + ("" if shape is None else f" {list(shape)}") + missing


def _chi_squared(degrees: int) -> float:
    """Return what chi-squared exceeds in 1 of 1,000 cases, by Wilson's and Hilferty's approximation."""
    part = 2 / (9 * max(degrees, 1))
    return float(degrees * (1 - part + _NORMAL * math.sqrt(part)) ** 3)


def _figures(numbers: Distribution) -> str:
    if numbers.mean is None:
        return "none finite"
    return f"mean {numbers.mean:.4g}, std {numbers.std:.4g}"


def _quoted(value: bytes) -> str:
    text = text_of(value)
    return repr(value if text is None else text)


def _is_few(n_different: int, total: int) -> bool:
    return 0 < n_different <= _MAX_CATEGORIES and total >= _LEAST_TIMES * n_different


def _categories(numbers: Distribution) -> Float64Array | None:
    """Return the different numbers, if they are few integers, often each."""
    starts, stops, _ = numbers.buckets()
    if not numbers.is_integer or not _is_few(starts.size, numbers.count):
        return None
    return starts if bool((starts == stops).all()) else None


def _infinity_norm(
    ours: StringStatistics, theirs: StringStatistics
) -> tuple[float, bytes, tuple[float, float]]:
    """Return the largest difference that a string's shares have at least, the string and the shares."""
    totals = max(ours.lengths.count, 1), max(theirs.lengths.count, 1)
    missed = ours.max_missed / totals[0] + theirs.max_missed / totals[1]
    best: tuple[float, bytes, tuple[float, float]] = 0.0, b"", (0.0, 0.0)
    for value in sorted(ours.counts.keys() | theirs.counts.keys()):
        shares = ours.counts.get(value, 0) / totals[0], theirs.counts.get(value, 0) / totals[1]
        distance = abs(shares[0] - shares[1]) - missed
        if distance > best[0]:
            best = distance, value, shares
    return best


def divergence(ours: Distribution, theirs: Distribution) -> tuple[float, int]:
    """Return the Jensen-Shannon divergence of two distributions in bits, and over how many bins.

    >>> from tfrecord_lite.statistics import Distribution
    >>> ones, twos = Distribution.of(np.ones(5)), Distribution.of(np.full(7, 2.0))
    >>> divergence(ones, twos), divergence(ones, ones)
    ((1.0, 2), (0.0, 1))
    """
    starts, _, _ = (ours + theirs).buckets()
    p, q = _shares(ours, starts), _shares(theirs, starts)
    both = (p + q) / 2
    finite = both[: starts.size]
    # A bucket is in the bin that its middle is in, if bins have the same share each.
    middles = np.cumsum(finite) - finite / 2
    bins = np.minimum((middles / max(finite.sum(), 1e-300) * _N_BINS).astype(np.int64), _N_BINS - 1)
    bins = np.concatenate([bins, [_N_BINS, _N_BINS + 1]])
    ours_by_bin, theirs_by_bin = (np.bincount(bins, one).astype(np.float64) for one in (p, q))
    n_used = int(np.count_nonzero(ours_by_bin + theirs_by_bin))
    return _divergence(ours_by_bin, theirs_by_bin), n_used


def _shares(numbers: Distribution, starts: Float64Array) -> Float64Array:
    """Return the share of each bucket of both together, and of NaN and infinite numbers."""
    own, _, counts = numbers.buckets()
    places = np.maximum(np.searchsorted(starts, own, side="right") - 1, 0)
    found: Float64Array = np.zeros(starts.size)
    np.add.at(found, places, counts)
    return np.concatenate([found, [numbers.n_nan, numbers.n_inf]]) / max(numbers.count, 1)


def _divergence(p: Float64Array, q: Float64Array) -> float:
    both = (p + q) / 2

    def entropy_to_both(shares: Float64Array) -> float:
        is_used: BoolArray = shares > 0
        return float((shares[is_used] * np.log2(shares[is_used] / both[is_used])).sum())

    return max((entropy_to_both(p) + entropy_to_both(q)) / 2, 0.0)
