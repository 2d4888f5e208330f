"""``tfrecord recover``: write every intact record of a damaged file to a new one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.progress import Progress
from tfrecord_lite.cli.verify import show
from tfrecord_lite.records.damage import FileReport

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

SUMMARY = "write every intact record of a damaged file to a new one"
DESCRIPTION = """\
Write every record of SRC whose checksums are right to DST, and print what was lost as verify
does. SRC is never changed. DST appears when it is complete; the ending of its name chooses
the compression (.gz, .zlib, .zst, .bz2), any other ending keeps that of SRC. Of a damaged
GZIP, ZSTD or BZ2 file, what can be inflated is saved: everything up to the damage, and from
the next member on, if there is one."""
EPILOG = """\
examples:
  tfrecord recover damaged.tfrecord saved.tfrecord
  tfrecord recover --json damaged.tfrecord.gz saved.tfrecord.gz

with --json, the objects that 'tfrecord verify --json' prints. The exit status is 1 if
anything was lost."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON objects, one per line")
    parser.add_argument("--overwrite", action="store_true", help="replace DST if it exists")
    inputs.add_reading_arguments(parser)
    parser.add_argument("source", metavar="SRC", help="a path, or a URL")
    parser.add_argument("target", metavar="DST", help="the new file: a path, or a URL")


def run(args: argparse.Namespace, console: Console) -> None:
    """Recover the file."""
    from tfrecord_lite.recovery.recover import recover  # noqa: PLC0415 - only this verb needs it

    compression = inputs.compression_of(args)
    try:
        with Progress.of_sources([args.source], compression) as progress:
            report = recover(
                args.source,
                args.target,
                compression,
                overwrite=args.overwrite,
                **inputs.limits_of(args),
                on_progress=progress.advance,
            )
    except FileExistsError as error:
        detail = f"{os.strerror(error.errno or 0)}; --overwrite replaces it"
        found = _failure(args, OSError(error.errno, detail, error.filename))
    except (OSError, ImportError, ValueError) as error:
        found = _failure(args, error)
    else:
        (found,) = report.files
    show(found, console, as_json=args.json)


def _failure(args: argparse.Namespace, error: Exception) -> FileReport:
    """Return the report of a file from which nothing was recovered."""
    return FileReport(args.source, 0, 0, failure=error)
