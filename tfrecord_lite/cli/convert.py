"""``tfrecord convert``: files of one format to files of another."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import tfrecord_lite as tfr
from tfrecord_lite import extension as ext
from tfrecord_lite.apps.endings import UNTYPED, format_named, format_of
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, OutputError
from tfrecord_lite.cli.words import shell_text
from tfrecord_lite.errors import argument_error
from tfrecord_lite.texts import human_bytes, plural

if TYPE_CHECKING:
    from tfrecord_lite.apps.tables.conversion import Summary

_OF_ROWS = "from_", "to", "text", "sample", "limit", "lossless"
_FEATURE = re.compile(r"(?P<name>.+):(?P<dtype>\w+)(?:\[(?P<shape>[\d?, ]*)\])?(?P<lacking>\??)")


def add_convert(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    group: Any = parser.add_argument_group("formats")
    inputs.add(group, "--from FORMAT", "the format of all SRC", dest="from_")
    inputs.add(group, "--to FORMAT", "the format of DST")
    schema = group.add_mutually_exclusive_group()
    inputs.add_schema(schema, group)
    text = "features, each NAME:TYPE, then [4] for a shape, [?] for any length, "
    inputs.add(schema, "--features NAME:TYPE,...", f"{text}? if it may be missing")
    inputs.add_text(group, default=False)
    group = parser.add_argument_group("rows and columns")
    inputs.add_columns(group, "convert these columns only")
    text = "convert the rows for which this is true; needs pip install duckdb pyarrow"
    inputs.add(group, "--where CONDITION", text)
    inputs.add_limit(group, "convert N rows at most", at_least=0)
    group = parser.add_argument_group("output")
    inputs.add_shards(group)
    text = "inside Parquet and Arrow files, or of the whole file"
    inputs.add_output_compression(group, text, *inputs.INNER_CODECS)
    inputs.add_lossless(group)
    text = "write N files at a time, each in a process (default: 1)"
    inputs.add(group, "--jobs N", text, inputs.count_of("jobs"), default=1)
    inputs.add_overwrite(group)
    text = "keep the files that an interrupted call with the same arguments has completed"
    inputs.add(group, "--resume", text)
    inputs.add_drop_bad(parser)
    inputs.add_reading(parser, can_skip=True)
    inputs.add_json(parser, "the summary as JSON")
    text = "a path, a URL, a pattern, shards as train@10, a directory, or - for standard input"
    inputs.add(parser, "sources SRC", text, nargs="+")
    inputs.add(parser, "target DST", "a file, a directory, or - for standard output")


def run_convert(args: argparse.Namespace, console: Console) -> None:
    """Convert SRC, one file or several of any known format, to DST.

    The endings of the names tell the formats: .tfrecord, .parquet, .arrow or .feather, .csv, .tsv, .jsonl,
    and compression, as .csv.gz. If DST is a directory, each SRC becomes a file in it. Needs
    pip install pyarrow.

    examples:
      tfrecord convert train.tfrecord train.parquet
      tfrecord convert 'train-*.tfrecord' out/ --to parquet --jobs 4
      tfrecord convert big.parquet train.tfrecord --bytes-per-shard 200MB --jobs 2 --resume
      tfrecord convert train.tfrecord small.csv --columns label,name --where 'label > 3' --limit 100
      tfrecord convert t.csv t.tfrecord --features 'label:int64,box:float32[4],tags:text[?],weight:float32?'
      tfrecord convert - - --from csv --to jsonl < table.csv

    exit status: 0 if all was converted; 1 if a file is damaged (with --skip-damage, the rest was
    converted); 2 after any other error.
    """
    from tfrecord_lite.apps.tables.conversion import Settings, convert  # noqa: PLC0415 - only this verb needs it

    schema, target = args.schema, args.target
    if args.features is not None:
        schema = parse_features(args.features, lossless=args.lossless)
    if target == "-":
        is_text = args.to is None or format_named(args.to) in UNTYPED
        target = console.open_output(is_text=is_text)
    else:
        inputs.check_target(target, args.sources, overwrite=args.overwrite)
        if args.to not in (None, "tfrecord") and format_of(target) == "tfrecord":
            raise argument_error(f"its ending is not one of --to {args.to}", source=target)
    if "-" in args.sources and sys.stdin is None:
        raise argument_error("standard input is closed")
    sources = [source for name in args.sources for source in _sources(name)]
    settings: Any = {name: getattr(args, name) for name in _OF_ROWS}
    settings |= {"schema": schema, "options": inputs.settings_of(args), "condition": args.where}
    settings |= {"make_condition": _condition, "compression": args.output_compression}
    settings["columns"] = None if args.columns is None else tuple(args.columns)
    files: Any = {name: getattr(args, name) for name in ("num_shards", "overwrite", "resume")}
    files |= {"shard_bytes": args.bytes_per_shard, "num_jobs": args.jobs}
    summary = convert(ext.without_companions(sources), target, Settings(**settings), **files)
    _show(summary, args, console)


def _sources(name: str) -> list[Any]:
    """Return what a name names; of a directory of TensorFlow Datasets its files, others are listed later."""
    if name == "-":
        return [sys.stdin.buffer]
    if ext.is_pipe(name):
        return list(inputs.sources_of(name))
    with contextlib.suppress(FileNotFoundError):
        try:
            ext.expand(name)
        except IsADirectoryError:
            return list(inputs.sources_of(name))
    return [name]


def _condition(*arguments: Any) -> Any:
    from tfrecord_lite.integrations.duckdb import Where  # noqa: PLC0415 - needs duckdb

    return Where(*arguments)


def parse_features(text: str, *, lossless: bool = False) -> tfr.Schema:
    """Parse features in their short form, such as ``x:int64,box:float32[4],tags:text[?]``."""
    columns: dict[str, Any] = {}
    lacking: list[str] = []
    for item in map(str.strip, re.split(r",(?![^\[]*\])", text)):
        match = _FEATURE.fullmatch(item)
        if match is None:
            detail = f"{item!r} is not a feature, expected NAME:TYPE, as in box:float32[4]"
            raise argument_error(detail)
        name, word = match["name"], match["dtype"]
        if name in columns:
            raise argument_error(f"the feature {name!r} is there twice")
        dims = [dim.strip() for dim in (match["shape"] or "").split(",") if dim.strip()]
        if "?" in dims[1:]:
            raise argument_error(f"feature {name!r}: only the first dimension may vary")
        inner = [int(dim) for dim in dims if dim != "?"]
        is_text, is_bytes = word in ("text", "str"), word in ("bytes", "string")
        try:
            dtype = np.dtype("O" if is_text or is_bytes else word)
        except TypeError:
            detail = f"unknown type {word!r}, expected int64, float32, bytes or text"
            raise argument_error(f"feature {name!r}: {detail}") from None
        # Without a value, objects are not known to be text.
        flat: Any = np.full((int(is_text), *inner), "" if is_text else 0, dtype)
        if dims[:1] == ["?"]:
            columns[name] = tfr.RaggedTensor(flat, np.array([0, len(flat)][: len(flat) + 1]))
        else:
            columns[name] = flat
            lacking += [name] if match["lacking"] else []
    items = tfr.schema_of(columns, lossless=lossless).to_items()
    items |= {name: ext.as_missing(name, items[name]) for name in lacking}
    return tfr.Schema.of_items(items)


# ----------------------------------------------------------------------------------- summary


def _show(summary: Summary, args: argparse.Namespace, console: Console) -> None:
    for name, error in summary.failures:
        if args.target == "-" and isinstance(error, BrokenPipeError):
            raise OutputError from error
        line = inputs.text_of(error, name)
        line = line if name in line else f"{name} was not written: {line}"
        console.complain(line, inputs.status_of(error))
    inputs.complain_of_skipped(summary.damage, console)
    inputs.note_rounded(summary.rounded, console)
    outputs, kept = summary.outputs, summary.kept
    if args.target == "-":
        return
    if args.json:
        files = sorted([*outputs, *kept], key=lambda one: one.name)
        console.say_json(
            {
                "outputs": [
                    {"file": one.name, "rows": one.rows, "bytes": one.n_bytes, "kept": one in kept}
                    for one in files
                ],
                "failures": [
                    {"file": name, "error": shell_text(str(error))}
                    for name, error in summary.failures
                ],
                "rows": summary.rows,
                "seconds": round(summary.seconds, 3),
                "damaged_places": summary.damage.num_damaged,
                "dropped_records": summary.damage.num_message_errors,
                "rounded": summary.rounded,
            }
        )
    elif outputs or kept:
        n_bytes = sum(output.n_bytes for output in outputs)
        line = f"wrote {plural(sum(one.rows for one in outputs), 'row')}, {human_bytes(n_bytes)}"
        line += f", in {plural(len(outputs), 'file')}" if len(outputs) + len(kept) > 1 else ""
        line += f"; kept {plural(len(kept), 'complete file')}" if kept else ""
        console.say(f"{args.target}: {line}")
    if summary.failures and not args.resume and outputs:
        stayed = plural(len(outputs), "complete file")
        console.complain(f"{stayed} stayed; --resume continues with the others", console.status)
