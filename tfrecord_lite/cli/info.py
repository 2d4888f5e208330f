"""``tfrecord info``: how many records of what size and content."""

from __future__ import annotations

import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.content import Content, Kind, guess, tell
from tfrecord_lite.cli.display import feature_lines
from tfrecord_lite.cli.features import summaries
from tfrecord_lite.cli.jsonlines import json_line
from tfrecord_lite.cli.progress import Progress
from tfrecord_lite.cli.table import aligned, human_bytes, plural, sized
from tfrecord_lite.errors import DataLossError
from tfrecord_lite.files.names import local_size
from tfrecord_lite.records.damage import NEVER_SKIPPED, SkippingStream
from tfrecord_lite.records.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.records.damage import FileReport

SUMMARY = "count records, show sizes, compression and content"
DESCRIPTION = """\
Read each file to its end, checksums included, and show how many records it has, their
smallest, median and largest size, the compression that was found, and what the first
records seem to hold: tf.train.Example, tf.train.SequenceExample, ExampleListWithContext,
TensorBoard event, other protobuf?, text, empty or unknown. For a single file the features of its
first record are listed too. Of a damaged file, what comes before the damage is
counted; with --skip-damage, all that is sound."""
EPILOG = """\
examples:
  tfrecord info train.tfrecord
  tfrecord info 'train-*.tfrecord'
  tfrecord info train@10
  tfrecord info --json *.tfrecord | jq -s 'map(.records) | add'

with --json, one object a file: file, records, file_bytes (null if not known), record_bytes,
min, median, max (null without records), compression ("" for none), content (a list, the
most frequent first), features of the first record, damage (null if there is none)."""

_N_LOOKED_AT = 8
"""How many records the guess at the content is made from, as long as they are not huge."""
_MOST_LOOKED_AT_BYTES = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="one JSON object a file, one a line")
    inputs.add_skipping_argument(parser)
    inputs.add_arguments(parser)


@dataclass(frozen=True, slots=True)
class _Info:
    """What is known of one file."""

    name: str
    compression: str
    file_bytes: int | None
    n_records: int
    record_bytes: int
    sizes: tuple[int, int, int] | None
    """Smallest, median and largest; None without records."""
    kinds: list[Kind]
    first: Content | None
    damage: DataLossError | None
    """The first."""
    goes_on: bool
    """Whether what is behind it was read too."""

    @property
    def is_known(self) -> bool:
        """Whether it was seen what the file holds, if only that it holds nothing."""
        return self.n_records > 0 or self.damage is None

    @property
    def content(self) -> str:
        """Name what the records hold."""
        return ", ".join(self.kinds) or "no records"


def run(args: argparse.Namespace, console: Console) -> None:
    """Show them."""
    sources = inputs.find(args, console)
    infos: list[_Info] = []

    def work(stream: Records) -> None:
        info = _read(stream)
        if args.json:
            console.say(json_line(_as_json(info), is_ascii=console.is_ascii))
        infos.append(info)
        if info.damage is not None and not args.skip_damage:
            raise info.damage

    inputs.for_each_going_on(sources, args, console, work)
    if args.json or not infos:
        return
    for line in _page(infos[0]) if len(sources) == 1 else _table(infos):
        console.say(line)


def _read(stream: Records) -> _Info:
    """Read a file to its end, or to its damage."""
    file_bytes = local_size(stream.name)
    lengths = array.array("q")  # 8 bytes a record: all that grows with the file
    samples: list[bytes] = []
    damage = None
    with Progress(stream.name, None if stream.compression else file_bytes) as progress:
        while True:
            try:
                block = stream.next_block()
            except DataLossError as error:
                if error.reason in NEVER_SKIPPED:
                    raise
                damage = inputs.worded(error)
                break
            if block is None:
                break
            if len(samples) < _N_LOOKED_AT and sum(map(len, samples)) < _MOST_LOOKED_AT_BYTES:
                samples += block[: _N_LOOKED_AT - len(samples)]
            lengths.frombytes(block.lengths.tobytes())
            progress.advance(block.nbytes + len(block) * OVERHEAD_BYTES)
    if isinstance(stream, SkippingStream):
        damage = _first_damage(stream.report())
    sizes = np.frombuffer(lengths, np.int64)
    kinds = guess(samples)
    return _Info(
        name=stream.name,
        compression=stream.compression,
        file_bytes=file_bytes,
        n_records=sizes.size,
        record_bytes=int(sizes.sum()),
        sizes=_spread(sizes),
        kinds=kinds,
        first=tell(samples[0], kinds[0]) if samples else None,
        damage=damage,
        goes_on=isinstance(stream, SkippingStream),
    )


