"""``tfrecord recover``: write every intact record of a damaged file to a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs, style
from tfrecord_lite.cli.console import Status
from tfrecord_lite.cli.style import exact_bytes
from tfrecord_lite.cli.verify import losses, show_json, show_places
from tfrecord_lite.errors import FileReport, plural

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

HELP = """\
Write every record of SRC whose checksums are right to DST, and print what was lost. SRC is never
changed. DST is compressed as its name says (.gz, .zlib, .zst, .bz2), otherwise as SRC.

examples:
  tfrecord recover damaged.tfrecord saved.tfrecord
  tfrecord recover --strict copy.tfrecord saved.tfrecord || echo something was lost

exit status: 0 if DST was written, whatever was lost; 1 if not one intact record was found or, with
--strict, if anything was lost; 2 after any other error."""

_NAMELESS = {
    "source": "recover reads SRC more than once, so it cannot be standard input; save that to a file",
    "target": "recover writes DST under another name first, so it cannot be standard output; name a file",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    inputs.add_overwrite(parser, "DST if it exists")
    inputs.add(parser, "--strict", "exit with status 1 if anything was lost")
    inputs.add_reading(parser)
    inputs.add(parser, "source SRC", "a path, or a URL")
    inputs.add(parser, "target DST", "the new file: a path, or a URL")


def run(args: argparse.Namespace, console: Console) -> None:
    """Recover the file."""
    for name, complaint in _NAMELESS.items():
        if getattr(args, name) == "-":
            console.complain(complaint)
            return
    from tfrecord_lite.recovery.recover import recover  # noqa: PLC0415 - only this verb needs it

    options = inputs.read_options(args)
    try:
        report = recover(args.source, args.target, overwrite=args.overwrite, **options)
        found = report.files[0]
    except (OSError, ImportError, ValueError) as error:
        found = FileReport(args.source, 0, 0, failure=error)
    # Of a damaged file without intact records, none is written.
    is_written = found.failure is None and (found.records > 0 or not found.num_damaged)
    if args.json:
        show_json(found, console, output=args.target if is_written else None)
    else:
        show_places(found, console)
    if found.failure is not None:
        inputs.complain_of(found.failure, found.source, console)
        return
    if found.num_damaged and (args.strict or not is_written):
        console.worsen(Status.DAMAGED)
    if not args.json:
        lost = style.bad(losses(found)) if found.num_damaged else style.good("nothing was lost")
        console.say(style.line(found.source, ": ", lost))
        saved = f"{plural(found.records, 'record')}, {exact_bytes(found.record_bytes)}"
        done = f"wrote {saved}" if is_written else "not written, as no intact record was found"
        console.say(f"{args.target}: {done}")
