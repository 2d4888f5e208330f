"""What merge, split, shuffle, sample and filter share: their arguments, and the run of one."""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import OutputError, Status
from tfrecord_lite.cli.formatting import exact_bytes
from tfrecord_lite.errors import human_bytes, plural
from tfrecord_lite.reader import reader_with

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tfrecord_lite.apps.rearrange import Rearranged
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.files.names import Source

    Work = Callable[..., Rearranged]

STATUSES = """\
exit status: 0 if DST was written; 1 if a file is damaged, and DST was not written (with
--skip-damage, it was); 2 if a file could not be read or written, or is not a TFRecord file, or the
arguments are wrong."""

SHARDS_HELP = """\
DST is one file, or shards, which appear when all are complete: 'train@8.tfrecord', or with --num-shards,
--shard-size or --shard-records a plain name, in which the number goes before the ending
(train-00000-of-00008.tfrecord), or a name with {shard}. The ending chooses the compression (.gz,
.zlib, .zst, .bz2). Sidecars beside the files are written beside DST too, if they go together."""

LONG_SECONDS = 1.0
"""From this time on it is printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the files, the target, and how to read and write."""
    group = parser.add_argument_group("writing")
    inputs.add_overwrite(group)
    group.add_argument(
        "--output-compression",
        type=str.lower,
        choices=inputs.COMPRESSIONS,
        help="compression of DST (default: by the ending of its name)",
    )
    shards = inputs.add_shards(group)
    shards.add_argument(
        "--shard-records",
        type=inputs.count_of("records"),
        metavar="N",
        help="begin the next file when one holds this many records",
    )
    inputs.add_arguments(parser)
    parser.add_argument(
        "target",
        metavar="DST",
        help="the new file: a path, a URL, shards, or - for standard output",
    )


def run(args: argparse.Namespace, console: Console, work: Work, **more: Any) -> None:
    """Rearrange the records of the files that the arguments name; report the outcome."""
    sources = inputs.find(args, console)
    target = _target(args, console)
    if console.status != Status.INTACT or target is None:
        return
    reader = reader_with(sources, inputs.settings_of(args))
    chosen = args.output_compression
    started = time.monotonic()
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        try:
            done = work(
                reader,
                target,
                num_shards=args.num_shards,
                bytes_per_shard=args.shard_size,
                records_per_shard=args.shard_records,
                compression="infer" if chosen is None else inputs.COMPRESSIONS[chosen],
                overwrite=args.overwrite,
                **more,
            )
        except OSError as error:
            if args.target == "-" and error.filename == "<stdout>":
                raise OutputError from error
            raise
    for text in dict.fromkeys(str(note.message) for note in notes):
        console.complain(text, Status.INTACT)
    inputs.complain_of_skipped(reader.report, console)
    if args.target != "-":
        console.say(_summary(done, time.monotonic() - started, args))


def _target(args: argparse.Namespace, console: Console) -> Source | None:
    """Return the target; None, after a complaint, if standard output cannot be it."""
    if args.target != "-":
        name: str = args.target
        return name
    if sys.stdout is None:
        console.complain("standard output is closed")
        return None
    if sys.stdout.isatty():
        console.complain("standard output is a terminal; redirect it, or name a file")
        return None
    return sys.stdout.buffer


def _summary(done: Rearranged, seconds: float, args: argparse.Namespace) -> str:
    """Return the line about what was written."""
    name = done.paths[0]
    if len(done.paths) > 1:
        name += f" to {os.path.basename(done.paths[-1])}"  # noqa: PTH119 - may be a URL
    count = plural(done.num_records, "record")
    if args.verb in ("sample", "filter"):
        count = f"{done.num_records:,} of {plural(done.num_read, 'record')}"
    line = f"{name}: wrote {count}, {exact_bytes(done.nbytes)}"
    if seconds >= LONG_SECONDS:
        line += f", in {seconds:.1f} s ({human_bytes(int(done.nbytes / seconds))}/s)"
    if done.seed is not None and args.seed is None:
        line += f"; --seed {done.seed} draws the same"
    return line