def _first_damage(report: FileReport) -> DataLossError | None:
    """Return the error of the first place that was passed over."""
    if not report.spans:
        return None
    span = report.spans[0]
    fields = (span.offset, span.source, span.index, None, span.detail)
    return inputs.worded(DataLossError(span.reason, *fields))


def _spread(sizes: np.ndarray) -> tuple[int, int, int] | None:
    """Return the smallest, the median (of two, the smaller) and the largest; reorders `sizes`."""
    if not sizes.size:
        return None
    middle = (sizes.size - 1) // 2
    sizes.partition(middle)
    return int(sizes.min()), int(sizes[middle]), int(sizes.max())


def _as_json(info: _Info) -> dict[str, object]:
    low, median, high = info.sizes or (None, None, None)
    damage = info.damage
    return {
        "file": info.name,
        "records": info.n_records,
        "file_bytes": info.file_bytes,
        "record_bytes": info.record_bytes,
        "min": low,
        "median": median,
        "max": high,
        "compression": info.compression,
        "content": list(info.kinds),
        "features": summaries(info.first.message) if info.first and info.first.message else None,
        "damage": damage
        and {
            "index": damage.index,
            "offset": damage.offset,
            "reason": damage.reason.name,
            "detail": damage.detail,
        },
    }


def _page(info: _Info) -> list[str]:
    """Show one file in full."""
    place = ", without those that are damaged" if info.goes_on else ", before the damage"
    before = place if info.damage else ""
    rows = [
        ("records", f"{info.n_records:,}{before}"),
        ("file size", "unknown" if info.file_bytes is None else sized(info.file_bytes)),
    ]
    if info.is_known:
        rows.append(("record bytes", sized(info.record_bytes)))
    if info.sizes:
        low, median, high = info.sizes
        text = f"min {low:,}, median {median:,}, max {plural(high, 'byte')}"
        rows.append(("record size", plural(low, "byte") if low == high else text))
    if info.is_known or info.compression:
        rows.append(("compression", info.compression or "none"))
    if info.is_known:
        rows.append(("content", info.content))
    lines = [info.name, *("  " + line for line in aligned(rows, "<<"))]
    if info.first is not None and info.first.message is not None:
        lines += ["", "features of the first record"]
        lines += feature_lines(info.first, None, with_values=False, most_examples=1)
    return lines


def _table(infos: list[_Info]) -> list[str]:
    """Show several files, a line each, and their total."""
    header = [
        "records",
        "on disk",
        "data",
        "min",
        "median",
        "max",
        "compression",
        "content",
        "file",
    ]
    rows = [header, *map(_row, infos)]
    spreads = [info.sizes for info in infos if info.sizes]
    file_sizes = [info.file_bytes for info in infos if info.file_bytes is not None]
    rows.append(
        [
            f"{sum(info.n_records for info in infos):,}",
            human_bytes(sum(file_sizes)) if len(file_sizes) == len(infos) else "-",
            human_bytes(sum(info.record_bytes for info in infos)),
            human_bytes(min(low for low, _, _ in spreads)) if spreads else "-",
            "",
            human_bytes(max(high for _, _, high in spreads)) if spreads else "-",
            "",
            "",
            f"total of {plural(len(infos), 'file')}",
        ]
    )
    return aligned(rows, ">>>>>><<<")


def _row(info: _Info) -> list[str]:
    return [
        f"{info.n_records:,}",
        "-" if info.file_bytes is None else human_bytes(info.file_bytes),
        human_bytes(info.record_bytes),
        *(map(human_bytes, info.sizes) if info.sizes else "---"),
        info.compression or ("none" if info.is_known else "-"),
        info.content if info.is_known else "-",
        info.name + (" (DAMAGED)" if info.damage else ""),
    ]
