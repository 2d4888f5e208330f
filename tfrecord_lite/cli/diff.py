"""``tfrecord diff``: compare two data sets, and exit with 1 if they differ."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs, style
from tfrecord_lite.cli.console import Status
from tfrecord_lite.errors import DataLossError

if TYPE_CHECKING:
    from tfrecord_lite.cli.console import Console

HELP = """\
Compare two data sets: the features and their specifications, how their values are distributed, and
if both have equally many records, these one by one. A says what to expect, and B is judged.

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
error, damage too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def run(args: argparse.Namespace, console: Console) -> None:
    """Compare the data sets."""
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
    _show(comparison, args, console)


def _show(comparison: Any, args: argparse.Namespace, console: Console) -> None:
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
