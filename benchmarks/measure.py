"""The measurements, one per process: ``python -m benchmarks.measure '{...}'``.

A process of its own keeps one measurement's memory, imports and caches out of
the next. The request is a JSON object on the command line, ``{"what": ...}`` and
the arguments of the function of that name; the answer is a JSON object on
standard output. :mod:`benchmarks.records`, :mod:`benchmarks.columns` and
:mod:`benchmarks.datasets` ask and compare. :mod:`benchmarks.tables` has one process
per contender instead, which is asked on standard input, and imports only once.

Each side runs the loop a user would write, the same on both sides. Imports are
inside the functions, so that only what is measured is loaded, and they are not
timed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import measure_events, measure_reliability, measure_tables, measure_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfrecord_lite import Block, ExampleParser

Result = dict[str, float]

_PIECE_BYTES = 1024 * 1024


def read_ours(path: str) -> Result:
    """Iterate over a TFRecordReader, which detects the compression."""
    from tfrecord_lite import TFRecordReader

    return _timed_count(lambda: TFRecordReader(path))


def read_ours_unverified(path: str) -> Result:
    """Iterate without checking the data's CRCs."""
    from tfrecord_lite import TFRecordReader

    return _timed_count(lambda: TFRecordReader(path, verify=False))


def read_ours_iterator(path: str) -> Result:
    """Iterate with the function that has TensorFlow's name."""
    from tfrecord_lite import tf_record_iterator

    return _timed_count(lambda: tf_record_iterator(path, _compression_of(path)))


def read_ours_blocks(path: str) -> Result:
    """Read blocks; their records are checked, but no objects are made."""
    from tfrecord_lite import TFRecordReader

    start = time.perf_counter()
    n_records = 0
    for block in TFRecordReader(path).blocks():
        n_records += len(block)
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def read_tensorflow(path: str) -> Result:
    """Iterate with TensorFlow's compiled iterator."""
    from tensorflow import compat

    options = compat.v1.io.TFRecordOptions(_compression_of(path))
    return _timed_count(lambda: compat.v1.io.tf_record_iterator(path, options))


def _compression_of(path: str) -> str:
    return "GZIP" if path.endswith(".gz") else ""


