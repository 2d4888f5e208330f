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
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.schema import FeatureListSummary, RaggedFeature, SequenceSummary, Summary
from tfrecord_lite.schema.text import nearest, shown_name
from tfrecord_lite.sniff import text_of

if TYPE_CHECKING:
    from tfrecord_lite.apps.statistics.distribution import Distribution, StringStatistics
    from tfrecord_lite.apps.statistics.statistics import FeatureStatistics, Statistics
    from tfrecord_lite.arrays import Float64Array

    _Measured: TypeAlias = Iterator[tuple[str, str, float, tuple[str, str]]]
    """What, the name of the threshold, how much, and both sides."""

_Key = TypeVar("_Key", str, bytes)

THRESHOLDS = {"presence": 0.05, "distance": 0.05, "range": 0.01, "new_values": 0.001}
_N_BINS = 10
_MAX_CATEGORIES, _LEAST_TIMES = 1000, 10
"""Few different values, often each: at most so many, at least so often on average."""
_MAX_EXACT = 2.0**53
"""Integers beyond are rounded in buckets."""


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
    sides : tuple of two str
        What the first and the second data set have, in a few words; the first is empty if the second says all.
    distance, threshold : float or None
        How large it is, and what it is larger than, where that was measured.

    Examples
    --------
    >>> from tfrecord_lite.apps.statistics import compare
    >>> before = encode_examples({"age": [36, 41, 37]})
    >>> after = encode_examples({"age": [36.0, 41.0, 37.0]})
    >>> finding = compare(before, after).findings[0]
    >>> finding.what, finding.feature, finding.sides
    ('kind', 'age', ('int64 FixedLenFeature []', 'float32 FixedLenFeature []'))
    """

    what: str
    feature: str | None
    sides: tuple[str, str]
    distance: float | None = None
    threshold: float | None = None

    @property
    def detail(self) -> str:
        """Both sides in words."""
        first, second = self.sides
        return f"{first} in the first, {second} in the second" if first else second

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
        return {
            "what": self.what,
            "feature": self.feature,
            "detail": self.detail,
            "first": self.sides[0],
            "second": self.sides[1],
            "distance": self.distance,
            "threshold": self.threshold,
        }


def thresholds_with(given: Mapping[str, float] | None) -> dict[str, float]:
    """Return all thresholds, the given ones checked; others are as usual."""
    for name, value in (given or {}).items():
        if name not in THRESHOLDS:
            known = f"{nearest(name, THRESHOLDS)}; expected {', '.join(THRESHOLDS)}"
            raise argument_error(f"there is no threshold {name!r}{known}")
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise TypeError(f"{name} must be a number, not {type(value).__name__}")
        if not value >= 0:  # NaN is not either
            raise argument_error(f"{name} is {value}, expected 0 or more")
    return {**THRESHOLDS, **(given or {})}


def findings(a: Statistics, b: Statistics, thresholds: Mapping[str, float]) -> Iterator[Finding]:
    """Yield what is different about `b`: of all records, then by feature, in the order of names."""
    if a.is_sequence != b.is_sequence and a.num_records and b.num_records:
        first, second = (("Examples", "SequenceExamples")[one.is_sequence] for one in (a, b))
        yield Finding("kind", None, (first, second))
    totals = a.num_records, b.num_records
    for ours, theirs in (a.features, b.features), (a.feature_lists, b.feature_lists):
        for name in sorted(ours.keys() | theirs.keys()):
            one, other = ours.get(name), theirs.get(name)
            yield from _differences(name, one, other, totals)
            if one is not None and other is not None:
                for what, limit, distance, sides in _measured(one, other, totals):
                    if distance > thresholds[limit]:
                        yield Finding(what, name, sides, distance, thresholds[limit])


def _differences(
    name: str,
    one: FeatureStatistics | None,
    other: FeatureStatistics | None,
    totals: tuple[int, int],
) -> Iterator[Finding]:
    """Yield what is different in kind about a feature."""
    specs = _spec_of(one, totals[0]), _spec_of(other, totals[1])
    schemas = _schema_text(one, specs[0]), _schema_text(other, specs[1])
    if one is None or other is None:
        yield Finding("new feature" if one is None else "missing feature", name, schemas)
        return
    if one.kinds != other.kinds:
        yield Finding("kind", name, schemas)
    elif None not in specs and _is_narrower(*specs):  # records of `other` cannot be parsed so
        yield Finding("specification", name, schemas)
    if one.numbers is not None and other.numbers is not None:
        n_nan = one.numbers.num_nan, other.numbers.num_nan
        n_inf = one.numbers.num_inf, other.numbers.num_inf
        for word, (before, count) in (("NaN", n_nan), ("infinite", n_inf)):
            if count and not before:
                share = f"{100 * count / other.numbers.count:.3g} %"
                yield Finding("not finite", name, (f"no {word}", f"{share} {word}"))


def _measured(
    one: FeatureStatistics, other: FeatureStatistics, totals: tuple[int, int]
) -> _Measured:
    """Yield how different a feature is, whatever the thresholds."""
    counts = (one.num_records, totals[0]), (other.num_records, totals[1])
    first, second = (count / max(total, 1) for count, total in counts)
    shares = _share_text(*counts[0]), _share_text(*counts[1])
    yield "presence", "presence", abs(first - second), shares
    yield _distance("lengths", one.lengths, other.lengths)
    if one.steps is not None and other.steps is not None:
        yield _distance("steps", one.steps, other.steps)
    if one.numbers is not None and other.numbers is not None:
        yield _distance("numbers", one.numbers, other.numbers)
        yield from _range_or_values(one.numbers, other.numbers, one.num_records)
    if one.strings is not None and other.strings is not None:
        yield from _strings(one.strings, other.strings, one.num_records)


def _distance(
    what: str, ours: Distribution, theirs: Distribution
) -> tuple[str, str, float, tuple[str, str]]:
    distance = divergence(ours, theirs) if ours.count and theirs.count else 0.0
    return what, "distance", distance, (_figures(ours), _figures(theirs))


def _range_or_values(ours: Distribution, theirs: Distribution, num_records: int) -> _Measured:
    """Yield the numbers which the first data set does not lead one to expect."""
    starts, stops, counts = theirs.buckets()
    known, ends, _ = ours.buckets()
    is_exact = known.size > 0 and max(-known[0], ends[-1]) < _MAX_EXACT
    are_few = _is_few(known.size, min(ours.count, num_records))
    if ours.is_integer and are_few and is_exact and bool((known == ends).all()):
        is_new = ~np.isin(starts, known) | (starts != stops)
        shown = [f"{int(number):,}" for number in starts[is_new][:3].tolist()]
        yield _new_values(int(counts[is_new].sum()), theirs.count, shown)
    elif ours.num_finite and theirs.num_finite:
        (low, high), (least, most) = _finite_range(ours), _finite_range(theirs)
        # By the buckets, but for what is not rounded: the ends.
        n_below = max(int(counts[stops < low].sum()), int(least < low))
        n_above = max(int(counts[starts > high].sum()), int(most > high))
        n_outside = n_below + n_above if least <= high and most >= low else theirs.num_finite
        sides = _range_text(low, high), _range_text(least, most)
        yield "range", "range", n_outside / theirs.num_finite, sides


def _strings(ours: StringStatistics, theirs: StringStatistics, num_records: int) -> _Measured:
    yield _distance("string lengths", ours.lengths, theirs.lengths)
    n_ours, n_theirs = ours.lengths.count, theirs.lengths.count
    missed = ours.max_missed / max(n_ours, 1) + theirs.max_missed / max(n_theirs, 1)
    value, shares = _largest(ours.counts, theirs.counts, (n_ours, n_theirs))
    yield _shares("strings", quoted(value or b""), shares, missed)
    looked_at = sum(ours.contents.values()), sum(theirs.contents.values())
    label, shares = _largest(ours.contents, theirs.contents, looked_at)
    are_all = looked_at == (n_ours, n_theirs)
    chance = 0.0 if are_all else math.sqrt(sum(1 / max(n, 1) for n in looked_at))
    yield _shares("contents", label or "", shares, chance)
    if ours.is_exact and _is_few(len(ours.counts), min(n_ours, num_records)):
        new = sorted(theirs.counts.keys() - ours.counts.keys())
        # All but the known ones, as rare ones are not among the counts.
        n_known = sum(theirs.counts.get(value, 0) + theirs.max_missed for value in ours.counts)
        shown = [quoted(value) for value in new[:3]] or ["longer ones"]
        yield _new_values(max(n_theirs - n_known, 0), n_theirs, shown)


def _shares(
    what: str, value: str, shares: tuple[float, float], missed: float
) -> tuple[str, str, float, tuple[str, str]]:
    """Return how different the shares of a value are."""
    first, second = (f"{value} {100 * share:.3g} %" for share in shares)
    return what, "distance", abs(shares[0] - shares[1]) - missed, (first, second)


def _new_values(
    n_new: int, total: int, shown: list[str]
) -> tuple[str, str, float, tuple[str, str]]:
    share = n_new / max(total, 1)
    named = ", ".join(shown) + ", ..." * (len(shown) > 2)
    return "new values", "new_values", share, ("", f"{100 * share:.3g} % new: {named}")


def _share_text(count: int, num_records: int) -> str:
    """Return a share of records; one that is not all does not look like it."""
    if count == num_records:
        return "in all records"
    return f"in {min(100 * count / max(num_records, 1), 99.9):.3g} % of the records"


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


def _spec_of(found: FeatureStatistics | None, num_records: int) -> Any:
    """Return the specification that would be inferred; None if there is none."""
    if found is None:
        return None
    context = Summary(num_records, {})
    with suppress(InvalidArgumentError):
        if isinstance(found.summary, FeatureListSummary):
            return SequenceSummary(context, {"it": found.summary}).schema().feature_lists["it"]
        return Summary(num_records, {"it": found.summary}).schema()["it"]
    return None


def _schema_text(found: FeatureStatistics | None, spec: Any) -> str:
    """Return the kind of a feature, and the specification that would be inferred."""
    if found is None:
        return "missing"
    kinds = "/".join(kind.label for kind in found.kinds) or "no kind"
    if spec is None:
        return kinds
    shape = getattr(spec, "shape", None)
    missing = ", may be missing" * bool(getattr(spec, "allow_missing", False))
    return f"{kinds} {type(spec).__name__}{'' if shape is None else f' {list(shape)}'}{missing}"


def _is_narrower(one: Any, other: Any) -> bool:
    """Whether some records that `other` was inferred from cannot be parsed with `one`."""
    if one == other or isinstance(one, RaggedFeature):
        return False
    # A list that may be missing in the first data set only.
    is_looser = bool(getattr(one, "allow_missing", False))
    return not (is_looser and one.shape == getattr(other, "shape", None))


def _figures(numbers: Distribution) -> str:
    if numbers.mean is None:
        return "none finite"
    return f"mean {numbers.mean:.4g}, std {numbers.std:.4g}"


def quoted(value: bytes) -> str:
    """Return a byte string as a text, if it is one."""
    text = text_of(value)
    return repr(value if text is None else text)


def _is_few(num_different: int, total: int) -> bool:
    return 0 < num_different <= _MAX_CATEGORIES and total >= _LEAST_TIMES * num_different


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
    p, q = _bucket_shares(ours, starts), _bucket_shares(theirs, starts)
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


def _bucket_shares(numbers: Distribution, starts: Float64Array) -> Float64Array:
    """Return the share of each bucket of both together, and of NaN and infinite numbers."""
    own, _, counts = numbers.buckets()
    places = np.maximum(np.searchsorted(starts, own, side="right") - 1, 0)
    found: Float64Array = np.zeros(starts.size)
    np.add.at(found, places, counts)
    return np.concatenate([found, [numbers.num_nan, numbers.num_inf]]) / max(numbers.count, 1)
