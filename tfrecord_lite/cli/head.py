"""``tfrecord head``: print the first records of each file, or those of some numbers."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from tfrecord_lite.cli import inputs, style
from tfrecord_lite.cli.display import JSON_HELP, json_of, record_lines
from tfrecord_lite.cli.images import ImageFiles, can_draw, draw_all
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, plural
from tfrecord_lite.example.content import ContentType, ExampleList, detect, is_sequence
from tfrecord_lite.files.names import INDEX_SUFFIX
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.example.content import Message

    Numbered: TypeAlias = Iterator[tuple[int, bytes]]

DESCRIPTION = """\
Print the first records of each file, or those given by --record: an Example or SequenceExample
by its features (name, kind, number of values, values), text as text, images, sounds and
tensors by what they are (JPEG 640 x 480, 42.1 KiB), and anything else as hex. Long values are
cut to fit; --full and --json print everything."""
EPILOG = f"""\
examples:
  tfrecord head train.tfrecord
  tfrecord head -n 1 --full train.tfrecord
  tfrecord head --record 1000 --record -1 train.tfrecord     one of them, and the last
  tfrecord head --columns label,name train.tfrecord
  tfrecord head -n 1 --images train.tfrecord                 with its pictures
  tfrecord head -n 9 --image image/encoded -o pictures train.tfrecord
  tfrecord head -n 100 --json 'train-*.tfrecord' | jq .label

--images draws the images in records below them, in coloured half blocks, on a terminal that has
colours. It needs pip install 'tfrecord-numpy[image]'.

