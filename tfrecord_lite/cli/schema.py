"""``tfrecord schema``: infer the features of all records, and how to parse them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console
from tfrecord_lite.cli.inputs import Records
from tfrecord_lite.cli.texts import ragged_notes
from tfrecord_lite.errors import InvalidArgumentError


def add_schema(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_json(parser, "the schema as one line of JSON")
    inputs.add_limit(parser, "read the first N records only")
    text = "how to parse features of varying length: as RaggedFeature (the default), VarLenFeature or FixedLenSequenceFeature"
    words: Any = {"choices": ("ragged", "varlen", "padded"), "default": "ragged"}
    inputs.add(parser, "--variable", text, **words)
    inputs.add_files(parser)


def run_schema(args: argparse.Namespace, console: Console) -> None:
    """Infer the features of all records, and how to parse them.

    Shown are the kind of each feature, how many records have it, the number of its values and their range;
    then the schema that parses them. All files are one data set.

    examples:
      tfrecord schema 'train-*.tfrecord'
      tfrecord schema --limit 1000 train@10
      tfrecord schema --json train.tfrecord > train.tfrecord.schema.json
    """
    from tfrecord_lite.extension import Survey  # noqa: PLC0415 - loads the engine

    survey = Survey()
    left: int | None = args.limit

    def add_records(stream: Records, progress: Callable[[], None]) -> None:
        nonlocal left
        while left != 0 and (block := stream.next_block(left)) is not None:
            survey.add(block)
            left = None if left is None else left - len(block)
            progress()

    sources = inputs.find(args, console)
    inputs.for_each(sources, args, console, add_records, is_shown=left is None)
    summary = survey.summary() if sources else None
    if summary is None or (not summary.n_records and console.status):
        return  # the reason has been reported
    if not args.json:
        examples: Any = getattr(summary, "context", summary)
        _say_table("\n".join([str(summary), *ragged_notes(examples)]), console)
    try:
        schema = summary.schema(variable=args.variable)
    except InvalidArgumentError as error:
        console.complain(str(error))
        return
    if args.json:
        console.say_json({**json.loads(schema.to_json()), "summary": summary.describe()})
    else:
        console.say()
        _say_table(str(schema), console)


def _say_table(text: str, console: Console) -> None:
    for line in text.split("\n"):
        console.say(line)
