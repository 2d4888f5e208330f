"""Files to a report: what the page shows, as plain values.

::

    paths ──draw_sample──> Sample ─┬─ statistics ──> cards, schema
                                   └─ some of the records ──> RecordViews

Nothing here knows HTML, but cells and cards bring their own. Damaged and empty files have a report too.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import indent
from typing import Any

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.apps import outline
from tfrecord_lite.apps.events.run import read_events, table_of
from tfrecord_lite.apps.markup.cells import SIZE_NAMES, Budget, Cells, Form
from tfrecord_lite.apps.markup.tables import Html, table, visible
from tfrecord_lite.apps.statistics import Distribution, StringStatistics
from tfrecord_lite.apps.statistics import statistics as stats
from tfrecord_lite.apps.viewer.cards import Card, make_cards, spec_code
from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.block import Block, Place
from tfrecord_lite.errors import DamagedSpan, InvalidArgumentError, TFRecordError, argument_error
from tfrecord_lite.extension import ContentType, Sample, Source
from tfrecord_lite.messages import Feature
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import SILENT, Meter
from tfrecord_lite.schema import FeatureSummary, Kind, ListSummary, Schema, SequenceSchema
from tfrecord_lite.texts import human_bytes, nearest, plural

_N_DETECTED = 64
_MAX_FILES = 100
_MAX_SCHEMA = 500_000  # characters
_WRAPPING = 300
"""About how many characters the page adds around a cell."""
_NAMES = {"", "tensorflow.Example", "tensorflow.SequenceExample"}
"""Message classes that have features; empty if none is given."""
_MAX_CELLS = 2000
_MAX_EXAMINED = 1 << 20
_EMBEDDED = re.compile('"data:[a-z]+/[a-z0-9.+-]+;base64,[^"]*"')  # in text, quotes are escaped
_WITH_STATISTICS = (ContentType.EXAMPLE, ContentType.SEQUENCE_EXAMPLE, ContentType.EMPTY)


@dataclass(frozen=True, slots=True)
class Cell:
    """A feature of a record, or a list of features."""

    section: str
    """"context", "feature_lists"; empty in an Example."""
    name: str
    """The name as it is; `label` is for display."""
    kind: str
    """"string", "float32", "int64" or "unset"; for a record without features, what it is."""
    count: str
    """Number of values; "5 x 3" for a list of 5 steps with 3 values each."""
    html: Html
    """The short form."""
    details: Html
    """The whole, up to a bound; empty if the short form shows everything."""

    @property
    def label(self) -> str:
        """The name, with escapes for what cannot be seen; never empty."""
        return visible(self.name).strip() or repr(self.name)


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record as the page shows it."""

    place: Place
    type: ContentType
    n_bytes: int
    cells: tuple[Cell, ...]
    n_hidden: int = 0
    """Number of features that are left out, because of the budget or their number."""


@dataclass(slots=True)
class Report:
    """All that the page shows."""

    files: dict[str, int | None]
    """Their bytes on disk by path or URL; None if not known."""
    sample: Sample
    types: tuple[ContentType, ...] = ()
    """What the records hold, the most frequent first; empty without records."""
    message_name: str = ""
    """The name of the class by which messages of another type are shown."""
    problems: list[str] = field(default_factory=list)
    """What could not be read or parsed, in words."""
    cards: list[Card] = field(default_factory=list)
    n_features: int = 0
    n_without_card: int = 0
    schema: str = ""
    """As Python; empty if there is none."""
    runs: Html | None = None
    """A table of TensorBoard's runs: their hyperparameters, and the last value of each scalar."""
    records: list[RecordView] = field(default_factory=list)
    is_cut: bool = False
    """Whether fewer records are shown than were asked for, as the page would be too large."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the page is to show."""

    features: frozenset[str]
    """Empty for all."""
    num_records: int
    sample_size: int
    seed: int
    max_bytes: int
    message_class: Any = None
    """The class of the records, if they are messages of another type."""


