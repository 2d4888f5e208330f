"""Shards of TFRecord to Parquet and back, by Apache Beam: python examples/beam_parquet.py [FOLDER]."""

import sys
import tempfile

import apache_beam as beam

from tfrecord_lite import save
from tfrecord_lite.integrations.beam import ReadExamples, WriteExamples

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
if len(sys.argv) == 1:
    save(f"{folder}/train@4.tfrecord", {"label": [i % 10 for i in range(10_000)]})

read = ReadExamples(f"{folder}/train-*.tfrecord")
with beam.Pipeline(runner="FnApiRunner") as pipeline:  # in this process; or DataflowRunner, ...
    write = beam.io.WriteToParquetBatched(
        f"{folder}/train", read.arrow_schema, file_name_suffix=".parquet"
    )
    _ = pipeline | read | write

with beam.Pipeline(runner="FnApiRunner") as pipeline:
    tables = pipeline | beam.io.ReadFromParquetBatched(f"{folder}/train-*.parquet")
    _ = tables | WriteExamples(f"{folder}/again", ".tfrecord.gz") | beam.Map(print)
