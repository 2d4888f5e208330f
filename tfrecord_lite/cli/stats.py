"""``tfrecord stats``, ``diff`` and ``schema``: how values are distributed, where that differs, and how to parse them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfrecord_lite import extension as ext
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, Status, ragged_notes, terminal_width
from tfrecord_lite.cli.inputs import Records
from tfrecord_lite.errors import DataLossError, InvalidArgumentError
from tfrecord_lite.progress import Meter, metered, title_of
from tfrecord_lite.texts import nearest, plural

if TYPE_CHECKING:
    from tfrecord_lite.apps.statistics import Statistics
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

    Shown are of numbers the range, mean, standard deviation (divided by their count), median (the lower of two in the
    middle) and a histogram, of byte strings the most frequent ones and what they are. All files are one data set.

    examples:
      tfrecord stats --columns label,age 'train-*.tfrecord'
      tfrecord stats --sample 10000 train@1024
      tfrecord stats --json train.tfrecord | jq .features.age.numbers.mean
    """
    from tfrecord_lite.apps.statistics.statistics import Collector  # noqa: PLC0415 - loads the engine

    sources = inputs.find(args, console)
    originals = ext.originals_of(sources, inputs.settings_of(args))
    collector = Collector(originals, skip_malformed=args.skip_damage)
    sample = None

    def add_records(stream: Records, progress: Callable[[], None]) -> None:
        while (block := stream.next_block()) is not None:
            collector.add(block)
            progress()

    if args.sample is None:
        inputs.for_each(sources, args, console, add_records)
    elif sources:
        with metered(None, title_of(sources), "bytes") as meter:
            sample = _add_sample(collector, sources, args, console, meter)
    if malformed := collector.malformed:
        left_out = f"left out {plural(len(malformed), 'malformed record')}"
        console.complain(f"{left_out}; the first: {malformed[0]}", Status.FAILED)
    statistics = collector.statistics()
    if sources and (statistics.num_records or not console.status):
        _show(statistics, sample, args, console)


def _add_sample(
    collector: Collector, sources: Any, args: argparse.Namespace, console: Console, meter: Meter
) -> ext.Sample | None:
    options, sample = inputs.settings_of(args), None
    with inputs.reported(str(args.files[0]), console):
        sample = ext.draw_sample(sources, num_records=args.sample, options=options, meter=meter)
    if sample is None:
        return None
    with inputs.reported(str(args.files[0]), console):
        meter.expect_more(sum(block.nbytes for block in sample.blocks))
        for block in sample.blocks:
            collector.add(block)
            meter.advance(block.nbytes)
    inputs.complain_of_skipped(sample.report, console)
    for file in sample.report.files:
        if file.failure is not None:
            inputs.complain_of(file.failure, file.source, console)
    return sample


def _show(
    statistics: Statistics, sample: ext.Sample | None, args: argparse.Namespace, console: Console
) -> None:
    chosen = set(statistics)
    if args.columns is not None:
        for name in args.columns:
            if name not in statistics:
                hint = nearest(name, statistics) if statistics.num_records else ": no records"
                console.complain(f"--columns: no feature {name!r}{hint}")
        chosen = set(args.columns).intersection(statistics)
        if not chosen:
            return
    if args.json:
        console.say_json(_as_json(statistics, sample, chosen))
        return
    title = f"{plural(statistics.num_records, 'record')}, {plural(len(statistics), 'feature')}"
    if sample is not None and not sample.is_whole:
        total = "" if sample.num_records is None else f", of {sample.num_records:,}"
        title += f"; {sample.method}{total}"
    if console.status == Status.DAMAGED and not args.skip_damage and sample is None:
        title += " (before the damage)"
    console.say(title)
    console.say_lines(statistics.lines(terminal_width(), chosen, has_blocks=console.is_utf8))
    console.say_lines(ragged_notes(sorted(chosen)))


