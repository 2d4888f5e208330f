"""compute_statistics: what some records hold in each feature, and how it is distributed.

::

    blocks ── Survey ─┬─> Summary                               kinds, ranges
                      └─> values of each feature, gathered ──> Distribution, StringStatistics

Numbers are kept sorted, each different one with its count. If they are more than 2,048, so many are taken at equal
steps from a random start, each of which then represents as many numbers. If there are more than 10,000 different
short byte strings, the rarer half is dropped, so a count may be too low.
"""

from __future__ import annotations

import math
import os
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeVar, Unpack

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite import extension as ext
from tfrecord_lite import schema as specs
from tfrecord_lite.apps.markup.cells import Cells
from tfrecord_lite.apps.markup.charts import histogram, short_number
from tfrecord_lite.apps.markup.tables import Html, escaped, panel, table
from tfrecord_lite.arrays import AnyArray, ByteRanges, Int64Array, ObjectArray, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, argument_error, optional_int, require_int
from tfrecord_lite.extension import DataLike, Lists, Survey, blocks_of, originals_of
from tfrecord_lite.options import ReadOptions, ReadSettings, hinted, read_settings
from tfrecord_lite.progress import Progress, check_progress
from tfrecord_lite.reader import TFRecordReader, reader_with
from tfrecord_lite.schema import Kind, Schema, SequenceSchema, SequenceSummary, Summary, Variable
from tfrecord_lite.sniff import recognize_value, text_of
from tfrecord_lite.texts import abridged, aligned, nearest, plural, shown_name

_Text = TypeVar("_Text", str, bytes)

MAX_VALUES = 2048
_TYPES = {"b": np.int64, "i": np.int64, "u": np.uint64, "f": np.float64}
"""How numbers are kept, by the kind of their dtype."""

