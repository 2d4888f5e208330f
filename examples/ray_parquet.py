"""Shards of Examples to Parquet and back, with Ray: ``python examples/ray_parquet.py [FOLDER]``."""

import sys
import tempfile

import ray

from tfrecord_lite import save
from tfrecord_lite.integrations.ray import read_tfrecords, write_tfrecords


def to_parquet(records: str, table: str) -> None:
    """Write records as Parquet."""
    read_tfrecords(records).write_parquet(table)


def to_records(table: str, records: str) -> None:
    """Write a directory of Parquet as Examples."""
    parts = write_tfrecords(ray.data.read_parquet(table), records, compression="GZIP")
    print(f"{sum(part.n_records for part in parts):,} records in {records}")


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    if len(sys.argv) == 1:
        save(f"{given}/train@4.tfrecord", {"label": [i % 10 for i in range(10_000)]})
    to_parquet(f"{given}/train-*.tfrecord", f"{given}/parquet")
    to_records(f"{given}/parquet", f"{given}/again")
