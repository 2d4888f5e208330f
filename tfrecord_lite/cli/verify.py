"""``tfrecord verify``: check every checksum, and report every damaged place."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs, style
from tfrecord_lite.cli.console import Status
from tfrecord_lite.cli.style import exact_bytes
from tfrecord_lite.errors import FileReport, Reason, lost_of, plural

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.errors import DamagedSpan

HELP = """\
Check every checksum, and print each damaged place: the number of the record, its offset in bytes
(after decompression), what is wrong, and how many bytes are lost.

examples:
  tfrecord verify 'train-*.tfrecord' && echo everything is intact
  tfrecord verify --schema train.schema.json 'train-*.tfrecord'
  tfrecord verify --json 'train-*.tfrecord' | jq 'select(.sound == false).file'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    inputs.add(parser, "--messages", "also check that every record is a tf.train.Example")
    inputs.add(
        parser, "--schema SCHEMA", "also check that every record can be parsed with this schema"
    )
    inputs.add_jobs(parser, "files")
    inputs.add_files(parser, can_skip=False)


def run(args: argparse.Namespace, console: Console) -> None:
    """Check the files."""
    from tfrecord_lite.recovery.verify import verify_each  # noqa: PLC0415 - only this verb needs it

    schema: Any = None
    if args.schema is not None:
        from tfrecord_lite.storage import load_schema  # noqa: PLC0415 - not light

        schema = load_schema(args.schema)
    sources = inputs.find(args, console)
    reports = verify_each(
        sources,
        inputs.settings_of(args),
        messages=args.messages,
        schema=schema,
        num_threads=args.jobs,
    )
    n_files, total = 0, FileReport("", 0, 0)
    for report in reports:
        show(report, console, as_json=args.json)
        if report.failure is None and not _is_foreign(report):
            n_files, total = n_files + 1, _added(total, report)
    if n_files > 1 and not args.json:
        console.say(style.line(f"total of {plural(n_files, 'file')}: ", *_summary(total)))


def _added(total: FileReport, report: FileReport) -> FileReport:
    """Return the counts of both, with one place where a file breaks off."""
    broken_off = (span for span in (*total.spans, *report.spans) if span.breaks_off)
    return FileReport(
        total.source,
        total.records + report.records,
        total.record_bytes + report.record_bytes,
        tuple(islice(broken_off, 1)),
        total.num_damaged + report.num_damaged,
        total.lost_bytes + report.lost_bytes,
        num_message_errors=total.num_message_errors + report.num_message_errors,
    )


def show(report: FileReport, console: Console, *, as_json: bool) -> None:
    """Print what was found in one file, and remember its status."""
    if report.num_message_errors:
        console.worsen(Status.DAMAGED)
    for span in report.spans:
        console.worsen(inputs.status_of(span.reason))
    if as_json:
        show_json(report, console)
    else:
        show_places(report, console)
        if report.failure is None and not _is_foreign(report):
            console.say(style.line(report.source, ": ", *_summary(report)))
    if report.failure is not None:
        inputs.complain_of(report.failure, report.source, console)


def show_places(report: FileReport, console: Console) -> None:
    """Print every damaged place, and every record that cannot be parsed, as text."""
    for span in report.spans:
        lost = "" if _is_foreign(report) else _lost_in(span)
        console.say(f"{span.error()}{lost}")
    if left_out := report.num_damaged - len(report.spans):
        console.say(f"{report.source}: {left_out:,} more damaged places")
    for error in report.message_errors:
        console.say(str(error.at(source=report.source)))


def _lost_in(span: DamagedSpan) -> str:
    """Return how much was lost, as the end of a sentence."""
    if not span.length:
        return ""
    lost = f"{plural(span.length, 'byte')} lost"
    if not span.breaks_off:
        return f"; {lost}"
    return f"; at least {lost}" + ", and whatever came after" * (not span.records_after)


def _is_foreign(report: FileReport) -> bool:
    """Whether the file is not a TFRecord file, of which there is nothing to sum up."""
    return any(span.reason is Reason.NOT_A_TFRECORD for span in report.spans)


def _summary(report: FileReport) -> list[str]:
    """Return the parts of a line about one file."""
    intact = f"{plural(report.records, 'intact record')}, {exact_bytes(report.record_bytes)}"
    if report.is_sound:
        return [style.good("ok"), f": {intact}"]
    found = [style.bad("DAMAGED"), f": {losses(report)}; "] if report.num_damaged else []
    if report.num_message_errors:
        unparsed = f"{plural(report.num_message_errors, 'record')} that cannot be parsed"
        found += [style.bad(unparsed), "; "]
    return [*found, intact]


def losses(report: FileReport) -> str:
    """Return the number of damaged places, and the bytes lost there."""
    is_lost = report.lost_bytes > 0 or report.breaks_off
    return plural(report.num_damaged, "damaged place") + f", {lost_of(report)} lost" * is_lost


def show_json(report: FileReport, console: Console, **more: Any) -> None:
    """Print the same as JSON, with `more` in the object about the file."""

    def say(**fields: Any) -> None:
        console.say_json({"file": report.source, **fields})

    for span in report.spans:
        damage = span.error()
        say(
            index=span.index,
            offset=span.offset,
            length=span.length,
            reason=span.reason.name,
            detail=damage.detail,
            records_before=span.records_before,
            records_after=span.records_after,
        )
    for error in report.message_errors:
        say(
            index=error.index,
            offset=error.offset,
            reason=error.reason.name,
            key=error.key,
            detail=error.detail,
        )
    failure = report.failure
    say(
        sound=report.is_sound,
        records=report.records,
        record_bytes=report.record_bytes,
        damaged_places=report.num_damaged,
        lost_bytes=report.lost_bytes,
        breaks_off=report.breaks_off,
        message_errors=report.num_message_errors,
        error=None if failure is None else inputs.text_of(failure, report.source),
        **more,
    )
