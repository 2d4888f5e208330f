"""``tfrecord sql``: query files with DuckDB's SQL."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.endings import ENDINGS, format_of
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, OutputError, Status, terminal_width
from tfrecord_lite.errors import argument_error
from tfrecord_lite.progress import is_terminal, metered
from tfrecord_lite.sniff import text_of
from tfrecord_lite.texts import aligned, plural, printable

_MAX_ROWS = 40
_MAX_CELL = 60


def add_sql(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add(parser, "query QUERY", "a query in DuckDB's SQL")
    form = parser.add_mutually_exclusive_group()
    inputs.add_json(form, "one JSON object per row")
    inputs.add(form, "--csv", "print CSV, the names first")
    inputs.add(form, "-o/--output FILE", "write the rows to a file instead")
    inputs.add_overwrite(parser, "FILE if it exists")
    inputs.add_lossless(parser)
    text = f"rows to print, or to write (default: {_MAX_ROWS} for a table, all otherwise)"
    inputs.add_limit(parser, text)
    inputs.add_output_compression(parser, "compression of FILE", *inputs.INNER_CODECS)
    inputs.add_schema(parser, parser)
    inputs.add_drop_bad(parser)
    inputs.add_text(parser, default=True)
    inputs.add_reading(parser)


def run_sql(args: argparse.Namespace, console: Console) -> None:
    """Run a query over files of Examples or SequenceExamples, and print its rows.

    A quoted name in the FROM clause is a path, a
    URL, a pattern or shards; files that DuckDB reads directly (.csv, .parquet, .json) can be joined. Columns of
    SequenceExamples are "context/NAME" and "feature_lists/NAME", lists of steps. With
    -o, the ending of FILE is its format. Needs pip install duckdb pyarrow.

    examples:
      tfrecord sql "select label, count(*) from 'train-*.tfrecord' group by 1"
      tfrecord sql "describe 'train.tfrecord'"
      tfrecord sql "select a.* from 'a.tfrecord' a join 'b.parquet' b using (id)" -o both.parquet

    exit status: 0 if the query was run; 1 if a file is damaged, and FILE was not written; 2 after any
    other error.
    """
    from tfrecord_lite.integrations.duckdb import sql  # noqa: PLC0415 - needs duckdb

    options: Any = {"sample": args.sample, "text": args.text, **inputs.read_options(args)}
    dropped: dict[Any, Any] = {}  # by their places, as a query may read a file several times
    if args.drop_bad:
        options["on_misfit"] = lambda error: dropped.setdefault((error.source, error.offset), error)
    kind = None
    if args.output is not None:
        from tfrecord_lite.apps.tables.formats import check_compression  # noqa: PLC0415 - needs pyarrow

        kind = format_of(args.output)
        if kind is None:
            endings = ", ".join(f".{known}" for known in ENDINGS)
            raise argument_error(f"{args.output!r} has none of the endings {endings}")
        check_compression(kind, args.output_compression)
        _check_output(args)
    reader = sql(args.query, schema=args.schema, **options)
    if kind is not None:
        form = {"lossless": args.lossless, "compression": args.output_compression}
        n_rows, rounded = _copy(reader, args.output, kind, args.limit, **form)
        inputs.note_rounded(rounded, console)
        console.say(f"{args.output}: {plural(n_rows, 'row')}")
    elif args.json or args.csv:
        kind = "jsonl" if args.json else "csv"
        try:
            _copy(reader, console.open_output(is_text=True), kind, args.limit)
        except BrokenPipeError as error:
            raise OutputError from error
    else:
        _print_table(reader, args.limit or _MAX_ROWS, console)
    if dropped:
        misfits = plural(len(dropped), "record that does not fit", "records that do not fit")
        console.complain(f"dropped {misfits}", Status.DAMAGED)
        inputs.list_dropped(dropped.values(), len(dropped), console)


# ---------------------------------------------------------------------------------- files


def _check_output(args: argparse.Namespace) -> None:
    from tfrecord_lite.integrations.duckdb import names_in  # noqa: PLC0415 - needs duckdb

    for name in names_in(args.query):
        files: list[Any] = [name]
        with contextlib.suppress(OSError, ImportError, ValueError):  # it need not be a file
            files += inputs.sources_of(name)
        if any(ext.is_same_file(ext.name_of(file), args.output) for file in files):
            detail = "the query names this file; give another one for its rows"
            raise argument_error(detail, source=args.output)
    place = Path(args.output)
    is_there = place.is_file() or place.is_symlink()  # not a device, which is written to
    if is_there and not ext.is_url(args.output) and not args.overwrite:
        detail = f"{os.strerror(errno.EEXIST)}; --overwrite replaces it"
        raise FileExistsError(errno.EEXIST, detail, args.output)


def _copy(
    reader: Any, target: Any, kind: str, max_rows: int | None, compression: Any = None, **form: Any
) -> tuple[int, Sequence[str]]:
    """Write the rows to a target of a format; return their number, and the columns that were rounded."""
    from tfrecord_lite.apps.tables.formats import open_target  # noqa: PLC0415 - needs pyarrow

    n_rows = 0
    batches: Any = ext.first_of(reader, max_rows)
    schema = reader.schema
    if kind in ("parquet", "arrow"):  # in the others, numbers have no width
        schema, batches = _with_integers(schema, batches)
    file = open_target(target, kind, schema, compression, **form)
    # To the terminal itself, rows are progress enough.
    is_shown = not (ext.is_file_object(target) and is_terminal(sys.stdout))
    try:
        with metered(None if is_shown else False, ext.name_of(target), "rows") as meter:
            for batch in batches:
                file.write_batch(batch)
                n_rows += batch.num_rows
                meter.update(n_rows)
            file.finish()
        file.commit()
    except BaseException:
        file.abandon()
        raise
    return n_rows, getattr(file, "rounded", ())


def _with_integers(schema: Any, batches: Any) -> tuple[Any, Any]:
    """Return rows with int64 for decimals without digits, as DuckDB's sums are, of columns where all fit."""
    pa = ext.imported()
    int64, is_decimal = pa.int64(), pa.types.is_decimal
    narrow = ext.changed_schema(schema, lambda kind: int64 if is_decimal(kind) else kind)
    if narrow == schema:
        return schema, batches
    table = pa.Table.from_batches(batches, schema)
    for i, field in enumerate(narrow):
        with contextlib.suppress(pa.ArrowException):  # beyond int64
            table = table.set_column(i, field, table.column(i).cast(field.type))
    return table.schema, table.to_batches()


