"""``tfrecord split``: divide the records of a file among shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.cli import rearranging

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

DESCRIPTION = f"""\
Write the records of all FILEs to shards. With --num-shards or a name such as 'train@8.tfrecord', each
has records that follow each other, as many as the others; those of standard input, which can
be read only once, are written to a temporary file first. Checksums are verified, and written as they are.

{rearranging.SHARDS_HELP}"""
EPILOG = """\
examples:
  tfrecord split --num-shards 8 train.tfrecord train.tfrecord
  tfrecord split --shard-size 200MB huge.tfrecord 'train.tfrecord.gz'
  tfrecord split --shard-records 10000 huge.tfrecord 'out/{shard:03d}.tfrecord'"""
STATUSES = rearranging.STATUSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    rearranging.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Split the files."""
    from tfrecord_lite.apps.rearrange import split_files  # noqa: PLC0415 - loads much

    rearranging.run(args, console, split_files)
