"""``tfrecord convert``: files of one format to files of another."""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import OutputError, Status
from tfrecord_lite.cli.style import json_line
from tfrecord_lite.errors import DataLossError, argument_error, human_bytes, plural
from tfrecord_lite.progress import is_terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tfrecord_lite.apps.tables.conversion import Summary
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.schema import Schema

HELP = """\
Convert SRC, one file or several of any known format, to DST. The endings of the names tell the
formats: .tfrecord, .parquet, .arrow or .feather, .csv, .tsv, .jsonl, and compression, as .csv.gz.
If DST is a directory, each SRC becomes a file in it. Needs pip install 'tfrecord-numpy[arrow]'.

examples:
  tfrecord convert train.tfrecord train.parquet
  tfrecord convert 'train-*.tfrecord' out/ --to parquet --jobs 4
  tfrecord convert big.parquet train.tfrecord --bytes-per-shard 200MB --jobs 2 --resume
  tfrecord convert train.tfrecord small.csv --columns label,name --where 'label > 3' --limit 100
  tfrecord convert t.csv t.tfrecord --features 'label:int64,box:float32[4],tags:text[?],weight:float32?'
  tfrecord convert - - --from csv --to jsonl < table.csv

exit status: 0 if all was converted; 1 if a file is damaged (with --skip-damage, the rest was
converted); 2 after any other error."""

