"""The package that is measured: this one."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tfrecord_lite
from benchmarks import check, data, parquet
from tfrecord_lite import TFRecordReader, TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "tfrecord-numpy"
VERSION = tfrecord_lite.__version__
FOLDER = str(Path(tfrecord_lite.__file__).parent)
_DTYPES = {"float": "float32", "int": "int64", "bytes": "string"}
_BEST = {"images": (64, 256)}


# ------------------------------------------------------------------------------- reading


def read(path: str) -> Run:
    """Iterate over the records of a file."""
    return lambda: iter(TFRecordReader(path))


def read_unverified(path: str) -> Run:
    """Iterate without checking the data's CRCs."""
    return lambda: iter(TFRecordReader(path, verify=False))


def blocks(path: str) -> Run:
    """Read blocks: records are checked, but no objects are made."""
    return lambda: TFRecordReader(path).blocks()


def dicts(path: str, data: str) -> Run:
    """Make a dictionary of arrays of each record."""
    if data == "sequences":
        return lambda: iter(TFRecordReader(path).sequence_examples())
    return lambda: iter(TFRecordReader(path).examples())


def _parser(data_name: str, select: list[str] | None = None, strings: Any = "BytesColumn") -> Any:
    """Return the parser of a data set; strings are a column without objects, as TensorFlow's."""
    if data_name == "sequences":
        return tfrecord_lite.SequenceExampleParser(
            _features(data.CONTEXT), _steps(), strings=strings
        )
    return tfrecord_lite.ExampleParser(
        _features(data.features_of(data_name, select)), strings=strings
    )


def _features(features: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tfrecord_lite.RaggedFeature(_DTYPES[kind])
        if size is None
        else tfrecord_lite.FixedLenFeature([] if size == 1 else [size], _DTYPES[kind])
        for name, (kind, size) in features.items()
    }


def _steps() -> dict[str, Any]:
    return {
        name: tfrecord_lite.FixedLenSequenceFeature([] if size == 1 else [size], _DTYPES[kind])
        for name, (kind, size) in data.STEPS.items()
    }


def columns(
    path: str,
    data: str,
    batch: int | None,
    select: list[str] | None = None,
    strings: Any = "BytesColumn",
) -> Run:
    """Parse a file into columns, that many records at a time."""
    parser = _parser(data, select, strings)
    open_it: Any = TFRecordReader
    if batch is None or not hasattr(open_it, "batches"):  # as in older versions
        return lambda: map(parser, open_it(path).blocks(batch))
    return lambda: iter(open_it(path).batches(parser, batch))


def parse(path: str, data: str, batch: int, select: list[str] | None = None) -> Run:
    """Parse records that are in memory, already checked."""
    parser = _parser(data, select)
    found = list(TFRecordReader(path).blocks(batch))
    return lambda: map(parser, found)


def random_reads(path: str, numbers: list[int]) -> Run:
    """Read records by their numbers, with an index in memory."""
    file = tfrecord_lite.TFRecordFile(path, index=None)
    return lambda: iter(file.__getitems__(numbers))


def index(path: str) -> Run:
    """Make an index."""
    return lambda: iter(tfrecord_lite.TFRecordFile(path, index=None).__getitems__([0]))


# ------------------------------------------------------------------------------- writing


def write(target: str, size: int, n_records: int) -> Run:
    """Write records of one size."""
    records = data.raw_records(size)

    def run() -> None:
        with TFRecordWriter(target) as writer:
            left = n_records
            while left:
                for record in records[:left]:
                    writer.write(record)
                left -= min(left, len(records))

    return run


def write_dicts(target: str, data: str, n_records: int, form: str) -> Run:
    """Write a list of dictionaries."""
    from benchmarks.data import rows

    given = rows(data, n_records, form)

    def run() -> None:
        with TFRecordWriter(target) as writer:
            if data == "sequences":
                writer.write_sequence_examples(given)
            else:
                writer.write_examples(given)

    return run


def write_each(target: str, data: str, n_records: int, form: str) -> Run:
    """Write a dictionary at a time."""
    from benchmarks.data import rows

    given = rows(data, n_records, form)

    def run() -> None:
        with TFRecordWriter(target) as writer:
            write = writer.write_sequence_example if data == "sequences" else writer.write_example
            for row in given:
                write(row)

    return run


def write_columns(target: str, data: str, n_records: int) -> Run:
    """Write columns, a thousand records at a time."""
    from benchmarks.data import CONTEXT, STEPS, tables

    given = list(tables(data, n_records))
    if data == "tokens":
        made = tfrecord_lite.RaggedTensor.from_row_lengths
        given = [
            {"tokens": made(_joined(t["tokens"]), [len(v) for v in t["tokens"]])} for t in given
        ]

    def run() -> None:
        with TFRecordWriter(target) as writer:
            for table in given:
                if data == "sequences":
                    context = {key: table[key] for key in CONTEXT}
                    steps = {key: table[key] for key in STEPS}
                    lengths = dict.fromkeys(STEPS, table["length"])
                    block = tfrecord_lite.encode_sequence_examples(context, steps, lengths)
                    writer.write_blocks([block])
                else:
                    writer.write_examples(table)

    return run


