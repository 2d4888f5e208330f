"""compare: two data sets, their schemas, statistics and records.

::

    block of a ─┬─ Collector of each ──> Statistics ─ drift ──> Finding, ...    what is different beyond thresholds
    block of b ─┘
                └─ the same bytes? ── no, decoded: the same values? ── no ──> RecordDifference

Both are read together, once, and records are compared one by one meanwhile; if one data set turns out to have
more of them, that is dropped. Programs write the features of an Example in any order, so two records of different
bytes may hold the same. Floats are compared bit by bit, so that NaN equals NaN.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias, Unpack

import numpy as np

from tfrecord_lite import decode_sequence_examples
from tfrecord_lite.apps.statistics import statistics as stats
from tfrecord_lite.apps.statistics.statistics import FeatureStatistics, Statistics
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.extension import DataLike, SequenceRow, blocks_of
from tfrecord_lite.options import ReadOptions, read_settings
from tfrecord_lite.progress import Progress, title_of
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.schema import RaggedFeature
from tfrecord_lite.sniff import recognize_value
from tfrecord_lite.texts import abridged, nearest, plural, printable, repr_html, shown_name

_Pair = tuple[list[Any] | None, list[Any] | None]
"""The arrays of a feature in both records: a list of one step but for a feature list."""

_EMPTY = Block.from_records([])
_MAX_SHOWN = 10
"""How many differences are kept."""
_MAX_NAMES = 5
"""How many features of a difference are named in its line, and have their values kept."""
_MAX_VALUES, _MAX_TEXT, _MAX_HEX = 3, 24, 6
"""How many values of a feature are shown, and how many characters or bytes of each."""

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
        ``"missing feature"``, ``"new feature"``, ``"kind"``, ``"specification"``, ``"presence"``, ``"lengths"``,
        ``"steps"``, ``"numbers"``, ``"strings"``, ``"string lengths"``, ``"contents"``, ``"new values"``,
        ``"range"``, ``"not finite"`` or ``"records"``.
    feature : str or None
        The feature, or feature list; None if it is about all.
    sides : tuple of two str
        What the first and the second data set have; the first is empty if the second says all.
    distance, threshold : float or None
        How large it is, and what it exceeds, if that was measured.

    Examples
    --------
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
        >>> before, after = (encode_examples({"age": [36, age]}) for age in (41, 41.0))
        >>> compare(before, after).findings[0].describe()["what"]
        'kind'
        """
        return {**asdict(self), "detail": self.detail}


