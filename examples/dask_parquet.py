"""Shards of Examples to Parquet and back, with Dask: ``python examples/dask_parquet.py [FOLDER]``."""

import sys
import tempfile

import dask.dataframe as dd

from tfrecord_lite import save
from tfrecord_lite.integrations.dask import read_tfrecord, to_tfrecord


def main(folder: str) -> None:
    """Write a folder's train-*.tfrecord as Parquet, and that as records again."""
    read_tfrecord(f"{folder}/train-*.tfrecord").to_parquet(f"{folder}/parquet")
    table = dd.read_parquet(f"{folder}/parquet", dtype_backend="pyarrow")
    parts = to_tfrecord(table, f"{folder}/again", compression="GZIP")
    print(f"{sum(part.n_records for part in parts):,} records in {folder}/again")


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    if len(sys.argv) == 1:
        save(f"{given}/train@4.tfrecord", {"label": [i % 10 for i in range(10_000)]})
    main(given)
