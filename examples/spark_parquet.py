"""Shards of TFRecord to Parquet and back, on Spark: python examples/spark_parquet.py [FOLDER]."""

import os
import sys
import tempfile

from pyspark.sql import SparkSession

from tfrecord_lite import save
from tfrecord_lite.integrations.spark import register

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
if len(sys.argv) == 1:
    save(f"{folder}/train@4.tfrecord", {"label": [i % 10 for i in range(10_000)]})

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for the workers
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
register(spark)
shards = spark.read.format("tfrecord").load(f"{folder}/train-*.tfrecord")
shards.write.mode("overwrite").parquet(f"{folder}/parquet")

parquet = spark.read.parquet(f"{folder}/parquet")
parquet.write.format("tfrecord").mode("overwrite").save(f"{folder}/again")
print(f"{spark.read.format('tfrecord').load(f'{folder}/again').count():,} rows in {folder}/again")
