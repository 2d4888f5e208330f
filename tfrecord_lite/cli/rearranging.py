"""What merge, split, shuffle, sample and filter share: their arguments, and the run of one."""

from __future__ import annotations

import os
import sys
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import OutputError, Status
from tfrecord_lite.cli.formatting import exact_bytes
from tfrecord_lite.errors import TFRecordError, human_bytes, plural
from tfrecord_lite.files.compression import CODECS
from tfrecord_lite.reader import reader_with

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tfrecord_lite.apps.rearrange import Rearranged
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.files.names import Source
    from tfrecord_lite.options import OnError

    Work = Callable[..., Rearranged]

STATUSES = """\
exit status: 0 if DST was written; 1 if a file is damaged, and DST was not written (with
--skip-damage, it was); 2 if a file could not be read or written, or is not a TFRecord file, or the
arguments are wrong."""

SHARDS_HELP = """\
DST is one file, or shards, which appear when all are complete: 'train@8.tfrecord', or with --shards,
--shard-size or --shard-records a plain name, in which the number goes before the ending
(train-00000-of-00008.tfrecord), or a name with {shard}. The ending chooses the compression (.gz,
.zlib, .zst, .bz2). Sidecars beside the files are written beside DST too, if they go together."""

_WRITTEN = {"none": "", **{name.lower(): name for name in CODECS}}
_ARGUMENTS = {
    "num_shards": "--shards",
    "bytes_per_shard": "--shard-size",
    "records_per_shard": "--shard-records",
}
_NAMES = {
    **_ARGUMENTS,
    "memory_bytes": "--memory",
    "as schema": "as --schema",
}
_WITHOUT_SCHEMA = {
    "delete it if the file was written anew, or if it does fit, give it as schema": "delete it "
    "if the file was written anew, or move it away: the new file then has none",
}
LONG_SECONDS = 1.0
"""From this time on it is printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the files, the target, and how to read and write."""
    group = parser.add_argument_group("writing")
    group.add_argument("--overwrite", action="store_true", help="replace files that exist")
    group.add_argument(
        "--output-compression",
        type=str.lower,
        choices=_WRITTEN,
        help="compression of DST (default: by the ending of its name)",
    )
    shards = group.add_mutually_exclusive_group()
    shards.add_argument(
        "--shards",
        type=inputs.count_of("shards"),
        metavar="N",
        help="write this many files",
    )
    shards.add_argument(
        "--shard-size",
        type=inputs.positive_size,
        metavar="SIZE",
        help="begin the next file when one holds this many bytes before compression, as in 200MB",
    )
    shards.add_argument(
        "--shard-records",
        type=inputs.count_of("records"),
        metavar="N",
        help="begin the next file when one holds this many records",
    )
    inputs.add_skipping_argument(parser)
    inputs.add_arguments(parser)
    parser.add_argument(
        "target",
        metavar="DST",
        help="the new file: a path, a URL, shards, or - for standard output",
    )


def add_seed_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the seed."""
    parser.add_argument(
        "--seed",
        type=inputs.seed,
        metavar="N",
        help="draw the same each time; by default a seed is drawn, and printed",
    )


def run(args: argparse.Namespace, console: Console, work: Work, **more: Any) -> None:
    """Rearrange the records of the files that the arguments name; report the outcome."""
    sources = inputs.find(args, console)
    target = _target(args, console)
    if console.status != Status.INTACT or target is None:
        return
    reader = reader_with(sources, replace(inputs.options_of(args), on_error=on_error_of(args)))
    started = time.monotonic()
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", UserWarning)
            done = work(reader, target, **_options(args), **more)
    except (OSError, ImportError, TFRecordError, ValueError) as error:
        _complain(error, args, console)
        return
    for text in dict.fromkeys(str(note.message) for note in notes):
        console.complain(text, Status.INTACT)
    inputs.complain_of_skipped(reader.report, console)
    if args.target != "-":
        console.say(_summary(done, time.monotonic() - started, args))


def on_error_of(args: argparse.Namespace) -> OnError:
    """Return what readers are to do about damage; what is skipped is reported at the end."""
    return (lambda span: None) if args.skip_damage else "raise"  # noqa: ARG005


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


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that all functions have."""
    named = {name: getattr(args, text[2:].replace("-", "_")) for name, text in _ARGUMENTS.items()}
    chosen = args.output_compression
    return {
        **named,
        "compression": "infer" if chosen is None else _WRITTEN[chosen],
        "overwrite": args.overwrite,
    }


def _complain(error: Exception, args: argparse.Namespace, console: Console) -> None:
    """Report why nothing was written."""
    if isinstance(error, FileExistsError):
        detail = f"{os.strerror(error.errno or 0)}; --overwrite replaces it"
        error = OSError(error.errno, detail, error.filename)
    is_output = isinstance(error, OSError) and error.filename == "<stdout>"
    if args.target == "-" and (is_output or isinstance(error, BrokenPipeError)):
        raise OutputError from error
    if isinstance(error, TFRecordError) and error.detail is not None:
        detail = error.detail
        names = _NAMES if hasattr(args, "schema") else {**_WITHOUT_SCHEMA, **_NAMES}
        for name, argument in names.items():
            detail = detail.replace(name, argument)
        error = error.at(detail=detail)
    inputs.complain_of(error, args.target, console)


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
