"""A feature's statistics as a card: what it is, a chart, and a few figures.

::

    numbers of one or more values   bars of a few integers, or a histogram; range, mean, median
    short byte strings that recur   bars of the most frequent ones
    other byte strings              what they are (JPEG, text, ...), histogram of their sizes

Charts are markup; all other members are plain text, which the template escapes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from tfrecord_lite.apps.markup.cells import Budget
from tfrecord_lite.apps.markup.charts import bars, histogram, short_number
from tfrecord_lite.apps.markup.tables import Html, visible
from tfrecord_lite.apps.statistics import Distribution, StringStatistics
from tfrecord_lite.apps.statistics import statistics as stats
from tfrecord_lite.schema import FeatureSpec, Schema
from tfrecord_lite.sniff import text_of
from tfrecord_lite.texts import human_bytes, plural

_PRECISION = "row_splits_dtype"
"""What a card has no room for: of inferred features it is always the same."""
MAX_CARDS = 4000
"""Most cards of a page; the others are only counted."""

_MANY_CARDS = 300  # from here on charts are coarser, so that more have room
_BINS, _FEW_BINS, _TOP, _MAX_EXAMPLES = 24, 12, 5, 3
_MAX_NAME, _MAX_LABEL = 200, 60
_SHORT_BYTES = 64  # a longer string is not a label
_WRAPPING = 700  # about how many characters there are around all that


@dataclass(frozen=True, slots=True)
class Card:
    """One feature."""

    name: str
    section: str
    """"context" or "feature list"; empty in Examples."""
    kind: str
    """"string", "float32" or "int64"; several, with commas between them; or "unset"."""
    share: float
    """Records that have it, from 0 to 1."""
    presence: str
    lengths: str
    """Values per record, or steps per record and values per step."""
    spec: str
    """The specification that parses it; empty if there is none."""
    chart: Html
    caption: tuple[str, ...]
    """Below the chart: its ends, or what it shows."""
    contents: tuple[str, ...]
    """What byte strings are, with shares."""
    examples: tuple[str, ...]
    """Some short texts, if there are no bars of them."""
    facts: tuple[tuple[str, str], ...]
    """Names and values of figures."""


def make_cards(
    statistics: stats.Statistics, schemas: Sequence[Schema], chosen: Collection[str], budget: Budget
) -> list[Card]:
    """Return a card per chosen feature, those of feature lists last, until the budget is spent.

    `schemas` have the specifications of features, and of feature lists.
    """
    sections = ("context", "feature list") if statistics.is_sequence else ("",)
    groups = zip(sections, (statistics.features, statistics.feature_lists), schemas, strict=False)
    n_bins = _FEW_BINS if len(statistics) > _MANY_CARDS else _BINS
    cards: list[Card] = []
    for section, group, schema in groups:
        for name in filter(chosen.__contains__, group):
            spec = spec_code(schema[name], _PRECISION) if name in schema else ""
            card = _card(section, name, group[name], statistics.num_records, spec, n_bins)
            n_characters = len(card.chart) + 2 * len(card.name) + len(spec) + _WRAPPING
            if len(cards) == MAX_CARDS or not budget.take(card_characters=n_characters):
                return cards
            cards.append(card)
    return cards


def _card(
    section: str, name: str, feature: stats.FeatureStatistics, n_all: int, spec: str, n_bins: int
) -> Card:
    dtype = stats.time_dtype(name, feature)
    chart, caption = _chart(feature, name, n_bins, dtype)
    strings = feature.strings
    examples = _examples(strings) if strings and (caption or not chart) else ()
    if examples:  # which say more than the sizes of short texts
        chart, caption = "", ()
    count = feature.num_records
    presence = "in every record" if count == n_all else "in no record"
    if 0 < count < n_all:
        presence = f"in {stats.percent(count / n_all)} of records"
    lengths = _counted(feature.lengths, "value")
    if feature.steps is not None:
        lengths = f"{_counted(feature.steps, 'step')}, {lengths} each"
    return Card(
        name=shortened(name, _MAX_NAME) or repr(name),
        section=section,
        kind=feature.type_name or "unset",
        share=count / n_all if n_all else 0.0,
        presence=presence,
        lengths=lengths,
        spec=spec,
        chart=Html(chart),
        caption=caption,
        contents=tuple(_contents(strings)) if strings else (),
        examples=examples,
        facts=tuple(_facts(feature, dtype, has_range=bool(caption))),
    )


def _counted(numbers: Distribution, noun: str) -> str:
    """Return how many there are of something: ``1 value``, ``2 to 5 values``."""
    low, high = numbers.min or 0, numbers.max or 0
    text = plural(int(high), noun)
    return text if low == high else f"{low:,} to {text}"


# ---------------------------------------------------------------------------------- charts


def _chart(
    feature: stats.FeatureStatistics, name: str, n_bins: int, dtype: str | None
) -> tuple[str, tuple[str, ...]]:
    """Return the chart that says most about a feature, and its caption."""
    shown = shortened(name, _MAX_LABEL)
    numbers, strings = feature.numbers, feature.strings
    if numbers is not None:
        if numbers.is_integer and numbers.is_exact and 1 < numbers.values.size <= _TOP:
            values = numbers.values if dtype is None else numbers.values.astype(dtype)
            few = zip(map(str, values), numbers.counts.tolist(), strict=True)
            return bars(few, f"Values of {shown}", numbers.count), ()
        title, sized = f"Histogram of the values of {shown}", numbers
        ends = _figures({"min": numbers.min or 0, "max": numbers.max or 0}, dtype)
        caption = tuple(ends.values())
    elif strings is not None:
        if labels := _labels(strings):
            title = f"Most frequent values of {shown}"
            return bars(labels, title, strings.lengths.count), ()
        title, sized = f"Histogram of the sizes of {shown}", strings.lengths
        low, high = _sizes(sized)
        caption = low, "bytes per value", high
    else:
        return "", ()
    counts, edges = sized.histogram(n_bins)
    if counts.size < 2:  # the figures say so
        return "", ()
    is_integer = sized.is_integer and edges[0] % 1 != 0 and dtype is None
    text_of = stats.edge_text(dtype)
    return histogram(counts, edges, title, is_integer=is_integer, text_of=text_of), caption


def _figures(figures: Mapping[str, float], dtype: str | None) -> dict[str, str]:
    """Write numbers of a distribution: times as dates, an integer exactly, as the table has it."""
    if dtype is not None:
        return stats.figure_texts(figures, dtype)
    return {
        name: str(figure) if isinstance(figure, int) else short_number(figure)
        for name, figure in figures.items()
    }


def _labels(strings: StringStatistics) -> list[tuple[str, int]]:
    """Return the most frequent values as text; empty if none is frequent."""
    texts = [(text_of(value), count) for value, count in strings.top(_TOP)]
    labels = [(shortened(t, _MAX_LABEL) or "(empty)", n) for t, n in texts if t is not None]
    if len(labels) < len(texts):
        return []
    is_telling = strings.num_distinct == len(labels) or any(count > 1 for _, count in labels)
    return labels if is_telling else []


def _examples(strings: StringStatistics) -> tuple[str, ...]:
    """Return some values as text; none if they are not all short texts."""
    if strings.contents.keys() - {"text", "empty"} or (strings.lengths.max or 0) > _SHORT_BYTES:
        return ()
    texts = (text_of(value) for value in strings.examples)
    return tuple(shortened(text, _MAX_LABEL) for text in texts if text)[:_MAX_EXAMPLES]


# ---------------------------------------------------------------------------------- figures


def _contents(strings: StringStatistics) -> Iterator[str]:
    total = len(strings.looked_at)
    for content, count in list(strings.contents.items())[:4]:
        share = "" if count == total else f" {stats.percent(count / total)}"
        yield visible(content) + share


def _facts(
    feature: stats.FeatureStatistics, dtype: str | None, *, has_range: bool
) -> Iterator[tuple[str, str]]:
    """Yield names and figures; the range only if it is not below a chart."""
    numbers, strings = feature.numbers, feature.strings
    if numbers is not None:
        low, high = numbers.min, numbers.max
        figures = {"min": low, "median": numbers.quantile(0.5), "mean": numbers.mean, "max": high}
        if low is None:
            yield "values", "all NaN"
        if low == high:
            figures = {"always": low}
        hidden = {"min", "max"} if has_range else set()
        known = {n: figure for n, figure in figures.items() if figure is not None}
        texts = _figures(known, dtype)
        yield from ((name, text) for name, text in texts.items() if name not in hidden)
        zeros = 0 if low == high else numbers.num_zeros
        for name, count in (
            ("zeros", zeros),
            ("NaN", numbers.num_nan),
            ("infinite", numbers.num_inf),
        ):
            if count:
                yield name, stats.percent(count / numbers.count)
    if strings is not None:
        if strings.num_distinct is not None:
            yield "distinct", f"{strings.num_distinct:,}"
        if not has_range:
            low_size, high_size = _sizes(strings.lengths)
            yield "size", low_size if low_size == high_size else f"{low_size} to {high_size}"


def _sizes(lengths: Distribution) -> tuple[str, str]:
    return human_bytes(int(lengths.min or 0)), human_bytes(int(lengths.max or 0))


def spec_code(spec: FeatureSpec, left_out: str = "") -> str:
    """Return a specification as Python that creates it, without what is the default, or is left out.

    >>> spec_code(FixedLenFeature([2], "float32"))
    "FixedLenFeature([2], 'float32')"
    """
    parts = []
    for item in fields(spec):  # type: ignore[arg-type]
        value = getattr(spec, item.name)
        if item.name in ("shape", "dtype"):
            parts.append(repr(spec.dtype_name if item.name == "dtype" else list(value)))
        elif item.name != left_out and repr(value) != repr(item.default):
            parts.append(f"{item.name}={value.name if isinstance(value, np.dtype) else value!r}")
    return f"{type(spec).__name__}({', '.join(parts)})"


def shortened(text: str, limit: int) -> str:
    """Return the first characters of a text on one line, with an ellipsis if there are more."""
    line = " ".join(visible(text[: 4 * limit]).split())
    return line[:limit] + "…" if len(line) > limit or len(text) > 4 * limit else line
