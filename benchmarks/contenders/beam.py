"""Beam: its codec of records by itself, and pipelines on its DirectRunner, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import apache_beam
from apache_beam.io.tfrecordio import _TFRecordUtil
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions

from benchmarks import check, data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "apache-beam"


def read(path: str) -> Run:
    """Read records with the codec."""
    if path.endswith(".gz"):
        raise NotImplementedError("only in a pipeline")

    def run() -> Iterator[bytes]:
        with open(path, "rb") as file:  # noqa: PTH123
            while (record := _TFRecordUtil.read_record(file)) is not None:
                yield record

    return run


def write(target: str, size: int, n_records: int) -> Run:
    """Write records with the codec."""
    records = data.raw_records(size)

    def run() -> None:
        with open(target, "wb") as file:  # noqa: PTH123
            for i in range(n_records):
                _TFRecordUtil.write_record(file, records[i % len(records)])

    return run


def engine_itself(files: list[str]) -> Run:
    """Read and parse records, as Beam's users do."""
    from tfrecord_lite.messages import Example

    def run() -> Any:
        parse, one = apache_beam.Map(Example.FromString), apache_beam.Map(lambda _: 1)
        return _counted(apache_beam.io.ReadFromTFRecord(_pattern(files)), parse, one)

    return run


def engine(files: list[str]) -> Run:
    """Read batches with this package's transform."""
    from tfrecord_lite.integrations.beam import ReadExamples

    return lambda: _counted(ReadExamples(_pattern(files)), apache_beam.Map(len))


def _counted(*steps: Any) -> Any:
    counter = Metrics.counter("benchmark", "rows")
    options = PipelineOptions(runner="DirectRunner", direct_running_mode="in_memory")
    pipeline: Any = apache_beam.Pipeline(options=options)
    made = pipeline
    for step in steps:
        made = made | step
    made | apache_beam.Map(counter.inc)
    result = pipeline.run()
    result.wait_until_finish()
    (found,) = result.metrics().query(MetricsFilter().with_name("rows"))["counters"]
    return iter([int(found.committed)])


def _pattern(files: list[str]) -> str:
    return f"{Path(files[0]).parent}/*.tfrecord"


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield records, or how many there are."""
    return check.records(items) if op == "read" else check.counts(items)


OPERATIONS = {"read": read, "write": write, "engine": engine, "engine_itself": engine_itself}
