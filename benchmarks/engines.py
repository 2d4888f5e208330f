"""Ray, Beam, Dask and Spark: files to batches and back: ``python -m benchmarks.engines ray``.

One engine at a time, in an environment that has it. Measured are, on the same shards and with
the same number of workers: what the engine offers by itself today, this package's door, and this package
without the engine (partitions in a pool of processes). Runs take turns; an engine that is running is warm,
and its start is not counted. All rows are counted as batches of columns that Arrow or pandas holds.

What the others need: ``ray.data.read_tfrecords`` needs TensorFlow; Beam parses with ``Example.FromString`` of the protobuf
runtime; Dask has nothing, so its loop is records and protobuf in a bag; Spark's is a JAR, which is not measured.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.data import shards
from benchmarks.records import say
from tfrecord_lite import TFRecordReader, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite import TablePartition

_FEW_SHARDS = 1
"""How many shards the slowest contenders read; the rates are compared."""


def _count(part: TablePartition) -> int:
    return sum(len(batch) for batch in part.read())


class _Own:
    """The package without an engine: partitions in as many processes."""

    def __init__(self, n_workers: int) -> None:
        self._pool = ProcessPoolExecutor(n_workers, get_context("spawn"))
        list(self._pool.map(abs, range(n_workers)))

    def read(self, paths: list[str]) -> int:
        """Count the rows of all batches."""
        return sum(self._pool.map(_count, scan(paths).partitions()))


# ----------------------------------------------------------------------------------- Ray


def ray(n_workers: int) -> Iterator[dict[str, Any]]:
    """Yield the contenders of Ray."""
    import ray as engine

    from tfrecord_lite.integrations.ray import read_tfrecords, write_tfrecords

    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    engine.init(
        num_cpus=n_workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": environment},
    )
    logging.getLogger("ray.data").setLevel("CRITICAL")
    engine.data.DataContext.get_current().enable_progress_bars = False

    def rows_of(ds: Any) -> int:
        return sum(len(batch) for batch in ds.iter_batches(batch_format="pyarrow", batch_size=None))

    def write(paths: list[str]) -> int:
        with tempfile.TemporaryDirectory() as folder:
            return sum(part.n_records for part in write_tfrecords(read_tfrecords(paths), folder))

    def write_theirs(paths: list[str]) -> int:
        with tempfile.TemporaryDirectory() as folder:
            read_tfrecords(paths).map_batches(_plain, batch_format="pyarrow").write_tfrecords(
                folder
            )
            return sum(
                sum(map(len, TFRecordReader(path).blocks())) for path in Path(folder).iterdir()
            )

    yield {
        "read: ray.data.read_tfrecords": (lambda p: rows_of(engine.data.read_tfrecords(p)), True),
        "read: tfrecord_lite on Ray": (lambda p: rows_of(read_tfrecords(p)), False),
        "read: tfrecord_lite alone": (_Own(n_workers).read, False),
        "read and write: ray's writer": (write_theirs, True),
        "read and write: tfrecord_lite on Ray": (write, False),
    }
    engine.shutdown()


def _plain(table: Any) -> Any:
    """Return a table with the types of byte strings that Ray's writer takes."""
    import pyarrow as pa

    small = {pa.large_binary(): pa.binary(), pa.large_string(): pa.string()}
    fields = [pa.field(field.name, small.get(field.type, field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


# ---------------------------------------------------------------------------------- Beam


def beam(n_workers: int) -> Iterator[dict[str, Any]]:
    """Yield the contenders of Beam, on the DirectRunner in processes."""
    import apache_beam as engine
    from apache_beam.metrics import Metrics, MetricsFilter
    from apache_beam.options.pipeline_options import PipelineOptions

    from tfrecord_lite import Example
    from tfrecord_lite.integrations.beam import ReadExamples

    counter = Metrics.counter("benchmark", "rows")
    options = PipelineOptions(
        runner="DirectRunner",
        direct_num_workers=n_workers,
        direct_running_mode="in_memory" if n_workers == 1 else "multi_processing",
    )

    def counted(*steps: Any) -> int:
        pipeline = engine.Pipeline(options=options)
        made = pipeline
        for step in steps:
            made = made | step
        made | engine.Map(counter.inc)
        result = pipeline.run()
        result.wait_until_finish()
        (found,) = result.metrics().query(MetricsFilter().with_name("rows"))["counters"]
        return int(found.committed)

    def theirs(paths: list[str]) -> int:
        parse = engine.Map(Example.FromString)
        return counted(engine.io.ReadFromTFRecord(_pattern(paths)), parse, engine.Map(lambda _: 1))

    def ours(paths: list[str]) -> int:
        return counted(ReadExamples(_pattern(paths)), engine.Map(len))

    yield {
        "read: ReadFromTFRecord, FromString": (theirs, False),
        "read: tfrecord_lite on Beam": (ours, False),
        "read: tfrecord_lite alone": (_Own(n_workers).read, False),
    }


def _pattern(paths: list[str]) -> str:
    return f"{Path(paths[0]).parent}/*.tfrecord"


# ---------------------------------------------------------------------------------- Dask


def dask(n_workers: int) -> Iterator[dict[str, Any]]:
    """Yield the contenders of Dask, in processes of a local cluster."""
    from distributed import Client, LocalCluster

    from tfrecord_lite import Example
    from tfrecord_lite.integrations.dask import read_records, read_tfrecord, to_tfrecord

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):

        def theirs(paths: list[str]) -> int:
            return int(read_records(paths).map(Example.FromString).count().compute())

        def ours(paths: list[str]) -> int:
            frame = read_tfrecord(paths)
            return int(frame.map_partitions(len, meta=("n", "int64")).sum().compute())

        def write(paths: list[str]) -> int:
            with tempfile.TemporaryDirectory() as folder:
                return sum(part.n_records for part in to_tfrecord(read_tfrecord(paths), folder))

        yield {
            "read: records, FromString in a bag": (theirs, True),
            "read: tfrecord_lite on Dask": (ours, False),
            "read: tfrecord_lite alone": (_Own(n_workers).read, False),
            "read and write: tfrecord_lite on Dask": (write, False),
        }


# --------------------------------------------------------------------------------- Spark


def spark(n_workers: int) -> Iterator[dict[str, Any]]:
    """Yield the contenders of Spark, in local mode."""
    from pyspark.sql import SparkSession

    from tfrecord_lite.integrations.spark import register

    builder = SparkSession.builder.master(f"local[{n_workers}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "ERROR").getOrCreate()
    register(session)

    def frame(paths: list[str]) -> Any:
        return session.read.format("tfrecord").load(paths)

    def write(paths: list[str]) -> int:
        with tempfile.TemporaryDirectory() as folder:
            frame(paths).write.format("tfrecord").mode("overwrite").save(f"{folder}/out")
            return scan(f"{folder}/out/part-*").count_rows()

    yield {
        "read: tfrecord_lite on Spark": (lambda p: int(frame(p).count()), False),
        "read: tfrecord_lite alone": (_Own(n_workers).read, False),
        "read and write: tfrecord_lite on Spark": (write, False),
    }
    session.stop()


# ------------------------------------------------------------------------------- compare


def measure(
    engine: str, cache: Path, scale: float, n_files: int, n_workers: int, rounds: int
) -> None:
    """Print how many rows per second each contender has."""
    for name in ("tabular", "images"):
        paths = [str(path) for path in shards(name, cache, scale, n_files)]
        n_rows = {path: scan(path).count_rows() for path in paths}
        for contenders in ENGINES[engine](n_workers):
            rates: dict[str, list[float]] = {label: [] for label in contenders}
            for turn in range(rounds + 1):
                for label, (work, is_slow) in contenders.items():
                    if is_slow and turn > 1:
                        continue
                    given = paths[:_FEW_SHARDS] if is_slow else paths
                    start = time.perf_counter()
                    found = work(given)
                    seconds = time.perf_counter() - start
                    wanted = sum(n_rows[path] for path in given)
                    if found != wanted:
                        raise ValueError(f"{label}: {found} rows, expected {wanted}")
                    if turn:  # the first is to warm up
                        rates[label].append(wanted / seconds)
            _print(name, rates)


def _print(name: str, rates: dict[str, list[float]]) -> None:
    for kind in dict.fromkeys(label.partition(":")[0] for label in rates):
        found = {
            label: median(rate) for label, rate in rates.items() if label.startswith(f"{kind}:")
        }
        first = next(iter(found.values()))
        for label, rate in found.items():
            say(f"{name:10} {label:42} {rate:12,.0f} rows/s {rate / first:8.2f} x")


ENGINES = {"ray": ray, "beam": beam, "dask": dask, "spark": spark}


def main() -> None:
    """Measure one engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--cache", type=Path, default=Path(".benchmarks"))
    parser.add_argument("--scale", type=float, default=0.4)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.cache.mkdir(exist_ok=True)
    measure(given.engine, given.cache, given.scale, given.files, given.workers, given.rounds)


if __name__ == "__main__":
    main()
