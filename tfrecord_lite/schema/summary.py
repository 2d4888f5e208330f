"""Summaries of data: counts, lengths and ranges of values per feature, from which schemas are inferred.

Summaries of shards can be added; schemas cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import features as specs
from tfrecord_lite.schema.features import FeatureSpec, FixedLenFeature, RaggedFeature
from tfrecord_lite.schema.kinds import Kind
from tfrecord_lite.schema.schema import Original, Schema, SchemaItem, SequenceSchema
from tfrecord_lite.schema.text import json_value, shortest
from tfrecord_lite.texts import abridged, aligned, nearest, plural, repr_html, shown_name

if TYPE_CHECKING:
    from tfrecord_lite.block import Place

Variable: TypeAlias = Literal["ragged", "varlen", "padded"]
"""The specification to infer for a feature of varying length."""

_VARIABLE: dict[str, Callable[[Kind], FeatureSpec]] = {
    "ragged": lambda kind: RaggedFeature(kind.dtype, row_splits_dtype=np.int64),
    "varlen": lambda kind: specs.VarLenFeature(kind.dtype),
    "padded": lambda kind: specs.FixedLenSequenceFeature([], kind.dtype, allow_missing=True),
}


@dataclass(frozen=True, slots=True)
class ListSummary:
    """The lists of one kind that a feature holds in some records.

    Parameters
    ----------
    n_records : int
        Number of records with the feature in this kind; at least 1.
    lengths : tuple of two int
        Smallest and largest number of values per record.
    values : tuple of two int or float, optional
        Smallest and largest value, without NaN; for byte strings, their lengths. None if there are no values.
    first : Place
        The first record with the feature in this kind.

    Examples
    --------
    >>> (ages,) = summarize(encode_examples({"age": [36, 41, None]}))["age"].lists.values()
    >>> ages.n_records, ages.lengths, ages.values, ages.first.index
    (2, (1, 1), (36, 41), 0)
    """

    n_records: int
    lengths: tuple[int, int]
    values: tuple[float, float] | tuple[int, int] | None
    first: Place

    def __add__(self, other: ListSummary) -> ListSummary:
        """Return the summary of both sets of records; the records of `other` follow."""
        if not isinstance(other, ListSummary):
            return NotImplemented
        (low, high), (least, most) = self.lengths, other.lengths
        values = [pair for pair in (self.values, other.values) if pair is not None]
        both = (min(low for low, _ in values), max(high for _, high in values)) if values else None
        n_records = self.n_records + other.n_records
        return ListSummary(n_records, (min(low, least), max(high, most)), both, self.first)


@dataclass(frozen=True, slots=True)
class FeatureSummary:
    """What some records hold in one feature.

    Parameters
    ----------
    lists : mapping of Kind to ListSummary
        One item for each kind that occurs; none for a feature that never has a kind (rule X3).

    Examples
    --------
    >>> age = summarize(encode_examples({"age": [36, 41, None]}))["age"]
    >>> age.n_records, age.kind.name
    (2, 'INT64')
    """

    lists: Mapping[Kind, ListSummary]

    def __post_init__(self) -> None:
        """Sort the lists by kind."""
        object.__setattr__(self, "lists", dict(sorted(self.lists.items())))

    def __add__(self, other: FeatureSummary) -> FeatureSummary:
        """Return the summary of both sets of records; the records of `other` follow."""
        if not isinstance(other, FeatureSummary):
            return NotImplemented
        return FeatureSummary(_added(self.lists, other.lists))

    @property
    def n_records(self) -> int:
        """Number of records with the feature."""
        return sum(lists.n_records for lists in self.lists.values())

    @property
    def kind(self) -> Kind | None:
        """The kind; None if there is none, or several."""
        return next(iter(self.lists)) if len(self.lists) == 1 else None

    @property
    def lengths(self) -> tuple[int, int]:
        """Smallest and largest number of values in the records with the feature."""
        every = [lists.lengths for lists in self.lists.values()] or [(0, 0)]
        return min(low for low, _ in every), max(high for _, high in every)

    @property
    def is_fixed(self) -> bool:
        """Whether all records with the feature have the same number of values, at least 1."""
        low, high = self.lengths
        return 0 < low == high


class Summary(Mapping[str, FeatureSummary]):
    """An immutable mapping of names to what some records hold in each feature.

    Summaries of shards can be pickled, and added in the order of the shards, with ``+`` or ``sum``.

    Parameters
    ----------
    n_records : int
        Number of records that were examined.
    features : mapping of str to FeatureSummary

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, None]})
    >>> print(summarize(people[:1]) + summarize(people[1:]))  # as of two shards
    3 records, 2 features
    name  kind    records     length  values
    ----  ------  ----------  ------  ------------
    age   int64   2 (66.7 %)  1       36 .. 41
    name  string  all         1       3 .. 5 bytes
    """

    __slots__ = ("_features", "n_records")

    def __init__(self, n_records: int, features: Mapping[str, FeatureSummary]) -> None:
        self.n_records: int = n_records
        self._features = dict(features)

    def __getitem__(self, name: str) -> FeatureSummary:
        """Return the summary of one feature."""
        try:
            return self._features[name]
        except KeyError:
            raise KeyError(f"no feature {name!r}{nearest(name, self)}") from None

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._features)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self._features)

    def __eq__(self, other: object) -> bool:
        """Compare all counts and ranges in any order."""
        if not isinstance(other, Summary):
            return NotImplemented
        return self.n_records == other.n_records and self._features == other._features

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Summary) -> Self:
        """Return the summary of both sets of records; the records of `other` follow."""
        if not isinstance(other, Summary):
            return NotImplemented
        return type(self)(self.n_records + other.n_records, _added(self, other))

    def __radd__(self, other: object) -> Self:
        """Return the same summary for 0, with which :func:`sum` begins."""
        return self if type(other) is int and other == 0 else NotImplemented

    def schema(
        self,
        *,
        variable: Variable = "ragged",
        defaults: Mapping[str, Any] | None = None,
        names: Iterable[str] | None = None,
    ) -> Schema:
        """Return a schema to parse such records with.

        Parameters
        ----------
        variable : {"ragged", "varlen", "padded"}, optional
            For features whose length varies, or that some record lacks: RaggedFeature,
            VarLenFeature or FixedLenSequenceFeature.
        defaults : mapping of str to value, optional
            For features of one length that some records lack: they become FixedLenFeature.
        names : iterable of str, optional
            The features of the schema; the others may even be of several kinds. By default all.

        Returns
        -------
        Schema
            FixedLenFeature for a feature that every record has with the same number of
            values, at least one: of shape [] for 1, otherwise [n]. With "ragged", a feature of
            one length that some record lacks becomes a masked array. A feature that never has a kind is omitted.

        Raises
        ------
        InvalidArgumentError
            ``WRONG_KIND`` for a feature of several kinds, with the place of the first
            record of the rarer kind. ``BAD_ARGUMENT`` for an unknown `variable`, a default
            that is not possible, and a summary without features.
        KeyError
            If `names` has a feature that does not exist.

        Examples
        --------
        >>> people = encode_examples({"age": [36, 41, None]})
        >>> summarize(people).schema(defaults={"age": -1})
        Schema of 1 feature
        name  specification    dtype  shape  default
        ----  ---------------  -----  -----  -------
        age   FixedLenFeature  int64  []     -1
        """
        if variable not in _VARIABLE:
            raise argument_error(f"variable is {variable!r}, expected {', '.join(_VARIABLE)}")
        defaults = {} if defaults is None else defaults
        for name in defaults:
            if name not in self._features:
                detail = f"no such feature for this default{nearest(name, self)}"
                raise argument_error(detail, key=name)
        if not any(summary.lists for summary in self._features.values()):
            what = "no record has a feature with a value"
            held = what if self.n_records else "there are no records"
            raise argument_error(f"cannot infer a schema: {held}")
        features = self._features if names is None else {name: self[name] for name in names}
        filled = {name: summary for name, summary in features.items() if summary.lists}
        items = {n: self._item(n, own, variable, defaults) for n, own in filled.items()}
        return Schema.of_items(items)

    def _item(
        self, name: str, summary: FeatureSummary, variable: Variable, defaults: Mapping[str, Any]
    ) -> SchemaItem:
        """Return the specification of one feature, and the shape that the records with it have."""
        if summary.kind is None:
            raise _several_kinds_error(name, summary, "record")
        low, high = summary.lengths
        if name in defaults and not summary.is_fixed:
            detail = f"no default is possible, as the length varies from {low} to {high}"
            raise argument_error(detail, key=name)
        if not summary.is_fixed or (summary.n_records < self.n_records and name not in defaults):
            original = None
            if summary.is_fixed and variable == "ragged":
                original = Original(summary.kind.label, _shape(summary), missing=True)
            return SchemaItem(_VARIABLE[variable](summary.kind), original)
        default = defaults.get(name)
        if isinstance(default, bytes | str):
            default = [default] * high
        return SchemaItem(FixedLenFeature(_shape(summary), summary.kind.dtype, default), None)

    def describe(self) -> dict[str, Any]:
        """Return all counts and ranges as JSON values.

        Examples
        --------
        >>> summarize(encode_examples({"age": [36, 41, None]})).describe()["features"]["age"]
        {'int64': {'records': 2, 'min_length': 1, 'max_length': 1, 'min': 36, 'max': 41}}
        """
        features = {name: _describe(summary) for name, summary in self._features.items()}
        return {"records": self.n_records, "features": features}

    def __str__(self) -> str:
        """Return a table with one line per feature."""
        title = f"{plural(self.n_records, 'record')}, {plural(len(self), 'feature')}"
        lines = [line for _, rows in summary_rows(self) for line in aligned(rows)]
        return "\n".join([title, *lines])

    def __repr__(self) -> str:
        """Return the same without the middle, if it is long."""
        return abridged(str(self))

    _repr_html_ = repr_html


@dataclass(frozen=True, slots=True)
class FeatureListSummary:
    """What some SequenceExamples hold in one feature list.

    Parameters
    ----------
    n_records : int
        Number of records with the list, with or without steps; at least 1.
    n_steps : int
        Number of steps in all of them.
    steps : tuple of two int
        Smallest and largest number of steps per record with the list.
    values : FeatureSummary
        The values of the steps, each of which counts as a record does in the summary of a feature.

    Examples
    --------
    >>> rows = [{"feature_lists": {"words": [["a"], ["b", "c"]]}}, {"feature_lists": {"words": []}}]
    >>> words = summarize(encode_sequence_examples(rows)).feature_lists["words"]
    >>> words.n_steps, words.steps, words.values.lengths
    (2, (0, 2), (1, 2))
    """

    n_records: int
    n_steps: int
    steps: tuple[int, int]
    values: FeatureSummary

    def __add__(self, other: FeatureListSummary) -> FeatureListSummary:
        """Return the summary of both sets of records; the records of `other` follow."""
        if not isinstance(other, FeatureListSummary):
            return NotImplemented
        n_records, n_steps = self.n_records + other.n_records, self.n_steps + other.n_steps
        steps = min(self.steps[0], other.steps[0]), max(self.steps[1], other.steps[1])
        return FeatureListSummary(n_records, n_steps, steps, self.values + other.values)

    @property
    def kind(self) -> Kind | None:
        """The kind; None if there is none, or several."""
        return self.values.kind

    @property
    def is_fixed(self) -> bool:
        """Whether all steps have the same number of values, at least 1."""
        return self.values.is_fixed and self.values.n_records == self.n_steps


@dataclass(frozen=True, slots=True, repr=False)
class SequenceSummary:
    """What some SequenceExamples hold in their contexts and in each feature list.

    Summaries of shards can be added as for :class:`Summary`.

    Parameters
    ----------
    context : Summary
    feature_lists : mapping of str to FeatureListSummary

    Examples
    --------
    >>> people = encode_sequence_examples({"age": [36, 41, 37]}, {"words": [["a"], ["b", "c"], []]})
    >>> print(summarize(people))
    3 records, 1 context feature, 1 feature list
    <BLANKLINE>
    context
    name  kind   records  length  values
    ----  -----  -------  ------  --------
    age   int64  all      1       36 .. 41
    <BLANKLINE>
    feature lists
    name   kind    records  steps   length  values
    -----  ------  -------  ------  ------  ------
    words  string  all      0 .. 2  1       1 byte
    """

    context: Summary
    feature_lists: Mapping[str, FeatureListSummary]

    def __add__(self, other: SequenceSummary | Summary) -> SequenceSummary:
        """Return the summary of both sets of records; those of `other`, maybe without feature lists, follow."""
        if isinstance(other, Summary):
            other = SequenceSummary(other, {})
        if not isinstance(other, SequenceSummary):
            return NotImplemented
        lists = _added(self.feature_lists, other.feature_lists)
        return SequenceSummary(self.context + other.context, lists)

    def __radd__(self, other: object) -> SequenceSummary:
        """Return the same summary for 0, with which :func:`sum` begins; or add to a :class:`Summary`."""
        if isinstance(other, Summary):
            return SequenceSummary(other, {}) + self
        return self if type(other) is int and other == 0 else NotImplemented

    @property
    def n_records(self) -> int:
        """Number of records that were examined."""
        return self.context.n_records

    def schema(
        self,
        *,
        variable: Variable = "ragged",
        defaults: Mapping[str, Any] | None = None,
        names: Iterable[str] | None = None,
    ) -> SequenceSchema:
        """Return a schema to parse such records with.

        Parameters
        ----------
        variable : {"ragged", "varlen"}, optional
            As for :meth:`Summary.schema`, also for lists whose steps differ in length.
        defaults : mapping of str to value, optional
            For features of the context.
        names : iterable of str, optional
            The features of the schema by their paths, such as ``"context/age"``. By default all.

        Returns
        -------
        SequenceSchema
            The context as :meth:`Summary.schema` has it. FixedLenSequenceFeature for a list whose
            steps all have the same number of values, at least one, with ``allow_missing=True``
            if some record lacks the list. What never has a kind is omitted.

        Raises
        ------
        InvalidArgumentError
            As :meth:`Summary.schema`.

        Examples
        --------
        >>> people = encode_sequence_examples({}, {"words": [["a"], ["b", "c"], []]})
        >>> summarize(people).schema().feature_lists["words"]
        FixedLenSequenceFeature(shape=(), dtype='string', allow_missing=False, default_value=None)
        """
        if variable not in ("ragged", "varlen"):
            detail = f"variable is {variable!r}, expected ragged, varlen for SequenceExamples"
            raise argument_error(detail)
        chosen = None if names is None else set(names)
        in_context = chosen and [name for name in self.context if f"context/{name}" in chosen]
        context = Schema({})
        if defaults or any(summary.lists for summary in self.context.values()):
            context = self.context.schema(variable=variable, defaults=defaults, names=in_context)
        lists = {
            name: self._spec(name, summary, variable)
            for name, summary in self.feature_lists.items()
            if summary.values.lists and (chosen is None or f"feature_lists/{name}" in chosen)
        }
        if not context and not lists and chosen is None:
            raise argument_error("cannot infer a schema: no record has a feature with a value")
        return SequenceSchema(context, lists)

    def _spec(self, name: str, summary: FeatureListSummary, variable: Variable) -> FeatureSpec:
        if summary.kind is None:
            raise _several_kinds_error(name, summary.values, "step")
        if not summary.is_fixed:
            return _VARIABLE[variable](summary.kind)
        is_optional = summary.n_records < self.n_records
        shape = _shape(summary.values)
        return specs.FixedLenSequenceFeature(shape, summary.kind.dtype, allow_missing=is_optional)

    def describe(self) -> dict[str, Any]:
        """Return all counts and ranges as JSON values.

        Examples
        --------
        >>> rows = [{"feature_lists": {"words": [["a"], ["b"]]}}]
        >>> words = summarize(encode_sequence_examples(rows)).describe()["feature_lists"]["words"]
        >>> words["steps"], words["kinds"]["string"]["records"]
        (2, 2)
        """
        lists = {}
        for name, own in self.feature_lists.items():
            steps = {"steps": own.n_steps, "min_steps": own.steps[0], "max_steps": own.steps[1]}
            lists[name] = {"records": own.n_records, **steps, "kinds": _describe(own.values)}
        context = self.context.describe()["features"]
        return {"records": self.n_records, "context": context, "feature_lists": lists}

    def __str__(self) -> str:
        """Return a table of the context, and one of the lists."""
        n_context, n_lists = len(self.context), len(self.feature_lists)
        counts = plural(n_context, "context feature"), plural(n_lists, "feature list")
        title = ", ".join([plural(self.n_records, "record"), *counts])
        tables = ("\n".join([part, *aligned(rows)]) for part, rows in summary_rows(self))
        return "\n\n".join([title, *tables])

    def __repr__(self) -> str:
        """Return the same without the middle, if it is long."""
        return abridged(str(self))

    _repr_html_ = repr_html


def summary_rows(summary: Summary | SequenceSummary) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return a table for each part that has features: its name, and rows of cells, the header first."""
    n_records = summary.n_records
    context = summary if isinstance(summary, Summary) else summary.context
    rows: list[tuple[str, ...]] = [("name", "kind", "records", "length", "values")]
    for name, own in context.items():
        kinds, *ranges = _cells(own)
        rows.append((shown_name(name), kinds, _share(own.n_records, n_records), *ranges))
    if isinstance(summary, Summary):
        return [("", rows)] if context else []
    steps: list[tuple[str, ...]] = [("name", "kind", "records", "steps", "length", "values")]
    for name, one in summary.feature_lists.items():
        kinds, *ranges = _cells(one.values)
        share = _share(one.n_records, n_records)
        steps.append((shown_name(name), kinds, share, _range(one.steps), *ranges))
    return [part for part in (("context", rows), ("feature lists", steps)) if len(part[1]) > 1]


