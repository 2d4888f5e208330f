"""``tfrecord view``: show what is inside on a page in the browser."""

from __future__ import annotations

import argparse
import sys
from typing import Any, cast

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import Console, OutputError
from tfrecord_lite.cli.texts import exact_bytes
from tfrecord_lite.extension import local_size


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
    options: dict[str, Any] = {
        "columns": args.columns or None,
        "num_records": args.limit,
        "sample_size": args.sample,
        "message_class": args.message,
        "open_browser": False,
        **{name: getattr(args, name) for name in ("seed", "max_bytes", "overwrite")},
        **inputs.read_options(args),
    }
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
        size = local_size(page)
        console.say(f"{page}: wrote {'a page' if size is None else exact_bytes(size)}")