def _joined(arrays: Any) -> Any:
    import numpy as np

    return np.concatenate(arrays)


# ----------------------------------------------------------------------------- pipelines


def pipeline(
    files: list[str], data: str, batch: int, buffer: int, num_workers: int = 0, num_epochs: int = 1
) -> Run:
    """Interleave files, shuffle, batch and parse."""
    from benchmarks.data import features_of

    features = _features(features_of(data))
    _parser(data)  # loads the engine

    def batches() -> Iterator[Any]:
        records: tfrecord_lite.Dataset[Any]
        records = tfrecord_lite.TFRecordDataset(files).interleave(len(files))
        if buffer:
            records = records.shuffle(buffer, seed=1)
        made = records.repeat(num_epochs).batch(batch)
        return iter(made.parse_example(features, strings="BytesColumn").in_processes(num_workers))

    return batches


# -------------------------------------------------------------------------------- tables


def _schema(data_name: str) -> Any:
    if data_name == "sequences":
        return tfrecord_lite.SequenceSchema(_features(data.CONTEXT), _steps())
    return tfrecord_lite.Schema(_features(data.features_of(data_name)))


def arrow(path: str, data: str, batch: int | None) -> Run:
    """Make record batches of Arrow."""
    table = tfrecord_lite.scan(path, schema=_schema(data))
    return lambda: iter(table.to_batches(batch))


def to_parquet(target: str, path: str, data: str, batch: int | None) -> Run:
    """Convert with the command line's verb, in this process."""
    schema = Path(f"{target}.schema.json")
    schema.write_text(_schema(data).to_json())
    options = ["--to", "parquet", "--schema", str(schema)]
    return lambda: _convert(*options, path, target)


def from_parquet(target: str, data: str, n_records: int) -> Run:
    """Convert a Parquet file with the command line's verb."""
    source = parquet.source(data, n_records, target)
    return lambda: _convert("--to", "tfrecord", source, target)


def convert_jobs(files: list[str], folder: str, jobs: int) -> Run:
    """Convert files to Parquet, in several processes."""
    Path(folder).mkdir(exist_ok=True)
    return lambda: _convert("--jobs", str(jobs), "--to", "parquet", *files, f"{folder}/")


def _convert(*options: str) -> None:
    from tfrecord_lite.cli import app

    with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):  # noqa: PTH123
        status = app.main(["convert", "--overwrite", *options])
    if status:
        raise ValueError(f"convert ended with {status}")


def read_parquet(path: str) -> Run:
    """Read what was written."""
    import pyarrow.parquet as pq

    return lambda: pq.ParquetFile(path).iter_batches()


# ------------------------------------------------------------- tensors, events, inference


def parse_tensors(shape: list[int], n_records: int) -> Run:
    """Parse a column of serialised tensors."""
    from tfrecord_lite.tensors import parse as tensors

    arrays = data.arrays(shape, n_records)
    items = tfrecord_lite.BytesColumn.from_list(list(map(tfrecord_lite.serialize_tensor, arrays)))
    return lambda: iter([tensors.parse_tensors(items, "float32")])


