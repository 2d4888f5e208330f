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

from tfrecord_lite.apps.statistics.rows import quoted
from tfrecord_lite.apps.statistics.statistics import FeatureStatistics, Statistics
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.schema import RaggedFeature
from tfrecord_lite.schema.text import nearest, shown_name

if TYPE_CHECKING:
    from tfrecord_lite.apps.statistics.distribution import Distribution, StringStatistics

_Key = TypeVar("_Key", str, bytes)
_Measured: TypeAlias = tuple[str, str, float, tuple[str, str]]
"""What, the name of the threshold, how much, and both sides."""

THRESHOLDS = {"presence": 0.05, "distance": 0.05, "range": 0.01, "new_values": 0.001}
_N_BINS = 10
_DISTRIBUTIONS = "lengths", "steps", "numbers"
_MAX_CATEGORIES, _LEAST_TIMES = 1000, 10
"""Few different values, often each: at most so many, at least so often on average."""


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
            specs = _spec_of(one, totals[0]), _spec_of(other, totals[1])
            schemas = _schema_text(one, specs[0]), _schema_text(other, specs[1])
            if one is None or other is None:
                yield Finding("new feature" if one is None else "missing feature", name, schemas)
                continue
            if one.kinds != other.kinds:
                yield Finding("kind", name, schemas)
            elif None not in specs and _is_narrower(*specs):  # records of `b` cannot be parsed so
                yield Finding("specification", name, schemas)
            yield from _not_finite(name, one.numbers, other.numbers)
            for what, limit, distance, sides in _measured(one, other, totals):
                if distance > thresholds[limit]:
                    yield Finding(what, name, sides, distance, thresholds[limit])


def _not_finite(
    name: str, ours: Distribution | None, theirs: Distribution | None
) -> Iterator[Finding]:
    if ours is None or theirs is None:
        return
    pairs = (
        ("NaN", ours.num_nan, theirs.num_nan),
        ("infinite", ours.num_inf, theirs.num_inf),
    )
    for word, before, count in pairs:
        if count and not before:
            share = f"{100 * count / theirs.count:.3g} %"
            yield Finding("not finite", name, (f"no {word}", f"{share} {word}"))


