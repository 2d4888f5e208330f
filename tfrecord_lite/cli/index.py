"""``tfrecord index``: where each record is, for random access."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.jsonlines import json_line
from tfrecord_lite.cli.table import plural
from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.index import index as extents
from tfrecord_lite.index import text

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.records.stream import RecordStream

SUMMARY = "write an index, for random access"
DESCRIPTION = """\
Write beside each file FILE an index FILE.idx: a line 'offset size' for each record, both in
bytes, heads and checksums included. TFRecordFile finds it there; DALI reads it too. Nothing is
written for a file that is damaged, or compressed: a record of that can only be reached through
all before it."""
EPILOG = """\
examples:
  tfrecord index train.tfrecord
  tfrecord index 'train-*.tfrecord'

with --json, an object for each file (file, index, records)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="JSON objects, one a line")
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Write them."""

    def work(stream: RecordStream) -> None:
        if not os.path.isfile(stream.name):  # noqa: PTH113 - as every name here
            detail = "an index is written beside a local file"
            raise FailedPreconditionError(Reason.UNSUPPORTED, source=stream.name, detail=detail)
        index = extents.scan(stream)
        name = stream.name + text.SUFFIX
        text.save(index, name)
        if args.json:
            fields = {"file": stream.name, "index": name, "records": len(index)}
            console.say(json_line(fields, is_ascii=console.is_ascii))
        else:
            console.say(f"{name}: {plural(len(index), 'record')}")

    inputs.for_each(inputs.find(args, console), args, console, work)
