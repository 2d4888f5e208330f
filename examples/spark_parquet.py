"""Shards of TFRecord to Parquet and back, on Spark: python examples/spark_parquet.py [FOLDER]."""

import sys
import tempfile

import numpy as np
from pyspark.sql import SparkSession

from tfrecord_lite import save
from tfrecord_lite.integrations.spark import register

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
columns = {"label": np.arange(3000) % 10, "image": np.zeros((3000, 8, 8), np.float32)}
save(f"{folder}/train@3.tfrecord", columns)

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
register(spark)
shards = spark.read.format("tfrecord").load(f"{folder}/train-*.tfrecord")
shards.write.mode("overwrite").parquet(f"{folder}/parquet")

parquet = spark.read.parquet(f"{folder}/parquet")
parquet.select("label").write.format("tfrecord").mode("overwrite").save(f"{folder}/back")
print(f"{spark.read.format('tfrecord').load(f'{folder}/back').count():,} rows in {folder}/back")
spark.stop()
