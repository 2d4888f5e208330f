"""``tfrecord merge``, ``split``, ``unique``, ``shuffle``, ``sample`` and ``filter``: records to other files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import tfrecord_lite as tfr
from tfrecord_lite import extension as ext
from tfrecord_lite.arrays import BoolArray
from tfrecord_lite.block import Block
from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, OutputError, Status, exact_bytes
from tfrecord_lite.errors import argument_error, errors_at
from tfrecord_lite.reader import TFRecordReader, reader_with
from tfrecord_lite.texts import plural

_DST = """

DST is one file, or shards: 'train@8.tfrecord', or a plain name with --num-shards, --bytes-per-shard or
--records-per-shard. Its ending chooses the compression (.gz, .zlib, .zst, .bz2)."""
_STATUS = """\
exit status: 0 if DST was written; 1 if a file is damaged, and DST was not written (with
--skip-damage, it was), or if --drop-bad left records out; 2 after any other error."""


def add_merge(parser: Any) -> None:
    """Declare the files, and how to read and write."""
    parser.description += _DST
    parser.epilog = parser.epilog.partition("exit status:")[0] + _STATUS
    group = parser.add_argument_group("writing")
    inputs.add_overwrite(group)
    inputs.add_output_compression(group, "compression of DST")
    shards = inputs.add_shards(group)
    text = "begin the next file when one holds this many records"
    inputs.add(shards, "--records-per-shard N", text, inputs.count_of("records"))
    inputs.add_files(parser)
    inputs.add_drop_bad(parser)
    if all(action.dest != "schema" for action in parser._actions):  # noqa: SLF001 - filter has more to say of it
        text = "a schema file, for --drop-bad (default: the sidecar beside a file, or any Example)"
        inputs.add(parser, "--schema SCHEMA", text)
    text = "the new file: a path, a URL, shards, or - for standard output"
    inputs.add(parser, "target DST", text)


def run_merge(args: argparse.Namespace, console: Console) -> None:
    """Write the records of all FILEs to DST, one file after the other.

    examples:
      tfrecord merge 'part-*.tfrecord' all.tfrecord
      tfrecord merge a.tfrecord b.tfrecord.gz - | ssh host 'cat > all.tfrecord'
    """
    _run("merge_files", args, console)


def add_split(parser: Any) -> None:
    """Declare parts by fractions too."""
    add_merge(parser)
    group = parser.add_argument_group("parts")
    text = "parts of these sizes, with one DST each, such as 0.8,0.1,0.1"
    inputs.add(group, "--fractions X,Y", text, _fractions)
    _add_by(group, "keep records together that have the same value of this feature, or of several")
    inputs.add_seed(group, "another one divides in another way (default: 0)", 0)


def _add_by(parser: Any, text: str) -> None:
    more = "records without a value count as having the same (default: the whole record)"
    inputs.add(parser, "--by KEY", f"{text}; {more}", inputs.names)


def _fractions(text: str) -> list[float]:
    what = "a number above 0; fractions are divided by commas, as in 0.8,0.1,0.1"
    return [inputs.number(what, lambda x: x > 0)(one) for one in text.split(",")]


def run_split(args: argparse.Namespace, console: Console) -> None:
    """Divide the records of all FILEs among shards, in their order; or with --fractions, into parts with one DST each.

    For parts, a hash of each record, or of its value of --by, decides: a record stays in its part
    when data are added.

    examples:
      tfrecord split --num-shards 8 train.tfrecord train.tfrecord
      tfrecord split --bytes-per-shard 200MB huge.tfrecord train.tfrecord.gz
      tfrecord split --records-per-shard 10000 huge.tfrecord 'out/{shard:03d}.tfrecord'
      tfrecord split --fractions 0.9,0.1 all.tfrecord 'train@8.tfrecord' test.tfrecord
      tfrecord split --fractions 0.8,0.1,0.1 --by patient 'scan-*' train valid test
    """
    if args.fractions is None:
        if args.by is not None or args.seed:
            raise argument_error("--by and --seed go with --fractions")
        _run("split_files", args, console)
        return
    names = [*args.files, args.target]
    n_parts = len(args.fractions)
    args.files, args.target = names[:-n_parts], names[-n_parts:]
    if not args.files:
        detail = f"expected FILEs, then {plural(n_parts, 'DST')}, one for each fraction"
        raise argument_error(detail)
    if "-" in args.target:
        raise argument_error("standard output is one file; give a DST for each part")
    _run("split_records", args, console, fractions=args.fractions, by=args.by, seed=args.seed)


def add_unique(parser: Any) -> None:
    """Declare what is compared, and the memory, too."""
    _add_by(parser, "records are equal if they have the same value of this feature, or of several")
    inputs.add_memory(parser, "digests")
    add_merge(parser)


def run_unique(args: argparse.Namespace, console: Console) -> None:
    """Write the records of all FILEs to DST without duplicates: the first of equal ones, in their order.

    Digests that do not fit into --memory, at about 100 bytes for each record, wait in a temporary file beside DST.

    examples:
      tfrecord unique 'part-*.tfrecord' all.tfrecord
      tfrecord unique --by image/filename train.tfrecord unique.tfrecord
    """
    _run("unique_records", args, console, by=args.by, memory_bytes=args.memory)


def add_shuffle(parser: argparse.ArgumentParser) -> None:
    """Declare the seed and the memory too."""
    inputs.add_seed(parser, "the same result each time (default: a new seed, which is printed)")
    inputs.add_memory(parser, "records")
    add_merge(parser)


def run_shuffle(args: argparse.Namespace, console: Console) -> None:
    """Write all records of all FILEs to DST in random order, every order being equally likely.

    Records that do not fit into --memory wait in a temporary file beside DST.

    examples:
      tfrecord shuffle --seed 1 'train-*.tfrecord' 'shuffled@64.tfrecord'
      tfrecord shuffle --memory 8GB huge.tfrecord.gz shuffled.tfrecord.gz
    """
    _run("shuffle_records", args, console, seed=args.seed, memory_bytes=args.memory)


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Declare the size of the sample, and the seed, too."""
    size = parser.add_mutually_exclusive_group(required=True)
    inputs.add_limit(size, "how many records", at_least=0)
    text = "this part of the records, from 0 to 1; reads the files twice"
    part = inputs.number("a number from 0 to 1", lambda x: 0 <= x <= 1)
    inputs.add(size, "--fraction X", text, part)
    inputs.add_seed(parser, "the same result each time (default: a new seed, which is printed)")
    add_merge(parser)


