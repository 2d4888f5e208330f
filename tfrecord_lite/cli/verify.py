"""``tfrecord verify``: every checksum of each file, and every place that is damaged."""

from __future__ import annotations

import argparse
from threading import Lock
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Status
from tfrecord_lite.cli.jsonlines import json_line
from tfrecord_lite.cli.progress import Progress
from tfrecord_lite.cli.table import plural, sized

if TYPE_CHECKING:
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.errors import TFRecordError
    from tfrecord_lite.records.damage import DamagedSpan, FileReport

SUMMARY = "check every checksum, name every damaged place"
DESCRIPTION = """\
Check the checksums of every record, and of the compressed stream if there is one. Each
damaged place is printed with the record's number, its offset in bytes (counted after
decompression), what is wrong and how many bytes are lost; then the check goes on with the
next record whose checksums are right. A record number behind damage counts each damaged
place as one record. A last line sums each file up. Several files are checked at a time."""
EPILOG = """\
examples:
  tfrecord verify train.tfrecord
  tfrecord verify 'train-*.tfrecord' && echo all sound
  tfrecord verify --schema train.schema.json 'train-*.tfrecord'
  tfrecord verify --json 'train-*.tfrecord' | jq 'select(.sound == false).file'

with --json, an object for each damaged place (file, index, offset, length, reason, detail,
records_before, records_after), for each record that is no such message (file, index, offset,
reason, key, detail), and one for each file (file, sound, records, record_bytes,
damaged_places, lost_bytes, message_errors, error). error says why a file could not be
opened, or not be read to its end, and is null otherwise."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="JSON objects, one a line")
    parser.add_argument(
        "--messages",
        action="store_true",
        help="check too that every record is a tf.train.Example",
    )
    parser.add_argument(
        "--schema",
        metavar="FILE",
        help="check too that every record can be parsed with this schema (NAME.schema.json, or "
        "another program's)",
    )
    parser.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="check N files at a time (default: as many as there are processors)",
    )
    inputs.add_arguments(parser)


def _jobs(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of files")
    return int(text)


def run(args: argparse.Namespace, console: Console) -> None:
    """Check them."""
    from tfrecord_lite.recovery.verify import verify_each  # noqa: PLC0415 - only this verb needs it

    schema: Any = None
    if args.schema is not None:
        from tfrecord_lite.storage import load_schema  # noqa: PLC0415 - not light

        try:
            schema = load_schema(args.schema)
        except (OSError, ImportError, ValueError) as error:
            console.complain(inputs.text_of(error, args.schema))
            return
    sources = inputs.find(args, console)
    lock = Lock()
    with Progress.of(sources, inputs.compression_of(args)) as progress:

        def advance(n_bytes: int) -> None:
            with lock:
                progress.advance(n_bytes)

        reports = verify_each(
            sources,
            inputs.compression_of(args),
            messages=args.messages,
            schema=schema,
            **inputs.limits_of(args).as_arguments(),
            num_threads=args.jobs,
            on_progress=advance,
        )
        for report in reports:
            with lock:
                progress.clear()
            show(report, console, as_json=args.json)


def show(report: FileReport, console: Console, *, as_json: bool) -> None:
    """Print what was found in one file."""
    name = report.source

    def say(text: str, **fields: Any) -> None:
        if as_json:
            console.say(json_line({"file": name, **fields}, is_ascii=console.is_ascii))
        else:
            console.say(f"{name}: {text}")

    if report.n_damaged or report.n_message_errors:
        console.worsen(Status.DAMAGED)
    for span in report.spans:
        say(_text(span), **_fields(span))
    left_out = report.n_damaged - len(report.spans)
    if left_out and not as_json:
        say(f"{plural(left_out, 'damaged place')} more")
    for error in report.message_errors:
        say(_error_text(error), **_error_fields(error))
    failure = report.failure
    if failure is not None:
        inputs.complain_of(failure, name, console)
        if not as_json:
            return
    say(
        _summary(report),
        sound=report.is_sound,
        records=report.records,
        record_bytes=report.record_bytes,
        damaged_places=report.n_damaged,
        lost_bytes=report.lost_bytes,
        message_errors=report.n_message_errors,
        error=None if failure is None else inputs.complaint_of(failure, name),
    )


def _text(span: DamagedSpan) -> str:
    cause = span.reason if span.detail is None else inputs.worded_detail(span.detail)
    text = f"record {span.index}, byte {span.offset}: {cause}"
    return text + f"; {plural(span.length, 'byte')} lost" * (span.length > 0)


def _fields(span: DamagedSpan) -> dict[str, Any]:
    return {
        "index": span.index,
        "offset": span.offset,
        "length": span.length,
        "reason": span.reason.name,
        "detail": None if span.detail is None else inputs.worded_detail(span.detail),
        "records_before": span.records_before,
        "records_after": span.records_after,
    }


def _error_text(error: TFRecordError) -> str:
    key = f", feature {error.key!r}" if error.key is not None else ""
    return f"record {error.index}, byte {error.offset}{key}: {error.detail or error.reason}"


def _error_fields(error: TFRecordError) -> dict[str, Any]:
    return {
        "index": error.index,
        "offset": error.offset,
        "reason": error.reason.name,
        "key": error.key,
        "detail": error.detail,
    }


def _summary(report: FileReport) -> str:
    sound = f"{plural(report.records, 'sound record')}, {sized(report.record_bytes)}"
    if report.is_sound:
        return f"ok: {sound}"
    found = []
    if report.n_damaged:
        lost = f", {plural(report.lost_bytes, 'byte')} lost" * (report.lost_bytes > 0)
        found.append(f"DAMAGED: {plural(report.n_damaged, 'damaged place')}{lost}")
    if report.n_message_errors:
        found.append(f"{plural(report.n_message_errors, 'record')} that cannot be parsed")
    return "; ".join([*found, sound])
