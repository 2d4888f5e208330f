"""``tfrecord shuffle``: write the records of files in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.cli import inputs, rearranging

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

DESCRIPTION = f"""\
Write the records of all FILEs to DST in random order, every order being equally likely. Records that
do not fit into --memory are written to a temporary file beside DST, uncompressed, and read
again; it is removed in any case. Checksums are verified, and written as they are.

{rearranging.SHARDS_HELP}"""
EPILOG = """\
examples:
  tfrecord shuffle train.tfrecord shuffled.tfrecord
  tfrecord shuffle --seed 1 'train-*.tfrecord' 'shuffled@64.tfrecord'
  tfrecord shuffle --memory 8GB huge.tfrecord.gz shuffled.tfrecord.gz"""
STATUSES = rearranging.STATUSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    inputs.add_seed(parser, "draw the same each time; by default a seed is drawn, and printed")
    parser.add_argument(
        "--memory",
        type=inputs.positive_size,
        default=1024**3,
        metavar="SIZE",
        help="how much memory to use for records (default: 1GiB)",
    )
    rearranging.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Shuffle the files."""
    from tfrecord_lite.apps.rearrange import shuffle_records  # noqa: PLC0415 - loads much

    rearranging.run(args, console, shuffle_records, seed=args.seed, memory_bytes=args.memory)
