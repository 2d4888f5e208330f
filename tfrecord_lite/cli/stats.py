"""``tfrecord stats`` and ``diff``: how the values of each feature are distributed, and where that differs."""

from __future__ import annotations

import argparse
import math
import shutil
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs, style
from tfrecord_lite.cli.console import Console, Status
from tfrecord_lite.cli.display import bytes_text
from tfrecord_lite.cli.inputs import Records
from tfrecord_lite.cli.style import aligned
from tfrecord_lite.errors import DataLossError, TFRecordError, plural
from tfrecord_lite.progress import Meter, metered, title_of
from tfrecord_lite.schema.text import nearest, shown_name

if TYPE_CHECKING:
    from tfrecord_lite.apps.statistics import (
        Distribution,
        FeatureStatistics,
        Statistics,
        StringStatistics,
    )
    from tfrecord_lite.apps.statistics.sampling import Sample
    from tfrecord_lite.apps.statistics.statistics import Collector


def add_stats(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object")
    inputs.add_columns(parser, "show these features only")
    text = "take about N records from all over the files; small files are read whole"
    inputs.add(parser, "--sample N", text, inputs.count_of("records"))
    inputs.add_files(parser)


def run_stats(args: argparse.Namespace, console: Console) -> None:
    """Show how the values of each feature are distributed.

    Shown are of numbers the range, mean, standard deviation, median and a histogram, of byte strings the most
    frequent ones and what they are. All files are one data set.

    examples:
      tfrecord stats --columns label,age 'train-*.tfrecord'
      tfrecord stats --sample 10000 train@1024
      tfrecord stats --json train.tfrecord | jq .features.age.numbers.mean
    """
    from tfrecord_lite.apps.statistics.statistics import Collector  # noqa: PLC0415 - loads the engine

    collector = Collector(skip_malformed=args.skip_damage)
    sample = None

    def add_records(stream: Records, progress: Callable[[], None]) -> None:
        while (block := stream.next_block()) is not None:
            collector.add(block)
            progress()

    sources = inputs.find(args, console)
    if args.sample is None:
        inputs.for_each(sources, args, console, add_records)
    elif sources:
        with metered(None, title_of(sources), "bytes") as meter:
            sample = _add_sample(collector, sources, args, console, meter)
    _complain_of_malformed(collector, console)
    statistics = collector.statistics()
    if sources and (statistics.num_records or not console.status):
        _show(statistics, sample, args, console)


def _complain_of_malformed(collector: Collector, console: Console) -> None:
    """Report the records that were left out, if any were."""
    if collector.malformed:
        left_out = f"left out {plural(len(collector.malformed), 'malformed record')}"
        console.complain(f"{left_out}; the first: {collector.malformed[0]}", Status.FAILED)


def _add_sample(
    collector: Collector,
    sources: list[Any],
    args: argparse.Namespace,
    console: Console,
    meter: Meter,
) -> Sample | None:
    """Draw a sample and examine it; report what fails."""
    from tfrecord_lite.apps.statistics.sampling import draw_sample  # noqa: PLC0415 - not light

    options = inputs.settings_of(args)
    try:
        sample = draw_sample(sources, num_records=args.sample, options=options, meter=meter)
    except (OSError, ImportError, ValueError) as error:
        inputs.complain_of(error, str(args.files[0]), console)
        return None
    try:
        meter.expect_more(sum(block.nbytes for block in sample.blocks))
        for block in sample.blocks:
            collector.add(block)
            meter.advance(block.nbytes)
    except TFRecordError as error:
        inputs.complain_of(error, str(args.files[0]), console)
    inputs.complain_of_skipped(sample.report, console)
    for file in sample.report.files:
        if file.failure is not None:
            inputs.complain_of(file.failure, file.source, console)
    return sample


def _show(
    statistics: Statistics, sample: Sample | None, args: argparse.Namespace, console: Console
) -> None:
    """Print the statistics as text or JSON."""
    chosen = set(statistics)
    if args.columns is not None:
        for name in args.columns:
            if name not in statistics:
                console.complain(f"--columns: no feature {name!r}{nearest(name, statistics)}")
        chosen = set(args.columns).intersection(statistics)
        if not chosen:
            return
    if args.json:
        console.say_json(_as_json(statistics, sample, chosen))
        return
    n_features = plural(len(statistics), "feature")
    console.say(f"{plural(statistics.num_records, 'record')}, {n_features}{_sample_text(sample)}")
    width = shutil.get_terminal_size((100, 24)).columns
    for line in _lines(statistics, chosen, width, has_blocks=console.is_utf8):
        console.say(line)


def _as_json(statistics: Statistics, sample: Sample | None, chosen: set[str]) -> dict[str, Any]:
    described = statistics.describe()
    for section in ("features", "context", "feature_lists"):
        if section in described:
            features = described[section]
            described[section] = {name: features[name] for name in features if name in chosen}
    drawn = sample and {
        "method": sample.method,
        "is_whole": sample.is_whole,
        "total_records": sample.num_records,
    }
    return {**described, "sample": drawn}


def _sample_text(sample: Sample | None) -> str:
    """Say how the records were chosen, and of how many if that is known."""
    if sample is None or sample.is_whole:
        return ""
    total = "" if sample.num_records is None else f", of {sample.num_records:,}"
    return f"; {sample.method}{total}"


# -------------------------------------------------------------------------------- table

_BINS = 10
_BLOCKS = "▁▂▃▄▅▆▇█"
_MAX_TOP, _MAX_STRING = 5, 24
_INDENT = "    "
_SMALL, _LARGE = 1e-4, 10**12
"""Numbers outside of these have an exponent."""
_FIGURES = "min", "mean", "std", "median", "max", "zeros", "NaN", "infinite"
_COLUMNS = "name", "kind", "records", "steps", "length", "histogram", *_FIGURES
_LEFT_OUT = "std", "histogram", "median", "mean", "zeros", "NaN", "infinite", "steps", "records"
"""The columns that narrower terminals do without, one after the other."""


def _lines(
    statistics: Statistics, chosen: set[str], width: int, *, has_blocks: bool
) -> Iterator[str]:
    """Yield the lines about these features; `has_blocks` is for histograms of block characters."""
    sections = (
        ("context:" * statistics.is_sequence, statistics.features),
        ("feature lists:", statistics.feature_lists),
    )
    for title, features in sections:
        shown = {name: found for name, found in features.items() if name in chosen}
        if not shown:
            continue
        yield ""
        if title:
            yield style.heading(title)
        cells = [
            _cells(name, found, statistics.num_records, has_blocks=has_blocks)
            for name, found in shown.items()
        ]
        head, *rows = _laid_out(cells, width)
        yield style.heading(head)
        for line, found in zip(rows, shown.values(), strict=True):
            yield line
            if found.strings is not None:
                text = ", ".join(_string_texts(found.strings))
                indents: Any = {"initial_indent": _INDENT, "subsequent_indent": _INDENT}
                yield from textwrap.wrap(text, width, break_on_hyphens=False, **indents)


def _laid_out(cells: list[dict[str, str]], width: int) -> list[str]:
    """Return the head and the line of each feature, with as many columns as the width has room for."""
    columns = [name for name in _COLUMNS if any(row.get(name) for row in cells)]
    for left_out in ("", *_LEFT_OUT):
        columns = [name for name in columns if name != left_out]
        sides = "".join(">" if name in _FIGURES else "<" for name in columns)
        rows = [[row.get(name, "") for name in columns] for row in cells]
        lines = aligned([columns, *rows], sides)
        if max(map(style.width, lines)) <= width:
            break
    return lines


def _cells(
    name: str, found: FeatureStatistics, n_records: int, *, has_blocks: bool
) -> dict[str, str]:
    """Return what there is to say of one feature, by column."""
    share = 100 * found.num_records / max(n_records, 1)
    cells = {
        "name": style.name(shown_name(name)),
        "kind": "/".join(kind.label for kind in found.kinds) or "none",
        "records": "all"
        if found.num_records == n_records
        else f"{found.num_records:,} ({share:.1f} %)",
        "steps": "" if found.steps is None else _range(found.steps),
        "length": _range(found.lengths),
    }
    numbers = found.numbers
    if numbers is None:
        return cells
    figures = (numbers.min, numbers.mean, numbers.std, numbers.quantile(0.5), numbers.max)
    counts = (numbers.num_zeros, numbers.num_nan, numbers.num_inf)
    texts = [
        *("" if figure is None else _number(figure) for figure in figures),
        *(_percent(count, numbers.count) if count else "" for count in counts),
    ]
    drawn = _blocks(numbers) if has_blocks and numbers.num_finite else ""
    return {**cells, "histogram": drawn, **dict(zip(_FIGURES, texts, strict=True))}


def _range(numbers: Distribution) -> str:
    if numbers.min is None or numbers.max is None:
        return ""
    low, high = _number(numbers.min), _number(numbers.max)
    return low if low == high else f"{low} .. {high}"


def _number(number: float) -> str:
    """Return a number with four digits, and all that it has before the point unless it is huge."""
    size = abs(number)
    if isinstance(number, int) and size < _LARGE:
        return f"{number:,}"
    if not math.isfinite(number) or size >= _LARGE or 0 < size < _SMALL:
        return f"{number:.4g}"
    return f"{number:,.0f}" if size >= 1000 else f"{number:.4g}"


def _percent(count: int, total: int) -> str:
    """Return a share; one that is not all or nothing does not look like it."""
    share = 100 * count / max(total, 1)
    shown = f"{share:.1f} %"
    return {"0.0 %": "< 0.1 %", "100.0 %": "100 %" if count == total else "> 99.9 %"}.get(
        shown, shown
    )


def _blocks(numbers: Distribution) -> str:
    """Draw a histogram in one line; a bin that is not empty is never as low as one that is."""
    counts, _ = numbers.histogram(_BINS)
    most = max(int(counts.max()), 1)
    return "".join(_BLOCKS[-(-count * 7 // most)] for count in counts.tolist())


def _string_texts(strings: StringStatistics) -> list[str]:
    """Return what there is to say of byte strings."""
    low, high = strings.lengths.min, strings.lengths.max
    texts = [plural(int(low or 0), "byte") if low == high else f"{low:,} .. {high:,} bytes"]
    looked_at = sum(strings.contents.values())
    contents = sorted(strings.contents.items(), key=lambda item: (-item[1], item[0]))
    if len(contents) == 1:
        texts += [contents[0][0]] * (contents[0][0] != "bytes")
    else:
        texts += [f"{name} {_percent(count, looked_at)}" for name, count in contents[:4]]
    num_distinct = strings.num_distinct
    if num_distinct is not None:
        texts.append(f"{num_distinct:,} different")
    are_few = num_distinct is not None and num_distinct <= _MAX_TOP
    total = strings.lengths.count
    texts += [
        f"{bytes_text(value, _MAX_STRING)} {_percent(count, total)}"
        for value, count in strings.top(_MAX_TOP)
        if count > 1 or are_few
    ]
    return texts


# ----------------------------------------------------------------------------------- diff


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object")
    inputs.add(parser, "--no-records", "compare distributions only, not the records one by one")
    text = "allow differences up to this one; may be repeated"
    more: Any = {"action": "append", "default": []}
    inputs.add(parser, "--threshold NAME=VALUE", text, _threshold, **more)
    inputs.add(parser, "a A", "a path, a URL, a pattern or shards; - for standard input")
    inputs.add(parser, "b B", "the same of the other data set")
    inputs.add_reading(parser, can_skip=True)


def _threshold(text: str) -> tuple[str, float]:
    """Parse a name and a number."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        detail = f"{text!r} is not a threshold, such as distance=0.01"
        raise argparse.ArgumentTypeError(detail) from None


def run_diff(args: argparse.Namespace, console: Console) -> None:
    """Compare two data sets: schemas, statistics, records.

    Compared are the features and their specifications, how their values are distributed, and if both have
    equally many records, these one by one. A says what to expect, and B is judged.

    examples:
      tfrecord diff old.tfrecord new.tfrecord
      tfrecord diff --no-records --threshold distance=0.01 train@8 eval.tfrecord
      tfrecord diff --json a.tfrecord b.tfrecord | jq '.findings[].feature'

    thresholds, each a share or a distance from 0 to 1:
      presence    0.05  of records that have the feature
      distance    0.05  of two distributions
      range       0.01  of numbers outside of A's range
      new_values  0.001 of values that A, with few different ones, never has

    exit status: 0 if the data sets are the same within the thresholds, 1 if they differ, 2 after an
    error, damage too.
    """
    from tfrecord_lite.apps.statistics.comparison import compare  # noqa: PLC0415 - loads the engine
    from tfrecord_lite.reader import reader_with  # noqa: PLC0415 - as the next one

    thresholds = dict(args.threshold)
    if args.a == args.b == "-":
        console.complain("only one of A and B can be standard input")
        return
    options = inputs.settings_of(args)
    a, b = (reader_with(inputs.source_of(name), options) for name in (args.a, args.b))
    try:
        comparison = compare(a, b, records=not args.no_records, thresholds=thresholds)
    except DataLossError as error:
        console.complain(str(error))  # 1 is for data sets that differ
        return
    for reader in (a, b):
        if reader.report is not None and reader.report.num_damaged:
            inputs.complain_of_skipped(reader.report, console)
            console.worsen(Status.FAILED)
    if args.json:
        console.say_json(comparison.describe())
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        title, *lines = comparison.lines(width)
        console.say(style.heading(title))
        for line in style.table(lines, has_names=True):
            console.say(line)
    if not comparison.is_same:
        console.worsen(Status.DAMAGED)
