"""The functions that :mod:`benchmarks.encoding` measures, each in a process of its own.

The same values for both sides: columns for this package, and rows, dictionaries of what
the other side takes fastest. Made beforehand, outside what is timed.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Result = dict[str, float]
Table = dict[str, Any]

N_RECORDS = {"tabular": 40_000, "embeddings": 10_000, "tokens": 4_000, "images": 1_000}
"""Number of records at scale 1."""
_BATCH = {"tabular": 4096, "embeddings": 1024, "tokens": 1024, "images": 64}
_IMAGE_BYTES = 100_000


def _tabular(n: int, random: np.random.Generator) -> Table:
    table: Table = {f"f{k}": random.standard_normal(n, np.float32) for k in range(10)}
    table |= {f"i{k}": random.integers(0, 2**31, n) for k in range(5)}
    for k in range(2):
        sizes = random.integers(7, 20, n).tolist()
        letters = random.integers(ord("a"), ord("z") + 1, (n, 19), np.uint8)
        table[f"s{k}"] = [letters[i, :size].tobytes() for i, size in enumerate(sizes)]
    return table


def _embeddings(n: int, random: np.random.Generator) -> Table:
    vectors = random.standard_normal((n, 512), np.float32)
    return {"embedding": vectors, "id": random.integers(0, 2**31, n)}


def _tokens(n: int, random: np.random.Generator) -> Table:
    sizes = random.integers(256, 1_025, n).tolist()
    return {"tokens": [random.integers(0, 50_000, size) for size in sizes]}


def _images(n: int, random: np.random.Generator) -> Table:
    return {
        # Each of them several times: that many different ones would not fit into memory.
        "image": [random.bytes(_IMAGE_BYTES) for _ in range(min(n, 200))] * -(-n // 200),
        "height": np.full(n, 480),
        "width": np.full(n, 640),
        "label": random.integers(0, 1_000, n),
    }


_MAKERS = {"tabular": _tabular, "embeddings": _embeddings, "tokens": _tokens, "images": _images}


def _table(name: str, n_records: int) -> Table:
    table = _MAKERS[name](n_records, np.random.default_rng(7))
    return {key: column[:n_records] for key, column in table.items()}


def _rows(table: Table, form: str) -> list[dict[str, Any]]:
    """Return one dictionary per record: of single values and arrays, or of lists only."""
    columns = []
    for column in table.values():
        is_single = isinstance(column, np.ndarray) and column.ndim == 1
        columns.append(column.tolist() if is_single else list(column))
    rows = [dict(zip(table, values, strict=True)) for values in zip(*columns, strict=True)]
    if form == "lists":
        return [{key: _as_list(value) for key, value in row.items()} for row in rows]
    return rows


def _as_list(value: Any) -> list[Any]:
    return value.tolist() if isinstance(value, np.ndarray) else [value]


def encode_columns_ours(name: str, n_records: int) -> Result:
    """Encode columns, batch by batch."""
    from tfrecord_lite import RaggedTensor, encode_examples

    table, step = _table(name, n_records), _BATCH[name]
    batches = [
        {key: column[i : i + step] for key, column in table.items()}
        for i in range(0, n_records, step)
    ]
    if name == "tokens":
        batches = [
            {"tokens": RaggedTensor.from_row_lengths(np.concatenate(c), [len(v) for v in c])}
            for batch in batches
            for c in batch.values()
        ]
    return _timed(n_records, lambda: [len(encode_examples(batch)) for batch in batches])


def encode_rows_ours(name: str, n_records: int, form: str) -> Result:
    """Write one dictionary per record to the null device."""
    from tfrecord_lite import TFRecordWriter

    rows = _rows(_table(name, n_records), form)

    def write() -> None:
        with TFRecordWriter(os.devnull) as writer:
            for row in rows:
                writer.write_example(row)

    return _timed(n_records, write)


def encode_tensorflow(name: str, n_records: int, form: str, *, writes: bool) -> Result:
    """Make an Example of each row and serialise it; with `writes`, write it to the null device."""
    import tensorflow as tf

    rows = _rows(_table(name, n_records), form)
    features = {key: _FEATURES[type(_first(value))] for key, value in rows[0].items()}

    def serialised(row: dict[str, Any]) -> bytes:
        feature = {}
        for key, value in row.items():
            field, cls = features[key]
            # protobuf reads lists of Python numbers fastest.
            values = value if type(value) is list else _as_list(value)
            feature[key] = tf.train.Feature(**{field: getattr(tf.train, cls)(value=values)})
        example = tf.train.Example(features=tf.train.Features(feature=feature))
        record: bytes = example.SerializeToString()
        return record

    def encode() -> None:
        for row in rows:
            serialised(row)

    def write() -> None:
        with tf.io.TFRecordWriter(os.devnull) as writer:
            for row in rows:
                writer.write(serialised(row))

    return _timed(n_records, write if writes else encode)


def _first(value: Any) -> Any:
    return (
        value[0].item()
        if isinstance(value, np.ndarray)
        else value[0]
        if isinstance(value, list)
        else value
    )


_FEATURES = {
    bytes: ("bytes_list", "BytesList"),
    float: ("float_list", "FloatList"),
    int: ("int64_list", "Int64List"),
}


def _timed(n_records: int, work: Callable[[], Any]) -> Result:
    """Run once to warm up, then time a run."""
    work()
    start, cpu_start = time.perf_counter(), time.process_time()
    work()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "n_records": n_records}
