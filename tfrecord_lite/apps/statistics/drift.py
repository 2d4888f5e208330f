"""Drift: what is different about the features of two data sets, beyond thresholds.

The first data set says what to expect, and the second is judged. Names and meanings of the thresholds are
TensorFlow Data Validation's, where it has them:

========================= ===================== ====================================================
threshold                 of                    what is compared with it
========================= ===================== ====================================================
jensen_shannon_divergence numbers, lengths      the divergence of the two distributions, from 0
                                                (equal) to 1 (disjoint), in bits, over ten bins that
                                                have as many numbers each, or a bin for each of a few
                                                integers; NaN has a bin of its own
infinity_norm             byte strings, numbers the largest difference of a value's two shares, or
                                                of a format's (JPEG, text, ...), of those looked at
presence                  records               the difference of the shares of records with the
                                                feature
new_values                strings, integers     the share of values that the first data set never
                                                has, if it has few different values, often each
range                     other numbers         the share of numbers outside of the range of the first
min_fraction_threshold,   records               how many times as many records there are
max_fraction_threshold
========================= ===================== ====================================================

A distance counts only if it is larger than chance would make it with so few records: between two random
samples of the same data it would be as large in 1 of 1,000 cases. Values of one record depend on each
other, so no more of them count than there are records. Byte strings of more than 64 bytes are compared by
length and by what they are only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.schema import FeatureListSummary, SequenceSummary, Summary
from tfrecord_lite.schema.features import RaggedFeature
from tfrecord_lite.schema.text import nearest, shown_name
from tfrecord_lite.sniff import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from tfrecord_lite.apps.statistics.distribution import Distribution
    from tfrecord_lite.apps.statistics.statistics import FeatureStatistics, Statistics
    from tfrecord_lite.apps.statistics.strings import StringStatistics
    from tfrecord_lite.arrays import BoolArray, Float64Array, Int64Array

_Key = TypeVar("_Key", str, bytes)

_N_BINS = 10
_MAX_CATEGORIES, _LEAST_TIMES = 1000, 10
"""Few different values, often each: at most so many, at least so often on average."""
_KOLMOGOROV = 1.95
"""Times the root of 1/n + 1/m: what the largest difference of two samples exceeds in 1 of 1,000 cases."""
_NORMAL = 3.09
"""What a standard normal number exceeds in 1 of 1,000 cases."""
_RARE = 10
"""A value that occurs at most so often is rare: others like it may not have occurred at all."""
_CHANCE = 0.001
_MANY = 100
"""From so many on, counts are as good as normal."""
_MAX_EXACT = 2.0**53
"""Integers beyond are rounded in buckets."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How different data may be; see the head of the module. Raises ``BAD_ARGUMENT`` or TypeError."""

    jensen_shannon_divergence: float = 0.05
    infinity_norm: float = 0.05
    presence: float = 0.05
    new_values: float = 0.0
    range: float = 0.01
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
        ``"string lengths"``, ``"contents"``, ``"new values"``, ``"range"``, ``"not finite"``, ``"number of records"`` or ``"records"``.
    feature : str or None
        The feature, or feature list; None if it is about all.
    detail : str
        In words.
    distance, threshold : float or None
        How large it is, and what it is larger than, where that was measured.
    sides : tuple of two str
        What is different, in the first and in the second data set, in a few words; empty for what is not there.

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import compare
    >>> before = encode_examples({"age": [36, 41, 37]})
    >>> after = encode_examples({"age": [36.0, 41.0, 37.0]})
    >>> finding = compare(before, after).findings[0]
    >>> str(finding), finding.what, finding.feature
    ('age: kind: int64 in the first, float32 in the second', 'kind', 'age')
    """

    what: str
    feature: str | None
    detail: str
    distance: float | None = None
    threshold: float | None = None
    sides: tuple[str, str] = ("", "")

    def __str__(self) -> str:
        """Return the feature, what is different, and how, in one line."""
        about = "" if self.feature is None else f"{shown_name(self.feature)}: "
        measured = ""
        if self.distance is not None:
            measured = f" (distance {self.distance:.3g}, threshold {self.threshold:.3g})"
        return f"{about}{self.what}: {self.detail}{measured}"

    def describe(self) -> dict[str, Any]:
        """Return all as JSON values.

        Examples
        --------
        >>> from tfrecord_lite.apps.statistics import compare
        >>> before = encode_examples({"age": [36, 41, 37]})
        >>> after = encode_examples({"age": [36.0, 41.0, 37.0]})
        >>> finding = compare(before, after).findings[0].describe()
        >>> finding["what"], finding["first"], finding["second"]
        ('kind', 'int64 FixedLenFeature []', 'float32 FixedLenFeature []')
        """
        finite = [
            n if n is None or math.isfinite(n) else None for n in (self.distance, self.threshold)
        ]
        return {
            "what": self.what,
            "feature": self.feature,
            "detail": self.detail,
            "first": self.sides[0],
            "second": self.sides[1],
            "distance": finite[0],
            "threshold": finite[1],
        }


def findings(a: Statistics, b: Statistics, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield what is different about `b`: of all records, then by feature, in the order of names."""
    if a.is_sequence != b.is_sequence and a.n_records and b.n_records:
        names = [("Example", "SequenceExample")[one.is_sequence] for one in (a, b)]
        detail = f"the records are {names[0]}s and {names[1]}s"
        yield Finding("kind", None, detail, sides=(f"{names[0]}s", f"{names[1]}s"))
    ratio = b.n_records / a.n_records if a.n_records else math.inf
    low, high = thresholds.min_fraction_threshold, thresholds.max_fraction_threshold
    if not low <= ratio <= high and a.n_records != b.n_records:
        limit = low if ratio < low else high
        sides = f"{a.n_records:,}", f"{b.n_records:,}"
        yield Finding("number of records", None, " and ".join(sides), ratio, limit, sides)
    sections = (a.features, b.features), (a.feature_lists, b.feature_lists)
    for ours, theirs in sections:
        for name in sorted(ours.keys() | theirs.keys()):
            one, other = ours.get(name), theirs.get(name)
            if other is None and one is not None:
                where = f"in {_share_text(one.n_records, a.n_records)} of the first only"
                sides = _schema_text(name, one, a.n_records), "missing"
                yield Finding("missing feature", name, f"{_kinds(one)}, {where}", sides=sides)
            elif one is None and other is not None:
                where = f"in {_share_text(other.n_records, b.n_records)} of the second only"
                sides = "missing", _schema_text(name, other, b.n_records)
                yield Finding("new feature", name, f"{_kinds(other)}, {where}", sides=sides)
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
            yield self._finding("kind", (_kinds(one), _kinds(other)), sides=self._schemas())
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
            texts = _spec_text(specs[0]), _spec_text(specs[1])
            yield self._finding("specification", texts, sides=self._schemas())

    def _schemas(self) -> tuple[str, str]:
        """Return the specifications of both sides, or the kinds if there are several."""
        return (
            _schema_text(self.name, self.one, self.n_ours),
            _schema_text(self.name, self.other, self.n_theirs),
        )

    def _finding(
        self,
        what: str,
        texts: tuple[str, str],
        distance: float | None = None,
        threshold: float | None = None,
        *,
        sides: tuple[str, str] | None = None,
    ) -> Finding:
        """Return a finding that is told by what is in the first and in the second."""
        detail = f"{texts[0]} in the first, {texts[1]} in the second"
        return Finding(what, self.name, detail, distance, threshold, sides or texts)

    def _n_independent(self, n_values: int, m_values: int) -> tuple[int, int]:
        """Return how many values count as independent ones: at most one per record."""
        return min(n_values, self.one.n_records), min(m_values, self.other.n_records)

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
            sides = f"in {texts[0]}", f"in {texts[1]}"
            yield Finding("presence", self.name, detail, distance, threshold, sides)

    def _with_chance(self, threshold: float, n: int, m: int) -> float:
        """Return a threshold for the difference of two shares, which chance does not exceed."""
        chance = _KOLMOGOROV * math.sqrt(1 / max(n, 1) + 1 / max(m, 1))
        return max(threshold, chance)

    def _distance(self, what: str, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        """Yield that two distributions are far apart, or else that a number has quite another share."""
        if not ours.count or not theirs.count:
            return
        n, m = self._n_independent(ours.count, theirs.count)
        distance, n_bins = divergence(ours, theirs, max_integers=min(n, m) // _LEAST_TIMES)
        chance = _chi_squared(n_bins - 1) / (8 * math.log(2)) * (1 / max(n, 1) + 1 / max(m, 1))
        threshold = max(self.thresholds.jensen_shannon_divergence, chance)
        if distance > threshold:
            yield self._finding(what, (_figures(ours), _figures(theirs)), distance, threshold)
        else:
            yield from self._shares(
                what, _norm_of_numbers(ours, theirs), (ours.count, theirs.count)
            )

    def _values(self, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        """Yield that there are numbers which the first data set does not lead one to expect."""
        yield from self._not_finite(ours, theirs)
        known = _categories(ours, self.one.n_records)
        if known is not None:
            starts, stops, counts = theirs.buckets()
            is_new = ~np.isin(starts, known) | (starts != stops)
            shown = [f"{int(number):,}" for number in starts[is_new][:3].tolist()]
            totals = ours.count, theirs.count
            share = int(counts[is_new].sum()) / max(theirs.count, 1)
            yield from self._new_values(share, ours.buckets()[2], totals, shown)
        elif ours.n_finite and theirs.n_finite:
            yield from self._range(ours, theirs)

    def _not_finite(self, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        n, m = self._n_independent(ours.count, theirs.count)
        for word, count in _new_kinds(ours, theirs):
            share = count / theirs.count
            chance = _most_by_chance(n, m) / m
            if share > chance:
                shown = f"{100 * share:.3g} %"
                detail = f"{shown} of the numbers are {word} in the second, none in the first"
                sides = f"no {word}", f"{shown} {word}"
                yield Finding("not finite", self.name, detail, share, chance, sides)

    def _range(self, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        share = _n_outside(ours, theirs) / theirs.n_finite
        n, m = self._n_independent(ours.n_finite, theirs.n_finite)
        threshold = max(self.thresholds.range, _most_by_chance(n, m, 2) / m)
        if share > threshold:
            texts = _range_text(ours), _range_text(theirs)
            yield self._finding("range", texts, share, threshold)

    def _strings(self, ours: StringStatistics, theirs: StringStatistics) -> Iterator[Finding]:
        yield from self._distance("string lengths", ours.lengths, theirs.lengths)
        total = ours.lengths.count, theirs.lengths.count
        yield from self._shares("strings", _infinity_norm(ours, theirs), total)
        looked_at = sum(ours.contents.values()), sum(theirs.contents.values())
        yield from self._shares("contents", _norm_of_contents(ours, theirs), looked_at)
        if ours.is_exact and _is_few(len(ours.counts), min(total[0], self.one.n_records)):
            new = sorted(theirs.counts.keys() - ours.counts.keys())
            # All but the known ones, as rare ones are not among the counts.
            n_known = sum(theirs.counts.get(value, 0) + theirs.max_missed for value in ours.counts)
            shown = [_quoted(value) for value in new[:3]] or ["longer ones"]
            counts = np.array(list(ours.counts.values()))
            share = max(total[1] - n_known, 0) / max(total[1], 1)
            yield from self._new_values(share, counts, total, shown)

    def _shares(
        self, what: str, norm: tuple[float, str, tuple[float, float]], totals: tuple[int, int]
    ) -> Iterator[Finding]:
        """Yield that a value has quite another share in the second data set."""
        distance, value, shares = norm
        limit = self.thresholds.infinity_norm
        threshold = self._with_chance(limit, *self._n_independent(*totals))
        if distance > threshold:
            first, second = (f"{100 * share:.3g} %" for share in shares)
            detail = f"{value} is {first} in the first, {second} in the second"
            sides = f"{value} {first}", f"{value} {second}"
            yield Finding(what, self.name, detail, distance, threshold, sides)

    def _new_values(
        self, share: float, counts: Int64Array, totals: tuple[int, int], shown: list[str]
    ) -> Iterator[Finding]:
        """Yield that values are new; `counts` has how often each one of the first occurs.

        By Good and Turing, values not seen yet are about as frequent as those seen once.
        """
        n, m = self._n_independent(*totals)
        n_rare = int((counts <= _RARE * totals[0] / max(n, 1)).sum())
        threshold = max(self.thresholds.new_values, _most_by_chance(n, m, 1 + n_rare) / max(m, 1))
        if share > threshold:
            named = ", ".join(shown) + ", ..." * (len(shown) > 2)
            new = f"{100 * share:.3g} %"
            detail = f"{new} of the values in the second are not in the first: {named}"
            sides = "", f"{new} new: {named}"
            yield Finding("new values", self.name, detail, share, threshold, sides)


def _most_by_chance(n: int, m: int, n_parts: int = 1) -> float:
    """Return how many of `m` values are, but for 1 in 1,000 cases, at most in gaps between `n` others.

    `n` random numbers leave a gap on either side, and gaps between them; a random number of the same data falls
    into each as likely, whatever its distribution is. So 1 part is what is beyond the largest, 2 are what is outside of the range.

    >>> _most_by_chance(1000, 1000), _most_by_chance(1000, 10), _most_by_chance(1000, 100_000, 2) > 900
    (9, 1, True)
    """
    if not n or not m:
        return math.inf
    expected = n_parts * m / n
    if expected > _MANY:
        most = m / n * _chi_squared(2 * n_parts) / 2
        return most + _NORMAL * math.sqrt(most)
    # As many as are drawn, each from the m or the n, before some of the n.
    count, left = 0, 1.0
    chance = (n / (n + m)) ** n_parts
    while (left := left - chance) >= _CHANCE:
        chance *= (count + n_parts) / (count + 1) * m / (n + m)
        count += 1
    return count


def _n_outside(ours: Distribution, theirs: Distribution) -> int:
    """Return how many finite numbers of one distribution are outside of another's range, at least."""
    (low, high), (least, most) = _finite_range(ours), _finite_range(theirs)
    if least > high or most < low:
        return theirs.n_finite
    starts, stops, counts = theirs.buckets()
    below, above = int(counts[stops < low].sum()), int(counts[starts > high].sum())
    return max(below, int(least < low)) + max(above, int(most > high))


def _finite_range(numbers: Distribution) -> tuple[float, float]:
    """Return the smallest and the largest finite number, exactly; integers are not rounded."""
    starts, stops, _ = numbers.buckets()
    low, high = numbers.min, numbers.max
    return (
        low if low is not None and math.isfinite(low) else float(starts[0]),
        high if high is not None and math.isfinite(high) else float(stops[-1]),
    )


def _range_text(numbers: Distribution) -> str:
    low, high = (f"{n:,}" if isinstance(n, int) else f"{n:.6g}" for n in _finite_range(numbers))
    return f"{low} .. {high}"


def _new_kinds(ours: Distribution, theirs: Distribution) -> Iterator[tuple[str, int]]:
    """Yield what is not finite in the second distribution only, and how many there are at least."""
    if theirs.n_nan and not ours.n_nan:
        yield "NaN", theirs.n_nan
    has_low, has_high = theirs.min == -math.inf, theirs.max == math.inf
    count = 1 if has_low and has_high else theirs.n_inf
    if theirs.n_inf and not ours.n_inf:
        yield "infinite", theirs.n_inf
    elif has_low and ours.min != -math.inf:
        yield "-infinity", count
    elif has_high and ours.max != math.inf:
        yield "infinity", count


def _spec_of(name: str, found: FeatureStatistics, n_records: int) -> Any:
    """Return the specification that would be inferred; None if there is none."""
    context = Summary(n_records, {})
    try:
        if isinstance(found.summary, FeatureListSummary):
            return SequenceSummary(context, {name: found.summary}).schema().feature_lists[name]
        return Summary(n_records, {name: found.summary}).schema()[name]
    except InvalidArgumentError:
        return None


def _schema_text(name: str, found: FeatureStatistics, n_records: int) -> str:
    """Return the kind of a feature, and the specification that would be inferred."""
    spec = _spec_of(name, found, n_records)
    return _kinds(found) if spec is None else f"{_kinds(found)} {_spec_text(spec)}"


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


def _categories(numbers: Distribution, n_records: int) -> Float64Array | None:
    """Return the different numbers, if they are few integers, often each."""
    starts, stops, _ = numbers.buckets()
    if not numbers.is_integer or not _is_few(starts.size, min(numbers.count, n_records)):
        return None
    if max(-starts[0], stops[-1]) >= _MAX_EXACT:
        return None
    return starts if bool((starts == stops).all()) else None


def _infinity_norm(
    ours: StringStatistics, theirs: StringStatistics
) -> tuple[float, str, tuple[float, float]]:
    """Return the largest difference that a string's shares have at least, the string and the shares."""
    totals = ours.lengths.count, theirs.lengths.count
    missed = ours.max_missed / max(totals[0], 1) + theirs.max_missed / max(totals[1], 1)
    distance, value, shares = _largest(ours.counts, theirs.counts, totals)
    return distance - missed, _quoted(value or b""), shares


def _norm_of_contents(
    ours: StringStatistics, theirs: StringStatistics
) -> tuple[float, str, tuple[float, float]]:
    """Return the same of what the strings are, of those that were looked at."""
    counts = ours.contents, theirs.contents
    totals = sum(counts[0].values()), sum(counts[1].values())
    distance, label, shares = _largest(*counts, totals)
    return distance, label or "", shares


def _largest(
    ours: Mapping[_Key, int], theirs: Mapping[_Key, int], totals: tuple[int, int]
) -> tuple[float, _Key | None, tuple[float, float]]:
    """Return the largest difference of two shares, of what, and the shares."""
    best: tuple[float, _Key | None, tuple[float, float]] = 0.0, None, (0.0, 0.0)
    for value in sorted(ours.keys() | theirs.keys()):
        shares = ours.get(value, 0) / max(totals[0], 1), theirs.get(value, 0) / max(totals[1], 1)
        distance = abs(shares[0] - shares[1])
        if distance > best[0]:
            best = distance, value, shares
    return best


def _norm_of_numbers(
    ours: Distribution, theirs: Distribution
) -> tuple[float, str, tuple[float, float]]:
    """Return the same of a number, or of some that are next to each other."""
    starts, stops, _ = (ours + theirs).buckets()
    p, q = _shares(ours, starts), _shares(theirs, starts)
    i = int(np.abs(p - q).argmax())
    if i >= starts.size:
        label = ("NaN", "infinite")[i - starts.size]
    elif starts[i] == stops[i]:
        label = f"{starts[i]:.6g}"
    else:
        label = f"{starts[i]:.6g} .. {stops[i]:.6g}"
    return abs(float(p[i] - q[i])), label, (float(p[i]), float(q[i]))


def divergence(
    ours: Distribution, theirs: Distribution, *, max_integers: int = 0
) -> tuple[float, int]:
    """Return the Jensen-Shannon divergence of two distributions in bits, and over how many bins.

    Integers have a bin each if they are few enough; other numbers are divided into ten.

    >>> from tfrecord_lite.apps.statistics import Distribution
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
    if ours.is_integer and theirs.is_integer and starts.size <= max_integers:
        bins = np.arange(starts.size)
    last = int(bins.max(initial=0))
    bins = np.concatenate([bins, [last + 1, last + 2]])
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
