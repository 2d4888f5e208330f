"""Shards of Examples to Parquet and back, with Ray: ``python examples/ray_parquet.py RECORDS TABLE AGAIN``."""

from __future__ import annotations

import sys

import ray

from tfrecord_lite.integrations.ray import read_tfrecords, write_tfrecords


def to_parquet(records: str, table: str) -> None:
    """Write the records of all files in a directory as Parquet."""
    read_tfrecords(records).write_parquet(table)


def to_records(table: str, records: str) -> None:
    """Write a directory of Parquet as Examples."""
    write_tfrecords(ray.data.read_parquet(table), records, compression="GZIP")


if __name__ == "__main__":
    given, between, again = sys.argv[1:]
    to_parquet(given, between)
    to_records(between, again)
