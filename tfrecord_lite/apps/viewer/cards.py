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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.apps.markup.charts import bars, histogram, short_numbers
from tfrecord_lite.apps.markup.tables import Html, visible
from tfrecord_lite.errors import human_bytes
from tfrecord_lite.sniff import text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from tfrecord_lite.apps.markup.cells import Budget
    from tfrecord_lite.apps.statistics import (
        Distribution,
        FeatureStatistics,
        Statistics,
        StringStatistics,
    )
    from tfrecord_lite.arrays import AnyArray

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
    n_cards = sum(len(group) for _, group in groups)
    is_brief = n_cards > _MANY_CARDS
    cards = (
        _card(section, name, found, statistics.num_records, specs, is_brief=is_brief)
        for section, group in groups
        for name, found in group.items()
        if not chosen or name in chosen
    )
    made = []
    for card in itertools.islice(cards, MAX_CARDS):
        if not budget.take(card_characters=card.n_characters):
            break
        made.append(card)
    return made


def _card(
    section: str,
    name: str,
    found: FeatureStatistics,
    n_records: int,
    specs: Mapping[str, str],
    *,
    is_brief: bool,
) -> Card:
    chart, caption = _chart(found, name, is_brief=is_brief)
    is_bars = bool(chart) and not caption
    examples = _examples(found.strings) if found.strings and not is_bars else ()
    if examples:  # which say more than the sizes of short texts
        chart, caption = "", ()
    return Card(
        name=shortened(name, _MAX_NAME) or repr(name),
        section=section,
        kind=", ".join(kind.label for kind in found.kinds) or "unset",
        share=found.num_records / n_records if n_records else 0.0,
        presence=_presence(found.num_records, n_records),
        lengths=_lengths(found),
        spec=specs.get(f"{section}/{name}", ""),
        chart=Html(chart),
        caption=caption,
        contents=tuple(_contents(found.strings)) if found.strings else (),
        examples=examples,
        facts=tuple(_facts(found, has_range=bool(caption))),
    )


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


def _presence(count: int, n_records: int) -> str:
    if count == n_records:
        return "in every record"
    return f"in {percent(count / n_records)} of records" if n_records else "in no record"


def _lengths(found: FeatureStatistics) -> str:
    values = f"{_span(found.lengths)} {'value' if found.lengths.max == 1 else 'values'}"
    if found.steps is None:
        return values
    return f"{_span(found.steps)} {'step' if found.steps.max == 1 else 'steps'}, {values} each"


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
        if numbers.min is None or numbers.min == numbers.max:
            return "", ()  # the figures say so
        values = _few_values(numbers, n_bars)
        if values:
            return bars(values, f"Values of {shown}", total=numbers.count), ()
        counts, edges, is_integer = _histogram(numbers, n_bins)
        title = f"Histogram of the values of {shown}"
        chart = histogram(counts, edges, title, is_integer=is_integer)
        return chart, tuple(_figures(numbers, [numbers.min, numbers.max or 0]))
    if strings is None or not strings.lengths.count:
        return "", ()
    labels = _labels(strings, n_bars)
    if labels:
        chart = bars(labels, f"Most frequent values of {shown}", total=strings.lengths.count)
        return chart, ()
    low, high = strings.lengths.min or 0, strings.lengths.max or 0
    if low == high:
        return "", ()
    counts, edges, is_integer = _histogram(strings.lengths, n_bins)
    title = f"Histogram of the sizes of {shown}"
    chart = histogram(counts, edges, title, is_integer=is_integer)
    return chart, (human_bytes(int(low)), "bytes per value", human_bytes(int(high)))


def _few_values(numbers: Distribution, n_bars: int) -> list[tuple[str, int]]:
    """Return integers and their counts; empty if there are more than `n_bars`."""
    lows, highs, counts = numbers.buckets()
    is_few = numbers.is_integer and len(counts) <= n_bars and (lows == highs).all()
    if not is_few or max(abs(lows[0]), abs(lows[-1])) > _MAX_EXACT:
        return []
    return [(f"{v:.0f}", count) for v, count in zip(lows, counts.tolist(), strict=True)]


def _histogram(numbers: Distribution, n_bins: int) -> tuple[AnyArray, AnyArray, bool]:
    """Return a histogram, and whether its bins are of equally many integers, if there are few."""
    low, high = numbers.min or 0, numbers.max or 0
    if numbers.is_integer and high - low < 1 << 20:
        lows, highs, counts = numbers.buckets()
        if (lows == highs).all():
            width = -(-int(high - low + 1) // n_bins)
            places = (lows - low).astype(np.int64) // width
            binned = np.bincount(places, weights=counts).astype(np.int64)
            return binned, int(low) + width * np.arange(binned.size + 1), True
    return *numbers.histogram(n_bins), False


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
    if found.numbers is not None:
        yield from _numbers(found.numbers, has_range=has_range)
    if found.strings is not None:
        yield from _strings(found.strings, has_range=has_range)


def _numbers(numbers: Distribution, *, has_range: bool) -> Iterator[tuple[str, str]]:
    low, high = numbers.min, numbers.max
    if low is None or high is None:
        yield "values", "none" if not numbers.count else "all NaN"
    elif low == high:
        yield "always", _figures(numbers, [low])[0]
    else:
        figures = {"min": low, "median": numbers.quantile(0.5), "mean": numbers.mean, "max": high}
        known = {name: value for name, value in figures.items() if value is not None}
        for name, text in zip(known, _figures(numbers, known.values()), strict=True):
            if not (has_range and name in {"min", "max"}):
                yield name, text
        if numbers.num_zeros:
            yield "zeros", percent(numbers.num_zeros / numbers.count)
    for name, count in (("NaN", numbers.num_nan), ("infinite", numbers.num_inf)):
        if count:
            yield name, percent(count / numbers.count)


def _strings(strings: StringStatistics, *, has_range: bool) -> Iterator[tuple[str, str]]:
    if strings.num_distinct is not None and strings.lengths.count:
        about = "" if strings.is_exact else "about "
        yield "distinct", f"{about}{strings.num_distinct:,}"
    low, high = strings.lengths.min, strings.lengths.max
    if low is not None and high is not None and not has_range:
        few, many = human_bytes(int(low)), human_bytes(int(high))
        yield "size", few if low == high else f"{few} to {many}"


def shortened(text: str, limit: int) -> str:
    """Return the first characters of a text on one line, with an ellipsis if there are more."""
    line = " ".join(visible(text[: 4 * limit]).split())
    is_cut = len(line) > limit or len(text) > 4 * limit
    return line[:limit] + "…" if is_cut else line
