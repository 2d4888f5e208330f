"""``tfrecord merge``: write the records of many files to one, or to fewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.cli import rearranging

if TYPE_CHECKING:
    import argparse

    from tfrecord_lite.cli.console import Console

DESCRIPTION = f"""\
Write the records of all FILEs to DST, one file after the other. Checksums are verified, and
written as they are.

{rearranging.SHARDS_HELP}"""
EPILOG = """\
examples:
  tfrecord merge 'part-*.tfrecord' all.tfrecord
  tfrecord merge train@1000.tfrecord 'train@16.tfrecord.gz'
  tfrecord merge a.tfrecord b.tfrecord.gz - | ssh host 'cat > all.tfrecord'"""
STATUSES = rearranging.STATUSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    rearranging.add_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Merge the files."""
    from tfrecord_lite.apps.rearrange import merge_files  # noqa: PLC0415 - loads much

    rearranging.run(args, console, merge_files)
