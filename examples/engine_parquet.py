"""Shards of TFRecord to Parquet and back: ``python examples/engine_parquet.py ray|beam|spark|dask [FOLDER]``.

The folder has ``train-*.tfrecord``; without one, some small shards are made. Each engine needs its own extra.
"""

import os
import sys
import tempfile

from tfrecord_lite import save


def on_ray(folder: str) -> None:
    import ray

    from tfrecord_lite.integrations.ray import read_tfrecords, write_tfrecords

    read_tfrecords(f"{folder}/train-*.tfrecord").write_parquet(f"{folder}/parquet")
    table = ray.data.read_parquet(f"{folder}/parquet")
    write_tfrecords(table, f"{folder}/again", compression="GZIP")


def on_beam(folder: str) -> None:
    import apache_beam as beam

    from tfrecord_lite.integrations.beam import ReadExamples, WriteExamples

    read = ReadExamples(f"{folder}/train-*.tfrecord")
    with beam.Pipeline(runner="FnApiRunner") as pipeline:  # or DataflowRunner, ...
        write = beam.io.WriteToParquetBatched(
            f"{folder}/parquet/train", read.arrow_schema, file_name_suffix=".parquet"
        )
        _ = pipeline | read | write

    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        tables = pipeline | beam.io.ReadFromParquetBatched(f"{folder}/parquet/*")
        _ = tables | WriteExamples(f"{folder}/again/train", ".tfrecord.gz")


def on_spark(folder: str) -> None:
    from pyspark.sql import SparkSession

    from tfrecord_lite.integrations.spark import register

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for the workers
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    register(spark)
    shards = spark.read.format("tfrecord").load(f"{folder}/train-*.tfrecord")
    shards.write.mode("overwrite").parquet(f"{folder}/parquet")
    parquet = spark.read.parquet(f"{folder}/parquet")
    parquet.write.format("tfrecord").mode("overwrite").save(f"{folder}/again")


def on_dask(folder: str) -> None:
    import dask.dataframe as dd

    from tfrecord_lite.integrations.dask import read_tfrecord, to_tfrecord

    read_tfrecord(f"{folder}/train-*.tfrecord").to_parquet(f"{folder}/parquet")
    table = dd.read_parquet(f"{folder}/parquet", dtype_backend="pyarrow")
    to_tfrecord(table, f"{folder}/again", compression="GZIP")


ENGINES = {"ray": on_ray, "beam": on_beam, "spark": on_spark, "dask": on_dask}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ENGINES:
        sys.exit(__doc__)
    given = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
    if len(sys.argv) == 2:
        save(f"{given}/train@4.tfrecord", {"label": [i % 10 for i in range(10_000)]})
    ENGINES[sys.argv[1]](given)
    print(f"written: {given}/parquet and {given}/again")