def run_sample(args: argparse.Namespace, console: Console) -> None:
    """Write N records of all FILEs to DST, drawn without replacement, in their order.

    examples:
      tfrecord sample -n 1000 'train-*.tfrecord' small.tfrecord
      tfrecord sample --fraction 0.01 --seed 1 train.tfrecord small.tfrecord
    """
    _run("sample_records", args, console, n=args.limit, fraction=args.fraction, seed=args.seed)


def add_filter(parser: argparse.ArgumentParser) -> None:
    """Declare the condition and the schema too."""
    inputs.add(parser, "--where SQL", "an expression of DuckDB's over the features")
    inputs.add_schema(parser, parser)
    inputs.add_text(parser, default=True)
    add_merge(parser)


def run_filter(args: argparse.Namespace, console: Console) -> None:
    """Write the records for which an SQL expression over the features is true to DST.

    A feature that a record lacks is null. With --drop-bad, records that do not fit the schema are left out, with or
    without a condition. Needs pip install duckdb pyarrow for the condition.

    examples:
      tfrecord filter --where 'label = 3 and width > 100' train.tfrecord threes.tfrecord
      tfrecord filter --where '"image/class/label" is not null' train.tfrecord labelled.tfrecord
      tfrecord filter --drop-bad --schema train.schema.json raw.tfrecord train.tfrecord
      tfrecord filter --where 'len("feature_lists/frames") >= 8' clips.tfrecord long.tfrecord
    """
    if args.where is None and not args.drop_bad:
        console.complain("nothing says which records to keep; give --where, --drop-bad or both")
        return
    _run("merge_files" if args.where is None else "filter_records", args, console)


