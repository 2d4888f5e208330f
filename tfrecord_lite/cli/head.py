"""``tfrecord head`` and ``cat``: print the first records of each file, some by number, or all."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import tfrecord_lite as tfr
from tfrecord_lite import extension as ext
from tfrecord_lite.apps.outline import tree_of
from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, ragged_notes, terminal_width
from tfrecord_lite.cli.display import json_of, record_lines
from tfrecord_lite.cli.inputs import Records
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, errors_at
from tfrecord_lite.progress import is_terminal
from tfrecord_lite.texts import choices, plural

Numbered: TypeAlias = Iterator[tuple[int, bytes]]

_MAX_FIELDS = 1000
"""The most fields of each message, unless everything is printed."""
_HINTS = {
    ext.ContentType.EVENT: " (tfrecord events prints the scalars)",
    ext.ContentType.TENSOR: " ({way_on})",
    ext.ContentType.PROTOBUF: " (--message MODULE:CLASS names its fields)",
}


def add_head(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    which = parser.add_mutually_exclusive_group()
    inputs.add_limit(which, "print N records per file at most (default: 3)", at_least=0)
    text = "print record N instead, from 0, or from the end if negative; or several, as --record=0,7,-1"
    inputs.add(which, "--record N", text, _numbers, action="extend")
    inputs.add_columns(parser, "these features only")
    _add_form(parser)
    parser.set_defaults(first=3)


def add_cat(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments, and their defaults here."""
    inputs.add_limit(parser, "print N records per file at most", at_least=0)
    inputs.add_columns(parser, "these features only")
    _add_form(parser)
    parser.set_defaults(record=None, first=None)


def _add_form(parser: argparse.ArgumentParser) -> None:
    inputs.add_message(parser)
    form = parser.add_mutually_exclusive_group()
    inputs.add_json(form, "one JSON object per record")
    inputs.add(form, "--full", "print everything, however long")
    inputs.add_files(parser)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        detail = f"{text!r} is not the number of a record, such as 7 or -1"
        raise argparse.ArgumentTypeError(detail) from None


def run_head(args: argparse.Namespace, console: Console) -> None:
    """Print the first records of each file, or those given by --record.

    Features are printed with kind, number of values and values, text as text, and images, sounds
    and tensors by what they are; with the dtypes and shapes from a sidecar; messages of
    another type as the tree of their fields, by number, as protoc --decode_raw does, or with
    --message by name.

    examples:
      tfrecord head -n 1 --full train.tfrecord
      tfrecord head --record 1000 --record -1 train.tfrecord     one of them, and the last
      tfrecord head --message waymo_open_dataset.dataset_pb2:Frame segment.tfrecord

    With --json, one object per line: an Example is {"name": [values], ...}, an event of TensorBoard
    {"wall_time": 1.5, "step": 3, "values": [{"tag": "loss", "value": 0.5}]}, a serialized tensor
    {"dtype": "int64", "shape": [2], "values": [1, 2]}, any other record {"text": "..."} or {"base64": "..."}.
    """
    sources = inputs.find(args, console)
    printer = Printer(console, args, with_names=len(sources) > 1)

    limit = args.first if args.limit is None else args.limit

    def show(stream: Records, progress: Callable[[], None]) -> None:
        printer.begin(ext.row_restorer(ext.originals_of([stream.name], inputs.settings_of(args))))
        if args.record is None:
            records = _first_records(stream, limit, progress)
        else:
            records = _numbered(stream, args, console, progress)
        try:
            for number, record in records:
                printer.show(record, number, stream.name)
        finally:
            printer.finish(stream.name)

    # The first records take long only if they are many, which are printed.
    is_shown = args.record is not None or (limit is None and not is_terminal(sys.stdout))
    inputs.for_each(sources, args, console, show, is_shown=is_shown)


def run_cat(args: argparse.Namespace, console: Console) -> None:
    """Print all records of each file, as head does the first ones.

    examples:
      tfrecord cat train.tfrecord | less
      tfrecord cat --json 'train-*.tfrecord' > train.jsonl

    With --json, one object per line: an Example is {"name": [values], ...}, an event of TensorBoard
    {"wall_time": 1.5, "step": 3, "values": [{"tag": "loss", "value": 0.5}]}, a serialized tensor
    {"dtype": "int64", "shape": [2], "values": [1, 2]}, any other record {"text": "..."} or {"base64": "..."}.
    """
    run_head(args, console)