def make_report(
    sources: list[Source], choice: Choice, options: ReadSettings, meter: Meter = SILENT
) -> Report:
    """Read a sample of the files, and describe it; `meter` counts its bytes twice.

    Raises DataLossError if there is damage, and no intact record.
    """
    size, seed = choice.sample_size, choice.seed
    sample = ext.draw_sample(sources, num_records=size, seed=seed, options=options, meter=meter)
    if not sample.num_read and sample.report.spans:
        raise sample.report.spans[0].error()
    report = Report({ext.name_of(source): ext.local_size(source) for source in sources}, sample)
    # A quarter each for cards and records, the rest for pictures, which take a third more as text.
    share, rest = choice.max_bytes // 4, choice.max_bytes // 6
    budget = Budget(share, card_characters=share, picture_bytes=rest, detail_bytes=rest)
    report.types = _types_of(sample)
    if choice.message_class is not None:
        report.message_name = choice.message_class.DESCRIPTOR.full_name
    originals = ext.originals_of(sources, options)
    if report.message_name or any(type_ in _WITH_STATISTICS for type_ in report.types):
        _add_statistics(report, originals, choice, budget, meter)
    if ContentType.EVENT in report.types and sample.is_whole:
        _add_runs(report, sources, options)
    _add_records(report, originals, choice, budget)
    return report