def _timed_count(open_it: Callable[[], Iterable[bytes]]) -> Result:
    start = time.perf_counter()
    n_records = 0
    for _ in open_it():
        n_records += 1
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def _records(size: int) -> list[bytes]:
    """Return different records of one size, several megabytes of them."""
    import numpy as np

    random = np.random.default_rng(size)
    return [random.bytes(size) for _ in range(max(8 * _PIECE_BYTES // size, 1))]


def write_ours(path: str, size: int, n_records: int) -> Result:
    """Write with this package's TFRecordWriter."""
    from tfrecord_lite import TFRecordWriter

    return _timed_write(lambda: TFRecordWriter(path), path, size, n_records)


def write_tensorflow(path: str, size: int, n_records: int) -> Result:
    """Write with TensorFlow's."""
    from tensorflow import io

    return _timed_write(lambda: io.TFRecordWriter(path), path, size, n_records)


def _timed_write(open_it: Callable[[], Any], path: str, size: int, n_records: int) -> Result:
    records = _records(size)
    rounds, rest = divmod(n_records, len(records))
    _make_room(path, n_records * (size + 16))
    start = time.perf_counter()
    with open_it() as writer:
        for _ in range(rounds):
            for record in records:
                writer.write(record)
        for record in records[:rest]:
            writer.write(record)
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def write_kernel(path: str, size: int, n_records: int) -> Result:
    """Write the same bytes, already framed, by os.write alone: no writer can be faster."""
    from tfrecord_lite.records.framing import frame

    frames = bytes(frame(_records(size)))
    pieces = [frames[i : i + _PIECE_BYTES] for i in range(0, len(frames), _PIECE_BYTES)]
    left = n_records * (size + 16)
    _make_room(path, left)
    start = time.perf_counter()
    _write_pieces(path, pieces, left)
    return {"seconds": time.perf_counter() - start, "n_records": n_records}


def _write_pieces(path: str, pieces: list[bytes], n_bytes: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    left = n_bytes
    while left:
        for piece in pieces:
            left -= os.write(file, piece[:left])
    os.close(file)


def _make_room(path: str, n_bytes: int) -> None:
    """Write a file of that many bytes and remove it, so that every contender starts alike.

    Two things would otherwise decide: emptying an old file makes some file
    systems wait for the disk; and in a virtual machine memory that the kernel
    has not used lately can cost ten times as much as memory that it has.
    """
    Path(path).unlink(missing_ok=True)
    _write_pieces(path, [bytes(_PIECE_BYTES)], n_bytes)
    Path(path).unlink()


def make_large(path: str, size: int, n_bytes: int) -> Result:
    """Write a file of about that many bytes, of records of one size."""
    n_records = n_bytes // (size + 16)
    return write_ours(path, size, n_records)


def memory_ours(path: str) -> Result:
    """Iterate over a file; return the peak of the whole process."""
    return {**read_ours(path), "peak_bytes": peak_bytes()}


def memory_ours_blocks(path: str) -> Result:
    """Read a file's blocks; return the peak of the whole process."""
    return {**read_ours_blocks(path), "peak_bytes": peak_bytes()}


def memory_tensorflow(path: str) -> Result:
    """Iterate with TensorFlow; return the peak of the whole process."""
    return {**read_tensorflow(path), "peak_bytes": peak_bytes()}


def peak_bytes() -> int:
    """Return the peak resident memory of this process.

    On Linux not from getrusage: its figure outlives exec, so that it would
    include the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def features_of(data_set: str, io: Any, dtypes: tuple[Any, Any, Any]) -> dict[str, Any]:
    """Return the features of a data set, with the classes of a module."""
    real, whole, text = dtypes
    if data_set == "tokens":
        return {"tokens": io.RaggedFeature(whole)}
    if data_set == "embeddings":
        return {
            "embedding": io.FixedLenFeature([512], real),
            "id": io.FixedLenFeature([], whole),
        }
    if data_set == "images":
        names = {"image": text, "height": whole, "width": whole, "label": whole}
    else:
        names = {f"f{k}": real for k in range(10)} | {f"i{k}": whole for k in range(5)}
        names |= {"s0": text, "s1": text}
    return {name: io.FixedLenFeature([], dtype) for name, dtype in names.items()}


def parser_of(data_set: str, strings: Any) -> ExampleParser[Any]:
    import tfrecord_lite

    features = features_of(data_set, tfrecord_lite, ("float32", "int64", "string"))
    return tfrecord_lite.ExampleParser(features, strings=strings)


def columns_ours(path: str, data_set: str, batch: int | None, strings: str) -> Result:
    """Parse a file into columns, block by block."""
    from tfrecord_lite import TFRecordReader

    parser = parser_of(data_set, strings)  # loads modules on first use, as an import does

    def parse() -> Iterator[int]:
        for block in TFRecordReader(path).blocks(batch):
            parser(block)
            yield len(block)

    return timed_sum(parse)


def columns_tensorflow(
    path: str, data_set: str, batch: int, *, autotune: bool, as_numpy: bool
) -> Result:
    """Parse a file into tensors with tf.data; with `as_numpy` make arrays of them all."""
    import tensorflow as tf

    features = features_of(data_set, tf.io, (tf.float32, tf.int64, tf.string))
    threads = tf.data.AUTOTUNE if autotune else None

    def parse() -> Iterator[int]:
        records = tf.data.TFRecordDataset(path, _compression_of(path)).batch(batch)
        batches = records.map(lambda s: tf.io.parse_example(s, features), threads)
        for columns in batches.prefetch(threads) if autotune else batches:
            for column in columns.values() if as_numpy else ():
                if isinstance(column, tf.RaggedTensor):
                    column.row_splits.numpy()
                    column.flat_values.numpy()
                else:
                    column.numpy()
            first = next(iter(columns.values()))
            n_rows = first.row_splits.shape if data_set == "tokens" else first.shape
            yield n_rows[0] - (data_set == "tokens")

    return timed_sum(parse)


def dicts_ours(path: str, limit: int) -> Result:
    """Read one dictionary per record, and one value of each array."""
    from tfrecord_lite import TFRecordReader
    from tfrecord_lite.example import to_dicts as decode  # noqa: F401 - loads on the first use

    def take() -> Iterator[int]:
        for row in islice(TFRecordReader(path).examples(), limit):
            for values in row.values():
                values[0]
            yield 1

    return timed_sum(take)


def dicts_tensorflow(path: str, limit: int, *, as_numpy: bool) -> Result:
    """Iterate with TensorFlow, parse each record, and make a dictionary of lists, or arrays."""
    import numpy as np
    import tensorflow as tf

    options = tf.compat.v1.io.TFRecordOptions(_compression_of(path))
    dtypes = {"float_list": np.float32, "int64_list": np.int64, "bytes_list": object}

    def take() -> Iterator[int]:
        for record in islice(tf.compat.v1.io.tf_record_iterator(path, options), limit):
            row: dict[str, Any] = {}
            for name, feature in tf.train.Example.FromString(record).features.feature.items():
                kind = feature.WhichOneof("kind")
                values = getattr(feature, kind).value
                row[name] = np.array(values, dtypes[kind]) if as_numpy else list(values)
            yield 1

    return timed_sum(take)


def timed_sum(count: Callable[[], Iterator[int]]) -> Result:
    """Time a loop that yields numbers of records, in elapsed and processor time."""
    start, cpu_start = time.perf_counter(), _cpu_seconds()
    n_records = sum(count())
    seconds, cpu_seconds = time.perf_counter() - start, _cpu_seconds() - cpu_start
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "n_records": n_records}


def _cpu_seconds() -> float:
    """Return the processor time of this process, and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def memory_columns_ours(path: str, data_set: str, batch: int | None, strings: str) -> Result:
    """Parse a file into columns, block by block; return the peak of the whole process."""
    return {**columns_ours(path, data_set, batch, strings), "peak_bytes": peak_bytes()}


def steps_ours(path: str, data_set: str, batch: int | None, strings: str) -> Result:
    """Return the seconds of each step of parsing, over the same blocks.

    What verifies is the difference between two passes over the file. The steps of the
    parser are told apart by timing the functions they are, without those they call.
    """
    from tfrecord_lite import TFRecordReader
    from tfrecord_lite.example.decode import build
    from tfrecord_lite.example.decode.batch import MessageBatch
    from tfrecord_lite.wire.template import TemplateRows

    passes: dict[bool, list[float]] = {True: [], False: []}
    for verify in (False, True) * 3:
        start = time.perf_counter()
        n_records = sum(map(len, TFRecordReader(path, verify=verify).blocks(batch)))
        passes[verify].append(time.perf_counter() - start)
    parser = parser_of(data_set, strings)
    clock = _Clock()
    clock.watch(MessageBatch, "__init__", "match")
    clock.watch(TemplateRows, "varints", "varints")
    clock.watch(MessageBatch, "lists", "values")
    clock.watch(build, "strings", "strings")
    parse: Callable[[Block], Any] = clock.timed("build", parser)
    for block in TFRecordReader(path, verify=False).blocks(batch):
        parse(block)
    reading = min(passes[False])
    verifying = min(passes[True]) - reading
    return {"n_records": n_records, "read, scan": reading, "CRC": verifying, **clock.seconds}


class _Clock:
    """Sums the time spent in some functions, each without the others that it calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inside = [0.0]  # for each call under way, the time of the calls inside it

    def timed(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed as a step."""
        self.seconds[step] = 0.0

        def call(*args: Any, **kwargs: Any) -> Any:
            self._inside.append(0.0)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                seconds = time.perf_counter() - start
                self.seconds[step] += seconds - self._inside.pop()
                self._inside[-1] += seconds

        return call

    def watch(self, owner: Any, name: str, step: str) -> None:
        """Time a function or method from now on."""
        setattr(owner, name, self.timed(step, getattr(owner, name)))


def import_ours() -> Result:
    """Import this package in a fresh interpreter."""
    start = time.perf_counter()
    import tfrecord_lite  # noqa: F401

    return {"seconds": time.perf_counter() - start}


def import_numpy() -> Result:
    """Import NumPy alone, the largest part of it."""
    start = time.perf_counter()
    import numpy as np  # noqa: F401

    return {"seconds": time.perf_counter() - start}


def import_tensorflow() -> Result:
    """Import TensorFlow."""
    start = time.perf_counter()
    import tensorflow as tf  # noqa: F401

    return {"seconds": time.perf_counter() - start}


ENCODERS = ("encode_columns_ours", "encode_rows_ours", "encode_tensorflow")


DATA_SETS = (
    "pipeline_ours",
    "pipeline_tensorflow",
    "random_ours",
    "random_tensorflow",
    "make_index",
    "loader_ours",
    "loader_peer",
)


SEQUENCES = (
    *(
        f"sequence_{what}_{whose}"
        for what in ("columns", "dicts", "encode")
        for whose in ("ours", "tensorflow")
    ),
    "sequence_encode_rows_ours",
)


def _elsewhere(module: str, name: str) -> Callable[..., Result]:
    """Return a function of another module here, which is imported when it is called."""

    def measure(**arguments: Any) -> Result:
        result: Result = getattr(import_module(f"benchmarks.{module}"), name)(**arguments)
        return result

    return measure


MEASUREMENTS: dict[str, Callable[..., Result]] = {
    "read_ours": read_ours,
    "read_ours_unverified": read_ours_unverified,
    "read_ours_iterator": read_ours_iterator,
    "read_ours_blocks": read_ours_blocks,
    "read_tensorflow": read_tensorflow,
    "write_ours": write_ours,
    "write_tensorflow": write_tensorflow,
    "write_kernel": write_kernel,
    "make_large": make_large,
    "memory_ours": memory_ours,
    "memory_ours_blocks": memory_ours_blocks,
    "memory_tensorflow": memory_tensorflow,
    "columns_ours": columns_ours,
    "columns_tensorflow": columns_tensorflow,
    "dicts_ours": dicts_ours,
    "dicts_tensorflow": dicts_tensorflow,
    "memory_columns_ours": memory_columns_ours,
    "steps_ours": steps_ours,
    "import_ours": import_ours,
    "import_numpy": import_numpy,
    "import_tensorflow": import_tensorflow,
    **measure_events.MEASUREMENTS,
    **measure_reliability.MEASUREMENTS,
    **measure_tables.MEASUREMENTS,
    **measure_tensors.MEASUREMENTS,
    **{name: _elsewhere("measure_datasets", name) for name in DATA_SETS},
    **{name: _elsewhere("encoders", name) for name in ENCODERS},
    **{name: _elsewhere("sequencers", name) for name in SEQUENCES},
}


if __name__ == "__main__":
    # Without an argument a request per line, all measured in this process.
    for line in sys.argv[1:] or sys.stdin:
        request = json.loads(line)
        print(json.dumps(MEASUREMENTS[request.pop("what")](**request)), flush=True)
