"""``tfrecord convert``: files of one format to files of another."""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import OutputError, Status
from tfrecord_lite.cli.formatting import json_line
from tfrecord_lite.errors import DataLossError, argument_error, human_bytes, plural
from tfrecord_lite.progress import is_terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tfrecord_lite.apps.tables.conversion import Summary
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.schema import Schema

DESCRIPTION = """\
Convert SRC, one file or several of any known format, to DST. The endings of the names tell the
formats: .tfrecord, .parquet, .arrow or .feather, .csv, .tsv, .jsonl, each with .gz, .zst or .bz2 after it if the file is compressed as a whole. A SRC that is a directory stands for the files in it;
if DST is one (it exists, or ends in /), each SRC becomes a file in it. Several SRC become one DST
in their order. Nothing but a complete file appears under its name. All but TFRecords to TFRecords as
they are needs pip install 'tfrecord-numpy[arrow]'."""
EPILOG = """\
examples:
  tfrecord convert train.tfrecord train.parquet
  tfrecord convert table.csv train.tfrecord.gz
  tfrecord convert 'train-*.tfrecord' out/ --to parquet --jobs 4
  tfrecord convert big.parquet train.tfrecord --shard-size 200MB --jobs 2 --resume
  tfrecord convert train.tfrecord small.csv --columns label,name --where 'label > 3' --limit 100
  tfrecord convert - - --from csv --to jsonl < table.csv

a feature is NAME:TYPE, with TYPE one of int64, float32, bytes, text, or another dtype of NumPy
such as uint8 or bool; then its shape, as in [28,28], or [?] for any number of values; then ? if
records may lack it. For example: --features 'label:int64,box:float32[4],tags:text[?],weight:float32?'"""
STATUSES = """\
exit status: 0 if all was converted; 1 if a file is damaged (with --skip-damage, the rest was
converted); 2 if a file could not be read or written, or the arguments are wrong."""

_COMPRESSIONS = ("none", "gz", "gzip", "zst", "zstd", "bz2", "zlib", "snappy", "lz4", "brotli")
_FEATURE = re.compile(r"(?P<name>.+):(?P<dtype>\w+)(?:\[(?P<shape>[\d?, ]*)\])?(?P<lacking>\??)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _add_format_arguments(parser.add_argument_group("formats"))
    _add_row_arguments(parser.add_argument_group("rows and columns"))
    _add_output_arguments(parser.add_argument_group("output"))
    inputs.add_reading_arguments(parser, can_skip=True, has_compression=False)
    inputs.add_json(parser, "the summary as JSON")
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SRC",
        help="a path, a URL, a pattern, shards as 'train@10', a directory, or - for standard input",
    )
    parser.add_argument(
        "target", metavar="DST", help="a file, a directory, or - for standard output"
    )


def _add_format_arguments(group: Any) -> None:
    group.add_argument("--from", dest="from_", metavar="FORMAT", help="the format of all SRC")
    group.add_argument("--to", metavar="FORMAT", help="the format of DST")
    schema = group.add_mutually_exclusive_group()
    schema.add_argument(
        "--schema",
        metavar="FILE",
        help="a schema file: a sidecar, of TensorFlow Datasets, of TFX or of Super Serial; by "
        "default the sidecar beside each file, or inferred",
    )
    schema.add_argument("--features", metavar="NAME:TYPE,...", help="the features, in short form")
    group.add_argument(
        "--text",
        metavar="all|NAME,...",
        help="columns of byte strings in TFRecords that are text; all: those that are in the sample",
    )
    group.add_argument(
        "--sample",
        type=inputs.sample_size,
        default=10_000,
        metavar="N|all",
        help="records from which a schema is inferred (default: 10000); a feature that only later ones "
        "have is an error",
    )


def _add_row_arguments(group: Any) -> None:
    group.add_argument("--columns", metavar="NAME,...", help="convert these columns only")
    group.add_argument(
        "--where",
        metavar="CONDITION",
        help="convert the rows for which this is true, as DuckDB has it (needs pip install "
        "'tfrecord-numpy[sql]')",
    )
    group.add_argument(
        "--limit",
        type=inputs.count_of("rows", at_least=0),
        metavar="N",
        help="convert N rows at most",
    )


def _add_output_arguments(group: Any) -> None:
    shards = group.add_mutually_exclusive_group()
    shards.add_argument(
        "--num-shards",
        type=inputs.count_of("shards"),
        metavar="N",
        help="write N files, DST-00000-of-0000N and so on, with rows that follow each other",
    )
    shards.add_argument(
        "--shard-size",
        type=inputs.positive_size,
        metavar="SIZE",
        help="as many files as have about 200MB, say",
    )
    group.add_argument(
        "--compression",
        choices=_COMPRESSIONS,
        metavar="NAME",
        help="of Parquet: snappy (the default), zstd, gzip, brotli, lz4, none; of Arrow: none (the "
        "default), lz4, zstd; of others: gz, zst, bz2, zlib, none, by default what the name says",
    )
    group.add_argument(
        "--float64",
        action="store_true",
        help="store float64 in TFRecords exactly, as byte strings that TensorFlow does not read as "
        "numbers; by default as float32",
    )
    group.add_argument(
        "--jobs",
        type=inputs.count_of("jobs"),
        default=1,
        metavar="N",
        help="processes, which share the files to be written (default: 1)",
    )
    group.add_argument("--overwrite", action="store_true", help="replace files that exist")
    group.add_argument(
        "--resume",
        action="store_true",
        help="keep the files that an interrupted call with the same arguments has completed",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    """Convert the files."""
    from tfrecord_lite.apps.tables.byte_files import Reading  # noqa: PLC0415 - only this verb needs it
    from tfrecord_lite.apps.tables.conversion import (  # noqa: PLC0415 - only this verb needs it
        Settings,
        convert,
    )
    from tfrecord_lite.options import ReadSettings  # noqa: PLC0415 - only this verb needs it

    try:
        options = ReadSettings(**inputs.read_options(args, has_compression=False))
        reading = Reading(
            schema=args.schema if args.features is None else parse_features(args.features),
            columns=None if args.columns is None else tuple(_names(args.columns)),
            text=False if args.text is None else args.text == "all" or _names(args.text),
            sample=args.sample,
            options=options,
        )
        settings = Settings(
            from_=args.from_,
            to=args.to,
            reading=reading,
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
            shard_bytes=args.shard_size,
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


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


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
    from tfrecord_lite.storage.widening import (  # noqa: PLC0415 - only this verb needs it
        as_missing,
        items_of,
        schema_of_items,
    )

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
    return schema_of_items({name: as_missing(name, items_of(schema)[name])})


# ----------------------------------------------------------------------------------- summary


def _show(summary: Summary, args: argparse.Namespace, console: Console) -> None:
    for name, error in summary.failures:
        _check_output(error, args)
        status = Status.FAILED
        if isinstance(error, DataLossError):
            status = inputs.status_of(error.reason)
        line = inputs.text_of(error, name)
        console.complain(line if name in line else f"{name} was not written: {line}", status)
    if summary.damage.n_damaged:
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
        "damaged_places": summary.damage.n_damaged,
        "rounded": summary.rounded,
    }
