"""``tfrecord index``: write where each record is, for random access."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.errors import FailedPreconditionError, Reason, plural
from tfrecord_lite.files.names import INDEX_SUFFIX
from tfrecord_lite.index.index import save_index, scan
from tfrecord_lite.progress import metered, title_of, total_bytes

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

HELP = """\
Write next to each FILE an index FILE.idx, of the offset and size of each record in bytes.
Damaged, compressed and remote files get none.

examples:
  tfrecord index 'train-*.tfrecord'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object per file")
    inputs.add_files(parser, can_skip=False)


def run(args: argparse.Namespace, console: Console) -> None:
    """Write the indices."""

    def write_index(stream: Any, _: object) -> None:
        if not os.path.isfile(stream.name):  # noqa: PTH113 - as every name here
            detail = "only a local file can have an index next to it"
            raise FailedPreconditionError(Reason.UNSUPPORTED, source=stream.name, detail=detail)
        index = scan(stream, meter)
        name = stream.name + INDEX_SUFFIX
        save_index(index, name)
        if args.json:
            console.say_json({"file": stream.name, "index": name, "records": len(index)})
        else:
            console.say(f"{name}: {plural(len(index), 'record')}")

    sources = inputs.find(args, console)
    with metered(None, title_of(sources) if sources else "", "bytes") as meter:
        meter.expect(total_bytes(sources) if meter.is_on else None)
        inputs.for_each(sources, args, console, write_index, is_shown=False)
