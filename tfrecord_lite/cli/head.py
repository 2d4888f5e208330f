"""``tfrecord head``: the first records of each file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs, show

if TYPE_CHECKING:
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records

SUMMARY = "print the first records"
DESCRIPTION = """\
Print the first records of each file: an Example or SequenceExample by its features (name,
kind, number of values, values), text as text, and anything else as hex. What is long is
cut to fit; --full and --json leave nothing out."""
EPILOG = f"""\
examples:
  tfrecord head train.tfrecord
  tfrecord head -n 1 --full train.tfrecord
  tfrecord head -n 100 --json 'train-*.tfrecord' | jq .label

{show.JSON_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-n", type=_count, default=3, metavar="N", help="so many records of each file (default: 3)"
    )
    show.add_arguments(parser)
    inputs.add_skipping_argument(parser)
    inputs.add_arguments(parser)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of records")
    return int(text)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print them."""
    sources = inputs.find(args, console)
    printer = show.Printer(console, args, with_names=len(sources) > 1)

    def work(stream: Records) -> None:
        printer.next_file()
        left = args.n
        while left and (records := stream.next_records()) is not None:
            first = stream.n_records - len(records)
            for index, record in enumerate(records[:left], first):
                printer.print(record, index, stream.name)
            left -= min(left, len(records))

    inputs.for_each_going_on(sources, args, console, work)
