"""Printing records: what ``head`` and ``cat`` share."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tfrecord_lite.cli.content import Kind, tell
from tfrecord_lite.cli.display import record_lines
from tfrecord_lite.cli.jsonlines import json_line, json_of
from tfrecord_lite.cli.table import plural

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

_UNLIKELY = (Kind.EMPTY, Kind.UNKNOWN)  # say nothing about the records that follow

JSON_HELP = """\
with --json, one object a line:
  an Example            {"name": [values], ...}   null for a feature with no kind set
  a SequenceExample     {"context": {...}, "feature_lists": {"name": [[values], ...]}}
  any other record      {"text": "..."} or {"base64": "..."}
Bytes are a string if they are text (UTF-8 without control characters but tab and line
ends), else {"base64": "..."}. A float JSON has no number for is {"float": "NaN"}."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how to print."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object a record, one a line")
    form.add_argument("--full", action="store_true", help="leave nothing out, however long")


class Printer:
    """Prints the records of one file after the other.

    Parameters
    ----------
    console : Console
        Where to.
    args : Namespace
        With what :func:`add_arguments` declares.
    with_names : bool
        Say which file a record is of.
    """

    def __init__(self, console: Console, args: argparse.Namespace, *, with_names: bool) -> None:
        self._console = console
        self._as_json: bool = args.json
        self._width = None if args.full else shutil.get_terminal_size((100, 24)).columns
        self._with_names = with_names
        self._likely: Kind | None = None
        self._n_printed = 0

    def next_file(self) -> None:
        """Forget what the file before held."""
        self._likely = None

    def print(self, record: bytes, index: int, name: str) -> None:
        """Print the record of this number in the file of this name."""
        content = tell(record, self._likely)
        if content.kind not in _UNLIKELY:
            self._likely = content.kind
        say = self._console.say
        if self._as_json:
            say(json_line(json_of(content), is_ascii=self._console.is_ascii))
            return
        if self._n_printed:
            say()
        self._n_printed += 1
        of = f" of {name}" if self._with_names else ""
        say(f"record {index}{of}: {content.kind}, {plural(len(record), 'byte')}")
        for line in record_lines(content, self._width):
            say(line)
