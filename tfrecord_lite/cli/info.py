"""``tfrecord info``, ``count``, ``index`` and ``view``: what files hold, and where."""

from __future__ import annotations

import argparse
import array
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

import tfrecord_lite as tfr
from tfrecord_lite import extension as ext
from tfrecord_lite.apps.outline import Section, sections
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, OutputError, aligned, exact_bytes
from tfrecord_lite.cli.display import feature_lines
from tfrecord_lite.cli.inputs import Records
from tfrecord_lite.errors import DataLossError
from tfrecord_lite.sniff import ValueContent, recognize_value
from tfrecord_lite.texts import human_bytes, plural

_N_SAMPLES, _MAX_SAMPLE_BYTES = 8, 1024 * 1024
"""Content is guessed from that many first records, fewer if they are huge."""


def add_info(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object per file")
    inputs.add_message(parser)
    inputs.add_files(parser)


class _Info(NamedTuple):
    name: str
    compression: str
    file_bytes: int | None
    n_records: int
    record_bytes: int
    sizes: tuple[int, int, int] | None
    """Smallest, median and largest; None without records."""
    types: list[str]
    first: ext.Content | None
    """The first record."""
    tensors: list[ValueContent]
    """What the first records are, each once, if they are tensors."""
    damage: DataLossError | None
    """The first damage."""
    is_skipping: bool
    """Whether records after the damage were read too."""

    @property
    def is_known(self) -> bool:
        """Whether the content is known, if only that there is none."""
        return self.n_records > 0 or self.damage is None

    @property
    def content(self) -> str:
        """What the records hold."""
        return ", ".join(self.types) or "no records"


def run_info(args: argparse.Namespace, console: Console) -> None:
    """Count records, show sizes, compression and content.

    Each file is read to its end, to show how many records it has, their sizes, the
    compression, what the first records seem to hold, and of a single file the features of its first record.

    examples:
      tfrecord info train.tfrecord
      tfrecord info --json *.tfrecord | jq -s 'map(.records) | add'
    """
    sources = inputs.find(args, console)
    infos: list[_Info] = []

    def add_info(stream: Records, progress: Callable[[], None]) -> None:
        info = _read(stream, progress, args.message)
        if info.damage is not None and info.damage.reason in ext.NOT_DAMAGE:
            return  # it is reported at the end, with all that was skipped
        if args.json:
            console.say_json(_as_json(info, args))
        infos.append(info)
        if info.damage is not None and not args.skip_damage:
            raise info.damage

    inputs.for_each(sources, args, console, add_info)
    if args.json or not infos:
        return
    console.say_lines(_page(infos[0], args) if len(sources) == 1 else _table(infos))


def _read(stream: Records, progress: Callable[[], None], message: Any) -> _Info:
    lengths = array.array("q")  # int64: all that grows with the file
    samples: list[bytes] = []
    damage = None
    try:
        while (block := stream.next_block()) is not None:
            if len(samples) < _N_SAMPLES and sum(map(len, samples)) < _MAX_SAMPLE_BYTES:
                samples += block[: _N_SAMPLES - len(samples)]
            lengths.frombytes(block.lengths.tobytes())
            progress()
    except DataLossError as error:
        if error.reason in ext.NOT_DAMAGE:
            raise
        damage = error
    if isinstance(stream, ext.SkippingStream) and (spans := stream.report().spans):
        damage = spans[0].error()
    sizes = np.frombuffer(lengths, np.int64)
    spread: Any = sizes.size and tuple(np.quantile(sizes, [0, 0.5, 1], method="lower").tolist())
    types = ext.detect_all(samples)
    return _Info(
        name=stream.name,
        compression=stream.compression,
        file_bytes=ext.local_size(stream.name),
        n_records=sizes.size,
        record_bytes=int(sizes.sum()),
        sizes=spread or None,
        types=[message.DESCRIPTOR.full_name] if samples and message else [*types],
        first=ext.detect(samples[0], types[0]) if samples and not message else None,
        tensors=_tensors(samples) if ext.ContentType.TENSOR in types and not message else [],
        damage=damage,
        is_skipping=isinstance(stream, ext.SkippingStream),
    )


def _tensors(records: list[bytes]) -> list[ValueContent]:
    contents = map(recognize_value, records)
    return [*{(c.label, c.shape): c for c in contents if c.label.endswith(" tensor")}.values()]


def _as_json(info: _Info, args: argparse.Namespace) -> dict[str, object]:
    damage, features = info.damage, _sections(info, args)
    tensors = [
        {"dtype": tensor.label.removesuffix(" tensor"), "shape": [*(tensor.shape or ())]}
        for tensor in info.tensors
    ]
    document: dict[str, Any] = {
        "file": info.name,
        "records": info.n_records,
        "file_bytes": info.file_bytes,
        "record_bytes": info.record_bytes,
        **dict(zip(("min", "median", "max"), info.sizes or (None,) * 3, strict=True)),
        "compression": info.compression,
        "content": list(info.types),
        "features": _features(features) if features else None,
        "damage": None,
    }
    if damage is not None:
        place = {"index": damage.index, "offset": damage.offset, "reason": damage.reason.name}
        document["damage"] = {**place, "detail": damage.detail}
    return document | ({"tensors": tensors} if tensors else {})


def _sections(info: _Info, args: argparse.Namespace) -> list[Section]:
    """Return the features of the first record, as they were before they were stored; none of another type."""
    if info.first is None or info.first.message is None:
        return []
    restore = ext.row_restorer(ext.originals_of([info.name], inputs.settings_of(args)))
    return sections(info.first.message, 1, restore(info.first.record))


def _features(parts: list[Section]) -> list[dict[str, object]]:
    described: list[dict[str, object]] = []
    for section in parts:
        for row in section.rows:
            low, high = row.counts
            count = {"steps": len(row.steps), "min": low, "max": high}
            count = count if row.is_list else {"count": low}
            entry = {"section": section.title or None, "name": row.name, "kind": row.kind}
            described.append({**entry, **count})
    return described


def _page(info: _Info, args: argparse.Namespace) -> list[str]:
    which = " (intact)" if info.is_skipping else " (before the damage)"
    rows = [
        ("records", f"{info.n_records:,}{which if info.damage else ''}"),
        ("file size", "unknown" if info.file_bytes is None else exact_bytes(info.file_bytes)),
    ]
    if info.is_known:
        rows.append(("record bytes", exact_bytes(info.record_bytes)))
    if info.sizes:
        low, median, high = info.sizes
        text = f"min {low:,}, median {median:,}, max {plural(high, 'byte')}"
        rows.append(("record size", plural(low, "byte") if low == high else text))
    if info.is_known or info.compression:
        rows.append(("compression", info.compression or "none"))
    if info.is_known:
        rows.append(("content", info.content))
    if info.tensors:
        shown = [f"{c.label.removesuffix(' tensor')} {c.details}" for c in info.tensors]
        rows += [("tensors", ", ".join(shown)), ("to read them", ext.way_on_of_tensors(info.name))]
    lines = [info.name, *("  " + line for line in aligned(rows, "<<"))]
    if features := _sections(info, args):
        lines += ["", "features of the first record"]
        lines += feature_lines(features, None, with_values=False)
    return lines


def _table(infos: list[_Info]) -> list[str]:
    heads = ["records", "on disk", "data", "min", "median", "max", "compression", "content", "file"]
    spreads = [info.sizes for info in infos if info.sizes]
    file_sizes = [info.file_bytes for info in infos if info.file_bytes is not None]
    n_records = sum(info.n_records for info in infos)
    total = [
        f"{n_records:,}",
        human_bytes(sum(file_sizes)) if len(file_sizes) == len(infos) else "-",
        human_bytes(sum(info.record_bytes for info in infos)),
        human_bytes(min(low for low, _, _ in spreads)) if spreads else "-",
        "",
        human_bytes(max(high for _, _, high in spreads)) if spreads else "-",
        "",
        "",
        f"total of {plural(len(infos), 'file')}: {plural(n_records, 'record')}",
    ]
    return aligned([heads, *map(_row, infos), total], ">>>>>><<<")


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


# --------------------------------------------------------------------------------- index


def add_count(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser)
    inputs.add_files(parser)


def run_count(args: argparse.Namespace, console: Console) -> None:
    """Count records, as fast as the files allow.

    An index beside a file has the number; otherwise lengths are read, and compressed files to their ends. Data are not
    verified, unless damage is skipped.

    examples:
      tfrecord count 'train-*.tfrecord'
      tfrecord count --json train@8.tfrecord.gz | jq .records
    """
    from tfrecord_lite.reader import reader_with  # noqa: PLC0415 - not light

    total, n_files = 0, 0
    for source in inputs.find(args, console):
        name = ext.name_of(source)
        with inputs.reported(name, console):
            if args.skip_damage:
                reader = reader_with([source], inputs.settings_of(args))
                n_records = sum(map(len, reader.blocks()))
                inputs.complain_of_skipped(reader.report, console)
            else:
                ((_, n_records),) = ext.count_each([source], inputs.settings_of(args))
            total, n_files = total + n_records, n_files + 1
            _say_records({"file": name}, n_records, args, console)
    if n_files > 1 and not args.json:
        console.say(f"total of {n_files:,} files: {plural(total, 'record')}")


def add_index(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "one JSON object per file")
    inputs.add_files(parser, can_skip=False)


def run_index(args: argparse.Namespace, console: Console) -> None:
    """Write an index, for random access.

    The index of FILE is FILE.idx: the offset and size of each record in bytes. Compressed files, and
    those with a damaged length, get none.

    examples:
      tfrecord index 'train-*.tfrecord'
    """
    for source in inputs.find(args, console):
        with inputs.reported(ext.name_of(source), console):
            with tfr.TFRecordFile(source, index=None, **inputs.read_options(args)) as file:
                (name,), n_records = file.save_index(), len(file)
            _say_records({"file": ext.name_of(source), "index": name}, n_records, args, console)


def _say_records(names: dict[str, str], number: int, args: Any, console: Console) -> None:
    """Print the number of records of a file, after the last of its names."""
    if args.json:
        console.say_json({**names, "records": number})
    else:
        console.say(f"{[*names.values()][-1]}: {plural(number, 'record')}")


# ----------------------------------------------------------------------------------- view


def add_view(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add(parser, "-o/--output PAGE", "write the page to this file; - is standard output")
    inputs.add_overwrite(parser, "PAGE if it exists")
    inputs.add_columns(parser, "show these features only")
    inputs.add_limit(parser, "records in the table (default: 200)", 200, at_least=0)
    text = "how many records of large files the statistics read (default: 10000)"
    inputs.add(parser, "--sample N", text, inputs.count_of("records"), default=10_000)
    inputs.add_seed(parser, "of the random sample (default: 0)", default=0)
    text = "about how large the page may become (default: 16MiB)"
    inputs.add(parser, "--max-bytes N", text, inputs.positive_size, default=16 << 20)
    inputs.add_message(parser)
    inputs.add_files(parser, can_skip=False)


def run_view(args: argparse.Namespace, console: Console) -> None:
    """Make a page that shows what is in the files.

    It shows size, compression and damage; the schema; a chart of each
    feature; and a table of records, with images, sounds, texts and tensors. It is one HTML file, and
    opens in the browser without -o. Needs pip install jinja2 pillow.

    examples:
      tfrecord view train.tfrecord
      tfrecord view --columns image,label 'train-*.tfrecord' -o train.html

    exit status: 0 if the page was made, even if it shows damage; 1 if no record is intact; 2 after any
    other error, as of what is not a TFRecord file.
    """
    from tfrecord_lite.apps.viewer.page import open_page, view  # noqa: PLC0415 - loads much

    sources = inputs.find(args, console)
    if not sources:
        return  # the reason has been reported
    options: dict[str, Any] = {"columns": args.columns or None, "num_records": args.limit}
    options |= {"sample_size": args.sample, "message_class": args.message, "open_browser": False}
    options |= {name: getattr(args, name) for name in ("seed", "max_bytes", "overwrite")}
    options |= inputs.read_options(args)
    output = args.output
    if output == "-":
        if sys.stdout is None:
            raise OutputError
        console.flush()
        output = cast("Any", sys.stdout).buffer
    page = view(sources, output=output, **options)
    if args.output is None and not open_page(page):
        console.say(page)
    elif args.output not in (None, "-"):
        size = ext.local_size(page)
        console.say(f"{page}: wrote {'a page' if size is None else exact_bytes(size)}")
