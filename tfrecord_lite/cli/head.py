"""``tfrecord head``: print the first records of each file, or those of some numbers."""

from __future__ import annotations

import argparse
import os
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from tfrecord_lite.cli import inputs, printing
from tfrecord_lite.cli.images import ImageFiles, can_draw, draw_all
from tfrecord_lite.cli.progress import reading
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, plural
from tfrecord_lite.example.content import ExampleList, is_sequence
from tfrecord_lite.files.names import INDEX_SUFFIX
from tfrecord_lite.schema.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.cli.progress import Reading
    from tfrecord_lite.example.content import Content, Message
    from tfrecord_lite.files.names import Source
    from tfrecord_lite.index import TFRecordFile

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

{printing.JSON_HELP}
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
    printing.add_arguments(parser)
    inputs.add_arguments(parser)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        detail = f"{text!r} is not the number of a record, such as 7 or -1"
        raise argparse.ArgumentTypeError(detail) from None


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the records, or write their images."""
    if (args.image is None) != (args.output is None):
        console.complain("--image KEY and -o DIR need each other")
        return
    sources = inputs.find(args, console)
    if args.image is not None:
        files = ImageFiles(console, args.image, args.output, as_json=args.json)
        _show(args, console, sources, files.begin, files.show, files.finish)
        return
    choice = None if args.columns is None else FeatureChoice(args.columns, console)
    is_drawn = args.images and not args.json and can_draw(console)
    printer = printing.Printer(
        console,
        args,
        with_names=len(sources) > 1,
        choose=None if choice is None else choice.choose,
        pictures=(lambda content: draw_all(content, console)) if is_drawn else None,
    )
    finish = (lambda _: None) if choice is None else choice.finish
    _show(args, console, sources, printer.next_file, printer.print, finish)


def _show(
    args: argparse.Namespace,
    console: Console,
    sources: list[Source],
    begin: Callable[[], None],
    show: Callable[[bytes, int, str], None],
    finish: Callable[[str], None],
) -> None:
    """Call `show` with each record asked for, and `begin` and `finish` before and after each file."""

    def show_some(stream: Records) -> None:
        begin()
        if args.record is None:
            found = _first(stream, args.n)
        else:
            found = _numbered(stream, set(args.record), args, console, progress)
        try:
            for number, record in found:
                show(record, number, stream.name)
        finally:
            finish(stream.name)

    # The first records take long only if they are many, which are printed.
    with reading(sources, is_shown=args.record is not None) as progress:
        inputs.for_each_skipping(sources, args, console, show_some)


def _first(stream: Records, n_records: int) -> Numbered:
    """Yield the first records of a file with their numbers."""
    left = n_records
    while left and (records := stream.next_records()) is not None:
        first = stream.n_records - len(records)
        yield from enumerate(records[:left], first)
        left -= min(left, len(records))


def _numbered(
    stream: Records,
    numbers: set[int],
    args: argparse.Namespace,
    console: Console,
    progress: Reading,
) -> Numbered:
    """Yield the records of some numbers, by an index if there is one beside the file.

    Each once, in the order of the file, those counted from its end last.
    """
    file = None if args.skip_damage else _opened_by_index(stream.name, args)
    if file is None:
        yield from _by_reading(stream, numbers, console, progress)
        return
    with file:
        n_records = len(file)
        for number in sorted(n for n in numbers if 0 <= n < n_records):
            yield number, file[number]
        for number in sorted(n + n_records for n in numbers if -n_records <= n < 0):
            if number not in numbers:
                yield number, file[number]
        for number in sorted(n for n in numbers if not -n_records <= n < n_records):
            _complain_of_number(stream.name, number, n_records, console)


def _opened_by_index(name: str, args: argparse.Namespace) -> TFRecordFile | None:
    """Open a file by the index beside it; None if there is none, or it is compressed."""
    if args.compression not in ("infer", "none") or not os.path.isfile(name + INDEX_SUFFIX):  # noqa: PTH113 - may be a URL
        return None
    from tfrecord_lite.index import TFRecordFile  # noqa: PLC0415 - loads much

    try:
        return TFRecordFile(name, max_record_bytes=inputs.settings_of(args).max_record_bytes)
    except (FailedPreconditionError, DataLossError):  # an old index of a damaged file
        return None


def _by_reading(
    stream: Records, numbers: set[int], console: Console, progress: Reading
) -> Numbered:
    """Yield the records of some numbers by reading the file."""
    left = set(numbers)
    from_end = sorted(number for number in left if number < 0)
    last: deque[tuple[int, bytes]] = deque(maxlen=-min(from_end, default=0))
    while max(left, default=-1) >= 0 or from_end:
        if (records := stream.next_records()) is None:
            break
        progress.show(stream)
        first = stream.n_records - len(records)
        here = sorted(left.intersection(range(first, stream.n_records)))
        left.difference_update(here)
        yield from ((number, records[number - first]) for number in here)
        last.extend(enumerate(records, first))
    for number in from_end:
        if -number <= len(last):
            left.remove(number)
            if last[number][0] not in numbers:
                yield last[number]
    for number in sorted(left):
        _complain_of_number(stream.name, number, stream.n_records, console)


def _complain_of_number(name: str, number: int, n_records: int, console: Console) -> None:
    console.complain(f"{name}: there is no record {number}; it has {plural(n_records, 'record')}")


class FeatureChoice:
    """The features to print, and which of them no record of a file had."""

    def __init__(self, names: list[str], console: Console) -> None:
        self._names = frozenset(names)
        self._console = console
        self._seen: set[str] = set()
        self._n_records = 0

    def choose(self, content: Content) -> None:
        """Take all other features out of a message."""
        self._n_records += 1
        for features in [] if content.message is None else _maps_of(content.message):
            self._seen.update(features)
            for name in [name for name in features if name not in self._names]:
                del features[name]

    def finish(self, source: str) -> None:
        """Report the features that no record of a file had."""
        for name in sorted(self._names - self._seen) if self._n_records else ():
            others = nearest(name, self._seen)
            self._console.complain(f"{source}: no record printed has a feature {name!r}{others}")
        self._seen.clear()
        self._n_records = 0


def _maps_of(message: Message) -> list[dict[str, object]]:
    """Return the features of each part of a message by name, as they are in it."""
    if isinstance(message, ExampleList):
        parts = (message.context, *message.examples)
        return [part.features.feature for part in parts]  # type: ignore[misc]
    if is_sequence(message):
        return [message.context.feature, message.feature_lists.feature_list]  # type: ignore[list-item]
    return [message.features.feature]  # type: ignore[list-item]
