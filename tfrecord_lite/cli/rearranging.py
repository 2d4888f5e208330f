"""``tfrecord merge``, ``split``, ``shuffle``, ``sample`` and ``filter``: records to other files."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import OutputError, Status
from tfrecord_lite.cli.style import exact_bytes
from tfrecord_lite.errors import InvalidArgumentError, argument_error, human_bytes, plural
from tfrecord_lite.files.names import is_file_object, name_of
from tfrecord_lite.reader import reader_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.apps.rearrange import Rearranged
    from tfrecord_lite.arrays import BoolArray
    from tfrecord_lite.block import Block
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.files.names import Source
    from tfrecord_lite.reader import TFRecordReader

_HELP = """{}
DST is one file, or shards: 'train@8.tfrecord', or a plain name with --num-shards, --bytes-per-shard or
--records-per-shard. Its ending chooses the compression (.gz, .zlib, .zst, .bz2).

examples:
{}

exit status: 0 if DST was written; 1 if a file is damaged, and DST was not written (with
--skip-damage, it was); 2 after any other error."""
_TEXTS = {
    "merge": (
        "Write the records of all FILEs to DST, one file after the other.",
        """\
  tfrecord merge 'part-*.tfrecord' all.tfrecord
  tfrecord merge a.tfrecord b.tfrecord.gz - | ssh host 'cat > all.tfrecord'""",
    ),
    "split": (
        "Divide the records of all FILEs among shards, in their order.",
        """\
  tfrecord split --num-shards 8 train.tfrecord train.tfrecord
  tfrecord split --bytes-per-shard 200MB huge.tfrecord train.tfrecord.gz
  tfrecord split --records-per-shard 10000 huge.tfrecord 'out/{shard:03d}.tfrecord'""",
    ),
    "shuffle": (
        """\
Write the records of all FILEs to DST in random order, every order being equally likely. Records that
do not fit into --memory wait in a temporary file beside DST.""",
        """\
  tfrecord shuffle --seed 1 'train-*.tfrecord' 'shuffled@64.tfrecord'
  tfrecord shuffle --memory 8GB huge.tfrecord.gz shuffled.tfrecord.gz""",
    ),
    "sample": (
        "Write N records of all FILEs to DST, drawn without replacement, in their order.",
        """\
  tfrecord sample -n 1000 'train-*.tfrecord' small.tfrecord
  tfrecord sample --fraction 0.01 --seed 1 train.tfrecord small.tfrecord""",
    ),
    "filter": (
        """\
Write the records for which an SQL expression over the features is true to DST. A feature that a record
lacks is null. Needs pip install 'tfrecord-numpy[sql]'.""",
        """\
  tfrecord filter --where 'label = 3 and width > 100' train.tfrecord threes.tfrecord
  tfrecord filter --where '"image/class/label" is not null' train.tfrecord labelled.tfrecord""",
    ),
}
HELP = {verb: _HELP.format(*texts) for verb, texts in _TEXTS.items()}

LONG_SECONDS = 1.0
"""From this time on it is printed."""


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Declare what is done with the records, the files, and how to read and write."""
    if verb == "sample":
        size = parser.add_mutually_exclusive_group(required=True)
        inputs.add(size, "-n N", "how many records", inputs.count_of("records", at_least=0))
        text = "this part of the records, from 0 to 1; reads the files twice"
        inputs.add(size, "--fraction X", text, _fraction)
    if verb == "filter":
        text = "an expression of DuckDB's over the features"
        inputs.add(parser, "--where SQL", text, required=True)
        inputs.add_schema(parser, parser)
    if verb in ("sample", "shuffle"):
        inputs.add_seed(parser, "draw the same each time (default: a seed is drawn, and printed)")
    if verb == "shuffle":
        text = "how much memory to use for records (default: 1GiB)"
        inputs.add(parser, "--memory SIZE", text, inputs.positive_size, default=1024**3)
    group = parser.add_argument_group("writing")
    inputs.add_overwrite(group)
    text = "compression of DST (default: by the ending of its name)"
    inputs.add(group, "--output-compression", text, str.lower, choices=inputs.COMPRESSIONS)
    shards = inputs.add_shards(group)
    text = "begin the next file when one holds this many records"
    inputs.add(shards, "--records-per-shard N", text, inputs.count_of("records"))
    inputs.add_files(parser)
    inputs.add(
        parser, "target DST", "the new file: a path, a URL, shards, or - for standard output"
    )


def _fraction(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (fraction := float(text)) <= 1:
            return fraction
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")


def run(args: argparse.Namespace, console: Console) -> None:
    """Rearrange the records of the files that the arguments name; report the outcome."""
    from tfrecord_lite.apps import rearrange  # noqa: PLC0415 - loads much

    work: Callable[..., Rearranged]
    more: dict[str, Any] = {}
    match args.verb:
        case "merge":
            work = rearrange.merge_files
        case "split":
            work = rearrange.split_files
        case "shuffle":
            work = rearrange.shuffle_records
            more = {"seed": args.seed, "memory_bytes": args.memory}
        case "sample":
            work = rearrange.sample_records
            more = {"n": args.n, "fraction": args.fraction, "seed": args.seed}
        case _:

            def work(reader: TFRecordReader, target: Any, **options: Any) -> Rearranged:
                condition = _condition(args, reader)
                return rearrange.filter_records(reader, target, condition, **options)

    sources = inputs.find(args, console)
    target = _target(args, console)
    if console.status != Status.INTACT or target is None:
        return
    reader = reader_with(sources, inputs.settings_of(args))
    chosen = args.output_compression
    started = time.monotonic()
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        try:
            done = work(
                reader,
                target,
                num_shards=args.num_shards,
                bytes_per_shard=args.bytes_per_shard,
                records_per_shard=args.records_per_shard,
                compression="infer" if chosen is None else inputs.COMPRESSIONS[chosen],
                overwrite=args.overwrite,
                **more,
            )
        except OSError as error:
            if args.target == "-" and error.filename == "<stdout>":
                raise OutputError from error
            raise
    for text in dict.fromkeys(str(note.message) for note in notes):
        console.complain(text, Status.INTACT)
    inputs.complain_of_skipped(reader.report, console)
    if args.target != "-":
        console.say(_summary(done, time.monotonic() - started, args))


def _target(args: argparse.Namespace, console: Console) -> Source | None:
    """Return the target; None, after a complaint, if standard output cannot be it."""
    if args.target != "-":
        name: str = args.target
        return name
    if sys.stdout is None:
        console.complain("standard output is closed")
        return None
    if sys.stdout.isatty():
        console.complain("standard output is a terminal; redirect it, or name a file")
        return None
    return sys.stdout.buffer


def _summary(done: Rearranged, seconds: float, args: argparse.Namespace) -> str:
    """Return the line about what was written."""
    name = done.paths[0]
    if len(done.paths) > 1:
        name += f" to {os.path.basename(done.paths[-1])}"  # noqa: PTH119 - may be a URL
    count = plural(done.num_records, "record")
    if args.verb in ("sample", "filter"):
        count = f"{done.num_records:,} of {plural(done.num_read, 'record')}"
    line = f"{name}: wrote {count}, {exact_bytes(done.nbytes)}"
    if seconds >= LONG_SECONDS:
        line += f", in {seconds:.1f} s ({human_bytes(int(done.nbytes / seconds))}/s)"
    if done.seed is not None and args.seed is None:
        line += f"; --seed {done.seed} draws the same"
    return line


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