def _as_json(statistics: Statistics, sample: ext.Sample | None, chosen: set[str]) -> Any:
    described = statistics.describe()
    for section in ("features", "context", "feature_lists"):
        if section in described:
            features = described[section]
            described[section] = {name: features[name] for name in features if name in chosen}
    if sample is None:
        return {**described, "sample": None}
    drawn: dict[str, Any] = {"method": sample.method, "is_whole": sample.is_whole}
    return {**described, "sample": {**drawn, "total_records": sample.num_records}}


# ----------------------------------------------------------------------------------- diff


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object")
    inputs.add(parser, "--no-records", "compare distributions only, not the records one by one")
    text = "allow differences up to this one; may be repeated"
    inputs.add(parser, "--threshold NAME=VALUE", text, _threshold, action="append", default=[])
    inputs.add(parser, "a A", "a path, a URL, a pattern or shards; - for standard input")
    inputs.add(parser, "b B", "the same of the other data set")
    inputs.add_reading(parser, can_skip=True)


def _threshold(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        detail = f"{text!r} is not a threshold, such as distance=0.01"
        raise argparse.ArgumentTypeError(detail) from None


def run_diff(args: argparse.Namespace, console: Console) -> None:
    """Compare two data sets: schemas, statistics, records.

    Compared are the features and their specifications, how their values are distributed, the number of
    records, and if both have equally many, these one by one. A says what to expect, and B is judged.

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
    from tfrecord_lite.reader import reader_with  # noqa: PLC0415 - the same

    thresholds = dict(args.threshold)
    if args.a == args.b == "-":
        console.complain("only one of A and B can be standard input")
        return
    options = inputs.settings_of(args)
    a, b = (reader_with(inputs.sources_of(name), options) for name in (args.a, args.b))
    try:
        comparison = compare(a, b, records=not args.no_records, thresholds=thresholds)
    except DataLossError as error:
        inputs.complain_of(error, args.a, console)
        console.worsen(Status.FAILED)  # 1 is for data sets that differ
        return
    for reader in (a, b):
        if reader.report is not None and reader.report.num_damaged:
            inputs.complain_of_skipped(reader.report, console)
            console.worsen(Status.FAILED)
    if args.json:
        console.say_json(comparison.describe())
    else:
        console.say_lines(str(comparison).splitlines())
    if not comparison.is_same:
        console.worsen(Status.DAMAGED)


# --------------------------------------------------------------------------------- schema


def add_schema(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "the schema as one line of JSON")
    inputs.add_limit(parser, "read the first N records only")
    text = "how to parse features of varying length: as RaggedFeature (the default), VarLenFeature or FixedLenSequenceFeature"
    choices = ("ragged", "varlen", "padded")
    inputs.add(parser, "--variable", text, choices=choices, default="ragged")
    inputs.add_files(parser)


def run_schema(args: argparse.Namespace, console: Console) -> None:
    """Infer the features of all records, and how to parse them.

    Shown are the kind of each feature, how many records have it, the number of its values and their range;
    then the schema that parses them. All files are one data set.

    examples:
      tfrecord schema 'train-*.tfrecord'
      tfrecord schema --limit 1000 train@10
      tfrecord schema --json train.tfrecord > train.tfrecord.schema.json
    """
    survey = ext.Survey()
    left: int | None = args.limit

    def add_records(stream: Records, progress: Callable[[], None]) -> None:
        nonlocal left
        while left != 0 and (block := stream.next_block(left)) is not None:
            survey.add(block)
            left = None if left is None else left - len(block)
            progress()

    sources = inputs.find(args, console)
    inputs.for_each(sources, args, console, add_records, is_shown=left is None)
    summary = survey.summary() if sources else None
    if summary is None or (not summary.n_records and console.status):
        return  # the reason has been reported
    if not args.json:
        examples: Any = getattr(summary, "context", summary)
        console.say_lines([*str(summary).split("\n"), *ragged_notes(examples)])
    try:
        schema = summary.schema(variable=args.variable)
    except InvalidArgumentError as error:
        console.complain(str(error))
        return
    if args.json:
        console.say_json({**json.loads(schema.to_json()), "summary": summary.describe()})
    else:
        console.say_lines(["", *str(schema).split("\n")])