def decode_raw(n_bytes: int, n_records: int) -> Run:
    """Decode a column of strings of raw numbers."""
    arrays = data.arrays([n_bytes // 4], n_records)
    items = tfrecord_lite.BytesColumn.from_list([row.tobytes() for row in arrays])
    return lambda: iter([tfrecord_lite.decode_raw(items, "float32")])


def events(path: str) -> Run:
    """Read the scalars of an event file."""
    from tfrecord_lite.apps.events import read_events

    def run() -> Iterator[Any]:
        found = read_events(path)
        return iter([(tag, found.scalars(tag)) for tag in found.tags["scalars"]])

    return run


def infer(path: str) -> Run:
    """Find the schema of a file, which reads every value."""
    return lambda: tfrecord_lite.summarize(path)


# --------------------------------------------------------------------------- reliability


def skip(path: str, by: str, on_error: Any = "skip") -> Run:
    """Read records or blocks, and skip what is damaged."""
    if by == "blocks":
        return lambda: TFRecordReader(path, on_error=on_error).blocks()
    return lambda: iter(TFRecordReader(path, on_error=on_error))


def skip_damage(path: str, n_damages: int) -> Run:
    """Read the blocks of a copy in which that many bits are flipped."""
    damaged, choose = bytearray(Path(path).read_bytes()), random.Random(1)
    for _ in range(n_damages):
        damaged[choose.randrange(len(damaged))] ^= 1 << choose.randrange(8)
    copy = Path(tempfile.mkdtemp(), "damaged")
    copy.write_bytes(damaged)
    return lambda: TFRecordReader(copy, on_error=str).blocks()


def verify(path: str) -> Run:
    """Check every checksum of a file."""
    return lambda: tfrecord_lite.verify(path)


def recover(target: str, path: str) -> Run:
    """Copy all intact records."""

    def run() -> None:
        Path(target).unlink(missing_ok=True)
        tfrecord_lite.recover(path, target)

    return run


def save_rows(target: str, n_records: int) -> Run:
    """Save rows of a generator, of an int, a float, a string and a list, schema and all."""

    def rows() -> Iterator[dict[str, Any]]:
        for i in range(n_records):
            yield {"id": i, "x": i / 7, "name": f"row {i}", "tags": [i, i + 1, i + 2][: i % 4]}

    return lambda: tfrecord_lite.save(target, rows())


def hostile(case: str, n: int) -> Run:
    """Read input that is made to cost much."""
    from tests.records.test_hostile import CASES

    data = CASES[case].make(n)

    def run() -> None:
        with contextlib.suppress(tfrecord_lite.TFRecordError):
            CASES[case].read(data)

    return run


def view(path: str, target: str) -> Run:
    """Make the viewer's page, as the command line does."""
    from tfrecord_lite.cli import app

    return lambda: app.main(["view", "--overwrite", path, "-o", target])


def engine(files: list[str]) -> Run:
    """Read batches without an engine, in this process."""

    def run() -> Any:
        parts = tfrecord_lite.scan(files).partitions()
        return iter([sum(len(batch) for part in parts for batch in part.read())])

    return run


# ---------------------------------------------------------------------------------- main


def remote(
    files: list[str], data: str, batch: int, latency: float, bandwidth: float, by: str
) -> Run:
    """Read files from a store far away; by another client, their bytes alone."""
    from benchmarks.data import features_of

    paths = list(map(Path, files))
    program = [sys.executable, "-m", "benchmarks.server"]
    command = [*program, str(paths[0].parent), str(latency), str(bandwidth)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    port = int(server.stdout.readline())  # type: ignore[union-attr]
    urls = [f"http://127.0.0.1:{port}/{path.name}" for path in paths]
    if by == "fsspec":
        import fsspec

        opened = [fsspec.open(url, cache_type="readahead") for url in urls]
        return lambda: (piece for file in opened for piece in _pieces(file.open()))
    if by == "curl":
        from webdataset.gopen import gopen

        return lambda: (p for url in urls for p in _pieces(gopen(f"pipe:curl -s {url}")))
    if by == "blocks":
        return lambda: iter(TFRecordReader(urls).blocks())
    features = _features(features_of(data))
    options: Any = {"shuffle": True, "seed": 0} if by == "shuffled" else {}
    return lambda: iter(tfrecord_lite.read_batches(urls, features, batch, **options))


def _pieces(file: Any) -> Iterator[bytes]:
    """Yield the content of a file, and close it."""
    with file:
        yield from iter(lambda: file.read(1 << 20), b"")


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    if op in {"arrow", "read_parquet"}:
        return check.arrow(items)
    if op in {"parse_tensors", "decode_raw"}:
        return ({"tensor": check.flat(item)} for item in items)
    if op == "engine":
        return check.counts(items)
    if op == "events":
        return ({tag: check.flat(found.value)} for tag, found in items)
    if op in {"read", "read_unverified", "random_reads", "index", "skip"}:
        return check.records(items)
    if op == "blocks":
        return check.records(bytes(record) for block in items for record in block)
    if op == "dicts":
        return check.sequence_rows(items) if args["data"] == "sequences" else check.rows(items)
    return map(_flat_columns, items)


def _flat_columns(columns: Any) -> check.Flat:
    if isinstance(columns, tuple):  # of sequences
        context, steps, lengths = columns
        found = {name: check.padded(steps[name], lengths[name]) for name in steps}
        return {**_flat_columns(context), **found}
    return {name: _flat_column(column) for name, column in columns.items()}


def _flat_column(column: Any) -> Any:
    if isinstance(column, tfrecord_lite.RaggedTensor):
        return column.flat_values, column.row_lengths()
    if isinstance(column, tfrecord_lite.BytesColumn):
        return check.flat(column.to_list())
    return check.flat(column)


def settings(op: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return the block sizes to try, where the task leaves them open."""
    if op in {"columns", "arrow"} and args["batch"] is None:
        sizes = (None, *_BEST.get(args["data"], (1024, 4096)))
        return {f"{size:,}" if size else "its own size": {"batch": size} for size in sizes}
    return {}


OPERATIONS = {
    function.__name__: function
    for function in (
        *(read, read_unverified, blocks, dicts, columns, parse, random_reads, index),
        *(write, write_dicts, write_each, write_columns, pipeline),
        *(arrow, to_parquet, from_parquet, convert_jobs, read_parquet),
        *(parse_tensors, decode_raw, events, infer),
        *(skip, skip_damage, verify, recover, save_rows, hostile, view, engine, remote),
    )
}
OPERATIONS["workers"] = pipeline
