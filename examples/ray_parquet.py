"""Shards of TFRecord to Parquet and back, with Ray: ``python examples/ray_parquet.py [FOLDER]``."""

import sys
import tempfile

import ray

from tfrecord_lite import save
from tfrecord_lite.integrations.ray import read_tfrecords, write_tfrecords


def main(folder: str) -> None:
    """Write a folder's train-*.tfrecord as Parquet, and that as records again."""
    read_tfrecords(f"{folder}/train-*.tfrecord").write_parquet(f"{folder}/parquet")
    table = ray.data.read_parquet(f"{folder}/parquet")
    parts = write_tfrecords(table, f"{folder}/again", compression="GZIP")
    print(f"{sum(part.n_records for part in parts):,} records in {folder}/again")


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    if len(sys.argv) == 1:
        save(f"{given}/train@4.tfrecord", {"label": [i % 10 for i in range(10_000)]})
    main(given)