def _added(ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[Any, Any]:
    return {**ours, **{key: ours[key] + one if key in ours else one for key, one in theirs.items()}}


def _cells(summary: FeatureSummary) -> tuple[str, str, str]:
    values = []
    for kind, lists in summary.lists.items():
        if lists.values:
            noun = " byte" if lists.values == (1, 1) else " bytes"
            values.append(_range(lists.values) + noun * (kind is Kind.BYTES))
    kinds = "/".join(kind.label for kind in summary.lists) or "none"
    return kinds, _range(summary.lengths) if summary.lists else "", "; ".join(values)


def _share(count: int, n_records: int) -> str:
    """Return the cell with the number of records that have something."""
    return "all" if count == n_records else f"{count:,} ({100 * count / n_records:.1f} %)"


def _several_kinds_error(name: str, summary: FeatureSummary, noun: str) -> InvalidArgumentError:
    """Return the error about a feature of several kinds, at the first record of the rarer one."""
    places = sorted(summary.lists.items(), key=lambda item: item[1].n_records, reverse=True)
    (most, lists), (other, odd), *_ = places
    detail = f"holds {other.label} here but {most.label} in "
    detail += f"{plural(lists.n_records, f'other {noun}')}; a feature has one kind, though "
    detail += "TFRecordReader(path).examples() gives each record as it is"
    return odd.first.locate(InvalidArgumentError(Reason.WRONG_KIND, key=name, detail=detail))


def _shape(summary: FeatureSummary) -> list[int]:
    """Return the shape of a feature of one length; [] for single values."""
    length = summary.lengths[1]
    return [] if length == 1 else [length]


def _describe(summary: FeatureSummary) -> dict[str, Any]:
    described = {}
    for kind, lists in summary.lists.items():
        low, high = map(json_value, map(shortest, lists.values or (None, None)))
        lengths = {"min_length": lists.lengths[0], "max_length": lists.lengths[1]}
        described[kind.label] = {"records": lists.n_records, **lengths, "min": low, "max": high}
    return described


def _range(pair: tuple[float, float]) -> str:
    """Return two numbers, or one if they are equal; floats with the digits of a float32."""
    low, high = (f"{n:,}" if isinstance(n, int) else str(np.float32(n)) for n in pair)
    return low if low == high else f"{low} .. {high}"
