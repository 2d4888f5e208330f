"""``tfrecord head``: print the first records of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs, printing

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records

SUMMARY = "print the first records"
DESCRIPTION = """\
Print the first records of each file: an Example or SequenceExample by its features (name,
kind, number of values, values), text as text, and anything else as hex. Long values are cut
to fit; --full and --json print everything."""
EPILOG = f"""\
examples:
  tfrecord head train.tfrecord
  tfrecord head -n 1 --full train.tfrecord
  tfrecord head -n 100 --json 'train-*.tfrecord' | jq .label

{printing.JSON_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-n",
        type=inputs.count_of("records", at_least=0),
        default=3,
        metavar="N",
        help="number of records to print per file (default: 3)",
    )
    printing.add_arguments(parser)
    inputs.add_skipping_argument(parser)
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the records."""
    sources = inputs.find(args, console)
    printer = printing.Printer(console, args, with_names=len(sources) > 1)

    def print_first(stream: Records) -> None:
        printer.next_file()
        left = args.n
        while left and (records := stream.next_records()) is not None:
            first = stream.n_records - len(records)
            for index, record in enumerate(records[:left], first):
                printer.print(record, index, stream.name)
            left -= min(left, len(records))

    inputs.for_each_skipping(sources, args, console, print_first)
