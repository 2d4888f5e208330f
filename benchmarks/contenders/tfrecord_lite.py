"""The package that is measured: this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import tfrecord_lite
from benchmarks import check, data
from tfrecord_lite import TFRecordReader, TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "tfrecord-numpy"
FOLDER = str(Path(tfrecord_lite.__file__).parent)
_DTYPES = {"float": "float32", "int": "int64", "bytes": "string"}
_BEST = {"images": (64, 256)}


# ------------------------------------------------------------------------------- reading


def read(path: str, data: str = "") -> Run:  # noqa: ARG001 - of dictionaries of it
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
    return lambda: map(parser, TFRecordReader(path).blocks(batch))


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
    files: list[str], data: str, batch: int, buffer: int, num_workers: int = 0, prefetch: int = 0
) -> Run:
    """Interleave files, shuffle, batch and parse."""
    from benchmarks.data import features_of

    features = _features(features_of(data))
    _parser(data)  # loads the engine
    return lambda: iter(
        tfrecord_lite.read_batches(
            files,
            features,
            batch,
            interleave=len(files),
            shuffle=buffer or None,
            seed=1,
            strings="BytesColumn",
            num_workers=num_workers,
            prefetch=prefetch,
        )
    )


# ---------------------------------------------------------------------------------- main


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    if op in {"read", "read_unverified", "random_reads", "index"}:
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
    if op == "columns" and args["batch"] is None:
        sizes = (None, *_BEST.get(args["data"], (1024, 4096)))
        return {f"blocks({size or ''})": {"batch": size} for size in sizes}
    return {}


OPERATIONS = {
    "read": read,
    "read_unverified": read_unverified,
    "blocks": blocks,
    "dicts": dicts,
    "columns": columns,
    "parse": parse,
    "random_reads": random_reads,
    "index": index,
    "write": write,
    "write_dicts": write_dicts,
    "write_each": write_each,
    "write_columns": write_columns,
    "pipeline": pipeline,
    "workers": pipeline,
}