def _run(name: str, args: argparse.Namespace, console: Console, **more: Any) -> None:
    """Rearrange the records by a function of this name; report the outcome."""
    from tfrecord_lite.apps import rearrange  # noqa: PLC0415 - loads much

    target: Any = args.target
    for one in target if isinstance(target, list) else [target]:
        inputs.check_target(one, args.files, overwrite=args.overwrite)
        inputs.check_ending(one, " --where CONDITION" if args.verb == "filter" else "")
    sources = inputs.find(args, console)
    if target == "-":
        target = console.open_output(is_text=False)
    if console.status != Status.INTACT:
        return
    settings = inputs.settings_of(args)
    if args.drop_bad:
        settings = ext.dropping(args.schema, sources, settings)
    reader = reader_with(sources, settings)
    if name == "filter_records":
        more["keep"] = _condition(args, reader)
    if args.output_compression is not None:
        more["compression"] = args.output_compression
    for option in ("num_shards", "bytes_per_shard", "records_per_shard", "overwrite"):
        more[option] = getattr(args, option)
    try:
        done = getattr(rearrange, name)(reader, target, **more)
    except OSError as error:
        if args.target == "-" and error.filename == "<stdout>":
            raise OutputError from error
        raise
    inputs.complain_of_skipped(reader.report, console)
    if args.target != "-":
        n_dropped = 0 if reader.report is None else reader.report.num_message_errors
        _say_outcome(done, args, console, n_dropped)


def _say_outcome(done: Any, args: argparse.Namespace, console: Console, n_dropped: int) -> None:
    for part in done if args.verb == "split" and args.fractions else [done]:
        files = part.paths[0]
        if len(part.paths) > 1:
            files += f" to {os.path.basename(part.paths[-1])}"  # noqa: PTH119 - may be a URL
        count, ending = plural(part.num_records, "record"), ""
        if part is not done or args.verb in ("sample", "filter", "unique"):
            count = f"{part.num_records:,} of {plural(part.num_read + n_dropped, 'record')}"
        if part.seed is not None and args.seed is None:
            ending = f"; --seed {part.seed} draws the same"
        if args.verb == "unique":
            ending = f"; left out {plural(part.num_read - part.num_records, 'duplicate')}"
        console.say(f"{files}: wrote {count}, {exact_bytes(part.nbytes)}{ending}")


def _condition(args: argparse.Namespace, reader: TFRecordReader) -> Callable[[Block], BoolArray]:
    from tfrecord_lite.apps.tables.table import hint_of  # noqa: PLC0415 - optional
    from tfrecord_lite.integrations.duckdb import Where, imported  # noqa: PLC0415 - optional

    imported()  # first, since its extra has all that is needed
    is_piped = any(map(ext.is_file_object, reader.sources))
    if is_piped and args.schema is None:
        return _refuse_stream
    options: Any = {"schema": args.schema, "sample": args.sample, **inputs.read_options(args)}
    options["text"] = args.text if args.text is not True else not is_piped
    # With a schema, no file is opened.
    table = tfr.scan(list(map(ext.name_of, reader.sources)), **options)
    if not table.column_names:  # of files without records
        return lambda block: np.zeros(len(block), np.bool_)
    with errors_at(source=ext.name_of(reader.sources[0])):
        condition = Where(args.where, table.column_names, hint_of(table))
    narrow = table.select(condition.columns)

    def keep(block: Block) -> BoolArray:
        batch = narrow.to_batch(block)
        with errors_at(source=ext.name_of(block.place(0).source or reader.sources[0])):
            return condition.mask(batch)

    return keep


def _refuse_stream(_: Block) -> NoReturn:
    detail = "standard input can be read only once; give --schema, or save it to a file first"
    raise argument_error(detail, source="<stdin>")
