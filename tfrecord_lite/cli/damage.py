"""``tfrecord verify`` and ``recover``: find damaged places, and save what is between them."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import tfrecord_lite as tfr
from tfrecord_lite import extension as ext
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, Status, exact_bytes
from tfrecord_lite.cli.words import shell_text
from tfrecord_lite.errors import DamagedSpan, DamageReport, FileReport, Reason, lost_of
from tfrecord_lite.texts import plural

_OF_SPAN = ("index", "offset", "length", "num_records", "records_before", "records_after")
"""What is printed as JSON of a damaged place."""


def _add_all(parser: argparse.ArgumentParser) -> None:
    inputs.add(parser, "--all", f"show every damaged place, not only {inputs.MAX_LINES} of a file")


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    _add_all(parser)
    inputs.add(parser, "--messages", "also check that every record is a tf.train.Example")
    group = parser.add_mutually_exclusive_group()
    inputs.add_message(group)
    text = "also check that every record can be parsed with this schema"
    inputs.add(group, "--schema SCHEMA", text)
    inputs.add_jobs(parser, "files")
    inputs.add_files(parser, can_skip=False)


def run_verify(args: argparse.Namespace, console: Console) -> None:
    """Check every checksum, report every damaged place.

    A damaged place is reported by the number of its record, its offset in bytes (after decompression), what is
    wrong, and how many bytes are lost. Shards that a pattern or folder lacks are damage, too.

    examples:
      tfrecord verify 'train-*.tfrecord' && echo everything is intact
      tfrecord verify --schema train.schema.json 'train-*.tfrecord'
      tfrecord verify --json 'train-*.tfrecord' | jq 'select(.sound == false).file'
    """
    schema = None if args.schema is None else tfr.load_schema(args.schema)
    checked: list[FileReport] = []
    with warnings.catch_warnings(record=True) as gaps:  # shards that are missing
        sources, settings = inputs.find(args, console), inputs.settings_of(args)
    for gap in gaps:
        console.complain(str(gap.message), Status.DAMAGED)
    checks: Any = {"messages": args.message or args.messages, "schema": schema}
    for report in ext.verify_each(sources, settings, num_threads=args.jobs, **checks):
        for span in report.spans:
            console.worsen(inputs.status_of(span))
        if report.num_message_errors:
            console.worsen(Status.DAMAGED)
        if args.json:
            _say_json(report, console)
        else:
            _say_places(report, console, are_all_wanted=args.all)
        if report.failure is not None:
            inputs.complain_of(report.failure, report.source, console)
        elif not args.json and not _is_foreign(report):
            console.say(f"{report.source}: {_summary(report)}")
            checked.append(report)
    if len(checked) > 1:
        console.say(f"total of {plural(len(checked), 'file')}: {_summary(*checked)}")


def _say_places(report: FileReport, console: Console, *, are_all_wanted: bool) -> None:
    is_foreign = _is_foreign(report)
    lines = [s.description + ("" if is_foreign else _lost_in(s)) for s in report.spans]
    if left_out := report.num_damaged - sum(span.num_records for span in report.spans):
        lines.append(f"{report.source}: {left_out:,} more damaged places")
    lines += [str(error.at(source=report.source)) for error in report.message_errors]
    shown = lines if are_all_wanted else lines[: inputs.MAX_LINES]
    console.say_lines(map(shell_text, shown))
    if left_out := len(lines) - len(shown):
        console.say(f"{report.source}: {left_out:,} more lines like these; --all shows them")


def _lost_in(span: DamagedSpan) -> str:
    if not span.length:
        return ""
    lost = f"{plural(span.length, 'byte')} lost"
    if not span.breaks_off:
        return f"; {lost}"
    return f"; at least {lost}" + (", and whatever came after" if not span.records_after else "")


def _is_foreign(report: FileReport) -> bool:
    return any(span.reason is Reason.NOT_A_TFRECORD for span in report.spans)


def _summary(*reports: FileReport) -> str:
    all_of = DamageReport(reports)
    n_bytes = sum(report.record_bytes for report in reports)
    intact = f"{plural(all_of.records, 'intact record')}, {exact_bytes(n_bytes)}"
    if all_of.is_sound:
        return f"ok: {intact}"
    parts = [f"DAMAGED: {_losses(all_of)}"] if all_of.num_damaged else []
    if n_unparsed := sum(report.num_message_errors for report in reports):
        parts.append(f"{plural(n_unparsed, 'record')} that cannot be parsed")
    return "; ".join([*parts, intact])


def _losses(all_of: DamageReport | FileReport) -> str:
    lost = f", {lost_of(all_of)} lost" if all_of.lost_bytes > 0 or all_of.breaks_off else ""
    return plural(all_of.num_damaged, "damaged place") + lost


def _say_json(report: FileReport, console: Console, **more: Any) -> None:
    """Print the same as JSON, with `more` in the object about the file."""

    def say(**fields: Any) -> None:
        console.say_json({"file": report.source, **fields})

    for span in report.spans:
        place = {name: getattr(span, name) for name in _OF_SPAN}
        say(**place, reason=span.reason.name, detail=span.error().detail)
    for error in report.message_errors:
        place = {name: getattr(error, name) for name in ("index", "offset", "key", "detail")}
        say(**place, reason=error.reason.name)
    failure = report.failure
    say(
        sound=report.is_sound,
        records=report.records,
        record_bytes=report.record_bytes,
        damaged_places=report.num_damaged,
        lost_bytes=report.lost_bytes,
        breaks_off=report.breaks_off,
        message_errors=report.num_message_errors,
        error=None if failure is None else shell_text(inputs.text_of(failure, report.source)),
        **more,
    )


# ------------------------------------------------------------------------------- recover


def add_recover(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    _add_all(parser)
    inputs.add_overwrite(parser, "DST if it exists")
    inputs.add_output_compression(parser, "compression of DST")
    inputs.add(parser, "--strict", "exit with status 1 if anything was lost")
    inputs.add_reading(parser)
    inputs.add(parser, "source SRC", "a path, or a URL")
    inputs.add(parser, "target DST", "the new file: a path, or a URL")


def run_recover(args: argparse.Namespace, console: Console) -> None:
    """Write every intact record of a damaged file to a new one.

    Records of SRC whose checksums are right are written to DST, and what was lost is printed. SRC is never
    changed. DST is compressed as its name says (.gz, .zlib, .zst, .bz2), otherwise as SRC.

    examples:
      tfrecord recover damaged.tfrecord saved.tfrecord
      tfrecord recover --strict copy.tfrecord saved.tfrecord || echo something was lost

    exit status: 0 if DST was written, whatever was lost; 1 if not one intact record was found or, with
    --strict, if anything was lost; 2 after any other error.
    """
    if "-" in (args.source, args.target):
        console.complain("recover reads and writes files, not standard input and output; name them")
        return
    inputs.check_ending(args.target)
    options = inputs.read_options(args)
    options["output_compression"] = args.output_compression or "infer"
    try:
        (file,) = tfr.recover(args.source, args.target, overwrite=args.overwrite, **options).files
    except (OSError, ImportError, ValueError) as error:
        file = FileReport(args.source, 0, 0, failure=error)
    # Of a damaged file without intact records, none is written.
    is_written = file.failure is None and (file.records > 0 or not file.num_damaged)
    if args.json:
        _say_json(file, console, output=args.target if is_written else None)
    else:
        _say_places(file, console, are_all_wanted=args.all)
    if file.failure is not None:
        inputs.complain_of(file.failure, file.source, console)
        return
    if file.num_damaged and (args.strict or not is_written):
        console.worsen(Status.DAMAGED)
    if not args.json:
        console.say(f"{file.source}: {_losses(file) if file.num_damaged else 'nothing was lost'}")
        saved = f"{plural(file.records, 'record')}, {exact_bytes(file.record_bytes)}"
        done = f"wrote {saved}" if is_written else "not written, as no intact record was found"
        console.say(f"{args.target}: {done}")