class Printer:
    """Prints the records of one file after the other."""

    def __init__(self, console: Console, args: argparse.Namespace, *, with_names: bool) -> None:
        self._console = console
        self._columns = None if args.columns is None else frozenset(args.columns)
        self._as_json: bool = args.json
        self._message_class = args.message
        self._width = None if args.full else terminal_width()
        self._with_names = with_names
        self._is_first = True
        self.begin()

    def begin(self, restore: Callable[[bytes], dict[str, AnyArray]] = lambda _: {}) -> None:
        """Begin with another file, of whose records `restore` gives the features that had other dtypes."""
        self._restore = restore
        self._likely: ext.ContentType | None = None
        self._seen: set[str] = set()
        self._n_records = 0

    def show(self, record: bytes, index: int, name: str) -> None:
        """Print a record, given its number in the file and the file's name."""
        content = ext.detect(record, self._likely)
        is_new = content.type is not self._likely
        if content.type not in (ext.ContentType.EMPTY, ext.ContentType.UNKNOWN):
            self._likely = content.type  # these two say nothing about the records that follow
        self._n_records += 1
        if self._columns is not None and content.message is not None:
            for part, features in _maps_of(content.message).items():
                for key in list(features):
                    chosen = self._columns & {key, f"{part}/{key}"}
                    self._seen |= {key, *chosen}
                    if not chosen:
                        del features[key]
        most = None if self._width is None else _MAX_FIELDS
        with errors_at(source=name, index=index):
            tree = tree_of(content, self._message_class, most)
        if tree is not None:
            self._seen.update(dict(tree))
            tree = [field for field in tree if self._columns is None or field[0] in self._columns]
        if self._as_json:
            self._console.say_json(json_of(content, self._message_class, self._columns))
            return
        say = self._console.say
        if not self._is_first:
            say()
        self._is_first = False
        hint = _HINTS.get(content.type, "") if is_new and not self._message_class else ""
        hint = hint.format(way_on=ext.way_on_of_tensors(name))
        label = f"record {index} of {name}" if self._with_names else f"record {index}"
        type_ = self._message_class.DESCRIPTOR.full_name if self._message_class else content.type
        say(label + f": {type_}, {plural(len(record), 'byte')}{hint}")
        self._console.say_lines(record_lines(content, self._width, tree, self._restore(record)))
        if is_new and content.message is not None:
            for line in ragged_notes(_maps_of(content.message).get("", ())):
                say(f"  ({line})")

    def finish(self, source: str) -> None:
        """Report the columns that no record of a file had."""
        for name in sorted((self._columns or frozenset()) - self._seen if self._n_records else ()):
            others = choices(name, sorted(self._seen))
            self._console.complain(f"{source}: no record printed has a feature {name!r}{others}")


def _maps_of(message: ext.Message) -> dict[str, Any]:
    if ext.is_list(message):
        parts = (message.context, *message.examples)
        return {str(i): part.features.feature for i, part in enumerate(parts)}
    if ext.is_sequence(message):
        lists = message.feature_lists.feature_list
        return {"context": message.context.feature, "feature_lists": lists}
    return {"": message.features.feature}


def _first_records(stream: Records, most: int | None, progress: Callable[[], None]) -> Numbered:
    left = most
    while left != 0 and (records := stream.next_records()) is not None:
        yield from enumerate(records[:left], stream.n_records - len(records))
        left = None if left is None else max(left - len(records), 0)
        progress()


def _numbered(
    stream: Records, args: argparse.Namespace, console: Console, progress: Callable[[], None]
) -> Numbered:
    """Yield the records of some numbers, each once, in the order of the file, those from its end last."""
    numbers = set(args.record)
    forward = sorted(number for number in numbers if number >= 0)
    file = None
    if not args.skip_damage and os.path.isfile(stream.name + ext.INDEX_SUFFIX):  # noqa: PTH113 - may be a URL
        # The index may be old.
        with contextlib.suppress(FailedPreconditionError, DataLossError):
            file = tfr.TFRecordFile(stream.name, **inputs.read_options(args))
    if file is not None:
        with file:
            n_records = len(file)
            from_end = sorted({n + n_records for n in numbers if -n_records <= n < 0} - {*forward})
            yield from ((n, file[n]) for n in (*forward, *from_end) if n < n_records)
    else:
        last: deque[tuple[int, bytes]] = deque(maxlen=max(-min(numbers), 0))
        while last.maxlen or stream.n_records <= forward[-1]:
            if (records := stream.next_records()) is None:
                break
            progress()
            numbered = list(enumerate(records, stream.n_records - len(records)))
            yield from (pair for pair in numbered if pair[0] in numbers)
            last.extend(numbered)
        n_records = stream.n_records
        yield from (p for p in last if p[0] - n_records in numbers and p[0] not in numbers)
    for number in sorted(n for n in numbers if not -n_records <= n < n_records):
        has = plural(n_records, "record")
        console.complain(f"{stream.name}: there is no record {number}; it has {has}")
