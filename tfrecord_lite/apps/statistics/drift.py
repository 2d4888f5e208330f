"""Drift: what is different about the features of two data sets, beyond thresholds.

The first data set says what to expect, and the second is judged.

========== ====================== ====================================================
threshold  of                     what is compared with it
========== ====================== ====================================================
presence   records                the difference of the shares of records with the
                                  feature
distance   numbers, lengths       the Jensen-Shannon divergence of the two
                                  distributions, from 0 (equal) to 1 (disjoint), in
                                  bits, over ten bins that have as many numbers each,
                                  or a bin for each of a few integers; NaN and infinity
                                  have a bin each
distance   byte strings           the L-infinity distance: the largest difference of a
                                  value's two shares, or of a format's (JPEG, text,
                                  ...), of those looked at
range      numbers                the share of finite numbers outside of the range of
                                  the first
new_values byte strings, integers the share of values that the first data set never has,
                                  if it has few different values, often each
========== ====================== ====================================================

Nothing is said about chance: two small samples of the same data differ by more than two large ones. Byte
strings of more than 64 bytes are compared by length and by what they are only.
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
    from tfrecord_lite.arrays import Float64Array

_Key = TypeVar("_Key", str, bytes)

_N_BINS = 10
_MAX_CATEGORIES, _LEAST_TIMES = 1000, 10
"""Few different values, often each: at most so many, at least so often on average."""
_MAX_EXACT = 2.0**53
"""Integers beyond are rounded in buckets."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How different data may be; see the head of the module. Raises ``BAD_ARGUMENT`` or TypeError."""

    presence: float = 0.05
    distance: float = 0.05
    range: float = 0.01
    new_values: float = 0.001

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
        ``"string lengths"``, ``"contents"``, ``"new values"``, ``"range"``, ``"not finite"`` or ``"records"``.
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
    if a.is_sequence != b.is_sequence and a.num_records and b.num_records:
        names = [("Example", "SequenceExample")[one.is_sequence] for one in (a, b)]
        detail = f"the records are {names[0]}s and {names[1]}s"
        yield Finding("kind", None, detail, sides=(f"{names[0]}s", f"{names[1]}s"))
    sections = (a.features, b.features), (a.feature_lists, b.feature_lists)
    for ours, theirs in sections:
        for name in sorted(ours.keys() | theirs.keys()):
            one, other = ours.get(name), theirs.get(name)
            if other is None and one is not None:
                where = f"in {_share_text(one.num_records, a.num_records)} of the first only"
                sides = _schema_text(name, one, a.num_records), "missing"
                yield Finding("missing feature", name, f"{_kinds(one)}, {where}", sides=sides)
            elif one is None and other is not None:
                where = f"in {_share_text(other.num_records, b.num_records)} of the second only"
                sides = "missing", _schema_text(name, other, b.num_records)
                yield Finding("new feature", name, f"{_kinds(other)}, {where}", sides=sides)
            elif one is not None and other is not None:
                pair = _Pair(name, one, other, a.num_records, b.num_records, thresholds)
                yield from pair.findings()


def _kinds(found: FeatureStatistics) -> str:
    return "/".join(kind.label for kind in found.kinds) or "no kind"