{JSON_HELP}
with --image, an object per file written (file, record, image, format, bytes, width, height)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-n",
        type=inputs.count_of("records", at_least=0),
        default=3,
        metavar="N",
        help="number of records to print per file (default: 3)",
    )
    which.add_argument(
        "--record",
        type=_numbers,
        action="extend",
        metavar="N",
        help="print record N of each file instead, counted from 0, or from the end if negative; "
        "may be repeated, or be a list (--record=0,7,-1). They are printed once, in the order of the "
        "file, those counted from its end last. An index beside the file is used",
    )
    inputs.add_columns(parser, "these features only")
    parser.add_argument("--images", action="store_true", help="draw images below their records")
    parser.add_argument(
        "--image",
        metavar="KEY",
        help="do not print records, but write the encoded images, sounds or films of this feature, "
        "as they are, to files in the folder of -o",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder for --image")
    add_form_arguments(parser)
    inputs.add_arguments(parser)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        detail = f"{text!r} is not the number of a record, such as 7 or -1"
        raise argparse.ArgumentTypeError(detail) from None


def add_form_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how to print records."""
    form = parser.add_mutually_exclusive_group()
    inputs.add_json(form, "one JSON object per record")
    form.add_argument("--full", action="store_true", help="print everything, however long")


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the records, or write their images."""
    if (args.image is None) != (args.output is None):
        console.complain("--image KEY and -o DIR need each other")
        return
    sources = inputs.find(args, console)
    shown: ImageFiles | Printer
    if args.image is not None:
        shown = ImageFiles(console, args.image, args.output, as_json=args.json)
    else:
        is_drawn = args.images and not args.json and can_draw(console)
        with_names = len(sources) > 1
        shown = Printer(
            console, args, with_names=with_names, columns=args.columns, is_drawn=is_drawn
        )

    def show_some(stream: Records, progress: Callable[[], None]) -> None:
        shown.begin()
        if args.record is None:
            found = first_records(stream, args.n, progress)
        else:
            found = _numbered(stream, set(args.record), args, console, progress)
        try:
            for number, record in found:
                shown.show(record, number, stream.name)
        finally:
            shown.finish(stream.name)

    # The first records take long only if they are many, which are printed.
    inputs.for_each(sources, args, console, show_some, is_shown=args.record is not None)


class Printer:
    """Prints the records of one file after the other, as :func:`add_form_arguments` declares."""

    def __init__(
        self,
        console: Console,
        args: argparse.Namespace,
        *,
        with_names: bool,
        columns: list[str] | None = None,
        is_drawn: bool = False,
    ) -> None:
        self._console = console
        self._columns = None if columns is None else frozenset(columns)
        self._is_drawn = is_drawn
        self._as_json: bool = args.json
        self._width = None if args.full else shutil.get_terminal_size((100, 24)).columns
        self._with_names = with_names
        self._is_first = True
        self.begin()

    def begin(self) -> None:
        """Begin with another file."""
        self._likely: ContentType | None = None
        self._seen: set[str] = set()
        self._n_records = 0

    def show(self, record: bytes, index: int, name: str) -> None:
        """Print a record, given its number in the file and the file's name."""
        content = detect(record, self._likely)
        is_new = content.type is not self._likely
        if content.type not in (ContentType.EMPTY, ContentType.UNKNOWN):
            self._likely = content.type  # these two say nothing about the records that follow
        self._n_records += 1
        if self._columns is not None and content.message is not None:
            for features in _maps_of(content.message):
                self._seen.update(features)
                for other in features.keys() - self._columns:
                    del features[other]
        if self._as_json:
            self._console.say_json(json_of(content))
            return
        say = self._console.say
        if not self._is_first:
            say()
        self._is_first = False
        is_event = content.type is ContentType.EVENT and is_new
        hint = " (tfrecord_lite.read_events reads these)" * is_event
        label = style.heading(f"record {index}" + f" of {name}" * self._with_names)
        say(label + f": {content.type}, {plural(len(record), 'byte')}{hint}")
        for line in record_lines(content, self._width):
            say(line)
        if self._is_drawn:
            draw_all(content, self._console)

    def finish(self, source: str) -> None:
        """Report the columns that no record of a file had."""
        for name in sorted((self._columns or frozenset()) - self._seen if self._n_records else ()):
            others = nearest(name, self._seen)
            self._console.complain(f"{source}: no record printed has a feature {name!r}{others}")


def _maps_of(message: Message) -> list[Any]:
    """Return the features of each part of a message by name, as they are in it."""
    if isinstance(message, ExampleList):
        return [part.features.feature for part in (message.context, *message.examples)]
    if is_sequence(message):
        return [message.context.feature, message.feature_lists.feature_list]
    return [message.features.feature]


def first_records(stream: Records, n_records: int | None, progress: Callable[[], None]) -> Numbered:
    """Yield the first records of a file with their numbers; None are all."""
    left = n_records
    while left != 0 and (records := stream.next_records()) is not None:
        yield from enumerate(records[:left], stream.n_records - len(records))
        left = None if left is None else max(left - len(records), 0)
        progress()


def _numbered(
    stream: Records,
    numbers: set[int],
    args: argparse.Namespace,
    console: Console,
    progress: Callable[[], None],
) -> Numbered:
    """Yield the records of some numbers, each once, in the order of the file, those from its end last.

    By an index if there is one beside the file, and it fits.
    """
    forward = {number for number in numbers if number >= 0}
    from_end: dict[int, bytes] = {}
    index = f"{stream.name}{INDEX_SUFFIX}"
    file = None
    if not args.skip_damage and args.compression in ("infer", "none") and os.path.isfile(index):  # noqa: PTH113 - may be a URL
        from tfrecord_lite.index import TFRecordFile  # noqa: PLC0415 - loads much

        most = inputs.settings_of(args).max_record_bytes
        with contextlib.suppress(FailedPreconditionError, DataLossError):  # an old index
            file = TFRecordFile(stream.name, max_record_bytes=most)
    if file is not None:
        with file:
            n_records = len(file)
            yield from ((number, file[number]) for number in sorted(forward) if number < n_records)
            places = [n + n_records for n in numbers if -n_records <= n < 0]
            from_end = {place: file[place] for place in places if place not in forward}
    else:
        last: deque[tuple[int, bytes]] = deque(
            maxlen=-min(numbers, default=0) if min(numbers) < 0 else 0
        )
        most_wanted = max(forward, default=-1)
        while (last.maxlen or stream.n_records <= most_wanted) and (
            records := stream.next_records()
        ) is not None:
            progress()
            first = stream.n_records - len(records)
            here = forward.intersection(range(first, stream.n_records))
            yield from ((number, records[number - first]) for number in sorted(here))
            last.extend(enumerate(records, first))
        n_records = stream.n_records
        wanted = {n + n_records for n in numbers if n < 0} - forward
        from_end = {place: record for place, record in last if place in wanted}
    yield from sorted(from_end.items())
    for number in sorted(n for n in numbers if not -n_records <= n < n_records):
        has = plural(n_records, "record")
        console.complain(f"{stream.name}: there is no record {number}; it has {has}")