# ---------------------------------------------------------------------------------- tables


def _print_table(reader: Any, max_rows: int, console: Console) -> None:
    """Print the first rows in columns, and whether there are more."""
    from tfrecord_lite.apps.tables.table import as_rounded, rounded_in  # noqa: PLC0415 - needs pyarrow

    names, rounded = reader.schema.names, rounded_in(reader.schema)
    if not names:
        return
    rows: list[list[str]] = []
    # One more than is printed, to know whether there are more.
    for batch in ext.first_of(reader, max_rows + 1):
        columns = [
            map(_cell, _values(as_rounded(column) if name in rounded else column))
            for name, column in zip(names, batch.columns, strict=True)
        ]
        rows += [list(row) for row in zip(*columns, strict=True)]
    words = ("int", "uint", "float", "double", "halffloat", "decimal")
    alignment = ["<>"[str(kind).startswith(words)] for kind in reader.schema.types]
    head = [printable(name) for name in names]
    width = terminal_width()
    for line in aligned([head, *rows[:max_rows]], "".join(alignment)):
        console.say(line if len(line) <= width else f"{line[: width - 3]}...")
    if len(rows) > max_rows:
        console.say(f"(the first {plural(max_rows, 'row')}; --limit N prints more)")


def _values(column: Any) -> Any:
    """Return the values of a column; each float32, at any depth, as the shortest number that gives it."""
    pa = ext.imported()

    def change(old: Any, new: Any) -> Any:
        return ext.changed_type(column.type, lambda kind: new if kind == old else kind)

    texts = change(pa.float32(), pa.large_string())
    if texts != column.type:
        column = column.cast(texts).cast(change(pa.float32(), pa.float64()))
    return column.to_pylist()


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        text = text_of(value)
        return f"{plural(len(value), 'byte')}" if text is None else _cell(text)
    if isinstance(value, list | dict):
        value = json.dumps(value, default=_in_json, ensure_ascii=False)
    text = printable(value if isinstance(value, str) else str(value))
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 3]}..."


def _in_json(value: Any) -> Any:
    """Return what JSON has for a value: a number for an integer beyond 64 bits, as sums are, or text."""
    return int(value) if isinstance(value, Decimal) and value == int(value) else _cell(value)
