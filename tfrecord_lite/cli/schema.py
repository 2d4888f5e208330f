"""``tfrecord schema``: the features of all records, and how to parse them."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.jsonlines import json_line
from tfrecord_lite.cli.progress import Progress
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.files.names import local_size
from tfrecord_lite.records.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.schema import Summary

SUMMARY = "infer the features of all records, and how to parse them"
DESCRIPTION = """\
Read tf.train.Example records and show of every feature its kind, how many records have it,
how many values they have, and between which values those lie (of byte strings: their
lengths); below it the schema with which all of them can be parsed. Several files are taken
as one data set. All of it is inferred from the records: a sidecar (NAME.schema.json) beside
them is not read."""
EPILOG = """\
examples:
  tfrecord schema train.tfrecord
  tfrecord schema 'train-*.tfrecord'
  tfrecord schema --max-records 1000 train@10
  tfrecord schema --json train.tfrecord > train.tfrecord.schema.json

with --json, one object: the schema as Schema.from_json reads it (load() finds it beside the
data under the name above, load_schema() anywhere), and with it summary: the records, and of
each feature and kind in it records, min_length, max_length, min and max (null without values)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="the schema as JSON, on one line")
    parser.add_argument(
        "--max-records",
        type=_count,
        metavar="N",
        help="look at the first N records only; a later one may not fit",
    )
    parser.add_argument(
        "--variable",
        choices=("ragged", "varlen", "padded"),
        default="ragged",
        help="what a feature of varying length becomes: RaggedFeature (the default), "
        "VarLenFeature or FixedLenSequenceFeature",
    )
    inputs.add_skipping_argument(parser)
    inputs.add_arguments(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of records")
    return int(text)


def run(args: argparse.Namespace, console: Console) -> None:
    """Show them."""
    from tfrecord_lite.example.survey import ExampleSurvey  # noqa: PLC0415 - loads the engine

    survey = ExampleSurvey()
    left: int | None = args.max_records

    def work(stream: Records) -> None:
        nonlocal left
        file_bytes = None if stream.compression else local_size(stream.name)
        with Progress(stream.name, file_bytes) as progress:
            while left != 0 and (block := stream.next_block(left)) is not None:
                survey.add(block)
                left = None if left is None else left - len(block)
                progress.advance(block.nbytes + len(block) * OVERHEAD_BYTES)

    sources = inputs.find(args, console)
    inputs.for_each_going_on(sources, args, console, work)
    if sources:
        _show(survey.summary(), args, console)


def _show(summary: Summary, args: argparse.Namespace, console: Console) -> None:
    """Print what was found, and what follows from it."""
    if not summary.n_records and console.status:
        return  # why, has been said
    if not args.json:
        console.say(str(summary))
    try:
        schema = summary.schema(variable=args.variable)
    except InvalidArgumentError as error:
        console.complain(str(error))
        return
    if args.json:
        document = {**json.loads(schema.to_json()), "summary": summary.describe()}
        console.say(json_line(document, is_ascii=console.is_ascii))
    else:
        console.say(f"\n{schema}")
