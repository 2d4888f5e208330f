"""The package tfrecords: TensorFlow's C++ for records, by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tfrecords

from benchmarks import check, data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "tfrecords"


def _options(path: str) -> Any:
    kinds = tfrecords.TFRecordCompressionType
    return tfrecords.TFRecordOptions(kinds.GZIP if path.endswith(".gz") else kinds.NONE)


def read(path: str) -> Run:
    """Iterate over records."""
    return lambda: iter(tfrecords.tf_record_iterator(path, _options(path)))


def index(path: str) -> Run:
    """Find the offsets of all records, and read the first."""

    def run() -> Any:
        reader = tfrecords.tf_record_random_reader(path, _options(path))
        return iter([reader.read(reader.read_offsets(0)[0][0])[0]])

    return run


def random_reads(path: str, numbers: list[int]) -> Run:
    """Read records by their offsets."""
    reader = tfrecords.tf_record_random_reader(path, _options(path))
    offsets = reader.read_offsets(0)
    return lambda: iter([reader.read(offsets[number][0])[0] for number in numbers])


def write(target: str, size: int, n_records: int) -> Run:
    """Write records of one size."""
    records = data.raw_records(size)

    def run() -> None:
        with tfrecords.TFRecordWriter(target, _options(target)) as writer:
            left = n_records
            while left:
                for record in records[:left]:
                    writer.write(record)
                left -= min(left, len(records))

    return run


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    return check.records(items)


OPERATIONS = {"read": read, "index": index, "random_reads": random_reads, "write": write}
