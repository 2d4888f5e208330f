"""Distributions for people: a chart in a cell of a notebook's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.apps.markup.charts import histogram
from tfrecord_lite.apps.markup.tables import Html, escaped

if TYPE_CHECKING:
    from tfrecord_lite.apps.markup.cells import Cells
    from tfrecord_lite.apps.statistics.distribution import Distribution
    from tfrecord_lite.apps.statistics.statistics import FeatureStatistics
    from tfrecord_lite.apps.statistics.strings import StringStatistics

_MAX_BARS, _MAX_LISTED, _MAX_EXAMPLES, _CELL_BINS = 12, 3, 2, 16


def chart_of(name: str, found: FeatureStatistics, cells: Cells) -> Html | None:
    """Return a cell: a histogram of numbers that differ; of byte strings the most frequent, or what they are."""
    if found.numbers is not None:
        only = _only_number(found.numbers)
        if only is not None:
            return escaped("{} ({:,})".format(*only))
        counts, edges = found.numbers.histogram(_CELL_BINS)
        title = f"Histogram of {name[:40]}"
        return Html(histogram(counts, edges, title, width=120, height=28)) if counts.size else None
    if found.strings is None:
        return None
    if _are_categories(found.strings):
        listed = [
            f"{cells.bytes_form(value, is_small=True).html} ({count:,})"
            for value, count in found.strings.top(_MAX_LISTED)
        ]
        n_more = len(found.strings.counts) - len(listed)
        return Html(", ".join([*listed, f"… {n_more:,} more"] if n_more else listed))
    examples = found.strings.examples[:_MAX_EXAMPLES]
    return cells.strings_form(examples, found.num_values).html


def _only_number(numbers: Distribution) -> tuple[str, int] | None:
    """Return the number that all finite ones are, and how many; None if they differ, or there are none."""
    if not numbers.num_finite or numbers.min is None or numbers.min != numbers.max:
        return None
    text = f"{int(numbers.min):,}" if numbers.is_integer else f"{numbers.min:.7g}"
    return text, numbers.num_finite


def _are_categories(strings: StringStatistics) -> bool:
    """Whether byte strings are shown one by one: some occur more than once, or there are few."""
    if strings.num_uncounted:
        return False
    return len(strings.counts) <= _MAX_BARS or len(strings.counts) <= strings.lengths.count / 2
