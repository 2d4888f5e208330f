"""``tfrecord verify``: every checksum of each file, and every place that is damaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Status
from tfrecord_lite.cli.jsonlines import json_line
from tfrecord_lite.cli.progress import Progress
from tfrecord_lite.cli.table import plural, sized
from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.framing import OVERHEAD_BYTES
from tfrecord_lite.sources import local_size

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.stream import RecordStream

__all__ = ["DESCRIPTION", "EPILOG", "SUMMARY", "add_arguments", "run"]

SUMMARY = "check every checksum, name every damaged place"
DESCRIPTION = """\
Check the checksums of every record, and of the compressed stream if there is one. Each
damaged place is printed with the record's number, its offset in bytes (counted after
decompression) and what is wrong; then the check goes on behind it, at the next place where
a record can start. A record number behind damage counts each damaged place as one record.
A last line sums each file up."""
EPILOG = """\
examples:
  tfrecord verify train.tfrecord
  tfrecord verify 'train-*.tfrecord' && echo all sound
  tfrecord verify --json 'train-*.tfrecord' | jq 'select(.sound == false).file'

with --json, an object for each damaged place (file, index, offset, reason, detail,
bytes_passed_over: null if nothing readable follows), and one for each file (file, sound,
records, record_bytes, damaged_places)."""

_SURVIVABLE = (Reason.LENGTH_CRC, Reason.DATA_CRC, Reason.RECORD_TOO_LARGE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="JSON objects, one a line")
    inputs.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Check them."""

    def work(stream: RecordStream) -> None:
        n_bytes = None if stream.compression else local_size(stream.name)
        with Progress(stream.name, n_bytes) as progress:
            findings = _Findings(stream.name, console, progress, as_json=args.json)
            _check(stream, findings)
        findings.sum_up()

    inputs.for_each(inputs.find(args, console), args, console, work)


@dataclass(slots=True)
class _Findings:
    """What the check of one file has found, and how to say it."""

    name: str
    console: Console
    progress: Progress
    as_json: bool
    n_records: int = 0
    n_bytes: int = 0
    n_places: int = 0
    n_passed_over: int = 0

    def add_sound(self, n_records: int, n_bytes: int) -> None:
        """Count sound records."""
        self.n_records += n_records
        self.n_bytes += n_bytes
        self.progress.advance(n_bytes + n_records * OVERHEAD_BYTES)

    def add_damage(self, error: DataLossError, n_passed_over: int | None) -> None:
        """Count and print a damaged place; None if nothing readable follows it."""
        error = inputs.worded(error)
        self.n_places += 1
        self.n_passed_over += n_passed_over or 0
        self.console.worsen(Status.DAMAGED)
        self.progress.clear()
        self.progress.advance(n_passed_over or 0)
        if self.as_json:
            self._say_json(
                index=error.index,
                offset=error.offset,
                reason=error.reason.name,
                detail=error.detail,
                bytes_passed_over=n_passed_over,
            )
            return
        text = f"{self.name}: record {error.index}, byte {error.offset}: {error.reason}"
        text += f": {error.detail}" if error.detail else ""
        is_end = n_passed_over is None and error.reason in _SURVIVABLE
        self.console.say(text + "; no record follows" * is_end)

    def sum_up(self) -> None:
        """Print the last line."""
        if self.as_json:
            self._say_json(
                sound=not self.n_places,
                records=self.n_records,
                record_bytes=self.n_bytes,
                damaged_places=self.n_places,
            )
            return
        sound = f"{plural(self.n_records, 'sound record')}, {sized(self.n_bytes)}"
        if self.n_places:
            places = plural(self.n_places, "damaged place")
            over = f", {plural(self.n_passed_over, 'byte')} passed over"
            self.console.say(
                f"{self.name}: DAMAGED: {places}{over * (self.n_passed_over > 0)}; {sound}"
            )
        else:
            self.console.say(f"{self.name}: ok: {sound}")

    def _say_json(self, **fields: object) -> None:
        line = json_line({"file": self.name, **fields}, is_ascii=self.console.is_ascii)
        self.console.say(line)


def _check(stream: RecordStream, findings: _Findings) -> None:
    """Read a whole file, and go on behind damage as long as that can be done."""
    while True:
        try:
            block = stream.next_block()
        except DataLossError as error:
            if not _go_on(stream, error, findings):
                return
            continue
        if block is None:
            return
        findings.add_sound(len(block), block.n_bytes)


def _go_on(stream: RecordStream, error: DataLossError, findings: _Findings) -> bool:
    """Report damage and step over it; False if that cannot be done."""
    if error.reason is Reason.COMPRESSION:  # no damage: another compression than the one named
        raise error
    if error.reason not in _SURVIVABLE:
        findings.add_damage(error, None)
        return False
    try:
        n_passed_over = stream.skip_damage()
    except DataLossError as end:
        findings.add_damage(error, None)
        if end.reason is not error.reason:  # the stream broke off on the way to the next record
            findings.add_damage(end, None)
        return False
    findings.add_damage(error, n_passed_over)
    return True
