"""Event files as curves, in groups of tags as TensorBoard has them.

::

    scalars                a chart per tag, a curve per event run
    histograms             a heat map per tag and event run: steps to the right, values upwards
    images, audio, texts,  of the last step, per tag and event run
    tensors

Files are read block by block. Of each tag, the numbers are kept up to a bound, and some of the other
values: where there are too many, every other one is dropped, but never the last; of numbers,
the smallest and largest of several are kept.

Classes: ``v-group`` (<details> per group), ``v-plots`` (its grid), ``v-plot`` (<figure> per tag, with
``v-of``, ``v-run`` and ``v-step`` over what is of one event run and step), ``v-larger`` (<details>).
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tfrecord_lite.apps.events.contents import Image
from tfrecord_lite.apps.events.parse import EventValues, parse_events
from tfrecord_lite.apps.events.series import CATEGORIES, Events, Series
from tfrecord_lite.apps.events.tags import Tags
from tfrecord_lite.apps.viewer.cells import Cell, array_form, chip_form, string_form, strings_form
from tfrecord_lite.apps.viewer.parts import (
    MAX_SEARCH_TEXT,
    NO_MARKUP,
    Form,
    caption,
    joined,
    n_characters,
    note,
    shortened,
    visible,
)
from tfrecord_lite.apps.viewer.pictures import extent_text, heat_map
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, TFRecordError, argument_error, plural
from tfrecord_lite.files.names import is_file_object, is_url, name_of
from tfrecord_lite.markup.charts import histogram, lines, short_number
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.reader import reader_with
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tfrecord_lite.apps.viewer.parts import Budget
    from tfrecord_lite.arrays import Float64Array, Int64Array
    from tfrecord_lite.files.names import Source

_MAX_RUNS = 24
_MAX_TAGS = 300  # of one category
_MAX_KNOWN_TAGS = 5000  # of one event run; values of later ones are dropped
_MAX_POINTS, _MAX_OTHERS = 20_000, 64  # of one tag and event run
_MAX_STORED_BYTES = 128 << 20  # of one event run
_MAX_VALUE_BYTES = (
    1 << 18
)  # of a tensor that repeats a value; others are as large as they are stored
_MAX_PENDING_BYTES = 16 << 20
_MAX_SKIPPED = 20  # records of a file that are not events
_MAX_PROBLEMS = 5  # of one event run
_N_BINS = 32
_MAX_IMAGES = 4  # of one step
_MAX_TAG = 120  # characters
_WRAPPING = 200  # characters around what is shown of a tag


# ------------------------------------------------------------------------------- reading


@dataclass(slots=True)
class EventRun:
    """What the files of one event run hold, bounded."""

    name: str
    events: Events
    tags: Tags
    """All, also those that are not kept."""
    n_values: Int64Array
    """Of each tag that is kept, by its number, also those left out; shape (_MAX_KNOWN_TAGS,)."""
    problems: list[str] = field(default_factory=list)

    def n_of(self, tag: str, series: Series) -> int:
        """Return how many values of a tag there were, of which `series` are those kept."""
        n_categories = sum(tag in tags for tags in self.events.tags.values())
        number = self.tags.names.index(tag)
        return int(self.n_values[number]) if n_categories == 1 else len(series)


def read_runs(sources: Sequence[Source], options: ReadSettings) -> list[EventRun]:
    """Read event files, of the first event runs; damage is skipped, and said."""
    runs = list(_by_run(sources).items())[:_MAX_RUNS]
    return [_read_run(name, files, options) for name, files in runs]


def _by_run(sources: Sequence[Source]) -> dict[str, list[Source]]:
    """Return the files of each event run, which are those in one folder, by a name for it."""
    folders: dict[str, list[Source]] = {}
    for source in sources:
        folder = "" if is_file_object(source) else posixpath.dirname(_slashed(source))
        folders.setdefault(folder, []).append(source)
    if len(folders) == 1:
        return {posixpath.basename(folder) or ".": files for folder, files in folders.items()}
    common = posixpath.commonpath(folders) if _are_alike(folders) else ""
    return {folder[len(common) :].strip("/") or ".": files for folder, files in folders.items()}


def _slashed(source: Source) -> str:
    return name_of(source).replace(os.sep, "/")


def _are_alike(folders: Mapping[str, object]) -> bool:
    """Return whether all folders are absolute paths, or all relative ones."""
    return (
        len({(folder.startswith("/"), is_url(folder)) for folder in folders}) == 1
        and "" not in folders
    )


def _read_run(name: str, files: Sequence[Source], options: ReadSettings) -> EventRun:
    """Read the files of one event run."""
    problems: list[str] = []
    tags = Tags()
    n_values = np.zeros(_MAX_KNOWN_TAGS, np.int64)
    pending, n_pending = [EventValues.none()], 0
    for source in files:
        try:
            for part in _values_of(source, tags, options, problems):
                pending.append(part)
                known = part.tag[part.tag < _MAX_KNOWN_TAGS]
                n_values += np.bincount(known, minlength=_MAX_KNOWN_TAGS)
                n_pending += len(part) * 64 + _stored_bytes(part)
                if n_pending > _MAX_PENDING_BYTES:
                    pending, n_pending = [_thinned(EventValues.concat(pending))], 0
        except (TFRecordError, OSError) as error:
            problems[_MAX_PROBLEMS - 1 :] = [f"the rest is left out: {error}"]
    kept = _thinned(EventValues.concat(pending))
    return EventRun(
        name, Events(kept, tags, max_value_bytes=_MAX_VALUE_BYTES), tags, n_values, problems
    )


def _values_of(
    source: Source, tags: Tags, options: ReadSettings, problems: list[str]
) -> Iterator[EventValues]:
    """Yield the values of a file; what is damaged or not an event is skipped, but not too often."""
    options = replace(options, on_error=lambda span: _note_problem(problems, span), max_errors=None)
    n_left = _MAX_SKIPPED
    for block in reader_with([source], options).blocks():
        rest = block
        while len(rest):
            try:
                yield parse_events(rest, tags)
                break
            except InvalidArgumentError as error:
                _note_problem(problems, error)
                n_left -= 1
                if error.index is None or not n_left:
                    raise
                n_good = error.index - (rest.place(0).index or 0)
                yield parse_events(rest[:n_good], tags)
                rest = rest[n_good + 1 :]


def _note_problem(problems: list[str], problem: object) -> None:
    """Add a problem, if there are not many already."""
    if len(problems) < _MAX_PROBLEMS:
        problems.append(str(problem))


def _stored_bytes(values: EventValues) -> int:
    return sum(len(stored) for stored in values.stored[~values.is_number].tolist() if stored)


def _thinned(values: EventValues) -> EventValues:
    """Keep a bounded number of values of each tag, and of bytes in all."""
    values = values.take(np.flatnonzero(values.tag < _MAX_KNOWN_TAGS))
    values = _thinned_to(values, _MAX_POINTS, _MAX_OTHERS)
    most = _MAX_OTHERS
    while most > 1 and _stored_bytes(values) > _MAX_STORED_BYTES:
        most //= 2
        values = _thinned_to(values, _MAX_POINTS, most)
    return values


def _thinned_to(values: EventValues, most_points: int, most_others: int) -> EventValues:
    """Keep at most so many numbers and other values of each tag; less than half of that is left alone."""
    key = values.tag * 2 + values.is_number
    order = np.argsort(key, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if order.size else []
    kept = []
    for group in groups:
        is_number = bool(values.is_number[group[0]])
        while is_number and group.size > 2 * most_points:
            group = _extremes(group, values.number)  # noqa: PLW2901 - it is made smaller
        while not is_number and group.size > most_others:
            group = group[::-1][::2][::-1]  # noqa: PLW2901
        kept.append(group)
    return values.take(np.sort(np.concatenate([np.empty(0, np.int64), *kept])))


def _extremes(group: Int64Array, number: Float64Array) -> Int64Array:
    """Keep the smallest and the largest of every four numbers, and the last few."""
    rows = group[: (group.size - 1) // 4 * 4].reshape(-1, 4)
    known = number[rows]
    lowest = np.where(np.isnan(known), np.inf, known).argmin(axis=1)
    highest = np.where(np.isnan(known), -np.inf, known).argmax(axis=1)
    found = np.stack([lowest, highest], 1)
    found[:, 1] = np.where(lowest == highest, (lowest + 1) % 4, highest)
    found.sort(axis=1)
    return np.append(np.take_along_axis(rows, found, 1).ravel(), group[rows.size :])


# ------------------------------------------------------------------------------- showing


class _Found(NamedTuple):
    """The values of a tag in one event run."""

    name: str
    """Of the event run; empty if there is only one."""
    series: Series
    n_values: int
    """How many there were, of which `series` are those kept."""


@dataclass(frozen=True, slots=True)
class _Plot:
    """What is shown of one tag."""

    tag: str
    html: Markup


def describe_runs(
    sources: Sequence[Source],
    budget: Budget,
    options: ReadSettings | None = None,
    chosen: Collection[str] = (),
) -> Markup:
    """Return event files as curves, histograms, pictures, sounds and texts; chosen tags, or all.

    Raises InvalidArgumentError (``BAD_ARGUMENT``) for a chosen tag that is in none of them.
    """
    runs = read_runs(sources, options or ReadSettings())
    _check_tags(chosen, runs)
    groups: dict[str, list[_Plot]] = {}
    n_unknown = max((len(run.tags.names) - _MAX_KNOWN_TAGS for run in runs), default=0)
    n_hidden = 0 if chosen else max(n_unknown, 0)
    for category in CATEGORIES:
        found = dict.fromkeys(tag for run in runs for tag in run.events.tags[category])
        tags = [tag for tag in found if not chosen or tag in chosen]
        n_hidden += max(len(tags) - _MAX_TAGS, 0)
        for tag in tags[:_MAX_TAGS]:
            if budget.is_spent:
                n_hidden += 1
                continue
            html = _plot(tag, category, runs, budget)
            groups.setdefault(tag.split("/", 1)[0], []).append(_Plot(tag, html))
    n_runs = len(_by_run(sources))
    of_runs = plural(n_runs, "run") if n_runs == len(runs) else f"{len(runs)} of {n_runs:,} runs"
    count = f"{plural(sum(map(len, groups.values())), 'tag')} of {of_runs}"
    head = Markup(
        '<div class="bar-of-tools"><h2>Curves<span class="count">{}</span></h2></div>'
    ).format(count)
    body = NO_MARKUP.join(_group(name, plots) for name, plots in sorted(groups.items()))
    remarks = [f"{plural(n_hidden, 'more tag')} not shown"] if n_hidden > 0 else []
    for run in runs:
        remarks += [f"{run.name}: {problem}" for problem in run.problems]
    return head + body + NO_MARKUP.join(note(visible(remark)) for remark in remarks)


def _check_tags(chosen: Collection[str], runs: list[EventRun]) -> None:
    known = {tag for run in runs for tag in run.tags.names}
    for tag in sorted(chosen):
        if tag not in known:
            raise argument_error(f"no such tag in the event files{nearest(tag, known)}", key=tag)


def _group(name: str, plots: list[_Plot]) -> Markup:
    html = NO_MARKUP.join(plot.html for plot in sorted(plots, key=lambda plot: plot.tag))
    return Markup(
        '<details class="v-group" open><summary><bdi>{}</bdi> <span class="count">{}</span></summary>'
        '<div class="v-plots">{}</div></details>'
    ).format(shortened(name, _MAX_TAG) or '""', len(plots), html)


def _plot(tag: str, category: str, runs: list[EventRun], budget: Budget) -> Markup:
    """Return the figure of one tag."""
    found, problems = [], []
    for run in runs:
        if tag not in run.events.tags[category]:
            continue
        try:
            series = getattr(run.events, category)(tag)
        except (InvalidArgumentError, ImportError) as error:
            problems.append(f"{run.name}: {getattr(error, 'detail', None) or error}")
            continue
        if len(series):
            name = shortened(run.name, _MAX_TAG) if len(runs) > 1 else ""
            n_values = run.n_of(tag, series)
            if category not in {"scalars", "histograms"}:
                series = _end_of(series)
            found.append(_Found(name, series, n_values))
    if category == "scalars":
        html = _scalars(tag, found)
        budget.characters -= n_characters(html)
    else:
        html = NO_MARKUP.join(_lasts(found, category, budget))
    remarks = NO_MARKUP.join(note(visible(shortened(problem))) for problem in problems)
    budget.characters -= len(remarks) + _WRAPPING
    return Markup(
        '<figure class="v-plot"><figcaption><bdi>{}</bdi></figcaption>{}{}</figure>'
    ).format(shortened(tag, _MAX_TAG) or '""', html, remarks)


def _end_of(series: Series) -> Series:
    """Return the last value alone, so that the memory of the others is free."""
    return Series(*(column[-1:].copy() for column in series.as_dict().values()))


def _lasts(found: list[_Found], category: str, budget: Budget) -> Iterator[Markup]:
    """Yield what is shown of each event run, until the budget is spent."""
    for i, each in enumerate(found):
        if budget.is_spent:
            yield note(f"{plural(len(found) - i, 'more run')} not shown: the page is full")
            return
        html = _last(each, category, budget)
        budget.characters -= n_characters(html)
        yield html


def _scalars(tag: str, found: list[_Found]) -> Markup:
    """Draw the curves of a tag, and say their ends."""
    series = [(name, each.step, each.value) for name, each, _ in found]
    ends = ", ".join(
        f"{name} {short_number(float(each.value[-1]))} at step {each.step[-1]:,}".lstrip()
        for name, each, _ in found
    )
    title = f"{shortened(tag, _MAX_TAG)} over steps; last: {ends}"
    chart = Markup(lines(series, title))  # noqa: S704 - escaped there
    values = np.concatenate([each.value for _, each, _ in found]) if found else np.empty(0)
    count = plural(sum(each.n_values for each in found), "point")
    return chart + caption(f"{count}, {extent_text(values)}; last {ends}")


def _last(found: _Found, category: str, budget: Budget) -> Markup:
    """Show the last value of an event run; of histograms, all of them."""
    series = found.series
    step = f"step {series.step[-1]:,}"
    if found.n_values > 1:
        step += f", the last of {found.n_values:,}"
    if category == "histograms":
        form = _ridges(series, budget)
        step = plural(found.n_values, "step")
        if len(series) < found.n_values:
            step = f"{len(series):,} of {step}"
    else:
        form = _value_form(series.value[-1], category, budget)
    larger = NO_MARKUP
    if form.details:
        summary = "larger" if "<img" in form.details else "whole"
        larger = Markup('<details class="v-larger"><summary>{}</summary>{}</details>').format(
            summary, form.details
        )
    run = Markup('<bdi class="v-run">{}</bdi> ').format(found.name) if found.name else NO_MARKUP
    return Markup('<div><div class="v-of">{}<span class="v-step">{}</span></div>{}{}</div>').format(
        run, step, form.html, larger
    )


def _value_form(value: Any, category: str, budget: Budget) -> Form:
    """Show one value that is not a scalar."""
    if category == "histograms":
        return _bars(value)
    if category == "images" and isinstance(value, Image):
        return _encoded(value.encoded, budget)
    if category == "audio":
        return _encoded(value, budget)
    if category == "texts":
        texts = [value] if isinstance(value, str) else value.ravel().tolist()
        return strings_form(
            [t.encode("utf-8", "surrogateescape") for t in texts] or [b""], {}, budget
        )
    return array_form(np.asarray(value), budget)


def _encoded(contents: Sequence[bytes], budget: Budget) -> Form:
    """Show the images or clips of one step."""
    if not contents:
        return Form(Markup('<span class="v-empty">empty</span>'), "")
    if len(contents) == 1:
        return string_form(contents[0], {}, budget)
    forms = [chip_form(content, budget) for content in contents[:_MAX_IMAGES]]
    html = joined("ul", "v-texts", [form.html for form in forms])
    return Form(html, shortened(" ".join(form.text for form in forms)))


def _ridges(series: Series, budget: Budget) -> Form:
    """Show histograms over steps as a heat map: a column per step, the values upwards."""
    tables = [table[np.isfinite(table).all(axis=1)] for table in series.value]
    filled = [table for table in tables if table.size]
    if not filled:
        return Form(Markup('<span class="v-empty">empty</span>'), "")
    low = min(float(table[:, 0].min()) for table in filled)
    high = max(float(table[:, 1].max()) for table in filled)
    edges = _edges(low, high)
    with np.errstate(all="ignore"):
        counts = np.stack([_rebinned(table, edges) for table in tables], 1)
    what = (
        f"{plural(len(tables), 'histogram')}, steps {series.step[0]:,} to {series.step[-1]:,}; "
        f"values {short_number(low)} to {short_number(high)}; counts"
    )
    return heat_map(counts[::-1], budget, what, is_square=False)


def _bars(table: Float64Array) -> Form:
    """Show one histogram as bars."""
    table = table[np.isfinite(table).all(axis=1)]
    if not table.size:
        return Form(Markup('<span class="v-empty">empty</span>'), "")
    edges = _edges(float(table[:, 0].min()), float(table[:, 1].max()))
    with np.errstate(all="ignore"):
        counts = np.nan_to_num(_rebinned(table, edges)).clip(0, 1e15)
    total = short_number(float(counts.sum()))
    text = f"{total} values, {short_number(float(edges[0]))} to {short_number(float(edges[-1]))}"
    chart = Markup(histogram(counts, edges, text))  # noqa: S704 - escaped there
    return Form(Markup('<div class="v-lane">{}</div>').format(chart) + caption(text), text)


def _edges(low: float, high: float) -> Float64Array:
    """Return the edges of the bins from one number to another."""
    if not low < high:
        low, high = low - 0.5, high + 0.5
    with np.errstate(all="ignore"):
        return np.float64(low) + (high / _N_BINS - low / _N_BINS) * np.arange(_N_BINS + 1)


def _rebinned(table: Float64Array, edges: Float64Array) -> Float64Array:
    """Spread the counts of buckets, rows of left, right and count, over other bins; (n_bins,)."""
    if not table.size:
        return np.zeros(edges.size - 1)
    ends = np.maximum.accumulate(np.append(table[0, 0], table[:, 1]))
    sums = np.append(0.0, np.cumsum(table[:, 2].clip(0)))
    return np.diff(np.interp(edges, ends, sums, left=0.0, right=sums[-1]))


# ---------------------------------------------------------------------------- one record


def event_cells(record: bytes, budget: Budget) -> list[Cell] | None:
    """Return the cells of an Event: when it was, and each value in it; None if it is not one."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

    from tfrecord_lite.messages import Event  # noqa: PLC0415 - not light

    tags = Tags()
    try:
        event = Event.FromString(record)
        values = parse_events(Block.from_records([record]), tags)
    except (DecodeError, UnicodeDecodeError, InvalidArgumentError):
        return None
    cells = [
        _fact("wall_time", "time", _time(event.wall_time)),
        _fact("step", "int64", str(event.step)),
    ]
    if event.HasField("file_version"):
        cells.append(_fact("file_version", "string", shortened(event.file_version)))
    events = Events(values, tags, max_value_bytes=_MAX_VALUE_BYTES)
    tags_found = [(category, tag) for category, found in events.tags.items() for tag in found]
    cells += [
        _event_cell(tag, category, events, budget)
        for category, tag in tags_found[:_MAX_TAGS]
        if not budget.is_spent
    ]
    return cells


def _event_cell(tag: str, category: str, events: Events, budget: Budget) -> Cell:
    try:
        series = getattr(events, category)(tag)
    except (InvalidArgumentError, ImportError) as error:
        form = Form(note(visible(str(error))), "")
        return Cell("value", tag, category, "", *form)
    if category == "scalars":
        text = ", ".join(str(value) for value in series.value[:8].astype(np.float32))
        form = Form(Markup('<span class="v-number">{}</span>').format(text), text)
    else:
        form = _value_form(series.value[-1], category, budget)
    budget.characters -= n_characters(form.html, form.details) + len(tag)
    return Cell(
        "value",
        tag,
        category,
        str(len(series)),
        form.html,
        form.text[:MAX_SEARCH_TEXT],
        form.details,
    )


def _fact(name: str, kind: str, text: str) -> Cell:
    return Cell("", name, kind, "1", Markup('<span class="v-number">{}</span>').format(text), text)


def _time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return str(seconds)