def _types_of(sample: Sample) -> tuple[ContentType, ...]:
    """Return what the records of each file hold, the most frequent first."""
    blocks: dict[str | None, list[Block]] = {}
    for block in sample.blocks:
        blocks.setdefault(block.place(0).source, []).append(block)
    n_detected = max(_N_DETECTED // max(len(blocks), 1), 4)
    counts = Counter[ContentType]()
    for of_file in blocks.values():
        types = ext.detect_all(record for record, _ in _spread(of_file, n_detected))
        counts.update(dict.fromkeys(types, sum(map(len, of_file))))
    if len(counts) > 1:
        del counts[ContentType.EMPTY]
    return tuple(type_ for type_, _ in counts.most_common())


# ------------------------------------------------------------------------------ statistics


def _add_statistics(
    report: Report, originals: Schema, choice: Choice, budget: Budget, meter: Meter
) -> None:
    collector, problems = stats.Collector(originals, skip_malformed=True), report.problems
    has_paths, by_path = report.message_name not in _NAMES, stats.Statistics(0, {})
    try:
        meter.expect_more(sum(block.nbytes for block in report.sample.blocks))
        for block in report.sample.blocks:
            if has_paths:
                by_path += message_statistics(block, choice.message_class)
            else:
                collector.add(block)
            meter.advance(block.nbytes)
        statistics = by_path if has_paths else collector.statistics()
    except TFRecordError as error:
        problems.append(f"There are no statistics: {error}")
        return
    if malformed := collector.malformed:
        kind = next(type_ for type_ in report.types if type_ in _WITH_STATISTICS)
        count = f"{plural(len(malformed), 'record')} of those read cannot be parsed as {kind}"
        problems.append(f"{count}; the first: {malformed[0]}")
    for name in sorted(choice.features):
        if name not in statistics:
            detail = f"no such feature in the records{nearest(name, statistics)}"
            raise argument_error(detail, key=name)
    chosen = choice.features or frozenset(statistics)
    empty = [Schema({}), Schema({})]
    parts = empty if has_paths else _add_schema(report, statistics, chosen, budget)
    report.cards = make_cards(statistics, parts, chosen, budget)
    report.n_features = len(statistics)
    report.n_without_card = len(chosen) - len(report.cards)


def _add_schema(
    report: Report, statistics: stats.Statistics, chosen: Collection[str], budget: Budget
) -> list[Schema]:
    """Add the schema of chosen features; return its parts, which are empty if there is none."""
    try:
        schema = statistics.schema()
    except TFRecordError as error:
        report.problems.append(f"There is no schema for all records: {error}")
        return [Schema({}), Schema({})]
    parts = [part.select(sorted(set(chosen) & part.keys())) for part in _schema_parts(schema)]
    schema = parts[0] if isinstance(schema, Schema) else SequenceSchema(*parts)
    code = reading_code(schema, [*report.files])
    n_characters = len(code) + 4 * code.count("'")
    if n_characters > _MAX_SCHEMA or not budget.take(card_characters=n_characters):
        code = f"# {human_bytes(len(code))}: too long for this page; infer_schema(paths) returns it"
    report.schema = code
    return parts


def _schema_parts(schema: Schema | SequenceSchema) -> list[Schema]:
    """Return a schema's features, or the features of the context and the feature lists."""
    return [schema] if isinstance(schema, Schema) else [*schema]


def reading_code(schema: Schema | SequenceSchema, files: list[str]) -> str:
    """Return Python that reads batches of these files."""
    parts = _schema_parts(schema)
    specs = [spec for part in parts for spec in part.values()]
    names = sorted({"read_batches", *(type(each).__name__ for each in (schema, *parts, *specs))})
    shown = [f"    {name!r},\n" for name in files[:_MAX_FILES]]
    more = f"    # and {len(files) - _MAX_FILES:,} more\n" if len(files) > _MAX_FILES else ""
    paths = repr(files[0]) if len(files) == 1 else f"[\n{''.join(shown)}{more}]"
    return (
        f"from tfrecord_lite import {', '.join(names)}\n\npaths = {paths}\nschema = {schema_code(schema)}\n"
        "for batch in read_batches(paths, schema, batch_size=32):\n    print(batch)\n"
    )


def schema_code(schema: Schema | SequenceSchema) -> str:
    """Return a schema as Python that creates it, without the originals."""
    if isinstance(schema, Schema):
        lines = [f"    {name!r}: {spec_code(spec)},\n" for name, spec in schema.items()]
        return f"Schema({{\n{''.join(lines)}}})" if lines else "Schema({})"
    parts = (indent(f"{schema_code(part)},\n", "    ") for part in schema)
    return f"SequenceSchema(\n{''.join(parts)})"


def _add_runs(report: Report, sources: list[Source], options: ReadSettings) -> None:
    """Add a table of the runs: of each folder, the event files that are shown."""
    folders: dict[str, list[Source]] = {}
    for source in sources:
        if not ext.is_file_object(source):
            folders.setdefault(posixpath.dirname(ext.name_of(source)) or ".", []).append(source)
    spans: list[DamagedSpan] = []  # which the sample has reported
    reading: Any = {"on_error": spans.append, "storage_options": options.storage_options}
    try:
        columns = table_of((name, read_events(files, **reading)) for name, files in folders.items())
    except (TFRecordError, OSError) as error:
        report.problems.append(f"There is no table of runs: {error}")
        return
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    rows = ([str(cell) if isinstance(cell, bool) else cell for cell in row] for row in values)
    shown = table([*columns], rows, n_rows=len(folders), noun="run")
    report.runs = Html(shown.replace("<table>", '<table class="plain">', 1))


def message_statistics(block: Block, message_class: Any) -> stats.Statistics:
    """Return statistics of the messages in a block: a feature for each path of fields, such as ``images.width``.

    Raises InvalidArgumentError for a record that is not of the class.
    """
    rows: dict[str, list[list[Any]]] = {}
    for i, record in enumerate(block):
        try:
            message = ext.parse_message(record, message_class)
        except InvalidArgumentError as error:
            raise block.place(i).locate(error) from None
        for path, values in outline.leaves(outline.message_tree(message)).items():
            rows.setdefault(path, []).append(values)
    return stats.Statistics(len(block), {path: _statistics_of(rows[path], block) for path in rows})


def _statistics_of(rows: list[list[Any]], block: Block) -> stats.FeatureStatistics:
    lengths = Distribution.of(np.fromiter(map(len, rows), np.int64, len(rows)))
    values = [value for row in rows for value in row]
    first, numbers, strings = values[0], None, None
    # An unknown value of an enum is a number.
    if any(isinstance(value, str | bytes) for value in values):
        kind, dtype = Kind.BYTES, "string"
        texts = [v if isinstance(v, bytes) else str(v).encode() for v in values]
        strings = StringStatistics.of(np.array(texts, object))
    elif isinstance(first, float | np.floating):
        kind, dtype = Kind.FLOAT, np.asarray(first).dtype.name
        numbers = Distribution.of(np.array(values, dtype))
    else:
        kind = Kind.INT64
        dtype = "bool" if isinstance(first, bool) else "int64"
        numbers = Distribution.of(np.array(values, np.uint64 if max(values) >= 2**63 else np.int64))
    ends = int(lengths.min or 0), int(lengths.max or 0)
    summary = FeatureSummary({kind: ListSummary(len(rows), ends, None, block.place(0))})
    return stats.FeatureStatistics(summary, lengths, numbers, strings, original=dtype)


# ------------------------------------------------------------------------------ records


def _add_records(report: Report, originals: Schema, choice: Choice, budget: Budget) -> None:
    likely = report.types[0] if report.types else None
    cells, restore = Cells(budget, is_page=True), ext.row_restorer(originals)
    for record, place in _spread(report.sample.blocks, choice.num_records):
        if budget.is_spent:
            report.is_cut = True
            break
        content, cls = ext.detect(record, likely), choice.message_class
        view = describe_record(content, place, cells, choice.features, cls, restore(record))
        budget.characters -= _WRAPPING * (1 + len(view.cells))
        report.records.append(view)


def _spread(blocks: Sequence[Block], num_records: int) -> Iterator[tuple[bytes, Place]]:
    """Yield records and their places: all, or as many as asked for, evenly spread."""
    n_records = sum(map(len, blocks))
    numbers = np.unique(np.linspace(0, n_records - 1, min(num_records, n_records)).astype(np.int64))
    ends = np.cumsum([0, *map(len, blocks)])
    for block, start, stop in zip(blocks, ends, ends[1:], strict=False):
        for i in (numbers[(numbers >= start) & (numbers < stop)] - start).tolist():
            yield block[i], block.place(i)


def describe_record(
    content: ext.Content,
    place: Place,
    cells: Cells,
    names: Collection[str] = (),
    message_class: Any = None,
    restored: Mapping[str, AnyArray] | None = None,
) -> RecordView:
    """Return the cells of a record, of these features or all; what is over the budget is left out, and counted.

    Values are looked at up to a bound; only steps of feature lists are all counted. Raises
    InvalidArgumentError for a record that is not of the class.
    """
    try:
        tree = outline.tree_of(content, message_class, _MAX_CELLS)
    except InvalidArgumentError as error:
        raise place.locate(error) from None
    shown, n_hidden, budget = list[Cell](), 0, cells.budget
    for section, name, kind, count, form_of in _parts(content, tree, cells, restored or {}):
        if names and name not in names:
            continue
        if budget.is_spent or len(shown) == _MAX_CELLS:
            n_hidden += 1
            continue
        form = form_of()
        budget.characters -= n_characters(form.html, form.details) + len(name)
        shown.append(Cell(section, name, kind, count, *form))
    return RecordView(place, content.type, len(content.record), tuple(shown), n_hidden)


def _parts(
    content: ext.Content, tree: outline.Tree | None, cells: Cells, restored: Mapping[str, AnyArray]
) -> Iterator[tuple[str, str, str, str, Callable[[], Form]]]:
    """Yield section, name, kind and count of each part of a record, and what makes its cell."""
    if tree is not None:
        for path, values in outline.leaves(tree).items():
            kind, form = "string", partial(cells.strings_form, values, len(values))
            if not isinstance(values[0], bytes | str):
                kind, array = np.asarray(values[0]).dtype.name, np.array(values[:_MAX_EXAMINED])
                form = partial(cells.array_form, array, n_values=len(values))
            yield "", path, kind, f"{len(values):,}", form
    elif content.message is not None:
        for section in outline.sections(content.message, None, restored):
            sizes = _sizes(section.rows)
            for row in section.rows:
                form = partial(_row_form, row, sizes, cells)
                yield section.title, row.name, row.kind, row.size_text, form
    elif content.record:
        n_bytes = plural(len(content.record), "byte")
        yield "", "content", str(content.type), n_bytes, partial(cells.bytes_form, content.record)


def _row_form(row: outline.Row, sizes: Mapping[str, int], cells: Cells) -> Form:
    """Show a feature, or the steps of a list; `sizes` say how the pixels beside them lie."""
    if row.restored is not None:
        return cells.array_form(row.restored, sizes)
    if not row.is_list:
        return _feature_form(row.steps[0], sizes, cells)
    forms = [_feature_form(step, {}, cells) for step in row.steps[: cells.max_steps]]
    return cells.steps_form(forms, len(row.steps))


def n_characters(*parts: str) -> int:
    """Return the characters of markup, without pictures and sounds, which count as bytes."""
    embedded = sum(len(match[0]) for part in parts for match in _EMBEDDED.finditer(part))
    return sum(map(len, parts)) - embedded


def _feature_form(feature: Feature, sizes: Mapping[str, int], cells: Cells) -> Form:
    values: Any = outline.values_of(feature)
    if outline.kind_of(feature) == "string":
        return cells.strings_form(values, len(values), sizes)
    dtype = np.float32 if outline.kind_of(feature) == "float32" else np.int64
    return cells.array_form(np.array(values[:_MAX_EXAMINED], dtype), sizes, len(values))


def _sizes(rows: list[outline.Row]) -> dict[str, int]:
    """Return the features of one integer that may say how the pixels of others lie."""
    rows = [row for row in rows if row.name in SIZE_NAMES and not row.is_list]
    known = {row.name: outline.values_of(row.steps[0]) for row in rows}
    return {name: v[0] for name, v in known.items() if len(v) == 1 and isinstance(v[0], int)}