def _measured(
    one: FeatureStatistics, other: FeatureStatistics, totals: tuple[int, int]
) -> Iterator[_Measured]:
    """Yield how different a feature is, whatever the thresholds."""
    counts = (one.num_records, totals[0]), (other.num_records, totals[1])
    first, second = (count / max(total, 1) for count, total in counts)
    shares = _presence_text(*counts[0]), _presence_text(*counts[1])
    yield "presence", "presence", abs(first - second), shares
    n_categories = min(min(one.num_values, one.num_records) // _LEAST_TIMES, _MAX_CATEGORIES)
    pairs = [(what, getattr(one, what), getattr(other, what)) for what in _DISTRIBUTIONS]
    if one.strings is not None and other.strings is not None:
        pairs.append(("string lengths", one.strings.lengths, other.strings.lengths))
        yield from _of_strings(one.strings, other.strings, n_categories)
    for what, ours, theirs in pairs:
        if ours is not None and theirs is not None:
            figures = _figures(ours), _figures(theirs)
            yield what, "distance", divergence(ours, theirs), figures
            if what == "numbers" and ours.num_finite and theirs.num_finite:
                yield _range_or_values(ours, theirs, n_categories)


def _range_or_values(ours: Distribution, theirs: Distribution, n_categories: int) -> _Measured:
    """Return how many numbers the first data set does not lead one to expect."""
    if ours.is_integer and ours.is_exact and ours.values.size <= n_categories:
        is_new = ~np.isin(theirs.values, ours.values)
        shown = [f"{int(number):,}" for number in theirs.values[is_new][:3].tolist()]
        return _new_values(int(theirs.counts[is_new].sum()), theirs.count, shown)
    low, high = ours.values[0], ours.values[-1]
    is_outside = (theirs.values < low) | (theirs.values > high)
    sides = _range_text(low, high), _range_text(theirs.values[0], theirs.values[-1])
    return "range", "range", float(theirs.counts[is_outside].sum()) / theirs.num_finite, sides


def _of_strings(
    ours: StringStatistics, theirs: StringStatistics, n_categories: int
) -> Iterator[_Measured]:
    n_ours, n_theirs = ours.lengths.count, theirs.lengths.count
    yield _shares("strings", ours.counts, theirs.counts, (n_ours, n_theirs))
    n_looked_at = len(ours.looked_at), len(theirs.looked_at)
    what, limit, distance, sides = _shares("contents", ours.contents, theirs.contents, n_looked_at)
    if n_looked_at != (n_ours, n_theirs):
        distance -= math.sqrt(sum(1 / n for n in n_looked_at))  # which is chance
    yield what, limit, distance, sides
    if ours.is_exact and len(ours.counts) <= n_categories:
        new = sorted(theirs.counts.keys() - ours.counts.keys())
        # All but the known ones, as rare ones are not among the counts.
        n_known = sum(theirs.counts.get(value, 0) for value in ours.counts)
        shown = [quoted(value) for value in new[:3]] or ["longer ones"]
        yield _new_values(n_theirs - n_known, n_theirs, shown)


def _shares(
    what: str, ours: Mapping[_Key, int], theirs: Mapping[_Key, int], totals: tuple[int, int]
) -> _Measured:
    """Return the largest difference of the two shares of a string, or of a format."""
    values = sorted(ours.keys() | theirs.keys())
    pairs = [(ours.get(v, 0) / totals[0], theirs.get(v, 0) / totals[1]) for v in values]
    distances = [abs(first - second) for first, second in pairs]
    if not values:
        return what, "distance", 0.0, ("", "")
    i = distances.index(max(distances))
    value = values[i]
    name = value if isinstance(value, str) else quoted(value)
    first, second = (f"{name} {100 * share:.3g} %" for share in pairs[i])
    return what, "distance", distances[i], (first, second)


def _new_values(n_new: int, total: int, shown: list[str]) -> _Measured:
    share = n_new / total
    named = ", ".join(shown) + ", ..." * (len(shown) > 2)
    return "new values", "new_values", share, ("", f"{100 * share:.3g} % new: {named}")


def _presence_text(count: int, num_records: int) -> str:
    """Return a share of records; one that is not all does not look like it."""
    if count == num_records:
        return "in all records"
    return f"in {min(100 * count / num_records, 99.9):.3g} % of the records"


def _range_text(*numbers: Any) -> str:
    texts = (f"{n:,}" if isinstance(n, np.integer) else f"{n:.6g}" for n in numbers)
    return " .. ".join(texts)


def _figures(numbers: Distribution) -> str:
    if numbers.mean is None:
        return "none finite"
    return f"mean {numbers.mean:.4g}, std {numbers.std:.4g}"


def _spec_of(found: FeatureStatistics | None, num_records: int) -> Any:
    """Return the specification that would be inferred; None if there is none."""
    if found is None:
        return None
    with suppress(InvalidArgumentError):
        is_list = found.steps is not None
        parts = ({}, {"it": found}) if is_list else ({"it": found}, {})
        schema: Any = Statistics(num_records, *parts, is_sequence=is_list).schema()
        return (schema.feature_lists if is_list else schema)["it"]
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


def divergence(ours: Distribution, theirs: Distribution) -> float:
    """Return the Jensen-Shannon divergence of two distributions in bits.

    Integers have a bin each if they are few, often each; other numbers are divided into ten.

    >>> from tfrecord_lite.apps.statistics import Distribution
    >>> ones, twos = Distribution.of(np.ones(5)), Distribution.of(np.full(7, 2.0))
    >>> divergence(ones, twos), divergence(ones, ones)
    (1.0, 0.0)
    """
    both = ours, theirs
    totals = [max(numbers.count, 1) for numbers in both]
    values = np.concatenate([numbers.values for numbers in both])
    edges = np.unique(values)  # the last number of each bin
    are_few = edges.size <= min(_MAX_CATEGORIES, min(totals) // _LEAST_TIMES)
    if edges.size and not (are_few and ours.is_integer and theirs.is_integer):
        order = np.argsort(values)
        shares = [numbers.counts / n for numbers, n in zip(both, totals, strict=True)]
        ends = np.cumsum(np.concatenate(shares)[order])
        steps = ends[-1:] * np.arange(1, _N_BINS) / _N_BINS - 1e-9
        edges = values[order][np.searchsorted(ends, steps)]
    p, q = (
        np.append(
            np.bincount(np.searchsorted(edges, numbers.values), numbers.counts, edges.size + 1),
            [numbers.num_nan, numbers.num_inf],
        )
        / n
        for numbers, n in zip(both, totals, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(x > 0, x * np.log2(2 * x / (p + q)), 0.0).sum() for x in (p, q)]
    return max(float(sum(parts)) / 2, 0.0)
