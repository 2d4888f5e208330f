"""Print records one by one, as text or JSON: shared by ``head`` and ``cat``."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tfrecord_lite.cli import style
from tfrecord_lite.cli.display import record_lines
from tfrecord_lite.cli.jsonlines import json_of
from tfrecord_lite.errors import plural
from tfrecord_lite.example.content import ContentType, detect

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.example.content import Content

_NO_HINT = (ContentType.EMPTY, ContentType.UNKNOWN)  # say nothing about the records that follow

_HINTS = {ContentType.EVENT: " (tfrecord_lite.read_events reads these)"}
"""What to say of the first of some records."""

JSON_HELP = """\
with --json, one object per line:
  an Example            {"name": [values], ...}   null for a feature with no kind set
  a SequenceExample     {"context": {...}, "feature_lists": {"name": [[values], ...]}}
  any other record      {"text": "..."} or {"base64": "..."}
Bytes are a string if they are text (UTF-8 without control characters except tab and line
ends), otherwise {"base64": "..."}. A float that JSON cannot express is {"float": "NaN"}."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how to print."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object per record")
    form.add_argument("--full", action="store_true", help="print everything, however long")


class Printer:
    """Prints the records of one file after the other, as `add_arguments` declares.

    `choose` may take features out of a message before it is printed; `pictures` draws its
    images after it.
    """

    def __init__(
        self,
        console: Console,
        args: argparse.Namespace,
        *,
        with_names: bool,
        choose: Callable[[Content], None] | None = None,
        pictures: Callable[[Content], None] | None = None,
    ) -> None:
        self._console = console
        self._choose = choose
        self._pictures = pictures
        self._as_json: bool = args.json
        self._width = None if args.full else shutil.get_terminal_size((100, 24)).columns
        self._with_names = with_names
        self._likely: ContentType | None = None
        self._n_printed = 0

    def next_file(self) -> None:
        """Forget what the previous file held."""
        self._likely = None

    def print(self, record: bytes, index: int, name: str) -> None:
        """Print a record, given its number in the file and the file's name."""
        content = detect(record, self._likely)
        is_new = content.type is not self._likely
        if content.type not in _NO_HINT:
            self._likely = content.type
        if self._choose is not None:
            self._choose(content)
        if self._as_json:
            self._console.say_json(json_of(content))
            return
        say = self._console.say
        if self._n_printed:
            say()
        self._n_printed += 1
        of = f" of {name}" if self._with_names else ""
        hint = _HINTS.get(content.type, "") if is_new else ""
        label = style.heading(f"record {index}{of}")
        say(label + f": {content.type}, {plural(len(record), 'byte')}{hint}")
        for line in record_lines(content, self._width):
            say(line)
        if self._pictures is not None:
            self._pictures(content)
