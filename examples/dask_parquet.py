"""Shards of Examples to Parquet and back, with Dask: ``python examples/dask_parquet.py RECORDS TABLE AGAIN``."""

from __future__ import annotations

import sys

import dask.dataframe as dd

from tfrecord_lite.integrations.dask import read_tfrecord, to_tfrecord


def to_parquet(records: str, table: str) -> None:
    """Write the records of all files in a directory as Parquet."""
    read_tfrecord(records).to_parquet(table)


def to_records(table: str, records: str) -> None:
    """Write a directory of Parquet as Examples."""
    to_tfrecord(dd.read_parquet(table, dtype_backend="pyarrow"), records, compression="GZIP")


if __name__ == "__main__":
    given, between, again = sys.argv[1:]
    to_parquet(given, between)
    to_records(between, again)
