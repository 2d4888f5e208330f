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

DESCRIPTION = """\
Compare tf.train.Example or tf.train.SequenceExample records of two data sets, each a path, a
pattern in quotes, or shards (train@10). A says what to expect, and B is judged: print both
sides of each feature that only one has, whose kind or specification differs, or whose values
are distributed otherwise; and if both have equally many records, how many hold different
values, and those of the first. The order in which a program wrote the features does not
matter."""
EPILOG = """\
thresholds (--threshold NAME=VALUE, which may be repeated):
  presence    0.05  of the shares of records that have the feature
  distance    0.05  of numbers and of lengths, the Jensen-Shannon divergence from 0 to 1, over
                    ten bins or a few different integers; of byte strings, the largest
                    difference of the two shares of a value or of a format (JPEG, text, ...)
  range       0.01  the share of numbers that are outside of A's range
  new_values  0.001 the share of values that A, with few different ones, never has

Two small samples of the same data differ by more than two large ones.
Byte strings of more than 64 bytes are compared by their lengths and formats only, but when
records are compared one by one. That needs files that can be read twice: for pipes, and for -,
give --no-records.

examples:
  tfrecord diff old.tfrecord new.tfrecord
  tfrecord diff --no-records 'monday-*.tfrecord' 'tuesday-*.tfrecord' && publish
  tfrecord diff --no-records --threshold distance=0.01 train@8 eval.tfrecord
  tfrecord diff --json a.tfrecord b.tfrecord | jq '.findings[].feature'

with --json, one object: same (true or false), data (name and records of each), findings (what,
feature or null, detail, first and second in short, and distance and threshold or null) and
records (records, different, by_feature and the first differences; null if they were not
compared). what is "missing feature", "new feature", "kind", "specification", "presence",
"lengths", "steps", "numbers", "strings", "string lengths", "contents", "new values", "range",
"not finite" or "records"."""
STATUSES = """\
exit status: 0 if the data sets are the same within the thresholds, 1 if they differ, 2 if a file is
damaged, could not be read or does not hold Examples, or the arguments are wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object")
    parser.add_argument(
        "--no-records",
        action="store_true",
        help="do not compare the records one by one, only how they are distributed",
    )
    parser.add_argument(
        "--threshold",
        action="append",
        default=[],
        type=_threshold,
        metavar="NAME=VALUE",
        help="allow differences up to this one; see below",
    )
    for name in ("a", "b"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help="a path, a URL, a pattern or shards; one of them may be - for standard input",
        )
    inputs.add_reading_arguments(parser, can_skip=True)


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
    from tfrecord_lite.apps.statistics.drift import Thresholds  # noqa: PLC0415
    from tfrecord_lite.reader import reader_with  # noqa: PLC0415 - as the next one

    thresholds = dict(args.threshold)
    Thresholds.of(thresholds)
    if args.a == args.b == "-":
        console.complain("only one of A and B can be standard input")
        return
    if "-" in (args.a, args.b) and not args.no_records:
        console.complain("standard input can be read only once; give --no-records")
        return
    options = inputs.settings_of(args)
    a, b = (reader_with(inputs.source_of(name), options) for name in (args.a, args.b))
    try:
        comparison = compare(a, b, records=not args.no_records, thresholds=thresholds)
    except DataLossError as error:
        console.complain(str(error))  # 1 is for data sets that differ
        return
    for reader in (a, b):
        if reader.report is not None and reader.report.n_damaged:
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