MAX_COUNTED_BYTES = 64
"""Longer strings are not counted one by one."""
MAX_DISTINCT = 10_000
MAX_LOOKED_AT = 64
"""Strings that are looked at closely, of all."""
_KEPT_EXAMPLES, _MAX_EXAMPLE_BYTES = 4, 16 * 1024
_MANY = 16 * 1024
"""Numbers are counted when so many of a feature have been gathered: each time has a cost of its own."""
_MAX_MALFORMED = 1000
_BINS = 10
_BLOCKS = "▁▂▃▄▅▆▇█"
_MAX_TOP = 5
_DATE_AND_TIME = len("2024-12-31T23:59:59")
_LARGE = 10**12
"""Numbers from here on have an exponent, and floats below 0.0001."""
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_TIME, _LAST_TIME = 315_532_800, 4_102_444_800  # 1980 and 2100, in seconds since 1970
_TIME_NAME = re.compile(
    r"(?i:time|date|stamp|when|epoch|(?<![a-z])(ts?|at|start|end|created|updated|[mun]?s)(?![a-z]))|At$"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FIGURES = "min", "mean", "std", "median", "max", "zeros", "NaN", "infinite"
COLUMNS = "name", "kind", "records", "steps", "length", "histogram", *_FIGURES
_LEFT_OUT = "std", "histogram", "median", "mean", "zeros", "NaN", "infinite", "steps", "records"
"""The columns that a smaller width does without, one after the other."""
_MAX_RECURRING, _MAX_LISTED, _MAX_EXAMPLES, _CELL_BINS = 12, 3, 2, 16


def compute_statistics(
    data: DataLike | Any,
    *,
    num_records: int | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> Statistics:
    """Compute the statistics of each feature: presence, lengths, distributions, the most frequent strings.

    Parameters
    ----------
    data : path, TFRecordReader, Block, or list of bytes
        Files as :class:`TFRecordReader` takes them; or a reader; or serialised Examples or SequenceExamples.
    num_records : int, optional
        Examine only this many records from the start; later ones are not read.
    progress : bool or callable, optional
        As for :func:`load`; the unit is records.
    **options
        How files are read, see :class:`ReadOptions`.

    Returns
    -------
    Statistics

    Raises
    ------
    DataLossError
        If a file is damaged, unless `on_error` says otherwise.
    InvalidArgumentError
        ``MALFORMED`` for a record that is neither an Example nor a SequenceExample;
        ``BAD_ARGUMENT`` if `num_records` is not positive.
    TypeError
        For data of another type.

    Notes
    -----
    Memory does not grow with the data: up to 200 KB per feature of numbers, and up to 2 MB per feature of byte
    strings that have many different values. If some records have feature lists, all are taken for SequenceExamples.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> print(compute_statistics(people))
    3 records, 2 features
    <BLANKLINE>
    name  kind    records  length  min  mean   std  median  max
    ----  ------  -------  ------  ---  ----  ----  ------  ---
    age   int64   all      1        36    38  2.16      37   41
    name  string  all      1
        3 .. 5 bytes, text, 3 different, 'Ada' 33.3 %, 'Alan' 33.3 %, 'Grace' 33.3 %
    """
    num_records = optional_int("num_records", num_records, 1)
    check_progress(progress)
    settings = read_settings(options)
    collector = Collector(originals_beside(data, settings))
    # Otherwise the file would stay open for as long as an error's traceback is referenced.
    with closing(blocks_of(data, settings, num_records, progress)) as blocks:
        for block in blocks:
            collector.add(block)
    return collector.statistics()


@dataclass(frozen=True, slots=True)
class FeatureStatistics:
    """What some records hold in one feature, or in one feature list, and how it is distributed.

    Attributes
    ----------
    summary : FeatureSummary or FeatureListSummary
        Kinds, numbers of records, and ranges, as :func:`summarize` has them.
    lengths : Distribution
        Number of values per record that has the feature; of a feature list, per step.
    numbers : Distribution or None
        All int64 and float32 values.
    strings : StringStatistics or None
        All byte strings.
    steps : Distribution or None
        Number of steps per record that has the feature list.
    original : str or None
        Another dtype that the values had before they were stored, by a schema file beside the data. Numbers
        that are stored as bytes are then `numbers`.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> compute_statistics(people)["age"].numbers.mean
    38.0
    """

    summary: specs.FeatureSummary | specs.FeatureListSummary
    lengths: Distribution
    numbers: Distribution | None = None
    strings: StringStatistics | None = None
    steps: Distribution | None = None
    original: str | None = None

    @property
    def type_name(self) -> str:
        """The original dtype, or all kinds that occur."""
        return self.original or "/".join(kind.label for kind in self.kinds)

    @property
    def num_records(self) -> int:
        """Number of records with the feature."""
        return self.summary.n_records

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All kinds that occur, usually one."""
        summary: Any = self.summary
        return tuple(getattr(summary, "values", summary).lists)  # "values" of a feature list

    @property
    def num_values(self) -> int:
        """Number of values in all records."""
        n_numbers = 0 if self.numbers is None else self.numbers.count
        return n_numbers + (0 if self.strings is None else self.strings.lengths.count)

    def __add__(self, other: FeatureStatistics) -> FeatureStatistics:
        """Return the statistics of both sets of records; the records of `other` follow."""
        if not isinstance(other, FeatureStatistics):
            return NotImplemented
        names = ("summary", "lengths", "numbers", "strings", "steps")
        parts: Any = {name: _sum(getattr(self, name), getattr(other, name)) for name in names}
        original = self.original if self.original == other.original else None
        return FeatureStatistics(**parts, original=original)

    def describe(self) -> dict[str, Any]:
        """Return all figures as JSON values.

        Examples
        --------
        >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> compute_statistics(people)["age"].describe()["numbers"]["quartiles"]
        [36, 37, 37]
        """
        parts = {"numbers": self.numbers, "strings": self.strings, "steps": self.steps}
        return {
            "kinds": [kind.label for kind in self.kinds],
            **({} if self.original is None else {"original": self.original}),
            "records": self.num_records,
            "values": self.num_values,
            "lengths": self.lengths.describe(),
            **{name: part.describe() for name, part in parts.items() if part is not None},
        }


def _sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one + other


@dataclass(frozen=True, slots=True, repr=False)
@hinted
class Statistics(Mapping[str, FeatureStatistics]):
    """What some records hold in each feature, and how it is distributed.

    Immutable; can be pickled. Statistics of shards can be added in the order of the shards, with ``+`` or ``sum``.
    ``str`` returns a table; ``statistics[name]`` is one feature, or feature list.

    Attributes
    ----------
    num_records : int
        Number of records that were examined.
    features : mapping of str to FeatureStatistics
        Of Examples, or of the contexts of SequenceExamples; sorted by name.
    feature_lists : mapping of str to FeatureStatistics
        Of SequenceExamples; empty for Examples.
    is_sequence : bool
        Whether the records are SequenceExamples.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> statistics = compute_statistics(people[:1]) + compute_statistics(people[1:])  # two shards
    >>> statistics.num_records, statistics["age"].numbers.mean, statistics["name"].strings.top(1)
    (3, 38.0, [(b'Ada', 1)])
    """

    num_records: int
    features: Mapping[str, FeatureStatistics]
    feature_lists: Mapping[str, FeatureStatistics] = field(default_factory=dict)
    is_sequence: bool = False

    def __getitem__(self, name: str) -> FeatureStatistics:
        """Return one feature, or feature list; the error about an unknown name lists the nearest."""
        known = {**self.feature_lists, **self.features}
        if name not in known:
            raise KeyError(f"no feature {name!r}{nearest(name, [*self])}")
        return known[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the features, then of the feature lists."""
        yield from (*self.features, *self.feature_lists)

    def __len__(self) -> int:
        """Return the number of features and feature lists."""
        return len(self.features) + len(self.feature_lists)

    def __add__(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of records; the records of `other` follow."""
        if not isinstance(other, Statistics):
            return NotImplemented
        features = _merged(self.features, other.features)
        lists, n_records = _merged(self.feature_lists, other.feature_lists), self.num_records
        is_sequence = self.is_sequence or other.is_sequence
        return Statistics(n_records + other.num_records, features, lists, is_sequence)

    def __radd__(self, other: object) -> Self:
        """Return the same statistics for 0, with which :func:`sum` begins."""
        return self if type(other) is int and other == 0 else NotImplemented

    @property
    def summary(self) -> Summary | SequenceSummary:
        """Kinds, lengths and ranges alone, as :func:`summarize` returns them."""
        features: Any = {name: feature.summary for name, feature in self.features.items()}
        context = Summary(self.num_records, features)
        if not self.is_sequence:
            return context
        lists: Any = {name: feature.summary for name, feature in self.feature_lists.items()}
        return SequenceSummary(context, lists)

    def schema(self, *, variable: Variable = "ragged") -> Schema | SequenceSchema:
        """Return a schema to parse such records with, as :meth:`Summary.schema` infers it.

        Examples
        --------
        >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> list(compute_statistics(people).schema())
        ['age', 'name']
        """
        return self.summary.schema(variable=variable)

    def describe(self) -> dict[str, Any]:
        """Return all figures as JSON values.

        Examples
        --------
        >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> compute_statistics(people).describe()["features"]["age"]["numbers"]["mean"]
        38.0
        """
        described = {
            name: {key: feature.describe() for key, feature in features.items()}
            for name, features in self._sections()
        }
        return {"records": self.num_records, **described}

    def _sections(self) -> list[tuple[str, Mapping[str, FeatureStatistics]]]:
        if not self.is_sequence:
            return [("features", self.features)]
        return [("context", self.features), ("feature_lists", self.feature_lists)]

    def lines(
        self, width: int = 100, columns: Collection[str] | None = None, *, has_blocks: bool = False
    ) -> list[str]:
        """Return the lines of a table of these features, or all; `has_blocks` is for histograms.

        A width that has no room for all figures leaves out some.

        Examples
        --------
        >>> people = encode_examples({"age": [36, 41, 37]})
        >>> compute_statistics(people).lines(width=60)[-1]
        'age   int64  all      1        36    38  2.16      37   41'
        """
        lines = []
        for section, features in self._sections():
            shown = {n: f for n, f in features.items() if columns is None or n in columns}
            if not shown:
                continue
            lines += ["", f"{section.replace('_', ' ')}:"] if self.is_sequence else [""]
            rows = [
                cells_of(name, feature, self.num_records, has_blocks=has_blocks)
                for name, feature in shown.items()
            ]
            head, rule, *table_lines = laid_out(rows, width)
            lines += [head, rule]
            for line, feature in zip(table_lines, shown.values(), strict=True):
                lines += [line, *string_lines(feature.strings, width)]
        return lines

    def __str__(self) -> str:
        """Return a table with one line per feature."""
        n_features = plural(len(self), "feature")
        return "\n".join([f"{plural(self.num_records, 'record')}, {n_features}", *self.lines()])

    def __repr__(self) -> str:
        """Return the same without the middle, if it is long."""
        return abridged(str(self))

    def _repr_html_(self) -> str:
        """Return the table for notebooks, with a chart per feature."""
        cells, parts = Cells(), []
        for section, features in self._sections():
            rows = {name: cells_of(name, one, self.num_records) for name, one in features.items()}
            columns = [name for name in COLUMNS if any(row.get(name) for row in rows.values())]
            shown = (
                (
                    *(Html(escaped(row.get(c, "")).replace(" ", "&nbsp;")) for c in columns),
                    _chart(name, features[name], cells),
                )
                for name, row in rows.items()
            )
            if rows:
                options: Any = {"n_rows": len(rows), "noun": "feature"}
                options["caption"] = section.replace("_", " ") if self.is_sequence else ""
                parts.append(table((*columns, "distribution"), shown, **options))
        return panel(f"Statistics of {plural(self.num_records, 'record')}", *parts)


def _merged(
    ours: Mapping[str, FeatureStatistics], theirs: Mapping[str, FeatureStatistics]
) -> dict[str, FeatureStatistics]:
    names = sorted(ours.keys() | theirs.keys())
    return {name: _sum(ours.get(name), theirs.get(name)) for name in names}


def edge_text(dtype: str | None) -> Callable[[float], str]:
    """Return what writes the edge of a bin: a number, or a time of a datetime64."""
    return short_number if dtype is None else lambda edge: figure_texts({"": edge}, dtype)[""]


def _chart(name: str, feature: FeatureStatistics, cells: Cells) -> Html | None:
    numbers, strings = feature.numbers, feature.strings
    if numbers is not None:
        counts, edges = numbers.histogram(_CELL_BINS)
        if len(edges) <= 2:
            return None
        size: Any = {"width": 120, "height": 28, "text_of": edge_text(time_dtype(name, feature))}
        return Html(histogram(counts, edges, f"Histogram of {name[:40]}", **size))
    if strings is None:
        return None
    length = f"{size_text(strings.lengths)}: "
    n_distinct = len(strings.counts)
    is_recurring = n_distinct <= max(_MAX_RECURRING, strings.lengths.count / 2)
    if not strings.is_exact or not is_recurring:
        values = cells.strings_form(strings.examples[:_MAX_EXAMPLES], feature.num_values).html
        return Html(length + values)
    listed = [
        f"{cells.bytes_form(value, is_small=True).html} ({count:,})"
        for value, count in strings.top(_MAX_LISTED)
    ]
    more = [f"… {n_distinct - len(listed):,} more"] if n_distinct > len(listed) else []
    return Html(length + ", ".join([*listed, *more]))


# ---------------------------------------------------------------------------- distributions


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

    def histogram(self, bins: int = 20) -> tuple[Int64Array, arrays.Float64Array]:
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
            figures = {name: ext.shortest(figure) for name, figure in figures.items()}
            bounds = [ext.shortest(float(edge)) for edge in edges.astype(np.float32)]
        return {
            "count": self.count,
            "nan": self.num_nan,
            "infinite": self.num_inf,
            "zeros": self.num_zeros,
            **{name: ext.json_value(figure) for name, figure in figures.items()},
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
        examples = (*self.examples, *other.examples)[:_KEPT_EXAMPLES]
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
    return [data[a:b] for a, b in pairwise(row_splits(values.lengths).tolist())]


def _most_frequent(counts: Mapping[_Text, int], n: int | None = None) -> dict[_Text, int]:
    """Return the first `n` of some counts, the highest first; of equal ones in the order of their keys."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:n])


# ---------------------------------------------------------------------------------- as text


def laid_out(cells: list[dict[str, str]], width: int) -> list[str]:
    """Return the head, a rule and the line of each feature, with as many columns as the width has room for."""
    columns = [name for name in COLUMNS if any(row.get(name) for row in cells)]
    for left_out in ("", "dates", *_LEFT_OUT):
        columns = [name for name in columns if name != left_out]
        if left_out == "dates":  # of times, the smallest and largest are enough
            short = {"mean": "", "median": ""}
            cells = [row | short if _DATE.match(row.get("max", "")) else row for row in cells]
        sides = "".join(">" if name in _FIGURES else "<" for name in columns)
        lines = aligned([columns, *([row.get(n, "") for n in columns] for row in cells)], sides)
        if max(map(len, lines)) <= width:
            break
    return lines


def cells_of(
    name: str, feature: FeatureStatistics, n_records: int, *, has_blocks: bool = False
) -> dict[str, str]:
    """Return what there is to say of one feature, by column."""
    count, share = feature.num_records, 100 * feature.num_records / max(n_records, 1)
    dtype = time_dtype(name, feature)
    unit = "" if dtype in {None, feature.type_name} else f" ({dtype[11:-1]})"
    cells = {
        "name": shown_name(name),
        "kind": (feature.type_name or "none") + unit,
        "records": "all" if count == n_records else f"{count:,} ({share:.1f} %)",
        "steps": "" if feature.steps is None else _range(feature.steps),
        "length": _range(feature.lengths),
    }
    numbers = feature.numbers
    if numbers is None:
        return cells
    figures = {name: getattr(numbers, name) for name in ("min", "mean", "max", "std")}
    cells |= figure_texts({**figures, "median": numbers.quantile(0.5)}, dtype)
    counts = ("zeros", numbers.num_zeros), ("NaN", numbers.num_nan), ("infinite", numbers.num_inf)
    cells |= {column: percent(count / numbers.count) for column, count in counts if count}
    if has_blocks and numbers.num_finite:
        cells["histogram"] = _blocks(numbers)
    return cells


def time_dtype(name: str, feature: FeatureStatistics) -> str | None:
    """Return the datetime64 whose counts the numbers are: the original dtype, or a guess.

    Numbers are guessed to be times if the name says so, and they lie between 1980 and 2100.
    """
    numbers, type_name = feature.numbers, feature.type_name
    if type_name.startswith("datetime64["):
        return type_name
    if numbers is None or type_name.startswith("timedelta64[") or not _TIME_NAME.search(name):
        return None
    ends = numbers.quantile(0.5) or 0, numbers.max or 0  # a smallest one of 0 stands for no time
    for unit, n in _UNITS.items():
        if all(_FIRST_TIME * n <= end <= _LAST_TIME * n for end in ends):
            return f"datetime64[{unit}]"
    return None


def figure_texts(figures: Mapping[str, float | None], dtype: str | None = None) -> dict[str, str]:
    """Write figures of numbers, or of times of a datetime64, so short that ``min`` and ``max`` still differ."""
    known = {name: figure for name, figure in figures.items() if figure is not None}
    texts: dict[str, str] = {}
    for digits in (4, 9, 17):
        for name, figure in known.items():
            texts[name] = _number(figure, digits)
            if dtype is not None and name != "std" and math.isfinite(figure):
                date = str(np.int64(figure).astype(dtype))
                texts[name] = date[:_DATE_AND_TIME] if digits == 4 else date
        if known.get("min") == known.get("max") or texts["min"] != texts["max"]:
            break
    return texts


def _range(numbers: Distribution) -> str:
    ends = [_number(end) for end in (numbers.min, numbers.max) if end is not None]
    return " .. ".join(dict.fromkeys(ends))


def _number(number: float, digits: int = 4) -> str:
    """Return a number with so many digits, and all that it has before the point unless it is huge."""
    size = abs(number)
    if digits == 17 or (isinstance(number, int) and (size < _LARGE or digits > 4)):
        return f"{number:,}"
    is_whole = math.isfinite(number) and max(1000, 10 ** (digits - 1)) <= size < _LARGE
    return f"{number:,.0f}" if is_whole else f"{number:.{digits}g}"


def percent(share: float) -> str:
    """Return a share in percent, never rounded to all or nothing.

    >>> percent(1), percent(0.99999), percent(0.5), percent(0.0001)
    ('100 %', '> 99.9 %', '50 %', '< 0.1 %')
    """
    if 0.999 < share < 1:
        return "> 99.9 %"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{share * 100:.3g} %"


def _blocks(numbers: Distribution) -> str:
    """Draw a histogram in one line; a bin that is not empty is never as low as one that is."""
    counts, _ = numbers.histogram(_BINS)
    most = max(int(counts.max()), 1)
    return "".join(_BLOCKS[-(-count * 7 // most)] for count in counts.tolist())


def string_lines(strings: StringStatistics | None, width: int) -> list[str]:
    """Return the lines about byte strings, indented."""
    if strings is None:
        return []
    text = ", ".join(_string_texts(strings))
    indents: Any = {"initial_indent": "    ", "subsequent_indent": "    "}
    return textwrap.wrap(text, width, break_on_hyphens=False, **indents)


def quoted(value: bytes) -> str:
    """Return a byte string as a text, if it is one."""
    text = text_of(value)
    return repr(value if text is None else text)


def size_text(lengths: Distribution) -> str:
    """Return how long byte strings are."""
    low, high = lengths.min, lengths.max
    return plural(int(low or 0), "byte") if low == high else f"{low:,} .. {high:,} bytes"


def _string_texts(strings: StringStatistics) -> Iterator[str]:
    yield size_text(strings.lengths)
    contents, looked_at = list(strings.contents.items()), sum(strings.contents.values())
    if len(contents) > 1:
        yield from (f"{name} {percent(count / looked_at)}" for name, count in contents[:4])
    elif contents[0][0] != "bytes":
        yield contents[0][0]
    n_distinct = strings.num_distinct
    if n_distinct is not None:
        yield f"{n_distinct:,} different"
    are_few = n_distinct is not None and n_distinct <= _MAX_TOP
    for value, count in strings.top(_MAX_TOP):
        if count > 1 or are_few:
            yield f"{quoted(value)} {percent(count / strings.lengths.count)}"


# ------------------------------------------------------------------------------- collecting


def originals_beside(data: Any, options: ReadSettings) -> Schema:
    """Return what the files beside data that are files say about original dtypes."""
    if not isinstance(data, TFRecordReader):
        paths = [data] if isinstance(data, str | os.PathLike) else data
        are_many = isinstance(paths, list | tuple) and len(paths) > 0
        if not are_many or not all(isinstance(path, str | os.PathLike) for path in paths):
            return Schema({})
        data = reader_with(paths, options)
    return originals_of(data.sources, options, may_be_damaged=False)


class Collector:
    """Collect the statistics of records, block after block; not thread-safe.

    The schema has the features that had another dtype before they were stored. With `skip_malformed`, records
    that cannot be examined are left out and counted, up to 1,000.
    """

    def __init__(self, schema: Schema | None = None, *, skip_malformed: bool = False) -> None:
        schema = Schema({}) if schema is None else schema
        self._originals = {name: str(known.dtype) for name, known in schema.originals.items()}
        self._raw = {
            name.encode(): np.dtype(self._originals[name])
            for name, item in schema.to_items().items()
            if item.is_raw and not self._originals[name].startswith("complex")
        }
        self._survey = Survey(self)
        self._skip_malformed = skip_malformed
        self._gathered = defaultdict[tuple[bytes, bool], _Gathered](_Gathered)
        self.malformed: list[InvalidArgumentError] = []
        """The errors about the records that were left out."""

    def add(self, block: Block, first: int = 0) -> None:
        """Examine the records of a block, which is not kept, or of a part of one from number `first` on.

        Before an error those before its record.
        """
        try:
            self._survey.add(block)  # nothing of it after an error
        except InvalidArgumentError as error:
            if len(block) > 1:
                half = len(block) // 2
                self.add(block[:half], first)
                self.add(block[half:], first + half)
                return
            error = error if error.source else error.at(index=first)
            if not self._skip_malformed or len(self.malformed) >= _MAX_MALFORMED:
                raise error from None
            self.malformed.append(error)

    def add_lists(self, key: bytes, lists: Lists, *, is_step: bool) -> None:
        """Take the lists of one kind of one feature, from the survey."""
        gathered = self._gathered[key, is_step]
        flat, counts = lists.flat, lists.lengths
        if lists.kind is not Kind.BYTES:
            is_uint64 = self._originals.get(key.decode()) == "uint64" and not is_step
            gathered.numbers.add(flat.view(np.uint64) if is_uint64 else flat)
        elif len(flat):
            strings = flat.to_ranges()
            dtype = None if is_step else self._raw.get(key)
            if dtype is None or (strings.lengths % dtype.itemsize).any():
                gathered.strings = (gathered.strings or StringStatistics()).plus(strings)
            else:
                ends = row_splits(strings.lengths // dtype.itemsize)  # of the values of each string
                counts = np.diff(ends[row_splits(counts)])
                values = strings.joined()
                gathered.numbers.add(values != 0 if dtype == np.bool else values.view(dtype))
        gathered.lengths.add(counts)

    def add_steps(self, key: bytes, n_steps: Int64Array) -> None:
        """Take the numbers of steps of one feature list, from the survey."""
        self._gathered[key, True].steps.add(n_steps)

    def statistics(self) -> Statistics:
        """Return the statistics so far."""
        summary = self._survey.summary()
        if not isinstance(summary, SequenceSummary):
            return Statistics(summary.n_records, self._features(summary))
        lists = self._features(summary.feature_lists, are_lists=True)
        return Statistics(summary.n_records, self._features(summary.context), lists, True)  # noqa: FBT003

    def _features(
        self, summaries: Mapping[str, Any], *, are_lists: bool = False
    ) -> dict[str, FeatureStatistics]:
        features = {}
        for name in sorted(summaries):
            gathered = self._gathered[name.encode(), are_lists]
            lengths, numbers = gathered.lengths.counted(), gathered.numbers.counted()
            parts = lengths, numbers if numbers.count else None, gathered.strings
            steps = gathered.steps.counted() if are_lists else None
            original = None if are_lists else self._originals.get(name)
            features[name] = FeatureStatistics(summaries[name], *parts, steps, original)
        return features


class _Numbers:
    """Numbers that are gathered, and counted when they are many."""

    def __init__(self) -> None:
        self._known = Distribution()
        self._waiting: list[AnyArray] = []
        self._n_waiting = 0

    def add(self, numbers: AnyArray) -> None:
        # A copy, since the array shares the memory of its block, and may be changed by the next one.
        self._waiting.append(numbers.flatten())
        self._n_waiting += numbers.size
        if self._n_waiting >= _MANY:
            self.counted()

    def counted(self) -> Distribution:
        """Count all that wait; return the distribution."""
        for dtype in dict.fromkeys(numbers.dtype for numbers in self._waiting):
            parts = [numbers for numbers in self._waiting if numbers.dtype == dtype]
            self._known += Distribution.of(np.concatenate(parts))
        self._waiting, self._n_waiting = [], 0
        return self._known


class _Gathered:
    def __init__(self) -> None:
        self.lengths, self.steps, self.numbers = _Numbers(), _Numbers(), _Numbers()
        self.strings: StringStatistics | None = None