def _share_text(count: int, num_records: int) -> str:
    """Return a share of records; one that is not all does not look like it."""
    if count == num_records:
        return "all records"
    return f"{min(100 * count / max(num_records, 1), 99.9):.3g} % of the records"


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
        schemas = (
            _schema_text(self.name, one, self.n_ours),
            _schema_text(self.name, other, self.n_theirs),
        )
        specs = _spec_of(self.name, one, self.n_ours), _spec_of(self.name, other, self.n_theirs)
        if one.kinds != other.kinds:
            yield self._finding("kind", (_kinds(one), _kinds(other)), sides=schemas)
        elif None not in specs and _is_narrower(*specs):  # records of `other` cannot be parsed so
            texts = _spec_text(specs[0]), _spec_text(specs[1])
            yield self._finding("specification", texts, sides=schemas)
        yield from self._presence()
        yield from self._distance("lengths", one.lengths, other.lengths)
        if one.steps is not None and other.steps is not None:
            yield from self._distance("steps", one.steps, other.steps)
        if one.numbers is not None and other.numbers is not None:
            yield from self._distance("numbers", one.numbers, other.numbers)
            yield from self._numbers(one.numbers, other.numbers)
        if one.strings is not None and other.strings is not None:
            yield from self._strings(one.strings, other.strings)

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

    def _presence(self) -> Iterator[Finding]:
        counts = (self.one.num_records, self.n_ours), (self.other.num_records, self.n_theirs)
        first, second = (n / max(total, 1) for n, total in counts)
        if (distance := abs(first - second)) > self.thresholds.presence:
            texts = [_share_text(*count) for count in counts]
            detail = f"in {texts[0]} of the first, in {texts[1]} of the second"
            sides = f"in {texts[0]}", f"in {texts[1]}"
            threshold = self.thresholds.presence
            yield Finding("presence", self.name, detail, distance, threshold, sides)

    def _distance(self, what: str, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        """Yield that two distributions are far apart."""
        distance = divergence(ours, theirs) if ours.count and theirs.count else 0.0
        threshold = self.thresholds.distance
        if distance > threshold:
            yield self._finding(what, (_figures(ours), _figures(theirs)), distance, threshold)

    def _numbers(self, ours: Distribution, theirs: Distribution) -> Iterator[Finding]:
        """Yield that there are numbers which the first data set does not lead one to expect."""
        for word, count, before in (
            ("NaN", theirs.num_nan, ours.num_nan),
            ("infinite", theirs.num_inf, ours.num_inf),
        ):
            if count and not before:
                shown = f"{100 * count / theirs.count:.3g} %"
                detail = f"{shown} of the numbers are {word} in the second, none in the first"
                sides = f"no {word}", f"{shown} {word}"
                yield Finding("not finite", self.name, detail, sides=sides)
        known = _categories(ours, self.one.num_records)
        if known is not None:
            starts, stops, counts = theirs.buckets()
            is_new = ~np.isin(starts, known) | (starts != stops)
            shown_values = [f"{int(number):,}" for number in starts[is_new][:3].tolist()]
            yield from self._new_values(int(counts[is_new].sum()), theirs.count, shown_values)
        elif ours.num_finite and theirs.num_finite:
            (low, high), (least, most) = _finite_range(ours), _finite_range(theirs)
            starts, stops, counts = theirs.buckets()
            n_below = max(int(counts[stops < low].sum()), int(least < low))
            n_above = max(int(counts[starts > high].sum()), int(most > high))
            n_outside = n_below + n_above if least <= high and most >= low else theirs.num_finite
            share, threshold = n_outside / theirs.num_finite, self.thresholds.range
            if share > threshold:
                texts = _range_text(low, high), _range_text(least, most)
                yield self._finding("range", texts, share, threshold)

    def _strings(self, ours: StringStatistics, theirs: StringStatistics) -> Iterator[Finding]:
        yield from self._distance("string lengths", ours.lengths, theirs.lengths)
        totals = ours.lengths.count, theirs.lengths.count
        missed = ours.max_missed / max(totals[0], 1) + theirs.max_missed / max(totals[1], 1)
        value, shares = _largest(ours.counts, theirs.counts, totals)
        yield from self._shares("strings", _quoted(value or b""), shares, missed)
        looked_at = sum(ours.contents.values()), sum(theirs.contents.values())
        label, shares = _largest(ours.contents, theirs.contents, looked_at)
        yield from self._shares("contents", label or "", shares)
        if ours.is_exact and _is_few(len(ours.counts), min(totals[0], self.one.num_records)):
            new = sorted(theirs.counts.keys() - ours.counts.keys())
            # All but the known ones, as rare ones are not among the counts.
            n_known = sum(theirs.counts.get(value, 0) + theirs.max_missed for value in ours.counts)
            shown = [_quoted(value) for value in new[:3]] or ["longer ones"]
            yield from self._new_values(max(totals[1] - n_known, 0), totals[1], shown)

    def _shares(
        self, what: str, value: str, shares: tuple[float, float], missed: float = 0.0
    ) -> Iterator[Finding]:
        """Yield that a value has quite another share in the second data set."""
        distance, threshold = abs(shares[0] - shares[1]) - missed, self.thresholds.distance
        if distance > threshold:
            first, second = (f"{100 * share:.3g} %" for share in shares)
            detail = f"{value} is {first} in the first, {second} in the second"
            sides = f"{value} {first}", f"{value} {second}"
            yield Finding(what, self.name, detail, distance, threshold, sides)

    def _new_values(self, n_new: int, total: int, shown: list[str]) -> Iterator[Finding]:
        share, threshold = n_new / max(total, 1), self.thresholds.new_values
        if share > threshold:
            named = ", ".join(shown) + ", ..." * (len(shown) > 2)
            new = f"{100 * share:.3g} %"
            detail = f"{new} of the values in the second are not in the first: {named}"
            sides = "", f"{new} new: {named}"
            yield Finding("new values", self.name, detail, share, threshold, sides)


def _finite_range(numbers: Distribution) -> tuple[float, float]:
    """Return the smallest and the largest finite number, exactly; integers are not rounded."""
    starts, stops, _ = numbers.buckets()
    low, high = numbers.min, numbers.max
    return (
        low if low is not None and math.isfinite(low) else float(starts[0]),
        high if high is not None and math.isfinite(high) else float(stops[-1]),
    )


def _range_text(*numbers: float) -> str:
    return " .. ".join(f"{n:,}" if isinstance(n, int) else f"{n:.6g}" for n in numbers)


def _spec_of(name: str, found: FeatureStatistics, num_records: int) -> Any:
    """Return the specification that would be inferred; None if there is none."""
    context = Summary(num_records, {})
    try:
        if isinstance(found.summary, FeatureListSummary):
            return SequenceSummary(context, {name: found.summary}).schema().feature_lists[name]
        return Summary(num_records, {name: found.summary}).schema()[name]
    except InvalidArgumentError:
        return None


def _schema_text(name: str, found: FeatureStatistics, num_records: int) -> str:
    """Return the kind of a feature, and the specification that would be inferred."""
    spec = _spec_of(name, found, num_records)
    return _kinds(found) if spec is None else f"{_kinds(found)} {_spec_text(spec)}"


def _is_narrower(one: Any, other: Any) -> bool:
    """Whether some records that `other` was inferred from cannot be parsed with `one`."""
    if one == other or isinstance(one, RaggedFeature):
        return False
    # A list that may be missing in the first data set only.
    is_looser = bool(getattr(one, "allow_missing", False))
    return not (is_looser and one.shape == getattr(other, "shape", None))


def _spec_text(spec: Any) -> str:
    shape = getattr(spec, "shape", None)
    missing = ", may be missing" * bool(getattr(spec, "allow_missing", False))
    return type(spec).__name__ + ("" if shape is None else f" {list(shape)}") + missing


def _figures(numbers: Distribution) -> str:
    if numbers.mean is None:
        return "none finite"
    return f"mean {numbers.mean:.4g}, std {numbers.std:.4g}"


def _quoted(value: bytes) -> str:
    text = text_of(value)
    return repr(value if text is None else text)


def _is_few(num_different: int, total: int) -> bool:
    return 0 < num_different <= _MAX_CATEGORIES and total >= _LEAST_TIMES * num_different


def _categories(numbers: Distribution, num_records: int) -> Float64Array | None:
    """Return the different numbers, if they are few integers, often each."""
    starts, stops, _ = numbers.buckets()
    if not numbers.is_integer or not _is_few(starts.size, min(numbers.count, num_records)):
        return None
    if max(-starts[0], stops[-1]) >= _MAX_EXACT:
        return None
    return starts if bool((starts == stops).all()) else None


def _largest(
    ours: Mapping[_Key, int], theirs: Mapping[_Key, int], totals: tuple[int, int]
) -> tuple[_Key | None, tuple[float, float]]:
    """Return what has the largest difference of its two shares, and the shares."""
    best: tuple[_Key | None, tuple[float, float]] = None, (0.0, 0.0)
    for value in sorted(ours.keys() | theirs.keys()):
        shares = ours.get(value, 0) / max(totals[0], 1), theirs.get(value, 0) / max(totals[1], 1)
        if abs(shares[0] - shares[1]) > abs(best[1][0] - best[1][1]):
            best = value, shares
    return best


def divergence(ours: Distribution, theirs: Distribution) -> float:
    """Return the Jensen-Shannon divergence of two distributions in bits.

    Integers have a bin each if they are few, often each; other numbers are divided into ten.

    >>> from tfrecord_lite.apps.statistics import Distribution
    >>> ones, twos = Distribution.of(np.ones(5)), Distribution.of(np.full(7, 2.0))
    >>> divergence(ones, twos), divergence(ones, ones)
    (1.0, 0.0)
    """
    starts, _, _ = (ours + theirs).buckets()
    p, q = _shares(ours, starts), _shares(theirs, starts)
    finite = ((p + q) / 2)[: starts.size]
    # A bucket is in the bin that its middle is in, if bins have the same share each.
    middles = np.cumsum(finite) - finite / 2
    bins = np.minimum((middles / max(finite.sum(), 1e-300) * _N_BINS).astype(np.int64), _N_BINS - 1)
    is_integer = ours.is_integer and theirs.is_integer
    if is_integer and _is_few(starts.size, min(ours.count, theirs.count)):
        bins = np.arange(starts.size)
    last = int(bins.max(initial=0))
    bins = np.concatenate([bins, [last + 1, last + 2]])  # of NaN and infinity
    ours_by_bin, theirs_by_bin = np.bincount(bins, p), np.bincount(bins, q)
    both = (ours_by_bin + theirs_by_bin) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [
            np.where(one > 0, one * np.log2(one / both), 0.0).sum()
            for one in (ours_by_bin, theirs_by_bin)
        ]
    return max(float(sum(parts)) / 2, 0.0)


def _shares(numbers: Distribution, starts: Float64Array) -> Float64Array:
    """Return the share of each bucket of both together, and of NaN and infinite numbers."""
    own, _, counts = numbers.buckets()
    places = np.maximum(np.searchsorted(starts, own, side="right") - 1, 0)
    found: Float64Array = np.zeros(starts.size)
    np.add.at(found, places, counts)
    return np.concatenate([found, [numbers.num_nan, numbers.num_inf]]) / max(numbers.count, 1)
