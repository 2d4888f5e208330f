"""``tfrecord cat``: all records of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs, show

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records

SUMMARY = "print all records"
DESCRIPTION = """\
Print all records of each file, as head does the first ones. Records before a damaged one
are printed; then the next file's, or with --skip-damage those behind it."""
EPILOG = f"""\
examples:
  tfrecord cat train.tfrecord | less
  tfrecord cat --json 'train-*.tfrecord' > train.jsonl
  zcat train.tfrecord.gz | tfrecord cat -

{show.JSON_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    show.add_arguments(parser)
    inputs.add_skipping_argument(parser)
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print them."""
    sources = inputs.find(args, console)
    printer = show.Printer(console, args, with_names=len(sources) > 1)

    def work(stream: Records) -> None:
        printer.next_file()
        while (records := stream.next_records()) is not None:
            for index, record in enumerate(records, stream.n_records - len(records)):
                printer.print(record, index, stream.name)

    inputs.for_each_going_on(sources, args, console, work)