@dataclass(frozen=True, slots=True)
class RecordDifference:
    """Two records of the same number that hold different values.

    Attributes
    ----------
    number : int
        The number of the record, from 0.
    features : tuple of str
        The features and feature lists that differ.
    values : tuple of tuple of two str
        What the two records hold in the first 5 of them, as short texts, from the first value that differs.

    Examples
    --------
    >>> before, after = (encode_examples({"age": [36, age]}) for age in (37, 38))
    >>> compare(before, after).records.first
    (RecordDifference(number=1, features=('age',), values=(('37', '38'),)),)
    """

    number: int
    features: tuple[str, ...]
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordDifferences:
    """How many records of two data sets differ, and in what.

    Attributes
    ----------
    num_records : int
        Number of records in each.
    num_different : int
        How many pairs hold different values.
    by_feature : mapping of str to int
        In how many pairs each feature differs; those that do.
    first : tuple of RecordDifference
        The first 10.

    Examples
    --------
    >>> before, after = (encode_examples({"age": [36, age]}) for age in (37, 38))
    >>> records = compare(before, after).records
    >>> records.num_records, records.num_different, dict(records.by_feature)
    (2, 1, {'age': 1})
    """

    num_records: int
    num_different: int
    by_feature: Mapping[str, int] = field(default_factory=dict)
    first: tuple[RecordDifference, ...] = ()

    def __str__(self) -> str:
        """Return the number of differences in one line."""
        if not self.num_different:
            return f"all {plural(self.num_records, 'record')} hold the same"
        names = [f"{shown_name(name)} in {n:,}" for name, n in self.by_feature.items()]
        features = ", ".join(names[:_MAX_NAMES]) + (", ..." if len(names) > _MAX_NAMES else "")
        return f"{self.num_different:,} of {plural(self.num_records, 'record')} differ: {features}"

    def describe(self) -> dict[str, Any]:
        """Return all as JSON values.

        Examples
        --------
        >>> before, after = (encode_examples({"age": [36, age]}) for age in (37, 38))
        >>> compare(before, after).records.describe()["first"]
        ({'number': 1, 'features': ('age',), 'values': (('37', '38'),)},)
        """
        return asdict(self)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What is different between two data sets; true if nothing is.

    ``str`` returns a line per difference. Can be pickled.

    Attributes
    ----------
    names : tuple of two str
        What the two are called: paths, or "the first" and "the second".
    statistics : tuple of two Statistics
    findings : tuple of Finding
        What is different beyond the thresholds: of all records, then by feature.
    records : RecordDifferences or None
        How the records differ one by one; None if they were not compared.

    Examples
    --------
    >>> before, after = (encode_examples({"age": [36, age]}) for age in (41, 44))
    >>> comparison = compare(before, after, thresholds={"distance": 1, "range": 1})
    >>> bool(comparison), [str(finding) for finding in comparison.findings]
    (False, ['records: 1 of 2 records differ: age in 1'])
    >>> [statistics["age"].numbers.max for statistics in comparison.statistics]
    [41, 44]
    """

    names: tuple[str, str]
    statistics: tuple[Statistics, Statistics]
    findings: tuple[Finding, ...]
    records: RecordDifferences | None = None

    @property
    def is_same(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __bool__(self) -> bool:
        """Return `is_same`."""
        return self.is_same

    def describe(self) -> dict[str, Any]:
        """Return all but the statistics as JSON values.

        Examples
        --------
        >>> before, after = (encode_examples({"age": [36, age]}) for age in (37, 38))
        >>> compare(before, after).describe()["records"]["by_feature"]
        {'age': 1}
        """
        pairs = zip(self.names, self.statistics, strict=True)
        return {
            "same": self.is_same,
            "data": [{"name": name, "records": one.num_records} for name, one in pairs],
            "findings": [finding.describe() for finding in self.findings],
            "records": None if self.records is None else self.records.describe(),
        }

    def __str__(self) -> str:
        """Return what was compared, a line per difference, and the first records that differ."""
        pairs = zip(self.names, self.statistics, strict=True)
        named = " and ".join(f"{name} ({plural(one.num_records, 'record')})" for name, one in pairs)
        count = plural(len(self.findings), "difference") if self.findings else "no difference"
        rest = "" if self.records else "; records not compared one by one"
        lines = [f"{named}: {count}{rest}", *map(str, self.findings)]
        for record in self.records.first if self.records else ():
            for name, (first, second) in zip(record.features, record.values, strict=False):
                lines.append(f"  record {record.number:,}: {shown_name(name)}: {first} -> {second}")
        return "\n".join(map(printable, lines))

    def __repr__(self) -> str:
        """Return the same without the middle, if it is long."""
        return abridged(str(self))

    _repr_html_ = repr_html


def compare(
    a: DataLike | Statistics | Any,
    b: DataLike | Statistics | Any,
    *,
    records: bool = True,
    thresholds: Mapping[str, float] | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> Comparison:
    """Compare two data sets: their schemas, how their values are distributed, and their records.

    Parameters
    ----------
    a, b : path, TFRecordReader, Block, list of bytes, or Statistics
        As for :func:`compute_statistics`; `a` says what to expect, and `b` is judged.
    records : bool, optional
        Compare the records one by one too, in order: those that hold different values are a finding, and so
        are different numbers of records. Statistics have no records.
    thresholds : mapping of str to float, optional
        How different the data may be; defaults are below.
    progress : bool or callable, optional
        As for :func:`load`; the unit is records, of each data set in turns.
    **options
        How files are read, see :class:`ReadOptions`.

    Returns
    -------
    Comparison
        True if nothing was found.

    Raises
    ------
    InvalidArgumentError, TypeError, DataLossError, OSError
        As :func:`compute_statistics`; ``BAD_ARGUMENT`` too for an unknown threshold, or one below 0.

    Notes
    -----
    Findings are features that only one has, other kinds, values that do not fit the specification inferred
    from `a`, NaN or infinite numbers if `a` has none, and what exceeds a threshold:

    - ``presence``, 0.05: the difference of the shares of records with the feature;
    - ``distance``, 0.05: of numbers and of lengths, the Jensen-Shannon divergence from 0 to 1 (bits),
      over ten bins or a few different integers; of byte strings, the largest difference of the two
      shares of a value, or of a format (JPEG, text, ...);
    - ``range``, 0.01: the share of numbers that are outside of the range of `a`;
    - ``new_values``, 0.001: the share of values that `a` never has, if that has few different ones, often each.

    Two small samples of the same data differ by more than two large ones: give them higher thresholds. The
    distributions of byte strings of more than 64 bytes are those of their lengths and formats. Memory does
    not depend on the size of the data.

    Examples
    --------
    >>> before, after = (encode_examples({"age": [36, age]}) for age in (41, 44))
    >>> print(compare(before, after, thresholds={"distance": 1, "range": 1}))
    the first (2 records) and the second (2 records): 1 difference
    records: 1 of 2 records differ: age in 1
      record 1: age: 41 -> 44
    """
    limits = thresholds_with(thresholds)
    settings = read_settings(options)
    are_known = [isinstance(one, Statistics) for one in (a, b)]
    collectors = [stats.Collector(stats.originals_beside(one, settings)) for one in (a, b)]
    blocks = [
        blocks_of(_EMPTY, settings) if is_known else blocks_of(one, settings, progress=progress)
        for one, is_known in zip((a, b), are_known, strict=True)
    ]
    has_pairs = are_compared = records and not any(are_known)
    num_compared = num_different = 0
    by_feature: Counter[str] = Counter()
    first: list[RecordDifference] = []
    with closing(blocks[0]), closing(blocks[1]):
        for both in _aligned(*blocks):
            for collector, block in zip(collectors, both, strict=True):
                collector.add(block)
            has_pairs = has_pairs and len(both[0]) == len(both[1])
            for i, odd in _different(*both) if has_pairs else ():
                num_different += 1
                by_feature.update(odd.keys())
                if len(first) < _MAX_SHOWN:
                    values = tuple(_texts(*odd[name]) for name in list(odd)[:_MAX_NAMES])
                    first.append(RecordDifference(num_compared + i, tuple(odd), values))
            num_compared += len(both[0])
    ours, theirs = (
        one if isinstance(one, Statistics) else collector.statistics()
        for one, collector in zip((a, b), collectors, strict=True)
    )
    results = list(findings(ours, theirs, limits))
    differences = None
    if has_pairs:
        ordered = dict(sorted(by_feature.items(), key=lambda item: (-item[1], item[0])))
        differences = RecordDifferences(num_compared, num_different, ordered, tuple(first))
        if num_different:
            results.append(Finding("records", None, ("", str(differences))))
    elif are_compared:
        ends = plural(ours.num_records, "record"), plural(theirs.num_records, "record")
        results.append(Finding("records", None, ends))
    names = _name(a, "the first"), _name(b, "the second")
    return Comparison(names, (ours, theirs), tuple(results), differences)


def _name(data: Any, otherwise: str) -> str:
    data = data.sources if isinstance(data, TFRecordReader) else data
    sources = data if isinstance(data, list) else [data]
    names = [getattr(source, "name", source) for source in sources]
    are_named = bool(names) and all(isinstance(name, str | os.PathLike) for name in names)
    return title_of(sources) if are_named else otherwise


def _aligned(a: Iterator[Block], b: Iterator[Block]) -> Iterator[tuple[Block, Block]]:
    """Yield blocks of equally many records; when one data set has ended, empty ones with the others."""
    ours = theirs = _EMPTY
    while True:
        ours = ours if len(ours) else next(a, _EMPTY)
        theirs = theirs if len(theirs) else next(b, _EMPTY)
        num_records = min(len(ours), len(theirs)) or max(len(ours), len(theirs))
        if not num_records:
            return
        yield ours[:num_records], theirs[:num_records]
        ours, theirs = ours[num_records:], theirs[num_records:]


def _different(ours: Block, theirs: Block) -> Iterator[tuple[int, dict[str, _Pair]]]:
    """Yield the numbers of the pairs that hold different values, and the features that do, by name."""
    pairs = zip(ours.to_list(), theirs.to_list(), strict=True)
    odd = [i for i, (one, other) in enumerate(pairs) if one != other]
    # An Example is a SequenceExample without lists.
    decoded = (decode_sequence_examples(block[odd]) if odd else [] for block in (ours, theirs))
    for i, one, other in zip(odd, *decoded, strict=True):
        mine, its = _flat(one), _flat(other)
        both = ((key[1], mine.get(key), its.get(key)) for key in mine.keys() | its.keys())
        features = {name: (a, b) for name, a, b in both if _content(a) != _content(b)}
        if features:
            yield i, dict(sorted(features.items()))


def _flat(row: SequenceRow) -> dict[tuple[str, str], list[Any]]:
    context = {("context", name): [values] for name, values in row["context"].items()}
    return {**context, **{("list", name): steps for name, steps in row["feature_lists"].items()}}


def _content(steps: list[Any] | None) -> list[tuple[Any, Any]] | None:
    """Return what two features that are the same have in common: floats bit by bit."""
    return steps and [(v.dtype, v.tolist() if v.dtype == object else v.tobytes()) for v in steps]


# ----------------------------------------------------------------------------------- drift


def thresholds_with(limits: Mapping[str, float] | None) -> dict[str, float]:
    """Return all thresholds, the given ones checked; others are as usual."""
    for name, value in (limits or {}).items():
        if name not in THRESHOLDS:
            known = f"{nearest(name, THRESHOLDS)}; expected {', '.join(THRESHOLDS)}"
            raise argument_error(f"there is no threshold {name!r}{known}")
        if not value >= 0:  # NaN is not either
            raise argument_error(f"{name} is {value}, expected 0 or more")
    return {**THRESHOLDS, **(limits or {})}


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
            for what, limit, distance, sides in _measured(name, one, other, totals):
                if distance > thresholds[limit]:
                    yield Finding(what, name, sides, distance, thresholds[limit])


def _not_finite(name: str, ours: Any, theirs: Any) -> Iterator[Finding]:
    for word, count in ("NaN", "num_nan"), ("infinite", "num_inf"):
        if ours and theirs and getattr(theirs, count) and not getattr(ours, count):
            share = f"{100 * getattr(theirs, count) / theirs.count:.3g} %"
            yield Finding("not finite", name, (f"no {word}", f"{share} {word}"))


def _measured(
    name: str, one: FeatureStatistics, other: FeatureStatistics, totals: tuple[int, int]
) -> Iterator[_Measured]:
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
            dtype = stats.time_dtype(name, one) if what == "numbers" else None
            figures = _figures(ours, dtype), _figures(theirs, dtype)
            yield what, "distance", divergence(ours, theirs), figures
            if what == "numbers" and ours.num_finite and theirs.num_finite:
                yield _range_or_values(ours, theirs, n_categories, dtype)


def _range_or_values(
    ours: stats.Distribution, theirs: stats.Distribution, n_categories: int, dtype: str | None
) -> _Measured:
    """Return how many numbers the first data set does not lead one to expect."""
    if ours.is_integer and ours.is_exact and ours.values.size <= n_categories:
        is_new = ~np.isin(theirs.values, ours.values)
        shown = [f"{int(number):,}" for number in theirs.values[is_new][:3].tolist()]
        return _new_values(int(theirs.counts[is_new].sum()), theirs.count, shown)
    low, high = ours.values[0], ours.values[-1]
    is_outside = (theirs.values < low) | (theirs.values > high)
    sides = _range_text(ours, dtype), _range_text(theirs, dtype)
    return "range", "range", float(theirs.counts[is_outside].sum()) / theirs.num_finite, sides


def _of_strings(
    ours: stats.StringStatistics, theirs: stats.StringStatistics, n_categories: int
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
        shown = [stats.quoted(value) for value in new[:3]] or ["longer ones"]
        yield _new_values(n_theirs - n_known, n_theirs, shown)


def _shares(
    what: str, ours: Mapping[Any, int], theirs: Mapping[Any, int], totals: tuple[int, int]
) -> _Measured:
    values = sorted(ours.keys() | theirs.keys())
    pairs = [(ours.get(v, 0) / totals[0], theirs.get(v, 0) / totals[1]) for v in values]
    distances = [abs(first - second) for first, second in pairs]
    if not values:
        return what, "distance", 0.0, ("", "")
    i = distances.index(max(distances))
    value = values[i]
    name = value if isinstance(value, str) else stats.quoted(value)
    first, second = (f"{name} {100 * share:.3g} %" for share in pairs[i])
    return what, "distance", distances[i], (first, second)


def _new_values(n_new: int, total: int, shown: list[str]) -> _Measured:
    share = n_new / total
    named = ", ".join(shown) + (", ..." if len(shown) > 2 else "")
    return "new values", "new_values", share, ("", f"{100 * share:.3g} % new: {named}")


def _presence_text(count: int, num_records: int) -> str:
    """Return a share of records; one that is not all does not look like it."""
    if count == num_records:
        return "in all records"
    return f"in {min(100 * count / num_records, 99.9):.3g} % of the records"


def _range_text(numbers: stats.Distribution, dtype: str | None) -> str:
    return " .. ".join(stats.figure_texts({"min": numbers.min, "max": numbers.max}, dtype).values())


def _figures(numbers: stats.Distribution, dtype: str | None) -> str:
    figures = stats.figure_texts({"mean": numbers.mean, "std": numbers.std}, dtype)
    return ", ".join(" ".join(figure) for figure in figures.items()) or "none finite"


def _spec_of(feature: FeatureStatistics | None, num_records: int) -> Any:
    if feature is None:
        return None
    with suppress(InvalidArgumentError):
        is_list = feature.steps is not None
        parts = ({}, {"it": feature}) if is_list else ({"it": feature}, {})
        schema: Any = Statistics(num_records, *parts, is_sequence=is_list).schema()
        return (schema.feature_lists if is_list else schema)["it"]
    return None


def _schema_text(feature: FeatureStatistics | None, spec: Any) -> str:
    """Return the kind of a feature, and the specification that would be inferred."""
    if feature is None:
        return "missing"
    kinds = "/".join(kind.label for kind in feature.kinds) or "no kind"
    if spec is None:
        return kinds
    shape = getattr(spec, "shape", None)
    missing = ", may be missing" if getattr(spec, "allow_missing", False) else ""
    return f"{kinds} {type(spec).__name__}{'' if shape is None else f' {list(shape)}'}{missing}"


def _is_narrower(one: Any, other: Any) -> bool:
    """Whether some records that `other` was inferred from cannot be parsed with `one`."""
    if one == other or isinstance(one, RaggedFeature):
        return False
    # A list that may be missing in the first data set only.
    is_looser = bool(getattr(one, "allow_missing", False))
    return not (is_looser and one.shape == getattr(other, "shape", None))


def divergence(ours: stats.Distribution, theirs: stats.Distribution) -> float:
    """Return the Jensen-Shannon divergence of two distributions in bits.

    Integers have a bin each if they are few, often each; other numbers are divided into ten bins of as many
    numbers. NaN and infinity have a bin each.

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
    parts = []
    for numbers, n in zip(both, totals, strict=True):
        bins = np.searchsorted(edges, numbers.values)
        counts = np.bincount(bins, numbers.counts, edges.size + 1)
        parts.append(np.append(counts, [numbers.num_nan, numbers.num_inf]) / n)
    p, q = parts
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = [np.where(x > 0, x * np.log2(2 * x / (p + q)), 0.0).sum() for x in (p, q)]
    return max(float(sum(sums)) / 2, 0.0)


