"""Statistics: what some records hold in each feature, and how it is distributed."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from tfrecord_lite.apps.markup.cells import Cells
from tfrecord_lite.apps.markup.tables import Html, panel, table
from tfrecord_lite.apps.statistics.distribution import Distribution
from tfrecord_lite.apps.statistics.shown import chart_of
from tfrecord_lite.apps.statistics.strings import StringStatistics
from tfrecord_lite.errors import plural
from tfrecord_lite.schema import FeatureListSummary, FeatureSummary, SequenceSummary, Summary
from tfrecord_lite.schema.text import aligned, nearest, shown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from tfrecord_lite.schema import Kind, Schema, SequenceSchema, Variable

_Part = TypeVar("_Part", Distribution, StringStatistics)


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
        All int64 and float32 values; None if there are none.
    strings : StringStatistics or None
        All byte strings; None if there are none.
    steps : Distribution or None
        Number of steps per record that has the feature list; None for other features.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> age = compute_statistics(people)["age"]
    >>> age.summary.n_records, age.lengths.max, age.numbers.mean
    (3, 1, 38.0)
    """

    summary: FeatureSummary | FeatureListSummary
    lengths: Distribution
    numbers: Distribution | None = None
    strings: StringStatistics | None = None
    steps: Distribution | None = None

    @property
    def num_records(self) -> int:
        """Number of records with the feature."""
        return self.summary.n_records

    @property
    def kind(self) -> Kind | None:
        """The kind; None if there is none, or several."""
        return self.summary.kind

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All kinds that occur, usually one."""
        found = self.summary
        return tuple((found.values if isinstance(found, FeatureListSummary) else found).lists)

    @property
    def num_values(self) -> int:
        """Number of values in all records."""
        n_numbers = 0 if self.numbers is None else self.numbers.count
        return n_numbers + (0 if self.strings is None else self.strings.lengths.count)

    def __add__(self, other: FeatureStatistics) -> FeatureStatistics:
        """Return the statistics of both sets of records; those of `other` come later."""
        if not isinstance(other, FeatureStatistics):
            return NotImplemented
        return FeatureStatistics(
            self.summary + other.summary,  # type: ignore[operator]
            self.lengths + other.lengths,
            _sum(self.numbers, other.numbers),
            _sum(self.strings, other.strings),
            _sum(self.steps, other.steps),
        )

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
            "records": self.num_records,
            "values": self.num_values,
            "lengths": self.lengths.describe(),
            **{name: part.describe() for name, part in parts.items() if part is not None},
        }


def _sum(one: _Part | None, other: _Part | None) -> _Part | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


@dataclass(frozen=True, slots=True, repr=False)
class Statistics:
    """What some records hold in each feature, and how it is distributed.

    Statistics of shards can be added in the order of the shards, with ``+`` or ``sum``. ``str`` returns a
    table; ``statistics[name]`` is one feature, or feature list.

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

    Notes
    -----
    Immutable; can be pickled, so that other processes may examine shards.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> statistics = compute_statistics(people[:1]) + compute_statistics(people[1:])  # two shards
    >>> statistics.num_records, statistics["age"].numbers.mean
    (3, 38.0)
    >>> statistics["name"].strings.top(1)
    [(b'Ada', 1)]
    """

    num_records: int
    features: Mapping[str, FeatureStatistics]
    feature_lists: Mapping[str, FeatureStatistics] = field(default_factory=dict)
    is_sequence: bool = False

    def __post_init__(self) -> None:
        """Replace the mappings by read-only copies, sorted by name."""
        for name in "features", "feature_lists":
            given = getattr(self, name)
            object.__setattr__(self, name, MappingProxyType(dict(sorted(given.items()))))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the call that creates an equal one."""
        both = dict(self.features), dict(self.feature_lists)
        return (type(self), (self.num_records, *both, self.is_sequence))

    def __getitem__(self, name: str) -> FeatureStatistics:
        """Return one feature, or feature list; the error about an unknown name lists the nearest."""
        for features in self.features, self.feature_lists:
            if name in features:
                return features[name]
        known = [*self.features, *self.feature_lists]
        raise KeyError(f"no feature {name!r}{nearest(name, known)}")

    def __contains__(self, name: object) -> bool:
        """Return whether a record has a feature of that name."""
        return name in self.features or name in self.feature_lists

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the features, then those of the feature lists."""
        yield from self.features
        yield from self.feature_lists

    def __len__(self) -> int:
        """Return the number of features and feature lists."""
        return len(self.features) + len(self.feature_lists)

    def __add__(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of records; those of `other` come later."""
        if not isinstance(other, Statistics):
            return NotImplemented
        return Statistics(
            self.num_records + other.num_records,
            _merged(self.features, other.features),
            _merged(self.feature_lists, other.feature_lists),
            self.is_sequence or other.is_sequence,
        )

    def __radd__(self, other: object) -> Self:
        """Return the same statistics for 0, with which :func:`sum` begins."""
        return self if type(other) is int and other == 0 else NotImplemented

    @property
    def summary(self) -> Summary | SequenceSummary:
        """Kinds, lengths and ranges alone, as :func:`summarize` returns them."""
        features: Any = {name: found.summary for name, found in self.features.items()}
        context = Summary(self.num_records, features)
        if not self.is_sequence:
            return context
        lists: Any = {name: found.summary for name, found in self.feature_lists.items()}
        return SequenceSummary(context, lists)

    def schema(self, *, variable: Variable = "ragged") -> Schema | SequenceSchema:
        """Return a schema to parse such records with, as :meth:`Summary.schema` infers it.

        Examples
        --------
        >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> compute_statistics(people).schema()
        Schema of 2 features
        name  specification    dtype   shape
        ----  ---------------  ------  -----
        age   FixedLenFeature  int64   []
        name  FixedLenFeature  string  []
        """
        return self.summary.schema(variable=variable)

    def describe(self) -> dict[str, Any]:
        """Return all figures as JSON values.

        Examples
        --------
        >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> figures = compute_statistics(people).describe()
        >>> figures["records"], figures["features"]["age"]["numbers"]["mean"]
        (3, 38.0)
        """
        described = {
            name: {key: found.describe() for key, found in features.items()}
            for name, features in self._sections()
        }
        return {"records": self.num_records, **described}

    def _sections(self) -> list[tuple[str, Mapping[str, FeatureStatistics]]]:
        """Return the features by the part of the records that they are in."""
        if not self.is_sequence:
            return [("features", self.features)]
        return [("context", self.features), ("feature_lists", self.feature_lists)]

    def __str__(self) -> str:
        """Return a table with one line per feature."""
        lines = [f"{self.num_records:,} records" if self.num_records != 1 else "1 record"]
        for section, features in self._sections():
            if features:
                rows = [_row(name, found, self.num_records) for name, found in features.items()]
                title = "" if section == "features" else f"\n{section.replace('_', ' ')}\n"
                lines.append(title + "\n".join(aligned([_HEADER, *rows])))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table for notebooks, with a chart per feature."""
        cells, parts = Cells(), []
        for section, features in self._sections():
            rows = (
                (
                    *row[:_N_TEXTS],
                    *(Html(figure.replace(" ", "&nbsp;")) for figure in row[_N_TEXTS:]),
                    chart_of(name, found, cells),
                )
                for name, found in features.items()
                for row in [_row(name, found, self.num_records)]
            )
            captions = ["" if section == "features" else section.replace("_", " ")]
            if any(found.strings is not None for found in features.values()):
                captions.append("B: lengths of byte strings")
            caption = "; ".join(filter(None, captions))
            header = (*_HEADER, "distribution")
            if features:
                parts.append(
                    table(header, rows, n_rows=len(features), noun="feature", caption=caption)
                )
        return panel(f"Statistics of {plural(self.num_records, 'record')}", *parts)


_N_TEXTS = 4
_HEADER = ("name", "kind", "present", "length", "mean", "std", "min", "median", "max")


def _row(name: str, found: FeatureStatistics, num_records: int) -> tuple[str, ...]:
    """Return the cells of one feature; of byte strings, the figures of their lengths."""
    share = found.num_records / max(num_records, 1)
    lengths, strings = found.lengths, found.strings
    low, high = lengths.min or 0, lengths.max or 0
    numbers = found.numbers or (strings.lengths if strings else None)
    figures: tuple[float | None, ...] = (None,) * 5
    if numbers is not None:
        median = numbers.quantile(0.5)
        figures = (numbers.mean, numbers.std, numbers.min, median, numbers.max)
    unit = " B" if found.numbers is None else ""
    return (
        shown_name(name),
        "/".join(kind.label for kind in found.kinds) or "none",
        f"{100 * share:.4g} %",
        f"{low:,}" if low == high else f"{low:,} .. {high:,}",
        *("" if number is None else f"{number:.4g}{unit}" for number in figures),
    )


def _merged(
    ours: Mapping[str, FeatureStatistics], theirs: Mapping[str, FeatureStatistics]
) -> dict[str, FeatureStatistics]:
    merged = dict(ours)
    for name, found in theirs.items():
        merged[name] = merged[name] + found if name in merged else found
    return merged
