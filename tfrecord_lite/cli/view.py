"""``tfrecord view``: show what is inside on a page in the browser."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any, cast

from tfrecord_lite.cli import inputs
from tfrecord_lite.cli.console import OutputError
from tfrecord_lite.cli.formatting import exact_bytes
from tfrecord_lite.errors import DataLossError
from tfrecord_lite.files.names import local_size

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

DESCRIPTION = """\
Make a page that shows what is in the files: records, size, compression and damage; the schema; for
each feature a chart of its values; and a table of records, with images, sounds, texts and tensors,
that can be searched. The page is one HTML file
without outside resources, and opens in the browser, or is written to a file. Large files are
sampled, by the index beside them if there is one. Needs the extra view
(pip install 'tfrecord-numpy[view]')."""
EPILOG = """\
examples:
  tfrecord view train.tfrecord
  tfrecord view 'train-*.tfrecord' -o train.html
  tfrecord view --features image,label --records 1000 train@10

without -o, the path of the page is printed, if it cannot be opened in a browser."""
STATUSES = """\
exit status: 0 if the page was made, even if it shows damage; 2 if a file could not be read, the page
not written, or the arguments are wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="PAGE", help="write the page to this file; - is standard output"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace PAGE if it exists")
    parser.add_argument(
        "--features",
        metavar="A,B",
        help="show only these features (default: all)",
    )
    parser.add_argument(
        "--records",
        type=inputs.count_of("records", at_least=0),
        default=200,
        metavar="N",
        help="records in the table (default: 200); of large files at most those of --sample",
    )
    parser.add_argument(
        "--sample",
        type=inputs.count_of("records"),
        default=10_000,
        metavar="N",
        help="records of large files that the statistics are of (default: 10000)",
    )
    parser.add_argument(
        "--seed", type=inputs.seed, default=0, metavar="N", help="draws the sample (default: 0)"
    )
    parser.add_argument(
        "--max-bytes",
        type=inputs.positive_size,
        default=16 << 20,
        metavar="N",
        help="about how large the page may become (default: 16MiB)",
    )
    inputs.add_arguments(parser, can_skip=False)


def _names(text: str | None) -> list[str] | None:
    names = [name.strip() for name in (text or "").split(",")]
    return list(filter(None, names)) or None


def run(args: argparse.Namespace, console: Console) -> None:
    """Make the page, and show it."""
    from tfrecord_lite.apps.viewer.page import open_page, view  # noqa: PLC0415 - loads much

    sources = inputs.find(args, console)
    if not sources:
        return  # the reason has been reported
    options: dict[str, Any] = {
        "features": _names(args.features),
        "num_records": args.records,
        "sample_size": args.sample,
        "seed": args.seed,
        "max_bytes": args.max_bytes,
        "overwrite": args.overwrite,
        "open_browser": False,
        **inputs.read_options(args),
    }
    output = args.output
    if output == "-":
        if sys.stdout is None:
            raise OutputError
        console.flush()
        output = cast("Any", sys.stdout).buffer
    try:
        page = view(sources, output=output, **options)
    except BrokenPipeError as error:
        raise OutputError from error
    except FileExistsError as error:
        text = os.strerror(error.errno or errno.EEXIST)
        console.complain(f"{error.filename}: {text}; --overwrite replaces it")
    except DataLossError as error:
        inputs.complain_of(error, "view", console)
    except (OSError, ImportError, ValueError, TypeError) as error:
        console.complain(inputs.text_of(error, "view"))
    else:
        if args.output is None and not open_page(page):
            console.say(page)
        elif args.output not in (None, "-"):
            size = local_size(page)
            console.say(f"{page}: wrote {'a page' if size is None else exact_bytes(size)}")
