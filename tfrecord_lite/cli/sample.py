"""``tfrecord sample``: write records drawn at random."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs, rearranging

if TYPE_CHECKING:
    from tfrecord_lite.cli.console import Console

DESCRIPTION = f"""\
Write N records of all FILEs to DST, drawn without replacement, in the order in which they are
read; every set of N is equally likely. If there are fewer, all are written. Checksums are
verified, and written as they are.

{rearranging.SHARDS_HELP}"""
EPILOG = """\
examples:
  tfrecord sample -n 1000 'train-*.tfrecord' small.tfrecord
  tfrecord sample --fraction 0.01 --seed 1 train.tfrecord small.tfrecord
  zcat train.tfrecord.gz | tfrecord sample -n 100 - small.tfrecord"""
STATUSES = rearranging.STATUSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument(
        "-n", type=inputs.count_of("records", at_least=0), metavar="N", help="how many records"
    )
    size.add_argument(
        "--fraction",
        type=_fraction,
        metavar="X",
        help="this part of the records, from 0 to 1; reads the files twice",
    )
    inputs.add_seed(parser, "draw the same each time; by default a seed is drawn, and printed")
    rearranging.add_arguments(parser)


def _fraction(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (fraction := float(text)) <= 1:
            return fraction
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")


def run(args: argparse.Namespace, console: Console) -> None:
    """Sample the files."""
    from tfrecord_lite.apps.rearrange import sample_records  # noqa: PLC0415 - loads much

    rearranging.run(args, console, sample_records, n=args.n, fraction=args.fraction, seed=args.seed)