_COMPRESSIONS = ("none", "gz", "gzip", "zst", "zstd", "bz2", "zlib", "snappy", "lz4", "brotli")
_FEATURE = re.compile(r"(?P<name>.+):(?P<dtype>\w+)(?:\[(?P<shape>[\d?, ]*)\])?(?P<lacking>\??)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    group: Any = parser.add_argument_group("formats")
    inputs.add(group, "--from FORMAT", "the format of all SRC", dest="from_")
    inputs.add(group, "--to FORMAT", "the format of DST")
    schema = group.add_mutually_exclusive_group()
    inputs.add_schema(schema, group)
    text = "the features instead, each NAME:TYPE with a shape, [?] for any length, ? if it may lack"
    inputs.add(schema, "--features NAME:TYPE,...", text)
    inputs.add(group, "--text all|NAME,...", "byte strings in TFRecords that are text")
    group = parser.add_argument_group("rows and columns")
    inputs.add_columns(group, "convert these columns only")
    text = "convert the rows for which this is true; needs pip install 'tfrecord-numpy[sql]'"
    inputs.add(group, "--where CONDITION", text)
    number = inputs.count_of("rows", at_least=0)
    inputs.add(group, "--limit N", "convert N rows at most", number)
    group = parser.add_argument_group("output")
    inputs.add_shards(group)
    text = "of Parquet and Arrow inside, of others of the file: none, gz, zst, bz2, zlib, snappy, lz4, brotli"
    inputs.add(group, "--compression NAME", text, choices=_COMPRESSIONS)
    text = "store float64 in TFRecords exactly, as byte strings; by default as float32"
    inputs.add(group, "--float64", text)
    text = "processes, which share the files to be written (default: 1)"
    inputs.add(group, "--jobs N", text, inputs.count_of("jobs"), default=1)
    inputs.add_overwrite(group)
    text = "keep the files that an interrupted call with the same arguments has completed"
    inputs.add(group, "--resume", text)
    inputs.add_reading(parser, can_skip=True, has_compression=False)
    inputs.add_json(parser, "the summary as JSON")
    text = "a path, a URL, a pattern, shards as train@10, a directory, or - for standard input"
    inputs.add(parser, "sources SRC", text, nargs="+")
    inputs.add(parser, "target DST", "a file, a directory, or - for standard output")


def run(args: argparse.Namespace, console: Console) -> None:
    """Convert the files."""
    from tfrecord_lite.apps.tables.conversion import (  # noqa: PLC0415 - only this verb needs it
        Settings,
        convert,
    )
    from tfrecord_lite.options import ReadSettings  # noqa: PLC0415 - only this verb needs it

    try:
        settings = Settings(
            from_=args.from_,
            to=args.to,
            schema=args.schema if args.features is None else parse_features(args.features),
            text=False if args.text is None else args.text == "all" or inputs.names(args.text),
            sample=args.sample,
            options=ReadSettings(**inputs.read_options(args, has_compression=False)),
            columns=None if args.columns is None else tuple(args.columns),
            condition=args.where,
            make_condition=_condition,
            limit=args.limit,
            compression=args.compression,
            is_exact=args.float64,
        )
        summary = convert(
            [_source(name) for name in args.sources],
            _target(args, console),
            settings,
            num_shards=args.num_shards,
            shard_bytes=args.bytes_per_shard,
            num_jobs=args.jobs,
            overwrite=args.overwrite,
            resume=args.resume,
        )
    except DataLossError as error:
        inputs.complain_of(error, str(args.sources[0]), console)
        return
    except (OSError, ImportError, ValueError, TypeError) as error:
        _check_output(error, args)
        text = str(error)
        about = next((source for source in args.sources if source in text), args.target)
        console.complain(inputs.text_of(error, about))
        return
    _show(summary, args, console)


def _check_output(error: Exception, args: argparse.Namespace) -> None:
    """Raise OutputError if standard output has failed."""
    if args.target == "-" and isinstance(error, BrokenPipeError):
        raise OutputError from error


def _target(args: argparse.Namespace, console: Console) -> Any:
    """Return DST; of a terminal a file object that shows text only."""
    if args.target != "-":
        return args.target
    is_text = (args.to or "").lower() in ("csv", "tsv", "jsonl")
    if is_terminal(sys.stdout) and args.to is not None and not is_text:
        raise argument_error("standard output is a terminal; redirect it, or name a file")
    return console.open_output()


def _source(name: str) -> Any:
    if name != "-":
        return name
    if sys.stdin is None:
        raise argument_error("standard input is closed")
    return sys.stdin.buffer


def _condition(text: str, names: Sequence[str]) -> Any:
    from tfrecord_lite.integrations.duckdb import where  # noqa: PLC0415 - needs duckdb

    return where(text, names)


def parse_features(text: str) -> Schema:
    """Parse features in their short form, such as ``x:int64,box:float32[4],tags:text[?]``."""
    from tfrecord_lite.schema import Schema  # noqa: PLC0415 - only this verb needs it

    schema = Schema({})
    for item in re.split(r",(?![^\[]*\])", text):
        match = _FEATURE.fullmatch(item.strip())
        if match is None:
            detail = f"{item.strip()!r} is not a feature, expected NAME:TYPE, as in box:float32[4]"
            raise argument_error(detail)
        if match["name"] in schema:
            raise argument_error(f"the feature {match['name']!r} is there twice")
        schema |= _feature(match)
    return schema


def _feature(match: re.Match[str]) -> Schema:
    import numpy as np  # noqa: PLC0415 - only this verb needs it

    from tfrecord_lite.columns import RaggedTensor  # noqa: PLC0415 - only this verb needs it
    from tfrecord_lite.convert.lossless import schema_of  # noqa: PLC0415 - only this verb needs it
    from tfrecord_lite.schema import Schema  # noqa: PLC0415 - only this verb needs it
    from tfrecord_lite.storage.widening import as_missing  # noqa: PLC0415 - only this verb needs it

    name, word = match["name"], match["dtype"]
    dims = [dim.strip() for dim in (match["shape"] or "").split(",") if dim.strip()]
    if "?" in dims[1:]:
        raise argument_error(f"feature {name!r}: only the first dimension may vary")
    inner = [int(dim) for dim in dims if dim != "?"]
    try:
        dtype = {"bytes": "O", "string": "O", "text": "T", "str": "T"}.get(word) or np.dtype(word)
    except TypeError:
        detail = f"feature {name!r}: unknown type {word!r}, expected int64, float32, bytes or text"
        raise argument_error(detail) from None
    rows = 0 if dtype != "T" else 1  # without a value, objects are not known to be text
    flat: Any = np.full((rows, *inner), "", "O") if rows else np.zeros((0, *inner), dtype)
    is_ragged = bool(dims) and dims[0] == "?"
    schema = schema_of(
        {name: RaggedTensor(flat, np.array([0, rows][: rows + 1])) if is_ragged else flat}
    )
    if not match["lacking"] or is_ragged:
        return schema
    return Schema.of_items({name: as_missing(name, schema.to_items()[name])})


# ----------------------------------------------------------------------------------- summary


def _show(summary: Summary, args: argparse.Namespace, console: Console) -> None:
    for name, error in summary.failures:
        _check_output(error, args)
        status = Status.FAILED
        if isinstance(error, DataLossError):
            status = inputs.status_of(error.reason)
        line = inputs.text_of(error, name)
        console.complain(line if name in line else f"{name} was not written: {line}", status)
    if summary.damage.num_damaged:
        console.complain(summary.damage.summary(), Status.DAMAGED)
    if summary.rounded:
        names = ", ".join(map(repr, summary.rounded))
        with contextlib.suppress(OSError):
            console.note(f"float64 was rounded to float32 in {names}; --float64 keeps it")
    if args.json:
        document = _document(summary)
        _say(console, args, document)
    elif summary.outputs or summary.kept:
        _say(console, args, f"{args.target}: {_line(summary)}")
    if summary.failures and args.target != "-" and not args.resume and summary.outputs:
        kept = plural(len(summary.outputs), "complete file")
        console.complain(f"{kept} stayed; --resume continues with the others", console.status)


def _say(console: Console, args: argparse.Namespace, what: Any) -> None:
    if args.target != "-":
        console.say_json(what) if args.json else console.say(what)
    elif args.json and sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(json_line(what, is_ascii=True) + "\n")


def _line(summary: Summary) -> str:
    n_bytes = sum(output.n_bytes for output in summary.outputs)
    rows = sum(output.rows for output in summary.outputs)
    text = f"wrote {plural(rows, 'row')}, {human_bytes(n_bytes)}"
    if len(summary.outputs) + len(summary.kept) > 1:
        text += f", in {plural(len(summary.outputs), 'file')}"
    if summary.kept:
        text += f"; kept {plural(len(summary.kept), 'complete file')}"
    return text


def _document(summary: Summary) -> dict[str, Any]:
    pairs = [(output, False) for output in summary.outputs]
    pairs += [(output, True) for output in summary.kept]
    return {
        "outputs": [
            {"file": output.name, "rows": output.rows, "bytes": output.n_bytes, "kept": kept}
            for output, kept in sorted(pairs, key=lambda pair: pair[0].name)
        ],
        "failures": [{"file": name, "error": str(error)} for name, error in summary.failures],
        "rows": summary.rows,
        "seconds": round(summary.seconds, 3),
        "damaged_places": summary.damage.num_damaged,
        "rounded": summary.rounded,
    }
