"""``tfrecord cat``: print all records of each file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.display import JSON_HELP
from tfrecord_lite.cli.head import Printer, add_form_arguments, first_records
from tfrecord_lite.progress import is_terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

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

{JSON_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_form_arguments(parser)
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the records."""
    sources = inputs.find(args, console)
    printer = Printer(console, args, with_names=len(sources) > 1)

    def print_all(stream: Records, progress: Callable[[], None]) -> None:
        printer.begin()
        for number, record in first_records(stream, None, progress):
            printer.show(record, number, stream.name)

    inputs.for_each(sources, args, console, print_all, is_shown=not is_terminal(sys.stdout))
