"""``tfrecord cat``: print all records of each file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs, printing
from tfrecord_lite.cli.progress import reading
from tfrecord_lite.progress import is_terminal

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records

DESCRIPTION = """\
Print all records of each file, as head does the first ones. Of a damaged file, the records
before the damage are printed; with --skip-damage, those after it too."""
EPILOG = f"""\
examples:
  tfrecord cat train.tfrecord | less
  tfrecord cat --json 'train-*.tfrecord' > train.jsonl
  zcat train.tfrecord.gz | tfrecord cat -

{printing.JSON_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    printing.add_arguments(parser)
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the records."""
    sources = inputs.find(args, console)
    printer = printing.Printer(console, args, with_names=len(sources) > 1)

    def print_all(stream: Records) -> None:
        printer.next_file()
        while (records := stream.next_records()) is not None:
            for index, record in enumerate(records, stream.n_records - len(records)):
                printer.print(record, index, stream.name)
            progress.show(stream)

    is_file = not is_terminal(sys.stdout)
    with reading(sources, is_shown=is_file) as progress:
        inputs.for_each_skipping(sources, args, console, print_all)
