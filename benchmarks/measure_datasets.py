"""The measurements of :mod:`benchmarks.datasets`, run by :mod:`benchmarks.measure`."""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, Any

from benchmarks.measure import features_of, parser_of, peak_bytes, timed_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

Result = dict[str, float]

_BATCH = 256


def pipeline_ours(
    files: list[str], batch: int, buffer: int, strings: Any, num_workers: int, prefetch: int
) -> Result:
    """Interleave, shuffle, batch and parse the tabular data."""
    import tfrecord_lite

    features = features_of("tabular", tfrecord_lite, ("float32", "int64", "string"))
    parser = parser_of("tabular", strings)  # loads the engine
    assert parser is not None

    def run() -> Iterator[int]:
        dataset = tfrecord_lite.read_batches(
            files,
            features,
            batch,
            interleave=len(files),
            shuffle=buffer or None,
            seed=1,
            strings=strings,
            num_workers=num_workers,
            prefetch=prefetch,
        )
        for columns in dataset:
            yield len(columns["f0"])

    return timed_sum(run)


def pipeline_tensorflow(
    files: list[str], batch: int, buffer: int, *, autotune: bool, as_numpy: bool
) -> Result:
    """Do the same with tf.data."""
    import tensorflow as tf

    features = features_of("tabular", tf.io, (tf.float32, tf.int64, tf.string))
    threads = tf.data.AUTOTUNE if autotune else None

    def run() -> Iterator[int]:
        names = tf.data.Dataset.from_tensor_slices(files)
        records = names.interleave(
            tf.data.TFRecordDataset, cycle_length=len(files), num_parallel_calls=threads
        )
        if buffer:
            records = records.shuffle(buffer, seed=1)
        batches = records.batch(batch).map(lambda s: tf.io.parse_example(s, features), threads)
        for columns in batches.prefetch(tf.data.AUTOTUNE):
            for column in columns.values() if as_numpy else ():
                column.numpy()
            yield columns["f0"].shape[0]

    return timed_sum(run)


def random_ours(path: str, n_reads: int, rounds: int) -> Result:
    """Make an index, then read records by their numbers, many at a time."""
    import numpy as np

    from tfrecord_lite import TFRecordFile, TFRecordWriter

    with tempfile.TemporaryDirectory() as folder:  # to load all modules first
        with TFRecordWriter(f"{folder}/a") as writer:
            writer.write(b"one")
        assert TFRecordFile(f"{folder}/a").__getitems__([0]) == [b"one"]
    before = peak_bytes()
    start = time.perf_counter()
    file = TFRecordFile(path, index=None)
    index_seconds = time.perf_counter() - start
    index_bytes = peak_bytes() - before
    random = np.random.default_rng(0)
    seconds = []
    for _ in range(rounds):
        numbers = random.integers(0, len(file), n_reads).tolist()
        start = time.perf_counter()
        records = file.__getitems__(numbers)
        seconds.append(time.perf_counter() - start)
        assert len(records) == n_reads
    start = time.perf_counter()
    for number in numbers:
        file[number]
    singly = time.perf_counter() - start
    return {
        "index_seconds": index_seconds,
        "index_bytes": index_bytes,
        "seconds": sorted(seconds)[rounds // 2],
        "singly_seconds": singly,
    }


def random_tensorflow(path: str, n_reads: int) -> Result:
    """Skip to each of a few records with tf.data, the only way it has."""
    import tensorflow as tf

    start = time.perf_counter()
    wanted = set(range(0, 1_000_000, 1_000_000 // n_reads))
    records = tf.compat.v1.io.tf_record_iterator(path)
    found = [record for number, record in enumerate(records) if number in wanted]
    return {"seconds": time.perf_counter() - start, "n_records": len(found)}


def loader_ours(path: str, num_workers: int, shuffle: int) -> Result:
    """Read a file with torch's DataLoader, numbers only, as torch holds no strings.

    Workers hand arrays over, which become tensors here: torch takes 0.1 ms and more to hand
    over a tensor, however small.
    """
    import torch.utils.data

    import tfrecord_lite

    features = features_of("tabular", tfrecord_lite, ("float32", "int64", "string"))
    numbers = {name: feature for name, feature in features.items() if name[0] in "fi"}
    parser_of("tabular", "BytesColumn")  # loads the engine

    def run() -> Iterator[int]:
        dataset = tfrecord_lite.read_batches(path, numbers, _BATCH, shuffle=shuffle or None, seed=1)
        for columns in torch.utils.data.DataLoader(
            dataset,  # type: ignore[arg-type, unused-ignore]
            batch_size=None,
            num_workers=num_workers,
            collate_fn=_as_they_are,
        ):
            tensors = {name: torch.from_numpy(column) for name, column in columns.items()}
            yield len(tensors["f0"])

    return timed_sum(run)


def _as_they_are(columns: Any) -> Any:
    return columns


def loader_peer(path: str, num_workers: int, shuffle: int) -> Result:
    """Do the same with the data set of the package ``tfrecord``."""
    import torch.utils.data
    from tfrecord.torch.dataset import TFRecordDataset

    description = {f"f{k}": "float" for k in range(10)} | {f"i{k}": "int" for k in range(5)}
    # Its workers find their parts with an index; without one, each would read the whole file.
    index = f"{path}.idx" if num_workers else None

    def run() -> Iterator[int]:
        dataset = TFRecordDataset(path, index, description, shuffle_queue_size=shuffle)
        for columns in torch.utils.data.DataLoader(
            dataset, batch_size=_BATCH, num_workers=num_workers
        ):
            yield len(columns["f0"])

    return timed_sum(run)


def make_index(path: str) -> Result:
    """Write the index of a file next to it."""
    from tfrecord_lite import TFRecordFile

    TFRecordFile(path, index=None).save_index()
    return {}
