"""Distributions for people: a chart in a cell of a notebook's table, or a panel of a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tfrecord_lite.columns.cells import Cells, joined
from tfrecord_lite.errors import argument_error, plural
from tfrecord_lite.markup.charts import histogram
from tfrecord_lite.markup.plots import Panel, figure_of
from tfrecord_lite.markup.tables import Html, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfrecord_lite.apps.statistics.distribution import Distribution
    from tfrecord_lite.apps.statistics.statistics import FeatureStatistics, Statistics
    from tfrecord_lite.apps.statistics.strings import StringStatistics

Aspect: TypeAlias = Literal["values", "lengths", "steps"]
"""What is plotted of a feature."""

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
            f"{cells.bytes_cell(value)} ({count:,})"
            for value, count in found.strings.top(_MAX_LISTED)
        ]
        n_more = len(found.strings.counts) - len(listed)
        return Html(", ".join([*listed, f"… {n_more:,} more"] if n_more else listed))
    examples = found.strings.examples[:_MAX_EXAMPLES]
    return joined([cells.bytes_cell(value) for value in examples], found.n_values)


def plot(
    statistics: Statistics,
    features: str | Iterable[str] | None,
    of: Aspect,
    bins: int,
    ax: Any,
) -> Any:
    """Plot distributions, a panel per feature, as :meth:`Statistics.plot`."""
    if of not in ("values", "lengths", "steps"):
        raise argument_error(f"of is {of!r}, expected values, lengths or steps")
    names = (
        [features]
        if isinstance(features, str)
        else list(statistics if features is None else features)
    )
    if ax is not None and len(names) != 1:
        raise argument_error(f"ax is for one feature, not for {len(names)}; leave it out")
    return figure_of([_panel(name, statistics[name], of, bins) for name in names], ax)


def _panel(name: str, found: FeatureStatistics, of: Aspect, bins: int) -> Panel:
    """Return what is drawn of one feature."""
    if of == "steps":
        if found.steps is None:
            raise argument_error(
                "only a feature list has steps; leave it out of features", key=name
            )
        return _columns(name, found.steps, bins, "steps per record", "records")
    if of == "lengths":
        one = "record" if found.steps is None else "step"
        return _columns(name, found.lengths, bins, f"values per {one}", f"{one}s")
    if found.numbers is not None:
        return _columns(name, found.numbers, bins, _left_out(found.numbers), "values")
    if found.strings is None:
        return Panel(name, x_label="no values")
    if _are_categories(found.strings):
        top = found.strings.top(_MAX_BARS)
        n_more = len(found.strings.counts) - len(top)
        labels = [_text(value) for value, _ in top]
        x_label = f"values; {plural(n_more, 'rarer one')} left out" if n_more else "values"
        return Panel(name, counts=[count for _, count in top], labels=labels, x_label=x_label)
    return _columns(name, found.strings.lengths, bins, "bytes per value", "values")


def _columns(name: str, numbers: Distribution, bins: int, x_label: str, y_label: str) -> Panel:
    counts, edges = numbers.histogram(bins)
    only = _only_number(numbers)
    if only is not None:  # a column as wide as a bin would look like a spread
        label, count = only
        return Panel(name, counts=[count], labels=[label], x_label=y_label, y_label=x_label)
    return Panel(
        name,
        counts=counts,
        edges=edges,
        is_integer=numbers.is_integer,
        x_label=x_label,
        y_label=y_label,
    )


def _only_number(numbers: Distribution) -> tuple[str, int] | None:
    """Return the number that all finite ones are, and how many; None if they differ, or there are none."""
    if not numbers.n_finite or numbers.min is None or numbers.min != numbers.max:
        return None
    text = f"{int(numbers.min):,}" if numbers.is_integer else f"{numbers.min:.7g}"
    return text, numbers.n_finite


def _left_out(numbers: Distribution) -> str:
    """Say what a histogram does not show."""
    parts = [(numbers.n_nan, "NaN"), (numbers.n_inf, "infinite")]
    told = [f"{count:,} {what}" for count, what in parts if count]
    return f"without {' and '.join(told)}" if told else ""


def _are_categories(strings: StringStatistics) -> bool:
    """Whether byte strings are shown one by one: some occur more than once, or there are few."""
    if strings.n_uncounted:
        return False
    return len(strings.counts) <= _MAX_BARS or len(strings.counts) <= strings.lengths.count / 2


def _text(value: bytes) -> str:
    """Return a byte string as a label: its text if it is one."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = repr(value)
    return text[:24] or "''"