# ------------------------------------------------------------------------------- as texts


def _texts(one: list[Any] | None, other: list[Any] | None) -> tuple[str, str]:
    """Return short texts about the values of a feature, of all its steps, from the first that differs."""
    mine, its = (
        steps and [v if isinstance(v, bytes) else str(v) for step in steps for v in step]
        for steps in (one, other)
    )
    at = _first_odd(mine or [], its or [])
    pair = (mine or [])[at : at + 1] + (its or [])[at : at + 1]
    are_bytes = len(pair) == 2 and all(isinstance(value, bytes) for value in pair)
    byte = _first_odd(*pair) if are_bytes else 0
    return _side(mine, at, byte), _side(its, at, byte)


def _first_odd(a: Any, b: Any) -> int:
    """Return the number of the first item that differs; the length of the shorter one if none does."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))


def _side(values: list[Any] | None, at: int, byte: int) -> str:
    """Show some values from number `at` on; of a byte string what is around a byte."""
    if not values:
        return "missing" if values is None else "no values"
    shown = values[at : at + _MAX_VALUES]
    if shown and isinstance(shown[0], bytes):
        shown = [_bytes_text(shown[0], byte)]
    before = ["..."] if at else []
    after = ["..."] if at + len(shown) < len(values) else []
    text = ", ".join([*before, *shown, *after])
    return text if len(values) == len(shown) else f"{text} ({plural(len(values), 'value')})"


def _bytes_text(value: bytes, byte: int) -> str:
    """Show a text around a byte; of other byte strings what they are, and some bytes."""
    content = recognize_value(value)
    if content.label == "empty":
        return "''"
    if content.label != "text":
        return f"{content}; byte {byte:,}: {value[byte : byte + _MAX_HEX].hex(' ')}"
    begin = max(byte - 8, 0) if byte >= _MAX_TEXT else 0
    text = value[begin : begin + 4 * _MAX_TEXT].decode(errors="replace")
    is_cut = len(text) > _MAX_TEXT or begin + 4 * _MAX_TEXT < len(value)
    size = f" ({plural(len(value), 'byte')})" if begin or is_cut else ""
    return ("..." if begin else "") + repr(text[:_MAX_TEXT]) + ("..." if is_cut else "") + size
