"""A feature's statistics as a card: what it is, a chart, and a few figures.

::

    numbers of one or more values   histogram of the values; range, mean, median
    short byte strings that recur   bars of the most frequent ones
    other byte strings              what they are (JPEG, text, ...), histogram of their sizes

The charts come from :mod:`tfrecord_lite.apps.markup.charts`, which escapes; all other members are plain
text, which the template escapes.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.apps.markup.charts import bars, histogram, short_numbers
from tfrecord_lite.apps.markup.tables import Html, visible
from tfrecord_lite.apps.statistics.rows import percent
from tfrecord_lite.errors import human_bytes
from tfrecord_lite.sniff import text_of

if TYPE_CHECKING:
    from tfrecord_lite.apps.markup.pictures import Budget
    from tfrecord_lite.apps.statistics import (
        Distribution,
        FeatureStatistics,
        Statistics,
        StringStatistics,
    )

MAX_CARDS = 4000
"""Most cards of a page; the others are only counted."""

_MANY_CARDS = 300  # from here on charts are coarser
_BINS, _FEW_BINS = 24, 12
_TOP, _FEW_TOP = 5, 3
_MAX_NAME, _MAX_LABEL = 200, 60
_SHORT_BYTES = 64  # a longer string is not a label
_WRAPPING, _WRAPPED = 400, 20  # characters around a card, and around each text in it
_MAX_EXACT = 1 << 53  # of integers in float64


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

    @property
    def n_characters(self) -> int:
        """About how many characters its markup has."""
        texts = *self.caption, *self.contents, *self.examples, *itertools.chain(*self.facts)
        shown = 2 * len(self.name) + len(self.spec) + sum(map(len, texts)) + _WRAPPED * len(texts)
        return len(self.chart) + shown + _WRAPPING


def make_cards(
    statistics: Statistics, specs: Mapping[str, str], chosen: Collection[str], budget: Budget
) -> list[Card]:
    """Return a card per chosen feature, those of feature lists last, until the budget is spent.

    `specs` are by section and name; without names in `chosen`, all features have a card.
    """
    groups = [("context" if statistics.is_sequence else "", statistics.features)]
    groups.append(("feature list", statistics.feature_lists))
    is_brief = len(statistics) > _MANY_CARDS
    made: list[Card] = []
    for section, group in groups:
        for name, found in group.items():
            if chosen and name not in chosen:
                continue
            spec = specs.get(f"{section}/{name}", "")
            card = _card(section, name, found, statistics.num_records, spec, is_brief=is_brief)
            if len(made) == MAX_CARDS or not budget.take(card_characters=card.n_characters):
                return made
            made.append(card)
    return made


def _card(
    section: str, name: str, found: FeatureStatistics, n_records: int, spec: str, *, is_brief: bool
) -> Card:
    chart, caption = _chart(found, name, is_brief=is_brief)
    strings = found.strings
    examples = _examples(strings) if strings and (caption or not chart) else ()
    if examples:  # which say more than the sizes of short texts
        chart, caption = "", ()
    count = found.num_records
    presence = "in every record" if count == n_records else "in no record"
    if 0 < count < n_records:
        presence = f"in {percent(count / n_records)} of records"
    lengths = f"{_span(found.lengths)} {'value' if found.lengths.max == 1 else 'values'}"
    if found.steps is not None:
        noun = "step" if found.steps.max == 1 else "steps"
        lengths = f"{_span(found.steps)} {noun}, {lengths} each"
    return Card(
        name=shortened(name, _MAX_NAME) or repr(name),
        section=section,
        kind=found.type_name or "unset",
        share=count / n_records if n_records else 0.0,
        presence=presence,
        lengths=lengths,
        spec=spec,
        chart=Html(chart),
        caption=caption,
        contents=tuple(_contents(strings)) if strings else (),
        examples=examples,
        facts=tuple(_facts(found, has_range=bool(caption))),
    )


def _span(numbers: Distribution) -> str:
    low, high = numbers.min or 0, numbers.max or 0
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


# ---------------------------------------------------------------------------------- charts


def _chart(found: FeatureStatistics, name: str, *, is_brief: bool) -> tuple[str, tuple[str, ...]]:
    """Return the chart that tells most about a feature, and what stands below it."""
    shown = shortened(name, _MAX_LABEL)
    n_bins = _FEW_BINS if is_brief else _BINS
    n_bars = _FEW_TOP if is_brief else _TOP
    numbers, strings = found.numbers, found.strings
    if numbers is not None:
        few = _few_values(numbers, n_bars)
        if few and numbers.min != numbers.max:  # otherwise the figures say so
            return bars(few, f"Values of {shown}", total=numbers.count), ()
        ends = [numbers.min or 0, numbers.max or 0]
        caption = tuple(_figures(numbers, ends))
        return _histogram(numbers, n_bins, f"Histogram of the values of {shown}", caption)
    if strings is None or not strings.lengths.count:
        return "", ()
    labels = _labels(strings, n_bars)
    if labels:
        total = strings.lengths.count
        return bars(labels, f"Most frequent values of {shown}", total=total), ()
    low, high = (human_bytes(int(n or 0)) for n in (strings.lengths.min, strings.lengths.max))
    title = f"Histogram of the sizes of {shown}"
    return _histogram(strings.lengths, n_bins, title, (low, "bytes per value", high))


def _few_values(numbers: Distribution, n_bars: int) -> list[tuple[str, int]]:
    """Return integers and their counts; empty if there are more than `n_bars`."""
    lows, highs, counts = numbers.buckets()
    is_few = numbers.is_integer and len(counts) <= n_bars and (lows == highs).all()
    if not is_few or max(abs(lows[0]), abs(lows[-1])) > _MAX_EXACT:
        return []
    return [(f"{v:.0f}", count) for v, count in zip(lows, counts.tolist(), strict=True)]


def _histogram(
    numbers: Distribution, n_bins: int, title: str, caption: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Return a histogram of numbers that differ; its bins have equally many integers, if these are few."""
    low, high = numbers.min, numbers.max
    if low is None or high is None or low == high:
        return "", ()
    if numbers.is_integer and high - low < 1 << 20:
        lows, highs, counts = numbers.buckets()
        if (lows == highs).all():
            width = -(-int(high - low + 1) // n_bins)
            places = (lows - low).astype(np.int64) // width
            binned = np.bincount(places, weights=counts).astype(np.int64)
            edges = int(low) + width * np.arange(binned.size + 1)
            return histogram(binned, edges, title, is_integer=True), caption
    return histogram(*numbers.histogram(n_bins), title), caption


def _figures(numbers: Distribution, values: Iterable[float]) -> list[str]:
    """Write numbers of a distribution: integers exactly, as the table has them."""
    figures = list(values)
    texts = short_numbers(map(float, figures))
    return [
        str(value) if numbers.is_integer and isinstance(value, int) else text
        for value, text in zip(figures, texts, strict=True)
    ]


def _labels(strings: StringStatistics, n_labels: int) -> list[tuple[str, int]]:
    """Return the most frequent values as text; empty if they tell nothing."""
    labels = []
    for value, count in strings.top(n_labels):
        text = text_of(value) if len(value) <= _SHORT_BYTES else None
        if text is None:
            return []
        labels.append((shortened(text, _MAX_LABEL) or "(empty)", count))
    is_telling = strings.num_distinct == len(labels) or any(count > 1 for _, count in labels)
    return labels if is_telling else []


def _examples(strings: StringStatistics) -> tuple[str, ...]:
    """Return some values as text; none if they are not all short texts."""
    if strings.contents.keys() - {"text", "empty"} or (strings.lengths.max or 0) > _SHORT_BYTES:
        return ()
    texts = (text_of(value) for value in strings.examples)
    return tuple(shortened(text, _MAX_LABEL) for text in texts if text)[:_FEW_TOP]


# ---------------------------------------------------------------------------------- figures


def _contents(strings: StringStatistics) -> Iterator[str]:
    total = sum(strings.contents.values())
    for content, count in sorted(strings.contents.items(), key=lambda item: -item[1])[:4]:
        share = "" if count == total else f" {percent(count / total)}"
        yield f"{visible(content)}{share}"


def _facts(found: FeatureStatistics, *, has_range: bool) -> Iterator[tuple[str, str]]:
    """Yield names and figures; the range only if it is not below a chart."""
    numbers, strings = found.numbers, found.strings
    if numbers is not None:
        low, high = numbers.min, numbers.max
        if low is None or high is None:
            yield "values", "none" if not numbers.count else "all NaN"
        elif low == high:
            yield "always", _figures(numbers, [low])[0]
        else:
            figures = {"min": low, "median": numbers.quantile(0.5), "mean": numbers.mean}
            known = {
                n: value for n, value in (figures | {"max": high}).items() if value is not None
            }
            for name, text in zip(known, _figures(numbers, known.values()), strict=True):
                if not (has_range and name in {"min", "max"}):
                    yield name, text
        n_zeros = numbers.num_zeros if low != high else 0
        for name, count in (
            ("zeros", n_zeros),
            ("NaN", numbers.num_nan),
            ("infinite", numbers.num_inf),
        ):
            if count:
                yield name, percent(count / numbers.count)
    if strings is not None:
        if strings.num_distinct is not None and strings.lengths.count:
            yield "distinct", f"{strings.num_distinct:,}"
        if strings.lengths.count and not has_range:
            few, many = (
                human_bytes(int(n or 0)) for n in (strings.lengths.min, strings.lengths.max)
            )
            yield "size", few if few == many else f"{few} to {many}"


def shortened(text: str, limit: int) -> str:
    """Return the first characters of a text on one line, with an ellipsis if there are more."""
    line = " ".join(visible(text[: 4 * limit]).split())
    is_cut = len(line) > limit or len(text) > 4 * limit
    return line[:limit] + "…" if is_cut else line
