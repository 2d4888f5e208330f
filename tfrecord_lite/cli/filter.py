"""``tfrecord filter``: write the records for which a condition is true."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs, rearranging
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.files.names import is_file_object, name_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from tfrecord_lite.apps.rearrange import Rearranged
    from tfrecord_lite.arrays import BoolArray
    from tfrecord_lite.block import Block
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.reader import TFRecordReader

DESCRIPTION = f"""\
Write the records of all FILEs for which an SQL expression is true to DST, in their order. Needs
pip install 'tfrecord-numpy[sql]'. Only the features that it names are parsed. A feature that a record
lacks is null, and a record for which the expression is null is not written. A name that is not
a word is in double quotes. Checksums are verified, and written as they are.

{rearranging.SHARDS_HELP}"""
EPILOG = """\
examples:
  tfrecord filter --where 'label = 3 and width > 100' train.tfrecord threes.tfrecord
  tfrecord filter --where '"image/class/label" is not null' 'train-*.tfrecord' labelled.tfrecord
  tfrecord filter --where "name like 'ro%' and len(petals) = 20" train.tfrecord roses.tfrecord"""
STATUSES = rearranging.STATUSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--where", required=True, metavar="SQL", help="an expression of DuckDB's over the features"
    )
    parser.add_argument(
        "--schema",
        metavar="SCHEMA",
        help="a schema file (default: the sidecar beside each file, or else the schema is inferred "
        "from the first records)",
    )
    parser.add_argument(
        "--sample",
        type=inputs.sample_size,
        default=10_000,
        metavar="N|all",
        help="records from which a schema is inferred (default: 10000)",
    )
    rearranging.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Filter the files."""
    from tfrecord_lite.apps.rearrange import filter_records  # noqa: PLC0415 - loads much

    def work(reader: TFRecordReader, target: Any, **options: Any) -> Rearranged:
        return filter_records(reader, target, _condition(args, reader), **options)

    rearranging.run(args, console, work)


def _condition(args: argparse.Namespace, reader: TFRecordReader) -> Callable[[Block], BoolArray]:
    """Return the function that tells which records of a block to keep."""
    from tfrecord_lite.apps.tables.table import scan  # noqa: PLC0415 - optional
    from tfrecord_lite.integrations.duckdb import imported, where  # noqa: PLC0415 - optional

    imported()  # first, since its extra has all that is needed
    is_piped = any(map(is_file_object, reader.sources))
    if is_piped and args.schema is None:
        detail = "standard input can be read only once; give --schema, or save it to a file first"
        raise argument_error(detail, source="<stdin>")
    table = scan(  # which opens no file if it has a schema
        list(map(name_of, reader.sources)),
        schema=args.schema,
        text=not is_piped,
        sample=args.sample,
        **inputs.read_options(args),
    )
    with _located(name_of(reader.sources[0])):
        condition = where(args.where, table.column_names)
    narrow = table.select(condition.columns)

    def keep(block: Block) -> BoolArray:
        batch = narrow.to_batch(block)
        with _located(name_of(block.place(0).source or reader.sources[0])):
            return condition.mask(batch)

    return keep


@contextlib.contextmanager
def _located(source: str) -> Iterator[None]:
    """Name a file in errors about the condition, as it does not fit the file's columns."""
    try:
        yield
    except InvalidArgumentError as error:
        raise error.at(source=source) from None
